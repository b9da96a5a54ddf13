/* SPDX-License-Identifier: MIT */
/* Acquire, release, cancel and flush of culv_ring: the frame path. Nothing is allocated here, and
 * no callback or driver is called with the ring's lock held. */
#include "ring/ring.h"

/* max_latency looks for what it times this often, by timers that are late by about so much. */
static const uint64_t LOOK_NS = 20000, TIMER_NS = 80000;

/* The log is told that a wait goes on after this, ten times and a hundred times this. */
static const uint64_t WARN_NS = 1000000000;

uint64_t culvi_ring_pace(culv_ring *ring)
{
    const culvi_ring_party *done = &ring->side[CULV_RING_CONSUMER];
    if (done->api.wait == NULL) return done->known;
    uint64_t lead = ring->settings.max_frames_in_flight != 0 ? ring->settings.max_frames_in_flight
                                                             : 2 * (uint64_t)ring->depth;
    uint64_t oldest =
        done->promised >= CULVI_RING_PAST ? done->promised - (CULVI_RING_PAST - 1) : 0;
    const uint64_t mask = CULVI_RING_PAST - 1;
    if (ring->lead_from < oldest) ring->lead_from = oldest;
    while (done->past[done->promised & mask].submitted -
               done->past[ring->lead_from & mask].submitted >
           lead)
        ring->lead_from++;
    return ring->lead_from;
}

/* Hand-overs beyond the pace that a wait goes on for, so that not every acquire asks the driver:
 * half of those on their way, where they are many. What is left is as much as the slots hold;
 * max_latency is to see each of them. */
static uint64_t slack(const culv_ring *ring, uint64_t pace)
{
    uint64_t on_their_way = ring->side[CULV_RING_CONSUMER].promised - pace;
    uint64_t keep =
        ((uint64_t)ring->in_use + ring->burst - 1) / ring->burst; /* what the slots hold */
    if (ring->automatic.bound != 0 || on_their_way < 8 || on_their_way <= keep) return 0;
    return on_their_way - keep < on_their_way / 2 ? on_their_way - keep : on_their_way / 2;
}

/* max_latency: takes the time of the consumer's burst `pace`, then of the producer's burst that the
 * next one of the consumer's reads: submitted long ago, with more behind it. False: that one is to
 * be looked for again. The driver's wait would not do: Vulkan's, for a timeline that CUDA signals,
 * was measured to return as much as 10 ms late on an H200. */
static bool take_time(culv_ring *ring, culvi_ring_need *need, uint64_t pace)
{
    const culvi_ring_party *ready = &ring->side[CULV_RING_PRODUCER],
                           *done = &ring->side[CULV_RING_CONSUMER];
    const uint64_t mask = CULVI_RING_PAST - 1;
    if (need->mark.done == 0) {
        need->marked = pace;
        need->mark = (culvi_ring_mark){.through = done->past[pace & mask].through,
                                       .done = ring->now(),
                                       .waited = need->waited,
                                       .timed = culvi_ring_auto_times(&ring->automatic)};
    }
    uint64_t next = need->marked < done->promised ? done->past[(need->marked + 1) & mask].wait : 0;
    if (!need->mark.timed || need->untimed || next == 0) return true;
    uint64_t now = ring->now();
    if (next <= ready->known) { /* between the last two looks */
        if (need->before != 0) need->mark.ready = need->before + (now - need->before) / 2;
        return true;
    }
    /* It came and was not seen, or is too late to matter. */
    if (done->known > need->marked || (now - need->mark.done) / 4 > ring->automatic.bound)
        return true;
    if (need->asked[CULV_RING_PRODUCER]) need->before = now;
    need->lack = CULVI_RING_TIMED;
    need->side = CULV_RING_PRODUCER;
    need->value = next;
    return false;
}

/* A producer waits for the slots of a whole burst, or bursts would stay broken up for ever once one
 * was; but not right after a flush, so that a program which flushes each frame gets every slot. The
 * consumer takes what is there: whole bursts, unless the producer flushed. */
