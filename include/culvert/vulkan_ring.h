/* SPDX-License-Identifier: MIT */
/* Culvert: rings of frames between CUDA and Vulkan, with images and buffers in each slot, and a
 * timeline for each side. culvert/ring.h has the order of the calls, and the calls for all APIs.
 *
 *   culv_ring_acquire(ring, CULV_RING_CONSUMER, timeout, &frame);
 *   vkCmdPipelineBarrier2(commands, culv_vk_ring_barriers(ring, frame.slot, CULV_VK_ACQUIRE));
 *   (record what uses culv_vk_buffer_handle(culv_ring_shared_buffer(ring, frame.slot, 0)))
 *   vkCmdPipelineBarrier2(commands, culv_vk_ring_barriers(ring, frame.slot, CULV_VK_RELEASE));
 *   culv_vk_ring_submit(ring, queue, commands, fence, &frame);      waits, executes and signals
 *
 * On a device of Vulkan 1.1 or 1.2, record the barriers by vkCmdPipelineBarrier2KHR(). */
#ifndef CULV_VULKAN_RING_H_
#define CULV_VULKAN_RING_H_

#include "ring.h"
#include "vulkan_barrier.h"
#include "vulkan_device.h"
#include "vulkan_memory.h"

CULV_EXTERN_C_BEGIN

/** Maximum number of images and buffers of a slot. */
#define CULV_VK_RING_MAX_RESOURCES 16

/** Your own VkBuffer in memory that you imported (culv_vk_memory_import_shared(),
 * culv_buffer_map()), and CUDA's half. Culvert cannot check that both are the same bytes. */
typedef struct culv_vk_own_buffer {
    VkBuffer buffer;
    culv_buffer *cuda;
    VkBufferUsageFlags usage; /**< Usage of the VkBuffer, for culv_vk_ring_record_copy(). */
    /** Sharing mode of the VkBuffer. 0: EXCLUSIVE. With CONCURRENT, barriers have no queue
     * family. */
    VkSharingMode sharing_mode;
} culv_vk_own_buffer;

/** Your own VkImage in memory that you imported, and CUDA's half (culv_vk_image_map()). */
typedef struct culv_vk_own_image {
    VkImage image;
    culv_image *cuda;
    VkImageUsageFlags usage;
    VkSharingMode sharing_mode; /**< As culv_vk_own_buffer::sharing_mode. */
} culv_vk_own_image;

/** One image or buffer that every slot has. Set exactly one of `image`, `buffer`, `images`,
 * `buffers`, `own_images`, `own_buffers`. */
typedef struct culv_vk_ring_resource {
    /** Descriptor of the image that Culvert makes for each slot. Read during the call. */
    const culv_vk_image_create_desc *image;
    const culv_vk_buffer_create_desc *buffer; /**< The same for buffers. */
    /** Your own images: max_depth of them, one for each slot. They stay yours and must outlive the
     * ring. They must not be in use while the ring is made, and their contents are lost. */
    culv_shared_image *const *images;
    culv_shared_buffer *const *buffers; /**< The same for buffers. */
    /** Your own images in your allocator's memory (VMA); read during the call. The objects stay
     * yours and must outlive the ring. */
    const culv_vk_own_image *own_images;
    const culv_vk_own_buffer *own_buffers; /**< The same for buffers. */
    culv_vk_use use; /**< Use in Vulkan, which determines the barriers. Default: ANY. */
    /** Stage that narrows `use`, as in culv_vk_image_transfer. 0: by `use`. */
    VkPipelineStageFlags2 stage;
    VkAccessFlags2 access; /**< Accesses. 0: by `use`. */
    VkImageLayout layout;  /**< Image layout while Vulkan has the frame. 0: by `use`. */
} culv_vk_ring_resource;

/** Returns a resource whose fields are all 0. */
CULV_INLINE culv_vk_ring_resource culv_vk_ring_resource_init(void)
{
    culv_vk_ring_resource r;
    memset(&r, 0, sizeof r);
    return r;
}

