/* SPDX-License-Identifier: MIT */
/* culv_ring, two threads: waiting without polling, waking, one thread a side; and any calls of both
 * sides, against a model. */
#define TEST_GROUP "threads."
#include "fake_ring.h"

#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A thread in culv_ring_acquire(). */
typedef struct waiter {
    culv_ring *ring;
    culv_ring_side side;
    uint64_t timeout;
    pthread_t thread;
    atomic_int id; /* of the thread, once it runs */
    culv_result result;
    culv_ring_frame frame;
    culv_error error;
} waiter;

static void *wait_in_acquire(void *user)
{
    waiter *w = user;
    atomic_store(&w->id, (int)syscall(SYS_gettid));
    w->error = culv_error_init();
    w->result = culv_ring_acquire(w->ring, w->side, w->timeout, &w->frame);
    culv_last_error(&w->error);
    return NULL;
}

static uint64_t waits(const ring_stage *s, culv_ring_side side)
{
    culv_ring_stats stats = stage_stats(s);
    return side == P ? stats.producer_waits : stats.consumer_waits;
}

/* It waits by then. */
static void waiter_start(waiter *w, ring_stage *s, culv_ring_side side, uint64_t timeout)
{
    *w = (waiter){.ring = s->ring, .side = side, .timeout = timeout};
    uint64_t before = waits(s, side);
    REQUIRE_EQ(pthread_create(&w->thread, NULL, wait_in_acquire, w), 0);
    while (waits(s, side) == before)
        lib_sleep_ms(1);
}

static void waiter_end(waiter *w, culv_result result, culv_reason reason)
{
    REQUIRE_EQ(pthread_join(w->thread, NULL), 0);
    REQUIRE_EQ(w->result, result);
    if (result != CULV_OK) REQUIRE_EQ(w->error.reason, reason);
}

RING_CASE(wakes, 4)
{
    waiter w;
    culv_ring_frame f;
    culv_ring_settings t = culv_ring_settings_init();
    t.depth = 1;
    stage_make(s, &t);
    waiter_start(&w, s, C, CULV_RING_FOREVER);
    (void)stage_turn(s, P); /* a release */
    waiter_end(&w, CULV_OK, CULV_REASON_NONE);
    f = w.frame;
    waiter_start(&w, s, P, 60000 * (uint64_t)MS);
    stage_release(s, C, &f);
    waiter_end(&w, CULV_OK, CULV_REASON_NONE);
    stage_release(s, P, &w.frame);
    waiter_start(&w, s, P, CULV_RING_FOREVER);
    t.depth = 2; /* a slot more */
    LIB_OK(culv_ring_configure(s->ring, &t));
    waiter_end(&w, CULV_OK, CULV_REASON_NONE);
    REQUIRE_EQ(w.frame.slot, 1);
    stage_release(s, P, &w.frame);
    waiter_start(&w, s, P, CULV_RING_FOREVER);
    /* A second thread on the same side, and whoever waits for both. */
    LIB_INVALID(culv_ring_acquire(s->ring, P, 0, &f), RING_SIDE);
    REQUIRE_EQ_STR(culv_last_error_message(),
                   "culv_ring_acquire: another thread is in a call of the producer; "
                   "only one thread at a time may use a side");
    LIB_INVALID(culv_ring_release(s->ring, P, &f), RING_SIDE);
    LIB_INVALID(culv_ring_drain(s->ring, 0, 1), RING_SIDE);
    culv_ring_destroy(&s->ring, NULL);
    waiter_end(&w, CULV_ERROR_ASYNC, CULV_REASON_RING_STOPPED);
    REQUIRE(strstr(w.error.message, "the ring is stopped: it is being destroyed") != NULL);
    stage_close(s);

    stage_open(s, 2);
    stage_make(s, NULL);
    waiter_start(&w, s, C, CULV_RING_FOREVER);
    LIB_INVALID(culv_ring_drain(s->ring, 0, 1), RING_SIDE);
    (void)stage_turn(s, P);
    waiter_end(&w, CULV_OK, CULV_REASON_NONE);
}

/* Timeouts that no clock gets to: of a side that waits for the other one, and of one that waits for
 * GPU work. */
