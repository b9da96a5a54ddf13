/* SPDX-License-Identifier: MIT */
/* Culvert: a ring of shared frames between one producer and one consumer, each CUDA or a graphics
 * API: whose turn it is, which values of two timelines to wait for and to signal, and what to do
 * when a side is late. What the frames are made of is the caller's affair (culvert/vulkan_ring.h
 * makes Vulkan's): the ring hands out slots, 0 to depth - 1.
 *
 *   producer: acquire -> wait for wait_value, write the slot, signal signal_value -> release
 *   consumer: acquire -> wait for wait_value, read the slot, signal signal_value -> release
 *
 * Each side has a timeline of its own that only it signals: `ready` is the producer's, `done` the
 * consumer's. Acquire and release order submissions; GPUs wait for each other by the timelines, the
 * host for nobody's GPU. */
#ifndef CULV_RING_H_
#define CULV_RING_H_

#include "semaphore.h"

CULV_EXTERN_C_BEGIN

/** Opaque. One thread at a time for each side; the two sides may be two threads, or one. A thread
 * that is cancelled (pthread_cancel) while it waits in a call ends behind the call, not in it: give
 * waits a timeout, or wake them by culv_ring_destroy(). */
typedef struct culv_ring culv_ring;

/** The most slots that a ring has. */
#define CULV_RING_MAX_DEPTH 64
/** For timeouts, in nanoseconds: without end. */
#define CULV_RING_FOREVER UINT64_MAX

typedef enum culv_ring_side {
    CULV_RING_PRODUCER = 0, /**< Writes frames; signals `ready`. */
    CULV_RING_CONSUMER = 1, /**< Reads them; signals `done`. */
    CULV_RING_SIDE_FORCE32 = 0x7fffffff
} culv_ring_side;

typedef enum culv_ring_policy {
    /** Every frame, in order. A producer that is ahead waits, on the host, for a slot; a consumer
     * for a frame. */
    CULV_RING_FIFO = 0,
    /** The newest frame wins. The consumer gets the newest frame whose GPU work is done, the one
     * that it had last when there is none newer, and waits only for the first; the producer writes
     * over what nobody reads, and waits for no reader. So that the newest frame that is done stays
     * there to be read, the producer's acquire waits on the host until a frame of its own is done,
     * where no slot is left otherwise (`ready`'s wait; without it a consumer that asks seldom may
     * find nothing new). Needs a depth of 3, one more to have the producer's next frame queued
     * while one is written, and one more for each frame that the consumer has in flight besides
     * one. Asks the driver for a timeline's counter at an acquire (mostly `ready` at the
     * consumer's, `done` at the producer's). Bursts are 1. */
    CULV_RING_MAILBOX = 1,
    CULV_RING_POLICY_FORCE32 = 0x7fffffff
} culv_ring_policy;

/** How frames flow; may be changed while they do (culv_ring_configure()). Zero means the
 * default. */
typedef struct culv_ring_settings {
    size_t struct_size;      /**< Set by culv_ring_settings_init(). */
    culv_ring_policy policy; /**< Default: FIFO. */
    /** Slots in use, at most culv_ring_desc::max_depth. 0: all of them. */
    uint32_t depth;
    /** FIFO: frames that a side hands over together. A GPU whose one engine does graphics and
     * compute switches between them once a burst instead of once a frame. At most depth. The
     * producer's begins when there are slots for all of it, or, right after a flush, for one; the
     * consumer's is of what is ready. Default: 1. */
    uint32_t burst;
    /** Frames that a side's submissions may be ahead of the consumer's GPU work before its acquire
     * waits on the host, so that a program without back-pressure of its own does not queue work
     * without end. Once it waits, it goes on until up to half of those are done, so that not every
     * acquire asks the driver. Of MAILBOX the consumer's alone. At most 255 hand-overs. Default:
     * twice the depth, none where the host cannot wait for `done`. */
    uint32_t max_frames_in_flight;
    /** Nanoseconds, nonzero: FIFO chooses depth and burst itself, one number for both: the
     * largest with which 99 % of the frames are consumed within this time after the GPU began to
     * produce them, by what it measures of the running frames (some 1000 of them); `burst` is where
     * it begins. Takes it that the sides take turns on one GPU. A producer's acquire that begins a
     * burst waits on the host for `done`, and at times looks for `ready` besides, to take the time.
     * What keeps no bound at all gets a depth of 1. Default: 0. */
    uint64_t max_latency;
    /** Nonzero: each acquire asks the driver for the counter of the other side's timeline
     * (microseconds) and refuses one that nobody of the ring signaled (TIMELINE_CHANGED). A signal
     * that is submitted before its release is known only while the frame is held. */
    culv_bool check_counters;
} culv_ring_settings;

