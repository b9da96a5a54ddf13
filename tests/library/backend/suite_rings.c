/* SPDX-License-Identifier: MIT */
/* What each back-end's rings promise, in each way that they go: the data of every frame, whichever
 * side the API has. CUDA's turns are queued: nothing of them waits for the GPU. */
#define TEST_GROUP "rings."
#include "suite.h"

enum { MOST = 1024, SIZE = BACKEND_RING_BYTES };

static const uint64_t FAR = TEST_FAR_MS * UINT64_C(1000000);

typedef struct turns {
    scene s;
    culv_ring *ring;
    culv_ring_side cuda, api;
    CUdeviceptr seen; /* what CUDA read of each frame */
    bool read[MOST];
} turns;

/* A float that no driver rounds. */
static uint32_t word_of(uint64_t number)
{
    return 0x3f800001u + (uint32_t)number;
}

static void begin(turns *t, const backend_ring *d, backend_lie lie)
{
    CUcontext before;
    memset(t, 0, sizeof *t);
    suite_open(&t->s, lie, d->fallback);
    if (t->s.b->rings_of_the_twin && d->fallback == 0 && !t->s.cu->software)
        SKIP("only the twin imports its timelines");
    OK(t->s.b->ring_create(t->s.attachment, d, &t->ring));
    t->api = d->side;
    t->cuda = d->side == CULV_RING_PRODUCER ? CULV_RING_CONSUMER : CULV_RING_PRODUCER;
    CU_OK(t->s.cu->CtxPushCurrent(t->s.context));
    CU_OK(t->s.cu->MemAlloc(&t->seen, (size_t)MOST * SIZE));
    CU_OK(t->s.cu->CtxPopCurrent(&before));
}

static void end(turns *t)
{
    uint32_t words[BACKEND_RING_WORDS];
    CUcontext before;
    OK(culv_ring_drain(t->ring, FAR, 0));
    suite_finish(&t->s);
    if (t->s.b->finish != NULL) t->s.b->finish();
    for (uint32_t n = 0; n < MOST; n++) {
        if (!t->read[n]) continue;
        suite_download(&t->s, words, t->seen + (size_t)n * SIZE, SIZE);
        for (size_t i = 0; i < BACKEND_RING_WORDS; i++)
            if (words[i] != word_of(n))
                FAIL("frame %u, word %zu: CUDA reads 0x%08x", (unsigned)n, i, (unsigned)words[i]);
    }
    if (t->s.b->ring_end != NULL) t->s.b->ring_end();
    OK(culv_ring_destroy(&t->ring));
    REQUIRE(t->ring == NULL);
    CU_OK(t->s.cu->CtxPushCurrent(t->s.context));
    CU_OK(t->s.cu->MemFree(t->seen));
    CU_OK(t->s.cu->CtxPopCurrent(&before));
    suite_close(&t->s);
}

static culv_ring_frame turn_cuda(turns *t)
{
    const raw_cuda *cu = t->s.cu;
    CUcontext before;
    culv_ring_frame f;
    CU_OK(cu->CtxPushCurrent(t->s.context));
    OK(culv_ring_acquire_on(t->ring, t->cuda, t->s.stream, FAR, &f));
    const CUdeviceptr pointer = culv_ring_pointer(t->ring, f.slot, 0);
    culv_buffer *buffer = culv_ring_buffer(t->ring, f.slot, 0);
    REQUIRE(pointer != 0 && buffer != NULL && f.number < MOST);
    if (t->cuda == CULV_RING_PRODUCER) {
        CU_OK(cu->MemsetD32Async(pointer, word_of(f.number), BACKEND_RING_WORDS, t->s.stream));
        OK(culv_buffer_upload(buffer, t->s.stream));
    } else {
        OK(culv_buffer_download(buffer, t->s.stream));
        CU_OK(cu->MemcpyDtoDAsync(t->seen + (size_t)f.number * SIZE, pointer, SIZE, t->s.stream));
        t->read[f.number] = true;
    }
    OK(culv_ring_release_on(t->ring, t->cuda, t->s.stream, &f));
    CU_OK(cu->CtxPopCurrent(&before));
    return f;
}

