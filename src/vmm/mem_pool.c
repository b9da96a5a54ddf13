/* SPDX-License-Identifier: MIT */
/* culv_mem_pool: made, allocated from, given up. */
#include "vmm/mem_pool.h"

#include "base/alloc.h"
#include "base/desc.h"
#include "base/handle.h"
#include "cuda/cig.h"
#include "cuda/context.h"
#include "cuda/stream.h"
#include "vmm/fabric.h"
#include "vmm/property.h"

#include <inttypes.h>

culv_result culvi_mem_pool_check_device(const culv_device *device, const char *label)
{
    const culvi_cuda *cuda = device->cuda;
    int supported = 0;
    culv_result result =
        culvi_cig_refuse(device, label, "a memory pool", "use memory of cuMemAlloc");
    if (result != CULV_OK) return result;
    if (cuda->cuMemPoolCreate == NULL || cuda->cuMemPoolDestroy == NULL ||
        cuda->cuMemPoolSetAttribute == NULL || cuda->cuMemPoolGetAccess == NULL ||
        cuda->cuMemPoolSetAccess == NULL || cuda->cuMemPoolExportToShareableHandle == NULL ||
        cuda->cuMemPoolImportFromShareableHandle == NULL || cuda->cuMemPoolExportPointer == NULL ||
        cuda->cuMemPoolImportPointer == NULL)
        return culvi_fail(&device->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_DRIVER_TOO_OLD,
                          "the CUDA driver of '%s' lacks memory pools, which came with CUDA 11.2",
                          device->caps.name);
    CUresult r =
        CULVI_CU(device, cuDeviceGetAttribute,
                 (&supported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, device->ordinal));
    if (r != CUDA_SUCCESS)
        return culvi_fail_cuda(device, label, r, "cuDeviceGetAttribute", CULV_REASON_DRIVER_REFUSED,
                               "the driver could not be asked whether '%s' has memory pools",
                               device->caps.name);
    if (supported) return CULV_OK;
    return culvi_fail(&device->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_VMM,
                      "'%s' has no memory pools (CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED is 0)",
                      device->caps.name);
}

static culv_result check_handle_types(const culv_device *device, const culv_mem_pool_desc *d)
{
    const uint32_t types = d->handle_types;
    culv_result result = culvi_handle_types_check(
        &device->voice, d->label, "the number of a bit in culv_mem_pool_desc.handle_types", types,
        CULVI_USE_VMM);
    if (result != CULV_OK) return result;
    if (d->security_attributes != NULL && !(types & 1u << CULV_HANDLE_OPAQUE_WIN32))
        return culvi_fail(
            &device->voice, d->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
            "culv_mem_pool_desc.security_attributes is given, but it is only for OPAQUE_WIN32 "
            "handles, which handle_types lacks");
    return CULV_OK;
}

/* Runs in the device's context. */
static culv_result check_supported(const culv_mem_pool *pool)
{
    const culv_device *device = pool->device;
    const uint32_t types = pool->handle_types;
    int supported = 0;
    if (types == 0) return CULV_OK;
    CUresult r =
        CULVI_CU(device, cuDeviceGetAttribute,
                 (&supported, CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES, device->ordinal));
    if (r != CUDA_SUCCESS)
        return culvi_fail_cuda(
            device, pool->label, r, "cuDeviceGetAttribute", CULV_REASON_DRIVER_REFUSED,
            "the driver could not be asked how pools of '%s' are exported", device->caps.name);
    if ((culvi_vmm_to_cuda_handle_types(types) & ~(unsigned)supported) == 0) return CULV_OK;
    return culvi_fail(
        &device->voice, pool->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_HANDLE_TYPE,
        "culv_mem_pool_desc.handle_types (with fabric: bit 13) is %#" PRIx32
        ", but pools of '%s' are exported only as "
        "CUmemAllocationHandleType bits %#x (CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES)",
        types, device->caps.name, (unsigned)supported);
}

/* Gives a pool back that has no object, or has none any more. */
static bool release_pool(culv_device *device, CUmemoryPool pool, bool last_try)
{
    CUresult r = CULVI_RELEASE(device, cuMemPoolDestroy, (pool));
    /* It is the process's, not the context's: once more in case that an error which stays was told
     * instead. */
    if (culvi_cuda_sticky(r)) (void)CULVI_RELEASE(device, cuMemPoolDestroy, (pool));
    return culvi_release_done(device, "cuMemPoolDestroy", r, last_try);
}

