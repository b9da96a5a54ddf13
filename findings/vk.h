/* What the Vulkan programs of this folder share: the first device, a queue, buffers, pictures, one
 * submit at a time.
 * SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

#define OK(call)                                                                                   \
    do {                                                                                           \
        VkResult result_ = (call);                                                                 \
        if (result_) {                                                                             \
            printf("%s = %d\n", #call, (int)result_);                                              \
            exit(3);                                                                               \
        }                                                                                          \
    } while (0)

struct bytes {
    VkBuffer buffer;
    void *host;
};

static VkPhysicalDevice gpu;
static VkDevice device;
static VkQueue queue;
static VkCommandPool pool;

/* Starts Vulkan 1.3; chain: features, as VkDeviceCreateInfo::pNext takes them. */
static inline void start(const char *const *extensions, uint32_t count, const void *chain)
{
    VkInstance instance;
    float priority = 1;
    uint32_t one = 1;
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                     .apiVersion = VK_API_VERSION_1_3};
    VkInstanceCreateInfo of_instance = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                        .pApplicationInfo = &application};
    VkDeviceQueueCreateInfo of_queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                        .queueCount = 1,
                                        .pQueuePriorities = &priority};
    VkDeviceCreateInfo of_device = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                    .pNext = chain,
                                    .queueCreateInfoCount = 1,
                                    .pQueueCreateInfos = &of_queue,
                                    .enabledExtensionCount = count,
                                    .ppEnabledExtensionNames = extensions};
    VkCommandPoolCreateInfo of_pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    OK(vkCreateInstance(&of_instance, NULL, &instance));
    OK(vkEnumeratePhysicalDevices(instance, &one, &gpu));
    OK(vkCreateDevice(gpu, &of_device, NULL, &device));
    vkGetDeviceQueue(device, 0, 0, &queue);
    OK(vkCreateCommandPool(device, &of_pool, NULL, &pool));
}

/* Allocates memory of type 0, lavapipe's only one. */
static inline VkDeviceMemory memory(VkDeviceSize size, const void *chain)
{
    VkDeviceMemory made;
    VkMemoryAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = chain, .allocationSize = size};
    OK(vkAllocateMemory(device, &info, NULL, &made));
    return made;
}

static inline struct bytes bytes(VkDeviceSize size, VkBufferUsageFlags usage)
{
    struct bytes made;
    VkMemoryRequirements needs;
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = size, .usage = usage};
    OK(vkCreateBuffer(device, &info, NULL, &made.buffer));
    vkGetBufferMemoryRequirements(device, made.buffer, &needs);
    VkDeviceMemory under = memory(needs.size, NULL);
    OK(vkBindBufferMemory(device, made.buffer, under, 0));
    OK(vkMapMemory(device, under, 0, VK_WHOLE_SIZE, 0, &made.host));
    return made;
}

/* Makes a picture of one row. */
static inline VkImage row(VkFormat format, uint32_t width, VkImageUsageFlags usage,
                          const void *chain)
{
    VkImage made;
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .pNext = chain,
                              .imageType = VK_IMAGE_TYPE_2D,
                              .format = format,
                              .extent = {width, 1, 1},
                              .mipLevels = 1,
                              .arrayLayers = 1,
                              .samples = 1,
                              .usage = usage};
    OK(vkCreateImage(device, &info, NULL, &made));
    return made;
}

static inline VkImage row_with_memory(VkFormat format, uint32_t width, VkImageUsageFlags usage)
{
    VkImage made = row(format, width, usage, NULL);
    VkMemoryRequirements needs;
    vkGetImageMemoryRequirements(device, made, &needs);
    OK(vkBindImageMemory(device, made, memory(needs.size, NULL), 0));
    return made;
}

static inline VkCommandBuffer begin(void)
{
    VkCommandBuffer made;
    VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandPool = pool,
                                        .commandBufferCount = 1};
    VkCommandBufferBeginInfo once = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    OK(vkAllocateCommandBuffers(device, &info, &made));
    OK(vkBeginCommandBuffer(made, &once));
    return made;
}

