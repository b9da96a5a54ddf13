/* SPDX-License-Identifier: MIT */
/* What all schemes stand on: the devices, the loads, the slots. See frames.h. */
#include "frames.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The check is tried: it sees a frame that is another one, and nothing in the right one. */
static void try_check(frames_bench *b)
{
    const rig *r = &b->bench.rig;
    for (uint32_t off = 0; off < 2; off++) {
        uint32_t number = b->next_number++;
        solver_launch(
            &b->solver, r->stream,
            solver_job_of(&b->solver, b->pointers[0], b->slot_bytes, number, 0, SOLVER_NO_LOG));
        RIG_CU(r->cu->StreamSynchronize(r->stream));
        VkCommandBuffer commands = renderer_record(
            &b->renderer,
            &(renderer_job){.buffer = b->buffers[0], .number = number + off, .untimed = true});
        renderer_first(&b->renderer, commands);
        renderer_verdict v = renderer_judge(&b->renderer);
        REQUIRE_EQ(v.frames, 1);
        REQUIRE_EQ(v.wrong, off * b->renderer.pixels);
    }
}

/* The reader's check is tried in the same way. */
static void try_reader(frames_bench *b)
{
    const rig *r = &b->bench.rig;
    for (uint32_t off = 0; off < 2; off++) {
        solver_job job = solver_job_of(&b->solver, b->pointers[0], b->slot_bytes, b->next_number++,
                                       0, SOLVER_NO_LOG);
        solver_launch(&b->solver, r->stream, job);
        job.number += off;
        reader_launch(&b->reader, r->stream, job);
        RIG_CU(r->cu->StreamSynchronize(r->stream));
        const reader_verdict v = reader_judge(&b->reader);
        REQUIRE_EQ(v.frames, 1);
        REQUIRE_EQ(v.wrong, off * (uint32_t)(b->slot_bytes / 4));
    }
}

/* A GPU's clocks rise when there is work. */
static void warm_up(frames_bench *b)
{
    const rig *r = &b->bench.rig;
    double begun = bench_now();
    while (!r->cu->software && bench_now() - begun < 0.3e9) {
        for (int i = 0; i < 8; i++)
            solver_launch(
                &b->solver, r->stream,
                solver_job_of(&b->solver, b->pointers[0], b->slot_bytes, 1, 8192, SOLVER_NO_LOG));
        RIG_CU(r->cu->StreamSynchronize(r->stream));
    }
}

void frames_open(frames_bench *b, int ordinal)
{
    rig *r = &b->bench.rig;
    rig_open_with(r, ordinal, device_open, &b->device);
    solver_open(&b->solver, r, b->bench.quick ? FRAMES_MAX / 8 : FRAMES_MAX);
    renderer_open(&b->renderer, r, b->bench.quick ? FRAMES_MAX / 8 : FRAMES_MAX);
    if (r->vk.kernels) queue_solver_open(&b->queue_solver, r, &b->solver);
    reader_open(&b->reader, r, &b->solver, &b->queue_solver);
    rig_timeline_open(r, &b->ready);
    rig_timeline_open(r, &b->done);
    if (b->next_number == 0) b->next_number = 1;
    REQUIRE(frames_slots(b, 1, UINT64_C(64) << 10));
    try_check(b);
    try_reader(b);
    warm_up(b);
}

static void close_slots(frames_bench *b)
{
    for (uint32_t i = 0; i < b->num_slots; i++)
        culv_shared_buffer_destroy(&b->slots[i], NULL);
    b->num_slots = 0;
    b->slot_bytes = 0;
}

void frames_close(frames_bench *b)
{
    raw_vk_idle(&b->bench.rig.vk);
    RIG_CU(b->bench.rig.cu->CtxSynchronize());
    rig_timeline_close(&b->bench.rig, &b->done);
    rig_timeline_close(&b->bench.rig, &b->ready);
    close_slots(b);
    reader_close(&b->reader);
    queue_solver_close(&b->queue_solver);
    renderer_close(&b->renderer);
    solver_close(&b->solver);
    rig_close(&b->bench.rig);
}

bool frames_slots(frames_bench *b, uint32_t count, uint64_t bytes)
{
    rig *r = &b->bench.rig;
    if (bytes > r->vk.properties.limits.maxStorageBufferRange) return false;
    if (b->slot_bytes == bytes && b->num_slots >= count) return true;
    raw_vk_idle(&r->vk);
    RIG_CU(r->cu->CtxSynchronize());
    if (b->slot_bytes != bytes) close_slots(b);
    REQUIRE(count <= RENDERER_SLOTS);
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = bytes,
                                     .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                              VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                              VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    culv_vk_buffer_create_desc desc = culv_vk_buffer_create_desc_init();
    desc.create_info = &info;
    b->slot_bytes = bytes;
    for (; b->num_slots < count; b->num_slots++) {
        culv_shared_buffer **slot = &b->slots[b->num_slots];
        if (culv_vk_buffer_create(r->attached, &desc, slot) != CULV_OK) {
            close_slots(b);
            return false;
        }
        b->pointers[b->num_slots] = culv_shared_buffer_pointer(*slot);
        b->buffers[b->num_slots] = culv_vk_buffer_handle(*slot);
        b->addresses[b->num_slots] = culv_vk_buffer_address(*slot);
    }
    renderer_bind(&b->renderer, b->buffers, b->num_slots, bytes);
    return true;
}

