/* SPDX-License-Identifier: MIT */
/* Culvert: shares Vulkan memory with CUDA. It imports your memory, or makes buffers and images. */
#ifndef CULV_VULKAN_MEMORY_H_
#define CULV_VULKAN_MEMORY_H_

#include "handle.h"
#include "image.h"
#include "shared.h"
#include "vulkan_device.h"

#include <vulkan/vulkan_core.h>

CULV_EXTERN_C_BEGIN

/** Your VkDeviceMemory to import. */
typedef struct culv_vk_memory_desc {
    size_t struct_size;    /**< Set by culv_vk_memory_desc_init(). */
    VkDeviceMemory memory; /**< Required: allocated with VkExportMemoryAllocateInfo{OPAQUE_FD}. */
    VkDeviceSize allocation_size; /**< Required: VkMemoryAllocateInfo::allocationSize, bytes. */
    /** Nonzero: allocated with VkMemoryDedicatedAllocateInfo. */
    culv_bool dedicated;
    /** Optional: a buffer bound to this memory. Culvert checks allocation_size, buffer_offset and
     * dedicated against it, because the driver checks none of them. */
    VkBuffer buffer;
    VkDeviceSize buffer_offset; /**< Offset at which the buffer is bound, in bytes. */
    /** Optional: an image bound to this memory, for the same checks. Not a DISJOINT image:
     * culv_vk_image_map() checks its planes. */
    VkImage image;
    VkDeviceSize image_offset; /**< Offset at which the image is bound, in bytes. */
    const char *label;         /**< Copied (up to 63 bytes). Default: none. */
    /** Optional: properties of the memory type. If they have HOST_VISIBLE and not DEVICE_LOCAL, a
     * warning in the log says which writes CUDA does not see there (docs/vulkan-sync.md, "The CPU's
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
    VkDeviceSize offset;   /**< memoryOffset of vkBindImageMemory, in bytes. */
    culv_texels texels;    /**< As culv_image_desc::texels. */
    culv_bool no_surfaces; /**< As culv_image_desc::no_surfaces. */
    const char *label;     /**< Copied (up to 63 bytes). Default: the import's label. */
    /** DISJOINT images: as culv_image_desc::plane_offsets, in bytes. */
    VkDeviceSize plane_offsets[3];
} culv_vk_image_desc;

CULV_INIT(culv_vk_image_desc)

/** A buffer for Culvert to make. */
typedef struct culv_vk_buffer_create_desc {
    size_t struct_size; /**< Set by culv_vk_buffer_create_desc_init(). */
    /** Required: read during the call. Culvert puts a VkExternalMemoryBufferCreateInfo before its
     * pNext chain, which must not have one. */
    const VkBufferCreateInfo *create_info;
    /** Properties that the memory type must have. 0: DEVICE_LOCAL. If they have HOST_VISIBLE
     * without DEVICE_LOCAL, and the VkDevice has VK_EXT_external_memory_host, they act as
     * `host_memory`. Without that extension a warning in the log says that CUDA does not see what
     * the CPU writes there (docs/vulkan-sync.md, "The CPU's view"). */
    VkMemoryPropertyFlags memory_properties;
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
    /** CULV_FALLBACK_... that Culvert may use if sharing is impossible (culvert/shared.h). It then
     * adds TRANSFER_SRC and TRANSFER_DST to the usage. Default: none. */
    uint32_t fallback;
    /** 1: the buffer lies in host memory that both APIs use in place. Each access crosses the bus,
     * unless the GPU shares its memory with the CPU (Tegra, Grace, integrated). It needs
     * VK_EXT_external_memory_host. memory_properties 0 then means HOST_COHERENT. The VkDevice may
     * be another GPU. `fallback` must be 0. */
    culv_bool host_memory;
    /** With host_memory: your own memory, at a multiple of culv_vk_host_import_alignment(). Culvert
     * pins it. It stays yours and must outlive the buffer and its deferred release
     * (culv_device_collect()). NULL: Culvert allocates the memory. */
    void *host_pointer;
    /** Bytes at host_pointer, also a multiple of the alignment. 0: create_info->size. */
    VkDeviceSize host_size;
    /** 0 or CULV_MEMORY_KIND_FAST: the memory is dedicated to the buffer.
     * CULV_MEMORY_KIND_COMPRESSIBLE: it is not dedicated, unless Vulkan requires that
     * (culv_buffer_memory_kind()); it streams faster if the driver compresses it. Must be 0 with
     * `host_memory`. */
    culv_memory_kind memory_kind;
} culv_vk_buffer_create_desc;

