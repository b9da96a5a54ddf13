/* SPDX-License-Identifier: MIT */
/* culv_ring from inside: allocations, and what a turn takes. See ring_auto.c and ring_way.c. */
#include "fake_ring.h"
#include "ring/ring.h"

#include <stdatomic.h>
#include <time.h>

extern _Atomic long culvi_alloc_count;

static double thread_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* No turn allocates; and what it takes. */
TEST(turns)
{
    enum { TURNS = 200000 };
    for (int policy = 0; policy < 2; policy++) {
        ring_stage s;
        stage_open(&s, 4);
        culv_ring_settings t = culv_ring_settings_init();
        t.policy = (culv_ring_policy)policy;
        if (policy == 0) { /* the ring alone */
            const culv_ring_timeline none = {.name = NULL};
            s.desc.ready = s.desc.done = none;
        }
        stage_make(&s, &t);
        long before = atomic_load(&culvi_alloc_count);
        double start = thread_ns();
        for (int i = 0; i < TURNS; i++) {
            culv_ring_frame f;
            for (int side = 0; side < 2; side++) {
                if (culv_ring_acquire(s.ring, (culv_ring_side)side, 0, &f) != CULV_OK)
                    FAIL("no frame");
                if (culv_ring_release(s.ring, (culv_ring_side)side, &f) != CULV_OK)
                    FAIL("not released");
                if (policy == 1) fake_signal(&s.line[side], f.signal_value);
            }
        }
        double ns = (thread_ns() - start) / (2.0 * TURNS);
        REQUIRE_EQ(atomic_load(&culvi_alloc_count), before);
        if (policy == 0) MEASURED("ring_turn_ns", "%.0f (acquire and release of one side)", ns);
        stage_close(&s);
    }
}

/* Who chooses sleeps as others do when no slot is left that it may take. */
TEST(chooses_and_sleeps)
{
    ring_stage s;
    culv_ring_frame f;
    culv_ring_settings t = culv_ring_settings_init();
    t.way = CULV_RING_WAY_AUTO;
    t.depth = 1;
    stage_open(&s, 2);
    stage_make(&s, &t);
    (void)stage_turn(&s, P);
    const double start = thread_ns();
    LIB_ERROR(culv_ring_acquire(s.ring, P, UINT64_C(400) * MS, &f), TIMEOUT, RING_FULL);
    const double busy = thread_ns() - start;
    if (busy > 100e6) FAIL("a wait of 400 ms kept the thread busy for %.0f ns", busy);
    stage_close(&s);
}

/* What making one takes may fail. */
RING_CASE(out_of_memory, 4)
{
    extern _Atomic long culvi_alloc_countdown;
    culv_ring *out;
    atomic_store(&culvi_alloc_countdown, 1);
    LIB_REFUSES(out, culv_ring_create(s->device, &s->desc, &out), OUT_OF_MEMORY, HOST_MEMORY);
    atomic_store(&culvi_alloc_countdown, 0);
    stage_make(s, NULL);
}
