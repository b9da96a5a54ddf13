/* SPDX-License-Identifier: MIT */
/* culv_vector_view, what a graphics API shows of a culv_vector: which chunks are new, which stay,
 * which have gone. */
#include "graphics/vector_view.h"

#include "base/handle.h"
#include "graphics/pair.h"

#include <stdio.h>

void culvi_vector_view_init(culv_vector_view *view, const culvi_vector_view_api *api,
                            culvi_graphics *graphics, culv_vector *vector, const char *label)
{
    view->api = api;
    view->graphics = graphics;
    view->vector = vector;
    culvi_vector_ref(vector);
    view->parts = NULL;
    view->num_parts = 0;
    atomic_init(&view->generation, UINT64_MAX); /* no vector's */
    atomic_init(&view->stale, UINT64_MAX);
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

bool culvi_vector_view_has(const culv_vector_view *view, const culvi_view_part *part)
{
    return find(view->parts, view->num_parts, part->chunk, part->offset) != NULL;
}

uint64_t culvi_vector_view_end(const culvi_view_part *parts, size_t count)
{
    return count > 0 ? parts[count - 1].offset + parts[count - 1].size : 0;
}

/* Drops those of `parts` that `others` have not. */
static void drop_others(culv_vector_view *view, const culvi_view_part *parts, size_t count,
                        const culvi_view_part *others, size_t num_others)
{
    for (size_t i = 0; i < count; i++)
        if (find(others, num_others, parts[i].chunk, parts[i].offset) == NULL)
            view->api->drop(view, &parts[i]);
}

/* Updates -------------------------------------------------------------------------------------- */

static culv_result list_chunks(const culv_vector_view *view, culv_part **out, size_t *count,
                               uint64_t *generation)
{
    size_t there = 0, capacity = 0;
    culv_result result = culv_vector_get_parts(view->vector, NULL, 0, &there, generation);
    culv_part *list = NULL;
    while (result == CULV_OK && (list == NULL || there > capacity)) {
        culvi_free(list);
        capacity = there; /* of which a thread that commits ahead may meanwhile make more */
        list = culvi_alloc((capacity + 1) * sizeof *list);
        if (list == NULL)
            return culvi_fail_host_memory(&view->graphics->device->voice, view->label);
        result = culv_vector_get_parts(view->vector, list, capacity, &there, generation);
    }
    CULVI_TRY_OR(result, culvi_free(list));
    *out = list;
    *count = there;
    return CULV_OK;
}

static culv_result make_part(culv_vector_view *view, const culv_part *chunk, culvi_view_part *part)
{
    const culvi_view_part *old = find(view->parts, view->num_parts, chunk->id, chunk->offset);
    if (old != NULL) {
        *part = *old;
        return CULV_OK;
    }
    *part = (culvi_view_part){.chunk = chunk->id, .offset = chunk->offset, .size = chunk->size};
    return view->api->make(view, chunk, part);
}

/* Makes parts for new chunks, keeps the parts of chunks that stayed, drops the others. An error
 * leaves everything unchanged. */
static culv_result update(culv_vector_view *view)
{
    culv_part *chunks = NULL;
    culvi_view_part *parts = NULL;
    size_t count = 0, made = 0;
    uint64_t generation = 0;
    CULVI_REFUSE_IF(
        atomic_load(&view->vector->gone), &view->graphics->device->voice, view->label,
        CULV_REASON_VALUE,
        "culv_vector_view_update: the vector was destroyed; the view keeps the buffers that it has until culv_vector_view_destroy()");
    if (culv_vector_generation(view->vector) == atomic_load(&view->generation)) return CULV_OK;
    CULVI_TRY(list_chunks(view, &chunks, &count, &generation));
    parts = culvi_alloc((count + 1) * sizeof *parts);
    culv_result result = parts != NULL
                             ? CULV_OK
                             : culvi_fail_host_memory(&view->graphics->device->voice, view->label);
    while (result == CULV_OK && made < count) {
        result = make_part(view, &chunks[made], &parts[made]);
        if (result == CULV_OK) made++;
    }
    culvi_free(chunks);
    if (result == CULV_OK && view->api->show != NULL) result = view->api->show(view, parts, count);
    CULVI_TRY_OR(result,
                 (drop_others(view, parts, made, view->parts, view->num_parts), culvi_free(parts)));
    drop_others(view, view->parts, view->num_parts, parts, count);
    culvi_free(view->parts);
    view->parts = parts;
    view->num_parts = count;
    atomic_store(&view->generation, generation);
    return CULV_OK;
}

/* A view's life -------------------------------------------------------------------------------- */

culv_result culvi_vector_view_check(const culvi_graphics *graphics, const char *label,
                                    const culv_vector *vector)
{
    const culvi_voice *voice = &graphics->device->voice;
    const uint32_t type = CULVI_HANDLE_OPAQUE;
    CULVI_REFUSE_IF(
        graphics->device != vector->device, voice, label, CULV_REASON_DEVICE_MISMATCH,
        "the vector is of another culv_device ('%s') than the attachment ('%s'); make both of one",
        vector->device->caps.name, graphics->device->caps.name);
    CULVI_REFUSE_IF(graphics->foreign, voice, label, CULV_REASON_DEVICE_MISMATCH,
                    "the vector lies on '%s', and %s runs on '%s'", vector->device->caps.name,
                    graphics->api->words->name, graphics->name);
    if (vector->chunk.handle_types & UINT32_C(1) << type) return CULV_OK;
    return culvi_fail(
        voice, label, CULV_ERROR_INVALID, CULV_REASON_NOT_EXPORTABLE,
        "the vector's chunks are not made to be exported as %s; set its bit in the handle_types of the descriptor that the vector is made with",
        culvi_handle_type_name((culv_handle_type)type));
}

static void log_view(const culv_vector_view *view, const char *deed)
{
    char kind[64];
    snprintf(kind, sizeof kind, "%s view of a vector", view->graphics->api->words->name);
    culvi_log_object(&view->graphics->device->voice, deed, kind, view->label, 0);
}

static void end(culv_vector_view *view)
{
    if (view->api->end != NULL) view->api->end(view);
    drop_others(view, view->parts, view->num_parts, NULL, 0);
    culvi_free(view->parts);
    culvi_vector_unref(view->vector);
    culvi_free(view);
}

culv_result culvi_vector_view_made(culv_vector_view *view, culv_result result,
                                   culv_vector_view **out)
{
    if (result == CULV_OK) result = update(view);
    CULVI_TRY_OR(result, end(view));
    culvi_graphics_object_made(view->graphics);
    log_view(view, "made");
    *out = view;
    return CULV_OK;
}

culv_result culv_vector_view_destroy(culv_vector_view **view)
{
    if (view == NULL || *view == NULL) return CULV_OK;
    culv_vector_view *mine = *view;
    culvi_graphics *graphics = mine->graphics;
    CULVI_TRY(culvi_graphics_may_unmake(graphics, mine->label, __func__));
    *view = NULL;
    log_view(mine, "destroyed");
    end(mine);
    culvi_graphics_object_gone(graphics);
    return CULV_OK;
}

culv_result culv_vector_view_update(culv_vector_view *view)
{
    CULVI_REQUIRE(NULL, view);
    if (view->api->may_update != NULL) CULVI_TRY(view->api->may_update(view, __func__));
    return update(view);
}

CULVI_GETTER(uint64_t, culv_vector_view_generation, culv_vector_view,
             atomic_load(&self->generation), 0)

/* Whoever grows a vector may show its old part on purpose, so this is no error. A view that is only
 * older (chunks are committed ahead) lacks nothing yet. Once for each state of the vector. */
static void warn_if_stale(const culv_vector_view *view, const char *call)
{
    culv_vector_view *mine = (culv_vector_view *)(uintptr_t)view;
    const uint64_t now = culv_vector_generation(view->vector);
    const uint64_t size = culv_vector_size(view->vector);
    const uint64_t shown = culvi_vector_view_end(view->parts, view->num_parts);
    if (shown >= size || atomic_load(&view->vector->gone)) return;
    if (atomic_exchange(&mine->stale, now) == now) return;
    culvi_log(&view->graphics->device->voice, CULV_LOG_WARNING,
              "%s: the view%s%s shows %" PRIu64 " bytes, and its vector has %" PRIu64
              "; call culv_vector_view_update() after the vector grows",
              call, view->label[0] != '\0' ? " " : "", view->label, shown, size);
}

culv_result culv_vector_view_get_parts(const culv_vector_view *view, culv_part *parts,
                                       size_t capacity, size_t *count)
{
    CULVI_REQUIRE_WITH(view, &view->graphics->device->voice, count);
    if (capacity != 0) CULVI_REQUIRE(&view->graphics->device->voice, parts);
    warn_if_stale(view, __func__);
    if (view->whole != 0 && capacity > 0)
        parts[0] = (culv_part){.buffer = view->whole,
                               .size = culvi_vector_view_end(view->parts, view->num_parts)};
    for (size_t i = 0; view->whole == 0 && i < view->num_parts && i < capacity; i++)
        parts[i] = (culv_part){.id = view->parts[i].chunk,
                               .offset = view->parts[i].offset,
                               .size = view->parts[i].size,
                               .buffer = view->parts[i].object};
    *count = view->whole != 0 ? 1 : view->num_parts;
    return CULV_OK;
}
