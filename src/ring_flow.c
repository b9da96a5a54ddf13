/* Acquire, release, cancel and flush of culv_ring: the frame path. Nothing is allocated here, and no callback or driver is
 * called with the ring's lock held. SPDX-License-Identifier: MIT */
#include "ring.h"

uint64_t culvi_ring_pace(culv_ring *ring, culv_ring_side side)
{
    const culvi_ring_party *done = &ring->side[CULV_RING_CONSUMER];
    if (done->api.wait == NULL) return done->known;
    uint64_t lead = ring->settings.lead != 0 ? ring->settings.lead : 2 * (uint64_t)ring->depth;
    uint64_t oldest = done->promised >= CULVI_RING_PAST ? done->promised - (CULVI_RING_PAST - 1) : 0;
    const uint64_t mask = CULVI_RING_PAST - 1;
    if (ring->lead_from < oldest) ring->lead_from = oldest;
    while (done->past[done->promised & mask].submitted - done->past[ring->lead_from & mask].submitted > lead)
        ring->lead_from++;
    if (side != CULV_RING_PRODUCER || ring->automatic.bound == 0) return ring->lead_from;
    /* max_latency: no more frames on their way, this burst's included, than the choice says. */
    uint64_t others = culvi_ring_level_flight(ring->automatic.level) - ring->burst;
    uint64_t produced = ring->side[CULV_RING_PRODUCER].next;
    if (ring->flight_from < oldest) ring->flight_from = oldest;
    while (ring->flight_from < done->promised &&
           produced - done->past[ring->flight_from & mask].through > others)
        ring->flight_from++;
    return ring->flight_from > ring->lead_from ? ring->flight_from : ring->lead_from;
}

/* Hand-overs beyond the pace that a wait goes on for, so that not every acquire asks the driver: half of those on their way,
 * where they are many. What is left is as much as the slots hold, and max_latency's choice is not for this to change. */
static uint64_t slack(const culv_ring *ring, uint64_t pace)
{
    uint64_t on_their_way = ring->side[CULV_RING_CONSUMER].promised - pace;
    uint64_t keep = ((uint64_t)ring->in_use + ring->burst - 1) / ring->burst; /* what the slots hold */
    if (ring->automatic.bound != 0 || on_their_way < 8 || on_their_way <= keep) return 0;
    return on_their_way - keep < on_their_way / 2 ? on_their_way - keep : on_their_way / 2;
}

/* A producer waits for the slots of a whole burst, or bursts would stay broken up for ever once one was; but not right after
 * a flush, so that a program which flushes each frame gets every slot. The consumer takes what is there: whole bursts,
 * unless the producer flushed. */
bool culvi_ring_begin_ordered(culv_ring *ring, culv_ring_side side, culvi_ring_need *need)
{
    culvi_ring_party *me = &ring->side[side];
    bool producer = side == CULV_RING_PRODUCER;
    if (producer)
        culvi_ring_settle_depth(ring);
    else
        culvi_ring_let_go(ring);
    culvi_ring_queue *queue = producer ? &ring->free : &ring->ready;
    if (queue->count < (producer && !me->flushed ? ring->burst : 1)) {
        need->lack = CULVI_RING_OTHER_SIDE;
        return false;
    }
    uint64_t pace = culvi_ring_pace(ring, side);
    if (pace > ring->side[CULV_RING_CONSUMER].known) {
        need->lack = CULVI_RING_REACHED;
        need->side = CULV_RING_CONSUMER;
        need->value = pace;
        need->further = pace + slack(ring, pace);
        return false;
    }
    me->length = queue->count < ring->burst ? queue->count : ring->burst;
    me->wait = 0;
    for (uint32_t i = 0; i < me->length; i++) {
        uint32_t slot = culvi_ring_pop(queue);
        uint64_t value = producer ? ring->slots[slot].done : ring->slots[slot].ready;
        me->slots[i] = (uint8_t)slot;
        if (value > me->wait) me->wait = value;
    }
    me->flushed = false;
    me->brief = me->length < ring->burst;
    if (producer && ring->automatic.bound != 0) {
        culvi_ring_auto_begin(&ring->automatic, ring->now(), me->length);
        culvi_ring_aim(ring);
    }
    return true;
}

