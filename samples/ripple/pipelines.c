/* ripple's graphics pipelines. SPDX-License-Identifier: MIT */
#include "pipelines.h"

#include <stdlib.h>
#include <string.h>

#include "../common/files.h"
#include "../common/report.h"

static bool load_shader(const vulkan_setup *v, const char *name, VkShaderModule *out)
{
    char path[FILES_PATH_MAX];
    void *code = NULL;
    size_t size = 0;
    if (!files_share_path(path, name) || !files_read(path, &code, &size)) return false;
    VkShaderModuleCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = size, .pCode = code};
    bool done = vk_ok(vkCreateShaderModule(v->device, &info, NULL, out), name);
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
        /* Vertices are pulled from a buffer by their index. */
        VkPipelineVertexInputStateCreateInfo input = {
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
            .blendEnable = desc->blend,
            .srcColorBlendFactor = VK_BLEND_FACTOR_SRC_ALPHA,
            .dstColorBlendFactor = VK_BLEND_FACTOR_ONE_MINUS_SRC_ALPHA,
            .srcAlphaBlendFactor = VK_BLEND_FACTOR_ZERO,
            .dstAlphaBlendFactor = VK_BLEND_FACTOR_ONE,
            .colorWriteMask = VK_COLOR_COMPONENT_R_BIT | VK_COLOR_COMPONENT_G_BIT | VK_COLOR_COMPONENT_B_BIT |
                              VK_COLOR_COMPONENT_A_BIT};
        VkPipelineColorBlendStateCreateInfo blend = {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
            .attachmentCount = 1,
            .pAttachments = &attachment};
        const VkDynamicState states[] = {VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR};
        VkPipelineDynamicStateCreateInfo dynamic = {.sType =
                                                        VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO,
                                                    .dynamicStateCount = 2,
                                                    .pDynamicStates = states};
        VkPipelineRenderingCreateInfo rendering = {.sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
                                                   .colorAttachmentCount = 1,
                                                   .pColorAttachmentFormats = &desc->color_format,
                                                   .depthAttachmentFormat = desc->depth_format};
        VkGraphicsPipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
                                             .pNext = &rendering,
                                             .stageCount = 2,
                                             .pStages = stages,
                                             .pVertexInputState = &input,
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

static bool create_layout(pipelines *p, const vulkan_setup *v)
{
    const VkShaderStageFlags stages = VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT;
    VkSamplerCreateInfo sampler = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
                                   .magFilter = VK_FILTER_LINEAR,
                                   .minFilter = VK_FILTER_LINEAR,
                                   .addressModeU = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
                                   .addressModeV = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
                                   .addressModeW = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE};
    if (!vk_ok(vkCreateSampler(v->device, &sampler, NULL, &p->sampler), "vkCreateSampler")) return false;
    VkDescriptorSetLayoutBinding bindings[] = {{.binding = 0,
                                                .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                                .descriptorCount = 1,
                                                .stageFlags = stages},
                                               {.binding = 1,
                                                .descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
                                                .descriptorCount = 1,
                                                .stageFlags = VK_SHADER_STAGE_FRAGMENT_BIT,
                                                .pImmutableSamplers = &p->sampler}};
    VkDescriptorSetLayoutCreateInfo set = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                           .bindingCount = 2,
                                           .pBindings = bindings};
    if (!vk_ok(vkCreateDescriptorSetLayout(v->device, &set, NULL, &p->set_layout),
               "vkCreateDescriptorSetLayout"))
        return false;
    VkPushConstantRange constants = {stages, 0, sizeof(view_constants)};
    VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                         .setLayoutCount = 1,
                                         .pSetLayouts = &p->set_layout,
                                         .pushConstantRangeCount = 1,
                                         .pPushConstantRanges = &constants};
    return vk_ok(vkCreatePipelineLayout(v->device, &layout, NULL, &p->layout), "vkCreatePipelineLayout");
}

static bool create_pipeline(const pipelines *p, const vulkan_setup *v, const char *vertex,
                            const char *fragment, VkPipeline *out)
{
    pipeline_desc desc = {vertex, fragment, p->layout, p->color_format, p->depth_format, p->samples, false};
    return pipeline_create(v, &desc, out);
}

bool pipelines_create(pipelines *p, const vulkan_setup *v, VkFormat color_format)
{
    memset(p, 0, sizeof *p);
    p->color_format = color_format;
    const VkPhysicalDeviceLimits *limits = &v->properties.limits;
    VkSampleCountFlags counts = limits->framebufferColorSampleCounts & limits->framebufferDepthSampleCounts;
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

void pipelines_destroy(pipelines *p, const vulkan_setup *v)
{
    vkDestroyPipeline(v->device, p->water, NULL);
    vkDestroyPipeline(v->device, p->stone, NULL);
    vkDestroyPipeline(v->device, p->rim, NULL);
    vkDestroyPipelineLayout(v->device, p->layout, NULL);
    vkDestroyDescriptorSetLayout(v->device, p->set_layout, NULL);
    vkDestroySampler(v->device, p->sampler, NULL);
    memset(p, 0, sizeof *p);
}
