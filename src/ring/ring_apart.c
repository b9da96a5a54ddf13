/* SPDX-License-Identifier: MIT */
/* The core of a ring whose other side is in another process. It has no slots and no timelines: its
 * owner has, and says what this side holds. What may be refused for that is refused here. */
#include "ring/ring.h"

static culv_result check_runs(const culvi_ring_apart *side, const char *call)
{
    culv_result result = side->api->check != NULL ? side->api->check(side, call) : CULV_OK;
    return result == CULV_OK ? culvi_ring_check_runs(side->core, call) : result;
}

static culv_result check_call(const culvi_ring_apart *side, bool has_stream, const char *call)
{
    culv_result result = check_runs(side, call);
    const char *why = result == CULV_OK ? side->api->refuses(side, has_stream) : NULL;
    if (why == NULL) return result;
    return culvi_fail(culvi_ring_voice(side->core), side->core->label, CULV_ERROR_INVALID,
                      CULV_REASON_RING_SIDE, "%s: %s", call, why);
}

culv_result culvi_ring_check_runs(const culv_ring *ring, const char *call)
{
    if (!culvi_ring_is_ended(ring)) return CULV_OK;
    return culvi_fail(culvi_ring_voice(ring), ring->label, CULV_ERROR_ASYNC,
                      CULV_REASON_RING_STOPPED, "%s: this side was stopped by culv_ring_stop()",
                      call);
}

/* Refuses, with this class, while a frame is held. */
static culv_result check_idle(const culvi_ring_apart *side, culv_result class, const char *call)
{
    const culvi_ring_hold hold = side->api->hold(side);
    if (!hold.held) return CULV_OK;
    return culvi_fail(
        culvi_ring_voice(side->core), side->core->label, class, CULV_REASON_RING_ORDER,
        "%s: frame %" PRIu64 " is held; release or cancel it first", call, hold.number);
}

/* Refuses another frame than the one that is held. */
static culv_result check_hold(const culvi_ring_apart *side, const culv_ring_frame *frame,
                              const char *call)
{
    const culvi_ring_hold hold = side->api->hold(side);
    CULVI_REFUSE_IF(!hold.held, culvi_ring_voice(side->core), side->core->label,
                    CULV_REASON_RING_ORDER, "%s: no frame is held; an acquire gets one", call);
    if (frame->number == hold.number && frame->slot == hold.slot) return CULV_OK;
    return culvi_fail(culvi_ring_voice(side->core), side->core->label, CULV_ERROR_INVALID,
                      CULV_REASON_RING_ORDER,
                      "%s: frame %" PRIu64 " in slot %" PRIu32 " is not the one that is held", call,
                      frame->number, frame->slot);
}

culv_result culvi_ring_apart_acquire(void *context, const CUstream *stream, uint64_t timeout,
                                     culv_ring_frame *out, const char *call)
{
    const culvi_ring_apart *side = context;
    culv_result result = check_call(side, stream != NULL, call);
    if (result == CULV_OK) result = check_idle(side, CULV_ERROR_INVALID, call);
    return result == CULV_OK ? side->api->acquire(context, stream, timeout, out, call) : result;
}

culv_result culvi_ring_apart_release(void *context, const CUstream *stream, culv_ring_frame *frame,
                                     const char *call)
{
    const culvi_ring_apart *side = context;
    culv_result result = check_call(side, stream != NULL, call);
    if (result == CULV_OK) result = check_hold(side, frame, call);
    return result == CULV_OK ? side->api->release(context, stream, frame, call) : result;
}

/* Bursts are one frame long. */
culv_result culvi_ring_apart_flush(void *context, const CUstream *stream, uint64_t *signal_value,
                                   const char *call)
{
    culv_result result = check_call(context, stream != NULL, call);
    if (result == CULV_OK) result = check_idle(context, CULV_ERROR_INVALID, call);
    if (result == CULV_OK && signal_value != NULL) *signal_value = 0;
    return result;
}

culv_result culvi_ring_apart_destroy(void *context, const CUstream *last_use, const char *call)
{
    (void)last_use, (void)call; /* CUDA's objects are released later */
    ((culvi_ring_apart *)context)->api->end(context);
    return CULV_OK;
}

static culv_result cancel(void *context, culv_ring_frame *frame, const char *call)
{
    culvi_ring_apart *side = context;
    CULVI_TRY(check_runs(side, call));
    CULVI_TRY(check_hold(side, frame, call));
    CULVI_REFUSE_IF(side->api->hold(side).signaled, culvi_ring_voice(side->core), side->core->label,
                    CULV_REASON_RING_ORDER,
                    "%s: a release of frame %" PRIu64
                    " failed after a stream was told to signal it; release it again",
                    call, frame->number);
    side->api->take_back(side);
    return CULV_OK;
}

static culv_result drain(void *context, uint64_t timeout, const char *call)
{
    culvi_ring_apart *side = context;
    culv_result result = side->api->check != NULL ? side->api->check(side, call) : CULV_OK;
    if (result == CULV_OK) result = check_idle(side, CULV_ERROR_BUSY, call);
    return result == CULV_OK ? side->api->drain(side, timeout, call) : result;
}

static void stats(const void *context, culv_ring_stats *out)
{
    const culvi_ring_apart *side = context;
    out->depth = side->core->max_depth;
    out->burst = 1;
    side->api->stats(side, out);
}

static const culvi_ring_stream_api stream_api = {
    .acquire = culvi_ring_apart_acquire,
    .release = culvi_ring_apart_release,
    .flush = culvi_ring_apart_flush,
    .cancel = cancel,
    .drain = drain,
    .stats = stats,
};

culv_result culvi_ring_create_apart(culv_device *device, uint32_t slots, const char *label,
                                    const culvi_ring_apart_api *api, culvi_ring_apart *side)
{
    culv_ring_desc d = culv_ring_desc_init();
    culv_ring_settings s = culv_ring_settings_init();
    d.max_depth = s.depth = slots;
    s.burst = 1;
    d.label = label;
    side->api = api;
    side->owner = (culvi_ring_owner){.side = api->side,
                                     .stream_side = api->side,
                                     .api = &api->ring,
                                     .stream = &stream_api,
                                     .context = side};
    culv_result result = culvi_ring_create_core(device, &d, &s, &side->core);
    if (result == CULV_OK) side->core->owner = &side->owner;
    return result;
}
