/* SPDX-License-Identifier: MIT */
/* Direct3D 12 under the back-end suite (tests/library/backend). */
#include "scene12.h"
/* The table has its own. */
#undef CU_OK
#include "shared_objects.h"

#include <culvert/d3d12_ring.h>

/* The scene's struct has the name of the suite's. */
void suite_pattern(uint32_t *words, size_t count, uint32_t seed);
void suite_require_pattern(const char *file, int line, const uint32_t *words, size_t count,
                           uint32_t seed);

static scene native;

static const raw_cuda *open_native(void)
{
    const raw_cuda *cu = raw_cuda_open();
    scene_open_device(&native);
    return cu;
}

static void close_native(void)
{
    scene_close(&native);
}

static void lie(backend_lie what)
{
    overlay_tell(what == BACKEND_STRANGER ? OVERLAY_STRANGER
                 : what == BACKEND_CLOSED ? OVERLAY_WRAPPER
                                          : OVERLAY_HONEST);
}

static culv_result device_open(culv_device **out)
{
    return culv_device_open_for_d3d((IUnknown *)native.device, NULL, out);
}

static culv_result attach(culv_device *device, uint32_t fallback, void **out)
{
    culv_d3d_device_desc desc = culv_d3d_device_desc_init();
    culv_d3d_device *made = NULL;
    (void)fallback; /* another adapter is always refused */
    desc.device = (IUnknown *)native.device;
    culv_result result = culv_d3d_attach(device, &desc, &made);
    if (result == CULV_OK) *out = made;
    return result;
}

static void detach(void **attachment)
{
    culv_d3d_device *mine = *attachment;
    *attachment = NULL;
    culv_d3d_detach(&mine);
}

static void *memory_create(uint64_t size)
{
    return scene_buffer(&native, D3D12_HEAP_TYPE_DEFAULT, D3D12_HEAP_FLAG_SHARED, size);
}

static void memory_destroy(void *memory)
{
    REQUIRE(ID3D12Resource_Release((ID3D12Resource *)memory) == 0);
}

static ID3D12Resource *resource_of(const void *memory)
{
    return (ID3D12Resource *)(uintptr_t)memory;
}

static uint64_t memory_size(const void *memory)
{
    const D3D12_RESOURCE_DESC desc = scene_desc_of(resource_of(memory));
    return (desc.Width + 65535) / 65536 * 65536; /* D3D12_DEFAULT_RESOURCE_PLACEMENT_ALIGNMENT */
}

static void memory_write(const void *memory, const void *data, size_t size)
{
    scene_write(&native, resource_of(memory), 0, data, size);
}

static void memory_read(const void *memory, void *data, size_t size)
{
    scene_read(&native, resource_of(memory), 0, data, size);
}

/* The size is Direct3D's to tell. */
static culv_result memory_import(void *attachment, const void *memory, uint64_t size, bool shared,
                                 culv_memory **out)
{
    culv_d3d_memory_desc desc = culv_d3d_memory_desc_init();
    (void)size;
    desc.object = (IUnknown *)resource_of(memory);
    return shared ? culv_d3d_memory_import_shared(attachment, &desc, out)
                  : culv_d3d_memory_import(attachment, &desc, out);
}

static void *timeline_create(uint64_t value)
{
    ID3D12Fence *fence = NULL;
    HR_OK(ID3D12Device_CreateFence(native.device, value, D3D12_FENCE_FLAG_SHARED, &IID_ID3D12Fence,
                                   (void **)&fence));
    return fence;
}

static void timeline_destroy(void *timeline)
{
    REQUIRE(ID3D12Fence_Release((ID3D12Fence *)timeline) == 0);
}

static culv_result timeline_import(void *attachment, void *timeline, culv_semaphore **out)
{
    return culv_d3d_semaphore_import(attachment, (IUnknown *)timeline, NULL, out);
}

static void timeline_signal(void *timeline, uint64_t value)
{
    HR_OK(ID3D12Fence_Signal((ID3D12Fence *)timeline, value));
}

static bool timeline_wait(void *timeline, uint64_t value, unsigned timeout_ms)
{
    const HANDLE event = CreateEventW(NULL, FALSE, FALSE, NULL);
    HR_OK(ID3D12Fence_SetEventOnCompletion((ID3D12Fence *)timeline, value, event));
    const bool reached = WaitForSingleObject(event, timeout_ms) == WAIT_OBJECT_0;
    CloseHandle(event);
    return reached;
}

