/* SPDX-License-Identifier: MIT */
/* culv_ring_settings::way = AUTO: how many slots, how long bursts, and whether the host waits in
 * place of CUDA's stream, by what the ring's own frames take. No lock and no clock of its own.
 *
 * The producer's thread says at the start of each burst how many frames are consumed, and when.
 * That is exact where it waited for the consumer's GPU. It never has to wait where the host is
 * slow, or waits for the other timeline: Vulkan produces, and the host waits in place of CUDA's
 * stream. What it knows is then several frames old, and frames begun are counted in place of it.
 *
 * The ring tries each way for a while and takes the mean of a frame. Ways that are about as fast as
 * the best are measured once more. The first in the list that is fast enough is kept: the list
 * begins with the ways whose frames are the youngest. A slot is written again only when it was
 * read, so a frame is at most `depth` frames' time old. */
#include "ring/ring.h"

#include <stdio.h>

static const uint64_t WARM_NS = 100000000, TRY_NS = 30000000, WATCH_NS = 100000000;
/* The host sees the end of a burst of CUDA's up to 1 ms late. */
static const uint64_t LONG_NS = 90000000;
enum {
    TRY_FRAMES = 4,   /* a window is at least so many frames long, */
    TRY_BURSTS = 4,   /* and so many bursts, */
    LONG_BURSTS = 2,  /* or so many where they take LONG_NS */
    WATCH_FRAMES = 8, /* the same, once a way is chosen */
    WATCH_BURSTS = 4,
    UNSEEN = 8, /* starts of bursts without a wait, after which the host is what is slow */
    ODD = 3     /* windows in sequence that make a new search */
};
static const double AS_FAST = 1.01, ABOUT_AS_FAST = 1.03;

static void add(culvi_ring_way *w, uint32_t depth, uint32_t burst, bool on_host)
{
    if (depth > w->most || burst > w->longest || w->num == CULVI_RING_WAYS) return;
    w->tries[w->num++] = (culvi_ring_attempt){.depth = depth, .burst = burst, .on_host = on_host};
}

/* Both where the caller leaves it to the ring, else one of them. */
static void add_waits(culvi_ring_way *w, uint32_t depth, culv_ring_waits cuda, bool can_wait)
{
    if (cuda != CULV_RING_WAITS_SIGNAL_FIRST) add(w, depth, 1, false);
    if (cuda == CULV_RING_WAITS_SIGNAL_FIRST ||
        (cuda == CULV_RING_WAITS_DEFAULT && can_wait && depth > 1))
        add(w, depth, 1, true);
}

void culvi_ring_way_start(culvi_ring_way *w, const culv_ring_settings *s, bool can_wait)
{
    memset(w, 0, sizeof *w);
    w->on = culvi_ring_way_wanted(s);
    if (!w->on) return;
    w->bound = s->max_latency;
    w->most = s->depth;
    w->longest = s->burst;
    w->least = 1;
    for (uint32_t depth = 1; depth <= 3; depth++)
        add_waits(w, depth, s->cuda_waits, can_wait);
    if (w->most > 3) add_waits(w, w->most, s->cuda_waits, can_wait);
    w->bursts_from = w->num;
    for (uint32_t burst = 2; burst <= w->longest; burst *= 2)
        add(w, burst, burst, s->cuda_waits == CULV_RING_WAITS_SIGNAL_FIRST);
    w->phase = CULVI_RING_WAY_WARMS;
    w->at = w->bursts_from - 1; /* all slots */
}

static double time_of(const culvi_ring_attempt *t)
{
    return t->frames == 0 ? 0 : (double)t->time / (double)t->frames;
}

/* Whether its frames are young enough. */
static bool keeps_bound(const culvi_ring_way *w, const culvi_ring_attempt *t)
{
    return w->bound == 0 || t->depth * time_of(t) <= (double)w->bound;
}

/* The best of those that were measured; NULL: nothing was, or nothing keeps the bound. */
static const culvi_ring_attempt *best(const culvi_ring_way *w)
{
    const culvi_ring_attempt *found = NULL;
    for (uint32_t i = 0; i < w->num; i++) {
        const culvi_ring_attempt *t = &w->tries[i];
        if (t->frames == 0 || t->depth < w->least || !keeps_bound(w, t)) continue;
        if (found == NULL || time_of(t) < time_of(found)) found = t;
    }
    return found;
}

/* Whether a way is worth its first try. A longer burst is if the one before was the fastest. Bursts
 * of two take half the time at best, which may still make frames too old. */
static bool is_worth(const culvi_ring_way *w, uint32_t i)
{
    const culvi_ring_attempt *t = &w->tries[i], *fastest = best(w);
    if (t->depth < w->least) return false;
    if (i < w->bursts_from || fastest == NULL) return true;
    if (w->bound != 0 && t->depth * time_of(fastest) > 2 * (double)w->bound) return false;
    if (i == w->bursts_from || w->tries[i - 1].depth < w->least) return true;
    return fastest == &w->tries[i - 1];
}

static bool is_close(const culvi_ring_way *w, uint32_t i)
{
    const culvi_ring_attempt *t = &w->tries[i], *fastest = best(w);
    return t->frames != 0 && t->time < 2 * TRY_NS && t->depth >= w->least && fastest != NULL &&
           keeps_bound(w, t) && time_of(t) <= ABOUT_AS_FAST * time_of(fastest);
}

static void enter(culvi_ring_way *w, uint32_t i, uint64_t next)
{
    w->at = i;
    w->since = next;
    w->seen.open = w->begun.open = false;
    w->unseen = 0;
}

