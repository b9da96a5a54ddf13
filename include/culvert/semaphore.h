/* SPDX-License-Identifier: MIT */
/* Culvert: semaphores of a graphics API that CUDA streams signal and wait for on the GPU, without
 * the host.
 *
 * A timeline is a counter: each side signals higher values, and the other side waits for them. A
 * binary semaphore is signaled once and waited for once, in turn. Prefer timelines.
 *
 *   culv_semaphore_wait(semaphore, stream, n);        the graphics API signals n
 *   kernel<<<..., stream>>>(...);
 *   culv_semaphore_signal(semaphore, stream, n + 1);  the graphics API waits for n + 1
 *
 * culvert/vulkan_memory.h makes or imports Vulkan's semaphores; the calls here import
 * handles. */
#ifndef CULV_SEMAPHORE_H_
#define CULV_SEMAPHORE_H_

#include "device.h"
#include "handle.h"

CULV_EXTERN_C_BEGIN

/** Opaque: an imported semaphore. Signals and waits may come from any thread, one at a time for
 * each semaphore. */
typedef struct culv_semaphore culv_semaphore;

typedef enum culv_semaphore_type {
    CULV_SEMAPHORE_NONE = 0,
    /** VK_SEMAPHORE_TYPE_TIMELINE: a 64-bit counter that only grows. */
    CULV_SEMAPHORE_TIMELINE = 1,
    /** VK_SEMAPHORE_TYPE_BINARY: signaled or not. Each signal is for one wait of the other API. Use
     * one semaphore for each direction. */
    CULV_SEMAPHORE_BINARY = 2,
    CULV_SEMAPHORE_FORCE32 = 0x7fffffff
} culv_semaphore_type;

/** A semaphore to import. */
typedef struct culv_semaphore_desc {
    size_t struct_size; /**< Set by culv_semaphore_desc_init(). */
    /** Required. OPAQUE_FD; on Windows OPAQUE_WIN32, or OPAQUE_WIN32_KMT for binary semaphores
     * only. */
    culv_handle handle;
    culv_semaphore_type type; /**< Required. */
    /** Timeline: value that was reached, or that others have promised to signal. The next signal
     * must exceed it. Binary: 0. */
    uint64_t value;
    /** Binary: nonzero if a signal of the other side was already submitted. */
    culv_bool signal_pending;
    /** Binary: nonzero if you keep the order of signals and waits yourself
     * (culv_semaphore_mark_signaled()). */
    culv_bool untracked;
    /** UUID of the device that exported the semaphore. Culvert refuses another device's, which the
     * driver would accept and never signal. All zero: you guarantee that it is this device's. */
    culv_uuid exporter;
    const char *label; /**< Copied (up to 63 bytes). Appears in messages. Default: none. */
} culv_semaphore_desc;

CULV_INIT(culv_semaphore_desc)

/** Imports a semaphore and BORROWS its handle.
 * Errors: INVALID (HANDLE_BAD, HANDLE_KIND, DEVICE_MISMATCH, VALUE ...), UNSUPPORTED, DRIVER
 * (HANDLE_REFUSED), ASYNC, OUT_OF_MEMORY.
 * Ownership: the handle stays yours: close it whenever you like (culv_handle_close()). *out is
 * yours, for culv_semaphore_destroy(). */
CULV_EXPORT culv_result culv_semaphore_import(culv_device *device, const culv_semaphore_desc *desc,
                                              culv_semaphore **out);

/** Destroys the semaphore.
 *
 * If last_use is NULL, its signals and waits should be done. The driver WAITS for all CUDA work of
 * the context, and other threads cannot submit any meanwhile. If a stream waits for a value that
 * nobody submits, it waits for ever. Otherwise the call DEFERS the release behind the work of
 * *last_use and never waits: see culv_buffer_unmap().
 * Errors: INVALID (OWNED: Culvert made the semaphore itself (culv_shared_semaphore_cuda()); nothing
 * happens, and the pointer keeps its value).
 * Source: CUDA guide 3.2.16; measured, docs/measured/nvidia-measured.md. */
CULV_EXPORT culv_result culv_semaphore_destroy(culv_semaphore **semaphore,
                                               const CUstream *last_use);

/** Makes `stream` signal the semaphore when it gets there: a timeline gets `value`, and a binary
 * semaphore becomes signaled (`value` is 0). Work that waits for it sees what the stream did
 * before. A NULL stream is CUDA's legacy default stream, even if your code has per-thread default
 * streams. Allocates nothing and takes no lock.
 * Errors: INVALID (TIMELINE_BACKWARDS: the value must exceed culv_semaphore_last_value(), because
 * NVIDIA's driver steps back silently; DOUBLE_SIGNAL; VALUE: a value for a binary semaphore;
 * STREAM_DEVICE), DRIVER, ASYNC.
 * Threads: any, one at a time for each semaphore. */
CULV_EXPORT culv_result culv_semaphore_signal(culv_semaphore *semaphore, CUstream stream,
                                              uint64_t value);

/** Makes `stream` wait until a timeline has reached `value`, or until a binary semaphore is
 * signaled, which resets it (`value` is then 0). The host does not wait.
 *
 * You may submit a timeline's signal after the wait (measured on an H200; the CUDA guide does not
 * say so). You must submit a binary semaphore's signal before the wait.
 * Errors: INVALID (WAIT_BEFORE_SIGNAL, SAME_SIDE, VALUE, STREAM_DEVICE), DRIVER, ASYNC.
 * Threads: any, one at a time for each semaphore. */
CULV_EXPORT culv_result culv_semaphore_wait(culv_semaphore *semaphore, CUstream stream,
                                            uint64_t value);

