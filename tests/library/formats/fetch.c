/* SPDX-License-Identifier: MIT */
/* What Vulkan's shaders read of an image: texelFetch() of every texel of every level. */
#include "sweep.h"

bool sweep_can_fetch(const sweep_image *i)
{
    return (i->info.usage & VK_IMAGE_USAGE_SAMPLED_BIT) != 0;
}

int sweep_fetched_number(const culv_format_info *format)
{
    if (sweep_name_has(format, "_UINT")) return SWEEP_UINT;
    if (sweep_name_has(format, "_SINT")) return SWEEP_SINT;
    return SWEEP_FLOAT;
}

void sweep_open_fetch(sweep *s)
{
    VkDevice device = s->w.vk.device;
    const VkSamplerCreateInfo sampler = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
                                         .maxLod = VK_LOD_CLAMP_NONE};
    VK_OK(vkCreateSampler(device, &sampler, NULL, &s->sampler));
    const VkDescriptorSetLayoutBinding bindings[] = {
        {0, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL},
        {1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL}};
    const VkDescriptorSetLayoutCreateInfo set = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = 2,
        .pBindings = bindings};
    VK_OK(vkCreateDescriptorSetLayout(device, &set, NULL, &s->set_layout));
    const VkPushConstantRange push = {VK_SHADER_STAGE_COMPUTE_BIT, 0, 5 * sizeof(int32_t)};
    const VkPipelineLayoutCreateInfo layout = {.sType =
                                                   VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                               .setLayoutCount = 1,
                                               .pSetLayouts = &s->set_layout,
                                               .pushConstantRangeCount = 1,
                                               .pPushConstantRanges = &push};
    VK_OK(vkCreatePipelineLayout(device, &layout, NULL, &s->pipeline_layout));
    const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1},
                                          {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1}};
    const VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                             .maxSets = 1,
                                             .poolSizeCount = 2,
                                             .pPoolSizes = sizes};
    VK_OK(vkCreateDescriptorPool(device, &pool, NULL, &s->pool));
}

void sweep_close_fetch(sweep *s)
{
    VkDevice device = s->w.vk.device;
    for (int shape = 0; shape < NUM_FETCHES; shape++)
        for (int number = 0; number < SWEEP_NUM_NUMBERS; number++)
            vkDestroyPipeline(device, s->fetches[shape][number], NULL);
    vkDestroyDescriptorPool(device, s->pool, NULL);
    vkDestroyPipelineLayout(device, s->pipeline_layout, NULL);
    vkDestroyDescriptorSetLayout(device, s->set_layout, NULL);
    vkDestroySampler(device, s->sampler, NULL);
}

static VkPipeline pipeline(sweep *s, int shape, int number)
{
    static const char *const shapes[] = {"1d", "2d", "3d"}, *const numbers[] = {"float", "sint",
                                                                                "uint"};
    static uint32_t code[4096];
    char name[96], path[TEST_PATH_MAX];
    VkPipeline *kept = &s->fetches[shape][number];
    if (*kept != VK_NULL_HANDLE) return *kept;
    snprintf(name, sizeof name, "share/culvert/formats_fetch_%s_%s.spv", shapes[shape],
             numbers[number]);
    FILE *file = fopen(test_path(path, name), "rb");
    if (file == NULL) FAIL("%s is not there", path);
    size_t size = fread(code, 1, sizeof code, file);
    fclose(file);
    REQUIRE(size > 0 && size < sizeof code && size % 4 == 0);
    const VkShaderModuleCreateInfo shader = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = size, .pCode = code};
    VkShaderModule module = VK_NULL_HANDLE;
    VK_OK(vkCreateShaderModule(s->w.vk.device, &shader, NULL, &module));
    const VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = module,
                  .pName = "main"},
        .layout = s->pipeline_layout};
    VK_OK(vkCreateComputePipelines(s->w.vk.device, VK_NULL_HANDLE, 1, &info, NULL, kept));
    vkDestroyShaderModule(s->w.vk.device, module, NULL);
    return *kept;
}

/* A shader can fetch from arrays of faces, never from a cube. */
static VkImageView make_view(sweep *s, const sweep_image *i)
{
    static const VkImageViewType types[] = {VK_IMAGE_VIEW_TYPE_1D_ARRAY,
                                            VK_IMAGE_VIEW_TYPE_2D_ARRAY, VK_IMAGE_VIEW_TYPE_3D};
    VkImageView view = VK_NULL_HANDLE;
    const VkImageViewCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
                                        .image = i->image,
                                        .viewType = types[i->info.imageType],
                                        .format = i->info.format,
                                        .subresourceRange = {i->what.format->aspects, 0,
                                                             i->info.mipLevels, 0,
                                                             i->info.arrayLayers}};
    VK_OK(vkCreateImageView(s->w.vk.device, &info, NULL, &view));
    return view;
}

static VkDescriptorSet bind(sweep *s, VkImageView view)
{
    VkDescriptorSet set = VK_NULL_HANDLE;
    const VkDescriptorSetAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
        .descriptorPool = s->pool,
        .descriptorSetCount = 1,
        .pSetLayouts = &s->set_layout};
    VK_OK(vkResetDescriptorPool(s->w.vk.device, s->pool, 0));
    VK_OK(vkAllocateDescriptorSets(s->w.vk.device, &allocate, &set));
    const VkDescriptorImageInfo image = {s->sampler, view, VK_IMAGE_LAYOUT_GENERAL};
    const VkDescriptorBufferInfo values = {s->fetched.buffer, 0, VK_WHOLE_SIZE};
    const VkWriteDescriptorSet writes[] = {
        {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
         .dstSet = set,
         .dstBinding = 0,
         .descriptorCount = 1,
         .descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
         .pImageInfo = &image},
        {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
         .dstSet = set,
         .dstBinding = 1,
         .descriptorCount = 1,
         .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
         .pBufferInfo = &values},
    };
    vkUpdateDescriptorSets(s->w.vk.device, 2, writes, 0, NULL);
    return set;
}

VkImageView sweep_record_fetch(sweep *s, VkCommandBuffer commands, const sweep_image *i)
{
    VkImageView view = make_view(s, i);
    VkDescriptorSet set = bind(s, view);
    VkPipeline made = pipeline(s, (int)i->info.imageType, sweep_fetched_number(i->what.format));
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, made);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, s->pipeline_layout, 0, 1,
                            &set, 0, NULL);
    for (uint32_t level = 0; level < i->info.mipLevels; level++) {
        uint32_t width, height, slices;
        sweep_image_extent(i, 0, level, &width, &height, &slices);
        const int32_t push[] = {(int32_t)width, (int32_t)height, (int32_t)slices, (int32_t)level,
                                (int32_t)i->texels_at[0][level]};
        vkCmdPushConstants(commands, s->pipeline_layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                           sizeof push, push);
        vkCmdDispatch(commands, (width * height * slices + 63) / 64, 1, 1);
    }
    raw_vk_to_host(commands, VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT, VK_ACCESS_2_SHADER_WRITE_BIT);
    return view;
}
