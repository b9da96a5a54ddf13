/* SPDX-License-Identifier: MIT */
/* Culvert: a ring of frames between processes: one producer, and consumers that come and go.
 *
 * The ring belongs to the producer's server and offers the objects of its slots. Each consumer
 * chooses whether it gets every frame (FIFO, the producer waits for it) or the newest one (MAILBOX,
 * the producer goes on). Each consumer has two timelines: `ready`, which the producer signals, and
 * `done`, which the consumer signals. So one consumer never waits for another.
 *
 *   the producer                                  a consumer
 *   culv_ipc_ring_create(server, &d, &ring);      culv_ipc_ring_join(client, &d, t, &ring);
 *   culv_ipc_ring_offer(ring, slot, 0, &info,     culv_ipc_ring_receive(ring, slot, 0, t, &o);
 *       culv_ipc_from_vmm(memory));               culv_ipc_import_vmm(o, &memory);
 *
 *   culv_ring_acquire_on(ring,                    culv_ring_acquire_on(ring,
 *       CULV_RING_PRODUCER, stream, t, &f);           CULV_RING_CONSUMER, stream, t, &f);
 *   ... write slot f.slot ...                     ... read slot f.slot ...
 *   culv_ring_release_on(ring,                    culv_ring_release_on(ring,
 *       CULV_RING_PRODUCER, stream, &f);              CULV_RING_CONSUMER, stream, &f);
 *
 * Each side is a culv_ring for the calls of culvert/ring.h. A side refuses calls for the other
 * side, culv_ring_configure() and culv_ring_submit_failed(). The ring does not know your mappings,
 * so culv_ring_pointer(), culv_ring_buffer() and similar calls return NULL. A burst is one frame.
 * Only one thread at a time may call the server or the client and its rings; culv_ring_stop() may
 * come from any thread.
 *
 * Between two CUDA processes the timelines are counters in a shared page (stream memory
 * operations), and no graphics API is needed. A consumer that uses a graphics API passes timelines
 * that it made and exported. A producer that uses one makes them for each consumer.
 *
 * A slot is free when the GPUs of its readers are done with it. The producer reads that from each
 * consumer's `done` in a shared page, and none of its streams waits for another process. If a
 * consumer reports wrong values, it harms only itself.
 *
 * If one side ends, the other side can go on. If the producer has ended, the consumer's next call
 * notices it and signals `ready`, so that no GPU waits for ever; the contents of such a frame are
 * wrong. A thread that waits for its stream cannot notice it: wait with a timeout, and call
 * culv_ipc_server_poll() or culv_ipc_ring_connected() in between.
 *
 * Culvert keeps no stream between calls, so you may destroy yours at any time. A side may use a
 * different stream for each frame, if each stream waits for the previous one (cuStreamWaitEvent): a
 * timeline must not go back. */
#ifndef CULV_IPC_RING_H_
#define CULV_IPC_RING_H_

#include "ipc.h"
#include "ring.h"

CULV_EXTERN_C_BEGIN

/** Maximum number of consumers of a ring. */
#define CULV_IPC_MAX_CONSUMERS 16

/** Two timelines that a graphics API made and exported, both at 0. */
typedef struct culv_ipc_timelines {
    size_t struct_size; /**< Set by culv_ipc_timelines_init(). */
    /** OPAQUE_FD; on Windows OPAQUE_WIN32, or D3D12_FENCE or D3D11_FENCE for a shared fence.
     * Borrowed. */
    culv_handle ready;
    culv_handle done; /**< Of the same type. Borrowed. */
    /** Consumer: a function that signals `ready` from the host, if the producer has ended while
     * your queue waits for it. NULL: Culvert signals it by CUDA. */
    culv_result (*signal)(void *context, uint64_t value);
    void *context;
    /** Function that reads the counter that your side's queue signals: `done` for a consumer,
     * `ready` for a producer (in Vulkan vkGetSemaphoreCounterValue, in Direct3D 12
     * ID3D12Fence::GetCompletedValue). Called during the ring's calls. NULL: a consumer asks by a
     * CUDA stream, which costs two driver calls a frame and needs a device; a producer assumes that
     * its own GPU is done. */
    culv_result (*reached)(void *context, uint64_t *value);
} culv_ipc_timelines;

CULV_INIT(culv_ipc_timelines)

/** The state of the oldest frame that a consumer is not done with. */
typedef enum culv_ipc_lag {
    CULV_IPC_LAG_NONE = 0,     /**< The consumer is done with all its frames. */
    CULV_IPC_LAG_HOST = 1,     /**< The consumer has not released it. */
    CULV_IPC_LAG_GPU = 2,      /**< It was released, but the consumer's GPU is not done with it. */
    CULV_IPC_LAG_PRODUCER = 3, /**< It is released, but the producer's GPU has not written it. */
    CULV_IPC_LAG_FORCE32 = 0x7fffffff
} culv_ipc_lag;

