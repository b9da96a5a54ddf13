/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: nodes by the parameters that all kinds of them have in common
 * (cuGraphAddNode), of events, and of batches of words. */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BODIES = 1024 };

static CUresult context_valid(CUcontext *context)
{
    if (*context == NULL) *context = (CUcontext)(void *)soft_context_current();
    return soft_context_find(*context) == NULL ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

static CUresult make_kernel(const CUDA_KERNEL_NODE_PARAMS_v3 *p, const struct soft_launch_how *how,
                            struct soft_op **work)
{
    const CUDA_KERNEL_NODE_PARAMS params = {.func = p->func,
                                            .gridDimX = p->gridDimX,
                                            .gridDimY = p->gridDimY,
                                            .gridDimZ = p->gridDimZ,
                                            .blockDimX = p->blockDimX,
                                            .blockDimY = p->blockDimY,
                                            .blockDimZ = p->blockDimZ,
                                            .sharedMemBytes = p->sharedMemBytes,
                                            .kernelParams = p->kernelParams,
                                            .extra = p->extra,
                                            .kern = p->kern,
                                            .ctx = p->ctx};
    return soft_kernel_make(&params, how, work);
}

static CUresult make_memset(const CUDA_MEMSET_NODE_PARAMS_v2 *p, struct soft_op **work)
{
    CUcontext context = p->ctx;
    const CUDA_MEMSET_NODE_PARAMS params = {.dst = p->dst,
                                            .pitch = p->pitch,
                                            .value = p->value,
                                            .elementSize = p->elementSize,
                                            .width = p->width,
                                            .height = p->height};
    CUresult result = context_valid(&context);
    return result == CUDA_SUCCESS ? soft_memset_make(&params, work) : result;
}

static CUresult make_memcpy(const CUDA_MEMCPY_NODE_PARAMS *p, struct soft_op **work)
{
    CUcontext context = p->copyCtx;
    if (p->flags != 0 || p->reserved != 0) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = context_valid(&context);
    return result == CUDA_SUCCESS ? soft_memcpy_make(&p->copyParams, work) : result;
}

/* What a node of this type does. An empty one does nothing (NULL). */
static CUresult make(const CUgraphNodeParams *p, const struct soft_launch_how *how,
                     struct soft_op **work)
{
    *work = NULL;
    for (unsigned i = 0; i < 3; i++)
        if (p->reserved0[i] != 0) return CUDA_ERROR_INVALID_VALUE;
    if (p->reserved2 != 0) return CUDA_ERROR_INVALID_VALUE;
    switch ((int)p->type) {
    case CU_GRAPH_NODE_TYPE_EMPTY: return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_KERNEL: return make_kernel(&p->kernel, how, work);
    case CU_GRAPH_NODE_TYPE_MEMCPY: return make_memcpy(&p->memcpy, work);
    case CU_GRAPH_NODE_TYPE_MEMSET: return make_memset(&p->memset, work);
    case CU_GRAPH_NODE_TYPE_HOST: {
        const CUDA_HOST_NODE_PARAMS params = {.fn = p->host.fn, .userData = p->host.userData};
        return soft_host_make(&params, work);
    }
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL: {
        const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS params = {.extSemArray = p->extSemSignal.extSemArray,
                                                        .paramsArray = p->extSemSignal.paramsArray,
                                                        .numExtSems = p->extSemSignal.numExtSems};
        return soft_signal_make(&params, work);
    }
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT: {
        const CUDA_EXT_SEM_WAIT_NODE_PARAMS params = {.extSemArray = p->extSemWait.extSemArray,
                                                      .paramsArray = p->extSemWait.paramsArray,
                                                      .numExtSems = p->extSemWait.numExtSems};
        return soft_wait_make(&params, work);
    }
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return soft_event_node_make(p->eventRecord.event, true, work);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return soft_event_node_make(p->eventWait.event, false, work);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: {
        if (p->memOp.ctx == NULL) return CUDA_ERROR_INVALID_VALUE; /* measured on an H100 */
        const CUDA_BATCH_MEM_OP_NODE_PARAMS params = {.ctx = p->memOp.ctx,
                                                      .count = p->memOp.count,
                                                      .paramArray = p->memOp.paramArray,
                                                      .flags = p->memOp.flags};
        return soft_batch_make(&params, work);
    }
    case CU_GRAPH_NODE_TYPE_GRAPH:
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE: return CUDA_ERROR_NOT_SUPPORTED;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        return p->conditional.handle == 0 || p->conditional.size == 0 ||
                       p->conditional.size > MOST_BODIES || p->conditional.ctx == NULL
                   ? CUDA_ERROR_INVALID_VALUE
                   : CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

/* Unlocks in any case. */
static CUresult add_and_end(CUgraph handle, CUgraphNodeType type, CUresult result,
                            struct soft_op *work, const CUgraphNode *before, size_t num_before,
                            CUgraphNode *out)
{
    struct soft_node *node;
    if (result != CUDA_SUCCESS) return soft_end(result);
    result = soft_graph_add(soft_graph_find(handle), type, work, before, num_before, &node);
    if (result == CUDA_SUCCESS)
        *out = (CUgraphNode)(void *)node;
    else
        soft_work_drop(work);
    return soft_end(result);
}

/* The lock is held on success. */
static CUresult begin_add(const char *call, CUgraph graph, const void *out, const void *params)
{
    CUresult result = soft_begin(call, SOFT_NEED_INIT, NULL);
    if (result != CUDA_SUCCESS) return result;
    return soft_graph_find(graph) == NULL || out == NULL || params == NULL
               ? soft_end(CUDA_ERROR_INVALID_VALUE)
               : CUDA_SUCCESS;
}

/* Empty bodies for a conditional node, which owns them. */
static CUresult make_bodies(struct soft_node *node, unsigned int size)
{
    node->bodies = calloc(size, sizeof(*node->bodies));
    if (node->bodies == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    for (; node->num_bodies < size; node->num_bodies++) {
        struct soft_graph *body;
        CUresult result = soft_graph_make(&body);
        if (result != CUDA_SUCCESS) return result;
        body->is_body = true;
        node->bodies[node->num_bodies] = (CUgraph)(void *)body;
    }
    return CUDA_SUCCESS;
}

static CUresult add_node(const char *call, CUgraphNode *out, CUgraph graph,
                         const CUgraphNode *before, size_t num_before, CUgraphNodeParams *params)
{
    static const struct soft_launch_how plain;
    struct soft_op *work;
    CUresult result = begin_add(call, graph, out, params);
    if (result != CUDA_SUCCESS) return result;
    result = make(params, &plain, &work);
    if (result != CUDA_SUCCESS || params->type != CU_GRAPH_NODE_TYPE_CONDITIONAL)
        return add_and_end(graph, params->type, result, work, before, num_before, out);
    struct soft_node *node;
    result = soft_graph_add(soft_graph_find(graph), params->type, NULL, before, num_before, &node);
    if (result != CUDA_SUCCESS) return soft_end(result);
    result = make_bodies(node, params->conditional.size);
    if (result != CUDA_SUCCESS) {
        soft_graph_drop_last(soft_graph_find(graph));
        return soft_end(result);
    }
    params->conditional.phGraph_out = node->bodies;
    *out = (CUgraphNode)(void *)node;
    return soft_end(CUDA_SUCCESS);
}

/* A number that no other condition has. The twin runs no body, so that nothing reads its value. */
CUresult CUDAAPI cuGraphConditionalHandleCreate(CUgraphConditionalHandle *pHandle_out,
                                                CUgraph hGraph, CUcontext ctx,
                                                unsigned int defaultLaunchValue, unsigned int flags)
{
    (void)defaultLaunchValue;
    CUresult result = soft_begin(__func__, SOFT_NEED_INIT, NULL);
    if (result != CUDA_SUCCESS) return result;
    if (pHandle_out == NULL || soft_graph_find(hGraph) == NULL || ctx == NULL || flags > 1)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    *pHandle_out = ++soft.next_id;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphAddNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                const CUgraphNode *dependencies, size_t numDependencies,
                                CUgraphNodeParams *nodeParams)
{
    return add_node(__func__, phGraphNode, hGraph, dependencies, numDependencies, nodeParams);
}

/* No node of the twin's has ports. */
CUresult CUDAAPI cuGraphAddNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph,
                                   const CUgraphNode *dependencies,
                                   const CUgraphEdgeData *dependencyData, size_t numDependencies,
                                   CUgraphNodeParams *nodeParams)
{
    static const CUgraphEdgeData none;
    for (size_t i = 0; dependencyData != NULL && i < numDependencies; i++)
        if (memcmp(&dependencyData[i], &none, sizeof(none)) != 0) return CUDA_ERROR_NOT_SUPPORTED;
    return add_node(__func__, phGraphNode, hGraph, dependencies, numDependencies, nodeParams);
}

/* Unlocks in any case. */
static CUresult replace_and_end(struct soft_op **place, CUresult result, struct soft_op *work)
{
    if (result != CUDA_SUCCESS) return soft_end(result);
    soft_work_drop(*place);
    *place = work;
    return soft_end(CUDA_SUCCESS);
}

static struct soft_launch_how how_of(CUgraphNodeType type, const struct soft_op *work)
{
    struct soft_launch_how how = {.cooperative = 0};
    if (type == CU_GRAPH_NODE_TYPE_KERNEL) how = *soft_kernel_how(work);
    return how;
}

CUresult CUDAAPI cuGraphNodeSetParams(CUgraphNode hNode, CUgraphNodeParams *nodeParams)
{
    struct soft_op *work;
    CUresult result = soft_begin(__func__, SOFT_NEED_INIT, NULL);
    if (result != CUDA_SUCCESS) return result;
    struct soft_node *node = soft_object_find(hNode, SOFT_NODE);
    if (node == NULL || nodeParams == NULL || nodeParams->type != node->type)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    const struct soft_launch_how how = how_of(node->type, node->work);
    result = make(nodeParams, &how, &work);
    return replace_and_end(&node->work, result, work);
}

/* What may not change, of those that may. */
static CUresult check_change(const struct soft_exec_node *node, const CUgraphNodeParams *params)
{
    CUDA_EXT_SEM_SIGNAL_NODE_PARAMS signal;
    CUDA_EXT_SEM_WAIT_NODE_PARAMS wait;
    CUDA_MEMCPY3D copy;
    switch ((int)node->type) {
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
        soft_signal_params(node->work, &signal);
        return signal.numExtSems == params->extSemSignal.numExtSems ? CUDA_SUCCESS
                                                                    : CUDA_ERROR_INVALID_VALUE;
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
        soft_wait_params(node->work, &wait);
        return wait.numExtSems == params->extSemWait.numExtSems ? CUDA_SUCCESS
                                                                : CUDA_ERROR_INVALID_VALUE;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        soft_memcpy_params(node->work, &copy);
        return soft_copy_is_row(&copy) && soft_copy_is_row(&params->memcpy.copyParams)
                   ? CUDA_SUCCESS
                   : CUDA_ERROR_INVALID_VALUE;
    default: return CUDA_SUCCESS;
    }
}

CUresult CUDAAPI cuGraphExecNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                          CUgraphNodeParams *nodeParams)
{
    struct soft_op *work;
    CUresult result = soft_begin(__func__, SOFT_NEED_INIT, NULL);
    if (result != CUDA_SUCCESS) return result;
    struct soft_exec_node *node = soft_exec_node_find(hGraphExec, hNode);
    if (node == NULL || nodeParams == NULL || nodeParams->type != node->type)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    result = check_change(node, nodeParams);
    if (result != CUDA_SUCCESS) return soft_end(result);
    const struct soft_launch_how how = how_of(node->type, node->work);
    result = make(nodeParams, &how, &work);
    return replace_and_end(&node->work, result, work);
}

CUresult CUDAAPI cuGraphKernelNodeCopyAttributes(CUgraphNode dst, CUgraphNode src)
{
    struct soft_op *work = NULL;
    CUDA_KERNEL_NODE_PARAMS params;
    CUresult result = soft_begin(__func__, SOFT_NEED_INIT, NULL);
    if (result != CUDA_SUCCESS) return result;
    struct soft_node *to = soft_object_find(dst, SOFT_NODE);
    const struct soft_node *from = soft_object_find(src, SOFT_NODE);
    if (to == NULL || from == NULL || to->type != CU_GRAPH_NODE_TYPE_KERNEL ||
        from->type != CU_GRAPH_NODE_TYPE_KERNEL)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    soft_kernel_params(to->work, &params);
    result = soft_kernel_make(&params, soft_kernel_how(from->work), &work);
    return replace_and_end(&to->work, result, work);
}

/* --- of events */

static CUresult add_event(const char *call, CUgraphNode *out, CUgraph graph,
                          const CUgraphNode *before, size_t num_before, CUevent event, bool records)
{
    struct soft_op *work = NULL;
    CUresult result = begin_add(call, graph, out, out);
    if (result != CUDA_SUCCESS) return result;
    result = soft_event_node_make(event, records, &work);
    return add_and_end(graph,
                       records ? CU_GRAPH_NODE_TYPE_EVENT_RECORD : CU_GRAPH_NODE_TYPE_WAIT_EVENT,
                       result, work, before, num_before, out);
}

CUresult CUDAAPI cuGraphAddEventRecordNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                           const CUgraphNode *dependencies, size_t numDependencies,
                                           CUevent event)
{
    return add_event(__func__, phGraphNode, hGraph, dependencies, numDependencies, event, true);
}

CUresult CUDAAPI cuGraphAddEventWaitNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                         const CUgraphNode *dependencies, size_t numDependencies,
                                         CUevent event)
{
    return add_event(__func__, phGraphNode, hGraph, dependencies, numDependencies, event, false);
}

