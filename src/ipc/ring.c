/* SPDX-License-Identifier: MIT */
/* The producer's side of a ring: its making, its offers, and consumers that come and go. */
#include "ipc/ipc_ring_side.h"

culv_result culvi_ipc_ring_check_runs(const culvi_ring_apart *side, const char *call)
{
    const culvi_ipc_ring *ring = (const culvi_ipc_ring *)side;
    if (!ring->stopped) return CULV_OK;
    return culvi_fail(culvi_ipc_ring_voice(ring), ring->name, CULV_ERROR_ASYNC,
                      CULV_REASON_RING_STOPPED,
                      "%s: the ring's server was destroyed; culv_ring_destroy() the ring", call);
}

/* Making --------------------------------------------------------------------------------------- */

static culv_result make_page(culvi_ipc_ring *ring)
{
    if (!culvi_ipc_pages_make(CULVI_IPC_PAGE, "culvert ring", &ring->native))
        return culvi_fail_os(culvi_ipc_ring_voice(ring), ring->name, culvi_ipc_os_error(),
                             culvi_ipc_pages_call, "the ring's page could not be made");
    /* It knows of its own GPU, lest it takes its own lateness for a consumer's, or believes one
     * that says so. */
    const bool written = ring->desc.make == NULL && culvi_ipc_can_count(ring->server->device);
    CULVI_TRY(culvi_ipc_pages_open(ring->server->device, ring->native, true, written, ring->name,
                                   &ring->pages));
    if (written) {
        ring->written.word = &culvi_ipc_ring_page_of(ring)->written;
        ring->written.at = ring->pages->at + offsetof(culvi_ipc_ring_page, written);
    }
    culvi_ipc_ring_page *page = culvi_ipc_ring_page_of(ring);
    page->magic = CULVI_IPC_PAGE_MAGIC;
    page->slots = ring->slots;
    atomic_store(&page->state, (uint32_t)CULVI_IPC_RUNS);
    /* A kernel before Linux 5.1 has no such seal. Consumers could then write to the page. */
    if (!culvi_ipc_pages_freeze(ring->native))
        culvi_log(culvi_ipc_ring_voice(ring), CULV_LOG_WARNING,
                  "ring '%s': this kernel cannot keep consumers from writing to the ring's page",
                  ring->name);
    return CULV_OK;
}

culvi_ipc_ring *culvi_ipc_ring_of(const culv_ring *ring, const char *call)
{
    return culvi_ring_of_api(ring, &culvi_ipc_ring_api.ring, call);
}

culv_result culv_ipc_ring_create(culv_ipc_server *server, const culv_ipc_ring_desc *desc,
                                 culv_ring **out)
{
    CULVI_REQUIRE_WITH2(server, &server->device->voice, desc, out);
    const culvi_voice *voice = &server->device->voice;
    CULVI_READ(voice, culv_ipc_ring_desc, d, desc);
    CULVI_REQUIRE(voice, desc->name);
    if (d.parts == 0) d.parts = 1;
    if (d.max_consumers == 0) d.max_consumers = 8;
    const struct {
        const char *name;
        size_t value, most;
    } limits[] = {
        {"name's length", strlen(d.name), CULV_IPC_NAME_SIZE - 9}, /* ".63.15" behind it */
        {"num_slots", d.num_slots, CULV_RING_MAX_DEPTH},
        {"parts", d.parts, 16},
        {"max_consumers", d.max_consumers, CULV_IPC_MAX_CONSUMERS}};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        CULVI_REFUSE_IF(limits[i].value > limits[i].most || (limits[i].value < 1 && i > 0), voice,
                        server->label, CULV_REASON_VALUE,
                        "culv_ipc_ring_desc.%s is %zu; at most %zu, and at least 1", limits[i].name,
                        limits[i].value, limits[i].most);
    CULVI_NEW(culvi_ipc_ring, ring, voice, server->label);
    ring->server = server;
    ring->slots = d.num_slots;
    ring->parts = d.parts;
    ring->max_consumers = d.max_consumers;
    ring->desc = d;
    ring->native = CULVI_IPC_NO_NATIVE;
    culvi_label_set(ring->name, d.name);
    culv_result result = make_page(ring);
    if (result == CULV_OK)
        result = culvi_ring_create_apart(server->device, ring->slots, ring->name,
                                         &culvi_ipc_ring_api, &ring->side);
    if (result == CULV_OK)
        result = culvi_ipc_offer_ring(server, __func__, d.name, ring, d.num_slots, d.parts);
    if (result != CULV_OK) {
        culvi_ring_destroy_core(&ring->side.core);
        culvi_ipc_pages_leave(&ring->pages, NULL);
        culvi_ipc_close_own(&ring->native, 1);
        culvi_free(ring);
        return result;
    }
    ring->id = (uint32_t)++server->arrivals;
    server->refs++;
    ring->next = server->rings;
    server->rings = ring;
    culvi_ipc_links_let_handles(server);
    *out = ring->side.core;
    return CULV_OK;
}

