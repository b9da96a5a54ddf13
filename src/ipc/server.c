/* SPDX-License-Identifier: MIT */
/* culv_ipc_server: it listens, admits and answers, all within culv_ipc_server_poll(). */
#include "ipc/ipc_server.h"

#include "ipc/ipc_ring_side.h"

enum {
    MESSAGES = 8, /* of one client before the others have their turn */
    COMERS = 8,   /* the same of those at the door */
    EVENTS = 16
};

/* Making --------------------------------------------------------------------------------------- */

culv_result culv_ipc_server_create(culv_device *device, const culv_ipc_server_desc *desc,
                                   culv_ipc_server **out)
{
    culvi_ipc_address address;
    CULVI_REQUIRE_WITH2(device, &device->voice, desc, out);
    const culvi_voice *voice = &device->voice;
    CULVI_READ(voice, culv_ipc_server_desc, d, desc);
    CULVI_REQUIRE(voice, desc->name);
    CULVI_REFUSE_IF(d.max_clients > CULV_IPC_MAX_CLIENTS, voice, d.label, CULV_REASON_VALUE,
                    "culv_ipc_server_desc.max_clients is %" PRIu32 "; at most %d are possible",
                    d.max_clients, CULV_IPC_MAX_CLIENTS);
    CULVI_NEW(culv_ipc_server, server, voice, d.label);
    server->refs = 1;
    server->device = device;
    server->process = culvi_ipc_this_process();
    server->max_clients = d.max_clients != 0 ? d.max_clients : 16;
    culvi_label_set(server->label, d.label != NULL ? d.label : d.name);
    for (size_t i = 0; i < CULV_IPC_MAX_CLIENTS; i++)
        server->links[i].channel = CULVI_IPC_NO_CHANNEL;
    culvi_device_ref(device);
    (void)CULVI_CU(device, cuDriverGetVersion, (&server->driver));
    culv_result result =
        culvi_ipc_users_copy(voice, d.users, d.num_users, "culv_ipc_server_desc", &server->users);
    if (result == CULV_OK)
        result = culvi_ipc_address_make(voice, d.name, d.directory, "culv_ipc_server_desc", false,
                                        &address);
    if (result == CULV_OK)
        result = culvi_ipc_door_open(voice, server->label, &address, &server->door);
    CULVI_TRY_OR(result, culv_ipc_server_destroy(&server));
    culvi_log_object(voice, "made", "server", server->label, 0);
    *out = server;
    return CULV_OK;
}

void culvi_ipc_server_unref(culv_ipc_server *server)
{
    culv_device *device = server->device;
    if (--server->refs > 0) return;
    culvi_free(server);
    culvi_device_unref(device);
}

void culv_ipc_server_destroy(culv_ipc_server **server)
{
    CULVI_TAKE(culv_ipc_server, s, server);
    /* The rings first: they tell their consumers, and their offers go with them. */
    while (s->rings != NULL)
        culvi_ipc_ring_stop(s->rings);
    while (s->num_offers > 0)
        culvi_ipc_offer_remove(s, s->offers[s->num_offers - 1]);
    culvi_free(s->offers);
    culvi_ipc_links_end(s);
    culvi_ipc_door_close(&s->door);
    culvi_ipc_users_free(&s->users);
    culvi_log_object(&s->device->voice, "destroyed", "server", s->label, 0);
    culvi_ipc_server_unref(s);
}

CULVI_GETTER(int, culv_ipc_server_fd, culv_ipc_server, culvi_ipc_door_fd(self->door), -1)

uint32_t culv_ipc_server_clients(const culv_ipc_server *server)
{
    uint32_t count = 0;
    for (size_t i = 0; server != NULL && i < CULV_IPC_MAX_CLIENTS; i++)
        count += server->links[i].channel != CULVI_IPC_NO_CHANNEL && server->links[i].greeted;
    return count;
}

/* Connections ---------------------------------------------------------------------------------- */