/* The burst's next slot becomes the frame that is held. */
static void take(culv_ring *ring, culv_ring_side side)
{
    culvi_ring_party *me = &ring->side[side];
    uint32_t slot = me->slots[me->at];
    if (side == CULV_RING_PRODUCER) ring->slots[slot].number = me->next;
    me->frame = (culv_ring_frame){.number = ring->slots[slot].number,
                                  .wait_value = me->at == 0 ? me->wait : 0,
                                  .slot = slot,
                                  .again = me->again,
                                  .burst_begins = me->at == 0,
                                  .burst_ends = me->at + 1 == me->length};
    if (!me->again) me->frame.skipped = me->frame.number - me->next;
    me->held = true;
}

/* Slots that the side took and did not use go back to where it took them. */
static void give_back_rest(culv_ring *ring, culv_ring_side side)
{
    culvi_ring_party *me = &ring->side[side];
    for (uint32_t i = me->length; i > me->at; i--)
        if (!me->again)
            culvi_ring_push_front(side == CULV_RING_PRODUCER ? &ring->free : &ring->ready, me->slots[i - 1]);
    me->length = me->at;
    me->again = false;
}

/* What the side released of its burst becomes the other side's, with the next value. */
static void hand_over(culv_ring *ring, culv_ring_side side)
{
    culvi_ring_party *me = &ring->side[side];
    uint64_t value = ++me->promised;
    if (side == CULV_RING_PRODUCER) ring->automatic.length = me->at; /* a flush ends a burst early */
    me->past[value & (CULVI_RING_PAST - 1)] =
        (culvi_ring_past){.submitted = me->submitted, .through = me->next, .wait = me->wait};
    for (uint32_t i = 0; i < me->at; i++) {
        uint32_t slot = me->slots[i];
        if (side == CULV_RING_PRODUCER) {
            ring->slots[slot].ready = value;
            culvi_ring_push(&ring->ready, slot);
        } else {
            ring->slots[slot].done = value;
            if (me->policy == CULV_RING_NEWEST) {
                ring->keeps = true;
                ring->kept = slot;
            } else {
                culvi_ring_push(&ring->free, slot);
            }
        }
    }
    give_back_rest(ring, side);
    me->length = me->at = 0;
    ring->last_side = (int)side;
    culvi_ring_wake(ring);
}

/* What is lacking comes, or time is up. */
static culv_result wait_for(culv_ring *ring, culv_ring_side side, culvi_ring_need *need,
                            culvi_ring_limit *limit, bool *waited)
{
    culvi_ring_party *me = &ring->side[side];
    const culvi_ring_party *party = &ring->side[need->side];
    bool ask = need->lack == CULVI_RING_COUNTER ||
               (need->lack == CULVI_RING_REACHED && party->api.value != NULL && !need->asked[need->side]);
    if (ask) {
        need->asked[need->side] = true;
        return culvi_ring_read(ring, need->side);
    }
    if (!*waited && limit->timeout > 0) {
        *waited = true;
        me->waits++;
    }
    if (need->lack == CULVI_RING_REACHED) {
        bool further = limit->timeout > 0 && need->further > need->value;
        culv_result result = culvi_ring_wait(ring, need->side, further ? need->further : need->value, limit);
        if (result != CULV_ERROR_TIMEOUT) return result;
        if (further) { /* less may do; the time is up, so that this only asks */
            result = culvi_ring_wait(ring, need->side, need->value, limit);
            if (result != CULV_ERROR_TIMEOUT) return result;
        }
        return culvi_ring_fail_late_work(ring, need->side, need->value, limit->timeout);
    }
    if (culvi_ring_left(limit) == 0) return culvi_ring_fail_late_side(ring, side, limit->timeout);
    ring->sleepers++;
    culvi_condition_wait(&ring->changed, &ring->lock, culvi_ring_until(limit));
    ring->sleepers--;
    need->asked[0] = need->asked[1] = false;
    return CULV_OK;
}

static culv_result begin(culv_ring *ring, culv_ring_side side, culvi_ring_need *need, uint64_t timeout)
{
    culvi_ring_party *me = &ring->side[side];
    culvi_ring_limit limit = {.timeout = timeout};
    bool waited = false;
    for (;;) {
        if (ring->stopped[0] != '\0') return culvi_ring_fail_stopped(ring);
        culv_ring_policy policy = ring->settings.policy;
        bool begun = policy == CULV_RING_NEWEST ? culvi_ring_begin_newest(ring, side, need)
                                                : culvi_ring_begin_ordered(ring, side, need);
        if (begun) {
            me->policy = policy;
            me->at = 0;
            return CULV_OK;
        }
        culv_result result = wait_for(ring, side, need, &limit, &waited);
        if (result != CULV_OK) return result;
    }
}

