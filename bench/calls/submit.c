/* SPDX-License-Identifier: MIT */
/* Vulkan's half of a frame: recording a command buffer between Culvert's barriers or hand-written
 * ones, and submitting it with a timeline to wait for and one to signal; and a whole frame's calls
 * on the CPU. */
#include "allocations.h"
#include "calls.h"

#include <string.h>

enum { FRAMES = 16, BYTES = 4096, QUEUE = 0 };
enum { WAIT, SIGNAL, RECORD, SUBMIT, PHASES };

typedef struct submit_state {
    bench *b;
    raw_vk_buffer buffer;
    culv_memory *import;
    culv_buffer *mapped;
    rig_timeline cuda_done, vulkan_done; /* a direction each */
    VkCommandPool pool;
    VkCommandBuffer commands[FRAMES];
} submit_state;

static void record_by_culvert(VkCommandBuffer commands, handover way, VkBuffer buffer,
                              uint32_t queue_family)
{
    culv_vk_buffer_transfer transfer = culv_vk_buffer_transfer_init();
    transfer.buffer = buffer;
    transfer.queue_family = queue_family;
    transfer.stage = VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT;
    transfer.access =
        VK_ACCESS_2_TRANSFER_WRITE_BIT | (way == TO_VULKAN ? VK_ACCESS_2_TRANSFER_READ_BIT : 0);
    VkBufferMemoryBarrier2 barrier;
    CULV_OK_OR_EXIT(culv_vk_buffer_get_barrier2(
        &transfer, way == TO_VULKAN ? CULV_VK_ACQUIRE : CULV_VK_RELEASE, &barrier));
    const VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .bufferMemoryBarrierCount = 1,
                                   .pBufferMemoryBarriers = &barrier};
    vkCmdPipelineBarrier2(commands, &info);
}

static void record_by_hand(VkCommandBuffer commands, handover way, VkBuffer buffer,
                           uint32_t queue_family)
{
    VkBufferMemoryBarrier2 barrier = {.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER_2,
                                      .buffer = buffer,
                                      .size = VK_WHOLE_SIZE};
    if (way == TO_VULKAN) {
        barrier.srcStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
        barrier.dstStageMask = VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT;
        barrier.dstAccessMask = VK_ACCESS_2_TRANSFER_READ_BIT | VK_ACCESS_2_TRANSFER_WRITE_BIT;
        barrier.srcQueueFamilyIndex = VK_QUEUE_FAMILY_EXTERNAL;
        barrier.dstQueueFamilyIndex = queue_family;
    } else {
        barrier.srcStageMask = VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT;
        barrier.srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT;
        barrier.dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
        barrier.srcQueueFamilyIndex = queue_family;
        barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_EXTERNAL;
    }
    const VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .bufferMemoryBarrierCount = 1,
                                   .pBufferMemoryBarriers = &barrier};
    vkCmdPipelineBarrier2(commands, &info);
}

void record_transfer_barrier(VkCommandBuffer commands, bench_side side, handover way,
                             VkBuffer buffer, uint32_t queue_family)
{
    (side == BENCH_CULVERT ? record_by_culvert : record_by_hand)(commands, way, buffer,
                                                                 queue_family);
}

static void record(const submit_state *s, VkCommandBuffer commands, bench_side side, uint32_t word)
{
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                            .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    VK_OK(vkBeginCommandBuffer(commands, &begin));
    record_transfer_barrier(commands, side, TO_VULKAN, s->buffer.buffer, QUEUE);
    vkCmdFillBuffer(commands, s->buffer.buffer, 0, BYTES, word);
    record_transfer_barrier(commands, side, TO_CUDA, s->buffer.buffer, QUEUE);
    VK_OK(vkEndCommandBuffer(commands));
}

/* One frame by one side: CUDA waits for Vulkan's last frame and signals, Vulkan waits for that,
 * fills, signals. */
