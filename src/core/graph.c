/* SPDX-License-Identifier: MIT */
/* Timelines in CUDA graphs: nodes, and their values of the next launch. */
#include "core/graph_read.h"
#include "core/semaphore.h"

#define ADD "culv_graph_add_node"
#define SET "culv_graph_exec_set_node"

/* What a node is told of its semaphores. The driver copies it. */
typedef struct node_params {
    CUexternalSemaphore externals[CULV_SEMAPHORE_BATCH_MAX];
    union {
        CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signals[CULV_SEMAPHORE_BATCH_MAX];
        CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS waits[CULV_SEMAPHORE_BATCH_MAX];
    } values;
    CUDA_EXT_SEM_SIGNAL_NODE_PARAMS signals;
    CUDA_EXT_SEM_WAIT_NODE_PARAMS waits;
} node_params;

/* What a stream takes and a graph does not. */
static culv_result check_point(const culv_semaphore_point *point, culv_graph_use use,
                               const char *call)
{
    const culv_semaphore *semaphore = point->semaphore;
    CULVI_REFUSE_IF(
        semaphore->type != CULV_SEMAPHORE_TIMELINE, &semaphore->device->voice, semaphore->label,
        CULV_REASON_VALUE,
        "%s: the semaphore is binary: each of its signals allows one wait, but a graph may be launched many times; use a timeline",
        call);
    CULVI_UNSUPPORTED_IF(
        semaphore->relay != NULL, &semaphore->device->voice, semaphore->label, CULV_REASON_CAPTURE,
        "%s: the semaphore is not shared with CUDA but relayed (culvert/shared.h), and a graph has no node for that",
        call);
    return use == CULV_GRAPH_WAIT ? CULV_OK : culvi_semaphore_check_rise(semaphore, point->value);
}

/* Checks, fills in what the driver is told, and enters the device's context. */
static culv_result begin(const culv_semaphore_point *points, uint32_t count, culv_graph_use use,
                         const char *call, node_params *out, culvi_scope *scope)
{
    bool relayed;
    CULVI_REFUSE_IF(
        use != CULV_GRAPH_SIGNAL && use != CULV_GRAPH_WAIT, NULL, NULL, CULV_REASON_VALUE,
        "%s: use is %d; it must be CULV_GRAPH_SIGNAL or CULV_GRAPH_WAIT", call, (int)use);
    CULVI_TRY(culvi_semaphore_check_batch(points, count, call, &relayed));
    CULVI_REFUSE_IF(count == 0, NULL, NULL, CULV_REASON_VALUE,
                    "%s: count is 0; a node has 1 to %d semaphores", call,
                    CULV_SEMAPHORE_BATCH_MAX);
    memset(&out->values, 0, sizeof out->values);
    for (uint32_t i = 0; i < count; i++) {
        CULVI_TRY(check_point(&points[i], use, call));
        out->externals[i] = points[i].semaphore->external;
        if (use == CULV_GRAPH_SIGNAL)
            out->values.signals[i].params.fence.value = points[i].value;
        else
            out->values.waits[i].params.fence.value = points[i].value;
    }
    out->signals = (CUDA_EXT_SEM_SIGNAL_NODE_PARAMS){out->externals, out->values.signals, count};
    out->waits = (CUDA_EXT_SEM_WAIT_NODE_PARAMS){out->externals, out->values.waits, count};
    return culvi_enter(points[0].semaphore->device, scope, points[0].semaphore->label);
}

/* Launches signal them later than anybody is told now. */
static void promise(const culv_semaphore_point *points, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        culv_semaphore_mark_value(points[i].semaphore, points[i].value);
}

