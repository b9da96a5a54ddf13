/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: what a graph's nodes do, as they are added, read and changed, in graphs
 * and in executable ones: by the calls of each kind, and by the parameters that all kinds have in
 * common (cuGraphAddNode). */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BODIES = 1024 };

/* Makes `work` what the node does, where making it succeeded; unlocks. */
static CUresult replace_and_end(struct soft_op **place, CUresult result, struct soft_op *work)
{
    if (result != CUDA_SUCCESS) return soft_end(result);
    soft_work_drop(*place);
    *place = work;
    return soft_end(CUDA_SUCCESS);
}

/* These three are locked on success. */
static CUresult begin_add(const char *call, CUgraph handle, const void *out, const void *params,
                          struct soft_graph **graph)
{
    SOFT_TRY(soft_begin(call, SOFT_NEED_INIT, NULL));
    *graph = soft_graph_find(handle);
    return *graph == NULL || out == NULL || params == NULL ? soft_end(CUDA_ERROR_INVALID_VALUE)
                                                           : CUDA_SUCCESS;
}

static CUresult begin_node(const char *call, CUgraphNode handle, CUgraphNodeType type,
                           const void *params, struct soft_node **node)
{
    SOFT_TRY(soft_begin(call, SOFT_NEED_INIT, NULL));
    *node = soft_object_find(handle, SOFT_NODE);
    return *node == NULL || (*node)->type != type || params == NULL
               ? soft_end(CUDA_ERROR_INVALID_VALUE)
               : CUDA_SUCCESS;
}

static CUresult begin_exec(const char *call, CUgraphExec exec, CUgraphNode handle,
                           CUgraphNodeType type, const void *params, struct soft_exec_node **node)
{
    SOFT_TRY(soft_begin(call, SOFT_NEED_INIT, NULL));
    *node = soft_exec_node_find(exec, handle);
    return *node == NULL || (*node)->type != type || params == NULL
               ? soft_end(CUDA_ERROR_INVALID_VALUE)
               : CUDA_SUCCESS;
}

static CUresult add_and_end(struct soft_graph *graph, CUgraphNodeType type, CUresult result,
                            struct soft_op *work, const CUgraphNode *before, size_t num_before,
                            CUgraphNode *out)
{
    struct soft_node *node;
    if (result != CUDA_SUCCESS) return soft_end(result);
    result = soft_graph_add(graph, type, work, before, num_before, &node);
    if (result == CUDA_SUCCESS)
        *out = (CUgraphNode)(void *)node;
    else
        soft_work_drop(work);
    return soft_end(result);
}

CUresult CUDAAPI cuGraphAddEmptyNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                     const CUgraphNode *dependencies, size_t numDependencies)
{
    struct soft_graph *graph;
    SOFT_TRY(begin_add(__func__, hGraph, phGraphNode, phGraphNode, &graph));
    return add_and_end(graph, CU_GRAPH_NODE_TYPE_EMPTY, CUDA_SUCCESS, NULL, dependencies,
                       numDependencies, phGraphNode);
}

static struct soft_launch_how how_of(CUgraphNodeType type, const struct soft_op *work)
{
    struct soft_launch_how how = {.cooperative = 0};
    if (type == CU_GRAPH_NODE_TYPE_KERNEL && work != NULL) how = *soft_kernel_how(work);
    return how;
}

/* What may not change in an executable graph's copy, of what may. */
static bool same_signals(const struct soft_op *work, unsigned count)
{
    CUDA_EXT_SEM_SIGNAL_NODE_PARAMS before;
    soft_signal_params(work, &before);
    return before.numExtSems == count;
}

static bool same_waits(const struct soft_op *work, unsigned count)
{
    CUDA_EXT_SEM_WAIT_NODE_PARAMS before;
    soft_wait_params(work, &before);
    return before.numExtSems == count;
}

static bool is_row(const CUDA_MEMCPY3D *p)
{
    return p->Height <= 1 && p->Depth <= 1 && p->srcMemoryType != CU_MEMORYTYPE_ARRAY &&
           p->dstMemoryType != CU_MEMORYTYPE_ARRAY;
}

