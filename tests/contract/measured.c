/* SPDX-License-Identifier: MIT */
/* What the library rests on and the texts leave open: answers; asserted only what is needed. */
#define TEST_GROUP "measured."
#include "contract.h"

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

static const char *present(PFN_vkVoidFunction function)
{
    return function != NULL ? "not NULL" : "NULL";
}

/* A driver may answer with a function that must not be called: so an attachment cannot find out by
 * asking. */
TEST(procs_of_extensions_not_enabled)
{
    static const char *const names[] = {"vkGetMemoryFdKHR", "vkGetMemoryFdPropertiesKHR",
                                        "vkGetSemaphoreFdKHR", "vkImportSemaphoreFdKHR"};
    const raw_cuda *cu = raw_cuda_open();
    raw_vk vk;
    CUuuid uuid;
    CU_OK(cu->DeviceGetUuid(&uuid, 0));
    for (int enabled = 0; enabled < 2; enabled++) {
        raw_vk_open(&vk, &(raw_vk_options){.uuid = (const uint8_t *)uuid.bytes,
                                           .software = cu->software,
                                           .without_memory_fd = !enabled,
                                           .without_semaphore_fd = !enabled});
        for (size_t i = 0; i < COUNT_OF(names); i++) {
            PFN_vkVoidFunction function = vkGetDeviceProcAddr(vk.device, names[i]);
            ANSWER(answer_key("vkGetDeviceProcAddr: %s, extension %s", names[i],
                              enabled ? "enabled" : "not enabled"),
                   "%s", present(function));
            if (enabled) REQUIRE(function != NULL);
        }
        ANSWER(answer_key("vkGetInstanceProcAddr: vkGetMemoryFdKHR, extension %s",
                          enabled ? "enabled" : "not enabled"),
               "%s", present(vkGetInstanceProcAddr(vk.instance, "vkGetMemoryFdKHR")));
        raw_vk_close(&vk);
    }
}

/* `current` is NULL where it depends on the machine whether there is such a context. */
static void answer_calls(const pair *p, const shared_timeline *t, CUevent event, uint64_t value,
                         const char *current)
{
    static const char *const calls[] = {"signal", "wait", "cuEventRecord", "cuStreamSynchronize",
                                        "cuEventQuery"};
    CUresult signal = raw_cuda_signal(p->cu, t->cu, value, p->stream);
    /* A value that nobody signals would be waited for without end; 0 was there from the start. */
    CUresult wait = raw_cuda_wait(p->cu, t->cu, signal == CUDA_SUCCESS ? value : 0, p->stream);
    CUresult record = p->cu->EventRecord(event, p->stream);
    CUresult synchronize = p->cu->StreamSynchronize(p->stream);
    const CUresult results[] = {signal, wait, record, synchronize, p->cu->EventQuery(event)};
    for (size_t i = 0; i < 5; i++) {
        if (current != NULL)
            answer_call(answer_key("%s current: %s", current, calls[i]), results[i]);
        /* The library makes no context current for a stream that it knows. */
        CU_IS(results[i], CUDA_SUCCESS);
    }
}

/* With an explicit stream: does signaling need that stream's context current, or any? */
PAIR_CASE(signal_without_the_context, .own = true)
{
    uint64_t value = 0;
    shared_timeline t = pair_timeline(p, 0);
    CUevent event = raw_cuda_event(p->cu, CU_EVENT_DISABLE_TIMING);
    answer_calls(p, &t, event, ++value, "its context");

    CU_OK(p->cu->CtxSetCurrent(NULL));
    answer_calls(p, &t, event, ++value, "no context");

    if (p->cu->device_count > 1) {
        CUcontext other = raw_cuda_context(p->cu, 1);
        REQUIRE(other != NULL);
        answer_calls(p, &t, event, ++value, NULL);
        CU_OK(p->cu->CtxSetCurrent(NULL));
        CU_OK(p->cu->DevicePrimaryCtxRelease(1));
    }
    CUcontext created = NULL;
    if (p->cu->CtxCreate(&created, 0, p->device) == CUDA_SUCCESS) {
        answer_calls(p, &t, event, ++value, "another context of the device");
        CU_OK(p->cu->CtxDestroy(created));
    }
    CU_OK(p->cu->CtxSetCurrent(p->context));
    CU_OK(p->cu->StreamSynchronize(p->stream));
}

