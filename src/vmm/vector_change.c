/* SPDX-License-Identifier: MIT */
/* A change of a vector, as one transaction that reads from top to bottom: addresses, memory,
 * mappings, then publish(); an error on the way undoes all of it. Nobody sees anything of it before
 * publish(). The vector is busy meanwhile. */
#include "vmm/vector.h"

typedef struct change {
    culv_vector *v;
    culvi_vector_space *fresh; /* the space that it moves to; NULL: it stays */
    culvi_vector_segment *top; /* of the space that it is going to have */
    uint64_t reserved;
    size_t count;  /* chunks that it is going to have: the new ones are entered behind num_chunks */
    size_t mapped; /* ... those before this one are mapped */
} change;

static void begin(change *c, culv_vector *v)
{
    *c = (change){.v = v, .count = v->num_chunks, .mapped = v->num_chunks};
    if (v->space == NULL) return; /* it is being made */
    c->top = v->space->top;
    c->reserved = v->space->reserved;
}

/* 1. Addresses --------------------------------------------------------------------------------- */

/* Extends the addresses in place, behind the last segment. */
static culv_result extend(change *c, uint64_t end)
{
    culvi_vector_segment *segment = NULL;
    CULVI_TRY(culvi_vector_space_extend(c->v, c->top, c->reserved, end, &segment));
    c->top = segment;
    c->reserved = segment->offset + segment->size;
    return CULV_OK;
}

/* One new range for all of it. */
static culv_result move(change *c, uint64_t size)
{
    CULVI_TRY(culvi_vector_space_create(c->v, size, &c->fresh));
    c->top = c->fresh->top;
    c->reserved = c->fresh->reserved;
    return CULV_OK;
}

static culv_result refuse(const culv_vector *v, uint64_t need, bool may_move)
{
    return culvi_fail(
        &v->device->voice, v->label, CULV_ERROR_OUT_OF_MEMORY, CULV_REASON_ADDRESS,
        "%" PRIu64 " bytes of addresses are needed, %" PRIu64
        " are reserved, and those behind them are not free%s",
        need, v->space->reserved,
        may_move ? "; culv_vector_desc.no_move forbids another place: reserve more at first" : "");
}

/* Finds addresses in place if those behind are free, else elsewhere if the vector may move. */
static culv_result find_addresses(change *c, const culvi_vector_plan *plan)
{
    const culv_vector *v = c->v;
    const uint64_t need = plan->addresses;
    const uint64_t sizes[] = {plan->addresses_wish > need ? plan->addresses_wish : need, need};
    const size_t first = sizes[0] > need ? 0 : 1;
    culv_result result = CULV_OK;
    if (v->space != NULL && need <= c->reserved) return CULV_OK;
    for (size_t i = first; v->space != NULL && i < 2 && c->reserved < need; i++) {
        result = extend(c, sizes[i]);
        if (result == CULV_ERROR_ASYNC) break;
    }
    const bool elsewhere = v->space == NULL || (plan->may_move && !v->fixed && c->reserved < need &&
                                                result != CULV_ERROR_ASYNC);
    for (size_t i = first; elsewhere && c->fresh == NULL && i < 2; i++) {
        result = move(c, sizes[i]);
        if (result == CULV_ERROR_ASYNC) break;
    }
    if (!elsewhere && result != CULV_OK && v->home == NULL &&
        culvi_thread_state()->error.reason == CULV_REASON_ADDRESS)
        result = refuse(v, need, plan->may_move);
    return result;
}

/* 2. Memory ------------------------------------------------------------------------------------ */

/* Bytes of the chunk at `offset`, of `left` bytes that are to be committed from there on. */
static uint64_t piece(const change *c, uint64_t offset, uint64_t left)
{
    const culvi_vector_segment *segment = culvi_vector_segment_at(c->top, offset);
    const uint64_t room = segment->offset + segment->size - offset;
    if (left > room) left = room;
    return left > c->v->max_chunk ? c->v->max_chunk : left;
}

/* Entries for `more` chunks behind those that are listed, which nobody reads before they are
 * counted. */