static bool both_rows(const struct soft_op *work, const CUDA_MEMCPY3D *params)
{
    CUDA_MEMCPY3D before;
    soft_memcpy_params(work, &before);
    return is_row(&before) && is_row(params);
}

static bool is_context(CUcontext context)
{
    return soft_context_find(context) != NULL;
}

static CUcontext or_current(CUcontext context)
{
    return context != NULL ? context : (CUcontext)(void *)soft_context_current();
}

/* --- the calls of a kind of nodes */

#define NO_CONTEXT
#define CONTEXT , CUcontext ctx
/* `make` and `read` are calls; `adds` says whether the context is one, `may` whether an executable
 * graph's node may become this. */
#define ADD(name, suffix, kind, of, make, context, adds)                                           \
    CUresult CUDAAPI cuGraphAdd##name##Node##suffix(CUgraphNode *out, CUgraph handle,              \
                                                    const CUgraphNode *before, size_t num_before,  \
                                                    const of *params context)                      \
    {                                                                                              \
        struct soft_graph *graph;                                                                  \
        struct soft_op *work = NULL;                                                               \
        const struct soft_launch_how how = how_of(CU_GRAPH_NODE_TYPE_##kind, NULL);                \
        (void)how;                                                                                 \
        CUresult result = begin_add(__func__, handle, out, params, &graph);                        \
        if (result != CUDA_SUCCESS) return result;                                                 \
        if (!(adds)) return soft_end(CUDA_ERROR_INVALID_CONTEXT);                                  \
        result = make;                                                                             \
        return add_and_end(graph, CU_GRAPH_NODE_TYPE_##kind, result, work, before, num_before,     \
                           out);                                                                   \
    }
#define GET(name, suffix, kind, of, read)                                                          \
    CUresult CUDAAPI cuGraph##name##NodeGetParams##suffix(CUgraphNode handle, of *params)          \
    {                                                                                              \
        struct soft_node *node;                                                                    \
        CUresult result = begin_node(__func__, handle, CU_GRAPH_NODE_TYPE_##kind, params, &node);  \
        if (result != CUDA_SUCCESS) return result;                                                 \
        read(node->work, params);                                                                  \
        return soft_end(CUDA_SUCCESS);                                                             \
    }
#define SET(name, suffix, kind, of, make)                                                          \
    CUresult CUDAAPI cuGraph##name##NodeSetParams##suffix(CUgraphNode handle, const of *params)    \
    {                                                                                              \
        struct soft_node *node;                                                                    \
        struct soft_op *work = NULL;                                                               \
        CUresult result = begin_node(__func__, handle, CU_GRAPH_NODE_TYPE_##kind, params, &node);  \
        if (result != CUDA_SUCCESS) return result;                                                 \
        const struct soft_launch_how how = how_of(CU_GRAPH_NODE_TYPE_##kind, node->work);          \
        (void)how;                                                                                 \
        result = make;                                                                             \
        return replace_and_end(&node->work, result, work);                                         \
    }
#define SET_EXEC(name, suffix, kind, of, make, may)                                                \
    CUresult CUDAAPI cuGraphExec##name##NodeSetParams##suffix(                                     \
        CUgraphExec exec, CUgraphNode handle, const of *params)                                    \
    {                                                                                              \
        struct soft_exec_node *node;                                                               \
        struct soft_op *work = NULL;                                                               \
        CUresult result =                                                                          \
            begin_exec(__func__, exec, handle, CU_GRAPH_NODE_TYPE_##kind, params, &node);          \
        if (result != CUDA_SUCCESS) return result;                                                 \
        if (!(may)) return soft_end(CUDA_ERROR_INVALID_VALUE);                                     \
        const struct soft_launch_how how = how_of(CU_GRAPH_NODE_TYPE_##kind, node->work);          \
        (void)how;                                                                                 \
        result = make;                                                                             \
        return replace_and_end(&node->work, result, work);                                         \
    }
ADD(Kernel, _v2, KERNEL, CUDA_KERNEL_NODE_PARAMS, soft_kernel_make(params, &how, &work), NO_CONTEXT,
    true)
GET(Kernel, _v2, KERNEL, CUDA_KERNEL_NODE_PARAMS, soft_kernel_params)
SET(Kernel, _v2, KERNEL, CUDA_KERNEL_NODE_PARAMS, soft_kernel_make(params, &how, &work))
SET_EXEC(Kernel, _v2, KERNEL, CUDA_KERNEL_NODE_PARAMS, soft_kernel_make(params, &how, &work), true)
ADD(Host, , HOST, CUDA_HOST_NODE_PARAMS, soft_host_make(params, &work), NO_CONTEXT, true)
ADD(ExternalSemaphoresSignal, , EXT_SEMAS_SIGNAL, CUDA_EXT_SEM_SIGNAL_NODE_PARAMS,
    soft_signal_make(params, &work), NO_CONTEXT, true)
GET(ExternalSemaphoresSignal, , EXT_SEMAS_SIGNAL, CUDA_EXT_SEM_SIGNAL_NODE_PARAMS,
    soft_signal_params)
SET_EXEC(ExternalSemaphoresSignal, , EXT_SEMAS_SIGNAL, CUDA_EXT_SEM_SIGNAL_NODE_PARAMS,
         soft_signal_make(params, &work), same_signals(node->work, params->numExtSems))
ADD(ExternalSemaphoresWait, , EXT_SEMAS_WAIT, CUDA_EXT_SEM_WAIT_NODE_PARAMS,
    soft_wait_make(params, &work), NO_CONTEXT, true)
GET(ExternalSemaphoresWait, , EXT_SEMAS_WAIT, CUDA_EXT_SEM_WAIT_NODE_PARAMS, soft_wait_params)
SET_EXEC(ExternalSemaphoresWait, , EXT_SEMAS_WAIT, CUDA_EXT_SEM_WAIT_NODE_PARAMS,
         soft_wait_make(params, &work), same_waits(node->work, params->numExtSems))
/* A context of NULL is the current one where a node is added (measured). */
ADD(Memset, , MEMSET, CUDA_MEMSET_NODE_PARAMS, soft_memset_make(params, &work), CONTEXT,
    is_context(or_current(ctx)))
GET(Memset, , MEMSET, CUDA_MEMSET_NODE_PARAMS, soft_memset_params)
SET(Memset, , MEMSET, CUDA_MEMSET_NODE_PARAMS, soft_memset_make(params, &work))
ADD(Memcpy, , MEMCPY, CUDA_MEMCPY3D, soft_memcpy_make(params, &work), CONTEXT, is_context(ctx))
GET(Memcpy, , MEMCPY, CUDA_MEMCPY3D, soft_memcpy_params)

/* --- kernels */

/* Values that the twin has not are zero. cuda.h: which are of launches alone. */
CUresult CUDAAPI cuGraphKernelNodeGetAttribute(CUgraphNode hNode, CUlaunchAttributeID attr,
                                               CUlaunchAttributeValue *value_out)
{
    struct soft_node *node;
    SOFT_TRY(begin_node(__func__, hNode, CU_GRAPH_NODE_TYPE_KERNEL, value_out, &node));
    const struct soft_launch_how *how = soft_kernel_how(node->work);
    CUlaunchAttributeValue value = {.pad = {0}};
    switch (attr) {
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        value.clusterDim.x = how->cluster[0];
        value.clusterDim.y = how->cluster[1];
        value.clusterDim.z = how->cluster[2];
        break;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: value.cooperative = how->cooperative; break;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY: value.priority = how->priority; break;
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
        value.deviceUpdatableKernelNode.deviceUpdatable = how->updatable;
        break;
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: break;
    default: return soft_end(CUDA_ERROR_INVALID_VALUE);
    }
    *value_out = value;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphKernelNodeSetAttribute(CUgraphNode hNode, CUlaunchAttributeID attr,
                                               const CUlaunchAttributeValue *value)
{
    struct soft_node *node;
    struct soft_op *work = NULL;
    CUDA_KERNEL_NODE_PARAMS params;
    SOFT_TRY(begin_node(__func__, hNode, CU_GRAPH_NODE_TYPE_KERNEL, value, &node));
    struct soft_launch_how how = *soft_kernel_how(node->work);
    if (!soft_launch_read_attribute(&how, attr, value)) return soft_end(CUDA_ERROR_NOT_SUPPORTED);
    soft_kernel_params(node->work, &params);
    result = soft_kernel_make(&params, &how, &work);
    return replace_and_end(&node->work, result, work);
}

/* --- by the parameters of all kinds */

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
    const CUDA_MEMSET_NODE_PARAMS params = {.dst = p->dst,
                                            .pitch = p->pitch,
                                            .value = p->value,
                                            .elementSize = p->elementSize,
                                            .width = p->width,
                                            .height = p->height};
    return is_context(or_current(p->ctx)) ? soft_memset_make(&params, work)
                                          : CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult make_memcpy(const CUDA_MEMCPY_NODE_PARAMS *p, struct soft_op **work)
{
    if (p->flags != 0 || p->reserved != 0) return CUDA_ERROR_INVALID_VALUE;
    return is_context(or_current(p->copyCtx)) ? soft_memcpy_make(&p->copyParams, work)
                                              : CUDA_ERROR_INVALID_CONTEXT;
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
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
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

static CUresult add_node(const char *call, CUgraphNode *out, CUgraph handle,
                         const CUgraphNode *before, size_t num_before, CUgraphNodeParams *params)
{
    static const struct soft_launch_how plain;
    struct soft_graph *graph;
    struct soft_op *work;
    SOFT_TRY(begin_add(call, handle, out, params, &graph));
    result = make(params, &plain, &work);
    if (result != CUDA_SUCCESS || params->type != CU_GRAPH_NODE_TYPE_CONDITIONAL)
        return add_and_end(graph, params->type, result, work, before, num_before, out);
    struct soft_node *node;
    SOFT_STEP(soft_graph_add(graph, params->type, NULL, before, num_before, &node));
    result = make_bodies(node, params->conditional.size);
    if (result != CUDA_SUCCESS) {
        soft_graph_drop_last(graph);
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
    SOFT_BEGIN(SOFT_NEED_INIT);
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

CUresult CUDAAPI cuGraphNodeSetParams(CUgraphNode hNode, CUgraphNodeParams *nodeParams)
{
    struct soft_op *work;
    SOFT_BEGIN(SOFT_NEED_INIT);
    struct soft_node *node = soft_object_find(hNode, SOFT_NODE);
    if (node == NULL || nodeParams == NULL || nodeParams->type != node->type)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    const struct soft_launch_how how = how_of(node->type, node->work);
    result = make(nodeParams, &how, &work);
    return replace_and_end(&node->work, result, work);
}

static bool may_become(const struct soft_exec_node *node, const CUgraphNodeParams *params)
{
    switch ((int)node->type) {
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
        return same_signals(node->work, params->extSemSignal.numExtSems);
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
        return same_waits(node->work, params->extSemWait.numExtSems);
    case CU_GRAPH_NODE_TYPE_MEMCPY: return both_rows(node->work, &params->memcpy.copyParams);
    default: return true;
    }
}

CUresult CUDAAPI cuGraphExecNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                          CUgraphNodeParams *nodeParams)
{
    struct soft_op *work;
    SOFT_BEGIN(SOFT_NEED_INIT);
    struct soft_exec_node *node = soft_exec_node_find(hGraphExec, hNode);
    if (node == NULL || nodeParams == NULL || nodeParams->type != node->type ||
        !may_become(node, nodeParams))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    const struct soft_launch_how how = how_of(node->type, node->work);
    result = make(nodeParams, &how, &work);
    return replace_and_end(&node->work, result, work);
}
