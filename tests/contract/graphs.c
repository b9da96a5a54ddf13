/* SPDX-License-Identifier: MIT */
/* Contract rows: graphs as they are captured, built, asked and changed. */
#define TEST_GROUP "graph."
#include "graphs.h"

#include <unistd.h>

#define FAR_MS 20000u

void graph_bench_open(graph_bench *b)
{
    memset(b, 0, sizeof *b);
    pair_open(&b->p);
    const raw_cuda *cu = b->p.cu;
    if (cu->StreamBeginCapture == NULL || cu->GraphInstantiateWithParams == NULL ||
        cu->GraphGetNodes == NULL || cu->GraphExecExternalSemaphoresSignalNodeSetParams == NULL ||
        cu->GraphExecKernelNodeSetParams == NULL)
        SKIP("this driver has no graphs");
    CUmodule module = raw_cuda_module(cu, "pattern");
    b->write = raw_cuda_function(cu, module, "pattern_write");
    b->add = raw_cuda_function(cu, module, "pattern_add");
    b->words = raw_cuda_memory(cu, GRAPH_SIZE);
    CU_OK(cu->MemsetD32Async(b->words, 0, GRAPH_WORDS, b->p.stream));
    b->other = raw_cuda_stream(cu);
    CU_OK(cu->StreamSynchronize(b->p.stream));
    b->in = pair_timeline(&b->p, 0);
    b->out = pair_timeline(&b->p, 0);
}

