/* SPDX-License-Identifier: MIT */
/* Pools by fabric handles (R29): bytes in place of file descriptors. An H200 without an IMEX
 * channel makes such a pool all the same, so each is exported once when it is made. */
#include "cuda/context.h"
#include "vmm/fabric.h"
#include "vmm/mem_pool.h"

static const char export_call[] = "cuMemPoolExportToShareableHandle";

culv_result culvi_mem_pool_try_fabric(culv_mem_pool *pool)
{
    uint8_t bytes[64] = {0}; /* they go to the log of the call */
    const CUresult r = CULVI_CU(pool->device, cuMemPoolExportToShareableHandle,
                                (bytes, pool->pool, (CUmemAllocationHandleType)CULVI_FABRIC, 0));
    if (r == CUDA_SUCCESS) return CULV_OK;
    if (r == CUDA_ERROR_OPERATING_SYSTEM) atomic_store(&pool->broken, true);
    if (culvi_fabric_not_here(r))
        return culvi_fabric_refuse(pool->device, pool->label, r, export_call);
    return culvi_fail_cuda(pool->device, pool->label, r, export_call, CULV_REASON_DRIVER_REFUSED,
                           "fabric handles of pools could not be tried");
}

culv_result culvi_mem_pool_import_fabric(culv_mem_pool *pool, const culv_handle *handle)
{
    culv_device *device = pool->device;
    culvi_scope scope;
    culv_handle copy = *handle; /* the driver's argument is not const */
    culv_result result = culvi_enter(device, &scope, pool->label);
    if (result != CULV_OK) return result;
    const CUresult r =
        CULVI_CU(device, cuMemPoolImportFromShareableHandle,
                 (&pool->pool, copy.value.fabric, (CUmemAllocationHandleType)CULVI_FABRIC, 0));
    culvi_leave(device, &scope);
    if (r != CUDA_SUCCESS)
        return culvi_fail_cuda(
            device, pool->label, r, "cuMemPoolImportFromShareableHandle",
            CULV_REASON_HANDLE_REFUSED,
            "the driver refused a fabric handle; its pool must live in its own process, and this "
            "user needs the same IMEX channel (culv_check_fabric())");
    culvi_device_ref(device);
    return CULV_OK;
}