static void tell_broken(const culv_mem_pool *pool)
{
    culvi_log(&pool->device->voice, CULV_LOG_WARNING,
              "%s is left at the driver, which crashes when it destroys a pool whose export failed",
              culvi_named("memory pool", pool->label).text);
}

void culvi_mem_pool_shared(culv_mem_pool *pool)
{
    culvi_mutex_lock(&pool->device->lock);
    culvi_tie_add(pool->device, &pool->tie, "memory pool", pool->label,
                  pool->imported ? "was imported; destroy it before, and import it again after "
                                   "culv_device_resume()"
                                 : "was exported; destroy it before");
    culvi_mutex_unlock(&pool->device->lock);
}

static bool release(culv_device *device, culvi_deferred *self, bool last_try)
{
    culv_mem_pool *pool = CULVI_CONTAINER(self, culv_mem_pool, deferred);
    if (atomic_load(&pool->broken))
        tell_broken(pool);
    else if (!release_pool(device, pool->pool, last_try))
        return false;
    culvi_log_object(&device->voice, "destroyed", "memory pool", pool->label, 0);
    culvi_tie_remove(&pool->tie);
    culvi_free(pool);
    return true;
}

void culvi_mem_pool_release_or_defer(culv_mem_pool *pool)
{
    culv_device *device = pool->device;
    culvi_scope scope;
    pool->deferred.release = release;
    culvi_mutex_lock(&device->lock);
    /* Not by culvi_release_or_defer(), whose collection releases other objects too, for which the
     * driver may wait. */
    bool entered = culvi_enter_quietly(device, &scope) == CUDA_SUCCESS;
    if (!(entered || device->lost) || !release(device, &pool->deferred, false))
        culvi_defer(device, &pool->deferred);
    if (entered) culvi_leave(device, &scope);
    culvi_mutex_unlock(&device->lock);
}

#ifdef _WIN32
/* This is the SECURITY_ATTRIBUTES of windows.h. Without a descriptor objects get this user's
 * default one. */
typedef struct security_attributes {
    unsigned long length;
    void *descriptor;
    int inherited;
} security_attributes;
#endif

/* Gives back a pool that has no object yet. */
static void unmake(culv_mem_pool *pool)
{
    if (atomic_load(&pool->broken)) {
        tell_broken(pool);
        return;
    }
    if (!release_pool(pool->device, pool->pool, false))
        (void)release_pool(pool->device, pool->pool, true);
}

