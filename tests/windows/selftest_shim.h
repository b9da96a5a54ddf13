/* SPDX-License-Identifier: MIT */
/* Stands before each source of the suites that culvert-selftest.exe runs, so that they run on a
 * Windows machine with NVIDIA's driver as they are. With the twin as nvcuda.dll nothing changes.
 * With NVIDIA's driver
 * - there is no rig: Direct3D's own methods are asked;
 * - a case that needs a lie of the rig or a failure of the twin ends as a skip;
 * - checks of what the twin and the rig count are passed;
 * - names of shared handles are looked for without asking what kind of object has them;
 * - and bytes that are compared are counted, for the report. */
#ifndef CULVERT_TESTS_WINDOWS_SELFTEST_SHIM_H_
#define CULVERT_TESTS_WINDOWS_SELFTEST_SHIM_H_

#define COBJMACROS
#include <windows.h>
/* after it */
#include <culvert/cuda_api.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

FARPROC WINAPI selftest_proc(HMODULE module, const char *name);
HANDLE WINAPI selftest_open_name(DWORD access, BOOL inherit, const wchar_t *name);
int selftest_compare(const void *a, const void *b, size_t size);

int selftest_printf(const char *format, ...) __attribute__((format(gnu_printf, 1, 2)));
int selftest_vprintf(const char *format, va_list args) __attribute__((format(gnu_printf, 1, 0)));

#define GetProcAddress     selftest_proc
#define OpenFileMappingW   selftest_open_name
#define memcmp(a, b, size) selftest_compare(a, b, size)
#define printf             selftest_printf
#define vprintf            selftest_vprintf

#include "harness.h"
#undef REQUIRE
#define REQUIRE(condition)                                                                         \
    ((condition) || selftest_passes(#condition) ? (void)0                                          \
                                                : test_fail(__FILE__, __LINE__, "%s", #condition))
bool selftest_passes(const char *condition);

/* The harness, which selftest.c starts with the cases of one suite. */
extern const char *selftest_suite;
int selftest_run(int argc, char **argv);

#endif
