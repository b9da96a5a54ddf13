/* SPDX-License-Identifier: MIT */
/* Deferred release (R1): what the caller gave up with a stream of last use goes back to the driver
 * once that stream has got there, and what the driver refuses to take back is tried again.
 *
 * Why no deferral without a stream: the only event over a whole context, cuCtxRecordEvent,
 * invalidates every stream capture in the context, in relaxed mode too (measured,
 * docs/nvidia-measured.md), which R8 forbids. Releasing at once is safe there: cuMemFree,
 * cuMipmappedArrayDestroy and cuDestroyExternalSemaphore wait for the work that uses what they
 * release (measured). */
#include "cuda/retire.h"

#include "cuda/context.h"
#include "cuda/stream.h"
#include "cuda/watch.h"

#include <inttypes.h>

enum { MANY = 1024 }; /* deferred objects: somebody forgets to collect them */

bool culvi_release_done(culv_device *device, const char *call, CUresult code, bool last_try)
{
    if (code == CUDA_SUCCESS) return true;
    if (culvi_cuda_gone(code)) {
        device->counts.late_destroys++;
        return true;
    }
    /* Under a sticky error the driver answers with it and frees nothing; all of it goes with the
     * context (measured). */
    if (culvi_cuda_sticky(code)) return true;
    if (last_try)
        culvi_log(&device->voice, CULV_LOG_WARNING,
                  "%s was refused again (error %d): the driver keeps what it should have released",
                  call, (int)code);
    return last_try;
}

static void destroy_event(culv_device *device, culvi_deferred *object)
{
    CUresult r = CULVI_RELEASE(device, cuEventDestroy, (object->event));
    if (r != CUDA_SUCCESS && !culvi_cuda_sticky(r) && !culvi_cuda_gone(r))
        (void)CULVI_RELEASE(device, cuEventDestroy, (object->event));
    object->event = NULL;
}

/* Records when `last_use` will have got here. Where it cannot be recorded, the object is due at the
 * next collection, in which the driver then waits by itself. In the device's context. */
static void mark(culv_device *device, culvi_deferred *object, CUstream last_use)
{
    culvi_capture capture;
    CUresult r = culvi_stream_capture(device, last_use, &capture);
    if (r != CUDA_SUCCESS) return;
    if (capture != CULVI_NOT_CAPTURED) {
        /* An event recorded now would become part of the caller's graph. */
        culvi_log(
            &device->voice, CULV_LOG_WARNING,
            "the stream of last use %p %s being captured: the release will wait for all CUDA work",
            (void *)last_use, capture == CULVI_CAPTURED ? "is" : "waits for one that is");
        return;
    }
    object->stream = last_use;
    r = CULVI_CU(device, cuEventCreate, (&object->event, CU_EVENT_DISABLE_TIMING));
    if (r != CUDA_SUCCESS) {
        object->event = NULL;
        return;
    }
    if (CULVI_CU(device, cuEventRecord, (object->event, last_use)) != CUDA_SUCCESS)
        destroy_event(device, object);
}

culv_result culvi_defer_after(culv_device *device, culvi_deferred *object, CUstream last_use,
                              const char *label, const char *call)
{
    bool pushed = false;
    culvi_capture capture;
    culv_result result = culvi_enter_stream(device, label, last_use, &pushed);
    if (result != CULV_OK) return result;
    object->event = NULL;
    object->stream = last_use;
    const char *failed = "cuStreamIsCapturing";
    CUresult r = culvi_stream_capture(device, last_use, &capture);
    if (r == CUDA_SUCCESS && capture != CULVI_NOT_CAPTURED) {
        result = culvi_fail(
            &device->voice, label, CULV_ERROR_INVALID, CULV_REASON_CAPTURE,
            "%s: the stream %p %s; "
            "call this outside of the capture, with a stream that the work is submitted to",
            call, (void *)last_use,
            capture == CULVI_CAPTURED
                ? "is being captured, and does nothing until its graph runs"
                : "is the legacy one, which waits for a stream that is being captured");
        goto leave;
    }
    if (r == CUDA_SUCCESS) {
        failed = "cuEventCreate";
        r = CULVI_CU(device, cuEventCreate, (&object->event, CU_EVENT_DISABLE_TIMING));
        if (r != CUDA_SUCCESS) object->event = NULL;
    }
    if (r == CUDA_SUCCESS) {
        failed = "cuEventRecord";
        r = CULVI_CU(device, cuEventRecord, (object->event, last_use));
        if (r != CUDA_SUCCESS) destroy_event(device, object);
    }
    if (r == CUDA_SUCCESS)
        culvi_defer(device, object);
    else
        result = culvi_fail_cuda(device, label, r, failed, CULV_REASON_DRIVER_REFUSED,
                                 "%s: no event could be recorded in the stream %p", call,
                                 (void *)last_use);
leave:
    culvi_leave_frame(device, pushed);
    return result;
}

