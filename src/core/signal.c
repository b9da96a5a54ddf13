/* SPDX-License-Identifier: MIT */
/* Signals and waits on streams: the frame path. Nothing is allocated here and no lock is taken, but
 * for the streams of green contexts. */
#include "core/relay.h"

#include <stdio.h>

typedef enum direction { SIGNAL, WAIT } direction;

/* The driver takes an array of the one or of the other. */
typedef union params {
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal;
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait;
} params;
_Static_assert(sizeof(CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS) == sizeof(params) &&
                   sizeof(CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS) == sizeof(params),
               "an array of params is an array of either");

/* The other API's signal that nobody reported: its counter tells, once it is done. */
static culv_result check_counter(const culv_semaphore *semaphore, uint64_t value)
{
    uint64_t now = 0;
    if (!semaphore->present.read(semaphore->present.context, &now) || value > now) return CULV_OK;
    return culvi_fail(
        &semaphore->device->voice, semaphore->label, CULV_ERROR_INVALID,
        CULV_REASON_TIMELINE_BACKWARDS,
        "value %" PRIu64 " does not exceed %" PRIu64
        ", at which the %s is already (%s); the driver would set it back without an error: signal %" PRIu64
        " or more, and report what the other API signals by culv_semaphore_mark_value()",
        value, now, semaphore->words->semaphore, semaphore->words->read_call, now + 1);
}

culv_result culvi_semaphore_check_rise(const culv_semaphore *semaphore, uint64_t value)
{
    uint64_t last = culvi_semaphore_last(semaphore);
    /* ID3D12Fence::GetCompletedValue: of a removed device. */
    CULVI_REFUSE_IF(value == UINT64_MAX && semaphore->words->api == CULV_NATIVE_D3D,
                    &semaphore->device->voice, semaphore->label, CULV_REASON_VALUE,
                    "value %" PRIu64
                    " (UINT64_MAX) is what a fence of a removed device has; signal a smaller one",
                    value);
    if (value > last)
        return semaphore->present.read != NULL ? check_counter(semaphore, value) : CULV_OK;
    CULVI_REFUSE_IF(
        last == UINT64_MAX, &semaphore->device->voice, semaphore->label,
        CULV_REASON_TIMELINE_BACKWARDS,
        "value %" PRIu64 " does not exceed %" PRIu64
        " (UINT64_MAX), which was signaled or promised before; no value is left, make a new timeline",
        value, last);
    return culvi_fail(
        &semaphore->device->voice, semaphore->label, CULV_ERROR_INVALID,
        CULV_REASON_TIMELINE_BACKWARDS,
        "value %" PRIu64 " does not exceed %" PRIu64
        ", which was signaled or promised before; a timeline only grows, and the driver would set it back without an error: signal %" PRIu64
        " or more",
        value, last, last + 1);
}

static culv_result refuse_state(const culv_semaphore *semaphore, direction way, uint32_t state)
{
    const culvi_voice *voice = &semaphore->device->voice;
    CULVI_REFUSE_IF(
        way == SIGNAL, voice, semaphore->label, CULV_REASON_DOUBLE_SIGNAL,
        "the binary semaphore is signaled already (by %s) and nobody has waited for it since; submit the wait and report it with culv_semaphore_mark_waited(), or use one semaphore for each direction",
        state == CULVI_SIGNALED_BY_CUDA ? "CUDA" : "the other API");
    CULVI_REFUSE_IF(
        state == CULVI_SIGNALED_BY_CUDA, voice, semaphore->label, CULV_REASON_SAME_SIDE,
        "the binary semaphore was signaled by CUDA, so the other API must wait for it; between CUDA streams use an event");
    return culvi_fail(
        voice, semaphore->label, CULV_ERROR_INVALID, CULV_REASON_WAIT_BEFORE_SIGNAL,
        "nobody has signaled the binary semaphore since its last wait; submit the other API's signal first and report it with culv_semaphore_mark_signaled()");
}

