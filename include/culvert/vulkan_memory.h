/* SPDX-License-Identifier: MIT */
/* Culvert: Vulkan memory in CUDA: the caller's own, and buffers and images that Culvert makes. */
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
    size_t struct_size; /**< Set by culv_vk_memory_desc_init(). */
    /** Required: allocated with VkExportMemoryAllocateInfo{OPAQUE_FD}. */
    VkDeviceMemory memory;
    VkDeviceSize allocation_size; /**< Required: VkMemoryAllocateInfo::allocationSize, bytes. */
    culv_bool dedicated;          /**< Allocated with VkMemoryDedicatedAllocateInfo. */
    /** Optional: a buffer bound to this memory. Its requirements are then held against
     * allocation_size, buffer_offset and dedicated. (The driver checks none of them.) */
    VkBuffer buffer;
    VkDeviceSize buffer_offset; /**< Where it is bound, bytes. */
    /** Optional: an image bound to this memory, checked in the same way. Not a DISJOINT one, whose
     * planes culv_vk_image_map() checks. */
    VkImage image;
    VkDeviceSize image_offset; /**< Where it is bound, bytes. */
    const char *label;         /**< Copied (up to 63 bytes). Default: none. */
} culv_vk_memory_desc;

/** A default descriptor.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_vk_memory_desc culv_vk_memory_desc_init(void)
{
    culv_vk_memory_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    return d;
}

/** A VkImage of the caller's, in memory that was imported, to map. */
typedef struct culv_vk_image_desc {
    size_t struct_size; /**< Set by culv_vk_image_desc_init(). */
    VkImage image;      /**< Required, bound to the imported memory. */
    /** Required: what vkCreateImage was called with, pNext chain and all; read during the call. */
    const VkImageCreateInfo *create_info;
    VkDeviceSize offset;   /**< The memoryOffset of vkBindImageMemory, bytes. */
    culv_texels texels;    /**< As culv_image_desc::texels. */
    culv_bool no_surfaces; /**< As culv_image_desc::no_surfaces. */
    const char *label;     /**< Copied (up to 63 bytes). Default: the import's. */
    /** DISJOINT images: as culv_image_desc::plane_offsets, bytes. */
    VkDeviceSize plane_offsets[3];
} culv_vk_image_desc;

/** A default descriptor.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_vk_image_desc culv_vk_image_desc_init(void)
{
    culv_vk_image_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    return d;
}

/** A buffer for Culvert to make. */
typedef struct culv_vk_buffer_create_desc {
    size_t struct_size; /**< Set by culv_vk_buffer_create_desc_init(). */
    /** Required; read during the call. Culvert puts VkExternalMemoryBufferCreateInfo before its
     * pNext chain, which must not have one. */
    const VkBufferCreateInfo *create_info;
    /** What the memory type must have. 0: DEVICE_LOCAL. */
    VkMemoryPropertyFlags memory_properties;
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
    /** CULV_FALLBACK_...: what may take the place of sharing where that is impossible
     * (culvert/fallback.h). TRANSFER_SRC and TRANSFER_DST are then added to the usage. Default:
     * none. */
    uint32_t fallback;
    /** Make it in host memory that both use in place: zero copy on machines whose GPU shares its
     * memory with the CPU (Tegra, Grace, integrated); elsewhere each access of a GPU crosses the
     * bus. Needs VK_EXT_external_memory_host. memory_properties 0 is then HOST_COHERENT. The
     * VkDevice may be another GPU. No `fallback`. */
    culv_bool host_memory;
    /** With host: memory of your own, at a multiple of culv_vk_host_import_alignment(). It stays
     * yours, is pinned, and must outlive the buffer and a deferred release (culv_device_collect()
     * tells). NULL: Culvert's. */
    void *host_pointer;
    VkDeviceSize host_size; /**< Bytes at host_pointer, another multiple. 0: create_info->size. */
} culv_vk_buffer_create_desc;

