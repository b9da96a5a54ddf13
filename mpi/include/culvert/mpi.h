/* SPDX-License-Identifier: MIT */
/* culvert-mpi: the ranks of an MPI program write parts of one frame, and one rank draws the frame.
 *
 * The rank that draws is the renderer. Its slots are VMM memory, which Vulkan or OpenGL uses in
 * place. Each rank says which bytes of a frame are its part. It gets addresses to write to, and
 * releases its part in its stream. The renderer gets a frame when all parts are complete.
 *
 *   each rank                                     the renderer, which may have a part too
 *   culv_mpi_create(device, comm, &d, &mpi);      culv_mpi_create(device, comm, &d, &mpi);
 *   for (;;) {                                    culv_vk_buffer_bind_vmm(vk, buffer[i],
 *       solve();                                      culv_mpi_slot(mpi, i), 0, &memory[i]);
 *       culv_mpi_acquire(mpi, t, &part);          for (;;) {
 *       kernel<<<..., stream>>>(                      culv_mpi_acquire_frame(mpi, t, &frame);
 *           culv_mpi_pointer(mpi, 0));                ... draw buffer[frame.slot], signal done ...
 *       culv_mpi_release(mpi, stream);                culv_mpi_release_frame(mpi, done, value);
 *   }                                             }
 *
 * When the object is made, Culvert chooses a way (culv_mpi_way) for each pair of a rank and the
 * renderer. culv_mpi_get_ranks() tells the way, and why there is no faster one.
 *
 * The object has its own communicator (MPI_Comm_idup). It starts no threads: it works only during
 * its calls. With HOST, data move only while both sides are in such calls: if the renderer does
 * other work for long, it must call culv_mpi_progress() in between. MPI must be initialized. With
 * MPI_THREAD_SINGLE or FUNNELED make the calls on the main thread.
 *
 * No call waits longer than its timeout. No queue and no stream of the renderer waits for another
 * process, because the renderer gets a frame only when its parts are complete. If a rank is late,
 * the message of the TIMEOUT names it. If a rank has ended, the call fails and names it.
 *
 * For several renderers make several objects, each with another `renderer`, in the same order in
 * all ranks. While a call waits, it also works for the other objects of its process. */
#ifndef CULV_MPI_H_
#define CULV_MPI_H_

#include <mpi.h>

#include "culvert/ring.h"
#include "culvert/vmm.h"

CULV_EXTERN_C_BEGIN

/** Opaque: one rank's side. Its calls come from one thread at a time. */
typedef struct culv_mpi culv_mpi;

/** Maximum number of slots. */
#define CULV_MPI_MAX_SLOTS 16
/** A timeout without end. Timeouts are in nanoseconds. */
#define CULV_MPI_FOREVER UINT64_MAX

/** The way in which a rank's part gets to the renderer. */
typedef enum culv_mpi_way {
    /** The fastest way that the pair has: DIRECT, DEVICE, HOST, in this order. If the environment
     * variable CULVERT_MPI_WAY (direct, device, host) is set, it chooses instead. */
    CULV_MPI_WAY_AUTO = 0,
    /** The rank's stream writes directly into the renderer's memory (culv_ipc, VMM handles). The
     * rank uses the renderer's GPU, or a GPU that reaches it, on one machine or by fabric handles
     * (IMEX). */
    CULV_MPI_WAY_DIRECT = 1,
    /** MPI gets device pointers. MPIX_Query_cuda_support() must say that MPI takes them. */
    CULV_MPI_WAY_DEVICE = 2,
    /** The data go through two chunks of pinned host memory on each side: the copy down, the send
     * and the copy up overlap. */
    CULV_MPI_WAY_HOST = 3,
    CULV_MPI_WAY_NONE = 4, /**< The rank has no part. Only in culv_mpi_rank_info. */
    CULV_MPI_WAY_FORCE32 = 0x7fffffff
} culv_mpi_way;

/** Bytes of a frame. */
typedef struct culv_mpi_range {
    uint64_t offset; /**< Offset in the frame. */
    uint64_t size;   /**< Size in bytes. 0: an empty range. */
} culv_mpi_range;

