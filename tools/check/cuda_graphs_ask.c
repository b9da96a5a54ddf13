/* SPDX-License-Identifier: MIT */
/* culvert-check before the CUDA driver: what a graph has, which is asked of the driver. */
#include "cuda_graphs.h"

#include <pthread.h>
#include <stdlib.h>

#define MOST_TOUCHES 64 /* of a node */

/* ---- the driver's answers ---- */

#define ASKS(X)                                                                                    \
    X(get_nodes, "cuGraphGetNodes", (CUgraph, CUgraphNode *, size_t *))                            \
    X(get_edges, "cuGraphGetEdges", (CUgraph, CUgraphNode *, CUgraphNode *, size_t *))             \
    X(get_edges_v2, "cuGraphGetEdges_v2",                                                          \
      (CUgraph, CUgraphNode *, CUgraphNode *, CUgraphEdgeData *, size_t *))                        \
    X(get_type, "cuGraphNodeGetType", (CUgraphNode, CUgraphNodeType *))                            \
    X(get_kernel, "cuGraphKernelNodeGetParams", (CUgraphNode, CUDA_KERNEL_NODE_PARAMS_v1 *))       \
    X(get_kernel_v2, "cuGraphKernelNodeGetParams_v2", (CUgraphNode, CUDA_KERNEL_NODE_PARAMS_v2 *)) \
    X(get_memcpy, "cuGraphMemcpyNodeGetParams", (CUgraphNode, CUDA_MEMCPY3D *))                    \
    X(get_memset, "cuGraphMemsetNodeGetParams", (CUgraphNode, CUDA_MEMSET_NODE_PARAMS *))          \
    X(get_signal, "cuGraphExternalSemaphoresSignalNodeGetParams",                                  \
      (CUgraphNode, CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *))                                            \
    X(get_wait, "cuGraphExternalSemaphoresWaitNodeGetParams",                                      \
      (CUgraphNode, CUDA_EXT_SEM_WAIT_NODE_PARAMS *))                                              \
    X(get_child, "cuGraphChildGraphNodeGetGraph", (CUgraphNode, CUgraph *))                        \
    X(get_record, "cuGraphEventRecordNodeGetEvent", (CUgraphNode, CUevent *))                      \
    X(get_event_wait, "cuGraphEventWaitNodeGetEvent", (CUgraphNode, CUevent *))

static struct asks {
#define MEMBER(name, symbol, parameters) CUresult(CUDAAPI *name) parameters;
    ASKS(MEMBER)
#undef MEMBER
} ask;

static void find_asks(void)
{
#define FIND(name, symbol, parameters)                                                             \
    {                                                                                              \
        void *found = cuda_ask_driver(symbol);                                                     \
        memcpy(&ask.name, &found, sizeof ask.name);                                                \
    }
    ASKS(FIND)
#undef FIND
}

static bool can_ask(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, find_asks);
    return ask.get_nodes != NULL && (ask.get_edges != NULL || ask.get_edges_v2 != NULL) &&
           ask.get_type != NULL;
}

/* ---- what a node does ---- */

void doing_free(doing *d)
{
    free(d->parts);
    free(d->moments);
}

static void add_part(void *user, uint64_t address, uint64_t size, CUarray array,
                     check_access_kind kind)
{
    doing *d = user;
    /* A small number is no address, and many of a kernel's arguments are numbers. */
    if (array == NULL && (address < 65536 || size == 0)) return;
    if (d->parts == NULL) d->parts = malloc(MOST_TOUCHES * sizeof *d->parts);
    if (d->parts != NULL && d->num_parts < MOST_TOUCHES)
        d->parts[d->num_parts++] = (part){address, size, array, kind};
}

void doing_kernel(doing *d, const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
    cuda_arguments(add_part, d, p->func, p->kern, p->kernelParams, p->extra);
}

void doing_kernel_v1(doing *d, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
    cuda_arguments(add_part, d, p->func, NULL, p->kernelParams, p->extra);
}

