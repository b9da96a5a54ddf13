/* SPDX-License-Identifier: MIT */
/* ripple's renderer. */
#include "renderer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ripple's graphics pipelines. */

static bool create_layout(pipelines *p, const vulkan_setup *v)
{
    const VkShaderStageFlags stages = VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT;
    VkSamplerCreateInfo sampler = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
                                   .magFilter = VK_FILTER_LINEAR,
                                   .minFilter = VK_FILTER_LINEAR,
                                   .addressModeU = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
                                   .addressModeV = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
                                   .addressModeW = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE};
    if (!VK_MADE(vkCreateSampler(v->device, &sampler, NULL, &p->sampler), "vkCreateSampler",
                 &p->sampler))
        return false;
    VkDescriptorSetLayoutBinding bindings[] = {
        {.binding = 0,
         .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
         .descriptorCount = 1,
         .stageFlags = stages},
        {.binding = 1,
         .descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
         .descriptorCount = 1,
         .stageFlags = VK_SHADER_STAGE_FRAGMENT_BIT,
         .pImmutableSamplers = &p->sampler}};
    VkDescriptorSetLayoutCreateInfo set = {.sType =
                                               VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                           .bindingCount = 2,
                                           .pBindings = bindings};
    if (!VK_MADE(vkCreateDescriptorSetLayout(v->device, &set, NULL, &p->set_layout),
                 "vkCreateDescriptorSetLayout", &p->set_layout))
        return false;
    VkPushConstantRange constants = {stages, 0, sizeof(view_constants)};
    VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                         .setLayoutCount = 1,
                                         .pSetLayouts = &p->set_layout,
                                         .pushConstantRangeCount = 1,
                                         .pPushConstantRanges = &constants};
    return VK_MADE(vkCreatePipelineLayout(v->device, &layout, NULL, &p->layout),
                   "vkCreatePipelineLayout", &p->layout);
}

static bool create_pipeline(const pipelines *p, const vulkan_setup *v, const char *vertex,
                            const char *fragment, VkPipeline *out)
{
    pipeline_desc desc = {.vertex = vertex,
                          .fragment = fragment,
                          .layout = p->layout,
                          .color_format = PIPELINES_COLOR_FORMAT,
                          .depth_format = p->depth_format,
                          .samples = p->samples};
    return pipeline_create(v, &desc, out);
}

static bool pipelines_create(pipelines *p, const vulkan_setup *v)
{
    const VkPhysicalDeviceLimits *limits = &v->properties.limits;
    VkSampleCountFlags counts =
        limits->framebufferColorSampleCounts & limits->framebufferDepthSampleCounts;
    p->samples = counts & VK_SAMPLE_COUNT_4_BIT ? VK_SAMPLE_COUNT_4_BIT : VK_SAMPLE_COUNT_1_BIT;
    /* One of the two is always there (Vulkan specification, "Required Format Support"). */
    VkFormatProperties format;
    vkGetPhysicalDeviceFormatProperties(v->physical_device, VK_FORMAT_D32_SFLOAT, &format);
    p->depth_format = format.optimalTilingFeatures & VK_FORMAT_FEATURE_DEPTH_STENCIL_ATTACHMENT_BIT
                          ? VK_FORMAT_D32_SFLOAT
                          : VK_FORMAT_X8_D24_UNORM_PACK32;
    return create_layout(p, v) &&
           create_pipeline(p, v, "ripple_water.vert.spv", "ripple_water.frag.spv", &p->water) &&
           create_pipeline(p, v, "ripple_stone.vert.spv", "ripple_stone.frag.spv", &p->stone) &&
           create_pipeline(p, v, "ripple_rim.vert.spv", "ripple_rim.frag.spv", &p->rim);
}

static void pipelines_destroy(pipelines *p, const vulkan_setup *v)
{
    vkDestroyPipeline(v->device, p->water, NULL);
    vkDestroyPipeline(v->device, p->stone, NULL);
    vkDestroyPipeline(v->device, p->rim, NULL);
    vkDestroyPipelineLayout(v->device, p->layout, NULL);
    vkDestroyDescriptorSetLayout(v->device, p->set_layout, NULL);
    vkDestroySampler(v->device, p->sampler, NULL);
}

/* ripple's render targets. */

static const vulkan_use drawing = {VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT,
                                   VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT |
                                       VK_ACCESS_2_COLOR_ATTACHMENT_READ_BIT,
                                   VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL};

