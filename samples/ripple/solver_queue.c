/* SPDX-License-Identifier: MIT */
/* See solver.h. */
#include "solver.h"

#include <string.h>

bool solver_queue_create(solver_queue *q, exchange *e, culv_kernels *loaded)
{
    q->exchange = e;
    VkQueryPoolCreateInfo times = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                   .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                   .queryCount = 2 * e->flow.in_flight};
    return culv_ok(culv_vk_kernels_create(e->attached, loaded, &q->kernels),
                   "culv_vk_kernels_create") &&
           (e->vulkan->timestamp_bits == 0 ||
            VK_MADE(vkCreateQueryPool(e->vulkan->device, &times, NULL, &q->times),
                    "vkCreateQueryPool", &q->times));
}

void solver_queue_destroy(solver_queue *q)
{
    if (!q->exchange) return;
    for (uint32_t i = 0; i < q->num_arrays; i++)
        culv_shared_buffer_destroy(&q->arrays[i], NULL);
    culv_vk_kernels_destroy(&q->kernels);
    vkDestroyQueryPool(q->exchange->vulkan->device, q->times, NULL);
    memset(q, 0, sizeof *q);
}

bool solver_queue_array(solver_queue *q, size_t bytes, solver_array *out)
{
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = bytes,
                               .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
    culv_vk_buffer_create_desc desc = culv_vk_buffer_create_desc_init();
    culv_shared_buffer **array = &q->arrays[q->num_arrays];
    desc.create_info = &info;
    desc.label = "state";
    if (!culv_ok(culv_vk_buffer_create(q->exchange->attached, &desc, array),
                 "culv_vk_buffer_create"))
        return false;
    q->num_arrays++;
    *out = (solver_array){culv_shared_buffer_pointer(*array), culv_vk_buffer_address(*array)};
    return true;
}

/* From CUDA, which filled the arrays, and to it. The host waits between the two. */
static bool hand_over(const solver_queue *q, VkCommandBuffer commands, culv_vk_direction direction)
{
    VkBufferMemoryBarrier2 barriers[SOLVER_QUEUE_ARRAYS];
    for (uint32_t i = 0; i < q->num_arrays; i++) {
        culv_vk_buffer_transfer transfer = culv_vk_buffer_transfer_init();
        transfer.buffer = culv_vk_buffer_handle(q->arrays[i]);
        transfer.queue_family = q->exchange->solver_family;
        transfer.use = CULV_VK_USE_STORAGE;
        transfer.stage = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
        transfer.access = VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT;
        if (!culv_ok(culv_vk_buffer_get_barrier2(&transfer, direction, &barriers[i]),
                     "culv_vk_buffer_get_barrier2"))
            return false;
    }
    VkDependencyInfo dependency = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .bufferMemoryBarrierCount = q->num_arrays,
                                   .pBufferMemoryBarriers = barriers};
    vkCmdPipelineBarrier2(commands, &dependency);
    return true;
}

bool solver_queue_begin(solver_queue *q, VkCommandBuffer commands, uint64_t frame)
{
    uint32_t query = 2 * (uint32_t)(frame % q->exchange->flow.in_flight);
    if (!q->acquired && !hand_over(q, commands, CULV_VK_ACQUIRE)) return false;
    q->acquired = true;
    if (!q->times) return true;
    vkCmdResetQueryPool(commands, q->times, query, 2);
    vkCmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, q->times, query);
    return true;
}

void solver_queue_end(solver_queue *q, VkCommandBuffer commands, uint64_t frame)
{
    uint32_t query = 2 * (uint32_t)(frame % q->exchange->flow.in_flight);
    if (q->times)
        vkCmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, q->times, query + 1);
}

bool solver_queue_launch(solver_queue *q, VkCommandBuffer commands, const culv_kernel_call *call)
{
    VkMemoryBarrier2 between;
    if (!culv_ok(culv_vk_kernel_get_barrier2(&between), "culv_vk_kernel_get_barrier2"))
        return false;
    VkDependencyInfo dependency = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .memoryBarrierCount = 1,
                                   .pMemoryBarriers = &between};
    vkCmdPipelineBarrier2(commands, &dependency);
    return culv_ok(
        culv_vk_kernel_call_record(q->kernels, call, commands, q->exchange->solver_family),
        "culv_vk_kernel_call_record");
}

double solver_queue_milliseconds(const solver_queue *q, uint64_t frame)
{
    return vulkan_elapsed_ms(q->exchange->vulkan, q->times,
                             2 * (uint32_t)(frame % q->exchange->flow.in_flight));
}

bool solver_queue_give_back(solver_queue *q)
{
    const exchange *e = q->exchange;
    vulkan_once once;
    if (!q->acquired) return true;
    q->acquired = false;
    bool fine = vulkan_once_begin(e->vulkan, e->solver_family, e->solver_queue, &once) &&
                hand_over(q, once.commands, CULV_VK_RELEASE);
    return vulkan_once_end(e->vulkan, &once, fine);
}
