/* SPDX-License-Identifier: MIT */
/* max_latency: what it chooses on a GPU that is simulated. */
#define TEST_GROUP "auto."
#include "scene.h"

enum { SETTLES = 1200, COUNTED = 2000 };

static void open_bound(opened *o, scene *s, uint64_t bound, uint32_t burst)
{
    culv_ring_settings t = culv_ring_settings_init();
    t.max_latency = bound;
    t.burst = burst;
    if (bound == 0) t.depth = burst;
    open_scene(o, s, &t);
}

/* The fastest fixed depth = burst whose frames are within the bound; 1 where none is. */
static uint32_t best_fixed(const scene_load *l, double bound, double time[SCENE_DEPTH + 1])
{
    static scene s;
    uint32_t best = 1;
    for (uint32_t k = 1; k <= SCENE_DEPTH; k++) {
        opened o;
        begin_scene(&s, l, 77);
        open_bound(&o, &s, 0, k);
        uint32_t to = run_scene(&s, 0, 20 * k);
        time[k] = frame_time(&s, 4 * k, to);
        if (age_p99(&s, 4 * k, to) <= bound && time[k] < time[best]) best = k;
        stage_close(&o.rs);
    }
    return best;
}

static void require_kept(const char *what, const scene *s, double bound, uint32_t from, uint32_t to)
{
    double p99 = age_p99(s, from, to);
    if (s->ring->automatic.level > 1 && p99 > bound)
        FAIL("%s, within %.0f ns: with %u, 99 %% of the frames are within %.0f", what, bound,
             (unsigned)s->ring->automatic.level, p99);
}

/* Within 3 % of the best fixed one, which may have to keep a smaller bound. */
static void require_fast(const char *what, scene *s, const scene_load *l, double bound,
                         uint32_t from, uint32_t to)
{
    double time[SCENE_DEPTH + 1], ns = frame_time(s, from, to);
    uint32_t best = best_fixed(l, bound, time);
    scene_enter(s);
    if (ns > 1.03 * time[best])
        FAIL("%s, within %.0f ns: %u frames take %.0f ns each, %u would take %.0f", what, bound,
             (unsigned)s->ring->automatic.level, ns, (unsigned)best, time[best]);
}

/* The loads that an H200 was measured with, and others, from several beginnings: once it has
 * chosen, that is it. */
TEST(chooses)
{
    static const scene_load loads[] = {
        {111, 158, 160}, {20, 500, 160}, {500, 160, 160}, {2000, 2000, 160}, {111, 158, 0}};
    static const double bounds[] = {1e6, 2e6, 4e6, 8e6, 16e6};
    static const uint32_t begins[] = {1, 1, 8, 32};
    static scene s;
    for (size_t k = 0; k < sizeof loads / sizeof loads[0]; k++)
        for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++)
            for (uint32_t begin = 0; begin < sizeof begins / sizeof begins[0]; begin++) {
                opened o;
                char what[96];
                snprintf(what, sizeof what, "%.0f and %.0f us, %.0f to change, begun with %u",
                         loads[k].solver, loads[k].renderer, loads[k].change,
                         (unsigned)begins[begin]);
                begin_scene(&s, &loads[k], begin + 1);
                open_bound(&o, &s, (uint64_t)bounds[i], begins[begin]);
                uint32_t from = run_scene(&s, 0, SETTLES), changes = s.changes;
                s.now = s.engine + 1e6; /* a pause */
                uint32_t to = run_scene(&s, from, COUNTED);
                REQUIRE_EQ(s.changes, changes);
                require_kept(what, &s, bounds[i], from, to);
                require_fast(what, &s, &loads[k], bounds[i], from, to);
                double measured = (double)stage_stats(&o.rs).frame_time / frame_time(&s, from, to);
                if (measured < 0.97 || measured > 1.03)
                    FAIL("%s: a frame is measured as %.3f of it", what, measured);
                stage_close(&o.rs);
            }
}

/* Any bound, and a host that wakes later. */
TEST(any_bound)
{
    static const scene_load l = {111, 158, 160};
    static scene s;
    for (double bound = 400e3; bound < 12e6; bound *= 1.07) {
        opened o;
        begin_scene(&s, &l, (uint64_t)bound);
        s.wake = 30e3;
        open_bound(&o, &s, (uint64_t)bound, 1);
        uint32_t from = run_scene(&s, 0, SETTLES), to = run_scene(&s, from, COUNTED);
        require_kept("any bound", &s, bound, from, to);
        require_fast("any bound", &s, &l, 0.9 * bound, from, to);
        stage_close(&o.rs);
    }
}

