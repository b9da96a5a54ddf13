/* SPDX-License-Identifier: MIT */
/* What the played drivers share, each a libcuda.so.1 of its own: the software twin behind them,
 * whose file the environment names. */
#ifndef CULVERT_TESTS_PLAYED_TWIN_H_
#define CULVERT_TESTS_PLAYED_TWIN_H_

#include <cuda.h>
#include <cudaTypedefs.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

static PFN_cuGetProcAddress_v12000 twin(void)
{
    static PFN_cuGetProcAddress_v12000 get;
    if (get == NULL) {
        void *library = dlopen(getenv("CULVERT_TEST_TWIN"), RTLD_NOW);
        void *symbol = library != NULL ? dlsym(library, "cuGetProcAddress_v2") : NULL;
        if (symbol == NULL) abort();
        memcpy(&get, &symbol, sizeof get);
    }
    return get;
}

static void *function(const char *name, int version)
{
    void *address = NULL;
    CUdriverProcAddressQueryResult status;
    if (twin()(name, &address, version, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &status) != CUDA_SUCCESS)
        abort();
    return address;
}

#define TWIN(type, name, version)                                                                  \
    type real;                                                                                     \
    void *address = function(name, version);                                                       \
    memcpy(&real, &address, sizeof real)

#endif
