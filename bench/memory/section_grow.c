/* SPDX-License-Identifier: MIT */
/* A buffer that is doubled, by every scheme: times, and what it takes of the device's memory. */
#include "growable.h"
#include "sections.h"
#include "trial.h"

#include <stdio.h>
#include <stdlib.h>

/* Phases: what is before the doublings, those, and what comes after. */
enum { OPEN, FIRST_STEP, MOST_STEPS = TRIAL_PHASES - 2 };

static const double within_raw = 1.03, of_copying = 0.30;

typedef struct grow_state {
    memory_bench *b;
    const scheme *schemes[TRIAL_SUBJECTS];
    size_t num_schemes, steps;
    uint64_t first, limit;
    uint64_t moves[TRIAL_SUBJECTS];
    growable g;
} grow_state;

static void turn(void *state, size_t subject, double ns[])
{
    grow_state *s = state;
    memory_bench *b = s->b;
    growable *g = &s->g;
    *g = (growable){.b = b, .scheme = s->schemes[subject], .limit = s->limit};
    double begun = bench_now();
    g->scheme->open(g, s->first);
    ns[OPEN] = bench_now() - begun;
    uint64_t filled = 0, size = s->first;
    for (size_t i = 0; i < s->steps; i++, size *= 2) {
        if (g->scheme->walled && i > 0) growable_wall(g);
        begun = bench_now();
        g->scheme->grow(g, size);
        ns[FIRST_STEP + i] = bench_now() - begun;
        /* As a program would use it: what is copied is there, and managed pages are populated. */
        memory_fill(b, g->pointer, filled, size);
        filled = size;
    }
    memory_check(b, g->pointer, 0, s->limit, g->scheme->name);
    growable_unwall(g);
    s->moves[subject] = g->moves;
    begun = bench_now();
    g->scheme->close(g);
    ns[FIRST_STEP + s->steps] = bench_now() - begun;
}

/* The memory's account ------------------------------------------------------------------------- */

static uint64_t used_now(const growable *g)
{
    uint64_t now = memory_free(g->b);
    return now < g->free_before ? g->free_before - now : 0;
}

static void at_peak(growable *g)
{
    uint64_t used = used_now(g);
    if (used > g->peak) g->peak = used;
}

/* How far above what is committed the peak comes at the most. */
static int64_t account(grow_state *s, size_t subject, const char *limit, bool keep)
{
    memory_bench *b = s->b;
    growable *g = &s->g;
    int64_t most = INT64_MIN;
    *g = (growable){.b = b, .scheme = s->schemes[subject], .limit = s->limit, .at_peak = at_peak};
    g->free_before = memory_free(b);
    g->scheme->open(g, s->first);
    uint64_t filled = 0, size = s->first;
    for (size_t i = 0; i < s->steps; i++, size *= 2) {
        if (g->scheme->walled && i > 0) growable_wall(g);
        g->peak = 0;
        g->scheme->grow(g, size);
        memory_fill(b, g->pointer, filled, size);
        filled = size;
        result_memory m = {.bytes = size, .committed = g->committed, .used = used_now(g)};
        m.peak = g->peak > m.used ? g->peak : m.used;
        snprintf(m.scheme, sizeof m.scheme, "%s, %s", g->scheme->name, g->scheme->variant);
        snprintf(m.variant, sizeof m.variant, "%s", limit);
        if (keep) results_add_memory(&b->results, &m);
        int64_t above = (int64_t)m.peak - (int64_t)m.committed;
        if (above > most) most = above;
    }
    memory_check(b, g->pointer, 0, s->limit, g->scheme->name);
    if (g->vector != NULL) {
        culv_vector_stats stats = culv_vector_stats_init();
        CULV_OK_OR_EXIT(culv_vector_get_stats(g->vector, &stats));
        REQUIRE_EQ(stats.peak, s->limit); /* none of it was ahead */
    }
    growable_unwall(g);
    g->scheme->close(g);
    return most;
}

static size_t find(const grow_state *s, const scheme *wanted)
{
    for (size_t i = 0; i < s->num_schemes; i++)
        if (s->schemes[i] == wanted) return i;
    return TRIAL_SUBJECTS;
}

/* Culvert's peak is the committed memory and what the driver itself has beside it, as by hand. */
static void report_memory(grow_state *s, const char *limit)
{
    memory_bench *b = s->b;
    int64_t above[TRIAL_SUBJECTS];
    size_t raw = find(s, &scheme_raw);
    /* Once before: what the driver then has of its own for good is not the first one's. */
    (void)account(s, raw, limit, false);
    for (size_t i = 0; i < s->num_schemes; i++)
        above[i] = account(s, i, limit, true);
    for (size_t i = 0; i < s->num_schemes; i++) {
        const scheme *of = s->schemes[i];
        const char *met = NULL;
        char name[96];
        if (of->raw_again) continue;
        if (of == &scheme_vector && results_judged(&b->bench))
            met = above[i] <= above[raw] + (int64_t)b->granularity ? "yes" : "no";
        snprintf(name, sizeof name, "%s, %s", limit, of->variant);
        results_add_fact(&b->results, &b->bench, of->name, name, "peak above what is committed",
                         (double)above[i], "bytes", met);
    }
}

/* Times ---------------------------------------------------------------------------------------- */

/* What it is compared with: by hand with the same addresses, and copying. */
static const scheme *by_hand(const scheme *of)
{
    if (of == &scheme_vector || of == &scheme_raw_again) return &scheme_raw;
    if (of == &scheme_vector_extended) return &scheme_raw_extended;
    return of == &scheme_vector_moved ? &scheme_raw_moved : NULL;
}