static char logged[512];

static void CUDA_CB on_log(void *data, int level, char *message, size_t length)
{
    (void)data;
    size_t used = strlen(logged);
    snprintf(logged + used, sizeof logged - used, "[level %d] %.*s ", level, (int)length, message);
}

/* What the driver logged since the last time. */
static void answer_log(const char *step)
{
    for (char *c = logged; *c != '\0'; c++)
        if (*c == '\n') *c = ' ';
    for (size_t length = strlen(logged); length > 0 && logged[length - 1] == ' ';)
        logged[--length] = '\0';
    ANSWER(step, "%s", logged[0] != '\0' ? logged : "no text came");
    logged[0] = '\0';
}

PAIR_CASE(driver_logs, .own = true)
{
    CUexternalMemory memory = NULL;
    CUdeviceptr pointer = 0;
    void *callback = NULL;
    if (p->cu->LogsRegisterCallback == NULL || p->cu->LogsUnregisterCallback == NULL)
        SKIP("this driver has no cuLogsRegisterCallback");
    CUresult result = p->cu->LogsRegisterCallback(on_log, NULL, &callback);
    answer_call("cuLogsRegisterCallback", result);
    raw_vk_buffer vk = pair_vk_buffer(p, 1u << 20, RAW_VK_EXPORT);
    int fd = raw_vk_buffer_fd(&p->vk, &vk), null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    (void)raw_cuda_import_memory(p->cu, fd, 0, false, &memory);
    answer_log("import, size 0");
    (void)raw_cuda_import_memory(p->cu, null_fd, 1u << 20, false, &memory);
    answer_log("import, /dev/null");
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc;
    memset(&desc, 0, sizeof desc);
    desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    desc.handle.fd = null_fd;
    desc.size = 4096;
    desc.flags = 0x80000000u;
    (void)p->cu->ImportExternalMemory(&memory, &desc);
    answer_log("import, bad flags");
    REQUIRE(memory == NULL);
    memory = raw_cuda_imported(p->cu, fd, vk.allocation_size, false);
    (void)raw_cuda_map_buffer(p->cu, memory, 65536, vk.allocation_size, &pointer);
    answer_log("map past the end");
    (void)raw_cuda_map_buffer(p->cu, memory, 0, 0, &pointer);
    answer_log("map size 0");
    if (result == CUDA_SUCCESS) CU_OK(p->cu->LogsUnregisterCallback(callback));
    close(null_fd);
}

/* Do the CUDA objects live on when Vulkan's are gone first? */
PAIR_CASE(cuda_outlives_vulkan, .own = true)
{
    shared_buffer b;
    shared_timeline t;
    uint32_t word = 0;
    shared_buffer_open(p, 1u << 20, 0, false, &b);
    shared_timeline_open(p, 0, &t);
    raw_vk_fill(&p->vk, &b.vk, 0, 1u << 20, 0x77777777u, NULL);
    raw_vk_buffer_destroy(&p->vk, &b.vk);
    raw_vk_timeline_destroy(&p->vk, t.vk);
    CUresult result = p->cu->MemcpyDtoH(&word, b.pointer, sizeof word);
    answer_with("a copy from the memory", result, "data %s",
                word == 0x77777777u ? "right" : "wrong");
    result = raw_cuda_signal(p->cu, t.cu, 4, p->stream);
    CUresult wait = raw_cuda_wait(p->cu, t.cu, result == CUDA_SUCCESS ? 4 : 0, p->stream);
    CUresult synchronize = stream_result(p, patience(p, 3000));
    answer_call("a signal of the timeline", result);
    answer_call("a wait for the timeline", wait);
    answer_call("the stream then", synchronize);
    if (synchronize != CUDA_SUCCESS) test_pass(); /* nothing more can be done with it */
    CU_OK(p->cu->DestroyExternalSemaphore(t.cu));
    CU_OK(p->cu->MemFree(b.pointer));
    CU_OK(p->cu->DestroyExternalMemory(b.memory));
}

