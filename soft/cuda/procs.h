/* The twin's CUDA driver: its entry points. Base name, CUDA version that introduced this form, exported
 * symbol; the versions are cudaTypedefs.h's. SPDX-License-Identifier: MIT */
#ifndef SOFT_PROCS_H_
#define SOFT_PROCS_H_

// clang-format off
#define SOFT_PROCS(X) \
    X(cuGetErrorName, 6000, cuGetErrorName) \
    X(cuGetErrorString, 6000, cuGetErrorString) \
    X(cuGetProcAddress, 11030, cuGetProcAddress) \
    X(cuGetProcAddress, 12000, cuGetProcAddress_v2) \
    X(cuInit, 2000, cuInit) \
    X(cuDriverGetVersion, 2020, cuDriverGetVersion) \
    X(cuDeviceGetCount, 2000, cuDeviceGetCount) \
    X(cuDeviceGet, 2000, cuDeviceGet) \
    X(cuDeviceGetName, 2000, cuDeviceGetName) \
    X(cuDeviceGetUuid, 9020, cuDeviceGetUuid) \
    X(cuDeviceGetUuid, 11040, cuDeviceGetUuid_v2) \
    X(cuDeviceGetLuid, 10000, cuDeviceGetLuid) \
    X(cuDeviceTotalMem, 3020, cuDeviceTotalMem_v2) \
    X(cuDeviceGetPCIBusId, 4010, cuDeviceGetPCIBusId) \
    X(cuDeviceGetByPCIBusId, 4010, cuDeviceGetByPCIBusId) \
    X(cuDeviceGetAttribute, 2000, cuDeviceGetAttribute) \
    X(cuDeviceCanAccessPeer, 4000, cuDeviceCanAccessPeer) \
    X(cuDeviceGetP2PAttribute, 8000, cuDeviceGetP2PAttribute) \
    X(cuCtxEnablePeerAccess, 4000, cuCtxEnablePeerAccess) \
    X(cuCtxDisablePeerAccess, 4000, cuCtxDisablePeerAccess) \
    X(cuDevicePrimaryCtxRetain, 7000, cuDevicePrimaryCtxRetain) \
    X(cuDevicePrimaryCtxRelease, 11000, cuDevicePrimaryCtxRelease_v2) \
    X(cuDevicePrimaryCtxReset, 11000, cuDevicePrimaryCtxReset_v2) \
    X(cuDevicePrimaryCtxSetFlags, 11000, cuDevicePrimaryCtxSetFlags_v2) \
    X(cuDevicePrimaryCtxGetState, 7000, cuDevicePrimaryCtxGetState) \
    X(cuCtxCreate, 3020, cuCtxCreate_v2) \
    X(cuCtxCreate, 11040, cuCtxCreate_v3) \
    X(cuCtxCreate, 12050, cuCtxCreate_v4) \
    X(cuCtxDestroy, 4000, cuCtxDestroy_v2) \
    X(cuCtxPushCurrent, 4000, cuCtxPushCurrent_v2) \
    X(cuCtxPopCurrent, 4000, cuCtxPopCurrent_v2) \
    X(cuCtxSetCurrent, 4000, cuCtxSetCurrent) \
    X(cuCtxGetCurrent, 4000, cuCtxGetCurrent) \
    X(cuCtxGetDevice, 2000, cuCtxGetDevice) \
    X(cuCtxGetFlags, 7000, cuCtxGetFlags) \
    X(cuCtxGetId, 12000, cuCtxGetId) \
    X(cuCtxGetApiVersion, 3020, cuCtxGetApiVersion) \
    X(cuCtxGetStreamPriorityRange, 5050, cuCtxGetStreamPriorityRange) \
    X(cuCtxSynchronize, 2000, cuCtxSynchronize) \
    X(cuStreamCreate, 2000, cuStreamCreate) \
    X(cuStreamCreateWithPriority, 5050, cuStreamCreateWithPriority) \
    X(cuStreamDestroy, 4000, cuStreamDestroy_v2) \
    X(cuStreamQuery, 2000, cuStreamQuery) \
    X(cuStreamSynchronize, 2000, cuStreamSynchronize) \
    X(cuStreamGetCtx, 9020, cuStreamGetCtx) \
    X(cuStreamGetCtx, 12050, cuStreamGetCtx_v2) \
    X(cuStreamGetDevice, 12080, cuStreamGetDevice) \
    X(cuStreamGetFlags, 5050, cuStreamGetFlags) \
    X(cuStreamGetPriority, 5050, cuStreamGetPriority) \
    X(cuStreamGetId, 12000, cuStreamGetId) \
    X(cuStreamIsCapturing, 10000, cuStreamIsCapturing) \
    X(cuThreadExchangeStreamCaptureMode, 10010, cuThreadExchangeStreamCaptureMode) \
    X(cuEventCreate, 2000, cuEventCreate) \
    X(cuEventDestroy, 4000, cuEventDestroy_v2) \
    X(cuEventRecord, 2000, cuEventRecord) \
    X(cuEventRecordWithFlags, 11010, cuEventRecordWithFlags) \
    X(cuCtxRecordEvent, 12050, cuCtxRecordEvent) \
    X(cuEventQuery, 2000, cuEventQuery) \
    X(cuEventSynchronize, 2000, cuEventSynchronize) \
    X(cuEventElapsedTime, 2000, cuEventElapsedTime) \
    X(cuEventElapsedTime, 12080, cuEventElapsedTime_v2) \
    X(cuStreamWaitEvent, 3020, cuStreamWaitEvent) \
    X(cuMemAlloc, 3020, cuMemAlloc_v2) \
    X(cuMemAllocPitch, 3020, cuMemAllocPitch_v2) \
    X(cuMemFree, 3020, cuMemFree_v2) \
    X(cuMemAllocHost, 3020, cuMemAllocHost_v2) \
    X(cuMemHostAlloc, 2020, cuMemHostAlloc) \
    X(cuMemFreeHost, 2000, cuMemFreeHost) \
    X(cuMemHostRegister, 6050, cuMemHostRegister_v2) \
    X(cuMemHostUnregister, 4000, cuMemHostUnregister) \
    X(cuMemHostGetDevicePointer, 3020, cuMemHostGetDevicePointer_v2) \
    X(cuMemHostGetFlags, 2030, cuMemHostGetFlags) \
    X(cuMemGetHandleForAddressRange, 11070, cuMemGetHandleForAddressRange) \
    X(cuMemGetInfo, 3020, cuMemGetInfo_v2) \
    X(cuMemGetAddressRange, 3020, cuMemGetAddressRange_v2) \
    X(cuMemcpy, 4000, cuMemcpy) \
    X(cuMemcpyAsync, 4000, cuMemcpyAsync) \
    X(cuMemcpyHtoD, 3020, cuMemcpyHtoD_v2) \
    X(cuMemcpyHtoDAsync, 3020, cuMemcpyHtoDAsync_v2) \
    X(cuMemcpyDtoH, 3020, cuMemcpyDtoH_v2) \
    X(cuMemcpyDtoHAsync, 3020, cuMemcpyDtoHAsync_v2) \
    X(cuMemcpyDtoD, 3020, cuMemcpyDtoD_v2) \
    X(cuMemcpyDtoDAsync, 3020, cuMemcpyDtoDAsync_v2) \
    X(cuMemcpy2D, 3020, cuMemcpy2D_v2) \
    X(cuMemcpy2DUnaligned, 3020, cuMemcpy2DUnaligned_v2) \
    X(cuMemcpy2DAsync, 3020, cuMemcpy2DAsync_v2) \
    X(cuMemcpy3D, 3020, cuMemcpy3D_v2) \
    X(cuMemcpy3DAsync, 3020, cuMemcpy3DAsync_v2) \
    X(cuMemcpyPeer, 4000, cuMemcpyPeer) \
    X(cuMemcpyPeerAsync, 4000, cuMemcpyPeerAsync) \
    X(cuMemcpy3DPeer, 4000, cuMemcpy3DPeer) \
    X(cuMemcpy3DPeerAsync, 4000, cuMemcpy3DPeerAsync) \
    X(cuMemsetD8, 3020, cuMemsetD8_v2) \
    X(cuMemsetD16, 3020, cuMemsetD16_v2) \
    X(cuMemsetD32, 3020, cuMemsetD32_v2) \
    X(cuMemsetD8Async, 3020, cuMemsetD8Async) \
    X(cuMemsetD16Async, 3020, cuMemsetD16Async) \
    X(cuMemsetD32Async, 3020, cuMemsetD32Async) \
    X(cuArrayCreate, 3020, cuArrayCreate_v2) \
    X(cuArray3DCreate, 3020, cuArray3DCreate_v2) \
    X(cuArrayDestroy, 2000, cuArrayDestroy) \
    X(cuArrayGetDescriptor, 3020, cuArrayGetDescriptor_v2) \
    X(cuArray3DGetDescriptor, 3020, cuArray3DGetDescriptor_v2) \
    X(cuMipmappedArrayCreate, 5000, cuMipmappedArrayCreate) \
    X(cuMipmappedArrayGetLevel, 5000, cuMipmappedArrayGetLevel) \
    X(cuMipmappedArrayDestroy, 5000, cuMipmappedArrayDestroy) \
    X(cuArrayGetPlane, 11020, cuArrayGetPlane) \
    X(cuSurfObjectCreate, 5000, cuSurfObjectCreate) \
    X(cuSurfObjectDestroy, 5000, cuSurfObjectDestroy) \
    X(cuSurfObjectGetResourceDesc, 5000, cuSurfObjectGetResourceDesc) \
    X(cuTexObjectCreate, 5000, cuTexObjectCreate) \
    X(cuTexObjectDestroy, 5000, cuTexObjectDestroy) \
    X(cuTexObjectGetResourceDesc, 5000, cuTexObjectGetResourceDesc) \
    X(cuTexObjectGetTextureDesc, 5000, cuTexObjectGetTextureDesc) \
    X(cuTexObjectGetResourceViewDesc, 5000, cuTexObjectGetResourceViewDesc) \
    X(cuPointerGetAttribute, 4000, cuPointerGetAttribute) \
    X(cuPointerGetAttributes, 7000, cuPointerGetAttributes) \
    X(cuPointerSetAttribute, 6000, cuPointerSetAttribute) \
    X(cuImportExternalMemory, 10000, cuImportExternalMemory) \
    X(cuExternalMemoryGetMappedBuffer, 10000, cuExternalMemoryGetMappedBuffer) \
    X(cuExternalMemoryGetMappedMipmappedArray, 10000, cuExternalMemoryGetMappedMipmappedArray) \
    X(cuDestroyExternalMemory, 10000, cuDestroyExternalMemory) \
    X(cuImportExternalSemaphore, 10000, cuImportExternalSemaphore) \
    X(cuDestroyExternalSemaphore, 10000, cuDestroyExternalSemaphore) \
    X(cuSignalExternalSemaphoresAsync, 10000, cuSignalExternalSemaphoresAsync) \
    X(cuWaitExternalSemaphoresAsync, 10000, cuWaitExternalSemaphoresAsync) \
    X(cuModuleLoad, 2000, cuModuleLoad) \
    X(cuModuleUnload, 2000, cuModuleUnload) \
    X(cuModuleGetFunction, 2000, cuModuleGetFunction) \
    X(cuModuleGetLoadingMode, 11070, cuModuleGetLoadingMode) \
    X(cuFuncGetAttribute, 2020, cuFuncGetAttribute) \
    X(cuLaunchKernel, 4000, cuLaunchKernel) \
    X(cuLaunchKernelEx, 11060, cuLaunchKernelEx) \
    X(cuLaunchHostFunc, 10000, cuLaunchHostFunc)

/* Declared by cuda.h from 13.0 on. */
#if CUDA_VERSION >= 13000
#define SOFT_PROCS_13000(X) \
    X(cuCtxGetDevice, 13000, cuCtxGetDevice_v2) \
    X(cuCtxSynchronize, 13000, cuCtxSynchronize_v2)
#else
#define SOFT_PROCS_13000(X)
#endif

/* The private controls, found under their own names whatever the version. */
#define SOFT_CONTROLS(X) \
    X(culvSoftCounts, 0, culvSoftCounts) \
    X(culvSoftFailAt, 0, culvSoftFailAt) \
    X(culvSoftFailedCall, 0, culvSoftFailedCall) \
    X(culvSoftPlayVersion, 0, culvSoftPlayVersion) \
    X(culvSoftBarPeers, 0, culvSoftBarPeers) \
    X(culvSoftSpoilPeers, 0, culvSoftSpoilPeers) \
    X(culvSoftAddLayerPath, 0, culvSoftAddLayerPath) \
    X(culvSoftBinaryCreate, 0, culvSoftBinaryCreate) \
    X(culvSoftBinarySignal, 0, culvSoftBinarySignal) \
    X(culvSoftBinaryWait, 0, culvSoftBinaryWait)
// clang-format on

#endif
