/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: GPUDirect RDMA, played. No card and no kernel driver is behind it. */
#include "soft.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define PCIE 1u /* CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE, from cuda.h 12.8 on */

/* All of it under the driver's lock. */
static culv_soft_rdma_counts counts;
static CUresult pcie_answer = CUDA_ERROR_NOT_SUPPORTED;

static bool supported(CUdevice device)
{
    return soft_attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED, device) != 0;
}

void soft_count_sync_memops(bool of_context)
{
    *(of_context ? &counts.context_sync_memops : &counts.sync_memops) += 1;
}

/* Text 000, "Tokens Usage": alike within a context, and random, for they let their bearer in. */
CUresult soft_p2p_tokens(struct soft_range *range, CUDA_POINTER_ATTRIBUTE_P2P_TOKENS *out)
{
    static unsigned long long secret;
    if (range == NULL || range->kind != SOFT_RANGE_DEVICE || range->managed ||
        !supported(range->device))
        return CUDA_ERROR_INVALID_VALUE;
    while (secret == 0)
        if (getrandom(&secret, sizeof secret, 0) < 0) return CUDA_ERROR_OPERATING_SYSTEM;
    memset(out, 0, sizeof *out);
    out->p2pToken = secret ^ range->context->id;
    out->vaSpaceToken = (unsigned)range->context->id;
    range->sync_memops = true;
    counts.tokens++;
    return CUDA_SUCCESS;
}

/* A dma-buf is the kernel's object, and the twin has none to offer: a file stands for it. */
typedef struct record {
    char magic[16];
    culv_soft_dma_buf range;
} record;
static const char magic[16] = "culvert dma-buf";

static CUresult make_file(const culv_soft_dma_buf *range, int *out)
{
    record r = {.range = *range};
    memcpy(r.magic, magic, sizeof r.magic);
    int fd = memfd_create("culvert dma-buf", 0);
    if (fd < 0) return CUDA_ERROR_OPERATING_SYSTEM;
    if (pwrite(fd, &r, sizeof r, 0) != (ssize_t)sizeof r) {
        close(fd);
        return CUDA_ERROR_OPERATING_SYSTEM;
    }
    *out = fd;
    return CUDA_SUCCESS;
}

/* The range that has all pages of [start, start + size). An allocation has its pages to itself. */
static const struct soft_range *holding_pages(uintptr_t start, size_t size)
{
    const uintptr_t page = soft_page_size();
    const struct soft_range *first = soft_range_first(start, size);
    if (first == NULL || first->kind == SOFT_RANGE_VIRTUAL) return soft_range_holding(start, size);
    const uintptr_t begin = first->start / page * page;
    const uintptr_t end = (first->start + first->size + page - 1) / page * page;
    return start >= begin && start <= end && size <= end - start ? first : NULL;
}

/* What is wrong with the arguments is told first. */
CUresult CUDAAPI cuMemGetHandleForAddressRange(void *handle, CUdeviceptr dptr, size_t size,
                                               CUmemRangeHandleType handleType,
                                               unsigned long long flags)
{
    struct soft_context *context;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    const uintptr_t start = (uintptr_t)dptr;
    int fd = -1;
    if (handle == NULL || handleType != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD ||
        (flags & ~(unsigned long long)PCIE) || size == 0 || dptr % soft_page_size() != 0 ||
        size % soft_page_size() != 0 || size > UINTPTR_MAX - start)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    const struct soft_range *range = holding_pages(start, size);
    /* An import is refused so on NVIDIA's driver (measured). */
    if (range == NULL || range->kind == SOFT_RANGE_MAPPED || range->managed)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (!soft_attribute(CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, context->device) ||
        (range->kind != SOFT_RANGE_DEVICE && range->kind != SOFT_RANGE_VIRTUAL))
        return soft_end(CUDA_ERROR_NOT_SUPPORTED);
    if (flags != 0 && pcie_answer != CUDA_SUCCESS) return soft_end(pcie_answer);
    result = make_file(
        &(culv_soft_dma_buf){
            .address = start, .size = size, .flags = flags, .buffer_id = range->buffer_id},
        &fd);
    if (result != CUDA_SUCCESS) return soft_end(result);
    memcpy(handle, &fd, sizeof fd);
    counts.dma_bufs++;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget target,
                                            CUflushGPUDirectRDMAWritesScope scope)
{
    struct soft_context *context;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    if (target != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX ||
        (scope != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER &&
         scope != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (!supported(context->device)) return soft_end(CUDA_ERROR_NOT_SUPPORTED);
    counts.flushes++;
    return soft_end(CUDA_SUCCESS);
}

/* Controls ------------------------------------------------------------------------------------- */

int culvSoftDmaBufRange(int fd, culv_soft_dma_buf *out)
{
    record r;
    if (pread(fd, &r, sizeof r, 0) != (ssize_t)sizeof r ||
        memcmp(r.magic, magic, sizeof magic) != 0)
        return EINVAL;
    *out = r.range;
    return 0;
}

void culvSoftPlayDmaBufPcie(int answer)
{
    pthread_mutex_lock(&soft.lock);
    pcie_answer = (CUresult)answer;
    pthread_mutex_unlock(&soft.lock);
}

int culvSoftPlayManaged(uint64_t address)
{
    pthread_mutex_lock(&soft.lock);
    struct soft_range *range = soft_range_find((uintptr_t)address);
    if (range != NULL) range->managed = true;
    pthread_mutex_unlock(&soft.lock);
    return range != NULL ? 0 : EINVAL;
}

void culvSoftRdmaCounts(culv_soft_rdma_counts *out)
{
    pthread_mutex_lock(&soft.lock);
    *out = counts;
    pthread_mutex_unlock(&soft.lock);
}
