/* SPDX-License-Identifier: MIT */
/* Contract rows: binary semaphores in CUDA streams. The other side is Vulkan, or is played by the
 * twin where Vulkan's driver exports none (raw_binary.h). */
#define TEST_GROUP "binary."
#include "binaries.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { SIZE = 65536 };

void shared_binary_open(pair *p, shared_binary *out)
{
    raw_binary_create(&p->vk, p->cu, &out->peer);
    CU_OK(raw_cuda_import_binary(p->cu, raw_binary_fd(&p->vk, &out->peer), &out->cu));
}

void shared_binary_close(pair *p, shared_binary *binary)
{
    CU_OK(p->cu->DestroyExternalSemaphore(binary->cu));
    raw_binary_destroy(&p->vk, &binary->peer);
}

static void end_binary(const void *of, void *thing)
{
    shared_binary_close((pair *)(uintptr_t)of, thing);
}

shared_binary pair_binary(pair *p)
{
    shared_binary binary;
    shared_binary_open(p, &binary);
    test_later(end_binary, p, &binary, sizeof binary);
    return binary;
}

static size_t wrong_words(const uint32_t *words, size_t count, uint32_t expected)
{
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++)
        wrong += words[i] != expected;
    return wrong;
}

/* Vulkan waits for a signal of CUDA, and the other way round. */
static bool vulkan_takes(pair *p, shared_binary *s)
{
    return raw_binary_wait(&p->vk, p->cu, &s->peer, FAR_MS);
}

static void answer_taken(const char *key, bool taken)
{
    answer_so(key, taken, "taken", "not there");
}

static void answer_stream(const pair *p, const char *key)
{
    answer_is(key, stream_result(p, FAR_MS), CUDA_SUCCESS);
}

PAIR_CASE(vulkan_can_export, .mark = TEST_BOTH)
{
    VkExternalSemaphoreProperties properties = raw_binary_properties(&p->vk);
    ANSWER("features of an opaque fd", "0x%x", (unsigned)properties.externalSemaphoreFeatures);
    ANSWER("compatible handle types", "0x%x", (unsigned)properties.compatibleHandleTypes);
    ANSWER("export from imported handle types", "0x%x",
           (unsigned)properties.exportFromImportedHandleTypes);
    if (!p->cu->software)
        REQUIRE(properties.externalSemaphoreFeatures &
                VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT);
}

PAIR_CASE(vulkan_waits_for_cuda, .mark = TEST_BOTH, .smoke = true)
{
    size_t wrong = 0;
    shared_binary ready = pair_binary(p);
    shared_buffer b = pair_buffer(p, SIZE, 0, false);
    raw_vk_buffer host = pair_vk_buffer(p, SIZE, RAW_VK_HOST);
    for (uint32_t turn = 0; turn < 10; turn++) {
        raw_binary_turn copy = {.queue = turn % p->vk.queue_count % 3, .wait = &ready.peer};
        CU_OK(p->cu->MemsetD32Async(b.pointer, 0xc0da0000u + turn, SIZE / 4, p->stream));
        CU_OK(raw_cuda_signal(p->cu, ready.cu, 0, p->stream));
        raw_vk_copy(&p->vk, &b.vk, 0, &host, 0, SIZE, raw_binary_turn_begin(p->cu, &copy));
        raw_vk_idle(&p->vk);
        wrong += wrong_words(host.mapped, SIZE / 4, 0xc0da0000u + turn);
    }
    CU_OK(p->cu->StreamSynchronize(p->stream));
    answer_wrong("words that Vulkan saw in 10 turns", wrong, (size_t)10 * SIZE / 4);
}

PAIR_CASE(cuda_waits_for_vulkan, .mark = TEST_BOTH)
{
    uint32_t *found = test_memory(SIZE);
    size_t wrong = 0;
    shared_binary done = pair_binary(p);
    shared_buffer b = pair_buffer(p, SIZE, 0, false);
    CUdeviceptr copy = raw_cuda_memory(p->cu, SIZE);
    for (uint32_t turn = 0; turn < 10; turn++) {
        raw_binary_turn fill = {.queue = turn % p->vk.queue_count % 3, .signal = &done.peer};
        raw_vk_fill(&p->vk, &b.vk, 0, SIZE, 0xfeed0000u + turn,
                    raw_binary_turn_begin(p->cu, &fill));
        CU_OK(raw_cuda_wait(p->cu, done.cu, 0, p->stream));
        CU_OK(p->cu->MemcpyDtoDAsync(copy, b.pointer, SIZE, p->stream));
        CU_OK(p->cu->StreamSynchronize(p->stream));
        cuda_read(p, copy, found, SIZE);
        wrong += wrong_words(found, SIZE / 4, 0xfeed0000u + turn);
        raw_vk_idle(&p->vk);
    }
    answer_wrong("words that CUDA saw in 10 turns", wrong, (size_t)10 * SIZE / 4);
}

