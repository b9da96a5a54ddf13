/* SPDX-License-Identifier: MIT */
/* culv_pool: a memory pool of this process, made and exported. */
#include "culvert/extra/mem_pool.h"

#include "inside.h"

#include <culvert/fabric.h>
#include <stdatomic.h>

enum { FABRIC_BIT = 1 << CULV_HANDLE_FABRIC, CU_FABRIC = 8 }; /* cuda.h has it from 12.3 on */

struct culv_pool {
    culv_device *device;
    CUmemoryPool pool;
    uint32_t handle_types; /* bits (1 << culv_handle_type) */
    atomic_bool exported;  /* from then on its pointers can be exported */
    /* An export failed in the driver. cuMemPoolDestroy would crash (measured on an H200, driver
     * 580.159, after CUDA_ERROR_OPERATING_SYSTEM). */
    atomic_bool broken;
    char label[64];
    culv_addon_object *object;
    _Atomic(culv_addon_object *) shared; /* it was exported */
};

static const struct {
    culv_handle_type type;
    unsigned cuda; /* CUmemAllocationHandleType */
} types[] = {
#ifdef _WIN32
    {CULV_HANDLE_OPAQUE_WIN32, CU_MEM_HANDLE_TYPE_WIN32},
    {CULV_HANDLE_OPAQUE_WIN32_KMT, CU_MEM_HANDLE_TYPE_WIN32_KMT},
#else
    {CULV_HANDLE_OPAQUE_FD, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR},
#endif
    {CULV_HANDLE_FABRIC, CU_FABRIC}};
enum {
    TYPES = sizeof types / sizeof types[0],
    /* Bits of the types of all systems. */
    ANYWHERE = 1 << CULV_HANDLE_OPAQUE_FD | 1 << CULV_HANDLE_OPAQUE_WIN32 |
               1 << CULV_HANDLE_OPAQUE_WIN32_KMT | FABRIC_BIT
};

static unsigned to_cuda(uint32_t bits)
{
    unsigned out = 0;
    for (int i = 0; i < TYPES; i++)
        if (bits & 1u << types[i].type) out |= types[i].cuda;
    return out;
}

static culv_result check_desc(culv_device *device, const culv_pool_desc *d)
{
    uint32_t here = 0;
    for (int i = 0; i < TYPES - 1; i++)
        here |= 1u << types[i].type;
    if (d->handle_types & ~here)
        return culvi_x_fail(
            device, d->label,
            d->handle_types & ~(uint32_t)ANYWHERE ? CULV_ERROR_INVALID : CULV_ERROR_UNSUPPORTED,
            CULV_REASON_HANDLE_TYPE,
            "culv_pool_desc.handle_types is %#" PRIx32 "; the types of this system are %#" PRIx32
            ", and `fabric` asks for fabric handles",
            d->handle_types, here);
    CULVI_X_REFUSE_IF(
        d->fabric < CULV_FABRIC_NO || d->fabric > CULV_FABRIC_REQUIRED, device, d->label,
        CULV_REASON_VALUE,
        "culv_pool_desc.fabric is %d; it is CULV_FABRIC_NO, CULV_FABRIC_TRY or CULV_FABRIC_REQUIRED",
        (int)d->fabric);
    return CULV_OK;
}

/* Runs in the device's context. *out: the CUmemAllocationHandleTypes of the device's pools. */
static culv_result check_device(culv_device *device, const char *label, unsigned *out)
{
    const culv_device_caps caps = culvi_x_caps(device);
    int pools = 0, handles = 0;
    CULVI_X_UNSUPPORTED_IF(
        caps.cig_context, device, label, CULV_REASON_CIG,
        "a CUDA-in-graphics (CIG) context has no memory pools; use memory of cuMemAlloc, or a device with another context");
    CULVI_X_TRY(CULV_CUDA_CHECK(device, cuMemPoolCreate));
    CUresult r = CULV_CUDA(device)->cuDeviceGetAttribute(
        &pools, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, (CUdevice)caps.ordinal);
    if (r == CUDA_SUCCESS)
        r = CULV_CUDA(device)->cuDeviceGetAttribute(
            &handles, CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES, (CUdevice)caps.ordinal);
    CULVI_X_TRY(culvi_x_result(device, label, r, "cuDeviceGetAttribute", CULV_REASON_DRIVER_REFUSED,
                               "the driver could not be asked for the memory pools of '%s'",
                               caps.name));
    *out = (unsigned)handles;
    if (pools) return CULV_OK;
    return culvi_x_fail(
        device, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_VMM,
        "'%s' has no memory pools (CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED is 0)", caps.name);
}

