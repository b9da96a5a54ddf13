/* SPDX-License-Identifier: MIT */
/* Submits and waits of a lavapipe device: they see, and leave behind, pages that are up to date.
 * Without this an application that knows from the other side that a value was reached could read an
 * older one, or signal the next value from a queue while the bridge still has to signal the last
 * one. */
#include "soft_vk.h"

static bool bridged(soft_vk_device *device)
{
    return atomic_load(&device->bridges) != 0;
}

/* Takes back what the submission was to run, where it was not made. */
static VkResult submitted(soft_vk_device *device, uint64_t before, VkResult result)
{
    if (result != VK_SUCCESS && device->kernels) soft_vk_expect_no_more_than(device, before);
    return result;
}

VkResult soft_vk_QueueSubmit(soft_vk_device *device, VkQueue handle, uint32_t count,
                             const VkSubmitInfo *submits, VkFence fence)
{
    VkResult result = soft_vk_or_lost(device, VK_SUCCESS);
    if (result != VK_SUCCESS) return result;
    for (uint32_t i = 0; bridged(device) && i < count; i++) {
        for (uint32_t k = 0; k < submits[i].signalSemaphoreCount; k++)
            soft_vk_pull(device, submits[i].pSignalSemaphores[k]);
    }
    const uint64_t before = device->kernels ? soft_vk_expected(device) : 0;
    for (uint32_t i = 0; device->kernels && i < count; i++)
        for (uint32_t k = 0; result == VK_SUCCESS && k < submits[i].commandBufferCount; k++)
            result = soft_vk_expect(device, submits[i].pCommandBuffers[k]);
    if (result == VK_SUCCESS) result = device->next.QueueSubmit(handle, count, submits, fence);
    for (uint32_t i = 0; result == VK_SUCCESS && i < count; i++) {
        const VkTimelineSemaphoreSubmitInfo *values =
            soft_vk_in_chain(submits[i].pNext, VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
        for (uint32_t k = 0; values && k < submits[i].signalSemaphoreCount; k++)
            if (k < values->signalSemaphoreValueCount)
                soft_vk_submitted(device, handle, submits[i].pSignalSemaphores[k],
                                  values->pSignalSemaphoreValues[k]);
    }
    if (result == VK_SUCCESS) soft_vk_fenced(device, handle, fence);
    return submitted(device, before, result);
}

VkResult soft_vk_QueueSubmit2(soft_vk_device *device, VkQueue handle, uint32_t count,
                              const VkSubmitInfo2 *submits, VkFence fence)
{
    VkResult result = soft_vk_or_lost(device, VK_SUCCESS);
    if (result != VK_SUCCESS) return result;
    for (uint32_t i = 0; bridged(device) && i < count; i++) {
        for (uint32_t k = 0; k < submits[i].signalSemaphoreInfoCount; k++)
            soft_vk_pull(device, submits[i].pSignalSemaphoreInfos[k].semaphore);
    }
    const uint64_t before = device->kernels ? soft_vk_expected(device) : 0;
    for (uint32_t i = 0; device->kernels && i < count; i++)
        for (uint32_t k = 0; result == VK_SUCCESS && k < submits[i].commandBufferInfoCount; k++)
            result = soft_vk_expect(device, submits[i].pCommandBufferInfos[k].commandBuffer);
    if (result == VK_SUCCESS) result = device->next.QueueSubmit2(handle, count, submits, fence);
    for (uint32_t i = 0; result == VK_SUCCESS && i < count; i++)
        for (uint32_t k = 0; k < submits[i].signalSemaphoreInfoCount; k++)
            soft_vk_submitted(device, handle, submits[i].pSignalSemaphoreInfos[k].semaphore,
                              submits[i].pSignalSemaphoreInfos[k].value);
    if (result == VK_SUCCESS) soft_vk_fenced(device, handle, fence);
    return submitted(device, before, result);
}

VkResult soft_vk_QueueWaitIdle(soft_vk_device *device, VkQueue handle)
{
    VkResult result = device->next.QueueWaitIdle(handle);
    if (result == VK_SUCCESS && bridged(device)) soft_vk_push_all(device);
    return soft_vk_or_lost(device, result);
}

VkResult soft_vk_DeviceWaitIdle(soft_vk_device *device, VkDevice handle)
{
    VkResult result = device->next.DeviceWaitIdle(handle);
    if (result == VK_SUCCESS && bridged(device)) soft_vk_push_all(device);
    return soft_vk_or_lost(device, result);
}

VkResult soft_vk_WaitForFences(soft_vk_device *device, VkDevice handle, uint32_t count,
                               const VkFence *fences, VkBool32 all, uint64_t timeout)
{
    VkResult result = device->next.WaitForFences(handle, count, fences, all, timeout);
    if (result == VK_SUCCESS && bridged(device)) {
        for (uint32_t i = 0; i < count; i++)
            if (all || count == 1 || device->next.GetFenceStatus(handle, fences[i]) == VK_SUCCESS)
                soft_vk_fence_reached(device, fences[i]);
        soft_vk_push_all(device);
    }
    return soft_vk_or_lost(device, result);
}

VkResult soft_vk_GetFenceStatus(soft_vk_device *device, VkDevice handle, VkFence fence)
{
    VkResult result = device->next.GetFenceStatus(handle, fence);
    if (result == VK_SUCCESS && bridged(device)) {
        soft_vk_fence_reached(device, fence);
        soft_vk_push_all(device);
    }
    return soft_vk_or_lost(device, result);
}

VkResult soft_vk_WaitSemaphores(soft_vk_device *device, VkDevice handle,
                                const VkSemaphoreWaitInfo *info, uint64_t timeout)
{
    bool work = bridged(device);
    for (uint32_t i = 0; work && i < info->semaphoreCount; i++)
        soft_vk_pull(device, info->pSemaphores[i]);
    VkResult result = device->next.WaitSemaphores(handle, info, timeout);
    for (uint32_t i = 0; work && result == VK_SUCCESS && i < info->semaphoreCount; i++)
        soft_vk_push(device, info->pSemaphores[i]);
    return soft_vk_or_lost(device, result);
}
