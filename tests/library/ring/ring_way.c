/* SPDX-License-Identifier: MIT */
/* CULV_RING_WAY_AUTO: what it chooses on a GPU that is simulated, against every fixed way. */
#define TEST_GROUP "way."
#include "cuda/device.h"
#include "scene.h"

enum { MOST_BURST = 8, TUNED = 64 };

static const double SEARCH_NS = 1500e6;

/* Waits on the GPU are late, and long work suffers when both sides can run at once. `back`: from
 * Vulkan to CUDA. */
static void begin_late(scene *s, const scene_load *l, uint64_t seed, bool back)
{
    begin_scene(s, l, seed);
    s->signal = 60e3;
    s->slicing = 0.04;
    s->back = back;
    s->naps = true;
}

static culv_ring_settings automatic(uint32_t slots, uint32_t burst)
{
    culv_ring_settings t = culv_ring_settings_init();
    t.way = CULV_RING_WAY_AUTO;
    t.depth = slots;
    t.burst = burst;
    return t;
}

/* Frames for about so long. */
static uint32_t run_for(scene *s, uint32_t from, double ns)
{
    const double until = s->now + ns;
    while (s->now < until)
        from = run_scene(s, from, 16);
    return from;
}

/* The time of a frame that a fixed way takes. */
static double fixed(const scene_load *l, bool back, uint32_t depth, uint32_t burst,
                    culv_ring_waits waits)
{
    static scene s;
    opened o;
    culv_ring_settings t = culv_ring_settings_init();
    t.depth = depth;
    t.burst = burst;
    t.cuda_waits = waits;
    begin_late(&s, l, 7, back);
    open_scene(&o, &s, &t);
    const uint32_t from = run_scene(&s, 0, TUNED), to = run_scene(&s, from, 4 * TUNED);
    const double ns = frame_time(&s, from, to);
    stage_close(&o.rs);
    return ns;
}

/* The fastest of the fixed ways that AUTO may take; with a bound, of those whose frames are that
 * young. */
static double fastest(const scene_load *l, bool back, uint32_t slots, uint32_t burst, double bound)
{
    double best = fixed(l, back, 1, 1, CULV_RING_WAITS_QUEUED);
    for (uint32_t depth = 1; depth <= slots; depth++)
        for (uint32_t b = 1; b <= burst && b <= depth; b *= 2)
            for (int waits = CULV_RING_WAITS_QUEUED; waits <= CULV_RING_WAITS_SIGNAL_FIRST;
                 waits++) {
                const double ns = fixed(l, back, depth, b, (culv_ring_waits)waits);
                if (ns < best && (bound == 0 || depth * ns <= bound)) best = ns;
            }
    return best;
}

static const scene_load loads[] = {{100, 100, 160},    {20, 500, 160},     {500, 20, 160},
                                   {1000, 1000, 160},  {5000, 5000, 160},  {20000, 20000, 160},
                                   {1000, 20000, 160}, {20000, 1000, 160}, {100, 100, 0}};

/* 1.5 s, or as many frames as the tries take. */
static double search_time(const scene_load *l)
{
    return SEARCH_NS + 160 * (l->solver + l->renderer) * 1e3;
}

static const char *to_of(bool back)
{
    return back ? "Vulkan to CUDA, " : "";
}

