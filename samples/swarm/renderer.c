/* SPDX-License-Identifier: MIT */
/* See renderer.h. */
#include "renderer.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "../common/report.h"

/* Added to by many points; every device blends it (Vulkan, "Required Format Support"). */
#define LIGHT_FORMAT   VK_FORMAT_R16G16B16A16_SFLOAT
#define PICTURE_FORMAT VK_FORMAT_R8G8B8A8_SRGB
/* Points that a pixel has on average, for which the tone is made. */
#define DENSITY 0.11f

/* shaders/swarm/points.vert */
typedef struct view_constants {
    float view_projection[16];
    float time;
} view_constants;

static bool create_images(renderer *r)
{
    const vulkan_setup *v = r->vulkan;
    VkImageUsageFlags target = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT;
    if (!vulkan_image_create(v, LIGHT_FORMAT, r->extent, VK_SAMPLE_COUNT_1_BIT,
                             target | VK_IMAGE_USAGE_SAMPLED_BIT, VK_IMAGE_ASPECT_COLOR_BIT,
                             &r->light) ||
        !vulkan_image_create(v, PICTURE_FORMAT, r->extent, VK_SAMPLE_COUNT_1_BIT,
                             target | VK_IMAGE_USAGE_TRANSFER_SRC_BIT, VK_IMAGE_ASPECT_COLOR_BIT,
                             &r->picture))
        return false;
    for (int i = 0; i < RENDERER_FRAMES_IN_FLIGHT; i++) {
        if (!vulkan_buffer_create(v, (VkDeviceSize)r->extent.width * r->extent.height * 4u,
                                  VK_BUFFER_USAGE_TRANSFER_DST_BIT, true, &r->slots[i].picture))
            return false;
    }
    return true;
}

/* The second pass reads what the first one has drawn. */
static bool create_descriptors(renderer *r)
{
    VkDevice device = r->vulkan->device;
    VkSamplerCreateInfo sampler = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
                                   .addressModeU = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
                                   .addressModeV = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
                                   .addressModeW = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE};
    if (!vk_ok(vkCreateSampler(device, &sampler, NULL, &r->sampler), "vkCreateSampler"))
        return false;
    VkDescriptorSetLayoutBinding binding = {.descriptorType =
                                                VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
                                            .descriptorCount = 1,
                                            .stageFlags = VK_SHADER_STAGE_FRAGMENT_BIT,
                                            .pImmutableSamplers = &r->sampler};
    VkDescriptorSetLayoutCreateInfo layout = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = 1,
        .pBindings = &binding};
    VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1};
    VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                       .maxSets = 1,
                                       .poolSizeCount = 1,
                                       .pPoolSizes = &size};
    VkDescriptorSetAllocateInfo set = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                       .descriptorSetCount = 1,
                                       .pSetLayouts = &r->set_layout};
    if (!vk_ok(vkCreateDescriptorSetLayout(device, &layout, NULL, &r->set_layout),
               "vkCreateDescriptorSetLayout") ||
        !vk_ok(vkCreateDescriptorPool(device, &pool, NULL, &r->descriptors),
               "vkCreateDescriptorPool"))
        return false;
    set.descriptorPool = r->descriptors;
    if (!vk_ok(vkAllocateDescriptorSets(device, &set, &r->set), "vkAllocateDescriptorSets"))
        return false;
    VkDescriptorImageInfo light = {.imageView = r->light.view,
                                   .imageLayout = VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .dstSet = r->set,
                                  .descriptorCount = 1,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
                                  .pImageInfo = &light};
    vkUpdateDescriptorSets(device, 1, &write, 0, NULL);
    return true;
}

static bool create_layout(const renderer *r, VkShaderStageFlags stage, uint32_t bytes, bool has_set,
                          VkPipelineLayout *out)
{
    VkPushConstantRange constants = {stage, 0, bytes};
    VkPipelineLayoutCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                       .setLayoutCount = has_set ? 1 : 0,
                                       .pSetLayouts = &r->set_layout,
                                       .pushConstantRangeCount = 1,
                                       .pPushConstantRanges = &constants};
    return vk_ok(vkCreatePipelineLayout(r->vulkan->device, &info, NULL, out),
                 "vkCreatePipelineLayout");
}

