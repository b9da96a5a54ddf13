/* SPDX-License-Identifier: MIT */
/* Direct3D 11: what differs in its attachments, and its resources that CUDA registers. */
#include "d3d/d3d_attach.h"
/* after it */
#include "d3d/d3d_register.h"
#include "d3d/keyed_mutex.h"

#include <d3d11_4.h>
#include <dxgi1_2.h>

#undef OPTIONAL

/* MinGW's import libraries lack these. */
static const GUID iid_device5 = {
    0x8ffde202, 0xa0e7, 0x45df, {0x9e, 0x01, 0xe8, 0x37, 0x80, 0x1b, 0x5e, 0xa0}};
static const GUID iid_dxgi_resource1 = {
    0x30961379, 0x4609, 0x4a41, {0x99, 0x8e, 0x54, 0xfe, 0x56, 0x7e, 0xe0, 0xc1}};
static const GUID iid_texture = {
    0x6f15aaf2, 0xd208, 0x4e89, {0x9a, 0xb4, 0x48, 0x95, 0x35, 0xd3, 0x4f, 0x9c}};

enum {
    SHARING = D3D11_RESOURCE_MISC_SHARED | D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX |
              D3D11_RESOURCE_MISC_SHARED_NTHANDLE
};

static ID3D11Device *device_of(const culv_d3d_device *d3d)
{
    return d3d->device;
}

/* Resources ------------------------------------------------------------------------------------ */

CULVI_D3D_SHAPES(11, SHARING)

static culvi_d3d_texture texture_of(void *resource)
{
    return shape_of(resource).texture;
}

static culv_result ask_memory(const culv_d3d_device *d3d, const culv_d3d_memory_desc *d,
                              culvi_memory_ask *ask)
{
    void *resource = NULL;
    CULVI_TRY(culvi_d3d_as(d3d, d->label, d->object, &culvi_d3d11.resource_iid, "ID3D11Resource",
                           &resource));
    const culvi_d3d_shape found = shape_of(resource);
    ask->dedicated = true;
    ask->memory = (uint64_t)(uintptr_t)resource;
    ask->identity = culvi_d3d_identity(resource);
    ask->size = d->size != 0 ? d->size : found.size;
    if (ask->size != 0) return CULV_OK;
    return culvi_fail(
        d3d->voice, d->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT,
        "no CUDA array has the texture's DXGI_FORMAT %u, so its size is unknown; copy the texels into a buffer",
        (unsigned)found.texture.format);
}

/* Shared handles ------------------------------------------------------------------------------- */

static culv_result share_fence(const culv_d3d_device *d3d, const char *label, ID3D11Fence *fence,
                               const wchar_t *name, culv_handle *out)
{
    HANDLE handle = NULL;
    const HRESULT hr = ID3D11Fence_CreateSharedHandle(fence, NULL, GENERIC_ALL, name, &handle);
    if (FAILED(hr) || handle == NULL)
        return culvi_d3d_fail_share(d3d, label, hr, "ID3D11Fence::CreateSharedHandle",
                                    "ID3D11Fence", name, "create it with D3D11_FENCE_FLAG_SHARED");
    *out = culv_handle_win32(CULV_HANDLE_D3D11_FENCE, handle);
    return CULV_OK;
}

