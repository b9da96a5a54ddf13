/* SPDX-License-Identifier: MIT */
/* Direct3D 11 and 12 under the back-end suite (tests/library/backend), as D3D says; 11 with memory
 * by NT handles, without a mutex. */
#include "scene.h"
/* The table has its own. */
#undef CU_OK
#include "shared_objects.h"

#include <culvert/d3d12.h>

void suite_pattern(uint32_t *words, size_t count, uint32_t seed);
void suite_require_pattern(const char *file, int line, const uint32_t *words, size_t count,
                           uint32_t seed);

static native own;

static const raw_cuda *open_native(void)
{
    const raw_cuda *cu = raw_cuda_open();
    NATIVE(open_device)(&own);
    return cu;
}

static void close_native(void)
{
    NATIVE(close)(&own);
}

static void lie(backend_lie what)
{
    OVERLAY(tell)
    (what == BACKEND_STRANGER ? LIE(STRANGER)
     : what == BACKEND_CLOSED ? LIE(WRAPPER)
                              : LIE(HONEST));
}

static culv_result device_open(culv_device **out)
{
    return culv_device_open_for_d3d((IUnknown *)own.device, NULL, out);
}

/* The writes of *out on success alone are Culvert's. Another adapter is always refused. */
static culv_result attach(culv_device *device, uint32_t fallback, void **out)
{
    culv_d3d_device_desc desc = culv_d3d_device_desc_init();
    desc.device = (IUnknown *)own.device;
    return culv_d3d_attach(device, &desc, (culv_d3d_device **)out);
}

static void detach(void **attachment)
{
    culv_d3d_detach((culv_d3d_device **)attachment);
}

static void *memory_create(uint64_t size)
{
    return NATIVE(memory)(&own, size, true);
}

static void memory_destroy(void *memory)
{
    REQUIRE(IUnknown_Release((IUnknown *)memory) == 0);
}

static void memory_write(const void *memory, const void *data, size_t size)
{
    NATIVE(put)(&own, (void *)(uintptr_t)memory, data, size);
}

static void memory_read(const void *memory, void *data, size_t size)
{
    NATIVE(get)(&own, (void *)(uintptr_t)memory, data, size);
}

/* The size is Direct3D's to tell. */
static culv_result memory_import(void *attachment, const void *memory, uint64_t size, bool shared,
                                 culv_memory **out)
{
    culv_d3d_memory_desc desc = culv_d3d_memory_desc_init();
    desc.object = (IUnknown *)(uintptr_t)memory;
    desc.shared = shared;
    return culv_d3d_memory_import(attachment, &desc, out);
}

static void *timeline_create(uint64_t value)
{
    return NATIVE(fence)(&own, value, true);
}

static void timeline_destroy(void *timeline)
{
    REQUIRE(IUnknown_Release((IUnknown *)timeline) == 0);
}

static culv_result timeline_import(void *attachment, void *timeline, culv_semaphore **out)
{
    return culv_d3d_semaphore_import(attachment, (IUnknown *)timeline, NULL, out);
}

static bool timeline_wait(void *timeline, uint64_t value, unsigned timeout_ms)
{
    return NATIVE(reach)((native_fence *)timeline, value, timeout_ms);
}

static uint64_t timeline_value(void *timeline)
{
    return FENCE(GetCompletedValue)((native_fence *)timeline);
}

static culv_result buffer_create(void *attachment, uint64_t size, uint32_t fallback, void **out)
{
    culv_d3d_buffer_create_desc desc = culv_d3d_buffer_create_desc_init();
    desc.size = size;
    return culv_d3d_buffer_create(attachment, &desc, (culv_shared_buffer **)out);
}

static void buffer_write(void *buffer, const void *data, size_t size)
{
    NATIVE(put)(&own, culv_d3d_buffer_resource(buffer), data, size);
}

static void buffer_read(void *buffer, void *data, size_t size)
{
    NATIVE(get)(&own, culv_d3d_buffer_resource(buffer), data, size);
}

static culv_result semaphore_create(void *attachment, uint64_t value, uint32_t fallback, void **out)
{
    culv_d3d_semaphore_create_desc desc = culv_d3d_semaphore_create_desc_init();
    desc.initial_value = value;
    desc.fallback = D3D == 12 ? fallback : 0;
    return culv_d3d_semaphore_create(attachment, &desc, (culv_shared_semaphore **)out);
}

