/* SPDX-License-Identifier: MIT */
/* A CUDA graph as a list of work, for queues that are not CUDA's. */
#ifndef CULVI_CORE_GRAPH_READ_H_
#define CULVI_CORE_GRAPH_READ_H_

#include "core/kernel.h"

/* A node that does something. */
typedef struct culvi_graph_node {
    CUgraphNode handle;
    CUgraphNodeType type; /* KERNEL, MEMCPY or MEMSET */
    size_t index;         /* in cuGraphGetNodes */
    size_t level;         /* all that it waits for is on lower levels */
    const char *name;     /* a kernel's: the driver's text */
    union {
        CUDA_KERNEL_NODE_PARAMS kernel; /* points to what the graph owns */
        CUDA_MEMSET_NODE_PARAMS memset;
        CUDA_MEMCPY3D memcpy;
    } params;
} culvi_graph_node;

typedef struct culvi_graph_work {
    size_t total;            /* nodes of the graph, with the empty ones */
    size_t count;            /* of `nodes` */
    culvi_graph_node *nodes; /* by level, and in a level by index */
} culvi_graph_work;

/* graph.c: the nodes of a graph, in the order of the driver, for culvi_free(); NULL: none, or an
 * error. In the device's context. */
culv_result culvi_graph_list(const culv_device *device, const char *label, CUgraph graph,
                             CUgraphNode **nodes, size_t *count);
#define CULVI_GRAPH_UNLISTED "the graph's nodes could not be listed"

/* Reads the nodes and the edges. Refuses nodes of other kinds by their index and kind. In the
 * device's context. Free out->nodes by culvi_free(), also after an error. */
culv_result culvi_graph_read(culv_device *device, CUgraph graph, const char *label,
                             culvi_graph_work *out);

/* The arguments of a kernel node, one by one, as `kernel` takes them: `params` has room for all.
 * `kernel` is the one of the node's name. In the device's context. */
culv_result culvi_graph_kernel_params(const culvi_graph_node *node, const culv_kernel *kernel,
                                      const char *label, void **params);
/* Whether CUDA knows the number as an address of memory. In the device's context. */
culv_result culvi_graph_is_pointer(culv_device *device, const char *label, uint64_t number,
                                   bool *out);

#endif
