/* SPDX-License-Identifier: MIT */
/* Fallbacks of semaphores: signals and waits that take place on another GPU, or in host
 * functions. */
#include "core/relay.h"

culv_sharing culv_semaphore_sharing(const culv_semaphore *semaphore)
{
    return semaphore != NULL && semaphore->relay != NULL ? semaphore->relay->path
                                                         : CULV_SHARING_SHARED;
}

static culv_result fail(const culv_semaphore *semaphore, const culv_device *device, CUresult r,
                        const char *call, bool signal, uint64_t value)
{
    return culvi_fail_cuda(device, semaphore->label, r, call, CULV_REASON_DRIVER_REFUSED,
                           "value %" PRIu64 " could not be %s (%s sharing)", value,
                           signal ? "signaled" : "waited for",
                           culv_sharing_name(semaphore->relay->path));
}

/* The caller's stream was refused: its address may have become another context's stream. */
static culv_result fail_on(const culv_semaphore *semaphore, CUstream stream, CUresult r,
                           const char *call, bool signal, uint64_t value)
{
    CULVI_TRY(culvi_recheck_stream(semaphore->device, semaphore->label, stream, r));
    return fail(semaphore, semaphore->device, r, call, signal, value);
}

/* By another GPU ------------------------------------------------------------------------------- */

static CUresult create_event(culv_device *device, CUevent *out)
{
    CUresult r = CULVI_CU(device, cuEventCreate, (out, CU_EVENT_DISABLE_TIMING));
    if (r != CUDA_SUCCESS) *out = NULL;
    return r;
}

static CUresult create_stream(culv_device *device, CUstream *out)
{
    CUresult r = CULVI_CU(device, cuStreamCreate, (out, CU_STREAM_NON_BLOCKING));
    if (r != CUDA_SUCCESS) *out = NULL;
    return r;
}

/* Runs in the peer's context. */
static CUresult create_lane(culv_device *peer, culvi_lane *lane, const char **call)
{
    *call = "cuEventCreate";
    CUresult r = lane->event == NULL ? create_event(peer, &lane->event) : CUDA_SUCCESS;
    if (r != CUDA_SUCCESS) return r;
    *call = "cuStreamCreate";
    return lane->stream == NULL ? create_stream(peer, &lane->stream) : CUDA_SUCCESS;
}

/* A wait that stands behind one for a higher value might never begin. Where there are no lanes left
 * it stands behind the lowest. In the peer's context. */
static CUresult choose_lane(culvi_relay *relay, uint64_t value, culvi_lane **out, const char **call)
{
    culvi_lane *lowest = NULL;
    for (uint32_t i = 0; i < relay->num_lanes; i++) {
        culvi_lane *lane = &relay->lanes[i];
        *out = lane;
        if (lane->last <= value) return CUDA_SUCCESS;
        if (lowest == NULL || lane->last < lowest->last) lowest = lane;
    }
    *out = lowest;
    if (relay->num_lanes == CULVI_RELAY_LANES) return CUDA_SUCCESS;
    *out = &relay->lanes[relay->num_lanes];
    CUresult r = create_lane(relay->there, *out, call);
    if (r == CUDA_SUCCESS) relay->num_lanes++;
    return r;
}

/* Tries a refused record again: a binary semaphore has spent its wait already. */
static CUresult record(const culv_device *device, CUevent event, CUstream stream)
{
    CUresult r = device->cuda->cuEventRecord(event, stream);
    return r == CUDA_SUCCESS || culvi_cuda_sticky(r) ? r
                                                     : device->cuda->cuEventRecord(event, stream);
}

/* The event is recorded in the caller's stream; the peer's own stream waits for it and signals. */
static CUresult signal_by_peer(culv_semaphore *semaphore, CUstream stream, uint64_t value,
                               const char **call)
{
    culvi_relay *relay = semaphore->relay;
    culv_device *peer = relay->there;
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS params = {0};
    bool pushed;
    params.params.fence.value = value;
    *call = "cuEventRecord";
    CUresult r = semaphore->device->cuda->cuEventRecord(relay->before, stream);
    if (r == CUDA_SUCCESS) r = culvi_enter_frame(peer, &pushed, call);
    if (r != CUDA_SUCCESS) return r;
    *call = "cuStreamWaitEvent";
    r = peer->cuda->cuStreamWaitEvent(relay->signals, relay->before, 0);
    if (r == CUDA_SUCCESS) {
        *call = "cuSignalExternalSemaphoresAsync";
        r = peer->cuda->cuSignalExternalSemaphoresAsync(&relay->peer->external, &params, 1,
                                                        relay->signals);
    }
    culvi_leave_frame(peer, pushed);
    return r;
}