static culv_result share_resource(const culv_d3d_device *d3d, const char *label,
                                  ID3D11Resource *resource, const wchar_t *name, culv_handle *out)
{
    const culvi_d3d_shape found = shape_of(resource);
    const bool nt = (found.misc & D3D11_RESOURCE_MISC_SHARED_NTHANDLE) != 0;
    void *dxgi = NULL;
    HANDLE handle = NULL;
    CULVI_REFUSE_IF(
        !(found.misc & (D3D11_RESOURCE_MISC_SHARED | D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX)),
        d3d->voice, label, CULV_REASON_NOT_EXPORTABLE,
        "the ID3D11Resource cannot be shared: it was created with neither D3D11_RESOURCE_MISC_SHARED nor D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX%s",
        found.is_buffer
            ? ""
            : "; an engine's texture that cannot be created anew gets a shared twin (culv_d3d_shadow_create())");
    CULVI_REFUSE_IF(
        !nt && name != NULL, d3d->voice, label, CULV_REASON_VALUE,
        "a KMT handle has no name; create the resource with D3D11_RESOURCE_MISC_SHARED_NTHANDLE besides");
    HRESULT hr = ID3D11Resource_QueryInterface(
        resource, nt ? &iid_dxgi_resource1 : &culvi_iid_dxgi_resource, &dxgi);
    if (SUCCEEDED(hr)) {
        hr = nt ? IDXGIResource1_CreateSharedHandle(
                      (IDXGIResource1 *)dxgi, NULL,
                      DXGI_SHARED_RESOURCE_READ | DXGI_SHARED_RESOURCE_WRITE, name, &handle)
                : IDXGIResource_GetSharedHandle((IDXGIResource *)dxgi, &handle);
        IUnknown_Release((IUnknown *)dxgi);
    }
    if (FAILED(hr) || handle == NULL)
        return culvi_d3d_fail_share(
            d3d, label, hr,
            nt ? "IDXGIResource1::CreateSharedHandle" : "IDXGIResource::GetSharedHandle",
            "ID3D11Resource", name, "Direct3D 11 shares 2D textures without levels, and buffers");
    *out =
        culv_handle_win32(nt ? CULV_HANDLE_D3D11_RESOURCE : CULV_HANDLE_D3D11_RESOURCE_KMT, handle);
    return CULV_OK;
}

static culv_result share(const culv_d3d_device *d3d, const char *label, void *object,
                         const wchar_t *name, culv_handle *out)
{
    void *found = culvi_d3d_query(object, &culvi_d3d11.fence_iid);
    if (found != NULL) return share_fence(d3d, label, found, name, out);
    found = culvi_d3d_query(object, &culvi_d3d11.resource_iid);
    if (found != NULL) return share_resource(d3d, label, found, name, out);
    return culvi_fail(
        d3d->voice, label, CULV_ERROR_INVALID, CULV_REASON_HANDLE_KIND,
        "the object is no ID3D11Resource and no ID3D11Fence; Direct3D 11 shares nothing else");
}

culv_result culv_d3d11_keyed_mutex_import(culv_d3d_device *d3d, ID3D11Resource *resource,
                                          const char *label, culv_keyed_mutex **out)
{
    culv_keyed_mutex_desc d = culv_keyed_mutex_desc_init();
    CULVI_REQUIRE_WITH2(d3d, d3d->voice, resource, out);
    CULVI_TRY(culvi_d3d_check_api(d3d, &culvi_d3d11, __func__));
    CULVI_REFUSE_IF(
        !(shape_of(resource).misc & D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX), d3d->voice, label,
        CULV_REASON_NOT_EXPORTABLE,
        "the ID3D11Resource has no keyed mutex: it was created without D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX; use a fence");
    CULVI_TRY(share(d3d, label, resource, NULL, &d.handle));
    d.handle.type = d.handle.type == CULV_HANDLE_D3D11_RESOURCE ? CULV_HANDLE_D3D11_KEYED_MUTEX
                                                                : CULV_HANDLE_D3D11_KEYED_MUTEX_KMT;
    d.label = label;
    return culvi_keyed_mutex_import_exported(d3d->base.device, &d, out);
}

/* Buffers and textures that Culvert makes ------------------------------------------------------ */

static culv_result make(culvi_graphics *graphics, const culvi_plan *plan, culvi_native *out)
{
    const culv_d3d_device *d3d = culvi_d3d_of(graphics);
    const void *desc = ((const culvi_d3d_made *)plan->desc)->native;
    void *resource = NULL;
    const HRESULT hr =
        plan->is_image
            ? ID3D11Device_CreateTexture2D(device_of(d3d), (const D3D11_TEXTURE2D_DESC *)desc, NULL,
                                           (ID3D11Texture2D **)&resource)
            : ID3D11Device_CreateBuffer(device_of(d3d), (const D3D11_BUFFER_DESC *)desc, NULL,
                                        (ID3D11Buffer **)&resource);
    if (FAILED(hr))
        return culvi_d3d_fail(d3d, plan->label, hr,
                              plan->is_image ? "ID3D11Device::CreateTexture2D"
                                             : "ID3D11Device::CreateBuffer",
                              plan->is_image ? "a shared texture could not be made"
                                             : "a shared buffer could not be made");
    *out = culvi_d3d_native(resource, shape_of(resource).size, plan->is_image);
    return CULV_OK;
}