/* Who is not let in is told why, and no more. BUSY: it may try again. */
static void turn_away(culvi_ipc_channel *stranger, culv_result result, const char *why)
{
    const culvi_ipc_message m = culvi_ipc_error(result, CULV_REASON_IPC_REFUSED, why);
    (void)culvi_ipc_send(*stranger, &m, NULL);
    culvi_ipc_channel_close(stranger, true);
}

static uint32_t clients_of(const culv_ipc_server *server, uint32_t user)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < server->max_clients; i++)
        count += server->links[i].channel != CULVI_IPC_NO_CHANNEL && server->links[i].user == user;
    return count;
}

/* Each user who is named has a place that others cannot take. If more are named than there are
 * places, nobody has. */
static bool users_have_places(const culv_ipc_server *server)
{
    return server->users.count <= server->max_clients;
}

/* How many places are kept for others than `user`. */
static uint32_t kept_places(const culv_ipc_server *server, uint32_t user)
{
    const uint32_t *users = server->users.users;
    uint32_t kept = 0;
    for (size_t i = 0; users_have_places(server) && i < server->users.count; i++) {
        bool seen = users[i] == user;
        for (size_t k = 0; k < i; k++)
            seen = seen || users[k] == users[i];
        kept += !seen && clients_of(server, users[i]) == 0;
    }
    return kept;
}

/* A place for a client of `user`; NULL: there is none. These make room, the oldest first: who
 * connects and says nothing; after a second who has left its answers unread, or has asked nothing
 * since its greeting. */
static culvi_ipc_link *place(culv_ipc_server *server, uint32_t user)
{
    enum { PATIENCE_MS = 1000, KINDS = 3 };
    static const char *const why[KINDS] = {
        "said nothing, and made room for another",
        "does not read its answers, and made room for another",
        "asked nothing since its greeting, and made room for another"};
    const uint64_t now = culvi_now(), patience = UINT64_C(1000000) * PATIENCE_MS;
    culvi_ipc_link *empty = NULL, *oldest[KINDS] = {NULL, NULL, NULL};
    uint32_t num_empty = 0;
    for (uint32_t i = 0; i < server->max_clients; i++) {
        culvi_ipc_link *link = &server->links[i];
        if (link->channel == CULVI_IPC_NO_CHANNEL) {
            if (empty == NULL) empty = link;
            num_empty++;
            continue;
        }
        if (users_have_places(server) && link->user != user && clients_of(server, link->user) < 2)
            continue;
        /* Another client of its user may be why it is held. */
        const bool deaf = link->held && (link->kept != NULL || link->unread > 0);
        const size_t kind = !link->greeted ? 0 : deaf ? 1 : 2;
        if ((kind == 1 && now - link->held_since < patience) ||
            (kind == 2 && (link->asked || now - link->greeted_at < patience)))
            continue;
        if (oldest[kind] == NULL || link->arrived < oldest[kind]->arrived) oldest[kind] = link;
    }
    if (num_empty > kept_places(server, user)) return empty;
    for (size_t kind = 0; kind < KINDS; kind++) {
        if (oldest[kind] == NULL) continue;
        if (kind == 2) { /* it reads this when it asks */
            const culvi_ipc_message m = culvi_ipc_error(
                CULV_ERROR_BUSY, CULV_REASON_IPC_REFUSED,
                "the server was full, and this client had asked nothing for a second since it connected, so it made room for another; connect again");
            (void)culvi_ipc_send(oldest[kind]->channel, &m, NULL);
        }
        culvi_ipc_link_drop(server, oldest[kind], why[kind]);
        return oldest[kind];
    }
    return NULL;
}

static uint32_t read_link(culv_ipc_server *server, culvi_ipc_link *link);

