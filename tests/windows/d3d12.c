/* SPDX-License-Identifier: MIT */
/* Direct3D 12 with CUDA: heaps and names, textures, CUDA's VMM memory, adapters, rings, CUDA in
 * graphics, and what the rig refuses as Windows does. A texture's bytes are where llvmpipe puts
 * them, which the twin knows: what is proved is the description that CUDA gets. */
#include "scene.h"
/* after windows.h */
#include <aclapi.h>
#include <culvert/d3d12.h>
#include <culvert/d3d_register.h>
#include <winternl.h>

#include "culvert/extra/cig.h"
#include "d3d_cases.h"

/* CUDA writes, Direct3D reads; and the other way. */
static void both_ways(native *s, CUdeviceptr pointer, ID3D12Resource *buffer, uint64_t offset,
                      size_t size, unsigned seed)
{
    scene_pattern(put, size, seed);
    scene_cuda_write(s, pointer + offset, put, size);
    scene12_read(s, buffer, offset, got, size);
    REQUIRE(memcmp(put, got, size) == 0);
    scene_pattern(put, size, seed + 1);
    REQUIRE(scene12_write(s, buffer, offset, put, size));
    scene_cuda_has(s, pointer + offset, put, size);
}

static ID3D12Resource *place(const native *s, ID3D12Heap *heap, uint64_t offset, uint64_t size)
{
    const D3D12_RESOURCE_DESC desc = scene12_buffer_desc(size);
    return scene12_place(s, heap, offset, &desc);
}

static ID3D12Heap *buffer_heap(native *s, uint64_t size)
{
    return scene12_heap(s, D3D12_HEAP_FLAG_SHARED | D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS, size);
}

static void release_heap(ID3D12Heap *heap)
{
    overlay12_clear(); /* whose alias holds the heap */
    REQUIRE(ID3D12Heap_Release(heap) == 0);
}

/* A heap, a committed buffer and a fence, by a handle and by a name. CUDA is told the allocation's
 * size, not the buffer's; a fence's present value counts. */
D3D_CASE(handles)
{
    static const wchar_t name[] = L"Local\\culvert d3d12 object";
    static const culv_handle_type types[] = {CULV_HANDLE_D3D12_HEAP, CULV_HANDLE_D3D12_RESOURCE,
                                             CULV_HANDLE_D3D12_FENCE};
    enum { SIZE = 65536 /* GetResourceAllocationInfo() */ };
    ID3D12Heap *heap = buffer_heap(s, SIZE);
    ID3D12Resource *resources[2] = {place(s, heap, 0, 1000), scene12_memory(s, 1000, true)};
    ID3D12Fence *fence = scene12_fence(s, 7, true);
    IUnknown *const objects[] = {(IUnknown *)heap, (IUnknown *)resources[1], (IUnknown *)fence};
    for (unsigned i = 0; i < 6; i++) {
        const uint64_t value = ID3D12Fence_GetCompletedValue(fence);
        culv_memory *memory = NULL;
        culv_semaphore *cuda = NULL;
        culv_handle handle;
        OK(culv_d3d_export_dup(s->d3d, objects[i / 2], name, &handle));
        REQUIRE(handle.type == types[i / 2]);
        const culv_handle by = i % 2 != 0 ? culv_handle_win32_named(handle.type, name) : handle;
        if (i < 4)
            memory = scene_import(s->culvert, by, SIZE, false); /* dedicated without saying */
        else
            cuda = scene_timeline(s->culvert, by, value);
        REQUIRE(scene_name_lives(name)); /* it was borrowed */
        culv_handle_close(&handle);
        REQUIRE(!scene_name_lives(name)); /* nothing of Culvert's has it open */
        if (i < 4) {
            REQUIRE(culv_memory_size(memory) == SIZE);
            culv_buffer *buffer = scene_map(memory, 0, 1000);
            both_ways(s, culv_buffer_pointer(buffer), resources[i / 2], 0, 1000, 40 + i);
            culv_buffer_unmap(&buffer, NULL);
        } else {
            REFUSES(culv_semaphore_signal(cuda, s->stream, value), INVALID, TIMELINE_BACKWARDS);
            OK(culv_semaphore_signal(cuda, s->stream, 10 + i));
            REQUIRE(scene12_reach(fence, 10 + i, SCENE_FAR_MS));
        }
        culv_semaphore_destroy(&cuda, NULL);
    }
    REQUIRE(ID3D12Fence_Release(fence) == 0);
    ID3D12Resource_Release(resources[0]);
    REQUIRE(ID3D12Resource_Release(resources[1]) == 0);
    release_heap(heap);
}

