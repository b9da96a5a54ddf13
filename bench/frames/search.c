/* SPDX-License-Identifier: MIT */
/* What changes the cost of switching between the solver and the renderer: each thing by itself, on
 * the raw ring. */
#include "sections.h"

#include <stdio.h>
#include <string.h>

static const uint32_t rings[][2] = {{1, 1}, {8, 1}, {8, 4}, {8, 8}, {16, 8}, {16, 16}, {32, 32}};
enum { NUM_RINGS = sizeof rings / sizeof rings[0], PRIORITY_RINGS = 4, ROUNDS = 4 };

typedef struct variant {
    const char *name;
    tuning tuning;
} variant;

static void add_all(plan *p, const variant *v, size_t num_rings, uint32_t deepest)
{
    for (size_t i = 0; i < num_rings; i++) {
        if (rings[i][0] > deepest) continue;
        config *c = plan_add(p, &scheme_raw, rings[i][0], rings[i][1]);
        if (c == NULL) continue;
        c->variant = v->name;
        c->tuning = v->tuning;
    }
}

static void search_submissions(frames_bench *b, const options *o, results *all)
{
    uint32_t compute = device_family(&b->bench.rig.vk, VK_QUEUE_COMPUTE_BIT, VK_QUEUE_GRAPHICS_BIT);
    const variant variants[] = {
        {"", {0}},
        {"greatest stream priority", {.stream_priority = 1}},
        {"least stream priority", {.stream_priority = -1}},
        {"a submit info a frame", {.submit = SUBMIT_MANY_INFOS}},
        {"a submit call a frame", {.submit = SUBMIT_MANY_CALLS}},
        {"a signal a frame", {.each_signals = true}},
        {"renderer submitted late", {.renderer_late = true}},
        {"solver launched late", {.solver_late = true}},
        {"both late", {.renderer_late = true, .solver_late = true}},
        {"host one depth ahead", {.lead = 1}},
        {"host four depths ahead", {.lead = 4}},
        {"compute on the graphics queue", {.compute = true}},
        {"compute on a compute queue", {.compute = true, .family = compute}},
    };
    static plan p;
    uint32_t deepest = o->quick ? 8 : 32;
    for (size_t first = 0; first < sizeof variants / sizeof variants[0]; first += 6) {
        /* In parts, each beside the plain one. */
        if (!plan_begin(&p, b, o, options_workload(o), deepest, true)) return;
        if (first != 0) add_all(&p, &variants[0], NUM_RINGS, deepest);
        for (size_t i = first; i < first + 6 && i < sizeof variants / sizeof variants[0]; i++)
            if (variants[i].tuning.family != UINT32_MAX)
                add_all(&p, &variants[i], NUM_RINGS, deepest);
        plan_run(&p, b, all, "search", o->rounds < ROUNDS ? o->rounds : ROUNDS);
    }
}

/* A priority is the device's, so that each has a device of its own and cannot take turns with the
 * others: the ideal beside it is what compares. */
static void search_priority(frames_bench *b, const options *o, results *all,
                            VkQueueGlobalPriorityKHR priority, const char *name)
{
    static plan p;
    frames_close(b);
    b->device.priority = priority;
    frames_open(b, o->device);
    if (b->device.refused) {
        char reason[96];
        snprintf(reason, sizeof reason, "%s: not for this device or user", name);
        bench_left_out(&b->bench, reason);
        return;
    }
    const variant plain = {name, {0}},
                  greatest = {"the same, least stream priority", {.stream_priority = -1}};
    if (!plan_begin(&p, b, o, options_workload(o), 8, false)) return;
    add_all(&p, &plain, PRIORITY_RINGS, 8);
    add_all(&p, &greatest, PRIORITY_RINGS, 8);
    plan_run(&p, b, all, "search", o->rounds < ROUNDS ? o->rounds : ROUNDS);
}

void section_search(frames_bench *b, const options *o, results *all)
{
    search_submissions(b, o, all);
    search_priority(b, o, all, VK_QUEUE_GLOBAL_PRIORITY_LOW_KHR,
                    "low global priority of the queue");
    search_priority(b, o, all, VK_QUEUE_GLOBAL_PRIORITY_HIGH_KHR,
                    "high global priority of the queue");
    search_priority(b, o, all, VK_QUEUE_GLOBAL_PRIORITY_REALTIME_KHR,
                    "realtime global priority of the queue");
    frames_close(b);
    b->device.priority = 0;
    frames_open(b, o->device);
}
