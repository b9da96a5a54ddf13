/* Timelines: both directions, order, values, streams, threads. SPDX-License-Identifier: MIT */
#include "bad_handles.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void finish(const lib_world *w, CUstream stream)
{
    const raw_cuda *cu = w->cu;
    CUcontext before = lib_enter(w);
    CU_OK(cu->StreamSynchronize(stream));
    lib_leave(w, before);
}

static CUresult query(const lib_world *w, CUstream stream)
{
    CUcontext before = lib_enter(w);
    CUresult r = w->cu->StreamQuery(stream);
    lib_leave(w, before);
    return r;
}

static void cuda_to_vulkan(void)
{
    lib_world w;
    lib_open(&w);
    VkSemaphore timeline = raw_vk_timeline(&w.vk, 0, true);
    culv_semaphore *semaphore = lib_import_timeline(&w, timeline);
    CUstream stream = lib_stream(&w);
    REQUIRE_EQ(culv_semaphore_last_value(semaphore), 0);
    LIB_OK(culv_semaphore_signal(semaphore, stream, 5));
    REQUIRE_EQ(culv_semaphore_last_value(semaphore), 5);
    REQUIRE(raw_vk_timeline_wait(&w.vk, timeline, 5, 10000));
    REQUIRE_EQ(raw_vk_timeline_value(&w.vk, timeline), 5);
    LIB_OK(culv_semaphore_signal(semaphore, stream, UINT64_C(0x123456789a)));
    REQUIRE(raw_vk_timeline_wait(&w.vk, timeline, UINT64_C(0x123456789a), 10000));
    finish(&w, stream);
    culv_semaphore_destroy(&semaphore);
    REQUIRE(semaphore == NULL);
    culv_semaphore_destroy(&semaphore);
    lib_stream_destroy(&w, stream);
    raw_vk_timeline_destroy(&w.vk, timeline);
    lib_close(&w);
}

/* The wait comes before the signal, which is the host's, then a queue's. */
static void vulkan_to_cuda(void)
{
    lib_world w;
    lib_open(&w);
    VkSemaphore timeline = raw_vk_timeline(&w.vk, 0, true);
    culv_semaphore *semaphore = lib_import_timeline(&w, timeline);
    CUstream stream = lib_stream(&w);
    LIB_OK(culv_semaphore_wait(semaphore, stream, 3));
    lib_sleep_ms(30);
    REQUIRE_EQ(query(&w, stream), CUDA_ERROR_NOT_READY);
    raw_vk_timeline_signal(&w.vk, timeline, 2);
    lib_sleep_ms(30);
    REQUIRE_EQ(query(&w, stream), CUDA_ERROR_NOT_READY);
    raw_vk_timeline_signal(&w.vk, timeline, 3);
    finish(&w, stream);
    LIB_OK(culv_semaphore_wait(semaphore, stream, 3)); /* reached already */
    LIB_OK(culv_semaphore_wait(semaphore, stream, 1));
    LIB_OK(culv_semaphore_wait(semaphore, stream, 0));
    finish(&w, stream);
    LIB_OK(culv_semaphore_wait(semaphore, stream, 10));
    VkCommandBuffer commands = raw_vk_begin(&w.vk, 0);
    raw_vk_submit(&w.vk, commands, &(raw_vk_job){.signal = timeline, .signal_value = 10});
    finish(&w, stream);
    culv_semaphore_destroy_after(&semaphore, stream);
    lib_settle(&w);
    lib_stream_destroy(&w, stream);
    raw_vk_timeline_destroy(&w.vk, timeline);
    lib_close(&w);
}

/* A thousand turns, all on the GPU's side: CUDA writes word r and signals; Vulkan waits, copies it to its log
 * and writes an answer; CUDA waits and copies the answer to its own. No data may be late or lost. */