static void refuse_other(native *s, culv_memory *memory, IUnknown *resource)
{
    culv_d3d_memory_desc import = culv_d3d_memory_desc_init();
    culv_d3d_image_create_desc image_desc = culv_d3d_image_create_desc_init();
    culv_d3d_shadow_desc shadow_desc = culv_d3d_shadow_desc_init();
    culv_memory *again = NULL;
    culv_shared_buffer *buffer = NULL;
    culv_shared_image *image = NULL;
    culv_d3d_shadow *shadow = NULL;
    culv_keyed_mutex *mutex = NULL;
    import.object = resource;
    import.size = 65536;
    REFUSES_SO(culv_d3d_memory_import(s->d3d, &import, &again), INVALID, VALUE,
               "culv_d3d_memory_desc.size is Direct3D 11's, and the device is an ID3D12Device");
    for (int i = 0; i < 5; i++) {
        culv_d3d_buffer_create_desc d = culv_d3d_buffer_create_desc_init();
        d.size = 4096;
        d.bind_flags = i == 0;
        d.misc_flags = i == 1;
        d.stride = i == 2;
        d.keyed_mutex = i == 3;
        d.kmt = i == 4;
        REFUSES(culv_d3d_buffer_create(s->d3d, &d, &buffer), INVALID, VALUE);
    }
    image_desc.texture_desc = (const struct D3D11_TEXTURE2D_DESC *)&import;
    REFUSES(culv_d3d_image_create(s->d3d, &image_desc, &image), INVALID, VALUE);
    shadow_desc.resource = resource;
    shadow_desc.keyed_mutex = 1;
    REFUSES(culv_d3d_shadow_create(s->d3d, &shadow_desc, &shadow), INVALID, VALUE);
    REFUSES_SO(
        culv_d3d11_keyed_mutex_import(s->d3d, (struct ID3D11Resource *)resource, NULL, &mutex),
        INVALID, VALUE, "Direct3D 11");
    REQUIRE(again == NULL && buffer == NULL && image == NULL && shadow == NULL && mutex == NULL);
}

/* A DXGI adapter, before there is a device. */
D3D_CASE(adapters)
{
    culv_device *other = NULL;
    culv_device_caps mine = culv_device_caps_init(), its = culv_device_caps_init();
    IDXGIFactory1 *factory = NULL;
    IDXGIAdapter *adapter = NULL;
    HR_OK(CreateDXGIFactory1(&IID_IDXGIFactory1, (void **)&factory));
    HR_OK(IDXGIFactory1_EnumAdapters(factory, 0, &adapter));
    OK(culv_device_open_for_d3d((IUnknown *)adapter, NULL, &other));
    OK(culv_device_get_caps(s->culvert, &mine));
    OK(culv_device_get_caps(other, &its));
    REQUIRE(memcmp(&mine.uuid, &its.uuid, sizeof mine.uuid) == 0);
    culv_device_close(&other);
    IDXGIAdapter_Release(adapter);
    IDXGIFactory1_Release(factory);

    culv_d3d_device_desc desc = culv_d3d_device_desc_init();
    culv_d3d_device *d3d12 = NULL;
    desc.device = (IUnknown *)s->device;
    overlay_tell(OVERLAY_LINKED); /* Direct3D has both of two nodes */
    REFUSES(culv_device_open_for_d3d((IUnknown *)s->device, NULL, &other), INVALID, DEVICE_GROUP);
    REFUSES(culv_d3d_attach(s->culvert, &desc, &d3d12), INVALID, DEVICE_GROUP);
    overlay_tell(OVERLAY_HONEST);
    REQUIRE(other == NULL && d3d12 == NULL);
}

/* Textures ------------------------------------------------------------------------------------- */

typedef struct kind {
    const char *name;
    int dimension;
    unsigned width, height, depth, levels;
    bool cube;
} kind;

static D3D12_RESOURCE_DESC texture_desc(const kind *k, DXGI_FORMAT format)
{
    return scene12_texture_desc((D3D12_RESOURCE_DIMENSION)k->dimension, format, k->width, k->height,
                                k->depth, k->levels);
}

static unsigned level_of(unsigned side, unsigned level)
{
    return side >> level > 0 ? side >> level : 1;
}

/* Each level's layers, as rows without gaps: CUDA writes and Direct3D reads, and the other way. */
static void turn_levels(native *s, ID3D12Resource *resource, culv_image *image, const kind *k,
                        unsigned texel)
{
    const bool solid = k->dimension == D3D12_RESOURCE_DIMENSION_TEXTURE3D;
    const unsigned layers = solid ? 1 : k->depth;
    for (unsigned level = 0; level < k->levels; level++) {
        const size_t row = (size_t)level_of(k->width, level) * texel;
        const unsigned rows = level_of(k->height, level);
        const unsigned depth = solid ? level_of(k->depth, level) : k->depth;
        const size_t all = row * rows * depth, layer = all / layers;
        CUarray array = NULL;
        REQUIRE(all <= sizeof put);
        OK(culv_image_get_array(image, level, 0, &array));
        for (unsigned by_cuda = 0; by_cuda < 2; by_cuda++) {
            scene_pattern(put, all, level + 1 + 100 * by_cuda);
            if (by_cuda) scene_cuda_copy(s, array, put, row, rows, depth, true);
            for (unsigned i = 0; i < layers; i++)
                scene12_copy_texture(s, resource, level + i * k->levels,
                                     by_cuda ? got + i * layer : NULL,
                                     by_cuda ? NULL : put + i * layer);
            if (!by_cuda) scene_cuda_copy(s, array, got, row, rows, depth, false);
            REQUIRE(memcmp(put, got, all) == 0);
        }
    }
}

