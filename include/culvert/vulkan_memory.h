/* SPDX-License-Identifier: MIT */
/* Culvert: shares Vulkan memory with CUDA: your own memory, or buffers and images that Culvert
 * makes. */
#ifndef CULV_VULKAN_MEMORY_H_
#define CULV_VULKAN_MEMORY_H_

#include "shared.h"
#include "vulkan_device.h"

CULV_EXTERN_C_BEGIN

/** Your VkDeviceMemory to import. */
typedef struct culv_vk_memory_desc {
    size_t struct_size;    /**< Set by culv_vk_memory_desc_init(). */
    VkDeviceMemory memory; /**< Required: allocated with VkExportMemoryAllocateInfo{OPAQUE_FD}. */
    VkDeviceSize allocation_size; /**< Required: VkMemoryAllocateInfo::allocationSize, bytes. */
    /** Nonzero: it was allocated with VkMemoryDedicatedAllocateInfo. */
    culv_bool dedicated;
    /** Optional: a buffer bound to this memory, against which Culvert checks allocation_size,
     * buffer_offset and dedicated. The driver checks none of them. */
    VkBuffer buffer;
    VkDeviceSize buffer_offset; /**< Offset at which the buffer is bound, in bytes. */
    /** Optional: an image bound to this memory, likewise, but not a DISJOINT one
     * (culv_vk_image_map() checks its planes). */
    VkImage image;
    VkDeviceSize image_offset; /**< Offset at which the image is bound, in bytes. */
    const char *label;         /**< Copied (up to 63 bytes). Default: none. */
    /** Optional: properties of its memory type. If they are HOST_VISIBLE and not DEVICE_LOCAL, a
     * warning in the log says what CUDA does not see there (docs/vulkan-sync.md, "The CPU's
     * view"). */
    VkMemoryPropertyFlags memory_properties;
} culv_vk_memory_desc;

CULV_INIT(culv_vk_memory_desc)

/** Your VkImage to map. It lies in imported memory. */
typedef struct culv_vk_image_desc {
    size_t struct_size; /**< Set by culv_vk_image_desc_init(). */
    VkImage image;      /**< Required, bound to the imported memory. */
    /** Required: the VkImageCreateInfo that vkCreateImage got, with its pNext chain; read during
     * the call. */
    const VkImageCreateInfo *create_info;
    VkDeviceSize offset;   /**< The memoryOffset of vkBindImageMemory, bytes. */
    culv_texels texels;    /**< As culv_image_desc::texels. */
    culv_bool no_surfaces; /**< As culv_image_desc::no_surfaces. */
    const char *label;     /**< Copied (up to 63 bytes). Default: the import's. */
    /** DISJOINT images: as culv_image_desc::plane_offsets, bytes. */
    VkDeviceSize plane_offsets[3];
} culv_vk_image_desc;

CULV_INIT(culv_vk_image_desc)

/** A buffer for Culvert to make. */
typedef struct culv_vk_buffer_create_desc {
    size_t struct_size; /**< Set by culv_vk_buffer_create_desc_init(). */
    /** Required; read during the call, with VkExternalMemoryBufferCreateInfo put before its pNext
     * chain, which must not have one. */
    const VkBufferCreateInfo *create_info;
    /** Properties that the memory type must have. 0: DEVICE_LOCAL. HOST_VISIBLE without
     * DEVICE_LOCAL acts as `host_memory` if the VkDevice has VK_EXT_external_memory_host. Without
     * that extension a warning in the log says that CUDA does not see what the CPU writes there
     * (docs/vulkan-sync.md, "The CPU's view"). */
    VkMemoryPropertyFlags memory_properties;
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
    /** CULV_FALLBACK_... that Culvert may use if sharing is impossible (culvert/fallback.h). It
     * then adds TRANSFER_SRC and TRANSFER_DST to the usage. Default: none. */
    uint32_t fallback;
    /** 1: the buffer lies in host memory that both APIs use in place. If the GPU does not share its
     * memory with the CPU (Tegra, Grace, integrated), each access crosses the bus. Needs
     * VK_EXT_external_memory_host. memory_properties 0 then means HOST_COHERENT. The VkDevice may
     * be another GPU. `fallback` must be 0. */
    culv_bool host_memory;
    /** With host_memory: your own memory, at a multiple of culv_vk_host_import_alignment(). Culvert
     * pins it; it stays yours and must outlive the buffer and its deferred release
     * (culv_device_collect()). NULL: Culvert's own memory. */
    void *host_pointer;
    /** Bytes at host_pointer, also a multiple of the alignment. 0: create_info->size. */
    VkDeviceSize host_size;
    /** 0 or CULV_MEMORY_KIND_FAST: the memory is dedicated to the buffer.
     * CULV_MEMORY_KIND_COMPRESSIBLE: it is not, unless Vulkan requires that
     * (culv_buffer_memory_kind()); it streams faster if the driver compresses. Must be 0 with
     * `host_memory`. */
    culv_memory_kind memory_kind;
} culv_vk_buffer_create_desc;

