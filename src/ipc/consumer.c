/* SPDX-License-Identifier: MIT */
/* culv_ipc_consumer: a consumer's side of a ring in another process. */
#include "ipc/ipc_client.h"
#include "ipc/ipc_line.h"

#include "base/alloc.h"
#include "base/desc.h"
#include "base/handle.h"
#include "base/platform.h"

#include <inttypes.h>
#include <string.h>

struct culv_ipc_consumer {
    culv_ipc_client *client;
    culv_device *device; /* or NULL */
    char name[CULV_IPC_NAME_SIZE];
    culv_ring_policy policy;
    uint32_t slots, parts;
    uint64_t number; /* the server's, to leave with */
    culvi_ipc_pages *ring, *mine;
    culvi_ipc_line ready, done;
    culv_handle made[2]; /* ready and done, where the producer made them */
    bool dead;           /* the producer is gone, and what was to be moved on was */
    bool held;
    uint64_t frame; /* that is held, or MAILBOX: was held last, and 1; 0: none */
    uint32_t slot;
    uint64_t next;     /* FIFO: the frame that comes next; MAILBOX: the first one that counts */
    uint64_t releases; /* the last value of done */
};

static const culvi_ipc_ring_page *ring_page(const culv_ipc_consumer *c)
{
    return c->ring->map;
}

static culvi_ipc_consumer_page *my_page(const culv_ipc_consumer *c)
{
    return c->mine->map;
}

/* Joining -------------------------------------------------------------------------------------- */

static culv_result refuse_answer(const culv_ipc_consumer *c, const char *what)
{
    return culvi_fail(culvi_ipc_voice(c->device), c->name, CULV_ERROR_ASYNC,
                      CULV_REASON_IPC_PROTOCOL, "what the server says of the ring '%s': %s",
                      c->name, what);
}

static culv_result open_pages(culv_ipc_consumer *c, const culvi_ipc_native *fds, bool counters)
{
    culv_result result = culvi_ipc_pages_open(c->device, fds[0], false, false, c->name, &c->ring);
    if (result == CULV_OK)
        result = culvi_ipc_pages_open(c->device, fds[1], true, counters, c->name, &c->mine);
    if (result != CULV_OK) return result;
    const culvi_ipc_ring_page *page = ring_page(c);
    if (page->magic != CULVI_IPC_PAGE_MAGIC || page->slots != c->slots)
        return refuse_answer(c, "its page is of another kind");
    c->next = atomic_load(&my_page(c)->next);
    if (!counters) return CULV_OK;
    c->ready.word = &my_page(c)->ready;
    c->done.word = &my_page(c)->done;
    c->ready.at = c->mine->at + offsetof(culvi_ipc_consumer_page, ready);
    c->done.at = c->mine->at + offsetof(culvi_ipc_consumer_page, done);
    return CULV_OK;
}

static culv_result import_lines(culv_ipc_consumer *c, const culv_handle *ready,
                                const culv_handle *done, const culv_uuid *exporter)
{
    culv_result result = culvi_ipc_line_import(c->device, ready, exporter, c->name, &c->ready);
    if (result == CULV_OK)
        result = culvi_ipc_line_import(c->device, done, exporter, c->name, &c->done);
    return result;
}

