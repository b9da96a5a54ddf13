/* SPDX-License-Identifier: MIT */
/* Render passes and draws of the barriers' probe. */
#include "barriers_draw.h"

enum { DRAWN = 4 /* texels a side of what is drawn without an attachment */ };

static bool is_depth(culv_vk_use use)
{
    return use == CULV_VK_USE_DEPTH_STENCIL_ATTACHMENT || use == CULV_VK_USE_DEPTH_STENCIL_READ;
}

/* Passes of one subpass, and one attachment unless the format is UNDEFINED. */
static VkRenderPass make_pass(VkDevice device, VkFormat format, culv_vk_use use)
{
    const bool written =
        use == CULV_VK_USE_COLOR_ATTACHMENT || use == CULV_VK_USE_DEPTH_STENCIL_ATTACHMENT;
    const VkAttachmentStoreOp store =
        written ? VK_ATTACHMENT_STORE_OP_STORE : VK_ATTACHMENT_STORE_OP_NONE;
    const VkAttachmentDescription attachment = {.format = format,
                                                .samples = VK_SAMPLE_COUNT_1_BIT,
                                                .loadOp = VK_ATTACHMENT_LOAD_OP_LOAD,
                                                .storeOp = store,
                                                .stencilLoadOp = VK_ATTACHMENT_LOAD_OP_LOAD,
                                                .stencilStoreOp = store,
                                                .initialLayout = probe_layout(use),
                                                .finalLayout = probe_layout(use)};
    const VkAttachmentReference reference = {0, probe_layout(use)};
    const VkSubpassDescription subpass = {
        .pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS,
        .colorAttachmentCount = use == CULV_VK_USE_COLOR_ATTACHMENT,
        .pColorAttachments = &reference,
        .inputAttachmentCount = use == CULV_VK_USE_INPUT_ATTACHMENT,
        .pInputAttachments = &reference,
        .pDepthStencilAttachment = is_depth(use) ? &reference : NULL};
    const VkRenderPassCreateInfo info = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
                                         .attachmentCount = format != VK_FORMAT_UNDEFINED,
                                         .pAttachments = &attachment,
                                         .subpassCount = 1,
                                         .pSubpasses = &subpass};
    VkRenderPass pass = VK_NULL_HANDLE;
    VK_OK(vkCreateRenderPass(device, &info, NULL, &pass));
    return pass;
}

static VkPipeline make_pipeline(const probe *p, VkRenderPass pass, VkFormat format, culv_vk_use use)
{
    VkShaderModule fragment = VK_NULL_HANDLE;
    if (use == CULV_VK_USE_INPUT_ATTACHMENT) fragment = p->input;
    if (use == CULV_VK_USE_DEPTH_STENCIL_READ && format != VK_FORMAT_S8_UINT) fragment = p->sampled;
    const VkPipelineShaderStageCreateInfo stages[] = {
        {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
         .stage = VK_SHADER_STAGE_VERTEX_BIT,
         .module = p->vertex,
         .pName = "main"},
        {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
         .stage = VK_SHADER_STAGE_FRAGMENT_BIT,
         .module = fragment,
         .pName = "main"}};
    const VkVertexInputBindingDescription binding = {0, 16, VK_VERTEX_INPUT_RATE_VERTEX};
    const VkVertexInputAttributeDescription attribute = {0, 0, VK_FORMAT_R32G32B32A32_SFLOAT, 0};
    const VkPipelineVertexInputStateCreateInfo input = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO,
        .vertexBindingDescriptionCount = 1,
        .pVertexBindingDescriptions = &binding,
        .vertexAttributeDescriptionCount = 1,
        .pVertexAttributeDescriptions = &attribute};
    const VkPipelineInputAssemblyStateCreateInfo assembly = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
        .topology = VK_PRIMITIVE_TOPOLOGY_POINT_LIST};
    const VkViewport viewport = {0, 0, DRAWN, DRAWN, 0, 1};
    const VkRect2D scissor = {{0, 0}, {DRAWN, DRAWN}};
    const VkPipelineViewportStateCreateInfo viewports = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO,
        .viewportCount = 1,
        .pViewports = &viewport,
        .scissorCount = 1,
        .pScissors = &scissor};
    const VkPipelineRasterizationStateCreateInfo raster = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO,
        .polygonMode = VK_POLYGON_MODE_FILL,
        .cullMode = VK_CULL_MODE_NONE,
        .lineWidth = 1};
    const VkPipelineMultisampleStateCreateInfo samples = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
        .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT};
    const bool writes = use == CULV_VK_USE_DEPTH_STENCIL_ATTACHMENT;
    const VkStencilOpState stencil = {.passOp = writes ? VK_STENCIL_OP_REPLACE : VK_STENCIL_OP_KEEP,
                                      .compareOp = VK_COMPARE_OP_EQUAL,
                                      .compareMask = 0xff,
                                      .writeMask = writes ? 0xff : 0,
                                      .reference = 1};
    const VkPipelineDepthStencilStateCreateInfo depth = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO,
        .depthTestEnable = VK_TRUE,
        .depthWriteEnable = writes,
        .depthCompareOp = VK_COMPARE_OP_LESS_OR_EQUAL,
        .stencilTestEnable = VK_TRUE,
        .front = stencil,
        .back = stencil};
    const VkPipelineColorBlendAttachmentState blend = {.blendEnable = VK_FALSE};
    const VkPipelineColorBlendStateCreateInfo blends = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
        .attachmentCount = use == CULV_VK_USE_COLOR_ATTACHMENT,
        .pAttachments = &blend};
    const VkGraphicsPipelineCreateInfo info = {.sType =
                                                   VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
                                               .stageCount = fragment != VK_NULL_HANDLE ? 2 : 1,
                                               .pStages = stages,
                                               .pVertexInputState = &input,
                                               .pInputAssemblyState = &assembly,
                                               .pViewportState = &viewports,
                                               .pRasterizationState = &raster,
                                               .pMultisampleState = &samples,
                                               .pDepthStencilState = &depth,
                                               .pColorBlendState = &blends,
                                               .layout = p->graphics_layout,
                                               .renderPass = pass};
    VkPipeline pipeline = VK_NULL_HANDLE;
    VK_OK(vkCreateGraphicsPipelines(p->vk->device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline));
    return pipeline;
}

