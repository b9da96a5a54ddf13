/* SPDX-License-Identifier: MIT */
/* Rings between CUDA and Vulkan: copies of a slot's resource into a buffer of the program's. */
#include "core/image_check.h"
#include "vulkan/vk_ring.h"

#include <inttypes.h>

/* What was copied is there for the host that waits for the submission; no barrier between queue
 * families may say so (VUID-vkCmdPipelineBarrier-srcStageMask-09633). */
static void show_to_host(const culvi_vk_table *table, VkCommandBuffer commands)
{
    const VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                     .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
    table->vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT,
                                VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, NULL, 0, NULL);
}

static culv_result refuse_copy(const culvi_vk_ring *ring, culv_result result, culv_reason reason,
                               const char *text)
{
    return culvi_fail(&ring->vk->base.device->voice, ring->base.label, result, reason,
                      "culv_vk_ring_record_copy: %s", text);
}

static culv_result check_copy(const culvi_vk_ring *ring, VkFlags usage, VkFlags needed,
                              uint64_t bytes, VkDeviceSize size)
{
    if ((usage & needed) == 0)
        return refuse_copy(ring, CULV_ERROR_INVALID, CULV_REASON_USAGE,
                           "the slot's resource was made without the usage TRANSFER_SRC");
    if (size >= bytes) return CULV_OK;
    return culvi_fail(&ring->vk->base.device->voice, ring->base.label, CULV_ERROR_INVALID,
                      CULV_REASON_RANGE,
                      "culv_vk_ring_record_copy: size is %" PRIu64
                      ", but the slot's resource has %" PRIu64 " bytes to copy",
                      (uint64_t)size, bytes);
}

static culv_result record_buffer(const culvi_vk_ring *ring, VkCommandBuffer commands,
                                 const culv_shared_buffer *from, VkBuffer to, VkDeviceSize offset,
                                 VkDeviceSize size)
{
    const culvi_vk_table *table = &ring->vk->table;
    culv_vk_buffer_transfer t = culv_vk_buffer_transfer_init();
    culv_vk_buffer_barrier acquire, release;
    uint64_t bytes = culv_buffer_size(culv_shared_buffer_cuda(from));
    culv_result result =
        check_copy(ring, from->pair.native.usage, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, bytes, size);
    if (result != CULV_OK) return result;
    t.buffer = culv_vk_buffer_handle(from);
    t.queue_family = culvi_vk_native_family(&from->pair.native, ring->queue_family);
    t.use = CULV_VK_USE_TRANSFER_SRC;
    result = culvi_vk_buffer_barrier(&t, CULV_VK_ACQUIRE, &acquire);
    if (result == CULV_OK) result = culvi_vk_buffer_barrier(&t, CULV_VK_RELEASE, &release);
    if (result != CULV_OK) return result;
    const VkBufferCopy region = {.dstOffset = offset, .size = bytes};
    table->vkCmdPipelineBarrier(commands, acquire.src_stage, acquire.dst_stage, 0, 0, NULL, 1,
                                &acquire.barrier, 0, NULL);
    if (ring->base.side == CULV_RING_CONSUMER)
        result = culv_vk_buffer_record_copy(from, CULV_COPY_UPLOAD, commands);
    if (result != CULV_OK) return result;
    table->vkCmdCopyBuffer(commands, t.buffer, to, 1, &region);
    table->vkCmdPipelineBarrier(commands, release.src_stage, release.dst_stage, 0, 0, NULL, 1,
                                &release.barrier, 0, NULL);
    show_to_host(table, commands);
    return CULV_OK;
}

