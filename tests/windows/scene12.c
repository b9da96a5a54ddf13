/* SPDX-License-Identifier: MIT */
/* A Direct3D 12 device with a queue, and the twin's CUDA. */
#define D3D 12
#include "d3d.h"

/* Before there is a device: Vulkan of the host's, beside this program. */
static void load_host(void)
{
    static char host[MAX_PATH];
    if (host[0] != '\0') return;
    GetModuleFileNameA(NULL, host, sizeof host - 32);
    char *last = strrchr(host, '\\');
    strcpy(last != NULL ? last + 1 : host, "host\\vulkan-1.dll");
    overlay_load_host(host);
}

void scene12_open_device(scene12 *s)
{
    const D3D12_COMMAND_QUEUE_DESC queue = {.Flags = D3D12_COMMAND_QUEUE_FLAG_NONE};
    memset(s, 0, sizeof *s);
    scene_find_controls();
    load_host();
    HR_OK(D3D12CreateDevice(NULL, D3D_FEATURE_LEVEL_11_0, &IID_ID3D12Device, (void **)&s->device));
    overlay_install(s->device);
    HR_OK(ID3D12Device_CreateCommandQueue(s->device, &queue, &IID_ID3D12CommandQueue,
                                          (void **)&s->queue));
    HR_OK(ID3D12Device_CreateCommandAllocator(s->device, D3D12_COMMAND_LIST_TYPE_DIRECT,
                                              &IID_ID3D12CommandAllocator, (void **)&s->allocator));
    HR_OK(ID3D12Device_CreateCommandList(s->device, 0, D3D12_COMMAND_LIST_TYPE_DIRECT, s->allocator,
                                         NULL, &IID_ID3D12GraphicsCommandList, (void **)&s->list));
    HR_OK(ID3D12GraphicsCommandList_Close(s->list));
    s->done = scene12_fence(s, 0, false);
    s->references = scene_references(s->device);
}

void scene12_close(scene12 *s)
{
    scene12_close_culvert(s);
    overlay12_clear();
    /* A thread of Direct3D's has a fence a little longer than the signal takes. */
    for (int i = 0; i < SCENE_FAR_MS && scene_references(s->device) > s->references; i++)
        Sleep(1);
    REQUIRE(scene_references(s->device) == s->references);
    ID3D12Fence_Release(s->done);
    ID3D12GraphicsCommandList_Release(s->list);
    ID3D12CommandAllocator_Release(s->allocator);
    ID3D12CommandQueue_Release(s->queue);
    REQUIRE(ID3D12Device_Release(s->device) == 0);
}

/* Direct3D's work ------------------------------------------------------------------------------ */

D3D12_RESOURCE_DESC scene12_buffer_desc(uint64_t size)
{
    D3D12_RESOURCE_DESC desc = {.Dimension = D3D12_RESOURCE_DIMENSION_BUFFER};
    desc.Width = size;
    desc.Height = 1;
    desc.DepthOrArraySize = 1;
    desc.MipLevels = 1;
    desc.SampleDesc.Count = 1;
    desc.Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR;
    return desc;
}

typedef void(STDMETHODCALLTYPE *resource_desc_fn)(ID3D12Resource *, D3D12_RESOURCE_DESC *);

D3D12_RESOURCE_DESC scene12_desc_of(ID3D12Resource *resource)
{
    D3D12_RESOURCE_DESC desc;
    ((resource_desc_fn)(void (*)(void))resource->lpVtbl->GetDesc)(resource, &desc);
    return desc;
}

static ID3D12Resource *make_committed(scene12 *s, D3D12_HEAP_TYPE type, D3D12_HEAP_FLAGS flags,
                                      const D3D12_RESOURCE_DESC *desc)
{
    D3D12_HEAP_PROPERTIES heap = {.Type = type};
    ID3D12Resource *made = NULL;
    const HRESULT hr = ID3D12Device_CreateCommittedResource(
        s->device, &heap, flags, desc,
        type == D3D12_HEAP_TYPE_UPLOAD     ? D3D12_RESOURCE_STATE_GENERIC_READ
        : type == D3D12_HEAP_TYPE_READBACK ? D3D12_RESOURCE_STATE_COPY_DEST
                                           : D3D12_RESOURCE_STATE_COMMON,
        NULL, &IID_ID3D12Resource, (void **)&made);
    if (hr != DXGI_REMOVED) HR_OK(hr);
    return made;
}

ID3D12Resource *scene12_buffer(scene12 *s, D3D12_HEAP_TYPE type, D3D12_HEAP_FLAGS flags,
                               uint64_t size)
{
    const D3D12_RESOURCE_DESC desc = scene12_buffer_desc(size);
    return make_committed(s, type, flags, &desc);
}

