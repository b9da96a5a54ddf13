/* SPDX-License-Identifier: MIT */
/* Culvert: barriers that pass buffers and images from a Vulkan queue to CUDA and back, as plain
 * structs for your own command buffers. Each barrier is Vulkan's half of a queue-family ownership
 * transfer with VK_QUEUE_FAMILY_EXTERNAL. CUDA's half needs no call; a semaphore orders both. */
#ifndef CULV_VULKAN_BARRIER_H_
#define CULV_VULKAN_BARRIER_H_

#include "result.h"

#include <vulkan/vulkan_core.h>

CULV_EXTERN_C_BEGIN

/** No queue family: init functions set this value if a family is required, so that the call refuses
 * a descriptor whose family you forgot to set. */
#define CULV_VK_QUEUE_FAMILY_UNSET (~3u)

/** As a transfer's queue_family: a kernel in the same command buffer or queue (vulkan_kernel.h)
 * takes CUDA's place, so no queue family changes. Record CULV_VK_RELEASE before the kernel, and
 * CULV_VK_ACQUIRE after it. No specification says at which pipeline stage such a kernel runs, so
 * the barrier has ALL_COMMANDS, MEMORY_READ and MEMORY_WRITE on the kernel's side. */
#define CULV_VK_QUEUE_FAMILY_KERNEL (~4u)

/** The direction of a transfer. */
typedef enum culv_vk_direction {
    CULV_VK_ACQUIRE = 0, /**< From CUDA to Vulkan: Vulkan's queue acquires it. */
    CULV_VK_RELEASE = 1, /**< From Vulkan to CUDA: Vulkan's queue releases it. */
    CULV_VK_DIRECTION_FORCE32 = 0x7fffffff
} culv_vk_direction;

/** Vulkan's use of a shared resource. It determines the stage, the access and the image layout of a
 * barrier. Shader uses have the stage ALL_COMMANDS, which is right on every queue; set `stage` (for
 * example FRAGMENT_SHADER) to narrow it. For transform feedback, conditional rendering and video
 * use ANY, and narrow it by `stage`, `access` and `layout`. */
typedef enum culv_vk_use {
    /** ALL_COMMANDS, MEMORY_READ and MEMORY_WRITE, layout GENERAL. Always right. */
    CULV_VK_USE_ANY = 0,
    CULV_VK_USE_VERTEX_BUFFER = 1,
    CULV_VK_USE_INDEX_BUFFER = 2,
    /** Arguments of indirect draws and dispatches, and their count. */
    CULV_VK_USE_INDIRECT_BUFFER = 3,
    CULV_VK_USE_UNIFORM = 4, /**< A uniform buffer. */
    /** Reads of a storage image, storage buffer, storage texel buffer or device address; layout
     * GENERAL. */
    CULV_VK_USE_STORAGE_READ = 5,
    CULV_VK_USE_STORAGE = 6, /**< Reads and writes of these; layout GENERAL. */
    /** A sampled image, of any aspect, or a uniform texel buffer; layout
     * SHADER_READ_ONLY_OPTIMAL. */
    CULV_VK_USE_SAMPLED = 7,
    /** A render pass draws into it or resolves into it; layout COLOR_ATTACHMENT_OPTIMAL. */
    CULV_VK_USE_COLOR_ATTACHMENT = 8,
    /** The source of a copy, blit or resolve; layout TRANSFER_SRC_OPTIMAL. */
    CULV_VK_USE_TRANSFER_SRC = 9,
    /** The destination of a copy, blit, resolve, update, fill or clear; layout
     * TRANSFER_DST_OPTIMAL. */
    CULV_VK_USE_TRANSFER_DST = 10,
    /** Depth or stencil tests and writes; layout DEPTH_STENCIL_ATTACHMENT_OPTIMAL. */
    CULV_VK_USE_DEPTH_STENCIL_ATTACHMENT = 11,
    /** Depth or stencil tests, sampling, or both, on a graphics queue, without writes; layout
     * DEPTH_STENCIL_READ_ONLY_OPTIMAL. A render pass must store it with
     * VK_ATTACHMENT_STORE_OP_NONE, because STORE is a write. */
    CULV_VK_USE_DEPTH_STENCIL_READ = 12,
    /** A render pass loads it and subpassLoad() reads it; layout SHADER_READ_ONLY_OPTIMAL. The
     * render pass must store it with VK_ATTACHMENT_STORE_OP_NONE too. */
    CULV_VK_USE_INPUT_ATTACHMENT = 13,
    /** Vertices, indices, transforms, boxes or instances from which an acceleration structure is
     * built or updated, with VK_KHR_acceleration_structure. */
    CULV_VK_USE_ACCELERATION_STRUCTURE_BUILD_INPUT = 14,
    CULV_VK_USE_FORCE32 = 0x7fffffff
} culv_vk_use;