CULV_INIT(culv_vk_buffer_create_desc)

/** An image for Culvert to make. */
typedef struct culv_vk_image_create_desc {
    size_t struct_size; /**< Set by culv_vk_image_create_desc_init(). */
    /** Required: read during the call. Culvert puts a VkExternalMemoryImageCreateInfo before its
     * pNext chain, which must not have one. The image must have OPTIMAL tiling, one sample, and a
     * format that culvert/format.h maps. A format of several planes needs
     * VK_IMAGE_CREATE_DISJOINT_BIT. */
    const VkImageCreateInfo *create_info;
    /** Properties that the memory type must have. 0: DEVICE_LOCAL. */
    VkMemoryPropertyFlags memory_properties;
    culv_texels texels;    /**< As culv_image_desc::texels. */
    culv_bool no_surfaces; /**< As culv_image_desc::no_surfaces. */
    const char *label;     /**< Copied (up to 63 bytes). Default: none. */
    /** CULV_FALLBACK_... that Culvert may use if sharing is impossible (culvert/shared.h). It then
     * adds TRANSFER_SRC and TRANSFER_DST to the usage. Default: none. */
    uint32_t fallback;
} culv_vk_image_create_desc;

CULV_INIT(culv_vk_image_create_desc)

/** Imports your exportable memory, by a new fd. You may free the VkDeviceMemory while the import
 * exists, because the driver keeps the pages. If the memory is not dedicated, has
 * CULV_SLOW_KIND_BYTES or more and is not for an image alone, the log has a warning.
 * Errors: INVALID (SIZE: no size, or one that is too small for the buffer or image at offset 0;
 * RANGE: too small for it at its offset, or an offset that Vulkan does not allow; DEDICATED;
 * NOT_EXPORTABLE; DEVICE_MISMATCH: the VkDevice is another GPU ...; SIZE, with allow_other_gpu:
 * memory that is not dedicated must be a multiple of 2 MiB), UNSUPPORTED (EXTENSION_MISSING;
 * DEVICE_MISMATCH, with allow_other_gpu: the memory is for an image), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: the VkDeviceMemory stays yours; *out is yours, for culv_memory_destroy(). */
CULV_EXPORT culv_result culv_vk_memory_import(culv_vk_device *vk, const culv_vk_memory_desc *desc,
                                              culv_memory **out);

/** Imports memory as culv_vk_memory_import() does, and counts references, for allocators
 * (VulkanMemoryAllocator). While such an import exists, a further call with the same VkDeviceMemory
 * and attachment returns the same import. It exists as long as the culv_memory or a buffer or image
 * that is mapped on it; DLPack tensors do not count. Call this for each resource in an allocator's
 * block, and map the resource at its offset. You may destroy the import right after you have mapped
 * the resource, or together with it. Free the VkDeviceMemory only after you have destroyed all
 * imports and mappings: later memory may get the same handle, and this call cannot tell the two
 * apart. On Windows keep one import until right before vkFreeMemory, because Vulkan exports an NT
 * handle of the memory only once. Images whose format has culv_format_info::dedicated (D16_UNORM,
 * S8_UINT) cannot be mapped in a block.
 * Errors: as culv_vk_memory_import(); INVALID (SIZE, DEDICATED: different from an earlier call).
 * Ownership: the VkDeviceMemory stays yours; each *out is a reference of yours, for
 * culv_memory_destroy(). */
CULV_EXPORT culv_result culv_vk_memory_import_shared(culv_vk_device *vk,
                                                     const culv_vk_memory_desc *desc,
                                                     culv_memory **out);

