/* SPDX-License-Identifier: MIT */
/* The schemes that are written by hand with the drivers' own calls, and either side alone. */
#include "schemes.h"

enum { BATCH = 16 };

static CUresult signal_ready(const run *r, uint64_t value, CUstream stream)
{
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS params = {0};
    params.params.fence.value = value;
    return r->b->bench.rig.cu->SignalExternalSemaphoresAsync(&r->b->ready.raw[0], &params, 1,
                                                             stream);
}

static CUresult wait_for_done(const run *r, uint64_t value, CUstream stream)
{
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS params = {0};
    params.params.fence.value = value;
    return r->b->bench.rig.cu->WaitExternalSemaphoresAsync(&r->b->done.raw[0], &params, 1, stream);
}

static void wait_on_host(const run *r, VkSemaphore timeline, uint64_t value)
{
    const VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                      .semaphoreCount = 1,
                                      .pSemaphores = &timeline,
                                      .pValues = &value};
    VK_OK(vkWaitSemaphores(r->b->bench.rig.vk.device, &info, UINT64_MAX));
}

static VkQueue queue_of(const run *r)
{
    return r->b->bench.rig.vk.queues[r->c->tuning.family].queue;
}

/* One side alone ------------------------------------------------------------------------------- */

static void go_solver(run *r)
{
    const rig *gpu = &r->b->bench.rig;
    for (uint32_t n = 0; n < r->c->frames; n++)
        run_launch(r, gpu->stream, n % r->c->depth, n);
    run_issued(r);
    RIG_CU(gpu->cu->StreamSynchronize(gpu->stream));
}

static void go_renderer(run *r)
{
    renderer_alone(queue_of(r), r->commands, r->c->frames);
    run_issued(r);
}

const scheme scheme_solver_alone = {
    .name = "solver alone", .go = go_solver, .no_renderer = true, .unchecked = true};
const scheme scheme_renderer_alone = {.name = "renderer alone",
                                      .prepare = run_record,
                                      .go = go_renderer,
                                      .no_solver = true,
                                      .unchecked = true};

/* The host waits ------------------------------------------------------------------------------- */

static void go_host_waits(run *r)
{
    const rig *gpu = &r->b->bench.rig;
    for (uint32_t n = 0; n < r->c->frames; n++) {
        const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                   .commandBufferCount = 1,
                                   .pCommandBuffers = &r->commands[n]};
        run_launch(r, gpu->stream, 0, n);
        RIG_CU(gpu->cu->StreamSynchronize(gpu->stream));
        VK_OK(vkQueueSubmit(queue_of(r), 1, &info, VK_NULL_HANDLE));
        VK_OK(vkQueueWaitIdle(queue_of(r)));
    }
    run_issued(r);
}

const scheme scheme_host_waits = {.name = "host waits", .prepare = run_record, .go = go_host_waits};

/* A ring by hand ------------------------------------------------------------------------------- */

static void launch_burst(run *r, uint32_t first, uint32_t count);

void raw_prepare(run *r)
{
    static raw_ring ring; /* one run at a time */
    const rig *gpu = &r->b->bench.rig;
    ring = (raw_ring){gpu->stream, r->b->ready.value, r->b->done.value, r->b->done.value,
                      launch_burst};
    if (r->c->tuning.stream_priority != 0)
        ring.stream = frames_stream(r->b, r->c->tuning.stream_priority);
    run_record(r);
    r->own = &ring;
}

/* Frames first to first + count - 1: k command buffers that wait for the burst and signal its
 * end. */
static void submit_burst(run *r, uint32_t first, uint32_t count, uint64_t ready, uint64_t done)
{
    const VkSemaphoreSubmitInfo waits = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                         .semaphore = r->b->ready.vk,
                                         .value = ready,
                                         .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
    const VkSemaphoreSubmitInfo signals = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                           .semaphore = r->b->done.vk,
                                           .value = done,
                                           .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
    VkCommandBufferSubmitInfo buffers[CULV_RING_MAX_DEPTH];
    VkSubmitInfo2 infos[CULV_RING_MAX_DEPTH];
    bool one = r->c->tuning.submit == SUBMIT_ONE_INFO;
    uint32_t num_infos = one ? 1 : count;
    for (uint32_t i = 0; i < count; i++)
        buffers[i] =
            (VkCommandBufferSubmitInfo){.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                        .commandBuffer = r->commands[first + i]};
    for (uint32_t i = 0; i < num_infos; i++)
        infos[i] = (VkSubmitInfo2){.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                                   .waitSemaphoreInfoCount = i == 0 ? 1 : 0,
                                   .pWaitSemaphoreInfos = &waits,
                                   .commandBufferInfoCount = one ? count : 1,
                                   .pCommandBufferInfos = &buffers[i],
                                   .signalSemaphoreInfoCount = i + 1 == num_infos ? 1 : 0,
                                   .pSignalSemaphoreInfos = &signals};
    if (r->c->tuning.submit != SUBMIT_MANY_CALLS) {
        VK_OK(vkQueueSubmit2(queue_of(r), num_infos, infos, VK_NULL_HANDLE));
        return;
    }
    for (uint32_t i = 0; i < num_infos; i++)
        VK_OK(vkQueueSubmit2(queue_of(r), 1, &infos[i], VK_NULL_HANDLE));
}