/** A side to make. Every rank fills it in. Fields marked "Renderer" are read only there. */
typedef struct culv_mpi_desc {
    size_t struct_size;  /**< Set by culv_mpi_desc_init(). */
    int32_t renderer;    /**< Rank of the renderer in the communicator, the same everywhere. */
    uint32_t num_slots;  /**< Renderer: 1 (MAILBOX: 3) to CULV_MPI_MAX_SLOTS. Default: 3. */
    uint64_t frame_size; /**< Renderer, required: bytes of a frame. */
    /** Renderer. FIFO: it gets every frame, and a rank that is ahead waits for a slot. MAILBOX: it
     * gets the newest complete frame, or the last one again, and no rank waits for the renderer. */
    culv_ring_policy policy;
    culv_mpi_way way; /**< Way that this rank must have. Default: AUTO. */
    /** Bytes of a frame that are this rank's part. No two ranks have the same byte. Read during the
     * call. With HOST each range is a separate copy, so a few large ranges are best. */
    const culv_mpi_range *ranges;
    size_t num_ranges;   /**< Elements of `ranges`. Default: 0, no part. */
    uint64_t chunk_size; /**< HOST: bytes of this rank's chunks. Default: 4 MiB. */
    /** Nonzero: culv_mpi_release() of this rank returns at once, and the part is sent during later
     * calls, beside the solver's next step. Then no MPI call of this rank may wait for something
     * that the renderer does after it has the frame: first call culv_mpi_progress(). Default: 0: a
     * release waits until the part needs no more calls of this rank. */
    culv_bool overlap;
    uint32_t reserved; /**< 0. */
    /** Timeout in nanoseconds of culv_mpi_create() and culv_mpi_destroy(). Default: 30 s. */
    uint64_t timeout;
    const char *label; /**< Copied (up to 63 bytes). Appears in messages. Default: none. */
} culv_mpi_desc;

CULV_INIT(culv_mpi_desc)

/** A rank's part, while the rank writes it. */
typedef struct culv_mpi_part {
    size_t struct_size; /**< Set by culv_mpi_part_init(). */
    uint64_t number;    /**< Number of the frame, from 0 on. */
    size_t num_ranges;  /**< As in the descriptor, for culv_mpi_pointer(). */
} culv_mpi_part;

CULV_INIT(culv_mpi_part)

/** A frame whose parts are all there. */
typedef struct culv_mpi_frame {
    size_t struct_size;  /**< Set by culv_mpi_frame_init(). */
    uint64_t number;     /**< Number of the frame, from 0 on. */
    uint64_t skipped;    /**< MAILBOX: frames that were skipped since the last one. */
    uint32_t slot;       /**< Slot of the frame: culv_mpi_slot(). */
    culv_bool repeated;  /**< MAILBOX: nonzero if it is the same frame as before. */
    CUdeviceptr pointer; /**< Address of the slot for the renderer's own kernels and copies. */
} culv_mpi_frame;

CULV_INIT(culv_mpi_frame)

/** A rank, as the renderer sees it. */
typedef struct culv_mpi_rank_info {
    size_t struct_size; /**< Set by culv_mpi_rank_info_init(), in the first element. */
    int32_t rank;       /**< Rank in the communicator. */
    culv_mpi_way way;
    uint64_t bytes;  /**< Bytes of the rank's part. */
    uint64_t frames; /**< Frames whose part from this rank is complete. */
    uint64_t behind; /**< Frames by which it is behind the foremost rank. */
    /** Nanoseconds for which the renderer has waited for the rank's next part, since it gave the
     * slot or the previous part arrived. 0: the renderer does not wait for the rank. */
    uint64_t late;
    culv_bool ended; /**< Nonzero: it has called culv_mpi_destroy(), or its process has ended. */
    uint32_t reserved;
    char why[256]; /**< Text: the reason for this way, and why there is no faster one. */
} culv_mpi_rank_info;

CULV_INIT(culv_mpi_rank_info)

/** Makes this rank's side. All ranks of `comm`, an intracommunicator, call it. If one rank's
 * descriptor is wrong, the calls of all ranks fail and name that rank.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; VALUE: a field; RANGE: bytes outside the frame, or
 * bytes of two ranks; NOT_READY: MPI is not initialized), UNSUPPORTED (VMM: the renderer's device;
 * VALUE: a way that the pair lacks; the message says why), TIMEOUT (IPC_GONE: the message names
 * ranks that did not call), OUT_OF_MEMORY, DRIVER (CUDA; OS: MPI, with the call and its text),
 * ASYNC.
 * Ownership: *out is yours, for culv_mpi_destroy(), before you close the device. `comm` is yours.
 * Threads: see above.
 * Source: MPI 3.1: MPI_Comm_idup, MPI_Isend, MPI_Irecv. */
CULV_EXPORT culv_result culv_mpi_create(culv_device *device, MPI_Comm comm,
                                        const culv_mpi_desc *desc, culv_mpi **out);

/** Ends this rank's side. All ranks call it, before MPI_Finalize(). It waits until this rank's
 * parts have arrived, and for the other side, at most culv_mpi_desc::timeout. If a rank ends before
 * the others, the renderer gets its frames, and then RING_STOPPED. If the renderer ends first, the
 * acquires of the other ranks answer RING_STOPPED. The GPU's work with the slots should be done.
 * Ownership: objects that Vulkan or OpenGL made from the slots stay valid. */
