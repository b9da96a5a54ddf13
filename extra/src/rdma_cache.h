/* SPDX-License-Identifier: MIT */
/* The registration cache, inside. */
#ifndef CULVI_RDMA_CACHE_H_
#define CULVI_RDMA_CACHE_H_

#include "rdma_index.h"
#include "rdma_pointer.h"

/* A range that a thread is pinning. Others that need a part of it wait. It is in that thread's
 * call, and in the cache's list. */
typedef struct culvi_rdma_pending {
    struct culvi_rdma_pending *next;
    uint64_t start, end;
    uint64_t bytes; /* reserved in the budget */
    pthread_t thread;
    bool freed; /* somebody said meanwhile that the memory was freed */
} culvi_rdma_pending;

struct culv_rdma_cache {
    culv_device *device;
    culv_addon_object *object;
    culv_rdma_cache_desc desc;
    char label[64];
    uint32_t generation;  /* of the process that made it: what is pinned is that one's */
    uint64_t whole_bytes; /* allocations up to this size are pinned whole */
    atomic_uint refs;     /* the caller's handle and each registration that is pinned */
    /* Goes on with each miss: hits write it into what they find, and so tell in which order the
     * registrations were used. Hits only read it. */
    _Atomic(uint64_t) turn;
    culvi_rdma_index index; /* look-ups read it without the lock */
    culvi_x_mutex lock;
    pthread_cond_t pinned; /* a pending range is none any more */
    /* The lock guards what follows. It is never held across a callback or a call of the driver. */
    culvi_rdma_pending *pending;
    culv_rdma_registration *unused; /* structs */
    size_t structs;
    culv_rdma_registration **heap; /* valid ones, the least recently used first */
    size_t heap_count;
    uint64_t order;
    uint64_t pinned_bytes; /* what is found, what is leaving, and what is pending */
    culv_rdma_cache_stats stats;
};

/* rdma_cache.c: without the lock. */
culv_rdma_range culvi_rdma_range_of(const culv_rdma_registration *entry);
/* Gives back a use. The last use of what no look-up finds any more unpins it. */
void culvi_rdma_give_use(culv_rdma_registration *entry);
/* Unpins a list of what was taken out and nobody uses. */
void culvi_rdma_finish_all(culv_rdma_registration *list);
/* Finds a registration and gives the caller a use of it. NULL: there is none, or it is being
 * changed. */
culv_rdma_registration *culvi_rdma_find(culv_rdma_cache *cache, uint64_t pointer, uint64_t end);
/* Whether the memory is what was pinned. The question needs no context (measured), and what it
 * answers in another one is only believed where it says yes. */
culv_result culvi_rdma_ask_id(culv_rdma_cache *cache, const culv_rdma_registration *entry,
                              CUdeviceptr pointer, bool *same);

/* rdma_pin.c: pins a range that no look-up found, and gives a use of it. */
culv_result culvi_rdma_pin(culv_rdma_cache *cache, CUdeviceptr pointer, uint64_t size,
                           culv_rdma_registration **out);

/* rdma_lru.c: with the lock held. */
/* A struct that is nobody's. NULL: out of memory. */
culv_rdma_registration *culvi_rdma_entry_new(culv_rdma_cache *cache);
void culvi_rdma_entry_unuse(culv_rdma_cache *cache, culv_rdma_registration *entry);
/* Puts it into the index and the order, valid, with `uses`. After a reserve it cannot fail. */
void culvi_rdma_entry_add(culv_rdma_cache *cache, culv_rdma_registration *entry, uint64_t uses);
/* Takes it out of both, so that no look-up finds it. True: it has no user, so the caller unpins it.
 * Else the last user does. */
bool culvi_rdma_entry_remove(culv_rdma_cache *cache, culv_rdma_registration *entry,
                             culv_rdma_unpin_why why);
/* Takes out the least recently used one that is not in use. NULL: there is none. */
culv_rdma_registration *culvi_rdma_evict(culv_rdma_cache *cache);

#endif
