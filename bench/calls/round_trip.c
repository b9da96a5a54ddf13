/* SPDX-License-Identifier: MIT */
/* CUDA to Vulkan to CUDA on the GPU, on each queue family; CUDA stream to stream to compare with. A
 * turn is a chain of hand-overs, each waiting for the one before, submitted ahead and waited for at
 * its end: what a hand-over costs where the host does not stand between. */
#include "calls.h"

enum { TRIPS = 16, COPIED = 65536 };

typedef struct trip_state {
    bench *b;
    uint32_t queue;
    rig_timeline cuda_done, vulkan_done;   /* a direction each */
    VkCommandBuffer commands[BENCH_SIDES]; /* VK_NULL_HANDLE: empty work */
} trip_state;

static void trips(trip_state *s, bench_side side, unsigned count)
{
    const rig *r = &s->b->rig;
    VkQueue queue = r->vk.queues[s->queue].queue;
    for (unsigned i = 0; i < count; i++) {
        uint64_t there = ++s->cuda_done.value, back = ++s->vulkan_done.value;
        if (side == BENCH_CULVERT) {
            CULV_OK_OR_EXIT(culv_semaphore_signal(s->cuda_done.culvert, r->stream, there));
            VK_OK(
                submit(queue, s->commands[side], s->cuda_done.vk, there, s->vulkan_done.vk, back));
            CULV_OK_OR_EXIT(culv_semaphore_wait(s->vulkan_done.culvert, r->stream, back));
        } else {
            RIG_CU(raw_signal(r->cu, s->cuda_done.raw[0], there, r->stream));
            VK_OK(
                submit(queue, s->commands[side], s->cuda_done.vk, there, s->vulkan_done.vk, back));
            RIG_CU(raw_wait(r->cu, s->vulkan_done.raw[0], back, r->stream));
        }
    }
}

static void turn(void *state, bench_side side, double ns[])
{
    trip_state *s = state;
    double begun = bench_now();
    trips(s, side, TRIPS);
    RIG_CU(s->b->rig.cu->StreamSynchronize(s->b->rig.stream));
    ns[0] = bench_now() - begun;
}

static void check(trip_state *s, bench_side side)
{
    rig *r = &s->b->rig;
    trips(s, side, 2);
    RIG_CU(r->cu->StreamSynchronize(r->stream));
    REQUIRE_EQ(raw_vk_timeline_value(&r->vk, s->cuda_done.vk), s->cuda_done.value);
    REQUIRE_EQ(raw_vk_timeline_value(&r->vk, s->vulkan_done.vk), s->vulkan_done.value);
    bench_checked(s->b);
}

static void compare(trip_state *s, const char *name)
{
    bench_series series;
    bench_begin(s->b, &series,
                (bench_setup){.turn = turn, .state = s, .num_phases = 1, .calls = TRIPS});
    bench_row(s->b, &series, (bench_row_desc){.name = name, .phases = 1});
    bench_end(&series);
}

/* The copy ------------------------------------------------------------------------------------- */

/* Copies the first half of the shared buffer to its second half; submitted many times. */
static VkCommandBuffer record_copy(const trip_state *s, const raw_vk_buffer *buffer,
                                   VkCommandPool pool, bench_side side)
{
    const rig *r = &s->b->rig;
    const VkCommandBufferAllocateInfo info = {.sType =
                                                  VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = pool,
                                              .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                              .commandBufferCount = 1};
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                            .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT};
    const VkBufferCopy region = {.dstOffset = COPIED, .size = COPIED};
    VkCommandBuffer commands = VK_NULL_HANDLE;
    VK_OK(vkAllocateCommandBuffers(r->vk.device, &info, &commands));
    VK_OK(vkBeginCommandBuffer(commands, &begin));
    record_transfer_barrier(commands, side, TO_VULKAN, buffer->buffer, s->queue);
    vkCmdCopyBuffer(commands, buffer->buffer, buffer->buffer, 1, &region);
    record_transfer_barrier(commands, side, TO_CUDA, buffer->buffer, s->queue);
    VK_OK(vkEndCommandBuffer(commands));
    return commands;
}

