/* SPDX-License-Identifier: MIT */
/* See fake_ring.h. */
#include "fake_ring.h"

#include <errno.h>
#include <time.h>

static void start_sync(pthread_mutex_t *lock, pthread_cond_t *changed)
{
    pthread_condattr_t attributes;
    REQUIRE_EQ(pthread_condattr_init(&attributes), 0);
    REQUIRE_EQ(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC), 0);
    REQUIRE_EQ(pthread_cond_init(changed, &attributes), 0);
    REQUIRE_EQ(pthread_mutex_init(lock, NULL), 0);
    pthread_condattr_destroy(&attributes);
}

void fake_start(fake_timeline *t, uint64_t value)
{
    memset(t, 0, sizeof *t);
    start_sync(&t->lock, &t->changed);
    t->counter = value;
}

void fake_set(fake_timeline *t, uint64_t value)
{
    pthread_mutex_lock(&t->lock);
    t->counter = value;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
}

void fake_signal(fake_timeline *t, uint64_t value)
{
    pthread_mutex_lock(&t->lock);
    uint64_t before = t->counter;
    t->counter = value;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
    REQUIRE(value > before);
}

uint64_t fake_counter(fake_timeline *t)
{
    pthread_mutex_lock(&t->lock);
    uint64_t counter = t->counter;
    pthread_mutex_unlock(&t->lock);
    return counter;
}

uint64_t fake_waits(fake_timeline *t)
{
    pthread_mutex_lock(&t->lock);
    uint64_t waits = t->waits;
    pthread_mutex_unlock(&t->lock);
    return waits;
}

void fake_wait(fake_timeline *t, uint64_t value)
{
    pthread_mutex_lock(&t->lock);
    while (t->counter < value)
        pthread_cond_wait(&t->changed, &t->lock);
    pthread_mutex_unlock(&t->lock);
}

void fake_lose(fake_timeline *t)
{
    pthread_mutex_lock(&t->lock);
    t->lost = true;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
}

static culv_result lost(void)
{
    culv_error error = culv_error_init();
    error.result = CULV_ERROR_ASYNC;
    error.reason = CULV_REASON_DEVICE_LOST;
    strcpy(error.message, "the device is lost");
    return culv_last_error_set(&error);
}

static culv_result value_of(void *context, uint64_t *out)
{
    fake_timeline *t = context;
    pthread_mutex_lock(&t->lock);
    t->reads++;
    bool is_lost = t->lost;
    *out = t->counter;
    pthread_mutex_unlock(&t->lock);
    return is_lost ? lost() : CULV_OK;
}

static culv_result wait_for(void *context, uint64_t value, uint64_t timeout)
{
    fake_timeline *t = context;
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    REQUIRE(timeout <= 1000 * (uint64_t)MS); /* in pieces */
    uint64_t ns = (uint64_t)at.tv_nsec + timeout;
    at.tv_sec += (time_t)(ns / 1000000000);
    at.tv_nsec = (long)(ns % 1000000000);
    pthread_mutex_lock(&t->lock);
    t->waits++;
    int r = 0;
    while (t->counter < value && !t->lost && r != ETIMEDOUT)
        r = pthread_cond_timedwait(&t->changed, &t->lock, &at);
    culv_result result = t->counter >= value ? CULV_OK : CULV_ERROR_TIMEOUT;
    bool is_lost = t->lost;
    pthread_mutex_unlock(&t->lock);
    return is_lost ? lost() : result;
}

static culv_result signal_from_host(void *context, uint64_t value)
{
    fake_timeline *t = context;
    pthread_mutex_lock(&t->lock);
    t->signals++;
    pthread_mutex_unlock(&t->lock);
    fake_signal(t, value);
    return CULV_OK;
}

void stage_open(ring_stage *s, uint32_t max_depth)
{
    memset(s, 0, sizeof *s);
    (void)lib_driver();
    LIB_OK(culv_device_open_by_ordinal(0, NULL, &s->device));
    s->desc = culv_ring_desc_init();
    s->desc.max_depth = max_depth;
    for (int i = 0; i < 2; i++)
        fake_start(&s->line[i], 0);
    const culv_ring_timeline functions = {
        .value = value_of, .wait = wait_for, .signal = signal_from_host};
    s->desc.ready = s->desc.done = functions;
    s->desc.ready.context = &s->line[P];
    s->desc.done.context = &s->line[C];
}

void stage_make(ring_stage *s, const culv_ring_settings *settings)
{
    s->desc.settings = settings;
    LIB_OK(culv_ring_create(s->device, &s->desc, &s->ring));
}

void stage_close(ring_stage *s)
{
    culv_ring_destroy(&s->ring, NULL);
    REQUIRE(s->ring == NULL);
    culv_device_close(&s->device);
}

culv_ring_frame stage_acquire(ring_stage *s, culv_ring_side side)
{
    culv_ring_frame f;
    LIB_OK(culv_ring_acquire(s->ring, side, 0, &f));
    REQUIRE_EQ(f.signal_value, 0);
    return f;
}

void stage_release(ring_stage *s, culv_ring_side side, culv_ring_frame *frame)
{
    LIB_OK(culv_ring_release(s->ring, side, frame));
    REQUIRE_EQ(frame->signal_value != 0, frame->burst_ends);
    if (frame->signal_value != 0) fake_signal(&s->line[side], frame->signal_value);
}

culv_ring_frame stage_turn(ring_stage *s, culv_ring_side side)
{
    culv_ring_frame f = stage_acquire(s, side);
    stage_release(s, side, &f);
    return f;
}

culv_ring_stats stage_stats(const ring_stage *s)
{
    culv_ring_stats stats = culv_ring_stats_init();
    LIB_OK(culv_ring_get_stats(s->ring, &stats));
    return stats;
}

/* Queues --------------------------------------------------------------------------------------- */

static void *work(void *user)
{
    fake_queue *q = user;
    for (;;) {
        pthread_mutex_lock(&q->lock);
        while (q->done == q->pushed && !q->ends)
            pthread_cond_wait(&q->changed, &q->lock);
        bool over = q->done == q->pushed;
        fake_job job = q->jobs[q->done % FAKE_JOBS];
        pthread_mutex_unlock(&q->lock);
        if (over) return NULL;
        if (job.wait_value != 0) fake_wait(job.wait, job.wait_value);
        if (job.work != NULL) job.work(job.context, job.slot, job.number);
        if (job.signal_value != 0) fake_signal(job.signal, job.signal_value);
        pthread_mutex_lock(&q->lock);
        q->done++;
        pthread_cond_broadcast(&q->changed);
        pthread_mutex_unlock(&q->lock);
    }
}

void queue_start(fake_queue *q)
{
    memset(q, 0, sizeof *q);
    start_sync(&q->lock, &q->changed);
    REQUIRE_EQ(pthread_create(&q->thread, NULL, work, q), 0);
}

void queue_push(fake_queue *q, const fake_job *job)
{
    pthread_mutex_lock(&q->lock);
    while (q->pushed - q->done == FAKE_JOBS)
        pthread_cond_wait(&q->changed, &q->lock);
    q->jobs[q->pushed++ % FAKE_JOBS] = *job;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
}

void queue_end(fake_queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->ends = true;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
    REQUIRE_EQ(pthread_join(q->thread, NULL), 0);
}
