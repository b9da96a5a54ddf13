/* SPDX-License-Identifier: MIT */
/* Culvert: exports Vulkan memory and semaphores as operating-system handles, and turns handles of
 * CUDA's memory into Vulkan memory.
 *
 * You need these calls only for another process, another API, or memory that CUDA allocated.
 * culv_vk_memory_import() and culv_vk_semaphore_import() export by themselves.
 *
 *   Vulkan to others:  culv_vk_memory_export_dup(), culv_vk_semaphore_export_dup()
 *   CUDA to Vulkan:    culv_vmm_export_dup() or culv_dma_buf_export_dup(),
 *                      then culv_vk_memory_from_handle() */
#ifndef CULV_VULKAN_EXPORT_H_
#define CULV_VULKAN_EXPORT_H_

#include "handle.h"
#include "vulkan_device.h"

CULV_EXTERN_C_BEGIN

/** Exports your VkDeviceMemory, even if the VkDevice is another GPU than the culv_device. The
 * memory must have been allocated for `type` (VkExportMemoryAllocateInfo): OPAQUE_FD or DMA_BUF_FD;
 * on Windows OPAQUE_WIN32 (an NT handle) or OPAQUE_WIN32_KMT. A file descriptor is closed on exec.
 * Errors: INVALID (NULL_ARGUMENT, HANDLE_TYPE, NOT_EXPORTABLE; OS: no file descriptor is left),
 * UNSUPPORTED (HANDLE_TYPE: this system lacks the type; EXTENSION_MISSING: not enabled, or there
 * are no dma-bufs here), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: the VkDeviceMemory stays yours; each call makes a new *out, which you close with
 * culv_handle_close(). Vulkan gives only one NT handle for a memory object and type, and
 * culv_vk_memory_import() takes one too: export once, then use culv_handle_dup().
 * Threads: any.
 * Source: VK_KHR_external_memory_fd, VK_KHR_external_memory_win32. */
CULV_EXPORT culv_result culv_vk_memory_export_dup(culv_vk_device *vk, VkDeviceMemory memory,
                                                  culv_handle_type type, culv_handle *out);

/** Exports your VkSemaphore, which must have been created for `type` (VkExportSemaphoreCreateInfo):
 * OPAQUE_FD; on Windows OPAQUE_WIN32 or OPAQUE_WIN32_KMT. A file descriptor is closed on exec.
 * Errors: INVALID (NULL_ARGUMENT, HANDLE_TYPE, NOT_EXPORTABLE; OS: no file descriptor is left),
 * UNSUPPORTED (HANDLE_TYPE, EXTENSION_MISSING), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: the VkSemaphore stays yours; each call makes a new *out, which you close with
 * culv_handle_close(). For NT handles see culv_vk_memory_export_dup().
 * Threads: any.
 * Source: VK_KHR_external_semaphore_fd, VK_KHR_external_semaphore_win32. */
CULV_EXPORT culv_result culv_vk_semaphore_export_dup(culv_vk_device *vk, VkSemaphore semaphore,
                                                     culv_handle_type type, culv_handle *out);

/** Memory behind a handle that Vulkan is to use. */
typedef struct culv_vk_memory_from_handle_desc {
    size_t struct_size; /**< Set by culv_vk_memory_from_handle_desc_init(). */
    /** Required. OPAQUE_FD of CUDA (cuMemExportToShareableHandle) or DMA_BUF_FD
     * (culv_dma_buf_export_dup()); on Windows OPAQUE_WIN32 or its KMT form. */
    culv_handle handle;
    VkDeviceSize size; /**< Required: size in bytes, VkMemoryAllocateInfo::allocationSize. */
    /** UUID of the device that exported the memory. Culvert refuses another device than the
     * VkDevice's: drivers accept its memory and then show wrong data. All zero: for memory of
     * cuMemCreate() Culvert asks CUDA for the device; for all other memory you guarantee that it is
     * the VkDevice's. */
    culv_uuid exporter;
    /** Optional: the buffer that you will bind. Its requirements choose the memory type. */
    VkBuffer buffer;
    /** Optional: the image that you will bind. Not both. For a DISJOINT image give memory_type_bits
     * instead. */
    VkImage image;
    /** Without buffer and image: VkMemoryRequirements::memoryTypeBits of what you will bind. 0:
     * any. If Vulkan itself exported the memory as OPAQUE_FD: only the bit of the memory type that
     * it was allocated with. */
    uint32_t memory_type_bits;
    /** Nonzero: dedicates the memory to `buffer` or `image` (VkMemoryDedicatedAllocateInfo). `size`
     * must then be exactly the size that it needs. A buffer of CULV_SLOW_KIND_BYTES or more should
     * have it: its memory is then of the fast kind (culv_memory_kind). Otherwise the log says that
     * it is not, as a warning if `buffer` is given. CUDA's allocations are often larger than the
     * resource; Vulkan then uses the beginning. An image on CUDA's memory must be dedicated, unless
     * the memory is compressible (culv_vk_image_bind_vmm()). */
    culv_bool dedicated;
    const char *label; /**< For messages. Read during the call. Default: none. */
    /** VkMemoryAllocateFlagsInfo::flags: VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT for buffers whose
     * address you take, or 0. */
    VkMemoryAllocateFlags allocate_flags;
} culv_vk_memory_from_handle_desc;

CULV_INIT(culv_vk_memory_from_handle_desc)

/** Makes a VkDeviceMemory of the memory that a handle names. It picks a device-local memory type if
 * one is allowed. Create what you bind to it with VkExternalMemoryBufferCreateInfo or
 * VkExternalMemoryImageCreateInfo and the handle's type. A dma-buf needs
 * VK_EXT_external_memory_dma_buf on the VkDevice, and a machine whose driver has it. Culvert sees
 * whether the device has that extension, but not whether you enabled it.
 * Errors: INVALID (NULL_ARGUMENT, VALUE, SIZE, HANDLE_TYPE, HANDLE_BAD, HANDLE_KIND, OS,
 * DEVICE_MISMATCH; DEDICATED: required, or the size is not the needed one; MEMORY_TYPE),
 * UNSUPPORTED (HANDLE_TYPE: this system lacks the type; EXTENSION_MISSING: not enabled, or there
 * are no dma-bufs here; MEMORY_TYPE), DRIVER (HANDLE_REFUSED), ASYNC, OUT_OF_MEMORY.
 * Ownership: the handle is borrowed. *out is yours, for vkFreeMemory(). Threads: any.
 * Source: VkImportMemoryFdInfoKHR, vkGetMemoryFdPropertiesKHR. */
CULV_EXPORT culv_result culv_vk_memory_from_handle(culv_vk_device *vk,
                                                   const culv_vk_memory_from_handle_desc *desc,
                                                   VkDeviceMemory *out);

CULV_EXTERN_C_END

#endif
