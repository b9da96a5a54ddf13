/* SPDX-License-Identifier: MIT */
/* The round trip where a frame only needs copying: CUDA to a copy by Vulkan to CUDA, on the queue
 * family that Culvert picks for copies and on the one for graphics; by a ring of one slot and its
 * recorded copy, and by hand. */
#include "frame_words.h"
#include "sections.h"

#include <stdio.h>

enum { TRIPS = 16 };

static const uint64_t copied = UINT64_C(64) << 10;

typedef struct copies_state {
    frames_bench *b;
    uint32_t family;
    culv_vk_ring *ring;
    rig_timeline ready, done; /* the raw side's */
    raw_vk_buffer to;         /* on the host */
    VkCommandPool pool;
    VkCommandBuffer commands[BENCH_SIDES];
} copies_state;

static void raw_trip(copies_state *s)
{
    const rig *r = &s->b->bench.rig;
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait = {0};
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal = {0};
    wait.params.fence.value = s->done.value;
    signal.params.fence.value = ++s->ready.value;
    RIG_CU(r->cu->WaitExternalSemaphoresAsync(&s->done.raw[0], &wait, 1, r->stream));
    RIG_CU(r->cu->SignalExternalSemaphoresAsync(&s->ready.raw[0], &signal, 1, r->stream));
    const VkSemaphoreSubmitInfo waits = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                         .semaphore = s->ready.vk,
                                         .value = s->ready.value,
                                         .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
    const VkSemaphoreSubmitInfo signals = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                           .semaphore = s->done.vk,
                                           .value = ++s->done.value,
                                           .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
    const VkCommandBufferSubmitInfo buffer = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                              .commandBuffer = s->commands[BENCH_RAW]};
    const VkSubmitInfo2 info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                                .waitSemaphoreInfoCount = 1,
                                .pWaitSemaphoreInfos = &waits,
                                .commandBufferInfoCount = 1,
                                .pCommandBufferInfos = &buffer,
                                .signalSemaphoreInfoCount = 1,
                                .pSignalSemaphoreInfos = &signals};
    VK_OK(vkQueueSubmit2(r->vk.queues[s->family].queue, 1, &info, VK_NULL_HANDLE));
}

static void ring_trip(copies_state *s)
{
    const rig *r = &s->b->bench.rig;
    culv_ring *core = culv_vk_ring_core(s->ring);
    culv_ring_frame frame;
    culv_vk_ring_frame copy;
    CULV_OK_OR_EXIT(
        culv_ring_acquire_on(core, CULV_RING_PRODUCER, r->stream, CULV_RING_FOREVER, &frame));
    CULV_OK_OR_EXIT(culv_ring_release_on(core, CULV_RING_PRODUCER, r->stream, &frame));
    CULV_OK_OR_EXIT(culv_vk_ring_acquire(s->ring, CULV_RING_FOREVER, &copy));
    CULV_OK_OR_EXIT(culv_vk_ring_submit(s->ring, r->vk.queues[s->family].queue,
                                        s->commands[BENCH_CULVERT], VK_NULL_HANDLE, &copy));
}

static void idle(copies_state *s)
{
    const rig *r = &s->b->bench.rig;
    VK_OK(vkQueueWaitIdle(r->vk.queues[s->family].queue));
    RIG_CU(r->cu->StreamSynchronize(r->stream));
}

static void turn(void *state, bench_side side, double ns[])
{
    copies_state *s = state;
    double begun = bench_now();
    for (int i = 0; i < TRIPS; i++)
        if (side == BENCH_CULVERT)
            ring_trip(s);
        else
            raw_trip(s);
    idle(s);
    ns[0] = bench_now() - begun;
}

/* The solver writes a frame, the copy lands on the host, word for word. */
static void check(copies_state *s, bench_side side)
{
    frames_bench *b = s->b;
    uint32_t number = b->next_number++, wrong = 0;
    const volatile uint32_t *words = s->to.mapped;
    idle(s);
    solver_launch(&b->solver, b->bench.rig.stream,
                  solver_job_of(&b->solver, b->pointers[0], copied, number, 0, SOLVER_NO_LOG));
    if (side == BENCH_CULVERT)
        ring_trip(s);
    else
        raw_trip(s);
    idle(s);
    for (uint32_t at = 0; at < copied / 4; at++)
        wrong += words[at] != FRAME_WORD(number, at);
    REQUIRE_EQ(wrong, 0);
    bench_checked(&b->bench);
}

