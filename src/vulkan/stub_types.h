/* SPDX-License-Identifier: MIT */
/* What the public headers need of Vulkan's. A build without Vulkan (CULVERT_VULKAN=OFF) may lack
 * them, so <vulkan/vulkan_core.h> is an empty file where the stubs are compiled. */
#ifndef CULVI_VULKAN_STUB_TYPES_H_
#define CULVI_VULKAN_STUB_TYPES_H_

#include <stdint.h>

#if UINTPTR_MAX == UINT64_MAX
#    define OBJECT(name) typedef struct name##_T *name;
#else
#    define OBJECT(name) typedef uint64_t name;
#endif
#define DISPATCHABLE(name) typedef struct name##_T *name;
#define STRUCT(name)                                                                               \
    typedef struct name {                                                                          \
        int unknown;                                                                               \
    } name;
#define NUMBER(name) typedef uint32_t name;
#define FLAGS2(name) typedef uint64_t name;
DISPATCHABLE(VkInstance)
DISPATCHABLE(VkPhysicalDevice)
DISPATCHABLE(VkDevice)
DISPATCHABLE(VkQueue)
DISPATCHABLE(VkCommandBuffer)
OBJECT(VkBuffer)
OBJECT(VkImage)
OBJECT(VkImageView)
OBJECT(VkSampler)
OBJECT(VkDeviceMemory)
OBJECT(VkSemaphore)
OBJECT(VkFence)
STRUCT(VkAllocationCallbacks)
STRUCT(VkBufferCreateInfo)
STRUCT(VkBufferMemoryBarrier)
STRUCT(VkBufferMemoryBarrier2)
STRUCT(VkDependencyInfo)
STRUCT(VkImageCreateInfo)
STRUCT(VkImageMemoryBarrier)
STRUCT(VkImageMemoryBarrier2)
STRUCT(VkMemoryBarrier2)
STRUCT(VkMemoryRequirements)
STRUCT(VkPhysicalDeviceBufferDeviceAddressFeatures)
STRUCT(VkPhysicalDeviceFeatures2)
STRUCT(VkPhysicalDeviceMaintenance4Features)
STRUCT(VkPhysicalDeviceSynchronization2Features)
STRUCT(VkPhysicalDeviceTimelineSemaphoreFeatures)
STRUCT(VkSamplerCreateInfo)
STRUCT(VkSemaphoreSubmitInfo)
NUMBER(VkBool32)
NUMBER(VkBufferUsageFlags)
NUMBER(VkDriverId)
NUMBER(VkFormat)
NUMBER(VkImageAspectFlags)
NUMBER(VkImageLayout)
NUMBER(VkImageUsageFlags)
NUMBER(VkMemoryAllocateFlags)
NUMBER(VkMemoryPropertyFlags)
NUMBER(VkSharingMode)
NUMBER(VkPhysicalDeviceType)
NUMBER(VkPipelineStageFlags)
NUMBER(VkResult)
FLAGS2(VkDeviceAddress)
FLAGS2(VkDeviceSize)
FLAGS2(VkPipelineStageFlags2)
FLAGS2(VkAccessFlags2)
typedef void (*PFN_vkVoidFunction)(void);
typedef PFN_vkVoidFunction (*PFN_vkGetInstanceProcAddr)(VkInstance instance, const char *name);

#endif
