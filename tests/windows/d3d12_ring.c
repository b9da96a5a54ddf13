/* SPDX-License-Identifier: MIT */
/* Rings between CUDA and Direct3D 12: each frame's data, both ways, in bursts; who waits where;
 * what is refused. */
#include "scene12.h"

#include <culvert/d3d12_ring.h>

enum { DEPTH = 4, BYTES = 4096, FRAMES = 23 };

static const uint64_t second = 1000000000u;

/* What Direct3D's side has besides the ring: a list for each slot, and a place for each frame. */
typedef struct side {
    culv_ring *ring;
    ID3D12CommandAllocator *allocators[DEPTH];
    ID3D12GraphicsCommandList *lists[DEPTH];
    ID3D12Resource *frames; /* upload or readback */
    unsigned char *mapped;
} side;

static void side_open(scene *s, side *x, const culv_d3d12_ring_desc *desc, D3D12_HEAP_TYPE heap)
{
    memset(x, 0, sizeof *x);
    OK(culv_d3d12_ring_create(s->d3d12, desc, &x->ring));
    for (int i = 0; i < DEPTH; i++) {
        HR_OK(ID3D12Device_CreateCommandAllocator(s->device, D3D12_COMMAND_LIST_TYPE_DIRECT,
                                                  &IID_ID3D12CommandAllocator,
                                                  (void **)&x->allocators[i]));
        HR_OK(ID3D12Device_CreateCommandList(s->device, 0, D3D12_COMMAND_LIST_TYPE_DIRECT,
                                             x->allocators[i], NULL, &IID_ID3D12GraphicsCommandList,
                                             (void **)&x->lists[i]));
        HR_OK(ID3D12GraphicsCommandList_Close(x->lists[i]));
    }
    x->frames = scene_buffer(s, heap, D3D12_HEAP_FLAG_NONE, (uint64_t)BYTES * FRAMES);
    HR_OK(ID3D12Resource_Map(x->frames, 0, NULL, (void **)&x->mapped));
}

/* Until Direct3D's queue has done all that it was given. */
static void queue_idle(scene *s)
{
    HR_OK(ID3D12CommandQueue_Signal(s->queue, s->done, ++s->value));
    scene_wait(s->done, s->value);
}

static void side_close(scene *s, side *x)
{
    OK(culv_ring_drain(x->ring, SCENE_FAR_MS * second / 1000, 0));
    queue_idle(s);
    culv_ring_destroy(&x->ring);
    culv_ring_destroy(&x->ring);
    for (int i = 0; i < DEPTH; i++) {
        ID3D12GraphicsCommandList_Release(x->lists[i]);
        ID3D12CommandAllocator_Release(x->allocators[i]);
    }
    ID3D12Resource_Unmap(x->frames, 0, NULL);
    ID3D12Resource_Release(x->frames);
}

/* The slot's list: the frame's bytes between its buffer and their place. The slot's list was run
 * when its frame comes round, but the host has not seen that. */
static ID3D12CommandList *record(scene *s, side *x, const culv_ring_frame *frame, bool into_slot)
{
    ID3D12GraphicsCommandList *list = x->lists[frame->slot];
    ID3D12Resource *slot =
        culv_d3d12_buffer_resource(culv_ring_shared_buffer(x->ring, frame->slot, 0));
    const uint64_t place = (frame->number % FRAMES) * BYTES;
    if (frame->number >= DEPTH) queue_idle(s);
    HR_OK(ID3D12CommandAllocator_Reset(x->allocators[frame->slot]));
    HR_OK(ID3D12GraphicsCommandList_Reset(list, x->allocators[frame->slot], NULL));
    if (into_slot)
        ID3D12GraphicsCommandList_CopyBufferRegion(list, slot, 0, x->frames, place, BYTES);
    else
        ID3D12GraphicsCommandList_CopyBufferRegion(list, x->frames, place, slot, 0, BYTES);
    HR_OK(ID3D12GraphicsCommandList_Close(list));
    return (ID3D12CommandList *)list;
}

