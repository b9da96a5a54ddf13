/* SPDX-License-Identifier: MIT */
/* Timelines of a ring that has no semaphores: fences of OpenGL, or events of CUDA. */
#include "gl/gl_ring.h"

enum { EVENT_DISABLE_TIMING = 2 }; /* CU_EVENT_DISABLE_TIMING */

/* Events are looked for this often at least and at most: CUDA has no wait with a limit. */
static const uint64_t LEAST_NAP_NS = 20000, MOST_NAP_NS = 1000000;

static culvi_gl_mark *mark_at(culvi_gl_clock *clock, uint32_t i)
{
    return &clock->marks[(clock->head + i) % CULVI_RING_PAST];
}

/* The first mark that says that `value` is reached; NULL: there is none. With the lock. */
static culvi_gl_mark *find_mark(culvi_gl_clock *clock, uint64_t value)
{
    for (uint32_t i = 0; i < clock->count; i++)
        if (mark_at(clock, i)->value >= value) return mark_at(clock, i);
    return NULL;
}

static culv_result fail_fence(const culvi_gl_ring *ring, uint32_t answer)
{
    CULVI_TRY(culvi_gl_check(ring->gl, ring->base.label, "glClientWaitSync",
                             "a fence of the ring was not waited for"));
    return culvi_fail(
        ring->gl->voice, ring->base.label, CULV_ERROR_DRIVER, CULV_REASON_DRIVER_REFUSED,
        "a fence of the ring was not waited for: glClientWaitSync answered %#x", (unsigned)answer);
}

/* Whether a fence is passed, within `timeout`. A fence of this context may not have been flushed
 * yet. */
static culv_result ask_fence(const culvi_gl_ring *ring, const culvi_gl_mark *mark, uint64_t timeout,
                             bool *passed)
{
    uint32_t answer =
        ring->gl->table.glClientWaitSync(mark->fence, CULVI_GL_SYNC_FLUSH_COMMANDS_BIT, timeout);
    *passed = answer == CULVI_GL_ALREADY_SIGNALED || answer == CULVI_GL_CONDITION_SATISFIED;
    return *passed || answer == CULVI_GL_TIMEOUT_EXPIRED ? CULV_OK : fail_fence(ring, answer);
}

static culv_result ask_event(const culvi_gl_ring *ring, const culvi_gl_mark *mark, bool *passed)
{
    culv_device *device = ring->base.graphics->device;
    CULVI_CU_INSIDE(code, device, ring->base.label, cuEventQuery, (mark->event));
    *passed = code == CUDA_SUCCESS;
    if (code == CUDA_SUCCESS || code == CUDA_ERROR_NOT_READY) return CULV_OK;
    return culvi_fail_cuda(device, ring->base.label, code, "cuEventQuery",
                           CULV_REASON_DRIVER_REFUSED,
                           "an event of the ring could not be asked for");
}

/* Looks how far the work is. Without a context of its own on this thread OpenGL tells nothing. With
 * the lock. */
static culv_result look(culvi_gl_clock *clock)
{
    culvi_gl_ring *ring = clock->ring;
    culv_result result = CULV_OK;
    bool passed = clock->kind != CULVI_GL_CLOCK_FENCES || culvi_gl_is_current(ring->gl);
    for (uint32_t i = 0; i < clock->count && passed && result == CULV_OK; i++) {
        const culvi_gl_mark *mark = mark_at(clock, i);
        if (mark->value <= clock->reached) continue;
        result = clock->kind == CULVI_GL_CLOCK_FENCES ? ask_fence(ring, mark, 0, &passed)
                                                      : ask_event(ring, mark, &passed);
        if (result == CULV_OK && passed) clock->reached = mark->value;
    }
    while (clock->count > 0 && mark_at(clock, 0)->value <= clock->reached &&
           mark_at(clock, 0)->waiters == 0) {
        culvi_gl_mark *mark = mark_at(clock, 0);
        if (mark->fence != NULL) {
            if (!culvi_gl_is_current(ring->gl)) break;
            ring->gl->table.glDeleteSync(mark->fence);
            mark->fence = NULL;
        }
        clock->head = (clock->head + 1) % CULVI_RING_PAST;
        clock->count--;
    }
    return result;
}

/* The caller holds the lock. */
static culv_result wait_for_event(culvi_gl_clock *clock, uint64_t value, uint64_t timeout)
{
    const uint64_t begun = culvi_now();
    for (;;) {
        CULVI_TRY(look(clock));
        if (clock->reached >= value) return CULV_OK;
        const uint64_t since = culvi_now() - begun;
        if (since >= timeout) return CULV_ERROR_TIMEOUT;
        uint64_t nap = since / 4;
        if (nap < LEAST_NAP_NS) nap = LEAST_NAP_NS;
        if (nap > MOST_NAP_NS) nap = MOST_NAP_NS;
        if (nap > timeout - since) nap = timeout - since;
        culvi_condition_wait(&clock->ring->nap, &clock->ring->lock, culvi_now() + nap);
    }
}

