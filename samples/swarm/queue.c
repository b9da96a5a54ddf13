/* SPDX-License-Identifier: MIT */
/* See queue.h. */
#include "queue.h"

#include <string.h>

#include "../common/report.h"

#define ANY_STAGE  VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT
#define ANY_ACCESS (VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT)

static bool create_commands(queue *q)
{
    VkDevice device = q->particles->vulkan->device;
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                    .queueFamilyIndex = q->family};
    if (!vk_ok(vkCreateCommandPool(device, &pool, NULL, &q->pool), "vkCreateCommandPool"))
        return false;
    VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandPool = q->pool,
                                        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                        .commandBufferCount = SOLVER_FRAMES_IN_FLIGHT};
    return vk_ok(vkAllocateCommandBuffers(device, &info, q->commands), "vkAllocateCommandBuffers");
}

bool queue_create(queue *q, solver *s, particles *p, bool async)
{
    const vulkan_setup *v = p->vulkan;
    *q = (queue){.solver = s,
                 .particles = p,
                 .async = async,
                 .family = async ? v->compute_family : v->queue_family,
                 .queue = async ? v->compute_queue : v->queue};
    s->queue = q;
    VkQueryPoolCreateInfo times = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                   .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                   .queryCount = 2 * SOLVER_FRAMES_IN_FLIGHT};
    return culv_ok(culv_vk_kernels_create(p->attached, s->loaded, &q->kernels),
                   "culv_vk_kernels_create") &&
           (!async || create_commands(q)) &&
           (v->timestamp_bits == 0 ||
            vk_ok(vkCreateQueryPool(v->device, &times, NULL, &q->times), "vkCreateQueryPool"));
}

void queue_destroy(queue *q)
{
    if (!q->particles) return;
    VkDevice device = q->particles->vulkan->device;
    culv_vk_kernels_destroy(&q->kernels);
    vkDestroyCommandPool(device, q->pool, NULL);
    vkDestroyQueryPool(device, q->times, NULL);
    q->solver->queue = NULL;
    memset(q, 0, sizeof *q);
}

/* Barriers ------------------------------------------------------------------------------------- */

static bool between_families(const queue *q)
{
    return q->family != q->particles->vulkan->queue_family;
}

static void record_barriers(const queue *q, VkCommandBuffer commands, size_t first, size_t end)
{
    VkDependencyInfo dependency = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .bufferMemoryBarrierCount = (uint32_t)(end - first),
                                   .pBufferMemoryBarriers = q->particles->barriers + first};
    vkCmdPipelineBarrier2(commands, &dependency);
}

/* Which half of a barrier between two families a queue has. */
typedef enum half { WHOLE, RELEASING, ACQUIRING } half;

/* RELEASE: the drawing comes first, then the kernels; ACQUIRE: the kernels come first. */
static bool record_barrier(const queue *q, VkCommandBuffer commands, culv_vk_direction direction,
                           half which)
{
    particles *p = q->particles;
    uint32_t drawing = p->vulkan->queue_family;
    bool to_kernels = direction == CULV_VK_RELEASE;
    for (size_t i = 0; i < q->owned; i++) {
        VkBufferMemoryBarrier2 *barrier = &p->barriers[i];
        culv_vk_buffer_transfer transfer = culv_vk_buffer_transfer_init();
        transfer.buffer = p->parts[i].buffer;
        transfer.queue_family = CULV_VK_QUEUE_FAMILY_KERNEL;
        transfer.use = CULV_VK_USE_VERTEX_BUFFER;
        transfer.stage = VK_PIPELINE_STAGE_2_VERTEX_ATTRIBUTE_INPUT_BIT;
        if (!culv_ok(culv_vk_buffer_get_barrier2(&transfer, direction, barrier),
                     "culv_vk_buffer_get_barrier2"))
            return false;
        if (which == WHOLE) continue;
        barrier->srcQueueFamilyIndex = to_kernels ? drawing : q->family;
        barrier->dstQueueFamilyIndex = to_kernels ? q->family : drawing;
        if (which == RELEASING) {
            barrier->dstStageMask = ANY_STAGE;
            barrier->dstAccessMask = 0;
        } else {
            barrier->srcStageMask = ANY_STAGE;
            barrier->srcAccessMask = 0;
        }
    }
    if (q->owned > 0) record_barriers(q, commands, 0, q->owned);
    return true;
}

