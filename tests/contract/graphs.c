/* SPDX-License-Identifier: MIT */
/* Contract rows: graphs as they are captured, built, asked, changed and launched; and stream
 * captures, what joins them and what breaks them. Calls beside a capture: measured_capture.c. */
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
    CUfunction write, add; /* pattern_write, pattern_add */
    CUdeviceptr words;     /* GRAPH_WORDS of them, zero */
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
    b->add = words_kernel(cu, "pattern_add");
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

/* What pattern_write(seed), and then additions of `added` in all, leave in b->words. */
static size_t graph_wrong(const graph_bench *b, unsigned seed, unsigned added)
{
    uint32_t *found = test_memory(GRAPH_SIZE);
    cuda_read(&b->p, b->words, found, GRAPH_SIZE);
    return words_wrong(found, pattern_words(GRAPH_SIZE, seed + added), GRAPH_WORDS);
}

static void graph_answer_words(const graph_bench *b, const char *key, unsigned seed, unsigned added)
{
    answer_wrong(key, graph_wrong(b, seed, added), GRAPH_WORDS);
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
    /* Nor can such a node be disabled. */
    answer_refused("a disabled signal", cu->GraphNodeSetEnabled(exec, signal, 0));
    answer_ok("a disabled kernel", cu->GraphNodeSetEnabled(exec, kernel, 0));
    raw_vk_timeline_signal(b->vk, b->in.vk, 4);
    CU_OK(cu->GraphLaunch(exec, b->stream));
    REQUIRE(raw_vk_timeline_wait(b->vk, b->out.vk, 9, FAR_MS));
    CU_OK(cu->StreamSynchronize(b->stream));
    answer_number("a word that the disabled kernel would have written", cuda_word(&b->p, b->words),
                  0);
}

/* Whether the driver takes a number for an address, as culv_vk_record_graph() asks. */
static unsigned memory_type(const raw_cuda *cu, uint64_t number)
{
    unsigned type = 99;
    CUpointer_attribute attribute = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    void *value = &type;
    CU_OK(cu->PointerGetAttributes(1, &attribute, &value, (CUdeviceptr)number));
    return type;
}

/* What a graph that was captured tells of its kernels, sets and copies. */
GRAPH_CASE(captured_work, .mark = TEST_BOTH)
{
    const raw_cuda *cu = b->cu;
    graph_begin(b, b->stream);
    CU_OK(graph_kernel(b, b->add, 7, b->stream));
    CU_OK(cu->MemsetD32Async(b->words + 64, 11, 100, b->stream));
    CU_OK(cu->MemcpyDtoDAsync(b->words + 4096, b->words + 16, 400, b->stream));
    CUgraph graph = graph_end(b, b->stream);
    REQUIRE_EQ(graph_count(b, graph), 3);
    CUDA_KERNEL_NODE_PARAMS kernel;
    CUDA_MEMSET_NODE_PARAMS set;
    CUDA_MEMCPY3D copy;
    const char *name = NULL;
    memset(&kernel, 0, sizeof kernel);
    memset(&set, 0, sizeof set);
    memset(&copy, 0, sizeof copy);
    CU_OK(cu->GraphKernelNodeGetParams(graph_node(b, graph, CU_GRAPH_NODE_TYPE_KERNEL), &kernel));
    CU_OK(cu->GraphMemsetNodeGetParams(graph_node(b, graph, CU_GRAPH_NODE_TYPE_MEMSET), &set));
    CU_OK(cu->GraphMemcpyNodeGetParams(graph_node(b, graph, CU_GRAPH_NODE_TYPE_MEMCPY), &copy));
    ANSWER("the kernel's function", "%s", kernel.func == b->add ? "the same" : "another");
    if (cu->FuncGetName != NULL) CU_OK(cu->FuncGetName(&name, kernel.func));
    ANSWER("its name", "%s", name != NULL ? name : "none");
    ANSWER("the set", "%u as %u bytes, %zu x %zu, from byte %llu", set.value, set.elementSize,
           set.width, set.height, (unsigned long long)(set.dst - b->words));
    ANSWER("the copy's memory", "%u to %u", (unsigned)copy.srcMemoryType,
           (unsigned)copy.dstMemoryType);
    ANSWER("the copy", "%zu x %zu x %zu, from byte %llu to byte %llu", copy.WidthInBytes,
           copy.Height, copy.Depth,
           (unsigned long long)(copy.srcDevice + copy.srcXInBytes - b->words),
           (unsigned long long)(copy.dstDevice + copy.dstXInBytes - b->words));
    ANSWER("the memory type of the words", "%u", memory_type(cu, b->words + 8));
    ANSWER("the memory type of a double", "%u", memory_type(cu, 0x4053400000000000u));
    ANSWER("the memory type of a small number", "%u", memory_type(cu, 4096));
}

