/* SPDX-License-Identifier: MIT */
/* What the suites of sparse arrays, memory pools and multicast objects share: devices without a
 * graphics API. */
#ifndef CULVERT_TESTS_LIBRARY_SPARSE_STAGE_H_
#define CULVERT_TESTS_LIBRARY_SPARSE_STAGE_H_

#include "library.h"

enum { SPARSE_TILE = CULV_SPARSE_TILE_BYTES };

typedef struct sparse_stage {
    lib_world w; /* device, context and driver; no Vulkan */
    CUstream stream;
} sparse_stage;

/* Opens CUDA device 0 and a stream of it. */
void sparse_stage_open(sparse_stage *s);
/* Closes both, and requires that nothing is left in the driver, where it tells. */
void sparse_stage_close(sparse_stage *s);
/* A second CUDA device of the same driver; NULL: there is none. Begins with
 * lib_with_environment(). */
culv_device *sparse_stage_second(const sparse_stage *s);

/* A tile pool of so many tiles at least. */
culv_vmm_allocation *sparse_pool(const sparse_stage *s, uint64_t tiles);

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
