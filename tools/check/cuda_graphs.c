/* SPDX-License-Identifier: MIT */
/* culvert-check before the CUDA driver: graphs.
 *
 * What a graph has is asked of the driver when it is instantiated: so nodes that were added,
 * captured, cloned or changed are all the same. The executable graph keeps that, and calls that
 * change it change what is kept. Each launch replays the nodes that matter: those that touch shared
 * memory, or wait for or signal something.
 *
 * Nodes that nothing orders may run in any order. So the graph is cut into chains whose nodes come
 * one after another; the first chain is the stream's, and each other one is an agent of its own. */
#include "cuda_graphs.h"

#include <stdlib.h>

#define MOST_AGENTS 24 /* of all graphs, besides the streams */

static unsigned num_agents; /* under the lock */

/* ---- semaphores of graphs that are not followed ---- */

static check_payload *in_graphs[256]; /* under the lock */
static unsigned num_in_graphs;

void cuda_in_graph(const CUexternalSemaphore *handles, unsigned count)
{
    check_model *m = handles != NULL ? check_open() : NULL;
    if (m == NULL) return;
    for (unsigned i = 0; i < count; i++) {
        check_payload *p = check_get(CHECK_OF_CU_SEMAPHORE, ADDRESS(handles[i]));
        unsigned at = 0;
        while (at < num_in_graphs && in_graphs[at] != p)
            at++;
        if (p == NULL || at < num_in_graphs) continue;
        if (at == sizeof in_graphs / sizeof *in_graphs) {
            check_payload_opaque(p);
            continue;
        }
        check_payload_keep(p);
        in_graphs[num_in_graphs++] = p;
    }
    check_close();
}

void cuda_out_of_graph(check_model *m, const check_payload *p)
{
    for (unsigned i = 0; i < num_in_graphs; i++)
        if (in_graphs[i] == p) {
            check_payload_drop(m, in_graphs[i]);
            in_graphs[i] = in_graphs[--num_in_graphs];
            return;
        }
}

/* Something in a graph is not followed: nothing is told of what any graph has. Under the lock. */
static void lose_graphs(check_model *m)
{
    while (num_in_graphs > 0) {
        check_payload *p = in_graphs[--num_in_graphs];
        check_payload_opaque(p);
        check_payload_drop(m, p);
    }
}

void cuda_forget_graphs(void)
{
    num_agents = num_in_graphs = 0;
}

/* ---- a launch ---- */

static const char *name_of(CUgraphNodeType type)
{
    return type == CU_GRAPH_NODE_TYPE_KERNEL   ? "cuGraphLaunch's kernel"
           : type == CU_GRAPH_NODE_TYPE_MEMCPY ? "cuGraphLaunch's copy"
           : type == CU_GRAPH_NODE_TYPE_MEMSET ? "cuGraphLaunch's memset"
                                               : "cuGraphLaunch";
}

static bool waits(const node *n)
{
    return n->type == CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT || n->type == CU_GRAPH_NODE_TYPE_WAIT_EVENT;
}

/* What a node is, now. False: no memory. */
static bool resolve(node *n)
{
    const doing *d = &n->does;
    n->num_accesses = n->num_turns = 0;
    n->matters = false;
    if (d->num_parts > 0 && n->accesses == NULL)
        n->accesses = calloc(d->num_parts, sizeof *n->accesses);
    if (d->num_moments > 0 && n->turns == NULL) n->turns = calloc(d->num_moments, sizeof *n->turns);
    if ((d->num_parts > 0 && n->accesses == NULL) || (d->num_moments > 0 && n->turns == NULL))
        return false;
    if (n->disabled) return true;
    for (unsigned i = 0; i < d->num_parts; i++) {
        const part *p = &d->parts[i];
        if (cuda_resolve(p->address, p->size, p->array, p->kind, name_of(n->type),
                         &n->accesses[n->num_accesses]) == CUDA_SHARED)
            n->num_accesses++;
    }
    for (unsigned i = 0; i < d->num_moments; i++) {
        check_payload *p = check_get(CHECK_OF_CU_SEMAPHORE, ADDRESS(d->moments[i].semaphore));
        if (p != NULL)
            n->turns[n->num_turns++] = (check_turn){.payload = p, .value = d->moments[i].value};
    }
    n->matters = n->num_accesses > 0 || n->num_turns > 0 || d->event != NULL ||
                 n->type == CU_GRAPH_NODE_TYPE_HOST || n->type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
    return true;
}

