/* Culvert: Vulkan memory in CUDA: the caller's own, and buffers and images that Culvert makes.
 * SPDX-License-Identifier: MIT */
#ifndef CULV_VULKAN_MEMORY_H_
#define CULV_VULKAN_MEMORY_H_

#include "image.h"
#include "vulkan_device.h"

CULV_EXTERN_C_BEGIN

/** Opaque: a VkBuffer with exportable memory of its own that Culvert made and mapped into CUDA. */
typedef struct culv_vk_buffer culv_vk_buffer;
/** Opaque: a VkImage with exportable memory of its own that Culvert made and mapped into CUDA. */
typedef struct culv_vk_image culv_vk_image;

/** A VkDeviceMemory of the caller's to import. */
typedef struct culv_vk_memory_desc {
    size_t struct_size;           /**< Set by culv_vk_memory_desc_init(). */
    VkDeviceMemory memory;        /**< Required: allocated with VkExportMemoryAllocateInfo{OPAQUE_FD}. */
    VkDeviceSize allocation_size; /**< Required: VkMemoryAllocateInfo::allocationSize, bytes. */
    VkBool32 dedicated;           /**< Allocated with VkMemoryDedicatedAllocateInfo. */
    VkBuffer buffer; /**< Optional: a buffer bound to this memory. Its requirements are then held against
                          allocation_size, buffer_offset and dedicated. (The driver checks none of them.) */
    VkDeviceSize buffer_offset; /**< Where it is bound, bytes. */
    VkImage image;              /**< Optional: an image bound to this memory, checked in the same way. */
    VkDeviceSize image_offset;  /**< Where it is bound, bytes. */
    const char *label;          /**< Copied (up to 63 bytes). Default: none. */
} culv_vk_memory_desc;

/** A default descriptor.
 *  Errors: none.  Ownership: none.  Threads: any.  Since: 0.1 */
static inline culv_vk_memory_desc culv_vk_memory_desc_init(void)
{
    culv_vk_memory_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    return d;
}

/** A VkImage of the caller's, in memory that was imported, to map. */
typedef struct culv_vk_image_desc {
    size_t struct_size;                   /**< Set by culv_vk_image_desc_init(). */
    VkImage image;                        /**< Required, bound to the imported memory. */
    const VkImageCreateInfo *create_info; /**< Required: what vkCreateImage was called with, pNext chain and
                                               all; read during the call. */
    VkDeviceSize offset;                  /**< The memoryOffset of vkBindImageMemory, bytes. */
    VkBool32 no_surfaces;                 /**< As culv_image_desc::no_surfaces. */
    const char *label;                    /**< Copied (up to 63 bytes). Default: the import's. */
} culv_vk_image_desc;

/** A default descriptor.
 *  Errors: none.  Ownership: none.  Threads: any.  Since: 0.1 */
static inline culv_vk_image_desc culv_vk_image_desc_init(void)
{
    culv_vk_image_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    return d;
}

/** A buffer for Culvert to make. */
typedef struct culv_vk_buffer_create_desc {
    size_t struct_size;                      /**< Set by culv_vk_buffer_create_desc_init(). */
    const VkBufferCreateInfo *create_info;   /**< Required; read during the call. Culvert puts
                                                VkExternalMemoryBufferCreateInfo before its pNext chain,
                                                which must not have one. */
    VkMemoryPropertyFlags memory_properties; /**< What the memory type must have. 0: DEVICE_LOCAL. */
    const char *label;                       /**< Copied (up to 63 bytes). Default: none. */
} culv_vk_buffer_create_desc;

/** A default descriptor.
 *  Errors: none.  Ownership: none.  Threads: any.  Since: 0.1 */
static inline culv_vk_buffer_create_desc culv_vk_buffer_create_desc_init(void)
{
    culv_vk_buffer_create_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    return d;
}

