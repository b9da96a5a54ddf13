/* SPDX-License-Identifier: MIT */
/* See sheet.h. */
#include "sheet.h"

#include <string.h>

#include "../common/png_file.h"
#include "../common/report.h"

bool sheet_create(const vulkan_setup *v, sheet *out)
{
    memset(out, 0, sizeof *out);
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .queueFamilyIndex = v->queue_family};
    VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    if (!vulkan_image_create(v, VK_FORMAT_R8G8B8A8_UNORM, (VkExtent2D){SHEET_WIDTH, SHEET_HEIGHT},
                             VK_SAMPLE_COUNT_1_BIT,
                             VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT |
                                 VK_IMAGE_USAGE_SAMPLED_BIT,
                             VK_IMAGE_ASPECT_COLOR_BIT, &out->image) ||
        !vulkan_buffer_create(v, (VkDeviceSize)SHEET_WIDTH * SHEET_HEIGHT * 4,
                              VK_BUFFER_USAGE_TRANSFER_DST_BIT, true, &out->pixels) ||
        !vk_ok(vkCreateFence(v->device, &fence, NULL, &out->done), "vkCreateFence") ||
        !vk_ok(vkCreateCommandPool(v->device, &pool, NULL, &out->pool), "vkCreateCommandPool"))
        return false;
    VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandPool = out->pool,
                                        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                        .commandBufferCount = 1};
    return vk_ok(vkAllocateCommandBuffers(v->device, &info, &out->commands),
                 "vkAllocateCommandBuffers");
}

void sheet_destroy(const vulkan_setup *v, sheet *s)
{
    vkDestroyFence(v->device, s->done, NULL);
    vkDestroyCommandPool(v->device, s->pool, NULL);
    vulkan_buffer_destroy(v, &s->pixels);
    vulkan_image_destroy(v, &s->image);
}

static int32_t at_least_one(uint32_t size)
{
    return size > 0 ? (int32_t)size : 1;
}

static void show_image(VkCommandBuffer commands, const resource *r, VkImage sheet_image,
                       VkOffset3D at)
{
    const resource_plan *p = r->plan;
    bool is_3d = p->kind == SURFACE_3D;
    int32_t slice = is_3d ? (int32_t)p->layer : 0;
    VkImageBlit blit = {
        .srcSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, p->level, is_3d ? 0 : p->layer, 1},
        .srcOffsets = {{0, 0, slice},
                       {at_least_one(p->width >> p->level), at_least_one(p->height >> p->level),
                        slice + 1}},
        .dstSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
        .dstOffsets = {at, {at.x + TILE_WIDTH, at.y + TILE_HEIGHT, 1}}};
    vkCmdBlitImage(commands, r->image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, sheet_image,
                   VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &blit, VK_FILTER_LINEAR);
}

static void show_buffer(VkCommandBuffer commands, const resource *r, VkImage sheet_image,
                        VkOffset3D at)
{
    VkBufferImageCopy copy = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                              .imageOffset = at,
                              .imageExtent = {TILE_WIDTH, TILE_HEIGHT, 1}};
    vkCmdCopyBufferToImage(commands, r->buffer, sheet_image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                           1, &copy);
}

/* The barriers that Culvert hands out, all in one command. */
static bool take_from_cuda(const vulkan_setup *v, VkCommandBuffer commands,
                           const resource *resources)
{
    VkBufferMemoryBarrier2 buffers[NUM_RESOURCES];
    VkImageMemoryBarrier2 images[NUM_RESOURCES];
    VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                             .pBufferMemoryBarriers = buffers,
                             .pImageMemoryBarriers = images};
    for (uint32_t i = 0; i < NUM_RESOURCES; i++) {
        const resource *r = &resources[i];
        culv_vk_buffer_transfer buffer = culv_vk_buffer_transfer_init();
        culv_vk_image_transfer image = culv_vk_image_transfer_init();
        buffer.buffer = r->buffer;
        image.image = r->image;
        buffer.queue_family = image.queue_family = v->queue_family;
        buffer.use = image.use = CULV_VK_USE_TRANSFER_SRC;
        culv_result result =
            r->image ? culv_vk_image_get_barrier2(&image, CULV_VK_ACQUIRE,
                                                  &images[info.imageMemoryBarrierCount++])
                     : culv_vk_buffer_get_barrier2(&buffer, CULV_VK_ACQUIRE,
                                                   &buffers[info.bufferMemoryBarrierCount++]);
        if (!culv_ok(result, "the acquire barrier")) return false;
    }
    vkCmdPipelineBarrier2(commands, &info);
    return true;
}

