/* SPDX-License-Identifier: MIT */
/* Culvert: a ring of shared frames between one producer and one consumer. Each side is CUDA or a
 * graphics API.
 *
 * The ring hands out slots, 0 to depth - 1, and the values of two timelines to wait for and to
 * signal. culv_vk_ring_create() (culvert/vulkan_ring.h), culv_gl_ring_create() and
 * culv_d3d12_ring_create() make rings with slots and timelines of their API. culv_ipc_ring_create()
 * and culv_ipc_ring_join() (culvert/ipc_ring.h) make rings between processes. culv_ring_create()
 * makes a ring of your own slots and timelines. The calls of this header serve all rings.
 *
 *   producer: acquire -> wait for wait_value, write the slot, signal signal_value -> release
 *   consumer: acquire -> wait for wait_value, read the slot, signal signal_value -> release
 *
 * Each side has a timeline that only it signals: the producer signals `ready`, the consumer signals
 * `done`. The two sides' GPU work waits for these timelines, so that the host does not have to wait
 * for it. On a CUDA side, these calls also wait and signal:
 *
 *   culv_ring_acquire_on(ring, CULV_RING_PRODUCER, stream, timeout, &frame);
 *   kernel<<<..., stream>>>(culv_ring_pointer(ring, frame.slot, 0));
 *   culv_ring_release_on(ring, CULV_RING_PRODUCER, stream, &frame); */
#ifndef CULV_RING_H_
#define CULV_RING_H_

#include "shared.h"

CULV_EXTERN_C_BEGIN

/** Opaque: a ring. One thread at a time uses a side; the same thread may use both sides. If a
 * thread is cancelled (pthread_cancel) while it waits in a call, it ends only after the call: give
 * waits a timeout, or wake them with culv_ring_stop(). */
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
    /** Every frame arrives, in order. The side that is ahead waits on the host: the producer for a
     * free slot, the consumer for a frame. */
    CULV_RING_FIFO = 0,
    /** The newest frame wins. The consumer gets the newest frame whose GPU work is done. If there
     * is no newer one, it gets the last one again, so it waits only for the first frame. The
     * producer overwrites frames that the consumer does not read, and never waits for it. It never
     * overwrites the newest finished frame. If no other slot is left, the producer's acquire waits
     * on the host until a newer frame is finished.
     *
     * The depth must be at least 3. Add one slot if the producer submits a frame while the GPU
     * still writes the previous one. If the consumer has n frames in flight, add n - 1 slots. Each
     * acquire asks the driver for the counter of a timeline. `burst` is ignored. */
    CULV_RING_MAILBOX = 1,
    CULV_RING_POLICY_FORCE32 = 0x7fffffff
} culv_ring_policy;

/** The place where a side waits for the other side's signal. */
typedef enum culv_ring_waits {
    /** SIGNAL_FIRST for a consumer of a graphics API on Windows, QUEUED otherwise. */
    CULV_RING_WAITS_DEFAULT = 0,
    /** The queue waits on the GPU, and the host runs ahead of both sides. */
    CULV_RING_WAITS_QUEUED = 1,
    /** Acquire waits on the host until the other side's signal has happened, so that no queue waits
     * for it. Use it for a queue that presents: on Windows, a queue that waits for a signal during
     * Present can lock the desktop (KhronosGroup/Vulkan-Samples issue 588). Frames still overlap if
     * the ring has two or more slots. */
    CULV_RING_WAITS_SIGNAL_FIRST = 2,
    CULV_RING_WAITS_FORCE32 = 0x7fffffff
} culv_ring_waits;

/** The flow of the frames. culv_ring_configure() changes it while they flow. */
typedef struct culv_ring_settings {
    size_t struct_size;      /**< Set by culv_ring_settings_init(). */
    culv_ring_policy policy; /**< Default: FIFO. */
    /** Number of slots in use, at most culv_ring_desc::max_depth. Default: all of them. */
    uint32_t depth;
    /** FIFO: number of frames that a side hands over together, at most `depth`, so that the GPU
     * switches between the APIs once per burst. A producer's burst begins when the whole burst has
     * free slots; right after a flush, one free slot is enough. A consumer's burst consists of the
     * frames that are ready. Default: 1. */
    uint32_t burst;
    /** Maximum number of frames that may be queued ahead of the consumer's GPU. At the limit, an
     * acquire waits until fewer frames are queued. If many are queued, it waits for half of them,
     * so that the next acquires need not ask the driver. With MAILBOX, it applies only to the
     * consumer. At most 255 bursts can be queued, whatever this limit is. Default: 2 x depth, or no
     * limit if `done` lacks `wait`. */
    uint32_t max_frames_in_flight;
    /** FIFO: a bound in nanoseconds. The ring then uses one number for both depth and burst. It
     * chooses the largest number with which 99 % of the frames are consumed within this time after
     * the GPU began to produce them. It starts at `burst`, measures about 1000 frames while they
     * run, and assumes that the two sides take turns on one GPU. A producer's acquire that begins a
     * burst waits on the host for `done`. If no number keeps the bound, the depth is 1. Default: 0
     * (off). */
    uint64_t max_latency;
    /** Place where culv_ring_acquire_on() waits (docs/waits.md). SIGNAL_FIRST needs `wait` of both
     * timelines. A graphics API's side has this setting in its own descriptor. Default: DEFAULT,
     * which is QUEUED here. */
    culv_ring_waits cuda_waits;
} culv_ring_settings;