/* Which node is on which chain. Under the lock. */
static void plan(check_model *m, graph *g)
{
    bool any_waits = false;
    if (g->planned && g->generation == cuda_generation) return;
    g->planned = true;
    g->generation = cuda_generation;
    g->told = true;
    g->width = 0;
    memset(g->last, 0, sizeof g->last);
    for (unsigned i = 0; i < g->num_nodes; i++) {
        node *n = &g->nodes[i];
        if (!resolve(n)) g->told = false;
        any_waits |= n->matters && waits(n);
        memset(n->front, 0, sizeof n->front);
        for (unsigned b = 0; b < n->num_before; b++) {
            const node *before = &g->nodes[n->before[b]];
            for (unsigned c = 0; c < WIDEST; c++)
                if (n->front[c] < before->front[c]) n->front[c] = before->front[c];
            if (before->matters && before->chain < WIDEST &&
                n->front[before->chain] < n->before[b] + 1)
                n->front[before->chain] = n->before[b] + 1;
        }
        if (!n->matters) continue;
        unsigned chain = 0;
        while (chain < g->width && n->front[chain] != g->last[chain])
            chain++;
        n->chain = chain;
        if (chain == WIDEST) {
            g->width = WIDEST + 1;
            break;
        }
        if (chain == g->width) g->width++;
        g->last[chain] = i + 1;
    }
    if (g->told && g->width > WIDEST) {
        /* One after another is more order than there is: that tells less, and nothing wrong, unless
         * something waits. */
        g->told = !any_waits;
        g->width = 1;
        for (unsigned i = 0; i < g->num_nodes; i++) {
            node *n = &g->nodes[i];
            if (!resolve(n) || (n->matters && waits(n))) g->told = false;
            n->chain = 0;
            memset(n->front, 0, sizeof n->front);
            if (n->matters) g->last[0] = i + 1;
        }
    }
    for (unsigned c = 1; g->told && c < g->width; c++) {
        if (g->agents[c] > 0) continue;
        if (num_agents < MOST_AGENTS)
            g->agents[c] = check_agent_make(m, CHECK_CUDA, "a branch of a graph");
        if (g->agents[c] > 0)
            num_agents++;
        else
            g->told = false;
    }
}

/* Work that comes after marks: each is a work of its own, but the last where there is room. */
static void submit_after(check_model *m, int agent, check_mark *const *marks, unsigned num_marks,
                         const check_work *told, const check_site *site)
{
    check_work last = *told;
    for (unsigned i = 0; i < num_marks; i++) {
        if (i + 1 == num_marks && last.after == NULL) {
            last.after = marks[i];
            break;
        }
        const check_work joins = {.after = marks[i]};
        check_submit(m, agent, &joins, site);
    }
    check_submit(m, agent, &last, site);
}

static check_work work_of(const node *n)
{
    check_work told = {.runs_code = true, /* or a kernel of the graph does */
                       .accesses = n->accesses,
                       .num_accesses = n->num_accesses,
                       .joins_all = n->type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
                       .host_may_know = n->type == CU_GRAPH_NODE_TYPE_HOST};
    if (n->type == CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL) {
        told.signals = n->turns;
        told.num_signals = n->num_turns;
    } else {
        told.waits = n->turns;
        told.num_waits = n->num_turns;
    }
    return told;
}

/* Under the lock. */
static void replay(check_model *m, graph *g, const work *w)
{
    check_mark *marks[WIDEST + 1], *begin = check_mark_make(), *end = check_mark_make();
    unsigned joined[WIDEST][WIDEST] = {{0}}, num_marks;
    const check_work entry = {.runs_code = true,
                              .after_agents = cuda_before(w->handle, w->per_thread),
                              .after = g->end,
                              .mark = begin};
    check_submit(m, w->agent, &entry, &w->site);
    for (unsigned i = 0; i < g->num_nodes; i++) {
        node *n = &g->nodes[i];
        if (!n->matters) continue;
        check_work told = work_of(n);
        const unsigned c = n->chain;
        num_marks = 0;
        for (unsigned d = 0; d < g->width; d++) {
            if (d == c || n->front[d] <= joined[c][d]) continue;
            joined[c][d] = n->front[d];
            marks[num_marks++] = g->nodes[n->front[d] - 1].mark;
        }
        /* The first of a chain that comes after nothing else comes after what was before. */
        if (c > 0 && num_marks == 0 && n->front[c] == 0) marks[num_marks++] = begin;
        n->mark = told.mark = check_mark_make();
        if (n->type == CU_GRAPH_NODE_TYPE_WAIT_EVENT) {
            told.after = check_get(CHECK_OF_CU_EVENT, ADDRESS(n->does.event));
            if (told.after == NULL) told.joins_all = true;
        }
        if (n->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD && n->mark != NULL) {
            check_mark_keep(n->mark);
            check_mark_drop(check_put(CHECK_OF_CU_EVENT, ADDRESS(n->does.event), n->mark));
        }
        submit_after(m, c == 0 ? w->agent : g->agents[c], marks, num_marks, &told, &w->site);
    }
    num_marks = 0;
    for (unsigned d = 1; d < g->width; d++)
        if (joined[0][d] < g->last[d]) marks[num_marks++] = g->nodes[g->last[d] - 1].mark;
    const check_work exit_ = {.mark = end, .runs_code = true};
    submit_after(m, w->agent, marks, num_marks, &exit_, &w->site);
    for (unsigned i = 0; i < g->num_nodes; i++) {
        check_mark_drop(g->nodes[i].mark);
        g->nodes[i].mark = NULL;
    }
    check_mark_drop(begin);
    check_mark_drop(g->end);
    g->end = end;
}

