/* SPDX-License-Identifier: MIT */
/* Culvert: a ring of shared frames between one producer and one consumer. Each side is CUDA or a
 * graphics API.
 *
 * The ring hands out slots, 0 to depth - 1. It says whose turn it is, which values of two timelines
 * to wait for and to signal, and what happens if a side is late.
 *
 * A ring with slots and timelines of a graphics API is made by culv_vk_ring_create()
 * (culvert/vulkan_ring.h), culv_gl_ring_create() or culv_d3d12_ring_create(), one between processes
 * by culv_ipc_ring_create() and culv_ipc_ring_join() (culvert/ipc_ring.h), and one on slots and
 * timelines of your own by culv_ring_create(). The calls of this header serve all of them.
 *
 *   producer: acquire -> wait for wait_value, write the slot, signal signal_value -> release
 *   consumer: acquire -> wait for wait_value, read the slot, signal signal_value -> release
 *
 * Each side has a timeline that only it signals: the producer signals `ready`, the consumer signals
 * `done`. Acquire and release put the submissions in order. The GPUs wait for each other through
 * the timelines, and the host waits for neither GPU. On a CUDA side, acquire and release also wait
 * and signal:
 *
 *   culv_ring_acquire_on(ring, CULV_RING_PRODUCER, stream, timeout, &frame);
 *   kernel<<<..., stream>>>(culv_ring_pointer(ring, frame.slot, 0));
 *   culv_ring_release_on(ring, CULV_RING_PRODUCER, stream, &frame); */
#ifndef CULV_RING_H_
#define CULV_RING_H_

#include "shared.h"

CULV_EXTERN_C_BEGIN

/** Opaque: a ring. Each side is used by one thread at a time. The two sides may be two threads or
 * one. If a thread is cancelled (pthread_cancel) while it waits in a call, it ends after the call.
 * So give your waits a timeout, or wake them with culv_ring_stop(). */
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
    /** The newest frame wins. The consumer gets the newest frame whose GPU work is done. If there
     * is no newer one, it gets the last one again, so it waits only for the first frame. The
     * producer overwrites frames that nobody reads, and never waits for a reader.
     *
     * The newest finished frame must stay readable. So if no other slot is left, the producer's
     * acquire waits on the host for `ready`, until one of its own frames is done. Without that wait
     * a consumer that asks seldom might find nothing new.
     *
     * The depth must be at least 3. Add one to keep the producer's next frame queued while it
     * writes one. Add one more for each frame beyond the first that the consumer has in flight.
     * Each acquire asks the driver for the counter of a timeline. `burst` is ignored. */
    CULV_RING_MAILBOX = 1,
    CULV_RING_POLICY_FORCE32 = 0x7fffffff
} culv_ring_policy;

/** The time at which a side's queue or stream is told to wait for the other side's signal. */
typedef enum culv_ring_waits {
    /** SIGNAL_FIRST for a consumer of a graphics API on Windows, QUEUED otherwise. */
    CULV_RING_WAITS_DEFAULT = 0,
    /** The queue waits on the GPU, possibly for a signal that the other side has not reached yet.
     * The host runs ahead of both. */
    CULV_RING_WAITS_QUEUED = 1,
    /** Acquire waits on the host until the other side has reached its signal, so that no queue
     * waits for it. The GPU then runs one side's work to its end before it begins the other's. Use
     * it for a queue that presents: on Windows a queue that waits for a signal at Present can lock
     * the desktop (KhronosGroup/Vulkan-Samples issue 588). Frames still overlap if the ring has two
     * or more slots. */
    CULV_RING_WAITS_SIGNAL_FIRST = 2,
    CULV_RING_WAITS_FORCE32 = 0x7fffffff
} culv_ring_waits;

/** The choice of what makes frames faster or slower: the number of slots, the length of a burst,
 * and whether the host waits in place of CUDA's stream. */
