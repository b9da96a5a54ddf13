/* SPDX-License-Identifier: MIT */
/* culv_ring from inside: that no turn allocates, and what it chooses. */
#include "cuda/device.h"
#include "fake_ring.h"
#include "library.h"
#include "ring/ring.h"

#include <stdatomic.h>

enum { SCENE_FRAMES = 40000, SCENE_DEPTH = 32 };

/* Times in nanoseconds. */
typedef struct scene {
    double work[2], change; /* a frame's on a side; from side to side */
    double host, wake;      /* a call; how late the host wakes, on average */
    double noise;           /* of work, and ten times that of changes */
    uint64_t timeout;       /* of acquires: 0, the host asks again and again */
    bool flushes;           /* each frame is handed over by itself */
    /* The counter of `ready` shows what it was at a multiple of this; 0: it is right */
    double stale;
    uint64_t seed;
    double now, engine;
    int last;                   /* on the engine */
    double at[2][SCENE_FRAMES]; /* when a timeline's values are reached */
    uint64_t values[2];         /* submitted */
    double begun[SCENE_FRAMES], ended[SCENE_FRAMES];
    uint32_t first[2], count[2]; /* of each side's burst */
    uint64_t wait[2];
    culv_ring *ring;
    uint32_t changes; /* of depth or burst */
} scene;

typedef struct scene_load {
    double solver, renderer, change; /* microseconds */
} scene_load;

typedef struct scene_line {
    int side;
} scene_line;

typedef struct opened {
    ring_stage rs;
    scene_line lines[2];
} opened;

extern _Atomic long culvi_alloc_count;
static scene *stage; /* whose clock it is: one at a time */

static uint64_t scene_now(void)
{
    return (uint64_t)stage->now + 1;
}

static double chance(scene *s)
{
    s->seed = s->seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(s->seed >> 40) / (1 << 24);
}

/* A timer is late, too. */
static void scene_nap(culv_ring *ring, uint64_t ns)
{
    stage->now += (double)ns + 55e3 + stage->wake * chance(stage);
}

/* About 1. */
static double wobble(scene *s, double much)
{
    return 1.0 + much * (chance(s) + chance(s) - 1.0);
}

static culv_result value_of(void *context, uint64_t *out)
{
    const scene_line *l = context;
    stage->now += stage->host;
    double now = stage->now;
    if (l->side == P && stage->stale > 0)
        now = stage->stale * (double)(uint64_t)(now / stage->stale);
    *out = 0;
    for (uint64_t v = stage->values[l->side]; v > 0 && *out == 0; v--)
        if (stage->at[l->side][v] <= now) *out = v;
    return CULV_OK;
}

static culv_result wait_for(void *context, uint64_t value, uint64_t timeout)
{
    const scene_line *l = context;
    stage->now += stage->host;
    REQUIRE(value <= stage->values[l->side]); /* or it would wait for ever */
    if (stage->at[l->side][value] <= stage->now) return CULV_OK;
    if (timeout == 0) {
        culv_error error = culv_error_init();
        error.result = CULV_ERROR_TIMEOUT;
        error.reason = CULV_REASON_RING_LATE;
        return culv_last_error_set(&error);
    }
    /* Now and then something else runs. */
    const double late = stage->wake * (0.5 + chance(stage)) * (chance(stage) < 0.02 ? 6.0 : 1.0);
    stage->now = stage->at[l->side][value] + late;
    return CULV_OK;
}

/* A side's burst is submitted: the GPU does it when its turn comes. */
static void submit(scene *s, int side, uint64_t value)
{
    double t = s->engine > s->now ? s->engine : s->now;
    if (s->wait[side] != 0 && s->at[1 - side][s->wait[side]] > t)
        t = s->at[1 - side][s->wait[side]];
    if (s->last != side) t += s->change * wobble(s, 10 * s->noise);
    s->last = side;
    for (uint32_t i = 0; i < s->count[side]; i++) {
        uint32_t n = s->first[side] + i;
        REQUIRE(n < SCENE_FRAMES);
        if (side == P) s->begun[n] = t;
        t += s->work[side] * wobble(s, s->noise);
        if (side == C) s->ended[n] = t;
    }
    s->engine = t;
    REQUIRE_EQ(value, s->values[side] + 1);
    s->values[side] = value;
    s->at[side][value] = t;
    s->count[side] = 0;
}

static void flush(scene *s, int side)
{
    uint64_t value = 0;
    LIB_OK(culv_ring_flush(s->ring, (culv_ring_side)side, &value));
    if (value != 0) submit(s, side, value);
}