/* One semaphore for each direction, and all of Vulkan's waits for one semaphore on one queue: a
 * wait that was submitted to another queue would take a signal that is meant for an earlier one
 * (measured: a hang on an H200; VUID-vkQueueSubmit-pWaitSemaphores-00068). CUDA keeps a word of
 * what Vulkan wrote in the turn before and writes one; Vulkan keeps that and writes the next. */
static void alternate(uint32_t queue)
{
    enum { TURNS = 1000, HALF = SIZE / 2 };
    pair p;
    uint32_t *seen = test_memory(TURNS * 4);
    pair_open(&p);
    shared_binary ready = pair_binary(&p);
    shared_binary done = pair_binary(&p);
    shared_buffer b = pair_buffer(&p, SIZE, 0, false);
    raw_vk_buffer host = pair_vk_buffer(&p, TURNS * 4, RAW_VK_HOST);
    CUdeviceptr history = raw_cuda_memory(p.cu, TURNS * 4);
    for (uint32_t k = 0; k < TURNS; k++) {
        raw_binary_turn keep = {.queue = queue, .wait = &ready.peer};
        raw_binary_turn write = {.queue = queue, .signal = &done.peer};
        CU_OK(p.cu->MemsetD32Async(b.pointer + HALF, ~k, HALF / 4, p.stream));
        CU_OK(raw_cuda_signal(p.cu, ready.cu, 0, p.stream));
        raw_vk_copy(&p.vk, &b.vk, SIZE - 4, &host, 4 * k, 4, raw_binary_turn_begin(p.cu, &keep));
        raw_vk_fill(&p.vk, &b.vk, 0, HALF, 1000 + k, raw_binary_turn_begin(p.cu, &write));
        CU_OK(raw_cuda_wait(p.cu, done.cu, 0, p.stream));
        CU_OK(p.cu->MemcpyDtoDAsync(history + 4 * k, b.pointer + HALF - 4, 4, p.stream));
        if (k % 100 == 99) raw_vk_idle(&p.vk); /* gives the command buffers back */
    }
    CU_OK(p.cu->StreamSynchronize(p.stream));
    raw_vk_idle(&p.vk);
    cuda_read(&p, history, seen, TURNS * 4);
    size_t by_cuda = 0, by_vulkan = 0;
    for (uint32_t k = 0; k < TURNS; k++) {
        by_cuda += seen[k] != 1000 + k;
        by_vulkan += ((const uint32_t *)host.mapped)[k] != ~k;
    }
    answer_wrong("words that CUDA saw", by_cuda, TURNS);
    answer_wrong("words that Vulkan saw", by_vulkan, TURNS);
    pair_close(&p);
}

TEST_AS(alternations, alternate(0), .mark = TEST_BOTH)

/* The copy engine's queue, where there is one. */
TEST(alternations_on_another_queue, .mark = TEST_BOTH)
{
    pair p;
    pair_open(&p);
    uint32_t queues = p.vk.queue_count;
    pair_close(&p);
    if (queues < 2) SKIP("one queue family only");
    alternate(1);
}

