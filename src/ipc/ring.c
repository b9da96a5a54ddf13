/* SPDX-License-Identifier: MIT */
/* culv_ipc_ring: the producer's side. It chooses slots that no consumer needs, and tells each
 * consumer by that one's own timeline. */
#include "ipc/ipc_line.h"
#include "ipc/ipc_ring_server.h"

#include "base/alloc.h"
#include "base/desc.h"
#include "base/handle.h"
#include "base/platform.h"

#include <inttypes.h>
#include <string.h>

enum { COUNTERS, CONSUMERS, PRODUCERS }; /* who has the timelines */
/* No honest consumer runs that far ahead of what was last seen of it. */
#define MOST_AHEAD (UINT64_C(1) << 31)

typedef struct side {
    bool used;
    uint32_t link;
    uint32_t timelines;
    culv_ring_policy policy;
    uint64_t joined; /* number of the first frame that it gets */
    culvi_ipc_pages *pages;
    culvi_ipc_line ready, done;
} side;

struct culv_ipc_ring {
    culv_ipc_server *server;
    culv_ipc_ring *next;
    char name[CULV_IPC_NAME_SIZE];
    uint32_t id; /* in the numbers of its consumers */
    uint32_t slots, parts, max_consumers;
    culv_ipc_ring_desc desc; /* its callbacks */
    culvi_ipc_native native; /* of the page, for those who join */
    culvi_ipc_pages *pages;
    uint64_t head;
    bool held;
    bool stopped; /* its server was destroyed; `server` is then what its own reference keeps */
    uint32_t slot;
    uint32_t left; /* consumers, since what they left was collected */
    side sides[CULV_IPC_MAX_CONSUMERS];
};

static culvi_ipc_ring_page *page_of(const culv_ipc_ring *ring)
{
    return ring->pages->map;
}

static culvi_ipc_consumer_page *their_page(const side *s)
{
    return s->pages->map;
}

static const culvi_voice *voice_of(const culv_ipc_ring *ring)
{
    return &ring->server->device->voice;
}

/* For what needs the server. */
static culv_result check_runs(const culv_ipc_ring *ring, const char *call)
{
    if (!ring->stopped) return CULV_OK;
    return culvi_fail(voice_of(ring), ring->name, CULV_ERROR_ASYNC, CULV_REASON_RING_STOPPED,
                      "%s: the ring's server was destroyed; culv_ipc_ring_destroy() the ring",
                      call);
}

/* Making --------------------------------------------------------------------------------------- */

static culv_result make_page(culv_ipc_ring *ring)
{
    if (!culvi_ipc_pages_make(CULVI_IPC_PAGE, "culvert ring", &ring->native))
        return culvi_fail_native(voice_of(ring), ring->name, CULV_ERROR_DRIVER, CULV_REASON_OS,
                                 CULV_NATIVE_OS, culvi_ipc_os_error(), culvi_ipc_pages_call,
                                 "the ring's page could not be made");
    culv_result result = culvi_ipc_pages_open(ring->server->device, ring->native, true, false,
                                              ring->name, &ring->pages);
    if (result != CULV_OK) return result;
    culvi_ipc_ring_page *page = page_of(ring);
    page->magic = CULVI_IPC_PAGE_MAGIC;
    page->slots = ring->slots;
    atomic_store(&page->state, (uint32_t)CULVI_IPC_RUNS);
    /* A kernel before Linux 5.1 has no such seal. Consumers could then write to the page. */
    if (!culvi_ipc_pages_freeze(ring->native))
        culvi_log(voice_of(ring), CULV_LOG_WARNING,
                  "ring '%s': this kernel cannot keep consumers from writing to the ring's page",
                  ring->name);
    return CULV_OK;
}