culv_result culvi_graph_list(const culv_device *device, const char *label, CUgraph graph,
                             CUgraphNode **nodes, size_t *count)
{
    *nodes = NULL;
    CUresult r = CULVI_CU(device, cuGraphGetNodes, (graph, NULL, count));
    if (r == CUDA_SUCCESS && *count > 0) {
        *nodes = *count > SIZE_MAX / sizeof **nodes ? NULL : culvi_alloc(*count * sizeof **nodes);
        if (*nodes == NULL) return culvi_fail_host_memory(&device->voice, label);
        r = CULVI_CU(device, cuGraphGetNodes, (graph, *nodes, count));
    }
    if (r == CUDA_SUCCESS) return CULV_OK;
    culvi_free(*nodes);
    *nodes = NULL;
    return culvi_fail_cuda(device, label, r, "cuGraphGetNodes", CULV_REASON_DRIVER_REFUSED,
                           CULVI_GRAPH_UNLISTED);
}

/* A graph that holds one of these has no copy either, or may hold a graph that has none. */
static bool clones(CUgraphNodeType type)
{
    return type != CU_GRAPH_NODE_TYPE_MEM_ALLOC && type != CU_GRAPH_NODE_TYPE_MEM_FREE &&
           type != CU_GRAPH_NODE_TYPE_GRAPH && type != CU_GRAPH_NODE_TYPE_CONDITIONAL;
}

/* The driver takes a semaphore into the body of a conditional node and fails when the graph is
 * instantiated. No call tells what a graph is, but a body cannot be cloned (an H200, 580.159.04,
 * the contract's graph.signal_in_a_body). */
static culv_result check_body(const culv_device *device, const char *label, CUgraph graph,
                              const char *call)
{
    CUgraph copy = NULL;
    CUgraphNode *nodes = NULL;
    size_t count = 0;
    CUresult r = CULVI_CU(device, cuGraphClone, (&copy, graph));
    if (r == CUDA_SUCCESS) (void)CULVI_CU(device, cuGraphDestroy, (copy));
    if (r != CUDA_ERROR_NOT_SUPPORTED) return CULV_OK;
    CULVI_TRY(culvi_graph_list(device, label, graph, &nodes, &count));
    bool all = true;
    r = CUDA_SUCCESS;
    for (size_t i = 0; r == CUDA_SUCCESS && all && i < count; i++) {
        CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
        r = CULVI_CU(device, cuGraphNodeGetType, (nodes[i], &type));
        all = clones(type);
    }
    culvi_free(nodes);
    if (r != CUDA_SUCCESS || !all) return CULV_OK;
    return culvi_fail_native(
        &device->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_CAPTURE, CULV_NATIVE_CUDA,
        (int64_t)CUDA_ERROR_NOT_SUPPORTED, "cuGraphClone",
        "%s: the graph is the body of a conditional node, which takes no semaphores: cuGraphInstantiate... would fail; signal and wait in the graph around the conditional node, or in the stream",
        call);
}

culv_result culv_graph_add_node(CUgraph graph, const CUgraphNode *dependencies,
                                size_t num_dependencies, culv_graph_use use,
                                const culv_semaphore_point *points, uint32_t count,
                                CUgraphNode *out)
{
    node_params params;
    culvi_scope scope;
    CUgraphNode node = NULL;
    CULVI_REQUIRE_IN(NULL, ADD, graph);
    CULVI_REQUIRE_IN(NULL, ADD, out);
    if (num_dependencies != 0) CULVI_REQUIRE_IN(NULL, ADD, dependencies);
    CULVI_TRY(begin(points, count, use, ADD, &params, &scope));
    culv_device *device = points[0].semaphore->device;
    const char *label = points[0].semaphore->label, *call = NULL;
    CUresult r = CUDA_SUCCESS;
    culv_result result = check_body(device, label, graph, ADD);
    if (result == CULV_OK)
        r = use == CULV_GRAPH_SIGNAL
                ? CULVI_CU_AS(call, device, cuGraphAddExternalSemaphoresSignalNode,
                              (&node, graph, dependencies, num_dependencies, &params.signals))
                : CULVI_CU_AS(call, device, cuGraphAddExternalSemaphoresWaitNode,
                              (&node, graph, dependencies, num_dependencies, &params.waits));
    if (r != CUDA_SUCCESS)
        result = culvi_fail_cuda(device, label, r, call, CULV_REASON_DRIVER_REFUSED,
                                 "the graph could not be given a node of %" PRIu32
                                 " semaphores after %zu nodes",
                                 count, num_dependencies);
    culvi_leave(device, &scope);
    if (result != CULV_OK) return result;
    if (use == CULV_GRAPH_SIGNAL) promise(points, count);
    *out = node;
    return CULV_OK;
}

