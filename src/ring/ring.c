/* SPDX-License-Identifier: MIT */
/* culv_ring: making, changing and destroying one; calls and their lock. The way of a frame:
 * ring_flow.c, ring_stream.c and ring_mailbox.c; limits, failures, draining: ring_stop.c;
 * max_latency: ring_auto.c. */
#include "ring/ring.h"

#include "core/semaphore.h"

#include <stdio.h>

/* Who leaves a ring that is being destroyed is looked for this often: leaving wakes nobody. */
static const uint64_t LEAVING_NS = 1000000;

static const char *const side_names[] = {"the producer", "the consumer"};

culv_result culvi_ring_fail(culv_ring *ring, culv_result result, culv_reason reason,
                            const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    culvi_mutex_unlock(&ring->lock);
    const int cancel = culvi_cancel_disable(); /* a log may write to a file */
    (void)culvi_fail(culvi_ring_voice(ring), ring->label, result, reason, "%s", text);
    culvi_cancel_restore(cancel);
    culvi_mutex_lock(&ring->lock);
    return result;
}

culv_result culvi_ring_enter_any(culv_ring *ring, culv_ring_side side, const char *call)
{
    if (ring == NULL) return culvi_fail_null(NULL, call, "ring");
    CULVI_REFUSE_IF(side != CULV_RING_PRODUCER && side != CULV_RING_CONSUMER,
                    culvi_ring_voice(ring), ring->label, CULV_REASON_VALUE,
                    "%s: side is %d; it is CULV_RING_PRODUCER (%d) or CULV_RING_CONSUMER (%d)",
                    call, (int)side, (int)CULV_RING_PRODUCER, (int)CULV_RING_CONSUMER);
    culvi_ring_party *me = &ring->side[side];
    CULVI_REFUSE_IF(
        atomic_exchange_explicit(&me->in_call, true, memory_order_acquire), culvi_ring_voice(ring),
        ring->label, CULV_REASON_RING_SIDE,
        "%s: another thread is in a call of %s; only one thread at a time may use a side", call,
        side_names[side]);
    culvi_mutex_lock(&ring->lock);
    return CULV_OK;
}

culv_result culvi_ring_enter(culv_ring *ring, culv_ring_side side, const char *call)
{
    culv_result result = culvi_ring_enter_any(ring, side, call);
    if (result != CULV_OK || ring->stopped[0] == '\0') return result;
    result = culvi_ring_fail_stopped(ring);
    culvi_ring_leave(ring, side);
    return result;
}

void culvi_ring_leave(culv_ring *ring, culv_ring_side side)
{
    culvi_mutex_unlock(&ring->lock);
    atomic_store_explicit(&ring->side[side].in_call, false,
                          memory_order_release); /* the last that is touched */
}

void culvi_ring_wake(culv_ring *ring)
{
    if (ring->sleepers > 0) culvi_condition_wake_all(&ring->changed);
}

uint32_t culvi_ring_remove(culvi_ring_queue *queue, uint32_t index)
{
    uint32_t slot = culvi_ring_peek(queue, index);
    for (; index > 0; index--)
        queue->slots[(queue->head + index) % CULV_RING_MAX_DEPTH] =
            (uint8_t)culvi_ring_peek(queue, index - 1);
    (void)culvi_ring_pop(queue);
    return slot;
}

void culvi_ring_aim(culv_ring *ring)
{
    const culv_ring_settings *s = &ring->settings;
    ring->depth = s->depth;
    ring->burst = s->policy == CULV_RING_MAILBOX ? 1 : s->burst;
    if (ring->automatic.bound != 0) ring->depth = ring->burst = ring->automatic.level;
}