static bool create_pipelines(renderer *r)
{
    if (!create_layout(r, VK_SHADER_STAGE_VERTEX_BIT, sizeof(view_constants), false,
                       &r->points_layout) ||
        !create_layout(r, VK_SHADER_STAGE_FRAGMENT_BIT, sizeof(float), true, &r->tone_layout))
        return false;
    /* The vector's memory is the vertex buffer. */
    const VkVertexInputBindingDescription binding = {.stride = sizeof(particle)};
    const VkVertexInputAttributeDescription attributes[] = {
        {.location = 0, .format = VK_FORMAT_R32G32B32_SFLOAT, .offset = offsetof(particle, x)},
        {.location = 1, .format = VK_FORMAT_R32G32B32_SFLOAT, .offset = offsetof(particle, vx)},
        {.location = 2, .format = VK_FORMAT_R32_SFLOAT, .offset = offsetof(particle, born)}};
    const VkPipelineVertexInputStateCreateInfo input = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO,
        .vertexBindingDescriptionCount = 1,
        .pVertexBindingDescriptions = &binding,
        .vertexAttributeDescriptionCount = 3,
        .pVertexAttributeDescriptions = attributes};
    pipeline_desc points = {.vertex = "swarm_points.vert.spv",
                            .fragment = "swarm_points.frag.spv",
                            .layout = r->points_layout,
                            .color_format = LIGHT_FORMAT,
                            .samples = VK_SAMPLE_COUNT_1_BIT,
                            .blend = PIPELINE_ADD,
                            .points = true,
                            .input = &input};
    pipeline_desc tone = {.vertex = "swarm_tone.vert.spv",
                          .fragment = "swarm_tone.frag.spv",
                          .layout = r->tone_layout,
                          .color_format = PICTURE_FORMAT,
                          .samples = VK_SAMPLE_COUNT_1_BIT};
    return pipeline_create(r->vulkan, &points, &r->points) &&
           pipeline_create(r->vulkan, &tone, &r->tone);
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

bool renderer_create(renderer *r, const vulkan_setup *vulkan, particles *p, queue *q,
                     VkExtent2D extent)
{
    memset(r, 0, sizeof *r);
    r->vulkan = vulkan;
    r->particles = p;
    r->queue = q;
    r->extent = extent;
    return create_images(r) && create_descriptors(r) && create_pipelines(r) && create_slots(r);
}

void renderer_destroy(renderer *r)
{
    if (!r->vulkan) return;
    VkDevice device = r->vulkan->device;
    (void)vkDeviceWaitIdle(device);
    for (int i = 0; i < RENDERER_FRAMES_IN_FLIGHT; i++) {
        vkDestroyFence(device, r->slots[i].done, NULL);
        vulkan_buffer_destroy(r->vulkan, &r->slots[i].picture);
    }
    vkDestroyQueryPool(device, r->timestamps, NULL);
    vkDestroyCommandPool(device, r->commands, NULL);
    vkDestroyPipeline(device, r->points, NULL);
    vkDestroyPipeline(device, r->tone, NULL);
    vkDestroyPipelineLayout(device, r->points_layout, NULL);
    vkDestroyPipelineLayout(device, r->tone_layout, NULL);
    vkDestroyDescriptorPool(device, r->descriptors, NULL);
    vkDestroyDescriptorSetLayout(device, r->set_layout, NULL);
    vkDestroySampler(device, r->sampler, NULL);
    vulkan_image_destroy(r->vulkan, &r->light);
    vulkan_image_destroy(r->vulkan, &r->picture);
    memset(r, 0, sizeof *r);
}

/* Recording ------------------------------------------------------------------------------------ */

/* Slowly around the vertical axis, from a little above. There is no depth test: all depths are
 * alike. */
static void look(VkExtent2D extent, float time, float m[16])
{
    const float turn = 0.3f + 0.03f * time, rise = 0.1f, distance = 4.2f, focal = 2.8f,
                height = 0.6f;
    const float ct = cosf(turn), st = sinf(turn), cr = cosf(rise), sr = sinf(rise);
    const float across = focal * (float)extent.height / (float)extent.width;
    const float right[] = {ct, st, 0}, up[] = {-sr * st, sr * ct, cr},
                away[] = {-cr * st, cr * ct, -sr};
    for (int i = 0; i < 3; i++) {
        m[4 * i + 0] = across * right[i];
        m[4 * i + 1] = -focal * up[i]; /* Vulkan's y points down */
        m[4 * i + 2] = 0.5f * away[i];
        m[4 * i + 3] = away[i];
    }
    m[12] = -height * m[8];
    m[13] = -height * m[9];
    m[15] = distance - height * m[11];
    m[14] = 0.5f * m[15];
}

static const vulkan_use drawing = {VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT,
                                   VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT |
                                       VK_ACCESS_2_COLOR_ATTACHMENT_READ_BIT,
                                   VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL};
static const vulkan_use sampling = {VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT,
                                    VK_ACCESS_2_SHADER_SAMPLED_READ_BIT,
                                    VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL};
static const vulkan_use copying = {VK_PIPELINE_STAGE_2_COPY_BIT, VK_ACCESS_2_TRANSFER_READ_BIT,
                                   VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL};

/* Both images are every frame's: what comes before is the last frame's use, and its contents are
 * not needed. */
static void begin(const renderer *r, VkCommandBuffer commands, const vulkan_image *image,
                  vulkan_use before, VkPipeline pipeline)
{
    before.layout = VK_IMAGE_LAYOUT_UNDEFINED;
    vulkan_image_barrier(commands, image->image, VK_IMAGE_ASPECT_COLOR_BIT, before, drawing);
    VkRenderingAttachmentInfo color = {.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
                                       .imageView = image->view,
                                       .imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                                       .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                       .storeOp = VK_ATTACHMENT_STORE_OP_STORE};
    VkRenderingInfo rendering = {.sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
                                 .renderArea = {{0, 0}, r->extent},
                                 .layerCount = 1,
                                 .colorAttachmentCount = 1,
                                 .pColorAttachments = &color};
    VkViewport viewport = {0, 0, (float)r->extent.width, (float)r->extent.height, 0, 1};
    vkCmdBeginRendering(commands, &rendering);
    vkCmdSetViewport(commands, 0, 1, &viewport);
    vkCmdSetScissor(commands, 0, 1, &rendering.renderArea);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
}

