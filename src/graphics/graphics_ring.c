/* SPDX-License-Identifier: MIT */
/* Rings between CUDA and a graphics API: made, given up, and the API's turn with a slot. */
#include "graphics/graphics_ring.h"

/* Timelines, as the ring's core asks for them -------------------------------------------------- */

static const char *label_of(const culvi_graphics_ring *ring)
{
    return ring->label[0] != '\0' ? ring->label : NULL;
}

/* What the API answered to `call`. */
static culv_result judge(const culvi_graphics_timeline *t, int code, const char *call,
                         const char *what)
{
    culvi_graphics *graphics = t->ring->graphics;
    if (code == 0) return CULV_OK;
    return culvi_graphics_notice(
        graphics, graphics->api->fail(graphics, label_of(t->ring), code, call, what));
}

static culv_result timeline_value(void *context, uint64_t *out)
{
    const culvi_graphics_timeline *t = context;
    const culvi_graphics *graphics = t->ring->graphics;
    return judge(t, graphics->api->timeline_value(graphics, t->pair->native, out),
                 graphics->api->words->read_call, "a ring's timeline could not be read");
}

static culv_result timeline_wait(void *context, uint64_t value, uint64_t timeout)
{
    const culvi_graphics_timeline *t = context;
    const culvi_graphics *graphics = t->ring->graphics;
    CULVI_TEXT(text, 96);
    const char *call = NULL;
    int code = culvi_graphics_wait(graphics, t->pair, value, timeout, &call);
    if (code > 0)
        return culvi_fail(&graphics->device->voice, NULL, CULV_ERROR_TIMEOUT, CULV_REASON_RING_LATE,
                          "a ring's timeline has not reached %" PRIu64 " in %" PRIu64 " ns", value,
                          timeout);
    culvi_text_add(&text, "a ring's timeline could not be waited for (value %" PRIu64 ")", value);
    return judge(t, code, call, text.data);
}

static culv_result timeline_signal(void *context, uint64_t value)
{
    const culvi_graphics_timeline *t = context;
    const culvi_graphics *graphics = t->ring->graphics;
    CULVI_TEXT(text, 96);
    culvi_text_add(&text, "a ring's timeline could not be signaled (value %" PRIu64 ")", value);
    return judge(t, graphics->api->timeline_signal(graphics, t->pair->native, value),
                 graphics->api->words->signal_call, text.data);
}

static culv_ring_timeline core_timeline(culvi_graphics_timeline *timeline, const char *name)
{
    return (culv_ring_timeline){.semaphore = timeline->pair->cuda,
                                .value = timeline_value,
                                .wait = timeline_wait,
                                .signal = timeline_signal,
                                .context = timeline,
                                .name = name};
}

/* Bursts --------------------------------------------------------------------------------------- */

/* Those of a burst that culv_ring_drain() took from this side are nobody's any more. */
static void drop_forced(culvi_graphics_ring *ring)
{
    unsigned forced = atomic_load(&ring->core->forced);
    if (ring->forced == forced) return;
    ring->forced = forced;
    ring->num_pending = 0;
    ring->pending_wait = 0;
    ring->by_hand = false;
}

/* Command buffers of the burst that are not submitted: what is submitted without them would come
 * before them, and before what they wait for. */
static culv_result refuse_pending(const culvi_graphics_ring *ring, const char *call)
{
    return culvi_fail(
        &ring->graphics->device->voice, ring->label, CULV_ERROR_INVALID, CULV_REASON_RING_ORDER,
        "%s: %" PRIu32
        " command buffers that %s() kept are not submitted yet; end their burst by %s() or culv_ring_flush()",
        call, ring->num_pending, ring->api->ring.submit_call, ring->api->ring.submit_call);
}

/* Making --------------------------------------------------------------------------------------- */

culv_result culvi_graphics_ring_check(const culvi_graphics_ring_api *api,
                                      const culvi_graphics *graphics, const char *label,
                                      uint32_t max_depth, culv_ring_side side,
                                      const void *resources, uint32_t num_resources)
{
    const culvi_voice *voice = &graphics->device->voice;
    CULVI_REFUSE_IF(max_depth == 0 || max_depth > CULV_RING_MAX_DEPTH, voice, label,
                    CULV_REASON_VALUE, "%s.max_depth is %" PRIu32 "; it is 1 to %d", api->desc,
                    max_depth, CULV_RING_MAX_DEPTH);
    CULVI_REFUSE_IF((uint32_t)side > CULV_RING_CONSUMER, voice, label, CULV_REASON_VALUE,
                    "%s.side is %u, which is not a culv_ring_side", api->desc, (unsigned)side);
    CULVI_REFUSE_IF(num_resources > CULVI_RING_RESOURCES, voice, label, CULV_REASON_VALUE,
                    "%s.num_resources is %" PRIu32 "; a slot has %d at most", api->desc,
                    num_resources, CULVI_RING_RESOURCES);
    CULVI_REFUSE_IF(num_resources > 0 && resources == NULL, voice, label, CULV_REASON_NULL_ARGUMENT,
                    "%s.resources is NULL", api->desc);
    return CULV_OK;
}

