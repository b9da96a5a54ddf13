#!/bin/sh
# vkQueueSubmit of lavapipe waits on the CPU for a binary semaphore, but not for a timeline.
# Version: mesa-vulkan-drivers 22.3.6-1+deb12u2 (25.0.7 of backports does the same).
# Guess: a submit that waits for a semaphore returns at once, whatever its kind, if the submit that
#   signals it was there before: the queue waits, not the caller.
# Behaviour: with a binary semaphore the call returns only when the work before it is done, with a
#   timeline at once. A frame loop that chains its passes by binary semaphores prepares nothing
#   while the device works: the two take turns.
# Seen: timeline: the first submit returns at once, the second returns at once
#       binary: the first submit returns at once, the second returns when the work is done
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
lavapipe22
compile waits -lvulkan <<'C'
#include "vk.h"
#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Submits work that signals a semaphore and nothing that waits for it; answers where the time went. */
static void measure(const char *name, VkSemaphoreType type, VkCommandBuffer work)
{
    VkSemaphoreTypeCreateInfo kind = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                      .semaphoreType = type};
    VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &kind};
    uint64_t value = 1;
    VkTimelineSemaphoreSubmitInfo values = {.sType =
                                                VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                            .waitSemaphoreValueCount = 1,
                                            .pWaitSemaphoreValues = &value,
                                            .signalSemaphoreValueCount = 1,
                                            .pSignalSemaphoreValues = &value};
    VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    VkSemaphore semaphore;
    OK(vkCreateSemaphore(device, &info, NULL, &semaphore));
    VkSubmitInfo first = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                          .pNext = &values,
                          .commandBufferCount = 1,
                          .pCommandBuffers = &work,
                          .signalSemaphoreCount = 1,
                          .pSignalSemaphores = &semaphore};
    VkSubmitInfo second = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                           .pNext = &values,
                           .waitSemaphoreCount = 1,
                           .pWaitSemaphores = &semaphore,
                           .pWaitDstStageMask = &stage};
    double begin = now();
    OK(vkQueueSubmit(queue, 1, &first, VK_NULL_HANDLE));
    double middle = now();
    OK(vkQueueSubmit(queue, 1, &second, VK_NULL_HANDLE));
    double end = now();
    OK(vkQueueWaitIdle(queue));
    double all = now() - begin;
    printf("%s: the first submit %s, the second %s\n", name,
           middle - begin < 0.1 * all ? "returns at once" : "waits",
           end - middle < 0.1 * all  ? "returns at once"
           : end - begin > 0.9 * all ? "returns when the work is done"
                                     : "returns somewhere between");
}

int main(void)
{
    VkPhysicalDeviceVulkan12Features features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .timelineSemaphore = 1};
    VkCommandBufferBeginInfo again = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    start(NULL, 0, &features);
    struct bytes buffer = bytes(64 << 20, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    VkCommandBuffer work = begin();
    OK(vkResetCommandPool(device, pool, 0));
    OK(vkBeginCommandBuffer(work, &again));
    for (uint32_t i = 0; i < 32; i++) {
        vkCmdFillBuffer(work, buffer.buffer, 0, VK_WHOLE_SIZE, i);
        barrier(work);
    }
    OK(vkEndCommandBuffer(work));
    measure("timeline", VK_SEMAPHORE_TYPE_TIMELINE, work);
    measure("binary", VK_SEMAPHORE_TYPE_BINARY, work);
    return 0;
}
C
same "timeline: the first submit returns at once, the second returns at once
binary: the first submit returns at once, the second returns when the work is done" "$("$work/waits")"