static void CUDA_CB count_up(void *number)
{
    ++*(int *)number;
}

/* A set of one half, a copy of it to the other one, a kernel over both, a host function, a
 * signal. */
GRAPH_CASE(built_by_hand, .mark = TEST_BOTH)
{
    const raw_cuda *cu = b->cu;
    CUgraph graph = NULL;
    CUgraphNode set, copy, kernel, host, empty, signal;
    int calls = 0;
    CU_OK(cu->GraphCreate(&graph, 0));
    const CUDA_MEMSET_NODE_PARAMS set_params = {
        .dst = b->words, .value = 1000, .elementSize = 4, .width = GRAPH_WORDS / 2, .height = 1};
    CU_OK(cu->GraphAddMemsetNode(&set, graph, NULL, 0, &set_params, b->p.context));
    const CUDA_MEMCPY3D copy_params =
        TEST_ROW(.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = b->words,
                 .srcPitch = GRAPH_SIZE / 2, .srcHeight = 1, .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                 .dstDevice = b->words + GRAPH_SIZE / 2, .dstPitch = GRAPH_SIZE / 2, .dstHeight = 1,
                 .WidthInBytes = GRAPH_SIZE / 2, .Height = 1, .Depth = 1);
    CU_OK(cu->GraphAddMemcpyNode(&copy, graph, &set, 1, &copy_params, b->p.context));
    unsigned count = GRAPH_WORDS, addend = 5;
    CUdeviceptr words = b->words;
    void *arguments[] = {&words, &count, &addend};
    const CUDA_KERNEL_NODE_PARAMS kernel_params =
        TEST_ROW(.func = b->add, .gridDimX = GRAPH_WORDS / 256, .gridDimY = 1, .gridDimZ = 1,
                 .blockDimX = 256, .blockDimY = 1, .blockDimZ = 1, .kernelParams = arguments);
    CU_OK(cu->GraphAddKernelNode(&kernel, graph, &copy, 1, &kernel_params));
    addend = 0; /* arguments were copied */
    CU_OK(cu->GraphAddEmptyNode(&empty, graph, &kernel, 1));
    const CUDA_HOST_NODE_PARAMS host_params = {count_up, &calls};
    CU_OK(cu->GraphAddHostNode(&host, graph, NULL, 0, &host_params));
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS value;
    memset(&value, 0, sizeof value);
    value.params.fence.value = 1;
    const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS signal_params = {&b->out.cu, &value, 1};
    CU_OK(cu->GraphAddExternalSemaphoresSignalNode(&signal, graph, NULL, 0, &signal_params));
    const CUgraphNode from[] = {empty, host}, to[] = {host, signal};
    CU_OK(cu->GraphAddDependencies(graph, from, to, 2));
    answer_refused("a dependency that is there", cu->GraphAddDependencies(graph, from, to, 1));

    CUgraphExec exec = graph_instantiate(b, graph);
    CU_OK(cu->GraphUpload(exec, b->stream));
    for (uint64_t k = 1; k <= 2; k++) {
        CU_OK(raw_cuda_set_signal(b->cu, exec, signal, b->out.cu, k));
        CU_OK(cu->GraphLaunch(exec, b->stream));
        REQUIRE(raw_vk_timeline_wait(b->vk, b->out.vk, k, FAR_MS));
        CU_OK(cu->StreamSynchronize(b->stream));
        REQUIRE_EQ(calls, k);
        uint32_t found[GRAPH_WORDS];
        cuda_read(&b->p, b->words, found, sizeof found);
        answer_wrong(answer_key("words after launch %u", (unsigned)k),
                     words_not(found, 1005, GRAPH_WORDS), GRAPH_WORDS);
    }
    const CUgraphNode back_from[] = {signal}, back_to[] = {set};
    CUresult cycle = cu->GraphAddDependencies(graph, back_from, back_to, 1);
    CUDA_GRAPH_INSTANTIATE_PARAMS how;
    memset(&how, 0, sizeof how);
    answer_refused(cycle == CUDA_SUCCESS ? "a cycle, when instantiated" : "a cycle",
                   cycle == CUDA_SUCCESS ? cu->GraphInstantiateWithParams(&exec, graph, &how)
                                         : cycle);
    CU_OK(cu->GraphDestroy(graph));
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

/* What a capture into a body takes. */
GRAPH_CASE(captured_into_a_body, .mark = TEST_NVIDIA_ONLY,
           .reason = "the twin has no cuStreamBeginCaptureToGraph")
{
    const raw_cuda *cu = b->cu;
    CUgraph graph = NULL, ended = NULL;
    CUgraphNode node = NULL;
    if (cu->GraphAddNode == NULL || cu->GraphConditionalHandleCreate == NULL ||
        cu->StreamBeginCaptureToGraph == NULL)
        SKIP("the driver has no conditional nodes");
    CU_OK(cu->GraphCreate(&graph, 0));
    CUgraph body = raw_cuda_conditional(cu, b->p.context, graph, &node);
    CU_OK(cu->StreamBeginCaptureToGraph(b->stream, body, NULL, NULL, 0,
                                        CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    answer_cloned(b, "a body under capture", body);
    answer_call("a signal", raw_cuda_signal(cu, b->out.cu, 1, b->stream));
    answer_call("the end of the capture", cu->StreamEndCapture(b->stream, &ended));
    answer_instantiate(b, "with the signal", graph, 0);
    CU_OK(cu->GraphDestroy(graph));
}

/* Copies, sets and copies of arrays in a capture run anew with each launch. */
GRAPH_CASE(captured_copies, .mark = TEST_BOTH)
{
    enum { SIDE = 64 };
    const raw_cuda *cu = b->cu;
    const CUDA_ARRAY3D_DESCRIPTOR desc = {SIDE, SIDE, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, 0};
    CUarray array = raw_cuda_array(cu, &desc);
    CUdeviceptr from = raw_cuda_memory(cu, GRAPH_SIZE);
    CUdeviceptr to = raw_cuda_memory(cu, GRAPH_SIZE);
    const CUDA_MEMCPY3D in =
        TEST_ROW(.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = from, .srcPitch = SIDE * 4,
                 .srcHeight = SIDE, .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = array,
                 .WidthInBytes = SIDE * 4, .Height = SIDE, .Depth = 1);
    const CUDA_MEMCPY2D out =
        TEST_ROW(.srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = array,
                 .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = to, .dstPitch = SIDE * 4,
                 .WidthInBytes = SIDE * 4, .Height = SIDE);
    graph_begin(b, b->stream);
    CU_OK(cu->MemcpyDtoDAsync(from, b->words, GRAPH_SIZE, b->stream));
    CU_OK(cu->MemsetD32Async(from, 0x1234, 16, b->stream));
    CU_OK(cu->Memcpy3DAsync(&in, b->stream));
    CU_OK(cu->Memcpy2DAsync(&out, b->stream));
    CUgraph graph = graph_end(b, b->stream);
    REQUIRE_EQ(graph_count(b, graph), 4);
    CUgraphExec exec = graph_instantiate(b, graph);
    for (unsigned turn = 0; turn < 2; turn++) {
        uint32_t found[GRAPH_WORDS], *expected = pattern_words(GRAPH_SIZE, turn);
        CU_OK(graph_kernel(b, b->write, turn, b->stream));
        CU_OK(cu->GraphLaunch(exec, b->stream));
        CU_OK(cu->StreamSynchronize(b->stream));
        for (size_t i = 0; i < 16; i++)
            expected[i] = 0x1234;
        cuda_read(&b->p, to, found, GRAPH_SIZE);
        answer_wrong(answer_key("words copied by launch %u", turn + 1),
                     words_wrong(found, expected, GRAPH_WORDS), GRAPH_WORDS);
    }
}

/* cuGraphExecUpdate takes the values of a graph of the same shape, and no other one. */
GRAPH_CASE(updated, .mark = TEST_BOTH)
{
    const raw_cuda *cu = b->cu;
    CUgraph graphs[3];
    for (unsigned i = 0; i < 3; i++) {
        graph_begin(b, b->stream);
        CU_OK(graph_kernel(b, b->write, 10 + i, b->stream));
        CU_OK(raw_cuda_signal(cu, b->out.cu, 1 + i, b->stream));
        if (i == 2) CU_OK(graph_kernel(b, b->add, 1, b->stream));
        graphs[i] = graph_end(b, b->stream);
    }
    CUgraphExec exec = graph_instantiate(b, graphs[0]);
    CU_OK(cu->GraphLaunch(exec, b->stream));
    CUgraphExecUpdateResultInfo info;
    memset(&info, 0, sizeof info);
    answer_ok("an update of the same shape", cu->GraphExecUpdate(exec, graphs[1], &info));
    REQUIRE_EQ(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
    CU_OK(cu->GraphLaunch(exec, b->stream));
    REQUIRE(raw_vk_timeline_wait(b->vk, b->out.vk, 2, FAR_MS));
    CU_OK(cu->StreamSynchronize(b->stream));
    graph_answer_words(b, "words after it", 11, 0);
    answer_call("an update of another shape", cu->GraphExecUpdate(exec, graphs[2], &info));
    answer_number("its reason", info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
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

/* A wait node holds a launch until the host has signaled, or a queue, whichever the value is. */
GRAPH_CASE(values_of_each_launch, .mark = TEST_BOTH)
{
    frame f;
    frame_open(b, 1, 100, 1, &f);
    for (unsigned k = 1; k <= 6; k++) {
        if (k > 1) frame_set(b, &f, k, 100 + k, k);
        CU_OK(b->cu->GraphLaunch(f.exec, b->stream));
        if (k < 3) graph_require_pending(b, b->stream);
        REQUIRE_EQ(raw_vk_timeline_value(b->vk, b->out.vk), k - 1);
        if (k % 2 == 0)
            raw_vk_timeline_signal(b->vk, b->in.vk, k);
        else
            raw_vk_submit(b->vk, raw_vk_begin(b->vk, 0),
                          &(raw_vk_job){.signal = b->in.vk, .signal_value = k, .pending = true});
        REQUIRE(raw_vk_timeline_wait(b->vk, b->out.vk, k, FAR_MS));
        CU_OK(b->cu->StreamSynchronize(b->stream));
        graph_answer_words(b, answer_key("words after launch %u", k), k == 1 ? 100 : 100 + k, 0);
    }
    raw_vk_idle(b->vk);
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
    graph_answer_words(b, "words of the second launch", 2, 0);
}

/* Launches of one executable graph run one after another, in whatever streams. */
GRAPH_CASE(launches_in_two_streams, .mark = TEST_BOTH)
{
    frame f;
    frame_open(b, 1, 1, 10, &f);
    CU_OK(b->cu->GraphLaunch(f.exec, b->stream));
    frame_set(b, &f, 0, 2, 20); /* it could go on at once */
    CU_OK(b->cu->GraphLaunch(f.exec, b->other));
    graph_require_pending(b, b->other);
    answer_counter(b, "while the first launch waits", 0);
    raw_vk_timeline_signal(b->vk, b->in.vk, 1);
    CU_OK(b->cu->StreamSynchronize(b->other));
    CU_OK(b->cu->StreamSynchronize(b->stream));
    answer_counter(b, "after both", 20);
    graph_answer_words(b, "words of the second launch", 2, 0);
}

/* Work before a launch in its stream is done before, work after it after. */
GRAPH_CASE(order_in_the_stream, .mark = TEST_BOTH)
{
    frame f;
    frame_open(b, 0, 1, 10, &f);
    CU_OK(raw_cuda_wait(b->cu, b->in.cu, 1, b->stream));
    CU_OK(graph_kernel(b, b->write, 50, b->stream));
    CU_OK(b->cu->GraphLaunch(f.exec, b->stream));
    CU_OK(graph_kernel(b, b->add, 3, b->stream));
    graph_require_pending(b, b->stream);
    answer_counter(b, "while work before the launch waits", 0);
    raw_vk_timeline_signal(b->vk, b->in.vk, 1);
    CU_OK(b->cu->StreamSynchronize(b->stream));
    graph_answer_words(b, "words of the launch and of the kernel after it", 1, 3);
    answer_counter(b, "after all", 10);
}

/* The graph may go once it is instantiated, and the executable one once it is launched. */
GRAPH_CASE(destroyed_early, .mark = TEST_BOTH)
{
    frame f;
    frame_open(b, 1, 1, 10, &f);
    test_forget(&f.graph, sizeof f.graph);
    CU_OK(b->cu->GraphDestroy(f.graph));
    test_forget(&f.exec, sizeof f.exec);
    CU_OK(b->cu->GraphLaunch(f.exec, b->stream));
    graph_require_pending(b, b->stream);
    answer_ok("cuGraphExecDestroy while its launch waits", b->cu->GraphExecDestroy(f.exec));
    raw_vk_timeline_signal(b->vk, b->in.vk, 1);
    REQUIRE(raw_vk_timeline_wait(b->vk, b->out.vk, 10, FAR_MS));
    answer_ok("the stream after it", b->cu->StreamSynchronize(b->stream));
    graph_answer_words(b, "words of the launch", 1, 0);
}

/* Whether a branch that waits for a semaphore keeps another one from running: one that the host
 * lets go on, and one that the other branch does. */
GRAPH_CASE(branches)
{
    const raw_cuda *cu = b->cu;
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait = {.flags = 0};
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal = {.flags = 0};
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
    CU_OK(cu->GraphLaunch(exec, b->stream));
    bool passed = raw_vk_timeline_wait(b->vk, b->out.vk, 1, patience(&b->p, 1000));
    ANSWER("a branch beside one that waits", "%s", passed ? "runs" : "waits too");
    graph_require_pending(b, b->stream);
    raw_vk_timeline_signal(b->vk, b->in.vk, 1);
    CU_OK(cu->StreamSynchronize(b->stream));
    test_forget(&exec, sizeof exec);
    CU_OK(cu->GraphExecDestroy(exec));
    CU_OK(cu->GraphDestroy(graph));

    CU_OK(cu->GraphCreate(&graph, 0));
    wait.params.fence.value = signal.params.fence.value = 2;
    CU_OK(cu->GraphAddExternalSemaphoresWaitNode(&waits, graph, NULL, 0, &for_branch));
    CU_OK(cu->GraphAddExternalSemaphoresSignalNode(&signals, graph, NULL, 0, &to_branch));
    exec = graph_instantiate(b, graph);
    CU_OK(cu->GraphLaunch(exec, b->stream));
    passed = stream_result(&b->p, patience(&b->p, 1000)) == CUDA_SUCCESS;
    ANSWER("a branch that waits for another one", "%s", passed ? "goes on" : "hangs");
    if (!passed) raw_vk_timeline_signal(b->vk, b->out.vk, 2);
    CU_OK(cu->StreamSynchronize(b->stream));
    CU_OK(cu->GraphDestroy(graph));
}

/* Frames through a graph alone, submitted ahead: Vulkan fills, the graph adds, Vulkan copies
 * out. */
GRAPH_CASE(frames_ahead, .mark = TEST_BOTH)
{
    enum { FRAMES = 48 };
    const raw_cuda *cu = b->cu;
    shared_buffer shared = pair_buffer(&b->p, GRAPH_SIZE, 0, false);
    raw_vk_buffer host = pair_vk_buffer(&b->p, FRAMES * 4, RAW_VK_HOST);
    b->words = shared.pointer;
    graph_begin(b, b->stream);
    CU_OK(raw_cuda_wait(cu, b->in.cu, 1, b->stream));
    CU_OK(graph_kernel(b, b->add, 7, b->stream));
    CU_OK(raw_cuda_signal(cu, b->in.cu, 2, b->stream));
    CUgraph graph = graph_end(b, b->stream);
    CUgraphExec exec = graph_instantiate(b, graph);
    CUgraphNode wait = graph_node(b, graph, CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT),
                signal = graph_node(b, graph, CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL);
    for (uint64_t k = 0; k < FRAMES; k++) {
        raw_vk_fill(b->vk, &shared.vk, 0, GRAPH_SIZE, 1000 * (uint32_t)k,
                    &(raw_vk_job){0, b->in.vk, 3 * k, b->in.vk, 3 * k + 1, true});
        CU_OK(raw_cuda_set_wait(b->cu, exec, wait, b->in.cu, 3 * k + 1));
        CU_OK(raw_cuda_set_signal(b->cu, exec, signal, b->in.cu, 3 * k + 2));
        CU_OK(cu->GraphLaunch(exec, b->stream));
        raw_vk_copy(b->vk, &shared.vk, GRAPH_SIZE - 4, &host, 4 * k, 4,
                    &(raw_vk_job){0, b->in.vk, 3 * k + 2, b->in.vk, 3 * k + 3, true});
    }
    REQUIRE(raw_vk_timeline_wait(b->vk, b->in.vk, 3 * FRAMES, FAR_MS));
    CU_OK(cu->StreamSynchronize(b->stream));
    size_t wrong = 0;
    for (uint32_t k = 0; k < FRAMES; k++)
        wrong += ((const uint32_t *)host.mapped)[k] != 1000 * k + 7;
    answer_wrong("words that Vulkan saw", wrong, FRAMES);
    raw_vk_idle(b->vk);
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

/* Binary semaphores as nodes: one signal and one wait a launch. */
GRAPH_CASE(binary_semaphores, .mark = TEST_BOTH)
{
    const raw_cuda *cu = b->cu;
    shared_binary ready = pair_binary(&b->p);
    shared_binary done = pair_binary(&b->p);
    graph_begin(b, b->stream);
    CU_OK(graph_kernel(b, b->write, 1, b->stream));
    answer_ok("a signal captured", raw_cuda_signal(cu, ready.cu, 0, b->stream));
    answer_ok("a wait captured", raw_cuda_wait(cu, done.cu, 0, b->stream));
    CU_OK(graph_kernel(b, b->add, 1, b->stream));
    CUgraph graph = graph_end(b, b->stream);
    CUgraphExec exec = graph_instantiate(b, graph);
    for (int k = 0; k < 3; k++) {
        raw_binary_turn turn = {.wait = &ready.peer, .signal = &done.peer};
        CU_OK(cu->GraphLaunch(exec, b->stream));
        raw_vk_submit(b->vk, raw_vk_begin(b->vk, 0), raw_binary_turn_begin(cu, &turn));
        CU_IS(stream_result(&b->p, FAR_MS), CUDA_SUCCESS);
        graph_answer_words(b, answer_key("words after launch %d", k + 1), 1, 1);
    }
    raw_vk_idle(b->vk);
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
    REQUIRE_EQ(graph_wrong(b, 77, 0), 0);
}

GRAPH_CASE(nothing_runs, .mark = TEST_BOTH)
{
    answer_status(b, "before", b->stream);
    graph_begin(b, b->stream);
    answer_status(b, "in it", b->stream);
    answer_status(b, "in it, another stream", b->other);
    CU_OK(graph_kernel(b, b->write, 1, b->stream));
    CU_OK(raw_cuda_signal(b->cu, b->out.cu, 1, b->stream));
    CUstreamCaptureStatus status;
    cuuint64_t id = 0;
    CUgraph graph = NULL, captured = NULL;
    const CUgraphNode *next = NULL;
    size_t num_next = 0;
    CU_OK(b->cu->StreamGetCaptureInfo(b->stream, &status, &id, &captured, &next, &num_next));
    REQUIRE_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    REQUIRE(id != 0);
    REQUIRE_EQ(num_next, 1);
    CUgraphNodeType type;
    CU_OK(b->cu->GraphNodeGetType(next[0], &type));
    ANSWER("the last node after a kernel and a signal", "one, of type %d", (int)type);
    graph = graph_end(b, b->stream);
    answer_so("the graph", graph == captured, "another one");
    answer_status(b, "after it", b->stream);
    CU_OK(b->cu->StreamSynchronize(b->stream));
    ANSWER("what has run", "counter %llu, word %u",
           (unsigned long long)raw_vk_timeline_value(b->vk, b->out.vk),
           (unsigned)cuda_word(&b->p, b->words + 4));
}

/* Events carry a capture into another stream and back. */
GRAPH_CASE(forks_and_joins, .mark = TEST_BOTH)
{
    const raw_cuda *cu = b->cu;
    CUevent fork = raw_cuda_event(b->cu, CU_EVENT_DISABLE_TIMING),
            join = raw_cuda_event(b->cu, CU_EVENT_DISABLE_TIMING);
    graph_begin(b, b->stream);
    CU_OK(graph_kernel(b, b->write, 1, b->stream));
    CU_OK(cu->EventRecord(fork, b->stream));
    CU_OK(cu->StreamWaitEvent(b->other, fork, 0));
    answer_status(b, "the forked stream", b->other);
    CU_OK(raw_cuda_wait(cu, b->in.cu, 1, b->other));
    CU_OK(graph_kernel(b, b->add, 10, b->other));
    CU_OK(cu->EventRecord(join, b->other));
    CU_OK(raw_cuda_signal(cu, b->out.cu, 1, b->stream));
    CU_OK(cu->StreamWaitEvent(b->stream, join, 0));
    CU_OK(graph_kernel(b, b->add, 100, b->stream));
    CUgraph graph = graph_end(b, b->stream);
    answer_status(b, "the forked stream after it", b->other);
    size_t edges = 0;
    CU_OK(cu->GraphGetEdges(graph, NULL, NULL, &edges));
    ANSWER("the graph", "%zu nodes, %zu edges", graph_count(b, graph), edges);
    CUgraphExec exec = graph_instantiate(b, graph);
    CU_OK(cu->GraphLaunch(exec, b->stream));
    graph_require_pending(b, b->stream);
    /* the launch is none of its work */
    answer_ok("the forked stream while the launch waits", cu->StreamSynchronize(b->other));
    raw_vk_timeline_signal(b->vk, b->in.vk, 1);
    CU_OK(cu->StreamSynchronize(b->stream));
    graph_answer_words(b, "words after a launch", 1, 110);
    REQUIRE_EQ(raw_vk_timeline_value(b->vk, b->out.vk), 1);
}

GRAPH_CASE(unjoined, .mark = TEST_BOTH)
{
    CUevent fork = raw_cuda_event(b->cu, CU_EVENT_DISABLE_TIMING);
    graph_begin(b, b->stream);
    CU_OK(b->cu->EventRecord(fork, b->stream));
    CU_OK(b->cu->StreamWaitEvent(b->other, fork, 0));
    CU_OK(graph_kernel(b, b->write, 1, b->other));
    require_broken(b, "its end", b->stream, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    answer_status(b, "the forked stream after it", b->other);
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

GRAPH_CASE(two_captures_do_not_merge, .title = "capture.two_do_not_merge", .mark = TEST_BOTH)
{
    CUevent event = raw_cuda_event(b->cu, CU_EVENT_DISABLE_TIMING);
    graph_begin(b, b->stream);
    graph_begin(b, b->other);
    CU_OK(graph_kernel(b, b->write, 1, b->other));
    CU_OK(b->cu->EventRecord(event, b->other));
    answer_call("a wait for the other one's event", b->cu->StreamWaitEvent(b->stream, event, 0));
    CUgraph graph = NULL;
    answer_call("the one that waited ends", b->cu->StreamEndCapture(b->stream, &graph));
    answer_call("the other one ends", b->cu->StreamEndCapture(b->other, &graph));
    if (graph != NULL) CU_OK(b->cu->GraphDestroy(graph));
}

typedef struct elsewhere {
    const graph_bench *b;
    CUresult result;
} elsewhere;

static void *end_elsewhere(void *argument)
{
    elsewhere *e = argument;
    CUgraph graph = NULL;
    CU_OK(e->b->cu->CtxSetCurrent(e->b->p.context));
    e->result = e->b->cu->StreamEndCapture(e->b->stream, &graph);
    return NULL;
}

/* A capture ends in the thread where it began, unless it is a relaxed one; and in the stream. */
GRAPH_CASE(ends_where_it_began, .mark = TEST_BOTH)
{
    const raw_cuda *cu = b->cu;
    elsewhere e = {.b = b};
    pthread_t thread;
    CUgraph graph = NULL;
    CUevent fork = raw_cuda_event(b->cu, CU_EVENT_DISABLE_TIMING);
    graph_begin(b, b->stream);
    REQUIRE(pthread_create(&thread, NULL, end_elsewhere, &e) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    answer_call("in the wrong thread", e.result);
    answer_call("after a try in the wrong thread",
                cu->StreamEndCapture(b->stream, &graph)); /* the wrong thread has ended it */
    REQUIRE(graph == NULL);

    graph_begin(b, b->stream);
    CU_OK(cu->EventRecord(fork, b->stream));
    CU_OK(cu->StreamWaitEvent(b->other, fork, 0));
    answer_call("in the wrong stream", cu->StreamEndCapture(b->other, &graph));
    graph = NULL;
    answer_call("after a try in the wrong stream", cu->StreamEndCapture(b->stream, &graph));
    if (graph != NULL) CU_OK(cu->GraphDestroy(graph));

    CU_OK(cu->StreamBeginCapture(b->stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    answer_refused("a capture begun twice",
                   cu->StreamBeginCapture(b->stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    graph = NULL;
    CU_OK(cu->StreamEndCapture(b->stream, &graph));
    REQUIRE_EQ(graph_count(b, graph), 0);
    CU_OK(cu->GraphDestroy(graph));
    answer_refused("a capture ended twice", cu->StreamEndCapture(b->stream, &graph));
    answer_refused("the legacy stream's capture",
                   cu->StreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_RELAXED));
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
