/* SPDX-License-Identifier: MIT */
/* culvert-check before the CUDA driver: graphs. */
#include "cuda_inside.h"

static void make_opaque(const CUexternalSemaphore *handles, unsigned count)
{
    check_model *m = handles != NULL ? check_open() : NULL;
    if (m == NULL) return;
    for (unsigned i = 0; i < count; i++)
        check_payload_opaque(check_get(CHECK_OF_CU_SEMAPHORE, (uint64_t)(uintptr_t)handles[i]));
    check_close();
}

CHECK_EXPORT CUresult CUDAAPI cuGraphAddExternalSemaphoresSignalNode(
    CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
    const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *params)
{
    REAL(cuGraphAddExternalSemaphoresSignalNode,
         (CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
          const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *),
         (node, graph, dependencies, count, params))
    if (params != NULL) make_opaque(params->extSemArray, params->numExtSems);
    return real(node, graph, dependencies, count, params);
}

CHECK_EXPORT CUresult CUDAAPI cuGraphAddExternalSemaphoresWaitNode(
    CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
    const CUDA_EXT_SEM_WAIT_NODE_PARAMS *params)
{
    REAL(cuGraphAddExternalSemaphoresWaitNode,
         (CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
          const CUDA_EXT_SEM_WAIT_NODE_PARAMS *),
         (node, graph, dependencies, count, params))
    if (params != NULL) make_opaque(params->extSemArray, params->numExtSems);
    return real(node, graph, dependencies, count, params);
}
// clang-format off
ON_STREAM(cuGraphLaunch, ptsz, (CUgraphExec g, CUstream s), (g, s), s, NOTHING, NOTHING)
// clang-format on
