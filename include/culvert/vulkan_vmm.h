/* SPDX-License-Identifier: MIT */
/* Culvert: CUDA's memory in Vulkan: VMM allocations under Vulkan's buffers and images, and a
 * culv_vector as Vulkan's buffers.
 *
 * The allocation must lie on the very GPU that the VkDevice is: Vulkan on another GPU imports it
 * without an error and shows wrong data (measured), so Culvert refuses that. The resource must have
 * been created with VkExternalMemoryBufferCreateInfo or VkExternalMemoryImageCreateInfo and the
 * opaque handle type. An image has an allocation of its own, or shares a compressible one: see
 * culv_vk_image_bind_vmm(). */
#ifndef CULV_VULKAN_VMM_H_
#define CULV_VULKAN_VMM_H_

#include "vector.h"
#include "vulkan_export.h"

CULV_EXTERN_C_BEGIN

/** Makes a VkDeviceMemory of a VMM allocation, of device or host memory: exports it, and has Vulkan
 * import the handle. `desc` is as with culv_vk_memory_from_handle(), whose fields handle, size and
 * exporter are left out (zero): the allocation tells them. With `dedicated` an image may be smaller
 * than the allocation; a buffer needs all of it, since NVIDIA's driver refuses less (measured), and
 * a smaller one takes memory that is not dedicated. NULL: any memory type, a device-local one where
 * there is one. What Vulkan binds must have been created for external memory of the opaque type,
 * and lie where its VkMemoryRequirements let it; an image must be dedicated or the allocation
 * compressible.
 * Errors: as culv_vmm_export_dup() and culv_vk_memory_from_handle(); INVALID (VALUE: desc names a
 * handle, a size or an exporter; DEVICE_MISMATCH: the allocation lies on another GPU;
 * NOT_EXPORTABLE: not made for it, or imported: then give a handle of its exporter's to
 * culv_vk_memory_from_handle(); USAGE: a tile pool; DEDICATED: an image that is not, in memory that
 * is not compressible, or a buffer that is and does not need all of the allocation).
 * Ownership: *out is yours, for vkFreeMemory(); it keeps the memory whatever becomes of the
 * allocation.
 * Threads: any.
 * Since: 0.1.
 * Source: cuda.h, cuMemExportToShareableHandle; VkImportMemoryFdInfoKHR. */
CULV_EXPORT culv_result culv_vk_memory_from_vmm(culv_vk_device *vk, culv_vmm_allocation *allocation,
                                                const culv_vk_memory_from_handle_desc *desc,
                                                VkDeviceMemory *out);

/** Imports a VMM allocation into Vulkan and binds a buffer of yours to it, `offset` bytes into the
 * allocation. Checked: alignment, size, memory type, and whether the buffer requires a dedicated
 * allocation. A buffer that needs all of the allocation gets it dedicated, which was faster in
 * buffers of GiBs (measured). Not for buffers with SHADER_DEVICE_ADDRESS: bind these yourself to
 * memory of culv_vk_memory_from_vmm() with allocate_flags. Several buffers in one allocation may
 * each be bound so.
 * Errors: as culv_vk_memory_from_vmm(); INVALID (RANGE: offset and the buffer's size leave the
 * allocation; VALUE: offset is not aligned as VkMemoryRequirements::alignment says; DEDICATED:
 * required, and the buffer does not need all of the allocation).
 * Ownership: *out is yours, for vkFreeMemory() after vkDestroyBuffer(); after an error the buffer
 * is unbound.
 * Threads: any, ordered with other uses of the buffer.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_vk_buffer_bind_vmm(culv_vk_device *vk, VkBuffer buffer,
                                                culv_vmm_allocation *allocation,
                                                VkDeviceSize offset, VkDeviceMemory *out);

/** The same for an image of OPTIMAL tiling, whose create_info is held against what CUDA could map
 * of it. At offset 0 the memory is dedicated to the image. At another one, beside other resources,
 * the allocation must be compressible as the device granted it (culv_vmm_allocation_info::usage):
 * NVIDIA's Vulkan writes images compressed that share memory, and CUDA would read wrong texels
 * (measured). CUDA sees the bytes in an order that the driver alone knows: for arrays import
 * culv_vmm_export_dup()'s handle by culv_memory_import_take(), `dedicated` set at offset 0, and map
 * the image on that (culv_vk_image_map()).
 * Errors: as culv_vk_buffer_bind_vmm(); as culv_vk_check_image() of create_info (TILING, USAGE,
 * FORMAT, EXTENT); INVALID (DEDICATED: an offset in memory that is not compressible).
 * Ownership: *out is yours, for vkFreeMemory() after vkDestroyImage(); after an error the image is
 * unbound.
 * Threads: any, ordered with other uses of the image.
 * Since: 0.1.
 * Source: measured, docs/nvidia-measured.md. */
