/* SPDX-License-Identifier: MIT */
/* Submits and waits of a lavapipe device: they see, and leave behind, pages that are up to date.
 * Without this an application that knows from the other side that a value was reached could read an
 * older one, or signal the next value from a queue while the bridge still has to signal the last
 * one. */
#include <stdlib.h>

#include "soft_vk.h"

static bool bridged(soft_vk_device *device)
{
    return atomic_load(&device->bridges) != 0;
}

static bool numbered(soft_vk_device *device)
{
    return atomic_load(&device->binaries) != 0;
}

static void take_back(soft_vk_device *device, bool waits, const VkSemaphore *of, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        soft_vk_number_back(device, waits, of[k]);
}

static void take_back_2(soft_vk_device *device, bool waits, const VkSemaphoreSubmitInfo *of,
                        uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        soft_vk_number_back(device, waits, of[k].semaphore);
}

/* Takes back what the submission was to run, where it was not made. */
static VkResult submitted(soft_vk_device *device, uint64_t before, VkResult result)
{
    if (result != VK_SUCCESS && device->kernels) soft_vk_expect_no_more_than(device, before);
    return result;
}

/* Copies of submissions in which the driver's timelines stand for binary semaphores. */
typedef struct copies {
    void *submits;
    void *values;      /* VkTimelineSemaphoreSubmitInfo of each; not of QueueSubmit2 */
    void *semaphores;  /* of all: VkSemaphore, or VkSemaphoreSubmitInfo */
    uint64_t *numbers; /* of all; not of QueueSubmit2 */
} copies;

static void free_copies(const copies *c)
{
    free(c->submits);
    free(c->values);
    free(c->semaphores);
    free(c->numbers);
}

/* Replaces `count` semaphores from *at on, and moves *at behind them. */
static const VkSemaphore *replace(soft_vk_device *device, const copies *c, bool waits,
                                  const VkSemaphore *from, uint32_t count, const uint64_t *values,
                                  uint32_t value_count, size_t *at)
{
    VkSemaphore *to = (VkSemaphore *)c->semaphores + *at;
    for (uint32_t k = 0; k < count; k++) {
        to[k] = from[k];
        c->numbers[*at + k] = k < value_count ? values[k] : 0;
        soft_vk_number(device, waits, &to[k], &c->numbers[*at + k]);
    }
    *at += count;
    return to;
}

/* *submits becomes the copies. */
static VkResult number_1(soft_vk_device *device, uint32_t count, const VkSubmitInfo **submits,
                         copies *c)
{
    static const VkTimelineSemaphoreSubmitInfo none = {
        .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO};
    size_t total = 0, at = 0;
    for (uint32_t i = 0; i < count; i++)
        total += (size_t)(*submits)[i].waitSemaphoreCount + (*submits)[i].signalSemaphoreCount;
    VkSubmitInfo *copy = c->submits = calloc(count, sizeof(*copy));
    VkTimelineSemaphoreSubmitInfo *all = c->values = calloc(count, sizeof(*all));
    c->semaphores = calloc(total + 1, sizeof(VkSemaphore));
    c->numbers = calloc(total + 1, sizeof(*c->numbers));
    if (!copy || !all || !c->semaphores || !c->numbers) return VK_ERROR_OUT_OF_HOST_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        const VkTimelineSemaphoreSubmitInfo *theirs =
            soft_vk_in_chain((*submits)[i].pNext, VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
        if (!theirs) theirs = &none;
        copy[i] = (*submits)[i];
        all[i] = none;
        all[i].pNext = copy[i].pNext; /* with the caller's values, which the driver finds later */
        all[i].waitSemaphoreValueCount = copy[i].waitSemaphoreCount;
        all[i].pWaitSemaphoreValues = c->numbers + at;
        copy[i].pWaitSemaphores =
            replace(device, c, true, copy[i].pWaitSemaphores, copy[i].waitSemaphoreCount,
                    theirs->pWaitSemaphoreValues, theirs->waitSemaphoreValueCount, &at);
        all[i].signalSemaphoreValueCount = copy[i].signalSemaphoreCount;
        all[i].pSignalSemaphoreValues = c->numbers + at;
        copy[i].pSignalSemaphores =
            replace(device, c, false, copy[i].pSignalSemaphores, copy[i].signalSemaphoreCount,
                    theirs->pSignalSemaphoreValues, theirs->signalSemaphoreValueCount, &at);
        copy[i].pNext = &all[i];
    }
    *submits = copy;
    return VK_SUCCESS;
}

