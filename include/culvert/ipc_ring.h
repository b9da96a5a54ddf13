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
 *   culv_ipc_ring_acquire_on(r, stream, t, &f);   culv_ipc_consumer_acquire_on(c, stream, t, &f);
 *   ... write slot f.slot ...                     ... read slot f.slot ...
 *   culv_ipc_ring_release_on(r, stream, &f);      culv_ipc_consumer_release_on(c, stream, &f);
 *
 * Between two CUDA processes the timelines are counters in a shared page (stream memory
 * operations), and no graphics API is needed. A consumer that uses a graphics API brings timelines
 * that it made and exported. A producer that uses one makes them for each consumer.
 *
 * A side that ends, at whatever point, stops nobody. The other side's next call notices it and
 * moves the timeline on that the dead one would have signaled, so that no GPU waits for ever. What
 * such a frame contains is then not right. A thread that waits for its stream meanwhile cannot
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
    /** Signals the timeline that the other side died with (`ready` for a consumer, `done` for a
     * producer) from the host. NULL: Culvert signals it by CUDA. */
    culv_result (*signal)(void *context, uint64_t value);
    void *context;
} culv_ipc_timelines;

/** Returns an empty culv_ipc_timelines with its struct_size set.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_ipc_timelines culv_ipc_timelines_init(void)
{
    culv_ipc_timelines t;
    memset(&t, 0, sizeof t);
    t.struct_size = sizeof t;
    return t;
}

/** A value of one consumer's timeline. */
typedef struct culv_ipc_point {
    uint32_t consumer; /**< Its number in the ring. */
    uint32_t reserved;
    uint64_t value;
} culv_ipc_point;

/** A slot, while a side has it. Of no interest to sides that use the calls with a stream, but for
 * `slot` and `number`. */
typedef struct culv_ipc_frame {
    uint64_t number;    /**< Counts the frames that the producer released, from 0. */
    uint64_t skipped;   /**< MAILBOX: frames passed over since the last one. */
    uint32_t slot;      /**< The slot. */
    culv_bool repeated; /**< MAILBOX: nonzero when it is the same frame as before. */
    /** Values to wait for before the slot is touched: the producer's of the `done`, a consumer's of
     * its `ready`. */
    uint32_t num_waits;
    /** Values to signal after the last use, filled by the release: the producer's of the `ready`, a
     * consumer's of its `done`. */
    uint32_t num_signals;
    culv_ipc_point waits[CULV_IPC_MAX_CONSUMERS];
    culv_ipc_point signals[CULV_IPC_MAX_CONSUMERS];
} culv_ipc_frame;

/* Producer ------------------------------------------------------------------------------------- */

/** A ring to make. Zero in every field but struct_size means the default. */
typedef struct culv_ipc_ring_desc {
    size_t struct_size; /**< Set by culv_ipc_ring_desc_init(). */
    const char *name;   /**< Required. Read during the call. At most 55 bytes. */
    /** Required: 1 to CULV_RING_MAX_DEPTH. With consumers of the newest frame at least 2, and one
     * more for each of them if the producer is never to wait. */
    uint32_t slots;
    uint32_t parts;         /**< Things in each slot, 1 to 16. Default: 1. */
    uint32_t max_consumers; /**< 1 to CULV_IPC_MAX_CONSUMERS. Default: 8. */
    /** A producer that uses a graphics API: makes the timelines of consumer number `consumer`. The
     * handles in *out are borrowed: close them after culv_ipc_server_poll() or in `drop`. Called
     * within the server's calls. NULL: consumers bring timelines, or use counters. */
    culv_result (*make)(void *context, uint32_t consumer, culv_ipc_timelines *out);
    /** The consumer has gone, and its `done` was moved on: destroy the timelines when your queue
     * has passed them. */
    void (*drop)(void *context, uint32_t consumer);
    void *context;
} culv_ipc_ring_desc;

/** Returns a default descriptor.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_ipc_ring_desc culv_ipc_ring_desc_init(void)
{
    culv_ipc_ring_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    return d;
}

/** Makes a ring and offers it by its name.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, VALUE), BUSY (IPC_NAME), DRIVER (OS), OUT_OF_MEMORY.
 * Ownership: *out is yours; give it to culv_ipc_ring_destroy(), before the server or after it.
 * Threads: one at a time.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_ipc_ring_create(culv_ipc_server *server,
                                             const culv_ipc_ring_desc *desc, culv_ipc_ring **out);

/** Destroys the ring, with what it offers, and sets *ring to NULL. Its server may have gone before:
 * the ring had ended then, and all its other calls answer ASYNC (RING_STOPPED). Consumers can still
 * read the frames that were released. The GPU's work with the ring should be done. What CUDA holds
 * is released by a later culv_device_collect(), or with the device. NULL, or a pointer to NULL, is
 * a no-op.
 * Errors: none.
 * Ownership: *ring is Culvert's again.
 * Threads: one at a time.
 * Since: 0.1 */
