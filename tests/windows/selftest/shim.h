/* SPDX-License-Identifier: MIT */
/* Stands before each source of the suites that culvert-selftest.exe runs, so that they run on a
 * Windows machine with NVIDIA's driver as they are. With the twin as nvcuda.dll nothing changes.
 * With NVIDIA's driver
 * - no overlay is installed: Direct3D's own methods are asked;
 * - a case that needs a lie of the overlay or a failure of the twin ends as a skip;
 * - checks of what the twin and the overlay count are passed;
 * - names of shared handles are looked for without asking what kind of object has them;
 * - and bytes that are compared are counted, for the report. */
#ifndef CULVERT_TESTS_WINDOWS_SELFTEST_SHIM_H_
#define CULVERT_TESTS_WINDOWS_SELFTEST_SHIM_H_

#define COBJMACROS
#include <windows.h>
/* after it */
#include <string.h>

#define overlay_install    selftest_install12
#define overlay_tell       selftest_tell12
#define overlay_fail_at    selftest_fail12_at
#define overlay11_install  selftest_install11
#define overlay11_tell     selftest_tell11
#define overlay11_fail_at  selftest_fail11_at
#define GetProcAddress     selftest_proc
#define OpenFileMappingW   selftest_open_name
#define memcmp(a, b, size) selftest_compare(a, b, size)

FARPROC WINAPI selftest_proc(HMODULE module, const char *name);
HANDLE WINAPI selftest_open_name(DWORD access, BOOL inherit, const wchar_t *name);
int selftest_compare(const void *a, const void *b, size_t size);

#include "check.h"
#undef REQUIRE
#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition) && !selftest_passes(#condition))                                          \
            check_fail(__FILE__, __LINE__, #condition);                                            \
    } while (0)
bool selftest_passes(const char *condition);

#endif
