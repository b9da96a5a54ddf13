/* SPDX-License-Identifier: MIT */
/* Culvert: a ring of frames between processes: one producer, and consumers that come and go.
 *
 * The producer's server has the ring, and the ring offers the objects of its slots. Each consumer
 * chooses whether it gets every frame (FIFO, the producer waits for it) or the newest one (MAILBOX,
 * the producer goes on). Each consumer has two timelines: `ready`, which the producer signals, and
 * `done`, which the consumer signals. So one consumer never waits for another.
 *
 *   the producer                                  a consumer
 *   culv_ipc_ring_create(server, &d, &r);         culv_ipc_consumer_join(client, &d, t, &c);
 *   culv_ipc_ring_offer_vmm(r, slot, 0, m, &i);   culv_ipc_consumer_receive(c, slot, 0, t, &o);
 *   culv_ring *core = culv_ipc_ring_core(r);      culv_ring *core = culv_ipc_consumer_core(c);
 *   culv_ring_acquire_on(core,                    culv_ring_acquire_on(core,
 *       CULV_RING_PRODUCER, stream, t, &f);           CULV_RING_CONSUMER, stream, t, &f);
 *   ... write slot f.slot ...                     ... read slot f.slot ...
 *   culv_ring_release_on(core,                    culv_ring_release_on(core,
 *       CULV_RING_PRODUCER, stream, &f);              CULV_RING_CONSUMER, stream, &f);
 *
 * Between two CUDA processes the timelines are counters in a shared page (stream memory
 * operations), and no graphics API is needed. A consumer that uses a graphics API passes timelines
 * that it made and exported. A producer that uses one makes them for each consumer.
 *
 * A slot is free when the GPUs of its readers are done with it. Each consumer's `done` says so in
 * its page, and no stream of the producer waits for another process. A consumer that reports wrong
 * values harms only itself.
 *
 * A side may end at any point without stopping the other. If the producer has ended, the consumer's
 * next call notices it and signals `ready`, so that no GPU waits for ever; the contents of such a
 * frame are wrong. A thread that waits for its stream cannot notice it: wait with a timeout, and
 * call culv_ipc_server_poll() or culv_ipc_consumer_connected() in between.
 *
 * Culvert keeps no stream between calls: destroy yours at any time. A side may use another stream
 * for each frame if it waits for the previous one (cuStreamWaitEvent): a timeline must not go
 * back. */
#ifndef CULV_IPC_RING_H_
#define CULV_IPC_RING_H_

#include "ipc.h"
#include "ring.h"

CULV_EXTERN_C_BEGIN

/** Opaque: a producer's ring. Its calls count as the server's: one thread at a time. */
typedef struct culv_ipc_ring culv_ipc_ring;
/** Opaque: a consumer's side. Its calls count as the client's: one thread at a time. */
typedef struct culv_ipc_consumer culv_ipc_consumer;

/** Maximum number of consumers of a ring. */
#define CULV_IPC_MAX_CONSUMERS 16

/** Two timelines that a graphics API made and exported, both at 0. */
typedef struct culv_ipc_timelines {
    size_t struct_size; /**< Set by culv_ipc_timelines_init(). */
    /** OPAQUE_FD; on Windows OPAQUE_WIN32, or D3D12_FENCE or D3D11_FENCE for a shared fence.
     * Borrowed. */
    culv_handle ready;
    culv_handle done; /**< Of the same type. Borrowed. */
    /** Function of a consumer that signals `ready` from the host, if the producer has died while
     * your queue waits for it. NULL: Culvert signals it by CUDA. */
    culv_result (*signal)(void *context, uint64_t value);
    void *context;
    /** Function that reads the counter that your side's queue signals: `done` of a consumer,
     * `ready` of a producer (in Vulkan vkGetSemaphoreCounterValue, in Direct3D 12
     * ID3D12Fence::GetCompletedValue). Called within the consumer's or the ring's calls. NULL: a
     * consumer asks by a CUDA stream, which costs two driver calls a frame and needs a device; a
     * producer counts its own GPU as done. */
    culv_result (*reached)(void *context, uint64_t *value);
} culv_ipc_timelines;

