/* Deferred release (R1): what the caller gave up with a stream of last use goes back to the driver once that
 * stream has got there, and what the driver refuses to take back is tried again.
 *
 * Why no deferral without a stream: the only event over a whole context, cuCtxRecordEvent, invalidates every
 * stream capture in the context, in relaxed mode too (measured, docs/nvidia-measured.md), which R8 forbids.
 * Releasing at once is safe there: cuMemFree, cuMipmappedArrayDestroy and cuDestroyExternalSemaphore wait for
 * the work that uses what they release (measured). SPDX-License-Identifier: MIT */
#include "object.h"

#include <inttypes.h>

enum { MANY = 1024 }; /* deferred objects: somebody forgets to collect them */

bool culvi_release_done(culv_device *device, const char *call, CUresult code, bool last_try)
{
    if (code == CUDA_SUCCESS) return true;
    if (culvi_cuda_gone(code)) {
        device->counts.late_destroys++;
        return true;
    }
    /* Under a sticky error the driver answers with it and frees nothing; all of it goes with the context
     * (measured). */
    if (culvi_cuda_sticky(code)) return true;
    if (last_try)
        culvi_log(&device->voice, CULV_LOG_WARNING,
                  "%s was refused again (error %d): something is left at the driver", call, (int)code);
    return last_try;
}

static void destroy_event(culv_device *device, culvi_retired *object)
{
    CUresult r = CULVI_RELEASE(device, cuEventDestroy, (object->event));
    if (r != CUDA_SUCCESS && !culvi_cuda_sticky(r) && !culvi_cuda_gone(r))
        (void)CULVI_RELEASE(device, cuEventDestroy, (object->event));
    object->event = NULL;
}

/* Records when `last_use` will have got here. Where it cannot be recorded, the object is due at the next sweep,
 * in which the driver then waits by itself. In the device's context. */
static void mark(culv_device *device, culvi_retired *object, CUstream last_use)
{
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult r = CULVI_CU(device, cuStreamIsCapturing, (last_use, &capture));
    if (r != CUDA_SUCCESS) return;
    if (capture != CU_STREAM_CAPTURE_STATUS_NONE) {
        /* An event recorded now would become part of the caller's graph. */
        culvi_log(&device->voice, CULV_LOG_WARNING,
                  "the stream of last use %p is being captured: the release will wait for all CUDA work",
                  (void *)last_use);
        return;
    }
    r = CULVI_CU(device, cuEventCreate, (&object->event, CU_EVENT_DISABLE_TIMING));
    if (r != CUDA_SUCCESS) {
        object->event = NULL;
        return;
    }
    if (CULVI_CU(device, cuEventRecord, (object->event, last_use)) != CUDA_SUCCESS)
        destroy_event(device, object);
}

/* True when the GPU is done with the object. In the device's context. */
static bool is_due(culv_device *device, culvi_retired *object, bool wait)
{
    if (object->event == NULL) return true;
    CUresult r = wait ? CULVI_CU(device, cuEventSynchronize, (object->event))
                      : CULVI_CU(device, cuEventQuery, (object->event));
    if (r != CUDA_SUCCESS && !wait && !culvi_cuda_sticky(r) && !culvi_cuda_gone(r)) return false;
    destroy_event(device, object);
    return true;
}

/* Releases what is due of the list; the rest goes back onto it. In the device's context where there is one.
 */
static void sweep(culv_device *device, bool entered, bool wait, bool last_try)
{
    culvi_retired *list = device->retired;
    device->retired = NULL; /* a release may retire something anew */
    while (list != NULL) {
        culvi_retired *next = list->next;
        device->counts.deferred--;
        if ((entered && !is_due(device, list, wait)) || !list->release(device, list, last_try))
            culvi_keep(device, list);
        list = next;
    }
}

void culvi_keep(culv_device *device, culvi_retired *object)
{
    object->next = device->retired;
    device->retired = object;
    device->counts.deferred++;
}

