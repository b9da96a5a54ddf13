/* SPDX-License-Identifier: MIT */
/* The table of what is measured, and the ways that take turns in each row. See sections.h. */
#include "sections.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    RUN_US = 75000,
    QUICK_FRAMES = 24,
    WAITS_FRAMES = 12, /* enough for what repeats from frame to frame */
    CAMERAS = 32,      /* a side of the picture: 1,024 draws */
    FEW_CAMERAS = 4,
    AUTO_SETTLES = 1200,
    AUTO_FRAMES = 400
};

/* Plans ---------------------------------------------------------------------------------------- */

static bool wanted(const options *o, const scheme *s)
{
    for (size_t i = 0; i < o->num_schemes; i++)
        if (strcmp(o->schemes[i], s->name) == 0) return true;
    return o->num_schemes == 0;
}

/* Enough for 75 ms, or for a ring to go round twice. */
static uint32_t frames_of(const plan *p, const scheme *s, uint32_t depth)
{
    const options *o = p->options;
    double us = p->workload.solver_us + p->workload.renderer_us + 10.0;
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

config *plan_add(plan *p, const scheme *s, uint32_t depth, uint32_t burst)
{
    return wanted(p->options, s) ? add(p, s, depth, burst) : NULL;
}

/* Ways ----------------------------------------------------------------------------------------- */

/* The solver in Vulkan's queues, as frames follow each other and with a host that waits for each
 * one; beside that CUDA's stream and timelines, with such a host. A run of very many frames is for
 * their checks: it has one of each. */
static void queue_ways(plan *p)
{
    static const scheme *const waiting[] = {&scheme_raw, &scheme_raw_in_queue, &scheme_in_queue};
    bool many = p->options->frames > FRAMES_MAX;
    plan_add(p, &scheme_raw_in_queue, 1, 1);
    plan_add(p, &scheme_in_queue, 1, 1);
    for (uint32_t depth = 1; depth <= 4 && depth <= p->slots; depth *= 2) {
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

static void all_ways(plan *p)
{
    const options *o = p->options;
    plan_add(p, &scheme_host_waits, 1, 1);
    for (size_t burst = 0; burst < o->num_bursts; burst++)
        for (size_t depth = 0; depth < o->num_depths; depth++) {
            if (o->bursts[burst] > o->depths[depth]) continue;
            plan_add(p, &scheme_raw, o->depths[depth], o->bursts[burst]);
            plan_add(p, &scheme_ring, o->depths[depth], o->bursts[burst]);
        }
    queue_ways(p);
}

/* What the GPU does at once depends on what it is given: a solver that fills every multiprocessor
 * until its end may leave the renderer no room. */
static void overlap_ways(plan *p)
{
    plan_add(p, &scheme_raw, 1, 1);
    queue_ways(p);
}

/* The few that are compared over sizes and loads. */
static void main_ways(plan *p)
{
    plan_add(p, &scheme_host_waits, 1, 1);
    plan_add(p, &scheme_raw, 1, 1);
    plan_add(p, &scheme_raw, p->slots / 2, 1);
    plan_add(p, &scheme_ring, p->slots / 2, 1);
    plan_add(p, &scheme_raw, p->slots, p->slots);
    plan_add(p, &scheme_ring, p->slots, p->slots);
    plan_add(p, &scheme_raw_in_queue, 1, 1);
    plan_add(p, &scheme_in_queue, 1, 1);
    plan_add(p, &scheme_raw_async, 2, 1);
    plan_add(p, &scheme_async, 2, 1);
}

/* Who waits, and where: the GPU, the host in place of a stream, of a queue, or of both. */
static void add_hosts(plan *p, const scheme *ring, uint32_t depth)
{
    static const struct {
        const char *variant;
        tuning how;
    } ways[] = {{"", {0}},
                {"CUDA waits on the host", {.solver_late = true}},
                {"Vulkan waits on the host", {.renderer_late = true}},
                {"both wait on the host", {.solver_late = true, .renderer_late = true}}};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        config *c = plan_add(p, ring, depth, 1);
        if (c == NULL) continue;
        c->variant = ways[i].variant;
        c->tuning = ways[i].how;
    }
}

static void at_least(plan *p)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->outcomes[i].config.frames < WAITS_FRAMES)
            p->outcomes[i].config.frames = WAITS_FRAMES;
}