culv_result culv_ipc_ring_offer(culv_ring *core, uint32_t slot, uint32_t part,
                                const culv_ipc_info *info, culv_ipc_source source)
{
    culvi_ipc_ring *ring = culvi_ipc_ring_of(core, __func__);
    if (ring == NULL) return CULV_ERROR_INVALID;
    CULVI_REQUIRE(culvi_ipc_ring_voice(ring), info);
    CULVI_TRY(culvi_ipc_ring_check_runs(&ring->side, __func__));
    CULVI_READ(culvi_ipc_ring_voice(ring), culv_ipc_info, named, info);
    CULVI_TRY(culvi_ipc_part_name(culvi_ipc_ring_voice(ring), __func__, ring->name, ring->slots,
                                  ring->parts, slot, part, named.name));
    return culvi_ipc_offer_by(ring->server, __func__, &named, source, ring);
}

/* Consumers ------------------------------------------------------------------------------------ */

static void keep_page(culvi_ipc_ring *ring, culvi_ipc_side *s)
{
    culv_device *device = ring->server->device;
    const culvi_ipc_link *link = &ring->server->links[s->link];
    culvi_ipc_pages **kept = &ring->kept[ring->oldest++ % CULV_IPC_MAX_CONSUMERS];
    culvi_ipc_pages_forget(device, kept);
    s->pages->user = link->user;
    s->pages->pid = link->pid;
    culvi_ipc_pages_leave(&s->pages, kept);
}

/* A page that the same process has left. */
static bool take_page(culvi_ipc_ring *ring, culvi_ipc_side *s)
{
    const culvi_ipc_link *link = &ring->server->links[s->link];
    for (uint32_t i = 0; i < CULV_IPC_MAX_CONSUMERS && s->pages == NULL; i++)
        s->pages =
            culvi_ipc_pages_take(ring->server->device, &ring->kept[i], link->user, link->pid);
    if (s->pages == NULL) return false;
    culvi_ipc_consumer_page *page = culvi_ipc_page_of(s);
    /* `ready` stays: a stream may still write there, and nothing above what was released. */
    for (uint32_t slot = 0; slot < CULV_RING_MAX_DEPTH; slot++)
        atomic_store(&page->last[slot], 0);
    atomic_store(&page->done, 0);
    atomic_store(&page->next, 0);
    atomic_store(&page->hold, 0);
    atomic_store(&page->waits, 0u);
    atomic_store(&page->first, 0);
    atomic_store(&page->dropped, 0u);
    atomic_store(&page->state, (uint32_t)CULVI_IPC_JOINS);
    ring->left--;
    return true;
}

