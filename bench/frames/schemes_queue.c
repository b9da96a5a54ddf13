/* SPDX-License-Identifier: MIT */
/* The solver's kernels in Vulkan's own queues, where no switch between CUDA and Vulkan comes in
 * between: in the renderer's command buffer, with one slot, or on the compute queue beside the
 * renderer. By Culvert and by the raw calls, with the same submissions. */
#include "frames.h"

/* run::own */
typedef struct queue_run {
    bool async, raw;
    VkSemaphore ready, done;
} queue_run;

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static const char *obstacle(const run *r)
{
    return r->b->queue_solver.there ? NULL : "the device has no VK_NVX_binary_import";
}

static const queue_solver *solver_of(const run *r)
{
    return &r->b->queue_solver;
}

/* Barriers ------------------------------------------------------------------------------------- */

/* From the kernel to the fragments that read: as one would write it, and by Culvert. */
static VkBufferMemoryBarrier2 kernel_to_drawing(const run *r, uint32_t slot)
{
    const queue_run *own = r->own;
    VkBufferMemoryBarrier2 barrier = {.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER_2,
                                      .srcStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
                                      .srcAccessMask = VK_ACCESS_2_MEMORY_READ_BIT |
                                                       VK_ACCESS_2_MEMORY_WRITE_BIT,
                                      .dstStageMask = VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT,
                                      .dstAccessMask = VK_ACCESS_2_SHADER_STORAGE_READ_BIT,
                                      .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                      .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                      .buffer = r->b->buffers[slot],
                                      .size = VK_WHOLE_SIZE};
    if (own->raw) return barrier;
    culv_vk_buffer_transfer transfer = culv_vk_buffer_transfer_init();
    transfer.buffer = r->b->buffers[slot];
    transfer.queue_family = CULV_VK_QUEUE_FAMILY_KERNEL;
    transfer.use = CULV_VK_USE_STORAGE_READ;
    transfer.stage = VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT;
    CULV_OK_OR_EXIT(culv_vk_buffer_get_barrier2(&transfer, CULV_VK_ACQUIRE, &barrier));
    return barrier;
}

/* Between two families each queue has a half of it. */
static bool between_families(const run *r, VkBufferMemoryBarrier2 *barrier)
{
    if (solver_of(r)->family == 0) return false;
    barrier->srcQueueFamilyIndex = solver_of(r)->family;
    barrier->dstQueueFamilyIndex = 0;
    return true;
}

static VkDependencyInfo dependency(const VkBufferMemoryBarrier2 *barrier)
{
    return (VkDependencyInfo){.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                              .bufferMemoryBarrierCount = 1,
                              .pBufferMemoryBarriers = barrier};
}

/* Recording ------------------------------------------------------------------------------------ */

typedef struct chunk {
    run *run;
    uint32_t first; /* its frames are those from here on */
} chunk;

static void record_kernel(const chunk *c, VkCommandBuffer commands, uint32_t family, uint32_t slot,
                          uint32_t at)
{
    const run *r = c->run;
    const queue_run *own = r->own;
    const queue_solver *q = solver_of(r);
    const solver_job job = {.frame = r->b->addresses[slot],
                            .vectors = (uint32_t)(r->w->bytes / 16),
                            .number = r->base + c->first + at,
                            .iterations = r->w->solver_iterations,
                            .log = queue_solver_log_of(q, c->first == 0 ? at : SOLVER_NO_LOG),
                            .logged = q->solver->logged};
    if (own->raw)
        queue_solver_record_raw(q, commands, &job);
    else
        queue_solver_record(q, commands, family, &job);
}

/* The renderer's command buffer begins with a barrier that lets everything before end. */
static void kernel_first(void *state, VkCommandBuffer commands, uint32_t slot, uint32_t at)
{
    record_kernel(state, commands, 0, slot, at);
}

/* What was in the slot is not needed, so that no family hands it over. */
static void record_solver(const chunk *c, uint32_t slot, uint32_t at)
{
    const run *r = c->run;
    const queue_solver *q = solver_of(r);
    VkCommandBuffer commands = q->commands[at];
    VkBufferMemoryBarrier2 barrier = kernel_to_drawing(r, slot);
    const VkDependencyInfo info = dependency(&barrier);
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VK_OK(vkBeginCommandBuffer(commands, &begin));
    record_kernel(c, commands, q->family, slot, at);
    if (between_families(r, &barrier)) {
        barrier.dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
        barrier.dstAccessMask = 0;
        vkCmdPipelineBarrier2(commands, &info);
    }
    VK_OK(vkEndCommandBuffer(commands));
}