/* SHARED and SHARED_KEYEDMUTEX exclude one another; SHARED_NTHANDLE goes with either. */
static UINT sharing(culv_bool keyed_mutex, culv_bool kmt)
{
    return (UINT)(keyed_mutex ? D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX
                              : D3D11_RESOURCE_MISC_SHARED) |
           (kmt ? 0u : (UINT)D3D11_RESOURCE_MISC_SHARED_NTHANDLE);
}

static culv_result create_buffer(culv_d3d_device *d3d, const culv_d3d_buffer_create_desc *d,
                                 culv_shared_buffer **out)
{
    CULVI_REFUSE_IF(d->size == 0 || d->size > UINT32_MAX, d3d->voice, d->label, CULV_REASON_SIZE,
                    "culv_d3d_buffer_create_desc.size is %" PRIu64
                    "; a buffer of Direct3D 11 has 1 to %" PRIu32 " bytes",
                    d->size, UINT32_MAX);
    const D3D11_BUFFER_DESC desc = {
        .ByteWidth = (UINT)d->size,
        .BindFlags = d->bind_flags != 0 ? (UINT)d->bind_flags : (UINT)D3D11_BIND_SHADER_RESOURCE,
        .MiscFlags = ((UINT)d->misc_flags & ~(UINT)SHARING) | sharing(d->keyed_mutex, d->kmt),
        .StructureByteStride = d->stride};
    return culvi_d3d_make_buffer(d3d, d, &desc, out);
}

/* Direct3D itself answers E_INVALIDARG, which names nothing.
 * Source: D3D11_RESOURCE_MISC_FLAG, D3D11_RESOURCE_MISC_SHARED; D3D11_USAGE. */
static culv_result check_shared(const culvi_voice *voice, const char *label, const char *name,
                                const D3D11_TEXTURE2D_DESC *desc)
{
    CULVI_UNSUPPORTED_IF(
        desc->MipLevels != 1, voice, label, CULV_REASON_USAGE,
        "%s.texture_desc->MipLevels is %u%s; Direct3D 11 shares textures of one level alone", name,
        (unsigned)desc->MipLevels, desc->MipLevels == 0 ? " (all levels)" : "");
    CULVI_UNSUPPORTED_IF(
        desc->Usage != D3D11_USAGE_DEFAULT || desc->CPUAccessFlags != 0, voice, label,
        CULV_REASON_USAGE,
        "%s.texture_desc->Usage is %d and CPUAccessFlags %#x; a shared texture is of D3D11_USAGE_DEFAULT, without access of the CPU's",
        name, (int)desc->Usage, (unsigned)desc->CPUAccessFlags);
    return CULV_OK;
}

static culv_result create_image(culv_d3d_device *d3d, const culv_d3d_image_create_desc *d,
                                const char *name, culv_shared_image **out)
{
    const D3D11_TEXTURE2D_DESC *texture = d->texture_desc;
    CULVI_REFUSE_IF(texture == NULL, d3d->voice, d->label, CULV_REASON_NULL_ARGUMENT,
                    "%s.texture_desc is NULL", name);
    CULVI_REFUSE_IF(texture->Width == 0 || texture->Height == 0, d3d->voice, d->label,
                    CULV_REASON_EXTENT, "%s.texture_desc->%s is 0", name,
                    texture->Width == 0 ? "Width" : "Height");
    CULVI_TRY(check_shared(d3d->voice, d->label, name, texture));
    D3D11_TEXTURE2D_DESC desc = *texture;
    desc.MiscFlags = (desc.MiscFlags & ~(UINT)SHARING) | sharing(d->keyed_mutex, d->kmt);
    return culvi_d3d_make_image(d3d, d, name, CULVI_D3D_TEXTURE_2D(desc), &desc, out);
}

/* Shadows -------------------------------------------------------------------------------------- */

/* Whether `its` is the attached device; the call takes the caller's reference. Direct3D drops a
 * copy between devices in silence. */
