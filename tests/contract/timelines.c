/* SPDX-License-Identifier: MIT */
/* Contract rows: Vulkan timeline semaphores in CUDA streams. */
#define TEST_GROUP "timeline."
#include "contract.h"

#include <fcntl.h>
#include <sys/eventfd.h>
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

PAIR_CASE(vulkan_can_export, .mark = TEST_BOTH)
{
    const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                            .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    const VkPhysicalDeviceExternalSemaphoreInfo info = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_SEMAPHORE_INFO,
        .pNext = &type,
        .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkExternalSemaphoreProperties properties = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_PROPERTIES};
    vkGetPhysicalDeviceExternalSemaphoreProperties(p->vk.physical, &info, &properties);
    const bool exportable =
        properties.externalSemaphoreFeatures & VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT;
    answer_so("timelines as opaque fds", exportable, "not exportable");
    REQUIRE(properties.exportFromImportedHandleTypes == 0 ||
            (properties.compatibleHandleTypes & VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT) !=
                0);
}

PAIR_CASE(vulkan_sees_cuda_signal, .mark = TEST_BOTH)
{
    shared_timeline t = pair_timeline(p, 3);
    answer_value(p, "once imported", &t, 3);
    CU_OK(raw_cuda_signal(p->cu, t.cu, 7, p->stream));
    REQUIRE(raw_vk_timeline_wait(&p->vk, t.vk, 7, FAR_MS));
    answer_value(p, "after CUDA's signal of 7", &t, 7);
    CU_OK(raw_cuda_signal(p->cu, t.cu, UINT64_C(0x123456789ab),
                          NULL)); /* the legacy stream; more than 32 bits */
    REQUIRE(raw_vk_timeline_wait(&p->vk, t.vk, UINT64_C(0x123456789ab), FAR_MS));
    answer_value(p, "after a signal of 0x123456789ab", &t, UINT64_C(0x123456789ab));
    CU_OK(p->cu->CtxSynchronize());
}