/* The timelines that `make` made for it. */
static void drop_timelines(const culvi_ipc_ring *ring, const culvi_ipc_side *s)
{
    if (ring->desc.drop != NULL) ring->desc.drop(ring->desc.context, (uint32_t)(s - ring->sides));
}

/* `keeps`: the next consumer of its process may get its page. */
static void remove_side(culvi_ipc_ring *ring, culvi_ipc_side *s, bool keeps)
{
    if (!s->used) return;
    s->used = false;
    ring->left++;
    s->ready.used = true; /* lest its release collects what waits for streams */
    culvi_ipc_line_close(&s->ready);
    if (keeps && s->pages->registered && ring->server->links[s->link].pid > 0)
        keep_page(ring, s);
    else
        culvi_ipc_pages_leave(&s->pages, NULL);
    if (s->timelines == CULVI_IPC_PRODUCERS) drop_timelines(ring, s);
    memset(s, 0, sizeof *s);
}

void culvi_ipc_ring_tell(const culvi_ipc_ring *ring, const culvi_ipc_side *s)
{
    static const culvi_ipc_message wake = {.type = CULVI_IPC_WAKE, .answer = true};
    const culvi_ipc_channel channel = ring->server->links[s->link].channel;
    /* A full socket wakes it as well. */
    if (channel != CULVI_IPC_NO_CHANNEL) (void)culvi_ipc_send(channel, &wake, NULL);
}

void culvi_ipc_ring_look(culvi_ipc_ring *ring)
{
    for (uint32_t i = 0; i < ring->max_consumers; i++) {
        culvi_ipc_side *s = &ring->sides[i];
        if (!s->used) continue;
        culvi_ipc_consumer_page *page = culvi_ipc_page_of(s);
        const uint32_t state = atomic_load(&page->state);
        if (state == CULVI_IPC_LEFT) {
            remove_side(ring, s, true);
        } else if (state > CULVI_IPC_LEFT) {
            culvi_ipc_link_drop(ring->server, &ring->server->links[s->link],
                                "has a page that makes no sense");
        } else if (state == CULVI_IPC_LIVES && !s->counts) {
            s->counts = true;
            s->joined = s->next = ring->head;
            s->moved = culvi_now();
            atomic_store(&page->next, s->joined);
            atomic_store(&page->first, s->joined + 1);
        }
    }
}

void culvi_ipc_ring_stop(culvi_ipc_ring *r)
{
    if (r->stopped) return;
    r->stopped = true;
    atomic_store(&culvi_ipc_ring_page_of(r)->state, (uint32_t)CULVI_IPC_STOPPED);
    for (uint32_t i = 0; i < r->max_consumers; i++) {
        if (r->sides[i].used) culvi_ipc_ring_tell(r, &r->sides[i]);
        remove_side(r, &r->sides[i], false);
    }
    for (uint32_t i = 0; i < CULV_IPC_MAX_CONSUMERS; i++)
        culvi_ipc_pages_forget(r->server->device, &r->kept[i]);
    for (uint64_t i = r->server->num_offers; i-- > 0;) {
        const culvi_ipc_offer *o = r->server->offers[i];
        if (o->ring == r || o->belongs == r) culvi_ipc_offer_remove(r->server, o);
    }
    for (culvi_ipc_ring **at = &r->server->rings; *at != NULL; at = &(*at)->next) {
        if (*at != r) continue;
        *at = r->next;
        break;
    }
    culvi_ipc_links_let_handles(r->server);
    culvi_ipc_pages_leave(&r->pages, NULL);
    culvi_ipc_close_own(&r->native, 1);
}

void culvi_ipc_ring_end(culvi_ring_apart *side)
{
    culvi_ipc_ring *ring = (culvi_ipc_ring *)side;
    culvi_ipc_ring_stop(ring);
    culvi_ring_destroy_core(&ring->side.core);
    culvi_ipc_server_unref(ring->server);
    culvi_free(ring);
}

