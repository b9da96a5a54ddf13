/* SPDX-License-Identifier: MIT */
/* NvSciBuf and NvSciSync objects in CUDA. Of NvSci's own calls only those of a duplicate with less
 * permission are made; the library is loaded for them. */
#include "culvert/nvsci.h"

#include "base/alloc.h"
#include "base/desc.h"
#include "base/platform.h"
#include "cuda/context.h"

#include <inttypes.h>

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
    culvi_tie tie;
};

struct culv_nvsci_sync {
    culv_device *device;
    culvi_tie tie;
    CUexternalSemaphore semaphore;
};

/* Buffers -------------------------------------------------------------------------------------- */

static bool find(void *library, const char *name, void *out)
{
    void *symbol = culvi_module_symbol(library, name);
    memcpy(out, &symbol, sizeof symbol);
    return symbol != NULL;
}

static culv_result reduce(culv_nvsci_buffer *b, const void *object)
{
    static const char *const names[] = {"libnvscibuf.so.1", "libnvscibuf.so"};
    const culvi_voice *voice = &b->device->voice;
    dup_with_reduce_perm dup = NULL;
    char why[256] = "";
    for (size_t i = 0; b->library == NULL && i < sizeof names / sizeof names[0]; i++)
        b->library = culvi_module_open(names[i], why, sizeof why);
    if (b->library == NULL)
        return culvi_fail(voice, b->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_LIBRARY,
                          "culv_nvsci_buffer_desc.read_only needs libnvscibuf, which could not be "
                          "loaded: %s",
                          why);
    if (!find(b->library, "NvSciBufObjDupWithReducePerm", &dup) ||
        !find(b->library, "NvSciBufObjFree", &b->free_duplicate))
        return culvi_fail(voice, b->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_LIBRARY,
                          "libnvscibuf lacks %s",
                          dup == NULL ? "NvSciBufObjDupWithReducePerm" : "NvSciBufObjFree");
    int r = dup((void *)(uintptr_t)object, NVSCI_READ_ONLY, &b->duplicate);
    if (r == NVSCI_SUCCESS && b->duplicate != NULL) return CULV_OK;
    b->duplicate = NULL;
    return culvi_fail(voice, b->label, CULV_ERROR_DRIVER, CULV_REASON_DRIVER_REFUSED,
                      "NvSciBufObjDupWithReducePerm answered %d: the object has no duplicate that "
                      "is only read",
                      r);
}

static culv_result import(culv_nvsci_buffer *b, const void *object)
{
    culv_device *device = b->device;
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC d;
    culvi_scope scope;
    memset(&d, 0, sizeof d);
    d.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_NVSCIBUF;
    d.handle.nvSciBufObject = b->duplicate != NULL ? b->duplicate : object;
    d.size = b->size;
    culv_result result = culvi_enter(device, &scope, b->label);
    if (result != CULV_OK) return result;
    CUresult r = CULVI_CU(device, cuImportExternalMemory, (&b->memory, &d));
    if (r == CUDA_ERROR_NOT_SUPPORTED)
        result = culvi_fail_native(
            &device->voice, b->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_HANDLE_TYPE,
            CULV_NATIVE_CUDA, r, "cuImportExternalMemory",
            "the driver of '%s' takes no NvSciBuf objects", device->caps.name);
    else if (r != CUDA_SUCCESS)
        result = culvi_fail_cuda(
            device, b->label, r, "cuImportExternalMemory", CULV_REASON_HANDLE_REFUSED,
            "an NvSciBuf object of %" PRIu64 " bytes could not be imported; it needs "
            "NvSciBufGeneralAttrKey_GpuId with this device's UUID, and drivers of desktop GPUs "
            "take none",
            b->size);
    culvi_leave(device, &scope);
    return result;
}

/* Checkpoints restore no imports. */
static void tie(culv_device *device, culvi_tie *tie, const char *kind, const char *label)
{
    culvi_mutex_lock(&device->lock);
    culvi_tie_add(device, tie, kind, label,
                  "is an import; destroy it before, and make it again after culv_device_resume()");
    culvi_mutex_unlock(&device->lock);
}

static void untie(culv_device *device, culvi_tie *tie)
{
    culvi_mutex_lock(&device->lock);
    culvi_tie_remove(tie);
    culvi_mutex_unlock(&device->lock);
}

