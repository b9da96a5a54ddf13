/* SPDX-License-Identifier: MIT */
/* The Vulkan device of culvert-bench. */
#include "renderer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_EXTENSIONS = 8 };

static void describe(raw_vk *vk)
{
    vk->id.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES;
    VkPhysicalDeviceProperties2 properties = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &vk->id};
    vkGetPhysicalDeviceProperties2(vk->physical, &properties);
    vk->properties = properties.properties;
    vk->id.pNext = NULL;
    vkGetPhysicalDeviceMemoryProperties(vk->physical, &vk->memory);
    REQUIRE(vk->properties.apiVersion >= VK_API_VERSION_1_3);
}

static void open_queues(raw_vk *vk)
{
    for (uint32_t i = 0; i < vk->queue_count; i++) {
        vkGetDeviceQueue(vk->device, i, 0, &vk->queues[i].queue);
        const VkCommandPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                              .flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT,
                                              .queueFamilyIndex = i};
        VK_OK(vkCreateCommandPool(vk->device, &info, NULL, &vk->queues[i].pool));
    }
}

static void create(raw_vk *vk, uint32_t num_extensions, const char *const *extensions)
{
    VkQueueFamilyProperties families[RAW_VK_MAX_QUEUES];
    VkDeviceQueueCreateInfo queues[RAW_VK_MAX_QUEUES];
    static const float one = 1.0f;
    vk->queue_count = RAW_VK_MAX_QUEUES;
    vkGetPhysicalDeviceQueueFamilyProperties(vk->physical, &vk->queue_count, families);
    for (uint32_t i = 0; i < vk->queue_count; i++) {
        vk->queues[i].flags = families[i].queueFlags;
        queues[i] = (VkDeviceQueueCreateInfo){.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                              .queueFamilyIndex = i,
                                              .queueCount = 1,
                                              .pQueuePriorities = &one};
    }
    VkPhysicalDeviceVulkan13Features features13 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
        .synchronization2 = VK_TRUE,
        .dynamicRendering = VK_TRUE,
        .maintenance4 = VK_TRUE};
    VkPhysicalDeviceVulkan12Features features12 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
        .pNext = &features13,
        .timelineSemaphore = VK_TRUE,
        .hostQueryReset = VK_TRUE,
        .bufferDeviceAddress = vk->kernels};
    const VkPhysicalDeviceFeatures features = {.fragmentStoresAndAtomics = VK_TRUE};
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = &features12,
                                     .queueCreateInfoCount = vk->queue_count,
                                     .pQueueCreateInfos = queues,
                                     .enabledExtensionCount = num_extensions,
                                     .ppEnabledExtensionNames = extensions,
                                     .pEnabledFeatures = &features};
    VK_OK(vkCreateDevice(vk->physical, &info, NULL, &vk->device));
}

void device_open(void *state, raw_vk *vk, const raw_vk_options *options)
{
    device_options *o = state;
    const char *extensions[MOST_EXTENSIONS];
    uint32_t count = 0;
    raw_vk_open_instance(vk, options);
    if (raw_vk_find(vk, options->uuid, &vk->physical) == 0)
        SKIP("no Vulkan device has the CUDA device's UUID");
    describe(vk);
    extensions[count++] = VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME;
    extensions[count++] = VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME;
    for (uint32_t i = 0; i < count; i++)
        if (!raw_vk_has_device_extension(vk->physical, extensions[i]))
            FAIL("%s lacks %s", vk->properties.deviceName, extensions[i]);
    o->calibrated =
        raw_vk_has_device_extension(vk->physical, VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME);
    if (o->calibrated) extensions[count++] = VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME;
    vk->kernels =
        raw_vk_has_device_extension(vk->physical, VK_NVX_BINARY_IMPORT_EXTENSION_NAME) &&
        raw_vk_has_device_extension(vk->physical, VK_NVX_IMAGE_VIEW_HANDLE_EXTENSION_NAME);
    if (vk->kernels) {
        extensions[count++] = VK_NVX_BINARY_IMPORT_EXTENSION_NAME;
        extensions[count++] = VK_NVX_IMAGE_VIEW_HANDLE_EXTENSION_NAME;
    }
    create(vk, count, extensions);
    open_queues(vk);
}

uint32_t device_timestamp_bits(const raw_vk *vk, uint32_t family)
{
    VkQueueFamilyProperties families[RAW_VK_MAX_QUEUES];
    uint32_t count = RAW_VK_MAX_QUEUES;
    vkGetPhysicalDeviceQueueFamilyProperties(vk->physical, &count, families);
    return families[family].timestampValidBits;
}

uint32_t device_family(const raw_vk *vk, VkQueueFlags wanted, VkQueueFlags unwanted)
{
    for (uint32_t i = 0; i < vk->queue_count; i++)
        if ((vk->queues[i].flags & wanted) == wanted && (vk->queues[i].flags & unwanted) == 0)
            return i;
    return UINT32_MAX;
}

