/* SPDX-License-Identifier: MIT */
/* What src/graphics does for every API, over one that is none: views of vectors, rings. A chunk's
 * native part is another mapping of it, so that the data are seen; a submission is noted, and its
 * signal set. */
#include "graphics/graphics_ring.h"
#include "graphics/vector_view.h"
#include "vector_stage.h"

extern _Atomic long culvi_alloc_countdown;

/* The API -------------------------------------------------------------------------------------- */

enum { CODE = -7 };

static struct {
    uint64_t counter[3]; /* of timelines 1 and 2 */
    int timelines;       /* that there are */
    int code;            /* what the calls for timelines answer, if not 0 */
    int countdown;       /* the call that fails, counted from 1; 0: none */
    unsigned frees;
} none;

static bool fails(void)
{
    return none.countdown > 0 && --none.countdown == 0;
}

static culv_result refuse(const culvi_graphics *graphics, const char *text)
{
    return culvi_fail(&graphics->device->voice, NULL, CULV_ERROR_DRIVER, CULV_REASON_DRIVER_REFUSED,
                      "%s", text);
}

static void free_none(culvi_graphics *graphics)
{
    (void)graphics;
    none.frees++;
}

/* Nothing is shared: its timelines are the host's. */
static culv_result check_exports(const culvi_graphics *graphics, const char *label, bool semaphores)
{
    return culvi_fail(&graphics->device->voice, label, CULV_ERROR_UNSUPPORTED,
                      CULV_REASON_NOT_EXPORTABLE, "this API exports no %s at all",
                      semaphores ? "semaphores" : "memory");
}

static culv_result make_semaphore(culvi_graphics *graphics, const culvi_semaphore_plan *plan,
                                  bool exportable, uint64_t *out)
{
    REQUIRE(!exportable && plan->type == CULV_SEMAPHORE_TIMELINE);
    if (fails()) return refuse(graphics, "the API makes no timeline, as it was told");
    *out = (uint64_t)++none.timelines;
    none.counter[*out] = 0;
    return CULV_OK;
}

static void unmake_semaphore(culvi_graphics *graphics, uint64_t semaphore)
{
    (void)graphics;
    REQUIRE(semaphore == 1 || semaphore == 2);
    none.timelines--;
}

static culv_result check_timelines(const culvi_graphics *graphics, const char *label,
                                   culvi_host_use use)
{
    (void)label;
    REQUIRE(use != CULVI_HOST_READS);
    return fails() ? refuse(graphics, "the API has no timelines, as it was told") : CULV_OK;
}

static int value_none(const culvi_graphics *graphics, uint64_t semaphore, uint64_t *out)
{
    (void)graphics;
    if (none.code == 0) *out = none.counter[semaphore];
    return none.code;
}

static int wait_none(const culvi_graphics *graphics, uint64_t semaphore, uint64_t value,
                     uint64_t timeout_ns)
{
    (void)graphics;
    (void)timeout_ns;
    return none.code != 0 ? none.code : none.counter[semaphore] >= value ? 0 : 1;
}

static int signal_none(const culvi_graphics *graphics, uint64_t semaphore, uint64_t value)
{
    (void)graphics;
    if (none.code == 0) none.counter[semaphore] = value;
    return none.code;
}

static culv_result fail_none(const culvi_graphics *graphics, const char *label, int code,
                             const char *call, const char *what)
{
    return culvi_fail(&graphics->device->voice, label, CULV_ERROR_DRIVER,
                      CULV_REASON_DRIVER_REFUSED, "%s: %s answered %d", what, call, code);
}

static const culvi_graphics_api api = {.words = &culvi_plain_words,
                                       .free = free_none,
                                       .check_exports = check_exports,
                                       .make_semaphore = make_semaphore,
                                       .unmake_semaphore = unmake_semaphore,
                                       .check_timelines = check_timelines,
                                       .timeline_value = value_none,
                                       .timeline_wait = wait_none,
                                       .timeline_signal = signal_none,
                                       .fail = fail_none};

static void attach(culvi_graphics *graphics, culv_device *device)
{
    memset(&none, 0, sizeof none);
    memset(graphics, 0, sizeof *graphics);
    culvi_graphics_init(graphics, &api, device, "none");
    culvi_graphics_attached(graphics);
}

