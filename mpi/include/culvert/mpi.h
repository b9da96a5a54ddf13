/* SPDX-License-Identifier: MIT */
/* culvert-mpi: the ranks of an MPI program write parts of one frame, and one rank draws it.
 *
 * The rank that draws is the renderer. Its slots are VMM memory, which Vulkan or OpenGL uses in
 * place. Each rank says which bytes of a frame are its own. It gets addresses to write to, and
 * hands its part over in its stream. The renderer gets a frame when all parts are there.
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
 * Each pair of a rank and the renderer has a way (culv_mpi_way), chosen when the object is made.
 * culv_mpi_get_ranks() tells which, and why not a faster one.
 *
 * The object has a communicator of its own (MPI_Comm_idup). It starts no threads: it works inside
 * its calls. With HOST data move only while both sides are in calls of it: a renderer that does
 * something else for long calls culv_mpi_progress() in between. MPI must be initialized; with
 * MPI_THREAD_SINGLE or FUNNELED call from the main thread.
 *
 * No call waits longer than its timeout. No queue and no stream of the renderer waits for another
 * process: a frame comes when its parts are complete. A rank that is late is named by the TIMEOUT's
 * message. A rank that has ended is an error that names it.
 *
 * For several renderers make several objects, each with another `renderer`, in the same order at
 * all ranks. A call that waits works on the other objects of its process too. */
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

/** The way of a rank's part to the renderer. */
typedef enum culv_mpi_way {
    /** The fastest one that the pair has: DIRECT, DEVICE, HOST, in this order. The environment
     * variable CULVERT_MPI_WAY (direct, device, host) is asked first. */
    CULV_MPI_WAY_AUTO = 0,
    /** The rank's stream writes straight into the renderer's memory (culv_ipc, VMM handles). The
     * rank is on the same machine, on the same GPU or on one that reaches it; or fabric handles
     * (IMEX) reach it on another machine. */
    CULV_MPI_WAY_DIRECT = 1,
    /** MPI gets device pointers. MPIX_Query_cuda_support() must say that it takes them. */
    CULV_MPI_WAY_DEVICE = 2,
    /** Two chunks of pinned host memory on each side: the copy down, the send and the copy up
     * overlap. */
    CULV_MPI_WAY_HOST = 3,
    CULV_MPI_WAY_NONE = 4, /**< The rank has no part. Only culv_mpi_rank_info has it. */
    CULV_MPI_WAY_FORCE32 = 0x7fffffff
} culv_mpi_way;

/** Bytes of a frame. */
typedef struct culv_mpi_range {
    uint64_t offset; /**< Offset in the frame. */
    uint64_t size;   /**< Size in bytes. 0: an empty range. */
} culv_mpi_range;

/** A side to make. Every rank fills it in; what only the renderer's call reads says so. */
typedef struct culv_mpi_desc {
    size_t struct_size;  /**< Set by culv_mpi_desc_init(). */
    int32_t renderer;    /**< The renderer's rank in the communicator, the same everywhere. */
    uint32_t num_slots;  /**< Renderer: 1 to CULV_MPI_MAX_SLOTS, MAILBOX at least 3. Default: 3. */
    uint64_t frame_size; /**< Renderer, required: bytes of a frame. */
    /** Renderer. FIFO: every frame, and a rank that is ahead waits for a slot. MAILBOX: the newest
     * frame whose parts are all there, or the last one again; no rank waits for the renderer. */
    culv_ring_policy policy;
    culv_mpi_way way; /**< This rank's: a way that it must have. Default: AUTO. */
    /** This rank's bytes of a frame. No two ranks have the same byte. Read during the call. Each
     * range is a copy of its own with HOST, so a few large ones are best. */
    const culv_mpi_range *ranges;
    size_t num_ranges;   /**< Default: 0, no part. */
    uint64_t chunk_size; /**< HOST: bytes of a chunk, this rank's. Default: 4 MiB. */
    /** Nonzero: culv_mpi_release() of this rank returns at once, and the part leaves in its later
     * calls, beside the solver's next step. Then no MPI call of this rank may wait for something
     * that the renderer does after it has the frame: call culv_mpi_progress() before. Default: 0, a
     * release waits until the part needs no more calls of this rank. */
    culv_bool overlap;
    uint32_t reserved; /**< 0. */
    /** Bound in nanoseconds for culv_mpi_create() and culv_mpi_destroy(), which all ranks make.
     * Default: 30 s. */
    uint64_t timeout;
    const char *label; /**< Copied (up to 63 bytes). Appears in messages. Default: none. */
} culv_mpi_desc;

