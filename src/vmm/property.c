/* SPDX-License-Identifier: MIT */
/* What may be asked of physical memory: properties, and the granularity that goes with them. */
#include "vmm/allocation.h"

#include "base/handle.h"
#include "vmm/share.h"

enum {
    ALL_USAGES = CULV_VMM_USAGE_COMPRESSIBLE | CULV_VMM_USAGE_RDMA | CULV_VMM_USAGE_TILE_POOL |
                 CULV_VMM_USAGE_HW_DECOMPRESS
};

culv_result culvi_vmm_check_device(const culv_device *device, const char *call)
{
    culv_result result =
        culvi_cig_refuse(device, NULL, call,
                         "let the graphics API make the memory and import it, or use cuMemAlloc");
    if (result != CULV_OK || device->caps.vmm) return result;
    return culvi_fail(
        &device->voice, NULL, CULV_ERROR_UNSUPPORTED, CULV_REASON_VMM,
        "%s: '%s' has no virtual memory management (CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED is 0)",
        call, device->caps.name);
}

/* Culvert's bits of handle types as CUDA's. */
static unsigned to_cuda_handle_types(uint32_t handle_types)
{
    unsigned types = 0;
    for (int type = 0; type < CULVI_HANDLE_END; type++)
        if (handle_types & UINT32_C(1) << type)
            types |= culvi_handle_number((culv_handle_type)type, CULVI_USE_VMM);
    return types;
}

uint32_t culvi_vmm_from_cuda_handle_types(uint64_t types)
{
    uint32_t handle_types = 0;
    for (int type = 0; type < CULVI_HANDLE_END; type++)
        if (types & culvi_handle_number((culv_handle_type)type, CULVI_USE_VMM))
            handle_types |= UINT32_C(1) << type;
    return handle_types & (uint32_t)CULVI_HANDLE_TYPES;
}

void *culvi_vmm_shareable(const culv_handle *handle)
{
    switch (culvi_handle_row_of(handle->type)->kind) {
    case CULVI_KIND_FD: return (void *)(intptr_t)handle->value.fd;
    case CULVI_KIND_BYTES: return (void *)(uintptr_t)handle->value.fabric; /* only read */
    default: return handle->value.win32;
    }
}

/* What is asked for ---------------------------------------------------------------------------- */

static culv_result check_handle_types(const culv_device *device, const culv_vmm_allocation_desc *d)
{
    const culvi_voice *voice = &device->voice;
    CULVI_TRY(culvi_handle_types_check(
        voice, d->label, "the number of a bit in culv_vmm_allocation_desc.handle_types",
        d->handle_types, CULVI_USE_VMM));
    CULVI_REFUSE_IF(
        d->handle_types != 0 && d->kind == CULV_VMM_LOCATION_HOST, voice, d->label,
        CULV_REASON_HANDLE_TYPE,
        "culv_vmm_allocation_desc.handle_types is %#" PRIx32
        ", but CUDA does not export host memory without a NUMA node (cuda.h, cuMemCreate): set kind to CULV_VMM_LOCATION_HOST_NUMA, or handle_types to 0",
        d->handle_types);
    const bool fd =
        (d->handle_types & 1u << CULV_HANDLE_OPAQUE_FD) != 0 && !device->caps.vmm_posix_fd;
    const bool win32 =
        (d->handle_types & ~(1u << CULV_HANDLE_OPAQUE_FD)) != 0 && !device->caps.vmm_win32;
    CULVI_UNSUPPORTED_IF(fd || win32, voice, d->label, CULV_REASON_HANDLE_TYPE,
                         "'%s' cannot export memory as %s (culv_device_caps::%s is 0)",
                         device->caps.name, fd ? "file descriptors" : "Windows handles",
                         fd ? "vmm_posix_fd" : "vmm_win32");
    CULVI_REFUSE_IF(
        d->object_attributes != NULL && !(d->handle_types & 1u << CULV_HANDLE_OPAQUE_WIN32), voice,
        d->label, CULV_REASON_VALUE,
        "culv_vmm_allocation_desc.object_attributes is given, but it is only for OPAQUE_WIN32 handles, which handle_types lacks");
    return CULV_OK;
}

static culv_result check_place(const culv_device *device, const culv_vmm_allocation_desc *d)
{
    const culvi_voice *voice = &device->voice;
    CULVI_REFUSE_IF(
        (int)d->kind < CULV_VMM_LOCATION_DEVICE || (int)d->kind > CULV_VMM_LOCATION_HOST, voice,
        d->label, CULV_REASON_VALUE,
        "culv_vmm_allocation_desc.kind is %d, which is not a culv_vmm_location_kind", (int)d->kind);
    CULVI_REFUSE_IF(
        d->numa_node < 0 || (d->numa_node != 0 && d->kind != CULV_VMM_LOCATION_HOST_NUMA), voice,
        d->label, CULV_REASON_VALUE,
        "culv_vmm_allocation_desc.numa_node is %" PRId32
        "; it is a NUMA node's number for CULV_VMM_LOCATION_HOST_NUMA, and 0 for other kinds",
        d->numa_node);
    return CULV_OK;
}

