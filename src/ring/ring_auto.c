/* SPDX-License-Identifier: MIT */
/* max_latency: which depth and burst a culv_ring uses, by what it measures. No lock and no clock of
 * its own.
 *
 * The model. The two sides take turns on one engine of a GPU, and each change of sides costs time.
 * In a ring that is as deep as its bursts are long there is one burst of k frames at a time: the
 * producer's half of it (a change and k frames), then the consumer's. A deeper ring with the same
 * bursts has older frames and is hardly faster, so that depth and burst are one number, the level.
 * Frames get as old as the longer half and one frame's work on the other side:
 *
 *   age = longer half + work on the other side
 *
 * Each half grows with k in a straight line, so that two levels that were measured foretell the
 * others, and what is foretold is measured before it is kept. Until there are two, the work is
 * taken for all of it (no changes), which errs on the side of the bound, and one level more is
 * tried where that says nothing more fits.
 *
 * The halves are what the producer's thread sees: it waits for `done` anyway, and then looks for
 * the `ready` of the burst after it; seldom, once it has chosen. Where it comes too late to see
 * either, the host is what frames wait for, and the time from burst to burst stands for their age:
 * a slot is written again only when it was read, so that none is older. */
#include "ring/ring.h"

enum {
    PATIENCE = 128, /* windows */
    SETTLED = 4,    /* the same */
    SELDOM = 4,     /* bursts */
    ODD = 4         /* the same */
};

void culvi_ring_auto_start(culvi_ring_auto *a, uint64_t bound, uint32_t max_depth, uint32_t burst)
{
    memset(a, 0, sizeof *a);
    a->bound = bound;
    a->top = max_depth;
    a->ceiling = max_depth + 1;
    a->level = burst;
    a->cold = true;
}

static uint64_t both_halves(const culvi_ring_auto *a, uint32_t level)
{
    return a->half[level][0] + a->half[level][1];
}

/* Measured, and as the present level was: with both halves seen, or with neither. */
static bool compares(const culvi_ring_auto *a, uint32_t level)
{
    return both_halves(a, level) != 0 && (a->half[level][0] == 0) == (a->half[a->level][0] == 0);
}

/* Returns the measured level that is nearest to the present one; the present one when there is no
 * other. */
static uint32_t nearest(const culvi_ring_auto *a)
{
    for (uint32_t away = 1; away < CULVI_RING_LEVELS; away++) {
        if (away < a->level && compares(a, a->level - away)) return a->level - away;
        if (a->level + away <= a->top && compares(a, a->level + away)) return a->level + away;
    }
    return a->level;
}

/* A frame's on a side. */
static double work(const culvi_ring_auto *a, int side)
{
    double here = (double)a->half[a->level][side], most = here / a->level;
    uint32_t other = nearest(a);
    if (other == a->level) return most;
    double slope = ((double)a->half[other][side] - here) / ((double)other - a->level);
    return slope < 0 ? 0 : slope < most ? slope : most;
}

/* How old nearly all frames are at most on a level. */
static double age(const culvi_ring_auto *a, uint32_t level)
{
    bool known = both_halves(a, level) != 0;
    double most = 0;
    for (int side = 0; side < 2; side++) {
        double half =
            known ? (double)a->half[level][side]
                  : (double)a->half[a->level][side] + work(a, side) * ((double)level - a->level);
        if (half + work(a, 1 - side) > most) most = half + work(a, 1 - side);
    }
    return most + (double)a->late[known ? level : a->level];
}

/* Whether the present level is to be left: at once when it is new or far off, else when it is over
 * the bound twice. */
static bool is_over(culvi_ring_auto *a)
{
    double bound = (double)a->bound, now = age(a, a->level);
    a->over = now > bound * 127 / 128 ? a->over + 1 : 0;
    return a->over == 2 || now > bound * (a->windows == 1 ? 63.0 / 64 : 9.0 / 8);
}

/* The largest level that keeps the bound, a little off it; growing keeps more off it, so that noise
 * moves nothing. */
static uint32_t choose(culvi_ring_auto *a)
{
    double keeps = (double)a->bound * 63 / 64, grows = (double)a->bound * 31 / 32;
    if (is_over(a)) {
        if (a->level > 1) a->ceiling = a->level;
        for (uint32_t level = a->level; level-- > 1;)
            if (age(a, level) <= keeps) return level;
        return 1;
    }
    if (a->windows % PATIENCE == 0) { /* what was over the bound is not tried again for long */
        a->ceiling = a->top + 1;
        for (uint32_t level = a->level + 1; level <= a->top; level++)
            a->half[level][0] = a->half[level][1] = 0;
    } else if (a->windows > SETTLED) {
        return a->level;
    }
    /* Not far beyond what was measured: a straight line through noise leads anywhere. */
    uint32_t most = 2 * a->level + 2 < a->ceiling ? 2 * a->level + 1 : a->ceiling - 1;
    for (uint32_t level = most; level > a->level; level--)
        if (age(a, level) <= grows) return level;
    uint32_t next = a->level + 1;
    bool unknown = next <= most && both_halves(a, next) == 0;
    if (unknown && (nearest(a) == a->level || age(a, next) <= keeps)) return next;
    return a->level;
}

