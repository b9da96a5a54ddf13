/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: its entry points. Base name, CUDA version that introduced this form,
 * exported symbol; the versions are cudaTypedefs.h's. */
#ifndef SOFT_PROCS_H_
#define SOFT_PROCS_H_

#include "soft.h"

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
    X(cuDeviceComputeCapability, 2000, cuDeviceComputeCapability) \
    X(cuProfilerStart, 4000, cuProfilerStart) \
    X(cuProfilerStop, 4000, cuProfilerStop) \
    X(cuDeviceCanAccessPeer, 4000, cuDeviceCanAccessPeer) \
    X(cuDeviceGetP2PAttribute, 8000, cuDeviceGetP2PAttribute) \
    X(cuCtxEnablePeerAccess, 4000, cuCtxEnablePeerAccess) \
    X(cuCtxDisablePeerAccess, 4000, cuCtxDisablePeerAccess) \
    X(cuDevicePrimaryCtxRetain, 7000, cuDevicePrimaryCtxRetain) \
    X(cuDevicePrimaryCtxRelease, 11000, cuDevicePrimaryCtxRelease_v2) \
    X(cuDevicePrimaryCtxRelease, 7000, cuDevicePrimaryCtxRelease) \
    X(cuDevicePrimaryCtxReset, 7000, cuDevicePrimaryCtxReset) \
    X(cuDevicePrimaryCtxSetFlags, 7000, cuDevicePrimaryCtxSetFlags) \
    X(cuDevicePrimaryCtxReset, 11000, cuDevicePrimaryCtxReset_v2) \
    X(cuDevicePrimaryCtxSetFlags, 11000, cuDevicePrimaryCtxSetFlags_v2) \
    X(cuDevicePrimaryCtxGetState, 7000, cuDevicePrimaryCtxGetState) \
    X(cuCtxCreate, 3020, cuCtxCreate_v2) \
    X(cuCtxCreate, 12050, cuCtxCreate_v4) \
    X(cuCtxDestroy, 4000, cuCtxDestroy_v2) \
    X(cuCtxDestroy, 2000, cuCtxDestroy) \
    X(cuCtxPushCurrent, 2000, cuCtxPushCurrent) \
    X(cuCtxPopCurrent, 2000, cuCtxPopCurrent) \
    X(cuCtxPushCurrent, 4000, cuCtxPushCurrent_v2) \
    X(cuCtxPopCurrent, 4000, cuCtxPopCurrent_v2) \
    X(cuCtxSetCurrent, 4000, cuCtxSetCurrent) \
    X(cuCtxGetCurrent, 4000, cuCtxGetCurrent) \
    X(cuCtxGetDevice, 2000, cuCtxGetDevice) \
    X(cuCtxGetFlags, 7000, cuCtxGetFlags) \
    X(cuCtxGetLimit, 3010, cuCtxGetLimit) \
    X(cuCtxSetLimit, 3010, cuCtxSetLimit) \
    X(cuCtxSetFlags, 12010, cuCtxSetFlags) \
    X(cuCtxGetCacheConfig, 3020, cuCtxGetCacheConfig) \
    X(cuCtxGetSharedMemConfig, 4020, cuCtxGetSharedMemConfig) \
    X(cuCtxSetSharedMemConfig, 4020, cuCtxSetSharedMemConfig) \
    X(cuFuncSetSharedMemConfig, 4020, cuFuncSetSharedMemConfig) \
    X(cuCtxSetCacheConfig, 3020, cuCtxSetCacheConfig) \
    X(cuCtxGetId, 12000, cuCtxGetId) \
    X(cuCtxGetApiVersion, 3020, cuCtxGetApiVersion) \
    X(cuCtxGetStreamPriorityRange, 5050, cuCtxGetStreamPriorityRange) \
    X(cuCtxSynchronize, 2000, cuCtxSynchronize) \
    X(cuStreamCreate, 2000, cuStreamCreate) \
    X(cuStreamCreateWithPriority, 5050, cuStreamCreateWithPriority) \
    X(cuStreamDestroy, 4000, cuStreamDestroy_v2) \
    X(cuStreamDestroy, 2000, cuStreamDestroy) \
    X(cuStreamQuery, 2000, cuStreamQuery) \
    X(cuStreamSynchronize, 2000, cuStreamSynchronize) \
    X(cuStreamGetCtx, 9020, cuStreamGetCtx) \
    X(cuStreamGetCtx, 12050, cuStreamGetCtx_v2) \
    X(cuStreamGetFlags, 5050, cuStreamGetFlags) \
    X(cuStreamGetPriority, 5050, cuStreamGetPriority) \
    X(cuStreamGetId, 12000, cuStreamGetId) \
    X(cuEventCreate, 2000, cuEventCreate) \
    X(cuEventDestroy, 4000, cuEventDestroy_v2) \
    X(cuEventDestroy, 2000, cuEventDestroy) \
    X(cuEventRecord, 2000, cuEventRecord) \
    X(cuDeviceGetDevResource, 12040, cuDeviceGetDevResource) \
    X(cuDevSmResourceSplitByCount, 12040, cuDevSmResourceSplitByCount) \
    X(cuDevResourceGenerateDesc, 12040, cuDevResourceGenerateDesc) \
    X(cuGreenCtxCreate, 12040, cuGreenCtxCreate) \
    X(cuGreenCtxDestroy, 12040, cuGreenCtxDestroy) \
    X(cuCtxFromGreenCtx, 12040, cuCtxFromGreenCtx) \
    X(cuStreamGetGreenCtx, 12040, cuStreamGetGreenCtx) \
    X(cuGreenCtxStreamCreate, 12050, cuGreenCtxStreamCreate) \
    X(cuCtxRecordEvent, 12050, cuCtxRecordEvent) \
    X(cuEventQuery, 2000, cuEventQuery) \
    X(cuEventSynchronize, 2000, cuEventSynchronize) \
    X(cuEventElapsedTime, 2000, cuEventElapsedTime) \
    X(cuEventElapsedTime, 12080, cuEventElapsedTime_v2) \
    X(cuStreamWaitEvent, 3020, cuStreamWaitEvent) \
    X(cuIpcGetMemHandle, 4010, cuIpcGetMemHandle) \
    X(cuIpcOpenMemHandle, 11000, cuIpcOpenMemHandle_v2) \
    X(cuIpcOpenMemHandle, 4010, cuIpcOpenMemHandle) \
    X(cuIpcCloseMemHandle, 4010, cuIpcCloseMemHandle) \
    X(cuIpcGetEventHandle, 4010, cuIpcGetEventHandle) \
    X(cuIpcOpenEventHandle, 4010, cuIpcOpenEventHandle) \
    X(cuStreamWaitValue64, 11070, cuStreamWaitValue64_v2) \
    X(cuStreamWriteValue64, 11070, cuStreamWriteValue64_v2) \
    X(cuMemAlloc, 3020, cuMemAlloc_v2) \
    X(cuMemAllocPitch, 3020, cuMemAllocPitch_v2) \
    X(cuMemFree, 3020, cuMemFree_v2) \
    X(cuMemAllocHost, 3020, cuMemAllocHost_v2) \
    X(cuMemHostAlloc, 2020, cuMemHostAlloc) \
    X(cuMemFreeHost, 2000, cuMemFreeHost) \
    X(cuMemHostRegister, 6050, cuMemHostRegister_v2) \
    X(cuMemHostRegister, 4000, cuMemHostRegister) \
    X(cuMemHostUnregister, 4000, cuMemHostUnregister) \
    X(cuMemHostGetDevicePointer, 3020, cuMemHostGetDevicePointer_v2) \
    X(cuMemHostGetFlags, 2030, cuMemHostGetFlags) \
    X(cuMemGetHandleForAddressRange, 11070, cuMemGetHandleForAddressRange) \
    X(cuFlushGPUDirectRDMAWrites, 11030, cuFlushGPUDirectRDMAWrites) \
    X(cuMemGetInfo, 3020, cuMemGetInfo_v2) \
    X(cuMemAllocManaged, 6000, cuMemAllocManaged) \
    X(cuMemAdvise, 8000, cuMemAdvise) \
    X(cuMemAdvise, 12020, cuMemAdvise_v2) \
    X(cuMemPrefetchAsync, 8000, cuMemPrefetchAsync) \
    X(cuMemPrefetchAsync, 12020, cuMemPrefetchAsync_v2) \
    X(cuMemRangeGetAttribute, 8000, cuMemRangeGetAttribute) \
    X(cuMemRangeGetAttributes, 8000, cuMemRangeGetAttributes) \
    X(cuStreamAttachMemAsync, 6000, cuStreamAttachMemAsync) \
    X(cuMemAddressReserve, 10020, cuMemAddressReserve) \
    X(cuMemAddressFree, 10020, cuMemAddressFree) \
    X(cuMemCreate, 10020, cuMemCreate) \
    X(cuMemRelease, 10020, cuMemRelease) \
    X(cuMemMap, 10020, cuMemMap) \
    X(cuMemUnmap, 10020, cuMemUnmap) \
    X(cuMemSetAccess, 10020, cuMemSetAccess) \
    X(cuMemGetAccess, 10020, cuMemGetAccess) \
    X(cuMemExportToShareableHandle, 10020, cuMemExportToShareableHandle) \
    X(cuMemImportFromShareableHandle, 10020, cuMemImportFromShareableHandle) \
    X(cuMemGetAllocationGranularity, 10020, cuMemGetAllocationGranularity) \
    X(cuMemGetAllocationPropertiesFromHandle, 10020, cuMemGetAllocationPropertiesFromHandle) \
    X(cuMemRetainAllocationHandle, 11000, cuMemRetainAllocationHandle) \
    X(cuMemMapArrayAsync, 11010, cuMemMapArrayAsync) \
    X(cuArrayGetSparseProperties, 11010, cuArrayGetSparseProperties) \
    X(cuMipmappedArrayGetSparseProperties, 11010, cuMipmappedArrayGetSparseProperties) \
    X(cuMulticastCreate, 12010, cuMulticastCreate) \
    X(cuMulticastAddDevice, 12010, cuMulticastAddDevice) \
    X(cuMulticastBindMem, 12010, cuMulticastBindMem) \
    X(cuMulticastBindAddr, 12010, cuMulticastBindAddr) \
    X(cuMulticastUnbind, 12010, cuMulticastUnbind) \
    X(cuMulticastGetGranularity, 12010, cuMulticastGetGranularity) \
    X(cuDeviceGetDefaultMemPool, 11020, cuDeviceGetDefaultMemPool) \
    X(cuDeviceGetMemPool, 11020, cuDeviceGetMemPool) \
    X(cuDeviceSetMemPool, 11020, cuDeviceSetMemPool) \
    X(cuMemAllocAsync, 11020, cuMemAllocAsync) \
    X(cuMemAllocFromPoolAsync, 11020, cuMemAllocFromPoolAsync) \
    X(cuMemFreeAsync, 11020, cuMemFreeAsync) \
    X(cuMemPoolCreate, 11020, cuMemPoolCreate) \
    X(cuMemPoolDestroy, 11020, cuMemPoolDestroy) \
    X(cuMemPoolTrimTo, 11020, cuMemPoolTrimTo) \
    X(cuMemPoolSetAttribute, 11020, cuMemPoolSetAttribute) \
    X(cuMemPoolGetAttribute, 11020, cuMemPoolGetAttribute) \
    X(cuMemPoolSetAccess, 11020, cuMemPoolSetAccess) \
    X(cuMemPoolGetAccess, 11020, cuMemPoolGetAccess) \
    X(cuMemPoolExportToShareableHandle, 11020, cuMemPoolExportToShareableHandle) \
    X(cuMemPoolImportFromShareableHandle, 11020, cuMemPoolImportFromShareableHandle) \
    X(cuMemPoolExportPointer, 11020, cuMemPoolExportPointer) \
    X(cuMemPoolImportPointer, 11020, cuMemPoolImportPointer) \
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
    X(cuMemsetD2D8, 3020, cuMemsetD2D8_v2) \
    X(cuMemsetD2D16, 3020, cuMemsetD2D16_v2) \
    X(cuMemsetD2D32, 3020, cuMemsetD2D32_v2) \
    X(cuMemsetD2D8Async, 3020, cuMemsetD2D8Async) \
    X(cuMemsetD2D16Async, 3020, cuMemsetD2D16Async) \
    X(cuMemsetD2D32Async, 3020, cuMemsetD2D32Async) \
    X(cuMemcpyHtoA, 3020, cuMemcpyHtoA_v2) \
    X(cuMemcpyAtoH, 3020, cuMemcpyAtoH_v2) \
    X(cuMemcpyDtoA, 3020, cuMemcpyDtoA_v2) \
    X(cuMemcpyAtoD, 3020, cuMemcpyAtoD_v2) \
    X(cuMemcpyAtoA, 3020, cuMemcpyAtoA_v2) \
    X(cuArrayCreate, 3020, cuArrayCreate_v2) \
    X(cuArray3DCreate, 3020, cuArray3DCreate_v2) \
    X(cuArrayDestroy, 2000, cuArrayDestroy) \
    X(cuArrayGetDescriptor, 3020, cuArrayGetDescriptor_v2) \
    X(cuArray3DGetDescriptor, 3020, cuArray3DGetDescriptor_v2) \
    X(cuMipmappedArrayCreate, 5000, cuMipmappedArrayCreate) \
    X(cuMipmappedArrayGetLevel, 5000, cuMipmappedArrayGetLevel) \
    X(cuMipmappedArrayDestroy, 5000, cuMipmappedArrayDestroy) \
    X(cuSurfObjectCreate, 5000, cuSurfObjectCreate) \
    X(cuSurfObjectDestroy, 5000, cuSurfObjectDestroy) \
    X(cuSurfObjectGetResourceDesc, 5000, cuSurfObjectGetResourceDesc) \
    X(cuTexObjectCreate, 5000, cuTexObjectCreate) \
    X(cuTexObjectDestroy, 5000, cuTexObjectDestroy) \
    X(cuTexObjectGetResourceDesc, 5000, cuTexObjectGetResourceDesc) \
    X(cuTexObjectGetTextureDesc, 5000, cuTexObjectGetTextureDesc) \
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
    X(cuGraphicsGLRegisterBuffer, 3000, cuGraphicsGLRegisterBuffer) \
    X(cuGraphicsGLRegisterImage, 3000, cuGraphicsGLRegisterImage) \
    X(cuGLGetDevices, 6050, cuGLGetDevices_v2) \
    X(cuGraphicsUnregisterResource, 3000, cuGraphicsUnregisterResource) \
    X(cuGraphicsResourceSetMapFlags, 6050, cuGraphicsResourceSetMapFlags_v2) \
    X(cuGraphicsMapResources, 3000, cuGraphicsMapResources) \
    X(cuGraphicsUnmapResources, 3000, cuGraphicsUnmapResources) \
    X(cuGraphicsResourceGetMappedPointer, 3020, cuGraphicsResourceGetMappedPointer_v2) \
    X(cuGraphicsResourceGetMappedMipmappedArray, 5000, cuGraphicsResourceGetMappedMipmappedArray) \
    X(cuGraphicsSubResourceGetMappedArray, 3000, cuGraphicsSubResourceGetMappedArray) \
    X(cuModuleLoad, 2000, cuModuleLoad) \
    X(cuModuleLoadData, 2000, cuModuleLoadData) \
    X(cuModuleLoadDataEx, 2010, cuModuleLoadDataEx) \
    X(cuModuleGetGlobal, 3020, cuModuleGetGlobal_v2) \
    X(cuModuleUnload, 2000, cuModuleUnload) \
    X(cuModuleGetFunction, 2000, cuModuleGetFunction) \
    X(cuModuleGetFunctionCount, 12040, cuModuleGetFunctionCount) \
    X(cuModuleEnumerateFunctions, 12040, cuModuleEnumerateFunctions) \
    X(cuFuncGetAttribute, 2020, cuFuncGetAttribute) \
    X(cuFuncSetAttribute, 9000, cuFuncSetAttribute) \
    X(cuFuncSetCacheConfig, 3000, cuFuncSetCacheConfig) \
    X(cuFuncGetModule, 11000, cuFuncGetModule) \
    X(cuFuncGetName, 12030, cuFuncGetName) \
    X(cuFuncLoad, 12040, cuFuncLoad) \
    X(cuFuncGetParamInfo, 12040, cuFuncGetParamInfo) \
    X(cuLinkCreate, 5050, cuLinkCreate) \
    X(cuLinkCreate, 6050, cuLinkCreate_v2) \
    X(cuLinkAddData, 5050, cuLinkAddData) \
    X(cuLinkAddData, 6050, cuLinkAddData_v2) \
    X(cuLinkAddFile, 5050, cuLinkAddFile) \
    X(cuLinkAddFile, 6050, cuLinkAddFile_v2) \
    X(cuLinkComplete, 5050, cuLinkComplete) \
    X(cuLinkDestroy, 5050, cuLinkDestroy) \
    X(cuLibraryLoadData, 12000, cuLibraryLoadData) \
    X(cuLibraryLoadFromFile, 12000, cuLibraryLoadFromFile) \
    X(cuLibraryUnload, 12000, cuLibraryUnload) \
    X(cuLibraryGetKernel, 12000, cuLibraryGetKernel) \
    X(cuLibraryGetGlobal, 12000, cuLibraryGetGlobal) \
    X(cuKernelGetFunction, 12000, cuKernelGetFunction) \
    X(cuKernelGetName, 12030, cuKernelGetName) \
    X(cuKernelGetParamInfo, 12040, cuKernelGetParamInfo) \
    X(cuKernelGetAttribute, 12000, cuKernelGetAttribute) \
    X(cuKernelSetAttribute, 12000, cuKernelSetAttribute) \
    X(cuKernelSetCacheConfig, 12000, cuKernelSetCacheConfig) \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050, cuOccupancyMaxActiveBlocksPerMultiprocessor) \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, 7000, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags) \
    X(cuOccupancyMaxPotentialBlockSize, 6050, cuOccupancyMaxPotentialBlockSize) \
    X(cuOccupancyMaxPotentialBlockSizeWithFlags, 7000, cuOccupancyMaxPotentialBlockSizeWithFlags) \
    X(cuOccupancyAvailableDynamicSMemPerBlock, 10020, cuOccupancyAvailableDynamicSMemPerBlock) \
    X(cuOccupancyMaxActiveClusters, 11070, cuOccupancyMaxActiveClusters) \
    X(cuOccupancyMaxPotentialClusterSize, 11070, cuOccupancyMaxPotentialClusterSize) \
    X(cuLaunchKernel, 4000, cuLaunchKernel) \
    X(cuLaunchKernelEx, 11060, cuLaunchKernelEx) \
    X(cuLaunchCooperativeKernel, 9000, cuLaunchCooperativeKernel) \
    X(cuLaunchHostFunc, 10000, cuLaunchHostFunc) \
    X(cuStreamAddCallback, 5000, cuStreamAddCallback)

