/* SPDX-License-Identifier: MIT */
/* Culvert: the functions of the CUDA driver API, without your own table of function pointers.
 *
 *   CUdeviceptr p = 0;
 *   CUresult r = CULV_CUDA(device)->cuMemAlloc(&p, bytes);
 *
 * Every function comes from the driver that serves the device: NVIDIA's driver or the software
 * twin. The program links nothing of CUDA. Most functions need a current context on the calling
 * thread, as always: CULV_CUDA(device)->cuCtxSetCurrent(culv_device_context(device)).
 *
 * If the driver lacks a function, the member is NULL. CULV_CUDA_CHECK() says why:
 *
 *   if (CULV_CUDA_CHECK(device, cuMulticastCreate) != CULV_OK) puts(culv_last_error_message());
 *
 * cuda.h. This header includes your <cuda.h> and <cudaTypedefs.h> (CUDA 12.0 or newer). If the
 * compiler finds no <cuda.h>, it includes culvert/abi/cuda.h, which has the types and values that
 * this header names, so that no CUDA toolkit is needed.
 *
 * Names. cuda.h renames functions by macros, for example cuMemAlloc to cuMemAlloc_v2. The macros
 * rename the members here too, so you always write cuMemAlloc. The names depend on your cuda.h, but
 * the layout does not. If you write cuGraphInstantiate, cuda.h makes it the member
 * cuGraphInstantiateWithFlags.
 *
 * Forms. Some functions have other parameters in CUDA 13 than in CUDA 12, for instance cuMemAdvise.
 * Both forms are here. The plain name is the form that your cuda.h declares. The other form has its
 * version behind its name, like its type in cudaTypedefs.h: cuMemAdvise_v8000 or
 * cuMemAdvise_v12020. If your cuda.h does not know a function's type yet, the member is a
 * culv_cuda_unknown.
 *
 * Stream 0. In the functions of culv_device_cuda_api(), a NULL stream is the legacy default stream,
 * and a copy without a stream goes to that stream. If `per_thread` is nonzero, it is the calling
 * thread's default stream instead. CULV_CUDA() sets `per_thread` if your program defines
 * CUDA_API_PER_THREAD_DEFAULT_STREAM.
 * Source: cuda.h, cuGetProcAddress; cudaTypedefs.h. */
#ifndef CULV_CUDA_API_H_
#define CULV_CUDA_API_H_

#if defined(CUDA_VERSION)
#    include <cudaTypedefs.h> /* cuda.h is included already */
#elif !defined(__has_include)
#    include <cuda.h>
#    include <cudaTypedefs.h>
#elif __has_include(<cuda.h>)
#    include <cuda.h>
#    include <cudaTypedefs.h>
#else
#    include "abi/cuda.h"
#endif

#include "device.h"

#if CUDA_VERSION < 12000
#    error "culvert/cuda_api.h needs the cuda.h of CUDA 12.0 or newer"
#endif

/* Every function: X(name without cu, version, kind). The version is the form's version, as in the
 * name of its type in cudaTypedefs.h; cuGetProcAddress() takes it. New functions are added at the
 * end. The prefix is left off because cuda.h's macros would rename the whole name. The kind says
 * which cuda.h first has the type. If CUDA 12 and CUDA 13 have different forms, it also says which
 * of the two this is. */
