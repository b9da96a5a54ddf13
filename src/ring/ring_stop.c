/* SPDX-License-Identifier: MIT */
/* What goes wrong in a culv_ring: limits, late sides, failures that stop it, draining and
 * forcing. */
#include "ring/ring.h"

#include <stdio.h>

/* For how long a timeline is waited for at a time, so that a ring that is stopped meanwhile lets
 * go. */
static const uint64_t WAIT_SLICE = 250000000;

static const char *const sides[] = {"the producer", "the consumer"};

uint64_t culvi_ring_until(culvi_ring_limit *limit)
{
    if (limit->timeout == CULV_RING_FOREVER) return UINT64_MAX;
    if (limit->until == 0) {
        uint64_t now = culvi_now();
        limit->until =
            limit->timeout < UINT64_MAX - 1 - now ? now + limit->timeout : UINT64_MAX - 1;
    }
    return limit->until;
}

uint64_t culvi_ring_left(culvi_ring_limit *limit)
{
    if (limit->timeout == CULV_RING_FOREVER) return UINT64_MAX;
    if (limit->timeout == 0) return 0;
    uint64_t until = culvi_ring_until(limit), now = culvi_now();
    return until > now ? until - now : 0;
}

/* Failures ------------------------------------------------------------------------------------- */

culv_result culvi_ring_note_failure(culv_ring *ring, culv_result result, const char *what)
{
    if (result != CULV_ERROR_ASYNC || ring->stopped[0] != '\0') return result;
    culv_error error = culv_error_init();
    culv_last_error(&error);
    snprintf(ring->stopped, sizeof ring->stopped, "at '%s', %s", what,
             culv_reason_text(error.reason));
    atomic_fetch_or(&ring->heed, CULVI_RING_ENDS);
    culvi_condition_wake_all(&ring->changed);
    return result;
}

culv_result culvi_ring_fail_stopped(culv_ring *ring)
{
    return culvi_ring_fail(ring, CULV_ERROR_ASYNC, CULV_REASON_RING_STOPPED,
                           "the ring is stopped: %s; the only call that is left is %s()",
                           ring->stopped, culvi_ring_destroy_name(ring));
}

static void reached(culvi_ring_party *party, uint64_t value)
{
    if (value > party->promised) value = party->promised; /* signaled before it was released */
    if (value > party->known) party->known = value;
}

culv_result culvi_ring_read(culv_ring *ring, culv_ring_side side)
{
    culvi_ring_party *party = &ring->side[side];
    uint64_t counter = 0;
    culvi_mutex_unlock(&ring->lock);
    culv_result result = party->api.value(party->api.context, &counter);
    culvi_mutex_lock(&ring->lock);
    if (result == CULV_OK) reached(party, counter);
    return culvi_ring_note_failure(ring, result, party->name);
}

culv_result culvi_ring_wait(culv_ring *ring, culv_ring_side side, uint64_t value,
                            culvi_ring_limit *limit)
{
    culvi_ring_party *party = &ring->side[side];
    culv_result result = CULV_ERROR_TIMEOUT;
    for (bool last = false; result == CULV_ERROR_TIMEOUT && !last && ring->stopped[0] == '\0';) {
        uint64_t left = culvi_ring_left(limit);
        last = left <= WAIT_SLICE;
        culvi_mutex_unlock(&ring->lock);
        const int cancel = culvi_cancel_disable();
        culvi_thread_state()->attempts++; /* the end of a slice is no error */
        result = party->api.wait(party->api.context, value, last ? left : WAIT_SLICE);
        culvi_thread_state()->attempts--;
        culvi_cancel_restore(cancel);
        culvi_mutex_lock(&ring->lock);
    }
    if (result == CULV_OK) reached(party, value);
    if (result == CULV_ERROR_TIMEOUT && ring->stopped[0] != '\0')
        return culvi_ring_fail_stopped(ring);
    return culvi_ring_note_failure(ring, result, party->name);
}

/* Who is late ---------------------------------------------------------------------------------- */

static void add_time(culvi_text *text, uint64_t ns)
{
    if (ns % 1000000 == 0)
        culvi_text_add(text, "%" PRIu64 " ms", ns / 1000000);
    else
        culvi_text_add(text, "%" PRIu64 " ns", ns);
}