TEST(huge_timeouts)
{
    static const uint64_t rows[] = {UINT64_MAX - 1, UINT64_MAX - 2, UINT64_MAX - 1000000000,
                                    (uint64_t)INT64_MAX + 1, INT64_MAX};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ring_stage s;
        waiter w;
        stage_open(&s, 3);
        culv_ring_settings t = culv_ring_settings_init();
        t.max_frames_in_flight = 1;
        stage_make(&s, &t);
        waiter_start(&w, &s, C, rows[i]);
        lib_sleep_ms(5);
        (void)stage_turn(&s, P);
        waiter_end(&w, CULV_OK, CULV_REASON_NONE);
        LIB_OK(culv_ring_release(s.ring, C, &w.frame));
        (void)stage_turn(&s, P);
        culv_ring_frame f = stage_acquire(&s, C);
        LIB_OK(culv_ring_release(s.ring, C, &f));
        waiter_start(&w, &s, P, rows[i]);
        lib_sleep_ms(5);
        fake_signal(&s.line[C], 1);
        waiter_end(&w, CULV_OK, CULV_REASON_NONE);
        stage_close(&s);
    }
}

static void *wait_and_end(void *user)
{
    wait_in_acquire(user);
    pthread_testcancel();
    return NULL;
}

/* A thread that is cancelled while it waits leaves the ring to others: with what it got, and to be
 * destroyed. It waits for the other side, for GPU work, or until its time is up, which the log
 * tells. */
TEST(cancelled)
{
    enum { SIDE, WORK, TIME };
    REQUIRE(setenv("CULVERT_LOG", "error", 1) == 0); /* writing to a file is a cancellation point */
    for (int way = SIDE; way <= TIME; way++) {
        ring_stage s;
        void *end = NULL;
        stage_open(&s, 3);
        culv_ring_settings t = culv_ring_settings_init();
        t.max_frames_in_flight = 1;
        stage_make(&s, &t);
        const culv_ring_side side = way == WORK ? P : C;
        for (int i = 0; way == WORK && i < 2; i++) {
            (void)stage_turn(&s, P);
            culv_ring_frame f = stage_acquire(&s, C);
            LIB_OK(culv_ring_release(s.ring, C, &f));
        }
        waiter w = {
            .ring = s.ring, .side = side, .timeout = (way == TIME ? 200 : 60000) * (uint64_t)MS};
        const uint64_t before = waits(&s, side);
        REQUIRE_EQ(pthread_create(&w.thread, NULL, wait_and_end, &w), 0);
        while (waits(&s, side) == before)
            lib_sleep_ms(1);
        REQUIRE_EQ(pthread_cancel(w.thread), 0);
        lib_sleep_ms(20);
        if (way == WORK) fake_signal(&s.line[C], 1);
        if (way == SIDE) (void)stage_turn(&s, P);
        REQUIRE_EQ(pthread_join(w.thread, &end), 0);
        REQUIRE(end == PTHREAD_CANCELED);
        REQUIRE_EQ(w.result, way == TIME ? CULV_ERROR_TIMEOUT : CULV_OK);
        if (way != TIME) stage_release(&s, side, &w.frame);
        if (way == WORK) fake_signal(&s.line[C], 2);
        for (int i = 0; i < 5; i++) { /* both sides go on */
            if (way != WORK || i > 0) (void)stage_turn(&s, P);
            culv_ring_frame f = stage_acquire(&s, C);
            stage_release(&s, C, &f);
        }
        culv_ring_destroy(&s.ring, NULL);
        stage_close(&s);
    }
}

static void *wait_in_drain(void *user)
{
    waiter *w = user;
    w->error = culv_error_init();
    w->result = culv_ring_drain(w->ring, w->timeout, 0);
    culv_last_error(&w->error);
    return NULL;
}

/* culv_ring_stop() lets go of whoever waits in the ring, for the other side or for GPU work, and of
 * a drain; later calls are refused, a second stop is nothing, and the ring is destroyed later. */
