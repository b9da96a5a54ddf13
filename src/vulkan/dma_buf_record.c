/* SPDX-License-Identifier: MIT */
/* The copies of a bridge, and the barriers around them. */
#include "vulkan/vk_dma_buf.h"

static const VkImageSubresourceLayers color = {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT,
                                               .layerCount = 1};

/* The dma-buf, from the others and back to them. Its contents are kept where they are read: the
 * layout of what others own is GENERAL. */
static void foreign(const culv_vk_dma_buf_bridge *b, VkCommandBuffer commands, bool acquire)
{
    const bool in = b->direction == CULV_VK_DMA_BUF_IN;
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
        barrier.dstQueueFamilyIndex = b->queue_family;
    } else {
        barrier.srcAccessMask = in ? 0 : access;
        barrier.oldLayout = layout;
        barrier.newLayout = VK_IMAGE_LAYOUT_GENERAL;
        barrier.srcQueueFamilyIndex = b->queue_family;
        barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_FOREIGN_EXT;
        to = VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT;
    }
    b->vk->table.vkCmdPipelineBarrier(commands, from, to, 0, 0, NULL, 0, NULL, 1, &barrier);
}

/* CUDA's side, from CUDA and back. `use` is Vulkan's. `discard`: the contents are not needed. */
static culv_result shared(const culv_vk_dma_buf_bridge *b, VkCommandBuffer commands,
                          culv_vk_direction direction, culv_vk_use use, bool discard)
{
    culv_vk_image_transfer t = culv_vk_image_transfer_init();
    culv_vk_buffer_transfer u = culv_vk_buffer_transfer_init();
    culv_vk_image_barrier image;
    culv_vk_buffer_barrier buffer;
    t.queue_family = u.queue_family = b->queue_family;
    t.use = u.use = use;
    if (b->buffer != NULL) {
        u.buffer = culv_vk_buffer_handle(b->buffer);
        culv_result result = culvi_vk_buffer_barrier(&u, direction, &buffer);
        if (result == CULV_OK)
            b->vk->table.vkCmdPipelineBarrier(commands, buffer.src_stage, buffer.dst_stage, 0, 0,
                                              NULL, 1, &buffer.barrier, 0, NULL);
        return result;
    }
    t.image = culv_vk_image_handle(b->target);
    t.format = b->info.format;
    t.discard = discard;
    culv_result result = culvi_vk_image_barrier(&t, direction, &image);
    if (result == CULV_OK)
        b->vk->table.vkCmdPipelineBarrier(commands, image.src_stage, image.dst_stage, 0, 0, NULL, 0,
                                          NULL, 1, &image.barrier);
    return result;
}

static void copy(const culv_vk_dma_buf_bridge *b, VkCommandBuffer commands)
{
    const bool in = b->direction == CULV_VK_DMA_BUF_IN;
    const VkExtent3D extent = {b->info.width, b->info.height, 1};
    const VkImageLayout src = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                        dst = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
    if (b->buffer == NULL) {
        const VkImageCopy region = {
            .srcSubresource = color, .dstSubresource = color, .extent = extent};
        const VkImage image = culv_vk_image_handle(b->target);
        b->vk->table.vkCmdCopyImage(commands, in ? b->image : image, src, in ? image : b->image,
                                    dst, 1, &region);
        return;
    }
    const VkBufferImageCopy region = {.bufferRowLength = (b->info.width + 63) / 64 *
                                                         64, /* as dma_buf.c's buffer_pitch() */
                                      .imageSubresource = color,
                                      .imageExtent = extent};
    const VkBuffer buffer = culv_vk_buffer_handle(b->buffer);
    if (in)
        b->vk->table.vkCmdCopyImageToBuffer(commands, b->image, src, buffer, 1, &region);
    else
        b->vk->table.vkCmdCopyBufferToImage(commands, buffer, b->image, dst, 1, &region);
}

culv_result culv_vk_dma_buf_bridge_record(culv_vk_dma_buf_bridge *bridge, VkCommandBuffer commands)
{
    CULVI_REQUIRE(NULL, bridge);
    CULVI_REQUIRE(&bridge->vk->base.device->voice, commands);
    const bool in = bridge->direction == CULV_VK_DMA_BUF_IN;
    if (bridge->rows != NULL) return CULV_OK;
    const culv_vk_use use = in ? CULV_VK_USE_TRANSFER_DST : CULV_VK_USE_TRANSFER_SRC;
    culv_result result = shared(bridge, commands, CULV_VK_ACQUIRE, use, in);
    if (result != CULV_OK) return result;
    foreign(bridge, commands, true);
    copy(bridge, commands);
    foreign(bridge, commands, false);
    return shared(bridge, commands, CULV_VK_RELEASE, use, false);
}

culv_result culv_vk_dma_buf_bridge_record_first(culv_vk_dma_buf_bridge *bridge,
                                                VkCommandBuffer commands)
{
    CULVI_REQUIRE(NULL, bridge);
    CULVI_REQUIRE(&bridge->vk->base.device->voice, commands);
    if (bridge->direction == CULV_VK_DMA_BUF_IN || bridge->rows != NULL) return CULV_OK;
    return shared(bridge, commands, CULV_VK_RELEASE, CULV_VK_USE_TRANSFER_SRC, true);
}