/* What was imported last goes first. */
static void release(culv_nvsci_buffer *b)
{
    culv_device *device = b->device;
    culvi_scope scope;
    untie(device, &b->tie);
    if (b->memory != NULL && culvi_enter_quietly(device, &scope) == CUDA_SUCCESS) {
        if (b->pointer != 0) (void)CULVI_RELEASE(device, cuMemFree, (b->pointer));
        if (b->arrays != NULL) (void)CULVI_RELEASE(device, cuMipmappedArrayDestroy, (b->arrays));
        CUresult r = CULVI_RELEASE(device, cuDestroyExternalMemory, (b->memory));
        if (r != CUDA_SUCCESS && !culvi_cuda_gone(r))
            culvi_log(&device->voice, CULV_LOG_WARNING, "%s: cuDestroyExternalMemory answered %d",
                      culvi_named("NvSciBuf import", b->label).text, (int)r);
        culvi_leave(device, &scope);
    }
    if (b->duplicate != NULL) b->free_duplicate(b->duplicate);
    if (b->library != NULL) culvi_module_close(b->library);
    culvi_free(b);
}

culv_result culv_nvsci_buffer_import(culv_device *device, const culv_nvsci_buffer_desc *desc,
                                     culv_nvsci_buffer **out)
{
    culv_nvsci_buffer_desc d;
    CULVI_REQUIRE(NULL, device);
    const culvi_voice *voice = &device->voice;
    CULVI_REQUIRE2(voice, desc, out);
    culv_result result = culvi_desc_read(voice, &d, sizeof d, desc, "culv_nvsci_buffer_desc");
    if (result != CULV_OK) return result;
    if (d.object == NULL)
        return culvi_fail(voice, d.label, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
                          "culv_nvsci_buffer_desc.object is NULL");
    if (d.size == 0)
        return culvi_fail(voice, d.label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
                          "culv_nvsci_buffer_desc.size is 0");
    culv_nvsci_buffer *b = culvi_alloc(sizeof *b);
    if (b == NULL) return culvi_fail_host_memory(voice, d.label);
    b->device = device;
    b->size = d.size;
    culvi_label_set(b->label, d.label);
    if (d.read_only) result = reduce(b, d.object);
    if (result == CULV_OK) result = import(b, d.object);
    if (result != CULV_OK) {
        release(b);
        return result;
    }
    culvi_device_ref(device);
    tie(device, &b->tie, "NvSciBuf object", b->label);
    *out = b;
    return CULV_OK;
}

void culv_nvsci_buffer_destroy(culv_nvsci_buffer **buffer)
{
    if (buffer == NULL || *buffer == NULL) return;
    culv_nvsci_buffer *mine = *buffer;
    culv_device *device = mine->device;
    *buffer = NULL;
    release(mine);
    culvi_device_unref(device);
}

static culv_result mapped_otherwise(const culv_nvsci_buffer *b, const char *call, const char *as)
{
    return culvi_fail(&b->device->voice, b->label, CULV_ERROR_INVALID, CULV_REASON_USAGE,
                      "%s: the object is mapped as %s already; import it once more", call, as);
}

culv_result culv_nvsci_buffer_get_pointer(culv_nvsci_buffer *buffer, CUdeviceptr *out)
{
    CULVI_REQUIRE(NULL, buffer);
    culv_device *device = buffer->device;
    CULVI_REQUIRE(&device->voice, out);
    if (buffer->arrays != NULL) return mapped_otherwise(buffer, __func__, "an array");
    if (buffer->pointer == 0) {
        CUDA_EXTERNAL_MEMORY_BUFFER_DESC d;
        culvi_scope scope;
        memset(&d, 0, sizeof d);
        d.size = buffer->size;
        culv_result result = culvi_enter(device, &scope, buffer->label);
        if (result != CULV_OK) return result;
        CUresult r = CULVI_CU(device, cuExternalMemoryGetMappedBuffer,
                              (&buffer->pointer, buffer->memory, &d));
        if (r != CUDA_SUCCESS)
            result = culvi_fail_cuda(device, buffer->label, r, "cuExternalMemoryGetMappedBuffer",
                                     CULV_REASON_DRIVER_REFUSED,
                                     "%" PRIu64 " bytes of NvSciBuf memory could not be mapped",
                                     buffer->size);
        culvi_leave(device, &scope);
        if (result != CULV_OK) return result;
    }
    *out = buffer->pointer;
    return CULV_OK;
}

