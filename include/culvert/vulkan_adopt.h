/* SPDX-License-Identifier: MIT */
/* Culvert: adopted memory (culvert/adopt.h) as Vulkan buffers. A shader reads and writes a tensor
 * of an unmodified program in place. */
#ifndef CULV_VULKAN_ADOPT_H_
#define CULV_VULKAN_ADOPT_H_

#include "adopt.h"
#include "vulkan_vmm.h"

CULV_EXTERN_C_BEGIN

/** Opaque: Vulkan buffers on the chunks of an adopted range. */
typedef struct culv_vk_adopted culv_vk_adopted;

/** Vulkan's view of adopted memory. */
typedef struct culv_vk_adopted_desc {
    size_t struct_size;       /**< Set by culv_vk_adopted_desc_init(). */
    VkBufferUsageFlags usage; /**< Required: the usage of the buffers. */
    /** A queue with VK_QUEUE_SPARSE_BINDING_BIT, of a VkDevice with sparseBinding and
     * sparseResidencyBuffer. A range of several chunks is then one sparse buffer, if the device
     * takes imported memory for such buffers. Otherwise, or with VK_NULL_HANDLE, each chunk has a
     * buffer. A range in one chunk is always one plain buffer. */
    VkQueue sparse_queue;
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
} culv_vk_adopted_desc;

CULV_INIT(culv_vk_adopted_desc)

/** Makes Vulkan's view of an adopted range. Each chunk's buffer is made and imported once for each
 * usage, and all views in this VkDevice share it: two tensors in one chunk have the same VkBuffer.
 * Errors: as culv_vk_buffer_bind_vmm(); INVALID (VALUE: no usage); UNSUPPORTED (NOT_EXPORTABLE: the
 * device exports no buffers of such a usage).
 * Ownership: *out is yours, for culv_vk_adopted_destroy(), before or after the range is destroyed.
 * Threads: any; with a sparse queue, ordered with other uses of that queue. */
CULV_EXPORT culv_result culv_vk_adopted_create(culv_vk_device *vk, culv_vmm_adopted *adopted,
                                               const culv_vk_adopted_desc *desc,
                                               culv_vk_adopted **out);

/** Destroys the view. Vulkan's work with its buffers must be done.
 * Ownership: the view's buffers are destroyed unless another view has them.
 * Threads: any, ordered with other calls on this object. */
CULV_EXPORT void culv_vk_adopted_destroy(culv_vk_adopted **view);

/** Lists the parts by address. `parts` and *count are as in every call that lists (culvert.h): 1
 * for a sparse buffer and for a range in one chunk.
 * Errors: INVALID (NULL_ARGUMENT).
 * Ownership: Culvert owns the buffers. Threads: any. */
CULV_EXPORT culv_result culv_vk_adopted_get_parts(const culv_vk_adopted *view, culv_part *parts,
                                                  size_t capacity, size_t *count);

CULV_EXTERN_C_END

#endif
