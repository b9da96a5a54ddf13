/* SPDX-License-Identifier: MIT */
/* forest: is the tree that Vulkan walks whole? */
#ifndef FOREST_CHECK_H_
#define FOREST_CHECK_H_

#include "memory.h"

typedef struct check_result {
    uint64_t nodes, particles; /* found by following pointers from the root */
    uint32_t depth;
    uint64_t checksum; /* of boxes, particles and the shape; not of addresses */
} check_result;

/* Follows every pointer that Vulkan gets: each must lead to a node or to a particle, each of these
 * must be found once, and boxes must lie within the box above them. Both sides must be done. False,
 * with a message, when something is wrong. */
bool check_tree(const memory *m, check_result *out);

#endif
