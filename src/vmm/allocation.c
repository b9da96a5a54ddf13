/* SPDX-License-Identifier: MIT */
/* Physical memory: making it, giving it up. */
#include "vmm/allocation.h"

#include "base/handle.h"
#include "culvert/addon.h"
#include "vmm/share.h"

bool culvi_vmm_same_driver(const culv_device *a, const culv_device *b)
{
    /* Each device has loaded it for itself, and the loader gives the same library. */
    return a->cuda->kind == b->cuda->kind && a->cuda->cuMemCreate == b->cuda->cuMemCreate;
}

culv_result culvi_vmm_enter(culv_device *device, culvi_scope *scope, const char *label,
                            bool *entered)
{
    *entered = culvi_enter_quietly(device, scope) == CUDA_SUCCESS;
    if (*entered || device->lost) return CULV_OK;
    culv_result result = culvi_enter(device, scope, label);
    *entered = result == CULV_OK;
    return result;
}

/* Allocations ---------------------------------------------------------------------------------- */

culv_vmm_allocation *culvi_vmm_allocation_new(culv_device *device, const char *label)
{
    culv_vmm_allocation *allocation = culvi_alloc_for(&device->voice, label, sizeof *allocation);
    if (allocation == NULL) return NULL;
    allocation->device = device;
    atomic_init(&allocation->refs, 1);
    allocation->owner = device->ordinal;
    allocation->uuid = device->caps.uuid;
    culvi_label_set(allocation->label, label);
    return allocation;
}

void culvi_vmm_allocation_made(culv_vmm_allocation *allocation)
{
    culv_device *device = allocation->device;
    CULVI_LOCKED(&device->lock, device->counts.vmm_allocations++);
    culvi_device_ref(device);
    culvi_log_object(&device->voice, "made", "VMM allocation", allocation->label, allocation->size);
}

void culvi_vmm_allocation_unref(culv_vmm_allocation *allocation)
{
    if (atomic_fetch_sub(&allocation->refs, 1) == 1) culvi_free(allocation);
}

void culvi_vmm_allocation_describe(culv_vmm_allocation *allocation, const CUmemAllocationProp *prop)
{
    static const culv_uuid none;
    if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
        const bool numa = (int)prop->location.type == CULVI_LOCATION_HOST_NUMA;
        allocation->kind = numa ? CULV_VMM_LOCATION_HOST_NUMA : CULV_VMM_LOCATION_HOST;
        allocation->numa_node = numa ? prop->location.id : 0;
        allocation->owner = -1;
        allocation->uuid = none;
    }
    allocation->handle_types =
        culvi_vmm_from_cuda_handle_types((unsigned)prop->requestedHandleTypes);
    allocation->usage = 0;
    if (prop->allocFlags.compressionType != CU_MEM_ALLOCATION_COMP_NONE)
        allocation->usage |= CULV_VMM_USAGE_COMPRESSIBLE;
    if (prop->allocFlags.gpuDirectRDMACapable) allocation->usage |= CULV_VMM_USAGE_RDMA;
    if (prop->allocFlags.usage & CU_MEM_CREATE_USAGE_TILE_POOL)
        allocation->usage |= CULV_VMM_USAGE_TILE_POOL;
    if (prop->allocFlags.usage & CULVI_CREATE_USAGE_HW_DECOMPRESS)
        allocation->usage |= CULV_VMM_USAGE_HW_DECOMPRESS;
}

void culvi_vmm_release_handle(culv_device *device, CUmemGenericAllocationHandle handle)
{
    CUresult r = CULVI_CU(device, cuMemRelease, (handle));
    if (r == CUDA_SUCCESS || culvi_cuda_gone(r)) return;
    r = CULVI_CU(device, cuMemRelease, (handle));
    (void)culvi_release_done(device, "cuMemRelease", r, true);
}