CULV_INIT(culv_ring_settings)

/** A timeline, and the functions by which the host uses it. A function is NULL if the host cannot
 * do that. Each returns CULV_OK, or the error that it recorded with culv_last_error_set(). The ring
 * calls them on the thread that called the ring. Meanwhile it holds no lock that the other side's
 * acquire or release needs. */
typedef struct culv_ring_timeline {
    /** CUDA's half of the timeline. NULL if neither side is a CUDA stream used through Culvert. */
    culv_semaphore *semaphore;
    /** Function that gets the counter's present value. Required for MAILBOX and max_latency.
     * Otherwise it is optional and makes waits rarer. */
    culv_result (*value)(void *context, uint64_t *out);
    /** Function that waits until the counter has reached `value`, and returns TIMEOUT after
     * `timeout` nanoseconds (0: at once). The ring splits a long wait into pieces.
     * max_frames_in_flight and max_latency need it in `done`; culv_ring_drain() needs it in both
     * timelines. */
    culv_result (*wait)(void *context, uint64_t value, uint64_t timeout);
    /** Function that signals from the host, in place of a side that will never signal. If it is
     * NULL or fails, CUDA signals `semaphore` instead. */
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
    uint64_t ready_value;     /**< The counters' present values: the first signals exceed them. */
    uint64_t done_value;
    const char *label; /**< Copied (up to 63 bytes). Appears in messages. Default: none. */
} culv_ring_desc;

CULV_INIT(culv_ring_desc)

/** A frame in a slot, while a side holds it. */
typedef struct culv_ring_frame {
    /** Number of the frame: counts the frames that the producer released, from 0. */
    uint64_t number;
    /** Value of the other side's timeline to wait for before you touch the slot. 0: do not wait (an
     * earlier frame of the burst waited, or the slot was never used). */
    uint64_t wait_value;
    /** Value of this side's timeline to signal after the last use. 0: do not signal (a later frame
     * of the burst will). culv_ring_release() sets it. */
    uint64_t signal_value;
    /** MAILBOX, consumer: number of frames that were skipped since its last frame. */
    uint64_t skipped;
    uint32_t slot;          /**< The slot, 0 to depth - 1. */
    culv_bool repeated;     /**< MAILBOX, consumer: nonzero if this is the same frame as before. */
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
    /** Settings that are in use now. max_latency may have chosen them. */
    uint32_t depth, burst;
    /** Nanoseconds from frame to frame, if max_latency measures them; otherwise 0. */
    uint64_t frame_time;
} culv_ring_stats;

CULV_INIT(culv_ring_stats)

/** Makes a ring of `device` on your slots and timelines. From then on, CUDA's signals of these
 * timelines wait for earlier small writes in the stream, which they could otherwise overtake
 * (docs/ring.md, "Two CUDA sides").
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; VALUE: a depth, a burst, a policy, or a timeline
 * that lacks the functions that the settings need; DEVICE_MISMATCH: a semaphore of another device;
 * NOT_READY: the device is suspended), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: the timelines stay yours and must outlive *out. *out is yours, for
 * culv_ring_destroy(). */
CULV_EXPORT culv_result culv_ring_create(culv_device *device, const culv_ring_desc *desc,
                                         culv_ring **out);

