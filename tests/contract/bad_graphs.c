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
    bad_row("cuGraphAddEmptyNode: NULL dependencies, 1",
            cu->GraphAddEmptyNode(&node, graph, NULL, 1));
    bad_row("cuGraphAddEmptyNode: NULL graph", cu->GraphAddEmptyNode(&node, NULL, NULL, 0));
    CU_OK(cu->GraphAddEmptyNode(&node, graph, NULL, 0));
    const CUgraphNode same[2] = {node, node};
    bad_row("cuGraphAddEmptyNode: a dependency twice",
            cu->GraphAddEmptyNode(&other, graph, same, 2));
    bad_row("cuGraphAddHostNode: NULL function",
            cu->GraphAddHostNode(&node, graph, NULL, 0, &host));
    bad_row("cuGraphAddHostNode: NULL parameters",
            cu->GraphAddHostNode(&node, graph, NULL, 0, NULL));
    bad_row("cuGraphAddMemsetNode: elements of 3",
            cu->GraphAddMemsetNode(&node, graph, NULL, 0, &set, b->context));
    set.elementSize = 4;
    bad_row("cuGraphAddMemsetNode: NULL context",
            cu->GraphAddMemsetNode(&node, graph, NULL, 0, &set, NULL));
    memset(&kernel, 0, sizeof kernel);
    kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = 1;
    kernel.blockDimX = kernel.blockDimY = kernel.blockDimZ = 1;
    bad_row("cuGraphAddKernelNode: NULL function",
            cu->GraphAddKernelNode(&node, graph, NULL, 0, &kernel));
    bad_row("cuGraphNodeGetType: NULL node", cu->GraphNodeGetType(NULL, &type));
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
    bad_row("cuGraphRemoveDependencies: no such edge",
            b->GraphRemoveDependencies(graph, &x, &y, NULL, 1));
    CU_OK(b->GraphAddDependencies(graph, &x, &y, NULL, 1));
    bad_row("cuGraphAddDependencies: an edge twice",
            b->GraphAddDependencies(graph, &x, &y, NULL, 1));
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
    bad_row("cuGraphCreate: NULL", cu->GraphCreate(NULL, 0));
    bad_row("cuGraphCreate: flags 1", cu->GraphCreate(&other, 1));
    bad_row("cuGraphDestroy: NULL", cu->GraphDestroy(NULL));
    CU_OK(cu->GraphCreate(&graph, 0));
    nodes(b, graph);
    edges(b);
    bad_row("cuGraphGetNodes: NULL count", cu->GraphGetNodes(graph, NULL, NULL));
    bad_row("cuGraphInstantiate: NULL", b->GraphInstantiateWithFlags(NULL, graph, 0));
    bad_row("cuGraphInstantiate: flags 1 << 40",
            b->GraphInstantiateWithFlags(&exec, graph, (cuuint64_t)1 << 40));
    bad_row("cuGraphInstantiate: NULL graph", b->GraphInstantiateWithFlags(&exec, NULL, 0));
    bad_row("cuGraphLaunch: NULL", cu->GraphLaunch(NULL, b->stream));
    bad_row("cuGraphUpload: NULL", cu->GraphUpload(NULL, b->stream));
    bad_row("cuGraphExecDestroy: NULL", cu->GraphExecDestroy(NULL));
    bad_row("cuGraphClone: NULL", cu->GraphClone(NULL, graph));
    CU_OK(cu->GraphDestroy(graph));
    bad_row("cuUserObjectCreate: flags 0", cu->UserObjectCreate(&object, NULL, do_nothing, 1, 0));
    bad_row("cuUserObjectCreate: no references",
            cu->UserObjectCreate(&object, NULL, do_nothing, 0, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    bad_row("cuUserObjectRetain: NULL", b->UserObjectRetain(NULL, 1));
}

/* Captures ------------------------------------------------------------------------------------ */

BAD_CASE(captures, .mark = TEST_BOTH)
{
    CUgraph graph;
    const CUstreamCaptureMode global = CU_STREAM_CAPTURE_MODE_GLOBAL;
    CUstreamCaptureMode mode = (CUstreamCaptureMode)9;
    const raw_cuda *cu = b->cu;
    bad_row("cuStreamBeginCapture: the NULL stream", cu->StreamBeginCapture(NULL, global));
    bad_row("cuStreamBeginCapture: mode 9",
            cu->StreamBeginCapture(b->stream, (CUstreamCaptureMode)9));
    bad_row("cuStreamEndCapture: not capturing", cu->StreamEndCapture(b->stream, &graph));
    bad_row("cuStreamIsCapturing: NULL", cu->StreamIsCapturing(b->stream, NULL));
    bad_row("cuStreamGetCaptureInfo: NULL status",
            b->StreamGetCaptureInfo(b->stream, NULL, NULL, NULL, NULL, NULL, NULL));
    bad_row("cuStreamUpdateCaptureDependencies: not capturing",
            b->StreamUpdateCaptureDependencies(b->stream, NULL, NULL, 0, 0));
    CU_OK(cu->StreamBeginCapture(b->stream, global));
    bad_row("cuStreamBeginCapture: twice", cu->StreamBeginCapture(b->stream, global));
    /* Whether it is broken by then does not matter. */
    if (cu->StreamEndCapture(b->stream, &graph) == CUDA_SUCCESS) CU_OK(cu->GraphDestroy(graph));
    CU_OK(cu->StreamBeginCapture(b->stream, global));
    CUresult result = cu->StreamEndCapture(b->stream, NULL);
    bad_row("cuStreamEndCapture: NULL", result);
    if (result != CUDA_SUCCESS && cu->StreamEndCapture(b->stream, &graph) == CUDA_SUCCESS)
        CU_OK(cu->GraphDestroy(graph));
    BAD_CRASHES(b, "cuThreadExchangeStreamCaptureMode: NULL",
                cu->ThreadExchangeStreamCaptureMode(NULL));
    result = cu->ThreadExchangeStreamCaptureMode(&mode);
    bad_row("cuThreadExchangeStreamCaptureMode: mode 9", result);
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
    bad_row("cuUserObjectRelease: more than there are", cu->UserObjectRelease(object, 5));
    CU_OK(cu->MipmappedArrayCreate(&mipmap, &desc, 4));
    CU_OK(cu->MipmappedArrayGetLevel(&level, mipmap, 0));
    bad_row("cuArrayDestroy: a level of a mipmapped array", cu->ArrayDestroy(level));
    test_pass();
}
