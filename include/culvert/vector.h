/* SPDX-License-Identifier: MIT */
/* Culvert: a buffer that grows without copying.
 *
 * A culv_vector reserves addresses once and commits memory into them, chunk by chunk. The device
 * address stays the same, running kernels go on, and nothing is copied. When the addresses run out,
 * the vector reserves more behind them. If those are taken, it maps the same chunks into a larger
 * range. The contents are then at both addresses until you retire the old one.
 *
 *   culv_vector_create(device, &desc, &vector);
 *   culv_vector_grow(vector, bytes);
 *   kernel<<<...>>>(culv_vector_pointer(vector));
 *
 * Each chunk is a separate allocation, which can be exported. So Vulkan (culvert/vulkan_vmm.h) or
 * another process imports only the new chunks and keeps those that it has. culv_vector_generation()
 * tells whether there is anything new.
 *
 * Every call is all or nothing: when it fails, the vector is as it was. */
#ifndef CULV_VECTOR_H_
#define CULV_VECTOR_H_

#include "vmm.h"

CULV_EXTERN_C_BEGIN

/** Opaque: a vector. Only one thread at a time may make calls that change it (grow, reserve,
 * shrink, retire). Calls that read may come from any thread at the same time, except for the part
 * that a shrink takes away. If a thread needs both the size and the address, it reads the size
 * first: the address then has at least that many bytes, even if the vector moves in between. */
typedef struct culv_vector culv_vector;

/** Opaque: addresses that CUDA and a graphics API share, so that both have one pointer. In Vulkan:
 * culv_vk_space_info::base of culvert/vulkan_vmm.h. */
typedef struct culv_space culv_space;

/** Called when the vector's address has changed, by the thread that grows it, within its call.
 * `before` is still mapped and shows the same memory until culv_vector_retire(). The callback must
 * not make a call that changes the vector. */
typedef void (*culv_vector_moved)(void *context, culv_vector *vector, CUdeviceptr before,
                                  CUdeviceptr now);

/** A vector to make. */
typedef struct culv_vector_desc {
    size_t struct_size; /**< Set by culv_vector_desc_init(). */
    uint64_t size;      /**< Initial size in bytes. Default: 0. */
    /** Bytes of address space. They cost no memory. Default: 16 times `size` or 1 GiB, whichever is
     * more; in a `space` at most a quarter of the space. If no free range is that large, the vector
     * reserves only what it needs now. */
    uint64_t reserve;
    /** Minimum size of a chunk in bytes. A chunk takes about the same time whatever its size (50 us
     * on an H200), so many small ones are slow to make, grant and unmap. Default: the granularity
     * (2 MiB). */
    uint64_t min_chunk;
    /** Maximum size of a chunk in bytes, at least the granularity (culv_vmm_get_granularity()). A
     * chunk is the unit in which culv_vector_shrink() frees memory and another process imports it.
     * Default: no limit. */
    uint64_t max_chunk;
    /** Minimum size of a chunk, in percent of what is already committed. A vector that grows in
     * small steps then has few chunks: with 50, a grow commits up to half as much again. Default:
     * 0, which commits what was asked for, rounded up. */
    uint32_t growth_percent;
    uint32_t handle_types; /**< As culv_vmm_allocation_desc::handle_types. */
    uint32_t usage;        /**< As culv_vmm_allocation_desc::usage, except TILE_POOL. */
    /** Bytes that a thread of the vector keeps committed beyond its size, so that
     * culv_vector_grow() only has to publish them. The thread starts to work when less than half of
     * them are left. It extends the addresses in place and never moves the vector. Default: 0, no
     * thread. */
    uint64_t commit_ahead;
    const culv_vmm_access *access; /**< Devices that use the vector. Read during the call. */
    size_t access_count;     /**< Default: 0, which lets the vector's own device read and write. */
    culv_vector_moved moved; /**< Default: none. The vector may move without it. */
    void *moved_context;
    /** Nonzero: the vector never moves. If it cannot grow in place, the call fails (ADDRESS). */
    culv_bool no_move;
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
    /** The space in which the vector lives. The vector takes `reserve` bytes of its addresses,
     * never moves and never gets more. It has the same address in the graphics API, which sees each
     * chunk without an import. A grow returns when both sides may use the memory. A shrink takes it
     * from both sides: let `last_use` wait for the graphics API's work too. handle_types then
     * always includes the opaque type. The calls that change or destroy the vector, and the thread
     * of `commit_ahead`, use the space's queue. The vector keeps the space alive. Default: NULL, no
     * space. */
    culv_space *space;
} culv_vector_desc;