/** A ring for Culvert to make. */
typedef struct culv_vk_ring_desc {
    size_t struct_size;                     /**< Set by culv_vk_ring_desc_init(). */
    uint32_t max_depth;                     /**< Required: slots, 1 to CULV_RING_MAX_DEPTH. */
    const culv_ring_settings *settings;     /**< As in culv_ring_desc::settings. */
    const culv_vk_ring_resource *resources; /**< Read during the call. */
    uint32_t num_resources; /**< 0 (a ring of slots only) to CULV_VK_RING_MAX_RESOURCES. */
    /** Side of Vulkan; CUDA has the other side. culv_vk_ring_desc_init() sets CONSUMER. */
    culv_ring_side side;
    /** Required: family of the queue that Vulkan's side submits to, for the barriers.
     * culv_vk_ring_desc_init() sets CULV_VK_QUEUE_FAMILY_UNSET, which is refused. */
    uint32_t queue_family;
    VkPipelineStageFlags2
        wait_stage;        /**< Stage that waits in Vulkan's submissions. 0: ALL_COMMANDS. */
    const char *label;     /**< Copied (up to 63 bytes). Default: none. */
    culv_ring_waits waits; /**< Place where Vulkan's side waits. */
} culv_vk_ring_desc;

/** Returns a default descriptor, with Vulkan as the consumer and no queue family yet. */
CULV_INLINE culv_vk_ring_desc culv_vk_ring_desc_init(void)
{
    culv_vk_ring_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    d.side = CULV_RING_CONSUMER;
    d.queue_family = CULV_VK_QUEUE_FAMILY_UNSET;
    return d;
}

/** Makes a ring: all or nothing. The call transfers the images to CUDA in one submission to `queue`
 * (of queue_family) and waits until it is done. A `fallback` in a resource's descriptor applies to
 * the timelines too. With a fallback, CUDA's side uploads or downloads, and Vulkan's command
 * buffers copy (culvert/vulkan_memory.h).
 * Errors: as culv_ring_create(), culv_vk_image_create(), culv_vk_buffer_create() and
 * culv_vk_semaphore_create(); INVALID (VALUE: one image or buffer for several slots).
 * Ownership: *out is yours, for culv_ring_destroy(); it keeps the attachment alive.
 * Threads: any; `queue` is externally synchronized, as for vkQueueSubmit. */
CULV_EXPORT culv_result culv_vk_ring_create(culv_vk_device *vk, VkQueue queue,
                                            const culv_vk_ring_desc *desc, culv_ring **out);

/** Returns the barriers of a slot, or NULL if the slot does not exist or the ring belongs to
 * another API. They depend only on the slot. In the slot's command buffer, record the barriers for
 * CULV_VK_ACQUIRE before the first use and the barriers for CULV_VK_RELEASE after the last use.
 * They transfer the ownership from and to VK_QUEUE_FAMILY_EXTERNAL and change the layouts.
 * Ownership: the ring owns them, and they are valid as long as the ring.
 * Source: vkCmdPipelineBarrier2. */
CULV_EXPORT const VkDependencyInfo *culv_vk_ring_barriers(const culv_ring *ring, uint32_t slot,
                                                          culv_vk_direction direction);

/** Returns the timeline of a side, for your own submissions, or VK_NULL_HANDLE for NULL or for a
 * ring of another API. Never destroy it.
 * Ownership: the ring owns it. */
CULV_EXPORT VkSemaphore culv_vk_ring_semaphore(const culv_ring *ring, culv_ring_side side);

/** Gets the wait and the signal of your own vkQueueSubmit2. The acquire sets the frame's wait, and
 * culv_ring_release() sets the signal. Leave out *wait if frame->wait_value is 0, and *signal if
 * frame->signal_value is 0. Do not call it if you use culv_vk_ring_submit().
 * Errors: INVALID (NULL_ARGUMENT; VALUE: the ring belongs to another API). */
