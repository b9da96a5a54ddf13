/* SPDX-License-Identifier: MIT */
/* Culvert: a buffer that grows without copying.
 *
 * A culv_vector reserves addresses once and commits memory into them, chunk by chunk: the device
 * address stays, kernels that run go on, and nothing is copied. When the addresses end, it reserves
 * more behind them, or, where those are taken, maps the same chunks at a larger range: the contents
 * are at both addresses until the caller retires the old one.
 *
 * Each chunk is an allocation of its own: it can be exported, so that Vulkan (culvert/vulkan_vmm.h)
 * or another process imports a new chunk alone and keeps those that it has.
 * culv_vector_generation() tells whether there is anything new.
 *
 * All or nothing: a call that fails leaves the vector as it was. */
#ifndef CULV_VECTOR_H_
#define CULV_VECTOR_H_

#include "vmm.h"

CULV_EXTERN_C_BEGIN

/** Opaque. One thread at a time calls what changes it (grow, reserve, shrink, retire); the reading
 * calls may come from any thread beside those, but for what lies in the part that a shrink takes
 * away. Who wants both reads the size before the address: then the address has that many bytes,
 * whatever moves meanwhile. */
typedef struct culv_vector culv_vector;

/** Told by the growing thread, within its call, when the vector's address has become another one:
 * `before` is still mapped and shows the same memory until culv_vector_retire(). Makes no call that
 * changes the vector. */
typedef void (*culv_vector_moved)(void *context, culv_vector *vector, CUdeviceptr before,
                                  CUdeviceptr now);

/** A vector to make. Zero in every field but struct_size means the default. */
typedef struct culv_vector_desc {
    size_t struct_size; /**< Set by culv_vector_desc_init(). */
    uint64_t size;      /**< Bytes to begin with. Default: 0. */
    /** Bytes of address space; costs no memory. Default: 16 times `size`, 1 GiB at the least; less
     * where that is not free. */
    uint64_t reserve;
    /** Bytes that a chunk has at the least. A chunk costs about the same time whatever its size (50
     * us on an H200), so that many small ones are slow to make, grant and unmap. Default: the
     * granularity (2 MiB). */
    uint64_t min_chunk;
    /** Bytes that a chunk has at the most: what culv_vector_shrink() can give back and another
     * process imports at once. Default: no limit. */
    uint64_t max_chunk;
    /** A chunk has at least this part of what is committed already, so that a vector that grows by
     * small steps has few of them: 50 commits up to half as much again. Default: 0, what was asked
     * for, rounded up. */
    uint32_t growth_percent;
    uint32_t handle_types; /**< As culv_vmm_allocation_desc::handle_types. */
    uint32_t usage;        /**< As culv_vmm_allocation_desc::usage; not TILE_POOL. */
    /** Bytes that a thread of the vector's keeps committed beyond its size, so that
     * culv_vector_grow() only publishes them. It goes to work when less than half of them is left,
     * extends the addresses in place, and never moves the vector. Default: 0, no thread. */
    uint64_t commit_ahead;
    const culv_vmm_access *access; /**< Devices that use it, read during the call. */
    size_t access_count;           /**< Default: 0, reading and writing by its own. */
    culv_vector_moved moved;       /**< Default: none. The vector may move without it. */
    void *moved_context;
    /** Nonzero: it never moves; growing beyond what can be reserved in place fails (ADDRESS). */
    culv_bool no_move;
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
} culv_vector_desc;

/** Returns a default descriptor: an empty vector of the device's memory.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_vector_desc culv_vector_desc_init(void)
{
    culv_vector_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    return d;
}

/** A chunk of a vector. */
typedef struct culv_vector_chunk {
    /** Counts the vector's chunks from 1 on, those included that are gone: tells a chunk from the
     * one that came in its place. */
    uint64_t id;
    uint64_t offset; /**< Bytes into the vector. */
    uint64_t size;   /**< Bytes, all of them committed. */
    /** The vector's: valid until a shrink takes the chunk away. */
    culv_vmm_allocation *allocation;
} culv_vector_chunk;

/** What a vector has done. */
typedef struct culv_vector_stats {
    size_t struct_size;     /**< Set by culv_vector_stats_init(). */
    uint64_t size;          /**< Bytes in use: what the last grow or shrink asked for. */
    uint64_t committed;     /**< Bytes of memory behind them, rounded up and ahead. */
    uint64_t peak;          /**< The most that was ever committed. */
    uint64_t reserved;      /**< Bytes of address space at its present address. */
    uint64_t chunks;        /**< Chunks there are. */
    uint64_t extensions;    /**< Times that addresses were added in place. */
    uint64_t moves;         /**< Times that the address changed. */
    uint64_t retiring;      /**< Old addresses that are still mapped. */
    uint64_t ahead_commits; /**< Chunks that the thread committed. */
    uint64_t ahead_misses;  /**< Times that a grow had to commit itself although `ahead` is set. */
} culv_vector_stats;