/* From CUDA, whose memory new chunks are, and to it after the last frame. */
static bool hand_over(queue *q, VkCommandBuffer commands, culv_vk_direction direction)
{
    particles *p = q->particles;
    size_t first = direction == CULV_VK_ACQUIRE ? q->owned : 0;
    for (size_t i = first; i < p->num_parts; i++) {
        culv_vk_buffer_transfer transfer = culv_vk_buffer_transfer_init();
        transfer.buffer = p->parts[i].buffer;
        transfer.queue_family = q->family;
        transfer.use = CULV_VK_USE_STORAGE;
        transfer.stage = ANY_STAGE;
        transfer.access = ANY_ACCESS;
        if (!culv_ok(culv_vk_buffer_get_barrier2(&transfer, direction, &p->barriers[i]),
                     "culv_vk_buffer_get_barrier2"))
            return false;
    }
    if (first < p->num_parts) record_barriers(q, commands, first, p->num_parts);
    q->owned = direction == CULV_VK_ACQUIRE ? p->num_parts : 0;
    return true;
}

/* The solver's side ---------------------------------------------------------------------------- */

bool queue_launch(queue *q, const culv_kernel_call *call)
{
    VkMemoryBarrier2 between;
    if (!culv_ok(culv_vk_kernel_get_barrier2(&between), "culv_vk_kernel_get_barrier2"))
        return false;
    VkDependencyInfo dependency = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .memoryBarrierCount = 1,
                                   .pMemoryBarriers = &between};
    vkCmdPipelineBarrier2(q->recording, &dependency);
    return culv_ok(culv_vk_kernel_call_record(q->kernels, call, q->recording, q->family),
                   "culv_vk_kernel_call_record");
}

static bool record_kernels(queue *q, VkCommandBuffer commands, uint64_t frame)
{
    uint32_t query = 2 * (uint32_t)(frame % SOLVER_FRAMES_IN_FLIGHT);
    if (!hand_over(q, commands, CULV_VK_ACQUIRE)) return false;
    if (q->times) {
        vkCmdResetQueryPool(commands, q->times, query, 2);
        vkCmdWriteTimestamp2(commands, ANY_STAGE, q->times, query);
    }
    q->recording = commands;
    bool fine = solver_launch(q->solver, q->particles, frame);
    q->recording = VK_NULL_HANDLE;
    if (q->times) vkCmdWriteTimestamp2(commands, ANY_STAGE, q->times, query + 1);
    return fine;
}

bool queue_frame(queue *q, uint64_t frame)
{
    if (!q->async) return true;
    VkCommandBuffer commands = q->commands[frame % SOLVER_FRAMES_IN_FLIGHT];
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                      .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    bool families = between_families(q);
    if (!vk_ok(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer") ||
        (families && !record_barrier(q, commands, CULV_VK_RELEASE, ACQUIRING)) ||
        !record_kernels(q, commands, frame) ||
        (families && !record_barrier(q, commands, CULV_VK_ACQUIRE, RELEASING)) ||
        !vk_ok(vkEndCommandBuffer(commands), "vkEndCommandBuffer"))
        return false;
    VkSemaphoreSubmitInfo wait =
        vulkan_submit_point(culv_vk_semaphore_handle(q->particles->drawn), frame, ANY_STAGE);
    VkSemaphoreSubmitInfo signal =
        vulkan_submit_point(culv_vk_semaphore_handle(q->particles->ready), frame + 1, ANY_STAGE);
    return vulkan_submit(q->queue, commands, frame > 0 ? &wait : NULL, &signal, VK_NULL_HANDLE);
}

/* The drawing's side --------------------------------------------------------------------------- */

bool queue_record(queue *q, VkCommandBuffer commands, uint64_t frame)
{
    return q->async || record_kernels(q, commands, frame);
}

bool queue_record_acquire(queue *q, VkCommandBuffer commands)
{
    return record_barrier(q, commands, CULV_VK_ACQUIRE, between_families(q) ? ACQUIRING : WHOLE);
}

bool queue_record_release(queue *q, VkCommandBuffer commands)
{
    return record_barrier(q, commands, CULV_VK_RELEASE, between_families(q) ? RELEASING : WHOLE);
}

/* Afterwards ----------------------------------------------------------------------------------- */

bool queue_frame_time(const queue *q, uint64_t frame, float *milliseconds)
{
    double time = vulkan_elapsed_ms(q->particles->vulkan, q->times,
                                    2 * (uint32_t)(frame % SOLVER_FRAMES_IN_FLIGHT));
    *milliseconds = time < 0.0 ? 0.0f : (float)time;
    return true;
}

bool queue_give_back(queue *q)
{
    const vulkan_setup *v = q->particles->vulkan;
    vulkan_once once;
    if (!q->owned) return true;
    if (!vk_ok(vkDeviceWaitIdle(v->device), "vkDeviceWaitIdle")) return false;
    bool fine =
        vulkan_once_begin_on(v, q->family, q->queue, &once) &&
        (!between_families(q) || record_barrier(q, once.commands, CULV_VK_RELEASE, ACQUIRING)) &&
        hand_over(q, once.commands, CULV_VK_RELEASE);
    return vulkan_once_end(v, &once, fine);
}
