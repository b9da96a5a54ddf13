/* SPDX-License-Identifier: MIT */
/* ripple's paths without a switch between CUDA and Vulkan: the solver's kernels are launched by
 * Vulkan's command buffers (culvert/vulkan_kernel.h), so all that is exchanged stays in Vulkan.
 *
 *   in-queue  they are in the drawing's command buffer. One buffer does: the kernels that fill it
 *             come after the last frame's drawing by a barrier.
 *   async     they have command buffers of their own, on the compute queue. While a frame is drawn
 *             from one buffer, the next one is computed into the other. Two timelines order them,
 *             as on the shared path. */
#include <stdlib.h>
#include <string.h>

#include "exchange.h"

enum { MOST_BUFFERS = 2 };

typedef struct queued {
    culv_shared_buffer *cells[MOST_BUFFERS];
    vulkan_image tint[MOST_BUFFERS];
    /* Of async: */
    VkCommandPool pool;
    VkCommandBuffer *commands; /* in_flight */
} queued;

/* A VkBuffer with an address for kernels, and a VkImage with a handle for them. */
static bool make_buffer(exchange *e, queued *q, uint32_t i)
{
    exchange_buffer *both = &e->buffers[i];
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = e->cells_size,
                               .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
    culv_vk_buffer_create_desc desc = culv_vk_buffer_create_desc_init();
    desc.create_info = &info;
    desc.label = "cells";
    if (!culv_ok(culv_vk_buffer_create(e->attached, &desc, &q->cells[i]),
                 "culv_vk_buffer_create") ||
        !vulkan_image_create(e->vulkan, EXCHANGE_TINT_FORMAT, e->grid, VK_SAMPLE_COUNT_1_BIT,
                             VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_STORAGE_BIT,
                             VK_IMAGE_ASPECT_COLOR_BIT, &q->tint[i]))
        return false;
    both->cells = culv_vk_buffer_handle(q->cells[i]);
    both->cuda_cells = culv_shared_buffer_pointer(q->cells[i]);
    both->cells_address = culv_vk_buffer_address(q->cells[i]);
    both->tint = q->tint[i].image;
    return culv_ok(
        culv_vk_get_view_handle(e->attached, q->tint[i].view, VK_NULL_HANDLE, &both->tint_handle),
        "culv_vk_get_view_handle");
}

static bool create(exchange *e)
{
    queued *q = e->own = calloc(1, sizeof *q);
    if (!q || !interop_attach(e->vulkan, e->device, false, &e->attached)) return false;
    e->solver_family = e->vulkan->queue_family;
    e->solver_queue = e->vulkan->queue;
    for (uint32_t i = 0; i < e->num_buffers; i++) {
        if (!make_buffer(e, q, i)) return false;
    }
    return true;
}

static bool create_async(exchange *e)
{
    if (!create(e)) return false;
    queued *q = e->own;
    e->solver_family = e->vulkan->compute_family;
    e->solver_queue = e->vulkan->compute_queue;
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                    .queueFamilyIndex = e->solver_family};
    if (!VK_MADE(vkCreateCommandPool(e->vulkan->device, &pool, NULL, &q->pool),
                 "vkCreateCommandPool", &q->pool))
        return false;
    q->commands = calloc(e->flow.in_flight, sizeof(VkCommandBuffer));
    VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandPool = q->pool,
                                        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                        .commandBufferCount = e->flow.in_flight};
    return q->commands &&
           vk_ok(vkAllocateCommandBuffers(e->vulkan->device, &info, q->commands),
                 "vkAllocateCommandBuffers") &&
           vulkan_timeline_create(e->vulkan, &e->ready) &&
           vulkan_timeline_create(e->vulkan, &e->drawn);
}

static void destroy(exchange *e)
{
    queued *q = e->own;
    if (!q) return;
    VkDevice device = e->vulkan->device;
    vkDestroySemaphore(device, e->ready, NULL);
    vkDestroySemaphore(device, e->drawn, NULL);
    vkDestroyCommandPool(device, q->pool, NULL);
    for (uint32_t i = 0; i < MOST_BUFFERS; i++) {
        culv_shared_buffer_destroy(&q->cells[i], NULL);
        vulkan_image_destroy(e->vulkan, &q->tint[i]);
    }
    culv_vk_detach(&e->attached);
    free(q->commands);
    free(q);
}

/* Barriers ------------------------------------------------------------------------------------- */

typedef struct barriers {
    VkBufferMemoryBarrier2 cells;
    VkImageMemoryBarrier2 tint;
} barriers;

/* RELEASE: the drawing comes first, then the kernels, which write all of both. ACQUIRE: the kernels
 * come first. */
static bool get_barriers(exchange *e, uint64_t frame, culv_vk_direction direction, barriers *out)
{
    const exchange_buffer *of = exchange_buffer_of(e, frame);
    culv_vk_buffer_transfer cells = culv_vk_buffer_transfer_init();
    culv_vk_image_transfer tint = culv_vk_image_transfer_init();
    cells.buffer = of->cells;
    cells.queue_family = tint.queue_family = CULV_VK_QUEUE_FAMILY_KERNEL;
    cells.use = CULV_VK_USE_STORAGE_READ;
    cells.stage = EXCHANGE_READING_STAGES;
    tint.image = of->tint;
    tint.use = CULV_VK_USE_SAMPLED;
    tint.stage = VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT;
    tint.discard = direction == CULV_VK_RELEASE;
    return culv_ok(culv_vk_buffer_get_barrier2(&cells, direction, &out->cells),
                   "culv_vk_buffer_get_barrier2") &&
           culv_ok(culv_vk_image_get_barrier2(&tint, direction, &out->tint),
                   "culv_vk_image_get_barrier2");
}