static culv_ring_frame turn_api(turns *t)
{
    culv_ring_frame f;
    OK(culv_ring_acquire(t->ring, t->api, FAR, &f));
    OK(t->s.b->ring_release(t->ring, &f, word_of(f.number)));
    return f;
}

/* The producer fills what is free, then the consumer takes it. */
static void flow(turns *t, uint32_t frames, uint32_t together)
{
    for (uint32_t done = 0; done < frames; done += together) {
        const uint32_t count = frames - done < together ? frames - done : together;
        for (int side = 0; side < 2; side++) {
            const bool cuda = (int)t->cuda == side;
            for (uint32_t i = 0; i < count; i++)
                (void)(cuda ? turn_cuda : turn_api)(t);
            OK(cuda ? culv_ring_flush_on(t->ring, t->cuda, t->s.stream)
                    : culv_ring_flush(t->ring, t->api, NULL));
        }
    }
}

/* Rings in each way that there is, of one side or of both. */
static void each(void (*run)(turns *t), backend_ring d, int sides)
{
    static turns t;
    if (backend_under_test.ring_ways == 0) SKIP("it has no rings");
    for (d.way = 0; d.way < backend_under_test.ring_ways; d.way++)
        for (int side = 0; side < 2; side++) {
            if ((sides & 1 << side) == 0) continue;
            d.side = (culv_ring_side)side;
            begin(&t, &d, d.fallback != 0 ? BACKEND_CLOSED : BACKEND_HONEST);
            run(&t);
            end(&t);
        }
}

enum { OF_PRODUCER = 1, OF_CONSUMER = 2, BOTH = 3 };

/* The last burst is cut off. */
static void carry(turns *t)
{
    culv_ring_stats stats = culv_ring_stats_init();
    flow(t, 28, 6);
    OK(culv_ring_get_stats(t->ring, &stats));
    REQUIRE_EQ(stats.consumed, 28);
}

static void carry_all(uint32_t fallback)
{
    culv_ring_settings settings = culv_ring_settings_init();
    for (settings.burst = 1; settings.burst < 4; settings.burst += 2)
        each(carry, (backend_ring){.depth = 6, .fallback = fallback, .settings = &settings}, BOTH);
}

TEST_AS(carried, carry_all(0), .smoke = true)

TEST(carried_by_host)
{
    if (backend_under_test.ring_ways > 1) SKIP("a way of its own");
    carry_all(CULV_FALLBACK_HOST);
}

/* More hand-overs than a ring remembers. */
static void hand_over_many(turns *t)
{
    for (uint32_t i = 0; i < 700; i++)
        for (int side = 0; side < 2; side++)
            REQUIRE_EQ(((int)t->cuda == side ? turn_cuda(t) : turn_api(t)).number, i);
}

TEST_AS(many, each(hand_over_many, (backend_ring){.depth = 3}, BOTH))

/* The ring tries slots and waits meanwhile. */
TEST(chosen)
{
    culv_ring_settings settings = culv_ring_settings_init();
    settings.way = CULV_RING_WAY_AUTO;
    each(hand_over_many, (backend_ring){.depth = 3, .settings = &settings}, OF_CONSUMER);
}

