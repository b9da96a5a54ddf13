/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: allocations as file descriptors, and on Windows as NT and KMT handles.
 *
 * The file is one that lavapipe takes for its own: a header (Mesa's llvmpipe_memory_fd_alloc), then
 * the memory. The header needs the uuid of Mesa's build, which is learned from Vulkan when the
 * first handle is exported. Between the header and the memory is a label for other processes with
 * the twin: whose memory it is, and its properties. */
#include "../shared/labels.h"
#include "vmm.h"

#include <limits.h>
#include <string.h>

struct mesa_header {
    uint64_t size; /* of the whole file */
    uint64_t offset;
    uint8_t uuid[16];
};

#define LABEL_AT    CULV_SOFT_VMM_LABEL_AT
#define LABEL_MAGIC CULV_SOFT_VMM_LABEL_MAGIC
struct label {
    culv_soft_vmm_label memory;
    uint8_t device_uuid[16]; /* zeros: the host's */
    CUmemAllocationProp prop;
};

static const uint8_t *mesa_uuid(void)
{
    /* Debian's Mesa 22 and 25; for a machine where Vulkan does not answer. */
    static uint8_t uuid[16] = {0x6c, 0xb9, 0xee, 0x07, 0x4a, 0x0b, 0xad, 0x7b,
                               0x01, 0x2e, 0x1b, 0xe9, 0x69, 0x7f, 0x53, 0x0f};
    static bool asked;
    struct mesa_header header;
    if (!asked && soft_vulkan_memory_header((uint8_t *)&header))
        memcpy(uuid, header.uuid, sizeof(uuid));
    asked = true;
    return uuid;
}

/* Where memory without a header has its label: in the last page. 0: the file has none. */
static uint64_t label_behind(int fd)
{
    uint64_t size;
    if (!soft_file_size(fd, &size) || size < soft_share_alignment()) return 0;
    return size - soft_share_alignment() + LABEL_AT;
}

static bool has_label(int fd, uint64_t at, struct label *label)
{
    return soft_read_at(fd, label, sizeof(*label), at) &&
           memcmp(label->memory.magic, LABEL_MAGIC, sizeof(label->memory.magic)) == 0;
}

/* Says in the file what it is. */
static bool write_label(struct soft_physical *physical)
{
    if (physical->labelled) return true;
    const CUmemLocation *location = &physical->prop.location;
    const struct soft_device *device = soft_on_host(location) ? NULL : &soft.devices[location->id];
    struct label label = {.memory = {.payload = physical->payload, .size = physical->size},
                          .prop = physical->prop};
    memcpy(label.memory.magic, LABEL_MAGIC, sizeof(label.memory.magic));
    if (device != NULL) memcpy(label.device_uuid, device->uuid, sizeof(label.device_uuid));
    if (soft_partner_at(location) == SOFT_SWIFTSHADER) {
        physical->labelled =
            soft_write_at(physical->fd, &label, sizeof(label), label_behind(physical->fd));
        return physical->labelled;
    }
    struct mesa_header header = {.offset = physical->payload};
    /* See make_pages(). */
    if (device != NULL && device->invented) header.offset += physical->size + physical->payload;
    memcpy(header.uuid, mesa_uuid(), sizeof(header.uuid));
    if (!soft_file_size(physical->fd, &header.size)) return false;
    physical->labelled = soft_write_at(physical->fd, &header.offset, sizeof(header.offset),
                                       header.offset - sizeof(header.offset)) &&
                         soft_write_at(physical->fd, &header, sizeof(header), 0) &&
                         soft_write_at(physical->fd, &label, sizeof(label), LABEL_AT);
    return physical->labelled;
}

bool soft_shared_memory_read(int fd, struct soft_shared_memory *out)
{
    struct label label;
    uint64_t file_size;
    if (!soft_file_size(fd, &file_size) ||
        (!has_label(fd, label_behind(fd), &label) && !has_label(fd, LABEL_AT, &label)) ||
        label.memory.payload > file_size || label.memory.size > file_size - label.memory.payload)
        return false;
    static const uint8_t host[16];
    *out = (struct soft_shared_memory){.device = SOFT_NOT_HERE,
                                       .payload = label.memory.payload,
                                       .size = label.memory.size,
                                       .prop = label.prop};
    if (memcmp(label.device_uuid, host, sizeof(host)) == 0) out->device = CU_DEVICE_CPU;
    for (int i = 0; i < soft.device_count; i++)
        if (memcmp(label.device_uuid, soft.devices[i].uuid, sizeof(label.device_uuid)) == 0)
            out->device = i;
    if (out->device >= 0) out->prop.location.id = out->device;
    return true;
}

CUresult CUDAAPI cuMemExportToShareableHandle(void *shareableHandle,
                                              CUmemGenericAllocationHandle handle,
                                              CUmemAllocationHandleType handleType,
                                              unsigned long long flags)
{
    SOFT_TRY(soft_vmm_begin(__func__));
    struct soft_physical *physical = soft_physical_find(handle);
    const unsigned type = (unsigned)handleType;
    if (shareableHandle == NULL || physical == NULL || flags != 0 ||
        type == CU_MEM_HANDLE_TYPE_NONE || (type & (type - 1)) != 0 ||
        !((unsigned)physical->prop.requestedHandleTypes & type))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (physical->fd < 0) return soft_end(CUDA_ERROR_NOT_SUPPORTED); /* a multicast object */
    if (!write_label(physical)) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    if (type == SOFT_HANDLE_TYPE_FABRIC)
        return soft_end(soft_fabric_write(physical->fd, shareableHandle)
                            ? CUDA_SUCCESS
                            : CUDA_ERROR_OUT_OF_MEMORY);
    return soft_end(soft_share_export(physical, type, shareableHandle));
}

static CUresult import_fabric(const void *handle, int *fd, struct soft_shared_memory *memory)
{
    SOFT_TRY(soft_fabric_refusal());
    *fd = soft_fabric_open(handle);
    if (*fd < 0) return CUDA_ERROR_UNKNOWN; /* an H200's, of a wrong file descriptor */
    if (!soft_shared_memory_read(*fd, memory))
        result = CUDA_ERROR_UNKNOWN;
    else if (memory->device == SOFT_NOT_HERE)
        result = CUDA_ERROR_NOT_SUPPORTED;
    if (result != CUDA_SUCCESS) soft_close(*fd);
    return result;
}

CUresult CUDAAPI cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle,
                                                void *osHandle,
                                                CUmemAllocationHandleType shHandleType)
{
    struct soft_shared_memory memory;
    SOFT_TRY(soft_vmm_begin(__func__));
    const bool fabric = (unsigned)shHandleType == SOFT_HANDLE_TYPE_FABRIC;
    int fd = -1;
    if (handle == NULL || (fabric && osHandle == NULL)) return soft_end(CUDA_ERROR_INVALID_VALUE);
    SOFT_STEP(fabric ? import_fabric(osHandle, &fd, &memory)
                     : soft_share_import(osHandle, (unsigned)shHandleType, &fd, &memory));
    memory.prop.requestedHandleTypes =
        CU_MEM_HANDLE_TYPE_NONE; /* an import is not exported (measured) */
    struct soft_physical *physical = soft_physical_new(&memory.prop, (size_t)memory.size);
    if (physical == NULL) {
        soft_close(fd);
        return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    }
    physical->fd = fd;
    physical->payload = memory.payload;
    physical->imported = true;
    physical->labelled = true;
    *handle = soft_physical_handle(physical);
    return soft_end(CUDA_SUCCESS);
}