/** Destroys the ring and all that it made.
 *
 * End both sides first (culv_ring_stop()). If a side still waits in culv_ring_acquire(), it gets
 * RING_STOPPED; but if it gets its frame at that moment, it uses a destroyed ring.
 *
 * On a ring of your own slots, the call does not wait for the GPU: free the slots after
 * culv_ring_drain() has succeeded. On a graphics API's ring, that API's work must be done, unless
 * its device is lost. If last_use is NULL, CUDA's work should have finished too. If it is not NULL,
 * the release of the ring's objects is DEFERRED until the work in *last_use has finished
 * (culv_shared_buffer_destroy()). OpenGL's registered objects are unmapped in both cases. If CUDA
 * still waits for a signal of the API's side, Culvert waits a second for that signal and then
 * signals in its place.
 * Errors: after an error nothing is done, and the pointer keeps its value: INVALID (CONTEXT: it is
 * an OpenGL ring, and no context of its attachment is current on this thread), DRIVER (OpenGL's
 * driver refused: try again).
 * Threads: any (OpenGL: the context's thread), after the last call of either side. */
CULV_EXPORT culv_result culv_ring_destroy(culv_ring **ring, const CUstream *last_use);

/** Returns CUDA's half of a slot's buffer, or NULL if the resource is an image or does not exist,
 * or if culv_ring_create() made the ring.
 * Ownership: the ring owns it, or you do if you passed it to the call that made the ring. */
CULV_EXPORT culv_buffer *culv_ring_buffer(const culv_ring *ring, uint32_t slot, uint32_t resource);

/** Returns CUDA's half of a slot's image, or NULL if the resource is a buffer or does not exist, or
 * if culv_ring_create() made the ring. If culv_gl_ring_info::way is REGISTER, the image's arrays,
 * surfaces and textures are valid from an acquire to the release: ask again in each frame.
 * Ownership: as culv_ring_buffer(). */
CULV_EXPORT culv_image *culv_ring_image(const culv_ring *ring, uint32_t slot, uint32_t resource);

/** Returns culv_buffer_pointer() of culv_ring_buffer(), or 0 if that is NULL. If
 * culv_gl_ring_info::way is REGISTER, the pointer may change with each acquire, and it is 0 while
 * CUDA does not hold the slot.
 * Ownership: as culv_ring_buffer(). Threads: any; with REGISTER, the thread of CUDA's side. */
CULV_EXPORT CUdeviceptr culv_ring_pointer(const culv_ring *ring, uint32_t slot, uint32_t resource);

/** Returns a slot's buffer with both halves, for example for culv_vk_buffer_handle(). Returns NULL
 * if the resource is an image, is registered (OpenGL) or does not exist, or if culv_ring_create()
 * made the ring.
 * Ownership: as culv_ring_buffer(). culv_shared_buffer_destroy() refuses a buffer that the ring
 * owns (OWNED). */
CULV_EXPORT culv_shared_buffer *culv_ring_shared_buffer(const culv_ring *ring, uint32_t slot,
                                                        uint32_t resource);

/** Returns a slot's image with both halves, for example for culv_vk_image_handle(). Returns NULL if
 * the resource is a buffer; otherwise as culv_ring_shared_buffer().
 * Ownership: as culv_ring_shared_buffer(). */
CULV_EXPORT culv_shared_image *culv_ring_shared_image(const culv_ring *ring, uint32_t slot,
                                                      uint32_t resource);

/** Takes the side's next slot. The host waits up to `timeout` nanoseconds (0: not at all) until the
 * other side has released a slot. It does not poll. Afterwards make your queue wait for
 * out->wait_value of the other side's timeline. Allocates nothing. After an error nothing is
 * acquired. When the wait has lasted 1 s, 10 s and 100 s, the log gets a WARNING with the words of
 * the TIMEOUT error: they say which side is late.
 *
 * On the side of Vulkan or Direct3D 12, the call also waits on the host if the setting is
 * SIGNAL_FIRST; culv_vk_ring_submit() and culv_d3d12_ring_submit() make the queue wait. In OpenGL,
 * later commands of this context wait for CUDA's work. If that wait is on the CPU
 * (culv_gl_ring_info::waits_on_host), `timeout` covers it too (RING_LATE). If
 * culv_gl_ring_info::way is STAGED, the call copies a consumer's data into the GL objects. On
 * CUDA's side, use culv_ring_acquire_on(). If OpenGL's way is REGISTER or STAGED,
 * culv_ring_acquire() refuses CUDA's side (RING_SIDE).
 * Errors: INVALID (NULL_ARGUMENT; VALUE: there is no such side; RING_ORDER: this side holds a
 * frame; RING_SIDE: another thread is in a call of this side), TIMEOUT (RING_FULL, RING_EMPTY,
 * RING_LATE: the message names the timeline, the value, the side that signaled last and the side
 * that is late), ASYNC (RING_STOPPED, DEVICE_LOST). On OpenGL's side also those
 * of culv_gl_semaphore_wait() and culv_gl_copy().
 * Ownership: the slot is yours until culv_ring_release() or culv_ring_cancel().
 * Threads: one at a time for each side; on OpenGL's side, the context's thread. */
