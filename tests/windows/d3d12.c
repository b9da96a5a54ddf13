/* SPDX-License-Identifier: MIT */
/* Direct3D 12 with CUDA: heaps and names, adapters, rings, CUDA in graphics, and what the rig
 * refuses as Windows does. */
#define D3D 12
#include "d3d.h"

#include <culvert/d3d12_cig.h>
#include <culvert/d3d12_ring.h>
#include <culvert/d3d_register.h>

#include "d3d_cases.h"

/* CUDA writes, Direct3D reads; and the other way. */
static void both_ways(native *s, CUdeviceptr pointer, ID3D12Resource *buffer, size_t size,
                      unsigned seed)
{
    scene_pattern(put, size, seed);
    scene_cuda_write(s, pointer, put, size);
    scene12_get(s, buffer, got, size);
    REQUIRE(memcmp(put, got, size) == 0);
    scene_pattern(put, size, seed + 1);
    scene12_put(s, buffer, put, size);
    scene_cuda_has(s, pointer, put, size);
}

D3D_CASE(buffers)
{
    culv_shared_buffer *buffer = make_buffer(s, BYTES);
    REQUIRE(culv_buffer_size(culv_shared_buffer_cuda(buffer)) == BYTES);
    both_ways(s, culv_shared_buffer_pointer(buffer),
              (ID3D12Resource *)culv_d3d_buffer_resource(buffer), BYTES, 1);
    culv_shared_buffer_destroy(&buffer, &s->stream);
    scene_synchronize(s);
    (void)culv_device_collect(s->culvert);
}

/* Two buffers that are placed in a heap. */
D3D_CASE(heaps)
{
    enum { SECOND = 65536, HEAP = 4 * 65536, SIZE = 4096 };
    const D3D12_RESOURCE_DESC buffer_desc = scene12_buffer_desc(SIZE);
    ID3D12Heap *heap =
        scene12_heap(s, D3D12_HEAP_FLAG_SHARED | D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS, HEAP);
    culv_memory *memory = NULL, *again = NULL;
    culv_d3d_memory_desc desc = culv_d3d_memory_desc_init();
    ID3D12Resource *placed[2];
    culv_buffer *buffers[2] = {NULL, NULL};
    desc.object = (IUnknown *)heap;
    desc.shared = 1;
    OK(culv_d3d_memory_import(s->d3d, &desc, &memory));
    OK(culv_d3d_memory_import(s->d3d, &desc, &again));
    REQUIRE(again == memory && culv_memory_size(memory) == HEAP);
    culv_memory_destroy(&again);
    for (unsigned i = 0; i < 2; i++) {
        culv_buffer_desc map = culv_buffer_desc_init();
        map.offset = (uint64_t)i * SECOND;
        map.size = SIZE;
        placed[i] = scene12_place(s, heap, map.offset, &buffer_desc);
        OK(culv_buffer_map(memory, &map, &buffers[i]));
        both_ways(s, culv_buffer_pointer(buffers[i]), placed[i], SIZE, 10 * i);
    }
    scene_pattern(put, SIZE, 1); /* the second one's work has not touched it */
    scene_cuda_has(s, culv_buffer_pointer(buffers[0]), put, SIZE);
    for (int i = 0; i < 2; i++) {
        culv_buffer_unmap(&buffers[i], NULL);
        ID3D12Resource_Release(placed[i]);
    }
    culv_memory_destroy(&memory);
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
    const D3D12_RESOURCE_DESC buffer_desc = scene12_buffer_desc(1000);
    ID3D12Heap *heap =
        scene12_heap(s, D3D12_HEAP_FLAG_SHARED | D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS, 65536);
    ID3D12Resource *resources[2] = {scene12_place(s, heap, 0, &buffer_desc),
                                    scene12_memory(s, 1000, true)};
    ID3D12Fence *fence = scene12_fence(s, 7, true);
    IUnknown *const objects[] = {(IUnknown *)heap, (IUnknown *)resources[1], (IUnknown *)fence};
    const uint64_t size = 65536; /* GetResourceAllocationInfo() */
    for (unsigned i = 0; i < 6; i++) {
        culv_memory_desc desc = culv_memory_desc_init();
        culv_semaphore_desc fence_desc = culv_semaphore_desc_init();
        culv_memory *memory = NULL;
        culv_semaphore *cuda = NULL;
        culv_buffer *buffer = NULL;
        culv_handle handle;
        OK(culv_d3d_export_dup(s->d3d, objects[i / 2], name, &handle));
        REQUIRE(handle.type == types[i / 2]);
        desc.handle = i % 2 != 0 ? culv_handle_win32_named(handle.type, name) : handle;
        desc.size = size; /* dedicated goes without saying */
        fence_desc.handle = desc.handle;
        fence_desc.type = CULV_SEMAPHORE_TIMELINE;
        fence_desc.value = ID3D12Fence_GetCompletedValue(fence);
        if (i < 4)
            OK(culv_memory_import(s->culvert, &desc, &memory));
        else
            OK(culv_semaphore_import(s->culvert, &fence_desc, &cuda));
        REQUIRE(scene_name_lives(name)); /* it was borrowed */
        culv_handle_close(&handle);
        REQUIRE(!scene_name_lives(name)); /* nothing of Culvert's has it open */
        if (i < 4) {
            culv_buffer_desc map = culv_buffer_desc_init();
            map.size = 1000;
            REQUIRE(culv_memory_size(memory) == size);
            OK(culv_buffer_map(memory, &map, &buffer));
            both_ways(s, culv_buffer_pointer(buffer), resources[i / 2], 1000, 40 + i);
        } else {
            REFUSES(culv_semaphore_signal(cuda, s->stream, fence_desc.value), INVALID,
                    TIMELINE_BACKWARDS);
            OK(culv_semaphore_signal(cuda, s->stream, 10 + i));
            REQUIRE(scene12_reach(fence, 10 + i, SCENE_FAR_MS));
        }
        culv_semaphore_destroy(&cuda, NULL);
        culv_buffer_unmap(&buffer, NULL);
        culv_memory_destroy(&memory);
    }
    REQUIRE(ID3D12Fence_Release(fence) == 0);
    ID3D12Resource_Release(resources[0]);
    REQUIRE(ID3D12Resource_Release(resources[1]) == 0);
    overlay12_clear();
    REQUIRE(ID3D12Heap_Release(heap) == 0);
}

