/* SPDX-License-Identifier: MIT */
/* Rings between CUDA and the null API: frames of data, in bursts, whichever side the null API
 * has. */
#define TEST_GROUP "null."
#include "graphics/graphics_ring.h"
#include "null.h"
#include "suite.h"

enum { DEPTH = 4, BURST = 2, FRAMES = 21, WORDS = BYTES / 4 };

/* A "command list": a frame that the null side writes or reads. */
typedef struct job {
    uint32_t slot, number;
} job;

typedef struct null_ring {
    culvi_graphics_ring base;
    uint32_t fallback;
    unsigned submissions, jobs;
    uint32_t words[WORDS];
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
        if (base->side == CULV_RING_PRODUCER) {
            suite_pattern(ring->words, WORDS, j->number);
            null_buffer_write(buffer, ring->words, BYTES);
        } else {
            memset(ring->words, 0, sizeof ring->words);
            null_buffer_read(buffer, ring->words, BYTES);
            REQUIRE_PATTERN(ring->words, WORDS, j->number);
        }
        ring->jobs++;
    }
    ring->submissions++;
    if (signal != 0) REQUIRE_EQ(null_timeline_signal(timeline_of(base, base->side), signal), 0);
    return CULV_OK;
}

static const culvi_graphics_ring_api rings = {.desc = "null_ring_desc",
                                              .attachment = "null_device",
                                              .destroy_call = "null_ring_destroy",
                                              .acquire_call = "null_ring_acquire",
                                              .submit_call = "null_ring_submit",
                                              .flush_call = "null_ring_flush",
                                              .make_object = make_object,
                                              .submit = submit};

static culv_result make_ring(const scene *s, null_ring *ring, culv_ring_side side,
                             uint32_t fallback)
{
    static const uint64_t size = BYTES;
    culv_ring_settings settings = culv_ring_settings_init();
    settings.burst = BURST;
    memset(ring, 0, sizeof *ring);
    ring->fallback = fallback;
    OK(culvi_graphics_ring_check(&rings, s->attachment, NULL, DEPTH, side, 1));
    culvi_graphics_ring_init(&ring->base, &rings, s->attachment, DEPTH, side, "null ring");
    culv_result result = culvi_graphics_ring_make_timelines(&ring->base, fallback);
    if (result == CULV_OK)
        result = culvi_graphics_ring_make_resource(&ring->base, &size, false, true);
    if (result == CULV_OK) result = culvi_graphics_ring_make_core(&ring->base, &settings);
    if (result != CULV_OK) culvi_graphics_ring_unmake(&ring->base);
    return result;
}

static void turn_cuda(const scene *s, null_ring *ring)
{
    const culv_ring_side side = culvi_graphics_ring_cuda_side(&ring->base);
    culv_ring_frame f;
    OK(culv_ring_acquire_on(ring->base.core, side, s->stream, TEST_FAR_MS * UINT64_C(1000000), &f));
    culv_buffer *cuda = culv_shared_buffer_cuda(
        (const culv_shared_buffer *)ring->base.resources[0].objects[f.slot]);
    if (side == CULV_RING_CONSUMER) OK(culv_buffer_download(cuda, s->stream));
    suite_finish(s); /* the copies of this test wait for no stream */
    if (side == CULV_RING_PRODUCER) {
        suite_pattern(ring->words, WORDS, (uint32_t)f.number);
        suite_upload(s, culv_buffer_pointer(cuda), ring->words, BYTES);
        OK(culv_buffer_upload(cuda, s->stream));
    } else {
        suite_download(s, ring->words, culv_buffer_pointer(cuda), BYTES);
        REQUIRE_PATTERN(ring->words, WORDS, (uint32_t)f.number);
    }
    OK(culv_ring_release_on(ring->base.core, side, s->stream, &f));
}

static void turn_null(null_ring *ring, job *jobs)
{
    culv_ring_frame f;
    OK(culvi_graphics_ring_acquire(&ring->base, TEST_FAR_MS * UINT64_C(1000000), &f,
                                   "null_ring_acquire"));
    job *mine = &jobs[f.number % (2 * DEPTH)];
    *mine = (job){f.slot, (uint32_t)f.number};
    const culvi_graphics_work work = {.queue = ring, .commands = mine};
    OK(culvi_graphics_ring_submit(&ring->base, &work, &f, "null_ring_submit"));
}

/* Bursts by turns: the producer's first. */
static void carry(backend_lie lie, uint32_t fallback)
{
    for (int side = 0; side < 2; side++) {
        scene s;
        job jobs[2 * DEPTH];
        null_ring *ring = malloc(sizeof *ring);
        REQUIRE(ring != NULL);
        suite_open(&s, lie, fallback);
        const uint32_t paths = s.cu->software ? fallback : CULV_FALLBACK_HOST;
        OK(make_ring(&s, ring, (culv_ring_side)side, paths));
        for (unsigned done = 0; done < FRAMES / BURST * BURST; done += BURST)
            for (int turn = 0; turn < 2; turn++)
                for (int i = 0; i < BURST; i++) {
                    if (turn == side)
                        turn_null(ring, jobs);
                    else
                        turn_cuda(&s, ring);
                }
        REQUIRE_EQ(ring->jobs, FRAMES / BURST * BURST);
        REQUIRE_EQ(ring->submissions, FRAMES / BURST);
        OK(culv_ring_drain(ring->base.core, TEST_FAR_MS * UINT64_C(1000000), 0));
        suite_finish(&s);
        culvi_graphics_ring_unmake(&ring->base);
        free(ring);
        suite_close(&s);
    }
}

TEST(ring_shared)
{
    scene s;
    suite_open_native(&s);
    const bool software = s.cu->software;
    s.b->close();
    if (!software) SKIP("only the twin imports the null API's timelines");
    carry(BACKEND_HONEST, 0);
}

TEST(ring_by_host)
{
    carry(BACKEND_CLOSED, CULV_FALLBACK_HOST);
}
