/* SPDX-License-Identifier: MIT */
/* Culvert: an allocator for PyTorch and RMM whose memory graphics APIs can import.
 *
 *   allocator = torch.cuda.memory.CUDAPluggableAllocator(path, "culv_torch_malloc",
 *   "culv_torch_free") pool = torch.cuda.MemPool(allocator.allocator())
 *   with torch.cuda.use_mem_pool(pool):
 *       field = torch.zeros(...)             culvert.buffer(field), or culv_vmm_adopt()
 *
 * culvert.torch_pool() of the Python package does that. So you can share a chosen part of a
 * program, without a variable in the environment.
 *
 * Always put a cache on top, as MemPool is: each call makes memory by cuMemCreate and maps it, and
 * sizes are rounded up to 2 MiB. A training step of 3.2 ms took 9.2 ms with the bare allocator, and
 * 3.2 ms behind a MemPool (measured on an H200 with PyTorch 2.11). */
#ifndef CULV_TORCH_H_
#define CULV_TORCH_H_

#include "vmm.h"

CULV_EXTERN_C_BEGIN

/** Allocates exportable memory of a device. The memory is ready at once, in all streams. It lies at
 * a multiple of the granularity (2 MiB). The first call for a device opens it, and it stays open
 * until the process ends.
 * Errors: NULL; culv_last_error() of this thread has the reason. A size of 0 or less is NULL
 * without an error, as with cudaMalloc().
 * Ownership: the memory is yours, for culv_torch_free(). Threads: any.
 * Source: PyTorch, torch.cuda.memory.CUDAPluggableAllocator: void *(ssize_t, int, cudaStream_t). */
CULV_EXPORT void *culv_torch_malloc(ptrdiff_t size, int device, CUstream stream);

/** Frees what culv_torch_malloc() returned. It waits until `stream` has done what was submitted to
 * it, as cudaFree() does for all streams: an allocator gives memory back while the stream may still
 * use it. Work of other streams must be done, or `stream` must wait for it (PyTorch's
 * record_stream). If `stream` is being captured, the call does not wait and leaves the capture as
 * it is: the memory then belongs to the graph. It is freed by the first culv_torch_malloc() or
 * culv_torch_free() after the graph, all instances of it and their launches have ended; that call
 * waits for all work of the context. If the driver refuses to free memory, later calls try again.
 * Memory that graphics APIs have imported stays with them. NULL is a no-op.
 * Errors: none; culv_last_error() and the log report a pointer that culv_torch_malloc() did not
 * return.
 * Ownership: you no longer own the memory. Threads: any.
 * Source: CUDA programming guide, "CUDA User Objects"; measured, docs/measured/nvidia-measured.md
 * (calls_during_capture). */
CULV_EXPORT void culv_torch_free(void *pointer, ptrdiff_t size, int device, CUstream stream);

CULV_EXTERN_C_END

#endif
