/* SPDX-License-Identifier: MIT */
/* Culvert: a ring of frames between processes: one producer, and consumers that come and go.
 *
 * The producer's server has the ring. The slots are things that the ring offers. Each consumer
 * chooses whether it gets every frame (FIFO, the producer waits for it) or the newest one (MAILBOX,
 * the producer goes on). Each has two timelines of its own: `ready`, which the producer signals,
 * and `done`, which the consumer signals. So one consumer never waits for another.
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
 * operations), and no graphics API is needed. A consumer that uses a graphics API brings timelines
 * that it made and exported. A producer that uses one makes them for each consumer.
 *
 * A slot is free when the GPUs of its readers are done with it: each consumer's `done` says so in
 * its page, and no stream of the producer waits for another process. A consumer that says what is
 * not true harms nobody but itself.
 *
 * A side that ends, at whatever point, stops nobody. When the producer has gone, the consumer's
 * next call notices it and moves `ready` on, so that no GPU waits for ever. What such a frame
 * contains is then not right. A thread that waits for its stream meanwhile cannot
 * notice anything: wait with a timeout and call culv_ipc_server_poll() or
 * culv_ipc_consumer_connected() in between.
 *
 * The calls with a stream keep no stream: destroy it when you like. A side may use another one for
 * each frame if that waits for the one before (cuStreamWaitEvent): a timeline must not go back. */
#ifndef CULV_IPC_RING_H_
#define CULV_IPC_RING_H_

#include "ipc.h"
#include "ring.h"

CULV_EXTERN_C_BEGIN

/** Opaque: a producer's ring. Its calls count as the server's: one thread at a time. */
typedef struct culv_ipc_ring culv_ipc_ring;
/** Opaque: a consumer's side. Its calls count as the client's: one thread at a time. */
typedef struct culv_ipc_consumer culv_ipc_consumer;

/** The most consumers of a ring. */
#define CULV_IPC_MAX_CONSUMERS 16

/** Two timelines that a graphics API made and exported, both at 0. */
typedef struct culv_ipc_timelines {
    size_t struct_size; /**< Set by culv_ipc_timelines_init(). */
    /** OPAQUE_FD; on Windows OPAQUE_WIN32, or D3D12_FENCE or D3D11_FENCE for a shared fence.
     * Borrowed. */
    culv_handle ready;
    culv_handle done; /**< Of the same type. Borrowed. */
    /** A consumer's: signals `ready` from the host, when the producer has died and your queue waits
     * for it. NULL: Culvert signals it by CUDA. */
    culv_result (*signal)(void *context, uint64_t value);
    void *context;
    /** Reads the timeline that your side's queue signals, `done` of a consumer and `ready` of a
     * producer: how far your GPU is (in Vulkan vkGetSemaphoreCounterValue, in Direct3D 12
     * ID3D12Fence::GetCompletedValue). Called within the consumer's or the ring's calls. NULL: a
     * consumer looks by a CUDA stream, which costs two driver calls a frame, and without a device
     * it cannot; a producer takes its own GPU for done. */
    culv_result (*reached)(void *context, uint64_t *value);
} culv_ipc_timelines;

CULV_INIT(culv_ipc_timelines)

/** A value of one consumer's timeline. */
typedef struct culv_ipc_point {
    uint32_t consumer; /**< Its number in the ring. */
    uint32_t reserved;
    uint64_t value;
} culv_ipc_point;

/** Where the oldest frame is that a consumer is not done with. */
typedef enum culv_ipc_lag {
    CULV_IPC_LAG_NONE = 0, /**< Nowhere: it is done with all that it got. */
    CULV_IPC_LAG_HOST = 1, /**< The consumer has not given it back. */
    CULV_IPC_LAG_GPU = 2,  /**< It was given back, and the consumer's GPU is not done with it. */
    CULV_IPC_LAG_PRODUCER = 3, /**< The same, but the producer's GPU has not written it yet. */
    CULV_IPC_LAG_FORCE32 = 0x7fffffff
} culv_ipc_lag;

