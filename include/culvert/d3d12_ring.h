/* SPDX-License-Identifier: MIT */
/* Culvert: a ring of frames between CUDA and Direct3D 12: textures and buffers in each slot, a
 * fence for each side, and submissions to a queue. culvert/ring.h describes the order of the calls.
 *
 *   culv_d3d12_ring_acquire(ring, timeout, &frame);
 *   (record what uses the slot's textures, in the state COMMON before and after)
 *   culv_d3d12_ring_submit(ring, queue, list, &frame);       Wait, ExecuteCommandLists, Signal
 *
 * and on CUDA's side culv_ring_acquire_on() and culv_ring_release_on() of culv_d3d12_ring_core().
 */
#ifndef CULV_D3D12_RING_H_
#define CULV_D3D12_RING_H_

#ifndef CULV_EXPERIMENTAL
#    error "d3d12_ring.h is experimental (docs/stability.md): define CULV_EXPERIMENTAL first"
#endif

#include "d3d12.h"
#include "ring.h"

struct ID3D12CommandList;
struct ID3D12CommandQueue;

CULV_EXTERN_C_BEGIN

/** Opaque: a culv_ring with Direct3D's slots and fences. The thread rules are those of
 * culv_ring. */
typedef struct culv_d3d12_ring culv_d3d12_ring;

/** Maximum number of textures and buffers of a slot. */
#define CULV_D3D12_RING_MAX_RESOURCES 16

/** One texture or buffer that every slot has. Set exactly one of `image`, `buffer`, `images`,
 * `buffers`. */
typedef struct culv_d3d12_ring_resource {
    /** Descriptor by which Culvert makes one texture for each slot; read during the call. It needs
     * no D3D12_RESOURCE_FLAG_ALLOW_SIMULTANEOUS_ACCESS. */
    const culv_d3d12_image_create_desc *image;
    const culv_d3d12_buffer_create_desc *buffer; /**< The same. */
    /** Your own textures: one for each slot, max_depth of them. They stay yours and must outlive
     * the ring. */
    culv_shared_image *const *images;
    culv_shared_buffer *const *buffers; /**< The same. */
} culv_d3d12_ring_resource;

/** Returns a resource with all 0. Threads: any. */
CULV_INLINE culv_d3d12_ring_resource culv_d3d12_ring_resource_init(void)
{
    culv_d3d12_ring_resource r;
    memset(&r, 0, sizeof r);
    return r;
}

/** A ring for Culvert to make. */
typedef struct culv_d3d12_ring_desc {
    size_t struct_size;                        /**< Set by culv_d3d12_ring_desc_init(). */
    uint32_t max_depth;                        /**< Required: slots, 1 to CULV_RING_MAX_DEPTH. */
    const culv_ring_settings *settings;        /**< As in culv_ring_desc::settings. */
    const culv_d3d12_ring_resource *resources; /**< Read during the call. */
    uint32_t num_resources; /**< 0 (a ring of slots only) to CULV_D3D12_RING_MAX_RESOURCES. */
    /** Direct3D's side; CUDA has the other. culv_d3d12_ring_desc_init() sets CONSUMER. */
    culv_ring_side side;
    culv_ring_waits waits; /**< The time at which Direct3D's queue waits. */
    const char *label;     /**< Copied (up to 63 bytes). Default: none. */
} culv_d3d12_ring_desc;

/** Returns a default descriptor, with Direct3D as the consumer. Threads: any. */
CULV_INLINE culv_d3d12_ring_desc culv_d3d12_ring_desc_init(void)
{
    culv_d3d12_ring_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    d.side = CULV_RING_CONSUMER;
    return d;
}

/** Makes a ring: all or nothing.
 * Errors: as culv_ring_create(), culv_d3d12_image_create(), culv_d3d12_buffer_create() and
 * culv_d3d12_semaphore_create(); INVALID (VALUE: one texture or buffer for several slots).
 * Ownership: *out is yours, for culv_d3d12_ring_destroy(); it keeps the attachment alive.
 * Threads: any. */
CULV_EXPORT culv_result culv_d3d12_ring_create(culv_d3d12_device *d3d12,
                                               const culv_d3d12_ring_desc *desc,
                                               culv_d3d12_ring **out);

/** Destroys the ring and all that it made. Direct3D's work on it must be done, or its device
 * removed; CUDA's work should be done (culv_ring_drain()): see culv_shared_image_destroy(). CUDA
 * may still wait for a signal of Direct3D's side that was never queued, for example for a frame
 * that culv_d3d12_ring_release() released. Culvert waits a second for it and then signals in its
 * place. The call then waits for all of CUDA's work.
 * Threads: any, after the last call of either side. */
CULV_EXPORT void culv_d3d12_ring_destroy(culv_d3d12_ring **ring);

/** Does what culv_d3d12_ring_destroy() does, but does not wait for CUDA's work: the ring's objects
 * are destroyed as by culv_shared_buffer_destroy_after() with `last_use`.
 * Threads: any, after the last call of either side. */