CULV_EXPORT culv_result culv_vk_image_bind_vmm(culv_vk_device *vk, VkImage image,
                                               const VkImageCreateInfo *create_info,
                                               culv_vmm_allocation *allocation, VkDeviceSize offset,
                                               VkDeviceMemory *out);

/** Opaque: Vulkan's buffers on a vector's chunks. */
typedef struct culv_vk_vector culv_vk_vector;

/** How Vulkan sees a vector. Zero in every field but struct_size means the default. */
typedef struct culv_vk_vector_desc {
    size_t struct_size; /**< Set by culv_vk_vector_desc_init(). */
    /** Required. With SHADER_DEVICE_ADDRESS the buffers have addresses. */
    VkBufferUsageFlags usage;
    /** A queue with VK_QUEUE_SPARSE_BINDING_BIT: one sparse buffer of `sparse_size` bytes for all
     * chunks, where the VkDevice was created with sparseBinding and sparseResidencyBuffer, which
     * cannot be asked. VK_NULL_HANDLE: a buffer a chunk. */
    VkQueue sparse_queue;
    /** With sparse_queue: bytes, at least what the vector will ever commit, ahead included; costs
     * no memory. */
    VkDeviceSize sparse_size;
    const char *label; /**< Copied (up to 63 bytes). Default: the vector's. */
} culv_vk_vector_desc;

/** Returns a default descriptor.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_vk_vector_desc culv_vk_vector_desc_init(void)
{
    culv_vk_vector_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    return d;
}

/** A buffer of Vulkan's on a part of a vector. */
typedef struct culv_vk_vector_buffer {
    VkBuffer buffer;
    VkDeviceSize offset; /**< Bytes into the vector at which the buffer begins. */
    VkDeviceSize size;   /**< Bytes. Of a sparse buffer: what is bound, from offset 0 on. */
    uint64_t chunk;      /**< culv_vector_chunk::id; 0 of a sparse buffer. */
} culv_vk_vector_buffer;

/** Makes Vulkan's view of a vector, whose chunks are exportable as OPAQUE_FD (on Windows
 * OPAQUE_WIN32), and imports the chunks that it has. A buffer a chunk is what every device has;
 * draw and dispatch once for each. A vector with `max_chunk` or `growth_percent` has few large
 * ones.
 * Errors: as culv_vk_buffer_bind_vmm(); INVALID (VALUE: no usage, a sparse size that is too small
 * or too large; NOT_EXPORTABLE), UNSUPPORTED (NOT_EXPORTABLE: no buffers of such a usage; USAGE:
 * the device has no sparse binding, or takes no memory from elsewhere for sparse buffers).
 * Ownership: *out is yours; give it to culv_vk_vector_destroy(), before or after the vector goes.
 * Threads: any, not beside a call that changes the vector.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_vk_vector_create(culv_vk_device *vk, culv_vector *vector,
                                              const culv_vk_vector_desc *desc,
                                              culv_vk_vector **out);

/** Gives the view up and sets *view to NULL; NULL, or a pointer to NULL, is a no-op. Vulkan's work
 * with its buffers is done.
 * Errors: none.
 * Ownership: *view is Culvert's again, its buffers are gone.
 * Threads: any, ordered with other calls.
 * Since: 0.1 */
CULV_EXPORT void culv_vk_vector_destroy(culv_vk_vector **view);

/** Imports chunks that are new, and drops the buffers of those that are gone, which no work of
 * Vulkan's may use any more; the others stay as they are, their handles included. Nothing is done
 * when the vector's generation is the one that the view has, and nothing is imported when the
 * vector only moved. A sparse view binds in one batch on its queue and waits on the host until that
 * is done; what is gone is bound to nothing. After an error the view has what it had. After
 * culv_vector_destroy() it keeps what it has, whose memory goes with the view.
 * Errors: as culv_vk_vector_create(); INVALID (VALUE: the vector was destroyed), OUT_OF_MEMORY,
 * DRIVER, ASYNC.
 * Ownership: none.
 * Threads: one at a time, not beside a call that changes the vector; with a sparse queue, ordered
 * with other uses of that queue.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_vk_vector_update(culv_vk_vector *view);

/** Lists the buffers by offset: as many as `capacity` into parts (which may be NULL with 0), the
 * number that there is into *count.
 * Errors: INVALID (NULL_ARGUMENT).
 * Ownership: the buffers stay Culvert's, valid until an update drops them.
 * Threads: one at a time.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_vk_vector_get_buffers(const culv_vk_vector *view,
                                                   culv_vk_vector_buffer *parts, size_t capacity,
                                                   size_t *count);

/** The generation of the vector that the view shows; 0 for NULL.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT uint64_t culv_vk_vector_generation(const culv_vk_vector *view);

CULV_EXTERN_C_END

#endif