/* A draw a buffer. */
static void draw_points(const renderer *r, VkCommandBuffer commands, float time)
{
    view_constants constants = {.time = time};
    look(r->extent, time, constants.view_projection);
    begin(r, commands, &r->light, sampling, r->points);
    vkCmdPushConstants(commands, r->points_layout, VK_SHADER_STAGE_VERTEX_BIT, 0, sizeof constants,
                       &constants);
    for (size_t i = 0; i < r->particles->num_parts; i++) {
        const culv_vk_vector_view_buffer *part = &r->particles->parts[i];
        uint32_t count = particles_in(r->particles, part);
        if (count == 0) continue;
        const VkDeviceSize at = 0;
        vkCmdBindVertexBuffers(commands, 0, 1, &part->buffer, &at);
        vkCmdDraw(commands, count, 1, 0, 0);
    }
    vkCmdEndRendering(commands);
}

static void draw_tone(const renderer *r, VkCommandBuffer commands)
{
    /* As bright with many particles as with few. */
    float pixels = (float)r->extent.width * (float)r->extent.height;
    float exposure = DENSITY * pixels / (float)r->particles->count;
    /* The last frame copied its picture only where it was wanted. */
    vulkan_use before = drawing;
    before.stage |= copying.stage;
    vulkan_image_barrier(commands, r->light.image, VK_IMAGE_ASPECT_COLOR_BIT, drawing, sampling);
    begin(r, commands, &r->picture, before, r->tone);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, r->tone_layout, 0, 1,
                            &r->set, 0, NULL);
    vkCmdPushConstants(commands, r->tone_layout, VK_SHADER_STAGE_FRAGMENT_BIT, 0, sizeof exposure,
                       &exposure);
    vkCmdDraw(commands, 3, 1, 0, 0);
    vkCmdEndRendering(commands);
}

static bool record(renderer *r, const renderer_slot *slot, uint64_t frame, uint32_t query,
                   float time)
{
    VkCommandBuffer commands = slot->commands;
    const VkPipelineStageFlags2 reading = VK_PIPELINE_STAGE_2_VERTEX_ATTRIBUTE_INPUT_BIT;
    VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                     .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    if (!vk_ok(vkBeginCommandBuffer(commands, &info), "vkBeginCommandBuffer")) return false;
    if (r->queue && !queue_record(r->queue, commands, frame)) return false;
    if (r->timestamps) {
        vkCmdResetQueryPool(commands, r->timestamps, query, 2);
        vkCmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, r->timestamps, query);
    }
    if (!(r->queue ? queue_record_acquire(r->queue, commands)
                   : particles_record_acquire(r->particles, commands, CULV_VK_USE_VERTEX_BUFFER,
                                              reading)))
        return false;
    draw_points(r, commands, time);
    if (!(r->queue ? queue_record_release(r->queue, commands)
                   : particles_record_release(r->particles, commands, CULV_VK_USE_VERTEX_BUFFER,
                                              reading)))
        return false;
    draw_tone(r, commands);
    if (r->timestamps)
        vkCmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, r->timestamps,
                             query + 1);
    if (slot->has_picture) {
        vulkan_image_barrier(commands, r->picture.image, VK_IMAGE_ASPECT_COLOR_BIT, drawing,
                             copying);
        vulkan_copy_to_host(commands, r->picture.image, r->extent, &slot->picture);
    }
    return vk_ok(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
}

/* Frames --------------------------------------------------------------------------------------- */

bool renderer_frame(renderer *r, uint64_t frame, float time, bool picture)
{
    const vulkan_setup *v = r->vulkan;
    uint32_t index = (uint32_t)(frame % RENDERER_FRAMES_IN_FLIGHT);
    renderer_slot *slot = &r->slots[index];
    slot->has_picture = picture;
    if (!record(r, slot, frame, 2 * index, time) ||
        !vk_ok(vkResetFences(v->device, 1, &slot->done), "vkResetFences"))
        return false;
    bool in_order = r->queue && !r->queue->async; /* one queue has both sides */
    VkSemaphoreSubmitInfo wait =
        vulkan_submit_point(culv_vk_semaphore_handle(r->particles->ready), frame + 1,
                            VK_PIPELINE_STAGE_2_VERTEX_ATTRIBUTE_INPUT_BIT);
    VkSemaphoreSubmitInfo signal =
        vulkan_submit_point(culv_vk_semaphore_handle(r->particles->drawn), frame + 1,
                            VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
    if (!vulkan_submit(v->queue, slot->commands, in_order ? NULL : &wait, in_order ? NULL : &signal,
                       slot->done))
        return false;
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
    out->pixels = slot->has_picture ? slot->picture.mapped : NULL;
    return true;
}