static void add_last_signal(culvi_text *text, const culv_ring *ring)
{
    if (ring->last_side < 0) {
        culvi_text_add(text, "nobody has signaled yet");
        return;
    }
    const culvi_ring_party *last = &ring->side[ring->last_side];
    culvi_text_add(text, "the last to signal was %s: '%s' with %" PRIu64, sides[ring->last_side],
                   last->name, last->promised);
}

static void add_doing(culvi_text *text, const culv_ring *ring, int side)
{
    const culvi_ring_party *party = &ring->side[side];
    uint32_t shown = atomic_load_explicit(&party->shown, memory_order_relaxed);
    uint32_t at = culvi_ring_shown_released(shown);
    uint32_t slot = party->slots[at % CULV_RING_MAX_DEPTH];
    if (culvi_ring_shown_held(shown))
        culvi_text_add(text, "it holds frame %" PRIu64 " in slot %" PRIu32,
                       side == CULV_RING_PRODUCER ? culvi_ring_get(&party->next)
                                                  : ring->slots[slot].number,
                       slot);
    else if (at > 0)
        culvi_text_add(
            text, "it has released %" PRIu32 " of a burst of %" PRIu32 " (%s() hands them over)",
            at, party->length, culvi_ring_flush_name(ring, side));
    else
        culvi_text_add(text, "it holds no frame");
}

culv_result culvi_ring_fail_late_side(culv_ring *ring, culv_ring_side waiting, uint64_t timeout)
{
    char data[640] = "";
    culvi_text text = {data, sizeof data, 0};
    const culvi_ring_party *late = culvi_ring_other(ring, waiting);
    bool full = waiting == CULV_RING_PRODUCER;
    culvi_text_add(&text, "%s is late: within ", sides[1 - (int)waiting]);
    add_time(&text, timeout);
    if (full)
        culvi_text_add(&text,
                       " it gave no slot back (%" PRIu32 " of %" PRIu32
                       " free, a burst takes %" PRIu32 ")",
                       ring->free.count, ring->in_use, ring->burst);
    else
        culvi_text_add(&text, " it handed no frame over");
    culvi_text_add(&text, "; it has to signal '%s' with %" PRIu64 " and ", late->name,
                   late->promised + 1);
    add_doing(&text, ring, 1 - (int)waiting);
    culvi_text_add(&text, "; ");
    add_last_signal(&text, ring);
    return culvi_ring_fail(ring, CULV_ERROR_TIMEOUT,
                           full ? CULV_REASON_RING_FULL : CULV_REASON_RING_EMPTY, "%s", data);
}

/* The counter, or what can be found out of it. Without the lock. */
static uint64_t ask_counter(const culv_ring_timeline *api, uint64_t known, uint64_t promised)
{
    uint64_t counter = known;
    culvi_thread_state()->attempts++;
    if (api->value != NULL) {
        if (api->value(api->context, &counter) != CULV_OK) counter = known;
    } else if (api->wait != NULL) {
        while (counter < promised && api->wait(api->context, counter + 1, 0) == CULV_OK)
            counter++;
    }
    culvi_thread_state()->attempts--;
    return counter;
}

/* Who keeps a timeline of `side` from going on: a side whose next value comes after one that the
 * other timeline has reached is late itself, by its GPU work or because it never submitted it; else
 * it waits for the other one. Without the lock while the counters are read. */
static culv_ring_side find_late(culv_ring *ring, culv_ring_side side, uint64_t counter[2])
{
    culv_ring_timeline api[2];
    uint64_t known[2], promised[2];
    for (int i = 0; i < 2; i++) {
        api[i] = ring->side[i].api;
        known[i] = ring->side[i].known;
        promised[i] = ring->side[i].promised;
    }
    culvi_mutex_unlock(&ring->lock);
    for (int i = 0; i < 2; i++)
        counter[i] = ask_counter(&api[i], known[i], promised[i]);
    culvi_mutex_lock(&ring->lock);
    for (int turn = 0; turn < 2; turn++) {
        int i = turn == 0 ? (int)side : 1 - (int)side;
        const culvi_ring_party *party = &ring->side[i];
        if (counter[i] >= party->promised) continue;
        uint64_t next = counter[i] + 1;
        if (party->promised - next >= CULVI_RING_PAST) continue;
        if (counter[1 - i] >= party->past[next & (CULVI_RING_PAST - 1)].wait)
            return (culv_ring_side)i;
    }
    return side;
}

