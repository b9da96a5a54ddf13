/* SPDX-License-Identifier: MIT */
/* --advise: the ways for one pair of loads, the best of them, and the lines of code for it. */
#include "sections.h"

#include <math.h>
#include <string.h>

enum {
    SLOTS = 8,
    ROUNDS = 3,
    TRIES = 4,             /* of the user's own work, for its time */
    TRACE_RUN_US = 400000, /* of a run of a trace */
    TRACE_LEAST = 24
};
static const char NAME[] = "advise";
/* Of ways that are as fast as each other, the first has the youngest frames. */
static const double AS_FAST = 1.01;

static void add_rings(plan *p, uint32_t slots)
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
        if (rings[i].depth > slots) continue;
        config *c = plan_add(p, &scheme_ring, rings[i].depth, rings[i].burst);
        if (c == NULL) continue;
        c->variant = rings[i].variant;
        c->tuning = rings[i].how;
    }
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

static void print_advice(FILE *out, const results *all, double bound_us)
{
    const double most = bound_us > 0 ? bound_us : INFINITY;
    const result *kernel = faster(results_best(all, NAME, scheme_in_queue.name, most, AS_FAST),
                                  results_best(all, NAME, scheme_async.name, most, AS_FAST));
    const result *ring = results_best(all, NAME, scheme_ring.name, most, AS_FAST);
    if (kernel == NULL && ring == NULL) {
        if (bound_us > 0)
            fprintf(out, "\nNo way has frames that are at most %.2f ms old.\n", bound_us * 1e-3);
        return;
    }
    const bool first = kernel != NULL && (ring == NULL || kernel->us.median < ring->us.median);
    if (first) print_way(out, "If your kernel can be loaded from a file", kernel, print_kernel);
    print_way(out, first ? "Otherwise" : "The best", ring, print_ring);
    if (ring != NULL)
        fputs("  Or let the ring choose on your machine: settings.way = CULV_RING_WAY_AUTO.\n",
              out);
}

/* The user's own work -------------------------------------------------------------------------- */

static double solver_takes(frames_bench *b, uint64_t bytes)
{
    CUstream stream = b->bench.rig.stream;
    double begun = 0;
    for (int i = 0; i < 1 + TRIES; i++) { /* the first one loads */
        solver_launch(&b->solver, stream,
                      solver_job_of(&b->solver, b->pointers[0], bytes, 1, 0, SOLVER_NO_LOG));
        if (i == 0 || i == TRIES) RIG_CU(b->bench.rig.cu->StreamSynchronize(stream));
        if (i == 0) begun = bench_now();
    }
    return (bench_now() - begun) * 1e-3 / TRIES;
}

static double renderer_takes(frames_bench *b)
{
    VkQueue queue = b->bench.rig.vk.queues[0].queue;
    const VkCommandBuffer *commands = NULL;
    for (uint32_t i = 0; i < TRIES; i++)
        renderer_record(&b->renderer,
                        &(renderer_job){.frame = i, .buffer = b->buffers[0], .untimed = true});
    commands = b->renderer.families[0].commands;
    (void)renderer_alone(queue, commands, 1);
    return renderer_alone(queue, commands, TRIES) / TRIES;
}

static void open_work(frames_bench *b, const options *o, workload *w)
{
    exits_watch(120, "loading your work");
    REQUIRE(frames_slots(b, 1, w->bytes));
    solver_choose(&b->solver, w->work);
    b->renderer.parts = 1;
    if (o->kernel != NULL) {
        work_kernel_open(o->kernel, &b->bench.rig);
        b->solver.custom = o->kernel;
        w->solver_us = solver_takes(b, w->bytes);
    }
    if (o->shader != NULL) {
        work_shader_open(o->shader, &b->bench.rig, w->bytes);
        b->renderer.custom = o->shader;
        renderer_bind(&b->renderer, b->buffers, b->num_slots, b->slot_bytes);
        w->renderer_us = renderer_takes(b);
    }
    if (o->trace != NULL) {
        w->solver_us = trace_mean(o->trace->solver_us, o->trace->count);
        w->renderer_us = trace_mean(o->trace->renderer_us, o->trace->count);
        const double fit = TRACE_RUN_US / (w->solver_us + w->renderer_us);
        const uint32_t most = o->quick ? TRACE_LEAST : FRAMES_MAX;
        uint32_t frames = fit > TRACE_LEAST ? (uint32_t)fit : (uint32_t)TRACE_LEAST;
        trace_choose(o->trace, frames < most ? frames : most);
        w->trace = o->trace;
    }
}

static void close_work(frames_bench *b, const options *o)
{
    raw_vk_idle(&b->bench.rig.vk);
    RIG_CU(b->bench.rig.cu->CtxSynchronize());
    b->solver.custom = NULL;
    b->renderer.custom = NULL;
    if (o->kernel != NULL) work_kernel_close(o->kernel);
    if (o->shader != NULL) work_shader_close(o->shader);
}

static void print_work(FILE *out, const options *o, const workload *w)
{
    const trace *t = o->trace;
    if (o->kernel != NULL)
        fprintf(
            out,
            "\nYour kernel '%s' takes %.1f us in %u launch%s, with the frame of %llu bytes behind "
            "it.\n",
            o->kernel->name, w->solver_us, o->kernel->launches,
            o->kernel->launches == 1 ? "" : "es", (unsigned long long)w->bytes);
    if (o->kernel != NULL && o->kernel->queue == NULL)
        fprintf(out, "It does not run in Vulkan's queues: %s.\n", o->kernel->obstacle);
    if (o->shader != NULL)
        fprintf(out,
                "\nYour shader takes %.1f us in %u x %u x %u groups; the frame is binding %lld.\n",
                w->renderer_us, o->shader->groups[0], o->shader->groups[1], o->shader->groups[2],
                (long long)o->shader->frame_binding);
    if (t == NULL) return;
    fprintf(out,
            "\nYour trace: %u frames; the solver takes %.1f us (99 %%: %.1f), the renderer %.1f "
            "(99 %%: %.1f).\nEach run has %u of them, from frame %u on.\n",
            t->count, w->solver_us, trace_quantile(t->solver_us, t->count, 0.99), w->renderer_us,
            trace_quantile(t->renderer_us, t->count, 0.99), t->used, t->first);
}

void section_advise(frames_bench *b, const options *o, results *all)
{
    static plan p;
    const uint32_t slots = o->quick ? 2 : SLOTS;
    workload w = options_workload(o);
    open_work(b, o, &w);
    if (b->bench.text != NULL) print_work(b->bench.text, o, &w);
    if (plan_begin(&p, b, o, w, slots, false)) {
        add_rings(&p, slots);
        plan_add(&p, &scheme_in_queue, 1, 1);
        for (uint32_t depth = 1; depth <= 3 && depth <= slots; depth++)
            plan_add(&p, &scheme_async, depth, 1);
        for (size_t i = 0; i < p.count && o->trace != NULL; i++)
            p.outcomes[i].config.frames = o->trace->used;
        plan_run(&p, b, all, NAME, o->rounds < ROUNDS ? o->rounds : ROUNDS);
        if (b->bench.text != NULL) print_advice(b->bench.text, all, o->within_us);
    }
    close_work(b, o);
}
