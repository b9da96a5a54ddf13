/* SPDX-License-Identifier: MIT */
/* Descriptors of older and newer programs. */
#ifndef CULVERT_TESTS_LIBRARY_CORE_STRUCTS_H_
#define CULVERT_TESTS_LIBRARY_CORE_STRUCTS_H_

#include "library.h"

/* A call that takes a descriptor of `size` bytes and undoes what it did; oldest: bytes of the
 * shortest descriptor that still means the same. */
typedef struct described {
    const char *name;
    const void *desc;
    size_t size, oldest;
    culv_result (*call)(lib_world *w, const void *desc);
} described;

/* Takes shorter, longer and wrong struct_sizes; never reads beyond what a descriptor says it
 * has. */
void described_check(lib_world *w, const described *d);

#endif