/* What is due now; with the context gone, all is. */
static void sweep_now(culv_device *device, culvi_scope *scope, CUresult entered)
{
    if (entered == CUDA_SUCCESS)
        sweep(device, true, false, false);
    else if (culvi_cuda_gone(entered))
        sweep(device, false, false, true);
    if (entered == CUDA_SUCCESS) culvi_leave(device, scope);
}

void culvi_reap(culv_device *device)
{
    culvi_scope scope;
    if (device->retired == NULL) return;
    sweep_now(device, &scope, culvi_enter_quietly(device, &scope));
}

void culvi_retire(culv_device *device, culvi_retired *object, bool has_last_use, CUstream last_use)
{
    culvi_scope scope;
    object->event = NULL;
    CUresult entered = culvi_enter_quietly(device, &scope);
    if (entered == CUDA_SUCCESS && has_last_use) mark(device, object, last_use);
    culvi_keep(device, object);
    if (has_last_use && device->counts.deferred % MANY == 0)
        culvi_log(&device->voice, CULV_LOG_WARNING,
                  "%" PRIu64 " objects that were given up by ..._after() calls are not released yet; call "
                  "culv_device_collect() now and then, where waiting does no harm",
                  device->counts.deferred);
    /* With a last use this must not wait, as a release of it or of what else is due may. */
    if (entered == CUDA_SUCCESS && has_last_use)
        culvi_leave(device, &scope);
    else
        sweep_now(device, &scope, entered);
}

void culvi_drain(culv_device *device)
{
    for (int attempt = 0; device->retired != NULL && attempt < 3; attempt++) {
        bool last = attempt == 2;
        culvi_scope scope;
        bool entered = culvi_enter_quietly(device, &scope) == CUDA_SUCCESS;
        /* Without a context there is nothing to wait for; the releases then answer for themselves. */
        if (entered || last) sweep(device, entered, true, last);
        if (entered) culvi_leave(device, &scope);
    }
}

/* One that is on no list. */
static void release_now(culv_device *device, culvi_retired *object)
{
    culvi_scope scope;
    bool released = false;
    /* Without the lock, which another thread may need before it submits what this waits for. */
    if (culvi_enter_quietly(device, &scope) == CUDA_SUCCESS) {
        (void)is_due(device, object, true);
        culvi_leave(device, &scope);
    }
    if (object->finish != NULL) object->finish(object);
    culvi_mutex_lock(&device->lock);
    device->counts.deferred--;
    for (int attempt = 0; !released && attempt < 3; attempt++) {
        bool last = attempt == 2;
        bool entered = culvi_enter_quietly(device, &scope) == CUDA_SUCCESS;
        if (entered) (void)is_due(device, object, true);
        if (entered || last) released = object->release(device, object, last);
        if (entered) culvi_leave(device, &scope);
    }
    if (!released) culvi_keep(device, object);
    culvi_mutex_unlock(&device->lock);
}

void culvi_drain_for(culv_device *device, const void *holder)
{
    culvi_retired *list = NULL;
    culvi_mutex_lock(&device->lock);
    for (culvi_retired **link = &device->retired; *link != NULL;) {
        culvi_retired *object = *link;
        if (object->holder != holder) {
            link = &object->next;
            continue;
        }
        *link = object->next;
        object->next = list;
        list = object;
    }
    culvi_mutex_unlock(&device->lock);
    while (list != NULL) {
        culvi_retired *next = list->next;
        release_now(device, list);
        list = next;
    }
}

bool culvi_refuse_owned(const culv_device *device, const char *label, bool owned, const char *call,
                        const char *instead)
{
    if (owned)
        (void)culvi_fail(
            &device->voice, label, CULV_ERROR_INVALID, CULV_REASON_OWNED,
            "%s: it is the CUDA half of an object that Culvert made; %s() destroys both. Nothing "
            "was done",
            call, instead);
    return owned;
}