static uint32_t record_chunk(run *r, uint32_t first)
{
    frames_bench *b = r->b;
    const queue_run *own = r->own;
    uint32_t count = smaller(r->c->frames - first, b->renderer.num_frames);
    chunk c = {r, first};
    for (uint32_t at = 0; at < count; at++) {
        uint32_t slot = (first + at) % r->c->depth;
        VkBufferMemoryBarrier2 barrier = kernel_to_drawing(r, slot);
        const VkDependencyInfo info = dependency(&barrier);
        if (own->async) {
            record_solver(&c, slot, at);
            if (between_families(r, &barrier)) barrier.srcAccessMask = 0;
        }
        renderer_record(&b->renderer, &(renderer_job){.frame = at,
                                                      .slot = slot,
                                                      .buffer = b->buffers[slot],
                                                      .number = r->base + first + at,
                                                      .iterations = r->w->renderer_iterations,
                                                      .untimed = first != 0,
                                                      .acquire = &info,
                                                      .stays = true,
                                                      .first = own->async ? NULL : kernel_first,
                                                      .state = &c});
    }
    r->commands = b->renderer.commands;
    return count;
}

static void prepare(run *r, bool async, bool raw)
{
    static queue_run own; /* one run at a time */
    raw_vk *vk = &r->b->bench.rig.vk;
    own = (queue_run){.async = async, .raw = raw};
    own.ready = raw_vk_timeline(vk, 0, false);
    own.done = raw_vk_timeline(vk, 0, false);
    r->own = &own;
    record_chunk(r, 0);
}

static void prepare_in_queue(run *r)
{
    prepare(r, false, false);
}

static void prepare_raw_in_queue(run *r)
{
    prepare(r, false, true);
}

static void prepare_async(run *r)
{
    prepare(r, true, false);
}

static void prepare_raw_async(run *r)
{
    prepare(r, true, true);
}

/* Running -------------------------------------------------------------------------------------- */

/* A value of 0 stands for no semaphore. */
static void submit(const run *r, uint32_t family, VkCommandBuffer commands,
                   const VkSemaphoreSubmitInfo *wait, const VkSemaphoreSubmitInfo *signal)
{
    const VkCommandBufferSubmitInfo buffer = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                              .commandBuffer = commands};
    const VkSubmitInfo2 info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                                .waitSemaphoreInfoCount = wait->value != 0,
                                .pWaitSemaphoreInfos = wait,
                                .commandBufferInfoCount = 1,
                                .pCommandBufferInfos = &buffer,
                                .signalSemaphoreInfoCount = signal->value != 0,
                                .pSignalSemaphoreInfos = signal};
    VK_OK(vkQueueSubmit2(r->b->bench.rig.vk.queues[family].queue, 1, &info, VK_NULL_HANDLE));
}

static VkSemaphoreSubmitInfo point(VkSemaphore semaphore, uint64_t value)
{
    return (VkSemaphoreSubmitInfo){.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                   .semaphore = semaphore,
                                   .value = value,
                                   .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
}

static void run_frame(const run *r, uint32_t n, uint32_t at)
{
    const queue_run *own = r->own;
    VkSemaphoreSubmitInfo wait = point(own->ready, 0), signal = point(own->done, 0);
    if (own->async) {
        const VkSemaphoreSubmitInfo free_slot = point(own->done,
                                                      n >= r->c->depth ? n - r->c->depth + 1 : 0),
                                    solved = point(own->ready, n + 1);
        submit(r, solver_of(r)->family, solver_of(r)->commands[at], &free_slot, &solved);
        wait.value = signal.value = n + 1;
    }
    if (r->c->tuning.host_waits) signal.value = n + 1;
    submit(r, 0, r->commands[at], &wait, &signal);
    if (!r->c->tuning.host_waits) return;
    const uint64_t value = n + 1;
    const VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                      .semaphoreCount = 1,
                                      .pSemaphores = &own->done,
                                      .pValues = &value};
    VK_OK(vkWaitSemaphores(r->b->bench.rig.vk.device, &info, UINT64_MAX));
}

static void go(run *r)
{
    const raw_vk *vk = &r->b->bench.rig.vk;
    uint32_t count = smaller(r->c->frames, r->b->renderer.num_frames);
    for (uint32_t first = 0; first < r->c->frames; first += count) {
        if (first != 0) {
            VK_OK(vkQueueWaitIdle(vk->queues[0].queue)); /* the last drawing, and all before it */
            run_tell(r, first);
            count = record_chunk(r, first);
        }
        for (uint32_t at = 0; at < count; at++)
            run_frame(r, first + at, at);
    }
    run_issued(r);
    VK_OK(vkQueueWaitIdle(vk->queues[0].queue));
}

static void finish(run *r)
{
    const queue_run *own = r->own;
    raw_vk *vk = &r->b->bench.rig.vk;
    queue_solver_release_log(solver_of(r), own->async ? solver_of(r)->family : 0);
    raw_vk_timeline_destroy(vk, own->ready);
    raw_vk_timeline_destroy(vk, own->done);
}

#define QUEUE_SCHEME(name_, prepare_)                                                              \
    {                                                                                              \
        .name = (name_), .obstacle = obstacle, .prepare = (prepare_), .go = go, .finish = finish,  \
        .in_queue = true, .endless = true                                                          \
    }

const scheme scheme_in_queue = QUEUE_SCHEME("in-queue", prepare_in_queue);
const scheme scheme_raw_in_queue = QUEUE_SCHEME("raw in-queue", prepare_raw_in_queue);
const scheme scheme_async = QUEUE_SCHEME("async", prepare_async);
const scheme scheme_raw_async = QUEUE_SCHEME("raw async", prepare_raw_async);