/* A frame that is given back is handed out again, with the rest of its burst. */
static void cancel(turns *t)
{
    culv_ring_frame f, twice;
    REFUSED(culv_ring_acquire_on(t->ring, (culv_ring_side)2, t->s.stream, 0, &f),
            CULV_ERROR_INVALID, CULV_REASON_VALUE);
    OK(culv_ring_acquire_on(t->ring, t->cuda, t->s.stream, FAR, &f));
    REFUSED(culv_ring_acquire_on(t->ring, t->cuda, t->s.stream, FAR, &twice), CULV_ERROR_INVALID,
            CULV_REASON_RING_ORDER);
    suite_require_says("culv_ring_acquire_on: this side holds");
    OK(culv_ring_cancel(t->ring, t->cuda, &f));
    REFUSED(culv_ring_cancel(t->ring, t->cuda, &f), CULV_ERROR_INVALID, CULV_REASON_RING_ORDER);
    suite_require_says("culv_ring_cancel: ");
    REFUSED(culv_ring_release_on(t->ring, t->cuda, t->s.stream, &f), CULV_ERROR_INVALID,
            CULV_REASON_RING_ORDER);
    (void)turn_cuda(t);
    (void)turn_cuda(t);
    OK(culv_ring_acquire(t->ring, t->api, FAR, &f));
    REQUIRE_EQ(f.number, 0);
    OK(culv_ring_cancel(t->ring, t->api, &f));
    REFUSED(t->s.b->ring_release(t->ring, &f, 0), CULV_ERROR_INVALID, CULV_REASON_RING_ORDER);
    REQUIRE_EQ(turn_api(t).number, 0);
    REQUIRE_EQ(turn_api(t).number, 1);
    flow(t, 8, 4);
}

TEST(cancelled)
{
    culv_ring_settings settings = culv_ring_settings_init();
    settings.burst = 2;
    each(cancel, (backend_ring){.depth = 4, .settings = &settings}, OF_CONSUMER);
}

/* The newest frame wins, and is shown again. */
static void show_newest(turns *t)
{
    for (uint32_t round = 1; round <= 6; round++) {
        const bool cuda = t->cuda == CULV_RING_PRODUCER;
        for (uint32_t i = 0; i < 5; i++)
            (void)(cuda ? turn_cuda : turn_api)(t);
        suite_finish(&t->s);
        if (t->s.b->finish != NULL) t->s.b->finish();
        for (uint32_t again = 0; again < 2; again++) {
            const culv_ring_frame f = (cuda ? turn_api : turn_cuda)(t);
            REQUIRE_EQ(f.number, 5 * round - 1);
            REQUIRE_EQ(f.repeated, again);
            REQUIRE_EQ(f.skipped, again == 0 ? 4 : 0);
        }
    }
}

TEST(mailbox)
{
    culv_ring_settings settings = culv_ring_settings_init();
    settings.policy = CULV_RING_MAILBOX;
    each(show_newest, (backend_ring){.depth = 4, .settings = &settings}, BOTH);
}

/* A producer that ends each burst early. */
static void flush(turns *t)
{
    for (uint64_t i = 0; i < 20; i++) {
        culv_ring_stats stats = culv_ring_stats_init();
        (void)turn_api(t);
        OK(culv_ring_flush(t->ring, t->api, NULL));
        OK(culv_ring_get_stats(t->ring, &stats));
        REQUIRE_EQ(stats.ready_signaled, i + 1);
        REQUIRE_EQ(turn_cuda(t).number, i);
    }
}

TEST(flushed)
{
    culv_ring_settings settings = culv_ring_settings_init();
    settings.burst = 4;
    each(flush, (backend_ring){.depth = 4, .settings = &settings}, OF_PRODUCER);
}

/* Nothing is there, then a frame whose burst is not handed over, then the frame. */
static void wait_for_it(turns *t)
{
    culv_ring_frame f;
    for (int i = 0; i < 2; i++) {
        REFUSED(culv_ring_acquire(t->ring, t->api, 0, &f), CULV_ERROR_TIMEOUT,
                CULV_REASON_RING_EMPTY);
        (void)turn_cuda(t);
    }
    REQUIRE_EQ(turn_api(t).number, 0);
    REQUIRE_EQ(turn_api(t).number, 1);
}

TEST(empty)
{
    culv_ring_settings settings = culv_ring_settings_init();
    settings.burst = 2;
    each(wait_for_it, (backend_ring){.depth = 4, .settings = &settings}, OF_CONSUMER);
}
