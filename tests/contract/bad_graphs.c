/* SPDX-License-Identifier: MIT */
/* Contract rows: bad arguments to calls about graphs and captures, and two that leave a driver in
 * whatever state. */
#define TEST_GROUP "bad."
#include "bad_arguments.h"

static void CUDA_CB do_nothing(void *data)
{
    (void)data;
}

/* Graphs -------------------------------------------------------------------------------------- */

static void nodes(const bad *b, CUgraph graph)
{
    const raw_cuda *cu = b->cu;
    CUgraphNode node, other;
    CUgraphNodeType type;
    CUDA_KERNEL_NODE_PARAMS kernel;
    const CUDA_HOST_NODE_PARAMS host = {.fn = NULL};
    CUDA_MEMSET_NODE_PARAMS set = {.dst = b->memory, .elementSize = 3, .width = 4, .height = 1};
    CALL_ROW(cu, GraphAddEmptyNode, "NULL dependencies, 1", &node, graph, NULL, 1);
    CALL_ROW(cu, GraphAddEmptyNode, "NULL graph", &node, NULL, NULL, 0);
    CU_OK(cu->GraphAddEmptyNode(&node, graph, NULL, 0));
    const CUgraphNode same[2] = {node, node};
    CALL_ROW(cu, GraphAddEmptyNode, "a dependency twice", &other, graph, same, 2);
    CALL_ROW(cu, GraphAddHostNode, "NULL function", &node, graph, NULL, 0, &host);
    CALL_ROW(cu, GraphAddHostNode, "NULL parameters", &node, graph, NULL, 0, NULL);
    CALL_ROW(cu, GraphAddMemsetNode, "elements of 3", &node, graph, NULL, 0, &set, b->context);
    set.elementSize = 4;
    CALL_ROW(cu, GraphAddMemsetNode, "NULL context", &node, graph, NULL, 0, &set, NULL);
    memset(&kernel, 0, sizeof kernel);
    kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = 1;
    kernel.blockDimX = kernel.blockDimY = kernel.blockDimZ = 1;
    CALL_ROW(cu, GraphAddKernelNode, "NULL function", &node, graph, NULL, 0, &kernel);
    CALL_ROW(cu, GraphNodeGetType, "NULL node", NULL, &type);
}

/* Of two nodes in a graph of their own. */
static void edges(const bad *b)
{
    const raw_cuda *cu = b->cu;
    CUgraph graph;
    CUgraphNode x, y;
    CUgraphExec exec = NULL;
    CU_OK(cu->GraphCreate(&graph, 0));
    CU_OK(cu->GraphAddEmptyNode(&x, graph, NULL, 0));
    CU_OK(cu->GraphAddEmptyNode(&y, graph, NULL, 0));
    CALL_ROW(b, GraphRemoveDependencies, "no such edge", graph, &x, &y, NULL, 1);
    CU_OK(b->GraphAddDependencies(graph, &x, &y, NULL, 1));
    CALL_ROW(b, GraphAddDependencies, "an edge twice", graph, &x, &y, NULL, 1);
    CUresult result = b->GraphAddDependencies(graph, &y, &x, NULL, 1);
    bad_row_with("cuGraphAddDependencies: a cycle", result, "then instantiation %s",
                 raw_cuda_result_name(b->GraphInstantiateWithFlags(&exec, graph, 0)));
    CU_OK(cu->GraphDestroy(graph));
}

