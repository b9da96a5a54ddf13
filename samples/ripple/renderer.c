/* ripple's renderer. SPDX-License-Identifier: MIT */
#include "renderer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../common/report.h"
#include "camera.h"
#include "mesh.h"

static bool create_targets(renderer *r)
{
    const vulkan_setup *v = r->vulkan;
    VkSampleCountFlagBits samples = r->pipelines.samples;
    bool multisampled = samples != VK_SAMPLE_COUNT_1_BIT;
    VkImageUsageFlags color = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT;
    VkImageUsageFlags final = color | VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
    if (!vulkan_image_create(v, PIPELINES_COLOR_FORMAT, r->extent, samples, multisampled ? color : final,
                             VK_IMAGE_ASPECT_COLOR_BIT, &r->color) ||
        !vulkan_image_create(v, r->pipelines.depth_format, r->extent, samples,
                             VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT, VK_IMAGE_ASPECT_DEPTH_BIT,
                             &r->depth))
        return false;
    return !multisampled || vulkan_image_create(v, PIPELINES_COLOR_FORMAT, r->extent, VK_SAMPLE_COUNT_1_BIT,
                                                final, VK_IMAGE_ASPECT_COLOR_BIT, &r->resolved);
}

static bool create_descriptors(renderer *r)
{
    const vulkan_setup *v = r->vulkan;
    VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, EXCHANGE_MAX_BUFFERS};
    VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                       .maxSets = EXCHANGE_MAX_BUFFERS,
                                       .poolSizeCount = 1,
                                       .pPoolSizes = &size};
    if (!vk_ok(vkCreateDescriptorPool(v->device, &pool, NULL, &r->descriptor_pool), "vkCreateDescriptorPool"))
        return false;
    for (uint32_t i = 0; i < r->exchange->num_buffers; i++) {
        VkDescriptorSetAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                            .descriptorPool = r->descriptor_pool,
                                            .descriptorSetCount = 1,
                                            .pSetLayouts = &r->pipelines.set_layout};
        if (!vk_ok(vkAllocateDescriptorSets(v->device, &info, &r->sets[i]), "vkAllocateDescriptorSets"))
            return false;
        VkDescriptorBufferInfo cells = {r->exchange->buffers[i].buffer, 0, VK_WHOLE_SIZE};
        VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                      .dstSet = r->sets[i],
                                      .descriptorCount = 1,
                                      .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                      .pBufferInfo = &cells};
        vkUpdateDescriptorSets(v->device, 1, &write, 0, NULL);
    }
    return true;
}

static bool create_slots(renderer *r)
{
    const vulkan_setup *v = r->vulkan;
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                    .queueFamilyIndex = v->queue_family};
    if (!vk_ok(vkCreateCommandPool(v->device, &pool, NULL, &r->command_pool), "vkCreateCommandPool"))
        return false;
    for (uint32_t i = 0; i < FRAMES_IN_FLIGHT; i++) {
        VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandPool = r->command_pool,
                                            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                            .commandBufferCount = 1};
        /* draw_done would do, but validation layers do not follow a semaphore that was exported. */
        VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
        if (!vk_ok(vkAllocateCommandBuffers(v->device, &info, &r->slots[i].commands),
                   "vkAllocateCommandBuffers") ||
            !vk_ok(vkCreateFence(v->device, &fence, NULL, &r->slots[i].done), "vkCreateFence") ||
            !vulkan_buffer_create(v, (VkDeviceSize)r->extent.width * r->extent.height * 4u,
                                  VK_BUFFER_USAGE_TRANSFER_DST_BIT, true, &r->slots[i].picture))
            return false;
    }
    if (v->timestamp_bits == 0) return true;
    VkQueryPoolCreateInfo queries = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                     .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                     .queryCount = 2 * FRAMES_IN_FLIGHT};
    return vk_ok(vkCreateQueryPool(v->device, &queries, NULL, &r->timestamps), "vkCreateQueryPool");
}