/** Maps your image, bound to imported memory, as a CUDA mipmapped array. The VkImageCreateInfo
 * determines format, extent and levels; a view does not. Culvert checks tiling, samples, flags,
 * dedication and whether the device exports such images; CUDA's driver checks none of these. An
 * image of several planes must be DISJOINT, with every plane in this memory. If you pass another
 * image's VkImageCreateInfo by mistake, Culvert notices only if the two images need different
 * memory (EXTENT).
 * Errors: INVALID (TILING, USAGE, EXTENT, RANGE, DEDICATED, NOT_EXPORTABLE, DEVICE_MISMATCH ...),
 * UNSUPPORTED (FORMAT, EXTENT, NOT_EXPORTABLE, EXTENSION_MISSING; USAGE: several planes that are
 * not DISJOINT, 3D images with a depth attachment usage; HANDLE_TYPE: a dma-buf cannot have
 * arrays), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: the VkImage stays yours; *out is yours, for culv_image_unmap(). */
CULV_EXPORT culv_result culv_vk_image_map(culv_vk_device *vk, culv_memory *memory,
                                          const culv_vk_image_desc *desc, culv_image **out);

/** Maps one level (and plane) of your LINEAR image, with all its layers, as a buffer. *layout gets
 * the place of its rows, and the pitch for cuMemcpy2D and pitched 2D textures. (If CUDA maps such
 * an image as an array, it reads wrong texels without an error.) The image may have any format
 * except combined depth and stencil.
 * Errors: INVALID (TILING: not LINEAR; USAGE, EXTENT, LEVEL, RANGE, DEDICATED, NOT_EXPORTABLE,
 * DEVICE_MISMATCH ...), UNSUPPORTED (FORMAT, NOT_EXPORTABLE, EXTENSION_MISSING), DRIVER, ASYNC,
 * OUT_OF_MEMORY.
 * Ownership: the VkImage stays yours; *out is yours, for culv_buffer_unmap(). */
CULV_EXPORT culv_result culv_vk_image_map_pitched(culv_vk_device *vk, culv_memory *memory,
                                                  const culv_vk_image_desc *desc, uint32_t level,
                                                  uint32_t plane, culv_buffer **out,
                                                  culv_subresource_layout *layout);

/** Makes a buffer with exportable memory, imports the memory into CUDA and maps it: all or nothing.
 * If sharing is impossible and `fallback` is set, each side has separate memory, with copies in
 * between (culv_buffer_sharing()).
 * Errors: INVALID (SIZE, USAGE: sparse or protected; MEMORY_TYPE; VALUE, RANGE: `host_memory` and
 * `fallback`; DEVICE_MISMATCH: the VkDevice is another GPU, and there is no `fallback`),
 * UNSUPPORTED (NOT_EXPORTABLE, EXTENSION_MISSING; PEER if no fallback is left; EXTENSION_MISSING,
 * USAGE, DEDICATED with `host_memory`), DRIVER (a Vulkan or CUDA call failed; CUDA already has
 * pages of host_pointer), ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_shared_buffer_destroy(); it keeps the attachment alive, and
 * your VkDevice must outlive it. */
CULV_EXPORT culv_result culv_vk_buffer_create(culv_vk_device *vk,
                                              const culv_vk_buffer_create_desc *desc,
                                              culv_shared_buffer **out);

/** Returns the VkBuffer, or VK_NULL_HANDLE for NULL. Use it like your own, but never destroy it.
 * Ownership: Culvert owns it. */
CULV_EXPORT VkBuffer culv_vk_buffer_handle(const culv_shared_buffer *buffer);

/** Returns the buffer's VkDeviceMemory, bound at offset 0, for vkMapMemory, or VK_NULL_HANDLE for
 * NULL. *size gets its allocationSize in bytes; size may be NULL.
 * Ownership: Culvert owns it: never free it. */
CULV_EXPORT VkDeviceMemory culv_vk_buffer_memory(const culv_shared_buffer *buffer,
                                                 VkDeviceSize *size);

/** Returns the CPU's address of a buffer with culv_vk_buffer_create_desc::host_memory, or NULL for
 * other buffers and for NULL. It is host_pointer, or Culvert's own pages, which are zero at first.
 * If the writes are ordered, the CPU and the GPUs see each other's writes (docs/vulkan-memory.md,
 * "Host memory").
 * Ownership: Culvert owns its pages, and you own host_pointer. Valid as long as the buffer. */
CULV_EXPORT void *culv_vk_buffer_host_pointer(const culv_shared_buffer *buffer);

