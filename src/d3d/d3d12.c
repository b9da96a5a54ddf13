/* SPDX-License-Identifier: MIT */
/* Direct3D 12: what differs in its attachments. */
#include "d3d/d3d12_core.h"

const GUID culvi_iid_d3d12_heap = {
    0x6b3b2502, 0x6e51, 0x45b3, {0x90, 0xee, 0x98, 0x84, 0x26, 0x5e, 0x8d, 0xf3}};

/* Structs that methods return ----------------------------------------------------------------- */

typedef void(STDMETHODCALLTYPE *get_fn)(void *object, void *out);
typedef void(STDMETHODCALLTYPE *get_allocation_fn)(ID3D12Device *, D3D12_RESOURCE_ALLOCATION_INFO *,
                                                   UINT, UINT, const D3D12_RESOURCE_DESC *);

#define GET(object, method, out) ((get_fn)(void (*)(void))(object)->lpVtbl->method)((object), (out))

#define GETTER(type, function, object)                                                             \
    type function(object *from)                                                                    \
    {                                                                                              \
        type desc;                                                                                 \
        memset(&desc, 0, sizeof desc);                                                             \
        GET(from, GetDesc, &desc);                                                                 \
        return desc;                                                                               \
    }
GETTER(D3D12_HEAP_DESC, culvi_d3d12_heap_desc, ID3D12Heap)
GETTER(D3D12_COMMAND_QUEUE_DESC, culvi_d3d12_queue_desc, ID3D12CommandQueue)
static GETTER(D3D12_RESOURCE_DESC, resource_desc, ID3D12Resource)

    static uint64_t allocation_size(ID3D12Device *device, const D3D12_RESOURCE_DESC *desc)
{
    D3D12_RESOURCE_ALLOCATION_INFO info = {0, 0};
    ((get_allocation_fn)(void (*)(void))device->lpVtbl->GetResourceAllocationInfo)(device, &info, 0,
                                                                                   1, desc);
    return info.SizeInBytes;
}

D3D12_RESOURCE_DESC culvi_d3d12_buffer_desc(uint64_t size, D3D12_RESOURCE_FLAGS flags)
{
    return (D3D12_RESOURCE_DESC){.Dimension = D3D12_RESOURCE_DIMENSION_BUFFER,
                                 .Width = size,
                                 .Height = 1,
                                 .DepthOrArraySize = 1,
                                 .MipLevels = 1,
                                 .SampleDesc = {.Count = 1},
                                 .Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
                                 .Flags = flags};
}

/* The caller's heaps and resources ------------------------------------------------------------- */

static culv_result ask_memory(const culv_d3d_device *d3d, const culv_d3d_memory_desc *d,
                              culvi_memory_ask *ask)
{
    const GUID *const ids[] = {&culvi_d3d12.resource_iid, &culvi_iid_d3d12_heap};
    void *object = NULL;
    const int found = culvi_d3d_pick(d->object, ids, 2, &object);
    CULVI_REFUSE_IF(found < 0, d3d->voice, d->label, CULV_REASON_HANDLE_KIND,
                    "the object is no ID3D12Heap and no ID3D12Resource");
    ask->memory = (uint64_t)(uintptr_t)object;
    ask->dedicated = found == 0;
    if (found == 0) {
        const D3D12_RESOURCE_DESC what = resource_desc(object);
        ask->identity = culvi_d3d_identity(object);
        ask->size = allocation_size(culvi_d3d12_device(d3d), &what);
    } else {
        ask->size = culvi_d3d12_heap_desc(object).SizeInBytes;
    }
    return CULV_OK;
}

static culvi_d3d_texture describe(const D3D12_RESOURCE_DESC *desc)
{
    return (culvi_d3d_texture){.sides = desc->Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE1D   ? 1
                                        : desc->Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE2D ? 2
                                        : desc->Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE3D ? 3
                                                                                                : 0,
                               .width = desc->Width,
                               .height = desc->Height,
                               .depth_or_layers = desc->DepthOrArraySize,
                               .levels = desc->MipLevels,
                               .samples = desc->SampleDesc.Count,
                               .format = (uint32_t)desc->Format,
                               .render_target =
                                   (desc->Flags & D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET) != 0,
                               .row_major = desc->Layout == D3D12_TEXTURE_LAYOUT_ROW_MAJOR};
}

static culvi_d3d_texture texture_of(void *resource)
{
    const D3D12_RESOURCE_DESC what = resource_desc(resource);
    return describe(&what);
}

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
        resource_desc((ID3D12Resource *)object).Dimension != D3D12_RESOURCE_DIMENSION_BUFFER)
        return "it was created without D3D12_HEAP_FLAG_SHARED; an engine's texture that cannot be created anew gets a shared twin (culv_d3d_shadow_create())";
    return "it was created without D3D12_HEAP_FLAG_SHARED";
}