/* Within 3 % of the best fixed way, and it stays there. */
static void chooses_in(bool back)
{
    static const struct {
        uint32_t slots, burst;
    } rings[] = {{1, 1}, {2, 1}, {3, 1}, {6, 1}, {8, MOST_BURST}};
    static scene s;
    for (size_t k = 0; k < sizeof loads / sizeof loads[0]; k++)
        for (size_t i = 0; i < sizeof rings / sizeof rings[0]; i++) {
            opened o;
            const culv_ring_settings t = automatic(rings[i].slots, rings[i].burst);
            begin_late(&s, &loads[k], k + 1, back);
            open_scene(&o, &s, &t);
            REQUIRE_EQ(stage_stats(&o.rs).tries, 1);
            const uint32_t from = run_for(&s, 0, search_time(&loads[k]));
            culv_ring_stats stats = stage_stats(&o.rs);
            REQUIRE_EQ(stats.tries, 0);
            const uint32_t changes = s.changes, to = run_scene(&s, from, 8 * TUNED);
            REQUIRE_EQ(s.changes, changes);
            const double ns = frame_time(&s, from, to);
            const double measured = (double)stats.frame_time / ns;
            if (measured < 0.97 || measured > 1.03)
                FAIL("%s%.0f and %.0f us: a frame is measured as %.3f of it", to_of(back),
                     loads[k].solver, loads[k].renderer, measured);
            const double best = fastest(&loads[k], back, rings[i].slots, rings[i].burst, 0);
            scene_enter(&s);
            if (ns > 1.03 * best)
                FAIL(
                    "%s%.0f and %.0f us, %u slots: %.0f ns with %u slots in bursts of %u, %.0f would do",
                    to_of(back), loads[k].solver, loads[k].renderer, (unsigned)rings[i].slots, ns,
                    (unsigned)stats.depth, (unsigned)stats.burst, best);
            stage_close(&o.rs);
        }
}

TEST_AS(chooses, chooses_in(false))
TEST_AS(chooses_back, chooses_in(true))

/* Frames are within the bound, and within 3 % of the best fixed way that keeps a slightly smaller
 * one. */
static void bound_in(bool back)
{
    static const double bounds[] = {1e6, 2e6, 5e6, 30e6, 100e6};
    static scene s;
    for (size_t k = 0; k < sizeof loads / sizeof loads[0]; k++)
        for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
            opened o;
            culv_ring_settings t = automatic(8, MOST_BURST);
            t.max_latency = (uint64_t)bounds[i];
            begin_late(&s, &loads[k], k + 1, back);
            open_scene(&o, &s, &t);
            const uint32_t from = run_for(&s, 0, search_time(&loads[k]));
            const culv_ring_stats stats = stage_stats(&o.rs);
            REQUIRE_EQ(stats.tries, 0);
            const uint32_t to = run_scene(&s, from, 8 * TUNED);
            const double ns = frame_time(&s, from, to), p99 = age_p99(&s, from, to);
            if (stats.depth > 1 && p99 > 1.03 * bounds[i])
                FAIL("%s%.0f and %.0f us within %.0f ns: %.0f", to_of(back), loads[k].solver,
                     loads[k].renderer, bounds[i], p99);
            const double best = fastest(&loads[k], back, 8, MOST_BURST, 0.95 * bounds[i]);
            scene_enter(&s);
            if (ns > 1.03 * best)
                FAIL(
                    "%s%.0f and %.0f us within %.0f ns: %.0f ns with %u slots in bursts of %u, %.0f would do",
                    to_of(back), loads[k].solver, loads[k].renderer, bounds[i], ns,
                    (unsigned)stats.depth, (unsigned)stats.burst, best);
            stage_close(&o.rs);
        }
}

TEST_AS(bound, bound_in(false))
TEST_AS(bound_back, bound_in(true))