D3D_CASE(kinds)
{
    enum {
        LINE = D3D12_RESOURCE_DIMENSION_TEXTURE1D,
        FLAT = D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        SOLID = D3D12_RESOURCE_DIMENSION_TEXTURE3D
    };
    static const kind kinds[] = {
        {"1D", LINE, 96, 1, 1, 1, false},          {"2D", FLAT, 50, 30, 1, 1, false},
        {"2D, levels", FLAT, 64, 48, 1, 3, false}, {"2D array", FLAT, 32, 16, 3, 1, false},
        {"cube", FLAT, 24, 24, 6, 1, true},        {"cube array", FLAT, 16, 16, 12, 1, true},
        {"3D", SOLID, 20, 12, 5, 1, false},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const D3D12_RESOURCE_DESC what = texture_desc(&kinds[i], DXGI_FORMAT_R32_UINT);
        culv_d3d_image_create_desc desc = culv_d3d_image_create_desc_init();
        culv_shared_image *image = NULL;
        printf("  %s\n", kinds[i].name);
        desc.resource_desc = &what;
        desc.cube = kinds[i].cube;
        desc.label = kinds[i].name;
        OK(culv_d3d_image_create(s->d3d, &desc, &image));
        turn_levels(s, (ID3D12Resource *)culv_d3d_image_resource(image),
                    culv_shared_image_cuda(image), &kinds[i], 4);
        culv_shared_image_destroy(&image, NULL);
    }
}

/* A buffer and a texture that are placed in a shared heap; the heap is imported for each. */
D3D_CASE(placed)
{
    enum { TEXTURE = 2 * 65536, BUFFER = 65536, HEAP = 4 * 65536, SIZE = 4096 };
    const kind k = {"2D", D3D12_RESOURCE_DIMENSION_TEXTURE2D, 64, 64, 1, 1, false};
    const D3D12_RESOURCE_DESC what = texture_desc(&k, DXGI_FORMAT_R32_UINT);
    ID3D12Heap *heap = scene12_heap(s, D3D12_HEAP_FLAG_SHARED, HEAP);
    ID3D12Resource *resource = scene12_place(s, heap, TEXTURE, &what);
    ID3D12Resource *placed = place(s, heap, BUFFER, SIZE);
    culv_memory *memory = NULL;
    culv_image *image = NULL;
    culv_d3d_memory_desc import = culv_d3d_memory_desc_init();
    culv_d3d_image_desc map = culv_d3d_image_desc_init();
    import.object = map.resource = (IUnknown *)resource;
    REFUSES_SO(culv_d3d_memory_import(s->d3d, &import, &memory), INVALID, NOT_EXPORTABLE,
               "HeapOffset");
    memory = NATIVE(import)(s, heap, false);
    REQUIRE(culv_memory_size(memory) == HEAP);
    culv_buffer *buffer = scene_map(NATIVE(import)(s, heap, false), BUFFER, SIZE);
    both_ways(s, culv_buffer_pointer(buffer), placed, 0, SIZE, 10);
    map.offset = HEAP - 4096;
    REFUSES(culv_d3d_image_map(s->d3d, memory, &map, &image), INVALID, RANGE);
    map.offset = TEXTURE;
    OK(culv_d3d_image_map(s->d3d, memory, &map, &image));
    turn_levels(s, resource, image, &k, 4);
    scene_pattern(put, SIZE, 11); /* the texture's work has not touched it */
    scene_cuda_has(s, culv_buffer_pointer(buffer), put, SIZE);
    culv_image_unmap(&image, NULL);
    culv_buffer_unmap(&buffer, NULL);
    culv_memory_destroy(&memory);
    ID3D12Resource_Release(placed);
    ID3D12Resource_Release(resource);
    release_heap(heap);
}

/* What is read of the description; which textures are refused: library-images.d3d.refused. */
D3D_CASE(refused)
{
    static const struct {
        unsigned width, height, layers, samples;
        D3D12_TEXTURE_LAYOUT layout;
        culv_result result;
        culv_reason reason;
        const char *says;
    } rows[] = {
        {64, 64, 1, 4, D3D12_TEXTURE_LAYOUT_UNKNOWN, WHY(UNSUPPORTED, USAGE), "ResolveSubresource"},
        {64, 64, 1, 1, D3D12_TEXTURE_LAYOUT_ROW_MAJOR, WHY(UNSUPPORTED, USAGE), "ROW_MAJOR"},
        {0, 64, 1, 1, 0, WHY(INVALID, EXTENT), "resource_desc->Width is 0"},
        {64, 0, 1, 1, 0, WHY(INVALID, EXTENT), "resource_desc->Height is 0"},
        {64, 64, 0, 1, 0, WHY(INVALID, EXTENT), "resource_desc->DepthOrArraySize is 0"},
    };
    culv_d3d_image_create_desc desc = culv_d3d_image_create_desc_init();
    culv_shared_image *image = NULL;
    D3D12_RESOURCE_DESC what = scene12_buffer_desc(4096);
    REFUSES(culv_d3d_image_create(s->d3d, &desc, &image), INVALID, NULL_ARGUMENT);
    desc.resource_desc = &what;
    REFUSES_SO(culv_d3d_image_create(s->d3d, &desc, &image), UNSUPPORTED, USAGE,
               "culv_d3d_buffer_create()");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        what = scene12_texture_desc(D3D12_RESOURCE_DIMENSION_TEXTURE2D, DXGI_FORMAT_R8G8B8A8_UNORM,
                                    rows[i].width, rows[i].height, rows[i].layers, 1);
        what.SampleDesc.Count = rows[i].samples;
        what.Layout = rows[i].layout;
        REFUSES_AS(culv_d3d_image_create(s->d3d, &desc, &image), rows[i].result, rows[i].reason,
                   rows[i].says);
    }
    REQUIRE(image == NULL);
}

