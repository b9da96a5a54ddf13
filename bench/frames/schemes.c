/* SPDX-License-Identifier: MIT */
/* The schemes that are written by hand with the drivers' own calls, and either side alone. */
#include "frames.h"

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

/* The same by culv_ring: every frame in order, at a fixed depth and burst or at those that the ring
 * chooses. */

static void make(run *r, culv_ring **out)
{
    const rig *gpu = &r->b->bench.rig;
    culv_ring_settings settings = culv_ring_settings_init();
    settings.burst = r->c->burst;
    settings.max_latency = r->c->max_latency;
    if (r->c->tuning.solver_late) settings.cuda_waits = CULV_RING_WAITS_SIGNAL_FIRST;
    culv_vk_ring_resource slots = {.buffers = r->b->slots,
                                   .use = CULV_VK_USE_STORAGE_READ,
                                   .stage = VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT};
    culv_vk_ring_desc desc = culv_vk_ring_desc_init();
    desc.queue_family = 0;
    desc.max_depth = r->c->depth;
    desc.settings = &settings;
    desc.resources = &slots;
    desc.num_resources = 1;
    if (r->c->tuning.renderer_late) desc.waits = CULV_RING_WAITS_SIGNAL_FIRST;
    CULV_OK_OR_EXIT(culv_vk_ring_create(gpu->attached, gpu->vk.queues[0].queue, &desc, out));
}

static void order(const run *r, CUstream stream, CUstream other, CUevent event)
{
    const rig *gpu = &r->b->bench.rig;
    if (r->c->tuning.streams == BY_CULVERT) {
        CULV_OK_OR_EXIT(culv_stream_wait_stream(gpu->device, stream, other));
    } else {
        RIG_CU(gpu->cu->EventRecord(event, other));
        RIG_CU(gpu->cu->StreamWaitEvent(stream, event, 0));
    }
}

/* A frame; returns whether a burst ended with it. */
static bool produce(run *r, uint32_t *produced)
{
    const ring_run *own = r->own;
    culv_ring *ring = own->ring;
    CUstream stream = r->b->bench.rig.stream;
    culv_ring_frame frame;
    CULV_OK_OR_EXIT(
        culv_ring_acquire_on(ring, CULV_RING_PRODUCER, stream, CULV_RING_FOREVER, &frame));
    if (own->second != NULL) order(r, own->second, stream, own->events[0]);
    run_launch(r, own->second != NULL ? own->second : stream, frame.slot, *produced);
    if (own->second != NULL) order(r, stream, own->second, own->events[1]);
    CULV_OK_OR_EXIT(culv_ring_release_on(ring, CULV_RING_PRODUCER, stream, &frame));
    ++*produced;
    return frame.burst_ends != 0;
}

static bool is_recorded(const run *r)
{
    return r->c->max_latency == 0 && r->c->frames <= r->b->renderer.num_frames;
}

static void ring_prepare(run *r)
{
    static ring_run own; /* one run at a time */
    own = (ring_run){.ring = NULL};
    make(r, &own.ring);
    if (r->c->tuning.streams != ONE_STREAM) {
        const raw_cuda *cu = r->b->bench.rig.cu;
        RIG_CU(cu->StreamCreate(&own.second, CU_STREAM_NON_BLOCKING));
        for (int i = 0; i < 2; i++)
            RIG_CU(cu->EventCreate(&own.events[i], CU_EVENT_DISABLE_TIMING));
    }
    r->own = &own;
    if (is_recorded(r)) run_record(r);
}

/* Where the ring chooses the slots, or there are more frames than command buffers, they are
 * recorded when the slot is known: the one of so many frames before is done, since the ring lets
 * nobody go so far ahead. */
static VkCommandBuffer commands_of(run *r, const culv_ring *ring, const culv_ring_frame *frame,
                                   uint32_t n)
{
    uint32_t recorded = r->b->renderer.num_frames;
    if (r->c->max_latency == 0) REQUIRE_EQ(frame->slot, n % r->c->depth);
    if (is_recorded(r)) return r->commands[n];
    if (n != 0 && n % recorded == 0) {
        raw_vk_idle(&r->b->bench.rig.vk); /* validation does not see that */
        run_tell(r, n);
    }
    return renderer_record(
        &r->b->renderer,
        &(renderer_job){.frame = n % recorded,
                        .untimed = n >= recorded,
                        .slot = frame->slot,
                        .number = r->base + n,
                        .iterations = r->w->renderer_iterations,
                        .acquire = culv_vk_ring_barriers(ring, frame->slot, CULV_VK_ACQUIRE),
                        .release = culv_vk_ring_barriers(ring, frame->slot, CULV_VK_RELEASE)});
}

static void consume(run *r, culv_ring *ring, uint32_t n)
{
    culv_ring_frame frame;
    CULV_OK_OR_EXIT(culv_ring_acquire(ring, CULV_RING_CONSUMER, CULV_RING_FOREVER, &frame));
    CULV_OK_OR_EXIT(culv_vk_ring_submit(ring, r->b->bench.rig.vk.queues[0].queue,
                                        commands_of(r, ring, &frame, n), VK_NULL_HANDLE, &frame));
}