/** An image for Culvert to make. */
typedef struct culv_vk_image_create_desc {
    size_t struct_size;                      /**< Set by culv_vk_image_create_desc_init(). */
    const VkImageCreateInfo *create_info;    /**< Required; read during the call. OPTIMAL, one sample, 2D, one
                                               layer, a format of culvert/format.h. Culvert puts
                                               VkExternalMemoryImageCreateInfo before its pNext chain, which
                                               must not have one. */
    VkMemoryPropertyFlags memory_properties; /**< What the memory type must have. 0: DEVICE_LOCAL. */
    VkBool32 no_surfaces;                    /**< As culv_image_desc::no_surfaces. */
    const char *label;                       /**< Copied (up to 63 bytes). Default: none. */
} culv_vk_image_create_desc;

/** A default descriptor.
 *  Errors: none.  Ownership: none.  Threads: any.  Since: 0.1 */
static inline culv_vk_image_create_desc culv_vk_image_create_desc_init(void)
{
    culv_vk_image_create_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    return d;
}

/** Imports exported memory of the caller's: exports a new fd, and imports it as culv_memory_import_take()
 *  does. The VkDeviceMemory may be freed while the import lives; the driver keeps the pages.
 *  Errors: INVALID (SIZE, RANGE, DEDICATED, NOT_EXPORTABLE ...), DRIVER, ASYNC, OUT_OF_MEMORY.  Ownership:
 *  the VkDeviceMemory stays yours; *out is yours, for culv_memory_destroy().  Threads: any;
 *  vkGetMemoryFdKHR needs no external synchronization.  Since: 0.1.  Source: VK_KHR_external_memory_fd;
 *  VkMemoryDedicatedRequirements. */
CULV_API culv_result culv_vk_memory_import(culv_vk *vk, const culv_vk_memory_desc *desc, culv_memory **out);

/** Maps an image of the caller's, bound to imported memory, as a CUDA mipmapped array. Format, extent and
 *  levels are those of the VkImageCreateInfo, never of a view; tiling, samples, flags, dedication and
 *  whether the device exports such images are checked first, since CUDA's driver checks none of it.
 *  Errors: INVALID (TILING, USAGE, EXTENT, RANGE, DEDICATED, NOT_EXPORTABLE, DEVICE_MISMATCH ...),
 *  UNSUPPORTED (FORMAT, EXTENT, NOT_EXPORTABLE), DRIVER, ASYNC, OUT_OF_MEMORY.  Ownership: the VkImage
 *  stays yours; *out is yours, for culv_image_unmap().  Threads: any.  Since: 0.1.  Source: CUDA guide
 *  3.2.16, "Mapping mipmapped arrays"; VkExternalImageFormatProperties. */
CULV_API culv_result culv_vk_image_map(culv_vk *vk, culv_memory *memory, const culv_vk_image_desc *desc,
                                       culv_image **out);

/** Makes a buffer with exportable memory of its own, imports that into CUDA and maps it: all or nothing.
 *  Errors: INVALID (SIZE, USAGE: sparse or protected; MEMORY_TYPE), UNSUPPORTED (NOT_EXPORTABLE), DRIVER
 *  (a Vulkan or CUDA call failed), ASYNC, OUT_OF_MEMORY.  Ownership: *out is yours, for
 *  culv_vk_buffer_destroy(); it keeps the attachment alive, and your VkDevice must outlive it.  Threads:
 *  any.  Since: 0.1.  Source: VkExportMemoryAllocateInfo, VkMemoryDedicatedRequirements. */
CULV_API culv_result culv_vk_buffer_create(culv_vk *vk, const culv_vk_buffer_create_desc *desc,
                                           culv_vk_buffer **out);

/** Unmaps the buffer from CUDA, gives the import up, destroys the VkBuffer and frees its memory, in this
 *  order; sets *buffer to NULL. NULL, or a pointer to NULL, is a no-op. Vulkan's use of it must be over, as
 *  for vkDestroyBuffer; CUDA's should be, see culv_buffer_unmap(), which may wait in here.
 *  Errors: none.  Ownership: *buffer is Culvert's again.  Threads: any, ordered with other calls on this
 *  object and on its VkDevice's destruction.  Since: 0.1 */
CULV_API void culv_vk_buffer_destroy(culv_vk_buffer **buffer);

