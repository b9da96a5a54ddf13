/* SPDX-License-Identifier: MIT */
/* NvSciBuf and NvSciSync objects in CUDA. Of NvSci's own calls only those of a duplicate with less
 * permission are made; the library is loaded for them. */
#include "culvert/extra/nvsci.h"

#include "inside.h"

/* nvscibuf.h */
enum { NVSCI_READ_ONLY = 1 /* NvSciBufAccessPerm_Readonly */, NVSCI_SUCCESS = 0 };
typedef int (*dup_with_reduce_perm)(void *object, int perm, void **out);
typedef void (*object_free)(void *object);

struct culv_nvsci_buffer {
    culv_device *device;
    uint64_t size;
    void *library; /* NULL: the caller's object was imported */
    void *duplicate;
    object_free free_duplicate;
    CUexternalMemory memory;
    CUdeviceptr pointer;
    CUmipmappedArray arrays;
    CUarray array;
    char label[64];
    culv_addon_object *object;
};

struct culv_nvsci_sync {
    culv_device *device;
    culv_addon_object *object;
    CUexternalSemaphore semaphore;
};

/* Checkpoints restore no imports. */
static const char not_suspended[] =
    "is an import; destroy it before, and make it again after culv_device_resume()";

/* Buffers -------------------------------------------------------------------------------------- */

static culv_result reduce(culv_nvsci_buffer *b, const void *object)
{
    static const char *const names[] = {"libnvscibuf.so.1", "libnvscibuf.so"};
    culv_device *device = b->device;
    dup_with_reduce_perm dup = NULL;
    char why[256] = "";
    for (size_t i = 0; b->library == NULL && i < sizeof names / sizeof names[0]; i++)
        b->library = culvi_x_module_open(names[i], why, sizeof why);
    CULVI_X_UNSUPPORTED_IF(
        b->library == NULL, device, b->label, CULV_REASON_LIBRARY,
        "culv_nvsci_buffer_desc.read_only needs libnvscibuf, which could not be loaded: %s", why);
    CULVI_X_UNSUPPORTED_IF(
        !culvi_x_module_find(b->library, "NvSciBufObjDupWithReducePerm", &dup) ||
            !culvi_x_module_find(b->library, "NvSciBufObjFree", &b->free_duplicate),
        device, b->label, CULV_REASON_LIBRARY, "libnvscibuf lacks %s",
        dup == NULL ? "NvSciBufObjDupWithReducePerm" : "NvSciBufObjFree");
    int r = dup((void *)(uintptr_t)object, NVSCI_READ_ONLY, &b->duplicate);
    if (r == NVSCI_SUCCESS && b->duplicate != NULL) return CULV_OK;
    b->duplicate = NULL;
    return culvi_x_fail(
        device, b->label, CULV_ERROR_DRIVER, CULV_REASON_DRIVER_REFUSED,
        "NvSciBufObjDupWithReducePerm answered %d: the object has no duplicate that is only read",
        r);
}

static culv_result import(culv_nvsci_buffer *b, const void *object)
{
    culv_device *device = b->device;
    const CUDA_EXTERNAL_MEMORY_HANDLE_DESC d = {.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_NVSCIBUF,
                                                .handle.nvSciBufObject =
                                                    b->duplicate != NULL ? b->duplicate : object,
                                                .size = b->size};
    CULVI_X_CU_INSIDE(r, device, CULV_CUDA(device)->cuImportExternalMemory(&b->memory, &d));
    if (r == CUDA_SUCCESS) return CULV_OK;
    if (r == CUDA_ERROR_NOT_SUPPORTED)
        return culvi_x_fail_native(device, b->label, CULV_ERROR_UNSUPPORTED,
                                   CULV_REASON_HANDLE_TYPE, r, "cuImportExternalMemory",
                                   "the driver of '%s' takes no NvSciBuf objects",
                                   culvi_x_caps(device).name);
    return culvi_x_result(
        device, b->label, r, "cuImportExternalMemory", CULV_REASON_HANDLE_REFUSED,
        "an NvSciBuf object of %" PRIu64
        " bytes could not be imported; it needs NvSciBufGeneralAttrKey_GpuId with this device's UUID, and drivers of desktop GPUs take none",
        b->size);
}

