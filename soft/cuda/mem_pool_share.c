/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: memory pools and their pointers in other processes. The file begins with
 * a label, and is none that Vulkan takes (as measured of NVIDIA's). */
#include "mem_pool.h"

#include <limits.h>
#include <string.h>

#define LABEL_MAGIC "culvPOL1"
struct label {
    char magic[8];
    uint64_t id, size;
    uint8_t device_uuid[16];
    CUmemPoolProps props;
};

struct pointer_data { /* in CUmemPoolPtrExportData */
    char magic[8];
    uint64_t id, offset, size;
};

bool soft_pool_label(const struct soft_pool *pool)
{
    struct label label = {.id = pool->id, .size = pool->file_size, .props = pool->props};
    memcpy(label.magic, LABEL_MAGIC, sizeof(label.magic));
    memcpy(label.device_uuid, soft.devices[pool->device].uuid, sizeof(label.device_uuid));
    return soft_write_at(pool->fd, &label, sizeof(label), 0);
}

static bool read_label(int fd, struct label *label)
{
    uint64_t size;
    return soft_file_size(fd, &size) && soft_read_at(fd, label, sizeof(*label), 0) &&
           memcmp(label->magic, LABEL_MAGIC, sizeof(label->magic)) == 0 && label->size == size;
}

CUresult CUDAAPI cuMemPoolExportToShareableHandle(void *handle_out, CUmemoryPool pool,
                                                  CUmemAllocationHandleType handleType,
                                                  unsigned long long flags)
{
    CUresult result = soft_begin(__func__, SOFT_NEED_INIT, NULL);
    if (result != CUDA_SUCCESS) return result;
    struct soft_pool *found = soft_pool_find(pool);
    const unsigned type = (unsigned)handleType;
    const bool fabric = type == SOFT_HANDLE_TYPE_FABRIC;
    if (handle_out == NULL || found == NULL || found->fd < 0 || found->imported || flags != 0 ||
        !((unsigned)found->props.handleTypes & type) ||
        (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR && !fabric))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (fabric) {
        result = soft_fabric_refusal();
        if (result == CUDA_SUCCESS && !soft_fabric_write(found->fd, handle_out))
            result = CUDA_ERROR_OUT_OF_MEMORY;
        found->exported |= result == CUDA_SUCCESS;
        return soft_end(result);
    }
    const int fd = soft_reopen(found->fd);
    if (fd < 0) {
        found->export_failed = true;
        return soft_end(CUDA_ERROR_OPERATING_SYSTEM); /* measured */
    }
    memcpy(handle_out, &fd, sizeof(fd));
    found->exported = true;
    return soft_end(CUDA_SUCCESS);
}

/* The file behind a handle, another fd of it; what is no pool's is refused. */
static CUresult open_pool(void *handle, bool fabric, int *fd, struct label *label)
{
    const uintptr_t number = (uintptr_t)handle;
    if (fabric) {
        CUresult result = soft_fabric_refusal();
        if (result != CUDA_SUCCESS) return result;
        *fd = soft_fabric_open(handle);
        if (*fd >= 0 && read_label(*fd, label)) return CUDA_SUCCESS;
        if (*fd >= 0) soft_close(*fd);
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (number > INT_MAX || !read_label((int)number, label)) return CUDA_ERROR_INVALID_VALUE;
    *fd = soft_duplicate((int)number); /* the fd stays the caller's */
    return *fd < 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemPoolImportFromShareableHandle(CUmemoryPool *pool_out, void *handle,
                                                    CUmemAllocationHandleType handleType,
                                                    unsigned long long flags)
{
    struct label label;
    CUresult result = soft_begin(__func__, SOFT_NEED_INIT, NULL);
    if (result != CUDA_SUCCESS) return result;
    const bool fabric = (unsigned)handleType == SOFT_HANDLE_TYPE_FABRIC;
    int fd = -1, device = 0;
    if (pool_out == NULL || flags != 0 || (fabric && handle == NULL) ||
        (handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR && !fabric))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    result = open_pool(handle, fabric, &fd, &label);
    if (result != CUDA_SUCCESS) return soft_end(result);
    while (device < soft.device_count &&
           memcmp(label.device_uuid, soft.devices[device].uuid, sizeof(label.device_uuid)) != 0)
        device++;
    label.props.location.id = device;
    struct soft_pool *pool = device == soft.device_count ? NULL : soft_pool_new(&label.props);
    if (pool == NULL) {
        soft_close(fd);
        return soft_end(device == soft.device_count ? CUDA_ERROR_NOT_SUPPORTED
                                                    : CUDA_ERROR_OUT_OF_MEMORY);
    }
    soft_pool_own_file(pool, fd, label.size);
    pool->id = label.id;
    pool->imported = true;
    *pool_out = (CUmemoryPool)(void *)pool;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemPoolExportPointer(CUmemPoolPtrExportData *shareData_out, CUdeviceptr ptr)
{
    CUresult result = soft_begin(__func__, SOFT_NEED_INIT, NULL);
    if (result != CUDA_SUCCESS) return result;
    const struct soft_range *range = soft_range_find((uintptr_t)ptr);
    if (shareData_out == NULL || range == NULL || range->kind != SOFT_RANGE_POOLED ||
        range->start != ptr ||
        !range->pooled->pool->exported) /* cuda.h: "an already shared memory pool" */
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct pointer_data data = {
        .id = range->pooled->pool->id, .offset = range->pooled->offset, .size = range->size};
    memcpy(data.magic, LABEL_MAGIC, sizeof(data.magic));
    memset(shareData_out, 0, sizeof(*shareData_out));
    memcpy(shareData_out, &data, sizeof(data));
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemPoolImportPointer(CUdeviceptr *ptr_out, CUmemoryPool pool,
                                        CUmemPoolPtrExportData *shareData)
{
    struct pointer_data data;
    struct soft_range *range;
    CUresult result = soft_begin(__func__, SOFT_NEED_INIT, NULL);
    if (result != CUDA_SUCCESS) return result;
    struct soft_pool *found = soft_pool_find(pool);
    if (ptr_out == NULL || shareData == NULL || found == NULL || !found->imported)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    memcpy(&data, shareData, sizeof(data));
    if (memcmp(data.magic, LABEL_MAGIC, sizeof(data.magic)) != 0 || data.id != found->id ||
        data.size == 0 || data.offset % soft_page_size() != 0 || data.size > found->file_size ||
        data.offset > found->file_size - data.size)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    result = soft_pooled_new(found, (size_t)data.size, &data.offset, true, &range);
    if (result == CUDA_SUCCESS) *ptr_out = range->start;
    return soft_end(result);
}
