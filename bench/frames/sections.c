/* SPDX-License-Identifier: MIT */
/* The sections in which schemes take turns. See sections.h. */
#include "sections.h"

#include <stdio.h>
#include <string.h>

enum {
    RUN_US = 75000,
    QUICK_FRAMES = 24,
    SWEEP_ROUNDS = 3,
    WAITS_FRAMES = 12,
    BACK_ROUNDS = 2,
    TRIED_FRAMES = 96,
    CAMERAS = 32, /* a side of the picture: 1,024 draws */
    FEW_CAMERAS = 4,
    AUTO_SETTLES = 1200,
    AUTO_FRAMES = 400,
    BUS_BYTES_A_US = 25000
};

static const uint64_t mebibyte = UINT64_C(1) << 20;

workload options_workload(const options *o)
{
    return (workload){.bytes = o->bytes,
                      .solver_us = o->solver_us,
                      .renderer_us = o->renderer_us,
                      .work = o->work};
}

bool options_wants_scheme(const options *o, const scheme *wanted)
{
    for (size_t i = 0; i < o->num_schemes; i++)
        if (strcmp(o->schemes[i], wanted->name) == 0) return true;
    return o->num_schemes == 0;
}

/* Plans ---------------------------------------------------------------------------------------- */

/* Enough for 75 ms, or for a ring to go round twice. */
static uint32_t frames_of(const plan *p, const scheme *s, uint32_t depth)
{
    const options *o = p->options;
    double us = p->workload.solver_us + p->workload.renderer_us + 10.0;
    if (s == &scheme_staged) us += 2.0 * (double)p->workload.bytes / BUS_BYTES_A_US;
    uint32_t most = o->quick ? FRAMES_MAX / 8 : FRAMES_MAX, frames = (uint32_t)(RUN_US / us);
    if (o->frames != 0)
        frames = o->frames;
    else if (o->quick)
        frames = QUICK_FRAMES;
    if (frames < 2 * depth) frames = 2 * depth;
    return frames < most || (s->endless && o->frames != 0) ? frames : most;
}

static config *add(plan *p, const scheme *s, uint32_t depth, uint32_t burst)
{
    REQUIRE(p->count < PLAN_MAX);
    outcome *o = &p->outcomes[p->count++];
    memset(o, 0, sizeof *o);
    o->config = (config){.scheme = s,
                         .variant = "",
                         .depth = depth,
                         .burst = burst,
                         .frames = frames_of(p, s, depth)};
    return &o->config;
}

bool plan_begin(plan *p, frames_bench *b, const options *o, workload w, uint32_t slots,
                bool compute)
{
    memset(p, 0, sizeof *p);
    p->options = o;
    p->workload = w;
    if (!frames_slots(b, slots, w.bytes)) {
        char size[RESULTS_BYTES], reason[96];
        snprintf(reason, sizeof reason, "no room for %u frames of %s", slots,
                 results_bytes(size, w.bytes));
        bench_left_out(&b->bench, reason);
        return false;
    }
    exits_watch(120, "calibrating the loads");
    frames_calibrate(b, &p->workload, compute);
    add(p, &scheme_solver_alone, 1, 1);
    add(p, &scheme_renderer_alone, 1, 1);
    return true;
}

config *plan_add(plan *p, const scheme *s, uint32_t depth, uint32_t burst)
{
    return options_wants_scheme(p->options, s) ? add(p, s, depth, burst) : NULL;
}

void plan_run(plan *p, frames_bench *b, results *all, const char *section, size_t rounds)
{
    frames_measure(b, &p->workload, p->outcomes, p->count, rounds);
    results_add(all, b, section, &p->workload, p->outcomes, p->count);
    for (size_t i = 0; i < p->count; i++)
        outcome_free(&p->outcomes[i]);
}

/* Sections ------------------------------------------------------------------------------------- */

/* The solver in Vulkan's queues, as frames follow each other and with a host that waits for each
 * one; beside that CUDA's stream and timelines, with such a host. A run of very many frames is for
 * their checks: it has one of each. */
static void add_queues(plan *p, uint32_t slots)
{
    static const scheme *const waiting[] = {&scheme_raw, &scheme_raw_in_queue, &scheme_in_queue};
    bool many = p->options->frames > FRAMES_MAX;
    plan_add(p, &scheme_raw_in_queue, 1, 1);
    plan_add(p, &scheme_in_queue, 1, 1);
    for (uint32_t depth = 1; depth <= 4 && depth <= slots; depth *= 2) {
        if (many && depth != 2) continue;
        plan_add(p, &scheme_raw_async, depth, 1);
        plan_add(p, &scheme_async, depth, 1);
    }
    if (many) return;
    for (size_t i = 0; i < sizeof waiting / sizeof waiting[0]; i++) {
        config *c = plan_add(p, waiting[i], 1, 1);
        if (c == NULL) continue;
        c->variant = "host waits";
        c->tuning.host_waits = true;
    }
}