/* One burst of each side in turn, so that no thread is needed. */
static void frames_of(scene *s, culv_ring_side d3d, uint32_t burst, culv_ring_waits waits)
{
    static unsigned char data[FRAMES][BYTES], got[FRAMES][BYTES];
    culv_d3d12_buffer_create_desc buffer = culv_d3d12_buffer_create_desc_init();
    const culv_d3d12_ring_resource resource = {.buffer = &buffer};
    culv_ring_settings settings = culv_ring_settings_init();
    culv_d3d12_ring_desc desc = culv_d3d12_ring_desc_init();
    side x;
    buffer.size = BYTES;
    settings.burst = burst;
    desc.max_depth = DEPTH;
    desc.settings = &settings;
    desc.resources = &resource;
    desc.num_resources = 1;
    desc.side = d3d;
    desc.waits = waits;
    const bool draws_into = d3d == CULV_RING_PRODUCER;
    const culv_ring_side cuda = draws_into ? CULV_RING_CONSUMER : CULV_RING_PRODUCER;
    side_open(s, &x, &desc, draws_into ? D3D12_HEAP_TYPE_UPLOAD : D3D12_HEAP_TYPE_READBACK);
    scene_pattern(data, sizeof data, burst * 2 + draws_into);
    memset(got, 0, sizeof got);
    if (draws_into) memcpy(x.mapped, data, sizeof data);
    for (unsigned first = 0; first < FRAMES; first += burst)
        for (int turn = 0; turn < 2; turn++) {
            const bool is_cuda = (turn == 0) == !draws_into;
            unsigned i = first;
            for (; i < first + burst && i < FRAMES; i++) {
                culv_ring_frame frame;
                if (!is_cuda) {
                    OK(culv_ring_acquire(x.ring, d3d, SCENE_FAR_MS * second / 1000, &frame));
                    REQUIRE(frame.number == i);
                    ID3D12CommandList *list = record(s, &x, &frame, draws_into);
                    OK(culv_d3d12_ring_submit(x.ring, s->queue, list, &frame));
                    continue;
                }
                OK(culv_ring_acquire_on(x.ring, cuda, s->stream, SCENE_FAR_MS * second / 1000,
                                        &frame));
                REQUIRE(frame.number == i);
                const CUdeviceptr slot = culv_ring_pointer(x.ring, frame.slot, 0);
                if (draws_into)
                    CU_OK(s->cu->cuMemcpyDtoHAsync(got[i], slot, BYTES, s->stream));
                else
                    CU_OK(s->cu->cuMemcpyHtoDAsync(slot, data[i], BYTES, s->stream));
                OK(culv_ring_release_on(x.ring, cuda, s->stream, &frame));
            }
            if (i % burst == 0) continue; /* the last burst is not full */
            if (is_cuda)
                OK(culv_ring_flush_on(x.ring, cuda, s->stream));
            else
                OK(culv_ring_flush(x.ring, d3d, NULL));
        }
    scene_synchronize(s);
    queue_idle(s);
    if (!draws_into) memcpy(got, x.mapped, sizeof got);
    for (unsigned i = 0; i < FRAMES; i++)
        REQUIRE(memcmp(data[i], got[i], BYTES) == 0);
    side_close(s, &x);
}

D12_CASE(ring_frames)
{
    for (uint32_t burst = 1; burst <= 4; burst *= 2)
        for (int d3d = 0; d3d < 2; d3d++)
            for (int waits = CULV_RING_WAITS_QUEUED; waits <= CULV_RING_WAITS_SIGNAL_FIRST; waits++)
                frames_of(s, (culv_ring_side)d3d, burst, (culv_ring_waits)waits);
}