/** A default descriptor.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_vk_buffer_create_desc culv_vk_buffer_create_desc_init(void)
{
    culv_vk_buffer_create_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    return d;
}

/** An image for Culvert to make. */
typedef struct culv_vk_image_create_desc {
    size_t struct_size; /**< Set by culv_vk_image_create_desc_init(). */
    /** Required; read during the call. OPTIMAL, one sample, a format that culvert/format.h maps; of
     * several planes with VK_IMAGE_CREATE_DISJOINT_BIT. Culvert puts
     * VkExternalMemoryImageCreateInfo before its pNext chain, which must not have one. */
    const VkImageCreateInfo *create_info;
    /** What the memory type must have. 0: DEVICE_LOCAL. */
    VkMemoryPropertyFlags memory_properties;
    culv_texels texels;    /**< As culv_image_desc::texels. */
    culv_bool no_surfaces; /**< As culv_image_desc::no_surfaces. */
    const char *label;     /**< Copied (up to 63 bytes). Default: none. */
    /** CULV_FALLBACK_...: what may take the place of sharing where that is impossible
     * (culvert/fallback.h). TRANSFER_SRC and TRANSFER_DST are then added to the usage. Default:
     * none. */
    uint32_t fallback;
} culv_vk_image_create_desc;

/** A default descriptor.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_vk_image_create_desc culv_vk_image_create_desc_init(void)
{
    culv_vk_image_create_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    return d;
}

/** Imports exported memory of the caller's: exports a new fd, and imports it as
 * culv_memory_import_take() does. The VkDeviceMemory may be freed while the import lives; the
 * driver keeps the pages.
 * Errors: INVALID (SIZE, RANGE, DEDICATED, NOT_EXPORTABLE; DEVICE_MISMATCH: attached as another GPU
 * ...), UNSUPPORTED (EXTENSION_MISSING), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: the VkDeviceMemory stays yours; *out is yours, for culv_memory_destroy().
 * Threads: any; vkGetMemoryFdKHR needs no external synchronization.
 * Since: 0.1.
 * Source: VK_KHR_external_memory_fd; VkMemoryDedicatedRequirements. */
CULV_EXPORT culv_result culv_vk_memory_import(culv_vk_device *vk, const culv_vk_memory_desc *desc,
                                              culv_memory **out);

/** As culv_vk_memory_import(), but counted: while something of an import that was acquired through
 * this attachment is held (the culv_memory, or a culv_buffer or culv_image of it), acquiring the
 * same VkDeviceMemory returns the same import and asks the driver nothing. Made for allocators
 * (VulkanMemoryAllocator, the program's own): call it for each resource of a block, map the
 * resource at its offset, give the import up at once or with it. The VkDeviceMemory must not be
 * freed before all of that was given up: its handle may then be another's. On Windows keep one
 * reference for as long as the VkDeviceMemory lives: acquired anew after all was given up it would
 * be exported anew, and Vulkan hands one NT handle of it out
 * (VUID-VkMemoryGetWin32HandleInfoKHR-handleType-00663). Images of formats that
 * culv_format_info::dedicated names (D16_UNORM, S8_UINT) are not mapped in a block.
 * Errors: as culv_vk_memory_import(); INVALID (SIZE, DEDICATED: not as it was acquired before).
 * Ownership: the VkDeviceMemory stays yours; each *out is a reference, yours, for
 * culv_memory_destroy().
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_vk_memory_import_shared(culv_vk_device *vk,
                                                     const culv_vk_memory_desc *desc,
                                                     culv_memory **out);

/** Maps an image of the caller's, bound to imported memory, as a CUDA mipmapped array. Format,
 * extent and levels are those of the VkImageCreateInfo, never of a view; tiling, samples, flags,
 * dedication and whether the device exports such images are checked first, since CUDA's driver
 * checks none of it. An image of several planes must be DISJOINT, with every plane in this memory.
 * A VkImageCreateInfo that is another image's is refused (EXTENT) where Vulkan can tell: by the
 * memory that such an image needs.
 * Errors: INVALID (TILING, USAGE, EXTENT, RANGE, DEDICATED, NOT_EXPORTABLE, DEVICE_MISMATCH ...),
 * UNSUPPORTED (FORMAT, EXTENT, NOT_EXPORTABLE, EXTENSION_MISSING; USAGE: several planes that are
 * not DISJOINT, 3D images that depth is drawn into; HANDLE_TYPE: no array is on a dma-buf), DRIVER,
 * ASYNC, OUT_OF_MEMORY.
 * Ownership: the VkImage stays yours; *out is yours, for culv_image_unmap().
 * Threads: any.
 * Since: 0.1.
 * Source: CUDA guide 3.2.16, "Mapping mipmapped arrays"; VkExternalImageFormatProperties. */
