/* SPDX-License-Identifier: MIT */
/* Fallbacks through the host: the copies in the caller's command buffers. */
#include "vulkan/vk_resource.h"

/* Earlier uses in the queue, whatever they were, and what CUDA wrote: a submission makes visible
 * what the host wrote before it, and this may have been written after it. */
static const VkPipelineStageFlags before =
    VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT;
static const VkAccessFlags before_access = VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_HOST_WRITE_BIT;
/* Later uses, and CUDA. */
static const VkPipelineStageFlags after =
    VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT;
static const VkAccessFlags after_access =
    VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_HOST_READ_BIT;
static const VkAccessFlags copying = VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;

static culv_result check_call(const culvi_pair *pair, const char *call, const char *what,
                              culv_copy copy, VkCommandBuffer commands)
{
    culv_result result = culvi_check_copy(copy, call);
    if (result != CULV_OK) return result;
    if (pair != NULL && commands != NULL)
        return culvi_check_made_by(pair->graphics, &culvi_vk_api, culvi_pair_label(pair), call);
    return culvi_fail_null(pair != NULL ? &pair->graphics->device->voice : NULL, call,
                           pair == NULL ? what : "commands");
}

/* `image` has the layouts of the one before the copy and of the one after it; NULL: a buffer. */
static void barrier(const culv_vk_device *vk, VkCommandBuffer commands, bool entering,
                    const VkImageMemoryBarrier *image)
{
    VkMemoryBarrier memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                              .srcAccessMask =
                                  entering ? before_access : VK_ACCESS_TRANSFER_WRITE_BIT,
                              .dstAccessMask = entering ? copying : after_access};
    vk->table.vkCmdPipelineBarrier(commands, entering ? before : VK_PIPELINE_STAGE_TRANSFER_BIT,
                                   entering ? VK_PIPELINE_STAGE_TRANSFER_BIT : after, 0, 1, &memory,
                                   0, NULL, image != NULL, image);
}

culv_result culv_vk_buffer_record_copy(const culv_shared_buffer *b, culv_copy copy,
                                       VkCommandBuffer commands)
{
    const bool push = copy == CULV_COPY_UPLOAD;
    culv_result result =
        check_call(b != NULL ? &b->pair : NULL, __func__, "buffer", copy, commands);
    if (result != CULV_OK || culv_buffer_sharing(b->pair.buffer) != CULV_SHARING_HOST)
        return result;
    const culv_vk_device *vk = culvi_vk_of(b->pair.graphics);
    VkBufferCopy region = {.size = culv_buffer_size(b->pair.buffer)};
    barrier(vk, commands, true, NULL);
    VkBuffer own = culvi_vk_native_buffer(&b->pair.native),
             stage = culvi_vk_native_buffer(&b->pair.stage);
    vk->table.vkCmdCopyBuffer(commands, push ? stage : own, push ? own : stage, 1, &region);
    barrier(vk, commands, false, NULL);
    return CULV_OK;
}

static VkBufferImageCopy region_of(const culvi_part *part)
{
    return (VkBufferImageCopy){.bufferOffset = part->offset,
                               .imageSubresource = {.aspectMask = part->aspect,
                                                    .mipLevel = part->level,
                                                    .layerCount = part->layers},
                               .imageExtent = {part->width, part->height, part->depth}};
}

static void copy_parts(const culv_shared_image *i, VkCommandBuffer commands, bool push,
                       VkImageLayout layout)
{
    const culv_vk_device *vk = culvi_vk_of(i->pair.graphics);
    const culvi_staging *staging = i->pair.image->staging;
    for (uint32_t k = 0; k < staging->num_parts; k++) {
        VkBufferImageCopy region = region_of(&staging->parts[k]);
        if (push)
            vk->table.vkCmdCopyBufferToImage(commands, culvi_vk_native_buffer(&i->pair.stage),
                                             culvi_vk_native_image(&i->pair.native), layout, 1,
                                             &region);
        else
            vk->table.vkCmdCopyImageToBuffer(commands, culvi_vk_native_image(&i->pair.native),
                                             layout, culvi_vk_native_buffer(&i->pair.stage), 1,
                                             &region);
    }
}

culv_result culv_vk_image_record_copy(const culv_shared_image *i, culv_copy copy,
                                      VkCommandBuffer commands, VkImageLayout layout)
{
    const bool push = copy == CULV_COPY_UPLOAD;
    culv_result result = check_call(i != NULL ? &i->pair : NULL, __func__, "image", copy, commands);
    if (result != CULV_OK) return result;
    const culv_vk_device *vk = culvi_vk_of(i->pair.graphics);
    if (layout == VK_IMAGE_LAYOUT_UNDEFINED || layout == VK_IMAGE_LAYOUT_PREINITIALIZED)
        return culvi_fail(
            &vk->base.device->voice, i->pair.image->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
            "%s: layout is %d, and an image cannot be left in that layout; pass the layout that "
            "it is used in",
            __func__, (int)layout);
    if (culv_image_sharing(i->pair.image) != CULV_SHARING_HOST) return CULV_OK;
    VkImageLayout copied =
        push ? VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL : VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
    VkImageMemoryBarrier change = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
        .srcAccessMask = before_access,
        .dstAccessMask = push ? VK_ACCESS_TRANSFER_WRITE_BIT : VK_ACCESS_TRANSFER_READ_BIT,
        .oldLayout = push ? VK_IMAGE_LAYOUT_UNDEFINED : layout, /* all of it is overwritten */
        .newLayout = copied,
        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .image = culvi_vk_native_image(&i->pair.native),
        .subresourceRange = {.aspectMask = i->pair.image->row->aspects,
                             .levelCount = VK_REMAINING_MIP_LEVELS,
                             .layerCount = VK_REMAINING_ARRAY_LAYERS}};
    barrier(vk, commands, true, &change);
    copy_parts(i, commands, push, copied);
    change.srcAccessMask = push ? VK_ACCESS_TRANSFER_WRITE_BIT : 0;
    change.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
    change.oldLayout = copied;
    change.newLayout = layout;
    barrier(vk, commands, false, &change);
    return CULV_OK;
}