bool renderer_create(renderer *r, const vulkan_setup *vulkan, exchange *e, const scene *basin,
                     VkExtent2D extent)
{
    memset(r, 0, sizeof *r);
    r->vulkan = vulkan;
    r->exchange = e;
    r->scene = basin;
    r->extent = extent;
    return pipelines_create(&r->pipelines, vulkan) && create_targets(r) && mesh_create(r) &&
           create_descriptors(r) && create_slots(r);
}

void renderer_destroy(renderer *r)
{
    if (!r->vulkan) return;
    const vulkan_setup *v = r->vulkan;
    (void)vkDeviceWaitIdle(v->device);
    for (uint32_t i = 0; i < FRAMES_IN_FLIGHT; i++) {
        vulkan_buffer_destroy(v, &r->slots[i].picture);
        vkDestroyFence(v->device, r->slots[i].done, NULL);
    }
    vkDestroyQueryPool(v->device, r->timestamps, NULL);
    vkDestroyCommandPool(v->device, r->command_pool, NULL);
    vkDestroyDescriptorPool(v->device, r->descriptor_pool, NULL);
    vulkan_buffer_destroy(v, &r->indices);
    vulkan_image_destroy(v, &r->color);
    vulkan_image_destroy(v, &r->resolved);
    vulkan_image_destroy(v, &r->depth);
    pipelines_destroy(&r->pipelines, v);
    memset(r, 0, sizeof *r);
}

static void image_barrier(VkCommandBuffer commands, VkImage image, VkImageAspectFlags aspect,
                          VkPipelineStageFlags2 before_stage, VkAccessFlags2 before, VkImageLayout old_layout,
                          VkPipelineStageFlags2 after_stage, VkAccessFlags2 after, VkImageLayout new_layout)
{
    VkImageMemoryBarrier2 barrier = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2,
                                     .srcStageMask = before_stage,
                                     .srcAccessMask = before,
                                     .dstStageMask = after_stage,
                                     .dstAccessMask = after,
                                     .oldLayout = old_layout,
                                     .newLayout = new_layout,
                                     .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                     .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                     .image = image,
                                     .subresourceRange = {aspect, 0, 1, 0, 1}};
    VkDependencyInfo dependency = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .imageMemoryBarrierCount = 1,
                                   .pImageMemoryBarriers = &barrier};
    vkCmdPipelineBarrier2(commands, &dependency);
}