/** Makes `stream` wait for the work that `other` has so far. The host does not wait. Use it if one
 * stream waits for a semaphore and another one works: the worker waits for that stream before the
 * work, and that stream waits for the worker before the signal.
 *
 * cuStreamWaitEvent() has the same effect, but on NVIDIA's driver each frame that is submitted
 * ahead then takes a time slice of the GPU more (2.4 ms in place of 0.35 on an H200). This call
 * uses a word of memory instead, and in a capture an event, which becomes an edge of the graph. A
 * NULL stream is CUDA's legacy default stream. Either stream may be one of a green context of the
 * device's.
 * Errors: INVALID (NULL_ARGUMENT; STREAM_DEVICE: a stream is another device's or context's;
 * CAPTURE: one of the two is being captured, or is the legacy stream and waits for one that is, and
 * they are not in the same capture; the capture goes on), DRIVER (DRIVER_REFUSED), ASYNC.
 * Source: measured, docs/waits.md. */
CULV_EXPORT culv_result culv_stream_wait_stream(culv_device *device, CUstream stream,
                                                CUstream other);

/** One semaphore of a batch, and its value as in culv_semaphore_signal() and
 * culv_semaphore_wait(). */
typedef struct culv_semaphore_point {
    culv_semaphore *semaphore; /**< Required. */
    uint64_t value;            /**< Timeline: the value. Binary: 0. */
} culv_semaphore_point;

/** Maximum number of semaphores in one batch. */
#define CULV_SEMAPHORE_BATCH_MAX 32

/** Signals several semaphores of one device with one driver call, as culv_semaphore_signal(), all
 * or none. count may be 0. Allocates nothing and takes no lock.
 *
 * On the PEER and HOST paths (culvert/shared.h) each point has its own driver calls: after DRIVER
 * or ASYNC the first points may be signaled.
 * Errors: as culv_semaphore_signal(); INVALID (VALUE: more than CULV_SEMAPHORE_BATCH_MAX points, or
 * one semaphore twice; DEVICE_MISMATCH: semaphores of different devices).
 * Ownership: none; `points` is read during the call.
 * Threads: any, one at a time for each semaphore. */
CULV_EXPORT culv_result culv_semaphore_signal_batch(const culv_semaphore_point *points,
                                                    uint32_t count, CUstream stream);

/** Waits for several semaphores of one device with one driver call, as culv_semaphore_wait(), and
 * otherwise as culv_semaphore_signal_batch().
 * Errors: as culv_semaphore_wait() and culv_semaphore_signal_batch().
 * Threads: any, one at a time for each semaphore. */
CULV_EXPORT culv_result culv_semaphore_wait_batch(const culv_semaphore_point *points,
                                                  uint32_t count, CUstream stream);

/** Tells Culvert that the other API's SIGNAL of a binary semaphore was submitted (vkQueueSubmit).
 * Call it after that submission and before CUDA's wait.
 *
 * With this call and culv_semaphore_mark_waited() Culvert knows the other API's half of a binary
 * semaphore's life, and refuses what would hang or leave the semaphore undefined: a second signal
 * before the wait, a second wait, a wait before the signal, a CUDA wait for CUDA's own signal. Each
 * object keeps its own account, so import a semaphore only once.
 *
 * culv_semaphore_desc::untracked turns the account off and makes these two calls no-ops, for a
 * stream capture, whose graph may run many times. An error changes nothing: call again once the
 * statement is true.
 * Errors: INVALID (DOUBLE_SIGNAL; VALUE: the semaphore is a timeline).
 * Source: VUID-vkQueueSubmit-pSignalSemaphores-00067, -pWaitSemaphores-00068. */
CULV_EXPORT culv_result culv_semaphore_mark_signaled(culv_semaphore *semaphore);

/** Tells Culvert that the other API's WAIT for a binary semaphore was submitted. Call it after that
 * submission and before CUDA's next signal. See culv_semaphore_mark_signaled().
 * Errors: INVALID (WAIT_BEFORE_SIGNAL; VALUE: the semaphore is a timeline). */
CULV_EXPORT culv_result culv_semaphore_mark_waited(culv_semaphore *semaphore);

/** Tells Culvert that others (a vkQueueSubmit, a vkSignalSemaphore) have signaled `value` of a
 * timeline or promised to. Culvert then refuses a culv_semaphore_signal() that would step back
 * behind it. Ignores lower values than a known one, binary semaphores and NULL. */
CULV_EXPORT void culv_semaphore_mark_value(culv_semaphore *semaphore, uint64_t value);

/** Returns the highest value that was signaled through this object, imported with it or reported to
 * it: the work that signals it may not have run yet. 0 for NULL and for binary semaphores. */
CULV_EXPORT uint64_t culv_semaphore_last_value(const culv_semaphore *semaphore);

/* Graphs --------------------------------------------------------------------------------------- */

/* Signals and waits of timelines as nodes of CUDA graphs, with values that change from launch to
 * launch. culv_semaphore_signal() and culv_semaphore_wait() also work on streams in capture. The
 * calls here are for graphs that you build by hand, and set the values of both kinds of graphs. */

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
 * take no semaphores. This call refuses a body, but not one that already holds allocations, graphs
 * or conditions, which the driver does not distinguish from other graphs. Signal and wait in the
 * graph around the conditional node, or in the stream. Culvert does not check a signal in a stream
 * that is captured into a body, nor a graph that is instantiated for the device later: in both
 * cases cuGraphInstantiate... answers CUDA_ERROR_INVALID_VALUE. To detect a body, the call clones
 * the graph, which costs more if it has more nodes: add semaphores first if the graph is large.
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
