/* SPDX-License-Identifier: MIT */
/* Culvert: the gate: whether, and how, a planned Vulkan buffer or image can be shared with CUDA.
 * Nothing is created or imported. The calls that create, import and map ask the same questions, and
 * their refusals say the same. */
#ifndef CULV_VULKAN_CHECK_H_
#define CULV_VULKAN_CHECK_H_

#include "image.h"
#include "vulkan_device.h"

CULV_EXTERN_C_BEGIN

/** How CUDA reaches a resource. */
typedef enum culv_vk_access {
    CULV_VK_ACCESS_NONE = 0,
    CULV_VK_ACCESS_POINTER = 1, /**< A buffer: culv_buffer_map(). */
    CULV_VK_ACCESS_ARRAY = 2,   /**< An OPTIMAL image: culv_vk_image_map(). */
    /** A LINEAR image, as rows of bytes: culv_vk_image_map_pitched(). */
    CULV_VK_ACCESS_PITCHED = 3,
    CULV_VK_ACCESS_FORCE32 = 0x7fffffff
} culv_vk_access;

/** What is asked besides Vulkan's own struct. Zero means the default. */
typedef struct culv_vk_check_desc {
    size_t struct_size; /**< Set by culv_vk_check_desc_init(). */
    /** By which handle. 0: this system's opaque one. DMA_BUF_FD is refused: whether CUDA takes it
     * only an import tells. */
    culv_handle_type handle_type;
    /** What the memory type must have. 0: DEVICE_LOCAL. */
    VkMemoryPropertyFlags memory_properties;
    culv_texels texels;    /**< Images: as culv_image_desc::texels. */
    culv_bool no_surfaces; /**< Images: as culv_image_desc::no_surfaces. */
    const char *label;     /**< Appears in messages. Default: none. */
    /** Buffers: as culv_vk_buffer_create_desc::host_memory. The answer then has no handle_types, and its
     * memory_type_index is not known yet: it depends on the pages. */
    culv_bool host_memory;
} culv_vk_check_desc;

/** Returns a default descriptor.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_vk_check_desc culv_vk_check_desc_init(void)
{
    culv_vk_check_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    return d;
}

/** How a resource can be shared. Flags are 0 or 1; limits are those that Vulkan and CUDA both
 * have. */
typedef struct culv_vk_sharing_info {
    size_t struct_size; /**< Set by culv_vk_sharing_info_init(). */
    culv_vk_access access;
    /** Bit (1 << culv_handle_type) for each by which Vulkan exports such a resource and CUDA
     * imports it. */
    uint32_t handle_types;
    culv_handle_type handle_type; /**< The one that was asked for, or the default. */
    /** The memory must be a dedicated allocation (VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT,
     * culv_format_info::dedicated, or requiresDedicatedAllocation where that is known). */
    culv_bool dedicated_required;
    culv_bool dedicated_preferred; /**< prefersDedicatedAllocation; 0 where that is not known. */
    /** The next two are set: Vulkan 1.3, or VK_KHR_maintenance4 enabled. */
    culv_bool requirements_known;
    /** Bytes, alignment and memory types, before the resource exists. Of a DISJOINT image: of a
     * block of all its planes, one after another. */
    VkMemoryRequirements requirements;
    /** DISJOINT images: the same of each plane; else 0. */
    VkMemoryRequirements plane_requirements[3];
    /** A type that has memory_properties; UINT32_MAX when not known yet. */
    uint32_t memory_type_index;
    VkExtent3D max_extent;     /**< Images: texels of level 0, of such images. */
    uint32_t max_mip_levels;   /**< Images: levels of this extent. */
    uint32_t max_array_layers; /**< Images: layers of such images. */
    /** Images: VK_SAMPLE_COUNT_1_BIT, whatever Vulkan alone has. */
    VkSampleCountFlags sample_counts;
    VkDeviceSize max_resource_size; /**< Images: bytes. */
    /** ACCESS_ARRAY: how culv_vk_image_map() maps it, with every default made explicit, at offset 0
     * and without a label. DISJOINT images: plane_offsets are those in a block of all planes, where
     * requirements_known. */
    culv_image_desc image;
} culv_vk_sharing_info;

/** Returns an empty culv_vk_sharing_info with its struct_size set.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_vk_sharing_info culv_vk_sharing_info_init(void)
{
    culv_vk_sharing_info s;
    memset(&s, 0, sizeof s);
    s.struct_size = sizeof s;
    s.image.struct_size = sizeof s.image;
    return s;
}

/** Whether a buffer that vkCreateBuffer would make of this struct can be shared, and how. desc may
 * be NULL. A refusal is an error whose last error names the field and what to do;
 * culv_vk_buffer_create() refuses the same with the same words. A VkExternalMemoryBufferCreateInfo
 * in the chain may be there or not. The driver's answers are kept: asking again takes a fraction of
 * a microsecond.
 * Errors: INVALID (VALUE, SIZE, USAGE: flags too, MEMORY_TYPE, DEDICATED; NOT_EXPORTABLE,
 * HANDLE_TYPE: what the chain says; DEVICE_MISMATCH: attached as another GPU), UNSUPPORTED
 * (NOT_EXPORTABLE, HANDLE_TYPE, EXTENSION_MISSING), OUT_OF_MEMORY (DEVICE_MEMORY: no heap is that
 * big).
 * Ownership: the copy is yours.
 * Threads: any.
 * Since: 0.1.
 * Source: Vulkan, vkGetPhysicalDeviceExternalBufferProperties,
 * vkGetDeviceBufferMemoryRequirements. */
CULV_EXPORT culv_result culv_vk_check_buffer(culv_vk_device *vk,
                                             const VkBufferCreateInfo *create_info,
                                             const culv_vk_check_desc *desc,
                                             culv_vk_sharing_info *out);

/** The same of an image that vkCreateImage would make; culv_vk_image_create() and
 * culv_vk_image_map() ask the same. What CUDA cannot map (multisampled, protected, sparse images,
 * formats without a CUDA array ...) is refused with the reason; images of several planes that are
 * not DISJOINT are, as UNSUPPORTED (USAGE). LINEAR images are CULV_VK_ACCESS_PITCHED, in any format
 * of culvert/format_list.h that Vulkan has so, but depth and stencil in one.
 * Errors: INVALID (VALUE, TILING, USAGE: flags, samples and initialLayout too, EXTENT: levels and
 * layers too, MEMORY_TYPE, NULL_ARGUMENT, DEDICATED; NOT_EXPORTABLE, HANDLE_TYPE: what the chain
 * says; DEVICE_MISMATCH), UNSUPPORTED (FORMAT, NOT_EXPORTABLE, EXTENT: more than CUDA's arrays
 * have, USAGE: 3D images that depth is drawn into, HANDLE_TYPE, EXTENSION_MISSING), DRIVER, ASYNC,
 * OUT_OF_MEMORY.
 * Ownership: the copy is yours.
 * Threads: any.
 * Since: 0.1.
 * Source: Vulkan, vkGetPhysicalDeviceImageFormatProperties2, VkExternalImageFormatProperties,
 * vkGetDeviceImageMemoryRequirements; cuda.h, cuMipmappedArrayCreate. */
CULV_EXPORT culv_result culv_vk_check_image(culv_vk_device *vk,
                                            const VkImageCreateInfo *create_info,
                                            const culv_vk_check_desc *desc,
                                            culv_vk_sharing_info *out);

CULV_EXTERN_C_END

#endif
