/* SPDX-License-Identifier: MIT */
/* Culvert: semaphores of a graphics API that CUDA streams signal and wait for on the GPU.
 *
 * A timeline is a counter: each side signals higher values, and the other side waits for them. A
 * binary semaphore takes one signal and one wait in turn. Prefer timelines.
 *
 *   culv_semaphore_wait(semaphore, stream, n);        the graphics API signals n
 *   kernel<<<..., stream>>>(...);
 *   culv_semaphore_signal(semaphore, stream, n + 1);  the graphics API waits for n + 1
 *
 * The calls here import handles. culvert/vulkan_memory.h makes or imports Vulkan's semaphores. */
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
    /** VK_SEMAPHORE_TYPE_BINARY: signaled or not. Each signal of one API ends one wait of the
     * other. Use one semaphore for each direction. */
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
    /** Timeline: highest value that it has reached, or that submitted work will signal. The next
     * signal must exceed it. Binary: 0. */
    uint64_t value;
    /** Binary: nonzero if the other side has already submitted a signal. */
    culv_bool signal_pending;
    /** Binary: nonzero if you keep the order of signals and waits yourself
     * (culv_semaphore_mark_signaled()). */
    culv_bool untracked;
    /** UUID of the device that exported the semaphore. If that is another device, Culvert refuses
     * the import: the driver would accept it, and no signal would ever arrive. All zero: you
     * guarantee that it is this device. */
    culv_uuid exporter;
    const char *label; /**< Copied (up to 63 bytes). Appears in messages. Default: none. */
} culv_semaphore_desc;

CULV_INIT(culv_semaphore_desc)

/** Imports a semaphore and BORROWS its handle.
 * Errors: INVALID (HANDLE_BAD, HANDLE_KIND, DEVICE_MISMATCH, VALUE ...), UNSUPPORTED, DRIVER
 * (HANDLE_REFUSED), ASYNC, OUT_OF_MEMORY.
 * Ownership: the handle stays yours, and you may close it at any time (culv_handle_close()). *out
 * is yours, for culv_semaphore_destroy(). */
CULV_EXPORT culv_result culv_semaphore_import(culv_device *device, const culv_semaphore_desc *desc,
                                              culv_semaphore **out);

/** Destroys the semaphore.
 *
 * If last_use is NULL, the semaphore's signals and waits should have finished. The driver WAITS for
 * all CUDA work of the context, and other threads cannot submit work meanwhile. If a stream waits
 * for a value that nobody submits, the call never returns. If last_use is not NULL, the call DEFERS
 * the release until the work in *last_use has finished, and never waits: see culv_buffer_unmap().
 * Errors: INVALID (OWNED: Culvert made the semaphore itself (culv_shared_semaphore_cuda()); nothing
 * happens, and the pointer keeps its value).
 * Source: CUDA guide 3.2.16; measured, docs/measured/nvidia-measured.md. */
CULV_EXPORT culv_result culv_semaphore_destroy(culv_semaphore **semaphore,
                                               const CUstream *last_use);

/** Makes `stream` signal the semaphore after the stream's earlier work: a timeline gets `value`,
 * and a binary semaphore becomes signaled (pass 0 as `value`). Work that waits for the signal sees
 * what the stream wrote before it (docs/ring.md has an exception between two CUDA streams). A NULL
 * stream is CUDA's legacy default stream, even if your code has per-thread default streams.
 * Allocates nothing and takes no lock.
 * Errors: INVALID (TIMELINE_BACKWARDS: the value must exceed culv_semaphore_last_value(), because
 * NVIDIA's driver would set the counter back without an error; DOUBLE_SIGNAL; VALUE: a value for a
 * binary semaphore; STREAM_DEVICE), DRIVER, ASYNC.
 * Threads: any, one at a time for each semaphore. */
CULV_EXPORT culv_result culv_semaphore_signal(culv_semaphore *semaphore, CUstream stream,
                                              uint64_t value);

/** Makes `stream` wait until a timeline has reached `value`, or until a binary semaphore is
 * signaled (pass 0 as `value`); the wait resets a binary semaphore. The host does not wait.
 *
 * You may submit a timeline's signal after the wait (measured on an H200; the CUDA guide does not
 * say so). You must submit a binary semaphore's signal before the wait.
 * Errors: INVALID (WAIT_BEFORE_SIGNAL, SAME_SIDE, VALUE, STREAM_DEVICE), DRIVER, ASYNC.
 * Threads: any, one at a time for each semaphore. */