TEST(stopped)
{
    enum { SIDE, WORK, DRAIN, WAYS };
    static const uint64_t timeouts[] = {CULV_RING_FOREVER, 600000 * (uint64_t)MS};
    for (int row = 0; row < 2 * WAYS; row++) {
        const int way = row / 2;
        const uint64_t timeout = timeouts[row % 2];
        ring_stage s;
        waiter w, other;
        culv_ring_frame f, held;
        stage_open(&s, 3);
        culv_ring_settings t = culv_ring_settings_init();
        t.max_frames_in_flight = 1;
        stage_make(&s, &t);
        for (int i = 0; i < 2; i++) {
            (void)stage_turn(&s, P);
            held = stage_acquire(&s, C);
            if (way != SIDE || i == 0) LIB_OK(culv_ring_release(s.ring, C, &held));
        }
        if (way == SIDE) {
            (void)stage_turn(&s, P);
            (void)stage_turn(&s, P);
            waiter_start(&w, &s, P, timeout); /* for a slot; the consumer holds a frame */
        } else if (way == WORK) {
            waiter_start(&w, &s, P, timeout);
            waiter_start(&other, &s, C, timeout);
        } else {
            const uint64_t before = fake_waits(&s.line[C]);
            w = (waiter){.ring = s.ring, .timeout = timeout};
            REQUIRE_EQ(pthread_create(&w.thread, NULL, wait_in_drain, &w), 0);
            while (fake_waits(&s.line[C]) == before)
                lib_sleep_ms(1);
        }
        LIB_OK(culv_ring_stop(s.ring));
        waiter_end(&w, CULV_ERROR_ASYNC, CULV_REASON_RING_STOPPED);
        REQUIRE(strstr(w.error.message, "culv_ring_stop() was called") != NULL);
        if (way == WORK) waiter_end(&other, CULV_ERROR_ASYNC, CULV_REASON_RING_STOPPED);
        LIB_OK(culv_ring_stop(s.ring));
        for (int side = 0; side < 2; side++) {
            uint64_t value;
            LIB_ERROR(culv_ring_acquire(s.ring, (culv_ring_side)side, CULV_RING_FOREVER, &f), ASYNC,
                      RING_STOPPED);
            LIB_ERROR(culv_ring_release(s.ring, (culv_ring_side)side, &held), ASYNC, RING_STOPPED);
            LIB_ERROR(culv_ring_flush(s.ring, (culv_ring_side)side, &value), ASYNC, RING_STOPPED);
        }
        stage_close(&s);
    }
}

/* Waiting takes no processor time: the thread sleeps, and does not wake in between. */
RING_CASE(no_polling, 1)
{
    waiter w;
    stage_make(s, NULL);
    waiter_start(&w, s, C, CULV_RING_FOREVER);
    REQUIRE(test_asleep(0, atomic_load(&w.id), 100));
    (void)stage_turn(s, P);
    waiter_end(&w, CULV_OK, CULV_REASON_NONE);
}

#undef TEST_GROUP
#define TEST_GROUP "model."
/* culv_ring against a model: random calls of both sides, and two queues that work off what is
 * submitted whenever chance has it. A slot holds the number of the frame that was written last; a
 * reader must find its own. */

enum { MODEL_SLOTS = 6, MODEL_JOBS = 4096 };

typedef struct model_job {
    uint64_t wait, signal, number;
    uint32_t slot;
    bool work;
} model_job;

typedef struct model {
    ring_stage s;
    uint64_t seed;
    culv_ring_settings settings;
    bool was_newest, was_ordered; /* policies since the start */
    model_job jobs[2][MODEL_JOBS];
    uint64_t pushed[2], run[2];
    uint64_t counter[2], promised[2];
    uint64_t content[MODEL_SLOTS]; /* number + 1; 0: nothing yet */
    /* Number + 1 of the newest frame that is released, and whose job ran */
    uint64_t written;
    culv_ring_frame held[2];
    bool holds[2];
    uint64_t produced, consumed, next;
    uint32_t open[2]; /* released frames of an open burst */
} model;

static uint32_t chance(model *m, uint32_t below)
{
    m->seed = m->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(m->seed >> 33) % below;
}

static void push(model *m, int side, const model_job *job)
{
    if (job->signal != 0) {
        REQUIRE_EQ(job->signal, m->promised[side] + 1); /* one by one */
        m->promised[side]++;
    }
    REQUIRE(job->wait <= m->promised[1 - side]);
    REQUIRE(m->pushed[side] - m->run[side] < MODEL_JOBS);
    m->jobs[side][m->pushed[side]++ % MODEL_JOBS] = *job;
}

