/* SPDX-License-Identifier: MIT */
/* A consumer's side of a ring in another process. */
#include "ipc/ipc_client.h"
#include "ipc/ipc_line.h"

#include "ring/ring.h"

/* ns. A wait ends so often, so that a side that is stopped lets go. */
#define WAIT_SLICE UINT64_C(250000000)

struct culvi_ipc_consumer {
    culvi_ring_apart side;
    culv_ipc_client *client;
    culv_device *device; /* or NULL */
    char name[CULV_IPC_NAME_SIZE];
    culv_ring_policy policy;
    uint32_t slots, parts;
    uint32_t sequence;      /* of the JOIN; 0: none was sent, or the server said no */
    culvi_ipc_leave *leave; /* takes it back */
    culvi_ipc_consumer *next_of_client;
    culvi_ipc_pages *ring, *mine;
    culvi_ipc_line ready, done;
    culvi_ipc_watch watch; /* of `done`, where nothing else tells how far it is */
    culv_result (*reached)(void *context, uint64_t *value); /* or this does */
    void *context;
    culv_handle made[2]; /* ready and done, where the producer made them */
    bool dead;           /* the producer is gone, and what was to be moved on was */
    bool listed;         /* the client knows it */
    bool counts;         /* the producer has seen that it lives, and `next` is known */
    bool held;
    uint64_t frame;  /* that is held, or MAILBOX: was held last, and 1; 0: none */
    uint64_t before; /* `frame` as it was before that one was acquired */
    uint32_t slot;
    uint64_t next;     /* FIFO: the frame that comes next; MAILBOX: the first one that counts */
    uint64_t releases; /* the last value of done */
};

static const culvi_ipc_ring_page *ring_page(const culvi_ipc_consumer *c)
{
    return c->ring->map;
}

static culvi_ipc_consumer_page *my_page(const culvi_ipc_consumer *c)
{
    return c->mine->map;
}

/* Whether this side's page is still its own: when its connection is over, a producer that runs on
 * gives the page to the next consumer of this process. */
static bool page_is_mine(const culvi_ipc_consumer *c)
{
    return c->client->channel != CULVI_IPC_NO_CHANNEL ||
           atomic_load(&ring_page(c)->state) == CULVI_IPC_STOPPED;
}

/* The producer looks at the pages. A full socket wakes it as well. */
static void wake(const culvi_ipc_consumer *c)
{
    static const culvi_ipc_message m = {.type = CULVI_IPC_WAKE};
    if (c->client->channel != CULVI_IPC_NO_CHANNEL)
        (void)culvi_ipc_send(c->client->channel, &m, NULL);
}

static void wake_who_waits(const culvi_ipc_consumer *c)
{
    if (atomic_load(&ring_page(c)->producer_waits) != 0) wake(c);
}

/* Whether the GPU still has to do with frames that were given back. */
static bool busy(const culvi_ipc_consumer *c)
{
    return atomic_load(&my_page(c)->done) < c->releases;
}

/* Tells the producer how far `done` is, where no stream does. */
static void report(culvi_ipc_consumer *c)
{
    uint64_t value = 0;
    if (c->reached == NULL || !busy(c) || c->reached(c->context, &value) != CULV_OK) return;
    if (value == UINT64_MAX || value <= atomic_load(&my_page(c)->done))
        return; /* a removed device's */
    atomic_store(&my_page(c)->done, value);
    wake_who_waits(c);
}

static const culvi_ring_apart_api consumer_api;

/* Joining -------------------------------------------------------------------------------------- */

static culv_result refuse_answer(const culvi_ipc_consumer *c, const char *what)
{
    return culvi_fail(culvi_ipc_voice(c->device), c->name, CULV_ERROR_ASYNC,
                      CULV_REASON_IPC_PROTOCOL, "what the server says of the ring '%s': %s",
                      c->name, what);
}

