/* SPDX-License-Identifier: MIT */
/* What the programs here share: a check, and what Vulkan has. */
#ifndef TESTS_CPP_VULKAN_DEVICE_HPP
#define TESTS_CPP_VULKAN_DEVICE_HPP

#include <culvert/cuda_api.h>
#include <culvert/vulkan.hpp>

#include <cstdio>
#include <cstdlib>

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            std::fprintf(stderr, "%s:%d: %s; %s\n", __FILE__, __LINE__, #condition,                \
                         culv_last_error_message());                                               \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

// What Vulkan has. It outlives what Culvert makes with it.
struct vulkan {
    VkInstance instance = VK_NULL_HANDLE;
    VkDevice device = VK_NULL_HANDLE;
    VkCommandPool pool = VK_NULL_HANDLE;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    VkQueue queue = VK_NULL_HANDLE;
    uint32_t family = 0;
    culv_vk_device_desc desc = culv_vk_device_desc_init();

    vulkan() = default;
    vulkan(const vulkan &) = delete;
    vulkan &operator=(const vulkan &) = delete;
    ~vulkan()
    {
        vkDestroyCommandPool(device, pool, nullptr);
        vkDestroyDevice(device, nullptr);
        vkDestroyInstance(instance, nullptr);
    }
    culvert::device open()
    {
        desc.get_instance_proc_addr = vkGetInstanceProcAddr;
        desc.api_version = VK_API_VERSION_1_3;
        const char *layers[8], *names[8];
        uint32_t num_layers = 8, num_names = 8;
        const VkApplicationInfo app = {
            VK_STRUCTURE_TYPE_APPLICATION_INFO, nullptr, nullptr, 0, nullptr, 0, desc.api_version};
        culvert::ok(
            culv_vk_merge_instance_layers(vkGetInstanceProcAddr, 0, nullptr, &num_layers, layers));
        const VkInstanceCreateInfo asked = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                            nullptr,
                                            0,
                                            &app,
                                            num_layers,
                                            layers,
                                            0,
                                            nullptr};
        MUST(vkCreateInstance(&asked, nullptr, &instance) == VK_SUCCESS);
        desc.instance = instance;
        culvert::device made = culvert::choose_device(desc);
        culvert::ok(culv_vk_find_queue_family(vkGetInstanceProcAddr, instance, desc.physical_device,
                                              CULV_VK_QUEUE_GRAPHICS, &family));
        culv_vk_device_features features = culv_vk_device_features_init();
        const float priority = 1;
        const VkDeviceQueueCreateInfo queues = {
            VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, nullptr, 0, family, 1, &priority};
        VkDeviceCreateInfo wanted{};
        wanted.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
        wanted.queueCreateInfoCount = 1;
        wanted.pQueueCreateInfos = &queues;
        culvert::ok(culv_vk_merge_device_extensions(&desc, 0, nullptr, &num_names, names));
        culvert::ok(culv_vk_merge_device_features(&desc, nullptr, &features, &wanted.pNext));
        wanted.enabledExtensionCount = num_names;
        wanted.ppEnabledExtensionNames = names;
        MUST(vkCreateDevice(desc.physical_device, &wanted, nullptr, &device) == VK_SUCCESS);
        desc.device = device;
        vkGetDeviceQueue(device, family, 0, &queue);
        const VkCommandPoolCreateInfo pool_info = {
            VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, nullptr,
            VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT, family};
        MUST(vkCreateCommandPool(device, &pool_info, nullptr, &pool) == VK_SUCCESS);
        const VkCommandBufferAllocateInfo one = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                 nullptr, pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
        MUST(vkAllocateCommandBuffers(device, &one, &commands) == VK_SUCCESS);
        return made;
    }
    void begin() const
    {
        const VkCommandBufferBeginInfo info = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, nullptr,
                                               0, nullptr};
        MUST(vkBeginCommandBuffer(commands, &info) == VK_SUCCESS);
    }
};

#endif
