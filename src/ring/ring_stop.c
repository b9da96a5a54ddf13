/* SPDX-License-Identifier: MIT */
/* What goes wrong in a culv_ring: limits, late sides, failures that stop it, draining and
 * forcing. */
#include "ring/ring.h"

#include "core/semaphore.h"

#include <stdio.h>

/* A timeline is waited for only so long at a time, so that a ring that is stopped meanwhile lets
 * go. */
static const uint64_t WAIT_SLICE = 250000000;

/* Work that goes on has at least so long before a drain with force signals in its place. */
static const uint64_t PATIENCE = 1000000000;

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

void culvi_ring_end(culv_ring *ring, const char *format, ...)
{
    va_list args;
    atomic_store(&ring->ended, true);
    if (ring->stopped[0] == '\0') {
        va_start(args, format);
        vsnprintf(ring->stopped, sizeof ring->stopped, format, args);
        va_end(args);
    }
    culvi_condition_wake_all(&ring->changed);
}

culv_result culvi_ring_note_failure(culv_ring *ring, culv_result result, const char *what)
{
    if (result != CULV_ERROR_ASYNC || ring->stopped[0] != '\0') return result;
    culv_error error = culv_error_init();
    culv_last_error(&error);
    culvi_ring_end(ring, "at '%s', %s", what, culvi_reason_text(error.reason));
    return result;
}

culv_result culv_ring_stop(culv_ring *ring)
{
    CULVI_REQUIRE(NULL, ring);
    CULVI_LOCKED(&ring->lock, culvi_ring_end(ring, "culv_ring_stop() was called"));
    return CULV_OK;
}