/* One thread for both sides: a burst of the one, a burst of the other. Where the renderer's turn
 * waits on the host, it is a burst behind, so that the solver has work meanwhile. */
static void ring_go(run *r)
{
    const ring_run *own = r->own;
    culv_ring *ring = own->ring;
    const rig *gpu = &r->b->bench.rig;
    uint32_t produced = 0, consumed = 0;
    const uint32_t behind =
        r->c->tuning.renderer_late && r->c->depth >= 2 * r->c->burst ? r->c->burst : 0;
    bool settling = r->c->settle != 0;
    while (produced < r->c->frames) {
        bool ended = false;
        if (settling && produced >= r->c->settle) {
            CULV_OK_OR_EXIT(culv_ring_drain(ring, CULV_RING_FOREVER, 0));
            run_begins(r, produced);
            settling = false;
        }
        while (!ended && produced < r->c->frames)
            ended = produce(r, &produced);
        if (!ended) CULV_OK_OR_EXIT(culv_ring_flush_on(ring, CULV_RING_PRODUCER, gpu->stream));
        while (consumed + (produced < r->c->frames ? behind : 0) < produced)
            consume(r, ring, consumed++);
        /* The renderer's burst may be longer than the solver's while the ring changes its mind. */
        if (r->c->max_latency != 0 || !ended)
            CULV_OK_OR_EXIT(culv_ring_flush(ring, CULV_RING_CONSUMER, NULL));
    }
    run_issued(r);
    CULV_OK_OR_EXIT(culv_ring_drain(ring, CULV_RING_FOREVER, 0));
}

void ring_finish(run *r)
{
    ring_run *own = r->own;
    culv_ring_stats stats = culv_ring_stats_init();
    CULV_OK_OR_EXIT(culv_ring_get_stats(own->ring, &stats));
    r->chosen = (ring_choice){.depth = stats.depth, .burst = stats.burst};
    REQUIRE_EQ(stats.produced, r->c->frames);
    REQUIRE_EQ(stats.consumed, r->c->frames);
    REQUIRE_EQ(stats.skipped, 0);
    culv_ring_destroy(&own->ring, NULL);
    if (own->second == NULL) return;
    for (int i = 0; i < 2; i++)
        RIG_CU(r->b->bench.rig.cu->EventDestroy(own->events[i]));
    RIG_CU(r->b->bench.rig.cu->StreamDestroy(own->second));
}

const scheme scheme_ring = {.name = "culv_ring",
                            .prepare = ring_prepare,
                            .go = ring_go,
                            .finish = ring_finish,
                            .endless = true};

/* Frames that go the other way: Vulkan draws, and writes a frame; CUDA reads it, works, and checks
 * every word. What either side takes alone is measured as in the other direction. */

/* The host waits ------------------------------------------------------------------------------- */

static void go_back_host_waits(run *r)
{
    const rig *gpu = &r->b->bench.rig;
    VkQueue queue = gpu->vk.queues[0].queue;
    for (uint32_t n = 0; n < r->c->frames; n++) {
        const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                   .commandBufferCount = 1,
                                   .pCommandBuffers = &r->commands[n]};
        VK_OK(vkQueueSubmit(queue, 1, &info, VK_NULL_HANDLE));
        VK_OK(vkQueueWaitIdle(queue));
        run_launch(r, gpu->stream, 0, n);
        RIG_CU(gpu->cu->StreamSynchronize(gpu->stream));
    }
    run_issued(r);
}

const scheme scheme_back_host_waits = {
    .name = "host waits", .prepare = run_record, .go = go_back_host_waits};

/* A ring --------------------------------------------------------------------------------------- */

static void make_back(run *r, culv_ring **out)
{
    const rig *gpu = &r->b->bench.rig;
    culv_ring_settings settings = culv_ring_settings_init();
    if (r->c->tuning.solver_late) settings.cuda_waits = CULV_RING_WAITS_SIGNAL_FIRST;
    culv_vk_ring_resource slots = {.buffers = r->b->slots,
                                   .use = CULV_VK_USE_STORAGE,
                                   .stage = VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT |
                                            VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT};
    culv_vk_ring_desc desc = culv_vk_ring_desc_init();
    desc.side = CULV_RING_PRODUCER;
    desc.queue_family = 0;
    desc.max_depth = r->c->depth;
    desc.settings = &settings;
    desc.resources = &slots;
    desc.num_resources = 1;
    if (r->c->tuning.renderer_late) desc.waits = CULV_RING_WAITS_SIGNAL_FIRST;
    CULV_OK_OR_EXIT(culv_vk_ring_create(gpu->attached, gpu->vk.queues[0].queue, &desc, out));
}

static void prepare_ring(run *r)
{
    static ring_run own; /* one run at a time */
    own = (ring_run){.ring = NULL};
    make_back(r, &own.ring);
    r->own = &own;
    run_record(r);
}

