/* SPDX-License-Identifier: MIT */
/* Native semaphores in CUDA: the caller's own, and those that Culvert makes. */
#include "core/relay.h"
#include "graphics/graphics_ring.h"

static culv_result check_type(const culvi_graphics *graphics, const char *label, const char *desc,
                              culv_semaphore_type type, bool untracked)
{
    const culvi_voice *voice = &graphics->device->voice;
    CULVI_REFUSE_IF(type == CULV_SEMAPHORE_TIMELINE && untracked, voice, label, CULV_REASON_VALUE,
                    "%s.untracked is for binary semaphores", desc);
    return culvi_semaphore_check_type(voice, label, desc, type);
}

static culv_result export_again(void *context, uint64_t native, const char *label, culv_handle *out)
{
    const culvi_graphics *graphics = context;
    return graphics->api->export_semaphore(graphics, label, native, out);
}

static bool read_again(void *context, uint64_t native, uint64_t *out)
{
    const culvi_graphics *graphics = context;
    return graphics->api->timeline_value(graphics, native, out) == 0;
}

/* Exports the semaphore and imports it. `stays`: it is there while the import is. */
static culv_result share_native(culvi_graphics *graphics, uint64_t semaphore, bool stays,
                                culv_semaphore_desc *import, culv_semaphore **out)
{
    const culvi_graphics_api *api = graphics->api;
    CULVI_TRY(api->export_semaphore(graphics, import->label, semaphore, &import->handle));
    CULVI_TRY(
        culvi_semaphore_import_exported(graphics->device, api->words, graphics->id, import, out));
    const bool reads =
        import->type == CULV_SEMAPHORE_TIMELINE && graphics->api->check_timelines != NULL;
    const culvi_source source = {export_again, reads ? read_again : NULL, graphics, semaphore,
                                 !stays};
    if (graphics->api->exports_again && !graphics->foreign)
        culvi_source_set(graphics->device, &(*out)->source, &source);
    if (!(graphics->across || api->overtaken)) return CULV_OK;
    (*out)->across = graphics->across;
    CULVI_TRY_OR(culvi_semaphore_arrives(*out),
                 (culvi_semaphore_release_or_defer(*out, NULL), *out = NULL));
    return CULV_OK;
}

/* Only of what was imported as a timeline: drivers crash when they are asked for the counter of a
 * binary semaphore. */
static culv_result note_counter(const culvi_graphics *graphics, uint64_t semaphore,
                                culv_semaphore *cuda)
{
    uint64_t value = 0;
    int code = graphics->api->timeline_value(graphics, semaphore, &value);
    if (code == 0) {
        culv_semaphore_mark_value(cuda, value);
        return CULV_OK;
    }
    culv_result result =
        graphics->api->fail(graphics, cuda->label, code, graphics->api->words->read_call,
                            "the timeline's counter could not be read");
    culvi_semaphore_release_or_defer(cuda, NULL);
    return result;
}

culv_result culvi_graphics_import_semaphore(culvi_graphics *graphics, uint64_t semaphore,
                                            const culv_semaphore_desc *desc, const char *desc_name,
                                            culv_semaphore **out)
{
    culv_semaphore_desc import = *desc;
    bool timeline = desc->type == CULV_SEMAPHORE_TIMELINE;
    CULVI_TRY(check_type(graphics, desc->label, desc_name, desc->type, desc->untracked != 0));
    CULVI_TRY(culvi_graphics_check_shares(graphics, desc->label, CULVI_SHARE_SEMAPHORES));
    CULVI_REFUSE_IF(
        timeline && desc->signal_pending, &graphics->device->voice, desc->label, CULV_REASON_VALUE,
        "%s.signal_pending is for binary semaphores; report promised values with culv_semaphore_mark_value()",
        desc_name);
    if (timeline)
        CULVI_TRY(graphics->api->check_timelines(graphics, desc->label, CULVI_HOST_READS));
    culv_semaphore *made = NULL;
    CULVI_TRY(share_native(graphics, semaphore, false, &import, &made));
    if (timeline) CULVI_TRY(note_counter(graphics, semaphore, made));
    *out = made;
    return CULV_OK;
}

