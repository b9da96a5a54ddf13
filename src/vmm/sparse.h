/* SPDX-License-Identifier: MIT */
/* Sparse arrays: what is known about one. */
#ifndef CULVI_SPARSE_H_
#define CULVI_SPARSE_H_

#include "core/image.h"
#include "culvert/sparse.h"

struct culv_sparse_array {
    culv_device *device;
    CUarray array;           /* one of the two */
    CUmipmappedArray mipmap; /* NULL: without levels */
    const culvi_format *row;
    /* Every default made explicit; mip_levels 0 of a CUarray; no label */
    culv_sparse_array_desc desc;
    culv_sparse_array_info info;
    char label[64];
    culvi_deferred deferred;
};

/* A side of a level in texels. */
uint32_t culvi_sparse_side(const culv_sparse_array *array, uint32_t level, int axis);

#endif
