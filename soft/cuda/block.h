/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: blocks whose threads wait for one another. */
#ifndef SOFT_BLOCK_H_
#define SOFT_BLOCK_H_

#include "soft.h"

extern const culv_soft_services soft_block_services;

/* Blocks of a cluster; 1 without clusters. */
uint32_t soft_cluster_size(const struct soft_grid *grid);
/* Runs clusters, or blocks where a launch has none, [first, first + count) on the calling thread,
 * under soft_guarded(), which it ends by soft_fault_end() when something is wrong. */
void soft_block_run(const struct soft_grid *grid, uint64_t first, uint64_t count);
/* If the calling thread runs a block's thread on a stack of its own: leaves it for good, and
 * soft_guarded() ends with `result`. Otherwise it returns. For a signal handler. */
void soft_block_abandon(CUresult result);

#endif