CULV_INIT(culv_ipc_timelines)

/** A value of one consumer's timeline. */
typedef struct culv_ipc_point {
    uint32_t consumer; /**< Its number in the ring. */
    uint32_t reserved;
    uint64_t value;
} culv_ipc_point;

/** The place of the oldest frame that a consumer is not done with. */
typedef enum culv_ipc_lag {
    CULV_IPC_LAG_NONE = 0,     /**< The consumer is done with all its frames. */
    CULV_IPC_LAG_HOST = 1,     /**< The consumer has not released it. */
    CULV_IPC_LAG_GPU = 2,      /**< It was released, but the consumer's GPU is not done with it. */
    CULV_IPC_LAG_PRODUCER = 3, /**< The same, but the producer's GPU has not written it yet. */
    CULV_IPC_LAG_FORCE32 = 0x7fffffff
} culv_ipc_lag;

/** A consumer, from its producer's view. */
typedef struct culv_ipc_consumer_info {
    uint32_t number; /**< Number in the ring, for culv_ipc_ring_drop(). */
    int32_t pid;     /**< Id of its process. */
    culv_ring_policy policy;
    culv_ipc_lag lag;
    /** FIFO: frames that it got and is not done with. MAILBOX: frames that were released after the
     * last one that it got. */
    uint64_t behind;
    uint64_t quiet; /**< Nanoseconds since an acquire of the producer last saw its progress. */
    /** Nanoseconds for which the producer has lacked a slot because of it. 0: the producer lacks
     * none. */
    uint64_t late;
} culv_ipc_consumer_info;

/** A slot while a side that uses a graphics API has it. */
typedef struct culv_ipc_frame {
    uint64_t number;    /**< Counts the frames that the producer released, from 0. */
    uint64_t skipped;   /**< MAILBOX: frames passed over since the last one. */
    uint32_t slot;      /**< The slot. */
    culv_bool repeated; /**< MAILBOX: nonzero when it is the same frame as before. */
    /** Number of values to wait for before you touch the slot. A consumer waits for its `ready`. A
     * producer has none: it gets a slot when the GPUs of its readers are done with it. */
    uint32_t num_waits;
    /** Number of values to signal after the last use; the release sets it. A producer signals each
     * consumer's `ready`, a consumer its `done`. */
    uint32_t num_signals;
    culv_ipc_point wait_points[CULV_IPC_MAX_CONSUMERS];
    culv_ipc_point signal_points[CULV_IPC_MAX_CONSUMERS];
} culv_ipc_frame;

/* Producer ------------------------------------------------------------------------------------- */

/** A ring to make. */
typedef struct culv_ipc_ring_desc {
    size_t struct_size; /**< Set by culv_ipc_ring_desc_init(). */
    const char *name;   /**< Required. Read during the call. At most 55 bytes. */
    /** Required: 1 to CULV_RING_MAX_DEPTH. At least 2 if a consumer uses MAILBOX. Add one per
     * MAILBOX consumer so that the producer never waits: each has one slot at a time, until its GPU
     * is done with it. */
    uint32_t num_slots;
    uint32_t parts;         /**< Objects in each slot, 1 to 16. Default: 1. */
    uint32_t max_consumers; /**< 1 to CULV_IPC_MAX_CONSUMERS. Default: 8. */
    /** Function of a producer that uses a graphics API: makes the timelines of consumer number
     * `consumer`. The handles in *out are borrowed: close them after culv_ipc_server_poll() or in
     * `drop`. Called within the server's calls. NULL: consumers pass timelines, or use counters. */
    culv_result (*make)(void *context, uint32_t consumer, culv_ipc_timelines *out);
    /** Function called when the consumer has gone: destroy the timelines when your queue has passed
     * them. */
    void (*drop)(void *context, uint32_t consumer);
    void *context;
    /** Nanoseconds. If the producer has lacked a slot for longer because of a consumer, an acquire
     * drops that consumer (culv_ipc_ring_drop()). Time in which the producer's own GPU is behind
     * does not count; a producer with `make` reports it by culv_ipc_timelines::reached. 0: never
     * drops one. */
    uint64_t late_limit;
    /** Nonzero: consumers use counters and pass no timelines, so no client can send this process a
     * handle if the kernel can refuse them (Linux 6.16). A ring with `make` never takes any. */
    culv_bool counters;
} culv_ipc_ring_desc;

