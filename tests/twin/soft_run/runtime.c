/* SPDX-License-Identifier: MIT */
/* What the CUDA runtime asks of a driver first (CUDA 13.0): cuGetProcAddress for itself, and then
 * for NVIDIA's own tables. Ends with 0 where the driver has them, 3 where it does not. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef int (*ask_fn)(const char *, void **, int, uint64_t, int *);

int main(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *found = NULL;
    int status = 0;
    ask_fn ask = NULL;
    if (library == NULL) return printf("%s\n", dlerror()), 1;
    found = dlsym(library, "cuGetProcAddress_v2");
    memcpy(&ask, &found, sizeof ask);
    if (ask == NULL || ask("cuGetProcAddress", &found, 12000, 0, &status) != 0) return 1;
    memcpy(&ask, &found, sizeof ask);
    if (ask == NULL || ask("cuGetExportTable", &found, 3000, 0, &status) != 0) return 1;
    return found != NULL ? 0 : 3;
}
