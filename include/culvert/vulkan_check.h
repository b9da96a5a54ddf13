/* SPDX-License-Identifier: MIT */
/* Culvert: checks whether and how a planned Vulkan buffer or image can be shared with CUDA.
 *
 * Fill in the VkBufferCreateInfo or VkImageCreateInfo as usual and ask before you create anything:
 *
 *   culv_vk_sharing_info info = culv_vk_sharing_info_init();
 *   if (culv_vk_check_image(vk, &create_info, NULL, &info) != CULV_OK)
 *       fprintf(stderr, "%s", culv_last_error_message());
 *
 * Nothing is created or imported. The calls that create, import and map make the same checks and
 * refuse with the same words. */
#ifndef CULV_VULKAN_CHECK_H_
#define CULV_VULKAN_CHECK_H_

#include "image.h"
#include "vulkan_device.h"

CULV_EXTERN_C_BEGIN

/** The way in which CUDA reaches a resource. */
typedef enum culv_vk_access {
    CULV_VK_ACCESS_NONE = 0,
    CULV_VK_ACCESS_POINTER = 1, /**< A buffer, with culv_buffer_map(). */
    CULV_VK_ACCESS_ARRAY = 2,   /**< An OPTIMAL image, with culv_vk_image_map(). */
    /** A LINEAR image as rows of bytes, with culv_vk_image_map_pitched(). */
    CULV_VK_ACCESS_PITCHED = 3,
    CULV_VK_ACCESS_FORCE32 = 0x7fffffff
} culv_vk_access;

/** Settings of a check, besides Vulkan's own struct. */
typedef struct culv_vk_check_desc {
    size_t struct_size; /**< Set by culv_vk_check_desc_init(). */
    /** The handle to share it by. 0: this system's opaque handle. DMA_BUF_FD is refused, because
     * only an import shows whether CUDA takes it. */
    culv_handle_type handle_type;
    /** The properties that the memory type must have. 0: DEVICE_LOCAL. */
    VkMemoryPropertyFlags memory_properties;
    culv_texels texels;    /**< Images: as culv_image_desc::texels. */
    culv_bool no_surfaces; /**< Images: as culv_image_desc::no_surfaces. */
    const char *label;     /**< Appears in messages. Default: none. */
    /** Buffers: as culv_vk_buffer_create_desc::host_memory. The answer then has no handle_types.
     * Its memory_type_index is not known yet, because it depends on the pages. */
    culv_bool host_memory;
    /** Buffers: the bytes of your own memory that the buffer will share with others, such as an
     * allocator's block. 0: memory that is dedicated to the buffer, as culv_vk_buffer_create()
     * makes it. `memory_kind` and `random_access_slow` of the answer follow from it. */
    VkDeviceSize block_size;
} culv_vk_check_desc;

CULV_INIT(culv_vk_check_desc)

/** The ways in which a resource can be shared. Flags are 0 or 1. Limits are those of both Vulkan
 * and CUDA together. */
typedef struct culv_vk_sharing_info {
    size_t struct_size; /**< Set by culv_vk_sharing_info_init(). */
    culv_vk_access access;
    /** One bit (1 << culv_handle_type) for each type that Vulkan exports such a resource as and
     * CUDA imports. */
    uint32_t handle_types;
    culv_handle_type handle_type; /**< The type that was asked for, or the default. */
    /** The memory must be a dedicated allocation (VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT,
     * culv_format_info::dedicated, or requiresDedicatedAllocation when that is known). */
    culv_bool dedicated_required;
    culv_bool dedicated_preferred; /**< prefersDedicatedAllocation. 0 when that is not known. */
    /** 1: the next two fields are set. This needs Vulkan 1.3, or VK_KHR_maintenance4 enabled. */
    culv_bool requirements_known;
    /** Bytes, alignment and memory types, before the resource exists. For a DISJOINT image: those
     * of one block that has all planes, one after another. */
    VkMemoryRequirements requirements;
    /** DISJOINT images: the same for each plane. Otherwise 0. */
    VkMemoryRequirements plane_requirements[3];
    /** A memory type that has memory_properties. UINT32_MAX when it is not known yet. */
    uint32_t memory_type_index;
    VkExtent3D max_extent;     /**< Images: the largest level 0 of such images, in texels. */
    uint32_t max_mip_levels;   /**< Images: the number of levels that this extent can have. */
    uint32_t max_array_layers; /**< Images: the largest number of layers of such images. */
    /** Images: VK_SAMPLE_COUNT_1_BIT, even if Vulkan can do more without CUDA. */
    VkSampleCountFlags sample_counts;
    VkDeviceSize max_resource_size; /**< Images: in bytes. */
    /** ACCESS_ARRAY: how culv_vk_image_map() maps the image, with every default made explicit, at
     * offset 0 and without a label. For DISJOINT images plane_offsets are the offsets in a block of
     * all planes, if requirements_known. */
    culv_image_desc image;
    /** Buffers: the kind of memory that the buffer would lie in. UNKNOWN for host memory. */
    culv_memory_kind memory_kind;
    /** Buffers: 1 if random access in such a block is slow, because it is not of the fast kind and
     * has CULV_SLOW_KIND_BYTES or more. Give the buffer dedicated memory, or make blocks smaller.
     * If you import the block, a warning in the log says so. */
    culv_bool random_access_slow;
} culv_vk_sharing_info;