/* The caller holds the lock, which is released during the wait. */
static culv_result wait_for_fence(culvi_gl_clock *clock, uint64_t value, uint64_t timeout)
{
    culvi_gl_ring *ring = clock->ring;
    bool passed = false;
    culv_result result = look(clock);
    culvi_gl_mark *mark = find_mark(clock, value);
    if (result != CULV_OK || clock->reached >= value) return result;
    if (mark == NULL) return CULV_ERROR_TIMEOUT;
    mark->waiters++;
    culvi_mutex_unlock(&ring->lock);
    result = ask_fence(ring, mark, timeout, &passed);
    culvi_mutex_lock(&ring->lock);
    mark->waiters--;
    if (result == CULV_OK && !passed) return CULV_ERROR_TIMEOUT;
    if (result == CULV_OK && mark->value > clock->reached) clock->reached = mark->value;
    return result;
}

static culv_result wait_for(culvi_gl_clock *clock, uint64_t value, uint64_t timeout)
{
    return clock->kind == CULVI_GL_CLOCK_FENCES ? wait_for_fence(clock, value, timeout)
                                                : wait_for_event(clock, value, timeout);
}

/* As the ring's core asks ---------------------------------------------------------------------- */

static culv_result clock_value(void *context, uint64_t *out)
{
    culvi_gl_clock *clock = context;
    culvi_mutex_lock(&clock->ring->lock);
    culv_result result = look(clock);
    *out = clock->reached;
    culvi_mutex_unlock(&clock->ring->lock);
    return result;
}

static culv_result clock_wait(void *context, uint64_t value, uint64_t timeout)
{
    culvi_gl_clock *clock = context;
    culvi_gl_ring *ring = clock->ring;
    if (clock->kind == CULVI_GL_CLOCK_FENCES)
        CULVI_TRY(culvi_gl_enter(ring->gl, ring->base.label, "culv_gl_ring: a wait for its slots"));
    culvi_mutex_lock(&ring->lock);
    culv_result result = wait_for(clock, value, timeout);
    culvi_mutex_unlock(&ring->lock);
    if (result != CULV_ERROR_TIMEOUT) return result;
    return culvi_fail(ring->gl->voice, ring->base.label, CULV_ERROR_TIMEOUT, CULV_REASON_RING_LATE,
                      "a ring's timeline has not reached %" PRIu64 " in %" PRIu64 " ns", value,
                      timeout);
}

culv_ring_timeline culvi_gl_clock_timeline(culvi_gl_clock *clock, const char *name)
{
    return (culv_ring_timeline){
        .value = clock_value, .wait = clock_wait, .context = clock, .name = name};
}

/* Marks ---------------------------------------------------------------------------------------- */

void culvi_gl_clock_init(culvi_gl_clock *clock, culvi_gl_ring *ring, culvi_gl_clock_kind kind)
{
    memset(clock, 0, sizeof *clock);
    clock->ring = ring;
    clock->kind = kind;
}

static culv_result drop_events(culvi_gl_clock *clock)
{
    const culvi_gl_ring *ring = clock->ring;
    culv_device *device = ring->base.graphics->device;
    culvi_scope scope;
    if (culvi_lost(device)) return CULV_OK; /* they went with the context */
    CULVI_TRY(culvi_enter(device, &scope, ring->base.label));
    culv_result result = CULV_OK;
    for (uint32_t i = 0; i < CULVI_RING_PAST && result == CULV_OK; i++) {
        culvi_gl_mark *mark = &clock->marks[i];
        if (mark->event == NULL) continue;
        CUresult code = CULVI_RELEASE(device, cuEventDestroy, (mark->event));
        if (culvi_release_done(device, "cuEventDestroy", code, false))
            mark->event = NULL;
        else
            result = culvi_fail_cuda(device, ring->base.label, code, "cuEventDestroy",
                                     CULV_REASON_DRIVER_REFUSED, "the ring could not be given up");
    }
    culvi_leave(device, &scope);
    return result;
}

culv_result culvi_gl_clock_end(culvi_gl_clock *clock)
{
    if (clock->ring == NULL) return CULV_OK;
    const culv_gl *gl = clock->ring->gl;
    if (clock->kind == CULVI_GL_CLOCK_EVENTS) CULVI_TRY(drop_events(clock));
    for (uint32_t i = 0; i < clock->count; i++) {
        culvi_gl_mark *mark = mark_at(clock, i);
        if (mark->fence != NULL && culvi_gl_is_current(gl)) gl->table.glDeleteSync(mark->fence);
        mark->fence = NULL;
    }
    clock->ring = NULL;
    return CULV_OK;
}

