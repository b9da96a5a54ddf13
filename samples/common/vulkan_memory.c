/* SPDX-License-Identifier: MIT */
/* Vulkan buffers and images, each with an allocation of its own; copies, semaphores and
 * timestamps. */
#include "files.h"
#include "vulkan_setup.h"

#include <stdlib.h>
#include <string.h>

uint32_t vulkan_memory_type(const vulkan_setup *v, uint32_t bits, VkMemoryPropertyFlags wanted,
                            VkMemoryPropertyFlags preferred)
{
    uint32_t found = UINT32_MAX;
    for (uint32_t i = 0; i < v->memory.memoryTypeCount; i++) {
        VkMemoryPropertyFlags flags = v->memory.memoryTypes[i].propertyFlags;
        if (!(bits >> i & 1u) || (flags & wanted) != wanted) continue;
        if ((flags & preferred) == preferred) return i;
        if (found == UINT32_MAX) found = i;
    }
    return found;
}

static bool allocate(const vulkan_setup *v, const VkMemoryRequirements *needs,
                     VkMemoryPropertyFlags wanted, VkMemoryPropertyFlags preferred,
                     VkDeviceMemory *out)
{
    VkMemoryAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .allocationSize = needs->size,
        .memoryTypeIndex = vulkan_memory_type(v, needs->memoryTypeBits, wanted, preferred)};
    if (info.memoryTypeIndex == UINT32_MAX) {
        report("%s has no suitable memory type", v->candidate.name);
        return false;
    }
    return vk_ok(vkAllocateMemory(v->device, &info, NULL, out), "vkAllocateMemory");
}

bool vulkan_buffer_create(const vulkan_setup *v, VkDeviceSize size, VkBufferUsageFlags usage,
                          bool host_visible, vulkan_buffer *out)
{
    memset(out, 0, sizeof *out);
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = size, .usage = usage};
    if (!VK_MADE(vkCreateBuffer(v->device, &info, NULL, &out->buffer), "vkCreateBuffer",
                 &out->buffer))
        return false;
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(v->device, out->buffer, &needs);
    out->size = size;
    out->allocation_size = needs.size;
    VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, preferred = wanted;
    if (host_visible) {
        wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
        preferred = wanted | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    }
    if (!allocate(v, &needs, wanted, preferred, &out->memory) ||
        !vk_ok(vkBindBufferMemory(v->device, out->buffer, out->memory, 0), "vkBindBufferMemory"))
        return false;
    return !host_visible ||
           vk_ok(vkMapMemory(v->device, out->memory, 0, VK_WHOLE_SIZE, 0, &out->mapped),
                 "vkMapMemory");
}

void vulkan_buffer_destroy(const vulkan_setup *v, vulkan_buffer *buffer)
{
    vkDestroyBuffer(v->device, buffer->buffer, NULL);
    vkFreeMemory(v->device, buffer->memory, NULL);
    memset(buffer, 0, sizeof *buffer);
}

bool vulkan_image_create(const vulkan_setup *v, VkFormat format, VkExtent2D extent,
                         VkSampleCountFlagBits samples, VkImageUsageFlags usage,
                         VkImageAspectFlags aspect, vulkan_image *out)
{
    memset(out, 0, sizeof *out);
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .imageType = VK_IMAGE_TYPE_2D,
                              .format = format,
                              .extent = {extent.width, extent.height, 1},
                              .mipLevels = 1,
                              .arrayLayers = 1,
                              .samples = samples,
                              .tiling = VK_IMAGE_TILING_OPTIMAL,
                              .usage = usage};
    if (!VK_MADE(vkCreateImage(v->device, &info, NULL, &out->image), "vkCreateImage", &out->image))
        return false;
    VkMemoryRequirements needs;
    vkGetImageMemoryRequirements(v->device, out->image, &needs);
    VkImageViewCreateInfo view = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
                                  .image = out->image,
                                  .viewType = VK_IMAGE_VIEW_TYPE_2D,
                                  .format = format,
                                  .subresourceRange = {aspect, 0, 1, 0, 1}};
    return allocate(v, &needs, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0, &out->memory) &&
           vk_ok(vkBindImageMemory(v->device, out->image, out->memory, 0), "vkBindImageMemory") &&
           VK_MADE(vkCreateImageView(v->device, &view, NULL, &out->view), "vkCreateImageView",
                   &out->view);
}

void vulkan_image_destroy(const vulkan_setup *v, vulkan_image *image)
{
    vkDestroyImageView(v->device, image->view, NULL);
    vkDestroyImage(v->device, image->image, NULL);
    vkFreeMemory(v->device, image->memory, NULL);
    memset(image, 0, sizeof *image);
}

