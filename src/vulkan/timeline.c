/* SPDX-License-Identifier: MIT */
/* Timelines on the host: counters, waits and signals, in core or by VK_KHR_timeline_semaphore. */
#include "vulkan/vk_resource.h"

/* Core's, or the extension's function. */
#define PICK(vk, name) ((vk)->table.name != NULL ? (vk)->table.name : (vk)->table.name##KHR)

bool culvi_vk_reads_timelines(const culv_vk_device *vk)
{
    return PICK(vk, vkGetSemaphoreCounterValue) != NULL;
}

culv_result culvi_vk_refuse_timelines(const culv_vk_device *vk, const char *label)
{
    return culvi_fail(
        &vk->base.device->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_EXTENSION_MISSING,
        "the VkDevice has no timeline semaphores; "
        "create it with Vulkan 1.2 or VK_KHR_timeline_semaphore, and with the feature timelineSemaphore");
}

culv_result culvi_vk_check_host_timelines(const culv_vk_device *vk, const char *label)
{
    if (culvi_vk_reads_timelines(vk) && PICK(vk, vkWaitSemaphores) != NULL &&
        PICK(vk, vkSignalSemaphore) != NULL)
        return CULV_OK;
    return culvi_vk_refuse_timelines(vk, label);
}

VkResult culvi_vk_timeline_read(const culv_vk_device *vk, VkSemaphore semaphore, uint64_t *out)
{
    return PICK(vk, vkGetSemaphoreCounterValue)(vk->vk_device, semaphore, out);
}

VkResult culvi_vk_timeline_wait(const culv_vk_device *vk, VkSemaphore semaphore, uint64_t value,
                                uint64_t timeout)
{
    const VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                      .semaphoreCount = 1,
                                      .pSemaphores = &semaphore,
                                      .pValues = &value};
    return PICK(vk, vkWaitSemaphores)(vk->vk_device, &info, timeout);
}

VkResult culvi_vk_timeline_signal(const culv_vk_device *vk, VkSemaphore semaphore, uint64_t value)
{
    const VkSemaphoreSignalInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = semaphore, .value = value};
    return PICK(vk, vkSignalSemaphore)(vk->vk_device, &info);
}
