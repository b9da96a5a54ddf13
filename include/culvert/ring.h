/* SPDX-License-Identifier: MIT */
/* Culvert: a ring of shared frames between one producer and one consumer. Each side is CUDA or a
 * graphics API.
 *
 * The ring hands out slots, 0 to depth - 1. It says whose turn it is, which values of two timelines
 * to wait for and to signal, and what happens when a side is late. You decide what a slot is made
 * of; culvert/vulkan_ring.h makes Vulkan's slots.
 *
 *   producer: acquire -> wait for wait_value, write the slot, signal signal_value -> release
 *   consumer: acquire -> wait for wait_value, read the slot, signal signal_value -> release
 *
 * Each side has a timeline that only it signals: the producer signals `ready`, the consumer signals
 * `done`. Acquire and release put the submissions in order. The GPUs wait for each other through
 * the timelines, and the host waits for neither GPU. A CUDA side makes one call for each arrow:
 *
 *   culv_ring_acquire_on(ring, CULV_RING_PRODUCER, stream, timeout, &frame);
 *   kernel<<<..., stream>>>(slots[frame.slot]);
 *   culv_ring_release_on(ring, CULV_RING_PRODUCER, stream, &frame); */
#ifndef CULV_RING_H_
#define CULV_RING_H_

#include "semaphore.h"

CULV_EXTERN_C_BEGIN

/** Opaque: a ring. Each side is used by one thread at a time. The two sides may be two threads or
 * one. A thread that is cancelled (pthread_cancel) while it waits in a call ends after the call,
 * not in it. So give your waits a timeout, or wake them with culv_ring_stop(). */
typedef struct culv_ring culv_ring;

/** Maximum number of slots of a ring. */
#define CULV_RING_MAX_DEPTH 64
/** A timeout without end. Timeouts are in nanoseconds. */
#define CULV_RING_FOREVER UINT64_MAX

typedef enum culv_ring_side {
    CULV_RING_PRODUCER = 0, /**< Writes the frames and signals `ready`. */
    CULV_RING_CONSUMER = 1, /**< Reads the frames and signals `done`. */
    CULV_RING_SIDE_FORCE32 = 0x7fffffff
} culv_ring_side;

typedef enum culv_ring_policy {
    /** Every frame arrives, in order. A producer that is ahead waits on the host for a slot. A
     * consumer that is ahead waits on the host for a frame. */
    CULV_RING_FIFO = 0,
    /** The newest frame wins. The consumer gets the newest frame whose GPU work is done. When there
     * is no newer one it gets the last one again, so it waits only for the first frame. The
     * producer overwrites frames that nobody reads and waits for no reader.
     *
     * The newest finished frame must stay readable. So when no other slot is left, the producer's
     * acquire waits on the host until one of its own frames is done (it waits for `ready`; without
     * that wait a consumer that asks seldom may find nothing new).
     *
     * The depth must be at least 3. Add one to keep the producer's next frame queued while it
     * writes one. Add one more for each frame beyond the first that the consumer has in flight. An
     * acquire asks the driver for a timeline's counter: mostly `ready` on the consumer's side and
     * `done` on the producer's. Bursts are always 1. */
    CULV_RING_MAILBOX = 1,
    CULV_RING_POLICY_FORCE32 = 0x7fffffff
} culv_ring_policy;

/** When a side's queue or stream is told to wait for the other side's signal. */
typedef enum culv_ring_waits {
    /** SIGNAL_FIRST for a consumer of a graphics API on Windows, QUEUED otherwise. */
    CULV_RING_WAITS_DEFAULT = 0,
    /** The queue waits on the GPU, maybe for a signal that the other side has not reached yet. The
     * host runs ahead of both. */
    CULV_RING_WAITS_QUEUED = 1,
    /** Acquire waits on the host until the other side has reached its signal, so that no queue
     * waits for it. The GPU then runs one side's work to its end before it begins the other's.
     * For a queue that presents: on Windows a queue that waits for a signal at Present can lock the
     * desktop (KhronosGroup/Vulkan-Samples issue 588). Frames still overlap where the ring is two
     * or more slots deep. */
    CULV_RING_WAITS_SIGNAL_FIRST = 2,
    CULV_RING_WAITS_FORCE32 = 0x7fffffff
} culv_ring_waits;

