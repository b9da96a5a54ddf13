/* SPDX-License-Identifier: MIT */
/* A program as somebody writes it who has read of the driver API and nothing of Culvert: memory, a
 * stream, events, managed memory, and a kernel where a file of kernels is given. It says which call
 * failed, gives back what it has, and ends with 1. */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLS(X)                                                                                   \
    X(cuInit, cuInit)                                                                              \
    X(cuDeviceGet, cuDeviceGet)                                                                    \
    X(cuDeviceGetName, cuDeviceGetName)                                                            \
    X(cuGetErrorName, cuGetErrorName)                                                              \
    X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain)                                          \
    X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease) /* the first form, as FFmpeg asks */   \
    X(cuCtxSetCurrent, cuCtxSetCurrent)                                                            \
    X(cuStreamCreate, cuStreamCreate)                                                              \
    X(cuStreamDestroy, cuStreamDestroy_v2)                                                         \
    X(cuStreamSynchronize, cuStreamSynchronize)                                                    \
    X(cuMemAlloc, cuMemAlloc_v2)                                                                   \
    X(cuMemFree, cuMemFree_v2)                                                                     \
    X(cuMemAllocManaged, cuMemAllocManaged)                                                        \
    X(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2)                                                     \
    X(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2)                                                     \
    X(cuModuleLoad, cuModuleLoad)                                                                  \
    X(cuModuleUnload, cuModuleUnload)                                                              \
    X(cuModuleGetFunction, cuModuleGetFunction)                                                    \
    X(cuModuleGetGlobal, cuModuleGetGlobal_v2)                                                     \
    X(cuOccupancyMaxPotentialBlockSize, cuOccupancyMaxPotentialBlockSize)                          \
    X(cuLaunchKernel, cuLaunchKernel)

static struct {
#define MEMBER(name, symbol) __typeof__(&symbol) name;
    CALLS(MEMBER)
} cu;

static int failed(CUresult result, const char *call)
{
    const char *name = "?";
    if (result == CUDA_SUCCESS) return 0;
    cu.cuGetErrorName(result, &name);
    fprintf(stderr, "%s: %s\n", call, name);
    return 1;
}
#define TRY(call)                                                                                  \
    if (failed(cu.call, #call)) goto end

static int open_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 0;
    }
#define FIND(name, symbol)                                                                         \
    {                                                                                              \
        void *found = dlsym(library, #symbol);                                                     \
        if (found == NULL) {                                                                       \
            fprintf(stderr, "libcuda.so.1 has no %s\n", #symbol);                                  \
            return 0;                                                                              \
        }                                                                                          \
        memcpy(&cu.name, &found, sizeof found);                                                    \
    }
    CALLS(FIND)
    return 1;
}

enum { COUNT = 100000 };

int main(int argc, char **argv)
{
    const float bias = 0.25f;
    float factor = 3.0f;
    int result = 1, count = COUNT, grid = 0, block = 0;
    char name[128];
    CUdevice device;
    CUcontext context = NULL;
    CUstream stream = NULL;
    CUmodule module = NULL;
    CUfunction scale;
    CUdeviceptr memory = 0, managed = 0, of_bias;
    float *host = malloc(COUNT * sizeof *host);
    if (host == NULL || !open_driver()) goto end;
    for (int i = 0; i < COUNT; i++)
        host[i] = (float)i;
    TRY(cuInit(0));
    TRY(cuDeviceGet(&device, 0));
    TRY(cuDeviceGetName(name, sizeof name, device));
    TRY(cuDevicePrimaryCtxRetain(&context, device));
    TRY(cuCtxSetCurrent(context));
    TRY(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    TRY(cuMemAlloc(&memory, COUNT * sizeof *host));
    TRY(cuMemAllocManaged(&managed, COUNT * sizeof *host, CU_MEM_ATTACH_GLOBAL));
    TRY(cuMemcpyHtoDAsync(memory, host, COUNT * sizeof *host, stream));
    if (argc > 1) {
        void *params[] = {&memory, &factor, &count};
        TRY(cuModuleLoad(&module, argv[1]));
        TRY(cuModuleGetFunction(&scale, module, "scale"));
        TRY(cuModuleGetGlobal(&of_bias, NULL, module, "bias"));
        TRY(cuMemcpyHtoDAsync(of_bias, &bias, sizeof bias, stream));
        TRY(cuOccupancyMaxPotentialBlockSize(&grid, &block, scale, NULL, 0, 0));
        TRY(cuLaunchKernel(scale, (unsigned)((COUNT + block - 1) / block), 1, 1, (unsigned)block, 1,
                           1, 0, stream, params, NULL));
    }
    TRY(cuMemcpyDtoDAsync(managed, memory, COUNT * sizeof *host, stream));
    TRY(cuStreamSynchronize(stream));
    const float *back = (const float *)(size_t)managed; /* the host reads it where it is */
    int wrong = 0;
    for (int i = 0; i < COUNT; i++)
        wrong += back[i] != (argc > 1 ? (float)i * factor + bias : (float)i);
    printf("%s: %d of %d are wrong\n", name, wrong, (int)COUNT);
    result = wrong != 0;
end:
    if (module != NULL) cu.cuModuleUnload(module);
    if (managed != 0) cu.cuMemFree(managed);
    if (memory != 0) cu.cuMemFree(memory);
    if (stream != NULL) cu.cuStreamDestroy(stream);
    if (context != NULL) cu.cuDevicePrimaryCtxRelease(device);
    free(host);
    return result;
}