/** A transfer of a buffer's range between a Vulkan queue and CUDA. */
typedef struct culv_vk_buffer_transfer {
    size_t struct_size;  /**< Set by culv_vk_buffer_transfer_init(). */
    VkBuffer buffer;     /**< Required. */
    VkDeviceSize offset; /**< Bytes into the buffer. */
    VkDeviceSize size;   /**< Bytes; 0: VK_WHOLE_SIZE. */
    /** Required: family of the queue that the barrier is submitted to, or VK_QUEUE_FAMILY_IGNORED
     * with VK_SHARING_MODE_CONCURRENT, or CULV_VK_QUEUE_FAMILY_KERNEL.
     * culv_vk_buffer_transfer_init() sets CULV_VK_QUEUE_FAMILY_UNSET, which is refused. */
    uint32_t queue_family;
    culv_vk_use use;             /**< Vulkan's last use (release) or first use (acquire). */
    VkPipelineStageFlags2 stage; /**< Stage of that use; never HOST. 0: by `use`. */
    /** Release: write accesses of that use. Acquire: all accesses of that use. 0: by `use`. */
    VkAccessFlags2 access;
} culv_vk_buffer_transfer;

/** Returns a default transfer: the whole buffer, any stage, no queue family yet. */
CULV_INLINE culv_vk_buffer_transfer culv_vk_buffer_transfer_init(void)
{
    culv_vk_buffer_transfer t;
    memset(&t, 0, sizeof t);
    t.struct_size = sizeof t;
    t.queue_family = CULV_VK_QUEUE_FAMILY_UNSET;
    return t;
}

/** A barrier in the form of vkCmdPipelineBarrier, for devices without synchronization2. */
typedef struct culv_vk_buffer_barrier {
    VkPipelineStageFlags src_stage;
    VkPipelineStageFlags dst_stage;
    VkBufferMemoryBarrier barrier;
} culv_vk_buffer_barrier;

/** A transfer of an image, or of some mip levels and array layers, between a Vulkan queue and CUDA.
 * In CUDA the layout is GENERAL. A depth or stencil image needs `format` or `aspect`. */
typedef struct culv_vk_image_transfer {
    size_t struct_size;          /**< Set by culv_vk_image_transfer_init(). */
    VkImage image;               /**< Required. */
    uint32_t base_mip_level;     /**< First level. */
    uint32_t level_count;        /**< Levels. 0: all that follow (VK_REMAINING_MIP_LEVELS). */
    uint32_t queue_family;       /**< Required: as culv_vk_buffer_transfer::queue_family. */
    culv_vk_use use;             /**< Vulkan's last use (release) or first use (acquire). */
    VkPipelineStageFlags2 stage; /**< Stage of that use; never HOST. 0: by `use`. */
    /** Release: write accesses of that use. Acquire: all accesses of that use. 0: by `use`. */
    VkAccessFlags2 access;
    /** Layout in Vulkan before the release, or after the acquire. 0 (UNDEFINED): by `use`. */
    VkImageLayout layout;
    /** 1: the contents are not needed, and the old layout is UNDEFINED. Set it to release a new
     * image before CUDA's first use. */
    culv_bool discard;
    uint32_t base_array_layer; /**< First layer. Cubes: 6 * cube + face. */
    /** Layers. 0: all that follow (VK_REMAINING_ARRAY_LAYERS). A 3D image is one layer: its slices
     * are transferred together. */
    uint32_t layer_count;
    /** Format of the image, which determines its aspects. 0 (UNDEFINED): a color format. */
    VkFormat format;
    /** Aspects. 0: all aspects of `format`. Formats of several planes have COLOR. To transfer only
     * DEPTH or STENCIL of a format with both, you need the feature separateDepthStencilLayouts. */
    VkImageAspectFlags aspect;
} culv_vk_image_transfer;

/** Returns a default transfer: the whole image, a color format, any use, no queue family yet. */
CULV_INLINE culv_vk_image_transfer culv_vk_image_transfer_init(void)
{
    culv_vk_image_transfer t;
    memset(&t, 0, sizeof t);
    t.struct_size = sizeof t;
    t.queue_family = CULV_VK_QUEUE_FAMILY_UNSET;
    return t;
}

/** A barrier in the form of vkCmdPipelineBarrier, for devices without synchronization2. */
typedef struct culv_vk_image_barrier {
    VkPipelineStageFlags src_stage;
    VkPipelineStageFlags dst_stage;
    VkImageMemoryBarrier barrier;
} culv_vk_image_barrier;

