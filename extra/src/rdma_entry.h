/* SPDX-License-Identifier: MIT */
/* A registration, as the cache and its index see it. */
#ifndef CULVI_RDMA_ENTRY_H_
#define CULVI_RDMA_ENTRY_H_

#include "culvert/extra/rdma_cache.h"
#include "inside.h"

#include <stdatomic.h>

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
    size_t heap_at;             /* one more than its place; 0: not there */
    uint64_t heap_used, heap_order;
    culv_rdma_registration *cover; /* replaced by this one, which it has a use of */
    culv_rdma_registration *next;  /* in whatever list */
    culv_rdma_unpin_why why;
} culvi_rdma_rest;

/* One line of the processor's cache, and many in a page, as look-ups jump about in them. */
struct culv_rdma_registration {
    _Alignas(64) _Atomic(uint64_t) state;
    uint64_t start, end; /* of the allocation's bytes */
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

#endif