static bool begin_fifo(culv_ring *ring, culv_ring_side side, culvi_ring_need *need)
{
    culvi_ring_party *me = &ring->side[side];
    bool producer = side == CULV_RING_PRODUCER;
    if (producer)
        culvi_ring_apply_depth(ring);
    else
        culvi_ring_release_kept(ring);
    culvi_ring_queue *queue = producer ? &ring->free : &ring->ready;
    uint32_t least = producer && !me->flushed ? ring->burst : 1;
    /* What the consumer kept of MAILBOX, and does not read again now, may be what a burst of all
     * slots lacks. */
    if (queue->count < least && !ring->side[CULV_RING_CONSUMER].again) {
        culvi_ring_release_kept(ring);
        if (producer) culvi_ring_apply_depth(ring);
    }
    if (queue->count < least) {
        need->lack = CULVI_RING_OTHER_SIDE;
        return false;
    }
    uint64_t pace = culvi_ring_pace(ring);
    if (pace > ring->side[CULV_RING_CONSUMER].known) {
        need->lack = CULVI_RING_REACHED;
        need->side = CULV_RING_CONSUMER;
        need->value = pace;
        need->further = pace + slack(ring, pace);
        return false;
    }
    bool chooses = producer && ring->automatic.bound != 0;
    if (chooses && !take_time(ring, need, pace)) return false;
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
    if (chooses) {
        culvi_ring_auto_note(&ring->automatic, &need->mark, culvi_ring_get(&me->next) + me->length);
        culvi_ring_aim(ring);
    }
    return true;
}

/* The burst's next slot becomes the frame that is held. */
static void take(culv_ring *ring, culv_ring_side side, culv_ring_frame *out)
{
    culvi_ring_party *me = &ring->side[side];
    uint32_t at = me->at, slot = me->slots[at];
    uint64_t next = culvi_ring_get(&me->next);
    if (side == CULV_RING_PRODUCER) ring->slots[slot].number = next;
    me->number = ring->slots[slot].number;
    me->held = true;
    culvi_ring_show(me);
    *out = (culv_ring_frame){.number = me->number,
                             .wait_value = at == 0 ? me->wait : 0,
                             .skipped = me->again ? 0 : me->number - next,
                             .slot = slot,
                             .repeated = me->again,
                             .burst_begins = at == 0,
                             .burst_ends = at + 1 == me->length};
}

/* Slots that the side took and did not use go back to where it took them. */
static void give_back_rest(culv_ring *ring, culv_ring_side side)
{
    culvi_ring_party *me = &ring->side[side];
    for (uint32_t i = me->length; i > me->at; i--)
        if (!me->again)
            culvi_ring_push_front(side == CULV_RING_PRODUCER ? &ring->free : &ring->ready,
                                  me->slots[i - 1]);
    me->length = me->at;
    me->again = false;
    culvi_ring_show(me);
}

/* A burst of which nothing was released. */
static void give_burst_back(culv_ring *ring, culv_ring_side side)
{
    culvi_ring_party *me = &ring->side[side];
    me->flushed = me->brief; /* or it would not begin so again */
    give_back_rest(ring, side);
    culvi_ring_wake(ring);
}

/* What the side released of its burst becomes the other side's, with the next value. */
static void hand_over(culv_ring *ring, culv_ring_side side)
{
    culvi_ring_party *me = &ring->side[side];
    uint64_t value = ++me->promised;
    me->past[value & (CULVI_RING_PAST - 1)] = (culvi_ring_past){
        .submitted = me->submitted, .through = culvi_ring_get(&me->next), .wait = me->wait};
    for (uint32_t i = 0; i < me->at; i++) {
        uint32_t slot = me->slots[i];
        if (side == CULV_RING_PRODUCER) {
            ring->slots[slot].ready = value;
            culvi_ring_push(&ring->ready, slot);
        } else {
            ring->slots[slot].done = value;
            if (me->policy == CULV_RING_MAILBOX) {
                ring->keeps = true;
                ring->kept = slot;
            } else {
                culvi_ring_push(&ring->free, slot);
            }
        }
    }
    give_back_rest(ring, side);
    me->length = me->at = 0;
    culvi_ring_show(me);
    ring->last_side = (int)side;
    culvi_ring_wake(ring);
}

static void warn_after(culvi_ring_limit *limit)
{
    limit->begun = culvi_now();
    limit->warn = limit->begun + WARN_NS;
}

