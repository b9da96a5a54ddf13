/* SPDX-License-Identifier: MIT */
/* culv_d3d11_device: the caller's ID3D11Device, attached; its CUDA match; shared handles. */
#include "d3d/d3d11_core.h"
/* after it */
#include "base/alloc.h"
#include "base/desc.h"
#include "graphics/lost.h"

#include <dxgi1_2.h>
#include <string.h>

const GUID culvi_iid_d3d11_fence = {
    0xaffde9d1, 0x1df7, 0x4bb7, {0x8a, 0x34, 0x0f, 0x46, 0x25, 0x1d, 0xab, 0x80}};
const GUID culvi_iid_d3d11_device5 = {
    0x8ffde202, 0xa0e7, 0x45df, {0x9e, 0x01, 0xe8, 0x37, 0x80, 0x1b, 0x5e, 0xa0}};
static const GUID iid_dxgi_device = {
    0x54ec77fa, 0x1377, 0x44e6, {0x8c, 0x32, 0x88, 0xfd, 0x5f, 0x44, 0xc8, 0x4c}};
static const GUID iid_dxgi_resource = {
    0x035f3ab4, 0x482e, 0x4e50, {0xb4, 0x1f, 0x8a, 0x7f, 0x8b, 0xd8, 0x96, 0x0b}};
static const GUID iid_dxgi_resource1 = {
    0x30961379, 0x4609, 0x4a41, {0x99, 0x8e, 0x54, 0xfe, 0x56, 0x7e, 0xe0, 0xc1}};
static const GUID iid_resource = {
    0xdc8e63f3, 0xd12b, 0x4952, {0xb4, 0x7b, 0x5e, 0x45, 0x02, 0x6a, 0x86, 0x2d}};

static const char removed[] = "ID3D11Device::GetDeviceRemovedReason";

culv_result culvi_fail_d3d11(const culv_d3d11_device *d3d11, const char *label, HRESULT code,
                             const char *call, const char *what)
{
    return culvi_fail_d3d(culvi_d3d11_voice(d3d11), label, code, call, removed,
                          CULV_REASON_DRIVER_REFUSED, "%s", what);
}

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
                                      "shared twin (culv_d3d11_shadow_create())");
    return misc & D3D11_RESOURCE_MISC_SHARED_NTHANDLE
               ? share_nt(voice, label, resource, name, out)
               : share_kmt(voice, label, resource, name, out);
}

culv_result culvi_d3d11_share(const culv_d3d11_device *d3d11, const char *label, void *object,
                              const wchar_t *name, culv_handle *out)
{
    const culvi_voice *voice = culvi_d3d11_voice(d3d11);
    IUnknown *found = NULL;
    culv_result result;
    if (SUCCEEDED(
            IUnknown_QueryInterface((IUnknown *)object, &culvi_iid_d3d11_fence, (void **)&found)))
        result = share_fence(voice, label, (ID3D11Fence *)(void *)found, name, out);
    else if (SUCCEEDED(IUnknown_QueryInterface((IUnknown *)object, &iid_resource, (void **)&found)))
        result = share_resource(voice, label, (ID3D11Resource *)(void *)found, name, out);
    else
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_HANDLE_KIND,
                          "the object is no ID3D11Resource and no ID3D11Fence; Direct3D 11 shares "
                          "nothing else");
    IUnknown_Release(found);
    return result;
}

culv_result culv_d3d11_export_dup(culv_d3d11_device *d3d11, struct IUnknown *object,
                                  const wchar_t *name, culv_handle *out)
{
    CULVI_REQUIRE(NULL, d3d11);
    CULVI_REQUIRE2(culvi_d3d11_voice(d3d11), object, out);
    return culvi_d3d11_share(d3d11, d3d11->base.label, object, name, out);
}

/* The match ------------------------------------------------------------------------------------ */

static culv_result read_luid(const culvi_voice *voice, const char *label, ID3D11Device *device,
                             culv_luid *out)
{
    const char *call = "ID3D11Device::QueryInterface(IDXGIDevice)";
    IDXGIDevice *dxgi = NULL;
    IDXGIAdapter *adapter = NULL;
    DXGI_ADAPTER_DESC desc;
    memset(&desc, 0, sizeof desc);
    HRESULT hr = ID3D11Device_QueryInterface(device, &iid_dxgi_device, (void **)&dxgi);
    if (SUCCEEDED(hr)) {
        call = "IDXGIDevice::GetAdapter";
        hr = IDXGIDevice_GetAdapter(dxgi, &adapter);
        IDXGIDevice_Release(dxgi);
    }
    if (SUCCEEDED(hr)) {
        call = "IDXGIAdapter::GetDesc";
        hr = IDXGIAdapter_GetDesc(adapter, &desc);
        IDXGIAdapter_Release(adapter);
    }
    if (FAILED(hr))
        return culvi_fail_d3d(voice, label, hr, call, removed, CULV_REASON_DRIVER_REFUSED,
                              "the ID3D11Device does not say which adapter it is");
    *out = culvi_d3d_luid(&desc.AdapterLuid);
    return CULV_OK;
}

