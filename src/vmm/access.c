/* SPDX-License-Identifier: MIT */
/* Who may do what with what is mapped. cuMemSetAccess adds to what was granted before, so that each
 * mapping remembers its own list, from which it is granted again. */
#include "vmm/access.h"

#include "base/alloc.h"
#include "cuda/context.h"
#include "vmm/mapping.h"

#include <inttypes.h>

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

/* Changing it ---------------------------------------------------------------------------------- */

/* A change, of all mappings of a span or of none. */
typedef struct change {
    culv_vmm_range *range;
    culvi_vmm_mapping **mappings; /* those that do not wait for their release */
    size_t num_mappings;
    const CUmemAccessDesc *access; /* `count` entries for each mapping, resolved for its owner */
    size_t count;
    CUmemAccessDesc **merged; /* by mapping: what it is granted then */
    size_t *num_merged;
    CUmemAccessDesc *before; /* room for `count` entries */
} change;

static const CUmemAccessDesc *find_place(const CUmemAccessDesc *list, size_t count,
                                         const CUmemLocation *place)
{
    for (size_t i = 0; i < count; i++)
        if (same_place(&list[i].location, place)) return &list[i];
    return NULL;
}

/* What a mapping has granted, with the change in it. */
static bool merge(change *c, size_t i)
{
    const culvi_vmm_mapping *m = c->mappings[i];
    size_t n = m->num_access;
    CUmemAccessDesc *merged = culvi_alloc((n + c->count) * sizeof *merged);
    if (merged == NULL) return false;
    memcpy(merged, m->access, n * sizeof *merged);
    for (size_t j = 0; j < c->count; j++) {
        size_t at = 0;
        while (at < n && !same_place(&merged[at].location, &c->access[j].location))
            at++;
        merged[at] = c->access[j];
        n += at == n;
    }
    c->merged[i] = merged;
    c->num_merged[i] = n;
    return true;
}

static CUresult grant(const culvi_vmm_mapping *m, const CUmemAccessDesc *access, size_t count)
{
    const culv_device *device = m->range->device;
    return CULVI_CU(device, cuMemSetAccess,
                    (m->range->base + m->offset, (size_t)m->size, access, count));
}

/* What the change took away or gave, as it was. */
static void restore(const change *c, size_t i)
{
    const culvi_vmm_mapping *m = c->mappings[i];
    for (size_t j = 0; j < c->count; j++) {
        const CUmemAccessDesc *old = find_place(m->access, m->num_access, &c->access[j].location);
        c->before[j] = c->access[j];
        c->before[j].flags = old != NULL ? old->flags : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    }
    if (grant(m, c->before, c->count) == CUDA_SUCCESS ||
        grant(m, c->before, c->count) == CUDA_SUCCESS)
        return;
    culvi_log(&c->range->device->voice, CULV_LOG_WARNING,
              "access to %" PRIu64 " bytes at offset %" PRIu64 " could not be restored", m->size,
              m->offset);
}

/* Runs in the device's context. */
static culv_result apply(change *c)
{
    culv_vmm_range *range = c->range;
    for (size_t i = 0; i < c->num_mappings; i++) {
        const culvi_vmm_mapping *m = c->mappings[i];
        CUresult r = grant(m, c->access, c->count);
        if (r == CUDA_SUCCESS) continue;
        culv_result result = culvi_fail_cuda(
            range->device, range->label, r, "cuMemSetAccess",
            r == CUDA_ERROR_INVALID_DEVICE ? CULV_REASON_PEER : CULV_REASON_DRIVER_REFUSED,
            "access to %" PRIu64 " bytes at offset %" PRIu64
            " could not be changed; it is as it was",
            m->size, m->offset);
        for (size_t j = 0; j <= i; j++)
            restore(c, j);
        return result;
    }
    for (size_t i = 0; i < c->num_mappings; i++) {
        culvi_vmm_mapping *m = c->mappings[i];
        CUmemAccessDesc *old = m->access != &m->first ? m->access : NULL;
        m->access = c->merged[i];
        m->num_access = c->num_merged[i];
        c->merged[i] = old;
    }
    return CULV_OK;
}

static void end_change(change *c)
{
    for (size_t i = 0; c->merged != NULL && i < c->num_mappings; i++)
        culvi_free(c->merged[i]);
    culvi_free(c->mappings);
    culvi_free(c->merged);
    culvi_free(c->num_merged);
    culvi_free(c->before);
}