void culvi_graphics_ring_init(culvi_graphics_ring *ring, const culvi_graphics_ring_api *api,
                              culvi_graphics *graphics, uint32_t max_depth, culv_ring_side side,
                              const char *label)
{
    memset(ring, 0, sizeof *ring);
    ring->api = api;
    ring->graphics = graphics;
    ring->depth = max_depth;
    ring->side = side;
    culvi_label_set(ring->label, label);
}

culv_result culvi_graphics_ring_set_waits(culvi_graphics_ring *ring, culv_ring_waits waits)
{
    CULVI_REFUSE_IF((uint32_t)waits > CULV_RING_WAITS_SIGNAL_FIRST, &ring->graphics->device->voice,
                    label_of(ring), CULV_REASON_VALUE,
                    "%s.waits is %u, which is not a culv_ring_waits", ring->api->desc,
                    (unsigned)waits);
    /* On Windows a consumer may present. */
    ring->signal_first =
        waits == CULV_RING_WAITS_DEFAULT
            ? (int)CULVI_SYSTEM == (int)CULVI_SYSTEM_WINDOWS && ring->side == CULV_RING_CONSUMER
            : waits == CULV_RING_WAITS_SIGNAL_FIRST;
    return CULV_OK;
}

static culv_result make_timeline(culvi_graphics_ring *ring, uint32_t fallback,
                                 culvi_graphics_timeline *out)
{
    culvi_semaphore_plan plan = {.label =
                                     label_of(ring) != NULL ? label_of(ring) : "timeline of a ring",
                                 .desc_name = ring->api->desc,
                                 .fallback = fallback,
                                 .type = CULV_SEMAPHORE_TIMELINE};
    culv_shared_semaphore *made = NULL;
    CULVI_TRY(culvi_shared_semaphore_create(ring->graphics, &plan, &made));
    culvi_semaphore_pair_set_owner(&made->pair, "culv_ring_destroy");
    *out = (culvi_graphics_timeline){ring, &made->pair};
    return CULV_OK;
}

culv_result culvi_graphics_ring_make_timelines(culvi_graphics_ring *ring, uint32_t fallback)
{
    const culvi_graphics *graphics = ring->graphics;
    CULVI_TRY(graphics->api->check_timelines(graphics, label_of(ring), CULVI_HOST_SIGNALS));
    for (int side = 0; side < 2; side++)
        CULVI_TRY(make_timeline(ring, fallback, &ring->timelines[side]));
    return CULV_OK;
}

culv_result culvi_graphics_ring_fail_twice(const culvi_graphics_ring *ring, uint32_t i,
                                           uint32_t slot, uint32_t resource, uint32_t earlier)
{
    return culvi_fail(&ring->graphics->device->voice, ring->label, CULV_ERROR_INVALID,
                      CULV_REASON_VALUE,
                      "%s.resources[%" PRIu32 "] has for slot %" PRIu32 " what resources[%" PRIu32
                      "] has for slot %" PRIu32
                      "; each slot needs objects of its own, or its frames overwrite each other",
                      ring->api->desc, i, slot, resource, earlier);
}

/* The last resource has the object for this slot. */
static culv_result check_given_twice(const culvi_graphics_ring *ring, const culvi_native *object,
                                     uint32_t slot)
{
    const uint32_t last = ring->num_resources - 1;
    for (uint32_t i = 0; i <= last; i++)
        for (uint32_t k = 0; k < (i < last ? ring->depth : slot); k++) {
            const culvi_native *other = &ring->resources[i].objects[k]->native;
            if (k != slot && other->is_image == object->is_image && other->object == object->object)
                return culvi_graphics_ring_fail_twice(ring, last, slot, i, k);
        }
    return CULV_OK;
}