/* The wait takes the signal away: there is nothing left for a second one. */
PAIR_CASE(one_wait_a_signal, .mark = TEST_BOTH)
{
    shared_binary s = pair_binary(p);
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

PAIR_CASE(imported_twice, .mark = TEST_BOTH)
{
    CUexternalSemaphore second = NULL;
    shared_binary s = pair_binary(p);
    CU_OK(raw_cuda_import_binary(p->cu, raw_binary_fd(&p->vk, &s.peer), &second));
    raw_binary_signal(&p->vk, p->cu, &s.peer);
    CU_OK(raw_cuda_wait(p->cu, second, 0, p->stream));
    answer_stream(p, "a wait through the second import");
    CU_OK(raw_cuda_signal(p->cu, s.cu, 0, p->stream));
    CU_OK(p->cu->StreamSynchronize(p->stream));
    answer_taken("a signal through the first import, by Vulkan", vulkan_takes(p, &s));
    raw_vk_idle(&p->vk);
    CU_OK(p->cu->DestroyExternalSemaphore(second));
}

/* cuda.h has the value for "fence objects", which binary semaphores are not. */
PAIR_CASE(values_are_ignored, .mark = TEST_BOTH)
{
    shared_binary s = pair_binary(p);
    for (uint64_t value = 7; value > 3; value--) { /* not even backwards means anything */
        CU_OK(raw_cuda_signal(p->cu, s.cu, value, p->stream));
        CU_OK(p->cu->StreamSynchronize(p->stream));
        answer_taken(answer_key("a signal of %d", (int)value), vulkan_takes(p, &s));
        raw_binary_signal(&p->vk, p->cu, &s.peer);
        CU_OK(raw_cuda_wait(p->cu, s.cu, UINT64_C(1) << (8 * value), p->stream));
        answer_stream(p, answer_key("a wait for 1 << %d", 8 * (int)value));
        raw_vk_idle(&p->vk);
    }
}

PAIR_CASE(fds_return, .mark = TEST_BOTH)
{
    size_t before = 0;
    unsigned consumed = 0;
    for (int turn = 0; turn < 20; turn++) {
        shared_binary s;
        raw_binary_create(&p->vk, p->cu, &s.peer);
        int fd = raw_binary_fd(&p->vk, &s.peer), same = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        CU_OK(raw_cuda_import_binary(p->cu, fd, &s.cu));
        consumed += !fd_open(fd) || !same_file(fd, same);
        close(same);
        CU_OK(raw_cuda_signal(p->cu, s.cu, 0, p->stream));
        CU_OK(p->cu->StreamSynchronize(p->stream));
        REQUIRE(raw_binary_wait(&p->vk, p->cu, &s.peer, FAR_MS));
        if (turn % 2 == 0) {
            shared_binary_close(p, &s);
        } else { /* Vulkan's half first */
            raw_binary_destroy(&p->vk, &s.peer);
            CU_OK(p->cu->DestroyExternalSemaphore(s.cu));
        }
        if (turn == 1) before = test_open_fds();
    }
    const size_t after = test_open_fds();
    ANSWER("fds consumed by an import", "%u of 20", consumed);
    ANSWER("fds more after 18 turns", "%ld", (long)after - (long)before);
    REQUIRE(consumed == 20 && after == before);
}

/* Both imports get a duplicate, so what becomes of the number can be told. Unless refused, the
 * import is used by nobody: only its answer matters. */
static void answer_import(pair *p, const char *what, int fd, bool as_timeline)
{
    CUexternalSemaphore semaphore = NULL;
    int given = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    CUresult result = as_timeline ? raw_cuda_import_timeline(p->cu, given, &semaphore)
                                  : raw_cuda_import_binary(p->cu, given, &semaphore);
    bool still_open = fd_open(given) && same_file(given, fd);
    ANSWER(what, "%s, fd %s", raw_cuda_result_name(result), still_open ? "open" : "closed");
    if (result == CUDA_SUCCESS) CU_OK(p->cu->DestroyExternalSemaphore(semaphore));
    if (still_open) close(given);
    close(fd);
}

PAIR_CASE(imported_as_the_other_type, .mark = TEST_TWIN_STRICTER,
          .reason = "the twin refuses each and leaves the fd open; NVIDIA's answers are reported")
{
    raw_binary binary;
    VkSemaphore timeline = raw_vk_timeline(&p->vk, 0, true);
    raw_binary_create(&p->vk, p->cu, &binary);
    answer_import(p, "binary as TIMELINE_SEMAPHORE_FD", raw_binary_fd(&p->vk, &binary), true);
    answer_import(p, "timeline as OPAQUE_FD", raw_vk_semaphore_fd(&p->vk, timeline), false);
    raw_binary_destroy(&p->vk, &binary);
    raw_vk_semaphore_destroy(&p->vk, timeline);
}

PAIR_CASE(wrong_fds, .mark = TEST_TWIN_STRICTER,
          .reason = "the twin refuses each and leaves the fd open; NVIDIA's answers are reported")
{
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    raw_vk_buffer memory = pair_vk_buffer(p, SIZE, RAW_VK_EXPORT);
    answer_import(p, "dev_null", open("/dev/null", O_RDWR | O_CLOEXEC), false);
    answer_import(p, "pipe_read", ends[0], false);
    answer_import(p, "pipe_write", ends[1], false);
    answer_import(p, "eventfd", eventfd(0, EFD_CLOEXEC), false);
    answer_import(p, "program_file", open("/proc/self/exe", O_RDONLY | O_CLOEXEC), false);
    answer_import(p, "memory", raw_vk_buffer_fd(&p->vk, &memory), false);
    CUexternalSemaphore semaphore = NULL;
    CUresult result = raw_cuda_import_binary(p->cu, -1, &semaphore);
    answer_call("number -1", result);
    REQUIRE(result != CUDA_SUCCESS && semaphore == NULL);
}

PAIR_CASE(round_trips, .mark = TEST_BOTH, .reason = "reported, never asserted")
{
    enum { TURNS = 200 };
    shared_binary there = pair_binary(p);
    shared_binary back = pair_binary(p);
    CUresult last = CUDA_SUCCESS;
    for (uint32_t queue = 0; queue < p->vk.queue_count && queue < 3; queue++) {
        double start = test_now_us();
        for (int k = 0; k < TURNS; k++) {
            raw_binary_turn turn = {.queue = queue, .wait = &there.peer, .signal = &back.peer};
            VkCommandBuffer nothing = raw_vk_begin(&p->vk, queue);
            CU_OK(raw_cuda_signal(p->cu, there.cu, 0, p->stream));
            raw_vk_submit(&p->vk, nothing, raw_binary_turn_begin(p->cu, &turn));
            CU_OK(raw_cuda_wait(p->cu, back.cu, 0, p->stream));
        }
        last = p->cu->StreamSynchronize(p->stream);
        CU_OK(last);
        MEASURED("binary_round_trip", "queue family %u%s: %.1f us", queue,
                 there.peer.peer >= 0 ? ", the other side played" : "",
                 (test_now_us() - start) / TURNS);
        raw_vk_idle(&p->vk);
    }
    answer_call("the stream after 200 turns a queue", last);
}