void doing_memcpy(doing *d, const CUDA_MEMCPY3D *p)
{
    cuda_copy_box(add_part, d, p);
}

void doing_memset(doing *d, const CUDA_MEMSET_NODE_PARAMS *p)
{
    cuda_box(add_part, d, CU_MEMORYTYPE_DEVICE, NULL, p->dst, 0, 0, 0, p->pitch, 0,
             p->width * p->elementSize, p->height, 1, CHECK_WRITE);
}

void doing_turns(doing *d, const CUexternalSemaphore *handles, const void *params, size_t stride,
                 unsigned count)
{
    cuda_in_graph(handles, count);
    if (handles == NULL || params == NULL || count == 0) return;
    d->moments = malloc(count * sizeof *d->moments);
    for (unsigned i = 0; d->moments != NULL && i < count; i++) {
        unsigned long long value; /* params.fence.value comes first in both structs */
        memcpy(&value, (const char *)params + i * stride, sizeof value);
        d->moments[d->num_moments++] = (moment){handles[i], value};
    }
}

void doing_signal(doing *d, const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *p)
{
    doing_turns(d, p->extSemArray, p->paramsArray, sizeof *p->paramsArray, p->numExtSems);
}

void doing_wait(doing *d, const CUDA_EXT_SEM_WAIT_NODE_PARAMS *p)
{
    doing_turns(d, p->extSemArray, p->paramsArray, sizeof *p->paramsArray, p->numExtSems);
}

/* False: it is not known what the node does. Other types of nodes touch nothing that is shared, and
 * a graph in a condition may have no semaphores. */
static bool ask_node(doing *d, CUgraphNode handle, CUgraphNodeType type)
{
    CUDA_KERNEL_NODE_PARAMS_v1 kernel;
    CUDA_KERNEL_NODE_PARAMS_v2 kernel_v2;
    CUDA_MEMCPY3D copy;
    CUDA_MEMSET_NODE_PARAMS set;
    CUDA_EXT_SEM_SIGNAL_NODE_PARAMS signal;
    CUDA_EXT_SEM_WAIT_NODE_PARAMS wait;
    memset(&kernel_v2, 0, sizeof kernel_v2);
#define ASKED(name, out) (ask.name != NULL && ask.name(handle, out) == CUDA_SUCCESS)
    switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        /* One that cannot be asked for is a kernel whose arguments are not known. */
        if (ASKED(get_kernel_v2, &kernel_v2))
            doing_kernel(d, &kernel_v2);
        else if (ASKED(get_kernel, &kernel))
            doing_kernel_v1(d, &kernel);
        return true;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        if (ASKED(get_memcpy, &copy)) doing_memcpy(d, &copy);
        return true;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        if (ASKED(get_memset, &set)) doing_memset(d, &set);
        return true;
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
        if (!ASKED(get_signal, &signal)) return false;
        doing_signal(d, &signal);
        return d->num_moments == signal.numExtSems;
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
        if (!ASKED(get_wait, &wait)) return false;
        doing_wait(d, &wait);
        return d->num_moments == wait.numExtSems;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return ASKED(get_record, &d->event);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return ASKED(get_event_wait, &d->event);
    default: return true;
    }
#undef ASKED
}

/* ---- the graph as the driver has it ---- */

void node_forget(node *n)
{
    free(n->accesses);
    free(n->turns);
    n->accesses = NULL;
    n->turns = NULL;
}

void graph_free_nodes(graph *g)
{
    for (unsigned i = 0; i < g->num_nodes; i++) {
        node *n = &g->nodes[i];
        doing_free(&n->does);
        free(n->before);
        node_forget(n);
    }
    free(g->nodes);
    g->nodes = NULL;
    g->num_nodes = 0;
}

