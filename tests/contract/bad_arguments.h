/* SPDX-License-Identifier: MIT */
/* Bad arguments, one row a call: what the driver answers to it. A row's name, "ENTRYPOINT: what is
 * bad", is the key of its answer. Where NVIDIA's driver crashes, the row is not called there and the
 * recorded answer is "crashes". */
#ifndef CULVERT_TESTS_BAD_ARGUMENTS_H_
#define CULVERT_TESTS_BAD_ARGUMENTS_H_

#include "contract.h"

/* Entry points that raw_cuda lacks, or has in another form. */
#define BAD_CALLS(X)                                                                               \
    X(DeviceTotalMem, 3020)                                                                        \
    X(DeviceGetPCIBusId, 4010)                                                                     \
    X(DeviceGetByPCIBusId, 4010)                                                                   \
    X(DevicePrimaryCtxSetFlags, 11000)                                                             \
    X(CtxCreate, 12050)                                                                            \
    X(CtxGetDevice, 2000)                                                                          \
    X(CtxGetFlags, 7000)                                                                           \
    X(CtxGetApiVersion, 3020)                                                                      \
    X(StreamGetFlags, 5050)                                                                        \
    X(StreamGetId, 12000)                                                                          \
    X(StreamGetCtx, 9020)                                                                          \
    X(StreamGetDevice, 12080)                                                                      \
    X(EventRecordWithFlags, 11010)                                                                 \
    X(EventElapsedTime, 12080)                                                                     \
    X(MemAllocPitch, 3020)                                                                         \
    X(MemAllocHost, 3020)                                                                          \
    X(MemHostGetFlags, 2030)                                                                       \
    X(MemGetAddressRange, 3020)                                                                    \
    X(Memcpy, 4000)                                                                                \
    X(MemcpyDtoD, 3020)                                                                            \
    X(MemsetD8, 3020)                                                                              \
    X(MemsetD16, 3020)                                                                             \
    X(MemsetD32, 3020)                                                                             \
    X(PointerGetAttributes, 7000)                                                                  \
    X(ArrayCreate, 3020)                                                                           \
    X(ArrayGetDescriptor, 3020)                                                                    \
    X(ArrayGetSparseProperties, 11010)                                                             \
    X(MipmappedArrayGetSparseProperties, 11010)                                                    \
    X(TexObjectGetResourceViewDesc, 5000)                                                          \
    X(ModuleGetLoadingMode, 11070)                                                                 \
    X(FuncGetAttribute, 2020)                                                                      \
    X(LaunchKernelEx, 11060)                                                                       \
    X(MulticastGetGranularity, 12010)                                                              \
    X(DeviceGetDefaultMemPool, 11020)                                                              \
    X(DeviceSetMemPool, 11020)                                                                     \
    X(MemPoolCreate, 11020)                                                                        \
    X(MemPoolDestroy, 11020)                                                                       \
    X(MemPoolTrimTo, 11020)                                                                        \
    X(MemPoolSetAttribute, 11020)                                                                  \
    X(MemPoolGetAttribute, 11020)                                                                  \
    X(MemPoolSetAccess, 11020)                                                                     \
    X(MemPoolExportToShareableHandle, 11020)                                                       \
    X(MemAllocAsync, 11020)                                                                        \
    X(MemAllocFromPoolAsync, 11020)                                                                \
    X(MemFreeAsync, 11020)                                                                         \
    X(GraphAddDependencies, 12030)                                                                 \
    X(GraphRemoveDependencies, 12030)                                                              \
    X(GraphInstantiateWithFlags, 11040)                                                            \
    X(StreamGetCaptureInfo, 12030)                                                                 \
    X(StreamUpdateCaptureDependencies, 12030)                                                      \
    X(UserObjectRetain, 11030)

typedef struct bad {
    const raw_cuda *cu;
    CUdevice device;
    CUcontext context; /* primary, current */
    CUstream stream;
    CUdeviceptr memory; /* 1 MiB */
    void *pinned;       /* 64 KiB */
#define BAD_FIELD(name, version) PFN_cu##name##_v##version name;
    BAD_CALLS(BAD_FIELD)
#undef BAD_FIELD
} bad;

#define BAD_MEMORY  ((size_t)1 << 20)
#define BAD_PINNED  ((size_t)65536)
#define BAD_NO_FD   (-1)
#define BAD_ADDRESS ((CUdeviceptr)0x123456789000u) /* nobody's */

/* Skips where the driver lacks one of them. */
void bad_open(bad *b);
void bad_close(bad *b);
#define BAD_CASE(...) TEST_ON(bad, b, bad_open(b), bad_close(b), __VA_ARGS__)

/* What a call returned, and what else is to be seen. */
void bad_row_with(const char *name, CUresult result, const char *format, ...) TEST_PRINTF(3, 4);

/* A row at which NVIDIA's driver crashes. */
#define BAD_CRASHES(b, name, call)                                                                 \
    do {                                                                                           \
        if ((b)->cu->software)                                                                     \
            answer_call((name), (call));                                                           \
        else                                                                                       \
            ANSWER((name), "crashes");                                                             \
    } while (0)

#endif