#define SOFT_PROCS_GRAPHS(X) \
    X(cuStreamIsCapturing, 10000, cuStreamIsCapturing) \
    X(cuThreadExchangeStreamCaptureMode, 10010, cuThreadExchangeStreamCaptureMode) \
    X(cuStreamBeginCapture, 10010, cuStreamBeginCapture_v2) \
    X(cuStreamEndCapture, 10000, cuStreamEndCapture) \
    X(cuStreamGetCaptureInfo, 11030, cuStreamGetCaptureInfo_v2) \
    X(cuStreamGetCaptureInfo, 12030, cuStreamGetCaptureInfo_v3) \
    X(cuGraphCreate, 10000, cuGraphCreate) \
    X(cuGraphDestroy, 10000, cuGraphDestroy) \
    X(cuGraphClone, 10000, cuGraphClone) \
    X(cuGraphNodeFindInClone, 10000, cuGraphNodeFindInClone) \
    X(cuGraphGetNodes, 10000, cuGraphGetNodes) \
    X(cuGraphGetEdges, 10000, cuGraphGetEdges) \
    X(cuGraphGetEdges, 12030, cuGraphGetEdges_v2) \
    X(cuGraphAddDependencies, 10000, cuGraphAddDependencies) \
    X(cuGraphAddDependencies, 12030, cuGraphAddDependencies_v2) \
    X(cuGraphNodeGetType, 10000, cuGraphNodeGetType) \
    X(cuGraphDestroyNode, 10000, cuGraphDestroyNode) \
    X(cuGraphAddEmptyNode, 10000, cuGraphAddEmptyNode) \
    X(cuGraphAddKernelNode, 12000, cuGraphAddKernelNode_v2) \
    X(cuGraphKernelNodeGetParams, 12000, cuGraphKernelNodeGetParams_v2) \
    X(cuGraphKernelNodeSetParams, 12000, cuGraphKernelNodeSetParams_v2) \
    X(cuGraphKernelNodeGetAttribute, 11000, cuGraphKernelNodeGetAttribute) \
    X(cuGraphKernelNodeSetAttribute, 11000, cuGraphKernelNodeSetAttribute) \
    X(cuGraphExecKernelNodeSetParams, 12000, cuGraphExecKernelNodeSetParams_v2) \
    X(cuGraphAddHostNode, 10000, cuGraphAddHostNode) \
    X(cuGraphAddMemcpyNode, 10000, cuGraphAddMemcpyNode) \
    X(cuGraphMemcpyNodeGetParams, 10000, cuGraphMemcpyNodeGetParams) \
    X(cuGraphAddMemsetNode, 10000, cuGraphAddMemsetNode) \
    X(cuGraphMemsetNodeGetParams, 10000, cuGraphMemsetNodeGetParams) \
    X(cuGraphMemsetNodeSetParams, 10000, cuGraphMemsetNodeSetParams) \
    X(cuGraphAddExternalSemaphoresSignalNode, 11020, cuGraphAddExternalSemaphoresSignalNode) \
    X(cuGraphExternalSemaphoresSignalNodeGetParams, 11020, cuGraphExternalSemaphoresSignalNodeGetParams) \
    X(cuGraphExecExternalSemaphoresSignalNodeSetParams, 11020, cuGraphExecExternalSemaphoresSignalNodeSetParams) \
    X(cuGraphAddExternalSemaphoresWaitNode, 11020, cuGraphAddExternalSemaphoresWaitNode) \
    X(cuGraphExternalSemaphoresWaitNodeGetParams, 11020, cuGraphExternalSemaphoresWaitNodeGetParams) \
    X(cuGraphExecExternalSemaphoresWaitNodeSetParams, 11020, cuGraphExecExternalSemaphoresWaitNodeSetParams) \
    X(cuGraphConditionalHandleCreate, 12030, cuGraphConditionalHandleCreate) \
    X(cuGraphAddNode, 12020, cuGraphAddNode) \
    X(cuGraphAddNode, 12030, cuGraphAddNode_v2) \
    X(cuGraphNodeSetParams, 12020, cuGraphNodeSetParams) \
    X(cuGraphExecNodeSetParams, 12020, cuGraphExecNodeSetParams) \
    X(cuGraphInstantiate, 12000, cuGraphInstantiateWithFlags) \
    X(cuGraphInstantiateWithFlags, 11040, cuGraphInstantiateWithFlags) \
    X(cuGraphInstantiateWithParams, 12000, cuGraphInstantiateWithParams) \
    X(cuGraphExecDestroy, 10000, cuGraphExecDestroy) \
    X(cuGraphExecUpdate, 12000, cuGraphExecUpdate_v2) \
    X(cuGraphLaunch, 10000, cuGraphLaunch) \
    X(cuUserObjectCreate, 11030, cuUserObjectCreate) \
    X(cuUserObjectRelease, 11030, cuUserObjectRelease) \
    X(cuGraphRetainUserObject, 11030, cuGraphRetainUserObject) \
    X(cuGraphReleaseUserObject, 11030, cuGraphReleaseUserObject)

