/* SPDX-License-Identifier: MIT */
/* Pools and their pointers in other processes. */
#include "base/alloc.h"
#include "base/desc.h"
#include "core/import.h"
#include "cuda/context.h"
#include "vmm/mem_pool.h"
#include "vmm/property.h"

#include <inttypes.h>

culv_result culv_mem_pool_export_dup(culv_mem_pool *pool, culv_handle_type type, culv_handle *out)
{
    culvi_scope scope;
    culv_handle handle;
    CULVI_REQUIRE(NULL, pool);
    CULVI_REQUIRE(&pool->device->voice, out);
    culv_device *device = pool->device;
    const bool fabric = type == CULV_HANDLE_FABRIC;
    culv_result result =
        fabric ? CULV_OK
               : culvi_handle_use_check(&device->voice, pool->label,
                                        "culv_mem_pool_export_dup: type", type, CULVI_USE_VMM);
    if (result != CULV_OK) return result;
    if (pool->imported || !(pool->handle_types & UINT32_C(1) << type))
        return culvi_fail(
            &device->voice, pool->label, CULV_ERROR_INVALID, CULV_REASON_NOT_EXPORTABLE,
            "culv_mem_pool_export_dup: the pool %s; %s",
            pool->imported ? "was imported" : "was not made for it",
            pool->imported ? "its owner exports it, and a handle is passed on by culv_handle_dup()"
            : fabric ? "set culv_mem_pool_desc.fabric, and culv_check_fabric() says why there "
                       "may be none"
                     : "set the type's bit in culv_mem_pool_desc.handle_types");
    memset(&handle, 0, sizeof handle);
    handle.type = type;
    result = culvi_enter(device, &scope, pool->label);
    if (result != CULV_OK) return result;
    const bool fd = culvi_handle_row_of(type)->kind == CULVI_KIND_FD;
    void *place = fd ? (void *)&handle.value.fd : (void *)&handle.value;
    /* Asked before: a driver that finds no handle left breaks the pool. */
    if (!fabric)
        result = culvi_handle_check_left(&device->voice, pool->label,
                                         "cuMemPoolExportToShareableHandle", "memory pool");
    if (result != CULV_OK) {
        culvi_leave(device, &scope);
        return result;
    }
    CUresult r = CULVI_CU(device, cuMemPoolExportToShareableHandle,
                          (place, pool->pool,
                           (CUmemAllocationHandleType)culvi_handle_number(type, CULVI_USE_VMM), 0));
    culvi_leave(device, &scope);
    if (r == CUDA_ERROR_OPERATING_SYSTEM) atomic_store(&pool->broken, true);
    if (r != CUDA_SUCCESS && !fabric && !culvi_cuda_sticky(r) && !culvi_cuda_gone(r))
        result = culvi_handle_check_left(&device->voice, pool->label,
                                         "cuMemPoolExportToShareableHandle", "memory pool");
    if (result != CULV_OK) return result;
    if (r != CUDA_SUCCESS)
        return culvi_fail_cuda(device, pool->label, r, "cuMemPoolExportToShareableHandle",
                               CULV_REASON_NOT_EXPORTABLE, "the pool could not be exported as %s",
                               culvi_handle_type_name(type));
    if (fd) culvi_handle_keep_private(&handle);
    atomic_store(&pool->exported, true);
    culvi_mem_pool_shared(pool);
    *out = handle;
    return CULV_OK;
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
        text, "it must be of a memory pool (culv_mem_pool_export_dup(), "
              "cuMemPoolExportToShareableHandle), which must still be alive in its own process");
}

