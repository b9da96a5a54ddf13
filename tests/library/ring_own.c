/* culv_ring from inside: what max_latency chooses, by a clock of the test's; allocations; what a turn takes.
 * SPDX-License-Identifier: MIT */
#include "fake_ring.h"
#include "ring.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

extern _Atomic long culvi_alloc_count;

/* A GPU: a frame's work, and what the switches of a burst take, spread over the frames on their way. */
typedef struct gpu {
    double work, switches;
    uint64_t seed, now;
} gpu;

static double frame_time(const gpu *g, uint32_t level)
{
    return g->work + g->switches / culvi_ring_level_flight(level);
}

static double latency(const gpu *g, uint32_t level)
{
    return frame_time(g, level) * culvi_ring_level_flight(level);
}

static void run(culvi_ring_auto *a, gpu *g, int bursts)
{
    for (int i = 0; i < bursts; i++) {
        uint32_t k = culvi_ring_level_burst(a->level);
        double ns = frame_time(g, a->level) * k;
        g->seed = g->seed * 6364136223846793005u + 1442695040888963407u;
        ns *= 0.98 + 0.04 * (double)(g->seed >> 40) / (1 << 24); /* a little noise */
        if (i % 2 == 0) ns *= 1.3;                               /* and every other one longer */
        if (i % 2 == 1) ns *= 0.7;
        if (i % 50 == 49) ns += 200e6; /* a pause now and then */
        g->now += (uint64_t)ns;
        culvi_ring_auto_begin(a, g->now, k);
    }
}

static uint32_t best_level(const gpu *g, const culvi_ring_auto *a)
{
    uint32_t best = 0;
    for (uint32_t level = 0; level <= a->top; level++)
        if (latency(g, level) <= (double)a->bound) best = level;
    return best;
}

static void require_good(const char *what, const gpu *g, const culvi_ring_auto *a)
{
    uint32_t best = best_level(g, a);
    if (a->level > 0 && latency(g, a->level) > 1.03 * (double)a->bound)
        FAIL("%s: level %u has a latency of %.0f ns, the bound is %.0f", what, (unsigned)a->level,
             latency(g, a->level), (double)a->bound);
    /* Noise may cost a step where the best one is within 3% of the bound. */
    if (best > 0 && latency(g, best) > 0.97 * (double)a->bound) best--;
    if (frame_time(g, a->level) > 1.03 * frame_time(g, best))
        FAIL("%s: level %u takes %.0f ns a frame, level %u would take %.0f within %.0f", what,
             (unsigned)a->level, frame_time(g, a->level), (unsigned)best, frame_time(g, best),
             (double)a->bound);
    double measured = (double)a->frame_time / frame_time(g, a->level);
    if (measured < 0.95 || measured > 1.05) FAIL("%s: a frame measured as %.3f of it", what, measured);
}

static void chooses(void)
{
    static const uint32_t depths[] = {1, 2, 4, 8, 16, 64};
    for (size_t d = 0; d < sizeof depths / sizeof depths[0]; d++)
        for (double bound = 300e3; bound < 60e6; bound *= 1.17)
            for (uint32_t start = 0; start < 3; start++) {
                char what[128];
                /* As an H200 has it: 110 us and 177 us a frame, 450 us in all with two on their way. */
                gpu g = {.work = 287e3, .switches = 326e3, .seed = d + 1, .now = 5};
                culvi_ring_auto a;
                uint32_t burst = start == 0 ? 1 : start == 1 ? depths[d] : (depths[d] + 1) / 2;
                culvi_ring_auto_start(&a, (uint64_t)bound, depths[d], depths[d], burst);
                run(&a, &g, 400);
                snprintf(what, sizeof what, "depth %u, bound %.0f, begun with %u", (unsigned)depths[d], bound,
                         (unsigned)burst);
                require_good(what, &g, &a);
            }
}

/* It stays where it is; and goes elsewhere when the work changes. */
static void adapts(void)
{
    gpu g = {.work = 287e3, .switches = 326e3, .seed = 9, .now = 5};
    culvi_ring_auto a;
    culvi_ring_auto_start(&a, 6000000, 16, 16, 1);
    run(&a, &g, 400);
    require_good("first", &g, &a);
    uint32_t level = a.level;
    for (int i = 0; i < 200; i++) {
        run(&a, &g, 10);
        REQUIRE_EQ(a.level, level);
    }
    g.work = 1200e3;
    run(&a, &g, 400);
    require_good("slower", &g, &a);
    REQUIRE(a.level < level);
    g.work = 60e3;
    run(&a, &g, 400);
    require_good("faster", &g, &a);
    REQUIRE_EQ(a.level, 16);
    g.work = 10e6; /* nothing fits: the least */
    run(&a, &g, 400);
    REQUIRE_EQ(a.level, 0);
}