/* False: nobody waits, or nobody can be let in. */
static bool admit(culv_ipc_server *server, uint32_t *done)
{
    culvi_ipc_channel stranger = CULVI_IPC_NO_CHANNEL;
    uint32_t user = 0;
    int32_t pid = 0;
    const culvi_ipc_io io = culvi_ipc_door_admit(server->door, &stranger);
    if (io == CULVI_IPC_NO_FD)
        culvi_ipc_server_log(server, CULV_LOG_WARNING,
                             "a client waits, and no handle is left for it");
    if (io == CULVI_IPC_OS)
        culvi_ipc_server_log(
            server, CULV_LOG_WARNING,
            "the system refuses to this process to let clients in (%d); a filter on it (seccomp) may forbid it",
            culvi_ipc_os_error());
    if (io != CULVI_IPC_DONE) return false;
    if (!culvi_ipc_peer(stranger, &user, &pid)) {
        culvi_ipc_server_log(
            server, CULV_LOG_WARNING,
            "a client was turned away: the system does not tell this process who it is (%s, %d); a filter on it (seccomp) may forbid it",
            culvi_ipc_peer_call, culvi_ipc_os_error());
        turn_away(&stranger, CULV_ERROR_UNSUPPORTED,
                  "the server's system does not tell it who this is");
        return true;
    }
    if (!culvi_ipc_user_admitted(&server->users, user)) {
        culvi_ipc_server_log(server, CULV_LOG_WARNING, "process %d of user %u%s was turned away",
                             (int)pid, (unsigned)user, culvi_ipc_user_note(user));
        turn_away(&stranger, CULV_ERROR_UNSUPPORTED, "the server does not admit this user");
        return true;
    }
    culvi_ipc_link *link = place(server, user);
    if (link == NULL) {
        turn_away(
            &stranger, CULV_ERROR_BUSY,
            "the server has as many clients as it admits (culv_ipc_server_desc.max_clients), or keeps its last places for other users");
        return true;
    }
    memset(link, 0, sizeof *link);
    link->channel = stranger;
    link->user = user;
    link->pid = pid;
    link->arrived = ++server->arrivals;
    if (!culvi_ipc_door_watch(server->door, stranger, (uint32_t)(link - server->links))) {
        culvi_ipc_link_drop(server, link, "could not be watched");
        return true;
    }
    *done += read_link(server, link); /* it may have said who it is by now */
    return true;
}

/* Answers -------------------------------------------------------------------------------------- */

/* The present error of this thread, for the client. */
static void refuse_by_error(culv_ipc_server *server, culvi_ipc_link *link,
                            const culvi_ipc_message *question)
{
    culv_error e = culv_error_init();
    culv_last_error(&e);
    culvi_ipc_server_log(server, CULV_LOG_WARNING, "process %d was refused: %s", (int)link->pid,
                         e.message);
    culvi_ipc_refuse(server, link, question, e.result, e.reason, e.message);
}

static void greet(culv_ipc_server *server, culvi_ipc_link *link, const culvi_ipc_message *question)
{
    culvi_ipc_message reply = {.type = CULVI_IPC_HELLO,
                               .pid = (uint32_t)culvi_ipc_this_process(),
                               .driver = (uint32_t)server->driver,
                               .device = server->device->caps.uuid};
    if (!link->greeted) (void)culvi_ipc_let_handles(link->channel, server->takes_handles);
    if (!link->greeted) link->greeted_at = culvi_now();
    link->greeted = true;
    link->device = question->device;
    char gpu[40] = "none";
    culvi_text t = {gpu, sizeof gpu, 0};
    if (culvi_uuid_given(&link->device)) culvi_text_add_uuid(&t, &link->device);
    culvi_ipc_server_log(server, CULV_LOG_INFO,
                         "process %d of user %u says that its GPU is %s, its driver %u",
                         (int)link->pid, (unsigned)link->user, gpu, (unsigned)question->driver);
    culvi_ipc_answer(server, link, question, &reply, NULL);
}

