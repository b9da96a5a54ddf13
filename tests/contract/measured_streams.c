/* SPDX-License-Identifier: MIT */
/* Whether a stream that waits for a timeline sees what another stream of the same context wrote
 * before it signaled. On an H200 that other processes used at the same time, the first copy behind
 * such a wait now and then read what was there before, and the next one what is there now; CUDA to
 * Vulkan, a million frames in the same company, none was wrong. Told of NVIDIA's driver, required
 * of the twin; it says most where several processes run it at once. */
#define TEST_GROUP "measured."
#include "contract.h"

enum { FRAMES = 400, SLOTS = 4, WORDS = 256 };

typedef struct lane {
    pair p;
    CUstream reader;
    shared_timeline ready, done;
    CUevent written, read;
    CUdeviceptr data[SLOTS], between;
    uint32_t *log; /* pinned: first and last word of each frame */
} lane;

typedef enum sync_by { BY_TIMELINE, BY_EVENT, BY_BOTH } sync_by;
typedef enum read_by { BY_WORDS, BY_COPY } read_by;

static void pass_on(lane *l, sync_by by, bool forth, CUstream from, CUstream to, uint64_t value)
{
    const raw_cuda *cu = l->p.cu;
    if (by != BY_EVENT) {
        CUexternalSemaphore line = forth ? l->ready.cu : l->done.cu;
        CU_OK(raw_cuda_signal(cu, line, value, from));
        CU_OK(raw_cuda_wait(cu, line, value, to));
    }
    if (by != BY_TIMELINE) {
        CUevent event = forth ? l->written : l->read;
        CU_OK(cu->EventRecord(event, from));
        CU_OK(cu->StreamWaitEvent(to, event, 0));
    }
}

static void carry(lane *l, sync_by by, read_by how, const char *what)
{
    const raw_cuda *cu = l->p.cu;
    static uint64_t value; /* timelines only grow */
    unsigned wrong = 0, first_only = 0;
    memset(l->log, 0, FRAMES * 2 * sizeof *l->log);
    for (unsigned n = 0; n < FRAMES; n++) {
        const CUdeviceptr slot = l->data[n % SLOTS];
        CU_OK(cu->MemsetD32Async(slot, n + 1, WORDS, l->p.stream));
        pass_on(l, by, true, l->p.stream, l->reader, ++value);
        CUdeviceptr from = slot;
        if (how == BY_COPY) {
            from = l->between;
            CU_OK(cu->MemcpyDtoDAsync(from, slot, WORDS * 4, l->reader));
        }
        CU_OK(cu->MemcpyDtoHAsync(l->log + 2 * n, from, 4, l->reader));
        CU_OK(cu->MemcpyDtoHAsync(l->log + 2 * n + 1, from + (WORDS - 1) * 4, 4, l->reader));
        pass_on(l, by, false, l->reader, l->p.stream, value);
    }
    CU_OK(cu->StreamSynchronize(l->reader));
    CU_OK(cu->StreamSynchronize(l->p.stream));
    for (unsigned n = 0; n < FRAMES; n++) {
        const bool first = l->log[2 * n] == n + 1, last = l->log[2 * n + 1] == n + 1;
        wrong += !first || !last;
        first_only += !first && last;
    }
    if (by == BY_EVENT) /* the others' answers change from run to run, on a GPU */
        ANSWER(answer_key("frames wrong by %s", what), "%u of %d", wrong, FRAMES);
    else
        MEASURED("between_streams", "%s: %u of %d frames wrong, of %u the first word alone", what,
                 wrong, FRAMES, first_only);
    if (cu->software || by == BY_EVENT) REQUIRE_EQ(wrong, 0);
}

TEST(between_streams, .mark = TEST_TWIN_STRICTER,
     .reason = "reported: the twin has no other processes on its device")
{
    lane l;
    memset(&l, 0, sizeof l);
    pair_open(&l.p);
    const raw_cuda *cu = l.p.cu;
    shared_timeline_open(&l.p, 0, &l.ready);
    shared_timeline_open(&l.p, 0, &l.done);
    CU_OK(cu->StreamCreate(&l.reader, CU_STREAM_NON_BLOCKING));
    CU_OK(cu->EventCreate(&l.written, CU_EVENT_DISABLE_TIMING));
    CU_OK(cu->EventCreate(&l.read, CU_EVENT_DISABLE_TIMING));
    for (int i = 0; i < SLOTS; i++)
        CU_OK(cu->MemAlloc(&l.data[i], WORDS * 4));
    CU_OK(cu->MemAlloc(&l.between, WORDS * 4));
    CU_OK(cu->MemHostAlloc((void **)&l.log, FRAMES * 2 * sizeof *l.log, 0));

    carry(&l, BY_TIMELINE, BY_WORDS, "a timeline of Vulkan's, words copied to the host");
    carry(&l, BY_TIMELINE, BY_COPY, "a timeline of Vulkan's, copied on the device first");
    carry(&l, BY_EVENT, BY_WORDS, "an event, words copied to the host");
    carry(&l, BY_BOTH, BY_WORDS, "both, words copied to the host");

    CU_OK(cu->MemFreeHost(l.log));
    CU_OK(cu->MemFree(l.between));
    for (int i = 0; i < SLOTS; i++)
        CU_OK(cu->MemFree(l.data[i]));
    CU_OK(cu->EventDestroy(l.read));
    CU_OK(cu->EventDestroy(l.written));
    CU_OK(cu->StreamDestroy(l.reader));
    shared_timeline_close(&l.p, &l.done);
    shared_timeline_close(&l.p, &l.ready);
    pair_close(&l.p);
}

static CUfunction not_loaded(const raw_cuda *cu, CUmodule module)
{
    CUfunction function = NULL;
    CU_OK(cu->ModuleGetFunction(&function, module, "pattern_add"));
    return function;
}

