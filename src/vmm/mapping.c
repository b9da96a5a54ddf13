/* SPDX-License-Identifier: MIT */
/* What is mapped in a range, and mapping into it. */
#include "vmm/mapping.h"

static culvi_vmm_mapping *new_mapping(culv_vmm_range *range, uint64_t offset,
                                      culv_vmm_allocation *allocation)
{
    culvi_vmm_mapping *m = culvi_alloc(sizeof *m);
    if (m == NULL) return NULL;
    m->range = range;
    m->offset = offset;
    m->size = allocation->size;
    m->allocation = allocation;
    atomic_fetch_add(&allocation->refs, 1);
    atomic_fetch_add(&allocation->mappings, 1);
    return m;
}

void culvi_vmm_mapping_free(culvi_vmm_mapping *m)
{
    atomic_fetch_sub(&m->allocation->mappings, 1);
    culvi_vmm_allocation_unref(m->allocation);
    culvi_free(m);
}

/* Mapping -------------------------------------------------------------------------------------- */

static culv_result check_map(const culv_vmm_range *range, uint64_t offset,
                             const culv_vmm_allocation *allocation)
{
    const culvi_voice *voice = &range->device->voice;
    CULVI_REFUSE_IF(!culvi_vmm_same_driver(range->device, allocation->device), voice, range->label,
                    CULV_REASON_DEVICE_MISMATCH,
                    "culv_vmm_map: the allocation is of another driver, '%s', than the range, '%s'",
                    allocation->device->caps.name, range->device->caps.name);
    CULVI_REFUSE_IF(
        allocation->usage & CULV_VMM_USAGE_TILE_POOL, voice, range->label, CULV_REASON_USAGE,
        "culv_vmm_map: the allocation is a tile pool (CULV_VMM_USAGE_TILE_POOL), which backs sparse arrays and has no address");
    const unsigned missing = atomic_load(&allocation->missing);
    CULVI_REFUSE_IF(
        missing > 0, voice, range->label, CULV_REASON_NOT_READY,
        "culv_vmm_map: %u devices are still to be added to %s (culv_multicast_add_device()), and the driver would wait for them forever",
        missing, culvi_named("multicast object", allocation->label).text);
    CULVI_REFUSE_IF(offset % range->granularity != 0, voice, range->label, CULV_REASON_VALUE,
                    "culv_vmm_map: offset is %" PRIu64
                    ", which is not a multiple of the granularity of %" PRIu64 " bytes",
                    offset, range->granularity);
    return culvi_vmm_check_span(range, offset, allocation->size, "culv_vmm_map");
}

/* The caller holds the lock. */
static culv_result check_free(culv_vmm_range *range, uint64_t offset, uint64_t size)
{
    culvi_vmm_collect(range);
    const culvi_vmm_mapping *there = culvi_vmm_find(range, offset);
    if (there == NULL || there->offset >= offset + size) return CULV_OK;
    CULVI_TEXT(text, 1400);
    culvi_vmm_list(range, offset, size, &text);
    return culvi_fail(&range->device->voice, range->label, CULV_ERROR_BUSY, CULV_REASON_MAPPED,
                      "culv_vmm_map: %" PRIu64 " bytes at offset %" PRIu64
                      " are not free, something is mapped there: %s. Unmap it first%s",
                      size, offset, text.data,
                      culvi_vmm_is_unmapping(range, offset, size)
                          ? "; a mapping that waits for a stream goes once the stream gets there"
                          : "");
}

/* Runs in the device's context. On failure nothing is mapped, or, where the driver does not even
 * take back what it just gave, *left is set. */
static culv_result map_now(const culvi_vmm_mapping *m, const CUmemAccessDesc *access, size_t count,
                           bool *left)
{
    culv_device *device = m->range->device;
    const CUdeviceptr address = m->range->base + m->offset;
    CULVI_CU_TRY(
        device, m->range->label, cuMemMap, (address, (size_t)m->size, 0, m->allocation->handle, 0),
        m->allocation->imported ? CULV_REASON_SIZE : CULV_REASON_DRIVER_REFUSED,
        "%" PRIu64 " bytes could not be mapped at offset %" PRIu64 "%s", m->size, m->offset,
        m->allocation->imported
            ? "; the allocation was imported: culv_vmm_import_desc.size must be the size that its exporter has (culv_vmm_allocation_info::size there), which CUDA does not report"
            : "");
    CUresult r = CULVI_CU(device, cuMemSetAccess, (address, (size_t)m->size, access, count));
    if (r == CUDA_SUCCESS) return CULV_OK;
    culv_result result = culvi_fail_cuda(
        device, m->range->label, r, "cuMemSetAccess",
        r == CUDA_ERROR_INVALID_DEVICE ? CULV_REASON_PEER : CULV_REASON_DRIVER_REFUSED,
        "access to %" PRIu64 " bytes at offset %" PRIu64
        " could not be granted; nothing is mapped there now",
        m->size, m->offset);
    r = CULVI_CU(device, cuMemUnmap, (address, (size_t)m->size));
    if (r != CUDA_SUCCESS) r = CULVI_CU(device, cuMemUnmap, (address, (size_t)m->size));
    *left = !culvi_cuda_answers(r);
    return result;
}