static culv_result open_pages(culvi_ipc_consumer *c, const culvi_ipc_native *fds, bool counters)
{
    const bool streams = c->device != NULL && culvi_ipc_can_count(c->device);
    CULVI_TRY(culvi_ipc_pages_open(c->device, fds[0], false, false, c->name, &c->ring));
    CULVI_TRY(culvi_ipc_pages_open(c->device, fds[1], true, streams, c->name, &c->mine));
    const culvi_ipc_ring_page *page = ring_page(c);
    if (page->magic != CULVI_IPC_PAGE_MAGIC || page->slots != c->slots)
        return refuse_answer(c, "its page is of another kind");
    c->watch.to.word = &my_page(c)->done;
    c->watch.to.at = c->mine->at + offsetof(culvi_ipc_consumer_page, done);
    if (!counters) return CULV_OK;
    c->ready.word = &my_page(c)->ready;
    c->done.word = &my_page(c)->done;
    c->ready.at = c->mine->at + offsetof(culvi_ipc_consumer_page, ready);
    c->done.at = c->mine->at + offsetof(culvi_ipc_consumer_page, done);
    return CULV_OK;
}

static culv_result import_lines(culvi_ipc_consumer *c, const culv_handle *ready,
                                const culv_handle *done, const culv_uuid *exporter)
{
    CULVI_TRY(culvi_ipc_line_import(c->device, ready, exporter, c->name, &c->ready));
    return culvi_ipc_line_import(c->device, done, exporter, c->name, &c->done);
}

/* Own timelines, or those that the producer made, or counters. */
static culv_result take_answer(culvi_ipc_consumer *c, const culvi_ipc_message *m,
                               const culvi_ipc_native *fds, const culv_ipc_timelines *own)
{
    const bool counters = m->join.timelines == 0;
    if (m->join.page_size != CULVI_IPC_PAGE) return refuse_answer(c, "its pages have another size");
    if ((own != NULL) != (m->join.timelines == 1))
        return refuse_answer(c, "its timelines are not those that were given");
    c->slots = m->join.depth;
    c->parts = m->join.parts;
    CULVI_REFUSE_IF(
        own == NULL && c->device == NULL, NULL, c->name, CULV_REASON_VALUE,
        "culv_ipc_ring_join: without timelines of yours the ring needs CUDA, and the client was connected without a device");
    CULVI_UNSUPPORTED_IF(
        (own == NULL || own->reached == NULL) && !culvi_ipc_can_count(c->device), &c->device->voice,
        c->name, CULV_REASON_DRIVER_TOO_OLD,
        "culv_ipc_ring_join: the driver has no stream memory operations, and nothing else tells how far the GPU is (culv_ipc_timelines.reached)");
    culv_result result = open_pages(c, fds, counters);
    if (result != CULV_OK || counters) return result;
    if (own != NULL) {
        c->ready.signal = own->signal;
        c->ready.context = own->context;
        c->reached = own->reached;
        c->context = own->context;
        return c->device != NULL ? import_lines(c, &own->ready, &own->done, &c->device->caps.uuid)
                                 : CULV_OK;
    }
    const culv_handle_type type = culvi_ipc_join_type(&m->join);
    const culv_handle ready = culvi_ipc_handle(type, fds[2]), done = culvi_ipc_handle(type, fds[3]);
    result = import_lines(c, &ready, &done, &c->client->server_device);
    if (result == CULV_OK) result = culv_handle_dup(&ready, &c->made[0]);
    if (result == CULV_OK) result = culv_handle_dup(&done, &c->made[1]);
    return result;
}

