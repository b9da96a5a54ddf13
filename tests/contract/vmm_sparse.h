/* SPDX-License-Identifier: MIT */
/* What the rows of sparse arrays share. */
#ifndef CULVERT_TESTS_VMM_SPARSE_H_
#define CULVERT_TESTS_VMM_SPARSE_H_

#include "raw_cuda_image.h"
#include "vmm.h"

#define TILE_BYTES 65536u
#define POOL_SIZE  (4 * VMM_SIZE)

typedef struct sparse_procs {
    PFN_cuMemMapArrayAsync_v11010 map;
    PFN_cuArrayGetSparseProperties_v11010 array_properties;
    PFN_cuMipmappedArrayGetSparseProperties_v11010 mipmap_properties;
} sparse_procs;

/* vmm_pair_open, and skips where there are no sparse arrays. */
sparse_procs sparse_open(pair *p);
CUmemGenericAllocationHandle sparse_pool(const pair *p); /* of POOL_SIZE */
/* Of 32-bit words. */
CUDA_ARRAY3D_DESCRIPTOR sparse_desc(size_t width, size_t height, size_t depth, unsigned flags);
/* pool 0: unmaps. What is mapped there is left to fill in. */
CUarrayMapInfo sparse_info(const pair *p, CUmemGenericAllocationHandle pool, uint64_t offset);
/* So many tiles of 128 x 128 words side by side. */
CUarrayMapInfo sparse_tiles(const pair *p, CUarray array, unsigned x, unsigned y, unsigned count,
                            CUmemGenericAllocationHandle pool, uint64_t offset);
/* Words of a rectangle of a level, to or from host memory. */
void sparse_copy(const pair *p, CUarray array, unsigned x, unsigned y, unsigned width,
                 unsigned height, uint32_t *words, bool upload);
/* Those of words that differ. */
size_t sparse_wrong_bytes(const pair *p, CUarray array, unsigned x, unsigned y, unsigned width,
                          unsigned height, const uint32_t *expected);

#endif
