/* SPDX-License-Identifier: MIT */
/* Culvert: memory that somebody else mapped with CUDA's virtual memory management, for Vulkan and
 * other processes. PyTorch's tensors lie in such memory, when its allocator is told so; so do RMM's
 * and many solvers'.
 *
 *   culv_vmm_adopt(device, (CUdeviceptr)tensor.data_ptr(), bytes, &adopted);
 *   culv_vk_adopted_create(vk, adopted, &desc, &view);          culvert/vulkan_adopt.h
 *
 * Addresses are contiguous, but the memory behind them is not: it is made of chunks (of 2 MiB or 20
 * MiB in PyTorch), and a tensor begins and ends anywhere in one. Culvert finds the chunks, and
 * exports each of them once, for all tensors in it.
 *
 * Memory of cudaMalloc, cudaMallocAsync or cudaMallocManaged cannot be adopted: CUDA does not
 * export it. For PyTorch, set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True in the environment
 * before the program starts, or give the part that is shared a pool of its own: culvert/torch.h. */
#ifndef CULV_ADOPT_H_
#define CULV_ADOPT_H_

#include "vmm.h"

CULV_EXTERN_C_BEGIN

/** Opaque: a range of somebody's addresses, and the chunks behind it. It keeps their memory alive,
 * but not their addresses: whoever mapped them may unmap them at any time. */
typedef struct culv_vmm_adopted culv_vmm_adopted;

/** One chunk behind an adopted range. */
typedef struct culv_vmm_adopted_chunk {
    /** Number of the chunk. Two adopted ranges of one device that share a chunk have the same
     * number for it, and other memory never gets it. */
    uint64_t id;
    CUdeviceptr address; /**< Address of its first byte. */
    uint64_t size;       /**< Bytes of the whole chunk. */
    /** Not a new reference: the adopted range has it, and culv_vmm_allocation_destroy() refuses
     * it. */
    culv_vmm_allocation *allocation;
} culv_vmm_adopted_chunk;

/** Finds the chunks behind `size` bytes at `pointer`. The chunks are kept for other ranges in them
 * as long as one is adopted. Adopt the same range once, and keep it: that costs a few microseconds
 * for each chunk, and Vulkan's import of a chunk costs a hundred.
 * Errors: INVALID (NULL_ARGUMENT; SIZE: 0, or it overflows; NOT_EXPORTABLE: it is not memory of
 * cuMemCreate, or was not made for export, and the message says what to do; NOT_MAPPED: a part of
 * the range; USAGE: a tile pool; DEVICE_MISMATCH: memory of another GPU), UNSUPPORTED (VMM),
 * DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is yours; give it to culv_vmm_adopted_destroy().
 * Threads: any, but not while the memory is mapped or unmapped.
 * Source: cuda.h, cuMemGetAddressRange, cuMemRetainAllocationHandle; measured with PyTorch 2.11:
 * its expandable segments are exportable as file descriptors. */
CULV_EXPORT culv_result culv_vmm_adopt(culv_device *device, CUdeviceptr pointer, uint64_t size,
                                       culv_vmm_adopted **out);

/** Gives the chunks back and sets *adopted to NULL. The memory goes when its owner has given it up,
 * too. Views of a graphics API live on. NULL, or a pointer to NULL, is a no-op.
 * Ownership: *adopted is Culvert's again.
 * Threads: any, ordered with other calls on this object. */
CULV_EXPORT void culv_vmm_adopted_destroy(culv_vmm_adopted **adopted);

/** Says whether the chunks are still mapped where they were. An allocator may have unmapped one, or
 * mapped another in its place (PyTorch does so in empty_cache()). What Vulkan shows is then not
 * what CUDA has at these addresses: destroy the view and the range, and adopt it again.
 * Errors: INVALID (NULL_ARGUMENT; NOT_MAPPED: a chunk has gone, or is another one), DRIVER, ASYNC.
 * Threads: any, but not while the memory is mapped or unmapped.
 * Source: the driver's handle of what is mapped there, cuMemRetainAllocationHandle. The range holds
 * its own, so no other memory can have it. */
CULV_EXPORT culv_result culv_vmm_check_adopted(const culv_vmm_adopted *adopted);

/** Returns the number of bytes from the first chunk's beginning to the range's. 0 for NULL.
 * Threads: any. */
CULV_EXPORT uint64_t culv_vmm_adopted_offset(const culv_vmm_adopted *adopted);

/** Returns the size of the range in bytes. 0 for NULL.
 * Threads: any. */
CULV_EXPORT uint64_t culv_vmm_adopted_size(const culv_vmm_adopted *adopted);

/** Lists the chunks by address. Writes up to `capacity` of them into chunks (NULL when capacity is
 * 0), and sets *count to their number.
 * Errors: INVALID (NULL_ARGUMENT).
 * Ownership: the range has the allocations.
 * Threads: any. */
CULV_EXPORT culv_result culv_vmm_adopted_get_chunks(const culv_vmm_adopted *adopted,
                                                    culv_vmm_adopted_chunk *chunks, size_t capacity,
                                                    size_t *count);

CULV_EXTERN_C_END

#endif
