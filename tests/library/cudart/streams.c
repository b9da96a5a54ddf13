/* SPDX-License-Identifier: MIT */
/* Which stream 0 is, for each row of calls.h: shown by what it waits for and what waits for it,
 * with gates that the host opens. Code of both kinds lives in one process here, as libraries of one
 * program may.
 *
 * Source: driver_types.h and the CUDA guide 3.2.8.5: the legacy stream waits for all blocking
 * streams, and they for it; a thread's own default stream waits for the legacy stream alone. */
#define TEST_GROUP "stream_0."
#include "world.h"

#include <pthread.h>
#include <time.h>

enum { SOON_MS = TEST_FAR_MS, LONG_ENOUGH_MS = 100 };

/* A row with timelines of its own; `gate` holds work back until it is opened. */
typedef struct scene {
    world *w;
    const cudart_calls *calls;
    CUstream blocking, apart; /* `apart` is independent of all others */
    timeline gate, done, also, witness;
} scene;

static void open_timelines(scene *s)
{
    s->gate = timeline_make(s->w);
    s->done = timeline_make(s->w);
    s->also = timeline_make(s->w);
    s->witness = timeline_make(s->w);
}

static void open_gate(scene *s)
{
    raw_vk_timeline_signal(&s->w->vk, s->gate.vk, 1);
    culv_semaphore_mark_value(s->gate.culv, 1);
}

static void close_timelines(scene *s)
{
    const raw_cuda *cu = s->w->cu;
    CU_OK(cu->CtxSynchronize());
    timeline_destroy(s->w, &s->gate);
    timeline_destroy(s->w, &s->done);
    timeline_destroy(s->w, &s->also);
    timeline_destroy(s->w, &s->witness);
}

/* `done` was signaled where the gate holds it back in legacy code, and does not in per-thread
 * code. */
static void require_held_back_in_legacy_code(scene *s, const char *what)
{
    world *w = s->w;
    if (s->calls->per_thread) {
        if (!timeline_reaches(w, &s->done, 1, SOON_MS))
            FAIL("%s: %s waits for the gate", s->calls->name, what);
        REQUIRE_EQ(raw_vk_timeline_value(&w->vk, s->gate.vk), 0);
        open_gate(s);
        return;
    }
    /* What was submitted later to a stream of its own is through, so the device has had its
     * chance. */
    OK(culv_semaphore_signal(s->witness.culv, s->apart, 1));
    REQUIRE(timeline_reaches(w, &s->witness, 1, SOON_MS));
    if (timeline_reaches(w, &s->done, 1, LONG_ENOUGH_MS))
        FAIL("%s: %s did not wait for the gate", s->calls->name, what);
    open_gate(s);
    if (!timeline_reaches(w, &s->done, 1, SOON_MS)) FAIL("%s: %s hangs", s->calls->name, what);
}

static void for_each_row(void (*test)(scene *s))
{
    world w;
    world_open(&w);
    scene s = {.w = &w, .blocking = stream_make(&w, true), .apart = stream_make(&w, false)};
    for (int i = 0; i < CALLS_COUNT; i++) {
        s.calls = all_calls[i];
        open_timelines(&s);
        test(&s);
        close_timelines(&s);
    }
    stream_destroy(&w, s.blocking);
    stream_destroy(&w, s.apart);
    world_close(&w);
}

static void signal_one(scene *s)
{
    OK(culv_semaphore_wait(s->gate.culv, s->blocking, 1));
    OK(s->calls->semaphore_signal(s->done.culv, 0, 1));
    require_held_back_in_legacy_code(s, "a signal on stream 0");
}

static void wait_for_one(scene *s)
{
    OK(s->calls->semaphore_wait(s->gate.culv, 0, 1));
    OK(culv_semaphore_signal(s->done.culv, s->blocking, 1));
    require_held_back_in_legacy_code(s, "a blocking stream behind stream 0's wait");
}

static void signal_batch(scene *s)
{
    const culv_semaphore_point points[] = {{s->also.culv, 1}, {s->done.culv, 1}};
    OK(culv_semaphore_wait(s->gate.culv, s->blocking, 1));
    OK(s->calls->semaphore_signal_batch(points, 2, 0));
    require_held_back_in_legacy_code(s, "a batch of signals on stream 0");
    REQUIRE(timeline_reaches(s->w, &s->also, 1, SOON_MS));
}

static void wait_for_batch(scene *s)
{
    const culv_semaphore_point points[] = {{s->also.culv, 1}, {s->gate.culv, 1}};
    raw_vk_timeline_signal(&s->w->vk, s->also.vk, 1);
    OK(s->calls->semaphore_wait_batch(points, 2, 0));
    OK(culv_semaphore_signal(s->done.culv, s->blocking, 1));
    require_held_back_in_legacy_code(s, "a blocking stream behind stream 0's batch of waits");
}

/* Both ways of one row meet in the same stream: what is behind a wait on stream 0 stays behind
 * it. */