static void detach(culvi_graphics *graphics)
{
    culvi_graphics_unref(graphics);
    REQUIRE_EQ(none.frees, 1);
}

/* Views of vectors ----------------------------------------------------------------------------- */

typedef struct null_view {
    culv_vector_view base;
    unsigned made, dropped, shown;
    unsigned fail_make; /* this one, counted from 1; 0: none */
    bool fail_show;
} null_view;

static culv_result make_part(culv_vector_view *base, const culv_vector_chunk *chunk,
                             culvi_view_part *part)
{
    null_view *view = (null_view *)base;
    culv_vmm_range_desc d = culv_vmm_range_desc_init();
    culv_vmm_range *range = NULL;
    if (view->fail_make == view->made + 1)
        return refuse(base->graphics, "the API makes no part, as it was told");
    REQUIRE_EQ(part->chunk, chunk->id);
    d.size = chunk->size;
    LIB_OK(culv_vmm_range_create(base->graphics->device, &d, &range));
    LIB_OK(culv_vmm_map(range, 0, chunk->allocation, NULL, 0));
    view->made++;
    part->object = (uint64_t)(uintptr_t)range;
    part->memory = 1000 + view->made;
    return CULV_OK;
}

static void drop_part(culv_vector_view *base, const culvi_view_part *part)
{
    culv_vmm_range *range = (culv_vmm_range *)(uintptr_t)part->object;
    LIB_OK(culv_vmm_unmap(range, 0, part->size));
    culv_vmm_range_destroy(&range);
    ((null_view *)base)->dropped++;
}

static culv_result show_parts(culv_vector_view *base, const culvi_view_part *parts, size_t count)
{
    null_view *view = (null_view *)base;
    if (view->fail_show)
        return refuse(base->graphics, "the API does not show the parts, as it was told");
    /* What is new is what was made since the last time. */
    unsigned fresh = 0;
    for (size_t i = 0; i < count; i++)
        fresh += !culvi_vector_view_has(base, &parts[i]);
    view->shown += fresh;
    return CULV_OK;
}

static const culvi_vector_view_api plain_views = {.make = make_part, .drop = drop_part};
static const culvi_vector_view_api shown_views = {
    .make = make_part, .drop = drop_part, .show = show_parts};

/* The parts are the vector's chunks, and have its words. */
static void require_view(const vector_stage *s, const null_view *view, uint64_t size, uint32_t seed)
{
    const raw_cuda *cu = s->w.cu;
    const culv_vector_view *base = &view->base;
    uint64_t end = 0;
    uint32_t *words = malloc((size_t)size);
    REQUIRE(words != NULL);
    REQUIRE_EQ(atomic_load(&base->generation), culv_vector_generation(base->vector));
    REQUIRE_EQ(view->made - view->dropped, base->num_parts);
    REQUIRE_EQ(culvi_vector_view_end(base->parts, base->num_parts),
               culv_vector_committed(base->vector));
    CUcontext before = lib_enter(&s->w);
    for (size_t i = 0; i < base->num_parts; i++) {
        const culvi_view_part *p = &base->parts[i];
        const culv_vmm_range *range = (const culv_vmm_range *)(uintptr_t)p->object;
        REQUIRE_EQ(p->offset, end);
        end += p->size;
        if (p->offset >= size) continue;
        const uint64_t bytes = size - p->offset < p->size ? size - p->offset : p->size;
        CU_OK(cu->MemcpyDtoH((char *)words + p->offset, culv_vmm_range_pointer(range),
                             (size_t)bytes));
    }
    lib_leave(&s->w, before);
    for (uint64_t i = 0; i < size / 4; i++)
        if (words[i] != lib_word((uint32_t)i, seed))
            FAIL("word %llu differs", (unsigned long long)i);
    free(words);
}