static void round_trips(void)
{
    enum { ROUNDS = 1000, BATCH = 100 };
    lib_world w;
    lib_open(&w);
    const raw_cuda *cu = w.cu;
    raw_vk_buffer shared, log;
    raw_vk_buffer_create(&w.vk, 4096, RAW_VK_EXPORT, &shared);
    raw_vk_buffer_create(&w.vk, ROUNDS * 4, RAW_VK_HOST, &log);
    VkSemaphore a = raw_vk_timeline(&w.vk, 0, true), b = raw_vk_timeline(&w.vk, 0, true);
    culv_memory *memory = lib_import(&w, &shared);
    culv_buffer *buffer = NULL;
    LIB_OK(culv_buffer_map(memory, NULL, &buffer));
    culv_semaphore *to_vulkan = lib_import_timeline(&w, a), *to_cuda = lib_import_timeline(&w, b);
    CUstream stream = lib_stream(&w);
    CUdeviceptr p = culv_buffer_pointer(buffer) + shared.offset, answers = 0;
    static uint32_t answered[ROUNDS];
    CUcontext before = lib_enter(&w);
    CU_OK(cu->MemAlloc(&answers, ROUNDS * 4));
    double start = test_now_us();
    for (uint32_t r = 1; r <= ROUNDS; r++) {
        CU_OK(cu->MemsetD32Async(p, r * 2654435761u, 1, stream));
        LIB_OK(culv_semaphore_signal(to_vulkan, stream, r));

        uint32_t queue = r % w.vk.queue_count;
        VkCommandBuffer commands = raw_vk_begin(&w.vk, queue);
        const VkBufferCopy copy = {.dstOffset = (r - 1) * 4, .size = 4};
        raw_vk_acquire(&w.vk, commands, queue, &shared);
        vkCmdCopyBuffer(commands, shared.buffer, log.buffer, 1, &copy);
        vkCmdFillBuffer(commands, shared.buffer, 4, 4, r ^ 0xffff0000u);
        raw_vk_release(&w.vk, commands, queue, &shared);
        raw_vk_submit(
            &w.vk, commands,
            &(raw_vk_job){
                .queue = queue, .wait = a, .wait_value = r, .signal = b, .signal_value = r, .pending = true});

        LIB_OK(culv_semaphore_wait(to_cuda, stream, r));
        CU_OK(cu->MemcpyDtoDAsync(answers + (r - 1) * 4, p + 4, 4, stream));
        if (r % BATCH == 0) raw_vk_idle(&w.vk);
    }
    CU_OK(cu->StreamSynchronize(stream));
    MEASURED("library.round_trip_us", "%.1f", (test_now_us() - start) / ROUNDS);
    CU_OK(cu->MemcpyDtoH(answered, answers, sizeof answered));
    CU_OK(cu->MemFree(answers));
    lib_leave(&w, before);
    const uint32_t *logged = log.mapped;
    for (uint32_t r = 1; r <= ROUNDS; r++) {
        REQUIRE_EQ(logged[r - 1], r * 2654435761u);
        REQUIRE_EQ(answered[r - 1], r ^ 0xffff0000u);
    }
    REQUIRE_EQ(raw_vk_timeline_value(&w.vk, a), ROUNDS);
    culv_semaphore_destroy(&to_vulkan);
    culv_semaphore_destroy(&to_cuda);
    culv_buffer_unmap(&buffer);
    culv_memory_destroy(&memory);
    lib_settle(&w);
    lib_stream_destroy(&w, stream);
    raw_vk_timeline_destroy(&w.vk, a);
    raw_vk_timeline_destroy(&w.vk, b);
    raw_vk_buffer_destroy(&w.vk, &log);
    raw_vk_buffer_destroy(&w.vk, &shared);
    lib_close(&w);
}

/* Values --------------------------------------------------------------------------------------------------
 */

#define BACKWARDS(value)                                                                                     \
    LIB_ERROR(culv_semaphore_signal(semaphore, stream, (value)), CULV_ERROR_INVALID,                         \
              CULV_REASON_TIMELINE_BACKWARDS)