#define CULV_CUDA_API_LIST(X)                                                                      \
    /* Errors, versions, what the driver has */                                                    \
    X(GetErrorName, 6000, ALL)                                                                     \
    X(GetErrorString, 6000, ALL)                                                                   \
    X(Init, 2000, ALL)                                                                             \
    X(DriverGetVersion, 2020, ALL)                                                                 \
    X(GetProcAddress, 12000, ALL)                                                                  \
    /* Devices */                                                                                  \
    X(DeviceGet, 2000, ALL)                                                                        \
    X(DeviceGetCount, 2000, ALL)                                                                   \
    X(DeviceGetName, 2000, ALL)                                                                    \
    X(DeviceGetUuid, 11040, ALL)                                                                   \
    X(DeviceGetLuid, 10000, ALL)                                                                   \
    X(DeviceTotalMem, 3020, ALL)                                                                   \
    X(DeviceGetAttribute, 2000, ALL)                                                               \
    X(DeviceGetTexture1DLinearMaxWidth, 11010, ALL)                                                \
    X(DeviceGetPCIBusId, 4010, ALL)                                                                \
    X(DeviceGetByPCIBusId, 4010, ALL)                                                              \
    X(DevicePrimaryCtxRetain, 7000, ALL)                                                           \
    X(DevicePrimaryCtxRelease, 11000, ALL)                                                         \
    X(DevicePrimaryCtxSetFlags, 11000, ALL)                                                        \
    X(DevicePrimaryCtxGetState, 7000, ALL)                                                         \
    X(DevicePrimaryCtxReset, 11000, ALL)                                                           \
    /* Contexts */                                                                                 \
    X(CtxCreate, 3020, CUDA_12)                                                                    \
    X(CtxCreate, 12050, CUDA_13_FROM_12050)                                                        \
    X(CtxDestroy, 4000, ALL)                                                                       \
    X(CtxPushCurrent, 4000, ALL)                                                                   \
    X(CtxPopCurrent, 4000, ALL)                                                                    \
    X(CtxSetCurrent, 4000, ALL)                                                                    \
    X(CtxGetCurrent, 4000, ALL)                                                                    \
    X(CtxGetDevice, 2000, ALL)                                                                     \
    X(CtxGetFlags, 7000, ALL)                                                                      \
    X(CtxSetFlags, 12010, FROM_12010)                                                              \
    X(CtxGetId, 12000, ALL)                                                                        \
    X(CtxSynchronize, 2000, ALL)                                                                   \
    X(CtxSetLimit, 3010, ALL)                                                                      \
    X(CtxGetLimit, 3010, ALL)                                                                      \
    X(CtxGetCacheConfig, 3020, ALL)                                                                \
    X(CtxSetCacheConfig, 3020, ALL)                                                                \
    X(CtxGetApiVersion, 3020, ALL)                                                                 \
    X(CtxGetStreamPriorityRange, 5050, ALL)                                                        \
    X(CtxResetPersistingL2Cache, 11000, ALL)                                                       \
    X(CtxRecordEvent, 12050, FROM_12050)                                                           \
    X(CtxWaitEvent, 12050, FROM_12050)                                                             \
    /* Modules, libraries, kernels, linking */                                                     \
    X(ModuleLoad, 2000, ALL)                                                                       \
    X(ModuleLoadData, 2000, ALL)                                                                   \
    X(ModuleLoadDataEx, 2010, ALL)                                                                 \
    X(ModuleLoadFatBinary, 2000, ALL)                                                              \
    X(ModuleUnload, 2000, ALL)                                                                     \
    X(ModuleGetFunction, 2000, ALL)                                                                \
    X(ModuleGetGlobal, 3020, ALL)                                                                  \
    X(ModuleGetLoadingMode, 11070, ALL)                                                            \
    X(ModuleGetFunctionCount, 12040, FROM_12040)                                                   \
    X(ModuleEnumerateFunctions, 12040, FROM_12040)                                                 \
    X(LinkCreate, 6050, ALL)                                                                       \
    X(LinkAddData, 6050, ALL)                                                                      \
    X(LinkAddFile, 6050, ALL)                                                                      \
    X(LinkComplete, 5050, ALL)                                                                     \
    X(LinkDestroy, 5050, ALL)                                                                      \
    X(LibraryLoadData, 12000, ALL)                                                                 \
    X(LibraryLoadFromFile, 12000, ALL)                                                             \
    X(LibraryUnload, 12000, ALL)                                                                   \
    X(LibraryGetKernel, 12000, ALL)                                                                \
    X(LibraryGetModule, 12000, ALL)                                                                \
    X(LibraryGetGlobal, 12000, ALL)                                                                \
    X(LibraryGetManaged, 12000, ALL)                                                               \
    X(LibraryGetUnifiedFunction, 12000, ALL)                                                       \
    X(LibraryGetKernelCount, 12040, FROM_12040)                                                    \
    X(LibraryEnumerateKernels, 12040, FROM_12040)                                                  \
    X(KernelGetFunction, 12000, ALL)                                                               \
    X(KernelGetLibrary, 12050, FROM_12050)                                                         \
    X(KernelGetAttribute, 12000, ALL)                                                              \
    X(KernelSetAttribute, 12000, ALL)                                                              \
    X(KernelSetCacheConfig, 12000, ALL)                                                            \
    X(KernelGetName, 12030, FROM_12030)                                                            \
    X(KernelGetParamInfo, 12040, FROM_12040)                                                       \
    X(FuncGetAttribute, 2020, ALL)                                                                 \
    X(FuncSetAttribute, 9000, ALL)                                                                 \
    X(FuncSetCacheConfig, 3000, ALL)                                                               \
    X(FuncGetModule, 11000, ALL)                                                                   \
    X(FuncGetName, 12030, FROM_12030)                                                              \
    X(FuncGetParamInfo, 12040, FROM_12040)                                                         \
    X(FuncIsLoaded, 12040, FROM_12040)                                                             \
    X(FuncLoad, 12040, FROM_12040)                                                                 \
    /* Launches and occupancy */                                                                   \
    X(LaunchKernel, 4000, ALL)                                                                     \
    X(LaunchKernelEx, 11060, ALL)                                                                  \
    X(LaunchCooperativeKernel, 9000, ALL)                                                          \
    X(LaunchHostFunc, 10000, ALL)                                                                  \
    X(OccupancyMaxActiveBlocksPerMultiprocessor, 6050, ALL)                                        \
    X(OccupancyMaxActiveBlocksPerMultiprocessorWithFlags, 7000, ALL)                               \
    X(OccupancyMaxPotentialBlockSize, 6050, ALL)                                                   \
    X(OccupancyMaxPotentialBlockSizeWithFlags, 7000, ALL)                                          \
    X(OccupancyAvailableDynamicSMemPerBlock, 10020, ALL)                                           \
    X(OccupancyMaxPotentialClusterSize, 11070, ALL)                                                \
    X(OccupancyMaxActiveClusters, 11070, ALL)                                                      \
    /* Memory */                                                                                   \
    X(MemGetInfo, 3020, ALL)                                                                       \
    X(MemAlloc, 3020, ALL)                                                                         \
    X(MemAllocPitch, 3020, ALL)                                                                    \
    X(MemFree, 3020, ALL)                                                                          \
    X(MemGetAddressRange, 3020, ALL)                                                               \
    X(MemAllocManaged, 6000, ALL)                                                                  \
    X(MemAdvise, 8000, CUDA_12)                                                                    \
    X(MemAdvise, 12020, CUDA_13_FROM_12020)                                                        \
    X(MemPrefetchAsync, 8000, CUDA_12)                                                             \
    X(MemPrefetchAsync, 12020, CUDA_13_FROM_12020)                                                 \
    X(MemRangeGetAttribute, 8000, ALL)                                                             \
    X(MemRangeGetAttributes, 8000, ALL)                                                            \
    X(PointerGetAttribute, 4000, ALL)                                                              \
    X(PointerGetAttributes, 7000, ALL)                                                             \
    X(PointerSetAttribute, 6000, ALL)                                                              \
    X(MemGetHandleForAddressRange, 11070, ALL)                                                     \
    X(FlushGPUDirectRDMAWrites, 11030, ALL)                                                        \
    /* Host memory */                                                                              \
    X(MemAllocHost, 3020, ALL)                                                                     \
    X(MemHostAlloc, 2020, ALL)                                                                     \
    X(MemFreeHost, 2000, ALL)                                                                      \
    X(MemHostRegister, 6050, ALL)                                                                  \
    X(MemHostUnregister, 4000, ALL)                                                                \
    X(MemHostGetDevicePointer, 3020, ALL)                                                          \
    X(MemHostGetFlags, 2030, ALL)                                                                  \
    /* Memory in stream order, pools */                                                            \
    X(MemAllocAsync, 11020, ALL)                                                                   \
    X(MemAllocFromPoolAsync, 11020, ALL)                                                           \
    X(MemFreeAsync, 11020, ALL)                                                                    \
    X(DeviceGetDefaultMemPool, 11020, ALL)                                                         \
    X(DeviceGetMemPool, 11020, ALL)                                                                \
    X(DeviceSetMemPool, 11020, ALL)                                                                \
    X(MemPoolCreate, 11020, ALL)                                                                   \
    X(MemPoolDestroy, 11020, ALL)                                                                  \
    X(MemPoolTrimTo, 11020, ALL)                                                                   \
    X(MemPoolSetAttribute, 11020, ALL)                                                             \
    X(MemPoolGetAttribute, 11020, ALL)                                                             \
    X(MemPoolSetAccess, 11020, ALL)                                                                \
    X(MemPoolGetAccess, 11020, ALL)                                                                \
    X(MemPoolExportToShareableHandle, 11020, ALL)                                                  \
    X(MemPoolImportFromShareableHandle, 11020, ALL)                                                \
    X(MemPoolExportPointer, 11020, ALL)                                                            \
    X(MemPoolImportPointer, 11020, ALL)                                                            \
    /* Virtual memory management */                                                                \
    X(MemAddressReserve, 10020, ALL)                                                               \
    X(MemAddressFree, 10020, ALL)                                                                  \
    X(MemCreate, 10020, ALL)                                                                       \
    X(MemRelease, 10020, ALL)                                                                      \
    X(MemMap, 10020, ALL)                                                                          \
    X(MemUnmap, 10020, ALL)                                                                        \
    X(MemSetAccess, 10020, ALL)                                                                    \
    X(MemGetAccess, 10020, ALL)                                                                    \
    X(MemExportToShareableHandle, 10020, ALL)                                                      \
    X(MemImportFromShareableHandle, 10020, ALL)                                                    \
    X(MemGetAllocationGranularity, 10020, ALL)                                                     \
    X(MemGetAllocationPropertiesFromHandle, 10020, ALL)                                            \
    X(MemRetainAllocationHandle, 11000, ALL)                                                       \
    X(MemMapArrayAsync, 11010, ALL)                                                                \
    X(MulticastCreate, 12010, FROM_12010)                                                          \
    X(MulticastAddDevice, 12010, FROM_12010)                                                       \
    X(MulticastBindMem, 12010, FROM_12010)                                                         \
    X(MulticastBindAddr, 12010, FROM_12010)                                                        \
    X(MulticastUnbind, 12010, FROM_12010)                                                          \
    X(MulticastGetGranularity, 12010, FROM_12010)                                                  \
    /* Copies */                                                                                   \
    X(Memcpy, 4000, ALL)                                                                           \
    X(MemcpyAsync, 4000, ALL)                                                                      \
    X(MemcpyHtoD, 3020, ALL)                                                                       \
    X(MemcpyDtoH, 3020, ALL)                                                                       \
    X(MemcpyDtoD, 3020, ALL)                                                                       \
    X(MemcpyHtoDAsync, 3020, ALL)                                                                  \
    X(MemcpyDtoHAsync, 3020, ALL)                                                                  \
    X(MemcpyDtoDAsync, 3020, ALL)                                                                  \
    X(MemcpyDtoA, 3020, ALL)                                                                       \
    X(MemcpyAtoD, 3020, ALL)                                                                       \
    X(MemcpyHtoA, 3020, ALL)                                                                       \
    X(MemcpyAtoH, 3020, ALL)                                                                       \
    X(MemcpyAtoA, 3020, ALL)                                                                       \
    X(MemcpyHtoAAsync, 3020, ALL)                                                                  \
    X(MemcpyAtoHAsync, 3020, ALL)                                                                  \
    X(Memcpy2D, 3020, ALL)                                                                         \
    X(Memcpy2DUnaligned, 3020, ALL)                                                                \
    X(Memcpy2DAsync, 3020, ALL)                                                                    \
    X(Memcpy3D, 3020, ALL)                                                                         \
    X(Memcpy3DAsync, 3020, ALL)                                                                    \
    X(MemcpyPeer, 4000, ALL)                                                                       \
    X(MemcpyPeerAsync, 4000, ALL)                                                                  \
    X(Memcpy3DPeer, 4000, ALL)                                                                     \
    X(Memcpy3DPeerAsync, 4000, ALL)                                                                \
    /* Sets */                                                                                     \
    X(MemsetD8, 3020, ALL)                                                                         \
    X(MemsetD16, 3020, ALL)                                                                        \
    X(MemsetD32, 3020, ALL)                                                                        \
    X(MemsetD2D8, 3020, ALL)                                                                       \
    X(MemsetD2D16, 3020, ALL)                                                                      \
    X(MemsetD2D32, 3020, ALL)                                                                      \
    X(MemsetD8Async, 3020, ALL)                                                                    \
    X(MemsetD16Async, 3020, ALL)                                                                   \
    X(MemsetD32Async, 3020, ALL)                                                                   \
    X(MemsetD2D8Async, 3020, ALL)                                                                  \
    X(MemsetD2D16Async, 3020, ALL)                                                                 \
    X(MemsetD2D32Async, 3020, ALL)                                                                 \
    /* Arrays, surfaces, textures */                                                               \
    X(ArrayCreate, 3020, ALL)                                                                      \
    X(ArrayGetDescriptor, 3020, ALL)                                                               \
    X(ArrayGetSparseProperties, 11010, ALL)                                                        \
    X(ArrayGetMemoryRequirements, 11060, ALL)                                                      \
    X(ArrayGetPlane, 11020, ALL)                                                                   \
    X(ArrayDestroy, 2000, ALL)                                                                     \
    X(Array3DCreate, 3020, ALL)                                                                    \
    X(Array3DGetDescriptor, 3020, ALL)                                                             \
    X(MipmappedArrayCreate, 5000, ALL)                                                             \
    X(MipmappedArrayGetLevel, 5000, ALL)                                                           \
    X(MipmappedArrayDestroy, 5000, ALL)                                                            \
    X(MipmappedArrayGetSparseProperties, 11010, ALL)                                               \
    X(MipmappedArrayGetMemoryRequirements, 11060, ALL)                                             \
    X(TexObjectCreate, 5000, ALL)                                                                  \
    X(TexObjectDestroy, 5000, ALL)                                                                 \
    X(TexObjectGetResourceDesc, 5000, ALL)                                                         \
    X(TexObjectGetTextureDesc, 5000, ALL)                                                          \
    X(TexObjectGetResourceViewDesc, 5000, ALL)                                                     \
    X(SurfObjectCreate, 5000, ALL)                                                                 \
    X(SurfObjectDestroy, 5000, ALL)                                                                \
    X(SurfObjectGetResourceDesc, 5000, ALL)                                                        \
    /* Streams and capture */                                                                      \
    X(StreamCreate, 2000, ALL)                                                                     \
    X(StreamCreateWithPriority, 5050, ALL)                                                         \
    X(StreamDestroy, 4000, ALL)                                                                    \
    X(StreamQuery, 2000, ALL)                                                                      \
    X(StreamSynchronize, 2000, ALL)                                                                \
    X(StreamWaitEvent, 3020, ALL)                                                                  \
    X(StreamGetCtx, 9020, ALL)                                                                     \
    X(StreamGetDevice, 12080, FROM_12080)                                                          \
    X(StreamGetFlags, 5050, ALL)                                                                   \
    X(StreamGetId, 12000, ALL)                                                                     \
    X(StreamGetPriority, 5050, ALL)                                                                \
    X(StreamAddCallback, 5000, ALL)                                                                \
    X(StreamAttachMemAsync, 6000, ALL)                                                             \
    X(StreamCopyAttributes, 11000, ALL)                                                            \
    X(StreamGetAttribute, 11000, ALL)                                                              \
    X(StreamSetAttribute, 11000, ALL)                                                              \
    X(StreamBeginCapture, 10010, ALL)                                                              \
    X(StreamBeginCaptureToGraph, 12030, FROM_12030)                                                \
    X(StreamEndCapture, 10000, ALL)                                                                \
    X(StreamIsCapturing, 10000, ALL)                                                               \
    X(StreamGetCaptureInfo, 11030, CUDA_12)                                                        \
    X(StreamGetCaptureInfo, 12030, CUDA_13_FROM_12030)                                             \
    X(StreamUpdateCaptureDependencies, 11030, CUDA_12)                                             \
    X(StreamUpdateCaptureDependencies, 12030, CUDA_13_FROM_12030)                                  \
    X(ThreadExchangeStreamCaptureMode, 10010, ALL)                                                 \
    X(StreamWriteValue32, 11070, ALL)                                                              \
    X(StreamWaitValue32, 11070, ALL)                                                               \
    X(StreamWriteValue64, 11070, ALL)                                                              \
    X(StreamWaitValue64, 11070, ALL)                                                               \
    X(StreamBatchMemOp, 11070, ALL)                                                                \
    /* Events */                                                                                   \
    X(EventCreate, 2000, ALL)                                                                      \
    X(EventRecord, 2000, ALL)                                                                      \
    X(EventRecordWithFlags, 11010, ALL)                                                            \
    X(EventQuery, 2000, ALL)                                                                       \
    X(EventSynchronize, 2000, ALL)                                                                 \
    X(EventDestroy, 4000, ALL)                                                                     \
    X(EventElapsedTime, 2000, ALL)                                                                 \
    /* External memory and semaphores */                                                           \
    X(ImportExternalMemory, 10000, ALL)                                                            \
    X(ExternalMemoryGetMappedBuffer, 10000, ALL)                                                   \
    X(ExternalMemoryGetMappedMipmappedArray, 10000, ALL)                                           \
    X(DestroyExternalMemory, 10000, ALL)                                                           \
    X(ImportExternalSemaphore, 10000, ALL)                                                         \
    X(SignalExternalSemaphoresAsync, 10000, ALL)                                                   \
    X(WaitExternalSemaphoresAsync, 10000, ALL)                                                     \
    X(DestroyExternalSemaphore, 10000, ALL)                                                        \
    /* Graphs */                                                                                   \
    X(GraphCreate, 10000, ALL)                                                                     \
    X(GraphDestroy, 10000, ALL)                                                                    \
    X(GraphClone, 10000, ALL)                                                                      \
    X(GraphNodeFindInClone, 10000, ALL)                                                            \
    X(GraphNodeGetType, 10000, ALL)                                                                \
    X(GraphGetNodes, 10000, ALL)                                                                   \
    X(GraphGetRootNodes, 10000, ALL)                                                               \
    X(GraphGetEdges, 10000, CUDA_12)                                                               \
    X(GraphGetEdges, 12030, CUDA_13_FROM_12030)                                                    \
    X(GraphNodeGetDependencies, 10000, CUDA_12)                                                    \
    X(GraphNodeGetDependencies, 12030, CUDA_13_FROM_12030)                                         \
    X(GraphNodeGetDependentNodes, 10000, CUDA_12)                                                  \
    X(GraphNodeGetDependentNodes, 12030, CUDA_13_FROM_12030)                                       \
    X(GraphAddDependencies, 10000, CUDA_12)                                                        \
    X(GraphAddDependencies, 12030, CUDA_13_FROM_12030)                                             \
    X(GraphRemoveDependencies, 10000, CUDA_12)                                                     \
    X(GraphRemoveDependencies, 12030, CUDA_13_FROM_12030)                                          \
    X(GraphDestroyNode, 10000, ALL)                                                                \
    X(GraphDebugDotPrint, 11030, ALL)                                                              \
    X(GraphAddNode, 12020, CUDA_12_FROM_12020)                                                     \
    X(GraphAddNode, 12030, CUDA_13_FROM_12030)                                                     \
    X(GraphNodeSetParams, 12020, FROM_12020)                                                       \
    X(GraphExecNodeSetParams, 12020, FROM_12020)                                                   \
    X(GraphAddKernelNode, 12000, ALL)                                                              \
    X(GraphKernelNodeGetParams, 12000, ALL)                                                        \
    X(GraphKernelNodeSetParams, 12000, ALL)                                                        \
    X(GraphExecKernelNodeSetParams, 12000, ALL)                                                    \
    X(GraphKernelNodeCopyAttributes, 11000, ALL)                                                   \
    X(GraphKernelNodeGetAttribute, 11000, ALL)                                                     \
    X(GraphKernelNodeSetAttribute, 11000, ALL)                                                     \
    X(GraphAddMemcpyNode, 10000, ALL)                                                              \
    X(GraphMemcpyNodeGetParams, 10000, ALL)                                                        \
    X(GraphMemcpyNodeSetParams, 10000, ALL)                                                        \
    X(GraphExecMemcpyNodeSetParams, 10020, ALL)                                                    \
    X(GraphAddMemsetNode, 10000, ALL)                                                              \
    X(GraphMemsetNodeGetParams, 10000, ALL)                                                        \
    X(GraphMemsetNodeSetParams, 10000, ALL)                                                        \
    X(GraphExecMemsetNodeSetParams, 10020, ALL)                                                    \
    X(GraphAddHostNode, 10000, ALL)                                                                \
    X(GraphHostNodeGetParams, 10000, ALL)                                                          \
    X(GraphHostNodeSetParams, 10000, ALL)                                                          \
    X(GraphExecHostNodeSetParams, 10020, ALL)                                                      \
    X(GraphAddChildGraphNode, 10000, ALL)                                                          \
    X(GraphChildGraphNodeGetGraph, 10000, ALL)                                                     \
    X(GraphExecChildGraphNodeSetParams, 11010, ALL)                                                \
    X(GraphAddEmptyNode, 10000, ALL)                                                               \
    X(GraphAddEventRecordNode, 11010, ALL)                                                         \
    X(GraphEventRecordNodeGetEvent, 11010, ALL)                                                    \
    X(GraphEventRecordNodeSetEvent, 11010, ALL)                                                    \
    X(GraphExecEventRecordNodeSetEvent, 11010, ALL)                                                \
    X(GraphAddEventWaitNode, 11010, ALL)                                                           \
    X(GraphEventWaitNodeGetEvent, 11010, ALL)                                                      \
    X(GraphEventWaitNodeSetEvent, 11010, ALL)                                                      \
    X(GraphExecEventWaitNodeSetEvent, 11010, ALL)                                                  \
    X(GraphAddExternalSemaphoresSignalNode, 11020, ALL)                                            \
    X(GraphExternalSemaphoresSignalNodeGetParams, 11020, ALL)                                      \
    X(GraphExternalSemaphoresSignalNodeSetParams, 11020, ALL)                                      \
    X(GraphExecExternalSemaphoresSignalNodeSetParams, 11020, ALL)                                  \
    X(GraphAddExternalSemaphoresWaitNode, 11020, ALL)                                              \
    X(GraphExternalSemaphoresWaitNodeGetParams, 11020, ALL)                                        \
    X(GraphExternalSemaphoresWaitNodeSetParams, 11020, ALL)                                        \
    X(GraphExecExternalSemaphoresWaitNodeSetParams, 11020, ALL)                                    \
    X(GraphAddMemAllocNode, 11040, ALL)                                                            \
    X(GraphMemAllocNodeGetParams, 11040, ALL)                                                      \
    X(GraphAddMemFreeNode, 11040, ALL)                                                             \
    X(GraphMemFreeNodeGetParams, 11040, ALL)                                                       \
    X(DeviceGraphMemTrim, 11040, ALL)                                                              \
    X(DeviceGetGraphMemAttribute, 11040, ALL)                                                      \
    X(DeviceSetGraphMemAttribute, 11040, ALL)                                                      \
    X(GraphConditionalHandleCreate, 12030, FROM_12030)                                             \
    X(GraphNodeSetEnabled, 11060, ALL)                                                             \
    X(GraphNodeGetEnabled, 11060, ALL)                                                             \
    X(GraphInstantiateWithFlags, 11040, ALL)                                                       \
    X(GraphInstantiateWithParams, 12000, ALL)                                                      \
    X(GraphExecGetFlags, 12000, ALL)                                                               \
    X(GraphExecUpdate, 12000, ALL)                                                                 \
    X(GraphUpload, 11010, ALL)                                                                     \
    X(GraphLaunch, 10000, ALL)                                                                     \
    X(GraphExecDestroy, 10000, ALL)                                                                \
    X(UserObjectCreate, 11030, ALL)                                                                \
    X(UserObjectRetain, 11030, ALL)                                                                \
    X(UserObjectRelease, 11030, ALL)                                                               \
    X(GraphRetainUserObject, 11030, ALL)                                                           \
    X(GraphReleaseUserObject, 11030, ALL)                                                          \
    /* Peers and other processes */                                                                \
    X(DeviceCanAccessPeer, 4000, ALL)                                                              \
    X(DeviceGetP2PAttribute, 8000, ALL)                                                            \
    X(CtxEnablePeerAccess, 4000, ALL)                                                              \
    X(CtxDisablePeerAccess, 4000, ALL)                                                             \
    X(IpcGetEventHandle, 4010, ALL)                                                                \
    X(IpcOpenEventHandle, 4010, ALL)                                                               \
    X(IpcGetMemHandle, 4010, ALL)                                                                  \
    X(IpcOpenMemHandle, 11000, ALL)                                                                \
    X(IpcCloseMemHandle, 4010, ALL)                                                                \
    /* Mapped resources of OpenGL and Direct3D */                                                  \
    X(GraphicsUnregisterResource, 3000, ALL)                                                       \
    X(GraphicsSubResourceGetMappedArray, 3000, ALL)                                                \
    X(GraphicsResourceGetMappedMipmappedArray, 5000, ALL)                                          \
    X(GraphicsResourceGetMappedPointer, 3020, ALL)                                                 \
    X(GraphicsResourceSetMapFlags, 6050, ALL)                                                      \
    X(GraphicsMapResources, 3000, ALL)                                                             \
    X(GraphicsUnmapResources, 3000, ALL)