void graph_bench_close(graph_bench *b)
{
    CU_OK(b->p.cu->StreamSynchronize(b->other));
    CU_OK(b->p.cu->StreamSynchronize(b->p.stream));
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

CUresult graph_kernel(const graph_bench *b, CUfunction kernel, unsigned number, CUstream stream)
{
    unsigned count = GRAPH_WORDS;
    CUdeviceptr words = b->words;
    void *arguments[] = {&words, &count, &number};
    return b->p.cu->LaunchKernel(kernel, GRAPH_WORDS / 256, 1, 1, 256, 1, 1, 0, stream, arguments,
                                 NULL);
}

static size_t wrong_words(const graph_bench *b, unsigned seed, unsigned added)
{
    uint32_t *found = test_memory(GRAPH_SIZE), *expected = pattern_words(GRAPH_SIZE, seed);
    size_t wrong = 0;
    cuda_read(&b->p, b->words, found, GRAPH_SIZE);
    for (size_t i = 0; i < GRAPH_WORDS; i++)
        wrong += found[i] != expected[i] + added;
    return wrong;
}

void graph_require_words(const graph_bench *b, unsigned seed, unsigned added)
{
    REQUIRE_EQ(wrong_words(b, seed, added), 0);
}

void graph_answer_words(const graph_bench *b, const char *key, unsigned seed, unsigned added)
{
    answer_wrong(key, wrong_words(b, seed, added), GRAPH_WORDS);
}

void graph_begin(const graph_bench *b, CUstream stream)
{
    CU_OK(b->p.cu->StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
}

CUgraph graph_end(const graph_bench *b, CUstream stream)
{
    CUgraph graph = NULL;
    CU_OK(b->p.cu->StreamEndCapture(stream, &graph));
    REQUIRE(graph != NULL);
    test_later(end_graph, b->p.cu, &graph, sizeof graph);
    return graph;
}

CUgraphExec graph_instantiate(const graph_bench *b, CUgraph graph)
{
    CUDA_GRAPH_INSTANTIATE_PARAMS how;
    CUgraphExec exec = NULL;
    memset(&how, 0, sizeof how);
    CU_OK(b->p.cu->GraphInstantiateWithParams(&exec, graph, &how));
    REQUIRE_EQ(how.result_out, CUDA_GRAPH_INSTANTIATE_SUCCESS);
    test_later(end_exec, b->p.cu, &exec, sizeof exec);
    return exec;
}

CUgraphNode graph_node(const graph_bench *b, CUgraph graph, CUgraphNodeType type)
{
    CUgraphNode nodes[32], found = NULL;
    size_t count = 32;
    CU_OK(b->p.cu->GraphGetNodes(graph, nodes, &count));
    for (size_t i = 0; i < count; i++) {
        CUgraphNodeType own;
        CU_OK(b->p.cu->GraphNodeGetType(nodes[i], &own));
        if (own != type) continue;
        REQUIRE(found == NULL);
        found = nodes[i];
    }
    REQUIRE(found != NULL);
    return found;
}

size_t graph_count(const graph_bench *b, CUgraph graph)
{
    size_t count = 0;
    CU_OK(b->p.cu->GraphGetNodes(graph, NULL, &count));
    return count;
}

CUresult graph_set_signal(const graph_bench *b, CUgraphExec exec, CUgraphNode node,
                          CUexternalSemaphore semaphore, uint64_t value)
{
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal;
    memset(&signal, 0, sizeof signal);
    signal.params.fence.value = value;
    const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS params = {&semaphore, &signal, 1};
    return b->p.cu->GraphExecExternalSemaphoresSignalNodeSetParams(exec, node, &params);
}

CUresult graph_set_wait(const graph_bench *b, CUgraphExec exec, CUgraphNode node,
                        CUexternalSemaphore semaphore, uint64_t value)
{
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait;
    memset(&wait, 0, sizeof wait);
    wait.params.fence.value = value;
    const CUDA_EXT_SEM_WAIT_NODE_PARAMS params = {&semaphore, &wait, 1};
    return b->p.cu->GraphExecExternalSemaphoresWaitNodeSetParams(exec, node, &params);
}

void graph_set_kernel(const graph_bench *b, CUgraphExec exec, CUgraphNode node, unsigned number)
{
    CUDA_KERNEL_NODE_PARAMS params;
    unsigned count = GRAPH_WORDS;
    CUdeviceptr words = b->words;
    void *arguments[] = {&words, &count, &number};
    CU_OK(b->p.cu->GraphKernelNodeGetParams(node, &params));
    params.kernelParams = arguments;
    CU_OK(b->p.cu->GraphExecKernelNodeSetParams(exec, node, &params));
}

void graph_require_pending(const graph_bench *b, CUstream stream)
{
    usleep(20000);
    CU_IS(b->p.cu->StreamQuery(stream), CUDA_ERROR_NOT_READY);
}

void graph_refused(const char *what, CUresult actual)
{
    answer_call(what, actual);
    REQUIRE(actual != CUDA_SUCCESS);
}

/* What was captured is what the graph says; the arrays of parameters are the driver's. */
GRAPH_CASE(nodes_say_what_was_captured, .mark = TEST_BOTH)
{
    const raw_cuda *cu = b->p.cu;
    graph_begin(b, b->p.stream);
    CU_OK(raw_cuda_wait(cu, b->in.cu, 4, b->p.stream));
    CU_OK(graph_kernel(b, b->write, 7, b->p.stream));
    CU_OK(raw_cuda_signal(cu, b->out.cu, 9, b->p.stream));
    CUgraph graph = graph_end(b, b->p.stream);
    CUgraphNode from[4], to[4];
    size_t edges = 4;
    CU_OK(cu->GraphGetEdges(graph, from, to, &edges));
    ANSWER("the graph", "%zu nodes, %zu edges", graph_count(b, graph), edges);
    REQUIRE_EQ(graph_count(b, graph), 3);
    REQUIRE_EQ(edges, 2);

    CUgraphNode signal = graph_node(b, graph, CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL),
                wait = graph_node(b, graph, CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT),
                kernel = graph_node(b, graph, CU_GRAPH_NODE_TYPE_KERNEL);
    CUDA_EXT_SEM_SIGNAL_NODE_PARAMS signals;
    CUDA_EXT_SEM_WAIT_NODE_PARAMS waits;
    CUDA_KERNEL_NODE_PARAMS launch;
    CU_OK(cu->GraphExternalSemaphoresSignalNodeGetParams(signal, &signals));
    ANSWER("the signal's node", "%u semaphore, value %llu", signals.numExtSems,
           (unsigned long long)signals.paramsArray[0].params.fence.value);
    REQUIRE_EQ(signals.numExtSems, 1);
    REQUIRE(signals.extSemArray[0] == b->out.cu);
    REQUIRE_EQ(signals.paramsArray[0].params.fence.value, 9);
    CU_OK(cu->GraphExternalSemaphoresWaitNodeGetParams(wait, &waits));
    ANSWER("the wait's node", "%u semaphore, value %llu", waits.numExtSems,
           (unsigned long long)waits.paramsArray[0].params.fence.value);
    REQUIRE_EQ(waits.numExtSems, 1);
    REQUIRE(waits.extSemArray[0] == b->in.cu);
    REQUIRE_EQ(waits.paramsArray[0].params.fence.value, 4);
    CU_OK(cu->GraphKernelNodeGetParams(kernel, &launch));
    ANSWER("the kernel's node", "%u blocks of %u, last argument %u", launch.gridDimX,
           launch.blockDimX, *(const unsigned *)launch.kernelParams[2]);
    REQUIRE_EQ(launch.gridDimX, GRAPH_WORDS / 256);
    REQUIRE_EQ(launch.blockDimX, 256);
    REQUIRE_EQ(*(const unsigned *)launch.kernelParams[2], 7);

    /* The number of semaphores of a node in an executable graph is fixed (R9). */
    CUgraphExec exec = graph_instantiate(b, graph);
    CUexternalSemaphore two[] = {b->in.cu, b->out.cu};
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS values[2];
    memset(values, 0, sizeof values);
    values[0].params.fence.value = values[1].params.fence.value = 100;
    signals = (CUDA_EXT_SEM_SIGNAL_NODE_PARAMS){two, values, 2};
    graph_refused("two semaphores for one",
                  cu->GraphExecExternalSemaphoresSignalNodeSetParams(exec, signal, &signals));
    graph_refused("a wait's node as a signal's", graph_set_signal(b, exec, wait, b->out.cu, 100));
    /* Nor can such a node be disabled. */
    graph_refused("a disabled signal", cu->GraphNodeSetEnabled(exec, signal, 0));
    answer_is("a disabled kernel", cu->GraphNodeSetEnabled(exec, kernel, 0), CUDA_SUCCESS);
    raw_vk_timeline_signal(&b->p.vk, b->in.vk, 4);
    CU_OK(cu->GraphLaunch(exec, b->p.stream));
    REQUIRE(raw_vk_timeline_wait(&b->p.vk, b->out.vk, 9, FAR_MS));
    CU_OK(cu->StreamSynchronize(b->p.stream));
    uint32_t first = 1;
    cuda_read(&b->p, b->words, &first, 4);
    answer_number("a word that the disabled kernel would have written", first, 0);
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
    const raw_cuda *cu = b->p.cu;
    graph_begin(b, b->p.stream);
    CU_OK(graph_kernel(b, b->add, 7, b->p.stream));
    CU_OK(cu->MemsetD32Async(b->words + 64, 11, 100, b->p.stream));
    CU_OK(cu->MemcpyDtoDAsync(b->words + 4096, b->words + 16, 400, b->p.stream));
    CUgraph graph = graph_end(b, b->p.stream);
    CUgraphNode nodes[3];
    size_t count = 3;
    CU_OK(cu->GraphGetNodes(graph, nodes, &count));
    REQUIRE_EQ(count, 3);
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
    REQUIRE_EQ(set.dst - b->words, 64);
    REQUIRE_EQ(set.width * set.elementSize * (set.height > 0 ? set.height : 1), 400);
    ANSWER("the copy's memory", "%u to %u", (unsigned)copy.srcMemoryType,
           (unsigned)copy.dstMemoryType);
    ANSWER("the copy", "%zu x %zu x %zu, from byte %llu to byte %llu", copy.WidthInBytes,
           copy.Height, copy.Depth,
           (unsigned long long)(copy.srcDevice + copy.srcXInBytes - b->words),
           (unsigned long long)(copy.dstDevice + copy.dstXInBytes - b->words));
    REQUIRE_EQ(copy.WidthInBytes * copy.Height * copy.Depth, 400);
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
    const raw_cuda *cu = b->p.cu;
    CUgraph graph = NULL;
    CUgraphNode set, copy, kernel, host, empty, signal;
    int calls = 0;
    CU_OK(cu->GraphCreate(&graph, 0));
    const CUDA_MEMSET_NODE_PARAMS set_params = {
        .dst = b->words, .value = 1000, .elementSize = 4, .width = GRAPH_WORDS / 2, .height = 1};
    CU_OK(cu->GraphAddMemsetNode(&set, graph, NULL, 0, &set_params, b->p.context));
    const CUDA_MEMCPY3D copy_params = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                       .srcDevice = b->words,
                                       .srcPitch = GRAPH_SIZE / 2,
                                       .srcHeight = 1,
                                       .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                       .dstDevice = b->words + GRAPH_SIZE / 2,
                                       .dstPitch = GRAPH_SIZE / 2,
                                       .dstHeight = 1,
                                       .WidthInBytes = GRAPH_SIZE / 2,
                                       .Height = 1,
                                       .Depth = 1};
    CU_OK(cu->GraphAddMemcpyNode(&copy, graph, &set, 1, &copy_params, b->p.context));
    unsigned count = GRAPH_WORDS, addend = 5;
    CUdeviceptr words = b->words;
    void *arguments[] = {&words, &count, &addend};
    const CUDA_KERNEL_NODE_PARAMS kernel_params = {.func = b->add,
                                                   .gridDimX = GRAPH_WORDS / 256,
                                                   .gridDimY = 1,
                                                   .gridDimZ = 1,
                                                   .blockDimX = 256,
                                                   .blockDimY = 1,
                                                   .blockDimZ = 1,
                                                   .kernelParams = arguments};
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
    CUresult twice = cu->GraphAddDependencies(graph, from, to, 1);
    answer_call("a dependency that is there", twice);
    REQUIRE(twice != CUDA_SUCCESS);

    CUgraphExec exec = graph_instantiate(b, graph);
    CU_OK(cu->GraphUpload(exec, b->p.stream));
    for (uint64_t k = 1; k <= 2; k++) {
        CU_OK(graph_set_signal(b, exec, signal, b->out.cu, k));
        CU_OK(cu->GraphLaunch(exec, b->p.stream));
        REQUIRE(raw_vk_timeline_wait(&b->p.vk, b->out.vk, k, FAR_MS));
        CU_OK(cu->StreamSynchronize(b->p.stream));
        REQUIRE_EQ(calls, k);
        uint32_t found[GRAPH_WORDS];
        size_t wrong = 0;
        cuda_read(&b->p, b->words, found, sizeof found);
        for (size_t i = 0; i < GRAPH_WORDS; i++)
            wrong += found[i] != 1005;
        answer_wrong(answer_key("words after launch %u", (unsigned)k), wrong, GRAPH_WORDS);
    }
    const CUgraphNode back_from[] = {signal}, back_to[] = {set};
    CUresult cycle = cu->GraphAddDependencies(graph, back_from, back_to, 1);
    CUDA_GRAPH_INSTANTIATE_PARAMS how;
    memset(&how, 0, sizeof how);
    graph_refused(cycle == CUDA_SUCCESS ? "a cycle, when instantiated" : "a cycle",
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
    ANSWER(answer_key("a signal added to %s", where), "%s",
           raw_cuda_result_name(
               b->p.cu->GraphAddExternalSemaphoresSignalNode(&signal, graph, NULL, 0, &params)));
}

static void answer_instantiate(const graph_bench *b, const char *key, CUgraph graph, uint64_t flags)
{
    CUDA_GRAPH_INSTANTIATE_PARAMS how;
    CUgraphExec exec = NULL;
    memset(&how, 0, sizeof how);
    how.flags = flags;
    const CUresult result = b->p.cu->GraphInstantiateWithParams(&exec, graph, &how);
    ANSWER(key, "%s, result %d", raw_cuda_result_name(result), (int)how.result_out);
    if (result == CUDA_SUCCESS) CU_OK(b->p.cu->GraphExecDestroy(exec));
}

GRAPH_CASE(signal_for_the_device, .mark = TEST_TWIN_STRICTER,
           .reason = "no kernel of the twin launches a graph")
{
    const uint64_t on_device = CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH;
    graph_begin(b, b->p.stream);
    CU_OK(graph_kernel(b, b->write, 7, b->p.stream));
    CUgraph graph = graph_end(b, b->p.stream);
    answer_instantiate(b, "a kernel, for the device", graph, on_device);
    add_signal(b, "it", graph);
    answer_instantiate(b, "with the signal, for the device", graph, on_device);
    answer_instantiate(b, "with the signal, for the host", graph, 0);
}

static void answer_cloned(const graph_bench *b, const char *what, CUgraph graph)
{
    CUgraph copy = NULL;
    const CUresult result = b->p.cu->GraphClone(&copy, graph);
    ANSWER(answer_key("%s cloned", what), "%s", raw_cuda_result_name(result));
    if (result == CUDA_SUCCESS) CU_OK(b->p.cu->GraphDestroy(copy));
}

GRAPH_CASE(signal_in_a_body, .mark = TEST_BOTH)
{
    const raw_cuda *cu = b->p.cu;
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
    ANSWER("a host function added to the body", "%s",
           raw_cuda_result_name(cu->GraphAddHostNode(&host, body, NULL, 0, &host_params)));
    CU_OK(cu->GraphDestroy(graph));
}

/* As cuda.h says of cuGraphAddMemAllocNode: such a graph has no copy, and is no body. */
GRAPH_CASE(cloned_allocation, .mark = TEST_NVIDIA_ONLY,
           .reason = "the twin has no nodes for memory")
{
    const raw_cuda *cu = b->p.cu;
    CUgraph graph = NULL;
    CUgraphNode node = NULL;
    CUgraphNodeParams params;
    memset(&params, 0, sizeof params);
    if (cu->software || cu->GraphAddNode == NULL) SKIP("the driver has no nodes for memory");
    CU_OK(cu->GraphCreate(&graph, 0));
    add_signal(b, "an empty graph", graph);
    answer_cloned(b, "a graph with a signal", graph);
    params.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
    params.alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    params.alloc.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    params.alloc.poolProps.location.id = b->p.device;
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
    const raw_cuda *cu = b->p.cu;
    CUgraph graph = NULL, ended = NULL;
    CUgraphNode node = NULL;
    if (cu->GraphAddNode == NULL || cu->GraphConditionalHandleCreate == NULL ||
        cu->StreamBeginCaptureToGraph == NULL)
        SKIP("the driver has no conditional nodes");
    CU_OK(cu->GraphCreate(&graph, 0));
    CUgraph body = raw_cuda_conditional(cu, b->p.context, graph, &node);
    CU_OK(cu->StreamBeginCaptureToGraph(b->p.stream, body, NULL, NULL, 0,
                                        CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    answer_cloned(b, "a body under capture", body);
    ANSWER("a signal", "%s", raw_cuda_result_name(raw_cuda_signal(cu, b->out.cu, 1, b->p.stream)));
    ANSWER("the end of the capture", "%s",
           raw_cuda_result_name(cu->StreamEndCapture(b->p.stream, &ended)));
    answer_instantiate(b, "with the signal", graph, 0);
    CU_OK(cu->GraphDestroy(graph));
}

/* Copies, sets and copies of arrays in a capture run anew with each launch. */
GRAPH_CASE(captured_copies, .mark = TEST_BOTH)
{
    enum { SIDE = 64 };
    const raw_cuda *cu = b->p.cu;
    const CUDA_ARRAY3D_DESCRIPTOR desc = {
        .Width = SIDE, .Height = SIDE, .Format = CU_AD_FORMAT_UNSIGNED_INT32, .NumChannels = 1};
    CUarray array = raw_cuda_array(cu, &desc);
    CUdeviceptr from = raw_cuda_memory(cu, GRAPH_SIZE);
    CUdeviceptr to = raw_cuda_memory(cu, GRAPH_SIZE);
    const CUDA_MEMCPY3D in = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                              .srcDevice = from,
                              .srcPitch = SIDE * 4,
                              .srcHeight = SIDE,
                              .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                              .dstArray = array,
                              .WidthInBytes = SIDE * 4,
                              .Height = SIDE,
                              .Depth = 1};
    const CUDA_MEMCPY2D out = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                               .srcArray = array,
                               .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                               .dstDevice = to,
                               .dstPitch = SIDE * 4,
                               .WidthInBytes = SIDE * 4,
                               .Height = SIDE};
    graph_begin(b, b->p.stream);
    CU_OK(cu->MemcpyDtoDAsync(from, b->words, GRAPH_SIZE, b->p.stream));
    CU_OK(cu->MemsetD32Async(from, 0x1234, 16, b->p.stream));
    CU_OK(cu->Memcpy3DAsync(&in, b->p.stream));
    CU_OK(cu->Memcpy2DAsync(&out, b->p.stream));
    CUgraph graph = graph_end(b, b->p.stream);
    REQUIRE_EQ(graph_count(b, graph), 4);
    CUgraphExec exec = graph_instantiate(b, graph);
    for (unsigned turn = 0; turn < 2; turn++) {
        uint32_t found[GRAPH_WORDS], *expected = pattern_words(GRAPH_SIZE, turn);
        CU_OK(graph_kernel(b, b->write, turn, b->p.stream));
        CU_OK(cu->GraphLaunch(exec, b->p.stream));
        CU_OK(cu->StreamSynchronize(b->p.stream));
        for (size_t i = 0; i < 16; i++)
            expected[i] = 0x1234;
        cuda_read(&b->p, to, found, GRAPH_SIZE);
        size_t wrong = 0;
        for (size_t i = 0; i < GRAPH_WORDS; i++)
            wrong += found[i] != expected[i];
        answer_wrong(answer_key("words copied by launch %u", turn + 1), wrong, GRAPH_WORDS);
    }
}

/* cuGraphExecUpdate takes the values of a graph of the same shape, and no other one. */
GRAPH_CASE(updated, .mark = TEST_BOTH)
{
    const raw_cuda *cu = b->p.cu;
    CUgraph graphs[3];
    for (unsigned i = 0; i < 3; i++) {
        graph_begin(b, b->p.stream);
        CU_OK(graph_kernel(b, b->write, 10 + i, b->p.stream));
        CU_OK(raw_cuda_signal(cu, b->out.cu, 1 + i, b->p.stream));
        if (i == 2) CU_OK(graph_kernel(b, b->add, 1, b->p.stream));
        graphs[i] = graph_end(b, b->p.stream);
    }
    CUgraphExec exec = graph_instantiate(b, graphs[0]);
    CU_OK(cu->GraphLaunch(exec, b->p.stream));
    CUgraphExecUpdateResultInfo info;
    memset(&info, 0, sizeof info);
    answer_is("an update of the same shape", cu->GraphExecUpdate(exec, graphs[1], &info),
              CUDA_SUCCESS);
    REQUIRE_EQ(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
    CU_OK(cu->GraphLaunch(exec, b->p.stream));
    REQUIRE(raw_vk_timeline_wait(&b->p.vk, b->out.vk, 2, FAR_MS));
    CU_OK(cu->StreamSynchronize(b->p.stream));
    graph_answer_words(b, "words after it", 11, 0);
    answer_is("an update of another shape", cu->GraphExecUpdate(exec, graphs[2], &info),
              CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
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
    const raw_cuda *cu = b->p.cu;
    if (cu->UserObjectCreate == NULL || cu->GraphRetainUserObject == NULL) SKIP("no user objects");
    CUuserObject object = NULL;
    int freed = 0;
    CU_OK(cu->UserObjectCreate(&object, &freed, raise, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    graph_begin(b, b->p.stream);
    CU_OK(raw_cuda_wait(cu, b->in.cu, 1, b->p.stream));
    CUgraph graph = graph_end(b, b->p.stream);
    CU_OK(cu->GraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    CUgraphExec exec = graph_instantiate(b, graph);
    test_forget(&graph, sizeof graph);
    CU_OK(cu->GraphDestroy(graph));
    CU_OK(cu->GraphLaunch(exec, b->p.stream));
    test_forget(&exec, sizeof exec);
    CU_OK(cu->GraphExecDestroy(exec));
    usleep(20000);
    const int early = __atomic_load_n(&freed, __ATOMIC_ACQUIRE);
    ANSWER("freed while a launch runs", "%s", early ? "yes" : "no");
    REQUIRE_EQ(early, 0);
    raw_vk_timeline_signal(&b->p.vk, b->in.vk, 1);
    CU_OK(cu->StreamSynchronize(b->p.stream));
    for (unsigned i = 0; i < TEST_FAR_MS && __atomic_load_n(&freed, __ATOMIC_ACQUIRE) == 0; i++)
        usleep(1000);
    const int late = __atomic_load_n(&freed, __ATOMIC_ACQUIRE);
    ANSWER("freed after it", "%s", late ? "yes" : "no");
    REQUIRE_EQ(late, 1);
}
