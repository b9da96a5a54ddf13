/* SPDX-License-Identifier: MIT */
/* culv_ring: late work, draining, forcing, lost devices. */
#define TEST_GROUP "stop."
#include "fake_ring.h"

static void release_only(ring_stage *s, culv_ring_side side, culv_ring_frame *f)
{
    LIB_OK(culv_ring_release(s->ring, side, f));
}

/* A whole turn of which nothing reaches the GPU. */
static void promise(ring_stage *s, culv_ring_side side)
{
    culv_ring_frame f = stage_acquire(s, side);
    release_only(s, side, &f);
}

RING_CASE(drained, 4)
{
    stage_make(s, NULL);
    LIB_OK(culv_ring_drain(s->ring, 0, 0));
    (void)stage_turn(s, P);
    (void)stage_turn(s, P);
    (void)stage_turn(s, C);
    LIB_OK(culv_ring_drain(s->ring, 0, 0));
    REQUIRE_EQ(s->line[P].signals + s->line[C].signals, 0);
    /* What is ready stays so, also with force where none was needed. */
    LIB_OK(culv_ring_drain(s->ring, CULV_RING_FOREVER, 1));
    REQUIRE_FRAME(stage_turn(s, C), 1, 1, 2, 1, 1);
    promise(s, P);
    LIB_ERROR(culv_ring_drain(s->ring, 2 * MS, 0), TIMEOUT, RING_LATE);
    REQUIRE_EQ_STR(
        culv_last_error_message(),
        "the producer is late: 'ready' has not reached 3 within 2 ms; it is at 2 of 3; "
        "the producer released with 3, but that signal has not run yet; was it submitted?");
    fake_signal(&s->line[P], 3);
    LIB_OK(culv_ring_drain(s->ring, 0, 0));
}

/* Who is late: the side whose own work does not end, not the one that waits for it. */
TEST(who_is_late)
{
    for (int reads = 0; reads < 2;
         reads++) { /* with counters, and without: then they are found by waiting */
        ring_stage s;
        stage_open(&s, 2);
        s.desc.label = "frames";
        if (reads == 0) s.desc.ready.value = s.desc.done.value = NULL;
        stage_make(&s, NULL);
        (void)stage_turn(&s, P);
        (void)stage_turn(&s, C);
        promise(&s, P); /* never submitted: ready 2 */
        promise(&s, C); /* done 2 after it */
        promise(&s, P);
        LIB_ERROR(culv_ring_drain(s.ring, MS, 0), TIMEOUT, RING_LATE);
        REQUIRE_EQ_STR(
            culv_last_error_message(),
            "'frames': the producer is late: 'ready' has not reached 3 within 1 ms; "
            "it is at 1 of 3; the producer released with 3, but that signal has not run yet; was it submitted?");
        stage_close(&s);

        stage_open(&s, 1);
        s.desc.label = "frames";
        if (reads == 0) s.desc.ready.value = s.desc.done.value = NULL;
        stage_make(&s, NULL);
        (void)stage_turn(&s, P);
        promise(&s, C); /* never submitted: done 1 */
        promise(&s, P); /* ready 2 after done 1 */
        promise(&s, C);
        LIB_ERROR(culv_ring_drain(s.ring, MS, 0), TIMEOUT, RING_LATE);
        REQUIRE_EQ_STR(
            culv_last_error_message(),
            "'frames': the consumer is late: 'ready' has not reached 2 within 1 ms; "
            "it is at 1 of 2, since the producer's work waits for 'done' to reach 1, which is at 0 of 2; "
            "the consumer released with 2, but that signal has not run yet; was it submitted?");
        /* The other order of the same: an acquire that waits for `done`. */
        culv_ring_settings t = culv_ring_settings_init();
        t.max_frames_in_flight = 1;
        LIB_OK(culv_ring_configure(s.ring, &t));
        culv_ring_frame f;
        LIB_ERROR(culv_ring_acquire(s.ring, P, MS, &f), TIMEOUT, RING_LATE);
        REQUIRE_EQ_STR(
            culv_last_error_message(),
            "'frames': the consumer is late: 'done' has not reached 1 within 1 ms; "
            "it is at 0 of 2; the consumer released with 2, but that signal has not run yet; was it submitted?");
        REQUIRE_EQ(stage_stats(&s).producer_waits, 1);
        stage_close(&s);
    }
}