static VkResult number_2(soft_vk_device *device, uint32_t count, const VkSubmitInfo2 **submits,
                         copies *c)
{
    size_t total = 0, at = 0;
    for (uint32_t i = 0; i < count; i++)
        total +=
            (size_t)(*submits)[i].waitSemaphoreInfoCount + (*submits)[i].signalSemaphoreInfoCount;
    VkSubmitInfo2 *copy = c->submits = calloc(count, sizeof(*copy));
    VkSemaphoreSubmitInfo *all = c->semaphores = calloc(total + 1, sizeof(*all));
    if (!copy || !all) return VK_ERROR_OUT_OF_HOST_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        copy[i] = (*submits)[i];
        for (int waits = 1; waits >= 0; waits--) {
            const uint32_t n =
                waits ? copy[i].waitSemaphoreInfoCount : copy[i].signalSemaphoreInfoCount;
            const VkSemaphoreSubmitInfo *from =
                waits ? copy[i].pWaitSemaphoreInfos : copy[i].pSignalSemaphoreInfos;
            for (uint32_t k = 0; k < n; k++) {
                all[at + k] = from[k];
                soft_vk_number(device, waits != 0, &all[at + k].semaphore, &all[at + k].value);
            }
            if (waits)
                copy[i].pWaitSemaphoreInfos = &all[at];
            else
                copy[i].pSignalSemaphoreInfos = &all[at];
            at += n;
        }
    }
    *submits = copy;
    return VK_SUCCESS;
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
    copies c = {0};
    if (result == VK_SUCCESS && numbered(device)) result = number_1(device, count, &submits, &c);
    if (result == VK_SUCCESS) {
        result = device->next.QueueSubmit(handle, count, submits, fence);
        for (uint32_t i = 0; c.submits && result != VK_SUCCESS && i < count; i++) {
            take_back(device, true, submits[i].pWaitSemaphores, submits[i].waitSemaphoreCount);
            take_back(device, false, submits[i].pSignalSemaphores, submits[i].signalSemaphoreCount);
        }
    }
    for (uint32_t i = 0; result == VK_SUCCESS && i < count; i++) {
        const VkTimelineSemaphoreSubmitInfo *values =
            soft_vk_in_chain(submits[i].pNext, VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
        for (uint32_t k = 0; values && k < submits[i].signalSemaphoreCount; k++)
            if (k < values->signalSemaphoreValueCount)
                soft_vk_submitted(device, handle, submits[i].pSignalSemaphores[k],
                                  values->pSignalSemaphoreValues[k]);
    }
    if (result == VK_SUCCESS) soft_vk_fenced(device, handle, fence);
    free_copies(&c);
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
    copies c = {0};
    if (result == VK_SUCCESS && numbered(device)) result = number_2(device, count, &submits, &c);
    if (result == VK_SUCCESS) {
        result = device->next.QueueSubmit2(handle, count, submits, fence);
        for (uint32_t i = 0; c.submits && result != VK_SUCCESS && i < count; i++) {
            take_back_2(device, true, submits[i].pWaitSemaphoreInfos,
                        submits[i].waitSemaphoreInfoCount);
            take_back_2(device, false, submits[i].pSignalSemaphoreInfos,
                        submits[i].signalSemaphoreInfoCount);
        }
    }
    for (uint32_t i = 0; result == VK_SUCCESS && i < count; i++)
        for (uint32_t k = 0; k < submits[i].signalSemaphoreInfoCount; k++)
            soft_vk_submitted(device, handle, submits[i].pSignalSemaphoreInfos[k].semaphore,
                              submits[i].pSignalSemaphoreInfos[k].value);
    if (result == VK_SUCCESS) soft_vk_fenced(device, handle, fence);
    free_copies(&c);
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
