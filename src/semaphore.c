/* culv_semaphore: imports, signals, waits. SPDX-License-Identifier: MIT */
#include "culvert/semaphore.h"

#include "object.h"

#include <inttypes.h>

static culv_result import_duplicate(culv_device *device, const culv_semaphore_desc *desc,
                                    CUexternalSemaphore *external)
{
    culvi_duplicate duplicate;
    int os_error = 0;
    if (!culvi_handle_duplicate(&desc->handle, &duplicate, &os_error))
        return culvi_fail_native(
            &device->voice, desc->label, CULV_ERROR_INVALID, CULV_REASON_OS, CULV_API_OS, os_error, "fcntl",
            "the file descriptor %d could not be duplicated (errno %d); is the process out of "
            "descriptors?",
            desc->handle.value.fd, os_error);
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC d = {0};
    d.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
    d.handle.fd = duplicate.handle.value.fd;
    CUresult r = CULVI_CU(device, cuImportExternalSemaphore, (external, &d));
    if (r == CUDA_SUCCESS) return CULV_OK;
    culvi_handle_close_refused(&duplicate, &desc->handle);
    return culvi_fail_cuda(
        device, desc->label, r, "cuImportExternalSemaphore", CULV_REASON_HANDLE_REFUSED,
        "the timeline semaphore (handle.value.fd %d) could not be imported; it must be an OPAQUE_FD "
        "of a VkSemaphore of type TIMELINE of this very GPU",
        desc->handle.value.fd);
}

static culv_result check_desc(culv_device *device, const culv_semaphore_desc *desc)
{
    culv_reason reason = CULV_REASON_NONE;
    char text[256];
    if (desc->type != CULV_SEMAPHORE_TIMELINE)
        return culvi_fail(&device->voice, desc->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "culv_semaphore_desc.type is %d; this version takes CULV_SEMAPHORE_TIMELINE (%d)",
                          (int)desc->type, (int)CULV_SEMAPHORE_TIMELINE);
    if (!culvi_handle_check(&desc->handle, &reason, text, sizeof text))
        return culvi_fail(&device->voice, desc->label, culvi_handle_class(&desc->handle, reason), reason,
                          "culv_semaphore_desc.handle: %s", text);
    if (!device->caps.timeline_semaphores)
        return culvi_fail(&device->voice, desc->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_DRIVER_TOO_OLD,
                          "'%s' does not import timeline semaphores "
                          "(CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED is 0)",
                          device->caps.name);
    return culvi_check_exporter(device, desc->label, &desc->exporter, "semaphore");
}

static culv_result import_semaphore(culv_device *device, const culv_semaphore_desc *desc, bool take,
                                    culv_semaphore **out)
{
    culv_semaphore_desc d;
    culvi_scope scope;
    if (device == NULL || desc == NULL || out == NULL)
        return culvi_fail(device != NULL ? &device->voice : NULL, NULL, CULV_ERROR_INVALID,
                          CULV_REASON_NULL_ARGUMENT, "culv_semaphore_import_%s: %s is NULL",
                          take ? "take" : "borrow",
                          device == NULL ? "device"
                          : desc == NULL ? "desc"
                                         : "out");
    culv_result result = culvi_desc_read(&device->voice, &d, sizeof d, desc, "culv_semaphore_desc");
    if (result == CULV_OK) result = check_desc(device, &d);
    if (result != CULV_OK) return result;
    culv_semaphore *semaphore = culvi_alloc(sizeof *semaphore);
    if (semaphore == NULL)
        return culvi_fail(&device->voice, d.label, CULV_ERROR_OUT_OF_MEMORY, CULV_REASON_HOST_MEMORY,
                          "out of host memory");
    semaphore->device = device;
    semaphore->type = d.type;
    atomic_init(&semaphore->last, d.value);
    culvi_label_set(semaphore->label, d.label);
    culvi_mutex_lock(&device->lock);
    result = culvi_enter(device, &scope, d.label);
    if (result != CULV_OK) goto unlock;
    result = import_duplicate(device, &d, &semaphore->external);
    culvi_leave(device, &scope);
    if (result != CULV_OK) goto unlock;
    device->counts.semaphores++;
    culvi_mutex_unlock(&device->lock);
    culvi_device_ref(device);
    if (take) culvi_handle_close(&d.handle);
    *out = semaphore;
    return CULV_OK;

unlock:
    culvi_mutex_unlock(&device->lock);
    culvi_free(semaphore);
    return result;
}

