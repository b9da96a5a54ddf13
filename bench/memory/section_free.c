/* SPDX-License-Identifier: MIT */
/* Memory that is given back while another stream's kernels run: how long the call takes, and how
 * long they stand still. */
#include "growable.h"
#include "pulses.h"
#include "sections.h"
#include "trial.h"

#include <stdlib.h>
#include <string.h>

enum { PULSES = 800, QUICK_PULSES = 160 };
enum { CALL, SETTLE, STILL, ROW, PHASES };

typedef enum method {
    NOTHING,
    FREE,
    FREE_ASYNC,
    UNMAP,      /* one chunk */
    UNMAP_MANY, /* chunks of the granularity */
    SHRINK,     /* one chunk */
    SHRINK_MANY,
    FREE_MANAGED,
    METHODS
} method;

static const struct {
    const char *scheme, *variant, *settled; /* what the second part is; NULL: there is none */
} methods[METHODS] = {
    [NOTHING] = {"nothing", "", NULL},
    [FREE] = {"cuMemFree", "", NULL},
    [FREE_ASYNC] = {"cuMemFreeAsync", "", "cuStreamSynchronize"},
    [UNMAP] = {"cuMemUnmap + cuMemRelease", "one chunk", NULL},
    [UNMAP_MANY] = {"cuMemUnmap + cuMemRelease", "small chunks", NULL},
    [SHRINK] = {"culv_vector_shrink", "one chunk", "culv_device_collect"},
    [SHRINK_MANY] = {"culv_vector_shrink", "small chunks", "culv_device_collect"},
    [FREE_MANAGED] = {"cuMemFree of managed memory", "", NULL},
};

typedef struct free_state {
    memory_bench *b;
    uint64_t bytes;
    size_t num_subjects;
    method subjects[METHODS];
    pulses pulses;
    culv_vector *vector;
    CUdeviceptr pointer;
    growable g;
} free_state;

static void prepare_chunks(free_state *s, uint64_t chunk)
{
    growable *g = &s->g;
    *g = (growable){.b = s->b};
    g->pointer = s->pointer = raw_reserve(s->b, s->bytes, 0);
    while (g->committed < s->bytes)
        growable_raw_chunk(g, chunk);
}

static void prepare_vector(free_state *s, uint64_t chunk)
{
    culv_vector_desc desc = culv_vector_desc_init();
    desc.size = desc.reserve = s->bytes;
    desc.min_chunk = desc.max_chunk = chunk;
    s->vector = growable_vector(s->b, &desc);
    s->pointer = culv_vector_pointer(s->vector);
}

static void prepare(free_state *s, method m)
{
    memory_bench *b = s->b;
    const rig *r = &b->bench.rig;
    uint64_t small = b->granularity;
    switch (m) {
    case FREE: s->pointer = raw_alloc(b, s->bytes); break;
    case FREE_ASYNC:
        RIG_CU(b->procs.MemAllocAsync(&s->pointer, (size_t)s->bytes, r->stream));
        b->tally.made++;
        break;
    case FREE_MANAGED: s->pointer = raw_alloc_managed(b, s->bytes); break;
    case UNMAP:
    case UNMAP_MANY: prepare_chunks(s, m == UNMAP ? s->bytes : small); break;
    case SHRINK:
    case SHRINK_MANY: prepare_vector(s, m == SHRINK ? s->bytes : small); break;
    default: return;
    }
    memory_fill(b, s->pointer, 0, s->bytes);
    memory_check(b, s->pointer, 0, s->bytes, methods[m].scheme);
}

static void give_back(free_state *s, method m)
{
    memory_bench *b = s->b;
    switch (m) {
    case FREE:
    case FREE_MANAGED: raw_free(b, s->pointer); break;
    case FREE_ASYNC:
        RIG_CU(b->procs.MemFreeAsync(s->pointer, b->bench.rig.stream));
        b->tally.freed++;
        break;
    case UNMAP:
    case UNMAP_MANY: growable_raw_unmap(&s->g); break;
    case SHRINK:
    case SHRINK_MANY: CULV_OK_OR_EXIT(culv_vector_shrink(s->vector, 0, b->bench.rig.stream)); break;
    default: break;
    }
}