CULV_INIT(culv_mpi_desc)

/** A rank's part, while the rank writes it. */
typedef struct culv_mpi_part {
    size_t struct_size; /**< Set by culv_mpi_part_init(). */
    uint64_t number;    /**< Number of the frame, from 0 on. */
    size_t num_ranges;  /**< As the descriptor's, for culv_mpi_pointer(). */
} culv_mpi_part;

CULV_INIT(culv_mpi_part)

/** A frame whose parts are all there. */
typedef struct culv_mpi_frame {
    size_t struct_size;  /**< Set by culv_mpi_frame_init(). */
    uint64_t number;     /**< Number of the frame, from 0 on. */
    uint64_t skipped;    /**< MAILBOX: frames passed over since the last one. */
    uint32_t slot;       /**< Its slot: culv_mpi_slot(). */
    culv_bool repeated;  /**< MAILBOX: nonzero when it is the same frame as before. */
    CUdeviceptr pointer; /**< Address of the slot for the renderer's own kernels and copies. */
} culv_mpi_frame;

CULV_INIT(culv_mpi_frame)

/** A rank, from the renderer's view. */
typedef struct culv_mpi_rank_info {
    size_t struct_size; /**< Set by culv_mpi_rank_info_init(), in the first element. */
    int32_t rank;       /**< Rank in the communicator. */
    culv_mpi_way way;
    uint64_t bytes;  /**< Bytes of its part. */
    uint64_t frames; /**< Frames that it handed over, complete at the renderer. */
    uint64_t behind; /**< Frames that it is behind the rank that is furthest ahead. */
    /** Nanoseconds for which the renderer has waited for its next part: since it gave the slot, or
     * since the part before arrived. 0: the rank owes nothing. */
    uint64_t late;
    culv_bool ended; /**< Nonzero: it has left (culv_mpi_destroy()) or its process has ended. */
    uint32_t reserved;
    char why[256]; /**< Text: the reason for this way, and why it has no faster one. */
} culv_mpi_rank_info;

CULV_INIT(culv_mpi_rank_info)

/** Makes this rank's side. All ranks of `comm` call it. `comm` is an intracommunicator. If one
 * rank's descriptor is wrong, the calls of all ranks fail and name it.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; VALUE: a field; RANGE: bytes outside the frame, or
 * bytes of two ranks; NOT_READY: MPI is not initialized), UNSUPPORTED (VMM: the renderer's device;
 * VALUE: a way that the pair lacks: the message says why), TIMEOUT (IPC_GONE: it names ranks that
 * did not come), OUT_OF_MEMORY, DRIVER (CUDA; OS: MPI, with the call and its text), ASYNC.
 * Ownership: *out is yours, for culv_mpi_destroy(), before you close the device. `comm` is yours.
 * Threads: see above.
 * Source: MPI 3.1: MPI_Comm_idup, MPI_Isend, MPI_Irecv. */
CULV_EXPORT culv_result culv_mpi_create(culv_device *device, MPI_Comm comm,
                                        const culv_mpi_desc *desc, culv_mpi **out);

/** Ends this rank's side. All ranks call it, before MPI_Finalize(). It waits until what this rank
 * handed over has arrived, and for the other side, at most culv_mpi_desc::timeout. A rank may end
 * before the others: the renderer gets its frames, and then RING_STOPPED. When the renderer ends,
 * the ranks' acquires answer RING_STOPPED. The GPU's work with the slots should be done.
 * Ownership: what Vulkan or OpenGL made of the slots stays valid. */
CULV_EXPORT void culv_mpi_destroy(culv_mpi **mpi);

/** Gets the next frame's part to write. It waits up to `timeout` nanoseconds for a slot. A rank
 * without a part gets a frame at once.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; RING_ORDER: a part is held), TIMEOUT (RING_FULL: the
 * renderer has given no slot, or an earlier part has not left this rank yet), ASYNC (RING_STOPPED:
 * the renderer has ended its side; IPC_GONE: its process has ended), DRIVER. */
