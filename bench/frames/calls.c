/* SPDX-License-Identifier: MIT */
/* CPU time of a frame's calls: the producer's wait and signal, and the consumer's submission, by
 * Culvert's ring and by the drivers' own calls, without kernels and with command buffers that do
 * nothing but the barriers. As many frames as there are slots are submitted ahead, so that nothing
 * waits. */
#include "sections.h"

#include <stdio.h>

enum { DEPTH = 16 };

#define GOAL_CALLS 1.02

typedef struct calls_state {
    frames_bench *b;
    culv_vk_ring *ring;
    uint32_t burst;
    rig_timeline ready, done; /* the raw side's */
    VkCommandPool pool;
    VkCommandBuffer commands[BENCH_SIDES][DEPTH];
} calls_state;

static double cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static CUresult raw_wait_done(calls_state *s, uint64_t value)
{
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS params = {0};
    const rig *r = &s->b->bench.rig;
    params.params.fence.value = value;
    return r->cu->WaitExternalSemaphoresAsync(&s->done.raw[0], &params, 1, r->stream);
}

static CUresult raw_signal_ready(calls_state *s, uint64_t value)
{
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS params = {0};
    const rig *r = &s->b->bench.rig;
    params.params.fence.value = value;
    return r->cu->SignalExternalSemaphoresAsync(&s->ready.raw[0], &params, 1, r->stream);
}

static void raw_burst(calls_state *s, uint32_t first)
{
    const rig *r = &s->b->bench.rig;
    VkCommandBufferSubmitInfo buffers[DEPTH];
    RIG_CU(raw_wait_done(s, s->done.value));
    RIG_CU(raw_signal_ready(s, ++s->ready.value));
    const VkSemaphoreSubmitInfo waits = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                         .semaphore = s->ready.vk,
                                         .value = s->ready.value,
                                         .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
    const VkSemaphoreSubmitInfo signals = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                           .semaphore = s->done.vk,
                                           .value = ++s->done.value,
                                           .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
    for (uint32_t i = 0; i < s->burst; i++)
        buffers[i] =
            (VkCommandBufferSubmitInfo){.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                        .commandBuffer = s->commands[BENCH_RAW][first + i]};
    const VkSubmitInfo2 info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                                .waitSemaphoreInfoCount = 1,
                                .pWaitSemaphoreInfos = &waits,
                                .commandBufferInfoCount = s->burst,
                                .pCommandBufferInfos = buffers,
                                .signalSemaphoreInfoCount = 1,
                                .pSignalSemaphoreInfos = &signals};
    VK_OK(vkQueueSubmit2(r->vk.queues[0].queue, 1, &info, VK_NULL_HANDLE));
}

static void ring_burst(calls_state *s)
{
    const rig *r = &s->b->bench.rig;
    culv_ring *core = culv_vk_ring_core(s->ring);
    culv_ring_frame frame;
    culv_vk_ring_frame drawn;
    for (uint32_t i = 0; i < s->burst; i++) {
        CULV_OK_OR_EXIT(
            culv_ring_acquire_on(core, CULV_RING_PRODUCER, r->stream, CULV_RING_FOREVER, &frame));
        CULV_OK_OR_EXIT(culv_ring_release_on(core, CULV_RING_PRODUCER, r->stream, &frame));
    }
    for (uint32_t i = 0; i < s->burst; i++) {
        CULV_OK_OR_EXIT(culv_vk_ring_acquire(s->ring, CULV_RING_FOREVER, &drawn));
        CULV_OK_OR_EXIT(culv_vk_ring_submit(s->ring, r->vk.queues[0].queue,
                                            s->commands[BENCH_CULVERT][drawn.frame.slot],
                                            VK_NULL_HANDLE, &drawn));
    }
}

static void idle(calls_state *s)
{
    const rig *r = &s->b->bench.rig;
    RIG_CU(r->cu->StreamSynchronize(r->stream));
    VK_OK(vkQueueWaitIdle(r->vk.queues[0].queue));
}

static void turn(void *state, bench_side side, double ns[])
{
    calls_state *s = state;
    double begun = cpu_ns();
    for (uint32_t first = 0; first < DEPTH; first += s->burst)
        if (side == BENCH_CULVERT)
            ring_burst(s);
        else
            raw_burst(s, first);
    ns[0] = cpu_ns() - begun;
    idle(s);
}