/** Makes an image with exportable memory, imports the memory into CUDA and maps it: all or nothing.
 * The image's layout is UNDEFINED: before CUDA's first use, record the release barrier of
 * culv_vk_image_get_barrier2() with `discard`. If sharing is impossible and `fallback` is set, CUDA
 * has separate arrays (or linear memory), with copies in between (culv_image_sharing()).
 * Errors: INVALID (TILING, USAGE, EXTENT, MEMORY_TYPE; DEVICE_MISMATCH: the VkDevice is another
 * GPU, and there is no `fallback` ...), UNSUPPORTED (FORMAT, EXTENT, NOT_EXPORTABLE,
 * EXTENSION_MISSING; PEER if no fallback is left; DEVICE_MISMATCH, with allow_other_gpu: images are
 * not shared with another GPU, and need a fallback), DRIVER (a Vulkan or CUDA call failed), ASYNC,
 * OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_shared_image_destroy(); it keeps the attachment alive, and
 * your VkDevice must outlive it. */
CULV_EXPORT culv_result culv_vk_image_create(culv_vk_device *vk,
                                             const culv_vk_image_create_desc *desc,
                                             culv_shared_image **out);

/** Returns the VkImage, or VK_NULL_HANDLE for NULL. Use it like your own, but never destroy it.
 * Ownership: Culvert owns it. */
CULV_EXPORT VkImage culv_vk_image_handle(const culv_shared_image *image);

/** Returns the image's VkDeviceMemory, bound at offset 0, or VK_NULL_HANDLE for NULL. The planes of
 * a DISJOINT image are bound at plane_offsets (culv_image_get_desc() of culv_shared_image_cuda()).
 * *size gets its allocationSize in bytes; size may be NULL.
 * Ownership: Culvert owns it: never free it. */
CULV_EXPORT VkDeviceMemory culv_vk_image_memory(const culv_shared_image *image, VkDeviceSize *size);

/* Semaphores ----------------------------------------------------------------------------------- */

/* Vulkan semaphores in CUDA, made by Culvert or your own. culvert/semaphore.h says how CUDA streams
 * signal and wait. */

/** Your own VkSemaphore to import. */
typedef struct culv_vk_semaphore_desc {
    size_t struct_size;       /**< Set by culv_vk_semaphore_desc_init(). */
    VkSemaphore semaphore;    /**< Required. Created with VkExportSemaphoreCreateInfo{OPAQUE_FD}. */
    culv_semaphore_type type; /**< Required: type that it was created with. */
    culv_bool untracked;      /**< Binary: as culv_semaphore_desc::untracked. */
    /** Binary: nonzero if a signal was already submitted to Vulkan. */
    culv_bool signal_pending;
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
} culv_vk_semaphore_desc;

CULV_INIT(culv_vk_semaphore_desc)

/** A semaphore for Culvert to make. */
typedef struct culv_vk_semaphore_create_desc {
    size_t struct_size;       /**< Set by culv_vk_semaphore_create_desc_init(). */
    culv_semaphore_type type; /**< Default: CULV_SEMAPHORE_TIMELINE. */
    uint64_t initial_value;   /**< Timeline: VkSemaphoreTypeCreateInfo::initialValue. Binary: 0. */
    culv_bool untracked;      /**< Binary: as culv_semaphore_desc::untracked. */
    const char *label;        /**< Copied (up to 63 bytes). Default: none. */
    /** CULV_FALLBACK_... that Culvert may use if sharing is impossible (culvert/shared.h). HOST
     * works only for timelines. Default: none. */
    uint32_t fallback;
} culv_vk_semaphore_create_desc;

/** culv_vk_semaphore_create_desc_init(): a timeline at 0. */
CULV_INIT(culv_vk_semaphore_create_desc)

/** Imports your VkSemaphore. The next signal of a timeline must exceed its present counter.
 * Errors: INVALID (NOT_EXPORTABLE ...), UNSUPPORTED, DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: the VkSemaphore stays yours; *out is yours, for culv_semaphore_destroy(). */
CULV_EXPORT culv_result culv_vk_semaphore_import(culv_vk_device *vk,
                                                 const culv_vk_semaphore_desc *desc,
                                                 culv_semaphore **out);