/* Declared by cuda.h from 13.0 on. */
#if CUDA_VERSION >= 13000
#define SOFT_PROCS_13000(X) \
    X(cuCtxGetDevice, 13000, cuCtxGetDevice_v2) \
    X(cuCtxSynchronize, 13000, cuCtxSynchronize_v2)
#else
#define SOFT_PROCS_13000(X)
#endif

/* Linux alone has them (cuda.h). */
#ifdef _WIN32
#define SOFT_PROCS_LINUX(X)
#else
#define SOFT_PROCS_LINUX(X) \
    X(cuCheckpointProcessGetState, 12080, cuCheckpointProcessGetState) \
    X(cuCheckpointProcessLock, 12080, cuCheckpointProcessLock) \
    X(cuCheckpointProcessCheckpoint, 12080, cuCheckpointProcessCheckpoint) \
    X(cuCheckpointProcessRestore, 12080, cuCheckpointProcessRestore) \
    X(cuCheckpointProcessUnlock, 12080, cuCheckpointProcessUnlock)
#endif

/* The private controls, found under their own names whatever the version. */
#define SOFT_CONTROLS(X) \
    X(culvSoftCounts, 0, culvSoftCounts) \
    X(culvSoftFailAt, 0, culvSoftFailAt) \
    X(culvSoftFailedCall, 0, culvSoftFailedCall) \
    X(culvSoftFaults, 0, culvSoftFaults) \
    X(culvSoftTellErrors, 0, culvSoftTellErrors) \
    X(culvSoftBefore, 0, culvSoftBefore) \
    X(culvSoftPlayVersion, 0, culvSoftPlayVersion) \
    X(culvSoftBarPeers, 0, culvSoftBarPeers) \
    X(culvSoftPlayName, 0, culvSoftPlayName) \
    X(culvSoftPlayManaged, 0, culvSoftPlayManaged) \
    X(culvSoftPlayDmaBufPcie, 0, culvSoftPlayDmaBufPcie) \
    X(culvSoftPlayDmaBufImport, 0, culvSoftPlayDmaBufImport) \
    X(culvSoftPlayFabric, 0, culvSoftPlayFabric) \
    X(culvSoftDmaBufRange, 0, culvSoftDmaBufRange) \
    X(culvSoftRdmaCounts, 0, culvSoftRdmaCounts) \
    X(culvSoftPlayAttribute, 0, culvSoftPlayAttribute) \
    X(culvSoftPlayLuid, 0, culvSoftPlayLuid) \
    X(culvSoftSpoilPeers, 0, culvSoftSpoilPeers) \
    X(culvSoftAddLayerPath, 0, culvSoftAddLayerPath) \
    X(culvSoftLayerPath, 0, culvSoftLayerPath) \
    X(culvSoftBinaryCreate, 0, culvSoftBinaryCreate) \
    X(culvSoftBinarySignal, 0, culvSoftBinarySignal) \
    X(culvSoftBinaryWait, 0, culvSoftBinaryWait)