static void refuse_other(scene12 *s, culv_memory *memory, IUnknown *resource)
{
    culv_d3d_memory_desc import = culv_d3d_memory_desc_init();
    culv_d3d_image_create_desc image_desc = culv_d3d_image_create_desc_init();
    culv_d3d_shadow_desc shadow_desc = culv_d3d_shadow_desc_init();
    culv_memory *again = NULL;
    culv_shared_buffer *buffer = NULL;
    culv_shared_image *image = NULL;
    culv_d3d_shadow *shadow = NULL;
    culv_keyed_mutex *mutex = NULL;
    (void)memory;
    import.object = resource;
    import.size = 65536;
    REFUSES(culv_d3d_memory_import(s->d3d, &import, &again), INVALID, VALUE);
    REQUIRE_SAYS("culv_d3d_memory_desc.size is Direct3D 11's, and the device is an ID3D12Device");
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
    REFUSES(culv_d3d11_keyed_mutex_import(s->d3d, (struct ID3D11Resource *)resource, NULL, &mutex),
            INVALID, VALUE);
    REQUIRE_SAYS("Direct3D 11");
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
    REFUSES(culv_device_open_for_d3d(NULL, NULL, &other), INVALID, NULL_ARGUMENT);
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

/* What the common cases ask for ---------------------------------------------------------------- */

static culv_result more_torture(native *s)
{
    (void)s;
    return CULV_OK;
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
    culv_result result = culv_d3d12_ring_create(s->d3d, &desc, &ring);
    if (result != CULV_OK) REQUIRE(scene_reason_is(CULV_REASON_DEVICE_LOST));
    if (result != CULV_OK) return false;
    OK(culv_ring_acquire_on(ring, CULV_RING_PRODUCER, s->stream, far_ns, &f));
    OK(culv_ring_release_on(ring, CULV_RING_PRODUCER, s->stream, &f));
    result = culv_ring_acquire(ring, CULV_RING_CONSUMER, far_ns, &f);
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
    return (IUnknown *)scene12_texture(s, D3D12_HEAP_FLAG_NONE, &desc);
}

static void use_texture(native *s, IUnknown *texture, const engine *e, void *data, bool write)
{
    ID3D12Resource *resource = (ID3D12Resource *)(void *)texture;
    for (unsigned l = 0; l < e->layers; l++) {
        unsigned char *layer = (unsigned char *)data + (size_t)l * e->width * 4 * e->height;
        if (write)
            scene12_write_texture(s, resource, l * e->levels, layer);
        else
            scene12_read_texture(s, resource, l * e->levels, layer);
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
    static const D3D12_HEAP_TYPE types[] = {D3D12_HEAP_TYPE_UPLOAD, D3D12_HEAP_TYPE_READBACK};
    ID3D12Fence *same = NULL;
    HANDLE handle = NULL, opened = NULL;
    culv_handle made = {.type = CULV_HANDLE_NONE};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ID3D12Fence *fence = NULL;
        HR_OK(ID3D12Device_CreateFence(
            s->device, 0, rows[i].flag ? D3D12_FENCE_FLAG_SHARED : D3D12_FENCE_FLAG_NONE,
            &IID_ID3D12Fence, (void **)&fence));
        const HRESULT hr = ID3D12Device_CreateSharedHandle(
            s->device, (ID3D12DeviceChild *)fence, NULL, rows[i].access, rows[i].name, &handle);
        if (hr != rows[i].answer) FAIL("%s: %#lx", rows[i].what, (unsigned long)hr);
        if (hr != S_OK) {
            ID3D12Fence_Release(fence);
            continue;
        }
        HR_OK(ID3D12Device_OpenSharedHandleByName(s->device, rows[i].name, GENERIC_ALL, &opened));
        HR_OK(ID3D12Device_OpenSharedHandle(s->device, opened, &IID_ID3D12Fence, (void **)&same));
        REQUIRE(same == fence);
        REFUSES(culv_d3d_export_dup(s->d3d, (IUnknown *)fence, L"a\\b", &made), INVALID, VALUE);
        REQUIRE_SAYS("backslash");
        REQUIRE(CloseHandle(opened) && CloseHandle(handle));
        ID3D12Fence_Release(same);
        REQUIRE(ID3D12Fence_Release(fence) == 0);
    }
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        const D3D12_RESOURCE_DESC desc = scene12_buffer_desc(4096);
        D3D12_HEAP_PROPERTIES heap = {.Type = types[i]};
        ID3D12Resource *none = NULL;
        REQUIRE(FAILED(ID3D12Device_CreateCommittedResource(
            s->device, &heap, D3D12_HEAP_FLAG_SHARED, &desc,
            i == 0 ? D3D12_RESOURCE_STATE_GENERIC_READ : D3D12_RESOURCE_STATE_COPY_DEST, NULL,
            &IID_ID3D12Resource, (void **)&none)));
    }
}