/** Returns an empty culv_vk_sharing_info with its struct_size set. Threads: any. */
CULV_INLINE culv_vk_sharing_info culv_vk_sharing_info_init(void)
{
    culv_vk_sharing_info s;
    memset(&s, 0, sizeof s);
    s.struct_size = sizeof s;
    s.image.struct_size = sizeof s.image;
    return s;
}

/** Checks whether a buffer that vkCreateBuffer would make from this struct can be shared, and how.
 * desc may be NULL. A refusal is an error; its message names the field and says what to do.
 * culv_vk_buffer_create() refuses the same buffers with the same words. The chain may contain a
 * VkExternalMemoryBufferCreateInfo or not. Culvert keeps the driver's answers, so asking again
 * takes a fraction of a microsecond.
 * Errors: INVALID (VALUE, SIZE; USAGE: a usage or a flag; MEMORY_TYPE, DEDICATED; NOT_EXPORTABLE,
 * HANDLE_TYPE: the chain does not fit; DEVICE_MISMATCH: the VkDevice is attached as another GPU),
 * UNSUPPORTED (NOT_EXPORTABLE, HANDLE_TYPE, EXTENSION_MISSING), OUT_OF_MEMORY (DEVICE_MEMORY: no
 * heap is that big).
 * Ownership: the copy is yours. Threads: any.
 * Source: Vulkan, vkGetPhysicalDeviceExternalBufferProperties,
 * vkGetDeviceBufferMemoryRequirements. */
CULV_EXPORT culv_result culv_vk_check_buffer(culv_vk_device *vk,
                                             const VkBufferCreateInfo *create_info,
                                             const culv_vk_check_desc *desc,
                                             culv_vk_sharing_info *out);

/** Checks whether an image that vkCreateImage would make can be shared, and how.
 * culv_vk_image_create() and culv_vk_image_map() make the same checks. Images that CUDA cannot map
 * (multisampled, protected, sparse, a format without a CUDA array ...) are refused with the reason.
 * Images of several planes must be DISJOINT; others are refused as UNSUPPORTED (USAGE). LINEAR
 * images are CULV_VK_ACCESS_PITCHED. They may have any format of culvert/format_list.h that Vulkan
 * supports for them, except combined depth and stencil.
 * Errors: INVALID (VALUE, TILING; USAGE: a usage, a flag, samples or initialLayout; EXTENT: an
 * extent, levels or layers; MEMORY_TYPE, NULL_ARGUMENT, DEDICATED; NOT_EXPORTABLE, HANDLE_TYPE: the
 * chain does not fit; DEVICE_MISMATCH), UNSUPPORTED (FORMAT, NOT_EXPORTABLE; EXTENT: more than
 * CUDA's arrays have; USAGE: 3D images as depth or stencil attachments; HANDLE_TYPE,
 * EXTENSION_MISSING), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: the copy is yours. Threads: any.
 * Source: Vulkan, vkGetPhysicalDeviceImageFormatProperties2, VkExternalImageFormatProperties,
 * vkGetDeviceImageMemoryRequirements; cuda.h, cuMipmappedArrayCreate. */
CULV_EXPORT culv_result culv_vk_check_image(culv_vk_device *vk,
                                            const VkImageCreateInfo *create_info,
                                            const culv_vk_check_desc *desc,
                                            culv_vk_sharing_info *out);

CULV_EXTERN_C_END

#endif
