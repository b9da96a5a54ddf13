/* SPDX-License-Identifier: MIT */
/* Every call of a driver, and every allocation, fails once: nothing is left, and the next try
 * succeeds. */
#define TEST_GROUP "torture."
#include "suite.h"

#include <stdatomic.h>
#include <time.h>

/* In the static library of a build with tests. */
extern _Atomic long culvi_alloc_countdown;
extern _Atomic long culvi_alloc_count;

typedef enum victim { CUDA_CALLS, NATIVE_CALLS, ALLOCATIONS } victim;

static scene s;
static victim what;
static int code;
static unsigned ring_way;
static unsigned failures;
static uint64_t attached; /* by the scene */

static uint64_t arm(uint64_t n)
{
    if (what == ALLOCATIONS) {
        atomic_store(&culvi_alloc_countdown, (long)n);
        return (uint64_t)atomic_load(&culvi_alloc_count);
    }
    if (what == NATIVE_CALLS) return s.b->fail_at(n, code == CUDA_ERROR_ILLEGAL_ADDRESS);
    culv_soft_counts c = {.struct_size = sizeof c};
    s.cu->SoftFailAt(n, code);
    s.cu->SoftCounts(&c);
    return c.calls;
}

/* With the n-th event of the call failing: its result. What was left of n goes on to the next
 * call. */
static uint64_t left;

static bool failed(culv_result result, const char *call)
{
    if (result == CULV_OK) return false;
    failures++;
    if (culv_last_error_message()[0] == '\0') FAIL("%s says nothing", call);
    if (what == ALLOCATIONS && result != CULV_ERROR_OUT_OF_MEMORY)
        FAIL("%s without memory is %s: %s", call, culv_result_name(result),
             culv_last_error_message());
    return true;
}

#define ARMED(result, call)                                                                        \
    uint64_t before_ = arm(left);                                                                  \
    culv_result result = (call);                                                                   \
    uint64_t made_ = arm(0) - before_;                                                             \
    left -= made_ < left ? made_ : left
