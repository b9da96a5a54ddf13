/* SPDX-License-Identifier: MIT */
/* See barriers_probe.h. The passes and draws are in barriers_draw.c. */
#include "barriers_draw.h"

/* Shaders and pipelines ------------------------------------------------------------------------ */

VkShaderModule probe_shader(VkDevice device, const char *name)
{
    char relative[128], path[TEST_PATH_MAX];
    uint32_t code[2048];
    snprintf(relative, sizeof relative, "share/culvert/library_%s.spv", name);
    FILE *file = fopen(test_path(path, relative), "rb");
    REQUIRE(file != NULL);
    size_t size = fread(code, 1, sizeof code, file);
    fclose(file);
    REQUIRE(size > 0 && size < sizeof code && size % 4 == 0);
    const VkShaderModuleCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = size, .pCode = code};
    VkShaderModule shader = VK_NULL_HANDLE;
    VK_OK(vkCreateShaderModule(device, &info, NULL, &shader));
    return shader;
}

static VkPipeline compute_pipeline(VkDevice device, const char *name, VkPipelineLayout layout)
{
    const VkShaderModule shader = probe_shader(device, name);
    const VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = shader,
                  .pName = "main"},
        .layout = layout};
    VkPipeline pipeline = VK_NULL_HANDLE;
    VK_OK(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline));
    vkDestroyShaderModule(device, shader, NULL);
    return pipeline;
}

static void make_set(probe *p, uint32_t count, const VkDescriptorType types[],
                     VkShaderStageFlags stages, VkDescriptorSetLayout *set_layout,
                     VkPipelineLayout *layout, VkDescriptorSet *set)
{
    VkDescriptorSetLayoutBinding bindings[PROBE_BUFFER_BINDINGS];
    for (uint32_t i = 0; i < count; i++)
        bindings[i] = (VkDescriptorSetLayoutBinding){i, types[i], 1, stages, NULL};
    const VkDescriptorSetLayoutCreateInfo set_info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = count,
        .pBindings = bindings};
    VK_OK(vkCreateDescriptorSetLayout(p->vk->device, &set_info, NULL, set_layout));
    const VkPipelineLayoutCreateInfo layout_info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
        .setLayoutCount = 1,
        .pSetLayouts = set_layout};
    VK_OK(vkCreatePipelineLayout(p->vk->device, &layout_info, NULL, layout));
    const VkDescriptorSetAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
        .descriptorPool = p->pool,
        .descriptorSetCount = 1,
        .pSetLayouts = set_layout};
    VK_OK(vkAllocateDescriptorSets(p->vk->device, &allocate, set));
}

static const VkDescriptorType image_types[PROBE_IMAGE_BINDINGS] = {
    VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,
    VK_DESCRIPTOR_TYPE_STORAGE_IMAGE};
const VkDescriptorType probe_graphics_types[2] = {VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
                                                  VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT};
static const VkDescriptorType buffer_types[PROBE_BUFFER_BINDINGS] = {
    VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
    VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER,
    VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER};

static void open_sets(probe *p)
{
    static const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 2},
                                                 {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 2},
                                                 {VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT, 1},
                                                 {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 1},
                                                 {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 2},
                                                 {VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, 1},
                                                 {VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER, 1}};
    const VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                             .maxSets = 3,
                                             .poolSizeCount = sizeof sizes / sizeof sizes[0],
                                             .pPoolSizes = sizes};
    VK_OK(vkCreateDescriptorPool(p->vk->device, &pool, NULL, &p->pool));
    make_set(p, PROBE_IMAGE_BINDINGS, image_types, VK_SHADER_STAGE_COMPUTE_BIT,
             &p->image_set_layout, &p->image_layout, &p->image_set);
    make_set(p, 2, probe_graphics_types, VK_SHADER_STAGE_FRAGMENT_BIT, &p->graphics_set_layout,
             &p->graphics_layout, &p->graphics_set);
    make_set(p, PROBE_BUFFER_BINDINGS, buffer_types, VK_SHADER_STAGE_COMPUTE_BIT,
             &p->buffer_set_layout, &p->buffer_layout, &p->buffer_set);
}

/* What is bound besides the subject ------------------------------------------------------------ */

VkBufferUsageFlags probe_buffer_usage(void)
{
    return VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
           VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT | VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT |
           VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
           VK_BUFFER_USAGE_INDEX_BUFFER_BIT | VK_BUFFER_USAGE_VERTEX_BUFFER_BIT |
           VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT;
}

