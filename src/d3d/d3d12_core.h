/* SPDX-License-Identifier: MIT */
/* The Direct3D 12 attachment, inside. It is included first: it brings Windows' headers. */
#ifndef CULVI_D3D_D3D12_CORE_H_
#define CULVI_D3D_D3D12_CORE_H_

#include "d3d/d3d_common.h"
/* after it */
#include <d3d12.h>

#undef OPTIONAL

#include "culvert/d3d12.h"

struct culv_d3d12_device {
    culvi_graphics base;
    ID3D12Device *device; /* a reference */
};

static inline culv_d3d12_device *culvi_d3d12_of(const culvi_graphics *graphics)
{
    return (culv_d3d12_device *)graphics; /* its first member */
}

static inline const culvi_voice *culvi_d3d12_voice(const culv_d3d12_device *d3d12)
{
    return &d3d12->base.device->voice;
}

extern const culvi_graphics_api culvi_d3d12_api;

/* Identifiers that MinGW's import libraries lack. */
extern const GUID culvi_iid_d3d12_heap, culvi_iid_d3d12_resource, culvi_iid_d3d12_fence;

/* Methods that return a struct. In C their true form takes a pointer to the result behind `this`,
 * which MinGW's headers and DirectX-Headers say and older Windows SDKs do not
 * (microsoft/DirectX-Headers issue 121). */
D3D12_HEAP_DESC culvi_d3d12_heap_desc(ID3D12Heap *heap);
D3D12_RESOURCE_DESC culvi_d3d12_resource_desc(ID3D12Resource *resource);
D3D12_COMMAND_QUEUE_DESC culvi_d3d12_queue_desc(ID3D12CommandQueue *queue);
uint64_t culvi_d3d12_allocation_size(ID3D12Device *device, const D3D12_RESOURCE_DESC *desc);

/* Records a failed call as an error of the class that its code belongs to. */
culv_result culvi_fail_d3d12(const culv_d3d12_device *d3d12, const char *label, HRESULT code,
                             const char *call, const char *what);

/* The seam's functions (graphics/graphics.h). */
culv_result culvi_d3d12_plan(culvi_graphics *graphics, culvi_plan *plan);
culv_result culvi_d3d12_make(culvi_graphics *graphics, const culvi_plan *plan, culvi_native *out);
void culvi_d3d12_unmake(culvi_graphics *graphics, const culvi_native *native);
culv_result culvi_d3d12_make_semaphore(culvi_graphics *graphics, const culvi_semaphore_plan *plan,
                                       bool exportable, uint64_t *out);
void culvi_d3d12_unmake_semaphore(culvi_graphics *graphics, uint64_t semaphore);
culv_result culvi_d3d12_check_timelines(const culvi_graphics *graphics, const char *label,
                                        culvi_host_use use);
int culvi_d3d12_timeline_value(const culvi_graphics *graphics, uint64_t semaphore, uint64_t *out);
int culvi_d3d12_timeline_wait(const culvi_graphics *graphics, uint64_t semaphore, uint64_t value,
                              uint64_t timeout_ns);
int culvi_d3d12_timeline_signal(const culvi_graphics *graphics, uint64_t semaphore, uint64_t value);
culv_result culvi_d3d12_fail_timeline(const culvi_graphics *graphics, const char *label, int code,
                                      const char *call, const char *what);

#endif
