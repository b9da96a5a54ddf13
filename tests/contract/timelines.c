/* SPDX-License-Identifier: MIT */
/* Contract rows: Vulkan timeline semaphores in CUDA streams. */
#define TEST_GROUP "timeline."
#include "contract.h"
#include "raw_binary.h"

#include <fcntl.h>
#include <unistd.h>

static void answer_pending(const pair *p, const char *key)
{
    usleep(20000);
    answer_call(key, p->cu->StreamQuery(p->stream));
}

static void answer_done(const pair *p, const char *key)
{
    answer_ok(key, p->cu->StreamSynchronize(p->stream));
}

static void answer_value(pair *p, const char *key, const shared_timeline *t, uint64_t expected)
{
    answer_number(key, (int64_t)raw_vk_timeline_value(&p->vk, t->vk), (int64_t)expected);
}

PAIR_CASE(wait_before_host_signal, .mark = TEST_BOTH)
{
    shared_timeline t = pair_timeline(p, 0);
    CU_OK(raw_cuda_wait(p->cu, t.cu, 2, p->stream));
    answer_pending(p, "a wait for 2 at 0");
    raw_vk_timeline_signal(&p->vk, t.vk, 1); /* not enough */
    answer_pending(p, "a wait for 2 at 1");
    raw_vk_timeline_signal(&p->vk, t.vk, 2);
    answer_done(p, "a wait for 2 at 2");
}

PAIR_CASE(between_streams, .mark = TEST_BOTH)
{
    shared_timeline t = pair_timeline(p, 0);
    CUstream other = raw_cuda_stream(p->cu);
    CU_OK(raw_cuda_wait(p->cu, t.cu, 1, p->stream));
    answer_pending(p, "before another stream's signal");
    CU_OK(raw_cuda_signal(p->cu, t.cu, 1, other));
    answer_done(p, "after it");
    REQUIRE(raw_vk_timeline_wait(&p->vk, t.vk, 1, FAR_MS));
}

PAIR_CASE(backwards, .mark = TEST_TWIN_STRICTER,
          .reason = "NVIDIA's driver lets the counter go back; the twin never lowers it")
{
    shared_timeline t = pair_timeline(p, 0);
    CU_OK(raw_cuda_signal(p->cu, t.cu, 1600, p->stream));
    CU_OK(p->cu->StreamSynchronize(p->stream));
    REQUIRE_EQ(raw_vk_timeline_value(&p->vk, t.vk), 1600);
    answer_call("a signal of 1 after 1600", raw_cuda_signal(p->cu, t.cu, 1, p->stream));
    CU_OK(p->cu->StreamSynchronize(p->stream));
    answer_value(p, "the value then", &t, p->cu->software ? 1600 : 1);
    if (p->cu->software) {
        CU_IS(raw_cuda_signal(p->cu, t.cu, 1600, p->stream), CUDA_ERROR_INVALID_VALUE);
        raw_vk_timeline_signal(&p->vk, t.vk,
                               1700); /* not through this import, so it is not refused */
        CU_OK(raw_cuda_signal(p->cu, t.cu, 1650, p->stream));
        CU_OK(p->cu->StreamSynchronize(p->stream));
        REQUIRE_EQ(raw_vk_timeline_value(&p->vk, t.vk), 1700);
    }
}

/* Contract rows: binary semaphores in CUDA streams. The other side is Vulkan, or is played by the
 * twin where Vulkan's driver exports none (raw_binary.h). */
#undef TEST_GROUP
#define TEST_GROUP "binary."

enum { SIZE = 65536 };

/* A binary semaphore imported by CUDA, with its other side. */
typedef struct shared_binary {
    raw_binary peer;
    CUexternalSemaphore cu;
} shared_binary;

/* Skips the case where the other side can be neither Vulkan nor played. */
static void shared_binary_open(pair *p, shared_binary *out)
{
    raw_binary_create(&p->vk, p->cu, &out->peer);
    CU_OK(raw_cuda_import_binary(p->cu, raw_binary_fd(&p->vk, &out->peer), &out->cu));
}

static void shared_binary_close(pair *p, shared_binary *binary)
{
    CU_OK(p->cu->DestroyExternalSemaphore(binary->cu));
    raw_binary_destroy(&p->vk, &binary->peer);
}

/* Vulkan waits for a signal of CUDA, and the other way round. */
static bool vulkan_takes(pair *p, shared_binary *s)
{
    return raw_binary_wait(&p->vk, p->cu, &s->peer, FAR_MS);
}

static void answer_taken(const char *key, bool taken)
{
    answer_so(key, taken, "not there");
}

static void answer_stream(const pair *p, const char *key)
{
    answer_ok(key, stream_result(p, FAR_MS));
}

