/* SPDX-License-Identifier: MIT */
/* The producer's side of a ring: its frames. A slot is free when no consumer has to do with it any
 * more, on the host or on its GPU. Both are in the consumer's page: what it says there that is not
 * true costs nobody but itself, and no stream of the producer's waits for another process. */
#include "ipc/ipc_ring_side.h"

/* ns. A wake may be lost with the process that was to send it. */
#define LONGEST_WAIT UINT64_C(2000000)
#define LOG_AGAIN    UINT64_C(10000000000)

typedef culv_ipc_lag lags[CULV_IPC_MAX_CONSUMERS];

/* Slots ---------------------------------------------------------------------------------------- */

/* The producer's GPU has written the frame, as far as anything tells. What a consumer can write is
 * asked last: it may say that the producer is late where it is late itself. */
static bool written(const culvi_ipc_ring *ring, const culvi_ipc_side *s, uint64_t frame)
{
    uint64_t value = 0;
    if (ring->written.signaled > frame) return atomic_load(ring->written.word) > frame;
    if (s->ready.word != NULL) return atomic_load(s->ready.word) > frame;
    return s->reached == NULL || s->reached(s->context, &value) != CULV_OK || value > frame;
}

/* Why the consumer keeps the slot with this frame. What it says first it has to be asked first: it
 * writes `last`, and gives the slot back then. */
static culv_ipc_lag keeps(const culvi_ipc_ring *ring, const culvi_ipc_side *s, uint32_t slot,
                          uint64_t frame)
{
    culvi_ipc_consumer_page *page = culvi_ipc_page_of(s);
    if (frame < s->joined) return CULV_IPC_LAG_NONE;
    if (s->policy == CULV_RING_FIFO) {
        if (atomic_load(&page->next) <= frame) return CULV_IPC_LAG_HOST;
    } else {
        const uint64_t hold = atomic_load(&page->hold);
        if (hold != 0) return hold == frame + 1 ? CULV_IPC_LAG_HOST : CULV_IPC_LAG_NONE;
    }
    const uint64_t last = atomic_load(&page->last[slot]);
    if (last <= atomic_load(&page->done)) return CULV_IPC_LAG_NONE;
    /* A consumer of the newest frame has one slot: that of its last use. */
    for (uint32_t i = 0; s->policy == CULV_RING_MAILBOX && i < ring->slots; i++) {
        const uint64_t other = atomic_load(&page->last[i]);
        if (other > last || (other == last && i < slot)) return CULV_IPC_LAG_NONE;
    }
    return written(ring, s, frame) ? CULV_IPC_LAG_GPU : CULV_IPC_LAG_PRODUCER;
}

/* Whether consumers of this policy keep it; why is added to `why`. */
static bool kept(const culvi_ipc_ring *ring, culv_ring_policy policy, uint32_t slot, uint64_t frame,
                 lags why)
{
    bool any = false;
    for (uint32_t i = 0; i < ring->max_consumers; i++) {
        const culvi_ipc_side *s = &ring->sides[i];
        if (!s->used || !s->counts || s->policy != policy) continue;
        const culv_ipc_lag lag = keeps(ring, s, slot, frame);
        if (lag == CULV_IPC_LAG_NONE) continue;
        if (why[i] == CULV_IPC_LAG_NONE) why[i] = lag;
        any = true;
    }
    return any;
}

/* The slot whose frame is the oldest that nobody needs. The newest frame stays, for those who come
 * for it, unless there is only one slot. */
static bool choose(culvi_ipc_ring *ring, lags why)
{
    culvi_ipc_ring_page *page = culvi_ipc_ring_page_of(ring);
    uint64_t tried = 0;
    memset(why, 0, sizeof(lags));
    for (uint32_t round = 0; round < ring->slots; round++) {
        uint32_t best = ring->slots;
        uint64_t oldest = UINT64_MAX;
        for (uint32_t i = 0; i < ring->slots; i++) {
            const uint64_t frame = atomic_load(&page->frames[i]);
            if (tried & UINT64_C(1) << i || frame >= oldest) continue;
            if (frame == ring->head && ring->head > 0 && ring->slots > 1) continue;
            best = i;
            oldest = frame;
        }
        if (best == ring->slots) return false;
        tried |= UINT64_C(1) << best;
        bool free = oldest == 0;
        if (!free && !kept(ring, CULV_RING_FIFO, best, oldest - 1, why)) {
            /* It is hidden first and asked about then: a consumer of the newest frame says what it
             * takes and looks again. */
            atomic_store(&page->frames[best], 0);
            free = !kept(ring, CULV_RING_MAILBOX, best, oldest - 1, why);
            if (!free) atomic_store(&page->frames[best], oldest);
        }
        if (free) {
            ring->slot = best;
            return true;
        }
    }
    return false;
}

