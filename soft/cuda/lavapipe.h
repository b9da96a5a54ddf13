/* SPDX-License-Identifier: MIT */
/* Which Vulkan devices are the twin's: Mesa's lavapipe. Other drivers draw on the CPU, too
 * (SwiftShader), but their memory begins without a header and their images lie differently. */
#ifndef SOFT_LAVAPIPE_H
#define SOFT_LAVAPIPE_H

#include <stdbool.h>

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

static inline bool soft_is_lavapipe(PFN_vkGetPhysicalDeviceProperties2 get_properties,
                                    VkPhysicalDevice device, VkPhysicalDeviceProperties *out,
                                    VkPhysicalDeviceIDProperties *id)
{
    *id = (VkPhysicalDeviceIDProperties){.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
    VkPhysicalDeviceDriverProperties driver = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES, .pNext = id};
    VkPhysicalDeviceProperties2 properties = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &driver};
    get_properties(device, &properties);
    *out = properties.properties;
    return out->deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU &&
           driver.driverID == VK_DRIVER_ID_MESA_LLVMPIPE;
}

#endif