CULV_EXPORT culv_result culv_ring_acquire(culv_ring *ring, culv_ring_side side, uint64_t timeout,
                                          culv_ring_frame *out);

/** Hands the side's slot to the other side, and sets frame->signal_value. Call it after you have
 * recorded the last use of the slot, right before you submit a signal of this side's timeline with
 * that value. You may also submit first and compute the value yourself: it is 0 if burst_ends is 0,
 * and otherwise the side's last value plus 1. Allocates nothing. After an error the side still
 * holds the frame.
 *
 * On Vulkan's and Direct3D 12's side, call it only if you submit the frame yourself:
 * culv_vk_ring_submit() and culv_d3d12_ring_submit() release and submit. On OpenGL's side, the call
 * also signals after the earlier commands of this context. If OpenGL's way is STAGED, it first
 * reads a producer's data back, which waits for OpenGL.
 * Errors: INVALID (NULL_ARGUMENT; RING_ORDER: this side did not acquire that frame, or
 * culv_vk_ring_submit() still holds earlier frames of this burst; RING_SIDE), ASYNC (RING_STOPPED).
 * On OpenGL's side also those of culv_gl_semaphore_signal() and culv_gl_copy().
 * Ownership: the slot then belongs to the other side. Threads: as culv_ring_acquire(). */
CULV_EXPORT culv_result culv_ring_release(culv_ring *ring, culv_ring_side side,
                                          culv_ring_frame *frame);

/** Tells the ring that the submission of a frame failed after culv_ring_release(). The side then
 * holds the frame again. The other side's GPU work may already wait for frame->signal_value, so
 * culv_ring_cancel() is refused: call culv_ring_release(), which sets the same signal_value, and
 * submit again. If the side can no longer submit, end the wait by culv_ring_drain() with `force`.
 * If its device is lost, call culv_vk_device_lost() or culv_ring_stop().
 *
 * Call it for the frame that the side released last, before the side's next acquire. You do not
 * need it for calls that submit by themselves (culv_ring_release_on(), culv_vk_ring_submit()): if
 * they fail, they release nothing.
 * Errors: INVALID (NULL_ARGUMENT; RING_ORDER: the side released another frame last, or holds one;
 * RING_SIDE), ASYNC (RING_STOPPED).
 * Ownership: the side must release the frame again. Threads: one at a time for each side. */
CULV_EXPORT culv_result culv_ring_submit_failed(culv_ring *ring, culv_ring_side side,
                                                culv_ring_frame *frame);

/** Gives the side's slot back as if it had not been acquired. A consumer's next acquire gets the
 * frame again, or with MAILBOX a newer one. If the frame was the first of a burst, the burst begins
 * again.
 * Errors: as culv_ring_release().
 * Ownership: as before the acquire. Threads: one at a time for each side. */
CULV_EXPORT culv_result culv_ring_cancel(culv_ring *ring, culv_ring_side side,
                                         culv_ring_frame *frame);

/** Ends a burst before it is full and hands over what this side has released. Sets *signal_value to
 * the value that you must signal on this side's timeline after the last use of those slots, or to 0
 * if no burst is open. On a CUDA side, use culv_ring_flush_on().
 *
 * If the side submits by culv_vk_ring_submit() or culv_d3d12_ring_submit(), or is OpenGL, the call
 * itself submits what the ring has kept, to the queue of the last submit, and signals.
 * *signal_value is 0 then, and you may pass NULL.
 * Errors: INVALID (NULL_ARGUMENT; RING_ORDER: this side holds a frame; RING_SIDE), ASYNC
 * (RING_STOPPED); those of culv_vk_ring_submit(), culv_d3d12_ring_submit() and culv_ring_release().
 * Threads: as culv_ring_acquire(). You synchronize the queue. */
CULV_EXPORT culv_result culv_ring_flush(culv_ring *ring, culv_ring_side side,
                                        uint64_t *signal_value);

/** Does what culv_ring_acquire() does, for a CUDA side, and makes `stream` wait. On OpenGL's ring,
 * culv_gl_ring_info::way determines what this call and its counterparts do:
 *
 *   MEMORY    the stream waits for OpenGL's use of the slot, and signals.
 *   REGISTER  acquire maps the objects of a whole burst, and the release or the cancel that ends
 *             it unmaps them. A thread that calls acquire, release, cancel or culv_ring_drain()
 *             needs a current GL context. Further errors: as culv_registration_map().
 *   STAGED    a consumer's acquire copies the data to CUDA's memory, and a producer's release
 *             copies them to the host. Further errors: as culv_buffer_copy().
 *
 * Errors: as culv_ring_acquire() and culv_semaphore_wait(); INVALID (NULL_ARGUMENT: the timelines
 * lack a CUDA half; RING_SIDE: this side is the graphics API's).
 * Ownership: as culv_ring_acquire(). Threads: one at a time for each side. */