ID3D12Resource *scene12_texture(scene12 *s, D3D12_HEAP_FLAGS flags, const D3D12_RESOURCE_DESC *desc)
{
    return make_committed(s, D3D12_HEAP_TYPE_DEFAULT, flags, desc);
}

D3D12_RESOURCE_DESC scene12_texture_desc(D3D12_RESOURCE_DIMENSION dimension, DXGI_FORMAT format,
                                         unsigned width, unsigned height, unsigned depth,
                                         unsigned levels)
{
    D3D12_RESOURCE_DESC desc = scene12_buffer_desc(width);
    desc.Dimension = dimension;
    desc.Height = height;
    desc.DepthOrArraySize = (UINT16)depth;
    desc.MipLevels = (UINT16)levels;
    desc.Format = format;
    desc.Layout = D3D12_TEXTURE_LAYOUT_UNKNOWN;
    return desc;
}

void scene12_begin(scene12 *s)
{
    HR_OK(ID3D12CommandAllocator_Reset(s->allocator));
    HR_OK(ID3D12GraphicsCommandList_Reset(s->list, s->allocator, NULL));
}

bool scene12_run(scene12 *s)
{
    HR_OK(ID3D12GraphicsCommandList_Close(s->list));
    ID3D12CommandList *lists[] = {(ID3D12CommandList *)s->list};
    ID3D12CommandQueue_ExecuteCommandLists(s->queue, 1, lists);
    const HRESULT hr = ID3D12CommandQueue_Signal(s->queue, s->done, ++s->value);
    if (hr == DXGI_REMOVED) return false;
    HR_OK(hr);
    REQUIRE(scene12_reach(s->done, s->value, SCENE_FAR_MS));
    return ID3D12Fence_GetCompletedValue(s->done) != UINT64_MAX;
}

static void host_copy(ID3D12Resource *buffer, void *to, const void *from, size_t size)
{
    void *mapped = NULL;
    HR_OK(ID3D12Resource_Map(buffer, 0, NULL, &mapped));
    memcpy(to != NULL ? to : mapped, from != NULL ? from : mapped, size);
    ID3D12Resource_Unmap(buffer, 0, NULL);
}

bool scene12_write(scene12 *s, ID3D12Resource *buffer, uint64_t offset, const void *data,
                   size_t size)
{
    ID3D12Resource *stage = scene12_buffer(s, D3D12_HEAP_TYPE_UPLOAD, D3D12_HEAP_FLAG_NONE, size);
    if (stage == NULL) return false;
    host_copy(stage, NULL, data, size);
    scene12_begin(s);
    ID3D12GraphicsCommandList_CopyBufferRegion(s->list, buffer, offset, stage, 0, size);
    const bool done = scene12_run(s);
    ID3D12Resource_Release(stage);
    return done;
}

void scene12_read(scene12 *s, ID3D12Resource *buffer, uint64_t offset, void *data, size_t size)
{
    ID3D12Resource *stage = scene12_buffer(s, D3D12_HEAP_TYPE_READBACK, D3D12_HEAP_FLAG_NONE, size);
    scene12_begin(s);
    ID3D12GraphicsCommandList_CopyBufferRegion(s->list, stage, 0, buffer, offset, size);
    REQUIRE(scene12_run(s));
    host_copy(stage, data, NULL, size);
    ID3D12Resource_Release(stage);
}

