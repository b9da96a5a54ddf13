/* SPDX-License-Identifier: MIT */
/* See fake_ring.h. */
#include "fake_ring.h"

#include <errno.h>
#include <time.h>

void fake_start(fake_timeline *t, uint64_t value)
{
    pthread_condattr_t attributes;
    memset(t, 0, sizeof *t);
    REQUIRE_EQ(pthread_condattr_init(&attributes), 0);
    REQUIRE_EQ(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC), 0);
    REQUIRE_EQ(pthread_cond_init(&t->changed, &attributes), 0);
    REQUIRE_EQ(pthread_mutex_init(&t->lock, NULL), 0);
    pthread_condattr_destroy(&attributes);
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
    if (t->follower != NULL) fake_signal(t->follower, value);
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

void stage_reopen(ring_stage *s, uint32_t max_depth)
{
    stage_close(s);
    stage_open(s, max_depth);
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

culv_ring_frame stage_turns(ring_stage *s, const char *turns)
{
    culv_ring_frame f = {.number = 0};
    for (; *turns != 0; turns++) {
        const culv_ring_side side = *turns == 'P' || *turns == 'p' ? P : C;
        f = stage_acquire(s, side);
        if (*turns == 'P' || *turns == 'C')
            stage_release(s, side, &f);
        else
            LIB_OK(culv_ring_release(s->ring, side, &f));
    }
    return f;
}

culv_ring_stats stage_stats(const ring_stage *s)
{
    culv_ring_stats stats = culv_ring_stats_init();
    LIB_OK(culv_ring_get_stats(s->ring, &stats));
    return stats;
}
