/* SPDX-License-Identifier: MIT */
/* culv_d3d12_device: the caller's ID3D12Device, attached; its CUDA match. */
#include "d3d/d3d12_core.h"
/* after it */
#include "base/alloc.h"
#include "base/desc.h"
#include "graphics/lost.h"

#include <dxgi.h>
#include <string.h>

const GUID culvi_iid_d3d12_heap = {
    0x6b3b2502, 0x6e51, 0x45b3, {0x90, 0xee, 0x98, 0x84, 0x26, 0x5e, 0x8d, 0xf3}};
const GUID culvi_iid_d3d12_resource = {
    0x696442be, 0xa72e, 0x4059, {0xbc, 0x79, 0x5b, 0x5c, 0x98, 0x04, 0x0f, 0xad}};
const GUID culvi_iid_d3d12_fence = {
    0x0a753dcf, 0xc4d8, 0x4b91, {0xad, 0xf6, 0xbe, 0x5a, 0x60, 0xd9, 0x5a, 0x76}};

/* Structs that methods return ------------------------------------------------------------------ */

typedef void(STDMETHODCALLTYPE *get_luid_fn)(ID3D12Device *, LUID *);
typedef void(STDMETHODCALLTYPE *get_heap_desc_fn)(ID3D12Heap *, D3D12_HEAP_DESC *);
typedef void(STDMETHODCALLTYPE *get_resource_desc_fn)(ID3D12Resource *, D3D12_RESOURCE_DESC *);
typedef void(STDMETHODCALLTYPE *get_queue_desc_fn)(ID3D12CommandQueue *,
                                                   D3D12_COMMAND_QUEUE_DESC *);
typedef void(STDMETHODCALLTYPE *get_allocation_fn)(ID3D12Device *, D3D12_RESOURCE_ALLOCATION_INFO *,
                                                   UINT, UINT, const D3D12_RESOURCE_DESC *);

static LUID luid_of(ID3D12Device *device)
{
    LUID luid = {0, 0};
    ((get_luid_fn)(void (*)(void))device->lpVtbl->GetAdapterLuid)(device, &luid);
    return luid;
}

D3D12_HEAP_DESC culvi_d3d12_heap_desc(ID3D12Heap *heap)
{
    D3D12_HEAP_DESC desc;
    memset(&desc, 0, sizeof desc);
    ((get_heap_desc_fn)(void (*)(void))heap->lpVtbl->GetDesc)(heap, &desc);
    return desc;
}

D3D12_RESOURCE_DESC culvi_d3d12_resource_desc(ID3D12Resource *resource)
{
    D3D12_RESOURCE_DESC desc;
    memset(&desc, 0, sizeof desc);
    ((get_resource_desc_fn)(void (*)(void))resource->lpVtbl->GetDesc)(resource, &desc);
    return desc;
}

D3D12_COMMAND_QUEUE_DESC culvi_d3d12_queue_desc(ID3D12CommandQueue *queue)
{
    D3D12_COMMAND_QUEUE_DESC desc;
    memset(&desc, 0, sizeof desc);
    ((get_queue_desc_fn)(void (*)(void))queue->lpVtbl->GetDesc)(queue, &desc);
    return desc;
}

uint64_t culvi_d3d12_allocation_size(ID3D12Device *device, const D3D12_RESOURCE_DESC *desc)
{
    D3D12_RESOURCE_ALLOCATION_INFO info = {0, 0};
    ((get_allocation_fn)(void (*)(void))device->lpVtbl->GetResourceAllocationInfo)(device, &info, 0,
                                                                                   1, desc);
    return info.SizeInBytes;
}

static const char removed[] = "ID3D12Device::GetDeviceRemovedReason";

culv_result culvi_fail_d3d12(const culv_d3d12_device *d3d12, const char *label, HRESULT code,
                             const char *call, const char *what)
{
    return culvi_fail_d3d(culvi_d3d12_voice(d3d12), label, code, call, removed,
                          CULV_REASON_DRIVER_REFUSED, "%s", what);
}

/* Shared handles ------------------------------------------------------------------------------- */

/* Why an object cannot be shared, as far as it says that itself. */
static const char *why_not(ID3D12DeviceChild *object, culv_handle_type type)
{
    D3D12_HEAP_FLAGS flags = D3D12_HEAP_FLAG_SHARED;
    if (type == CULV_HANDLE_D3D12_HEAP)
        flags = culvi_d3d12_heap_desc((ID3D12Heap *)(void *)object).Flags;
    else if (type == CULV_HANDLE_D3D12_RESOURCE &&
             FAILED(
                 ID3D12Resource_GetHeapProperties((ID3D12Resource *)(void *)object, NULL, &flags)))
        return "it is a reserved (tiled) resource, which has no memory of its own";
    if (flags & D3D12_HEAP_FLAG_SHARED) return NULL;
    if (type == CULV_HANDLE_D3D12_RESOURCE &&
        culvi_d3d12_resource_desc((ID3D12Resource *)(void *)object).Dimension !=
            D3D12_RESOURCE_DIMENSION_BUFFER)
        return "it was created without D3D12_HEAP_FLAG_SHARED; an engine's texture that cannot "
               "be created anew gets a shared twin (culv_d3d12_shadow_create())";
    return "it was created without D3D12_HEAP_FLAG_SHARED";
}

