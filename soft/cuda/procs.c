/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: entry points by name and version. */
#include "procs.h"
#include "../shared/fail_at.h"
#include "gl.h"
#include "per_thread.h"
#ifdef _WIN32
#    include "win32_d3d.h"
#else
#    define SOFT_PROCS_D3D(X)
#endif

#include <string.h>

typedef void (*any_fn)(void);

struct proc {
    const char *base;
    int version;
    any_fn function;
};

#define ROW(base, version, symbol) {#base, version, (any_fn)symbol},
static const struct proc procs[] = {SOFT_PROCS(ROW) SOFT_PROCS_GRAPHS(ROW) SOFT_PROCS_13000(
    ROW) SOFT_PROCS_LINUX(ROW) SOFT_PROCS_D3D(ROW) SOFT_CONTROLS(ROW)};
#define NUM_PROCS (sizeof(procs) / sizeof(procs[0]))
#define PER_THREAD_ROW(base, version, call, suffix, parameters, arguments)                         \
    {#base, version, (any_fn)call##_##suffix},
static const struct proc per_thread[] = {SOFT_PER_THREAD(PER_THREAD_ROW)};
#define NUM_PER_THREAD (sizeof(per_thread) / sizeof(per_thread[0]))

/* The newest form that is no newer than `version`. */
static const struct proc *find(const struct proc *list, size_t count, const char *symbol,
                               int version, bool *known_name)
{
    const struct proc *best = NULL;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(list[i].base, symbol) != 0) continue;
        *known_name = true;
        if (list[i].version <= version && (best == NULL || list[i].version > best->version))
            best = &list[i];
    }
    return best;
}

bool soft_proc_known(const char *name)
{
    for (size_t i = 0; i < NUM_PROCS; i++)
        if (soft_fail_at_counts(procs[i].base, name)) return true;
    return false;
}

CUresult CUDAAPI cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion,
                                     cuuint64_t flags, CUdriverProcAddressQueryResult *symbolStatus)
{
    /* Where NVIDIA's driver refuses, it leaves what is pointed to as it was (measured). */
    if (symbol == NULL || pfn == NULL) return CUDA_ERROR_INVALID_VALUE;
    const cuuint64_t known =
        CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    pthread_mutex_lock(&soft.lock);
    const int newest = soft.driver_version;
    pthread_mutex_unlock(&soft.lock);
    if ((flags & ~known) || cudaVersion > newest) return CUDA_ERROR_INVALID_VALUE;

    const struct proc *best = NULL;
    bool known_name = false;
    if (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
        best = find(per_thread, NUM_PER_THREAD, symbol, cudaVersion, &known_name);
    if (best == NULL) best = find(procs, NUM_PROCS, symbol, cudaVersion, &known_name);
    if (symbolStatus != NULL)
        *symbolStatus = best != NULL ? CU_GET_PROC_ADDRESS_SUCCESS
                        : known_name ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                     : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    *pfn = NULL; /* and no error: the status says it (measured) */
    if (best != NULL) memcpy(pfn, &best->function, sizeof(*pfn));
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
    CUresult result = cuGetProcAddress_v2(symbol, pfn, cudaVersion, flags, NULL);
    /* It has no status to say so. */
    return result == CUDA_SUCCESS && *pfn == NULL ? CUDA_ERROR_NOT_FOUND : result;
}