static culv_result make_entries(culv_vector *v, size_t more)
{
    const size_t most = SIZE_MAX / sizeof *v->chunks;
    if (more <= v->capacity - v->num_chunks) return CULV_OK;
    if (more > most - v->num_chunks) return culvi_fail_host_memory(&v->device->voice, v->label);
    size_t capacity = v->capacity <= most / 2 ? 2 * v->capacity : most;
    if (capacity < v->num_chunks + more) capacity = v->num_chunks + more;
    culv_part *chunks = culvi_alloc(capacity * sizeof *chunks), *old = v->chunks;
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
static culv_result allocate(change *c, uint64_t bytes)
{
    culv_vector *v = c->v;
    const uint64_t from = atomic_load(&v->committed), end = from + bytes;
    size_t more = 0;
    culv_vmm_allocation_desc d = v->chunk;
    for (uint64_t at = from; at < end; more++)
        at += piece(c, at, end - at);
    culv_result result = make_entries(v, more);
    d.label = v->label;
    for (uint64_t at = from; at < end && result == CULV_OK; at += d.size) {
        culv_part *chunk = &v->chunks[c->count];
        d.size = piece(c, at, end - at);
        result = culv_vmm_allocation_create(v->device, &d, &chunk->allocation);
        if (result != CULV_OK) break;
        chunk->allocation->owner_destroy_call = "culv_vector_destroy";
        chunk->id = v->next_id + (c->count - v->num_chunks);
        chunk->offset = at;
        chunk->size = d.size;
        c->count++;
    }
    for (; result != CULV_OK && c->count > v->num_chunks; c->count--)
        culvi_vmm_allocation_give_up(&v->chunks[c->count - 1].allocation);
    return result;
}

/* Commits as much as is wished where there are addresses and memory for it, else what is needed. */
static culv_result commit(change *c, const culvi_vector_plan *plan)
{
    const uint64_t room = c->reserved - atomic_load(&c->v->committed);
    const uint64_t wish = plan->wish < room ? plan->wish : room;
    if (wish > plan->need) {
        culv_result result = allocate(c, wish);
        if (result != CULV_ERROR_OUT_OF_MEMORY) return result;
    }
    return plan->need > 0 ? allocate(c, plan->need) : CULV_OK;
}

/* 3. Mappings ---------------------------------------------------------------------------------- */

static culv_result map_chunk(change *c, const culv_part *chunk)
{
    const culvi_vector_segment *segment = culvi_vector_segment_at(c->top, chunk->offset);
    const uint64_t place = segment->start + chunk->offset - segment->offset;
    culv_result result = culvi_vmm_map_resolved(segment->range, place, chunk->allocation,
                                                c->v->access, c->v->access_count);
    if (result != CULV_OK || segment->home == NULL) return result;
    result = segment->home->api->show(segment->home, place, chunk->allocation);
    if (result != CULV_OK) culvi_vmm_unmap_or_defer(segment->range, place, chunk->size);
    return result;
}

/* Where a shrink's memory was, the stream that it named may still use the addresses. */
static culv_result wait_for_shrunk(const change *c, const culv_part *chunk)
{
    culv_vector *v = c->v;
    if (c->fresh != NULL || !culvi_vector_is_unmapping(v, chunk->offset, chunk->size))
        return CULV_OK;
    culvi_log(&v->device->voice, CULV_LOG_WARNING,
              "%s: growing waits for the stream that a shrink named: %" PRIu64
              " bytes at offset %" PRIu64 " are still mapped for it",
              culvi_named("vector", v->label).text, chunk->size, chunk->offset);
    const culvi_vector_segment *segment = culvi_vector_segment_at(c->top, chunk->offset);
    return culvi_vmm_wait_and_collect(
        segment->range, segment->start + chunk->offset - segment->offset, chunk->size);
}

/* The vector's chunks at the new place, and the new ones. */
static culv_result map(change *c)
{
    const culv_vector *v = c->v;
    culv_result result = CULV_OK;
    for (size_t i = 0; c->fresh != NULL && i < v->num_chunks && result == CULV_OK; i++)
        result = map_chunk(c, &v->chunks[i]);
    for (; c->mapped < c->count && result == CULV_OK; c->mapped++) {
        result = wait_for_shrunk(c, &v->chunks[c->mapped]);
        if (result == CULV_OK) result = map_chunk(c, &v->chunks[c->mapped]);
        if (result != CULV_OK) break; /* this one is not */
    }
    return result;
}

/* 4. Publish, or undo -------------------------------------------------------------------------- */

/* From here on nothing fails. */
static CUdeviceptr publish(change *c, uint64_t size)
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
    /* The order matters: see culv_vector::base. */
    atomic_store(&v->base, v->space->base);
    atomic_store(&v->committed, committed);
    if (!v->walled) atomic_store(&v->full, false);
    culvi_vector_raise(v, size);
    if (changes) atomic_fetch_add(&v->generation, 1);
    culvi_mutex_unlock(&v->lock);
    return before;
}

/* The thread's last error stays. */
static void undo(change *c)
{
    culv_vector *v = c->v;
    const culv_error error = culvi_thread_state()->error;
    culvi_attempt_begin();
    if (c->fresh != NULL) {
        culvi_vector_space_free(c->fresh, true);
    } else {
        for (size_t i = c->mapped; i-- > v->num_chunks;) {
            const culv_part *chunk = &v->chunks[i];
            const culvi_vector_segment *segment = culvi_vector_segment_at(c->top, chunk->offset);
            culvi_vector_segment_unmap(segment, chunk->offset - segment->offset, chunk->size);
        }
        while (v->space != NULL && c->top != v->space->top)
            c->top = culvi_vector_segment_pop(c->top, true);
    }
    for (size_t i = v->num_chunks; i < c->count; i++)
        culvi_vmm_allocation_give_up(&v->chunks[i].allocation);
    (void)culvi_attempt_end(&v->device->voice, CULV_OK);
    culvi_thread_state()->error = error;
}

/* The transaction ------------------------------------------------------------------------------ */

culv_result culvi_vector_change(culv_vector *v, const culvi_vector_plan *plan, CUdeviceptr *before)
{
    change c;
    *before = 0;
    begin(&c, v);
    culvi_attempt_begin();
    culv_result result = find_addresses(&c, plan);
    if (result == CULV_OK) result = commit(&c, plan);
    if (result == CULV_OK) result = map(&c);
    if (result == CULV_OK)
        *before = publish(&c, plan->size);
    else
        undo(&c);
    return culvi_attempt_end(&v->device->voice, result);
}