static culv_result fail_set(const culv_device *device, const char *label, CUresult r,
                            uint32_t count, const char *call)
{
    if (r != CUDA_ERROR_INVALID_VALUE)
        return culvi_fail_cuda(device, label, r, call, CULV_REASON_DRIVER_REFUSED,
                               "the node could not be given the values of %" PRIu32 " semaphores",
                               count);
    return culvi_fail_native(
        &device->voice, label, CULV_ERROR_INVALID, CULV_REASON_VALUE, CULV_NATIVE_CUDA, (int64_t)r,
        call,
        "the node does not take the values of %" PRIu32
        " semaphores (CUDA_ERROR_INVALID_VALUE); pass a node of the graph that the executable was made from, of the same kind and with the same number of semaphores",
        count);
}

culv_result culv_graph_exec_set_node(CUgraphExec exec, CUgraphNode node, culv_graph_use use,
                                     const culv_semaphore_point *points, uint32_t count)
{
    node_params params;
    culvi_scope scope;
    CULVI_REQUIRE_IN(NULL, SET, exec);
    CULVI_REQUIRE_IN(NULL, SET, node);
    CULVI_TRY(begin(points, count, use, SET, &params, &scope));
    culv_device *device = points[0].semaphore->device;
    const char *call = NULL;
    CUresult r = use == CULV_GRAPH_SIGNAL
                     ? CULVI_CU_AS(call, device, cuGraphExecExternalSemaphoresSignalNodeSetParams,
                                   (exec, node, &params.signals))
                     : CULVI_CU_AS(call, device, cuGraphExecExternalSemaphoresWaitNodeSetParams,
                                   (exec, node, &params.waits));
    culvi_leave(device, &scope);
    if (r != CUDA_SUCCESS) return fail_set(device, points[0].semaphore->label, r, count, call);
    if (use == CULV_GRAPH_SIGNAL) promise(points, count);
    return CULV_OK;
}

/* One that there is no room for is counted alone. */
static void put(CUgraphNode node, CUgraphNode *out, size_t room, size_t *found)
{
    if (out != NULL && *found < room) out[*found] = node;
    ++*found;
}

culv_result culv_graph_get_semaphore_nodes(culv_device *device, CUgraph graph,
                                           CUgraphNode *signal_nodes, size_t *num_signals,
                                           CUgraphNode *wait_nodes, size_t *num_waits)
{
    culvi_scope scope;
    CUgraphNode *nodes = NULL;
    size_t count = 0, found[2] = {0};
    CULVI_REQUIRE(NULL, device);
    CULVI_REQUIRE3(&device->voice, graph, num_signals, num_waits);
    CULVI_TRY(culvi_enter(device, &scope, NULL));
    culv_result result = culvi_graph_list(device, NULL, graph, &nodes, &count);
    for (size_t i = 0; result == CULV_OK && i < count; i++) {
        CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
        CUresult r = CULVI_CU(device, cuGraphNodeGetType, (nodes[i], &type));
        result = CULVI_CU_RESULT(device, NULL, r, "cuGraphNodeGetType", CULV_REASON_DRIVER_REFUSED,
                                 "node %zu of %zu has no type", i, count);
        if (type == CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL)
            put(nodes[i], signal_nodes, *num_signals, &found[CULV_GRAPH_SIGNAL]);
        if (type == CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT)
            put(nodes[i], wait_nodes, *num_waits, &found[CULV_GRAPH_WAIT]);
    }
    culvi_free(nodes);
    culvi_leave(device, &scope);
    if (result != CULV_OK) return result;
    *num_signals = found[CULV_GRAPH_SIGNAL];
    *num_waits = found[CULV_GRAPH_WAIT];
    return CULV_OK;
}