void culvi_ipc_rings_forget(culv_ipc_server *server, uint32_t link)
{
    for (culvi_ipc_ring *ring = server->rings; ring != NULL; ring = ring->next)
        for (uint32_t i = 0; i < ring->max_consumers; i++) {
            culvi_ipc_side *s = &ring->sides[i];
            if (!s->used || s->link != link) continue;
            /* Who closed the connection itself does not read it. */
            atomic_store(&culvi_ipc_page_of(s)->dropped, 1u);
            remove_side(ring, s, true);
        }
}

void culvi_ipc_ring_leave(culv_ipc_server *server, uint32_t link, uint64_t sequence)
{
    for (culvi_ipc_ring *ring = server->rings; ring != NULL; ring = ring->next)
        for (uint32_t i = 0; i < ring->max_consumers; i++) {
            culvi_ipc_side *s = &ring->sides[i];
            if (s->used && s->link == link && s->sequence == sequence) remove_side(ring, s, true);
        }
}

culv_result culv_ipc_ring_drop(culv_ring *core, uint32_t consumer)
{
    const culvi_ipc_ring *ring = culvi_ipc_ring_of(core, __func__);
    if (ring == NULL) return CULV_ERROR_INVALID;
    CULVI_TRY(culvi_ipc_ring_check_runs(&ring->side, __func__));
    CULVI_REFUSE_IF(consumer >= ring->max_consumers || !ring->sides[consumer].used,
                    culvi_ipc_ring_voice(ring), ring->name, CULV_REASON_RANGE,
                    "culv_ipc_ring_drop: there is no consumer %" PRIu32, consumer);
    culvi_ipc_link_drop(ring->server, &ring->server->links[ring->sides[consumer].link],
                        "was turned away by culv_ipc_ring_drop()");
    return CULV_OK;
}

/* Joining -------------------------------------------------------------------------------------- */

/* Only the consumer's process waits for these. */
static culv_result make_timelines(culvi_ipc_ring *ring, culvi_ipc_side *s, culvi_ipc_native out[2],
                                  uint32_t *type)
{
    culv_ipc_timelines t = culv_ipc_timelines_init();
    CULVI_TRY(ring->desc.make(ring->desc.context, (uint32_t)(s - ring->sides), &t));
    s->reached = t.reached;
    s->context = t.context;
    culv_handle ready, done;
    culv_result result = culvi_ipc_timelines_check(culvi_ipc_ring_voice(ring), ring->name,
                                                   "culv_ipc_ring_desc.make", &t);
    if (result == CULV_OK) result = culv_handle_dup(&t.ready, &ready);
    if (result == CULV_OK) {
        result = culv_handle_dup(&t.done, &done);
        if (result != CULV_OK) culvi_handle_close(&ready);
    }
    CULVI_TRY_OR(result, drop_timelines(ring, s));
    out[0] = culvi_ipc_native_of(&ready);
    out[1] = culvi_ipc_native_of(&done);
    *type = (uint32_t)ready.type;
    return CULV_OK;
}

static culv_result refuse(const culvi_ipc_ring *ring, culv_result class, culv_reason reason,
                          const char *text)
{
    return culvi_fail(culvi_ipc_ring_voice(ring), ring->name, class, reason, "the ring '%s' %s",
                      ring->name, text);
}

/* In words for the consumer, who reads them. It says of its GPU what it likes; what is no timeline
 * of this one the driver refuses. */
static culv_result same_gpu(const culvi_ipc_ring *ring, const culv_uuid *consumers)
{
    const culv_uuid *own = &ring->server->device->caps.uuid;
    CULVI_TEXT(text, 100);
    if (!culvi_uuid_given(consumers) || culvi_uuid_equal(consumers, own)) return CULV_OK;
    culvi_text_add_uuid(&text, consumers);
    culvi_text_add(&text, ", and the ring's is ");
    culvi_text_add_uuid(&text, own);
    return culvi_fail(
        culvi_ipc_ring_voice(ring), ring->name, CULV_ERROR_INVALID, CULV_REASON_DEVICE_MISMATCH,
        "the consumer's timelines are of the GPU %s. No driver carries them to another GPU; join the ring '%s' without timelines",
        text.data, ring->name);
}

