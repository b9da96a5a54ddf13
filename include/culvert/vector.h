/* SPDX-License-Identifier: MIT */
/* Culvert: a buffer that grows without copying.
 *
 * A culv_vector reserves more addresses than it needs at first, and commits memory into them chunk
 * by chunk. So the device address stays the same, running kernels go on, and nothing is copied.
 * When the addresses run out, the vector reserves more behind them. If these are not free, it maps
 * the same chunks into a larger range. The contents are then visible at both addresses until you
 * retire the old one.
 *
 *   culv_vector_create(device, &desc, &vector);
 *   culv_vector_grow(vector, bytes);
 *   kernel<<<...>>>(culv_vector_pointer(vector));
 *
 * Each chunk is a separate allocation that can be exported. So Vulkan (culvert/vulkan_vmm.h) or
 * another process imports only the new chunks, and keeps its earlier imports.
 * culv_vector_generation() tells whether anything changed.
 *
 * If a call fails, the vector's size, address and contents are as before. */
#ifndef CULV_VECTOR_H_
#define CULV_VECTOR_H_

#include "vmm.h"

CULV_EXTERN_C_BEGIN

/** Opaque: a vector. Any thread may call it at any time, except that a shrink must be the only call
 * that changes the vector meanwhile. If a thread needs both the size and the address, it must read
 * the size first: the address then has at least that many bytes, even if the vector moves in
 * between. */
typedef struct culv_vector culv_vector;

/** Opaque: addresses that CUDA and a graphics API share, so that a pointer is valid in both. In
 * Vulkan, culv_vk_space_info::base (culvert/vulkan_vmm.h) is their beginning. */
typedef struct culv_space culv_space;

/** Called when the vector's address has changed, on the thread that grows it, during that call.
 * `before` is still mapped and shows the same memory until culv_vector_retire(). The callback must
 * not make a call that changes the vector. */
typedef void (*culv_vector_moved)(void *context, culv_vector *vector, CUdeviceptr before,
                                  CUdeviceptr now);

/** A vector to make. */
typedef struct culv_vector_desc {
    size_t struct_size; /**< Set by culv_vector_desc_init(). */
    uint64_t size;      /**< Initial size in bytes. Default: 0. */
    /** Bytes of address space. They cost no memory. Default: 16 times `size` or 1 GiB, whichever is
     * more; in a `space`, at most a quarter of the space. If no free range is that large, the
     * vector reserves only what it needs now. */
    uint64_t reserve;
    /** Minimum size of a chunk in bytes. It takes about 50 us to make a chunk on an H200, whatever
     * its size. So a few large chunks are faster than many small ones. Default: the granularity (2
     * MiB). */
    uint64_t min_chunk;
    /** Maximum size of a chunk in bytes, at least the granularity (culv_vmm_get_granularity()). A
     * chunk is the unit in which culv_vector_shrink() frees memory and another process imports it.
     * Default: no limit. */
    uint64_t max_chunk;
    /** Minimum size of a chunk, in percent of the bytes that are already committed, so that a
     * vector that grows in small steps has few chunks. With 50, a chunk has at least half of the
     * bytes that are committed already. Default: 0: a grow commits what it needs, rounded up. */
    uint32_t growth_percent;
    uint32_t handle_types; /**< As culv_vmm_allocation_desc::handle_types. */
    uint32_t usage;        /**< As culv_vmm_allocation_desc::usage, except TILE_POOL. */
    /** Bytes that a thread of Culvert keeps committed beyond the vector's size, so that
     * culv_vector_grow() only has to publish them. The thread commits more when less than half of
     * them are left. It extends the addresses in place and never moves the vector. Default: 0, no
     * thread. */
    uint64_t commit_ahead;
    const culv_vmm_access *access; /**< Devices that use the vector. Read during the call. */
    size_t access_count;           /**< Default: 0: the vector's device reads and writes. */
    culv_vector_moved moved;       /**< Default: none. The vector may move without it. */
    void *moved_context;
    /** Nonzero: the vector never moves. If it cannot grow in place, the call fails (ADDRESS). */
    culv_bool no_move;
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
    /** The space in which the vector lives. The vector takes `reserve` bytes of its addresses,
     * never moves and never gets more. It has the same address in the graphics API, which sees each
     * chunk without an import. A grow returns when both sides may use the memory. A shrink takes
     * the memory from both sides: let `last_use` wait for the graphics API's work too. In a space,
     * handle_types always includes the opaque type. The calls that change or destroy the vector,
     * and the thread of `commit_ahead`, use the space's queue. The vector keeps the space alive.
     * Default: NULL, no space. */
    culv_space *space;
} culv_vector_desc;

/** culv_vector_desc_init(): an empty vector in the device's memory. */
CULV_INIT(culv_vector_desc)