PAIR_CASE(value_reached_before, .mark = TEST_BOTH)
{
    shared_timeline t = pair_timeline(p, 5);
    CU_OK(raw_cuda_wait(p->cu, t.cu, 5, p->stream));
    answer_done(p, "a wait for the value that it has");
    raw_vk_timeline_signal(&p->vk, t.vk, 9);
    CU_OK(raw_cuda_wait(p->cu, t.cu, 6, p->stream));
    answer_done(p, "a wait for a lower value");
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

PAIR_CASE(wait_before_queue_signal, .mark = TEST_BOTH)
{
    uint32_t *found = test_memory(65536);
    shared_timeline t = pair_timeline(p, 0);
    shared_buffer b = pair_buffer(p, 65536, 0, false);
    CUdeviceptr copy = raw_cuda_memory(p->cu, 65536);
    CU_OK(raw_cuda_wait(p->cu, t.cu, 1, p->stream));
    CU_OK(p->cu->MemcpyDtoDAsync(copy, b.pointer, 65536, p->stream));
    answer_pending(p, "before the queue's signal");
    raw_vk_fill(&p->vk, &b.vk, 0, 65536, 0xfeed0001u,
                &(raw_vk_job){.signal = t.vk, .signal_value = 1, .pending = true});
    CU_OK(p->cu->StreamSynchronize(p->stream));
    cuda_read(p, copy, found, 65536);
    answer_wrong("words that CUDA saw", words_not(found, 0xfeed0001u, 65536 / 4), 65536 / 4);
    raw_vk_idle(&p->vk);
}

PAIR_CASE(queue_waits_for_cuda, .mark = TEST_BOTH)
{
    shared_timeline t = pair_timeline(p, 0);
    shared_buffer b = pair_buffer(p, 65536, 0, false);
    raw_vk_buffer host = pair_vk_buffer(p, 65536, RAW_VK_HOST);
    raw_vk_copy(
        &p->vk, &b.vk, 0, &host, 0, 65536,
        &(raw_vk_job){
            .wait = t.vk, .wait_value = 1, .signal = t.vk, .signal_value = 2, .pending = true});
    const bool early = raw_vk_timeline_wait(&p->vk, t.vk, 2, 20);
    answer_so("the queue before CUDA's signal", !early, "went on");
    CU_OK(p->cu->MemsetD32Async(b.pointer, 0xc0da0001u, 65536 / 4, p->stream));
    CU_OK(raw_cuda_signal(p->cu, t.cu, 1, p->stream));
    REQUIRE(raw_vk_timeline_wait(&p->vk, t.vk, 2, FAR_MS));
    answer_wrong("words that Vulkan saw", words_not(host.mapped, 0xc0da0001u, 65536 / 4),
                 65536 / 4);
    raw_vk_idle(&p->vk);
    CU_OK(p->cu->StreamSynchronize(p->stream));
}

/* All frames are submitted ahead, on every queue in turn, with one timeline for both directions.
 * Vulkan fills one half, CUDA keeps a word of it and writes the other half, Vulkan keeps a word of
 * that. */
PAIR_CASE(frames_ahead, .mark = TEST_BOTH)
{
    enum { FRAMES = 96, SIZE = 65536, HALF = SIZE / 2 };
    uint32_t seen[FRAMES];
    shared_timeline t = pair_timeline(p, 0);
    shared_buffer b = pair_buffer(p, SIZE, 0, false);
    raw_vk_buffer host = pair_vk_buffer(p, FRAMES * 4, RAW_VK_HOST);
    CUdeviceptr history = raw_cuda_memory(p->cu, FRAMES * 4);
    for (uint32_t k = 0; k < FRAMES; k++) {
        uint32_t queue = k % (p->vk.queue_count < 3 ? p->vk.queue_count : 3);
        raw_vk_fill(&p->vk, &b.vk, 0, HALF, 1000 + k,
                    &(raw_vk_job){queue, t.vk, 3 * (uint64_t)k, t.vk, 3 * (uint64_t)k + 1, true});
        CU_OK(raw_cuda_wait(p->cu, t.cu, 3 * (uint64_t)k + 1, p->stream));
        CU_OK(p->cu->MemcpyDtoDAsync(history + 4 * k, b.pointer + HALF - 4, 4, p->stream));
        CU_OK(p->cu->MemsetD32Async(b.pointer + HALF, ~k, HALF / 4, p->stream));
        CU_OK(raw_cuda_signal(p->cu, t.cu, 3 * (uint64_t)k + 2, p->stream));
        raw_vk_copy(
            &p->vk, &b.vk, SIZE - 4, &host, 4 * k, 4,
            &(raw_vk_job){queue, t.vk, 3 * (uint64_t)k + 2, t.vk, 3 * (uint64_t)k + 3, true});
    }
    REQUIRE(raw_vk_timeline_wait(&p->vk, t.vk, 3 * FRAMES, FAR_MS));
    CU_OK(p->cu->StreamSynchronize(p->stream));
    cuda_read(p, history, seen, sizeof seen);
    size_t by_cuda = 0, by_vulkan = 0;
    for (uint32_t k = 0; k < FRAMES; k++) {
        by_cuda += seen[k] != 1000 + k;
        by_vulkan += ((const uint32_t *)host.mapped)[k] != ~k;
    }
    answer_wrong("words that CUDA saw", by_cuda, FRAMES);
    answer_wrong("words that Vulkan saw", by_vulkan, FRAMES);
    raw_vk_idle(&p->vk);
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

PAIR_CASE(fds_of_timelines_return, .title = "timeline.fds_return", .mark = TEST_BOTH)
{
    size_t before = 0;
    for (int turn = 0; turn < 20; turn++) {
        shared_timeline t;
        shared_timeline_open(p, 0, &t);
        CU_OK(raw_cuda_signal(p->cu, t.cu, 1, p->stream));
        REQUIRE(raw_vk_timeline_wait(&p->vk, t.vk, 1, FAR_MS));
        CU_OK(p->cu->StreamSynchronize(p->stream));
        shared_timeline_close(p, &t);
        if (turn == 1) before = test_open_fds();
    }
    answer_number("fds after 18 more timelines", (int64_t)test_open_fds(), (int64_t)before);
}

PAIR_CASE(imported_twice, .mark = TEST_BOTH)
{
    CUexternalSemaphore second = NULL;
    shared_timeline t = pair_timeline(p, 0);
    CU_OK(raw_cuda_import_timeline(p->cu, raw_vk_timeline_fd(&p->vk, t.vk), &second));
    CU_OK(raw_cuda_wait(p->cu, second, 1, p->stream));
    raw_vk_timeline_signal(&p->vk, t.vk, 1);
    answer_done(p, "a wait through the second import for Vulkan's signal");
    CU_OK(raw_cuda_signal(p->cu, t.cu, 2, p->stream));
    CU_OK(raw_cuda_wait(p->cu, second, 2, p->stream));
    answer_done(p, "a wait through the second import for the first one's signal");
    CU_OK(p->cu->DestroyExternalSemaphore(second));
}

/* Contract rows: binary semaphores in CUDA streams. The other side is Vulkan, or is played by the
 * twin where Vulkan's driver exports none (raw_binary.h). */
#undef TEST_GROUP
#define TEST_GROUP "binary."

enum { SIZE = 65536 };

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

PAIR_CASE(binary_vulkan_can_export, .title = "binary.vulkan_can_export", .mark = TEST_BOTH)
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
        wrong += words_not(host.mapped, 0xc0da0000u + turn, SIZE / 4);
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
        wrong += words_not(found, 0xfeed0000u + turn, SIZE / 4);
        raw_vk_idle(&p->vk);
    }
    answer_wrong("words that CUDA saw in 10 turns", wrong, (size_t)10 * SIZE / 4);
}

