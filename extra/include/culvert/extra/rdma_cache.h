/* SPDX-License-Identifier: MIT */
/* Culvert: keeps memory pinned for cards (a registration cache, or pin-down cache).
 *
 * Pinning can take milliseconds, so memory stays pinned after a transfer, until it is freed or
 * other memory needs the space. The cache calls your functions to pin and unpin, through verbs, a
 * kernel driver or another interface of the card.
 *
 *   culv_rdma_cache_create(device, &desc, &cache);            desc has pin() and unpin()
 *   culv_rdma_cache_get(cache, pointer, size, &registration); pinned now, or long ago
 *   ... culv_rdma_registration_cookie(registration) ...       what pin() gave, such as an ibv_mr
 *   culv_rdma_registration_put(&registration);                it stays pinned
 *
 * A registration is a range of one allocation, rounded to chunks of 64 KiB. Requests within the
 * range share the registration. If a request overlaps it and leaves it, the request gets a new
 * registration that covers both.
 *
 * The cache must not return a registration of freed memory, even if new memory has the same
 * address. So it asks CUDA for the buffer's id at each look-up (tens of nanoseconds), or you report
 * each free: see culv_rdma_cache_desc::validity.
 *
 * The cache makes the copies of memory that it pins synchronous (SYNC_MEMOPS). VMM memory cannot
 * carry that: allow the context's flag once, by culv_rdma_set_sync_memops().
 *
 * A child of fork() gets no registration from its parent's cache (UNSUPPORTED, FORKED). If the
 * child puts, trims or destroys, no callback runs, and the memory stays pinned for the parent. */
#ifndef CULV_EXTRA_RDMA_CACHE_H_
#define CULV_EXTRA_RDMA_CACHE_H_

#include "rdma.h"

CULV_EXTERN_C_BEGIN

/** Opaque: the cache. Any thread may call it at any time. */
typedef struct culv_rdma_cache culv_rdma_cache;
/** Opaque: pinned memory that is in use until culv_rdma_registration_put(). */
typedef struct culv_rdma_registration culv_rdma_registration;

/** The way in which the cache finds out that pinned memory is still the same. */
typedef enum culv_rdma_validity {
    /** It asks for CU_POINTER_ATTRIBUTE_BUFFER_ID at each look-up. Mapped external memory and VMM
     * mappings have ids too. */
    CULV_RDMA_VALIDITY_BUFFER_ID = 0,
    /** You call culv_rdma_cache_invalidate() before each free and unmap. If you forget one, the
     * card writes into memory that belongs to others. */
    CULV_RDMA_VALIDITY_NOTIFICATION = 1,
    CULV_RDMA_VALIDITY_FORCE32 = 0x7fffffff
} culv_rdma_validity;

/** The reason for an unpin. */
typedef enum culv_rdma_unpin_why {
    /** Other memory needs the space, culv_rdma_cache_trim() was called, or the cache is destroyed.
     * The memory still exists: in the kernel, call nvidia_p2p_put_pages(). */
    CULV_RDMA_UNPIN_EVICTED = 0,
    /** A larger registration, already pinned, covers it. The memory still exists. */
    CULV_RDMA_UNPIN_REPLACED = 1,
    /** The memory was freed. The driver has revoked the pages already, and called your kernel
     * driver's free callback: free the page table (nvidia_p2p_free_page_table()), and put no pages.
     * Deregister a verbs memory region as usual. */
    CULV_RDMA_UNPIN_FREED = 2,
    CULV_RDMA_UNPIN_FORCE32 = 0x7fffffff
} culv_rdma_unpin_why;

/** The range to pin. */
typedef struct culv_rdma_range {
    size_t struct_size; /**< Set by culv_rdma_range_init(), and by Culvert for pin() and unpin(). */
    culv_pointer_kind kind;
    /** Pages: multiples of CULV_RDMA_CHUNK. They may exceed the allocation on both sides. */
    CUdeviceptr page_start;
    uint64_t page_size;
    CUdeviceptr start; /**< Part of these pages that belongs to the allocation. */
    uint64_t size;
    CUdeviceptr allocation_start; /**< For VMM memory: of the mapping. */
    uint64_t allocation_size;
    uint64_t buffer_id;
} culv_rdma_range;

CULV_INIT(culv_rdma_range)

/** Pins a range. The cache calls it on the thread of the look-up and holds no lock meanwhile. It
 * may call the cache, but not for a range that overlaps this one. Return CULV_OK and set *cookie.
 * If there is no room, return CULV_ERROR_OUT_OF_MEMORY: the cache then unpins the least recently
 * used memory and tries again. If you return another error, culv_rdma_cache_get() returns it, with
 * the message that you recorded by culv_last_error_set(). */
typedef culv_result (*culv_rdma_pin)(void *user, const culv_rdma_range *range, void **cookie);
/** Unpins a range. The cache calls it on the thread that makes it necessary (by a look-up, the last
 * put, or an invalidation) and holds no lock meanwhile. */
typedef void (*culv_rdma_unpin)(void *user, const culv_rdma_range *range, void *cookie,
                                culv_rdma_unpin_why why);

