/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: blocks whose threads wait for one another. */
#ifndef SOFT_BLOCK_H_
#define SOFT_BLOCK_H_

#include "soft.h"

#include <stddef.h>

extern const culv_soft_services soft_block_services;

/* Blocks of a cluster; 1 without clusters. */
uint32_t soft_cluster_size(const struct soft_grid *grid);
/* Runs clusters, or blocks where a launch has none, [first, first + count) on the calling thread,
 * under soft_guarded(), which it ends by soft_fault_end() when something is wrong. */
void soft_block_run(const struct soft_grid *grid, uint64_t first, uint64_t count);
/* If the calling thread runs a block's thread on a stack of its own: leaves it for good, and
 * soft_guarded() ends with `result`. Otherwise it returns. For a signal handler. */
void soft_block_abandon(CUresult result);

/* Stacks that one thread switches between. */

/* A stack with work on it, or the thread's own. Zero-filled, it is the thread's own. */
struct soft_fiber {
    struct soft_fiber *next; /* for whoever keeps it */
    void *position;          /* where it goes on */
    unsigned char *stack;    /* the lowest byte */
    size_t stack_size;
    void *sanitizer; /* AddressSanitizer's own frames */
    void *context;   /* where the processor has no switch of its own: block_posix.c */
};

enum { SOFT_FIBER_STACK = 256 * 1024, SOFT_FIBERS_AT_ONCE = 32 };

/* SOFT_FIBERS_AT_ONCE new ones, chained by `next`; NULL without memory. soft_fibers_free() takes
 * what was returned. */
struct soft_fiber *soft_fibers_new(void);
void soft_fibers_free(struct soft_fiber *first);
/* The next switch to it calls work(), which never returns. What was on the stack is forgotten. */
void soft_fiber_prepare(struct soft_fiber *fiber, void (*work)(void));
/* Leaves `from`, which goes on here when somebody switches back to it. */
void soft_fiber_switch(struct soft_fiber *from, struct soft_fiber *to);
/* The first lines of work() call this with the fiber that was left for it. */
void soft_fiber_arrived(struct soft_fiber *from);
/* Leaves a fiber for good, as from a signal handler. */
_Noreturn void soft_fiber_leave(struct soft_fiber *to);

#endif