/* Rings: what only they refuse. backend-d3d12.exe has what all rings promise. */
D3D_CASE(ring_refused)
{
    const D3D12_RESOURCE_DESC what = scene12_buffer_desc(FRAME);
    culv_d3d_buffer_create_desc buffer = culv_d3d_buffer_create_desc_init();
    culv_d3d_image_create_desc image = culv_d3d_image_create_desc_init();
    culv_d3d12_ring_resource resources[2] = {{.buffer = &buffer}, {.buffer = &buffer}};
    culv_d3d12_ring_desc desc = culv_d3d12_ring_desc_init();
    culv_ring *ring = NULL;
    culv_ring_frame frame;
    buffer.size = FRAME;
    image.resource_desc = &what;
    REFUSES(culv_d3d12_ring_create(s->d3d, NULL, &ring), INVALID, NULL_ARGUMENT);
    REFUSES(culv_d3d12_ring_create(s->d3d, &desc, &ring), INVALID, VALUE);
    desc.max_depth = 2;
    desc.num_resources = 2;
    REFUSES(culv_d3d12_ring_create(s->d3d, &desc, &ring), INVALID, NULL_ARGUMENT);
    desc.resources = resources;
    resources[1].image = &image;
    REFUSES(culv_d3d12_ring_create(s->d3d, &desc, &ring), INVALID, VALUE);
    resources[1].buffer = NULL; /* an image that is a buffer: after two buffers were made */
    REQUIRE(culv_d3d12_ring_create(s->d3d, &desc, &ring) != CULV_OK);
    resources[1] = resources[0];
    desc.waits = (culv_ring_waits)7;
    REFUSES(culv_d3d12_ring_create(s->d3d, &desc, &ring), INVALID, VALUE);
    desc.waits = CULV_RING_WAITS_DEFAULT;
    REQUIRE(ring == NULL && scene_driver_objects() == 0);
    OK(culv_d3d12_ring_create(s->d3d, &desc, &ring));
    REQUIRE(culv_ring_shared_buffer(ring, 1, 1) != NULL);
    REQUIRE(culv_d3d12_ring_fence(ring, CULV_RING_PRODUCER) != NULL);
    REQUIRE(culv_d3d12_ring_fence(ring, (culv_ring_side)2) == NULL);
    REFUSES(culv_d3d12_ring_submit(ring, s->queue, NULL, &frame), INVALID, NULL_ARGUMENT);
    OK(culv_ring_flush(ring, CULV_RING_CONSUMER, NULL)); /* nothing is kept */
    REFUSES(culv_d3d_device_lost(NULL), INVALID, NULL_ARGUMENT);
    culv_ring_destroy(&ring, NULL);
}