/** Fills *out with the queue-family ownership transfer of a buffer between a Vulkan queue and CUDA.
 * Release: record it after Vulkan's last use, in a submission that signals the timeline that CUDA
 * waits for. Acquire: record it before Vulkan's first use, in a submission that waits for the
 * timeline that CUDA signaled. If CUDA writes the buffer first, only the acquire is needed. Between
 * a kernel and another use in the same queue (CULV_VK_QUEUE_FAMILY_KERNEL) no semaphore is needed.
 * Errors: INVALID (NULL_ARGUMENT; STRUCT_SIZE; VALUE: an unknown direction, a use of images, the
 * stage or an access of the host, no queue family or a special one; RANGE: offset and size
 * overflow).
 * Source: Vulkan specification, "Queue Family Ownership Transfer", VK_QUEUE_FAMILY_EXTERNAL. */
CULV_EXPORT culv_result culv_vk_buffer_get_barrier2(const culv_vk_buffer_transfer *transfer,
                                                    culv_vk_direction direction,
                                                    VkBufferMemoryBarrier2 *out);

/** Fills *out with the queue-family ownership transfer and the layout transition of an image
 * between a Vulkan queue and CUDA. Release: record it after Vulkan's last use, in a submission that
 * signals the semaphore that CUDA waits for. Acquire: record it before Vulkan's first use, in a
 * submission that waits for the semaphore that CUDA signaled.
 * Errors: INVALID (NULL_ARGUMENT; STRUCT_SIZE; VALUE: an unknown direction, a use of buffers, a
 * use, layout or aspect that contradicts the format, an acquire into the layout PREINITIALIZED, the
 * stage or an access of the host, no queue family or a special one; RANGE: levels or layers
 * overflow).
 * Source: Vulkan specification, "Queue Family Ownership Transfer", VK_QUEUE_FAMILY_EXTERNAL. */
CULV_EXPORT culv_result culv_vk_image_get_barrier2(const culv_vk_image_transfer *transfer,
                                                   culv_vk_direction direction,
                                                   VkImageMemoryBarrier2 *out);

#ifdef VK_VERSION_1_3
/** Converts a barrier to the form of Vulkan 1.0, whose stages and accesses have the same bits. If
 * you set `stage`, `access` or `layout` of the transfer, set only what Vulkan 1.0 has. */
CULV_INLINE culv_vk_buffer_barrier culv_vk_old_buffer_barrier(const VkBufferMemoryBarrier2 *barrier)
{
    culv_vk_buffer_barrier b;
    memset(&b, 0, sizeof b);
    b.src_stage = (VkPipelineStageFlags)barrier->srcStageMask;
    b.dst_stage = (VkPipelineStageFlags)barrier->dstStageMask;
    b.barrier.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER;
    b.barrier.srcAccessMask = (VkAccessFlags)barrier->srcAccessMask;
    b.barrier.dstAccessMask = (VkAccessFlags)barrier->dstAccessMask;
    b.barrier.srcQueueFamilyIndex = barrier->srcQueueFamilyIndex;
    b.barrier.dstQueueFamilyIndex = barrier->dstQueueFamilyIndex;
    b.barrier.buffer = barrier->buffer;
    b.barrier.offset = barrier->offset;
    b.barrier.size = barrier->size;
    return b;
}

/** Does what culv_vk_old_buffer_barrier() does, for an image. */
CULV_INLINE culv_vk_image_barrier culv_vk_old_image_barrier(const VkImageMemoryBarrier2 *barrier)
{
    culv_vk_image_barrier b;
    memset(&b, 0, sizeof b);
    b.src_stage = (VkPipelineStageFlags)barrier->srcStageMask;
    b.dst_stage = (VkPipelineStageFlags)barrier->dstStageMask;
    b.barrier.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER;
    b.barrier.srcAccessMask = (VkAccessFlags)barrier->srcAccessMask;
    b.barrier.dstAccessMask = (VkAccessFlags)barrier->dstAccessMask;
    b.barrier.oldLayout = barrier->oldLayout;
    b.barrier.newLayout = barrier->newLayout;
    b.barrier.srcQueueFamilyIndex = barrier->srcQueueFamilyIndex;
    b.barrier.dstQueueFamilyIndex = barrier->dstQueueFamilyIndex;
    b.barrier.image = barrier->image;
    b.barrier.subresourceRange = barrier->subresourceRange;
    return b;
}
#endif

CULV_EXTERN_C_END

#endif
