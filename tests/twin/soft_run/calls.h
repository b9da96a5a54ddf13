/* SPDX-License-Identifier: MIT */
/* The calls of the driver that these programs make, each by the name that a program links. */
#define CALLS(X)                                                                                   \
    X(cuInit, cuInit)                                                                              \
    X(cuDeviceGetCount, cuDeviceGetCount)                                                          \
    X(cuDeviceGetUuid, cuDeviceGetUuid_v2)                                                         \
    X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain)                                          \
    X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2)                                     \
    X(cuCtxSetCurrent, cuCtxSetCurrent)                                                            \
    X(cuStreamCreate, cuStreamCreate)                                                              \
    X(cuStreamDestroy, cuStreamDestroy_v2)                                                         \
    X(cuStreamSynchronize, cuStreamSynchronize)                                                    \
    X(cuMemAlloc, cuMemAlloc_v2)                                                                   \
    X(cuMemFree, cuMemFree_v2)                                                                     \
    X(cuMemsetD8Async, cuMemsetD8Async)                                                            \
    X(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2)                                                     \
    X(cuImportExternalMemory, cuImportExternalMemory)                                              \
    X(cuExternalMemoryGetMappedBuffer, cuExternalMemoryGetMappedBuffer)                            \
    X(cuDestroyExternalMemory, cuDestroyExternalMemory)                                            \
    X(cuImportExternalSemaphore, cuImportExternalSemaphore)                                        \
    X(cuSignalExternalSemaphoresAsync, cuSignalExternalSemaphoresAsync)                            \
    X(cuWaitExternalSemaphoresAsync, cuWaitExternalSemaphoresAsync)                                \
    X(cuDestroyExternalSemaphore, cuDestroyExternalSemaphore)
