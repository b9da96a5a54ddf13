/* SPDX-License-Identifier: MIT */
/* --advise: the ways for one pair of loads, the best of them, and the lines of code for it. */
#include "sections.h"

#include <math.h>
#include <string.h>

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
    if (ring != NULL)
        fputs("  Or let the ring choose on your machine: settings.way = CULV_RING_WAY_AUTO.\n",
              out);
    if (rig_solver_device >= 0)
        fputs("  The solver is on another GPU: culv_vk_device_desc.allow_other_gpu = 1.\n", out);
    else if (rig_other_gpu >= 0)
        fprintf(
            out,
            "\nCUDA device %d reaches this one's memory. A solver there pays for no switch between "
            "contexts:\nsee what it gains by --solver-device=%d (docs/two-gpus.md).\n",
            rig_other_gpu, rig_other_gpu);
}