/* One semaphore for each direction, and all of Vulkan's waits for one semaphore on one queue: a
 * wait that was submitted to another queue would take a signal that is meant for an earlier one
 * (measured: a hang on an H200; VUID-vkQueueSubmit-pWaitSemaphores-00068). CUDA keeps a word of
 * what Vulkan wrote in the turn before and writes one; Vulkan keeps that and writes the next. */
static void alternate(pair *p, uint32_t queue)
{
    enum { TURNS = 1000, HALF = SIZE / 2 };
    uint32_t *seen = test_memory(TURNS * 4);
    shared_binary ready = pair_binary(p);
    shared_binary done = pair_binary(p);
    shared_buffer b = pair_buffer(p, SIZE, 0, false);
    raw_vk_buffer host = pair_vk_buffer(p, TURNS * 4, RAW_VK_HOST);
    CUdeviceptr history = raw_cuda_memory(p->cu, TURNS * 4);
    for (uint32_t k = 0; k < TURNS; k++) {
        raw_binary_turn keep = {.queue = queue, .wait = &ready.peer};
        raw_binary_turn write = {.queue = queue, .signal = &done.peer};
        CU_OK(p->cu->MemsetD32Async(b.pointer + HALF, ~k, HALF / 4, p->stream));
        CU_OK(raw_cuda_signal(p->cu, ready.cu, 0, p->stream));
        raw_vk_copy(&p->vk, &b.vk, SIZE - 4, &host, 4 * k, 4, raw_binary_turn_begin(p->cu, &keep));
        raw_vk_fill(&p->vk, &b.vk, 0, HALF, 1000 + k, raw_binary_turn_begin(p->cu, &write));
        CU_OK(raw_cuda_wait(p->cu, done.cu, 0, p->stream));
        CU_OK(p->cu->MemcpyDtoDAsync(history + 4 * k, b.pointer + HALF - 4, 4, p->stream));
        if (k % 100 == 99) raw_vk_idle(&p->vk); /* gives the command buffers back */
    }
    CU_OK(p->cu->StreamSynchronize(p->stream));
    raw_vk_idle(&p->vk);
    cuda_read(p, history, seen, TURNS * 4);
    size_t by_cuda = 0, by_vulkan = 0;
    for (uint32_t k = 0; k < TURNS; k++) {
        by_cuda += seen[k] != 1000 + k;
        by_vulkan += ((const uint32_t *)host.mapped)[k] != ~k;
    }
    answer_wrong("words that CUDA saw", by_cuda, TURNS);
    answer_wrong("words that Vulkan saw", by_vulkan, TURNS);
}