static bool is_attached(const culv_d3d_device *d3d, ID3D11Device *its)
{
    const bool same = its != NULL && culvi_d3d_identity(its) == culvi_d3d_identity(d3d->device);
    if (its != NULL) ID3D11Device_Release(its);
    return same;
}

/* What the twin is made of: one level, nothing that only the engine needs. */
static D3D11_TEXTURE2D_DESC twin_of(const D3D11_TEXTURE2D_DESC *from)
{
    D3D11_TEXTURE2D_DESC desc = *from;
    desc.MipLevels = 1;
    desc.Usage = D3D11_USAGE_DEFAULT;
    desc.CPUAccessFlags = 0;
    desc.BindFlags &= D3D11_BIND_SHADER_RESOURCE | D3D11_BIND_RENDER_TARGET;
    if (desc.BindFlags == 0) desc.BindFlags = D3D11_BIND_SHADER_RESOURCE;
    desc.MiscFlags &= D3D11_RESOURCE_MISC_TEXTURECUBE;
    return desc;
}

static culv_result create_twin(culv_d3d_shadow *shadow, culv_d3d_image_create_desc *make,
                               const char *name)
{
    const culvi_voice *voice = shadow->d3d->voice;
    ID3D11Texture2D *texture = culvi_d3d_query(shadow->resource, &iid_texture);
    ID3D11Device *its = NULL;
    D3D11_TEXTURE2D_DESC engine;
    CULVI_REFUSE_IF(
        texture == NULL, voice, make->label, CULV_REASON_USAGE,
        "%s.resource is no ID3D11Texture2D; Direct3D 11 shares no other textures, and a buffer is copied into one of culv_d3d_buffer_create()'s",
        name);
    ID3D11Texture2D_GetDesc(texture, &engine);
    ID3D11Texture2D_GetDevice(texture, &its);
    CULVI_REFUSE_IF(!is_attached(shadow->d3d, its), voice, make->label, CULV_REASON_DEVICE_MISMATCH,
                    "%s.resource is of another ID3D11Device than the attached one", name);
    const D3D11_TEXTURE2D_DESC twin = twin_of(&engine);
    make->texture_desc = &twin;
    shadow->layers = engine.ArraySize;
    shadow->levels = engine.MipLevels;
    return create_image(shadow->d3d, make, name, &shadow->image);
}

static culv_result record(culv_d3d_shadow *shadow, void *commands, uint32_t state, bool from_twin)
{
    const culvi_voice *voice = shadow->d3d->voice;
    ID3D11DeviceContext *context = commands;
    ID3D11Device *device = NULL;
    CULVI_REFUSE_IF(state != 0, voice, shadow->label, CULV_REASON_VALUE,
                    "state is %#x, and resources of Direct3D 11 have no states; pass 0",
                    (unsigned)state);
    ID3D11DeviceContext_GetDevice(context, &device);
    CULVI_REFUSE_IF(!is_attached(shadow->d3d, device), voice, shadow->label,
                    CULV_REASON_DEVICE_MISMATCH,
                    "the ID3D11DeviceContext is of another ID3D11Device than the texture");
    ID3D11Resource *twin = (ID3D11Resource *)culv_d3d_image_resource(shadow->image);
    ID3D11Resource *to = from_twin ? shadow->resource : twin;
    ID3D11Resource *from = from_twin ? twin : shadow->resource;
    const UINT to_levels = from_twin ? shadow->levels : 1;
    const UINT from_levels = from_twin ? 1 : shadow->levels;
    if (shadow->levels == 1)
        ID3D11DeviceContext_CopyResource(context, to, from);
    else
        for (UINT layer = 0; layer < shadow->layers; layer++)
            ID3D11DeviceContext_CopySubresourceRegion(context, to, layer * to_levels, 0, 0, 0, from,
                                                      layer * from_levels, NULL);
    return CULV_OK;
}

/* Fences --------------------------------------------------------------------------------------- */