culv_result culv_ipc_ring_create(culv_ipc_server *server, const culv_ipc_ring_desc *desc,
                                 culv_ipc_ring **out)
{
    culv_ipc_ring_desc d;
    culvi_ipc_offer offer;
    CULVI_REQUIRE(NULL, server);
    const culvi_voice *voice = &server->device->voice;
    CULVI_REQUIRE2(voice, desc, out);
    culv_result result = culvi_desc_read(voice, &d, sizeof d, desc, "culv_ipc_ring_desc");
    if (result != CULV_OK) return result;
    CULVI_REQUIRE(voice, desc->name);
    if (d.parts == 0) d.parts = 1;
    if (d.max_consumers == 0) d.max_consumers = 8;
    const bool long_name = strlen(d.name) > CULV_IPC_NAME_SIZE - 9; /* ".63.15" behind it */
    if (long_name || d.slots < 1 || d.slots > CULV_RING_MAX_DEPTH || d.parts > 16 ||
        d.max_consumers > CULV_IPC_MAX_CONSUMERS)
        return culvi_fail(voice, server->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "culv_ipc_ring_desc.%s is %" PRIu32 "; at most %d, and at least 1",
                          long_name                                      ? "name's length"
                          : d.slots < 1 || d.slots > CULV_RING_MAX_DEPTH ? "slots"
                          : d.parts > 16                                 ? "parts"
                                                                         : "max_consumers",
                          long_name                                      ? (uint32_t)strlen(d.name)
                          : d.slots < 1 || d.slots > CULV_RING_MAX_DEPTH ? d.slots
                          : d.parts > 16                                 ? d.parts
                                                                         : d.max_consumers,
                          long_name                                      ? CULV_IPC_NAME_SIZE - 9
                          : d.slots < 1 || d.slots > CULV_RING_MAX_DEPTH ? CULV_RING_MAX_DEPTH
                          : d.parts > 16                                 ? 16
                                                                         : CULV_IPC_MAX_CONSUMERS);
    culv_ipc_ring *ring = culvi_alloc(sizeof *ring);
    if (ring == NULL) return culvi_fail_host_memory(voice, server->label);
    ring->server = server;
    ring->slots = d.slots;
    ring->parts = d.parts;
    ring->max_consumers = d.max_consumers;
    ring->desc = d;
    ring->native = CULVI_IPC_NO_NATIVE;
    culvi_label_set(ring->name, d.name);
    result = make_page(ring);
    memset(&offer, 0, sizeof offer);
    offer.info = culv_ipc_info_named(d.name);
    offer.info.kind = CULV_IPC_RING;
    offer.info.device = server->device->caps.uuid;
    offer.info.slots = d.slots;
    offer.info.parts = d.parts;
    offer.ring = ring;
    if (result == CULV_OK) result = culvi_ipc_offer_add(server, __func__, &offer);
    if (result != CULV_OK) {
        culvi_ipc_pages *pages = ring->pages;
        culvi_ipc_pages_close(&pages);
        culvi_ipc_close_fds(&ring->native, 1);
        culvi_free(ring);
        return result;
    }
    ring->id = (uint32_t)++server->arrivals;
    server->refs++;
    ring->next = server->rings;
    server->rings = ring;
    *out = ring;
    return CULV_OK;
}

static culv_result part_name(const culv_ipc_ring *ring, const char *call, uint32_t slot,
                             uint32_t part, culv_ipc_info *info)
{
    if (slot >= ring->slots || part >= ring->parts)
        return culvi_fail(voice_of(ring), ring->name, CULV_ERROR_INVALID, CULV_REASON_RANGE,
                          "%s: there is no part %" PRIu32 " of slot %" PRIu32
                          "; the ring has %" PRIu32 " slots of %" PRIu32 " parts",
                          call, part, slot, ring->slots, ring->parts);
    culvi_text t = {info->name, sizeof info->name, 0};
    memset(info->name, 0, sizeof info->name);
    culvi_text_add(&t, "%s.%" PRIu32 ".%" PRIu32, ring->name, slot, part);
    return CULV_OK;
}

static void belongs(culv_ipc_ring *ring, const char *name)
{
    culvi_ipc_offer *offer = culvi_ipc_offer_find(ring->server, name);
    if (offer != NULL) offer->belongs = ring;
}

culv_result culv_ipc_ring_offer_vmm(culv_ipc_ring *ring, uint32_t slot, uint32_t part,
                                    culv_vmm_allocation *allocation, const culv_ipc_info *info)
{
    culv_ipc_info named;
    CULVI_REQUIRE(NULL, ring);
    CULVI_REQUIRE2(voice_of(ring), allocation, info);
    culv_result result = check_runs(ring, __func__);
    if (result == CULV_OK)
        result = culvi_desc_read(voice_of(ring), &named, sizeof named, info, "culv_ipc_info");
    if (result == CULV_OK) result = part_name(ring, __func__, slot, part, &named);
    if (result == CULV_OK) result = culv_ipc_offer_vmm(ring->server, allocation, &named);
    if (result == CULV_OK) belongs(ring, named.name);
    return result;
}

