/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: what a graph's nodes do, as they are added, read and changed, in graphs
 * and in executable ones. */
#include "graph.h"

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
    CUresult result = soft_begin(call, SOFT_NEED_INIT, NULL);
    if (result != CUDA_SUCCESS) return result;
    *graph = soft_graph_find(handle);
    return *graph == NULL || out == NULL || params == NULL ? soft_end(CUDA_ERROR_INVALID_VALUE)
                                                           : CUDA_SUCCESS;
}

static CUresult begin_node(const char *call, CUgraphNode handle, CUgraphNodeType type,
                           const void *params, struct soft_node **node)
{
    CUresult result = soft_begin(call, SOFT_NEED_INIT, NULL);
    if (result != CUDA_SUCCESS) return result;
    *node = soft_object_find(handle, SOFT_NODE);
    return *node == NULL || (*node)->type != type || params == NULL
               ? soft_end(CUDA_ERROR_INVALID_VALUE)
               : CUDA_SUCCESS;
}

static CUresult begin_exec(const char *call, CUgraphExec exec, CUgraphNode handle,
                           CUgraphNodeType type, const void *params, struct soft_exec_node **node)
{
    CUresult result = soft_begin(call, SOFT_NEED_INIT, NULL);
    if (result != CUDA_SUCCESS) return result;
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
    CUresult result = begin_add(__func__, hGraph, phGraphNode, phGraphNode, &graph);
    if (result != CUDA_SUCCESS) return result;
    return add_and_end(graph, CU_GRAPH_NODE_TYPE_EMPTY, CUDA_SUCCESS, NULL, dependencies,
                       numDependencies, phGraphNode);
}

/* --- kernels */

/* The older form has not the last two members. */
static CUDA_KERNEL_NODE_PARAMS newer(const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
    CUDA_KERNEL_NODE_PARAMS params = {.func = p->func,
                                      .gridDimX = p->gridDimX,
                                      .gridDimY = p->gridDimY,
                                      .gridDimZ = p->gridDimZ,
                                      .blockDimX = p->blockDimX,
                                      .blockDimY = p->blockDimY,
                                      .blockDimZ = p->blockDimZ,
                                      .sharedMemBytes = p->sharedMemBytes,
                                      .kernelParams = p->kernelParams,
                                      .extra = p->extra};
    return params;
}

CUresult CUDAAPI cuGraphAddKernelNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph,
                                         const CUgraphNode *dependencies, size_t numDependencies,
                                         const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    struct soft_graph *graph;
    struct soft_op *work = NULL;
    CUresult result = begin_add(__func__, hGraph, phGraphNode, nodeParams, &graph);
    if (result != CUDA_SUCCESS) return result;
    result = soft_kernel_make(nodeParams, &(struct soft_launch_how){.cooperative = 0}, &work);
    return add_and_end(graph, CU_GRAPH_NODE_TYPE_KERNEL, result, work, dependencies,
                       numDependencies, phGraphNode);
}