/* `late` gets the side, `counter` both counters. */
static culv_result fail_late_work(culv_ring *ring, culv_ring_side side, uint64_t value,
                                  uint64_t timeout, culv_ring_side *late, uint64_t counter[2])
{
    char data[640] = "";
    culvi_text text = {data, sizeof data, 0};
    const culvi_ring_party *party = &ring->side[side];
    *late = find_late(ring, side, counter);
    culvi_text_add(&text, "%s is late: '%s' has not reached %" PRIu64 " within ", sides[*late],
                   party->name, value);
    add_time(&text, timeout);
    culvi_text_add(&text, "; it is at %" PRIu64 " of %" PRIu64, counter[side], party->promised);
    if (*late != side) {
        const culvi_ring_party *other = &ring->side[*late];
        culvi_text_add(&text,
                       ", since %s's work waits for '%s' to reach %" PRIu64 ", which is at %" PRIu64
                       " of %" PRIu64,
                       sides[side], other->name,
                       party->past[(counter[side] + 1) & (CULVI_RING_PAST - 1)].wait,
                       counter[*late], other->promised);
    }
    const bool owes = counter[*late] < ring->side[*late].promised;
    if (!owes || ring->last_side != (int)*late) {
        culvi_text_add(&text, "; ");
        add_last_signal(&text, ring);
    }
    if (owes)
        culvi_text_add(&text,
                       "; %s released with %" PRIu64
                       ", but that signal has not run yet; was it submitted?",
                       sides[*late], ring->side[*late].promised);
    return culvi_ring_fail(ring, CULV_ERROR_TIMEOUT, CULV_REASON_RING_LATE, "%s", data);
}

culv_result culvi_ring_fail_late_work(culv_ring *ring, culv_ring_side side, uint64_t value,
                                      uint64_t timeout)
{
    culv_ring_side late;
    uint64_t counter[2];
    return fail_late_work(ring, side, value, timeout, &late, counter);
}

/* Draining ------------------------------------------------------------------------------------- */

/* Waits for all that was handed out. */
static culv_result wait_for_all(culv_ring *ring, uint64_t timeout, culv_ring_side *late,
                                uint64_t counter[2])
{
    culvi_ring_limit limit = {.timeout = timeout};
    for (int i = 0; i < 2; i++) {
        const culvi_ring_party *party = &ring->side[i];
        if (party->known >= party->promised) continue;
        culv_result result = culvi_ring_wait(ring, (culv_ring_side)i, party->promised, &limit);
        if (result == CULV_ERROR_TIMEOUT)
            result =
                fail_late_work(ring, (culv_ring_side)i, party->promised, timeout, late, counter);
        if (result != CULV_OK) return result;
    }
    return CULV_OK;
}

static culv_result force_side(culv_ring *ring, culv_ring_side late, uint64_t counter)
{
    culvi_ring_party *party = &ring->side[late];
    if (party->api.signal == NULL)
        return culvi_ring_fail(
            ring, CULV_ERROR_UNSUPPORTED, CULV_REASON_NO_FORCE,
            "%s is late: '%s' is at %" PRIu64 " of %" PRIu64
            ", and the host cannot signal it (culv_ring_timeline.signal is NULL)",
            sides[late], party->name, counter, party->promised);
    uint64_t value = party->promised;
    culvi_mutex_unlock(&ring->lock);
    culvi_log(&ring->device->voice, CULV_LOG_WARNING,
              "'%s': the host signals '%s' with %" PRIu64 " in place of %s, at %" PRIu64 ": the "
              "frames that were in flight are not valid",
              ring->label, party->name, value, sides[late], counter);
    culv_result result = party->api.signal(party->api.context, value);
    culvi_mutex_lock(&ring->lock);
    if (result == CULV_OK) reached(party, value);
    return culvi_ring_note_failure(ring, result, party->name);
}

