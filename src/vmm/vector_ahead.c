/* SPDX-License-Identifier: MIT */
/* The thread of a vector that commits ahead, so that growing only publishes. It never moves the
 * vector, and never waits for a stream. */
#include "vmm/vector.h"

/* Bytes that are missing beyond the size. */
static uint64_t missing(const culv_vector *v)
{
    const uint64_t size = atomic_load(&v->size), committed = atomic_load(&v->committed);
    const uint64_t beyond = committed > size ? committed - size : 0;
    return v->ahead > beyond ? v->ahead - beyond : 0;
}

/* No small chunk each time that a little is gone. */
static bool is_wanted(const culv_vector *v)
{
    const uint64_t bytes = missing(v);
    return bytes != 0 && bytes >= v->ahead / 2 && !atomic_load(&v->full);
}

/* Commits what is missing; false: it cannot for now. */
static bool fill(culv_vector *v)
{
    CUdeviceptr before = 0;
    const uint64_t committed = atomic_load(&v->committed);
    uint64_t most = culvi_vector_policy(v, culvi_vector_round(v, missing(v)));
    uint64_t room = v->space->reserved - committed;
    if (v->walled && most > room) most = room;
    atomic_store(&v->full, most == 0);
    if (most == 0 || most > UINT64_MAX - committed || culvi_vector_is_unmapping(v, committed, most))
        return false;
    const size_t chunks = v->num_chunks;
    uint64_t least = v->min_chunk < most ? v->min_chunk : most;
    culv_result result =
        culvi_vector_commit(v, most > room ? most : least, most, 0, false, &before);
    if (result != CULV_OK && most > room &&
        culvi_thread_state()->error.reason == CULV_REASON_ADDRESS) {
        v->walled = true;
        atomic_store(&v->full, room == 0);
        if (room == 0) return false;
        least = v->min_chunk < room ? v->min_chunk : room;
        result = culvi_vector_commit(v, least, room, 0, false, &before);
    }
    if (result != CULV_OK) return false;
    CULVI_LOCKED(&v->lock, v->stats.ahead_commits += v->num_chunks - chunks);
    return true;
}

static void run(void *user)
{
    culv_vector *v = user;
    culvi_attempt_begin(); /* its failures are nobody's errors */
    culvi_mutex_lock(&v->lock);
    while (!v->stop) {
        bool done = true;
        if (!v->busy && is_wanted(v)) {
            v->busy = true;
            culvi_mutex_unlock(&v->lock);
            done = fill(v);
            culvi_mutex_lock(&v->lock);
            v->busy = false;
            culvi_condition_wake_all(&v->changed);
            if (v->stop) break;
        }
        /* Either a size that is published finds the thread asleep, or the thread finds that
         * size. */
        atomic_store(&v->asleep, true);
        if (!done || v->busy || !is_wanted(v))
            culvi_condition_wait(&v->changed, &v->lock, UINT64_MAX);
        atomic_store(&v->asleep, false);
    }
    culvi_mutex_unlock(&v->lock);
}

void culvi_vector_ahead_wake(culv_vector *v)
{
    if (v->ahead == 0 || !atomic_load(&v->asleep) || !is_wanted(v)) return;
    CULVI_LOCKED(&v->lock,
                 if (atomic_exchange(&v->asleep, false)) culvi_condition_wake_all(&v->changed));
}

culv_result culvi_vector_ahead_start(culv_vector *v)
{
    if (v->ahead == 0) return CULV_OK;
    v->has_worker = culvi_worker_start(&v->worker, run, v);
    if (v->has_worker) return CULV_OK;
    return culvi_fail(&v->device->voice, v->label, CULV_ERROR_OUT_OF_MEMORY, CULV_REASON_OS,
                      "the system could not start the thread that commits ahead");
}

bool culvi_vector_ahead_stop(culv_vector *v)
{
    if (!v->has_worker) return true;
    if (!culvi_worker_exists(&v->worker)) return false;
    culvi_mutex_lock(&v->lock);
    v->stop = true;
    culvi_condition_wake_all(&v->changed);
    culvi_mutex_unlock(&v->lock);
    culvi_worker_join(&v->worker);
    v->has_worker = false;
    return true;
}