CUresult CUDAAPI cuGraphKernelNodeGetParams_v2(CUgraphNode hNode,
                                               CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    struct soft_node *node;
    CUresult result = begin_node(__func__, hNode, CU_GRAPH_NODE_TYPE_KERNEL, nodeParams, &node);
    if (result != CUDA_SUCCESS) return result;
    soft_kernel_params(node->work, nodeParams);
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphKernelNodeSetParams_v2(CUgraphNode hNode,
                                               const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    struct soft_node *node;
    struct soft_op *work = NULL;
    CUresult result = begin_node(__func__, hNode, CU_GRAPH_NODE_TYPE_KERNEL, nodeParams, &node);
    if (result != CUDA_SUCCESS) return result;
    result = soft_kernel_make(nodeParams, soft_kernel_how(node->work), &work);
    return replace_and_end(&node->work, result, work);
}

CUresult CUDAAPI cuGraphExecKernelNodeSetParams_v2(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                   const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    struct soft_exec_node *node;
    struct soft_op *work = NULL;
    CUresult result =
        begin_exec(__func__, hGraphExec, hNode, CU_GRAPH_NODE_TYPE_KERNEL, nodeParams, &node);
    if (result != CUDA_SUCCESS) return result;
    result = soft_kernel_make(nodeParams, soft_kernel_how(node->work), &work);
    return replace_and_end(&node->work, result, work);
}

CUresult CUDAAPI cuGraphAddKernelNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                      const CUgraphNode *dependencies, size_t numDependencies,
                                      const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
    if (nodeParams == NULL)
        return cuGraphAddKernelNode_v2(phGraphNode, hGraph, dependencies, numDependencies, NULL);
    const CUDA_KERNEL_NODE_PARAMS params = newer(nodeParams);
    return cuGraphAddKernelNode_v2(phGraphNode, hGraph, dependencies, numDependencies, &params);
}

CUresult CUDAAPI cuGraphKernelNodeGetParams(CUgraphNode hNode,
                                            CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
    CUDA_KERNEL_NODE_PARAMS p;
    CUresult result = cuGraphKernelNodeGetParams_v2(hNode, nodeParams == NULL ? NULL : &p);
    if (result != CUDA_SUCCESS) return result;
    *nodeParams = (CUDA_KERNEL_NODE_PARAMS_v1){.func = p.func,
                                               .gridDimX = p.gridDimX,
                                               .gridDimY = p.gridDimY,
                                               .gridDimZ = p.gridDimZ,
                                               .blockDimX = p.blockDimX,
                                               .blockDimY = p.blockDimY,
                                               .blockDimZ = p.blockDimZ,
                                               .sharedMemBytes = p.sharedMemBytes,
                                               .kernelParams = p.kernelParams,
                                               .extra = p.extra};
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphKernelNodeSetParams(CUgraphNode hNode,
                                            const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
    if (nodeParams == NULL) return cuGraphKernelNodeSetParams_v2(hNode, NULL);
    const CUDA_KERNEL_NODE_PARAMS params = newer(nodeParams);
    return cuGraphKernelNodeSetParams_v2(hNode, &params);
}

CUresult CUDAAPI cuGraphExecKernelNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
    if (nodeParams == NULL) return cuGraphExecKernelNodeSetParams_v2(hGraphExec, hNode, NULL);
    const CUDA_KERNEL_NODE_PARAMS params = newer(nodeParams);
    return cuGraphExecKernelNodeSetParams_v2(hGraphExec, hNode, &params);
}

/* Values that the twin has not are zero. cuda.h: which are of launches alone. */
CUresult CUDAAPI cuGraphKernelNodeGetAttribute(CUgraphNode hNode, CUlaunchAttributeID attr,
                                               CUlaunchAttributeValue *value_out)
{
    struct soft_node *node;
    CUresult result = begin_node(__func__, hNode, CU_GRAPH_NODE_TYPE_KERNEL, value_out, &node);
    if (result != CUDA_SUCCESS) return result;
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
    CUresult result = begin_node(__func__, hNode, CU_GRAPH_NODE_TYPE_KERNEL, value, &node);
    if (result != CUDA_SUCCESS) return result;
    struct soft_launch_how how = *soft_kernel_how(node->work);
    if (!soft_launch_read_attribute(&how, attr, value)) return soft_end(CUDA_ERROR_NOT_SUPPORTED);
    soft_kernel_params(node->work, &params);
    result = soft_kernel_make(&params, &how, &work);
    return replace_and_end(&node->work, result, work);
}

/* --- host functions */