CULV_INIT(culv_vk_buffer_create_desc)

/** An image for Culvert to make. */
typedef struct culv_vk_image_create_desc {
    size_t struct_size; /**< Set by culv_vk_image_create_desc_init(). */
    /** Required; read during the call, with VkExternalMemoryImageCreateInfo put before its pNext
     * chain, which must not have one. OPTIMAL tiling, one sample, and a format that
     * culvert/format.h maps. A format of several planes needs VK_IMAGE_CREATE_DISJOINT_BIT. */
    const VkImageCreateInfo *create_info;
    /** Properties that the memory type must have. 0: DEVICE_LOCAL. */
    VkMemoryPropertyFlags memory_properties;
    culv_texels texels;    /**< As culv_image_desc::texels. */
    culv_bool no_surfaces; /**< As culv_image_desc::no_surfaces. */
    const char *label;     /**< Copied (up to 63 bytes). Default: none. */
    /** CULV_FALLBACK_... that Culvert may use if sharing is impossible (culvert/fallback.h). It
     * then adds TRANSFER_SRC and TRANSFER_DST to the usage. Default: none. */
    uint32_t fallback;
} culv_vk_image_create_desc;

CULV_INIT(culv_vk_image_create_desc)

/** Imports your exportable memory, by a new fd. You may free the VkDeviceMemory while the import
 * lives; the driver keeps the pages. If the memory is not dedicated, has CULV_SLOW_KIND_BYTES or
 * more and is not for an image alone, a warning in the log says so.
 * Errors: INVALID (SIZE: no size, or one that is too small for the buffer or image at offset 0;
 * RANGE: too small for it at its offset, or an offset that Vulkan does not allow; DEDICATED;
 * NOT_EXPORTABLE; DEVICE_MISMATCH: the VkDevice is another GPU ...; with allow_other_gpu SIZE:
 * memory that is not dedicated must be a multiple of 2 MiB), UNSUPPORTED (EXTENSION_MISSING; with
 * allow_other_gpu DEVICE_MISMATCH: the memory is an image's), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: the VkDeviceMemory stays yours; *out is yours, for culv_memory_destroy().
 * Threads: any. */
CULV_EXPORT culv_result culv_vk_memory_import(culv_vk_device *vk, const culv_vk_memory_desc *desc,
                                              culv_memory **out);

/** Does what culv_vk_memory_import() does, and counts references, for allocators
 * (VulkanMemoryAllocator). While such an import is alive (the culv_memory, or a culv_buffer or
 * culv_image of it, but not a tensor of culv_buffer_get_dlpack()), a further call with the same
 * VkDeviceMemory and attachment returns the same import. Call it for each resource of a block, and
 * map the resource at its offset. Destroy the import at once or together with the resource, and
 * free the VkDeviceMemory only after all of that: other memory may then get its handle, and this
 * call cannot tell the two apart. On Windows keep one reference as long as the VkDeviceMemory
 * lives, because Vulkan hands out only one NT handle of it. Images of formats that
 * culv_format_info::dedicated names (D16_UNORM, S8_UINT) cannot be mapped in a block.
 * Errors: as culv_vk_memory_import(); INVALID (SIZE, DEDICATED: not as in an earlier call).
 * Ownership: the VkDeviceMemory stays yours; each *out is a reference, yours, for
 * culv_memory_destroy().
 * Threads: any. */