static culv_result make_semaphore(culvi_graphics *graphics, const culvi_semaphore_plan *plan,
                                  bool exportable, uint64_t *out)
{
    const culv_d3d_device *d3d = culvi_d3d_of(graphics);
    ID3D11Device5 *device = NULL;
    ID3D11Fence *fence = NULL;
    HRESULT hr = ID3D11Device_QueryInterface(device_of(d3d), &iid_device5, (void **)&device);
    if (FAILED(hr))
        return culvi_fail_native(
            d3d->voice, plan->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_NOT_EXPORTABLE,
            CULV_NATIVE_D3D, (int64_t)(uint32_t)hr, "ID3D11Device::QueryInterface(ID3D11Device5)",
            "this ID3D11Device has no fences (%#lx), which came with Windows 10 1703; use a resource's keyed mutex",
            (unsigned long)hr);
    hr = ID3D11Device5_CreateFence(device, plan->initial_value,
                                   exportable ? D3D11_FENCE_FLAG_SHARED : D3D11_FENCE_FLAG_NONE,
                                   &culvi_d3d11.fence_iid, (void **)&fence);
    ID3D11Device5_Release(device);
    if (FAILED(hr))
        return culvi_d3d_fail(d3d, plan->label, hr, "ID3D11Device5::CreateFence",
                              "a fence could not be made");
    *out = (uint64_t)(uintptr_t)fence;
    return CULV_OK;
}

static culv_result check_timelines(const culvi_graphics *graphics, const char *label,
                                   culvi_host_use use)
{
    if (use != CULVI_HOST_SIGNALS) return CULV_OK;
    return culvi_fail(
        &graphics->device->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_NO_FORCE,
        "the host cannot signal an ID3D11Fence: ID3D11DeviceContext4::Signal does that, on the thread of the context");
}

static int timeline_signal(const culvi_graphics *graphics, uint64_t semaphore, uint64_t value)
{
    (void)graphics, (void)semaphore, (void)value;
    return CULVI_D3D_NOT_IMPLEMENTED; /* check_timelines() refuses before */
}

/* Registration --------------------------------------------------------------------------------- */

CULVI_D3D_DRIVERS_CALLS(cuGraphicsD3D11RegisterResource, cuD3D11GetDevices,
                        &&cuda->cuD3D11GetDevice != NULL);

#define IIDS                                                                                       \
    .device_iid = {0xdb6f6ddb, 0xac77, 0x4e88, {0x82, 0x53, 0x81, 0x9d, 0xf9, 0xbb, 0xf1, 0x40}},  \
    .resource_iid = {0xdc8e63f3, 0xd12b, 0x4952, {0xb4, 0x7b, 0x5e, 0x45, 0x02, 0x6a, 0x86, 0x2d}}

const culvi_d3d_version culvi_d3d11_version = {
    CULVI_D3D_DRIVERS(cuGraphicsD3D11RegisterResource, cuD3D11GetDevices),
    IIDS,
    .name = "Direct3D 11",
    .device = "ID3D11Device",
    .removed = "ID3D11Device::GetDeviceRemovedReason",
    .read_luid = culvi_d3d_read_adapter,
    .look = look};

/* The tables ----------------------------------------------------------------------------------- */

static culv_result read_luid(const culvi_voice *voice, const char *label, void *device,
                             culv_luid *out)
{
    return culvi_d3d_read_adapter(&culvi_d3d11_version, voice, label, device, out, NULL);
}

CULVI_D3D_FENCES(11)

static const culvi_words words = {
    CULVI_D3D_WORDS(11),
    .memory = "ID3D11Resource",
    .size = "D3D11_BUFFER_DESC::ByteWidth",
    .dedicated = "every resource",
    .buffer_offset = "0, for a resource of Direct3D 11 is its own memory",
    .image_offset = "0, for a resource of Direct3D 11 is its own memory",
    .map_rows = "a staging texture",
    .signal_call = "ID3D11DeviceContext4::Signal",
};

static const culvi_graphics_api graphics = CULVI_D3D_GRAPHICS;

const culvi_d3d_api culvi_d3d11 = {
    CULVI_D3D_API(11),
    IIDS,
    .commands_name = "ID3D11DeviceContext",
    .fence_iid = {0xaffde9d1, 0x1df7, 0x4bb7, {0x8a, 0x34, 0x0f, 0x46, 0x25, 0x1d, 0xab, 0x80}},
    .commands_iid = {0xc0bfa96c, 0xe089, 0x44fb, {0x8e, 0xaf, 0x26, 0xf8, 0x79, 0x61, 0x90, 0xda}},
    .unshared = "D3D11_RESOURCE_MISC_SHARED",
};
