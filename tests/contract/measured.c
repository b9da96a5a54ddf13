/* SPDX-License-Identifier: MIT */
/* What the library rests on and the texts leave open: answers; asserted only what is needed. */
#define TEST_GROUP "measured."
#include "contract.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
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
    if (p->cu->GreenCtxStreamCreate == NULL) SKIP("the driver has no green contexts");
    CUdevResource all, part;
    CUdevResourceDesc desc;
    CUgreenCtx green;
    CUcontext as_context, of_stream;
    CUstream stream, made;
    unsigned groups = 1;
    shared_timeline t = pair_timeline(p, 0);
    CUevent event = raw_cuda_event(p->cu, CU_EVENT_DISABLE_TIMING);
    CU_OK(p->cu->DeviceGetDevResource(p->device, &all, CU_DEV_RESOURCE_TYPE_SM));
    CU_OK(
        p->cu->DevSmResourceSplitByCount(&part, &groups, &all, NULL, 0, all.sm.minSmPartitionSize));
    CU_OK(p->cu->DevResourceGenerateDesc(&desc, &part, 1));
    CU_OK(p->cu->GreenCtxCreate(&green, desc, p->device, CU_GREEN_CTX_DEFAULT_STREAM));
    CU_OK(p->cu->GreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0));
    CU_OK(p->cu->CtxFromGreenCtx(&as_context, green));
    answer_call("a signal in its stream", raw_cuda_signal(p->cu, t.cu, 1, stream));
    answer_call("a wait in its stream", raw_cuda_wait(p->cu, t.cu, 0, stream));
    CU_OK(p->cu->StreamGetCtx(stream, &of_stream));
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
    CU_OK(p->cu->GreenCtxDestroy(green));
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

/* Which calls break somebody's stream capture: each one during a capture in global, thread-local
 * and relaxed mode, from the capturing thread and from another one, with and without exchanging the
 * calling thread's mode for relaxed. What was measured on NVIDIA's driver 580 is required of both
 * drivers, the rest is answered. */

/* Everything that an operation needs, until test_settle(); what it consumes is forgotten. */
typedef struct capture_objects {
    pair *p;
    raw_vk_buffer vk;
    VkSemaphore vk_timeline;
    int memory_fd, timeline_fd;
    CUexternalMemory unmapped, imported;
    CUdeviceptr pointer, allocated, own;
    CUexternalSemaphore semaphore, imported_semaphore;
    CUevent event, created;
    shared_image image;
    CUmipmappedArray mapped, created_mipmap; /* more mappings of the image */
    CUarray level;
    CUsurfObject surface, created_surface;
    CUtexObject texture, created_texture;
    CUarray array, created_array;
    void *pages, *registered; /* of the host's; `registered` is with CUDA */
    bool registers;           /* and `pages` is now */
    CUstream other;
    uint64_t value; /* signaled last */
    CUdeviceptr reserved;
    CUmemGenericAllocationHandle physical;
    CUgraph graph;
    CUgraphExec exec, created_exec;
} capture_objects;

enum { PAGES_SIZE = 65536 };

/* An operation that is one call, and what has become of what it took once that has succeeded. */
#define OP(name, call)                                                                             \
    static CUresult op_##name(capture_objects *o)                                                  \
    {                                                                                              \
        return call;                                                                               \
    }
#define OP_ENDS(name, call, thing) OP_THEN(name, call, test_forget(&(thing), sizeof(thing)))
#define OP_THEN(name, call, then)                                                                  \
    static CUresult op_##name(capture_objects *o)                                                  \
    {                                                                                              \
        const CUresult result = call;                                                              \
        if (result == CUDA_SUCCESS) then;                                                          \
        return result;                                                                             \
    }

static CUresult op_none(capture_objects *o)
{
    return CUDA_SUCCESS;
}

OP(ctx_record_event, o->p->cu->CtxRecordEvent(o->p->context, o->event))
OP(event_create, o->p->cu->EventCreate(&o->created, CU_EVENT_DISABLE_TIMING))
OP(event_query, o->p->cu->EventQuery(o->event))
OP_ENDS(event_destroy, o->p->cu->EventDestroy(o->event), o->event)
OP_THEN(import_memory,
        raw_cuda_import_memory(o->p->cu, o->memory_fd, o->vk.allocation_size, false, &o->imported),
        o->memory_fd = -1)

static CUresult op_map_buffer(capture_objects *o)
{
    CUdeviceptr second = 0;
    CUresult result = raw_cuda_map_buffer(o->p->cu, o->unmapped, 0, 65536, &second);
    if (result == CUDA_SUCCESS) o->allocated = second; /* freed the same way */
    return result;
}