CULV_EXPORT culv_result culv_vk_memory_import_shared(culv_vk_device *vk,
                                                     const culv_vk_memory_desc *desc,
                                                     culv_memory **out);

/** Maps your image, bound to imported memory, as a CUDA mipmapped array. Format, extent and levels
 * are those of the VkImageCreateInfo, never of a view. Culvert checks tiling, samples, flags,
 * dedication and whether the device exports such images; CUDA's driver checks none of it. An image
 * of several planes must be DISJOINT, with every plane in this memory. A VkImageCreateInfo of
 * another image is refused (EXTENT) if the two need different memory.
 * Errors: INVALID (TILING, USAGE, EXTENT, RANGE, DEDICATED, NOT_EXPORTABLE, DEVICE_MISMATCH ...),
 * UNSUPPORTED (FORMAT, EXTENT, NOT_EXPORTABLE, EXTENSION_MISSING; USAGE: several planes that are
 * not DISJOINT, 3D images with a depth attachment usage; HANDLE_TYPE: a dma-buf cannot have
 * arrays), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: the VkImage stays yours; *out is yours, for culv_image_unmap(). Threads: any. */
CULV_EXPORT culv_result culv_vk_image_map(culv_vk_device *vk, culv_memory *memory,
                                          const culv_vk_image_desc *desc, culv_image **out);

/** Maps one level (and plane) of your LINEAR image, with all its layers, as a buffer. *layout gets
 * the place of its rows, and the pitch for cuMemcpy2D and pitched 2D textures. (As an array CUDA
 * reads wrong texels of such an image, without an error.) Takes every format except those with both
 * depth and stencil.
 * Errors: INVALID (TILING: not LINEAR; USAGE, EXTENT, LEVEL, RANGE, DEDICATED, NOT_EXPORTABLE,
 * DEVICE_MISMATCH ...), UNSUPPORTED (FORMAT, NOT_EXPORTABLE, EXTENSION_MISSING), DRIVER, ASYNC,
 * OUT_OF_MEMORY.
 * Ownership: the VkImage stays yours; *out is yours, for culv_buffer_unmap(). Threads: any. */
CULV_EXPORT culv_result culv_vk_image_map_pitched(culv_vk_device *vk, culv_memory *memory,
                                                  const culv_vk_image_desc *desc, uint32_t level,
                                                  uint32_t plane, culv_buffer **out,
                                                  culv_subresource_layout *layout);

/** Makes a buffer with exportable memory, imports the memory into CUDA and maps it: all or nothing.
 * If sharing is impossible and `fallback` is set, each side has separate memory, with copies in
 * between (culv_buffer_sharing()).
 * Errors: INVALID (SIZE, USAGE: sparse or protected; MEMORY_TYPE; VALUE and RANGE: of `host_memory`
 * and `fallback`; DEVICE_MISMATCH: the VkDevice is another GPU, and there is no `fallback`),
 * UNSUPPORTED (NOT_EXPORTABLE, EXTENSION_MISSING; PEER if no fallback is left; with `host_memory`
 * EXTENSION_MISSING, USAGE, DEDICATED), DRIVER (a Vulkan or CUDA call failed; CUDA already has
 * pages of host_pointer), ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_shared_buffer_destroy(); it keeps the attachment alive, and
 * your VkDevice must outlive it.
 * Threads: any. */
CULV_EXPORT culv_result culv_vk_buffer_create(culv_vk_device *vk,
                                              const culv_vk_buffer_create_desc *desc,
                                              culv_shared_buffer **out);

/** Returns the VkBuffer. Bind it, view it and describe it as your own, but never destroy it.
 * VK_NULL_HANDLE for NULL.
 * Ownership: Culvert's. Threads: any. */
CULV_EXPORT VkBuffer culv_vk_buffer_handle(const culv_shared_buffer *buffer);

/** Returns the VkDeviceMemory behind the buffer, bound at offset 0, for vkMapMemory. VK_NULL_HANDLE
 * for NULL. The call sets *size to its allocationSize in bytes; size may be NULL.
 * Ownership: Culvert's: never free it. Threads: any. */