/* Makes a new handle of a heap, a resource or a fence. The handle's type is set. */
static culv_result share(const culv_d3d12_device *d3d12, const char *label,
                         ID3D12DeviceChild *object, const wchar_t *name, culv_handle *out)
{
    const culvi_voice *voice = culvi_d3d12_voice(d3d12);
    HANDLE handle = NULL;
    const culv_handle_type type =
        culvi_d3d_is_a(object, &culvi_iid_d3d12_fence)      ? CULV_HANDLE_D3D12_FENCE
        : culvi_d3d_is_a(object, &culvi_iid_d3d12_resource) ? CULV_HANDLE_D3D12_RESOURCE
        : culvi_d3d_is_a(object, &culvi_iid_d3d12_heap)     ? CULV_HANDLE_D3D12_HEAP
                                                            : CULV_HANDLE_NONE;
    if (type == CULV_HANDLE_NONE)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_HANDLE_KIND,
                          "the object is no ID3D12Heap, ID3D12Resource or ID3D12Fence; Direct3D "
                          "shares nothing else");
    const char *what = type == CULV_HANDLE_D3D12_FENCE      ? "ID3D12Fence"
                       : type == CULV_HANDLE_D3D12_RESOURCE ? "ID3D12Resource"
                                                            : "ID3D12Heap";
    const char *cause = why_not(object, type);
    if (cause != NULL)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_NOT_EXPORTABLE,
                          "the %s cannot be shared: %s", what, cause);
    HRESULT hr =
        ID3D12Device_CreateSharedHandle(d3d12->device, object, NULL, GENERIC_ALL, name, &handle);
    if (SUCCEEDED(hr) && handle != NULL) {
        *out = culv_handle_win32(type, handle);
        return CULV_OK;
    }
    return culvi_fail_d3d_share(
        voice, label, hr, "ID3D12Device::CreateSharedHandle", what, name,
        type == CULV_HANDLE_D3D12_FENCE ? "create it with D3D12_FENCE_FLAG_SHARED"
        : type == CULV_HANDLE_D3D12_RESOURCE
            ? "if it is a placed resource, import its heap and map it at its HeapOffset"
            : "create it with D3D12_HEAP_FLAG_SHARED",
        "ID3D12Device", removed);
}

culv_result culv_d3d12_export_dup(culv_d3d12_device *d3d12, ID3D12DeviceChild *object,
                                  const wchar_t *name, culv_handle *out)
{
    CULVI_REQUIRE(NULL, d3d12);
    CULVI_REQUIRE2(culvi_d3d12_voice(d3d12), object, out);
    return share(d3d12, d3d12->base.label, object, name, out);
}

/* The match ------------------------------------------------------------------------------------ */

static culv_result check_nodes(const culvi_voice *voice, const char *label, ID3D12Device *device)
{
    const UINT nodes = ID3D12Device_GetNodeCount(device);
    if (nodes == 1) return CULV_OK;
    return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_DEVICE_GROUP,
                      "the ID3D12Device has %u linked nodes (ID3D12Device::GetNodeCount), and "
                      "memory is shared with CUDA on one alone; unlink the GPUs in the driver's "
                      "settings and create a device for each adapter",
                      (unsigned)nodes);
}

culv_result culv_device_open_for_d3d12(ID3D12Device *device, const culv_device_desc *desc,
                                       culv_device **out)
{
    CULVI_REQUIRE2(NULL, device, out);
    culv_result result = check_nodes(NULL, NULL, device);
    if (result != CULV_OK) return result;
    const LUID found = luid_of(device);
    const culv_luid luid = culvi_d3d_luid(&found);
    return culv_device_open_by_luid(&luid, 1, desc, out);
}

culv_result culv_device_open_for_dxgi(IDXGIAdapter *adapter, const culv_device_desc *desc,
                                      culv_device **out)
{
    DXGI_ADAPTER_DESC found;
    CULVI_REQUIRE2(NULL, adapter, out);
    memset(&found, 0, sizeof found);
    const HRESULT hr = IDXGIAdapter_GetDesc(adapter, &found);
    if (FAILED(hr))
        return culvi_fail_native(NULL, NULL, CULV_ERROR_DRIVER, CULV_REASON_DRIVER_REFUSED,
                                 CULV_NATIVE_D3D, (int64_t)(uint32_t)hr, "IDXGIAdapter::GetDesc",
                                 "the adapter does not say what it is: IDXGIAdapter::GetDesc "
                                 "answered %#lx",
                                 (unsigned long)hr);
    const culv_luid luid = culvi_d3d_luid(&found.AdapterLuid);
    return culv_device_open_by_luid(&luid, 1, desc, out);
}