OP_ENDS(free_mapping, o->p->cu->MemFree(o->pointer), o->pointer)
OP_ENDS(free, o->p->cu->MemFree(o->own), o->own)

static void CUDA_CB do_nothing(void *user) {}

/* The graph that is being captured keeps what belongs to the program. */
static CUresult op_retain(capture_objects *o)
{
    const raw_cuda *cu = o->p->cu;
    CUstreamCaptureStatus status;
    cuuint64_t id = 0;
    CUgraph graph = NULL;
    CUuserObject object = NULL;
    CUresult result =
        cu->UserObjectCreate(&object, NULL, do_nothing, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    if (result == CUDA_SUCCESS)
        result = cu->StreamGetCaptureInfo(o->p->stream, &status, &id, &graph, NULL, NULL);
    return result == CUDA_SUCCESS
               ? cu->GraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE)
               : result;
}

OP_ENDS(destroy_memory, o->p->cu->DestroyExternalMemory(o->unmapped), o->unmapped)
OP_THEN(import_semaphore,
        raw_cuda_import_timeline(o->p->cu, o->timeline_fd, &o->imported_semaphore),
        o->timeline_fd = -1)
OP_THEN(destroy_semaphore, o->p->cu->DestroyExternalSemaphore(o->semaphore), o->semaphore = NULL)
OP(mem_alloc, o->p->cu->MemAlloc(&o->allocated, 65536))
OP(legacy_stream_query, o->p->cu->StreamQuery(NULL))

static CUresult op_pointer_attribute(capture_objects *o)
{
    unsigned long long id = 0;
    return o->p->cu->PointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, o->pointer);
}

static CUresult op_map_image(capture_objects *o)
{
    const CUDA_ARRAY3D_DESCRIPTOR desc = image_cuda_desc(o->image.format, &o->image.vk);
    return raw_cuda_map_image(o->p->cu, o->image.memory, 0, &desc, 1, &o->created_mipmap);
}

OP(get_level, o->p->cu->MipmappedArrayGetLevel(&o->level, o->image.mipmap, 0))
OP(create_surface, raw_cuda_surface(o->p->cu, o->level, &o->created_surface))
OP_ENDS(destroy_surface, o->p->cu->SurfObjectDestroy(o->surface), o->surface)
OP_ENDS(destroy_mipmap, o->p->cu->MipmappedArrayDestroy(o->mapped), o->mapped)
OP(create_texture, raw_cuda_texture(o->p->cu, o->level, NULL, &o->created_texture))
OP_ENDS(destroy_texture, o->p->cu->TexObjectDestroy(o->texture), o->texture)

static CUresult op_create_array(capture_objects *o)
{
    const CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(CU_AD_FORMAT_FLOAT, 1, 64, 64);
    return o->p->cu->Array3DCreate(&o->created_array, &desc);
}

OP_ENDS(destroy_array, o->p->cu->ArrayDestroy(o->array), o->array)
OP_THEN(register, o->p->cu->MemHostRegister(o->pages, PAGES_SIZE, CU_MEMHOSTREGISTER_DEVICEMAP),
        o->registers = true)

static CUresult op_unregister(capture_objects *o)
{
    CUresult result = o->p->cu->MemHostUnregister(o->registered);
    if (result == CUDA_SUCCESS) {
        free(o->registered);
        o->registered = NULL;
    }
    return result;
}

OP(stream_query, o->p->cu->StreamQuery(o->other))
OP(stream_synchronize, o->p->cu->StreamSynchronize(o->other))
OP(event_synchronize, o->p->cu->EventSynchronize(o->event))
OP(event_record, o->p->cu->EventRecord(o->event, o->other))
OP(context_synchronize, o->p->cu->CtxSynchronize())

static CUresult op_stream_create(capture_objects *o)
{
    CUstream stream = NULL;
    CUresult result = o->p->cu->StreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    return result == CUDA_SUCCESS ? o->p->cu->StreamDestroy(stream) : result;
}

static CUresult op_copy(capture_objects *o)
{
    uint32_t word = 1;
    return o->p->cu->MemcpyHtoD(o->pointer, &word, sizeof word);
}

OP(legacy_set, o->p->cu->MemsetD32Async(o->pointer, 1, 1, NULL))
OP(set_elsewhere, o->p->cu->MemsetD32Async(o->pointer, 1, 1, o->other))
OP(signal_elsewhere, raw_cuda_signal(o->p->cu, o->semaphore, ++o->value, o->other))

