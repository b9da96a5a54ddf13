/* SPDX-License-Identifier: MIT */
/* Contract rows: several semaphores in one call, of either type. */
#define TEST_GROUP "batch."
#include "contract.h"

enum { COUNT = 4, SIZE = 16384 };

/* What one call takes, for up to 32 semaphores. */
typedef struct batch {
    unsigned count;
    CUexternalSemaphore handles[32];
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signals[32];
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS waits[32];
} batch;

static void add(batch *b, CUexternalSemaphore semaphore, uint64_t value)
{
    REQUIRE(b->count < 32);
    b->handles[b->count] = semaphore;
    b->signals[b->count].params.fence.value = value;
    b->waits[b->count++].params.fence.value = value;
}

static CUresult signal(const pair *p, const batch *b)
{
    return p->cu->SignalExternalSemaphoresAsync(b->handles, b->signals, b->count, p->stream);
}

static CUresult wait(const pair *p, const batch *b)
{
    return p->cu->WaitExternalSemaphoresAsync(b->handles, b->waits, b->count, p->stream);
}

/* One shared buffer with what tells whose turn it is, as one element of a batch. Vulkan fills the
 * first half, CUDA keeps a word of it and writes the second half, Vulkan keeps a word of that. */
typedef struct lane {
    bool binary;
    /* One for all turns: its order is all that comes between two of a binary lane */
    uint32_t queue;
    shared_timeline timeline;
    shared_binary there, back; /* to Vulkan, to CUDA */
    shared_buffer buffer;
    raw_vk_buffer host;
    CUdeviceptr history;
} lane;

enum { TURNS = 15 };

static void lane_open(pair *p, bool binary, uint32_t queue, lane *l)
{
    memset(l, 0, sizeof *l);
    l->binary = binary;
    l->queue = queue;
    if (binary) {
        shared_binary_open(p, &l->there);
        shared_binary_open(p, &l->back);
    } else {
        shared_timeline_open(p, 0, &l->timeline);
    }
    shared_buffer_open(p, SIZE, 0, false, &l->buffer);
    raw_vk_buffer_create(&p->vk, TURNS * 4, RAW_VK_HOST, &l->host);
    CU_OK(p->cu->MemAlloc(&l->history, TURNS * 4));
}

static void lane_close(pair *p, lane *l)
{
    CU_OK(p->cu->MemFree(l->history));
    raw_vk_buffer_destroy(&p->vk, &l->host);
    shared_buffer_close(p, &l->buffer);
    if (l->binary) {
        shared_binary_close(p, &l->there);
        shared_binary_close(p, &l->back);
    } else {
        shared_timeline_close(p, &l->timeline);
    }
}

static uint32_t vulkan_word(unsigned i, uint32_t turn)
{
    return 1000 * (i + 1) + turn;
}

static void vulkan_fills(pair *p, const lane *l, unsigned i, uint32_t turn)
{
    VkSemaphore t = l->timeline.vk;
    raw_vk_job job = {l->queue, t, 3 * (uint64_t)turn, t, 3 * (uint64_t)turn + 1, true};
    raw_binary_turn fill = {.queue = l->queue, .signal = &l->back.peer};
    raw_vk_fill(&p->vk, &l->buffer.vk, 0, SIZE / 2, vulkan_word(i, turn),
                l->binary ? raw_binary_turn_begin(p->cu, &fill) : &job);
}

static void vulkan_keeps(pair *p, const lane *l, uint32_t turn)
{
    VkSemaphore t = l->timeline.vk;
    raw_vk_job job = {l->queue, t, 3 * (uint64_t)turn + 2, t, 3 * (uint64_t)turn + 3, true};
    raw_binary_turn keep = {.queue = l->queue, .wait = &l->there.peer};
    raw_vk_copy(&p->vk, &l->buffer.vk, SIZE - 4, &l->host, 4 * turn, 4,
                l->binary ? raw_binary_turn_begin(p->cu, &keep) : &job);
}

