/* SPDX-License-Identifier: MIT */
/* Rings between CUDA and the null API, for suite_rings.c. */
#include "graphics/graphics_ring.h"
#include "null.h"
#include "suite.h"

/* A "command list": a frame that the null side writes or reads. */
typedef struct job {
    uint32_t slot, seed;
} job;

typedef struct null_ring {
    culvi_graphics_ring base;
    uint32_t fallback;
    job jobs[2 * CULV_RING_MAX_DEPTH];
} null_ring;

static culv_result make_object(culvi_graphics_ring *base, const void *description, uint32_t slot,
                               culvi_pair **out)
{
    culv_shared_buffer *buffer = NULL;
    (void)slot;
    culv_result result =
        null_buffer_create((null_device *)base->graphics, *(const uint64_t *)description,
                           ((null_ring *)base)->fallback, &buffer);
    if (result == CULV_OK) *out = (culvi_pair *)buffer;
    return result;
}

static null_timeline *timeline_of(const culvi_graphics_ring *base, culv_ring_side side)
{
    return (null_timeline *)(uintptr_t)base->timelines[side].pair->native;
}

/* The null API's queue does all of it at once. */
static culv_result submit(culvi_graphics_ring *base, const culvi_graphics_work *work,
                          uint32_t count, uint64_t wait, uint64_t signal)
{
    null_ring *ring = (null_ring *)base;
    REQUIRE(work->queue == ring);
    if (wait != 0)
        REQUIRE_EQ(null_timeline_wait(timeline_of(base, culvi_graphics_ring_cuda_side(base)), wait,
                                      TEST_FAR_MS * UINT64_C(1000000)),
                   0);
    for (uint32_t i = 0; i < count; i++) {
        const job *j = base->pending[i];
        const culv_shared_buffer *buffer =
            (const culv_shared_buffer *)base->resources[0].objects[j->slot];
        uint32_t words[BACKEND_RING_WORDS];
        suite_pattern(words, BACKEND_RING_WORDS, j->seed);
        if (base->side == CULV_RING_PRODUCER) {
            null_buffer_write(buffer, words, sizeof words);
            continue;
        }
        null_buffer_read(buffer, words, sizeof words);
        REQUIRE_PATTERN(words, BACKEND_RING_WORDS, j->seed);
    }
    if (signal != 0) REQUIRE_EQ(null_timeline_signal(timeline_of(base, base->side), signal), 0);
    return CULV_OK;
}

static culv_result destroy(void *ring, const CUstream *last_use, const char *call)
{
    (void)call;
    culvi_graphics_ring_unmake(&((null_ring *)ring)->base, last_use);
    free(ring);
    return CULV_OK;
}

static const culvi_graphics_ring_api rings = {.desc = "null_ring_desc",
                                              .attachment = "null_device",
                                              .ring = {.create_call = "null_ring_create",
                                                       .submit_call = "null_ring_submit",
                                                       .acquire = culvi_graphics_ring_acquire,
                                                       .release = culvi_graphics_ring_release,
                                                       .flush = culvi_graphics_ring_flush,
                                                       .objects = culvi_graphics_ring_objects,
                                                       .destroy = destroy},
                                              .make_object = make_object,
                                              .submit = submit};

culv_result null_ring_create(void *attachment, const backend_ring *d, culv_ring **out)
{
    static const uint64_t size = BACKEND_RING_BYTES;
    null_ring *ring = calloc(1, sizeof *ring);
    REQUIRE(ring != NULL);
    ring->fallback = d->fallback;
    culv_result result = culvi_graphics_ring_check(&rings, attachment, "frames", d->depth, d->side,
                                                   d->resources != 0 ? d->resources : 1);
    culvi_graphics_ring_init(&ring->base, &rings, attachment, d->depth, d->side, "frames");
    if (result == CULV_OK) result = culvi_graphics_ring_set_waits(&ring->base, d->waits);
    if (result == CULV_OK) result = culvi_graphics_ring_make_timelines(&ring->base, d->fallback);
    if (result == CULV_OK)
        result = culvi_graphics_ring_make_resource(&ring->base, &size, false, true);
    if (result == CULV_OK) result = culvi_graphics_ring_make_core(&ring->base, d->settings);
    if (result != CULV_OK) {
        (void)destroy(ring, NULL, NULL);
        return result;
    }
    *out = ring->base.core;
    return CULV_OK;
}

culv_result null_ring_release(culv_ring *core, culv_ring_frame *frame, uint32_t seed)
{
    null_ring *ring = culvi_ring_of_api(core, &rings.ring, __func__);
    job *mine = &ring->jobs[frame->number % (2 * CULV_RING_MAX_DEPTH)];
    *mine = (job){frame->slot, seed};
    const culvi_graphics_work work = {.queue = ring, .commands = mine};
    return culvi_graphics_ring_submit(&ring->base, &work, frame, "null_ring_submit");
}