static const char *kind_of(const culvi_deferred *object)
{
    return object->kind != NULL ? object->kind : "object";
}

static CUresult wait_for(culv_device *device, const culvi_deferred *object)
{
    culvi_watch watch;
    culvi_watch_stream(device, &watch, kind_of(object), object->label, object->size,
                       object->stream);
    CUresult r = CULVI_CU(device, cuEventSynchronize, (object->event));
    /* Not every driver call waits once more: what one wait did not tell, the next one does. */
    if (r != CUDA_SUCCESS && !culvi_cuda_sticky(r) && !culvi_cuda_gone(r))
        r = CULVI_CU(device, cuEventSynchronize, (object->event));
    culvi_watch_done(device, &watch);
    return r;
}

/* True when the GPU is done with the object. In the device's context. */
static bool is_due(culv_device *device, culvi_deferred *object, bool wait)
{
    if (object->event == NULL) return true;
    CUresult r = wait ? wait_for(device, object) : CULVI_CU(device, cuEventQuery, (object->event));
    if (r != CUDA_SUCCESS && !wait && !culvi_cuda_sticky(r) && !culvi_cuda_gone(r)) return false;
    destroy_event(device, object);
    return true;
}

/* The driver may wait here. The object may be gone afterwards. */
static bool release(culv_device *device, culvi_deferred *object, bool last_try)
{
    culvi_watch watch;
    culvi_watch_begin(device, &watch, kind_of(object), object->label, object->size);
    bool known = object->kind != NULL;
    bool released = object->release(device, object, last_try);
    culvi_watch_done(device, &watch);
    if (released && known)
        culvi_log_object(&device->voice, "destroyed", watch.kind, watch.label, watch.size);
    return released;
}

void culvi_made(culv_device *device, culvi_deferred *object, const char *kind, const char *label,
                uint64_t size)
{
    object->kind = kind;
    object->label = label;
    object->size = size;
    culvi_log_object(&device->voice, "made", kind, label, size);
}

/* Takes what is chosen off the device's list; NULL: all. */
static culvi_deferred *take(culv_device *device,
                            bool (*choose)(const culvi_deferred *object, const void *context),
                            const void *context)
{
    culvi_deferred *list = NULL, **tail = &list, **link = &device->deferred;
    while (*link != NULL) {
        culvi_deferred *object = *link;
        if (choose != NULL && !choose(object, context)) {
            link = &object->next;
            continue;
        }
        *link = object->next;
        object->next = NULL;
        *tail = object;
        tail = &object->next;
    }
    device->retired_end = link;
    return list;
}

enum { BUSY_STREAMS = 32 }; /* that a sweep remembers; of more it asks each event */

static bool is_busy(const culvi_deferred *object, const CUstream *busy, size_t count)
{
    for (size_t i = 0; object->event != NULL && i < count; i++)
        if (busy[i] == object->stream) return true;
    return false;
}

/* Takes what is due of a holder's, or of all (NULL). A stream that has not reached an event does
 * not reach a later one either, so it is asked no more: a sweep asks about what has passed, and
 * once more for each stream. In the device's context. */
static culvi_deferred *take_due(culv_device *device, const void *holder)
{
    CUstream busy[BUSY_STREAMS];
    size_t count = 0;
    culvi_deferred *list = NULL, **tail = &list, **link = &device->deferred;
    while (*link != NULL) {
        culvi_deferred *object = *link;
        bool asked = (holder == NULL || object->holder == holder) && !is_busy(object, busy, count);
        if (asked && is_due(device, object, false)) {
            *link = object->next;
            object->next = NULL;
            *tail = object;
            tail = &object->next;
            continue;
        }
        /* The per-thread stream is another one in each thread. */
        if (asked && object->stream != CU_STREAM_PER_THREAD && count < BUSY_STREAMS)
            busy[count++] = object->stream;
        link = &object->next;
    }
    device->retired_end = link;
    return list;
}

static bool has_holder(const culvi_deferred *object, const void *holder)
{
    return object->holder == holder;
}

/* Releases what was taken off the device's list, once its event has passed where there is a context
 * to ask in; what the driver refuses goes back onto the list. In the device's context where there
 * is one. */