/* CUDA's stream stands still behind a fence that nobody has signaled, and a frame behind that. */
static void one_held_frame(scene *s, culv_ring_waits waits)
{
    culv_d3d12_ring_desc desc = culv_d3d12_ring_desc_init();
    culv_shared_semaphore *gate = NULL;
    culv_ring_frame frame;
    side x;
    desc.max_depth = DEPTH;
    desc.waits = waits;
    side_open(s, &x, &desc, D3D12_HEAP_TYPE_READBACK);
    ID3D12Fence *ready = culv_d3d12_ring_fence(x.ring, CULV_RING_PRODUCER);
    REQUIRE(ready != NULL && culv_d3d12_ring_fence(x.ring, (culv_ring_side)2) == NULL);
    OK(culv_d3d12_semaphore_create(s->d3d12, NULL, &gate));
    OK(culv_semaphore_wait(culv_shared_semaphore_cuda(gate), s->stream, 1));
    OK(culv_ring_acquire_on(x.ring, CULV_RING_PRODUCER, s->stream, 0, &frame));
    OK(culv_ring_release_on(x.ring, CULV_RING_PRODUCER, s->stream, &frame));
    const uint64_t signal = frame.signal_value;
    REQUIRE(signal > 0 && ID3D12Fence_GetCompletedValue(ready) < signal);

    const bool first = waits != CULV_RING_WAITS_QUEUED;
    if (first) {
        for (int i = 0; i < 2; i++)
            REFUSES(culv_ring_acquire(x.ring, CULV_RING_CONSUMER, 0, &frame), CULV_ERROR_TIMEOUT,
                    CULV_REASON_RING_LATE);
        HR_OK(ID3D12Fence_Signal(culv_d3d12_semaphore_fence(gate), 1));
        OK(culv_ring_acquire(x.ring, CULV_RING_CONSUMER, SCENE_FAR_MS * second / 1000, &frame));
        REQUIRE(ID3D12Fence_GetCompletedValue(ready) >= signal);
    } else {
        OK(culv_ring_acquire(x.ring, CULV_RING_CONSUMER, 0, &frame));
    }
    REQUIRE(frame.wait_value == signal && frame.number == 0);
    /* A queue that waits runs nothing of it. */
    OK(culv_ring_release(x.ring, CULV_RING_CONSUMER, &frame));
    HR_OK(ID3D12CommandQueue_Wait(s->queue, ready, frame.wait_value));
    HR_OK(ID3D12CommandQueue_Signal(s->queue, culv_d3d12_ring_fence(x.ring, CULV_RING_CONSUMER),
                                    frame.signal_value));
    HR_OK(ID3D12CommandQueue_Signal(s->queue, s->done, ++s->value));
    if (!first) {
        Sleep(20);
        REQUIRE(ID3D12Fence_GetCompletedValue(s->done) < s->value);
        HR_OK(ID3D12Fence_Signal(culv_d3d12_semaphore_fence(gate), 1));
    }
    scene_wait(s->done, s->value);
    scene_synchronize(s);
    side_close(s, &x);
    culv_shared_semaphore_destroy(&gate);
}

D12_CASE(ring_waits)
{
    one_held_frame(s, CULV_RING_WAITS_QUEUED);
    one_held_frame(s, CULV_RING_WAITS_SIGNAL_FIRST);
    one_held_frame(s, CULV_RING_WAITS_DEFAULT); /* a consumer on Windows */
}

/* CUDA waits for fences of a device that is removed: for a slot whose signal was never queued, and
 * for a fence beside the ring. It is told, and goes on; a frame is submitted once more before. */