/* The renderer: what is made once. See renderer.h. */

enum { SIDE = 512, SOFT_SIDE = 32 };

static const VkFormat target_format = VK_FORMAT_R8G8B8A8_UNORM;

/* The image ------------------------------------------------------------------------------------ */

/* UINT32_MAX: there is none. */
static uint32_t memory_type(const raw_vk *vk, uint32_t bits, VkMemoryPropertyFlags flags)
{
    for (uint32_t i = 0; i < vk->memory.memoryTypeCount; i++)
        if ((bits >> i & 1u) != 0 && (vk->memory.memoryTypes[i].propertyFlags & flags) == flags)
            return i;
    return UINT32_MAX;
}

static void open_target(renderer *r)
{
    const raw_vk *vk = &r->rig->vk;
    const VkImageCreateInfo image = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                     .imageType = VK_IMAGE_TYPE_2D,
                                     .format = target_format,
                                     .extent = {r->side, r->side, 1},
                                     .mipLevels = 1,
                                     .arrayLayers = 1,
                                     .samples = VK_SAMPLE_COUNT_1_BIT,
                                     .usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT |
                                              VK_IMAGE_USAGE_TRANSFER_SRC_BIT};
    VK_OK(vkCreateImage(vk->device, &image, NULL, &r->target));
    VkMemoryRequirements needs;
    vkGetImageMemoryRequirements(vk->device, r->target, &needs);
    const VkMemoryAllocateInfo memory = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .allocationSize = needs.size,
        .memoryTypeIndex =
            memory_type(vk, needs.memoryTypeBits, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT)};
    VK_OK(vkAllocateMemory(vk->device, &memory, NULL, &r->target_memory));
    VK_OK(vkBindImageMemory(vk->device, r->target, r->target_memory, 0));
    const VkImageViewCreateInfo view = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
        .image = r->target,
        .viewType = VK_IMAGE_VIEW_TYPE_2D,
        .format = target_format,
        .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
    VK_OK(vkCreateImageView(vk->device, &view, NULL, &r->view));
}

/* Written by every queue, read by the host: in the device's memory where the host reaches that. */
static void open_verdict(renderer *r)
{
    const raw_vk *vk = &r->rig->vk;
    uint32_t families[RAW_VK_MAX_QUEUES];
    for (uint32_t i = 0; i < vk->queue_count; i++)
        families[i] = i;
    bool several = vk->queue_count > 1;
    const VkBufferCreateInfo buffer = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                       .size = sizeof(renderer_verdict),
                                       .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
                                       .sharingMode = several ? VK_SHARING_MODE_CONCURRENT
                                                              : VK_SHARING_MODE_EXCLUSIVE,
                                       .queueFamilyIndexCount = several ? vk->queue_count : 0,
                                       .pQueueFamilyIndices = several ? families : NULL};
    VK_OK(vkCreateBuffer(vk->device, &buffer, NULL, &r->verdict));
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(vk->device, r->verdict, &needs);
    const VkMemoryPropertyFlags host =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    uint32_t type =
        memory_type(vk, needs.memoryTypeBits, host | VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
    if (type == UINT32_MAX) type = memory_type(vk, needs.memoryTypeBits, host);
    const VkMemoryAllocateInfo memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                         .allocationSize = needs.size,
                                         .memoryTypeIndex = type};
    void *mapped = NULL;
    VK_OK(vkAllocateMemory(vk->device, &memory, NULL, &r->verdict_memory));
    VK_OK(vkBindBufferMemory(vk->device, r->verdict, r->verdict_memory, 0));
    VK_OK(vkMapMemory(vk->device, r->verdict_memory, 0, VK_WHOLE_SIZE, 0, &mapped));
    r->judged = mapped;
    *r->judged = (renderer_verdict){0, 0};
}

/* Pipelines ------------------------------------------------------------------------------------ */

static VkShaderModule load_shader(const renderer *r, const char *name)
{
    char relative[64], path[TEST_PATH_MAX];
    snprintf(relative, sizeof relative, "share/culvert/bench_%s.spv", name);
    FILE *file = fopen(test_path(path, relative), "rb");
    if (file == NULL) FAIL("%s is missing", path);
    REQUIRE(fseek(file, 0, SEEK_END) == 0);
    long size = ftell(file);
    REQUIRE(size > 0 && size % 4 == 0 && fseek(file, 0, SEEK_SET) == 0);
    uint32_t *code = malloc((size_t)size);
    REQUIRE(code != NULL && fread(code, 1, (size_t)size, file) == (size_t)size);
    fclose(file);
    const VkShaderModuleCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                           .codeSize = (size_t)size,
                                           .pCode = code};
    VkShaderModule module = VK_NULL_HANDLE;
    VK_OK(vkCreateShaderModule(r->rig->vk.device, &info, NULL, &module));
    free(code);
    return module;
}

