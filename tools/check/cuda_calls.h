/* SPDX-License-Identifier: MIT */
/* The driver calls that culvert-check watches: base name, the CUDA version in which
 * cuGetProcAddress has this form (as cudaTypedefs.h says), the exported symbol. PER_THREAD are
 * those that have a second form, whose stream 0 is the thread's own; its symbol has the suffix. */
#ifndef CHECK_CUDA_CALLS_H_
#define CHECK_CUDA_CALLS_H_

// clang-format off
#define CHECK_CUDA_PLAIN(X) \
    X(cuGetProcAddress, 11030, cuGetProcAddress) \
    X(cuGetProcAddress, 12000, cuGetProcAddress_v2) \
    X(cuImportExternalMemory, 10000, cuImportExternalMemory) \
    X(cuDestroyExternalMemory, 10000, cuDestroyExternalMemory) \
    X(cuExternalMemoryGetMappedBuffer, 10000, cuExternalMemoryGetMappedBuffer) \
    X(cuExternalMemoryGetMappedMipmappedArray, 10000, cuExternalMemoryGetMappedMipmappedArray) \
    X(cuMipmappedArrayGetLevel, 5000, cuMipmappedArrayGetLevel) \
    X(cuMipmappedArrayDestroy, 5000, cuMipmappedArrayDestroy) \
    X(cuImportExternalSemaphore, 10000, cuImportExternalSemaphore) \
    X(cuDestroyExternalSemaphore, 10000, cuDestroyExternalSemaphore) \
    X(cuMemExportToShareableHandle, 10020, cuMemExportToShareableHandle) \
    X(cuMemImportFromShareableHandle, 10020, cuMemImportFromShareableHandle) \
    X(cuMemCreate, 10020, cuMemCreate) \
    X(cuMemRelease, 10020, cuMemRelease) \
    X(cuMemRetainAllocationHandle, 11000, cuMemRetainAllocationHandle) \
    X(cuMemMap, 10020, cuMemMap) \
    X(cuMemUnmap, 10020, cuMemUnmap) \
    X(cuMemFree, 3020, cuMemFree_v2) \
    X(cuStreamCreate, 2000, cuStreamCreate) \
    X(cuStreamCreateWithPriority, 5050, cuStreamCreateWithPriority) \
    X(cuStreamDestroy, 4000, cuStreamDestroy_v2) \
    X(cuEventSynchronize, 2000, cuEventSynchronize) \
    X(cuEventQuery, 2000, cuEventQuery) \
    X(cuEventDestroy, 4000, cuEventDestroy_v2) \
    X(cuCtxSynchronize, 2000, cuCtxSynchronize) \
    X(cuCtxRecordEvent, 12050, cuCtxRecordEvent) \
    X(cuCtxSynchronize, 13000, cuCtxSynchronize_v2) \
    X(cuCtxWaitEvent, 12050, cuCtxWaitEvent) \
    X(cuSurfObjectCreate, 5000, cuSurfObjectCreate) \
    X(cuSurfObjectDestroy, 5000, cuSurfObjectDestroy) \
    X(cuTexObjectCreate, 5000, cuTexObjectCreate) \
    X(cuTexObjectDestroy, 5000, cuTexObjectDestroy) \
    X(cuLibraryGetKernel, 12000, cuLibraryGetKernel) \
    X(cuLibraryEnumerateKernels, 12040, cuLibraryEnumerateKernels) \
    X(cuLibraryUnload, 12000, cuLibraryUnload) \
    X(cuGraphInstantiate, 10000, cuGraphInstantiate) \
    X(cuGraphInstantiate, 11000, cuGraphInstantiate_v2) \
    X(cuGraphInstantiateWithFlags, 11040, cuGraphInstantiateWithFlags) \
    X(cuGraphExecDestroy, 10000, cuGraphExecDestroy) \
    X(cuGraphExecUpdate, 10020, cuGraphExecUpdate) \
    X(cuGraphExecUpdate, 12000, cuGraphExecUpdate_v2) \
    X(cuGraphExecKernelNodeSetParams, 10010, cuGraphExecKernelNodeSetParams) \
    X(cuGraphExecKernelNodeSetParams, 12000, cuGraphExecKernelNodeSetParams_v2) \
    X(cuGraphExecMemcpyNodeSetParams, 10020, cuGraphExecMemcpyNodeSetParams) \
    X(cuGraphExecMemsetNodeSetParams, 10020, cuGraphExecMemsetNodeSetParams) \
    X(cuGraphExecChildGraphNodeSetParams, 11010, cuGraphExecChildGraphNodeSetParams) \
    X(cuGraphExecEventRecordNodeSetEvent, 11010, cuGraphExecEventRecordNodeSetEvent) \
    X(cuGraphExecEventWaitNodeSetEvent, 11010, cuGraphExecEventWaitNodeSetEvent) \
    X(cuGraphExecExternalSemaphoresSignalNodeSetParams, 11020, cuGraphExecExternalSemaphoresSignalNodeSetParams) \
    X(cuGraphExecExternalSemaphoresWaitNodeSetParams, 11020, cuGraphExecExternalSemaphoresWaitNodeSetParams) \
    X(cuGraphExecNodeSetParams, 12020, cuGraphExecNodeSetParams) \
    X(cuGraphNodeSetEnabled, 11060, cuGraphNodeSetEnabled) \
    X(cuGraphAddNode, 12020, cuGraphAddNode) \
    X(cuGraphAddNode, 12030, cuGraphAddNode_v2) \
    X(cuGraphAddExternalSemaphoresSignalNode, 11020, cuGraphAddExternalSemaphoresSignalNode) \
    X(cuGraphAddExternalSemaphoresWaitNode, 11020, cuGraphAddExternalSemaphoresWaitNode)