static CUresult op_load_module(capture_objects *o)
{
    char path[TEST_PATH_MAX];
    CUmodule module = NULL;
    CUresult result = o->p->cu->ModuleLoad(
        &module, test_path(path, o->p->cu->software ? "share/culvert/pattern.soft.so"
                                                    : "share/culvert/pattern.fatbin"));
    return result == CUDA_SUCCESS ? o->p->cu->ModuleUnload(module) : result;
}

static CUresult op_graph(capture_objects *o)
{
    const raw_cuda *cu = o->p->cu;
    CUgraph graph = NULL;
    CUgraphExec exec = NULL;
    CUDA_GRAPH_INSTANTIATE_PARAMS how;
    memset(&how, 0, sizeof how);
    CUresult result = cu->GraphCreate(&graph, 0);
    if (result == CUDA_SUCCESS) result = cu->GraphInstantiateWithParams(&exec, graph, &how);
    if (result == CUDA_SUCCESS) result = cu->GraphLaunch(exec, o->other);
    if (exec != NULL) CU_OK(cu->GraphExecDestroy(exec));
    if (graph != NULL) CU_OK(cu->GraphDestroy(graph));
    return result;
}

static CUresult op_instantiate(capture_objects *o)
{
    CUDA_GRAPH_INSTANTIATE_PARAMS how;
    memset(&how, 0, sizeof how);
    return o->p->cu->GraphInstantiateWithParams(&o->created_exec, o->graph, &how);
}

OP(launch, o->p->cu->GraphLaunch(o->exec, o->other))

static CUresult op_create_physical(capture_objects *o)
{
    const CUmemAllocationProp prop = raw_cuda_memory_prop(o->p->device, 0);
    CUmemGenericAllocationHandle handle;
    CUresult result = o->p->cu->MemCreate(&handle, VMM_SIZE, &prop, 0);
    return result == CUDA_SUCCESS ? o->p->cu->MemRelease(handle) : result;
}

static CUresult op_map_physical(capture_objects *o)
{
    const raw_cuda *cu = o->p->cu;
    CUresult result = cu->MemMap(o->reserved, VMM_SIZE, 0, o->physical, 0);
    if (result != CUDA_SUCCESS) return result;
    result = vmm_allow(o->p, o->reserved, VMM_SIZE);
    CUresult unmapped = cu->MemUnmap(o->reserved, VMM_SIZE);
    return result == CUDA_SUCCESS ? unmapped : result;
}

/* What was measured: the call breaks no capture; those that forbid the calling thread what a
 * capture cannot see; all of them. */
typedef enum expectation { OPEN, HARMLESS, UNSAFE, ALWAYS } expectation;

static const struct {
    const char *name;
    CUresult (*run)(capture_objects *o);
    expectation expected;
} operations[] = {
    {"nothing", op_none, HARMLESS},
    {"cuCtxRecordEvent", op_ctx_record_event, ALWAYS},
    {"cuEventCreate", op_event_create, HARMLESS},
    {"cuEventQuery", op_event_query, UNSAFE},
    {"cuEventDestroy", op_event_destroy, HARMLESS},
    {"cuImportExternalMemory", op_import_memory, UNSAFE},
    {"cuExternalMemoryGetMappedBuffer", op_map_buffer, HARMLESS},
    {"cuMemFree_of_mapping", op_free_mapping, UNSAFE},
    {"cuDestroyExternalMemory", op_destroy_memory, UNSAFE},
    {"cuImportExternalSemaphore", op_import_semaphore, UNSAFE},
    {"cuDestroyExternalSemaphore", op_destroy_semaphore, UNSAFE},
    {"cuMemAlloc", op_mem_alloc, UNSAFE},
    {"cuStreamQuery_legacy", op_legacy_stream_query, UNSAFE},
    {"cuPointerGetAttribute", op_pointer_attribute, HARMLESS},
    {"cuExternalMemoryGetMappedMipmappedArray", op_map_image, HARMLESS},
    {"cuMipmappedArrayGetLevel", op_get_level, HARMLESS},
    {"cuSurfObjectCreate", op_create_surface, UNSAFE},
    {"cuSurfObjectDestroy", op_destroy_surface, UNSAFE},
    {"cuMipmappedArrayDestroy", op_destroy_mipmap, UNSAFE},
    {"cuTexObjectCreate", op_create_texture, UNSAFE},
    {"cuTexObjectDestroy", op_destroy_texture, UNSAFE},
    {"cuArray3DCreate", op_create_array, UNSAFE},
    {"cuArrayDestroy", op_destroy_array, UNSAFE},
    {"cuMemHostRegister", op_register, UNSAFE},
    {"cuMemHostUnregister", op_unregister, UNSAFE},
    {"cuStreamQuery", op_stream_query, UNSAFE},
    {"cuStreamSynchronize", op_stream_synchronize, UNSAFE},
    {"cuEventSynchronize", op_event_synchronize, UNSAFE},
    {"cuEventRecord_elsewhere", op_event_record, HARMLESS},
    {"cuCtxSynchronize", op_context_synchronize, ALWAYS},
    {"cuStreamCreate", op_stream_create, HARMLESS},
    {"cuMemcpyHtoD", op_copy, HARMLESS},
    {"cuMemsetD32Async_legacy", op_legacy_set, HARMLESS},
    {"cuMemsetD32Async_elsewhere", op_set_elsewhere, HARMLESS},
    {"cuSignalExternalSemaphoresAsync_elsewhere", op_signal_elsewhere, HARMLESS},
    {"cuModuleLoad", op_load_module, UNSAFE},
    {"cuGraphLaunch_elsewhere", op_graph, UNSAFE},
    {"cuGraphInstantiateWithParams", op_instantiate, OPEN},
    {"cuGraphLaunch_alone", op_launch, OPEN},
    {"cuMemFree", op_free, UNSAFE},
    {"cuGraphRetainUserObject", op_retain, HARMLESS},
    {"cuMemCreate", op_create_physical, HARMLESS},
    {"cuMemMap_cuMemSetAccess_cuMemUnmap", op_map_physical, HARMLESS},
};