/* What is lacking comes, or time is up. */
static culv_result wait_for(culv_ring *ring, culv_ring_side side, culvi_ring_need *need,
                            culvi_ring_limit *limit, bool *waited)
{
    culvi_ring_party *me = &ring->side[side];
    const culvi_ring_party *party = &ring->side[need->side];
    bool timed = need->lack == CULVI_RING_TIMED, reach = need->lack == CULVI_RING_REACHED;
    bool ask = need->lack == CULVI_RING_COUNTER ||
               ((reach || timed) && party->api.value != NULL && !need->asked[need->side]);
    if (ask) {
        need->asked[need->side] = true;
        culv_result result = culvi_ring_read(ring, need->side);
        return timed && result == CULV_OK ? culvi_ring_read(ring, CULV_RING_CONSUMER) : result;
    }
    if (!*waited && limit->timeout > 0) {
        *waited = true;
        me->waits++;
        warn_after(limit);
    }
    if (timed) {
        uint64_t left = culvi_ring_left(limit);
        if (left == 0) {
            need->untimed = true;
            return CULV_OK;
        }
        /* How long the producer's half of a burst may take; 0: not known. */
        uint64_t early = ring->automatic.half[ring->automatic.level][CULV_RING_PRODUCER] * 3 / 4;
        uint64_t since = ring->now() - need->mark.done + TIMER_NS;
        uint64_t nap = early > since + LOOK_NS ? early - since : LOOK_NS;
        ring->nap(ring, nap < left ? nap : left);
        need->asked[need->side] = false;
        return CULV_OK;
    }
    if (reach) {
        bool further = limit->timeout > 0 && need->further > need->value;
        culv_result result =
            culvi_ring_wait(ring, need->side, further ? need->further : need->value, limit);
        need->waited |= result == CULV_OK && need->side == CULV_RING_CONSUMER;
        if (result != CULV_ERROR_TIMEOUT) return result;
        if (further) { /* less may do; the time is up, so that this only asks */
            result = culvi_ring_wait(ring, need->side, need->value, limit);
            if (result != CULV_ERROR_TIMEOUT) return result;
        }
        return culvi_ring_fail_late_work(ring, need->side, need->value, limit->timeout);
    }
    uint64_t until = culvi_ring_until(limit);
    if (culvi_ring_left(limit) == 0) return culvi_ring_fail_late_side(ring, side, limit->timeout);
    if (culvi_ring_warn_late_side(ring, side, limit)) return CULV_OK; /* it may have come */
    if (limit->warn != 0 && limit->warn < until) until = limit->warn;
    ring->sleepers++;
    culvi_condition_wait(&ring->changed, &ring->lock, until);
    ring->sleepers--;
    need->asked[0] = need->asked[1] = false;
    return CULV_OK;
}

static culv_result begin(culv_ring *ring, culv_ring_side side, culvi_ring_need *need,
                         uint64_t timeout)
{
    culvi_ring_party *me = &ring->side[side];
    culvi_ring_limit limit = {.timeout = timeout};
    bool waited = false;
    for (;;) {
        if (ring->stopped[0] != '\0') return culvi_ring_fail_stopped(ring);
        culv_ring_policy policy = ring->settings.policy;
        bool begun = policy == CULV_RING_MAILBOX ? culvi_ring_begin_mailbox(ring, side, need)
                                                 : begin_fifo(ring, side, need);
        if (begun) {
            me->policy = policy;
            me->at = 0;
            return CULV_OK;
        }
        CULVI_TRY(wait_for(ring, side, need, &limit, &waited));
    }
}

/* The side without the lock. NULL: another thread has it, or the ring ends, or neither is one. */
static culvi_ring_party *take_side(culv_ring *ring, culv_ring_side side)
{
    if (ring == NULL || (uint32_t)side > CULV_RING_CONSUMER || culvi_ring_is_ended(ring))
        return NULL;
    culvi_ring_party *me = &ring->side[side];
    return atomic_exchange_explicit(&me->in_call, true, memory_order_acquire) ? NULL : me;
}

static void give_side(culvi_ring_party *me)
{
    atomic_store_explicit(&me->in_call, false, memory_order_release);
}

bool culvi_ring_acquire_next(culv_ring *ring, culv_ring_side side, culv_ring_frame *out)
{
    if (ring == NULL || (uint32_t)side > CULV_RING_CONSUMER || out == NULL) return false;
    uint32_t shown = atomic_load_explicit(&ring->side[side].shown, memory_order_relaxed);
    if (culvi_ring_shown_held(shown) || culvi_ring_shown_released(shown) >= shown >> 8)
        return false;
    culvi_ring_party *me = take_side(ring, side);
    if (me == NULL) return false;
    bool next = !me->held && me->at < me->length;
    if (next) take(ring, side, out);
    give_side(me);
    return next;
}