#define CHECK_CUDA_PER_THREAD(X) \
    X(cuSignalExternalSemaphoresAsync, 10000, cuSignalExternalSemaphoresAsync, ptsz) \
    X(cuWaitExternalSemaphoresAsync, 10000, cuWaitExternalSemaphoresAsync, ptsz) \
    X(cuStreamSynchronize, 2000, cuStreamSynchronize, ptsz) \
    X(cuStreamQuery, 2000, cuStreamQuery, ptsz) \
    X(cuStreamWaitEvent, 3020, cuStreamWaitEvent, ptsz) \
    X(cuStreamWaitValue32, 11070, cuStreamWaitValue32_v2, ptsz) \
    X(cuStreamWaitValue64, 11070, cuStreamWaitValue64_v2, ptsz) \
    X(cuStreamWriteValue32, 11070, cuStreamWriteValue32_v2, ptsz) \
    X(cuStreamWriteValue64, 11070, cuStreamWriteValue64_v2, ptsz) \
    X(cuStreamBeginCapture, 10000, cuStreamBeginCapture, ptsz) \
    X(cuStreamBeginCaptureToGraph, 12030, cuStreamBeginCaptureToGraph, ptsz) \
    X(cuStreamBeginCapture, 10010, cuStreamBeginCapture_v2, ptsz) \
    X(cuStreamEndCapture, 10000, cuStreamEndCapture, ptsz) \
    X(cuEventRecord, 2000, cuEventRecord, ptsz) \
    X(cuEventRecordWithFlags, 11010, cuEventRecordWithFlags, ptsz) \
    X(cuLaunchHostFunc, 10000, cuLaunchHostFunc, ptsz) \
    X(cuStreamAddCallback, 5000, cuStreamAddCallback, ptsz) \
    X(cuLaunchKernel, 4000, cuLaunchKernel, ptsz) \
    X(cuLaunchCooperativeKernel, 9000, cuLaunchCooperativeKernel, ptsz) \
    X(cuLaunchKernelEx, 11060, cuLaunchKernelEx, ptsz) \
    X(cuGraphInstantiateWithParams, 12000, cuGraphInstantiateWithParams, ptsz) \
    X(cuGraphLaunch, 10000, cuGraphLaunch, ptsz) \
    X(cuMemcpy, 4000, cuMemcpy, ptds) \
    X(cuMemcpyAsync, 4000, cuMemcpyAsync, ptsz) \
    X(cuMemcpyHtoD, 3020, cuMemcpyHtoD_v2, ptds) \
    X(cuMemcpyHtoDAsync, 3020, cuMemcpyHtoDAsync_v2, ptsz) \
    X(cuMemcpyDtoH, 3020, cuMemcpyDtoH_v2, ptds) \
    X(cuMemcpyDtoHAsync, 3020, cuMemcpyDtoHAsync_v2, ptsz) \
    X(cuMemcpyDtoD, 3020, cuMemcpyDtoD_v2, ptds) \
    X(cuMemcpyDtoDAsync, 3020, cuMemcpyDtoDAsync_v2, ptsz) \
    X(cuMemcpyHtoA, 3020, cuMemcpyHtoA_v2, ptds) \
    X(cuMemcpyHtoAAsync, 3020, cuMemcpyHtoAAsync_v2, ptsz) \
    X(cuMemcpyAtoH, 3020, cuMemcpyAtoH_v2, ptds) \
    X(cuMemcpyAtoHAsync, 3020, cuMemcpyAtoHAsync_v2, ptsz) \
    X(cuMemcpyDtoA, 3020, cuMemcpyDtoA_v2, ptds) \
    X(cuMemcpyAtoD, 3020, cuMemcpyAtoD_v2, ptds) \
    X(cuMemcpyAtoA, 3020, cuMemcpyAtoA_v2, ptds) \
    X(cuMemcpyPeer, 4000, cuMemcpyPeer, ptds) \
    X(cuMemcpyPeerAsync, 4000, cuMemcpyPeerAsync, ptsz) \
    X(cuMemcpy2D, 3020, cuMemcpy2D_v2, ptds) \
    X(cuMemcpy2DUnaligned, 3020, cuMemcpy2DUnaligned_v2, ptds) \
    X(cuMemcpy2DAsync, 3020, cuMemcpy2DAsync_v2, ptsz) \
    X(cuMemcpy3D, 3020, cuMemcpy3D_v2, ptds) \
    X(cuMemcpy3DAsync, 3020, cuMemcpy3DAsync_v2, ptsz) \
    X(cuMemsetD8, 3020, cuMemsetD8_v2, ptds) \
    X(cuMemsetD16, 3020, cuMemsetD16_v2, ptds) \
    X(cuMemsetD32, 3020, cuMemsetD32_v2, ptds) \
    X(cuMemsetD8Async, 3020, cuMemsetD8Async, ptsz) \
    X(cuMemsetD16Async, 3020, cuMemsetD16Async, ptsz) \
    X(cuMemsetD32Async, 3020, cuMemsetD32Async, ptsz) \
    X(cuMemsetD2D8, 3020, cuMemsetD2D8_v2, ptds) \
    X(cuMemsetD2D16, 3020, cuMemsetD2D16_v2, ptds) \
    X(cuMemsetD2D32, 3020, cuMemsetD2D32_v2, ptds) \
    X(cuMemsetD2D8Async, 3020, cuMemsetD2D8Async, ptsz) \
    X(cuMemsetD2D16Async, 3020, cuMemsetD2D16Async, ptsz) \
    X(cuMemsetD2D32Async, 3020, cuMemsetD2D32Async, ptsz) \
    X(cuMemcpyBatchAsync, 12080, cuMemcpyBatchAsync, ptsz) \
    X(cuMemcpyBatchAsync, 13000, cuMemcpyBatchAsync_v2, ptsz) \
    X(cuMemcpy3DBatchAsync, 12080, cuMemcpy3DBatchAsync, ptsz) \
    X(cuMemcpy3DBatchAsync, 13000, cuMemcpy3DBatchAsync_v2, ptsz)
// clang-format on

#endif