/* Holds one point against what is known, and marks a binary semaphore. */
static culv_result reserve(const culv_semaphore_point *point, direction way)
{
    culv_semaphore *semaphore = point->semaphore;
    if (semaphore->type == CULV_SEMAPHORE_TIMELINE) {
        return way == WAIT ? CULV_OK : culvi_semaphore_check_rise(semaphore, point->value);
    }
    CULVI_REFUSE_IF(point->value != 0, &semaphore->device->voice, semaphore->label,
                    CULV_REASON_VALUE,
                    "value %" PRIu64 " is for timelines; a binary semaphore's is 0", point->value);
    if (semaphore->untracked) return CULV_OK;
    uint32_t state = way == SIGNAL ? CULVI_UNSIGNALED : CULVI_SIGNALED_BY_PEER;
    uint32_t next = way == SIGNAL ? CULVI_SIGNALED_BY_CUDA : CULVI_UNSIGNALED;
    if (atomic_compare_exchange_strong(&semaphore->state, &state, next)) return CULV_OK;
    return refuse_state(semaphore, way, state);
}

/* Undoes reserve(), unless the other side has changed the state meanwhile. */
static void take_back(const culv_semaphore_point *points, uint32_t count, direction way)
{
    for (uint32_t i = 0; i < count; i++) {
        culv_semaphore *semaphore = points[i].semaphore;
        uint32_t state = way == SIGNAL ? CULVI_SIGNALED_BY_CUDA : CULVI_UNSIGNALED;
        if (semaphore->type == CULV_SEMAPHORE_BINARY && !semaphore->untracked)
            (void)atomic_compare_exchange_strong(&semaphore->state, &state,
                                                 way == SIGNAL ? CULVI_UNSIGNALED
                                                               : CULVI_SIGNALED_BY_PEER);
    }
}

static culv_result fail_call(const culv_semaphore_point *points, uint32_t count, direction way,
                             CUresult r, const char *call, CUstream stream)
{
    const culv_semaphore *first = points[0].semaphore;
    const char *verb = way == SIGNAL ? "signal" : "wait for";
    char name[40], what[48] = "the binary semaphore";
    culvi_stream_name(stream, name);
    if (count > 1)
        snprintf(what, sizeof what, "a batch of %" PRIu32 " semaphores", count);
    else if (first->type == CULV_SEMAPHORE_TIMELINE)
        snprintf(what, sizeof what, "value %" PRIu64, points[0].value);
    return culvi_fail_cuda(first->device, first->label, r, call, CULV_REASON_DRIVER_REFUSED,
                           "%s could not %s %s", name, verb, what);
}

static CUresult call_driver(const culv_semaphore_point *points, direction way,
                            const CUexternalSemaphore *externals, const params *array,
                            uint32_t count, CUstream stream)
{
    const culv_device *device = points[0].semaphore->device;
    /* What the stream has written inline is there before the signal. */
    for (uint32_t i = 0; way == SIGNAL && i < count; i++) {
        if (!points[i].semaphore->arrives) continue;
        const CUresult r = culvi_arrive(device, stream);
        if (r != CUDA_SUCCESS) return r;
        break;
    }
    return way == SIGNAL ? device->cuda->cuSignalExternalSemaphoresAsync(externals, &array->signal,
                                                                         count, stream)
                         : device->cuda->cuWaitExternalSemaphoresAsync(externals, &array->wait,
                                                                       count, stream);
}

/* NVIDIA's driver (580) signals and waits for no external semaphore in a green context's stream:
 * another stream does, which the green one is ordered behind and before. A captured stream is
 * joined again. In the device's context. */