/* check_counters: the other side's counter is one that the ring handed out. Its caller may submit before it releases. */
static culv_result check_counter(culv_ring *ring, culv_ring_side side, culvi_ring_need *need)
{
    const culvi_ring_party *other = culvi_ring_other(ring, side);
    uint64_t before = other->known, counter = 0;
    culvi_mutex_unlock(&ring->lock);
    culv_result result = other->api.value(other->api.context, &counter);
    culvi_mutex_lock(&ring->lock);
    if (result != CULV_OK) return culvi_ring_note_failure(ring, result, other->name);
    uint64_t most = other->promised + (other->held || other->at > 0 ? 1 : 0);
    if (counter < before)
        return culvi_ring_fail(ring, CULV_ERROR_ASYNC, CULV_REASON_TIMELINE_CHANGED,
                               "'%s' is at %" PRIu64 " and was at %" PRIu64 " before: somebody set it back",
                               other->name, counter, before);
    if (counter > most)
        return culvi_ring_fail(ring, CULV_ERROR_ASYNC, CULV_REASON_TIMELINE_CHANGED,
                               "'%s' is at %" PRIu64 ", but %" PRIu64
                               " is the last value that the ring handed "
                               "out: somebody else signalled it",
                               other->name, counter, most);
    need->asked[1 - (int)side] = true;
    if (counter > ring->side[1 - (int)side].known) ring->side[1 - (int)side].known = counter;
    return CULV_OK;
}

culv_result culvi_ring_acquire(culv_ring *ring, culv_ring_side side, uint64_t timeout, culv_ring_frame *out,
                               const char *call)
{
    if (ring != NULL && out == NULL)
        return culvi_fail(&ring->device->voice, ring->label, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
                          "%s: out is NULL", call);
    culv_result result = culvi_ring_enter(ring, side, call);
    if (result != CULV_OK) return result;
    culvi_ring_party *me = &ring->side[side];
    culvi_ring_need need = {.asked = {false, false}};
    if (me->held)
        result =
            culvi_ring_fail(ring, CULV_ERROR_INVALID, CULV_REASON_RING_ORDER,
                            "%s: this side holds frame %" PRIu64 " (slot %" PRIu32 "); release or cancel "
                            "it first",
                            call, me->frame.number, me->frame.slot);
    else if (ring->settings.check_counters != 0)
        result = check_counter(ring, side, &need);
    if (result == CULV_OK && me->at == me->length) result = begin(ring, side, &need, timeout);
    if (result == CULV_OK) {
        take(ring, side);
        *out = me->frame;
    }
    culvi_ring_leave(ring, side);
    return result;
}

culv_result culv_ring_acquire(culv_ring *ring, culv_ring_side side, uint64_t timeout, culv_ring_frame *out)
{
    return culvi_ring_acquire(ring, side, timeout, out, "culv_ring_acquire");
}

/* The caller's frame is the one that its side holds. */
static culv_result enter_with(culv_ring *ring, culv_ring_side side, const culv_ring_frame *frame,
                              const char *call)
{
    if (ring != NULL && frame == NULL)
        return culvi_fail(&ring->device->voice, ring->label, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
                          "%s: frame is NULL", call);
    culv_result result = culvi_ring_enter(ring, side, call);
    if (result != CULV_OK) return result;
    const culvi_ring_party *me = &ring->side[side];
    if (me->held && frame->slot == me->frame.slot && frame->number == me->frame.number) return CULV_OK;
    if (!me->held)
        result = culvi_ring_fail(ring, CULV_ERROR_INVALID, CULV_REASON_RING_ORDER,
                                 "%s: this side holds no frame; acquire one first", call);
    else
        result =
            culvi_ring_fail(ring, CULV_ERROR_INVALID, CULV_REASON_RING_ORDER,
                            "%s: frame %" PRIu64 " in slot %" PRIu32 " is not the one that this side holds, "
                            "%" PRIu64 " in slot %" PRIu32,
                            call, frame->number, frame->slot, me->frame.number, me->frame.slot);
    culvi_ring_leave(ring, side);
    return result;
}