static void frame(submit_state *s, unsigned i, bench_side side, double ns[])
{
    const rig *r = &s->b->rig;
    uint64_t done = s->vulkan_done.value, next = ++s->cuda_done.value;
    double at[PHASES + 1];
    at[WAIT] = bench_now();
    if (side == BENCH_CULVERT) {
        CULV_OK_OR_EXIT(culv_semaphore_wait(s->vulkan_done.culvert, r->stream, done));
        at[SIGNAL] = bench_now();
        CULV_OK_OR_EXIT(culv_semaphore_signal(s->cuda_done.culvert, r->stream, next));
    } else {
        RIG_CU(raw_wait(r->cu, s->vulkan_done.raw[0], done, r->stream));
        at[SIGNAL] = bench_now();
        RIG_CU(raw_signal(r->cu, s->cuda_done.raw[0], next, r->stream));
    }
    at[RECORD] = bench_now();
    record(s, s->commands[i], side, (uint32_t)next);
    at[SUBMIT] = bench_now();
    VK_OK(submit(r->vk.queues[QUEUE].queue, s->commands[i], s->cuda_done.vk, next,
                 s->vulkan_done.vk, ++s->vulkan_done.value));
    at[PHASES] = bench_now();
    for (int phase = 0; phase < PHASES; phase++)
        ns[phase] += at[phase + 1] - at[phase];
}

static void drain(submit_state *s)
{
    rig *r = &s->b->rig;
    VK_OK(vkQueueWaitIdle(r->vk.queues[QUEUE].queue));
    RIG_CU(r->cu->StreamSynchronize(r->stream));
    VK_OK(vkResetCommandPool(r->vk.device, s->pool, 0));
}

static void submit_turn(void *state, bench_side side, double ns[])
{
    submit_state *s = state;
    for (unsigned i = 0; i < FRAMES; i++)
        frame(s, i, side, ns);
    drain(s);
}

/* What Vulkan filled in is what CUDA reads. */
static void check(submit_state *s, bench_side side)
{
    const rig *r = &s->b->rig;
    double ns[PHASES] = {0};
    uint32_t got[BYTES / sizeof(uint32_t)], expected[BYTES / sizeof(uint32_t)];
    frame(s, 0, side, ns);
    drain(s);
    for (size_t i = 0; i < BYTES / sizeof(uint32_t); i++)
        expected[i] = (uint32_t)s->cuda_done.value;
    RIG_CU(r->cu->MemcpyDtoH(got, culv_buffer_pointer(s->mapped), sizeof got));
    REQUIRE_EQ_BYTES(got, expected, sizeof got);
    bench_checked(s->b);
}

static void open_state(submit_state *s)
{
    rig *r = &s->b->rig;
    raw_vk_buffer_create(&r->vk, BYTES, RAW_VK_EXPORT, &s->buffer);
    culv_vk_memory_desc desc = culv_vk_memory_desc_init();
    desc.memory = s->buffer.memory;
    desc.allocation_size = s->buffer.allocation_size;
    CULV_OK_OR_EXIT(culv_vk_memory_import(r->attached, &desc, &s->import));
    CULV_OK_OR_EXIT(culv_buffer_map(s->import, NULL, &s->mapped));
    rig_timeline_open(r, &s->cuda_done);
    rig_timeline_open(r, &s->vulkan_done);
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT,
                                          .queueFamilyIndex = QUEUE};
    VK_OK(vkCreateCommandPool(r->vk.device, &pool, NULL, &s->pool));
    const VkCommandBufferAllocateInfo commands = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = s->pool,
        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
        .commandBufferCount = FRAMES};
    VK_OK(vkAllocateCommandBuffers(r->vk.device, &commands, s->commands));
}

static void close_state(submit_state *s)
{
    rig *r = &s->b->rig;
    vkDestroyCommandPool(r->vk.device, s->pool, NULL);
    rig_timeline_close(r, &s->vulkan_done);
    rig_timeline_close(r, &s->cuda_done);
    culv_buffer_unmap(&s->mapped, NULL);
    culv_memory_destroy(&s->import);
    raw_vk_buffer_destroy(&r->vk, &s->buffer);
}

void measure_submit(bench *b)
{
    submit_state s = {.b = b};
    bench_series series;
    bench_variant(b, "%s", "");
    open_state(&s);
    check(&s, BENCH_CULVERT);
    check(&s, BENCH_RAW);
    bench_begin(
        b, &series,
        (bench_setup){.turn = submit_turn, .state = &s, .num_phases = PHASES, .calls = FRAMES});
    bench_row(b, &series,
              (bench_row_desc){.name = "record + submit", .phases = 1u << RECORD | 1u << SUBMIT});
    bench_row(b, &series, (bench_row_desc){.name = "record", .phases = 1u << RECORD});
    bench_row(b, &series, (bench_row_desc){.name = "submit", .phases = 1u << SUBMIT});
    bench_row(b, &series, (bench_row_desc){.name = "whole frame", .phases = (1u << PHASES) - 1u});
    bench_end(&series);
    check(&s, BENCH_CULVERT);
    check(&s, BENCH_RAW);
    close_state(&s);
}