/** Who chooses what makes frames faster or slower: the number of slots, the length of a burst, and
 * whether the host waits in place of CUDA's stream. */
typedef enum culv_ring_way {
    CULV_RING_WAY_AS_SET = 0, /**< The settings do. */
    /** FIFO: the ring does, by its own frames. It needs `wait` of `done`.
     *
     * It tries 1, 2, 3 and `depth` slots; bursts of 2, 4, 8 ... up to `burst` (depth is burst
     * then); and, where `cuda_waits` is DEFAULT and both timelines have `wait`, the host in place
     * of CUDA's stream with each number of slots above 1. Each way has 30 ms, 4 frames or 4 bursts
     * (2 where they take 90 ms), whichever is longest, after 100 ms for warming up; short ones that
     * are about as fast as the best get 60 ms more. It keeps the fastest. Of ways that are within
     * 1 % of the fastest it keeps the one with the youngest frames. With `max_latency` it keeps the
     * fastest way whose frames are within that time (depth times the time of a frame), and one slot
     * where none is.
     *
     * It tries again when frames take half as long again as when it chose, or two thirds as long.
     * No frame is lost or changes its order while it tries. Each choice is logged (INFO) with what
     * every way took, and culv_ring_get_stats() tells it.
     *
     * A producer that is ahead of the consumer's host gets fewer slots than it would get without
     * AUTO. Where one thread drives both sides, or a producer waits for 100 ms, the ring gives one
     * slot more and tries fewer slots no more. */
    CULV_RING_WAY_AUTO = 1,
    CULV_RING_WAY_FORCE32 = 0x7fffffff
} culv_ring_way;

/** How frames flow. You may change it while they flow, with culv_ring_configure(). Zero means the
 * default. */
typedef struct culv_ring_settings {
    size_t struct_size;      /**< Set by culv_ring_settings_init(). */
    culv_ring_policy policy; /**< Default: FIFO. */
    /** Number of slots in use, at most culv_ring_desc::max_depth. Default: all of them. */
    uint32_t depth;
    /** FIFO: number of frames that a side hands over together. A GPU with one engine for graphics
     * and compute then switches once per burst instead of once per frame. At most depth. A
     * producer's burst begins when there are free slots for all of it; right after a flush, one
     * free slot is enough. A consumer's burst is made of the frames that are ready. Default: 1. */
    uint32_t burst;
    /** Maximum number of frames that may be queued ahead of the consumer's GPU. It keeps a program
     * without back-pressure of its own from queueing work without end. When it is reached, acquire
     * blocks until up to half of them have completed, so that not every acquire asks the driver.
     * With MAILBOX it limits only the consumer. The limit is never more than 255 hand-overs; a
     * burst is one hand-over. Default: 2 x depth; unlimited when the host cannot wait on `done`. */
    uint32_t max_frames_in_flight;
    /** FIFO: when nonzero, a bound in nanoseconds, and the ring chooses depth and burst itself.
     * Both become the same number: the largest with which 99 % of the frames are consumed within
     * this time after the GPU began to produce them. The ring measures about 1000 running frames to
     * find it, and starts at `burst`. It assumes that the two sides take turns on one GPU. A
     * producer's acquire that begins a burst waits on the host for `done`, and sometimes also
     * checks `ready` to take the time. When no number keeps the bound, the depth is 1. Default: 0,
     * off. */
    uint64_t max_latency;
    /** Nonzero: each acquire asks the driver for the counter of the other side's timeline (this
     * takes microseconds). It fails with TIMELINE_CHANGED when neither side of the ring signaled
     * that value. A signal that is submitted before its release is recognized only while the frame
     * is held. Default: 0. */
    culv_bool check_counters;
    /** When CUDA's stream is told to wait, by culv_ring_acquire_on(). SIGNAL_FIRST needs `wait` of
     * both timelines; docs/waits.md says what it costs, and when to take it. A graphics
     * API's side has this setting in its own descriptor. Default: QUEUED. */
    culv_ring_waits cuda_waits;
    culv_ring_way way; /**< Default: AS_SET. */
} culv_ring_settings;

