/* SPDX-License-Identifier: MIT */
/* Culvert: shares memory that somebody else mapped with CUDA's virtual memory management with
 * Vulkan and other processes. Such memory backs RMM's and many solvers' data, and PyTorch's tensors
 * if its allocator is set up so.
 *
 *   culv_vmm_adopt(device, (CUdeviceptr)tensor.data_ptr(), bytes, &adopted);
 *   culv_vk_adopted_create(vk, adopted, &desc, &view);          culvert/vulkan_adopt.h
 *
 * The addresses are contiguous, but the memory behind them is made of chunks (2 MiB or 20 MiB in
 * PyTorch). A tensor begins and ends anywhere in a chunk. Culvert finds the chunks and exports each
 * of them once, for all tensors in it.
 *
 * Memory of cudaMalloc, cudaMallocAsync or cudaMallocManaged cannot be adopted: CUDA does not
 * export it. For PyTorch, set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True in the environment
 * before the program starts, or allocate what you share in a pool of culvert/torch.h. */
#ifndef CULV_ADOPT_H_
#define CULV_ADOPT_H_

#include "vmm.h"

CULV_EXTERN_C_BEGIN

/** Opaque: an adopted range of addresses, and the chunks behind it. It keeps the memory alive, but
 * not the addresses: their owner may unmap them at any time. */
typedef struct culv_vmm_adopted culv_vmm_adopted;

/** Finds the chunks behind `size` bytes at `pointer`. As long as one range in a chunk is adopted,
 * other ranges find the chunk at once. Adopt a range once and keep it: adoption costs a few
 * microseconds a chunk, and Vulkan's import of a chunk costs a hundred.
 * Errors: INVALID (NULL_ARGUMENT; SIZE: 0, or it overflows; NOT_EXPORTABLE: it is not memory of
 * cuMemCreate, or was not made for export, and the message says what to do; NOT_MAPPED: a part of
 * the range; USAGE: a tile pool; DEVICE_MISMATCH: memory of another GPU), UNSUPPORTED (VMM),
 * DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_vmm_adopted_destroy().
 * Threads: any, but not while the memory is mapped or unmapped.
 * Source: cuda.h, cuMemGetAddressRange, cuMemRetainAllocationHandle; measured with PyTorch 2.11:
 * its expandable segments are exportable as file descriptors. */
CULV_EXPORT culv_result culv_vmm_adopt(culv_device *device, CUdeviceptr pointer, uint64_t size,
                                       culv_vmm_adopted **out);

/** Gives the chunks back. The memory is freed when its owner has freed it too. Views of a graphics
 * API live on.
 * Threads: any, ordered with other calls on this object. */
CULV_EXPORT void culv_vmm_adopted_destroy(culv_vmm_adopted **adopted);

/** Tells whether the chunks are still mapped where they were. An allocator may have unmapped one,
 * or mapped another in its place (PyTorch does so in empty_cache()). Vulkan then shows other memory
 * than CUDA has at these addresses: destroy the view and the range, and adopt it again.
 * Errors: INVALID (NULL_ARGUMENT; NOT_MAPPED: a chunk is unmapped, or another one is mapped there),
 * DRIVER, ASYNC.
 * Threads: any, but not while the memory is mapped or unmapped.
 * Source: cuMemRetainAllocationHandle, which returns the handle of what is mapped there. The range
 * holds its own handle, so no other memory can have the same one. */
CULV_EXPORT culv_result culv_vmm_check_adopted(const culv_vmm_adopted *adopted);

/** Returns the size of the range in bytes. 0 for NULL. Threads: any. */
CULV_EXPORT uint64_t culv_vmm_adopted_size(const culv_vmm_adopted *adopted);

/** Lists the parts of the range that lie in one chunk each. A chunk begins at the part's address
 * less its inner_offset. `parts` and *count are as in every call that lists (culvert.h).
 * Errors: INVALID (NULL_ARGUMENT).
 * Ownership: the range has the allocations. Threads: any. */
CULV_EXPORT culv_result culv_vmm_adopted_get_parts(const culv_vmm_adopted *adopted,
                                                   culv_part *parts, size_t capacity,
                                                   size_t *count);

CULV_EXTERN_C_END

#endif