/* The queue's next job, when it may run. */
static bool step(model *m, int side)
{
    if (m->run[side] == m->pushed[side]) return false;
    const model_job *job = &m->jobs[side][m->run[side] % MODEL_JOBS];
    if (job->wait > m->counter[1 - side]) return false;
    m->run[side]++;
    if (job->work && side == P) m->content[job->slot] = job->number + 1;
    if (job->work && side == C) REQUIRE_EQ(m->content[job->slot], job->number + 1);
    if (job->signal == 0) return true;
    m->counter[side] = job->signal;
    fake_signal(&m->s.line[side], job->signal);
    if (side == P) m->written = job->work ? job->number + 1 : m->written;
    return true;
}

static void acquire(model *m, int side)
{
    culv_ring_frame f;
    culv_result result = culv_ring_acquire(m->s.ring, (culv_ring_side)side, 0, &f);
    if (m->holds[side]) {
        REQUIRE_EQ(result, CULV_ERROR_INVALID);
        return;
    }
    if (result != CULV_OK) {
        culv_error e = culv_error_init();
        culv_last_error(&e);
        REQUIRE_EQ(result, CULV_ERROR_TIMEOUT);
        if (!m->was_ordered) REQUIRE(e.reason != CULV_REASON_RING_FULL);
        return;
    }
    REQUIRE(f.slot < MODEL_SLOTS);
    REQUIRE(!m->holds[1 - side] || m->held[1 - side].slot != f.slot);
    REQUIRE_EQ(f.burst_begins, m->open[side] == 0);
    REQUIRE(f.burst_begins || f.wait_value == 0);
    if (side == P) {
        REQUIRE_EQ(f.number, m->produced);
    } else if (f.repeated) {
        REQUIRE(m->was_newest && f.number + 1 == m->next);
    } else {
        REQUIRE_EQ(f.skipped, f.number - m->next);
        REQUIRE(m->was_newest || f.skipped == 0);
        REQUIRE(f.wait_value != 0 || !f.burst_begins);
    }
    /* MAILBOX: no frame that is done is newer. */
    if (side == C && !m->was_ordered) REQUIRE(f.number + 1 >= m->written);
    m->held[side] = f;
    m->holds[side] = true;
}

static void release(model *m, int side)
{
    culv_ring_frame f = m->held[side];
    culv_result result = culv_ring_release(m->s.ring, (culv_ring_side)side, &f);
    REQUIRE_EQ(result, m->holds[side] ? CULV_OK : CULV_ERROR_INVALID);
    if (result != CULV_OK) return;
    REQUIRE_EQ(f.signal_value != 0, f.burst_ends);
    m->holds[side] = false;
    m->open[side] = f.burst_ends ? 0 : m->open[side] + 1;
    if (side == P) m->produced++;
    if (side == C && !f.repeated) m->consumed++;
    if (side == C) m->next = f.number + 1;
    push(m, side,
         &(model_job){.wait = f.wait_value,
                      .signal = f.signal_value,
                      .number = f.number,
                      .slot = f.slot,
                      .work = true});
}

static void cancel(model *m, int side)
{
    culv_ring_frame f = m->held[side];
    culv_result result = culv_ring_cancel(m->s.ring, (culv_ring_side)side, &f);
    REQUIRE_EQ(result, m->holds[side] ? CULV_OK : CULV_ERROR_INVALID);
    m->holds[side] = false;
}

static void model_flush(model *m, int side)
{
    uint64_t value = 0;
    culv_result result = culv_ring_flush(m->s.ring, (culv_ring_side)side, &value);
    REQUIRE_EQ(result, m->holds[side] ? CULV_ERROR_INVALID : CULV_OK);
    if (result != CULV_OK) return;
    REQUIRE_EQ(value != 0, m->open[side] > 0);
    m->open[side] = 0;
    if (value != 0) push(m, side, &(model_job){.signal = value});
}

static void configure(model *m, int policies)
{
    culv_ring_settings t = culv_ring_settings_init();
    t.policy = policies == 2 ? (culv_ring_policy)chance(m, 2) : (culv_ring_policy)policies;
    t.depth = 1 + chance(m, MODEL_SLOTS);
    if (t.policy == CULV_RING_MAILBOX && t.depth < 3) t.depth = 3;
    t.burst = 1 + chance(m, t.depth);
    t.max_frames_in_flight = chance(m, 4);
    t.check_counters = chance(m, 2);
    LIB_OK(culv_ring_configure(m->s.ring, &t));
    m->settings = t;
    m->was_newest = m->was_newest || t.policy == CULV_RING_MAILBOX;
    m->was_ordered = m->was_ordered || t.policy == CULV_RING_FIFO;
}