typedef enum culv_ring_way {
    CULV_RING_WAY_AS_SET = 0, /**< The settings choose. */
    /** FIFO: the ring measures ways while it runs and keeps the fastest. `done` must have `wait`.
     *
     * It tries 1, 2, 3 and `depth` slots; bursts of 2, 4, 8 ... up to `burst` (with as many slots);
     * and, if `cuda_waits` is DEFAULT and both timelines have `wait`, the host in place of CUDA's
     * stream with each number of slots above 1. It warms up for 100 ms. Then each way gets 30 ms, 4
     * frames or 4 bursts, whichever is longest (2 bursts if these take 90 ms), and short ones that
     * are about as fast as the best get 60 ms more. If several ways are within 1 % of the fastest,
     * it keeps the one with the youngest frames. With `max_latency` it keeps the fastest way whose
     * frames are within that time (depth times the time of a frame), or one slot if no way is.
     *
     * It tries again when frames take 1.5 times, or two thirds, of the time that they took when it
     * chose. It loses no frame and keeps their order. Each choice is logged (INFO) with the times
     * of all ways, and culv_ring_get_stats() returns it.
     *
     * A producer that is ahead of the consumer's host gets fewer slots than without AUTO. If one
     * thread drives both sides, or a producer has waited 100 ms, the ring adds a slot and stops
     * trying fewer. */
    CULV_RING_WAY_AUTO = 1,
    CULV_RING_WAY_FORCE32 = 0x7fffffff
} culv_ring_way;

/** The flow of the frames. culv_ring_configure() changes it while they flow. */
typedef struct culv_ring_settings {
    size_t struct_size;      /**< Set by culv_ring_settings_init(). */
    culv_ring_policy policy; /**< Default: FIFO. */
    /** Number of slots in use, at most culv_ring_desc::max_depth. Default: all of them. */
    uint32_t depth;
    /** FIFO: number of frames that a side hands over together, at most `depth`. A GPU with one
     * engine for graphics and compute then switches once per burst instead of once per frame. A
     * producer's burst begins when there are free slots for all of it; right after a flush, one
     * free slot is enough. A consumer's burst is made of the frames that are ready. Default: 1. */
    uint32_t burst;
    /** Maximum number of frames that may be queued ahead of the consumer's GPU. It keeps a program
     * from queueing work without end. When it is reached, acquire blocks until up to half of them
     * have completed, so that not every acquire asks the driver. With MAILBOX it limits only the
     * consumer. The limit is at most 255 hand-overs; a burst is one hand-over. Default: 2 x depth;
     * no limit if the host cannot wait on `done`. */
    uint32_t max_frames_in_flight;
    /** FIFO: a bound in nanoseconds. The ring then chooses depth and burst itself: one number for
     * both, the largest with which 99 % of the frames are consumed within this time after the GPU
     * began to produce them. It measures about 1000 running frames to find it, and starts at
     * `burst`. It assumes that the two sides take turns on one GPU. A producer's acquire that
     * begins a burst waits on the host for `done`, and sometimes also checks `ready` to take the
     * time. If no number keeps the bound, the depth is 1. Default: 0, off. */
    uint64_t max_latency;
    /** Nonzero: each acquire asks the driver for the counter of the other side's timeline (this
     * takes microseconds) and fails with TIMELINE_CHANGED if neither side of the ring signaled that
     * value. A signal that is submitted before its release is recognized only while the frame is
     * held. Default: 0. */
    culv_bool check_counters;
    /** The time at which culv_ring_acquire_on() lets CUDA's stream wait. SIGNAL_FIRST needs `wait`
     * of both timelines; docs/waits.md says what it costs and when to use it. A graphics API's side
     * has this setting in its own descriptor. Default: QUEUED. */
    culv_ring_waits cuda_waits;
    culv_ring_way way; /**< Default: AS_SET. */
} culv_ring_settings;

CULV_INIT(culv_ring_settings)

/** A timeline, with the functions of its API by which the host uses it. Leave a function NULL if
 * the host cannot do that. Each function returns CULV_OK, or the error that it recorded with
 * culv_last_error_set(). The ring calls them on the thread that called the ring, and holds no lock
 * then that an acquire or release of the other side needs. */
typedef struct culv_ring_timeline {
    /** CUDA's half of the timeline. NULL if neither side is a CUDA stream used through Culvert. */
    culv_semaphore *semaphore;
    /** Function that gets the counter's present value. Required for MAILBOX, max_latency and
     * check_counters. Otherwise optional; it makes waits rarer. */
    culv_result (*value)(void *context, uint64_t *out);
    /** Function that waits until the counter has reached `value`, and returns TIMEOUT after
     * `timeout` nanoseconds (0: only asks). The ring splits a long wait into pieces. `done` must
     * have it for max_frames_in_flight and max_latency, and both timelines for
     * culv_ring_drain(). */
    culv_result (*wait)(void *context, uint64_t value, uint64_t timeout);
    /** Function that signals from the host, to free a GPU that waits for a side which will never
     * signal. If it is NULL or fails, CUDA signals `semaphore` instead. */
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
    uint64_t ready_value; /**< The present values of the counters. The first signals are higher. */
    uint64_t done_value;
    const char *label; /**< Copied (up to 63 bytes). Appears in messages. Default: none. */
} culv_ring_desc;

