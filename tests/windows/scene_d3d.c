/* SPDX-License-Identifier: MIT */
/* A Direct3D device with its context or a queue, and the twin's CUDA: 11 or 12, as D3D says. */
#include "scene.h"

culv_d3d_device *NATIVE(attach)(const native *s, culv_device *culvert)
{
    culv_d3d_device_desc desc = culv_d3d_device_desc_init();
    culv_d3d_device *out = NULL;
    desc.device = (IUnknown *)s->device;
    OK(culv_d3d_attach(culvert, &desc, &out));
    return out;
}

void NATIVE(open)(native *s)
{
    NATIVE(open_device)(s);
    OK(culv_device_open_for_d3d((IUnknown *)s->device, NULL, &s->culvert));
    s->d3d = NATIVE(attach)(s, s->culvert);
    s->cu = CULV_CUDA(s->culvert);
    s->stream = scene_stream(s->culvert);
}

static void close_culvert(native *s)
{
    if (s->culvert != NULL) {
        scene_close_stream(s->culvert, s->stream);
        culv_d3d_detach(&s->d3d);
        REQUIRE(s->d3d == NULL);
        scene_close_device(&s->culvert);
    }
    REQUIRE(OVERLAY(references)() == 0);
}

bool NATIVE(reach)(native_fence *fence, uint64_t value, DWORD timeout_ms)
{
    const HANDLE event = CreateEventW(NULL, FALSE, FALSE, NULL);
    HR_OK(FENCE(SetEventOnCompletion)(fence, value, event));
    const bool reached = WaitForSingleObject(event, timeout_ms) == WAIT_OBJECT_0;
    CloseHandle(event);
    return reached;
}

culv_shared_buffer *NATIVE(make_buffer)(const native *s, uint64_t size)
{
    culv_d3d_buffer_create_desc desc = culv_d3d_buffer_create_desc_init();
    culv_shared_buffer *buffer = NULL;
    desc.size = size;
    OK(culv_d3d_buffer_create(s->d3d, &desc, &buffer));
    return buffer;
}

culv_memory *NATIVE(import)(const native *s, void *object, bool shared)
{
    culv_d3d_memory_desc desc = culv_d3d_memory_desc_init();
    culv_memory *memory = NULL;
    desc.object = object;
    desc.shared = shared;
    OK(culv_d3d_memory_import(s->d3d, &desc, &memory));
    return memory;
}

#if D3D == 11

const scene11_row scene11_rows[SCENE11_ROWS] = {
    {D3D11_RESOURCE_MISC_SHARED_NTHANDLE | D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX, true, true},
    {D3D11_RESOURCE_MISC_SHARED_NTHANDLE | D3D11_RESOURCE_MISC_SHARED, true, false},
    {D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX, false, true},
    {D3D11_RESOURCE_MISC_SHARED, false, false},
};

void scene11_open_device(native *s)
{
    D3D_FEATURE_LEVEL level = D3D_FEATURE_LEVEL_11_0;
    memset(s, 0, sizeof *s);
    scene_find_controls();
    HR_OK(D3D11CreateDevice(NULL, D3D_DRIVER_TYPE_HARDWARE, NULL, 0, &level, 1, D3D11_SDK_VERSION,
                            &s->device, NULL, &s->context));
    overlay11_install(s->device, s->context);
    HR_OK(ID3D11DeviceContext_QueryInterface(s->context, &IID_ID3D11DeviceContext4,
                                             (void **)&s->context4));
}

void scene11_close(native *s)
{
    close_culvert(s);
    overlay11_clear();
    ID3D11DeviceContext4_Release(s->context4);
    ID3D11DeviceContext_Release(s->context);
    REQUIRE(ID3D11Device_Release(s->device) == 0);
}

/* Direct3D's work ------------------------------------------------------------------------------ */

ID3D11Resource *scene11_buffer(const native *s, UINT size, UINT misc)
{
    D3D11_BUFFER_DESC desc = {.ByteWidth = size};
    ID3D11Buffer *made = NULL;
    desc.BindFlags = D3D11_BIND_SHADER_RESOURCE;
    desc.MiscFlags = misc;
    HR_OK(ID3D11Device_CreateBuffer(s->device, &desc, NULL, &made));
    return (ID3D11Resource *)(void *)made;
}