/* Who is late ---------------------------------------------------------------------------------- */

/* Notes who has moved. */
static void watch(culvi_ipc_ring *ring, uint64_t now)
{
    for (uint32_t i = 0; i < ring->max_consumers; i++) {
        culvi_ipc_side *s = &ring->sides[i];
        if (!s->used || !s->counts) continue;
        culvi_ipc_consumer_page *page = culvi_ipc_page_of(s);
        const uint64_t next = atomic_load(&page->next), hold = atomic_load(&page->hold),
                       done = atomic_load(&page->done);
        if (next == s->next && hold == s->hold && done == s->done) continue;
        s->next = next;
        s->hold = hold;
        s->done = done;
        if (hold != 0) s->taken = hold;
        s->moved = now;
    }
}

/* No slot is free: notes because of whom, and since when. */
static void note(culvi_ipc_ring *ring, const lags why, uint64_t now)
{
    for (uint32_t i = 0; i < ring->max_consumers; i++) {
        culvi_ipc_side *s = &ring->sides[i];
        s->late = why[i];
        if (why[i] != CULV_IPC_LAG_HOST && why[i] != CULV_IPC_LAG_GPU)
            s->late_since = 0;
        else if (s->late_since == 0)
            s->late_since = now;
        ring->late = true;
    }
}

/* Whether it dropped any. */
static bool drop_late(culvi_ipc_ring *ring, uint64_t now)
{
    bool any = false;
    for (uint32_t i = 0; ring->desc.late_limit != 0 && i < ring->max_consumers; i++) {
        const culvi_ipc_side *s = &ring->sides[i];
        if (!s->used || s->late_since == 0 || now - s->late_since <= ring->desc.late_limit)
            continue;
        any = true;
        culvi_ipc_link_drop(
            ring->server, &ring->server->links[s->link],
            s->late == CULV_IPC_LAG_HOST
                ? "was late for longer than culv_ipc_ring_desc.late_limit: it has not given a frame back"
                : "was late for longer than culv_ipc_ring_desc.late_limit: its GPU is not done with a frame");
    }
    return any;
}

static culv_result fail_late(culvi_ipc_ring *ring, uint64_t now)
{
    culvi_voice quiet = *culvi_ipc_ring_voice(ring);
    culvi_ipc_side *late = NULL;
    for (uint32_t i = 0; i < ring->max_consumers; i++) {
        culvi_ipc_side *s = &ring->sides[i];
        if (s->late_since != 0 && (late == NULL || s->late_since < late->late_since)) late = s;
    }
    uint64_t *logged = late != NULL ? &late->logged : &ring->logged;
    if (*logged != 0 && now - *logged < LOG_AGAIN)
        quiet.log.fn = NULL;
    else
        *logged = now;
    if (late == NULL)
        return culvi_fail(
            &quiet, ring->name, CULV_ERROR_TIMEOUT, CULV_REASON_RING_FULL,
            "frame %" PRIu64
            " has no slot: this process's GPU has not written an earlier one yet; wait longer, or have more slots",
            ring->head);
    return culvi_fail(
        &quiet, ring->name, CULV_ERROR_TIMEOUT, CULV_REASON_RING_FULL,
        "frame %" PRIu64
        " has no slot: %s consumer %d (process %d) %s; wait longer, have more slots, or culv_ipc_ring_drop() it",
        ring->head, late->late == CULV_IPC_LAG_HOST ? "the" : "the GPU of the",
        (int)(late - ring->sides), (int)ring->server->links[late->link].pid,
        late->late == CULV_IPC_LAG_HOST ? "has not given back an earlier one"
                                        : "is not done with an earlier one");
}

/* When to look again: no message says how far a GPU is. */
static uint64_t look_again(const culvi_ipc_ring *ring, const lags why, uint64_t *began,
                           uint64_t now, uint64_t until)
{
    uint64_t at = until - now < LONGEST_WAIT ? until : now + LONGEST_WAIT;
    for (uint32_t i = 0; i < ring->max_consumers; i++) {
        const uint64_t since = ring->sides[i].late_since;
        if (why[i] >= CULV_IPC_LAG_GPU) at = culvi_ipc_soon(began, at);
        if (since != 0 && ring->desc.late_limit != 0 && ring->desc.late_limit < at - since)
            at = since + ring->desc.late_limit;
    }
    return at;
}

