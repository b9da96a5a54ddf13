/* Queue-family barriers between a Vulkan queue and CUDA, as plain structs. SPDX-License-Identifier: MIT */
#include "vk.h"

#include <inttypes.h>

typedef enum direction { RELEASE, ACQUIRE } direction;

static culv_result fill(const culv_vk_buffer_transfer *transfer, direction way, VkBufferMemoryBarrier2 *out)
{
    culv_vk_buffer_transfer t;
    const char *call = way == RELEASE ? "release" : "acquire";
    if (transfer == NULL || out == NULL)
        return culvi_fail(NULL, NULL, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
                          "culv_vk_buffer_%s_barrier: %s is NULL", call,
                          transfer == NULL ? "transfer" : "out");
    culv_result result = culvi_desc_read(NULL, &t, sizeof t, transfer, "culv_vk_buffer_transfer");
    if (result != CULV_OK) return result;
    if (t.buffer == VK_NULL_HANDLE)
        return culvi_fail(NULL, NULL, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
                          "culv_vk_buffer_transfer.buffer is VK_NULL_HANDLE");
    if (t.queue_family >= VK_QUEUE_FAMILY_FOREIGN_EXT)
        return culvi_fail(NULL, NULL, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "culv_vk_buffer_transfer.queue_family is a special family (%#" PRIx32
                          "); pass the family index of the queue that the barrier is submitted to",
                          t.queue_family);
    VkPipelineStageFlags2 stage = t.stage != 0 ? t.stage : VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
    VkAccessFlags2 access = t.access;
    if (access == 0)
        access = way == RELEASE ? VK_ACCESS_2_MEMORY_WRITE_BIT
                                : VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT;
    *out = (VkBufferMemoryBarrier2){
        .sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER_2,
        .buffer = t.buffer,
        .offset = t.offset,
        .size = t.size != 0 ? t.size : VK_WHOLE_SIZE,
    };
    /* Of a release the second scope is ignored, of an acquire the first; the semaphore orders the two halves.
     * An acquire's first scope is ALL_COMMANDS, so that it is ordered after the wait whatever stage that
     * names. */
    if (way == RELEASE) {
        out->srcStageMask = stage;
        out->srcAccessMask = access;
        out->dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
        out->srcQueueFamilyIndex = t.queue_family;
        out->dstQueueFamilyIndex = VK_QUEUE_FAMILY_EXTERNAL;
    } else {
        out->srcStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
        out->dstStageMask = stage;
        out->dstAccessMask = access;
        out->srcQueueFamilyIndex = VK_QUEUE_FAMILY_EXTERNAL;
        out->dstQueueFamilyIndex = t.queue_family;
    }
    return CULV_OK;
}

static culv_result fill_old(const culv_vk_buffer_transfer *transfer, direction way,
                            culv_vk_buffer_barrier *out)
{
    VkBufferMemoryBarrier2 b;
    if (out == NULL) return fill(transfer, way, NULL);
    culv_result result = fill(transfer, way, &b);
    if (result != CULV_OK) return result;
    /* The old flags are the low 32 bits of the new ones, with the same meaning. */
    uint64_t high = (b.srcStageMask | b.dstStageMask | b.srcAccessMask | b.dstAccessMask) >> 31;
    if (high != 0)
        return culvi_fail(
            NULL, NULL, CULV_ERROR_INVALID, CULV_REASON_VALUE,
            "culv_vk_buffer_transfer has a stage (%#" PRIx64 ") or access (%#" PRIx64
            ") that only synchronization2 knows; use the barrier2 form, or one of Vulkan 1.0's flags",
            (uint64_t)(way == RELEASE ? b.srcStageMask : b.dstStageMask),
            (uint64_t)(way == RELEASE ? b.srcAccessMask : b.dstAccessMask));
    out->src_stage = (VkPipelineStageFlags)b.srcStageMask;
    out->dst_stage = (VkPipelineStageFlags)b.dstStageMask;
    out->barrier = (VkBufferMemoryBarrier){
        .sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER,
        .srcAccessMask = (VkAccessFlags)b.srcAccessMask,
        .dstAccessMask = (VkAccessFlags)b.dstAccessMask,
        .srcQueueFamilyIndex = b.srcQueueFamilyIndex,
        .dstQueueFamilyIndex = b.dstQueueFamilyIndex,
        .buffer = b.buffer,
        .offset = b.offset,
        .size = b.size,
    };
    return CULV_OK;
}

culv_result culv_vk_buffer_release_barrier2(const culv_vk_buffer_transfer *transfer,
                                            VkBufferMemoryBarrier2 *out)
{
    return fill(transfer, RELEASE, out);
}

culv_result culv_vk_buffer_acquire_barrier2(const culv_vk_buffer_transfer *transfer,
                                            VkBufferMemoryBarrier2 *out)
{
    return fill(transfer, ACQUIRE, out);
}

culv_result culv_vk_buffer_release_barrier(const culv_vk_buffer_transfer *transfer,
                                           culv_vk_buffer_barrier *out)
{
    return fill_old(transfer, RELEASE, out);
}

culv_result culv_vk_buffer_acquire_barrier(const culv_vk_buffer_transfer *transfer,
                                           culv_vk_buffer_barrier *out)
{
    return fill_old(transfer, ACQUIRE, out);
}