/** A function whose type your cuda.h does not know. Cast it to its type. */
typedef void (*culv_cuda_unknown)(void);

/* Internal: the type of a member. */
#if CUDA_VERSION >= 12010
#    define CULV_CUDA_TYPE_12010_(type) type
#else
#    define CULV_CUDA_TYPE_12010_(type) culv_cuda_unknown
#endif
#if CUDA_VERSION >= 12020
#    define CULV_CUDA_TYPE_12020_(type) type
#else
#    define CULV_CUDA_TYPE_12020_(type) culv_cuda_unknown
#endif
#if CUDA_VERSION >= 12030
#    define CULV_CUDA_TYPE_12030_(type) type
#else
#    define CULV_CUDA_TYPE_12030_(type) culv_cuda_unknown
#endif
#if CUDA_VERSION >= 12040
#    define CULV_CUDA_TYPE_12040_(type) type
#else
#    define CULV_CUDA_TYPE_12040_(type) culv_cuda_unknown
#endif
#if CUDA_VERSION >= 12050
#    define CULV_CUDA_TYPE_12050_(type) type
#else
#    define CULV_CUDA_TYPE_12050_(type) culv_cuda_unknown
#endif
#if CUDA_VERSION >= 12080
#    define CULV_CUDA_TYPE_12080_(type) type
#else
#    define CULV_CUDA_TYPE_12080_(type) culv_cuda_unknown
#endif
/* Internal: the name of a member that has another form in CUDA 12 than in CUDA 13. */
#if CUDA_VERSION >= 13000
#    define CULV_CUDA_NAME_12_(name, version) cu##name##_v##version
#    define CULV_CUDA_NAME_13_(name, version) cu##name
#else
#    define CULV_CUDA_NAME_12_(name, version) cu##name
#    define CULV_CUDA_NAME_13_(name, version) cu##name##_v##version
#endif
/* Internal: a member of each kind. */
#define CULV_CUDA_MEMBER_(name, version, kind) CULV_CUDA_MEMBER_##kind##_(name, version)
#define CULV_CUDA_MEMBER_ALL_(name, version)   PFN_cu##name##_v##version cu##name;
#define CULV_CUDA_MEMBER_CUDA_12_(name, version)                                                   \
    PFN_cu##name##_v##version CULV_CUDA_NAME_12_(name, version);