typedef struct attempt {
    capture_objects *objects;
    CUresult (*run)(capture_objects *o);
    bool relax;
    CUresult result, exchange;
} attempt;

static void make_attempt(attempt *a)
{
    const raw_cuda *cu = a->objects->p->cu;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    if (a->relax) a->exchange = cu->ThreadExchangeStreamCaptureMode(&mode);
    a->result = a->run(a->objects);
    if (a->relax && a->exchange == CUDA_SUCCESS)
        a->exchange = cu->ThreadExchangeStreamCaptureMode(&mode);
}

static void *attempt_on_thread(void *argument)
{
    attempt *a = argument;
    CU_OK(a->objects->p->cu->CtxSetCurrent(a->objects->p->context));
    make_attempt(a);
    return NULL;
}

static void prepare(pair *p, capture_objects *o)
{
    const raw_cuda *cu = p->cu;
    const CUDA_ARRAY3D_DESCRIPTOR own = raw_cuda_array_desc(CU_AD_FORMAT_FLOAT, 1, 64, 64);
    memset(o, 0, sizeof *o);
    o->p = p;
    o->vk = pair_vk_buffer(p, 65536, RAW_VK_EXPORT);
    o->vk_timeline = raw_vk_timeline(&p->vk, 0, true);
    o->memory_fd = raw_vk_buffer_fd(&p->vk, &o->vk);
    o->timeline_fd = raw_vk_timeline_fd(&p->vk, o->vk_timeline);
    const uint64_t size = o->vk.allocation_size;
    CUexternalMemory memory = raw_cuda_imported(cu, raw_vk_buffer_fd(&p->vk, &o->vk), size, false);
    o->unmapped = raw_cuda_imported(cu, raw_vk_buffer_fd(&p->vk, &o->vk), size, false);
    o->pointer = raw_cuda_mapped(cu, memory, 0, 65536);
    CU_OK(raw_cuda_import_timeline(cu, raw_vk_timeline_fd(&p->vk, o->vk_timeline), &o->semaphore));
    o->event = raw_cuda_event(cu, CU_EVENT_DISABLE_TIMING);
    o->own = raw_cuda_memory(cu, 1);
    o->image = pair_image(p, &image_formats[IMAGE_RGBA8], 64, 64, 1, 0);
    const CUDA_ARRAY3D_DESCRIPTOR desc = image_cuda_desc(o->image.format, &o->image.vk);
    o->mapped = raw_cuda_mapped_image(cu, o->image.memory, 0, &desc, 1);
    o->level = image_level(p, o->image.mipmap, 0);
    o->surface = raw_cuda_surface_of(cu, o->level);
    o->texture = raw_cuda_texture_of(cu, o->level, NULL);
    o->array = raw_cuda_array(cu, &own);
    o->reserved = pair_range(p, VMM_SIZE);
    o->physical = pair_handle(p, VMM_SIZE, 0);
    o->other = raw_cuda_stream(cu); /* ends first */
    CU_OK(cu->GraphCreate(&o->graph, 0));
    CU_OK(op_instantiate(o));
    o->exec = o->created_exec;
    o->created_exec = NULL;
    o->pages = aligned_alloc(PAGES_SIZE, PAGES_SIZE);
    o->registered = aligned_alloc(PAGES_SIZE, PAGES_SIZE);
    REQUIRE(o->pages != NULL && o->registered != NULL);
    CU_OK(cu->MemHostRegister(o->registered, PAGES_SIZE, CU_MEMHOSTREGISTER_DEVICEMAP));
}

