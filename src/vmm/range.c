/* SPDX-License-Identifier: MIT */
/* Reserved addresses, and which of them are in use. */
#include "vmm/range.h"

#include "vmm/mapping.h"

culvi_vmm_mapping *culvi_vmm_find(const culv_vmm_range *range, uint64_t offset)
{
    culvi_vmm_mapping *m =
        CULVI_TREE_OBJECT(culvi_tree_up_to(&range->mappings, offset, 0), culvi_vmm_mapping, node);
    if (m != NULL && m->offset + m->size > offset) return m;
    return CULVI_TREE_OBJECT(culvi_tree_from(&range->mappings, offset, 1), culvi_vmm_mapping, node);
}

culvi_vmm_mapping *culvi_vmm_next(const culvi_vmm_mapping *mapping)
{
    return CULVI_TREE_OBJECT(culvi_tree_next(&mapping->node), culvi_vmm_mapping, node);
}

void culvi_vmm_list(const culv_vmm_range *range, uint64_t offset, uint64_t size, culvi_text *text)
{
    enum { MANY = 8 };
    size_t listed = 0, more = 0;
    for (const culvi_vmm_mapping *m = culvi_vmm_find(range, offset);
         m != NULL && m->offset < offset + size; m = culvi_vmm_next(m)) {
        if (listed == MANY) {
            more++;
            continue;
        }
        culvi_text_add(text, "%s%" PRIu64 " bytes at offset %" PRIu64, listed++ > 0 ? ", " : "",
                       m->size, m->offset);
        if (m->allocation->label[0] != '\0') culvi_text_add(text, " ('%s')", m->allocation->label);
        if (m->unmapping) culvi_text_add(text, " (unmapped: it waits for a stream)");
    }
    if (more > 0) culvi_text_add(text, ", and %zu more", more);
}

culv_result culvi_vmm_check_span(const culv_vmm_range *range, uint64_t offset, uint64_t size,
                                 const char *call)
{
    if (size != 0 && offset < range->size && size <= range->size - offset) return CULV_OK;
    return culvi_fail(&range->device->voice, range->label, CULV_ERROR_INVALID, CULV_REASON_RANGE,
                      "%s: %" PRIu64 " bytes at offset %" PRIu64 " %s, which has %" PRIu64 " bytes",
                      call, size, offset,
                      size == 0 ? "name no part of the range" : "leave the range", range->size);
}

/* Addresses ------------------------------------------------------------------------------------ */

static bool free_addresses(culv_vmm_range *range, bool last_try, CUresult *code)
{
    culv_device *device = range->device;
    *code = CULVI_CU(device, cuMemAddressFree, (range->base, (size_t)range->size));
    if (culvi_cuda_sticky(*code)) /* as with cuMemRelease: allocation.c */
        (void)CULVI_CU(device, cuMemAddressFree, (range->base, (size_t)range->size));
    if (!culvi_release_done(device, "cuMemAddressFree", *code, last_try)) return false;
    device->counts.vmm_ranges--;
    culvi_log_object(&device->voice, "destroyed", "address range", range->label, range->size);
    culvi_free(range);
    return true;
}

static bool release_addresses(culv_device *device, culvi_deferred *self, bool last_try)
{
    CUresult r;
    (void)device;
    return free_addresses(CULVI_CONTAINER(self, culv_vmm_range, deferred), last_try, &r);
}

void culvi_vmm_range_release_empty(culv_vmm_range *range, bool last_try)
{
    CUresult r;
    culv_device *device = range->device;
    if (!range->given_up || range->num_mappings > 0 || free_addresses(range, last_try, &r)) return;
    range->deferred.event = NULL;
    range->deferred.release = release_addresses;
    culvi_defer(device, &range->deferred);
}

