/* SPDX-License-Identifier: MIT */
/* culvert-check before the CUDA driver: calls that change an executable graph. */
#include "cuda_graphs.h"

/* The node does something else from now on. What it did is freed. */
static void change(CUgraphExec exec, CUgraphNode handle, doing *does)
{
    check_model *m = check_open();
    graph *g = m != NULL ? check_get(CHECK_OF_CU_GRAPH, ADDRESS(exec)) : NULL;
    node *n = NULL;
    for (unsigned i = 0; g != NULL && n == NULL && i < g->num_nodes; i++)
        if (g->nodes[i].handle == handle) n = &g->nodes[i];
    if (n != NULL) {
        const doing before = n->does;
        n->does = *does;
        *does = before;
        node_forget(n);
        g->planned = false;
    } else if (g != NULL)
        g->followed = false;
    if (m != NULL) check_close();
    doing_free(does);
}

#define SET(symbol, parameters, arguments, known, does_)                                           \
    CHECK_EXPORT CUresult CUDAAPI symbol parameters                                                \
    {                                                                                              \
        REAL(symbol, parameters, arguments)                                                        \
        check_inside++;                                                                            \
        const CUresult result = real arguments;                                                    \
        if (result == CUDA_SUCCESS && (known)) {                                                   \
            doing d = {0};                                                                         \
            does_;                                                                                 \
            change(exec, at, &d);                                                                  \
        }                                                                                          \
        check_inside--;                                                                            \
        return result;                                                                             \
    }

static void do_any(doing *d, const CUgraphNodeParams *p)
{
    CUDA_KERNEL_NODE_PARAMS_v2 kernel;
    CUDA_MEMSET_NODE_PARAMS set;
    memset(&kernel, 0, sizeof kernel);
    switch (p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        kernel.func = p->kernel.func;
        kernel.kern = p->kernel.kern;
        kernel.kernelParams = p->kernel.kernelParams;
        kernel.extra = p->kernel.extra;
        doing_kernel(d, &kernel);
        break;
    case CU_GRAPH_NODE_TYPE_MEMCPY: doing_memcpy(d, &p->memcpy.copyParams); break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        set = (CUDA_MEMSET_NODE_PARAMS){.dst = p->memset.dst,
                                        .pitch = p->memset.pitch,
                                        .elementSize = p->memset.elementSize,
                                        .width = p->memset.width,
                                        .height = p->memset.height};
        doing_memset(d, &set);
        break;
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
        doing_turns(d, p->extSemSignal.extSemArray, p->extSemSignal.paramsArray,
                    sizeof *p->extSemSignal.paramsArray, p->extSemSignal.numExtSems);
        break;
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
        doing_turns(d, p->extSemWait.extSemArray, p->extSemWait.paramsArray,
                    sizeof *p->extSemWait.paramsArray, p->extSemWait.numExtSems);
        break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: d->event = p->eventWait.event; break;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: d->event = p->eventRecord.event; break;
    default: break;
    }
}

// clang-format off
SET(cuGraphExecKernelNodeSetParams, (CUgraphExec exec, CUgraphNode at, const CUDA_KERNEL_NODE_PARAMS_v1 *p), (exec, at, p), p != NULL, doing_kernel_v1(&d, p))
SET(cuGraphExecKernelNodeSetParams_v2, (CUgraphExec exec, CUgraphNode at, const CUDA_KERNEL_NODE_PARAMS_v2 *p), (exec, at, p), p != NULL, doing_kernel(&d, p))
SET(cuGraphExecMemcpyNodeSetParams, (CUgraphExec exec, CUgraphNode at, const CUDA_MEMCPY3D *p, CUcontext context), (exec, at, p, context), p != NULL, doing_memcpy(&d, p))
SET(cuGraphExecMemsetNodeSetParams, (CUgraphExec exec, CUgraphNode at, const CUDA_MEMSET_NODE_PARAMS *p, CUcontext context), (exec, at, p, context), p != NULL, doing_memset(&d, p))
SET(cuGraphExecExternalSemaphoresSignalNodeSetParams, (CUgraphExec exec, CUgraphNode at, const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *p), (exec, at, p), p != NULL, doing_signal(&d, p))
SET(cuGraphExecExternalSemaphoresWaitNodeSetParams, (CUgraphExec exec, CUgraphNode at, const CUDA_EXT_SEM_WAIT_NODE_PARAMS *p), (exec, at, p), p != NULL, doing_wait(&d, p))
SET(cuGraphExecEventRecordNodeSetEvent, (CUgraphExec exec, CUgraphNode at, CUevent e), (exec, at, e), true, d.event = e)
SET(cuGraphExecEventWaitNodeSetEvent, (CUgraphExec exec, CUgraphNode at, CUevent e), (exec, at, e), true, d.event = e)
// clang-format on

/* Another graph of the same form. Its nodes are in the same order, and are known by the handles
 * of the first one. */
