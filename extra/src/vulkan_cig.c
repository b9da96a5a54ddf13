/* SPDX-License-Identifier: MIT */
/* CUDA in graphics beside a VkDevice. */
#include "culvert/extra/vulkan_cig.h"

#include "cig.h"
#include "vulkan.h"

/* VK_NV_external_compute_queue, by the numbers of Vulkan's registry, for headers before 1.4.311. */
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

typedef struct queue_end {
    culvi_x_vk vk;
    VkExternalComputeQueueNV external;
} queue_end;

static void end_queue(void *user)
{
    queue_end *end = user;
    CULVI_X_VK(&end->vk, vkDestroyExternalComputeQueueNV)
    (end->vk.d.device, end->external, end->vk.callbacks);
    culvi_x_free(end);
}

/* Makes the queue that CUDA works beside, and what the driver tells of it: allocated. */
static culv_result make_queue(queue_end *end, VkQueue queue, const char *label, void **out)
{
    const culvi_x_vk *vk = &end->vk;
    const culv_device_caps caps = culvi_x_caps(vk->device);
    const PFN_vkCreateExternalComputeQueueNV create =
        CULVI_X_VK(vk, vkCreateExternalComputeQueueNV);
    VkPhysicalDeviceIDProperties id = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
    VkPhysicalDeviceExternalComputeQueuePropertiesNV limits = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_COMPUTE_QUEUE_PROPERTIES_NV,
        .pNext = &id};
    VkPhysicalDeviceProperties2 properties = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &limits};
    CULVI_X_VKI(vk, vkGetPhysicalDeviceProperties2)(vk->d.physical_device, &properties);
    const char *name = properties.properties.deviceName;
    CULVI_X_REFUSE_IF(memcmp(id.deviceUUID, &caps.uuid, sizeof id.deviceUUID) != 0, vk->device,
                      label, CULV_REASON_DEVICE_MISMATCH,
                      "the VkDevice is on '%s', another GPU than the culv_device's", name);
    CULVI_X_REFUSE_IF(
        create == NULL, vk->device, label, CULV_REASON_EXTENSION_MISSING,
        "the VkDevice was created without the extension VK_NV_external_compute_queue; enable it where the physical device has it, with VkExternalComputeQueueDeviceCreateInfoNV and one reserved queue");
    CULVI_X_UNSUPPORTED_IF(
        limits.maxExternalQueues == 0 || limits.externalDataSize == 0, vk->device, label,
        CULV_REASON_CIG,
        "'%s' has no external compute queues (VkPhysicalDeviceExternalComputeQueuePropertiesNV)",
        name);
    void *data = culvi_x_alloc(limits.externalDataSize);
    if (data == NULL) return culvi_x_fail_host_memory(vk->device, label);
    const VkExternalComputeQueueCreateInfoNV info = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_COMPUTE_QUEUE_CREATE_INFO_NV, .preferredQueue = queue};
    VkExternalComputeQueueDataParamsNV params = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_COMPUTE_QUEUE_DATA_PARAMS_NV};
    const VkResult r = create(vk->d.device, &info, vk->callbacks, &end->external);
    if (r != VK_SUCCESS) {
        culvi_x_free(data);
        return culvi_x_fail_vk(
            vk, label, r, "vkCreateExternalComputeQueueNV", CULV_REASON_CIG,
            "no external compute queue could be made; were enough of them reserved when the VkDevice was created?");
    }
    CULVI_X_VK(vk, vkGetExternalComputeQueueDataNV)(end->external, &params, data);
    *out = data;
    return CULV_OK;
}

culv_result culv_vk_cig_create(culv_device *device, const culv_vk_device_desc *vulkan,
                               VkQueue queue, const char *label, culv_cig **out)
{
    CULVI_X_REQUIRE_WITH2(device, device, vulkan, queue);
    CULVI_X_REQUIRE(device, out);
    CULVI_X_NEW(queue_end, end, device, label);
    void *data = NULL;
    culv_result result = culvi_x_vk_read(&end->vk, device, vulkan, __func__);
    if (result == CULV_OK) result = make_queue(end, queue, label, &data);
    CULVI_X_TRY_OR(result, culvi_x_free(end));
    const culvi_cig_source source = {.attribute = CU_DEVICE_ATTRIBUTE_VULKAN_CIG_SUPPORTED,
                                     .type = CIG_DATA_TYPE_NV_BLOB,
                                     .data = data,
                                     .end = end_queue,
                                     .user = end};
    result = culvi_cig_create(device, &source, label, out);
    culvi_x_free(data);
    return result;
}