/** A cache to make. */
typedef struct culv_rdma_cache_desc {
    size_t struct_size;    /**< Set by culv_rdma_cache_desc_init(). */
    culv_rdma_pin pin;     /**< Required. */
    culv_rdma_unpin unpin; /**< Required. */
    void *user;            /**< Argument of both functions. */
    culv_rdma_validity validity;
    /** Maximum bytes pinned at a time, in chunks of 64 KiB; chunks that two registrations share
     * count once. Leave room for others in BAR1 (culv_rdma_bar1::usable). Default: no limit. */
    uint64_t max_bytes;
    /** Nonzero: never pin the whole allocation. 0: an allocation up to a tenth of max_bytes
     * (without max_bytes: of the device's memory) is pinned as a whole. */
    culv_bool exact_ranges;
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
} culv_rdma_cache_desc;

CULV_INIT(culv_rdma_cache_desc)

/** The state and the history of a cache. */
typedef struct culv_rdma_cache_stats {
    size_t struct_size;   /**< Set by culv_rdma_cache_stats_init(). */
    uint64_t entries;     /**< Registrations that a look-up can find. */
    uint64_t bytes;       /**< Pinned bytes, in chunks of 64 KiB; shared chunks count once. */
    uint64_t leaving;     /**< Registrations in use that look-ups no longer find. */
    uint64_t misses;      /**< Look-ups that found nothing. Hits are not counted. */
    uint64_t pins;        /**< Calls of pin() that succeeded. */
    uint64_t unpins;      /**< Calls of unpin(). */
    uint64_t evictions;   /**< Unpins that were made to free space. */
    uint64_t freed;       /**< Registrations whose memory was freed. */
    uint64_t replaced;    /**< Registrations that a larger one replaced. */
    uint64_t pin_retries; /**< Calls of pin() after it found no room. */
    uint64_t index_bytes; /**< Host memory of the index. It does not shrink. */
} culv_rdma_cache_stats;

CULV_INIT(culv_rdma_cache_stats)

/** Makes a cache for pointers of a device's context.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; VALUE: an unknown validity),
 * OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_rdma_cache_destroy(). It keeps the device open. */
CULV_EXTRA culv_result culv_rdma_cache_create(culv_device *device, const culv_rdma_cache_desc *desc,
                                              culv_rdma_cache **out);

/** Unpins everything. Registrations in use are unpinned at their last culv_rdma_registration_put().
 * Threads: any, after the last look-up. */
CULV_EXTRA void culv_rdma_cache_destroy(culv_rdma_cache **cache);

/** Gets a registration that covers `size` bytes at `pointer`, and pins them if there is none. If
 * the look-up finds one, it takes no lock. If another thread is pinning that memory, the call
 * waits.
 * Errors: as culv_rdma_check_range(), but imported memory is passed to pin(); INVALID (OPT_IN: VMM
 * memory, and the context lacks CU_CTX_SYNC_MEMOPS; NOT_READY: called from pin() for the memory
 * that it pins), UNSUPPORTED (USAGE: the memory has no buffer id, so it needs
 * CULV_RDMA_VALIDITY_NOTIFICATION; FORKED), OUT_OF_MEMORY (HOST_MEMORY; PIN_SPACE: there is no
 * room, and everything that is pinned is in use), DRIVER, ASYNC; the error that pin() returns
 * (PIN_REFUSED).
 * Ownership: *out is in use until culv_rdma_registration_put(). */
CULV_EXTRA culv_result culv_rdma_cache_get(culv_rdma_cache *cache, CUdeviceptr pointer,
                                           uint64_t size, culv_rdma_registration **out);

/** Ends the use of a registration. It stays pinned, unless its memory was freed. */
CULV_EXTRA void culv_rdma_registration_put(culv_rdma_registration **registration);

/** Returns the cookie that pin() set, or NULL for NULL.
 * Ownership: your pin() decides. Threads: any, before the put. */
CULV_EXTRA void *culv_rdma_registration_cookie(const culv_rdma_registration *registration);

/** Gets the range that was pinned.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE).
 * Threads: any, before the put. */
CULV_EXTRA culv_result culv_rdma_registration_get_range(const culv_rdma_registration *registration,
                                                        culv_rdma_range *out);

/** Tells the cache that memory is freed or unmapped. No look-up finds it afterwards. Registrations
 * that are not in use are unpinned before the call returns (FREED), and the others at their last
 * put. Wait for the card before you free memory that it uses.
 * Errors: INVALID (NULL_ARGUMENT, SIZE, RANGE). */
CULV_EXTRA culv_result culv_rdma_cache_invalidate(culv_rdma_cache *cache, CUdeviceptr pointer,
                                                  uint64_t size);

/** Unpins registrations that are not in use, the least recently used first, until at most `bytes`
 * are pinned. 0: all that are not in use.
 * Errors: INVALID (NULL_ARGUMENT). */
CULV_EXTRA culv_result culv_rdma_cache_trim(culv_rdma_cache *cache, uint64_t bytes);

/** Gets the state and the history of the cache.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE). */
CULV_EXTRA culv_result culv_rdma_cache_get_stats(culv_rdma_cache *cache,
                                                 culv_rdma_cache_stats *out);

CULV_EXTERN_C_END

#endif
