/* SPDX-License-Identifier: MIT */
/* culv_mem_pool: another process's pool, and its pointers. culvert-extra makes pools and exports
 * them. */
#include "core/import.h"
#include "vmm/share.h"

struct culv_mem_pool {
    culv_device *device;
    CUmemoryPool pool;
    char label[64];
    culvi_tie tie;
    culvi_deferred deferred;
};

/* Refuses a device without pools, or a driver without their calls. */
static culv_result check_device(const culv_device *device, const char *label)
{
    const culvi_cuda *cuda = device->cuda;
    int supported = 0;
    CULVI_TRY(culvi_cig_refuse(device, label, "a memory pool", "use memory of cuMemAlloc"));
    CULVI_UNSUPPORTED_IF(
        cuda->cuMemPoolDestroy == NULL || cuda->cuMemPoolGetAccess == NULL ||
            cuda->cuMemPoolSetAccess == NULL || cuda->cuMemPoolImportFromShareableHandle == NULL ||
            cuda->cuMemPoolImportPointer == NULL,
        &device->voice, label, CULV_REASON_DRIVER_TOO_OLD,
        "the CUDA driver of '%s' lacks memory pools, which came with CUDA 11.2", device->caps.name);
    CULVI_CU_TRY(device, label, cuDeviceGetAttribute,
                 (&supported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, device->ordinal),
                 CULV_REASON_DRIVER_REFUSED,
                 "the driver could not be asked whether '%s' has memory pools", device->caps.name);
    if (supported) return CULV_OK;
    return culvi_fail(&device->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_VMM,
                      "'%s' has no memory pools (CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED is 0)",
                      device->caps.name);
}

static bool release(culv_device *device, culvi_deferred *self, bool last_try)
{
    culv_mem_pool *pool = CULVI_CONTAINER(self, culv_mem_pool, deferred);
    CUresult r = CULVI_RELEASE(device, cuMemPoolDestroy, (pool->pool));
    /* It is the process's, not the context's: once more in case that an error which stays was told
     * instead. */
    if (culvi_cuda_sticky(r)) (void)CULVI_RELEASE(device, cuMemPoolDestroy, (pool->pool));
    if (!culvi_release_done(device, "cuMemPoolDestroy", r, last_try)) return false;
    culvi_log_object(&device->voice, "destroyed", "memory pool", pool->label, 0);
    culvi_tie_remove(&pool->tie);
    culvi_free(pool);
    return true;
}

static void give_up(culv_mem_pool *pool)
{
    culv_device *device = pool->device;
    pool->deferred.release = release;
    culvi_release_alone(device, &pool->deferred);
    culvi_device_unref(device);
}

void culv_mem_pool_destroy(culv_mem_pool **pool)
{
    culv_mem_pool *mine = culvi_take(pool);
    if (mine != NULL) give_up(mine);
}

static CUresult give(culv_device *device, const culv_handle *duplicate, void *object)
{
    culv_mem_pool *pool = object;
    const unsigned type = culvi_handle_number(duplicate->type, CULVI_USE_VMM);
    return CULVI_CU(
        device, cuMemPoolImportFromShareableHandle,
        (&pool->pool, culvi_vmm_shareable(duplicate), (CUmemAllocationHandleType)type, 0));
}

static void describe(const void *object, culvi_text *text)
{
    (void)object;
    culvi_text_add(
        text,
        "it must be of a memory pool (cuMemPoolExportToShareableHandle), which must still be alive in its own process");
}