CULV_EXPORT culv_result culv_semaphore_wait(culv_semaphore *semaphore, CUstream stream,
                                            uint64_t value);

/** Makes `stream` wait for the work that is in `other` now. The host does not wait. Use it if
 * stream A waits for and signals a semaphore while stream B does the work: B waits for A before the
 * work, and A waits for B before the signal.
 *
 * cuStreamWaitEvent() has the same effect, but if frames are submitted ahead, it makes each frame
 * slower on NVIDIA's driver: 2.4 ms in place of 0.35 on an H200. This call waits for a word in
 * memory instead. In a capture it uses an event, which becomes an edge of the graph. A NULL stream
 * is CUDA's legacy default stream. Each stream may belong to a green context of the device.
 * Errors: INVALID (NULL_ARGUMENT; STREAM_DEVICE: a stream belongs to another device or context;
 * CAPTURE: a stream is being captured and the other is not in that capture, or a stream is the
 * legacy stream while a blocking stream is being captured; the capture stays valid), DRIVER
 * (DRIVER_REFUSED), ASYNC.
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

/** Signals several semaphores of one device with one driver call. Each signal is as in
 * culv_semaphore_signal(), and either all or none is submitted. count may be 0. Allocates nothing
 * and takes no lock.
 *
 * On the PEER and HOST paths (culvert/shared.h) each point has its own driver calls: after DRIVER
 * or ASYNC, the first points may be signaled already.
 * Errors: as culv_semaphore_signal(); INVALID (VALUE: more than CULV_SEMAPHORE_BATCH_MAX points, or
 * one semaphore twice; DEVICE_MISMATCH: semaphores of different devices).
 * Ownership: none; `points` is read during the call.
 * Threads: any, one at a time for each semaphore. */
CULV_EXPORT culv_result culv_semaphore_signal_batch(const culv_semaphore_point *points,
                                                    uint32_t count, CUstream stream);

/** Waits for several semaphores of one device with one driver call. Each wait is as in
 * culv_semaphore_wait(); the rest is as in culv_semaphore_signal_batch().
 * Errors: as culv_semaphore_wait() and culv_semaphore_signal_batch().
 * Threads: any, one at a time for each semaphore. */
CULV_EXPORT culv_result culv_semaphore_wait_batch(const culv_semaphore_point *points,
                                                  uint32_t count, CUstream stream);

/** Tells Culvert that the other API's SIGNAL of a binary semaphore was submitted (vkQueueSubmit).
 * Call it after that submission and before CUDA's wait.
 *
 * This call and culv_semaphore_mark_waited() tell Culvert what the other API does with a binary
 * semaphore. Culvert then refuses each call that would hang or leave the semaphore undefined: a
 * second signal before the wait, a second wait, a wait before the signal, and a CUDA wait for
 * CUDA's own signal. Each culv_semaphore tracks this by itself, so import a semaphore only once.
 *
 * culv_semaphore_desc::untracked turns the tracking off, and makes these two calls no-ops. Set it
 * for a stream capture, whose graph may run many times. After an error nothing has changed.
 * Errors: INVALID (DOUBLE_SIGNAL; VALUE: the semaphore is a timeline).
 * Source: VUID-vkQueueSubmit-pSignalSemaphores-00067, -pWaitSemaphores-00068. */
CULV_EXPORT culv_result culv_semaphore_mark_signaled(culv_semaphore *semaphore);

/** Tells Culvert that the other API's WAIT for a binary semaphore was submitted. Call it after that
 * submission and before CUDA's next signal. See culv_semaphore_mark_signaled().
 * Errors: INVALID (WAIT_BEFORE_SIGNAL; VALUE: the semaphore is a timeline). */
CULV_EXPORT culv_result culv_semaphore_mark_waited(culv_semaphore *semaphore);

/** Tells Culvert that others (a vkQueueSubmit, a vkSignalSemaphore) have signaled `value` of a
 * timeline or promised to. Culvert then refuses a culv_semaphore_signal() of a value that does not
 * exceed it. The call does nothing if the value is below the highest known one, if the semaphore is
 * binary, or for NULL. */
CULV_EXPORT void culv_semaphore_mark_value(culv_semaphore *semaphore, uint64_t value);