/** Makes an exportable semaphore and imports it into CUDA, all or nothing. If desc is NULL, it is a
 * timeline at 0. If sharing is impossible and `fallback` is set, CUDA signals and waits in another
 * way (culv_semaphore_sharing()).
 * Errors: INVALID (VALUE; DEVICE_MISMATCH: the VkDevice is attached as another GPU, and `fallback`
 * is not set), UNSUPPORTED (NOT_EXPORTABLE: the device exports no such semaphores;
 * EXTENSION_MISSING, PEER), DRIVER (a Vulkan or CUDA call failed), ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_shared_semaphore_destroy(). It keeps the attachment alive, and
 * your VkDevice must outlive it. */
CULV_EXPORT culv_result culv_vk_semaphore_create(culv_vk_device *vk,
                                                 const culv_vk_semaphore_create_desc *desc,
                                                 culv_shared_semaphore **out);

/** Returns the VkSemaphore, for submissions, or VK_NULL_HANDLE for NULL. Never destroy it.
 * Ownership: Culvert owns it. */
CULV_EXPORT VkSemaphore culv_vk_semaphore_handle(const culv_shared_semaphore *semaphore);

/* Handles -------------------------------------------------------------------------------------- */

/* These calls export Vulkan memory and semaphores as operating-system handles, and import handles
 * of CUDA's memory (culv_vmm_export_dup(), culv_dma_buf_export_dup()) into Vulkan. You need them
 * only for another process, another API, or memory that CUDA allocated. culv_vk_memory_import() and
 * culv_vk_semaphore_import() export by themselves. */

/** Exports your VkDeviceMemory, even if the VkDevice is another GPU than the culv_device. The
 * memory must have been allocated for `type` (VkExportMemoryAllocateInfo): OPAQUE_FD or DMA_BUF_FD;
 * on Windows OPAQUE_WIN32 (an NT handle) or OPAQUE_WIN32_KMT. A file descriptor is closed on exec.
 * Errors: INVALID (NULL_ARGUMENT, HANDLE_TYPE, NOT_EXPORTABLE; OS: no file descriptor is left),
 * UNSUPPORTED (HANDLE_TYPE: this system lacks the type; EXTENSION_MISSING: not enabled, or there
 * are no dma-bufs here), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: the VkDeviceMemory stays yours; each call makes a new *out, which you close with
 * culv_handle_close(). But Vulkan exports an NT handle of each memory object and type only once,
 * and culv_vk_memory_import() uses that one up. So on Windows, export the handle yourself, and
 * import it with culv_memory_import().
 * Source: VK_KHR_external_memory_fd, VK_KHR_external_memory_win32. */
CULV_EXPORT culv_result culv_vk_memory_export_dup(culv_vk_device *vk, VkDeviceMemory memory,
                                                  culv_handle_type type, culv_handle *out);

/** Exports your VkSemaphore, which must have been created for `type` (VkExportSemaphoreCreateInfo):
 * OPAQUE_FD; on Windows OPAQUE_WIN32 or OPAQUE_WIN32_KMT. A file descriptor is closed on exec.
 * Errors: INVALID (NULL_ARGUMENT, HANDLE_TYPE, NOT_EXPORTABLE; OS: no file descriptor is left),
 * UNSUPPORTED (HANDLE_TYPE, EXTENSION_MISSING), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: the VkSemaphore stays yours; each call makes a new *out, which you close with
 * culv_handle_close(). For NT handles see culv_vk_memory_export_dup().
 * Source: VK_KHR_external_semaphore_fd, VK_KHR_external_semaphore_win32. */
CULV_EXPORT culv_result culv_vk_semaphore_export_dup(culv_vk_device *vk, VkSemaphore semaphore,
                                                     culv_handle_type type, culv_handle *out);