/* A place for a consumer; NULL: none. Whoever has joined and does not begin to live makes room,
 * first the client that has the most places, and of these its oldest. */
static culvi_ipc_side *place(culvi_ipc_ring *ring, uint32_t link)
{
    uint32_t of_link[CULV_IPC_MAX_CLIENTS] = {0};
    culvi_ipc_side *found = NULL, *silent = NULL;
    for (uint32_t i = ring->max_consumers; i-- > 0;) {
        culvi_ipc_side *s = &ring->sides[i];
        if (!s->used) {
            found = s;
            continue;
        }
        of_link[s->link]++;
    }
    if (found != NULL) return found;
    for (uint32_t i = 0; i < ring->max_consumers; i++) {
        culvi_ipc_side *s = &ring->sides[i];
        const uint32_t most = silent != NULL ? of_link[silent->link] : 0;
        if (s->counts || s->link == link || of_link[s->link] < most) continue;
        if (of_link[s->link] > most || s->arrived < silent->arrived) silent = s;
    }
    if (silent == NULL) return NULL;
    culvi_ipc_server_log(
        ring->server, CULV_LOG_WARNING,
        "ring '%s': the client of process %d has joined and does not begin, and made room for another",
        ring->name, (int)ring->server->links[silent->link].pid);
    atomic_store(&culvi_ipc_page_of(silent)->dropped, 1u);
    remove_side(ring, silent, false);
    return silent;
}

/* Makes the consumer's page, or finds one. */
static culv_result make_side_page(culvi_ipc_ring *ring, culvi_ipc_side *s)
{
    const bool counts = s->timelines == CULVI_IPC_COUNTERS;
    culvi_ipc_native native = CULVI_IPC_NO_NATIVE;
    if (counts && take_page(ring, s)) return CULV_OK;
    if (!culvi_ipc_pages_make(CULVI_IPC_PAGE, "culvert consumer", &native))
        return culvi_fail_os(culvi_ipc_ring_voice(ring), ring->name, culvi_ipc_os_error(),
                             culvi_ipc_pages_call, "the consumer's page could not be made");
    culv_result result =
        culvi_ipc_pages_open(ring->server->device, native, true, counts, ring->name, &s->pages);
    if (result == CULV_OK)
        s->pages->native = native;
    else
        culvi_ipc_close_own(&native, 1);
    return result;
}

