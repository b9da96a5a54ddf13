/* SPDX-License-Identifier: MIT */
/* Rings between CUDA and Vulkan: Vulkan's turn with a slot, and its submissions. */
#include "graphics/lost.h"
#include "vulkan/vk_ring.h"

#include <inttypes.h>

static VkSemaphoreSubmitInfo point(const culvi_vk_ring *ring, culv_ring_side side, uint64_t value,
                                   VkPipelineStageFlags2 stage)
{
    return (VkSemaphoreSubmitInfo){.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                   .semaphore =
                                       (VkSemaphore)ring->base.timelines[side].pair->native,
                                   .value = value,
                                   .stageMask = stage};
}

culv_result culv_vk_ring_get_points(const culv_ring *ring, const culv_ring_frame *frame,
                                    VkSemaphoreSubmitInfo *wait, VkSemaphoreSubmitInfo *signal)
{
    const culvi_vk_ring *mine = culvi_vk_ring_of(ring, __func__);
    if (mine == NULL) return CULV_ERROR_INVALID;
    CULVI_REQUIRE3(&ring->device->voice, frame, wait, signal);
    *wait = point(mine, culvi_graphics_ring_cuda_side(&mine->base), frame->wait_value,
                  mine->wait_stage);
    *signal =
        point(mine, mine->base.side, frame->signal_value, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
    return CULV_OK;
}

culv_result culv_vk_ring_submit_failed(culv_ring *ring, culv_ring_frame *frame, VkResult result)
{
    static const char call[] = "culv_vk_ring_submit_failed";
    culvi_vk_ring *mine = culvi_vk_ring_of(ring, call);
    if (mine == NULL) return CULV_ERROR_INVALID;
    const culvi_voice *voice = &ring->device->voice;
    CULVI_REQUIRE(voice, frame);
    if (result >= VK_SUCCESS)
        return culvi_fail(voice, mine->base.label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "%s: result is %s (%d), which is no failure", call,
                          culvi_vk_result_name(result), (int)result);
    if (result != VK_ERROR_DEVICE_LOST)
        return culvi_graphics_ring_submit_failed(&mine->base, frame, call);
    culvi_graphics_lose(&mine->vk->base);
    return culvi_fail_vk(
        voice, mine->base.label, result, "vkQueueSubmit2", CULV_REASON_DRIVER_REFUSED,
        "a frame was not submitted; the ring stops, and CUDA goes on: destroy what "
        "is the VkDevice's");
}

/* Submissions ---------------------------------------------------------------------------------- */

culv_result culvi_vk_ring_submit(culvi_graphics_ring *base, const culvi_graphics_work *work,
                                 uint32_t count, uint64_t wait_value, uint64_t value)
{
    const culvi_vk_ring *ring = (const culvi_vk_ring *)base;
    const culvi_vk_table *table = &ring->vk->table;
    VkCommandBufferSubmitInfo commands[CULV_RING_MAX_DEPTH];
    for (uint32_t i = 0; i < count; i++)
        commands[i] =
            (VkCommandBufferSubmitInfo){.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                        .commandBuffer = base->pending[i]};
    PFN_vkQueueSubmit2 call =
        table->vkQueueSubmit2 != NULL ? table->vkQueueSubmit2 : table->vkQueueSubmit2KHR;
    const VkSemaphoreSubmitInfo wait =
        point(ring, culvi_graphics_ring_cuda_side(base), wait_value, ring->wait_stage);
    const VkSemaphoreSubmitInfo signal =
        point(ring, base->side, value, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
    const VkSubmitInfo2 info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                                .waitSemaphoreInfoCount = wait_value != 0,
                                .pWaitSemaphoreInfos = &wait,
                                .commandBufferInfoCount = count,
                                .pCommandBufferInfos = commands,
                                .signalSemaphoreInfoCount = value != 0,
                                .pSignalSemaphoreInfos = &signal};
    VkResult r = call(work->queue, 1, &info, (VkFence)work->fence);
    if (r == VK_SUCCESS) return CULV_OK;
    return culvi_fail_vk(&ring->vk->base.device->voice, base->label, r, "vkQueueSubmit2",
                         CULV_REASON_DRIVER_REFUSED,
                         "the submission of %" PRIu32 " command buffers%s", count,
                         r == VK_ERROR_DEVICE_LOST
                             ? " (the ring stops, and CUDA goes on: destroy what is the VkDevice's)"
                             : "");
}

culv_result culv_vk_ring_submit(culv_ring *ring, VkQueue queue, VkCommandBuffer commands,
                                VkFence fence, culv_ring_frame *frame)
{
    culvi_vk_ring *mine = culvi_vk_ring_of(ring, __func__);
    if (mine == NULL) return CULV_ERROR_INVALID;
    CULVI_REQUIRE3(&ring->device->voice, queue, commands, frame);
    if (mine->vk->table.vkQueueSubmit2 == NULL && mine->vk->table.vkQueueSubmit2KHR == NULL)
        return culvi_fail(
            &ring->device->voice, mine->base.label, CULV_ERROR_UNSUPPORTED,
            CULV_REASON_EXTENSION_MISSING,
            "%s: the VkDevice has no vkQueueSubmit2 (Vulkan 1.3 or VK_KHR_synchronization2, and the feature synchronization2); "
            "submit the frame's semaphores yourself",
            __func__);
    const culvi_graphics_work work = {queue, commands, (uint64_t)fence};
    return culvi_graphics_ring_submit(&mine->base, &work, frame, __func__);
}
