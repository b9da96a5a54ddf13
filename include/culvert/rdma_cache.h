/* SPDX-License-Identifier: MIT */
/* Culvert: keeps memory pinned for cards (a registration cache, or pin-down cache).
 *
 * Pinning takes up to milliseconds, so memory stays pinned after a transfer, until its place is
 * needed or it is freed. The cache does not pin by itself: your functions do, through verbs, a
 * kernel driver or whatever the card has.
 *
 *   culv_rdma_cache_create(device, &desc, &cache);            desc has pin() and unpin()
 *   culv_rdma_cache_get(cache, pointer, size, &registration); pinned now, or long ago
 *   ... culv_rdma_registration_cookie(registration) ...       what pin() gave, such as an ibv_mr
 *   culv_rdma_registration_put(&registration);                it stays pinned
 *
 * A registration is a range of one allocation, rounded to chunks of 64 KiB. Requests that it covers
 * share it. A request that overlaps it and goes beyond it gets one that covers both.
 *
 * Memory that was freed, and memory that was allocated again at its address, must not be found. The
 * cache asks CUDA for the buffer's id at each look-up (tens of nanoseconds), or you tell it of each
 * free: culv_rdma_cache_desc::validity. */
#ifndef CULV_RDMA_CACHE_H_
#define CULV_RDMA_CACHE_H_

#include "rdma.h"

CULV_EXTERN_C_BEGIN

/** Opaque: the cache. Any thread may call it at any time. */
typedef struct culv_rdma_cache culv_rdma_cache;
/** Opaque: pinned memory that is in use until culv_rdma_registration_put(). */
typedef struct culv_rdma_registration culv_rdma_registration;

/** How the cache knows that pinned memory is still the same. */
typedef enum culv_rdma_validity {
    /** It asks for CU_POINTER_ATTRIBUTE_BUFFER_ID at each look-up. Mapped external memory and VMM
     * mappings have ids too. */
    CULV_RDMA_VALIDITY_BUFFER_ID = 0,
    /** You call culv_rdma_cache_invalidate() before each free and unmap. A free that you miss makes
     * the card write into memory that is another's. */
    CULV_RDMA_VALIDITY_NOTIFICATION = 1,
    CULV_RDMA_VALIDITY_FORCE32 = 0x7fffffff
} culv_rdma_validity;

/** Why memory is unpinned. */
typedef enum culv_rdma_unpin_why {
    /** Its place is needed, culv_rdma_cache_trim() was called, or the cache is destroyed. The
     * memory is there: in the kernel, nvidia_p2p_put_pages(). */
    CULV_RDMA_UNPIN_EVICTED = 0,
    /** A larger registration covers it, which is pinned already. The memory is there. */
    CULV_RDMA_UNPIN_REPLACED = 1,
    /** The memory was freed. The driver has revoked the pages already, and called your kernel
     * driver's free callback: free the page table (nvidia_p2p_free_page_table()), and put no
     * pages. A memory region of verbs is deregistered as ever. */
    CULV_RDMA_UNPIN_FREED = 2,
    CULV_RDMA_UNPIN_FORCE32 = 0x7fffffff
} culv_rdma_unpin_why;

/** The range to pin. */
typedef struct culv_rdma_range {
    size_t struct_size; /**< Set by culv_rdma_range_init(), and by Culvert for pin() and unpin(). */
    culv_pointer_kind kind;
    /** The pages: multiples of CULV_RDMA_CHUNK. They may begin before the allocation, and end
     * behind it. */
    CUdeviceptr page_start;
    uint64_t page_size;
    CUdeviceptr start; /**< What of them belongs to the allocation. */
    uint64_t size;
    CUdeviceptr allocation_start; /**< For VMM memory: the mapping. */
    uint64_t allocation_size;
    uint64_t buffer_id;
} culv_rdma_range;

CULV_INIT(culv_rdma_range)

/** Pins a range. Called on the thread that looks up, without a lock of the cache. It may call the
 * cache, but not for a range that overlaps this one. Return CULV_OK and set *cookie; or
 * CULV_ERROR_OUT_OF_MEMORY, when there is no room: the cache then unpins what was not used for
 * longest, and tries again; or another error, which culv_rdma_cache_get() passes on, with the
 * message that you recorded by culv_last_error_set(), if you did. */
typedef culv_result (*culv_rdma_pin)(void *user, const culv_rdma_range *range, void **cookie);
/** Unpins what was pinned. Called without a lock of the cache, on the thread that makes it
 * necessary: one that looks up, that gives the last use back, or that invalidates. */
typedef void (*culv_rdma_unpin)(void *user, const culv_rdma_range *range, void *cookie,
                                culv_rdma_unpin_why why);

