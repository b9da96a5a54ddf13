/* SPDX-License-Identifier: MIT */
/* culv_ipc_server: it listens, admits and answers, all within culv_ipc_server_poll(). */
#include "ipc/ipc_server.h"

#include "base/alloc.h"
#include "base/desc.h"
#include "base/handle.h"
#include "base/platform.h"
#include "cuda/context.h"
#include "ipc/ipc_ring_server.h"

#include <inttypes.h>
#include <string.h>

enum {
    MESSAGES = 32, /* of one client before the others have their turn */
    EVENTS = 16
};

/* Making --------------------------------------------------------------------------------------- */

culv_result culv_ipc_server_create(culv_device *device, const culv_ipc_server_desc *desc,
                                   culv_ipc_server **out)
{
    culv_ipc_server_desc d;
    culvi_ipc_address address;
    CULVI_REQUIRE(NULL, device);
    const culvi_voice *voice = &device->voice;
    CULVI_REQUIRE2(voice, desc, out);
    culv_result result = culvi_desc_read(voice, &d, sizeof d, desc, "culv_ipc_server_desc");
    if (result != CULV_OK) return result;
    CULVI_REQUIRE(voice, desc->name);
    if (d.max_clients > CULV_IPC_MAX_CLIENTS)
        return culvi_fail(voice, d.label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "culv_ipc_server_desc.max_clients is %" PRIu32
                          "; at most %d are possible",
                          d.max_clients, CULV_IPC_MAX_CLIENTS);
    culv_ipc_server *server = culvi_alloc(sizeof *server);
    if (server == NULL) return culvi_fail_host_memory(voice, d.label);
    server->refs = 1;
    server->device = device;
    server->max_clients = d.max_clients != 0 ? d.max_clients : 16;
    culvi_label_set(server->label, d.label != NULL ? d.label : d.name);
    for (size_t i = 0; i < CULV_IPC_MAX_CLIENTS; i++)
        server->links[i].channel = CULVI_IPC_NO_CHANNEL;
    culvi_device_ref(device);
    (void)CULVI_CU(device, cuDriverGetVersion, (&server->driver));
    result =
        culvi_ipc_users_copy(voice, d.users, d.num_users, "culv_ipc_server_desc", &server->users);
    if (result == CULV_OK)
        result = culvi_ipc_address_make(voice, d.name, d.directory, "culv_ipc_server_desc", false,
                                        &address);
    if (result == CULV_OK)
        result = culvi_ipc_door_open(voice, server->label, &address, &server->door);
    if (result != CULV_OK) {
        culv_ipc_server_destroy(&server);
        return result;
    }
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
    if (server == NULL || *server == NULL) return;
    culv_ipc_server *s = *server;
    *server = NULL;
    /* The rings first: they tell their consumers, and their offers go with them. */
    while (s->rings != NULL)
        culvi_ipc_ring_stop(s->rings);
    while (s->offers != NULL)
        culvi_ipc_offer_remove(s, s->offers);
    for (size_t i = 0; i < CULV_IPC_MAX_CLIENTS; i++)
        culvi_ipc_channel_close(&s->links[i].channel);
    culvi_ipc_door_close(&s->door);
    culvi_ipc_users_free(&s->users);
    culvi_log_object(&s->device->voice, "destroyed", "server", s->label, 0);
    culvi_ipc_server_unref(s);
}

int culv_ipc_server_fd(const culv_ipc_server *server)
{
    return server != NULL ? culvi_ipc_door_fd(server->door) : -1;
}

uint32_t culv_ipc_server_clients(const culv_ipc_server *server)
{
    uint32_t count = 0;
    for (size_t i = 0; server != NULL && i < CULV_IPC_MAX_CLIENTS; i++)
        count += server->links[i].channel != CULVI_IPC_NO_CHANNEL && server->links[i].greeted;
    return count;
}

/* Connections ---------------------------------------------------------------------------------- */

void culvi_ipc_link_drop(culv_ipc_server *server, culvi_ipc_link *link, const char *why)
{
    if (link->channel == CULVI_IPC_NO_CHANNEL) return;
    culvi_log(&server->device->voice, why != NULL ? CULV_LOG_WARNING : CULV_LOG_INFO,
              "server '%s': the client of process %d %s", server->label, (int)link->pid,
              why != NULL ? why : "has left");
    culvi_ipc_channel_close(&link->channel);
    link->greeted = false;
    culvi_ipc_rings_forget(server, (uint32_t)(link - server->links));
}

