/* SPDX-License-Identifier: MIT */
/* A vector as large as the memory allows, up to 64 GiB, that grows by doubling and copies
 * nothing. */
#include "growable.h"
#include "sections.h"
#include "trial.h"

#include <stdlib.h>

enum { DOUBLINGS, CLOSE, PHASES, SUBJECTS = 2 };

typedef struct large_state {
    memory_bench *b;
    uint64_t limit;
    size_t steps;
    uint64_t moves, extensions;
    growable g;
} large_state;

/* The first and the last word of what each doubling brought. */
static void check_words(memory_bench *b, const growable *g, uint64_t first)
{
    uint64_t from = 0;
    for (uint64_t size = first; size <= g->size; size *= 2) {
        memory_check_word(b, g->pointer, from, "after a doubling");
        memory_check_word(b, g->pointer, size - 4, "after a doubling");
        from = size;
    }
}

static void turn(void *state, size_t subject, double ns[])
{
    static const scheme *const schemes[SUBJECTS] = {&scheme_vector, &scheme_raw};
    large_state *s = state;
    memory_bench *b = s->b;
    growable *g = &s->g;
    uint64_t filled = 0;
    *g = (growable){.b = b, .scheme = schemes[subject], .limit = s->limit};
    g->scheme->open(g, b->granularity);
    CUdeviceptr begin = g->pointer;
    s->steps = 0;
    for (uint64_t size = b->granularity; size <= s->limit; size *= 2) {
        double begun = bench_now();
        g->scheme->grow(g, size);
        ns[DOUBLINGS] += bench_now() - begun;
        REQUIRE_EQ(g->pointer, begin);
        memory_fill(b, g->pointer, filled, size);
        filled = size;
        check_words(b, g, b->granularity);
        s->steps++;
    }
    memory_check(b, g->pointer, 0, s->limit, g->scheme->name);
    if (g->vector != NULL) {
        culv_vector_stats stats = culv_vector_stats_init();
        CULV_OK_OR_EXIT(culv_vector_get_stats(g->vector, &stats));
        s->moves = stats.moves;
        s->extensions = stats.extensions;
    }
    double begun = bench_now();
    g->scheme->close(g);
    ns[CLOSE] = bench_now() - begun;
}

static void report(large_state *s, const trial *t)
{
    static const char *const names[SUBJECTS] = {"culv_vector", "raw VMM"};
    static const char *const whats[PHASES] = {"all doublings", "give all back"};
    memory_bench *b = s->b;
    for (size_t subject = 0; subject < SUBJECTS; subject++) {
        for (size_t phase = 0; phase < PHASES; phase++) {
            result *r =
                results_add(&b->results, &b->bench, names[subject], "reserved", whats[phase]);
            r->bytes = s->limit;
            r->count = phase == DOUBLINGS ? s->steps : 1;
            r->us = trial_spread(t, subject, phase, phase);
            if (subject == 0)
                results_add_ratio(r, &b->bench, names[1], trial_ratio(b, t, 0, 1, phase, phase),
                                  0.0);
            results_print(&b->bench, r);
        }
    }
    /* Its address stayed, and every word is there. */
    const char *met =
        results_judged(&b->bench) ? s->limit >= MEMORY_GIB(64) ? "yes" : "open" : NULL;
    results_add_fact(&b->results, &b->bench, names[0], "reserved", "size", (double)s->limit,
                     "bytes", met);
    results_add_fact(&b->results, &b->bench, names[0], "reserved", "moves", (double)s->moves, "",
                     NULL);
    results_add_fact(&b->results, &b->bench, names[0], "reserved", "extensions",
                     (double)s->extensions, "", NULL);
}

void section_large(memory_bench *b, const options *o)
{
    large_state *s = calloc(1, sizeof *s);
    trial t;
    char bytes[RESULTS_BYTES];
    REQUIRE(s != NULL);
    (void)o;
    s->b = b;
    s->limit = b->bench.rig.caps.is_software || b->bench.quick ? b->limit : MEMORY_GIB(64);
    while (s->limit > b->limit && !memory_fits(b, s->limit))
        s->limit /= 2;
    results_heading(&b->bench, results_bytes(bytes, s->limit));
    trial_run(b, &t,
              (trial_setup){.turn = turn,
                            .state = s,
                            .subjects = SUBJECTS,
                            .phases = PHASES,
                            .least = 8,
                            .seconds = 2.0});
    report(s, &t);
    trial_end(&t);
    free(s);
}