static culv_result fail_held(culv_ring *ring, const culvi_ring_party *me, const char *call)
{
    if (me->owes)
        return culvi_ring_fail(ring, CULV_ERROR_INVALID, CULV_REASON_RING_ORDER,
                               "%s: this side holds frame %" PRIu64 " (slot %" PRIu32
                               ") again, whose submission failed; release it once more",
                               call, me->owed.number, me->owed.slot);
    return culvi_ring_fail(
        ring, CULV_ERROR_INVALID, CULV_REASON_RING_ORDER,
        "%s: this side holds frame %" PRIu64 " (slot %" PRIu32
        "); release or cancel it first (in Vulkan culv_vk_ring_submit() releases it)",
        call, me->number, (uint32_t)me->slots[me->at]);
}

/* What a burst waits for, on the host. Without it the burst goes back, as by culv_ring_cancel(). */
static culv_result reach(culv_ring *ring, culv_ring_side side, uint64_t timeout)
{
    culvi_ring_party *me = &ring->side[side];
    const culv_ring_side other = 1 - side;
    culvi_ring_limit limit = {.timeout = timeout};
    if (me->wait <= ring->side[other].known) return CULV_OK;
    warn_after(&limit);
    culv_result result = culvi_ring_wait(ring, other, me->wait, &limit);
    if (result == CULV_OK) return CULV_OK;
    if (result == CULV_ERROR_TIMEOUT)
        result = culvi_ring_fail_late_work(ring, other, me->wait, timeout);
    give_burst_back(ring, side);
    return result;
}

culv_result culvi_ring_acquire(culv_ring *ring, culv_ring_side side, uint64_t timeout,
                               culvi_ring_wait_by how, culv_ring_frame *out, const char *call)
{
    CULVI_REFUSE_IF(ring != NULL && out == NULL, culvi_ring_voice(ring), ring->label,
                    CULV_REASON_NULL_ARGUMENT, "%s: out is NULL", call);
    culv_result result = culvi_ring_enter(ring, side, call);
    if (result != CULV_OK) return result;
    culvi_ring_party *me = &ring->side[side];
    culvi_ring_need need = {.asked = {false, false}};
    if (me->held || me->owes) result = fail_held(ring, me, call);
    if (result == CULV_OK && me->at == me->length) {
        result = begin(ring, side, &need, timeout);
        const bool reaches =
            how == CULVI_RING_BY_HOST ||
            (how == CULVI_RING_AS_SET && ring->settings.cuda_waits == CULV_RING_WAITS_SIGNAL_FIRST);
        if (result == CULV_OK && reaches) result = reach(ring, side, timeout);
    }
    if (result == CULV_OK) take(ring, side, out);
    culvi_ring_leave(ring, side);
    return result;
}

culv_result culv_ring_acquire(culv_ring *ring, culv_ring_side side, uint64_t timeout,
                              culv_ring_frame *out)
{
    const culvi_ring_api *api = culvi_ring_api_of(ring, side);
    if (api != NULL) {
        CULVI_REQUIRE(culvi_ring_voice(ring), out);
        return api->acquire(ring->owner->context, NULL, timeout, out, __func__);
    }
    CULVI_TRY(culvi_ring_check_plain(ring, side, __func__));
    if (culvi_ring_acquire_next(ring, side, out)) return CULV_OK;
    return culvi_ring_acquire(ring, side, timeout, CULVI_RING_BY_QUEUE, out, __func__);
}

/* The caller's frame is the one that its side holds. */
static culv_result enter_with(culv_ring *ring, culv_ring_side side, const culv_ring_frame *frame,
                              const char *call)
{
    CULVI_REFUSE_IF(ring != NULL && frame == NULL, culvi_ring_voice(ring), ring->label,
                    CULV_REASON_NULL_ARGUMENT, "%s: frame is NULL", call);
    culv_result result = culvi_ring_enter(ring, side, call);
    if (result != CULV_OK) return result;
    const culvi_ring_party *me = &ring->side[side];
    if (culvi_ring_holds(me, frame)) return CULV_OK;
    if (me->owes)
        result = fail_held(ring, me, call);
    else if (!me->held)
        result = culvi_ring_fail(ring, CULV_ERROR_INVALID, CULV_REASON_RING_ORDER,
                                 "%s: this side holds no frame; acquire one first", call);
    else
        result = culvi_ring_fail(
            ring, CULV_ERROR_INVALID, CULV_REASON_RING_ORDER,
            "%s: frame %" PRIu64 " in slot %" PRIu32
            " is not the one that this side holds, %" PRIu64 " in slot %" PRIu32,
            call, frame->number, frame->slot, me->number, (uint32_t)me->slots[me->at]);
    culvi_ring_leave(ring, side);
    return result;
}

