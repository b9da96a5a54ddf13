/* SPDX-License-Identifier: MIT */
/* What memory is at an address, and what it can be shared as. */
#include "core/memory.h"
#include "vmm/allocation.h"

#include <stdio.h>

typedef struct answers {
    uint32_t memory_type;
    uint32_t managed;
    int ordinal;
    uint64_t buffer_id;
    CUdeviceptr range_start;
    size_t range_size;
    CUmemoryPool pool;
    uint64_t allowed;
    uint32_t ipc;
    CUdeviceptr mapping_start;
    size_t mapping_size;
    uint64_t block_id;
    uint32_t rdma;
} answers;

static CUresult ask(const culv_device *device, CUdeviceptr pointer, answers *a)
{
    /* Booleans are asked as such: cuda.h says `boolean` of some and `int` of others, which are
     * written over zeros. */
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                        CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                        CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                        CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                        CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,
                                        CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES,
                                        CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
                                        CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR,
                                        CU_POINTER_ATTRIBUTE_MAPPING_SIZE,
                                        CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID,
                                        CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE};
    void *values[] = {&a->memory_type,  &a->managed,  &a->ordinal, &a->buffer_id, &a->range_start,
                      &a->range_size,   &a->pool,     &a->allowed, &a->ipc,       &a->mapping_start,
                      &a->mapping_size, &a->block_id, &a->rdma};
    memset(a, 0, sizeof *a);
    a->ordinal = -1;
    return CULVI_CU(device, cuPointerGetAttributes,
                    ((unsigned)(sizeof values / sizeof values[0]), attributes, values, pointer));
}

/* cuMemCreate's memory alone has a handle to retain (measured: a pool's has none). */
static culv_result is_vmm(culv_device *device, CUdeviceptr pointer, bool *out)
{
    CUmemGenericAllocationHandle handle = 0;
    CUresult r =
        CULVI_CU(device, cuMemRetainAllocationHandle, (&handle, (void *)(uintptr_t)pointer));
    *out = r == CUDA_SUCCESS;
    if (r == CUDA_SUCCESS) culvi_vmm_release_handle(device, handle);
    if (r == CUDA_SUCCESS || r == CUDA_ERROR_INVALID_VALUE || r == CUDA_ERROR_NOT_SUPPORTED)
        return CULV_OK;
    return culvi_fail_cuda(device, NULL, r, "cuMemRetainAllocationHandle",
                           CULV_REASON_DRIVER_REFUSED,
                           "the driver could not be asked whether %#llx is memory of cuMemCreate",
                           (unsigned long long)pointer);
}

static culv_result find_kind(culv_device *device, CUdeviceptr pointer, answers *a,
                             culv_pointer_kind *out)
{
    bool vmm = false;
    const CUresult r = ask(device, pointer, a);
    /* Measured: of reserved addresses where nothing is mapped nothing is told. */
    if (r == CUDA_ERROR_INVALID_VALUE)
        memset(a, 0, sizeof *a);
    else
        CULVI_CU_CHECK(device, NULL, r, "cuPointerGetAttributes", CULV_REASON_DRIVER_REFUSED,
                       "the driver could not be asked what memory %#llx is",
                       (unsigned long long)pointer);
    /* No attribute tells an import from cuMemAlloc's memory: Culvert knows its own mappings. */
    *out = a->memory_type == 0 ? CULV_POINTER_NONE
           : a->managed        ? CULV_POINTER_MANAGED
           : a->pool != NULL   ? CULV_POINTER_POOL
           : a->memory_type == CU_MEMORYTYPE_DEVICE && culvi_memory_is_import(device, pointer)
               ? CULV_POINTER_EXTERNAL
           : a->memory_type == CU_MEMORYTYPE_HOST ? CULV_POINTER_HOST
                                                  : CULV_POINTER_DEVICE;
    if (*out != CULV_POINTER_HOST && *out != CULV_POINTER_DEVICE) return CULV_OK;
    /* Also VMM memory on the host is of type HOST. */
    culv_result result = is_vmm(device, pointer, &vmm);
    if (vmm) *out = CULV_POINTER_VMM;
    return result;
}

