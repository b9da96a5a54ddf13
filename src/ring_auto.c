/* max_latency: which burst a culv_ring uses, by what it measures. No lock and no clock of its own.
 *
 * The model. A burst of k frames begins once all but one burst before it are done, so that 2k frames are on their way from
 * the producer's acquire to `done`: fewer, and the GPU would be idle while the host wakes; more would wait for nothing. The
 * time from a burst's start to the next one's is k * T(k), and a frame's latency the time of all that are on their way,
 * 2k * T(k). Frames of one take turns on the GPU's one engine at each frame; three on their way instead of two hide a
 * part of that and fit where two bursts of 2 do not, so they are a step of their own.
 *
 * What a burst takes is about a * k + b (a: the work of a frame, b: the switches of a burst), so latency grows with the
 * frames on their way in a straight line: two steps that were measured foretell the others, and what is foretold is
 * measured before it is kept. Until there are two, the work is taken for all of it (b = 0), which errs on the side of the
 * bound, and one step more is tried where that says nothing more fits. SPDX-License-Identifier: MIT */
#include "ring.h"

#include <string.h>

enum { SETTLE = 3 }; /* bursts after a change that still run by what was before */

uint32_t culvi_ring_level_burst(uint32_t level)
{
    return level < 2 ? 1 : level;
}

uint32_t culvi_ring_level_flight(uint32_t level)
{
    return level < 2 ? 2 + level : 2 * level;
}

void culvi_ring_auto_start(culvi_ring_auto *a, uint64_t bound, uint32_t max_depth, uint32_t depth,
                           uint32_t burst)
{
    memset(a, 0, sizeof *a);
    a->bound = bound;
    a->top = max_depth > 1 ? max_depth : 0;
    a->level = burst > 1 ? burst : depth > 2 ? 1 : 0;
    if (a->level > a->top) a->level = a->top;
    a->skip = SETTLE;
}

/* Of the levels that were measured, the nearest to the present one; itself when there is no other. */
static uint32_t nearest(const culvi_ring_auto *a)
{
    for (uint32_t away = 1; away <= CULVI_RING_LEVELS; away++) {
        if (away <= a->level && a->latency[a->level - away] != 0) return a->level - away;
        if (a->level + away <= a->top && a->latency[a->level + away] != 0) return a->level + away;
    }
    return a->level;
}

static double foretell(const culvi_ring_auto *a, uint32_t level)
{
    if (a->latency[level] != 0) return (double)a->latency[level];
    double here = (double)a->latency[a->level], at = culvi_ring_level_flight(a->level);
    double away = (double)culvi_ring_level_flight(level) - at;
    double slope = here / at; /* b = 0 */
    uint32_t other = nearest(a);
    if (other != a->level) {
        double measured = ((double)a->latency[other] - here) / ((double)culvi_ring_level_flight(other) - at);
        if (measured < slope) slope = measured > 0 ? measured : 0;
    }
    return here + slope * away;
}

/* The largest step whose latency is within the bound; growing keeps a little off it, so that noise moves nothing. */
static uint32_t choose(const culvi_ring_auto *a)
{
    double bound = (double)a->bound;
    if ((double)a->latency[a->level] > bound) {
        for (uint32_t level = a->level; level-- > 0;)
            if (foretell(a, level) <= bound) return level;
        return 0;
    }
    /* Not far beyond what was measured: a straight line through noise leads anywhere. */
    uint32_t most = 2 * a->level + 1 < a->top ? 2 * a->level + 1 : a->top;
    for (uint32_t level = most; level > a->level; level--)
        if (foretell(a, level) <= 0.98 * bound) return level;
    uint32_t next = a->level + 1;
    bool unknown = next <= a->top && a->latency[next] == 0;
    if (unknown && (nearest(a) == a->level || foretell(a, next) <= 1.05 * bound)) return next;
    return a->level;
}

/* A full window: its mean without what a pause made of it. */
static void judge(culvi_ring_auto *a)
{
    uint64_t sorted[CULVI_RING_WINDOW], sum = 0, count = 0;
    for (uint32_t i = 0; i < CULVI_RING_WINDOW; i++) {
        uint32_t k = i;
        for (; k > 0 && sorted[k - 1] > a->samples[i]; k--)
            sorted[k] = sorted[k - 1];
        sorted[k] = a->samples[i];
    }
    for (uint32_t i = 0; i < CULVI_RING_WINDOW; i++) {
        if (sorted[i] > 2 * sorted[CULVI_RING_WINDOW / 2]) break;
        sum += sorted[i];
        count++;
    }
    uint64_t frame = sum / count > 0 ? sum / count : 1;
    uint64_t latency = frame * culvi_ring_level_flight(a->level), before = a->latency[a->level];
    bool changed = before != 0 && (latency > before + before / 4 || latency < before - before / 4);
    if (changed) memset(a->latency, 0, sizeof a->latency); /* another workload: nothing known holds */
    a->latency[a->level] = changed || before == 0 ? latency : (before + latency) / 2;
    a->frame_time = a->latency[a->level] / culvi_ring_level_flight(a->level);
    a->taken = 0;
    uint32_t level = choose(a);
    if (level == a->level) return;
    a->level = level;
    a->skip = SETTLE;
}

void culvi_ring_auto_begin(culvi_ring_auto *a, uint64_t now, uint32_t length)
{
    if (a->started == 0 || a->skip > 0) {
        if (a->started != 0) a->skip--;
    } else {
        a->samples[a->taken++] = (now - a->started) / a->length;
        if (a->taken == CULVI_RING_WINDOW) judge(a);
    }
    a->started = now;
    a->length = length;
}
