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
#include "cuda_inside.h"

#include <pthread.h>
#include <stdlib.h>

#define WIDEST       8  /* chains of a graph */
#define MOST_AGENTS  24 /* of all graphs, besides the streams */
#define MOST_TOUCHES 64 /* of a node */

typedef struct part {
    uint64_t address, size;
    CUarray array;
    check_access_kind kind;
} part;

typedef struct moment { /* of a semaphore */
    CUexternalSemaphore semaphore;
    uint64_t value;
} moment;

/* What a node does, in the words of its parameters. */
typedef struct doing {
    part *parts;
    moment *moments;
    unsigned num_parts, num_moments;
    CUevent event;
} doing;

typedef struct node {
    CUgraphNode handle;
    CUgraphNodeType type;
    bool disabled;
    doing does;
    unsigned *before, num_before; /* numbers of nodes, smaller than its own */
    /* What that is now, and where: cuda_generation says for how long. */
    check_access *accesses;
    check_turn *turns;
    unsigned num_accesses, num_turns;
    bool matters;
    unsigned chain;
    unsigned front[WIDEST]; /* of each chain, how many nodes of the graph are before this one */
    check_mark *mark;       /* while a launch is told */
} node;

typedef struct graph {
    node *nodes;
    unsigned num_nodes;
    bool followed;
    /* the plan of a launch */
    bool planned, told; /* told: it can be replayed */
    uint64_t generation;
    unsigned width, last[WIDEST]; /* of each chain, 1 + the number of its last node */
    int agents[WIDEST];           /* but of the first chain, which is the stream's */
    check_mark *end;              /* of the last launch: one launch of it is after another */
} graph;

static unsigned num_agents; /* under the lock */

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

static void doing_free(doing *d)
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

static void do_kernel(doing *d, const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
    cuda_arguments(add_part, d, p->func, p->kern, p->kernelParams, p->extra);
}

static void do_kernel_v1(doing *d, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
    cuda_arguments(add_part, d, p->func, NULL, p->kernelParams, p->extra);
}

static void do_memcpy(doing *d, const CUDA_MEMCPY3D *p)
{
    cuda_copy_box(add_part, d, p);
}

static void do_memset(doing *d, const CUDA_MEMSET_NODE_PARAMS *p)
{
    cuda_box(add_part, d, CU_MEMORYTYPE_DEVICE, NULL, p->dst, 0, 0, 0, p->pitch, 0,
             p->width * p->elementSize, p->height, 1, CHECK_WRITE);
}

static void do_turns(doing *d, const CUexternalSemaphore *handles, const void *params,
                     size_t stride, unsigned count)
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

static void do_signal(doing *d, const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *p)
{
    do_turns(d, p->extSemArray, p->paramsArray, sizeof *p->paramsArray, p->numExtSems);
}

static void do_wait(doing *d, const CUDA_EXT_SEM_WAIT_NODE_PARAMS *p)
{
    do_turns(d, p->extSemArray, p->paramsArray, sizeof *p->paramsArray, p->numExtSems);
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
            do_kernel(d, &kernel_v2);
        else if (ASKED(get_kernel, &kernel))
            do_kernel_v1(d, &kernel);
        return true;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        if (ASKED(get_memcpy, &copy)) do_memcpy(d, &copy);
        return true;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        if (ASKED(get_memset, &set)) do_memset(d, &set);
        return true;
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
        if (!ASKED(get_signal, &signal)) return false;
        do_signal(d, &signal);
        return d->num_moments == signal.numExtSems;
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
        if (!ASKED(get_wait, &wait)) return false;
        do_wait(d, &wait);
        return d->num_moments == wait.numExtSems;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return ASKED(get_record, &d->event);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return ASKED(get_event_wait, &d->event);
    default: return true;
    }
#undef ASKED
}

/* ---- the graph as the driver has it ---- */

