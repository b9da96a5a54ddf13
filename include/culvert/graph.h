/* SPDX-License-Identifier: MIT */
/* Culvert: signals and waits of timelines as nodes of CUDA graphs, with values that change from
 * launch to launch.
 *
 * culv_semaphore_signal() and culv_semaphore_wait() also work on streams in capture. The calls here
 * are for graphs that you build by hand, and they set the values of both kinds of graphs:
 *
 *   culv_graph_add_node(graph, ...);        once for each node
 *   culv_graph_exec_set_node(exec, ...);    for each node, before each launch
 *   cuGraphLaunch(exec, stream); */
#ifndef CULV_GRAPH_H_
#define CULV_GRAPH_H_

#include "semaphore.h"

CULV_EXTERN_C_BEGIN

/** What a node does with its timelines. */
typedef enum culv_graph_use {
    CULV_GRAPH_SIGNAL = 0, /**< It signals them after its dependencies. */
    CULV_GRAPH_WAIT = 1,   /**< It waits for them. A value may be signaled after the launch. */
    CULV_GRAPH_USE_FORCE32 = 0x7fffffff
} culv_graph_use;

/** Adds a node to a graph that signals timelines or waits for them. The values are those of the
 * first launch. Set the next ones with culv_graph_exec_set_node() before each launch: a
 * signal that is launched twice would move the timeline back or not at all, and the driver does not
 * report it. The graph does not keep the semaphores alive: they must outlive the graph and
 * everything made from it. The body of a conditional node and a graph for launches from the device
 * take no semaphores. A body is refused here, unless it already holds allocations, graphs or
 * conditions: the driver then tells it from no other graph. Signal and wait in the graph around the
 * conditional node, or in the stream. A signal in a stream that is captured into a body is not
 * looked at, and a graph for the device is one only when it is instantiated: in both cases
 * cuGraphInstantiate... answers CUDA_ERROR_INVALID_VALUE. To find out, the call clones the graph,
 * which costs more the more nodes it has: add semaphores first if the graph is large.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: no such use, count is 0 or more than
 * CULV_SEMAPHORE_BATCH_MAX, or a semaphore is binary: a graph that runs many times would signal it
 * many times for one wait; DEVICE_MISMATCH; TIMELINE_BACKWARDS), UNSUPPORTED (CAPTURE: a relayed
 * semaphore of a fallback, or the body of a conditional node), OUT_OF_MEMORY, DRIVER, ASYNC.
 * Ownership: the graph owns *out. Threads: any, one at a time for each graph.
 * Source: cuda.h, cuGraphAddExternalSemaphoresSignalNode, ...WaitNode. */
CULV_EXPORT culv_result culv_graph_add_node(CUgraph graph, const CUgraphNode *dependencies,
                                            size_t num_dependencies, culv_graph_use use,
                                            const culv_semaphore_point *points, uint32_t count,
                                            CUgraphNode *out);

/** Sets the values of a node for the next launches. Launches that were already submitted
 * keep their values. The node keeps its count and its semaphores: only values change. Culvert notes
 * a signal's values as promised (culv_semaphore_last_value()) and refuses one that does not exceed
 * the last. Find the nodes of a capture with culv_graph_get_semaphore_nodes().
 * Errors: INVALID (NULL_ARGUMENT; VALUE: the count or the kind differs from the node's;
 * TIMELINE_BACKWARDS), DRIVER, ASYNC.
 * Threads: any, one at a time for each graph.
 * Source: cuda.h, cuGraphExecExternalSemaphoresSignalNodeSetParams and its kin. */
CULV_EXPORT culv_result culv_graph_exec_set_node(CUgraphExec exec, CUgraphNode node,
                                                 culv_graph_use use,
                                                 const culv_semaphore_point *points,
                                                 uint32_t count);

/** Lists the nodes of a graph that signal external semaphores and those that wait for them, in the
 * order of cuGraphGetNodes. The graph may be built by hand or by a capture. Each count says how
 * many elements its array has, and is set to the number of nodes.
 * Errors: INVALID (NULL_ARGUMENT), DRIVER, OUT_OF_MEMORY.
 * Ownership: the graph owns the nodes. Threads: any, one at a time for each graph. */
CULV_EXPORT culv_result culv_graph_get_semaphore_nodes(culv_device *device, CUgraph graph,
                                                       CUgraphNode *signal_nodes,
                                                       size_t *num_signals, CUgraphNode *wait_nodes,
                                                       size_t *num_waits);

CULV_EXTERN_C_END

#endif
