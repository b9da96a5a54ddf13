/* SPDX-License-Identifier: MIT */
/* culv_vector: a list of chunks in an address space. The space is a list of adjacent reserved
 * ranges. */
#ifndef CULVI_VECTOR_H_
#define CULVI_VECTOR_H_

#include "vmm/mapping.h"
#include "vmm/space.h"

/* A reserved range of an address space. No chunk lies in two of them, because nothing promises that
 * a mapping may span two reservations. */
typedef struct culvi_vector_segment {
    struct culvi_vector_segment *below; /* the one before it; NULL: the first of the space */
    culv_vmm_range *range;
    culv_space *home; /* whose range it is, and which graphics API shows it; NULL: its own */
    uint64_t start;   /* bytes into the range */
    uint64_t offset;  /* bytes into the space */
    uint64_t size;
    bool apart; /* the graphics API has given its half to itself: culvi_space_api::part */
} culvi_vector_segment;

typedef struct culvi_vector_space {
    struct culvi_vector_space *next; /* the next space that waits to be retired */
    CUdeviceptr base;
    uint64_t reserved;
    /* Bytes from the start on in which chunks are mapped without a gap */
    uint64_t mapped;
    culvi_vector_segment *top; /* the last one */
} culvi_vector_space;

/* A tensor on an address of the vector's: src/vmm/vector_dlpack.c. */
typedef struct culvi_vector_pin {
    struct culvi_vector_pin *next, **link;
    struct culv_vector *vector;
    CUdeviceptr base; /* of its space */
    uint64_t end;     /* bytes into the space */
} culvi_vector_pin;

/* A thread that changes the chunks or the spaces is `busy`: a caller, or the one that commits
 * ahead. Only it writes them, with the lock held, so it may read them without the lock. Driver
 * calls are made without the lock. */
struct culv_vector {
    /* the caller's handle, and the views of other APIs, which may outlive that handle */
    atomic_uint refs;
    atomic_bool gone; /* destroyed: a view may only use the device and the label */
    culv_device *device;
    char label[64];
    uint64_t granularity;
    uint64_t min_chunk;
    uint64_t max_chunk; /* a multiple of the granularity; UINT64_MAX: no limit */
    uint64_t ahead;
    uint32_t growth_percent;
    bool fixed;
    culv_space *home;               /* where it lives; NULL: addresses of its own */
    culv_vmm_allocation_desc chunk; /* without the size */
    CUmemAccessDesc *access;
    size_t access_count;
    culv_vector_moved moved;
    void *moved_context;
    /* What it is taken from, if it is another process's, and then the bytes of addresses that its
     * maker asked for; else NULL */
    void *source;
    void (*free_source)(void *source);
    uint64_t reserve;

    /* Published. A reader that reads the size before the address gets an address with that many
     * bytes. */
    _Atomic uint64_t base, size, committed, generation;

    culvi_mutex lock;
    culvi_condition changed;
    bool busy;
    culvi_vector_space *space;
    culvi_vector_space *retiring;
    culv_part *chunks;
    size_t num_chunks, capacity;
    culvi_vector_pin *pins;  /* what keeps memory and addresses where they are */
    bool orphan;             /* destroyed, and the last pin frees all of it */
    culvi_late late;         /* an orphan, whose tensors anything may still use */
    culv_vector_stats stats; /* the counters; the rest is filled in on request */

    /* Fields of whoever is busy. */
    uint64_t next_id;
    uint64_t deferred_from,
        deferred_to; /* where a shrink's unmappings may still wait; both 0: nowhere */

    /* The thread that commits ahead. */
    culvi_worker worker;
    bool has_worker, stop;
    bool walled;      /* the addresses are used up, and none are free behind them */
    atomic_bool full; /* ... and all of them are committed */
    atomic_bool asleep;
};

static inline uint64_t culvi_vector_round(const culv_vector *v, uint64_t bytes)
{
    return (bytes + v->granularity - 1) / v->granularity * v->granularity;
}

/* Makes the size at least `size`: several threads may grow. */
static inline void culvi_vector_raise(culv_vector *v, uint64_t size)
{
    uint64_t now = atomic_load(&v->size);
    while (size > now && !atomic_compare_exchange_weak(&v->size, &now, size)) {
    }
}