/* Both halves ---------------------------------------------------------------------------------- */

static culv_result share(void *object, void *plans)
{
    culvi_semaphore_pair *pair = object;
    const culvi_semaphore_plan *plan = plans;
    culvi_graphics *graphics = pair->graphics;
    CULVI_TRY(culvi_graphics_check_shares(graphics, plan->label, CULVI_SHARE_SEMAPHORES));
    CULVI_TRY(graphics->api->make_semaphore(graphics, plan, true, &pair->native));
    culv_semaphore_desc import = culv_semaphore_desc_init();
    import.type = plan->type;
    import.value = plan->initial_value;
    import.untracked = plan->untracked;
    import.label = plan->label;
    CULVI_TRY_OR(share_native(graphics, pair->native, true, &import, &pair->cuda),
                 (graphics->api->unmake_semaphore(graphics, pair->native), pair->native = 0));
    return CULV_OK;
}

static culv_result make_by_peer(void *object, void *plans)
{
    culvi_semaphore_pair *pair = object;
    culvi_semaphore_plan *plan = plans;
    const culvi_graphics *graphics = pair->graphics;
    culvi_semaphore_pair far = {.graphics = NULL};
    CULVI_TRY(culvi_graphics_peer(pair->graphics, plan->label, &far.graphics));
    CULVI_TRY(share(&far, plan));
    culv_result result = culvi_relay_semaphore(graphics->device, graphics->api->words, plan->type,
                                               plan->initial_value, plan->untracked, plan->label,
                                               far.cuda, NULL, &pair->cuda);
    CULVI_TRY_OR(result, (culvi_semaphore_release_or_defer(far.cuda, NULL),
                          far.graphics->api->unmake_semaphore(far.graphics, far.native)));
    pair->native = far.native;
    pair->cuda->exporter = graphics->id; /* CUDA's waits are for it, not for the far one */
    return CULV_OK;
}

/* Inside host functions: native calls are allowed there. */

static int signal_by_host(void *context, uint64_t value)
{
    const culvi_semaphore_pair *pair = context;
    return pair->graphics->api->timeline_signal(pair->graphics, pair->native, value);
}

static int wait_by_host(void *context, uint64_t value)
{
    const culvi_semaphore_pair *pair = context;
    return pair->graphics->api->timeline_wait(pair->graphics, pair->native, value, UINT64_MAX);
}

static bool reached(void *context, uint64_t value)
{
    const culvi_semaphore_pair *pair = context;
    uint64_t now = 0;
    return pair->graphics->api->timeline_value(pair->graphics, pair->native, &now) == 0 &&
           now >= value;
}

static void release_by_host(void *context)
{
    culvi_semaphore_pair *pair = context;
    culvi_wait_note_forget(pair->graphics->device, pair);
    pair->graphics->api->unmake_semaphore(pair->graphics, pair->native);
    culvi_free(pair);
}

/* For a destroy that waits. A caller's own semaphore may be gone, this one is there for as long as
 * CUDA's half is. */
static bool read_counter(void *context, uint64_t *out)
{
    const culvi_semaphore_pair *pair = context;
    return pair->graphics->api->timeline_value(pair->graphics, pair->native, out) == 0;
}