/* Returns whether a burst ended with it. */
static bool turn(scene *s, int side)
{
    culv_ring_frame f;
    culv_result result;
    while ((result = culv_ring_acquire(s->ring, (culv_ring_side)side, s->timeout, &f)) != CULV_OK) {
        REQUIRE(s->timeout == 0 && result == CULV_ERROR_TIMEOUT);
        s->now += 25e3;
    }
    if (s->count[side]++ == 0) {
        s->first[side] = (uint32_t)f.number;
        s->wait[side] = f.wait_value;
    }
    s->now += s->host;
    LIB_OK(culv_ring_release(s->ring, (culv_ring_side)side, &f));
    if (f.signal_value != 0) submit(s, side, f.signal_value);
    if (s->flushes) flush(s, side);
    return f.signal_value != 0 || s->flushes;
}

/* One thread: a burst of the producer's, a burst of the consumer's. Returns the number of the next
 * frame. */
static uint32_t run_scene(scene *s, uint32_t from, uint32_t frames)
{
    uint32_t n = from;
    const long allocated = atomic_load(&culvi_alloc_count);
    while (n < from + frames) {
        const uint32_t depth = s->ring->depth, burst = s->ring->burst;
        uint32_t drawn = n;
        bool over = false;
        while (!over && n < from + frames) {
            over = turn(s, P);
            n++;
        }
        if (!over) flush(s, P);
        for (; drawn < n; drawn++)
            (void)turn(s, C);
        flush(s, C);
        culv_ring_stats now = culv_ring_stats_init();
        LIB_OK(culv_ring_get_stats(s->ring, &now));
        REQUIRE(now.burst <= now.depth); /* also between two levels */
        s->changes += s->ring->depth != depth || s->ring->burst != burst;
    }
    REQUIRE_EQ(atomic_load(&culvi_alloc_count), allocated); /* no turn allocates */
    return n;
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double age_p99(const scene *s, uint32_t from, uint32_t to)
{
    static double ages[SCENE_FRAMES];
    for (uint32_t n = from; n < to; n++)
        ages[n - from] = s->ended[n] - s->begun[n];
    qsort(ages, to - from, sizeof ages[0], by_size);
    return ages[(to - from) * 99 / 100];
}

static double frame_time(const scene *s, uint32_t from, uint32_t to)
{
    return (s->ended[to - 1] - s->ended[from - 1]) / (to - from);
}

static void set_load(scene *s, const scene_load *l)
{
    s->work[P] = l->solver * 1e3;
    s->work[C] = l->renderer * 1e3;
    s->change = l->change * 1e3;
}

static void begin_scene(scene *s, const scene_load *l, uint64_t seed)
{
    memset(s, 0, sizeof *s);
    set_load(s, l);
    s->host = 2e3;
    s->wake = 12e3;
    s->noise = 0.01;
    s->seed = seed;
    s->timeout = CULV_RING_FOREVER;
}

#undef TEST_GROUP
#define TEST_GROUP "auto."
/* max_latency: what it chooses on a GPU that is simulated. */

enum { SETTLES = 1200, COUNTED = 2000 };

/* A ring of SCENE_DEPTH slots; without a bound of `burst` slots. The clock is the scene's until
 * another one is opened. */
static void open_scene(opened *o, scene *s, uint64_t bound, uint32_t burst)
{
    culv_ring_settings t = culv_ring_settings_init();
    t.max_latency = bound;
    t.burst = burst;
    if (bound == 0) t.depth = burst;
    stage_open(&o->rs, SCENE_DEPTH);
    for (int i = 0; i < 2; i++)
        o->lines[i].side = i;
    const culv_ring_timeline functions = {.value = value_of, .wait = wait_for};
    o->rs.desc.ready = o->rs.desc.done = functions;
    o->rs.desc.ready.context = &o->lines[P];
    o->rs.desc.done.context = &o->lines[C];
    stage_make(&o->rs, &t);
    s->ring = o->rs.ring;
    s->ring->now = scene_now;
    s->ring->nap = scene_nap;
    s->last = C;
    stage = s;
}

/* A frame of each fixed depth = burst. */
typedef struct fixed {
    double time[SCENE_DEPTH + 1], p99[SCENE_DEPTH + 1];
} fixed;

static void measure_fixed(const scene_load *l, fixed *out)
{
    static scene s;
    for (uint32_t k = 1; k <= SCENE_DEPTH; k++) {
        opened o;
        begin_scene(&s, l, 77);
        open_scene(&o, &s, 0, k);
        const uint32_t to = run_scene(&s, 0, 20 * k);
        out->time[k] = frame_time(&s, 4 * k, to);
        out->p99[k] = age_p99(&s, 4 * k, to);
        stage_close(&o.rs);
    }
}

static void require_kept(const char *what, const scene *s, double bound, uint32_t from, uint32_t to)
{
    double p99 = age_p99(s, from, to);
    if (s->ring->automatic.level > 1 && p99 > bound)
        FAIL("%s, within %.0f ns: with %u, 99 %% of the frames are within %.0f", what, bound,
             (unsigned)s->ring->automatic.level, p99);
}

/* Within 3 % of the fastest fixed one that is within the bound, or of one slot where none is. */
static void require_fast(const char *what, const scene *s, const fixed *f, double bound,
                         uint32_t from, uint32_t to)
{
    const double ns = frame_time(s, from, to);
    uint32_t best = 1;
    for (uint32_t k = 1; k <= SCENE_DEPTH; k++)
        if (f->p99[k] <= bound && f->time[k] < f->time[best]) best = k;
    if (ns > 1.03 * f->time[best])
        FAIL("%s, within %.0f ns: %u frames take %.0f ns each, %u would take %.0f", what, bound,
             (unsigned)s->ring->automatic.level, ns, (unsigned)best, f->time[best]);
}

/* The loads that an H200 was measured with, and others, from several beginnings: once it has
 * chosen, that is it. */
TEST(chooses)
{
    static const scene_load loads[] = {
        {111, 158, 160}, {20, 500, 160}, {500, 160, 160}, {2000, 2000, 160}, {111, 158, 0}};
    static const double bounds[] = {1e6, 2.3e6, 4.1e6, 8e6, 16e6};
    static const uint32_t begins[] = {1, 1, 8, 32};
    static scene s;
    fixed f;
    for (size_t k = 0; k < sizeof loads / sizeof loads[0]; k++) {
        measure_fixed(&loads[k], &f);
        for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++)
            for (uint32_t begin = 0; begin < sizeof begins / sizeof begins[0]; begin++) {
                opened o;
                char what[96];
                snprintf(what, sizeof what, "%.0f and %.0f us, %.0f to change, begun with %u",
                         loads[k].solver, loads[k].renderer, loads[k].change,
                         (unsigned)begins[begin]);
                begin_scene(&s, &loads[k], begin + 1);
                open_scene(&o, &s, (uint64_t)bounds[i], begins[begin]);
                uint32_t from = run_scene(&s, 0, SETTLES), changes = s.changes;
                s.now = s.engine + 1e6; /* a pause */
                uint32_t to = run_scene(&s, from, COUNTED);
                REQUIRE_EQ(s.changes, changes);
                require_kept(what, &s, bounds[i], from, to);
                require_fast(what, &s, &f, bounds[i], from, to);
                const double measured =
                    (double)stage_stats(&o.rs).frame_time / frame_time(&s, from, to);
                if (measured < 0.97 || measured > 1.03)
                    FAIL("%s: a frame is measured as %.3f of it", what, measured);
                stage_close(&o.rs);
            }
    }
}