static culv_result check_usage(const culv_device *device, const culv_vmm_allocation_desc *d)
{
    CULVI_REFUSE_IF(d->usage & ~(uint32_t)ALL_USAGES, &device->voice, d->label, CULV_REASON_VALUE,
                    "culv_vmm_allocation_desc.usage is %#" PRIx32
                    "; it may have only bits of culv_vmm_usage (%#" PRIx32 ")",
                    d->usage, (uint32_t)ALL_USAGES);
    CULVI_UNSUPPORTED_IF(d->usage != 0 && d->kind != CULV_VMM_LOCATION_DEVICE, &device->voice,
                         d->label, CULV_REASON_USAGE,
                         "culv_vmm_allocation_desc.usage is %#" PRIx32
                         ", which is only for device memory; host memory has 0",
                         d->usage);
    CULVI_UNSUPPORTED_IF(
        d->usage & CULV_VMM_USAGE_TILE_POOL && !device->caps.sparse_arrays, &device->voice,
        d->label, CULV_REASON_USAGE,
        "CULV_VMM_USAGE_TILE_POOL backs sparse arrays, which '%s' lacks (culv_device_caps::sparse_arrays is 0)",
        device->caps.name);
    return CULV_OK;
}

culv_result culvi_vmm_read_desc(culv_device *device, const culv_vmm_allocation_desc *desc,
                                const void *out, const char *call, culv_vmm_allocation_desc *d,
                                CUmemAllocationProp *prop)
{
    CULVI_REQUIRE_IN(NULL, call, device);
    CULVI_REQUIRE_IN(&device->voice, call, desc);
    CULVI_REQUIRE_IN(&device->voice, call, out);
    CULVI_TRY(culvi_desc_read(&device->voice, d, sizeof *d, desc, "culv_vmm_allocation_desc"));
    CULVI_TRY(culvi_vmm_check_device(device, call));
    CULVI_TRY(check_place(device, d));
    CULVI_TRY(check_handle_types(device, d));
    CULVI_TRY(check_usage(device, d));
    memset(prop, 0, sizeof *prop);
    prop->type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop->requestedHandleTypes = (CUmemAllocationHandleType)to_cuda_handle_types(d->handle_types);
    prop->location.type = d->kind == CULV_VMM_LOCATION_DEVICE ? CU_MEM_LOCATION_TYPE_DEVICE
                          : d->kind == CULV_VMM_LOCATION_HOST
                              ? (CUmemLocationType)CULVI_LOCATION_HOST
                              : (CUmemLocationType)CULVI_LOCATION_HOST_NUMA;
    prop->location.id = d->kind == CULV_VMM_LOCATION_DEVICE ? device->ordinal : d->numa_node;
    if (d->handle_types & 1u << CULV_HANDLE_OPAQUE_WIN32) {
        const void *attributes =
            d->object_attributes != NULL ? d->object_attributes : culvi_own_user_attributes();
        memcpy(&prop->win32HandleMetaData, &attributes,
               sizeof attributes); /* read by the driver alone */
    }
    if (d->usage & CULV_VMM_USAGE_COMPRESSIBLE)
        prop->allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_GENERIC;
    if (d->usage & CULV_VMM_USAGE_RDMA) prop->allocFlags.gpuDirectRDMACapable = 1;
    unsigned usage =
        (d->usage & CULV_VMM_USAGE_TILE_POOL ? CU_MEM_CREATE_USAGE_TILE_POOL : 0u) |
        (d->usage & CULV_VMM_USAGE_HW_DECOMPRESS ? (unsigned)CULVI_CREATE_USAGE_HW_DECOMPRESS : 0u);
    prop->allocFlags.usage = (unsigned short)usage;
    return CULV_OK;
}

/* Granularity, and whether the device has such memory at all ----------------------------------- */

/* Runs in the device's context. */
static culv_result has_attribute(const culv_device *device, const culv_vmm_allocation_desc *d,
                                 int attribute, culv_reason reason, const char *what)
{
    int value = 0;
    CUresult r = CULVI_CU(device, cuDeviceGetAttribute,
                          (&value, (CUdevice_attribute)attribute, device->ordinal));
    /* An older driver does not know newer attributes: what it cannot tell, it cannot do. Those of
     * CUDA 11.7 and before are in every driver that Culvert runs on. */
    const bool newer = attribute > (int)CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED;
    if (r != CUDA_SUCCESS && !(newer && r == CUDA_ERROR_INVALID_VALUE))
        return culvi_fail_cuda(device, d->label, r, "cuDeviceGetAttribute",
                               CULV_REASON_DRIVER_REFUSED, "attribute %d of '%s' could not be read",
                               attribute, device->caps.name);
    if (r == CUDA_SUCCESS && value != 0) return CULV_OK;
    return culvi_fail(&device->voice, d->label, CULV_ERROR_UNSUPPORTED, reason,
                      "'%s' has no %s (CUdevice_attribute %d is 0)", device->caps.name, what,
                      attribute);
}

