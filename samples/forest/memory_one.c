/* SPDX-License-Identifier: MIT */
/* forest's memory with one address: CUDA builds the tree where Vulkan walks it. What to copy. */
#include "memory.h"

/* Addresses for everything; memory comes with the parts. */
static bool create(memory *m, culv_kernels *kernels)
{
    (void)kernels;
    const uint64_t bytes[3] = {m->sizes.particles, m->sizes.nodes, m->sizes.picture};
    uint64_t at[3];
    culv_vk_space_desc desc = culv_vk_space_desc_init();
    desc.size = memory_bytes(&m->sizes);
    desc.queue = m->vulkan->queue;
    desc.label = "forest";
    if (!culv_ok(culv_vk_space_create(m->attached, &desc, &m->space), "culv_vk_space_create") ||
        !culv_ok(culv_vk_space_commit(m->space, 0, culv_vk_space_size(m->space), NULL),
                 "culv_vk_space_commit"))
        return false;
    for (int i = 0; i < 3; i++) {
        culv_vk_space_buffer_desc part = culv_vk_space_buffer_desc_init();
        part.size = bytes[i];
        part.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
        if (!culv_ok(culv_vk_space_buffer_create(m->space, &part, &m->parts[i]),
                     "culv_vk_space_buffer_create"))
            return false;
        at[i] = culv_vk_space_buffer_pointer(m->parts[i]); /* CUDA's, and Vulkan's too */
    }
    m->built = (memory_places){at[0], at[1], at[2]};
    m->shown = m->seen = m->built;
    return true;
}

static void destroy(memory *m)
{
    for (int i = 0; i < 3; i++)
        culv_vk_space_buffer_destroy(&m->parts[i]);
    culv_vk_space_destroy(&m->space);
}

/* It is there already. */
static bool hand_over(memory *m, CUstream stream)
{
    (void)m;
    (void)stream;
    return true;
}

/* The timelines order the two sides; within Vulkan a barrier makes the data visible. */
static void record(VkCommandBuffer commands, VkPipelineStageFlags2 from, VkAccessFlags2 written,
                   VkPipelineStageFlags2 to, VkAccessFlags2 used)
{
    VkMemoryBarrier2 barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                                .srcStageMask = from,
                                .srcAccessMask = written,
                                .dstStageMask = to,
                                .dstAccessMask = used};
    VkDependencyInfo dependency = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .memoryBarrierCount = 1,
                                   .pMemoryBarriers = &barrier};
    vkCmdPipelineBarrier2(commands, &dependency);
}

static bool record_acquire(memory *m, VkCommandBuffer commands)
{
    (void)m;
    record(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, VK_ACCESS_2_MEMORY_WRITE_BIT,
           VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
           VK_ACCESS_2_SHADER_STORAGE_READ_BIT | VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT);
    return true;
}

static bool record_release(memory *m, VkCommandBuffer commands)
{
    (void)m;
    record(commands, VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT, VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT,
           VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, VK_ACCESS_2_MEMORY_READ_BIT);
    return true;
}

const memory_mode memory_one = {.name = "one",
                                .one_address = true,
                                .create = create,
                                .destroy = destroy,
                                .hand_over = hand_over,
                                .record_acquire = record_acquire,
                                .record_release = record_release};
