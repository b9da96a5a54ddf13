/* SPDX-License-Identifier: MIT */
/* A CUDA graph as the driver has it, for the files that know of graphs. */
#ifndef CHECK_CUDA_GRAPHS_H_
#define CHECK_CUDA_GRAPHS_H_

#include "cuda_inside.h"

#define WIDEST 8 /* chains of a graph */

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

/* Asks the driver. g->followed says whether all of it is known. */
void graph_ask(graph *g, CUgraph handle);
void graph_free_nodes(graph *g);

/* Forgets which shared memory and semaphores the node uses, because what it does has changed. */
void node_forget(node *n);

void doing_free(doing *d);
void doing_kernel(doing *d, const CUDA_KERNEL_NODE_PARAMS_v2 *p);
void doing_kernel_v1(doing *d, const CUDA_KERNEL_NODE_PARAMS_v1 *p);
void doing_memcpy(doing *d, const CUDA_MEMCPY3D *p);
void doing_memset(doing *d, const CUDA_MEMSET_NODE_PARAMS *p);
/* params points to the first of the API's own structs, each of `stride` bytes. */
void doing_turns(doing *d, const CUexternalSemaphore *handles, const void *params, size_t stride,
                 unsigned count);
void doing_signal(doing *d, const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *p);
void doing_wait(doing *d, const CUDA_EXT_SEM_WAIT_NODE_PARAMS *p);

#endif