uint32_t culv_ipc_ring_consumers(culv_ring *core, culv_ipc_consumer_info *out, uint32_t capacity)
{
    uint32_t found = 0;
    culvi_ipc_ring *ring = culvi_ring_of_api(core, &culvi_ipc_ring_api.ring, NULL);
    if (ring == NULL || ring->stopped) return 0;
    const uint64_t now = culvi_now();
    culvi_ipc_ring_look(ring);
    watch(ring, now);
    for (uint32_t i = 0; i < ring->max_consumers; i++) {
        const culvi_ipc_side *s = &ring->sides[i];
        if (!s->used || !s->counts || found++ >= capacity) continue;
        culv_ipc_consumer_info info = {.number = i,
                                       .pid = ring->server->links[s->link].pid,
                                       .policy = s->policy,
                                       .quiet = now - s->moved,
                                       .late = s->late_since != 0 ? now - s->late_since : 0};
        uint64_t oldest = s->policy == CULV_RING_FIFO ? s->next
                          : s->taken != 0             ? s->taken
                                                      : s->joined;
        if (oldest > ring->head) oldest = ring->head; /* its page says what is not true */
        info.lag = s->policy == CULV_RING_FIFO && oldest < ring->head ? CULV_IPC_LAG_HOST
                                                                      : CULV_IPC_LAG_NONE;
        for (uint32_t slot = 0; slot < ring->slots; slot++) {
            const uint64_t frame = atomic_load(&culvi_ipc_ring_page_of(ring)->frames[slot]);
            const culv_ipc_lag lag =
                frame != 0 ? keeps(ring, s, slot, frame - 1) : CULV_IPC_LAG_NONE;
            if (lag == CULV_IPC_LAG_NONE) continue;
            if (s->policy == CULV_RING_MAILBOX) info.lag = lag;
            if (s->policy == CULV_RING_MAILBOX || frame - 1 >= oldest) continue;
            oldest = frame - 1;
            info.lag = lag;
        }
        info.behind = ring->head - oldest;
        out[found - 1] = info;
    }
    return found;
}

/* Frames --------------------------------------------------------------------------------------- */

/* CUDA's calls have a stream; those without one are for timelines that `make` makes. */
static const char *refuses(const culvi_ring_apart *side, bool has_stream)
{
    const bool plain = ((const culvi_ipc_ring *)side)->desc.make != NULL;
    if (has_stream != plain) return NULL;
    return plain
               ? "the ring's timelines are your graphics API's (culv_ipc_ring_desc.make); call culv_ring_acquire() and culv_ring_release()"
               : "CUDA's side of this ring needs a stream; its calls are culv_ring_acquire_on() and culv_ring_release_on()";
}

/* Whoever read the slot is done with it, so that no stream waits for anything. */
static culv_result acquire(void *side, const CUstream *stream, uint64_t timeout,
                           culv_ring_frame *frame, const char *call)
{
    (void)stream;
    culvi_ipc_ring *ring = side;
    lags why;
    const uint64_t until = culvi_ipc_until(timeout);
    uint64_t now = culvi_now(), began = 0;
    culv_result result = culv_ipc_server_poll(ring->server, 0, NULL);
    culvi_ipc_ring_look(ring);
    watch(ring, now);
    while (result == CULV_OK && !choose(ring, why)) {
        /* Who gives a slot back after this sends a message. */
        atomic_store(&culvi_ipc_ring_page_of(ring)->producer_waits, 1);
        const bool found = choose(ring, why);
        if (!found && culvi_ring_is_ended(ring->side.core)) {
            result = culvi_ring_check_runs(ring->side.core, call);
        } else if (!found) {
            now = culvi_now();
            note(ring, why, now);
            if (!drop_late(ring, now)) {
                if (now >= until)
                    result = fail_late(ring, now);
                else
                    result = culv_ipc_server_poll(
                        ring->server, look_again(ring, why, &began, now, until) - now, NULL);
            }
        }
        atomic_store(&culvi_ipc_ring_page_of(ring)->producer_waits, 0);
        if (found) break;
        culvi_ipc_ring_look(ring);
    }
    if (result != CULV_OK) return result;
    for (uint32_t i = 0; i < ring->max_consumers && ring->late; i++)
        ring->sides[i].late_since = 0;
    ring->late = false;
    *frame = (culv_ring_frame){
        .number = ring->head, .slot = ring->slot, .burst_begins = 1, .burst_ends = 1};
    ring->held = true;
    return CULV_OK;
}

static void publish(culvi_ipc_ring *ring, culv_ring_frame *frame)
{
    culvi_ipc_ring_page *page = culvi_ipc_ring_page_of(ring);
    frame->signal_value = ring->head + 1;
    atomic_store(&page->frames[ring->slot], ring->head + 1);
    ring->head++;
    atomic_store(&page->head, ring->head);
    ring->held = false;
    for (uint32_t i = 0; i < ring->max_consumers; i++)
        if (ring->sides[i].used && atomic_load(&culvi_ipc_page_of(&ring->sides[i])->waits) != 0)
            culvi_ipc_ring_tell(ring, &ring->sides[i]);
}

