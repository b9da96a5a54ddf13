/* SPDX-License-Identifier: MIT */
/* Culvert: uses CUDA's memory in Vulkan. It puts Vulkan buffers and images on VMM allocations, and
 * shows a culv_vector as Vulkan buffers.
 *
 *   culv_vmm_allocation_create(device, &desc, &allocation);  with handle_types set
 *   culv_vk_buffer_bind_vmm(vk, buffer, allocation, 0, &memory);
 *
 * The allocation must lie on the same GPU as the VkDevice. Vulkan on another GPU would import it
 * without an error and show wrong data (measured), so Culvert refuses that. Create the resource
 * with VkExternalMemoryBufferCreateInfo or VkExternalMemoryImageCreateInfo and the opaque handle
 * type. An image has an allocation of its own, or shares a compressible one: see
 * culv_vk_image_bind_vmm(). */
#ifndef CULV_VULKAN_VMM_H_
#define CULV_VULKAN_VMM_H_

#include "memory.h"
#include "vector_view.h"
#include "vulkan_export.h"
#include "vulkan_memory.h"

CULV_EXTERN_C_BEGIN

/** Makes a VkDeviceMemory of a VMM allocation in device or host memory. It exports the allocation
 * and lets Vulkan import the handle.
 *
 * `desc` is as for culv_vk_memory_from_handle(), but leave the fields handle, size and exporter
 * zero: the allocation determines them. NULL: any memory type, and a device-local one if there is
 * one. Create the resource for external memory of the opaque type, and bind it where its
 * VkMemoryRequirements allow it.
 *
 * With `dedicated`, an image may be smaller than the allocation. A buffer must need all of it,
 * because NVIDIA's driver refuses less (measured); use memory that is not dedicated for a smaller
 * buffer. An image must be dedicated, or the allocation must be compressible.
 * Errors: as culv_vmm_export_dup() and culv_vk_memory_from_handle(); INVALID (VALUE: desc names a
 * handle, a size or an exporter; DEVICE_MISMATCH: the allocation lies on another GPU;
 * NOT_EXPORTABLE: the allocation was not made for export, or is an import: then pass a handle from
 * its exporter to culv_vk_memory_from_handle(); USAGE: a tile pool; DEDICATED: an image that is not
 * dedicated in memory that is not compressible, or a dedicated buffer that does not need all of the
 * allocation).
 * Ownership: *out is yours, for vkFreeMemory(). It keeps the memory alive even when the allocation
 * is destroyed.
 * Threads: any.
 * Source: cuda.h, cuMemExportToShareableHandle; VkImportMemoryFdInfoKHR. */
CULV_EXPORT culv_result culv_vk_memory_from_vmm(culv_vk_device *vk, culv_vmm_allocation *allocation,
                                                const culv_vk_memory_from_handle_desc *desc,
                                                VkDeviceMemory *out);

/** Imports your exportable VkDeviceMemory as a VMM allocation, for buffers: map it with
 * culv_vmm_map() in a range beside memory of CUDA's and of other VkDeviceMemory, and one pointer
 * reaches all of it (docs/vmm.md, "Vulkan's memory in a range"). `desc` is as for
 * culv_vk_memory_import(). The allocation is mapped whole. Its size is allocation_size; if the
 * memory is dedicated, that is rounded up to the granularity, and nothing may touch the bytes
 * beyond. You may free the VkDeviceMemory while the allocation or its mapping lives.
 * Errors: as culv_vk_memory_import() and culv_vmm_import(); INVALID (SIZE: memory that is not
 * dedicated is no multiple of the granularity, or dedicated memory is smaller than it; USAGE: the
 * memory is an image's), UNSUPPORTED (VMM).
 * Ownership: the VkDeviceMemory stays yours; *out is yours, for culv_vmm_allocation_destroy(). It
 * is an import: it cannot be exported again.
 * Threads: any.
 * Source: cuda.h, cuMemImportFromShareableHandle; measured, docs/measured/nvidia-measured.md. */
CULV_EXPORT culv_result culv_vk_memory_import_vmm(culv_vk_device *vk,
                                                  const culv_vk_memory_desc *desc,
                                                  culv_vmm_allocation **out);