culv_result culv_ipc_ring_offer(culv_ipc_ring *ring, uint32_t slot, uint32_t part,
                                const culv_ipc_info *info, const culv_handle *handle)
{
    culv_ipc_info named;
    CULVI_REQUIRE(NULL, ring);
    CULVI_REQUIRE2(voice_of(ring), info, handle);
    culv_result result = check_runs(ring, __func__);
    if (result == CULV_OK)
        result = culvi_desc_read(voice_of(ring), &named, sizeof named, info, "culv_ipc_info");
    if (result == CULV_OK) result = part_name(ring, __func__, slot, part, &named);
    if (result == CULV_OK) result = culv_ipc_offer(ring->server, &named, handle);
    if (result == CULV_OK) belongs(ring, named.name);
    return result;
}

/* Consumers ------------------------------------------------------------------------------------ */

static void remove_side(culv_ipc_ring *ring, side *s, bool dead)
{
    const uint32_t number = (uint32_t)(s - ring->sides);
    if (!s->used) return;
    s->used = false;
    ring->left++;
    if (dead) culvi_ipc_line_move_on(ring->server->device, &s->done, ring->name);
    culvi_ipc_line_close(&s->ready);
    culvi_ipc_line_close(&s->done);
    culvi_ipc_pages_close(&s->pages);
    if (s->timelines == PRODUCERS && ring->desc.drop != NULL)
        ring->desc.drop(ring->desc.context, number);
    memset(s, 0, sizeof *s);
}

static void tell(const culv_ipc_ring *ring, const side *s)
{
    static const culvi_ipc_message wake = {.type = CULVI_IPC_WAKE, .answer = true};
    const culvi_ipc_channel channel = ring->server->links[s->link].channel;
    /* A full socket wakes it as well. */
    if (channel != CULVI_IPC_NO_CHANNEL) (void)culvi_ipc_send(channel, &wake, NULL);
}

void culvi_ipc_ring_stop(culv_ipc_ring *r)
{
    if (r->stopped) return;
    r->stopped = true;
    atomic_store(&page_of(r)->state, (uint32_t)CULVI_IPC_STOPPED);
    for (uint32_t i = 0; i < r->max_consumers; i++) {
        if (r->sides[i].used) tell(r, &r->sides[i]);
        remove_side(r, &r->sides[i], true);
    }
    for (culvi_ipc_offer *o = r->server->offers, *next = NULL; o != NULL; o = next) {
        next = o->next;
        if (o->ring == r || o->belongs == r) culvi_ipc_offer_remove(r->server, o);
    }
    for (culv_ipc_ring **at = &r->server->rings; *at != NULL; at = &(*at)->next) {
        if (*at != r) continue;
        *at = r->next;
        break;
    }
    culvi_ipc_pages_close(&r->pages);
    culvi_ipc_close_fds(&r->native, 1);
}

void culv_ipc_ring_destroy(culv_ipc_ring **ring)
{
    if (ring == NULL || *ring == NULL) return;
    culv_ipc_ring *r = *ring;
    *ring = NULL;
    culvi_ipc_ring_stop(r);
    culvi_ipc_server_unref(r->server);
    culvi_free(r);
}

void culvi_ipc_rings_forget(culv_ipc_server *server, uint32_t link)
{
    for (culv_ipc_ring *ring = server->rings; ring != NULL; ring = ring->next)
        for (uint32_t i = 0; i < ring->max_consumers; i++)
            if (ring->sides[i].used && ring->sides[i].link == link)
                remove_side(ring, &ring->sides[i], true);
}

void culvi_ipc_ring_leave(culv_ipc_server *server, uint32_t link, uint64_t consumer)
{
    /* The number has the ring in its upper half: a client may be in several. */
    culv_ipc_ring *ring = server->rings;
    while (ring != NULL && ring->id != consumer >> 32)
        ring = ring->next;
    const uint32_t number = (uint32_t)consumer;
    if (ring == NULL || number >= ring->max_consumers) return;
    side *s = &ring->sides[number];
    if (s->used && s->link == link) remove_side(ring, s, true);
}

