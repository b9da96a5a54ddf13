/* SPDX-License-Identifier: MIT */
/* Contract rows: launches of graphs, whose semaphores have other values in each. */
#define TEST_GROUP "graph."
#include "binaries.h"
#include "graphs.h"

#include <unistd.h>

/* wait for `in`, write with `seed`, signal `out` */
typedef struct frame {
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode wait, kernel, signal;
} frame;

static void frame_open(graph_bench *b, uint64_t wait, unsigned seed, uint64_t signal, frame *out)
{
    graph_begin(b, b->p.stream);
    CU_OK(raw_cuda_wait(b->p.cu, b->in.cu, wait, b->p.stream));
    CU_OK(graph_kernel(b, b->write, seed, b->p.stream));
    CU_OK(raw_cuda_signal(b->p.cu, b->out.cu, signal, b->p.stream));
    out->graph = graph_end(b, b->p.stream);
    out->exec = graph_instantiate(b, out->graph);
    out->wait = graph_node(b, out->graph, CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT);
    out->kernel = graph_node(b, out->graph, CU_GRAPH_NODE_TYPE_KERNEL);
    out->signal = graph_node(b, out->graph, CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL);
}

static void frame_set(graph_bench *b, frame *f, uint64_t wait, unsigned seed, uint64_t signal)
{
    CU_OK(graph_set_wait(b, f->exec, f->wait, b->in.cu, wait));
    graph_set_kernel(b, f->exec, f->kernel, seed);
    CU_OK(graph_set_signal(b, f->exec, f->signal, b->out.cu, signal));
}

/* What `out` is at. */
static void answer_counter(graph_bench *b, const char *when, uint64_t expected)
{
    const uint64_t value = raw_vk_timeline_value(&b->p.vk, b->out.vk);
    ANSWER(answer_key("counter %s", when), "%llu", (unsigned long long)value);
    REQUIRE_EQ(value, expected);
}

/* A wait node holds a launch until the host has signaled, or a queue, whichever the value is. */
GRAPH_CASE(values_of_each_launch, .mark = TEST_BOTH)
{
    frame f;
    frame_open(b, 1, 100, 1, &f);
    for (unsigned k = 1; k <= 6; k++) {
        if (k > 1) frame_set(b, &f, k, 100 + k, k);
        CU_OK(b->p.cu->GraphLaunch(f.exec, b->p.stream));
        if (k < 3) graph_require_pending(b, b->p.stream);
        REQUIRE_EQ(raw_vk_timeline_value(&b->p.vk, b->out.vk), k - 1);
        if (k % 2 == 0)
            raw_vk_timeline_signal(&b->p.vk, b->in.vk, k);
        else
            raw_vk_submit(&b->p.vk, raw_vk_begin(&b->p.vk, 0),
                          &(raw_vk_job){.signal = b->in.vk, .signal_value = k, .pending = true});
        REQUIRE(raw_vk_timeline_wait(&b->p.vk, b->out.vk, k, FAR_MS));
        CU_OK(b->p.cu->StreamSynchronize(b->p.stream));
        graph_answer_words(b, answer_key("words after launch %u", k), k == 1 ? 100 : 100 + k, 0);
    }
    raw_vk_idle(&b->p.vk);
}

/* What is set after a launch is for later ones, whether the launch runs already or not. */
GRAPH_CASE(set_after_launch, .mark = TEST_BOTH)
{
    frame f;
    frame_open(b, 1, 1, 10, &f);
    CU_OK(b->p.cu->GraphLaunch(f.exec, b->p.stream));
    frame_set(b, &f, 2, 2, 20);
    CU_OK(b->p.cu->GraphLaunch(f.exec, b->p.stream));
    frame_set(b, &f, 3, 3, 30);
    graph_require_pending(b, b->p.stream);
    raw_vk_timeline_signal(&b->p.vk, b->in.vk, 1);
    REQUIRE(raw_vk_timeline_wait(&b->p.vk, b->out.vk, 10, FAR_MS));
    graph_require_pending(b, b->p.stream);
    answer_counter(b, "after the first launch's wait is over", 10);
    raw_vk_timeline_signal(&b->p.vk, b->in.vk, 2);
    REQUIRE(raw_vk_timeline_wait(&b->p.vk, b->out.vk, 20, FAR_MS));
    CU_OK(b->p.cu->StreamSynchronize(b->p.stream));
    answer_counter(b, "after the second one's", 20);
    graph_answer_words(b, "words of the second launch", 2, 0);
}

/* Launches of one executable graph run one after another, in whatever streams. */
GRAPH_CASE(launches_in_two_streams, .mark = TEST_BOTH)
{
    frame f;
    frame_open(b, 1, 1, 10, &f);
    CU_OK(b->p.cu->GraphLaunch(f.exec, b->p.stream));
    frame_set(b, &f, 0, 2, 20); /* it could go on at once */
    CU_OK(b->p.cu->GraphLaunch(f.exec, b->other));
    graph_require_pending(b, b->other);
    answer_counter(b, "while the first launch waits", 0);
    raw_vk_timeline_signal(&b->p.vk, b->in.vk, 1);
    CU_OK(b->p.cu->StreamSynchronize(b->other));
    CU_OK(b->p.cu->StreamSynchronize(b->p.stream));
    answer_counter(b, "after both", 20);
    graph_answer_words(b, "words of the second launch", 2, 0);
}

