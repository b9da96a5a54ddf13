/* SPDX-License-Identifier: MIT */
/* A buffer that grows by one scheme or another: culv_vector, the same driver calls by hand,
 * cuMemAlloc and a copy, managed memory. */
#ifndef CULVERT_BENCH_MEMORY_GROWABLE_H_
#define CULVERT_BENCH_MEMORY_GROWABLE_H_

#include "memory.h"

enum { GROWABLE_CHUNKS = 1024, GROWABLE_RANGES = 32 };

typedef struct growable growable;

typedef struct scheme {
    const char *name;
    const char *variant; /* what is done about addresses */
    bool reserved;       /* all that it will ever need is reserved at first */
    bool extends;        /* its addresses grow */
    bool walled;         /* something lies behind its addresses: it moves each time */
    bool raw_again;      /* the same as another one, to see what chance does */
    bool managed;
    void (*open)(growable *g, uint64_t first);
    void (*grow)(growable *g, uint64_t size);
    void (*close)(growable *g);
} scheme;

typedef struct raw_chunk {
    CUmemGenericAllocationHandle handle;
    uint64_t offset, size;
} raw_chunk;

typedef struct raw_range {
    CUdeviceptr base;
    uint64_t size;
} raw_range;

struct growable {
    memory_bench *b;
    const scheme *scheme;
    uint64_t limit; /* what it will have at the end */
    uint64_t size, committed;
    CUdeviceptr pointer;
    /* Called where a scheme has the most memory; NULL: not wanted. */
    void (*at_peak)(growable *g);
    uint64_t free_before, peak;
    CUdeviceptr wall;
    uint64_t moves;

    culv_vector *vector;
    /* By hand: chunks by offset, and the ranges that its addresses are made of, side by side. */
    size_t num_chunks, num_ranges;
    uint64_t reserved;
    raw_chunk chunks[GROWABLE_CHUNKS];
    raw_range ranges[GROWABLE_RANGES];
};

extern const scheme scheme_vector, scheme_vector_extended, scheme_vector_moved;
extern const scheme scheme_raw, scheme_raw_again, scheme_raw_extended, scheme_raw_moved;
extern const scheme scheme_copy, scheme_copy_reserved;
extern const scheme scheme_managed_copy, scheme_managed_prefetch, scheme_managed_reserved;

/* A vector like those of the schemes. */
culv_vector *growable_vector(memory_bench *b, const culv_vector_desc *desc);
/* One more chunk by hand: cuMemCreate, cuMemMap, cuMemSetAccess. */
void growable_raw_chunk(growable *g, uint64_t size);
void growable_raw_unmap(growable *g);

/* Not timed: something that is in the way of the next growth, and its end. */
void growable_wall(growable *g);
void growable_unwall(growable *g);

#endif