static bool owned(const char *says)
{
    const bool is = scene_reason_is(CULV_REASON_OWNED) && strstr(culv_last_error_message(), says);
    printf("  OWNED: %s\n", culv_last_error_message());
    return is;
}

/* What the ring owns goes with it: giving up an image is refused, and nothing happens. */
D3D_CASE(ring_parts)
{
    const D3D12_RESOURCE_DESC what = scene12_texture_desc(D3D12_RESOURCE_DIMENSION_TEXTURE2D,
                                                          DXGI_FORMAT_R8G8B8A8_UNORM, 16, 16, 1, 1);
    culv_d3d_image_create_desc image_desc = culv_d3d_image_create_desc_init();
    const culv_d3d12_ring_resource resource = {.image = &image_desc};
    culv_d3d12_ring_desc desc = culv_d3d12_ring_desc_init();
    culv_ring *ring = NULL;
    image_desc.resource_desc = &what;
    desc.max_depth = 2;
    desc.resources = &resource;
    desc.num_resources = 1;
    OK(culv_d3d12_ring_create(s->d3d, &desc, &ring));
    for (uint32_t slot = 0; slot < 2; slot++) {
        culv_shared_image *image = culv_ring_shared_image(ring, slot, 0), *const i = image;
        culv_shared_image_destroy(&image, NULL);
        REQUIRE(image == i && owned("culv_shared_image_destroy: it is a part of another object"));
        culv_shared_image_destroy(&image, &s->stream);
        REQUIRE(image == i && owned("culv_ring_destroy()"));
    }
    culv_ring_destroy(&ring, NULL);
    REQUIRE(scene_driver_objects() == 0);
}