static void values_go_up(void)
{
    lib_world w;
    lib_open(&w);
    VkSemaphore timeline = raw_vk_timeline(&w.vk, 7, true);
    culv_semaphore *semaphore = lib_import_timeline(&w, timeline);
    CUstream stream = lib_stream(&w);
    REQUIRE_EQ(culv_semaphore_last_value(semaphore), 7); /* the counter, as it was found */
    BACKWARDS(0);
    BACKWARDS(6);
    BACKWARDS(7);
    LIB_SAYS("7");
    LIB_OK(culv_semaphore_signal(semaphore, stream, 8));
    BACKWARDS(8);
    culv_semaphore_note_value(semaphore, 20); /* promised by somebody else */
    REQUIRE_EQ(culv_semaphore_last_value(semaphore), 20);
    BACKWARDS(9);
    BACKWARDS(20);
    culv_semaphore_note_value(semaphore, 10); /* known better */
    REQUIRE_EQ(culv_semaphore_last_value(semaphore), 20);
    LIB_OK(culv_semaphore_signal(semaphore, stream, 21));
    finish(&w, stream);
    REQUIRE_EQ(raw_vk_timeline_value(&w.vk, timeline), 21); /* none of the refused ones reached it */
    culv_semaphore_destroy(&semaphore);

    semaphore = lib_import_timeline(&w, timeline);
    REQUIRE_EQ(culv_semaphore_last_value(semaphore), 21);
    culv_semaphore_destroy(&semaphore);

    culv_semaphore_desc d = culv_semaphore_desc_init();
    d.type = CULV_SEMAPHORE_TIMELINE;
    d.value = 30; /* the raw road: what the caller says */
    d.handle = culv_handle_opaque_fd(raw_vk_timeline_fd(&w.vk, timeline));
    LIB_OK(culv_semaphore_import_take(w.device, &d, &semaphore));
    REQUIRE_EQ(culv_semaphore_last_value(semaphore), 30);
    BACKWARDS(30);
    LIB_OK(culv_semaphore_signal(semaphore, stream, 31));
    BACKWARDS(UINT64_C(31));
    finish(&w, stream);
    REQUIRE_EQ(raw_vk_timeline_value(&w.vk, timeline), 31);
    culv_semaphore_destroy(&semaphore);
    lib_settle(&w);
    lib_stream_destroy(&w, stream);
    raw_vk_timeline_destroy(&w.vk, timeline);
    lib_close(&w);
}

/* Streams -------------------------------------------------------------------------------------------------
 */

/* A timeline for each direction: validation takes one that CUDA signals for pending, and warns of the host's
 * signal. */
static void default_streams(void)
{
    lib_world w;
    lib_open(&w);
    VkSemaphore out = raw_vk_timeline(&w.vk, 0, true), in = raw_vk_timeline(&w.vk, 0, true);
    culv_semaphore *to_vulkan = lib_import_timeline(&w, out), *to_cuda = lib_import_timeline(&w, in);
    CUstream streams[] = {NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD};
    for (uint64_t i = 0; i < 3; i++) {
        LIB_OK(culv_semaphore_signal(to_vulkan, streams[i], 2 * i + 1));
        REQUIRE(raw_vk_timeline_wait(&w.vk, out, 2 * i + 1, 10000));
        LIB_OK(culv_semaphore_wait(to_cuda, streams[i], i + 1));
        LIB_OK(culv_semaphore_signal(to_vulkan, streams[i], 2 * i + 2));
        lib_sleep_ms(20);
        REQUIRE_EQ(raw_vk_timeline_value(&w.vk, out), 2 * i + 1); /* the stream waits */
        raw_vk_timeline_signal(&w.vk, in, i + 1);
        REQUIRE(raw_vk_timeline_wait(&w.vk, out, 2 * i + 2, 10000));
    }
    finish(&w, NULL);
    culv_semaphore_destroy_after(&to_vulkan, CU_STREAM_PER_THREAD);
    culv_semaphore_destroy_after(&to_cuda, NULL);
    lib_settle(&w);
    raw_vk_timeline_destroy(&w.vk, out);
    raw_vk_timeline_destroy(&w.vk, in);
    lib_close(&w);
}