/* What nobody unmapped goes with the device, when no work is left that could use it. */
static bool release_with_device(culv_device *device, culvi_deferred *self, bool last_try)
{
    CUresult r;
    culv_vmm_range *range = CULVI_CONTAINER(self, culv_vmm_range, deferred);
    if (atomic_load(&device->refs) > 0 && !device->lost) return false;
    bool all = true;
    for (culvi_vmm_mapping *m = culvi_vmm_find(range, 0), *next; m != NULL; m = next) {
        next = culvi_vmm_next(m);
        if (!m->unmapping) all = culvi_vmm_unmap_one(m, last_try, &r) && all;
    }
    if (all) culvi_vmm_range_release_empty(range, last_try);
    return all;
}

void culvi_vmm_range_release_or_defer(culv_vmm_range **range)
{
    if (*range == NULL) return;
    culv_vmm_range *mine = *range;
    culv_device *device = mine->device;
    culvi_scope scope;
    *range = NULL;
    culvi_mutex_lock(&device->lock);
    mine->given_up = true;
    bool entered = culvi_enter_quietly(device, &scope) == CUDA_SUCCESS;
    if (mine->num_mappings == mine->num_unmapping && (entered || device->lost)) {
        culvi_vmm_range_release_empty(mine, false);
    } else if (mine->num_mappings == 0 || mine->num_mappings > mine->num_unmapping) {
        mine->deferred.event = NULL;
        mine->deferred.release = mine->num_mappings == 0 ? release_addresses : release_with_device;
        culvi_defer(device, &mine->deferred);
    }
    if (entered) culvi_leave(device, &scope);
    culvi_mutex_unlock(&device->lock);
    culvi_device_unref(device);
}

static culv_result check_desc(const culv_device *device, const culv_vmm_range_desc *d,
                              uint64_t granularity)
{
    const culvi_voice *voice = &device->voice;
    CULVI_REFUSE_IF(d->size == 0 || d->size > UINT64_MAX - (granularity - 1), voice, d->label,
                    CULV_REASON_SIZE, "culv_vmm_range_desc.size is %" PRIu64 "%s", d->size,
                    d->size == 0 ? "" : ", which cannot be rounded up to the granularity");
    CULVI_REFUSE_IF((d->alignment & (d->alignment - 1)) != 0, voice, d->label, CULV_REASON_VALUE,
                    "culv_vmm_range_desc.alignment is %" PRIu64 ", which is not a power of two",
                    d->alignment);
    CULVI_REFUSE_IF(d->address % granularity != 0 ||
                        (d->alignment != 0 && d->address % d->alignment != 0),
                    voice, d->label, CULV_REASON_VALUE,
                    "culv_vmm_range_desc.address is %#" PRIx64 ", which is not a multiple of %s",
                    (uint64_t)d->address,
                    d->address % granularity != 0 ? "the granularity (culv_vmm_get_granularity())"
                                                  : "culv_vmm_range_desc.alignment");
    return CULV_OK;
}

/* Runs in the device's context. */
static culv_result reserve(culv_vmm_range *range, const culv_vmm_range_desc *d)
{
    culv_device *device = range->device;
    CUresult r = CULVI_CU(device, cuMemAddressReserve,
                          (&range->base, (size_t)range->size, (size_t)d->alignment, d->address, 0));
    if (r == CUDA_ERROR_OUT_OF_MEMORY)
        return culvi_fail_native(&device->voice, d->label, CULV_ERROR_OUT_OF_MEMORY,
                                 CULV_REASON_ADDRESS, CULV_NATIVE_CUDA, r, "cuMemAddressReserve",
                                 "no range of %" PRIu64
                                 " bytes of addresses is free (CUDA_ERROR_OUT_OF_MEMORY)",
                                 range->size);
    CULVI_CU_CHECK(device, d->label, r, "cuMemAddressReserve", CULV_REASON_DRIVER_REFUSED,
                   "%" PRIu64 " bytes of addresses could not be reserved", range->size);
    if (d->address == 0 || range->base == d->address) return CULV_OK;
    return culvi_fail(
        &device->voice, d->label, CULV_ERROR_OUT_OF_MEMORY, CULV_REASON_ADDRESS,
        "%" PRIu64 " bytes of addresses at %#" PRIx64
        " could not be reserved, since something else is there; the driver offered %#" PRIx64,
        range->size, (uint64_t)d->address, (uint64_t)range->base);
}

