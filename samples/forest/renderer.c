/* SPDX-License-Identifier: MIT */
/* See renderer.h. */
#include "renderer.h"

#include <stdlib.h>
#include <string.h>

#include "../common/vulkan_pipeline.h"

/* shaders/forest/look.comp */
typedef struct look_constants {
    uint64_t root, picture;
    uint32_t width, height, samples;
} look_constants;

enum { TILE = 8 };

static bool create_pipeline(renderer *r)
{
    const vulkan_setup *v = r->vulkan;
    VkPushConstantRange constants = {VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(look_constants)};
    VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                         .pushConstantRangeCount = 1,
                                         .pPushConstantRanges = &constants};
    return vk_ok(vkCreatePipelineLayout(v->device, &layout, NULL, &r->layout),
                 "vkCreatePipelineLayout") &&
           pipeline_create_compute(v, "forest_look.comp.spv", r->layout, &r->look);
}

static bool create_slots(renderer *r)
{
    const vulkan_setup *v = r->vulkan;
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                    .queueFamilyIndex = v->queue_family};
    if (!vk_ok(vkCreateCommandPool(v->device, &pool, NULL, &r->commands), "vkCreateCommandPool"))
        return false;
    for (int i = 0; i < RENDERER_FRAMES_IN_FLIGHT; i++) {
        VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandPool = r->commands,
                                            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                            .commandBufferCount = 1};
        VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
        if (!vk_ok(vkAllocateCommandBuffers(v->device, &info, &r->slots[i].commands),
                   "vkAllocateCommandBuffers") ||
            !vk_ok(vkCreateFence(v->device, &fence, NULL, &r->slots[i].done), "vkCreateFence"))
            return false;
    }
    if (v->timestamp_bits == 0) return true;
    VkQueryPoolCreateInfo queries = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                     .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                     .queryCount = 2 * RENDERER_FRAMES_IN_FLIGHT};
    return vk_ok(vkCreateQueryPool(v->device, &queries, NULL, &r->timestamps), "vkCreateQueryPool");
}

bool renderer_create(renderer *r, const vulkan_setup *vulkan, VkExtent2D extent, uint32_t samples)
{
    memset(r, 0, sizeof *r);
    r->vulkan = vulkan;
    r->extent = extent;
    r->samples = samples;
    return create_pipeline(r) && create_slots(r);
}

void renderer_destroy(renderer *r)
{
    if (!r->vulkan) return;
    VkDevice device = r->vulkan->device;
    (void)vkDeviceWaitIdle(device);
    for (int i = 0; i < RENDERER_FRAMES_IN_FLIGHT; i++)
        vkDestroyFence(device, r->slots[i].done, NULL);
    vkDestroyQueryPool(device, r->timestamps, NULL);
    vkDestroyCommandPool(device, r->commands, NULL);
    vkDestroyPipeline(device, r->look, NULL);
    vkDestroyPipelineLayout(device, r->layout, NULL);
    memset(r, 0, sizeof *r);
}

static bool record(renderer *r, const memory_mode *mode, memory *m, VkCommandBuffer commands,
                   uint32_t query)
{
    /* The first node is the root. */
    look_constants constants = {.root = m->seen.nodes,
                                .picture = m->seen.picture,
                                .width = r->extent.width,
                                .height = r->extent.height,
                                .samples = r->samples};
    VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                     .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    if (!vk_ok(vkBeginCommandBuffer(commands, &info), "vkBeginCommandBuffer")) return false;
    if (r->timestamps) {
        vkCmdResetQueryPool(commands, r->timestamps, query, 2);
        vkCmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, r->timestamps, query);
    }
    if (!mode->record_acquire(m, commands)) return false;
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, r->look);
    vkCmdPushConstants(commands, r->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof constants,
                       &constants);
    vkCmdDispatch(commands, (r->extent.width + TILE - 1) / TILE,
                  (r->extent.height + TILE - 1) / TILE, 1);
    if (!mode->record_release(m, commands)) return false;
    if (r->timestamps)
        vkCmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, r->timestamps,
                             query + 1);
    return vk_ok(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
}

bool renderer_frame(renderer *r, const memory_mode *mode, memory *m, uint64_t frame)
{
    const vulkan_setup *v = r->vulkan;
    uint32_t index = (uint32_t)(frame % RENDERER_FRAMES_IN_FLIGHT);
    renderer_slot *slot = &r->slots[index];
    if (!record(r, mode, m, slot->commands, 2 * index) ||
        !vk_ok(vkResetFences(v->device, 1, &slot->done), "vkResetFences"))
        return false;
    VkSemaphoreSubmitInfo wait = vulkan_submit_point(culv_vk_semaphore_handle(m->ready), frame + 1,
                                                     VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
    VkSemaphoreSubmitInfo signal = vulkan_submit_point(
        culv_vk_semaphore_handle(m->drawn), frame + 1, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
    if (!vulkan_submit(v->queue, slot->commands, &wait, &signal, slot->done)) return false;
    slot->used = true;
    slot->frame = frame;
    return true;
}

bool renderer_reclaim(renderer *r, uint64_t frame, renderer_result *out)
{
    uint32_t index = (uint32_t)(frame % RENDERER_FRAMES_IN_FLIGHT);
    renderer_slot *slot = &r->slots[index];
    *out = (renderer_result){.used = slot->used, .frame = slot->frame};
    if (!slot->used) return true;
    if (!vk_ok(vkWaitForFences(r->vulkan->device, 1, &slot->done, VK_TRUE, UINT64_MAX),
               "vkWaitForFences"))
        return false;
    slot->used = false;
    out->milliseconds = vulkan_elapsed_ms(r->vulkan, r->timestamps, 2 * index);
    return true;
}