/* Timeline semaphores: signal, wait, both as a frame does them, and importing. The GPU's queue is
 * drained after each turn, outside of its times, so that what is timed is the call and not the room
 * in the queue. */

enum { CALLS = 32 };

typedef struct timeline_state {
    bench *b;
    rig_timeline timeline;
    bool control; /* the raw calls on both sides, each with an import of its own */
    uint64_t reached;
} timeline_state;

static CUexternalSemaphore raw_of(const timeline_state *s, bench_side side)
{
    return s->timeline.raw[s->control && side == BENCH_CULVERT];
}

static bool is_culvert(const timeline_state *s, bench_side side)
{
    return side == BENCH_CULVERT && !s->control;
}

static void drain_timeline(timeline_state *s)
{
    RIG_CU(s->b->rig.cu->StreamSynchronize(s->b->rig.stream));
    s->reached = s->timeline.value;
}

static void signal_turn(void *state, bench_side side, double ns[])
{
    timeline_state *s = state;
    const raw_cuda *cu = s->b->rig.cu;
    CUstream stream = s->b->rig.stream;
    uint64_t value = s->timeline.value;
    double begun;
    if (is_culvert(s, side)) {
        culv_semaphore *semaphore = s->timeline.culvert;
        begun = bench_now();
        for (int i = 0; i < CALLS; i++)
            CULV_OK_OR_EXIT(culv_semaphore_signal(semaphore, stream, ++value));
    } else {
        CUexternalSemaphore semaphore = raw_of(s, side);
        begun = bench_now();
        for (int i = 0; i < CALLS; i++)
            RIG_CU(raw_signal(cu, semaphore, ++value, stream));
    }
    ns[0] = bench_now() - begun;
    s->timeline.value = value;
    drain_timeline(s);
}

/* For a value that was reached long ago: the call's cost, not the waiting. */
static void wait_turn(void *state, bench_side side, double ns[])
{
    timeline_state *s = state;
    const raw_cuda *cu = s->b->rig.cu;
    CUstream stream = s->b->rig.stream;
    uint64_t value = s->reached;
    double begun;
    if (is_culvert(s, side)) {
        culv_semaphore *semaphore = s->timeline.culvert;
        begun = bench_now();
        for (int i = 0; i < CALLS; i++)
            CULV_OK_OR_EXIT(culv_semaphore_wait(semaphore, stream, value));
    } else {
        CUexternalSemaphore semaphore = raw_of(s, side);
        begun = bench_now();
        for (int i = 0; i < CALLS; i++)
            RIG_CU(raw_wait(cu, semaphore, value, stream));
    }
    ns[0] = bench_now() - begun;
    drain_timeline(s);
}

/* As frames do: wait for what was signaled before, signal the next. */
static void frame_turn(void *state, bench_side side, double ns[])
{
    timeline_state *s = state;
    const raw_cuda *cu = s->b->rig.cu;
    CUstream stream = s->b->rig.stream;
    uint64_t value = s->timeline.value;
    double begun;
    if (is_culvert(s, side)) {
        culv_semaphore *semaphore = s->timeline.culvert;
        begun = bench_now();
        for (int i = 0; i < CALLS; i++) {
            CULV_OK_OR_EXIT(culv_semaphore_wait(semaphore, stream, value));
            CULV_OK_OR_EXIT(culv_semaphore_signal(semaphore, stream, ++value));
        }
    } else {
        CUexternalSemaphore semaphore = raw_of(s, side);
        begun = bench_now();
        for (int i = 0; i < CALLS; i++) {
            RIG_CU(raw_wait(cu, semaphore, value, stream));
            RIG_CU(raw_signal(cu, semaphore, ++value, stream));
        }
    }
    ns[0] = bench_now() - begun;
    s->timeline.value = value;
    drain_timeline(s);
}