/** A consumer, as the producer sees it. */
typedef struct culv_ipc_consumer_info {
    uint32_t number; /**< Number in the ring, for culv_ipc_ring_drop(). */
    int32_t pid;     /**< Id of its process. */
    culv_ring_policy policy;
    culv_ipc_lag lag;
    /** FIFO: number of frames that it acquired and is not done with. MAILBOX: number of frames that
     * were released after the last frame that it acquired. */
    uint64_t behind;
    uint64_t quiet; /**< Nanoseconds since an acquire of the producer last saw its progress. */
    /** Nanoseconds for which the producer has had no free slot because of this consumer. 0: the
     * producer has a free slot. */
    uint64_t late;
} culv_ipc_consumer_info;

/* Producer ------------------------------------------------------------------------------------- */

/** A ring to make. */
typedef struct culv_ipc_ring_desc {
    size_t struct_size; /**< Set by culv_ipc_ring_desc_init(). */
    const char *name;   /**< Required. Read during the call. At most 55 bytes. */
    /** Required: 1 to CULV_RING_MAX_DEPTH. At least 2 if a consumer uses MAILBOX. A MAILBOX
     * consumer has one slot until its GPU is done with it: add one slot for each, so that the
     * producer never waits. */
    uint32_t num_slots;
    uint32_t parts;         /**< Objects in each slot, 1 to 16. Default: 1. */
    uint32_t max_consumers; /**< 1 to CULV_IPC_MAX_CONSUMERS. Default: 8. */
    /** Function for a producer that uses a graphics API. It makes the timelines for consumer number
     * `consumer`. The handles in *out are borrowed: close them after culv_ipc_server_poll() or in
     * `drop`. Called during the server's calls. NULL: consumers pass timelines, or use counters. */
    culv_result (*make)(void *context, uint32_t consumer, culv_ipc_timelines *out);
    /** Function called when the consumer has gone: destroy its timelines once your queue has passed
     * them. */
    void (*drop)(void *context, uint32_t consumer);
    void *context;
    /** Limit in nanoseconds. If the producer has had no free slot for longer because of a consumer,
     * an acquire drops that consumer (culv_ipc_ring_drop()). The time in which the producer's own
     * GPU is late does not count; a producer with `make` reports it by culv_ipc_timelines::reached.
     * 0: no limit. */
    uint64_t late_limit;
    /** Nonzero: consumers use counters and pass no timelines. If the kernel can refuse handles
     * (Linux 6.16), no client can then send this process one. A ring with `make` never takes
     * timelines. */
    culv_bool counters;
} culv_ipc_ring_desc;

CULV_INIT(culv_ipc_ring_desc)

/** Makes a ring and offers it by its name. *out is the producer's side.
 *
 * A producer's acquire gets a slot after its readers' GPUs are done with it, so frame.wait_value is
 * 0, and a stream does not wait. If the GPUs of FIFO consumers still read all slots, an acquire
 * waits for them on the host; it does not wait for MAILBOX consumers. It also answers clients, as
 * culv_ipc_server_poll() does. A release on a stream signals each consumer's `ready`. A graphics
 * API's producer (culv_ipc_ring_desc::make) calls culv_ring_acquire() and culv_ring_release(), and
 * then signals frame.signal_value on the `ready` of each consumer that it has made timelines for.
 *
 * culv_ring_drain() waits until no GPU uses a released frame; `force` does nothing, because no
 * stream of the producer waits for another process. culv_ring_stop() ends an acquire that waits.
 * culv_ring_destroy() withdraws the offers, before the server is destroyed or after it. The GPU's
 * work with the ring should have finished. Consumers can still read the frames that were released:
 * with counters, even after this process has ended; with a graphics API's timelines, as long as the
 * server exists. A later culv_device_collect(), or the end of the device, releases CUDA's objects.
 *
 * These calls have the errors of culvert/ring.h. RING_FULL: the message names the late consumer and
 * its state, as culv_ipc_ring_consumers() does; it is logged once in ten seconds for each consumer.
 * RING_SIDE: a ring without `make` needs the calls with a stream, and a ring with `make` needs the
 * calls without one. RING_STOPPED: the server was destroyed.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, VALUE), BUSY (IPC_NAME), DRIVER (OS), OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_ring_destroy(). Threads: one at a time.
 * Source: cuda.h, cuStreamWriteValue64, cuSignalExternalSemaphoresAsync. */
CULV_EXPORT culv_result culv_ipc_ring_create(culv_ipc_server *server,
                                             const culv_ipc_ring_desc *desc, culv_ring **out);