void culvi_ring_apply_depth(culv_ring *ring)
{
    uint64_t aimed = ring->depth < 64 ? (UINT64_C(1) << ring->depth) - 1 : UINT64_MAX;
    if (ring->in_use == ring->depth && (ring->parked & aimed) == 0) return;
    for (uint32_t i = 0; i < ring->free.count;) {
        if (culvi_ring_peek(&ring->free, i) < ring->depth) {
            i++;
            continue;
        }
        ring->parked |= UINT64_C(1) << culvi_ring_remove(&ring->free, i);
        ring->in_use--;
    }
    for (uint32_t slot = 0; slot < ring->depth; slot++) {
        if ((ring->parked & UINT64_C(1) << slot) == 0) continue;
        ring->parked &= ~(UINT64_C(1) << slot);
        ring->in_use++;
        culvi_ring_push(&ring->free, slot);
    }
}

/* Settings ------------------------------------------------------------------------------------- */

static culv_result check_functions(const culvi_voice *voice, const char *label,
                                   const culv_ring_desc *d, const culv_ring_settings *s)
{
    const char *bound = s->max_latency != 0 ? "max_latency" : NULL;
    const char *host = s->cuda_waits == CULV_RING_WAITS_SIGNAL_FIRST ? "cuda_waits" : NULL;
    const char *reads = s->policy == CULV_RING_MAILBOX ? "the policy MAILBOX" : bound;
    const char *paces = s->max_frames_in_flight != 0 ? "a lead" : bound;
    const struct {
        const char *who, *needs;
        bool has;
    } rows[] = {{reads, "ready.value", d->ready.value != NULL},
                {reads, "done.value", d->done.value != NULL},
                {paces, "done.wait", d->done.wait != NULL},
                {host, "ready.wait", d->ready.wait != NULL},
                {host, "done.wait", d->done.wait != NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        CULVI_REFUSE_IF(rows[i].who != NULL && !rows[i].has, voice, label, CULV_REASON_VALUE,
                        "culv_ring_settings: %s needs culv_ring_desc.%s, which is NULL",
                        rows[i].who, rows[i].needs);
    return CULV_OK;
}

/* Makes every default explicit but for the lead, which goes with the depth. */
static culv_result read_settings(const culvi_voice *voice, const char *label,
                                 const culv_ring_desc *d, const culv_ring_settings *settings,
                                 culv_ring_settings *out)
{
    CULVI_READ(voice, culv_ring_settings, s, settings);
    CULVI_REFUSE_IF(
        s.policy != CULV_RING_FIFO && s.policy != CULV_RING_MAILBOX, voice, label,
        CULV_REASON_VALUE,
        "culv_ring_settings.policy is %d; it is CULV_RING_FIFO (%d) or CULV_RING_MAILBOX (%d)",
        (int)s.policy, (int)CULV_RING_FIFO, (int)CULV_RING_MAILBOX);
    CULVI_REFUSE_IF((uint32_t)s.cuda_waits > CULV_RING_WAITS_SIGNAL_FIRST, voice, label,
                    CULV_REASON_VALUE,
                    "culv_ring_settings.cuda_waits is %u, which is not a culv_ring_waits",
                    (unsigned)s.cuda_waits);
    if (s.depth == 0) s.depth = d->max_depth;
    if (s.burst == 0) s.burst = 1;
    CULVI_REFUSE_IF(s.depth > d->max_depth, voice, label, CULV_REASON_VALUE,
                    "culv_ring_settings.depth is %" PRIu32 "; the ring was made with %" PRIu32
                    " slots",
                    s.depth, d->max_depth);
    CULVI_REFUSE_IF(s.burst > s.depth, voice, label, CULV_REASON_VALUE,
                    "culv_ring_settings.burst is %" PRIu32
                    "; a burst has at most as many frames as there are slots, %" PRIu32,
                    s.burst, s.depth);
    CULVI_REFUSE_IF(s.policy == CULV_RING_MAILBOX && s.depth < 3, voice, label, CULV_REASON_VALUE,
                    "culv_ring_settings.depth is %" PRIu32
                    "; MAILBOX needs 3: one that is read, one that waits, one that is written",
                    s.depth);
    culv_result result = check_functions(voice, label, d, &s);
    if (result == CULV_OK) *out = s;
    return result;
}

/* The caller holds the lock, or no one has the ring yet. */
static void apply(culv_ring *ring, const culv_ring_settings *s)
{
    uint64_t bound = s->policy == CULV_RING_FIFO ? s->max_latency : 0;
    if (bound != ring->automatic.bound || s->burst != ring->settings.burst)
        culvi_ring_auto_start(&ring->automatic, bound, ring->max_depth, s->burst);
    ring->settings = *s;
    culvi_ring_aim(ring);
}

culv_result culv_ring_configure(culv_ring *ring, const culv_ring_settings *settings)
{
    culv_ring_settings s;
    CULVI_REQUIRE(NULL, ring);
    CULVI_REQUIRE(culvi_ring_voice(ring), settings);
    CULVI_REFUSE_IF(
        culvi_ring_is_apart(ring), culvi_ring_voice(ring), ring->label, CULV_REASON_RING_SIDE,
        "culv_ring_configure: each consumer of a ring between processes chooses how its frames flow (culv_ipc_consumer_desc.policy)");
    culv_ring_desc d = culv_ring_desc_init();
    d.max_depth = ring->max_depth;
    d.ready = ring->side[CULV_RING_PRODUCER].api;
    d.done = ring->side[CULV_RING_CONSUMER].api;
    CULVI_TRY(read_settings(culvi_ring_voice(ring), ring->label, &d, settings, &s));
    culvi_mutex_lock(&ring->lock);
    apply(ring, &s);
    culvi_ring_wake(ring);
    culvi_mutex_unlock(&ring->lock);
    return CULV_OK;
}

/* Making and destroying ------------------------------------------------------------------------ */

static culv_result check_timelines(const culv_device *device, const culv_ring_desc *d)
{
    const culv_semaphore *const semaphores[] = {d->ready.semaphore, d->done.semaphore};
    static const char *const names[] = {"ready", "done"};
    for (int i = 0; i < 2; i++) {
        if (semaphores[i] == NULL) continue;
        CULVI_REFUSE_IF(
            semaphores[i]->device != device, &device->voice, d->label, CULV_REASON_DEVICE_MISMATCH,
            "culv_ring_desc.%s.semaphore is of another culv_device ('%s', CUDA device %d) than the ring ('%s', CUDA device %d)",
            names[i], semaphores[i]->device->caps.name, (int)semaphores[i]->device->ordinal,
            device->caps.name, (int)device->ordinal);
        CULVI_REFUSE_IF(semaphores[i]->type != CULV_SEMAPHORE_TIMELINE, &device->voice, d->label,
                        CULV_REASON_VALUE,
                        "culv_ring_desc.%s.semaphore is binary; a ring's are timelines", names[i]);
    }
    CULVI_REFUSE_IF(
        semaphores[0] != NULL && semaphores[0] == semaphores[1], &device->voice, d->label,
        CULV_REASON_VALUE,
        "culv_ring_desc.ready and .done are the same semaphore; each side signals its own");
    return CULV_OK;
}

/* Nobody is woken but by the time, and by a ring that ends: nobody who sleeps here is among the
 * sleepers. */
static void nap(culv_ring *ring, uint64_t ns)
{
    culvi_condition_wait(&ring->changed, &ring->lock, culvi_now() + ns);
}

static void start_party(culvi_ring_party *party, const culv_ring_timeline *api, const char *name,
                        uint64_t value)
{
    party->api = *api;
    snprintf(party->name, sizeof party->name, "%s", api->name != NULL ? api->name : name);
    party->api.name = party->name;
    party->promised = party->known = value;
}

culv_result culv_ring_create(culv_device *device, const culv_ring_desc *desc, culv_ring **out)
{
    culv_ring *ring = NULL;
    CULVI_REQUIRE_WITH2(device, &device->voice, desc, out);
    culv_result result = culvi_ring_create(device, desc, &ring);
    /* A stream of CUDA's may be on the other side. */
    for (int side = 0; side < 2 && result == CULV_OK; side++)
        if (ring->side[side].api.semaphore != NULL)
            result = culvi_semaphore_arrives(ring->side[side].api.semaphore);
    if (result == CULV_OK)
        *out = ring;
    else
        culvi_ring_destroy_core(&ring);
    return result;
}

culv_result culvi_ring_create(culv_device *device, const culv_ring_desc *desc, culv_ring **out)
{
    culv_ring_settings s;
    const culvi_voice *voice = &device->voice;
    CULVI_READ(voice, culv_ring_desc, d, desc);
    CULVI_REFUSE_IF(d.max_depth == 0 || d.max_depth > CULV_RING_MAX_DEPTH, voice, d.label,
                    CULV_REASON_VALUE,
                    "culv_ring_desc.max_depth is %" PRIu32 "; a ring has 1 to %d slots",
                    d.max_depth, CULV_RING_MAX_DEPTH);
    culv_result result = check_timelines(device, &d);
    if (result == CULV_OK) result = read_settings(voice, d.label, &d, d.settings, &s);
    return result == CULV_OK ? culvi_ring_create_core(device, &d, &s, out) : result;
}

culv_result culvi_ring_create_core(culv_device *device, const culv_ring_desc *desc,
                                   const culv_ring_settings *settings, culv_ring **out)
{
    const culvi_voice *voice = device != NULL ? &device->voice : NULL;
    CULVI_NEW(culv_ring, ring, voice, desc->label);
    if (!culvi_condition_init(&ring->changed)) {
        culvi_free(ring);
        return culvi_fail_host_memory(voice, desc->label);
    }
    culvi_mutex_init(&ring->lock);
    ring->device = device;
    ring->now = culvi_now;
    ring->nap = nap;
    ring->max_depth = ring->in_use = desc->max_depth;
    ring->last_side = -1;
    ring->lead_from = desc->done_value;
    culvi_label_set(ring->label, desc->label);
    start_party(&ring->side[CULV_RING_PRODUCER], &desc->ready, "ready", desc->ready_value);
    start_party(&ring->side[CULV_RING_CONSUMER], &desc->done, "done", desc->done_value);
    for (uint32_t slot = 0; slot < desc->max_depth; slot++)
        culvi_ring_push(&ring->free, slot);
    apply(ring, settings);
    culvi_ring_apply_depth(ring);
    if (device != NULL) culvi_device_ref(device);
    culvi_log_object(voice, "made", "ring", ring->label, 0);
    *out = ring;
    return CULV_OK;
}

void culvi_ring_destroy_core(culv_ring **ring)
{
    culv_ring *mine = *ring;
    if (mine == NULL) return;
    *ring = NULL;
    culvi_ring_end_for_good(mine);
    culvi_mutex_lock(&mine->lock);
    culvi_watch watch = {.kind = "ring",
                         .what = "Another thread is still in a call of one of its sides"};
    if (mine->device != NULL) culvi_watch_begin(mine->device, &watch, mine->label);
    while (atomic_load(&mine->side[0].in_call) || atomic_load(&mine->side[1].in_call))
        culvi_condition_wait(&mine->changed, &mine->lock, culvi_now() + LEAVING_NS);
    if (mine->device != NULL) culvi_watch_done(mine->device, &watch);
    culvi_mutex_unlock(&mine->lock);
    culvi_condition_destroy(&mine->changed);
    culvi_mutex_destroy(&mine->lock);
    culv_device *device = mine->device;
    culvi_log_object(culvi_ring_voice(mine), "destroyed", "ring", mine->label, 0);
    culvi_free(mine);
    if (device != NULL) culvi_device_unref(device);
}

culv_result culv_ring_destroy(culv_ring **ring, const CUstream *last_use)
{
    if (ring == NULL || *ring == NULL) return CULV_OK;
    const culvi_ring_owner *owner = (*ring)->owner;
    if (owner == NULL) {
        culvi_ring_destroy_core(ring);
        return CULV_OK;
    }
    culv_result result = owner->api->destroy(owner->context, last_use, __func__);
    if (result == CULV_OK) *ring = NULL;
    return result;
}

void *culvi_ring_of_api(const culv_ring *ring, const culvi_ring_api *api, const char *call)
{
    if (ring != NULL && ring->owner != NULL && ring->owner->api == api) return ring->owner->context;
    if (call == NULL) return NULL;
    if (ring == NULL)
        (void)culvi_fail_null(NULL, call, "ring");
    else
        (void)culvi_fail(culvi_ring_voice(ring), ring->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                         "%s: the ring is not one of %s()", call, api->create_call);
    return NULL;
}

/* What it is made of --------------------------------------------------------------------------- */

static culvi_ring_objects objects_of(const culv_ring *ring, uint32_t slot, uint32_t resource)
{
    if (ring == NULL || ring->owner == NULL || ring->owner->api->objects == NULL)
        return (culvi_ring_objects){.buffer = NULL};
    return ring->owner->api->objects(ring->owner->context, slot, resource);
}

#define OBJECT(type, function, member)                                                             \
    type *function(const culv_ring *ring, uint32_t slot, uint32_t resource)                        \
    {                                                                                              \
        return objects_of(ring, slot, resource).member;                                            \
    }
OBJECT(culv_buffer, culv_ring_buffer, buffer)
OBJECT(culv_image, culv_ring_image, image)
OBJECT(culv_shared_buffer, culv_ring_shared_buffer, shared_buffer)
OBJECT(culv_shared_image, culv_ring_shared_image, shared_image)

CUdeviceptr culv_ring_pointer(const culv_ring *ring, uint32_t slot, uint32_t resource)
{
    return culv_buffer_pointer(culv_ring_buffer(ring, slot, resource));
}

culv_result culv_ring_get_stats(const culv_ring *ring, culv_ring_stats *out)
{
    CULVI_REQUIRE(NULL, ring);
    CULVI_REQUIRE(culvi_ring_voice(ring), out);
    CULVI_TRY(culvi_struct_check(culvi_ring_voice(ring), out, "culv_ring_stats"));
    culv_ring *r = (culv_ring *)ring; /* its lock */
    culv_ring_stats s = culv_ring_stats_init();
    if (culvi_ring_is_apart(ring)) {
        ring->owner->stream->stats(ring->owner->context, &s);
        culvi_struct_write(out, &s, sizeof s);
        return CULV_OK;
    }
    culvi_mutex_lock(&r->lock);
    s.produced = culvi_ring_get(&r->side[CULV_RING_PRODUCER].next);
    s.consumed = culvi_ring_get(&r->consumed);
    s.skipped = r->skipped;
    s.producer_waits = r->side[CULV_RING_PRODUCER].waits;
    s.consumer_waits = r->side[CULV_RING_CONSUMER].waits;
    s.ready_signaled = r->side[CULV_RING_PRODUCER].promised;
    s.done_signaled = r->side[CULV_RING_CONSUMER].promised;
    s.depth = r->in_use;
    /* A longer burst may have been chosen whose slots join with the next acquire only. */
    s.burst = r->burst < r->in_use ? r->burst : r->in_use;
    s.frame_time = r->automatic.frame_time;
    culvi_mutex_unlock(&r->lock);
    culvi_struct_write(out, &s, sizeof s);
    return CULV_OK;
}

culv_semaphore *culv_ring_semaphore(const culv_ring *ring, culv_ring_side side)
{
    if (ring == NULL || (side != CULV_RING_PRODUCER && side != CULV_RING_CONSUMER)) return NULL;
    return ring->side[side].api.semaphore;
}
