/* SPDX-License-Identifier: MIT */
/* Unmapping, at once and deferred. CUDA unmaps whole mappings alone, and cuMemUnmap does not wait
 * for work that uses what it takes away (measured), so that what is deferred needs an event of its
 * stream. */
#include "culvert/vmm.h"
#include "vmm/mapping.h"

bool culvi_vmm_unmap_one(culvi_vmm_mapping *m, bool last_try, CUresult *code)
{
    culv_vmm_range *range = m->range;
    culv_device *device = range->device;
    *code = CULVI_CU(device, cuMemUnmap, (range->base + m->offset, (size_t)m->size));
    if (culvi_cuda_sticky(*code)) /* as with cuMemRelease: allocation.c */
        (void)CULVI_CU(device, cuMemUnmap, (range->base + m->offset, (size_t)m->size));
    if (!culvi_release_done(device, "cuMemUnmap", *code, last_try)) return false;
    if (m->unmapping) range->num_unmapping--;
    device->counts.vmm_mappings--;
    range->num_mappings--;
    culvi_tree_remove(&range->mappings, &m->node);
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

/* What the driver refuses to unmap becomes a batch of its own. */
static bool release_batch(culv_device *device, culvi_deferred *self, bool last_try)
{
    culvi_vmm_mapping *m = CULVI_CONTAINER(self, culvi_vmm_mapping, deferred);
    culv_vmm_range *range = m->range;
    culvi_vmm_mapping *left = NULL, **tail = &left;
    (void)device;
    while (m != NULL) {
        CUresult r;
        culvi_vmm_mapping *next = m->next;
        if (!culvi_vmm_unmap_one(m, last_try, &r)) {
            m->next = NULL;
            *tail = m;
            tail = &m->next;
        }
        m = next;
    }
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
    uint64_t offset, size;
} span;

static bool touches(const culvi_deferred *object, const void *context)
{
    const span *where = context;
    const culvi_vmm_mapping *m = CULVI_CONTAINER(object, const culvi_vmm_mapping, deferred);
    for (; m != NULL; m = m->next)
        if (m->offset < where->offset + where->size && where->offset < m->offset + m->size)
            return true;
    return false;
}

bool culvi_vmm_is_unmapping(const culv_vmm_range *range, uint64_t offset, uint64_t size)
{
    for (const culvi_vmm_mapping *m = culvi_vmm_find(range, offset);
         m != NULL && m->offset < offset + size; m = culvi_vmm_next(m))
        if (m->unmapping) return true;
    return false;
}

culv_result culvi_vmm_wait_and_collect(culv_vmm_range *range, uint64_t offset, uint64_t size)
{
    culv_device *device = range->device;
    const span where = {offset, size};
    bool waiting = true;
    CULVI_TRY(culvi_vmm_check_span(range, offset, size, "culvi_vmm_wait_and_collect"));
    for (int attempt = 0; attempt < 3 && waiting; attempt++) {
        culvi_wait_and_collect_for(device, range, touches, &where);
        CULVI_LOCKED(&device->lock, waiting = culvi_vmm_is_unmapping(range, offset, size));
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

/* The mappings in [offset, offset + size): the first of them, and how many; some of them may be
 * unmapping. */
static culv_result choose(const culv_vmm_range *range, uint64_t offset, uint64_t size,
                          const char *call, culvi_vmm_mapping **first, size_t *count)
{
    size_t live = 0;
    CULVI_TRY(culvi_vmm_check_span(range, offset, size, call));
    *first = culvi_vmm_find(range, offset);
    *count = 0;
    for (const culvi_vmm_mapping *m = *first; m != NULL && m->offset < offset + size;
         m = culvi_vmm_next(m), ++*count) {
        if (m->unmapping) continue;
        if (m->offset < offset || m->offset + m->size > offset + size)
            return refuse_part(range, m, offset, size, call);
        live++;
    }
    if (live > 0) return CULV_OK;
    return culvi_fail(
        &range->device->voice, range->label, CULV_ERROR_INVALID, CULV_REASON_NOT_MAPPED,
        "%s: nothing is mapped in the %" PRIu64 " bytes at offset %" PRIu64 " of the range%s", call,
        size, offset, *count > 0 ? "; what was there is unmapped, and waits for a stream" : "");
}

/* The calls ------------------------------------------------------------------------------------ */

/* The caller holds the lock. */
static culv_result unmap(culv_vmm_range *range, culvi_vmm_mapping *first, size_t count)
{
    culv_device *device = range->device;
    culvi_scope scope;
    bool entered = false;
    culv_result result = culvi_vmm_enter(device, &scope, range->label, &entered);
    if (result != CULV_OK) return result;
    for (culvi_vmm_mapping *m = first, *next; count > 0 && result == CULV_OK; count--, m = next) {
        CUresult r;
        next = culvi_vmm_next(m);
        if (!m->unmapping && !culvi_vmm_unmap_one(m, false, &r))
            result =
                culvi_fail_cuda(device, range->label, r, "cuMemUnmap", CULV_REASON_DRIVER_REFUSED,
                                "%" PRIu64 " bytes at offset %" PRIu64 " could not be unmapped",
                                m->size, m->offset);
    }
    if (entered) culvi_leave(device, &scope);
    return result;
}

culv_result culv_vmm_unmap(culv_vmm_range *range, uint64_t offset, uint64_t size,
                           const CUstream *last_use)
{
    culvi_vmm_mapping *first = NULL;
    size_t count = 0;
    CULVI_REQUIRE(NULL, range);
    if (last_use != NULL) return culvi_vmm_unmap_after(range, offset, size, *last_use, __func__);
    culvi_mutex_lock(&range->device->lock);
    culvi_vmm_collect(range);
    culv_result result = choose(range, offset, size, __func__, &first, &count);
    if (result == CULV_OK) result = unmap(range, first, count);
    culvi_mutex_unlock(&range->device->lock);
    return result;
}

/* One batch of what is mapped from `first` up to `end` and does not wait already; the caller holds
 * the lock. */
static culvi_vmm_mapping *chain(culv_vmm_range *range, culvi_vmm_mapping *first, uint64_t end)
{
    culvi_vmm_mapping *batch = NULL, **tail = &batch;
    for (culvi_vmm_mapping *m = first; m != NULL && m->offset < end; m = culvi_vmm_next(m)) {
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
    culvi_vmm_mapping *first = NULL;
    size_t count = 0;
    culvi_scope scope;
    bool entered = false;
    culv_device *device = range->device;
    culvi_mutex_lock(&device->lock);
    culvi_vmm_collect(range);
    culv_result result = choose(range, offset, size, call, &first, &count);
    if (result == CULV_OK) result = culvi_vmm_enter(device, &scope, range->label, &entered);
    if (result == CULV_OK && entered) {
        culvi_vmm_mapping *batch = chain(range, first, offset + size);
        result = culvi_defer_after(device, &batch->deferred, last_use, range->label, call);
        if (result == CULV_OK) mark_batch(range, batch);
        /* In a broken context nothing runs any more. */
        if (result == CULV_ERROR_ASYNC) result = unmap(range, first, count);
        culvi_leave(device, &scope);
    } else if (result == CULV_OK) {
        result =
            unmap(range, first, count); /* the context is lost: no stream is left to wait for */
    }
    culvi_mutex_unlock(&device->lock);
    return result;
}

void culvi_vmm_unmap_or_defer(culv_vmm_range *range, uint64_t offset, uint64_t size)
{
    culv_device *device = range->device;
    culvi_scope scope;
    culvi_mutex_lock(&device->lock);
    bool entered = culvi_enter_quietly(device, &scope) == CUDA_SUCCESS;
    culvi_vmm_mapping *m = culvi_vmm_find(range, offset), *next;
    for (; (entered || device->lost) && m != NULL && m->offset < offset + size; m = next) {
        CUresult r;
        next = culvi_vmm_next(m);
        if (!m->unmapping) (void)culvi_vmm_unmap_one(m, false, &r);
    }
    culvi_vmm_mapping *refused = chain(range, culvi_vmm_find(range, offset), offset + size);
    if (refused != NULL) {
        mark_batch(range, refused);
        culvi_vmm_defer_batch(range, refused);
    }
    if (entered) culvi_leave(device, &scope);
    culvi_mutex_unlock(&device->lock);
}
