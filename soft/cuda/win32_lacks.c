/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: what it does not have on Windows: OpenGL, dma-bufs, and the twin's Vulkan
 * layer. */
#include "gl.h"
#include "semaphore_page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

CUresult soft_gl_current(const struct soft_gl **out)
{
    (void)out;
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult soft_gl_device(const struct soft_gl *gl, int *device)
{
    (void)gl, (void)device;
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult soft_gl_mark(const struct soft_gl *gl, struct soft_gl_group *group)
{
    (void)gl, (void)group;
    return CUDA_ERROR_NOT_SUPPORTED;
}

bool soft_gl_in_group(const struct soft_gl *gl, const struct soft_gl_group *group)
{
    (void)gl, (void)group;
    return false;
}

CUresult CUDAAPI cuGLGetDevices_v2(unsigned int *pCudaDeviceCount, CUdevice *pCudaDevices,
                                   unsigned int cudaDeviceCount, int deviceList)
{
    (void)pCudaDeviceCount, (void)pCudaDevices, (void)cudaDeviceCount, (void)deviceList;
    CUresult result = soft_begin("cuGLGetDevices_v2", SOFT_NEED_INIT, NULL);
    return result == CUDA_SUCCESS ? soft_end(CUDA_ERROR_NOT_SUPPORTED) : result;
}

void soft_count_sync_memops(bool of_context)
{
    (void)of_context;
}

CUresult CUDAAPI cuMemGetHandleForAddressRange(void *handle, CUdeviceptr dptr, size_t size,
                                               CUmemRangeHandleType handleType,
                                               unsigned long long flags)
{
    (void)handle, (void)dptr, (void)size, (void)handleType, (void)flags;
    CUresult result = soft_begin("cuMemGetHandleForAddressRange", SOFT_NEED_INIT, NULL);
    return result == CUDA_SUCCESS ? soft_end(CUDA_ERROR_NOT_SUPPORTED) : result;
}

CUresult CUDAAPI cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget target,
                                            CUflushGPUDirectRDMAWritesScope scope)
{
    (void)target, (void)scope;
    CUresult result = soft_begin("cuFlushGPUDirectRDMAWrites", SOFT_NEED_INIT, NULL);
    return result == CUDA_SUCCESS ? soft_end(CUDA_ERROR_NOT_SUPPORTED) : result;
}

CUresult soft_p2p_tokens(struct soft_range *range, CUDA_POINTER_ATTRIBUTE_P2P_TOKENS *out)
{
    (void)range, (void)out;
    return CUDA_ERROR_INVALID_VALUE;
}

int culvSoftDmaBufRange(int fd, culv_soft_dma_buf *out)
{
    (void)fd, (void)out;
    return EINVAL;
}

bool soft_fabric_channel(void)
{
    return false;
}

bool soft_fabric_write(int fd, void *out)
{
    (void)fd, (void)out;
    return false;
}

int soft_fabric_open(const void *handle)
{
    (void)handle;
    return -1;
}

void culvSoftPlayFabric(int has_channel)
{
    (void)has_channel;
}

void culvSoftPlayDmaBufPcie(int answer)
{
    (void)answer;
}

int culvSoftPlayManaged(uint64_t address)
{
    (void)address;
    return EINVAL;
}

void culvSoftRdmaCounts(culv_soft_rdma_counts *out)
{
    memset(out, 0, sizeof(*out));
}

bool soft_swiftshader_made(int fd, const char *what)
{
    (void)fd;
    (void)what;
    return false;
}

bool soft_vulkan_memory_header(uint8_t header[32])
{
    (void)header;
    return false;
}

void soft_vulkan_keep_drivers(void) {}

const char *culvSoftLayerPath(void)
{
    return NULL;
}

const char *culvSoftAddLayerPath(void)
{
    return NULL;
}

/* --- what other processes share: this twin's memory is no file's */

void soft_ipc_free(struct soft_ipc *ipc)
{
    (void)ipc;
}

struct soft_ipc_event *soft_ipc_event_new(void)
{
    return NULL;
}

CUresult soft_ipc_event_open(const CUipcEventHandle *handle, struct soft_ipc_event **out)
{
    (void)handle;
    (void)out;
    return CUDA_ERROR_NOT_SUPPORTED;
}

void soft_ipc_event_ref(struct soft_ipc_event *event)
{
    (void)event;
}

void soft_ipc_event_unref(struct soft_ipc_event *event)
{
    (void)event;
}

void soft_ipc_event_describe(const struct soft_ipc_event *event, CUipcEventHandle *out)
{
    (void)event;
    (void)out;
}

uint64_t soft_ipc_event_recorded(const struct soft_ipc_event *event)
{
    (void)event;
    return 0;
}

bool soft_ipc_event_reached(const struct soft_ipc_event *event, uint64_t value)
{
    (void)event;
    (void)value;
    return true;
}

void soft_ipc_event_sleep(const struct soft_ipc_event *event, uint64_t value)
{
    (void)event;
    (void)value;
}

CUresult soft_ipc_event_record(struct soft_ipc_event *event, struct soft_stream *stream)
{
    (void)event;
    (void)stream;
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult soft_ipc_event_wait(struct soft_ipc_event *event, struct soft_stream *stream)
{
    (void)event;
    (void)stream;
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult CUDAAPI cuIpcGetMemHandle(CUipcMemHandle *pHandle, CUdeviceptr dptr)
{
    (void)pHandle;
    (void)dptr;
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult CUDAAPI cuIpcOpenMemHandle_v2(CUdeviceptr *pdptr, CUipcMemHandle handle,
                                       unsigned int Flags)
{
    (void)pdptr;
    (void)handle;
    (void)Flags;
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult CUDAAPI cuIpcCloseMemHandle(CUdeviceptr dptr)
{
    (void)dptr;
    return CUDA_ERROR_NOT_SUPPORTED;
}