/* What operations made, and what has no helper. */
static void clean_up(capture_objects *o)
{
    const raw_cuda *cu = o->p->cu;
    CU_OK(cu->StreamSynchronize(o->other));
    (void)cu->MemUnmap(o->reserved, VMM_SIZE); /* in case that it was refused */
    if (o->created_exec != NULL) CU_OK(cu->GraphExecDestroy(o->created_exec));
    CU_OK(cu->GraphExecDestroy(o->exec));
    CU_OK(cu->GraphDestroy(o->graph));
    if (o->registers) CU_OK(cu->MemHostUnregister(o->pages));
    if (o->registered != NULL) CU_OK(cu->MemHostUnregister(o->registered));
    free(o->pages);
    free(o->registered);
    if (o->created_array != NULL) CU_OK(cu->ArrayDestroy(o->created_array));
    if (o->created_texture != 0) CU_OK(cu->TexObjectDestroy(o->created_texture));
    if (o->created_surface != 0) CU_OK(cu->SurfObjectDestroy(o->created_surface));
    if (o->created_mipmap != NULL) CU_OK(cu->MipmappedArrayDestroy(o->created_mipmap));
    if (o->allocated != 0) CU_OK(cu->MemFree(o->allocated));
    if (o->imported != NULL) CU_OK(cu->DestroyExternalMemory(o->imported));
    if (o->imported_semaphore != NULL) CU_OK(cu->DestroyExternalSemaphore(o->imported_semaphore));
    if (o->semaphore != NULL) CU_OK(cu->DestroyExternalSemaphore(o->semaphore));
    if (o->created != NULL) CU_OK(cu->EventDestroy(o->created));
    /* A refused import may have closed the fd; nothing else opened a file since. */
    if (o->memory_fd >= 0 && fd_open(o->memory_fd)) close(o->memory_fd);
    if (o->timeline_fd >= 0 && fd_open(o->timeline_fd)) close(o->timeline_fd);
    raw_vk_timeline_destroy(&o->p->vk, o->vk_timeline);
    test_settle(); /* which ends the pair's stream, too */
    o->p->stream = raw_cuda_stream(cu);
}

enum { OUTCOME_SIZE = 128 };

/* Says in `out` what the call returned, and the capture's end where either is an error. */
static void try_one(pair *p, size_t operation, CUstreamCaptureMode mode, bool other_thread,
                    bool relax, char out[OUTCOME_SIZE])
{
    capture_objects objects;
    CUgraph graph = NULL;
    prepare(p, &objects);
    attempt a = {.objects = &objects, .run = operations[operation].run, .relax = relax};
    CU_OK(p->cu->StreamBeginCapture(p->stream, mode));
    if (other_thread) {
        pthread_t thread;
        REQUIRE(pthread_create(&thread, NULL, attempt_on_thread, &a) == 0);
        REQUIRE(pthread_join(thread, NULL) == 0);
    } else {
        make_attempt(&a);
    }
    CUresult end = p->cu->StreamEndCapture(p->stream, &graph);
    if (a.result == CUDA_SUCCESS && end == CUDA_SUCCESS)
        snprintf(out, OUTCOME_SIZE, "harmless");
    else
        snprintf(out, OUTCOME_SIZE, "%s, capture %s", raw_cuda_result_name(a.result),
                 raw_cuda_result_name(end));
    if (end == CUDA_SUCCESS && graph != NULL) CU_OK(p->cu->GraphDestroy(graph));
    const expectation expected = operations[operation].expected;
    const bool forbids = !relax && mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
                         !(other_thread && mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
               breaks = expected == ALWAYS || (expected == UNSAFE && forbids);
    if (expected != OPEN) {
        CU_IS(a.result, breaks ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS);
        CU_IS(end, breaks ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS);
    }
    if (relax) CU_IS(a.exchange, CUDA_SUCCESS);
    clean_up(&objects);
}

static void answer_outcomes(const char *call, const char *mode, char outcomes[4][OUTCOME_SIZE])
{
    const char *key = answer_key("%s, %s capture", call, mode);
    for (int i = 1; i < 4; i++)
        if (strcmp(outcomes[i], outcomes[0]) != 0) {
            ANSWER(key,
                   "same thread: %s; same thread, relaxed: %s; other thread: %s; "
                   "other thread, relaxed: %s",
                   outcomes[0], outcomes[1], outcomes[2], outcomes[3]);
            return;
        }
    ANSWER(key, "%s", outcomes[0]);
}

PAIR_CASE(calls_during_capture, .mark = TEST_BOTH, .time_limit = 300)
{
    static const struct {
        CUstreamCaptureMode mode;
        const char *name;
    } modes[] = {{CU_STREAM_CAPTURE_MODE_GLOBAL, "global"},
                 {CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, "thread-local"},
                 {CU_STREAM_CAPTURE_MODE_RELAXED, "relaxed"}};
    if (p->cu->CtxRecordEvent == NULL) SKIP("this driver has no cuCtxRecordEvent");
    for (size_t operation = 0; operation < COUNT_OF(operations); operation++)
        for (size_t m = 0; m < 3; m++) {
            char outcomes[4][OUTCOME_SIZE];
            for (int i = 0; i < 4; i++)
                try_one(p, operation, modes[m].mode, i / 2 == 1, i % 2 == 1, outcomes[i]);
            if (operations[operation].expected == OPEN)
                answer_outcomes(operations[operation].name, modes[m].name, outcomes);
        }
}

/* What destroying does while work is pending, and after a sticky error: answered, asserted only
 * where the library needs it. */

#define DELAY_US LATE_SIGNAL_US

static void CUDA_CB sleep_on_stream(void *data)
{
    usleep(DELAY_US);
}

/* Memory of CUDA's own that the pending work never touches, of the smallest size too: its end waits
 * for all work of the context. */
PAIR_CASE(free_with_pending_work, .mark = TEST_BOTH)
{
    static const size_t sizes[] = {1, 65536, (size_t)4 << 20};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        CUdeviceptr kept = 0, freed = 0;
        CU_OK(p->cu->MemAlloc(&kept, sizes[i])); /* so that it is not the last one of its block */
        CU_OK(p->cu->MemAlloc(&freed, sizes[i]));
        CU_OK(p->cu->LaunchHostFunc(p->stream, sleep_on_stream, NULL));
        CU_OK(p->cu->MemFree(freed));
        answer_ok(answer_key("work after cuMemFree of %zu bytes", sizes[i]),
                  p->cu->StreamQuery(p->stream));
        CU_OK(p->cu->StreamSynchronize(p->stream));
        CU_OK(p->cu->MemFree(kept));
    }
}

