/* SPDX-License-Identifier: MIT */
/* What an attachment of Direct3D 11 is; its shared handles. */
#include "d3d/d3d11_core.h"
/* after it */
#include "d3d/d3d_register.h"

#include <dxgi1_2.h>

const GUID culvi_iid_d3d11_device5 = {
    0x8ffde202, 0xa0e7, 0x45df, {0x9e, 0x01, 0xe8, 0x37, 0x80, 0x1b, 0x5e, 0xa0}};
static const GUID iid_dxgi_resource = {
    0x035f3ab4, 0x482e, 0x4e50, {0xb4, 0x1f, 0x8a, 0x7f, 0x8b, 0xd8, 0x96, 0x0b}};
static const GUID iid_dxgi_resource1 = {
    0x30961379, 0x4609, 0x4a41, {0x99, 0x8e, 0x54, 0xfe, 0x56, 0x7e, 0xe0, 0xc1}};

static const char removed[] = "ID3D11Device::GetDeviceRemovedReason";

/* Shared handles ------------------------------------------------------------------------------- */

static culv_result share_fence(const culvi_voice *voice, const char *label, ID3D11Fence *fence,
                               const wchar_t *name, culv_handle *out)
{
    HANDLE handle = NULL;
    const HRESULT hr = ID3D11Fence_CreateSharedHandle(fence, NULL, GENERIC_ALL, name, &handle);
    if (FAILED(hr) || handle == NULL)
        return culvi_fail_d3d_share(voice, label, hr, "ID3D11Fence::CreateSharedHandle",
                                    "ID3D11Fence", name, "create it with D3D11_FENCE_FLAG_SHARED",
                                    "ID3D11Device", removed);
    *out = culv_handle_win32(CULV_HANDLE_D3D11_FENCE, handle);
    return CULV_OK;
}

static culv_result share_nt(const culvi_voice *voice, const char *label, ID3D11Resource *resource,
                            const wchar_t *name, culv_handle *out)
{
    IDXGIResource1 *dxgi = NULL;
    HANDLE handle = NULL;
    HRESULT hr = ID3D11Resource_QueryInterface(resource, &iid_dxgi_resource1, (void **)&dxgi);
    if (SUCCEEDED(hr)) {
        hr = IDXGIResource1_CreateSharedHandle(
            dxgi, NULL, DXGI_SHARED_RESOURCE_READ | DXGI_SHARED_RESOURCE_WRITE, name, &handle);
        IDXGIResource1_Release(dxgi);
    }
    if (FAILED(hr) || handle == NULL)
        return culvi_fail_d3d_share(
            voice, label, hr, "IDXGIResource1::CreateSharedHandle", "ID3D11Resource", name,
            "Direct3D 11 shares 2D textures without levels, and buffers", "ID3D11Device", removed);
    *out = culv_handle_win32(CULV_HANDLE_D3D11_RESOURCE, handle);
    return CULV_OK;
}

static culv_result share_kmt(const culvi_voice *voice, const char *label, ID3D11Resource *resource,
                             const wchar_t *name, culv_handle *out)
{
    IDXGIResource *dxgi = NULL;
    HANDLE handle = NULL;
    if (name != NULL)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "a KMT handle has no name; create the resource with "
                          "D3D11_RESOURCE_MISC_SHARED_NTHANDLE besides");
    HRESULT hr = ID3D11Resource_QueryInterface(resource, &iid_dxgi_resource, (void **)&dxgi);
    if (SUCCEEDED(hr)) {
        hr = IDXGIResource_GetSharedHandle(dxgi, &handle);
        IDXGIResource_Release(dxgi);
    }
    if (FAILED(hr) || handle == NULL)
        return culvi_fail_d3d_share(
            voice, label, hr, "IDXGIResource::GetSharedHandle", "ID3D11Resource", NULL,
            "Direct3D 11 shares 2D textures without levels, and buffers", "ID3D11Device", removed);
    *out = culv_handle_win32(CULV_HANDLE_D3D11_RESOURCE_KMT, handle);
    return CULV_OK;
}

static culv_result share_resource(const culvi_voice *voice, const char *label,
                                  ID3D11Resource *resource, const wchar_t *name, culv_handle *out)
{
    const culvi_d3d11_shape shape = culvi_d3d11_shape_of(resource);
    const uint32_t misc = shape.misc;
    const bool is_buffer = shape.is_buffer;
    if (!(misc & (D3D11_RESOURCE_MISC_SHARED | D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX)))
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_NOT_EXPORTABLE,
                          "the ID3D11Resource cannot be shared: it was created with neither "
                          "D3D11_RESOURCE_MISC_SHARED nor "
                          "D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX%s",
                          is_buffer ? ""
                                    : "; an engine's texture that cannot be created anew gets a "
                                      "shared twin (culv_d3d_shadow_create())");
    return misc & D3D11_RESOURCE_MISC_SHARED_NTHANDLE
               ? share_nt(voice, label, resource, name, out)
               : share_kmt(voice, label, resource, name, out);
}

