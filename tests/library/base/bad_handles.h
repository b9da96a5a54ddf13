/* SPDX-License-Identifier: MIT */
/* File descriptors that nobody exported. */
#ifndef CULVERT_TESTS_LIBRARY_BAD_HANDLES_H_
#define CULVERT_TESTS_LIBRARY_BAD_HANDLES_H_

#include "library.h"

typedef struct bad_handle {
    const char *name;
    int fd;
    /* What an import answers; the driver's own refusal where reason is HANDLE_REFUSED */
    culv_result result;
    culv_reason reason;
} bad_handle;

/* Gives each to `refuse`, which imports it and holds the error against the
 * handle's, and requires that it is left as it was. `size` is that of the files. */
void bad_handles_try(const lib_world *w, size_t size,
                     void (*refuse)(const lib_world *w, const bad_handle *handle));

#endif
