/* SPDX-License-Identifier: MIT */
/* Dma-bufs of ranges, on top of core's of whole pages. */
#include "base/attempt.h"
#include "base/desc.h"
#include "base/handle.h"
#include "base/platform.h"
#include "core/dma_buf.h"
#include "rdma/rdma_pointer.h"

#include <inttypes.h>

static const char function[] = "culv_rdma_dma_buf_export_dup";

static culv_result check(culv_device *device, CUdeviceptr pointer, uint64_t size, uint64_t flags,
                         const culv_rdma_dma_buf *out)
{
    culvi_scope scope;
    culvi_rdma_memory memory;
    culv_result result = culvi_struct_check(&device->voice, out, "culv_rdma_dma_buf");
    if (result != CULV_OK) return result;
    if ((flags & ~(uint64_t)CULV_DMA_BUF_PCIE) != 0)
        return culvi_fail(&device->voice, NULL, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "%s: flags is %#" PRIx64 "; it is 0 or CULV_DMA_BUF_PCIE (%d)", function,
                          flags, (int)CULV_DMA_BUF_PCIE);
    result = culvi_enter(device, &scope, NULL);
    if (result != CULV_OK) return result;
    result = culvi_rdma_check(device, function, pointer, size, true, &memory);
    culvi_leave(device, &scope);
    if (result == CULV_OK && memory.kind == CULV_POINTER_HOST)
        return culvi_fail(&device->voice, NULL, CULV_ERROR_INVALID, CULV_REASON_HOST_POINTER,
                          "%s: %#" PRIx64
                          " is page-locked host memory, which needs no dma-buf; register the "
                          "pointer with the card as host memory",
                          function, (uint64_t)pointer);
    return result;
}

/* Whether it may be the flag that the driver does not take (libfabric 10976 and 10995). */
static bool without_pcie(culv_result result)
{
    culv_error error = culv_error_init();
    culv_last_error(&error);
    return (result == CULV_ERROR_UNSUPPORTED || result == CULV_ERROR_DRIVER) &&
           error.native_api == CULV_NATIVE_CUDA &&
           (error.native_code == CUDA_ERROR_INVALID_VALUE ||
            error.native_code == CUDA_ERROR_NOT_SUPPORTED);
}

culv_result culv_rdma_dma_buf_export_dup(culv_device *device, CUdeviceptr pointer, uint64_t size,
                                         uint64_t flags, culv_rdma_dma_buf *out)
{
    CULVI_REQUIRE(NULL, device);
    CULVI_REQUIRE(&device->voice, out);
    culv_result result = check(device, pointer, size, flags, out);
    if (result != CULV_OK) return result;
    const uint64_t page = culvi_page_size();
    culv_rdma_dma_buf b = culv_rdma_dma_buf_init();
    b.start = pointer / page * page;
    b.offset = pointer - b.start;
    b.size = (b.offset + size + page - 1) / page * page;
    b.pcie = (flags & CULV_DMA_BUF_PCIE) != 0;
    if (b.pcie) {
        culvi_attempt_begin();
        result =
            culvi_dma_buf_export(device, pointer, b.start, b.size, CULV_DMA_BUF_PCIE, &b.handle);
        if (result != CULV_OK && without_pcie(result)) {
            (void)culvi_attempt_end(&device->voice, CULV_OK);
            b.pcie = 0;
        } else {
            result = culvi_attempt_end(&device->voice, result);
            if (result != CULV_OK) return result;
        }
    }
    if (!b.pcie) {
        result = culvi_dma_buf_export(device, pointer, b.start, b.size, 0, &b.handle);
        if (result != CULV_OK) return result;
    }
    culvi_struct_write(out, &b, sizeof b);
    return CULV_OK;
}