/** The state and the history of a vector. */
typedef struct culv_vector_stats {
    size_t struct_size; /**< Set by culv_vector_stats_init(). */
    uint64_t size;      /**< Bytes in use: the size of the last grow or shrink. */
    /** Bytes of memory, rounded up, with the memory that was committed ahead. */
    uint64_t committed;
    uint64_t peak;          /**< The most bytes that were ever committed. */
    uint64_t reserved;      /**< Bytes of address space at the present address. */
    uint64_t chunks;        /**< Number of chunks. */
    uint64_t extensions;    /**< Number of times that addresses were added in place. */
    uint64_t moves;         /**< Number of times that the address changed. */
    uint64_t retiring;      /**< Number of old addresses that are still mapped. */
    uint64_t ahead_commits; /**< Number of chunks that the thread committed. */
    /** Number of times that a grow had to commit memory itself although `commit_ahead` is set. */
    uint64_t ahead_misses;
} culv_vector_stats;

CULV_INIT(culv_vector_stats)

/** Makes a vector. desc may be NULL for the default.
 * Errors: as culv_vmm_range_create(), culv_vmm_allocation_create() and culv_vmm_map(); INVALID
 * (VALUE: min_chunk is above max_chunk, or a usage is wrong).
 * Ownership: *out is yours, for culv_vector_destroy(). */
CULV_EXPORT culv_result culv_vector_create(culv_device *device, const culv_vector_desc *desc,
                                           culv_vector **out);

/** Destroys the vector, including its old addresses. Does NOT wait. If last_use is NULL, the GPU's
 * work with the vector must have finished. If it is not NULL, the call DEFERS: the memory is freed
 * after the work in *last_use has finished, as by culv_vmm_unmap(). If that stream is being
 * captured, Culvert cannot see its progress: the memory is freed with the device, and counts as
 * deferred until then.
 *
 * In a space (culvert/vulkan_vmm.h), Vulkan's half is freed in a later call on that space. If
 * Vulkan or another process imported the memory, their imports stay valid. If tensors exist
 * (culvert/dlpack.h), all memory stays until the last one is deleted. */
CULV_EXPORT void culv_vector_destroy(culv_vector **vector, const CUstream *last_use);

/** Makes the vector at least `size` bytes long. It commits the missing bytes, or publishes bytes
 * that were committed ahead. Kernels that use the vector go on. A smaller size does nothing. If
 * there is not enough memory for a chunk as large as the descriptor asks for, the call makes a
 * chunk of the missing bytes alone. After an error nothing has changed, not even the number of
 * committed bytes.
 * Errors: INVALID (NULL_ARGUMENT; SIZE: it overflows), OUT_OF_MEMORY (DEVICE_MEMORY, HOST_MEMORY;
 * ADDRESS: no_move is set, or there are no addresses), BUSY (MAPPED: a shrink freed memory at these
 * addresses, and the driver refuses to unmap it), DRIVER, ASYNC.
 * Threads: any, but not during culv_vector_shrink(). If two calls commit, one waits for the
 * other. */
CULV_EXPORT culv_result culv_vector_grow(culv_vector *vector, uint64_t size);

/** Reserves at least `size` bytes of addresses, in place or by a move. Commits nothing.
 * Errors: as culv_vector_grow().
 * Threads: any, but not during culv_vector_shrink(). */
CULV_EXPORT culv_result culv_vector_reserve(culv_vector *vector, uint64_t size);

/** Shortens the vector to `size` bytes. A larger size does nothing. If `size` is the present size,
 * the call only frees memory that was committed beyond it. Never waits for the GPU.
 *
 * The call frees the chunks that lie wholly beyond the first `size` + `commit_ahead` bytes. It
 * unmaps them at old addresses too. The call DEFERS the release, as culv_vmm_unmap() does. Until
 * the release, no memory can be committed at these addresses. If a grow comes earlier, it waits on
 * the host for `last_use`, and the log says so.
 *
 * After an error nothing has changed. If the driver refuses only a part of the work, the call
 * succeeds: that part stays committed, or stays at an old address until you retire it, and the log
 * says so.
 * Errors: INVALID (NULL_ARGUMENT, CAPTURE, STREAM_DEVICE), BUSY (OWNED: a tensor of
 * culv_vector_get_dlpack() uses a part of that memory), DRIVER, ASYNC.
 * Threads: one at a time, and no other call that changes the vector meanwhile. */
CULV_EXPORT culv_result culv_vector_shrink(culv_vector *vector, uint64_t size, CUstream last_use);

/** Unmaps an old address, which is the `before` that culv_vector_moved reported. If `before` is 0,
 * it unmaps all old addresses. It DEFERS, as culv_vmm_unmap() does.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: not an old address of this vector; CAPTURE,
 * STREAM_DEVICE), BUSY (OWNED: a tensor uses it), DRIVER, ASYNC. After an error, call it again for
 * the addresses that are left.
 * Threads: any, but not during culv_vector_shrink().
 * Source: docs/decisions.md, R24. */