#define CULV_CUDA_MEMBER_CUDA_12_FROM_12020_(name, version)                                        \
    CULV_CUDA_TYPE_12020_(PFN_cu##name##_v##version) CULV_CUDA_NAME_12_(name, version);
#define CULV_CUDA_MEMBER_CUDA_13_FROM_12020_(name, version)                                        \
    CULV_CUDA_TYPE_12020_(PFN_cu##name##_v##version) CULV_CUDA_NAME_13_(name, version);
#define CULV_CUDA_MEMBER_CUDA_13_FROM_12030_(name, version)                                        \
    CULV_CUDA_TYPE_12030_(PFN_cu##name##_v##version) CULV_CUDA_NAME_13_(name, version);
#define CULV_CUDA_MEMBER_CUDA_13_FROM_12050_(name, version)                                        \
    CULV_CUDA_TYPE_12050_(PFN_cu##name##_v##version) CULV_CUDA_NAME_13_(name, version);
#define CULV_CUDA_MEMBER_FROM_12010_(name, version)                                                \
    CULV_CUDA_TYPE_12010_(PFN_cu##name##_v##version) cu##name;
#define CULV_CUDA_MEMBER_FROM_12020_(name, version)                                                \
    CULV_CUDA_TYPE_12020_(PFN_cu##name##_v##version) cu##name;
#define CULV_CUDA_MEMBER_FROM_12030_(name, version)                                                \
    CULV_CUDA_TYPE_12030_(PFN_cu##name##_v##version) cu##name;
#define CULV_CUDA_MEMBER_FROM_12040_(name, version)                                                \
    CULV_CUDA_TYPE_12040_(PFN_cu##name##_v##version) cu##name;
#define CULV_CUDA_MEMBER_FROM_12050_(name, version)                                                \
    CULV_CUDA_TYPE_12050_(PFN_cu##name##_v##version) cu##name;
#define CULV_CUDA_MEMBER_FROM_12080_(name, version)                                                \
    CULV_CUDA_TYPE_12080_(PFN_cu##name##_v##version) cu##name;

/** The functions of a device's driver. A function that the driver lacks is NULL. The library makes
 * the table; do not copy it. Later versions add members at the end. CULV_CUDA_API_ROOM bytes are
 * always readable: if an older library does not know a member, the member is NULL. */
typedef struct culv_cuda_api {
    size_t struct_size; /**< Bytes that the library in use fills. */
    CULV_CUDA_API_LIST(CULV_CUDA_MEMBER_)
} culv_cuda_api;

#define CULV_CUDA_API_ROOM 4096

CULV_EXTERN_C_BEGIN

/** Returns the driver's functions, or NULL for NULL. Stream 0 is the legacy default stream. If
 * `per_thread` is nonzero, it is the calling thread's default stream, as in a program that defines
 * CUDA_API_PER_THREAD_DEFAULT_STREAM. CULV_CUDA() chooses by that macro. The first call asks the
 * driver for each function; later calls only return the table.
 * Ownership: Culvert owns the table, until the device and all objects made from it are gone.
 * Source: cuda.h, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM. */
CULV_EXPORT const culv_cuda_api *culv_device_cuda_api(culv_device *device, culv_bool per_thread);

/** Checks whether a member of culv_cuda_api is NULL; the error says why. CULV_CUDA_CHECK() calls
 * it. `name` is the function's name in cuda.h, for instance "cuMemAlloc". `cuda_version` is your
 * CUDA_VERSION: if CUDA 12 and CUDA 13 differ, it determines the form.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: culv_cuda_api has no such function); UNSUPPORTED
 * (DRIVER_TOO_OLD: the driver lacks it, and the message says which CUDA brought it). */
CULV_EXPORT culv_result culv_check_cuda_api(culv_device *device, const char *name,
                                            int cuda_version);

CULV_EXTERN_C_END

/* The functions of the device's driver, with the stream 0 that this file is compiled for. */
#undef CULV_CUDA /* culvert.h has one too */
#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)
#    define CULV_CUDA(device) culv_device_cuda_api(device, 1)
#else
#    define CULV_CUDA(device) culv_device_cuda_api(device, 0)
#endif

/* Returns CULV_OK if the driver has the function. Otherwise the error says why not. Example:
 * CULV_CUDA_CHECK(device, cuMemAlloc) */
#define CULV_CUDA_CHECK(device, function) culv_check_cuda_api((device), #function, CUDA_VERSION)

#endif