/* What the common cases ask for ---------------------------------------------------------------- */

/* A CIG context of the queue. */
static culv_result more_torture(native *s)
{
    culv_cig *cig = NULL;
    const ULONG before = scene_references(s->queue);
    const culv_result result = culv_d3d12_cig_create(s->culvert, s->queue, NULL, &cig);
    REQUIRE((cig != NULL) == (result == CULV_OK));
    culv_cig_destroy(&cig);
    REQUIRE(scene_references(s->queue) == before);
    return result;
}

/* A frame of a ring, from CUDA to Direct3D. */
static bool more_work(native *s)
{
    static const uint64_t far_ns = (uint64_t)SCENE_FAR_MS * 1000000u;
    culv_d3d_buffer_create_desc buffer = culv_d3d_buffer_create_desc_init();
    const culv_d3d12_ring_resource resource = {.buffer = &buffer};
    culv_d3d12_ring_desc desc = culv_d3d12_ring_desc_init();
    culv_ring *ring = NULL;
    culv_ring_frame f;
    buffer.size = FRAME;
    desc.max_depth = 2;
    desc.resources = &resource;
    desc.num_resources = 1;
    TRY(culv_d3d12_ring_create(s->d3d, &desc, &ring));
    OK(culv_ring_acquire_on(ring, CULV_RING_PRODUCER, s->stream, far_ns, &f));
    OK(culv_ring_release_on(ring, CULV_RING_PRODUCER, s->stream, &f));
    culv_result result = culv_ring_acquire(ring, CULV_RING_CONSUMER, far_ns, &f);
    if (result == CULV_OK) {
        scene12_begin(s);
        HR_OK(ID3D12GraphicsCommandList_Close(s->list));
        result = culv_d3d12_ring_submit(ring, s->queue, (ID3D12CommandList *)s->list, &f);
    }
    if (result == CULV_OK) result = culv_ring_drain(ring, far_ns, 0);
    REQUIRE(result == CULV_OK || scene_reason_is(CULV_REASON_DEVICE_LOST) ||
            scene_reason_is(CULV_REASON_RING_STOPPED));
    culv_ring_destroy(&ring, NULL);
    return result == CULV_OK;
}

static bool write_frame(native *s, void *resource, const void *data)
{
    return scene12_write(s, resource, 0, data, FRAME);
}

static IUnknown *engine_texture(native *s, const engine *e)
{
    const D3D12_RESOURCE_DESC desc = scene12_texture_desc(
        D3D12_RESOURCE_DIMENSION_TEXTURE2D, e->format, e->width, e->height, e->layers, e->levels);
    return (IUnknown *)scene12_texture(s, e->shared ? D3D12_HEAP_FLAG_SHARED : D3D12_HEAP_FLAG_NONE,
                                       &desc);
}

static void use_texture(native *s, IUnknown *texture, const engine *e, void *data, bool write)
{
    for (unsigned l = 0; l < e->layers; l++) {
        unsigned char *layer = (unsigned char *)data + (size_t)l * e->width * e->texel * e->height;
        scene12_copy_texture(s, (ID3D12Resource *)(void *)texture, l * e->levels,
                             write ? NULL : layer, write ? layer : NULL);
    }
}

static void record(native *s, culv_d3d_shadow *shadow, bool from_twin)
{
    scene12_begin(s);
    OK(culv_d3d_shadow_record(shadow, (IUnknown *)s->list, D3D12_RESOURCE_STATE_COMMON, from_twin));
    REQUIRE(scene12_run(s));
}

/* The rig -------------------------------------------------------------------------------------- */

/* soft/wine/overlay.c has each rule's source. */
D3D_CASE(rules)
{
    static const struct {
        const char *what;
        bool flag;
        DWORD access;
        const wchar_t *name;
        HRESULT answer;
    } rows[] = {
        {"a fence without its flag", false, GENERIC_ALL, NULL, E_INVALIDARG},
        {"another access", true, GENERIC_READ, NULL, (HRESULT)0x887a0001},
        {"a backslash in a name", true, GENERIC_ALL, L"culvert\\rules", (HRESULT)0x887a0001},
        {"a name", true, GENERIC_ALL, L"Local\\culvert rules", S_OK},
    };
    ID3D12Fence *same = NULL;
    HANDLE handle = NULL, opened = NULL;
    culv_handle made = {.type = CULV_HANDLE_NONE};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ID3D12Fence *fence = scene12_fence(s, 0, rows[i].flag);
        const HRESULT hr = ID3D12Device_CreateSharedHandle(
            s->device, (ID3D12DeviceChild *)fence, NULL, rows[i].access, rows[i].name, &handle);
        if (hr != rows[i].answer) FAIL("%s: %#lx", rows[i].what, (unsigned long)hr);
        if (hr == S_OK) {
            HR_OK(
                ID3D12Device_OpenSharedHandleByName(s->device, rows[i].name, GENERIC_ALL, &opened));
            HR_OK(
                ID3D12Device_OpenSharedHandle(s->device, opened, &IID_ID3D12Fence, (void **)&same));
            REFUSES_SO(culv_d3d_export_dup(s->d3d, (IUnknown *)fence, L"a\\b", &made), INVALID,
                       VALUE, "backslash");
            REQUIRE(same == fence && CloseHandle(opened) && CloseHandle(handle));
            ID3D12Fence_Release(same);
        }
        REQUIRE(ID3D12Fence_Release(fence) == 0);
    }
}