/* Chunks that stay keep their parts; new ones get some, those that go lose theirs. */
TEST(view_follows)
{
    for (int shown = 0; shown < 2; shown++) {
        vector_stage s;
        culvi_graphics graphics;
        null_view view;
        vector_stage_open(&s);
        attach(&graphics, s.w.device);
        memset(&view, 0, sizeof view);
        culv_vector_desc d = culv_vector_desc_init();
        d.size = 2 * s.chunk - 4;
        d.reserve = 4 * s.chunk;
        d.max_chunk = s.chunk;
        culv_vector *v = vector_make(&s, &d);
        vector_write(&s, culv_vector_pointer(v), 0, d.size, 3);
        culvi_vector_view_init(&view.base, shown ? &shown_views : &plain_views, &graphics, v,
                               "view");
        LIB_OK(culvi_vector_view_update(&view.base));
        require_view(&s, &view, d.size, 3);
        REQUIRE_EQ(view.made, 2);
        LIB_OK(culvi_vector_view_update(&view.base)); /* nothing to do */
        REQUIRE_EQ(view.made, 2);
        const uint64_t first = view.base.parts[0].memory;
        LIB_OK(culv_vector_grow(v, 3 * s.chunk - 8));
        vector_write(&s, culv_vector_pointer(v), d.size, 3 * s.chunk - 8, 3);
        LIB_OK(culvi_vector_view_update(&view.base));
        require_view(&s, &view, 3 * s.chunk - 8, 3);
        REQUIRE_EQ(view.made, 3);
        vector_wall(&s, v); /* a move: other addresses, the same chunks */
        LIB_OK(culv_vector_grow(v, 5 * s.chunk));
        LIB_OK(culvi_vector_view_update(&view.base));
        require_view(&s, &view, 3 * s.chunk - 8, 3);
        REQUIRE_EQ(view.made, 5);
        REQUIRE_EQ(view.dropped, 0);
        LIB_OK(culv_vector_shrink(v, s.chunk + 4, NULL));
        LIB_OK(culvi_vector_view_update(&view.base));
        require_view(&s, &view, s.chunk + 4, 3);
        REQUIRE_EQ(view.dropped, 3);
        /* Where others were: new chunks, at an old offset */
        LIB_OK(culv_vector_grow(v, 3 * s.chunk));
        LIB_OK(culvi_vector_view_update(&view.base));
        require_view(&s, &view, s.chunk + 4, 3);
        REQUIRE_EQ(view.made, 6);
        REQUIRE_EQ(view.base.parts[0].memory, first);
        REQUIRE_EQ(view.shown, shown ? 6 : 0);
        culvi_vector_view_clear(&view.base);
        REQUIRE_EQ(view.made, view.dropped);
        LIB_OK(culv_vector_retire(v, 0, NULL));
        culv_vector_destroy(&v);
        detach(&graphics);
        vector_stage_close(&s);
    }
}

/* A part that is not made, a list that is not shown, host memory that is not there: nothing has
 * changed. */
VECTOR_CASE(view_failures)
{
    culvi_graphics graphics;
    null_view view;
    attach(&graphics, s->w.device);
    memset(&view, 0, sizeof view);
    culv_vector_desc d = culv_vector_desc_init();
    d.size = s->chunk;
    d.max_chunk = s->chunk;
    culv_vector *v = vector_make(s, &d);
    vector_write(s, culv_vector_pointer(v), 0, s->chunk, 5);
    culvi_vector_view_init(&view.base, &shown_views, &graphics, v, "view");
    LIB_OK(culvi_vector_view_update(&view.base));
    LIB_OK(culv_vector_grow(v, 4 * s->chunk));
    for (int i = 0; i < 6; i++) {
        const uint64_t generation = atomic_load(&view.base.generation);
        const culvi_view_part part = view.base.parts[0];
        view.fail_make =
            i < 3 ? view.made + 1 + (unsigned)i : 0; /* the first, second, third new one */
        view.fail_show = i == 3;
        atomic_store(&culvi_alloc_countdown, i == 4 ? 1 : i == 5 ? 2 : 0);
        const culv_result result = culvi_vector_view_update(&view.base);
        atomic_store(&culvi_alloc_countdown, 0);
        REQUIRE_EQ(result, i < 4 ? CULV_ERROR_DRIVER : CULV_ERROR_OUT_OF_MEMORY);
        REQUIRE_EQ(view.base.num_parts, 1);
        REQUIRE(memcmp(&view.base.parts[0], &part, sizeof part) == 0);
        REQUIRE_EQ(view.made - view.dropped, 1);
        REQUIRE_EQ(atomic_load(&view.base.generation), generation);
    }
    view.fail_make = 0;
    view.fail_show = false;
    LIB_OK(culvi_vector_view_update(&view.base));
    require_view(s, &view, s->chunk, 5);
    culvi_vector_view_clear(&view.base);
    culv_vector_destroy(&v);
    detach(&graphics);
}