/* vector.c: a vector without addresses. */
culv_result culvi_vector_new(culv_device *device, const culv_vector_desc *d, culv_vector **out);
/* Refuses one of another process, which only that process changes. */
culv_result culvi_vector_check_own(const culv_vector *v, const char *call);
/* vector.c: frees what nobody can use any longer; `unmap`: also what no stream was named for. */
void culvi_vector_free_all(culv_vector *v, bool unmap);
/* vector_dlpack.c: whether tensors keep the chunks from `offset` on (of the space at `base`). The
 * second one refuses by that, and the third leaves a destroyed vector to its tensors. */
bool culvi_vector_is_pinned(culv_vector *v, CUdeviceptr base, uint64_t offset);
culv_result culvi_vector_fail_pinned(const culv_vector *v, const char *call);
bool culvi_vector_leave_to_pins(culv_vector *v);

/* vector.c: the reference that a view holds. */
void culvi_vector_ref(culv_vector *v);
void culvi_vector_unref(culv_vector *v);

/* Waits for the driver calls of whoever is busy and becomes busy. False: that many bytes are
 * committed, and it did not become busy. */
bool culvi_vector_take(culv_vector *v, uint64_t unless_committed);
void culvi_vector_give(culv_vector *v);

/* vector_space.c: addresses. */

culvi_vector_segment *culvi_vector_segment_at(culvi_vector_segment *top, uint64_t offset);
/* A segment from the end of the present space, `reserved`, to `end`, on top of `top`. */
culv_result culvi_vector_space_extend(culv_vector *v, culvi_vector_segment *top, uint64_t reserved,
                                      uint64_t end, culvi_vector_segment **out);
/* A space of one segment, wherever there is room: in the vector's home if it has one. */
culv_result culvi_vector_space_create(culv_vector *v, uint64_t size, culvi_vector_space **out);
/* Unmaps a part of a segment at once, in the graphics API too. */
void culvi_vector_segment_unmap(const culvi_vector_segment *segment, uint64_t offset,
                                uint64_t size);
/* Gives a segment's addresses up and returns the segment below it. */
culvi_vector_segment *culvi_vector_segment_pop(culvi_vector_segment *top, bool unmap);
/* Gives up the addresses and the mappings that nobody has given up yet: at once, or otherwise with
 * the device. */
void culvi_vector_space_free(culvi_vector_space *space, bool unmap);
/* Unmaps a space from offset `from` on, once the stream has got there. space->mapped says how far
 * it got. */
culv_result culvi_vector_unmap_after(culvi_vector_space *space, uint64_t from, CUstream last_use,
                                     const char *call);
/* Whether memory that a shrink gave up still waits for its stream in a part of the present space.
 * Does not wait itself. */
bool culvi_vector_is_unmapping(culv_vector *v, uint64_t offset, uint64_t size);

/* What a change has to do: vector_change.c does all of it or nothing. */
typedef struct culvi_vector_plan {
    uint64_t addresses, addresses_wish; /* in total: at least, and at best */
    bool may_move;
    /* Bytes to commit: at least `need`, and `wish` if there are addresses and memory. */
    uint64_t need, wish;
    uint64_t size; /* the vector gets this size if it has less */
} culvi_vector_plan;

/* *before becomes the old address after a move, else 0. An error leaves everything unchanged. The
 * caller must be busy. */
culv_result culvi_vector_change(culv_vector *v, const culvi_vector_plan *plan, CUdeviceptr *before);

/* vector_grow.c: a change that commits `need` bytes, at best `wish`, and sets the size. */
culv_result culvi_vector_commit(culv_vector *v, uint64_t need, uint64_t wish, uint64_t size,
                                bool may_move, CUdeviceptr *before);
/* What a commit of at least `need` bytes commits at best. */
uint64_t culvi_vector_policy(const culv_vector *v, uint64_t need);

/* vector_ahead.c. */
culv_result culvi_vector_ahead_start(culv_vector *v);
/* False in a child process: the vector must stay as it is. */
bool culvi_vector_ahead_stop(culv_vector *v);
/* Wakes the thread after a change of the size, if it has something to do. */
void culvi_vector_ahead_wake(culv_vector *v);

#endif
