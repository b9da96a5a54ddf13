/* SPDX-License-Identifier: MIT */
/* The Vulkan device of culvert-bench. See device.h. */
#include "device.h"

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
