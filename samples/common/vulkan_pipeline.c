/* SPDX-License-Identifier: MIT */
/* See vulkan_pipeline.h. */
#include "vulkan_pipeline.h"

#include <stdlib.h>

#include "files.h"
#include "report.h"

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
