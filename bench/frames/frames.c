/* SPDX-License-Identifier: MIT */
/* What all schemes stand on: the devices, the loads, the slots. See frames.h. */
#include "frames.h"

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