/* Own timelines, or those that the producer made, or counters. */
static culv_result take_answer(culv_ipc_consumer *c, const culvi_ipc_message *m,
                               const culvi_ipc_native *fds, const culv_ipc_timelines *own)
{
    const bool counters = m->join.timelines == 0;
    if (m->join.page_size != CULVI_IPC_PAGE) return refuse_answer(c, "its pages have another size");
    if ((own != NULL) != (m->join.timelines == 1))
        return refuse_answer(c, "its timelines are not those that were given");
    c->slots = m->join.depth;
    c->parts = m->join.parts;
    c->number = m->number;
    if (own == NULL && c->device == NULL)
        return culvi_fail(NULL, c->name, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "culv_ipc_consumer_join: without timelines of yours the ring needs CUDA, "
                          "and the client was connected without a device");
    if (counters && !culvi_ipc_can_count(c->device))
        return culvi_fail(&c->device->voice, c->name, CULV_ERROR_UNSUPPORTED,
                          CULV_REASON_DRIVER_TOO_OLD,
                          "culv_ipc_consumer_join: the driver has no stream memory operations");
    culv_result result = open_pages(c, fds, counters);
    if (result != CULV_OK || counters) return result;
    if (own != NULL) {
        c->ready.signal = own->signal;
        c->ready.context = own->context;
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

static culv_result read_own(const culv_ipc_consumer *c, const culv_ipc_timelines *given,
                            culv_ipc_timelines *out)
{
    const culvi_voice *voice = culvi_ipc_voice(c->device);
    culv_result result = culvi_desc_read(voice, out, sizeof *out, given, "culv_ipc_timelines");
    if (result != CULV_OK) return result;
    result = culvi_ipc_timelines_check(voice, c->name, "culv_ipc_consumer_desc.timelines", out);
    if (result != CULV_OK) return result;
    if (out->signal == NULL && c->device == NULL)
        return culvi_fail(voice, c->name, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "culv_ipc_timelines.signal is NULL, and the client has no device that "
                          "could signal in place of a producer that has ended");
    return CULV_OK;
}

culv_result culv_ipc_consumer_join(culv_ipc_client *client, const culv_ipc_consumer_desc *desc,
                                   uint64_t timeout, culv_ipc_consumer **out)
{
    culv_ipc_consumer_desc d;
    culv_ipc_timelines own;
    culvi_ipc_message question, reply;
    culvi_ipc_native fds[CULVI_IPC_FDS], mine[2] = {CULVI_IPC_NO_NATIVE, CULVI_IPC_NO_NATIVE};
    CULVI_REQUIRE(NULL, client);
    const culvi_voice *voice = culvi_ipc_voice(client->device);
    CULVI_REQUIRE2(voice, desc, out);
    culv_result result = culvi_desc_read(voice, &d, sizeof d, desc, "culv_ipc_consumer_desc");
    if (result != CULV_OK) return result;
    CULVI_REQUIRE(voice, desc->ring);
    if (d.policy != CULV_RING_FIFO && d.policy != CULV_RING_MAILBOX)
        return culvi_fail(voice, client->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "culv_ipc_consumer_desc.policy is %d, which is no policy", (int)d.policy);
    culv_ipc_consumer *c = culvi_alloc(sizeof *c);
    if (c == NULL) return culvi_fail_host_memory(voice, client->label);
    c->client = culvi_ipc_client_ref(client);
    c->device = client->device;
    c->policy = d.policy;
    if (c->device != NULL) culvi_device_ref(c->device);
    memset(&question, 0, sizeof question);
    question.type = CULVI_IPC_JOIN;
    question.join.policy = (uint32_t)d.policy;
    result = culvi_ipc_read_name(voice, __func__, d.ring, question.name);
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
        result =
            culvi_ipc_ask(client, __func__, &question, mine, culvi_ipc_until(timeout), &reply, fds);
        if (result == CULV_OK) {
            c->number = reply.number;
            c->slots = reply.join.depth;
            result = take_answer(c, &reply, fds, d.timelines != NULL ? &own : NULL);
            culvi_ipc_close_fds(fds, reply.fds);
        }
    }
    if (result != CULV_OK) {
        culv_ipc_consumer_destroy(&c);
        return result;
    }
    *out = c;
    return CULV_OK;
}

void culv_ipc_consumer_destroy(culv_ipc_consumer **consumer)
{
    if (consumer == NULL || *consumer == NULL) return;
    culv_ipc_consumer *c = *consumer;
    culv_device *device = c->device;
    *consumer = NULL;
    if (c->client->channel != CULVI_IPC_NO_CHANNEL && c->slots != 0) {
        culvi_ipc_message leave;
        memset(&leave, 0, sizeof leave);
        leave.type = CULVI_IPC_LEAVE;
        leave.number = c->number;
        (void)culvi_ipc_send(c->client->channel, &leave, NULL);
    }
    culvi_ipc_line_close(&c->ready);
    culvi_ipc_line_close(&c->done);
    for (int i = 0; i < 2; i++)
        if (c->made[i].type != CULV_HANDLE_NONE) culvi_handle_close(&c->made[i]);
    culvi_ipc_pages_close(&c->mine);
    culvi_ipc_pages_close(&c->ring);
    culvi_ipc_client_unref(c->client);
    culvi_free(c);
    if (device != NULL) culvi_device_unref(device);
}

uint32_t culv_ipc_consumer_slots(const culv_ipc_consumer *consumer, uint32_t *parts)
{
    if (consumer == NULL) return 0;
    if (parts != NULL) *parts = consumer->parts;
    return consumer->slots;
}

culv_result culv_ipc_consumer_get_timelines(const culv_ipc_consumer *consumer,
                                            culv_ipc_timelines *out)
{
    culv_ipc_timelines t = culv_ipc_timelines_init();
    CULVI_REQUIRE(NULL, consumer);
    const culvi_voice *voice = culvi_ipc_voice(consumer->device);
    CULVI_REQUIRE(voice, out);
    culv_result result = culvi_struct_check(voice, out, "culv_ipc_timelines");
    if (result != CULV_OK) return result;
    if (consumer->made[1].type == CULV_HANDLE_NONE)
        return culvi_fail(voice, consumer->name, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "culv_ipc_consumer_get_timelines: the ring's timelines are %s",
                          consumer->ready.word != NULL
                              ? "counters; use the calls with a stream"
                              : "those that this side gave to culv_ipc_consumer_join()");
    t.ready = consumer->made[0];
    t.done = consumer->made[1];
    culvi_struct_write(out, &t, sizeof t);
    return CULV_OK;
}

culv_result culv_ipc_consumer_receive(culv_ipc_consumer *consumer, uint32_t slot, uint32_t part,
                                      uint64_t timeout, culv_ipc_object **out)
{
    char name[CULV_IPC_NAME_SIZE] = "";
    CULVI_REQUIRE(NULL, consumer);
    if (slot >= consumer->slots || part >= consumer->parts)
        return culvi_fail(culvi_ipc_voice(consumer->device), consumer->name, CULV_ERROR_INVALID,
                          CULV_REASON_RANGE,
                          "culv_ipc_consumer_receive: there is no part %" PRIu32 " of slot %" PRIu32
                          "; the ring has %" PRIu32 " slots of %" PRIu32 " parts",
                          part, slot, consumer->slots, consumer->parts);
    culvi_text t = {name, sizeof name, 0};
    culvi_text_add(&t, "%s.%" PRIu32 ".%" PRIu32, consumer->name, slot, part);
    return culv_ipc_client_receive(consumer->client, name, timeout, out);
}

/* Frames --------------------------------------------------------------------------------------- */

/* Whether the producer is there. When it no longer is, the GPU goes on. */
static bool look(culv_ipc_consumer *c)
{
    if (!c->dead && !culvi_ipc_look(c->client)) {
        c->dead = true;
        culvi_ipc_line_move_on(c->device, &c->ready, c->name);
    }
    return !c->dead && atomic_load(&ring_page(c)->state) == CULVI_IPC_RUNS;
}

culv_bool culv_ipc_consumer_connected(culv_ipc_consumer *consumer)
{
    return consumer != NULL && look(consumer);
}

static bool find(const culv_ipc_consumer *c, uint64_t frame, uint32_t *slot)
{
    for (uint32_t i = 0; i < c->slots; i++) {
        if (atomic_load(&ring_page(c)->frames[i]) != frame + 1) continue;
        *slot = i;
        return true;
    }
    return false;
}

/* False: there is none yet. */
static bool take_next(culv_ipc_consumer *c, uint64_t head, uint64_t *frame, uint32_t *slot)
{
    if (head <= c->next) return false;
    *frame = c->next;
    return find(c, *frame, slot);
}

static bool take_newest(culv_ipc_consumer *c, uint64_t *frame, uint32_t *slot)
{
    /* The producer may take the frame away between the look and the word; then there is a newer
     * one. */
    for (;;) {
        const uint64_t head = atomic_load(&ring_page(c)->head);
        if (head <= c->next) return false;
        *frame = head - 1;
        atomic_store(&my_page(c)->hold, head);
        if (find(c, *frame, slot)) return true;
        atomic_store(&my_page(c)->hold, 0);
        if (atomic_load(&ring_page(c)->head) == head) return false;
    }
}

static culv_result stopped(const culv_ipc_consumer *c)
{
    return culvi_fail(culvi_ipc_voice(c->device), c->name, CULV_ERROR_ASYNC,
                      CULV_REASON_RING_STOPPED,
                      "the producer (process %d) has ended, or has closed the ring; "
                      "culv_ipc_consumer_destroy() this side",
                      (int)c->client->server_pid);
}

static culv_result acquire(culv_ipc_consumer *c, uint64_t timeout, culv_ipc_frame *out)
{
    const uint64_t until = culvi_ipc_until(timeout);
    uint64_t frame = 0;
    uint32_t slot = 0;
    if (c->held)
        return culvi_fail(culvi_ipc_voice(c->device), c->name, CULV_ERROR_INVALID,
                          CULV_REASON_RING_ORDER,
                          "frame %" PRIu64 " is held already; release it first", c->frame - 1);
    for (;;) {
        const bool there = look(c);
        const uint64_t head = atomic_load(&ring_page(c)->head);
        /* Of a ring that was closed the last frames can still be read. */
        if (c->dead) return stopped(c);
        if (c->policy == CULV_RING_FIFO ? take_next(c, head, &frame, &slot)
                                        : take_newest(c, &frame, &slot))
            break;
        if (c->policy == CULV_RING_FIFO && head > c->next)
            return culvi_fail(
                culvi_ipc_voice(c->device), c->name, CULV_ERROR_ASYNC, CULV_REASON_IPC_PROTOCOL,
                "the producer has overwritten frame %" PRIu64 ", which this side has not read",
                c->next);
        if (!there) return stopped(c);
        const bool asked = atomic_exchange(&my_page(c)->waits, 1) != 0;
        if (!asked) continue; /* once more: a frame may have come before the word */
        const int cancel = culvi_cancel_disable();
        const int ready = culvi_ipc_wait(c->client->channel, until);
        culvi_cancel_restore(cancel);
        if (ready > 0) continue;
        atomic_store(&my_page(c)->waits, 0);
        return culvi_fail(
            culvi_ipc_voice(c->device), c->name, CULV_ERROR_TIMEOUT, CULV_REASON_RING_EMPTY,
            "the producer (process %d) has released no frame in time", (int)c->client->server_pid);
    }
    atomic_store(&my_page(c)->waits, 0);
    memset(out, 0, sizeof *out);
    out->number = frame;
    out->slot = slot;
    out->repeated = c->frame == frame + 1;
    if (c->policy == CULV_RING_MAILBOX && !out->repeated)
        out->skipped = frame - (c->frame != 0 ? c->frame : frame);
    out->num_waits = 1;
    out->waits[0].value = frame + 1;
    if (c->ready.waited < frame + 1) c->ready.waited = frame + 1;
    c->frame = frame + 1;
    c->slot = slot;
    c->held = true;
    return CULV_OK;
}

static culv_result check_held(const culv_ipc_consumer *c)
{
    if (c->held) return CULV_OK;
    return culvi_fail(culvi_ipc_voice(c->device), c->name, CULV_ERROR_INVALID,
                      CULV_REASON_RING_ORDER,
                      "no frame is held; culv_ipc_consumer_acquire() gets one");
}

/* The value first: who sees the slot free knows what to wait for. */
static void give_back(culv_ipc_consumer *c, bool used)
{
    static const culvi_ipc_message wake = {.type = CULVI_IPC_WAKE};
    culvi_ipc_consumer_page *page = my_page(c);
    if (used) atomic_store(&page->last[c->slot], c->releases);
    if (c->policy == CULV_RING_FIFO) {
        if (used) c->next = c->frame;
        atomic_store(&page->next, c->next);
    } else {
        atomic_store(&page->hold, 0);
    }
    c->held = false;
    if (used && c->client->channel != CULVI_IPC_NO_CHANNEL &&
        atomic_load(&ring_page(c)->producer_waits) != 0)
        (void)culvi_ipc_send(c->client->channel, &wake, NULL); /* a full socket wakes it as well */
}

culv_result culv_ipc_consumer_acquire(culv_ipc_consumer *consumer, uint64_t timeout,
                                      culv_ipc_frame *frame)
{
    CULVI_REQUIRE(NULL, consumer);
    CULVI_REQUIRE(culvi_ipc_voice(consumer->device), frame);
    return acquire(consumer, timeout, frame);
}

culv_result culv_ipc_consumer_release(culv_ipc_consumer *consumer, culv_ipc_frame *frame)
{
    CULVI_REQUIRE(NULL, consumer);
    CULVI_REQUIRE(culvi_ipc_voice(consumer->device), frame);
    culv_result result = check_held(consumer);
    if (result != CULV_OK) return result;
    frame->num_signals = 1;
    frame->signals[0] = (culv_ipc_point){.value = ++consumer->releases};
    give_back(consumer, true);
    return CULV_OK;
}

static culv_result check_stream(const culv_ipc_consumer *c, const char *call)
{
    if (c->device != NULL) return CULV_OK;
    return culvi_fail(NULL, c->name, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                      "%s: the client was connected without a device; pass one to "
                      "culv_ipc_client_connect()",
                      call);
}

culv_result culv_ipc_consumer_acquire_on(culv_ipc_consumer *consumer, CUstream stream,
                                         uint64_t timeout, culv_ipc_frame *frame)
{
    culv_ipc_frame mine;
    CULVI_REQUIRE(NULL, consumer);
    CULVI_REQUIRE(culvi_ipc_voice(consumer->device), frame);
    const uint64_t before = consumer->frame;
    culv_result result = check_stream(consumer, __func__);
    if (result == CULV_OK) result = acquire(consumer, timeout, &mine);
    if (result != CULV_OK) return result;
    result = culvi_ipc_line_wait(consumer->device, &consumer->ready, consumer->name, stream,
                                 mine.waits[0].value);
    if (result != CULV_OK) {
        give_back(consumer, false);
        consumer->frame = before;
        return result;
    }
    *frame = mine;
    return CULV_OK;
}

culv_result culv_ipc_consumer_release_on(culv_ipc_consumer *consumer, CUstream stream,
                                         culv_ipc_frame *frame)
{
    CULVI_REQUIRE(NULL, consumer);
    CULVI_REQUIRE(culvi_ipc_voice(consumer->device), frame);
    culv_result result = check_stream(consumer, __func__);
    if (result == CULV_OK) result = check_held(consumer);
    if (result == CULV_OK)
        result = culvi_ipc_line_signal(consumer->device, &consumer->done, consumer->name, stream,
                                       consumer->releases + 1);
    if (result != CULV_OK) return result;
    frame->num_signals = 1;
    frame->signals[0] = (culv_ipc_point){.value = ++consumer->releases};
    give_back(consumer, true);
    return CULV_OK;
}