static culv_result read_own(const culvi_ipc_consumer *c, const culv_ipc_timelines *given,
                            culv_ipc_timelines *out)
{
    const culvi_voice *voice = culvi_ipc_voice(c->device);
    CULVI_TRY(culvi_desc_read(voice, out, sizeof *out, given, "culv_ipc_timelines"));
    CULVI_TRY(culvi_ipc_timelines_check(voice, c->name, "culv_ipc_consumer_desc.timelines", out));
    CULVI_REFUSE_IF(
        out->signal == NULL && c->device == NULL, voice, c->name, CULV_REASON_VALUE,
        "culv_ipc_timelines.signal is NULL, and the client has no device that could signal in place of a producer that has ended");
    CULVI_REFUSE_IF(
        out->reached == NULL && c->device == NULL, voice, c->name, CULV_REASON_VALUE,
        "culv_ipc_timelines.reached is NULL, and the client has no device that could tell how far `done` is; let it read the counter of `done` (in Vulkan vkGetSemaphoreCounterValue)");
    return CULV_OK;
}

void culvi_ipc_consumer_over(culvi_ipc_consumer *consumer)
{
    culvi_ipc_consumer **at = &consumer->client->consumers;
    while (*at != consumer)
        at = &(*at)->next_of_client;
    *at = consumer->next_of_client;
    consumer->listed = false;
    report(consumer);
    if (page_is_mine(consumer)) atomic_store(&my_page(consumer)->state, (uint32_t)CULVI_IPC_LEFT);
    /* What this side's own streams and queues still wait for goes on. Frames that were given back
     * and are done waited for nothing more. */
    if (!consumer->dead && (busy(consumer) || (consumer->held && consumer->ready.used) ||
                            consumer->ready.word != NULL))
        culvi_ipc_line_move_on(consumer->device, &consumer->ready, consumer->name,
                               "this side has left");
    consumer->dead = true;
}

static void end(culvi_ring_apart *side)
{
    culvi_ipc_consumer *c = (culvi_ipc_consumer *)side;
    culv_device *device = c->device;
    if (c->listed) culvi_ipc_consumer_over(c);
    c->leave->sequence = c->sequence;
    if (c->sequence != 0)
        culvi_ipc_take_back(c->client, c->leave);
    else
        culvi_free(c->leave);
    if (device != NULL) culvi_ipc_watch_close(device, &c->watch, &c->done, c->name);
    culvi_ipc_line_close(&c->ready);
    culvi_ipc_line_close(&c->done);
    culvi_ring_destroy_core(&c->side.core);
    for (int i = 0; i < 2; i++)
        if (c->made[i].type != CULV_HANDLE_NONE) culvi_handle_close(&c->made[i]);
    culvi_ipc_pages_leave(&c->mine, NULL);
    culvi_ipc_pages_leave(&c->ring, NULL);
    culvi_ipc_client_unref(c->client);
    culvi_free(c);
    if (device != NULL) culvi_device_unref(device);
}

