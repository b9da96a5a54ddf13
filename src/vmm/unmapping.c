/* SPDX-License-Identifier: MIT */
/* Unmapping, at once and deferred. CUDA unmaps whole mappings alone, and cuMemUnmap does not wait
 * for work that uses what it takes away (measured), so that what is deferred needs an event of its
 * stream. */
#include "base/alloc.h"
#include "cuda/context.h"
#include "cuda/retire.h"
#include "culvert/vmm.h"
#include "vmm/mapping.h"

#include <inttypes.h>

bool culvi_vmm_unmap_one(culv_vmm_range *range, size_t place, bool last_try, CUresult *code)
{
    culv_device *device = range->device;
    culvi_vmm_mapping *m = range->mappings[place];
    *code = CULVI_CU(device, cuMemUnmap, (range->base + m->offset, (size_t)m->size));
    if (culvi_cuda_sticky(*code)) /* as with cuMemRelease: allocation.c */
        (void)CULVI_CU(device, cuMemUnmap, (range->base + m->offset, (size_t)m->size));
    if (!culvi_release_done(device, "cuMemUnmap", *code, last_try)) return false;
    if (m->unmapping) range->num_unmapping--;
    device->counts.vmm_mappings--;
    range->mappings[place] = NULL;
    culvi_vmm_mapping_free(m);
    return true;
}

static bool release_batch(culv_device *device, culvi_deferred *self, bool last_try);

static void prepare_batch(culv_vmm_range *range, culvi_vmm_mapping *batch)
{
    batch->deferred.event = NULL;
    batch->deferred.release = release_batch;
    batch->deferred.holder = range;
}

void culvi_vmm_defer_batch(culv_vmm_range *range, culvi_vmm_mapping *batch)
{
    prepare_batch(range, batch);
    culvi_defer(range->device, &batch->deferred);
}

/* What the driver refuses to unmap becomes a batch of its own. Batches are sorted, as the table
 * is. */
static bool release_batch(culv_device *device, culvi_deferred *self, bool last_try)
{
    culvi_vmm_mapping *m = CULVI_CONTAINER(self, culvi_vmm_mapping, deferred);
    culv_vmm_range *range = m->range;
    culvi_vmm_mapping *left = NULL, **tail = &left;
    (void)device;
    for (size_t i = culvi_vmm_find(range, m->offset); m != NULL; i++) {
        CUresult r;
        if (range->mappings[i] != m) continue;
        culvi_vmm_mapping *next = m->next;
        if (!culvi_vmm_unmap_one(range, i, last_try, &r)) {
            m->next = NULL;
            *tail = m;
            tail = &m->next;
        }
        m = next;
    }
    culvi_vmm_compact(range);
    if (left != NULL)
        culvi_vmm_defer_batch(range, left);
    else
        culvi_vmm_range_release_empty(range, last_try);
    return true;
}

void culvi_vmm_collect(culv_vmm_range *range)
{
    if (range->num_unmapping > 0) culvi_collect_for(range->device, range);
}

typedef struct span {
    const culv_vmm_range *range;
    uint64_t offset, size;
} span;

static bool touches(const culvi_deferred *object, const void *context)
{
    const span *where = context;
    if (object->holder != where->range) return false;
    const culvi_vmm_mapping *m = CULVI_CONTAINER(object, const culvi_vmm_mapping, deferred);
    for (; m != NULL; m = m->next)
        if (m->offset < where->offset + where->size && where->offset < m->offset + m->size)
            return true;
    return false;
}

bool culvi_vmm_is_unmapping(const culv_vmm_range *range, uint64_t offset, uint64_t size)
{
    for (size_t i = culvi_vmm_find(range, offset);
         i < range->num_mappings && range->mappings[i]->offset < offset + size; i++)
        if (range->mappings[i]->unmapping) return true;
    return false;
}