/** Empty statistics with their struct_size set.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_vector_stats culv_vector_stats_init(void)
{
    culv_vector_stats s;
    memset(&s, 0, sizeof s);
    s.struct_size = sizeof s;
    return s;
}

/** Makes a vector.
 * Errors: as culv_vmm_range_create(), culv_vmm_allocation_create() and culv_vmm_map(); INVALID
 * (VALUE: min_chunk above max_chunk, a usage).
 * Ownership: *out is yours; give it to culv_vector_destroy().
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_vector_create(culv_device *device, const culv_vector_desc *desc,
                                           culv_vector **out);

/** Gives the vector up, its old addresses included, and sets *vector to NULL; NULL, or a pointer to
 * NULL, is a no-op. Does NOT wait: the GPU's work with it should be done. What Vulkan or another
 * process imported stays theirs.
 * Errors: none.
 * Ownership: *vector is Culvert's again.
 * Threads: any, after the last call.
 * Since: 0.1 */
CULV_EXPORT void culv_vector_destroy(culv_vector **vector);

/** As culv_vector_destroy(), but DEFERS: the memory goes once `last_use` has done what was
 * submitted to it so far, as with culv_vmm_unmap_after().
 * Errors: none; where the stream cannot tell (it is in capture), the memory goes with the device,
 * and counts as deferred until then.
 * Ownership: *vector is Culvert's again.
 * Threads: any, after the last call.
 * Since: 0.1 */
CULV_EXPORT void culv_vector_destroy_after(culv_vector **vector, CUstream last_use);

/** Makes the vector `size` bytes at the least: commits what is missing, or publishes what is
 * committed ahead. Kernels that use it go on. A smaller size is no shrink: nothing happens. Where
 * there is no memory for the chunk that the descriptor's policy wants, what is missing is enough.
 * After an error nothing has changed, not even its committed bytes.
 * Errors: INVALID (NULL_ARGUMENT, SIZE: it overflows), OUT_OF_MEMORY (DEVICE_MEMORY, HOST_MEMORY;
 * ADDRESS: it is `fixed`, or there are no addresses), BUSY (MAPPED: the driver does not take back
 * what a shrink gave up there), DRIVER, ASYNC.
 * Ownership: none.
 * Threads: one at a time.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_vector_grow(culv_vector *vector, uint64_t size);

/** Makes room for `size` bytes of addresses at the least, in place or by moving, and commits
 * nothing.
 * Errors: as culv_vector_grow().
 * Ownership: none.
 * Threads: one at a time.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_vector_reserve(culv_vector *vector, uint64_t size);

/** Makes the vector `size` bytes, if it has more. Chunks that lie wholly beyond `size` (and beyond
 * what is kept ahead) are given back, at old addresses too, once `last_use` has done what was
 * submitted to it so far (DEFERS, as culv_vmm_unmap_after()); their addresses can be committed anew
 * only then, so that a grow in between waits on the host for that stream, which the message log
 * tells. Its own size gives back what was committed beyond it. Never waits for the GPU. After an
 * error nothing has changed; what the driver refuses of a part alone stays committed, or at an old
 * address until it is retired (logged).
 * Errors: INVALID (NULL_ARGUMENT, CAPTURE, STREAM_DEVICE), DRIVER, ASYNC.
 * Ownership: none.
 * Threads: one at a time.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_vector_shrink(culv_vector *vector, uint64_t size, CUstream last_use);

/** Gives an old address up once `last_use` has done what was submitted to it so far (DEFERS).
 * `before` is what culv_vector_moved told; 0: all old addresses.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: no old address of this vector; CAPTURE, STREAM_DEVICE),
 * DRIVER, ASYNC. Those that are left after an error can be retired again.
 * Ownership: none.
 * Threads: one at a time.
 * Since: 0.1.
 * Source: rule: kernels that still use an old address go on until the caller says that none
 * does. */
CULV_EXPORT culv_result culv_vector_retire(culv_vector *vector, CUdeviceptr before,
                                           CUstream last_use);

/** The address of the first byte; 0 for NULL. Changes with a move alone.
 * Errors: none.
 * Ownership: the vector's: no cuMemFree.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT CUdeviceptr culv_vector_pointer(const culv_vector *vector);

/** Bytes in use; 0 for NULL.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT uint64_t culv_vector_size(const culv_vector *vector);

/** Bytes of memory behind the vector; 0 for NULL.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT uint64_t culv_vector_committed(const culv_vector *vector);

/** Counts changes of the chunks and of the address, from 1 on; 0 for NULL. Another side that has
 * seen this number has nothing to import.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT uint64_t culv_vector_generation(const culv_vector *vector);

/** Lists the chunks by offset: as many as `capacity` into chunks (which may be NULL with 0), the
 * number that there is into *count, and into *generation (which may be NULL) the generation that
 * this is.
 * Errors: INVALID (NULL_ARGUMENT).
 * Ownership: copies, yours; the allocations in them are the vector's.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_vector_get_chunks(const culv_vector *vector, culv_vector_chunk *chunks,
                                               size_t capacity, size_t *count,
                                               uint64_t *generation);

/** Fills out with what the vector has and did.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE).
 * Ownership: the copy is yours.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_vector_get_stats(const culv_vector *vector, culv_vector_stats *out);

CULV_EXTERN_C_END

#endif