/* Rings ---------------------------------------------------------------------------------------- */

typedef struct null_ring {
    culvi_graphics_ring base;
    /* The last submission. */
    unsigned submissions;
    uint32_t count;
    uintptr_t commands[CULV_RING_MAX_DEPTH];
    uint64_t wait, signal, fence;
} null_ring;

/* What is described is what is handed in. */
static culv_result make_object(culvi_graphics_ring *base, const void *description, uint32_t slot,
                               culvi_pair **out)
{
    culvi_pair *const *handed_in = description;
    if (fails()) return refuse(base->graphics, "the API makes no object, as it was told");
    *out = handed_in[slot];
    return CULV_OK;
}

static culv_result submit(culvi_graphics_ring *base, const culvi_graphics_work *work,
                          uint32_t count, uint64_t wait, uint64_t signal)
{
    null_ring *ring = (null_ring *)base;
    REQUIRE(work->queue == ring);
    if (fails()) return refuse(base->graphics, "the API refuses the submission, as it was told to");
    for (uint32_t i = 0; i < count; i++)
        ring->commands[i] = (uintptr_t)base->pending[i];
    ring->submissions++;
    ring->count = count;
    ring->wait = wait;
    ring->signal = signal;
    ring->fence = work->fence;
    if (signal != 0) none.counter[1 + (int)base->side] = signal;
    return CULV_OK;
}

/* The ring itself is the case's. */
static culv_result destroy(void *ring, bool has_last_use, CUstream last_use, const char *call)
{
    (void)call;
    culvi_graphics_ring_unmake_after(&((null_ring *)ring)->base, has_last_use, last_use);
    return CULV_OK;
}

static const culvi_graphics_ring_api rings = {.desc = "null_ring_desc",
                                              .attachment = "null_attachment",
                                              .ring = {.create_call = "null_create",
                                                       .submit_call = "null_submit",
                                                       .acquire = culvi_graphics_ring_acquire,
                                                       .release = culvi_graphics_ring_release,
                                                       .flush = culvi_graphics_ring_flush,
                                                       .objects = culvi_graphics_ring_objects,
                                                       .destroy = destroy},
                                              .make_object = make_object,
                                              .submit = submit};

/* Images and buffers, both handed in. */
static culv_result make_ring(null_ring *ring, culvi_graphics *graphics, culv_ring_side side,
                             uint32_t depth, uint32_t burst, culvi_pair *const *images,
                             culvi_pair *const *buffers)
{
    culv_ring_settings settings = culv_ring_settings_init();
    settings.burst = burst;
    LIB_OK(culvi_graphics_ring_check(&rings, graphics, NULL, depth, side, 2));
    culvi_graphics_ring_init(&ring->base, &rings, graphics, depth, side, "ring");
    culv_result result = culvi_graphics_ring_make_timelines(&ring->base, CULV_FALLBACK_HOST);
    if (result == CULV_OK)
        result = culvi_graphics_ring_make_resource(&ring->base, images, true, false);
    if (result == CULV_OK)
        result = culvi_graphics_ring_make_resource(&ring->base, buffers, false, false);
    if (result == CULV_OK) result = culvi_graphics_ring_make_core(&ring->base, &settings);
    if (result != CULV_OK) {
        culvi_graphics_ring_unmake(&ring->base);
        REQUIRE_EQ(none.timelines, 0);
    }
    return result;
}

typedef struct ring_world {
    vector_stage s;
    culvi_graphics graphics;
    culvi_pair image[CULV_RING_MAX_DEPTH], buffer[CULV_RING_MAX_DEPTH];
    culvi_pair *images[CULV_RING_MAX_DEPTH], *buffers[CULV_RING_MAX_DEPTH];
    null_ring ring;
} ring_world;

