/* SPDX-License-Identifier: MIT */
/* Contract rows: graphs as they are captured, built, asked, changed and launched; and stream
 * captures, and what breaks them. Calls beside a capture: measured.c. */
#define TEST_GROUP "graph."
#include "contract.h"

#include <unistd.h>

enum { GRAPH_WORDS = 4096, GRAPH_SIZE = GRAPH_WORDS * 4 };

/* A pair with the suite's kernels, a buffer of device memory, a second stream and two timelines. */
typedef struct graph_bench {
    pair p;
    const raw_cuda *cu; /* the pair's, as the next two */
    raw_vk *vk;
    CUstream stream;
    CUfunction write;  /* pattern_write */
    CUdeviceptr words; /* GRAPH_WORDS of them, zero */
    CUstream other;
    shared_timeline in, out; /* both 0 */
} graph_bench;

#define GRAPH_CASE(...)                                                                            \
    TEST_ON(graph_bench, b, graph_bench_open(b), graph_bench_close(b), __VA_ARGS__)

static void graph_bench_open(graph_bench *b)
{
    memset(b, 0, sizeof *b);
    pair_open(&b->p);
    const raw_cuda *cu = b->cu = b->p.cu;
    b->vk = &b->p.vk;
    b->stream = b->p.stream;
    b->write = words_kernel(cu, "pattern_write");
    b->words = raw_cuda_memory(cu, GRAPH_SIZE);
    b->other = raw_cuda_stream(cu);
    set_words(&b->p, b->words, 0, GRAPH_WORDS);
    b->in = pair_timeline(&b->p, 0);
    b->out = pair_timeline(&b->p, 0);
}

static void graph_bench_close(graph_bench *b)
{
    CU_OK(b->cu->StreamSynchronize(b->other));
    CU_OK(b->cu->StreamSynchronize(b->stream));
    pair_close(&b->p);
}

static void end_graph(const void *of, void *thing)
{
    CU_OK(((const raw_cuda *)of)->GraphDestroy(*(CUgraph *)thing));
}

static void end_exec(const void *of, void *thing)
{
    CU_OK(((const raw_cuda *)of)->GraphExecDestroy(*(CUgraphExec *)thing));
}

/* Launches pattern_write or pattern_add over b->words. */
static CUresult graph_kernel(const graph_bench *b, CUfunction kernel, unsigned number,
                             CUstream stream)
{
    return words_launch(b->cu, kernel, b->words, GRAPH_WORDS, number, stream);
}

/* What pattern_write(seed) leaves in b->words. */
static size_t graph_wrong(const graph_bench *b, unsigned seed)
{
    uint32_t *found = test_memory(GRAPH_SIZE);
    cuda_read(&b->p, b->words, found, GRAPH_SIZE);
    return words_wrong(found, pattern_words(GRAPH_SIZE, seed), GRAPH_WORDS);
}