#define TRY(call)                                                                                  \
    do {                                                                                           \
        ARMED(result_, call);                                                                      \
        if (failed(result_, #call)) goto out;                                                      \
    } while (0)

static void path(uint32_t fallback, void *native, void *timeline)
{
    void *attachment = NULL, *buffer = NULL, *image = NULL, *semaphore = NULL;
    culv_memory *memory = NULL, *again = NULL;
    culv_buffer *mapping = NULL;
    culv_semaphore *imported = NULL;
    TRY(s.b->attach(s.device, fallback, &attachment));
    if (fallback == 0) {
        TRY(s.b->memory_import(attachment, native, s.b->memory_size(native), true, &memory));
        TRY(s.b->memory_import(attachment, native, s.b->memory_size(native), true, &again));
        TRY(culv_buffer_map(memory, NULL, &mapping));
        TRY(s.b->timeline_import(attachment, timeline, &imported));
    }
    TRY(s.b->buffer_create(attachment, BYTES, fallback, &buffer));
    TRY(s.b->image_create(attachment, WIDTH, HEIGHT, fallback, &image));
    TRY(s.b->semaphore_create(attachment, 1, fallback, &semaphore));
out:
    if (semaphore != NULL) s.b->semaphore_destroy(&semaphore, false, NULL);
    if (image != NULL) s.b->image_destroy(&image, true, s.stream);
    if (buffer != NULL) s.b->buffer_destroy(&buffer, false, NULL);
    culv_semaphore_destroy(&imported, NULL);
    culv_buffer_unmap(&mapping, NULL);
    culv_memory_destroy(&again);
    culv_memory_destroy(&memory);
    s.b->detach(&attachment);
}

/* A call that failed is made once more: it goes on, or the ring is stopped, and both sides learn it
 * at once. */
#define STEP(call)                                                                                 \
    do {                                                                                           \
        ARMED(result_, call);                                                                      \
        if (failed(result_, #call)) {                                                              \
            culv_device_counts counts_ = culv_device_counts_init();                                \
            OK(culv_device_get_counts(device, &counts_)); /* no lock is left held */               \
            result_ = (call);                                                                      \
            if (result_ != CULV_OK && result_ != CULV_ERROR_ASYNC)                                 \
                FAIL("once more, %s is %s: %s", #call, culv_result_name(result_),                  \
                     culv_last_error_message());                                                   \
            if (result_ != CULV_OK) goto stopped;                                                  \
        }                                                                                          \
    } while (0)

/* A ring made, a burst of two frames of it and one that a flush ends, and the ring's end. Whatever
 * failed on the way, no frame is lost. */
static void ring_turns(culv_device *device, void *attachment, CUstream stream, culv_ring_side side)
{
    const culv_ring_settings settings = {.struct_size = sizeof settings, .burst = 2};
    const backend_ring d = {.depth = 4, .way = ring_way, .side = side, .settings = &settings};
    culv_ring *ring = NULL;
    culv_ring_frame f;
    STEP(s.b->ring_create(attachment, &d, &ring));
    for (int turn = 0; turn < 2; turn++)
        for (uint32_t n = 1; n <= 4; n++) {
            const bool apis = (culv_ring_side)turn == side, flushes = n == 4;
            if (!flushes && apis)
                STEP(culv_ring_acquire(ring, side, TEST_FAR_MS * UINT64_C(1000000), &f));
            else if (!flushes)
                STEP(culv_ring_acquire_on(ring, (culv_ring_side)turn, stream, 0, &f));
            if (apis) {
                if (!flushes && s.b->ring_record != NULL) s.b->ring_record(ring, &f, n);
                if (s.b->fail_at != NULL)
                    STEP(flushes ? culv_ring_flush(ring, side, NULL)
                                 : s.b->ring_release(ring, &f, n));
                else /* its own calls are CUDA's */
                    OK(flushes ? culv_ring_flush(ring, side, NULL)
                               : s.b->ring_release(ring, &f, n));
                continue;
            }
            if (!flushes && turn == CULV_RING_PRODUCER) {
                static uint32_t words[BACKEND_RING_WORDS];
                suite_pattern(words, BACKEND_RING_WORDS, n);
                CU_OK(s.cu->MemcpyHtoDAsync(culv_ring_pointer(ring, f.slot, 0), words, sizeof words,
                                            stream));
            }
            STEP(flushes ? culv_ring_flush_on(ring, (culv_ring_side)turn, stream)
                         : culv_ring_release_on(ring, (culv_ring_side)turn, stream, &f));
        }
    STEP(culv_ring_drain(ring, CULV_RING_FOREVER, 0));
    if (s.b->finish != NULL) s.b->finish();
    if (s.b->ring_check != NULL) s.b->ring_check(true);
    goto finish;

stopped:
    if (ring == NULL) return; /* CUDA's device is lost, or the attachment's */
    for (int i = 0; i < 2; i++)
        REQUIRE((culv_ring_side)i == side
                    ? culv_ring_acquire(ring, side, CULV_RING_FOREVER, &f) == CULV_ERROR_ASYNC
                    : culv_ring_acquire_on(ring, (culv_ring_side)i, stream, CULV_RING_FOREVER,
                                           &f) == CULV_ERROR_ASYNC);

finish:
    CU_OK(s.cu->StreamSynchronize(stream));
    if (s.b->finish != NULL) s.b->finish();
    if (s.b->ring_check != NULL) s.b->ring_check(false);
    OK(culv_ring_destroy(&ring, NULL));
    if (s.b->ring_end != NULL) s.b->ring_end();
}

static void ring_path(uint32_t fallback, void *native, void *timeline)
{
    culv_device *device = NULL;
    void *attachment = NULL;
    CUcontext before;
    CUstream stream;
    OK(s.b->device_open(&device));
    OK(s.b->attach(device, 0, &attachment));
    CU_OK(s.cu->CtxPushCurrent(culv_device_context(device)));
    CU_OK(s.cu->StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int side = 0; side < 2; side++)
        ring_turns(device, attachment, stream, (culv_ring_side)side);
    CU_OK(s.cu->StreamDestroy(stream));
    CU_OK(s.cu->CtxPopCurrent(&before));
    s.b->detach(&attachment);
    culv_device_close(&device);
}

static void require_none(uint64_t n)
{
    culv_device_counts c = culv_device_counts_init();
    for (unsigned i = 0; i < TEST_FAR_MS && culv_device_collect(s.device) > 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    OK(culv_device_get_counts(s.device, &c));
    if (c.memories + c.mappings + c.buffers + c.images + c.created + c.semaphores + c.allocations +
                c.deferred !=
            0 ||
        c.attached_devices != attached)
        FAIL("event %llu leaves objects", (unsigned long long)n);
}

static void torture_path(void (*run)(uint32_t, void *, void *), victim chosen, int with,
                         backend_lie lie, uint32_t fallback)
{
    if (fallback != 0 && backend_under_test.copies_nothing) SKIP("nothing is copied");
    what = chosen;
    code = with;
    suite_open(&s, lie, fallback);
    if (s.cu->SoftCounts == NULL) SKIP("only the twin fails on demand");
    if (chosen == NATIVE_CALLS && s.b->fail_at == NULL) SKIP("its calls are the CUDA driver's");
    void *native = s.b->memory_create(BYTES);
    void *timeline = s.b->timeline_create(0);
    culv_device_counts with_scene = culv_device_counts_init();
    OK(culv_device_get_counts(s.device, &with_scene));
    attached = with_scene.attached_devices;
    culv_soft_counts before = {.struct_size = sizeof before}, after = before;
    size_t fds = 0;
    unsigned injected = 0, noticed = 0;
    for (uint64_t n = 0;; n++) {
        left = n;
        failures = 0;
        run(fallback, native, timeline);
        require_none(n);
        s.cu->SoftCounts(&after);
        after.calls = 0;
        if (n == 0) {
            REQUIRE_EQ(failures, 0);
            before = after;
            fds = test_open_fds();
            continue;
        }
        if (memcmp(&before, &after, sizeof before) != 0 || test_open_fds() != fds)
            FAIL("event %llu leaves something at the driver", (unsigned long long)n);
        if (left > 0) break; /* fewer events than that */
        injected++;
        noticed += failures > 0;
    }
    printf("%u injected, %u made a call fail\n", injected, noticed);
    REQUIRE(noticed > 3);
    s.b->timeline_destroy(timeline);
    s.b->memory_destroy(native);
    suite_close(&s);
}

static void torture(victim chosen, int with, backend_lie lie, uint32_t fallback)
{
    torture_path(path, chosen, with, lie, fallback);
}

static void torture_rings(victim chosen, int with)
{
    if (backend_under_test.ring_ways == 0) SKIP("it has no rings");
    for (ring_way = 0; ring_way < backend_under_test.ring_ways; ring_way++)
        torture_path(ring_path, chosen, with, BACKEND_HONEST, 0);
}

TEST_AS(shared_cuda, torture(CUDA_CALLS, CUDA_ERROR_OUT_OF_MEMORY, BACKEND_HONEST, 0),
        .time_limit = 300)
TEST_AS(shared_cuda_unknown, torture(CUDA_CALLS, CUDA_ERROR_UNKNOWN, BACKEND_HONEST, 0),
        .time_limit = 300)
TEST_AS(shared_native, torture(NATIVE_CALLS, 0, BACKEND_HONEST, 0), .time_limit = 300)
TEST_AS(shared_allocations, torture(ALLOCATIONS, 0, BACKEND_HONEST, 0), .time_limit = 300)
TEST_AS(host_cuda,
        torture(CUDA_CALLS, CUDA_ERROR_OUT_OF_MEMORY, BACKEND_CLOSED, CULV_FALLBACK_HOST),
        .time_limit = 300)
TEST_AS(host_native, torture(NATIVE_CALLS, 0, BACKEND_CLOSED, CULV_FALLBACK_HOST),
        .time_limit = 300)
TEST_AS(host_allocations, torture(ALLOCATIONS, 0, BACKEND_CLOSED, CULV_FALLBACK_HOST),
        .time_limit = 300)
TEST_AS(ring_cuda, torture_rings(CUDA_CALLS, CUDA_ERROR_OUT_OF_MEMORY), .time_limit = 300)
TEST_AS(ring_cuda_unknown, torture_rings(CUDA_CALLS, CUDA_ERROR_UNKNOWN), .time_limit = 300)
TEST_AS(ring_cuda_broken, torture_rings(CUDA_CALLS, CUDA_ERROR_ILLEGAL_ADDRESS), .time_limit = 300)
TEST_AS(ring_native, torture_rings(NATIVE_CALLS, 0), .time_limit = 300)
TEST_AS(ring_native_lost, torture_rings(NATIVE_CALLS, CUDA_ERROR_ILLEGAL_ADDRESS),
        .time_limit = 300)
TEST_AS(ring_allocations, torture_rings(ALLOCATIONS, 0), .time_limit = 300)