/* A kernel stands behind a wait that is not over: what another stream's kernel does meanwhile.
 * Where the driver loads lazily, a first launch may wait for what is held (CUDA C++ Programming
 * Guide, "Lazy Loading"), unless cuFuncLoad was called before. */
PAIR_CASE(first_launches, .mark = TEST_NVIDIA_ONLY,
          .reason = "the twin loads a module's kernels with it", .faults = true)
{
    static const char *const how[] = {"both loaded", "it is first launched",
                                      "the one that waits is first launched"};
    shared_timeline gate;
    CUmodule modules[3];
    CUstream held = NULL;
    CUdeviceptr data = 0;
    const raw_cuda *cu = p->cu;
    for (int i = 0; i < 3; i++)
        modules[i] = raw_cuda_load(cu, "pattern");
    const CUfunction loaded = raw_cuda_function(cu, modules[0], "pattern_write");
    CU_OK(cu->StreamCreate(&held, CU_STREAM_NON_BLOCKING));
    CU_OK(cu->MemAlloc(&data, 4096));
    shared_timeline_open(p, 0, &gate);
    unsigned count = 1, seed = 1;
    CUdeviceptr second = data + 2048;
    void *one[] = {&data, &count, &seed}, *other[] = {&second, &count, &seed};
    for (uint64_t turn = 1; turn <= 3; turn++) {
        CU_OK(raw_cuda_wait(cu, gate.cu, turn, held));
        CU_OK(cu->LaunchKernel(turn == 3 ? not_loaded(cu, modules[2]) : loaded, 1, 1, 1, 64, 1, 1,
                               0, held, one, NULL));
        CU_OK(cu->LaunchKernel(turn == 2 ? not_loaded(cu, modules[1]) : loaded, 1, 1, 1, 64, 1, 1,
                               0, p->stream, other, NULL));
        answer_call(answer_key("a kernel beside one that waits, %s", how[turn - 1]),
                    stream_result(p, patience(p, 700)));
        raw_vk_timeline_signal(&p->vk, gate.vk, turn);
        CU_OK(cu->StreamSynchronize(held));
        CU_OK(cu->StreamSynchronize(p->stream));
    }
    shared_timeline_close(p, &gate);
    CU_OK(cu->MemFree(data));
    CU_OK(cu->StreamDestroy(held));
    for (int i = 0; i < 3; i++)
        CU_OK(cu->ModuleUnload(modules[i]));
}

/* A context with a part of the multiprocessors. External semaphores are not for its streams. */
PAIR_CASE(green_contexts, .mark = TEST_BOTH, .own = true)
{
#define GET(name, version)                                                                         \
    PFN_cu##name##_v##version name = NULL;                                                         \
    (void)p->cu->GetProcAddress("cu" #name, (void **)&name, version, 0, NULL);                     \
    if (name == NULL) SKIP("the driver has no cu%s", #name)
    GET(DeviceGetDevResource, 12040);
    GET(DevSmResourceSplitByCount, 12040);
    GET(DevResourceGenerateDesc, 12040);
    GET(GreenCtxCreate, 12040);
    GET(GreenCtxDestroy, 12040);
    GET(CtxFromGreenCtx, 12040);
    GET(GreenCtxStreamCreate, 12050);
    GET(StreamGetCtx, 9020);
    shared_timeline t;
    CUdevResource all, part;
    CUdevResourceDesc desc;
    CUgreenCtx green;
    CUcontext as_context, of_stream;
    CUstream stream, made;
    CUevent event;
    unsigned groups = 1;
    shared_timeline_open(p, 0, &t);
    CU_OK(p->cu->EventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CU_OK(DeviceGetDevResource(p->device, &all, CU_DEV_RESOURCE_TYPE_SM));
    CU_OK(DevSmResourceSplitByCount(&part, &groups, &all, NULL, 0, all.sm.minSmPartitionSize));
    CU_OK(DevResourceGenerateDesc(&desc, &part, 1));
    CU_OK(GreenCtxCreate(&green, desc, p->device, CU_GREEN_CTX_DEFAULT_STREAM));
    CU_OK(GreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0));
    CU_OK(CtxFromGreenCtx(&as_context, green));
    answer_call("a signal in its stream", raw_cuda_signal(p->cu, t.cu, 1, stream));
    answer_call("a wait in its stream", raw_cuda_wait(p->cu, t.cu, 0, stream));
    CU_OK(StreamGetCtx(stream, &of_stream));
    ANSWER("cuStreamGetCtx of its stream", "%s", of_stream == as_context ? "it" : "another one");
    CU_OK(p->cu->CtxSetCurrent(as_context));
    answer_call("it is current: a signal in a stream of the primary context",
                raw_cuda_signal(p->cu, t.cu, 1, p->stream));
    CU_OK(p->cu->StreamCreate(&made, CU_STREAM_NON_BLOCKING));
    answer_call("a signal in a stream of cuStreamCreate, made there",
                raw_cuda_signal(p->cu, t.cu, 2, made));
    CU_OK(p->cu->StreamDestroy(made));
    CU_OK(p->cu->CtxSetCurrent(p->context));
    CU_OK(p->cu->EventRecord(event, stream));
    CU_OK(p->cu->StreamWaitEvent(p->stream, event, 0));
    answer_call("a signal behind it, by an event", raw_cuda_signal(p->cu, t.cu, 3, p->stream));
    CU_OK(p->cu->StreamSynchronize(p->stream));
    CU_OK(p->cu->EventDestroy(event));
    CU_OK(p->cu->StreamDestroy(stream));
    CU_OK(GreenCtxDestroy(green));
    shared_timeline_close(p, &t);
}