culv_result culv_ipc_ring_join(culv_ipc_client *client, const culv_ipc_consumer_desc *desc,
                               uint64_t timeout, culv_ring **out)
{
    culv_ipc_timelines own, made = culv_ipc_timelines_init();
    culvi_ipc_message question = {.type = CULVI_IPC_JOIN}, reply;
    culvi_ipc_native fds[CULVI_IPC_FDS], mine[2] = {CULVI_IPC_NO_NATIVE, CULVI_IPC_NO_NATIVE};
    CULVI_REQUIRE_WITH2(client, culvi_ipc_voice(client->device), desc, out);
    const culvi_voice *voice = culvi_ipc_voice(client->device);
    CULVI_READ(voice, culv_ipc_consumer_desc, d, desc);
    if (d.made != NULL) CULVI_TRY(culvi_struct_check(voice, d.made, "culv_ipc_timelines"));
    CULVI_REQUIRE(voice, desc->ring);
    CULVI_REFUSE_IF(d.policy != CULV_RING_FIFO && d.policy != CULV_RING_MAILBOX, voice,
                    client->label, CULV_REASON_VALUE,
                    "culv_ipc_consumer_desc.policy is %d, which is no policy", (int)d.policy);
    culvi_ipc_consumer *c = culvi_alloc(sizeof *c);
    culvi_ipc_leave *leave = culvi_alloc(sizeof *leave);
    if (c == NULL || leave == NULL) {
        culvi_free(c);
        culvi_free(leave);
        return culvi_fail_host_memory(voice, client->label);
    }
    c->leave = leave;
    c->client = culvi_ipc_client_ref(client);
    c->device = client->device;
    c->policy = d.policy;
    if (c->device != NULL) culvi_device_ref(c->device);
    question.join.policy = (uint32_t)d.policy;
    culv_result result = culvi_ipc_read_name(voice, __func__, ": ", d.ring, question.name);
    memcpy(c->name, question.name, sizeof c->name);
    if (result == CULV_OK && d.timelines != NULL) {
        result = read_own(c, d.timelines, &own);
        question.join.timelines = 1;
        question.join.handle_type = (uint32_t)own.ready.type;
        question.fds = 2;
        mine[0] = culvi_ipc_native_of(&own.ready);
        mine[1] = culvi_ipc_native_of(&own.done);
    }
    if (result == CULV_OK) {
        reply.type = CULVI_IPC_JOIN;
        result =
            culvi_ipc_ask(client, __func__, &question, mine, culvi_ipc_until(timeout), &reply, fds);
        /* An answer that is late, or cannot be taken, has made a consumer all the same. */
        if (result == CULV_OK || reply.type != CULVI_IPC_ERROR) c->sequence = question.sequence;
        if (result == CULV_OK) {
            result = take_answer(c, &reply, fds, d.timelines != NULL ? &own : NULL);
            culvi_ipc_close_fds(fds, reply.fds);
        }
    }
    if (result == CULV_OK)
        result = culvi_ring_create_apart(c->device, c->slots, c->name, &consumer_api, &c->side);
    CULVI_TRY_OR(result, end(&c->side));
    c->next_of_client = client->consumers;
    client->consumers = c;
    c->listed = true;
    atomic_store(&my_page(c)->state, (uint32_t)CULVI_IPC_LIVES);
    wake(c);
    made.ready = c->made[0];
    made.done = c->made[1];
    if (d.made != NULL) culvi_struct_write(d.made, &made, sizeof made);
    *out = c->side.core;
    return CULV_OK;
}

culv_result culv_ipc_ring_receive(culv_ring *ring, uint32_t slot, uint32_t part, uint64_t timeout,
                                  culv_ipc_object **out)
{
    char name[CULV_IPC_NAME_SIZE];
    const culvi_ipc_consumer *consumer = culvi_ring_of_api(ring, &consumer_api.ring, __func__);
    if (consumer == NULL) return CULV_ERROR_INVALID;
    CULVI_TRY(culvi_ipc_part_name(culvi_ipc_voice(consumer->device), __func__, consumer->name,
                                  consumer->slots, consumer->parts, slot, part, name));
    return culv_ipc_client_receive(consumer->client, name, timeout, out);
}

/* Frames --------------------------------------------------------------------------------------- */

/* Whether the producer is there. When it no longer is, the GPU goes on. */
static bool look(culvi_ipc_consumer *c)
{
    report(c);
    if (!c->dead && !culvi_ipc_look(c->client)) {
        c->dead = true;
        culvi_ipc_line_move_on(c->device, &c->ready, c->name, "the other side has ended");
    }
    return !c->dead && atomic_load(&ring_page(c)->state) == CULVI_IPC_RUNS &&
           atomic_load(&my_page(c)->dropped) == 0;
}

culv_bool culv_ipc_ring_connected(culv_ring *ring)
{
    culvi_ipc_consumer *consumer = culvi_ring_of_api(ring, &consumer_api.ring, NULL);
    return consumer != NULL && look(consumer);
}

/* The producer says from which frame on this side counts. */
static bool counts(culvi_ipc_consumer *c)
{
    if (c->counts) return true;
    const uint64_t first = atomic_load(&my_page(c)->first);
    if (first == 0) return false;
    c->next = first - 1;
    c->counts = true;
    return true;
}

