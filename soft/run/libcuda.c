/* SPDX-License-Identifier: MIT */
/* The twin under the name libcuda.so.1, for programs that know nothing of Culvert: culvert-soft-run
 * puts this library's directory into LD_LIBRARY_PATH. The functions are those of the twin itself,
 * which this library needs. The others that cuda.h names are here and answer NOT_SUPPORTED, so that
 * a program that links them starts, and hears which function it missed. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { SUCCESS = 0, NOT_INITIALIZED = 3, NOT_SUPPORTED = 801 }; /* CUresult */

static int say_lack(atomic_flag *said, const char *name)
{
    if (!atomic_flag_test_and_set(said))
        fprintf(stderr,
                "culvert-soft-run: the program calls %s, which the software twin does not have; "
                "it answers CUDA_ERROR_NOT_SUPPORTED\n",
                name);
    return NOT_SUPPORTED;
}

/* Callers pass arguments; the platform's calling convention lets a function ignore them. */
#define LACKS(name)                                                                                \
    EXPORT int name(void);                                                                         \
    int name(void)                                                                                 \
    {                                                                                              \
        static atomic_flag said = ATOMIC_FLAG_INIT;                                                \
        return say_lack(&said, #name);                                                             \
    }
#include "lacks.h"

/* The CUDA runtime asks for this function before anything else, for tables that NVIDIA does not
 * document. Without it every call of the runtime fails with an error that says nothing of this. */
static void note_runtime(const char *symbol)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    if (symbol == NULL || strcmp(symbol, "cuGetExportTable") != 0) return;
    if (!atomic_flag_test_and_set(&said))
        fprintf(
            stderr,
            "culvert-soft-run: the program uses the CUDA runtime API (cuda_runtime.h, libcudart), which the software twin cannot serve: "
            "it serves the driver API (cuda.h) alone. The runtime's calls will fail with error 36, cudaErrorCallRequiresNewerDriver\n");
}

/* The twin is loaded, because this library needs it. RTLD_NEXT would not find it where a program
 * opened this library by dlopen(). */
static void *twins(const char *name)
{
    void *twin = dlopen("libculvert-soft.so.0", RTLD_NOW | RTLD_NOLOAD);
    if (twin == NULL) return NULL;
    void *found = dlsym(twin, name);
    dlclose(twin);
    return found;
}

/* Whoever reads of a call that failed is to know that no GPU was there. */
__attribute__((constructor)) static void tell_errors(void)
{
    void (*tell)(int) = NULL;
    void *found = twins("culvSoftTellErrors");
    memcpy(&tell, &found, sizeof tell);
    if (tell != NULL) tell(1);
}

EXPORT int cuGetProcAddress_v2(const char *symbol, void **pfn, int version, uint64_t flags,
                               int *status);
EXPORT int cuGetProcAddress(const char *symbol, void **pfn, int version, uint64_t flags);

/* Programs ask it for itself too; they are to stay here. */
static void answer_self(const char *symbol, void **pfn)
{
    if (symbol == NULL || pfn == NULL || strcmp(symbol, "cuGetProcAddress") != 0 || *pfn == NULL)
        return;
    int (*older)(const char *, void **, int, uint64_t) = cuGetProcAddress;
    int (*newer)(const char *, void **, int, uint64_t, int *) = cuGetProcAddress_v2;
    if (*pfn == twins("cuGetProcAddress"))
        memcpy(pfn, &older, sizeof older);
    else
        memcpy(pfn, &newer, sizeof newer);
}

int cuGetProcAddress_v2(const char *symbol, void **pfn, int version, uint64_t flags, int *status)
{
    int (*ask)(const char *, void **, int, uint64_t, int *) = NULL;
    void *found = twins("cuGetProcAddress_v2");
    memcpy(&ask, &found, sizeof ask);
    note_runtime(symbol);
    if (ask == NULL) return NOT_INITIALIZED;
    int result = ask(symbol, pfn, version, flags, status);
    if (result == SUCCESS) answer_self(symbol, pfn);
    return result;
}

int cuGetProcAddress(const char *symbol, void **pfn, int version, uint64_t flags)
{
    int (*ask)(const char *, void **, int, uint64_t) = NULL;
    void *found = twins("cuGetProcAddress");
    memcpy(&ask, &found, sizeof ask);
    note_runtime(symbol);
    if (ask == NULL) return NOT_INITIALIZED;
    int result = ask(symbol, pfn, version, flags);
    if (result == SUCCESS) answer_self(symbol, pfn);
    return result;
}