CULV_EXPORT void culv_ipc_ring_destroy(culv_ipc_ring **ring);

/** Offers a VMM allocation as a part of a slot. It has the name "RING.SLOT.PART".
 * Errors: as culv_ipc_offer_vmm(); INVALID (RANGE: there is no such slot or part), ASYNC
 * (RING_STOPPED: the server was destroyed).
 * Ownership: as there.
 * Threads: one at a time.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_ipc_ring_offer_vmm(culv_ipc_ring *ring, uint32_t slot, uint32_t part,
                                                culv_vmm_allocation *allocation,
                                                const culv_ipc_info *info);

/** Offers a buffer or an image as a part of a slot. It has the name "RING.SLOT.PART".
 * Errors: as culv_ipc_offer(); INVALID (RANGE: there is no such slot or part), ASYNC (RING_STOPPED:
 * the server was destroyed).
 * Ownership: as there.
 * Threads: one at a time.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_ipc_ring_offer(culv_ipc_ring *ring, uint32_t slot, uint32_t part,
                                            const culv_ipc_info *info, const culv_handle *handle);

/** Gets a slot to write. It answers clients, as culv_ipc_server_poll() does. When consumers of
 * every frame have not read what is in the slots, it waits up to `timeout` nanoseconds.
 * frame->waits are the values to wait for on the GPU.
 * Errors: INVALID (NULL_ARGUMENT; RING_ORDER: a frame is held), TIMEOUT (RING_FULL: the message
 * names the consumer that is late), ASYNC (RING_STOPPED: the server was destroyed), DRIVER (OS).
 * Ownership: none.
 * Threads: one at a time.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_ipc_ring_acquire(culv_ipc_ring *ring, uint64_t timeout,
                                              culv_ipc_frame *frame);

/** Publishes the frame, and fills frame->signals with the values to signal. Call it right before
 * the submission that signals them.
 * Errors: INVALID (NULL_ARGUMENT; RING_ORDER: no frame is held), ASYNC (RING_STOPPED: the server
 * was destroyed).
 * Ownership: none.
 * Threads: one at a time.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_ipc_ring_release(culv_ipc_ring *ring, culv_ipc_frame *frame);

/** The same as culv_ipc_ring_acquire(), and makes the stream wait.
 * Errors: as there; INVALID (STREAM_DEVICE, CAPTURE; VALUE: the ring has `make`), DRIVER, ASYNC.
 * Ownership: none.
 * Threads: one at a time.
 * Since: 0.1.
 * Source: cuda.h, cuStreamWaitValue64, cuWaitExternalSemaphoresAsync. */
CULV_EXPORT culv_result culv_ipc_ring_acquire_on(culv_ipc_ring *ring, CUstream stream,
                                                 uint64_t timeout, culv_ipc_frame *frame);

/** Makes the stream signal, and publishes the frame. After an error the frame is still held.
 * Errors: as culv_ipc_ring_acquire_on() and culv_ipc_ring_release().
 * Ownership: none.
 * Threads: one at a time.
 * Since: 0.1.
 * Source: cuda.h, cuStreamWriteValue64, cuSignalExternalSemaphoresAsync. */
CULV_EXPORT culv_result culv_ipc_ring_release_on(culv_ipc_ring *ring, CUstream stream,
                                                 culv_ipc_frame *frame);

/** Returns how many consumers there are. 0 for NULL.
 * Errors: none.
 * Ownership: none.
 * Threads: one at a time.
 * Since: 0.1 */
CULV_EXPORT uint32_t culv_ipc_ring_consumers(const culv_ipc_ring *ring);

/** Turns a consumer away, as if it had died: its connection is closed and its `done` is moved on.
 * Errors: INVALID (NULL_ARGUMENT; RANGE: there is no such consumer), ASYNC (RING_STOPPED: the
 * server was destroyed).
 * Ownership: none.
 * Threads: one at a time.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_ipc_ring_drop(culv_ipc_ring *ring, uint32_t consumer);

/* Consumer ------------------------------------------------------------------------------------- */

/** A consumer to make. Zero in every field but struct_size means the default. */
typedef struct culv_ipc_consumer_desc {
    size_t struct_size; /**< Set by culv_ipc_consumer_desc_init(). */
    const char *ring;   /**< Required: its name. Read during the call. */
    /** FIFO: every frame from now on. MAILBOX: the newest one that was released after the join. */
    culv_ring_policy policy;
    /** Timelines of your graphics API. NULL: counters, or those that the producer makes. */
    const culv_ipc_timelines *timelines;
} culv_ipc_consumer_desc;