culv_result culvi_mem_pool_allow(culv_mem_pool *pool)
{
    culv_device *device = pool->device;
    CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    culvi_scope scope;
    CUmemAccessDesc access;
    memset(&access, 0, sizeof access);
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = device->ordinal;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    culv_result result = culvi_enter(device, &scope, pool->label);
    if (result != CULV_OK) return result;
    const char *call = "cuMemPoolGetAccess";
    CUresult r = CULVI_CU(device, cuMemPoolGetAccess, (&flags, pool->pool, &access.location));
    if (r == CUDA_SUCCESS && flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
        call = "cuMemPoolSetAccess";
        r = CULVI_CU(device, cuMemPoolSetAccess, (pool->pool, &access, 1));
    }
    culvi_leave(device, &scope);
    if (r == CUDA_SUCCESS) return CULV_OK;
    return culvi_fail_cuda(
        device, pool->label, r, call, CULV_REASON_PEER,
        "'%s' could not be given access to the imported pool; a pool of another GPU needs a "
        "device that reaches that GPU (cuDeviceCanAccessPeer)",
        device->caps.name);
}

culv_result culv_mem_pool_import(culv_device *device, const culv_mem_pool_import_desc *desc,
                                 culv_mem_pool **out)
{
    static const culv_uuid any;
    culv_mem_pool_import_desc d;
    uint64_t uncounted = 0;
    CULVI_REQUIRE(NULL, device);
    CULVI_REQUIRE2(&device->voice, desc, out);
    culv_result result =
        culvi_desc_read(&device->voice, &d, sizeof d, desc, "culv_mem_pool_import_desc");
    if (result != CULV_OK) return result;
    culvi_import import = {.what = "memory pool",
                           .call = "cuMemPoolImportFromShareableHandle",
                           .field = "culv_mem_pool_import_desc.handle",
                           .source =
                               "culv_mem_pool_export_dup() (cuMemPoolExportToShareableHandle)",
                           .use = CULVI_USE_VMM,
                           .handle = &d.handle,
                           .label = d.label,
                           .count = &uncounted,
                           .lent = true,
                           .give = give,
                           .describe = describe};
    const bool fabric = d.handle.type == CULV_HANDLE_FABRIC;
    if (!fabric)
        result =
            culvi_handle_use_check(&device->voice, d.label, "culv_mem_pool_import_desc.handle.type",
                                   d.handle.type, CULVI_USE_VMM);
    if (result != CULV_OK) return result;
    if (d.handle.name != NULL && culvi_handle_row_of(d.handle.type)->kind == CULVI_KIND_NT)
        return culvi_fail(&device->voice, d.label, CULV_ERROR_INVALID, CULV_REASON_HANDLE_TYPE,
                          "culv_mem_pool_import_desc.handle is a name; pass a handle that "
                          "culv_mem_pool_export_dup() made");
    result = culvi_mem_pool_check_device(device, d.label);
    if (result == CULV_OK && !fabric) result = culvi_import_check(device, &import, &any);
    if (result != CULV_OK) return result;
    culv_mem_pool *pool = culvi_alloc(sizeof *pool);
    if (pool == NULL) return culvi_fail_host_memory(&device->voice, d.label);
    pool->device = device;
    pool->imported = true;
    atomic_init(&pool->exported, false);
    culvi_label_set(pool->label, d.label);
    result = fabric ? culvi_mem_pool_import_fabric(pool, &d.handle)
                    : culvi_import_run(device, &import, pool);
    if (result != CULV_OK) {
        culvi_free(pool);
        return result;
    }
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

/* That the memory is of this pool: the driver's own refusal would not say so. In the device's
 * context. */
static culv_result check_pointer(const culv_mem_pool *pool, CUdeviceptr pointer)
{
    CUmemoryPool found = NULL;
    CUpointer_attribute attribute = CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE;
    void *value = &found;
    CUresult r = CULVI_CU(pool->device, cuPointerGetAttributes, (1, &attribute, &value, pointer));
    if (r != CUDA_SUCCESS)
        return culvi_fail_cuda(
            pool->device, pool->label, r, "cuPointerGetAttributes", CULV_REASON_DRIVER_REFUSED,
            "the driver could not be asked which pool %#" PRIx64 " belongs to", (uint64_t)pointer);
    if (found == pool->pool) return CULV_OK;
    return culvi_fail(&pool->device->voice, pool->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                      "culv_mem_pool_export_pointer: pointer is %#" PRIx64 ", which is %s",
                      (uint64_t)pointer,
                      found == NULL ? "not memory of a pool; culv_pointer_get_info() says what it "
                                      "is"
                                    : "memory of another pool");
}

culv_result culv_mem_pool_export_pointer(culv_mem_pool *pool, CUdeviceptr pointer,
                                         culv_mem_pool_pointer *out)
{
    culvi_scope scope;
    CUmemPoolPtrExportData data;
    CULVI_REQUIRE(NULL, pool);
    culv_device *device = pool->device;
    if (pointer == 0)
        return culvi_fail(&device->voice, NULL, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
                          "culv_mem_pool_export_pointer: pointer is 0");
    CULVI_REQUIRE(&device->voice, out);
    if (pool->imported || pool->handle_types == 0)
        return culvi_fail(&device->voice, pool->label, CULV_ERROR_INVALID,
                          CULV_REASON_NOT_EXPORTABLE, "culv_mem_pool_export_pointer: the pool %s",
                          pool->imported ? "was imported: its owner exports its pointers"
                                         : "was made without culv_mem_pool_desc.handle_types");
    if (!atomic_load(&pool->exported))
        return culvi_fail(
            &device->voice, pool->label, CULV_ERROR_INVALID, CULV_REASON_NOT_READY,
            "culv_mem_pool_export_pointer: the pool was not exported yet; CUDA exports pointers "
            "only from a pool that was shared before (cuda.h): call culv_mem_pool_export_dup() "
            "first");
    culv_result result = culvi_enter(device, &scope, pool->label);
    if (result != CULV_OK) return result;
    result = check_pointer(pool, pointer);
    memset(&data, 0, sizeof data);
    CUresult r = result == CULV_OK ? CULVI_CU(device, cuMemPoolExportPointer, (&data, pointer))
                                   : CUDA_SUCCESS;
    culvi_leave(device, &scope);
    if (r != CUDA_SUCCESS)
        return culvi_fail_cuda(
            device, pool->label, r, "cuMemPoolExportPointer", CULV_REASON_NOT_EXPORTABLE,
            "memory at %#" PRIx64 " could not be exported; pass the start of an allocation that "
            "is not freed",
            (uint64_t)pointer);
    if (result == CULV_OK) memcpy(out->data, &data, sizeof out->data);
    return result;
}

culv_result culv_mem_pool_import_pointer(culv_mem_pool *pool, const culv_mem_pool_pointer *pointer,
                                         CUdeviceptr *out)
{
    culvi_scope scope;
    CUmemPoolPtrExportData data;
    CUdeviceptr found = 0;
    _Static_assert(sizeof data == sizeof pointer->data, "what is sent is all that the driver made");
    CULVI_REQUIRE(NULL, pool);
    CULVI_REQUIRE2(&pool->device->voice, pointer, out);
    culv_device *device = pool->device;
    if (!pool->imported)
        return culvi_fail(
            &device->voice, pool->label, CULV_ERROR_INVALID, CULV_REASON_USAGE,
            "culv_mem_pool_import_pointer: the pool is this process's own, and its pointers are "
            "valid here as they are");
    memcpy(&data, pointer->data, sizeof data);
    culv_result result = culvi_enter(device, &scope, pool->label);
    if (result != CULV_OK) return result;
    CUresult r = CULVI_CU(device, cuMemPoolImportPointer, (&found, pool->pool, &data));
    culvi_leave(device, &scope);
    if (r != CUDA_SUCCESS)
        return culvi_fail_cuda(device, pool->label, r, "cuMemPoolImportPointer",
                               CULV_REASON_HANDLE_REFUSED,
                               "an allocation of the pool could not be imported; was it exported "
                               "from this very pool, and is it still allocated?");
    *out = found;
    return CULV_OK;
}
