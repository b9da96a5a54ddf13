/* SPDX-License-Identifier: MIT */
/* Timelines: round trips, values, threads. */
#include "library.h"

#include <pthread.h>

/* A thousand turns, all on the GPU's side: CUDA writes word r and signals; Vulkan waits, copies it
 * to its log and writes an answer; CUDA waits and copies the answer to its own. No data may be late
 * or lost. */
LIB_CASE(round_trips, .smoke = true)
{
    enum { ROUNDS = 1000, BATCH = 100 };
    const raw_cuda *cu = w->cu;
    raw_vk_buffer shared, log;
    raw_vk_buffer_create(&w->vk, 4096, RAW_VK_EXPORT, &shared);
    raw_vk_buffer_create(&w->vk, ROUNDS * 4, RAW_VK_HOST, &log);
    VkSemaphore a = lib_case_timeline(w, 0), b = lib_case_timeline(w, 0);
    culv_memory *memory = lib_import(w, &shared);
    culv_buffer *buffer = NULL;
    LIB_OK(culv_buffer_map(memory, NULL, &buffer));
    culv_semaphore *to_vulkan = lib_import_timeline(w, a), *to_cuda = lib_import_timeline(w, b);
    CUstream stream = lib_case_stream(w);
    CUdeviceptr p = culv_buffer_pointer(buffer) + shared.offset, answers = 0;
    static uint32_t answered[ROUNDS];
    CUcontext before = lib_enter(w);
    CU_OK(cu->MemAlloc(&answers, ROUNDS * 4));
    double start = test_now_us();
    for (uint32_t r = 1; r <= ROUNDS; r++) {
        CU_OK(cu->MemsetD32Async(p, r * 2654435761u, 1, stream));
        LIB_OK(culv_semaphore_signal(to_vulkan, stream, r));

        uint32_t queue = r % w->vk.queue_count;
        VkCommandBuffer commands = raw_vk_begin(&w->vk, queue);
        const VkBufferCopy copy = {.dstOffset = (r - 1) * 4, .size = 4};
        raw_vk_acquire(&w->vk, commands, queue, &shared);
        vkCmdCopyBuffer(commands, shared.buffer, log.buffer, 1, &copy);
        vkCmdFillBuffer(commands, shared.buffer, 4, 4, r ^ 0xffff0000u);
        raw_vk_release(&w->vk, commands, queue, &shared);
        raw_vk_submit(&w->vk, commands,
                      &(raw_vk_job){.queue = queue,
                                    .wait = a,
                                    .wait_value = r,
                                    .signal = b,
                                    .signal_value = r,
                                    .pending = true});

        LIB_OK(culv_semaphore_wait(to_cuda, stream, r));
        CU_OK(cu->MemcpyDtoDAsync(answers + (r - 1) * 4, p + 4, 4, stream));
        if (r % BATCH == 0) raw_vk_idle(&w->vk);
    }
    CU_OK(cu->StreamSynchronize(stream));
    MEASURED("library.round_trip_us", "%.1f", (test_now_us() - start) / ROUNDS);
    CU_OK(cu->MemcpyDtoH(answered, answers, sizeof answered));
    CU_OK(cu->MemFree(answers));
    lib_leave(w, before);
    const uint32_t *logged = log.mapped;
    for (uint32_t r = 1; r <= ROUNDS; r++) {
        REQUIRE_EQ(logged[r - 1], r * 2654435761u);
        REQUIRE_EQ(answered[r - 1], r ^ 0xffff0000u);
    }
    REQUIRE_EQ(raw_vk_timeline_value(&w->vk, a), ROUNDS);
    culv_semaphore_destroy(&to_vulkan, NULL);
    culv_semaphore_destroy(&to_cuda, NULL);
    culv_buffer_unmap(&buffer, NULL);
    culv_memory_destroy(&memory);
    lib_settle(w);
    raw_vk_buffer_destroy(&w->vk, &log);
    raw_vk_buffer_destroy(&w->vk, &shared);
}

/* Values --------------------------------------------------------------------------------------- */