static int32_t release(void *user, const char **call)
{
    culv_pool *pool = user;
    *call = "cuMemPoolDestroy";
    if (atomic_load(&pool->broken)) return CUDA_SUCCESS;
    if (CULV_CUDA(pool->device)->cuMemPoolDestroy(pool->pool) == CUDA_SUCCESS) return CUDA_SUCCESS;
    /* It is the process's, not the context's: once more, even if an error was told that stays. */
    return (int32_t)CULV_CUDA(pool->device)->cuMemPoolDestroy(pool->pool);
}

static CUresult export(culv_pool *pool, void *place, unsigned type)
{
    const CUresult r = CULV_CUDA(pool->device)
                           ->cuMemPoolExportToShareableHandle(place, pool->pool,
                                                              (CUmemAllocationHandleType)type, 0);
    if (r == CUDA_ERROR_OPERATING_SYSTEM) atomic_store(&pool->broken, true);
    return r;
}

/* Runs in the device's context. Nothing is left after an error, of *call. */
static CUresult make(culv_pool *pool, const char **call)
{
    const culv_cuda_api *cuda = CULV_CUDA(pool->device);
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .handleTypes = (CUmemAllocationHandleType)to_cuda(pool->handle_types),
                            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE,
                                         .id = culvi_x_caps(pool->device).ordinal}};
#ifdef _WIN32
    SECURITY_ATTRIBUTES own = {.nLength = sizeof own}; /* this user's default descriptor */
    if (pool->handle_types & 1u << CULV_HANDLE_OPAQUE_WIN32) props.win32SecurityAttributes = &own;
#endif
    atomic_store(&pool->broken, false);
    *call = "cuMemPoolCreate";
    CUresult r = cuda->cuMemPoolCreate(&pool->pool, &props);
    if (r != CUDA_SUCCESS) return r;
    if (pool->handle_types & FABRIC_BIT) {
        /* An H200 without an IMEX channel makes such a pool all the same (R29). */
        uint8_t bytes[64];
        *call = "cuMemPoolExportToShareableHandle";
        r = export(pool, bytes, CU_FABRIC);
    }
    const char *ignored;
    if (r != CUDA_SUCCESS) CULVI_X_RELEASE(release(pool, &ignored));
    return r;
}

/* No file descriptor is left; the driver does not say so. */
static culv_result check_left(const culv_pool *pool, const char *call)
{
    const int error = culvi_x_files_left();
    if (error == 0) return CULV_OK;
    return culvi_x_fail_os(pool->device, pool->label, CULV_ERROR_INVALID, error, call,
                           "the process has no file descriptor left for a memory pool");
}

static culv_result refuse(const culv_pool *pool, CUresult r, const char *call)
{
    if (pool->handle_types & FABRIC_BIT &&
        (r == CUDA_ERROR_NOT_PERMITTED || r == CUDA_ERROR_NOT_SUPPORTED))
        return culvi_x_fail_native(
            pool->device, pool->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_HANDLE_TYPE, r, call,
            "%s of '%s' answered %d: fabric handles do not work here, and culv_check_fabric() says what to do; on one machine use OPAQUE_FD",
            call, culvi_x_caps(pool->device).name, (int)r);
    culv_result left = pool->handle_types != 0 ? check_left(pool, call) : CULV_OK;
    if (left != CULV_OK) return left;
    return culvi_x_result(pool->device, pool->label, r, call, CULV_REASON_DRIVER_REFUSED,
                          "a memory pool could not be made");
}