/* The value of `done` that says that the frames before `end` are drawn. */
uint64_t raw_drawn(const run *r, uint32_t end)
{
    const raw_ring *ring = r->own;
    return ring->done + (end + r->c->burst - 1) / r->c->burst;
}

/* Waits only where a look at the counter does not do. */
void raw_reach_done(run *r, uint64_t value)
{
    raw_ring *ring = r->own;
    if (ring->done_seen >= value) return;
    VK_OK(vkGetSemaphoreCounterValue(r->b->bench.rig.vk.device, r->b->done.vk, &ring->done_seen));
    if (ring->done_seen >= value) return;
    wait_on_host(r, r->b->done.vk, value);
    ring->done_seen = value;
}

static void launch_burst(run *r, uint32_t first, uint32_t count)
{
    const raw_ring *ring = r->own;
    const tuning *t = &r->c->tuning;
    uint32_t end = first + count;
    if (end > r->c->depth) {
        if (t->solver_late)
            raw_reach_done(r, raw_drawn(r, end - r->c->depth));
        else
            RIG_CU(wait_for_done(r, raw_drawn(r, end - r->c->depth), ring->stream));
    }
    for (uint32_t n = first; n < end; n++) {
        run_launch(r, ring->stream, n % r->c->depth, n);
        if (t->each_signals || n + 1 == end)
            RIG_CU(signal_ready(r, ++r->b->ready.value, ring->stream));
    }
}

void raw_go(run *r)
{
    const rig *gpu = &r->b->bench.rig;
    const config *c = r->c;
    const raw_ring *ring = r->own;
    uint32_t lead = (c->tuning.lead != 0 ? c->tuning.lead : FRAMES_LEAD) * c->depth;
    /* A renderer that is late is so by one burst: with slots enough, the solver works meanwhile. */
    uint32_t behind = c->tuning.renderer_late && c->depth >= 2 * c->burst ? c->burst : 0,
             drawing = 0;
    for (uint32_t first = 0; first < c->frames + behind; first += c->burst) {
        uint32_t count = c->frames - first < c->burst ? c->frames - first : c->burst;
        if (first < c->frames) {
            if (first + count > lead) raw_reach_done(r, raw_drawn(r, first + count - lead));
            ring->launch(r, first, count);
        }
        if (first < behind) continue;
        count = c->frames - drawing < c->burst ? c->frames - drawing : c->burst;
        uint64_t ready =
            ring->ready + (c->tuning.each_signals ? drawing + count : drawing / c->burst + 1);
        if (c->tuning.renderer_late) wait_on_host(r, r->b->ready.vk, ready);
        submit_burst(r, drawing, count, ready, ++r->b->done.value);
        drawing += count;
        if (c->tuning.host_waits) wait_on_host(r, r->b->done.vk, r->b->done.value);
    }
    run_issued(r);
    wait_on_host(r, r->b->done.vk, r->b->done.value);
    RIG_CU(gpu->cu->StreamSynchronize(ring->stream));
}

void raw_finish(run *r)
{
    const raw_ring *ring = r->own;
    const rig *gpu = &r->b->bench.rig;
    if (ring->stream != gpu->stream) RIG_CU(gpu->cu->StreamDestroy(ring->stream));
}

static const char *obstacle_raw(const run *r)
{
    if (r->c->tuning.stream_priority == 0) return NULL;
    CUstream stream = frames_stream(r->b, r->c->tuning.stream_priority);
    if (stream == NULL) return "the driver has no stream priorities";
    RIG_CU(r->b->bench.rig.cu->StreamDestroy(stream));
    return NULL;
}

const scheme scheme_raw = {.name = "raw ring",
                           .obstacle = obstacle_raw,
                           .prepare = raw_prepare,
                           .go = raw_go,
                           .finish = raw_finish};
