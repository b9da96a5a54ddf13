/* SPDX-License-Identifier: MIT */
/* VK_NV_external_compute_queue, by the numbers of Vulkan's registry, for headers before 1.4.311. */
#ifndef CULVI_X_VK_EXTERNAL_QUEUE_H_
#define CULVI_X_VK_EXTERNAL_QUEUE_H_

#include <vulkan/vulkan_core.h>

#ifndef VK_NV_external_compute_queue
#    define VK_NV_EXTERNAL_COMPUTE_QUEUE_EXTENSION_NAME             "VK_NV_external_compute_queue"
#    define VK_STRUCTURE_TYPE_EXTERNAL_COMPUTE_QUEUE_CREATE_INFO_NV ((VkStructureType)1000556001)
#    define VK_STRUCTURE_TYPE_EXTERNAL_COMPUTE_QUEUE_DATA_PARAMS_NV ((VkStructureType)1000556002)
#    define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_COMPUTE_QUEUE_PROPERTIES_NV                 \
        ((VkStructureType)1000556003)
VK_DEFINE_HANDLE(VkExternalComputeQueueNV)
typedef struct VkExternalComputeQueueCreateInfoNV {
    VkStructureType sType;
    const void *pNext;
    VkQueue preferredQueue;
} VkExternalComputeQueueCreateInfoNV;
typedef struct VkExternalComputeQueueDataParamsNV {
    VkStructureType sType;
    const void *pNext;
    uint32_t deviceIndex;
} VkExternalComputeQueueDataParamsNV;
typedef struct VkPhysicalDeviceExternalComputeQueuePropertiesNV {
    VkStructureType sType;
    void *pNext;
    uint32_t externalDataSize;
    uint32_t maxExternalQueues;
} VkPhysicalDeviceExternalComputeQueuePropertiesNV;
typedef VkResult(VKAPI_PTR *PFN_vkCreateExternalComputeQueueNV)(
    VkDevice device, const VkExternalComputeQueueCreateInfoNV *info,
    const VkAllocationCallbacks *callbacks, VkExternalComputeQueueNV *queue);
typedef void(VKAPI_PTR *PFN_vkDestroyExternalComputeQueueNV)(
    VkDevice device, VkExternalComputeQueueNV queue, const VkAllocationCallbacks *callbacks);
typedef void(VKAPI_PTR *PFN_vkGetExternalComputeQueueDataNV)(
    VkExternalComputeQueueNV queue, VkExternalComputeQueueDataParamsNV *params, void *data);
#endif

#endif
