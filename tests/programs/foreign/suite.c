/* SPDX-License-Identifier: MIT */
#include "programs.h"

/* clang-format off */
const test_case *const test_suite_tables[] = {
    foreign_sine,
    foreign_mmap,
    foreign_filter,
    foreign_vector,
    foreign_allocator,
    foreign_ring,
    foreign_peers,
    foreign_mistakes,
    NULL,
};