/* It tries again when the work changes by half, and not for less. */
TEST(tries_again)
{
    static const scene_load changed[] = {
        {100, 100, 160}, {5000, 5000, 160}, {100, 100, 160}, {20000, 1000, 160}};
    static scene s;
    opened o;
    const culv_ring_settings t = automatic(3, 1);
    begin_late(&s, &changed[0], 3, false);
    open_scene(&o, &s, &t);
    uint32_t n = run_for(&s, 0, SEARCH_NS);
    REQUIRE_EQ(stage_stats(&o.rs).tries, 0);
    for (size_t i = 1; i < sizeof changed / sizeof changed[0]; i++) {
        const scene_load little = {changed[i - 1].solver * 1.2, changed[i - 1].renderer * 1.2, 160};
        uint32_t changes = s.changes;
        set_load(&s, &little);
        n = run_for(&s, n, SEARCH_NS);
        REQUIRE_EQ(s.changes, changes);
        set_load(&s, &changed[i]);
        n = run_for(&s, n, 2 * SEARCH_NS + 100 * (changed[i].solver + changed[i].renderer) * 1e3);
        REQUIRE_EQ(stage_stats(&o.rs).tries, 0);
        const uint32_t to = run_scene(&s, n, 2 * TUNED);
        const double ns = frame_time(&s, n, to), best = fastest(&changed[i], false, 3, 1, 0);
        n = to;
        scene_enter(&s);
        if (ns > 1.03 * best)
            FAIL("changed to %.0f and %.0f us: %.0f ns, %.0f would do", changed[i].solver,
                 changed[i].renderer, ns, best);
    }
    stage_close(&o.rs);
}

/* A program that is always two frames ahead would wait for itself with fewer than three slots: at
 * once where one thread drives both sides, and after a while where two threads take turns. */
TEST(ahead)
{
    static const scene_load l = {5000, 5000, 160};
    static scene s;
    for (int i = 0; i < 4; i++) {
        opened o;
        const culv_ring_settings t = automatic(4, 1);
        begin_late(&s, &l, 3, i >= 2);
        open_scene(&o, &s, &t);
        s.ahead = 2;
        s.apart = i % 2 != 0;
        (void)run_scene(&s, 0, 400);
        const culv_ring_stats stats = stage_stats(&o.rs);
        REQUIRE_EQ(stats.tries, 0);
        REQUIRE(stats.depth >= 3);
        stage_close(&o.rs);
    }
}

static void note_log(void *context, culv_log_level level, const char *message)
{
    char *text = context;
    if (level == CULV_LOG_INFO && strstr(message, " chose ") != NULL)
        snprintf(text, 1024, "%s", message);
}

/* The choice is told with what the others took; what is set says who waits. */
TEST(tells)
{
    static const scene_load l = {100, 100, 160};
    static scene s;
    static char text[1024];
    opened o;
    culv_ring_settings t = automatic(3, 1);
    begin_late(&s, &l, 3, false);
    open_scene(&o, &s, &t);
    o.rs.device->voice.log = (culv_log){.fn = note_log, .user = text, .level = CULV_LOG_INFO};
    uint32_t n = run_for(&s, 0, SEARCH_NS);
    if (strstr(text, "slots: ") == NULL || strstr(text, "the host waits for CUDA: ") == NULL ||
        strstr(text, "1 slot: ") == NULL)
        FAIL("it said \"%s\"", text);
    REQUIRE(strstr(text, "a ring without a label chose ") != NULL);
    t.cuda_waits = CULV_RING_WAITS_SIGNAL_FIRST;
    LIB_OK(culv_ring_configure(o.rs.ring, &t));
    REQUIRE_EQ(stage_stats(&o.rs).tries, 1);
    n = run_for(&s, n, SEARCH_NS);
    culv_ring_stats stats = stage_stats(&o.rs);
    REQUIRE(stats.tries == 0 && stats.cuda_waits == CULV_RING_WAITS_SIGNAL_FIRST);
    t.way = CULV_RING_WAY_AS_SET;
    t.cuda_waits = CULV_RING_WAITS_QUEUED;
    t.depth = 2;
    LIB_OK(culv_ring_configure(o.rs.ring, &t));
    (void)run_scene(&s, n, 4);
    stats = stage_stats(&o.rs);
    REQUIRE(stats.depth == 2 && stats.burst == 1 && stats.frame_time == 0);
    REQUIRE_EQ(stats.cuda_waits, CULV_RING_WAITS_QUEUED);
    stage_close(&o.rs);
}