/** As culv_vk_buffer_destroy(), but never waits for CUDA: its mapping is released as
 *  culv_buffer_unmap_after() tells, and keeps the pages until then. Vulkan's use must be over now.
 *  Errors: none.  Ownership: *buffer is Culvert's again.  Threads: any, ordered with other calls on this
 *  object.  Since: 0.1 */
CULV_API void culv_vk_buffer_destroy_after(culv_vk_buffer **buffer, CUstream last_use);

/** The VkBuffer: bind it, view it, describe it as your own, but never destroy it; VK_NULL_HANDLE for NULL.
 *  Errors: none.  Ownership: Culvert's.  Threads: any.  Since: 0.1 */
CULV_API VkBuffer culv_vk_buffer_handle(const culv_vk_buffer *buffer);

/** The VkDeviceMemory behind the buffer, bound at offset 0, for vkMapMemory; VK_NULL_HANDLE for NULL. *size,
 *  which may be NULL, is set to its allocationSize in bytes.
 *  Errors: none.  Ownership: Culvert's: never free it.  Threads: any.  Since: 0.1 */
CULV_API VkDeviceMemory culv_vk_buffer_memory(const culv_vk_buffer *buffer, VkDeviceSize *size);

/** CUDA's side of the buffer: its pointer and size. NULL for NULL.
 *  Errors: none.  Ownership: Culvert's, valid until the buffer is destroyed; culv_buffer_unmap() refuses it.
 *  Threads: any.  Since: 0.1 */
CULV_API culv_buffer *culv_vk_buffer_cuda(const culv_vk_buffer *buffer);

/** Makes an image with exportable memory of its own, imports that into CUDA and maps it: all or nothing. Its
 *  layout is UNDEFINED: before CUDA's first use, record culv_vk_image_release_barrier2() with `discard`.
 *  Errors: INVALID (TILING, USAGE, EXTENT, MEMORY_TYPE ...), UNSUPPORTED (FORMAT, EXTENT, NOT_EXPORTABLE),
 *  DRIVER (a Vulkan or CUDA call failed), ASYNC, OUT_OF_MEMORY.  Ownership: *out is yours, for
 *  culv_vk_image_destroy(); it keeps the attachment alive, and your VkDevice must outlive it.  Threads: any.
 *  Since: 0.1.  Source: VkExportMemoryAllocateInfo, VkExternalImageFormatProperties. */
CULV_API culv_result culv_vk_image_create(culv_vk *vk, const culv_vk_image_create_desc *desc,
                                          culv_vk_image **out);

/** As culv_vk_buffer_destroy(), for an image. Destroy your views of it first.
 *  Errors: none.  Ownership: *image is Culvert's again.  Threads: any, ordered with other calls on this
 *  object and on its VkDevice's destruction.  Since: 0.1 */
CULV_API void culv_vk_image_destroy(culv_vk_image **image);

/** As culv_vk_buffer_destroy_after(), for an image. Destroy your views of it first.
 *  Errors: none.  Ownership: *image is Culvert's again.  Threads: any, ordered with other calls on this
 *  object.  Since: 0.1 */
CULV_API void culv_vk_image_destroy_after(culv_vk_image **image, CUstream last_use);

/** The VkImage: view it, describe it as your own, but never destroy it; VK_NULL_HANDLE for NULL.
 *  Errors: none.  Ownership: Culvert's.  Threads: any.  Since: 0.1 */
CULV_API VkImage culv_vk_image_handle(const culv_vk_image *image);

/** The VkDeviceMemory behind the image, bound at offset 0; VK_NULL_HANDLE for NULL. *size, which may be NULL,
 *  is set to its allocationSize in bytes.
 *  Errors: none.  Ownership: Culvert's: never free it.  Threads: any.  Since: 0.1 */
CULV_API VkDeviceMemory culv_vk_image_memory(const culv_vk_image *image, VkDeviceSize *size);

/** CUDA's side of the image: its arrays and surfaces. NULL for NULL.
 *  Errors: none.  Ownership: Culvert's, valid until the image is destroyed; culv_image_unmap() refuses it.
 *  Threads: any.  Since: 0.1 */
CULV_API culv_image *culv_vk_image_cuda(const culv_vk_image *image);

CULV_EXTERN_C_END

#endif
