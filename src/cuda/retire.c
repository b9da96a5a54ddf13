/* SPDX-License-Identifier: MIT */
/* Deferred release (R1): what the caller gave up with a stream of last use goes back to the driver
 * once that stream has got there, and what the driver refuses to take back is tried again.
 *
 * Why no deferral without a stream: the only event over a whole context, cuCtxRecordEvent,
 * invalidates every stream capture in the context, in relaxed mode too (measured,
 * docs/measured/nvidia-measured.md), which R8 forbids. Releasing at once is safe there: cuMemFree,
 * cuMipmappedArrayDestroy and cuDestroyExternalSemaphore wait for the work that uses what they
 * release (measured). */
#include "cuda/retire.h"

#include "cuda/watch.h"

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
    CUresult r;
    CULVI_ASK(r, CULVI_RELEASE(device, cuEventDestroy, (object->event)));
    if (!culvi_cuda_answers(r)) (void)culvi_release_done(device, "cuEventDestroy", r, true);
    object->event = NULL;
}

/* An event of the object's, recorded in a stream; NULL after an error. What is refused once is
 * tried again: the caller of a destroy cannot. */
static CUresult record(culv_device *device, culvi_deferred *object, CUstream stream,
                       const char **call)
{
    CUresult r;
    CULVI_ASK(r,
              CULVI_CU_AS(*call, device, cuEventCreate, (&object->event, CU_EVENT_DISABLE_TIMING)));
    if (r != CUDA_SUCCESS) {
        object->event = NULL;
        return r;
    }
    CULVI_ASK(r, CULVI_CU_AS(*call, device, cuEventRecord, (object->event, stream)));
    if (r != CUDA_SUCCESS) destroy_event(device, object);
    return r;
}

static void warn_of_many(const culv_device *device)
{
    if (device->counts.deferred % MANY == 0)
        culvi_log(
            &device->voice, CULV_LOG_WARNING,
            "%" PRIu64
            " objects that were given up behind a stream are not released yet; call culv_device_collect() now and then, where waiting does no harm",
            device->counts.deferred);
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
    const char *call = NULL;
    object->stream = last_use;
    (void)record(device, object, last_use, &call);
}

culv_result culvi_defer_after(culv_device *device, culvi_deferred *object, CUstream last_use,
                              const char *label, const char *call)
{
    bool pushed = false;
    culvi_capture capture;
    culv_result result = culvi_enter_any_stream(device, label, last_use, NULL, &pushed);
    if (result != CULV_OK) return result;
    object->event = NULL;
    object->stream = last_use;
    const char *failed = "cuStreamIsCapturing";
    CUresult r = culvi_stream_capture(device, last_use, &capture);
    if (r == CUDA_SUCCESS && capture != CULVI_NOT_CAPTURED) {
        result = culvi_fail(
            &device->voice, label, CULV_ERROR_INVALID, CULV_REASON_CAPTURE,
            "%s: the stream %p %s; call this outside of the capture, with a stream that the work is submitted to",
            call, (void *)last_use,
            capture == CULVI_CAPTURED
                ? "is being captured, and does nothing until its graph runs"
                : "is the legacy one, which waits for a stream that is being captured");
        goto leave;
    }
    if (r == CUDA_SUCCESS) r = record(device, object, last_use, &failed);
    if (r == CUDA_SUCCESS) {
        culvi_defer(device, object);
        warn_of_many(device);
    } else {
        result = culvi_fail_cuda(device, label, r, failed, CULV_REASON_DRIVER_REFUSED,
                                 "%s: no event could be recorded in the stream %p", call,
                                 (void *)last_use);
    }
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
    culvi_watch watch = {
        .kind = kind_of(object), .size = object->size, .stream = object->stream, .on_stream = true};
    CUresult r;
    culvi_watch_begin(device, &watch, object->label);
    /* Not every driver call waits once more: what one wait did not tell, the next one does. */
    CULVI_ASK(r, CULVI_CU(device, cuEventSynchronize, (object->event)));
    culvi_watch_done(device, &watch);
    return r;
}

/* True when the GPU is done with the object. In the device's context. */
static bool is_due(culv_device *device, culvi_deferred *object, bool wait)
{
    if (object->event == NULL) return true;
    CUresult r = wait ? wait_for(device, object) : CULVI_CU(device, cuEventQuery, (object->event));
    if (!wait && !culvi_cuda_answers(r)) return false;
    destroy_event(device, object);
    return true;
}