static void drain(model *m)
{
    culv_result result = culv_ring_drain(m->s.ring, 0, 0);
    bool busy = m->holds[P] || m->holds[C] || m->open[P] > 0 || m->open[C] > 0;
    bool done = m->counter[P] == m->promised[P] && m->counter[C] == m->promised[C];
    REQUIRE_EQ(result, busy ? CULV_ERROR_BUSY : done ? CULV_OK : CULV_ERROR_TIMEOUT);
}

/* The slots are all there, and nothing waits for ever. */
static void end(model *m)
{
    for (int side = 0; side < 2; side++) {
        if (m->holds[side]) release(m, side);
        model_flush(m, side);
    }
    while (step(m, P) || step(m, C)) {
    }
    for (int side = 0; side < 2; side++) {
        REQUIRE_EQ(m->run[side], m->pushed[side]);
        REQUIRE_EQ(m->counter[side], m->promised[side]);
    }
    drain(m);
    culv_ring_stats stats = stage_stats(&m->s);
    REQUIRE_EQ(stats.produced, m->produced);
    REQUIRE_EQ(stats.consumed, m->consumed);
    REQUIRE(m->was_newest || stats.skipped == 0);
    /* Read what is left, then fill the whole ring. */
    culv_ring_settings t = culv_ring_settings_init();
    LIB_OK(culv_ring_configure(m->s.ring, &t));
    culv_ring_frame f;
    while (culv_ring_acquire(m->s.ring, C, 0, &f) == CULV_OK) {
        m->held[C] = f;
        m->holds[C] = true;
        release(m, C);
        while (step(m, C)) {
        }
    }
    for (uint32_t i = 0; i < MODEL_SLOTS; i++) {
        LIB_OK(culv_ring_acquire(m->s.ring, P, 0, &f));
        LIB_OK(culv_ring_release(m->s.ring, P, &f));
    }
    LIB_ERROR(culv_ring_acquire(m->s.ring, P, 0, &f), TIMEOUT, RING_FULL);
    stats = stage_stats(&m->s);
    REQUIRE_EQ(stats.produced, stats.consumed + stats.skipped + MODEL_SLOTS);
}

static void check(int policies, uint64_t seed, uint32_t steps)
{
    static model m;
    memset(&m, 0, sizeof m);
    m.seed = seed;
    stage_open(&m.s, MODEL_SLOTS);
    culv_ring_settings first = culv_ring_settings_init();
    first.policy = policies == 1 ? CULV_RING_MAILBOX : CULV_RING_FIFO;
    m.was_newest = policies == 1;
    m.was_ordered = policies != 1;
    stage_make(&m.s, &first);
    /* Now and then one of the four is in a hurry. */
    uint32_t weight[4] = {1, 1, 1, 1};
    for (uint32_t i = 0; i < steps; i++) {
        if (i % 64 == 0)
            for (int k = 0; k < 4; k++)
                weight[k] = 1 + chance(&m, 8);
        uint32_t pick = chance(&m, weight[0] + weight[1] + weight[2] + weight[3]);
        int who = 0;
        while (pick >= weight[who])
            pick -= weight[who++];
        if (who >= 2) {
            (void)step(&m, who - 2);
            continue;
        }
        uint32_t what = chance(&m, 100);
        if (what < 2)
            cancel(&m, who);
        else if (what < 4)
            model_flush(&m, who);
        else if (what < 5)
            configure(&m, policies);
        else if (what < 6)
            drain(&m);
        else if (what < 8)
            (m.holds[who] ? acquire : release)(&m, who);
        else
            (m.holds[who] ? release : acquire)(&m, who);
    }
    REQUIRE(m.produced > steps / 50 && m.consumed > steps / 200);
    end(&m);
    stage_close(&m.s);
}

static void checks(int policies)
{
    uint64_t seed = strtoull(test_option("seed", "1"), NULL, 10);
    for (uint64_t i = 0; i < 10; i++)
        check(policies, seed + i, 10000);
}

TEST_AS(ordered, checks(0))
TEST_AS(newest, checks(1))
TEST_AS(both, checks(2))