static void answer(culv_ipc_server *server, culvi_ipc_link *link, const culvi_ipc_message *question,
                   culvi_ipc_message *reply, const culvi_ipc_native *handles)
{
    static const char *const slow = "does not read its answers: its connection was closed";
    reply->sequence = question->sequence;
    reply->answer = true;
    switch (culvi_ipc_send(link->channel, reply, handles)) {
    case CULVI_IPC_DONE: return;
    case CULVI_IPC_GONE: culvi_ipc_link_drop(server, link, NULL); return;
    case CULVI_IPC_NO_FD:
    case CULVI_IPC_LATER:
    case CULVI_IPC_BAD:
    case CULVI_IPC_OS: culvi_ipc_link_drop(server, link, slow); return;
    }
}

static void refuse(culv_ipc_server *server, culvi_ipc_link *link, const culvi_ipc_message *question,
                   culv_result result, culv_reason reason, const char *text)
{
    culvi_ipc_message reply;
    memset(&reply, 0, sizeof reply);
    reply.type = CULVI_IPC_ERROR;
    reply.result = result;
    reply.reason = reason;
    culvi_text t = {reply.text, sizeof reply.text, 0};
    culvi_text_add(&t, "%s", text);
    answer(server, link, question, &reply, NULL);
}

/* The present error of this thread, for the client. */
static void refuse_by_error(culv_ipc_server *server, culvi_ipc_link *link,
                            const culvi_ipc_message *question)
{
    culv_error e = culv_error_init();
    culv_last_error(&e);
    refuse(server, link, question, e.result, e.reason, e.message);
}

static void admit(culv_ipc_server *server)
{
    static const culvi_ipc_message unasked = {.type = CULVI_IPC_HELLO};
    culvi_ipc_link stranger = {.channel = CULVI_IPC_NO_CHANNEL}, *free = NULL, *silent = NULL;
    const culvi_ipc_io io = culvi_ipc_door_admit(server->door, &stranger.channel);
    if (io != CULVI_IPC_DONE) {
        if (io == CULVI_IPC_NO_FD)
            culvi_log(&server->device->voice, CULV_LOG_WARNING,
                      "server '%s': a client waits, and no handle is left for it", server->label);
        return;
    }
    const bool known = culvi_ipc_peer(stranger.channel, &stranger.user, &stranger.pid);
    if (!known || !culvi_ipc_user_admitted(&server->users, stranger.user)) {
        refuse(server, &stranger, &unasked, CULV_ERROR_UNSUPPORTED, CULV_REASON_IPC_REFUSED,
               "the server does not admit this user");
        culvi_ipc_link *none = &stranger;
        culvi_log(&server->device->voice, CULV_LOG_WARNING,
                  "server '%s': process %d of user %u was turned away", server->label,
                  (int)none->pid, (unsigned)none->user);
        culvi_ipc_channel_close(&stranger.channel);
        return;
    }
    for (uint32_t i = 0; i < server->max_clients; i++) {
        culvi_ipc_link *link = &server->links[i];
        if (link->channel == CULVI_IPC_NO_CHANNEL) {
            if (free == NULL) free = link;
        } else if (!link->greeted && (silent == NULL || link->arrived < silent->arrived)) {
            silent = link;
        }
    }
    /* Who connects and says nothing makes room for others. */
    if (free == NULL && silent != NULL) {
        culvi_ipc_link_drop(server, silent, "said nothing, and made room for another");
        free = silent;
    }
    if (free == NULL) {
        refuse(server, &stranger, &unasked, CULV_ERROR_UNSUPPORTED, CULV_REASON_IPC_REFUSED,
               "the server has as many clients as it admits (culv_ipc_server_desc.max_clients)");
        culvi_ipc_channel_close(&stranger.channel);
        return;
    }
    *free = stranger;
    free->arrived = ++server->arrivals;
    if (!culvi_ipc_door_watch(server->door, free->channel, (uint32_t)(free - server->links)))
        culvi_ipc_link_drop(server, free, "could not be watched");
}

