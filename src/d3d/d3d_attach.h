/* SPDX-License-Identifier: MIT */
/* The attachment of Direct3D 11 or 12, inside, and what differs between the two. It brings Windows'
 * headers, so it is included before everything but them. */
#ifndef CULVI_D3D_D3D_ATTACH_H_
#define CULVI_D3D_D3D_ATTACH_H_

#include "d3d/d3d_common.h"
/* after it */
#include "culvert/d3d.h"
#include "d3d/d3d_image.h"

typedef struct culvi_d3d_api culvi_d3d_api;

struct culv_d3d_device {
    culvi_graphics base;
    const culvi_voice *voice; /* base.device's */
    const culvi_d3d_api *of;  /* Direct3D 11 or 12 */
    void *device;             /* a reference: an ID3D11Device or an ID3D12Device */
};

struct culv_d3d_shadow {
    culv_d3d_device *d3d; /* a reference */
    void *resource;       /* a reference */
    culv_shared_image *image;
    UINT layers, levels; /* Direct3D 11: of the texture */
    char label[64];
};

/* What differs. A `void *` is what QueryInterface() made of a caller's object. */
struct culvi_d3d_api {
    const culvi_graphics_api *graphics;
    const char *device_name; /* "ID3D12Device" */
    const char *resource_name, *fence_name, *commands_name;
    const char *removed; /* the call that says why the device was removed */
    GUID device_iid, resource_iid, fence_iid, commands_iid;
    culv_result (*read_luid)(const culvi_voice *voice, const char *label, void *device,
                             culv_luid *out);
    /* A new handle, whose type is set. */
    culv_result (*share)(const culv_d3d_device *d3d, const char *label, void *object,
                         const wchar_t *name, culv_handle *out);
    /* Fills in what to import of d->object. */
    culv_result (*ask_memory)(const culv_d3d_device *d3d, const culv_d3d_memory_desc *d,
                              culvi_memory_ask *ask);
    culvi_d3d_texture (*texture_of)(void *resource);
    /* Of a descriptor that was read; `name` is whose fields messages name. */
    culv_result (*create_buffer)(culv_d3d_device *d3d, const culv_d3d_buffer_create_desc *d,
                                 culv_shared_buffer **out);
    culv_result (*create_image)(culv_d3d_device *d3d, const culv_d3d_image_create_desc *d,
                                const char *name, culv_shared_image **out);
    /* Makes shadow->image by `make`, which has what the caller said. */
    culv_result (*create_twin)(culv_d3d_shadow *shadow, culv_d3d_image_create_desc *make,
                               const char *name);
    const char *unshared; /* what to create the texture with in place of a shadow */
    culv_result (*record)(culv_d3d_shadow *shadow, void *commands, uint32_t state, bool from_twin);
    struct {
        uint64_t (*value)(void *fence);                            /* GetCompletedValue() */
        HRESULT (*arm)(void *fence, uint64_t value, HANDLE event); /* SetEventOnCompletion() */
    } fence;
    bool (*read_fence)(void *fence, uint64_t *out); /* a look at memory */
};

extern const culvi_d3d_api culvi_d3d11, culvi_d3d12;

static inline culv_d3d_device *culvi_d3d_of(const culvi_graphics *graphics)
{
    return (culv_d3d_device *)graphics; /* its first member */
}

/* Refuses the attachment of the other API. */
culv_result culvi_d3d_check_api(const culv_d3d_device *d3d, const culvi_d3d_api *api,
                                const char *call);
/* Records a failed call as an error of the class that its code belongs to. */
culv_result culvi_d3d_fail(const culv_d3d_device *d3d, const char *label, HRESULT code,
                           const char *call, const char *what);
/* CULVI_D3D_REMOVED: the device is removed, and nothing is known of the value. */
int culvi_d3d_fence_value(const culvi_d3d_api *api, void *fence, uint64_t *out);
/* Refuses an object that is none of `name`, and tells what it is as that in *as, without a
 * reference: the caller's own keeps it. */
culv_result culvi_d3d_as(const culv_d3d_device *d3d, const char *label, void *object,
                         const GUID *id, const char *name, void **as);

