/* SPDX-License-Identifier: MIT */
/* A libcuda.so.1 that has dma-bufs, both ways, as no machine at hand does: the software twin behind
 * it does the work. What it exports is a memfd, which proves handles and calls, not data; what it
 * imports as a dma-buf the twin takes as an opaque fd. */
#include "dma_buf_driver.h"

#include "twin_driver.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

EXPORTED extern dma_buf_driver culvDmaBufDriver;
dma_buf_driver culvDmaBufDriver;

static CUresult CUDAAPI attribute(int *out, CUdevice_attribute which, CUdevice device)
{
    TWIN(PFN_cuDeviceGetAttribute_v2000, "cuDeviceGetAttribute", 2000);
    CUresult r = real(out, which, device);
    if (r == CUDA_SUCCESS && which == CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED) *out = 1;
    return r;
}

static CUresult CUDAAPI pointer_attributes(unsigned count, CUpointer_attribute *attributes,
                                           void **values, CUdeviceptr pointer)
{
    TWIN(PFN_cuPointerGetAttributes_v7000, "cuPointerGetAttributes", 7000);
    CUresult r = real(count, attributes, values, pointer);
    for (unsigned i = 0; r == CUDA_SUCCESS && i < count; i++) {
        if (attributes[i] == CU_POINTER_ATTRIBUTE_IS_MANAGED)
            memcpy(values[i], &culvDmaBufDriver.managed, sizeof(int));
        if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL && culvDmaBufDriver.ordinal != 0)
            memcpy(values[i], &culvDmaBufDriver.ordinal, sizeof(int));
    }
    return r;
}

static CUresult CUDAAPI range_handle(void *handle, CUdeviceptr pointer, size_t size,
                                     CUmemRangeHandleType type, unsigned long long flags)
{
    culvDmaBufDriver.calls++;
    culvDmaBufDriver.pointer = pointer;
    culvDmaBufDriver.size = size;
    culvDmaBufDriver.flags = flags;
    if (culvDmaBufDriver.answer != 0) return (CUresult)culvDmaBufDriver.answer;
    if (type != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD) return CUDA_ERROR_INVALID_VALUE;
    int fd = memfd_create("range", 0);
    memcpy(handle, &fd, sizeof fd);
    return fd >= 0 ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}

/* cuStreamGetGreenCtx() */
static CUresult CUDAAPI get_green(CUstream stream, void **out)
{
    *out = culvDmaBufDriver.green ? (void *)stream : NULL;
    return CUDA_SUCCESS;
}

static void play_bystander(int given)
{
    char path[40];
    int fd = -1;
    snprintf(path, sizeof path, "/proc/self/fd/%d", culvDmaBufDriver.file);
    culvDmaBufDriver.given = given;
    if (culvDmaBufDriver.bystander == REOPENS_THERE) {
        fd = open(path, O_RDWR | O_CLOEXEC);
        culvDmaBufDriver.opened = dup3(fd, given, O_CLOEXEC);
        close(fd);
    } else if (culvDmaBufDriver.bystander == DUPLICATES_THERE) {
        culvDmaBufDriver.opened = dup2(culvDmaBufDriver.file, given);
    } else {
        culvDmaBufDriver.opened = fcntl(culvDmaBufDriver.file, F_DUPFD_CLOEXEC, 0);
    }
}

static CUresult CUDAAPI import(CUexternalMemory *out, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *desc)
{
    TWIN(PFN_cuImportExternalMemory_v10000, "cuImportExternalMemory", 10000);
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC d = *desc;
    if ((int)desc->type == CU_EXTERNAL_MEMORY_HANDLE_TYPE_NVSCIBUF + 1) {
        if (desc->flags != 0) return CUDA_ERROR_INVALID_VALUE; /* as cuda.h demands */
        culvDmaBufDriver.imports++;
        d.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    }
    CUresult r = real(out, &d);
    if (r != CUDA_SUCCESS && culvDmaBufDriver.bystander != NO_BYSTANDER)
        play_bystander(desc->handle.fd);
    return r;
}

EXPORTED CUresult CUDAAPI cuGetProcAddress_v2(const char *name, void **out, int version,
                                              cuuint64_t flags,
                                              CUdriverProcAddressQueryResult *status)
{
    PFN_cuDeviceGetAttribute_v2000 my_attribute = attribute;
    PFN_cuPointerGetAttributes_v7000 my_pointer_attributes = pointer_attributes;
    PFN_cuMemGetHandleForAddressRange_v11070 my_range_handle = range_handle;
    PFN_cuImportExternalMemory_v10000 my_import = import;
    CUresult(CUDAAPI * my_get_green)(CUstream stream, void **out) = get_green;
    const own_function own[] = {{"cuDeviceGetAttribute", &my_attribute},
                                {"cuPointerGetAttributes", &my_pointer_attributes},
                                {"cuMemGetHandleForAddressRange", &my_range_handle},
                                {"cuImportExternalMemory", &my_import},
                                {"cuStreamGetGreenCtx", &my_get_green}};
    return find_function(own, sizeof own / sizeof own[0], name, out, version, flags, status);
}