/** culv_ring_settings_init(): struct_size is set, all else is 0. */
CULV_INIT(culv_ring_settings)

/** What the host can do with a timeline, given by the API that it came from. Leave a function NULL
 * when the host cannot do that. Each function returns CULV_OK, or the error that it recorded with
 * culv_last_error_set(). The ring calls them from the thread that called the ring. It then holds no
 * lock that an acquire or release of the other side needs. */
typedef struct culv_ring_timeline {
    /** CUDA's half of the timeline. NULL when neither side is a CUDA stream used through
     * Culvert. */
    culv_semaphore *semaphore;
    /** Gets the counter's present value. Required for MAILBOX, max_latency and check_counters.
     * Otherwise optional; it makes waits rarer. */
    culv_result (*value)(void *context, uint64_t *out);
    /** Waits until the counter has reached `value`, and returns TIMEOUT after `timeout` nanoseconds
     * (0: it only asks). The ring splits a long wait into pieces. Required of `done` for
     * max_frames_in_flight and max_latency, and of both timelines for culv_ring_drain(). */
    culv_result (*wait)(void *context, uint64_t value, uint64_t timeout);
    /** Signals from the host. It frees a GPU that waits for a side which will never signal. When it
     * is NULL or fails, CUDA signals `semaphore` instead. */
    culv_result (*signal)(void *context, uint64_t value);
    void *context;
    /** Name for messages. Copied (up to 31 bytes). Default: "ready" and "done". */
    const char *name;
} culv_ring_timeline;

/** A ring on your own slots and timelines. */
typedef struct culv_ring_desc {
    size_t struct_size; /**< Set by culv_ring_desc_init(). */
    /** Required: the number of slots that you made, 1 to CULV_RING_MAX_DEPTH. */
    uint32_t max_depth;
    /** Read during the call. NULL: FIFO, all slots, bursts of 1. */
    const culv_ring_settings *settings;
    culv_ring_timeline ready; /**< Required. */
    culv_ring_timeline done;  /**< Required: another timeline than `ready`. */
    /** The present values of the counters. The first signals are higher. */
    uint64_t ready_value;
    uint64_t done_value;
    const char *label; /**< Copied (up to 63 bytes). Appears in messages. Default: none. */
} culv_ring_desc;

/** culv_ring_desc_init(): struct_size is set, all else is 0. */
CULV_INIT(culv_ring_desc)

/** One slot, while a side has it. */
typedef struct culv_ring_frame {
    /** Number of the frame: counts the frames that the producer released, from 0. */
    uint64_t number;
    /** The value of the other side's timeline to wait for before you touch the slot. 0: wait for
     * nothing, because an earlier frame of the burst waited or because nobody has used the slot
     * yet. */
    uint64_t wait_value;
    /** The value of this side's timeline to signal after the last use. 0: signal nothing, because a
     * later frame of the burst does. Valid after culv_ring_release(), which sets it. */
    uint64_t signal_value;
    /** MAILBOX, consumer: number of frames skipped since the last frame that it got. */
    uint64_t skipped;
    uint32_t slot;      /**< The slot, 0 to depth - 1. */
    culv_bool repeated; /**< MAILBOX, consumer: nonzero when this is the same frame as before. */
    culv_bool burst_begins; /**< Nonzero for the first frame of a burst: it waits. */
    culv_bool burst_ends;   /**< Nonzero for the last frame of a burst: it signals. */
} culv_ring_frame;