/* Memory pools and their pointers in other processes. The file begins with
 * a label, and is none that Vulkan takes (as measured of NVIDIA's). */

#define POOL_MAGIC "culvPOL1"
struct pool_label {
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
    struct pool_label pool_label = {.id = pool->id, .size = pool->file_size, .props = pool->props};
    memcpy(pool_label.magic, POOL_MAGIC, sizeof(pool_label.magic));
    memcpy(pool_label.device_uuid, soft.devices[pool->device].uuid, sizeof(pool_label.device_uuid));
    return soft_write_at(pool->fd, &pool_label, sizeof(pool_label), 0);
}

static bool read_label(int fd, struct pool_label *pool_label)
{
    uint64_t size;
    return soft_file_size(fd, &size) && soft_read_at(fd, pool_label, sizeof(*pool_label), 0) &&
           memcmp(pool_label->magic, POOL_MAGIC, sizeof(pool_label->magic)) == 0 &&
           pool_label->size == size;
}

CUresult CUDAAPI cuMemPoolExportToShareableHandle(void *handle_out, CUmemoryPool pool,
                                                  CUmemAllocationHandleType handleType,
                                                  unsigned long long flags)
{
    SOFT_BEGIN(SOFT_NEED_INIT);
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
static CUresult open_pool(void *handle, bool fabric, int *fd, struct pool_label *pool_label)
{
    const uintptr_t number = (uintptr_t)handle;
    if (fabric) {
        CUresult result = soft_fabric_refusal();
        if (result != CUDA_SUCCESS) return result;
        *fd = soft_fabric_open(handle);
        if (*fd >= 0 && read_label(*fd, pool_label)) return CUDA_SUCCESS;
        if (*fd >= 0) soft_close(*fd);
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (number > INT_MAX || !read_label((int)number, pool_label)) return CUDA_ERROR_INVALID_VALUE;
    *fd = soft_duplicate((int)number); /* the fd stays the caller's */
    return *fd < 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemPoolImportFromShareableHandle(CUmemoryPool *pool_out, void *handle,
                                                    CUmemAllocationHandleType handleType,
                                                    unsigned long long flags)
{
    struct pool_label pool_label;
    SOFT_BEGIN(SOFT_NEED_INIT);
    const bool fabric = (unsigned)handleType == SOFT_HANDLE_TYPE_FABRIC;
    int fd = -1, device = 0;
    if (pool_out == NULL || flags != 0 || (fabric && handle == NULL) ||
        (handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR && !fabric))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    SOFT_STEP(open_pool(handle, fabric, &fd, &pool_label));
    while (device < soft.device_count && memcmp(pool_label.device_uuid, soft.devices[device].uuid,
                                                sizeof(pool_label.device_uuid)) != 0)
        device++;
    pool_label.props.location.id = device;
    struct soft_pool *pool = device == soft.device_count ? NULL : soft_pool_new(&pool_label.props);
    if (pool == NULL) {
        soft_close(fd);
        return soft_end(device == soft.device_count ? CUDA_ERROR_NOT_SUPPORTED
                                                    : CUDA_ERROR_OUT_OF_MEMORY);
    }
    soft_pool_own_file(pool, fd, pool_label.size);
    pool->id = pool_label.id;
    pool->imported = true;
    *pool_out = (CUmemoryPool)(void *)pool;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemPoolExportPointer(CUmemPoolPtrExportData *shareData_out, CUdeviceptr ptr)
{
    SOFT_BEGIN(SOFT_NEED_INIT);
    const struct soft_range *range = soft_range_find((uintptr_t)ptr);
    if (shareData_out == NULL || range == NULL || range->kind != SOFT_RANGE_POOLED ||
        range->start != ptr ||
        !range->pooled->pool->exported) /* cuda.h: "an already shared memory pool" */
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct pointer_data data = {
        .id = range->pooled->pool->id, .offset = range->pooled->offset, .size = range->size};
    memcpy(data.magic, POOL_MAGIC, sizeof(data.magic));
    memset(shareData_out, 0, sizeof(*shareData_out));
    memcpy(shareData_out, &data, sizeof(data));
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemPoolImportPointer(CUdeviceptr *ptr_out, CUmemoryPool pool,
                                        CUmemPoolPtrExportData *shareData)
{
    struct pointer_data data;
    struct soft_range *range;
    SOFT_BEGIN(SOFT_NEED_INIT);
    struct soft_pool *found = soft_pool_find(pool);
    if (ptr_out == NULL || shareData == NULL || found == NULL || !found->imported)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    memcpy(&data, shareData, sizeof(data));
    if (memcmp(data.magic, POOL_MAGIC, sizeof(data.magic)) != 0 || data.id != found->id ||
        data.size == 0 || data.offset % soft_page_size() != 0 || data.size > found->file_size ||
        data.offset > found->file_size - data.size)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    result = soft_pooled_new(found, (size_t)data.size, &data.offset, true, &range);
    if (result == CUDA_SUCCESS) *ptr_out = range->start;
    return soft_end(result);
}
