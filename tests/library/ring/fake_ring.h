/* SPDX-License-Identifier: MIT */
/* What the tests of culv_ring share: timelines in host memory, and a ring of two. */
#ifndef CULVERT_TESTS_FAKE_RING_H_
#define CULVERT_TESTS_FAKE_RING_H_

#include "library.h"

#include <pthread.h>

enum { MS = 1000000 }; /* nanoseconds */
#define P CULV_RING_PRODUCER
#define C CULV_RING_CONSUMER

typedef struct fake_timeline {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t counter;
    uint64_t reads, waits, signals; /* calls of the ring's */
    bool lost;                      /* waits and reads fail as on a lost device */
    /* What reaches a value as soon as the host has signaled it here */
    struct fake_timeline *follower;
} fake_timeline;

void fake_start(fake_timeline *t, uint64_t value);
/* Forward only: a value that is not higher fails the test. */
void fake_signal(fake_timeline *t, uint64_t value);
void fake_set(fake_timeline *t, uint64_t value); /* whatever it was */
uint64_t fake_counter(fake_timeline *t);
uint64_t fake_waits(fake_timeline *t); /* `waits` */
void fake_lose(fake_timeline *t);

typedef struct ring_stage {
    culv_device *device;
    culv_ring *ring;
    fake_timeline line[2]; /* by side */
    culv_ring_desc desc;   /* with all functions; to be changed before stage_make() */
} ring_stage;

/* A device, and timelines at 0. */
void stage_open(ring_stage *s, uint32_t max_depth);
void stage_make(ring_stage *s, const culv_ring_settings *settings);
void stage_close(ring_stage *s);
void stage_reopen(ring_stage *s, uint32_t max_depth);
#define RING_CASE(name, ...)                                                                       \
    TEST_ON_(ring_stage, s, stage_open(s, TEST_FIRST(__VA_ARGS__)), stage_close(s), name,          \
             TEST_REST(__VA_ARGS__))
/* A frame that must be there at once, and its checks. */
culv_ring_frame stage_acquire(ring_stage *s, culv_ring_side side);
/* Signals too, when the frame has a value. */
void stage_release(ring_stage *s, culv_ring_side side, culv_ring_frame *frame);
/* Acquires and releases; returns the frame with its values. */
culv_ring_frame stage_turn(ring_stage *s, culv_ring_side side);
/* A turn for each letter; the last one's frame. P, C: a side's. p, c: its GPU does not signal. */
culv_ring_frame stage_turns(ring_stage *s, const char *turns);
culv_ring_stats stage_stats(const ring_stage *s);

#define REQUIRE_FRAME(f, slot_, number_, wait_, begins_, ends_)                                    \
    do {                                                                                           \
        culv_ring_frame f_ = (f);                                                                  \
        REQUIRE_EQ(f_.slot, (slot_));                                                              \
        REQUIRE_EQ(f_.number, (number_));                                                          \
        REQUIRE_EQ(f_.wait_value, (wait_));                                                        \
        REQUIRE_EQ(f_.burst_begins, (begins_));                                                    \
        REQUIRE_EQ(f_.burst_ends, (ends_));                                                        \
    } while (0)

#endif