/** What a ring has done so far. */
typedef struct culv_ring_stats {
    size_t struct_size; /**< Set by culv_ring_stats_init(). */
    uint64_t produced;  /**< Frames that the producer released. */
    /** Frames that the consumer released. Repeated frames of MAILBOX do not count. */
    uint64_t consumed;
    uint64_t skipped;                        /**< Frames that were overwritten or passed over. */
    uint64_t producer_waits, consumer_waits; /**< Number of acquires that waited on the host. */
    /** Number of values that were handed out to be signaled. */
    uint64_t ready_signaled, done_signaled;
    /** The values in use now. With max_latency or AUTO, those that the ring chose. A burst is never
     * longer than the depth. */
    uint32_t depth, burst;
    /** Nanoseconds from frame to frame. Measured with max_latency, and when AUTO chose; otherwise
     * 0. */
    uint64_t frame_time;
    culv_ring_waits cuda_waits; /**< In use now: QUEUED or SIGNAL_FIRST. */
    culv_bool tries;            /**< Nonzero while AUTO has not chosen yet. */
} culv_ring_stats;

/** culv_ring_stats_init(): struct_size is set, all else is 0. */
CULV_INIT(culv_ring_stats)

/** Makes a ring of `device` on your slots and timelines. Calls no driver.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; VALUE: a depth, a burst, a policy, or a timeline
 * that lacks the functions that the settings need; DEVICE_MISMATCH: a semaphore of another device),
 * OUT_OF_MEMORY.
 * Ownership: the timelines stay yours and must outlive *out. *out is yours; give it to
 * culv_ring_destroy().
 * Threads: any. */
CULV_EXPORT culv_result culv_ring_create(culv_device *device, const culv_ring_desc *desc,
                                         culv_ring **out);

/** Destroys the ring and sets *ring to NULL. NULL, or a pointer to NULL, is a no-op.
 *
 * A side that still waits in culv_ring_acquire() wakes up and gets RING_STOPPED. But a side that
 * gets its frame at that very moment would use a ring that is gone, so end both sides first
 * (culv_ring_stop()). The call waits for no GPU: free the slots after culv_ring_drain() has
 * succeeded.
 * Errors: INVALID (OWNED: it is the core of an API's ring (culv_vk_ring_core()); nothing happens,
 * and the pointer keeps its value).
 * Ownership: *ring is Culvert's again.
 * Threads: any, after the last call of either side. */
CULV_EXPORT culv_result culv_ring_destroy(culv_ring **ring);

/** Takes the side's next slot. The host waits up to `timeout` nanoseconds for the other side to
 * submit (0: it does not wait). It blocks without polling. Afterwards make your queue wait for
 * out->wait_value of the other side's timeline. Allocates nothing.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: there is no such side; RING_ORDER: this side holds a
 * frame; RING_SIDE: another thread is in a call of this side), TIMEOUT (RING_FULL, RING_EMPTY,
 * RING_LATE: the message names the timeline, the value, the side that signaled last and the side
 * that is late), ASYNC (RING_STOPPED, DEVICE_LOST, TIMELINE_CHANGED).
 * Ownership: the slot is yours until culv_ring_release() or culv_ring_cancel().
 * Threads: one at a time for each side. */
CULV_EXPORT culv_result culv_ring_acquire(culv_ring *ring, culv_ring_side side, uint64_t timeout,
                                          culv_ring_frame *out);

/** Hands the side's slot to the other side, and sets frame->signal_value. Then submit a signal of
 * this side's timeline with that value, after the last use of the slot.
 *
 * Call it right before that submission, with the frame that you acquired. You may also call it
 * after the submission, because the value is foreseeable: burst_ends says whether it is 0.
 * Allocates nothing.
 * Errors: INVALID (NULL_ARGUMENT; RING_ORDER: this side did not acquire that frame, or the API
 * keeps frames of its burst (culv_vk_ring_submit()); RING_SIDE), ASYNC (RING_STOPPED).
 * Ownership: the slot belongs to the other side.
 * Threads: one at a time for each side. */
