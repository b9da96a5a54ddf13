/* SPDX-License-Identifier: MIT */
/* What the suites of sparse arrays, memory pools and multicast objects share: devices without a
 * graphics API. */
#ifndef CULVERT_TESTS_LIBRARY_SPARSE_STAGE_H_
#define CULVERT_TESTS_LIBRARY_SPARSE_STAGE_H_

#include "library.h"

#include "culvert/extra/sparse.h"

enum { SPARSE_TILE = CULV_SPARSE_TILE_BYTES };

typedef struct sparse_stage {
    lib_world w; /* device, context and driver; no Vulkan */
    CUstream stream;
    culv_sparse_array *array; /* a case's, and its pool: they go with it */
    culv_vmm_allocation *pool;
} sparse_stage;

/* Opens CUDA device 0 and a stream of it. */
void sparse_stage_open(sparse_stage *s);
/* Closes both, and requires that nothing is left in the driver, where it tells. */
void sparse_stage_close(sparse_stage *s);
#define SPARSE_CASE(...)                                                                           \
    TEST_ON(sparse_stage, s, sparse_stage_open(s), sparse_stage_close(s), __VA_ARGS__)
/* A second CUDA device of the same driver; NULL: there is none. Begins with
 * lib_with_environment(). */
culv_device *sparse_stage_second(const sparse_stage *s);

/* Calls that the driver has had, where it counts them. */
uint64_t sparse_driver_calls(const raw_cuda *cu);
/* A tile pool of so many tiles at least. */
culv_vmm_allocation *sparse_pool(const sparse_stage *s, uint64_t tiles);

/* One bind: the tiles of a region, or all of a mip tail, onto the pool from `pool_offset` on; a
 * pool that is NULL unmaps. */
static inline culv_result sparse_map(culv_sparse_array *array, const culv_sparse_region *region,
                                     culv_vmm_allocation *pool, uint64_t pool_offset,
                                     CUstream stream)
{
    const culv_sparse_bind bind = {
        .array = array, .region = *region, .pool = pool, .pool_offset = pool_offset};
    return culv_sparse_bind_batch(&bind, 1, stream);
}

static inline culv_result sparse_map_tail(culv_sparse_array *array, uint32_t layer,
                                          culv_vmm_allocation *pool, uint64_t pool_offset,
                                          CUstream stream)
{
    const culv_sparse_bind bind = {.array = array,
                                   .part = CULV_SPARSE_MIP_TAIL,
                                   .region = {.layer = layer},
                                   .pool = pool,
                                   .pool_offset = pool_offset};
    return culv_sparse_bind_batch(&bind, 1, stream);
}

/* A box of an array, in bytes along x, as its rows lie in host memory; synchronous. z and depth:
 * layers or slices. */
typedef struct sparse_box {
    CUarray array;
    size_t x_bytes, y, z, width_bytes, height, depth;
} sparse_box;
void sparse_write(const sparse_stage *s, const sparse_box *box, const void *bytes);
void sparse_read(const sparse_stage *s, const sparse_box *box, void *bytes);
/* Bytes of the box that are not as lib_word() of a seed says; sparse_fill() writes such. */
size_t sparse_wrong(const sparse_stage *s, const sparse_box *box, uint32_t seed);
void sparse_fill(const sparse_stage *s, const sparse_box *box, uint32_t seed);

#endif