culv_result culvi_ring_fail_stopped(culv_ring *ring)
{
    return culvi_ring_fail(ring, CULV_ERROR_ASYNC, CULV_REASON_RING_STOPPED,
                           "the ring is stopped: %s; what is left is culv_ring_drain() and %s()",
                           ring->stopped, "culv_ring_destroy");
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

/* Whether a wait is to let go. */
static bool ends(const culv_ring *ring, const culvi_ring_limit *limit)
{
    return ring->stopped[0] != '\0' && !limit->stopped;
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
    if (party->owes)
        culvi_text_add(
            text, "it holds frame %" PRIu64 " in slot %" PRIu32 " again, whose submission failed",
            party->owed.number, party->owed.slot);
    else if (culvi_ring_shown_held(shown))
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

enum { LATE_TEXT = 640 };

/* What the sides still have of the ring: "; the producer: ...". */
static void add_users(culvi_text *text, const culv_ring *ring, bool calls)
{
    for (int i = 0; i < 2; i++) {
        const uint32_t shown = atomic_load(&ring->side[i].shown);
        if (culvi_ring_shown_held(shown) || culvi_ring_shown_released(shown) > 0) {
            culvi_text_add(text, "; %s: ", sides[i]);
            add_doing(text, ring, i);
        } else if (calls && atomic_load(&ring->side[i].in_call)) {
            culvi_text_add(text, "; %s is in a call", sides[i]);
        }
    }
}

void culvi_ring_end_for_good(culv_ring *ring)
{
    char data[LATE_TEXT] = "";
    culvi_text text = {data, LATE_TEXT, 0};
    culvi_mutex_lock(&ring->lock);
    if (ring->stopped[0] == '\0') add_users(&text, ring, true);
    culvi_ring_end(ring, "it is being destroyed");
    culvi_mutex_unlock(&ring->lock);
    if (text.length > 0)
        culvi_log(culvi_ring_voice(ring), CULV_LOG_WARNING,
                  "%s is destroyed too early%s. First call culv_ring_stop(), and end both sides",
                  culvi_named("ring", ring->label).text, data);
}

static void tell_late_side(culv_ring *ring, culv_ring_side waiting, uint64_t timeout,
                           char data[LATE_TEXT])
{
    culvi_text text = {data, LATE_TEXT, 0};
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
}

culv_result culvi_ring_fail_late_side(culv_ring *ring, culv_ring_side waiting, uint64_t timeout)
{
    char data[LATE_TEXT] = "";
    tell_late_side(ring, waiting, timeout, data);
    return culvi_ring_fail(
        ring, CULV_ERROR_TIMEOUT,
        waiting == CULV_RING_PRODUCER ? CULV_REASON_RING_FULL : CULV_REASON_RING_EMPTY, "%s", data);
}

/* Whether the log is to be told now, and for how long the wait has lasted, in whole seconds. */
static bool warns(culvi_ring_limit *limit, uint64_t *lasted)
{
    const uint64_t now = limit->warn == 0 ? 0 : culvi_now(), second = 1000000000;
    if (limit->warn == 0 || now < limit->warn) return false;
    *lasted = (now - limit->begun) / second * second;
    limit->warn = limit->begun + (limit->warn - limit->begun) * 10;
    return true;
}

static bool warn(culv_ring *ring, const char *text)
{
    culvi_mutex_unlock(&ring->lock);
    culvi_log(culvi_ring_voice(ring), CULV_LOG_WARNING, "%s: a call still waits: %s",
              culvi_named("ring", ring->label).text, text);
    culvi_mutex_lock(&ring->lock);
    return true;
}

bool culvi_ring_warn_late_side(culv_ring *ring, culv_ring_side waiting, culvi_ring_limit *limit)
{
    char data[LATE_TEXT] = "";
    uint64_t lasted = 0;
    if (!warns(limit, &lasted)) return false;
    tell_late_side(ring, waiting, lasted, data);
    return warn(ring, data);
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

static void tell_late_work(culv_ring *ring, culv_ring_side side, uint64_t value, uint64_t timeout,
                           char data[LATE_TEXT])
{
    uint64_t counter[2];
    culvi_text text = {data, LATE_TEXT, 0};
    const culvi_ring_party *party = &ring->side[side];
    const culv_ring_side late = find_late(ring, side, counter);
    culvi_text_add(&text, "%s is late: '%s' has not reached %" PRIu64 " within ", sides[late],
                   party->name, value);
    add_time(&text, timeout);
    culvi_text_add(&text, "; it is at %" PRIu64 " of %" PRIu64, counter[side], party->promised);
    if (late != side) {
        const culvi_ring_party *other = &ring->side[late];
        culvi_text_add(&text,
                       ", since %s's work waits for '%s' to reach %" PRIu64 ", which is at %" PRIu64
                       " of %" PRIu64,
                       sides[side], other->name,
                       party->past[(counter[side] + 1) & (CULVI_RING_PAST - 1)].wait, counter[late],
                       other->promised);
    }
    const bool owes = counter[late] < ring->side[late].promised;
    if (!owes || ring->last_side != (int)late) {
        culvi_text_add(&text, "; ");
        add_last_signal(&text, ring);
    }
    if (owes)
        culvi_text_add(&text,
                       "; %s released with %" PRIu64
                       ", but that signal has not run yet; was it submitted?",
                       sides[late], ring->side[late].promised);
}

static void warn_late_work(culv_ring *ring, culv_ring_side side, uint64_t value,
                           culvi_ring_limit *limit)
{
    char data[LATE_TEXT] = "";
    uint64_t lasted = 0;
    if (!warns(limit, &lasted)) return;
    tell_late_work(ring, side, value, lasted, data);
    (void)warn(ring, data);
}

culv_result culvi_ring_wait(culv_ring *ring, culv_ring_side side, uint64_t value,
                            culvi_ring_limit *limit)
{
    culvi_ring_party *party = &ring->side[side];
    culv_result result = CULV_ERROR_TIMEOUT;
    for (bool last = false; result == CULV_ERROR_TIMEOUT && !last && !ends(ring, limit);) {
        uint64_t left = culvi_ring_left(limit);
        last = left <= WAIT_SLICE;
        culvi_mutex_unlock(&ring->lock);
        const int cancel = culvi_cancel_disable();
        culvi_thread_state()->attempts++; /* the end of a slice is no error */
        result = party->api.wait(party->api.context, value, last ? left : WAIT_SLICE);
        culvi_thread_state()->attempts--;
        culvi_cancel_restore(cancel);
        culvi_mutex_lock(&ring->lock);
        if (result == CULV_ERROR_TIMEOUT && !last && !ends(ring, limit))
            warn_late_work(ring, side, value, limit);
    }
    if (result == CULV_OK) reached(party, value);
    if ((result == CULV_OK || result == CULV_ERROR_TIMEOUT) && ends(ring, limit))
        return culvi_ring_fail_stopped(ring);
    return culvi_ring_note_failure(ring, result, party->name);
}

culv_result culvi_ring_fail_late_work(culv_ring *ring, culv_ring_side side, uint64_t value,
                                      uint64_t timeout)
{
    char data[LATE_TEXT] = "";
    tell_late_work(ring, side, value, timeout, data);
    return culvi_ring_fail(ring, CULV_ERROR_TIMEOUT, CULV_REASON_RING_LATE, "%s", data);
}

/* Draining ------------------------------------------------------------------------------------- */

/* A drain. */
typedef struct draining {
    uint64_t timeout;
    bool force;
    bool stopped; /* the ring was, before it began */
    bool spoilt;  /* frames are not valid any more */
    culv_ring_side late;
    uint64_t counter[2];
} draining;

/* Waits for all that was handed out. */
static culv_result wait_for_all(culv_ring *ring, draining *d)
{
    culvi_ring_limit limit = {.timeout = d->timeout, .stopped = d->stopped};
    for (int i = 0; i < 2; i++) {
        const culvi_ring_party *party = &ring->side[i];
        if (party->known >= party->promised) continue;
        culv_result result = culvi_ring_wait(ring, (culv_ring_side)i, party->promised, &limit);
        if (result == CULV_ERROR_TIMEOUT) {
            d->late = find_late(ring, (culv_ring_side)i, d->counter);
            result =
                culvi_ring_fail_late_work(ring, (culv_ring_side)i, party->promised, d->timeout);
        }
        if (result != CULV_OK) return result;
    }
    return CULV_OK;
}

/* Signals in place of a side: by the host, or, where that cannot, because the timeline's device is
 * lost, by CUDA. */
static culv_result signal_for(const culv_ring_timeline *api, uint64_t value)
{
    culv_result result = CULV_ERROR_UNSUPPORTED;
    culvi_thread_state()->attempts += api->semaphore != NULL;
    if (api->signal != NULL) result = api->signal(api->context, value);
    culvi_thread_state()->attempts -= api->semaphore != NULL;
    return result != CULV_OK && api->semaphore != NULL
               ? culvi_semaphore_unblock(api->semaphore, value)
               : result;
}

static culv_result force_side(culv_ring *ring, culv_ring_side late, uint64_t counter)
{
    culvi_ring_party *party = &ring->side[late];
    if (party->api.signal == NULL && party->api.semaphore == NULL)
        return culvi_ring_fail(
            ring, CULV_ERROR_UNSUPPORTED, CULV_REASON_NO_FORCE,
            "%s is late: '%s' is at %" PRIu64 " of %" PRIu64
            ", and the host cannot signal it (culv_ring_timeline.signal is NULL)",
            sides[late], party->name, counter, party->promised);
    uint64_t value = party->promised;
    culvi_mutex_unlock(&ring->lock);
    culvi_log(culvi_ring_voice(ring), CULV_LOG_WARNING,
              "%s: the host signals '%s' with %" PRIu64 " in place of %s, at %" PRIu64
              ": the frames that were in flight are not valid",
              culvi_named("ring", ring->label).text, party->name, value, sides[late], counter);
    culv_result result = signal_for(&party->api, value);
    culvi_mutex_lock(&ring->lock);
    if (result == CULV_OK) reached(party, value);
    return culvi_ring_note_failure(ring, result, party->name);
}

/* Whether CUDA was told to signal all of a side's values, which it then does by itself. */
static bool is_cudas(const culv_ring *ring, int side)
{
    const culvi_ring_party *party = &ring->side[side];
    const culv_semaphore *semaphore = party->api.semaphore;
    if (ring->owner != NULL) return side != (int)ring->owner->side;
    return semaphore != NULL &&
           atomic_load_explicit(&semaphore->signaled, memory_order_relaxed) >= party->promised;
}

/* A device is lost, and a counter cannot be read. What CUDA does not signal itself is signaled in
 * place of the other side, so that no stream waits for that. */
static culv_result force_lost(culv_ring *ring, draining *d)
{
    for (int i = 0; i < 2; i++) {
        const culvi_ring_party *party = &ring->side[i];
        const culv_ring_timeline api = party->api;
        const uint64_t known = party->known, promised = party->promised;
        if (is_cudas(ring, i) || known >= promised) continue;
        culvi_mutex_unlock(&ring->lock);
        const uint64_t counter = ask_counter(&api, known, promised);
        culvi_mutex_lock(&ring->lock);
        if (counter >= promised) continue;
        d->spoilt = true;
        CULVI_TRY(force_side(ring, (culv_ring_side)i, counter));
    }
    /* The other side may have a device of its own. */
    culv_result result = wait_for_all(ring, d);
    return result == CULV_ERROR_ASYNC ? CULV_OK : result;
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
        party->held = party->owes = party->again = party->flushed = false;
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

static culv_result check_drain(culv_ring *ring, const draining *d)
{
    char data[LATE_TEXT] = "";
    culvi_text text = {data, LATE_TEXT, 0};
    /* What a side holds of a ring that is stopped it cannot give back. */
    if (!d->force && !d->stopped) add_users(&text, ring, false);
    if (text.length > 0)
        return culvi_ring_fail(
            ring, CULV_ERROR_BUSY, CULV_REASON_RING_ORDER,
            "culv_ring_drain: sides still have frames%s. Release or cancel what is held, or force the ring",
            data);
    for (int i = 0; i < 2; i++) {
        const culvi_ring_party *party = &ring->side[i];
        if (party->api.wait == NULL)
            return culvi_ring_fail(
                ring, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                "culv_ring_drain: the host cannot wait for '%s' (culv_ring_timeline.wait is NULL)",
                party->name);
    }
    return CULV_OK;
}

/* Tells by the last error whether culv_ring_stop() was called. */
static bool was_stopped_meanwhile(void)
{
    culv_error error = culv_error_init();
    culv_last_error(&error);
    return error.reason == CULV_REASON_RING_STOPPED;
}

static culv_result drain(culv_ring *ring, draining *d)
{
    CULVI_TRY(check_drain(ring, d));
    for (int i = 0; i < 2; i++)
        d->spoilt = d->spoilt || ring->side[i].held || ring->side[i].owes || ring->side[i].at > 0;
    culvi_watch watch = {
        .kind = "ring", .deed = "draining it", .what = "The GPU work of both sides must end"};
    culvi_watch_begin(ring->device, &watch, ring->label);
    culv_result result = wait_for_all(ring, d);
    /* Whoever waited for the first late side goes on then; when it does not, it is late too. What
     * runs signals by itself, and a signal of the host's would be a second one: it has time. */
    for (int i = 0; i < 3 && d->force && result == CULV_ERROR_TIMEOUT; i++) {
        const bool runs = d->timeout < PATIENCE && is_cudas(ring, (int)d->late);
        result = CULV_OK;
        if (!runs && d->counter[d->late] < ring->side[d->late].promised) { /* not meanwhile */
            d->spoilt = true;
            result = force_side(ring, d->late, d->counter[d->late]);
        }
        if (d->timeout < PATIENCE) d->timeout = PATIENCE;
        if (result == CULV_OK) result = wait_for_all(ring, d);
    }
    if (d->force && result == CULV_ERROR_ASYNC && !was_stopped_meanwhile())
        result = force_lost(ring, d);
    culvi_watch_done(ring->device, &watch);
    if (result == CULV_OK && d->spoilt) reset(ring);
    return result;
}

culv_result culv_ring_drain(culv_ring *ring, uint64_t timeout, culv_bool force)
{
    if (culvi_ring_is_apart(ring))
        return ring->owner->stream->drain(ring->owner->context, timeout, __func__);
    culv_result result = culvi_ring_enter_any(ring, CULV_RING_PRODUCER, "culv_ring_drain");
    if (result != CULV_OK) return result;
    draining d = {.timeout = timeout, .force = force != 0, .stopped = ring->stopped[0] != '\0'};
    atomic_bool *other = &ring->side[CULV_RING_CONSUMER].in_call;
    if (atomic_exchange_explicit(other, true, memory_order_acquire)) {
        result = culvi_ring_fail(ring, CULV_ERROR_INVALID, CULV_REASON_RING_SIDE,
                                 "culv_ring_drain: another thread is in a call of the consumer");
    } else {
        result = drain(ring, &d);
        atomic_store_explicit(other, false, memory_order_release);
    }
    culvi_ring_leave(ring, CULV_RING_PRODUCER);
    return result;
}