static void waits_ways(plan *p)
{
    plan_add(p, &scheme_host_waits, 1, 1);
    for (uint32_t depth = 1; depth <= p->slots; depth++) {
        add_hosts(p, &scheme_ring, depth);
        plan_add(p, &scheme_raw, depth, 1);
        plan_add(p, &scheme_raw_async, depth, 1);
        plan_add(p, &scheme_async, depth, 1);
    }
    plan_add(p, &scheme_raw_in_queue, 1, 1);
    plan_add(p, &scheme_in_queue, 1, 1);
    at_least(p);
}

/* The other direction: Vulkan draws and writes, CUDA reads. */
static void back_ways(plan *p)
{
    plan_add(p, &scheme_back_host_waits, 1, 1);
    for (uint32_t depth = 1; depth <= p->slots; depth++)
        add_hosts(p, &scheme_back_ring, depth);
    plan_add(p, &scheme_back_in_queue, 1, 1);
    at_least(p);
}

/* A solver that waits and signals on one stream and works on another. */
static void streams_ways(plan *p)
{
    static const char *const names[] = {"", "two streams, events", "two streams, wait_stream"};
    for (uint32_t depth = 2; depth <= p->slots; depth = depth == 2 ? 4 : depth * 4)
        for (unsigned i = 0; i < 3; i++) {
            config *c = plan_add(p, &scheme_ring, depth, 1);
            if (c == NULL) continue;
            c->variant = names[i];
            c->tuning.streams = i;
        }
}

static void latency_ways(plan *p)
{
    static const uint32_t fixed[][2] = {
        {1, 1}, {2, 1}, {3, 1}, {4, 1},  {6, 1},   {8, 1},  {4, 2},   {8, 2},   {6, 3},  {4, 4},
        {8, 4}, {6, 6}, {8, 8}, {12, 6}, {12, 12}, {16, 8}, {16, 16}, {32, 16}, {32, 32}};
    static const double bounds[] = {1.0, 2.0, 4.0, 8.0, 16.0};
    static char names[sizeof bounds / sizeof bounds[0]][24];
    const options *o = p->options;
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
        if (fixed[i][0] <= p->slots) plan_add(p, &scheme_ring, fixed[i][0], fixed[i][1]);
    /* The bounds are those of 287 us a frame; others are stretched alike. */
    double scale = (o->solver_us + o->renderer_us) / 287.0;
    for (size_t i = 0; i < (o->quick ? 2 : sizeof bounds / sizeof bounds[0]); i++) {
        config *c = plan_add(p, &scheme_ring, p->slots, 1);
        if (c == NULL) continue;
        c->max_latency = (uint64_t)(bounds[i] * scale * 1e6);
        c->settle = o->quick ? 64 : AUTO_SETTLES;
        c->frames = c->settle + (o->quick ? 32 : AUTO_FRAMES);
        snprintf(names[i], sizeof names[i], "within %.1f ms", bounds[i] * scale);
        c->variant = names[i];
    }
}

