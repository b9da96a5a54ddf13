/* Growing a vector: how much a commit takes, its chunks, and moving. SPDX-License-Identifier: MIT */
#include "base/alloc.h"
#include "base/attempt.h"
#include "vmm/vector.h"

#include <inttypes.h>

uint64_t culvi_vector_policy(const culv_vector *v, uint64_t need)
{
    const uint64_t committed = atomic_load(&v->committed);
    uint64_t part = committed / 100 * v->growth_percent;
    if (v->growth_percent != 0 && part / v->growth_percent != committed / 100) part = UINT64_MAX;
    uint64_t least = part > v->min_chunk ? part : v->min_chunk;
    if (least > v->max_chunk) least = v->max_chunk;
    if (least > UINT64_MAX - v->granularity) least = UINT64_MAX - v->granularity;
    least = culvi_vector_round(v, least);
    return need > least ? need : least;
}

/* Bytes of the chunk at `offset`, of `left` bytes that are to be committed from there on. */
static uint64_t piece(const culvi_vector_change *c, uint64_t offset, uint64_t left)
{
    const culvi_vector_segment *segment = culvi_vector_segment_at(c->top, offset);
    const uint64_t room = segment->offset + segment->size - offset;
    if (left > room) left = room;
    return left > c->v->max_chunk ? c->v->max_chunk : left;
}

/* Entries for `more` chunks behind those that are listed, which nobody reads before they are counted. */
static culv_result make_entries(culv_vector *v, size_t more)
{
    const size_t most = SIZE_MAX / sizeof *v->chunks;
    if (more <= v->capacity - v->num_chunks) return CULV_OK;
    if (more > most - v->num_chunks) return culvi_fail_host_memory(&v->device->voice, v->label);
    size_t capacity = v->capacity <= most / 2 ? 2 * v->capacity : most;
    if (capacity < v->num_chunks + more) capacity = v->num_chunks + more;
    culv_vector_chunk *chunks = culvi_alloc(capacity * sizeof *chunks), *old = v->chunks;
    if (chunks == NULL) return culvi_fail_host_memory(&v->device->voice, v->label);
    if (v->num_chunks > 0) memcpy(chunks, old, v->num_chunks * sizeof *chunks);
    culvi_mutex_lock(&v->lock);
    v->chunks = chunks;
    v->capacity = capacity;
    culvi_mutex_unlock(&v->lock);
    culvi_free(old);
    return CULV_OK;
}

/* Memory for `bytes` more. */
static culv_result allocate(culvi_vector_change *c, uint64_t bytes)
{
    culv_vector *v = c->v;
    const uint64_t begin = atomic_load(&v->committed), end = begin + bytes;
    size_t more = 0;
    culv_vmm_allocation_desc d = v->chunk;
    for (uint64_t at = begin; at < end; more++)
        at += piece(c, at, end - at);
    culv_result result = make_entries(v, more);
    d.label = v->label;
    for (uint64_t at = begin; at < end && result == CULV_OK; at += d.size) {
        culv_vector_chunk *chunk = &v->chunks[c->count];
        d.size = piece(c, at, end - at);
        result = culv_vmm_allocate(v->device, &d, &chunk->allocation);
        if (result != CULV_OK) break;
        chunk->id = v->next_id + (c->count - v->num_chunks);
        chunk->offset = at;
        chunk->size = d.size;
        c->count++;
    }
    for (; result != CULV_OK && c->count > v->num_chunks; c->count--)
        culv_vmm_free(&v->chunks[c->count - 1].allocation);
    return result;
}

static culv_result map_chunk(culvi_vector_change *c, const culv_vector_chunk *chunk)
{
    const culvi_vector_segment *segment = culvi_vector_segment_at(c->top, chunk->offset);
    return culvi_vmm_map_resolved(segment->range, chunk->offset - segment->offset, chunk->allocation,
                                  c->v->access, c->v->access_count);
}

/* Where a shrink's memory was, the stream that it named may still use the addresses. */
static culv_result settle(const culvi_vector_change *c, const culv_vector_chunk *chunk)
{
    culv_vector *v = c->v;
    if (c->fresh != NULL || !culvi_vector_is_unmapping(v, chunk->offset, chunk->size)) return CULV_OK;
    culvi_log(&v->device->voice, CULV_LOG_WARNING,
              "'%s': growing waits for the stream that a shrink named: %" PRIu64 " bytes at offset %" PRIu64
              " are still mapped for it",
              v->label, chunk->size, chunk->offset);
    const culvi_vector_segment *segment = culvi_vector_segment_at(c->top, chunk->offset);
    return culvi_vmm_range_settle(segment->range, chunk->offset - segment->offset, chunk->size);
}

/* The vector's chunks at the new place, and the new ones. */
static culv_result map(culvi_vector_change *c)
{
    const culv_vector *v = c->v;
    culv_result result = CULV_OK;
    for (size_t i = 0; c->fresh != NULL && i < v->num_chunks && result == CULV_OK; i++)
        result = map_chunk(c, &v->chunks[i]);
    for (; c->mapped < c->count && result == CULV_OK; c->mapped++) {
        result = settle(c, &v->chunks[c->mapped]);
        if (result == CULV_OK) result = map_chunk(c, &v->chunks[c->mapped]);
        if (result != CULV_OK) break; /* this one is not */
    }
    return result;
}