/* Work before a launch in its stream is done before, work after it after. */
GRAPH_CASE(order_in_the_stream, .mark = TEST_BOTH)
{
    frame f;
    frame_open(b, 0, 1, 10, &f);
    CU_OK(raw_cuda_wait(b->p.cu, b->in.cu, 1, b->p.stream));
    CU_OK(graph_kernel(b, b->write, 50, b->p.stream));
    CU_OK(b->p.cu->GraphLaunch(f.exec, b->p.stream));
    CU_OK(graph_kernel(b, b->add, 3, b->p.stream));
    graph_require_pending(b, b->p.stream);
    answer_counter(b, "while work before the launch waits", 0);
    raw_vk_timeline_signal(&b->p.vk, b->in.vk, 1);
    CU_OK(b->p.cu->StreamSynchronize(b->p.stream));
    graph_answer_words(b, "words of the launch and of the kernel after it", 1, 3);
    answer_counter(b, "after all", 10);
}

/* The graph may go once it is instantiated, and the executable one once it is launched. */
GRAPH_CASE(destroyed_early, .mark = TEST_BOTH)
{
    frame f;
    frame_open(b, 1, 1, 10, &f);
    test_forget(&f.graph, sizeof f.graph);
    CU_OK(b->p.cu->GraphDestroy(f.graph));
    test_forget(&f.exec, sizeof f.exec);
    CU_OK(b->p.cu->GraphLaunch(f.exec, b->p.stream));
    graph_require_pending(b, b->p.stream);
    answer_is("cuGraphExecDestroy while its launch waits", b->p.cu->GraphExecDestroy(f.exec),
              CUDA_SUCCESS);
    raw_vk_timeline_signal(&b->p.vk, b->in.vk, 1);
    REQUIRE(raw_vk_timeline_wait(&b->p.vk, b->out.vk, 10, FAR_MS));
    answer_is("the stream after it", b->p.cu->StreamSynchronize(b->p.stream), CUDA_SUCCESS);
    graph_answer_words(b, "words of the launch", 1, 0);
}

/* Whether a branch that waits for a semaphore keeps another one from running: one that the host
 * lets go on, and one that the other branch does. */
GRAPH_CASE(branches)
{
    const raw_cuda *cu = b->p.cu;
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait;
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal;
    memset(&wait, 0, sizeof wait);
    memset(&signal, 0, sizeof signal);
    wait.params.fence.value = signal.params.fence.value = 1;
    const CUDA_EXT_SEM_WAIT_NODE_PARAMS for_host = {&b->in.cu, &wait, 1},
                                        for_branch = {&b->out.cu, &wait, 1};
    const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS to_branch = {&b->out.cu, &signal, 1};
    CUgraph graph = NULL;
    CUgraphNode waits, signals;
    CU_OK(cu->GraphCreate(&graph, 0));
    CU_OK(cu->GraphAddExternalSemaphoresWaitNode(&waits, graph, NULL, 0, &for_host));
    CU_OK(cu->GraphAddExternalSemaphoresSignalNode(&signals, graph, NULL, 0, &to_branch));
    CUgraphExec exec = graph_instantiate(b, graph);
    CU_OK(cu->GraphLaunch(exec, b->p.stream));
    bool passed = raw_vk_timeline_wait(&b->p.vk, b->out.vk, 1, patience(&b->p, 1000));
    ANSWER("a branch beside one that waits", "%s", passed ? "runs" : "waits too");
    graph_require_pending(b, b->p.stream);
    raw_vk_timeline_signal(&b->p.vk, b->in.vk, 1);
    CU_OK(cu->StreamSynchronize(b->p.stream));
    test_forget(&exec, sizeof exec);
    CU_OK(cu->GraphExecDestroy(exec));
    CU_OK(cu->GraphDestroy(graph));

    CU_OK(cu->GraphCreate(&graph, 0));
    wait.params.fence.value = signal.params.fence.value = 2;
    CU_OK(cu->GraphAddExternalSemaphoresWaitNode(&waits, graph, NULL, 0, &for_branch));
    CU_OK(cu->GraphAddExternalSemaphoresSignalNode(&signals, graph, NULL, 0, &to_branch));
    exec = graph_instantiate(b, graph);
    CU_OK(cu->GraphLaunch(exec, b->p.stream));
    passed = stream_result(&b->p, patience(&b->p, 1000)) == CUDA_SUCCESS;
    ANSWER("a branch that waits for another one", "%s", passed ? "goes on" : "hangs");
    if (!passed) raw_vk_timeline_signal(&b->p.vk, b->out.vk, 2);
    CU_OK(cu->StreamSynchronize(b->p.stream));
    CU_OK(cu->GraphDestroy(graph));
}

/* Frames through a graph alone, submitted ahead: Vulkan fills, the graph adds, Vulkan copies
 * out. */