/* The pair's stream waits for `t`, which the host signals a little later. */
static void wait_for_late(pair *p, const shared_timeline *t, late_signal *late)
{
    CU_OK(raw_cuda_wait(p->cu, t->cu, 1, p->stream));
    late_signal_start(late, &p->vk, t->vk, 1);
}

/* The pending work never touches the buffer that is freed. */
PAIR_CASE(free_of_a_mapping_with_pending_work, .own = true)
{
    shared_timeline t = pair_timeline(p, 0);
    for (int by_host_function = 0; by_host_function < 2; by_host_function++) {
        const char *work = by_host_function ? "a host function" : "a timeline wait";
        shared_buffer b;
        late_signal late;
        shared_buffer_open(p, 1u << 20, 0, false, &b);
        if (by_host_function)
            CU_OK(p->cu->LaunchHostFunc(p->stream, sleep_on_stream, NULL));
        else
            wait_for_late(p, &t, &late);
        answer_ok(answer_key("cuMemFree beside %s", work), p->cu->MemFree(b.pointer));
        CU_IS(p->cu->StreamQuery(p->stream), CUDA_SUCCESS); /* it waited for all of it */
        answer_call(answer_key("cuDestroyExternalMemory beside %s", work),
                    p->cu->DestroyExternalMemory(b.memory));
        if (!by_host_function) late_signal_join(&late);
        CU_OK(p->cu->StreamSynchronize(p->stream));
        raw_vk_buffer_destroy(&p->vk, &b.vk);
    }
}

PAIR_CASE(destroy_memory_with_pending_work, .own = true)
{
    CUexternalMemory memory;
    shared_timeline t = pair_timeline(p, 0);
    raw_vk_buffer vk = pair_vk_buffer(p, 1u << 20, RAW_VK_EXPORT);
    CU_OK(raw_cuda_import_memory(p->cu, raw_vk_buffer_fd(&p->vk, &vk), vk.allocation_size, false,
                                 &memory));
    late_signal late;
    wait_for_late(p, &t, &late);
    answer_ok("cuDestroyExternalMemory", p->cu->DestroyExternalMemory(memory));
    late_signal_join(&late);
    CU_OK(p->cu->StreamSynchronize(p->stream));
}

/* The guide forbids it (R1). What happens is for the library's documentation; nothing rests on
 * it. */