CULV_EXPORT void culv_mpi_destroy(culv_mpi **mpi);

/** Gets this rank's part of the next frame, to write it. It waits up to `timeout` nanoseconds for a
 * slot. A rank without a part gets a frame at once.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; RING_ORDER: the rank holds a part already), TIMEOUT
 * (RING_FULL: the renderer has given no slot, or an earlier part has not left this rank yet), ASYNC
 * (RING_STOPPED: the renderer has ended its side; IPC_GONE: its process has ended), DRIVER. */
CULV_EXPORT culv_result culv_mpi_acquire(culv_mpi *mpi, uint64_t timeout, culv_mpi_part *part);

/** Returns the address of the first byte of range number `range` in the part that the rank holds,
 * or 0 if it holds none. Do not access the rest of the frame by it. Each frame has other addresses.
 * An address is aligned like the range's offset, up to 16 bytes.
 * Ownership: Culvert owns the memory. Valid until the release. */
CULV_EXPORT CUdeviceptr culv_mpi_pointer(const culv_mpi *mpi, size_t range);

/** Releases the part to the renderer. The part is complete when the work that is in `stream` now is
 * done. Without culv_mpi_desc::overlap the call waits for that, and with HOST until MPI has sent
 * the last chunk, at most culv_mpi_desc::timeout. The renderer's call does not wait.
 * Errors: INVALID (NULL_ARGUMENT; RING_ORDER: the rank holds no part), TIMEOUT (RING_FULL: the part
 * is released, and is sent in later calls), DRIVER, ASYNC (as culv_mpi_acquire()). */
CULV_EXPORT culv_result culv_mpi_release(culv_mpi *mpi, CUstream stream);

/** Sends this rank's parts, for up to `timeout` nanoseconds or until all are sent. If `timeout` is
 * 0, it does what can be done now. `pending` (may be NULL) gets the number of this rank's parts
 * that are not sent yet. At the renderer it also receives parts that arrive.
 * Errors: INVALID (NULL_ARGUMENT), DRIVER, ASYNC (as culv_mpi_acquire()). */
CULV_EXPORT culv_result culv_mpi_progress(culv_mpi *mpi, uint64_t timeout, uint32_t *pending);

/** Returns a slot's memory at the renderer, for culv_vk_buffer_bind_vmm() or
 * culv_gl_memory_from_vmm(). Returns NULL if the slot does not exist, and at other ranks. A frame
 * begins at the first byte. Make the VkBuffer as large as the allocation
 * (culv_vmm_allocation_info::size), so that it is of the fast kind.
 * Ownership: the object owns it: never destroy it. */
CULV_EXPORT culv_vmm_allocation *culv_mpi_slot(const culv_mpi *mpi, uint32_t slot);

/** Gets a complete frame, at the renderer. It waits up to `timeout` nanoseconds. No queue needs to
 * wait for the frame's parts. In Vulkan acquire the buffer by a barrier from
 * VK_QUEUE_FAMILY_EXTERNAL (culv_vk_buffer_get_barrier2()).
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; VALUE: this rank is not the renderer; RING_ORDER:
 * the renderer holds a frame already), TIMEOUT (RING_EMPTY: the message says which ranks' parts are
 * missing, and for how long), ASYNC (RING_STOPPED: a rank has ended its side, and no complete frame
 * is left; IPC_GONE: the process of a rank has ended, and the message names the rank), DRIVER. */
CULV_EXPORT culv_result culv_mpi_acquire_frame(culv_mpi *mpi, uint64_t timeout,
                                               culv_mpi_frame *frame);

/** Releases the frame. The ranks may write its slot once `done` has reached `value`. `done` is the
 * CUDA half of a semaphore that the renderer's queue signals (culv_shared_semaphore_cuda()). Pass
 * NULL if the GPU has already read the frame (a fence, glFinish()).
 * Errors: INVALID (NULL_ARGUMENT; RING_ORDER: no frame is held); as culv_semaphore_wait(). */
CULV_EXPORT culv_result culv_mpi_release_frame(culv_mpi *mpi, culv_semaphore *done, uint64_t value);

/** Lists the ranks by number. The renderer gets all ranks, and another rank gets only itself.
 * `ranks` and *count are as in every call that lists (culvert.h).
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE).
 * Ownership: the copies are yours. */
CULV_EXPORT culv_result culv_mpi_get_ranks(culv_mpi *mpi, culv_mpi_rank_info *ranks,
                                           size_t capacity, size_t *count);

/** Returns the name of a way, such as "direct", or "unknown" for other values.
 * Ownership: a static string, never NULL. Threads: any. */
CULV_EXPORT const char *culv_mpi_way_name(culv_mpi_way way);

CULV_EXTERN_C_END

#endif