static CUresult wait_by_peer(culv_semaphore *semaphore, CUstream stream, uint64_t value,
                             unsigned steps, const char **call)
{
    culvi_relay *relay = semaphore->relay;
    culv_device *peer = relay->there;
    culvi_lane *lane = NULL;
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS params = {0};
    bool pushed;
    params.params.fence.value = value;
    CUresult r = culvi_enter_frame(peer, &pushed, call);
    if (r != CUDA_SUCCESS) return r;
    r = choose_lane(relay, value, &lane, call);
    if (!(steps & CULVI_RELAY_SUBMIT)) {
        culvi_leave_frame(peer, pushed);
        return r;
    }
    if (r == CUDA_SUCCESS) {
        *call = "cuWaitExternalSemaphoresAsync";
        r = peer->cuda->cuWaitExternalSemaphoresAsync(&relay->peer->external, &params, 1,
                                                      lane->stream);
    }
    if (r == CUDA_SUCCESS) {
        if (lane->last < value) lane->last = value;
        *call = "cuEventRecord";
        r = record(peer, lane->event, lane->stream);
    }
    culvi_leave_frame(peer, pushed);
    if (r != CUDA_SUCCESS) return r;
    *call = "cuStreamWaitEvent";
    r = semaphore->device->cuda->cuStreamWaitEvent(stream, lane->event, 0);
    if (r != CUDA_SUCCESS && !culvi_cuda_sticky(r))
        r = semaphore->device->cuda->cuStreamWaitEvent(stream, lane->event, 0);
    return r;
}

/* By the host ---------------------------------------------------------------------------------- */

/* Called by the CUDA driver. No CUDA call is allowed in here (R3). */
static void CUDA_CB run_request(void *user)
{
    culvi_request *request = user;
    culvi_relay *relay = request->relay;
    const culvi_host_semaphore *host = &relay->host;
    int none = 0;
    atomic_store(&request->begun, true);
    culvi_mutex_lock(&request->running);
    int code = atomic_load(&relay->released) ? 0
               : request->wait               ? host->wait(host->context, request->value)
                                             : host->signal(host->context, request->value);
    if (code != 0 && atomic_compare_exchange_strong(&relay->failed, &none, code))
        atomic_store(&relay->failed_wait, request->wait);
    atomic_store(&request->pending, false);
    culvi_mutex_unlock(&request->running);
}

/* One that is not on its way. In the device's context. */
static culv_result find_request(culv_semaphore *semaphore, culvi_request **out)
{
    culvi_relay *relay = semaphore->relay;
    culv_device *device = semaphore->device;
    for (culvi_request *q = relay->requests; q != NULL; q = q->next)
        if (!atomic_load(&q->pending)) {
            /* Its host function may still be on its last line. */
            culvi_mutex_lock(&q->running);
            culvi_mutex_unlock(&q->running);
            *out = q;
            return CULV_OK;
        }
    CULVI_NEW(culvi_request, made, &device->voice, semaphore->label);
    made->relay = relay;
    CUresult r = create_event(device, &made->done);
    if (r != CUDA_SUCCESS) {
        culvi_free(made);
        return culvi_fail_cuda(device, semaphore->label, r, "cuEventCreate",
                               CULV_REASON_DRIVER_REFUSED,
                               "a signal or wait by the host could not be prepared");
    }
    culvi_mutex_init(&made->running);
    made->next = relay->requests;
    relay->requests = made;
    *out = made;
    return CULV_OK;
}