/* A wait holds the stream until Vulkan's host signals; a signal arrives at Vulkan. */
static void check_timeline(timeline_state *s, bench_side side)
{
    rig *r = &s->b->rig;
    uint64_t awaited = s->timeline.value + 1, signaled = s->timeline.value + 2;
    s->timeline.value = signaled;
    if (is_culvert(s, side)) {
        CULV_OK_OR_EXIT(culv_semaphore_wait(s->timeline.culvert, r->stream, awaited));
        CULV_OK_OR_EXIT(culv_semaphore_signal(s->timeline.culvert, r->stream, signaled));
    } else {
        RIG_CU(raw_wait(r->cu, raw_of(s, side), awaited, r->stream));
        RIG_CU(raw_signal(r->cu, raw_of(s, side), signaled, r->stream));
    }
    raw_cuda_require(__FILE__, __LINE__, "a stream that waits", r->cu->StreamQuery(r->stream),
                     CUDA_ERROR_NOT_READY);
    raw_vk_timeline_signal(&r->vk, s->timeline.vk, awaited);
    REQUIRE(raw_vk_timeline_wait(&r->vk, s->timeline.vk, signaled, 10000));
    drain_timeline(s);
    bench_checked(s->b);
}

static void compare(timeline_state *s, const char *name, bench_turn turn, double goal)
{
    bench_series series;
    bench_begin(s->b, &series,
                (bench_setup){.kind = s->control ? BENCH_CONTROL : BENCH_PAIR,
                              .turn = turn,
                              .state = s,
                              .num_phases = 1,
                              .calls = CALLS});
    bench_row(s->b, &series, (bench_row_desc){.name = name, .phases = 1, .goal = goal});
    bench_end(&series);
}

void measure_timeline(bench *b)
{
    for (int control = 0; control < 2; control++) {
        timeline_state s = {.b = b, .control = control != 0};
        rig_timeline_open(&b->rig, &s.timeline);
        bench_variant(b, "%s", control ? "control" : "");
        check_timeline(&s, BENCH_CULVERT);
        check_timeline(&s, BENCH_RAW);
        compare(&s, "signal + wait", frame_turn, control ? 0.0 : GOAL_SIGNAL_WAIT);
        if (!control) {
            compare(&s, "signal", signal_turn, 0.0);
            compare(&s, "wait", wait_turn, 0.0);
        }
        REQUIRE_EQ(raw_vk_timeline_value(&b->rig.vk, s.timeline.vk), s.timeline.value);
        check_timeline(&s, BENCH_CULVERT);
        check_timeline(&s, BENCH_RAW);
        rig_timeline_close(&b->rig, &s.timeline);
    }
}

/* Whether Culvert allocates in the frame path: all calls of its that a frame makes, with every
 * allocation of the process counted. */

enum { FRAME_BYTES = 4096, SIDE = 64, FRAME_QUEUE = 0 };

typedef struct frames_state {
    bench *b;
    raw_vk_buffer vk;
    culv_memory *import;
    culv_buffer *buffer;
    culv_shared_image *image;    /* made by Culvert, as is the timeline below */
    culv_shared_semaphore *made; /* signaled in one batch with cuda_done */
    rig_timeline cuda_done, vulkan_done;
} frames_state;

/* All barriers there are. */
static void barriers(const frames_state *s)
{
    culv_vk_buffer_transfer buffer = culv_vk_buffer_transfer_init();
    culv_vk_image_transfer image = culv_vk_image_transfer_init();
    VkBufferMemoryBarrier2 buffer_barrier2;
    VkImageMemoryBarrier2 image_barrier2;
    buffer.buffer = s->vk.buffer;
    image.image = culv_vk_image_handle(s->image);
    image.use = CULV_VK_USE_SAMPLED;
    buffer.queue_family = image.queue_family = FRAME_QUEUE;
    CULV_OK_OR_EXIT(culv_vk_buffer_get_barrier2(&buffer, CULV_VK_ACQUIRE, &buffer_barrier2));
    CULV_OK_OR_EXIT(culv_vk_buffer_get_barrier2(&buffer, CULV_VK_RELEASE, &buffer_barrier2));
    CULV_OK_OR_EXIT(culv_vk_image_get_barrier2(&image, CULV_VK_ACQUIRE, &image_barrier2));
    CULV_OK_OR_EXIT(culv_vk_image_get_barrier2(&image, CULV_VK_RELEASE, &image_barrier2));
}