D12_CASE(ring_lost)
{
    culv_d3d12_ring_desc desc = culv_d3d12_ring_desc_init();
    culv_shared_semaphore *gate = NULL;
    culv_ring_frame frame, next;
    side x;
    desc.max_depth = 1;
    side_open(s, &x, &desc, D3D12_HEAP_TYPE_READBACK);
    OK(culv_d3d12_semaphore_create(s->d3d12, NULL, &gate));
    OK(culv_ring_acquire_on(x.ring, CULV_RING_PRODUCER, s->stream, 0, &frame));
    OK(culv_ring_release_on(x.ring, CULV_RING_PRODUCER, s->stream, &frame));
    OK(culv_ring_acquire(x.ring, CULV_RING_CONSUMER, SCENE_FAR_MS * second / 1000, &next));
    OK(culv_ring_release(x.ring, CULV_RING_CONSUMER, &next));
    const uint64_t value = next.signal_value;
    OK(culv_ring_submit_failed(x.ring, CULV_RING_CONSUMER, &next));
    REFUSES(culv_ring_cancel(x.ring, CULV_RING_CONSUMER, &next), CULV_ERROR_INVALID,
            CULV_REASON_RING_ORDER);
    OK(culv_ring_release(x.ring, CULV_RING_CONSUMER, &next));
    REQUIRE(next.signal_value == value);
    /* Now CUDA waits for what is never queued. */
    OK(culv_ring_acquire_on(x.ring, CULV_RING_PRODUCER, s->stream, 0, &frame));
    OK(culv_semaphore_wait(culv_shared_semaphore_cuda(gate), s->stream, 3));
    OK(culv_d3d12_device_lost(s->d3d12));
    scene_synchronize(s);
    REFUSES(culv_ring_release_on(x.ring, CULV_RING_PRODUCER, s->stream, &frame), CULV_ERROR_ASYNC,
            CULV_REASON_RING_STOPPED);
    REFUSES(culv_ring_acquire(x.ring, CULV_RING_CONSUMER, 0, &next), CULV_ERROR_ASYNC,
            CULV_REASON_RING_STOPPED);
    REQUIRE_SAYS("culv_ring_destroy()");
    REFUSES(culv_d3d12_device_lost(NULL), CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT);
    side_close(s, &x);
    culv_shared_semaphore_destroy(&gate);
}

/* CUDA has not done a frame yet, and the ring goes without waiting for it. Then CUDA waits for a
 * frame that was given back and whose signal nobody queued: the end of the ring makes it. */
D12_CASE(ring_ends)
{
    culv_d3d12_buffer_create_desc buffer = culv_d3d12_buffer_create_desc_init();
    const culv_d3d12_ring_resource resource = {.buffer = &buffer};
    culv_d3d12_ring_desc desc = culv_d3d12_ring_desc_init();
    culv_ring *ring = NULL;
    culv_shared_semaphore *gate = NULL;
    culv_ring_frame frame;
    buffer.size = BYTES;
    desc.max_depth = 1;
    desc.resources = &resource;
    desc.num_resources = 1;
    OK(culv_d3d12_semaphore_create(s->d3d12, NULL, &gate));
    OK(culv_d3d12_ring_create(s->d3d12, &desc, &ring));
    OK(culv_semaphore_wait(culv_shared_semaphore_cuda(gate), s->stream, 1));
    OK(culv_ring_acquire_on(ring, CULV_RING_PRODUCER, s->stream, 0, &frame));
    OK(culv_ring_release_on(ring, CULV_RING_PRODUCER, s->stream, &frame));
    culv_ring_destroy_after(&ring, s->stream);
    REQUIRE(ring == NULL);
    culv_ring_destroy_after(&ring, s->stream);
    culv_ring_destroy_after(NULL, s->stream);
    REQUIRE(s->cu->cuStreamQuery(s->stream) == CUDA_ERROR_NOT_READY);
    HR_OK(ID3D12Fence_Signal(culv_d3d12_semaphore_fence(gate), 1));
    scene_synchronize(s);

    for (int after = 0; after < 2; after++) {
        OK(culv_d3d12_ring_create(s->d3d12, &desc, &ring));
        OK(culv_ring_acquire_on(ring, CULV_RING_PRODUCER, s->stream, 0, &frame));
        OK(culv_ring_release_on(ring, CULV_RING_PRODUCER, s->stream, &frame));
        OK(culv_ring_acquire(ring, CULV_RING_CONSUMER, SCENE_FAR_MS * second / 1000, &frame));
        OK(culv_ring_release(ring, CULV_RING_CONSUMER, &frame));
        OK(culv_ring_acquire_on(ring, CULV_RING_PRODUCER, s->stream, 0, &frame));
        if (after)
            culv_ring_destroy_after(&ring, s->stream);
        else
            culv_ring_destroy(&ring);
        scene_synchronize(s);
    }
    culv_shared_semaphore_destroy(&gate);
    (void)culv_device_collect(s->culvert);
}