static void list(culv_ipc_server *server, culvi_ipc_link *link, const culvi_ipc_message *question)
{
    culvi_ipc_message reply = {
        .type = CULVI_IPC_LIST, .total = server->num_offers, .number = question->number};
    if (question->number < server->num_offers) reply.info = server->offers[question->number]->info;
    culvi_ipc_answer(server, link, question, &reply, NULL);
}

static void give_one(culv_ipc_server *server, culvi_ipc_link *link,
                     const culvi_ipc_message *question, const culvi_ipc_offer *offer)
{
    culvi_ipc_message reply = {.type = CULVI_IPC_RECEIVE, .info = offer->info};
    if (offer->vector != NULL) {
        reply.info.allocation_size = culv_vector_committed(offer->vector);
        reply.info.size = culv_vector_size(offer->vector);
        reply.info.generation = culv_vector_generation(offer->vector);
    }
    memcpy(reply.data, offer->data, sizeof reply.data);
    reply.fds = offer->handle.type != CULV_HANDLE_NONE;
    const culvi_ipc_native native = culvi_ipc_native_of(&offer->handle);
    culvi_ipc_answer(server, link, question, &reply, &native);
}

/* The chunks from number `first` on, with the handles of those whose id is above `known`. */
static void give_chunks(culv_ipc_server *server, culvi_ipc_link *link,
                        const culvi_ipc_message *question, const culvi_ipc_offer *offer)
{
    culvi_ipc_message reply = {.type = CULVI_IPC_CHUNKS};
    culvi_ipc_native fds[CULVI_IPC_FDS];
    size_t total = 0, have = 0;
    uint64_t generation = 0;
    const uint32_t share = culvi_ipc_share(server);
    culvi_attempt_begin(); /* a client can ask for what fails as often as it likes */
    culv_result result = culv_vector_get_parts(offer->vector, NULL, 0, &total, &generation);
    culv_part *chunks = culvi_alloc((total + 1) * sizeof *chunks);
    if (chunks == NULL) {
        culvi_fail_host_memory(&server->device->voice, server->label);
        (void)culvi_attempt_end(&server->device->voice, CULV_OK);
        refuse_by_error(server, link, question);
        return;
    }
    /* The size first: behind it are at least as many bytes of chunks. */
    reply.size = culv_vector_size(offer->vector);
    have = total;
    if (result == CULV_OK)
        result = culv_vector_get_parts(offer->vector, chunks, have, &total, &generation);
    if (total < have) have = total;
    reply.total = have;
    reply.generation = generation;
    reply.number = question->number < have ? question->number : have;
    for (uint64_t i = reply.number; result == CULV_OK && i < have && reply.count < CULVI_IPC_FDS;
         i++) {
        culv_handle handle;
        if (chunks[i].id > question->known) {
            if (reply.fds == share) break;
            result = culv_vmm_export_dup(chunks[i].allocation,
                                         (culv_handle_type)CULVI_HANDLE_OPAQUE, &handle);
            if (result != CULV_OK) break;
            fds[reply.fds++] = culvi_ipc_native_of(&handle);
        }
        reply.chunks[reply.count++] =
            (culvi_ipc_chunk){chunks[i].id, chunks[i].offset, chunks[i].size};
    }
    culvi_free(chunks);
    (void)culvi_attempt_end(&server->device->voice, CULV_OK);
    /* Those that could be exported are a whole answer; the next question meets the error again. */
    if (result != CULV_OK && reply.count == 0)
        refuse_by_error(server, link, question);
    else
        culvi_ipc_answer(server, link, question, &reply, fds);
    culvi_ipc_close_own(fds, reply.fds);
}

static void give(culv_ipc_server *server, culvi_ipc_link *link, const culvi_ipc_message *question)
{
    const culvi_ipc_offer *offer = culvi_ipc_offer_find(server, question->name);
    if (offer == NULL)
        culvi_ipc_refuse(server, link, question, CULV_ERROR_INVALID, CULV_REASON_IPC_NAME,
                         "the server offers nothing of that name");
    else if (question->type == CULVI_IPC_RECEIVE)
        give_one(server, link, question, offer);
    else if (offer->vector == NULL)
        culvi_ipc_refuse(server, link, question, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                         "what the server offers by that name is no vector");
    else
        give_chunks(server, link, question, offer);
}

