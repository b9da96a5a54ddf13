/* SPDX-License-Identifier: MIT */
/* Buffers and images that Culvert makes: planned, made, exported, imported and mapped, or
 * nothing. */
#include "graphics/pair.h"

#include "graphics/graphics_ring.h"

#include <stdio.h>

/* Which path is taken -------------------------------------------------------------------------- */

culv_result culvi_check_fallback(const culvi_voice *voice, const char *label, const char *desc,
                                 uint32_t fallback)
{
    if (!(fallback & ~(uint32_t)CULV_FALLBACK_ANY)) return CULV_OK;
    return culvi_fail(
        voice, label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
        "%s.fallback is %#x; it is CULV_FALLBACK_PEER (1), CULV_FALLBACK_HOST (2) or both", desc,
        (unsigned)fallback);
}

/* Whether the last error says that a path is impossible here; a call that is wrong stays wrong on
 * every path. What a driver refuses of another GPU need not concern this one. */
static bool impossible(const culvi_graphics *graphics, culv_sharing path, culv_result result)
{
    culv_reason reason = culvi_thread_state()->error.reason;
    return result == CULV_ERROR_UNSUPPORTED || result == CULV_ERROR_NO_DEVICE ||
           (result == CULV_ERROR_DRIVER && (path == CULV_SHARING_PEER || graphics->across)) ||
           (result == CULV_ERROR_INVALID && reason == CULV_REASON_DEVICE_MISMATCH &&
            graphics->foreign);
}

culv_result culvi_try_paths(const culvi_graphics *graphics, const char *label, uint32_t fallback,
                            culvi_path_fn *const paths[3], void *object, void *plan)
{
    static const struct {
        culv_sharing path;
        uint32_t fallback;
    } ways[] = {{CULV_SHARING_PEER, CULV_FALLBACK_PEER}, {CULV_SHARING_HOST, CULV_FALLBACK_HOST}};
    char why[2][512] = {"", ""};
    culv_sharing path = CULV_SHARING_SHARED;
    culvi_attempt_begin();
    culv_result result = paths[0](object, plan);
    for (int i = 0; i < 2; i++) {
        if (!(fallback & ways[i].fallback) || !impossible(graphics, path, result)) continue;
        snprintf(why[path == CULV_SHARING_PEER], sizeof why[0], "%s", culv_last_error_message());
        path = ways[i].path;
        result = paths[i + 1](object, plan);
    }
    if (result == CULV_OK && path != CULV_SHARING_SHARED)
        culvi_log(&graphics->device->voice, CULV_LOG_INFO, "'%s' uses %s sharing: %s%s%s",
                  label != NULL ? label : "", culv_sharing_name(path), why[0],
                  why[1][0] != '\0' ? "; no peer copies: " : "", why[1]);
    return culvi_attempt_end(&graphics->device->voice, result);
}

/* Shared --------------------------------------------------------------------------------------- */

/* CUDA's mapping was given up before: import, native object, memory. The host's pages, which the
 * native memory is made of, go last; the driver keeps others while somebody has them imported. */
static void unmake(culvi_pair *pair)
{
    /* What is deferred keeps the import. */
    culvi_source_set(pair->import->device, &pair->import->source, NULL);
    if (pair->import->host == NULL) culv_memory_destroy(&pair->import);
    pair->graphics->api->unmake(pair->graphics, &pair->native);
    culv_memory_destroy(&pair->import);
}

culv_result culvi_pair_map(culvi_pair *pair, const culvi_plan *plan)
{
    if (plan->is_image) {
        culv_image_desc map = plan->image;
        map.label = plan->label;
        memcpy(map.plane_offsets, pair->native.plane_offsets, sizeof map.plane_offsets);
        CULVI_TRY(culv_image_map(pair->import, &map, &pair->image));
    } else {
        culv_buffer_desc map = culv_buffer_desc_init();
        map.size = plan->size;
        map.label = plan->label;
        CULVI_TRY(culv_buffer_map(pair->import, &map, &pair->buffer));
    }
    return CULV_OK;
}

static culv_result share(void *object, void *plans)
{
    culvi_pair *pair = object;
    culvi_plan *plan = plans;
    culvi_graphics *graphics = pair->graphics;
    plan->path = CULV_SHARING_SHARED;
    CULVI_TRY(culvi_graphics_check_shares(
        graphics, plan->label, plan->is_image ? CULVI_SHARE_IMAGES : CULVI_SHARE_BUFFERS));
    CULVI_TRY(graphics->api->plan(graphics, plan));
    CULVI_TRY(graphics->api->make(graphics, plan, &pair->native));
    culvi_memory_ask ask = {.label = plan->label,
                            .memory = pair->native.memory,
                            .size = pair->native.size,
                            .dedicated = pair->native.dedicated,
                            .stays = true};
    CULVI_TRY_OR(culvi_graphics_import(graphics, &ask, &pair->import),
                 graphics->api->unmake(graphics, &pair->native));
    culv_result result = culvi_pair_map(pair, plan);
    if (result != CULV_OK) unmake(pair);
    return result;
}

