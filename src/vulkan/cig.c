/* SPDX-License-Identifier: MIT */
/* CUDA in graphics beside a VkDevice. */
#include "base/alloc.h"
#include "culvert/vulkan_cig.h"
#include "graphics/cig_source.h"
#include "vulkan/vk_trace.h"

static void end_queue(culvi_graphics *graphics, uint64_t object)
{
    culv_vk_device *vk = (culv_vk_device *)graphics; /* its first member */
    CULVI_VK_DO(vk, vkDestroyExternalComputeQueueNV,
                (vk->vk_device, (VkExternalComputeQueueNV)(uintptr_t)object, vk->callbacks));
}

culv_result culv_vk_cig_create(culv_vk_device *vk, VkQueue queue, const char *label, culv_cig **out)
{
    VkExternalComputeQueueNV external = VK_NULL_HANDLE;
    CULVI_REQUIRE(NULL, vk);
    const culvi_voice *voice = &vk->base.device->voice;
    CULVI_REQUIRE2(voice, queue, out);
    if (vk->base.foreign)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_DEVICE_MISMATCH,
                          "the VkDevice is on '%s', another GPU than the culv_device's",
                          vk->base.name);
    if (vk->table.vkCreateExternalComputeQueueNV == NULL ||
        vk->table.vkDestroyExternalComputeQueueNV == NULL ||
        vk->table.vkGetExternalComputeQueueDataNV == NULL)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_EXTENSION_MISSING,
                          "the VkDevice was created without the extension "
                          "VK_NV_external_compute_queue; enable it where the physical device has "
                          "it, with VkExternalComputeQueueDeviceCreateInfoNV and one reserved "
                          "queue");
    VkPhysicalDeviceExternalComputeQueuePropertiesNV limits = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_COMPUTE_QUEUE_PROPERTIES_NV};
    VkPhysicalDeviceProperties2 properties = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &limits};
    CULVI_VKI_DO(&vk->instance, vkGetPhysicalDeviceProperties2, (vk->physical_device, &properties));
    if (limits.maxExternalQueues == 0 || limits.externalDataSize == 0)
        return culvi_fail(voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_CIG,
                          "'%s' has no external compute queues "
                          "(VkPhysicalDeviceExternalComputeQueuePropertiesNV)",
                          vk->base.name);
    void *data = culvi_alloc(limits.externalDataSize);
    if (data == NULL) return culvi_fail_host_memory(voice, label);
    const VkExternalComputeQueueCreateInfoNV info = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_COMPUTE_QUEUE_CREATE_INFO_NV, .preferredQueue = queue};
    VkExternalComputeQueueDataParamsNV params = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_COMPUTE_QUEUE_DATA_PARAMS_NV};
    const VkResult r = CULVI_VK(vk, vkCreateExternalComputeQueueNV,
                                (vk->vk_device, &info, vk->callbacks, &external));
    culv_result result;
    if (r != VK_SUCCESS) {
        result = culvi_fail_vk(voice, label, r, "vkCreateExternalComputeQueueNV", CULV_REASON_CIG,
                               "no external compute queue could be made; were enough of them "
                               "reserved when the VkDevice was created?");
        goto free_data;
    }
    CULVI_VK_DO(vk, vkGetExternalComputeQueueDataNV, (external, &params, data));
    const culvi_cig_source source = {.attribute = CU_DEVICE_ATTRIBUTE_VULKAN_CIG_SUPPORTED,
                                     .type = CIG_DATA_TYPE_NV_BLOB,
                                     .data = data,
                                     .object = (uint64_t)(uintptr_t)external,
                                     .end = end_queue};
    result = culvi_cig_create(&vk->base, &source, label, out);
free_data:
    culvi_free(data);
    return result;
}