void section_frames(frames_bench *b, const options *o, results *all)
{
    static plan p;
    uint32_t most = 1;
    for (size_t i = 0; i < o->num_depths; i++)
        if (o->depths[i] > most) most = o->depths[i];
    if (!plan_begin(&p, b, o, options_workload(o), most, false)) return;
    plan_add(&p, &scheme_host_waits, 1, 1);
    plan_add(&p, &scheme_staged, most < 4 ? most : 4, 1);
    for (size_t burst = 0; burst < o->num_bursts; burst++)
        for (size_t depth = 0; depth < o->num_depths; depth++) {
            if (o->bursts[burst] > o->depths[depth]) continue;
            plan_add(&p, &scheme_raw, o->depths[depth], o->bursts[burst]);
            plan_add(&p, &scheme_ring, o->depths[depth], o->bursts[burst]);
        }
    add_queues(&p, most);
    plan_run(&p, b, all, "frames", o->rounds);
}

/* What the GPU does at once depends on what it is given: a solver that fills every multiprocessor
 * until its end may leave the renderer no room. The section before has such a one; these leave
 * room. */
void section_overlap(frames_bench *b, const options *o, results *all)
{
    static plan p;
    const uint32_t slots = 4;
    for (int i = 0; i < SOLVER_WORKS; i++) {
        workload w = options_workload(o);
        w.work = (solver_work)i;
        if (w.work == o->work) continue;
        if (!plan_begin(&p, b, o, w, slots, false)) return;
        plan_add(&p, &scheme_raw, 1, 1);
        add_queues(&p, slots);
        plan_run(&p, b, all, "overlap", o->rounds);
    }
}

void section_graphs(frames_bench *b, const options *o, results *all)
{
    static const uint32_t rings[][2] = {{1, 1}, {4, 1}, {4, 4}, {8, 8}, {16, 8}, {16, 16}};
    const scheme *const schemes[] = {&scheme_raw, &scheme_raw_graphs, &scheme_ring,
                                     &scheme_ring_graphs};
    static plan p;
    const uint32_t deepest = o->quick ? 4 : 16;
    if (!plan_begin(&p, b, o, options_workload(o), deepest, false)) return;
    for (size_t i = 0; i < sizeof rings / sizeof rings[0]; i++)
        for (size_t k = 0; k < sizeof schemes / sizeof schemes[0] && rings[i][0] <= deepest; k++) {
            config *c = plan_add(&p, schemes[k], rings[i][0], rings[i][1]);
            /* A graph has a whole burst. */
            if (c != NULL) c->frames -= c->frames % c->burst;
        }
    plan_run(&p, b, all, "graphs", o->rounds < SWEEP_ROUNDS ? o->rounds : SWEEP_ROUNDS);
}

/* The few that are compared over sizes and loads. */
static void sweep(frames_bench *b, const options *o, results *all, const char *section, workload w)
{
    static plan p;
    const uint32_t deep = o->quick ? 4 : 16;
    if (!plan_begin(&p, b, o, w, deep, false)) return;
    plan_add(&p, &scheme_host_waits, 1, 1);
    plan_add(&p, &scheme_staged, 4, 1);
    plan_add(&p, &scheme_raw, 1, 1);
    plan_add(&p, &scheme_raw, deep / 2, 1);
    plan_add(&p, &scheme_ring, deep / 2, 1);
    plan_add(&p, &scheme_raw, deep, deep);
    plan_add(&p, &scheme_ring, deep, deep);
    plan_add(&p, &scheme_raw_in_queue, 1, 1);
    plan_add(&p, &scheme_in_queue, 1, 1);
    plan_add(&p, &scheme_raw_async, 2, 1);
    plan_add(&p, &scheme_async, 2, 1);
    size_t rounds = w.solver_us + w.renderer_us > 3000.0 ? SWEEP_ROUNDS - 1 : SWEEP_ROUNDS;
    plan_run(&p, b, all, section, o->rounds < rounds ? o->rounds : rounds);
}

void section_sizes(frames_bench *b, const options *o, results *all)
{
    static const uint64_t sizes[] = {1, 4, 16, 64, 256, 1024};
    size_t count = o->quick                        ? 1
                   : b->bench.rig.caps.is_software ? 3
                                                   : sizeof sizes / sizeof sizes[0];
    for (size_t i = 0; i < count; i++) {
        workload w = options_workload(o);
        w.bytes = sizes[i] * mebibyte;
        sweep(b, o, all, "sizes", w);
    }
}

