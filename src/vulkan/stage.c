/* SPDX-License-Identifier: MIT */
/* Fallbacks through the host: pages that CUDA and Vulkan both reach. */
#include "vulkan/vk_resource.h"

static const VkExternalMemoryHandleTypeFlagBits host_pages =
    VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;

/* Pages of Culvert's, which Vulkan takes as they are. CUDA's own pinned memory is not offered: it
 * lies in the driver's mapping, which other drivers need not accept. */
static culv_result import_pages(culv_vk_device *vk, const char *label,
                                const VkBufferCreateInfo *info, culvi_staging *staging,
                                culvi_native *made)
{
    culvi_vk_pages pages = {.start = NULL};
    culvi_vk_plan plan = {.label = label,
                          .buffer = info,
                          .handle_types = (VkExternalMemoryHandleTypeFlags)host_pages,
                          .pages = &pages};
    CULVI_TRY_OR(culvi_vk_resource_create(vk, &plan, made), culvi_free(pages.block));
    staging->host = pages.start;
    staging->block = pages.block;
    return CULV_OK;
}

static void free_vulkans(const culvi_mapping *self)
{
    PFN_vkFreeMemory release = (PFN_vkFreeMemory)self->free_memory;
    const culv_vk_device *vk = self->holder;
    release((VkDevice)self->device, (VkDeviceMemory)self->memory, vk->callbacks); /* unmaps it */
}

/* Vulkan's own host-visible memory, where it takes no others. It goes with the staging. */
static culv_result map_memory(culv_vk_device *vk, const char *label, const VkBufferCreateInfo *info,
                              culvi_staging *staging, culvi_native *made)
{
    const VkMemoryPropertyFlags wanted =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    culvi_vk_plan plan = {.label = label,
                          .buffer = info,
                          .memory_properties = wanted | VK_MEMORY_PROPERTY_HOST_CACHED_BIT};
    culv_result result = CULVI_ATTEMPT(culvi_vk_resource_create(vk, &plan, made));
    if (result == CULV_ERROR_INVALID) { /* there is no such memory */
        plan.memory_properties = wanted;
        result = culvi_vk_resource_create(vk, &plan, made);
    }
    if (result != CULV_OK) return result;
    VkResult r = CULVI_VK(
        vk, vkMapMemory,
        (vk->vk_device, (VkDeviceMemory)made->memory, 0, VK_WHOLE_SIZE, 0, &staging->host));
    if (r != VK_SUCCESS) {
        staging->host = NULL;
        culvi_vk_unmake(&vk->base, made);
        return culvi_vk_failed(vk, label, r, "vkMapMemory",
                               "the staging memory could not be mapped");
    }
    staging->native = (culvi_mapping){.release = free_vulkans,
                                      .free_memory = (void (*)(void))vk->table.vkFreeMemory,
                                      .device = (void *)vk->vk_device,
                                      .memory = made->memory,
                                      .holder = vk};
    made->memory = 0; /* the staging's */
    return CULV_OK;
}

culv_result culvi_vk_stage(culvi_graphics *graphics, const char *label, culvi_staging *staging,
                           culvi_native *out)
{
    culv_vk_device *vk = culvi_vk_of(graphics);
    const VkBufferCreateInfo info = {CULVI_STYPE(BUFFER_CREATE_INFO), .size = staging->size,
                                     .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                              VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    culv_result result = CULV_ERROR_UNSUPPORTED;
    /* Alignment 0: the extension was not enabled. */
    if (vk->host_alignment != 0 && culvi_vk_imports_buffers(vk, &info, host_pages))
        result = CULVI_ATTEMPT(import_pages(vk, label, &info, staging, out));
    if (result != CULV_OK && result != CULV_ERROR_OUT_OF_MEMORY && result != CULV_ERROR_ASYNC)
        result = map_memory(vk, label, &info, staging, out);
    return result;
}

/* The copies in the caller's command buffers --------------------------------------------------- */

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
    CULVI_TRY(culvi_check_copy(copy, call));
    if (pair != NULL && commands != NULL)
        return culvi_check_made_by(pair->graphics, &culvi_vk_api, culvi_pair_label(pair), call);
    return culvi_fail_null(pair != NULL ? &pair->graphics->device->voice : NULL, call,
                           pair == NULL ? what : "commands");
}

/* `image` has the layouts of the one before the copy and of the one after it; NULL: a buffer. */
static void barrier(const culv_vk_device *vk, VkCommandBuffer commands, bool entering,
                    const VkImageMemoryBarrier *image)
{
    VkMemoryBarrier memory = {CULVI_STYPE(MEMORY_BARRIER),
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
    CULVI_TRY(check_call(b != NULL ? &b->pair : NULL, __func__, "buffer", copy, commands));
    if (culv_buffer_sharing(b->pair.buffer) != CULV_SHARING_HOST) return CULV_OK;
    const culv_vk_device *vk = culvi_vk_of(b->pair.graphics);
    VkBufferCopy region = {.size = culv_buffer_size(b->pair.buffer)};
    barrier(vk, commands, true, NULL);
    VkBuffer own = (VkBuffer)b->pair.native.object, stage = (VkBuffer)b->pair.stage.object;
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
            vk->table.vkCmdCopyBufferToImage(commands, (VkBuffer)i->pair.stage.object,
                                             (VkImage)i->pair.native.object, layout, 1, &region);
        else
            vk->table.vkCmdCopyImageToBuffer(commands, (VkImage)i->pair.native.object, layout,
                                             (VkBuffer)i->pair.stage.object, 1, &region);
    }
}

culv_result culv_vk_image_record_copy(const culv_shared_image *i, culv_copy copy,
                                      VkCommandBuffer commands, VkImageLayout layout)
{
    const bool push = copy == CULV_COPY_UPLOAD;
    CULVI_TRY(check_call(i != NULL ? &i->pair : NULL, __func__, "image", copy, commands));
    const culv_vk_device *vk = culvi_vk_of(i->pair.graphics);
    CULVI_REFUSE_IF(
        layout == VK_IMAGE_LAYOUT_UNDEFINED || layout == VK_IMAGE_LAYOUT_PREINITIALIZED, vk->voice,
        i->pair.image->label, CULV_REASON_VALUE,
        "%s: layout is %d, and an image cannot be left in that layout; pass the layout that it is used in",
        __func__, (int)layout);
    if (culv_image_sharing(i->pair.image) != CULV_SHARING_HOST) return CULV_OK;
    VkImageLayout copied =
        push ? VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL : VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
    VkImageMemoryBarrier change = {
        CULVI_STYPE(IMAGE_MEMORY_BARRIER),
        .srcAccessMask = before_access,
        .dstAccessMask = push ? VK_ACCESS_TRANSFER_WRITE_BIT : VK_ACCESS_TRANSFER_READ_BIT,
        .oldLayout = push ? VK_IMAGE_LAYOUT_UNDEFINED : layout, /* all of it is overwritten */
        .newLayout = copied,
        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .image = (VkImage)i->pair.native.object,
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