D12_CASE(ring_refused)
{
    const D3D12_RESOURCE_DESC what = scene_buffer_desc(BYTES);
    culv_d3d12_buffer_create_desc buffer = culv_d3d12_buffer_create_desc_init();
    culv_d3d12_image_create_desc image = culv_d3d12_image_create_desc_init();
    culv_d3d12_ring_resource resources[2] = {{.buffer = &buffer}, {.buffer = &buffer}};
    culv_d3d12_ring_desc desc = culv_d3d12_ring_desc_init();
    culv_ring *ring = NULL;
    culv_ring_frame frame;
    buffer.size = BYTES;
    image.resource_desc = &what;
    REFUSES(culv_d3d12_ring_create(s->d3d12, NULL, &ring), CULV_ERROR_INVALID,
            CULV_REASON_NULL_ARGUMENT);
    REFUSES(culv_d3d12_ring_create(s->d3d12, &desc, &ring), CULV_ERROR_INVALID, CULV_REASON_VALUE);
    desc.max_depth = 2;
    desc.num_resources = 2;
    REFUSES(culv_d3d12_ring_create(s->d3d12, &desc, &ring), CULV_ERROR_INVALID,
            CULV_REASON_NULL_ARGUMENT);
    desc.resources = resources;
    resources[1].image = &image;
    REFUSES(culv_d3d12_ring_create(s->d3d12, &desc, &ring), CULV_ERROR_INVALID, CULV_REASON_VALUE);
    resources[1].buffer = NULL; /* an image that is a buffer: after two buffers were made */
    REQUIRE(culv_d3d12_ring_create(s->d3d12, &desc, &ring) != CULV_OK);
    resources[1] = resources[0];
    desc.waits = (culv_ring_waits)7;
    REFUSES(culv_d3d12_ring_create(s->d3d12, &desc, &ring), CULV_ERROR_INVALID, CULV_REASON_VALUE);
    desc.waits = CULV_RING_WAITS_DEFAULT;
    REQUIRE(ring == NULL && scene_driver_objects() == 0);
    OK(culv_d3d12_ring_create(s->d3d12, &desc, &ring));
    REQUIRE(culv_ring_shared_buffer(ring, 1, 1) != NULL);
    REQUIRE(culv_ring_shared_buffer(ring, 2, 1) == NULL);
    REQUIRE(culv_ring_shared_buffer(ring, 0, 2) == NULL);
    REQUIRE(culv_ring_shared_image(ring, 0, 0) == NULL);
    REFUSES(culv_ring_acquire(ring, CULV_RING_CONSUMER, 0, NULL), CULV_ERROR_INVALID,
            CULV_REASON_NULL_ARGUMENT);
    REFUSES(culv_ring_acquire(ring, CULV_RING_CONSUMER, 0, &frame), CULV_ERROR_TIMEOUT,
            CULV_REASON_RING_EMPTY);
    REFUSES(culv_d3d12_ring_submit(ring, s->queue, NULL, &frame), CULV_ERROR_INVALID,
            CULV_REASON_NULL_ARGUMENT);
    OK(culv_ring_flush(ring, CULV_RING_CONSUMER, NULL)); /* nothing is kept */
    culv_ring_destroy(&ring);
}