static void sort(uint64_t out[CULVI_RING_WINDOW], const uint64_t in[CULVI_RING_WINDOW])
{
    for (uint32_t i = 0; i < CULVI_RING_WINDOW; i++) {
        uint32_t k = i;
        for (; k > 0 && out[k - 1] > in[i]; k--)
            out[k] = out[k - 1];
        out[k] = in[i];
    }
}

static uint64_t blend(uint64_t before, uint64_t now)
{
    return before == 0 ? now : (before + now) / 2;
}

static uint64_t median(const uint64_t values[CULVI_RING_WINDOW])
{
    uint64_t sorted[CULVI_RING_WINDOW];
    sort(sorted, values);
    return sorted[CULVI_RING_WINDOW / 2];
}

/* How much longer than its median a burst may take: the second most of a window, since one may be
 * what a pause made of it. One that seems long since the host woke late at its end is made up for
 * by the next one. */
static uint64_t lateness(const culvi_ring_auto *a)
{
    uint64_t pairs[CULVI_RING_WINDOW], late[CULVI_RING_WINDOW] = {0}, sorted[CULVI_RING_WINDOW];
    for (uint32_t i = 0; i < CULVI_RING_WINDOW; i++) /* the last with some one */
        pairs[i] = a->periods[i] + a->periods[(i + 1) % CULVI_RING_WINDOW];
    uint64_t usual = median(a->periods), usual_pair = median(pairs);
    for (uint32_t i = 0; i < CULVI_RING_WINDOW; i++) {
        if (a->periods[i] <= usual || pairs[i] <= usual_pair) continue;
        uint64_t one = a->periods[i] - usual, two = pairs[i] - usual_pair;
        late[i] = one < two ? one : two;
    }
    sort(sorted, late);
    return sorted[CULVI_RING_WINDOW - 2];
}

/* Another workload: nothing known holds, nor what was measured last, a part of which may be of the
 * one before. */
static void start_over(culvi_ring_auto *a)
{
    memset(a->half, 0, sizeof a->half);
    a->entered = a->usual = 0;
    a->taken = a->windows = a->over = a->odd = 0;
    a->ceiling = a->top + 1;
}

/* A full window. */
static void judge(culvi_ring_auto *a, uint64_t next)
{
    a->taken = 0;
    if (a->cold) { /* the first one is for warming up */
        a->cold = false;
        return;
    }
    const uint64_t half[2] = {median(a->samples[0]), median(a->samples[1]) + 1}; /* never both 0 */
    uint64_t late = lateness(a);
    uint64_t before = both_halves(a, a->level);
    a->usual = blend(before != 0 ? a->usual : 0, median(a->periods));
    a->frame_time = a->usual / a->level;
    if (a->entered == 0) a->entered = a->usual;
    if (a->usual > a->entered + a->entered / 5 || a->usual < a->entered - a->entered / 5) {
        start_over(a);
        return;
    }
    for (int side = 0; side < 2; side++)
        a->half[a->level][side] = blend(a->half[a->level][side], half[side]);
    a->late[a->level] = before == 0 ? late : (a->late[a->level] + late) / 2;
    a->windows++;
    uint32_t level = choose(a);
    if (level == a->level) return;
    a->level = level;
    a->windows = a->over = a->odd = 0;
    a->usual = a->entered = both_halves(a, level);
    a->since = next;
}

void culvi_ring_auto_note(culvi_ring_auto *a, const culvi_ring_mark *mark, uint64_t next)
{
    const culvi_ring_mark last = a->mark;
    uint64_t frames = mark->through - last.through, period = mark->done - last.done;
    bool fresh = last.done != 0 && last.through >= a->since;
    if (fresh && frames < a->level) return; /* short bursts add up */
    /* The host was late once, by a pause maybe: this period is a part of a longer one. */
    if (fresh && last.waited && !mark->waited && frames < 4 * (uint64_t)a->level) return;
    a->mark = *mark;
    if (!fresh || last.waited != mark->waited) return;
    period = period / frames * a->level;
    bool odd =
        a->usual != 0 && (period > a->usual + a->usual / 4 || period < a->usual - a->usual / 4);
    a->odd = odd ? a->odd + 1 : 0;
    if (a->odd == ODD) start_over(a);
    if (last.waited && !last.timed) return;
    bool seen = frames == a->level && last.waited && last.ready != 0;
    a->samples[0][a->taken] = seen ? last.ready - last.done : 0;
    a->samples[1][a->taken] = seen ? mark->done - last.ready : period;
    a->periods[a->taken] = period;
    if (++a->taken == CULVI_RING_WINDOW) judge(a, next);
}

bool culvi_ring_auto_times(culvi_ring_auto *a)
{
    return a->windows < SETTLED || a->bursts++ % SELDOM == 0;
}