/** Returns a default descriptor.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_ipc_consumer_desc culv_ipc_consumer_desc_init(void)
{
    culv_ipc_consumer_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    return d;
}

/** Joins a ring. It gets the frames that are released from now on.
 * Errors: as culv_ipc_client_receive() and culv_semaphore_import_borrow(); INVALID (VALUE: it is no
 * ring, the kinds of timelines do not fit, or the client has no device), UNSUPPORTED (IPC_REFUSED:
 * the ring has as many consumers as it admits; DRIVER_TOO_OLD: no stream memory operations).
 * Ownership: *out is yours; give it to culv_ipc_consumer_destroy(), before the client.
 * Threads: one at a time.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_ipc_consumer_join(culv_ipc_client *client,
                                               const culv_ipc_consumer_desc *desc, uint64_t timeout,
                                               culv_ipc_consumer **out);

/** Leaves the ring and sets *consumer to NULL. The GPU's work with its frames should be done: the
 * producer takes the slots back at once. What CUDA holds is released by a later
 * culv_device_collect(), or with the device. NULL, or a pointer to NULL, is a no-op.
 * Errors: none.
 * Ownership: *consumer is Culvert's again.
 * Threads: one at a time.
 * Since: 0.1 */
CULV_EXPORT void culv_ipc_consumer_destroy(culv_ipc_consumer **consumer);

/** Gets the timelines that the producer made for this consumer (culv_ipc_ring_desc::make), for a
 * graphics API that waits for `ready` and signals `done` in its own queue. out->signal stays NULL:
 * CUDA moves `ready` on when the producer dies. A consumer that uses the calls with a stream needs
 * none of this.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; VALUE: the timelines are counters, or were given to
 * culv_ipc_consumer_join()).
 * Ownership: the handles stay the consumer's and go with it. Give a driver that takes them a
 * duplicate (culv_handle_dup()).
 * Threads: one at a time.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_ipc_consumer_get_timelines(const culv_ipc_consumer *consumer,
                                                        culv_ipc_timelines *out);

/** Receives a part of a slot.
 * Errors: as culv_ipc_client_receive(); INVALID (RANGE: there is no such slot or part).
 * Ownership: as there.
 * Threads: one at a time.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_ipc_consumer_receive(culv_ipc_consumer *consumer, uint32_t slot,
                                                  uint32_t part, uint64_t timeout,
                                                  culv_ipc_object **out);

/** Returns the number of slots, and through `parts` (may be NULL) the things in each. 0 for NULL.
 * Errors: none.
 * Ownership: none.
 * Threads: one at a time.
 * Since: 0.1 */
CULV_EXPORT uint32_t culv_ipc_consumer_slots(const culv_ipc_consumer *consumer, uint32_t *parts);

/** Gets a frame to read. It waits up to `timeout` nanoseconds for one. frame->waits[0] is the value
 * of `ready` to wait for on the GPU.
 * Errors: INVALID (NULL_ARGUMENT; RING_ORDER: a frame is held), TIMEOUT (RING_EMPTY), ASYNC
 * (RING_STOPPED: the producer has ended or closed the ring; IPC_PROTOCOL: its page makes no sense).
 * Ownership: none.
 * Threads: one at a time.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_ipc_consumer_acquire(culv_ipc_consumer *consumer, uint64_t timeout,
                                                  culv_ipc_frame *frame);

/** Gives the frame back, and fills frame->signals[0] with the value of `done` to signal. Call it
 * right before the submission that signals it.
 * Errors: INVALID (NULL_ARGUMENT; RING_ORDER: no frame is held).
 * Ownership: none.
 * Threads: one at a time.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_ipc_consumer_release(culv_ipc_consumer *consumer,
                                                  culv_ipc_frame *frame);

/** The same as culv_ipc_consumer_acquire(), and makes the stream wait.
 * Errors: as there; INVALID (STREAM_DEVICE, CAPTURE; VALUE: the client has no device), DRIVER,
 * ASYNC.
 * Ownership: none.
 * Threads: one at a time.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_ipc_consumer_acquire_on(culv_ipc_consumer *consumer, CUstream stream,
                                                     uint64_t timeout, culv_ipc_frame *frame);

/** Makes the stream signal, and gives the frame back. After an error it is still held.
 * Errors: as culv_ipc_consumer_acquire_on() and culv_ipc_consumer_release().
 * Ownership: none.
 * Threads: one at a time.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_ipc_consumer_release_on(culv_ipc_consumer *consumer, CUstream stream,
                                                     culv_ipc_frame *frame);

/** Tells whether the producer is still there, without waiting. When it is not, the call moves on
 * what this process's GPU waits for.
 * Errors: none; 0 for NULL.
 * Ownership: none.
 * Threads: one at a time.
 * Since: 0.1 */
CULV_EXPORT culv_bool culv_ipc_consumer_connected(culv_ipc_consumer *consumer);

CULV_EXTERN_C_END

#endif