/** Default settings.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_ring_settings culv_ring_settings_init(void)
{
    culv_ring_settings s;
    memset(&s, 0, sizeof s);
    s.struct_size = sizeof s;
    return s;
}

/** What the host can do with a timeline, by the API that it came from. A function that is NULL is
 * something it cannot do; each returns CULV_OK or the error it recorded (culv_last_error_set()).
 * They are called with no lock of the ring's held that an acquire or release of the other side
 * needs, from the thread that called the ring. */
typedef struct culv_ring_timeline {
    /** CUDA's half. NULL where neither side is CUDA on a stream of Culvert's. */
    culv_semaphore *semaphore;
    /** The counter now. Required for MAILBOX, max_latency, check_counters; makes waits rarer where
     * it is there. */
    culv_result (*value)(void *context, uint64_t *out);
    /** Waits until the counter has reached value: TIMEOUT after `timeout` nanoseconds (0: asks
     * only). A long wait is asked for in pieces. Required for a lead, max_latency (`done`) and
     * culv_ring_drain() (both). */
    culv_result (*wait)(void *context, uint64_t value, uint64_t timeout);
    /** Signals from the host: what frees a GPU that waits for a side that will never signal. */
    culv_result (*signal)(void *context, uint64_t value);
    void *context;
    const char *name; /**< For messages, copied (up to 31 bytes). Default: "ready" and "done". */
} culv_ring_timeline;

/** A ring of the caller's own slots and timelines. */
typedef struct culv_ring_desc {
    size_t struct_size; /**< Set by culv_ring_desc_init(). */
    uint32_t max_depth; /**< Required: slots that the caller made, 1 to CULV_RING_MAX_DEPTH. */
    /** Read during the call. NULL: FIFO, all slots, bursts of 1. */
    const culv_ring_settings *settings;
    culv_ring_timeline ready; /**< Required. */
    culv_ring_timeline done;  /**< Required, another one. */
    /** The counters' values now: the first signals are higher. */
    uint64_t ready_value;
    uint64_t done_value;
    const char *label; /**< Copied (up to 63 bytes). Appears in messages. Default: none. */
} culv_ring_desc;

/** Returns a default descriptor.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_ring_desc culv_ring_desc_init(void)
{
    culv_ring_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    return d;
}

/** A side's turn with a slot. */
typedef struct culv_ring_frame {
    uint64_t number; /**< Counts what the producer released, from 0. */
    /** Of the other side's timeline, to be waited for before the slot is touched. 0: nothing (an
     * earlier frame of the burst waited for it, or nobody used the slot yet). */
    uint64_t wait_value;
    /** Of this side's timeline, to be signaled after the last use. 0: nothing (a later frame of
     * the burst signals for it). Valid once released: culv_ring_release() sets it. */
    uint64_t signal_value;
    uint64_t skipped;       /**< MAILBOX, consumer: frames since the last one that it never got. */
    uint32_t slot;          /**< 0 to depth - 1. */
    culv_bool repeated;     /**< MAILBOX, consumer: nonzero for the same frame as before. */
    culv_bool burst_begins; /**< Nonzero for the first of a burst: the one that waits. */
    culv_bool burst_ends;   /**< Nonzero for the last: the one that signals. */
} culv_ring_frame;