/* A host function has nobody to tell; the next call does. */
static culv_result refuse_failed(const culv_semaphore *semaphore, int code)
{
    const culvi_relay *relay = semaphore->relay;
    const culvi_words *words = relay->host.words;
    bool wait = atomic_load(&relay->failed_wait);
    return culvi_fail_native(
        &semaphore->device->voice, semaphore->label, CULV_ERROR_ASYNC, CULV_REASON_EARLIER_FAILURE,
        words->api, code, wait ? words->wait_call : words->signal_call,
        "an earlier %s (HOST sharing) failed in its host function: %s answered %d; the work that it should have ordered may have run out of order",
        wait ? "wait" : "signal", wait ? words->wait_call : words->signal_call, code);
}

static culv_result submit_by_host(culv_semaphore *semaphore, CUstream stream, uint64_t value,
                                  bool signal, unsigned steps)
{
    culvi_relay *relay = semaphore->relay;
    culv_device *device = semaphore->device;
    culvi_request *request = NULL;
    int code = atomic_load(&relay->failed);
    if (code != 0 && (steps & CULVI_RELAY_PREPARE)) return refuse_failed(semaphore, code);
    /* Then there is nothing to hold up the stream for. */
    if (!signal && relay->host.reached(relay->host.context, value)) return CULV_OK;
    culv_result result = find_request(semaphore, &request);
    if (result != CULV_OK || !(steps & CULVI_RELAY_SUBMIT)) return result;
    request->value = value;
    request->wait = !signal;
    atomic_store(&request->begun, false);
    atomic_store(&request->pending, true);
    CUresult r = device->cuda->cuLaunchHostFunc(stream, run_request, request);
    if (r != CUDA_SUCCESS) {
        atomic_store(&request->pending, false);
        return fail_on(semaphore, stream, r, "cuLaunchHostFunc", signal, value);
    }
    /* Only destroying asks for it; without it, that asks the host function alone. */
    if (device->cuda->cuEventRecord(request->done, stream) != CUDA_SUCCESS)
        (void)device->cuda->cuEventRecord(request->done, stream);
    return CULV_OK;
}

/* True when its host function is over, or will not come. In the device's context, where there is
 * one. */
static bool is_over(culv_device *device, const culvi_request *q)
{
    /* Under an error of the context no host function begins any more. Such an error stays: one
     * answer is no proof. */
    for (int i = 0; i < 2 && !device->lost && atomic_load(&q->pending); i++)
        if (!culvi_cuda_sticky(CULVI_CU(device, cuEventQuery, (q->done))))
            return !atomic_load(&q->pending);
    /* One that has begun may be waiting, and ends by itself. */
    return device->lost || !atomic_load(&q->begun) || !atomic_load(&q->pending);
}

enum { REFUSALS = 1000 }; /* a millisecond each */

/* Where the driver refuses to wait, for reasons of its own, the host function tells as well that it
 * is over. */
static void wait_for_request(culv_device *device, culvi_request *q)
{
    for (unsigned refused = 0; atomic_load(&q->pending) && refused < REFUSALS;) {
        culvi_scope scope;
        CUresult r = culvi_enter_quietly(device, &scope);
        bool over = device->lost;
        if (r == CUDA_SUCCESS) {
            over = is_over(device, q);
            if (!over) r = CULVI_CU(device, cuEventSynchronize, (q->done));
            culvi_leave(device, &scope);
        }
        if (over) break;
        if (r != CUDA_SUCCESS) refused++;
        if (atomic_load(&q->pending))
            culvi_sleep_ms(1); /* the event may not stand behind the host function */
    }
    /* It may still be on its last line. */
    culvi_mutex_lock(&q->running);
    culvi_mutex_unlock(&q->running);
}

void culvi_relay_quiesce(culv_semaphore *semaphore)
{
    culvi_relay *relay = semaphore->relay;
    if (relay == NULL || relay->path != CULV_SHARING_HOST) return;
    culvi_watch watch = {
        .kind = "timeline semaphore",
        .what = "A host function that signals or waits for it (HOST sharing) is not done"};
    culvi_watch_begin(semaphore->device, &watch, semaphore->label);
    for (culvi_request *q = relay->requests; q != NULL; q = q->next)
        wait_for_request(semaphore->device, q);
    culvi_watch_done(semaphore->device, &watch);
}

static void finish(culvi_deferred *self)
{
    culvi_relay_quiesce(CULVI_CONTAINER(self, culv_semaphore, deferred));
}

/* Both ----------------------------------------------------------------------------------------- */