CULV_EXPORT culv_result culv_vk_image_map(culv_vk_device *vk, culv_memory *memory,
                                          const culv_vk_image_desc *desc, culv_image **out);

/** Maps one level (and plane) of a LINEAR image of the caller's, all its layers, as a buffer, and
 * says how its rows lie in it. CUDA maps such an image as an array without an error and reads
 * wrong: this is the way that reads right. Any format but depth and stencil in one will do, those
 * too that no CUDA array has. cuMemcpy2D takes the pitch, and pitched 2D textures.
 * Errors: INVALID (TILING: not LINEAR; USAGE, EXTENT, LEVEL, RANGE, DEDICATED, NOT_EXPORTABLE,
 * DEVICE_MISMATCH ...), UNSUPPORTED (FORMAT, NOT_EXPORTABLE, EXTENSION_MISSING), DRIVER, ASYNC,
 * OUT_OF_MEMORY.
 * Ownership: the VkImage stays yours; *out is yours, for culv_buffer_unmap().
 * Threads: any.
 * Since: 0.1.
 * Source: vkGetImageSubresourceLayout. */
CULV_EXPORT culv_result culv_vk_image_map_pitched(culv_vk_device *vk, culv_memory *memory,
                                                  const culv_vk_image_desc *desc, uint32_t level,
                                                  uint32_t plane, culv_buffer **out,
                                                  culv_subresource_layout *layout);

/** Makes a buffer with exportable memory of its own, imports that into CUDA and maps it: all or
 * nothing. Or, with `host`, one in host memory that both use in place, and the CPU. With
 * `fallback`, where sharing is impossible, memory on either side and copies between
 * (culv_buffer_sharing() tells).
 * Errors: INVALID (SIZE, USAGE: sparse or protected; MEMORY_TYPE; VALUE and RANGE: of `host` and
 * `fallback`; DEVICE_MISMATCH: attached as another GPU, and no `fallback`), UNSUPPORTED
 * (NOT_EXPORTABLE, EXTENSION_MISSING; PEER where no fallback is left; with `host`
 * EXTENSION_MISSING, USAGE, DEDICATED), DRIVER (a Vulkan or CUDA call failed; of host_pointer,
 * pages that CUDA has already), ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_vk_buffer_destroy(); it keeps the attachment alive, and your
 * VkDevice must outlive it.
 * Threads: any.
 * Since: 0.1.
 * Source: VkExportMemoryAllocateInfo, VkMemoryDedicatedRequirements. */
CULV_EXPORT culv_result culv_vk_buffer_create(culv_vk_device *vk,
                                              const culv_vk_buffer_create_desc *desc,
                                              culv_vk_buffer **out);

/** Unmaps the buffer from CUDA, gives the import up, destroys the VkBuffer and frees its memory, in
 * this order; sets *buffer to NULL. NULL, or a pointer to NULL, is a no-op. Vulkan's use of it must
 * be over, as for vkDestroyBuffer; CUDA's should be, see culv_buffer_unmap(), which may wait in
 * here. Of a buffer in host memory CUDA's use must be over too (no text says that unregistering
 * waits); its pages go last.
 * Errors: none.
 * Ownership: *buffer is Culvert's again.
 * Threads: any, ordered with other calls on this object and on its VkDevice's destruction.
 * Since: 0.1 */
CULV_EXPORT void culv_vk_buffer_destroy(culv_vk_buffer **buffer);

/** As culv_vk_buffer_destroy(), but never waits for CUDA: its mapping is released as
 * culv_buffer_unmap_after() tells, and keeps the pages until then, your own of host_pointer too.
 * Vulkan's use must be over now. On the HOST path (culvert/fallback.h) the copies' memory may be
 * Vulkan's: it goes with the mapping, at the latest in culv_vk_detach(). After that the last object
 * of the attachment waits in here.
 * Errors: none.
 * Ownership: *buffer is Culvert's again.
 * Threads: any, ordered with other calls on this object.
 * Since: 0.1 */
CULV_EXPORT void culv_vk_buffer_destroy_after(culv_vk_buffer **buffer, CUstream last_use);

