/* SPDX-License-Identifier: MIT */
/* Frames that go the other way: Vulkan draws, and writes a frame; CUDA reads it, works, and checks
 * every word. What either side takes alone is measured as in the other direction. */
#include "schemes.h"

/* The host waits ------------------------------------------------------------------------------- */

static void go_host_waits(run *r)
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
    .name = "host waits", .prepare = run_record, .go = go_host_waits};

/* A ring --------------------------------------------------------------------------------------- */

static void make(run *r, culv_ring **out)
{
    const rig *gpu = &r->b->bench.rig;
    culv_ring_settings settings = culv_ring_settings_init();
    if (r->c->automatic) settings.way = CULV_RING_WAY_AUTO;
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
    make(r, &own.ring);
    r->own = &own;
    if (!r->c->automatic) run_record(r);
}

/* Where the ring chooses the slots, command buffers are recorded when the slot is known. */
static VkCommandBuffer commands_of(run *r, const culv_ring *ring, const culv_ring_frame *frame,
                                   uint32_t n)
{
    if (!r->c->automatic) {
        REQUIRE_EQ(frame->slot, n % r->c->depth);
        return r->commands[n];
    }
    return renderer_record(
        &r->b->renderer,
        &(renderer_job){.frame = n,
                        .slot = frame->slot,
                        .number = r->base + n,
                        .writes = true,
                        .iterations = r->w->renderer_iterations,
                        .acquire = culv_vk_ring_barriers(ring, frame->slot, CULV_VK_ACQUIRE),
                        .release = culv_vk_ring_barriers(ring, frame->slot, CULV_VK_RELEASE)});
}

static void draw(run *r, culv_ring *ring, uint32_t n)
{
    culv_ring_frame frame;
    CULV_OK_OR_EXIT(culv_ring_acquire(ring, CULV_RING_PRODUCER, CULV_RING_FOREVER, &frame));
    CULV_OK_OR_EXIT(culv_vk_ring_submit(ring, r->b->bench.rig.vk.queues[0].queue,
                                        commands_of(r, ring, &frame, n), VK_NULL_HANDLE, &frame));
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
    const ring_run *own = r->own;
    culv_ring *ring = own->ring;
    const uint32_t behind = r->c->tuning.solver_late && r->c->depth > 1 ? 1 : 0;
    uint32_t consumed = 0;
    for (uint32_t n = 0; n < r->c->frames; n++) {
        if (n != 0 && n == r->c->settle) {
            CULV_OK_OR_EXIT(culv_ring_drain(ring, CULV_RING_FOREVER, 0));
            run_begins(r, n);
        }
        draw(r, own->ring, n);
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
