/* SPDX-License-Identifier: MIT */
/* Fabric handles (R29): bytes in place of file descriptors. The attribute alone lies, so they are
 * tried. */
#include "vmm/share.h"

#include "base/handle.h"

static culv_result refuse(const culv_device *device, const char *label, CUresult r,
                          const char *call)
{
    return culvi_fail_native(
        &device->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_HANDLE_TYPE, CULV_NATIVE_CUDA,
        (int64_t)r, call,
        "'%s' has fabric handles, but %s answered %s: this user has no IMEX channel. nvidia-imex must run, and /dev/nvidia-caps-imex-channels/channel0 must be readable (nvidia-modprobe, or the container's devices); on one machine use OPAQUE_FD",
        device->caps.name, call,
        r == CUDA_ERROR_NOT_PERMITTED ? "CUDA_ERROR_NOT_PERMITTED" : "CUDA_ERROR_NOT_SUPPORTED");
}

/* Runs in the device's context. */
static culv_result try_one(culv_device *device, const char *label)
{
    uint8_t bytes[64];
    CUmemGenericAllocationHandle handle = 0;
    CUmemAllocationProp prop;
    size_t granularity = 0;
    memset(&prop, 0, sizeof prop);
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.requestedHandleTypes = (CUmemAllocationHandleType)CULVI_FABRIC;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = device->ordinal;
    const char *call = "cuMemGetAllocationGranularity";
    CUresult r = CULVI_CU(device, cuMemGetAllocationGranularity,
                          (&granularity, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    if (r == CUDA_SUCCESS)
        r = CULVI_CU_AS(call, device, cuMemCreate, (&handle, granularity, &prop, 0));
    if (r == CUDA_SUCCESS) {
        r = CULVI_CU_AS(call, device, cuMemExportToShareableHandle,
                        (bytes, handle, (CUmemAllocationHandleType)CULVI_FABRIC, 0));
        culvi_vmm_release_handle(device, handle);
    }
    if (r == CUDA_ERROR_NOT_PERMITTED || r == CUDA_ERROR_NOT_SUPPORTED)
        return refuse(device, label, r, call);
    CULVI_CU_CHECK(device, label, r, call, CULV_REASON_DRIVER_REFUSED,
                   "fabric handles could not be tried");
    return CULV_OK;
}

static culv_result check(culv_device *device, const char *label)
{
    culvi_scope scope;
    culv_result result = culvi_vmm_check_device(device, "culv_check_fabric");
    if (result != CULV_OK || atomic_load(&device->fabric_works)) return result;
    CULVI_UNSUPPORTED_IF(
        !device->caps.vmm_fabric, &device->voice, label, CULV_REASON_HANDLE_TYPE,
        "'%s' has no fabric handles (culv_device_caps::vmm_fabric is 0); use OPAQUE_FD",
        device->caps.name);
    CULVI_TRY(culvi_enter(device, &scope, label));
    result = try_one(device, label);
    culvi_leave(device, &scope);
    if (result == CULV_OK) atomic_store(&device->fabric_works, true);
    return result;
}

culv_result culv_check_fabric(culv_device *device)
{
    CULVI_REQUIRE(NULL, device);
    return check(device, NULL);
}

/* Refuses what is no culv_fabric, and fabric handles that do not work here: *works is false then,
 * or the call fails, as `fabric` says. `field` is for messages. */
static culv_result ask(culv_device *device, culv_fabric fabric, const char *field,
                       const char *label, bool *works)
{
    *works = false;
    if (fabric == CULV_FABRIC_NO) return CULV_OK;
    CULVI_REFUSE_IF(fabric != CULV_FABRIC_TRY && fabric != CULV_FABRIC_REQUIRED, &device->voice,
                    label, CULV_REASON_VALUE,
                    "%s is %d; it is CULV_FABRIC_NO, CULV_FABRIC_TRY or CULV_FABRIC_REQUIRED",
                    field, (int)fabric);
    culv_result result = check(device, label);
    if (result == CULV_ERROR_UNSUPPORTED && fabric == CULV_FABRIC_TRY) {
        culvi_log(&device->voice, CULV_LOG_INFO,
                  "'%s': without a fabric handle, which does not work here",
                  label != NULL ? label : "");
        return CULV_OK;
    }
    *works = result == CULV_OK;
    return result;
}

culv_result culvi_vmm_fabric_ask(culv_device *device, culv_vmm_allocation_desc *d,
                                 CUmemAllocationProp *prop)
{
    bool works;
    CULVI_REFUSE_IF(
        d->fabric != CULV_FABRIC_NO && d->kind == CULV_VMM_LOCATION_HOST, &device->voice, d->label,
        CULV_REASON_HANDLE_TYPE,
        "culv_vmm_allocation_desc.fabric is set, but CUDA does not export host memory without a NUMA node (cuda.h, cuMemCreate)");
    culv_result result =
        ask(device, d->fabric, "culv_vmm_allocation_desc.fabric", d->label, &works);
    if (!works) return result;
    d->handle_types |= UINT32_C(1) << CULV_HANDLE_FABRIC;
    prop->requestedHandleTypes =
        (CUmemAllocationHandleType)((unsigned)prop->requestedHandleTypes | CULVI_FABRIC);
    return CULV_OK;
}

/* Maps all of it once: the driver maps whole allocations only. */
culv_result culvi_vmm_check_fabric_size(const culv_vmm_allocation *allocation)
{
    culv_device *device = allocation->device;
    culvi_scope scope;
    CUdeviceptr at = 0;
    const size_t size = (size_t)allocation->size;
    CULVI_TRY(culvi_enter(device, &scope, allocation->label));
    const char *call = "cuMemAddressReserve";
    CUresult r = CULVI_CU(device, cuMemAddressReserve, (&at, size, 0, 0, 0));
    if (r == CUDA_SUCCESS) {
        r = CULVI_CU_AS(call, device, cuMemMap, (at, size, 0, allocation->handle, 0));
        if (r == CUDA_SUCCESS) CULVI_RELEASE_TWICE(device, cuMemUnmap, (at, size));
        CULVI_RELEASE_TWICE(device, cuMemAddressFree, (at, size));
    }
    culvi_leave(device, &scope);
    if (r == CUDA_SUCCESS) return CULV_OK;
    /* Measured of a size that is not the allocation's: NOT_SUPPORTED. */
    if (at != 0 && r == CUDA_ERROR_NOT_SUPPORTED)
        return culvi_fail_native(
            &device->voice, allocation->label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
            CULV_NATIVE_CUDA, (int64_t)r, call,
            "culv_vmm_import_desc.size is %" PRIu64
            " bytes, which is not what is behind the fabric handle; pass culv_vmm_allocation_info::size of the exporter",
            allocation->size);
    return culvi_fail_cuda(device, allocation->label, r, call, CULV_REASON_DRIVER_REFUSED,
                           "the memory of a fabric handle could not be mapped");
}