/* A consumer that vanished after it promised: its timeline is forced, and the ring goes on. */
RING_CASE(forced_consumer, 2)
{
    fake_queue gpu;
    stage_make(s, NULL);
    queue_start(&gpu); /* the producer's */
    for (int i = 0; i < 4; i++) {
        culv_ring_frame f = stage_acquire(s, P);
        release_only(s, P, &f);
        queue_push(&gpu, &(fake_job){.wait = &s->line[C],
                                     .wait_value = f.wait_value,
                                     .signal = &s->line[P],
                                     .signal_value = f.signal_value});
        promise(s, C);
    }
    fake_wait(&s->line[P], 2); /* what waits for nothing is done */
    LIB_ERROR(culv_ring_drain(s->ring, 5 * MS, 0), TIMEOUT, RING_LATE, "the consumer is late");
    culv_ring_frame held = stage_acquire(s, P);
    LIB_ERROR(culv_ring_drain(s->ring, 0, 0), BUSY, RING_ORDER);
    LIB_OK(culv_ring_drain(s->ring, 100 * MS, 1));
    REQUIRE_EQ(s->line[C].signals, 1);
    REQUIRE_EQ(s->line[P].signals, 0); /* it went on by itself */
    REQUIRE_EQ(fake_counter(&s->line[C]), 4);
    REQUIRE_EQ(fake_counter(&s->line[P]), 4);
    queue_end(&gpu);
    LIB_INVALID(culv_ring_release(s->ring, P, &held), RING_ORDER);
    /* From empty slots on: nothing to wait for, values and numbers go on. */
    REQUIRE_FRAME(stage_turn(s, P), 0, 4, 0, 1, 1);
    REQUIRE_FRAME(stage_turn(s, P), 1, 5, 0, 1, 1);
    REQUIRE_FRAME(stage_turn(s, C), 0, 4, 5, 1, 1);
    REQUIRE_FRAME(stage_turn(s, C), 1, 5, 6, 1, 1);
    REQUIRE_EQ(fake_counter(&s->line[C]), 6);
    LIB_OK(culv_ring_drain(s->ring, 0, 0));
}

/* Each frame was consumed or is counted as skipped: those that are ready, those of the producer's
 * open burst, those that the consumer took and did not release. */
TEST(forced_frames_are_counted)
{
    enum { BURST = 3, DEPTH = 6 };
    for (uint32_t produced = 1; produced <= DEPTH; produced++)
        for (uint32_t consumed = 0; consumed <= produced / BURST * BURST; consumed++)
            for (int holds = 0; holds < 2; holds++) {
                ring_stage s;
                if (holds && consumed == produced / BURST * BURST)
                    continue; /* there is none to hold */
                stage_open(&s, DEPTH);
                culv_ring_settings t = culv_ring_settings_init();
                t.burst = BURST;
                stage_make(&s, &t);
                for (uint32_t i = 0; i < produced; i++)
                    promise(&s, P);
                for (uint32_t i = 0; i < consumed; i++)
                    promise(&s, C);
                if (holds) (void)stage_acquire(&s, C);
                LIB_OK(culv_ring_drain(s.ring, 0, 1));
                const culv_ring_stats stats = stage_stats(&s);
                REQUIRE_EQ(stats.produced, produced);
                REQUIRE_EQ(stats.consumed, consumed);
                REQUIRE_EQ(stats.skipped, produced - consumed);
                for (uint32_t i = 0; i < BURST; i++)
                    (void)stage_turn(&s, P);
                REQUIRE_EQ(stage_turn(&s, C).number, produced);
                stage_close(&s);
            }
}

/* Slots that a smaller depth has put aside stay there. */
RING_CASE(forced_with_less_depth, 5)
{
    culv_ring_frame f;
    culv_ring_settings t = culv_ring_settings_init();
    t.depth = 2;
    stage_make(s, &t);
    promise(s, P);
    promise(s, C);
    (void)stage_acquire(s, P);
    LIB_OK(culv_ring_drain(s->ring, 0, 1));
    REQUIRE_EQ(stage_turn(s, P).slot, 0);
    REQUIRE_EQ(stage_turn(s, P).slot, 1);
    LIB_ERROR(culv_ring_acquire(s->ring, P, 0, &f), TIMEOUT, RING_FULL, "0 of 2 free");
    t.depth = 5;
    LIB_OK(culv_ring_configure(s->ring, &t));
    for (uint32_t slot = 2; slot < 5; slot++)
        REQUIRE_EQ(stage_turn(s, P).slot, slot);
    LIB_ERROR(culv_ring_acquire(s->ring, P, 0, &f), TIMEOUT, RING_FULL);
}

