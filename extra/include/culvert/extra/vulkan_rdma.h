/* SPDX-License-Identifier: MIT */
/* Culvert: memory that is CUDA memory, a VkBuffer and a dma-buf at once. A network card or a
 * capture device ("card" below) writes into it, and Vulkan draws it, without a copy.
 *
 * NVIDIA's driver registers no dma-buf that Vulkan exported (open-gpu-kernel-modules issue 1130).
 * So CUDA allocates memory that cards reach (CULV_VMM_USAGE_RDMA) and exports the dma-buf, and
 * Vulkan imports the memory:
 *
 *   culv_vk_rdma_buffer_create(device, vk, &desc, &buffer);
 *   culv_vk_rdma_buffer_get_parts(buffer, &part, 1, &count);
 *   ibv_reg_dmabuf_mr(pd, 0, part.size, part.pointer, part.dma_buf.value.fd, access);
 *   vkCmdBindVertexBuffers(..., &part.buffer, ...);
 *
 * The memory cannot carry SYNC_MEMOPS: before a card reads it, wait for CUDA's copies yourself
 * (cuStreamSynchronize), or set the context's flag once:
 * culv_rdma_set_sync_memops(device, culv_vk_rdma_buffer_pointer(buffer), 1, NULL).
 *
 * When the card has reported that its write is complete, call culv_rdma_flush_writes(). Then submit
 * Vulkan's work: the submission makes the data visible to it, like an earlier write by the host. */
#ifndef CULV_EXTRA_VULKAN_RDMA_H_
#define CULV_EXTRA_VULKAN_RDMA_H_

#include "rdma.h"

#include <culvert/vulkan_vmm.h>

CULV_EXTERN_C_BEGIN

/** Opaque: a buffer of such memory. Call it from one thread at a time. */
typedef struct culv_vk_rdma_buffer culv_vk_rdma_buffer;

/** Memory to make. */
typedef struct culv_vk_rdma_buffer_desc {
    size_t struct_size;       /**< Set by culv_vk_rdma_buffer_desc_init(). */
    uint64_t size;            /**< Required: size in bytes. */
    VkBufferUsageFlags usage; /**< Required: the usage of the buffers. */
    /** Bytes of address space. The buffer can grow up to this size, and beyond it while the
     * following addresses are free. Its address stays. Default: `size`. */
    uint64_t reserve;
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
} culv_vk_rdma_buffer_desc;

CULV_INIT(culv_vk_rdma_buffer_desc)

/** A part: one allocation. There is one until the buffer grows. */
typedef struct culv_vk_rdma_part {
    uint64_t id;         /**< Number of the part; no other part of the buffer ever has it. */
    uint64_t offset;     /**< Offset in the buffer in bytes. */
    uint64_t size;       /**< Size in bytes. */
    CUdeviceptr pointer; /**< CUDA's address of the part. */
    VkBuffer buffer;     /**< VkBuffer on the whole part. */
    /** Dma-buf of the whole part. Type NONE: the device makes none (culv_rdma_caps::dma_buf), and a
     * kernel driver pins the part by its address. */
    culv_handle dma_buf;
    culv_bool pcie; /**< Nonzero: the dma-buf is mapped over PCI Express. */
} culv_vk_rdma_part;

/** Makes memory that CUDA, Vulkan and cards use. `vk` must be attached to `device`.
 * Errors: as culv_vector_create(), culv_vk_vector_view_create() and culv_rdma_dma_buf_export_dup();
 * INVALID (NULL_ARGUMENT, STRUCT_SIZE; SIZE: size is 0, or more than reserve; VALUE: no usage),
 * UNSUPPORTED (USAGE: the device has no VMM memory that cards reach), OUT_OF_MEMORY, DRIVER, ASYNC.
 * Ownership: *out is yours, for culv_vk_rdma_buffer_destroy(). */
CULV_EXTRA culv_result culv_vk_rdma_buffer_create(culv_device *device, culv_vk_device *vk,
                                                  const culv_vk_rdma_buffer_desc *desc,
                                                  culv_vk_rdma_buffer **out);

/** Destroys the buffer. First deregister its dma-bufs from the card. The work of CUDA and Vulkan
 * must be done. The memory exists as long as a dma-buf of it is open.
 * Ownership: the buffer's parts are destroyed with it. */
CULV_EXTRA void culv_vk_rdma_buffer_destroy(culv_vk_rdma_buffer **buffer);

/** Makes the buffer at least `size` bytes long, by new parts. The address and the other parts stay
 * as they are, registered or not. A smaller size does nothing. After an error the buffer is as it
 * was.
 * Errors: as culv_vk_rdma_buffer_create(); OUT_OF_MEMORY (ADDRESS: the following addresses are not
 * free).
 * Threads: one at a time. */
CULV_EXTRA culv_result culv_vk_rdma_buffer_grow(culv_vk_rdma_buffer *buffer, uint64_t size);

/** Lists the parts by offset. `parts` and *count are as in every call that lists (culvert.h).
 * Errors: INVALID (NULL_ARGUMENT).
 * Ownership: the buffer owns the VkBuffers and the dma-bufs: to keep one, duplicate it
 * (culv_handle_dup()).
 * Threads: one at a time. */
CULV_EXTRA culv_result culv_vk_rdma_buffer_get_parts(const culv_vk_rdma_buffer *buffer,
                                                     culv_vk_rdma_part *parts, size_t capacity,
                                                     size_t *count);

/** Returns CUDA's address of the first byte, or 0 for NULL.
 * Ownership: the buffer owns the memory. Threads: one at a time. */
CULV_EXTRA CUdeviceptr culv_vk_rdma_buffer_pointer(const culv_vk_rdma_buffer *buffer);

/** Returns the size that you asked for in bytes, or 0 for NULL. Threads: one at a time. */
CULV_EXTRA uint64_t culv_vk_rdma_buffer_size(const culv_vk_rdma_buffer *buffer);

CULV_EXTERN_C_END

#endif