D3D11_TEXTURE2D_DESC scene11_texture_desc(DXGI_FORMAT format, UINT width, UINT height, UINT layers,
                                          UINT levels, UINT misc)
{
    D3D11_TEXTURE2D_DESC desc = {.Width = width};
    desc.Height = height;
    desc.MipLevels = levels;
    desc.ArraySize = layers;
    desc.Format = format;
    desc.SampleDesc.Count = 1;
    desc.BindFlags = D3D11_BIND_SHADER_RESOURCE | D3D11_BIND_RENDER_TARGET;
    desc.MiscFlags = misc;
    return desc;
}

ID3D11Resource *scene11_texture(const native *s, const D3D11_TEXTURE2D_DESC *desc)
{
    ID3D11Texture2D *made = NULL;
    const HRESULT hr = ID3D11Device_CreateTexture2D(s->device, desc, NULL, &made);
    if (hr != E_INVALIDARG) HR_OK(hr);
    return (ID3D11Resource *)(void *)made;
}

IDXGIKeyedMutex *scene11_mutex(ID3D11Resource *resource)
{
    IDXGIKeyedMutex *mutex = NULL;
    HR_OK(ID3D11Resource_QueryInterface(resource, &IID_IDXGIKeyedMutex, (void **)&mutex));
    return mutex;
}

void scene11_write(const native *s, ID3D11Resource *resource, UINT layer, const void *data,
                   UINT row)
{
    ID3D11DeviceContext_UpdateSubresource(s->context, resource, layer, NULL, data, row, 0);
}

void scene11_read(const native *s, ID3D11Resource *resource, UINT layer, void *data, UINT row)
{
    D3D11_BUFFER_DESC buffer = {.ByteWidth = 0};
    D3D11_TEXTURE2D_DESC texture = {.Height = 1};
    if (row == 0)
        ID3D11Buffer_GetDesc((ID3D11Buffer *)(void *)resource, &buffer);
    else
        ID3D11Texture2D_GetDesc((ID3D11Texture2D *)(void *)resource, &texture);
    scene_read11(s->device, s->context, resource, layer, data, row == 0 ? buffer.ByteWidth : row,
                 texture.Height, 1);
}

ID3D11Fence *scene11_fence(const native *s, uint64_t value, bool shared)
{
    ID3D11Device5 *device = NULL;
    ID3D11Fence *fence = NULL;
    HR_OK(ID3D11Device_QueryInterface(s->device, &IID_ID3D11Device5, (void **)&device));
    HR_OK(ID3D11Device5_CreateFence(device, value,
                                    shared ? D3D11_FENCE_FLAG_SHARED : D3D11_FENCE_FLAG_NONE,
                                    &IID_ID3D11Fence, (void **)&fence));
    ID3D11Device5_Release(device);
    return fence;
}

void *scene11_memory(native *s, uint64_t size, bool shared)
{
    return scene11_buffer(s, (UINT)size, shared ? scene11_rows[1].misc : 0);
}

void scene11_put(native *s, void *buffer, const void *data, size_t size)
{
    const D3D11_BOX box = {0, 0, 0, (UINT)size, 1, 1};
    overlay11_turn(s->device);
    ID3D11DeviceContext_UpdateSubresource(s->context, buffer, 0, &box, data, (UINT)size, 0);
    overlay11_turn(s->device);
}

void scene11_get(native *s, void *buffer, void *data, size_t size)
{
    D3D11_BUFFER_DESC desc;
    ID3D11Buffer_GetDesc((ID3D11Buffer *)buffer, &desc);
    void *all = malloc(desc.ByteWidth);
    REQUIRE(all != NULL);
    overlay11_turn(s->device);
    scene11_read(s, buffer, 0, all, 0);
    memcpy(data, all, size);
    free(all);
}

HRESULT scene11_signal(native *s, ID3D11Fence *fence, uint64_t value)
{
    return ID3D11DeviceContext4_Signal(s->context4, fence, value);
}

