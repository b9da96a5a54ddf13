/* SPDX-License-Identifier: MIT */
/* Culvert: a ring of frames between CUDA and Vulkan: images and buffers in each slot, two
 * timelines, and what a queue submission needs. See culvert/ring.h for the order of things. */
#ifndef CULV_VULKAN_RING_H_
#define CULV_VULKAN_RING_H_

#include "ring.h"
#include "vulkan_barrier.h"
#include "vulkan_memory.h"
#include "vulkan_semaphore.h"

CULV_EXTERN_C_BEGIN

/** Opaque: a culv_ring with Vulkan's slots and timelines. Threads as culv_ring. */
typedef struct culv_vk_ring culv_vk_ring;

/** The most images and buffers of a slot. */
#define CULV_VK_RING_MAX_RESOURCES 16

/** One image or buffer that every slot has. Exactly one of `image`, `buffer`, `images`,
 * `buffers`. */
typedef struct culv_vk_ring_resource {
    /** Culvert makes one for each slot; read during the call. */
    const culv_vk_image_create_desc *image;
    const culv_vk_buffer_create_desc *buffer; /**< The same. */
    /** Handed in: one for each slot, max_depth of them. They stay yours and outlive the ring;
     * nobody uses them when it is made, and what is in them is lost. */
    culv_vk_image *const *images;
    culv_vk_buffer *const *buffers; /**< The same. */
    /** What Vulkan does with it: gives the barriers. Default: ANY. */
    culv_vk_use use;
    /** Narrows the stage: see culv_vk_image_transfer. 0: by `use`. */
    VkPipelineStageFlags2 stage;
    VkAccessFlags2 access; /**< 0: by `use`. */
    /** Vulkan's layout of an image while it has the frame. 0: by `use`. */
    VkImageLayout layout;
} culv_vk_ring_resource;

/** A ring for Culvert to make. */
typedef struct culv_vk_ring_desc {
    size_t struct_size;                     /**< Set by culv_vk_ring_desc_init(). */
    uint32_t max_depth;                     /**< Required: slots, 1 to CULV_RING_MAX_DEPTH. */
    const culv_ring_settings *settings;     /**< As culv_ring_desc::settings. */
    const culv_vk_ring_resource *resources; /**< Read during the call. */
    /** 0 (a ring of slots only) to CULV_VK_RING_MAX_RESOURCES. */
    uint32_t num_resources;
    /** Vulkan's. CUDA has the other. Default: CONSUMER, by culv_vk_ring_desc_init(). */
    culv_ring_side side;
    /** Required: of the queue that Vulkan's side submits to; for the barriers. */
    uint32_t queue_family;
    VkPipelineStageFlags2 wait_stage; /**< Where Vulkan's submissions wait. 0: ALL_COMMANDS. */
    const char *label;                /**< Copied (up to 63 bytes). Default: none. */
} culv_vk_ring_desc;

/** A default descriptor, with Vulkan as the consumer.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_vk_ring_desc culv_vk_ring_desc_init(void)
{
    culv_vk_ring_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    d.side = CULV_RING_CONSUMER;
    return d;
}

/** Vulkan's turn with a slot: the frame, and what the submission that uses it has. */
typedef struct culv_vk_ring_frame {
    culv_ring_frame frame;
    uint32_t num_waits;         /**< 0 or 1: VkSubmitInfo2::waitSemaphoreInfoCount. */
    VkSemaphoreSubmitInfo wait; /**< Of the other side's timeline. */
    uint32_t num_signals;       /**< 0 or 1, after culv_vk_ring_release(). */
    VkSemaphoreSubmitInfo signal;
    /** To be recorded before the first use and after the last one, in the slot's command buffer:
     * ownership from and to VK_QUEUE_FAMILY_EXTERNAL and the layouts. Point into the ring, valid as
     * long as it. */
    VkDependencyInfo acquire, release;
} culv_vk_ring_frame;

/** Makes a ring: all or nothing. Images are handed to CUDA once, in a submission of the ring's own
 * to `queue` (of queue_family), which waits for its end. With a `fallback` in a resource's
 * descriptor the timelines have it too; CUDA's side then pushes or pulls, and Vulkan's command
 * buffers have the other half (culvert/vulkan_fallback.h).
 * Errors: as culv_ring_create(), culv_vk_image_create(), culv_vk_buffer_create() and
 * culv_vk_semaphore_create().
 * Ownership: *out is yours, for culv_vk_ring_destroy(); it keeps the attachment alive.
 * Threads: any; `queue` is externally synchronized, as for vkQueueSubmit.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_vk_ring_create(culv_vk_device *vk, VkQueue queue,
                                            const culv_vk_ring_desc *desc, culv_vk_ring **out);

/** Gives the ring up, with what it made, and sets *ring to NULL; NULL, or a pointer to NULL, is a
 * no-op. Vulkan's work on it must be over, and CUDA's should be (culv_ring_drain()): see
 * culv_vk_image_destroy().
 * Errors: none.
 * Ownership: *ring is Culvert's again.
 * Threads: any, after the last call of either side.
 * Since: 0.1 */
CULV_EXPORT void culv_vk_ring_destroy(culv_vk_ring **ring);

