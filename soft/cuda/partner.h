/* SPDX-License-Identifier: MIT */
/* Which Vulkan devices are the twin's: Mesa's lavapipe, and SwiftShader, whose memory has no
 * header, whose images lie differently, and which exports binary semaphores itself. */
#ifndef SOFT_PARTNER_H
#define SOFT_PARTNER_H

#include "soft.h"

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

static inline enum soft_partner soft_partner_of(PFN_vkGetPhysicalDeviceProperties2 get_properties,
                                                VkPhysicalDevice device,
                                                VkPhysicalDeviceProperties *out,
                                                VkPhysicalDeviceIDProperties *id)
{
    *id = (VkPhysicalDeviceIDProperties){.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
    VkPhysicalDeviceDriverProperties driver = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES, .pNext = id};
    VkPhysicalDeviceProperties2 properties = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &driver};
    get_properties(device, &properties);
    *out = properties.properties;
    if (out->deviceType != VK_PHYSICAL_DEVICE_TYPE_CPU) return SOFT_NO_PARTNER;
    return driver.driverID == VK_DRIVER_ID_MESA_LLVMPIPE        ? SOFT_LAVAPIPE
           : driver.driverID == VK_DRIVER_ID_GOOGLE_SWIFTSHADER ? SOFT_SWIFTSHADER
                                                                : SOFT_NO_PARTNER;
}

/* partner.c. VK_NULL_HANDLE: there is no Vulkan. */
VkInstance soft_vulkan_open(PFN_vkGetInstanceProcAddr *get);
void soft_vulkan_close(VkInstance instance, PFN_vkGetInstanceProcAddr get);
/* One with a queue of the first family; VK_NULL_HANDLE: none. */
VkDevice soft_vulkan_device(VkInstance instance, PFN_vkGetInstanceProcAddr get,
                            VkPhysicalDevice physical, const char *const *extensions,
                            uint32_t num_extensions, PFN_vkGetDeviceProcAddr *get_of_device);
void soft_vulkan_device_close(VkDevice device, PFN_vkGetDeviceProcAddr get_of_device);

/* What of SwiftShader is not as the twin knows it; NULL: nothing. */
const char *soft_swiftshader_differs(VkInstance instance, PFN_vkGetInstanceProcAddr get,
                                     VkPhysicalDevice physical);

#endif