/* Two frames in one buffer; a list that the queue does not take. */
D3D_CASE(ring_mistakes)
{
    const D3D12_COMMAND_QUEUE_DESC copies = {.Type = D3D12_COMMAND_LIST_TYPE_COPY};
    culv_shared_buffer *buffers[3] = {make_buffer(s, FRAME), make_buffer(s, FRAME), NULL};
    culv_d3d12_ring_resource resource = {.buffers = buffers};
    culv_d3d12_ring_desc desc = culv_d3d12_ring_desc_init();
    culv_ring *ring = NULL;
    ID3D12CommandQueue *queue = NULL;
    culv_ring_frame frame;
    desc.max_depth = 3;
    desc.resources = &resource;
    desc.num_resources = 1;
    desc.side = CULV_RING_PRODUCER;
    buffers[2] = buffers[0];
    REFUSES(culv_d3d12_ring_create(s->d3d, &desc, &ring), INVALID, VALUE);
    desc.max_depth = 2;
    OK(culv_d3d12_ring_create(s->d3d, &desc, &ring));
    HR_OK(ID3D12Device_CreateCommandQueue(s->device, &copies, &IID_ID3D12CommandQueue,
                                          (void **)&queue));
    OK(culv_ring_acquire(ring, CULV_RING_PRODUCER, 0, &frame));
    REFUSES(culv_d3d12_ring_submit(ring, queue, (ID3D12CommandList *)s->list, &frame), INVALID,
            VALUE);
    OK(culv_d3d12_ring_submit(ring, s->queue, (ID3D12CommandList *)s->list, &frame));
    ID3D12CommandQueue_Release(queue);
    OK(culv_ring_drain(ring, SCENE_FAR_MS * UINT64_C(1000000), 0));
    culv_ring_destroy(&ring, NULL);
    culv_shared_buffer_destroy(&buffers[0], NULL);
    culv_shared_buffer_destroy(&buffers[1], NULL);
}

/* Direct3D's buffer, seen from a CIG context. What such a context has not: library-cig. */
D3D_CASE(used, .title = "cig")
{
    culv_cig *cig = NULL;
    culv_device *device = NULL;
    culv_d3d_device *d3d12 = NULL;
    culv_shared_buffer *buffer = NULL;
    const ULONG before = scene_references(s->queue);
    OK(culv_d3d12_cig_create(s->d3d, s->queue, "cig", &cig));
    REQUIRE(scene_references(s->queue) > before); /* the twin's */
    culv_device_desc desc = culv_device_desc_init();
    culv_device_caps caps = culv_device_caps_init();
    desc.context = culv_cig_context(cig);
    OK(culv_device_open_for_d3d((IUnknown *)s->device, &desc, &device));
    OK(culv_device_get_caps(device, &caps));
    REQUIRE(caps.cig_context && culv_device_context(device) == culv_cig_context(cig));
    native other = *s; /* for make_buffer() */
    d3d12 = other.d3d = scene12_attach(s, device);
    buffer = make_buffer(&other, BYTES);
    CUcontext popped = NULL;
    const CUstream stream = s->stream;
    s->stream = NULL;
    CU_OK(s->cu->cuCtxPushCurrent(culv_cig_context(cig)));
    both_ways(s, culv_shared_buffer_pointer(buffer),
              (ID3D12Resource *)culv_d3d_buffer_resource(buffer), BYTES, 1);
    CU_OK(s->cu->cuCtxPopCurrent(&popped));
    s->stream = stream;
    culv_shared_buffer_destroy(&buffer, NULL);
    culv_d3d_detach(&d3d12);
    culv_device_close(&device);
    culv_cig_destroy(&cig);
    REQUIRE(cig == NULL && scene_references(s->queue) == before);
}

D3D_CASE(refused, .title = "cig_refused")
{
    culv_cig *cig = NULL;
    const ULONG before = scene_references(s->queue);
    REFUSES(culv_d3d12_cig_create(NULL, s->queue, NULL, &cig), INVALID, NULL_ARGUMENT);
    REFUSES(culv_d3d12_cig_create(s->d3d, NULL, NULL, &cig), INVALID, NULL_ARGUMENT);
    for (uint64_t n = 1; n <= 2; n++) {
        soft.fail_at(n, CUDA_ERROR_NOT_SUPPORTED);
        REQUIRE(culv_d3d12_cig_create(s->d3d, s->queue, NULL, &cig) != CULV_OK && cig == NULL);
        soft.fail_at(0, 0);
        REQUIRE(scene_references(s->queue) == before);
    }
}