/** A consumer, as its producer sees it. */
typedef struct culv_ipc_consumer_info {
    uint32_t number; /**< Its number in the ring, for culv_ipc_ring_drop(). */
    int32_t pid;     /**< Its process. */
    culv_ring_policy policy;
    culv_ipc_lag lag;
    /** FIFO: frames that it got and is not done with. MAILBOX: frames that were released after the
     * one that it took last. */
    uint64_t behind;
    uint64_t quiet; /**< Nanoseconds since an acquire of the producer saw it move. */
    /** Nanoseconds for which the producer has lacked a slot because of it. 0: it lacks none. */
    uint64_t late;
} culv_ipc_consumer_info;

/** A slot, while a side has it that uses a graphics API. */
typedef struct culv_ipc_frame {
    uint64_t number;    /**< Counts the frames that the producer released, from 0. */
    uint64_t skipped;   /**< MAILBOX: frames passed over since the last one. */
    uint32_t slot;      /**< The slot. */
    culv_bool repeated; /**< MAILBOX: nonzero when it is the same frame as before. */
    /** Values to wait for before the slot is touched: a consumer's of its `ready`. A producer has
     * none: it gets a slot when the GPUs of its readers are done with it. */
    uint32_t num_waits;
    /** Values to signal after the last use, filled by the release: the producer's of the `ready`, a
     * consumer's of its `done`. */
    uint32_t num_signals;
    culv_ipc_point wait_points[CULV_IPC_MAX_CONSUMERS];
    culv_ipc_point signal_points[CULV_IPC_MAX_CONSUMERS];
} culv_ipc_frame;

/* Producer ------------------------------------------------------------------------------------- */

/** A ring to make. */
typedef struct culv_ipc_ring_desc {
    size_t struct_size; /**< Set by culv_ipc_ring_desc_init(). */
    const char *name;   /**< Required. Read during the call. At most 55 bytes. */
    /** Required: 1 to CULV_RING_MAX_DEPTH. With consumers of the newest frame at least 2, and one
     * more for each of them if the producer is never to wait. Each has one slot at a time, until
     * its GPU is done with it, however long that takes. */
    uint32_t num_slots;
    uint32_t parts;         /**< Things in each slot, 1 to 16. Default: 1. */
    uint32_t max_consumers; /**< 1 to CULV_IPC_MAX_CONSUMERS. Default: 8. */
    /** A producer that uses a graphics API: makes the timelines of consumer number `consumer`. The
     * handles in *out are borrowed: close them after culv_ipc_server_poll() or in `drop`. Called
     * within the server's calls. NULL: consumers bring timelines, or use counters. */
    culv_result (*make)(void *context, uint32_t consumer, culv_ipc_timelines *out);
    /** The consumer has gone: destroy the timelines when your queue has passed them. */
    void (*drop)(void *context, uint32_t consumer);
    void *context;
    /** Nanoseconds: an acquire drops a consumer (culv_ipc_ring_drop()) because of which it has
     * lacked a slot for longer. That the producer's own GPU is behind does not count; a producer
     * that has `make` tells it by culv_ipc_timelines::reached. 0: none is dropped. */
    uint64_t late_limit;
    /** Nonzero: consumers use counters and bring no timelines, so no client can send this process a
     * handle if the kernel can refuse them (Linux 6.16). A ring that has `make` takes none
     * anyway. */
    culv_bool counters;
} culv_ipc_ring_desc;

CULV_INIT(culv_ipc_ring_desc)

/** Makes a ring and offers it by its name.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, VALUE), BUSY (IPC_NAME), DRIVER (OS), OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_ipc_ring_destroy(), before the server or after it.
 * Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_ring_create(culv_ipc_server *server,
                                             const culv_ipc_ring_desc *desc, culv_ipc_ring **out);

/** Destroys the ring, with what it offers. Its server may have gone before: the ring had ended
 * then, and all its other calls answer ASYNC (RING_STOPPED). Consumers can still read the frames
 * that were released: from CUDA to CUDA also when this process has ended, with a graphics API's
 * timelines as long as the server lives. The GPU's work with the ring should be done. What CUDA
 * holds is released by a later culv_device_collect(), or with the device.
 * Threads: one at a time. */
CULV_EXPORT void culv_ipc_ring_destroy(culv_ipc_ring **ring);