/* One for each format and use, kept. */
static const probe_pass *find_pass(probe *p, VkFormat format, culv_vk_use use)
{
    for (uint32_t i = 0; i < p->pass_count; i++)
        if (p->passes[i].format == format && p->passes[i].use == use) return &p->passes[i];
    REQUIRE(p->pass_count < PROBE_PASSES);
    probe_pass *made = &p->passes[p->pass_count++];
    made->format = format;
    made->use = use;
    made->pass = make_pass(p->vk->device, format, use);
    made->pipeline = make_pipeline(p, made->pass, format, use);
    return made;
}

static void begin(probe *p, VkCommandBuffer commands, const probe_pass *pass, VkExtent3D extent)
{
    const VkFramebufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO,
                                          .renderPass = pass->pass,
                                          .attachmentCount = pass->format != VK_FORMAT_UNDEFINED,
                                          .pAttachments = &p->view,
                                          .width = extent.width,
                                          .height = extent.height,
                                          .layers = 1};
    VK_OK(vkCreateFramebuffer(p->vk->device, &info, NULL, &p->framebuffer));
    const VkRenderPassBeginInfo begin_info = {
        .sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
        .renderPass = pass->pass,
        .framebuffer = p->framebuffer,
        .renderArea = {{0, 0}, {extent.width, extent.height}}};
    vkCmdBeginRenderPass(commands, &begin_info, VK_SUBPASS_CONTENTS_INLINE);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pass->pipeline);
}

static void draw(const probe *p, VkCommandBuffer commands, VkBuffer vertices, VkBuffer indices,
                 VkBuffer arguments)
{
    const VkDeviceSize zero = 0;
    vkCmdBindVertexBuffers(commands, 0, 1, &vertices, &zero);
    vkCmdBindIndexBuffer(commands, indices, 0, VK_INDEX_TYPE_UINT32);
    vkCmdDrawIndexedIndirect(commands, arguments, arguments == p->buffer ? PROBE_DRAW_OFFSET : 0, 1,
                             sizeof(VkDrawIndexedIndirectCommand));
}

void probe_draw_buffers(probe *p, VkCommandBuffer commands, VkBuffer buffer, culv_vk_use use)
{
    const VkExtent3D extent = {DRAWN, DRAWN, 1};
    begin(p, commands, find_pass(p, VK_FORMAT_UNDEFINED, CULV_VK_USE_ANY), extent);
    draw(p, commands, use == CULV_VK_USE_VERTEX_BUFFER ? buffer : p->buffer,
         use == CULV_VK_USE_INDEX_BUFFER ? buffer : p->buffer,
         use == CULV_VK_USE_INDIRECT_BUFFER ? buffer : p->buffer);
    vkCmdEndRenderPass(commands);
}

void probe_draw_image(probe *p, VkCommandBuffer commands, const raw_vk_image *image, uint32_t level,
                      culv_vk_use use)
{
    const uint32_t at = use == CULV_VK_USE_INPUT_ATTACHMENT;
    const bool reads = at == 1 || (use == CULV_VK_USE_DEPTH_STENCIL_READ &&
                                   image->desc.format != VK_FORMAT_S8_UINT);
    VkDescriptorImageInfo infos[2];
    VkWriteDescriptorSet writes[2];
    for (uint32_t i = 0; i < 2; i++) { /* both, since lavapipe reads what is not used too */
        infos[i] = (VkDescriptorImageInfo){p->sampler, i == at ? p->aspect_view : p->own_views[1],
                                           i == at ? probe_layout(use) : VK_IMAGE_LAYOUT_GENERAL};
        writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                           .dstSet = p->graphics_set,
                                           .dstBinding = i,
                                           .descriptorCount = 1,
                                           .descriptorType = probe_graphics_types[i],
                                           .pImageInfo = &infos[i]};
    }
    if (reads) vkUpdateDescriptorSets(p->vk->device, 2, writes, 0, NULL);
    const VkExtent3D extent = raw_vk_image_extent(image, level);
    begin(p, commands, find_pass(p, image->desc.format, use), extent);
    if (reads)
        vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, p->graphics_layout, 0, 1,
                                &p->graphics_set, 0, NULL);
    draw(p, commands, p->buffer, p->buffer, p->buffer);
    if (use == CULV_VK_USE_COLOR_ATTACHMENT || use == CULV_VK_USE_DEPTH_STENCIL_ATTACHMENT) {
        const VkClearAttachment clear = {.aspectMask = probe_aspects(image->desc.format)};
        const VkClearRect rect = {{{0, 0}, {1, 1}}, 0, 1};
        vkCmdClearAttachments(commands, 1, &clear, 1, &rect);
    }
    vkCmdEndRenderPass(commands);
}
