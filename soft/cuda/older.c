/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: older forms of calls that do what the newer ones do, and calls that are
 * preferences of hardware which the twin has not. */
#include "graph.h"

/* The same arguments in the same sizes. */
#define SAME(older, parameters, newer, arguments)                                                  \
    CUresult CUDAAPI older parameters                                                              \
    {                                                                                              \
        return newer arguments;                                                                    \
    }
SAME(cuCtxDestroy, (CUcontext ctx), cuCtxDestroy_v2, (ctx))
SAME(cuCtxPopCurrent, (CUcontext * pctx), cuCtxPopCurrent_v2, (pctx))
SAME(cuCtxPushCurrent, (CUcontext ctx), cuCtxPushCurrent_v2, (ctx))
SAME(cuStreamDestroy, (CUstream hStream), cuStreamDestroy_v2, (hStream))
SAME(cuEventDestroy, (CUevent hEvent), cuEventDestroy_v2, (hEvent))
SAME(cuDevicePrimaryCtxRelease, (CUdevice dev), cuDevicePrimaryCtxRelease_v2, (dev))
SAME(cuDevicePrimaryCtxReset, (CUdevice dev), cuDevicePrimaryCtxReset_v2, (dev))
SAME(cuDevicePrimaryCtxSetFlags, (CUdevice dev, unsigned int flags), cuDevicePrimaryCtxSetFlags_v2,
     (dev, flags))
SAME(cuIpcOpenMemHandle, (CUdeviceptr * pdptr, CUipcMemHandle handle, unsigned int Flags),
     cuIpcOpenMemHandle_v2, (pdptr, handle, Flags))
SAME(cuMemHostRegister, (void *p, size_t bytesize, unsigned int Flags), cuMemHostRegister_v2,
     (p, bytesize, Flags))
SAME(cuStreamWaitValue32, (CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags),
     cuStreamWaitValue32_v2, (stream, addr, value, flags))
SAME(cuStreamWaitValue64, (CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags),
     cuStreamWaitValue64_v2, (stream, addr, value, flags))
SAME(cuStreamWriteValue32,
     (CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags),
     cuStreamWriteValue32_v2, (stream, addr, value, flags))
SAME(cuStreamWriteValue64,
     (CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags),
     cuStreamWriteValue64_v2, (stream, addr, value, flags))
SAME(cuStreamBatchMemOp,
     (CUstream stream, unsigned int count, CUstreamBatchMemOpParams *paramArray,
      unsigned int flags),
     cuStreamBatchMemOp_v2, (stream, count, paramArray, flags))

/* cuda.h: "the fixed bank size of the hardware", which is 4 bytes since compute capability 5. */
CUresult CUDAAPI cuCtxGetSharedMemConfig(CUsharedconfig *pConfig)
{
    struct soft_context *context;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    if (pConfig == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    *pConfig = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
    return soft_end(CUDA_SUCCESS);
}

static bool bank_size_valid(CUsharedconfig config)
{
    return (int)config >= CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE &&
           config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE;
}

CUresult CUDAAPI cuCtxSetSharedMemConfig(CUsharedconfig config)
{
    struct soft_context *context;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    return soft_end(bank_size_valid(config) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuFuncSetSharedMemConfig(CUfunction hfunc, CUsharedconfig config)
{
    struct soft_context *context;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    if (soft_object_find(hfunc, SOFT_FUNCTION) == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    return soft_end(bank_size_valid(config) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

/* There is no such cache. */
CUresult CUDAAPI cuCtxResetPersistingL2Cache(void)
{
    struct soft_context *context;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    return result == CUDA_SUCCESS ? soft_end(CUDA_SUCCESS) : result;
}