static culv_result map_array(culv_nvsci_buffer *b, const culv_nvsci_array_desc *array)
{
    culv_device *device = b->device;
    CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC d;
    CUmipmappedArray arrays = NULL;
    culvi_scope scope;
    memset(&d, 0, sizeof d);
    d.offset = array->offset;
    d.arrayDesc.Width = (size_t)array->width;
    d.arrayDesc.Height = (size_t)array->height;
    d.arrayDesc.Depth = (size_t)array->depth;
    d.arrayDesc.Format = (CUarray_format)array->cuda_format;
    d.arrayDesc.NumChannels = array->channels;
    d.arrayDesc.Flags = array->flags;
    d.numLevels = 1; /* cuda.h: of NvSciBuf memory no more */
    culv_result result = culvi_enter(device, &scope, b->label);
    if (result != CULV_OK) return result;
    const char *call = "cuExternalMemoryGetMappedMipmappedArray";
    CUresult r =
        CULVI_CU(device, cuExternalMemoryGetMappedMipmappedArray, (&arrays, b->memory, &d));
    if (r == CUDA_SUCCESS) {
        call = "cuMipmappedArrayGetLevel";
        r = CULVI_CU(device, cuMipmappedArrayGetLevel, (&b->array, arrays, 0));
        if (r == CUDA_SUCCESS)
            b->arrays = arrays;
        else
            (void)CULVI_RELEASE(device, cuMipmappedArrayDestroy, (arrays));
    }
    if (r != CUDA_SUCCESS)
        result = culvi_fail_cuda(device, b->label, r, call, CULV_REASON_DRIVER_REFUSED,
                                 "the NvSciBuf image could not be mapped as an array");
    culvi_leave(device, &scope);
    return result;
}

culv_result culv_nvsci_buffer_get_array(culv_nvsci_buffer *buffer,
                                        const culv_nvsci_array_desc *desc, CUarray *out)
{
    culv_nvsci_array_desc d;
    CULVI_REQUIRE(NULL, buffer);
    const culvi_voice *voice = &buffer->device->voice;
    CULVI_REQUIRE2(voice, desc, out);
    culv_result result = culvi_desc_read(voice, &d, sizeof d, desc, "culv_nvsci_array_desc");
    if (result != CULV_OK) return result;
    if (buffer->pointer != 0) return mapped_otherwise(buffer, __func__, "a buffer");
    if (d.offset >= buffer->size)
        return culvi_fail(voice, buffer->label, CULV_ERROR_INVALID, CULV_REASON_RANGE,
                          "culv_nvsci_array_desc.offset is %" PRIu64 ", and the object has %" PRIu64
                          " bytes",
                          d.offset, buffer->size);
    result = buffer->arrays == NULL ? map_array(buffer, &d) : CULV_OK;
    if (result == CULV_OK) *out = buffer->array;
    return result;
}

/* Sync objects --------------------------------------------------------------------------------- */

culv_result culv_nvsci_get_sync_attributes(culv_device *device, void *attribute_list,
                                           uint32_t roles)
{
    CULVI_REQUIRE(NULL, device);
    const culvi_voice *voice = &device->voice;
    CULVI_REQUIRE(voice, attribute_list);
    if (roles == 0 || (roles & ~(uint32_t)(CULV_NVSCI_SIGNALS | CULV_NVSCI_WAITS)) != 0)
        return culvi_fail(voice, NULL, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "%s: roles is %#x; it has CULV_NVSCI_SIGNALS, CULV_NVSCI_WAITS or both",
                          __func__, (unsigned)roles);
    CUresult r = CUDA_ERROR_NOT_SUPPORTED;
    if (device->cuda->cuDeviceGetNvSciSyncAttributes != NULL)
        r = CULVI_CU(device, cuDeviceGetNvSciSyncAttributes,
                     (attribute_list, device->ordinal, (int)roles));
    if (r == CUDA_SUCCESS) return CULV_OK;
    if (r == CUDA_ERROR_NOT_SUPPORTED)
        return culvi_fail_native(voice, NULL, CULV_ERROR_UNSUPPORTED, CULV_REASON_HANDLE_TYPE,
                                 CULV_NATIVE_CUDA, r, "cuDeviceGetNvSciSyncAttributes",
                                 "the driver of '%s' knows no NvSciSync", device->caps.name);
    return culvi_fail_cuda(device, NULL, r, "cuDeviceGetNvSciSyncAttributes",
                           CULV_REASON_DRIVER_REFUSED,
                           "the attributes of a sync object could not be asked for");
}

culv_result culv_nvsci_sync_import(culv_device *device, const void *object, culv_nvsci_sync **out)
{
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC d;
    culvi_scope scope;
    CULVI_REQUIRE(NULL, device);
    CULVI_REQUIRE2(&device->voice, object, out);
    culv_nvsci_sync *sync = culvi_alloc(sizeof *sync);
    if (sync == NULL) return culvi_fail_host_memory(&device->voice, NULL);
    sync->device = device;
    memset(&d, 0, sizeof d);
    d.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_NVSCISYNC;
    d.handle.nvSciSyncObj = object;
    culv_result result = culvi_enter(device, &scope, NULL);
    if (result == CULV_OK) {
        CUresult r = CULVI_CU(device, cuImportExternalSemaphore, (&sync->semaphore, &d));
        if (r == CUDA_ERROR_NOT_SUPPORTED)
            result = culvi_fail_native(
                &device->voice, NULL, CULV_ERROR_UNSUPPORTED, CULV_REASON_HANDLE_TYPE,
                CULV_NATIVE_CUDA, r, "cuImportExternalSemaphore",
                "the driver of '%s' takes no NvSciSync objects", device->caps.name);
        else if (r != CUDA_SUCCESS)
            result = culvi_fail_cuda(device, NULL, r, "cuImportExternalSemaphore",
                                     CULV_REASON_HANDLE_REFUSED,
                                     "an NvSciSync object could not be imported; make it of "
                                     "culv_nvsci_get_sync_attributes()");
        culvi_leave(device, &scope);
    }
    if (result != CULV_OK) {
        culvi_free(sync);
        return result;
    }
    culvi_device_ref(device);
    tie(device, &sync->tie, "NvSciSync object", NULL);
    *out = sync;
    return CULV_OK;
}

