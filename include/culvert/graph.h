/* SPDX-License-Identifier: MIT */
/* Culvert: signals and waits of timelines as nodes of CUDA graphs, with values that change from
 * launch to launch.
 *
 * culv_semaphore_signal() and culv_semaphore_wait() also work on streams in capture. The calls here
 * are for graphs that you build by hand, and they set the values of both kinds of graphs:
 *
 *   culv_graph_add_wait(graph, ...); culv_graph_add_signal(graph, ...);  once
 *   culv_graph_exec_set_wait(exec, ...);                                 before each launch
 *   culv_graph_exec_set_signal(exec, ...);
 *   cuGraphLaunch(exec, stream); */
#ifndef CULV_GRAPH_H_
#define CULV_GRAPH_H_

#include "semaphore.h"

CULV_EXTERN_C_BEGIN

/** Adds a node to a graph that signals timelines after its dependencies. The values are those of
 * the first launch. Set the next ones with culv_graph_exec_set_signal() before each launch: a value
 * that is launched twice would move the timeline back or not at all, and the driver does not report
 * it. The graph does not keep the semaphores alive: they must outlive the graph and everything made
 * from it. The body of a conditional node and a graph for launches from the device take no
 * semaphores. A body is refused here, unless it already holds allocations, graphs or conditions:
 * the driver then tells it from no other graph. Signal and wait in the graph around the conditional
 * node, or in the stream. A signal in a stream that is captured into a body is not looked at, and a
 * graph for the device is one only when it is instantiated: in both cases
 * cuGraphInstantiate... answers CUDA_ERROR_INVALID_VALUE. To find out, the call clones the graph,
 * which costs more the more nodes it has: add semaphores first if the graph is large.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: count is 0 or more than CULV_SEMAPHORE_BATCH_MAX, or a
 * semaphore is binary: a graph that runs many times would signal it many times for one wait;
 * DEVICE_MISMATCH; TIMELINE_BACKWARDS), UNSUPPORTED (CAPTURE: a relayed semaphore of a fallback, or
 * the body of a conditional node), OUT_OF_MEMORY, DRIVER, ASYNC.
 * Ownership: the graph owns *out. Threads: any, one at a time for each graph.
 * Source: cuda.h, cuGraphAddExternalSemaphoresSignalNode. */
CULV_EXPORT culv_result culv_graph_add_signal(CUgraph graph, const CUgraphNode *dependencies,
                                              size_t num_dependencies,
                                              const culv_semaphore_point *points, uint32_t count,
                                              CUgraphNode *out);

/** Adds a node to a graph that waits for timelines. A value may be signaled after the launch.
 * Errors: as culv_graph_add_signal().
 * Ownership: the graph owns *out. Threads: any, one at a time for each graph.
 * Source: cuda.h, cuGraphAddExternalSemaphoresWaitNode. */
CULV_EXPORT culv_result culv_graph_add_wait(CUgraph graph, const CUgraphNode *dependencies,
                                            size_t num_dependencies,
                                            const culv_semaphore_point *points, uint32_t count,
                                            CUgraphNode *out);

/** Sets the values of a signal node for the next launches. Launches that were already submitted
 * keep their values. The node keeps its count and its semaphores: only values change. Culvert notes
 * the values as promised (culv_semaphore_last_value()) and refuses one that does not exceed the
 * last. Find the nodes of a capture with culv_graph_get_semaphore_nodes().
 * Errors: INVALID (NULL_ARGUMENT; VALUE: the count or the kind differs from the node's;
 * TIMELINE_BACKWARDS), DRIVER, ASYNC.
 * Threads: any, one at a time for each graph.
 * Source: cuda.h, cuGraphExecExternalSemaphoresSignalNodeSetParams. */
CULV_EXPORT culv_result culv_graph_exec_set_signal(CUgraphExec exec, CUgraphNode node,
                                                   const culv_semaphore_point *points,
                                                   uint32_t count);

/** Sets the values of a wait node for the next launches.
 * Errors: as culv_graph_exec_set_signal(), except TIMELINE_BACKWARDS.
 * Threads: any, one at a time for each graph.
 * Source: cuda.h, cuGraphExecExternalSemaphoresWaitNodeSetParams. */
CULV_EXPORT culv_result culv_graph_exec_set_wait(CUgraphExec exec, CUgraphNode node,
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