/* The caller holds the lock. */
static culv_result set_access(change *c, culvi_vmm_mapping *first, size_t mappings,
                              const culv_vmm_access *access, size_t count)
{
    culv_vmm_range *range = c->range;
    culv_device *device = range->device;
    culvi_scope scope;
    CUmemAccessDesc *resolved = culvi_alloc((count > 0 ? count : 1) * sizeof *resolved);
    c->count = count > 0 ? count : 1;
    c->access = resolved;
    c->before = culvi_alloc(c->count * sizeof *c->before);
    c->mappings = culvi_alloc(mappings * sizeof(culvi_vmm_mapping *));
    c->merged = culvi_alloc(mappings * sizeof *c->merged);
    c->num_merged = culvi_alloc(mappings * sizeof *c->num_merged);
    culv_result result = CULV_OK;
    bool enough = resolved != NULL && c->before != NULL && c->mappings != NULL &&
                  c->merged != NULL && c->num_merged != NULL;
    for (culvi_vmm_mapping *m = first; enough && mappings > 0; mappings--, m = culvi_vmm_next(m))
        if (!m->unmapping) c->mappings[c->num_mappings++] = m;
    CUdevice checked = -2; /* no owner yet */
    for (size_t i = 0; enough && result == CULV_OK && i < c->num_mappings; i++) {
        const culvi_vmm_mapping *m = c->mappings[i];
        if (m->allocation->owner != checked)
            result = culvi_vmm_resolve_for(device, range->label, m->allocation->owner, access,
                                           count, resolved, "culv_vmm_set_access");
        checked = m->allocation->owner;
        if (result == CULV_OK) enough = merge(c, i);
    }
    if (!enough) result = culvi_fail_host_memory(&device->voice, range->label);
    if (result == CULV_OK) result = culvi_enter(device, &scope, range->label);
    if (result == CULV_OK) {
        result = apply(c);
        culvi_leave(device, &scope);
    }
    end_change(c);
    culvi_free(resolved);
    return result;
}

culv_result culv_vmm_set_access(culv_vmm_range *range, uint64_t offset, uint64_t size,
                                const culv_vmm_access *access, size_t count)
{
    static const char call[] = "culv_vmm_set_access";
    change c = {.range = range};
    CULVI_REQUIRE(NULL, range);
    if (count > 0) CULVI_REQUIRE(&range->device->voice, access);
    if (count > SIZE_MAX / 4 / sizeof(CUmemAccessDesc))
        return culvi_fail(&range->device->voice, range->label, CULV_ERROR_INVALID,
                          CULV_REASON_VALUE, "%s: count is %zu", call, count);
    culvi_mutex_lock(&range->device->lock);
    culvi_vmm_collect(range);
    culvi_vmm_mapping *first = NULL;
    size_t mappings = 0;
    culv_result result = culvi_vmm_choose(range, offset, size, call, &first, &mappings);
    if (result == CULV_OK) result = set_access(&c, first, mappings, access, count);
    culvi_mutex_unlock(&range->device->lock);
    return result;
}

culv_result culv_vmm_get_access(culv_vmm_range *range, uint64_t offset, culv_vmm_access *access)
{
    static const char call[] = "culv_vmm_get_access";
    culvi_scope scope;
    CUmemLocation location;
    unsigned long long flags = 0;
    CULVI_REQUIRE(NULL, range);
    CULVI_REQUIRE(&range->device->voice, access);
    culv_device *device = range->device;
    culv_result result = culvi_vmm_check_span(range, offset, 1, call);
    if (result == CULV_OK) result = locate(device, range->label, access, call, &location);
    if (result != CULV_OK) return result;
    culvi_mutex_lock(&device->lock);
    const culvi_vmm_mapping *at = culvi_vmm_find(range, offset);
    if (at == NULL || at->offset > offset || at->unmapping)
        result =
            culvi_fail(&device->voice, range->label, CULV_ERROR_INVALID, CULV_REASON_NOT_MAPPED,
                       "%s: nothing is mapped at offset %" PRIu64 " of the range", call, offset);
    if (result == CULV_OK) result = culvi_enter(device, &scope, range->label);
    if (result == CULV_OK) {
        CUresult r = CULVI_CU(device, cuMemGetAccess, (&flags, &location, range->base + offset));
        if (r != CUDA_SUCCESS)
            result = culvi_fail_cuda(
                device, range->label, r, "cuMemGetAccess", CULV_REASON_DRIVER_REFUSED,
                "the access at offset %" PRIu64 " could not be queried", offset);
        culvi_leave(device, &scope);
    }
    culvi_mutex_unlock(&device->lock);
    if (result == CULV_OK) access->flags = (culv_vmm_access_flags)flags;
    return result;
}