GRAPH_CASE(frames_ahead, .mark = TEST_BOTH)
{
    enum { FRAMES = 48 };
    const raw_cuda *cu = b->p.cu;
    shared_buffer shared = pair_buffer(&b->p, GRAPH_SIZE, 0, false);
    raw_vk_buffer host = pair_vk_buffer(&b->p, FRAMES * 4, RAW_VK_HOST);
    b->words = shared.pointer;
    graph_begin(b, b->p.stream);
    CU_OK(raw_cuda_wait(cu, b->in.cu, 1, b->p.stream));
    CU_OK(graph_kernel(b, b->add, 7, b->p.stream));
    CU_OK(raw_cuda_signal(cu, b->in.cu, 2, b->p.stream));
    CUgraph graph = graph_end(b, b->p.stream);
    CUgraphExec exec = graph_instantiate(b, graph);
    CUgraphNode wait = graph_node(b, graph, CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT),
                signal = graph_node(b, graph, CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL);
    double start = test_now_us(), cpu = 0;
    for (uint64_t k = 0; k < FRAMES; k++) {
        raw_vk_fill(&b->p.vk, &shared.vk, 0, GRAPH_SIZE, 1000 * (uint32_t)k,
                    &(raw_vk_job){0, b->in.vk, 3 * k, b->in.vk, 3 * k + 1, true});
        double before = test_now_us();
        CU_OK(graph_set_wait(b, exec, wait, b->in.cu, 3 * k + 1));
        CU_OK(graph_set_signal(b, exec, signal, b->in.cu, 3 * k + 2));
        CU_OK(cu->GraphLaunch(exec, b->p.stream));
        cpu += test_now_us() - before;
        raw_vk_copy(&b->p.vk, &shared.vk, GRAPH_SIZE - 4, &host, 4 * k, 4,
                    &(raw_vk_job){0, b->in.vk, 3 * k + 2, b->in.vk, 3 * k + 3, true});
    }
    REQUIRE(raw_vk_timeline_wait(&b->p.vk, b->in.vk, 3 * FRAMES, FAR_MS));
    MEASURED("graph_frames_ahead",
             "%.1f us a frame, of which the graph's calls %.1f us of the host",
             (test_now_us() - start) / FRAMES, cpu / FRAMES);
    CU_OK(cu->StreamSynchronize(b->p.stream));
    size_t wrong = 0;
    for (uint32_t k = 0; k < FRAMES; k++)
        wrong += ((const uint32_t *)host.mapped)[k] != 1000 * k + 7;
    answer_wrong("words that Vulkan saw", wrong, FRAMES);
    raw_vk_idle(&b->p.vk);
}

/* A launch signals again what was signaled before: a counter would step back, which NVIDIA's
 * driver lets it do (timeline.backwards). */
GRAPH_CASE(
    same_value_again, .mark = TEST_TWIN_STRICTER,
    .reason = "NVIDIA's driver lets the counter go back silently; the twin refuses the launch")
{
    frame f;
    frame_open(b, 0, 1, 5, &f);
    CU_OK(b->p.cu->GraphLaunch(f.exec, b->p.stream));
    CU_OK(raw_cuda_signal(b->p.cu, b->out.cu, 9, b->p.stream));
    CUresult result = b->p.cu->GraphLaunch(f.exec, b->p.stream);
    CU_OK(b->p.cu->StreamSynchronize(b->p.stream));
    answer_is("a launch that signals 5 after 9", result,
              b->p.cu->software ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS);
    answer_counter(b, "then", b->p.cu->software ? 9 : 5);
}

/* Binary semaphores as nodes: one signal and one wait a launch. */
GRAPH_CASE(binary_semaphores, .mark = TEST_BOTH)
{
    const raw_cuda *cu = b->p.cu;
    shared_binary ready = pair_binary(&b->p);
    shared_binary done = pair_binary(&b->p);
    graph_begin(b, b->p.stream);
    CU_OK(graph_kernel(b, b->write, 1, b->p.stream));
    CUresult signal = raw_cuda_signal(cu, ready.cu, 0, b->p.stream),
             wait = raw_cuda_wait(cu, done.cu, 0, b->p.stream);
    CU_OK(graph_kernel(b, b->add, 1, b->p.stream));
    answer_is("a signal captured", signal, CUDA_SUCCESS);
    answer_is("a wait captured", wait, CUDA_SUCCESS);
    CUgraph graph = graph_end(b, b->p.stream);
    CUgraphExec exec = graph_instantiate(b, graph);
    for (int k = 0; k < 3; k++) {
        raw_binary_turn turn = {.wait = &ready.peer, .signal = &done.peer};
        CU_OK(cu->GraphLaunch(exec, b->p.stream));
        raw_vk_submit(&b->p.vk, raw_vk_begin(&b->p.vk, 0), raw_binary_turn_begin(cu, &turn));
        CU_IS(stream_result(&b->p, FAR_MS), CUDA_SUCCESS);
        graph_answer_words(b, answer_key("words after launch %d", k + 1), 1, 1);
    }
    raw_vk_idle(&b->p.vk);
}