CULV_INIT(culv_ipc_ring_desc)

/** Makes a ring and offers it by its name.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, VALUE), BUSY (IPC_NAME), DRIVER (OS), OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_ipc_ring_destroy(), before the server or after it.
 * Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_ring_create(culv_ipc_server *server,
                                             const culv_ipc_ring_desc *desc, culv_ipc_ring **out);

/** Destroys the ring, with its offers. Its server may be destroyed already: then the ring had
 * ended, and all its other calls answer ASYNC (RING_STOPPED). Consumers can still read the frames
 * that were released: from CUDA to CUDA even after this process has ended, with a graphics API's
 * timelines as long as the server lives. The GPU's work with the ring should be done. CUDA's
 * objects are released by a later culv_device_collect(), or with the device.
 * Threads: one at a time. */
CULV_EXPORT void culv_ipc_ring_destroy(culv_ipc_ring **ring);

/** Offers a VMM allocation as a part of a slot. Its name is "RING.SLOT.PART".
 * Errors: as culv_ipc_offer_vmm(); INVALID (RANGE: there is no such slot or part), ASYNC
 * (RING_STOPPED: the server was destroyed).
 * Ownership: as there. Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_ring_offer_vmm(culv_ipc_ring *ring, uint32_t slot, uint32_t part,
                                                culv_vmm_allocation *allocation,
                                                const culv_ipc_info *info);

/** Offers a buffer or an image as a part of a slot. Its name is "RING.SLOT.PART".
 * Errors: as culv_ipc_offer(); INVALID (RANGE: there is no such slot or part), ASYNC (RING_STOPPED:
 * the server was destroyed).
 * Ownership: as there. Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_ring_offer(culv_ipc_ring *ring, uint32_t slot, uint32_t part,
                                            const culv_ipc_info *info, const culv_handle *handle);

/** Gets a slot to write, which no GPU reads any more. It also answers clients, as
 * culv_ipc_server_poll() does. If the GPUs of FIFO consumers still read all slots, it waits up to
 * `timeout` nanoseconds. It does not wait for MAILBOX consumers.
 * Errors: INVALID (NULL_ARGUMENT; RING_ORDER: a frame is held), TIMEOUT (RING_FULL: the message
 * names the late consumer, and where it is late, as culv_ipc_ring_get_consumers() does; it is
 * logged once in ten seconds for each), ASYNC (RING_STOPPED: the server was destroyed), DRIVER
 * (OS).
 * Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_ring_acquire(culv_ipc_ring *ring, uint64_t timeout,
                                              culv_ipc_frame *frame);

/** Publishes the frame, and fills frame->signal_points with the values to signal. Call it right
 * before the submission that signals them.
 * Errors: INVALID (NULL_ARGUMENT; RING_ORDER: no frame is held), ASYNC (RING_STOPPED: the server
 * was destroyed).
 * Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_ring_release(culv_ipc_ring *ring, culv_ipc_frame *frame);

/** Returns the ring's core. CUDA's side calls culv_ring_acquire_on(), culv_ring_release_on(),
 * culv_ring_flush_on() and culv_ring_cancel() on it with CULV_RING_PRODUCER, and culv_ring_drain(),
 * culv_ring_stop() and culv_ring_get_stats(). At an acquire the stream does not wait: a slot is
 * free when the GPUs of its readers are done with it. A release makes the stream signal each
 * consumer's `ready`. culv_ring_drain() waits until no GPU uses a released frame; `force` does
 * nothing, because no stream of the producer waits for another process. culv_ring_stop() ends an
 * acquire that waits.
 *
 * These calls also have the errors of culv_ipc_ring_acquire() and culv_ipc_ring_release() too;
 * INVALID (VALUE: the ring has `make`; RING_SIDE: a call without a stream, CULV_RING_CONSUMER, or
 * culv_ring_configure()). NULL for NULL.
 * Ownership: the ring's: culv_ring_destroy() refuses it (OWNED).
 * Threads: any. The calls count as the server's, one thread at a time, except culv_ring_stop().
 * Source: cuda.h, cuStreamWriteValue64, cuSignalExternalSemaphoresAsync. */