/** Offers a VMM allocation as a part of a slot. It has the name "RING.SLOT.PART".
 * Errors: as culv_ipc_offer_vmm(); INVALID (RANGE: there is no such slot or part), ASYNC
 * (RING_STOPPED: the server was destroyed).
 * Ownership: as there.
 * Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_ring_offer_vmm(culv_ipc_ring *ring, uint32_t slot, uint32_t part,
                                                culv_vmm_allocation *allocation,
                                                const culv_ipc_info *info);

/** Offers a buffer or an image as a part of a slot. It has the name "RING.SLOT.PART".
 * Errors: as culv_ipc_offer(); INVALID (RANGE: there is no such slot or part), ASYNC (RING_STOPPED:
 * the server was destroyed).
 * Ownership: as there.
 * Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_ring_offer(culv_ipc_ring *ring, uint32_t slot, uint32_t part,
                                            const culv_ipc_info *info, const culv_handle *handle);

/** Gets a slot to write, which no GPU reads any more. It answers clients, as
 * culv_ipc_server_poll() does. When the GPUs of consumers of every frame are not done with what is
 * in the slots, it waits up to `timeout` nanoseconds. Consumers of the newest frame are passed by.
 * Errors: INVALID (NULL_ARGUMENT; RING_ORDER: a frame is held), TIMEOUT (RING_FULL: the message
 * names the consumer that is late, and where; culv_ipc_ring_get_consumers() tells it as data. It is
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

/** Returns CUDA's side of the ring, which is that of every ring: culv_ring_acquire_on(),
 * culv_ring_release_on(), culv_ring_flush_on() and culv_ring_cancel() for CULV_RING_PRODUCER, and
 * culv_ring_drain(), culv_ring_stop() and culv_ring_get_stats(). The stream has nothing to wait for
 * at an acquire: a slot is free when the GPUs of its readers are done with it. A release makes the
 * stream signal each consumer's `ready`. culv_ring_drain() waits until no GPU has to do with a
 * frame that was released; `force` does nothing, because no stream of the producer's waits for
 * another process. culv_ring_stop() ends an acquire that waits.
 *
 * They have the errors of culv_ipc_ring_acquire() and culv_ipc_ring_release() too; INVALID (VALUE:
 * the ring has `make`; RING_SIDE: a call without a stream, CULV_RING_CONSUMER, or
 * culv_ring_configure()). NULL for NULL.
 * Ownership: the ring's: culv_ring_destroy() refuses it (OWNED).
 * Threads: any. The calls count as the server's, one thread at a time, but for culv_ring_stop().
 * Source: cuda.h, cuStreamWriteValue64, cuSignalExternalSemaphoresAsync. */
CULV_EXPORT culv_ring *culv_ipc_ring_core(const culv_ipc_ring *ring);

/** Returns how many consumers there are. One that has not taken the answer to its join is none yet.
 * 0 for NULL.
 * Threads: one at a time. */
CULV_EXPORT uint32_t culv_ipc_ring_consumers(const culv_ipc_ring *ring);

/** Lists the consumers: who is late, where and for how long. *count gets how many there are, of
 * which the first `capacity` are written.
 * Errors: INVALID (NULL_ARGUMENT), ASYNC (RING_STOPPED: the server was destroyed).
 * Ownership: the copies are yours. `out` has room for `capacity`; it may be NULL if that is 0.
 * Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_ring_get_consumers(culv_ipc_ring *ring,
                                                    culv_ipc_consumer_info *out, size_t capacity,
                                                    size_t *count);

/** Turns a consumer away: its connection is closed, and the slots that it had are free. It is told
 * so (IPC_DROPPED).
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

/** Joins a ring. It gets the frames that are released from now on.
 * Errors: as culv_ipc_client_receive() and culv_semaphore_import_borrow(); INVALID (VALUE: it is no
 * ring, the kinds of timelines do not fit, or the client has no device), UNSUPPORTED (IPC_REFUSED:
 * the ring has as many consumers as it admits; DRIVER_TOO_OLD: no stream memory operations).
 * Ownership: *out is yours, for culv_ipc_consumer_destroy(), before the client.
 * Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_consumer_join(culv_ipc_client *client,
                                               const culv_ipc_consumer_desc *desc, uint64_t timeout,
                                               culv_ipc_consumer **out);

/** Leaves the ring. The GPU's work with its frames should be done: the producer takes the slots
 * back at once. What of it still waits for the producer is moved on. What CUDA holds is released by
 * a later culv_device_collect(), or with the device.
 * Threads: one at a time. */