/* The same for a `kind` of the attachment's API: resource, fence, commands. */
#define CULVI_D3D_AS(d3d, label, object, kind, as)                                                 \
    culvi_d3d_as((d3d), (label), (object), &(d3d)->of->kind##_iid, (d3d)->of->kind##_name, (as))

/* Records why no shared handle came from `call`. `advice` is what the caller can do. */
culv_result culvi_d3d_fail_share(const culv_d3d_device *d3d, const char *label, HRESULT code,
                                 const char *call, const char *what, const wchar_t *name,
                                 const char *advice);

/* culvi_plan::desc: what to make. `native` is D3D12_RESOURCE_DESC, D3D11_TEXTURE2D_DESC or
 * D3D11_BUFFER_DESC. */
typedef struct culvi_d3d_made {
    uint64_t size; /* a buffer's */
    culvi_d3d_texture texture;
    culvi_d3d_view view;
    const void *native;
} culvi_d3d_made;

/* Both halves, of descriptors that were checked. */
culv_result culvi_d3d_make_buffer(culv_d3d_device *d3d, const culv_d3d_buffer_create_desc *d,
                                  const void *native, culv_shared_buffer **out);
culv_result culvi_d3d_make_image(culv_d3d_device *d3d, const culv_d3d_image_create_desc *d,
                                 const char *name, culvi_d3d_texture texture, const void *native,
                                 culv_shared_image **out);
culvi_native culvi_d3d_native(void *resource, uint64_t size, bool is_image);

/* The tables of an API, whose own functions and tables have these names. No copies, neither through
 * the host nor to another GPU: another GPU is refused. */
#define CULVI_D3D_GRAPHICS                                                                         \
    {                                                                                              \
        .words = &words, .free = culvi_d3d_free, .export_memory = culvi_d3d_export,                \
        .export_semaphore = culvi_d3d_export, .plan = culvi_d3d_plan, .make = make,                \
        .unmake = culvi_d3d_unmake, .make_semaphore = make_semaphore,                              \
        .unmake_semaphore = culvi_d3d_unmake_semaphore, .check_timelines = check_timelines,        \
        .timeline_value = culvi_d3d_timeline_value, .timeline_wait = culvi_d3d_timeline_wait,      \
        .timeline_signal = timeline_signal, .fail = culvi_d3d_fail_timeline                        \
    }
#define CULVI_D3D_API(n)                                                                           \
    .graphics = &graphics, .device_name = "ID3D" #n "Device",                                      \
    .resource_name = "ID3D" #n "Resource", .fence_name = "ID3D" #n "Fence",                        \
    .removed = "ID3D" #n "Device::GetDeviceRemovedReason", .read_luid = read_luid, .share = share, \
    .ask_memory = ask_memory, .texture_of = texture_of, .create_buffer = create_buffer,            \
    .create_image = create_image, .create_twin = create_twin, .record = record,                    \
    .fence = {fence_value, arm}, .read_fence = read_fence
#define CULVI_D3D_WORDS(n)                                                                         \
    .api = CULV_NATIVE_D3D, .name = "Direct3D " #n,                                                \
    .physical_device = "ID3D" #n "Device's adapter", .semaphore = "ID3D" #n "Fence",               \
    .plane_offset = "which Direct3D has none of",                                                  \
    .read_call = "ID3D" #n "Fence::GetCompletedValue",                                             \
    .wait_call = "ID3D" #n "Fence::SetEventOnCompletion", .cross = "",                             \
    .attach_desc = "culv_d3d_device_desc", .open_call = "culv_device_open_for_d3d",                \
    .memory_desc = "culv_d3d_memory_desc", .memory_size = "size"
#define CULVI_D3D_FENCES(n)                                                                        \
    static uint64_t fence_value(void *fence)                                                       \
    {                                                                                              \
        return ID3D##n##Fence_GetCompletedValue((ID3D##n##Fence *)fence);                          \
    }                                                                                              \
    static HRESULT arm(void *fence, uint64_t value, HANDLE event)                                  \
    {                                                                                              \
        return ID3D##n##Fence_SetEventOnCompletion((ID3D##n##Fence *)fence, value, event);         \
    }                                                                                              \
    static bool read_fence(void *fence, uint64_t *out)                                             \
    {                                                                                              \
        return culvi_d3d_fence_value(&culvi_d3d##n, fence, out) == 0;                              \
    }

/* The seam's functions that are the same in both (graphics/graphics.h). */
void culvi_d3d_free(culvi_graphics *graphics);
culv_result culvi_d3d_export(const culvi_graphics *graphics, const char *label, uint64_t object,
                             culv_handle *out);
culv_result culvi_d3d_plan(culvi_graphics *graphics, culvi_plan *plan);
void culvi_d3d_unmake(culvi_graphics *graphics, const culvi_native *native);
void culvi_d3d_unmake_semaphore(culvi_graphics *graphics, uint64_t semaphore);
int culvi_d3d_timeline_value(const culvi_graphics *graphics, uint64_t semaphore, uint64_t *out);
int culvi_d3d_timeline_wait(const culvi_graphics *graphics, uint64_t semaphore, uint64_t value,
                            uint64_t timeout_ns);
culv_result culvi_d3d_fail_timeline(const culvi_graphics *graphics, const char *label, int code,
                                    const char *call, const char *what);

#endif