static void record(VkCommandBuffer commands, const barriers *b)
{
    VkDependencyInfo dependency = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .bufferMemoryBarrierCount = 1,
                                   .pBufferMemoryBarriers = &b->cells,
                                   .imageMemoryBarrierCount = 1,
                                   .pImageMemoryBarriers = &b->tint};
    vkCmdPipelineBarrier2(commands, &dependency);
}

/* In the drawing's command buffer */

static bool hand_over(exchange *e, VkCommandBuffer commands, uint64_t frame,
                      culv_vk_direction direction)
{
    barriers b;
    if (!get_barriers(e, frame, direction, &b)) return false;
    record(commands, &b);
    return true;
}

static bool record_fill(exchange *e, VkCommandBuffer commands, uint64_t frame)
{
    return hand_over(e, commands, frame, CULV_VK_RELEASE);
}

static bool record_filled(exchange *e, VkCommandBuffer commands, uint64_t frame)
{
    return hand_over(e, commands, frame, CULV_VK_ACQUIRE);
}

static bool record_solver(exchange *e, VkCommandBuffer commands, uint64_t frame)
{
    return e->recorder.record(e->recorder.solver, commands, frame);
}

static bool draw(exchange *e, uint64_t frame, const exchange_submission *s, bool *fenced)
{
    (void)frame; /* the queue orders them */
    *fenced = true;
    return exchange_submit(e, s, 0, NULL, 0, NULL);
}

const exchange_path path_in_queue = {.name = "in-queue",
                                     .in_queue = true,
                                     .create = create,
                                     .destroy = destroy,
                                     .record_solver = record_solver,
                                     .record_fill = record_fill,
                                     .record_filled = record_filled,
                                     .draw = draw};

/* On the compute queue */

static bool between_families(const exchange *e)
{
    return e->solver_family != e->vulkan->queue_family;
}

/* The wait for `drawn` comes before. What was there is not needed, so no family hands it over. */
static bool record_fill_async(exchange *e, VkCommandBuffer commands, uint64_t frame)
{
    barriers b;
    if (!get_barriers(e, frame, CULV_VK_RELEASE, &b)) return false;
    /* The compute queue has no stages that draw. */
    b.cells.srcStageMask = b.tint.srcStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
    record(commands, &b);
    return true;
}

/* Another family gets what the kernels wrote: one half of that is recorded on either queue. In one
 * family the drawing's barrier does all of it. */
static bool record_filled_async(exchange *e, VkCommandBuffer commands, uint64_t frame)
{
    barriers b;
    if (!between_families(e)) return true;
    if (!get_barriers(e, frame, CULV_VK_ACQUIRE, &b)) return false;
    b.cells.srcQueueFamilyIndex = b.tint.srcQueueFamilyIndex = e->solver_family;
    b.cells.dstQueueFamilyIndex = b.tint.dstQueueFamilyIndex = e->vulkan->queue_family;
    b.cells.dstStageMask = b.tint.dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
    b.cells.dstAccessMask = b.tint.dstAccessMask = 0;
    record(commands, &b);
    return true;
}

static bool record_acquire_async(exchange *e, VkCommandBuffer commands, uint64_t frame)
{
    barriers b;
    if (!get_barriers(e, frame, CULV_VK_ACQUIRE, &b)) return false;
    if (between_families(e)) {
        b.cells.srcQueueFamilyIndex = b.tint.srcQueueFamilyIndex = e->solver_family;
        b.cells.dstQueueFamilyIndex = b.tint.dstQueueFamilyIndex = e->vulkan->queue_family;
        b.cells.srcAccessMask = b.tint.srcAccessMask = 0;
    }
    record(commands, &b);
    return true;
}

static bool solve(exchange *e, uint64_t frame)
{
    const queued *q = e->own;
    VkCommandBuffer commands = q->commands[frame % e->flow.in_flight];
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                      .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    if (!vk_ok(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer") ||
        !e->recorder.record(e->recorder.solver, commands, frame) ||
        !vk_ok(vkEndCommandBuffer(commands), "vkEndCommandBuffer"))
        return false;
    bool waits = frame >= e->num_buffers; /* else nobody has drawn from it yet */
    VkSemaphoreSubmitInfo wait = vulkan_submit_point(
        e->drawn, waits ? frame - e->num_buffers + 1 : 0, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
    VkSemaphoreSubmitInfo signal =
        vulkan_submit_point(e->ready, frame + 1, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
    return vulkan_submit(e->solver_queue, commands, waits ? &wait : NULL, &signal, VK_NULL_HANDLE);
}

static void unblock_async(exchange *e, uint64_t end)
{
    vulkan_signal_up_to(e->vulkan, e->ready, end + 1);
    vulkan_signal_up_to(e->vulkan, e->drawn, end + 1);
}

const exchange_path path_async = {.name = "async",
                                  .in_queue = true,
                                  .create = create_async,
                                  .destroy = destroy,
                                  .solve = solve,
                                  .record_fill = record_fill_async,
                                  .record_filled = record_filled_async,
                                  .record_acquire = record_acquire_async,
                                  .unblock = unblock_async};