/* A node with memory that has ended, one at a time, is told as a call would be. */
static void look_for_ended(work *w, CUgraphExec exec)
{
    for (unsigned i = 0, at = 0;; at++) {
        check_access access;
        part ended = {0};
        bool over = true, is = false;
        check_model *m = check_open();
        if (m == NULL) return;
        const graph *g = check_get(CHECK_OF_CU_GRAPH, ADDRESS(exec));
        while (g != NULL && i < g->num_nodes && at >= g->nodes[i].does.num_parts) {
            i++;
            at = 0;
        }
        if (g != NULL && i < g->num_nodes) {
            over = false;
            ended = g->nodes[i].does.parts[at];
            is = !g->nodes[i].disabled && cuda_resolve(ended.address, ended.size, ended.array,
                                                       ended.kind, "", &access) == CUDA_ENDED;
        }
        check_close();
        if (over) return;
        if (is) cuda_touch_any(w, ended.address, ended.size, ended.array, ended.kind);
    }
}

/* False: it is a call like any other. */
static bool launch(work *w, CUgraphExec exec)
{
    bool replayed = false;
    if (w->capturing) return false; /* the captured graph has a child */
    w->agent = cuda_agent_of(w->handle, w->per_thread);
    check_model *m = check_open();
    if (m == NULL) return false;
    graph *g = check_get(CHECK_OF_CU_GRAPH, ADDRESS(exec));
    const bool changed = g != NULL && (!g->planned || g->generation != cuda_generation);
    if (g == NULL || !g->followed) {
        lose_graphs(m);
    } else {
        plan(m, g);
        if (!g->told) lose_graphs(m);
        replayed = g->told && g->width > 0;
        if (replayed) replay(m, g, w);
    }
    check_close();
    if (changed) look_for_ended(w, exec);
    w->num_accesses = 0;
    return replayed;
}

static void launch_failed(CUgraphExec exec)
{
    check_model *m = check_open();
    if (m == NULL) return;
    const graph *g = check_get(CHECK_OF_CU_GRAPH, ADDRESS(exec));
    for (unsigned i = 0; g != NULL && g->planned && i < g->num_nodes; i++) {
        const check_work told = work_of(&g->nodes[i]);
        check_submit_failed(m, &told);
    }
    check_close();
}