/* Rings: what only they refuse. backend-d3d12.exe has what all rings promise. */
D3D_CASE(ring_refused)
{
    const D3D12_COMMAND_QUEUE_DESC copies = {.Type = D3D12_COMMAND_LIST_TYPE_COPY};
    const D3D12_RESOURCE_DESC what = scene12_texture_desc(D3D12_RESOURCE_DIMENSION_TEXTURE2D,
                                                          DXGI_FORMAT_R8G8B8A8_UNORM, 16, 16, 1, 1);
    culv_d3d_buffer_create_desc buffer = culv_d3d_buffer_create_desc_init();
    culv_d3d_image_create_desc image = culv_d3d_image_create_desc_init();
    culv_shared_buffer *mine = scene12_make_buffer(s, FRAME), *buffers[2] = {mine, mine};
    culv_d3d12_ring_resource resources[2] = {{.buffer = &buffer}, {.buffer = &buffer}};
    culv_d3d12_ring_desc desc = culv_d3d12_ring_desc_init();
    ID3D12CommandQueue *queue = NULL;
    culv_ring *ring = NULL;
    culv_ring_frame frame;
    buffer.size = FRAME;
    image.resource_desc = &what;
    desc.max_depth = 2;
    desc.num_resources = 2;
    REFUSES(culv_d3d12_ring_create(s->d3d, NULL, &ring), INVALID, NULL_ARGUMENT);
    REFUSES(culv_d3d12_ring_create(s->d3d, &desc, &ring), INVALID, NULL_ARGUMENT);
    desc.resources = resources;
    resources[1].image = &image; /* two kinds */
    REFUSES(culv_d3d12_ring_create(s->d3d, &desc, &ring), INVALID, VALUE);
    resources[1] = (culv_d3d12_ring_resource){.buffers = buffers}; /* two frames in one buffer */
    REFUSES(culv_d3d12_ring_create(s->d3d, &desc, &ring), INVALID, VALUE);
    culv_shared_buffer_destroy(&mine, NULL);
    REQUIRE(ring == NULL && scene_driver_objects() == 0);
    resources[1] = (culv_d3d12_ring_resource){.image = &image};
    desc.side = CULV_RING_PRODUCER;
    OK(culv_d3d12_ring_create(s->d3d, &desc, &ring));
    REQUIRE(culv_ring_shared_buffer(ring, 1, 0) != NULL);
    REQUIRE(culv_ring_shared_image(ring, 1, 1) != NULL);
    REQUIRE(culv_d3d12_ring_fence(ring, CULV_RING_PRODUCER) != NULL);
    REQUIRE(culv_d3d12_ring_fence(ring, (culv_ring_side)2) == NULL);
    REFUSES(culv_d3d12_ring_submit(ring, s->queue, NULL, &frame), INVALID, NULL_ARGUMENT);
    /* A list that the queue does not take. */
    HR_OK(ID3D12Device_CreateCommandQueue(s->device, &copies, &IID_ID3D12CommandQueue,
                                          (void **)&queue));
    OK(culv_ring_acquire(ring, CULV_RING_PRODUCER, 0, &frame));
    REFUSES(culv_d3d12_ring_submit(ring, queue, (ID3D12CommandList *)s->list, &frame), INVALID,
            VALUE);
    OK(culv_d3d12_ring_submit(ring, s->queue, (ID3D12CommandList *)s->list, &frame));
    ID3D12CommandQueue_Release(queue);
    OK(culv_ring_drain(ring, SCENE_FAR_MS * UINT64_C(1000000), 0));
    culv_ring_destroy(&ring, NULL);
    REQUIRE(scene_driver_objects() == 0);
}

/* Direct3D's buffer, seen from a CIG context. What such a context has not: extra-cig. */
D3D_CASE(cig)
{
    culv_cig *cig = NULL;
    culv_device *device = NULL;
    const ULONG before = scene_references(s->queue);
    REFUSES(culv_d3d12_cig_create(NULL, s->queue, NULL, &cig), INVALID, NULL_ARGUMENT);
    REFUSES(culv_d3d12_cig_create(s->culvert, NULL, NULL, &cig), INVALID, NULL_ARGUMENT);
    OK(culv_d3d12_cig_create(s->culvert, s->queue, "cig", &cig));
    REQUIRE(scene_references(s->queue) > before); /* the twin's */
    culv_device_desc desc = culv_device_desc_init();
    culv_device_caps caps = culv_device_caps_init();
    desc.context = culv_cig_context(cig);
    OK(culv_device_open_for_d3d((IUnknown *)s->device, &desc, &device));
    OK(culv_device_get_caps(device, &caps));
    REQUIRE(caps.cig_context && culv_device_context(device) == culv_cig_context(cig));
    native other = *s;
    other.d3d = scene12_attach(s, device);
    other.stream = NULL;
    culv_shared_buffer *buffer = scene12_make_buffer(&other, BYTES);
    CUcontext popped = NULL;
    CU_OK(s->cu->cuCtxPushCurrent(culv_cig_context(cig)));
    both_ways(&other, culv_shared_buffer_pointer(buffer),
              (ID3D12Resource *)culv_d3d_buffer_resource(buffer), 0, BYTES, 1);
    s->value = other.value;
    CU_OK(s->cu->cuCtxPopCurrent(&popped));
    culv_shared_buffer_destroy(&buffer, NULL);
    culv_d3d_detach(&other.d3d);
    culv_device_close(&device);
    culv_cig_destroy(&cig);
    REQUIRE(cig == NULL && scene_references(s->queue) == before);
}

