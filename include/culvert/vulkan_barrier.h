/* SPDX-License-Identifier: MIT */
/* Culvert: the barriers that hand buffers and images from a Vulkan queue to CUDA and back, as plain
 * structs for the caller's own command buffers. Each way is half of a queue-family ownership
 * transfer with VK_QUEUE_FAMILY_EXTERNAL; the semaphore between the two submissions is the other
 * half. */
#ifndef CULV_VULKAN_BARRIER_H_
#define CULV_VULKAN_BARRIER_H_

#include "result.h"

#include <vulkan/vulkan_core.h>

CULV_EXTERN_C_BEGIN

/** What Vulkan does with a shared resource: gives the stage, the access and the image layout of a
 * barrier. Stages of shader uses are ALL_COMMANDS, right on every queue; set `stage`
 * (FRAGMENT_SHADER, say) to narrow them. What has no use of its own here (transform feedback,
 * conditional rendering, video) is ANY, with `stage`, `access` and `layout` set to narrow it. */
typedef enum culv_vk_use {
    /** ALL_COMMANDS, MEMORY_READ and MEMORY_WRITE, layout GENERAL. Always right. */
    CULV_VK_USE_ANY = 0,
    CULV_VK_USE_VERTEX_BUFFER = 1,
    CULV_VK_USE_INDEX_BUFFER = 2,
    /** Arguments of indirect draws and dispatches, and their count. */
    CULV_VK_USE_INDIRECT_BUFFER = 3,
    CULV_VK_USE_UNIFORM = 4, /**< A uniform buffer. */
    /** A storage image, storage buffer, storage texel buffer or device address, read; layout
     * GENERAL. */
    CULV_VK_USE_STORAGE_READ = 5,
    CULV_VK_USE_STORAGE = 6, /**< The same, read and written; layout GENERAL. */
    /** A sampled image, of any aspect, or a uniform texel buffer; layout
     * SHADER_READ_ONLY_OPTIMAL. */
    CULV_VK_USE_SAMPLED = 7,
    /** Drawn into, or resolved into by a render pass; layout COLOR_ATTACHMENT_OPTIMAL. */
    CULV_VK_USE_COLOR_ATTACHMENT = 8,
    /** Copied, blitted or resolved from; layout TRANSFER_SRC_OPTIMAL. */
    CULV_VK_USE_TRANSFER_SRC = 9,
    /** Copied, blitted, resolved, updated, filled or cleared to; layout TRANSFER_DST_OPTIMAL. */
    CULV_VK_USE_TRANSFER_DST = 10,
    /** Tested and written; layout DEPTH_STENCIL_ATTACHMENT_OPTIMAL. */
    CULV_VK_USE_DEPTH_STENCIL_ATTACHMENT = 11,
    /** Tested, sampled or both, on a graphics queue, and not written; layout
     * DEPTH_STENCIL_READ_ONLY_OPTIMAL. A render pass stores it with VK_ATTACHMENT_STORE_OP_NONE:
     * STORE is a write. */
    CULV_VK_USE_DEPTH_STENCIL_READ = 12,
    /** Loaded by a render pass and read by subpassLoad(); layout SHADER_READ_ONLY_OPTIMAL. Stored
     * as DEPTH_STENCIL_READ is. */
    CULV_VK_USE_INPUT_ATTACHMENT = 13,
    /** Vertices, indices, transforms, boxes or instances that an acceleration structure is built or
     * updated from, with VK_KHR_acceleration_structure. */
    CULV_VK_USE_ACCELERATION_STRUCTURE_BUILD_INPUT = 14,
    CULV_VK_USE_FORCE32 = 0x7fffffff
} culv_vk_use;

