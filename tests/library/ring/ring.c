/* SPDX-License-Identifier: MIT */
/* culv_ring, one thread: the order of slots, values, how far the GPU is behind. ring_model.c has
 * what random calls do. */
#include "fake_ring.h"

RING_CASE(ordered, 3, .smoke = true)
{
    stage_make(s, NULL);
    culv_ring_frame f;
    LIB_ERROR(culv_ring_acquire(s->ring, C, 0, &f), TIMEOUT, RING_EMPTY);
    for (uint32_t i = 0; i < 3; i++) {
        f = stage_turn(s, P);
        REQUIRE_FRAME(f, i, i, 0, 1, 1); /* nobody used the slot yet */
        REQUIRE_EQ(f.signal_value, i + 1);
    }
    LIB_ERROR(culv_ring_acquire(s->ring, P, 0, &f), TIMEOUT, RING_FULL);
    f = stage_acquire(s, C);
    REQUIRE_FRAME(f, 0, 0, 1, 1, 1);
    culv_ring_frame other = f;
    LIB_ERROR(culv_ring_acquire(s->ring, P, 0, &other), TIMEOUT, RING_FULL);
    REQUIRE_EQ(other.number, f.number); /* written only on success */
    stage_release(s, C, &f);
    REQUIRE_EQ(f.signal_value, 1);
    f = stage_turn(s, C);
    REQUIRE_FRAME(f, 1, 1, 2, 1, 1);
    /* Slots come back in the order in which they were given back, each with what its reader
     * signals. */
    for (uint64_t i = 0; i < 100; i++) {
        f = stage_turn(s, P);
        REQUIRE_FRAME(f, i % 3, i + 3, i + 1, 1, 1);
        f = stage_turn(s, C);
        REQUIRE_FRAME(f, (i + 2) % 3, i + 2, i + 3, 1, 1);
        REQUIRE_EQ(f.skipped, 0);
        REQUIRE_EQ(f.repeated, 0);
    }
    culv_ring_stats stats = stage_stats(s);
    REQUIRE_EQ(stats.produced, 103);
    REQUIRE_EQ(stats.consumed, 102);
    REQUIRE_EQ(stats.ready_signaled, 103);
    REQUIRE_EQ(stats.done_signaled, 102);
    REQUIRE_EQ(stats.skipped + stats.producer_waits + stats.consumer_waits + stats.frame_time, 0);
    REQUIRE_EQ(stats.depth, 3);
    REQUIRE_EQ(stats.burst, 1);
}

/* Values go on from where the counters are. */
RING_CASE(first_values, 2)
{
    s->desc.ready_value = 1000;
    s->desc.done_value = 7;
    fake_set(&s->line[P], 1000);
    fake_set(&s->line[C], 7);
    stage_make(s, NULL);
    for (uint64_t i = 0; i < 600; i++) { /* more than are remembered */
        culv_ring_frame f = stage_turn(s, P);
        REQUIRE_EQ(f.signal_value, 1001 + i);
        REQUIRE_EQ(f.wait_value, i < 2 ? 0 : 6 + i);
        f = stage_turn(s, C);
        REQUIRE_EQ(f.wait_value, 1001 + i);
        REQUIRE_EQ(f.signal_value, 8 + i);
    }
}

/* A program of one thread that flushes every frame gets every slot. */
RING_CASE(flush_each, 4)
{
    culv_ring_settings settings = culv_ring_settings_init();
    settings.burst = 2;
    stage_make(s, &settings);
    for (uint64_t i = 0; i < 4; i++) {
        uint64_t value = 0;
        REQUIRE_FRAME(stage_turn(s, P), i, i, 0, 1,
                      i == 3); /* of the last slot, the burst is one */
        LIB_OK(culv_ring_flush(s->ring, P, &value));
        REQUIRE_EQ(value, i < 3 ? i + 1 : 0);
        if (value != 0) fake_signal(&s->line[P], value);
    }
}

/* What the consumer kept of MAILBOX is a slot of FIFO's: its producer gets bursts of all slots,
 * though the consumer has nothing to come for. */
TEST(kept_slot_in_burst)
{
    ring_stage s;
    culv_ring_settings newest = culv_ring_settings_init(), all = culv_ring_settings_init();
    newest.policy = CULV_RING_MAILBOX;
    all.burst = 3;
    stage_open(&s, 3);
    stage_make(&s, &newest);
    (void)stage_turn(&s, P);
    (void)stage_turn(&s, C);
    LIB_OK(culv_ring_configure(s.ring, &all));
    for (uint64_t i = 1; i < 4; i++)
        REQUIRE_EQ(stage_turn(&s, P).number, i);
    for (uint64_t i = 1; i < 4; i++)
        REQUIRE_EQ(stage_turn(&s, C).number, i);
    /* Not while it is read again. */
    LIB_OK(culv_ring_configure(s.ring, &newest));
    (void)stage_turn(&s, P);
    (void)stage_turn(&s, C);
    culv_ring_frame again = stage_acquire(&s, C), f;
    REQUIRE_EQ(again.repeated, 1);
    LIB_OK(culv_ring_configure(s.ring, &all));
    LIB_ERROR(culv_ring_acquire(s.ring, P, 0, &f), TIMEOUT, RING_FULL);
    stage_release(&s, C, &again);
    for (uint64_t i = 5; i < 8; i++)
        REQUIRE_EQ(stage_turn(&s, P).number, i);
    for (uint64_t i = 5; i < 8; i++)
        REQUIRE_EQ(stage_turn(&s, C).number, i);
    /* Nor where it is the one slot that max_latency begins with. */
    LIB_OK(culv_ring_configure(s.ring, &newest));
    do {
        (void)stage_turn(&s, P);
        f = stage_turn(&s, C);
    } while (f.slot != 0);
    all = culv_ring_settings_init();
    all.max_latency = MS;
    LIB_OK(culv_ring_configure(s.ring, &all));
    REQUIRE_FRAME(stage_turn(&s, P), 0, f.number + 1, f.signal_value, 1, 1);
    stage_close(&s);
}

