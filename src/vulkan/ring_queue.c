/* SPDX-License-Identifier: MIT */
/* Rings between CUDA and Vulkan: Vulkan's turn with a slot, its submissions, and which queue they
 * are best made to. */
#include "base/alloc.h"
#include "core/image_check.h"
#include "graphics/lost.h"
#include "vulkan/vk_ring.h"
#include "vulkan/vk_trace.h"

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

/* Queues --------------------------------------------------------------------------------------- */

/* How well a family serves; 0: not at all. What does more than it must shares its engine with
 * more. */
static int rank_family(const VkQueueFamilyProperties *family, culv_vk_queue_use use)
{
    VkQueueFlags flags = family->queueFlags;
    bool graphics = (flags & VK_QUEUE_GRAPHICS_BIT) != 0,
         compute = (flags & VK_QUEUE_COMPUTE_BIT) != 0;
    bool copies = (flags & VK_QUEUE_TRANSFER_BIT) != 0;
    bool special = (flags & ~(VkQueueFlags)(VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT |
                                            VK_QUEUE_TRANSFER_BIT | VK_QUEUE_SPARSE_BINDING_BIT |
                                            VK_QUEUE_PROTECTED_BIT)) != 0;
    if (family->queueCount == 0) return 0;
    switch (use) {
    case CULV_VK_QUEUE_GRAPHICS: return !graphics ? 0 : compute ? 2 : 1;
    case CULV_VK_QUEUE_COMPUTE: return !compute ? 0 : special ? 1 : graphics ? 2 : 3;
    default:
        /* Graphics and compute queues copy without saying so. */
        if (graphics || compute) return special ? 1 : graphics ? 2 : 3;
        return !copies ? 0 : special ? 1 : 4;
    }
}

culv_result culv_vk_find_queue_family(PFN_vkGetInstanceProcAddr get_instance_proc_addr,
                                      VkInstance instance, VkPhysicalDevice physical_device,
                                      culv_vk_queue_use use, uint32_t *out)
{
    culvi_vk_instance vk;
    uint32_t count = 0, best = 0;
    int best_rank = 0;
    if (get_instance_proc_addr == NULL || instance == VK_NULL_HANDLE ||
        physical_device == VK_NULL_HANDLE || out == NULL)
        return null_argument(NULL, "culv_vk_find_queue_family",
                             get_instance_proc_addr == NULL      ? "get_instance_proc_addr"
                             : instance == VK_NULL_HANDLE        ? "instance"
                             : physical_device == VK_NULL_HANDLE ? "physical_device"
                                                                 : "out");
    if ((uint32_t)use > CULV_VK_QUEUE_COPY)
        return culvi_fail(NULL, NULL, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "culv_vk_find_queue_family: use is %u, which is not a culv_vk_queue_use",
                          (unsigned)use);
    culv_result result = culvi_vk_instance_load(NULL, get_instance_proc_addr, instance, &vk);
    if (result != CULV_OK) return result;
    CULVI_VKI_DO(&vk, vkGetPhysicalDeviceQueueFamilyProperties, (physical_device, &count, NULL));
    VkQueueFamilyProperties *families = culvi_alloc(count * sizeof *families);
    if (families == NULL) return culvi_fail_host_memory(NULL, NULL);
    CULVI_VKI_DO(&vk, vkGetPhysicalDeviceQueueFamilyProperties,
                 (physical_device, &count, families));
    for (uint32_t i = 0; i < count; i++) {
        int rank = rank_family(&families[i], use);
        if (rank <= best_rank) continue;
        best = i;
        best_rank = rank;
    }
    culvi_free(families);
    if (best_rank == 0)
        return culvi_fail(
            NULL, NULL, CULV_ERROR_UNSUPPORTED, CULV_REASON_USAGE,
            "none of the physical device's %" PRIu32 " queue families has queues for %s", count,
            use == CULV_VK_QUEUE_GRAPHICS  ? "graphics"
            : use == CULV_VK_QUEUE_COMPUTE ? "compute"
                                           : "copies");
    *out = best;
    return CULV_OK;
}