/* Copies --------------------------------------------------------------------------------------- */

static bool own_memory(culvi_pair *pair, const char *label, uint64_t size)
{
    pair->import = culvi_memory_own(pair->graphics->device, size, label);
    if (pair->import != NULL) pair->import->words = pair->graphics->api->words;
    return pair->import != NULL;
}

/* CUDA's own memory or arrays, with the staging, which is theirs from here on. */
static culv_result own_buffer(culvi_pair *pair, const char *label, uint64_t size,
                              culvi_staging *staging)
{
    if (!own_memory(pair, label, size)) return CULV_ERROR_OUT_OF_MEMORY;
    CULVI_TRY_OR(culv_buffer_map(pair->import, NULL, &pair->buffer),
                 culv_memory_destroy(&pair->import));
    pair->buffer->staging = staging;
    pair->buffer->deferred.holder = staging->native.holder;
    return CULV_OK;
}

static culv_result own_image(culvi_pair *pair, const char *label, const culvi_format *row,
                             const culv_image_desc *map, uint64_t size, bool arrays,
                             culvi_staging *staging)
{
    culv_image_desc d = *map;
    d.label = label;
    if (!own_memory(pair, label, size)) return CULV_ERROR_OUT_OF_MEMORY;
    culv_result result =
        arrays ? culv_image_map(pair->import, &d, &pair->image)
               : culvi_image_make_linear(pair->import, row, &d, staging, &pair->image);
    if (result == CULV_OK && arrays) {
        result = culvi_image_set_staging(pair->image, staging);
        if (result != CULV_OK) culvi_image_release_or_defer(pair->image, NULL);
    }
    CULVI_TRY_OR(result, culv_memory_destroy(&pair->import));
    pair->image->deferred.holder = staging->native.holder;
    return CULV_OK;
}

static void give_up(culvi_pair *pair, const CUstream *last_use)
{
    if (pair->image != NULL)
        culvi_image_release_or_defer(pair->image, last_use);
    else
        culvi_buffer_release_or_defer(pair->buffer, last_use);
}

/* Makes a pair through another GPU, which is the native device's own: it is shared there. */
static culv_result make_by_peer(void *object, void *plans)
{
    culvi_pair *pair = object;
    culvi_plan *plan = plans;
    culv_device *device = pair->graphics->device;
    culvi_pair far = {.graphics = NULL};
    culv_result result = CULV_OK;
    CULVI_TRY(culvi_graphics_peer(pair->graphics, plan->label, &far.graphics));
    CULVI_TRY(share(&far, plan));
    const culvi_format *row = plan->is_image ? far.image->row : NULL;
    const culv_image_desc *map = plan->is_image ? &far.image->desc : NULL;
    uint64_t size = plan->size;
    culvi_staging *staging =
        culvi_staging_new(device, CULV_SHARING_PEER, plan->label, row, map, &size);
    if (staging != NULL) {
        staging->peer_buffer = far.buffer;
        staging->peer_image = far.image;
        result = plan->is_image ? own_image(pair, plan->label, row, map, size, true, staging)
                                : own_buffer(pair, plan->label, size, staging);
    } else {
        give_up(&far, NULL);
        result = CULV_ERROR_OUT_OF_MEMORY;
    }
    if (result != CULV_OK) culvi_staging_discard(device, staging);
    culv_memory_destroy(&far.import); /* the mapping keeps it */
    if (result == CULV_OK)
        pair->native = far.native;
    else
        far.graphics->api->unmake(far.graphics, &far.native);
    return result;
}