static void record(copies_state *s)
{
    const rig *r = &s->b->bench.rig;
    const VkCommandBufferAllocateInfo info = {.sType =
                                                  VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = s->pool,
                                              .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                              .commandBufferCount = BENCH_SIDES};
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                            .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT};
    VkBufferMemoryBarrier2 barrier = {.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER_2,
                                      .srcStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
                                      .dstStageMask = VK_PIPELINE_STAGE_2_COPY_BIT,
                                      .dstAccessMask = VK_ACCESS_2_TRANSFER_READ_BIT,
                                      .srcQueueFamilyIndex = VK_QUEUE_FAMILY_EXTERNAL,
                                      .dstQueueFamilyIndex = s->family,
                                      .buffer = s->b->buffers[0],
                                      .size = VK_WHOLE_SIZE};
    const VkDependencyInfo dependency = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                         .bufferMemoryBarrierCount = 1,
                                         .pBufferMemoryBarriers = &barrier};
    /* The copies of one trip and the next land in the same place. */
    const VkMemoryBarrier2 again = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
        .srcStageMask = VK_PIPELINE_STAGE_2_COPY_BIT,
        .srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT,
        .dstStageMask = VK_PIPELINE_STAGE_2_COPY_BIT | VK_PIPELINE_STAGE_2_HOST_BIT,
        .dstAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT | VK_ACCESS_2_HOST_READ_BIT};
    const VkDependencyInfo after = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                    .memoryBarrierCount = 1,
                                    .pMemoryBarriers = &again};
    const VkBufferCopy region = {.size = copied};
    VK_OK(vkAllocateCommandBuffers(r->vk.device, &info, s->commands));
    VK_OK(vkBeginCommandBuffer(s->commands[BENCH_RAW], &begin));
    vkCmdPipelineBarrier2(s->commands[BENCH_RAW], &dependency);
    vkCmdCopyBuffer(s->commands[BENCH_RAW], s->b->buffers[0], s->to.buffer, 1, &region);
    barrier.srcStageMask = VK_PIPELINE_STAGE_2_COPY_BIT;
    barrier.dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
    barrier.dstAccessMask = 0;
    barrier.srcQueueFamilyIndex = s->family;
    barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_EXTERNAL;
    vkCmdPipelineBarrier2(s->commands[BENCH_RAW], &dependency);
    vkCmdPipelineBarrier2(s->commands[BENCH_RAW], &after);
    VK_OK(vkEndCommandBuffer(s->commands[BENCH_RAW]));

    VK_OK(vkBeginCommandBuffer(s->commands[BENCH_CULVERT], &begin));
    CULV_OK_OR_EXIT(culv_vk_ring_record_copy(s->ring, s->commands[BENCH_CULVERT], 0, 0,
                                             s->to.buffer, 0, copied));
    vkCmdPipelineBarrier2(s->commands[BENCH_CULVERT], &after);
    VK_OK(vkEndCommandBuffer(s->commands[BENCH_CULVERT]));
}

static void compare(copies_state *s, const char *name)
{
    rig *r = &s->b->bench.rig;
    bench_series series;
    culv_vk_ring_resource slots = {.buffers = s->b->slots, .use = CULV_VK_USE_TRANSFER_SRC};
    culv_vk_ring_desc desc = culv_vk_ring_desc_init();
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .queueFamilyIndex = s->family};
    desc.max_depth = 1;
    desc.resources = &slots;
    desc.num_resources = 1;
    desc.queue_family = s->family;
    VK_OK(vkCreateCommandPool(r->vk.device, &pool, NULL, &s->pool));
    CULV_OK_OR_EXIT(
        culv_vk_ring_create(r->attached, r->vk.queues[s->family].queue, &desc, &s->ring));
    record(s);
    bench_variant(&s->b->bench, "%s (queue family %u), copy of 64 KiB", name, (unsigned)s->family);
    check(s, BENCH_RAW);
    check(s, BENCH_CULVERT);
    bench_begin(&s->b->bench, &series,
                (bench_setup){.turn = turn, .state = s, .num_phases = 1, .calls = TRIPS});
    bench_row(&s->b->bench, &series, (bench_row_desc){.name = "round trip", .phases = 1});
    bench_end(&series);
    check(s, BENCH_RAW);
    check(s, BENCH_CULVERT);
    culv_vk_ring_destroy(&s->ring);
    vkDestroyCommandPool(r->vk.device, s->pool, NULL);
}

void section_copies(frames_bench *b, const options *o, results *all)
{
    rig *r = &b->bench.rig;
    copies_state s = {.b = b};
    uint32_t copy = 0;
    (void)o, (void)all;
    REQUIRE(frames_slots(b, 1, copied));
    raw_vk_buffer_create(&r->vk, copied, RAW_VK_HOST, &s.to);
    rig_timeline_open(r, &s.ready);
    rig_timeline_open(r, &s.done);
    CULV_OK_OR_EXIT(culv_vk_find_queue_family(vkGetInstanceProcAddr, r->vk.instance, r->vk.physical,
                                              CULV_VK_QUEUE_COPY, &copy));
    if (b->bench.text != NULL)
        fprintf(b->bench.text, "\n%-26s %30s %30s %10s   %s\n", "", "Culvert", "raw calls", "added",
                "ratio (95 % interval)");
    compare(&s, "graphics");
    s.family = copy;
    if (copy != 0)
        compare(&s, "the family for copies");
    else
        bench_left_out(&b->bench, "no queue family for copies alone");
    rig_timeline_close(r, &s.done);
    rig_timeline_close(r, &s.ready);
    raw_vk_buffer_destroy(&r->vk, &s.to);
}