/** Imports a VMM allocation into Vulkan and binds your buffer to it, `offset` bytes into the
 * allocation. It checks the alignment, the size, the memory type, and whether the buffer requires a
 * dedicated allocation. You may bind several buffers to one allocation.
 *
 * A buffer that needs all of the allocation gets it dedicated, and is of the fast kind. A smaller
 * one is not: Vulkan dedicates only whole allocations. If such a buffer needs CULV_SLOW_KIND_BYTES
 * or more, a warning in the log says so. Make the buffer as large as the allocation, and use ranges
 * of it.
 *
 * Bind a buffer with SHADER_DEVICE_ADDRESS yourself, to memory of culv_vk_memory_from_vmm() with
 * allocate_flags.
 * Errors: as culv_vk_memory_from_vmm(); INVALID (RANGE: offset and the buffer's size leave the
 * allocation; VALUE: offset is not a multiple of VkMemoryRequirements::alignment; DEDICATED:
 * required, but the buffer does not need all of the allocation).
 * Ownership: *out is yours, for vkFreeMemory() after vkDestroyBuffer(). After an error the buffer
 * is unbound.
 * Threads: any, ordered with other uses of the buffer. */
CULV_EXPORT culv_result culv_vk_buffer_bind_vmm(culv_vk_device *vk, VkBuffer buffer,
                                                culv_vmm_allocation *allocation,
                                                VkDeviceSize offset, VkDeviceMemory *out);

/** Imports a VMM allocation into Vulkan and binds your image to it. The image has OPTIMAL tiling.
 * Culvert checks create_info against what CUDA could map.
 *
 * At offset 0 the memory is dedicated to the image. At another offset, beside other resources, the
 * device must have granted compressible memory (culv_vmm_allocation_info::usage): NVIDIA's Vulkan
 * writes images that share memory compressed, and CUDA would read wrong texels (measured).
 *
 * CUDA sees the bytes in an order that only the driver knows. To get CUDA arrays, import the handle
 * of culv_vmm_export_dup() with culv_memory_import(), with `dedicated` set at offset 0, and
 * map the image on that with culv_vk_image_map().
 * Errors: as culv_vk_buffer_bind_vmm(); as culv_vk_check_image() of create_info (TILING, USAGE,
 * FORMAT, EXTENT); INVALID (DEDICATED: an offset in memory that is not compressible).
 * Ownership: *out is yours, for vkFreeMemory() after vkDestroyImage(). After an error the image is
 * unbound.
 * Threads: any, ordered with other uses of the image.
 * Source: measured, docs/measured/nvidia-measured.md. */
CULV_EXPORT culv_result culv_vk_image_bind_vmm(culv_vk_device *vk, VkImage image,
                                               const VkImageCreateInfo *create_info,
                                               culv_vmm_allocation *allocation, VkDeviceSize offset,
                                               VkDeviceMemory *out);

/** Vulkan's view of a vector. */
typedef struct culv_vk_vector_view_desc {
    size_t struct_size; /**< Set by culv_vk_vector_view_desc_init(). */
    /** Required: the usage of the buffers. With SHADER_DEVICE_ADDRESS the buffers have
     * addresses. */
    VkBufferUsageFlags usage;
    /** A queue with VK_QUEUE_SPARSE_BINDING_BIT: one sparse buffer of `sparse_size` bytes shows all
     * chunks. You must have created the VkDevice with sparseBinding and sparseResidencyBuffer;
     * Culvert cannot check that. VK_NULL_HANDLE: one buffer for each chunk. */
    VkQueue sparse_queue;
    /** With sparse_queue: size of the sparse buffer in bytes, at least the most that the vector
     * will ever commit, including `commit_ahead`. It costs no memory. */
    VkDeviceSize sparse_size;
    const char *label; /**< Copied (up to 63 bytes). Default: the vector's. */
} culv_vk_vector_view_desc;

CULV_INIT(culv_vk_vector_view_desc)

/** Makes Vulkan's view of a vector and imports the chunks that it has. The chunks must be
 * exportable as OPAQUE_FD (on Windows OPAQUE_WIN32). Without a sparse queue each chunk has a
 * buffer: draw and dispatch once for each. A vector with `min_chunk` or `growth_percent` has few
 * large chunks.
 * Errors: as culv_vk_buffer_bind_vmm(); INVALID (VALUE: no usage, or a sparse size that is too
 * small or too large; NOT_EXPORTABLE), UNSUPPORTED (NOT_EXPORTABLE: the device exports no buffers
 * of such a usage; USAGE: the device lacks sparse binding, or takes no external memory for sparse
 * buffers).
 * Ownership: *out is yours, for culv_vector_view_destroy(), before or after the vector is
 * destroyed.
 * Threads: any, but not during a call that changes the vector. */
CULV_EXPORT culv_result culv_vk_vector_view_create(culv_vk_device *vk, culv_vector *vector,
                                                   const culv_vk_vector_view_desc *desc,
                                                   culv_vector_view **out);

CULV_EXTERN_C_END

#endif