/* A stream of another context is refused, of the same device (whose driver would refuse it: measured) or another. */
static void streams_of_other_contexts(void)
{
    lib_with_environment("CULVERT_SOFT_DEVICES", "2");
    lib_world w;
    lib_open(&w);
    const raw_cuda *cu = w.cu;
    VkSemaphore timeline = raw_vk_timeline(&w.vk, 0, true);
    culv_semaphore *semaphore = lib_import_timeline(&w, timeline);
    CUcontext context = NULL, popped = NULL;
    CUstream stream = NULL;
    REQUIRE(cu->CtxCreate != NULL);
    CU_OK(cu->CtxCreate(&context, 0, 0));
    CU_OK(cu->StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU_OK(cu->CtxPopCurrent(&popped));
    LIB_ERROR(culv_semaphore_signal(semaphore, stream, 1), CULV_ERROR_INVALID, CULV_REASON_STREAM_DEVICE);
    LIB_SAYS("context");
    LIB_OK(culv_semaphore_signal(semaphore, NULL, 1));
    REQUIRE(raw_vk_timeline_wait(&w.vk, timeline, 1, 10000));
    CU_OK(cu->CtxPushCurrent(context));
    CU_OK(cu->StreamDestroy(stream));
    CU_OK(cu->CtxDestroy(context));
    culv_semaphore_destroy(&semaphore);
    lib_settle(&w);

    if (cu->device_count > 1) {
        semaphore = lib_import_timeline(&w, timeline);
        CU_OK(cu->DevicePrimaryCtxRetain(&context, 1));
        CU_OK(cu->CtxPushCurrent(context));
        CU_OK(cu->StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        CU_OK(cu->CtxPopCurrent(&popped));
        for (int i = 0; i < 2; i++) {
            LIB_ERROR(culv_semaphore_signal(semaphore, stream, 2), CULV_ERROR_INVALID,
                      CULV_REASON_STREAM_DEVICE);
            LIB_SAYS("device 1");
            LIB_ERROR(culv_semaphore_wait(semaphore, stream, 1), CULV_ERROR_INVALID,
                      CULV_REASON_STREAM_DEVICE);
        }
        REQUIRE_EQ(culv_semaphore_last_value(semaphore), 1); /* a refused signal promises nothing */
        CU_OK(cu->CtxGetCurrent(&popped));
        REQUIRE(popped == NULL);
        CU_OK(cu->CtxPushCurrent(context));
        CU_OK(cu->StreamDestroy(stream));
        CU_OK(cu->CtxPopCurrent(&popped));
        CU_OK(cu->DevicePrimaryCtxRelease(1));
        LIB_OK(culv_semaphore_signal(semaphore, NULL, 2));
        finish(&w, NULL);
        culv_semaphore_destroy(&semaphore);
        lib_settle(&w);
    } else {
        printf("one device only: streams of another were not tried\n");
    }
    raw_vk_timeline_destroy(&w.vk, timeline);
    lib_close(&w);
}

/* Wrong imports -------------------------------------------------------------------------------------------
 */

typedef culv_result (*import_fn)(culv_device *, const culv_semaphore_desc *, culv_semaphore **);
static const import_fn imports[] = {culv_semaphore_import_take, culv_semaphore_import_borrow};

static void wrong_fds(void)
{
    lib_world w;
    lib_open(&w);
    bad_handle handles[BAD_HANDLES];
    bad_handles_open(handles, 65536);
    size_t fds = test_open_fds();
    for (int i = 0; i < BAD_HANDLES; i++) {
        for (int k = 0; k < 2; k++) {
            culv_semaphore *semaphore = NULL;
            culv_semaphore_desc d = culv_semaphore_desc_init();
            lib_fd fd = {0};
            printf("%s\n", handles[i].name);
            d.handle = culv_handle_opaque_fd(handles[i].fd);
            d.type = CULV_SEMAPHORE_TIMELINE;
            if (i >= 2) fd = lib_fd_watch(handles[i].fd);
            LIB_REFUSES(culv_semaphore, semaphore, imports[k](w.device, &d, &semaphore), handles[i].result,
                        handles[i].reason);
            if (i < 2) continue;
            lib_fd_require_untouched(&fd);
            lib_fd_done(&fd, false);
        }
    }
    REQUIRE_EQ(test_open_fds(), fds);
    bad_handles_close(handles);
    lib_close(&w);
}

static void wrong_descriptors(void)
{
    lib_world w;
    lib_open(&w);
    VkSemaphore timeline = raw_vk_timeline(&w.vk, 0, true);
    lib_fd fd = lib_fd_watch(raw_vk_timeline_fd(&w.vk, timeline));
    culv_semaphore_desc right = culv_semaphore_desc_init();
    right.type = CULV_SEMAPHORE_TIMELINE;
    right.handle = culv_handle_opaque_fd(fd.fd);
    memcpy(right.exporter.bytes, w.vk.id.deviceUUID, 16);
    for (int k = 0; k < 2; k++) {
        culv_semaphore *semaphore = NULL;
        static const int types[] = {CULV_SEMAPHORE_NONE, 2, -1};
        culv_semaphore_desc d = right;
        for (int i = 0; i < 3; i++) {
            d.type = (culv_semaphore_type)types[i];
            LIB_REFUSES(culv_semaphore, semaphore, imports[k](w.device, &d, &semaphore), CULV_ERROR_INVALID,
                        CULV_REASON_VALUE);
        }
        d = right;
        d.handle.type = CULV_HANDLE_OPAQUE_WIN32;
        LIB_REFUSES(culv_semaphore, semaphore, imports[k](w.device, &d, &semaphore), CULV_ERROR_UNSUPPORTED,
                    CULV_REASON_HANDLE_TYPE);
        d.handle.type = CULV_HANDLE_NONE;
        LIB_REFUSES(culv_semaphore, semaphore, imports[k](w.device, &d, &semaphore), CULV_ERROR_INVALID,
                    CULV_REASON_HANDLE_TYPE);
        d = right;
        d.exporter.bytes[0] ^= 0x80;
        LIB_REFUSES(culv_semaphore, semaphore, imports[k](w.device, &d, &semaphore), CULV_ERROR_INVALID,
                    CULV_REASON_DEVICE_MISMATCH);
        LIB_REFUSES(culv_semaphore, semaphore, imports[k](w.device, NULL, &semaphore), CULV_ERROR_INVALID,
                    CULV_REASON_NULL_ARGUMENT);
        LIB_ERROR(imports[k](w.device, &right, NULL), CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT);
        lib_fd_require_untouched(&fd);
    }
    /* Right at last: borrowed, then taken. */
    culv_semaphore *borrowed = NULL, *taken = NULL;
    LIB_OK(culv_semaphore_import_borrow(w.device, &right, &borrowed));
    lib_fd_require_untouched(&fd);
    LIB_OK(culv_semaphore_import_take(w.device, &right, &taken));
    lib_fd_require_gone(&fd);
    lib_fd_done(&fd, false);
    LIB_OK(culv_semaphore_signal(taken, NULL, 1));
    LIB_OK(culv_semaphore_wait(borrowed, NULL, 1));
    finish(&w, NULL);
    REQUIRE_EQ(raw_vk_timeline_value(&w.vk, timeline), 1);
    culv_semaphore_destroy(&borrowed);
    culv_semaphore_destroy(&taken);
    raw_vk_timeline_destroy(&w.vk, timeline);
    lib_close(&w);
}

static void vulkan_road(void)
{
    lib_world w;
    lib_open(&w);
    VkSemaphore timeline = raw_vk_timeline(&w.vk, 0, true);
    culv_semaphore *semaphore = NULL;
    culv_vk_semaphore_desc d = culv_vk_semaphore_desc_init();
    d.type = CULV_SEMAPHORE_TIMELINE;
    LIB_REFUSES(culv_semaphore, semaphore, culv_vk_semaphore_import(w.attachment, &d, &semaphore),
                CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT);
    d.semaphore = timeline;
    d.type = CULV_SEMAPHORE_NONE; /* what a binary one would be called */
    LIB_REFUSES(culv_semaphore, semaphore, culv_vk_semaphore_import(w.attachment, &d, &semaphore),
                CULV_ERROR_INVALID, CULV_REASON_VALUE);
    d.type = CULV_SEMAPHORE_TIMELINE;
    static const struct {
        VkResult vulkan;
        culv_result result;
        culv_reason reason;
    } rows[] = {{VK_SUCCESS, CULV_ERROR_INVALID, CULV_REASON_NOT_EXPORTABLE},
                {VK_ERROR_OUT_OF_HOST_MEMORY, CULV_ERROR_OUT_OF_MEMORY, CULV_REASON_HOST_MEMORY},
                {VK_ERROR_DEVICE_LOST, CULV_ERROR_ASYNC, CULV_REASON_DEVICE_LOST}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        culv_vk *lying = NULL;
        culv_vk_desc vd = lib_vk_desc(&w);
        lib_lying = (lib_lies){.semaphore_fd_fails = true, .semaphore_fd_result = rows[i].vulkan};
        vd.get_instance_proc_addr = lib_lying_loader;
        LIB_OK(culv_vk_attach(w.device, &vd, &lying));
        LIB_REFUSES(culv_semaphore, semaphore, culv_vk_semaphore_import(lying, &d, &semaphore),
                    rows[i].result, rows[i].reason);
        culv_vk_detach(&lying);
    }
    raw_vk_timeline_destroy(&w.vk, timeline);
    lib_close(&w);
}

/* Threads -------------------------------------------------------------------------------------------------
 */

enum { SIGNALS = 500 };

typedef struct player {
    const lib_world *w;
    culv_semaphore *mine, *theirs;
    CUstream stream;
} player;

/* Two streams of two threads hand the turn to each other through two timelines. */
static void *play(void *user)
{
    player *p = user;
    for (uint64_t i = 1; i <= SIGNALS; i++) {
        LIB_OK(culv_semaphore_signal(p->mine, p->stream, i));
        LIB_OK(culv_semaphore_wait(p->theirs, p->stream, i));
        culv_semaphore_note_value(p->mine, i);
    }
    finish(p->w, p->stream);
    return NULL;
}

static void threads(void)
{
    lib_world w;
    lib_open(&w);
    VkSemaphore timelines[2];
    culv_semaphore *mine[2], *theirs[2];
    CUstream streams[2];
    player players[2];
    pthread_t ids[2];
    for (int i = 0; i < 2; i++) {
        timelines[i] = raw_vk_timeline(&w.vk, 0, true);
        mine[i] = lib_import_timeline(&w, timelines[i]);
        theirs[i] = lib_import_timeline(&w, timelines[i]); /* an object is used by one thread at a time */
        streams[i] = lib_stream(&w);
    }
    for (int i = 0; i < 2; i++) {
        players[i] = (player){&w, mine[i], theirs[1 - i], streams[i]};
        REQUIRE_EQ(pthread_create(&ids[i], NULL, play, &players[i]), 0);
    }
    for (int i = 0; i < 2; i++)
        REQUIRE_EQ(pthread_join(ids[i], NULL), 0);
    for (int i = 0; i < 2; i++) {
        REQUIRE_EQ(raw_vk_timeline_value(&w.vk, timelines[i]), SIGNALS);
        culv_semaphore_destroy(&mine[i]);
        culv_semaphore_destroy(&theirs[i]);
        lib_settle(&w);
        lib_stream_destroy(&w, streams[i]);
        raw_vk_timeline_destroy(&w.vk, timelines[i]);
    }
    lib_close(&w);
}

static const test_case cases[] = {
    {.name = "signal.cuda_to_vulkan", .run = cuda_to_vulkan},
    {.name = "wait.vulkan_to_cuda", .run = vulkan_to_cuda},
    {.name = "round_trips", .run = round_trips},
    {.name = "values.go_up", .run = values_go_up},
    {.name = "streams.default", .run = default_streams},
    {.name = "streams.of_other_contexts", .run = streams_of_other_contexts},
    {.name = "errors.wrong_fds", .run = wrong_fds},
    {.name = "errors.wrong_descriptors", .run = wrong_descriptors},
    {.name = "errors.vulkan_road", .run = vulkan_road},
    {.name = "threads", .run = threads},
    {.name = NULL},
};
TEST_SUITE(cases);