static void wait_then_signal(scene *s)
{
    world *w = s->w;
    OK(s->calls->semaphore_wait(s->gate.culv, 0, 1));
    OK(s->calls->semaphore_signal(s->done.culv, 0, 1));
    OK(culv_semaphore_signal(s->witness.culv, s->apart, 1));
    REQUIRE(timeline_reaches(w, &s->witness, 1, SOON_MS));
    REQUIRE(!timeline_reaches(w, &s->done, 1, LONG_ENOUGH_MS));
    open_gate(s);
    REQUIRE(timeline_reaches(w, &s->done, 1, SOON_MS));
}

static void *signal_from_another_thread(void *data)
{
    scene *s = data;
    OK(s->calls->semaphore_signal(s->done.culv, 0, 1));
    return NULL;
}

/* One thread's stream 0 waits; another thread's is another stream, or the same. */
static void two_threads(scene *s)
{
    pthread_t thread;
    OK(s->calls->semaphore_wait(s->gate.culv, 0, 1));
    REQUIRE_EQ(pthread_create(&thread, NULL, signal_from_another_thread, s), 0);
    REQUIRE_EQ(pthread_join(thread, NULL), 0);
    require_held_back_in_legacy_code(s, "another thread's stream 0");
}

/* A stream that is not 0 is passed on as it is. */
static void other_streams(scene *s)
{
    world *w = s->w;
    const culv_semaphore_point point = {s->also.culv, 1};
    OK(s->calls->semaphore_wait(s->gate.culv, s->blocking, 1));
    OK(s->calls->semaphore_signal(s->done.culv, s->apart, 1));
    OK(s->calls->semaphore_signal_batch(&point, 1, s->blocking));
    REQUIRE(timeline_reaches(w, &s->done, 1, SOON_MS));
    REQUIRE_EQ(raw_vk_timeline_value(&w->vk, s->also.vk), 0);
    open_gate(s);
    REQUIRE(timeline_reaches(w, &s->also, 1, SOON_MS));
}

static void *open_gate_later(void *data)
{
    scene *s = data;
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    raw_vk_timeline_signal(&s->w->vk, s->gate.vk, 1);
    return NULL;
}

/* The last use on stream 0 is not over while the gate holds it back; in per-thread code the gate
 * does not. */
static void last_use(scene *s)
{
    world *w = s->w;
    const raw_cuda *cu = w->cu;
    pthread_t opener;
    timeline mine = timeline_make(w);
    OK(culv_semaphore_wait(s->gate.culv, s->blocking, 1));
    /* The release that is due may wait at the driver for the gate: somebody has to open it. */
    if (s->calls->per_thread) REQUIRE_EQ(pthread_create(&opener, NULL, open_gate_later, s), 0);
    OK(culv_semaphore_destroy(&mine.culv, &(CUstream){s->calls->stream(0)}));
    REQUIRE(mine.culv == NULL);
    if (s->calls->per_thread) {
        CU_OK(cu->StreamSynchronize(CU_STREAM_PER_THREAD));
        REQUIRE_EQ(world_counts(w).deferred, 0);
        REQUIRE_EQ(pthread_join(opener, NULL), 0);
    } else {
        REQUIRE_EQ(world_counts(w).deferred, 1);
        open_gate(s);
        world_settle(w);
    }
    raw_vk_timeline_destroy(&w->vk, mine.vk);
}

TEST_AS(rows_signal_one, for_each_row(signal_one), .title = "stream_0.signal")
TEST_AS(rows_wait_for_one, for_each_row(wait_for_one), .title = "stream_0.wait")
TEST_AS(rows_signal_batch, for_each_row(signal_batch), .title = "stream_0.signal_batch",
        .smoke = true)
TEST_AS(rows_wait_for_batch, for_each_row(wait_for_batch), .title = "stream_0.wait_batch")
TEST_AS(rows_wait_then_signal, for_each_row(wait_then_signal), .title = "stream_0.wait_then_signal")
TEST_AS(rows_two_threads, for_each_row(two_threads), .title = "stream_0.two_threads")
TEST_AS(rows_other_streams, for_each_row(other_streams), .title = "streams.others")
TEST_AS(rows_last_use, for_each_row(last_use), .title = "stream_0.last_use")

/* The handles, as a table. */
TEST(handles)
{
    CUstream some = (CUstream)(uintptr_t)0x1230;
    for (int i = 0; i < CALLS_COUNT; i++) {
        const cudart_calls *calls = all_calls[i];
        CUstream expected = calls->per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
        REQUIRE_EQ(calls->per_thread, i % 2);
        if (calls->stream_0() != expected || calls->stream(0) != expected)
            FAIL("%s: stream 0 is %p and %p", calls->name, (void *)calls->stream_0(),
                 (void *)calls->stream(0));
        REQUIRE(calls->stream(some) == some);
        REQUIRE(calls->stream(cudaStreamLegacy) == CU_STREAM_LEGACY);
        REQUIRE(calls->stream(cudaStreamPerThread) == CU_STREAM_PER_THREAD);
    }
}