/* Copies --------------------------------------------------------------------------------------- */

/* What was copied is there for the host that waits for the submission; no barrier between queue
 * families may say so (VUID-vkCmdPipelineBarrier-srcStageMask-09633). */
static void show_to_host(const culvi_vk_table *table, VkCommandBuffer commands)
{
    const VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                     .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
    table->vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT,
                                VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, NULL, 0, NULL);
}

static culv_result refuse_copy(const culv_vk_ring *ring, culv_result result, culv_reason reason,
                               const char *text)
{
    return culvi_fail(&ring->vk->base.device->voice, ring->base.label, result, reason,
                      "culv_vk_ring_record_copy: %s", text);
}

static culv_result check_copy(const culv_vk_ring *ring, VkFlags usage, VkFlags needed,
                              uint64_t bytes, VkDeviceSize size)
{
    if ((usage & needed) == 0)
        return refuse_copy(ring, CULV_ERROR_INVALID, CULV_REASON_USAGE,
                           "the slot's resource was made without the usage TRANSFER_SRC");
    if (size >= bytes) return CULV_OK;
    return culvi_fail(&ring->vk->base.device->voice, ring->base.label, CULV_ERROR_INVALID,
                      CULV_REASON_RANGE,
                      "culv_vk_ring_record_copy: size is %" PRIu64
                      ", but the slot's resource has %" PRIu64 " bytes to copy",
                      (uint64_t)size, bytes);
}

static culv_result record_buffer(const culv_vk_ring *ring, VkCommandBuffer commands,
                                 const culv_shared_buffer *from, VkBuffer to, VkDeviceSize offset,
                                 VkDeviceSize size)
{
    const culvi_vk_table *table = &ring->vk->table;
    culv_vk_buffer_transfer t = culv_vk_buffer_transfer_init();
    culv_vk_buffer_barrier acquire, release;
    uint64_t bytes = culv_buffer_size(culv_shared_buffer_cuda(from));
    culv_result result =
        check_copy(ring, from->pair.native.usage, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, bytes, size);
    if (result != CULV_OK) return result;
    t.buffer = culv_vk_buffer_handle(from);
    t.queue_family = culvi_vk_native_family(&from->pair.native, ring->queue_family);
    t.use = CULV_VK_USE_TRANSFER_SRC;
    result = culv_vk_buffer_get_barrier(&t, CULV_VK_ACQUIRE, &acquire);
    if (result == CULV_OK) result = culv_vk_buffer_get_barrier(&t, CULV_VK_RELEASE, &release);
    if (result != CULV_OK) return result;
    const VkBufferCopy region = {.dstOffset = offset, .size = bytes};
    table->vkCmdPipelineBarrier(commands, acquire.src_stage, acquire.dst_stage, 0, 0, NULL, 1,
                                &acquire.barrier, 0, NULL);
    if (ring->base.side == CULV_RING_CONSUMER)
        result = culv_vk_buffer_record_upload(from, commands);
    if (result != CULV_OK) return result;
    table->vkCmdCopyBuffer(commands, t.buffer, to, 1, &region);
    table->vkCmdPipelineBarrier(commands, release.src_stage, release.dst_stage, 0, 0, NULL, 1,
                                &release.barrier, 0, NULL);
    show_to_host(table, commands);
    return CULV_OK;
}