static uint32_t handle_types(const culv_device *device, const culv_pointer_info *info,
                             uint64_t allowed)
{
    uint32_t types = 0;
    const bool dma_buf =
        device->caps.dma_buf_export && device->cuda->cuMemGetHandleForAddressRange != NULL;
    if (info->kind == CULV_POINTER_VMM || info->kind == CULV_POINTER_POOL)
        types = culvi_vmm_from_cuda_handle_types(allowed);
    if (dma_buf && (info->kind == CULV_POINTER_VMM || info->kind == CULV_POINTER_DEVICE))
        types |= UINT32_C(1) << CULV_HANDLE_DMA_BUF_FD;
    return types & (uint32_t)CULVI_HANDLE_TYPES;
}

static const char *why(const culv_pointer_info *info)
{
    const bool handles = (info->handle_types & ~(UINT32_C(1) << CULV_HANDLE_DMA_BUF_FD)) != 0;
    switch (info->kind) {
    case CULV_POINTER_NONE:
        return "CUDA has no memory at this address: it is the host's own, or reserved and not mapped.";
    case CULV_POINTER_DEVICE:
        return "Memory of cuMemAlloc cannot be shared with a graphics API. Other CUDA processes get it only with cuIpcGetMemHandle; third-party devices take its dma-buf where there is one. For graphics allocate with culv_vmm_allocation_create() and handle_types, or with the graphics API.";
    case CULV_POINTER_VMM:
        return handles
                   ? "culv_vmm_adopt() finds the allocation, and culv_vmm_export_dup() exports all of it, for Vulkan on the same GPU and for other processes."
                   : "This allocation was made without handle types, or was imported (CUDA does not say which). If it was imported, its exporter can share the handle that it has; otherwise allocate it again with culv_vmm_allocation_desc.handle_types.";
    case CULV_POINTER_POOL:
        return handles
                   ? "Another CUDA process gets it with cuMemPoolExportToShareableHandle and then cuMemPoolExportPointer (culv_pool of culvert-extra). Vulkan refuses pools' handles: for graphics copy it into a culv_vmm_allocation or into memory of the graphics API."
                   : "CUDA does not report its handle types. Another CUDA process gets it with cuMemPoolExportToShareableHandle and then cuMemPoolExportPointer if its pool was made with handle types here; the default pool was not. Vulkan refuses pools' handles in any case: for graphics copy it into a culv_vmm_allocation or into memory of the graphics API.";
    case CULV_POINTER_MANAGED:
        return "Managed memory moves between the host and the GPUs, and cannot be shared with a graphics API or another process; allocate with culv_vmm_allocation_create().";
    case CULV_POINTER_HOST:
        return "No CUDA call exports page-locked host memory. Vulkan and CUDA share buffers in host memory with culvert/vulkan_memory.h; for other processes use the system's shared memory.";
    case CULV_POINTER_EXTERNAL:
        return "It was imported from a graphics API (or another owner): export it where it was allocated. It has no dma-buf (measured).";
    default: return "";
    }
}

static void describe(const culv_device *device, const answers *a, culv_pointer_info *info)
{
    info->handle_types = handle_types(device, info, a->allowed);
    info->graphics = info->kind == CULV_POINTER_VMM &&
                     (info->handle_types & ~(UINT32_C(1) << CULV_HANDLE_DMA_BUF_FD)) != 0;
    info->device = info->kind != CULV_POINTER_NONE && a->ordinal >= 0 ? a->ordinal : -1;
    if (info->kind != CULV_POINTER_NONE) {
        const bool vmm = info->kind == CULV_POINTER_VMM;
        info->range_start = a->range_start;
        info->range_size = a->range_size;
        info->mapping_start = vmm ? a->mapping_start : a->range_start;
        info->mapping_size = vmm ? a->mapping_size : a->range_size;
        info->memory_id = a->block_id;
        info->buffer_id = a->buffer_id;
        info->pool = a->pool;
        info->ipc = a->ipc != 0;
        info->rdma = a->rdma != 0;
    }
    snprintf(info->reason_text, sizeof info->reason_text, "%s", why(info));
}

culv_result culv_pointer_get_info(culv_device *device, CUdeviceptr pointer, culv_pointer_info *out)
{
    answers a;
    CULVI_REQUIRE_WITH(device, &device->voice, out);
    CULVI_TRY(culvi_struct_check(&device->voice, out, "culv_pointer_info"));
    culv_pointer_info info = culv_pointer_info_init();
    culv_result result;
    CULVI_INSIDE(result, device, NULL, find_kind(device, pointer, &a, &info.kind));
    CULVI_TRY(result);
    describe(device, &a, &info);
    culvi_struct_write(out, &info, sizeof info);
    return CULV_OK;
}
