/* File descriptors that nobody exported. SPDX-License-Identifier: MIT */
#ifndef CULVERT_TESTS_LIBRARY_BAD_HANDLES_H_
#define CULVERT_TESTS_LIBRARY_BAD_HANDLES_H_

#include "library.h"

typedef struct bad_handle {
    const char *name;
    int fd;
    culv_result result; /* what an import answers; the driver's own refusal where reason is HANDLE_REFUSED */
    culv_reason reason;
} bad_handle;

enum { BAD_HANDLES = 9 };

/* Open ones, each to be closed by bad_handles_close(), and two that are not open. `size` is that of the
 * files. */
void bad_handles_open(bad_handle out[BAD_HANDLES], size_t size);
void bad_handles_close(bad_handle handles[BAD_HANDLES]);

#endif