static inline void barrier(VkCommandBuffer commands)
{
    VkMemoryBarrier all = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                           .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                           .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT |
                                            VK_ACCESS_HOST_READ_BIT};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                         VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT, 0, 1,
                         &all, 0, NULL, 0, NULL);
}

/* Brings a new color picture to the layout GENERAL. */
static inline void general(VkCommandBuffer commands, VkImage image)
{
    VkImageMemoryBarrier all = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                .dstAccessMask =
                                    VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
                                .newLayout = VK_IMAGE_LAYOUT_GENERAL,
                                .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                .image = image,
                                .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                         VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 0, NULL, 1, &all);
}

/* Copies a row of texels between a picture in the layout GENERAL and a buffer. */
static inline VkBufferImageCopy texels(uint32_t width)
{
    return (VkBufferImageCopy){.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                               .imageExtent = {width, 1, 1}};
}

static inline void run(VkCommandBuffer commands)
{
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .commandBufferCount = 1,
                         .pCommandBuffers = &commands};
    barrier(commands);
    OK(vkEndCommandBuffer(commands));
    OK(vkQueueSubmit(queue, 1, &info, VK_NULL_HANDLE));
    OK(vkQueueWaitIdle(queue));
}

/* Runs a compute shader once with a storage buffer at each binding from 0. */
static inline void compute(const uint32_t *code, size_t size, const struct bytes *buffers,
                           uint32_t count)
{
    VkDescriptorSetLayoutBinding bindings[4];
    VkDescriptorBufferInfo infos[4];
    VkWriteDescriptorSet writes[4];
    VkDescriptorSetLayout of_set;
    VkDescriptorPool sets;
    VkDescriptorSet set;
    VkPipelineLayout layout;
    VkShaderModule module;
    VkPipeline pipeline;
    for (uint32_t i = 0; i < count; i++)
        bindings[i] = (VkDescriptorSetLayoutBinding){i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1,
                                                     VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    OK(vkCreateDescriptorSetLayout(device,
                                   &(VkDescriptorSetLayoutCreateInfo){
                                       .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                       .bindingCount = count,
                                       .pBindings = bindings},
                                   NULL, &of_set));
    OK(vkCreatePipelineLayout(
        device,
        &(VkPipelineLayoutCreateInfo){.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                      .setLayoutCount = 1,
                                      .pSetLayouts = &of_set},
        NULL, &layout));
    OK(vkCreateShaderModule(
        device,
        &(VkShaderModuleCreateInfo){
            .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = size, .pCode = code},
        NULL, &module));
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .layout = layout,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = module,
                  .pName = "main"}};
    OK(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline));
    VkDescriptorPoolSize room = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, count};
    OK(vkCreateDescriptorPool(
        device,
        &(VkDescriptorPoolCreateInfo){.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                      .maxSets = 1,
                                      .poolSizeCount = 1,
                                      .pPoolSizes = &room},
        NULL, &sets));
    OK(vkAllocateDescriptorSets(
        device,
        &(VkDescriptorSetAllocateInfo){.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                       .descriptorPool = sets,
                                       .descriptorSetCount = 1,
                                       .pSetLayouts = &of_set},
        &set));
    for (uint32_t i = 0; i < count; i++) {
        infos[i] = (VkDescriptorBufferInfo){buffers[i].buffer, 0, VK_WHOLE_SIZE};
        writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                           .dstSet = set,
                                           .dstBinding = i,
                                           .descriptorCount = 1,
                                           .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                           .pBufferInfo = &infos[i]};
    }
    vkUpdateDescriptorSets(device, count, writes, 0, NULL);
    VkCommandBuffer commands = begin();
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, NULL);
    vkCmdDispatch(commands, 1, 1, 1);
    run(commands);
}