static culv_result share(const culv_d3d_device *d3d, const char *label, void *object,
                         const wchar_t *name, culv_handle *out)
{
    static const culv_handle_type types[] = {CULV_HANDLE_D3D12_FENCE, CULV_HANDLE_D3D12_RESOURCE,
                                             CULV_HANDLE_D3D12_HEAP};
    const GUID *const ids[] = {&culvi_d3d12.fence_iid, &culvi_d3d12.resource_iid,
                               &culvi_iid_d3d12_heap};
    HANDLE handle = NULL;
    void *child = NULL;
    const int found = culvi_d3d_pick(object, ids, 3, &child);
    const culv_handle_type type = found < 0 ? CULV_HANDLE_NONE : types[found];
    CULVI_REFUSE_IF(
        type == CULV_HANDLE_NONE, d3d->voice, label, CULV_REASON_HANDLE_KIND,
        "the object is no ID3D12Heap, ID3D12Resource or ID3D12Fence; Direct3D shares nothing else");
    const char *what = type == CULV_HANDLE_D3D12_FENCE      ? "ID3D12Fence"
                       : type == CULV_HANDLE_D3D12_RESOURCE ? "ID3D12Resource"
                                                            : "ID3D12Heap";
    const char *cause = why_not(child, type);
    CULVI_REFUSE_IF(cause != NULL, d3d->voice, label, CULV_REASON_NOT_EXPORTABLE,
                    "the %s cannot be shared: %s", what, cause);
    HRESULT hr = ID3D12Device_CreateSharedHandle(
        culvi_d3d12_device(d3d), (ID3D12DeviceChild *)child, NULL, GENERIC_ALL, name, &handle);
    if (SUCCEEDED(hr) && handle != NULL) {
        *out = culv_handle_win32(type, handle);
        return CULV_OK;
    }
    return culvi_d3d_fail_share(
        d3d, label, hr, "ID3D12Device::CreateSharedHandle", what, name,
        type == CULV_HANDLE_D3D12_FENCE ? "create it with D3D12_FENCE_FLAG_SHARED"
        : type == CULV_HANDLE_D3D12_RESOURCE
            ? "if it is a placed resource, import its heap and map it at its HeapOffset"
            : "create it with D3D12_HEAP_FLAG_SHARED");
}

/* The match ------------------------------------------------------------------------------------ */

static culv_result read_luid(const culvi_voice *voice, const char *label, void *device,
                             culv_luid *out)
{
    const UINT nodes = ID3D12Device_GetNodeCount((ID3D12Device *)device);
    LUID found = {0, 0};
    CULVI_REFUSE_IF(
        nodes != 1, voice, label, CULV_REASON_DEVICE_GROUP,
        "the ID3D12Device has %u linked nodes (ID3D12Device::GetNodeCount), and memory is shared with CUDA on one alone; unlink the GPUs in the driver's settings and create a device for each adapter",
        (unsigned)nodes);
    GET((ID3D12Device *)device, GetAdapterLuid, &found);
    *out = culvi_d3d_luid(&found);
    return CULV_OK;
}

/* Buffers and textures that Culvert makes ------------------------------------------------------ */

static culv_result make(culvi_graphics *graphics, const culvi_plan *plan, culvi_native *out)
{
    const culv_d3d_device *d3d = culvi_d3d_of(graphics);
    const D3D12_RESOURCE_DESC *desc = ((const culvi_d3d_made *)plan->desc)->native;
    D3D12_HEAP_PROPERTIES heap;
    ID3D12Resource *resource = NULL;
    memset(&heap, 0, sizeof heap);
    heap.Type = D3D12_HEAP_TYPE_DEFAULT;
    const HRESULT hr = ID3D12Device_CreateCommittedResource(
        culvi_d3d12_device(d3d), &heap, D3D12_HEAP_FLAG_SHARED, desc, D3D12_RESOURCE_STATE_COMMON,
        NULL, &culvi_d3d12.resource_iid, (void **)&resource);
    if (FAILED(hr))
        return culvi_fail_d3d(
            &graphics->device->voice, plan->label, hr, "ID3D12Device::CreateCommittedResource",
            "ID3D12Device::GetDeviceRemovedReason", CULV_REASON_DRIVER_REFUSED,
            "a shared %s of DXGI_FORMAT %d, %" PRIu64 " x %u x %u, could not be made",
            plan->is_image ? "texture" : "buffer", (int)desc->Format, (uint64_t)desc->Width,
            (unsigned)desc->Height, (unsigned)desc->DepthOrArraySize);
    /* Reads the description of what was made, in which the driver has replaced the zeros. */
    const D3D12_RESOURCE_DESC made = resource_desc(resource);
    *out =
        culvi_d3d_native(resource, allocation_size(culvi_d3d12_device(d3d), &made), plan->is_image);
    out->usage = (uint32_t)made.Flags;
    return CULV_OK;
}