/** A range of a buffer that changes hands between a Vulkan queue and CUDA. */
typedef struct culv_vk_buffer_transfer {
    size_t struct_size;  /**< Set by culv_vk_buffer_transfer_init(). */
    VkBuffer buffer;     /**< Required. */
    VkDeviceSize offset; /**< Bytes into the buffer. */
    VkDeviceSize size;   /**< Bytes; 0: VK_WHOLE_SIZE. */
    /** Required: the family of the queue that the barrier is submitted to, or
     * VK_QUEUE_FAMILY_IGNORED with VK_SHARING_MODE_CONCURRENT. */
    uint32_t queue_family;
    culv_vk_use use;             /**< Vulkan's last use (release) or first use (acquire). */
    VkPipelineStageFlags2 stage; /**< Where that use is; never HOST. 0: by `use`. */
    /** Release: how it wrote. Acquire: how it will access. 0: by `use`. */
    VkAccessFlags2 access;
} culv_vk_buffer_transfer;

/** A default transfer: the whole buffer, any stage.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_vk_buffer_transfer culv_vk_buffer_transfer_init(void)
{
    culv_vk_buffer_transfer t;
    memset(&t, 0, sizeof t);
    t.struct_size = sizeof t;
    return t;
}

/** A barrier in the form of vkCmdPipelineBarrier, for devices without synchronization2. */
typedef struct culv_vk_buffer_barrier {
    VkPipelineStageFlags src_stage;
    VkPipelineStageFlags dst_stage;
    VkBufferMemoryBarrier barrier;
} culv_vk_buffer_barrier;

/** An image, or some of its mip levels and array layers, that changes hands between a Vulkan queue
 * and CUDA. CUDA's layout is GENERAL. Of a depth or stencil image, `format` or `aspect` is
 * required. */
typedef struct culv_vk_image_transfer {
    size_t struct_size;          /**< Set by culv_vk_image_transfer_init(). */
    VkImage image;               /**< Required. */
    uint32_t base_mip_level;     /**< The first level. */
    uint32_t level_count;        /**< 0: all from there on (VK_REMAINING_MIP_LEVELS). */
    uint32_t queue_family;       /**< Required: as culv_vk_buffer_transfer::queue_family. */
    culv_vk_use use;             /**< Vulkan's last use (release) or first use (acquire). */
    VkPipelineStageFlags2 stage; /**< Where that use is; never HOST. 0: by `use`. */
    /** Release: how it wrote. Acquire: how it will access. 0: by `use`. */
    VkAccessFlags2 access;
    /** Vulkan's layout before the release, or after the acquire. 0 (UNDEFINED): by `use`. */
    VkImageLayout layout;
    /** The contents are not needed: the old layout is UNDEFINED. Release with it before CUDA's
     * first use of a new image. */
    VkBool32 discard;
    uint32_t base_array_layer; /**< The first layer; of cubes, 6 * cube + face. */
    /** 0: all from there on (VK_REMAINING_ARRAY_LAYERS). A 3D image is one layer: its slices go
     * together. */
    uint32_t layer_count;
    /** The image's own, which says its aspects. 0 (UNDEFINED): a color format. */
    VkFormat format;
    /** 0: all that `format` has. Formats of several planes have COLOR. One of DEPTH and STENCIL
     * where the format has both: only with the feature separateDepthStencilLayouts. */
    VkImageAspectFlags aspect;
} culv_vk_image_transfer;

/** A default transfer: the whole image, of a color format, any use.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_vk_image_transfer culv_vk_image_transfer_init(void)
{
    culv_vk_image_transfer t;
    memset(&t, 0, sizeof t);
    t.struct_size = sizeof t;
    return t;
}

/** A barrier in the form of vkCmdPipelineBarrier, for devices without synchronization2. */
typedef struct culv_vk_image_barrier {
    VkPipelineStageFlags src_stage;
    VkPipelineStageFlags dst_stage;
    VkImageMemoryBarrier barrier;
} culv_vk_image_barrier;

/** The queue-family release that hands a buffer from a Vulkan queue to CUDA: record it after
 * Vulkan's last use, in a submission that signals the timeline which CUDA waits for.
 * Errors: INVALID (VALUE: a use of images, the stage or an access of the host, a special queue
 * family; RANGE: offset and size overflow).
 * Ownership: *out is yours.
 * Threads: any.
 * Since: 0.1
 * Source: Vulkan specification, "Queue Family Ownership Transfer", VK_QUEUE_FAMILY_EXTERNAL. */