/* VMM memory: its handles, its heaps, and vectors ---------------------------------------------- */

enum { MIB = 1 << 20, ODD = 70001, AT = 65536 };
static const uint32_t nt = 1u << CULV_HANDLE_OPAQUE_WIN32;
static const uint32_t kmt = 1u << CULV_HANDLE_OPAQUE_WIN32_KMT;

/* Direct3D reads what `put` has, or what this seed has. */
static void d3d_has(native *s, ID3D12Resource *buffer, uint64_t offset, unsigned seed)
{
    scene_pattern(put, ODD, seed);
    memset(got, 0, ODD);
    scene12_read(s, buffer, offset, got, ODD);
    REQUIRE(memcmp(put, got, ODD) == 0);
}

static void nothing_left(void *user)
{
    culv_soft_counts c = {.struct_size = sizeof c};
    if (user != NULL) (void)culv_device_collect(((native *)user)->culvert);
    soft.counts(&c);
    REQUIRE(c.physical_allocations == 0 && c.reservations == 0 && c.virtual_mappings == 0);
    if (user != NULL) REQUIRE(c.fds == 0 && overlay_opened() == 0);
}

static void close_vmm(native *s)
{
    nothing_left(NULL);
    scene12_close(s);
    REQUIRE(overlay_opened() == 0); /* once Direct3D's objects are gone */
}
#define VMM_CASE(...) TEST_ON(native, s, scene12_open(s), close_vmm(s), __VA_ARGS__)

VMM_CASE(vmm_heaps)
{
    culv_vmm_allocation *allocation = scene_allocate(s->culvert, 3 * MIB, nt);
    culv_vmm_range *range = scene_map_vmm(s->culvert, allocation);
    ID3D12Heap *heap = NULL, *again = NULL;
    OK(culv_d3d12_heap_from_vmm(s->d3d, allocation, &heap));
    OK(culv_d3d12_heap_from_vmm(s->d3d, allocation, &again));
    culv_vmm_allocation_destroy(&allocation); /* the heaps and the mapping hold the memory */
    ID3D12Resource *first = place(s, heap, 0, ODD), *second = place(s, heap, 2 * AT, 2 * MIB);
    ID3D12Resource *alias = place(s, again, 2 * AT, 2 * MIB);
    const CUdeviceptr pointer = culv_vmm_range_pointer(range);
    both_ways(s, pointer, first, 0, ODD, 1);
    both_ways(s, pointer + 2 * AT, second, 12345, ODD, 3);
    d3d_has(s, alias, 12345, 4);
    d3d_has(s, first, 0, 2); /* what it had before */
    scene_unmap_vmm(&range); /* Direct3D has it still */
    d3d_has(s, first, 0, 2);
    REQUIRE(overlay_opened() == 2);
    ID3D12Resource_Release(first);
    ID3D12Resource_Release(second);
    ID3D12Resource_Release(alias);
    ID3D12Heap_Release(heap);
    ID3D12Heap_Release(again);
}

/* What views tell of vectors that grow and shrink is library-vulkan-vmm.vk_vector's. */
VMM_CASE(vmm_vectors)
{
    culv_vector_desc desc = culv_vector_desc_init();
    culv_vector *vector = NULL;
    culv_vector_view *view = NULL;
    culv_part parts[4];
    size_t count = 0;
    desc.handle_types = nt;
    desc.label = "grid";
    OK(culv_vector_create(s->culvert, &desc, &vector));
    OK(culv_vector_grow(vector, ODD));
    OK(culv_d3d12_vector_view_create(s->d3d, vector, NULL, &view));
    OK(culv_vector_view_get_parts(view, parts, 4, &count));
    REQUIRE(count == 1 && parts[0].offset == 0 && parts[0].size == culv_vector_committed(vector));
    ID3D12Resource *first = (ID3D12Resource *)(uintptr_t)parts[0].buffer;
    both_ways(s, culv_vector_pointer(vector), first, 1001, ODD, 20);
    OK(culv_vector_grow(vector, 5 * MIB));
    OK(culv_vector_view_update(view));
    OK(culv_vector_view_get_parts(view, parts, 4, &count));
    REQUIRE(count >= 2 && (ID3D12Resource *)(uintptr_t)parts[0].buffer == first);
    for (size_t i = 0; i < count; i++)
        both_ways(s, culv_vector_pointer(vector) + parts[i].offset,
                  (ID3D12Resource *)(uintptr_t)parts[i].buffer, parts[i].size - ODD, ODD,
                  30 + 2 * (unsigned)i);
    REQUIRE(overlay_opened() == count);
    culv_vector_destroy(&vector, NULL);
    d3d_has(s, first, parts[0].size - ODD, 31); /* the view holds the memory */
    culv_vector_view_destroy(&view);
    REQUIRE(view == NULL);
}