/* An event recorded now, or a host function, would become part of the caller's graph. */
static culv_result check_capture(const culv_semaphore *semaphore, CUstream stream, bool signal,
                                 uint64_t value)
{
    culv_device *device = semaphore->device;
    culvi_capture capture;
    CUresult r = culvi_stream_capture(device, stream, &capture);
    if (r != CUDA_SUCCESS)
        return fail_on(semaphore, stream, r, "cuStreamIsCapturing", signal, value);
    if (capture == CULVI_NOT_CAPTURED) return CULV_OK;
    return culvi_fail(
        &device->voice, semaphore->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_CAPTURE,
        "the stream %p is being captured, or waits for one that is, but the semaphore's sharing is %s, and a graph cannot repeat its signals and waits; signal and wait before and after the graph's launch",
        (void *)stream, culv_sharing_name(semaphore->relay->path));
}

culv_result culvi_relay_submit(culv_semaphore *semaphore, CUstream stream, uint64_t value,
                               bool signal, unsigned steps)
{
    culv_device *device = semaphore->device;
    culvi_relay *relay = semaphore->relay;
    const char *call = NULL;
    bool pushed;
    culv_result result = culvi_enter_stream(device, semaphore->label, stream, &pushed);
    if (result != CULV_OK) return result;
    culvi_mutex_lock(&relay->lock);
    if (steps & CULVI_RELAY_PREPARE) result = check_capture(semaphore, stream, signal, value);
    if (result == CULV_OK && relay->path == CULV_SHARING_HOST) {
        result = submit_by_host(semaphore, stream, value, signal, steps);
    } else if (result == CULV_OK) {
        CUresult r = CUDA_SUCCESS;
        if (!signal)
            r = wait_by_peer(semaphore, stream, value, steps, &call);
        else if (steps & CULVI_RELAY_SUBMIT)
            r = signal_by_peer(semaphore, stream, value, &call);
        if (r != CUDA_SUCCESS) result = fail_on(semaphore, stream, r, call, signal, value);
    }
    culvi_mutex_unlock(&relay->lock);
    culvi_leave_frame(device, pushed);
    return result;
}

/* Makes what a relay by another GPU needs, in the contexts of both. */
static culv_result prepare_peer(culv_semaphore *semaphore)
{
    culvi_relay *relay = semaphore->relay;
    culv_device *device = semaphore->device, *peer = relay->there;
    const char *call = "cuStreamCreate";
    culvi_scope scope;
    CULVI_ANSWER_INSIDE(made, device, semaphore->label, create_event(device, &relay->before));
    if (made != CUDA_SUCCESS) return fail(semaphore, device, made, "cuEventCreate", true, 0);
    CULVI_TRY(culvi_enter(peer, &scope, semaphore->label));
    CUresult r = create_stream(peer, &relay->signals);
    if (r == CUDA_SUCCESS) r = create_lane(peer, &relay->lanes[0], &call);
    if (r == CUDA_SUCCESS) relay->num_lanes = 1;
    culvi_leave(peer, &scope);
    return r == CUDA_SUCCESS ? CULV_OK : fail(semaphore, peer, r, call, true, 0);
}

culv_result culvi_relay_semaphore(culv_device *device, const culvi_words *words,
                                  culv_semaphore_type type, uint64_t value, bool untracked,
                                  const char *label, culv_semaphore *peer,
                                  const culvi_host_semaphore *host, culv_semaphore **out)
{
    culv_semaphore *semaphore = culvi_alloc(sizeof *semaphore);
    culvi_relay *relay = culvi_alloc(sizeof *relay);
    if (semaphore == NULL || relay == NULL) {
        culvi_free(relay);
        culvi_free(semaphore);
        return culvi_fail_host_memory(&device->voice, label);
    }
    culvi_mutex_init(&relay->lock);
    semaphore->device = device;
    semaphore->words = words;
    semaphore->type = type;
    semaphore->untracked = untracked;
    semaphore->relay = relay;
    atomic_init(&semaphore->noted, value);
    atomic_init(&semaphore->state, CULVI_UNSIGNALED);
    culvi_label_set(semaphore->label, label);
    relay->path = peer != NULL ? CULV_SHARING_PEER : CULV_SHARING_HOST;
    relay->peer = peer;
    relay->there = peer != NULL ? peer->device : NULL;
    if (peer != NULL) culvi_device_ref(relay->there);
    if (host != NULL) {
        relay->host = *host;
        semaphore->deferred.holder = host->holder;
        semaphore->deferred.finish = finish;
    }
    culvi_device_ref(device);
    CULVI_LOCKED(&device->lock, device->counts.semaphores++);
    culvi_semaphore_made(semaphore);
    culv_result result = peer != NULL ? prepare_peer(semaphore) : CULV_OK;
    if (result != CULV_OK) {
        relay->peer = NULL; /* still the caller's */
        culvi_semaphore_release_or_defer(semaphore, NULL);
        return result;
    }
    *out = semaphore;
    return CULV_OK;
}

