/* A change of a vector under way: addresses in place or elsewhere, and what is undone. SPDX-License-Identifier: MIT */
#include "base/alloc.h"
#include "base/attempt.h"
#include "vmm/vector.h"

#include <inttypes.h>

void culvi_vector_change_begin(culv_vector *v, culvi_vector_change *c)
{
    memset(c, 0, sizeof *c);
    c->v = v;
    c->count = c->mapped = v->num_chunks;
    if (v->space == NULL) return; /* it is being made */
    c->top = v->space->top;
    c->reserved = v->space->reserved;
}

culvi_vector_segment *culvi_vector_segment_at(culvi_vector_segment *top, uint64_t offset)
{
    while (top->offset > offset)
        top = top->below;
    return top;
}

bool culvi_vector_is_unmapping(culv_vector *v, uint64_t offset, uint64_t size)
{
    bool found = false;
    if (offset >= v->deferred_to || offset + size <= v->deferred_from) return false;
    culvi_mutex_lock(&v->device->lock);
    for (const culvi_vector_segment *s = v->space->top; s != NULL && !found; s = s->below) {
        const uint64_t begin = offset > s->offset ? offset : s->offset;
        const uint64_t end = offset + size < s->offset + s->size ? offset + size : s->offset + s->size;
        if (begin >= end) continue;
        culvi_vmm_reap(s->range);
        found = culvi_vmm_is_unmapping(s->range, begin - s->offset, end - begin);
    }
    culvi_mutex_unlock(&v->device->lock);
    return found;
}

/* The segment on top of a list goes. */
static culvi_vector_segment *pop(culvi_vector_segment *top, bool unmap)
{
    culvi_vector_segment *below = top->below;
    if (unmap) culvi_vmm_unmap_quietly(top->range, 0, top->size);
    culvi_vmm_range_abandon(&top->range);
    culvi_free(top);
    return below;
}

void culvi_vector_space_free(culvi_vector_space *space, bool unmap)
{
    while (space->top != NULL)
        space->top = pop(space->top, unmap);
    culvi_free(space);
}

/* A range of addresses as a segment at `offset` of a space; `at` is where it must begin, 0: anywhere. */
static culv_result make_segment(culv_vector *v, CUdeviceptr at, uint64_t offset, uint64_t size,
                                culvi_vector_segment **out)
{
    culvi_vector_segment *segment = culvi_alloc(sizeof *segment);
    if (segment == NULL) return culvi_fail_host_memory(&v->device->voice, v->label);
    culv_vmm_range_desc d = culv_vmm_range_desc_init();
    d.size = size;
    d.alignment = v->granularity;
    d.at = at;
    d.exactly = at != 0;
    d.label = v->label;
    culv_result result = culv_vmm_reserve(v->device, &d, &segment->range);
    if (result != CULV_OK) {
        culvi_free(segment);
        return result;
    }
    segment->offset = offset;
    segment->size = culv_vmm_range_size(segment->range);
    *out = segment;
    return CULV_OK;
}

/* In place, behind the last segment. */
static culv_result extend(culvi_vector_change *c, uint64_t end)
{
    culvi_vector_segment *segment = NULL;
    culv_result result =
        make_segment(c->v, c->v->space->base + c->reserved, c->reserved, end - c->reserved, &segment);
    if (result != CULV_OK) return result;
    segment->below = c->top;
    c->top = segment;
    c->reserved = segment->offset + segment->size;
    return CULV_OK;
}

/* One new range for all of it. */
static culv_result move(culvi_vector_change *c, uint64_t size)
{
    culvi_vector_segment *segment = NULL;
    culvi_vector_space *fresh = culvi_alloc(sizeof *fresh);
    if (fresh == NULL) return culvi_fail_host_memory(&c->v->device->voice, c->v->label);
    culv_result result = make_segment(c->v, 0, 0, size, &segment);
    if (result != CULV_OK) {
        culvi_free(fresh);
        return result;
    }
    fresh->base = culv_vmm_range_pointer(segment->range);
    fresh->reserved = segment->size;
    fresh->top = segment;
    c->fresh = fresh;
    c->top = segment;
    c->reserved = segment->size;
    return CULV_OK;
}

static culv_result refuse(const culv_vector *v, uint64_t need, bool may_move)
{
    return culvi_fail(&v->device->voice, v->label, CULV_ERROR_OUT_OF_MEMORY, CULV_REASON_ADDRESS,
                      "%" PRIu64 " bytes of addresses are needed, %" PRIu64
                      " are reserved, and those behind them are not free%s",
                      need, v->space->reserved,
                      may_move ? "; culv_vector_desc.fixed forbids another place: reserve more at first"
                               : "");
}

culv_result culvi_vector_change_room(culvi_vector_change *c, uint64_t need, uint64_t wish, bool may_move)
{
    culv_vector *v = c->v;
    const uint64_t sizes[] = {wish > need ? wish : need, need};
    const size_t first = sizes[0] > need ? 0 : 1;
    culv_result result = CULV_OK;
    if (v->space != NULL && need <= c->reserved) return CULV_OK;
    culvi_attempt_begin();
    for (size_t i = first; v->space != NULL && i < 2 && c->reserved < need; i++) {
        result = extend(c, sizes[i]);
        if (result == CULV_ERROR_ASYNC) break;
    }
    const bool elsewhere =
        v->space == NULL || (may_move && !v->fixed && c->reserved < need && result != CULV_ERROR_ASYNC);
    for (size_t i = first; elsewhere && c->fresh == NULL && i < 2; i++) {
        result = move(c, sizes[i]);
        if (result == CULV_ERROR_ASYNC) break;
    }
    if (!elsewhere && result != CULV_OK && culvi_thread_state()->error.reason == CULV_REASON_ADDRESS)
        result = refuse(v, need, may_move);
    return culvi_attempt_end(&v->device->voice, result);
}

void culvi_vector_change_undo(culvi_vector_change *c)
{
    culv_vector *v = c->v;
    const culv_error error = culvi_thread_state()->error;
    culvi_attempt_begin();
    if (c->fresh != NULL) {
        culvi_vector_space_free(c->fresh, true);
    } else {
        for (size_t i = c->mapped; i-- > v->num_chunks;) {
            const culv_vector_chunk *chunk = &v->chunks[i];
            const culvi_vector_segment *segment = culvi_vector_segment_at(c->top, chunk->offset);
            culvi_vmm_unmap_quietly(segment->range, chunk->offset - segment->offset, chunk->size);
        }
        while (v->space != NULL && c->top != v->space->top)
            c->top = pop(c->top, true);
    }
    for (size_t i = v->num_chunks; i < c->count; i++)
        culv_vmm_free(&v->chunks[i].allocation);
    (void)culvi_attempt_end(&v->device->voice, CULV_OK);
    culvi_thread_state()->error = error;
}
