/* SPDX-License-Identifier: MIT */
/* What tests/support/raw_cuda.c and the back-end suite ask of POSIX, for Windows: the driver is
 * nvcuda.dll of the system directory. */
#ifndef CULVERT_TESTS_WINDOWS_POSIX_DLFCN_H_
#define CULVERT_TESTS_WINDOWS_POSIX_DLFCN_H_

#include <stdlib.h>

enum { RTLD_NOW = 1, RTLD_LOCAL = 2 };

void *dlopen(const char *name, int flags);
void *dlsym(void *library, const char *name);
int dlclose(void *library);
char *dlerror(void);
int setenv(const char *name, const char *value, int overwrite);

#endif