static CUresult launch_graph(CUresult(CUDAAPI *real)(CUgraphExec, CUstream), CUgraphExec exec,
                             CUstream s, bool per_thread)
{
    work w;
    const uint64_t since = check_trace_now();
    cuda_work_begin(&w, "cuGraphLaunch", s, per_thread);
    w.runs_code = true; /* a kernel of the graph may write what is not seen */
    const bool replayed = launch(&w, exec);
    if (!replayed) cuda_work_submit(&w);
    const CUresult result = real(exec, s);
    if (result != CUDA_SUCCESS && replayed) launch_failed(exec);
    check_trace_call("cuGraphLaunch", since);
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuGraphLaunch(CUgraphExec exec, CUstream s)
{
    REAL(cuGraphLaunch, (CUgraphExec, CUstream), (exec, s))
    return launch_graph(real, exec, s, false);
}

CHECK_EXPORT CUresult CUDAAPI cuGraphLaunch_ptsz(CUgraphExec exec, CUstream s)
{
    REAL(cuGraphLaunch_ptsz, (CUgraphExec, CUstream), (exec, s))
    return launch_graph(real, exec, s, true);
}

/* ---- executable graphs ---- */

static void graph_free(check_model *m, graph *g)
{
    if (g == NULL) return;
    for (unsigned c = 1; c < WIDEST; c++)
        if (g->agents[c] > 0) {
            check_agent_end(m, g->agents[c]);
            num_agents--;
        }
    check_mark_drop(g->end);
    graph_free_nodes(g);
    free(g);
}

static void instantiated(CUgraphExec exec, CUgraph from)
{
    graph *g = calloc(1, sizeof *g);
    if (g != NULL) graph_ask(g, from);
    check_model *m = check_open();
    if (m != NULL) {
        graph_free(m, check_put(CHECK_OF_CU_GRAPH, ADDRESS(exec), g));
        check_close();
    }
}

#define INSTANTIATE(symbol, parameters, arguments)                                                 \
    CHECK_EXPORT CUresult CUDAAPI symbol parameters                                                \
    {                                                                                              \
        REAL(symbol, parameters, arguments)                                                        \
        check_inside++;                                                                            \
        const CUresult result = real arguments;                                                    \
        if (result == CUDA_SUCCESS) instantiated(*out, from);                                      \
        check_inside--;                                                                            \
        return result;                                                                             \
    }
// clang-format off
INSTANTIATE(cuGraphInstantiate, (CUgraphExec *out, CUgraph from, CUgraphNode *failed, char *log, size_t size), (out, from, failed, log, size))
INSTANTIATE(cuGraphInstantiate_v2, (CUgraphExec *out, CUgraph from, CUgraphNode *failed, char *log, size_t size), (out, from, failed, log, size))
INSTANTIATE(cuGraphInstantiateWithFlags, (CUgraphExec *out, CUgraph from, unsigned long long flags), (out, from, flags))
INSTANTIATE(cuGraphInstantiateWithParams, (CUgraphExec *out, CUgraph from, CUDA_GRAPH_INSTANTIATE_PARAMS *params), (out, from, params))
INSTANTIATE(cuGraphInstantiateWithParams_ptsz, (CUgraphExec *out, CUgraph from, CUDA_GRAPH_INSTANTIATE_PARAMS *params), (out, from, params))
// clang-format on

CHECK_EXPORT CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec exec)
{
    REAL(cuGraphExecDestroy, (CUgraphExec), (exec))
    check_inside++;
    check_model *m = check_open();
    if (m != NULL) {
        graph_free(m, check_put(CHECK_OF_CU_GRAPH, ADDRESS(exec), NULL));
        check_close();
    }
    const CUresult result = real(exec);
    check_inside--;
    return result;
}

/* ---- graphs that are built ---- */

#define ADD(symbol, parameters, arguments, does_)                                                  \
    CHECK_EXPORT CUresult CUDAAPI symbol parameters                                                \
    {                                                                                              \
        REAL(symbol, parameters, arguments)                                                        \
        if (p != NULL) {                                                                           \
            does_;                                                                                 \
        }                                                                                          \
        return real arguments;                                                                     \
    }

static void any_in_graph(const CUgraphNodeParams *p)
{
    if (p->type == CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL)
        cuda_in_graph(p->extSemSignal.extSemArray, p->extSemSignal.numExtSems);
    if (p->type == CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT)
        cuda_in_graph(p->extSemWait.extSemArray, p->extSemWait.numExtSems);
}

// clang-format off
ADD(cuGraphAddExternalSemaphoresSignalNode, (CUgraphNode *out, CUgraph to, const CUgraphNode *after, size_t n, const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *p), (out, to, after, n, p), cuda_in_graph(p->extSemArray, p->numExtSems))
ADD(cuGraphAddExternalSemaphoresWaitNode, (CUgraphNode *out, CUgraph to, const CUgraphNode *after, size_t n, const CUDA_EXT_SEM_WAIT_NODE_PARAMS *p), (out, to, after, n, p), cuda_in_graph(p->extSemArray, p->numExtSems))
ADD(cuGraphAddNode, (CUgraphNode *out, CUgraph to, const CUgraphNode *after, size_t n, CUgraphNodeParams *p), (out, to, after, n, p), any_in_graph(p))
ADD(cuGraphAddNode_v2, (CUgraphNode *out, CUgraph to, const CUgraphNode *after, const CUgraphEdgeData *edges, size_t n, CUgraphNodeParams *p), (out, to, after, edges, n, p), any_in_graph(p))
// clang-format on