/* Answers -------------------------------------------------------------------------------------- */

static void greet(culv_ipc_server *server, culvi_ipc_link *link, const culvi_ipc_message *question)
{
    culvi_ipc_message reply;
    memset(&reply, 0, sizeof reply);
    reply.type = CULVI_IPC_HELLO;
    reply.pid = (uint32_t)culvi_ipc_this_process();
    reply.driver = (uint32_t)server->driver;
    reply.device = server->device->caps.uuid;
    link->greeted = true;
    link->device = question->device;
    answer(server, link, question, &reply, NULL);
}

static void list(culv_ipc_server *server, culvi_ipc_link *link, const culvi_ipc_message *question)
{
    culvi_ipc_message reply;
    const culvi_ipc_offer *o = server->offers;
    memset(&reply, 0, sizeof reply);
    reply.type = CULVI_IPC_LIST;
    reply.total = server->num_offers;
    reply.number = question->number;
    for (uint64_t i = 0; o != NULL && i < question->number; i++)
        o = o->next;
    if (o != NULL) reply.info = o->info;
    answer(server, link, question, &reply, NULL);
}

static void give_one(culv_ipc_server *server, culvi_ipc_link *link,
                     const culvi_ipc_message *question, const culvi_ipc_offer *offer)
{
    culvi_ipc_message reply;
    memset(&reply, 0, sizeof reply);
    reply.type = CULVI_IPC_RECEIVE;
    reply.info = offer->info;
    if (offer->vector != NULL) {
        reply.info.allocation_size = culv_vector_committed(offer->vector);
        reply.info.size = culv_vector_size(offer->vector);
        reply.info.generation = culv_vector_generation(offer->vector);
    }
    memcpy(reply.data, offer->data, sizeof reply.data);
    reply.fds = offer->handle.type != CULV_HANDLE_NONE;
    const culvi_ipc_native native = culvi_ipc_native_of(&offer->handle);
    answer(server, link, question, &reply, &native);
}

/* The chunks from number `first` on, with the handles of those whose id is above `known`. */
static void give_chunks(culv_ipc_server *server, culvi_ipc_link *link,
                        const culvi_ipc_message *question, const culvi_ipc_offer *offer)
{
    culvi_ipc_message reply;
    culvi_ipc_native fds[CULVI_IPC_FDS];
    size_t total = 0, have = 0;
    uint64_t generation = 0;
    memset(&reply, 0, sizeof reply);
    reply.type = CULVI_IPC_CHUNKS;
    culv_result result = culv_vector_get_chunks(offer->vector, NULL, 0, &total, &generation);
    culv_vector_chunk *chunks = culvi_alloc((total + 1) * sizeof *chunks);
    if (chunks == NULL) {
        culvi_fail_host_memory(&server->device->voice, server->label);
        refuse_by_error(server, link, question);
        return;
    }
    /* The size first: behind it are at least as many bytes of chunks. */
    reply.size = culv_vector_size(offer->vector);
    have = total;
    if (result == CULV_OK)
        result = culv_vector_get_chunks(offer->vector, chunks, have, &total, &generation);
    if (total < have) have = total;
    reply.total = have;
    reply.generation = generation;
    reply.number = question->number < have ? question->number : have;
    for (uint64_t i = reply.number; result == CULV_OK && i < have && reply.count < CULVI_IPC_FDS;
         i++) {
        culv_handle handle;
        if (chunks[i].id > question->known) {
            result = culv_vmm_export_dup(chunks[i].allocation,
                                         (culv_handle_type)CULVI_HANDLE_OPAQUE, &handle);
            if (result != CULV_OK) break;
            fds[reply.fds++] = culvi_ipc_native_of(&handle);
        }
        reply.chunks[reply.count++] =
            (culvi_ipc_chunk){chunks[i].id, chunks[i].offset, chunks[i].size};
    }
    culvi_free(chunks);
    /* Those that could be exported are a whole answer; the next question meets the error again. */
    if (result != CULV_OK && reply.count == 0)
        refuse_by_error(server, link, question);
    else
        answer(server, link, question, &reply, fds);
    culvi_ipc_close_fds(fds, reply.fds);
}