static void collect_list(culv_device *device, culvi_deferred *list, bool entered, bool last_try)
{
    while (list != NULL) { /* a release may retire something anew */
        culvi_deferred *next = list->next;
        device->counts.deferred--;
        if ((entered && !is_due(device, list, true)) || !release(device, list, last_try))
            culvi_defer(device, list);
        list = next;
    }
}

void culvi_defer(culv_device *device, culvi_deferred *object)
{
    object->next = NULL;
    *device->retired_end = object;
    device->retired_end = &object->next;
    device->counts.deferred++;
}

/* What is due now of a holder's, or of all; with the context gone, all is. */
static void collect_due(culv_device *device, const void *holder, culvi_scope *scope,
                        CUresult entered)
{
    if (entered == CUDA_SUCCESS)
        collect_list(device, take_due(device, holder), true, false);
    else if (culvi_cuda_gone(entered))
        collect_list(device, take(device, holder != NULL ? has_holder : NULL, holder), false, true);
    if (entered == CUDA_SUCCESS) culvi_leave(device, scope);
}

void culvi_collect(culv_device *device)
{
    culvi_collect_for(device, NULL);
}

void culvi_collect_for(culv_device *device, const void *holder)
{
    culvi_scope scope;
    if (device->deferred == NULL) return;
    collect_due(device, holder, &scope, culvi_enter_quietly(device, &scope));
}

void culvi_release_or_defer(culv_device *device, culvi_deferred *object, bool has_last_use,
                            CUstream last_use)
{
    culvi_scope scope;
    object->event = NULL;
    CUresult entered = culvi_enter_quietly(device, &scope);
    if (entered == CUDA_SUCCESS && has_last_use) mark(device, object, last_use);
    culvi_defer(device, object);
    if (has_last_use && device->counts.deferred % MANY == 0)
        culvi_log(&device->voice, CULV_LOG_WARNING,
                  "%" PRIu64
                  " objects that were given up by ..._after() calls are not released yet; "
                  "call culv_device_collect() now and then, where waiting does no harm",
                  device->counts.deferred);
    /* With a last use this must not wait, as a release of it or of what else is due may. */
    if (entered == CUDA_SUCCESS && has_last_use)
        culvi_leave(device, &scope);
    else
        collect_due(device, NULL, &scope, entered);
}

void culvi_wait_and_collect(culv_device *device)
{
    for (int attempt = 0; device->deferred != NULL && attempt < 3; attempt++) {
        bool last = attempt == 2;
        culvi_scope scope;
        bool entered = culvi_enter_quietly(device, &scope) == CUDA_SUCCESS;
        /* Without a context there is nothing to wait for; the releases then answer for
         * themselves. */
        if (entered || last) collect_list(device, take(device, NULL, NULL), entered, last);
        if (entered) culvi_leave(device, &scope);
    }
}

/* One that is on no list. */
static void release_now(culv_device *device, culvi_deferred *object)
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
        if (entered || last) released = release(device, object, last);
        if (entered) culvi_leave(device, &scope);
    }
    if (!released) culvi_defer(device, object);
    culvi_mutex_unlock(&device->lock);
}

void culvi_wait_and_collect_chosen(culv_device *device,
                                   bool (*choose)(const culvi_deferred *object,
                                                  const void *context),
                                   const void *context)
{
    culvi_mutex_lock(&device->lock);
    culvi_deferred *list = take(device, choose, context);
    culvi_mutex_unlock(&device->lock);
    while (list != NULL) {
        culvi_deferred *next = list->next;
        release_now(device, list);
        list = next;
    }
}

void culvi_wait_and_collect_for(culv_device *device, const void *holder)
{
    culvi_wait_and_collect_chosen(device, has_holder, holder);
}

/* "the CUDA half of an object that Culvert made" */
static bool refuse(const culv_device *device, const char *label, const char *owner_destroy_call,
                   const char *call, const char *what)
{
    if (owner_destroy_call == NULL) return false;
    (void)culvi_fail(&device->voice, label, CULV_ERROR_INVALID, CULV_REASON_OWNED,
                     "%s: it is %s; %s() destroys both. Nothing was done", call, what,
                     owner_destroy_call);
    return true;
}

bool culvi_refuse_owned(const culv_device *device, const char *label,
                        const char *owner_destroy_call, const char *call)
{
    return refuse(device, label, owner_destroy_call, call,
                  "the CUDA half of an object that Culvert made");
}

bool culvi_refuse_part(const culv_device *device, const char *label, const char *owner_destroy_call,
                       const char *call)
{
    return refuse(device, label, owner_destroy_call, call, "a part of another object");
}