CUresult CUDAAPI cuGraphAddHostNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                    const CUgraphNode *dependencies, size_t numDependencies,
                                    const CUDA_HOST_NODE_PARAMS *nodeParams)
{
    struct soft_graph *graph;
    struct soft_op *work = NULL;
    CUresult result = begin_add(__func__, hGraph, phGraphNode, nodeParams, &graph);
    if (result != CUDA_SUCCESS) return result;
    result = soft_host_make(nodeParams, &work);
    return add_and_end(graph, CU_GRAPH_NODE_TYPE_HOST, result, work, dependencies, numDependencies,
                       phGraphNode);
}

CUresult CUDAAPI cuGraphHostNodeGetParams(CUgraphNode hNode, CUDA_HOST_NODE_PARAMS *nodeParams)
{
    struct soft_node *node;
    CUresult result = begin_node(__func__, hNode, CU_GRAPH_NODE_TYPE_HOST, nodeParams, &node);
    if (result != CUDA_SUCCESS) return result;
    soft_host_params(node->work, nodeParams);
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphHostNodeSetParams(CUgraphNode hNode,
                                          const CUDA_HOST_NODE_PARAMS *nodeParams)
{
    struct soft_node *node;
    struct soft_op *work = NULL;
    CUresult result = begin_node(__func__, hNode, CU_GRAPH_NODE_TYPE_HOST, nodeParams, &node);
    if (result != CUDA_SUCCESS) return result;
    result = soft_host_make(nodeParams, &work);
    return replace_and_end(&node->work, result, work);
}

CUresult CUDAAPI cuGraphExecHostNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                              const CUDA_HOST_NODE_PARAMS *nodeParams)
{
    struct soft_exec_node *node;
    struct soft_op *work = NULL;
    CUresult result =
        begin_exec(__func__, hGraphExec, hNode, CU_GRAPH_NODE_TYPE_HOST, nodeParams, &node);
    if (result != CUDA_SUCCESS) return result;
    result = soft_host_make(nodeParams, &work);
    return replace_and_end(&node->work, result, work);
}

/* --- signals */

CUresult CUDAAPI cuGraphAddExternalSemaphoresSignalNode(
    CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
    size_t numDependencies, const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *nodeParams)
{
    struct soft_graph *graph;
    struct soft_op *work = NULL;
    CUresult result = begin_add(__func__, hGraph, phGraphNode, nodeParams, &graph);
    if (result != CUDA_SUCCESS) return result;
    result = soft_signal_make(nodeParams, &work);
    return add_and_end(graph, CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL, result, work, dependencies,
                       numDependencies, phGraphNode);
}