PAIR_AS(alternations, alternate(p, 0), .mark = TEST_BOTH)

/* The copy engine's queue, where there is one. */
PAIR_CASE(alternations_on_another_queue, .mark = TEST_BOTH)
{
    if (p->vk.queue_count < 2) SKIP("one queue family only");
    alternate(p, 1);
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

PAIR_CASE(binary_imported_twice, .title = "binary.imported_twice", .mark = TEST_BOTH)
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
    answer_number("fds consumed by 20 imports", consumed, 20);
    answer_number("fds after 18 more turns", (int64_t)test_open_fds(), (int64_t)before);
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

/* What the guide forbids (R11, R12), so that the library can say what its refusals spare. Nothing
 * waits without a limit, and a case that may leave endless work behind leaves the process without a
 * word to the drivers. */
#undef TEST_GROUP
#define TEST_GROUP "measured.binary_"

#define BOUND_MS 1000u /* what a GPU has not done by then it does not do */

static const char *taken(bool came)
{
    return came ? "taken" : "not there";
}

/* A second signal while the first has not been waited for. */
PAIR_CASE(double_signal, .mark = TEST_TWIN_STRICTER,
          .reason = "the twin's context fails, as Vulkan's rule is; NVIDIA's is reported",
          .own = true)
{
    shared_binary s;
    shared_binary_open(p, &s);
    CU_OK(raw_cuda_signal(p->cu, s.cu, 0, p->stream));
    CU_IS(stream_result(p, FAR_MS), CUDA_SUCCESS);
    answer_call("the second signal", raw_cuda_signal(p->cu, s.cu, 0, p->stream));
    answer_call("the stream then", stream_result(p, patience(p, BOUND_MS)));
    bool first = raw_binary_wait(&p->vk, p->cu, &s.peer, patience(p, BOUND_MS));
    ANSWER("Vulkan's first wait", "%s", taken(first));
    const unsigned bound = p->cu->software ? 20 : BOUND_MS;
    if (first)
        ANSWER("Vulkan's second wait", "%s", taken(raw_binary_wait(&p->vk, p->cu, &s.peer, bound)));
    test_pass(); /* the context may have failed */
}

/* A wait in CUDA for a signal of CUDA: on the same stream, and on another. */
PAIR_CASE(cuda_to_cuda, .mark = TEST_TWIN_STRICTER,
          .reason = "the twin's context fails: the guide wants the partner in Vulkan", .own = true)
{
    shared_binary s;
    shared_binary_open(p, &s);
    CU_OK(raw_cuda_signal(p->cu, s.cu, 0, p->stream));
    answer_call("one stream: the wait", raw_cuda_wait(p->cu, s.cu, 0, p->stream));
    const CUresult after = stream_result(p, patience(p, BOUND_MS));
    answer_call("one stream: the stream then", after);
    if (after != CUDA_SUCCESS) test_pass();
    CUstream other = NULL;
    CU_OK(p->cu->StreamCreate(&other, CU_STREAM_NON_BLOCKING));
    CU_OK(raw_cuda_signal(p->cu, s.cu, 0, other));
    answer_call("two streams: the wait", raw_cuda_wait(p->cu, s.cu, 0, p->stream));
    answer_call("two streams: the stream then", stream_result(p, BOUND_MS));
    test_pass();
}

/* The wait is submitted first: CUDA's for Vulkan's signal, then Vulkan's for CUDA's. */
PAIR_CASE(wait_before_signal, .own = true)
{
    shared_binary s;
    shared_binary_open(p, &s);
    answer_call("CUDA's wait", raw_cuda_wait(p->cu, s.cu, 0, p->stream));
    answer_call("its stream", stream_result(p, 20));
    raw_binary_signal(&p->vk, p->cu, &s.peer);
    const CUresult after = stream_result(p, patience(p, BOUND_MS));
    answer_call("its stream after Vulkan's signal", after);
    if (after != CUDA_SUCCESS || s.peer.vk == VK_NULL_HANDLE) test_pass();
    raw_vk_idle(&p->vk);
    VkSemaphore over = raw_vk_timeline(&p->vk, 0, false);
    raw_vk_submit(
        &p->vk, raw_vk_begin(&p->vk, 0),
        &(raw_vk_job){.wait = s.peer.vk, .signal = over, .signal_value = 1, .pending = true});
    bool early = raw_vk_timeline_wait(&p->vk, over, 1, 20);
    CU_OK(raw_cuda_signal(p->cu, s.cu, 0, p->stream));
    ANSWER("Vulkan's wait before CUDA's signal", "%s", taken(early));
    ANSWER("Vulkan's wait after CUDA's signal", "%s",
           taken(raw_vk_timeline_wait(&p->vk, over, 1, patience(p, BOUND_MS))));
    test_pass();
}

/* A lost partner never signals: CUDA does in its place, in a stream that does not wait. */
PAIR_CASE(lost_partner, .own = true)
{
    shared_binary s;
    CUstream other = NULL;
    if (p->cu->software) { /* losing a VkDevice of the layer's says nothing to CUDA */
        raw_binary_create_played(p->cu, p->vk.id.deviceUUID, &s.peer);
        CU_OK(raw_cuda_import_binary(p->cu, raw_binary_fd(&p->vk, &s.peer), &s.cu));
        REQUIRE_EQ(p->cu->SoftBinaryLose(s.peer.peer), 0);
    } else {
        shared_binary_open(p, &s);
    }
    CU_OK(p->cu->StreamCreate(&other, CU_STREAM_NON_BLOCKING));
    CU_OK(raw_cuda_wait(p->cu, s.cu, 0, p->stream));
    answer_call("the stream that waits", stream_result(p, 20));
    CU_OK(raw_cuda_signal(p->cu, s.cu, 0, other));
    answer_call("the same after CUDA's signal in another stream",
                stream_result(p, patience(p, BOUND_MS)));
    test_pass();
}

/* Two waits for one signal, then a second signal. */
PAIR_CASE(double_wait, .own = true)
{
    shared_binary s;
    shared_binary_open(p, &s);
    raw_binary_signal(&p->vk, p->cu, &s.peer);
    CU_OK(raw_cuda_wait(p->cu, s.cu, 0, p->stream));
    CU_IS(stream_result(p, FAR_MS), CUDA_SUCCESS);
    answer_call("the second wait", raw_cuda_wait(p->cu, s.cu, 0, p->stream));
    const CUresult pending = stream_result(p, BOUND_MS);
    answer_call("its stream", pending);
    if (pending != CUDA_ERROR_NOT_READY) test_pass();
    raw_binary_signal(&p->vk, p->cu, &s.peer);
    answer_call("its stream after a second signal", stream_result(p, patience(p, BOUND_MS)));
    test_pass();
}

/* One semaphore for both directions, with the host between them, so that no order is left to
 * chance. */
PAIR_CASE(both_directions, .own = true)
{
    shared_binary s;
    bool right = true;
    shared_binary_open(p, &s);
    for (int turn = 0; turn < 100 && right; turn++) {
        CU_OK(raw_cuda_signal(p->cu, s.cu, 0, p->stream));
        CU_IS(stream_result(p, FAR_MS), CUDA_SUCCESS);
        right = raw_binary_wait(&p->vk, p->cu, &s.peer, patience(p, BOUND_MS));
        if (!right) break;
        raw_binary_signal(&p->vk, p->cu, &s.peer);
        CU_OK(raw_cuda_wait(p->cu, s.cu, 0, p->stream));
        right = stream_result(p, patience(p, BOUND_MS)) == CUDA_SUCCESS;
    }
    ANSWER("100 turns with the host between", "%s", right ? "right" : "stuck");
    test_pass();
}

/* Whether CUDA's pending work goes on when Vulkan's half of its semaphore is destroyed meanwhile: a
 * signal of it, and for a timeline a wait that a second import ends. A timeline of its own holds
 * the stream. */
static void destroyed_in_vulkan(pair *p, bool binary)
{
    shared_timeline t = {0};
    shared_binary b = {0};
    shared_timeline gate = pair_timeline(p, 0);
    if (binary)
        shared_binary_open(p, &b);
    else
        shared_timeline_open(p, 0, &t);
    CUexternalSemaphore semaphore = binary ? b.cu : t.cu, second = NULL;
    if (!binary) CU_OK(raw_cuda_import_timeline(p->cu, raw_vk_semaphore_fd(&p->vk, t.vk), &second));
    CU_OK(raw_cuda_wait(p->cu, gate.cu, 1, p->stream));
    CU_OK(raw_cuda_signal(p->cu, semaphore, binary ? 0 : 1, p->stream));
    if (!binary) CU_OK(raw_cuda_wait(p->cu, second, 1, p->stream));
    if (binary)
        raw_binary_destroy(&p->vk, &b.peer);
    else
        raw_vk_semaphore_destroy(&p->vk, t.vk);
    CU_IS(p->cu->StreamQuery(p->stream), CUDA_ERROR_NOT_READY);
    raw_vk_timeline_signal(&p->vk, gate.vk, 1);
    CUresult after = stream_result(p, patience(p, BOUND_MS));
    answer_call("the stream", after);
    if (after != CUDA_SUCCESS) test_pass();
    answer_ok("then cuDestroyExternalSemaphore", p->cu->DestroyExternalSemaphore(semaphore));
    if (second != NULL) CU_OK(p->cu->DestroyExternalSemaphore(second));
}

PAIR_AS(destroyed, destroyed_in_vulkan(p, true), .title = "measured.binary_destroyed_in_vulkan",
        .own = true)
PAIR_AS(timeline_destroyed, destroyed_in_vulkan(p, false),
        .title = "measured.timeline_destroyed_in_vulkan", .own = true)

/* Contract rows: several semaphores in one call, of either type. */
#undef TEST_GROUP
#define TEST_GROUP "batch."

enum { COUNT = 4, BATCHED = 16384 };

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
    shared_buffer_open(p, BATCHED, 0, false, &l->buffer);
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
    raw_vk_fill(&p->vk, &l->buffer.vk, 0, BATCHED / 2, vulkan_word(i, turn),
                l->binary ? raw_binary_turn_begin(p->cu, &fill) : &job);
}

static void vulkan_keeps(pair *p, const lane *l, uint32_t turn)
{
    VkSemaphore t = l->timeline.vk;
    raw_vk_job job = {l->queue, t, 3 * (uint64_t)turn + 2, t, 3 * (uint64_t)turn + 3, true};
    raw_binary_turn keep = {.queue = l->queue, .wait = &l->there.peer};
    raw_vk_copy(&p->vk, &l->buffer.vk, BATCHED - 4, &l->host, 4 * turn, 4,
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
            CU_OK(p->cu->MemcpyDtoDAsync(lanes[i].history + 4 * turn, pointer + BATCHED / 2 - 4, 4,
                                         p->stream));
            CU_OK(p->cu->MemsetD32Async(pointer + BATCHED / 2, ~vulkan_word(i, turn), BATCHED / 8,
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
        answer_wrong(answer_key("lane %u, seen by CUDA", i), by_cuda, TURNS);
        answer_wrong(answer_key("lane %u, seen by Vulkan", i), by_vulkan, TURNS);
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
    answer_number("pending before a signal", pending, MANY);
    answer_number("signals that came", came, MANY);
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