static CUresult call_by_detour(const culv_semaphore_point *points, direction way,
                               const CUexternalSemaphore *externals, const params *array,
                               uint32_t count, CUstream green, const char **failed)
{
    culv_device *device = points[0].semaphore->device;
    CUstream stream = NULL;
    culvi_scope scope;
    culvi_capture capture = CULVI_NOT_CAPTURED;
    *failed = "cuThreadExchangeStreamCaptureMode";
    CUresult r = culvi_relax(device, &scope); /* R8 */
    if (r != CUDA_SUCCESS) return r;
    *failed = "cuStreamIsCapturing";
    r = culvi_stream_capture(device, green, &capture);
    const bool captured = capture == CULVI_CAPTURED;
    if (r == CUDA_SUCCESS) r = culvi_detour_of(device, green, &stream, failed);
    if (r == CUDA_SUCCESS && (captured || way == SIGNAL))
        r = culvi_order(device, green, stream, failed);
    if (r != CUDA_SUCCESS) goto restore;
    *failed = way == SIGNAL ? "cuSignalExternalSemaphoresAsync" : "cuWaitExternalSemaphoresAsync";
    r = call_driver(points, way, externals, array, count, stream);
    if (captured || (way == WAIT && r == CUDA_SUCCESS)) {
        const char *joining = NULL;
        const CUresult joined = culvi_order(device, stream, green, &joining);
        if (r == CUDA_SUCCESS && joined != CUDA_SUCCESS) *failed = joining;
        if (r == CUDA_SUCCESS) r = joined;
    }
restore:
    culvi_restore(device, &scope);
    return r;
}

/* A stream that is known brings its context along: the driver looks at no current one then
 * (measured, docs/measured/nvidia-measured.md: calls_by_context). A driver that does is asked again
 * with the context current. */
static culv_result call(const culv_semaphore_point *points, uint32_t count, direction way,
                        CUstream stream, const CUexternalSemaphore *externals, const params *array)
{
    const culv_semaphore *first = points[0].semaphore;
    culv_device *device = first->device;
    const char *failed =
        way == SIGNAL ? "cuSignalExternalSemaphoresAsync" : "cuWaitExternalSemaphoresAsync";
    CUresult r = CUDA_ERROR_INVALID_CONTEXT;
    bool pushed, green;
    if (culvi_stream_known(device, stream) && !device->lost)
        r = call_driver(points, way, externals, array, count, stream);
    if (r == CUDA_SUCCESS) return CULV_OK;
    if (r == CUDA_ERROR_INVALID_CONTEXT) {
        culv_result result = culvi_enter_any_stream(device, first->label, stream, &green, &pushed);
        if (result != CULV_OK) return result;
        r = green ? call_by_detour(points, way, externals, array, count, stream, &failed)
                  : call_driver(points, way, externals, array, count, stream);
        if (r != CUDA_SUCCESS) result = fail_call(points, count, way, r, failed, stream);
        culvi_leave_frame(device, pushed);
        return result;
    }
    (void)culvi_lost(device); /* so that the next call does not hand stale handles over */
    /* Its address may have become another context's stream. */
    CULVI_TRY(culvi_recheck_stream(device, first->label, stream, r));
    return fail_call(points, count, way, r, failed, stream);
}

static inline void set_value(params *one, direction way, uint64_t value)
{
    if (way == SIGNAL)
        one->signal.params.fence.value = value;
    else
        one->wait.params.fence.value = value;
}

/* What was submitted. */
static inline void note(const culv_semaphore_point *point, direction way, CUstream stream)
{
    if (way == SIGNAL)
        atomic_store_explicit(&point->semaphore->signaled, point->value, memory_order_relaxed);
    else
        culvi_semaphore_waits(point->semaphore, stream, point->value);
}

/* `externals` and `array` have room for `count`, `array` is zero; of the first `reserved` points
 * gather() has filled them in. */
static culv_result submit(const culv_semaphore_point *points, uint32_t count, uint32_t reserved,
                          direction way, CUstream stream, CUexternalSemaphore *externals,
                          params *array)
{
    culv_result result = CULV_OK;
    for (; reserved < count; reserved++) {
        result = reserve(&points[reserved], way);
        if (result != CULV_OK) goto take_back;
        externals[reserved] = points[reserved].semaphore->external;
        set_value(&array[reserved], way, points[reserved].value);
    }
    result = call(points, count, way, stream, externals, array);
    if (result != CULV_OK) goto take_back;
    for (uint32_t i = 0; i < count; i++)
        note(&points[i], way, stream);
    return CULV_OK;

take_back:
    take_back(points, reserved, way);
    return result;
}