static culv_result make_fence(const culvi_gl_ring *ring, culvi_gl_mark *mark)
{
    const culvi_gl_table *t = &ring->gl->table;
    void *fence = t->glFenceSync(CULVI_GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
    CULVI_TRY(culvi_gl_check(ring->gl, ring->base.label, "glFenceSync",
                             "the ring's slot could not be handed over"));
    if (fence == NULL)
        return culvi_fail(ring->gl->voice, ring->base.label, CULV_ERROR_DRIVER,
                          CULV_REASON_DRIVER_REFUSED, "glFenceSync made no fence");
    t->glFlush(); /* another context may wait for it, and cannot flush this one */
    mark->fence = fence;
    mark->context = culvi_gl_current(&ring->gl->windows).context;
    return CULV_OK;
}

static culv_result record_event(const culvi_gl_ring *ring, culvi_gl_mark *mark, CUstream stream)
{
    const culv_device *device = ring->base.graphics->device;
    const char *call = NULL;
    bool pushed = false;
    CUresult code = culvi_enter_frame(device, &pushed, &call);
    if (code == CUDA_SUCCESS) {
        if (mark->event == NULL) {
            call = "cuEventCreate";
            code = CULVI_CU(device, cuEventCreate, (&mark->event, EVENT_DISABLE_TIMING));
            if (code != CUDA_SUCCESS) mark->event = NULL;
        }
        if (code == CUDA_SUCCESS) {
            call = "cuEventRecord";
            code = CULVI_CU(device, cuEventRecord, (mark->event, stream));
        }
        culvi_leave_frame(device, pushed);
    }
    return CULVI_CU_RESULT(device, ring->base.label, code, call, CULV_REASON_DRIVER_REFUSED,
                           "the ring's slot could not be handed over");
}

culv_result culvi_gl_ring_fail_stopped(const culvi_gl_ring *ring)
{
    return culvi_fail(ring->gl->voice, ring->base.label, CULV_ERROR_ASYNC, CULV_REASON_RING_STOPPED,
                      "the ring was stopped while it waited");
}

/* A place for one more mark. With the lock. */
static culv_result make_room(culvi_gl_clock *clock)
{
    while (clock->count == CULVI_RING_PAST) {
        const uint64_t oldest = mark_at(clock, 0)->value;
        culv_result result = wait_for(clock, oldest, CULVI_GL_WAIT_SLICE);
        if (result == CULV_OK) result = look(clock);
        if (result == CULV_ERROR_TIMEOUT) {
            if (culvi_ring_is_ended(clock->ring->base.core))
                return culvi_gl_ring_fail_stopped(clock->ring);
            continue;
        }
        if (result != CULV_OK) return result;
        if (clock->count == CULVI_RING_PAST) /* another thread is about to let go of it */
            culvi_condition_wait(&clock->ring->nap, &clock->ring->lock, culvi_now() + LEAST_NAP_NS);
    }
    return CULV_OK;
}

culv_result culvi_gl_clock_push(culvi_gl_clock *clock, uint64_t value, CUstream stream)
{
    culvi_gl_ring *ring = clock->ring;
    culvi_mutex_lock(&ring->lock);
    culv_result result = CULV_OK;
    if (clock->kind == CULVI_GL_CLOCK_AT_ONCE) {
        clock->reached = value;
    } else {
        result = make_room(clock);
        culvi_gl_mark *mark = mark_at(clock, clock->count);
        if (result == CULV_OK)
            result = clock->kind == CULVI_GL_CLOCK_FENCES ? make_fence(ring, mark)
                                                          : record_event(ring, mark, stream);
        if (result == CULV_OK) {
            mark->value = value;
            clock->count++;
        }
    }
    culvi_mutex_unlock(&ring->lock);
    return result;
}

culv_result culvi_gl_clock_order(culvi_gl_clock *clock, uint64_t value)
{
    culvi_gl_ring *ring = clock->ring;
    const void *now = culvi_gl_current(&ring->gl->windows).context;
    culv_result result = CULV_OK;
    culvi_mutex_lock(&ring->lock);
    const culvi_gl_mark *mark = clock->reached < value ? find_mark(clock, value) : NULL;
    if (mark != NULL && mark->context != now) {
        ring->gl->table.glWaitSync(mark->fence, 0, UINT64_MAX);
        result = culvi_gl_check(ring->gl, ring->base.label, "glWaitSync",
                                "OpenGL does not wait for the ring's slot");
    }
    culvi_mutex_unlock(&ring->lock);
    return result;
}