static VkBufferView view_words(const probe *p, VkBuffer buffer)
{
    const VkBufferViewCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO,
                                         .buffer = buffer,
                                         .format = VK_FORMAT_R32_UINT,
                                         .range = PROBE_BUFFER_BYTES};
    VkBufferView view = VK_NULL_HANDLE;
    VK_OK(vkCreateBufferView(p->vk->device, &info, NULL, &view));
    return view;
}

static void open_buffer(probe *p)
{
    const VkDevice device = p->vk->device;
    const VkBufferCreateInfo info = raw_vk_buffer_info(PROBE_BUFFER_BYTES, probe_buffer_usage());
    VK_OK(vkCreateBuffer(device, &info, NULL, &p->buffer));
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(device, p->buffer, &needs);
    const VkMemoryPropertyFlags wanted =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    uint32_t type = 0;
    while ((needs.memoryTypeBits >> type & 1u) == 0 ||
           (p->vk->memory.memoryTypes[type].propertyFlags & wanted) != wanted)
        REQUIRE(++type < p->vk->memory.memoryTypeCount);
    const VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                           .allocationSize = needs.size,
                                           .memoryTypeIndex = type};
    VK_OK(vkAllocateMemory(device, &allocate, NULL, &p->memory));
    VK_OK(vkBindBufferMemory(device, p->buffer, p->memory, 0));
    void *mapped;
    VK_OK(vkMapMemory(device, p->memory, 0, PROBE_BUFFER_BYTES, 0, &mapped));
    memset(mapped, 0, PROBE_BUFFER_BYTES);
    const VkDrawIndexedIndirectCommand draw = {.indexCount = 1, .instanceCount = 1};
    memcpy((char *)mapped + PROBE_DRAW_OFFSET, &draw, sizeof draw);
    vkUnmapMemory(device, p->memory);
    p->buffer_view = view_words(p, p->buffer);
}

static VkImageView view_layer(const probe *p, const raw_vk_image *image,
                              const VkImageSubresourceRange *range, VkImageAspectFlags aspects)
{
    static const VkImageViewType types[] = {VK_IMAGE_VIEW_TYPE_1D, VK_IMAGE_VIEW_TYPE_2D,
                                            VK_IMAGE_VIEW_TYPE_3D};
    const VkImageViewCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
        .image = image->image,
        .viewType = types[image->desc.dimensions - 1],
        .format = image->desc.format,
        .subresourceRange = {aspects, range->baseMipLevel, 1, range->baseArrayLayer, 1}};
    VkImageView view = VK_NULL_HANDLE;
    VK_OK(vkCreateImageView(p->vk->device, &info, NULL, &view));
    return view;
}

static void open_images(probe *p)
{
    static const VkImageSubresourceRange all = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    for (uint32_t d = 1; d <= PROBE_DIMENSIONS; d++) {
        const raw_vk_image_desc desc = {
            .format = VK_FORMAT_R32_SFLOAT,
            .width = 4,
            .height = d > 1 ? 4 : 1,
            .depth = d > 2 ? 4 : 1,
            .dimensions = d,
            .usage = VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_STORAGE_BIT |
                     (d == 2 ? VK_IMAGE_USAGE_INPUT_ATTACHMENT_BIT : 0u)};
        raw_vk_image_create(p->vk, &desc, &p->own[d - 1]);
        p->own_views[d - 1] = view_layer(p, &p->own[d - 1], &all, VK_IMAGE_ASPECT_COLOR_BIT);
    }
}

void probe_open(probe *p, raw_vk *vk)
{
    memset(p, 0, sizeof *p);
    p->vk = vk;
    const VkSamplerCreateInfo sampler = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
    VK_OK(vkCreateSampler(vk->device, &sampler, NULL, &p->sampler));
    open_sets(p);
    open_buffer(p);
    open_images(p);
    raw_vk_buffer_create(vk, PROBE_COPY_BYTES, RAW_VK_HOST, &p->copies);
    memset(p->copies.mapped, 0, PROBE_COPY_BYTES);
    static const char *const names[] = {"barrier_1d.comp", "barrier_2d.comp", "barrier_3d.comp"};
    for (uint32_t d = 0; d < PROBE_DIMENSIONS; d++)
        p->image_pipelines[d] = compute_pipeline(vk->device, names[d], p->image_layout);
    p->buffer_pipeline = compute_pipeline(vk->device, "barrier_buffers.comp", p->buffer_layout);
    p->vertex = probe_shader(vk->device, "barrier.vert");
    p->sampled = probe_shader(vk->device, "barrier_sampled.frag");
    p->input = probe_shader(vk->device, "barrier_input.frag");
}