static void join(culv_ipc_server *server, culvi_ipc_link *link, const culvi_ipc_message *question,
                 const culvi_ipc_native *fds)
{
    culvi_ipc_message reply = {.type = CULVI_IPC_JOIN};
    culvi_ipc_native out[CULVI_IPC_FDS];
    const culvi_ipc_offer *offer = culvi_ipc_offer_find(server, question->name);
    if (offer == NULL || offer->ring == NULL) {
        culvi_ipc_refuse(server, link, question, CULV_ERROR_INVALID,
                         offer == NULL ? CULV_REASON_IPC_NAME : CULV_REASON_VALUE,
                         offer == NULL ? "the server offers nothing of that name"
                                       : "what the server offers by that name is no ring");
        return;
    }
    /* A client that was not let send them asks so, and hears here why. */
    if (question->join.timelines != 0 && question->fds == 0 &&
        culvi_ipc_ring_takes_handles(offer->ring)) {
        culvi_ipc_refuse(
            server, link, question, CULV_ERROR_BUSY, CULV_REASON_VALUE,
            server->takes_handles
                ? "the two handles of the timelines did not come with the question; the ring takes them now"
                : "the server lets no handles in: too many that others sent are still to be closed; join again later");
        return;
    }
    CULVI_TEXT(why, 128);
    const culvi_ipc_io good = culvi_ipc_handles_good(fds, question->fds, false, &why);
    if (good != CULVI_IPC_DONE) {
        culvi_ipc_refuse(
            server, link, question, good == CULVI_IPC_OS ? CULV_ERROR_DRIVER : CULV_ERROR_INVALID,
            good == CULVI_IPC_OS ? CULV_REASON_OS : CULV_REASON_HANDLE_KIND,
            good == CULVI_IPC_OS
                ? "the server's process may not look at file descriptors (statx; a seccomp filter?)"
                : why.data);
        return;
    }
    culvi_attempt_begin(); /* a client can ask for what fails as often as it likes */
    const culv_result result = culvi_ipc_ring_admit(offer->ring, (uint32_t)(link - server->links),
                                                    question, fds, &reply, out);
    (void)culvi_attempt_end(&server->device->voice, CULV_OK);
    if (link->channel == CULVI_IPC_NO_CHANNEL) return; /* the ring has looked at its pages */
    if (result != CULV_OK) {
        refuse_by_error(server, link, question);
        return;
    }
    culvi_ipc_answer(server, link, question, &reply, out);
    culvi_ipc_close_own(out, reply.fds);
}

/* False: the connection is over. */
static bool serve(culv_ipc_server *server, culvi_ipc_link *link, const culvi_ipc_message *m,
                  const culvi_ipc_native *fds)
{
    if (!link->greeted && m->type != CULVI_IPC_HELLO) {
        culvi_ipc_link_drop(server, link, "did not begin with a greeting");
        return false;
    }
    if (m->type != CULVI_IPC_HELLO && m->type != CULVI_IPC_WAKE) link->asked = true;
    switch (m->type) {
    case CULVI_IPC_HELLO: greet(server, link, m); break;
    case CULVI_IPC_LIST: list(server, link, m); break;
    case CULVI_IPC_RECEIVE:
    case CULVI_IPC_CHUNKS: give(server, link, m); break;
    case CULVI_IPC_JOIN: join(server, link, m, fds); break;
    case CULVI_IPC_LEAVE:
        culvi_ipc_ring_leave(server, (uint32_t)(link - server->links), m->number);
        break;
    case CULVI_IPC_WAKE: break; /* whoever waits for it looks at the pages */
    case CULVI_IPC_ERROR:
    case CULVI_IPC_TYPES: break; /* not decoded */
    }
    return link->channel != CULVI_IPC_NO_CHANNEL;
}

