/* SPDX-License-Identifier: MIT */
/* Which registration an address belongs to: a radix tree over chunks of 64 KiB.
 *
 * Look-ups take no lock, and may run while another thread, which holds the cache's lock, changes
 * the tree. That works because nothing that they can reach is freed before the cache: neither
 * nodes nor crowds nor registrations, which are used again at most. So a look-up may get a
 * registration that is another one by now. It takes a use of it, which only a valid one gives, and
 * looks at its range then.
 *
 * A slot has a node of the next level, a registration that has all chunks below it, or, for one
 * chunk in which several small allocations lie, a crowd of registrations. */
#ifndef CULVI_RDMA_INDEX_H_
#define CULVI_RDMA_INDEX_H_

#include "rdma_entry.h"

enum {
    CULVI_RDMA_ROOT_BITS = 13, /* of 57 bits of address: 16 in a chunk, 10, 10 and 8 below */
    CULVI_RDMA_CROWD_CLASSES = 20
};

typedef struct culvi_rdma_crowd culvi_rdma_crowd;
typedef struct culvi_rdma_block culvi_rdma_block;

typedef struct culvi_rdma_index {
    _Atomic(uintptr_t) *root;
    culvi_rdma_block *blocks; /* all that was allocated; the newest has room left */
    char *room;
    size_t room_size;
    culvi_rdma_crowd *unused[CULVI_RDMA_CROWD_CLASSES];
    uint64_t bytes;
} culvi_rdma_index;

bool culvi_rdma_index_init(culvi_rdma_index *index);
void culvi_rdma_index_free(culvi_rdma_index *index);
/* Memory that lives as long as the index. */
void *culvi_rdma_index_alloc(culvi_rdma_index *index, size_t size);
/* The one that may hold the byte at `address`. Without the lock. */
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