/** Memory that Vulkan imports by a handle. */
typedef struct culv_vk_memory_from_handle_desc {
    size_t struct_size; /**< Set by culv_vk_memory_from_handle_desc_init(). */
    /** Required: an OPAQUE_FD from CUDA (cuMemExportToShareableHandle) or a DMA_BUF_FD
     * (culv_dma_buf_export_dup()); on Windows OPAQUE_WIN32 or its KMT form. */
    culv_handle handle;
    VkDeviceSize size; /**< Required: size in bytes, VkMemoryAllocateInfo::allocationSize. */
    /** UUID of the device that exported the memory. If that is not the VkDevice's GPU, Culvert
     * refuses the memory, because drivers accept it and then show wrong data. All zero: if
     * cuMemCreate() made the memory, Culvert asks CUDA for the device; otherwise you guarantee that
     * it is the VkDevice's GPU. */
    culv_uuid exporter;
    /** Optional: the buffer that you will bind. Its requirements choose the memory type. */
    VkBuffer buffer;
    /** Optional: the image that you will bind, if `buffer` is not set. For a DISJOINT image set
     * memory_type_bits instead. */
    VkImage image;
    /** Without buffer and image: VkMemoryRequirements::memoryTypeBits of the resource that you will
     * bind. 0: any. If Vulkan exported the memory as OPAQUE_FD: only the bit of the memory type
     * that it was allocated with. */
    uint32_t memory_type_bits;
    /** Nonzero: dedicate the memory to `buffer` or `image` (VkMemoryDedicatedAllocateInfo). `size`
     * must then be exactly the size that the resource needs. Set it for a buffer of
     * CULV_SLOW_KIND_BYTES or more: its memory is then of the fast kind (culv_memory_kind). If it
     * is not set, the log reports the slower kind, as a warning if `buffer` is set. CUDA's
     * allocations are often larger than the resource; Vulkan then uses the beginning. An image on
     * CUDA's memory must be dedicated, unless the memory is compressible
     * (culv_vk_image_bind_vmm()). */
    culv_bool dedicated;
    const char *label; /**< For messages. Read during the call. Default: none. */
    /** VkMemoryAllocateFlagsInfo::flags: VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT if you need
     * addresses of buffers, or 0. */
    VkMemoryAllocateFlags allocate_flags;
} culv_vk_memory_from_handle_desc;

CULV_INIT(culv_vk_memory_from_handle_desc)

/** Makes a VkDeviceMemory from a handle. It chooses a device-local memory type if one is allowed.
 * Create the resource that you bind to it with VkExternalMemoryBufferCreateInfo or
 * VkExternalMemoryImageCreateInfo and the handle's type. A dma-buf needs
 * VK_EXT_external_memory_dma_buf on the VkDevice, and a driver that supports it. Culvert sees
 * whether the device has that extension, but not whether you enabled it.
 * Errors: INVALID (NULL_ARGUMENT, VALUE, SIZE, HANDLE_TYPE, HANDLE_BAD, HANDLE_KIND, OS,
 * DEVICE_MISMATCH; DEDICATED: dedication is required, or the size is wrong for it; MEMORY_TYPE),
 * UNSUPPORTED (HANDLE_TYPE: this system lacks the type; EXTENSION_MISSING: not enabled, or there
 * are no dma-bufs here; MEMORY_TYPE), DRIVER (HANDLE_REFUSED), ASYNC, OUT_OF_MEMORY.
 * Ownership: the handle stays yours. *out is yours, for vkFreeMemory().
 * Source: VkImportMemoryFdInfoKHR, vkGetMemoryFdPropertiesKHR. */
CULV_EXPORT culv_result culv_vk_memory_from_handle(culv_vk_device *vk,
                                                   const culv_vk_memory_from_handle_desc *desc,
                                                   VkDeviceMemory *out);

/* Textures ------------------------------------------------------------------------------------- */