static void give(culv_ipc_server *server, culvi_ipc_link *link, const culvi_ipc_message *question)
{
    const culvi_ipc_offer *offer = culvi_ipc_offer_find(server, question->name);
    if (offer == NULL)
        refuse(server, link, question, CULV_ERROR_INVALID, CULV_REASON_IPC_NAME,
               "the server offers nothing of that name");
    else if (question->type == CULVI_IPC_RECEIVE)
        give_one(server, link, question, offer);
    else if (offer->vector == NULL)
        refuse(server, link, question, CULV_ERROR_INVALID, CULV_REASON_VALUE,
               "what the server offers by that name is no vector");
    else
        give_chunks(server, link, question, offer);
}

static void join(culv_ipc_server *server, culvi_ipc_link *link, const culvi_ipc_message *question,
                 const culvi_ipc_native *fds)
{
    culvi_ipc_message reply;
    culvi_ipc_native out[CULVI_IPC_FDS];
    const culvi_ipc_offer *offer = culvi_ipc_offer_find(server, question->name);
    if (offer == NULL || offer->ring == NULL) {
        refuse(server, link, question, CULV_ERROR_INVALID,
               offer == NULL ? CULV_REASON_IPC_NAME : CULV_REASON_VALUE,
               offer == NULL ? "the server offers nothing of that name"
                             : "what the server offers by that name is no ring");
        return;
    }
    memset(&reply, 0, sizeof reply);
    reply.type = CULVI_IPC_JOIN;
    const culv_result result = culvi_ipc_ring_admit(offer->ring, (uint32_t)(link - server->links),
                                                    question, fds, &reply, out);
    if (result != CULV_OK) {
        refuse_by_error(server, link, question);
        return;
    }
    answer(server, link, question, &reply, out);
    culvi_ipc_close_fds(out, reply.fds);
}

/* False: the connection is over. */
static bool serve(culv_ipc_server *server, culvi_ipc_link *link, const culvi_ipc_message *m,
                  const culvi_ipc_native *fds)
{
    if (!link->greeted && m->type != CULVI_IPC_HELLO) {
        culvi_ipc_link_drop(server, link, "did not begin with a greeting");
        return false;
    }
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
    while (link->channel != CULVI_IPC_NO_CHANNEL && done < MESSAGES) {
        culvi_ipc_message m;
        culvi_ipc_native fds[CULVI_IPC_FDS];
        char text[192] = "";
        culvi_text why = {text, sizeof text, 0};
        culvi_text_add(&why, "sent what is no message: ");
        switch (culvi_ipc_receive(link->channel, false, &m, fds, &why)) {
        case CULVI_IPC_DONE:
            done++;
            (void)serve(server, link, &m, fds);
            culvi_ipc_close_fds(fds, m.fds);
            break;
        case CULVI_IPC_LATER: return done;
        case CULVI_IPC_GONE: culvi_ipc_link_drop(server, link, NULL); return done + 1;
        case CULVI_IPC_BAD: culvi_ipc_link_drop(server, link, text); return done + 1;
        case CULVI_IPC_NO_FD:
        case CULVI_IPC_OS:
            culvi_ipc_link_drop(server, link, "sent what could not be taken: no handle is left");
            return done + 1;
        }
    }
    return done;
}

culv_result culv_ipc_server_poll(culv_ipc_server *server, uint64_t timeout, uint32_t *answered)
{
    uint32_t numbers[EVENTS], done = 0;
    size_t count = 0;
    CULVI_REQUIRE(NULL, server);
    const int cancel = culvi_cancel_disable();
    const culv_result result = culvi_ipc_door_wait(server->door, &server->device->voice,
                                                   server->label, timeout, numbers, EVENTS, &count);
    for (size_t i = 0; i < count; i++) {
        if (numbers[i] == CULVI_IPC_AT_DOOR)
            admit(server);
        else if (server->links[numbers[i]].channel != CULVI_IPC_NO_CHANNEL)
            done += read_link(server, &server->links[numbers[i]]);
    }
    culvi_cancel_restore(cancel);
    if (result == CULV_OK && answered != NULL) *answered = done;
    return result;
}