static culv_result record_image(const culv_vk_ring *ring, VkCommandBuffer commands,
                                const culv_shared_image *from, VkBuffer to, VkDeviceSize offset,
                                VkDeviceSize size)
{
    const culvi_vk_table *table = &ring->vk->table;
    const culv_image_desc *d = &from->pair.image->desc;
    const culvi_format *row = from->pair.image->row;
    culv_vk_image_transfer t = culv_vk_image_transfer_init();
    culv_vk_image_barrier acquire, release;
    if (row->planes > 1 || (row->aspects & (row->aspects - 1)) != 0)
        return refuse_copy(
            ring, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT,
            "an image with several planes or aspects is not one copy; record one for each");
    uint64_t bytes = culvi_image_least_size(row, d->width, d->height, d->depth, d->array_layers, 1);
    culv_result result =
        check_copy(ring, from->pair.native.usage, VK_IMAGE_USAGE_TRANSFER_SRC_BIT, bytes, size);
    if (result != CULV_OK) return result;
    /* VUID-vkCmdCopyImageToBuffer-dstImage-07975 and -07737; 4 is for queues that only copy, and
     * for depth. */
    if (offset % row->block_bytes != 0 || offset % 4 != 0)
        return culvi_fail(&ring->vk->base.device->voice, ring->base.label, CULV_ERROR_INVALID,
                          CULV_REASON_RANGE,
                          "culv_vk_ring_record_copy: offset is %" PRIu64 "; it must be a multiple "
                          "of 4 and of the %u bytes of a texel or block",
                          (uint64_t)offset, (unsigned)row->block_bytes);
    t.image = culv_vk_image_handle(from);
    t.format = (VkFormat)row->format;
    t.queue_family = culvi_vk_native_family(&from->pair.native, ring->queue_family);
    t.use = CULV_VK_USE_TRANSFER_SRC;
    result = culv_vk_image_get_barrier(&t, CULV_VK_ACQUIRE, &acquire);
    if (result == CULV_OK) result = culv_vk_image_get_barrier(&t, CULV_VK_RELEASE, &release);
    if (result != CULV_OK) return result;
    const VkBufferImageCopy region = {.bufferOffset = offset,
                                      .imageSubresource = {row->aspects, 0, 0, d->array_layers},
                                      .imageExtent = {d->width, d->height, d->depth}};
    table->vkCmdPipelineBarrier(commands, acquire.src_stage, acquire.dst_stage, 0, 0, NULL, 0, NULL,
                                1, &acquire.barrier);
    if (ring->base.side == CULV_RING_CONSUMER)
        result = culv_vk_image_record_upload(from, commands, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    if (result != CULV_OK) return result;
    table->vkCmdCopyImageToBuffer(commands, t.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, to, 1,
                                  &region);
    table->vkCmdPipelineBarrier(commands, release.src_stage, release.dst_stage, 0, 0, NULL, 0, NULL,
                                1, &release.barrier);
    show_to_host(table, commands);
    return CULV_OK;
}

culv_result culv_vk_ring_record_copy(const culv_vk_ring *ring, VkCommandBuffer commands,
                                     uint32_t slot, uint32_t resource, VkBuffer to,
                                     VkDeviceSize offset, VkDeviceSize size)
{
    if (ring == NULL || commands == VK_NULL_HANDLE || to == VK_NULL_HANDLE)
        return null_argument(ring, "culv_vk_ring_record_copy",
                             ring == NULL                 ? "ring"
                             : commands == VK_NULL_HANDLE ? "commands"
                                                          : "to");
    const culvi_graphics_ring *base = &ring->base;
    if (slot >= base->depth || resource >= base->num_resources)
        return culvi_fail(&ring->vk->base.device->voice, base->label, CULV_ERROR_INVALID,
                          CULV_REASON_RANGE,
                          "culv_vk_ring_record_copy: slot %" PRIu32 " and resource %" PRIu32
                          " of a ring that has %" PRIu32 " and %" PRIu32,
                          slot, resource, base->depth, base->num_resources);
    const culvi_pair *from = base->resources[resource].objects[slot];
    return base->resources[resource].is_image
               ? record_image(ring, commands, (const culv_shared_image *)from, to, offset, size)
               : record_buffer(ring, commands, (const culv_shared_buffer *)from, to, offset, size);
}
