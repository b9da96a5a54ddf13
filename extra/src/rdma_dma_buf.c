/* SPDX-License-Identifier: MIT */
/* Dma-bufs of ranges, on top of core's of whole pages. */
#include "rdma_pointer.h"

static const char function[] = "culv_rdma_dma_buf_export_dup";

/* In the device's context. */
static culv_result make(culv_device *device, CUdeviceptr pointer, uint64_t size,
                        culv_rdma_dma_buf *b)
{
    static const char call[] = "cuMemGetHandleForAddressRange";
    const culv_cuda_api *cu = CULV_CUDA(device);
    const CUmemRangeHandleType type = CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD;
    culvi_rdma_memory memory;
    int fd = -1;
    CULVI_X_TRY(culvi_rdma_check(device, NULL, function, pointer, size, true, &memory));
    CULVI_X_REFUSE_IF(
        memory.kind == CULV_POINTER_HOST, device, NULL, CULV_REASON_HOST_POINTER,
        "%s: %#" PRIx64
        " is page-locked host memory, which needs no dma-buf; register the pointer with the card as host memory",
        function, (uint64_t)pointer);
    CULVI_X_UNSUPPORTED_IF(
        !culvi_x_caps(device).dma_buf_export, device, NULL, CULV_REASON_HANDLE_TYPE,
        "'%s' cannot make dma-bufs (CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED is 0); export VMM memory as a POSIX file descriptor instead",
        culvi_x_caps(device).name);
    CULVI_X_UNSUPPORTED_IF(cu->cuMemGetHandleForAddressRange == NULL, device, NULL,
                           CULV_REASON_DRIVER_TOO_OLD, "the CUDA driver of '%s' lacks %s",
                           culvi_x_caps(device).name, call);
    CUresult r = CUDA_ERROR_NOT_SUPPORTED;
    if (b->pcie)
        r = cu->cuMemGetHandleForAddressRange(&fd, b->start, (size_t)b->size, type,
                                              CULV_DMA_BUF_PCIE);
    /* It may be the flag that the driver does not take (libfabric 10976 and 10995). */
    if (!b->pcie || r == CUDA_ERROR_INVALID_VALUE || r == CUDA_ERROR_NOT_SUPPORTED) {
        b->pcie = 0;
        r = cu->cuMemGetHandleForAddressRange(&fd, b->start, (size_t)b->size, type, 0);
    }
    if (r == CUDA_ERROR_NOT_SUPPORTED)
        return culvi_x_fail_native(device, NULL, CULV_ERROR_UNSUPPORTED, CULV_REASON_HANDLE_TYPE, r,
                                   call, "'%s' cannot make a dma-buf of such memory (%s)",
                                   culvi_x_caps(device).name, "CUDA_ERROR_NOT_SUPPORTED");
    CULVI_X_TRY(culvi_x_result(
        device, NULL, r, call, CULV_REASON_NOT_EXPORTABLE,
        "%" PRIu64 " bytes at %#" PRIx64
        " could not be exported as a dma-buf; all of the range must be mapped, and its memory must have the same properties throughout",
        b->size, (uint64_t)pointer));
    b->handle = culv_handle_dma_buf_fd(fd);
    culvi_x_keep_private(fd);
    return CULV_OK;
}

culv_result culv_rdma_dma_buf_export_dup(culv_device *device, CUdeviceptr pointer, uint64_t size,
                                         uint64_t flags, culv_rdma_dma_buf *out)
{
    CULVI_X_REQUIRE(NULL, device);
    CULVI_X_TRY(culvi_x_out_check(device, __func__, out, "culv_rdma_dma_buf"));
    CULVI_X_REFUSE_IF((flags & ~(uint64_t)CULV_DMA_BUF_PCIE) != 0, device, NULL, CULV_REASON_VALUE,
                      "%s: flags is %#" PRIx64 "; it is 0 or CULV_DMA_BUF_PCIE (%d)", function,
                      flags, (int)CULV_DMA_BUF_PCIE);
    const uint64_t page = culvi_x_page_size();
    culv_rdma_dma_buf b = culv_rdma_dma_buf_init();
    b.start = pointer / page * page;
    b.offset = pointer - b.start;
    b.size = (b.offset + size + page - 1) / page * page;
    b.pcie = (flags & CULV_DMA_BUF_PCIE) != 0;
    CULVI_X_INSIDE(result, device, make(device, pointer, size, &b));
    if (result == CULV_OK) culvi_x_struct_write(out, &b, sizeof b);
    return result;
}