CULV_EXPORT culv_result culv_ring_release(culv_ring *ring, culv_ring_side side,
                                          culv_ring_frame *frame);

/** Tells the ring that the submission of a frame failed after culv_ring_release() had handed the
 * frame over. The side then holds the frame again. The other side may have the slot by now, and its
 * GPU work waits for frame->signal_value. So submit the frame's work once more: call
 * culv_ring_release(), which sets the same signal_value, and submit. culv_ring_cancel() is refused.
 * A side that cannot submit any more ends the wait by culv_ring_drain() with `force`; when its
 * device is lost, say so (culv_vk_device_lost()) or stop the ring (culv_ring_stop()).
 *
 * Only for the frame that the side released last, before its next acquire. Calls that submit by
 * themselves (culv_ring_release_on(), culv_vk_ring_submit()) release nothing when they fail.
 * Errors: INVALID (NULL_ARGUMENT; RING_ORDER: the side released another frame last, or holds one;
 * RING_SIDE), ASYNC (RING_STOPPED).
 * Ownership: the side must release the frame again.
 * Threads: one at a time for each side. */
CULV_EXPORT culv_result culv_ring_submit_failed(culv_ring *ring, culv_ring_side side,
                                                culv_ring_frame *frame);

/** Gives the side's slot back as if it had not been acquired. The producer's frame never existed.
 * The consumer gets the frame again; with MAILBOX it may get a newer one. When the frame was the
 * first of a burst, the burst begins again.
 * Errors: as culv_ring_release().
 * Ownership: as before the acquire.
 * Threads: one at a time for each side. */
CULV_EXPORT culv_result culv_ring_cancel(culv_ring *ring, culv_ring_side side,
                                         culv_ring_frame *frame);

/** Ends a burst before it is full and hands over what this side has released. Sets *signal_value to
 * the value to signal on this side's timeline after the last use of those slots. 0: no burst is
 * open. On a CUDA side use culv_ring_flush_on(). On the side of an API that keeps frames of the
 * burst use its own call (culv_vk_ring_flush()).
 * Errors: INVALID (NULL_ARGUMENT; RING_ORDER: this side holds a frame, or the API keeps frames of
 * the burst; RING_SIDE), ASYNC (RING_STOPPED).
 * Threads: one at a time for each side. */
CULV_EXPORT culv_result culv_ring_flush(culv_ring *ring, culv_ring_side side,
                                        uint64_t *signal_value);

/** culv_ring_acquire() for a CUDA side. It also makes `stream` wait. It is CUDA's call on the core
 * of every ring: culv_vk_ring_core(), culv_gl_ring_core(), culv_d3d12_ring_core(),
 * culv_ipc_ring_core(), culv_ipc_consumer_core(). OpenGL's may also map or copy. After an error
 * nothing is acquired.
 * Errors: as culv_ring_acquire() and culv_semaphore_wait(); INVALID (NULL_ARGUMENT: the timelines
 * lack a CUDA half; RING_SIDE: the side is the one of the ring's API).
 * Ownership: as culv_ring_acquire().
 * Threads: one at a time for each side. */
CULV_EXPORT culv_result culv_ring_acquire_on(culv_ring *ring, culv_ring_side side, CUstream stream,
                                             uint64_t timeout, culv_ring_frame *out);

/** culv_ring_release() for a CUDA side. It also makes `stream` signal. After an error the side
 * still holds the frame.
 * Errors: as culv_ring_release() and culv_semaphore_signal().
 * Ownership: as culv_ring_release().
 * Threads: one at a time for each side. */
CULV_EXPORT culv_result culv_ring_release_on(culv_ring *ring, culv_ring_side side, CUstream stream,
                                             culv_ring_frame *frame);

