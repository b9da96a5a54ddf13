/* SPDX-License-Identifier: MIT */
/* culv_ring from inside: that no turn allocates, and what it chooses. */
#include "cuda/device.h"
#include "fake_ring.h"
#include "library.h"
#include "ring/ring.h"

#include <stdatomic.h>
#include <time.h>

enum { SCENE_FRAMES = 40000, SCENE_DEPTH = 32 };

/* Times in nanoseconds. */
typedef struct scene {
    double work[2], change; /* a frame's on a side; from side to side */
    double host, wake;      /* a call; how late the host wakes, on average */
    double noise;           /* of work, and ten times that of changes */
    uint64_t timeout;       /* of acquires: 0, the host asks again and again */
    bool flushes;           /* each frame is handed over by itself */
    uint32_t ahead;         /* so many frames are produced before the first is consumed */
    /* The counter of `ready` shows what it was at a multiple of this; 0: it is right */
    double stale;
    double signal;  /* from a signal to the start of what waits for it on the GPU */
    double slicing; /* a burst that could begin while the other side ran takes so much longer */
    bool apart;     /* as if another thread drove the consumer's side */
    bool back;      /* CUDA has the consumer's side, Vulkan the producer's */
    bool naps;      /* the host looks for CUDA's signals, as host_wait.c does */
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

static double chance(scene *s);

/* A timer is late, too. */
static void scene_nap(culv_ring *ring, uint64_t ns)
{
    stage->now += (double)ns + 55e3 + stage->wake * chance(stage);
}

static double chance(scene *s)
{
    s->seed = s->seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(s->seed >> 40) / (1 << 24);
}

/* About 1. */
static double wobble(scene *s, double much)
{
    return 1.0 + much * (chance(s) + chance(s) - 1.0);
}

static int cuda_of(const scene *s)
{
    return s->back ? C : P;
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
    double late = stage->wake * (0.5 + chance(stage)) * (chance(stage) < 0.02 ? 6.0 : 1.0);
    if (stage->naps && l->side == cuda_of(stage)) {
        const double nap = (stage->at[l->side][value] - stage->now) / 16;
        late += chance(stage) * (nap < 20e3 ? 20e3 : nap > 1e6 ? 1e6 : nap);
    }
    stage->now = stage->at[l->side][value] + late;
    return CULV_OK;
}

/* A side's burst is submitted: the GPU does it when its turn comes. */
static void submit(scene *s, int side, uint64_t value)
{
    double t = s->engine > s->now ? s->engine : s->now;
    const double could = s->wait[side] != 0 ? s->at[1 - side][s->wait[side]] + s->signal : s->now;
    const double longer = could < t ? 1 + s->slicing : 1;
    if (could > t) t = could;
    if (s->last != side) t += s->change * wobble(s, 10 * s->noise);
    s->last = side;
    for (uint32_t i = 0; i < s->count[side]; i++) {
        uint32_t n = s->first[side] + i;
        REQUIRE(n < SCENE_FRAMES);
        if (side == P) s->begun[n] = t;
        t += longer * s->work[side] * wobble(s, s->noise);
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

static culv_result acquire(scene *s, int side, culv_ring_frame *f)
{
    const culv_ring_side of = (culv_ring_side)side;
    return side == cuda_of(s)
               ? culvi_ring_acquire(s->ring, of, s->timeout, CULVI_RING_AS_SET, f, "acquire")
               : culv_ring_acquire(s->ring, of, s->timeout, f);
}

/* Returns whether a burst ended with it. */
static bool turn(scene *s, int side)
{
    culv_ring_frame f;
    culv_result result;
    while ((result = acquire(s, side, &f)) != CULV_OK) {
        REQUIRE(s->timeout == 0 && result == CULV_ERROR_TIMEOUT);
        s->now += 25e3;
    }
    if (s->apart && side == C) s->ring->side[C].thread = s;
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
    uint32_t n = from, drawn = from;
    const long allocated = atomic_load(&culvi_alloc_count);
    while (n < from + frames) {
        const uint32_t depth = s->ring->depth, burst = s->ring->burst;
        bool over = false;
        while (!over && n < from + frames) {
            over = turn(s, P);
            n++;
        }
        if (!over) flush(s, P);
        for (; drawn + (n < from + frames ? s->ahead : 0) < n; drawn++)
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

/* A ring of SCENE_DEPTH slots. The scene's clock runs until another scene is opened. */
static void open_scene(opened *o, scene *s, const culv_ring_settings *settings)
{
    stage_open(&o->rs, SCENE_DEPTH);
    for (int i = 0; i < 2; i++)
        o->lines[i].side = i;
    const culv_ring_timeline functions = {.value = value_of, .wait = wait_for};
    o->rs.desc.ready = o->rs.desc.done = functions;
    o->rs.desc.ready.context = &o->lines[P];
    o->rs.desc.done.context = &o->lines[C];
    stage_make(&o->rs, settings);
    s->ring = o->rs.ring;
    s->ring->now = scene_now;
    s->ring->nap = scene_nap;
    s->last = C;
    stage = s;
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

/* Goes on with another scene's clock. */
static void scene_enter(scene *s)
{
    stage = s;
}

static double thread_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
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

#undef TEST_GROUP
#define TEST_GROUP "auto."
/* max_latency: what it chooses on a GPU that is simulated. */

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

static void require_measured(const char *what, double measured)
{
    if (measured < 0.97 || measured > 1.03)
        FAIL("%s: a frame is measured as %.3f of it", what, measured);
}

/* The loads that an H200 was measured with, and others, from several beginnings: once it has
 * chosen, that is it. */
TEST(chooses, .time_limit = 600)
{
    static const scene_load loads[] = {
        {111, 158, 160}, {20, 500, 160}, {500, 160, 160}, {2000, 2000, 160}, {111, 158, 0}};
    static const double bounds[] = {1e6, 2.3e6, 4.1e6, 8e6, 16e6};
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
                require_measured(what,
                                 (double)stage_stats(&o.rs).frame_time / frame_time(&s, from, to));
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

#undef TEST_GROUP
#define TEST_GROUP "way."
/* CULV_RING_WAY_AUTO: what it chooses on a GPU that is simulated, against every fixed way. */

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

/* Within 3 % of the best fixed way, and it stays there. With a bound frames are within it, and the
 * best is that which keeps a slightly smaller one. */
static void chooses_in(bool back, bool bound)
{
    static const struct {
        uint32_t slots, burst;
        double bound;
    } rings[] = {{1, 1, 0},
                 {2, 1, 0},
                 {3, 1, 0},
                 {6, 1, 0},
                 {8, MOST_BURST, 0},
                 {8, MOST_BURST, 1e6},
                 {8, MOST_BURST, 2e6},
                 {8, MOST_BURST, 5e6},
                 {8, MOST_BURST, 30e6},
                 {8, MOST_BURST, 100e6}};
    static scene s;
    for (size_t k = 0; k < sizeof loads / sizeof loads[0]; k++)
        for (size_t i = bound ? 5 : 0; i < (bound ? 10 : 5); i++) {
            opened o;
            char what[96];
            snprintf(what, sizeof what, "%s%.0f and %.0f us, %u slots within %.0f ns",
                     back ? "Vulkan to CUDA, " : "", loads[k].solver, loads[k].renderer,
                     (unsigned)rings[i].slots, rings[i].bound);
            culv_ring_settings t = automatic(rings[i].slots, rings[i].burst);
            t.max_latency = (uint64_t)rings[i].bound;
            begin_late(&s, &loads[k], k + 1, back);
            open_scene(&o, &s, &t);
            REQUIRE_EQ(stage_stats(&o.rs).tries, 1);
            const uint32_t from = run_for(&s, 0, search_time(&loads[k])), changes = s.changes;
            const culv_ring_stats stats = stage_stats(&o.rs);
            REQUIRE_EQ(stats.tries, 0);
            const uint32_t to = run_scene(&s, from, 8 * TUNED);
            const double ns = frame_time(&s, from, to), p99 = age_p99(&s, from, to);
            if (!bound) {
                REQUIRE_EQ(s.changes, changes);
                require_measured(what, (double)stats.frame_time / ns);
            } else if (stats.depth > 1 && p99 > 1.03 * rings[i].bound) {
                FAIL("%s: %.0f", what, p99);
            }
            const double best =
                fastest(&loads[k], back, rings[i].slots, rings[i].burst, 0.95 * rings[i].bound);
            scene_enter(&s);
            if (ns > 1.03 * best)
                FAIL("%s: %.0f ns with %u slots in bursts of %u, %.0f would do", what, ns,
                     (unsigned)stats.depth, (unsigned)stats.burst, best);
            stage_close(&o.rs);
        }
}

TEST_AS(way_chooses, chooses_in(false, false), .title = "way.chooses")
TEST_AS(chooses_back, chooses_in(true, false))
TEST_AS(bound, chooses_in(false, true))
TEST_AS(bound_back, chooses_in(true, true))

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
