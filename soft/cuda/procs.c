/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: entry points by name and version. */
#include "soft.h"

#include "procs.h"

#include <string.h>

typedef void (*any_fn)(void);

struct proc {
    const char *base;
    int version;
    any_fn function;
};

#define ROW(base, version, symbol) {#base, version, (any_fn)symbol},
static const struct proc procs[] = {SOFT_PROCS(ROW) SOFT_PROCS_GRAPHS(ROW) SOFT_PROCS_13000(ROW)
                                        SOFT_CONTROLS(ROW)};
#define NUM_PROCS (sizeof(procs) / sizeof(procs[0]))

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
    /* The twin has no second set of functions whose stream 0 is another one: use
     * CU_STREAM_PER_THREAD. */
    if (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) return CUDA_ERROR_NOT_SUPPORTED;

    const struct proc *best = NULL;
    bool known_name = false;
    for (size_t i = 0; i < NUM_PROCS; i++) {
        if (strcmp(procs[i].base, symbol) != 0) continue;
        known_name = true;
        if (procs[i].version <= cudaVersion && (best == NULL || procs[i].version > best->version))
            best = &procs[i];
    }
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