/** The VkBuffer: bind it, view it, describe it as your own, but never destroy it; VK_NULL_HANDLE
 * for NULL.
 * Errors: none.
 * Ownership: Culvert's.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT VkBuffer culv_vk_buffer_handle(const culv_vk_buffer *buffer);

/** The VkDeviceMemory behind the buffer, bound at offset 0, for vkMapMemory; VK_NULL_HANDLE for
 * NULL. *size, which may be NULL, is set to its allocationSize in bytes.
 * Errors: none.
 * Ownership: Culvert's: never free it.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT VkDeviceMemory culv_vk_buffer_memory(const culv_vk_buffer *buffer, VkDeviceSize *size);

/** The CPU's address of a buffer in host memory (culv_vk_buffer_create_desc::host_memory):
 * host_pointer, or Culvert's own pages, zero at first. The CPU and the GPUs see each other's writes
 * where they are ordered: docs/vulkan.md, "Host memory". NULL for other buffers and for NULL.
 * Errors: none.
 * Ownership: Culvert's, or yours as it was; valid until the buffer is destroyed.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT void *culv_vk_buffer_host_pointer(const culv_vk_buffer *buffer);

/** CUDA's side of the buffer: its pointer and size. NULL for NULL.
 * Errors: none.
 * Ownership: Culvert's, valid until the buffer is destroyed; culv_buffer_unmap() refuses it.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_buffer *culv_vk_buffer_cuda(const culv_vk_buffer *buffer);

/** The first byte of the buffer in CUDA: culv_buffer_pointer() of culv_vk_buffer_cuda(). 0 for NULL.
 * Errors: none.
 * Ownership: Culvert's, valid until the buffer is destroyed.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT CUdeviceptr culv_vk_buffer_pointer(const culv_vk_buffer *buffer);

/** Makes an image with exportable memory of its own, imports that into CUDA and maps it: all or
 * nothing. Its layout is UNDEFINED: before CUDA's first use, record the release barrier of
 * culv_vk_image_get_barrier2() with `discard`. With `fallback`, where sharing is impossible, arrays
 * (or linear memory) of CUDA's own and copies (culv_image_sharing() tells).
 * Errors: INVALID (TILING, USAGE, EXTENT, MEMORY_TYPE; DEVICE_MISMATCH: attached as another GPU,
 * and no `fallback` ...), UNSUPPORTED (FORMAT, EXTENT, NOT_EXPORTABLE, EXTENSION_MISSING; PEER
 * where no fallback is left), DRIVER (a Vulkan or CUDA call failed), ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_vk_image_destroy(); it keeps the attachment alive, and your
 * VkDevice must outlive it.
 * Threads: any.
 * Since: 0.1.
 * Source: VkExportMemoryAllocateInfo, VkExternalImageFormatProperties. */
CULV_EXPORT culv_result culv_vk_image_create(culv_vk_device *vk,
                                             const culv_vk_image_create_desc *desc,
                                             culv_vk_image **out);

/** As culv_vk_buffer_destroy(), for an image. Destroy your views of it first.
 * Errors: none.
 * Ownership: *image is Culvert's again.
 * Threads: any, ordered with other calls on this object and on its VkDevice's destruction.
 * Since: 0.1 */
CULV_EXPORT void culv_vk_image_destroy(culv_vk_image **image);

/** As culv_vk_buffer_destroy_after(), for an image. Destroy your views of it first.
 * Errors: none.
 * Ownership: *image is Culvert's again.
 * Threads: any, ordered with other calls on this object.
 * Since: 0.1 */
CULV_EXPORT void culv_vk_image_destroy_after(culv_vk_image **image, CUstream last_use);

/** The VkImage: view it, describe it as your own, but never destroy it; VK_NULL_HANDLE for NULL.
 * Errors: none.
 * Ownership: Culvert's.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT VkImage culv_vk_image_handle(const culv_vk_image *image);

/** The VkDeviceMemory behind the image, bound at offset 0, of a DISJOINT one each plane at its
 * plane_offsets (culv_image_get_desc() of culv_vk_image_cuda()); VK_NULL_HANDLE for NULL. *size,
 * which may be NULL, is set to its allocationSize in bytes.
 * Errors: none.
 * Ownership: Culvert's: never free it.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT VkDeviceMemory culv_vk_image_memory(const culv_vk_image *image, VkDeviceSize *size);

/** CUDA's side of the image: its arrays and surfaces. NULL for NULL.
 * Errors: none.
 * Ownership: Culvert's, valid until the image is destroyed; culv_image_unmap() refuses it.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_image *culv_vk_image_cuda(const culv_vk_image *image);

CULV_EXTERN_C_END

#endif
