/* SPDX-License-Identifier: MIT */
/* Checks for the programs of this directory: a small main's worth. */
#ifndef CULVERT_TESTS_WINDOWS_CHECK_H_
#define CULVERT_TESTS_WINDOWS_CHECK_H_

#include <culvert/culvert.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) check_fail(__FILE__, __LINE__, #condition);                              \
    } while (0)
#define OK(call) REQUIRE((call) == CULV_OK)
/* The call fails with this class and reason. */
#define REFUSES(call, class, why)                                                                  \
    do {                                                                                           \
        culv_result r_ = (call);                                                                   \
        if (r_ != (class) || !check_reason(why)) check_fail(__FILE__, __LINE__, #call);            \
        printf("  %s: %s\n", culv_reason_name(why), culv_last_error_message());                    \
    } while (0)

_Noreturn static inline void check_fail(const char *file, int line, const char *what)
{
    printf("%s:%d: FAILED: %s; the last error: %s\n", file, line, what, culv_last_error_message());
    fflush(stdout);
    exit(1);
}

static inline bool check_reason(culv_reason reason)
{
    culv_error e = culv_error_init();
    culv_last_error(&e);
    return e.reason == reason;
}

/* Sections that stand for exported objects. */
void *section_make(const wchar_t *name);
/* Whether some handle of the named section is open. */
bool section_lives(const wchar_t *name);
bool handle_is_open(void *handle);

void vulkan_cases(culv_device *device);

#endif