/* Signals or waits for a semaphore that is not shared (core/staging.h). */
static culv_result relay(const culv_semaphore_point *point, direction way, CUstream stream)
{
    culv_semaphore *semaphore = point->semaphore;
    CULVI_TRY(reserve(point, way));
    culv_result result = culvi_relay_submit(semaphore, stream, point->value, way == SIGNAL,
                                            CULVI_RELAY_PREPARE | CULVI_RELAY_SUBMIT);
    if (result != CULV_OK)
        take_back(point, 1, way);
    else
        note(point, way, stream);
    return result;
}

/* Submits a batch in which at least one semaphore is not shared. Each takes driver calls of its
 * own, so all that can be refused is found out before the first. */
static culv_result relay_batch(const culv_semaphore_point *points, uint32_t count, direction way,
                               CUstream stream)
{
    uint32_t reserved = 0, done = 0;
    culv_result result = CULV_OK;
    for (; reserved < count; reserved++) {
        result = reserve(&points[reserved], way);
        if (result != CULV_OK) goto take_back;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (points[i].semaphore->relay == NULL) continue;
        result = culvi_relay_submit(points[i].semaphore, stream, points[i].value, way == SIGNAL,
                                    CULVI_RELAY_PREPARE);
        if (result != CULV_OK) goto take_back;
    }
    for (; done < count; done++) {
        culv_semaphore *semaphore = points[done].semaphore;
        params one = {0};
        set_value(&one, way, points[done].value);
        result = semaphore->relay != NULL
                     ? culvi_relay_submit(semaphore, stream, points[done].value, way == SIGNAL,
                                          CULVI_RELAY_SUBMIT)
                     : call(&points[done], 1, way, stream, &semaphore->external, &one);
        if (result != CULV_OK) goto take_back;
        note(&points[done], way, stream);
    }
    return CULV_OK;

take_back:
    take_back(points + done, reserved - done, way);
    return result;
}

static culv_result submit_one(culv_semaphore *semaphore, CUstream stream, uint64_t value,
                              direction way)
{
    CUexternalSemaphore external;
    params one = {0};
    CULVI_REQUIRE_IN(NULL, way == SIGNAL ? "culv_semaphore_signal" : "culv_semaphore_wait",
                     semaphore);
    culv_semaphore_point point = {semaphore, value};
    if (semaphore->relay != NULL) return relay(&point, way, stream);
    return submit(&point, 1, 0, way, stream, &external, &one);
}

culv_result culvi_semaphore_check_batch(const culv_semaphore_point *points, uint32_t count,
                                        const char *call, bool *relayed)
{
    *relayed = false;
    CULVI_REQUIRE_IN(NULL, call, points);
    CULVI_REFUSE_IF(count > CULV_SEMAPHORE_BATCH_MAX, NULL, NULL, CULV_REASON_VALUE,
                    "%s: count is %" PRIu32 "; a batch has at most %d semaphores", call, count,
                    CULV_SEMAPHORE_BATCH_MAX);
    for (uint32_t i = 0; i < count; i++) {
        const culv_semaphore *semaphore = points[i].semaphore;
        CULVI_REFUSE_IF(semaphore == NULL, NULL, NULL, CULV_REASON_NULL_ARGUMENT,
                        "%s: points[%" PRIu32 "].semaphore is NULL", call, i);
        *relayed = *relayed || semaphore->relay != NULL;
        CULVI_REFUSE_IF(
            semaphore->device != points[0].semaphore->device, &semaphore->device->voice,
            semaphore->label, CULV_REASON_DEVICE_MISMATCH,
            "%s: points[%" PRIu32
            "] is of another culv_device ('%s', CUDA device %d) than points[0] ('%s', CUDA device %d); make one call for each",
            call, i, semaphore->device->caps.name, (int)semaphore->device->ordinal,
            points[0].semaphore->device->caps.name, (int)points[0].semaphore->device->ordinal);
        for (uint32_t k = 0; k < i; k++)
            CULVI_REFUSE_IF(points[k].semaphore == semaphore, &semaphore->device->voice,
                            semaphore->label, CULV_REASON_VALUE,
                            "%s: points[%" PRIu32 "] and points[%" PRIu32
                            "] are the same semaphore",
                            call, k, i);
    }
    return CULV_OK;
}

