/* Deferred release: what the caller gave up goes back to the driver once the GPU is done with it (R1),
 * without waiting, without breaking a stream capture (R8), and also when the driver refuses at first, when
 * the context has faulted (R2) or is gone (R3). SPDX-License-Identifier: MIT */
#include "object.h"

bool culvi_release_done(culv_device *device, const char *call, CUresult code, bool last_try)
{
    if (code == CUDA_SUCCESS) return true;
    if (culvi_cuda_gone(code)) {
        device->counts.late_destroys++;
        return true;
    }
    /* Under a sticky error the driver answers every call with it; what it was asked to free goes with the
     * context. */
    if (culvi_cuda_sticky(code)) return true;
    if (last_try)
        culvi_log(&device->voice, CULV_LOG_WARNING,
                  "%s was refused twice (error %d): something is left at the driver", call, (int)code);
    return last_try;
}

/* Records when the GPU will be done. True: it is known to be done already. */
static bool mark(culv_device *device, culvi_retired *object, culvi_last_use use, CUstream stream)
{
    const culvi_cuda *cuda = device->cuda;
    if (use == CULVI_LAST_USE_CONTEXT && cuda->cuCtxRecordEvent == NULL) {
        /* Drivers before 555 have no event for a whole context: there, and only there, giving up waits. */
        (void)CULVI_CU(device, cuCtxSynchronize, ());
        return true;
    }
    CUresult r = CULVI_CU(device, cuEventCreate, (&object->event, CU_EVENT_DISABLE_TIMING));
    if (r != CUDA_SUCCESS) {
        object->event = NULL;
        object->unordered = true;
        return culvi_cuda_sticky(r) || culvi_cuda_gone(r);
    }
    r = use == CULVI_LAST_USE_STREAM ? CULVI_CU(device, cuEventRecord, (object->event, stream))
                                     : CULVI_CU(device, cuCtxRecordEvent, (device->context, object->event));
    if (r == CUDA_SUCCESS) return false;
    if (CULVI_CU(device, cuEventDestroy, (object->event)) != CUDA_SUCCESS)
        (void)CULVI_CU(device, cuEventDestroy, (object->event));
    object->event = NULL;
    object->unordered = true;
    return culvi_cuda_sticky(r) || culvi_cuda_gone(r);
}

/* True when the GPU is done with the object. In the device's context. */
static bool is_due(culv_device *device, culvi_retired *object, bool wait)
{
    if (object->unordered && wait) {
        object->unordered = false;
        (void)CULVI_CU(device, cuCtxSynchronize, ()); /* whatever it answers, there is no more to wait for */
        return true;
    }
    if (object->unordered) {
        object->unordered = false;
        if (mark(device, object, CULVI_LAST_USE_CONTEXT, NULL)) return true;
        if (object->unordered) return false;
    }
    if (object->event == NULL) return true;
    CUresult r = wait ? CULVI_CU(device, cuEventSynchronize, (object->event))
                      : CULVI_CU(device, cuEventQuery, (object->event));
    if (r != CUDA_SUCCESS && !wait && !culvi_cuda_sticky(r) && !culvi_cuda_gone(r)) return false;
    r = CULVI_CU(device, cuEventDestroy, (object->event));
    if (r != CUDA_SUCCESS && !culvi_cuda_sticky(r) && !culvi_cuda_gone(r))
        (void)CULVI_CU(device, cuEventDestroy, (object->event));
    object->event = NULL;
    return true;
}

void culvi_reap(culv_device *device)
{
    culvi_scope scope;
    if (device->retired == NULL) return;
    if (culvi_enter(device, &scope, NULL) != CULV_OK) return; /* another time */
    culvi_retired *due = device->retired;
    device->retired = NULL; /* a release may retire something anew */
    while (due != NULL) {
        culvi_retired *next = due->next;
        device->counts.deferred--;
        if (!is_due(device, due, false) || !due->release(device, due, false)) {
            due->next = device->retired;
            device->retired = due;
            device->counts.deferred++;
        }
        due = next;
    }
    culvi_leave(device, &scope);
}

void culvi_retire(culv_device *device, culvi_retired *object, culvi_last_use use, CUstream stream)
{
    culvi_scope scope;
    object->event = NULL;
    object->unordered = false;
    if (culvi_enter(device, &scope, NULL) == CULV_OK) {
        (void)mark(device, object, use, stream);
        culvi_leave(device, &scope);
    } else {
        object->unordered = true;
    }
    object->next = device->retired;
    device->retired = object;
    device->counts.deferred++;
    culvi_reap(device);
}

void culvi_drain(culv_device *device)
{
    for (int attempt = 0; device->retired != NULL && attempt < 3; attempt++) {
        bool last = attempt == 2;
        culvi_scope scope = {0};
        bool entered = culvi_enter(device, &scope, NULL) == CULV_OK;
        if (!entered && !last) continue;
        culvi_retired *list = device->retired;
        device->retired = NULL;
        while (list != NULL) {
            culvi_retired *next = list->next;
            device->counts.deferred--;
            /* Without a context there is nothing to wait for; the releases then answer for themselves. */
            if ((entered && !is_due(device, list, true)) || !list->release(device, list, last)) {
                list->next = device->retired;
                device->retired = list;
                device->counts.deferred++;
            }
            list = next;
        }
        if (entered) culvi_leave(device, &scope);
    }
}