/* All slots are free and nobody's, whatever the sides held. */
static void reset(culv_ring *ring)
{
    atomic_fetch_add(&ring->forced, 1);
    ring->skipped += ring->ready.count;
    for (int i = 0; i < 2; i++) {
        culvi_ring_party *party = &ring->side[i];
        if (i == CULV_RING_PRODUCER)
            ring->skipped += party->at;
        else if (!party->again)
            ring->skipped += party->length - party->at;
        party->held = party->again = party->flushed = false;
        party->at = party->length = 0;
        culvi_ring_show(party);
    }
    ring->keeps = false;
    ring->free.count = ring->ready.count = 0;
    for (uint32_t slot = 0; slot < ring->max_depth; slot++) {
        ring->slots[slot].done = 0;
        if ((ring->parked & UINT64_C(1) << slot) == 0) culvi_ring_push(&ring->free, slot);
    }
}

static culv_result check_drain(culv_ring *ring, bool force)
{
    for (int i = 0; i < 2; i++) {
        const culvi_ring_party *party = &ring->side[i];
        if (party->held && !force)
            return culvi_ring_fail(ring, CULV_ERROR_BUSY, CULV_REASON_RING_ORDER,
                                   "culv_ring_drain: %s holds frame %" PRIu64 " in slot %" PRIu32
                                   "; release or cancel it first, or force the ring",
                                   sides[i], party->number, (uint32_t)party->slots[party->at]);
        if (party->at > 0 && !force)
            return culvi_ring_fail(
                ring, CULV_ERROR_BUSY, CULV_REASON_RING_ORDER,
                "culv_ring_drain: %s has released %" PRIu32 " of a burst of %" PRIu32
                ", which is not signaled yet; call %s() first, or force the "
                "ring",
                sides[i], party->at, party->length, culvi_ring_flush_name(ring, i));
        if (party->api.wait == NULL)
            return culvi_ring_fail(
                ring, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                "culv_ring_drain: the host cannot wait for '%s' (culv_ring_timeline.wait is NULL)",
                party->name);
    }
    return CULV_OK;
}

static culv_result drain(culv_ring *ring, uint64_t timeout, bool force)
{
    culv_ring_side late = CULV_RING_PRODUCER;
    uint64_t counter[2];
    culv_result result = check_drain(ring, force);
    if (result != CULV_OK) return result;
    bool spoilt = false;
    for (int i = 0; i < 2; i++)
        spoilt = spoilt || ring->side[i].held || ring->side[i].at > 0;
    culvi_watch watch;
    culvi_watch_for(ring->device, &watch, "ring", ring->label, "draining it",
                    "The GPU work of both sides must end");
    result = wait_for_all(ring, timeout, &late, counter);
    /* Whoever waited for the first late side goes on then; when it does not, it is late too. */
    for (int i = 0; i < 2 && force && result == CULV_ERROR_TIMEOUT; i++) {
        result = CULV_OK;
        if (counter[late] < ring->side[late].promised) { /* else it got there meanwhile */
            spoilt = true;
            result = force_side(ring, late, counter[late]);
        }
        if (result == CULV_OK) result = wait_for_all(ring, timeout, &late, counter);
    }
    culvi_watch_done(ring->device, &watch);
    if (result == CULV_OK && spoilt) reset(ring);
    return result;
}

culv_result culv_ring_drain(culv_ring *ring, uint64_t timeout, culv_bool force)
{
    culv_result result = culvi_ring_enter(ring, CULV_RING_PRODUCER, "culv_ring_drain");
    if (result != CULV_OK) return result;
    atomic_bool *other = &ring->side[CULV_RING_CONSUMER].in_call;
    if (atomic_exchange_explicit(other, true, memory_order_acquire)) {
        result = culvi_ring_fail(ring, CULV_ERROR_INVALID, CULV_REASON_RING_SIDE,
                                 "culv_ring_drain: another thread is in a call of the consumer");
    } else {
        result = drain(ring, timeout, force != 0);
        atomic_store_explicit(other, false, memory_order_release);
    }
    culvi_ring_leave(ring, CULV_RING_PRODUCER);
    return result;
}