static void draw(run *r, culv_ring *ring, uint32_t n)
{
    culv_ring_frame frame;
    CULV_OK_OR_EXIT(culv_ring_acquire(ring, CULV_RING_PRODUCER, CULV_RING_FOREVER, &frame));
    REQUIRE_EQ(frame.slot, n % r->c->depth);
    CULV_OK_OR_EXIT(culv_vk_ring_submit(ring, r->b->bench.rig.vk.queues[0].queue, r->commands[n],
                                        VK_NULL_HANDLE, &frame));
}

static void solve(run *r, culv_ring *ring, uint32_t n)
{
    CUstream stream = r->b->bench.rig.stream;
    culv_ring_frame frame;
    CULV_OK_OR_EXIT(
        culv_ring_acquire_on(ring, CULV_RING_CONSUMER, stream, CULV_RING_FOREVER, &frame));
    run_launch(r, stream, frame.slot, n);
    CULV_OK_OR_EXIT(culv_ring_release_on(ring, CULV_RING_CONSUMER, stream, &frame));
}

/* One thread for both sides. Where CUDA's turn waits on the host, it is a frame behind, so that the
 * renderer has work meanwhile. */
static void go_ring(run *r)
{
    culv_ring *ring = ((const ring_run *)r->own)->ring;
    const uint32_t behind = r->c->tuning.solver_late && r->c->depth > 1 ? 1 : 0;
    uint32_t consumed = 0;
    for (uint32_t n = 0; n < r->c->frames; n++) {
        draw(r, ring, n);
        while (consumed + (n + 1 < r->c->frames ? behind : 0) <= n)
            solve(r, ring, consumed++);
    }
    run_issued(r);
    CULV_OK_OR_EXIT(culv_ring_drain(ring, CULV_RING_FOREVER, 0));
}

const scheme scheme_back_ring = {
    .name = "culv_ring", .prepare = prepare_ring, .go = go_ring, .finish = ring_finish};

/* In the queue --------------------------------------------------------------------------------- */

static const char *no_kernels(const run *r)
{
    return r->b->queue_solver.there ? NULL : "the device has no VK_NVX_binary_import";
}

static void kernel_last(void *state, VkCommandBuffer commands, uint32_t slot, uint32_t frame)
{
    const run *r = state;
    const frames_bench *b = r->b;
    culv_vk_buffer_transfer transfer = culv_vk_buffer_transfer_init();
    VkBufferMemoryBarrier2 barrier;
    transfer.buffer = b->buffers[slot];
    transfer.queue_family = CULV_VK_QUEUE_FAMILY_KERNEL;
    transfer.use = CULV_VK_USE_STORAGE;
    transfer.stage = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT;
    CULV_OK_OR_EXIT(culv_vk_buffer_get_barrier2(&transfer, CULV_VK_RELEASE, &barrier));
    const VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .bufferMemoryBarrierCount = 1,
                                   .pBufferMemoryBarriers = &barrier};
    const solver_job job = {.frame = b->addresses[slot],
                            .vectors = (uint32_t)(r->w->bytes / 16),
                            .number = r->base + frame,
                            .iterations = r->w->solver_iterations,
                            .log = queue_solver_log_of(&b->queue_solver, frame),
                            .logged = b->solver.logged};
    vkCmdPipelineBarrier2(commands, &info);
    if (frame == 0) reader_record_begin(&b->reader, commands);
    reader_record(&b->reader, commands, 0, &job);
}

/* Everything before is over already: the command buffer begins so. */
static void prepare_in_queue(run *r)
{
    static const VkMemoryBarrier2 memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                                            .srcStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
                                            .dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
    static const VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                          .memoryBarrierCount = 1,
                                          .pMemoryBarriers = &memory};
    frames_bench *b = r->b;
    for (uint32_t n = 0; n < r->c->frames; n++)
        renderer_record(&b->renderer, &(renderer_job){.frame = n,
                                                      .slot = n % r->c->depth,
                                                      .number = r->base + n,
                                                      .writes = true,
                                                      .iterations = r->w->renderer_iterations,
                                                      .acquire = &info,
                                                      .stays = true,
                                                      .last = kernel_last,
                                                      .state = r});
    r->commands = b->renderer.commands;
}

static void go_in_queue(run *r)
{
    VkQueue queue = r->b->bench.rig.vk.queues[0].queue;
    for (uint32_t n = 0; n < r->c->frames; n++) {
        const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                   .commandBufferCount = 1,
                                   .pCommandBuffers = &r->commands[n]};
        VK_OK(vkQueueSubmit(queue, 1, &info, VK_NULL_HANDLE));
    }
    run_issued(r);
    VK_OK(vkQueueWaitIdle(queue));
}

static void finish_in_queue(run *r)
{
    queue_solver_release_log(&r->b->queue_solver, 0);
}

const scheme scheme_back_in_queue = {.name = "in-queue",
                                     .obstacle = no_kernels,
                                     .prepare = prepare_in_queue,
                                     .go = go_in_queue,
                                     .finish = finish_in_queue,
                                     .in_queue = true};