static void open_burst(scene *s, side *x, culv_ring_side d3d, uint32_t burst)
{
    static culv_d3d12_buffer_create_desc buffer;
    static const culv_d3d12_ring_resource resource = {.buffer = &buffer};
    culv_ring_settings settings = culv_ring_settings_init();
    culv_d3d12_ring_desc desc = culv_d3d12_ring_desc_init();
    buffer = culv_d3d12_buffer_create_desc_init();
    buffer.size = BYTES;
    settings.burst = burst;
    desc.max_depth = DEPTH;
    desc.settings = &settings;
    desc.resources = &resource;
    desc.num_resources = 1;
    desc.side = d3d;
    desc.label = "solver";
    side_open(s, x, &desc, D3D12_HEAP_TYPE_UPLOAD);
}

static bool owned(const char *says)
{
    const bool is = scene_reason_is(CULV_REASON_OWNED) && strstr(culv_last_error_message(), says);
    printf("  OWNED: %s\n", culv_last_error_message());
    return is;
}

/* What the ring owns goes with it: giving up a part is refused, and nothing happens. */
D12_CASE(ring_parts)
{
    const D3D12_RESOURCE_DESC what = scene_texture_desc(D3D12_RESOURCE_DIMENSION_TEXTURE2D,
                                                        DXGI_FORMAT_R8G8B8A8_UNORM, 16, 16, 1, 1);
    culv_d3d12_buffer_create_desc buffer_desc = culv_d3d12_buffer_create_desc_init();
    culv_d3d12_image_create_desc image_desc = culv_d3d12_image_create_desc_init();
    const culv_d3d12_ring_resource resources[2] = {{.buffer = &buffer_desc},
                                                   {.image = &image_desc}};
    culv_d3d12_ring_desc desc = culv_d3d12_ring_desc_init();
    culv_ring *ring = NULL;
    culv_ring_frame frame;
    buffer_desc.size = BYTES;
    image_desc.resource_desc = &what;
    desc.max_depth = 2;
    desc.resources = resources;
    desc.num_resources = 2;
    OK(culv_d3d12_ring_create(s->d3d12, &desc, &ring));
    for (uint32_t slot = 0; slot < 2; slot++) {
        culv_shared_buffer *buffer = culv_ring_shared_buffer(ring, slot, 0), *const b = buffer;
        culv_shared_image *image = culv_ring_shared_image(ring, slot, 1), *const i = image;
        culv_shared_buffer_destroy(&buffer);
        REQUIRE(buffer == b && owned("culv_shared_buffer_destroy: it is a part of another object"));
        culv_shared_image_destroy(&image);
        REQUIRE(image == i && owned("culv_shared_image_destroy: it is a part of another object"));
        culv_shared_buffer_destroy_after(&buffer, s->stream);
        culv_shared_image_destroy_after(&image, s->stream);
        REQUIRE(buffer == b && image == i && owned("culv_ring_destroy()"));
    }
    /* All of it is still there. */
    OK(culv_ring_acquire_on(ring, CULV_RING_PRODUCER, s->stream, 0, &frame));
    OK(culv_ring_release_on(ring, CULV_RING_PRODUCER, s->stream, &frame));
    REFUSES(culv_ring_acquire_on(ring, CULV_RING_CONSUMER, s->stream, 0, &frame),
            CULV_ERROR_INVALID, CULV_REASON_RING_SIDE);
    REFUSES(culv_ring_release_on(ring, CULV_RING_CONSUMER, s->stream, &frame), CULV_ERROR_INVALID,
            CULV_REASON_RING_SIDE);
    REFUSES(culv_ring_flush_on(ring, CULV_RING_CONSUMER, s->stream), CULV_ERROR_INVALID,
            CULV_REASON_RING_SIDE);
    OK(culv_ring_drain(ring, SCENE_FAR_MS * second / 1000, 0));
    culv_ring_destroy(&ring);
    REQUIRE(scene_driver_objects() == 0);
}