uint32_t culv_ipc_ring_consumers(const culv_ipc_ring *ring)
{
    uint32_t count = 0;
    for (uint32_t i = 0; ring != NULL && i < ring->max_consumers; i++)
        count += ring->sides[i].used;
    return count;
}

culv_result culv_ipc_ring_drop(culv_ipc_ring *ring, uint32_t consumer)
{
    CULVI_REQUIRE(NULL, ring);
    culv_result result = check_runs(ring, __func__);
    if (result != CULV_OK) return result;
    if (consumer >= ring->max_consumers || !ring->sides[consumer].used)
        return culvi_fail(voice_of(ring), ring->name, CULV_ERROR_INVALID, CULV_REASON_RANGE,
                          "culv_ipc_ring_drop: there is no consumer %" PRIu32, consumer);
    culvi_ipc_link_drop(ring->server, &ring->server->links[ring->sides[consumer].link],
                        "was turned away by culv_ipc_ring_drop()");
    return CULV_OK;
}

/* Joining -------------------------------------------------------------------------------------- */

static culv_result take_timelines(culv_ipc_ring *ring, side *s, const culv_handle *ready,
                                  const culv_handle *done)
{
    culv_device *device = ring->server->device;
    const culv_uuid *theirs =
        s->timelines == PRODUCERS ? &device->caps.uuid : &ring->server->links[s->link].device;
    culv_result result = culvi_ipc_line_import(device, ready, theirs, ring->name, &s->ready);
    if (result == CULV_OK)
        result = culvi_ipc_line_import(device, done, theirs, ring->name, &s->done);
    return result;
}

/* The producer's graphics API makes them; CUDA of this process needs neither. */
static culv_result make_timelines(culv_ipc_ring *ring, side *s, culvi_ipc_native out[2],
                                  uint32_t *type)
{
    culv_ipc_timelines t = culv_ipc_timelines_init();
    culv_result result = ring->desc.make(ring->desc.context, (uint32_t)(s - ring->sides), &t);
    if (result != CULV_OK) return result;
    s->done.signal = t.signal;
    s->done.context = t.context;
    culv_handle ready, done;
    result = culvi_ipc_timelines_check(voice_of(ring), ring->name, "culv_ipc_ring_desc.make", &t);
    if (result != CULV_OK) goto drop;
    result = culv_handle_dup(&t.ready, &ready);
    if (result != CULV_OK) goto drop;
    result = culv_handle_dup(&t.done, &done);
    if (result != CULV_OK) {
        culvi_handle_close(&ready);
        goto drop;
    }
    /* Without its own way to signal, CUDA has to. */
    if (t.signal == NULL) result = take_timelines(ring, s, &ready, &done);
    if (result != CULV_OK) {
        culvi_handle_close(&ready);
        culvi_handle_close(&done);
        goto drop;
    }
    out[0] = culvi_ipc_native_of(&ready);
    out[1] = culvi_ipc_native_of(&done);
    *type = (uint32_t)ready.type;
    return CULV_OK;
drop:
    if (ring->desc.drop != NULL) ring->desc.drop(ring->desc.context, (uint32_t)(s - ring->sides));
    return result;
}

static culv_result refuse(const culv_ipc_ring *ring, culv_result class, culv_reason reason,
                          const char *text)
{
    return culvi_fail(voice_of(ring), ring->name, class, reason, "the ring '%s' %s", ring->name,
                      text);
}

/* Takes back what consumers left, before those that come and go make much of it. The driver waits
 * for all streams then, so no stream may wait for another process, which may end. */
static void tidy(culv_ipc_ring *ring)
{
    enum { MANY = 32 };
    if (ring->left < MANY) return;
    for (uint32_t i = 0; i < ring->max_consumers; i++) {
        const side *s = &ring->sides[i];
        const uint64_t now = s->done.word != NULL ? atomic_load(s->done.word) : 0;
        if (s->used && now < s->done.waited) return;
    }
    ring->left = 0;
    (void)culv_device_collect(ring->server->device);
}

