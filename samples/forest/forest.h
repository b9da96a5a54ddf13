/* SPDX-License-Identifier: MIT */
/* forest: what CUDA writes and Vulkan reads, for the kernels and the host. shaders/forest/walk.glsl
 * has the same nodes and particles. */
#ifndef FOREST_FOREST_H_
#define FOREST_FOREST_H_

#include <stdint.h>
#ifndef __cplusplus
#    include <stdalign.h>
#endif

enum {
    FOREST_COLUMNS = 8,
    FOREST_ROWS = 9,
    FOREST_TREES = FOREST_COLUMNS * FOREST_ROWS,
    FOREST_LEVELS = 5, /* of branches, above the trunk */
    FOREST_WOOD = 364  /* pieces of wood a tree: 1 + 3 + 9 + ... + 3^5 */
};

typedef struct box {
    float low[3], high[3];
} box;

/* A leaf or a piece of wood. */
typedef struct particle {
    alignas(16) float x; /* a leaf's middle, or where a piece of wood begins */
    float y, z, radius;
    float ax, ay, az; /* a leaf's normal, or from one end of a piece of wood to the other */
    uint32_t color;   /* red, green, blue of 8 bits each from the lowest on; then the kind */
} particle;

enum { KIND_LEAF, KIND_WOOD };

/* A pointer of CUDA's, which is Vulkan's device address too. The lowest bit is set where it leads
 * to a particle, not to a node: both are at multiples of 16. */
typedef uint64_t tree_link;

enum { LINK_PARTICLE = 1 };

/* A node of the hierarchy has two of everything: children, and the boxes around them. */
typedef struct node {
    alignas(16) float low[2][3]; /* GLSL reads the first 48 bytes as three vectors of four */
    float high[2][3];
    tree_link child[2];
} node;

#endif
