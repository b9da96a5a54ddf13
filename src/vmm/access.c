/* SPDX-License-Identifier: MIT */
/* Who may do what with what is mapped. */
#include "vmm/mapping.h"

static bool same_place(const CUmemLocation *a, const CUmemLocation *b)
{
    return a->type == b->type && a->id == b->id;
}

/* Locations of the host's are alike, whatever their number (cuda.h, cuMemSetAccess). */
static culv_result locate(const culv_device *device, const char *label,
                          const culv_vmm_access *access, const char *call, CUmemLocation *out)
{
    const culvi_voice *voice = &device->voice;
    if ((int)access->kind < CULV_VMM_LOCATION_DEVICE || (int)access->kind > CULV_VMM_LOCATION_HOST)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "%s: culv_vmm_access.kind is %d, which is not a culv_vmm_location_kind",
                          call, (int)access->kind);
    if (access->kind != CULV_VMM_LOCATION_DEVICE && access->device != NULL)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "%s: culv_vmm_access.device is given, but kind is the host", call);
    if (access->kind != CULV_VMM_LOCATION_HOST_NUMA && access->numa_node != 0)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "%s: culv_vmm_access.numa_node is %" PRId32 ", but kind is not "
                          "CULV_VMM_LOCATION_HOST_NUMA",
                          call, access->numa_node);
    const culv_device *asked = access->device != NULL ? access->device : device;
    if (!culvi_vmm_same_driver(device, asked))
        return culvi_fail(
            voice, label, CULV_ERROR_INVALID, CULV_REASON_DEVICE_MISMATCH,
            "%s: culv_vmm_access.device is of another driver, '%s', than the range, '%s'", call,
            asked->caps.name, device->caps.name);
    memset(out, 0, sizeof *out);
    out->type = access->kind == CULV_VMM_LOCATION_DEVICE ? CU_MEM_LOCATION_TYPE_DEVICE
                : access->kind == CULV_VMM_LOCATION_HOST
                    ? (CUmemLocationType)CULVI_LOCATION_HOST
                    : (CUmemLocationType)CULVI_LOCATION_HOST_NUMA;
    out->id = access->kind == CULV_VMM_LOCATION_DEVICE ? asked->ordinal : access->numa_node;
    return CULV_OK;
}

/* Whether what was named reaches memory of `owner`. */
static culv_result check_reach(culv_device *device, const char *label, CUdevice owner,
                               const culv_vmm_access *access, const CUmemLocation *location,
                               const char *call)
{
    int reaches = 0;
    culvi_scope scope;
    if (access->flags == CULV_VMM_ACCESS_NONE || owner < 0) return CULV_OK;
    if (location->type != CU_MEM_LOCATION_TYPE_DEVICE)
        return culvi_fail(
            &device->voice, label, CULV_ERROR_INVALID, CULV_REASON_PEER,
            "%s: the host has no access to device memory (cuda.h, cuMemSetAccess, which answers CUDA_ERROR_NOT_SUPPORTED); "
            "memory of CULV_VMM_LOCATION_HOST_NUMA is for both",
            call);
    if (location->id == owner) return CULV_OK;
    culv_result result = culvi_enter(device, &scope, label);
    if (result != CULV_OK) return result;
    CUresult r = CULVI_CU(device, cuDeviceCanAccessPeer, (&reaches, (CUdevice)location->id, owner));
    if (r != CUDA_SUCCESS)
        result = culvi_fail_cuda(
            device, label, r, "cuDeviceCanAccessPeer", CULV_REASON_PEER,
            "%s: the driver could not be asked whether CUDA device %d reaches memory of device %d",
            call, location->id, (int)owner);
    else if (!reaches)
        result = culvi_fail(
            &device->voice, label, CULV_ERROR_INVALID, CULV_REASON_PEER,
            "%s: '%s', CUDA device %d, does not reach memory of device %d (cuDeviceCanAccessPeer says so); "
            "keep a copy on each GPU",
            call, access->device != NULL ? access->device->caps.name : device->caps.name,
            location->id, (int)owner);
    culvi_leave(device, &scope);
    return result;
}

culv_result culvi_vmm_resolve_for(culv_device *device, const char *label, CUdevice owner,
                                  const culv_vmm_access *access, size_t count, CUmemAccessDesc *out,
                                  const char *call)
{
    const culv_vmm_access own = {.flags = CULV_VMM_ACCESS_READ_WRITE};
    if (count == 0) access = &own;
    for (size_t i = 0; i < (count > 0 ? count : 1); i++) {
        const culv_vmm_access *a = &access[i];
        memset(&out[i], 0, sizeof out[i]);
        culv_result result = locate(device, label, a, call, &out[i].location);
        if (result == CULV_OK && a->flags != CULV_VMM_ACCESS_NONE &&
            a->flags != CULV_VMM_ACCESS_READ && a->flags != CULV_VMM_ACCESS_READ_WRITE)
            result = culvi_fail(&device->voice, label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                                "%s: culv_vmm_access.flags is %d, which is not one of "
                                "culv_vmm_access_flags",
                                call, (int)a->flags);
        for (size_t j = 0; result == CULV_OK && j < i; j++)
            if (same_place(&out[j].location, &out[i].location))
                result =
                    culvi_fail(&device->voice, label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                               "%s: entries %zu and %zu of access name the same place", call, j, i);
        if (result == CULV_OK)
            result = check_reach(device, label, owner, a, &out[i].location, call);
        if (result != CULV_OK) return result;
        out[i].flags = (CUmemAccess_flags)a->flags;
    }
    return CULV_OK;
}

culv_result culvi_vmm_access_resolve(culv_device *device, const culv_vmm_access *access,
                                     size_t count, CUmemAccessDesc *out)
{
    return culvi_vmm_resolve_for(device, NULL, device->ordinal, access, count, out,
                                 "culv_vmm_access");
}