static void one_frame(frames_state *s)
{
    const rig *r = &s->b->rig;
    uint64_t done = s->vulkan_done.value, next = ++s->cuda_done.value;
    const culv_semaphore_point waits[] = {{s->vulkan_done.culvert, done}};
    const culv_semaphore_point signals[] = {{s->cuda_done.culvert, next},
                                            {culv_shared_semaphore_cuda(s->made), next}};
    CUsurfObject surface = 0;
    CULV_OK_OR_EXIT(culv_semaphore_wait(s->vulkan_done.culvert, r->stream, done));
    CULV_OK_OR_EXIT(culv_semaphore_wait_batch(waits, 1, r->stream));
    CULV_OK_OR_EXIT(culv_image_get_surface(culv_shared_image_cuda(s->image), 0, 0, &surface));
    RIG_CU(r->cu->MemsetD32Async(culv_buffer_pointer(s->buffer), (uint32_t)next,
                                 (size_t)(culv_buffer_size(s->buffer) / 4), r->stream));
    CULV_OK_OR_EXIT(culv_semaphore_signal_batch(signals, 2, r->stream));
    s->cuda_done.value = ++next;
    CULV_OK_OR_EXIT(culv_semaphore_signal(s->cuda_done.culvert, r->stream, next));
    barriers(s);
    VK_OK(submit(r->vk.queues[FRAME_QUEUE].queue, VK_NULL_HANDLE, s->cuda_done.vk, next,
                 s->vulkan_done.vk, ++s->vulkan_done.value));
    culv_semaphore_mark_value(s->vulkan_done.culvert, s->vulkan_done.value);
    REQUIRE_EQ(culv_semaphore_last_value(s->cuda_done.culvert), next);
}

static void open_frames(frames_state *s)
{
    rig *r = &s->b->rig;
    raw_vk_buffer_create(&r->vk, FRAME_BYTES, RAW_VK_EXPORT, &s->vk);
    culv_vk_memory_desc memory = culv_vk_memory_desc_init();
    memory.memory = s->vk.memory;
    memory.allocation_size = s->vk.allocation_size;
    CULV_OK_OR_EXIT(culv_vk_memory_import(r->attached, &memory, &s->import));
    const VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                    .imageType = VK_IMAGE_TYPE_2D,
                                    .format = VK_FORMAT_R8G8B8A8_UNORM,
                                    .extent = {SIDE, SIDE, 1},
                                    .mipLevels = 1,
                                    .arrayLayers = 1,
                                    .samples = VK_SAMPLE_COUNT_1_BIT,
                                    .tiling = VK_IMAGE_TILING_OPTIMAL,
                                    .usage =
                                        VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_STORAGE_BIT};
    culv_vk_image_create_desc image = culv_vk_image_create_desc_init();
    image.create_info = &info;
    CULV_OK_OR_EXIT(culv_vk_image_create(r->attached, &image, &s->image));
    CULV_OK_OR_EXIT(culv_vk_semaphore_create(r->attached, NULL, &s->made));
    rig_timeline_open(r, &s->cuda_done);
    rig_timeline_open(r, &s->vulkan_done);
}

static void close_frames(frames_state *s)
{
    rig *r = &s->b->rig;
    REQUIRE(raw_vk_timeline_wait(&r->vk, s->vulkan_done.vk, s->vulkan_done.value, 10000));
    RIG_CU(r->cu->StreamSynchronize(r->stream));
    culv_buffer_unmap(&s->buffer, NULL);
    culv_memory_destroy(&s->import);
    culv_shared_image_destroy(&s->image, NULL);
    culv_shared_semaphore_destroy(&s->made, NULL);
    rig_timeline_close(r, &s->vulkan_done);
    rig_timeline_close(r, &s->cuda_done);
    raw_vk_buffer_destroy(&r->vk, &s->vk);
}

report_frames count_frames(bench *b, uint64_t frames)
{
    frames_state s = {.b = b};
    report_frames counted = {.counted = allocations_can_be_counted(), .frames = frames};
    open_frames(&s);

    /* Mapping allocates, by Culvert's own hand: the counter sees what it is to see. */
    allocations_begin();
    CULV_OK_OR_EXIT(culv_buffer_map(s.import, NULL, &s.buffer));
    counted.control = allocations_end().culvert;
    if (counted.counted && counted.control == 0)
        FAIL(
            "culv_buffer_map() allocates, but no allocation of Culvert's was seen: the counter is blind");

    allocations_begin();
    for (uint64_t i = 0; i < frames; i++) {
        one_frame(&s);
        /* Not too far ahead of the GPU; the raw driver's call. */
        if (i % 16 == 15) RIG_CU(b->rig.cu->StreamSynchronize(b->rig.stream));
    }
    allocation_counts counts = allocations_end();
    counted.culvert = counts.culvert;
    counted.others = counts.others;
    close_frames(&s);
    return counted;
}