/* It goes elsewhere when the work changes. */
TEST(adapts)
{
    static const scene_load loads[] = {
        {111, 158, 160}, {500, 700, 160}, {30, 40, 160}, {111, 158, 160}, {111, 158, 20}};
    static scene s;
    opened o;
    fixed f[sizeof loads / sizeof loads[0]];
    for (size_t i = 0; i < sizeof loads / sizeof loads[0]; i++)
        measure_fixed(&loads[i], &f[i]);
    begin_scene(&s, &loads[0], 9);
    open_scene(&o, &s, 4000000, 1);
    uint32_t n = 0;
    for (size_t i = 0; i < sizeof loads / sizeof loads[0]; i++) {
        set_load(&s, &loads[i]);
        uint32_t from = run_scene(&s, n, SETTLES);
        n = run_scene(&s, from, COUNTED);
        require_kept("changed", &s, 4e6, from, n);
        require_fast("changed", &s, &f[i], 4e6, from, n);
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
            open_scene(&o, &s, (uint64_t)bounds[i], 1);
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
    open_scene(&o, &s, 40 * MS, 1);
    longest_nap = 0;
    s.ring->nap = nap_and_note;
    (void)run_scene(&s, 0, 400);
    REQUIRE(longest_nap > 0 && longest_nap <= s.timeout);
    stage_close(&o.rs);
}