/* Lets the importing device read and write the pool, wherever that lies. */
static culv_result allow(culv_mem_pool *pool)
{
    culv_device *device = pool->device;
    CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    culvi_scope scope;
    CUmemAccessDesc access;
    memset(&access, 0, sizeof access);
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = device->ordinal;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CULVI_TRY(culvi_enter(device, &scope, pool->label));
    const char *call = "cuMemPoolGetAccess";
    CUresult r = CULVI_CU(device, cuMemPoolGetAccess, (&flags, pool->pool, &access.location));
    if (r == CUDA_SUCCESS && flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
        r = CULVI_CU_AS(call, device, cuMemPoolSetAccess, (pool->pool, &access, 1));
    }
    culvi_leave(device, &scope);
    return CULVI_CU_RESULT(
        device, pool->label, r, call, CULV_REASON_PEER,
        "'%s' could not be given access to the imported pool; a pool of another GPU needs a device that reaches that GPU (cuDeviceCanAccessPeer)",
        device->caps.name);
}

culv_result culv_mem_pool_import(culv_device *device, const culv_mem_pool_import_desc *desc,
                                 culv_mem_pool **out)
{
    static const culv_uuid any;
    uint64_t uncounted = 0;
    CULVI_REQUIRE_WITH2(device, &device->voice, desc, out);
    CULVI_READ(&device->voice, culv_mem_pool_import_desc, d, desc);
    const bool fabric = d.handle.type == CULV_HANDLE_FABRIC;
    culvi_import import = {.what = "memory pool",
                           .call = "cuMemPoolImportFromShareableHandle",
                           .field = "culv_mem_pool_import_desc.handle",
                           .source = "cuMemPoolExportToShareableHandle",
                           .use = CULVI_USE_VMM,
                           .handle = &d.handle,
                           .label = d.label,
                           .count = &uncounted,
                           .lent = true,
                           .give = give,
                           .describe = describe};
    if (fabric)
        import.refused =
            "the driver refused a fabric handle; its pool must live in its own process, and this user needs the same IMEX channel (culv_check_fabric())";
    else
        CULVI_TRY(culvi_handle_use_check(&device->voice, d.label,
                                         "culv_mem_pool_import_desc.handle.type", d.handle.type,
                                         CULVI_USE_VMM));
    if (d.handle.name != NULL && culvi_handle_row_of(d.handle.type)->kind == CULVI_KIND_NT)
        return culvi_fail(&device->voice, d.label, CULV_ERROR_INVALID, CULV_REASON_HANDLE_TYPE,
                          "culv_mem_pool_import_desc.handle is a name; pass a handle");
    CULVI_TRY(check_device(device, d.label));
    if (!fabric) CULVI_TRY(culvi_import_check(device, &import, &any));
    CULVI_NEW(culv_mem_pool, pool, &device->voice, d.label);
    pool->device = device;
    culvi_label_set(pool->label, d.label);
    CULVI_TRY_OR(culvi_import_run(device, &import, pool), culvi_free(pool));
    culvi_log_object(&device->voice, "made", "memory pool", pool->label, 0);
    CULVI_TRY_OR(allow(pool), give_up(pool));
    culvi_mutex_lock(&device->lock);
    culvi_tie_add(
        device, &pool->tie, "memory pool", pool->label,
        "was imported; destroy it before, and import it again after culv_device_resume()");
    culvi_mutex_unlock(&device->lock);
    *out = pool;
    return CULV_OK;
}

culv_result culv_mem_pool_import_pointer(culv_mem_pool *pool, const culv_mem_pool_pointer *pointer,
                                         CUdeviceptr *out)
{
    CUmemPoolPtrExportData data;
    CUdeviceptr found = 0;
    _Static_assert(sizeof data == sizeof pointer->data, "what is sent is all that the driver made");
    CULVI_REQUIRE_WITH2(pool, &pool->device->voice, pointer, out);
    culv_device *device = pool->device;
    memcpy(&data, pointer->data, sizeof data);
    CULVI_CU_INSIDE(r, device, pool->label, cuMemPoolImportPointer, (&found, pool->pool, &data));
    CULVI_CU_CHECK(
        device, pool->label, r, "cuMemPoolImportPointer", CULV_REASON_HANDLE_REFUSED,
        "an allocation of the pool could not be imported; was it exported from this very pool, and is it still allocated?");
    *out = found;
    return CULV_OK;
}