static bool find(const culvi_ipc_consumer *c, uint64_t frame, uint32_t *slot)
{
    for (uint32_t i = 0; i < c->slots; i++) {
        if (atomic_load(&ring_page(c)->frames[i]) != frame + 1) continue;
        *slot = i;
        return true;
    }
    return false;
}

static void let_slot_go(culvi_ipc_consumer *c)
{
    atomic_store(&my_page(c)->hold, 0);
    wake_who_waits(c);
}

/* This side uses one slot at a time, so that the producer needs one more for it and not more than
 * that: another frame than the last one has to wait until the GPU is done with that. */
static bool take_newest(culvi_ipc_consumer *c, uint64_t *frame, uint32_t *slot)
{
    /* The producer may take the frame away between the look and the word; then there is a newer
     * one. One whose `head` rises without end has none: the caller looks at the time. */
    for (int round = 0; round < 64; round++) {
        const uint64_t head = atomic_load(&ring_page(c)->head);
        /* `head` never runs backwards. */
        if (head <= c->next || head < c->frame || (head != c->frame && busy(c))) return false;
        *frame = head - 1;
        atomic_store(&my_page(c)->hold, head);
        if (find(c, *frame, slot)) return true;
        let_slot_go(c);
        if (atomic_load(&ring_page(c)->head) == head) return false;
    }
    return false;
}

static culv_result stopped(const culvi_ipc_consumer *c)
{
    const bool dropped = atomic_load(&my_page(c)->dropped) != 0;
    return culvi_fail(
        culvi_ipc_voice(c->device), c->name, CULV_ERROR_ASYNC,
        dropped ? CULV_REASON_IPC_DROPPED : CULV_REASON_RING_STOPPED,
        "the producer (process %d) %s; culv_ring_destroy() this side", (int)c->client->server_pid,
        dropped
            ? "has dropped this side (it was late for longer than the producer allows, was turned away, or broke the protocol) and runs on"
            : "has ended, or has closed the ring");
}

static culv_result late(const culvi_ipc_consumer *c, uint64_t head)
{
    if (c->policy == CULV_RING_MAILBOX && c->counts && head > c->next && busy(c))
        return culvi_fail(
            culvi_ipc_voice(c->device), c->name, CULV_ERROR_TIMEOUT, CULV_REASON_RING_LATE,
            "frame %" PRIu64 " is there, but this side's GPU has not reached value %" PRIu64
            " of `done` in time, and a side of the newest frame has one at a time",
            head - 1, c->releases);
    return culvi_fail(
        culvi_ipc_voice(c->device), c->name, CULV_ERROR_TIMEOUT, CULV_REASON_RING_EMPTY,
        "the producer (process %d) has released no frame in time", (int)c->client->server_pid);
}

/* Whether a frame can be read although nobody is at the other end of the socket: its ring was
 * closed in order, this side was not dropped, and the producer's GPU had written it. `ready` is
 * moved on only as far as this side has waited, so a counter that is further was written by the
 * producer. */
static bool was_left(const culvi_ipc_consumer *c, uint64_t frame)
{
    return c->ready.word != NULL && atomic_load(&my_page(c)->dropped) == 0 &&
           atomic_load(&ring_page(c)->state) == CULVI_IPC_STOPPED &&
           atomic_load(c->ready.word) > frame;
}

/* The next frame for this side's policy. The newest one comes again and again while the ring runs,
 * and once when it was closed. */
static bool take(culvi_ipc_consumer *c, bool runs, uint64_t head, uint64_t *frame, uint32_t *slot)
{
    const bool every = c->policy == CULV_RING_FIFO;
    if (!runs && !every && head == c->frame) return false;
    if (every) *frame = c->next;
    if (!(every ? head > c->next && find(c, *frame, slot) : take_newest(c, frame, slot)))
        return false;
    if (!c->dead || was_left(c, *frame)) return true;
    if (!every) let_slot_go(c);
    return false;
}