static culv_result make_by_host(void *object, void *plans)
{
    culvi_semaphore_pair *pair = object;
    const culvi_semaphore_plan *plan = plans;
    culvi_graphics *graphics = pair->graphics;
    const culvi_graphics_api *api = graphics->api;
    culvi_host_semaphore host = {.context = pair,
                                 .words = api->words,
                                 .signal = signal_by_host,
                                 .wait = wait_by_host,
                                 .reached = reached,
                                 .release = release_by_host,
                                 .holder = graphics};
    CULVI_UNSUPPORTED_IF(
        plan->type != CULV_SEMAPHORE_TIMELINE, &graphics->device->voice, plan->label,
        CULV_REASON_NOT_EXPORTABLE,
        "the binary semaphore cannot be shared, and the host signals only timelines; use a timeline");
    CULVI_TRY(api->check_timelines(graphics, plan->label, CULVI_HOST_SIGNALS));
    CULVI_TRY(api->make_semaphore(graphics, plan, false, &pair->native));
    culv_result result =
        culvi_relay_semaphore(graphics->device, api->words, plan->type, plan->initial_value, false,
                              plan->label, NULL, &host, &pair->cuda);
    CULVI_TRY_OR(result, (api->unmake_semaphore(graphics, pair->native), pair->native = 0));
    return CULV_OK;
}

static culv_result check_plan(const culvi_graphics *graphics, const culvi_semaphore_plan *plan)
{
    const culvi_voice *voice = &graphics->device->voice;
    CULVI_TRY(check_type(graphics, plan->label, plan->desc_name, plan->type, plan->untracked));
    CULVI_REFUSE_IF(plan->type == CULV_SEMAPHORE_BINARY && plan->initial_value != 0, voice,
                    plan->label, CULV_REASON_VALUE,
                    "%s.initial_value is %" PRIu64 "; a binary semaphore begins unsignaled",
                    plan->desc_name, plan->initial_value);
    return CULV_OK;
}

static culv_result make(culvi_graphics *graphics, culvi_semaphore_plan *plan,
                        culvi_semaphore_pair *pair)
{
    static culvi_path_fn *const paths[] = {share, make_by_peer, make_by_host};
    pair->graphics = graphics;
    if (plan->type == CULV_SEMAPHORE_NONE) plan->type = CULV_SEMAPHORE_TIMELINE;
    CULVI_TRY(check_plan(graphics, plan));
    CULVI_TRY(culvi_check_fallback(&graphics->device->voice, plan->label, plan->desc_name,
                                   plan->fallback));
    CULVI_TRY(plan->fallback != 0
                  ? culvi_try_paths(graphics, plan->label, plan->fallback, paths, pair, plan)
                  : share(pair, plan));
    pair->cuda->owner_destroy_call = "culv_shared_semaphore_destroy";
    if (plan->type == CULV_SEMAPHORE_TIMELINE)
        culvi_wait_note_set_counter(graphics->device, &pair->cuda->waits, read_counter, pair);
    culvi_graphics_object_made(graphics);
    return CULV_OK;
}

culv_result culvi_shared_semaphore_create(culvi_graphics *graphics, culvi_semaphore_plan *plan,
                                          culv_shared_semaphore **out)
{
    CULVI_NEW(culv_shared_semaphore, made, &graphics->device->voice, plan->label);
    CULVI_TRY_OR(make(graphics, plan, &made->pair), culvi_free(made));
    *out = made;
    return CULV_OK;
}

void culvi_semaphore_pair_set_owner(culvi_semaphore_pair *pair, const char *destroy_call)
{
    pair->owner_destroy_call = pair->cuda->owner_destroy_call = destroy_call;
}

void culvi_semaphore_pair_destroy(culvi_semaphore_pair *pair, const CUstream *last_use)
{
    if (pair == NULL) return;
    culv_semaphore *cuda = pair->cuda;
    culvi_graphics *graphics = pair->graphics;
    /* Host functions that are on their way use it: all of it goes with CUDA's half. */
    bool used = culv_semaphore_sharing(cuda) == CULV_SHARING_HOST;
    if (last_use == NULL) culvi_semaphore_pair_settle(pair); /* the API's use is over */
    if (last_use == NULL) culvi_relay_quiesce(cuda);
    culvi_source_set(cuda->device, &cuda->source, NULL);
    culvi_semaphore_release_or_defer(cuda, last_use);
    if (!used) {
        culvi_wait_note_forget(graphics->device, pair);
        graphics->api->unmake_semaphore(graphics, pair->native);
        culvi_free(pair);
    }
    culvi_graphics_object_gone(graphics);
}
