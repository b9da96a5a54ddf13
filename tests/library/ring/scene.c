/* SPDX-License-Identifier: MIT */
/* See scene.h. */
#include "scene.h"

static scene *stage; /* whose clock it is: one at a time */

static uint64_t scene_now(void)
{
    return (uint64_t)stage->now + 1;
}

static double chance(scene *s);

/* A timer is late, too. */
void scene_nap(culv_ring *ring, uint64_t ns)
{
    (void)ring;
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
    return side == cuda_of(s) ? culvi_ring_acquire_for_cuda(s->ring, of, s->timeout, f, "acquire")
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

uint32_t run_scene(scene *s, uint32_t from, uint32_t frames)
{
    uint32_t n = from, drawn = from;
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
    return n;
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

double age_p99(const scene *s, uint32_t from, uint32_t to)
{
    static double ages[SCENE_FRAMES];
    for (uint32_t n = from; n < to; n++)
        ages[n - from] = s->ended[n] - s->begun[n];
    qsort(ages, to - from, sizeof ages[0], by_size);
    return ages[(to - from) * 99 / 100];
}

double frame_time(const scene *s, uint32_t from, uint32_t to)
{
    return (s->ended[to - 1] - s->ended[from - 1]) / (to - from);
}

void open_scene(opened *o, scene *s, const culv_ring_settings *settings)
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

void set_load(scene *s, const scene_load *l)
{
    s->work[P] = l->solver * 1e3;
    s->work[C] = l->renderer * 1e3;
    s->change = l->change * 1e3;
}

void begin_scene(scene *s, const scene_load *l, uint64_t seed)
{
    memset(s, 0, sizeof *s);
    set_load(s, l);
    s->host = 2e3;
    s->wake = 12e3;
    s->noise = 0.01;
    s->seed = seed;
    s->timeout = CULV_RING_FOREVER;
}

void scene_enter(scene *s)
{
    stage = s;
}
