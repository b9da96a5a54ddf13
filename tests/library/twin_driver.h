/* SPDX-License-Identifier: MIT */
/* A test's own libcuda.so.1 in front of the software twin: some functions are the test's, and the
 * twin has the rest. CULVERT_TEST_TWIN is the twin's path. */
#ifndef CULVERT_TESTS_LIBRARY_TWIN_DRIVER_H_
#define CULVERT_TESTS_LIBRARY_TWIN_DRIVER_H_

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

static void *twin_function(const char *name, int version)
{
    void *address = NULL;
    CUdriverProcAddressQueryResult status;
    if (twin()(name, &address, version, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &status) != CUDA_SUCCESS)
        abort();
    return address;
}

/* Declares `real`, the twin's function. */
#define TWIN(type, name, version)                                                                  \
    type real;                                                                                     \
    void *address = twin_function(name, version);                                                  \
    memcpy(&real, &address, sizeof real)

/* A function of the test's: `mine` points to a pointer to it. */
typedef struct own_function {
    const char *name;
    const void *mine;
} own_function;

/* What cuGetProcAddress() answers. */
static CUresult find_function(const own_function *own, size_t count, const char *name, void **out,
                              int version, cuuint64_t flags, CUdriverProcAddressQueryResult *status)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(name, own[i].name) != 0) continue;
        memcpy(out, own[i].mine, sizeof *out);
        if (status != NULL) *status = CU_GET_PROC_ADDRESS_SUCCESS;
        return CUDA_SUCCESS;
    }
    return twin()(name, out, version, flags, status);
}

#endif