/* binary: one bit for each element. */
static void four_lanes(pair *p, unsigned binary)
{
    lane lanes[COUNT];
    for (unsigned i = 0; i < COUNT; i++)
        lane_open(p, binary >> i & 1u, i % p->vk.queue_count % 3, &lanes[i]);
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        batch waits = {0}, signals = {0};
        for (unsigned i = 0; i < COUNT; i++) {
            lane *l = &lanes[i];
            vulkan_fills(p, l, i, turn);
            add(&waits, l->binary ? l->back.cu : l->timeline.cu,
                l->binary ? 0 : 3 * (uint64_t)turn + 1);
            add(&signals, l->binary ? l->there.cu : l->timeline.cu,
                l->binary ? 0 : 3 * (uint64_t)turn + 2);
        }
        CU_OK(wait(p, &waits));
        for (unsigned i = 0; i < COUNT; i++) {
            CUdeviceptr pointer = lanes[i].buffer.pointer;
            CU_OK(p->cu->MemcpyDtoDAsync(lanes[i].history + 4 * turn, pointer + SIZE / 2 - 4, 4,
                                         p->stream));
            CU_OK(p->cu->MemsetD32Async(pointer + SIZE / 2, ~vulkan_word(i, turn), SIZE / 8,
                                        p->stream));
        }
        CU_OK(signal(p, &signals));
        for (unsigned i = 0; i < COUNT; i++)
            vulkan_keeps(p, &lanes[i], turn);
    }
    CU_IS(stream_result(p, FAR_MS), CUDA_SUCCESS);
    raw_vk_idle(&p->vk);
    for (unsigned i = 0; i < COUNT; i++) {
        uint32_t seen[TURNS];
        unsigned by_cuda = 0, by_vulkan = 0;
        cuda_read(p, lanes[i].history, seen, sizeof seen);
        for (uint32_t turn = 0; turn < TURNS; turn++) {
            by_cuda += seen[turn] != vulkan_word(i, turn);
            by_vulkan += ((const uint32_t *)lanes[i].host.mapped)[turn] != ~vulkan_word(i, turn);
        }
        ANSWER(answer_key("words wrong in lane %u, %s", i, lanes[i].binary ? "binary" : "timeline"),
               "seen by CUDA %u, seen by Vulkan %u, of %d", by_cuda, by_vulkan, TURNS);
        REQUIRE(by_cuda == 0 && by_vulkan == 0);
        if (!lanes[i].binary)
            REQUIRE_EQ(raw_vk_timeline_value(&p->vk, lanes[i].timeline.vk), 3 * TURNS);
        lane_close(p, &lanes[i]);
    }
}

PAIR_AS(four_timelines, four_lanes(p, 0x0), .mark = TEST_BOTH)
PAIR_AS(two_of_each, four_lanes(p, 0xa), .mark = TEST_BOTH)
PAIR_AS(four_binaries, four_lanes(p, 0xf), .mark = TEST_BOTH)

/* As many as the library lets one call have. */
PAIR_CASE(thirty_two, .mark = TEST_BOTH)
{
    enum { MANY = 32 };
    shared_timeline t[MANY];
    batch waits = {0}, signals = {0};
    unsigned pending = 0, came = 0;
    for (unsigned i = 0; i < MANY; i++) {
        shared_timeline_open(p, i, &t[i]);
        add(&waits, t[i].cu, 100 + i);
        add(&signals, t[i].cu, 200 + i);
    }
    CU_OK(wait(p, &waits));
    CU_OK(signal(p, &signals));
    for (unsigned i = MANY; i-- > 0;) {
        pending += p->cu->StreamQuery(p->stream) == CUDA_ERROR_NOT_READY;
        raw_vk_timeline_signal(&p->vk, t[i].vk, 100 + i);
    }
    CU_IS(stream_result(p, FAR_MS), CUDA_SUCCESS);
    for (unsigned i = 0; i < MANY; i++) {
        came += raw_vk_timeline_wait(&p->vk, t[i].vk, 200 + i, FAR_MS);
        shared_timeline_close(p, &t[i]);
    }
    ANSWER("pending until the last signal", "before %u of %d", pending, MANY);
    ANSWER("signals that came", "%u of %d", came, MANY);
    REQUIRE(pending == MANY && came == MANY);
}

static uint64_t value_of(pair *p, const shared_timeline *t)
{
    return raw_vk_timeline_value(&p->vk, t->vk);
}