/* Runs in the device's context. */
static culv_result check_support(const culv_device *device, const culv_vmm_allocation_desc *d)
{
    culv_result result = CULV_OK;
    if (d->kind == CULV_VMM_LOCATION_HOST)
        result = has_attribute(device, d, CULVI_ATTRIBUTE_HOST_VMM, CULV_REASON_LOCATION,
                               "VMM memory on the host without a NUMA node");
    else if (d->kind == CULV_VMM_LOCATION_HOST_NUMA)
        result = has_attribute(device, d, CULVI_ATTRIBUTE_HOST_NUMA_VMM, CULV_REASON_LOCATION,
                               "VMM memory on NUMA nodes of the host");
    if (result == CULV_OK && d->usage & CULV_VMM_USAGE_RDMA)
        result =
            has_attribute(device, d, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED,
                          CULV_REASON_USAGE, "VMM memory for GPUDirect RDMA");
    if (result == CULV_OK && d->usage & CULV_VMM_USAGE_HW_DECOMPRESS)
        result = has_attribute(device, d, CULVI_ATTRIBUTE_DECOMPRESS, CULV_REASON_USAGE,
                               "decompression engine");
    return result;
}

static uint32_t kind_of(const culv_vmm_allocation_desc *d)
{
    return (uint32_t)d->kind | d->usage << 8 | d->handle_types << 16;
}

/* The device keeps two answers: what grows asks for its addresses' and its memory's each time. */
static bool find_granularity(culv_device *device, const culv_vmm_allocation_desc *d, uint64_t *out)
{
    const culvi_granularity *g = &device->granularity[kind_of(d) != 0];
    culvi_mutex_lock(&device->lock);
    const bool found = g->bytes != 0 && g->kind == kind_of(d) && g->numa_node == d->numa_node;
    if (found) *out = g->bytes;
    culvi_mutex_unlock(&device->lock);
    return found;
}

culv_result culvi_vmm_granularity_of(culv_device *device, const culv_vmm_allocation_desc *d,
                                     const CUmemAllocationProp *prop, uint64_t *out)
{
    culvi_scope scope;
    size_t bytes = 0;
    if (find_granularity(device, d, out)) return CULV_OK;
    CULVI_TRY(culvi_enter(device, &scope, d->label));
    culv_result result = check_support(device, d);
    if (result == CULV_OK) {
        CUresult r = CULVI_CU(device, cuMemGetAllocationGranularity,
                              (&bytes, prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
        culv_reason reason = d->kind != CULV_VMM_LOCATION_DEVICE ? CULV_REASON_LOCATION
                             : d->usage != 0                     ? CULV_REASON_USAGE
                             : d->handle_types != 0              ? CULV_REASON_HANDLE_TYPE
                                                                 : CULV_REASON_VMM;
        if (r == CUDA_ERROR_NOT_SUPPORTED)
            result = culvi_fail_native(
                &device->voice, d->label, CULV_ERROR_UNSUPPORTED, reason, CULV_NATIVE_CUDA, r,
                "cuMemGetAllocationGranularity",
                "'%s' has no VMM memory of that kind, usage and handle types (CUDA_ERROR_NOT_SUPPORTED)",
                device->caps.name);
        else if (r != CUDA_SUCCESS || bytes == 0)
            result = culvi_fail_cuda(
                device, d->label, r != CUDA_SUCCESS ? r : CUDA_ERROR_UNKNOWN,
                "cuMemGetAllocationGranularity",
                d->kind == CULV_VMM_LOCATION_HOST_NUMA ? CULV_REASON_LOCATION
                                                       : CULV_REASON_DRIVER_REFUSED,
                "the granularity of such VMM memory could not be queried%s",
                d->kind == CULV_VMM_LOCATION_HOST_NUMA ? "; does the system have that NUMA node?"
                                                       : "");
    }
    culvi_leave(device, &scope);
    if (result != CULV_OK) return result;
    const culvi_granularity told = {kind_of(d), d->numa_node, bytes};
    CULVI_LOCKED(&device->lock, device->granularity[told.kind != 0] = told);
    *out = bytes;
    return CULV_OK;
}

culv_result culv_vmm_get_granularity(culv_device *device, const culv_vmm_allocation_desc *desc,
                                     uint64_t *out)
{
    culv_vmm_allocation_desc d;
    CUmemAllocationProp prop;
    CULVI_TRY(culvi_vmm_read_desc(device, desc, out, __func__, &d, &prop));
    return culvi_vmm_granularity_of(device, &d, &prop, out);
}

culv_result culvi_vmm_least_granularity(culv_device *device, culv_vmm_location_kind kind,
                                        int32_t numa_node, uint64_t *out)
{
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    d.kind = kind;
    d.numa_node = numa_node;
    return culv_vmm_get_granularity(device, &d, out);
}
