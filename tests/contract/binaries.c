/* SPDX-License-Identifier: MIT */
/* Contract rows: binary semaphores in CUDA streams. The other side is Vulkan, or is played by the
 * twin where Vulkan's driver exports none (raw_binary.h). */
#define TEST_GROUP "binary."
#include "contract.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { SIZE = 65536 };

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
    answer_ok(key, stream_result(p, FAR_MS));
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