static bool targets_create(targets *t, const vulkan_setup *v, const pipelines *p, VkExtent2D extent)
{
    t->extent = extent;
    bool multisampled = p->samples != VK_SAMPLE_COUNT_1_BIT;
    VkImageUsageFlags color = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT;
    VkImageUsageFlags final = color | VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
    if (!vulkan_image_create(v, PIPELINES_COLOR_FORMAT, extent, p->samples,
                             multisampled ? color : final, VK_IMAGE_ASPECT_COLOR_BIT, &t->color) ||
        !vulkan_image_create(v, p->depth_format, extent, p->samples,
                             VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT, VK_IMAGE_ASPECT_DEPTH_BIT,
                             &t->depth))
        return false;
    return !multisampled ||
           vulkan_image_create(v, PIPELINES_COLOR_FORMAT, extent, VK_SAMPLE_COUNT_1_BIT, final,
                               VK_IMAGE_ASPECT_COLOR_BIT, &t->resolved);
}

static void targets_destroy(targets *t, const vulkan_setup *v)
{
    vulkan_image_destroy(v, &t->color);
    vulkan_image_destroy(v, &t->resolved);
    vulkan_image_destroy(v, &t->depth);
}

static VkImage targets_final(const targets *t)
{
    return t->resolved.image ? t->resolved.image : t->color.image;
}

/* The targets are shared by all frames: a frame's writes come after the previous frame's reads and
 * writes. */
static void prepare(const targets *t, VkCommandBuffer commands)
{
    vulkan_use before = {drawing.stage | VK_PIPELINE_STAGE_2_COPY_BIT, drawing.access,
                         VK_IMAGE_LAYOUT_UNDEFINED};
    vulkan_image_barrier(commands, t->color.image, VK_IMAGE_ASPECT_COLOR_BIT, before, drawing);
    if (t->resolved.image)
        vulkan_image_barrier(commands, t->resolved.image, VK_IMAGE_ASPECT_COLOR_BIT, before,
                             drawing);
    vulkan_use tests = {VK_PIPELINE_STAGE_2_EARLY_FRAGMENT_TESTS_BIT |
                            VK_PIPELINE_STAGE_2_LATE_FRAGMENT_TESTS_BIT,
                        VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT |
                            VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_READ_BIT,
                        VK_IMAGE_LAYOUT_UNDEFINED};
    vulkan_use depth = tests;
    depth.layout = VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_OPTIMAL;
    vulkan_image_barrier(commands, t->depth.image, VK_IMAGE_ASPECT_DEPTH_BIT, tests, depth);
}

/* Between these, drawing goes to the targets. After it the final image is a color attachment. */
static void targets_begin(const targets *t, VkCommandBuffer commands)
{
    prepare(t, commands);
    bool multisampled = t->resolved.view != VK_NULL_HANDLE;
    VkRenderingAttachmentInfo color = {
        .sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
        .imageView = t->color.view,
        .imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
        .resolveMode = multisampled ? VK_RESOLVE_MODE_AVERAGE_BIT : VK_RESOLVE_MODE_NONE,
        .resolveImageView = t->resolved.view,
        .resolveImageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
        .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
        .storeOp = multisampled ? VK_ATTACHMENT_STORE_OP_DONT_CARE : VK_ATTACHMENT_STORE_OP_STORE,
        .clearValue = {.color = {.float32 = {0.02f, 0.03f, 0.04f, 1.0f}}}};
    VkRenderingAttachmentInfo depth = {.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
                                       .imageView = t->depth.view,
                                       .imageLayout = VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_OPTIMAL,
                                       .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                       .storeOp = VK_ATTACHMENT_STORE_OP_DONT_CARE,
                                       .clearValue = {.depthStencil = {1.0f, 0}}};
    VkRenderingInfo rendering = {.sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
                                 .renderArea = {{0, 0}, t->extent},
                                 .layerCount = 1,
                                 .colorAttachmentCount = 1,
                                 .pColorAttachments = &color,
                                 .pDepthAttachment = &depth};
    vkCmdBeginRendering(commands, &rendering);
}

static void targets_end(VkCommandBuffer commands)
{
    vkCmdEndRendering(commands);
}