static bool is_repeated(const culv_semaphore_point *points, uint32_t i)
{
    uint32_t k = 0;
    while (points[k].semaphore != points[i].semaphore)
        k++;
    return k < i;
}

/* A batch as most are, of timelines of one device with values that may be signaled and no counter
 * to ask: checked and filled in by one pass, which marks nothing. False: it is another, or is
 * refused; what goes through it point by point says why. */
static bool gather(const culv_semaphore_point *points, uint32_t count, direction way,
                   CUexternalSemaphore *externals, params *array)
{
    uint64_t seen = 0;
    for (uint32_t i = 0; i < count; i++) {
        const culv_semaphore *semaphore = points[i].semaphore;
        if (semaphore == NULL || semaphore->type != CULV_SEMAPHORE_TIMELINE ||
            semaphore->relay != NULL || semaphore->device != points[0].semaphore->device ||
            (way == SIGNAL &&
             (semaphore->present.read != NULL || semaphore->words->api == CULV_NATIVE_D3D ||
              points[i].value <= culvi_semaphore_last(semaphore))))
            return false;
        /* Equal semaphores set the same bit. Different ones rarely do. */
        uint64_t bit = UINT64_C(1) << ((uintptr_t)semaphore * UINT64_C(0x9e3779b97f4a7c15) >> 58);
        if ((seen & bit) && is_repeated(points, i)) return false;
        seen |= bit;
        externals[i] = semaphore->external;
        set_value(&array[i], way, points[i].value);
    }
    return true;
}

static culv_result submit_batch(const culv_semaphore_point *points, uint32_t count, CUstream stream,
                                direction way)
{
    CUexternalSemaphore externals[CULV_SEMAPHORE_BATCH_MAX];
    params array[CULV_SEMAPHORE_BATCH_MAX];
    bool fits = points != NULL && count <= CULV_SEMAPHORE_BATCH_MAX;
    if (count == 0) return CULV_OK;
    if (fits) memset(array, 0, count * sizeof array[0]);
    if (fits && gather(points, count, way, externals, array))
        return submit(points, count, count, way, stream, externals, array);
    bool relayed;
    CULVI_TRY(culvi_semaphore_check_batch(
        points, count, way == SIGNAL ? "culv_semaphore_signal_batch" : "culv_semaphore_wait_batch",
        &relayed));
    if (relayed) return relay_batch(points, count, way, stream);
    return submit(points, count, 0, way, stream, externals, array);
}

culv_result culv_semaphore_signal(culv_semaphore *semaphore, CUstream stream, uint64_t value)
{
    return submit_one(semaphore, stream, value, SIGNAL);
}

culv_result culv_semaphore_wait(culv_semaphore *semaphore, CUstream stream, uint64_t value)
{
    return submit_one(semaphore, stream, value, WAIT);
}

culv_result culv_semaphore_signal_batch(const culv_semaphore_point *points, uint32_t count,
                                        CUstream stream)
{
    return submit_batch(points, count, stream, SIGNAL);
}

culv_result culv_semaphore_wait_batch(const culv_semaphore_point *points, uint32_t count,
                                      CUstream stream)
{
    return submit_batch(points, count, stream, WAIT);
}

/* In place of others --------------------------------------------------------------------------- */

/* Streams that wait for a signal which nobody will make, because the device that was to make it is
 * lost or the submission never was: CUDA signals in its place. */

