/* SPDX-License-Identifier: MIT */
/* What a texture read must give, by the texts (CUDA Programming Guide, "Texture Fetching"), slowly,
 * in doubles. */
#ifndef CULVERT_TESTS_TEXTURE_REFERENCE_H_
#define CULVERT_TESTS_TEXTURE_REFERENCE_H_

#include <cuda.h>
#include <stdbool.h>

/* As in texture_kernels.cu. */
typedef struct place {
    float x, y, z;
    int layer;
    float level;
} place;
#define NO_LEVEL (-1000.0f)

typedef struct reference_image {
    int directions; /* 1 to 3 that are filtered; 2 of a cube's face */
    bool cube;
    int width, height, slices; /* slices: depth, layers, or faces of all layers */
    const float (*texels)[4];
} reference_image;

/* One level. False where the place is too close to the border of two texels to tell which one is
 * read. */
bool reference_read(const reference_image *image, const CUDA_TEXTURE_DESC *desc, const place *p,
                    double out[4]);

#endif