/* Runs in the device's context. With a fabric handle, if that works and is asked for. */
static culv_result make_either(culv_pool *pool, const culv_pool_desc *d)
{
    unsigned supported = 0;
    const char *call = NULL;
    const bool required = d->fabric == CULV_FABRIC_REQUIRED;
    CULVI_X_TRY(check_device(pool->device, pool->label, &supported));
    if (required) CULVI_X_TRY(culv_check_fabric(pool->device));
    pool->handle_types = d->handle_types;
    if (required || (d->fabric == CULV_FABRIC_TRY && culvi_x_caps(pool->device).vmm_fabric &&
                     supported & CU_FABRIC))
        pool->handle_types |= FABRIC_BIT;
    CULVI_X_UNSUPPORTED_IF(
        to_cuda(pool->handle_types) & ~supported, pool->device, pool->label,
        CULV_REASON_HANDLE_TYPE,
        "culv_pool_desc.handle_types (with fabric: bit %d) is %#" PRIx32
        ", but pools of '%s' are exported only as CUmemAllocationHandleType bits %#x (CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES)",
        (int)CULV_HANDLE_FABRIC, pool->handle_types, culvi_x_caps(pool->device).name, supported);
    CUresult r = make(pool, &call);
    if (!required && pool->handle_types & FABRIC_BIT &&
        (r == CUDA_ERROR_NOT_PERMITTED || r == CUDA_ERROR_NOT_SUPPORTED)) {
        pool->handle_types = d->handle_types;
        r = make(pool, &call);
    }
    if (r != CUDA_SUCCESS) return refuse(pool, r, call);
    CULVI_X_TRY_OR(CULVI_X_OBJECT(pool->device, &pool->object, .kind = "memory pool",
                                  .label = pool->label, .release = release, .free = culvi_x_free,
                                  .user = pool),
                   CULVI_X_RELEASE(release(pool, &call)));
    return CULV_OK;
}

culv_result culv_pool_create(culv_device *device, const culv_pool_desc *desc, culv_pool **out)
{
    culv_pool_desc d = culv_pool_desc_init();
    CULVI_X_REQUIRE_WITH(device, device, out);
    CULVI_X_TRY(desc != NULL ? culvi_x_desc_read(device, &d, sizeof d, desc, "culv_pool_desc")
                             : CULV_OK);
    CULVI_X_TRY(check_desc(device, &d));
    CULVI_X_NEW(culv_pool, pool, device, d.label);
    pool->device = device;
    culvi_x_label_set(pool->label, d.label);
    CULVI_X_INSIDE(result, device, make_either(pool, &d));
    CULVI_X_TRY_OR(result, culvi_x_free(pool));
    *out = pool;
    return CULV_OK;
}

void culv_pool_destroy(culv_pool **pool)
{
    culv_pool *mine = culvi_x_take(pool);
    if (mine == NULL) return;
    culv_addon_object *object = mine->object, *shared = atomic_load(&mine->shared);
    culv_addon_object_destroy(&object, NULL);
    culv_addon_object_destroy(&shared, NULL);
}

culv_result culv_pool_get_info(const culv_pool *pool, culv_pool_info *out)
{
    culv_pool_info info = culv_pool_info_init();
    CULVI_X_REQUIRE(NULL, pool);
    CULVI_X_TRY(culvi_x_out_check(pool->device, __func__, out, "culv_pool_info"));
    info.handle_types = pool->handle_types;
    info.native_handle = pool->pool;
    culvi_x_struct_write(out, &info, sizeof info);
    return CULV_OK;
}

/* Notes that it is exported: no checkpoint keeps that. */
static culv_result note_shared(culv_pool *pool)
{
    culv_addon_object *made = NULL, *none = NULL;
    if (atomic_load(&pool->shared) != NULL) return CULV_OK;
    culv_result result =
        CULVI_X_OBJECT(pool->device, &made, .kind = "exported memory pool", .label = pool->label,
                       .not_suspended = "was exported; destroy it before");
    if (result == CULV_OK && !atomic_compare_exchange_strong(&pool->shared, &none, made))
        culv_addon_object_destroy(&made, NULL); /* another thread was first */
    return result;
}