/* The targets are shared by all frames: a frame's writes come after the previous frame's reads and writes. */
static void prepare_targets(const renderer *r, VkCommandBuffer commands)
{
    VkPipelineStageFlags2 color = VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT;
    VkAccessFlags2 write = VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT | VK_ACCESS_2_COLOR_ATTACHMENT_READ_BIT;
    const VkImage images[] = {r->color.image, r->resolved.image};
    for (int i = 0; i < 2; i++) {
        if (!images[i]) continue;
        image_barrier(commands, images[i], VK_IMAGE_ASPECT_COLOR_BIT, color | VK_PIPELINE_STAGE_2_COPY_BIT,
                      write, VK_IMAGE_LAYOUT_UNDEFINED, color, write,
                      VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
    }
    VkPipelineStageFlags2 tests =
        VK_PIPELINE_STAGE_2_EARLY_FRAGMENT_TESTS_BIT | VK_PIPELINE_STAGE_2_LATE_FRAGMENT_TESTS_BIT;
    VkAccessFlags2 depth =
        VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT | VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_READ_BIT;
    image_barrier(commands, r->depth.image, VK_IMAGE_ASPECT_DEPTH_BIT, tests, depth,
                  VK_IMAGE_LAYOUT_UNDEFINED, tests, depth, VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_OPTIMAL);
}

static void push(const renderer *r, VkCommandBuffer commands, const view_constants *constants)
{
    vkCmdPushConstants(commands, r->pipelines.layout,
                       VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT, 0, sizeof *constants,
                       constants);
}

static void draw_mesh(const renderer *r, VkCommandBuffer commands, const mesh *m, view_constants *constants)
{
    constants->grid[2] = (int32_t)m->width;
    constants->grid[3] = (int32_t)m->stride;
    push(r, commands, constants);
    vkCmdDrawIndexed(commands, m->num_indices, 1, m->first_index, 0, 0);
}

static void draw(const renderer *r, VkCommandBuffer commands, uint64_t frame)
{
    const pipelines *p = &r->pipelines;
    VkViewport viewport = {0, 0, (float)r->extent.width, (float)r->extent.height, 0, 1};
    VkRect2D area = {{0, 0}, r->extent};
    view_constants constants;
    camera_view(r, frame, &constants);
    vkCmdSetViewport(commands, 0, 1, &viewport);
    vkCmdSetScissor(commands, 0, 1, &area);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, p->layout, 0, 1,
                            &r->sets[frame % r->exchange->num_buffers], 0, NULL);
    vkCmdBindIndexBuffer(commands, r->indices.buffer, 0, VK_INDEX_TYPE_UINT32);
    push(r, commands, &constants);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, p->rim);
    vkCmdDraw(commands, PIPELINES_RIM_VERTICES, 1, 0, 0);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, p->stone);
    draw_mesh(r, commands, &r->stones, &constants);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, p->water);
    draw_mesh(r, commands, &r->water, &constants);
}

static void render(const renderer *r, VkCommandBuffer commands, uint64_t frame)
{
    bool multisampled = r->resolved.view != VK_NULL_HANDLE;
    VkRenderingAttachmentInfo color = {
        .sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
        .imageView = r->color.view,
        .imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
        .resolveMode = multisampled ? VK_RESOLVE_MODE_AVERAGE_BIT : VK_RESOLVE_MODE_NONE,
        .resolveImageView = r->resolved.view,
        .resolveImageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
        .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
        .storeOp = multisampled ? VK_ATTACHMENT_STORE_OP_DONT_CARE : VK_ATTACHMENT_STORE_OP_STORE,
        .clearValue = {.color = {.float32 = {0.02f, 0.03f, 0.04f, 1.0f}}}};
    VkRenderingAttachmentInfo depth = {.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
                                       .imageView = r->depth.view,
                                       .imageLayout = VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_OPTIMAL,
                                       .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                       .storeOp = VK_ATTACHMENT_STORE_OP_DONT_CARE,
                                       .clearValue = {.depthStencil = {1.0f, 0}}};
    VkRenderingInfo rendering = {.sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
                                 .renderArea = {{0, 0}, r->extent},
                                 .layerCount = 1,
                                 .colorAttachmentCount = 1,
                                 .pColorAttachments = &color,
                                 .pDepthAttachment = &depth};
    vkCmdBeginRendering(commands, &rendering);
    draw(r, commands, frame);
    vkCmdEndRendering(commands);
}

static void copy_picture(const renderer *r, VkCommandBuffer commands, const renderer_slot *slot)
{
    VkImage image = r->resolved.image ? r->resolved.image : r->color.image;
    image_barrier(commands, image, VK_IMAGE_ASPECT_COLOR_BIT, VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT,
                  VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                  VK_PIPELINE_STAGE_2_COPY_BIT, VK_ACCESS_2_TRANSFER_READ_BIT,
                  VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                .imageExtent = {r->extent.width, r->extent.height, 1}};
    vkCmdCopyImageToBuffer(commands, image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, slot->picture.buffer, 1,
                           &region);
    VkBufferMemoryBarrier2 to_host = {.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER_2,
                                      .srcStageMask = VK_PIPELINE_STAGE_2_COPY_BIT,
                                      .srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT,
                                      .dstStageMask = VK_PIPELINE_STAGE_2_HOST_BIT,
                                      .dstAccessMask = VK_ACCESS_2_HOST_READ_BIT,
                                      .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                      .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                      .buffer = slot->picture.buffer,
                                      .size = VK_WHOLE_SIZE};
    VkDependencyInfo dependency = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .bufferMemoryBarrierCount = 1,
                                   .pBufferMemoryBarriers = &to_host};
    vkCmdPipelineBarrier2(commands, &dependency);
}