CULV_EXPORT VkDeviceMemory culv_vk_buffer_memory(const culv_shared_buffer *buffer,
                                                 VkDeviceSize *size);

/** Returns the CPU's address of a buffer of culv_vk_buffer_create_desc::host_memory: host_pointer,
 * or Culvert's own pages, which are zero at first. The CPU and the GPUs see each other's writes if
 * those are ordered (docs/vulkan-memory.md, "Host memory"). NULL for other buffers and for NULL.
 * Ownership: Culvert's, or yours for host_pointer; valid until the buffer is destroyed.
 * Threads: any. */
CULV_EXPORT void *culv_vk_buffer_host_pointer(const culv_shared_buffer *buffer);

/** Makes an image with exportable memory, imports the memory into CUDA and maps it: all or nothing.
 * The image's layout is UNDEFINED: before CUDA's first use, record the release barrier of
 * culv_vk_image_get_barrier2() with `discard`. If sharing is impossible and `fallback` is set, CUDA
 * has separate arrays (or linear memory), with copies in between (culv_image_sharing()).
 * Errors: INVALID (TILING, USAGE, EXTENT, MEMORY_TYPE; DEVICE_MISMATCH: the VkDevice is another
 * GPU, and there is no `fallback` ...), UNSUPPORTED (FORMAT, EXTENT, NOT_EXPORTABLE,
 * EXTENSION_MISSING; PEER if no fallback is left; with allow_other_gpu DEVICE_MISMATCH: images are
 * not shared with another GPU, and need a fallback), DRIVER (a Vulkan or CUDA call failed), ASYNC,
 * OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_shared_image_destroy(); it keeps the attachment alive, and
 * your VkDevice must outlive it.
 * Threads: any. */
CULV_EXPORT culv_result culv_vk_image_create(culv_vk_device *vk,
                                             const culv_vk_image_create_desc *desc,
                                             culv_shared_image **out);

/** Returns the VkImage. View it and describe it as your own, but never destroy it. VK_NULL_HANDLE
 * for NULL.
 * Ownership: Culvert's. Threads: any. */
CULV_EXPORT VkImage culv_vk_image_handle(const culv_shared_image *image);

/** Returns the VkDeviceMemory behind the image, bound at offset 0. The planes of a DISJOINT image
 * are bound at plane_offsets (culv_image_get_desc() of culv_shared_image_cuda()). VK_NULL_HANDLE
 * for NULL. The call sets *size to its allocationSize in bytes; size may be NULL.
 * Ownership: Culvert's: never free it. Threads: any. */
CULV_EXPORT VkDeviceMemory culv_vk_image_memory(const culv_shared_image *image, VkDeviceSize *size);

/** Records a copy between two buffers by a compute shader, outside of render passes. On an H200 it
 * is 3.4 to 4.5 times as fast as vkCmdCopyBuffer. Use it for a buffer that only Vulkan reaches;
 * where CUDA reaches both, cuMemcpyAsync is faster still (docs/fallback.md, "Copies on one GPU").
 * `from` and `to` are addresses (vkGetBufferDeviceAddress, culv_vk_buffer_address(), inside of a
 * buffer too) and `size` is in bytes: all are multiples of 4, and it is fastest if the addresses
 * are multiples of 16. The two ranges must not overlap. The queue needs VK_QUEUE_COMPUTE_BIT. The
 * copy reads and writes storage in the stage COMPUTE_SHADER; barriers are yours
 * (CULV_VK_USE_STORAGE). Afterwards bind your compute pipeline and push its constants again. The
 * first call makes the pipeline.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: an address is 0, or something is no multiple of 4; RANGE:
 * an overlap); UNSUPPORTED (EXTENSION_MISSING: the VkDevice tells no addresses); DRIVER;
 * OUT_OF_MEMORY.
 * Ownership: the pipeline is the attachment's: the command buffer must not run after it.
 * Threads: the thread that records the command buffer. */
CULV_EXPORT culv_result culv_vk_record_copy(culv_vk_device *vk, VkCommandBuffer commands,
                                            VkDeviceAddress from, VkDeviceAddress to,
                                            VkDeviceSize size);

CULV_EXTERN_C_END

#endif
