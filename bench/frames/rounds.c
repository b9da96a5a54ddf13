/* SPDX-License-Identifier: MIT */
/* Schemes by turns. See frames.h. */
#include "frames.h"

#include <stdio.h>

enum {
    FRAMES_A_SECOND = 100, /* at the least, of a long run */
    FRAMES_A_LINE = 49 * FRAMES_MAX,
};

static double thread_cpu_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

void run_begins(run *r, uint32_t first)
{
    r->first = first;
    r->cpu_begun = thread_cpu_us();
    r->begun = bench_now();
}

void run_issued(run *r)
{
    r->cpu_us = (thread_cpu_us() - r->cpu_begun) / (r->c->frames - r->first);
}

void run_tell(const run *r, uint32_t n)
{
    if (n == 0 || n % FRAMES_A_LINE != 0) return;
    const renderer_verdict so_far = *r->b->renderer.judged;
    fprintf(stderr, "culvert-bench: %s: %u of %u frames checked, %u pixels were wrong\n",
            r->c->scheme->name, so_far.frames, r->c->frames, so_far.wrong);
}

void run_record(run *r)
{
    frames_bench *b = r->b;
    for (uint32_t n = 0; n < r->c->frames; n++) {
        uint32_t slot = n % r->c->depth;
        renderer_record(
            &b->renderer,
            &(renderer_job){.frame = n,
                            .slot = slot,
                            .buffer = b->buffers[slot],
                            .number = r->c->scheme->unchecked && !r->w->back ? 0 : r->base + n,
                            .writes = r->w->back,
                            .iterations = r->w->renderer_iterations});
    }
    r->commands = b->renderer.commands;
}

void run_read(const run *r, CUstream stream, solver_job job)
{
    if (r->c->scheme->unchecked) job.number = 0;
    reader_launch(&r->b->reader, stream, job);
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* What the GPU's own clocks say. */
static void take_times(run *r, outcome *o)
{
    frames_bench *b = r->b;
    uint32_t frames = smaller(r->c->frames, b->renderer.num_frames);
    const scheme *s = r->c->scheme;
    bool solved_too = !s->no_solver, timed = !s->no_renderer;
    uint64_t last = 0;
    if (timed) timed = renderer_fetch(&b->renderer, frames);
    if (solved_too && timed)
        solver_fetch(&b->solver, s->in_queue ? queue_solver_log(&b->queue_solver) : b->solver.log,
                     frames);
    for (uint32_t n = r->first; n < frames && timed; n++) {
        renderer_time drawn = renderer_time_of(&b->renderer, n);
        if (n > r->first) samples_add(&o->interval, (double)(int64_t)(drawn.ended - last) * 1e-3);
        last = drawn.ended;
        if (!solved_too || !b->clocks.known) continue;
        solver_time solved = solver_time_of(&b->solver, n);
        if (r->w->back) {
            samples_add(&o->hand_over,
                        ((double)(int64_t)(solved.begun - drawn.ended) + b->clocks.offset) * 1e-3);
            samples_add(&o->age,
                        ((double)(int64_t)(solved.ended - drawn.begun) + b->clocks.offset) * 1e-3);
            continue;
        }
        samples_add(&o->hand_over,
                    ((double)(int64_t)(drawn.begun - solved.ended) - b->clocks.offset) * 1e-3);
        samples_add(&o->age,
                    ((double)(int64_t)(drawn.ended - solved.begun) - b->clocks.offset) * 1e-3);
    }
}

/* Lost and torn frames are nothing to be measured: the program ends. */
static void judge(run *r, outcome *o)
{
    renderer_verdict v = renderer_judge(&r->b->renderer);
    if (r->w->back) {
        const reader_verdict read = r->c->scheme->in_queue ? reader_judge_queue(&r->b->reader, 0)
                                                           : reader_judge(&r->b->reader);
        v = (renderer_verdict){read.frames, read.wrong};
    }
    uint32_t expected = r->c->scheme->unchecked ? 0 : r->c->frames;
    if (v.frames != expected || v.wrong != 0)
        FAIL(
            "%s, depth %u, burst %u%s%s: %u of %u frames were drawn, and %u pixels or words were of another frame than theirs or a torn one",
            r->c->scheme->name, r->c->depth, r->c->burst, r->c->variant[0] != '\0' ? ", " : "",
            r->c->variant, v.frames, expected, v.wrong);
    o->checked += v.frames;
    o->wrong += v.wrong;
}

static void run_once(frames_bench *b, const workload *w, outcome *o, bool keep)
{
    config c = o->config;
    char what[128];
    run r = {.b = b, .w = w, .c = &c, .base = b->next_number};
    if (!keep) { /* to warm up */
        c.frames = smaller(c.frames - c.settle, b->renderer.num_frames);
        c.settle = 0;
    }
    snprintf(what, sizeof what, "%s, depth %u, burst %u", c.scheme->name, c.depth, c.burst);
    exits_watch(40 + c.frames / FRAMES_A_SECOND, what);
    b->next_number += c.frames;
    renderer_reset(&b->renderer, smaller(c.frames, b->renderer.num_frames));
    if (c.scheme->prepare != NULL) c.scheme->prepare(&r);
    run_begins(&r, 0);
    c.scheme->go(&r);
    double us = (bench_now() - r.begun) * 1e-3 / (c.frames - r.first);
    /* Validation does not see that command buffers are done by timelines that CUDA shares. */
    raw_vk_idle(&b->bench.rig.vk);
    if (c.scheme->finish != NULL) c.scheme->finish(&r);
    judge(&r, o);
    if (!keep) return;
    o->us[o->rounds] = us;
    o->cpu[o->rounds] = r.cpu_us;
    o->rounds++;
    o->chosen = r.chosen;
    take_times(&r, o);
}

void frames_measure(frames_bench *b, const workload *w, outcome *outcomes, size_t count,
                    size_t rounds)
{
    size_t order[256];
    REQUIRE(count <= sizeof order / sizeof order[0] && rounds <= FRAMES_ROUNDS);
    for (size_t i = 0; i < count; i++) {
        const run probe = {.b = b, .w = w, .c = &outcomes[i].config};
        order[i] = i;
        REQUIRE(outcomes[i].config.frames <= b->renderer.num_frames ||
                outcomes[i].config.scheme->endless);
        if (outcomes[i].config.scheme->obstacle != NULL)
            outcomes[i].obstacle = outcomes[i].config.scheme->obstacle(&probe);
    }
    b->clocks = clocks_compare(b);
    for (size_t round = 0; round < rounds + 1; round++) {
        for (size_t i = count; i > 1; i--) {
            size_t other = random_below(&b->bench.random, i), swapped = order[i - 1];
            order[i - 1] = order[other];
            order[other] = swapped;
        }
        /* The first round is for warming up. */
        for (size_t i = 0; i < count; i++)
            if (outcomes[order[i]].obstacle == NULL) run_once(b, w, &outcomes[order[i]], round > 0);
        for (size_t i = 0; i < count && round > 0; i++) {
            outcome *o = &outcomes[i];
            if (o->obstacle == NULL)
                o->ratio[o->rounds - 1] =
                    o->us[o->rounds - 1] / (outcomes[0].us[round - 1] + outcomes[1].us[round - 1]);
        }
    }
}