/* The mapping freed after the memory it was made from, as a careless program would. */
PAIR_CASE(memory_destroyed_before_its_mapping, .own = true)
{
    shared_buffer b;
    shared_buffer_open(p, 1u << 20, 0, false, &b);
    size_t before = test_open_fds();
    CU_OK(p->cu->DestroyExternalMemory(b.memory));
    ANSWER("fds closed by cuDestroyExternalMemory", "%ld", (long)before - (long)test_open_fds());
    answer_call("then a write to the mapping", p->cu->MemsetD32Async(b.pointer, 5, 16, p->stream));
    answer_call("and its end", p->cu->StreamSynchronize(p->stream));
    answer_call("then cuMemFree", p->cu->MemFree(b.pointer));
    test_pass(); /* the context may be broken now */
}

/* Whether a stream that waits for a timeline sees what another stream of the same context wrote
 * before it signaled. On an H200 that other processes used at the same time, the signal overtook
 * the memset, which the driver writes inline: a copy on the device behind the wait read what was
 * there before in 320 of 400 frames, a copy to the host in a few; CUDA to Vulkan, a million frames
 * in the same company, none was wrong. Told of NVIDIA's driver, required of the twin. Behind a word
 * that the stream writes before the signal none is wrong, nor behind an event. */
enum { FRAMES = 400, SLOTS = 4, WORDS = 256 };

typedef struct lane {
    pair p;
    CUstream reader;
    shared_timeline ready, done;
    CUevent written, read;
    CUdeviceptr data[SLOTS], between;
    uint32_t *log; /* pinned: first and last word of each frame */
} lane;

static void lane_open(lane *l)
{
    memset(l, 0, sizeof *l);
    pair_open(&l->p);
    const raw_cuda *cu = l->p.cu;
    l->ready = pair_timeline(&l->p, 0);
    l->done = pair_timeline(&l->p, 0);
    l->reader = raw_cuda_stream(cu);
    l->written = raw_cuda_event(cu, CU_EVENT_DISABLE_TIMING);
    l->read = raw_cuda_event(cu, CU_EVENT_DISABLE_TIMING);
    for (int i = 0; i < SLOTS; i++)
        l->data[i] = raw_cuda_memory(cu, WORDS * 4);
    l->between = raw_cuda_memory(cu, WORDS * 4 + 8); /* and the word */
    CU_OK(cu->MemHostAlloc((void **)&l->log, FRAMES * 2 * sizeof *l->log, 0));
}

static void lane_close(lane *l)
{
    CU_OK(l->p.cu->MemFreeHost(l->log));
    pair_close(&l->p);
}

typedef enum sync_by { BY_TIMELINE, BY_EVENT, BY_BOTH, BY_WORD } sync_by;
typedef enum read_by { BY_WORDS, BY_COPY } read_by;

