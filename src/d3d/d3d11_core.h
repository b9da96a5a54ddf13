/* SPDX-License-Identifier: MIT */
/* The Direct3D 11 attachment, inside. It is included first: it brings Windows' headers. */
#ifndef CULVI_D3D_D3D11_CORE_H_
#define CULVI_D3D_D3D11_CORE_H_

#include "d3d/d3d_common.h"
/* after it */
#include <d3d11_4.h>

#undef OPTIONAL

#include "culvert/d3d11.h"
#include "d3d/d3d_image.h"

struct culv_d3d11_device {
    culvi_graphics base;
    ID3D11Device *device; /* a reference */
};

static inline culv_d3d11_device *culvi_d3d11_of(const culvi_graphics *graphics)
{
    return (culv_d3d11_device *)graphics; /* its first member */
}

static inline const culvi_voice *culvi_d3d11_voice(const culv_d3d11_device *d3d11)
{
    return &d3d11->base.device->voice;
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

extern const culvi_graphics_api culvi_d3d11_api;
/* Identifiers that MinGW's import libraries lack. */
extern const GUID culvi_iid_d3d11_fence, culvi_iid_d3d11_device5;

culvi_d3d11_shape culvi_d3d11_shape_of(ID3D11Resource *resource);
culvi_d3d_texture culvi_d3d11_texture_of(const D3D11_TEXTURE2D_DESC *desc);
/* Records a failed call as an error of the class that its code belongs to. */
culv_result culvi_fail_d3d11(const culv_d3d11_device *d3d11, const char *label, HRESULT code,
                             const char *call, const char *what);
/* A handle of a resource or a fence, whose type is set: an NT handle, or the KMT handle of a
 * resource that has no other. */
culv_result culvi_d3d11_share(const culv_d3d11_device *d3d11, const char *label, void *object,
                              const wchar_t *name, culv_handle *out);

/* culv_d3d11_image_create() of a descriptor that was read; `name` is whose fields messages name. */
culv_result culvi_d3d11_image_create(culv_d3d11_device *d3d11,
                                     const culv_d3d11_image_create_desc *d, const char *name,
                                     culv_shared_image **out);

/* The seam's functions (graphics/graphics.h). */
culv_result culvi_d3d11_make_plan(culvi_graphics *graphics, culvi_plan *plan);
culv_result culvi_d3d11_make(culvi_graphics *graphics, const culvi_plan *plan, culvi_native *out);
void culvi_d3d11_unmake(culvi_graphics *graphics, const culvi_native *native);
culv_result culvi_d3d11_make_semaphore(culvi_graphics *graphics, const culvi_semaphore_plan *plan,
                                       bool exportable, uint64_t *out);
void culvi_d3d11_unmake_semaphore(culvi_graphics *graphics, uint64_t semaphore);
culv_result culvi_d3d11_check_timelines(const culvi_graphics *graphics, const char *label,
                                        culvi_host_use use);
int culvi_d3d11_timeline_value(const culvi_graphics *graphics, uint64_t semaphore, uint64_t *out);
int culvi_d3d11_timeline_wait(const culvi_graphics *graphics, uint64_t semaphore, uint64_t value,
                              uint64_t timeout_ns);
int culvi_d3d11_timeline_signal(const culvi_graphics *graphics, uint64_t semaphore, uint64_t value);
culv_result culvi_d3d11_fail_timeline(const culvi_graphics *graphics, const char *label, int code,
                                      const char *call, const char *what);

#endif