static void graph_free_nodes(graph *g)
{
    for (unsigned i = 0; i < g->num_nodes; i++) {
        node *n = &g->nodes[i];
        doing_free(&n->does);
        free(n->before);
        free(n->accesses);
        free(n->turns);
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

static void ask_graph(graph *g, CUgraph handle)
{
    unsigned *sinks = NULL, num_sinks = 0;
    g->followed = can_ask() && expand(g, handle, NULL, 0, &sinks, &num_sinks, 0);
    free(sinks);
    if (g->followed) return;
    graph_free_nodes(g);
    check_note("A CUDA graph could not be followed: what it does was not looked at");
}

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
    if (g != NULL) ask_graph(g, from);
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

/* ---- what changes executable graphs ---- */

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
        free(n->accesses);
        free(n->turns);
        n->accesses = NULL;
        n->turns = NULL;
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
        do_kernel(d, &kernel);
        break;
    case CU_GRAPH_NODE_TYPE_MEMCPY: do_memcpy(d, &p->memcpy.copyParams); break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        set = (CUDA_MEMSET_NODE_PARAMS){.dst = p->memset.dst,
                                        .pitch = p->memset.pitch,
                                        .elementSize = p->memset.elementSize,
                                        .width = p->memset.width,
                                        .height = p->memset.height};
        do_memset(d, &set);
        break;
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
        do_turns(d, p->extSemSignal.extSemArray, p->extSemSignal.paramsArray,
                 sizeof *p->extSemSignal.paramsArray, p->extSemSignal.numExtSems);
        break;
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
        do_turns(d, p->extSemWait.extSemArray, p->extSemWait.paramsArray,
                 sizeof *p->extSemWait.paramsArray, p->extSemWait.numExtSems);
        break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: d->event = p->eventWait.event; break;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: d->event = p->eventRecord.event; break;
    default: break;
    }
}

// clang-format off
SET(cuGraphExecKernelNodeSetParams, (CUgraphExec exec, CUgraphNode at, const CUDA_KERNEL_NODE_PARAMS_v1 *p), (exec, at, p), p != NULL, do_kernel_v1(&d, p))
SET(cuGraphExecKernelNodeSetParams_v2, (CUgraphExec exec, CUgraphNode at, const CUDA_KERNEL_NODE_PARAMS_v2 *p), (exec, at, p), p != NULL, do_kernel(&d, p))
SET(cuGraphExecMemcpyNodeSetParams, (CUgraphExec exec, CUgraphNode at, const CUDA_MEMCPY3D *p, CUcontext context), (exec, at, p, context), p != NULL, do_memcpy(&d, p))
SET(cuGraphExecMemsetNodeSetParams, (CUgraphExec exec, CUgraphNode at, const CUDA_MEMSET_NODE_PARAMS *p, CUcontext context), (exec, at, p, context), p != NULL, do_memset(&d, p))
SET(cuGraphExecExternalSemaphoresSignalNodeSetParams, (CUgraphExec exec, CUgraphNode at, const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *p), (exec, at, p), p != NULL, do_signal(&d, p))
SET(cuGraphExecExternalSemaphoresWaitNodeSetParams, (CUgraphExec exec, CUgraphNode at, const CUDA_EXT_SEM_WAIT_NODE_PARAMS *p), (exec, at, p), p != NULL, do_wait(&d, p))
SET(cuGraphExecEventRecordNodeSetEvent, (CUgraphExec exec, CUgraphNode at, CUevent e), (exec, at, e), true, d.event = e)
SET(cuGraphExecEventWaitNodeSetEvent, (CUgraphExec exec, CUgraphNode at, CUevent e), (exec, at, e), true, d.event = e)
// clang-format on

/* Another graph of the same form. Its nodes are in the same order, and are known by the handles
 * of the first one. */
static void update(CUgraphExec exec, CUgraph from)
{
    graph new = {0};
    ask_graph(&new, from);
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
    ask_graph(&new, child);
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
            free(n->accesses);
            free(n->turns);
            n->accesses = NULL;
            n->turns = NULL;
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
