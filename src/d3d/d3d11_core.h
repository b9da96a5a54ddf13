/* SPDX-License-Identifier: MIT */
/* The attachment of Direct3D 11, inside. It is included first: it brings Windows' headers. */
#ifndef CULVI_D3D_D3D11_CORE_H_
#define CULVI_D3D_D3D11_CORE_H_

#include "d3d/d3d_attach.h"
/* after it */
#include <d3d11_4.h>

#undef OPTIONAL

static inline ID3D11Device *culvi_d3d11_device(const culv_d3d_device *d3d)
{
    return d3d->device;
}

/* A resource as one of its kinds. */
typedef struct culvi_d3d11_shape {
    bool is_buffer;
    uint64_t size; /* a buffer's bytes, or a texture's texels without gaps; 0: unknown */
    uint32_t misc; /* D3D11_RESOURCE_MISC_FLAG */
    uint32_t bind; /* D3D11_BIND_FLAG */
    D3D11_USAGE usage;
    culvi_d3d_texture texture;
} culvi_d3d11_shape;

/* culvi_plan::desc: what to make, of one kind. */
typedef struct culvi_d3d11_plan {
    D3D11_BUFFER_DESC buffer;
    D3D11_TEXTURE2D_DESC texture;
    culvi_d3d_view view;
} culvi_d3d11_plan;

/* Identifiers that MinGW's import libraries lack. */
extern const GUID culvi_iid_d3d11_device5;

culvi_d3d11_shape culvi_d3d11_shape_of(ID3D11Resource *resource);
culvi_d3d_texture culvi_d3d11_texture_of(const D3D11_TEXTURE2D_DESC *desc);

/* culvi_d3d_api's functions. */
culv_result culvi_d3d11_share(const culv_d3d_device *d3d, const char *label, void *object,
                              const wchar_t *name, culv_handle *out);
culv_result culvi_d3d11_ask_memory(const culv_d3d_device *d3d, const culv_d3d_memory_desc *d,
                                   culvi_memory_ask *ask);
culvi_d3d_texture culvi_d3d11_texture_in(void *resource);
culv_result culvi_d3d11_create_buffer(culv_d3d_device *d3d, const culv_d3d_buffer_create_desc *d,
                                      const char *name, culv_shared_buffer **out);
culv_result culvi_d3d11_create_image(culv_d3d_device *d3d, const culv_d3d_image_create_desc *d,
                                     const char *name, culv_shared_image **out);
culv_result culvi_d3d11_create_twin(culv_d3d_shadow *shadow, culv_d3d_image_create_desc *make,
                                    const char *name);
culv_result culvi_d3d11_record(culv_d3d_shadow *shadow, void *commands, uint32_t state,
                               bool from_twin);

/* The seam's functions (graphics/graphics.h). */
culv_result culvi_d3d11_make_plan(culvi_graphics *graphics, culvi_plan *plan);
culv_result culvi_d3d11_make(culvi_graphics *graphics, const culvi_plan *plan, culvi_native *out);
culv_result culvi_d3d11_make_semaphore(culvi_graphics *graphics, const culvi_semaphore_plan *plan,
                                       bool exportable, uint64_t *out);
culv_result culvi_d3d11_check_timelines(const culvi_graphics *graphics, const char *label,
                                        culvi_host_use use);
int culvi_d3d11_timeline_signal(const culvi_graphics *graphics, uint64_t semaphore, uint64_t value);

#endif
