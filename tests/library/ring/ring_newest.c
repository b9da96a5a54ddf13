/* SPDX-License-Identifier: MIT */
/* culv_ring, MAILBOX: who gets which slot. */
#define TEST_GROUP "newest."
#include "fake_ring.h"

static void open_newest(ring_stage *s, uint32_t depth)
{
    culv_ring_settings settings = culv_ring_settings_init();
    settings.policy = CULV_RING_MAILBOX;
    settings.burst = 4; /* of FIFO: bursts are 1 here */
    if (depth < 4) settings.burst = depth;
    stage_open(s, depth);
    stage_make(s, &settings);
    REQUIRE_EQ(stage_stats(s).burst, 1);
}

#define RING_NEWEST_CASE(name, ...)                                                                \
    TEST_ON_(ring_stage, s, open_newest(s, TEST_FIRST(__VA_ARGS__)), stage_close(s), name,         \
             TEST_REST(__VA_ARGS__))

/* A release whose GPU work is not done yet. */
static uint64_t submit(ring_stage *s, culv_ring_side side, culv_ring_frame *f)
{
    LIB_OK(culv_ring_release(s->ring, side, f));
    REQUIRE(f->signal_value != 0);
    return f->signal_value;
}

/* The first frame is taken before it is done: the GPU waits for it. */
RING_NEWEST_CASE(first_frame, 4)
{
    culv_ring_frame a = stage_acquire(s, P);
    (void)submit(s, P, &a);
    culv_ring_frame b = stage_acquire(s, P);
    (void)submit(s, P, &b);
    culv_ring_frame f = stage_acquire(s, C);
    REQUIRE_FRAME(f, 0, 0, 1, 1, 1); /* the one that is done first */
}

/* The newest frame that is done stays for the consumer: the producer waits for its own work rather
 * than to write over it. */
RING_NEWEST_CASE(own_work, 3)
{
    (void)stage_turn(s, P);
    (void)stage_turn(s, C);                  /* slot 0 is the consumer's */
    (void)stage_turn(s, P);                  /* slot 1 is done */
    culv_ring_frame p = stage_acquire(s, P); /* slot 2 is being written */
    REQUIRE_EQ(p.slot, 2);
    uint64_t value = submit(s, P, &p);
    culv_ring_frame f;
    LIB_ERROR(culv_ring_acquire(s->ring, P, 0, &f), TIMEOUT, RING_LATE);
    REQUIRE_EQ_STR(
        culv_last_error_message(),
        "the producer is late: 'ready' has not reached 3 within 0 ms; it is at 2 of 3; "
        "the producer released with 3, but that signal has not run yet; was it submitted?");
    fake_signal(&s->line[P], value);
    p = stage_acquire(s, P);
    REQUIRE_EQ(p.slot, 1);
    REQUIRE_EQ(stage_turn(s, C).number, 2);
}

/* A consumer whose GPU is slow: its slots are not waited for while there are others. */
RING_NEWEST_CASE(slow_reader, 4)
{
    (void)stage_turn(s, P);
    culv_ring_frame f = stage_acquire(s, C);
    uint64_t first = submit(s, C, &f);
    (void)stage_turn(s, P);
    f = stage_acquire(s, C); /* slot 0 comes free, but is still read */
    REQUIRE_EQ(f.slot, 1);
    (void)submit(s, C, &f);
    for (int i = 0; i < 20; i++) {
        culv_ring_frame p = stage_turn(s, P);
        REQUIRE(p.slot == 2 || p.slot == 3);
        REQUIRE_EQ(p.wait_value, 0);
    }
    fake_signal(&s->line[C], first);
    REQUIRE_FRAME(stage_turn(s, P), 0, 22, first, 1, 1);
}

/* Too small for what the consumer has in flight: the GPU waits, not the host. */
RING_NEWEST_CASE(too_small, 3)
{
    culv_ring_frame f;
    (void)stage_turn(s, P);
    for (int i = 0; i < 2; i++) {
        f = stage_acquire(s, C);
        (void)submit(s, C, &f);
        (void)stage_turn(s, P);
    }
    f = stage_acquire(s, C);
    (void)submit(s, C, &f); /* slots 0 and 1 are free, and read until 1 and 2 */
    culv_ring_frame p = stage_turn(s, P);
    REQUIRE_FRAME(p, 0, 3, 1, 1, 1);
}

/* Counters are read where they tell something, and no more. */
RING_NEWEST_CASE(reads, 4)
{
    (void)stage_turn(s, P);
    (void)stage_turn(s, C);
    REQUIRE_EQ(s->line[P].reads, 1);
    for (int i = 0; i < 10; i++)
        (void)stage_turn(s, C); /* nothing new was released */
    REQUIRE_EQ(s->line[P].reads, 1);
    REQUIRE_EQ(s->line[P].waits + s->line[C].waits, 0);
}