/* What was deferred is given back in truth. */
static void settle(free_state *s, method m)
{
    if (m == FREE_ASYNC) RIG_CU(s->b->bench.rig.cu->StreamSynchronize(s->b->bench.rig.stream));
    if (m == SHRINK || m == SHRINK_MANY) memory_collect(s->b);
}

static void turn(void *state, size_t subject, double ns[])
{
    free_state *s = state;
    method m = s->subjects[subject];
    prepare(s, m);
    pulses_begin(&s->pulses);
    double begun = bench_now();
    give_back(s, m);
    double called = bench_now();
    settle(s, m);
    ns[SETTLE] = bench_now() - called;
    ns[CALL] = called - begun;
    pulses_end(&s->pulses, &ns[ROW], &ns[STILL]);
    /* Its addresses. */
    if (m == UNMAP || m == UNMAP_MANY) raw_unreserve(s->b, s->pointer, s->bytes);
    culv_vector_destroy(&s->vector);
}

static void report(free_state *s, const trial *t, size_t subject)
{
    static const char *const whats[PHASES] = {"call", NULL, "other stream still",
                                              "other stream's row"};
    memory_bench *b = s->b;
    method m = s->subjects[subject];
    for (size_t phase = 0; phase < PHASES; phase++) {
        if (phase == SETTLE && methods[m].settled == NULL) continue;
        if (phase == CALL && m == NOTHING) continue;
        result *r = results_add(&b->results, &b->bench, methods[m].scheme, methods[m].variant,
                                phase == SETTLE ? methods[m].settled : whats[phase]);
        r->bytes = s->bytes;
        r->count = phase == ROW ? s->pulses.count : 1;
        r->us = trial_spread(t, subject, phase, phase);
        r->most = trial_most(t, subject, phase);
        if (phase == ROW && m != NOTHING)
            results_add_ratio(r, &b->bench, methods[NOTHING].scheme,
                              trial_ratio(b, t, subject, 0, phase, phase), 0.0);
        results_print(&b->bench, r);
    }
}

void section_free(memory_bench *b, const options *o)
{
    free_state *s = calloc(1, sizeof *s);
    trial t;
    char heading[96], bytes[RESULTS_BYTES];
    REQUIRE(s != NULL);
    (void)o;
    s->b = b;
    s->bytes = b->limit / 4;
    for (size_t m = 0; m < METHODS; m++) {
        bool there = m == FREE_ASYNC
                         ? b->procs.MemAllocAsync != NULL && b->procs.MemFreeAsync != NULL
                     : m == FREE_MANAGED ? raw_has_managed(b)
                                         : true;
        if (there)
            s->subjects[s->num_subjects++] = (method)m;
        else
            bench_left_out(&b->bench,
                           m == FREE_MANAGED
                               ? "managed memory: the device has no concurrent managed access"
                               : "cuMemFreeAsync: the driver has none");
    }
    pulses_open(&s->pulses, b, b->bench.quick ? QUICK_PULSES : PULSES);
    snprintf(heading, sizeof heading, "%s beside %u kernels of %d us",
             results_bytes(bytes, s->bytes), (unsigned)s->pulses.count, PULSES_US);
    results_heading(&b->bench, heading);
    trial_run(b, &t,
              (trial_setup){.turn = turn,
                            .state = s,
                            .subjects = s->num_subjects,
                            .phases = PHASES,
                            .least = 15,
                            .seconds = 5.0});
    for (size_t i = 0; i < s->num_subjects; i++)
        report(s, &t, i);
    trial_end(&t);
    pulses_close(&s->pulses);
    free(s);
}