/* Where the host cannot signal, that is said; MAILBOX is forced like the other. */
RING_CASE(no_force, 4)
{
    s->desc.ready.signal = NULL;
    culv_ring_settings t = culv_ring_settings_init();
    t.policy = CULV_RING_MAILBOX;
    stage_make(s, &t);
    promise(s, P);
    LIB_ERROR(culv_ring_drain(s->ring, MS, 1), UNSUPPORTED, NO_FORCE);
    REQUIRE_EQ_STR(
        culv_last_error_message(),
        "the producer is late: 'ready' is at 0 of 1, and the host cannot signal it (culv_ring_timeline.signal is NULL)");
    fake_signal(&s->line[P], 1);
    promise(s, C);
    promise(s, C);
    LIB_OK(culv_ring_drain(s->ring, MS, 1));
    REQUIRE_EQ(s->line[C].signals, 1);
    REQUIRE_EQ(fake_counter(&s->line[C]), 2);
    culv_ring_frame f;
    LIB_ERROR(culv_ring_acquire(s->ring, C, 0, &f), TIMEOUT, RING_EMPTY); /* kept no more */
    REQUIRE_FRAME(stage_turn(s, P), 0, 1, 0, 1, 1);
    stage_close(s);

    stage_open(s, 2);
    s->desc.done.wait = NULL;
    stage_make(s, NULL);
    LIB_INVALID(culv_ring_drain(s->ring, 0, 0), VALUE);
}

RING_CASE(device_lost, 2)
{
    s->desc.label = "frames";
    culv_ring_settings t = culv_ring_settings_init();
    t.max_frames_in_flight = 1;
    stage_make(s, &t);
    (void)stage_turn(s, P);
    promise(s, C);
    (void)stage_turn(s, P);
    promise(s, C);
    culv_ring_frame f;
    uint64_t value;
    fake_lose(&s->line[C]);
    LIB_ERROR(culv_ring_acquire(s->ring, P, 0, &f), ASYNC, DEVICE_LOST);
    for (int side = 0; side < 2; side++) {
        LIB_ERROR(culv_ring_acquire(s->ring, (culv_ring_side)side, 0, &f), ASYNC, RING_STOPPED);
        REQUIRE_EQ_STR(culv_last_error_message(),
                       "'frames': the ring is stopped: at 'done', the device is lost; "
                       "what is left is culv_ring_drain() and culv_ring_destroy()");
        LIB_ERROR(culv_ring_release(s->ring, (culv_ring_side)side, &f), ASYNC, RING_STOPPED);
        LIB_ERROR(culv_ring_flush(s->ring, (culv_ring_side)side, &value), ASYNC, RING_STOPPED);
    }
    /* Who waits for the lost side is let go, and the ring stays stopped. */
    LIB_ERROR(culv_ring_drain(s->ring, 0, 0), ASYNC, DEVICE_LOST);
    REQUIRE_EQ(s->line[C].signals, 0);
    LIB_OK(culv_ring_drain(s->ring, 0, 1));
    REQUIRE_EQ(s->line[C].signals, 1);
    REQUIRE_EQ(fake_counter(&s->line[C]), 2);
    REQUIRE_EQ(s->line[P].signals, 0);
    LIB_ERROR(culv_ring_acquire(s->ring, P, 0, &f), ASYNC, RING_STOPPED);
    (void)stage_stats(s);
}

/* A drain finds it; a reader of MAILBOX; a check of counters. */
TEST(lost_elsewhere)
{
    for (int way = 0; way < 3; way++) {
        ring_stage s;
        stage_open(&s, 3);
        culv_ring_settings t = culv_ring_settings_init();
        if (way == 1) t.policy = CULV_RING_MAILBOX;
        if (way == 2) t.check_counters = 1;
        stage_make(&s, &t);
        culv_ring_frame f;
        promise(&s, P);
        if (way == 1) promise(&s, C);
        if (way == 1) promise(&s, P);
        fake_lose(&s.line[P]);
        if (way == 0)
            LIB_OK(culv_ring_drain(s.ring, CULV_RING_FOREVER, 1));
        else
            LIB_ERROR(culv_ring_acquire(s.ring, C, CULV_RING_FOREVER, &f), ASYNC, DEVICE_LOST);
        LIB_ERROR(culv_ring_acquire(s.ring, P, 0, &f), ASYNC, RING_STOPPED);
        stage_close(&s);
    }
}