PAIR_CASE(same_timeline_twice, .mark = TEST_TWIN_STRICTER,
          .reason = "the twin refuses values that do not rise within a call", .own = true)
{
    batch rising = {0}, falling = {0}, waits = {0};
    shared_timeline t = pair_timeline(p, 0);
    add(&rising, t.cu, 1);
    add(&rising, t.cu, 2);
    CUresult result = signal(p, &rising), after = stream_result(p, FAR_MS);
    answer_with("signals of 1 and 2", result, "the stream %s, value %llu",
                raw_cuda_result_name(after), (unsigned long long)value_of(p, &t));
    CU_OK(after);
    add(&falling, t.cu, 12);
    add(&falling, t.cu, 11);
    result = signal(p, &falling);
    CU_OK(stream_result(p, FAR_MS));
    answer_with("signals of 12 and 11", result, "value %llu", (unsigned long long)value_of(p, &t));
    raw_vk_timeline_signal(&p->vk, t.vk, 20);
    add(&waits, t.cu, 20);
    add(&waits, t.cu, 19);
    result = wait(p, &waits);
    after = stream_result(p, patience(p, 3000));
    answer_with("waits for 20 and 19, both reached", result, "the stream %s",
                raw_cuda_result_name(after));
    if (after != CUDA_SUCCESS) test_pass();
}

PAIR_CASE(same_binary_twice, .mark = TEST_TWIN_STRICTER,
          .reason = "no partner can come between; NVIDIA's answers are reported", .own = true)
{
    shared_binary s;
    batch twice = {0};
    shared_binary_open(p, &s);
    add(&twice, s.cu, 0);
    add(&twice, s.cu, 0);
    const CUresult result = signal(p, &twice);
    answer_with("two signals", result, "the stream %s",
                raw_cuda_result_name(stream_result(p, patience(p, 3000))));
    bool first = raw_binary_wait(&p->vk, p->cu, &s.peer, p->cu->software ? 20 : 1000);
    ANSWER("Vulkan's first wait", "%s", first ? "taken" : "not there");
    if (first)
        ANSWER("Vulkan's second wait", "%s",
               raw_binary_wait(&p->vk, p->cu, &s.peer, 1000) ? "taken" : "not there");
    if (p->cu->software) CU_IS(wait(p, &twice), CUDA_ERROR_INVALID_VALUE);
    test_pass(); /* Vulkan's wait may be pending still */
}

/* An element that may be refused, third of four; a refused call does nothing at all. */
PAIR_CASE(one_bad_element, .mark = TEST_TWIN_STRICTER,
          .reason = "cuda.h wants flags to be zero, which the twin checks")
{
    static const char *const kinds[] = {"an unknown flag", "the NvSciBuf flag", "a reserved word",
                                        "a reserved word of params"};
    shared_timeline t[COUNT];
    for (unsigned i = 0; i < COUNT; i++)
        t[i] = pair_timeline(p, 0);
    for (unsigned kind = 0; kind < 4; kind++) {
        batch signals = {0}, waits = {0};
        uint64_t value = 10 * (kind + 1);
        for (unsigned i = 0; i < COUNT; i++) {
            add(&signals, t[i].cu, value);
            add(&waits, t[i].cu, value + 1); /* nobody has signaled that */
        }
        if (kind == 0) signals.signals[2].flags = waits.waits[2].flags = 0x80000000u;
        if (kind == 1)
            signals.signals[2].flags = CUDA_EXTERNAL_SEMAPHORE_SIGNAL_SKIP_NVSCIBUF_MEMSYNC;
        if (kind == 1) waits.waits[2].flags = CUDA_EXTERNAL_SEMAPHORE_WAIT_SKIP_NVSCIBUF_MEMSYNC;
        if (kind == 2) signals.signals[2].reserved[15] = waits.waits[2].reserved[15] = 1;
        if (kind == 3) signals.signals[2].params.reserved[7] = 1;
        if (kind == 3) waits.waits[2].params.reserved[7] = 1;
        CUresult result = signal(p, &signals);
        CU_OK(stream_result(p, FAR_MS));
        unsigned came = 0;
        for (unsigned i = 0; i < COUNT; i++)
            came += value_of(p, &t[i]) == value;
        answer_with(answer_key("signals with %s", kinds[kind]), result, "%u of %d came", came,
                    COUNT);
        REQUIRE_EQ(came, result == CUDA_SUCCESS ? COUNT : 0);

        result = wait(p, &waits);
        CUresult after = stream_result(p, 20);
        answer_with(answer_key("waits with %s", kinds[kind]), result, "the stream %s",
                    raw_cuda_result_name(after));
        CU_IS(after, result == CUDA_SUCCESS ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS);
        for (unsigned i = 0; i < COUNT; i++)
            raw_vk_timeline_signal(&p->vk, t[i].vk, value + 1);
        CU_OK(stream_result(p, FAR_MS));
    }
    batch none = {0};
    answer_call("a signal of no element", signal(p, &none));
    answer_call("a wait of no element", wait(p, &none));
    CU_OK(stream_result(p, FAR_MS));
}