/* Direct3D itself answers E_INVALIDARG, which names nothing. */
static culv_result create_buffer(culv_d3d_device *d3d, const culv_d3d_buffer_create_desc *d,
                                 culv_shared_buffer **out)
{
    D3D12_FEATURE_DATA_GPU_VIRTUAL_ADDRESS_SUPPORT bits = {0, 0};
    CULVI_REFUSE_IF(d->size == 0, d3d->voice, d->label, CULV_REASON_SIZE,
                    "culv_d3d_buffer_create_desc.size is 0");
    const HRESULT hr = ID3D12Device_CheckFeatureSupport(
        culvi_d3d12_device(d3d), D3D12_FEATURE_GPU_VIRTUAL_ADDRESS_SUPPORT, &bits, sizeof bits);
    const UINT most = SUCCEEDED(hr) ? bits.MaxGPUVirtualAddressBitsPerResource : 0;
    CULVI_REFUSE_IF(most != 0 && most <= 63 && d->size > UINT64_C(1) << most, d3d->voice, d->label,
                    CULV_REASON_SIZE,
                    "culv_d3d_buffer_create_desc.size is %" PRIu64
                    "; a resource of this device has %" PRIu64 " bytes at most",
                    d->size, UINT64_C(1) << most);
    const D3D12_RESOURCE_DESC desc =
        culvi_d3d12_buffer_desc(d->size, (D3D12_RESOURCE_FLAGS)d->resource_flags);
    return culvi_d3d_make_buffer(d3d, d, &desc, out);
}

static culv_result create_image(culv_d3d_device *d3d, const culv_d3d_image_create_desc *d,
                                const char *name, culv_shared_image **out)
{
    const D3D12_RESOURCE_DESC *what = d->resource_desc;
    CULVI_REFUSE_IF(what == NULL, d3d->voice, d->label, CULV_REASON_NULL_ARGUMENT,
                    "%s.resource_desc is NULL", name);
    CULVI_REFUSE_IF(what->Width == 0 || what->Height == 0 || what->DepthOrArraySize == 0,
                    d3d->voice, d->label, CULV_REASON_EXTENT, "%s.resource_desc->%s is 0", name,
                    what->Width == 0    ? "Width"
                    : what->Height == 0 ? "Height"
                                        : "DepthOrArraySize");
    CULVI_UNSUPPORTED_IF(
        what->Dimension == D3D12_RESOURCE_DIMENSION_BUFFER, d3d->voice, d->label, CULV_REASON_USAGE,
        "%s is of a buffer, not of a texture; make a shared one by culv_d3d_buffer_create()", name);
    return culvi_d3d_make_image(d3d, d, name, describe(what), what, out);
}

/* Shadows -------------------------------------------------------------------------------------- */

static culv_result create_twin(culv_d3d_shadow *shadow, culv_d3d_image_create_desc *make,
                               const char *name)
{
    D3D12_RESOURCE_DESC what = resource_desc(shadow->resource);
    what.Alignment = 0; /* the other's place in its heap */
    make->resource_desc = &what;
    return create_image(shadow->d3d, make, name, &shadow->image);
}

static D3D12_RESOURCE_BARRIER barrier_of(ID3D12Resource *resource, D3D12_RESOURCE_STATES before,
                                         D3D12_RESOURCE_STATES after)
{
    D3D12_RESOURCE_BARRIER barrier;
    memset(&barrier, 0, sizeof barrier);
    barrier.Type = D3D12_RESOURCE_BARRIER_TYPE_TRANSITION;
    barrier.Transition.pResource = resource;
    barrier.Transition.Subresource = D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES;
    barrier.Transition.StateBefore = before;
    barrier.Transition.StateAfter = after;
    return barrier;
}

