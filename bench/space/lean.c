/* SPDX-License-Identifier: MIT */
/* A Vulkan device with one queue, for the processes that only look for an address: each queue of a
 * GPU costs milliseconds, for which processes that start side by side wait in turn. */
#include "space.h"

static void find_queue(raw_vk *vk, uint32_t *family)
{
    VkQueueFamilyProperties families[RAW_VK_MAX_QUEUES];
    uint32_t count = RAW_VK_MAX_QUEUES;
    vkGetPhysicalDeviceQueueFamilyProperties(vk->physical, &count, families);
    for (*family = 0; *family < count; ++*family)
        if (families[*family].queueFlags & VK_QUEUE_SPARSE_BINDING_BIT) break;
    if (*family == count) *family = 0; /* culv_vk_check_space() says what is missing */
    vk->queue_count = 1;
    vk->queues[0].flags = families[*family].queueFlags;
}

void space_open_lean(void *state, raw_vk *vk, const raw_vk_options *options)
{
    static const float priority = 1.0f;
    static const char *const extensions[] = {VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME,
                                             VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME};
    uint32_t family = 0;
    (void)state;
    raw_vk_open_instance(vk, options);
    if (raw_vk_find(vk, options->uuid, &vk->physical) == 0)
        SKIP("no Vulkan device has the CUDA device's UUID");
    vkGetPhysicalDeviceProperties(vk->physical, &vk->properties);
    REQUIRE(vk->properties.apiVersion >= VK_API_VERSION_1_3);
    vkGetPhysicalDeviceMemoryProperties(vk->physical, &vk->memory);
    find_queue(vk, &family);
    VkPhysicalDeviceBufferDeviceAddressFeatures address = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES};
    VkPhysicalDeviceFeatures2 has = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                     .pNext = &address};
    vkGetPhysicalDeviceFeatures2(vk->physical, &has);
    const VkPhysicalDeviceFeatures features = {.sparseBinding = has.features.sparseBinding,
                                               .sparseResidencyBuffer =
                                                   has.features.sparseResidencyBuffer};
    VkPhysicalDeviceVulkan13Features features13 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
        .synchronization2 = VK_TRUE};
    VkPhysicalDeviceVulkan12Features features12 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
        .pNext = &features13,
        .timelineSemaphore = VK_TRUE,
        .bufferDeviceAddress = address.bufferDeviceAddress,
        .bufferDeviceAddressCaptureReplay = address.bufferDeviceAddressCaptureReplay};
    const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                           .queueFamilyIndex = family,
                                           .queueCount = 1,
                                           .pQueuePriorities = &priority};
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = &features12,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue,
                                     .enabledExtensionCount = 2,
                                     .ppEnabledExtensionNames = extensions,
                                     .pEnabledFeatures = &features};
    VK_OK(vkCreateDevice(vk->physical, &info, NULL, &vk->device));
    vkGetDeviceQueue(vk->device, family, 0, &vk->queues[0].queue);
}
