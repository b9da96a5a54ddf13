/* SPDX-License-Identifier: MIT */
/* The addresses of a vector: spaces, and the reserved ranges that they are made of. A grow takes
 * addresses from here (vector_change.c), a shrink gives mappings back here (vector_shrink.c). */
#include "vmm/vector.h"

culvi_vector_segment *culvi_vector_segment_at(culvi_vector_segment *top, uint64_t offset)
{
    while (top->offset > offset)
        top = top->below;
    return top;
}

/* Making --------------------------------------------------------------------------------------- */

/* A range of addresses as a segment at `offset` of a space; `at` is where it must begin, 0:
 * anywhere. With a home, a part of that. */
static culv_result make_segment(culv_vector *v, CUdeviceptr at, uint64_t offset, uint64_t size,
                                culvi_vector_segment **out)
{
    culv_vmm_range_desc d = culv_vmm_range_desc_init();
    CULVI_NEW(culvi_vector_segment, segment, &v->device->voice, v->label);
    d.size = size;
    d.alignment = v->granularity;
    d.address = at;
    d.label = v->label;
    CULVI_TRY_OR(v->home != NULL ? v->home->api->claim(v->home, v->label, size, size,
                                                       &segment->start, &segment->size)
                                 : culv_vmm_range_create(v->device, &d, &segment->range),
                 culvi_free(segment));
    segment->home = v->home;
    segment->offset = offset;
    if (v->home != NULL)
        segment->range = v->home->range;
    else
        segment->size = culv_vmm_range_size(segment->range);
    *out = segment;
    return CULV_OK;
}

culv_result culvi_vector_space_extend(culv_vector *v, culvi_vector_segment *top, uint64_t reserved,
                                      uint64_t end, culvi_vector_segment **out)
{
    if (v->home != NULL)
        return culvi_fail(
            &v->device->voice, v->label, CULV_ERROR_OUT_OF_MEMORY, CULV_REASON_ADDRESS,
            "a vector in a space has the addresses that it was made with; reserve more at first (culv_vector_desc.reserve)");
    culv_result result = make_segment(v, v->space->base + reserved, reserved, end - reserved, out);
    if (result == CULV_OK) (*out)->below = top;
    return result;
}

culv_result culvi_vector_space_create(culv_vector *v, uint64_t size, culvi_vector_space **out)
{
    culvi_vector_segment *segment = NULL;
    CULVI_NEW(culvi_vector_space, space, &v->device->voice, v->label);
    CULVI_TRY_OR(make_segment(v, 0, 0, size, &segment), culvi_free(space));
    space->base = culv_vmm_range_pointer(segment->range) + segment->start;
    space->reserved = segment->size;
    space->top = segment;
    *out = space;
    return CULV_OK;
}

/* Giving up ------------------------------------------------------------------------------------ */

void culvi_vector_segment_unmap(const culvi_vector_segment *segment, uint64_t offset, uint64_t size)
{
    culvi_vmm_unmap_or_defer(segment->range, segment->start + offset, size);
    if (segment->home != NULL)
        segment->home->api->hide(segment->home, segment->start + offset, size, !segment->apart);
}

culvi_vector_segment *culvi_vector_segment_pop(culvi_vector_segment *top, bool unmap)
{
    culvi_vector_segment *below = top->below;
    if (unmap) culvi_vector_segment_unmap(top, 0, top->size);
    if (top->home != NULL)
        top->home->api->unclaim(top->home, top->start);
    else
        culvi_vmm_range_release_or_defer(&top->range);
    culvi_free(top);
    return below;
}

void culvi_vector_space_free(culvi_vector_space *space, bool unmap)
{
    while (space->top != NULL)
        space->top = culvi_vector_segment_pop(space->top, unmap);
    culvi_free(space);
}

culv_result culvi_vector_unmap_after(culvi_vector_space *space, uint64_t from, CUstream last_use,
                                     const char *call)
{
    for (const culvi_vector_segment *s = space->top; s != NULL && space->mapped > from;
         s = s->below) {
        if (s->offset >= space->mapped) continue;
        const uint64_t begin = from > s->offset ? from : s->offset;
        const uint64_t place = s->start + begin - s->offset, size = space->mapped - begin;
        CULVI_TRY(culvi_vmm_unmap_after(s->range, place, size, last_use, call));
        if (s->home != NULL) s->home->api->hide(s->home, place, size, false);
        space->mapped = begin;
    }
    return CULV_OK;
}

bool culvi_vector_is_unmapping(culv_vector *v, uint64_t offset, uint64_t size)
{
    bool found = false;
    if (offset >= v->deferred_to || offset + size <= v->deferred_from) return false;
    culvi_mutex_lock(&v->device->lock);
    for (const culvi_vector_segment *s = v->space->top; s != NULL && !found; s = s->below) {
        const uint64_t begin = offset > s->offset ? offset : s->offset;
        const uint64_t end =
            offset + size < s->offset + s->size ? offset + size : s->offset + s->size;
        if (begin >= end) continue;
        culvi_vmm_collect(s->range);
        found = culvi_vmm_is_unmapping(s->range, s->start + begin - s->offset, end - begin);
    }
    culvi_mutex_unlock(&v->device->lock);
    return found;
}