/* From drawing to copying from it (TRANSFER_SRC_OPTIMAL). */
static void targets_finish(const targets *t, VkCommandBuffer commands)
{
    vulkan_use copying = {VK_PIPELINE_STAGE_2_COPY_BIT, VK_ACCESS_2_TRANSFER_READ_BIT,
                          VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL};
    vulkan_image_barrier(commands, targets_final(t), VK_IMAGE_ASPECT_COLOR_BIT, drawing, copying);
}

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
    if (!VK_MADE(vkCreateDescriptorPool(v->device, &pool, NULL, &r->descriptor_pool),
                 "vkCreateDescriptorPool", &r->descriptor_pool))
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
    if (!VK_MADE(vkCreateCommandPool(v->device, &pool, NULL, &r->command_pool),
                 "vkCreateCommandPool", &r->command_pool))
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
            !VK_MADE(vkCreateFence(v->device, &fence, NULL, &r->slots[i].done), "vkCreateFence",
                     &r->slots[i].done))
            return false;
    }
    if (v->timestamp_bits == 0) return true;
    VkQueryPoolCreateInfo queries = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                     .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                     .queryCount = 2 * r->frames_in_flight};
    return VK_MADE(vkCreateQueryPool(v->device, &queries, NULL, &r->timestamps),
                   "vkCreateQueryPool", &r->timestamps);
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
    exchange *e = r->exchange;
    const exchange_path *path = e->path;
    uint32_t slot = (uint32_t)(frame % r->frames_in_flight), query = 2u * slot;
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                      .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    if (!vk_ok(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer")) return false;
    if (path->record_solver && !path->record_solver(e, commands, frame)) return false;
    if (r->timestamps) {
        vkCmdResetQueryPool(commands, r->timestamps, query, 2);
        vkCmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, r->timestamps, query);
    }
    if (path->record_acquire && !path->record_acquire(e, commands, frame)) return false;
    targets_begin(&r->targets, commands);
    draw(r, commands, frame);
    targets_end(commands);
    if (path->record_release && !path->record_release(e, commands, frame)) return false;
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

/* ripple's camera. */

typedef struct vec3 {
    float x, y, z;
} vec3;

static vec3 minus(vec3 a, vec3 b)
{
    return (vec3){a.x - b.x, a.y - b.y, a.z - b.z};
}

static float dot(vec3 a, vec3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static vec3 cross(vec3 a, vec3 b)
{
    return (vec3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static vec3 normalize(vec3 a)
{
    float length = sqrtf(dot(a, a));
    return (vec3){a.x / length, a.y / length, a.z / length};
}

/* Column-major: Vulkan's clip space (y down, depth 0 to 1) from a look-at view. */
static void look_at_projection(float m[16], vec3 eye, vec3 target, float half_fov_tangent,
                               float aspect)
{
    const float near = 0.1f, far = 40.0f;
    vec3 forward = normalize(minus(target, eye));
    vec3 right = normalize(cross(forward, (vec3){0, 1, 0}));
    vec3 up = cross(right, forward);
    float sx = 1.0f / (half_fov_tangent * aspect), sy = -1.0f / half_fov_tangent;
    float a = far / (far - near), b = -near * far / (far - near);
    float rows[4][4] = {{sx * right.x, sx * right.y, sx * right.z, -sx * dot(right, eye)},
                        {sy * up.x, sy * up.y, sy * up.z, -sy * dot(up, eye)},
                        {a * forward.x, a * forward.y, a * forward.z, -a * dot(forward, eye) + b},
                        {forward.x, forward.y, forward.z, -dot(forward, eye)}};
    for (int column = 0; column < 4; column++) {
        for (int row = 0; row < 4; row++)
            m[4 * column + row] = rows[row][column];
    }
}

void camera_look(const scene *basin, VkExtent2D extent, uint64_t moment, view_constants *out)
{
    memset(out, 0, sizeof *out);
    float seconds = (float)moment / 30.0f;
    float aspect = (float)extent.width / (float)extent.height;
    /* Far enough that a basin of any proportion fills the picture. */
    float reach =
        fmaxf(basin->half_x / (1.556f * fminf(aspect / 1.7778f, 1.0f)), basin->half_z / 1.037f);
    float angle = 0.16f - 0.10f * sinf(0.11f * seconds);
    const float elevation = 0.544f;
    float distance = 2.78f * reach;
    vec3 target = {0.03f, -0.10f, 0.075f * basin->half_z};
    vec3 eye = {distance * cosf(elevation) * sinf(angle), distance * sinf(elevation),
                distance * cosf(elevation) * cosf(angle)};
    look_at_projection(out->view_projection, eye, target, 0.318f, aspect);
    out->eye[0] = eye.x;
    out->eye[1] = eye.y;
    out->eye[2] = eye.z;
    out->eye[3] = seconds;
    out->half_extent[0] = basin->half_x;
    out->half_extent[1] = basin->half_z;
    out->half_extent[2] = basin->cell;
    out->half_extent[3] = aspect;
    out->grid[0] = (int32_t)basin->width;
    out->grid[1] = (int32_t)basin->height;
    out->picture[0] = (float)extent.width;
    out->picture[1] = (float)extent.height;
}