/* What was imported last goes first. */
static void release(culv_nvsci_buffer *b)
{
    uint64_t scope;
    if (b == NULL) return;
    const culv_cuda_api *cu = CULV_CUDA(b->device);
    if (b->memory != NULL && culv_device_enter(b->device, 1, &scope) == CULV_OK) {
        if (b->pointer != 0) CULVI_X_RELEASE(cu->cuMemFree(b->pointer));
        if (b->arrays != NULL) CULVI_X_RELEASE(cu->cuMipmappedArrayDestroy(b->arrays));
        CULVI_X_RELEASE(cu->cuDestroyExternalMemory(b->memory));
        culv_device_leave(b->device, scope);
    }
    if (b->duplicate != NULL) b->free_duplicate(b->duplicate);
    if (b->library != NULL) culvi_x_module_close(b->library);
    culv_addon_object_destroy(&b->object, NULL);
    culvi_x_free(b);
}

culv_result culv_nvsci_buffer_import(culv_device *device, const culv_nvsci_buffer_desc *desc,
                                     culv_nvsci_buffer **out)
{
    CULVI_X_REQUIRE_WITH2(device, device, desc, out);
    CULVI_X_READ(device, culv_nvsci_buffer_desc, d, desc);
    CULVI_X_REFUSE_IF(d.object == NULL, device, d.label, CULV_REASON_NULL_ARGUMENT,
                      "culv_nvsci_buffer_desc.object is NULL");
    CULVI_X_REFUSE_IF(d.size == 0, device, d.label, CULV_REASON_SIZE,
                      "culv_nvsci_buffer_desc.size is 0");
    CULVI_X_NEW(culv_nvsci_buffer, b, device, d.label);
    b->device = device;
    b->size = d.size;
    culvi_x_label_set(b->label, d.label);
    culv_result result = d.read_only ? reduce(b, d.object) : CULV_OK;
    if (result == CULV_OK) result = import(b, d.object);
    if (result == CULV_OK)
        result = CULVI_X_OBJECT(device, &b->object, .kind = "NvSciBuf object", .label = b->label,
                                .size = b->size, .not_suspended = not_suspended);
    CULVI_X_TRY_OR(result, release(b));
    *out = b;
    return CULV_OK;
}

void culv_nvsci_buffer_destroy(culv_nvsci_buffer **buffer)
{
    release(culvi_x_take(buffer));
}

static culv_result mapped_otherwise(const culv_nvsci_buffer *b, const char *call, const char *as)
{
    return culvi_x_fail(b->device, b->label, CULV_ERROR_INVALID, CULV_REASON_USAGE,
                        "%s: the object is mapped as %s already; import it once more", call, as);
}

culv_result culv_nvsci_buffer_get_pointer(culv_nvsci_buffer *buffer, CUdeviceptr *out)
{
    CULVI_X_REQUIRE_WITH(buffer, buffer->device, out);
    culv_device *device = buffer->device;
    if (buffer->arrays != NULL) return mapped_otherwise(buffer, __func__, "an array");
    if (buffer->pointer == 0) {
        const CUDA_EXTERNAL_MEMORY_BUFFER_DESC d = {.size = buffer->size};
        CULVI_X_CU_INSIDE(r, device,
                          CULV_CUDA(device)->cuExternalMemoryGetMappedBuffer(&buffer->pointer,
                                                                             buffer->memory, &d));
        CULVI_X_TRY(culvi_x_result(
            device, buffer->label, r, "cuExternalMemoryGetMappedBuffer", CULV_REASON_DRIVER_REFUSED,
            "%" PRIu64 " bytes of NvSciBuf memory could not be mapped", buffer->size));
    }
    *out = buffer->pointer;
    return CULV_OK;
}