/** culv_ring_flush() for a CUDA side. It also makes `stream` signal.
 * Errors: as culv_ring_flush() and culv_semaphore_signal().
 * Threads: one at a time for each side. */
CULV_EXPORT culv_result culv_ring_flush_on(culv_ring *ring, culv_ring_side side, CUstream stream);

/** Changes how frames flow. Each side follows the new settings from its next burst on. A smaller
 * depth takes effect as slots become free. A change between FIFO and MAILBOX loses no frame, except
 * those that MAILBOX skips.
 * Errors: as culv_ring_create().
 * Threads: any. */
CULV_EXPORT culv_result culv_ring_configure(culv_ring *ring, const culv_ring_settings *settings);

/** Waits on the host until the GPU has finished everything that was handed over. The GPU then uses
 * no slot, and frames that are ready stay ready. It also works when the ring is stopped; frames
 * that a side holds do not matter then.
 *
 * With `force`, when this takes longer than `timeout` nanoseconds, the host signals in place of the
 * side that is late, and then in place of the other side if that is still late. Whoever waits then
 * goes on, with contents that are not right. When the call had to signal, or when a side held a
 * frame or had a burst open, the ring goes on with empty slots and nothing is held any more.
 *
 * When a device is lost, the side whose device lives signals: the host by the graphics API when
 * CUDA's context is lost, and CUDA, on a stream of the call's own, when the graphics device is
 * lost. CULV_OK then says that nobody waits for the lost side. The ring stays stopped.
 * Errors: TIMEOUT (RING_LATE: the message names the timeline, the value, the side that signaled
 * last and the side that is late), UNSUPPORTED (NO_FORCE: neither the host nor CUDA can signal that
 * timeline), BUSY (RING_ORDER: without `force`, a side holds a frame or has a burst open), INVALID
 * (NULL_ARGUMENT; VALUE: a timeline lacks `wait`; RING_SIDE: a side is in a call), ASYNC
 * (DEVICE_LOST; RING_STOPPED: culv_ring_stop() was called meanwhile).
 * Threads: any, while neither side is in a call.
 * Source: Vulkan specification, vkSignalSemaphore. A timeline only grows, so what the late side
 * would signal later must be dropped together with its device. */
CULV_EXPORT culv_result culv_ring_drain(culv_ring *ring, uint64_t timeout, culv_bool force);

/** Stops the ring for both sides, for good. A side that waits in culv_ring_acquire(), with a
 * timeout or without one, wakes up and gets RING_STOPPED; so does culv_ring_drain(). Later calls of
 * either side get RING_STOPPED too. It waits for nothing and calls no driver, so it works when a
 * device is lost. A second call does nothing.
 *
 * Call it to end threads that sleep in the ring. When they have ended, call culv_ring_drain(),
 * which a stopped ring still allows, and destroy the ring. It works on the core of an API's ring,
 * too. It does not free GPU work that waits: culv_ring_drain() with `force` does, and
 * culv_vk_device_lost().
 * Errors: INVALID (NULL_ARGUMENT).
 * Ownership: none; the ring stays yours.
 * Threads: any, also while other threads are in calls of the ring. */
CULV_EXPORT culv_result culv_ring_stop(culv_ring *ring);

/** Returns CUDA's half of a side's timeline, for graphs (culv_graph_add_signal(),
 * culv_graph_exec_set_wait()). Use it with the values of culv_ring_acquire() and
 * culv_ring_release(). NULL when the timeline lacks a CUDA half, or for NULL.
 * Ownership: whoever owns culv_ring_timeline::semaphore owns it.
 * Threads: any. */
CULV_EXPORT culv_semaphore *culv_ring_semaphore(const culv_ring *ring, culv_ring_side side);

/** Fills *out with what the ring has done.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE).
 * Ownership: the copy is yours.
 * Threads: any. */
CULV_EXPORT culv_result culv_ring_get_stats(const culv_ring *ring, culv_ring_stats *out);

CULV_EXTERN_C_END

#endif