static culv_result signal_apart(culv_semaphore *semaphore, uint64_t value)
{
    culv_device *device = semaphore->device;
    const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal = {
        .params.fence.value = semaphore->type == CULV_SEMAPHORE_TIMELINE ? value : 0};
    culvi_scope scope;
    CUstream stream = NULL;
    CULVI_TRY(culvi_enter(device, &scope, semaphore->label));
    const char *call = "cuStreamCreate";
    CUresult r = culvi_stream_create_apart(device, false, &stream);
    if (r == CUDA_SUCCESS)
        r = CULVI_CU_AS(call, device, cuSignalExternalSemaphoresAsync,
                        (&semaphore->external, &signal, 1, stream));
    const culv_result result =
        CULVI_CU_RESULT(device, semaphore->label, r, call, CULV_REASON_DRIVER_REFUSED,
                        "CUDA could not signal %" PRIu64 " in place of another side", value);
    /* What was submitted still runs. */
    if (stream != NULL) CULVI_CU_TWICE(device, cuStreamDestroy, (stream));
    culvi_leave(device, &scope);
    return result;
}

/* How far CUDA has signaled it. */
static _Atomic uint64_t *reached(culv_semaphore *semaphore)
{
    return semaphore->type == CULV_SEMAPHORE_TIMELINE ? &semaphore->signaled : &semaphore->released;
}

culv_result culvi_semaphore_unblock(culv_semaphore *semaphore, uint64_t value)
{
    const culvi_relay *relay = semaphore->relay;
    if (relay != NULL && relay->path == CULV_SHARING_PEER)
        return culvi_semaphore_unblock(relay->peer, value);
    CULVI_UNSUPPORTED_IF(
        relay != NULL, &semaphore->device->voice, semaphore->label, CULV_REASON_NO_FORCE,
        "CUDA cannot signal the semaphore in place of another side: it goes through the host");
    uint64_t before = atomic_load_explicit(reached(semaphore), memory_order_relaxed);
    do {
        if (before >= value) return CULV_OK;
    } while (!atomic_compare_exchange_weak_explicit(reached(semaphore), &before, value,
                                                    memory_order_relaxed, memory_order_relaxed));
    culv_result result = signal_apart(semaphore, value);
    if (result != CULV_OK) (void)atomic_compare_exchange_strong(reached(semaphore), &value, before);
    return result;
}

uint64_t culvi_semaphore_owed(culv_semaphore *semaphore)
{
    const uint64_t waited = atomic_load_explicit(&semaphore->waits.value, memory_order_relaxed);
    const uint64_t signaled = atomic_load_explicit(reached(semaphore), memory_order_relaxed);
    return waited > signaled ? waited : 0;
}

typedef struct loss {
    uint64_t exporter;
    bool again;
} loss;

static void unblock(culvi_wait_note *note, void *context)
{
    culv_semaphore *semaphore = CULVI_CONTAINER(note, culv_semaphore, waits);
    const loss *lost = context;
    uint64_t counter = 0;
    if (semaphore->exporter != lost->exporter) return;
    if (lost->again) atomic_store_explicit(&semaphore->released, 0, memory_order_relaxed);
    const uint64_t value = culvi_semaphore_owed(semaphore);
    if (value == 0) return;
    if (note->counter != NULL && note->counter(note->context, &counter) && counter >= value) return;
    char number[32] = "";
    if (note->timeline) snprintf(number, sizeof number, " with %" PRIu64, value);
    culvi_log(
        &semaphore->device->voice, CULV_LOG_WARNING,
        "CUDA signals %s%s in place of a device that is lost, because a stream was told to wait for that",
        culvi_named("semaphore", semaphore->label).text, number);
    (void)culvi_semaphore_unblock(semaphore, value);
}

void culvi_semaphores_unblock(culv_device *device, uint64_t exporter, bool again)
{
    loss lost = {exporter, again};
    culvi_thread_state()->attempts++; /* the device is lost: nobody can do more */
    culvi_wait_note_each(device, unblock, &lost);
    culvi_thread_state()->attempts--;
}