typedef enum load_kind { SOLVER, DRAW } load_kind;

static uint32_t calibrated(frames_bench *b, load_kind kind, double us, uint64_t bytes)
{
    calibrations *c = &b->calibrations;
    int work = kind == SOLVER ? (int)b->solver.work : 0;
    const uint32_t parts = kind == SOLVER ? 0 : b->renderer.parts;
    if (kind != SOLVER) bytes = 0; /* it reads a few words of a frame of any size */
    for (size_t i = 0; i < c->num; i++)
        if (c->known[i].kind == (int)kind && c->known[i].work == work && c->known[i].us == us &&
            c->known[i].bytes == bytes && c->known[i].parts == parts)
            return c->known[i].iterations;
    uint32_t iterations = kind == SOLVER ? solver_calibrate(&b->solver, b->pointers[0], bytes, us)
                                         : renderer_calibrate(&b->renderer, b->buffers[0], us);
    REQUIRE(c->num < sizeof c->known / sizeof c->known[0]);
    c->known[c->num].kind = (int)kind;
    c->known[c->num].work = work;
    c->known[c->num].us = us;
    c->known[c->num].bytes = bytes;
    c->known[c->num].parts = parts;
    c->known[c->num].iterations = iterations;
    c->num++;
    return iterations;
}

void frames_calibrate(frames_bench *b, workload *w)
{
    solver_choose(&b->solver, w->work);
    b->renderer.parts = w->parts != 0 ? w->parts : 1;
    w->solver_iterations = calibrated(b, SOLVER, w->solver_us, w->bytes);
    w->renderer_iterations = calibrated(b, DRAW, w->renderer_us, w->bytes);
}

/* Samples -------------------------------------------------------------------------------------- */

void samples_add(samples *s, double value)
{
    if (s->n == s->capacity) {
        s->capacity = s->capacity != 0 ? 2 * s->capacity : 512;
        s->values = realloc(s->values, s->capacity * sizeof *s->values);
        REQUIRE(s->values != NULL);
    }
    s->values[s->n++] = value;
}

double samples_quantile(const samples *s, double q)
{
    return s->n != 0 ? statistics_quantile(s->values, s->n, q) : 0.0;
}

void outcome_free(outcome *o)
{
    free(o->interval.values);
    free(o->hand_over.values);
    free(o->age.values);
    memset(o, 0, sizeof *o);
}

/* Schemes by turns. See frames.h. */

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

/* Whether Vulkan's timestamps and CUDA's global timer are one clock. Each is read between two
 * readings of the host's monotonic clock, again and again: the narrowest bounds hold. */

enum { TRIES = 40 };

/* How far a clock is ahead of the host's, at least and at most. */
typedef struct bounds {
    double low, high;
} bounds;

static void narrow(bounds *b, double clock, double after, double before)
{
    b->low = fmax(b->low, clock - before);
    b->high = fmin(b->high, clock - after);
}

clocks clocks_compare(frames_bench *b)
{
    /* Differences to the first reading, since the clocks have more digits than a double. */
    double after, before, host = bench_now();
    uint64_t cuda_base = solver_clock(&b->solver, &after, &before);
    bounds cuda = {-INFINITY, INFINITY}, vulkan = {-INFINITY, INFINITY};
    if (device_timestamp_bits(&b->bench.rig.vk, 0) == 0) return (clocks){.known = false};
    for (int i = 0; i < TRIES; i++) {
        uint64_t now = solver_clock(&b->solver, &after, &before);
        narrow(&cuda, (double)(int64_t)(now - cuda_base), after - host, before - host);
        uint64_t ticks = renderer_clock(&b->renderer, b->device.calibrated, &after, &before);
        narrow(&vulkan, (double)(int64_t)(ticks - cuda_base), after - host, before - host);
    }
    bounds ahead = {vulkan.low - cuda.high, vulkan.high - cuda.low};
    clocks c = {.known = ahead.low <= ahead.high, .error = (ahead.high - ahead.low) / 2.0};
    c.same = c.known && ahead.low <= 0.0 && ahead.high >= 0.0;
    c.offset = c.same ? 0.0 : (ahead.low + ahead.high) / 2.0;
    return c;
}
