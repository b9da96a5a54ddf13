/* SPDX-License-Identifier: MIT */
/* Semaphores and streams: the default ones, those of other contexts and devices; alone and in
 * batches. */
#define TEST_GROUP "streams."
#include "library.h"

static culv_result signal_batch(culv_semaphore *semaphore, CUstream stream, uint64_t value)
{
    const culv_semaphore_point point = {semaphore, value};
    return culv_semaphore_signal_batch(&point, 1, stream);
}

static culv_result wait_batch(culv_semaphore *semaphore, CUstream stream, uint64_t value)
{
    const culv_semaphore_point point = {semaphore, value};
    return culv_semaphore_wait_batch(&point, 1, stream);
}

typedef culv_result (*stream_call)(culv_semaphore *semaphore, CUstream stream, uint64_t value);
static const stream_call signals[] = {culv_semaphore_signal, signal_batch};
static const stream_call waits[] = {culv_semaphore_wait, wait_batch};

/* A timeline for each direction: validation takes one that CUDA signals for pending, and warns of
 * the host's signal. */
LIB_CASE(default_streams, .title = "streams.default")
{
    VkSemaphore out = lib_case_timeline(w, 0), in = lib_case_timeline(w, 0);
    culv_semaphore *to_vulkan = lib_import_timeline(w, out), *to_cuda = lib_import_timeline(w, in);
    CUstream streams[] = {NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD};
    for (uint64_t i = 0; i < 6; i++) {
        CUstream stream = streams[i % 3];
        stream_call signal = signals[i / 3], wait = waits[i / 3];
        LIB_OK(signal(to_vulkan, stream, 2 * i + 1));
        REQUIRE(raw_vk_timeline_wait(&w->vk, out, 2 * i + 1, TEST_FAR_MS));
        LIB_OK(wait(to_cuda, stream, i + 1));
        LIB_OK(signal(to_vulkan, stream, 2 * i + 2));
        lib_sleep_ms(20);
        REQUIRE_EQ(raw_vk_timeline_value(&w->vk, out), 2 * i + 1); /* the stream waits */
        raw_vk_timeline_signal(&w->vk, in, i + 1);
        REQUIRE(raw_vk_timeline_wait(&w->vk, out, 2 * i + 2, TEST_FAR_MS));
    }
    lib_finish(w, NULL);
    culv_semaphore_destroy(&to_vulkan, &(CUstream){CU_STREAM_PER_THREAD});
    culv_semaphore_destroy(&to_cuda, &(CUstream){NULL});
    lib_settle(w);
}

/* Each call with a stream that is not the semaphore's; a refused signal promises nothing. */
static void refuse(const lib_world *w, culv_semaphore *semaphore, CUstream stream, const char *says)
{
    const raw_cuda *cu = w->cu;
    CUcontext current = NULL;
    uint64_t last = culv_semaphore_last_value(semaphore);
    for (int twice = 0; twice < 2; twice++) {
        for (int i = 0; i < 2; i++) {
            LIB_INVALID(signals[i](semaphore, stream, last + 1), STREAM_DEVICE, says);
            LIB_INVALID(waits[i](semaphore, stream, last), STREAM_DEVICE, says);
            LIB_INVALID(
                culv_stream_wait_stream(w->device, i == 0 ? stream : NULL, i == 0 ? NULL : stream),
                STREAM_DEVICE, says);
        }
    }
    REQUIRE_EQ(culv_semaphore_last_value(semaphore), last);
    CU_OK(cu->CtxGetCurrent(&current));
    REQUIRE(current == NULL);
}

/* A stream of another context is refused, of the same device (whose driver would refuse it:
 * measured) or another. */
