/* SPDX-License-Identifier: MIT */
/* What every ring promises, in each way that a back-end's rings go and on timelines and slots of
 * the caller's own (culv_ring_create()), whichever side the API has: the data of each frame, who
 * waits for whom, how a ring ends. CUDA's turns are queued: nothing of them waits for the GPU. */
#define TEST_GROUP "rings."
#include "suite.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum {
    MOST = BACKEND_RING_FRAMES,
    SIZE = BACKEND_RING_BYTES,
    WORDS = BACKEND_RING_WORDS,
    MS = 1000000
};

static const uint64_t FAR = TEST_FAR_MS * (uint64_t)MS;

/* A timeline of the caller's own, as culv_ring_create() asks for it. */
typedef struct own_line {
    const backend *b;
    void *timeline;
    culv_semaphore *cuda;
} own_line;

typedef struct turns {
    scene s;
    backend_ring d;
    culv_ring *ring;
    culv_ring_side cuda, api;
    uint32_t *page;   /* pinned: what CUDA writes or read, for each frame */
    bool read[MOST];  /* by CUDA, into the page */
    uint64_t next[2]; /* the number of the frame that a side releases next */
    CUstream other;
    bool own; /* of culv_ring_create(): then there are */
    own_line lines[2];
    void *slots[CULV_RING_MAX_DEPTH];
} turns;

static const backend *const b = &backend_under_test;

/* A ring's settings, as they are by default but for some. */
#define WITH(...)                                                                                  \
    (&(const culv_ring_settings){.struct_size = sizeof(culv_ring_settings), __VA_ARGS__})

static uint32_t seed_of(uint64_t number)
{
    return (uint32_t)number * 2246822519u + 1;
}

static void rest(unsigned ms)
{
    nanosleep(&(struct timespec){.tv_nsec = (long)ms * MS}, NULL);
}

static culv_ring_stats stats_of(const turns *t)
{
    culv_ring_stats stats = culv_ring_stats_init();
    OK(culv_ring_get_stats(t->ring, &stats));
    return stats;
}

static uint64_t waits_of(const turns *t, culv_ring_side side)
{
    const culv_ring_stats stats = stats_of(t);
    return side == CULV_RING_PRODUCER ? stats.producer_waits : stats.consumer_waits;
}

static void enter(const turns *t)
{
    CU_OK(t->s.cu->CtxPushCurrent(t->s.context));
}

static void leave(const turns *t)
{
    CUcontext before;
    CU_OK(t->s.cu->CtxPopCurrent(&before));
}

#define INSIDE(t, call) (enter(t), (call), leave(t))

static void require_waiting(const turns *t)
{
    INSIDE(t, REQUIRE_EQ(t->s.cu->StreamQuery(t->s.stream), CUDA_ERROR_NOT_READY));
}

static void finish(const turns *t)
{
    suite_finish(&t->s);
    if (b->finish != NULL) b->finish();
}

/* CUDA's side has its stream. */
static culv_result acquire(const turns *t, culv_ring_side side, uint64_t timeout,
                           culv_ring_frame *out)
{
    return side == t->cuda ? culv_ring_acquire_on(t->ring, side, t->s.stream, timeout, out)
                           : culv_ring_acquire(t->ring, side, timeout, out);
}

/* What each ring has of its own: on the API's side culv_ring_release() is a promise; a burst is
 * kept until it is whole; the API's work waits on the GPU; the API's acquire waits on the host. */
static bool promises(const turns *t)
{
    return t->own || b->ring_submits;
}

static bool keeps(const turns *t)
{
    return !t->own && b->ring_submits;
}

static bool queues(const turns *t)
{
    return !t->own && b->ring_queues;
}

static bool is_way_of_context(const turns *t)
{
    return !t->own && b->ring_way_of_context == 1 + t->d.way;
}

static bool host_waits(const turns *t)
{
    if (t->own) return false;
    if (b->ring_waits != NULL) return b->ring_waits(t->ring);
#ifdef _WIN32
    if (t->d.waits == CULV_RING_WAITS_DEFAULT) return t->api == CULV_RING_CONSUMER;
#endif
    return t->d.waits == CULV_RING_WAITS_SIGNAL_FIRST;
}

/* Rings ---------------------------------------------------------------------------------------- */

static culv_result value_of(void *line_, uint64_t *out)
{
    const own_line *line = line_;
    *out = line->b->timeline_value(line->timeline);
    return CULV_OK;
}

static culv_result wait_for(void *line_, uint64_t value, uint64_t timeout)
{
    const own_line *line = line_;
    const uint64_t ms = (timeout + MS - 1) / MS;
    return line->b->timeline_wait(line->timeline, value, (unsigned)ms) ? CULV_OK
                                                                       : CULV_ERROR_TIMEOUT;
}

static culv_result signal_from_host(void *line_, uint64_t value)
{
    const own_line *line = line_;
    line->b->timeline_signal(line->timeline, value);
    return CULV_OK;
}

static culv_ring_desc own_desc(turns *t, const backend_ring *d)
{
    culv_ring_desc desc = culv_ring_desc_init();
    culv_ring_timeline *all[] = {&desc.ready, &desc.done};
    desc.max_depth = d->depth;
    desc.settings = d->settings;
    desc.label = "frames";
    for (int i = 0; i < 2; i++)
        *all[i] = (culv_ring_timeline){.semaphore = t->lines[i].cuda,
                                       .value = value_of,
                                       .wait = wait_for,
                                       .signal = signal_from_host,
                                       .context = &t->lines[i]};
    return desc;
}

/* False: the caller's timelines cannot be imported here. */
static bool make_own(turns *t)
{
    for (int i = 0; i < 2; i++) {
        own_line *line = &t->lines[i];
        *line = (own_line){b, b->timeline_create(0), NULL};
        const culv_result result = b->timeline_import(t->s.attachment, line->timeline, &line->cuda);
        if (result == CULV_OK) continue;
        REQUIRE_EQ(result, CULV_ERROR_UNSUPPORTED);
        REQUIRE_EQ(i, 0);
        b->timeline_destroy(line->timeline);
        return false;
    }
    for (uint32_t i = 0; i < t->d.depth; i++)
        OK(b->buffer_create(t->s.attachment, SIZE, 0, &t->slots[i]));
    const culv_ring_desc desc = own_desc(t, &t->d);
    OK(culv_ring_create(t->s.device, &desc, &t->ring));
    return true;
}

static void unmake_own(turns *t)
{
    for (uint32_t i = 0; i < t->d.depth; i++)
        b->buffer_destroy(&t->slots[i], false, NULL);
    for (int i = 0; i < 2; i++) {
        culv_semaphore_destroy(&t->lines[i].cuda, NULL);
        b->timeline_destroy(t->lines[i].timeline);
    }
}

static bool ring_begin(turns *t, const backend_ring *d)
{
    t->d = *d;
    t->api = d->side;
    t->cuda = d->side == CULV_RING_PRODUCER ? CULV_RING_CONSUMER : CULV_RING_PRODUCER;
    t->own = d->way == b->ring_ways;
    memset(t->read, 0, sizeof t->read);
    memset(t->next, 0, sizeof t->next);
    if (t->own) return make_own(t);
    OK(b->ring_create(t->s.attachment, d, &t->ring));
    return true;
}

/* All that was handed over is done; it is right, or nobody cares. */
static void check(turns *t, bool right)
{
    finish(t);
    for (uint32_t n = 0; n < MOST; n++)
        if (t->read[n]) {
            const uint32_t *words = t->page + (size_t)n * WORDS;
            t->read[n] = false;
            if (!right) continue;
            uint64_t number = n; /* the latest of those that have this place */
            while (number + MOST < t->next[t->cuda])
                number += MOST;
            REQUIRE_PATTERN(words, WORDS, seed_of(number));
        }
    if (!t->own && b->ring_check != NULL) b->ring_check(right);
}

static void settle(turns *t)
{
    OK(culv_ring_drain(t->ring, FAR, 0));
    check(t, true);
    if (!t->own) return;
    const culv_ring_stats stats = stats_of(t);
    for (int side = 0; side < 2; side++)
        REQUIRE_EQ(b->timeline_value(t->lines[side].timeline),
                   side == CULV_RING_PRODUCER ? stats.ready_signaled : stats.done_signaled);
}