static culv_result record_image(const culvi_vk_ring *ring, VkCommandBuffer commands,
                                const culv_shared_image *from, VkBuffer to, VkDeviceSize offset,
                                VkDeviceSize size)
{
    const culvi_vk_table *table = &ring->vk->table;
    const culv_image_desc *d = &from->pair.image->desc;
    const culvi_format *row = from->pair.image->row;
    culv_vk_image_transfer t = culv_vk_image_transfer_init();
    culv_vk_image_barrier acquire, release;
    if (row->planes > 1 || (row->aspects & (row->aspects - 1)) != 0)
        return refuse_copy(
            ring, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT,
            "an image with several planes or aspects is not one copy; record one for each");
    uint64_t bytes = culvi_image_least_size(row, d->width, d->height, d->depth, d->array_layers, 1);
    culv_result result =
        check_copy(ring, from->pair.native.usage, VK_IMAGE_USAGE_TRANSFER_SRC_BIT, bytes, size);
    if (result != CULV_OK) return result;
    /* VUID-vkCmdCopyImageToBuffer-dstImage-07975 and -07737; 4 is for queues that only copy, and
     * for depth. */
    if (offset % row->block_bytes != 0 || offset % 4 != 0)
        return culvi_fail(&ring->vk->base.device->voice, ring->base.label, CULV_ERROR_INVALID,
                          CULV_REASON_RANGE,
                          "culv_vk_ring_record_copy: offset is %" PRIu64 "; it must be a multiple "
                          "of 4 and of the %u bytes of a texel or block",
                          (uint64_t)offset, (unsigned)row->block_bytes);
    t.image = culv_vk_image_handle(from);
    t.format = (VkFormat)row->format;
    t.queue_family = culvi_vk_native_family(&from->pair.native, ring->queue_family);
    t.use = CULV_VK_USE_TRANSFER_SRC;
    result = culvi_vk_image_barrier(&t, CULV_VK_ACQUIRE, &acquire);
    if (result == CULV_OK) result = culvi_vk_image_barrier(&t, CULV_VK_RELEASE, &release);
    if (result != CULV_OK) return result;
    const VkBufferImageCopy region = {.bufferOffset = offset,
                                      .imageSubresource = {row->aspects, 0, 0, d->array_layers},
                                      .imageExtent = {d->width, d->height, d->depth}};
    table->vkCmdPipelineBarrier(commands, acquire.src_stage, acquire.dst_stage, 0, 0, NULL, 0, NULL,
                                1, &acquire.barrier);
    if (ring->base.side == CULV_RING_CONSUMER)
        result = culv_vk_image_record_copy(from, CULV_COPY_UPLOAD, commands,
                                           VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    if (result != CULV_OK) return result;
    table->vkCmdCopyImageToBuffer(commands, t.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, to, 1,
                                  &region);
    table->vkCmdPipelineBarrier(commands, release.src_stage, release.dst_stage, 0, 0, NULL, 0, NULL,
                                1, &release.barrier);
    show_to_host(table, commands);
    return CULV_OK;
}

culv_result culv_vk_ring_record_copy(const culv_ring *ring, VkCommandBuffer commands, uint32_t slot,
                                     uint32_t resource, VkBuffer to, VkDeviceSize offset,
                                     VkDeviceSize size)
{
    const culvi_vk_ring *mine = culvi_vk_ring_of(ring, __func__);
    if (mine == NULL) return CULV_ERROR_INVALID;
    CULVI_REQUIRE2(&ring->device->voice, commands, to);
    const culvi_graphics_ring *base = &mine->base;
    if (slot >= base->depth || resource >= base->num_resources)
        return culvi_fail(&ring->device->voice, base->label, CULV_ERROR_INVALID, CULV_REASON_RANGE,
                          "culv_vk_ring_record_copy: slot %" PRIu32 " and resource %" PRIu32
                          " of a ring that has %" PRIu32 " and %" PRIu32,
                          slot, resource, base->depth, base->num_resources);
    const culvi_pair *from = base->resources[resource].objects[slot];
    return base->resources[resource].is_image
               ? record_image(mine, commands, (const culv_shared_image *)from, to, offset, size)
               : record_buffer(mine, commands, (const culv_shared_buffer *)from, to, offset, size);
}
