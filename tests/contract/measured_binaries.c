/* SPDX-License-Identifier: MIT */
/* What the guide forbids to do with binary semaphores (R11, R12): answered, so that the library's
 * refusals can say what they spare. Nothing here waits without a limit, and a case that may leave
 * work behind which never ends leaves the process without a word to the drivers. */
#define TEST_GROUP "measured."
#include "binaries.h"

#include <unistd.h>

#define BOUND_MS 1000u /* what a GPU has not done by then it does not do */

static const char *taken(bool came)
{
    return came ? "taken" : "not there";
}

/* A second signal while the first has not been waited for. */
PAIR_CASE(
    double_signal, .title = "measured.binary_double_signal", .mark = TEST_TWIN_STRICTER,
    .reason =
        "the twin's context fails at the second signal, as Vulkan's rule is; NVIDIA's is reported",
    .own = true)
{
    shared_binary s;
    shared_binary_open(p, &s);
    CU_OK(raw_cuda_signal(p->cu, s.cu, 0, p->stream));
    CU_IS(stream_result(p, FAR_MS), CUDA_SUCCESS);
    CUresult second = raw_cuda_signal(p->cu, s.cu, 0, p->stream),
             after = stream_result(p, patience(p, BOUND_MS));
    answer_call("the second signal", second);
    answer_call("the stream then", after);
    bool first = raw_binary_wait(&p->vk, p->cu, &s.peer, patience(p, BOUND_MS));
    ANSWER("Vulkan's first wait", "%s", taken(first));
    const unsigned bound = p->cu->software ? 20 : BOUND_MS;
    if (first)
        ANSWER("Vulkan's second wait", "%s", taken(raw_binary_wait(&p->vk, p->cu, &s.peer, bound)));
    test_pass(); /* the context may have failed */
}

/* A wait in CUDA for a signal of CUDA: on the same stream, and on another. */
PAIR_CASE(
    cuda_to_cuda, .title = "measured.binary_cuda_to_cuda", .mark = TEST_TWIN_STRICTER,
    .reason =
        "the twin's context fails: the guide wants the partner in Vulkan; NVIDIA's is reported",
    .own = true)
{
    shared_binary s;
    shared_binary_open(p, &s);
    CU_OK(raw_cuda_signal(p->cu, s.cu, 0, p->stream));
    CUresult wait = raw_cuda_wait(p->cu, s.cu, 0, p->stream),
             after = stream_result(p, patience(p, BOUND_MS));
    answer_call("one stream: the wait", wait);
    answer_call("one stream: the stream then", after);
    if (after != CUDA_SUCCESS) test_pass();
    CUstream other = NULL;
    CU_OK(p->cu->StreamCreate(&other, CU_STREAM_NON_BLOCKING));
    CU_OK(raw_cuda_signal(p->cu, s.cu, 0, other));
    wait = raw_cuda_wait(p->cu, s.cu, 0, p->stream);
    answer_call("two streams: the wait", wait);
    answer_call("two streams: the stream then", stream_result(p, BOUND_MS));
    test_pass();
}

/* The wait is submitted first: CUDA's for Vulkan's signal, then Vulkan's for CUDA's. */
PAIR_CASE(wait_before_signal, .title = "measured.binary_wait_before_signal", .own = true)
{
    shared_binary s;
    shared_binary_open(p, &s);
    CUresult wait = raw_cuda_wait(p->cu, s.cu, 0, p->stream), before = stream_result(p, 20);
    raw_binary_signal(&p->vk, p->cu, &s.peer);
    CUresult after = stream_result(p, patience(p, BOUND_MS));
    answer_call("CUDA's wait", wait);
    answer_call("its stream", before);
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
PAIR_CASE(lost_partner, .title = "measured.binary_lost_partner", .own = true)
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
    CUresult before = stream_result(p, 20);
    CU_OK(raw_cuda_signal(p->cu, s.cu, 0, other));
    CUresult after = stream_result(p, patience(p, BOUND_MS));
    answer_call("the stream that waits", before);
    answer_call("the same after CUDA's signal in another stream", after);
    test_pass();
}

/* Two waits for one signal, then a second signal. */
PAIR_CASE(double_wait, .title = "measured.binary_double_wait", .own = true)
{
    shared_binary s;
    shared_binary_open(p, &s);
    raw_binary_signal(&p->vk, p->cu, &s.peer);
    CU_OK(raw_cuda_wait(p->cu, s.cu, 0, p->stream));
    CU_IS(stream_result(p, FAR_MS), CUDA_SUCCESS);
    CUresult second = raw_cuda_wait(p->cu, s.cu, 0, p->stream),
             pending = stream_result(p, BOUND_MS);
    answer_call("the second wait", second);
    answer_call("its stream", pending);
    if (pending != CUDA_ERROR_NOT_READY) test_pass();
    raw_binary_signal(&p->vk, p->cu, &s.peer);
    CUresult after = stream_result(p, patience(p, BOUND_MS));
    answer_call("its stream after a second signal", after);
    test_pass();
}

/* One semaphore for both directions, with the host between them, so that no order is left to
 * chance. */
PAIR_CASE(both_directions, .title = "measured.binary_both_directions", .own = true)
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
static void destroyed_in_vulkan(bool binary)
{
    pair p;
    shared_timeline t = {0};
    shared_binary b = {0};
    pair_open(&p);
    shared_timeline gate = pair_timeline(&p, 0);
    if (binary)
        shared_binary_open(&p, &b);
    else
        shared_timeline_open(&p, 0, &t);
    CUexternalSemaphore semaphore = binary ? b.cu : t.cu, second = NULL;
    if (!binary) CU_OK(raw_cuda_import_timeline(p.cu, raw_vk_semaphore_fd(&p.vk, t.vk), &second));
    CU_OK(raw_cuda_wait(p.cu, gate.cu, 1, p.stream));
    CU_OK(raw_cuda_signal(p.cu, semaphore, binary ? 0 : 1, p.stream));
    if (!binary) CU_OK(raw_cuda_wait(p.cu, second, 1, p.stream));
    if (binary)
        raw_binary_destroy(&p.vk, &b.peer);
    else
        raw_vk_semaphore_destroy(&p.vk, t.vk);
    CU_IS(p.cu->StreamQuery(p.stream), CUDA_ERROR_NOT_READY);
    raw_vk_timeline_signal(&p.vk, gate.vk, 1);
    CUresult after = stream_result(&p, patience(&p, BOUND_MS));
    answer_call("the stream", after);
    if (after != CUDA_SUCCESS) test_pass();
    answer_is("then cuDestroyExternalSemaphore", p.cu->DestroyExternalSemaphore(semaphore),
              CUDA_SUCCESS);
    if (second != NULL) CU_OK(p.cu->DestroyExternalSemaphore(second));
    pair_close(&p);
}

TEST_AS(binary_destroyed_in_vulkan, destroyed_in_vulkan(true), .own = true)
TEST_AS(timeline_destroyed_in_vulkan, destroyed_in_vulkan(false), .own = true)