culv_result culv_pool_export_dup(culv_pool *pool, culv_handle_type type, culv_handle *out)
{
    culv_handle handle;
    int at = 0;
    CULVI_X_REQUIRE_WITH(pool, pool->device, out);
    while (at < TYPES && types[at].type != type)
        at++;
    if (at == TYPES)
        return culvi_x_fail(pool->device, pool->label,
                            (uint32_t)type < 32 && ANYWHERE >> type & 1 ? CULV_ERROR_UNSUPPORTED
                                                                        : CULV_ERROR_INVALID,
                            CULV_REASON_HANDLE_TYPE,
                            "culv_pool_export_dup: type is %d, as which no pool is exported here",
                            (int)type);
    CULVI_X_REFUSE_IF(
        !(pool->handle_types & UINT32_C(1) << type), pool->device, pool->label,
        CULV_REASON_NOT_EXPORTABLE, "culv_pool_export_dup: the pool was not made for it; %s",
        type == CULV_HANDLE_FABRIC
            ? "set culv_pool_desc.fabric, and culv_check_fabric() says why there may be none"
            : "set the type's bit in culv_pool_desc.handle_types");
    memset(&handle, 0, sizeof handle);
    handle.type = type;
    /* Asked before: a driver that finds no descriptor left breaks the pool. */
    CULVI_X_TRY(type != CULV_HANDLE_FABRIC ? check_left(pool, "cuMemPoolExportToShareableHandle")
                                           : CULV_OK);
    CULVI_X_TRY(note_shared(pool));
    CULVI_X_CU_INSIDE(r, pool->device, export(pool, &handle.value, types[at].cuda));
    CULVI_X_TRY(culvi_x_result(pool->device, pool->label, r, "cuMemPoolExportToShareableHandle",
                               CULV_REASON_NOT_EXPORTABLE, "the pool could not be exported"));
    if (type == CULV_HANDLE_OPAQUE_FD) culvi_x_keep_private(handle.value.fd);
    atomic_store(&pool->exported, true);
    *out = handle;
    return CULV_OK;
}

/* Runs in the device's context. */
static culv_result export_pointer(const culv_pool *pool, CUdeviceptr pointer,
                                  CUmemPoolPtrExportData *out)
{
    const culv_cuda_api *cuda = CULV_CUDA(pool->device);
    CUmemoryPool found = NULL;
    CUpointer_attribute attribute = CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE;
    void *value = &found;
    /* That it is of this pool: the driver's own refusal would not say so. */
    CUresult r = cuda->cuPointerGetAttributes(1, &attribute, &value, pointer);
    CULVI_X_TRY(culvi_x_result(
        pool->device, pool->label, r, "cuPointerGetAttributes", CULV_REASON_DRIVER_REFUSED,
        "the driver could not be asked which pool %#" PRIx64 " belongs to", (uint64_t)pointer));
    CULVI_X_REFUSE_IF(
        found != pool->pool, pool->device, pool->label, CULV_REASON_VALUE,
        "culv_pool_export_pointer: pointer is %#" PRIx64 ", which is %s", (uint64_t)pointer,
        found == NULL ? "not memory of a pool; culv_pointer_get_info() says what it is"
                      : "memory of another pool");
    r = cuda->cuMemPoolExportPointer(out, pointer);
    return culvi_x_result(
        pool->device, pool->label, r, "cuMemPoolExportPointer", CULV_REASON_NOT_EXPORTABLE,
        "memory at %#" PRIx64
        " could not be exported; pass the start of an allocation that is not freed",
        (uint64_t)pointer);
}

culv_result culv_pool_export_pointer(culv_pool *pool, CUdeviceptr pointer,
                                     culv_mem_pool_pointer *out)
{
    CUmemPoolPtrExportData data = {0};
    _Static_assert(sizeof data == sizeof out->data, "what is sent is all that the driver made");
    CULVI_X_REQUIRE(NULL, pool);
    if (pointer == 0) return culvi_x_fail_null(pool->device, __func__, "pointer");
    CULVI_X_REQUIRE(pool->device, out);
    CULVI_X_REFUSE_IF(
        pool->handle_types == 0, pool->device, pool->label, CULV_REASON_NOT_EXPORTABLE,
        "culv_pool_export_pointer: the pool was made without culv_pool_desc.handle_types");
    CULVI_X_REFUSE_IF(
        !atomic_load(&pool->exported), pool->device, pool->label, CULV_REASON_NOT_READY,
        "culv_pool_export_pointer: the pool was not exported yet; CUDA exports pointers only from a pool that was shared before (cuda.h): call culv_pool_export_dup() first");
    CULVI_X_INSIDE(result, pool->device, export_pointer(pool, pointer, &data));
    if (result == CULV_OK) memcpy(out->data, &data, sizeof out->data);
    return result;
}