static void graph_begin(const graph_bench *b, CUstream stream)
{
    CU_OK(b->cu->StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
}

/* A graph and an executable one, until the case ends. */
static CUgraph graph_end(const graph_bench *b, CUstream stream)
{
    CUgraph graph = NULL;
    CU_OK(b->cu->StreamEndCapture(stream, &graph));
    REQUIRE(graph != NULL);
    test_later(end_graph, b->cu, &graph, sizeof graph);
    return graph;
}

static CUgraphExec graph_instantiate(const graph_bench *b, CUgraph graph)
{
    CUDA_GRAPH_INSTANTIATE_PARAMS how;
    CUgraphExec exec = NULL;
    memset(&how, 0, sizeof how);
    CU_OK(b->cu->GraphInstantiateWithParams(&exec, graph, &how));
    REQUIRE_EQ(how.result_out, CUDA_GRAPH_INSTANTIATE_SUCCESS);
    test_later(end_exec, b->cu, &exec, sizeof exec);
    return exec;
}

/* The only node of this type. */
static CUgraphNode graph_node(const graph_bench *b, CUgraph graph, CUgraphNodeType type)
{
    CUgraphNode nodes[32], found = NULL;
    size_t count = 32;
    CU_OK(b->cu->GraphGetNodes(graph, nodes, &count));
    for (size_t i = 0; i < count; i++) {
        CUgraphNodeType own;
        CU_OK(b->cu->GraphNodeGetType(nodes[i], &own));
        if (own != type) continue;
        REQUIRE(found == NULL);
        found = nodes[i];
    }
    REQUIRE(found != NULL);
    return found;
}

static size_t graph_count(const graph_bench *b, CUgraph graph)
{
    size_t count = 0;
    CU_OK(b->cu->GraphGetNodes(graph, NULL, &count));
    return count;
}

static void graph_set_kernel(const graph_bench *b, CUgraphExec exec, CUgraphNode node,
                             unsigned number)
{
    CUDA_KERNEL_NODE_PARAMS params;
    unsigned count = GRAPH_WORDS;
    CUdeviceptr words = b->words;
    void *arguments[] = {&words, &count, &number};
    CU_OK(b->cu->GraphKernelNodeGetParams(node, &params));
    params.kernelParams = arguments;
    CU_OK(b->cu->GraphExecKernelNodeSetParams(exec, node, &params));
}

/* Work in the stream that the host, or a queue, has not let go on yet. */
static void graph_require_pending(const graph_bench *b, CUstream stream)
{
    usleep(20000);
    CU_IS(b->cu->StreamQuery(stream), CUDA_ERROR_NOT_READY);
}

/* What was captured is what the graph says; the arrays of parameters are the driver's. */
GRAPH_CASE(nodes_say_what_was_captured, .mark = TEST_BOTH)
{
    const raw_cuda *cu = b->cu;
    graph_begin(b, b->stream);
    CU_OK(raw_cuda_wait(cu, b->in.cu, 4, b->stream));
    CU_OK(graph_kernel(b, b->write, 7, b->stream));
    CU_OK(raw_cuda_signal(cu, b->out.cu, 9, b->stream));
    CUgraph graph = graph_end(b, b->stream);
    CUgraphNode from[4], to[4];
    size_t edges = 4;
    CU_OK(cu->GraphGetEdges(graph, from, to, &edges));
    ANSWER("the graph", "%zu nodes, %zu edges", graph_count(b, graph), edges);

    CUgraphNode signal = graph_node(b, graph, CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL),
                wait = graph_node(b, graph, CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT),
                kernel = graph_node(b, graph, CU_GRAPH_NODE_TYPE_KERNEL);
    CUDA_EXT_SEM_SIGNAL_NODE_PARAMS signals;
    CUDA_EXT_SEM_WAIT_NODE_PARAMS waits;
    CUDA_KERNEL_NODE_PARAMS launch;
    CU_OK(cu->GraphExternalSemaphoresSignalNodeGetParams(signal, &signals));
    ANSWER("the signal's node", "%u semaphore, value %llu", signals.numExtSems,
           (unsigned long long)signals.paramsArray[0].params.fence.value);
    REQUIRE(signals.extSemArray[0] == b->out.cu);
    CU_OK(cu->GraphExternalSemaphoresWaitNodeGetParams(wait, &waits));
    ANSWER("the wait's node", "%u semaphore, value %llu", waits.numExtSems,
           (unsigned long long)waits.paramsArray[0].params.fence.value);
    REQUIRE(waits.extSemArray[0] == b->in.cu);
    CU_OK(cu->GraphKernelNodeGetParams(kernel, &launch));
    ANSWER("the kernel's node", "%u blocks of %u, last argument %u", launch.gridDimX,
           launch.blockDimX, *(const unsigned *)launch.kernelParams[2]);

    /* The number of semaphores of a node in an executable graph is fixed (R9). */
    CUgraphExec exec = graph_instantiate(b, graph);
    CUexternalSemaphore two[] = {b->in.cu, b->out.cu};
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS values[2];
    memset(values, 0, sizeof values);
    values[0].params.fence.value = values[1].params.fence.value = 100;
    signals = (CUDA_EXT_SEM_SIGNAL_NODE_PARAMS){two, values, 2};
    answer_refused("two semaphores for one",
                   cu->GraphExecExternalSemaphoresSignalNodeSetParams(exec, signal, &signals));
    answer_refused("a wait's node as a signal's",
                   raw_cuda_set_signal(b->cu, exec, wait, b->out.cu, 100));
    raw_vk_timeline_signal(b->vk, b->in.vk, 4);
    CU_OK(cu->GraphLaunch(exec, b->stream));
    REQUIRE(raw_vk_timeline_wait(b->vk, b->out.vk, 9, FAR_MS));
    CU_OK(cu->StreamSynchronize(b->stream));
}

static void CUDA_CB count_up(void *number)
{
    ++*(int *)number;
}

/* A signal where the driver takes none: it says so when the graph is instantiated. */
static void add_signal(const graph_bench *b, const char *where, CUgraph graph)
{
    CUgraphNode signal = NULL;
    CUexternalSemaphore out = b->out.cu;
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS value;
    memset(&value, 0, sizeof value);
    value.params.fence.value = 1;
    const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS params = {&out, &value, 1};
    answer_call(answer_key("a signal added to %s", where),
                b->cu->GraphAddExternalSemaphoresSignalNode(&signal, graph, NULL, 0, &params));
}

static void answer_instantiate(const graph_bench *b, const char *key, CUgraph graph, uint64_t flags)
{
    CUDA_GRAPH_INSTANTIATE_PARAMS how;
    CUgraphExec exec = NULL;
    memset(&how, 0, sizeof how);
    how.flags = flags;
    const CUresult result = b->cu->GraphInstantiateWithParams(&exec, graph, &how);
    answer_with(key, result, "result %d", (int)how.result_out);
    if (result == CUDA_SUCCESS) CU_OK(b->cu->GraphExecDestroy(exec));
}

GRAPH_CASE(signal_for_the_device, .mark = TEST_TWIN_STRICTER,
           .reason = "no kernel of the twin launches a graph")
{
    const uint64_t on_device = CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH;
    graph_begin(b, b->stream);
    CU_OK(graph_kernel(b, b->write, 7, b->stream));
    CUgraph graph = graph_end(b, b->stream);
    answer_instantiate(b, "a kernel, for the device", graph, on_device);
    add_signal(b, "it", graph);
    answer_instantiate(b, "with the signal, for the device", graph, on_device);
    answer_instantiate(b, "with the signal, for the host", graph, 0);
}

static void answer_cloned(const graph_bench *b, const char *what, CUgraph graph)
{
    CUgraph copy = NULL;
    const CUresult result = b->cu->GraphClone(&copy, graph);
    answer_call(answer_key("%s cloned", what), result);
    if (result == CUDA_SUCCESS) CU_OK(b->cu->GraphDestroy(copy));
}

GRAPH_CASE(signal_in_a_body, .mark = TEST_BOTH)
{
    const raw_cuda *cu = b->cu;
    CUgraph graph = NULL;
    CUgraphNode node = NULL, host = NULL;
    int calls = 0;
    if (cu->GraphAddNode == NULL || cu->GraphConditionalHandleCreate == NULL)
        SKIP("the driver has no conditional nodes");
    CU_OK(cu->GraphCreate(&graph, 0));
    CUgraph body = raw_cuda_conditional(cu, b->p.context, graph, &node);
    answer_instantiate(b, "an empty body", graph, 0);
    answer_instantiate(b, "the empty body alone", body, 0);
    answer_cloned(b, "the empty body", body);
    answer_cloned(b, "the graph with the condition", graph);
    add_signal(b, "the body", body);
    answer_cloned(b, "the body with the signal", body);
    answer_instantiate(b, "with the signal", graph, 0);
    answer_instantiate(b, "the body with the signal, alone", body, 0);
    const CUDA_HOST_NODE_PARAMS host_params = {count_up, &calls};
    answer_call("a host function added to the body",
                cu->GraphAddHostNode(&host, body, NULL, 0, &host_params));
    CU_OK(cu->GraphDestroy(graph));
}

/* As cuda.h says of cuGraphAddMemAllocNode: such a graph has no copy, and is no body. */
GRAPH_CASE(cloned_allocation, .mark = TEST_NVIDIA_ONLY,
           .reason = "the twin has no nodes for memory")
{
    const raw_cuda *cu = b->cu;
    CUgraph graph = NULL;
    CUgraphNode node = NULL;
    CUgraphNodeParams params;
    memset(&params, 0, sizeof params);
    if (cu->software || cu->GraphAddNode == NULL) SKIP("the driver has no nodes for memory");
    CU_OK(cu->GraphCreate(&graph, 0));
    add_signal(b, "an empty graph", graph);
    answer_cloned(b, "a graph with a signal", graph);
    params.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
    params.alloc.poolProps = raw_cuda_pool_props(b->p.device, 0);
    params.alloc.bytesize = 4096;
    CU_OK(cu->GraphAddNode(&node, graph, NULL, NULL, 0, &params));
    answer_cloned(b, "a graph with an allocation", graph);
    add_signal(b, "a graph with an allocation", graph);
    answer_instantiate(b, "a graph with an allocation and signals", graph, 0);
    CU_OK(cu->GraphDestroy(graph));
}

static void CUDA_CB raise(void *flag)
{
    __atomic_store_n((int *)flag, 1, __ATOMIC_RELEASE);
}

/* A graph can keep what belongs to the program: it is freed after the graph, what was instantiated
 * from it, and what of that is still running. */
GRAPH_CASE(user_objects, .mark = TEST_BOTH)
{
    const raw_cuda *cu = b->cu;
    CUuserObject object = NULL;
    int freed = 0;
    CU_OK(cu->UserObjectCreate(&object, &freed, raise, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    graph_begin(b, b->stream);
    CU_OK(raw_cuda_wait(cu, b->in.cu, 1, b->stream));
    CUgraph graph = graph_end(b, b->stream);
    CU_OK(cu->GraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    CUgraphExec exec = graph_instantiate(b, graph);
    test_forget(&graph, sizeof graph);
    CU_OK(cu->GraphDestroy(graph));
    CU_OK(cu->GraphLaunch(exec, b->stream));
    test_forget(&exec, sizeof exec);
    CU_OK(cu->GraphExecDestroy(exec));
    usleep(20000);
    ANSWER("freed while a launch runs", "%s",
           __atomic_load_n(&freed, __ATOMIC_ACQUIRE) ? "yes" : "no");
    raw_vk_timeline_signal(b->vk, b->in.vk, 1);
    CU_OK(cu->StreamSynchronize(b->stream));
    for (unsigned i = 0; i < TEST_FAR_MS && __atomic_load_n(&freed, __ATOMIC_ACQUIRE) == 0; i++)
        usleep(1000);
    ANSWER("freed after it", "%s", __atomic_load_n(&freed, __ATOMIC_ACQUIRE) ? "yes" : "no");
}

/* wait for `in`, write with `seed`, signal `out` */
typedef struct frame {
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode wait, kernel, signal;
} frame;

static void frame_open(graph_bench *b, uint64_t wait, unsigned seed, uint64_t signal, frame *out)
{
    graph_begin(b, b->stream);
    CU_OK(raw_cuda_wait(b->cu, b->in.cu, wait, b->stream));
    CU_OK(graph_kernel(b, b->write, seed, b->stream));
    CU_OK(raw_cuda_signal(b->cu, b->out.cu, signal, b->stream));
    out->graph = graph_end(b, b->stream);
    out->exec = graph_instantiate(b, out->graph);
    out->wait = graph_node(b, out->graph, CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT);
    out->kernel = graph_node(b, out->graph, CU_GRAPH_NODE_TYPE_KERNEL);
    out->signal = graph_node(b, out->graph, CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL);
}

static void frame_set(graph_bench *b, frame *f, uint64_t wait, unsigned seed, uint64_t signal)
{
    CU_OK(raw_cuda_set_wait(b->cu, f->exec, f->wait, b->in.cu, wait));
    graph_set_kernel(b, f->exec, f->kernel, seed);
    CU_OK(raw_cuda_set_signal(b->cu, f->exec, f->signal, b->out.cu, signal));
}

/* What `out` is at. */
static void answer_counter(graph_bench *b, const char *when, uint64_t expected)
{
    answer_number(answer_key("counter %s", when), (int64_t)raw_vk_timeline_value(b->vk, b->out.vk),
                  (int64_t)expected);
}

/* What is set after a launch is for later ones, whether the launch runs already or not. */
GRAPH_CASE(set_after_launch, .mark = TEST_BOTH)
{
    frame f;
    frame_open(b, 1, 1, 10, &f);
    CU_OK(b->cu->GraphLaunch(f.exec, b->stream));
    frame_set(b, &f, 2, 2, 20);
    CU_OK(b->cu->GraphLaunch(f.exec, b->stream));
    frame_set(b, &f, 3, 3, 30);
    graph_require_pending(b, b->stream);
    raw_vk_timeline_signal(b->vk, b->in.vk, 1);
    REQUIRE(raw_vk_timeline_wait(b->vk, b->out.vk, 10, FAR_MS));
    graph_require_pending(b, b->stream);
    answer_counter(b, "after the first launch's wait is over", 10);
    raw_vk_timeline_signal(b->vk, b->in.vk, 2);
    REQUIRE(raw_vk_timeline_wait(b->vk, b->out.vk, 20, FAR_MS));
    CU_OK(b->cu->StreamSynchronize(b->stream));
    answer_counter(b, "after the second one's", 20);
    answer_wrong("words of the second launch", graph_wrong(b, 2), GRAPH_WORDS);
}

/* A launch signals again what was signaled before: a counter would step back, which NVIDIA's
 * driver lets it do (timeline.backwards). */
GRAPH_CASE(same_value_again, .mark = TEST_TWIN_STRICTER,
           .reason = "NVIDIA's driver lets the counter go back; the twin refuses the launch")
{
    frame f;
    frame_open(b, 0, 1, 5, &f);
    CU_OK(b->cu->GraphLaunch(f.exec, b->stream));
    CU_OK(raw_cuda_signal(b->cu, b->out.cu, 9, b->stream));
    CUresult result = b->cu->GraphLaunch(f.exec, b->stream);
    CU_OK(b->cu->StreamSynchronize(b->stream));
    answer_call("a launch that signals 5 after 9", result);
    answer_counter(b, "then", b->cu->software ? 9 : 5);
}

#undef TEST_GROUP
#define TEST_GROUP "capture."

static void answer_status(const graph_bench *b, const char *key, CUstream stream)
{
    CUstreamCaptureStatus status;
    CU_OK(b->cu->StreamIsCapturing(stream, &status));
    ANSWER(key, "%s",
           status == CU_STREAM_CAPTURE_STATUS_NONE     ? "none"
           : status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? "active"
                                                       : "invalidated");
}

/* The capture ends with this error, without a graph, and the stream works again. */
static void require_broken(graph_bench *b, const char *key, CUstream stream, CUresult error)
{
    CUgraph graph = (CUgraph)(void *)b;
    CUresult end = b->cu->StreamEndCapture(stream, &graph);
    answer_with(key, end, "%s", graph == NULL ? "no graph" : "a graph");
    CU_IS(end, error);
    CU_OK(graph_kernel(b, b->write, 77, stream));
    CU_OK(b->cu->StreamSynchronize(stream));
    REQUIRE_EQ(graph_wrong(b, 77), 0);
}

/* A captured stream cannot be asked for its work, nor waited for; the capture is lost. */
GRAPH_CASE(asked_for_its_work, .mark = TEST_BOTH)
{
    const raw_cuda *cu = b->cu;
    for (int waits = 0; waits < 2; waits++) {
        CU_OK(cu->StreamBeginCapture(b->stream, CU_STREAM_CAPTURE_MODE_RELAXED));
        CU_OK(graph_kernel(b, b->write, 1, b->stream));
        const char *call = waits ? "cuStreamSynchronize" : "cuStreamQuery";
        answer_call(call, waits ? cu->StreamSynchronize(b->stream) : cu->StreamQuery(b->stream));
        answer_status(b, answer_key("the capture after %s", call), b->stream);
        answer_call(answer_key("a launch after %s", call), graph_kernel(b, b->write, 1, b->stream));
        answer_call(answer_key("a signal after %s", call),
                    raw_cuda_signal(cu, b->out.cu, 1, b->stream));
        require_broken(b, answer_key("the end after %s", call), b->stream,
                       CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    }
}

/* An event that was recorded in a capture is nobody else's. */
GRAPH_CASE(captured_events, .mark = TEST_BOTH)
{
    const raw_cuda *cu = b->cu;
    CUevent event = raw_cuda_event(b->cu, CU_EVENT_DISABLE_TIMING);
    CU_OK(cu->StreamBeginCapture(b->stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    CU_OK(cu->EventRecord(event, b->stream));
    answer_call("queried in its capture", cu->EventQuery(event));
    CUgraph graph = NULL;
    answer_call("the capture's end", cu->StreamEndCapture(b->stream, &graph));
    if (graph != NULL) CU_OK(cu->GraphDestroy(graph));
    answer_call("queried after it", cu->EventQuery(event));
    answer_call("waited for after it", cu->StreamWaitEvent(b->other, event, 0));
    CU_OK(cu->EventRecord(event, b->stream)); /* and is everybody's again */
    answer_ok("recorded anew", cu->EventSynchronize(event));
}

/* Work outside the capture cannot come before work inside it, unless its event was never
 * recorded. */
GRAPH_CASE(waits_for_uncaptured_work, .mark = TEST_BOTH)
{
    const raw_cuda *cu = b->cu;
    CUevent event = raw_cuda_event(b->cu, CU_EVENT_DISABLE_TIMING);
    graph_begin(b, b->stream);
    answer_call("a wait for an event that was never recorded",
                cu->StreamWaitEvent(b->stream, event, 0));
    CUgraph graph = NULL;
    answer_call("and its end", cu->StreamEndCapture(b->stream, &graph));
    if (graph != NULL) CU_OK(cu->GraphDestroy(graph));
    CU_OK(graph_kernel(b, b->write, 1, b->other));
    CU_OK(cu->EventRecord(event, b->other));
    CU_OK(cu->StreamSynchronize(b->other));
    graph_begin(b, b->stream);
    answer_call("a wait for work outside", cu->StreamWaitEvent(b->stream, event, 0));
    require_broken(b, "and the end of that", b->stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

/* While a blocking stream is captured, the legacy stream is of no use. */
GRAPH_CASE(legacy_beside_a_blocking_stream, .mark = TEST_BOTH)
{
    const raw_cuda *cu = b->cu;
    CUstream blocking = NULL;
    CUstreamCaptureStatus status;
    CU_OK(cu->StreamCreate(&blocking, CU_STREAM_DEFAULT));
    CU_OK(cu->StreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
    answer_call("cuStreamIsCapturing of the legacy stream", cu->StreamIsCapturing(NULL, &status));
    answer_status(b, "the capture then", blocking);
    answer_call("a launch in the legacy stream", graph_kernel(b, b->write, 1, NULL));
    CUgraph graph = NULL;
    answer_call("the capture's end", cu->StreamEndCapture(blocking, &graph));
    if (graph != NULL) CU_OK(cu->GraphDestroy(graph));
    CU_OK(graph_kernel(b, b->write, 1, NULL));
    CU_OK(cu->StreamSynchronize(NULL));
    CU_OK(cu->StreamDestroy(blocking));
}