/* Runs in the device's context. */
static culv_result make(culv_mem_pool *pool, const culv_mem_pool_desc *d)
{
    culv_device *device = pool->device;
    const uint32_t fabric = UINT32_C(1) << CULV_HANDLE_FABRIC;
    CUmemPoolProps props;
    memset(&props, 0, sizeof props);
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.handleTypes =
        (CUmemAllocationHandleType)culvi_vmm_to_cuda_handle_types(pool->handle_types);
    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    props.location.id = device->ordinal;
    props.maxSize = (size_t)d->max_size;
#ifdef _WIN32
    security_attributes own = {sizeof own, NULL, 0};
    if (d->handle_types & 1u << CULV_HANDLE_OPAQUE_WIN32) {
        const void *theirs = d->security_attributes;
        props.win32SecurityAttributes = &own;
        if (theirs != NULL)
            memcpy(&props.win32SecurityAttributes, &theirs, sizeof theirs); /* only read */
    }
#endif
    CUresult r = CULVI_CU(device, cuMemPoolCreate, (&pool->pool, &props));
    if (pool->handle_types & fabric && culvi_fabric_not_here(r))
        return culvi_fabric_refuse(device, pool->label, r, "cuMemPoolCreate");
    if (r != CUDA_SUCCESS && pool->handle_types != 0 && !culvi_cuda_sticky(r) &&
        !culvi_cuda_gone(r)) {
        culv_result left =
            culvi_handle_check_left(&device->voice, pool->label, "cuMemPoolCreate", "memory pool");
        if (left != CULV_OK) return left;
    }
    if (r != CUDA_SUCCESS)
        return culvi_fail_cuda(
            device, pool->label, r, "cuMemPoolCreate",
            d->max_size != 0 ? CULV_REASON_SIZE : CULV_REASON_DRIVER_REFUSED,
            "a memory pool could not be made%s",
            d->max_size != 0 ? " (culv_mem_pool_desc.max_size came with CUDA 12.2)" : "");
    culv_result result = CULV_OK;
    if (pool->handle_types & fabric) result = culvi_mem_pool_try_fabric(pool);
    if (result != CULV_OK) {
        unmake(pool);
        return result;
    }
    if (d->release_threshold == 0) return CULV_OK;
    cuuint64_t threshold = d->release_threshold;
    r = CULVI_CU(device, cuMemPoolSetAttribute,
                 (pool->pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    if (r == CUDA_SUCCESS) return CULV_OK;
    unmake(pool);
    return culvi_fail_cuda(
        device, pool->label, r, "cuMemPoolSetAttribute", CULV_REASON_DRIVER_REFUSED,
        "the pool's release_threshold of %" PRIu64 " bytes was refused", d->release_threshold);
}

/* Makes the pool with a fabric handle, where that works and is asked for. */
static culv_result make_either(culv_mem_pool *pool, const culv_mem_pool_desc *d, bool fabric)
{
    culv_result result;
    if (fabric) {
        pool->handle_types = d->handle_types | UINT32_C(1) << CULV_HANDLE_FABRIC;
        result = check_supported(pool);
        if (result == CULV_OK) result = make(pool, d);
        if (result != CULV_ERROR_UNSUPPORTED || d->fabric == CULV_FABRIC_REQUIRED) return result;
        culvi_fabric_log_without(pool->device, pool->label);
    }
    pool->handle_types = d->handle_types;
    atomic_store(&pool->broken, false);
    result = check_supported(pool);
    return result == CULV_OK ? make(pool, d) : result;
}

culv_result culv_mem_pool_create(culv_device *device, const culv_mem_pool_desc *desc,
                                 culv_mem_pool **out)
{
    culv_mem_pool_desc d;
    culvi_scope scope;
    CULVI_REQUIRE(NULL, device);
    CULVI_REQUIRE(&device->voice, out);
    culv_result result = culvi_desc_read(&device->voice, &d, sizeof d, desc, "culv_mem_pool_desc");
    if (result != CULV_OK) return result;
    if (d.max_size > SIZE_MAX)
        return culvi_fail(&device->voice, d.label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
                          "culv_mem_pool_desc.max_size is %" PRIu64
                          ", which is more than the address space has",
                          d.max_size);
    culv_mem_pool *pool = culvi_alloc(sizeof *pool);
    if (pool == NULL) return culvi_fail_host_memory(&device->voice, d.label);
    pool->device = device;
    atomic_init(&pool->exported, false);
    culvi_label_set(pool->label, d.label);
    result = culvi_enter(device, &scope, pool->label);
    if (result == CULV_OK) {
        bool fabric = false;
        result = culvi_mem_pool_check_device(device, pool->label);
        if (result == CULV_OK) result = check_handle_types(device, &d);
        if (result == CULV_OK)
            result = culvi_fabric_ask(device, d.fabric, "culv_mem_pool_desc.fabric", pool->label,
                                      &fabric);
        if (result == CULV_OK) result = make_either(pool, &d, fabric);
        culvi_leave(device, &scope);
    }
    if (result != CULV_OK) {
        culvi_free(pool);
        return result;
    }
    culvi_device_ref(device);
    culvi_log_object(&device->voice, "made", "memory pool", pool->label, 0);
    *out = pool;
    return CULV_OK;
}

void culv_mem_pool_destroy(culv_mem_pool **pool)
{
    if (pool == NULL || *pool == NULL) return;
    culv_mem_pool *mine = *pool;
    culv_device *device = mine->device;
    *pool = NULL;
    culvi_mem_pool_release_or_defer(mine);
    culvi_device_unref(device);
}

culv_result culv_mem_pool_get_info(const culv_mem_pool *pool, culv_mem_pool_info *out)
{
    culv_mem_pool_info info = culv_mem_pool_info_init();
    CULVI_REQUIRE(NULL, pool);
    CULVI_REQUIRE(&pool->device->voice, out);
    culv_result result = culvi_struct_check(&pool->device->voice, out, "culv_mem_pool_info");
    if (result != CULV_OK) return result;
    info.handle_types = pool->handle_types;
    info.native_handle = pool->pool;
    culvi_struct_write(out, &info, sizeof info);
    return CULV_OK;
}