/* What Direct3D's side keeps of a burst is signaled, whichever call somebody tries. */
D12_CASE(ring_kept)
{
    culv_ring_frame frame;
    uint64_t value = 0;
    side x;
    open_burst(s, &x, CULV_RING_PRODUCER, 2);
    ID3D12Fence *ready = culv_d3d12_ring_fence(x.ring, CULV_RING_PRODUCER);
    OK(culv_ring_acquire(x.ring, CULV_RING_PRODUCER, 0, &frame));
    OK(culv_d3d12_ring_submit(x.ring, s->queue, record(s, &x, &frame, true), &frame));
    REQUIRE(frame.signal_value == 0);
    REFUSES(culv_ring_acquire_on(x.ring, CULV_RING_CONSUMER, s->stream, 0, &frame),
            CULV_ERROR_TIMEOUT, CULV_REASON_RING_EMPTY);
    REQUIRE(strstr(culv_last_error_message(), "culv_ring_flush() hands them over") != NULL);
    REFUSES(culv_ring_drain(x.ring, 0, 0), CULV_ERROR_BUSY, CULV_REASON_RING_ORDER);
    REQUIRE(strstr(culv_last_error_message(), "call culv_ring_flush() first") != NULL);
    OK(culv_ring_acquire(x.ring, CULV_RING_PRODUCER, 0, &frame));
    REFUSES(culv_ring_release(x.ring, CULV_RING_PRODUCER, &frame), CULV_ERROR_INVALID,
            CULV_REASON_RING_ORDER);
    OK(culv_ring_cancel(x.ring, CULV_RING_PRODUCER, &frame));
    OK(culv_ring_flush(x.ring, CULV_RING_PRODUCER, NULL));
    scene_wait(ready, 1);
    /* A program that submits by itself ends its burst, and signals. */
    OK(culv_ring_acquire(x.ring, CULV_RING_PRODUCER, 0, &frame));
    OK(culv_ring_release(x.ring, CULV_RING_PRODUCER, &frame));
    OK(culv_ring_flush(x.ring, CULV_RING_PRODUCER, &value));
    REQUIRE(value == 2);
    HR_OK(ID3D12CommandQueue_Signal(s->queue, ready, value));
    side_close(s, &x);
    /* CUDA's side has a call of its own. */
    open_burst(s, &x, CULV_RING_CONSUMER, 2);
    OK(culv_ring_acquire_on(x.ring, CULV_RING_PRODUCER, s->stream, 0, &frame));
    OK(culv_ring_release_on(x.ring, CULV_RING_PRODUCER, s->stream, &frame));
    REFUSES(culv_ring_acquire(x.ring, CULV_RING_CONSUMER, 0, &frame), CULV_ERROR_TIMEOUT,
            CULV_REASON_RING_EMPTY);
    REQUIRE(strstr(culv_last_error_message(), "culv_ring_flush_on() hands them over") != NULL);
    OK(culv_ring_flush_on(x.ring, CULV_RING_PRODUCER, s->stream));
    side_close(s, &x);
    /* A release that nobody signals is late, and the message asks for the signal. */
    open_burst(s, &x, CULV_RING_CONSUMER, 1);
    OK(culv_ring_acquire_on(x.ring, CULV_RING_PRODUCER, s->stream, 0, &frame));
    OK(culv_ring_release(x.ring, CULV_RING_PRODUCER, &frame));
    REFUSES(culv_ring_drain(x.ring, 0, 0), CULV_ERROR_TIMEOUT, CULV_REASON_RING_LATE);
    REQUIRE(strstr(culv_last_error_message(), "the producer released with 1, but that signal has "
                                              "not run yet; was it submitted?") != NULL);
    OK(culv_ring_drain(x.ring, 0, 1));
    side_close(s, &x);
}