culv_result culvi_vmm_map_resolved(culv_vmm_range *range, uint64_t offset,
                                   culv_vmm_allocation *allocation, const CUmemAccessDesc *access,
                                   size_t count)
{
    culv_device *device = range->device;
    culvi_scope scope;
    bool left = false;
    CULVI_TRY(check_map(range, offset, allocation));
    culvi_vmm_mapping *m = new_mapping(range, offset, allocation);
    if (m == NULL) return culvi_fail_host_memory(&device->voice, range->label);
    culvi_mutex_lock(&device->lock);
    culv_result result = check_free(range, offset, m->size);
    if (result == CULV_OK) result = culvi_enter(device, &scope, range->label);
    if (result == CULV_OK) {
        result = map_now(m, access, count, &left);
        culvi_leave(device, &scope);
        if (result == CULV_OK || left) {
            culvi_tree_add(&range->mappings, &m->node, offset, 0);
            range->num_mappings++;
            device->counts.vmm_mappings++;
        }
        if (left) {
            m->unmapping = true;
            range->num_unmapping++;
            culvi_vmm_defer_batch(range, m);
        }
    }
    culvi_mutex_unlock(&device->lock);
    if (result != CULV_OK && !left) culvi_vmm_mapping_free(m);
    return result;
}

/* Who may do what with what is mapped ---------------------------------------------------------- */

/* Locations of the host's are alike, whatever their number (cuda.h, cuMemSetAccess). */
static culv_result locate(const culv_device *device, const char *label,
                          const culv_vmm_access *access, const char *call, CUmemLocation *out)
{
    const culvi_voice *voice = &device->voice;
    if ((int)access->kind < CULV_VMM_LOCATION_DEVICE || (int)access->kind > CULV_VMM_LOCATION_HOST)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "%s: culv_vmm_access.kind is %d, which is not a culv_vmm_location_kind",
                          call, (int)access->kind);
    CULVI_REFUSE_IF(access->kind != CULV_VMM_LOCATION_DEVICE && access->device != NULL, voice,
                    label, CULV_REASON_VALUE,
                    "%s: culv_vmm_access.device is given, but kind is the host", call);
    CULVI_REFUSE_IF(access->kind != CULV_VMM_LOCATION_HOST_NUMA && access->numa_node != 0, voice,
                    label, CULV_REASON_VALUE,
                    "%s: culv_vmm_access.numa_node is %" PRId32
                    ", but kind is not CULV_VMM_LOCATION_HOST_NUMA",
                    call, access->numa_node);
    const culv_device *asked = access->device != NULL ? access->device : device;
    CULVI_REFUSE_IF(!culvi_vmm_same_driver(device, asked), voice, label,
                    CULV_REASON_DEVICE_MISMATCH,
                    "%s: culv_vmm_access.device is of another driver, '%s', than the range, '%s'",
                    call, asked->caps.name, device->caps.name);
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
    if (access->flags == CULV_VMM_ACCESS_NONE || owner < 0) return CULV_OK;
    CULVI_REFUSE_IF(
        location->type != CU_MEM_LOCATION_TYPE_DEVICE, &device->voice, label, CULV_REASON_PEER,
        "%s: the host has no access to device memory (cuda.h, cuMemSetAccess, which answers CUDA_ERROR_NOT_SUPPORTED); memory of CULV_VMM_LOCATION_HOST_NUMA is for both",
        call);
    if (location->id == owner) return CULV_OK;
    CULVI_CU_INSIDE(r, device, label, cuDeviceCanAccessPeer,
                    (&reaches, (CUdevice)location->id, owner));
    CULVI_CU_CHECK(
        device, label, r, "cuDeviceCanAccessPeer", CULV_REASON_PEER,
        "%s: the driver could not be asked whether CUDA device %d reaches memory of device %d",
        call, location->id, (int)owner);
    CULVI_REFUSE_IF(
        !reaches, &device->voice, label, CULV_REASON_PEER,
        "%s: '%s', CUDA device %d, does not reach memory of device %d (cuDeviceCanAccessPeer says so); keep a copy on each GPU",
        call, access->device != NULL ? access->device->caps.name : device->caps.name, location->id,
        (int)owner);
    return CULV_OK;
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
            result = culvi_fail(
                &device->voice, label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                "%s: culv_vmm_access.flags is %d, which is not one of culv_vmm_access_flags", call,
                (int)a->flags);
        for (size_t j = 0; result == CULV_OK && j < i; j++)
            if (out[j].location.type == out[i].location.type &&
                out[j].location.id == out[i].location.id)
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

culv_result culv_vmm_map(culv_vmm_range *range, uint64_t offset, culv_vmm_allocation *allocation,
                         const culv_vmm_access *access, size_t count)
{
    CUmemAccessDesc few[4], *resolved = few;
    CULVI_REQUIRE_WITH(range, &range->device->voice, allocation);
    if (count > 0) CULVI_REQUIRE(&range->device->voice, access);
    CULVI_TRY(check_map(range, offset, allocation));
    if (count > sizeof few / sizeof few[0]) {
        resolved =
            count <= SIZE_MAX / sizeof *resolved ? culvi_alloc(count * sizeof *resolved) : NULL;
        if (resolved == NULL) return culvi_fail_host_memory(&range->device->voice, range->label);
    }
    culv_result result = culvi_vmm_resolve_for(range->device, range->label, allocation->owner,
                                               access, count, resolved, "culv_vmm_map");
    if (result == CULV_OK)
        result = culvi_vmm_map_resolved(range, offset, allocation, resolved, count > 0 ? count : 1);
    if (resolved != few) culvi_free(resolved);
    return result;
}
