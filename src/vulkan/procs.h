/* Every Vulkan function that Culvert calls, once. CULV_VK_INSTANCE and CULV_VK_DEVICE (name, need); a KHR
 * name is the fall-back for devices below the version that has it in core. No guard: included several times.
 * SPDX-License-Identifier: MIT */
CULV_VK_INSTANCE(vkEnumeratePhysicalDevices, REQUIRED)
CULV_VK_INSTANCE(vkEnumeratePhysicalDeviceGroups, REQUIRED)
CULV_VK_INSTANCE(vkGetPhysicalDeviceProperties, REQUIRED)
CULV_VK_INSTANCE(vkGetPhysicalDeviceProperties2, REQUIRED)
CULV_VK_INSTANCE(vkGetPhysicalDeviceFeatures2, REQUIRED)
CULV_VK_INSTANCE(vkGetPhysicalDeviceExternalBufferProperties, REQUIRED)
CULV_VK_INSTANCE(vkGetPhysicalDeviceExternalSemaphoreProperties, REQUIRED)
CULV_VK_INSTANCE(vkEnumerateDeviceExtensionProperties, REQUIRED)
CULV_VK_INSTANCE(vkGetDeviceProcAddr, REQUIRED)
CULV_VK_DEVICE(vkGetBufferMemoryRequirements2, REQUIRED)
CULV_VK_DEVICE(vkGetMemoryFdKHR, OPTIONAL)
CULV_VK_DEVICE(vkGetSemaphoreFdKHR, OPTIONAL)
CULV_VK_DEVICE(vkGetSemaphoreCounterValue, OPTIONAL)
CULV_VK_DEVICE(vkGetSemaphoreCounterValueKHR, OPTIONAL)
