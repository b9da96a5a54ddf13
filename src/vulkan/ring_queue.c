/* SPDX-License-Identifier: MIT */
/* Rings between CUDA and Vulkan: Vulkan's turn with a slot, and its submissions. */
#include "graphics/lost.h"
#include "vulkan/vk_ring.h"

#include <inttypes.h>

static culv_result null_argument(const culv_vk_ring *ring, const char *call, const char *what)
{
    return culvi_fail_null(ring != NULL ? &ring->vk->base.device->voice : NULL, call, what);
}

static VkSemaphoreSubmitInfo point(const culv_vk_ring *ring, culv_ring_side side, uint64_t value,
                                   VkPipelineStageFlags2 stage)
{
    return (VkSemaphoreSubmitInfo){.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                   .semaphore =
                                       (VkSemaphore)ring->base.timelines[side].pair->native,
                                   .value = value,
                                   .stageMask = stage};
}

culv_result culv_vk_ring_acquire(culv_vk_ring *ring, uint64_t timeout, culv_vk_ring_frame *out)
{
    if (ring == NULL || out == NULL)
        return null_argument(ring, "culv_vk_ring_acquire", ring == NULL ? "ring" : "out");
    culv_result result =
        culvi_graphics_ring_acquire(&ring->base, timeout, &out->frame, "culv_vk_ring_acquire");
    if (result != CULV_OK) return result;
    const culvi_vk_ring_slot *slot = &ring->slots[out->frame.slot];
    out->num_waits = out->frame.wait_value != 0;
    out->wait = point(ring, culvi_graphics_ring_cuda_side(&ring->base), out->frame.wait_value,
                      ring->wait_stage);
    out->num_signals = 0;
    out->signal = point(ring, ring->base.side, 0, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
    out->acquire = slot->acquire;
    out->release = slot->release;
    return CULV_OK;
}

/* What the submission that uses the frame signals. */
static void tell_signal(culv_vk_ring_frame *frame)
{
    frame->num_signals = frame->frame.signal_value != 0;
    frame->signal.value = frame->frame.signal_value;
}

culv_result culv_vk_ring_release(culv_vk_ring *ring, culv_vk_ring_frame *frame)
{
    if (ring == NULL || frame == NULL)
        return null_argument(ring, "culv_vk_ring_release", ring == NULL ? "ring" : "frame");
    culv_result result =
        culvi_graphics_ring_release(&ring->base, &frame->frame, "culv_vk_ring_release");
    if (result == CULV_OK) tell_signal(frame);
    return result;
}

culv_result culv_vk_ring_submit_failed(culv_vk_ring *ring, culv_vk_ring_frame *frame,
                                       VkResult result)
{
    static const char call[] = "culv_vk_ring_submit_failed";
    if (ring == NULL || frame == NULL)
        return null_argument(ring, call, ring == NULL ? "ring" : "frame");
    const culvi_voice *voice = &ring->vk->base.device->voice;
    if (result >= VK_SUCCESS)
        return culvi_fail(voice, ring->base.label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "%s: result is %s (%d), which is no failure", call,
                          culvi_vk_result_name(result), (int)result);
    if (result != VK_ERROR_DEVICE_LOST)
        return culvi_graphics_ring_submit_failed(&ring->base, &frame->frame, call);
    culvi_graphics_lose(&ring->vk->base);
    return culvi_fail_vk(
        voice, ring->base.label, result, "vkQueueSubmit2", CULV_REASON_DRIVER_REFUSED,
        "a frame was not submitted; the ring stops, and CUDA goes on: destroy what "
        "is the VkDevice's");
}

/* Submissions ---------------------------------------------------------------------------------- */

culv_result culvi_vk_ring_submit(culvi_graphics_ring *base, const culvi_graphics_work *work,
                                 uint32_t count, uint64_t wait_value, uint64_t value)
{
    const culv_vk_ring *ring = (const culv_vk_ring *)base;
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

static culv_result check_submit(const culv_vk_ring *ring, const char *call, VkQueue queue)
{
    if (ring == NULL || queue == VK_NULL_HANDLE)
        return null_argument(ring, call, ring == NULL ? "ring" : "queue");
    if (ring->vk->table.vkQueueSubmit2 == NULL && ring->vk->table.vkQueueSubmit2KHR == NULL)
        return culvi_fail(
            &ring->vk->base.device->voice, ring->base.label, CULV_ERROR_UNSUPPORTED,
            CULV_REASON_EXTENSION_MISSING,
            "%s: the VkDevice has no vkQueueSubmit2 (Vulkan 1.3 or VK_KHR_synchronization2, and the feature synchronization2); "
            "submit the frame's semaphores yourself",
            call);
    return CULV_OK;
}

culv_result culv_vk_ring_submit(culv_vk_ring *ring, VkQueue queue, VkCommandBuffer commands,
                                VkFence fence, culv_vk_ring_frame *frame)
{
    static const char call[] = "culv_vk_ring_submit";
    culv_result result = check_submit(ring, call, queue);
    if (result != CULV_OK) return result;
    if (commands == VK_NULL_HANDLE || frame == NULL)
        return null_argument(ring, call, frame == NULL ? "frame" : "commands");
    const culvi_graphics_work work = {queue, commands, (uint64_t)fence};
    result = culvi_graphics_ring_submit(&ring->base, &work, &frame->frame, call);
    if (result == CULV_OK) tell_signal(frame);
    return result;
}

culv_result culv_vk_ring_flush(culv_vk_ring *ring, VkQueue queue, VkFence fence)
{
    static const char call[] = "culv_vk_ring_flush";
    culv_result result = check_submit(ring, call, queue);
    if (result != CULV_OK) return result;
    const culvi_graphics_work work = {queue, NULL, (uint64_t)fence};
    return culvi_graphics_ring_flush(&ring->base, &work, call);
}
