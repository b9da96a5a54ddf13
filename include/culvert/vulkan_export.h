/* SPDX-License-Identifier: MIT */
/* Culvert: Vulkan memory and semaphores as operating-system handles, and handles of CUDA's memory
 * as Vulkan memory. For what culv_vk_memory_import() and culv_vk_semaphore_import() do not do by
 * themselves: another process, another API, memory that CUDA allocated. */
#ifndef CULV_VULKAN_EXPORT_H_
#define CULV_VULKAN_EXPORT_H_

#include "handle.h"
#include "vulkan_device.h"

CULV_EXTERN_C_BEGIN

/** Exports a VkDeviceMemory of yours, also where the VkDevice is another GPU than the culv_device.
 * `type` is one that it was allocated for (VkExportMemoryAllocateInfo): OPAQUE_FD or DMA_BUF_FD, on
 * Windows OPAQUE_WIN32 (an NT handle) or OPAQUE_WIN32_KMT. A file descriptor is closed on exec.
 * Errors: INVALID (NULL_ARGUMENT, HANDLE_TYPE, NOT_EXPORTABLE; OS: no file descriptor is left),
 * UNSUPPORTED (HANDLE_TYPE: a type that this system does not have; EXTENSION_MISSING: not enabled,
 * or no dma-bufs here), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: the VkDeviceMemory stays yours; each call makes a new *out, which you close with
 * culv_handle_close(). Vulkan gives one NT handle for a memory object and type, and
 * culv_vk_memory_import() takes one too: export once, then culv_handle_dup().
 * Threads: any.
 * Since: 0.1.
 * Source: VK_KHR_external_memory_fd, VK_KHR_external_memory_win32. */
CULV_EXPORT culv_result culv_vk_memory_export_dup(culv_vk_device *vk, VkDeviceMemory memory,
                                                  culv_handle_type type, culv_handle *out);

/** Exports a VkSemaphore of yours. `type` is one that it was created for
 * (VkExportSemaphoreCreateInfo): OPAQUE_FD, on Windows OPAQUE_WIN32 or OPAQUE_WIN32_KMT. A file
 * descriptor is closed on exec.
 * Errors: INVALID (NULL_ARGUMENT, HANDLE_TYPE, NOT_EXPORTABLE; OS: no file descriptor is left),
 * UNSUPPORTED (HANDLE_TYPE, EXTENSION_MISSING), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: the VkSemaphore stays yours; each call makes a new *out, which you close with
 * culv_handle_close(); NT handles as with culv_vk_memory_export_dup().
 * Threads: any.
 * Since: 0.1.
 * Source: VK_KHR_external_semaphore_fd, VK_KHR_external_semaphore_win32. */
CULV_EXPORT culv_result culv_vk_semaphore_export_dup(culv_vk_device *vk, VkSemaphore semaphore,
                                                     culv_handle_type type, culv_handle *out);

/** Memory behind a handle for Vulkan to allocate. Zero in every field but struct_size means the
 * default. */
typedef struct culv_vk_memory_from_handle_desc {
    size_t struct_size; /**< Set by culv_vk_memory_from_handle_desc_init(). */
    /** Required: OPAQUE_FD (of CUDA: cuMemExportToShareableHandle) or DMA_BUF_FD
     * (culv_dma_buf_export_dup()); on Windows OPAQUE_WIN32 or its KMT form. */
    culv_handle handle;
    VkDeviceSize size; /**< Required: bytes, VkMemoryAllocateInfo::allocationSize. */
    /** UUID of the device that it was exported from; another than the VkDevice's is refused, which
     * drivers accept and then show wrong data. All zero: CUDA is asked whose cuMemCreate() made it;
     * of all other memory you vouch that it is the VkDevice's. */
    culv_uuid exporter;
    /** Optional: what will be bound: its requirements choose the memory type. */
    VkBuffer buffer;
    /** The same for an image. Not both, and not a DISJOINT one: give memory_type_bits. */
    VkImage image;
    /** Without either: VkMemoryRequirements::memoryTypeBits of what will be bound. 0: any. Where
     * Vulkan itself exported the memory as OPAQUE_FD, the one bit of the type it was allocated
     * with. */
    uint32_t memory_type_bits;
    /** Allocate for `buffer` or `image` alone (VkMemoryDedicatedAllocateInfo). `size` is then the
     * very size that it needs; CUDA's allocations are often more, of which this is the beginning.
     * An image on memory of CUDA's must be, unless that is compressible
     * (culv_vk_image_bind_vmm()). */
    culv_bool dedicated;
    const char *label; /**< For messages, read during the call. Default: none. */
    /** VkMemoryAllocateFlagsInfo::flags: VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT for buffers whose
     * address is taken, or 0. */
    VkMemoryAllocateFlags allocate_flags;
} culv_vk_memory_from_handle_desc;

/** Returns a default descriptor.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_vk_memory_from_handle_desc culv_vk_memory_from_handle_desc_init(void)
{
    culv_vk_memory_from_handle_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    return d;
}

/** Makes a VkDeviceMemory of memory that a handle names: of the allowed memory types a device-local
 * one where there is one. What is bound to it must have been created with
 * VkExternalMemoryBufferCreateInfo or VkExternalMemoryImageCreateInfo and the handle's type. A
 * dma-buf needs VK_EXT_external_memory_dma_buf on the VkDevice (Culvert sees whether the device has
 * it, not whether it was enabled), and a machine whose driver has it.
 * Errors: INVALID (NULL_ARGUMENT, VALUE, SIZE, HANDLE_TYPE, HANDLE_BAD, HANDLE_KIND, OS,
 * DEVICE_MISMATCH, DEDICATED: required, or of another size than needed; MEMORY_TYPE), UNSUPPORTED
 * (HANDLE_TYPE: a type that this system does not have; EXTENSION_MISSING: not enabled, or no
 * dma-bufs here; MEMORY_TYPE), DRIVER (HANDLE_REFUSED), ASYNC, OUT_OF_MEMORY.
 * Ownership: the handle is borrowed; *out is yours, for vkFreeMemory().
 * Threads: any.
 * Since: 0.1.
 * Source: VkImportMemoryFdInfoKHR, vkGetMemoryFdPropertiesKHR. */
CULV_EXPORT culv_result culv_vk_memory_from_handle(culv_vk_device *vk,
                                                   const culv_vk_memory_from_handle_desc *desc,
                                                   VkDeviceMemory *out);

CULV_EXTERN_C_END

#endif
