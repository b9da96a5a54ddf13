/* SPDX-License-Identifier: MIT */
/* The CUDA sides of a culv_ring: acquire, release and flush with what a stream waits for and
 * signals. */
#include "ring/ring.h"

/* Refuses a call on the side of the ring's owner, which has calls of its own. */
static culv_result fail_owners_side(const culv_ring *ring, const char *call)
{
    const culvi_ring_owner *owner = ring->owner;
    const bool producer = owner->side == CULV_RING_PRODUCER;
    CULVI_REFUSE_IF(culvi_ring_is_apart(ring), culvi_ring_voice(ring), ring->label,
                    CULV_REASON_RING_SIDE, "%s: the %s of this ring is in another process", call,
                    producer ? "consumer" : "producer");
    return culvi_fail(
        culvi_ring_voice(ring), ring->label, CULV_ERROR_INVALID, CULV_REASON_RING_SIDE,
        "%s: the %s of this ring is not CUDA's side; its calls are culv_ring_acquire(), %s() and culv_ring_flush(); CUDA has the %s",
        call, producer ? "producer" : "consumer", owner->api->submit_call,
        producer ? "consumer" : "producer");
}

culv_result culvi_ring_check_plain(const culv_ring *ring, culv_ring_side side, const char *call)
{
    if (culvi_ring_is_apart(ring) && (int)side == 1 - (int)ring->owner->side)
        return fail_owners_side(ring, call);
    if (culvi_ring_stream_of(ring, side) == NULL) return CULV_OK;
    return culvi_fail(
        culvi_ring_voice(ring), ring->label, CULV_ERROR_INVALID, CULV_REASON_RING_SIDE,
        "%s: CUDA's side of this ring needs a stream; its calls are culv_ring_acquire_on(), culv_ring_release_on() and culv_ring_flush_on()",
        call);
}

static bool is_side(const culv_ring *ring, culv_ring_side side)
{
    return ring != NULL && (side == CULV_RING_PRODUCER || side == CULV_RING_CONSUMER);
}

/* A side of the ring in a call on a stream; its timelines are the ring's as long as it. */
static culv_result check_stream_call(culv_ring *ring, culv_ring_side side, bool waits,
                                     const char *call)
{
    if (!is_side(ring, side)) return CULV_OK; /* what is called next says so */
    if (ring->owner != NULL && side != ring->owner->stream_side)
        return fail_owners_side(ring, call);
    const culvi_ring_party *party = waits ? culvi_ring_other(ring, side) : &ring->side[side];
    if (party->api.semaphore != NULL) return CULV_OK;
    return culvi_fail(
        culvi_ring_voice(ring), ring->label, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
        "%s: '%s' has no CUDA half (culv_ring_timeline.semaphore is NULL)", call, party->name);
}

culv_result culvi_ring_give_back(culv_ring *ring, culv_ring_side side, culv_ring_frame *frame,
                                 culv_result result)
{
    culv_error error = culv_error_init();
    culv_last_error(&error);
    if (culvi_ring_cancel(ring, side, frame, "culv_ring_cancel") == CULV_OK &&
        result == CULV_ERROR_ASYNC) {
        CULVI_LOCKED(&ring->lock, (void)culvi_ring_note_failure(
                                      ring, result, culvi_ring_other(ring, side)->name));
    }
    return culv_last_error_set(&error);
}

culv_result culvi_ring_acquire_on(culv_ring *ring, culv_ring_side side, CUstream stream,
                                  uint64_t timeout, culv_ring_frame *out, const char *call)
{
    culv_ring_frame frame;
    CULVI_TRY(check_stream_call(ring, side, true, call));
    if (culvi_ring_acquire_next(ring, side, out)) return CULV_OK;
    culv_result result = culvi_ring_acquire(ring, side, timeout, CULVI_RING_AS_SET,
                                            out != NULL ? &frame : NULL, call);
    if (result != CULV_OK) return result;
    if (frame.wait_value != 0)
        result = culv_semaphore_wait(culvi_ring_other(ring, side)->api.semaphore, stream,
                                     frame.wait_value);
    if (result != CULV_OK) return culvi_ring_give_back(ring, side, &frame, result);
    *out = frame;
    return CULV_OK;
}

culv_result culv_ring_acquire_on(culv_ring *ring, culv_ring_side side, CUstream stream,
                                 uint64_t timeout, culv_ring_frame *out)
{
    const culvi_ring_stream_api *api = culvi_ring_stream_of(ring, side);
    if (api == NULL) return culvi_ring_acquire_on(ring, side, stream, timeout, out, __func__);
    CULVI_REQUIRE(culvi_ring_voice(ring), out);
    return api->acquire(ring->owner->context, &stream, timeout, out, __func__);
}

/* What makes a stream signal. */
typedef struct stream_signal {
    culv_semaphore *semaphore;
    CUstream stream;
} stream_signal;

static culv_result signal_on(void *context, uint64_t value)
{
    const stream_signal *s = context;
    return value != 0 ? culv_semaphore_signal(s->semaphore, s->stream, value) : CULV_OK;
}

culv_result culv_ring_release_on(culv_ring *ring, culv_ring_side side, CUstream stream,
                                 culv_ring_frame *frame)
{
    const culvi_ring_stream_api *api = culvi_ring_stream_of(ring, side);
    if (api != NULL) {
        CULVI_REQUIRE(culvi_ring_voice(ring), frame);
        return api->release(ring->owner->context, &stream, frame, __func__);
    }
    CULVI_TRY(check_stream_call(ring, side, false, __func__));
    stream_signal s = {.stream = stream};
    if (is_side(ring, side)) s.semaphore = ring->side[side].api.semaphore;
    return culvi_ring_release_by(ring, side, frame, signal_on, &s, __func__);
}

culv_result culv_ring_flush_on(culv_ring *ring, culv_ring_side side, CUstream stream)
{
    uint64_t value = 0;
    const culvi_ring_stream_api *api = culvi_ring_stream_of(ring, side);
    if (api != NULL) return api->flush(ring->owner->context, &stream, NULL, __func__);
    CULVI_TRY(check_stream_call(ring, side, false, __func__));
    stream_signal s = {.stream = stream};
    if (is_side(ring, side)) s.semaphore = ring->side[side].api.semaphore;
    return culvi_ring_flush_by(ring, side, signal_on, &s, &value, __func__);
}