/* Runs in the device's context. */
static culv_result map_array(culv_nvsci_buffer *b, const culv_nvsci_array_desc *array)
{
    culv_device *device = b->device;
    const culv_cuda_api *cu = CULV_CUDA(device);
    CUmipmappedArray arrays = NULL;
    const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC d = {
        .offset = array->offset,
        .arrayDesc = {.Width = (size_t)array->width,
                      .Height = (size_t)array->height,
                      .Depth = (size_t)array->depth,
                      .Format = (CUarray_format)array->cuda_format,
                      .NumChannels = array->channels,
                      .Flags = array->flags},
        .numLevels = 1 /* cuda.h: of NvSciBuf memory no more */};
    const char *call = "cuExternalMemoryGetMappedMipmappedArray";
    CUresult r = cu->cuExternalMemoryGetMappedMipmappedArray(&arrays, b->memory, &d);
    if (r == CUDA_SUCCESS) {
        call = "cuMipmappedArrayGetLevel";
        r = cu->cuMipmappedArrayGetLevel(&b->array, arrays, 0);
        if (r == CUDA_SUCCESS)
            b->arrays = arrays;
        else
            CULVI_X_RELEASE(cu->cuMipmappedArrayDestroy(arrays));
    }
    return culvi_x_result(device, b->label, r, call, CULV_REASON_DRIVER_REFUSED,
                          "the NvSciBuf image could not be mapped as an array");
}

culv_result culv_nvsci_buffer_get_array(culv_nvsci_buffer *buffer,
                                        const culv_nvsci_array_desc *desc, CUarray *out)
{
    CULVI_X_REQUIRE_WITH2(buffer, buffer->device, desc, out);
    culv_device *device = buffer->device;
    CULVI_X_READ(device, culv_nvsci_array_desc, d, desc);
    if (buffer->pointer != 0) return mapped_otherwise(buffer, __func__, "a buffer");
    CULVI_X_REFUSE_IF(d.offset >= buffer->size, device, buffer->label, CULV_REASON_RANGE,
                      "culv_nvsci_array_desc.offset is %" PRIu64 ", and the object has %" PRIu64
                      " bytes",
                      d.offset, buffer->size);
    if (buffer->arrays == NULL) {
        CULVI_X_INSIDE(result, device, map_array(buffer, &d));
        CULVI_X_TRY(result);
    }
    *out = buffer->array;
    return CULV_OK;
}

/* Sync objects --------------------------------------------------------------------------------- */

culv_result culv_nvsci_get_sync_attributes(culv_device *device, void *attribute_list,
                                           uint32_t roles)
{
    CULVI_X_REQUIRE_WITH(device, device, attribute_list);
    if (roles == 0 || (roles & ~(uint32_t)(CULV_NVSCI_SIGNALS | CULV_NVSCI_WAITS)) != 0)
        return culvi_x_fail(device, NULL, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                            "%s: roles is %#x; it has CULV_NVSCI_SIGNALS, CULV_NVSCI_WAITS or both",
                            __func__, (unsigned)roles);
    CUresult r = CUDA_ERROR_NOT_SUPPORTED;
    CUresult (*ask)(void *list, CUdevice device, int flags) = NULL;
    void (*found)(void) = culv_device_cuda_proc(device, "cuDeviceGetNvSciSyncAttributes", 10020);
    memcpy(&ask, &found, sizeof ask);
    if (ask != NULL) r = ask(attribute_list, culvi_x_caps(device).ordinal, (int)roles);
    if (r == CUDA_SUCCESS) return CULV_OK;
    if (r == CUDA_ERROR_NOT_SUPPORTED)
        return culvi_x_fail_native(device, NULL, CULV_ERROR_UNSUPPORTED, CULV_REASON_HANDLE_TYPE, r,
                                   "cuDeviceGetNvSciSyncAttributes",
                                   "the driver of '%s' knows no NvSciSync",
                                   culvi_x_caps(device).name);
    return culvi_x_result(device, NULL, r, "cuDeviceGetNvSciSyncAttributes",
                          CULV_REASON_DRIVER_REFUSED,
                          "the attributes of a sync object could not be asked for");
}