/* Two frames in one buffer; a list that the queue does not take. */
D12_CASE(ring_mistakes)
{
    const D3D12_COMMAND_QUEUE_DESC copies = {.Type = D3D12_COMMAND_LIST_TYPE_COPY};
    culv_d3d12_buffer_create_desc buffer_desc = culv_d3d12_buffer_create_desc_init();
    culv_shared_buffer *buffers[3] = {NULL, NULL, NULL};
    culv_d3d12_ring_resource resource = {.buffers = buffers};
    culv_d3d12_ring_desc desc = culv_d3d12_ring_desc_init();
    culv_ring *ring = NULL;
    ID3D12CommandQueue *queue = NULL;
    culv_ring_frame frame;
    side x;
    buffer_desc.size = BYTES;
    desc.max_depth = 3;
    desc.resources = &resource;
    desc.num_resources = 1;
    OK(culv_d3d12_buffer_create(s->d3d12, &buffer_desc, &buffers[0]));
    OK(culv_d3d12_buffer_create(s->d3d12, &buffer_desc, &buffers[1]));
    buffers[2] = buffers[0];
    REFUSES(culv_d3d12_ring_create(s->d3d12, &desc, &ring), CULV_ERROR_INVALID, CULV_REASON_VALUE);
    culv_shared_buffer_destroy(&buffers[0]);
    culv_shared_buffer_destroy(&buffers[1]);
    open_burst(s, &x, CULV_RING_PRODUCER, 1);
    HR_OK(ID3D12Device_CreateCommandQueue(s->device, &copies, &IID_ID3D12CommandQueue,
                                          (void **)&queue));
    OK(culv_ring_acquire(x.ring, CULV_RING_PRODUCER, 0, &frame));
    ID3D12CommandList *list = record(s, &x, &frame, true);
    REFUSES(culv_d3d12_ring_submit(x.ring, queue, list, &frame), CULV_ERROR_INVALID,
            CULV_REASON_VALUE);
    OK(culv_d3d12_ring_submit(x.ring, s->queue, list, &frame));
    ID3D12CommandQueue_Release(queue);
    side_close(s, &x);
}

static culv_result make_ring(scene *s)
{
    const D3D12_RESOURCE_DESC what = scene_texture_desc(D3D12_RESOURCE_DIMENSION_TEXTURE2D,
                                                        DXGI_FORMAT_R8G8B8A8_UNORM, 16, 16, 1, 1);
    culv_d3d12_buffer_create_desc buffer = culv_d3d12_buffer_create_desc_init();
    culv_d3d12_image_create_desc image = culv_d3d12_image_create_desc_init();
    const culv_d3d12_ring_resource resources[2] = {{.buffer = &buffer}, {.image = &image}};
    culv_d3d12_ring_desc desc = culv_d3d12_ring_desc_init();
    culv_ring *ring = NULL;
    buffer.size = BYTES;
    image.resource_desc = &what;
    desc.max_depth = 2;
    desc.resources = resources;
    desc.num_resources = 2;
    culv_result result = culv_d3d12_ring_create(s->d3d12, &desc, &ring);
    REQUIRE((result == CULV_OK) == (ring != NULL));
    culv_ring_destroy(&ring);
    return result;
}

/* Each call that fails once leaves nothing behind. */
D12_CASE(ring_torture)
{
    OK(make_ring(s));
    const unsigned before = overlay_calls();
    OK(make_ring(s));
    const unsigned calls = overlay_calls() - before;
    REQUIRE(calls == 12); /* six makes, six handles */
    for (unsigned n = 1; n <= calls; n++) {
        overlay_fail_at(n);
        REQUIRE(make_ring(s) == CULV_ERROR_OUT_OF_MEMORY);
        overlay_fail_at(0);
        (void)culv_device_collect(s->culvert);
        REQUIRE(scene_driver_objects() == 0 && overlay_references() == 0);
    }
    for (unsigned n = 1;; n++) {
        culv_soft_counts a = {.struct_size = sizeof a}, b = a;
        soft.counts(&a);
        soft.fail_at(n, CUDA_ERROR_OUT_OF_MEMORY);
        const culv_result result = make_ring(s);
        soft.counts(&b);
        soft.fail_at(0, 0);
        (void)culv_device_collect(s->culvert);
        REQUIRE(scene_driver_objects() == 0 && overlay_references() == 0);
        if (result == CULV_OK && b.calls - a.calls < n) break;
    }
    OK(make_ring(s));
}