/* From here on nothing fails. */
static CUdeviceptr publish(culvi_vector_change *c, uint64_t size)
{
    culv_vector *v = c->v;
    CUdeviceptr before = 0;
    uint64_t committed = atomic_load(&v->committed);
    const bool changes = v->space == NULL || c->fresh != NULL || c->count > v->num_chunks;
    culvi_mutex_lock(&v->lock);
    if (c->fresh != NULL) {
        if (v->space != NULL) {
            before = v->space->base;
            v->space->next = v->retiring;
            v->retiring = v->space;
            v->stats.retiring++;
            v->stats.moves++;
        }
        v->space = c->fresh;
        v->deferred_from = v->deferred_to = 0;
        v->walled = false;
    } else {
        for (const culvi_vector_segment *s = c->top; s != v->space->top; s = s->below)
            v->stats.extensions++;
        if (c->top != v->space->top) v->walled = false;
        v->space->top = c->top;
        v->space->reserved = c->reserved;
    }
    v->next_id += c->count - v->num_chunks;
    v->num_chunks = c->count;
    if (c->count > 0) committed = v->chunks[c->count - 1].offset + v->chunks[c->count - 1].size;
    v->space->mapped = committed;
    if (committed > v->stats.peak) v->stats.peak = committed;
    if (v->deferred_from < committed) v->deferred_from = committed;
    if (v->deferred_from >= v->deferred_to) v->deferred_from = v->deferred_to = 0;
    /* In this order: culv_vector::base. */
    atomic_store(&v->base, v->space->base);
    atomic_store(&v->committed, committed);
    if (!v->walled) atomic_store(&v->full, false);
    if (size > atomic_load(&v->size)) atomic_store(&v->size, size);
    if (changes) atomic_fetch_add(&v->generation, 1);
    culvi_mutex_unlock(&v->lock);
    return before;
}

culv_result culvi_vector_change_finish(culvi_vector_change *c, uint64_t need, uint64_t wish, uint64_t size,
                                       CUdeviceptr *before)
{
    culv_vector *v = c->v;
    const uint64_t room = c->reserved - atomic_load(&v->committed);
    culv_result result = CULV_OK;
    if (wish > room) wish = room;
    culvi_attempt_begin();
    if (wish > need) result = allocate(c, wish);
    if (wish <= need || result == CULV_ERROR_OUT_OF_MEMORY) result = need > 0 ? allocate(c, need) : CULV_OK;
    if (result == CULV_OK) result = map(c);
    if (result == CULV_OK)
        *before = publish(c, size);
    else
        culvi_vector_change_undo(c);
    return culvi_attempt_end(&v->device->voice, result);
}

culv_result culvi_vector_commit(culv_vector *v, uint64_t need, uint64_t wish, uint64_t size, bool may_move,
                                CUdeviceptr *before)
{
    culvi_vector_change c;
    const uint64_t end = atomic_load(&v->committed) + need;
    *before = 0;
    culvi_vector_change_begin(v, &c);
    /* Twice the addresses: they cost nothing, and a move costs each chunk a mapping. */
    culv_result result = culvi_vector_change_room(
        &c, end, c.reserved <= UINT64_MAX / 4 ? 2 * c.reserved : c.reserved, may_move);
    if (result == CULV_OK) return culvi_vector_change_finish(&c, need, wish, size, before);
    culvi_vector_change_undo(&c);
    return result;
}

/* The calls --------------------------------------------------------------------------------------------------- */

static void publish_size(culv_vector *v, uint64_t size)
{
    if (size > atomic_load(&v->size)) atomic_store(&v->size, size);
    culvi_vector_ahead_wake(v);
}

static culv_result check(const culv_vector *v, uint64_t size, const char *call)
{
    if (v == NULL)
        return culvi_fail(NULL, NULL, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT, "%s: vector is NULL",
                          call);
    if (size > UINT64_MAX - v->granularity)
        return culvi_fail(&v->device->voice, v->label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
                          "%s: %" PRIu64 " bytes overflow when they are rounded up to the granularity", call,
                          size);
    return CULV_OK;
}

/* Tells of a move when the vector is nobody's any more. */
static culv_result leave(culv_vector *v, culv_result result, CUdeviceptr before)
{
    culvi_vector_give(v);
    if (result == CULV_OK && before != 0 && v->moved != NULL)
        v->moved(v->moved_context, v, before, (CUdeviceptr)atomic_load(&v->base));
    culvi_vector_ahead_wake(v);
    return result;
}

culv_result culv_vector_grow(culv_vector *vector, uint64_t size)
{
    CUdeviceptr before = 0;
    culv_result result = check(vector, size, "culv_vector_grow");
    if (result != CULV_OK) return result;
    if (size <= atomic_load(&vector->committed)) {
        publish_size(vector, size);
        return CULV_OK;
    }
    if (!culvi_vector_take(vector, size)) { /* the thread has been there meanwhile */
        publish_size(vector, size);
        return CULV_OK;
    }
    if (vector->ahead != 0) {
        culvi_mutex_lock(&vector->lock);
        vector->stats.ahead_misses++;
        culvi_mutex_unlock(&vector->lock);
    }
    const uint64_t need = culvi_vector_round(vector, size) - atomic_load(&vector->committed);
    result = culvi_vector_commit(vector, need, culvi_vector_policy(vector, need), size, true, &before);
    return leave(vector, result, before);
}

culv_result culv_vector_reserve(culv_vector *vector, uint64_t size)
{
    culvi_vector_change c;
    CUdeviceptr before = 0;
    culv_result result = check(vector, size, "culv_vector_reserve");
    if (result != CULV_OK) return result;
    (void)culvi_vector_take(vector, UINT64_MAX);
    if (size <= vector->space->reserved) {
        culvi_vector_give(vector);
        return CULV_OK;
    }
    culvi_vector_change_begin(vector, &c);
    size = culvi_vector_round(vector, size);
    result = culvi_vector_change_room(&c, size, size, true);
    if (result == CULV_OK)
        result = culvi_vector_change_finish(&c, 0, 0, 0, &before);
    else
        culvi_vector_change_undo(&c);
    return leave(vector, result, before);
}