/* It goes elsewhere when the work changes. */
TEST(adapts)
{
    static const scene_load loads[] = {
        {111, 158, 160}, {500, 700, 160}, {30, 40, 160}, {111, 158, 160}, {111, 158, 20}};
    static scene s;
    opened o;
    begin_scene(&s, &loads[0], 9);
    open_bound(&o, &s, 4000000, 1);
    uint32_t n = 0;
    for (size_t i = 0; i < sizeof loads / sizeof loads[0]; i++) {
        set_load(&s, &loads[i]);
        uint32_t from = run_scene(&s, n, SETTLES);
        n = run_scene(&s, from, COUNTED);
        require_kept("changed", &s, 4e6, from, n);
        require_fast("changed", &s, &loads[i], 4e6, from, n);
    }
    const scene_load slow = {9000, 9000, 160}; /* nothing fits: the least */
    set_load(&s, &slow);
    (void)run_scene(&s, n, SETTLES);
    REQUIRE_EQ(s.ring->automatic.level, 1);
    stage_close(&o.rs);
}

/* What the ring cannot see it takes for the worst: a host that is slower than the GPU, one that
 * asks again and again instead of waiting, one that hands each frame over by itself, a driver whose
 * counter is late. */
TEST(keeps)
{
    static const char *const ways[] = {"a slow host", "a host that asks", "a host that flushes",
                                       "a late counter"};
    static const double bounds[] = {1e6, 4e6, 16e6};
    static const scene_load l = {111, 158, 160};
    static scene s;
    for (int way = 0; way < 4; way++)
        for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
            opened o;
            begin_scene(&s, &l, 5);
            if (way == 0) s.host = 400e3;
            if (way == 1) s.timeout = 0;
            s.flushes = way == 2;
            if (way == 3) s.stale = 10e6;
            open_bound(&o, &s, (uint64_t)bounds[i], 1);
            uint32_t from = run_scene(&s, 0, SETTLES), to = run_scene(&s, from, COUNTED);
            require_kept(ways[way], &s, bounds[i], from, to);
            if (way == 3 && frame_time(&s, from, to) > 700e3)
                FAIL("the GPU waits for a late counter");
            if (bounds[i] > 10e6 && s.ring->automatic.level < 4)
                FAIL("%s: %u within %.0f ns", ways[way], (unsigned)s.ring->automatic.level,
                     bounds[i]);
            stage_close(&o.rs);
        }
}

static uint64_t longest_nap;

static void nap_and_note(culv_ring *ring, uint64_t ns)
{
    if (ns > longest_nap) longest_nap = ns;
    scene_nap(ring, ns);
}

/* However long the producer's half of a burst takes, nobody sleeps for longer than its acquire may
 * wait. */
TEST(naps)
{
    static const scene_load l = {4000, 200, 160};
    static scene s;
    opened o;
    begin_scene(&s, &l, 5);
    s.timeout = 2 * MS;
    open_bound(&o, &s, 40 * MS, 1);
    longest_nap = 0;
    s.ring->nap = nap_and_note;
    (void)run_scene(&s, 0, 400);
    REQUIRE(longest_nap > 0 && longest_nap <= s.timeout);
    stage_close(&o.rs);
}

/* Settings without a bound again: what they say. */
TEST(ends)
{
    static const scene_load l = {111, 158, 160};
    static scene s;
    opened o;
    begin_scene(&s, &l, 3);
    open_bound(&o, &s, 2000000, 1);
    (void)run_scene(&s, 0, SETTLES);
    culv_ring_stats stats = stage_stats(&o.rs);
    REQUIRE_EQ(stats.burst, stats.depth);
    REQUIRE(stats.burst >= 9 && stats.burst <= 11 && stats.frame_time != 0);
    culv_ring_settings t = culv_ring_settings_init();
    t.burst = 2;
    LIB_OK(culv_ring_configure(o.rs.ring, &t));
    stats = stage_stats(&o.rs);
    REQUIRE_EQ(stats.burst, 2);
    REQUIRE_EQ(stats.frame_time, 0);
    stage_close(&o.rs);
}