static void copy_texture(scene12 *s, ID3D12Resource *texture, unsigned subresource, void *out,
                         const void *in)
{
    const D3D12_RESOURCE_DESC desc = scene12_desc_of(texture);
    D3D12_PLACED_SUBRESOURCE_FOOTPRINT place;
    D3D12_TEXTURE_COPY_LOCATION there, here;
    UINT rows = 0;
    UINT64 row = 0, total = 0;
    ID3D12Device_GetCopyableFootprints(s->device, &desc, subresource, 1, 0, &place, &rows, &row,
                                       &total);
    ID3D12Resource *stage =
        scene12_buffer(s, in != NULL ? D3D12_HEAP_TYPE_UPLOAD : D3D12_HEAP_TYPE_READBACK,
                       D3D12_HEAP_FLAG_NONE, total);
    unsigned char *mapped = NULL;
    const size_t lines = (size_t)rows * place.Footprint.Depth;
    memset(&there, 0, sizeof there);
    memset(&here, 0, sizeof here);
    there.pResource = texture;
    there.Type = D3D12_TEXTURE_COPY_TYPE_SUBRESOURCE_INDEX;
    there.SubresourceIndex = subresource;
    here.pResource = stage;
    here.Type = D3D12_TEXTURE_COPY_TYPE_PLACED_FOOTPRINT;
    here.PlacedFootprint = place;
    HR_OK(ID3D12Resource_Map(stage, 0, NULL, (void **)&mapped));
    for (size_t i = 0; in != NULL && i < lines; i++)
        memcpy(mapped + i * place.Footprint.RowPitch, (const unsigned char *)in + i * row,
               (size_t)row);
    scene12_begin(s);
    D3D12_RESOURCE_BARRIER barrier = {.Type = D3D12_RESOURCE_BARRIER_TYPE_TRANSITION};
    barrier.Transition.pResource = texture;
    barrier.Transition.Subresource = D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES;
    barrier.Transition.StateBefore = D3D12_RESOURCE_STATE_COMMON;
    barrier.Transition.StateAfter =
        in != NULL ? D3D12_RESOURCE_STATE_COPY_DEST : D3D12_RESOURCE_STATE_COPY_SOURCE;
    ID3D12GraphicsCommandList_ResourceBarrier(s->list, 1, &barrier);
    ID3D12GraphicsCommandList_CopyTextureRegion(s->list, in != NULL ? &there : &here, 0, 0, 0,
                                                in != NULL ? &here : &there, NULL);
    barrier.Transition.StateBefore = barrier.Transition.StateAfter;
    barrier.Transition.StateAfter = D3D12_RESOURCE_STATE_COMMON;
    ID3D12GraphicsCommandList_ResourceBarrier(s->list, 1, &barrier);
    REQUIRE(scene12_run(s));
    for (size_t i = 0; out != NULL && i < lines; i++)
        memcpy((unsigned char *)out + i * row, mapped + i * place.Footprint.RowPitch, (size_t)row);
    ID3D12Resource_Unmap(stage, 0, NULL);
    ID3D12Resource_Release(stage);
}

void scene12_read_texture(scene12 *s, ID3D12Resource *texture, unsigned subresource, void *data)
{
    copy_texture(s, texture, subresource, data, NULL);
}

void scene12_write_texture(scene12 *s, ID3D12Resource *texture, unsigned subresource,
                           const void *data)
{
    copy_texture(s, texture, subresource, NULL, data);
}

ID3D12Heap *scene12_heap(scene12 *s, D3D12_HEAP_FLAGS flags, uint64_t size)
{
    D3D12_HEAP_DESC desc = {.SizeInBytes = size};
    ID3D12Heap *heap = NULL;
    desc.Properties.Type = D3D12_HEAP_TYPE_DEFAULT;
    desc.Flags = flags;
    HR_OK(ID3D12Device_CreateHeap(s->device, &desc, &IID_ID3D12Heap, (void **)&heap));
    return heap;
}

ID3D12Resource *scene12_place(const scene12 *s, ID3D12Heap *heap, uint64_t offset,
                              const D3D12_RESOURCE_DESC *desc)
{
    ID3D12Resource *placed = NULL;
    HR_OK(ID3D12Device_CreatePlacedResource(s->device, heap, offset, desc,
                                            D3D12_RESOURCE_STATE_COMMON, NULL, &IID_ID3D12Resource,
                                            (void **)&placed));
    return placed;
}

void *scene12_memory(scene12 *s, uint64_t size, bool shared)
{
    return scene12_buffer(s, D3D12_HEAP_TYPE_DEFAULT,
                          shared ? D3D12_HEAP_FLAG_SHARED : D3D12_HEAP_FLAG_NONE, size);
}

void scene12_put(scene12 *s, void *buffer, const void *data, size_t size)
{
    REQUIRE(scene12_write(s, buffer, 0, data, size));
}

void scene12_get(scene12 *s, void *buffer, void *data, size_t size)
{
    scene12_read(s, buffer, 0, data, size);
}

ID3D12Fence *scene12_fence(const scene12 *s, uint64_t value, bool shared)
{
    ID3D12Fence *fence = NULL;
    HR_OK(ID3D12Device_CreateFence(s->device, value,
                                   shared ? D3D12_FENCE_FLAG_SHARED : D3D12_FENCE_FLAG_NONE,
                                   &IID_ID3D12Fence, (void **)&fence));
    return fence;
}

HRESULT scene12_signal(scene12 *s, ID3D12Fence *fence, uint64_t value)
{
    return ID3D12CommandQueue_Signal(s->queue, fence, value);
}

HRESULT scene12_wait(scene12 *s, ID3D12Fence *fence, uint64_t value)
{
    return ID3D12CommandQueue_Wait(s->queue, fence, value);
}

#include "scene_both.h"