culv_result culvi_ipc_ring_admit(culvi_ipc_ring *ring, uint32_t link,
                                 const culvi_ipc_message *question, const culvi_ipc_native *fds,
                                 culvi_ipc_message *reply, culvi_ipc_native out[CULVI_IPC_FDS])
{
    culv_device *device = ring->server->device;
    const culvi_ipc_join *asked = &question->join;
    culvi_ipc_ring_look(ring);
    if (ring->server->links[link].channel == CULVI_IPC_NO_CHANNEL)
        return refuse(ring, CULV_ERROR_ASYNC, CULV_REASON_IPC_PROTOCOL,
                      "was asked by a client whose page makes no sense");
    /* Takes back what processes that came and went have left, before it is much. The driver waits
     * for all streams then; none of them waits for another process. */
    if (ring->left >= 256) {
        ring->left = 0;
        (void)culv_device_collect(ring->server->device);
    }
    const char *why = NULL;
    if (ring->desc.make != NULL && asked->timelines == CULVI_IPC_CONSUMERS)
        why = "makes the timelines itself; join it without any";
    else if (ring->desc.counters && asked->timelines == CULVI_IPC_CONSUMERS)
        why = "has counters alone (culv_ipc_ring_desc.counters); join it without timelines";
    else if (asked->timelines == CULVI_IPC_PRODUCERS)
        why = "was asked for what only it says";
    else if (asked->policy == CULV_RING_MAILBOX && ring->slots < 2)
        why = "has one slot, and consumers of the newest frame need two";
    if (why != NULL) return refuse(ring, CULV_ERROR_INVALID, CULV_REASON_VALUE, why);
    const uint32_t timelines = ring->desc.make != NULL ? CULVI_IPC_PRODUCERS : asked->timelines;
    if (timelines == CULVI_IPC_COUNTERS && !culvi_ipc_can_count(device))
        return refuse(ring, CULV_ERROR_UNSUPPORTED, CULV_REASON_DRIVER_TOO_OLD,
                      "cannot count: the driver has no stream memory operations");
    culvi_ipc_side *s = place(ring, link);
    if (s == NULL)
        return refuse(ring, CULV_ERROR_UNSUPPORTED, CULV_REASON_IPC_REFUSED,
                      "has as many consumers as it admits (culv_ipc_ring_desc.max_consumers)");
    memset(s, 0, sizeof *s);
    s->link = link;
    s->arrived = ++ring->server->arrivals;
    s->sequence = question->sequence;
    s->policy = (culv_ring_policy)asked->policy;
    s->timelines = timelines;
    culv_result result = make_side_page(ring, s);
    out[0] = out[1] = CULVI_IPC_NO_NATIVE;
    if (result == CULV_OK && !(culvi_ipc_pages_lend(ring->native, &out[0]) &&
                               culvi_ipc_handle_dup(s->pages->native, &out[1])))
        result = culvi_fail_os(culvi_ipc_ring_voice(ring), ring->name, culvi_ipc_os_error(),
                               culvi_handle_duplicate_call,
                               "the ring's pages could not be lent: no handle is left");
    if (result == CULV_OK && s->timelines == CULVI_IPC_CONSUMERS) {
        const culv_handle_type type = culvi_ipc_join_type(asked);
        const culv_handle ready = culvi_ipc_handle(type, fds[0]); /* `done` is in its page */
        const culv_uuid *gpu = &ring->server->links[link].device;
        result = same_gpu(ring, gpu);
        if (result == CULV_OK)
            result = culvi_ipc_line_import(device, &ready, gpu, ring->name, &s->ready);
    }
    if (result == CULV_OK && s->timelines == CULVI_IPC_PRODUCERS)
        result = make_timelines(ring, s, out + 2, &reply->join.handle_type);
    if (result == CULV_OK && ring->server->links[link].channel == CULVI_IPC_NO_CHANNEL) {
        if (s->timelines == CULVI_IPC_PRODUCERS) { /* `make` has dropped the client */
            culvi_ipc_close_own(out + 2, 2);
            drop_timelines(ring, s);
        }
        result = refuse(ring, CULV_ERROR_ASYNC, CULV_REASON_IPC_DROPPED,
                        "has dropped the client that joined");
    }
    CULVI_TRY_OR(result, culvi_ipc_line_close(&s->ready); culvi_ipc_pages_leave(&s->pages, NULL);
                 culvi_ipc_close_own(out, 2));
    if (s->timelines == CULVI_IPC_COUNTERS) {
        s->ready.word = &culvi_ipc_page_of(s)->ready;
        s->ready.at = s->pages->at + offsetof(culvi_ipc_consumer_page, ready);
    }
    s->used = true;
    reply->number = (uint64_t)ring->id << 32 | (uint64_t)(s - ring->sides);
    reply->join.policy = asked->policy;
    reply->join.timelines = s->timelines;
    reply->join.depth = ring->slots;
    reply->join.parts = ring->parts;
    reply->join.page_size = CULVI_IPC_PAGE;
    reply->fds = s->timelines == CULVI_IPC_PRODUCERS ? 4 : 2;
    return CULV_OK;
}