/* CUDA writes the first half, Vulkan copies, CUDA reads the second. */
static void check_copy(trip_state *s, CUdeviceptr pointer, bench_side side)
{
    const rig *r = &s->b->rig;
    static uint32_t got[COPIED / sizeof(uint32_t)], expected[COPIED / sizeof(uint32_t)];
    uint32_t word = (uint32_t)s->cuda_done.value * 0x01010101u + 0x55u;
    for (size_t i = 0; i < COPIED / sizeof(uint32_t); i++)
        expected[i] = word;
    RIG_CU(r->cu->MemsetD32Async(pointer, word, COPIED / sizeof(uint32_t), r->stream));
    check(s, side);
    RIG_CU(r->cu->MemcpyDtoH(got, pointer + COPIED, sizeof got));
    REQUIRE_EQ_BYTES(got, expected, sizeof got);
}

static void measure_copy(trip_state *s)
{
    rig *r = &s->b->rig;
    raw_vk_buffer buffer;
    culv_memory *import = NULL;
    culv_buffer *mapped = NULL;
    VkCommandPool pool = VK_NULL_HANDLE;
    raw_vk_buffer_create(&r->vk, 2 * COPIED, RAW_VK_EXPORT, &buffer);
    culv_vk_memory_desc desc = culv_vk_memory_desc_init();
    desc.memory = buffer.memory;
    desc.allocation_size = buffer.allocation_size;
    CULV_OK_OR_EXIT(culv_vk_memory_import(r->attached, &desc, &import));
    CULV_OK_OR_EXIT(culv_buffer_map(import, NULL, &mapped));
    const VkCommandPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .queueFamilyIndex = s->queue};
    VK_OK(vkCreateCommandPool(r->vk.device, &info, NULL, &pool));
    for (int side = 0; side < BENCH_SIDES; side++)
        s->commands[side] = record_copy(s, &buffer, pool, (bench_side)side);
    bench_variant(s->b, "queue family %u, copy of 64 KiB", (unsigned)s->queue);
    check_copy(s, culv_buffer_pointer(mapped), BENCH_CULVERT);
    check_copy(s, culv_buffer_pointer(mapped), BENCH_RAW);
    compare(s, "CUDA -> Vulkan -> CUDA");
    check_copy(s, culv_buffer_pointer(mapped), BENCH_CULVERT);
    check_copy(s, culv_buffer_pointer(mapped), BENCH_RAW);
    VK_OK(vkQueueWaitIdle(r->vk.queues[s->queue].queue));
    vkDestroyCommandPool(r->vk.device, pool, NULL);
    s->commands[BENCH_CULVERT] = s->commands[BENCH_RAW] = VK_NULL_HANDLE;
    culv_buffer_unmap(&mapped);
    culv_memory_destroy(&import);
    raw_vk_buffer_destroy(&r->vk, &buffer);
}

/* The family for transfers alone, or the first one where there is none. */
static uint32_t transfer_family(const rig *r)
{
    const VkQueueFlags busier = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
    for (uint32_t i = 0; i < r->vk.queue_count; i++)
        if ((r->vk.queues[i].flags & VK_QUEUE_TRANSFER_BIT) != 0 &&
            (r->vk.queues[i].flags & busier) == 0)
            return i;
    return 0;
}

static const char *family_name(VkQueueFlags flags)
{
    if (flags & VK_QUEUE_GRAPHICS_BIT) return "graphics";
    if (flags & VK_QUEUE_COMPUTE_BIT) return "compute";
    if (flags & VK_QUEUE_VIDEO_DECODE_BIT_KHR) return "video decode";
    if (flags & VK_QUEUE_OPTICAL_FLOW_BIT_NV) return "optical flow";
    if (flags & ~(VkQueueFlags)(VK_QUEUE_TRANSFER_BIT | VK_QUEUE_SPARSE_BINDING_BIT))
        return "other";
    return "transfer";
}

void measure_round_trip(bench *b)
{
    trip_state s = {.b = b};
    rig_timeline_open(&b->rig, &s.cuda_done);
    rig_timeline_open(&b->rig, &s.vulkan_done);
    for (s.queue = 0; s.queue < b->rig.vk.queue_count; s.queue++) {
        bench_variant(b, "queue family %u (%s), empty", (unsigned)s.queue,
                      family_name(b->rig.vk.queues[s.queue].flags));
        check(&s, BENCH_CULVERT);
        check(&s, BENCH_RAW);
        compare(&s, "CUDA -> Vulkan -> CUDA");
        check(&s, BENCH_CULVERT);
        check(&s, BENCH_RAW);
    }
    s.queue = transfer_family(&b->rig);
    measure_copy(&s);
    rig_timeline_close(&b->rig, &s.vulkan_done);
    rig_timeline_close(&b->rig, &s.cuda_done);
}

/* Stream to stream ----------------------------------------------------------------------------- */