/* The wait takes the signal away: there is nothing left for a second one. So all of Vulkan's waits
 * for one semaphore are on one queue: a wait that was submitted to another queue would take a
 * signal that is meant for an earlier one (measured: a hang on an H200;
 * VUID-vkQueueSubmit-pWaitSemaphores-00068). */
PAIR_CASE(one_wait_a_signal, .mark = TEST_BOTH)
{
    shared_binary s;
    shared_binary_open(p, &s);
    CU_OK(raw_cuda_signal(p->cu, s.cu, 0, p->stream));
    CU_OK(p->cu->StreamSynchronize(p->stream));
    answer_taken("CUDA's signal, by Vulkan", vulkan_takes(p, &s));
    raw_binary_signal(&p->vk, p->cu, &s.peer); /* so it was reset */
    raw_vk_idle(&p->vk);
    CU_OK(raw_cuda_wait(p->cu, s.cu, 0, p->stream));
    answer_stream(p, "CUDA's wait for Vulkan's signal");
    CU_OK(raw_cuda_signal(p->cu, s.cu, 0, p->stream));
    CU_OK(p->cu->StreamSynchronize(p->stream));
    answer_taken("CUDA's next signal, by Vulkan", vulkan_takes(p, &s));
    raw_vk_idle(&p->vk);
    shared_binary_close(p, &s);
}

/* What a library's descriptor has to be able to say: a signal may be under way already. */
PAIR_CASE(signaled_before_the_import, .mark = TEST_BOTH)
{
    shared_binary s;
    raw_binary_create(&p->vk, p->cu, &s.peer);
    raw_binary_signal(&p->vk, p->cu, &s.peer);
    raw_vk_idle(&p->vk);
    CU_OK(raw_cuda_import_binary(p->cu, raw_binary_fd(&p->vk, &s.peer), &s.cu));
    CU_OK(raw_cuda_wait(p->cu, s.cu, 0, p->stream));
    answer_stream(p, "a wait for a signal that came before the import");
    shared_binary_close(p, &s);
}

#define OPEN_STILL "the twin refuses each and leaves the fd open; NVIDIA's answers are reported"

PAIR_CASE(imported_as_the_other_type, .mark = TEST_TWIN_STRICTER, .reason = OPEN_STILL)
{
    raw_binary binary;
    VkSemaphore timeline = raw_vk_timeline(&p->vk, 0, true);
    raw_binary_create(&p->vk, p->cu, &binary);
    const int fds[] = {raw_binary_fd(&p->vk, &binary), raw_vk_semaphore_fd(&p->vk, timeline)};
    answer_import(p->cu, "binary as TIMELINE_SEMAPHORE_FD", fds[0], true);
    answer_import(p->cu, "timeline as OPAQUE_FD", fds[1], false);
    close(fds[0]);
    close(fds[1]);
    raw_binary_destroy(&p->vk, &binary);
    raw_vk_semaphore_destroy(&p->vk, timeline);
}

/* The others are bad.rubbish_semaphores. */
PAIR_CASE(wrong_fds, .mark = TEST_TWIN_STRICTER, .reason = OPEN_STILL)
{
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    raw_vk_buffer vk = pair_vk_buffer(p, SIZE, RAW_VK_EXPORT);
    const int memory = raw_vk_buffer_fd(&p->vk, &vk);
    for (int timeline = 0; timeline < 2; timeline++) {
        const char *as = timeline ? " as a timeline" : "";
        answer_import(p->cu, answer_key("pipe_write%s", as), ends[1], timeline);
        answer_import(p->cu, answer_key("memory%s", as), memory, timeline);
    }
    close(memory);
    close(ends[0]);
    close(ends[1]);
}

#undef TEST_GROUP
#define TEST_GROUP "measured.binary_"

/* A lost partner never signals: CUDA does in its place, in a stream that does not wait. */
PAIR_CASE(lost_partner, .own = true)
{
    shared_binary s;
    CUstream other = NULL;
    shared_binary_open(p, &s);
    CU_OK(p->cu->StreamCreate(&other, CU_STREAM_NON_BLOCKING));
    CU_OK(raw_cuda_wait(p->cu, s.cu, 0, p->stream));
    answer_call("the stream that waits", stream_result(p, 20));
    CU_OK(raw_cuda_signal(p->cu, s.cu, 0, other));
    answer_call("the same after CUDA's signal in another stream",
                stream_result(p, patience(p, 1000)));
    test_pass(); /* endless work may be left behind */
}

/* Contract rows: several semaphores in one call, of either type. */
#undef TEST_GROUP
#define TEST_GROUP "batch."

enum { COUNT = 4 };

/* What one call takes. */
typedef struct batch {
    unsigned count;
    CUexternalSemaphore handles[COUNT];
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signals[COUNT];
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS waits[COUNT];
} batch;

static void add(batch *b, CUexternalSemaphore semaphore, uint64_t value)
{
    REQUIRE(b->count < COUNT);
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
