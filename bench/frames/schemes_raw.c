/* SPDX-License-Identifier: MIT */
/* The schemes that are written by hand with the drivers' own calls, and either side alone. */
#include "schemes.h"

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
    return r->b->bench.rig.vk.queues[0].queue;
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

/* run::own */
typedef struct raw_ring {
    uint64_t ready, done; /* the timelines' values before the run */
    uint64_t done_seen;   /* a counter that was read, so that it is not asked for again */
} raw_ring;

static void prepare(run *r)
{
    static raw_ring ring; /* one run at a time */
    ring = (raw_ring){r->b->ready.value, r->b->done.value, r->b->done.value};
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
    for (uint32_t i = 0; i < count; i++)
        buffers[i] =
            (VkCommandBufferSubmitInfo){.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                        .commandBuffer = r->commands[first + i]};
    const VkSubmitInfo2 info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                                .waitSemaphoreInfoCount = 1,
                                .pWaitSemaphoreInfos = &waits,
                                .commandBufferInfoCount = count,
                                .pCommandBufferInfos = buffers,
                                .signalSemaphoreInfoCount = 1,
                                .pSignalSemaphoreInfos = &signals};
    VK_OK(vkQueueSubmit2(queue_of(r), 1, &info, VK_NULL_HANDLE));
}

/* The value of `done` that says that the frames before `end` are drawn. */
static uint64_t drawn(const run *r, uint32_t end)
{
    const raw_ring *ring = r->own;
    return ring->done + (end + r->c->burst - 1) / r->c->burst;
}

/* Waits only where a look at the counter does not do. */
static void reach_done(run *r, uint64_t value)
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
    CUstream stream = r->b->bench.rig.stream;
    uint32_t end = first + count;
    if (end > r->c->depth) {
        if (r->c->tuning.solver_late)
            reach_done(r, drawn(r, end - r->c->depth));
        else
            RIG_CU(wait_for_done(r, drawn(r, end - r->c->depth), stream));
    }
    for (uint32_t n = first; n < end; n++)
        run_launch(r, stream, n % r->c->depth, n);
    RIG_CU(signal_ready(r, ++r->b->ready.value, stream));
}

static void go(run *r)
{
    const config *c = r->c;
    const raw_ring *ring = r->own;
    const uint32_t lead = FRAMES_LEAD * c->depth;
    /* A renderer that is late is so by one burst: with slots enough, the solver works meanwhile. */
    uint32_t behind = c->tuning.renderer_late && c->depth >= 2 * c->burst ? c->burst : 0,
             drawing = 0;
    for (uint32_t first = 0; first < c->frames + behind; first += c->burst) {
        uint32_t count = c->frames - first < c->burst ? c->frames - first : c->burst;
        if (first < c->frames) {
            if (first + count > lead) reach_done(r, drawn(r, first + count - lead));
            launch_burst(r, first, count);
        }
        if (first < behind) continue;
        count = c->frames - drawing < c->burst ? c->frames - drawing : c->burst;
        const uint64_t ready = ring->ready + drawing / c->burst + 1;
        if (c->tuning.renderer_late) wait_on_host(r, r->b->ready.vk, ready);
        submit_burst(r, drawing, count, ready, ++r->b->done.value);
        drawing += count;
        if (c->tuning.host_waits) wait_on_host(r, r->b->done.vk, r->b->done.value);
    }
    run_issued(r);
    wait_on_host(r, r->b->done.vk, r->b->done.value);
    RIG_CU(r->b->bench.rig.cu->StreamSynchronize(r->b->bench.rig.stream));
}

const scheme scheme_raw = {.name = "raw ring", .prepare = prepare, .go = go};