static void record(calls_state *s, bench_side side)
{
    const rig *r = &s->b->bench.rig;
    const VkCommandBufferAllocateInfo info = {.sType =
                                                  VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = s->pool,
                                              .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                              .commandBufferCount = DEPTH};
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VK_OK(vkAllocateCommandBuffers(r->vk.device, &info, s->commands[side]));
    for (uint32_t i = 0; i < DEPTH; i++) {
        culv_vk_buffer_transfer transfer = culv_vk_buffer_transfer_init();
        VkBufferMemoryBarrier2 acquire, release;
        transfer.queue_family = 0;
        transfer.buffer = s->b->buffers[i];
        transfer.use = CULV_VK_USE_STORAGE_READ;
        CULV_OK_OR_EXIT(culv_vk_buffer_get_barrier2(&transfer, CULV_VK_ACQUIRE, &acquire));
        CULV_OK_OR_EXIT(culv_vk_buffer_get_barrier2(&transfer, CULV_VK_RELEASE, &release));
        VkDependencyInfo dependency = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                       .bufferMemoryBarrierCount = 1,
                                       .pBufferMemoryBarriers = &acquire};
        VK_OK(vkBeginCommandBuffer(s->commands[side][i], &begin));
        vkCmdPipelineBarrier2(s->commands[side][i], &dependency);
        dependency.pBufferMemoryBarriers = &release;
        vkCmdPipelineBarrier2(s->commands[side][i], &dependency);
        VK_OK(vkEndCommandBuffer(s->commands[side][i]));
    }
}

static void compare(calls_state *s)
{
    rig *r = &s->b->bench.rig;
    bench_series series;
    culv_ring_settings settings = culv_ring_settings_init();
    culv_vk_ring_resource slots = {.buffers = s->b->slots, .use = CULV_VK_USE_STORAGE_READ};
    culv_vk_ring_desc desc = culv_vk_ring_desc_init();
    desc.queue_family = 0;
    settings.burst = s->burst;
    desc.max_depth = DEPTH;
    desc.settings = &settings;
    desc.resources = &slots;
    desc.num_resources = 1;
    CULV_OK_OR_EXIT(culv_vk_ring_create(r->attached, r->vk.queues[0].queue, &desc, &s->ring));
    bench_variant(&s->b->bench, "burst %u", (unsigned)s->burst);
    bench_begin(&s->b->bench, &series,
                (bench_setup){.turn = turn, .state = s, .num_phases = 1, .calls = DEPTH});
    REQUIRE_EQ(raw_vk_timeline_value(&r->vk, s->done.vk), s->done.value);
    culv_ring_stats stats = culv_ring_stats_init();
    CULV_OK_OR_EXIT(culv_ring_get_stats(culv_vk_ring_core(s->ring), &stats));
    REQUIRE_EQ(raw_vk_timeline_value(&r->vk, culv_vk_ring_semaphore(s->ring, CULV_RING_CONSUMER)),
               stats.done_signaled);
    bench_checked(&s->b->bench);
    bench_row(&s->b->bench, &series,
              (bench_row_desc){.name = "CPU of a frame's calls", .phases = 1, .goal = GOAL_CALLS});
    bench_end(&series);
    CULV_OK_OR_EXIT(culv_ring_drain(culv_vk_ring_core(s->ring), CULV_RING_FOREVER, 0));
    culv_vk_ring_destroy(&s->ring);
}

void section_calls(frames_bench *b, const options *o, results *all)
{
    static const uint32_t bursts[] = {1, 4, 16};
    rig *r = &b->bench.rig;
    calls_state s = {.b = b};
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    (void)all;
    REQUIRE(frames_slots(b, DEPTH, UINT64_C(64) << 10));
    VK_OK(vkCreateCommandPool(r->vk.device, &pool, NULL, &s.pool));
    rig_timeline_open(r, &s.ready);
    rig_timeline_open(r, &s.done);
    record(&s, BENCH_CULVERT);
    record(&s, BENCH_RAW);
    if (b->bench.text != NULL)
        fprintf(b->bench.text, "\n%-26s %30s %30s %10s   %s\n", "", "Culvert", "raw calls", "added",
                "ratio (95 % interval)");
    for (size_t i = 0; i < (o->quick ? 2 : sizeof bursts / sizeof bursts[0]); i++) {
        s.burst = bursts[i];
        compare(&s);
    }
    idle(&s);
    rig_timeline_close(r, &s.done);
    rig_timeline_close(r, &s.ready);
    vkDestroyCommandPool(r->vk.device, s.pool, NULL);
}