/* The lead: how far the GPU may be behind. */
RING_CASE(lead, 4)
{
    culv_ring_settings settings = culv_ring_settings_init();
    settings.max_frames_in_flight = 3;
    stage_make(s, &settings);
    culv_ring_frame f;
    for (int i = 0; i < 4; i++) { /* the host is far ahead: nothing of `done` is reached */
        (void)stage_turn(s, P);
        f = stage_acquire(s, C);
        LIB_OK(culv_ring_release(s->ring, C, &f));
    }
    LIB_ERROR(culv_ring_acquire(s->ring, P, 0, &f), TIMEOUT, RING_LATE);
    fake_signal(&s->line[C], 1);
    (void)stage_turn(s, P);
    f = stage_acquire(s, C);
    LIB_OK(culv_ring_release(s->ring, C, &f));
    LIB_ERROR(culv_ring_acquire(s->ring, C, 0, &f), TIMEOUT, RING_EMPTY);
    LIB_ERROR(culv_ring_acquire(s->ring, P, 0, &f), TIMEOUT, RING_LATE);
    fake_signal(&s->line[C], 5);
    uint64_t reads = s->line[C].reads, others = s->line[P].reads; /* those of the messages */
    for (int i = 0; i < 3; i++) {
        (void)stage_turn(s, P);
        f = stage_acquire(s, C);
        LIB_OK(culv_ring_release(s->ring, C, &f));
    }
    REQUIRE_EQ(s->line[C].reads, reads + 1); /* what is known is not asked for again */
    REQUIRE_EQ(s->line[P].reads, others);
    REQUIRE_EQ(s->line[P].waits, 0);
    /* Bursts count their frames. */
    settings.burst = 2;
    settings.max_frames_in_flight = 4;
    fake_signal(&s->line[C], 8);
    LIB_OK(culv_ring_configure(s->ring, &settings));
    for (int i = 0; i < 6; i++) {
        f = stage_acquire(s, P);
        stage_release(s, P, &f);
        if (i % 2 == 0) continue;
        for (int k = 0; k < 2; k++) {
            f = stage_acquire(s, C);
            LIB_OK(culv_ring_release(s->ring, C, &f));
        }
    }
    LIB_ERROR(culv_ring_acquire(s->ring, P, 0, &f), TIMEOUT, RING_LATE);
}

/* A GPU that is never ahead of what the host waits for. */
static culv_result crawl(void *context, uint64_t value, uint64_t timeout)
{
    fake_timeline *t = context;
    (void)timeout;
    t->waits++;
    if (fake_counter(t) < value) fake_signal(t, value);
    return CULV_OK;
}

/* Where many frames are on their way, most turns ask and wait for nothing. */
RING_CASE(asks_seldom, 16)
{
    enum { FRAMES = 640 };
    s->desc.done.wait = crawl;
    stage_make(s, NULL);
    for (int i = 0; i < FRAMES; i++) {
        culv_ring_frame f;
        LIB_OK(culv_ring_acquire(s->ring, P, TEST_FAR_MS * (uint64_t)MS, &f));
        stage_release(s, P, &f);
        LIB_OK(culv_ring_acquire(s->ring, C, TEST_FAR_MS * (uint64_t)MS, &f));
        LIB_OK(culv_ring_release(s->ring, C, &f));
        REQUIRE(f.signal_value - fake_counter(&s->line[C]) <=
                33); /* twice the depth, and this one */
    }
    REQUIRE(s->line[C].waits >= 1 && s->line[C].reads + s->line[C].waits <= FRAMES / 6);
}

/* Without functions of the host's, the order is all there is. */
RING_CASE(bare, 2)
{
    const culv_ring_timeline none = {.name = "frames"};
    s->desc.ready = s->desc.done = none;
    stage_make(s, NULL);
    for (uint64_t i = 0; i < 1000; i++) {
        culv_ring_frame f = stage_turn(s, P);
        REQUIRE_EQ(f.wait_value, i < 2 ? 0 : i - 1);
        f = stage_turn(s, C);
        REQUIRE_EQ(f.wait_value, i + 1);
    }
}
