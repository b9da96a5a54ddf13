/* SPDX-License-Identifier: MIT */
/* forest: where the tree is, and whether it is whole. */
#ifndef FOREST_TREE_H_
#define FOREST_TREE_H_

#include <stdbool.h>
#include <stddef.h>

#include <culvert/cuda_api.h>

#include "forest.h"

/* The first node is the root. Each address is CUDA's and Vulkan's. */
typedef struct tree {
    uint64_t particles, nodes;
    size_t num_particles, num_nodes;
} tree;

typedef struct tree_check {
    size_t nodes, particles; /* found by following pointers from the root */
    uint32_t depth;
    uint64_t checksum; /* of boxes, particles and the shape; not of addresses */
} tree_check;

/* Follows every pointer: each must lead to a node or to a particle, each of these must be found
 * once, and boxes must lie within the box above them. Both sides must be done. False, with a
 * message, when something is wrong. */
bool tree_is_whole(const tree *t, const culv_cuda_api *cu, tree_check *out);

#endif