culv_result culvi_vmm_wait_and_collect(culv_vmm_range *range, uint64_t offset, uint64_t size)
{
    culv_device *device = range->device;
    const span where = {range, offset, size};
    bool waiting = true;
    culv_result result = culvi_vmm_check_span(range, offset, size, "culvi_vmm_wait_and_collect");
    if (result != CULV_OK) return result;
    for (int attempt = 0; attempt < 3 && waiting; attempt++) {
        culvi_wait_and_collect_chosen(device, touches, &where);
        culvi_mutex_lock(&device->lock);
        waiting = culvi_vmm_is_unmapping(range, offset, size);
        culvi_mutex_unlock(&device->lock);
    }
    if (!waiting) return CULV_OK;
    return culvi_fail(&device->voice, range->label, CULV_ERROR_BUSY, CULV_REASON_MAPPED,
                      "the driver did not take back what was unmapped of the %" PRIu64
                      " bytes at offset %" PRIu64 " of the range",
                      size, offset);
}

/* What is meant -------------------------------------------------------------------------------- */

static culv_result refuse_part(const culv_vmm_range *range, const culvi_vmm_mapping *m,
                               uint64_t offset, uint64_t size, const char *call)
{
    return culvi_fail(
        &range->device->voice, range->label, CULV_ERROR_INVALID, CULV_REASON_NOT_MAPPED,
        "%s: %" PRIu64 " bytes at offset %" PRIu64 " end within a mapping, the one of %" PRIu64
        " bytes at offset %" PRIu64 "%s%s%s; CUDA takes whole mappings only",
        call, size, offset, m->size, m->offset, m->allocation->label[0] != '\0' ? " ('" : "",
        m->allocation->label, m->allocation->label[0] != '\0' ? "')" : "");
}

culv_result culvi_vmm_choose(const culv_vmm_range *range, uint64_t offset, uint64_t size,
                             const char *call, size_t *first, size_t *end)
{
    size_t live = 0;
    culv_result result = culvi_vmm_check_span(range, offset, size, call);
    if (result != CULV_OK) return result;
    *first = *end = culvi_vmm_find(range, offset);
    for (; *end < range->num_mappings && range->mappings[*end]->offset < offset + size; ++*end) {
        const culvi_vmm_mapping *m = range->mappings[*end];
        if (m->unmapping) continue;
        if (m->offset < offset || m->offset + m->size > offset + size)
            return refuse_part(range, m, offset, size, call);
        live++;
    }
    if (live > 0) return CULV_OK;
    return culvi_fail(
        &range->device->voice, range->label, CULV_ERROR_INVALID, CULV_REASON_NOT_MAPPED,
        "%s: nothing is mapped in the %" PRIu64 " bytes at offset %" PRIu64 " of the range%s", call,
        size, offset, *end > *first ? "; what was there is unmapped, and waits for a stream" : "");
}

/* The calls ------------------------------------------------------------------------------------ */

/* The caller holds the lock. */
static culv_result unmap(culv_vmm_range *range, size_t first, size_t end)
{
    culv_device *device = range->device;
    culvi_scope scope;
    bool entered = false;
    culv_result result = culvi_vmm_enter(device, &scope, range->label, &entered);
    if (result != CULV_OK) return result;
    for (size_t i = first; i < end && result == CULV_OK; i++) {
        CUresult r;
        const culvi_vmm_mapping *m = range->mappings[i];
        if (!m->unmapping && !culvi_vmm_unmap_one(range, i, false, &r))
            result =
                culvi_fail_cuda(device, range->label, r, "cuMemUnmap", CULV_REASON_DRIVER_REFUSED,
                                "%" PRIu64 " bytes at offset %" PRIu64 " could not be unmapped",
                                m->size, m->offset);
    }
    culvi_vmm_compact(range);
    if (entered) culvi_leave(device, &scope);
    return result;
}

