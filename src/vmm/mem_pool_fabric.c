/* SPDX-License-Identifier: MIT */
/* Pools by fabric handles (R29): bytes in place of file descriptors. An H200 without an IMEX
 * channel makes such a pool all the same, so each is exported once when it is made. */
#include "base/alloc.h"
#include "base/desc.h"
#include "cuda/context.h"
#include "vmm/fabric.h"
#include "vmm/mem_pool.h"

#include <inttypes.h>

static const char export_call[] = "cuMemPoolExportToShareableHandle";

/* Runs in the device's context. */
static CUresult export_bytes(culv_mem_pool *pool, culv_fabric_handle *out)
{
    CUresult r = CULVI_CU(pool->device, cuMemPoolExportToShareableHandle,
                          (out, pool->pool, (CUmemAllocationHandleType)CULVI_FABRIC, 0));
    if (r == CUDA_ERROR_OPERATING_SYSTEM) atomic_store(&pool->broken, true);
    return r;
}

culv_result culvi_mem_pool_try_fabric(culv_mem_pool *pool)
{
    culv_fabric_handle bytes = {{0}}; /* it goes to the log of the call */
    CUresult r = export_bytes(pool, &bytes);
    if (r == CUDA_SUCCESS) return CULV_OK;
    if (culvi_fabric_not_here(r))
        return culvi_fabric_refuse(pool->device, pool->label, r, export_call);
    return culvi_fail_cuda(pool->device, pool->label, r, export_call, CULV_REASON_DRIVER_REFUSED,
                           "fabric handles of pools could not be tried");
}

culv_result culv_mem_pool_export_fabric(culv_mem_pool *pool, culv_fabric_handle *out)
{
    culvi_scope scope;
    culv_fabric_handle bytes;
    CULVI_REQUIRE(NULL, pool);
    culv_device *device = pool->device;
    CULVI_REQUIRE(&device->voice, out);
    if (!(pool->handle_types & UINT32_C(1) << CULV_HANDLE_FABRIC))
        return culvi_fail(&device->voice, pool->label, CULV_ERROR_INVALID,
                          CULV_REASON_NOT_EXPORTABLE, "culv_mem_pool_export_fabric: the pool %s",
                          pool->imported
                              ? "was imported, and its owner exports it: keep the bytes that you "
                                "imported"
                              : "has no fabric handle: set culv_mem_pool_desc.fabric; "
                                "culv_check_fabric() says why there may be none");
    culv_result result = culvi_enter(device, &scope, pool->label);
    if (result != CULV_OK) return result;
    CUresult r = export_bytes(pool, &bytes);
    culvi_leave(device, &scope);
    if (r != CUDA_SUCCESS)
        return culvi_fail_cuda(device, pool->label, r, export_call, CULV_REASON_NOT_EXPORTABLE,
                               "the pool could not be exported as a fabric handle");
    atomic_store(&pool->exported, true);
    culvi_mem_pool_shared(pool);
    *out = bytes;
    return CULV_OK;
}

/* Imports the pool by the bytes of its handle, in the device's context. */
static culv_result import_bytes(culv_mem_pool *pool, const culv_fabric_handle *handle)
{
    culv_device *device = pool->device;
    culvi_scope scope;
    culv_fabric_handle bytes = *handle; /* the driver's argument is not const */
    culv_result result = culvi_enter(device, &scope, pool->label);
    if (result != CULV_OK) return result;
    result = culvi_mem_pool_check_device(device, pool->label);
    CUresult r = CUDA_SUCCESS;
    if (result == CULV_OK)
        r = CULVI_CU(device, cuMemPoolImportFromShareableHandle,
                     (&pool->pool, &bytes, (CUmemAllocationHandleType)CULVI_FABRIC, 0));
    culvi_leave(device, &scope);
    if (r != CUDA_SUCCESS)
        return culvi_fail_cuda(
            device, pool->label, r, "cuMemPoolImportFromShareableHandle",
            CULV_REASON_HANDLE_REFUSED,
            "the driver refused a fabric handle; its pool must live in its own process, and this "
            "user needs the same IMEX channel (culv_check_fabric())");
    return result;
}

culv_result culv_mem_pool_import_fabric(culv_device *device, const culv_fabric_handle *handle,
                                        const culv_mem_pool_import_desc *desc, culv_mem_pool **out)
{
    culv_mem_pool_import_desc d;
    CULVI_REQUIRE(NULL, device);
    CULVI_REQUIRE2(&device->voice, handle, out);
    culv_result result =
        culvi_desc_read(&device->voice, &d, sizeof d, desc, "culv_mem_pool_import_desc");
    if (result != CULV_OK) return result;
    if (d.handle.type != CULV_HANDLE_NONE)
        return culvi_fail(&device->voice, d.label, CULV_ERROR_INVALID, CULV_REASON_HANDLE_TYPE,
                          "culv_mem_pool_import_fabric: culv_mem_pool_import_desc.handle is given; "
                          "the bytes are the handle, leave it empty");
    culv_mem_pool *pool = culvi_alloc(sizeof *pool);
    if (pool == NULL) return culvi_fail_host_memory(&device->voice, d.label);
    pool->device = device;
    pool->imported = true;
    atomic_init(&pool->exported, false);
    culvi_label_set(pool->label, d.label);
    result = import_bytes(pool, handle);
    if (result != CULV_OK) {
        culvi_free(pool);
        return result;
    }
    culvi_device_ref(device);
    culvi_log_object(&device->voice, "made", "memory pool", pool->label, 0);
    result = culvi_mem_pool_allow(pool);
    if (result != CULV_OK) {
        culvi_mem_pool_release_or_defer(pool);
        culvi_device_unref(device);
        return result;
    }
    culvi_mem_pool_shared(pool);
    *out = pool;
    return CULV_OK;
}