/* Counters, which are in memory, need a stream, and a stream needs a device. */
static const char *refuses(const culvi_ring_apart *side, bool has_stream)
{
    const culvi_ipc_consumer *c = (const culvi_ipc_consumer *)side;
    if (has_stream ? c->device != NULL : c->ready.word == NULL) return NULL;
    return has_stream
               ? "the client was connected without a device; call culv_ring_acquire() and culv_ring_release()"
               : "the ring's timelines are counters, so this side needs a stream; its calls are culv_ring_acquire_on() and culv_ring_release_on()";
}

static culv_result acquire_frame(culvi_ipc_consumer *c, uint64_t timeout, culv_ring_frame *out,
                                 const char *call)
{
    const uint64_t until = culvi_ipc_until(timeout);
    uint64_t frame = 0, began = 0;
    uint32_t slot = 0;
    bool last = false; /* the time is over, whatever still comes */
    for (;;) {
        const bool there = look(c);
        const bool begun = counts(c);
        const uint64_t head = atomic_load(&ring_page(c)->head);
        /* When a ring was closed, its last frames can still be read. */
        if (begun && take(c, there, head, &frame, &slot)) break;
        if (c->dead) return stopped(c);
        if (begun && c->policy == CULV_RING_FIFO && head > c->next)
            return culvi_fail(
                culvi_ipc_voice(c->device), c->name, CULV_ERROR_ASYNC, CULV_REASON_IPC_PROTOCOL,
                "the producer has overwritten frame %" PRIu64 ", which this side has not read",
                c->next);
        if (!there) return stopped(c);
        const bool asked = atomic_exchange(&my_page(c)->waits, 1) != 0;
        if (!asked) continue; /* once more: a frame may have come before the word */
        /* No message says how far the own GPU is. */
        const bool own =
            busy(c) && (c->reached != NULL || (c->policy == CULV_RING_MAILBOX && head > c->next));
        const uint64_t slice = culvi_ipc_until(WAIT_SLICE);
        const uint64_t again = until < slice ? until : slice;
        const int ready =
            culvi_ipc_wait(c->client->channel, own ? culvi_ipc_soon(&began, again) : again);
        if (culvi_ring_is_ended(c->side.core)) {
            atomic_store(&my_page(c)->waits, 0);
            return culvi_ring_check_runs(c->side.core, call);
        }
        const bool over = culvi_now() >= until;
        if (!last && (ready > 0 || ((ready == 0 || own) && !over))) {
            last = over;
            continue;
        }
        atomic_store(&my_page(c)->waits, 0);
        return late(c, head);
    }
    atomic_store(&my_page(c)->waits, 0);
    *out = (culv_ring_frame){.number = frame,
                             .wait_value = frame + 1,
                             .slot = slot,
                             .repeated = c->frame == frame + 1,
                             .burst_begins = 1,
                             .burst_ends = 1};
    if (c->policy == CULV_RING_MAILBOX && !out->repeated)
        out->skipped = frame - (c->frame != 0 ? c->frame : frame);
    if (c->ready.waited < frame + 1) c->ready.waited = frame + 1;
    c->before = c->frame;
    c->frame = frame + 1;
    c->slot = slot;
    c->held = true;
    return CULV_OK;
}

/* The value first: who sees the slot free knows what its GPU has to reach. */
static void give_back(culvi_ipc_consumer *c, bool used)
{
    culvi_ipc_consumer_page *page = my_page(c);
    c->held = false;
    if (used) c->releases++;
    if (used && c->policy != CULV_RING_MAILBOX) c->next = c->frame;
    if (!page_is_mine(c)) return;
    if (used) atomic_store(&page->last[c->slot], c->releases);
    if (c->policy == CULV_RING_MAILBOX) {
        let_slot_go(c);
    } else if (used) {
        atomic_store(&page->next, c->next);
        wake_who_waits(c);
    }
}

static culvi_ring_hold hold(const culvi_ring_apart *side)
{
    const culvi_ipc_consumer *c = (const culvi_ipc_consumer *)side;
    return (culvi_ring_hold){.held = c->held,
                             .signaled = c->done.signaled > c->releases,
                             .slot = c->slot,
                             .number = c->frame - 1};
}