culv_result culvi_graphics_ring_make_resource(culvi_graphics_ring *ring, const void *description,
                                              bool is_image, bool made)
{
    const culvi_graphics_ring_api *api = ring->api;
    const culvi_voice *voice = &ring->graphics->device->voice;
    const uint32_t i = ring->num_resources++;
    culvi_graphics_ring_resource *r = &ring->resources[i];
    *r = (culvi_graphics_ring_resource){.is_image = is_image, .made = made};
    r->objects = culvi_alloc(ring->depth * sizeof *r->objects);
    if (r->objects == NULL) return culvi_fail_host_memory(voice, ring->label);
    if (is_image) ring->num_images++;
    for (uint32_t slot = 0; slot < ring->depth; slot++) {
        CULVI_TRY(api->make_object(ring, description, slot, &r->objects[slot]));
        if (made) culvi_pair_set_owner(r->objects[slot], "culv_ring_destroy");
        CULVI_REFUSE_IF(r->objects[slot] == NULL, voice, ring->label, CULV_REASON_NULL_ARGUMENT,
                        "%s.resources[%" PRIu32 "] has a NULL among its max_depth objects",
                        api->desc, i);
        CULVI_REFUSE_IF(r->objects[slot]->graphics != ring->graphics, voice, ring->label,
                        CULV_REASON_DEVICE_MISMATCH,
                        "%s.resources[%" PRIu32 "] is of another %s than the ring", api->desc, i,
                        api->attachment);
        CULVI_TRY(check_given_twice(ring, &r->objects[slot]->native, slot));
    }
    return CULV_OK;
}

culv_result culvi_graphics_ring_make_core_on(culvi_graphics_ring *ring,
                                             const culv_ring_settings *settings,
                                             const culv_ring_timeline timelines[2])
{
    culv_ring_desc core = culv_ring_desc_init();
    core.max_depth = ring->depth;
    core.settings = settings;
    core.ready = timelines[CULV_RING_PRODUCER];
    core.done = timelines[CULV_RING_CONSUMER];
    core.label = label_of(ring);
    CULVI_TRY(culvi_ring_create(ring->graphics->device, &core, &ring->core));
    ring->owner = (culvi_ring_owner){.side = ring->side,
                                     .stream_side = culvi_graphics_ring_cuda_side(ring),
                                     .api = &ring->api->ring,
                                     .context = ring};
    ring->core->owner = &ring->owner;
    culvi_graphics_add_ring(ring);
    return CULV_OK;
}

culv_result culvi_graphics_ring_make_core(culvi_graphics_ring *ring,
                                          const culv_ring_settings *settings)
{
    const culv_ring_timeline timelines[2] = {
        [CULV_RING_PRODUCER] = core_timeline(&ring->timelines[CULV_RING_PRODUCER], "ready"),
        [CULV_RING_CONSUMER] = core_timeline(&ring->timelines[CULV_RING_CONSUMER], "done")};
    return culvi_graphics_ring_make_core_on(ring, settings, timelines);
}

/* CUDA may wait for what the API's side was to signal. Its caller says that the API's work is
 * over. */
static void settle(const culvi_graphics_ring *ring)
{
    culvi_semaphore_pair *pair = ring->timelines[ring->side].pair;
    if (pair != NULL) culvi_semaphore_pair_settle(pair);
}

void culvi_graphics_ring_unmake(culvi_graphics_ring *ring, const CUstream *last_use)
{
    if (ring->core != NULL) {
        culvi_graphics_remove_ring(ring);
        culvi_ring_end_for_good(ring->core);
        /* A thread of CUDA's side may be in a call of the driver's that waits for that. */
        settle(ring);
        culvi_ring_destroy_core(&ring->core);
        settle(ring);
    }
    for (uint32_t i = 0; i < ring->num_resources; i++) {
        culvi_graphics_ring_resource *r = &ring->resources[i];
        for (uint32_t slot = 0; r->made && r->objects != NULL && slot < ring->depth; slot++)
            culvi_pair_destroy(r->objects[slot], last_use);
        culvi_free(r->objects);
    }
    for (int side = 0; side < 2; side++)
        culvi_semaphore_pair_destroy(ring->timelines[side].pair, last_use);
}

culvi_pair *culvi_graphics_ring_object(const culvi_graphics_ring *ring, uint32_t slot,
                                       uint32_t resource, bool is_image)
{
    if (slot >= ring->depth || resource >= ring->num_resources) return NULL;
    const culvi_graphics_ring_resource *r = &ring->resources[resource];
    return r->is_image == is_image ? r->objects[slot] : NULL;
}

culvi_ring_objects culvi_graphics_ring_objects(const void *context, uint32_t slot,
                                               uint32_t resource)
{
    const culvi_graphics_ring *ring = context;
    culvi_pair *buffer = culvi_graphics_ring_object(ring, slot, resource, false);
    culvi_pair *image = culvi_graphics_ring_object(ring, slot, resource, true);
    return (culvi_ring_objects){.shared_buffer = (culv_shared_buffer *)buffer,
                                .shared_image = (culv_shared_image *)image,
                                .buffer = buffer != NULL ? buffer->buffer : NULL,
                                .image = image != NULL ? image->image : NULL};
}