CULV_EXPORT void culv_ipc_consumer_destroy(culv_ipc_consumer **consumer);

/** Gets the timelines that the producer made for this consumer (culv_ipc_ring_desc::make), for a
 * graphics API that waits for `ready` and signals `done` in its own queue. out->signal stays NULL:
 * CUDA moves `ready` on when the producer dies. A consumer that uses the calls with a stream needs
 * none of this.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; VALUE: the timelines are counters, or were given to
 * culv_ipc_consumer_join()).
 * Ownership: the handles stay the consumer's and go with it. Give a driver that takes them a
 * duplicate (culv_handle_dup()).
 * Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_consumer_get_timelines(const culv_ipc_consumer *consumer,
                                                        culv_ipc_timelines *out);

/** Receives a part of a slot.
 * Errors: as culv_ipc_client_receive(); INVALID (RANGE: there is no such slot or part).
 * Ownership: as there.
 * Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_consumer_receive(culv_ipc_consumer *consumer, uint32_t slot,
                                                  uint32_t part, uint64_t timeout,
                                                  culv_ipc_object **out);

/** Returns the number of slots, and through `parts` (may be NULL) the things in each. 0 for NULL.
 * Threads: one at a time. */
CULV_EXPORT uint32_t culv_ipc_consumer_slots(const culv_ipc_consumer *consumer, uint32_t *parts);

/** Gets a frame to read. It waits up to `timeout` nanoseconds for one. frame->wait_points[0] is the
 * value of `ready` to wait for on the GPU. A side of the newest frame has one slot at a time: it
 * gets another frame when its GPU is done with the last one, which it waits for.
 * Errors: INVALID (NULL_ARGUMENT; RING_ORDER: a frame is held), TIMEOUT (RING_EMPTY; RING_LATE:
 * MAILBOX: this side's GPU is not done with the last frame), ASYNC
 * (RING_STOPPED: the producer has ended or closed the ring; IPC_DROPPED: the producer has turned
 * this side away, and runs on; IPC_PROTOCOL: its page makes no sense).
 * Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_consumer_acquire(culv_ipc_consumer *consumer, uint64_t timeout,
                                                  culv_ipc_frame *frame);

/** Gives the frame back, and fills frame->signal_points[0] with the value of `done` to signal. Call
 * it right before the submission that signals it: the producer does not write the slot before it
 * knows, by culv_ipc_timelines::reached or by a CUDA stream of this process, that `done` is there.
 * Errors: INVALID (NULL_ARGUMENT; RING_ORDER: no frame is held), DRIVER, ASYNC (after these the
 * frame is still held).
 * Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_consumer_release(culv_ipc_consumer *consumer,
                                                  culv_ipc_frame *frame);

/** Returns CUDA's side of the consumer, which is that of every ring: culv_ring_acquire_on(),
 * culv_ring_release_on(), culv_ring_flush_on() and culv_ring_cancel() for CULV_RING_CONSUMER, and
 * culv_ring_drain(), culv_ring_stop() and culv_ring_get_stats(). An acquire makes the stream wait
 * for `ready`, and a release makes it signal `done`. After a cancel the frame comes again, or a
 * newer one if the policy is MAILBOX. culv_ring_drain() waits for this side's GPU. culv_ring_stop()
 * ends an acquire that waits, within a quarter of a second; the producer does not notice it.
 *
 * They have the errors of culv_ipc_consumer_acquire() and culv_ipc_consumer_release() too; INVALID
 * (STREAM_DEVICE, CAPTURE; RING_SIDE: a call without a stream, CULV_RING_PRODUCER, or
 * culv_ring_configure()). NULL for NULL, and if the client was connected without a device.
 * Ownership: the consumer's: culv_ring_destroy() refuses it (OWNED).
 * Threads: any. The calls count as the client's, one thread at a time, but for culv_ring_stop(). */
CULV_EXPORT culv_ring *culv_ipc_consumer_core(const culv_ipc_consumer *consumer);

/** Tells whether the producer is still there, without waiting. When it is not, the call moves on
 * what this process's GPU waits for.
 * Errors: none; 0 for NULL.
 * Threads: one at a time. */
CULV_EXPORT culv_bool culv_ipc_consumer_connected(culv_ipc_consumer *consumer);

CULV_EXTERN_C_END

#endif