static uint64_t timeline_value(void *timeline)
{
    return ID3D12Fence_GetCompletedValue((ID3D12Fence *)timeline);
}

static culv_result buffer_create(void *attachment, uint64_t size, uint32_t fallback, void **out)
{
    culv_d3d_buffer_create_desc desc = culv_d3d_buffer_create_desc_init();
    culv_shared_buffer *made = NULL;
    (void)fallback;
    desc.size = size;
    culv_result result = culv_d3d_buffer_create(attachment, &desc, &made);
    if (result == CULV_OK) *out = made;
    return result;
}

static void buffer_write(void *buffer, const void *data, size_t size)
{
    scene_write(&native, (ID3D12Resource *)culv_d3d_buffer_resource(buffer), 0, data, size);
}

static void buffer_read(void *buffer, void *data, size_t size)
{
    scene_read(&native, (ID3D12Resource *)culv_d3d_buffer_resource(buffer), 0, data, size);
}

static culv_result image_create(void *attachment, uint32_t width, uint32_t height,
                                uint32_t fallback, void **out)
{
    culv_d3d_image_create_desc desc = culv_d3d_image_create_desc_init();
    culv_shared_image *made = NULL;
    const D3D12_RESOURCE_DESC what = scene_texture_desc(D3D12_RESOURCE_DIMENSION_TEXTURE2D,
                                                        DXGI_FORMAT_R32_UINT, width, height, 1, 1);
    (void)fallback;
    desc.resource_desc = &what;
    culv_result result = culv_d3d_image_create(attachment, &desc, &made);
    if (result == CULV_OK) *out = made;
    return result;
}

static culv_result semaphore_create(void *attachment, uint64_t value, uint32_t fallback, void **out)
{
    culv_d3d_semaphore_create_desc desc = culv_d3d_semaphore_create_desc_init();
    culv_shared_semaphore *made = NULL;
    desc.initial_value = value;
    desc.fallback = fallback;
    culv_result result = culv_d3d_semaphore_create(attachment, &desc, &made);
    if (result == CULV_OK) *out = made;
    return result;
}

static void *semaphore_timeline(const void *semaphore)
{
    return (ID3D12Fence *)culv_d3d_semaphore_fence(semaphore);
}

/* The ring that there is: a list for each slot, and a place for each frame. */
enum { RING_STRIDE = (BACKEND_RING_BYTES + 3) / 4 * 4 };
static struct {
    culv_ring_side side;
    ID3D12CommandAllocator *allocators[CULV_RING_MAX_DEPTH];
    ID3D12GraphicsCommandList *lists[CULV_RING_MAX_DEPTH];
    ID3D12Resource *frames; /* upload or readback */
    unsigned char *mapped;
    uint32_t seeds[BACKEND_RING_FRAMES], count;
} drawn;

/* Until Direct3D's queue has done all that it was given. */
static void finish(void)
{
    HR_OK(ID3D12CommandQueue_Signal(native.queue, native.done, ++native.value));
    scene_wait(native.done, native.value);
}

static culv_result ring_create(void *attachment, const backend_ring *d, culv_ring **out)
{
    culv_d3d_buffer_create_desc buffer = culv_d3d_buffer_create_desc_init();
    const culv_d3d12_ring_resource resource = {.buffer = &buffer};
    culv_d3d12_ring_desc desc = culv_d3d12_ring_desc_init();
    buffer.size = BACKEND_RING_BYTES;
    desc.max_depth = d->depth;
    desc.settings = d->settings;
    desc.resources = &resource;
    desc.num_resources = d->resources != 0 ? d->resources : 1;
    desc.side = d->side;
    desc.waits = d->waits;
    desc.label = "frames";
    const culv_result result = culv_d3d12_ring_create(attachment, &desc, out);
    if (result != CULV_OK) return result;
    memset(&drawn, 0, sizeof drawn);
    drawn.side = d->side;
    drawn.frames = scene_buffer(
        &native, d->side == CULV_RING_PRODUCER ? D3D12_HEAP_TYPE_UPLOAD : D3D12_HEAP_TYPE_READBACK,
        D3D12_HEAP_FLAG_NONE, (uint64_t)BACKEND_RING_FRAMES * RING_STRIDE);
    HR_OK(ID3D12Resource_Map(drawn.frames, 0, NULL, (void **)&drawn.mapped));
    return CULV_OK;
}