culv_result culv_vmm_range_create(culv_device *device, const culv_vmm_range_desc *desc,
                                  culv_vmm_range **out)
{
    culvi_scope scope;
    uint64_t granularity = 0;
    CULVI_REQUIRE_WITH2(device, &device->voice, desc, out);
    CULVI_READ(&device->voice, culv_vmm_range_desc, d, desc);
    CULVI_TRY(culvi_vmm_check_device(device, "culv_vmm_range_create"));
    CULVI_TRY(culvi_vmm_least_granularity(device, CULV_VMM_LOCATION_DEVICE, 0, &granularity));
    CULVI_TRY(check_desc(device, &d, granularity));
    CULVI_NEW(culv_vmm_range, range, &device->voice, d.label);
    range->device = device;
    range->granularity = granularity;
    range->size = (d.size + granularity - 1) / granularity * granularity;
    culvi_label_set(range->label, d.label);
    culv_result result = culvi_enter(device, &scope, d.label);
    CULVI_TRY_OR(result, culvi_free(range));
    result = reserve(range, &d);
    culvi_mutex_lock(&device->lock);
    const bool reserved = range->base != 0;
    device->counts.vmm_ranges += reserved;
    if (result != CULV_OK) {
        /* Somewhere else than it was to be. */
        range->given_up = true;
        if (reserved)
            culvi_vmm_range_release_empty(range, false);
        else
            culvi_free(range);
    }
    culvi_mutex_unlock(&device->lock);
    culvi_leave(device, &scope);
    if (result != CULV_OK) return result;
    culvi_device_ref(device);
    culvi_log_object(&device->voice, "made", "address range", range->label, range->size);
    *out = range;
    return CULV_OK;
}

/* The caller holds the lock. */
static culv_result release(culv_vmm_range *range)
{
    culv_device *device = range->device;
    culvi_scope scope;
    bool entered = false;
    culvi_vmm_collect(range);
    if (range->num_mappings > 0) {
        CULVI_TEXT(text, 1400);
        culvi_vmm_list(range, 0, range->size, &text);
        return culvi_fail(
            &device->voice, range->label, CULV_ERROR_BUSY, CULV_REASON_MAPPED,
            "the range of %" PRIu64 " bytes at %#" PRIx64
            " cannot be released, since something is mapped in it: %s. Call culv_vmm_unmap() first%s",
            range->size, (uint64_t)range->base, text.data,
            range->num_unmapping > 0
                ? "; a mapping that waits for a stream goes once the stream gets there"
                : "");
    }
    culv_result result = culvi_vmm_enter(device, &scope, range->label, &entered);
    if (result != CULV_OK) return result;
    CUresult r;
    if (!free_addresses(range, false, &r))
        result = culvi_fail_cuda(
            device, range->label, r, "cuMemAddressFree", CULV_REASON_DRIVER_REFUSED,
            "%" PRIu64 " bytes of addresses at %#" PRIx64 " could not be given back", range->size,
            (uint64_t)range->base);
    if (entered) culvi_leave(device, &scope);
    return result;
}

culv_result culv_vmm_range_destroy(culv_vmm_range **range)
{
    if (range == NULL || *range == NULL) return CULV_OK;
    culv_device *device = (*range)->device;
    culvi_mutex_lock(&device->lock);
    culv_result result = release(*range);
    culvi_mutex_unlock(&device->lock);
    if (result != CULV_OK) return result;
    *range = NULL;
    culvi_device_unref(device);
    return CULV_OK;
}

CULVI_GETTER(CUdeviceptr, culv_vmm_range_pointer, culv_vmm_range, self->base, 0)
CULVI_GETTER(uint64_t, culv_vmm_range_size, culv_vmm_range, self->size, 0)