static culv_result import_vmm(const native *s, culv_handle handle, culv_vmm_allocation **out)
{
    culv_vmm_import_desc desc = culv_vmm_import_desc_init();
    desc.handle = handle;
    desc.size = 2 * MIB;
    return culv_vmm_import(s->culvert, &desc, out);
}

VMM_CASE(vmm_handles)
{
    culv_vmm_allocation *allocation = scene_allocate(s->culvert, 2 * MIB, nt | kmt), *imported;
    culv_vmm_range *range = scene_map_vmm(s->culvert, allocation);
    const CUdeviceptr pointer = culv_vmm_range_pointer(range);
    culv_handle handles[2], again, out; /* NT, KMT */
    DWORD flags;
    OK(culv_vmm_export_dup(allocation, CULV_HANDLE_OPAQUE_WIN32, &handles[0]));
    OK(culv_vmm_export_dup(allocation, CULV_HANDLE_OPAQUE_WIN32_KMT, &handles[1]));
    OK(culv_vmm_export_dup(allocation, CULV_HANDLE_OPAQUE_WIN32_KMT, &again));
    REQUIRE(again.value.win32 == handles[1].value.win32); /* one number, of which is no copy */
    for (unsigned i = 0; i < 2; i++) {
        /* The same bytes at two addresses, the second by an imported handle. */
        OK(import_vmm(s, handles[i], &imported));
        culv_vmm_range *second = scene_map_vmm(s->culvert, imported);
        scene_pattern(put, ODD, 50 + i);
        scene_cuda_write(s, pointer, put, ODD);
        scene_cuda_has(s, culv_vmm_range_pointer(second), put, ODD);
        REFUSES(culv_vmm_export_dup(imported, CULV_HANDLE_OPAQUE_WIN32, &out), INVALID,
                NOT_EXPORTABLE);
        culv_vmm_allocation_destroy(&imported);
        scene_unmap_vmm(&second);
        /* As external memory, for arrays. */
        culv_buffer *buffer =
            scene_map(scene_import(s->culvert, handles[i], 2 * MIB, false), 4096, ODD);
        scene_pattern(put, ODD, 60 + i);
        scene_cuda_write(s, culv_buffer_pointer(buffer), put, ODD);
        scene_cuda_has(s, pointer + 4096, put, ODD);
        culv_buffer_unmap(&buffer, NULL);
    }
    REQUIRE(GetHandleInformation(handles[0].value.win32, &flags)); /* it was borrowed */
    /* An NT handle holds the memory, a KMT handle does not. */
    culv_vmm_allocation_destroy(&allocation);
    scene_unmap_vmm(&range);
    REFUSES(import_vmm(s, handles[1], &allocation), DRIVER, HANDLE_REFUSED);
    OK(import_vmm(s, handles[0], &allocation));
    again = handles[0];
    culv_handle_close(&again);
    REQUIRE(!GetHandleInformation(handles[0].value.win32, &flags)); /* it was taken */
    range = scene_map_vmm(s->culvert, allocation);
    scene_cuda_has(s, culv_vmm_range_pointer(range) + 4096, put, ODD);
    culv_vmm_allocation_destroy(&allocation);
    scene_unmap_vmm(&range);
    culv_handle_close(&handles[1]);
}

/* Names are the system's: who lists none of them has closed every handle. */
VMM_CASE(vmm_names)
{
    static wchar_t path[128], name[] = L"Local\\culvert d3d12 vmm";
    DWORD session = 0;
    REQUIRE(ProcessIdToSessionId(GetCurrentProcessId(), &session));
    swprintf(path, 128, L"\\Sessions\\%lu\\BaseNamedObjects\\culvert d3d12 vmm", session);
    UNICODE_STRING text = {
        .Length = (USHORT)(2 * wcslen(path)), .MaximumLength = sizeof path, .Buffer = path};
    OBJECT_ATTRIBUTES attributes = {.Length = sizeof attributes, .ObjectName = &text};
    culv_vmm_allocation_desc desc = culv_vmm_allocation_desc_init();
    culv_vmm_allocation *allocation = NULL, *other = NULL;
    desc.size = ODD;
    desc.handle_types = nt;
    desc.object_attributes = &attributes;
    OK(culv_vmm_allocation_create(s->culvert, &desc, &allocation));
    REQUIRE(scene_name_lives(name));
    REQUIRE(culv_vmm_allocation_create(s->culvert, &desc, &other) != CULV_OK); /* it is taken */
    culv_vmm_range *range = scene_map_vmm(s->culvert, allocation);
    ID3D12Heap *heap = NULL;
    OK(culv_d3d12_heap_from_vmm(s->d3d, allocation, &heap));
    culv_handle handle;
    OK(culv_vmm_export_dup(allocation, CULV_HANDLE_OPAQUE_WIN32, &handle));
    culv_vmm_allocation_destroy(&allocation);
    REQUIRE(scene_name_lives(name));
    scene_unmap_vmm(&range);
    REQUIRE(scene_name_lives(name)); /* the handle */
    culv_handle_close(&handle);
    REQUIRE(!scene_name_lives(name)); /* the heap has the memory, and no handle */
    ID3D12Heap_Release(heap);
    attributes.Length = 4;
    REFUSES(culv_vmm_allocation_create(s->culvert, &desc, &allocation), DRIVER, DRIVER_REFUSED);
    desc.handle_types = kmt;
    attributes.Length = sizeof attributes;
    REFUSES(culv_vmm_allocation_create(s->culvert, &desc, &allocation), INVALID, VALUE);
}