CULV_INIT(culv_ring_desc)

/** One slot, while a side has it. */
typedef struct culv_ring_frame {
    /** Number of the frame: counts the frames that the producer released, from 0. */
    uint64_t number;
    /** The value of the other side's timeline to wait for before you touch the slot. 0: do not
     * wait, because an earlier frame of the burst waited or because nobody has used the slot
     * yet. */
    uint64_t wait_value;
    /** The value of this side's timeline to signal after the last use. 0: do not signal, because a
     * later frame of the burst does. culv_ring_release() sets it. */
    uint64_t signal_value;
    /** MAILBOX, consumer: number of frames skipped since the last frame that it got. */
    uint64_t skipped;
    uint32_t slot;      /**< The slot, 0 to depth - 1. */
    culv_bool repeated; /**< MAILBOX, consumer: nonzero when this is the same frame as before. */
    culv_bool burst_begins; /**< Nonzero for the first frame of a burst: it waits. */
    culv_bool burst_ends;   /**< Nonzero for the last frame of a burst: it signals. */
} culv_ring_frame;

/** The history of a ring. */
typedef struct culv_ring_stats {
    size_t struct_size; /**< Set by culv_ring_stats_init(). */
    uint64_t produced;  /**< Frames that the producer released. */
    /** Frames that the consumer released. Repeated frames of MAILBOX do not count. */
    uint64_t consumed;
    uint64_t skipped;                        /**< Frames that were overwritten or passed over. */
    uint64_t producer_waits, consumer_waits; /**< Number of acquires that waited on the host. */
    /** Number of values that were handed out to be signaled. */
    uint64_t ready_signaled, done_signaled;
    /** The settings in use now. With max_latency or AUTO, those that the ring chose. A burst is
     * never longer than the depth. */
    uint32_t depth, burst;
    /** Nanoseconds from frame to frame: measured with max_latency, and by AUTO's choice; otherwise
     * 0. */
    uint64_t frame_time;
    culv_ring_waits cuda_waits; /**< In use now: QUEUED or SIGNAL_FIRST. */
    culv_bool tries;            /**< Nonzero while AUTO has not chosen yet. */
} culv_ring_stats;

CULV_INIT(culv_ring_stats)

/** Makes a ring of `device` on your slots and timelines. Calls no driver.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; VALUE: a depth, a burst, a policy, or a timeline
 * that lacks the functions that the settings need; DEVICE_MISMATCH: a semaphore of another device),
 * OUT_OF_MEMORY.
 * Ownership: the timelines stay yours and must outlive *out. *out is yours, for
 * culv_ring_destroy().
 * Threads: any. */
CULV_EXPORT culv_result culv_ring_create(culv_device *device, const culv_ring_desc *desc,
                                         culv_ring **out);

/** Destroys the ring and all that it made.
 *
 * A side that still waits in culv_ring_acquire() wakes up and gets RING_STOPPED. But a side that
 * gets its frame at that very moment would use a destroyed ring, so end both sides first
 * (culv_ring_stop()).
 *
 * On a ring of your own slots, the call does not wait for the GPU: free the slots after
 * culv_ring_drain() has succeeded. On a graphics API's ring, that API's work must be done, or its
 * device lost; CUDA's work should be done (culv_ring_drain()): see culv_shared_buffer_destroy().
 * CUDA may still wait for a signal of the API's side that was never submitted, or was lost. Culvert
 * waits a second for it and then signals in its place. OpenGL's registered objects are unmapped.
 * Errors: after an error nothing is done, and the pointer keeps its value: INVALID (CONTEXT: it is
 * OpenGL's, and no context of its attachment is current on this thread), DRIVER (OpenGL's driver
 * refused: try again).
 * Threads: any, for OpenGL's the context's; after the last call of either side. */
CULV_EXPORT culv_result culv_ring_destroy(culv_ring **ring);

/** Does what culv_ring_destroy() does, but does not wait for CUDA's work: the ring's objects are
 * destroyed as by culv_shared_buffer_destroy_after() with `last_use`. It makes no difference for
 * OpenGL's registered objects, and for a ring of your own slots.
 * Errors: as culv_ring_destroy(). Threads: as there. */
CULV_EXPORT culv_result culv_ring_destroy_after(culv_ring **ring, CUstream last_use);