HRESULT scene11_wait(native *s, ID3D11Fence *fence, uint64_t value)
{
    return ID3D11DeviceContext4_Wait(s->context4, fence, value);
}

#else

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

void scene12_open_device(native *s)
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

void scene12_close(native *s)
{
    close_culvert(s);
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

static ID3D12Resource *make_committed(native *s, D3D12_HEAP_TYPE type, D3D12_HEAP_FLAGS flags,
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

ID3D12Resource *scene12_buffer(native *s, D3D12_HEAP_TYPE type, D3D12_HEAP_FLAGS flags,
                               uint64_t size)
{
    const D3D12_RESOURCE_DESC desc = scene12_buffer_desc(size);
    return make_committed(s, type, flags, &desc);
}

ID3D12Resource *scene12_texture(native *s, D3D12_HEAP_FLAGS flags, const D3D12_RESOURCE_DESC *desc)
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

void scene12_begin(native *s)
{
    HR_OK(ID3D12CommandAllocator_Reset(s->allocator));
    HR_OK(ID3D12GraphicsCommandList_Reset(s->list, s->allocator, NULL));
}

bool scene12_run(native *s)
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

bool scene12_write(native *s, ID3D12Resource *buffer, uint64_t offset, const void *data,
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

void scene12_read(native *s, ID3D12Resource *buffer, uint64_t offset, void *data, size_t size)
{
    ID3D12Resource *stage = scene12_buffer(s, D3D12_HEAP_TYPE_READBACK, D3D12_HEAP_FLAG_NONE, size);
    scene12_begin(s);
    ID3D12GraphicsCommandList_CopyBufferRegion(s->list, stage, 0, buffer, offset, size);
    REQUIRE(scene12_run(s));
    host_copy(stage, data, NULL, size);
    ID3D12Resource_Release(stage);
}

void scene12_copy_texture(native *s, ID3D12Resource *texture, unsigned subresource, void *out,
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

ID3D12Heap *scene12_heap(native *s, D3D12_HEAP_FLAGS flags, uint64_t size)
{
    D3D12_HEAP_DESC desc = {.SizeInBytes = size};
    ID3D12Heap *heap = NULL;
    desc.Properties.Type = D3D12_HEAP_TYPE_DEFAULT;
    desc.Flags = flags;
    HR_OK(ID3D12Device_CreateHeap(s->device, &desc, &IID_ID3D12Heap, (void **)&heap));
    return heap;
}

ID3D12Resource *scene12_place(const native *s, ID3D12Heap *heap, uint64_t offset,
                              const D3D12_RESOURCE_DESC *desc)
{
    ID3D12Resource *placed = NULL;
    HR_OK(ID3D12Device_CreatePlacedResource(s->device, heap, offset, desc,
                                            D3D12_RESOURCE_STATE_COMMON, NULL, &IID_ID3D12Resource,
                                            (void **)&placed));
    return placed;
}

void *scene12_memory(native *s, uint64_t size, bool shared)
{
    return scene12_buffer(s, D3D12_HEAP_TYPE_DEFAULT,
                          shared ? D3D12_HEAP_FLAG_SHARED : D3D12_HEAP_FLAG_NONE, size);
}

void scene12_put(native *s, void *buffer, const void *data, size_t size)
{
    REQUIRE(scene12_write(s, buffer, 0, data, size));
}

void scene12_get(native *s, void *buffer, void *data, size_t size)
{
    scene12_read(s, buffer, 0, data, size);
}

ID3D12Fence *scene12_fence(const native *s, uint64_t value, bool shared)
{
    ID3D12Fence *fence = NULL;
    HR_OK(ID3D12Device_CreateFence(s->device, value,
                                   shared ? D3D12_FENCE_FLAG_SHARED : D3D12_FENCE_FLAG_NONE,
                                   &IID_ID3D12Fence, (void **)&fence));
    return fence;
}

HRESULT scene12_signal(native *s, ID3D12Fence *fence, uint64_t value)
{
    return ID3D12CommandQueue_Signal(s->queue, fence, value);
}

HRESULT scene12_wait(native *s, ID3D12Fence *fence, uint64_t value)
{
    return ID3D12CommandQueue_Wait(s->queue, fence, value);
}

#endif