culv_result culv_device_open_for_d3d11(ID3D11Device *device, const culv_device_desc *desc,
                                       culv_device **out)
{
    culv_luid luid;
    CULVI_REQUIRE2(NULL, device, out);
    culv_result result = read_luid(NULL, NULL, device, &luid);
    return result == CULV_OK ? culv_device_open_by_luid(&luid, 1, desc, out) : result;
}

culv_result culv_d3d11_attach(culv_device *device, const culv_d3d11_device_desc *desc,
                              culv_d3d11_device **out)
{
    culv_d3d11_device_desc d;
    culv_luid luid;
    CULVI_REQUIRE(NULL, device);
    const culvi_voice *voice = &device->voice;
    CULVI_REQUIRE2(voice, desc, out);
    culv_result result = culvi_desc_read(voice, &d, sizeof d, desc, "culv_d3d11_device_desc");
    if (result != CULV_OK) return result;
    if (d.device == NULL)
        return culvi_fail(voice, d.label, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
                          "culv_d3d11_device_desc.device is NULL");
    result = read_luid(voice, d.label, d.device, &luid);
    if (result != CULV_OK) return result;
    culv_d3d11_device *d3d11 = culvi_alloc(sizeof *d3d11);
    if (d3d11 == NULL) return culvi_fail_host_memory(voice, d.label);
    culvi_graphics_init(&d3d11->base, &culvi_d3d11_api, device, d.label);
    d3d11->device = d.device;
    result = culvi_d3d_identify(&d3d11->base, &luid, "ID3D11Device");
    if (result != CULV_OK) {
        culvi_free(d3d11);
        return result;
    }
    ID3D11Device_AddRef(d3d11->device);
    culvi_graphics_attached(&d3d11->base);
    *out = d3d11;
    return CULV_OK;
}

static void free_attachment(culvi_graphics *graphics)
{
    culv_d3d11_device *d3d11 = culvi_d3d11_of(graphics);
    ID3D11Device_Release(d3d11->device);
    culvi_free(d3d11);
}

culv_result culv_d3d11_device_lost(culv_d3d11_device *d3d11)
{
    CULVI_REQUIRE(NULL, d3d11);
    culvi_graphics_lose(&d3d11->base);
    return CULV_OK;
}

void culv_d3d11_detach(culv_d3d11_device **d3d11)
{
    if (d3d11 == NULL || *d3d11 == NULL) return;
    culv_d3d11_device *mine = *d3d11;
    *d3d11 = NULL;
    culvi_graphics_unref(&mine->base);
}

/* The seam ------------------------------------------------------------------------------------- */

static culv_result export_object(const culvi_graphics *graphics, const char *label, uint64_t object,
                                 culv_handle *out)
{
    return culvi_d3d11_share(culvi_d3d11_of(graphics), label, culvi_d3d_object(object), NULL, out);
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
    .attach_desc = "culv_d3d11_device_desc",
    .cross = "",
    .open_call = "culv_device_open_for_d3d11",
    .memory_desc = "culv_d3d11_memory_desc",
    .memory_size = "size",
};

/* No copies, neither through the host nor to another GPU: another GPU is refused. */
const culvi_graphics_api culvi_d3d11_api = {
    .words = &words,
    .free = free_attachment,
    .export_memory = export_object,
    .export_semaphore = export_object,
    .plan = culvi_d3d11_make_plan,
    .make = culvi_d3d11_make,
    .unmake = culvi_d3d11_unmake,
    .make_semaphore = culvi_d3d11_make_semaphore,
    .unmake_semaphore = culvi_d3d11_unmake_semaphore,
    .check_timelines = culvi_d3d11_check_timelines,
    .timeline_value = culvi_d3d11_timeline_value,
    .timeline_wait = culvi_d3d11_timeline_wait,
    .timeline_signal = culvi_d3d11_timeline_signal,
    .fail = culvi_d3d11_fail_timeline,
};