CULV_EXPORT culv_result culv_vk_ring_get_points(const culv_ring *ring, const culv_ring_frame *frame,
                                                VkSemaphoreSubmitInfo *wait,
                                                VkSemaphoreSubmitInfo *signal);

/** Tells the ring that the vkQueueSubmit2 behind culv_ring_release() failed with `result`. The side
 * then holds the frame again, as culv_ring_submit_failed() describes: release and submit it once
 * more. If `result` is VK_ERROR_DEVICE_LOST, the call does what culv_vk_device_lost() does. Do not
 * call it if you use culv_vk_ring_submit().
 * Errors: as culv_ring_submit_failed(); INVALID (VALUE: `result` is a success, or the ring belongs
 * to another API), ASYNC (DEVICE_LOST: `result` is that).
 * Ownership: as culv_ring_submit_failed(). Threads: one at a time for the side. */
CULV_EXPORT culv_result culv_vk_ring_submit_failed(culv_ring *ring, culv_ring_frame *frame,
                                                   VkResult result);

/** Releases the frame and submits its command buffer. In a burst, Culvert keeps the command buffers
 * and submits them all with the burst's last frame, in one vkQueueSubmit2, to one queue. The
 * submission that has this frame signals `fence` (VK_NULL_HANDLE: none). Pass a fence only with the
 * last frame of a burst: with an earlier frame the call submits the kept frames at once, and the
 * rest of the burst later. If the burst is not full, culv_ring_flush() submits the kept frames to
 * this `queue`; if you need a fence after them, call vkQueueSubmit2 with that fence and no
 * submission. After an error nothing is submitted and the side still holds the frame. Do not call
 * culv_ring_release() while frames of a burst are kept (RING_ORDER). If the device lacks
 * synchronization2, record barriers of culv_vk_old_buffer_barrier() and culv_vk_old_image_barrier()
 * instead. Then call culv_ring_release(), and right after it vkQueueSubmit with
 * culv_vk_ring_semaphore() and the frame's values.
 * Errors: as culv_ring_release(); INVALID (VALUE: the ring belongs to another API), DRIVER, ASYNC
 * (DEVICE_LOST), UNSUPPORTED (EXTENSION_MISSING: the device lacks synchronization2).
 * Ownership: the command buffer stays yours and must live until the submission has run.
 * Threads: one at a time for the side; `queue` is externally synchronized.
 * Source: vkQueueSubmit2. */
CULV_EXPORT culv_result culv_vk_ring_submit(culv_ring *ring, VkQueue queue,
                                            VkCommandBuffer commands, VkFence fence,
                                            culv_ring_frame *frame);

/** Records the copy of a slot's resource into your buffer, with the ring's barriers around it, for
 * a side that copies frames out (video out, read-back). With a fallback, the call records a
 * consumer's upload too. It copies a buffer from its start, and level 0 of an image without
 * padding, layer after layer. The host may read the bytes when the submission is done. If you
 * record the command buffer once for each slot and submit it many times, begin it with
 * VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT. Otherwise the validation layer, which does not
 * follow exported timelines, reports the command buffer as pending
 * (VUID-vkQueueSubmit2-commandBuffer-03875) until a fence or an idle queue shows that it is not.
 * Errors: INVALID (NULL_ARGUMENT, RANGE: the slot, the resource, a destination that is too small,
 * or an image's offset that is not a multiple of 4 and of the bytes of a texel; USAGE: the resource
 * lacks TRANSFER_SRC; VALUE: the ring belongs to another API), UNSUPPORTED (FORMAT: several planes
 * or aspects).
 * Threads: any, one for a command buffer. */
CULV_EXPORT culv_result culv_vk_ring_record_copy(const culv_ring *ring, VkCommandBuffer commands,
                                                 uint32_t slot, uint32_t resource, VkBuffer to,
                                                 VkDeviceSize offset, VkDeviceSize size);

CULV_EXTERN_C_END

#endif