/** What a ring has done. */
typedef struct culv_ring_stats {
    size_t struct_size; /**< Set by culv_ring_stats_init(). */
    uint64_t produced;  /**< Frames released by the producer. */
    uint64_t consumed;  /**< Frames released by the consumer (of MAILBOX, `again` not counted). */
    uint64_t skipped;   /**< Frames that were written over or passed by. */
    uint64_t producer_waits, consumer_waits; /**< Acquires that waited on the host. */
    uint64_t ready_signaled, done_signaled;  /**< Values that were handed out to be signaled. */
    uint32_t depth, burst;                   /**< In use now, also where max_latency chose them. */
    uint64_t frame_time; /**< Nanoseconds from frame to frame, measured with max_latency; else 0. */
} culv_ring_stats;

/** Empty statistics with their struct_size set.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_ring_stats culv_ring_stats_init(void)
{
    culv_ring_stats s;
    memset(&s, 0, sizeof s);
    s.struct_size = sizeof s;
    return s;
}

/** Makes a ring on the caller's slots and timelines, of `device`. Calls no driver.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, VALUE: a depth, a burst, a policy, a timeline
 * without the functions that the settings need; DEVICE_MISMATCH: a semaphore of another device),
 * OUT_OF_MEMORY.
 * Ownership: the timelines stay yours and outlive *out, which is yours, for culv_ring_destroy().
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_ring_create(culv_device *device, const culv_ring_desc *desc,
                                         culv_ring **out);

/** Gives the ring up and sets *ring to NULL; NULL, or a pointer to NULL, is a no-op. Who still
 * waits in culv_ring_acquire() is woken and refused (RING_STOPPED); but one that got its frame
 * right then would use a ring that is gone, so end both sides first. Waits for no GPU: the slots
 * may go when culv_ring_drain() said so.
 * Errors: none.
 * Ownership: *ring is Culvert's again.
 * Threads: any, after the last call of either side.
 * Since: 0.1 */
CULV_EXPORT void culv_ring_destroy(culv_ring **ring);