/* Culvert's own attributes admit this user; a handle with fewer rights imports nothing. */
VMM_CASE(vmm_rights)
{
    culv_vmm_allocation *allocation = scene_allocate(s->culvert, ODD, nt), *imported = NULL;
    culv_handle handle;
    ACL *list = NULL;
    SECURITY_DESCRIPTOR *descriptor = NULL;
    OK(culv_vmm_export_dup(allocation, CULV_HANDLE_OPAQUE_WIN32, &handle));
    REQUIRE(GetSecurityInfo(handle.value.win32, SE_KERNEL_OBJECT, DACL_SECURITY_INFORMATION, NULL,
                            NULL, &list, NULL, (void **)&descriptor) == ERROR_SUCCESS);
    REQUIRE(list != NULL && list->AceCount == 1);
    LocalFree(descriptor);
    HANDLE reader;
    REQUIRE(DuplicateHandle(GetCurrentProcess(), handle.value.win32, GetCurrentProcess(), &reader,
                            FILE_MAP_READ, FALSE, 0));
    REFUSES(import_vmm(s, culv_handle_opaque_win32(reader), &imported), DRIVER, HANDLE_REFUSED);
    REQUIRE(CloseHandle(reader)); /* an error leaves it */
    culv_handle_close(&handle);
    culv_vmm_allocation_destroy(&allocation);
}

VMM_CASE(vmm_refusals)
{
    ID3D12Heap *heap = NULL;
    culv_vmm_allocation *plain = scene_allocate(s->culvert, ODD, 0),
                        *only_kmt = scene_allocate(s->culvert, ODD, kmt),
                        *good = scene_allocate(s->culvert, ODD, nt);
    const struct {
        culv_vmm_allocation *allocation;
        overlay_lie lie;
        culv_result result;
        culv_reason reason;
        const char *says;
    } rows[] = {
        {NULL, OVERLAY_HONEST, WHY(INVALID, NULL_ARGUMENT), ""},
        {plain, OVERLAY_HONEST, WHY(INVALID, NOT_EXPORTABLE), ""},
        {only_kmt, OVERLAY_HONEST, WHY(INVALID, NOT_EXPORTABLE), "KMT"},
        {good, OVERLAY_WRAPPER, WHY(UNSUPPORTED, HANDLE_REFUSED), "culv_d3d_buffer_create"},
        {good, OVERLAY_REMOVED, WHY(ASYNC, DEVICE_LOST), "removed"},
        {good, OVERLAY_SMALL, WHY(DRIVER, SIZE), "bytes"},
    };
    REFUSES(culv_d3d12_heap_from_vmm(NULL, good, &heap), INVALID, NULL_ARGUMENT);
    REFUSES(culv_d3d12_heap_from_vmm(s->d3d, good, NULL), INVALID, NULL_ARGUMENT);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        overlay_tell(rows[i].lie);
        REFUSES_AS(culv_d3d12_heap_from_vmm(s->d3d, rows[i].allocation, &heap), rows[i].result,
                   rows[i].reason, rows[i].says);
        overlay_tell(OVERLAY_HONEST);
        REQUIRE(heap == NULL && overlay_opened() == 0);
    }
    culv_vector *vector = NULL;
    culv_vector_view *view = NULL;
    OK(culv_vector_create(s->culvert, NULL, &vector));
    REFUSES(culv_d3d12_vector_view_create(s->d3d, vector, NULL, &view), INVALID, NOT_EXPORTABLE);
    REFUSES(culv_d3d12_vector_view_create(s->d3d, NULL, NULL, &view), INVALID, NULL_ARGUMENT);
    culv_vector_destroy(&vector, NULL);
    culv_vector_view_destroy(&view);
    culv_vmm_allocation_destroy(&plain);
    culv_vmm_allocation_destroy(&only_kmt);
    culv_vmm_allocation_destroy(&good);
}

static culv_result vmm_work(void *user)
{
    const native *s = user;
    culv_vector_desc desc = culv_vector_desc_init();
    culv_vector *vector = NULL;
    culv_vector_view *view = NULL;
    desc.handle_types = nt | kmt;
    culv_result result = culv_vector_create(s->culvert, &desc, &vector);
    if (result == CULV_OK) result = culv_vector_grow(vector, ODD);
    if (result == CULV_OK) result = culv_d3d12_vector_view_create(s->d3d, vector, NULL, &view);
    if (result == CULV_OK) result = culv_vector_grow(vector, 3 * MIB);
    if (result == CULV_OK) result = culv_vector_view_update(view);
    culv_vector_view_destroy(&view);
    culv_vector_destroy(&vector, NULL);
    return result;
}

VMM_CASE(vmm_torture)
{
    const scene_tortured t = {.work = vmm_work,
                              .require_none = nothing_left,
                              .user = s,
                              .fail_at = overlay_fail_at,
                              .calls = overlay_calls,
                              .native = 2,
                              .least = 11};
    scene_torture(&t);
}