/* Open; what it did before is over, but the host may not have seen that. */
static ID3D12GraphicsCommandList *list_of(uint32_t slot)
{
    if (drawn.lists[slot] != NULL) {
        finish();
        HR_OK(ID3D12CommandAllocator_Reset(drawn.allocators[slot]));
        HR_OK(ID3D12GraphicsCommandList_Reset(drawn.lists[slot], drawn.allocators[slot], NULL));
        return drawn.lists[slot];
    }
    HR_OK(ID3D12Device_CreateCommandAllocator(native.device, D3D12_COMMAND_LIST_TYPE_DIRECT,
                                              &IID_ID3D12CommandAllocator,
                                              (void **)&drawn.allocators[slot]));
    HR_OK(ID3D12Device_CreateCommandList(
        native.device, 0, D3D12_COMMAND_LIST_TYPE_DIRECT, drawn.allocators[slot], NULL,
        &IID_ID3D12GraphicsCommandList, (void **)&drawn.lists[slot]));
    return drawn.lists[slot];
}

static culv_result ring_release(culv_ring *ring, culv_ring_frame *frame, uint32_t seed)
{
    ID3D12GraphicsCommandList *list = list_of(frame->slot);
    ID3D12Resource *slot =
        (ID3D12Resource *)culv_d3d_buffer_resource(culv_ring_shared_buffer(ring, frame->slot, 0));
    const uint64_t place = (uint64_t)drawn.count * RING_STRIDE;
    REQUIRE(drawn.count < BACKEND_RING_FRAMES);
    if (drawn.side == CULV_RING_PRODUCER) {
        suite_pattern((uint32_t *)(void *)(drawn.mapped + place), BACKEND_RING_WORDS, seed);
        ID3D12GraphicsCommandList_CopyBufferRegion(list, slot, 0, drawn.frames, place,
                                                   BACKEND_RING_BYTES);
    } else {
        ID3D12GraphicsCommandList_CopyBufferRegion(list, drawn.frames, place, slot, 0,
                                                   BACKEND_RING_BYTES);
    }
    HR_OK(ID3D12GraphicsCommandList_Close(list));
    const culv_result result =
        culv_d3d12_ring_submit(ring, native.queue, (ID3D12CommandList *)list, frame);
    if (result == CULV_OK) drawn.seeds[drawn.count++] = seed;
    return result;
}

static void ring_check(bool right)
{
    for (uint32_t n = 0; right && drawn.side == CULV_RING_CONSUMER && n < drawn.count; n++)
        suite_require_pattern(__FILE__, __LINE__,
                              (const uint32_t *)(void *)(drawn.mapped + (size_t)n * RING_STRIDE),
                              BACKEND_RING_WORDS, drawn.seeds[n]);
    drawn.count = 0;
}

static void ring_end(void)
{
    for (int i = 0; i < CULV_RING_MAX_DEPTH; i++)
        if (drawn.lists[i] != NULL) {
            ID3D12GraphicsCommandList_Release(drawn.lists[i]);
            ID3D12CommandAllocator_Release(drawn.allocators[i]);
        }
    ID3D12Resource_Unmap(drawn.frames, 0, NULL);
    ID3D12Resource_Release(drawn.frames);
}

static bool lose(void *attachment, bool told)
{
    if (told) REQUIRE_EQ(culv_d3d_device_lost(attachment), CULV_OK);
    return false;
}

static uint64_t fail_at(uint64_t n, bool lost)
{
    (void)lost;
    overlay_fail_at((unsigned)n);
    return overlay_calls();
}

const backend backend_under_test = {
    .name = "d3d12",
    .memory_word = "ID3D12Heap or ID3D12Resource",
    .imports_anew = true,
    .copies_nothing = true,
    BACKEND_FUNCTIONS,
    BACKEND_RINGS,
    .ring_ways = 1,
    .ring_submits = true,
    .ring_queues = true,
    .ring_check = ring_check,
    .ring_end = ring_end,
    .lose = lose,
    .finish = finish,
    .fail_at = fail_at,
};