/** Returns CUDA's half of a slot's buffer, whichever API and way it came by. NULL if the resource
 * is an image or does not exist, and on a ring of your own slots.
 * Ownership: the ring's, or that of the object that you passed in. Threads: any. */
CULV_EXPORT culv_buffer *culv_ring_buffer(const culv_ring *ring, uint32_t slot, uint32_t resource);

/** Returns CUDA's half of a slot's image, likewise. If OpenGL's way is REGISTER, its arrays,
 * surfaces and textures are valid from an acquire to the release: ask again in each frame. NULL if
 * the resource is a buffer or does not exist, and on a ring of your own slots.
 * Ownership: as culv_ring_buffer(). Threads: any. */
CULV_EXPORT culv_image *culv_ring_image(const culv_ring *ring, uint32_t slot, uint32_t resource);

/** Returns the first byte of a slot's buffer in CUDA: culv_buffer_pointer() of culv_ring_buffer().
 * If OpenGL's way is REGISTER, it is valid from an acquire to the release, may differ after the
 * next acquire, and is 0 while CUDA does not have the slot. 0 where culv_ring_buffer() is NULL.
 * Ownership: as culv_ring_buffer(). Threads: any; with REGISTER those of CUDA's side. */
CULV_EXPORT CUdeviceptr culv_ring_pointer(const culv_ring *ring, uint32_t slot, uint32_t resource);

/** Returns a slot's buffer with both halves, for culv_vk_buffer_handle() and its kin. NULL if the
 * resource is an image, is registered (OpenGL) or does not exist, and on a ring of your own slots.
 * Ownership: the ring's, unless you passed it in; culv_shared_buffer_destroy() refuses the ring's
 * (OWNED).
 * Threads: any. */
CULV_EXPORT culv_shared_buffer *culv_ring_shared_buffer(const culv_ring *ring, uint32_t slot,
                                                        uint32_t resource);

/** Returns a slot's image with both halves, for culv_vk_image_handle() and its kin. NULL if the
 * resource is a buffer, is registered (OpenGL) or does not exist, and on a ring of your own slots.
 * Ownership: the ring's, unless you passed it in; culv_shared_image_destroy() refuses the ring's
 * (OWNED).
 * Threads: any. */
CULV_EXPORT culv_shared_image *culv_ring_shared_image(const culv_ring *ring, uint32_t slot,
                                                      uint32_t resource);

/** Takes the side's next slot. The host waits up to `timeout` nanoseconds for the other side to
 * submit (0: it does not wait). It does not poll. Afterwards make your queue wait for
 * out->wait_value of the other side's timeline. Allocates nothing.
 *
 * On the side of a graphics API, the call also does what that API's turn begins with. In Vulkan and
 * Direct3D 12 that is the wait of SIGNAL_FIRST; culv_vk_ring_submit() and culv_d3d12_ring_submit()
 * make the queue wait. In OpenGL, later commands of this context wait for CUDA's work. If that wait
 * is on the CPU (culv_gl_ring_waits_on_host()), `timeout` covers it too, and the call gives the
 * slot back if the time is up (RING_LATE). If OpenGL's way is STAGED, a consumer's data are copied
 * into the GL objects. On CUDA's side use culv_ring_acquire_on(); this call has no stream, so
 * OpenGL's ways REGISTER and STAGED refuse it there (RING_SIDE). After an error nothing is
 * acquired.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: there is no such side; RING_ORDER: this side holds a
 * frame; RING_SIDE: another thread is in a call of this side), TIMEOUT (RING_FULL, RING_EMPTY,
 * RING_LATE: the message names the timeline, the value, the side that signaled last and the side
 * that is late), ASYNC (RING_STOPPED, DEVICE_LOST, TIMELINE_CHANGED). On OpenGL's side also those
 * of culv_gl_semaphore_wait() and culv_gl_buffer_upload().
 * Ownership: the slot is yours until culv_ring_release() or culv_ring_cancel().
 * Threads: one at a time for each side; on OpenGL's side the context's. */
CULV_EXPORT culv_result culv_ring_acquire(culv_ring *ring, culv_ring_side side, uint64_t timeout,
                                          culv_ring_frame *out);