void probe_close(probe *p)
{
    const VkDevice device = p->vk->device;
    probe_forget(p);
    for (uint32_t i = 0; i < p->pass_count; i++) {
        vkDestroyPipeline(device, p->passes[i].pipeline, NULL);
        vkDestroyRenderPass(device, p->passes[i].pass, NULL);
    }
    vkDestroyShaderModule(device, p->vertex, NULL);
    vkDestroyShaderModule(device, p->sampled, NULL);
    vkDestroyShaderModule(device, p->input, NULL);
    vkDestroyPipeline(device, p->buffer_pipeline, NULL);
    for (uint32_t d = 0; d < PROBE_DIMENSIONS; d++) {
        vkDestroyPipeline(device, p->image_pipelines[d], NULL);
        vkDestroyImageView(device, p->own_views[d], NULL);
        raw_vk_image_destroy(p->vk, &p->own[d]);
    }
    raw_vk_buffer_destroy(p->vk, &p->copies);
    vkDestroyBufferView(device, p->buffer_view, NULL);
    vkDestroyBuffer(device, p->buffer, NULL);
    vkFreeMemory(device, p->memory, NULL);
    vkDestroyDescriptorPool(device, p->pool, NULL);
    const VkPipelineLayout layouts[] = {p->image_layout, p->graphics_layout, p->buffer_layout};
    const VkDescriptorSetLayout sets[] = {p->image_set_layout, p->graphics_set_layout,
                                          p->buffer_set_layout};
    for (int i = 0; i < 3; i++) {
        vkDestroyPipelineLayout(device, layouts[i], NULL);
        vkDestroyDescriptorSetLayout(device, sets[i], NULL);
    }
    vkDestroySampler(device, p->sampler, NULL);
}

void probe_forget(probe *p)
{
    const VkDevice device = p->vk->device;
    vkDestroyFramebuffer(device, p->framebuffer, NULL);
    vkDestroyImageView(device, p->view, NULL);
    vkDestroyImageView(device, p->aspect_view, NULL);
    vkDestroyBufferView(device, p->texels, NULL);
    p->framebuffer = VK_NULL_HANDLE;
    p->view = p->aspect_view = VK_NULL_HANDLE;
    p->texels = VK_NULL_HANDLE;
}

/* Uses of buffers ------------------------------------------------------------------------------ */

bool probe_buffer_has(const probe *p, uint32_t queue, culv_vk_use use)
{
    const VkQueueFlags flags = p->vk->queues[queue].flags;
    switch (use) {
    case CULV_VK_USE_VERTEX_BUFFER:
    case CULV_VK_USE_INDEX_BUFFER:
    case CULV_VK_USE_INDIRECT_BUFFER: return (flags & VK_QUEUE_GRAPHICS_BIT) != 0;
    case CULV_VK_USE_UNIFORM:
    case CULV_VK_USE_STORAGE_READ:
    case CULV_VK_USE_STORAGE:
    case CULV_VK_USE_SAMPLED: return (flags & VK_QUEUE_COMPUTE_BIT) != 0;
    case CULV_VK_USE_ANY:
    case CULV_VK_USE_TRANSFER_SRC:
    case CULV_VK_USE_TRANSFER_DST: return true;
    default: return false;
    }
}

/* The subject stands at one binding, the probe's own buffer at all others. */
static void dispatch_buffers(probe *p, VkCommandBuffer commands, VkBuffer subject, uint32_t at)
{
    VkDescriptorBufferInfo ranges[PROBE_BUFFER_BINDINGS];
    VkBufferView views[PROBE_BUFFER_BINDINGS];
    VkWriteDescriptorSet writes[PROBE_BUFFER_BINDINGS];
    p->texels = view_words(p, subject);
    for (uint32_t i = 0; i < PROBE_BUFFER_BINDINGS; i++) {
        ranges[i] = (VkDescriptorBufferInfo){i == at ? subject : p->buffer, 0, PROBE_BUFFER_BYTES};
        views[i] = i == at ? p->texels : p->buffer_view;
        writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                           .dstSet = p->buffer_set,
                                           .dstBinding = i,
                                           .descriptorCount = 1,
                                           .descriptorType = buffer_types[i],
                                           .pBufferInfo = &ranges[i],
                                           .pTexelBufferView = &views[i]};
    }
    vkUpdateDescriptorSets(p->vk->device, PROBE_BUFFER_BINDINGS, writes, 0, NULL);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, p->buffer_pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, p->buffer_layout, 0, 1,
                            &p->buffer_set, 0, NULL);
    vkCmdDispatch(commands, 1, 1, 1);
}

