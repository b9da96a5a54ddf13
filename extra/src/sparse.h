/* SPDX-License-Identifier: MIT */
/* Sparse arrays: what is known about one. */
#ifndef CULVI_X_SPARSE_H_
#define CULVI_X_SPARSE_H_

#include "culvert/extra/sparse.h"

#include "inside.h"

struct culv_sparse_array {
    culv_device *device;
    CUarray array;           /* one of the two */
    CUmipmappedArray mipmap; /* NULL: without levels */
    /* Every default made explicit; mip_levels 0 of a CUarray; no label */
    culv_sparse_array_desc desc;
    culv_sparse_array_info info;
    char label[64];
    culv_addon_object *object;
};

/* A side of a level in texels. */
uint32_t culvi_sparse_side(const culv_sparse_array *array, uint32_t level, int axis);

#endif