void culv_nvsci_sync_destroy(culv_nvsci_sync **sync)
{
    culvi_scope scope;
    if (sync == NULL || *sync == NULL) return;
    culv_nvsci_sync *mine = *sync;
    culv_device *device = mine->device;
    *sync = NULL;
    untie(device, &mine->tie);
    if (culvi_enter_quietly(device, &scope) == CUDA_SUCCESS) {
        CUresult r = CULVI_RELEASE(device, cuDestroyExternalSemaphore, (mine->semaphore));
        if (r != CUDA_SUCCESS && !culvi_cuda_gone(r))
            culvi_log(&device->voice, CULV_LOG_WARNING,
                      "NvSciSync import: cuDestroyExternalSemaphore answered %d", (int)r);
        culvi_leave(device, &scope);
    }
    culvi_free(mine);
    culvi_device_unref(device);
}

static culv_result check_use(const culv_nvsci_sync *sync, const char *call, uint32_t flags)
{
    if ((flags & ~(uint32_t)CULV_NVSCI_SKIP_MEMSYNC) == 0) return CULV_OK;
    return culvi_fail(&sync->device->voice, NULL, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                      "%s: flags is %#x; it is 0 or CULV_NVSCI_SKIP_MEMSYNC", call,
                      (unsigned)flags);
}

static culv_result use(culv_nvsci_sync *sync, bool signals, void *fence, uint32_t flags,
                       CUstream stream)
{
    culv_device *device = sync->device;
    const bool skip = (flags & CULV_NVSCI_SKIP_MEMSYNC) != 0;
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal;
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait;
    const char *call = "cuCtxGetCurrent";
    bool pushed = false;
    memset(&signal, 0, sizeof signal);
    memset(&wait, 0, sizeof wait);
    signal.params.nvSciSync.fence = fence;
    signal.flags = skip ? CUDA_EXTERNAL_SEMAPHORE_SIGNAL_SKIP_NVSCIBUF_MEMSYNC : 0;
    wait.params.nvSciSync.fence = fence;
    wait.flags = skip ? CUDA_EXTERNAL_SEMAPHORE_WAIT_SKIP_NVSCIBUF_MEMSYNC : 0;
    CUresult r = culvi_enter_frame(device, &pushed, &call);
    if (r == CUDA_SUCCESS && signals) {
        call = "cuSignalExternalSemaphoresAsync";
        r = CULVI_CU(device, cuSignalExternalSemaphoresAsync,
                     (&sync->semaphore, &signal, 1, stream));
    } else if (r == CUDA_SUCCESS) {
        call = "cuWaitExternalSemaphoresAsync";
        r = CULVI_CU(device, cuWaitExternalSemaphoresAsync, (&sync->semaphore, &wait, 1, stream));
    }
    culvi_leave_frame(device, pushed);
    if (r == CUDA_SUCCESS) return CULV_OK;
    return culvi_fail_cuda(device, NULL, r, call, CULV_REASON_DRIVER_REFUSED,
                           "a fence of NvSciSync could not be %s",
                           signals ? "signaled" : "waited for");
}

culv_result culv_nvsci_sync_signal(culv_nvsci_sync *sync, void *fence, uint32_t flags,
                                   CUstream stream)
{
    CULVI_REQUIRE(NULL, sync);
    CULVI_REQUIRE(&sync->device->voice, fence);
    culv_result result = check_use(sync, __func__, flags);
    return result == CULV_OK ? use(sync, true, fence, flags, stream) : result;
}

culv_result culv_nvsci_sync_wait(culv_nvsci_sync *sync, void *fence, uint32_t flags,
                                 CUstream stream)
{
    CULVI_REQUIRE(NULL, sync);
    CULVI_REQUIRE(&sync->device->voice, fence);
    culv_result result = check_use(sync, __func__, flags);
    return result == CULV_OK ? use(sync, false, fence, flags, stream) : result;
}
