/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: allocations as file descriptors, and on Windows as NT and KMT handles.
 *
 * The file is one that lavapipe takes for its own: a header (Mesa's llvmpipe_memory_fd_alloc), then
 * the memory. The header needs the uuid of Mesa's build, which is learned from Vulkan when the
 * first handle is exported. Between the header and the memory is a label for other processes with
 * the twin: whose memory it is, and its properties. */
#include "../shared/vmm_label.h"
#include "vmm.h"

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
    CUresult result = soft_vmm_begin(__func__);
    if (result != CUDA_SUCCESS) return result;
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
    CUresult result = soft_fabric_refusal();
    if (result != CUDA_SUCCESS) return result;
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
    CUresult result = soft_vmm_begin(__func__);
    if (result != CUDA_SUCCESS) return result;
    const bool fabric = (unsigned)shHandleType == SOFT_HANDLE_TYPE_FABRIC;
    int fd = -1;
    if (handle == NULL || (fabric && osHandle == NULL)) return soft_end(CUDA_ERROR_INVALID_VALUE);
    result = fabric ? import_fabric(osHandle, &fd, &memory)
                    : soft_share_import(osHandle, (unsigned)shHandleType, &fd, &memory);
    if (result != CUDA_SUCCESS) return soft_end(result);
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