static void update(CUgraphExec exec, CUgraph from)
{
    graph new = {0};
    graph_ask(&new, from);
    check_model *m = check_open();
    graph *g = m != NULL ? check_get(CHECK_OF_CU_GRAPH, ADDRESS(exec)) : NULL;
    if (g != NULL) {
        bool same = new.followed &&new.num_nodes == g->num_nodes;
        for (unsigned i = 0; same && i < g->num_nodes; i++)
            same = new.nodes[i].type == g->nodes[i].type;
        for (unsigned i = 0; same && i < g->num_nodes; i++) {
            new.nodes[i].handle = g->nodes[i].handle;
            new.nodes[i].disabled = g->nodes[i].disabled;
        }
        const graph before = *g;
        g->nodes = new.nodes;
        g->num_nodes = new.num_nodes;
        g->followed = new.followed;
        g->planned = false;
        new.nodes = before.nodes;
        new.num_nodes = before.num_nodes;
    }
    if (m != NULL) check_close();
    graph_free_nodes(&new);
}

CHECK_EXPORT CUresult CUDAAPI cuGraphExecUpdate(CUgraphExec exec, CUgraph from, CUgraphNode *failed,
                                                CUgraphExecUpdateResult *why)
{
    REAL(cuGraphExecUpdate, (CUgraphExec, CUgraph, CUgraphNode *, CUgraphExecUpdateResult *),
         (exec, from, failed, why))
    check_inside++;
    const CUresult result = real(exec, from, failed, why);
    if (result == CUDA_SUCCESS) update(exec, from);
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph from,
                                                   CUgraphExecUpdateResultInfo *why)
{
    REAL(cuGraphExecUpdate_v2, (CUgraphExec, CUgraph, CUgraphExecUpdateResultInfo *),
         (exec, from, why))
    check_inside++;
    const CUresult result = real(exec, from, why);
    if (result == CUDA_SUCCESS) update(exec, from);
    check_inside--;
    return result;
}

/* A child's nodes come right before the node that stands for it. A new one has the same form. */
static void change_child(CUgraphExec exec, CUgraphNode handle, CUgraph child)
{
    graph new = {0};
    graph_ask(&new, child);
    check_model *m = check_open();
    graph *g = m != NULL ? check_get(CHECK_OF_CU_GRAPH, ADDRESS(exec)) : NULL;
    if (g != NULL) {
        unsigned at = 0;
        while (at < g->num_nodes && g->nodes[at].handle != handle)
            at++;
        bool same = new.followed &&at < g->num_nodes &&at >= new.num_nodes;
        const unsigned first = same ? at - new.num_nodes : 0;
        for (unsigned i = 0; same && i < new.num_nodes; i++)
            same = g->nodes[first + i].type == new.nodes[i].type;
        for (unsigned i = 0; same && i < new.num_nodes; i++) {
            node *n = &g->nodes[first + i];
            const doing before = n->does;
            n->does = new.nodes[i].does;
            new.nodes[i].does = before;
            node_forget(n);
        }
        g->planned = false;
        if (!same) g->followed = false;
    }
    if (m != NULL) check_close();
    graph_free_nodes(&new);
}

CHECK_EXPORT CUresult CUDAAPI cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode at,
                                                                 CUgraph child)
{
    REAL(cuGraphExecChildGraphNodeSetParams, (CUgraphExec, CUgraphNode, CUgraph), (exec, at, child))
    check_inside++;
    const CUresult result = real(exec, at, child);
    if (result == CUDA_SUCCESS) change_child(exec, at, child);
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode at,
                                                       CUgraphNodeParams *p)
{
    REAL(cuGraphExecNodeSetParams, (CUgraphExec, CUgraphNode, CUgraphNodeParams *), (exec, at, p))
    check_inside++;
    const CUresult result = real(exec, at, p);
    if (result == CUDA_SUCCESS && p != NULL) {
        doing d = {0};
        if (p->type == CU_GRAPH_NODE_TYPE_GRAPH)
            change_child(exec, at, p->graph.graph);
        else {
            do_any(&d, p);
            change(exec, at, &d);
        }
    }
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode at,
                                                    unsigned enabled)
{
    REAL(cuGraphNodeSetEnabled, (CUgraphExec, CUgraphNode, unsigned), (exec, at, enabled))
    check_inside++;
    const CUresult result = real(exec, at, enabled);
    check_model *m = result == CUDA_SUCCESS ? check_open() : NULL;
    if (m != NULL) {
        graph *g = check_get(CHECK_OF_CU_GRAPH, ADDRESS(exec));
        for (unsigned i = 0; g != NULL && i < g->num_nodes; i++)
            if (g->nodes[i].handle == at) {
                g->nodes[i].disabled = enabled == 0;
                g->planned = false;
            }
        check_close();
    }
    check_inside--;
    return result;
}