/* Each bound against the best fixed choice that kept it. */
static void print_bounds(FILE *out, const options *o, const results *all, size_t from)
{
    (void)o;
    for (size_t i = from; i < all->num; i++) {
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

/* The table ------------------------------------------------------------------------------------ */

const section sections[] = {
    {.name = "frames", .what = "every scheme, depth and burst at one size and load"},
    {.name = "overlap",
     .what = "kernels in Vulkan's queues beside drawing, by what the solver does"},
    {.name = "latency",
     .what = "max_latency against fixed depths and bursts, under bounds of latency",
     .after = print_bounds},
    {.name = "sizes", .what = "the main schemes over frames of 1 MiB to 1 GiB"},
    {.name = "loads", .what = "the main schemes over loads of 20 us to 5 ms"},
    {.name = "waits",
     .what = "the GPU waits, or the host in its place, over loads of 100 us to 20 ms"},
    {.name = "backwards",
     .what = "the same from Vulkan to CUDA: the renderer writes, the solver reads"},
    {.name = "streams", .what = "a solver on one stream, and on two that wait for each other"},
    {.name = "advise",
     .what = "the ways for the loads of --loads, and the lines of code for the best",
     .on_request = true,
     .after = advise_print},
    {.name = "across",
     .what = "with --solver-device: data and hand-over beside cuMemcpyPeerAsync and NCCL",
     .on_request = true,
     .run = across_run},
    {.name = "fields",
     .what = "linear fields into images, beside cuMemcpy2DAsync; copies of shared buffers",
     .on_request = true,
     .run = fields_run},
};
const size_t num_sections = sizeof sections / sizeof sections[0];

/* Where a row is measured: elsewhere than on a GPU a few are enough to see that they work. */
typedef enum places { GPU, TWIN_TOO, QUICK_TOO } places;

typedef struct row {
    const char *section;
    void (*ways)(plan *p);
    uint32_t slots, quick_slots; /* 0: the most of --depth */
    size_t rounds;               /* at most */
    places where;
    uint64_t mebibytes;      /* of a frame; 0: --size */
    double solver, renderer; /* microseconds; 0: --loads */
    uint32_t parts;          /* a side; 0: 1 */
    solver_work work;        /* 0: --work */
    bool back;
} row;

#define SIZE(mebibytes_, where_)                                                                   \
    {                                                                                              \
        .section = "sizes", .ways = main_ways, .slots = 16, .quick_slots = 4, .rounds = 3,         \
        .where = (where_), .mebibytes = (mebibytes_)                                               \
    }
#define LOAD(solver_, renderer_, rounds_, where_)                                                  \
    {                                                                                              \
        .section = "loads", .ways = main_ways, .slots = 16, .quick_slots = 4, .rounds = (rounds_), \
        .where = (where_), .solver = (solver_), .renderer = (renderer_)                            \
    }
#define WAIT(solver_, renderer_, parts_, where_)                                                   \
    {                                                                                              \
        .section = "waits", .ways = waits_ways, .slots = 3, .quick_slots = 2, .rounds = 3,         \
        .where = (where_), .solver = (solver_), .renderer = (renderer_), .parts = (parts_)         \
    }
#define BACK(solver_, renderer_, parts_, where_)                                                   \
    {                                                                                              \
        .section = "backwards", .ways = back_ways, .slots = 3, .quick_slots = 2, .rounds = 2,      \
        .where = (where_), .solver = (solver_), .renderer = (renderer_), .parts = (parts_),        \
        .back = true                                                                               \
    }
#define OVERLAP(work_)                                                                             \
    {                                                                                              \
        .section = "overlap", .ways = overlap_ways, .slots = 4, .quick_slots = 4,                  \
        .rounds = FRAMES_ROUNDS, .where = QUICK_TOO, .work = (work_)                               \
    }

static const row rows[] = {
    {.section = "frames", .ways = all_ways, .rounds = FRAMES_ROUNDS, .where = QUICK_TOO},
    OVERLAP(SOLVER_BLOCKS),
    OVERLAP(SOLVER_SHORT_BLOCKS),
    OVERLAP(SOLVER_SMALL),
    OVERLAP(SOLVER_MEMORY),
    {"latency", latency_ways, .slots = 32, .quick_slots = 4, .rounds = 3, .where = QUICK_TOO},
    SIZE(1, QUICK_TOO),
    SIZE(4, TWIN_TOO),
    SIZE(16, TWIN_TOO),
    SIZE(64, GPU),
    SIZE(256, GPU),
    SIZE(1024, GPU),
    LOAD(20, 20, 3, QUICK_TOO),
    LOAD(20, 500, 3, TWIN_TOO),
    LOAD(500, 20, 3, TWIN_TOO),
    LOAD(500, 500, 3, TWIN_TOO),
    LOAD(2000, 2000, 2, GPU),
    LOAD(5000, 5000, 2, GPU),
    WAIT(100, 100, 1, QUICK_TOO),
    WAIT(1000, 1000, 1, GPU),
    WAIT(5000, 5000, 1, GPU),
    WAIT(20000, 20000, 1, GPU),
    WAIT(1000, 20000, 1, GPU),
    WAIT(20000, 1000, 1, GPU),
    WAIT(100, 20000, 1, GPU),
    WAIT(20000, 100, 1, GPU),
    WAIT(5000, 5000, CAMERAS, QUICK_TOO),
    WAIT(20000, 20000, CAMERAS, GPU),
    WAIT(1000, 20000, CAMERAS, GPU),
    BACK(1000, 1000, 1, QUICK_TOO),
    BACK(5000, 5000, 1, GPU),
    BACK(20000, 20000, 1, GPU),
    BACK(1000, 20000, 1, GPU),
    BACK(20000, 1000, 1, GPU),
    BACK(5000, 5000, CAMERAS, GPU),
    {"streams", streams_ways, .slots = 16, .quick_slots = 2, .rounds = 3, .where = QUICK_TOO,
     .solver = 100, .renderer = 150},
    {"advise", advise_ways, .slots = 8, .quick_slots = 2, .rounds = 3, .where = QUICK_TOO},
};

static uint32_t slots_of(const row *r, const options *o)
{
    uint32_t most = o->quick ? r->quick_slots : r->slots;
    for (size_t i = 0; i < o->num_depths && r->slots == 0; i++)
        if (o->depths[i] > most) most = o->depths[i];
    return most;
}

/* False: there is no room for that many slots of this size, which the report then says. */
static bool plan_begin(plan *p, frames_bench *b, const options *o, const row *r)
{
    const bool few = o->quick || b->bench.rig.caps.is_software;
    memset(p, 0, sizeof *p);
    p->options = o;
    p->slots = slots_of(r, o);
    p->workload = (workload){
        .bytes = r->mebibytes != 0 ? r->mebibytes << 20 : o->bytes,
        .solver_us = r->solver != 0 ? r->solver : o->solver_us,
        .renderer_us = r->solver != 0 ? r->renderer : o->renderer_us,
        .work = r->work != 0 ? r->work : o->work,
        .parts = r->parts <= 1 ? 1
                 : few         ? FEW_CAMERAS
                               : r->parts,
        .back = r->back,
    };
    if (!frames_slots(b, p->slots, p->workload.bytes)) {
        char size[RESULTS_BYTES], reason[96];
        snprintf(reason, sizeof reason, "no room for %u frames of %s", p->slots,
                 results_bytes(size, p->workload.bytes));
        bench_left_out(&b->bench, reason);
        return false;
    }
    exits_watch(120, "calibrating the loads");
    frames_calibrate(b, &p->workload);
    add(p, &scheme_solver_alone, 1, 1);
    add(p, &scheme_renderer_alone, 1, 1);
    r->ways(p);
    return true;
}

void section_run(frames_bench *b, const options *o, results *all, const section *s)
{
    static plan p;
    if (s->run != NULL) {
        s->run(b, o);
        return;
    }
    const places least = o->quick ? QUICK_TOO : b->bench.rig.caps.is_software ? TWIN_TOO : GPU;
    const size_t from = all->num;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const row *r = &rows[i];
        if (strcmp(r->section, s->name) != 0 || r->where < least) continue;
        if (r->work != 0 && r->work == o->work) continue; /* the section before has it */
        if (!plan_begin(&p, b, o, r)) break;
        frames_measure(b, &p.workload, p.outcomes, p.count,
                       o->rounds < r->rounds ? o->rounds : r->rounds);
        results_add(all, b, s->name, &p.workload, p.outcomes, p.count);
        for (size_t k = 0; k < p.count; k++)
            outcome_free(&p.outcomes[k]);
    }
    if (s->after != NULL && b->bench.text != NULL) s->after(b->bench.text, o, all, from);
}

/* --advise: the ways for one pair of loads, the best of them, and the lines of code for it. */

static const char NAME[] = "advise";
/* Of ways that are as fast as each other, the first has the youngest frames. */
static const double AS_FAST = 1.01;

void advise_ways(plan *p)
{
    static const struct {
        uint32_t depth, burst;
        const char *variant;
        tuning how;
    } rings[] = {{1, 1, "", {0}},
                 {2, 1, "", {0}},
                 {3, 1, "", {0}},
                 {2, 1, "CUDA waits on the host", {.solver_late = true}},
                 {3, 1, "CUDA waits on the host", {.solver_late = true}},
                 {2, 1, "Vulkan waits on the host", {.renderer_late = true}},
                 {3, 1, "Vulkan waits on the host", {.renderer_late = true}},
                 {2, 2, "", {0}},
                 {4, 4, "", {0}},
                 {8, 8, "", {0}}};
    for (size_t i = 0; i < sizeof rings / sizeof rings[0]; i++) {
        if (rings[i].depth > p->slots) continue;
        config *c = plan_add(p, &scheme_ring, rings[i].depth, rings[i].burst);
        if (c == NULL) continue;
        c->variant = rings[i].variant;
        c->tuning = rings[i].how;
    }
    plan_add(p, &scheme_in_queue, 1, 1);
    for (uint32_t depth = 1; depth <= 3 && depth <= p->slots; depth++)
        plan_add(p, &scheme_async, depth, 1);
}

static const result *faster(const result *a, const result *b)
{
    if (a == NULL || b == NULL) return a != NULL ? a : b;
    return b->us.median < a->us.median / AS_FAST ? b : a;
}

static void print_ring(FILE *out, const result *r)
{
    fprintf(out, "    settings.depth = %u;\n    settings.burst = %u;\n", r->depth, r->burst);
    if (strncmp(r->variant, "CUDA", 4) == 0)
        fputs("    settings.cuda_waits = CULV_RING_WAITS_SIGNAL_FIRST;\n", out);
    fprintf(out, "    desc.max_depth = %u;\n    desc.settings = &settings;\n", r->depth);
    if (strncmp(r->variant, "Vulkan", 6) == 0)
        fputs("    desc.waits = CULV_RING_WAITS_SIGNAL_FIRST;\n", out);
    fputs("    culv_vk_ring_create(vk, queue, &desc, &ring);        docs/ring.md\n", out);
}

static void print_kernel(FILE *out, const result *r)
{
    fputs("    culv_vk_kernels_create(vk, kernels, &in_queue);\n", out);
    if (strcmp(r->scheme, scheme_async.name) == 0)
        fprintf(
            out,
            "    culv_vk_kernel_call_record(in_queue, &call, commands, compute_family);\n"
            "                                                         docs/kernels.md\n"
            "  Submit `commands` to a queue for compute, and let a timeline of Vulkan's own order\n"
            "  it and the drawing. Use %u slots.\n",
            r->depth);
    else
        fputs("    culv_vk_kernel_call_record(in_queue, &call, commands, family);\n"
              "                                                         docs/kernels.md\n"
              "  `commands` is the command buffer that draws; a barrier stands between the two.\n",
              out);
}

static void print_way(FILE *out, const char *what, const result *r,
                      void (*lines)(FILE *out, const result *r))
{
    if (r == NULL) return;
    fprintf(out,
            "\n%s: %s%s%s, %u slot%s%s.\n"
            "  %.1f us a frame: %.3f of one side after the other. 99 %% of the frames are at most "
            "%.2f ms old.\n",
            what, r->scheme, r->variant[0] != '\0' ? ", " : "", r->variant, r->depth,
            r->depth == 1 ? "" : "s", r->burst > 1 ? " in bursts" : "", r->us.median,
            r->ratio.median, r->age_p99 * 1e-3);
    lines(out, r);
}

void advise_print(FILE *out, const options *o, const results *all, size_t from)
{
    const double bound_us = o->within_us;
    const double most = bound_us > 0 ? bound_us : INFINITY;
    const result *kernel = faster(results_best(all, NAME, scheme_in_queue.name, most, AS_FAST),
                                  results_best(all, NAME, scheme_async.name, most, AS_FAST));
    const result *ring = results_best(all, NAME, scheme_ring.name, most, AS_FAST);
    if (kernel == NULL && ring == NULL) {
        if (bound_us > 0 && all->num > from)
            fprintf(out, "\nNo way has frames that are at most %.2f ms old.\n", bound_us * 1e-3);
        return;
    }
    const bool first = kernel != NULL && (ring == NULL || kernel->us.median < ring->us.median);
    if (first) print_way(out, "If your kernel can be loaded from a file", kernel, print_kernel);
    print_way(out, first ? "Otherwise" : "The best", ring, print_ring);
    if (rig_solver_device >= 0)
        fputs("  The solver is on another GPU: culv_vk_device_desc.allow_other_gpu = 1.\n", out);
    else if (rig_other_gpu >= 0)
        fprintf(
            out,
            "\nCUDA device %d reaches this one's memory. A solver there pays for no switch between "
            "contexts:\nsee what it gains by --solver-device=%d (docs/two-gpus.md).\n",
            rig_other_gpu, rig_other_gpu);
}