CUresult CUDAAPI cuGraphExternalSemaphoresSignalNodeGetParams(
    CUgraphNode hNode, CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *nodeParams)
{
    struct soft_node *node;
    CUresult result =
        begin_node(__func__, hNode, CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL, nodeParams, &node);
    if (result != CUDA_SUCCESS) return result;
    soft_signal_params(node->work, nodeParams);
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphExternalSemaphoresSignalNodeSetParams(
    CUgraphNode hNode, const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *nodeParams)
{
    struct soft_node *node;
    struct soft_op *work = NULL;
    CUresult result =
        begin_node(__func__, hNode, CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL, nodeParams, &node);
    if (result != CUDA_SUCCESS) return result;
    result = soft_signal_make(nodeParams, &work);
    return replace_and_end(&node->work, result, work);
}

CUresult CUDAAPI cuGraphExecExternalSemaphoresSignalNodeSetParams(
    CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *nodeParams)
{
    struct soft_exec_node *node;
    struct soft_op *work = NULL;
    CUresult result = begin_exec(__func__, hGraphExec, hNode, CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL,
                                 nodeParams, &node);
    if (result != CUDA_SUCCESS) return result;
    CUDA_EXT_SEM_SIGNAL_NODE_PARAMS before;
    soft_signal_params(node->work, &before);
    if (nodeParams->numExtSems != before.numExtSems) return soft_end(CUDA_ERROR_INVALID_VALUE);
    result = soft_signal_make(nodeParams, &work);
    return replace_and_end(&node->work, result, work);
}

/* --- waits */

CUresult CUDAAPI cuGraphAddExternalSemaphoresWaitNode(
    CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
    size_t numDependencies, const CUDA_EXT_SEM_WAIT_NODE_PARAMS *nodeParams)
{
    struct soft_graph *graph;
    struct soft_op *work = NULL;
    CUresult result = begin_add(__func__, hGraph, phGraphNode, nodeParams, &graph);
    if (result != CUDA_SUCCESS) return result;
    result = soft_wait_make(nodeParams, &work);
    return add_and_end(graph, CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT, result, work, dependencies,
                       numDependencies, phGraphNode);
}

CUresult CUDAAPI cuGraphExternalSemaphoresWaitNodeGetParams(
    CUgraphNode hNode, CUDA_EXT_SEM_WAIT_NODE_PARAMS *nodeParams)
{
    struct soft_node *node;
    CUresult result =
        begin_node(__func__, hNode, CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT, nodeParams, &node);
    if (result != CUDA_SUCCESS) return result;
    soft_wait_params(node->work, nodeParams);
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphExternalSemaphoresWaitNodeSetParams(
    CUgraphNode hNode, const CUDA_EXT_SEM_WAIT_NODE_PARAMS *nodeParams)
{
    struct soft_node *node;
    struct soft_op *work = NULL;
    CUresult result =
        begin_node(__func__, hNode, CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT, nodeParams, &node);
    if (result != CUDA_SUCCESS) return result;
    result = soft_wait_make(nodeParams, &work);
    return replace_and_end(&node->work, result, work);
}

CUresult CUDAAPI cuGraphExecExternalSemaphoresWaitNodeSetParams(
    CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_EXT_SEM_WAIT_NODE_PARAMS *nodeParams)
{
    struct soft_exec_node *node;
    struct soft_op *work = NULL;
    CUresult result = begin_exec(__func__, hGraphExec, hNode, CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT,
                                 nodeParams, &node);
    if (result != CUDA_SUCCESS) return result;
    CUDA_EXT_SEM_WAIT_NODE_PARAMS before;
    soft_wait_params(node->work, &before);
    if (nodeParams->numExtSems != before.numExtSems) return soft_end(CUDA_ERROR_INVALID_VALUE);
    result = soft_wait_make(nodeParams, &work);
    return replace_and_end(&node->work, result, work);
}

/* --- sets */

CUresult CUDAAPI cuGraphAddMemsetNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                      const CUgraphNode *dependencies, size_t numDependencies,
                                      const CUDA_MEMSET_NODE_PARAMS *nodeParams, CUcontext ctx)
{
    struct soft_graph *graph;
    struct soft_op *work = NULL;
    CUresult result = begin_add(__func__, hGraph, phGraphNode, nodeParams, &graph);
    if (result != CUDA_SUCCESS) return result;
    /* NULL is the current one (measured). */
    if (ctx == NULL) ctx = (CUcontext)(void *)soft_context_current();
    if (soft_context_find(ctx) == NULL) return soft_end(CUDA_ERROR_INVALID_CONTEXT);
    result = soft_memset_make(nodeParams, &work);
    return add_and_end(graph, CU_GRAPH_NODE_TYPE_MEMSET, result, work, dependencies,
                       numDependencies, phGraphNode);
}

CUresult CUDAAPI cuGraphMemsetNodeGetParams(CUgraphNode hNode, CUDA_MEMSET_NODE_PARAMS *nodeParams)
{
    struct soft_node *node;
    CUresult result = begin_node(__func__, hNode, CU_GRAPH_NODE_TYPE_MEMSET, nodeParams, &node);
    if (result != CUDA_SUCCESS) return result;
    soft_memset_params(node->work, nodeParams);
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphMemsetNodeSetParams(CUgraphNode hNode,
                                            const CUDA_MEMSET_NODE_PARAMS *nodeParams)
{
    struct soft_node *node;
    struct soft_op *work = NULL;
    CUresult result = begin_node(__func__, hNode, CU_GRAPH_NODE_TYPE_MEMSET, nodeParams, &node);
    if (result != CUDA_SUCCESS) return result;
    result = soft_memset_make(nodeParams, &work);
    return replace_and_end(&node->work, result, work);
}

CUresult CUDAAPI cuGraphExecMemsetNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                const CUDA_MEMSET_NODE_PARAMS *nodeParams,
                                                CUcontext ctx)
{
    struct soft_exec_node *node;
    struct soft_op *work = NULL;
    CUresult result =
        begin_exec(__func__, hGraphExec, hNode, CU_GRAPH_NODE_TYPE_MEMSET, nodeParams, &node);
    if (result != CUDA_SUCCESS) return result;
    if (soft_context_find(ctx) == NULL) return soft_end(CUDA_ERROR_INVALID_CONTEXT);
    result = soft_memset_make(nodeParams, &work);
    return replace_and_end(&node->work, result, work);
}

/* --- copies */

bool soft_copy_is_row(const CUDA_MEMCPY3D *p)
{
    return p->Height <= 1 && p->Depth <= 1 && p->srcMemoryType != CU_MEMORYTYPE_ARRAY &&
           p->dstMemoryType != CU_MEMORYTYPE_ARRAY;
}

CUresult CUDAAPI cuGraphAddMemcpyNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                      const CUgraphNode *dependencies, size_t numDependencies,
                                      const CUDA_MEMCPY3D *nodeParams, CUcontext ctx)
{
    struct soft_graph *graph;
    struct soft_op *work = NULL;
    CUresult result = begin_add(__func__, hGraph, phGraphNode, nodeParams, &graph);
    if (result != CUDA_SUCCESS) return result;
    if (soft_context_find(ctx) == NULL) return soft_end(CUDA_ERROR_INVALID_CONTEXT);
    result = soft_memcpy_make(nodeParams, &work);
    return add_and_end(graph, CU_GRAPH_NODE_TYPE_MEMCPY, result, work, dependencies,
                       numDependencies, phGraphNode);
}

