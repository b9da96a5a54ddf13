/* SPDX-License-Identifier: MIT */
#ifndef CULVERT_TESTS_WINDOWS_SELFTEST_PLAYED_H_
#define CULVERT_TESTS_WINDOWS_SELFTEST_PLAYED_H_

#include <stdbool.h>
#include <stdint.h>

enum { SELFTEST_SKIPPED = 77 };

/* Whether nvcuda.dll is the twin, under Wine. */
bool selftest_on_twin(void);
/* Bytes that the cases of this process compared since the last call. */
uint64_t selftest_compared(void);

#endif