static void *semaphore_timeline(const void *semaphore)
{
    return culv_d3d_semaphore_fence(semaphore);
}

static uint64_t fail_at(uint64_t n, bool lost)
{
    OVERLAY(fail_at)((unsigned)n);
    return OVERLAY(calls)();
}

static culv_result image_create(void *attachment, uint32_t width, uint32_t height,
                                uint32_t fallback, void **out)
{
    culv_d3d_image_create_desc desc = culv_d3d_image_create_desc_init();
#if D3D == 11
    D3D11_TEXTURE2D_DESC what = scene11_texture_desc(DXGI_FORMAT_R32_UINT, width, height, 1, 1, 0);
    what.BindFlags = D3D11_BIND_SHADER_RESOURCE;
    desc.texture_desc = &what;
#else
    const D3D12_RESOURCE_DESC what = scene12_texture_desc(
        D3D12_RESOURCE_DIMENSION_TEXTURE2D, DXGI_FORMAT_R32_UINT, width, height, 1, 1);
    desc.resource_desc = &what;
#endif
    return culv_d3d_image_create(attachment, &desc, (culv_shared_image **)out);
}

static uint64_t memory_size(const void *memory)
{
#if D3D == 11
    D3D11_BUFFER_DESC desc;
    ID3D11Buffer_GetDesc((ID3D11Buffer *)(uintptr_t)memory, &desc);
    return desc.ByteWidth;
#else
    const D3D12_RESOURCE_DESC desc = scene12_desc_of((ID3D12Resource *)(uintptr_t)memory);
    return (desc.Width + 65535) / 65536 * 65536; /* D3D12_DEFAULT_RESOURCE_PLACEMENT_ALIGNMENT */
#endif
}

static void timeline_signal(void *timeline, uint64_t value)
{
#if D3D == 11
    HR_OK(scene11_signal(&own, (ID3D11Fence *)timeline, value));
#else
    HR_OK(ID3D12Fence_Signal((ID3D12Fence *)timeline, value));
#endif
}

#if D3D == 12

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
    if (ID3D12Device_GetDeviceRemovedReason(own.device) != S_OK) return;
    HR_OK(ID3D12CommandQueue_Signal(own.queue, own.done, ++own.value));
    REQUIRE(scene12_reach(own.done, own.value, TEST_FAR_MS));
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
    drawn.frames = scene12_buffer(
        &own, d->side == CULV_RING_PRODUCER ? D3D12_HEAP_TYPE_UPLOAD : D3D12_HEAP_TYPE_READBACK,
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
    HR_OK(ID3D12Device_CreateCommandAllocator(own.device, D3D12_COMMAND_LIST_TYPE_DIRECT,
                                              &IID_ID3D12CommandAllocator,
                                              (void **)&drawn.allocators[slot]));
    HR_OK(ID3D12Device_CreateCommandList(
        own.device, 0, D3D12_COMMAND_LIST_TYPE_DIRECT, drawn.allocators[slot], NULL,
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
        culv_d3d12_ring_submit(ring, own.queue, (ID3D12CommandList *)list, frame);
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
    overlay_remove_at(1);
    REQUIRE(ID3D12Fence_Signal(own.done, own.value) == DXGI_REMOVED);
    overlay_remove_at(0);
    if (told) REQUIRE_EQ(culv_d3d_device_lost(attachment), CULV_OK);
    return true;
}

#endif

const backend backend_under_test = {
    BACKEND_FUNCTIONS,      .imports_anew = true,
    .copies_nothing = true, .fail_at = fail_at,
#if D3D == 11
    .name = "d3d11",        .memory_word = "ID3D11Resource",
    .relays_nothing = true, /* the host signals no ID3D11Fence */
#else
    .name = "d3d12",
    .memory_word = "ID3D12Heap or ID3D12Resource",
    BACKEND_RINGS,
    .ring_ways = 1,
    .ring_submits = true,
    .ring_queues = true,
    .ring_check = ring_check,
    .ring_end = ring_end,
    .lose = lose,
    .finish = finish,
#endif
};
