/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: the second form of calls that take a stream, or work in the default one.
 * There a stream of 0 is the calling thread's own default stream, as cuda.h says of
 * CUDA_API_PER_THREAD_DEFAULT_STREAM. Base name, CUDA version that introduced this form
 * (cudaTypedefs.h), the call of the first form, what is behind its name, parameters, arguments. */
#ifndef SOFT_PER_THREAD_H_
#define SOFT_PER_THREAD_H_

#include "soft.h"

// clang-format off
#define SOFT_PER_THREAD(X) \
    X(cuStreamQuery, 7000, cuStreamQuery, ptsz, (CUstream hStream), (hStream)) \
    X(cuStreamSynchronize, 7000, cuStreamSynchronize, ptsz, (CUstream hStream), (hStream)) \
    X(cuStreamGetCtx, 9020, cuStreamGetCtx, ptsz, (CUstream hStream, CUcontext *pctx), (hStream, pctx)) \
    X(cuStreamGetCtx, 12050, cuStreamGetCtx_v2, ptsz, (CUstream hStream, CUcontext *pCtx, CUgreenCtx *pGreenCtx), (hStream, pCtx, pGreenCtx)) \
    X(cuStreamGetDevice, 12080, cuStreamGetDevice, ptsz, (CUstream hStream, CUdevice *device), (hStream, device)) \
    X(cuStreamGetFlags, 7000, cuStreamGetFlags, ptsz, (CUstream hStream, unsigned int *flags), (hStream, flags)) \
    X(cuStreamGetPriority, 7000, cuStreamGetPriority, ptsz, (CUstream hStream, int *priority), (hStream, priority)) \
    X(cuStreamGetId, 12000, cuStreamGetId, ptsz, (CUstream hStream, unsigned long long *streamId), (hStream, streamId)) \
    X(cuEventRecord, 7000, cuEventRecord, ptsz, (CUevent hEvent, CUstream hStream), (hEvent, hStream)) \
    X(cuEventRecordWithFlags, 11010, cuEventRecordWithFlags, ptsz, (CUevent hEvent, CUstream hStream, unsigned int flags), (hEvent, hStream, flags)) \
    X(cuStreamWaitEvent, 7000, cuStreamWaitEvent, ptsz, (CUstream hStream, CUevent hEvent, unsigned int Flags), (hStream, hEvent, Flags)) \
    X(cuStreamWaitValue32, 11070, cuStreamWaitValue32_v2, ptsz, (CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags), (stream, addr, value, flags)) \
    X(cuStreamWaitValue64, 11070, cuStreamWaitValue64_v2, ptsz, (CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags), (stream, addr, value, flags)) \
    X(cuStreamWriteValue32, 11070, cuStreamWriteValue32_v2, ptsz, (CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags), (stream, addr, value, flags)) \
    X(cuStreamWriteValue64, 11070, cuStreamWriteValue64_v2, ptsz, (CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags), (stream, addr, value, flags)) \
    X(cuStreamWaitValue32, 8000, cuStreamWaitValue32, ptsz, (CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags), (stream, addr, value, flags)) \
    X(cuStreamWaitValue64, 9000, cuStreamWaitValue64, ptsz, (CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags), (stream, addr, value, flags)) \
    X(cuStreamWriteValue32, 8000, cuStreamWriteValue32, ptsz, (CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags), (stream, addr, value, flags)) \
    X(cuStreamWriteValue64, 9000, cuStreamWriteValue64, ptsz, (CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags), (stream, addr, value, flags)) \
    X(cuStreamBatchMemOp, 8000, cuStreamBatchMemOp, ptsz, (CUstream stream, unsigned int count, CUstreamBatchMemOpParams *paramArray, unsigned int flags), (stream, count, paramArray, flags)) \
    X(cuStreamBatchMemOp, 11070, cuStreamBatchMemOp_v2, ptsz, (CUstream stream, unsigned int count, CUstreamBatchMemOpParams *paramArray, unsigned int flags), (stream, count, paramArray, flags)) \
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
    X(cuMemcpyBatchAsync, 12080, cuMemcpyBatchAsync, ptsz, (CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs, size_t *failIdx, CUstream hStream), (dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, failIdx, hStream)) \
    X(cuMemcpyBatchAsync, 13000, cuMemcpyBatchAsync_v2, ptsz, (CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs, CUstream hStream), (dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, hStream)) \
    X(cuMemcpyHtoA, 7000, cuMemcpyHtoA_v2, ptds, (CUarray dstArray, size_t dstOffset, const void *srcHost, size_t ByteCount), (dstArray, dstOffset, srcHost, ByteCount)) \
    X(cuMemcpyHtoAAsync, 7000, cuMemcpyHtoAAsync_v2, ptsz, (CUarray dstArray, size_t dstOffset, const void *srcHost, size_t ByteCount, CUstream hStream), (dstArray, dstOffset, srcHost, ByteCount, hStream)) \
    X(cuMemcpyAtoH, 7000, cuMemcpyAtoH_v2, ptds, (void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount), (dstHost, srcArray, srcOffset, ByteCount)) \
    X(cuMemcpyAtoHAsync, 7000, cuMemcpyAtoHAsync_v2, ptsz, (void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount, CUstream hStream), (dstHost, srcArray, srcOffset, ByteCount, hStream)) \
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
    X(cuStreamUpdateCaptureDependencies, 12030, cuStreamUpdateCaptureDependencies_v2, ptsz, (CUstream hStream, CUgraphNode *dependencies, const CUgraphEdgeData *dependencyData, size_t numDependencies, unsigned int flags), (hStream, dependencies, dependencyData, numDependencies, flags)) \
    X(cuGraphInstantiateWithParams, 12000, cuGraphInstantiateWithParams, ptsz, (CUgraphExec *phGraphExec, CUgraph hGraph, CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams), (phGraphExec, hGraph, instantiateParams)) \
    X(cuGraphUpload, 11010, cuGraphUpload, ptsz, (CUgraphExec hGraph, CUstream hStream), (hGraph, hStream)) \
    X(cuGraphLaunch, 10000, cuGraphLaunch, ptsz, (CUgraphExec hGraph, CUstream hStream), (hGraph, hStream))
// clang-format on

#endif
