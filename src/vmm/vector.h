/* SPDX-License-Identifier: MIT */
/* culv_vector: a list of chunks in an address space, which is a list of reserved ranges side by
 * side. */
#ifndef CULVI_VECTOR_H_
#define CULVI_VECTOR_H_

#include "culvert/vector.h"

#include "vmm/access.h"
#include "vmm/mapping.h"
#include "vmm/range.h"

/* A reserved range of an address space. No chunk lies in two: that a mapping may lie in two
 * reservations is nowhere promised. */
typedef struct culvi_vector_segment {
    struct culvi_vector_segment *below; /* the one before it; NULL: it begins the space */
    culv_vmm_range *range;
    uint64_t offset; /* bytes into the space */
    uint64_t size;
} culvi_vector_segment;

typedef struct culvi_vector_space {
    struct culvi_vector_space *next; /* of those that wait to be retired */
    CUdeviceptr base;
    uint64_t reserved;
    /* Bytes from the first one on in which chunks are mapped, without a gap */
    uint64_t mapped;
    culvi_vector_segment *top; /* the last one */
} culvi_vector_space;

/* What changes the chunks or the present space is `busy`: the one caller, or the thread that
 * commits ahead. It alone writes them, with the lock, and so reads them without it; driver calls
 * are made without the lock. */
struct culv_vector {
    atomic_uint refs; /* the caller's handle, and views of other APIs, which may outlive it */
    atomic_bool gone; /* destroyed: a view finds nothing in it but the device and the label */
    culv_device *device;
    char label[64];
    uint64_t granularity;
    uint64_t min_chunk;
    uint64_t max_chunk; /* a multiple of the granularity; UINT64_MAX: no limit */
    uint64_t ahead;
    uint32_t growth_percent;
    bool fixed;
    culv_vmm_allocation_desc chunk; /* but for the size */
    CUmemAccessDesc *access;
    size_t access_count;
    culv_vector_moved moved;
    void *moved_context;

    /* Published. Who reads the size before the address gets an address that has so many bytes. */
    _Atomic uint64_t base, size, committed, generation;

    culvi_mutex lock;
    culvi_condition changed;
    bool busy;
    culvi_vector_space *space;
    culvi_vector_space *retiring; /* changed by the caller alone */
    culv_vector_chunk *chunks;
    size_t num_chunks, capacity;
    culv_vector_stats stats; /* what is counted; the rest is filled in when asked */

    /* Of who is busy. */
    uint64_t next_id;
    uint64_t deferred_from,
        deferred_to; /* where a shrink's unmappings may still be waiting; both 0: nowhere */

    /* The thread that commits ahead. */
    culvi_worker worker;
    bool has_worker, stop;
    bool walled;      /* the addresses end, and there are none behind */
    atomic_bool full; /* ... and all of them are committed */
    atomic_bool asleep;
};

static inline uint64_t culvi_vector_round(const culv_vector *v, uint64_t bytes)
{
    return (bytes + v->granularity - 1) / v->granularity * v->granularity;
}

/* vector.c: what a view holds. */
void culvi_vector_ref(culv_vector *v);
void culvi_vector_unref(culv_vector *v);

/* Waits for the other one's driver calls and becomes busy; false: so many bytes are committed, and
 * it did not. */
bool culvi_vector_take(culv_vector *v, uint64_t unless_committed);
void culvi_vector_give(culv_vector *v);

/* vector_space.c: addresses. */

culvi_vector_segment *culvi_vector_segment_at(culvi_vector_segment *top, uint64_t offset);
/* A segment from the end of the present space, `reserved`, to `end`, on top of `top`. */
culv_result culvi_vector_space_extend(culv_vector *v, culvi_vector_segment *top, uint64_t reserved,
                                      uint64_t end, culvi_vector_segment **out);
/* A space of one segment, wherever there is room. */
culv_result culvi_vector_space_create(culv_vector *v, uint64_t size, culvi_vector_space **out);
/* Gives a segment's addresses up, and answers the one below. */
culvi_vector_segment *culvi_vector_segment_pop(culvi_vector_segment *top, bool unmap);
/* Gives the addresses up, and the mappings that nobody has given up yet: at once, or else with the
 * device. */
void culvi_vector_space_free(culvi_vector_space *space, bool unmap);
/* Unmaps a space from offset `from` on, once the stream has got there; space->mapped tells how far
 * it came. */
culv_result culvi_vector_unmap_after(culvi_vector_space *space, uint64_t from, CUstream last_use);
/* Whether memory that a shrink gave up still waits for its stream somewhere in a part of the
 * present space. Waits for nothing. */
bool culvi_vector_is_unmapping(culv_vector *v, uint64_t offset, uint64_t size);

/* What a change is to do: vector_change.c does all of it or nothing. */
typedef struct culvi_vector_plan {
    uint64_t addresses, addresses_wish; /* in all: the least, and at best */
    bool may_move;
    /* Bytes to commit: the least, and what is taken where there are addresses and memory. */
    uint64_t need, wish;
    uint64_t size; /* the vector gets this size if it has less */
} culvi_vector_plan;

/* *before becomes the old address after a move, else 0. An error has changed nothing. The caller is
 * busy. */
culv_result culvi_vector_change(culv_vector *v, const culvi_vector_plan *plan, CUdeviceptr *before);

/* vector_grow.c: a change that commits `need` bytes, at best `wish`, and sets the size. */
culv_result culvi_vector_commit(culv_vector *v, uint64_t need, uint64_t wish, uint64_t size,
                                bool may_move, CUdeviceptr *before);
/* What a commit of at least `need` bytes commits at best. */
uint64_t culvi_vector_policy(const culv_vector *v, uint64_t need);

/* vector_ahead.c. */
culv_result culvi_vector_ahead_start(culv_vector *v);
/* False in a child process: the vector is to stay as it is. */
bool culvi_vector_ahead_stop(culv_vector *v);
/* After a change of the size: wakes the thread if it has something to do. */
void culvi_vector_ahead_wake(culv_vector *v);

#endif
