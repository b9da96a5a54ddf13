/* SPDX-License-Identifier: MIT */
/* What a graphics API shows of a culv_vector: which chunks are new, which stay, which have gone. */
#include "graphics/vector_view.h"

#include "base/alloc.h"

void culvi_vector_view_init(culvi_vector_view *view, const culvi_vector_view_api *api,
                            culvi_graphics *graphics, culv_vector *vector, const char *label)
{
    view->api = api;
    view->graphics = graphics;
    view->vector = vector;
    culvi_vector_ref(vector);
    view->parts = NULL;
    view->num_parts = 0;
    atomic_init(&view->generation, UINT64_MAX); /* no vector's */
    culvi_label_set(view->label, label);
}

/* Parts ---------------------------------------------------------------------------------------- */

/* The part that shows a chunk, in a list that is sorted by offset; NULL: there is none. */
static const culvi_view_part *find(const culvi_view_part *parts, size_t count, uint64_t chunk,
                                   uint64_t offset)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (parts[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && parts[low].offset == offset && parts[low].chunk == chunk ? &parts[low]
                                                                                   : NULL;
}

bool culvi_vector_view_has(const culvi_vector_view *view, const culvi_view_part *part)
{
    return find(view->parts, view->num_parts, part->chunk, part->offset) != NULL;
}

uint64_t culvi_vector_view_end(const culvi_view_part *parts, size_t count)
{
    return count > 0 ? parts[count - 1].offset + parts[count - 1].size : 0;
}

/* Drops those of `parts` that `others` have not. */
static void drop_others(culvi_vector_view *view, const culvi_view_part *parts, size_t count,
                        const culvi_view_part *others, size_t num_others)
{
    for (size_t i = 0; i < count; i++)
        if (find(others, num_others, parts[i].chunk, parts[i].offset) == NULL)
            view->api->drop(view, &parts[i]);
}

void culvi_vector_view_clear(culvi_vector_view *view)
{
    drop_others(view, view->parts, view->num_parts, NULL, 0);
    culvi_free(view->parts);
    view->parts = NULL;
    view->num_parts = 0;
    culvi_vector_unref(view->vector);
    view->vector = NULL;
}

/* Updates -------------------------------------------------------------------------------------- */

static culv_result list_chunks(const culvi_vector_view *view, culv_vector_chunk **out,
                               size_t *count, uint64_t *generation)
{
    size_t there = 0, capacity = 0;
    culv_result result = culv_vector_get_chunks(view->vector, NULL, 0, &there, generation);
    culv_vector_chunk *list = NULL;
    while (result == CULV_OK && (list == NULL || there > capacity)) {
        culvi_free(list);
        capacity = there; /* of which a thread that commits ahead may meanwhile make more */
        list = culvi_alloc((capacity + 1) * sizeof *list);
        if (list == NULL)
            return culvi_fail_host_memory(&view->graphics->device->voice, view->label);
        result = culv_vector_get_chunks(view->vector, list, capacity, &there, generation);
    }
    if (result != CULV_OK) {
        culvi_free(list);
        return result;
    }
    *out = list;
    *count = there;
    return CULV_OK;
}

static culv_result make_part(culvi_vector_view *view, const culv_vector_chunk *chunk,
                             culvi_view_part *part)
{
    const culvi_view_part *old = find(view->parts, view->num_parts, chunk->id, chunk->offset);
    if (old != NULL) {
        *part = *old;
        return CULV_OK;
    }
    *part = (culvi_view_part){.chunk = chunk->id, .offset = chunk->offset, .size = chunk->size};
    return view->api->make(view, chunk, part);
}

culv_result culvi_vector_view_update(culvi_vector_view *view)
{
    culv_vector_chunk *chunks = NULL;
    culvi_view_part *parts = NULL;
    size_t count = 0, made = 0;
    uint64_t generation = 0;
    if (atomic_load(&view->vector->gone))
        return culvi_fail(
            &view->graphics->device->voice, view->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
            "%s: the vector was destroyed; the view keeps the buffers that it has until %s()",
            view->api->update_call, view->api->destroy_call);
    if (culv_vector_generation(view->vector) == atomic_load(&view->generation)) return CULV_OK;
    culv_result result = list_chunks(view, &chunks, &count, &generation);
    if (result != CULV_OK) return result;
    parts = culvi_alloc((count + 1) * sizeof *parts);
    if (parts == NULL) {
        result = culvi_fail_host_memory(&view->graphics->device->voice, view->label);
        goto free_chunks;
    }
    for (; made < count; made++) {
        result = make_part(view, &chunks[made], &parts[made]);
        if (result != CULV_OK) goto drop_new;
    }
    if (view->api->show != NULL) result = view->api->show(view, parts, count);
    if (result != CULV_OK) goto drop_new;
    drop_others(view, view->parts, view->num_parts, parts, count);
    culvi_free(view->parts);
    view->parts = parts;
    view->num_parts = count;
    atomic_store(&view->generation, generation);
    culvi_free(chunks);
    return CULV_OK;

drop_new:
    drop_others(view, parts, made, view->parts, view->num_parts);
    culvi_free(parts);
free_chunks:
    culvi_free(chunks);
    return result;
}