static void choose(culvi_ring_way *w, uint64_t next)
{
    const culvi_ring_attempt *fastest = best(w);
    uint32_t chosen = 0;
    while (chosen + 1 < w->num && w->tries[chosen].depth < w->least)
        chosen++; /* nothing keeps the bound: the youngest frames */
    for (uint32_t i = w->num; fastest != NULL && i-- > 0;) {
        const culvi_ring_attempt *t = &w->tries[i];
        if (t->frames != 0 && t->depth >= w->least && keeps_bound(w, t) &&
            time_of(t) <= AS_FAST * time_of(fastest))
            chosen = i;
    }
    w->phase = CULVI_RING_WAY_CHOSEN;
    w->odd = 0;
    w->news = true;
    enter(w, chosen, next);
}

/* The next way to try, in this phase or the next one. */
static void go_on(culvi_ring_way *w, uint32_t from, uint64_t next)
{
    for (uint32_t i = from; w->phase == CULVI_RING_WAY_TRIES && i < w->num; i++)
        if (is_worth(w, i)) {
            enter(w, i, next);
            return;
        }
    if (w->phase == CULVI_RING_WAY_TRIES) {
        w->phase = CULVI_RING_WAY_TRIES_AGAIN;
        from = 0;
    }
    for (uint32_t i = from; i < w->num; i++)
        if (is_close(w, i)) {
            enter(w, i, next);
            return;
        }
    choose(w, next);
}

static void search(culvi_ring_way *w, uint64_t next)
{
    for (uint32_t i = 0; i < w->num; i++)
        w->tries[i].time = w->tries[i].frames = 0;
    w->phase = CULVI_RING_WAY_TRIES;
    go_on(w, 0, next);
}

/* Frames that take half as long again as when the way was chosen, or two thirds as long. */
static void watch(culvi_ring_way *w, uint64_t frames, uint64_t time, uint64_t next)
{
    const double now = (double)time / (double)frames, then = time_of(&w->tries[w->at]);
    w->odd = now > 1.5 * then || now * 1.5 < then ? w->odd + 1 : 0;
    if (w->odd == ODD) search(w, next);
}

static bool is_full(const culvi_ring_way *w, uint64_t frames, uint64_t time)
{
    const uint64_t burst = w->tries[w->at].burst;
    if (w->phase == CULVI_RING_WAY_CHOSEN)
        return time >= WATCH_NS && frames >= WATCH_FRAMES && frames >= WATCH_BURSTS * burst;
    const uint64_t least = w->phase == CULVI_RING_WAY_WARMS   ? WARM_NS
                           : w->phase == CULVI_RING_WAY_TRIES ? TRY_NS
                                                              : 2 * TRY_NS;
    const uint64_t bursts = time >= LONG_NS ? LONG_BURSTS : TRY_BURSTS;
    return time >= least && frames >= TRY_FRAMES && frames >= bursts * burst;
}

void culvi_ring_way_note(culvi_ring_way *w, uint64_t through, uint64_t now, bool waited,
                         uint64_t next)
{
    if (through < w->since) return; /* frames of the way before */
    w->unseen = waited ? 0 : w->unseen + 1;
    if (waited)
        w->begun.open = false;
    else if (w->unseen < UNSEEN)
        return;
    culvi_ring_span *span = waited ? &w->seen : &w->begun;
    const uint64_t count = waited ? through : next;
    if (!span->open) {
        *span = (culvi_ring_span){.open = true, .from = count, .began = now};
        return;
    }
    const uint64_t frames = count - span->from, time = now - span->began;
    culvi_ring_attempt *t = &w->tries[w->at];
    if (!is_full(w, frames, time)) return;
    w->seen.open = w->begun.open = false;
    *span = (culvi_ring_span){.open = true, .from = count, .began = now};
    switch (w->phase) {
    case CULVI_RING_WAY_WARMS: search(w, next); break;
    case CULVI_RING_WAY_TRIES:
    case CULVI_RING_WAY_TRIES_AGAIN:
        t->frames += frames;
        t->time += time;
        go_on(w, w->at + 1, next);
        break;
    case CULVI_RING_WAY_CHOSEN: watch(w, frames, time, next); break;
    }
}

bool culvi_ring_way_may_widen(const culvi_ring_way *w)
{
    return w->on && w->tries[w->at].depth < w->most;
}

void culvi_ring_way_widen(culvi_ring_way *w, uint64_t next)
{
    w->least = w->tries[w->at].depth + 1;
    search(w, next);
}

uint64_t culvi_ring_way_frame_time(const culvi_ring_way *w)
{
    return w->phase == CULVI_RING_WAY_CHOSEN ? (uint64_t)time_of(&w->tries[w->at]) : 0;
}

static int describe(const culvi_ring_attempt *t, char *out, size_t size)
{
    char burst[32] = "";
    if (t->burst > 1) snprintf(burst, sizeof burst, " in bursts of %" PRIu32, t->burst);
    return snprintf(out, size, "%" PRIu32 " slot%s%s%s: %.0f us", t->depth,
                    t->depth == 1 ? "" : "s", burst, t->on_host ? ", the host waits for CUDA" : "",
                    time_of(t) * 1e-3);
}

void culvi_ring_way_tell(const culvi_ring_way *w, char *out, size_t size)
{
    size_t at = (size_t)describe(&w->tries[w->at], out, size);
    const char *between = " a frame. The others: ";
    for (uint32_t i = 0; i < w->num && at < size; i++) {
        if (i == w->at || w->tries[i].frames == 0) continue;
        at += (size_t)snprintf(out + at, size - at, "%s", between);
        between = "; ";
        if (at < size) at += (size_t)describe(&w->tries[i], out + at, size - at);
    }
}
