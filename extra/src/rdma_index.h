/* SPDX-License-Identifier: MIT */
/* Which registration an address belongs to: a radix tree over chunks of 64 KiB, and of a chunk
 * that has several over pieces of 512 bytes.
 *
 * Look-ups take no lock, and may run while another thread, which holds the cache's lock, changes
 * the tree. That works because nothing that they can reach is freed before the cache: neither
 * nodes nor registrations, which are used again at most. So a look-up may get a
 * registration that is another one by now. It takes a use of it, which only a valid one gives, and
 * looks at its range then.
 *
 * A slot has a node of the next level, or a registration that has all pieces below it, or is the
 * only one of a chunk. Several may lie in one piece, as parts of a buffer do: its slot has one of
 * them, which has the next one. */
#ifndef CULVI_RDMA_INDEX_H_
#define CULVI_RDMA_INDEX_H_

#include "culvert/extra/rdma_cache.h"
#include "inside.h"

#include <stdatomic.h>

/* A registration, as the cache and its index see it. */

/* This bit of `state` is set while the registration is valid. The other bits count uses, and
 * suffice for more than anyone takes. A use is given only while the bit is set. */
#define CULVI_RDMA_VALID (UINT64_C(1) << 63)

/* What look-ups do not need, under the cache's lock. */
typedef struct culvi_rdma_rest {
    uint32_t kind;
    uint64_t page_start, page_end;
    uint64_t allocation_start, allocation_size;
    uint64_t counted;           /* bytes that it adds to what is pinned */
    bool owns_first, owns_last; /* chunks that it counts and may share */
    size_t heap_at;             /* its place */
    uint64_t heap_used, heap_order;
    culv_rdma_registration *cover; /* replaced by this one, which it has a use of */
    culv_rdma_registration *next;  /* in whatever list */
    /* Another one in the piece that it begins in, and in the one that it ends in, if that is not
     * the same. Look-ups read these. */
    _Atomic(culv_rdma_registration *) beside[2];
    culv_rdma_unpin_why why;
} culvi_rdma_rest;

/* One line of the processor's cache, and many in a page, as look-ups jump about in them. */
struct culv_rdma_registration {
    _Alignas(64) _Atomic(uint64_t) state;
    _Atomic(uint64_t) start, end; /* of the allocation's bytes */
    uint64_t buffer_id;
    _Atomic(uint64_t) used; /* the cache's turn when it was looked up last */
    void *cookie;
    culv_rdma_cache *cache;
    culvi_rdma_rest *rest;
};

/* False: it is not valid, or is not any more. */
static inline bool culvi_rdma_take_use(culv_rdma_registration *e)
{
    uint64_t state = atomic_load_explicit(&e->state, memory_order_relaxed);
    do {
        if ((state & CULVI_RDMA_VALID) == 0) return false;
    } while (!atomic_compare_exchange_weak_explicit(&e->state, &state, state + 1,
                                                    memory_order_acq_rel, memory_order_relaxed));
    return true;
}

/* Onto a list of the caller's. */
static inline void culvi_rdma_push(culv_rdma_registration **list, culv_rdma_registration *e)
{
    e->rest->next = *list;
    *list = e;
}

/* Of 57 bits of address: 9 in a piece, 10, 10, 8 and 7 below. */
enum { CULVI_RDMA_ROOT_BITS = 13 };

typedef struct culvi_rdma_block culvi_rdma_block;

typedef struct culvi_rdma_index {
    _Atomic(uintptr_t) *root;
    culvi_rdma_block *blocks; /* all that was allocated; the newest has room left */
    char *room;
    size_t room_size;
    uint64_t bytes;
} culvi_rdma_index;

bool culvi_rdma_index_init(culvi_rdma_index *index);
void culvi_rdma_index_free(culvi_rdma_index *index);
/* Memory that lives as long as the index. */
void *culvi_rdma_index_alloc(culvi_rdma_index *index, size_t size);
/* The one that may hold the byte at `address`. Without the lock, it may miss one that is being
 * added. */
culv_rdma_registration *culvi_rdma_index_find(const culvi_rdma_index *index, uint64_t address);

/* The caller of what follows holds the lock. */
/* Makes what culvi_rdma_index_add() needs for this range. False: out of memory; nothing changed. */
bool culvi_rdma_index_reserve(culvi_rdma_index *index, const culv_rdma_registration *entry);
/* Adds it, after a reserve; cannot fail. No registration with bytes of the same range is there. */
void culvi_rdma_index_add(culvi_rdma_index *index, culv_rdma_registration *entry);
void culvi_rdma_index_remove(culvi_rdma_index *index, const culv_rdma_registration *entry);
/* The first one with a byte of [start, end). */
culv_rdma_registration *culvi_rdma_index_next(const culvi_rdma_index *index, uint64_t start,
                                              uint64_t end);
/* One in the chunk that `address` is in, other than `but`. */
culv_rdma_registration *culvi_rdma_index_neighbour(const culvi_rdma_index *index, uint64_t address,
                                                   const culv_rdma_registration *but);

#endif
