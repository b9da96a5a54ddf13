/* SPDX-License-Identifier: MIT */
/* Samples: the CUDA driver functions that a sample calls, taken from the SAME driver that serves
 * the culv_device (NVIDIA's or the software twin's), so that nothing of CUDA is linked. */
#ifndef CULVERT_SAMPLES_CUDA_API_H_
#define CULVERT_SAMPLES_CUDA_API_H_

#include <stdbool.h>

#include <cuda.h>
#include <cudaTypedefs.h>

#include <culvert/device.h>

/* (name without "cu" and without suffix, version of the wanted form, as cuGetProcAddress takes
 * them). The prefix is left off because cuda.h renames some functions by macros: cuMemAlloc is
 * cuMemAlloc_v2. */
#define CUDA_API_FUNCTIONS(X)                                                                      \
    X(GetErrorName, 6000)                                                                          \
    X(GetErrorString, 6000)                                                                        \
    X(DriverGetVersion, 2020)                                                                      \
    X(CtxGetCurrent, 4000)                                                                         \
    X(CtxSetCurrent, 4000)                                                                         \
    X(MemAlloc, 3020)                                                                              \
    X(MemFree, 3020)                                                                               \
    X(MemcpyHtoD, 3020)                                                                            \
    X(MemcpyDtoH, 3020)                                                                            \
    X(MemcpyDtoHAsync, 3020)                                                                       \
    X(Memcpy2DAsync, 3020)                                                                         \
    X(Array3DCreate, 3020)                                                                         \
    X(ArrayDestroy, 2000)                                                                          \
    X(SurfObjectCreate, 5000)                                                                      \
    X(SurfObjectDestroy, 5000)                                                                     \
    X(MemsetD8, 3020)                                                                              \
    X(MemHostRegister, 6050)                                                                       \
    X(MemHostUnregister, 4000)                                                                     \
    X(StreamCreate, 2000)                                                                          \
    X(StreamDestroy, 4000)                                                                         \
    X(StreamSynchronize, 2000)                                                                     \
    X(StreamWaitEvent, 3020)                                                                       \
    X(LaunchHostFunc, 10000)                                                                       \
    X(EventCreate, 2000)                                                                           \
    X(EventDestroy, 4000)                                                                          \
    X(EventRecord, 2000)                                                                           \
    X(EventSynchronize, 2000)                                                                      \
    X(EventElapsedTime, 2000)                                                                      \
    X(LaunchKernel, 4000)

typedef struct cuda_api {
#define CUDA_API_MEMBER_(name, version) PFN_cu##name##_v##version name;
    CUDA_API_FUNCTIONS(CUDA_API_MEMBER_)
#undef CUDA_API_MEMBER_
} cuda_api;

/* Resolves every function; false, with a message, when the driver lacks one. */
bool cuda_api_load(cuda_api *api, const culv_device *device);

/* True when the call succeeded; otherwise says what failed and the driver's own words for it. */
bool cuda_ok(const cuda_api *api, CUresult result, const char *what);

#endif