static culv_result record(culv_d3d_shadow *shadow, void *commands, uint32_t state, bool from_twin)
{
    D3D12_RESOURCE_BARRIER barriers[2];
    ID3D12GraphicsCommandList *list = commands;
    ID3D12Resource *twin = (ID3D12Resource *)culv_d3d_image_resource(shadow->image);
    const D3D12_RESOURCE_STATES yours = (D3D12_RESOURCE_STATES)state;
    const D3D12_RESOURCE_STATES in =
        from_twin ? D3D12_RESOURCE_STATE_COPY_DEST : D3D12_RESOURCE_STATE_COPY_SOURCE;
    barriers[0] =
        barrier_of(twin, D3D12_RESOURCE_STATE_COMMON,
                   from_twin ? D3D12_RESOURCE_STATE_COPY_SOURCE : D3D12_RESOURCE_STATE_COPY_DEST);
    barriers[1] = barrier_of(shadow->resource, yours, in);
    /* A transition from a state to itself is none, and Direct3D refuses it. */
    const UINT count = yours != in ? 2 : 1;
    ID3D12GraphicsCommandList_ResourceBarrier(list, count, barriers);
    ID3D12GraphicsCommandList_CopyResource(list, from_twin ? shadow->resource : twin,
                                           from_twin ? twin : shadow->resource);
    for (UINT i = 0; i < 2; i++) {
        const D3D12_RESOURCE_STATES before = barriers[i].Transition.StateBefore;
        barriers[i].Transition.StateBefore = barriers[i].Transition.StateAfter;
        barriers[i].Transition.StateAfter = before;
    }
    ID3D12GraphicsCommandList_ResourceBarrier(list, count, barriers);
    return CULV_OK;
}

/* Fences --------------------------------------------------------------------------------------- */

static culv_result make_semaphore(culvi_graphics *graphics, const culvi_semaphore_plan *plan,
                                  bool exportable, uint64_t *out)
{
    const culv_d3d_device *d3d = culvi_d3d_of(graphics);
    ID3D12Fence *fence = NULL;
    const HRESULT hr =
        ID3D12Device_CreateFence(culvi_d3d12_device(d3d), plan->initial_value,
                                 exportable ? D3D12_FENCE_FLAG_SHARED : D3D12_FENCE_FLAG_NONE,
                                 &culvi_d3d12.fence_iid, (void **)&fence);
    if (FAILED(hr))
        return culvi_d3d_fail(d3d, plan->label, hr, "ID3D12Device::CreateFence",
                              "a fence could not be made");
    *out = (uint64_t)(uintptr_t)fence;
    return CULV_OK;
}

static culv_result check_timelines(const culvi_graphics *graphics, const char *label,
                                   culvi_host_use use)
{
    (void)graphics, (void)label, (void)use;
    return CULV_OK; /* every fence has a value that the host reads, waits for and signals */
}

static int timeline_signal(const culvi_graphics *graphics, uint64_t semaphore, uint64_t value)
{
    (void)graphics;
    const HRESULT hr = ID3D12Fence_Signal((ID3D12Fence *)culvi_d3d_object(semaphore), value);
    return FAILED(hr) ? (int)hr : 0;
}

CULVI_D3D_FENCES(12)

/* The tables ----------------------------------------------------------------------------------- */

static const culvi_words words = {
    CULVI_D3D_WORDS(12),
    .memory = "ID3D12Heap or ID3D12Resource",
    .size = "D3D12_HEAP_DESC::SizeInBytes or ID3D12Device::GetResourceAllocationInfo",
    .dedicated = "a committed resource",
    .buffer_offset = "HeapOffset of CreatePlacedResource",
    .image_offset = "HeapOffset of CreatePlacedResource",
    .map_rows = "a ROW_MAJOR one as a buffer",
    .signal_call = "ID3D12Fence::Signal",
};

static const culvi_graphics_api graphics = CULVI_D3D_GRAPHICS;

const culvi_d3d_api culvi_d3d12 = {
    CULVI_D3D_API(12),
    .commands_name = "ID3D12GraphicsCommandList",
    .device_iid = {0x189819f1, 0x1db6, 0x4b57, {0xbe, 0x54, 0x18, 0x21, 0x33, 0x9b, 0x85, 0xf7}},
    .resource_iid = {0x696442be, 0xa72e, 0x4059, {0xbc, 0x79, 0x5b, 0x5c, 0x98, 0x04, 0x0f, 0xad}},
    .fence_iid = {0x0a753dcf, 0xc4d8, 0x4b91, {0xad, 0xf6, 0xbe, 0x5a, 0x60, 0xd9, 0x5a, 0x76}},
    .commands_iid = {0x5b160d0f, 0xac1b, 0x4185, {0x8b, 0xa8, 0xb3, 0xae, 0x42, 0xa5, 0xa4, 0x55}},
    .unshared = "D3D12_HEAP_FLAG_SHARED",
};