/** Returns the highest value that was signaled through this object, imported with it or reported to
 * it, or 0 for NULL and for binary semaphores. The work that signals the value may not have run
 * yet. */
CULV_EXPORT uint64_t culv_semaphore_last_value(const culv_semaphore *semaphore);

/* Graphs --------------------------------------------------------------------------------------- */

/* Signals and waits of timelines as nodes of CUDA graphs, with values that change from launch to
 * launch. culv_semaphore_signal() and culv_semaphore_wait() also work on streams in capture. The
 * calls here add nodes to graphs that you build by hand, and set values in both kinds of graphs. */

/** What a node does with its timelines. */
typedef enum culv_graph_use {
    CULV_GRAPH_SIGNAL = 0, /**< It signals them after its dependencies. */
    CULV_GRAPH_WAIT = 1,   /**< It waits for them. The signal may come after the launch. */
    CULV_GRAPH_USE_FORCE32 = 0x7fffffff
} culv_graph_use;

/** Adds to a graph a node that signals timelines or waits for them. The values are those of the
 * first launch. Set the next ones with culv_graph_exec_set_node() before each launch: if a launch
 * signals an old value, the timeline moves back or stays, and the driver does not report it. The
 * graph does not keep the semaphores alive: they must outlive the graph and everything made from
 * it. Neither the body of a conditional node nor a graph for launches from the device can contain
 * semaphores: signal and wait in the graph around the conditional node, or in the stream. This call
 * refuses a body. It cannot recognize a body that already has memory allocation nodes, child graphs
 * or conditional nodes. Culvert does not notice if you capture a signal into a body, or if you
 * instantiate the graph for launches from the device later: cuGraphInstantiate... then answers
 * CUDA_ERROR_INVALID_VALUE. To detect a body, the call clones the graph. That costs more if the
 * graph has more nodes, so add semaphores before the other nodes.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: an unknown use, a count of 0 or above
 * CULV_SEMAPHORE_BATCH_MAX, or a binary semaphore: each launch would signal it again, without a
 * wait in between; DEVICE_MISMATCH; TIMELINE_BACKWARDS), UNSUPPORTED (CAPTURE: a semaphore that a
 * fallback relays (culvert/shared.h), or the body of a conditional node), OUT_OF_MEMORY, DRIVER,
 * ASYNC.
 * Ownership: the graph owns *out. Threads: any, one at a time for each graph.
 * Source: cuda.h, cuGraphAddExternalSemaphoresSignalNode, ...WaitNode. */
CULV_EXPORT culv_result culv_graph_add_node(CUgraph graph, const CUgraphNode *dependencies,
                                            size_t num_dependencies, culv_graph_use use,
                                            const culv_semaphore_point *points, uint32_t count,
                                            CUgraphNode *out);

/** Sets the values of a node for the next launches. Launches that were already submitted keep their
 * values. The number of semaphores and the semaphores stay: only values change. Culvert counts a
 * signal's values as promised (culv_semaphore_last_value()) and refuses a value that does not
 * exceed the last one. Find the nodes of a capture with culv_graph_get_semaphore_nodes().
 * Errors: INVALID (NULL_ARGUMENT; VALUE: the count or the kind differs from the node's;
 * TIMELINE_BACKWARDS), DRIVER, ASYNC.
 * Threads: any, one at a time for each graph.
 * Source: cuda.h, cuGraphExecExternalSemaphoresSignalNodeSetParams, ...WaitNodeSetParams. */
CULV_EXPORT culv_result culv_graph_exec_set_node(CUgraphExec exec, CUgraphNode node,
                                                 culv_graph_use use,
                                                 const culv_semaphore_point *points,
                                                 uint32_t count);

/** Lists the nodes of a graph that signal external semaphores and those that wait for them, in the
 * order of cuGraphGetNodes. The graph may be built by hand or by a capture. On entry, *num_signals
 * and *num_waits are the capacities of the arrays; the call sets them to the numbers of nodes.
 * Errors: INVALID (NULL_ARGUMENT), DRIVER, OUT_OF_MEMORY.
 * Ownership: the graph owns the nodes. Threads: any, one at a time for each graph. */
CULV_EXPORT culv_result culv_graph_get_semaphore_nodes(culv_device *device, CUgraph graph,
                                                       CUgraphNode *signal_nodes,
                                                       size_t *num_signals, CUgraphNode *wait_nodes,
                                                       size_t *num_waits);

CULV_EXTERN_C_END

#endif