culv_result culvi_ipc_ring_admit(culv_ipc_ring *ring, uint32_t link,
                                 const culvi_ipc_message *question, const culvi_ipc_native *fds,
                                 culvi_ipc_message *reply, culvi_ipc_native out[CULVI_IPC_FDS])
{
    culv_device *device = ring->server->device;
    side *s = NULL;
    const culvi_ipc_join *asked = &question->join;
    tidy(ring);
    for (uint32_t i = ring->max_consumers; i-- > 0;)
        if (!ring->sides[i].used) s = &ring->sides[i];
    if (s == NULL)
        return refuse(ring, CULV_ERROR_UNSUPPORTED, CULV_REASON_IPC_REFUSED,
                      "has as many consumers as it admits (culv_ipc_ring_desc.max_consumers)");
    if (ring->desc.make != NULL && asked->timelines == CONSUMERS)
        return refuse(ring, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                      "makes the timelines itself; join it without any");
    if (asked->timelines == PRODUCERS)
        return refuse(ring, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                      "was asked for what only it says");
    if (asked->policy == CULV_RING_MAILBOX && ring->slots < 2)
        return refuse(ring, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                      "has one slot, and consumers of the newest frame need two");
    memset(s, 0, sizeof *s);
    s->link = link;
    s->policy = (culv_ring_policy)asked->policy;
    s->joined = ring->head;
    s->timelines = ring->desc.make != NULL ? PRODUCERS : asked->timelines;
    if (s->timelines == COUNTERS && !culvi_ipc_can_count(device))
        return refuse(ring, CULV_ERROR_UNSUPPORTED, CULV_REASON_DRIVER_TOO_OLD,
                      "cannot count: the driver has no stream memory operations");
    culvi_ipc_native pages[2] = {CULVI_IPC_NO_NATIVE, CULVI_IPC_NO_NATIVE};
    if (!culvi_ipc_pages_make(CULVI_IPC_PAGE, "culvert consumer", &pages[1]))
        return culvi_fail_native(voice_of(ring), ring->name, CULV_ERROR_DRIVER, CULV_REASON_OS,
                                 CULV_NATIVE_OS, culvi_ipc_os_error(), culvi_ipc_pages_call,
                                 "the consumer's page could not be made");
    culv_result result =
        culvi_ipc_pages_lend(ring->native, &pages[0])
            ? culvi_ipc_pages_open(device, pages[1], true, s->timelines == COUNTERS, ring->name,
                                   &s->pages)
            : culvi_fail_native(voice_of(ring), ring->name, CULV_ERROR_DRIVER, CULV_REASON_OS,
                                CULV_NATIVE_OS, culvi_ipc_os_error(), culvi_handle_duplicate_call,
                                "the ring's page could not be lent: no handle is left");
    if (result == CULV_OK && s->timelines == CONSUMERS) {
        const culv_handle_type type = culvi_ipc_join_type(asked);
        const culv_handle ready = culvi_ipc_handle(type, fds[0]),
                          done = culvi_ipc_handle(type, fds[1]);
        result = take_timelines(ring, s, &ready, &done);
    }
    if (result == CULV_OK && s->timelines == PRODUCERS)
        result = make_timelines(ring, s, out + 2, &reply->join.handle_type);
    if (result != CULV_OK) {
        culvi_ipc_line_close(&s->ready);
        culvi_ipc_line_close(&s->done);
        culvi_ipc_pages_close(&s->pages);
        culvi_ipc_close_fds(pages, 2);
        return result;
    }
    if (s->timelines == COUNTERS) {
        s->ready.word = &their_page(s)->ready;
        s->done.word = &their_page(s)->done;
        s->ready.at = s->pages->at + offsetof(culvi_ipc_consumer_page, ready);
        s->done.at = s->pages->at + offsetof(culvi_ipc_consumer_page, done);
    }
    atomic_store(&their_page(s)->next, s->joined);
    s->used = true;
    reply->number = (uint64_t)ring->id << 32 | (uint64_t)(s - ring->sides);
    reply->join.policy = asked->policy;
    reply->join.timelines = s->timelines;
    reply->join.depth = ring->slots;
    reply->join.parts = ring->parts;
    reply->join.page_size = CULVI_IPC_PAGE;
    reply->fds = s->timelines == PRODUCERS ? 4 : 2;
    out[0] = pages[0];
    out[1] = pages[1];
    return CULV_OK;
}

/* Frames --------------------------------------------------------------------------------------- */