#define BACKWARDS(value)                                                                           \
    LIB_INVALID(culv_semaphore_signal(semaphore, stream, (value)), TIMELINE_BACKWARDS)

LIB_CASE(values_go_up, .title = "values.go_up")
{
    VkSemaphore timeline = lib_case_timeline(w, 7);
    culv_semaphore *semaphore = lib_import_timeline(w, timeline);
    CUstream stream = lib_case_stream(w);
    REQUIRE_EQ(culv_semaphore_last_value(semaphore), 7); /* the counter, as it was found */
    BACKWARDS(0);
    BACKWARDS(6);
    BACKWARDS(7);
    LIB_SAYS("7");
    LIB_OK(culv_semaphore_signal(semaphore, stream, 8));
    BACKWARDS(8);
    culv_semaphore_mark_value(semaphore, 20); /* promised by somebody else */
    REQUIRE_EQ(culv_semaphore_last_value(semaphore), 20);
    BACKWARDS(9);
    BACKWARDS(20);
    culv_semaphore_mark_value(semaphore, 10); /* known better */
    REQUIRE_EQ(culv_semaphore_last_value(semaphore), 20);
    LIB_OK(culv_semaphore_signal(semaphore, stream, 21));
    lib_finish(w, stream);
    /* None of the refused ones reached it */
    REQUIRE_EQ(raw_vk_timeline_value(&w->vk, timeline), 21);
    culv_semaphore_destroy(&semaphore, NULL);

    semaphore = lib_import_timeline(w, timeline);
    REQUIRE_EQ(culv_semaphore_last_value(semaphore), 21);
    culv_semaphore_destroy(&semaphore, NULL);

    culv_semaphore_desc d = culv_semaphore_desc_init();
    d.type = CULV_SEMAPHORE_TIMELINE;
    d.value = 30; /* the raw road: what the caller says */
    d.handle = culv_handle_opaque_fd(raw_vk_timeline_fd(&w->vk, timeline));
    LIB_TAKE(culv_semaphore_import(w->device, &d, &semaphore), &d.handle);
    REQUIRE_EQ(culv_semaphore_last_value(semaphore), 30);
    BACKWARDS(30);
    LIB_OK(culv_semaphore_signal(semaphore, stream, 31));
    BACKWARDS(UINT64_C(31));
    lib_finish(w, stream);
    REQUIRE_EQ(raw_vk_timeline_value(&w->vk, timeline), 31);
    culv_semaphore_destroy(&semaphore, NULL);
    lib_settle(w);
}

/* Threads -------------------------------------------------------------------------------------- */

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
        culv_semaphore_mark_value(p->mine, i);
    }
    lib_finish(p->w, p->stream);
    return NULL;
}

LIB_CASE(threads)
{
    VkSemaphore timelines[2];
    culv_semaphore *mine[2], *theirs[2];
    CUstream streams[2];
    player players[2];
    pthread_t ids[2];
    for (int i = 0; i < 2; i++) {
        timelines[i] = raw_vk_timeline(&w->vk, 0, true);
        mine[i] = lib_import_timeline(w, timelines[i]);
        theirs[i] =
            lib_import_timeline(w, timelines[i]); /* an object is used by one thread at a time */
        streams[i] = lib_stream(w);
    }
    for (int i = 0; i < 2; i++) {
        players[i] = (player){w, mine[i], theirs[1 - i], streams[i]};
        REQUIRE_EQ(pthread_create(&ids[i], NULL, play, &players[i]), 0);
    }
    for (int i = 0; i < 2; i++)
        REQUIRE_EQ(pthread_join(ids[i], NULL), 0);
    for (int i = 0; i < 2; i++) {
        REQUIRE_EQ(raw_vk_timeline_value(&w->vk, timelines[i]), SIGNALS);
        culv_semaphore_destroy(&mine[i], NULL);
        culv_semaphore_destroy(&theirs[i], NULL);
        lib_settle(w);
        lib_stream_destroy(w, streams[i]);
        raw_vk_timeline_destroy(&w->vk, timelines[i]);
    }
}

/* Two threads signal and wait, each on a stream of its own, while a third makes, imports and gives
 * up others: nobody waits for anybody but at the driver. */