CULV_EXPORT void culv_d3d12_ring_destroy_after(culv_d3d12_ring **ring, CUstream last_use);

/** Returns the ring, for CUDA's side (culv_ring_acquire_on(), culv_ring_release_on()) and for
 * culv_ring_configure(), _drain(), _get_stats(), and culv_ring_cancel() of either side. NULL for
 * NULL.
 * Ownership: the ring's: culv_ring_destroy() refuses it (OWNED). Threads: any. */
CULV_EXPORT culv_ring *culv_d3d12_ring_core(const culv_d3d12_ring *ring);

/** Returns a texture of a slot. NULL if the resource is a buffer or does not exist.
 * Ownership: the ring's, unless you passed it in; culv_shared_image_destroy() refuses the ring's
 * (OWNED).
 * Threads: any. */
CULV_EXPORT culv_shared_image *culv_d3d12_ring_image(const culv_d3d12_ring *ring, uint32_t slot,
                                                     uint32_t resource);

/** Returns a buffer of a slot. NULL if the resource is a texture or does not exist.
 * Ownership: the ring's, unless you passed it in; culv_shared_buffer_destroy() refuses the ring's
 * (OWNED).
 * Threads: any. */
CULV_EXPORT culv_shared_buffer *culv_d3d12_ring_buffer(const culv_d3d12_ring *ring, uint32_t slot,
                                                       uint32_t resource);

/** Returns the fence of a side, for your own waits: a queue's Wait(), GetCompletedValue() and
 * SetEventOnCompletion(), at any time. Signal Direct3D's fence only with the values of
 * culv_d3d12_ring_release(), in their order, and not with culv_d3d12_ring_submit(), which signals
 * itself. Never signal the fence of CUDA's side.
 * Errors: none; NULL for NULL.
 * Ownership: the ring's; AddRef() it to keep it longer. Threads: any. */
CULV_EXPORT struct ID3D12Fence *culv_d3d12_ring_fence(const culv_d3d12_ring *ring,
                                                      culv_ring_side side);

/** Does what culv_ring_acquire() does, for Direct3D's side, and with SIGNAL_FIRST waits until CUDA
 * has reached out->wait_value.
 * Errors: as culv_ring_acquire().
 * Ownership: as there. Threads: one at a time for the side. */
CULV_EXPORT culv_result culv_d3d12_ring_acquire(culv_d3d12_ring *ring, uint64_t timeout,
                                                culv_ring_frame *out);

/** Does what culv_ring_release() does, for Direct3D's side. Call it right before you submit: the
 * queue's Wait() for frame->wait_value of CUDA's fence, the command lists, the Signal() of
 * frame->signal_value of Direct3D's fence. Leave out a Wait() or Signal() whose value is 0.
 * Errors: as culv_ring_release().
 * Ownership: as there. Threads: one at a time for the side. */
CULV_EXPORT culv_result culv_d3d12_ring_release(culv_d3d12_ring *ring, culv_ring_frame *frame);

/** Releases the frame and submits its command list: the queue waits, executes and signals. The list
 * must be closed, which Culvert cannot check, and of the queue's type.
 *
 * The slot's textures must be in the state COMMON when the list begins and when it ends. Buffers
 * always are: they promote from COMMON at their first use and decay to it after the list.
 *
 * In a burst, Culvert keeps the lists and executes them together with the burst's last frame, on
 * the queue of that call. The call sets frame->signal_value: the value that the queue signals, or 0
 * within a burst. Do not mix kept frames of a burst with culv_d3d12_ring_release(),
 * culv_ring_release() and culv_ring_flush() (RING_ORDER). After an error of the queue's Wait()
 * nothing is submitted and the side still holds the frame; its Signal() fails when the device is
 * removed.
 * Errors: as culv_d3d12_ring_release(); INVALID (VALUE: a list of another type than the queue's),
 * DRIVER, ASYNC (DEVICE_LOST).
 * Ownership: the command list stays yours and must live until the GPU has run it.
 * Threads: one at a time for the side.
 * Source: ID3D12CommandQueue::Wait, ID3D12CommandQueue::ExecuteCommandLists; Direct3D 12, implicit
 * state transitions. */
CULV_EXPORT culv_result culv_d3d12_ring_submit(culv_d3d12_ring *ring,
                                               struct ID3D12CommandQueue *queue,
                                               struct ID3D12CommandList *list,
                                               culv_ring_frame *frame);

/** Submits the frames that culv_d3d12_ring_submit() keeps if their burst is not full, and signals.
 * It also ends a burst that was released with culv_d3d12_ring_release().
 * Errors: as culv_d3d12_ring_submit(). Threads: one at a time for the side. */
CULV_EXPORT culv_result culv_d3d12_ring_flush(culv_d3d12_ring *ring,
                                              struct ID3D12CommandQueue *queue);

CULV_EXTERN_C_END

#endif