/* A side whose submission failed holds its frame again and releases it with the same value, also
 * when the other side has its slot by now; within a burst nothing was handed over. */
RING_CASE(submission_failed, 2)
{
    culv_ring_frame f, other, got;
    uint64_t value;
    stage_make(s, NULL);
    for (int side = 0; side < 2; side++) {
        const culv_ring_side me = (culv_ring_side)side;
        f = stage_acquire(s, me);
        LIB_INVALID(culv_ring_submit_failed(s->ring, me, &f), RING_ORDER); /* it was not released */
        LIB_OK(culv_ring_release(s->ring, me, &f));
        const uint64_t signal = f.signal_value;
        const culv_ring_stats before = stage_stats(s);
        LIB_OK(culv_ring_submit_failed(s->ring, me, &f));
        LIB_INVALID(culv_ring_submit_failed(s->ring, me, &f), RING_ORDER); /* once */
        LIB_INVALID(culv_ring_acquire(s->ring, me, 0, &got), RING_ORDER,
                    "whose submission failed; release it once more");
        LIB_INVALID(culv_ring_cancel(s->ring, me, &f), RING_ORDER);
        LIB_INVALID(culv_ring_flush(s->ring, me, &value), RING_ORDER);
        LIB_ERROR(culv_ring_drain(s->ring, 0, 0), BUSY, RING_ORDER);
        other = f;
        other.number++;
        LIB_INVALID(culv_ring_release(s->ring, me, &other), RING_ORDER);
        if (me == P) { /* the consumer has it by now, and says who it waits for */
            got = stage_acquire(s, C);
            REQUIRE_EQ(got.wait_value, signal);
            LIB_OK(culv_ring_cancel(s->ring, C, &got));
        }
        f.signal_value = 0;
        LIB_OK(culv_ring_release(s->ring, me, &f));
        REQUIRE_EQ(f.signal_value, signal);
        const culv_ring_stats after = stage_stats(s);
        REQUIRE_EQ(after.produced, before.produced);
        REQUIRE_EQ(after.consumed, before.consumed);
        fake_signal(&s->line[side], signal);
    }
    LIB_OK(culv_ring_drain(s->ring, 0, 0));
    REQUIRE_FRAME(stage_turn(s, P), 1, 1, 0, 1, 1);
    /* Not the last one; another side's; nobody's. */
    LIB_INVALID(culv_ring_submit_failed(s->ring, P, &f), RING_ORDER,
                "is not the last one that this side released");
    /* Who waits for such a side is told; a forced drain ends it. */
    f = stage_acquire(s, C);
    LIB_OK(culv_ring_release(s->ring, C, &f));
    LIB_OK(culv_ring_submit_failed(s->ring, C, &f));
    LIB_OK(culv_ring_drain(s->ring, MS, 1));
    REQUIRE_EQ(fake_counter(&s->line[C]), 2);
    REQUIRE_EQ(stage_turn(s, P).number, 2);
    stage_close(s);

    stage_open(s, 4);
    culv_ring_settings t = culv_ring_settings_init();
    t.burst = 2;
    stage_make(s, &t);
    for (int side = 0; side < 2; side++) {
        const culv_ring_side me = (culv_ring_side)side;
        f = stage_acquire(s, me);
        LIB_OK(culv_ring_release(s->ring, me, &f));
        REQUIRE_EQ(f.signal_value, 0);
        LIB_OK(culv_ring_submit_failed(s->ring, me, &f));
        REQUIRE_EQ(side == 0 ? stage_stats(s).produced : stage_stats(s).consumed, 0);
        LIB_INVALID(culv_ring_acquire(s->ring, me, 0, &got), RING_ORDER);
        LIB_OK(culv_ring_cancel(s->ring, me, &f)); /* the burst begins anew */
        REQUIRE_FRAME(stage_turn(s, me), 0, 0, side, 1, 0);
        f = stage_acquire(s, me);
        LIB_OK(culv_ring_release(s->ring, me, &f));
        LIB_OK(culv_ring_submit_failed(s->ring, me, &f)); /* the last of it */
        stage_release(s, me, &f);
        REQUIRE_EQ(f.signal_value, 1);
    }
}