// clang-format on

/* The second form of calls that take a stream, or work in the default one.
 * There a stream of 0 is the calling thread's own default stream, as cuda.h says of
 * CUDA_API_PER_THREAD_DEFAULT_STREAM. Base name, CUDA version that introduced this form
 * (cudaTypedefs.h), the call of the first form, what is behind its name, parameters, arguments. */

// clang-format off
#define SOFT_PER_THREAD(X) \
    X(cuStreamQuery, 7000, cuStreamQuery, ptsz, (CUstream hStream), (hStream)) \
    X(cuStreamSynchronize, 7000, cuStreamSynchronize, ptsz, (CUstream hStream), (hStream)) \
    X(cuStreamGetCtx, 9020, cuStreamGetCtx, ptsz, (CUstream hStream, CUcontext *pctx), (hStream, pctx)) \
    X(cuStreamGetCtx, 12050, cuStreamGetCtx_v2, ptsz, (CUstream hStream, CUcontext *pCtx, CUgreenCtx *pGreenCtx), (hStream, pCtx, pGreenCtx)) \
    X(cuStreamGetFlags, 7000, cuStreamGetFlags, ptsz, (CUstream hStream, unsigned int *flags), (hStream, flags)) \
    X(cuStreamGetPriority, 7000, cuStreamGetPriority, ptsz, (CUstream hStream, int *priority), (hStream, priority)) \
    X(cuStreamGetId, 12000, cuStreamGetId, ptsz, (CUstream hStream, unsigned long long *streamId), (hStream, streamId)) \
    X(cuEventRecord, 7000, cuEventRecord, ptsz, (CUevent hEvent, CUstream hStream), (hEvent, hStream)) \
    X(cuStreamWaitEvent, 7000, cuStreamWaitEvent, ptsz, (CUstream hStream, CUevent hEvent, unsigned int Flags), (hStream, hEvent, Flags)) \
    X(cuStreamWaitValue64, 11070, cuStreamWaitValue64_v2, ptsz, (CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags), (stream, addr, value, flags)) \
    X(cuStreamWriteValue64, 11070, cuStreamWriteValue64_v2, ptsz, (CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags), (stream, addr, value, flags)) \
    X(cuMemPrefetchAsync, 8000, cuMemPrefetchAsync, ptsz, (CUdeviceptr devPtr, size_t count, CUdevice dstDevice, CUstream hStream), (devPtr, count, dstDevice, hStream)) \
    X(cuMemPrefetchAsync, 12020, cuMemPrefetchAsync_v2, ptsz, (CUdeviceptr devPtr, size_t count, CUmemLocation location, unsigned int flags, CUstream hStream), (devPtr, count, location, flags, hStream)) \
    X(cuStreamAttachMemAsync, 7000, cuStreamAttachMemAsync, ptsz, (CUstream hStream, CUdeviceptr dptr, size_t length, unsigned int flags), (hStream, dptr, length, flags)) \
    X(cuMemMapArrayAsync, 11010, cuMemMapArrayAsync, ptsz, (CUarrayMapInfo *mapInfoList, unsigned int count, CUstream hStream), (mapInfoList, count, hStream)) \
    X(cuMemAllocAsync, 11020, cuMemAllocAsync, ptsz, (CUdeviceptr *dptr, size_t bytesize, CUstream hStream), (dptr, bytesize, hStream)) \
    X(cuMemAllocFromPoolAsync, 11020, cuMemAllocFromPoolAsync, ptsz, (CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream), (dptr, bytesize, pool, hStream)) \
    X(cuMemFreeAsync, 11020, cuMemFreeAsync, ptsz, (CUdeviceptr dptr, CUstream hStream), (dptr, hStream)) \
    X(cuMemcpy, 7000, cuMemcpy, ptds, (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount), (dst, src, ByteCount)) \
    X(cuMemcpyAsync, 7000, cuMemcpyAsync, ptsz, (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream), (dst, src, ByteCount, hStream)) \
    X(cuMemcpyHtoD, 7000, cuMemcpyHtoD_v2, ptds, (CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount), (dstDevice, srcHost, ByteCount)) \
    X(cuMemcpyHtoDAsync, 7000, cuMemcpyHtoDAsync_v2, ptsz, (CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount, CUstream hStream), (dstDevice, srcHost, ByteCount, hStream)) \
    X(cuMemcpyDtoH, 7000, cuMemcpyDtoH_v2, ptds, (void *dstHost, CUdeviceptr srcDevice, size_t ByteCount), (dstHost, srcDevice, ByteCount)) \
    X(cuMemcpyDtoHAsync, 7000, cuMemcpyDtoHAsync_v2, ptsz, (void *dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream), (dstHost, srcDevice, ByteCount, hStream)) \
    X(cuMemcpyDtoD, 7000, cuMemcpyDtoD_v2, ptds, (CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount), (dstDevice, srcDevice, ByteCount)) \
    X(cuMemcpyDtoDAsync, 7000, cuMemcpyDtoDAsync_v2, ptsz, (CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream), (dstDevice, srcDevice, ByteCount, hStream)) \
    X(cuMemcpy2D, 7000, cuMemcpy2D_v2, ptds, (const CUDA_MEMCPY2D *pCopy), (pCopy)) \
    X(cuMemcpy2DUnaligned, 7000, cuMemcpy2DUnaligned_v2, ptds, (const CUDA_MEMCPY2D *pCopy), (pCopy)) \
    X(cuMemcpy2DAsync, 7000, cuMemcpy2DAsync_v2, ptsz, (const CUDA_MEMCPY2D *pCopy, CUstream hStream), (pCopy, hStream)) \
    X(cuMemcpy3D, 7000, cuMemcpy3D_v2, ptds, (const CUDA_MEMCPY3D *pCopy), (pCopy)) \
    X(cuMemcpy3DAsync, 7000, cuMemcpy3DAsync_v2, ptsz, (const CUDA_MEMCPY3D *pCopy, CUstream hStream), (pCopy, hStream)) \
    X(cuMemcpyPeer, 7000, cuMemcpyPeer, ptds, (CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice, CUcontext srcContext, size_t ByteCount), (dstDevice, dstContext, srcDevice, srcContext, ByteCount)) \
    X(cuMemcpyPeerAsync, 7000, cuMemcpyPeerAsync, ptsz, (CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice, CUcontext srcContext, size_t ByteCount, CUstream hStream), (dstDevice, dstContext, srcDevice, srcContext, ByteCount, hStream)) \
    X(cuMemcpy3DPeer, 7000, cuMemcpy3DPeer, ptds, (const CUDA_MEMCPY3D_PEER *pCopy), (pCopy)) \
    X(cuMemcpy3DPeerAsync, 7000, cuMemcpy3DPeerAsync, ptsz, (const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream), (pCopy, hStream)) \
    X(cuMemsetD8, 7000, cuMemsetD8_v2, ptds, (CUdeviceptr dstDevice, unsigned char uc, size_t N), (dstDevice, uc, N)) \
    X(cuMemsetD16, 7000, cuMemsetD16_v2, ptds, (CUdeviceptr dstDevice, unsigned short us, size_t N), (dstDevice, us, N)) \
    X(cuMemsetD32, 7000, cuMemsetD32_v2, ptds, (CUdeviceptr dstDevice, unsigned int ui, size_t N), (dstDevice, ui, N)) \
    X(cuMemsetD8Async, 7000, cuMemsetD8Async, ptsz, (CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream), (dstDevice, uc, N, hStream)) \
    X(cuMemsetD16Async, 7000, cuMemsetD16Async, ptsz, (CUdeviceptr dstDevice, unsigned short us, size_t N, CUstream hStream), (dstDevice, us, N, hStream)) \
    X(cuMemsetD32Async, 7000, cuMemsetD32Async, ptsz, (CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream), (dstDevice, ui, N, hStream)) \
    X(cuMemsetD2D8, 7000, cuMemsetD2D8_v2, ptds, (CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height), (dstDevice, dstPitch, uc, Width, Height)) \
    X(cuMemsetD2D8Async, 7000, cuMemsetD2D8Async, ptsz, (CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height, CUstream hStream), (dstDevice, dstPitch, uc, Width, Height, hStream)) \
    X(cuMemsetD2D16, 7000, cuMemsetD2D16_v2, ptds, (CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width, size_t Height), (dstDevice, dstPitch, us, Width, Height)) \
    X(cuMemsetD2D16Async, 7000, cuMemsetD2D16Async, ptsz, (CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width, size_t Height, CUstream hStream), (dstDevice, dstPitch, us, Width, Height, hStream)) \
    X(cuMemsetD2D32, 7000, cuMemsetD2D32_v2, ptds, (CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width, size_t Height), (dstDevice, dstPitch, ui, Width, Height)) \
    X(cuMemsetD2D32Async, 7000, cuMemsetD2D32Async, ptsz, (CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width, size_t Height, CUstream hStream), (dstDevice, dstPitch, ui, Width, Height, hStream)) \
    X(cuMemcpyHtoA, 7000, cuMemcpyHtoA_v2, ptds, (CUarray dstArray, size_t dstOffset, const void *srcHost, size_t ByteCount), (dstArray, dstOffset, srcHost, ByteCount)) \
    X(cuMemcpyAtoH, 7000, cuMemcpyAtoH_v2, ptds, (void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount), (dstHost, srcArray, srcOffset, ByteCount)) \
    X(cuMemcpyDtoA, 7000, cuMemcpyDtoA_v2, ptds, (CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice, size_t ByteCount), (dstArray, dstOffset, srcDevice, ByteCount)) \
    X(cuMemcpyAtoD, 7000, cuMemcpyAtoD_v2, ptds, (CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset, size_t ByteCount), (dstDevice, srcArray, srcOffset, ByteCount)) \
    X(cuMemcpyAtoA, 7000, cuMemcpyAtoA_v2, ptds, (CUarray dstArray, size_t dstOffset, CUarray srcArray, size_t srcOffset, size_t ByteCount), (dstArray, dstOffset, srcArray, srcOffset, ByteCount)) \
    X(cuSignalExternalSemaphoresAsync, 10000, cuSignalExternalSemaphoresAsync, ptsz, (const CUexternalSemaphore *extSemArray, const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *paramsArray, unsigned int numExtSems, CUstream stream), (extSemArray, paramsArray, numExtSems, stream)) \
    X(cuWaitExternalSemaphoresAsync, 10000, cuWaitExternalSemaphoresAsync, ptsz, ( const CUexternalSemaphore *extSemArray, const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *paramsArray, unsigned int numExtSems, CUstream stream), (extSemArray, paramsArray, numExtSems, stream)) \
    X(cuGraphicsMapResources, 7000, cuGraphicsMapResources, ptsz, (unsigned int count, CUgraphicsResource *resources, CUstream hStream), (count, resources, hStream)) \
    X(cuGraphicsUnmapResources, 7000, cuGraphicsUnmapResources, ptsz, (unsigned int count, CUgraphicsResource *resources, CUstream hStream), (count, resources, hStream)) \
    X(cuLaunchKernel, 7000, cuLaunchKernel, ptsz, (CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream, void **kernelParams, void **extra), (f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, hStream, kernelParams, extra)) \
    X(cuLaunchKernelEx, 11060, cuLaunchKernelEx, ptsz, (const CUlaunchConfig *config, CUfunction f, void **kernelParams, void **extra), (config, f, kernelParams, extra)) \
    X(cuLaunchCooperativeKernel, 9000, cuLaunchCooperativeKernel, ptsz, (CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream, void **kernelParams), (f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, hStream, kernelParams)) \
    X(cuLaunchHostFunc, 10000, cuLaunchHostFunc, ptsz, (CUstream hStream, CUhostFn fn, void *userData), (hStream, fn, userData)) \
    X(cuStreamAddCallback, 7000, cuStreamAddCallback, ptsz, (CUstream hStream, CUstreamCallback callback, void *userData, unsigned int flags), (hStream, callback, userData, flags)) \
    X(cuStreamIsCapturing, 10000, cuStreamIsCapturing, ptsz, (CUstream hStream, CUstreamCaptureStatus *captureStatus), (hStream, captureStatus)) \
    X(cuStreamBeginCapture, 10010, cuStreamBeginCapture_v2, ptsz, (CUstream hStream, CUstreamCaptureMode mode), (hStream, mode)) \
    X(cuStreamEndCapture, 10000, cuStreamEndCapture, ptsz, (CUstream hStream, CUgraph *phGraph), (hStream, phGraph)) \
    X(cuStreamGetCaptureInfo, 12030, cuStreamGetCaptureInfo_v3, ptsz, (CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out, CUgraph *graph_out, const CUgraphNode **dependencies_out, const CUgraphEdgeData **edgeData_out, size_t *numDependencies_out), (hStream, captureStatus_out, id_out, graph_out, dependencies_out, edgeData_out, numDependencies_out)) \
    X(cuGraphInstantiateWithParams, 12000, cuGraphInstantiateWithParams, ptsz, (CUgraphExec *phGraphExec, CUgraph hGraph, CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams), (phGraphExec, hGraph, instantiateParams)) \
    X(cuGraphLaunch, 10000, cuGraphLaunch, ptsz, (CUgraphExec hGraph, CUstream hStream), (hGraph, hStream))
// clang-format on

#endif