culv_result culvi_d3d11_share(const culv_d3d_device *d3d, const char *label, void *object,
                              const wchar_t *name, culv_handle *out)
{
    const culvi_voice *voice = culvi_d3d_voice(d3d);
    void *found = culvi_d3d_query(object, &culvi_d3d11.fence_iid);
    if (found != NULL) return share_fence(voice, label, found, name, out);
    found = culvi_d3d_query(object, &culvi_d3d11.resource_iid);
    if (found != NULL) return share_resource(voice, label, found, name, out);
    return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_HANDLE_KIND,
                      "the object is no ID3D11Resource and no ID3D11Fence; Direct3D 11 shares "
                      "nothing else");
}

/* For what has both APIs ----------------------------------------------------------------------- */

static culv_result read_luid(const culvi_voice *voice, const char *label, void *device,
                             culv_luid *out)
{
    return culvi_d3d11_version.read_luid(voice, label, device, out);
}

static uint64_t fence_value(void *fence)
{
    return ID3D11Fence_GetCompletedValue((ID3D11Fence *)fence);
}

static HRESULT arm(void *fence, uint64_t value, HANDLE event)
{
    return ID3D11Fence_SetEventOnCompletion((ID3D11Fence *)fence, value, event);
}

static bool read_fence(void *fence, uint64_t *out)
{
    return culvi_d3d_fence_value(&culvi_d3d11.fence, fence, out) == 0;
}

static const culvi_words words = {
    .api = CULV_NATIVE_D3D,
    .name = "Direct3D 11",
    .physical_device = "ID3D11Device's adapter",
    .memory = "ID3D11Resource",
    .semaphore = "ID3D11Fence",
    .size = "D3D11_BUFFER_DESC::ByteWidth",
    .dedicated = "every resource",
    .buffer_offset = "0, for a resource of Direct3D 11 is its own memory",
    .image_offset = "0, for a resource of Direct3D 11 is its own memory",
    .plane_offset = "which Direct3D has none of",
    .map_rows = "a staging texture",
    .read_call = "ID3D11Fence::GetCompletedValue",
    .wait_call = "ID3D11Fence::SetEventOnCompletion",
    .signal_call = "ID3D11DeviceContext4::Signal",
    .attach_desc = "culv_d3d_device_desc",
    .cross = "",
    .open_call = "culv_device_open_for_d3d",
    .memory_desc = "culv_d3d_memory_desc",
    .memory_size = "size",
};

/* No copies, neither through the host nor to another GPU: another GPU is refused. */
static const culvi_graphics_api graphics = {
    .words = &words,
    .free = culvi_d3d_free,
    .export_memory = culvi_d3d_export,
    .export_semaphore = culvi_d3d_export,
    .plan = culvi_d3d11_make_plan,
    .make = culvi_d3d11_make,
    .unmake = culvi_d3d_unmake,
    .make_semaphore = culvi_d3d11_make_semaphore,
    .unmake_semaphore = culvi_d3d_unmake_semaphore,
    .check_timelines = culvi_d3d11_check_timelines,
    .timeline_value = culvi_d3d_timeline_value,
    .timeline_wait = culvi_d3d_timeline_wait,
    .timeline_signal = culvi_d3d11_timeline_signal,
    .fail = culvi_d3d_fail_timeline,
};

const culvi_d3d_api culvi_d3d11 = {
    .graphics = &graphics,
    .device_name = "ID3D11Device",
    .resource_name = "ID3D11Resource",
    .fence_name = "ID3D11Fence",
    .commands_name = "ID3D11DeviceContext",
    .removed = removed,
    .device_iid = {0xdb6f6ddb, 0xac77, 0x4e88, {0x82, 0x53, 0x81, 0x9d, 0xf9, 0xbb, 0xf1, 0x40}},
    .resource_iid = {0xdc8e63f3, 0xd12b, 0x4952, {0xb4, 0x7b, 0x5e, 0x45, 0x02, 0x6a, 0x86, 0x2d}},
    .fence_iid = {0xaffde9d1, 0x1df7, 0x4bb7, {0x8a, 0x34, 0x0f, 0x46, 0x25, 0x1d, 0xab, 0x80}},
    .commands_iid = {0xc0bfa96c, 0xe089, 0x44fb, {0x8e, 0xaf, 0x26, 0xf8, 0x79, 0x61, 0x90, 0xda}},
    .read_luid = read_luid,
    .share = culvi_d3d11_share,
    .ask_memory = culvi_d3d11_ask_memory,
    .texture_of = culvi_d3d11_texture_in,
    .create_buffer = culvi_d3d11_create_buffer,
    .create_image = culvi_d3d11_create_image,
    .create_twin = culvi_d3d11_create_twin,
    .unshared = "D3D11_RESOURCE_MISC_SHARED",
    .record = culvi_d3d11_record,
    .fence = {fence_value, arm},
    .read_fence = read_fence,
};
