/* SPDX-License-Identifier: MIT */
#ifndef CULVERT_TESTS_WINDOWS_SELFTEST_PLAYED_H_
#define CULVERT_TESTS_WINDOWS_SELFTEST_PLAYED_H_

#include <stdbool.h>
#include <stddef.h>

enum { SELFTEST_SKIPPED = 77 };

/* Whether nvcuda.dll is the twin, under Wine. */
bool selftest_on_twin(void);
/* The directory of culvert-rig.dll and of rig/culvert-rig.exe: this process has the library, or the
 * one that started it. */
bool selftest_find_rig(char *directory, size_t size);
/* Under Wine: before there is a device, once in a process that runs cases. */
void selftest_load_rig(void);

#endif