static void report_total(grow_state *s, const trial *t, size_t i, const char *limit)
{
    memory_bench *b = s->b;
    const scheme *of = s->schemes[i];
    size_t last = FIRST_STEP + s->steps - 1, raw = TRIAL_SUBJECTS, copy = find(s, &scheme_copy);
    char variant[96];
    snprintf(variant, sizeof variant, "%s, %s", limit, of->variant);
    result *r = results_add(&b->results, &b->bench, of->name, variant, "all doublings");
    r->bytes = s->limit;
    r->count = s->steps;
    r->us = trial_spread(t, i, FIRST_STEP, last);
    if (by_hand(of) != NULL) raw = find(s, by_hand(of));
    if (raw < s->num_schemes)
        results_add_ratio(r, &b->bench, by_hand(of)->name,
                          trial_ratio(b, t, i, raw, FIRST_STEP, last),
                          of == &scheme_vector ? within_raw : 0.0);
    if (copy < s->num_schemes && copy != i && of != &scheme_copy_reserved)
        results_add_ratio(r, &b->bench, scheme_copy.name,
                          trial_ratio(b, t, i, copy, FIRST_STEP, last),
                          of == &scheme_vector ? of_copying : 0.0);
    results_print(&b->bench, r);
}

static void report_parts(grow_state *s, const trial *t, size_t i, const char *limit)
{
    memory_bench *b = s->b;
    const scheme *of = s->schemes[i];
    size_t raw = by_hand(of) != NULL ? find(s, by_hand(of)) : TRIAL_SUBJECTS;
    char variant[96];
    if (of->raw_again) return;
    snprintf(variant, sizeof variant, "%s, %s", limit, of->variant);
    for (size_t phase = OPEN; phase <= FIRST_STEP + s->steps; phase++) {
        bool step = phase != OPEN && phase != FIRST_STEP + s->steps;
        result *r = results_add(&b->results, &b->bench, of->name, variant,
                                step            ? "doubling"
                                : phase == OPEN ? "reserve"
                                                : "give all back");
        r->bytes = step ? s->first << (phase - FIRST_STEP) : s->limit;
        r->count = 1;
        r->us = trial_spread(t, i, phase, phase);
        if (!step && raw < s->num_schemes)
            results_add_ratio(r, &b->bench, by_hand(of)->name,
                              trial_ratio(b, t, i, raw, phase, phase), 0.0);
        if (!step) results_print(&b->bench, r);
    }
}

static void measure(grow_state *s, size_t least, double seconds)
{
    memory_bench *b = s->b;
    trial t;
    trial_setup setup = {
        .turn = turn, .state = s, .subjects = s->num_schemes, .least = least, .seconds = seconds};
    char limit[RESULTS_BYTES];
    results_bytes(limit, s->limit);
    s->first = b->granularity;
    for (uint64_t size = s->first; size <= s->limit; size *= 2)
        s->steps++;
    REQUIRE(s->steps <= MOST_STEPS);
    setup.phases = FIRST_STEP + s->steps + 1;
    /* Populating managed pages takes long. */
    for (size_t i = 0; i < s->num_schemes; i++)
        setup.every[i] = s->schemes[i]->managed ? 8 : 0;
    results_heading(&b->bench, limit);
    report_memory(s, limit);
    trial_run(b, &t, setup);
    for (size_t i = 0; i < s->num_schemes; i++)
        report_total(s, &t, i, limit);
    for (size_t i = 0; i < s->num_schemes; i++) {
        report_parts(s, &t, i, limit);
        if (s->schemes[i]->extends)
            results_add_fact(&b->results, &b->bench, s->schemes[i]->name, s->schemes[i]->variant,
                             "moves", (double)s->moves[i], "", NULL);
    }
    trial_end(&t);
}

static void add(grow_state *s, const scheme *added)
{
    REQUIRE(s->num_schemes < TRIAL_SUBJECTS);
    s->schemes[s->num_schemes++] = added;
}

static grow_state *begin(memory_bench *b, uint64_t limit)
{
    grow_state *s = calloc(1, sizeof *s);
    REQUIRE(s != NULL);
    s->b = b;
    s->limit = limit;
    return s;
}

void section_grow(memory_bench *b, const options *o)
{
    static const scheme *const all[] = {&scheme_vector,           &scheme_raw,
                                        &scheme_raw_again,        &scheme_copy,
                                        &scheme_copy_reserved,    &scheme_vector_extended,
                                        &scheme_raw_extended,     &scheme_vector_moved,
                                        &scheme_raw_moved,        &scheme_managed_copy,
                                        &scheme_managed_prefetch, &scheme_managed_reserved};
    bool managed = raw_has_managed(b);
    grow_state *s = begin(b, b->limit);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (!all[i]->managed || managed) add(s, all[i]);
    if (!managed)
        bench_left_out(&b->bench, "managed memory: the device has no concurrent managed access");
    measure(s, 20, 8.0);
    free(s);

    for (int gib = 16; o->large && gib <= 64; gib *= 4) {
        char why[96];
        if (!memory_fits(b, MEMORY_GIB(gib))) {
            snprintf(why, sizeof why, "%d GiB: so much memory is not free", gib);
            bench_left_out(&b->bench, why);
            continue;
        }
        bench_variant(&b->bench, "%d GiB", gib);
        s = begin(b, MEMORY_GIB(gib));
        add(s, &scheme_vector);
        add(s, &scheme_raw);
        add(s, &scheme_raw_again);
        /* The larger buffer, and the one half as large that is copied. */
        if (memory_fits(b, MEMORY_GIB(gib) / 2 * 3)) add(s, &scheme_copy);
        measure(s, 5, 2.0);
        free(s);
    }
}