/** A cache to make. */
typedef struct culv_rdma_cache_desc {
    size_t struct_size;    /**< Set by culv_rdma_cache_desc_init(). */
    culv_rdma_pin pin;     /**< Required. */
    culv_rdma_unpin unpin; /**< Required. */
    void *user;            /**< Passed to both. */
    culv_rdma_validity validity;
    /** Most bytes pinned at a time, in chunks of 64 KiB; what two registrations have in common
     * counts once. Leave room for what else needs BAR1 (culv_rdma_bar1::usable). Default: no
     * limit. */
    uint64_t max_bytes;
    uint64_t max_entries; /**< Most registrations at a time. Default: no limit. */
    /** The whole allocation is pinned if it has at most so many percent of max_bytes, or of the
     * device's memory without max_bytes. Default: 10. */
    uint32_t whole_percent;
    culv_bool exact_ranges; /**< Nonzero: never the whole allocation. */
    /** Nonzero: the cache does not call culv_rdma_set_sync_memops() for what it pins. */
    culv_bool no_sync_memops;
    /** Nonzero: for memory that cannot carry SYNC_MEMOPS (VMM) it sets the flag of the context.
     * Otherwise culv_rdma_cache_get() fails with OPT_IN for such memory. */
    culv_bool allow_context_sync;
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
} culv_rdma_cache_desc;

CULV_INIT(culv_rdma_cache_desc)

/** What a cache has and did. */
typedef struct culv_rdma_cache_stats {
    size_t struct_size;   /**< Set by culv_rdma_cache_stats_init(). */
    uint64_t entries;     /**< Registrations that a look-up can find. */
    uint64_t bytes;       /**< Pinned bytes, in chunks of 64 KiB; shared chunks count once. */
    uint64_t leaving;     /**< Registrations that no look-up finds any more, still in use. */
    uint64_t misses;      /**< Look-ups that found nothing. Hits are not counted. */
    uint64_t pins;        /**< Calls of pin() that succeeded. */
    uint64_t unpins;      /**< Calls of unpin(). */
    uint64_t evictions;   /**< Those of the unpins that made room. */
    uint64_t freed;       /**< Registrations whose memory was freed. */
    uint64_t replaced;    /**< Registrations that a larger one replaced. */
    uint64_t pin_retries; /**< Calls of pin() after it had no room. */
    uint64_t index_bytes; /**< Host memory of the index. It does not shrink. */
} culv_rdma_cache_stats;

CULV_INIT(culv_rdma_cache_stats)

/** Makes a cache for pointers of a device's context.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; VALUE: an unknown validity, or whole_percent above
 * 100), OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_rdma_cache_destroy(). It keeps the device open.
 * Threads: any. */
CULV_EXPORT culv_result culv_rdma_cache_create(culv_device *device,
                                               const culv_rdma_cache_desc *desc,
                                               culv_rdma_cache **out);

/** Unpins everything. Registrations that are in use are unpinned when they are given back.
 * Threads: any, after the last look-up. */
CULV_EXPORT void culv_rdma_cache_destroy(culv_rdma_cache **cache);

/** Gets a registration that covers `size` bytes at `pointer`, and pins them if need be. A look-up
 * that finds one takes no lock. A thread that needs what another thread is just pinning waits for
 * it.
 * Errors: as culv_rdma_check_range(), but imported memory goes to pin(); INVALID (OPT_IN: see
 * allow_context_sync; NOT_READY: called from pin() for what it is pinning), UNSUPPORTED (USAGE: the
 * memory has no buffer id, so it needs CULV_RDMA_VALIDITY_NOTIFICATION), OUT_OF_MEMORY
 * (HOST_MEMORY; PIN_SPACE: there is no room, and everything that is pinned is in use), DRIVER,
 * ASYNC; what pin() answers (PIN_REFUSED).
 * Ownership: *out is in use until culv_rdma_registration_put().
 * Threads: any. */
CULV_EXPORT culv_result culv_rdma_cache_get(culv_rdma_cache *cache, CUdeviceptr pointer,
                                            uint64_t size, culv_rdma_registration **out);

/** Gives a registration back. It stays pinned, unless its memory was freed.
 * Threads: any. */
CULV_EXPORT void culv_rdma_registration_put(culv_rdma_registration **registration);

/** Returns what pin() gave. NULL for NULL.
 * Ownership: the caller's of pin().
 * Threads: any, before the put. */
CULV_EXPORT void *culv_rdma_registration_cookie(const culv_rdma_registration *registration);

/** Gets the range that was pinned.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE).
 * Ownership: the copy is yours.
 * Threads: any, before the put. */
CULV_EXPORT culv_result culv_rdma_registration_get_range(const culv_rdma_registration *registration,
                                                         culv_rdma_range *out);

/** Tells the cache that memory is freed or unmapped. No look-up finds it afterwards. What is not in
 * use is unpinned before the call returns (FREED), the rest with its last put. If CUDA frees memory
 * in spite of its use by a card, that is the caller's fault: wait for the card first.
 * Errors: INVALID (NULL_ARGUMENT, SIZE, RANGE).
 * Threads: any. */
CULV_EXPORT culv_result culv_rdma_cache_invalidate(culv_rdma_cache *cache, CUdeviceptr pointer,
                                                   uint64_t size);

/** Unpins what is not in use, the least recently used first, until at most `bytes` are pinned. 0:
 * everything that is not in use.
 * Errors: INVALID (NULL_ARGUMENT).
 * Threads: any. */
CULV_EXPORT culv_result culv_rdma_cache_trim(culv_rdma_cache *cache, uint64_t bytes);

/** Gets what the cache has and did.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE).
 * Ownership: the copy is yours.
 * Threads: any. */
CULV_EXPORT culv_result culv_rdma_cache_get_stats(culv_rdma_cache *cache,
                                                  culv_rdma_cache_stats *out);

CULV_EXTERN_C_END

#endif