static void pass_on(lane *l, sync_by by, bool forth, CUstream from, CUstream to, uint64_t value)
{
    const raw_cuda *cu = l->p.cu;
    if (by != BY_EVENT) {
        CUexternalSemaphore line = forth ? l->ready.cu : l->done.cu;
        if (by == BY_WORD)
            CU_OK(cu->StreamWriteValue64(from, l->between + WORDS * 4, 1,
                                         CU_STREAM_WRITE_VALUE_DEFAULT));
        CU_OK(raw_cuda_signal(cu, line, value, from));
        CU_OK(raw_cuda_wait(cu, line, value, to));
    }
    if (by == BY_EVENT || by == BY_BOTH) {
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
    if (by == BY_EVENT || by == BY_WORD) /* the others' answers change from run to run, on a GPU */
        ANSWER(answer_key("frames wrong by %s", what), "%u of %d", wrong, FRAMES);
    else
        MEASURED("between_streams", "%s: %u of %d frames wrong, of %u the first word alone", what,
                 wrong, FRAMES, first_only);
    if (cu->software || by == BY_EVENT) REQUIRE_EQ(wrong, 0);
}

TEST_ON(lane, l, lane_open(l), lane_close(l), between_streams, .mark = TEST_TWIN_STRICTER,
        .reason = "reported: the twin has no other processes on its device")
{
    carry(l, BY_TIMELINE, BY_WORDS, "a timeline of Vulkan's, words copied to the host");
    carry(l, BY_TIMELINE, BY_COPY, "a timeline of Vulkan's, copied on the device first");
    carry(l, BY_EVENT, BY_WORDS, "an event, words copied to the host");
    carry(l, BY_BOTH, BY_WORDS, "both, words copied to the host");
    carry(l, BY_WORD, BY_WORDS, "a timeline behind a word, words copied to the host");
    carry(l, BY_WORD, BY_COPY, "a timeline behind a word, copied on the device first");
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
    const raw_cuda *cu = p->cu;
    CUmodule modules[3];
    for (int i = 0; i < 3; i++)
        modules[i] = raw_cuda_module(cu, "pattern");
    const CUfunction loaded = raw_cuda_function(cu, modules[0], "pattern_write");
    CUstream held = raw_cuda_stream(cu);
    const CUdeviceptr data = raw_cuda_memory(cu, 4096);
    shared_timeline gate = pair_timeline(p, 0);
    for (uint64_t turn = 1; turn <= 3; turn++) {
        CU_OK(raw_cuda_wait(cu, gate.cu, turn, held));
        CU_OK(words_launch(cu, turn == 3 ? not_loaded(cu, modules[2]) : loaded, data, 1, 1, held));
        CU_OK(words_launch(cu, turn == 2 ? not_loaded(cu, modules[1]) : loaded, data + 2048, 1, 1,
                           p->stream));
        answer_call(answer_key("a kernel beside one that waits, %s", how[turn - 1]),
                    stream_result(p, patience(p, 700)));
        raw_vk_timeline_signal(&p->vk, gate.vk, turn);
        CU_OK(cu->StreamSynchronize(held));
        CU_OK(cu->StreamSynchronize(p->stream));
    }
}

/* A context with a part of the multiprocessors. External semaphores are not for its streams. */
PAIR_CASE(green_contexts, .mark = TEST_BOTH, .own = true)
{
#define GET(name, version)                                                                         \
    PFN_cu##name##_v##version name;                                                                \
    raw_cuda_find(p->cu, "cu" #name, version, &name)
    GET(DeviceGetDevResource, 12040);
    GET(DevSmResourceSplitByCount, 12040);
    GET(DevResourceGenerateDesc, 12040);
    GET(GreenCtxCreate, 12040);
    GET(GreenCtxDestroy, 12040);
    GET(CtxFromGreenCtx, 12040);
    GET(GreenCtxStreamCreate, 12050);
    GET(StreamGetCtx, 9020);
    CUdevResource all, part;
    CUdevResourceDesc desc;
    CUgreenCtx green;
    CUcontext as_context, of_stream;
    CUstream stream, made;
    unsigned groups = 1;
    shared_timeline t = pair_timeline(p, 0);
    CUevent event = raw_cuda_event(p->cu, CU_EVENT_DISABLE_TIMING);
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
    CU_OK(p->cu->StreamDestroy(stream));
    CU_OK(GreenCtxDestroy(green));
}

/* Whether the drivers themselves grow when an object is made and destroyed over and over, by plain
 * calls: what the library's own endurance test has to be compared with. --raw-turns=N says how
 * often. */
enum { SIZE = 1 << 20 };

/* Outlives the turns. */
typedef struct lasting {
    pair p;
    raw_vk_buffer memory;
    shared_timeline shared;
    uint64_t value; /* last signaled of `shared` */
} lasting;

static void memory_of(lasting *l, raw_vk_buffer *vk, bool mapped)
{
    CUexternalMemory memory = NULL;
    CUdeviceptr pointer = 0;
    CU_OK(raw_cuda_import_memory(l->p.cu, raw_vk_buffer_fd(&l->p.vk, vk), vk->allocation_size,
                                 false, &memory));
    if (mapped) CU_OK(raw_cuda_map_buffer(l->p.cu, memory, 0, SIZE, &pointer));
    if (mapped) CU_OK(l->p.cu->MemFree(pointer));
    CU_OK(l->p.cu->DestroyExternalMemory(memory));
}

static void own_memory(lasting *l)
{
    raw_vk_buffer own;
    raw_vk_buffer_create(&l->p.vk, SIZE, RAW_VK_EXPORT | RAW_VK_DEDICATED, &own);
    memory_of(l, &own, true);
    raw_vk_buffer_destroy(&l->p.vk, &own);
}

static void signal_and_wait_by(lasting *l, CUexternalSemaphore semaphore)
{
    CU_OK(raw_cuda_signal(l->p.cu, semaphore, ++l->value, l->p.stream));
    CU_OK(raw_cuda_wait(l->p.cu, semaphore, l->value, l->p.stream));
    CU_OK(l->p.cu->StreamSynchronize(l->p.stream));
}

static void timeline_of(lasting *l, bool used)
{
    CUexternalSemaphore semaphore = NULL;
    const int fd = raw_vk_semaphore_fd(&l->p.vk, l->shared.vk);
    CU_OK(raw_cuda_import_timeline(l->p.cu, fd, &semaphore));
    if (used) signal_and_wait_by(l, semaphore);
    CU_OK(l->p.cu->DestroyExternalSemaphore(semaphore));
}

static void own_semaphore(lasting *l, bool binary)
{
    shared_timeline timeline;
    shared_binary two_states;
    if (binary) {
        shared_binary_open(&l->p, &two_states);
        shared_binary_close(&l->p, &two_states);
    } else {
        shared_timeline_open(&l->p, 0, &timeline);
        shared_timeline_close(&l->p, &timeline);
    }
}

static void own_event(lasting *l)
{
    CUevent event = NULL;
    CU_OK(l->p.cu->EventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CU_OK(l->p.cu->EventRecord(event, l->p.stream));
    CU_OK(l->p.cu->EventSynchronize(event));
    CU_OK(l->p.cu->EventDestroy(event));
}

typedef struct level {
    double resident, heap; /* bytes */
} level;

static level measure(void)
{
    unsigned long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    REQUIRE(file != NULL && fscanf(file, "%lu %lu", &pages, &resident) == 2);
    fclose(file);
    struct mallinfo2 heap = mallinfo2();
    return (level){(double)resident * (double)sysconf(_SC_PAGESIZE), (double)heap.uordblks};
}

static void many_turns(const char *name, void (*turn)(lasting *))
{
    static lasting l;
    long turns = strtol(test_option("raw-turns", "2000"), NULL, 10);
    level levels[3];
    size_t fds = 0;
    REQUIRE(turns >= 100);
    pair_open(&l.p);
    raw_vk_buffer_create(&l.p.vk, SIZE, RAW_VK_EXPORT, &l.memory);
    shared_timeline_open(&l.p, 0, &l.shared);
    for (long i = 0; i < turns / 10; i++) /* caches fill */
        turn(&l);
    levels[0] = measure();
    fds = test_open_fds();
    for (int half = 1; half <= 2; half++) {
        for (long i = 0; i < turns / 2; i++)
            turn(&l);
        levels[half] = measure();
    }
    double each = (double)(turns / 2);
    MEASURED("raw_endurance",
             "%s: %ld turns, resident bytes a turn %.0f in the first half, %.0f in the second; "
             "heap in use %.0f and %.0f",
             name, turns, (levels[1].resident - levels[0].resident) / each,
             (levels[2].resident - levels[1].resident) / each,
             (levels[1].heap - levels[0].heap) / each, (levels[2].heap - levels[1].heap) / each);
    ANSWER("fds more after the turns", "%ld", (long)test_open_fds() - (long)fds);
    shared_timeline_close(&l.p, &l.shared);
    raw_vk_buffer_destroy(&l.p.vk, &l.memory);
    pair_close(&l.p);
}

/* One process each, so that none is measured in the memory that another left. */
#define MANY(name, turn)                                                                           \
    static void name(lasting *l)                                                                   \
    {                                                                                              \
        turn;                                                                                      \
    }                                                                                              \
    TEST_AS(many_##name, many_turns(#name, name), .title = "measured.endurance_" #name,            \
            .time_limit = 300)
MANY(memory_exported, close(raw_vk_buffer_fd(&l->p.vk, &l->memory)))
MANY(memory_imported, memory_of(l, &l->memory, false))
MANY(memory_mapped, memory_of(l, &l->memory, true))
MANY(memory_allocated_and_mapped, own_memory(l))
MANY(timeline_exported, close(raw_vk_semaphore_fd(&l->p.vk, l->shared.vk)))
MANY(timeline_imported, timeline_of(l, false))
MANY(timeline_used, timeline_of(l, true))
MANY(timeline_created_and_imported, own_semaphore(l, false))
MANY(binary_created_and_imported, own_semaphore(l, true))
MANY(event_recorded, own_event(l))
MANY(signal_and_wait, signal_and_wait_by(l, l->shared.cu))