static void open_layout(renderer *r)
{
    VkDevice device = r->rig->vk.device;
    VkDescriptorSetLayoutBinding bindings[3];
    for (uint32_t i = 0; i < 3; i++)
        bindings[i] =
            (VkDescriptorSetLayoutBinding){.binding = i,
                                           .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                           .descriptorCount = 1,
                                           .stageFlags = RENDERER_STAGES};
    const VkDescriptorSetLayoutCreateInfo set = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = 3,
        .pBindings = bindings};
    VK_OK(vkCreateDescriptorSetLayout(device, &set, NULL, &r->set_layout));
    const VkPushConstantRange constants = {RENDERER_STAGES, 0, sizeof(renderer_constants)};
    const VkPipelineLayoutCreateInfo layout = {.sType =
                                                   VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                               .setLayoutCount = 1,
                                               .pSetLayouts = &r->set_layout,
                                               .pushConstantRangeCount = 1,
                                               .pPushConstantRanges = &constants};
    VK_OK(vkCreatePipelineLayout(device, &layout, NULL, &r->layout));
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 3 * RENDERER_SLOTS};
    const VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                             .maxSets = RENDERER_SLOTS,
                                             .poolSizeCount = 1,
                                             .pPoolSizes = &size};
    VK_OK(vkCreateDescriptorPool(device, &pool, NULL, &r->pool));
    VkDescriptorSetLayout layouts[RENDERER_SLOTS];
    for (uint32_t i = 0; i < RENDERER_SLOTS; i++)
        layouts[i] = r->set_layout;
    const VkDescriptorSetAllocateInfo sets = {.sType =
                                                  VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                              .descriptorPool = r->pool,
                                              .descriptorSetCount = RENDERER_SLOTS,
                                              .pSetLayouts = layouts};
    VK_OK(vkAllocateDescriptorSets(device, &sets, r->sets));
}

static void open_draw(renderer *r)
{
    const VkSpecializationMapEntry entry = {0, 0, sizeof r->side};
    const VkSpecializationInfo side = {1, &entry, sizeof r->side, &r->side};
    const VkPipelineShaderStageCreateInfo stages[] = {
        {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
         .stage = VK_SHADER_STAGE_VERTEX_BIT,
         .module = load_shader(r, "draw.vert"),
         .pName = "main"},
        {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
         .stage = VK_SHADER_STAGE_FRAGMENT_BIT,
         .module = load_shader(r, "draw.frag"),
         .pName = "main",
         .pSpecializationInfo = &side}};
    const VkPipelineVertexInputStateCreateInfo input = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO};
    const VkPipelineInputAssemblyStateCreateInfo assembly = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
        .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST};
    const VkViewport viewport = {0.0f, 0.0f, (float)r->side, (float)r->side, 0.0f, 1.0f};
    const VkPipelineViewportStateCreateInfo viewports = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO,
        .viewportCount = 1,
        .pViewports = &viewport,
        .scissorCount = 1};
    const VkDynamicState scissor = VK_DYNAMIC_STATE_SCISSOR;
    const VkPipelineDynamicStateCreateInfo dynamic = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO,
        .dynamicStateCount = 1,
        .pDynamicStates = &scissor};
    const VkPipelineRasterizationStateCreateInfo raster = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO,
        .polygonMode = VK_POLYGON_MODE_FILL,
        .cullMode = VK_CULL_MODE_NONE,
        .lineWidth = 1.0f};
    const VkPipelineMultisampleStateCreateInfo multisample = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
        .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT};
    const VkPipelineColorBlendAttachmentState attachment = {
        .colorWriteMask = VK_COLOR_COMPONENT_R_BIT | VK_COLOR_COMPONENT_G_BIT |
                          VK_COLOR_COMPONENT_B_BIT | VK_COLOR_COMPONENT_A_BIT};
    const VkPipelineColorBlendStateCreateInfo blend = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
        .attachmentCount = 1,
        .pAttachments = &attachment};
    const VkPipelineRenderingCreateInfo rendering = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
        .colorAttachmentCount = 1,
        .pColorAttachmentFormats = &target_format};
    const VkGraphicsPipelineCreateInfo info = {.sType =
                                                   VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
                                               .pNext = &rendering,
                                               .stageCount = 2,
                                               .pStages = stages,
                                               .pVertexInputState = &input,
                                               .pInputAssemblyState = &assembly,
                                               .pViewportState = &viewports,
                                               .pDynamicState = &dynamic,
                                               .pRasterizationState = &raster,
                                               .pMultisampleState = &multisample,
                                               .pColorBlendState = &blend,
                                               .layout = r->layout};
    VkDevice device = r->rig->vk.device;
    VK_OK(vkCreateGraphicsPipelines(device, VK_NULL_HANDLE, 1, &info, NULL, &r->draw));
    for (size_t i = 0; i < 2; i++)
        vkDestroyShaderModule(device, stages[i].module, NULL);
}