/** Hands the side's slot to the other side, and sets frame->signal_value. Then submit a signal of
 * this side's timeline with that value, after the last use of the slot.
 *
 * Call it right before that submission, with the frame that you acquired. You may also call it
 * after the submission, because you can predict the value: burst_ends says whether it is 0.
 * Allocates nothing.
 *
 * On Vulkan's and Direct3D 12's side it is for your own submission, and never without one;
 * culv_vk_ring_submit() and culv_d3d12_ring_submit() release and submit. On OpenGL's side it hands
 * over after the earlier commands of this context, and signals. If OpenGL's way is STAGED, a
 * producer's data are read back first, which waits for OpenGL. After an error the side still holds
 * the frame.
 * Errors: INVALID (NULL_ARGUMENT; RING_ORDER: this side did not acquire that frame, or the API
 * keeps frames of its burst (culv_vk_ring_submit()); RING_SIDE), ASYNC (RING_STOPPED). On OpenGL's
 * side also those of culv_gl_semaphore_signal() and culv_gl_buffer_download().
 * Ownership: the slot belongs to the other side. Threads: as culv_ring_acquire(). */
CULV_EXPORT culv_result culv_ring_release(culv_ring *ring, culv_ring_side side,
                                          culv_ring_frame *frame);

/** Tells the ring that the submission of a frame failed after culv_ring_release() had handed the
 * frame over. The side then holds the frame again. The other side may have the slot by now, and its
 * GPU work waits for frame->signal_value. So submit the frame's work once more: call
 * culv_ring_release(), which sets the same signal_value, and submit. culv_ring_cancel() is refused.
 * If the side cannot submit any more, end the wait by culv_ring_drain() with `force`. If its device
 * is lost, call culv_vk_device_lost() or culv_ring_stop().
 *
 * The call is for the frame that the side released last, before its next acquire. Calls that submit
 * by themselves (culv_ring_release_on(), culv_vk_ring_submit()) release nothing if they fail.
 * Errors: INVALID (NULL_ARGUMENT; RING_ORDER: the side released another frame last, or holds one;
 * RING_SIDE), ASYNC (RING_STOPPED).
 * Ownership: the side must release the frame again. Threads: one at a time for each side. */
CULV_EXPORT culv_result culv_ring_submit_failed(culv_ring *ring, culv_ring_side side,
                                                culv_ring_frame *frame);

/** Gives the side's slot back as if it had not been acquired. A producer's frame then never
 * existed. A consumer gets the frame again; with MAILBOX it may get a newer one. If the frame was
 * the first of a burst, the burst begins again.
 * Errors: as culv_ring_release().
 * Ownership: as before the acquire. Threads: one at a time for each side. */
CULV_EXPORT culv_result culv_ring_cancel(culv_ring *ring, culv_ring_side side,
                                         culv_ring_frame *frame);

/** Ends a burst before it is full and hands over what this side has released. Sets *signal_value to
 * the value to signal on this side's timeline after the last use of those slots. 0: no burst is
 * open. On a CUDA side use culv_ring_flush_on().
 *
 * On a side that hands over by culv_vk_ring_submit(), by culv_d3d12_ring_submit() or in OpenGL, the
 * call itself submits what is kept, to the queue of the last submit, and signals. Then
 * *signal_value is 0, and you may pass NULL.
 * Errors: INVALID (NULL_ARGUMENT; RING_ORDER: this side holds a frame; RING_SIDE), ASYNC
 * (RING_STOPPED); those of culv_vk_ring_submit(), culv_d3d12_ring_submit() and culv_ring_release().
 * Threads: as culv_ring_acquire(); the queue is externally synchronized. */
CULV_EXPORT culv_result culv_ring_flush(culv_ring *ring, culv_ring_side side,
                                        uint64_t *signal_value);

/** Does what culv_ring_acquire() does, for a CUDA side. It also makes `stream` wait. After an error
 * nothing is acquired. With OpenGL's ring, what this call and its kin do depends on the way
 * (culv_gl_ring_way()):
 *
 *   MEMORY    the stream waits for OpenGL's use of the slot, and signals.
 *   REGISTER  acquire maps the objects of a whole burst, and the release or the cancel that ends
 *             it unmaps them. Their thread needs a context of the attachment, and so does
 *             culv_ring_drain()'s. They have culv_registration_map()'s errors too.
 *   STAGED    a consumer's acquire brings the data to CUDA's memory, and a producer's release
 *             brings them to the host. They have the errors of culv_buffer_download() and
 *             culv_buffer_upload() too.
 *
 * Errors: as culv_ring_acquire() and culv_semaphore_wait(); INVALID (NULL_ARGUMENT: the timelines
 * lack a CUDA half; RING_SIDE: the side is the one of the ring's API).
 * Ownership: as culv_ring_acquire(). Threads: one at a time for each side. */
