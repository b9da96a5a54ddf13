/* SPDX-License-Identifier: MIT */
/* Counts allocations by who asked for them: this program's malloc and its kin stand before libc's
 * for every library in the process, and each call is put down to the innermost library on its stack
 * that is not libc itself (a strdup() in Culvert is Culvert's). */
#ifndef CULVERT_BENCH_ALLOCATIONS_H_
#define CULVERT_BENCH_ALLOCATIONS_H_

#include <stdbool.h>
#include <stdint.h>

typedef struct allocation_counts {
    uint64_t culvert; /* libculvert */
    uint64_t program; /* this program */
    uint64_t others;  /* the drivers, the Vulkan loader and what they use */
} allocation_counts;

/* False where allocations cannot be counted: a sanitizer has its own malloc. */
bool allocations_can_be_counted(void);
/* From here on, all threads. */
void allocations_begin(void);
allocation_counts allocations_end(void);

#endif