static VkPipeline compute_pipeline(const renderer *r, const char *shader)
{
    const VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = load_shader(r, shader),
                  .pName = "main"},
        .layout = r->layout};
    VkDevice device = r->rig->vk.device;
    VkPipeline made = VK_NULL_HANDLE;
    VK_OK(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, NULL, &made));
    vkDestroyShaderModule(device, info.stage.module, NULL);
    return made;
}

static void open_commands(renderer *r)
{
    VkDevice device = r->rig->vk.device;
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT};
    VK_OK(vkCreateCommandPool(device, &pool, NULL, &r->commands_pool));
    r->commands = calloc(r->num_frames, sizeof(VkCommandBuffer));
    REQUIRE(r->commands != NULL);
    const VkCommandBufferAllocateInfo info = {.sType =
                                                  VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = r->commands_pool,
                                              .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                              .commandBufferCount = r->num_frames};
    VK_OK(vkAllocateCommandBuffers(device, &info, r->commands));
    r->timestamp_bits = device_timestamp_bits(&r->rig->vk, 0);
}

/* All of it ------------------------------------------------------------------------------------ */

void renderer_open(renderer *r, rig *gpu, uint32_t num_frames)
{
    *r = (renderer){.rig = gpu, .num_frames = num_frames, .parts = 1};
    r->side = gpu->cu->software ? SOFT_SIDE : SIDE;
    r->pixels = r->side * r->side;
    if ((gpu->vk.queues[0].flags & VK_QUEUE_GRAPHICS_BIT) == 0)
        FAIL("the first queue family of %s has no graphics", gpu->vk.properties.deviceName);
    open_target(r);
    raw_vk_buffer_create(&gpu->vk, (VkDeviceSize)r->pixels * sizeof(uint32_t), 0, &r->image);
    open_verdict(r);
    open_layout(r);
    open_draw(r);
    r->write = compute_pipeline(r, "frame.comp");
    r->check = compute_pipeline(r, "check.comp");
    const VkQueryPoolCreateInfo queries = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                           .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                           .queryCount = 2 * num_frames + 1};
    VK_OK(vkCreateQueryPool(gpu->vk.device, &queries, NULL, &r->queries));
    vkResetQueryPool(gpu->vk.device, r->queries, 0, 2 * num_frames + 1);
    open_commands(r);
    r->timestamps = malloc((size_t)num_frames * 2 * sizeof *r->timestamps);
    REQUIRE(r->timestamps != NULL);
}

void renderer_close(renderer *r)
{
    VkDevice device = r->rig->vk.device;
    raw_vk_idle(&r->rig->vk);
    vkDestroyCommandPool(device, r->commands_pool, NULL);
    free(r->commands);
    free(r->timestamps);
    vkDestroyQueryPool(device, r->queries, NULL);
    vkDestroyPipeline(device, r->draw, NULL);
    vkDestroyPipeline(device, r->write, NULL);
    vkDestroyPipeline(device, r->check, NULL);
    vkDestroyDescriptorPool(device, r->pool, NULL);
    vkDestroyPipelineLayout(device, r->layout, NULL);
    vkDestroyDescriptorSetLayout(device, r->set_layout, NULL);
    vkDestroyBuffer(device, r->verdict, NULL);
    vkFreeMemory(device, r->verdict_memory, NULL);
    raw_vk_buffer_destroy(&r->rig->vk, &r->image);
    vkDestroyImageView(device, r->view, NULL);
    vkDestroyImage(device, r->target, NULL);
    vkFreeMemory(device, r->target_memory, NULL);
}

void renderer_bind(renderer *r, const VkBuffer *buffers, uint32_t count, VkDeviceSize bytes)
{
    REQUIRE(count <= RENDERER_SLOTS);
    REQUIRE(bytes <= r->rig->vk.properties.limits.maxStorageBufferRange);
    r->bytes = bytes;
    for (uint32_t i = 0; i < count; i++) {
        const VkDescriptorBufferInfo info[] = {{buffers[i], 0, bytes},
                                               {r->verdict, 0, VK_WHOLE_SIZE},
                                               {r->image.buffer, 0, VK_WHOLE_SIZE}};
        VkWriteDescriptorSet writes[3];
        for (uint32_t b = 0; b < 3; b++)
            writes[b] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                               .dstSet = r->sets[i],
                                               .dstBinding = b,
                                               .descriptorCount = 1,
                                               .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                               .pBufferInfo = &info[b]};
        vkUpdateDescriptorSets(r->rig->vk.device, 3, writes, 0, NULL);
    }
}
