/* SPDX-License-Identifier: MIT */
/* ripple's graphics pipelines. */
#include "pipelines.h"

#include <string.h>

#include "../common/report.h"

static bool create_layout(pipelines *p, const vulkan_setup *v)
{
    const VkShaderStageFlags stages = VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT;
    VkSamplerCreateInfo sampler = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
                                   .magFilter = VK_FILTER_LINEAR,
                                   .minFilter = VK_FILTER_LINEAR,
                                   .addressModeU = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
                                   .addressModeV = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
                                   .addressModeW = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE};
    if (!vk_ok(vkCreateSampler(v->device, &sampler, NULL, &p->sampler), "vkCreateSampler"))
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
    if (!vk_ok(vkCreateDescriptorSetLayout(v->device, &set, NULL, &p->set_layout),
               "vkCreateDescriptorSetLayout"))
        return false;
    VkPushConstantRange constants = {stages, 0, sizeof(view_constants)};
    VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                         .setLayoutCount = 1,
                                         .pSetLayouts = &p->set_layout,
                                         .pushConstantRangeCount = 1,
                                         .pPushConstantRanges = &constants};
    return vk_ok(vkCreatePipelineLayout(v->device, &layout, NULL, &p->layout),
                 "vkCreatePipelineLayout");
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

bool pipelines_create(pipelines *p, const vulkan_setup *v)
{
    memset(p, 0, sizeof *p);
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