culv_result culv_semaphore_import_take(culv_device *device, const culv_semaphore_desc *desc,
                                       culv_semaphore **out)
{
    return import_semaphore(device, desc, true, out);
}

culv_result culv_semaphore_import_borrow(culv_device *device, const culv_semaphore_desc *desc,
                                         culv_semaphore **out)
{
    return import_semaphore(device, desc, false, out);
}

static bool release_semaphore(culv_device *device, culvi_retired *self, bool last_try)
{
    culv_semaphore *semaphore = CULVI_CONTAINER(self, culv_semaphore, retired);
    CUresult r = CULVI_RELEASE(device, cuDestroyExternalSemaphore, (semaphore->external));
    if (!culvi_release_done(device, "cuDestroyExternalSemaphore", r, last_try)) return false;
    device->counts.semaphores--;
    culvi_free(semaphore);
    return true;
}

static void give_up(culv_semaphore **semaphore, bool has_last_use, CUstream last_use)
{
    if (semaphore == NULL || *semaphore == NULL) return;
    culv_semaphore *mine = *semaphore;
    culv_device *device = mine->device;
    *semaphore = NULL;
    mine->retired.release = release_semaphore;
    culvi_mutex_lock(&device->lock);
    culvi_retire(device, &mine->retired, has_last_use, last_use);
    culvi_mutex_unlock(&device->lock);
    culvi_device_unref(device);
}

void culv_semaphore_destroy(culv_semaphore **semaphore)
{
    give_up(semaphore, false, NULL);
}

void culv_semaphore_destroy_after(culv_semaphore **semaphore, CUstream last_use)
{
    give_up(semaphore, true, last_use);
}

/* Whether a stream is of the semaphore's device. In the device's context. */
static culv_result check_stream(culv_semaphore *semaphore, CUstream stream)
{
    culv_device *device = semaphore->device;
    uintptr_t key = (uintptr_t)stream;
    /* The three default streams are those of the context that is current now. */
    if (key == 0 || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) return CULV_OK;
    atomic_uintptr_t *slot = &device->streams[(key >> 6) % CULVI_STREAM_SLOTS];
    if (atomic_load_explicit(slot, memory_order_relaxed) == key) return CULV_OK;
    CUdevice actual = -1;
    CUcontext context = NULL;
    const char *call = "cuStreamGetCtx";
    CUresult r = CULVI_CU(device, cuStreamGetCtx, (stream, &context));
    if (r == CUDA_SUCCESS && context != device->context) {
        CUcontext popped = NULL;
        call = "cuCtxPushCurrent";
        r = CULVI_CU(device, cuCtxPushCurrent, (context));
        if (r == CUDA_SUCCESS) {
            call = "cuCtxGetDevice";
            r = CULVI_CU(device, cuCtxGetDevice, (&actual));
            if (CULVI_CU(device, cuCtxPopCurrent, (&popped)) != CUDA_SUCCESS)
                (void)CULVI_CU(device, cuCtxPopCurrent, (&popped));
        }
    }
    if (r != CUDA_SUCCESS)
        return culvi_fail_cuda(device, semaphore->label, r, call, CULV_REASON_STREAM_DEVICE,
                               "the stream %p could not be examined; was it destroyed?", (void *)stream);
    if (context != device->context)
        return culvi_fail(
            &device->voice, semaphore->label, CULV_ERROR_INVALID, CULV_REASON_STREAM_DEVICE,
            "the stream %p belongs to a context of CUDA device %d, the semaphore to the context "
            "culv_device_context() of device %d '%s', which the driver does not mix; use a stream made "
            "with that context current",
            (void *)stream, (int)actual, (int)device->ordinal, device->caps.name);
    atomic_store_explicit(slot, key, memory_order_relaxed);
    return CULV_OK;
}

