/* SPDX-License-Identifier: MIT */
/* An import of another GPU's memory by a handle of VMM: mapped whole, at addresses of its own, with
 * access for the device alone. Measured on two H200 (docs/two-gpus.md): it takes
 * what cuImportExternalMemory refuses in the other context, and no peer access is enabled. */
#include "core/memory.h"

static size_t span(const culv_memory *memory)
{
    return (size_t)((memory->size + CULVI_PLACED_UNIT - 1) / CULVI_PLACED_UNIT * CULVI_PLACED_UNIT);
}

/* Twice: an error of earlier work is told once by each call. */
static CUresult unmap(culv_memory *memory)
{
    culv_device *device = memory->device;
    CUresult r = CULVI_RELEASE(device, cuMemUnmap, (memory->base, span(memory)));
    if (r != CUDA_SUCCESS && !culvi_cuda_gone(r))
        r = CULVI_RELEASE(device, cuMemUnmap, (memory->base, span(memory)));
    if (r == CUDA_SUCCESS) memory->placed_mapped = false;
    return r;
}

static CUresult free_addresses(const culv_memory *memory, CUdeviceptr at)
{
    culv_device *device = memory->device;
    CUresult r = CULVI_RELEASE(device, cuMemAddressFree, (at, span(memory)));
    if (r != CUDA_SUCCESS && !culvi_cuda_gone(r))
        r = CULVI_RELEASE(device, cuMemAddressFree, (at, span(memory)));
    return r;
}

/* Maps `placed` at `base`, where addresses are reserved. What failed goes to *call. */
static CUresult map(culv_memory *memory, const char **call)
{
    culv_device *device = memory->device;
    CUmemAccessDesc access = {.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = device->ordinal;
    CUresult r =
        CULVI_CU_AS(*call, device, cuMemMap, (memory->base, span(memory), 0, memory->placed, 0));
    if (r != CUDA_SUCCESS) return r;
    memory->placed_mapped = true;
    r = CULVI_CU_AS(*call, device, cuMemSetAccess, (memory->base, span(memory), &access, 1));
    if (r != CUDA_SUCCESS) {
        (void)unmap(memory);
        return r;
    }
    culvi_late_prepare(device); /* culvi_memory_displace() waits */
    device->counts.mappings++;
    culvi_tree_add(&device->mapped, &memory->mapped, memory->base, 0);
    return CUDA_SUCCESS;
}

culv_result culvi_memory_place(culv_memory *memory)
{
    culv_device *device = memory->device;
    const char *call = "cuMemAddressReserve";
    CUresult r = CULVI_CU(device, cuMemAddressReserve, (&memory->base, span(memory), 0, 0, 0));
    if (r == CUDA_SUCCESS) {
        r = map(memory, &call);
        if (r == CUDA_SUCCESS) return CULV_OK;
        if (!memory->placed_mapped) (void)free_addresses(memory, memory->base);
        memory->placed_mapped = false;
    }
    memory->base = 0;
    return culvi_fail_cuda(
        device, memory->label, r, call,
        r == CUDA_ERROR_INVALID_VALUE ? CULV_REASON_SIZE : CULV_REASON_DRIVER_REFUSED,
        "the other GPU's memory of %" PRIu64
        " bytes could not be mapped for '%s' (as %zu bytes); pass the allocation's own size (%s), or give the buffer memory that is dedicated to it (%s)",
        memory->size, device->caps.name, span(memory), memory->words->size,
        memory->words->dedicated);
}

/* cuMemUnmap does not wait (measured), and a kernel that still runs would fault. cuMemFree, by
 * which other imports go, waits for the context; so does this. */
bool culvi_memory_displace(culv_memory *memory, bool last_try)
{
    culv_device *device = memory->device;
    if (memory->placed_mapped) {
        const bool over = culvi_wait_for_all(device, "memory", memory->label, memory->size);
        if (!over && !last_try) return false;
        if (!culvi_release_done(device, "cuMemUnmap", unmap(memory), last_try)) return false;
        memory->placed_mapped = false;
    }
    return culvi_release_done(device, "cuMemAddressFree", free_addresses(memory, memory->base),
                              last_try);
}

CUresult culvi_memory_release_placed(culv_memory *memory)
{
    culv_device *device = memory->device;
    CUresult r = CULVI_RELEASE(device, cuMemRelease, (memory->placed));
    if (r != CUDA_SUCCESS && !culvi_cuda_gone(r))
        r = CULVI_RELEASE(device, cuMemRelease, (memory->placed));
    return r;
}

/* Suspended devices (core/suspend.c) ----------------------------------------------------------- */

void culvi_memory_keep_addresses(culv_memory *memory)
{
    const culv_device *device = memory->device;
    CUdeviceptr got = 0;
    if (memory->host != NULL || memory->before % CULVI_PLACED_UNIT != 0 ||
        memory->size < CULVI_PLACED_UNIT || !device->caps.vmm || !device->caps.vmm_posix_fd ||
        device->caps.cig_context ||
        CULVI_CU(device, cuMemAddressReserve, (&got, span(memory), 0, memory->before, 0)) !=
            CUDA_SUCCESS)
        return;
    if (got == memory->before)
        memory->kept = got;
    else
        (void)free_addresses(memory, got);
}

bool culvi_memory_drop_addresses(culv_memory *memory, bool last_try)
{
    if (memory->kept == 0) return true;
    if (!culvi_release_done(memory->device, "cuMemAddressFree",
                            free_addresses(memory, memory->kept), last_try))
        return false;
    memory->kept = 0;
    return true;
}

/* The mapping keeps the import. */
bool culvi_memory_place_again(culv_memory *memory, CUresult *reason)
{
    const char *call;
    memory->base = memory->kept;
    *reason = map(memory, &call);
    (void)culvi_release_done(memory->device, "cuMemRelease", culvi_memory_release_placed(memory),
                             true);
    memory->placed = 0;
    memory->by_vmm = *reason == CUDA_SUCCESS;
    if (memory->by_vmm)
        memory->kept = 0;
    else
        memory->base = 0;
    return memory->by_vmm;
}
