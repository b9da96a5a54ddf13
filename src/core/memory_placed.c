/* SPDX-License-Identifier: MIT */
/* An import of another GPU's memory by a handle of VMM: mapped whole, at addresses of its own, with
 * access for the device alone. Measured on two H200 (docs/two-gpus.md): it takes
 * what cuImportExternalMemory refuses in the other context, and no peer access is enabled. */
#include "core/memory.h"

#include "cuda/context.h"
#include "cuda/late.h"

#include <inttypes.h>

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

static CUresult free_addresses(culv_memory *memory)
{
    culv_device *device = memory->device;
    CUresult r = CULVI_RELEASE(device, cuMemAddressFree, (memory->base, span(memory)));
    if (r != CUDA_SUCCESS && !culvi_cuda_gone(r))
        r = CULVI_RELEASE(device, cuMemAddressFree, (memory->base, span(memory)));
    return r;
}

culv_result culvi_memory_place(culv_memory *memory)
{
    culv_device *device = memory->device;
    CUmemAccessDesc access = {.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = device->ordinal;
    const char *call = "cuMemAddressReserve";
    CUresult r = CULVI_CU(device, cuMemAddressReserve, (&memory->base, span(memory), 0, 0, 0));
    if (r != CUDA_SUCCESS) {
        memory->base = 0;
        goto fail;
    }
    call = "cuMemMap";
    r = CULVI_CU(device, cuMemMap, (memory->base, span(memory), 0, memory->placed, 0));
    if (r != CUDA_SUCCESS) goto free_addresses;
    memory->placed_mapped = true;
    call = "cuMemSetAccess";
    r = CULVI_CU(device, cuMemSetAccess, (memory->base, span(memory), &access, 1));
    if (r != CUDA_SUCCESS) goto unmap;
    culvi_late_prepare(device); /* culvi_memory_displace() waits */
    device->counts.mappings++;
    culvi_tree_add(&device->mapped, &memory->mapped, memory->base, 0);
    return CULV_OK;

unmap:
    (void)unmap(memory);
free_addresses:
    if (!memory->placed_mapped) (void)free_addresses(memory);
    memory->placed_mapped = false;
    memory->base = 0;
fail:
    return culvi_fail_cuda(
        device, memory->label, r, call,
        r == CUDA_ERROR_INVALID_VALUE ? CULV_REASON_SIZE : CULV_REASON_DRIVER_REFUSED,
        "the other GPU's memory of %" PRIu64 " bytes could not be mapped for '%s' (as %zu bytes); "
        "pass the allocation's own size (%s), or give the buffer memory that is dedicated to it "
        "(%s)",
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
    return culvi_release_done(device, "cuMemAddressFree", free_addresses(memory), last_try);
}

CUresult culvi_memory_release_placed(culv_memory *memory)
{
    culv_device *device = memory->device;
    CUresult r = CULVI_RELEASE(device, cuMemRelease, (memory->placed));
    if (r != CUDA_SUCCESS && !culvi_cuda_gone(r))
        r = CULVI_RELEASE(device, cuMemRelease, (memory->placed));
    return r;
}