void section_loads(frames_bench *b, const options *o, results *all)
{
    static const double loads[][2] = {{20, 20},   {20, 500},    {500, 20},
                                      {500, 500}, {2000, 2000}, {5000, 5000}};
    size_t count = o->quick                        ? 1
                   : b->bench.rig.caps.is_software ? 4
                                                   : sizeof loads / sizeof loads[0];
    for (size_t i = 0; i < count; i++) {
        workload w = options_workload(o);
        w.solver_us = loads[i][0];
        w.renderer_us = loads[i][1];
        sweep(b, o, all, "loads", w);
    }
}

/* Who waits, and where: the GPU, the host in place of a stream, of a queue, or of both. */
static void add_hosts(plan *p, const scheme *ring, uint32_t depth)
{
    static const struct {
        const char *variant;
        tuning how;
    } ways[] = {{"", {0}},
                {results_host_for_cuda, {.solver_late = true}},
                {"Vulkan waits on the host", {.renderer_late = true}},
                {"both wait on the host", {.solver_late = true, .renderer_late = true}}};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        if (p->options->choice && ways[i].how.renderer_late) continue;
        config *c = plan_add(p, ring, depth, 1);
        if (c == NULL) continue;
        c->variant = ways[i].variant;
        c->tuning = ways[i].how;
    }
}

static void add_waits(plan *p, uint32_t slots)
{
    if (!p->options->choice) plan_add(p, &scheme_host_waits, 1, 1);
    for (uint32_t depth = 1; depth <= slots; depth++) {
        add_hosts(p, &scheme_ring, depth);
        if (p->options->choice) continue;
        plan_add(p, &scheme_raw, depth, 1);
        plan_add(p, &scheme_raw_async, depth, 1);
        plan_add(p, &scheme_async, depth, 1);
    }
    if (p->options->choice) return;
    plan_add(p, &scheme_raw_in_queue, 1, 1);
    plan_add(p, &scheme_in_queue, 1, 1);
}

/* What the ring chooses, once it has tried: 2 s, or as many frames as its tries take. Then as many
 * frames as other ways have: where all begins and ends, they cost less. */
static void add_automatic(plan *p, const scheme *ring, const options *o, const workload *w,
                          uint32_t slots)
{
    config *c = plan_add(p, ring, slots, 1);
    if (c == NULL) return;
    const double frames = 2e6 / (w->solver_us + w->renderer_us);
    c->variant = "the ring chooses";
    c->automatic = true;
    c->settle = o->quick ? 64 : frames > TRIED_FRAMES ? (uint32_t)frames : TRIED_FRAMES;
    c->frames = o->quick ? 16 : c->frames < WAITS_FRAMES ? WAITS_FRAMES : c->frames;
    c->frames += c->settle;
}

void section_waits(frames_bench *b, const options *o, results *all)
{
    static const struct {
        double solver, renderer;
        uint32_t parts;
    } loads[] = {{100, 100, 1},           {1000, 1000, 1},       {5000, 5000, 1},
                 {20000, 20000, 1},       {1000, 20000, 1},      {20000, 1000, 1},
                 {100, 20000, 1},         {20000, 100, 1},       {5000, 5000, CAMERAS},
                 {20000, 20000, CAMERAS}, {1000, 20000, CAMERAS}};
    static plan p;
    const bool few = o->quick || b->bench.rig.caps.is_software;
    uint32_t parts = 0;
    for (size_t i = 0; i < sizeof loads / sizeof loads[0]; i++) {
        workload w = options_workload(o);
        w.solver_us = loads[i].solver;
        w.renderer_us = loads[i].renderer;
        w.parts = loads[i].parts;
        /* Elsewhere than on a GPU: the first, and one of many draws, to see that they work. */
        if (few && loads[i].parts == parts) continue; /* one of each, to see that they work */
        parts = loads[i].parts;
        if (o->choice && parts > 1) continue; /* the ring chooses nothing there */
        if (few && parts > 1) w.parts = FEW_CAMERAS;
        if (!plan_begin(&p, b, o, w, o->quick ? 2 : 3, false)) return;
        add_waits(&p, o->quick ? 2 : 3);
        /* Its command buffers are recorded as frames go, which takes long with so many draws. */
        if (w.parts == 1) add_automatic(&p, &scheme_ring, o, &w, o->quick ? 2 : 3);
        for (size_t k = 0; k < p.count; k++) /* enough for what repeats from frame to frame */
            if (p.outcomes[k].config.frames < WAITS_FRAMES)
                p.outcomes[k].config.frames = WAITS_FRAMES;
        plan_run(&p, b, all, "waits", o->rounds < SWEEP_ROUNDS ? o->rounds : SWEEP_ROUNDS);
    }
}