CULV_EXPORT culv_result culv_vk_buffer_release_barrier2(const culv_vk_buffer_transfer *transfer,
                                                        VkBufferMemoryBarrier2 *out);

/** The queue-family acquire that takes a buffer back from CUDA: record it before Vulkan's first
 * use, in a submission that waits for the timeline which CUDA signaled. Also needed before the
 * first use of what CUDA wrote first.
 * Errors: as culv_vk_buffer_release_barrier2().
 * Ownership: *out is yours.
 * Threads: any.
 * Since: 0.1
 * Source: Vulkan specification, "Queue Family Ownership Transfer", VK_QUEUE_FAMILY_EXTERNAL. */
CULV_EXPORT culv_result culv_vk_buffer_acquire_barrier2(const culv_vk_buffer_transfer *transfer,
                                                        VkBufferMemoryBarrier2 *out);

/** culv_vk_buffer_release_barrier2() in the form of Vulkan 1.0. Only stages and accesses of that
 * form are taken.
 * Errors: INVALID (VALUE: a stage or access that only synchronization2 has).
 * Ownership: *out is yours.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_vk_buffer_release_barrier(const culv_vk_buffer_transfer *transfer,
                                                       culv_vk_buffer_barrier *out);

/** culv_vk_buffer_acquire_barrier2() in the form of Vulkan 1.0. Only stages and accesses of that
 * form are taken.
 * Errors: INVALID (VALUE: a stage or access that only synchronization2 has).
 * Ownership: *out is yours.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_vk_buffer_acquire_barrier(const culv_vk_buffer_transfer *transfer,
                                                       culv_vk_buffer_barrier *out);

/** The queue-family release and layout transition that hand an image from a Vulkan queue to CUDA:
 * record it after Vulkan's last use, in a submission that signals the semaphore which CUDA waits
 * for.
 * Errors: INVALID (VALUE: a use of buffers, a use, layout or aspect that contradicts the format,
 * the stage or an access of the host, a special queue family; RANGE: levels or layers overflow).
 * Ownership: *out is yours.
 * Threads: any.
 * Since: 0.1
 * Source: Vulkan specification, "Queue Family Ownership Transfer", VK_QUEUE_FAMILY_EXTERNAL. */
CULV_EXPORT culv_result culv_vk_image_release_barrier2(const culv_vk_image_transfer *transfer,
                                                       VkImageMemoryBarrier2 *out);

/** The queue-family acquire and layout transition that take an image back from CUDA: record it
 * before Vulkan's first use, in a submission that waits for the semaphore which CUDA signaled.
 * Errors: as culv_vk_image_release_barrier2(); VALUE also for the layout PREINITIALIZED.
 * Ownership: *out is yours.
 * Threads: any.
 * Since: 0.1
 * Source: Vulkan specification, "Queue Family Ownership Transfer", VK_QUEUE_FAMILY_EXTERNAL. */
CULV_EXPORT culv_result culv_vk_image_acquire_barrier2(const culv_vk_image_transfer *transfer,
                                                       VkImageMemoryBarrier2 *out);

/** culv_vk_image_release_barrier2() in the form of Vulkan 1.0. Only stages, accesses and layouts of
 * that form are taken.
 * Errors: INVALID (VALUE: a stage or access that only synchronization2 has).
 * Ownership: *out is yours.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_vk_image_release_barrier(const culv_vk_image_transfer *transfer,
                                                      culv_vk_image_barrier *out);

/** culv_vk_image_acquire_barrier2() in the form of Vulkan 1.0. Only stages, accesses and layouts of
 * that form are taken.
 * Errors: INVALID (VALUE: a stage or access that only synchronization2 has).
 * Ownership: *out is yours.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_vk_image_acquire_barrier(const culv_vk_image_transfer *transfer,
                                                      culv_vk_image_barrier *out);

CULV_EXTERN_C_END

#endif