static uint32_t read_link(culv_ipc_server *server, culvi_ipc_link *link)
{
    uint32_t done = 0;
    while (link->channel != CULVI_IPC_NO_CHANNEL && done < MESSAGES &&
           culvi_ipc_link_may_ask(server, link)) {
        culvi_ipc_message m;
        culvi_ipc_native fds[CULVI_IPC_FDS];
        CULVI_TEXT(why, 192);
        culvi_text_add(&why, "sent what is no message: ");
        switch (culvi_ipc_receive(link->channel, false, &m, fds, &why)) {
        case CULVI_IPC_DONE:
            done++;
            (void)serve(server, link, &m, fds);
            culvi_ipc_close_fds(fds, m.fds);
            break;
        case CULVI_IPC_LATER:
        case CULVI_IPC_CROWDED: return done;
        case CULVI_IPC_GONE: culvi_ipc_link_drop(server, link, NULL); return done + 1;
        case CULVI_IPC_BAD: culvi_ipc_link_drop(server, link, why.data); return done + 1;
        case CULVI_IPC_NO_FD:
        case CULVI_IPC_SHUT:
            culvi_ipc_link_drop(server, link, "sent what could not be taken: no handle is left");
            return done + 1;
        case CULVI_IPC_OS: {
            const int error = culvi_ipc_os_error();
            why.length = 0;
            culvi_text_add(
                &why,
                "could not be read: the system refuses %s to this process (%d); a filter on it (seccomp) may forbid it",
                culvi_ipc_receive_call, error);
            culvi_ipc_link_drop(server, link, why.data);
            return done + 1;
        }
        }
    }
    return done;
}

/* What has come by now; waits till then for something to come. */
static culv_result serve_some(culv_ipc_server *server, uint64_t timeout, size_t *count,
                              uint32_t *done)
{
    uint32_t numbers[EVENTS];
    const culv_result result = culvi_ipc_door_wait(server->door, &server->device->voice,
                                                   server->label, timeout, numbers, EVENTS, count);
    bool door = culvi_ipc_door_behind(server->door);
    if (result != CULV_OK) return result;
    culvi_ipc_links_let_handles(server);
    culvi_ipc_links_go_on(server);
    for (size_t i = 0; i < *count; i++) {
        if (numbers[i] == CULVI_IPC_AT_DOOR)
            door = true;
        else if (server->links[numbers[i]].channel != CULVI_IPC_NO_CHANNEL)
            *done += read_link(server, &server->links[numbers[i]]);
    }
    /* Last: who left has made room. */
    for (int i = 0; door && i < COMERS; i++)
        door = admit(server, done);
    return CULV_OK;
}

culv_result culv_ipc_server_poll(culv_ipc_server *server, uint64_t timeout, uint32_t *answered)
{
    /* Not everything that somebody waits for wakes the server. */
    enum { SLICE_MS = 5 };
    const uint64_t slice = UINT64_C(1000000) * SLICE_MS, until = culvi_ipc_until(timeout);
    uint32_t done = 0;
    size_t count = 0;
    culv_result result;
    CULVI_REQUIRE(NULL, server);
    const int cancel = culvi_cancel_disable();
    for (;;) {
        const uint64_t now = timeout != 0 ? culvi_now() : until;
        const uint64_t left = now < until ? until - now : 0;
        const bool looks = culvi_ipc_door_behind(server->door) || culvi_ipc_links_wait(server);
        result = serve_some(server, looks && left > slice ? slice : left, &count, &done);
        if (result != CULV_OK || count > 0 || done > 0 || left == 0) break;
        if (!looks) break;
    }
    culvi_cancel_restore(cancel);
    if (result == CULV_OK && answered != NULL) *answered = done;
    return result;
}