/* Adds a node after the given ones, which it copies. */
static node *add_node(graph *g, const unsigned *before, unsigned num_before)
{
    unsigned *copy = malloc((num_before + 1) * sizeof *copy);
    node *more = copy != NULL ? realloc(g->nodes, (g->num_nodes + 1) * sizeof *more) : NULL;
    if (more == NULL) {
        free(copy);
        return NULL;
    }
    g->nodes = more;
    if (num_before > 0) memcpy(copy, before, num_before * sizeof *copy);
    node *n = &more[g->num_nodes++];
    *n = (node){.type = CU_GRAPH_NODE_TYPE_EMPTY, .before = copy, .num_before = num_before};
    return n;
}

typedef struct place {
    CUgraphNode handle;
    unsigned at; /* in the driver's list */
} place;

static int compare_places(const void *a, const void *b)
{
    const uintptr_t x = (uintptr_t)((const place *)a)->handle,
                    y = (uintptr_t)((const place *)b)->handle;
    return x < y ? -1 : x > y;
}

typedef struct edge {
    unsigned from, to;
} edge;

static int compare_edges(const void *a, const void *b)
{
    const edge *x = a, *y = b;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

static bool ask_edges(CUgraph handle, const place *places, size_t num_nodes, edge **out,
                      size_t *out_count)
{
    size_t count = 0;
    bool good = false;
    CUresult result = ask.get_edges_v2 != NULL ? ask.get_edges_v2(handle, NULL, NULL, NULL, &count)
                                               : ask.get_edges(handle, NULL, NULL, &count);
    *out = NULL;
    *out_count = count;
    if (result != CUDA_SUCCESS || count == 0) return result == CUDA_SUCCESS;
    CUgraphNode *from = calloc(count, sizeof *from), *to = calloc(count, sizeof *to);
    CUgraphEdgeData *data = calloc(count, sizeof *data);
    edge *edges = calloc(count, sizeof *edges);
    if (from == NULL || to == NULL || data == NULL || edges == NULL) goto free_all;
    result = ask.get_edges_v2 != NULL ? ask.get_edges_v2(handle, from, to, data, &count)
                                      : ask.get_edges(handle, from, to, &count);
    if (result != CUDA_SUCCESS || count != *out_count) goto free_all;
    for (size_t i = 0; i < count; i++) {
        const place a = {.handle = from[i]}, b = {.handle = to[i]};
        const place *x = bsearch(&a, places, num_nodes, sizeof *places, compare_places);
        const place *y = bsearch(&b, places, num_nodes, sizeof *places, compare_places);
        if (x == NULL || y == NULL) goto free_all;
        edges[i] = (edge){x->at, y->at};
    }
    qsort(edges, count, sizeof *edges, compare_edges);
    *out = edges;
    edges = NULL;
    good = true;
free_all:
    free(edges);
    free(data);
    free(to);
    free(from);
    return good;
}

#define DEEPEST 16

/* Adds the nodes of a graph in an order in which each comes after those before it. Its roots come
 * after `before`; the sinks are given back, and are the caller's. */
static bool expand(graph *g, CUgraph handle, const unsigned *before, unsigned num_before,
                   unsigned **sinks, unsigned *num_sinks, int depth)
{
    size_t count = 0, num_edges = 0;
    bool good = false;
    *sinks = NULL;
    *num_sinks = 0;
    if (depth > DEEPEST || ask.get_nodes(handle, NULL, &count) != CUDA_SUCCESS) return false;
    if (count > UINT32_MAX / 2) return false;
    if (count == 0) return true;
    CUgraphNode *nodes = calloc(count, sizeof *nodes);
    place *places = calloc(count, sizeof *places);
    edge *edges = NULL;
    unsigned *missing = calloc(count, sizeof *missing); /* how many before it are not there yet */
    unsigned *list = calloc(count, sizeof *list);       /* in the order of the result */
    unsigned *number = calloc(count, sizeof *number);   /* of the node that stands for it */
    unsigned *first = calloc(count + 1, sizeof *first); /* its first edge */
    unsigned *ends = calloc(count, sizeof *ends);
    unsigned *into = calloc(count + 1, sizeof *into); /* its first one in `incoming` */
    unsigned *incoming = NULL, *after_these = NULL;
    if (nodes == NULL || places == NULL || missing == NULL || list == NULL || number == NULL ||
        first == NULL || ends == NULL || into == NULL)
        goto free_all;
    const size_t asked = count;
    if (ask.get_nodes(handle, nodes, &count) != CUDA_SUCCESS || count != asked) goto free_all;
    for (unsigned i = 0; i < count; i++)
        places[i] = (place){nodes[i], i};
    qsort(places, count, sizeof *places, compare_places);
    if (!ask_edges(handle, places, count, &edges, &num_edges)) goto free_all;
    incoming = calloc(num_edges + 1, sizeof *incoming);
    after_these = calloc(num_edges + 1, sizeof *after_these);
    if (incoming == NULL || after_these == NULL) goto free_all;
    for (size_t i = 0; i < num_edges; i++)
        missing[edges[i].to]++;
    for (size_t i = 0; i < count; i++)
        into[i + 1] = into[i] + missing[i];
    for (size_t i = 0; i < num_edges; i++) /* from the end of each */
        incoming[into[edges[i].to + 1] - missing[edges[i].to]--] = edges[i].from;
    for (size_t i = 0; i < count; i++)
        missing[i] = into[i + 1] - into[i];
    for (size_t i = 0, at = 0; i <= count; i++) {
        while (at < num_edges && edges[at].from < i)
            at++;
        first[i] = (unsigned)at;
    }
    unsigned length = 0;
    for (unsigned i = 0; i < count; i++)
        if (missing[i] == 0) list[length++] = i;
    for (unsigned done = 0; done < length; done++) {
        const unsigned i = list[done];
        unsigned num = 0;
        if (first[i] == first[i + 1]) ends[(*num_sinks)++] = i;
        for (unsigned e = first[i]; e < first[i + 1]; e++)
            if (--missing[edges[e].to] == 0) list[length++] = edges[e].to;
        for (unsigned e = into[i]; e < into[i + 1]; e++)
            after_these[num++] = number[incoming[e]];
        CUgraphNodeType type;
        if (ask.get_type(nodes[i], &type) != CUDA_SUCCESS) goto free_all;
        const unsigned *after = num > 0 ? after_these : before;
        unsigned num_after = num > 0 ? num : num_before;
        unsigned *inner = NULL;
        CUgraph child;
        if (type == CU_GRAPH_NODE_TYPE_GRAPH) {
            unsigned num_inner = 0;
            const bool followed = ask.get_child != NULL &&
                                  ask.get_child(nodes[i], &child) == CUDA_SUCCESS &&
                                  expand(g, child, after, num_after, &inner, &num_inner, depth + 1);
            if (!followed) {
                free(inner);
                goto free_all;
            }
            if (num_inner > 0) {
                after = inner;
                num_after = num_inner;
            }
        }
        node *n = add_node(g, after, num_after);
        free(inner);
        if (n == NULL) goto free_all;
        n->handle = nodes[i];
        n->type = type;
        number[i] = g->num_nodes - 1;
        if (!ask_node(&n->does, nodes[i], type)) goto free_all;
    }
    if (length != count) goto free_all;
    for (unsigned i = 0; i < *num_sinks; i++)
        ends[i] = number[ends[i]];
    *sinks = ends;
    ends = NULL;
    good = true;
free_all:
    free(after_these);
    free(incoming);
    free(into);
    free(ends);
    free(first);
    free(number);
    free(list);
    free(missing);
    free(edges);
    free(places);
    free(nodes);
    return good;
}

void graph_ask(graph *g, CUgraph handle)
{
    unsigned *sinks = NULL, num_sinks = 0;
    g->followed = can_ask() && expand(g, handle, NULL, 0, &sinks, &num_sinks, 0);
    free(sinks);
    if (g->followed) return;
    graph_free_nodes(g);
    check_note("A CUDA graph could not be followed: what it does was not looked at");
}

/* culvert-check before the CUDA driver: calls that change an executable graph. */

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
