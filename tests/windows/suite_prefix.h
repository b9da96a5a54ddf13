/* SPDX-License-Identifier: MIT */
/* What a program says of itself to harness.c. */
#ifndef CULVERT_TESTS_WINDOWS_SUITE_PREFIX_H_
#define CULVERT_TESTS_WINDOWS_SUITE_PREFIX_H_

/* Before the names of its cases. */
const char *suite_prefix(void);

#endif
