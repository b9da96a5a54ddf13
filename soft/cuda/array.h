/* The twin's CUDA driver: arrays, mipmapped arrays and their layout in memory.
 * SPDX-License-Identifier: MIT */
#ifndef SOFT_ARRAY_H_
#define SOFT_ARRAY_H_

#include "soft.h"

#define SOFT_MAX_2D     16384u /* llvmpipe's limits, whose images arrays are made of */
#define SOFT_MAX_3D     2048u
#define SOFT_MAX_LAYERS 2048u
#define SOFT_MAX_LEVELS 15u
/* lavapipe's alignment of images: 16 in Mesa 22, 64 since 25. */
#define SOFT_IMAGE_ALIGNMENT 16u

/* --- array_layout.c */

/* What an element is: a texel, or a block of a compressed format. */
struct soft_element {
    unsigned bytes;
    unsigned width, height; /* in texels */
    unsigned channels;      /* 0: any of 1, 2 and 4, and `bytes` are one channel's */
};
/* INVALID_VALUE for a format that cuda.h has not, NOT_SUPPORTED for one that the twin has not. */
CUresult soft_element_of(CUarray_format format, unsigned channels, struct soft_element *out);

struct soft_level {
    uint64_t offset; /* bytes from the start of the mip chain */
    uint64_t slice;  /* bytes from a layer, or z, to the next */
    size_t pitch;    /* bytes from a row of elements to the next */
    size_t width_bytes, rows;
    size_t slices; /* layers, or the depth of this level */
    CUDA_ARRAY3D_DESCRIPTOR desc;
};

struct soft_layout {
    struct soft_element element;
    unsigned num_levels;
    uint64_t size; /* of the whole chain */
    struct soft_level levels[SOFT_MAX_LEVELS];
};
/* The layout of num_levels (1 or more) of what the descriptor says, and whether it is a valid one. */
CUresult soft_layout_of(const CUDA_ARRAY3D_DESCRIPTOR *desc, unsigned num_levels, struct soft_layout *out);
/* Levels down to one texel. */
unsigned soft_full_chain(const CUDA_ARRAY3D_DESCRIPTOR *desc);

/* --- array.c */
struct soft_array {
    struct soft_object object; /* SOFT_ARRAY; SOFT_LEVEL when it belongs to a mipmapped array */
    struct soft_element element;
    struct soft_level level;
    uint8_t *start;
    void *map; /* what to unmap; NULL for a level */
    size_t map_size;
};
/* A live array or level, NULL when the handle is neither. */
struct soft_array *soft_array_find(CUarray handle);

/* --- surface.c */
/* The array goes: its surfaces stay, and reach nothing. */
void soft_surfaces_forget(struct soft_array *array);

#endif
