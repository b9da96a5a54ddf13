/* SPDX-License-Identifier: MIT */
/* Culvert: CUDA in graphics (CIG). A CIG context runs CUDA's work at the same time as the work of a
 * graphics queue, without a switch between the two (cuda.h, cuCtxCreate, cigParams).
 *
 *   culv_device_open_for_d3d((IUnknown *)device, NULL, &plain);
 *   culv_d3d12_cig_create(plain, queue, NULL, &cig);     or culv_vk_cig_create()
 *   device_desc.context = culv_cig_context(cig);
 *   culv_device_open_for_d3d((IUnknown *)device, &device_desc, &culvert);
 *
 * culv_device_desc::context takes any CIG context, even one that you made;
 * culv_device_caps::cig_context is then set. Imports, arrays, semaphores, rings and kernels work in
 * it as in any context. VMM memory, vectors, sparse arrays and memory pools do not (UNSUPPORTED,
 * CIG): let the graphics API make the memory and import it, or use cuMemAlloc. For the same reason
 * do not use cuMemAllocAsync (cudaMallocAsync) and CUDA's own pools.
 *
 * Kernels have CU_LIMIT_SHMEM_SIZE bytes of shared memory. A kernel that needs more runs on a
 * slower path, or fails if you set CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED to 0 (cuCtxSetLimit).
 *
 * It has not run on a driver yet, but only on the software twin: Direct3D's form under Wine, and
 * Vulkan's form on Linux. */
#ifndef CULV_EXTRA_CIG_H_
#define CULV_EXTRA_CIG_H_

#include "extra.h"

#include <culvert/device.h>

struct ID3D12CommandQueue;

CULV_EXTERN_C_BEGIN

/** Opaque: a CIG context. It keeps its culv_device alive. */
typedef struct culv_cig culv_cig;

/** Makes a CIG context for a queue of Direct3D 12 on the device's GPU. The label may be NULL; it is
 * copied (up to 63 bytes). The context is not current on the calling thread afterwards.
 * Errors: INVALID (NULL_ARGUMENT), UNSUPPORTED (DRIVER_TOO_OLD; CIG: the device has no CIG, or the
 * system is not Windows), DRIVER (CIG), ASYNC, OUT_OF_MEMORY.
 * Ownership: the queue stays yours and must outlive *out. *out is yours, for culv_cig_destroy().
 * Source: cuda.h, cuCtxCreate_v4, CIG_DATA_TYPE_D3D12_COMMAND_QUEUE. */
CULV_EXTRA culv_result culv_d3d12_cig_create(culv_device *device, struct ID3D12CommandQueue *queue,
                                             const char *label, culv_cig **out);

/** Returns the context, for culv_device_desc::context and for CUDA's own calls, or NULL for NULL.
 * Ownership: the culv_cig owns the context. */
CULV_EXTRA CUcontext culv_cig_context(const culv_cig *cig);

/** Destroys the context with all objects in it. First close the culv_device that uses it. The call
 * waits for the context's work.
 * Threads: any, ordered with other uses of the context.
 * Source: cuda.h, cuCtxDestroy. */
CULV_EXTRA void culv_cig_destroy(culv_cig **cig);

CULV_EXTERN_C_END

#endif