/** Offers an object as a part of a slot. Its name is "RING.SLOT.PART".
 * Errors: as culv_ipc_offer(); INVALID (VALUE: it is not a producer's side; RANGE: there is no such
 * slot or part), ASYNC (RING_STOPPED: the server was destroyed).
 * Ownership: as there. Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_ring_offer(culv_ring *ring, uint32_t slot, uint32_t part,
                                            const culv_ipc_info *info, culv_ipc_source source);

/** Returns the number of consumers, and writes the state of the first `capacity` of them to `out`
 * (which may be NULL if capacity is 0). A consumer counts once it has read the answer to its join.
 * Returns 0 for NULL, for a consumer's side, and if the server was destroyed.
 * Ownership: the elements are yours. Threads: one at a time. */
CULV_EXPORT uint32_t culv_ipc_ring_consumers(culv_ring *ring, culv_ipc_consumer_info *out,
                                             uint32_t capacity);

/** Drops a consumer: closes its connection and frees its slots. The consumer gets IPC_DROPPED.
 * Errors: INVALID (NULL_ARGUMENT; RANGE: there is no such consumer), ASYNC (RING_STOPPED: the
 * server was destroyed).
 * Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_ring_drop(culv_ring *ring, uint32_t consumer);

/* Consumer ------------------------------------------------------------------------------------- */

/** A consumer to make. */
typedef struct culv_ipc_consumer_desc {
    size_t struct_size; /**< Set by culv_ipc_consumer_desc_init(). */
    const char *ring;   /**< Required: its name. Read during the call. */
    /** FIFO: every frame that is released after the join. MAILBOX: the newest of them. */
    culv_ring_policy policy;
    /** Timelines of your graphics API. NULL: counters, or timelines that the producer makes. */
    const culv_ipc_timelines *timelines;
    /** Gets the timelines that the producer made for this consumer (culv_ipc_ring_desc::make), for
     * a graphics API that waits for `ready` and signals `done` in its own queue. The ring closes
     * the handles: if a driver takes one, pass a duplicate (culv_handle_dup()). `signal` stays
     * NULL: CUDA signals `ready` if the producer dies. The types stay NONE if the timelines are
     * counters or yours. Default: NULL; the calls with a stream do not need them. */
    culv_ipc_timelines *made;
} culv_ipc_consumer_desc;

CULV_INIT(culv_ipc_consumer_desc)

/** Joins a ring, as a consumer of the frames that are released from now on. *out is the consumer's
 * side.
 *
 * With a stream, an acquire makes it wait for `ready`, and a release makes it signal `done`. With a
 * graphics API, make your queue wait for frame.wait_value of `ready`, and signal frame.signal_value
 * of `done`: the producer writes the slot only after `done` is reached, as
 * culv_ipc_timelines::reached or a CUDA stream of this process reports. A MAILBOX side has one slot
 * at a time: an acquire waits until its GPU is done with the last frame. After a cancel, the next
 * acquire gets the frame again, or with MAILBOX perhaps a newer one.
 *
 * culv_ring_drain() waits for this side's GPU. culv_ring_stop() ends an acquire that waits, within
 * a quarter of a second; the producer does not notice it. culv_ring_destroy() leaves the ring; call
 * it before you destroy the client. The GPU's work with its frames should have finished: the
 * producer takes the slots back at once. If GPU work still waits for the producer, Culvert signals
 * `ready` so that it ends. A later culv_device_collect(), or the end of the device, releases CUDA's
 * objects.
 *
 * These calls have the errors of culvert/ring.h; TIMEOUT (RING_LATE, with MAILBOX: this side's GPU
 * is not done with the last frame), ASYNC (RING_STOPPED: the producer has ended or destroyed the
 * ring; IPC_DROPPED: the producer has dropped this consumer, and goes on; IPC_PROTOCOL: the shared
 * page is invalid), INVALID (RING_SIDE: the timelines are counters and the call has no stream, or
 * the client has no device and the call has a stream).
 * Errors: as culv_ipc_client_receive() and culv_semaphore_import(); INVALID (VALUE: the offer is no
 * ring, its timelines are of another kind than yours, or the client has no device), UNSUPPORTED
 * (IPC_REFUSED: the ring is full; DRIVER_TOO_OLD: no stream memory operations).
 * Ownership: *out is yours, for culv_ring_destroy(), before the client. Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_ring_join(culv_ipc_client *client,
                                           const culv_ipc_consumer_desc *desc, uint64_t timeout,
                                           culv_ring **out);

/** Receives a part of a slot.
 * Errors: as culv_ipc_client_receive(); INVALID (VALUE: it is not a consumer's side; RANGE: there
 * is no such slot or part).
 * Ownership: as there. Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_ring_receive(culv_ring *ring, uint32_t slot, uint32_t part,
                                              uint64_t timeout, culv_ipc_object **out);

/** Tells whether the producer still exists, without a wait. If it does not, the call signals the
 * timelines that this process's GPU waits for.
 * Errors: none; 0 for NULL and for a producer's side. Threads: one at a time. */
CULV_EXPORT culv_bool culv_ipc_ring_connected(culv_ring *ring);

CULV_EXTERN_C_END

#endif
