/* SPDX-License-Identifier: MIT */
/* Vulkan's half of the sweep: hand-overs with Culvert's barriers, copies of every level, layer and
 * plane. */
#include "sweep.h"

enum { MAX_REGIONS = MAX_PLANES * MAX_LEVELS };

static void record(VkCommandBuffer commands, const VkImageMemoryBarrier2 *barrier)
{
    const VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .imageMemoryBarrierCount = 1,
                                   .pImageMemoryBarriers = barrier};
    vkCmdPipelineBarrier2(commands, &info);
}

void sweep_record_hand_over(VkCommandBuffer commands, const sweep_image *i, bool to_cuda,
                            culv_vk_use use, bool discard)
{
    culv_vk_image_transfer t = culv_vk_image_transfer_init();
    VkImageMemoryBarrier2 barrier;
    t.image = i->image;
    t.format = i->info.format;
    t.queue_family = 0;
    t.use = use;
    t.discard = discard ? VK_TRUE : VK_FALSE;
    if (to_cuda)
        LIB_OK(culv_vk_image_get_barrier2(&t, CULV_VK_RELEASE, &barrier));
    else
        LIB_OK(culv_vk_image_get_barrier2(&t, CULV_VK_ACQUIRE, &barrier));
    record(commands, &barrier);
}

/* Of formats of several planes COLOR stands for all. */
void sweep_record_between(VkCommandBuffer commands, const sweep_image *i, VkImageLayout from,
                          VkImageLayout to)
{
    const VkImageMemoryBarrier2 barrier = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2,
        .srcStageMask = VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT,
        .srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT,
        .dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
        .dstAccessMask = VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT,
        .oldLayout = from,
        .newLayout = to,
        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .image = i->image,
        .subresourceRange = {i->what.format->aspects, 0, VK_REMAINING_MIP_LEVELS, 0,
                             VK_REMAINING_ARRAY_LAYERS}};
    record(commands, &barrier);
}

static uint32_t regions(const sweep_image *i, VkBufferImageCopy out[MAX_REGIONS])
{
    uint32_t count = 0;
    for (uint32_t plane = 0; plane < i->plane_count; plane++)
        for (uint32_t level = 0; level < i->info.mipLevels; level++) {
            uint32_t width, height, slices;
            sweep_image_extent(i, plane, level, &width, &height, &slices);
            bool is_3d = i->info.imageType == VK_IMAGE_TYPE_3D;
            out[count++] = (VkBufferImageCopy){
                .bufferOffset = i->bytes_at[plane][level],
                .imageSubresource = {i->planes[plane].aspect, level, 0, i->info.arrayLayers},
                .imageExtent = {width, height, is_3d ? slices : 1}};
        }
    return count;
}

void sweep_record_copy_out(VkCommandBuffer commands, const sweep_image *i, VkBuffer buffer)
{
    VkBufferImageCopy list[MAX_REGIONS];
    uint32_t count = regions(i, list);
    vkCmdCopyImageToBuffer(commands, i->image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, buffer, count,
                           list);
    raw_vk_to_host(commands, VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT, VK_ACCESS_2_TRANSFER_WRITE_BIT);
}

void sweep_record_copy_in(VkCommandBuffer commands, const sweep_image *i, VkBuffer buffer)
{
    VkBufferImageCopy list[MAX_REGIONS];
    uint32_t count = regions(i, list);
    vkCmdCopyBufferToImage(commands, buffer, i->image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, count,
                           list);
}