static bool record(renderer *r, const renderer_slot *slot, uint64_t frame, bool picture)
{
    VkCommandBuffer commands = slot->commands;
    uint32_t query = 2u * (uint32_t)(frame % FRAMES_IN_FLIGHT);
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                      .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    if (!vk_ok(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer")) return false;
    if (r->timestamps) {
        vkCmdResetQueryPool(commands, r->timestamps, query, 2);
        vkCmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, r->timestamps, query);
    }
    if (!exchange_record_acquire(r->exchange, commands, frame)) return false;
    prepare_targets(r, commands);
    render(r, commands, frame);
    if (!exchange_record_release(r->exchange, commands, frame)) return false;
    if (r->timestamps) {
        vkCmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, r->timestamps, query + 1);
    }
    if (picture) copy_picture(r, commands, slot);
    return vk_ok(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
}

bool renderer_frame(renderer *r, uint64_t frame, bool picture)
{
    renderer_slot *slot = &r->slots[frame % FRAMES_IN_FLIGHT];
    if (!record(r, slot, frame, picture)) return false;
    VkSemaphoreSubmitInfo wait = exchange_vulkan_wait(r->exchange, frame);
    VkSemaphoreSubmitInfo signal = exchange_vulkan_signal(r->exchange, frame);
    VkCommandBufferSubmitInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                          .commandBuffer = slot->commands};
    VkSubmitInfo2 submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                            .waitSemaphoreInfoCount = 1,
                            .pWaitSemaphoreInfos = &wait,
                            .commandBufferInfoCount = 1,
                            .pCommandBufferInfos = &commands,
                            .signalSemaphoreInfoCount = 1,
                            .pSignalSemaphoreInfos = &signal};
    if (!vk_ok(vkQueueSubmit2(r->vulkan->queue, 1, &submit, slot->done), "vkQueueSubmit2")) return false;
    slot->used = true;
    slot->frame = frame;
    slot->has_picture = picture;
    return true;
}

static double draw_time(const renderer *r, uint64_t frame)
{
    uint64_t ticks[2];
    uint32_t query = 2u * (uint32_t)(frame % FRAMES_IN_FLIGHT);
    if (!r->timestamps || vkGetQueryPoolResults(r->vulkan->device, r->timestamps, query, 2, sizeof ticks,
                                                ticks, sizeof ticks[0], VK_QUERY_RESULT_64_BIT) != VK_SUCCESS)
        return -1.0;
    uint32_t bits = r->vulkan->timestamp_bits;
    uint64_t mask = bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    return 1e-6 * (double)((ticks[1] - ticks[0]) & mask) *
           (double)r->vulkan->properties.limits.timestampPeriod;
}

bool renderer_reclaim(renderer *r, uint64_t frame, renderer_result *result)
{
    memset(result, 0, sizeof *result);
    renderer_slot *slot = &r->slots[frame % FRAMES_IN_FLIGHT];
    if (!slot->used) return true;
    VkDevice device = r->vulkan->device;
    if (!vk_ok(vkWaitForFences(device, 1, &slot->done, VK_TRUE, UINT64_MAX), "vkWaitForFences") ||
        !vk_ok(vkResetFences(device, 1, &slot->done), "vkResetFences"))
        return false;
    slot->used = false;
    result->used = true;
    result->frame = slot->frame;
    result->milliseconds = draw_time(r, slot->frame);
    result->pixels = slot->has_picture ? slot->picture.mapped : NULL;
    return true;
}