/* The settings of a VkSamplerCreateInfo that CUDA_TEXTURE_DESC lacks: (name, bit, what differs). */
#define CULV_VK_SAMPLER_DIFFERENCES(X)                                                             \
    X(MAG_FILTER, 0, "CUDA has one filter; minFilter was taken, and magFilter differs")            \
    X(CUBIC_FILTER, 1, "CUDA has no cubic filter; linear was taken")                               \
    X(MIRROR_CLAMP, 2, "CUDA does not mirror once; clamping to the edge was taken")                \
    X(COMPARE, 3, "CUDA's texture objects compare no depth; the kernel reads the depth itself")    \
    X(BORDER_INTEGER, 4, "the border color is an integer one; its values were taken as floats")    \
    X(BORDER_CUSTOM, 5, "a custom border color was not found in the pNext chain; black was taken") \
    X(REDUCTION, 6, "CUDA has no minimum or maximum reduction; the weighted average was taken")    \
    X(YCBCR, 7, "CUDA converts no Y'CbCr; the kernel reads the planes")                            \
    X(ANISOTROPY, 8,                                                                               \
      "CUDA's anisotropy is a whole number from 1 to 16; maxAnisotropy was rounded down")          \
    X(SUBSAMPLED, 9, "CUDA reads no subsampled image (a flag of VK_EXT_fragment_density_map)")     \
    X(CUBE_SEAMS, 10, "the flag of VK_EXT_non_seamless_cube_map was taken as no_seamless_cube")    \
    X(FLAGS, 11, "a flag or an extension in the pNext chain is not one that this version knows")   \
    X(UNNORMALIZED_BORDER, 12,                                                                     \
      "CUDA clamps unnormalized coordinates only to the edge; that was taken")

/** Bits for each difference: CULV_VK_SAMPLER_COMPARE and so on. */
typedef enum culv_vk_sampler_difference {
#define CULV_VK_SAMPLER_ENUM_(name, bit, text) CULV_VK_SAMPLER_##name = 1 << (bit),
    CULV_VK_SAMPLER_DIFFERENCES(CULV_VK_SAMPLER_ENUM_)
#undef CULV_VK_SAMPLER_ENUM_
        CULV_VK_SAMPLER_FORCE32 = 0x7fffffff
} culv_vk_sampler_difference;

/** Fills *out with the settings of a sampler, as far as CUDA has them. It sets a bit in
 * *differences (which may be NULL) for each setting that CUDA lacks. It does not change levels,
 * layers and plane in *out, because a view chooses them. Set out->struct_size first. A sampler has
 * no format: the border color has the order R, G, B, A, so swap red and blue for a B8G8R8A8 image.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; VALUE: not a VkSamplerCreateInfo, or a value that
 * Vulkan lacks).
 * Source: VkSamplerCreateInfo; cuda.h, CUDA_TEXTURE_DESC. */
CULV_EXPORT culv_result culv_vk_texture_desc_from_sampler(const VkSamplerCreateInfo *sampler,
                                                          culv_texture_desc *out,
                                                          uint32_t *differences);

/* What cannot be shared ------------------------------------------------------------------------ */

/* These calls do Vulkan's half of a fallback (culvert/shared.h; docs/fallback.md shows a frame). On
 * the HOST path CUDA uploads into pinned memory, and a copy in your own command buffer moves the
 * data from there into the VkBuffer or VkImage, or in the other direction. On all other paths these
 * calls record nothing, so one program serves all paths. You may submit a command buffer with such
 * a copy many times.
 *
 * CUDA's next upload must start after the recorded upload is done, and CUDA's download must start
 * after the recorded download is done. The waits that sharing needs anyway ensure both. */

/** Records Vulkan's half of a copy of the buffer (HOST path), with the barriers that it needs.
 * Record it outside of render passes: record an upload after the acquire barrier and before
 * Vulkan's first use, and a download after Vulkan's last use and before the release barrier. The
 * copy waits for earlier uses in the same queue, and later uses wait for the copy.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: no such direction).
 * Threads: the thread that records the command buffer.
 * Source: Vulkan specification, "Host Write Ordering Guarantees". */
CULV_EXPORT culv_result culv_vk_buffer_record_copy(const culv_shared_buffer *buffer, culv_copy copy,
                                                   VkCommandBuffer commands);

/** Records what culv_vk_buffer_record_copy() does, for all levels, layers and planes of an image.
 * The image is in `layout` before and after the copy; this is the layout after the acquire barrier.
 * An upload overwrites the old contents. Depth and stencil need a graphics queue, as for
 * vkCmdCopyBufferToImage.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: no such direction, UNDEFINED or PREINITIALIZED as layout).
 * Threads: the thread that records the command buffer. */
CULV_EXPORT culv_result culv_vk_image_record_copy(const culv_shared_image *image, culv_copy copy,
                                                  VkCommandBuffer commands, VkImageLayout layout);

CULV_EXTERN_C_END

#endif