static bool release_event(culv_device *device, CUevent *event, bool last_try)
{
    if (*event != NULL && !CULVI_RELEASED(device, last_try, cuEventDestroy, (*event))) return false;
    *event = NULL;
    return true;
}

static bool release_stream(culv_device *device, CUstream *stream, bool last_try)
{
    if (*stream != NULL && !CULVI_RELEASED(device, last_try, cuStreamDestroy, (*stream)))
        return false;
    *stream = NULL;
    return true;
}

/* What a host function that is still to come uses is kept, whatever else goes. */
static bool release_host(culv_device *device, culvi_relay *relay, bool last_try)
{
    bool over = true;
    for (const culvi_request *q = relay->requests; over && q != NULL; q = q->next)
        over = is_over(device, q);
    if (!over && !last_try) return false;
    bool first = !atomic_exchange(&relay->released, true);
    for (culvi_request *q = relay->requests; q != NULL; q = q->next) {
        culvi_mutex_lock(&q->running); /* one that has begun, or is on its last line */
        culvi_mutex_unlock(&q->running);
    }
    if (first) relay->host.release(relay->host.context);
    if (!over)
        culvi_log(
            &device->voice, CULV_LOG_WARNING,
            "a host function of a semaphore (HOST sharing) has not run yet, and the driver refuses to wait for it; Culvert keeps what it uses");
    return over;
}

static bool release_requests(culv_device *device, culvi_relay *relay, bool last_try)
{
    while (relay->requests != NULL) {
        culvi_request *q = relay->requests;
        if (!release_event(device, &q->done, last_try)) return false;
        relay->requests = q->next;
        culvi_mutex_destroy(&q->running);
        culvi_free(q);
    }
    return true;
}

/* Runs in the other GPU's context. */
static bool release_streams(culvi_relay *relay, bool last_try)
{
    culv_device *there = relay->there;
    /* Waits until the signals are through: the semaphore's own destruction waits for less. */
    if (relay->signals != NULL &&
        !CULVI_RELEASED(there, last_try, cuStreamSynchronize, (relay->signals)))
        return false;
    for (uint32_t i = 0; i < CULVI_RELAY_LANES; i++)
        if (!release_event(there, &relay->lanes[i].event, last_try) ||
            !release_stream(there, &relay->lanes[i].stream, last_try))
            return false;
    return release_stream(there, &relay->signals, last_try);
}

static bool release_peer(culvi_relay *relay, bool last_try)
{
    culv_device *there = relay->there;
    culvi_scope scope;
    bool entered = culvi_enter_quietly(there, &scope) == CUDA_SUCCESS;
    bool done = entered || there->lost ? release_streams(relay, last_try) : last_try;
    if (entered) culvi_leave(there, &scope);
    if (!done) return false;
    if (relay->peer != NULL) culvi_semaphore_release_or_defer(relay->peer, NULL);
    relay->peer = NULL;
    relay->there = NULL;
    culvi_device_unref(there);
    return true;
}

bool culvi_relay_release(culv_device *device, culvi_relay **relay, bool last_try)
{
    culvi_relay *r = *relay;
    if (r->host.release != NULL && !release_host(device, r, last_try)) return false;
    if (r->there != NULL && !release_peer(r, last_try)) return false;
    if (!release_event(device, &r->before, last_try)) return false;
    if (!release_requests(device, r, last_try)) return false;
    culvi_mutex_destroy(&r->lock);
    culvi_free(r);
    *relay = NULL;
    return true;
}