/** culv_vector_desc_init(): an empty vector in the device's memory. */
CULV_INIT(culv_vector_desc)

/** The state and the history of a vector. */
typedef struct culv_vector_stats {
    size_t struct_size; /**< Set by culv_vector_stats_init(). */
    uint64_t size;      /**< Bytes in use: the size of the last grow or shrink. */
    /** Bytes of memory behind them, rounded up and including those committed ahead. */
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
 * work with the vector should be done. Otherwise the call DEFERS: the memory is freed behind the
 * work of *last_use, as by culv_vmm_unmap(). If that stream is in capture, Culvert cannot see its
 * progress: the memory is freed with the device, and counts as deferred until then.
 *
 * In a space (culvert/vulkan_vmm.h) Vulkan's half is freed in a later call for the space. Memory
 * that Vulkan or another process imported stays with them. If tensors exist (culvert/dlpack.h), all
 * memory stays until the last one is deleted. */
CULV_EXPORT void culv_vector_destroy(culv_vector **vector, const CUstream *last_use);

/** Makes the vector at least `size` bytes long. It commits what is missing, or publishes what was
 * committed ahead. Kernels that use the vector go on. A smaller size does nothing. If there is no
 * memory for a chunk as large as the descriptor asks for, the call takes a chunk of exactly what is
 * missing. After an error nothing has changed, not even the number of committed bytes.
 * Errors: INVALID (NULL_ARGUMENT; SIZE: it overflows), OUT_OF_MEMORY (DEVICE_MEMORY, HOST_MEMORY;
 * ADDRESS: no_move is set, or there are no addresses), BUSY (MAPPED: the driver does not take back
 * memory that a shrink freed there), DRIVER, ASYNC.
 * Threads: any, but not during culv_vector_shrink(). If two calls commit, one waits for the
 * other. */
CULV_EXPORT culv_result culv_vector_grow(culv_vector *vector, uint64_t size);

/** Makes room for at least `size` bytes of addresses, in place or by moving. Commits nothing.
 * Errors: as culv_vector_grow().
 * Threads: any, but not during culv_vector_shrink(). */
CULV_EXPORT culv_result culv_vector_reserve(culv_vector *vector, uint64_t size);

/** Makes the vector `size` bytes long, if it is longer. With the vector's own size it frees memory
 * that was committed beyond it. Never waits for the GPU.
 *
 * The call frees chunks that lie wholly beyond `size` and beyond `commit_ahead`, at old addresses
 * too. It DEFERS, as culv_vmm_unmap() does. Only after the release can their addresses be
 * committed again. A grow that comes earlier waits on the host for `last_use`, and the log says so.
 *
 * After an error nothing has changed. If the driver refuses only part of the work, that part stays
 * committed, or stays at an old address until you retire it, and the log says so.
 * Errors: INVALID (NULL_ARGUMENT, CAPTURE, STREAM_DEVICE), BUSY (OWNED: a tensor of
 * culv_vector_get_dlpack() uses a part of that memory), DRIVER, ASYNC.
 * Threads: one at a time, and no other call that changes the vector meanwhile. */
CULV_EXPORT culv_result culv_vector_shrink(culv_vector *vector, uint64_t size, CUstream last_use);

/** Unmaps an old address: the `before` that culv_vector_moved reported. 0: all old addresses. It
 * DEFERS, as culv_vmm_unmap() does.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: not an old address of this vector; CAPTURE,
 * STREAM_DEVICE), BUSY (OWNED: a tensor uses it), DRIVER, ASYNC. After an error you can retire the
 * remaining ones again.
 * Threads: any, but not during culv_vector_shrink().
 * Source: rule: kernels may use an old address until the caller retires it. */
CULV_EXPORT culv_result culv_vector_retire(culv_vector *vector, CUdeviceptr before,
                                           CUstream last_use);

/** Returns the address of the first byte. 0 for NULL. Only a move changes it.
 * Ownership: the vector owns the memory; never pass it to cuMemFree. */
CULV_EXPORT CUdeviceptr culv_vector_pointer(const culv_vector *vector);

/** Returns the number of bytes in use. 0 for NULL. */
CULV_EXPORT uint64_t culv_vector_size(const culv_vector *vector);

/** Returns the number of bytes of memory behind the vector. 0 for NULL. */
CULV_EXPORT uint64_t culv_vector_committed(const culv_vector *vector);

/** Returns a number that counts changes of the chunks and of the address, from 1 on. 0 for NULL. A
 * side that has already seen this number has nothing to import. */
CULV_EXPORT uint64_t culv_vector_generation(const culv_vector *vector);

/** Lists the chunks by offset. `parts` and *count are as in every call that lists (culvert.h).
 * Sets *generation (which may be NULL) to the generation of this list.
 * Errors: INVALID (NULL_ARGUMENT).
 * Ownership: the copies are yours; the vector owns the allocations in them, which are valid until a
 * shrink removes the chunk. */
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

/** Destroys the view with its buffers, before or after the vector is destroyed.
 *
 * The API's work with the buffers must be done; OpenGL keeps the memory until its own work is done.
 * Errors: INVALID (CONTEXT: it is OpenGL's, and no context of its attachment is current on this
 * thread). After an error nothing is done.
 * Threads: any, and for OpenGL's the context's; ordered with other calls on this view and with the
 * destruction of its VkDevice. */
CULV_EXPORT culv_result culv_vector_view_destroy(culv_vector_view **view);

/** Imports new chunks, and destroys the buffers of chunks that the vector no longer has. No work of
 * the API may still use those buffers, except OpenGL's. The other buffers keep their handles or
 * names.
 *
 * The call does nothing if the view already has the vector's generation, and it imports nothing if
 * the vector only moved. A sparse view of Vulkan binds and unbinds in one batch on its queue, and
 * waits on the host until that is done. After an error the view is as it was. After
 * culv_vector_destroy() the view keeps its buffers, and the memory lives as long as the view.
 * Errors: as the call that made the view; INVALID (NULL_ARGUMENT; VALUE: the vector was destroyed;
 * CONTEXT, as culv_vector_view_destroy()), OUT_OF_MEMORY, DRIVER, ASYNC.
 * Threads: one at a time, and not during a call that changes the vector; for OpenGL's, the
 * context's; with a sparse queue, ordered with other uses of that queue. */
CULV_EXPORT culv_result culv_vector_view_update(culv_vector_view *view);

/** Lists the buffers by offset: one for each chunk, or one sparse buffer, of the bytes that are
 * bound. They may hold more than culv_vector_size() bytes: end the last part at that size. Each
 * buffer needs barriers as any shared one (culv_vk_buffer_get_barrier2() with the part's buffer).
 * `parts` and *count are as in every call that lists (culvert.h).
 * Errors: INVALID (NULL_ARGUMENT).
 * Ownership: Culvert owns the buffers, which are valid until an update drops them.
 * Threads: one at a time. */
CULV_EXPORT culv_result culv_vector_view_get_parts(const culv_vector_view *view, culv_part *parts,
                                                   size_t capacity, size_t *count);

/** Returns the generation of the vector that the view shows. 0 for NULL. */
CULV_EXPORT uint64_t culv_vector_view_generation(const culv_vector_view *view);

CULV_EXTERN_C_END

#endif