/* The API's turn ------------------------------------------------------------------------------- */

culv_result culvi_graphics_ring_acquire(void *context, const CUstream *stream, uint64_t timeout,
                                        culv_ring_frame *out, const char *call)
{
    (void)stream;
    const culvi_graphics_ring *ring = context;
    if (culvi_ring_acquire_next(ring->core, ring->side, out)) return CULV_OK;
    return culvi_ring_acquire(ring->core, ring->side, timeout,
                              ring->signal_first ? CULVI_RING_BY_HOST : CULVI_RING_BY_QUEUE, out,
                              call);
}

/* The caller submits. In a call of the side, which keeps others from what is pending. */
static culv_result by_hand(void *context, uint64_t value)
{
    culvi_graphics_ring *ring = context;
    (void)value;
    ring->by_hand = true;
    return CULV_OK;
}

culv_result culvi_graphics_ring_release(void *context, const CUstream *stream,
                                        culv_ring_frame *frame, const char *call)
{
    (void)stream;
    culvi_graphics_ring *ring = context;
    drop_forced(ring);
    if (ring->num_pending > 0) return refuse_pending(ring, call);
    return culvi_ring_release_by(ring->core, ring->side, frame, by_hand, ring, call);
}

typedef struct submission {
    culvi_graphics_ring *ring;
    const culvi_graphics_work *work;
    uint64_t wait; /* the frame's */
} submission;

/* A flush is for that queue. */
static void note_queue(culvi_graphics_ring *ring, const culvi_graphics_work *work)
{
    ring->queue = work->queue;
    ring->by_hand = false;
}

/* Within a burst, where `value` is 0, commands without a fence are kept for the submission that
 * ends it. After an error they are still kept. */
static culv_result submit(void *context, uint64_t value)
{
    const submission *s = context;
    const culvi_graphics_work *work = s->work;
    culvi_graphics_ring *ring = s->ring;
    uint32_t count = ring->num_pending;
    uint64_t wait = s->wait > ring->pending_wait ? s->wait : ring->pending_wait;
    if (work->commands != NULL) ring->pending[count++] = work->commands;
    if (value == 0 && work->fence == 0 && (work->commands != NULL || count == 0)) {
        ring->num_pending = count;
        ring->pending_wait = wait;
        note_queue(ring, work);
        return CULV_OK;
    }
    CULVI_TRY(
        culvi_graphics_notice(ring->graphics, ring->api->submit(ring, work, count, wait, value)));
    ring->num_pending = 0;
    ring->pending_wait = 0;
    note_queue(ring, work);
    return CULV_OK;
}

culv_result culvi_graphics_ring_submit(culvi_graphics_ring *ring, const culvi_graphics_work *work,
                                       culv_ring_frame *frame, const char *call)
{
    drop_forced(ring);
    /* A burst that was ended in another way. */
    if ((frame->burst_begins != 0 && ring->num_pending > 0) ||
        ring->num_pending == CULV_RING_MAX_DEPTH)
        return refuse_pending(ring, call);
    submission s = {ring, work, frame->wait_value};
    return culvi_ring_release_by(ring->core, ring->side, frame, submit, &s, call);
}

culv_result culvi_graphics_ring_submit_failed(culvi_graphics_ring *ring,
                                              const culv_ring_frame *frame, const char *call)
{
    drop_forced(ring);
    if (ring->num_pending > 0) return refuse_pending(ring, call);
    return culvi_ring_submit_failed(ring->core, ring->side, frame, call);
}

culv_result culvi_graphics_ring_flush(void *context, const CUstream *stream, uint64_t *signal_value,
                                      const char *call)
{
    (void)stream;
    uint64_t signaled = 0;
    culvi_graphics_ring *ring = context;
    drop_forced(ring);
    if (ring->by_hand) {
        CULVI_REQUIRE_IN(&ring->graphics->device->voice, call, signal_value);
        return culvi_ring_flush_by(ring->core, ring->side, NULL, NULL, signal_value, call);
    }
    const culvi_graphics_work work = {.queue = ring->queue};
    submission s = {.ring = ring, .work = &work};
    CULVI_TRY(culvi_ring_flush_by(ring->core, ring->side, submit, &s, &signaled, call));
    if (signal_value != NULL) *signal_value = 0;
    return CULV_OK;
}