/* The driver may wait here. The object may be gone afterwards. */
static bool release(culv_device *device, culvi_deferred *object, bool last_try)
{
    culvi_watch watch = {.kind = kind_of(object), .size = object->size};
    culvi_watch_begin(device, &watch, object->label);
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

/* Lanes: what one holder has deferred after one stream, in order of arrival, in which the stream's
 * events pass. The first of a lane is in the device's tree. So where that is not due, a sweep asks
 * no more of the lane, however many wait behind it. */

#define NO_EVENT UINT64_MAX /* in place of a stream: due at once */

static culvi_deferred *lane_of(culvi_tree_node *node)
{
    return CULVI_TREE_OBJECT(node, culvi_deferred, lane);
}

static void append(culv_device *device, culvi_deferred *object)
{
    const uint64_t holder = (uint64_t)(uintptr_t)object->holder;
    const uint64_t stream = object->event != NULL ? (uint64_t)(uintptr_t)object->stream : NO_EVENT;
    culvi_deferred *first = lane_of(culvi_tree_find(&device->deferred, holder, stream));
    object->next = NULL;
    if (first == NULL) {
        culvi_tree_add(&device->deferred, &object->lane, holder, stream);
        first = object;
    } else {
        first->last->next = object;
    }
    first->last = object;
}

/* Takes the first of a lane off it, and returns the next one. */
static culvi_deferred *pop(culv_device *device, culvi_deferred *first)
{
    culvi_deferred *next = first->next;
    const uint64_t holder = first->lane.major, stream = first->lane.minor;
    culvi_tree_remove(&device->deferred, &first->lane);
    first->next = NULL;
    if (next == NULL) return NULL;
    next->last = first->last;
    culvi_tree_add(&device->deferred, &next->lane, holder, stream);
    return next;
}

/* The first lane of a holder, or of all (NULL), and the one behind a lane. */
static culvi_deferred *first_lane(const culv_device *device, const void *holder)
{
    culvi_deferred *lane =
        lane_of(culvi_tree_from(&device->deferred, (uint64_t)(uintptr_t)holder, 0));
    return lane != NULL && (holder == NULL || lane->holder == holder) ? lane : NULL;
}

static culvi_deferred *next_lane(const culvi_deferred *lane, const void *holder)
{
    culvi_deferred *next = lane_of(culvi_tree_next(&lane->lane));
    return next != NULL && (holder == NULL || next->holder == holder) ? next : NULL;
}

/* What was taken off lanes. */
typedef struct taken {
    culvi_deferred *first, **end;
} taken;

static void add_taken(taken *t, culvi_deferred *object)
{
    object->next = NULL;
    *t->end = object;
    t->end = &object->next;
}

/* Takes what is chosen of a holder's, or of all (NULL); choose NULL: everything. */
static culvi_deferred *take(culv_device *device, const void *holder,
                            bool (*choose)(const culvi_deferred *object, const void *context),
                            const void *context)
{
    taken out = {NULL, &out.first};
    culvi_deferred *following;
    for (culvi_deferred *lane = first_lane(device, holder); lane != NULL; lane = following) {
        following = next_lane(lane, holder);
        culvi_tree_remove(&device->deferred, &lane->lane);
        for (culvi_deferred *object = lane, *next; object != NULL; object = next) {
            next = object->next;
            if (choose == NULL || choose(object, context))
                add_taken(&out, object);
            else
                append(device, object);
        }
    }
    return out.first;
}

enum { BUSY_STREAMS = 32 }; /* that a sweep remembers; of more it asks in each lane */

static bool is_busy(uint64_t stream, const uint64_t *busy, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (busy[i] == stream) return true;
    return false;
}

/* The per-thread stream is another one in each thread: each event of its lane is asked. */
static void take_due_of_threads(culv_device *device, culvi_deferred *lane, taken *out)
{
    culvi_tree_remove(&device->deferred, &lane->lane);
    for (culvi_deferred *object = lane, *next; object != NULL; object = next) {
        next = object->next;
        if (is_due(device, object, false))
            add_taken(out, object);
        else
            append(device, object);
    }
}

/* Takes what is due of a holder's, or of all (NULL). A stream that has not reached an event does
 * not reach a later one either, in whatever lane, so it is asked no more: a sweep asks about what
 * has passed, and once more for each stream. In the device's context. */
static culvi_deferred *take_due(culv_device *device, const void *holder)
{
    uint64_t busy[BUSY_STREAMS];
    size_t count = 0;
    taken out = {NULL, &out.first};
    culvi_deferred *following;
    for (culvi_deferred *lane = first_lane(device, holder); lane != NULL; lane = following) {
        const uint64_t stream = lane->lane.minor;
        following = next_lane(lane, holder);
        if (is_busy(stream, busy, count)) continue;
        if (stream == (uint64_t)(uintptr_t)CU_STREAM_PER_THREAD) {
            take_due_of_threads(device, lane, &out);
            continue;
        }
        while (lane != NULL && is_due(device, lane, false)) {
            culvi_deferred *object = lane;
            lane = pop(device, object);
            add_taken(&out, object);
        }
        if (lane != NULL && count < BUSY_STREAMS) busy[count++] = stream;
    }
    return out.first;
}

/* Releases what was taken off the device's list, once its event has passed where there is a context
 * to ask in; what the driver refuses goes back onto the list. In the device's context where there
 * is one. */
static void collect_list(culv_device *device, culvi_deferred *list, bool entered, bool last_try)
{
    while (list != NULL) { /* a release may retire something again */
        culvi_deferred *next = list->next;
        device->counts.deferred--;
        if ((entered && !is_due(device, list, true)) || !release(device, list, last_try))
            culvi_defer(device, list);
        list = next;
    }
}

void culvi_defer(culv_device *device, culvi_deferred *object)
{
    append(device, object);
    device->counts.deferred++;
}

static bool is_it(const culvi_deferred *object, const void *context)
{
    return object == context;
}

void culvi_undefer(culv_device *device, culvi_deferred *object)
{
    if (take(device, object->holder, is_it, object) != NULL) device->counts.deferred--;
}

/* What is due now of a holder's, or of all; with the context gone, all is. */
static void collect_due(culv_device *device, const void *holder, culvi_scope *scope,
                        CUresult entered)
{
    if (entered == CUDA_SUCCESS)
        collect_list(device, take_due(device, holder), true, false);
    else if (culvi_cuda_gone(entered))
        collect_list(device, take(device, holder, NULL, NULL), false, true);
    if (entered == CUDA_SUCCESS) culvi_leave(device, scope);
}

void culvi_collect_for(culv_device *device, const void *holder)
{
    culvi_scope scope;
    if (device->deferred.root == NULL) return;
    collect_due(device, holder, &scope, culvi_enter_quietly(device, &scope));
}

void culvi_release_or_defer(culv_device *device, culvi_deferred *object, const CUstream *last_use)
{
    culvi_scope scope;
    object->event = NULL;
    CUresult entered = culvi_enter_quietly(device, &scope);
    if (entered == CUDA_SUCCESS && last_use != NULL) mark(device, object, *last_use);
    culvi_defer(device, object);
    if (last_use != NULL) warn_of_many(device);
    /* This must not wait where a last use is named. A release of it, or of what else is due,
     * may. */
    if (entered == CUDA_SUCCESS && last_use != NULL)
        culvi_leave(device, &scope);
    else
        collect_due(device, NULL, &scope, entered);
}

void culvi_release_alone(culv_device *device, culvi_deferred *object)
{
    culvi_scope scope;
    culvi_mutex_lock(&device->lock);
    bool entered = culvi_enter_quietly(device, &scope) == CUDA_SUCCESS;
    if (!(entered || device->lost) || !object->release(device, object, false))
        culvi_defer(device, object);
    if (entered) culvi_leave(device, &scope);
    culvi_mutex_unlock(&device->lock);
}

void culvi_wait_and_collect(culv_device *device)
{
    for (int attempt = 0; device->deferred.root != NULL && attempt < 3; attempt++) {
        bool last = attempt == 2;
        culvi_scope scope;
        bool entered = culvi_enter_quietly(device, &scope) == CUDA_SUCCESS;
        /* Without a context there is nothing to wait for; the releases then answer for
         * themselves. */
        if (entered || last) collect_list(device, take(device, NULL, NULL, NULL), entered, last);
        if (entered) culvi_leave(device, &scope);
    }
}

/* One that is on no list. */
static void release_now(culv_device *device, culvi_deferred *object)
{
    culvi_scope scope;
    bool released = false;
    /* The lock is not held: another thread may need it before it submits what this waits for. */
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

void culvi_wait_and_collect_for(culv_device *device, const void *holder,
                                bool (*choose)(const culvi_deferred *object, const void *context),
                                const void *context)
{
    culvi_mutex_lock(&device->lock);
    culvi_deferred *list = take(device, holder, choose, context);
    culvi_mutex_unlock(&device->lock);
    while (list != NULL) {
        culvi_deferred *next = list->next;
        release_now(device, list);
        list = next;
    }
}

bool culvi_refuse_owned(const culv_device *device, const char *label, const char *what,
                        const char *owner_destroy_call, const char *call)
{
    if (owner_destroy_call == NULL) return false;
    (void)culvi_fail(&device->voice, label, CULV_ERROR_INVALID, CULV_REASON_OWNED,
                     "%s: it is %s; %s() destroys both. Nothing was done", call, what,
                     owner_destroy_call);
    return true;
}

/* Late ----------------------------------------------------------------------------------------- */

/* Waiting for all work of a context, and what waits for that.
 *
 * cuCtxSynchronize would break every capture in the context, in the relaxed mode too; cuMemFree,
 * which waits just so, breaks none there (both measured). So a small allocation is made and
 * freed. */

enum { BUSY = 1 }; /* it is being made */

bool culvi_cuda_answers(CUresult code)
{
    return code == CUDA_SUCCESS || culvi_cuda_sticky(code) || culvi_cuda_gone(code);
}

void culvi_late_prepare(culv_device *device)
{
    culvi_scope scope;
    uint64_t none = 0;
    CUdeviceptr made = 0;
    if (!atomic_compare_exchange_strong(&device->waiter, &none, BUSY)) return;
    if (culvi_enter_quietly(device, &scope) == CUDA_SUCCESS) {
        if (CULVI_CU(device, cuMemAlloc, (&made, 1)) != CUDA_SUCCESS) made = 0;
        culvi_leave(device, &scope);
    }
    atomic_store(&device->waiter, made);
}

CUresult culvi_wait_in_context(culv_device *device, const char *kind, const char *label,
                               uint64_t size, const char **call)
{
    CUdeviceptr mine = 0;
    CUresult r = CUDA_SUCCESS;
    uint64_t kept = atomic_load(&device->waiter);
    if (kept > BUSY && atomic_compare_exchange_strong(&device->waiter, &kept, 0))
        mine = (CUdeviceptr)kept;
    else
        CULVI_ASK(r, CULVI_CU_AS(*call, device, cuMemAlloc, (&mine, 1)));
    if (r != CUDA_SUCCESS) return r;
    culvi_watch watch = {.kind = kind, .size = size};
    culvi_watch_begin(device, &watch, label);
    *call = "cuMemFree";
    CULVI_ASK(r, CULVI_RELEASE(device, cuMemFree, (mine)));
    culvi_watch_done(device, &watch);
    kept = 0;
    if (r != CUDA_SUCCESS) /* a lost context takes it along; else it is there */
        (void)atomic_compare_exchange_strong(&device->waiter, &kept, mine);
    return r;
}

bool culvi_wait_for_all(culv_device *device, const char *kind, const char *label, uint64_t size)
{
    culvi_scope scope;
    const char *call;
    CUresult r;
    CULVI_ASK(r, culvi_enter_quietly(device, &scope));
    if (r != CUDA_SUCCESS) return culvi_cuda_gone(r);
    r = culvi_wait_in_context(device, kind, label, size, &call);
    culvi_leave(device, &scope);
    return culvi_cuda_answers(r);
}

void culvi_late_push(culv_device *device, culvi_late *object)
{
    object->next = atomic_load(&device->late);
    while (!atomic_compare_exchange_weak(&device->late, &object->next, object)) {
    }
}

void culvi_release_late(culv_device *device, culvi_late *object, const char *kind,
                        const char *label, uint64_t size)
{
    if (culvi_wait_for_all(device, kind, label, size)) {
        object->release(object);
        return;
    }
    culvi_log(
        &device->voice, CULV_LOG_WARNING,
        "%s: the driver does not wait for the work that may still use it; it is kept until a later culv_device_collect()",
        culvi_named(kind, label).text);
    culvi_late_push(device, object);
}

void culvi_late_collect(culv_device *device)
{
    if (atomic_load(&device->late) == NULL) return;
    culvi_late *list = atomic_exchange(&device->late, NULL);
    const bool over = list != NULL && culvi_wait_for_all(device, "memory", NULL, 0);
    while (list != NULL) {
        culvi_late *object = list;
        list = object->next;
        if (over)
            object->release(object);
        else
            culvi_late_push(device, object);
    }
}

void culvi_late_end(culv_device *device)
{
    culvi_scope scope;
    const CUdeviceptr made = (CUdeviceptr)atomic_exchange(&device->waiter, 0);
    if (made <= BUSY || culvi_enter_quietly(device, &scope) != CUDA_SUCCESS) return;
    CUresult r;
    CULVI_ASK(r, CULVI_RELEASE(device, cuMemFree, (made)));
    (void)culvi_release_done(device, "cuMemFree", r, true);
    culvi_leave(device, &scope);
}