/* Of a node, or with `exec` of one in it; unlocks in any case. */
static CUresult change_event(const char *call, CUgraphExec exec, bool in_exec, CUgraphNode handle,
                             CUgraphNodeType type, CUevent event)
{
    struct soft_op *work = NULL;
    CUresult result = soft_begin(call, SOFT_NEED_INIT, NULL);
    if (result != CUDA_SUCCESS) return result;
    struct soft_exec_node *of_exec = in_exec ? soft_exec_node_find(exec, handle) : NULL;
    struct soft_node *node = soft_object_find(handle, SOFT_NODE);
    if (node == NULL || node->type != type || (in_exec && of_exec == NULL))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    result = soft_event_node_make(event, type == CU_GRAPH_NODE_TYPE_EVENT_RECORD, &work);
    return replace_and_end(in_exec ? &of_exec->work : &node->work, result, work);
}

static CUresult get_event(const char *call, CUgraphNode handle, CUgraphNodeType type, CUevent *out)
{
    CUresult result = soft_begin(call, SOFT_NEED_INIT, NULL);
    if (result != CUDA_SUCCESS) return result;
    const struct soft_node *node = soft_object_find(handle, SOFT_NODE);
    if (node == NULL || node->type != type || out == NULL)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    *out = soft_event_of_node(node->work);
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphEventRecordNodeGetEvent(CUgraphNode hNode, CUevent *event_out)
{
    return get_event(__func__, hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event_out);
}

CUresult CUDAAPI cuGraphEventWaitNodeGetEvent(CUgraphNode hNode, CUevent *event_out)
{
    return get_event(__func__, hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event_out);
}

CUresult CUDAAPI cuGraphEventRecordNodeSetEvent(CUgraphNode hNode, CUevent event)
{
    return change_event(__func__, NULL, false, hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
}

CUresult CUDAAPI cuGraphEventWaitNodeSetEvent(CUgraphNode hNode, CUevent event)
{
    return change_event(__func__, NULL, false, hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
}

CUresult CUDAAPI cuGraphExecEventRecordNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                    CUevent event)
{
    return change_event(__func__, hGraphExec, true, hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
}

CUresult CUDAAPI cuGraphExecEventWaitNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                  CUevent event)
{
    return change_event(__func__, hGraphExec, true, hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
}

/* --- of batches of words */

CUresult CUDAAPI cuGraphAddBatchMemOpNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                          const CUgraphNode *dependencies, size_t numDependencies,
                                          const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams)
{
    struct soft_op *work = NULL;
    CUresult result = begin_add(__func__, hGraph, phGraphNode, nodeParams);
    if (result != CUDA_SUCCESS) return result;
    result = soft_batch_make(nodeParams, &work);
    return add_and_end(hGraph, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, result, work, dependencies,
                       numDependencies, phGraphNode);
}

/* The lock is held on success. */
static CUresult begin_batch(const char *call, CUgraphNode handle, const void *params,
                            struct soft_node **node)
{
    CUresult result = soft_begin(call, SOFT_NEED_INIT, NULL);
    if (result != CUDA_SUCCESS) return result;
    *node = soft_object_find(handle, SOFT_NODE);
    return *node == NULL || (*node)->type != CU_GRAPH_NODE_TYPE_BATCH_MEM_OP || params == NULL
               ? soft_end(CUDA_ERROR_INVALID_VALUE)
               : CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphBatchMemOpNodeGetParams(CUgraphNode hNode,
                                                CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams_out)
{
    struct soft_node *node;
    CUresult result = begin_batch(__func__, hNode, nodeParams_out, &node);
    if (result != CUDA_SUCCESS) return result;
    soft_batch_params(node->work, nodeParams_out);
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphBatchMemOpNodeSetParams(CUgraphNode hNode,
                                                const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams)
{
    struct soft_node *node;
    struct soft_op *work = NULL;
    CUresult result = begin_batch(__func__, hNode, nodeParams, &node);
    if (result != CUDA_SUCCESS) return result;
    result = soft_batch_make(nodeParams, &work);
    return replace_and_end(&node->work, result, work);
}

CUresult CUDAAPI cuGraphExecBatchMemOpNodeSetParams(CUgraphExec graphExec, CUgraphNode node,
                                                    const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams)
{
    struct soft_node *found;
    struct soft_op *work = NULL;
    CUresult result = begin_batch(__func__, node, nodeParams, &found);
    if (result != CUDA_SUCCESS) return result;
    struct soft_exec_node *of_exec = soft_exec_node_find(graphExec, node);
    if (of_exec == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    result = soft_batch_make(nodeParams, &work);
    return replace_and_end(&of_exec->work, result, work);
}
