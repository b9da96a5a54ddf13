/* SPDX-License-Identifier: MIT */
/* CUDA's own memory as dma-bufs. */
#include "culvert/memory.h"

#include "base/handle.h"
#include "cuda/retire.h"

static const char function[] = "culv_dma_buf_export_dup";

static culv_result check_call(const culv_device *device, CUdeviceptr pointer, uint64_t size,
                              uint64_t flags, const culv_handle *out)
{
    CULVI_REQUIRE_IN(NULL, function, device);
    const culvi_voice *voice = &device->voice;
    CULVI_REFUSE_IF(pointer == 0, voice, NULL, CULV_REASON_NULL_ARGUMENT, "%s: pointer is 0",
                    function);
    CULVI_REQUIRE_IN(voice, function, out);
    CULVI_TRY(culvi_handle_type_check(voice, NULL, "the type of what is exported",
                                      CULV_HANDLE_DMA_BUF_FD));
    CULVI_REFUSE_IF((flags & ~(uint64_t)CULV_DMA_BUF_PCIE) != 0, voice, NULL, CULV_REASON_VALUE,
                    "%s: flags is %#" PRIx64 "; it is 0 or CULV_DMA_BUF_PCIE (%d)", function, flags,
                    (int)CULV_DMA_BUF_PCIE);
    CULVI_REFUSE_IF(size == 0, voice, NULL, CULV_REASON_SIZE, "%s: size is 0", function);
    uint64_t page = culvi_page_size();
    CULVI_REFUSE_IF(pointer % page != 0 || size % page != 0, voice, NULL, CULV_REASON_VALUE,
                    "%s: %s is %#" PRIx64
                    ", which is not a multiple of the host's page size, %" PRIu64
                    "; export the pages that the range lies in",
                    function, pointer % page != 0 ? "pointer" : "size",
                    pointer % page != 0 ? (uint64_t)pointer : size, page);
    CULVI_REFUSE_IF(size > UINT64_MAX - pointer, voice, NULL, CULV_REASON_RANGE,
                    "%s: a range of %" PRIu64 " bytes at %#" PRIx64 " leaves the address space",
                    function, size, (uint64_t)pointer);
    return CULV_OK;
}

/* What the memory is, as far as CUDA tells. In the device's context. */
static culv_result check_memory(const culv_device *device, CUdeviceptr pointer)
{
    uint32_t type = 0, managed = 0;
    int ordinal = -1;
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                        CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void *values[] = {&type, &managed, &ordinal};
    CULVI_CU_TRY(device, NULL, cuPointerGetAttributes, (3, attributes, values, pointer),
                 CULV_REASON_DRIVER_REFUSED,
                 "the driver could not be asked what memory %#" PRIx64 " is", (uint64_t)pointer);
    CULVI_REFUSE_IF(type == 0, &device->voice, NULL, CULV_REASON_VALUE,
                    "%s: pointer is %#" PRIx64 ", which is not CUDA memory", function,
                    (uint64_t)pointer);
    CULVI_REFUSE_IF(
        managed, &device->voice, NULL, CULV_REASON_NOT_EXPORTABLE,
        "%s: pointer is %#" PRIx64
        ", managed memory, which moves and cannot be shared with a graphics API or another process; allocate with cuMemAlloc or cuMemCreate",
        function, (uint64_t)pointer);
    CULVI_REFUSE_IF(type == CU_MEMORYTYPE_DEVICE && ordinal != (int)device->ordinal, &device->voice,
                    NULL, CULV_REASON_DEVICE_MISMATCH,
                    "%s: pointer is %#" PRIx64 ", memory of CUDA device %d; this device is %d '%s'",
                    function, (uint64_t)pointer, ordinal, (int)device->ordinal, device->caps.name);
    /* Older drivers have no attribute for page-locked host memory, so the driver decides. */
    CULVI_UNSUPPORTED_IF(
        type == CU_MEMORYTYPE_DEVICE && !device->caps.dma_buf_export, &device->voice, NULL,
        CULV_REASON_HANDLE_TYPE,
        "'%s' cannot make dma-bufs (CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED is 0); export VMM memory as a POSIX file descriptor instead",
        device->caps.name);
    CULVI_UNSUPPORTED_IF(device->cuda->cuMemGetHandleForAddressRange == NULL, &device->voice, NULL,
                         CULV_REASON_DRIVER_TOO_OLD,
                         "the CUDA driver of '%s' lacks cuMemGetHandleForAddressRange",
                         device->caps.name);
    return CULV_OK;
}

/* Runs in the device's context. */
static culv_result make(const culv_device *device, CUdeviceptr pointer, uint64_t size,
                        uint64_t flags, int *fd)
{
    CULVI_TRY(check_memory(device, pointer));
    CUresult r = CULVI_CU(device, cuMemGetHandleForAddressRange,
                          (fd, pointer, (size_t)size, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, flags));
    if (r == CUDA_SUCCESS) return CULV_OK;
    if (r == CUDA_ERROR_NOT_SUPPORTED)
        return culvi_fail_native(
            &device->voice, NULL, CULV_ERROR_UNSUPPORTED, CULV_REASON_HANDLE_TYPE, CULV_NATIVE_CUDA,
            r, "cuMemGetHandleForAddressRange",
            "'%s' cannot make a dma-buf of such memory%s (CUDA_ERROR_NOT_SUPPORTED)",
            device->caps.name,
            flags != 0 ? " for access over PCI Express; try without CULV_DMA_BUF_PCIE" : "");
    if (!culvi_cuda_answers(r))
        CULVI_TRY(culvi_handle_check_left(&device->voice, NULL, "cuMemGetHandleForAddressRange",
                                          "range"));
    return culvi_fail_cuda(
        device, NULL, r, "cuMemGetHandleForAddressRange", CULV_REASON_NOT_EXPORTABLE,
        "%" PRIu64 " bytes at %#" PRIx64
        " could not be exported as a dma-buf; all of the range must be mapped, and its memory must have the same properties throughout; memory that was imported from a graphics API (a culv_buffer) has no dma-buf",
        size, (uint64_t)pointer);
}

culv_result culv_dma_buf_export_dup(culv_device *device, CUdeviceptr pointer, uint64_t size,
                                    uint64_t flags, culv_handle *out)
{
    int fd = -1;
    culv_result result;
    CULVI_TRY(check_call(device, pointer, size, flags, out));
    CULVI_INSIDE(result, device, NULL, make(device, pointer, size, flags, &fd));
    CULVI_TRY(result);
    culv_handle handle = culv_handle_dma_buf_fd(fd);
    culvi_handle_keep_private(&handle);
    *out = handle;
    return CULV_OK;
}
