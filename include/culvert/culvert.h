/* SPDX-License-Identifier: MIT */
/* Culvert: includes every core header that is stable. A header that is experimental is included by
 * itself, after CULV_EXPERIMENTAL is defined (docs/stability.md).
 *
 * Culvert lets CUDA and a graphics API use the same GPU memory without copies. Each graphics API
 * has a header of its own, which you include besides: culvert/vulkan.h. Code that uses the CUDA
 * runtime API includes culvert/cudart.h too.
 *
 * A program opens a culv_device (device.h), shares memory and images with it (memory.h, image.h),
 * and orders both sides with semaphores (semaphore.h) or with a ring of frames (ring.h). Each call
 * that can fail returns a culv_result (result.h).
 *
 * A function's comment has no "Errors:" where it cannot fail, and no "Ownership:" where nothing
 * changes hands.
 *
 * "docs/gl.md" in these headers is a page of the source's; an installation has the pages in
 * share/doc/culvert/docs. */
#ifndef CULV_CULVERT_H_
#define CULV_CULVERT_H_

#include "adopt.h"
#include "base.h"
#include "device.h"
#include "dlpack.h"
#include "fallback.h"
#include "format.h"
#include "graph.h"
#include "handle.h"
#include "image.h"
#include "ipc.h"
#include "ipc_cuda.h"
#include "ipc_fetch.h"
#include "ipc_ring.h"
#include "kernel.h"
#include "log.h"
#include "mem_pool.h"
#include "memory.h"
#include "rdma.h"
#include "rdma_cache.h"
#include "result.h"
#include "ring.h"
#include "semaphore.h"
#include "soft.h"
#include "sparse.h"
#include "texture.h"
#include "torch.h"
#include "vector.h"
#include "vmm.h"

#endif