PAIR_CASE(destroy_semaphore_with_a_pending_wait, .own = true)
{
    shared_timeline t;
    shared_timeline_open(p, 0, &t);
    late_signal late;
    wait_for_late(p, &t, &late);
    answer_call("cuDestroyExternalSemaphore", p->cu->DestroyExternalSemaphore(t.cu));
    late_signal_join(&late);
    answer_call("the stream then", stream_result(p, patience(p, 3000)));
    test_pass(); /* the stream may never end */
}

/* Destroying waits for work that has nothing to do with what is destroyed. */
PAIR_CASE(destroy_idle_semaphore_beside_pending_work, .own = true)
{
    shared_timeline idle, busy = pair_timeline(p, 0);
    shared_timeline_open(p, 0, &idle);
    late_signal late;
    wait_for_late(p, &busy, &late);
    answer_ok("cuDestroyExternalSemaphore", p->cu->DestroyExternalSemaphore(idle.cu));
    CU_IS(p->cu->StreamQuery(p->stream), CUDA_SUCCESS);
    late_signal_join(&late);
    raw_vk_timeline_destroy(&p->vk, idle.vk);
}

typedef struct cuda_signal {
    pair *p;
    CUexternalSemaphore semaphore;
    VkSemaphore timeline;
    CUstream stream;
    atomic_bool entered, done, rescued;
    int waiter; /* the thread that gives back */
    CUresult result;
} cuda_signal;

static void *signal_late_by_cuda(void *argument)
{
    cuda_signal *s = argument;
    CU_OK(s->p->cu->CtxSetCurrent(s->p->context));
    while (!atomic_load(&s->entered)) /* on a busy machine the other thread may be late */
        usleep(1000);
    usleep(DELAY_US);
    if (s->p->cu->software) (void)test_asleep(0, s->waiter, 0); /* a real driver may spin */
    s->result = raw_cuda_signal(s->p->cu, s->semaphore, 2, s->stream);
    atomic_store(&s->done, true);
    return NULL;
}

/* Ends the wait from Vulkan's side where CUDA's own signal does not get through. */
static void *rescue(void *argument)
{
    cuda_signal *s = argument;
    while (!atomic_load(&s->entered))
        usleep(1000);
    usleep(20 * DELAY_US);
    if (!atomic_load(&s->done)) {
        atomic_store(&s->rescued, true);
        raw_vk_timeline_signal(&s->p->vk, s->timeline, 1);
    }
    return NULL;
}

/* A thread that waits inside cuMemFree keeps another thread from submitting what it waits for.
 * Whether cuDestroyExternalSemaphore does too was not measured; the twin does so. */
static void give_back_while_another_thread_signals(pair *p, bool a_semaphore)
{
    shared_buffer b;
    shared_timeline t = pair_timeline(p, 0), idle;
    pthread_t thread, rescuer;
    shared_timeline_open(p, 0, &idle);
    shared_buffer_open(p, 1u << 20, 0, false, &b);
    cuda_signal s = TEST_ROW(.p = p, .semaphore = t.cu, .timeline = t.vk,
                             .stream = raw_cuda_stream(p->cu), .waiter = (int)syscall(SYS_gettid));
    CU_OK(raw_cuda_wait(p->cu, t.cu, 1, p->stream));
    REQUIRE(pthread_create(&thread, NULL, signal_late_by_cuda, &s) == 0);
    REQUIRE(pthread_create(&rescuer, NULL, rescue, &s) == 0);
    atomic_store(&s.entered, true);
    const CUresult result =
        a_semaphore ? p->cu->DestroyExternalSemaphore(idle.cu) : p->cu->MemFree(b.pointer);
    REQUIRE(pthread_join(thread, NULL) == 0 && pthread_join(rescuer, NULL) == 0);
    answer_ok(a_semaphore ? "cuDestroyExternalSemaphore" : "cuMemFree", result);
    answer_ok("the other thread's signal", s.result);
    /* Not its own signal ended the wait. */
    if (!a_semaphore || p->cu->software) REQUIRE(atomic_load(&s.rescued));
    if (a_semaphore) {
        CU_OK(p->cu->MemFree(b.pointer));
        raw_vk_timeline_destroy(&p->vk, idle.vk);
    } else {
        shared_timeline_close(p, &idle);
    }
    CU_OK(p->cu->DestroyExternalMemory(b.memory));
    raw_vk_buffer_destroy(&p->vk, &b.vk);
}

PAIR_AS(free_while_another_thread_signals, give_back_while_another_thread_signals(p, false),
        .own = true)
PAIR_AS(destroy_semaphore_while_another_thread_signals,
        give_back_while_another_thread_signals(p, true), .mark = TEST_TWIN_STRICTER,
        .reason = "of NVIDIA's driver presumed, as cuMemFree holds the context, and reported",
        .own = true)

