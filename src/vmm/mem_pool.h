/* SPDX-License-Identifier: MIT */
/* Memory pools: what is known about one. */
#ifndef CULVI_MEM_POOL_H_
#define CULVI_MEM_POOL_H_

#include "cuda/retire.h"
#include "culvert/mem_pool.h"

struct culv_mem_pool {
    culv_device *device;
    CUmemoryPool pool;
    uint32_t handle_types; /* bits (1 << culv_handle_type); 0 for an import */
    bool imported;
    atomic_bool exported; /* from then on its pointers can be exported */
    /* An export failed in the driver. cuMemPoolDestroy would crash (measured on an H200, driver
     * 580.159, after CUDA_ERROR_OPERATING_SYSTEM). */
    atomic_bool broken;
    char label[64];
    culvi_tie tie; /* it was exported or imported */
    culvi_deferred deferred;
};

/* Refuses a device without pools, or a driver without their calls. */
culv_result culvi_mem_pool_check_device(const culv_device *device, const char *label);
/* Lets the importing device read and write an imported pool, wherever that lies. */
culv_result culvi_mem_pool_allow(culv_mem_pool *pool);
/* mem_pool_fabric.c: exports a pool that was made, to see whether that works; in the device's
 * context. UNSUPPORTED: it does not here. */
culv_result culvi_mem_pool_try_fabric(culv_mem_pool *pool);
/* mem_pool_fabric.c: imports a pool by a handle of type FABRIC. On success the device has one more
 * reference, the pool's. */
culv_result culvi_mem_pool_import_fabric(culv_mem_pool *pool, const culv_handle *handle);
/* It was shared: no checkpoint keeps that. Takes the lock. */
void culvi_mem_pool_shared(culv_mem_pool *pool);
/* Returns a pool to the driver, or leaves it to a later collection. Takes the lock. */
void culvi_mem_pool_release_or_defer(culv_mem_pool *pool);

#endif