static culv_result null_semaphore(const char *call)
{
    return culvi_fail(NULL, NULL, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT, "%s: semaphore is NULL",
                      call);
}

static culv_result enter_stream(culv_semaphore *semaphore, CUstream stream, bool *pushed)
{
    const char *call = NULL;
    CUresult r = culvi_enter_frame(semaphore->device, pushed, &call);
    if (r != CUDA_SUCCESS)
        return culvi_fail_cuda(semaphore->device, semaphore->label, r, call, CULV_REASON_DRIVER_REFUSED,
                               "the device's context could not be made current");
    culv_result result = check_stream(semaphore, stream);
    if (result != CULV_OK) culvi_leave_frame(semaphore->device, *pushed);
    return result;
}

culv_result culv_semaphore_signal(culv_semaphore *semaphore, CUstream stream, uint64_t value)
{
    bool pushed;
    if (semaphore == NULL) return null_semaphore("culv_semaphore_signal");
    culv_device *device = semaphore->device;
    uint64_t last = atomic_load_explicit(&semaphore->last, memory_order_relaxed);
    if (value <= last)
        return culvi_fail(
            &device->voice, semaphore->label, CULV_ERROR_INVALID, CULV_REASON_TIMELINE_BACKWARDS,
            "value %" PRIu64 " does not exceed %" PRIu64 ", which was signalled or promised before; a "
            "timeline only grows, and the driver would step it back without a word",
            value, last);
    culv_result result = enter_stream(semaphore, stream, &pushed);
    if (result != CULV_OK) return result;
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS params = {0};
    params.params.fence.value = value;
    CUresult r = device->cuda->cuSignalExternalSemaphoresAsync(&semaphore->external, &params, 1, stream);
    if (r == CUDA_SUCCESS)
        atomic_store_explicit(&semaphore->last, value, memory_order_relaxed);
    else
        result = culvi_fail_cuda(
            device, semaphore->label, r, "cuSignalExternalSemaphoresAsync", CULV_REASON_DRIVER_REFUSED,
            "value %" PRIu64 " could not be signalled on stream %p", value, (void *)stream);
    culvi_leave_frame(device, pushed);
    return result;
}

culv_result culv_semaphore_wait(culv_semaphore *semaphore, CUstream stream, uint64_t value)
{
    bool pushed;
    if (semaphore == NULL) return null_semaphore("culv_semaphore_wait");
    culv_device *device = semaphore->device;
    culv_result result = enter_stream(semaphore, stream, &pushed);
    if (result != CULV_OK) return result;
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS params = {0};
    params.params.fence.value = value;
    CUresult r = device->cuda->cuWaitExternalSemaphoresAsync(&semaphore->external, &params, 1, stream);
    if (r != CUDA_SUCCESS)
        result = culvi_fail_cuda(
            device, semaphore->label, r, "cuWaitExternalSemaphoresAsync", CULV_REASON_DRIVER_REFUSED,
            "stream %p could not be made to wait for value %" PRIu64, (void *)stream, value);
    culvi_leave_frame(device, pushed);
    return result;
}

void culv_semaphore_note_value(culv_semaphore *semaphore, uint64_t value)
{
    if (semaphore == NULL) return;
    uint64_t last = atomic_load_explicit(&semaphore->last, memory_order_relaxed);
    while (last < value && !atomic_compare_exchange_weak_explicit(
                               &semaphore->last, &last, value, memory_order_relaxed, memory_order_relaxed)) {
    }
}

uint64_t culv_semaphore_last_value(const culv_semaphore *semaphore)
{
    return semaphore != NULL ? atomic_load_explicit(&semaphore->last, memory_order_relaxed) : 0;
}