CUresult CUDAAPI cuGraphMemcpyNodeGetParams(CUgraphNode hNode, CUDA_MEMCPY3D *nodeParams)
{
    struct soft_node *node;
    CUresult result = begin_node(__func__, hNode, CU_GRAPH_NODE_TYPE_MEMCPY, nodeParams, &node);
    if (result != CUDA_SUCCESS) return result;
    soft_memcpy_params(node->work, nodeParams);
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphMemcpyNodeSetParams(CUgraphNode hNode, const CUDA_MEMCPY3D *nodeParams)
{
    struct soft_node *node;
    struct soft_op *work = NULL;
    CUresult result = begin_node(__func__, hNode, CU_GRAPH_NODE_TYPE_MEMCPY, nodeParams, &node);
    if (result != CUDA_SUCCESS) return result;
    result = soft_memcpy_make(nodeParams, &work);
    return replace_and_end(&node->work, result, work);
}

CUresult CUDAAPI cuGraphExecMemcpyNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                const CUDA_MEMCPY3D *nodeParams, CUcontext ctx)
{
    struct soft_exec_node *node;
    struct soft_op *work = NULL;
    CUresult result =
        begin_exec(__func__, hGraphExec, hNode, CU_GRAPH_NODE_TYPE_MEMCPY, nodeParams, &node);
    if (result != CUDA_SUCCESS) return result;
    if (soft_context_find(ctx) == NULL) return soft_end(CUDA_ERROR_INVALID_CONTEXT);
    CUDA_MEMCPY3D before;
    soft_memcpy_params(node->work, &before);
    if (!soft_copy_is_row(&before) || !soft_copy_is_row(nodeParams))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    result = soft_memcpy_make(nodeParams, &work);
    return replace_and_end(&node->work, result, work);
}