void probe_buffer_use(probe *p, VkCommandBuffer commands, VkBuffer buffer, culv_vk_use use)
{
    const VkBufferCopy copy = {.size = PROBE_BUFFER_BYTES};
    switch (use) {
    case CULV_VK_USE_UNIFORM: dispatch_buffers(p, commands, buffer, 0); break;
    case CULV_VK_USE_STORAGE_READ: dispatch_buffers(p, commands, buffer, 1); break;
    case CULV_VK_USE_STORAGE: dispatch_buffers(p, commands, buffer, 2); break;
    case CULV_VK_USE_SAMPLED: dispatch_buffers(p, commands, buffer, 3); break;
    case CULV_VK_USE_TRANSFER_SRC:
        vkCmdCopyBuffer(commands, buffer, p->copies.buffer, 1, &copy);
        break;
    case CULV_VK_USE_ANY:
    case CULV_VK_USE_TRANSFER_DST:
        vkCmdCopyBuffer(commands, p->copies.buffer, buffer, 1, &copy);
        break;
    default: probe_draw_buffers(p, commands, buffer, use); break;
    }
}

/* Uses of images ------------------------------------------------------------------------------- */

VkImageAspectFlags probe_aspects(VkFormat format)
{
    if (format == VK_FORMAT_S8_UINT) return VK_IMAGE_ASPECT_STENCIL_BIT;
    if (format >= VK_FORMAT_D16_UNORM && format < VK_FORMAT_S8_UINT)
        return VK_IMAGE_ASPECT_DEPTH_BIT;
    if (format > VK_FORMAT_S8_UINT && format <= VK_FORMAT_D32_SFLOAT_S8_UINT)
        return VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT;
    return VK_IMAGE_ASPECT_COLOR_BIT;
}

bool probe_image_has(const probe *p, uint32_t queue, const raw_vk_image *image, culv_vk_use use)
{
    const VkQueueFlags flags = p->vk->queues[queue].flags;
    const bool color = probe_aspects(image->desc.format) == VK_IMAGE_ASPECT_COLOR_BIT;
    const bool stencil = image->desc.format == VK_FORMAT_S8_UINT; /* the shaders read floats */
    VkImageUsageFlags needs;
    VkQueueFlags queues = VK_QUEUE_GRAPHICS_BIT;
    switch (use) {
    case CULV_VK_USE_ANY:
    case CULV_VK_USE_TRANSFER_SRC:
    case CULV_VK_USE_TRANSFER_DST: return color || (flags & VK_QUEUE_GRAPHICS_BIT) != 0;
    case CULV_VK_USE_STORAGE_READ:
    case CULV_VK_USE_STORAGE:
        needs = VK_IMAGE_USAGE_STORAGE_BIT;
        queues = VK_QUEUE_COMPUTE_BIT;
        break;
    case CULV_VK_USE_SAMPLED:
        needs = stencil ? VK_IMAGE_USAGE_FLAG_BITS_MAX_ENUM : VK_IMAGE_USAGE_SAMPLED_BIT;
        queues = VK_QUEUE_COMPUTE_BIT;
        break;
    case CULV_VK_USE_COLOR_ATTACHMENT: needs = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT; break;
    case CULV_VK_USE_DEPTH_STENCIL_ATTACHMENT:
    case CULV_VK_USE_DEPTH_STENCIL_READ: needs = VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT; break;
    case CULV_VK_USE_INPUT_ATTACHMENT:
        needs = stencil ? VK_IMAGE_USAGE_FLAG_BITS_MAX_ENUM : VK_IMAGE_USAGE_INPUT_ATTACHMENT_BIT;
        break;
    default: return false;
    }
    return (image->desc.usage & needs) == needs && (flags & queues) != 0;
}

VkImageLayout probe_layout(culv_vk_use use)
{
    switch (use) {
    case CULV_VK_USE_SAMPLED:
    case CULV_VK_USE_INPUT_ATTACHMENT: return VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL;
    case CULV_VK_USE_COLOR_ATTACHMENT: return VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL;
    case CULV_VK_USE_TRANSFER_SRC: return VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
    case CULV_VK_USE_TRANSFER_DST: return VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
    case CULV_VK_USE_DEPTH_STENCIL_ATTACHMENT:
        return VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL;
    case CULV_VK_USE_DEPTH_STENCIL_READ: return VK_IMAGE_LAYOUT_DEPTH_STENCIL_READ_ONLY_OPTIMAL;
    default: return VK_IMAGE_LAYOUT_GENERAL;
    }
}

