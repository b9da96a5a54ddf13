/* SPDX-License-Identifier: MIT */
/* The programs, a table of cases each. */
#ifndef CULVERT_TESTS_FOREIGN_PROGRAMS_H_
#define CULVERT_TESTS_FOREIGN_PROGRAMS_H_

#include "foreign.h"

extern const test_case foreign_sine[];
extern const test_case foreign_mmap[];
extern const test_case foreign_filter[];
extern const test_case foreign_vector[];
extern const test_case foreign_allocator[];
extern const test_case foreign_ring[];
extern const test_case foreign_peers[];
extern const test_case foreign_mistakes[];

#endif