/* Runs in the device's context. */
static culv_result create(culv_vmm_allocation *allocation, const CUmemAllocationProp *prop)
{
    culv_device *device = allocation->device;
    CUmemAllocationProp granted = *prop;
    CUresult r =
        CULVI_CU(device, cuMemCreate, (&allocation->handle, (size_t)allocation->size, prop, 0));
    if (r == CUDA_ERROR_NOT_SUPPORTED)
        return culvi_fail_native(
            &device->voice, allocation->label, CULV_ERROR_UNSUPPORTED,
            allocation->kind != CULV_VMM_LOCATION_DEVICE ? CULV_REASON_LOCATION
            : prop->allocFlags.usage != 0                ? CULV_REASON_USAGE
                                                         : CULV_REASON_VMM,
            CULV_NATIVE_CUDA, r, "cuMemCreate",
            "'%s' has no VMM memory of that kind, usage and handle types (CUDA_ERROR_NOT_SUPPORTED)",
            device->caps.name);
    CULVI_CU_CHECK(device, allocation->label, r, "cuMemCreate",
                   allocation->kind == CULV_VMM_LOCATION_HOST_NUMA ? CULV_REASON_LOCATION
                                                                   : CULV_REASON_DRIVER_REFUSED,
                   "%" PRIu64 " bytes of VMM memory could not be allocated%s", allocation->size,
                   allocation->kind == CULV_VMM_LOCATION_HOST_NUMA
                       ? "; does the system have that NUMA node?"
                       : "");
    if (prop->allocFlags.compressionType != CU_MEM_ALLOCATION_COMP_NONE) {
        /* A hint: what was granted is in the properties (cuda.h, CUmemAllocationProp). */
        r = CULVI_CU(device, cuMemGetAllocationPropertiesFromHandle,
                     (&granted, allocation->handle));
        if (r != CUDA_SUCCESS) {
            culvi_vmm_release_handle(device, allocation->handle);
            return culvi_fail_cuda(
                device, allocation->label, r, "cuMemGetAllocationPropertiesFromHandle",
                CULV_REASON_DRIVER_REFUSED,
                "the driver could not be asked whether the memory is compressible");
        }
    }
    const uint32_t handle_types = allocation->handle_types;
    culvi_vmm_allocation_describe(allocation, &granted);
    allocation->handle_types = handle_types;
    return CULV_OK;
}

culv_result culv_vmm_allocation_create(culv_device *device, const culv_vmm_allocation_desc *desc,
                                       culv_vmm_allocation **out)
{
    culv_vmm_allocation_desc d;
    CUmemAllocationProp prop;
    uint64_t granularity = 0;
    CULVI_TRY(culvi_vmm_read_desc(device, desc, out, "culv_vmm_allocation_create", &d, &prop));
    CULVI_REFUSE_IF(d.size == 0, &device->voice, d.label, CULV_REASON_SIZE,
                    "culv_vmm_allocation_desc.size is 0");
    CULVI_TRY(culvi_vmm_fabric_ask(device, &d, &prop));
    CULVI_TRY(culvi_vmm_granularity_of(device, &d, &prop, &granularity));
    CULVI_REFUSE_IF(d.size > UINT64_MAX - (granularity - 1), &device->voice, d.label,
                    CULV_REASON_SIZE,
                    "culv_vmm_allocation_desc.size is %" PRIu64
                    " bytes, which cannot be rounded up to the granularity of %" PRIu64,
                    d.size, granularity);
    culv_vmm_allocation *allocation = culvi_vmm_allocation_new(device, d.label);
    if (allocation == NULL) return CULV_ERROR_OUT_OF_MEMORY;
    allocation->requested = d.size;
    allocation->size = (d.size + granularity - 1) / granularity * granularity;
    allocation->granularity = granularity;
    allocation->kind = d.kind;
    allocation->handle_types = d.handle_types;
    culv_result result;
    CULVI_INSIDE(result, device, d.label, create(allocation, &prop));
    CULVI_TRY_OR(result, culvi_vmm_allocation_unref(allocation));
    culvi_vmm_allocation_made(allocation);
    *out = allocation;
    return CULV_OK;
}

void culvi_vmm_allocation_shared(culv_vmm_allocation *allocation)
{
    culvi_mutex_lock(&allocation->device->lock);
    culvi_tie_add(
        allocation->device, &allocation->tie, "VMM allocation", allocation->label,
        allocation->imported
            ? "was imported, and CUDA does not restore imports; destroy it before, and import it again after culv_device_resume()"
            : "was exported, to Vulkan or to another process, and comes back as other memory than theirs; destroy it, or the vector or the view that it is part of, before");
    culvi_mutex_unlock(&allocation->device->lock);
}