CULV_EXPORT culv_result culv_ring_acquire_on(culv_ring *ring, culv_ring_side side, CUstream stream,
                                             uint64_t timeout, culv_ring_frame *out);

/** Does what culv_ring_release() does, for a CUDA side. It also makes `stream` signal. After an
 * error the side still holds the frame.
 * Errors: as culv_ring_release() and culv_semaphore_signal().
 * Ownership: as culv_ring_release(). Threads: one at a time for each side. */
CULV_EXPORT culv_result culv_ring_release_on(culv_ring *ring, culv_ring_side side, CUstream stream,
                                             culv_ring_frame *frame);

/** Does what culv_ring_flush() does, for a CUDA side. It also makes `stream` signal.
 * Errors: as culv_ring_flush() and culv_semaphore_signal().
 * Threads: one at a time for each side. */
CULV_EXPORT culv_result culv_ring_flush_on(culv_ring *ring, culv_ring_side side, CUstream stream);

/** Changes how frames flow. Each side follows the new settings from its next burst on. A smaller
 * depth takes effect as slots become free. A change between FIFO and MAILBOX loses no frame, except
 * those that MAILBOX skips.
 * Errors: as culv_ring_create(). Threads: any. */
CULV_EXPORT culv_result culv_ring_configure(culv_ring *ring, const culv_ring_settings *settings);

/** Waits on the host until the GPU has finished everything that was handed over. The GPU then uses
 * no slot, and frames that are ready stay ready. It also works when the ring is stopped; frames
 * that a side holds do not matter then.
 *
 * With `force`, if this takes longer than `timeout` nanoseconds, the host signals in place of the
 * side that is late, and then in place of the other side if that is still late. The work that
 * waited then goes on, with wrong contents. If the call had to signal, or if a side held a frame or
 * had a burst open, all slots are empty afterwards and no side holds a frame.
 *
 * If CUDA's context is lost, the host signals by the graphics API. If the graphics device is lost,
 * CUDA signals on a stream of the call's own. CULV_OK then says that nothing waits for the lost
 * side. The ring stays stopped.
 * Errors: TIMEOUT (RING_LATE: the message names the timeline, the value, the side that signaled
 * last and the side that is late), UNSUPPORTED (NO_FORCE: neither the host nor CUDA can signal that
 * timeline), BUSY (RING_ORDER: without `force`, a side holds a frame or has a burst open), INVALID
 * (NULL_ARGUMENT; VALUE: a timeline lacks `wait`; RING_SIDE: a side is in a call), ASYNC
 * (DEVICE_LOST; RING_STOPPED: culv_ring_stop() was called meanwhile).
 * Threads: any, while neither side is in a call.
 * Source: Vulkan specification, vkSignalSemaphore. A timeline only grows, so the late side must not
 * signal later: destroy its device. */
CULV_EXPORT culv_result culv_ring_drain(culv_ring *ring, uint64_t timeout, culv_bool force);

/** Stops the ring for both sides, for good. A side that waits in culv_ring_acquire() or
 * culv_ring_drain() wakes up and gets RING_STOPPED. Later calls of either side get RING_STOPPED
 * too. It does not wait and calls no driver, so it works if a device is lost. A second call does
 * nothing.
 *
 * Call it to end threads that sleep in the ring. When they have ended, call culv_ring_drain(),
 * which a stopped ring still allows, and destroy the ring. It does not free GPU work that waits:
 * culv_ring_drain() with `force` and culv_vk_device_lost() do.
 * Errors: INVALID (NULL_ARGUMENT).
 * Ownership: none; the ring stays yours.
 * Threads: any, also while other threads are in calls of the ring. */
CULV_EXPORT culv_result culv_ring_stop(culv_ring *ring);

/** Returns CUDA's half of a side's timeline, for graphs (culv_graph_add_signal(),
 * culv_graph_exec_set_wait()). Use it with the values of culv_ring_acquire() and
 * culv_ring_release(). NULL when the timeline lacks a CUDA half, or for NULL.
 * Ownership: that of culv_ring_timeline::semaphore. Threads: any. */
CULV_EXPORT culv_semaphore *culv_ring_semaphore(const culv_ring *ring, culv_ring_side side);

/** Fills *out with the history of the ring.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE).
 * Ownership: the copy is yours. Threads: any. */
CULV_EXPORT culv_result culv_ring_get_stats(const culv_ring *ring, culv_ring_stats *out);

CULV_EXTERN_C_END

#endif