static void dispatch_images(probe *p, VkCommandBuffer commands, uint32_t dimensions,
                            culv_vk_use use)
{
    const uint32_t at = use == CULV_VK_USE_SAMPLED ? 0 : use == CULV_VK_USE_STORAGE_READ ? 1 : 2;
    VkDescriptorImageInfo images[PROBE_IMAGE_BINDINGS];
    VkWriteDescriptorSet writes[PROBE_IMAGE_BINDINGS];
    for (uint32_t i = 0; i < PROBE_IMAGE_BINDINGS; i++) {
        images[i] = (VkDescriptorImageInfo){p->sampler,
                                            i == at ? p->aspect_view : p->own_views[dimensions - 1],
                                            i == at ? probe_layout(use) : VK_IMAGE_LAYOUT_GENERAL};
        writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                           .dstSet = p->image_set,
                                           .dstBinding = i,
                                           .descriptorCount = 1,
                                           .descriptorType = image_types[i],
                                           .pImageInfo = &images[i]};
    }
    vkUpdateDescriptorSets(p->vk->device, PROBE_IMAGE_BINDINGS, writes, 0, NULL);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, p->image_pipelines[dimensions - 1]);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, p->image_layout, 0, 1,
                            &p->image_set, 0, NULL);
    vkCmdDispatch(commands, 1, 1, 1);
}

/* Each aspect, or plane, has a part of the buffer of its own. */
static void copy_image(probe *p, VkCommandBuffer commands, const raw_vk_image *image,
                       const VkImageSubresourceRange *range, culv_vk_use use)
{
    enum { PARTS = 4 };
    const bool planes = image->desc.format == VK_FORMAT_G8_B8R8_2PLANE_420_UNORM;
    const VkImageAspectFlags aspects =
        planes ? VK_IMAGE_ASPECT_PLANE_0_BIT | VK_IMAGE_ASPECT_PLANE_1_BIT
               : probe_aspects(image->desc.format);
    VkBufferImageCopy regions[PARTS];
    uint32_t count = 0;
    for (VkImageAspectFlags aspect = 1; aspect <= VK_IMAGE_ASPECT_PLANE_1_BIT; aspect <<= 1) {
        if ((aspects & aspect) == 0) continue;
        VkExtent3D extent = raw_vk_image_extent(image, range->baseMipLevel);
        if (aspect == VK_IMAGE_ASPECT_PLANE_1_BIT) {
            extent.width /= 2;
            extent.height /= 2;
        }
        REQUIRE(extent.width * extent.height * extent.depth * 4 <= PROBE_COPY_BYTES / PARTS);
        regions[count] = (VkBufferImageCopy){
            .bufferOffset = count * (PROBE_COPY_BYTES / PARTS),
            .imageSubresource = {aspect, range->baseMipLevel, range->baseArrayLayer, 1},
            .imageExtent = extent};
        count++;
    }
    if (use == CULV_VK_USE_TRANSFER_SRC)
        vkCmdCopyImageToBuffer(commands, image->image, probe_layout(use), p->copies.buffer, count,
                               regions);
    else
        vkCmdCopyBufferToImage(commands, p->copies.buffer, image->image, probe_layout(use), count,
                               regions);
}

void probe_image_use(probe *p, VkCommandBuffer commands, const raw_vk_image *image,
                     const VkImageSubresourceRange *range, culv_vk_use use)
{
    if (use == CULV_VK_USE_ANY || use == CULV_VK_USE_TRANSFER_SRC ||
        use == CULV_VK_USE_TRANSFER_DST) {
        copy_image(p, commands, image, range, use);
        return;
    }
    const VkImageAspectFlags aspects = probe_aspects(image->desc.format);
    p->view = view_layer(p, image, range, aspects);
    p->aspect_view =
        view_layer(p, image, range, /* what a shader reads is one aspect */
                   aspects & VK_IMAGE_ASPECT_DEPTH_BIT ? VK_IMAGE_ASPECT_DEPTH_BIT : aspects);
    if (use == CULV_VK_USE_SAMPLED || use == CULV_VK_USE_STORAGE_READ || use == CULV_VK_USE_STORAGE)
        dispatch_images(p, commands, image->desc.dimensions, use);
    else
        probe_draw_image(p, commands, image, range->baseMipLevel, use);
}