CULV_EXPORT culv_ring *culv_ipc_ring_core(const culv_ipc_ring *ring);

/** Returns the number of consumers. A consumer counts when it has read the answer to its join. 0
 * for NULL.
 * Threads: one at a time. */
CULV_EXPORT uint32_t culv_ipc_ring_consumers(const culv_ipc_ring *ring);

/** Lists the consumers: which is late, where and for how long.
 * Errors: INVALID (NULL_ARGUMENT), ASYNC (RING_STOPPED: the server was destroyed).
 * Ownership: the copies are yours. Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_ring_get_consumers(culv_ipc_ring *ring,
                                                    culv_ipc_consumer_info *out, size_t capacity,
                                                    size_t *count);

/** Drops a consumer: closes its connection and frees its slots. The consumer gets IPC_DROPPED.
 * Errors: INVALID (NULL_ARGUMENT; RANGE: there is no such consumer), ASYNC (RING_STOPPED: the
 * server was destroyed).
 * Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_ring_drop(culv_ipc_ring *ring, uint32_t consumer);

/* Consumer ------------------------------------------------------------------------------------- */

/** A consumer to make. */
typedef struct culv_ipc_consumer_desc {
    size_t struct_size; /**< Set by culv_ipc_consumer_desc_init(). */
    const char *ring;   /**< Required: its name. Read during the call. */
    /** FIFO: every frame from now on. MAILBOX: the newest one that was released after the join. */
    culv_ring_policy policy;
    /** Timelines of your graphics API. NULL: counters, or those that the producer makes. */
    const culv_ipc_timelines *timelines;
} culv_ipc_consumer_desc;

CULV_INIT(culv_ipc_consumer_desc)

/** Joins a ring, as a consumer of the frames that are released from now on.
 * Errors: as culv_ipc_client_receive() and culv_semaphore_import_borrow(); INVALID (VALUE: the
 * offer is no ring, the kinds of timelines do not fit, or the client has no device), UNSUPPORTED
 * (IPC_REFUSED: the ring is full; DRIVER_TOO_OLD: no stream memory operations).
 * Ownership: *out is yours, for culv_ipc_consumer_destroy(), before the client.
 * Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_consumer_join(culv_ipc_client *client,
                                               const culv_ipc_consumer_desc *desc, uint64_t timeout,
                                               culv_ipc_consumer **out);

/** Leaves the ring. The GPU's work with its frames should be done: the producer takes the slots
 * back at once. If GPU work still waits for the producer, Culvert signals it so that it ends.
 * CUDA's objects are released by a later culv_device_collect(), or with the device.
 * Threads: one at a time. */
CULV_EXPORT void culv_ipc_consumer_destroy(culv_ipc_consumer **consumer);