typedef struct stream_state {
    bench *b;
    rig_timeline timeline;
    CUevent events[2];
} stream_state;

static void semaphore_turn(void *state, bench_side side, double ns[])
{
    stream_state *s = state;
    const rig *r = &s->b->rig;
    const CUstream streams[] = {r->stream, r->other_stream};
    uint64_t value = s->timeline.value;
    double begun = bench_now();
    for (unsigned i = 0; i < 2 * TRIPS; i++) {
        value++;
        if (side == BENCH_CULVERT) {
            CULV_OK_OR_EXIT(culv_semaphore_signal(s->timeline.culvert, streams[i % 2], value));
            CULV_OK_OR_EXIT(culv_semaphore_wait(s->timeline.culvert, streams[1 - i % 2], value));
        } else {
            RIG_CU(raw_signal(r->cu, s->timeline.raw[0], value, streams[i % 2]));
            RIG_CU(raw_wait(r->cu, s->timeline.raw[0], value, streams[1 - i % 2]));
        }
    }
    RIG_CU(r->cu->StreamSynchronize(r->stream));
    ns[0] = bench_now() - begun;
    s->timeline.value = value;
}

static void event_turn(void *state, bench_side side, double ns[])
{
    stream_state *s = state;
    const rig *r = &s->b->rig;
    const CUstream streams[] = {r->stream, r->other_stream};
    (void)side;
    double begun = bench_now();
    for (unsigned i = 0; i < 2 * TRIPS; i++) {
        RIG_CU(r->cu->EventRecord(s->events[i % 2], streams[i % 2]));
        RIG_CU(r->cu->StreamWaitEvent(streams[1 - i % 2], s->events[i % 2], 0));
    }
    RIG_CU(r->cu->StreamSynchronize(r->stream));
    ns[0] = bench_now() - begun;
}

/* What one stream wrote, the other copies once it was told. */
static void check_streams(stream_state *s, bench_side side)
{
    const rig *r = &s->b->rig;
    CUdeviceptr memory = 0;
    uint32_t got = 0, word = 0xabcd0000u + (uint32_t)s->timeline.value;
    uint64_t value = ++s->timeline.value;
    RIG_CU(r->cu->MemAlloc(&memory, 8));
    RIG_CU(r->cu->MemsetD32Async(memory, word, 1, r->stream));
    if (side == BENCH_CULVERT) {
        CULV_OK_OR_EXIT(culv_semaphore_signal(s->timeline.culvert, r->stream, value));
        CULV_OK_OR_EXIT(culv_semaphore_wait(s->timeline.culvert, r->other_stream, value));
    } else {
        RIG_CU(raw_signal(r->cu, s->timeline.raw[0], value, r->stream));
        RIG_CU(raw_wait(r->cu, s->timeline.raw[0], value, r->other_stream));
    }
    RIG_CU(r->cu->MemcpyDtoDAsync(memory + 4, memory, 4, r->other_stream));
    RIG_CU(r->cu->StreamSynchronize(r->other_stream));
    RIG_CU(r->cu->MemcpyDtoH(&got, memory + 4, sizeof got));
    REQUIRE_EQ(got, word);
    RIG_CU(r->cu->MemFree(memory));
    bench_checked(s->b);
}

void measure_streams(bench *b)
{
    stream_state s = {.b = b};
    bench_series series;
    rig_timeline_open(&b->rig, &s.timeline);
    for (int i = 0; i < 2; i++)
        RIG_CU(b->rig.cu->EventCreate(&s.events[i], CU_EVENT_DISABLE_TIMING));
    bench_variant(b, "%s", "");
    check_streams(&s, BENCH_CULVERT);
    check_streams(&s, BENCH_RAW);
    bench_begin(
        b, &series,
        (bench_setup){.turn = semaphore_turn, .state = &s, .num_phases = 1, .calls = 2 * TRIPS});
    bench_row(b, &series, (bench_row_desc){.name = "by a timeline", .phases = 1});
    bench_end(&series);
    bench_begin(b, &series,
                (bench_setup){.kind = BENCH_SCALE,
                              .turn = event_turn,
                              .state = &s,
                              .num_phases = 1,
                              .calls = 2 * TRIPS});
    bench_row(b, &series, (bench_row_desc){.name = "by an event", .phases = 1});
    bench_end(&series);
    for (int i = 0; i < 2; i++)
        RIG_CU(b->rig.cu->EventDestroy(s.events[i]));
    rig_timeline_close(&b->rig, &s.timeline);
}
