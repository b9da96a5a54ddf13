/* SPDX-License-Identifier: MIT */
/* Culvert: CUDA in graphics (CIG). A CIG context runs CUDA's work at the same time as a graphics
 * queue's, without a switch between the two (cuda.h, cuCtxCreate, cigParams).
 *
 *   culv_device_open_for_d3d((IUnknown *)device, NULL, &plain);
 *   culv_d3d_attach(plain, &desc, &d3d);
 *   culv_d3d12_cig_create(d3d, queue, NULL, &cig);
 *   device_desc.context = culv_cig_context(cig);
 *   culv_device_open_for_d3d((IUnknown *)device, &device_desc, &culvert);
 *
 * culv_device_desc::context takes any CIG context, even one that you made.
 * culv_device_caps::cig_context then says so. Imports, arrays, semaphores, rings and kernels work
 * in it as in any context. Culvert refuses VMM memory, vectors, sparse arrays and memory pools by
 * UNSUPPORTED (CIG): let the graphics API make the memory and import it, or use cuMemAlloc. For the
 * same reason do not use cuMemAllocAsync (cudaMallocAsync) and CUDA's own pools.
 *
 * Kernels have CU_LIMIT_SHMEM_SIZE bytes of shared memory. A kernel that needs more runs on a
 * slower path, or fails if you set CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED to 0 (cuCtxSetLimit).
 *
 * It has not run on a driver yet, only on the software twin: Direct3D's form under Wine and
 * Vulkan's on Linux. */
#ifndef CULV_CIG_H_
#define CULV_CIG_H_

#ifndef CULV_EXPERIMENTAL
#    error "cig.h is experimental (docs/stability.md): define CULV_EXPERIMENTAL first"
#endif

#include "device.h"

CULV_EXTERN_C_BEGIN

/** Opaque: a CIG context that Culvert made. It keeps its attachment alive. */
typedef struct culv_cig culv_cig;

/** Returns the context, for culv_device_desc::context and for CUDA's own calls. NULL for NULL.
 * Ownership: Culvert owns the context. Threads: any. */
CULV_EXPORT CUcontext culv_cig_context(const culv_cig *cig);

/** Destroys the context with all objects in it. Close the culv_device that uses it first. Waits for
 * the context's work.
 * Threads: any, ordered with other uses of the context.
 * Source: cuda.h, cuCtxDestroy. */
CULV_EXPORT void culv_cig_destroy(culv_cig **cig);

CULV_EXTERN_C_END

#endif