/* The caller's submission, without the lock; the side is in a call meanwhile. */
static culv_result submit_by(culv_ring *ring, culv_ring_side side, culvi_ring_submit submit,
                             void *context, uint64_t value)
{
    culvi_mutex_unlock(&ring->lock);
    culv_result result = submit(context, value);
    culvi_mutex_lock(&ring->lock);
    return result == CULV_OK ? CULV_OK
                             : culvi_ring_note_failure(ring, result, ring->side[side].name);
}

/* The lock is for the end of a burst. */
static void finish_frame(culv_ring *ring, culv_ring_side side)
{
    culvi_ring_party *me = &ring->side[side];
    me->held = false;
    me->submitted++;
    if (!me->again) {
        atomic_store_explicit(&me->next, me->number + 1, memory_order_relaxed);
        if (side == CULV_RING_CONSUMER)
            atomic_store_explicit(&ring->consumed, culvi_ring_get(&ring->consumed) + 1,
                                  memory_order_relaxed);
    }
    me->at++;
    if (me->at < me->length) {
        culvi_ring_show(me);
        return;
    }
    CULVI_LOCKED(&ring->lock, hand_over(ring, side));
}

/* Whether the frame is one that the side holds again, as culvi_ring_holds(). */
static bool owes(const culvi_ring_party *me, const culv_ring_frame *frame)
{
    return me->owes && frame->slot == me->owed.slot && frame->number == me->owed.number;
}

/* The other side has such a frame, and waits for the value. */
static culv_result release_owed(culv_ring *ring, culv_ring_side side, culv_ring_frame *frame,
                                culvi_ring_submit submit, void *context)
{
    culvi_ring_party *me = &ring->side[side];
    culvi_mutex_lock(&ring->lock);
    culv_result result =
        submit != NULL ? submit_by(ring, side, submit, context, me->promised) : CULV_OK;
    if (result == CULV_OK) {
        frame->signal_value = me->promised;
        me->owes = false;
        culvi_ring_show(me);
    }
    culvi_mutex_unlock(&ring->lock);
    return result;
}

culv_result culvi_ring_release_by(culv_ring *ring, culv_ring_side side, culv_ring_frame *frame,
                                  culvi_ring_submit submit, void *context, const char *call)
{
    culvi_ring_party *me;
    for (;;) {
        me = frame != NULL ? take_side(ring, side) : NULL;
        if (me != NULL && culvi_ring_holds(me, frame)) break;
        if (me != NULL && owes(me, frame)) {
            culv_result result = release_owed(ring, side, frame, submit, context);
            give_side(me);
            return result;
        }
        if (me != NULL) give_side(me);
        CULVI_TRY(enter_with(ring, side, frame, call)); /* says why */

        culvi_ring_leave(ring, side); /* it was so for a moment */
    }
    uint64_t value = me->at + 1 == me->length ? me->promised + 1 : 0;
    culv_result result = submit != NULL ? submit(context, value) : CULV_OK;
    if (result == CULV_OK) {
        frame->signal_value = value;
        finish_frame(ring, side);
    } else {
        CULVI_LOCKED(&ring->lock, result = culvi_ring_note_failure(ring, result, me->name));
    }
    give_side(me);
    return result;
}

culv_result culv_ring_release(culv_ring *ring, culv_ring_side side, culv_ring_frame *frame)
{
    const culvi_ring_api *api = culvi_ring_api_of(ring, side);
    if (api != NULL) {
        CULVI_REQUIRE(culvi_ring_voice(ring), frame);
        return api->release(ring->owner->context, NULL, frame, __func__);
    }
    CULVI_TRY(culvi_ring_check_plain(ring, side, __func__));
    return culvi_ring_release_by(ring, side, frame, NULL, NULL, __func__);
}