/* The driver's handle. The memory stays with what maps it. */
static bool release_allocation(culv_device *device, culvi_deferred *self, bool last_try)
{
    culv_vmm_allocation *allocation = CULVI_CONTAINER(self, culv_vmm_allocation, deferred);
    CUresult r = CULVI_CU(device, cuMemRelease, (allocation->handle));
    /* It is the process's, not the context's: it outlives a reset, which is no reason not to call
     * (CULVI_RELEASE), and is released in spite of a sticky error (measured): once more in case
     * that this was told instead. */
    if (culvi_cuda_sticky(r)) (void)CULVI_CU(device, cuMemRelease, (allocation->handle));
    if (!culvi_release_done(device, "cuMemRelease", r, last_try)) return false;
    culvi_tie_remove(&allocation->tie);
    device->counts.vmm_allocations--;
    culvi_log_object(&device->voice, "destroyed", "VMM allocation", allocation->label,
                     allocation->size);
    culvi_vmm_allocation_unref(allocation);
    return true;
}

void culvi_vmm_allocation_give_up(culv_vmm_allocation **allocation)
{
    culv_vmm_allocation *mine = *allocation;
    culv_device *device = mine->device;
    *allocation = NULL;
    atomic_store(&mine->given_up, true);
    if (mine->kept.type != CULV_HANDLE_NONE) culvi_handle_close(&mine->kept);
    mine->deferred.release = release_allocation;
    culvi_release_alone(device, &mine->deferred);
    culvi_device_unref(device);
}

culv_result culv_vmm_allocation_destroy(culv_vmm_allocation **allocation)
{
    if (allocation == NULL || *allocation == NULL) return CULV_OK;
    const culv_vmm_allocation *mine = *allocation;
    if (culvi_refuse_owned(mine->device, mine->label, CULVI_OTHERS_PART, mine->owner_destroy_call,
                           "culv_vmm_allocation_destroy"))
        return CULV_ERROR_INVALID;
    culvi_vmm_allocation_give_up(allocation);
    return CULV_OK;
}

culv_result culv_vmm_allocation_wrap(culv_device *device, const culv_vmm_allocation_info *info,
                                     const char *label, culv_vmm_allocation **out)
{
    CULVI_REQUIRE_WITH2(device, &device->voice, info, out);
    CULVI_READ(&device->voice, culv_vmm_allocation_info, i, info);
    culv_vmm_allocation *allocation = culvi_vmm_allocation_new(device, label);
    if (allocation == NULL) return CULV_ERROR_OUT_OF_MEMORY;
    allocation->handle = i.native_handle;
    allocation->requested = i.requested;
    allocation->size = i.size;
    allocation->granularity = i.granularity;
    allocation->handle_types = i.handle_types;
    culvi_vmm_allocation_made(allocation);
    *out = allocation;
    return CULV_OK;
}

void culv_vmm_allocation_own(culv_vmm_allocation *allocation, const char *destroy_call,
                             uint32_t missing_devices)
{
    if (allocation == NULL) return;
    allocation->usage |= CULV_VMM_USAGE_MULTICAST;
    allocation->owner_destroy_call = destroy_call;
    atomic_store(&allocation->missing, missing_devices);
}

culv_result culv_vmm_allocation_get_info(const culv_vmm_allocation *allocation,
                                         culv_vmm_allocation_info *out)
{
    CULVI_REQUIRE_WITH(allocation, &allocation->device->voice, out);
    CULVI_TRY(culvi_struct_check(&allocation->device->voice, out, "culv_vmm_allocation_info"));
    culv_vmm_allocation_info info = culv_vmm_allocation_info_init();
    info.requested = allocation->requested;
    info.size = allocation->size;
    info.granularity = allocation->granularity;
    info.kind = allocation->kind;
    info.numa_node = allocation->numa_node;
    info.handle_types = allocation->handle_types;
    info.usage = allocation->usage;
    info.imported = allocation->imported;
    info.device = allocation->uuid;
    info.mappings = atomic_load(&allocation->mappings);
    info.missing_devices = atomic_load(&allocation->missing);
    info.native_handle = allocation->handle;
    culvi_struct_write(out, &info, sizeof info);
    return CULV_OK;
}
