/* SPDX-License-Identifier: MIT */
/* What a vector gives back: chunks, old addresses, and itself. */
#include "vmm/vector.h"

/* The first chunk that lies wholly beyond an offset. */
static size_t first_beyond(const culv_vector *v, uint64_t offset)
{
    size_t low = 0, high = v->num_chunks;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (v->chunks[middle].offset >= offset)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Defers the unmapping of chunks from `first` on, everywhere; an error has changed nothing. */
static culv_result unmap_chunks(culv_vector *v, size_t first, CUstream last_use)
{
    const uint64_t from = v->chunks[first].offset, before = v->space->mapped;
    const char *const message = culvi_thread_state()->error.message;
    culvi_attempt_begin();
    culv_result result = culvi_vector_unmap_after(v->space, from, last_use, "culv_vector_shrink");
    const uint64_t mapped = v->space->mapped;
    if (mapped == before) return culvi_attempt_end(&v->device->voice, result);
    /* What has gone does not come back: the rest stays for the next time, and at old addresses
     * until they are retired. */
    if (result != CULV_OK)
        culvi_log(&v->device->voice, CULV_LOG_WARNING,
                  "%s: %" PRIu64 " bytes that a shrink should have given back stay committed: %s",
                  culvi_named("vector", v->label).text, mapped - from, message);
    for (culvi_vector_space *s = v->retiring; s != NULL; s = s->next)
        if (culvi_vector_unmap_after(s, mapped, last_use, "culv_vector_shrink") != CULV_OK)
            culvi_log(
                &v->device->voice, CULV_LOG_WARNING,
                "%s: memory that a shrink gives back stays mapped at the old address %#" PRIx64
                " until that address is retired: %s",
                culvi_named("vector", v->label).text, (uint64_t)s->base, message);
    return culvi_attempt_end(&v->device->voice, CULV_OK);
}

culv_result culv_vector_shrink(culv_vector *vector, uint64_t size, CUstream last_use)
{
    CULVI_REQUIRE(NULL, vector);
    culv_vector *v = vector;
    culv_result result = culvi_vector_check_own(v, __func__);
    if (result != CULV_OK || size > atomic_load(&v->size)) return result;
    (void)culvi_vector_take(v, UINT64_MAX);
    const uint64_t kept = size <= UINT64_MAX - v->ahead ? size + v->ahead : UINT64_MAX;
    const uint64_t committed = atomic_load(&v->committed);
    const size_t had = v->num_chunks;
    size_t first = first_beyond(v, kept);
    if (first < had && culvi_vector_is_pinned(v, 0, v->chunks[first].offset))
        result = culvi_vector_fail_pinned(v, "culv_vector_shrink");
    else if (first < had)
        result = unmap_chunks(v, first, last_use);
    if (result == CULV_OK) {
        first = first_beyond(v, v->space->mapped);
        culvi_mutex_lock(&v->lock);
        atomic_store(&v->size, size); /* before the memory goes, for who reads both */
        v->num_chunks = first;
        atomic_store(&v->committed, v->space->mapped);
        atomic_store(&v->full, false);
        if (first < had) {
            if (v->deferred_to == 0 || v->space->mapped < v->deferred_from)
                v->deferred_from = v->space->mapped;
            if (committed > v->deferred_to) v->deferred_to = committed;
            atomic_fetch_add(&v->generation, 1);
        }
        culvi_mutex_unlock(&v->lock);
        for (size_t i = first; i < had; i++)
            culvi_vmm_allocation_give_up(&v->chunks[i].allocation);
    }
    culvi_vector_give(v);
    return result;
}

/* Old addresses -------------------------------------------------------------------------------- */

culv_result culv_vector_retire(culv_vector *vector, CUdeviceptr before, CUstream last_use)
{
    bool found = before == 0;
    culv_result result = CULV_OK;
    CULVI_REQUIRE(NULL, vector);
    culv_vector *v = vector;
    (void)culvi_vector_take(v, UINT64_MAX);
    for (culvi_vector_space **link = &v->retiring; *link != NULL && result == CULV_OK;) {
        culvi_vector_space *space = *link;
        if (before != 0 && space->base != before) {
            link = &space->next;
            continue;
        }
        found = true;
        result = culvi_vector_is_pinned(v, space->base, 0)
                     ? culvi_vector_fail_pinned(v, "culv_vector_retire")
                     : culvi_vector_unmap_after(space, 0, last_use, "culv_vector_retire");
        if (result != CULV_OK) break; /* it stays, and can be retired again */
        *link = space->next;
        CULVI_LOCKED(&v->lock, v->stats.retiring--);
        culvi_vector_space_free(space, false);
    }
    culvi_vector_give(v);
    if (found) return result;
    return culvi_fail(
        &v->device->voice, v->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
        "culv_vector_retire: 0x%llx is not an old address of this vector that is still mapped; culv_vector_moved reports those",
        (unsigned long long)before);
}
