/* SPDX-License-Identifier: MIT */
/* What an attachment of Direct3D 12 is; its shared handles. */
#include "d3d/d3d12_core.h"
/* after it */
#include <string.h>

const GUID culvi_iid_d3d12_heap = {
    0x6b3b2502, 0x6e51, 0x45b3, {0x90, 0xee, 0x98, 0x84, 0x26, 0x5e, 0x8d, 0xf3}};

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

/* Shared handles ------------------------------------------------------------------------------- */

/* Why an object cannot be shared, as far as it says that itself. */
static const char *why_not(void *object, culv_handle_type type)
{
    D3D12_HEAP_FLAGS flags = D3D12_HEAP_FLAG_SHARED;
    if (type == CULV_HANDLE_D3D12_HEAP)
        flags = culvi_d3d12_heap_desc((ID3D12Heap *)object).Flags;
    else if (type == CULV_HANDLE_D3D12_RESOURCE &&
             FAILED(ID3D12Resource_GetHeapProperties((ID3D12Resource *)object, NULL, &flags)))
        return "it is a reserved (tiled) resource, which has no memory of its own";
    if (flags & D3D12_HEAP_FLAG_SHARED) return NULL;
    if (type == CULV_HANDLE_D3D12_RESOURCE &&
        culvi_d3d12_resource_desc((ID3D12Resource *)object).Dimension !=
            D3D12_RESOURCE_DIMENSION_BUFFER)
        return "it was created without D3D12_HEAP_FLAG_SHARED; an engine's texture that cannot "
               "be created anew gets a shared twin (culv_d3d_shadow_create())";
    return "it was created without D3D12_HEAP_FLAG_SHARED";
}

static culv_result share(const culv_d3d_device *d3d, const char *label, void *object,
                         const wchar_t *name, culv_handle *out)
{
    static const culv_handle_type types[] = {CULV_HANDLE_D3D12_FENCE, CULV_HANDLE_D3D12_RESOURCE,
                                             CULV_HANDLE_D3D12_HEAP};
    const GUID *const ids[] = {&culvi_d3d12.fence_iid, &culvi_d3d12.resource_iid,
                               &culvi_iid_d3d12_heap};
    const culvi_voice *voice = culvi_d3d_voice(d3d);
    HANDLE handle = NULL;
    void *child = NULL;
    const int found = culvi_d3d_pick(object, ids, 3, &child);
    const culv_handle_type type = found < 0 ? CULV_HANDLE_NONE : types[found];
    if (type == CULV_HANDLE_NONE)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_HANDLE_KIND,
                          "the object is no ID3D12Heap, ID3D12Resource or ID3D12Fence; Direct3D "
                          "shares nothing else");
    const char *what = type == CULV_HANDLE_D3D12_FENCE      ? "ID3D12Fence"
                       : type == CULV_HANDLE_D3D12_RESOURCE ? "ID3D12Resource"
                                                            : "ID3D12Heap";
    const char *cause = why_not(child, type);
    if (cause != NULL)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_NOT_EXPORTABLE,
                          "the %s cannot be shared: %s", what, cause);
    HRESULT hr = ID3D12Device_CreateSharedHandle(
        culvi_d3d12_device(d3d), (ID3D12DeviceChild *)child, NULL, GENERIC_ALL, name, &handle);
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

static culv_result read_luid(const culvi_voice *voice, const char *label, void *device,
                             culv_luid *out)
{
    culv_result result = check_nodes(voice, label, device);
    if (result != CULV_OK) return result;
    const LUID found = luid_of(device);
    *out = culvi_d3d_luid(&found);
    return CULV_OK;
}

/* For what has both APIs ----------------------------------------------------------------------- */

static uint64_t fence_value(void *fence)
{
    return ID3D12Fence_GetCompletedValue((ID3D12Fence *)fence);
}

static HRESULT arm(void *fence, uint64_t value, HANDLE event)
{
    return ID3D12Fence_SetEventOnCompletion((ID3D12Fence *)fence, value, event);
}

static bool read_fence(void *fence, uint64_t *out)
{
    return culvi_d3d_fence_value(&culvi_d3d12.fence, fence, out) == 0;
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
    .plan = culvi_d3d12_plan,
    .make = culvi_d3d12_make,
    .unmake = culvi_d3d_unmake,
    .make_semaphore = culvi_d3d12_make_semaphore,
    .unmake_semaphore = culvi_d3d_unmake_semaphore,
    .check_timelines = culvi_d3d12_check_timelines,
    .timeline_value = culvi_d3d_timeline_value,
    .timeline_wait = culvi_d3d_timeline_wait,
    .timeline_signal = culvi_d3d12_timeline_signal,
    .fail = culvi_d3d_fail_timeline,
};

const culvi_d3d_api culvi_d3d12 = {
    .graphics = &graphics,
    .device_name = "ID3D12Device",
    .resource_name = "ID3D12Resource",
    .fence_name = "ID3D12Fence",
    .commands_name = "ID3D12GraphicsCommandList",
    .removed = removed,
    .device_iid = {0x189819f1, 0x1db6, 0x4b57, {0xbe, 0x54, 0x18, 0x21, 0x33, 0x9b, 0x85, 0xf7}},
    .resource_iid = {0x696442be, 0xa72e, 0x4059, {0xbc, 0x79, 0x5b, 0x5c, 0x98, 0x04, 0x0f, 0xad}},
    .fence_iid = {0x0a753dcf, 0xc4d8, 0x4b91, {0xad, 0xf6, 0xbe, 0x5a, 0x60, 0xd9, 0x5a, 0x76}},
    .commands_iid = {0x5b160d0f, 0xac1b, 0x4185, {0x8b, 0xa8, 0xb3, 0xae, 0x42, 0xa5, 0xa4, 0x55}},
    .read_luid = read_luid,
    .share = share,
    .ask_memory = culvi_d3d12_ask_memory,
    .texture_of = culvi_d3d12_texture_in,
    .create_buffer = culvi_d3d12_create_buffer,
    .create_image = culvi_d3d12_create_image,
    .create_twin = culvi_d3d12_create_twin,
    .unshared = "D3D12_HEAP_FLAG_SHARED",
    .record = culvi_d3d12_record,
    .fence = {fence_value, arm},
    .read_fence = read_fence,
};