static void world_open(ring_world *w)
{
    memset(w, 0, sizeof *w);
    vector_stage_open(&w->s);
    attach(&w->graphics, w->s.w.device);
    for (int i = 0; i < CULV_RING_MAX_DEPTH; i++) {
        w->image[i].graphics = w->buffer[i].graphics = &w->graphics;
        w->images[i] = &w->image[i];
        w->buffers[i] = &w->buffer[i];
    }
}

static culv_result world_make(ring_world *w, culv_ring_side side, uint32_t depth, uint32_t burst)
{
    return make_ring(&w->ring, &w->graphics, side, depth, burst, w->images, w->buffers);
}

static void world_close(ring_world *w)
{
    LIB_OK(culv_ring_destroy(&w->ring.base.core));
    REQUIRE_EQ(none.timelines, 0);
    detach(&w->graphics);
    vector_stage_close(&w->s);
}

#define RING_WORLD_CASE(...) TEST_ON(ring_world, w, world_open(w), world_close(w), __VA_ARGS__)

/* CUDA's side does all that it can. */
static void turn_cuda(ring_world *w, uint32_t frames)
{
    const culv_ring_side side = culvi_graphics_ring_cuda_side(&w->ring.base);
    while (frames-- > 0) {
        culv_ring_frame f;
        LIB_OK(culv_ring_acquire(w->ring.base.core, side, 0, &f));
        LIB_OK(culv_ring_release(w->ring.base.core, side, &f));
        if (f.signal_value != 0) none.counter[1 + (int)side] = f.signal_value;
    }
}

static culvi_graphics_work work_of(ring_world *w, uintptr_t commands, uint64_t fence)
{
    return (culvi_graphics_work){.queue = &w->ring, .commands = (void *)commands, .fence = fence};
}

RING_WORLD_CASE(ring_is_made)
{
    enum { DEPTH = 3 };
    /* Timelines at all, the two of them, three images, three buffers. */
    for (int n = 1; n <= 3 + 2 * DEPTH; n++) {
        none.countdown = n;
        REQUIRE_EQ(world_make(w, CULV_RING_CONSUMER, DEPTH, 1), CULV_ERROR_DRIVER);
    }
    int failed = 0;
    for (int n = 1; n <= 64; n++) {
        atomic_store(&culvi_alloc_countdown, n);
        const culv_result result = world_make(w, CULV_RING_CONSUMER, DEPTH, 1);
        atomic_store(&culvi_alloc_countdown, 0);
        if (result == CULV_OK) break;
        REQUIRE_EQ(result, CULV_ERROR_OUT_OF_MEMORY);
        failed++;
    }
    REQUIRE(failed >= 5); /* two timelines, two lists, the core */
    culvi_graphics_ring_unmake(&w->ring.base);
    culvi_graphics stranger = w->graphics;
    culvi_pair others = {.graphics = &stranger};
    w->buffers[1] = NULL;
    REQUIRE_EQ(world_make(w, CULV_RING_CONSUMER, DEPTH, 1), CULV_ERROR_INVALID);
    LIB_SAYS("null_ring_desc.resources[1] has a NULL");
    w->buffers[1] = &others;
    REQUIRE_EQ(world_make(w, CULV_RING_CONSUMER, DEPTH, 1), CULV_ERROR_INVALID);
    LIB_SAYS("is of another null_attachment than the ring");
    /* Two frames in one object. */
    w->buffers[1] = &w->buffer[0];
    REQUIRE_EQ(world_make(w, CULV_RING_CONSUMER, DEPTH, 1), CULV_ERROR_INVALID);
    LIB_SAYS("null_ring_desc.resources[1] has for slot 1 what resources[1] has for slot 0");
    w->buffers[1] = &w->image[2];
    REQUIRE_EQ(world_make(w, CULV_RING_CONSUMER, DEPTH, 1), CULV_ERROR_INVALID);
    LIB_SAYS("null_ring_desc.resources[1] has for slot 1 what resources[0] has for slot 2");
    w->buffers[1] = &w->buffer[1];
    LIB_OK(world_make(w, CULV_RING_CONSUMER, DEPTH, 1));
    REQUIRE(culvi_graphics_ring_object(&w->ring.base, 2, 1, false) == &w->buffer[2]);
    REQUIRE(culvi_graphics_ring_object(&w->ring.base, 2, 1, true) == NULL);
    REQUIRE(culvi_graphics_ring_object(&w->ring.base, 2, 0, true) == &w->image[2]);
    REQUIRE(culvi_graphics_ring_object(&w->ring.base, DEPTH, 0, true) == NULL);
    REQUIRE(culvi_graphics_ring_object(&w->ring.base, 0, 2, true) == NULL);
    LIB_INVALID(culvi_graphics_ring_check(&rings, &w->graphics, NULL, 0, CULV_RING_CONSUMER, 0),
                VALUE, "null_ring_desc.max_depth");
    LIB_INVALID(culvi_graphics_ring_check(&rings, &w->graphics, NULL, 1, (culv_ring_side)2, 0),
                VALUE);
    LIB_INVALID(culvi_graphics_ring_check(&rings, &w->graphics, NULL, 1, CULV_RING_PRODUCER, 17),
                VALUE);
}

