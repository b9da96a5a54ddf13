/* SPDX-License-Identifier: MIT */
/* The attachment of Direct3D 12, inside. It is included first: it brings Windows' headers. */
#ifndef CULVI_D3D_D3D12_CORE_H_
#define CULVI_D3D_D3D12_CORE_H_

#include "d3d/d3d_attach.h"
/* after it */
#include <d3d12.h>

#undef OPTIONAL

static inline ID3D12Device *culvi_d3d12_device(const culv_d3d_device *d3d)
{
    return d3d->device;
}

/* culvi_plan::desc. */
typedef struct culvi_d3d12_shape {
    D3D12_RESOURCE_DESC desc;
    culvi_d3d_view view;
} culvi_d3d12_shape;

/* Identifiers that MinGW's import libraries lack. */
extern const GUID culvi_iid_d3d12_heap;

/* Methods that return a struct. In C their true form takes a pointer to the result behind `this`,
 * which MinGW's headers and DirectX-Headers say and older Windows SDKs do not
 * (microsoft/DirectX-Headers issue 121). */
D3D12_HEAP_DESC culvi_d3d12_heap_desc(ID3D12Heap *heap);
D3D12_RESOURCE_DESC culvi_d3d12_resource_desc(ID3D12Resource *resource);
D3D12_COMMAND_QUEUE_DESC culvi_d3d12_queue_desc(ID3D12CommandQueue *queue);
uint64_t culvi_d3d12_allocation_size(ID3D12Device *device, const D3D12_RESOURCE_DESC *desc);

culvi_d3d_texture culvi_d3d12_texture_of(const D3D12_RESOURCE_DESC *desc);

/* culvi_d3d_api's functions. */
culv_result culvi_d3d12_ask_memory(const culv_d3d_device *d3d, const culv_d3d_memory_desc *d,
                                   culvi_memory_ask *ask);
culvi_d3d_texture culvi_d3d12_texture_in(void *resource);
culv_result culvi_d3d12_create_buffer(culv_d3d_device *d3d, const culv_d3d_buffer_create_desc *d,
                                      const char *name, culv_shared_buffer **out);
culv_result culvi_d3d12_create_image(culv_d3d_device *d3d, const culv_d3d_image_create_desc *d,
                                     const char *name, culv_shared_image **out);
culv_result culvi_d3d12_create_twin(culv_d3d_shadow *shadow, culv_d3d_image_create_desc *make,
                                    const char *name);
culv_result culvi_d3d12_record(culv_d3d_shadow *shadow, void *commands, uint32_t state,
                               bool from_twin);

/* The seam's functions (graphics/graphics.h). */
culv_result culvi_d3d12_plan(culvi_graphics *graphics, culvi_plan *plan);
culv_result culvi_d3d12_make(culvi_graphics *graphics, const culvi_plan *plan, culvi_native *out);
culv_result culvi_d3d12_make_semaphore(culvi_graphics *graphics, const culvi_semaphore_plan *plan,
                                       bool exportable, uint64_t *out);
culv_result culvi_d3d12_check_timelines(const culvi_graphics *graphics, const char *label,
                                        culvi_host_use use);
int culvi_d3d12_timeline_signal(const culvi_graphics *graphics, uint64_t semaphore, uint64_t value);

#endif