/** A side takes its next slot; `timeout` nanoseconds are what the host may wait for the other side
 * to submit (0: not at all). Blocks without polling. The caller then has its queue wait for
 * out->wait_value of the other side's timeline. Allocates nothing.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: no such side; RING_ORDER: this side holds a frame;
 * RING_SIDE: another thread is in a call of this side), TIMEOUT (RING_FULL, RING_EMPTY, RING_LATE:
 * the message names the timeline, the value, who signaled last and the side that is late), ASYNC
 * (RING_STOPPED, DEVICE_LOST, TIMELINE_CHANGED).
 * Ownership: the slot is the caller's until culv_ring_release() or culv_ring_cancel().
 * Threads: one at a time for a side.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_ring_acquire(culv_ring *ring, culv_ring_side side, uint64_t timeout,
                                          culv_ring_frame *out);

/** A side gives its slot on. Sets frame->signal_value: the caller submits a signal of this side's
 * timeline with it, after the last use of the slot. Call it, with the same frame, right before that
 * submission, or after it where the signal is known (signal_value is foreseeable: burst_ends says
 * whether it is 0). Allocates nothing.
 * Errors: INVALID (NULL_ARGUMENT; RING_ORDER: not the frame that this side acquired; RING_SIDE),
 * ASYNC (RING_STOPPED).
 * Ownership: the slot is the other side's.
 * Threads: one at a time for a side.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_ring_release(culv_ring *ring, culv_ring_side side,
                                          culv_ring_frame *frame);

/** A side gives its slot back as it was: the producer's frame never was, the consumer gets the
 * frame again (of MAILBOX, or a newer one). Of a burst's first frame, the burst begins anew.
 * Errors: as culv_ring_release().
 * Ownership: as it was.
 * Threads: one at a time for a side.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_ring_cancel(culv_ring *ring, culv_ring_side side,
                                         culv_ring_frame *frame);

/** Ends a burst before it is full: what this side released is handed over now. *signal_value is
 * what the caller signals on this side's timeline after its last use of those slots; 0: nothing is
 * open. On a CUDA side use culv_ring_flush_on().
 * Errors: INVALID (NULL_ARGUMENT, RING_ORDER: this side holds a frame; RING_SIDE), ASYNC
 * (RING_STOPPED).
 * Ownership: none.
 * Threads: one at a time for a side.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_ring_flush(culv_ring *ring, culv_ring_side side,
                                        uint64_t *signal_value);

/** culv_ring_acquire() for a CUDA side: makes `stream` wait as well. After an error nothing was
 * acquired.
 * Errors: as culv_ring_acquire() and culv_semaphore_wait(); INVALID (NULL_ARGUMENT: the timelines
 * have no CUDA half).
 * Ownership: as culv_ring_acquire().
 * Threads: one at a time for a side.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_ring_acquire_on(culv_ring *ring, culv_ring_side side, CUstream stream,
                                             uint64_t timeout, culv_ring_frame *out);

/** culv_ring_release() for a CUDA side: makes `stream` signal as well. After an error the frame is
 * still held.
 * Errors: as culv_ring_release() and culv_semaphore_signal().
 * Ownership: as culv_ring_release().
 * Threads: one at a time for a side.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_ring_release_on(culv_ring *ring, culv_ring_side side, CUstream stream,
                                             culv_ring_frame *frame);

/** culv_ring_flush() for a CUDA side: makes `stream` signal as well.
 * Errors: as culv_ring_flush() and culv_semaphore_signal().
 * Ownership: none.
 * Threads: one at a time for a side.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_ring_flush_on(culv_ring *ring, culv_ring_side side, CUstream stream);

/** Changes how frames flow, from each side's next burst on. A smaller depth takes effect as slots
 * come free. Between FIFO and MAILBOX nothing is lost but what MAILBOX skips.
 * Errors: as culv_ring_create().
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_ring_configure(culv_ring *ring, const culv_ring_settings *settings);

/** Waits on the host until the GPU work of all that was handed over is done: the GPU then uses no
 * slot; frames that are ready stay so. With `force`, where that is not so after `timeout`
 * nanoseconds, signals from the host in place of the side that is late, and of the other one if it
 * is still late then, so that whoever waits for it goes on (over contents that are not right).
 * Where it had to, or a side held a frame or had a burst open, the ring goes on from empty slots,
 * and what was held is so no more.
 * Errors: TIMEOUT (RING_LATE: the message names the timeline, the value, who signaled last and the
 * side that is late), UNSUPPORTED (NO_FORCE: the host cannot signal that timeline), BUSY
 * (RING_ORDER: without `force`, a side holds a frame or has a burst open), INVALID (NULL_ARGUMENT;
 * VALUE: a timeline without `wait`; RING_SIDE: a side is in a call), ASYNC.
 * Ownership: none.
 * Threads: any, while neither side is in a call.
 * Since: 0.1.
 * Source: Vulkan specification, vkSignalSemaphore; a timeline only grows, so that what the late
 * side signals later must be dropped with its device. */
CULV_EXPORT culv_result culv_ring_drain(culv_ring *ring, uint64_t timeout, int force);

/** CUDA's half of a side's timeline, for graphs (culv_graph_add_signal(),
 * culv_graph_exec_set_wait()): with culv_ring_acquire() and culv_ring_release(), whose values it is
 * given. NULL where there is none, or no ring.
 * Errors: none.
 * Ownership: that of culv_ring_timeline::semaphore.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_semaphore *culv_ring_semaphore(const culv_ring *ring, culv_ring_side side);

/** Fills out with what the ring has done.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE).
 * Ownership: the copy is yours.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_ring_get_stats(const culv_ring *ring, culv_ring_stats *out);

CULV_EXTERN_C_END

#endif