static void take_back(culvi_ring_apart *side)
{
    culvi_ipc_consumer *c = (culvi_ipc_consumer *)side;
    give_back(c, false);
    c->frame = c->before;
}

static culv_result acquire(void *side, const CUstream *stream, uint64_t timeout,
                           culv_ring_frame *out, const char *call)
{
    culvi_ipc_consumer *c = side;
    culv_ring_frame frame;
    culv_result result = acquire_frame(c, timeout, &frame, call);
    if (result != CULV_OK) return result;
    if (stream != NULL)
        result = culvi_ipc_line_use(c->device, &c->ready, c->name, *stream, frame.wait_value,
                                    CULVI_IPC_WAITS);
    if (result == CULV_OK)
        *out = frame;
    else
        take_back(side);
    return result;
}

/* Signals `done`, and the counter in the page where nothing else tells how far it is. */
static culv_result signal_done(culvi_ipc_consumer *c, CUstream stream, uint64_t value)
{
    culv_result result = CULV_OK;
    culvi_ipc_line *done = &c->done;
    const bool counts = done->word != NULL || c->reached == NULL; /* in its page */
    if (counts && !page_is_mine(c)) return CULV_OK; /* nobody waits for this side any more */
    if (done->signaled < value)                     /* else an earlier try got that far */
        result = culvi_ipc_line_use(c->device, done, c->name, stream, value, CULVI_IPC_SIGNALS);
    if (result != CULV_OK) return result;
    done->signaled = value;
    return done->word == NULL && c->reached == NULL
               ? culvi_ipc_line_use(c->device, &c->watch.to, c->name, stream, value,
                                    CULVI_IPC_SIGNALS)
               : CULV_OK;
}

static culv_result release(void *side, const CUstream *stream, culv_ring_frame *frame,
                           const char *call)
{
    (void)call;
    culvi_ipc_consumer *c = side;
    const uint64_t value = c->releases + 1;
    culv_result result = CULV_OK;
    if (stream != NULL)
        result = signal_done(c, *stream, value);
    else if (c->done.semaphore != NULL && c->reached == NULL)
        result = culvi_ipc_watch_for(c->device, &c->watch, &c->done, c->name, value);
    if (result != CULV_OK) return result;
    give_back(c, true);
    frame->signal_value = c->releases;
    return CULV_OK;
}

static culv_result drain(culvi_ring_apart *side, uint64_t timeout, const char *call)
{
    culvi_ipc_consumer *c = (culvi_ipc_consumer *)side;
    uint64_t began = 0;
    const uint64_t until = culvi_ipc_until(timeout);
    for (;;) {
        const bool there = look(c);
        if (!busy(c)) return CULV_OK;
        /* What was written before a ring was closed in order is read on. */
        if (!there && c->dead && !was_left(c, c->frame - 1)) return stopped(c);
        if (culvi_now() >= until)
            return culvi_fail(culvi_ipc_voice(c->device), c->name, CULV_ERROR_TIMEOUT,
                              CULV_REASON_RING_LATE,
                              "%s: this side's GPU has not reached value %" PRIu64 " of `done`",
                              call, c->releases);
        (void)culvi_ipc_wait(c->client->channel, culvi_ipc_soon(&began, until));
    }
}

static void stats(const culvi_ring_apart *side, culv_ring_stats *out)
{
    out->consumed = out->done_signaled = ((const culvi_ipc_consumer *)side)->releases;
}

static const culvi_ring_apart_api consumer_api = {
    .ring = CULVI_RING_APART_CALLS("culv_ipc_ring_join"),
    .side = CULV_RING_CONSUMER,
    .refuses = refuses,
    .hold = hold,
    .acquire = acquire,
    .release = release,
    .take_back = take_back,
    .drain = drain,
    .stats = stats,
    .end = end,
};