PAIR_CASE(destroy_event_and_stream_with_a_pending_wait, .own = true)
{
    late_signal late;
    CUevent event = NULL;
    CUstream stream = NULL; /* the pair's is destroyed with it */
    shared_timeline t = pair_timeline(p, 0);
    CU_OK(p->cu->StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU_OK(p->cu->EventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CU_OK(raw_cuda_wait(p->cu, t.cu, 1, stream));
    CU_OK(p->cu->EventRecord(event, stream));
    CU_IS(p->cu->EventQuery(event), CUDA_ERROR_NOT_READY);
    late_signal_start(&late, &p->vk, t.vk, 1);
    answer_ok("cuEventDestroy", p->cu->EventDestroy(event));
    answer_ok("cuStreamDestroy", p->cu->StreamDestroy(stream));
    late_signal_join(&late);
    answer_ok("cuCtxSynchronize, once the wait is over", p->cu->CtxSynchronize());
}

PAIR_CASE(ctx_record_event)
{
    if (p->cu->CtxRecordEvent == NULL) SKIP("this driver has no cuCtxRecordEvent");
    shared_timeline t = pair_timeline(p, 0);
    CUevent event = raw_cuda_event(p->cu, CU_EVENT_DISABLE_TIMING);
    CU_OK(raw_cuda_wait(p->cu, t.cu, 1, p->stream));
    answer_call("on the primary context", p->cu->CtxRecordEvent(p->context, event));
    answer_call("while a stream waits", p->cu->EventQuery(event));
    raw_vk_timeline_signal(&p->vk, t.vk, 1);
    CU_OK(p->cu->StreamSynchronize(p->stream));
    answer_call("after it", p->cu->EventSynchronize(event));
}

PAIR_CASE(after_a_sticky_error, .faults = true)
{
    shared_buffer b;
    shared_timeline t;
    CUevent event = NULL;
    /* A first import, so that what a driver keeps is counted. */
    shared_buffer_open(p, 1u << 20, 0, false, &b);
    shared_buffer_close(p, &b);
    shared_timeline_open(p, 0, &t);
    shared_timeline_close(p, &t);
    const size_t before = test_open_fds();

    shared_buffer_open(p, 1u << 20, 0, false, &b);
    shared_timeline_open(p, 0, &t);
    CU_OK(p->cu->EventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CUmodule module = raw_cuda_load(p->cu, "pattern");
    CUfunction write = raw_cuda_function(p->cu, module, "pattern_write");
    /* No program has a mapping there. */
    CU_OK(words_launch(p->cu, write, 0x1000, 64, 0, p->stream));
    const CUresult recorded =
        p->cu->EventRecord(event, p->stream); /* fails if the fault is known */
    REQUIRE(recorded == CUDA_SUCCESS || recorded == CUDA_ERROR_ILLEGAL_ADDRESS);
    answer_call("cuStreamSynchronize after the kernel", p->cu->StreamSynchronize(p->stream));
    uint32_t word = 0; /* it stays */
    answer_call("cuMemcpyDtoH of the mapping", p->cu->MemcpyDtoH(&word, b.pointer, sizeof word));
    answer_call("cuEventQuery", p->cu->EventQuery(event));
    answer_call("cuSignalExternalSemaphoresAsync", raw_cuda_signal(p->cu, t.cu, 1, p->stream));
    answer_call("cuEventDestroy", p->cu->EventDestroy(event));
    answer_call("cuMemFree of the mapping", p->cu->MemFree(b.pointer));
    answer_call("cuDestroyExternalMemory", p->cu->DestroyExternalMemory(b.memory));
    answer_call("cuDestroyExternalSemaphore", p->cu->DestroyExternalSemaphore(t.cu));
    answer_call("cuModuleUnload", p->cu->ModuleUnload(module));
    answer_call("cuStreamDestroy", p->cu->StreamDestroy(p->stream));
    answer_call("cuCtxSetCurrent(NULL)", p->cu->CtxSetCurrent(NULL));
    answer_call("cuDevicePrimaryCtxRelease", p->cu->DevicePrimaryCtxRelease(p->device));
    CUcontext again = NULL;
    answer_call("cuDevicePrimaryCtxRetain again", p->cu->DevicePrimaryCtxRetain(&again, p->device));
    raw_vk_timeline_destroy(&p->vk, t.vk);
    raw_vk_buffer_destroy(&p->vk, &b.vk);
    ANSWER("fds more than before the objects", "%s", test_open_fds() > before ? "some" : "none");
    if (p->cu->software) {
        REQUIRE_EQ(test_open_fds(), before);
        raw_cuda_require_empty(p->cu);
        raw_vk_close(&p->vk);
    }
    test_pass(); /* NVIDIA's driver is not to be used any further in this process */
}
