/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: what memory looks like that Vulkan exports. */
#include "vmm.h"

#ifdef SOFT_POSING

bool soft_vulkan_memory_header(uint8_t header[32])
{
    (void)header;
    return false; /* it asks Vulkan nothing */
}

#else

#    include "partner.h"

#    define GET(name)  PFN_##name name = (PFN_##name)get(instance, #    name)
#    define GETD(name) PFN_##name name = (PFN_##name)get_of_device(device, #    name)

static bool read_header(VkDevice device, PFN_vkGetDeviceProcAddr get_of_device, uint8_t header[32])
{
    GETD(vkAllocateMemory);
    GETD(vkFreeMemory);
    GETD(vkGetMemoryFdKHR);
    if (vkAllocateMemory == NULL || vkFreeMemory == NULL || vkGetMemoryFdKHR == NULL) return false;
    const VkExternalMemoryHandleTypeFlagBits type = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    const VkExportMemoryAllocateInfo shared = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO, .handleTypes = type};
    const VkMemoryAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = &shared, .allocationSize = 64};
    VkDeviceMemory memory = VK_NULL_HANDLE;
    if (vkAllocateMemory(device, &info, NULL, &memory) != VK_SUCCESS) return false;
    const VkMemoryGetFdInfoKHR which = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR, .memory = memory, .handleType = type};
    int fd = -1;
    bool found = false;
    if (vkGetMemoryFdKHR(device, &which, &fd) == VK_SUCCESS && fd >= 0) {
        found = soft_read_at(fd, header, 32, 0);
        soft_close(fd);
    }
    vkFreeMemory(device, memory, NULL);
    return found;
}

static bool open_device(VkInstance instance, PFN_vkGetInstanceProcAddr get, uint8_t header[32])
{
    GET(vkEnumeratePhysicalDevices);
    GET(vkGetPhysicalDeviceProperties2);
    if (vkEnumeratePhysicalDevices == NULL || vkGetPhysicalDeviceProperties2 == NULL) return false;
    VkPhysicalDevice devices[SOFT_MAX_DEVICES];
    uint32_t count = SOFT_MAX_DEVICES;
    const VkResult listed = vkEnumeratePhysicalDevices(instance, &count, devices);
    if (listed != VK_SUCCESS && listed != VK_INCOMPLETE) return false;
    for (uint32_t i = 0; i < count; i++) {
        VkPhysicalDeviceProperties properties;
        VkPhysicalDeviceIDProperties id;
        if (soft_partner_of(vkGetPhysicalDeviceProperties2, devices[i], &properties, &id) !=
            SOFT_LAVAPIPE)
            continue;
        const char *const extension = VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME;
        PFN_vkGetDeviceProcAddr get_of_device;
        const VkDevice device =
            soft_vulkan_device(instance, get, devices[i], &extension, 1, &get_of_device);
        if (device == VK_NULL_HANDLE) continue;
        const bool found = read_header(device, get_of_device, header);
        soft_vulkan_device_close(device, get_of_device);
        if (found) return true;
    }
    return false;
}

bool soft_vulkan_memory_header(uint8_t header[32])
{
    PFN_vkGetInstanceProcAddr get;
    VkInstance instance = soft_vulkan_open(&get);
    if (instance == VK_NULL_HANDLE) return false;
    const bool found = open_device(instance, get, header);
    soft_vulkan_close(instance, get);
    return found;
}

#endif