static culvi_ring_hold hold(const culvi_ring_apart *side)
{
    const culvi_ipc_ring *ring = (const culvi_ipc_ring *)side;
    culvi_ring_hold hold = {.held = ring->held, .slot = ring->slot, .number = ring->head};
    hold.signaled = ring->written.word != NULL && ring->written.signaled > ring->head;
    for (uint32_t i = 0; i < ring->max_consumers; i++)
        hold.signaled |= ring->sides[i].used && ring->sides[i].ready.signaled > ring->head;
    return hold;
}

/* An earlier try may have got so far. */
static culv_result signal_once(culvi_ipc_ring *ring, culvi_ipc_line *line, CUstream stream,
                               uint64_t value)
{
    if (line->signaled >= value) return CULV_OK;
    culv_result result = culvi_ipc_line_use(ring->server->device, line, ring->name, stream, value,
                                            CULVI_IPC_SIGNALS);
    if (result == CULV_OK) line->signaled = value;
    return result;
}

static culv_result release(void *side, const CUstream *stream, culv_ring_frame *frame,
                           const char *call)
{
    (void)call;
    culvi_ipc_ring *ring = side;
    const uint64_t value = ring->head + 1;
    culv_result result = CULV_OK;
    culvi_ipc_ring_look(ring);
    for (uint32_t i = 0; stream != NULL && result == CULV_OK && i < ring->max_consumers; i++)
        if (ring->sides[i].used && ring->sides[i].counts)
            result = signal_once(ring, &ring->sides[i].ready, *stream, value);
    if (stream != NULL && result == CULV_OK && ring->written.word != NULL)
        result = signal_once(ring, &ring->written, *stream, value);
    if (result == CULV_OK) publish(ring, frame);
    return result;
}

/* The slot's old frame is gone, so the slot is simply free. */
static void take_back(culvi_ring_apart *side)
{
    ((culvi_ipc_ring *)side)->held = false;
}

/* Whether a GPU has to do with a frame that was released: this process's or a reader's. */
static bool is_busy(const culvi_ipc_ring *ring)
{
    if (ring->written.word != NULL && atomic_load(ring->written.word) < ring->written.signaled)
        return true;
    for (uint32_t i = 0; i < ring->max_consumers; i++) {
        const culvi_ipc_side *s = &ring->sides[i];
        for (uint32_t slot = 0; s->used && s->counts && slot < ring->slots; slot++) {
            const uint64_t frame = atomic_load(&culvi_ipc_ring_page_of(ring)->frames[slot]);
            if (frame == 0) continue;
            if (keeps(ring, s, slot, frame - 1) >= CULV_IPC_LAG_GPU) return true;
            if (!written(ring, s, frame - 1) && frame > s->joined) return true;
        }
    }
    return false;
}

static culv_result drain(culvi_ring_apart *side, uint64_t timeout, const char *call)
{
    culvi_ipc_ring *ring = (culvi_ipc_ring *)side;
    uint64_t began = 0;
    const uint64_t until = culvi_ipc_until(timeout);
    for (;;) {
        CULVI_TRY(culv_ipc_server_poll(ring->server, 0, NULL));
        culvi_ipc_ring_look(ring);
        if (!is_busy(ring)) return CULV_OK;
        const uint64_t now = culvi_now();
        if (now >= until)
            return culvi_fail(
                culvi_ipc_ring_voice(ring), ring->name, CULV_ERROR_TIMEOUT, CULV_REASON_RING_LATE,
                "%s: a GPU is not done with a frame that was released; culv_ipc_ring_consumers() says whose",
                call);
        CULVI_TRY(culv_ipc_server_poll(ring->server, culvi_ipc_soon(&began, until) - now, NULL));
    }
}

static void stats(const culvi_ring_apart *side, culv_ring_stats *out)
{
    out->produced = out->ready_signaled = ((const culvi_ipc_ring *)side)->head;
}

const culvi_ring_apart_api culvi_ipc_ring_api = {
    .ring = CULVI_RING_APART_CALLS("culv_ipc_ring_create"),
    .side = CULV_RING_PRODUCER,
    .check = culvi_ipc_ring_check_runs,
    .refuses = refuses,
    .hold = hold,
    .acquire = acquire,
    .release = release,
    .take_back = take_back,
    .drain = drain,
    .stats = stats,
    .end = culvi_ipc_ring_end,
};
