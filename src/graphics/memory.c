/* SPDX-License-Identifier: MIT */
/* Importing a caller's native memory, each time or once for all who need it. */
#include "graphics/graphics.h"

/* The one place that sees all of the caller's own memory; what Culvert makes is as it was asked
 * for. */
static void warn_of_slow(const culvi_graphics *graphics, const culvi_memory_ask *ask,
                         const culv_memory *memory)
{
    const culvi_words *words = graphics->api->words;
    if (!ask->callers_buffers || !culvi_memory_kind_is_slow(memory->kind, memory->size)) return;
    culvi_log(
        &graphics->device->voice, CULV_LOG_WARNING,
        "%s: this %s of %" PRIu64
        " bytes is not dedicated: random access to buffers of GiBs in it can be six times as slow, from CUDA and from %s (measured). Give such a buffer memory of its own that is dedicated to it (%s), or let Culvert make the buffer; or make blocks smaller than %" PRIu64
        " bytes",
        culvi_named("memory", memory->label).text, words->memory, memory->size, words->name,
        words->dedicated, CULV_SLOW_KIND_BYTES);
}

static culv_result export_again(void *context, uint64_t native, const char *label, culv_handle *out)
{
    const culvi_graphics *graphics = context;
    return graphics->api->export_memory(graphics, label, native, out);
}

/* Chosen before the driver is asked: of a wrong one it closes the file descriptor. Memory of 2 MiB
 * and more is mapped by VMM, where copies run at 390 GB/s in place of 367. */
static culv_result choose_across(const culvi_graphics *graphics, const culvi_memory_ask *ask,
                                 culvi_memory_way *out)
{
    const culv_device *device = graphics->device;
    const culvi_words *words = graphics->api->words;
    const bool maps = device->caps.vmm && !device->caps.cig_context;
    const bool by_vmm = !ask->dedicated || (maps && ask->size >= CULVI_PLACED_UNIT);
    *out = by_vmm ? CULVI_MEMORY_PLACED : CULVI_MEMORY_ACROSS;
    if (ask->dedicated) return CULV_OK;
    CULVI_UNSUPPORTED_IF(
        !maps, &device->voice, ask->label, CULV_REASON_VMM,
        "memory of another GPU that is not dedicated to one buffer is mapped by VMM, which %s '%s' lacks; give the buffer memory of its own (%s)",
        device->caps.cig_context ? "a CIG context of" : "the device", device->caps.name,
        words->dedicated);
    if (ask->size % CULVI_PLACED_UNIT == 0) return CULV_OK;
    return culvi_fail(
        &device->voice, ask->label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
        "%s.%s is %" PRIu64
        ", and memory of another GPU that is not dedicated to one buffer maps in multiples of %" PRIu64
        " bytes alone (measured): allocate such a size, or give the buffer memory of its own (%s)",
        words->memory_desc, words->memory_size, ask->size, CULVI_PLACED_UNIT, words->dedicated);
}

culv_result culvi_graphics_import(culvi_graphics *graphics, const culvi_memory_ask *ask,
                                  culv_memory **out)
{
    const culvi_graphics_api *api = graphics->api;
    culv_memory_desc import = culv_memory_desc_init();
    culvi_memory_way way = CULVI_MEMORY_IMPORTED;
    if (graphics->across) CULVI_TRY(choose_across(graphics, ask, &way));
    CULVI_TRY(api->export_memory(graphics, ask->label, ask->memory, &import.handle));
    import.size = ask->size;
    import.dedicated = ask->dedicated;
    import.label = ask->label;
    CULVI_TRY(culvi_memory_import_exported(graphics->device, api->words, &import, way, out));
    (*out)->identity = ask->identity;
    const culvi_source source = {export_again, NULL, graphics, ask->memory, !ask->stays};
    if (api->exports_again && !graphics->foreign)
        culvi_source_set(graphics->device, &(*out)->source, &source);
    /* The API's own memory, which it exported. */
    (*out)->kind = ask->dedicated ? CULV_MEMORY_KIND_FAST : CULV_MEMORY_KIND_COMPRESSIBLE;
    warn_of_slow(graphics, ask, *out);
    if (ask->warning != NULL)
        culvi_log(&graphics->device->voice, CULV_LOG_WARNING, "%s: %s",
                  culvi_named("memory", (*out)->label).text, ask->warning);
    return CULV_OK;
}

/* An import that is found again must be what the caller says of it now. */
static culv_result check_again(const culvi_graphics *graphics, const culvi_memory_ask *ask,
                               const culv_memory *found)
{
    const culvi_voice *voice = &graphics->device->voice;
    const culvi_words *words = graphics->api->words;
    CULVI_REFUSE_IF(found->size != ask->size, voice, ask->label, CULV_REASON_SIZE,
                    "%s.%s is %" PRIu64 ", but this %s was imported with %" PRIu64
                    "; pass the whole allocation's size (%s), the same for every resource in it",
                    words->memory_desc, words->memory_size, ask->size, words->memory, found->size,
                    words->size);
    CULVI_REFUSE_IF(found->dedicated != ask->dedicated, voice, ask->label, CULV_REASON_DEDICATED,
                    "%s.dedicated is %u, but this %s was imported with %u", words->memory_desc,
                    (unsigned)ask->dedicated, words->memory, (unsigned)found->dedicated);
    return CULV_OK;
}

/* The import of this native memory that is held already; else `made`, if any, becomes it. */
static culv_memory *find_or_share(culvi_graphics *graphics, uint64_t memory, culv_memory *made)
{
    culvi_mutex_lock(&graphics->device->lock);
    culv_memory *found = culvi_memory_find_shared(graphics->device, graphics->id, memory);
    if (found == NULL && made != NULL) culvi_memory_share(made, graphics->id, memory);
    culvi_mutex_unlock(&graphics->device->lock);
    return found;
}

culv_result culvi_graphics_acquire(culvi_graphics *graphics, const culvi_memory_ask *ask,
                                   culv_memory **out)
{
    culv_memory *found = find_or_share(graphics, ask->memory, NULL);
    if (found == NULL) {
        culv_memory *made = NULL;
        culvi_memory_ask stays = *ask;
        stays.stays = true; /* by the rule of such imports */
        CULVI_TRY(culvi_graphics_import(graphics, &stays, &made));
        found = find_or_share(graphics, ask->memory, made);
        if (found == NULL) {
            *out = made;
            return CULV_OK;
        }
        culv_memory_destroy(&made); /* another thread was first */
    }
    CULVI_TRY_OR(check_again(graphics, ask, found), culv_memory_destroy(&found));
    *out = found;
    return CULV_OK;
}