/* The other direction: Vulkan draws and writes, CUDA reads. */
void section_backwards(frames_bench *b, const options *o, results *all)
{
    static const struct {
        double solver, renderer;
        uint32_t parts;
    } loads[] = {{1000, 1000, 1},  {5000, 5000, 1},  {20000, 20000, 1},
                 {1000, 20000, 1}, {20000, 1000, 1}, {5000, 5000, CAMERAS}};
    static plan p;
    const bool few = o->quick || b->bench.rig.caps.is_software;
    const uint32_t slots = o->quick ? 2 : 3;
    for (size_t i = 0; i < (few ? 1 : sizeof loads / sizeof loads[0]); i++) {
        workload w = options_workload(o);
        w.solver_us = loads[i].solver;
        w.renderer_us = loads[i].renderer;
        w.parts = loads[i].parts;
        w.back = true;
        if (o->choice && w.parts > 1) continue; /* the ring chooses nothing there */
        if (!plan_begin(&p, b, o, w, slots, false)) return;
        if (!o->choice) plan_add(&p, &scheme_back_host_waits, 1, 1);
        for (uint32_t depth = 1; depth <= slots; depth++)
            add_hosts(&p, &scheme_back_ring, depth);
        if (!o->choice) plan_add(&p, &scheme_back_in_queue, 1, 1);
        if (w.parts == 1) add_automatic(&p, &scheme_back_ring, o, &w, slots);
        for (size_t k = 0; k < p.count; k++)
            if (p.outcomes[k].config.frames < WAITS_FRAMES)
                p.outcomes[k].config.frames = WAITS_FRAMES;
        plan_run(&p, b, all, "backwards", o->rounds < BACK_ROUNDS ? o->rounds : BACK_ROUNDS);
    }
}

/* Each bound against the best fixed choice that kept it. */
static void print_bounds(const frames_bench *b, const results *all, size_t from)
{
    FILE *out = b->bench.text;
    for (size_t i = from; i < all->num && out != NULL; i++) {
        const result *r = &all->all[i];
        double bound = (double)r->max_latency * 1e-3;
        if (r->max_latency == 0 || r->us.n == 0) continue;
        const result *best = results_best(all, "latency", scheme_ring.name, bound, 1.0);
        fprintf(out,
                "  within %.1f ms: depth %u and burst %u, %.1f us a frame, 99 %% within %.2f ms; ",
                bound * 1e-3, r->depth, r->burst, r->us.median, r->age_p99 * 1e-3);
        if (best == NULL)
            fprintf(out, "no fixed choice keeps it\n");
        else
            fprintf(out, "best fixed: depth %u, burst %u, %.1f us: %.3f of it\n", best->depth,
                    best->burst, best->us.median, r->us.median / best->us.median);
    }
}

void section_latency(frames_bench *b, const options *o, results *all)
{
    static const uint32_t fixed[][2] = {
        {1, 1}, {2, 1}, {3, 1}, {4, 1},  {6, 1},   {8, 1},  {4, 2},   {8, 2},   {6, 3},  {4, 4},
        {8, 4}, {6, 6}, {8, 8}, {12, 6}, {12, 12}, {16, 8}, {16, 16}, {32, 16}, {32, 32}};
    static const double bounds[] = {1.0, 2.0, 4.0, 8.0, 16.0};
    static plan p;
    static char names[sizeof bounds / sizeof bounds[0]][24];
    const uint32_t deep = o->quick ? 4 : 32;
    size_t from = all->num;
    if (!options_wants_scheme(o, &scheme_ring)) return;
    if (!plan_begin(&p, b, o, options_workload(o), deep, false)) return;
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
        if (fixed[i][0] <= deep) plan_add(&p, &scheme_ring, fixed[i][0], fixed[i][1]);
    /* The bounds are those of 287 us a frame; others are stretched alike. */
    double scale = (o->solver_us + o->renderer_us) / 287.0;
    for (size_t i = 0; i < (o->quick ? 2 : sizeof bounds / sizeof bounds[0]); i++) {
        config *c = plan_add(&p, &scheme_ring, deep, 1);
        c->max_latency = (uint64_t)(bounds[i] * scale * 1e6);
        c->settle = o->quick ? 64 : AUTO_SETTLES;
        c->frames = c->settle + (o->quick ? 32 : AUTO_FRAMES);
        snprintf(names[i], sizeof names[i], "within %.1f ms", bounds[i] * scale);
        c->variant = names[i];
    }
    plan_run(&p, b, all, "latency", o->rounds < SWEEP_ROUNDS ? o->rounds : SWEEP_ROUNDS);
    print_bounds(b, all, from);
}