culv_result culv_vmm_unmap(culv_vmm_range *range, uint64_t offset, uint64_t size)
{
    size_t first = 0, end = 0;
    CULVI_REQUIRE(NULL, range);
    culvi_mutex_lock(&range->device->lock);
    culvi_vmm_collect(range);
    culv_result result = culvi_vmm_choose(range, offset, size, "culv_vmm_unmap", &first, &end);
    if (result == CULV_OK) result = unmap(range, first, end);
    culvi_mutex_unlock(&range->device->lock);
    return result;
}

/* One batch of what is mapped there; the caller holds the lock. */
static culvi_vmm_mapping *chain(culv_vmm_range *range, size_t first, size_t end)
{
    culvi_vmm_mapping *batch = NULL, **tail = &batch;
    for (size_t i = first; i < end; i++) {
        culvi_vmm_mapping *m = range->mappings[i];
        if (m->unmapping) continue;
        m->next = NULL;
        *tail = m;
        tail = &m->next;
    }
    if (batch != NULL) prepare_batch(range, batch);
    return batch;
}

static void mark_batch(culv_vmm_range *range, culvi_vmm_mapping *batch)
{
    for (; batch != NULL; batch = batch->next) {
        batch->unmapping = true;
        range->num_unmapping++;
    }
}

culv_result culvi_vmm_unmap_after(culv_vmm_range *range, uint64_t offset, uint64_t size,
                                  CUstream last_use, const char *call)
{
    size_t first = 0, end = 0;
    culvi_scope scope;
    bool entered = false;
    culv_device *device = range->device;
    culvi_mutex_lock(&device->lock);
    culvi_vmm_collect(range);
    culv_result result = culvi_vmm_choose(range, offset, size, call, &first, &end);
    if (result == CULV_OK) result = culvi_vmm_enter(device, &scope, range->label, &entered);
    if (result == CULV_OK && entered) {
        culvi_vmm_mapping *batch = chain(range, first, end);
        result = culvi_defer_after(device, &batch->deferred, last_use, range->label, call);
        if (result == CULV_OK) mark_batch(range, batch);
        /* In a broken context nothing runs any more. */
        if (result == CULV_ERROR_ASYNC) result = unmap(range, first, end);
        culvi_leave(device, &scope);
    } else if (result == CULV_OK) {
        result = unmap(range, first, end); /* the context is lost: no stream is left to wait for */
    }
    culvi_mutex_unlock(&device->lock);
    return result;
}

culv_result culv_vmm_unmap_after(culv_vmm_range *range, uint64_t offset, uint64_t size,
                                 CUstream last_use)
{
    if (range == NULL) return culvi_fail_null(NULL, __func__, "range");
    return culvi_vmm_unmap_after(range, offset, size, last_use, __func__);
}

/* The first mapping from `first` on that begins at `offset` or beyond. */
static size_t end_of(const culv_vmm_range *range, size_t first, uint64_t offset)
{
    while (first < range->num_mappings && range->mappings[first]->offset < offset)
        first++;
    return first;
}

void culvi_vmm_unmap_or_defer(culv_vmm_range *range, uint64_t offset, uint64_t size)
{
    culv_device *device = range->device;
    culvi_scope scope;
    culvi_mutex_lock(&device->lock);
    const size_t first = culvi_vmm_find(range, offset), end = end_of(range, first, offset + size);
    bool entered = culvi_enter_quietly(device, &scope) == CUDA_SUCCESS;
    for (size_t i = first; (entered || device->lost) && i < end; i++) {
        CUresult r;
        if (!range->mappings[i]->unmapping) (void)culvi_vmm_unmap_one(range, i, false, &r);
    }
    culvi_vmm_compact(range);
    culvi_vmm_mapping *refused = chain(range, first, end_of(range, first, offset + size));
    if (refused != NULL) {
        mark_batch(range, refused);
        culvi_vmm_defer_batch(range, refused);
    }
    if (entered) culvi_leave(device, &scope);
    culvi_mutex_unlock(&device->lock);
}