/* Whatever state it is in. */
static void ring_unmake(turns *t, bool after)
{
    OK(culv_ring_destroy(&t->ring, after ? &t->s.stream : NULL));
    REQUIRE(t->ring == NULL);
    OK(culv_ring_destroy(&t->ring, NULL));
    if (t->own)
        unmake_own(t);
    else if (b->ring_end != NULL)
        b->ring_end();
}

static void ring_finish(turns *t)
{
    settle(t);
    ring_unmake(t, false);
}

static void scene_begin(turns *t, bool across, uint32_t fallback)
{
    memset(t, 0, sizeof *t);
    suite_open_on(&t->s, across,
                  across          ? BACKEND_ACROSS
                  : fallback != 0 ? BACKEND_CLOSED
                                  : BACKEND_HONEST,
                  fallback);
    if (b->rings_of_the_twin && fallback == 0 && !t->s.cu->software)
        SKIP("only the twin imports its timelines");
    void *page = NULL;
    enter(t);
    CU_OK(t->s.cu->MemHostAlloc(&page, (size_t)MOST * WORDS * 4, 0));
    CU_OK(t->s.cu->StreamCreate(&t->other, CU_STREAM_NON_BLOCKING));
    leave(t);
    t->page = page;
}

static void scene_end(turns *t)
{
    enter(t);
    CU_OK(t->s.cu->StreamDestroy(t->other));
    CU_OK(t->s.cu->MemFreeHost(t->page));
    leave(t);
    suite_close(&t->s);
}

/* Rings of one side of the API's or of both, in each way: ALONE, each has a scene for itself. */
enum { OF_PRODUCER = 1, OF_CONSUMER = 2, BOTH = 3, ALONE = 4, ACROSS = 8 };

static void each(void (*run)(turns *t), backend_ring d, unsigned what)
{
    static turns t;
    bool open = false, ran = false;
    const bool across = (what & ACROSS) != 0;
    const unsigned ways = b->ring_ways + (d.fallback == 0 && !across);
    if (across && !b->rings_across) SKIP("its rings go to no other GPU");
    for (d.way = 0; d.way < ways; d.way++)
        for (int side = 0; side < 2; side++) {
            if ((what & 1u << side) == 0) continue;
            if (!open) scene_begin(&t, across, d.fallback);
            open = true;
            d.side = (culv_ring_side)side;
            if (!ring_begin(&t, &d)) continue;
            ran = true;
            run(&t);
            if (t.ring != NULL) ring_finish(&t);
            if ((what & ALONE) == 0) continue;
            if (t.s.device != NULL) scene_end(&t);
            open = false;
        }
    if (open) scene_end(&t);
    if (!ran) SKIP("it has no rings, and no timelines for one");
}

/* Turns ---------------------------------------------------------------------------------------- */

static void note(turns *t, culv_ring_side side, const culv_ring_frame *f)
{
    REQUIRE(f->slot < t->d.depth);
    if (f->repeated) {
        REQUIRE_EQ(f->number + 1, t->next[side]);
        return;
    }
    REQUIRE_EQ(f->number, t->next[side] + f->skipped);
    t->next[side] = f->number + 1;
}

static culv_ring_frame take(turns *t, culv_ring_side side)
{
    culv_ring_frame f;
    OK(acquire(t, side, FAR, &f));
    REQUIRE_EQ(f.signal_value, 0);
    return f;
}

static culv_buffer *slot_of(const turns *t, uint32_t slot)
{
    culv_buffer *buffer =
        t->own ? b->buffer_cuda(t->slots[slot]) : culv_ring_buffer(t->ring, slot, 0);
    REQUIRE(buffer != NULL);
    REQUIRE(!t->own || culv_ring_buffer(t->ring, slot, 0) == NULL);
    return buffer;
}

/* CUDA's use of a slot, and its release. */
static void give_cuda(turns *t, culv_ring_frame *f)
{
    const raw_cuda *cu = t->s.cu;
    culv_buffer *buffer = slot_of(t, f->slot);
    const CUdeviceptr pointer =
        t->own ? culv_buffer_pointer(buffer) : culv_ring_pointer(t->ring, f->slot, 0);
    uint32_t *words = t->page + (size_t)(f->number % MOST) * WORDS;
    REQUIRE(pointer != 0);
    enter(t);
    if (t->cuda == CULV_RING_PRODUCER) {
        suite_pattern(words, WORDS, seed_of(f->number));
        CU_OK(cu->MemcpyHtoDAsync(pointer, words, (size_t)WORDS * 4, t->s.stream));
        OK(culv_buffer_copy(buffer, CULV_COPY_UPLOAD, t->s.stream));
    } else {
        OK(culv_buffer_copy(buffer, CULV_COPY_DOWNLOAD, t->s.stream));
        CU_OK(cu->MemcpyDtoHAsync(words, pointer, (size_t)WORDS * 4, t->s.stream));
        t->read[f->number % MOST] = true;
    }
    leave(t);
    OK(culv_ring_release_on(t->ring, t->cuda, t->s.stream, f));
    note(t, t->cuda, f);
}

static void signal_own(const turns *t, uint64_t value)
{
    if (value != 0) b->timeline_signal(t->lines[t->api].timeline, value);
}

static void give_api(turns *t, culv_ring_frame *f)
{
    static uint32_t words[WORDS];
    if (!t->own) {
        OK(b->ring_release(t->ring, f, seed_of(f->number)));
    } else {
        if (f->wait_value != 0)
            REQUIRE(b->timeline_wait(t->lines[t->cuda].timeline, f->wait_value, TEST_FAR_MS));
        suite_pattern(words, WORDS, seed_of(f->number));
        if (t->api == CULV_RING_PRODUCER)
            b->buffer_write(t->slots[f->slot], words, sizeof words);
        else
            b->buffer_read(t->slots[f->slot], words, sizeof words);
        REQUIRE_PATTERN(words, WORDS, seed_of(f->number));
        OK(culv_ring_release(t->ring, t->api, f));
        signal_own(t, f->signal_value);
    }
    note(t, t->api, f);
}

static culv_ring_frame turn(turns *t, culv_ring_side side)
{
    culv_ring_frame f = take(t, side);
    (side == t->cuda ? give_cuda : give_api)(t, &f);
    REQUIRE_EQ(f.signal_value != 0, f.burst_ends);
    return f;
}

static void flush(turns *t, culv_ring_side side)
{
    uint64_t value = 0;
    OK(side == t->cuda ? culv_ring_flush_on(t->ring, side, t->s.stream)
                       : culv_ring_flush(t->ring, side, t->own ? &value : NULL));
    signal_own(t, value);
}

/* A frame that the API's side released and never submits. */
static culv_ring_frame promise(turns *t)
{
    culv_ring_frame f = take(t, t->api);
    OK(culv_ring_release(t->ring, t->api, &f));
    note(t, t->api, &f);
    return f;
}

/* The signal in place of the API's, by CUDA's half of its timeline. */
static void signal_for_api(const turns *t, uint64_t value)
{
    INSIDE(t, OK(culv_semaphore_signal(culv_ring_semaphore(t->ring, t->api), t->other, value)));
}

/* The producer fills what is free, then the consumer takes it. */
static void flow(turns *t, uint32_t frames, uint32_t together)
{
    for (uint32_t done = 0; done < frames; done += together)
        for (int side = 0; side < 2; side++) {
            for (uint32_t i = done; i < done + together && i < frames; i++)
                (void)turn(t, (culv_ring_side)side);
            flush(t, (culv_ring_side)side);
        }
}

typedef struct runner {
    turns *t;
    uint32_t frames;
} runner;

static void *run_cuda(void *user)
{
    const runner *r = user;
    const bool context = is_way_of_context(r->t);
    if (context) b->ring_thread(true);
    for (uint32_t i = 0; i < r->frames; i++)
        (void)turn(r->t, r->t->cuda);
    flush(r->t, r->t->cuda);
    if (context) b->ring_thread(false);
    return NULL;
}