static bool record(const vulkan_setup *v, sheet *s, const resource *resources)
{
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                      .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    const vulkan_use nothing = {VK_PIPELINE_STAGE_2_NONE, 0, VK_IMAGE_LAYOUT_UNDEFINED};
    const vulkan_use writing = {VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT,
                                VK_ACCESS_2_TRANSFER_WRITE_BIT,
                                VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL};
    const vulkan_use reading = {VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT, VK_ACCESS_2_TRANSFER_READ_BIT,
                                VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL};
    if (!vk_ok(vkBeginCommandBuffer(s->commands, &begin), "vkBeginCommandBuffer")) return false;
    vulkan_image_barrier(s->commands, s->image.image, VK_IMAGE_ASPECT_COLOR_BIT, nothing, writing);
    if (!take_from_cuda(v, s->commands, resources)) return false;
    for (uint32_t i = 0; i < NUM_RESOURCES; i++) {
        VkOffset3D at = {(int32_t)(i % SHEET_COLUMNS) * TILE_WIDTH,
                         (int32_t)(i / SHEET_COLUMNS) * TILE_HEIGHT, 0};
        (resources[i].image ? show_image : show_buffer)(s->commands, &resources[i], s->image.image,
                                                        at);
    }
    vulkan_image_barrier(s->commands, s->image.image, VK_IMAGE_ASPECT_COLOR_BIT, writing, reading);
    VkBufferImageCopy copy = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                              .imageExtent = {SHEET_WIDTH, SHEET_HEIGHT, 1}};
    vkCmdCopyImageToBuffer(s->commands, s->image.image, reading.layout, s->pixels.buffer, 1, &copy);
    VkMemoryBarrier2 to_host = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                                .srcStageMask = VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT,
                                .srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT,
                                .dstStageMask = VK_PIPELINE_STAGE_2_HOST_BIT,
                                .dstAccessMask = VK_ACCESS_2_HOST_READ_BIT};
    VkDependencyInfo dependency = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .memoryBarrierCount = 1,
                                   .pMemoryBarriers = &to_host};
    vkCmdPipelineBarrier2(s->commands, &dependency);
    return vk_ok(vkEndCommandBuffer(s->commands), "vkEndCommandBuffer");
}

bool sheet_draw(const vulkan_setup *v, sheet *s, const resource *resources, VkSemaphore ready,
                uint64_t value)
{
    if (!record(v, s, resources)) return false;
    VkSemaphoreSubmitInfo wait =
        vulkan_submit_point(ready, value, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
    VkCommandBufferSubmitInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                          .commandBuffer = s->commands};
    VkSubmitInfo2 info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                          .waitSemaphoreInfoCount = 1,
                          .pWaitSemaphoreInfos = &wait,
                          .commandBufferInfoCount = 1,
                          .pCommandBufferInfos = &commands};
    return vk_ok(vkQueueSubmit2(v->queue, 1, &info, s->done), "vkQueueSubmit2") &&
           vk_ok(vkWaitForFences(v->device, 1, &s->done, VK_TRUE, UINT64_MAX), "vkWaitForFences");
}

bool sheet_write(const sheet *s, const char *path)
{
    return png_write_rgba(path, SHEET_WIDTH, SHEET_HEIGHT, s->pixels.mapped);
}