/* A consumer of this policy that still needs the frame; NULL: none. */
static const side *needed(const culv_ipc_ring *ring, culv_ring_policy policy, uint64_t frame)
{
    for (uint32_t i = 0; i < ring->max_consumers; i++) {
        const side *s = &ring->sides[i];
        if (!s->used || s->policy != policy || frame < s->joined) continue;
        if (policy == CULV_RING_FIFO ? atomic_load(&their_page(s)->next) <= frame
                                     : atomic_load(&their_page(s)->hold) == frame + 1)
            return s;
    }
    return NULL;
}

/* The slot whose frame is the oldest that nobody needs. The newest frame stays, for those who come
 * for it, unless there is only one slot. */
static bool choose(culv_ipc_ring *ring, const side **late)
{
    culvi_ipc_ring_page *page = page_of(ring);
    uint64_t tried = 0;
    *late = NULL;
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
        const side *s = NULL;
        if (oldest > 0) s = needed(ring, CULV_RING_FIFO, oldest - 1);
        if (oldest > 0 && s == NULL) {
            /* It is hidden first and asked about then: a consumer of the newest frame says what it
             * takes and looks again. */
            atomic_store(&page->frames[best], 0);
            s = needed(ring, CULV_RING_MAILBOX, oldest - 1);
            if (s != NULL) atomic_store(&page->frames[best], oldest);
        }
        if (s == NULL) {
            ring->slot = best;
            return true;
        }
        *late = s;
    }
    return false;
}

/* What the last readers of the slot signal. */
static void gather(culv_ipc_ring *ring, culv_ipc_frame *frame)
{
    for (uint32_t i = 0; i < ring->max_consumers;
         i++) { /* before any is counted: this drops some */
        const side *s = &ring->sides[i];
        if (s->used && atomic_load(&their_page(s)->last[ring->slot]) > s->done.waited + MOST_AHEAD)
            culvi_ipc_link_drop(ring->server, &ring->server->links[s->link],
                                "has a page that makes no sense");
    }
    for (uint32_t i = 0; i < ring->max_consumers; i++) {
        side *s = &ring->sides[i];
        if (!s->used) continue;
        const uint64_t last = atomic_load(&their_page(s)->last[ring->slot]);
        if (last == 0 || last > s->done.waited + MOST_AHEAD) continue; /* written meanwhile */
        if (s->done.word != NULL && atomic_load(s->done.word) >= last) continue;
        frame->waits[frame->num_waits++] = (culv_ipc_point){.consumer = i, .value = last};
        if (last > s->done.waited) s->done.waited = last;
    }
}

static culv_result late(const culv_ipc_ring *ring, const side *s)
{
    const int32_t pid = s != NULL ? ring->server->links[s->link].pid : 0;
    return culvi_fail(voice_of(ring), ring->name, CULV_ERROR_TIMEOUT, CULV_REASON_RING_FULL,
                      "frame %" PRIu64 " has no slot: consumer %d (process %d) has not given back "
                      "an earlier one; wait longer, have more slots, or culv_ipc_ring_drop() it",
                      ring->head, s != NULL ? (int)(s - ring->sides) : -1, (int)pid);
}

static culv_result acquire(culv_ipc_ring *ring, uint64_t timeout, culv_ipc_frame *frame)
{
    const uint64_t until = culvi_ipc_until(timeout);
    const side *who = NULL;
    culv_result result = check_runs(ring, "culv_ipc_ring_acquire");
    if (result != CULV_OK) return result;
    if (ring->held)
        return culvi_fail(voice_of(ring), ring->name, CULV_ERROR_INVALID, CULV_REASON_RING_ORDER,
                          "frame %" PRIu64 " is held already; release it first", ring->head);
    result = culv_ipc_server_poll(ring->server, 0, NULL);
    while (result == CULV_OK && !choose(ring, &who)) {
        /* Who gives a slot back after this sends a message. */
        atomic_store(&page_of(ring)->producer_waits, 1);
        const bool found = choose(ring, &who);
        const uint64_t now = culvi_now();
        if (!found && now >= until) result = late(ring, who);
        if (!found && result == CULV_OK)
            result = culv_ipc_server_poll(ring->server, until - now, NULL);
        atomic_store(&page_of(ring)->producer_waits, 0);
        if (found) break;
    }
    if (result != CULV_OK) return result;
    memset(frame, 0, sizeof *frame);
    frame->number = ring->head;
    frame->slot = ring->slot;
    gather(ring, frame);
    ring->held = true;
    return CULV_OK;
}

