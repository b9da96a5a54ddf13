/* SPDX-License-Identifier: MIT */
/* What the suites of culv_vector share. */
#ifndef CULVERT_TESTS_LIBRARY_VECTOR_STAGE_H_
#define CULVERT_TESTS_LIBRARY_VECTOR_STAGE_H_

#include "library.h"

#include <stdatomic.h>

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

/* A device without a graphics API, which has virtual memory management, or the case is skipped. */
typedef struct vector_stage {
    lib_world w;
    CUstream stream;
    CUmodule module;
    CUfunction write, add;
    uint64_t chunk;   /* the granularity */
    CUdeviceptr wall; /* addresses that are taken, of this size */
    uint64_t wall_size;
    atomic_bool held; /* what vector_hold() submitted waits as long as this is so */
} vector_stage;

void vector_stage_open(vector_stage *s);
/* Requires that nothing is left. */
void vector_stage_close(vector_stage *s);
#define VECTOR_CASE(...)                                                                           \
    TEST_ON(vector_stage, s, vector_stage_open(s), vector_stage_close(s), __VA_ARGS__)

/* Each word from byte `from` on becomes what lib_word() says of its index from `base` on; done when
 * it returns. */
void vector_write(const vector_stage *s, CUdeviceptr base, uint64_t from, uint64_t to,
                  uint32_t seed);
/* The same words, and `addend` on top, are there. */
void vector_require(const vector_stage *s, CUdeviceptr base, uint64_t size, uint32_t seed,
                    uint32_t addend);
void vector_add(const vector_stage *s, CUdeviceptr base, uint64_t size, uint32_t addend);

/* The stream does nothing any more before vector_let_go(). */
void vector_hold(vector_stage *s);
void vector_let_go(vector_stage *s);

culv_vector *vector_make(const vector_stage *s, const culv_vector_desc *d);
culv_vector_stats vector_stats(const culv_vector *v);
/* Chunks lie side by side from 0 to what is committed, with ids that rise. Returns how many there
 * are. */
size_t vector_check(const culv_vector *v);
/* The addresses behind the vector are somebody else's, until the stage closes or
 * vector_open_wall(). */
void vector_wall(vector_stage *s, const culv_vector *v);
void vector_open_wall(vector_stage *s);
/* On the twin: VMM objects that the driver has. */
typedef struct vector_objects {
    uint64_t allocations, reservations, mappings;
} vector_objects;
bool vector_objects_of(const vector_stage *s, vector_objects *out);

#endif
