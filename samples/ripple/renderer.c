/* SPDX-License-Identifier: MIT */
/* ripple's renderer. */
#include "renderer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../common/report.h"
#include "camera.h"

static bool create_descriptors(renderer *r)
{
    const vulkan_setup *v = r->vulkan;
    VkDescriptorPoolSize sizes[] = {
        {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, EXCHANGE_MAX_BUFFERS},
        {VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, EXCHANGE_MAX_BUFFERS}};
    VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                       .maxSets = EXCHANGE_MAX_BUFFERS,
                                       .poolSizeCount = 2,
                                       .pPoolSizes = sizes};
    if (!vk_ok(vkCreateDescriptorPool(v->device, &pool, NULL, &r->descriptor_pool),
               "vkCreateDescriptorPool"))
        return false;
    for (uint32_t i = 0; i < r->exchange->num_buffers; i++) {
        VkDescriptorSetAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                            .descriptorPool = r->descriptor_pool,
                                            .descriptorSetCount = 1,
                                            .pSetLayouts = &r->pipelines.set_layout};
        if (!vk_ok(vkAllocateDescriptorSets(v->device, &info, &r->sets[i]),
                   "vkAllocateDescriptorSets"))
            return false;
        const exchange_buffer *from = &r->exchange->buffers[i];
        VkDescriptorBufferInfo cells = {from->cells, 0, r->exchange->cells_size};
        VkDescriptorImageInfo tint = {.imageView = from->tint_view,
                                      .imageLayout = VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL};
        VkWriteDescriptorSet writes[] = {
            {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
             .dstSet = r->sets[i],
             .dstBinding = 0,
             .descriptorCount = 1,
             .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
             .pBufferInfo = &cells},
            {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
             .dstSet = r->sets[i],
             .dstBinding = 1,
             .descriptorCount = 1,
             .descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
             .pImageInfo = &tint}};
        vkUpdateDescriptorSets(v->device, 2, writes, 0, NULL);
    }
    return true;
}

static bool create_slots(renderer *r)
{
    const vulkan_setup *v = r->vulkan;
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                    .queueFamilyIndex = v->queue_family};
    if (!vk_ok(vkCreateCommandPool(v->device, &pool, NULL, &r->command_pool),
               "vkCreateCommandPool"))
        return false;
    for (uint32_t i = 0; i < r->frames_in_flight; i++) {
        VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandPool = r->command_pool,
                                            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                            .commandBufferCount = 1};
        /* The timeline `drawn` would do, but validation layers do not follow a semaphore that was
         * exported. */
        VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
        if (!vk_ok(vkAllocateCommandBuffers(v->device, &info, &r->slots[i].commands),
                   "vkAllocateCommandBuffers") ||
            !vk_ok(vkCreateFence(v->device, &fence, NULL, &r->slots[i].done), "vkCreateFence"))
            return false;
    }
    if (v->timestamp_bits == 0) return true;
    VkQueryPoolCreateInfo queries = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                     .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                     .queryCount = 2 * r->frames_in_flight};
    return vk_ok(vkCreateQueryPool(v->device, &queries, NULL, &r->timestamps), "vkCreateQueryPool");
}

/* What depends on the picture's size. */
static bool create_targets(renderer *r, VkExtent2D extent)
{
    for (uint32_t i = 0; i < r->frames_in_flight; i++) {
        if (!vulkan_buffer_create(r->vulkan, (VkDeviceSize)extent.width * extent.height * 4u,
                                  VK_BUFFER_USAGE_TRANSFER_DST_BIT, true, &r->slots[i].picture))
            return false;
    }
    return targets_create(&r->targets, r->vulkan, &r->pipelines, extent);
}

static void destroy_targets(renderer *r)
{
    for (uint32_t i = 0; i < r->frames_in_flight; i++)
        vulkan_buffer_destroy(r->vulkan, &r->slots[i].picture);
    targets_destroy(&r->targets, r->vulkan);
}

static bool create_meshes(renderer *r)
{
    meshes made;
    if (!mesh_make(&made, r->scene, r->targets.extent.width)) return false;
    r->water = made.water;
    r->stones = made.stones;
    bool fine = vulkan_buffer_create(r->vulkan, made.size, VK_BUFFER_USAGE_INDEX_BUFFER_BIT, true,
                                     &r->indices);
    if (fine) memcpy(r->indices.mapped, made.indices, made.size);
    free(made.indices);
    return fine;
}

bool renderer_create(renderer *r, const vulkan_setup *vulkan, exchange *e, const scene *basin,
                     VkExtent2D extent, uint32_t frames_in_flight)
{
    memset(r, 0, sizeof *r);
    r->vulkan = vulkan;
    r->exchange = e;
    r->scene = basin;
    r->frames_in_flight = frames_in_flight;
    return pipelines_create(&r->pipelines, vulkan) && create_targets(r, extent) &&
           create_meshes(r) && create_descriptors(r) && create_slots(r);
}

