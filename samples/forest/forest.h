/* SPDX-License-Identifier: MIT */
/* forest: how much there is of what, for the kernels and the host. */
#ifndef FOREST_FOREST_H_
#define FOREST_FOREST_H_

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

#endif
