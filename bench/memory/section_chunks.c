/* SPDX-License-Identifier: MIT */
/* A buffer that grows by small steps, under policies for the sizes of its chunks. */
#include "growable.h"
#include "sections.h"
#include "trial.h"

#include <stdlib.h>

enum { GROW, SLOWEST, SHRINK, COLLECT, PHASES };

typedef struct policy {
    uint32_t growth_percent;
    uint64_t min_chunk;
    char name[40];
    size_t num_chunks;
    uint64_t sizes[GROWABLE_CHUNKS]; /* of its chunks, in order: what is done by hand, too */
} policy;

enum { POLICIES = 6, SIDES = 2 };

typedef struct chunks_state {
    memory_bench *b;
    uint64_t step, limit;
    policy policies[POLICIES];
    growable g;
} chunks_state;

static culv_vector *open_vector(const chunks_state *s, const policy *p)
{
    culv_vector_desc desc = culv_vector_desc_init();
    desc.reserve = 2 * s->limit; /* the last chunk may go beyond the end */
    desc.growth_percent = p->growth_percent;
    desc.min_chunk = p->min_chunk;
    return growable_vector(s->b, &desc);
}

static void note(double begun, double ns[])
{
    double took = bench_now() - begun;
    ns[GROW] += took;
    if (took > ns[SLOWEST]) ns[SLOWEST] = took;
}

static void by_vector(chunks_state *s, policy *p, double ns[])
{
    memory_bench *b = s->b;
    culv_vector *vector = open_vector(s, p);
    for (uint64_t size = s->step; size <= s->limit; size += s->step) {
        double begun = bench_now();
        CULV_OK_OR_EXIT(culv_vector_grow(vector, size));
        note(begun, ns);
    }
    memory_fill(b, culv_vector_pointer(vector), 0, s->limit);
    memory_check(b, culv_vector_pointer(vector), 0, s->limit, p->name);
    if (p->num_chunks == 0) {
        culv_vector_chunk chunks[GROWABLE_CHUNKS];
        CULV_OK_OR_EXIT(
            culv_vector_get_chunks(vector, chunks, GROWABLE_CHUNKS, &p->num_chunks, NULL));
        REQUIRE(p->num_chunks <= GROWABLE_CHUNKS);
        for (size_t i = 0; i < p->num_chunks; i++)
            p->sizes[i] = chunks[i].size;
    }
    double begun = bench_now();
    CULV_OK_OR_EXIT(culv_vector_shrink(vector, 0, b->bench.rig.stream));
    double shrunk = bench_now();
    memory_collect(b);
    ns[COLLECT] = bench_now() - shrunk;
    ns[SHRINK] = shrunk - begun;
    REQUIRE_EQ(culv_vector_committed(vector), 0);
    culv_vector_destroy(&vector);
}

static void by_hand(chunks_state *s, const policy *p, double ns[])
{
    memory_bench *b = s->b;
    growable *g = &s->g;
    *g = (growable){.b = b};
    g->pointer = raw_reserve(b, 2 * s->limit, 0);
    for (uint64_t size = s->step; size <= s->limit; size += s->step) {
        double begun = bench_now();
        if (size > g->committed) growable_raw_chunk(g, p->sizes[g->num_chunks]);
        note(begun, ns);
    }
    REQUIRE_EQ(g->num_chunks, p->num_chunks);
    memory_fill(b, g->pointer, 0, s->limit);
    memory_check(b, g->pointer, 0, s->limit, "by hand");
    double begun = bench_now();
    RIG_CU(b->bench.rig.cu->StreamSynchronize(b->bench.rig.stream));
    growable_raw_unmap(g);
    ns[COLLECT] = bench_now() - begun;
    raw_unreserve(b, g->pointer, 2 * s->limit);
}

static void turn(void *state, size_t subject, double ns[])
{
    chunks_state *s = state;
    policy *p = &s->policies[subject / SIDES];
    if (subject % SIDES == 0)
        by_vector(s, p, ns);
    else
        by_hand(s, p, ns);
}

static void report(chunks_state *s, const trial *t, size_t subject)
{
    static const char *const names[SIDES] = {"culv_vector", "raw VMM"};
    memory_bench *b = s->b;
    const policy *p = &s->policies[subject / SIDES];
    size_t side = subject % SIDES;
    const char *name = names[side];
    result *r = results_add(&b->results, &b->bench, name, p->name, "all grow calls");
    r->bytes = s->limit;
    r->count = s->limit / s->step;
    r->us = trial_spread(t, subject, GROW, GROW);
    if (side == 0)
        results_add_ratio(r, &b->bench, names[1],
                          trial_ratio(b, t, subject, subject + 1, GROW, GROW), 0.0);
    results_print(&b->bench, r);
    r = results_add(&b->results, &b->bench, name, p->name, "slowest grow call");
    r->bytes = s->limit;
    r->count = 1;
    r->us = trial_spread(t, subject, SLOWEST, SLOWEST);
    results_print(&b->bench, r);
    if (side == 0) {
        r = results_add(&b->results, &b->bench, name, p->name, "shrink call");
        r->bytes = s->limit;
        r->count = 1;
        r->us = trial_spread(t, subject, SHRINK, SHRINK);
        results_print(&b->bench, r);
    }
    r = results_add(&b->results, &b->bench, name, p->name, "unmap and release");
    r->bytes = s->limit;
    r->count = p->num_chunks;
    r->us = trial_spread(t, subject, COLLECT, COLLECT);
    if (side == 0)
        results_add_ratio(r, &b->bench, names[1],
                          trial_ratio(b, t, subject, subject + 1, SHRINK, COLLECT), 0.0);
    results_print(&b->bench, r);
    if (side == 0)
        results_add_fact(&b->results, &b->bench, name, p->name, "chunks", (double)p->num_chunks, "",
                         NULL);
}

void section_chunks(memory_bench *b, const options *o)
{
    static const uint32_t percents[] = {0, 50, 100};
    chunks_state *s = calloc(1, sizeof *s);
    trial t;
    char bytes[RESULTS_BYTES];
    REQUIRE(s != NULL);
    (void)o;
    s->b = b;
    s->limit = b->limit;
    s->step = b->granularity;
    uint64_t large = s->limit >= MEMORY_MIB(256) ? MEMORY_MIB(32) : MEMORY_MIB(8);
    for (size_t i = 0; i < POLICIES; i++) {
        policy *p = &s->policies[i];
        p->growth_percent = percents[i % 3];
        p->min_chunk = i < 3 ? b->granularity : large;
        snprintf(p->name, sizeof p->name, "growth_percent %u, min_chunk %s",
                 (unsigned)p->growth_percent, results_bytes(bytes, p->min_chunk));
        double ns[PHASES] = {0};
        by_vector(s, p, ns); /* the chunks that are made by hand */
    }
    results_heading(&b->bench, "in steps of the granularity");
    trial_run(b, &t,
              (trial_setup){.turn = turn,
                            .state = s,
                            .subjects = POLICIES * SIDES,
                            .phases = PHASES,
                            .least = 12,
                            .seconds = 3.0});
    for (size_t i = 0; i < POLICIES * SIDES; i++)
        report(s, &t, i);
    trial_end(&t);
    free(s);
}
