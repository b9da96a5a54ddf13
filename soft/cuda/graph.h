/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: graphs, what their nodes are made of, and stream capture. */
#ifndef SOFT_GRAPH_H_
#define SOFT_GRAPH_H_

#include "soft.h"

struct soft_node {
    struct soft_object object;
    uint64_t id;       /* no other node's, ever */
    uint64_t original; /* in a clone: the id of the node that it was made from */
    struct soft_graph *graph;
    CUgraphNodeType type;
    struct soft_op *work; /* NULL: an empty node */
    size_t num_before;
    CUgraphNode *before; /* what it depends on */
    size_t num_bodies;   /* a conditional node has them */
    CUgraph *bodies;
    size_t mark; /* for whoever sorts, under the lock */
};

struct soft_users; /* graph.c: references to user objects */

struct soft_graph {
    struct soft_object object;
    size_t num_nodes, capacity;
    struct soft_node **nodes; /* as they were added */
    bool capturing;
    bool is_body;             /* a conditional node's, which owns it */
    struct soft_users *users; /* NULL: none */
};

/* --- graph.c */
CUresult soft_graph_make(struct soft_graph **graph);
void soft_graph_free(struct soft_graph *graph);
struct soft_graph *soft_graph_find(CUgraph handle);
/* Takes `work` on success only. INVALID_VALUE: `before` are not different nodes of this graph. */
CUresult soft_graph_add(struct soft_graph *graph, CUgraphNodeType type, struct soft_op *work,
                        const CUgraphNode *before, size_t num_before, struct soft_node **out);
/* Takes back the node that was added last, on which nothing depends. */
void soft_graph_drop_last(struct soft_graph *graph);
/* Another owner of the work; NULL has none. */
struct soft_op *soft_work_share(struct soft_op *work);
void soft_work_drop(struct soft_op *work);

/* --- graph_exec.c */
struct soft_exec_node {
    uint64_t id; /* the node's that it was made from */
    CUgraphNodeType type;
    struct soft_op *work;
    size_t branch; /* 0: goes into the stream of the launch */
    size_t num_before;
    size_t *before; /* positions in the executable graph */
};
struct soft_exec {
    struct soft_object object;
    size_t num_nodes, num_branches;
    struct soft_exec_node *nodes; /* each after those that it depends on */
    /* Of the branches but the first, whose place is free between launches */
    struct soft_stream **streams;
    struct soft_point last; /* the end of the last launch; no stream: it was never launched */
    struct soft_users *users;
};
struct soft_exec_node *soft_exec_node_find(CUgraphExec exec, CUgraphNode node);
void soft_exec_free(void *exec);

/* --- the work of nodes: launch.c, copy.c, array_copy.c, external_semaphore.c */
/* What a launch has besides. */
struct soft_launch_how {
    uint32_t cluster[3]; /* 0: as the kernel says */
    int cooperative, priority, updatable;
};
/* One attribute of a launch or of a kernel node. False: the twin does not tell it apart. */
bool soft_launch_read_attribute(struct soft_launch_how *how, CUlaunchAttributeID id,
                                const CUlaunchAttributeValue *value);
CUresult soft_kernel_make(const CUDA_KERNEL_NODE_PARAMS *params, const struct soft_launch_how *how,
                          struct soft_op **work);
const struct soft_launch_how *soft_kernel_how(const struct soft_op *work);
void soft_kernel_params(const struct soft_op *work, CUDA_KERNEL_NODE_PARAMS *out);
CUresult soft_host_make(const CUDA_HOST_NODE_PARAMS *params, struct soft_op **work);
CUresult soft_memcpy_make(const CUDA_MEMCPY3D *params, struct soft_op **work);
void soft_memcpy_params(const struct soft_op *work, CUDA_MEMCPY3D *out);
CUresult soft_memset_make(const CUDA_MEMSET_NODE_PARAMS *params, struct soft_op **work);
void soft_memset_params(const struct soft_op *work, CUDA_MEMSET_NODE_PARAMS *out);
CUresult soft_signal_make(const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *params, struct soft_op **work);
void soft_signal_params(const struct soft_op *work, CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *out);
CUresult soft_wait_make(const CUDA_EXT_SEM_WAIT_NODE_PARAMS *params, struct soft_op **work);
void soft_wait_params(const struct soft_op *work, CUDA_EXT_SEM_WAIT_NODE_PARAMS *out);

/* --- launch.c */
/* On all multiprocessors of the device. */
int soft_blocks_at_once(const struct soft_function *function, CUdevice device, int block_size,
                        size_t dynamic_shared);

/* --- graph.c */
/* NULL is a list of none to all of them. */
CUresult soft_users_copy(const struct soft_users *from, struct soft_users **to);
struct soft_users *soft_users_share(struct soft_users *users);
void soft_users_drop(struct soft_users *users);

/* --- capture.c */

/* A place in a capture: the nodes that what comes next depends on. A stream and an event are at one
 * each. */
struct soft_capture;
struct soft_capture_place {
    struct soft_capture *capture; /* a reference; NULL: none, and no nodes */
    size_t num_nodes;
    CUgraphNode *nodes;
    CUgraphEdgeData *edges; /* as many, all zero, once they were asked for */
};
void soft_place_clear(struct soft_capture_place *place);
/* `event` is then where the stream, which is captured, is. */
CUresult soft_capture_record(struct soft_stream *stream, struct soft_capture_place *event);
/* The operation becomes a node, or is dropped. */
CUresult soft_capture_op(struct soft_stream *stream, struct soft_op *op);
/* A captured stream waits for captured work, or for other work (`event` is NULL). */
CUresult soft_capture_wait(struct soft_stream *stream, const struct soft_capture_place *event);
/* An event or a stream cannot be asked for work that is captured: breaks the capture. */
void soft_capture_break(struct soft_capture *capture);
/* For a call on an event that was recorded in the capture, which breaks if it is under way. */
CUresult soft_capture_of_event(struct soft_capture *capture);
CUresult soft_capture_allows_wait(struct soft_stream *stream);
/* A blocking stream's capture forbids the legacy stream all use. */
CUresult soft_capture_allows_legacy(const struct soft_stream *stream);
/* What covers a whole context cannot go on while one of its streams is captured. */
CUresult soft_capture_allows_context(const struct soft_context *context);
/* The stream goes: its capture is broken, and ends if it began there. */
void soft_capture_forget(struct soft_stream *stream);

/* A stream capture. */

struct soft_capture {
    struct soft_capture *next;
    unsigned refs;            /* the list's, until it ends, and one for each place in it */
    struct soft_graph *graph; /* NULL: it has ended */
    struct soft_stream *origin;
    CUstreamCaptureMode mode;
    uint64_t thread;
    uint64_t id;
    bool broken;
    size_t num_streams;
    struct soft_stream **streams; /* those in it, each with a reference */
};
extern struct soft_capture *soft_captures; /* those under way */

/* The next one, from this one on, in which a stream of the context takes part; a blocking stream,
 * if asked. */
struct soft_capture *soft_capture_in_context(struct soft_capture *capture,
                                             const struct soft_context *context,
                                             bool blocking_only);

#endif