BAD_CASE(graphs, .mark = TEST_BOTH)
{
    CUgraph graph, other;
    CUgraphExec exec;
    CUuserObject object;
    const raw_cuda *cu = b->cu;
    CALL_ROW(cu, GraphCreate, "NULL", NULL, 0);
    CALL_ROW(cu, GraphCreate, "flags 1", &other, 1);
    CALL_ROW(cu, GraphDestroy, "NULL", NULL);
    CU_OK(cu->GraphCreate(&graph, 0));
    nodes(b, graph);
    edges(b);
    CALL_ROW(cu, GraphGetNodes, "NULL count", graph, NULL, NULL);
    answer_call("cuGraphInstantiate: NULL", b->GraphInstantiateWithFlags(NULL, graph, 0));
    answer_call("cuGraphInstantiate: flags 1 << 40",
                b->GraphInstantiateWithFlags(&exec, graph, (cuuint64_t)1 << 40));
    answer_call("cuGraphInstantiate: NULL graph", b->GraphInstantiateWithFlags(&exec, NULL, 0));
    CALL_ROW(cu, GraphLaunch, "NULL", NULL, b->stream);
    CALL_ROW(cu, GraphUpload, "NULL", NULL, b->stream);
    CALL_ROW(cu, GraphExecDestroy, "NULL", NULL);
    CALL_ROW(cu, GraphClone, "NULL", NULL, graph);
    CU_OK(cu->GraphDestroy(graph));
    CALL_ROW(cu, UserObjectCreate, "flags 0", &object, NULL, do_nothing, 1, 0);
    CALL_ROW(cu, UserObjectCreate, "no references", &object, NULL, do_nothing, 0,
             CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    CALL_ROW(b, UserObjectRetain, "NULL", NULL, 1);
}

/* Captures ------------------------------------------------------------------------------------ */

BAD_CASE(captures, .mark = TEST_BOTH)
{
    CUgraph graph;
    const CUstreamCaptureMode global = CU_STREAM_CAPTURE_MODE_GLOBAL;
    CUstreamCaptureMode mode = (CUstreamCaptureMode)9;
    const raw_cuda *cu = b->cu;
    CALL_ROW(cu, StreamBeginCapture, "the NULL stream", NULL, global);
    CALL_ROW(cu, StreamBeginCapture, "mode 9", b->stream, (CUstreamCaptureMode)9);
    CALL_ROW(cu, StreamEndCapture, "not capturing", b->stream, &graph);
    CALL_ROW(cu, StreamIsCapturing, "NULL", b->stream, NULL);
    CALL_ROW(b, StreamGetCaptureInfo, "NULL status", b->stream, NULL, NULL, NULL, NULL, NULL, NULL);
    CALL_ROW(b, StreamUpdateCaptureDependencies, "not capturing", b->stream, NULL, NULL, 0, 0);
    CU_OK(cu->StreamBeginCapture(b->stream, global));
    CALL_ROW(cu, StreamBeginCapture, "twice", b->stream, global);
    /* Whether it is broken by then does not matter. */
    if (cu->StreamEndCapture(b->stream, &graph) == CUDA_SUCCESS) CU_OK(cu->GraphDestroy(graph));
    CU_OK(cu->StreamBeginCapture(b->stream, global));
    CUresult result = cu->StreamEndCapture(b->stream, NULL);
    answer_call("cuStreamEndCapture: NULL", result);
    if (result != CUDA_SUCCESS && cu->StreamEndCapture(b->stream, &graph) == CUDA_SUCCESS)
        CU_OK(cu->GraphDestroy(graph));
    BAD_CRASHES(b, "cuThreadExchangeStreamCaptureMode: NULL",
                cu->ThreadExchangeStreamCaptureMode(NULL));
    result = cu->ThreadExchangeStreamCaptureMode(&mode);
    answer_call("cuThreadExchangeStreamCaptureMode: mode 9", result);
    if (result == CUDA_SUCCESS) CU_OK(cu->ThreadExchangeStreamCaptureMode(&mode)); /* as before */
}

/* What is left of the driver is of no interest. */
TEST(left_behind, .mark = TEST_BOTH, .own = true)
{
    bad b;
    CUarray level;
    CUmipmappedArray mipmap;
    CUuserObject object;
    const CUDA_ARRAY3D_DESCRIPTOR desc = {
        .Width = 64, .Height = 64, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 4};
    bad_open(&b);
    const raw_cuda *cu = b.cu;
    CU_OK(cu->UserObjectCreate(&object, NULL, do_nothing, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    CALL_ROW(cu, UserObjectRelease, "more than there are", object, 5);
    CU_OK(cu->MipmappedArrayCreate(&mipmap, &desc, 4));
    CU_OK(cu->MipmappedArrayGetLevel(&level, mipmap, 0));
    CALL_ROW(cu, ArrayDestroy, "a level of a mipmapped array", level);
    test_pass();
}
