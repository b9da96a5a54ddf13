/* SPDX-License-Identifier: MIT */
/* Culvert: rings of frames between CUDA and Direct3D 12, and CUDA's memory in Direct3D 12. Like
 * culvert/d3d.h, this header only names Windows' structs. On other systems its calls answer
 * UNSUPPORTED (NOT_BUILT). */
#ifndef CULV_D3D12_H_
#define CULV_D3D12_H_

#ifndef CULV_EXPERIMENTAL
#    error "d3d12.h is experimental (docs/stability.md): define CULV_EXPERIMENTAL first"
#endif

#include "d3d.h"
#include "ring.h"
#include "vector.h"

struct ID3D12CommandList;
struct ID3D12CommandQueue;
struct ID3D12Fence;
struct ID3D12Heap;

CULV_EXTERN_C_BEGIN

/* A ring --------------------------------------------------------------------------------------- */

/* A ring has textures and buffers in each slot, and a fence for each side. culvert/ring.h has the
 * order of the calls, and the calls for all APIs. docs/direct3d.md has a program. */

/** Maximum number of textures and buffers of a slot. */
#define CULV_D3D12_RING_MAX_RESOURCES 16

/** One texture or buffer that every slot has. Set exactly one of `image`, `buffer`, `images`,
 * `buffers`. */
typedef struct culv_d3d12_ring_resource {
    /** Descriptor of the texture that Culvert makes for each slot. Read during the call. It needs
     * no D3D12_RESOURCE_FLAG_ALLOW_SIMULTANEOUS_ACCESS. */
    const culv_d3d_image_create_desc *image;
    const culv_d3d_buffer_create_desc *buffer; /**< The same for buffers. */
    /** Your own textures, max_depth of them. They stay yours and must outlive the ring. */
    culv_shared_image *const *images;
    culv_shared_buffer *const *buffers; /**< The same for buffers. */
} culv_d3d12_ring_resource;

/** Returns a resource whose fields are all 0. */
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
    /** Side of Direct3D; CUDA has the other side. culv_d3d12_ring_desc_init() sets CONSUMER. */
    culv_ring_side side;
    culv_ring_waits waits; /**< The time at which Direct3D's queue waits. */
    const char *label;     /**< Copied (up to 63 bytes). Default: none. */
} culv_d3d12_ring_desc;

/** Returns a default descriptor, with Direct3D as the consumer. */
CULV_INLINE culv_d3d12_ring_desc culv_d3d12_ring_desc_init(void)
{
    culv_d3d12_ring_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    d.side = CULV_RING_CONSUMER;
    return d;
}

/** Makes a ring: all or nothing.
 * Errors: as culv_ring_create(), culv_d3d_image_create(), culv_d3d_buffer_create() and
 * culv_d3d_semaphore_create(); INVALID (VALUE: one texture or buffer for several slots, or the
 * attachment belongs to Direct3D 11).
 * Ownership: *out is yours, for culv_ring_destroy(); it keeps the attachment alive. */
CULV_EXPORT culv_result culv_d3d12_ring_create(culv_d3d_device *d3d,
                                               const culv_d3d12_ring_desc *desc, culv_ring **out);

/** Returns the fence of a side, or NULL for NULL or for a ring of another API. You may wait for it
 * at any time: Wait() of a queue, GetCompletedValue(), SetEventOnCompletion(). If you submit frames
 * yourself, call culv_ring_release() for Direct3D's side, and then queue three things: Wait() for
 * frame->wait_value of CUDA's fence, the command lists, and Signal() of frame->signal_value of
 * Direct3D's fence. Leave out a Wait() or Signal() whose value is 0. Signal Direct3D's fence only
 * with these values, in order. Never signal it if you call culv_d3d12_ring_submit(), which signals
 * it. Never signal CUDA's fence.
 * Ownership: the ring owns it; call AddRef() to keep it longer. */
CULV_EXPORT struct ID3D12Fence *culv_d3d12_ring_fence(const culv_ring *ring, culv_ring_side side);