culv_result culv_d3d12_attach(culv_device *device, const culv_d3d12_device_desc *desc,
                              culv_d3d12_device **out)
{
    culv_d3d12_device_desc d;
    CULVI_REQUIRE(NULL, device);
    const culvi_voice *voice = &device->voice;
    CULVI_REQUIRE2(voice, desc, out);
    culv_result result = culvi_desc_read(voice, &d, sizeof d, desc, "culv_d3d12_device_desc");
    if (result != CULV_OK) return result;
    if (d.device == NULL)
        return culvi_fail(voice, d.label, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
                          "culv_d3d12_device_desc.device is NULL");
    result = check_nodes(voice, d.label, d.device);
    if (result != CULV_OK) return result;
    culv_d3d12_device *d3d12 = culvi_alloc(sizeof *d3d12);
    if (d3d12 == NULL) return culvi_fail_host_memory(voice, d.label);
    culvi_graphics_init(&d3d12->base, &culvi_d3d12_api, device, d.label);
    d3d12->device = d.device;
    const LUID found = luid_of(d.device);
    const culv_luid luid = culvi_d3d_luid(&found);
    result = culvi_d3d_identify(&d3d12->base, &luid, "ID3D12Device");
    if (result != CULV_OK) {
        culvi_free(d3d12);
        return result;
    }
    ID3D12Device_AddRef(d3d12->device);
    culvi_graphics_attached(&d3d12->base);
    *out = d3d12;
    return CULV_OK;
}

static void free_attachment(culvi_graphics *graphics)
{
    culv_d3d12_device *d3d12 = culvi_d3d12_of(graphics);
    ID3D12Device_Release(d3d12->device);
    culvi_free(d3d12);
}

culv_result culv_d3d12_device_lost(culv_d3d12_device *d3d12)
{
    CULVI_REQUIRE(NULL, d3d12);
    culvi_graphics_lose(&d3d12->base);
    return CULV_OK;
}

void culv_d3d12_detach(culv_d3d12_device **d3d12)
{
    if (d3d12 == NULL || *d3d12 == NULL) return;
    culv_d3d12_device *mine = *d3d12;
    *d3d12 = NULL;
    culvi_graphics_unref(&mine->base);
}

/* The seam ------------------------------------------------------------------------------------- */

static culv_result export_object(const culvi_graphics *graphics, const char *label, uint64_t object,
                                 culv_handle *out)
{
    return share(culvi_d3d12_of(graphics), label, culvi_d3d_object(object), NULL, out);
}

static const culvi_words words = {
    .api = CULV_NATIVE_D3D,
    .name = "Direct3D 12",
    .physical_device = "ID3D12Device's adapter",
    .memory = "ID3D12Heap or ID3D12Resource",
    .semaphore = "ID3D12Fence",
    .size = "D3D12_HEAP_DESC::SizeInBytes or ID3D12Device::GetResourceAllocationInfo",
    .dedicated = "a committed resource",
    .buffer_offset = "HeapOffset of CreatePlacedResource",
    .image_offset = "HeapOffset of CreatePlacedResource",
    .plane_offset = "which Direct3D has none of",
    .map_rows = "a ROW_MAJOR one as a buffer",
    .read_call = "ID3D12Fence::GetCompletedValue",
    .wait_call = "ID3D12Fence::SetEventOnCompletion",
    .signal_call = "ID3D12Fence::Signal",
    .attach_desc = "culv_d3d12_device_desc",
    .cross = "",
    .open_call = "culv_device_open_for_d3d12",
    .memory_desc = "culv_d3d12_memory_desc",
    .memory_size = "size",
};

/* No copies, neither through the host nor to another GPU: another GPU is refused. */
const culvi_graphics_api culvi_d3d12_api = {
    .words = &words,
    .free = free_attachment,
    .export_memory = export_object,
    .export_semaphore = export_object,
    .plan = culvi_d3d12_plan,
    .make = culvi_d3d12_make,
    .unmake = culvi_d3d12_unmake,
    .make_semaphore = culvi_d3d12_make_semaphore,
    .unmake_semaphore = culvi_d3d12_unmake_semaphore,
    .check_timelines = culvi_d3d12_check_timelines,
    .timeline_value = culvi_d3d12_timeline_value,
    .timeline_wait = culvi_d3d12_timeline_wait,
    .timeline_signal = culvi_d3d12_timeline_signal,
    .fail = culvi_d3d12_fail_timeline,
};