static culv_result import_sync(culv_nvsci_sync *sync, const void *object)
{
    culv_device *device = sync->device;
    const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC d = {
        .type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_NVSCISYNC, .handle.nvSciSyncObj = object};
    CULVI_X_CU_INSIDE(r, device,
                      CULV_CUDA(device)->cuImportExternalSemaphore(&sync->semaphore, &d));
    if (r == CUDA_ERROR_NOT_SUPPORTED)
        return culvi_x_fail_native(device, NULL, CULV_ERROR_UNSUPPORTED, CULV_REASON_HANDLE_TYPE, r,
                                   "cuImportExternalSemaphore",
                                   "the driver of '%s' takes no NvSciSync objects",
                                   culvi_x_caps(device).name);
    CULVI_X_TRY(culvi_x_result(
        device, NULL, r, "cuImportExternalSemaphore", CULV_REASON_HANDLE_REFUSED,
        "an NvSciSync object could not be imported; make it of culv_nvsci_get_sync_attributes()"));
    return CULVI_X_OBJECT(device, &sync->object, .kind = "NvSciSync object",
                          .not_suspended = not_suspended);
}

culv_result culv_nvsci_sync_import(culv_device *device, const void *object, culv_nvsci_sync **out)
{
    CULVI_X_REQUIRE_WITH2(device, device, object, out);
    CULVI_X_NEW(culv_nvsci_sync, sync, device, NULL);
    sync->device = device;
    const culv_result result = import_sync(sync, object);
    CULVI_X_TRY_OR(result, culv_nvsci_sync_destroy(&sync));
    *out = sync;
    return CULV_OK;
}

void culv_nvsci_sync_destroy(culv_nvsci_sync **sync)
{
    uint64_t scope;
    culv_nvsci_sync *mine = culvi_x_take(sync);
    if (mine == NULL) return;
    if (mine->semaphore != NULL && culv_device_enter(mine->device, 1, &scope) == CULV_OK) {
        CULVI_X_RELEASE(CULV_CUDA(mine->device)->cuDestroyExternalSemaphore(mine->semaphore));
        culv_device_leave(mine->device, scope);
    }
    culv_addon_object_destroy(&mine->object, NULL);
    culvi_x_free(mine);
}

static culv_result use(culv_nvsci_sync *sync, bool signals, void *fence, uint32_t flags,
                       CUstream stream, const char *function)
{
    culv_device *device = sync->device;
    const bool skip = (flags & CULV_NVSCI_SKIP_MEMSYNC) != 0;
    CULVI_X_REFUSE_IF((flags & ~(uint32_t)CULV_NVSCI_SKIP_MEMSYNC) != 0, device, NULL,
                      CULV_REASON_VALUE, "%s: flags is %#x; it is 0 or CULV_NVSCI_SKIP_MEMSYNC",
                      function, (unsigned)flags);
    const culv_cuda_api *cu = CULV_CUDA(device);
    const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal = {
        .params.nvSciSync.fence = fence,
        .flags = skip ? CUDA_EXTERNAL_SEMAPHORE_SIGNAL_SKIP_NVSCIBUF_MEMSYNC : 0};
    const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait = {
        .params.nvSciSync.fence = fence,
        .flags = skip ? CUDA_EXTERNAL_SEMAPHORE_WAIT_SKIP_NVSCIBUF_MEMSYNC : 0};
    CULVI_X_CU_INSIDE(
        r, device,
        signals ? cu->cuSignalExternalSemaphoresAsync(&sync->semaphore, &signal, 1, stream)
                : cu->cuWaitExternalSemaphoresAsync(&sync->semaphore, &wait, 1, stream));
    return culvi_x_result(device, NULL, r,
                          signals ? "cuSignalExternalSemaphoresAsync"
                                  : "cuWaitExternalSemaphoresAsync",
                          CULV_REASON_DRIVER_REFUSED, "a fence of NvSciSync could not be %s",
                          signals ? "signaled" : "waited for");
}

culv_result culv_nvsci_sync_signal(culv_nvsci_sync *sync, void *fence, uint32_t flags,
                                   CUstream stream)
{
    CULVI_X_REQUIRE_WITH(sync, sync->device, fence);
    return use(sync, true, fence, flags, stream, __func__);
}

culv_result culv_nvsci_sync_wait(culv_nvsci_sync *sync, void *fence, uint32_t flags,
                                 CUstream stream)
{
    CULVI_X_REQUIRE_WITH(sync, sync->device, fence);
    return use(sync, false, fence, flags, stream, __func__);
}