static culv_result make_by_host(void *object, void *plans)
{
    culvi_pair *pair = object;
    culvi_plan *plan = plans;
    culvi_graphics *graphics = pair->graphics;
    const culvi_graphics_api *api = graphics->api;
    culv_device *device = graphics->device;
    plan->path = CULV_SHARING_HOST;
    CULVI_UNSUPPORTED_IF(api->stage == NULL, &device->voice, plan->label,
                         CULV_REASON_NOT_EXPORTABLE,
                         "Culvert has no copies through the host for %s", api->words->name);
    CULVI_TRY(api->plan(graphics, plan));
    uint64_t size = plan->size;
    culvi_staging *staging = culvi_staging_new(device, CULV_SHARING_HOST, plan->label, plan->row,
                                               plan->is_image ? &plan->image : NULL, &size);
    if (staging == NULL) return CULV_ERROR_OUT_OF_MEMORY;
    culv_result result = api->make(graphics, plan, &pair->native);
    if (result != CULV_OK) goto discard_staging;
    memcpy(plan->image.plane_offsets, pair->native.plane_offsets, sizeof plan->image.plane_offsets);
    result = api->stage(graphics, plan->label, staging, &pair->stage);
    if (result != CULV_OK) goto unmake_native;
    result = culvi_staging_register(device, staging, plan->label);
    if (result == CULV_OK)
        result = plan->is_image ? own_image(pair, plan->label, plan->row, &plan->image, size,
                                            plan->arrays, staging)
                                : own_buffer(pair, plan->label, size, staging);
    if (result == CULV_OK) return CULV_OK;
    api->unmake(graphics, &pair->stage);
unmake_native:
    api->unmake(graphics, &pair->native);
discard_staging:
    culvi_staging_discard(device, staging);
    return result;
}

/* Both halves ---------------------------------------------------------------------------------- */

culv_result culvi_pair_make(culvi_graphics *graphics, culvi_plan *plan, culvi_pair *pair)
{
    static culvi_path_fn *const paths[] = {share, make_by_peer, make_by_host};
    pair->graphics = graphics;
    if (plan->only_host) return make_by_host(pair, plan);
    if (plan->fallback == 0) return share(pair, plan);
    CULVI_TRY(culvi_check_fallback(&graphics->device->voice, plan->label, plan->desc_name,
                                   plan->fallback));
    return culvi_try_paths(graphics, plan->label, plan->fallback, paths, pair, plan);
}

static void log_pair(const culvi_pair *pair, const char *deed)
{
    const culvi_graphics *graphics = pair->graphics;
    char kind[48];
    snprintf(kind, sizeof kind, "%s %s", graphics->api->words->name,
             pair->image != NULL ? "image" : "buffer");
    culvi_log_object(&graphics->device->voice, deed, kind,
                     pair->image != NULL ? pair->image->label : pair->buffer->label,
                     pair->native.size);
}

void culvi_pair_made(culvi_pair *pair)
{
    if (!pair->borrowed && pair->image != NULL)
        pair->image->owner_destroy_call = "culv_shared_image_destroy";
    else if (!pair->borrowed)
        pair->buffer->owner_destroy_call = "culv_shared_buffer_destroy";
    log_pair(pair, "made");
    culvi_graphics_object_made(pair->graphics);
}

static culv_result create(culvi_graphics *graphics, culvi_plan *plan, culvi_pair **out)
{
    CULVI_NEW(culvi_pair, made, &graphics->device->voice, plan->label);
    CULVI_TRY_OR(culvi_pair_make(graphics, plan, made), culvi_free(made));
    culvi_pair_made(made);
    *out = made;
    return CULV_OK;
}

culv_result culvi_shared_buffer_create(culvi_graphics *graphics, culvi_plan *plan,
                                       culv_shared_buffer **out)
{
    culvi_pair *pair = NULL;
    CULVI_TRY(create(graphics, plan, &pair));
    *out = CULVI_CONTAINER(pair, culv_shared_buffer, pair);
    return CULV_OK;
}

culv_result culvi_shared_image_create(culvi_graphics *graphics, culvi_plan *plan,
                                      culv_shared_image **out)
{
    culvi_pair *pair = NULL;
    plan->is_image = true;
    CULVI_TRY(create(graphics, plan, &pair));
    *out = CULVI_CONTAINER(pair, culv_shared_image, pair);
    return CULV_OK;
}

void culvi_pair_set_owner(culvi_pair *pair, const char *destroy_call)
{
    pair->owner_destroy_call = destroy_call;
    if (pair->borrowed) return;
    if (pair->image != NULL) pair->image->owner_destroy_call = destroy_call;
    if (pair->buffer != NULL) pair->buffer->owner_destroy_call = destroy_call;
}

void culvi_pair_destroy(culvi_pair *pair, const CUstream *last_use)
{
    if (pair == NULL) return;
    culvi_graphics *graphics = pair->graphics;
    log_pair(pair, "destroyed");
    culvi_graphics_let_go(graphics);
    if (pair->stage.object != 0) graphics->api->unmake(graphics, &pair->stage);
    if (!pair->borrowed) {
        give_up(pair, last_use);
        unmake(pair);
    }
    culvi_free(pair);
    culvi_graphics_object_gone(graphics);
}
