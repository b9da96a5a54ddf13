/* SPDX-License-Identifier: MIT */
/* culv_keyed_mutex: an external semaphore with keys and time limits. */
#include "d3d/keyed_mutex.h"

#include "core/import.h"
#include "cuda/retire.h"

struct culv_keyed_mutex {
    culv_device *device;
    CUexternalSemaphore external;
    atomic_bool held;
    char label[64];
    culvi_deferred deferred;
};

/* Imports -------------------------------------------------------------------------------------- */

static CUresult give(culv_device *device, const culv_handle *duplicate, void *object)
{
    culv_keyed_mutex *mutex = object;
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC d = {0};
    d.type = (CUexternalSemaphoreHandleType)culvi_handle_number(duplicate->type, CULVI_USE_MUTEX);
    d.handle.win32.handle = duplicate->value.win32;
    d.handle.win32.name = duplicate->name;
    return CULVI_CU(device, cuImportExternalSemaphore, (&mutex->external, &d));
}

static void describe(const void *object, culvi_text *text)
{
    (void)object;
    culvi_text_add(
        text,
        "it must be the handle of a resource with a keyed mutex (D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX) of this same GPU");
}

static culvi_import how_to_import(culv_device *device, const culv_keyed_mutex_desc *d)
{
    return (culvi_import){.what = "keyed mutex",
                          .call = "cuImportExternalSemaphore",
                          .field = "culv_keyed_mutex_desc.handle",
                          .source = "IDXGIResource1::CreateSharedHandle",
                          .use = CULVI_USE_MUTEX,
                          .handle = &d->handle,
                          .label = d->label,
                          .count = &device->counts.semaphores,
                          .give = give,
                          .describe = describe};
}

static culv_result import_checked(culv_device *device, const culvi_import *import,
                                  culv_keyed_mutex **out)
{
    CULVI_NEW(culv_keyed_mutex, mutex, &device->voice, import->label);
    mutex->device = device;
    atomic_init(&mutex->held, false);
    culvi_label_set(mutex->label, import->label);
    CULVI_TRY_OR(culvi_import_run(device, import, mutex), culvi_free(mutex));
    culvi_made(device, &mutex->deferred, "keyed mutex", mutex->label, 0);
    *out = mutex;
    return CULV_OK;
}

culv_result culv_keyed_mutex_import(culv_device *device, const culv_keyed_mutex_desc *desc,
                                    culv_keyed_mutex **out)
{
    static const culv_uuid any = {{0}};
    CULVI_REQUIRE_WITH2(device, &device->voice, desc, out);
    CULVI_READ(&device->voice, culv_keyed_mutex_desc, d, desc);
    culvi_import import = how_to_import(device, &d);
    CULVI_TRY(culvi_import_check(device, &import, &any));
    return import_checked(device, &import, out);
}

culv_result culvi_keyed_mutex_import_exported(culv_device *device, const culv_keyed_mutex_desc *d,
                                              culv_keyed_mutex **out)
{
    culvi_import import = how_to_import(device, d);
    culv_result result = culvi_import_trust(device, &import);
    if (result == CULV_OK) result = import_checked(device, &import, out);
    culvi_handle_close(&d->handle);
    return result;
}

/* Acquire and release -------------------------------------------------------------------------- */

static culv_result fail(const culv_keyed_mutex *mutex, bool acquire, CUresult r, uint64_t key,
                        uint32_t timeout_ms)
{
    const char *call =
        acquire ? "cuWaitExternalSemaphoresAsync" : "cuSignalExternalSemaphoresAsync";
    if (acquire && r == CUDA_ERROR_TIMEOUT)
        return culvi_fail_native(&mutex->device->voice, mutex->label, CULV_ERROR_TIMEOUT,
                                 CULV_REASON_NOT_READY, CULV_NATIVE_CUDA, r, call,
                                 "nobody released the keyed mutex with key %" PRIu64
                                 " within %" PRIu32 " ms; CUDA does not hold it",
                                 key, timeout_ms);
    return culvi_fail_cuda(mutex->device, mutex->label, r, call, CULV_REASON_DRIVER_REFUSED,
                           "the keyed mutex could not be %s with key %" PRIu64,
                           acquire ? "acquired" : "released", key);
}

static culv_result turn(culv_keyed_mutex *mutex, CUstream stream, bool acquire, uint64_t key,
                        uint32_t timeout_ms)
{
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait = {.flags = 0};
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal = {.flags = 0};
    culv_device *device = mutex->device;
    bool pushed, held = !acquire;
    CULVI_REFUSE_IF(!atomic_compare_exchange_strong(&mutex->held, &held, acquire), &device->voice,
                    mutex->label, CULV_REASON_NOT_READY,
                    acquire ? "CUDA holds the keyed mutex already; release it first"
                            : "CUDA does not hold the keyed mutex; acquire it first");
    wait.params.keyedMutex.key = signal.params.keyedMutex.key = key;
    wait.params.keyedMutex.timeoutMs = timeout_ms;
    culv_result result = culvi_enter_stream(device, mutex->label, stream, &pushed);
    if (result == CULV_OK) {
        const culvi_cuda *cuda = device->cuda;
        const CUresult r =
            acquire ? cuda->cuWaitExternalSemaphoresAsync(&mutex->external, &wait, 1, stream)
                    : cuda->cuSignalExternalSemaphoresAsync(&mutex->external, &signal, 1, stream);
        if (r != CUDA_SUCCESS) result = fail(mutex, acquire, r, key, timeout_ms);
        culvi_leave_frame(device, pushed);
    }
    if (result != CULV_OK) atomic_store(&mutex->held, !acquire);
    return result;
}

culv_result culv_keyed_mutex_acquire(culv_keyed_mutex *mutex, CUstream stream, uint64_t key,
                                     uint32_t timeout_ms)
{
    CULVI_REQUIRE(NULL, mutex);
    return turn(mutex, stream, true, key, timeout_ms);
}

culv_result culv_keyed_mutex_release(culv_keyed_mutex *mutex, CUstream stream, uint64_t key)
{
    CULVI_REQUIRE(NULL, mutex);
    return turn(mutex, stream, false, key, 0);
}

/* The end -------------------------------------------------------------------------------------- */

static bool release_mutex(culv_device *device, culvi_deferred *self, bool last_try)
{
    culv_keyed_mutex *mutex = CULVI_CONTAINER(self, culv_keyed_mutex, deferred);
    const CUresult r = CULVI_RELEASE(device, cuDestroyExternalSemaphore, (mutex->external));
    if (!culvi_release_done(device, "cuDestroyExternalSemaphore", r, last_try)) return false;
    device->counts.semaphores--;
    culvi_free(mutex);
    return true;
}

void culv_keyed_mutex_destroy(culv_keyed_mutex **mutex, const CUstream *last_use)
{
    CULVI_TAKE(culv_keyed_mutex, mine, mutex);
    culv_device *device = mine->device;
    if (atomic_load(&mine->held))
        culvi_log(
            &device->voice, CULV_LOG_WARNING,
            "'%s': a keyed mutex is destroyed while CUDA holds it; nobody can acquire it any more",
            mine->label);
    mine->deferred.release = release_mutex;
    CULVI_LOCKED(&device->lock, culvi_release_or_defer(device, &mine->deferred, last_use));
    culvi_device_unref(device);
}
