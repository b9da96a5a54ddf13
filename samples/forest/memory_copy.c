/* SPDX-License-Identifier: MIT */
/* forest's memory with two addresses: CUDA builds in memory of its own, and each frame copies the
 * particles and patches the nodes into a buffer that Vulkan has at another address. */
#include "memory.h"

#define BLOCK 256u

static bool create_shared(memory *m)
{
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = memory_bytes(&m->sizes),
                               .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                        VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT};
    culv_vk_buffer_create_desc desc = culv_vk_buffer_create_desc_init();
    desc.create_info = &info;
    desc.label = "forest";
    if (!culv_ok(culv_vk_buffer_create(m->attached, &desc, &m->shared), "culv_vk_buffer_create"))
        return false;
    VkBufferDeviceAddressInfo which = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                       .buffer = culv_vk_buffer_handle(m->shared)};
    m->shown = memory_places_at(&m->sizes, culv_shared_buffer_pointer(m->shared));
    m->seen = memory_places_at(&m->sizes, vkGetBufferDeviceAddress(m->vulkan->device, &which));
    return true;
}

static bool create(memory *m, culv_kernels *kernels)
{
    const memory_sizes own = {m->sizes.particles, m->sizes.nodes, 0};
    CUdeviceptr at = 0;
    if (!interop_kernel(kernels, "forest_patch", &m->patch) || !create_shared(m) ||
        !cuda_ok(m->cu, m->cu->cuMemAlloc(&at, memory_bytes(&own)), "cuMemAlloc"))
        return false;
    m->built = memory_places_at(&own, at);
    return true;
}

static void destroy(memory *m)
{
    if (m->built.particles) (void)m->cu->cuMemFree(m->built.particles);
    culv_shared_buffer_destroy(&m->shared);
}

static bool hand_over(memory *m, CUstream stream)
{
    CUdeviceptr to = m->shown.nodes, from = m->built.nodes;
    int count = (int)(m->sizes.nodes / sizeof(node));
    unsigned long long node_moves = m->seen.nodes - m->built.nodes;
    unsigned long long particle_moves = m->seen.particles - m->built.particles;
    void *parameters[] = {&to, &from, &count, &node_moves, &particle_moves};
    return cuda_ok(m->cu,
                   m->cu->cuMemcpyDtoDAsync(m->shown.particles, m->built.particles,
                                            m->sizes.particles, stream),
                   "cuMemcpyDtoDAsync") &&
           cuda_ok(m->cu,
                   m->cu->cuLaunchKernel(m->patch, ((uint32_t)count + BLOCK - 1) / BLOCK, 1, 1,
                                         BLOCK, 1, 1, 0, stream, parameters, NULL),
                   "cuLaunchKernel");
}

static bool record(memory *m, VkCommandBuffer commands, culv_vk_direction direction)
{
    VkBufferMemoryBarrier2 barrier;
    culv_vk_buffer_transfer transfer = culv_vk_buffer_transfer_init();
    transfer.buffer = culv_vk_buffer_handle(m->shared);
    transfer.queue_family = m->vulkan->queue_family;
    transfer.use = CULV_VK_USE_STORAGE;
    transfer.stage = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT;
    if (!culv_ok(culv_vk_buffer_get_barrier2(&transfer, direction, &barrier),
                 "culv_vk_buffer_get_barrier2"))
        return false;
    VkDependencyInfo dependency = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .bufferMemoryBarrierCount = 1,
                                   .pBufferMemoryBarriers = &barrier};
    vkCmdPipelineBarrier2(commands, &dependency);
    return true;
}

static bool record_acquire(memory *m, VkCommandBuffer commands)
{
    return record(m, commands, CULV_VK_ACQUIRE);
}

static bool record_release(memory *m, VkCommandBuffer commands)
{
    return record(m, commands, CULV_VK_RELEASE);
}

const memory_mode memory_copy = {.name = "copy",
                                 .create = create,
                                 .destroy = destroy,
                                 .hand_over = hand_over,
                                 .record_acquire = record_acquire,
                                 .record_release = record_release};