CULV_EXPORT culv_result culv_mpi_acquire(culv_mpi *mpi, uint64_t timeout, culv_mpi_part *part);

/** Returns the address of range number `range` in the part that is held: the first byte of the
 * range itself. The rest of the frame is not there. Another frame has other addresses. An address
 * has the alignment that the offset of its range has, up to 16 bytes. 0 if no part is held.
 * Ownership: Culvert's, until the release. */
CULV_EXPORT CUdeviceptr culv_mpi_pointer(const culv_mpi *mpi, size_t range);

/** Hands the part over: it is complete when `stream` has done the work that has been submitted to
 * it so far. Without culv_mpi_desc::overlap the call waits for that, and with HOST until MPI has
 * sent the last chunk, at most culv_mpi_desc::timeout; it does not wait at the renderer.
 * Errors: INVALID (NULL_ARGUMENT; RING_ORDER: no part is held), TIMEOUT (RING_FULL: the part is
 * handed over, and leaves in later calls), DRIVER, ASYNC (as culv_mpi_acquire()). */
CULV_EXPORT culv_result culv_mpi_release(culv_mpi *mpi, CUstream stream);

/** Works on what is on its way, up to `timeout` nanoseconds or until nothing of this rank's is
 * left. 0: does what can be done now. `pending` (may be NULL) gets the number of this rank's parts
 * that have not left it yet. At the renderer it also takes what arrives.
 * Errors: INVALID (NULL_ARGUMENT), DRIVER, ASYNC (as culv_mpi_acquire()). */
CULV_EXPORT culv_result culv_mpi_progress(culv_mpi *mpi, uint64_t timeout, uint32_t *pending);

/** Returns a slot's memory at the renderer, for culv_vk_buffer_bind_vmm() or
 * culv_gl_memory_from_vmm(). A frame begins at its first byte. Make the VkBuffer as large as the
 * allocation (culv_vmm_allocation_info::size): then it is of the fast kind. NULL for a slot that is
 * not there, and at other ranks.
 * Ownership: the object's: never destroy it. */
CULV_EXPORT culv_vmm_allocation *culv_mpi_slot(const culv_mpi *mpi, uint32_t slot);

/** Gets a frame whose parts are all there, at the renderer. It waits up to `timeout` nanoseconds.
 * The parts are complete: no queue has to wait for anything. In Vulkan take the buffer over by an
 * acquire barrier from VK_QUEUE_FAMILY_EXTERNAL (culv_vk_buffer_get_barrier2()).
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; VALUE: this rank is not the renderer; RING_ORDER: a
 * frame is held), TIMEOUT (RING_EMPTY: the message names the ranks whose parts are missing and for
 * how long), ASYNC (RING_STOPPED: a rank has ended its side, and no whole frame is left; IPC_GONE:
 * a rank's process has ended: the message names it), DRIVER. */
CULV_EXPORT culv_result culv_mpi_acquire_frame(culv_mpi *mpi, uint64_t timeout,
                                               culv_mpi_frame *frame);

/** Gives the frame back. The ranks may write its slot when `done` has reached `value`. `done` is
 * the CUDA half of a semaphore that the renderer's queue signals (culv_shared_semaphore_cuda()).
 * NULL: the GPU has read the frame already (a fence, glFinish()).
 * Errors: INVALID (NULL_ARGUMENT; RING_ORDER: no frame is held), as culv_semaphore_wait(). */
CULV_EXPORT culv_result culv_mpi_release_frame(culv_mpi *mpi, culv_semaphore *done, uint64_t value);

/** Lists the ranks by number: the renderer all of them, another rank itself alone. `ranks` and
 * *count are as in every call that lists (culvert.h).
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE).
 * Ownership: the copies are yours. */
CULV_EXPORT culv_result culv_mpi_get_ranks(culv_mpi *mpi, culv_mpi_rank_info *ranks,
                                           size_t capacity, size_t *count);

/** Returns the name of a way, such as "direct". "unknown" for other values.
 * Ownership: a static string, never NULL. Threads: any. */
CULV_EXPORT const char *culv_mpi_way_name(culv_mpi_way way);

CULV_EXTERN_C_END

#endif