CULV_EXPORT culv_result culv_vector_retire(culv_vector *vector, CUdeviceptr before,
                                           CUstream last_use);

/** Returns the address of the first byte, or 0 for NULL. Only a move changes it.
 * Ownership: the vector owns the memory; never pass it to cuMemFree. */
CULV_EXPORT CUdeviceptr culv_vector_pointer(const culv_vector *vector);

/** Returns the number of bytes in use, or 0 for NULL. */
CULV_EXPORT uint64_t culv_vector_size(const culv_vector *vector);

/** Returns the number of bytes of memory behind the vector, or 0 for NULL. */
CULV_EXPORT uint64_t culv_vector_committed(const culv_vector *vector);

/** Returns the number of changes of the chunks and of the address, from 1 on, or 0 for NULL. If a
 * side has already seen this number, it has nothing to import. */
CULV_EXPORT uint64_t culv_vector_generation(const culv_vector *vector);

/** Lists the chunks by offset. `parts` and *count are as in every call that lists (culvert.h). Sets
 * *generation (which may be NULL) to the generation of this list.
 * Errors: INVALID (NULL_ARGUMENT).
 * Ownership: the elements are yours. The vector owns the allocations that they point to, which are
 * valid until a shrink removes the chunk. */
CULV_EXPORT culv_result culv_vector_get_parts(const culv_vector *vector, culv_part *parts,
                                              size_t capacity, size_t *count, uint64_t *generation);

/** Fills *out with the state and the history of the vector.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE). */
CULV_EXPORT culv_result culv_vector_get_stats(const culv_vector *vector, culv_vector_stats *out);

/* Views of graphics APIs ----------------------------------------------------------------------- */

/* A graphics API's view of a culv_vector, with native buffers on its chunks. Each API has its own
 * call that makes a view (culv_vk_vector_view_create(), culv_gl_vector_view_create(),
 * culv_d3d12_vector_view_create()). The calls of this header serve all APIs. After each grow,
 * update the view and list its parts again. */

/** Opaque: a graphics API's buffers on the chunks of a vector. */
typedef struct culv_vector_view culv_vector_view;

/** Destroys the view and its buffers. You may destroy the vector before or after it.
 *
 * The API's work with the buffers must be done; OpenGL keeps the memory until its own work is done.
 * Errors: INVALID (CONTEXT: it is OpenGL's view, and no context of its attachment is current on
 * this thread). After an error nothing is done.
 * Threads: any (OpenGL: the context's thread), but not during another call on this view or the
 * destruction of its VkDevice. */
CULV_EXPORT culv_result culv_vector_view_destroy(culv_vector_view **view);

/** Imports new chunks, and destroys the buffers of chunks that the vector no longer has. The API's
 * work must not use those buffers any more; only OpenGL's work may. The other buffers keep their
 * handles or names.
 *
 * The call does nothing if the view already has the vector's generation, and it imports nothing if
 * the vector only moved. A sparse view of Vulkan binds and unbinds in one batch on its queue, and
 * waits on the host until that is done. After an error the view is as it was. After
 * culv_vector_destroy() the view keeps its buffers, and the memory lives as long as the view.
 * Errors: as the call that made the view; INVALID (NULL_ARGUMENT; VALUE: the vector was destroyed;
 * CONTEXT, as culv_vector_view_destroy()), OUT_OF_MEMORY, DRIVER, ASYNC.
 * Threads: one at a time (OpenGL: the context's thread), and not during a call that changes the
 * vector. If the view is sparse, do not use its queue meanwhile. */
CULV_EXPORT culv_result culv_vector_view_update(culv_vector_view *view);

/** Lists the buffers by offset: one for each chunk, or the one sparse buffer, whose size is then
 * the number of bytes that have memory. They may hold more than culv_vector_size() bytes: end the
 * last part at that size. Each buffer needs the same barriers as any shared buffer
 * (culv_vk_buffer_get_barrier2() with the part's buffer). `parts` and *count are as in every call
 * that lists (culvert.h).
 * Errors: INVALID (NULL_ARGUMENT).
 * Ownership: Culvert owns the buffers. They are valid until an update removes them.
 * Threads: one at a time. */
CULV_EXPORT culv_result culv_vector_view_get_parts(const culv_vector_view *view, culv_part *parts,
                                                   size_t capacity, size_t *count);

/** Returns the generation of the vector that the view shows, or 0 for NULL. */
CULV_EXPORT uint64_t culv_vector_view_generation(const culv_vector_view *view);

CULV_EXTERN_C_END

#endif