culv_result culvi_ring_cancel(culv_ring *ring, culv_ring_side side, culv_ring_frame *frame,
                              const char *call)
{
    CULVI_TRY(enter_with(ring, side, frame, call));
    culvi_ring_party *me = &ring->side[side];
    me->held = false;
    culvi_ring_show(me);
    if (me->at == 0) give_burst_back(ring, side);
    culvi_ring_leave(ring, side);
    return CULV_OK;
}

culv_result culv_ring_cancel(culv_ring *ring, culv_ring_side side, culv_ring_frame *frame)
{
    const culvi_ring_stream_api *api = culvi_ring_stream_of(ring, side);
    if (api != NULL) {
        CULVI_REQUIRE(culvi_ring_voice(ring), frame);
        return api->cancel(ring->owner->context, frame, __func__);
    }
    culv_result result = culvi_ring_check_plain(ring, side, __func__);
    return result == CULV_OK ? culvi_ring_cancel(ring, side, frame, __func__) : result;
}

/* Takes a frame back within a burst, where nothing was handed over: the frame was not released. */
static void take_back(culv_ring *ring, culv_ring_side side, const culv_ring_frame *frame)
{
    culvi_ring_party *me = &ring->side[side];
    me->at--;
    me->submitted--;
    me->number = frame->number;
    me->held = true;
    atomic_store_explicit(&me->next, frame->number, memory_order_relaxed);
    if (side == CULV_RING_CONSUMER)
        atomic_store_explicit(&ring->consumed, culvi_ring_get(&ring->consumed) - 1,
                              memory_order_relaxed);
}

culv_result culvi_ring_submit_failed(culv_ring *ring, culv_ring_side side,
                                     const culv_ring_frame *frame, const char *call)
{
    CULVI_REFUSE_IF(ring != NULL && frame == NULL, culvi_ring_voice(ring), ring->label,
                    CULV_REASON_NULL_ARGUMENT, "%s: frame is NULL", call);
    culv_result result = culvi_ring_enter(ring, side, call);
    if (result != CULV_OK) return result;
    culvi_ring_party *me = &ring->side[side];
    const bool idle = !me->held && !me->owes && frame->slot < ring->max_depth;
    if (idle && frame->signal_value == 0 && me->at > 0 && me->slots[me->at - 1] == frame->slot &&
        frame->number + 1 == culvi_ring_get(&me->next)) {
        take_back(ring, side, frame);
    } else if (idle && frame->signal_value != 0 && frame->signal_value == me->promised &&
               me->at == 0) {
        me->owes = true;
        me->owed = *frame;
    } else {
        result = culvi_ring_fail(ring, CULV_ERROR_INVALID, CULV_REASON_RING_ORDER,
                                 "%s: frame %" PRIu64 " in slot %" PRIu32
                                 " is not the last one that this side released",
                                 call, frame->number, frame->slot);
    }
    culvi_ring_show(me);
    culvi_ring_leave(ring, side);
    return result;
}

culv_result culv_ring_submit_failed(culv_ring *ring, culv_ring_side side, culv_ring_frame *frame)
{
    return culvi_ring_submit_failed(ring, side, frame, __func__);
}

culv_result culvi_ring_flush_by(culv_ring *ring, culv_ring_side side, culvi_ring_submit submit,
                                void *context, uint64_t *signal_value, const char *call)
{
    culv_result result = culvi_ring_enter(ring, side, call);
    if (result != CULV_OK) return result;
    culvi_ring_party *me = &ring->side[side];
    uint64_t value = me->at > 0 ? me->promised + 1 : 0;
    if (me->held || me->owes)
        result = fail_held(ring, me, call);
    else if (submit != NULL)
        result = submit_by(ring, side, submit, context, value);
    if (result == CULV_OK) {
        me->flushed =
            me->flushed || value != 0 || me->brief; /* a short burst may have been full already */
        if (value != 0) hand_over(ring, side);
        *signal_value = value;
    }
    culvi_ring_leave(ring, side);
    return result;
}

culv_result culv_ring_flush(culv_ring *ring, culv_ring_side side, uint64_t *signal_value)
{
    const culvi_ring_api *api = culvi_ring_api_of(ring, side);
    if (api != NULL) return api->flush(ring->owner->context, NULL, signal_value, __func__);
    if (ring != NULL) CULVI_REQUIRE(culvi_ring_voice(ring), signal_value);
    CULVI_TRY(culvi_ring_check_plain(ring, side, __func__));
    return culvi_ring_flush_by(ring, side, NULL, NULL, signal_value, __func__);
}