CULV_EXPORT culv_result culv_ring_acquire_on(culv_ring *ring, culv_ring_side side, CUstream stream,
                                             uint64_t timeout, culv_ring_frame *out);

/** Does what culv_ring_release() does, for a CUDA side, and makes `stream` signal.
 * Errors: as culv_ring_release() and culv_semaphore_signal().
 * Ownership: as culv_ring_release(). Threads: one at a time for each side. */
CULV_EXPORT culv_result culv_ring_release_on(culv_ring *ring, culv_ring_side side, CUstream stream,
                                             culv_ring_frame *frame);

/** Does what culv_ring_flush() does, for a CUDA side, and makes `stream` signal.
 * Errors: as culv_ring_flush() and culv_semaphore_signal().
 * Threads: one at a time for each side. */
CULV_EXPORT culv_result culv_ring_flush_on(culv_ring *ring, culv_ring_side side, CUstream stream);

/** Changes the settings, for each side from its next burst on. A smaller depth takes effect as
 * slots become free. No frame is lost, except those that MAILBOX skips.
 * Errors: as culv_ring_create(). */
CULV_EXPORT culv_result culv_ring_configure(culv_ring *ring, const culv_ring_settings *settings);

/** Waits on the host until the GPU has finished everything that was handed over. Frames that are
 * ready stay ready, unless `force` has to signal. On a stopped ring, you may call it even while a
 * side holds a frame.
 *
 * If `force` is set and this takes longer than `timeout` nanoseconds, the host signals in place of
 * the side that is late, and then in place of the other side. The work that waited goes on, with
 * wrong contents. Before the host signals for a side, work of that side that can still run gets at
 * least a second to signal by itself, so that no value is signaled twice. If the call had to
 * signal, or if a side held a frame or had a burst open, all slots are empty afterwards and no side
 * holds a frame.
 *
 * If CUDA's context is lost, the host signals by the graphics API. If the graphics device is lost,
 * CUDA signals. CULV_OK then means that nothing waits for the lost side. A lost context or device
 * stops the ring for good.
 * Errors: TIMEOUT (RING_LATE: the message names the timeline, the value, the side that signaled
 * last and the side that is late), UNSUPPORTED (NO_FORCE: neither the host nor CUDA can signal that
 * timeline), BUSY (RING_ORDER: without `force`, on a ring that is not stopped, a side holds a frame
 * or has a burst open), INVALID (NULL_ARGUMENT; VALUE: a timeline lacks `wait`; RING_SIDE: a side
 * is in a call), ASYNC (DEVICE_LOST; RING_STOPPED: culv_ring_stop() was called meanwhile).
 * Threads: any, while neither side is in a call.
 * Source: vkSignalSemaphore: a timeline only grows. So the late side must not signal after a forced
 * drain: destroy its device. */
CULV_EXPORT culv_result culv_ring_drain(culv_ring *ring, uint64_t timeout, culv_bool force);

/** Stops the ring for both sides, and there is no restart: each acquire, release, cancel and flush
 * that waits or comes later gets RING_STOPPED. It does not wait and calls no driver, so it also
 * works if a device is lost. A second call does nothing.
 *
 * When the threads that waited in the ring have returned, call culv_ring_drain(), and destroy the
 * ring. If GPU work still waits, culv_ring_drain() with `force` or culv_vk_device_lost() frees it.
 * Errors: INVALID (NULL_ARGUMENT).
 * Ownership: none; the ring stays yours.
 * Threads: any, also while other threads are in calls of the ring. */
CULV_EXPORT culv_result culv_ring_stop(culv_ring *ring);

/** Returns CUDA's half of a side's timeline, or NULL if it lacks one. Use it in graphs
 * (culv_graph_add_node(), culv_graph_exec_set_node()) with the values of culv_ring_acquire() and
 * culv_ring_release(). Returns NULL for NULL.
 * Ownership: the ring owns it, or you do if you passed it in (culv_ring_timeline::semaphore). */
CULV_EXPORT culv_semaphore *culv_ring_semaphore(const culv_ring *ring, culv_ring_side side);

/** Fills *out with the history of the ring.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE). */
CULV_EXPORT culv_result culv_ring_get_stats(const culv_ring *ring, culv_ring_stats *out);

CULV_EXTERN_C_END

#endif
