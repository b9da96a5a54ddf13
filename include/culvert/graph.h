/* SPDX-License-Identifier: MIT */
/* Culvert: signals and waits of timelines as nodes of CUDA graphs, with values that change from
 * launch to launch. Streams in capture take culv_semaphore_signal() and _wait() too; these calls
 * are for graphs made by hand, and for the values of both. */
#ifndef CULV_GRAPH_H_
#define CULV_GRAPH_H_

#include "semaphore.h"

CULV_EXTERN_C_BEGIN

/** Adds a node that signals timelines to a graph, after its dependencies. The values are those of
 * the first launch; set the next ones by culv_graph_exec_set_signal() before each: a value launched
 * twice would step a timeline back or leave it, without a word of the driver's. The graph keeps
 * none of the semaphores alive: they outlive it and what is made of it.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: count is 0 or over CULV_SEMAPHORE_BATCH_MAX, a binary
 * semaphore: in a graph that runs many times there would be many signals for one wait;
 * DEVICE_MISMATCH; TIMELINE_BACKWARDS), UNSUPPORTED (CAPTURE: a relayed semaphore of a fallback),
 * DRIVER, ASYNC.
 * Ownership: *out is the graph's.
 * Threads: any, one at a time for a graph.
 * Since: 0.1
 * Source: cuda.h, cuGraphAddExternalSemaphoresSignalNode. */
CULV_EXPORT culv_result culv_graph_add_signal(CUgraph graph, const CUgraphNode *dependencies,
                                              size_t num_dependencies,
                                              const culv_semaphore_point *points, uint32_t count,
                                              CUgraphNode *out);

/** The same for waits. A value may be signaled later than the launch.
 * Errors: as culv_graph_add_signal().
 * Ownership: *out is the graph's.
 * Threads: any, one at a time for a graph.
 * Since: 0.1.
 * Source: cuda.h, cuGraphAddExternalSemaphoresWaitNode. */
CULV_EXPORT culv_result culv_graph_add_wait(CUgraph graph, const CUgraphNode *dependencies,
                                            size_t num_dependencies,
                                            const culv_semaphore_point *points, uint32_t count,
                                            CUgraphNode *out);

/** The values of a signal node of the next launches; those that were launched keep theirs. Count
 * and semaphores are the node's own: only values change. The values are noted as promised
 * (culv_semaphore_last_value()), so that one that does not exceed the last is refused here. Nodes
 * of captures are found by culv_graph_get_semaphore_nodes().
 * Errors: INVALID (NULL_ARGUMENT; VALUE: another count or kind than the node's;
 * TIMELINE_BACKWARDS), DRIVER, ASYNC.
 * Ownership: none.
 * Threads: any, one at a time for a graph.
 * Since: 0.1
 * Source: cuda.h, cuGraphExecExternalSemaphoresSignalNodeSetParams. */
CULV_EXPORT culv_result culv_graph_exec_set_signal(CUgraphExec exec, CUgraphNode node,
                                                   const culv_semaphore_point *points,
                                                   uint32_t count);

/** The values of a wait node of the next launches.
 * Errors: as culv_graph_exec_set_signal(), but for TIMELINE_BACKWARDS.
 * Ownership: none.
 * Threads: any, one at a time for a graph.
 * Since: 0.1.
 * Source: cuda.h, cuGraphExecExternalSemaphoresWaitNodeSetParams. */
CULV_EXPORT culv_result culv_graph_exec_set_wait(CUgraphExec exec, CUgraphNode node,
                                                 const culv_semaphore_point *points,
                                                 uint32_t count);

/** The nodes of a graph, made by hand or by a capture, that signal and that wait for external
 * semaphores, in the order of cuGraphGetNodes. Each count says how many elements its array has and
 * is set to how many nodes there are.
 * Errors: INVALID (NULL_ARGUMENT), DRIVER, OUT_OF_MEMORY.
 * Ownership: the nodes are the graph's.
 * Threads: any, one at a time for a graph.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_graph_get_semaphore_nodes(culv_device *device, CUgraph graph,
                                                       CUgraphNode *signals, size_t *num_signals,
                                                       CUgraphNode *waits, size_t *num_waits);

CULV_EXTERN_C_END

#endif