/* A burst is one submission, of all its commands in order, after the last value that a frame of it
 * waits for. */
RING_WORLD_CASE(ring_bursts)
{
    culv_ring_frame f;
    uintptr_t next = 1;
    LIB_OK(world_make(w, CULV_RING_CONSUMER, 6, 3));
    null_ring *ring = &w->ring;
    for (unsigned burst = 1; burst <= 4; burst++) {
        turn_cuda(w, 3);
        for (int i = 0; i < 3; i++) {
            const culvi_graphics_work work = work_of(w, next++, 0);
            LIB_OK(culv_ring_acquire(ring->base.core, ring->base.side, 0, &f));
            LIB_OK(culvi_graphics_ring_submit(&ring->base, &work, &f, "submit"));
            REQUIRE_EQ(ring->base.num_pending, i == 2 ? 0 : (uint32_t)i + 1);
            REQUIRE_EQ(f.signal_value, i == 2 ? burst : 0);
        }
        REQUIRE_EQ(ring->submissions, burst);
        REQUIRE_EQ(ring->count, 3);
        for (uintptr_t i = 0; i < 3; i++)
            REQUIRE_EQ(ring->commands[i], next - 3 + i);
        REQUIRE_EQ(ring->wait, burst);
        REQUIRE_EQ(ring->signal, burst);
    }
    /* A fence within a burst submits what there is, without a signal; a flush ends the burst with
     * one. */
    turn_cuda(w, 3);
    culvi_graphics_work work = work_of(w, 100, 0);
    LIB_OK(culv_ring_acquire(ring->base.core, ring->base.side, 0, &f));
    LIB_OK(culvi_graphics_ring_submit(&ring->base, &work, &f, "submit"));
    LIB_OK(culv_ring_acquire(ring->base.core, ring->base.side, 0, &f));
    work = work_of(w, 101, 55);
    LIB_OK(culvi_graphics_ring_submit(&ring->base, &work, &f, "submit"));
    REQUIRE_EQ(ring->count, 2);
    REQUIRE_EQ(ring->wait, 5);
    REQUIRE_EQ(ring->signal, 0);
    REQUIRE_EQ(ring->fence, 55);
    LIB_OK(culv_ring_flush(ring->base.core, CULV_RING_CONSUMER, NULL));
    REQUIRE_EQ(ring->count, 0);
    REQUIRE_EQ(ring->signal, 5);
    const unsigned before = ring->submissions;
    uint64_t value = 1;
    LIB_OK(culv_ring_flush(ring->base.core, CULV_RING_CONSUMER, &value)); /* nothing is kept */
    REQUIRE_EQ(value, 0);
    REQUIRE_EQ(ring->submissions, before);
}

/* What fails leaves the frame with its side, and what is kept is kept; what is kept bars a release
 * without it. */