static void gather_signals(const culv_ipc_ring *ring, culv_ipc_frame *frame)
{
    frame->num_signals = 0;
    for (uint32_t i = 0; i < ring->max_consumers; i++)
        if (ring->sides[i].used)
            frame->signals[frame->num_signals++] =
                (culv_ipc_point){.consumer = i, .value = ring->head + 1};
}

static void publish(culv_ipc_ring *ring)
{
    culvi_ipc_ring_page *page = page_of(ring);
    atomic_store(&page->frames[ring->slot], ring->head + 1);
    ring->head++;
    atomic_store(&page->head, ring->head);
    ring->held = false;
    for (uint32_t i = 0; i < ring->max_consumers; i++)
        if (ring->sides[i].used && atomic_load(&their_page(&ring->sides[i])->waits) != 0)
            tell(ring, &ring->sides[i]);
}

static culv_result check_held(const culv_ipc_ring *ring)
{
    culv_result result = check_runs(ring, "culv_ipc_ring_release");
    if (result != CULV_OK || ring->held) return result;
    return culvi_fail(voice_of(ring), ring->name, CULV_ERROR_INVALID, CULV_REASON_RING_ORDER,
                      "no frame is held; culv_ipc_ring_acquire() gets one");
}

culv_result culv_ipc_ring_acquire(culv_ipc_ring *ring, uint64_t timeout, culv_ipc_frame *frame)
{
    CULVI_REQUIRE(NULL, ring);
    CULVI_REQUIRE(voice_of(ring), frame);
    return acquire(ring, timeout, frame);
}

culv_result culv_ipc_ring_release(culv_ipc_ring *ring, culv_ipc_frame *frame)
{
    CULVI_REQUIRE(NULL, ring);
    CULVI_REQUIRE(voice_of(ring), frame);
    culv_result result = check_held(ring);
    if (result != CULV_OK) return result;
    gather_signals(ring, frame);
    publish(ring);
    return CULV_OK;
}

static culv_result check_stream(const culv_ipc_ring *ring, const char *call)
{
    if (ring->desc.make == NULL) return CULV_OK;
    return culvi_fail(voice_of(ring), ring->name, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                      "%s: the ring's timelines are your graphics API's (culv_ipc_ring_desc.make); "
                      "use the calls without a stream",
                      call);
}

culv_result culv_ipc_ring_acquire_on(culv_ipc_ring *ring, CUstream stream, uint64_t timeout,
                                     culv_ipc_frame *frame)
{
    culv_ipc_frame mine;
    CULVI_REQUIRE(NULL, ring);
    CULVI_REQUIRE(voice_of(ring), frame);
    culv_result result = check_stream(ring, __func__);
    if (result == CULV_OK) result = acquire(ring, timeout, &mine);
    if (result != CULV_OK) return result;
    for (uint32_t i = 0; result == CULV_OK && i < mine.num_waits; i++) {
        side *s = &ring->sides[mine.waits[i].consumer];
        if (s->used)
            result = culvi_ipc_line_wait(ring->server->device, &s->done, ring->name, stream,
                                         mine.waits[i].value);
    }
    if (result != CULV_OK) {
        ring->held = false; /* the slot's frame is gone, and it is chosen again */
        return result;
    }
    *frame = mine;
    return CULV_OK;
}

culv_result culv_ipc_ring_release_on(culv_ipc_ring *ring, CUstream stream, culv_ipc_frame *frame)
{
    CULVI_REQUIRE(NULL, ring);
    CULVI_REQUIRE(voice_of(ring), frame);
    culv_result result = check_stream(ring, __func__);
    if (result == CULV_OK) result = check_held(ring);
    if (result != CULV_OK) return result;
    gather_signals(ring, frame);
    for (uint32_t i = 0; result == CULV_OK && i < frame->num_signals; i++) {
        culvi_ipc_line *ready = &ring->sides[frame->signals[i].consumer].ready;
        if (ready->signaled >= frame->signals[i].value) continue; /* an earlier try got that far */
        result = culvi_ipc_line_signal(ring->server->device, ready, ring->name, stream,
                                       frame->signals[i].value);
        if (result == CULV_OK) ready->signaled = frame->signals[i].value;
    }
    if (result == CULV_OK) publish(ring);
    return result;
}