void vulkan_image_barrier(VkCommandBuffer commands, VkImage image, VkImageAspectFlags aspect,
                          vulkan_use from, vulkan_use to)
{
    VkImageMemoryBarrier2 barrier = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2,
                                     .srcStageMask = from.stage,
                                     .srcAccessMask = from.access,
                                     .dstStageMask = to.stage,
                                     .dstAccessMask = to.access,
                                     .oldLayout = from.layout,
                                     .newLayout = to.layout,
                                     .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                     .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                     .image = image,
                                     .subresourceRange = {aspect, 0, 1, 0, 1}};
    VkDependencyInfo dependency = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .imageMemoryBarrierCount = 1,
                                   .pImageMemoryBarriers = &barrier};
    vkCmdPipelineBarrier2(commands, &dependency);
}

void vulkan_copy_to_host(VkCommandBuffer commands, VkImage image, VkExtent2D extent,
                         const vulkan_buffer *rows)
{
    VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                .imageExtent = {extent.width, extent.height, 1}};
    VkMemoryBarrier2 to_host = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                                .srcStageMask = VK_PIPELINE_STAGE_2_COPY_BIT,
                                .srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT,
                                .dstStageMask = VK_PIPELINE_STAGE_2_HOST_BIT,
                                .dstAccessMask = VK_ACCESS_2_HOST_READ_BIT};
    VkDependencyInfo dependency = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .memoryBarrierCount = 1,
                                   .pMemoryBarriers = &to_host};
    vkCmdCopyImageToBuffer(commands, image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, rows->buffer, 1,
                           &region);
    vkCmdPipelineBarrier2(commands, &dependency);
}

bool vulkan_once_begin(const vulkan_setup *v, uint32_t family, VkQueue queue, vulkan_once *out)
{
    memset(out, 0, sizeof *out);
    out->queue = queue;
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .queueFamilyIndex = family};
    if (!VK_MADE(vkCreateCommandPool(v->device, &pool, NULL, &out->pool), "vkCreateCommandPool",
                 &out->pool))
        return false;
    VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandPool = out->pool,
                                        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                        .commandBufferCount = 1};
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                      .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    return vk_ok(vkAllocateCommandBuffers(v->device, &info, &out->commands),
                 "vkAllocateCommandBuffers") &&
           vk_ok(vkBeginCommandBuffer(out->commands, &begin), "vkBeginCommandBuffer");
}

bool vulkan_once_end(const vulkan_setup *v, vulkan_once *once, bool fine)
{
    bool done = fine && vk_ok(vkEndCommandBuffer(once->commands), "vkEndCommandBuffer") &&
                vulkan_submit(once->queue, once->commands, NULL, NULL, VK_NULL_HANDLE) &&
                vk_ok(vkQueueWaitIdle(once->queue), "vkQueueWaitIdle");
    vkDestroyCommandPool(v->device, once->pool, NULL);
    return done;
}

bool vulkan_timeline_create(const vulkan_setup *v, VkSemaphore *out)
{
    VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                      .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    return VK_MADE(vkCreateSemaphore(v->device, &info, NULL, out), "vkCreateSemaphore", out);
}

void vulkan_signal_up_to(const vulkan_setup *v, VkSemaphore timeline, uint64_t value)
{
    uint64_t reached = 0;
    if (!timeline || vkGetSemaphoreCounterValue(v->device, timeline, &reached) != VK_SUCCESS ||
        reached >= value)
        return;
    VkSemaphoreSignalInfo signal = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = timeline, .value = value};
    (void)vkSignalSemaphore(v->device, &signal);
}

VkSemaphoreSubmitInfo vulkan_submit_point(VkSemaphore semaphore, uint64_t value,
                                          VkPipelineStageFlags2 stage)
{
    return (VkSemaphoreSubmitInfo){.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                   .semaphore = semaphore,
                                   .value = value,
                                   .stageMask = stage};
}

bool vulkan_submit(VkQueue queue, VkCommandBuffer commands, const VkSemaphoreSubmitInfo *wait,
                   const VkSemaphoreSubmitInfo *signal, VkFence fence)
{
    VkCommandBufferSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                      .commandBuffer = commands};
    VkSubmitInfo2 submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                            .waitSemaphoreInfoCount = wait ? 1 : 0,
                            .pWaitSemaphoreInfos = wait,
                            .commandBufferInfoCount = 1,
                            .pCommandBufferInfos = &info,
                            .signalSemaphoreInfoCount = signal ? 1 : 0,
                            .pSignalSemaphoreInfos = signal};
    return vk_ok(vkQueueSubmit2(queue, 1, &submit, fence), "vkQueueSubmit2");
}