/** Gets the timelines that the producer made for this consumer (culv_ipc_ring_desc::make), for a
 * graphics API that waits for `ready` and signals `done` in its own queue. out->signal stays NULL:
 * CUDA signals `ready` if the producer dies. A consumer that uses the calls with a stream does not
 * need this.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; VALUE: the timelines are counters, or were given to
 * culv_ipc_consumer_join()).
 * Ownership: the handles are the consumer's, which closes them. If a driver takes a handle, pass a
 * duplicate (culv_handle_dup()).
 * Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_consumer_get_timelines(const culv_ipc_consumer *consumer,
                                                        culv_ipc_timelines *out);

/** Receives a part of a slot.
 * Errors: as culv_ipc_client_receive(); INVALID (RANGE: there is no such slot or part).
 * Ownership: as there. Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_consumer_receive(culv_ipc_consumer *consumer, uint32_t slot,
                                                  uint32_t part, uint64_t timeout,
                                                  culv_ipc_object **out);

/** Returns the number of slots, and in `parts` (may be NULL) the objects in each. 0 for NULL.
 * Threads: one at a time. */
CULV_EXPORT uint32_t culv_ipc_consumer_slots(const culv_ipc_consumer *consumer, uint32_t *parts);

/** Gets a frame to read. It waits up to `timeout` nanoseconds for one. frame->wait_points[0] is the
 * value of `ready` to wait for on the GPU. A MAILBOX side has one slot at a time: the call waits
 * until its GPU is done with the last frame.
 * Errors: INVALID (NULL_ARGUMENT; RING_ORDER: a frame is held), TIMEOUT (RING_EMPTY; RING_LATE:
 * MAILBOX: this side's GPU is not done with the last frame), ASYNC (RING_STOPPED: the producer has
 * ended or closed the ring; IPC_DROPPED: the producer has dropped this side, and runs on;
 * IPC_PROTOCOL: its page is invalid).
 * Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_consumer_acquire(culv_ipc_consumer *consumer, uint64_t timeout,
                                                  culv_ipc_frame *frame);

/** Gives the frame back, and fills frame->signal_points[0] with the value of `done` to signal. Call
 * it right before the submission that signals it: the producer writes the slot only after `done` is
 * reached, as culv_ipc_timelines::reached or a CUDA stream of this process reports.
 * Errors: INVALID (NULL_ARGUMENT; RING_ORDER: no frame is held), DRIVER, ASYNC (after these the
 * frame is still held).
 * Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_consumer_release(culv_ipc_consumer *consumer,
                                                  culv_ipc_frame *frame);

/** Returns the consumer's core. CUDA's side calls culv_ring_acquire_on(), culv_ring_release_on(),
 * culv_ring_flush_on() and culv_ring_cancel() on it with CULV_RING_CONSUMER, and culv_ring_drain(),
 * culv_ring_stop() and culv_ring_get_stats(). An acquire makes the stream wait for `ready`, and a
 * release makes it signal `done`. After a cancel the frame comes again; with MAILBOX a newer one
 * may come. culv_ring_drain() waits for this side's GPU. culv_ring_stop() ends an acquire that
 * waits, within a quarter of a second; the producer does not notice it.
 *
 * These calls also have the errors of culv_ipc_consumer_acquire() and culv_ipc_consumer_release()
 * too; INVALID (STREAM_DEVICE, CAPTURE; RING_SIDE: a call without a stream, CULV_RING_PRODUCER, or
 * culv_ring_configure()). NULL for NULL, and if the client was connected without a device.
 * Ownership: the consumer's: culv_ring_destroy() refuses it (OWNED).
 * Threads: any. The calls count as the client's, one thread at a time, except culv_ring_stop(). */
CULV_EXPORT culv_ring *culv_ipc_consumer_core(const culv_ipc_consumer *consumer);

/** Tells whether the producer is still there, without waiting. If it is not, the call signals what
 * this process's GPU waits for.
 * Errors: none; 0 for NULL. Threads: one at a time. */
CULV_EXPORT culv_bool culv_ipc_consumer_connected(culv_ipc_consumer *consumer);

CULV_EXTERN_C_END

#endif