TEST(streams_of_other_contexts, .title = "streams.of_other_contexts")
{
    raw_cuda_two_devices();
    lib_world w;
    lib_open(&w);
    const raw_cuda *cu = w.cu;
    VkSemaphore timeline = lib_case_timeline(&w, 0);
    culv_semaphore *semaphore = lib_import_timeline(&w, timeline);
    CUcontext context = NULL, popped = NULL;
    CUstream stream = NULL;
    REQUIRE(cu->CtxCreate != NULL);
    CU_OK(cu->CtxCreate(&context, 0, 0));
    CU_OK(cu->StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU_OK(cu->CtxPopCurrent(&popped));
    refuse(&w, semaphore, stream, "context");
    LIB_OK(culv_semaphore_signal(semaphore, NULL, 1));
    REQUIRE(raw_vk_timeline_wait(&w.vk, timeline, 1, TEST_FAR_MS));
    CU_OK(cu->CtxPushCurrent(context));
    CU_OK(cu->StreamDestroy(stream));
    CU_OK(cu->CtxDestroy(context));
    culv_semaphore_destroy(&semaphore, NULL);
    lib_settle(&w);

    if (cu->device_count > 1) {
        semaphore = lib_import_timeline(&w, timeline);
        CU_OK(cu->DevicePrimaryCtxRetain(&context, 1));
        CU_OK(cu->CtxPushCurrent(context));
        CU_OK(cu->StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        CU_OK(cu->CtxPopCurrent(&popped));
        refuse(&w, semaphore, stream, "device 1");
        CU_OK(cu->CtxPushCurrent(context));
        CU_OK(cu->StreamDestroy(stream));
        CU_OK(cu->CtxPopCurrent(&popped));
        CU_OK(cu->DevicePrimaryCtxRelease(1));
        LIB_OK(culv_semaphore_signal(semaphore, NULL, 2));
        lib_finish(&w, NULL);
        culv_semaphore_destroy(&semaphore, NULL);
        lib_settle(&w);
    } else {
        printf("one device only: streams of another were not tried\n");
    }
    lib_close(&w);
}

/* One that was used before and then destroyed: the refusal says so. Others than the twin may crash
 * on it. */
LIB_CASE(destroyed)
{
    if (!w->cu->software) {
        lib_close(w);
        SKIP("no stream that is gone is handed to a real driver");
    }
    VkSemaphore timeline = lib_case_timeline(w, 0);
    culv_semaphore *semaphore = lib_import_timeline(w, timeline);
    const stream_call rows[] = {signals[0], signals[1], waits[0], waits[1]};
    for (uint64_t i = 0; i < 4; i++) {
        CUstream stream = lib_stream(w);
        LIB_OK(culv_semaphore_signal(semaphore, stream, i + 1));
        lib_finish(w, stream);
        lib_stream_destroy(w, stream);
        for (int twice = 0; twice < 2; twice++) {
            LIB_ERROR(rows[i](semaphore, stream, i + 2), DRIVER, STREAM_DEVICE,
                      "was it destroyed?");
        }
        REQUIRE_EQ(culv_semaphore_last_value(semaphore), i + 1);
    }
    culv_semaphore_destroy(&semaphore, NULL);
}

/* One stream writes a value, and another one copies it to its place in `seen`, turn for turn. */
static void turns(lib_world *w, CUstream a, CUstream b, CUdeviceptr value, CUdeviceptr seen,
                  uint32_t first, uint32_t count)
{
    const raw_cuda *cu = w->cu;
    for (uint32_t i = first; i < first + count; i++) {
        CU_OK(cu->MemsetD32Async(value, i, 1, a));
        LIB_OK(culv_stream_wait_stream(w->device, b, a));
        CU_OK(cu->MemcpyDtoDAsync(seen + i * sizeof(uint32_t), value, sizeof(uint32_t), b));
        LIB_OK(culv_stream_wait_stream(w->device, a, b));
    }
}

enum { AHEAD = 101, TURNS = 3001 };

/* Streams in order: behind a semaphore that has not come, which takes more words than a block has,
 * and with words that are used again. */
LIB_CASE(in_order)
{
    static uint32_t seen[TURNS];
    const raw_cuda *cu = w->cu;
    VkSemaphore timeline = lib_case_timeline(w, 0);
    culv_semaphore *semaphore = lib_import_timeline(w, timeline);
    CUcontext before = lib_enter(w);
    CUstream plain = lib_stream(w), second = lib_stream(w);
    CUdeviceptr value = 0, list = 0;
    CU_OK(cu->MemAlloc(&value, 4));
    CU_OK(cu->MemAlloc(&list, sizeof seen));
    CUstream pairs[][2] = {{plain, second}, {plain, NULL}, {CU_STREAM_PER_THREAD, plain}};
    for (uint64_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        CUstream a = pairs[i][0], b = pairs[i][1];
        CU_OK(cu->MemsetD32Async(list, UINT32_MAX, TURNS, a));
        lib_finish(w, a);
        LIB_OK(culv_semaphore_wait(semaphore, a, i + 1));
        turns(w, a, b, value, list, 0, AHEAD);
        lib_sleep_ms(20);
        CU_OK(cu->MemcpyDtoHAsync(seen, list, 4, second == b ? CU_STREAM_PER_THREAD : second));
        lib_finish(w, second == b ? CU_STREAM_PER_THREAD : second);
        REQUIRE_EQ(seen[0], UINT32_MAX); /* nothing has run */
        raw_vk_timeline_signal(&w->vk, timeline, i + 1);
        turns(w, a, b, value, list, AHEAD, TURNS - AHEAD);
        lib_finish(w, a);
        CU_OK(cu->MemcpyDtoHAsync(seen, list, sizeof seen, a));
        lib_finish(w, a);
        for (uint32_t k = 0; k < TURNS; k++)
            if (seen[k] != k) FAIL("pair %d: turn %u copied %u", (int)i, k, seen[k]);
    }
    LIB_OK(culv_stream_wait_stream(w->device, plain, plain));
    LIB_INVALID(culv_stream_wait_stream(NULL, plain, second), NULL_ARGUMENT);
    CU_OK(cu->MemFree(list));
    CU_OK(cu->MemFree(value));
    lib_stream_destroy(w, second);
    lib_stream_destroy(w, plain);
    lib_leave(w, before);
    culv_semaphore_destroy(&semaphore, NULL);
}

/* Green contexts ------------------------------------------------------------------------------- */

typedef struct green {
    CUresult(CUDAAPI *create)(void **context, void *parts, CUdevice device, unsigned flags);
    CUresult(CUDAAPI *create_stream)(CUstream *stream, void *context, unsigned flags, int priority);
    CUresult(CUDAAPI *destroy)(void *context);
    void *context;
    CUstream stream;
} green;

/* A stream on a part of the multiprocessors. False: the driver has none. */
static bool open_green(const lib_world *w, green *g)
{
    unsigned char all[512], part[512], rest[512]; /* CUdevResource has 144 bytes (cuda.h) */
    unsigned parts = 1;
    void *description = NULL;
    CUresult(CUDAAPI * get)(CUdevice device, void *resource, int type);
    CUresult(CUDAAPI * split)(void *out, unsigned *count, const void *from, void *left,
                              unsigned flags, unsigned least);
    CUresult(CUDAAPI * describe)(void **out, void *resources, unsigned count);
    const struct {
        const char *name;
        int version;
        void *function;
    } calls[] = {{"cuDeviceGetDevResource", 12040, &get},
                 {"cuDevSmResourceSplitByCount", 12040, &split},
                 {"cuDevResourceGenerateDesc", 12040, &describe},
                 {"cuGreenCtxCreate", 12040, &g->create},
                 {"cuGreenCtxStreamCreate", 12050, &g->create_stream},
                 {"cuGreenCtxDestroy", 12040, &g->destroy}};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        void (*found)(void) = culv_device_cuda_proc(w->device, calls[i].name, calls[i].version);
        if (found == NULL) return false;
        memcpy(calls[i].function, &found, sizeof found);
    }
    const CUdevice device = (CUdevice)lib_caps(w->device).ordinal;
    CU_OK(get(device, all, 1)); /* CU_DEV_RESOURCE_TYPE_SM */
    CU_OK(split(part, &parts, all, rest, 0, w->cu->software ? 1 : 16));
    CU_OK(describe(&description, part, 1));
    CU_OK(g->create(&g->context, description, device, 1)); /* CU_GREEN_CTX_DEFAULT_STREAM */
    CU_OK(g->create_stream(&g->stream, g->context, CU_STREAM_NON_BLOCKING, 0));
    return true;
}

enum { ROUNDS = 33 };

static void CUDA_CB nap(void *user)
{
    (void)user;
    lib_sleep_ms(10);
}

/* A green context's stream waits and signals, submitted ahead and in a graph, and ends an
 * object. */
LIB_CASE(of_green_contexts)
{
    green g = {0};
    uint32_t seen[ROUNDS + 1];
    const raw_cuda *cu = w->cu;
    CUgraph graph = NULL;
    CUgraphExec exec = NULL;
    CUDA_GRAPH_INSTANTIATE_PARAMS how = {0};
    if (!open_green(w, &g)) {
        lib_close(w);
        SKIP("the driver has no green contexts");
    }
    VkSemaphore out = lib_case_timeline(w, 0), in = lib_case_timeline(w, 0);
    culv_semaphore *to_vulkan = lib_import_timeline(w, out), *to_cuda = lib_import_timeline(w, in);
    CUcontext before = lib_enter(w);
    CUstream plain = lib_stream(w), reader = lib_stream(w);
    CUdeviceptr value = 0, list = 0;
    CU_OK(cu->MemAlloc(&value, 4));
    CU_OK(cu->MemAlloc(&list, sizeof seen));
    CU_OK(cu->MemsetD32Async(list, UINT32_MAX, ROUNDS + 1, reader));
    lib_finish(w, reader);
    CU_OK(cu->StreamBeginCapture(reader, CU_STREAM_CAPTURE_MODE_GLOBAL)); /* somebody else's */
    for (uint32_t i = 0; i <= ROUNDS; i++) {
        const bool captured = i == ROUNDS;
        if (captured) CU_OK(cu->StreamEndCapture(reader, &graph));
        if (captured) CU_OK(cu->GraphDestroy(graph));
        if (captured) CU_OK(cu->StreamBeginCapture(g.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
        LIB_OK((i % 2 ? wait_batch : culv_semaphore_wait)(to_cuda, g.stream, i + 1));
        CU_OK(cu->MemsetD32Async(value, i, 1, g.stream));
        LIB_OK((i % 2 ? signal_batch : culv_semaphore_signal)(to_vulkan, g.stream, 2 * i + 1));
        if (!captured) LIB_OK(culv_stream_wait_stream(w->device, plain, g.stream));
        if (i < 4) CU_OK(cu->LaunchHostFunc(plain, nap, NULL));
        CU_OK(cu->MemcpyDtoDAsync(list + i * sizeof(uint32_t), value, sizeof(uint32_t),
                                  captured ? g.stream : plain));
        if (!captured) LIB_OK(culv_stream_wait_stream(w->device, g.stream, plain));
        LIB_OK(culv_semaphore_signal(to_vulkan, g.stream, 2 * i + 2));
    }
    CU_OK(cu->StreamEndCapture(g.stream, &graph));
    CU_OK(cu->GraphInstantiateWithParams(&exec, graph, &how));
    lib_sleep_ms(20);
    REQUIRE_EQ(raw_vk_timeline_value(&w->vk, out), 0);
    for (uint32_t i = 0; i <= ROUNDS; i++) {
        if (i == ROUNDS) CU_OK(cu->GraphLaunch(exec, plain));
        raw_vk_timeline_signal(&w->vk, in, i + 1);
        REQUIRE(raw_vk_timeline_wait(&w->vk, out, 2 * i + 2, TEST_FAR_MS));
        /* The signal comes behind the copy. */
        CU_OK(cu->MemcpyDtoHAsync(&seen[i], list + i * sizeof(uint32_t), 4, reader));
        lib_finish(w, reader);
        REQUIRE_EQ(seen[i], i);
    }
    lib_finish(w, plain);
    CU_OK(cu->MemcpyDtoHAsync(seen, list, sizeof seen, plain));
    lib_finish(w, plain);
    for (uint32_t i = 0; i <= ROUNDS; i++)
        REQUIRE_EQ(seen[i], i);
    LIB_OK(culv_semaphore_destroy(&to_vulkan, &g.stream));
    LIB_OK(culv_semaphore_destroy(&to_cuda, &g.stream));
    CU_OK(cu->GraphExecDestroy(exec));
    CU_OK(cu->GraphDestroy(graph));
    CU_OK(cu->MemFree(list));
    CU_OK(cu->MemFree(value));
    CU_OK(cu->StreamDestroy(g.stream));
    CU_OK(g.destroy(g.context));
    lib_stream_destroy(w, reader);
    lib_stream_destroy(w, plain);
    lib_leave(w, before);
    lib_settle(w);
}