double vulkan_elapsed_ms(const vulkan_setup *v, VkQueryPool timestamps, uint32_t first)
{
    uint64_t ticks[2];
    if (!timestamps || vkGetQueryPoolResults(v->device, timestamps, first, 2, sizeof ticks, ticks,
                                             sizeof ticks[0], VK_QUERY_RESULT_64_BIT) != VK_SUCCESS)
        return -1.0;
    uint64_t mask = v->timestamp_bits >= 64 ? UINT64_MAX : (UINT64_C(1) << v->timestamp_bits) - 1;
    return 1e-6 * (double)((ticks[1] - ticks[0]) & mask) *
           (double)v->properties.limits.timestampPeriod;
}

/* Pipelines. */

static bool load_shader(const vulkan_setup *v, const char *name, VkShaderModule *out)
{
    char path[FILES_PATH_MAX];
    void *code = NULL;
    size_t size = 0;
    if (!files_share_path(path, name) || !files_read(path, &code, &size)) return false;
    VkShaderModuleCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = size, .pCode = code};
    bool done = VK_MADE(vkCreateShaderModule(v->device, &info, NULL, out), name, out);
    free(code);
    return done;
}

bool pipeline_create(const vulkan_setup *v, const pipeline_desc *desc, VkPipeline *out)
{
    VkShaderModule vertex = VK_NULL_HANDLE, fragment = VK_NULL_HANDLE;
    bool created = false;
    VkBool32 has_depth = desc->depth_format != VK_FORMAT_UNDEFINED;
    if (load_shader(v, desc->vertex, &vertex) && load_shader(v, desc->fragment, &fragment)) {
        VkPipelineShaderStageCreateInfo stages[] = {
            {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
             .stage = VK_SHADER_STAGE_VERTEX_BIT,
             .module = vertex,
             .pName = "main"},
            {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
             .stage = VK_SHADER_STAGE_FRAGMENT_BIT,
             .module = fragment,
             .pName = "main"}};
        const VkPipelineVertexInputStateCreateInfo no_input = {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO};
        VkPipelineInputAssemblyStateCreateInfo assembly = {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
            .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST};
        VkPipelineViewportStateCreateInfo viewport = {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO,
            .viewportCount = 1,
            .scissorCount = 1};
        VkPipelineRasterizationStateCreateInfo raster = {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO,
            .polygonMode = VK_POLYGON_MODE_FILL,
            .cullMode = VK_CULL_MODE_NONE,
            .lineWidth = 1.0f};
        VkPipelineMultisampleStateCreateInfo multisample = {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
            .rasterizationSamples = desc->samples};
        VkPipelineDepthStencilStateCreateInfo depth = {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO,
            .depthTestEnable = has_depth,
            .depthWriteEnable = has_depth,
            .depthCompareOp = VK_COMPARE_OP_LESS};
        VkPipelineColorBlendAttachmentState attachment = {
            .colorWriteMask = VK_COLOR_COMPONENT_R_BIT | VK_COLOR_COMPONENT_G_BIT |
                              VK_COLOR_COMPONENT_B_BIT | VK_COLOR_COMPONENT_A_BIT};
        VkPipelineColorBlendStateCreateInfo blend = {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
            .attachmentCount = 1,
            .pAttachments = &attachment};
        const VkDynamicState states[] = {VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR};
        VkPipelineDynamicStateCreateInfo dynamic = {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO,
            .dynamicStateCount = 2,
            .pDynamicStates = states};
        VkPipelineRenderingCreateInfo rendering = {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
            .colorAttachmentCount = 1,
            .pColorAttachmentFormats = &desc->color_format,
            .depthAttachmentFormat = desc->depth_format};
        VkGraphicsPipelineCreateInfo info = {.sType =
                                                 VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
                                             .pNext = &rendering,
                                             .stageCount = 2,
                                             .pStages = stages,
                                             .pVertexInputState = &no_input,
                                             .pInputAssemblyState = &assembly,
                                             .pViewportState = &viewport,
                                             .pRasterizationState = &raster,
                                             .pMultisampleState = &multisample,
                                             .pDepthStencilState = &depth,
                                             .pColorBlendState = &blend,
                                             .pDynamicState = &dynamic,
                                             .layout = desc->layout};
        created = vk_ok(vkCreateGraphicsPipelines(v->device, VK_NULL_HANDLE, 1, &info, NULL, out),
                        "vkCreateGraphicsPipelines");
    }
    vkDestroyShaderModule(v->device, vertex, NULL);
    vkDestroyShaderModule(v->device, fragment, NULL);
    return created;
}

bool pipeline_create_compute(const vulkan_setup *v, const char *shader, VkPipelineLayout layout,
                             VkPipeline *out)
{
    VkShaderModule module = VK_NULL_HANDLE;
    if (!load_shader(v, shader, &module)) return false;
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = module,
                  .pName = "main"},
        .layout = layout};
    bool created = vk_ok(vkCreateComputePipelines(v->device, VK_NULL_HANDLE, 1, &info, NULL, out),
                         "vkCreateComputePipelines");
    vkDestroyShaderModule(v->device, module, NULL);
    return created;
}