/* A thread for each side, and each frame is looked at. */
static void race(turns *t, uint64_t frames)
{
    while (frames > 0) {
        runner r = {t, frames < MOST ? (uint32_t)frames : MOST};
        pthread_t thread;
        REQUIRE_EQ(pthread_create(&thread, NULL, run_cuda, &r), 0);
        for (uint32_t i = 0; i < r.frames; i++)
            (void)turn(t, t->api);
        flush(t, t->api);
        REQUIRE_EQ(pthread_join(thread, NULL), 0);
        settle(t);
        frames -= r.frames;
    }
}

/* Frames --------------------------------------------------------------------------------------- */

/* The last burst is cut off; a slot is used again and again. */
static void carry(turns *t)
{
    flow(t, 28, t->d.depth);
    settle(t);
    const culv_ring_stats stats = stats_of(t);
    REQUIRE_EQ(stats.produced, 28);
    REQUIRE_EQ(stats.consumed, 28);
    REQUIRE_EQ(stats.skipped, 0);
}

static void carry_all(uint32_t fallback, unsigned across)
{
    static const struct {
        uint32_t depth, burst;
    } rows[] = {{1, 1}, {6, 1}, {6, 3}, {8, 8}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        each(carry,
             (backend_ring){.depth = rows[i].depth,
                            .fallback = fallback,
                            .settings = WITH(.burst = rows[i].burst)},
             BOTH | across);
}

TEST_AS(carried, carry_all(0, 0), .smoke = true)

static void require_copies(turns *t)
{
    REQUIRE_EQ(culv_buffer_sharing(slot_of(t, 2)), CULV_SHARING_HOST);
    REQUIRE_EQ(culv_semaphore_sharing(culv_ring_semaphore(t->ring, CULV_RING_PRODUCER)),
               CULV_SHARING_HOST);
}

TEST(carried_by_host)
{
    if (b->ring_ways != 1 || b->copies_nothing) SKIP("a way of its own, or none");
    each(require_copies, (backend_ring){.depth = 3, .fallback = CULV_FALLBACK_HOST}, BOTH);
    carry_all(CULV_FALLBACK_HOST, 0);
}

/* --frames=N: more hand-overs than a ring remembers; bursts, and frame by frame. */
static uint64_t frames_asked(void)
{
    return strtoull(test_option("frames", "700"), NULL, 10);
}

static void race_asked(turns *t)
{
    race(t, frames_asked());
    REQUIRE_EQ(stats_of(t).consumed, frames_asked());
}

TEST(raced, .time_limit = 2400)
{
    each(race_asked, (backend_ring){.depth = 3}, BOTH);
    each(race_asked, (backend_ring){.depth = 8, .settings = WITH(.burst = 4)}, BOTH);
}

/* Each side waits on the host for the other one's signals. */
static void race_some(turns *t)
{
    race(t, 60);
}

TEST(waits_on_host)
{
    for (uint32_t depth = 1; depth <= 3; depth++)
        each(race_some,
             (backend_ring){.depth = depth,
                            .settings = WITH(.cuda_waits = CULV_RING_WAITS_SIGNAL_FIRST),
                            .waits = CULV_RING_WAITS_SIGNAL_FIRST},
             BOTH);
}

/* Nothing is lost, whatever is changed while frames flow. */
typedef struct changer {
    culv_ring *ring;
    atomic_bool stop;
} changer;

static void *change(void *user)
{
    changer *c = user;
    const culv_ring_settings all[] = {
        {.struct_size = sizeof *all, .depth = 2},
        {.struct_size = sizeof *all, .depth = 8, .burst = 4},
        {.struct_size = sizeof *all, .depth = 6, .burst = 3, .max_frames_in_flight = 20},
        {.struct_size = sizeof *all, .max_latency = 5 * MS},
        {.struct_size = sizeof *all, .cuda_waits = CULV_RING_WAITS_SIGNAL_FIRST},
    };
    for (unsigned i = 0; !atomic_load(&c->stop); i++) {
        OK(culv_ring_configure(c->ring, &all[i % (sizeof all / sizeof *all)]));
        rest(3);
    }
    return NULL;
}

static void change_all(turns *t)
{
    changer c = {.ring = t->ring};
    pthread_t thread;
    if (t->d.way > 0 && !t->own) return; /* OpenGL's counters are its context's */
    REQUIRE_EQ(pthread_create(&thread, NULL, change, &c), 0);
    race(t, 400);
    atomic_store(&c.stop, true);
    REQUIRE_EQ(pthread_join(thread, NULL), 0);
    REQUIRE_EQ(stats_of(t).consumed, 400);
}

TEST_AS(changed, each(change_all, (backend_ring){.depth = 8}, BOTH))

/* Both sides are streams of CUDA's, and what they write is inline (docs/ring.md, "Two CUDA
 * sides"). */
static void between_streams(turns *t)
{
    if (!t->own) return;
    const raw_cuda *cu = t->s.cu;
    const CUstream streams[] = {t->s.stream, t->other};
    const uint32_t burst = stats_of(t).burst;
    unsigned wrong = 0;
    enter(t);
    for (uint32_t n = 0; n < 96; n += burst)
        for (int side = 0; side < 2; side++)
            for (uint32_t i = n; i < n + burst; i++) {
                culv_ring_frame f;
                OK(culv_ring_acquire_on(t->ring, (culv_ring_side)side, streams[side], FAR, &f));
                const CUdeviceptr slot = culv_buffer_pointer(slot_of(t, f.slot));
                REQUIRE_EQ(f.number, i);
                if (side == CULV_RING_PRODUCER)
                    CU_OK(cu->MemsetD32Async(slot, i + 1, WORDS, streams[side]));
                else
                    CU_OK(cu->MemcpyDtoHAsync(t->page + (size_t)i * WORDS, slot, (size_t)WORDS * 4,
                                              streams[side]));
                OK(culv_ring_release_on(t->ring, (culv_ring_side)side, streams[side], &f));
                REQUIRE_EQ(f.signal_value != 0, f.burst_ends);
            }
    CU_OK(cu->StreamSynchronize(t->other));
    leave(t);
    settle(t);
    for (uint32_t i = 0; i < 96 * WORDS; i++)
        wrong += t->page[i] != i / WORDS + 1;
    REQUIRE_EQ(wrong, 0);
}

TEST(streams)
{
    for (uint32_t burst = 1; burst <= 4; burst++)
        each(between_streams, (backend_ring){.depth = 4, .settings = WITH(.burst = burst)},
             OF_CONSUMER);
}

static void CUDA_CB nap(void *user)
{
    rest(20);
}

/* The frames of a burst in two streams: whatever is mapped is unmapped behind its own. */
static void two_in_a_burst(turns *t)
{
    const CUstream streams[] = {t->s.stream, t->other};
    if (!is_way_of_context(t)) return;
    for (int i = 0; i < 2; i++) {
        t->s.stream = streams[i];
        enter(t);
        if (i == 1) CU_OK(t->s.cu->LaunchHostFunc(t->other, nap, NULL));
        leave(t);
        (void)turn(t, t->cuda);
    }
    t->s.stream = streams[0];
    for (int i = 0; i < 2; i++)
        (void)turn(t, t->api);
}

TEST_AS(streams_of_a_burst,
        each(two_in_a_burst, (backend_ring){.depth = 4, .settings = WITH(.burst = 2)}, OF_CONSUMER))

/* culvi_arrive(): a signal that CUDA or OpenGL may wait for does not overtake what its stream has
 * written inline. Vulkan's and Direct3D's need no word, which would cost each frame time. */
static void signal_captured(turns *t)
{
    const raw_cuda *cu = t->s.cu;
    culv_semaphore *semaphore =
        t->own ? t->lines[t->cuda].cuda : culv_ring_semaphore(t->ring, t->cuda);
    CUgraph graph;
    CUgraphNode nodes[2];
    size_t count = 0, room = 2;
    if (semaphore == NULL || culv_semaphore_sharing(semaphore) != CULV_SHARING_SHARED) return;
    enter(t);
    CU_OK(cu->StreamBeginCapture(t->other, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    OK(culv_semaphore_signal(semaphore, t->other, 1));
    CU_OK(cu->StreamEndCapture(t->other, &graph));
    CU_OK(cu->GraphGetNodes(graph, NULL, &count));
    REQUIRE_EQ(count, t->own || b->signals_arrive ? 2 : 1);
    CU_OK(cu->GraphGetNodes(graph, nodes, &room));
    for (size_t i = 0; i < count; i++) {
        CUgraphNodeType type;
        CU_OK(cu->GraphNodeGetType(nodes[i], &type));
        REQUIRE(type == CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL ||
                (count == 2 && type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP));
    }
    CU_OK(cu->GraphDestroy(graph));
    leave(t);
}

TEST_AS(words_before_signals, each(signal_captured, (backend_ring){.depth = 1}, BOTH))

/* MAILBOX -------------------------------------------------------------------------------------- */

/* The newest frame wins, and is shown again. */
static void show_newest(turns *t)
{
    for (uint32_t round = 1; round <= 6; round++) {
        for (uint32_t i = 0; i < 5; i++)
            (void)turn(t, CULV_RING_PRODUCER);
        finish(t);
        for (uint32_t again = 0; again < 2; again++) {
            const culv_ring_frame f = turn(t, CULV_RING_CONSUMER);
            REQUIRE_EQ(f.number, 5 * round - 1);
            REQUIRE_EQ(f.repeated, again);
            REQUIRE_EQ(f.skipped, again == 0 ? 4 : 0);
        }
    }
}

static void newest(unsigned what)
{
    each(show_newest, (backend_ring){.depth = 4, .settings = WITH(.policy = CULV_RING_MAILBOX)},
         what);
}

TEST_AS(mailbox, newest(BOTH))

/* A producer as fast as it can; the last frame stays. */
static void race_newest(turns *t)
{
    runner r = {t, 600};
    pthread_t thread;
    uint32_t asked = 0;
    REQUIRE_EQ(pthread_create(&thread, NULL, run_cuda, &r), 0);
    while (t->next[t->api] < r.frames && ++asked < BACKEND_RING_FRAMES) {
        (void)turn(t, t->api);
        rest(1);
    }
    REQUIRE_EQ(pthread_join(thread, NULL), 0);
    suite_finish(&t->s);
    (void)turn(t, t->api);
    REQUIRE_EQ(t->next[t->api], r.frames);
    REQUIRE_EQ(turn(t, t->api).repeated, 1);
    const culv_ring_stats stats = stats_of(t);
    REQUIRE_EQ(stats.produced, r.frames);
    REQUIRE_EQ(stats.consumed + stats.skipped, r.frames);
}

TEST_AS(newest_of_many,
        each(race_newest, (backend_ring){.depth = 4, .settings = WITH(.policy = CULV_RING_MAILBOX)},
             OF_CONSUMER))

/* Bursts --------------------------------------------------------------------------------------- */

/* A producer that ends each burst early; then two bursts of it are one of the consumer's, which
 * waits for the later one. */
static void flush_each(turns *t)
{
    for (uint64_t i = 0; i < 20; i++) {
        (void)turn(t, CULV_RING_PRODUCER);
        flush(t, CULV_RING_PRODUCER);
        REQUIRE_EQ(stats_of(t).ready_signaled, i + 1);
        (void)turn(t, CULV_RING_CONSUMER); /* all that there is: a burst of its own */
        REQUIRE_EQ(stats_of(t).done_signaled, i + 1);
        flush(t, CULV_RING_CONSUMER);
        REQUIRE_EQ(stats_of(t).done_signaled, i + 1);
    }
    (void)turn(t, CULV_RING_PRODUCER);
    (void)turn(t, CULV_RING_PRODUCER);
    flush(t, CULV_RING_PRODUCER);
    (void)turn(t, CULV_RING_PRODUCER);
    flush(t, CULV_RING_PRODUCER);
    for (uint64_t i = 0; i < 3; i++) {
        const culv_ring_frame f = turn(t, CULV_RING_CONSUMER);
        REQUIRE_EQ(f.wait_value, i == 0 ? 22 : 0);
        REQUIRE_EQ(f.burst_ends, i == 2);
    }
    REQUIRE_EQ(stats_of(t).done_signaled, 21);
}

TEST_AS(flushed, each(flush_each, (backend_ring){.depth = 8, .settings = WITH(.burst = 4)}, BOTH))

/* What the API's side keeps of a burst goes first, whichever call somebody tries; a program that
 * submits by itself is told what to signal. */
static void keep(turns *t)
{
    const culv_ring_side me = t->api;
    const bool kept = keeps(t);
    culv_ring_frame f;
    uint64_t value = 7;
    if (!promises(t)) return;
    if (me == CULV_RING_CONSUMER) {
        (void)turn(t, t->cuda);
        REFUSED(culv_ring_acquire(t->ring, me, 0, &f), TIMEOUT, RING_EMPTY,
                t->own ? "culv_ring_flush() hands them over"
                       : "culv_ring_flush_on() hands them over");
        for (int i = 0; i < 3; i++)
            (void)turn(t, t->cuda);
    }
    (void)turn(t, me);
    if (me == CULV_RING_PRODUCER) {
        REFUSED(culv_ring_acquire_on(t->ring, t->cuda, t->s.stream, 0, &f), TIMEOUT, RING_EMPTY,
                "culv_ring_flush() hands them over");
    }
    REFUSED(culv_ring_drain(t->ring, 0, 0), BUSY, RING_ORDER, "culv_ring_flush() hands them over");
    f = take(t, me);
    if (kept) {
        REFUSED(culv_ring_release(t->ring, me, &f), INVALID, RING_ORDER,
                "culv_ring_release: 1 command buffers that ", "or culv_ring_flush()");
    }
    REFUSED(culv_ring_flush(t->ring, me, &value), INVALID, RING_ORDER);
    OK(culv_ring_cancel(t->ring, me, &f));
    REQUIRE_EQ(value, 7);
    OK(culv_ring_flush(t->ring, me, &value));
    REQUIRE_EQ(value, kept ? 0 : 1);
    if (!kept) signal_own(t, value);
    f = promise(t);
    if (kept) REFUSED(culv_ring_flush(t->ring, me, NULL), INVALID, NULL_ARGUMENT);
    OK(culv_ring_flush(t->ring, me, &value));
    REQUIRE_EQ(value, 2);
    if (b->finish != NULL) b->finish();
    signal_for_api(t, value);
    OK(culv_ring_drain(t->ring, FAR, 0));
}

TEST_AS(kept, each(keep, (backend_ring){.depth = 4, .settings = WITH(.burst = 2)}, BOTH))

/* Calls ---------------------------------------------------------------------------------------- */

/* A frame that is given back is handed out again, with the rest of its burst; and what each side
 * may not do meanwhile. */
static void cancel(turns *t)
{
    for (int i = 0; i < 2; i++) {
        const culv_ring_side me = i == 0 ? t->cuda : t->api;
        culv_ring_frame f, other;
        REFUSED(culv_ring_acquire(t->ring, (culv_ring_side)2, 0, &f), INVALID, VALUE);
        REFUSED(acquire(t, me, 0, NULL), INVALID, NULL_ARGUMENT);
        f = take(t, me);
        REFUSED(acquire(t, me, FAR, &other), INVALID, RING_ORDER,
                i == 0 ? "culv_ring_acquire_on: this side holds" : "this side holds");
        other = f;
        other.number++;
        REFUSED(culv_ring_cancel(t->ring, me, &other), INVALID, RING_ORDER);
        REFUSED(i == 0   ? culv_ring_release_on(t->ring, me, t->s.stream, &other)
                : t->own ? culv_ring_release(t->ring, me, &other)
                         : b->ring_release(t->ring, &other, seed_of(f.number)),
                INVALID, RING_ORDER);
        REFUSED(culv_ring_drain(t->ring, 0, 0), BUSY, RING_ORDER);
        OK(culv_ring_cancel(t->ring, me, &f));
        REFUSED(culv_ring_cancel(t->ring, me, &f), INVALID, RING_ORDER, "culv_ring_cancel: ");
        if (i == 0) {
            REQUIRE_EQ(!t->own && culv_ring_pointer(t->ring, f.slot, 0) == 0, is_way_of_context(t));
            REFUSED(culv_ring_release_on(t->ring, me, t->s.stream, &f), INVALID, RING_ORDER);
        }
        REQUIRE_EQ(turn(t, me).number, 0);
        REQUIRE_EQ(turn(t, me).number, 1);
    }
    flow(t, 8, 4);
}

TEST_AS(cancelled,
        each(cancel, (backend_ring){.depth = 4, .settings = WITH(.burst = 2)}, OF_CONSUMER))

/* A call with a stream of another context's undoes the ring's step. */
static void refuse_stream(turns *t)
{
    const raw_cuda *cu = t->s.cu;
    CUcontext other = NULL, popped = NULL;
    CUstream foreign = NULL;
    if (!t->own && t->d.way > 0) return; /* the driver copies or maps, and refuses itself */
    CU_OK(cu->CtxCreate(&other, 0, 0));
    CU_OK(cu->StreamCreate(&foreign, CU_STREAM_NON_BLOCKING));
    CU_OK(cu->CtxPopCurrent(&popped));
    if (t->api == CULV_RING_PRODUCER) {
        (void)turn(t, t->api);
        flush(t, t->api);
    }
    culv_ring_frame f, again;
    if (t->api == CULV_RING_PRODUCER) /* there is something to wait for */
        REFUSED(culv_ring_acquire_on(t->ring, t->cuda, foreign, 0, &f), INVALID, STREAM_DEVICE);
    REFUSED(culv_ring_cancel(t->ring, t->cuda, &f), INVALID, RING_ORDER);
    f = take(t, t->cuda);
    again = f;
    if (f.burst_ends) {
        REFUSED(culv_ring_release_on(t->ring, t->cuda, foreign, &f), INVALID, STREAM_DEVICE);
        REQUIRE_EQ_BYTES(&f, &again, sizeof f);
        give_cuda(t, &f);
    } else {
        give_cuda(t, &f);
        REFUSED(culv_ring_flush_on(t->ring, t->cuda, foreign), INVALID, STREAM_DEVICE);
        flush(t, t->cuda);
    }
    if (t->api == CULV_RING_CONSUMER) (void)turn(t, t->api);
    settle(t);
    CU_OK(cu->CtxPushCurrent(other));
    CU_OK(cu->StreamDestroy(foreign));
    CU_OK(cu->CtxPopCurrent(&popped));
    CU_OK(cu->CtxDestroy(other));
}

TEST(strange_streams)
{
    each(refuse_stream, (backend_ring){.depth = 2}, BOTH);
    each(refuse_stream, (backend_ring){.depth = 2, .settings = WITH(.burst = 2)}, OF_CONSUMER);
}

/* What the ring owns goes with it: giving up a part is refused, and nothing happens. The API's side
 * has no stream, and CUDA's needs one where the ring does more than wait. */
static bool is_owned(culv_result result)
{
    culv_error e = culv_error_init();
    culv_last_error(&e);
    suite_require_says("culv_ring_destroy()");
    return (result == CULV_OK || result == CULV_ERROR_INVALID) && e.reason == CULV_REASON_OWNED;
}

static void refuse_parts(turns *t)
{
    culv_ring_frame f;
    culv_buffer *half = slot_of(t, 1), *const mine = half;
    culv_shared_buffer *whole = culv_ring_shared_buffer(t->ring, 1, 0), *const both = whole;
    culv_semaphore *line = culv_ring_semaphore(t->ring, CULV_RING_PRODUCER);
    REQUIRE(culv_ring_shared_buffer(t->ring, t->d.depth, 0) == NULL);
    REQUIRE(culv_ring_shared_buffer(t->ring, 0, 1) == NULL);
    REQUIRE(culv_ring_buffer(t->ring, t->d.depth, 0) == NULL);
    REQUIRE(culv_ring_buffer(t->ring, 0, 1) == NULL);
    REQUIRE(culv_ring_shared_image(t->ring, 0, 0) == NULL);
    REQUIRE(culv_ring_image(t->ring, 0, 0) == NULL);
    REQUIRE_EQ(culv_ring_pointer(t->ring, t->d.depth, 0), 0);
    REQUIRE_EQ(culv_ring_pointer(t->ring, 0, 1), 0);
    REQUIRE(culv_ring_semaphore(t->ring, (culv_ring_side)2) == NULL);
    if (t->own) return;
    culv_buffer_unmap(&half, NULL);
    REQUIRE(half == mine && is_owned(CULV_OK));
    if (whole != NULL) {
        REQUIRE(is_owned(culv_shared_buffer_destroy(&whole, NULL)));
        suite_require_says("culv_shared_buffer_destroy: it is a part of another object");
        REQUIRE(is_owned(culv_shared_buffer_destroy(&whole, &t->s.stream)));
        suite_require_says("culv_shared_buffer_destroy: it is a part of another object");
        REQUIRE(whole == both);
    }
    if (line != NULL) REQUIRE(is_owned(culv_semaphore_destroy(&line, NULL)));
    (void)turn(t, CULV_RING_PRODUCER);
    REFUSED(culv_ring_acquire_on(t->ring, t->api, t->s.stream, 0, &f), INVALID, RING_SIDE,
            "culv_ring_acquire(), ");
    REFUSED(culv_ring_release_on(t->ring, t->api, t->s.stream, &f), INVALID, RING_SIDE);
    REFUSED(culv_ring_flush_on(t->ring, t->api, t->s.stream), INVALID, RING_SIDE);
    (void)turn(t, CULV_RING_CONSUMER);
    if (t->d.way == 0) return; /* nor where a turn of CUDA's is more than a wait */
    uint64_t value = 0;
    REFUSED(culv_ring_acquire(t->ring, t->cuda, 0, &f), INVALID, RING_SIDE,
            "culv_ring_acquire: CUDA's side of this ring needs a stream");
    REFUSED(culv_ring_release(t->ring, t->cuda, &f), INVALID, RING_SIDE);
    REFUSED(culv_ring_flush(t->ring, t->cuda, &value), INVALID, RING_SIDE);
}

TEST_AS(parts, each(refuse_parts, (backend_ring){.depth = 3}, BOTH))

/* A ring that is not made: nothing is left, and the output stays as it was. */
TEST(refused)
{
    static const struct {
        const char *says;
        uint32_t max_depth, side, resources, depth, burst, policy, cuda_waits;
    } rows[] = {
        {"max_depth is 0", 0, .side = 1},
        {"max_depth is 65", 65, .side = 1},
        {"side is 2", 3, .side = 2},
        {"num_resources is 17", 3, .resources = 17},
        {"depth is 4", 3, .depth = 4},
        {"burst is 4", 3, .burst = 4},
        {"policy is 7", 3, .policy = 7},
        {"MAILBOX needs 3", 2, .policy = CULV_RING_MAILBOX},
        {"cuda_waits is 3", 3, .cuda_waits = 3},
        {"culv_ring_settings.struct_size", 3, .side = 1},
    };
    static turns t;
    culv_device_counts before = culv_device_counts_init(), after = before;
    if (b->ring_ways == 0) SKIP("it has no rings");
    scene_begin(&t, false, 0);
    OK(culv_device_get_counts(t.s.device, &before));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (unsigned way = 0; way < b->ring_ways; way++) {
            const bool last = i + 1 == sizeof rows / sizeof rows[0];
            const culv_ring_settings settings = {.struct_size = last ? 1 : sizeof settings,
                                                 .depth = rows[i].depth,
                                                 .burst = rows[i].burst,
                                                 .policy = (culv_ring_policy)rows[i].policy,
                                                 .cuda_waits = (culv_ring_waits)rows[i].cuda_waits};
            const backend_ring d = {.depth = rows[i].max_depth,
                                    .way = way,
                                    .side = (culv_ring_side)rows[i].side,
                                    .resources = rows[i].resources,
                                    .settings = &settings};
            REFUSED_AS(b->ring_create(t.s.attachment, &d, &t.ring), CULV_ERROR_INVALID,
                       last ? CULV_REASON_STRUCT_SIZE : CULV_REASON_VALUE, rows[i].says);
            REQUIRE(t.ring == NULL);
            OK(culv_device_get_counts(t.s.device, &after));
            REQUIRE_EQ(after.created, before.created);
            REQUIRE_EQ(after.semaphores, before.semaphores);
        }
    scene_end(&t);
}

/* Timelines of the caller's own that are none. */
TEST(refused_timelines)
{
    static turns t;
    const backend_ring d = {.depth = 2, .way = b->ring_ways};
    scene_begin(&t, false, 0);
    if (!ring_begin(&t, &d)) SKIP("no semaphore is shared here");
    culv_ring_desc desc = own_desc(&t, &d);
    culv_ring *out = NULL;
    culv_device *second = NULL;
    desc.done.semaphore = desc.ready.semaphore;
    REFUSED(culv_ring_create(t.s.device, &desc, &out), INVALID, VALUE, "are the same semaphore");
    OK(b->device_open(&second));
    desc.done.semaphore = NULL;
    REFUSED(culv_ring_create(second, &desc, &out), INVALID, DEVICE_MISMATCH);
    REQUIRE(out == NULL);
    culv_device_close(&second);
    ring_finish(&t);
    scene_end(&t);
}

/* Waits ---------------------------------------------------------------------------------------- */

/* The other side's host is late: no frame, a burst that is not handed over, no slot. */
static void be_late(turns *t)
{
    culv_ring_frame f;
    for (int i = 0; i < 2; i++) {
        const double start = test_now_us();
        REFUSED(acquire(t, CULV_RING_CONSUMER, i == 0 ? 0 : 3 * MS, &f), TIMEOUT, RING_EMPTY,
                "the producer is late");
        if (i > 0) REQUIRE(test_now_us() - start >= 2900);
        (void)turn(t, CULV_RING_PRODUCER);
    }
    for (int i = 0; i < 2; i++)
        (void)turn(t, CULV_RING_PRODUCER);
    REFUSED(acquire(t, CULV_RING_PRODUCER, 3 * MS, &f), TIMEOUT, RING_FULL, "the consumer is late");
    for (int i = 0; i < 4; i++)
        (void)turn(t, CULV_RING_CONSUMER);
    flow(t, 8, 4);
    REQUIRE(waits_of(t, CULV_RING_CONSUMER) >= 1 && waits_of(t, CULV_RING_PRODUCER) >= 1);
}

static void late_sides(unsigned what)
{
    each(be_late, (backend_ring){.depth = 4, .settings = WITH(.burst = 2)}, what);
}

TEST_AS(late, late_sides(BOTH))

/* CUDA's stream stands still behind a timeline that nobody has signaled, and a frame behind that.
 * It is no turn of the API's until CUDA has reached its signal, where the host waits for that; else
 * the queue waits. */
static void hold(turns *t)
{
    void *gate = b->timeline_create(0);
    culv_semaphore *half = NULL;
    culv_ring_frame f;
    if (b->timeline_import(t->s.attachment, gate, &half) != CULV_OK)
        SKIP("no semaphore is shared here: %s", culv_last_error_message());
    flow(t, 2, 1); /* what is loaded first may wait for all streams */
    settle(t);
    if (queues(t) || host_waits(t)) {
        INSIDE(t, OK(culv_semaphore_wait(half, t->s.stream, 1)));
        (void)turn(t, t->cuda);
        if (host_waits(t)) {
            for (int i = 0; i < 2; i++)
                REFUSED(culv_ring_acquire(t->ring, t->api, i == 0 ? 0 : 3 * MS, &f), TIMEOUT,
                        RING_LATE, "the producer is late: 'ready' has not reached 3",
                        i == 0 ? "" : "within 3 ms");
            b->timeline_signal(gate, 1);
            f = take(t, t->api);
            REQUIRE_EQ(f.number, 2);
            OK(culv_ring_cancel(t->ring, t->api, &f));
            (void)turn(t, t->api);
        } else {
            OK(culv_ring_acquire(t->ring, t->api, 0, &f));
            REQUIRE_EQ(f.wait_value, 3);
            give_api(t, &f);
            require_waiting(t);
            b->timeline_signal(gate, 1);
        }
    }
    settle(t);
    culv_semaphore_destroy(&half, NULL);
    b->timeline_destroy(gate);
}

TEST(held)
{
    for (int waits = CULV_RING_WAITS_DEFAULT; waits <= CULV_RING_WAITS_SIGNAL_FIRST; waits++)
        each(hold, (backend_ring){.depth = 3, .waits = (culv_ring_waits)waits}, OF_CONSUMER);
}

/* The mirror: the API's work is late, and the host waits in place of CUDA's stream. Set while
 * frames flow: the stream waits, and the call does not. */
static void wait_in_place(turns *t)
{
    culv_ring_settings settings = *t->d.settings;
    culv_ring_frame f;
    if (!promises(t)) return;
    (void)turn(t, t->api);
    (void)turn(t, t->cuda);
    const uint64_t value = promise(t).signal_value;
    for (int i = 0; i < 2; i++)
        REFUSED(culv_ring_acquire_on(t->ring, t->cuda, t->s.stream, i == 0 ? 0 : 2 * MS, &f),
                TIMEOUT, RING_LATE);
    settings.cuda_waits = CULV_RING_WAITS_QUEUED;
    OK(culv_ring_configure(t->ring, &settings));
    OK(culv_ring_acquire_on(t->ring, t->cuda, t->s.stream, 0, &f));
    require_waiting(t);
    REQUIRE_EQ(f.number, 1);
    signal_for_api(t, value);
    OK(culv_ring_cancel(t->ring, t->cuda, &f));
    settings.cuda_waits = CULV_RING_WAITS_SIGNAL_FIRST;
    OK(culv_ring_configure(t->ring, &settings));
    (void)turn(t, t->cuda);
    OK(culv_ring_drain(t->ring, FAR, 0));
    check(t, false);
    flow(t, 4, 2); /* the right data */
}

TEST_AS(waits_in_place,
        each(wait_in_place,
             (backend_ring){.depth = 2,
                            .settings = WITH(.cuda_waits = CULV_RING_WAITS_SIGNAL_FIRST)},
             OF_PRODUCER))

/* Ends ----------------------------------------------------------------------------------------- */

/* The API released frames and never submitted them: CUDA, which waits for a slot, is let go, and
 * all goes on. */
static void force_api(turns *t)
{
    if (!promises(t)) return;
    OK(culv_ring_drain(t->ring, 0, 0)); /* nothing was released */
    flow(t, 6, 2);
    settle(t);
    for (int i = 0; i < 2; i++)
        (void)turn(t, t->cuda);
    (void)promise(t);
    (void)turn(t, t->cuda);
    (void)promise(t);
    REFUSED(culv_ring_drain(t->ring, 20 * MS, 0), TIMEOUT, RING_LATE,
            "the consumer is late: 'ready' has not reached 9 within 20 ms",
            "the producer's work waits for 'done' to reach 7, which is at 6 of 8");
    suite_require_says(
        "the consumer released with 8, but that signal has not run yet; was it submitted?");
    require_waiting(t);
    OK(culv_ring_drain(t->ring, 20 * MS, 1));
    check(t, false);
    REQUIRE_EQ(stats_of(t).skipped, 1); /* that nobody took */
    flow(t, 10, 2);
}

/* CUDA handed frames over and its stream never signals: the API is let go. Its side had kept half a
 * burst, which is nobody's any more. */
static void force_cuda(turns *t)
{
    culv_ring_frame f;
    if (!t->own && !b->ring_submits) return; /* OpenGL's ways want a stream, or wait on the host */
    for (int i = 0; i < 4; i++) {
        OK(culv_ring_acquire(t->ring, t->cuda, 0, &f));
        OK(culv_ring_release(t->ring, t->cuda, &f));
        note(t, t->cuda, &f);
    }
    for (int i = 0; i < (queues(t) ? 3 : keeps(t) ? 1 : 0); i++)
        (void)turn(t, t->api);
    REFUSED_AS(culv_ring_drain(t->ring, 0, 0), keeps(t) ? CULV_ERROR_BUSY : CULV_ERROR_TIMEOUT,
               keeps(t) ? CULV_REASON_RING_ORDER : CULV_REASON_RING_LATE);
    OK(culv_ring_drain(t->ring, 20 * MS, 1));
    OK(culv_ring_drain(t->ring, 0, 0));
    check(t, false);
    REQUIRE_EQ(stats_of(t).skipped, 4 - t->next[t->api]);
    flow(t, 12, 2); /* without what was kept */
}

static void forced_all(unsigned across)
{
    each(force_api, (backend_ring){.depth = 2, .waits = CULV_RING_WAITS_QUEUED},
         OF_CONSUMER | across);
    each(force_cuda,
         (backend_ring){.depth = 4, .settings = WITH(.burst = 2), .waits = CULV_RING_WAITS_QUEUED},
         OF_CONSUMER | across);
}

TEST_AS(forced, forced_all(0))

/* A submission that failed is made once more, with the same value. */
static void fail_once(turns *t)
{
    culv_ring_frame f;
    if (!promises(t)) return;
    for (int i = 0; i < 6; i++) {
        (void)turn(t, t->cuda);
        f = take(t, t->api);
        OK(culv_ring_release(t->ring, t->api, &f));
        const uint64_t value = f.signal_value;
        OK(culv_ring_submit_failed(t->ring, t->api, &f));
        REFUSED(culv_ring_submit_failed(t->ring, t->api, &f), INVALID, RING_ORDER);
        REFUSED(culv_ring_cancel(t->ring, t->api, &f), INVALID, RING_ORDER);
        give_api(t, &f);
        REQUIRE_EQ(f.signal_value, value);
    }
    settle(t);
}

TEST_AS(submission_failed,
        each(fail_once, (backend_ring){.depth = 3, .waits = CULV_RING_WAITS_QUEUED}, OF_CONSUMER))

/* A ring that ends with frames that nobody took, a burst half kept, a frame held, or CUDA waiting
 * for what was never submitted. */
typedef enum ending { HELD, IN_BURST, PROMISED, ENDINGS } ending;
static ending how_ended;
static bool ended_after;

static void end_early(turns *t)
{
    culv_ring_frame f;
    for (int i = 0; i < 4; i++)
        (void)turn(t, t->cuda);
    for (int i = 0; i < (how_ended == IN_BURST ? 3 : 2); i++)
        (void)turn(t, t->api);
    if (how_ended == HELD) OK(culv_ring_acquire_on(t->ring, t->cuda, t->s.stream, FAR, &f));
    if (how_ended == PROMISED && promises(t)) {
        (void)promise(t);
        (void)promise(t);
        for (int i = 0; i < 6; i++) /* the last burst waits for what was promised */
            (void)turn(t, t->cuda);
        if (!t->own) require_waiting(t);
        if (t->own) OK(culv_ring_drain(t->ring, 0, 1)); /* which nobody else does for it */
    }
    if (b->finish != NULL) b->finish();
    ring_unmake(t, ended_after && !t->own);
    suite_finish(&t->s);
    memset(t->read, 0, sizeof t->read);
}

TEST(ended)
{
    for (int i = 0; i < 2 * ENDINGS; i++) {
        how_ended = (ending)(i / 2);
        ended_after = i % 2 != 0;
        each(end_early,
             (backend_ring){
                 .depth = 6, .settings = WITH(.burst = 2), .waits = CULV_RING_WAITS_QUEUED},
             OF_CONSUMER);
    }
}

/* The ring keeps the attachment, and that the device. */
static void outlive(turns *t)
{
    void *attachment = t->s.attachment;
    if (t->own) return;
    b->detach(&attachment);
    flow(t, 4, 2);
    settle(t);
    ring_unmake(t, false);
    OK(b->attach(t->s.device, 0, &t->s.attachment));
}

TEST_AS(outlives_its_parents, each(outlive, (backend_ring){.depth = 2}, BOTH | ALONE))

/* Stopped and lost ----------------------------------------------------------------------------- */

typedef enum waiting {
    FOR_A_FRAME, /* the API, for CUDA's host code */
    FOR_A_SLOT,  /* CUDA, for the API's host code */
    FOR_WORK,    /* the API on the host, for CUDA's work */
    WAITINGS
} waiting;
static waiting what_for;

/* Without a context of anybody's. */
static void *stop(void *user)
{
    turns *t = user;
    const culv_ring_side side = what_for == FOR_A_SLOT ? t->cuda : t->api;
    if (what_for == FOR_WORK)
        rest(20); /* a driver's wait may not sleep; the answer is the same */
    else
        while (waits_of(t, side) == 0)
            rest(1);
    OK(culv_ring_stop(t->ring));
    OK(culv_ring_stop(t->ring));
    return NULL;
}

static void require_stopped(turns *t)
{
    culv_ring_frame f = {.slot = 0};
    for (int side = 0; side < 2; side++) {
        REFUSED(acquire(t, (culv_ring_side)side, CULV_RING_FOREVER, &f), ASYNC, RING_STOPPED,
                "what is left is culv_ring_drain() and culv_ring_destroy()");
    }
    REFUSED(culv_ring_flush_on(t->ring, t->cuda, t->s.stream), ASYNC, RING_STOPPED);
}

static void stop_waiting(turns *t)
{
    void *gate = b->timeline_create(0);
    culv_semaphore *half = NULL;
    pthread_t thread;
    culv_ring_frame f;
    OK(b->timeline_import(t->s.attachment, gate, &half));
    flow(t, 1, 1);
    const bool late = what_for == FOR_WORK && host_waits(t);
    if (late) {
        INSIDE(t, OK(culv_semaphore_wait(half, t->s.stream, 1)));
        (void)turn(t, t->cuda);
    } else if (what_for == FOR_WORK) {
        what_for = FOR_A_FRAME;
    }
    for (uint32_t i = 0; what_for == FOR_A_SLOT && i < t->d.depth; i++)
        (void)turn(t, t->cuda);
    REQUIRE_EQ(pthread_create(&thread, NULL, stop, t), 0);
    REFUSED(acquire(t, what_for == FOR_A_SLOT ? t->cuda : t->api, CULV_RING_FOREVER, &f), ASYNC,
            RING_STOPPED, "culv_ring_stop() was called");
    REQUIRE_EQ(pthread_join(thread, NULL), 0);
    require_stopped(t);
    if (late) b->timeline_signal(gate, 1);
    finish(t);
    ring_unmake(t, false);
    culv_semaphore_destroy(&half, NULL);
    b->timeline_destroy(gate);
}

TEST(stopped)
{
    for (int what = FOR_A_FRAME; what < WAITINGS; what++)
        for (int waits = CULV_RING_WAITS_QUEUED; waits <= CULV_RING_WAITS_SIGNAL_FIRST; waits++) {
            what_for = (waiting)what;
            each(stop_waiting, (backend_ring){.depth = 3, .waits = (culv_ring_waits)waits},
                 OF_CONSUMER);
        }
}

/* CUDA waits in a thread for a slot that the API has, and its stream for what the API never
 * signals, in the ring and beside it. Whoever ends that: nobody waits, and all of it can be
 * destroyed. */
typedef enum loss {
    BY_TELLING,
    BY_DRAIN,   /* the ring is stopped, and drained by force */
    BY_DESTROY, /* nobody tells: the ring is stopped and destroyed */
    BY_SUBMIT,  /* a submission fails */
    BY_ACQUIRE  /* an acquire asks the counter */
} loss;
static loss how_lost;

typedef struct sleeper {
    turns *t;
    culv_ring_side side;
    culv_result result;
    culv_error error;
} sleeper;

static void *sleep_in_acquire(void *user)
{
    sleeper *me = user;
    culv_ring_frame f;
    me->error = culv_error_init();
    me->result = acquire(me->t, me->side, CULV_RING_FOREVER, &f);
    culv_last_error(&me->error);
    return NULL;
}

static void start_sleeping(sleeper *me, turns *t, culv_ring_side side, pthread_t *thread)
{
    *me = (sleeper){.t = t, .side = side};
    const uint64_t before = waits_of(t, side);
    REQUIRE_EQ(pthread_create(thread, NULL, sleep_in_acquire, me), 0);
    while (waits_of(t, side) == before)
        rest(1);
}

static void lose(turns *t)
{
    void *semaphore = NULL, *buffer = NULL;
    culv_ring_frame f;
    pthread_t thread;
    sleeper me;
    if (t->own || (how_lost != BY_TELLING && !b->ring_submits)) return;
    const bool sleeps = !is_way_of_context(t);
    flow(t, 6, 2);
    settle(t);
    for (int i = 0; i < 2; i++)
        (void)turn(t, t->cuda);
    if (b->ring_submits) {
        for (int i = 0; i < (how_lost == BY_ACQUIRE ? 2 : 1); i++) {
            (void)promise(t);
            (void)turn(t, t->cuda);
        }
        require_waiting(t);
    } else {
        OK(culv_ring_acquire(t->ring, t->api, FAR, &f));
    }
    if (how_lost == BY_TELLING) {
        OK(b->semaphore_create(t->s.attachment, 0, 0, &semaphore));
        OK(b->buffer_create(t->s.attachment, SIZE, 0, &buffer));
        OK(culv_semaphore_wait(b->semaphore_cuda(semaphore), t->other, 7));
    }
    if (sleeps) start_sleeping(&me, t, t->cuda, &thread);
    const bool is_lost = b->lose(t->s.attachment, how_lost == BY_TELLING);
    if (is_lost && how_lost == BY_SUBMIT) {
        f = take(t, t->api);
        if (b->ring_record != NULL) b->ring_record(t->ring, &f, 1);
        REFUSED(b->ring_release(t->ring, &f, 1), ASYNC, DEVICE_LOST);
        REFUSED(b->ring_release(t->ring, &f, 1), ASYNC, RING_STOPPED);
    } else if (is_lost && how_lost == BY_ACQUIRE) {
        culv_ring_settings settings = culv_ring_settings_init();
        settings.max_frames_in_flight = 1; /* of two: it asks for the counter */
        OK(culv_ring_configure(t->ring, &settings));
        REFUSED(culv_ring_acquire(t->ring, t->api, CULV_RING_FOREVER, &f), ASYNC, DEVICE_LOST);
    } else if (how_lost != BY_TELLING) {
        OK(culv_ring_stop(t->ring));
    }
    if (sleeps) {
        REQUIRE_EQ(pthread_join(thread, NULL), 0);
        REQUIRE_EQ(me.result, CULV_ERROR_ASYNC);
        REQUIRE_EQ(me.error.reason, CULV_REASON_RING_STOPPED);
        REFUSED(culv_ring_acquire_on(t->ring, t->cuda, t->s.stream, 0, &f), ASYNC, RING_STOPPED);
    }
    REQUIRE(culv_ring_acquire(t->ring, t->api, CULV_RING_FOREVER, &f) != CULV_OK);
    if (how_lost == BY_DRAIN || (how_lost >= BY_SUBMIT && !is_lost))
        OK(culv_ring_drain(t->ring, 20 * MS, 1));
    if (how_lost != BY_DESTROY) suite_finish(&t->s);
    if (how_lost == BY_TELLING) {
        CU_OK_IN(&t->s, t->s.cu->StreamSynchronize(t->other));
        b->buffer_destroy(&buffer, false, NULL);
        b->semaphore_destroy(&semaphore, false, NULL);
    }
    ring_unmake(t, t->api == CULV_RING_CONSUMER && how_lost == BY_DESTROY);
    suite_finish(&t->s);
    memset(t->read, 0, sizeof t->read);
}

static void lost(loss how, unsigned across)
{
    how_lost = how;
    each(lose, (backend_ring){.depth = 2, .waits = CULV_RING_WAITS_QUEUED},
         OF_CONSUMER | ALONE | across);
}

TEST_AS(lost_by_telling, lost(BY_TELLING, 0), .own = true)
TEST_AS(lost_by_drain, lost(BY_DRAIN, 0), .own = true)
TEST_AS(lost_by_destroy, lost(BY_DESTROY, 0), .own = true)
TEST_AS(lost_by_submit, lost(BY_SUBMIT, 0), .own = true)
TEST_AS(lost_by_acquire, lost(BY_ACQUIRE, 0), .own = true)

/* A call of CUDA's side finds that its context was reset, while frames are on their way or a side
 * has one. That side is told so; the other one, which may sleep until something is handed over, is
 * woken and told as well. Broken contexts: torture.ring_cuda_broken. */
typedef enum state { IDLE, CUDA_HOLDS, API_HOLDS, READY, OPEN, STATES } state;
static state in_state;

static void lose_cuda(turns *t)
{
    const raw_cuda *cu = t->s.cu;
    const bool sleeps =
        (b->ring_thread == NULL || t->own) && in_state != API_HOLDS && in_state != READY;
    culv_ring_frame mine = {.slot = 0}, f = mine;
    culv_result result = CULV_OK;
    pthread_t thread;
    sleeper other;
    const uint32_t burst = in_state == OPEN ? 2 : 1;
    flow(t, 2, 2);
    settle(t);
    if (in_state == CUDA_HOLDS) mine = take(t, t->cuda);
    for (uint32_t i = 0; in_state > CUDA_HOLDS && i < 1; i++)
        (void)turn(t, t->cuda);
    if (in_state == API_HOLDS) f = take(t, t->api);
    finish(t);
    if (sleeps) start_sleeping(&other, t, t->api, &thread);
    CU_OK(cu->DevicePrimaryCtxReset(0));
    if (!cu->software) { /* which must not be handed stale handles */
        void *made = NULL;
        REFUSED(b->semaphore_create(t->s.attachment, 0, 0, &made), ASYNC, DEVICE_LOST);
    }
    if (in_state != CUDA_HOLDS && burst == 1) /* an acquire that waits for nothing asks nobody */
        result = culv_ring_acquire_on(t->ring, t->cuda, t->s.stream, CULV_RING_FOREVER, &mine);
    if (result == CULV_OK)
        result = burst == 1 ? culv_ring_release_on(t->ring, t->cuda, t->s.stream, &mine)
                            : culv_ring_flush_on(t->ring, t->cuda, t->s.stream);
    REQUIRE_EQ(result, CULV_ERROR_ASYNC);
    suite_require_says("was reset or destroyed");
    if (sleeps) {
        REQUIRE_EQ(pthread_join(thread, NULL), 0);
        REQUIRE_EQ(other.result, CULV_ERROR_ASYNC);
        REQUIRE_EQ(other.error.reason, CULV_REASON_RING_STOPPED);
        REQUIRE(strstr(other.error.message, "the device is lost") != NULL);
        REFUSED(culv_ring_acquire_on(t->ring, t->cuda, t->s.stream, 0, &f), ASYNC, RING_STOPPED);
    } else { /* it learns of it, or has its frame; it does not wait for ever */
        if (in_state == API_HOLDS) (void)culv_ring_release(t->ring, t->api, &f);
        for (uint32_t i = 0; i <= t->d.depth; i++)
            if (culv_ring_acquire(t->ring, t->api, CULV_RING_FOREVER, &f) != CULV_OK ||
                culv_ring_release(t->ring, t->api, &f) != CULV_OK)
                break;
    }
    (void)culv_ring_drain(t->ring, 0, 1);
    ring_unmake(t, false);
    b->detach(&t->s.attachment);
    culv_device_close(&t->s.device);
    b->close();
}

TEST(cuda_reset, .faults = true)
{
    if (b->rings_of_the_twin) SKIP("its memory is CUDA's");
    for (int in = IDLE; in < STATES; in++) {
        in_state = (state)in;
        each(lose_cuda,
             (backend_ring){.depth = 3, .settings = WITH(.burst = in_state == OPEN ? 2 : 1)},
             OF_CONSUMER | ALONE);
    }
}

/* Another GPU ---------------------------------------------------------------------------------- */

TEST_AS(carried_across, carry_all(0, ACROSS), .title = "across.carried", .own = true)
TEST_AS(raced_across, each(race_some, (backend_ring){.depth = 4}, BOTH | ACROSS),
        .title = "across.raced", .own = true)
TEST_AS(mailbox_across, newest(BOTH | ACROSS), .title = "across.mailbox", .own = true)
TEST_AS(late_across, late_sides(BOTH | ACROSS), .title = "across.late", .own = true)
TEST_AS(forced_across, forced_all(ACROSS), .title = "across.forced", .own = true)
TEST_AS(ended_across,
        each(end_early, (backend_ring){.depth = 6, .waits = CULV_RING_WAITS_QUEUED},
             OF_CONSUMER | ACROSS),
        .title = "across.ended", .own = true)
TEST_AS(lost_by_telling_across, lost(BY_TELLING, ACROSS), .title = "across.lost_by_telling",
        .own = true)
TEST_AS(lost_by_destroy_across, lost(BY_DESTROY, ACROSS), .title = "across.lost_by_destroy",
        .own = true)