/** The ring, for CUDA's side (culv_ring_acquire_on(), culv_ring_release_on()) and for
 * culv_ring_configure(), _drain(), _get_stats(). NULL for NULL.
 * Errors: none.
 * Ownership: the ring's: never destroy it.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_ring *culv_vk_ring_core(const culv_vk_ring *ring);

/** An image of a slot; NULL for a buffer, and where there is no such slot or resource.
 * Errors: none.
 * Ownership: the ring's, or yours where you handed it in.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_vk_image *culv_vk_ring_image(const culv_vk_ring *ring, uint32_t slot,
                                              uint32_t resource);

/** A buffer of a slot; NULL for an image, and where there is no such slot or resource.
 * Errors: none.
 * Ownership: the ring's, or yours where you handed it in.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_vk_buffer *culv_vk_ring_buffer(const culv_vk_ring *ring, uint32_t slot,
                                                uint32_t resource);

/** The first byte of a slot's buffer in CUDA: culv_vk_buffer_pointer() of culv_vk_ring_buffer(). 0
 * for an image, and where there is no such slot or resource.
 * Errors: none.
 * Ownership: as culv_vk_ring_buffer().
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT CUdeviceptr culv_vk_ring_pointer(const culv_vk_ring *ring, uint32_t slot,
                                             uint32_t resource);

/** The timeline of a side, for submissions of the caller's own: never destroy it.
 * Errors: none; VK_NULL_HANDLE for NULL.
 * Ownership: the ring's.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT VkSemaphore culv_vk_ring_semaphore(const culv_vk_ring *ring, culv_ring_side side);

/** culv_ring_acquire() for Vulkan's side.
 * Errors: as culv_ring_acquire().
 * Ownership: as there.
 * Threads: one at a time for the side.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_vk_ring_acquire(culv_vk_ring *ring, uint64_t timeout,
                                             culv_vk_ring_frame *out);

/** culv_ring_release() for Vulkan's side: call it right before the vkQueueSubmit2 that has
 * frame->wait and frame->signal, and never without it.
 * Errors: as culv_ring_release().
 * Ownership: as there.
 * Threads: one at a time for the side.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_vk_ring_release(culv_vk_ring *ring, culv_vk_ring_frame *frame);

/** Releases the frame and submits its command buffer; of a burst, all command buffers together with
 * the burst's last frame, in one vkQueueSubmit2, to one queue. `fence` (VK_NULL_HANDLE: none) is
 * signaled by the submission that has this frame: pass it with the last of a burst, since it ends
 * the keeping, and the rest of the burst goes later. After an error nothing was submitted and the
 * frame is still held. Frames of a burst that were kept are not to be mixed with
 * culv_vk_ring_release() and culv_ring_flush() (RING_ORDER).
 * Errors: as culv_vk_ring_release(); DRIVER, ASYNC (DEVICE_LOST), UNSUPPORTED (EXTENSION_MISSING:
 * no synchronization2).
 * Ownership: the command buffer stays yours and lives until the submission has run.
 * Threads: one at a time for the side; `queue` is externally synchronized.
 * Since: 0.1.
 * Source: vkQueueSubmit2. */
CULV_EXPORT culv_result culv_vk_ring_submit(culv_vk_ring *ring, VkQueue queue,
                                            VkCommandBuffer commands, VkFence fence,
                                            culv_vk_ring_frame *frame);

/** Submits what culv_vk_ring_submit() kept of a burst that is not full.
 * Errors: as culv_vk_ring_submit().
 * Ownership: none.
 * Threads: one at a time for the side.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_vk_ring_flush(culv_vk_ring *ring, VkQueue queue, VkFence fence);

/** What a queue is wanted for. */
typedef enum culv_vk_queue_use {
    CULV_VK_QUEUE_GRAPHICS = 0, /**< Draws. */
    CULV_VK_QUEUE_COMPUTE = 1,  /**< Computes; a family without graphics where there is one. */
    /** Copies alone: a family with TRANSFER and neither graphics nor compute, whose copy engine
     * takes no switch from CUDA's work (measured on an H200: 9 to 17 us a round trip against 319),
     * else any that copies. */
    CULV_VK_QUEUE_COPY = 2,
    CULV_VK_QUEUE_USE_FORCE32 = 0x7fffffff
} culv_vk_queue_use;

/** The best queue family for a use; ties go to the lowest index. A video queue is nobody's choice.
 * Errors: INVALID (NULL_ARGUMENT, VALUE), UNSUPPORTED (no family can).
 * Ownership: none.
 * Threads: any.
 * Since: 0.1
 * Source: Vulkan specification, VkQueueFamilyProperties; docs/performance.md. */
CULV_EXPORT culv_result culv_vk_find_queue_family(PFN_vkGetInstanceProcAddr get_instance_proc_addr,
                                                  VkInstance instance,
                                                  VkPhysicalDevice physical_device,
                                                  culv_vk_queue_use use, uint32_t *out);

/** Records the copy of a slot's resource into the caller's buffer, with the ring's barriers around
 * it: what a side does that hands frames on by copy (video out, read-back). Of a consumer's
 * fallback the recorded push is in it. Bytes of a buffer from its start; texels of an image's level
 * 0 without padding, layer after layer; the host may read them when the submission is over. The
 * command buffer can be recorded once for each slot and submitted many times: with
 * VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT, or the validation layer, which does not follow
 * exported timelines, takes it for still pending (VUID-vkQueueSubmit2-commandBuffer-03875) until a
 * fence or an idle queue tells it otherwise.
 * Errors: INVALID (NULL_ARGUMENT, RANGE: the slot, the resource, a destination that is too small,
 * an image's offset that is no multiple of 4 and of its texel's bytes; USAGE: made without
 * TRANSFER_SRC), UNSUPPORTED (FORMAT: several planes or aspects).
 * Ownership: none.
 * Threads: any, one for a command buffer.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_vk_ring_record_copy(const culv_vk_ring *ring, VkCommandBuffer commands,
                                                 uint32_t slot, uint32_t resource, VkBuffer to,
                                                 VkDeviceSize offset, VkDeviceSize size);

CULV_EXTERN_C_END

#endif