static void finish_frame(culv_ring *ring, culv_ring_side side)
{
    culvi_ring_party *me = &ring->side[side];
    me->held = false;
    me->submitted++;
    if (!me->again) {
        me->next = me->frame.number + 1;
        if (side == CULV_RING_CONSUMER) ring->consumed++;
    }
    me->at++;
    if (me->at == me->length) hand_over(ring, side);
}

/* The value of a side's next hand-over. */
static uint64_t next_value(const culv_ring *ring, culv_ring_side side)
{
    return ring->side[side].promised + 1;
}

culv_result culv_ring_release(culv_ring *ring, culv_ring_side side, culv_ring_frame *frame)
{
    culv_result result = enter_with(ring, side, frame, "culv_ring_release");
    if (result != CULV_OK) return result;
    frame->signal_value = ring->side[side].frame.burst_ends ? next_value(ring, side) : 0;
    finish_frame(ring, side);
    culvi_ring_leave(ring, side);
    return CULV_OK;
}

/* The caller's submission, without the lock; the side is in a call meanwhile. */
static culv_result submit_by(culv_ring *ring, culv_ring_side side, culvi_ring_submit submit, void *context,
                             uint64_t value)
{
    culvi_mutex_unlock(&ring->lock);
    culv_result result = submit(context, value);
    culvi_mutex_lock(&ring->lock);
    return result == CULV_OK ? CULV_OK : culvi_ring_note_failure(ring, result, ring->side[side].name);
}

culv_result culvi_ring_release_by(culv_ring *ring, culv_ring_side side, culv_ring_frame *frame,
                                  culvi_ring_submit submit, void *context, const char *call)
{
    culv_result result = enter_with(ring, side, frame, call);
    if (result != CULV_OK) return result;
    uint64_t value = ring->side[side].frame.burst_ends ? next_value(ring, side) : 0;
    result = submit_by(ring, side, submit, context, value);
    if (result == CULV_OK) {
        frame->signal_value = value;
        finish_frame(ring, side);
    }
    culvi_ring_leave(ring, side);
    return result;
}

culv_result culv_ring_cancel(culv_ring *ring, culv_ring_side side, culv_ring_frame *frame)
{
    culv_result result = enter_with(ring, side, frame, "culv_ring_cancel");
    if (result != CULV_OK) return result;
    culvi_ring_party *me = &ring->side[side];
    me->held = false;
    if (me->at == 0) {
        me->flushed = me->brief;                                     /* or it would not begin so again */
        if (side == CULV_RING_PRODUCER) ring->automatic.started = 0; /* no burst to be measured */
        give_back_rest(ring, side);
        culvi_ring_wake(ring);
    }
    culvi_ring_leave(ring, side);
    return CULV_OK;
}

culv_result culvi_ring_flush_by(culv_ring *ring, culv_ring_side side, culvi_ring_submit submit, void *context,
                                uint64_t *signal_value, const char *call)
{
    culv_result result = culvi_ring_enter(ring, side, call);
    if (result != CULV_OK) return result;
    culvi_ring_party *me = &ring->side[side];
    uint64_t value = me->at > 0 ? next_value(ring, side) : 0;
    if (me->held)
        result =
            culvi_ring_fail(ring, CULV_ERROR_INVALID, CULV_REASON_RING_ORDER,
                            "%s: this side holds frame %" PRIu64 " (slot %" PRIu32 "); release or cancel "
                            "it first",
                            call, me->frame.number, me->frame.slot);
    else if (submit != NULL)
        result = submit_by(ring, side, submit, context, value);
    if (result == CULV_OK) {
        me->flushed = me->flushed || value != 0 || me->brief; /* a short burst may have been full already */
        if (value != 0) hand_over(ring, side);
        *signal_value = value;
    }
    culvi_ring_leave(ring, side);
    return result;
}

culv_result culv_ring_flush(culv_ring *ring, culv_ring_side side, uint64_t *signal_value)
{
    if (ring != NULL && signal_value == NULL)
        return culvi_fail(&ring->device->voice, ring->label, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
                          "culv_ring_flush: signal_value is NULL");
    return culvi_ring_flush_by(ring, side, NULL, NULL, signal_value, "culv_ring_flush");
}