void renderer_destroy(renderer *r)
{
    if (!r->vulkan) return;
    const vulkan_setup *v = r->vulkan;
    (void)vkDeviceWaitIdle(v->device);
    destroy_targets(r);
    for (uint32_t i = 0; i < r->frames_in_flight; i++)
        vkDestroyFence(v->device, r->slots[i].done, NULL);
    vkDestroyQueryPool(v->device, r->timestamps, NULL);
    vkDestroyCommandPool(v->device, r->command_pool, NULL);
    vkDestroyDescriptorPool(v->device, r->descriptor_pool, NULL);
    vulkan_buffer_destroy(v, &r->indices);
    pipelines_destroy(&r->pipelines, v);
    memset(r, 0, sizeof *r);
}

static void push(const renderer *r, VkCommandBuffer commands, const view_constants *constants)
{
    vkCmdPushConstants(commands, r->pipelines.layout,
                       VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT, 0,
                       sizeof *constants, constants);
}

static void draw_mesh(const renderer *r, VkCommandBuffer commands, const mesh *m,
                      view_constants *constants)
{
    constants->grid[2] = (int32_t)m->width;
    constants->grid[3] = (int32_t)m->stride;
    push(r, commands, constants);
    vkCmdDrawIndexed(commands, m->num_indices, 1, m->first_index, 0, 0);
}

static void draw(const renderer *r, VkCommandBuffer commands, uint64_t frame)
{
    const pipelines *p = &r->pipelines;
    VkExtent2D extent = r->targets.extent;
    VkViewport viewport = {0, 0, (float)extent.width, (float)extent.height, 0, 1};
    VkRect2D area = {{0, 0}, extent};
    view_constants constants;
    camera_look(r->scene, extent, frame, &constants);
    vkCmdSetViewport(commands, 0, 1, &viewport);
    vkCmdSetScissor(commands, 0, 1, &area);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, p->layout, 0, 1,
                            &r->sets[r->exchange->drawing], 0, NULL);
    vkCmdBindIndexBuffer(commands, r->indices.buffer, 0, VK_INDEX_TYPE_UINT32);
    push(r, commands, &constants);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, p->rim);
    vkCmdDraw(commands, PIPELINES_RIM_VERTICES, 1, 0, 0);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, p->stone);
    draw_mesh(r, commands, &r->stones, &constants);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, p->water);
    draw_mesh(r, commands, &r->water, &constants);
}

static bool record(renderer *r, VkCommandBuffer commands, uint64_t frame, bool picture)
{
    uint32_t slot = (uint32_t)(frame % r->frames_in_flight), query = 2u * slot;
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                      .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    if (!vk_ok(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer")) return false;
    if (!exchange_record_solver(r->exchange, commands, frame)) return false;
    if (r->timestamps) {
        vkCmdResetQueryPool(commands, r->timestamps, query, 2);
        vkCmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, r->timestamps, query);
    }
    if (!exchange_record_acquire(r->exchange, commands, frame)) return false;
    targets_begin(&r->targets, commands);
    draw(r, commands, frame);
    targets_end(commands);
    if (!exchange_record_release(r->exchange, commands, frame)) return false;
    if (r->timestamps) {
        vkCmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, r->timestamps,
                             query + 1);
    }
    if (picture) {
        targets_finish(&r->targets, commands);
        vulkan_copy_to_host(commands, targets_final(&r->targets), r->targets.extent,
                            &r->slots[slot].picture);
    }
    return vk_ok(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
}

bool renderer_frame(renderer *r, uint64_t frame, bool picture)
{
    renderer_slot *slot = &r->slots[frame % r->frames_in_flight];
    exchange *e = r->exchange;
    bool fenced;
    if (!exchange_begin_drawing(e, frame) || !record(r, slot->commands, frame, picture) ||
        !vk_ok(vkResetFences(r->vulkan->device, 1, &slot->done), "vkResetFences"))
        return false;
    exchange_submission submission = {.commands = slot->commands, .fence = slot->done};
    if (!exchange_draw(e, frame, &submission, &fenced)) return false;
    slot->used = true;
    slot->frame = frame;
    slot->has_picture = picture;
    slot->covered = VK_NULL_HANDLE;
    while (fenced && r->first_uncovered <= frame)
        r->slots[r->first_uncovered++ % r->frames_in_flight].covered = slot->done;
    return true;
}

bool renderer_reclaim(renderer *r, uint64_t frame, renderer_result *result)
{
    memset(result, 0, sizeof *result);
    renderer_slot *slot = &r->slots[frame % r->frames_in_flight];
    if (!slot->used) return true;
    VkDevice device = r->vulkan->device;
    if (!vk_ok(vkWaitForFences(device, 1, &slot->covered, VK_TRUE, UINT64_MAX), "vkWaitForFences"))
        return false;
    slot->used = false;
    result->used = true;
    result->frame = slot->frame;
    result->milliseconds = vulkan_elapsed_ms(r->vulkan, r->timestamps,
                                             2u * (uint32_t)(slot->frame % r->frames_in_flight));
    result->pixels = slot->has_picture ? slot->picture.mapped : NULL;
    return true;
}