static uint64_t fake_now;

static uint64_t now(void)
{
    return fake_now;
}

/* In a ring: depth, burst, and how far the producer goes ahead of the GPU. */
static void in_a_ring(void)
{
    ring_stage s;
    stage_open(&s, 8);
    culv_ring_settings t = culv_ring_settings_init();
    stage_make(&s, &t);
    for (int i = 0; i < 1000; i++) { /* it may begin at any time */
        (void)stage_turn(&s, P);
        (void)stage_turn(&s, C);
    }
    t.max_latency = 6000000;
    LIB_OK(culv_ring_configure(s.ring, &t));
    s.ring->now = now;
    fake_now = 1000;
    uint64_t reads = 0;
    for (int burst = 0; burst < 300; burst++) {
        uint32_t length = stage_stats(&s).burst, flight = culvi_ring_level_flight(s.ring->automatic.level);
        uint64_t first = stage_stats(&s).produced;
        for (bool over = false; !over;) {
            culv_ring_frame f;
            culv_result result = culv_ring_acquire(s.ring, P, 0, &f);
            if (result == CULV_ERROR_TIMEOUT) { /* the GPU does a burst more */
                fake_signal(&s.line[C], fake_counter(&s.line[C]) + 1);
                continue;
            }
            LIB_OK(result);
            if (f.burst_begins) /* frames on their way, with this burst's: as the choice says */
                REQUIRE(f.number + length - s.ring->side[C].past[fake_counter(&s.line[C]) % 256].through <=
                        flight);
            stage_release(&s, P, &f);
            over = f.burst_ends;
        }
        REQUIRE_EQ(stage_stats(&s).produced - first, length);
        fake_now += (uint64_t)((287e3 + 326e3 / flight) * length);
        uint64_t value = 0;
        for (uint32_t i = 0; i < length; i++) {
            culv_ring_frame f = stage_acquire(&s, C);
            LIB_OK(culv_ring_release(s.ring, C, &f));
            value = f.signal_value;
        }
        REQUIRE(value != 0);
        reads = s.line[C].reads;
    }
    culv_ring_stats stats = stage_stats(&s);
    REQUIRE(reads > 0);
    REQUIRE_EQ(stats.burst, 8); /* 16 frames of 307 us */
    REQUIRE_EQ(stats.depth, 8);
    REQUIRE(stats.frame_time > 300000 && stats.frame_time < 315000);
    t.max_latency = 0; /* back to what the settings say */
    t.burst = 2;
    LIB_OK(culv_ring_configure(s.ring, &t));
    stats = stage_stats(&s);
    REQUIRE_EQ(stats.burst, 2);
    REQUIRE_EQ(stats.frame_time, 0);
    stage_close(&s);
}

static double thread_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* No turn allocates; and what it takes. */
static void turns(void)
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
                if (culv_ring_acquire(s.ring, (culv_ring_side)side, 0, &f) != CULV_OK) FAIL("no frame");
                if (culv_ring_release(s.ring, (culv_ring_side)side, &f) != CULV_OK) FAIL("not released");
                if (policy == 1) fake_signal(&s.line[side], f.signal_value);
            }
        }
        double ns = (thread_ns() - start) / (2.0 * TURNS);
        REQUIRE_EQ(atomic_load(&culvi_alloc_count), before);
        if (policy == 0) MEASURED("ring_turn_ns", "%.0f (acquire and release of one side)", ns);
        stage_close(&s);
    }
}

/* What making one takes may fail. */
static void out_of_memory(void)
{
    extern _Atomic long culvi_alloc_countdown;
    ring_stage s;
    culv_ring *out;
    stage_open(&s, 4);
    atomic_store(&culvi_alloc_countdown, 1);
    LIB_REFUSES(culv_ring, out, culv_ring_create(s.device, &s.desc, &out), CULV_ERROR_OUT_OF_MEMORY,
                CULV_REASON_HOST_MEMORY);
    atomic_store(&culvi_alloc_countdown, 0);
    stage_make(&s, NULL);
    stage_close(&s);
}

static const test_case cases[] = {
    {.name = "auto.chooses", .run = chooses},        {.name = "auto.adapts", .run = adapts},
    {.name = "auto.in_a_ring", .run = in_a_ring},    {.name = "turns", .run = turns},
    {.name = "out_of_memory", .run = out_of_memory}, {.name = NULL},
};
TEST_SUITE(cases);