/** Releases the frame and submits its command list: the queue waits, executes and signals. The list
 * must have the queue's type, and must be closed; Culvert cannot check the latter.
 *
 * The slot's textures must be in the state COMMON when the list begins and when it ends. Buffers
 * always are: their state is promoted from COMMON at the first use and decays to it after the list.
 *
 * In a burst, Culvert keeps the lists and executes them all with the burst's last frame, on the
 * queue of that call. The call sets frame->signal_value: the value that the queue signals, or 0
 * within a burst. If the burst is not full, culv_ring_flush() executes the kept lists on this
 * queue, and signals. Do not call culv_ring_release() while frames of a burst are kept
 * (RING_ORDER). If the queue's Wait() fails, nothing is submitted and the side still holds the
 * frame. The queue's Signal() fails if the device is removed.
 * Errors: as culv_ring_release(); INVALID (VALUE: the list does not have the queue's type, or the
 * ring belongs to another API), DRIVER, ASYNC (DEVICE_LOST).
 * Ownership: the command list stays yours and must live until the GPU has run it.
 * Threads: one at a time for the side.
 * Source: ID3D12CommandQueue::Wait, ID3D12CommandQueue::ExecuteCommandLists; Direct3D 12, implicit
 * state transitions. */
CULV_EXPORT culv_result culv_d3d12_ring_submit(culv_ring *ring, struct ID3D12CommandQueue *queue,
                                               struct ID3D12CommandList *list,
                                               culv_ring_frame *frame);

/* CUDA's memory -------------------------------------------------------------------------------- */

/* These calls open VMM allocations as heaps, and a culv_vector as buffers.
 *
 * CUDA exports the allocation as an NT handle (CU_MEM_HANDLE_TYPE_WIN32). Direct3D opens the handle
 * by ID3D12Device::OpenSharedHandle, and Culvert closes it again. This has not run on a driver yet:
 * it ran under Wine on the software twin, with an OpenSharedHandle that the tests provide. If a
 * driver refuses the handle, the error says so and names the alternative: memory that Direct3D
 * makes and CUDA imports (culvert/d3d.h). Direct3D 12 opens no KMT handles.
 */

/** Opens a VMM allocation in device or host memory as an ID3D12Heap. The heap is as large as the
 * allocation. Place buffers in it at multiples of D3D12_DEFAULT_RESOURCE_PLACEMENT_ALIGNMENT (64
 * KiB). CUDA reads and writes them where the allocation is mapped (culv_vmm_map()). The driver
 * alone knows the texel order of textures, so CUDA cannot map them from such a heap: for textures
 * use culv_d3d_image_create().
 * Errors: INVALID (NULL_ARGUMENT; VALUE: the attachment belongs to Direct3D 11; USAGE: a tile pool
 * or a multicast object; NOT_EXPORTABLE: the allocation was not made for export as OPAQUE_WIN32, or
 * it is an import; DEVICE_MISMATCH: it lies on another GPU), UNSUPPORTED (NOT_BUILT;
 * HANDLE_REFUSED: this Direct3D does not open such a handle), DRIVER (HANDLE_REFUSED; SIZE: the
 * opened heap is smaller), ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is yours, for Release(). It keeps the memory even if the allocation is destroyed.
 * Source: cuda.h, cuMemExportToShareableHandle; ID3D12Device::OpenSharedHandle. */
CULV_EXPORT culv_result culv_d3d12_heap_from_vmm(culv_d3d_device *d3d,
                                                 culv_vmm_allocation *allocation,
                                                 struct ID3D12Heap **out);

/** Direct3D's view of a vector. */
typedef struct culv_d3d12_vector_view_desc {
    size_t struct_size;      /**< Set by culv_d3d12_vector_view_desc_init(). */
    uint32_t resource_flags; /**< D3D12_RESOURCE_FLAGS of the buffers. Default: none. */
    const char *label;       /**< Copied (up to 63 bytes). Default: the vector's label. */
} culv_d3d12_vector_view_desc;

CULV_INIT(culv_d3d12_vector_view_desc)

/** Makes Direct3D's view of a vector, with a heap and a buffer for each chunk that it has. The
 * chunks must be exportable as OPAQUE_WIN32. Draw and dispatch once for each chunk. A vector with
 * `min_chunk` or `growth_percent` has few large chunks. `desc` may be NULL.
 * Errors: as culv_d3d12_heap_from_vmm(); INVALID (STRUCT_SIZE).
 * Ownership: *out is yours, for culv_vector_view_destroy(), before or after the vector is
 * destroyed.
 * Threads: any, but not during a call that changes the vector. */
CULV_EXPORT culv_result culv_d3d12_vector_view_create(culv_d3d_device *d3d, culv_vector *vector,
                                                      const culv_d3d12_vector_view_desc *desc,
                                                      culv_vector_view **out);

CULV_EXTERN_C_END

#endif
