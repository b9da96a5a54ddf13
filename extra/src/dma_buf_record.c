/* SPDX-License-Identifier: MIT */
/* The copies of a bridge, and the barriers around them. */
#include "dma_buf.h"

static const VkImageSubresourceLayers color = {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT,
                                               .layerCount = 1};

/* The dma-buf, from the others and back to them. Its contents are kept where they are read: the
 * layout of what others own is GENERAL. */
static void foreign(const culv_vk_dma_buf_bridge *b, VkCommandBuffer commands, bool acquire)
{
    const bool in = b->d.direction == CULV_VK_DMA_BUF_IN;
    const VkImageLayout layout =
        in ? VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL : VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
    const VkAccessFlags access = in ? VK_ACCESS_TRANSFER_READ_BIT : VK_ACCESS_TRANSFER_WRITE_BIT;
    VkImageMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                    .image = b->image,
                                    .subresourceRange = {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT,
                                                         .levelCount = 1,
                                                         .layerCount = 1}};
    VkPipelineStageFlags from = VK_PIPELINE_STAGE_TRANSFER_BIT, to = from;
    if (acquire) {
        barrier.dstAccessMask = access;
        barrier.oldLayout = in ? VK_IMAGE_LAYOUT_GENERAL : VK_IMAGE_LAYOUT_UNDEFINED;
        barrier.newLayout = layout;
        barrier.srcQueueFamilyIndex = VK_QUEUE_FAMILY_FOREIGN_EXT;
        barrier.dstQueueFamilyIndex = b->d.queue_family;
    } else {
        barrier.srcAccessMask = in ? 0 : access;
        barrier.oldLayout = layout;
        barrier.newLayout = VK_IMAGE_LAYOUT_GENERAL;
        barrier.srcQueueFamilyIndex = b->d.queue_family;
        barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_FOREIGN_EXT;
        to = VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT;
    }
    CULVI_X_VK(&b->vk, vkCmdPipelineBarrier)(commands, from, to, 0, 0, NULL, 0, NULL, 1, &barrier);
}

/* CUDA's side, from CUDA and back. `use` is Vulkan's. `discard`: the contents are not needed. */
static culv_result shared(const culv_vk_dma_buf_bridge *b, VkCommandBuffer commands,
                          culv_vk_direction direction, culv_vk_use use, bool discard)
{
    const PFN_vkCmdPipelineBarrier record = CULVI_X_VK(&b->vk, vkCmdPipelineBarrier);
    culv_vk_image_transfer t = culv_vk_image_transfer_init();
    culv_vk_buffer_transfer u = culv_vk_buffer_transfer_init();
    VkImageMemoryBarrier2 image;
    VkBufferMemoryBarrier2 buffer;
    t.queue_family = u.queue_family = b->d.queue_family;
    t.use = u.use = use;
    if (b->buffer != NULL) {
        u.buffer = culv_vk_buffer_handle(b->buffer);
        CULVI_X_TRY(culv_vk_buffer_get_barrier2(&u, direction, &buffer));
        const culv_vk_buffer_barrier old = culv_vk_old_buffer_barrier(&buffer);
        record(commands, old.src_stage, old.dst_stage, 0, 0, NULL, 1, &old.barrier, 0, NULL);
        return CULV_OK;
    }
    t.image = culv_vk_image_handle(b->target);
    t.format = b->info.format;
    t.discard = discard;
    CULVI_X_TRY(culv_vk_image_get_barrier2(&t, direction, &image));
    const culv_vk_image_barrier old = culv_vk_old_image_barrier(&image);
    record(commands, old.src_stage, old.dst_stage, 0, 0, NULL, 0, NULL, 1, &old.barrier);
    return CULV_OK;
}

static void copy(const culv_vk_dma_buf_bridge *b, VkCommandBuffer commands)
{
    const bool in = b->d.direction == CULV_VK_DMA_BUF_IN;
    const VkExtent3D extent = {b->info.width, b->info.height, 1};
    const VkImageLayout src = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                        dst = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
    if (b->buffer == NULL) {
        const VkImageCopy region = {
            .srcSubresource = color, .dstSubresource = color, .extent = extent};
        const VkImage image = culv_vk_image_handle(b->target);
        CULVI_X_VK(&b->vk, vkCmdCopyImage)
        (commands, in ? b->image : image, src, in ? image : b->image, dst, 1, &region);
        return;
    }
    const VkBufferImageCopy region = {.bufferRowLength = (b->info.width + 63) / 64 *
                                                         64, /* as dma_buf.c has them */
                                      .imageSubresource = color,
                                      .imageExtent = extent};
    const VkBuffer buffer = culv_vk_buffer_handle(b->buffer);
    if (in)
        CULVI_X_VK(&b->vk, vkCmdCopyImageToBuffer)(commands, b->image, src, buffer, 1, &region);
    else
        CULVI_X_VK(&b->vk, vkCmdCopyBufferToImage)(commands, buffer, b->image, dst, 1, &region);
}

culv_result culv_vk_dma_buf_bridge_record(culv_vk_dma_buf_bridge *bridge, VkCommandBuffer commands,
                                          culv_bool first)
{
    CULVI_X_REQUIRE_WITH(bridge, bridge->device, commands);
    const bool in = bridge->d.direction == CULV_VK_DMA_BUF_IN;
    if (first && in) return CULV_OK;
    const culv_vk_use use = in ? CULV_VK_USE_TRANSFER_DST : CULV_VK_USE_TRANSFER_SRC;
    if (first) return shared(bridge, commands, CULV_VK_RELEASE, use, true);
    CULVI_X_TRY(shared(bridge, commands, CULV_VK_ACQUIRE, use, in));
    foreign(bridge, commands, true);
    copy(bridge, commands);
    foreign(bridge, commands, false);
    return shared(bridge, commands, CULV_VK_RELEASE, use, false);
}