RING_WORLD_CASE(ring_failures)
{
    culv_ring_frame f;
    LIB_OK(world_make(w, CULV_RING_PRODUCER, 4, 2));
    null_ring *ring = &w->ring;
    culv_ring *core = ring->base.core;
    uint64_t value = 0;
    culvi_graphics_work work = work_of(w, 7, 0);
    LIB_OK(culv_ring_acquire(ring->base.core, ring->base.side, 0, &f));
    LIB_OK(culvi_graphics_ring_submit(&ring->base, &work, &f, "submit"));
    LIB_OK(culv_ring_acquire(ring->base.core, ring->base.side, 0, &f));
    LIB_INVALID(culv_ring_release(core, CULV_RING_PRODUCER, &f), RING_ORDER,
                "culv_ring_release: 1 command buffers that null_submit() kept",
                "by null_submit() or culv_ring_flush()");
    work = work_of(w, 8, 0);
    none.countdown = 1;
    LIB_ERROR(culvi_graphics_ring_submit(&ring->base, &work, &f, "submit"), DRIVER, DRIVER_REFUSED);
    REQUIRE_EQ(ring->base.num_pending, 1);
    LIB_OK(culvi_graphics_ring_submit(&ring->base, &work, &f, "submit"));
    REQUIRE_EQ(ring->count, 2);
    REQUIRE_EQ(ring->commands[0], 7);
    REQUIRE_EQ(ring->commands[1], 8);
    REQUIRE_EQ(ring->signal, 1);
    REQUIRE_EQ(f.signal_value, 1);
    /* A forced drain takes an open burst away: its commands are nobody's. */
    LIB_OK(culv_ring_acquire(ring->base.core, ring->base.side, 0, &f));
    LIB_OK(culvi_graphics_ring_submit(&ring->base, &work, &f, "submit"));
    REQUIRE_EQ(ring->base.num_pending, 1);
    LIB_ERROR(culv_ring_drain(core, 0, 0), BUSY, RING_ORDER, "call culv_ring_flush() first");
    LIB_OK(culv_ring_drain(core, 0, 1));
    LIB_OK(culv_ring_acquire(ring->base.core, ring->base.side, 0, &f));
    LIB_OK(culv_ring_release(core, CULV_RING_PRODUCER, &f));
    REQUIRE_EQ(ring->base.num_pending, 0);
    /* A program that submits by itself signals the value itself. */
    LIB_INVALID(culv_ring_flush(core, CULV_RING_PRODUCER, NULL), NULL_ARGUMENT);
    LIB_OK(culv_ring_flush(core, CULV_RING_PRODUCER, &value));
    REQUIRE_EQ(value, 2);
    none.counter[1 + CULV_RING_PRODUCER] = value;
    LIB_INVALID(culv_ring_acquire_on(core, CULV_RING_PRODUCER, NULL, 0, &f), RING_SIDE,
                "culv_ring_acquire(), null_submit() and culv_ring_flush()");
    LIB_INVALID(culv_ring_release_on(core, CULV_RING_PRODUCER, NULL, &f), RING_SIDE);
    LIB_INVALID(culv_ring_flush_on(core, CULV_RING_PRODUCER, NULL), RING_SIDE);
}

/* What the API's calls answer becomes the ring's error, by the API's words. */
RING_WORLD_CASE(ring_timelines)
{
    culv_ring_frame f;
    LIB_OK(world_make(w, CULV_RING_CONSUMER, 2, 1));
    culv_ring *core = w->ring.base.core;
    turn_cuda(w, 2);
    LIB_OK(culv_ring_acquire(core, CULV_RING_CONSUMER, 0, &f));
    LIB_OK(culv_ring_release(core, CULV_RING_CONSUMER, &f)); /* which is not signaled */
    REQUIRE_EQ(f.signal_value, 1);
    LIB_ERROR(culv_ring_drain(core, 0, 0), TIMEOUT, RING_LATE);
    none.code = CODE;
    LIB_ERROR(culv_ring_drain(core, 0, 0), DRIVER, DRIVER_REFUSED, "a ring's timeline could not be",
              "answered -7");
    none.code = 0;
    LIB_OK(culv_ring_drain(core, 0, 1));
    REQUIRE_EQ(none.counter[1 + CULV_RING_CONSUMER], 1);
}
