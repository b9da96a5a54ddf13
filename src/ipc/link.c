/* SPDX-License-Identifier: MIT */
/* The server's end of a connection: answers, what they cost, and what the log says.
 *
 * A peer pays for itself. Handles that nobody has read count against the server's user
 * (RLIMIT_NOFILE), so no client may leave more of them unread than its share, and no answer is
 * given up because others use up the rest: it waits. Whoever does not read is not read from. */
#include "ipc/ipc_ring_side.h"

#include <stdio.h>

/* The log -------------------------------------------------------------------------------------- */

static void tell_left_out(culv_ipc_server *server)
{
    if (server->lines_left_out == 0) return;
    culvi_log(&server->device->voice, CULV_LOG_WARNING,
              "server '%s': %" PRIu64 " lines about its clients were left out here", server->label,
              server->lines_left_out);
    server->lines_left_out = 0;
}

void culvi_ipc_server_log(culv_ipc_server *server, culv_log_level level, const char *format, ...)
{
    enum { BURST = 24, MS_A_LINE = 250 };
    const uint64_t a_line = UINT64_C(1000000) * MS_A_LINE, now = culvi_now();
    char text[512];
    va_list args;
    if (!culvi_log_wants(&server->device->voice, level)) return;
    /* Each line moves this on, and it is never far behind. */
    const uint64_t oldest = now > BURST * a_line ? now - BURST * a_line : 0;
    if (server->lines_until < oldest) server->lines_until = oldest;
    if (server->lines_until + a_line > now) {
        server->lines_left_out++;
        return;
    }
    server->lines_until += a_line;
    tell_left_out(server);
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    culvi_log(&server->device->voice, level, "server '%s': %s", server->label, text);
}

/* Its end -------------------------------------------------------------------------------------- */

static void forget_kept(culvi_ipc_link *link)
{
    if (link->kept == NULL) return;
    culvi_ipc_close_own(link->kept->handles, link->kept->message.fds);
    culvi_free(link->kept);
    link->kept = NULL;
}

static void end_link(const culv_ipc_server *server, culvi_ipc_link *link)
{
    /* A child of fork() has the parent's set. */
    const bool mine = server->process == culvi_ipc_this_process();
    forget_kept(link);
    if (mine) culvi_ipc_door_forget(server->door, link->channel);
    culvi_ipc_channel_close(&link->channel, mine);
    link->greeted = link->held = false;
    link->unread = 0;
}

void culvi_ipc_link_drop(culv_ipc_server *server, culvi_ipc_link *link, const char *why)
{
    if (link->channel == CULVI_IPC_NO_CHANNEL) return;
    culvi_ipc_server_log(server, why != NULL ? CULV_LOG_WARNING : CULV_LOG_INFO,
                         "the client of process %d %s", (int)link->pid,
                         why != NULL ? why : "has left");
    end_link(server, link);
    culvi_ipc_rings_forget(server, (uint32_t)(link - server->links));
}

void culvi_ipc_links_end(culv_ipc_server *server)
{
    for (size_t i = 0; i < CULV_IPC_MAX_CLIENTS; i++)
        if (server->links[i].channel != CULVI_IPC_NO_CHANNEL) end_link(server, &server->links[i]);
    tell_left_out(server);
}

/* What it may have unread ---------------------------------------------------------------------- */

/* Half of what may be in flight, for all clients together: the other half is for answers under way,
 * and for what else this user does. */
static uint64_t budget(void)
{
    return culvi_ipc_most_in_flight() / 2;
}

uint32_t culvi_ipc_share(const culv_ipc_server *server)
{
    /* One answer more may come on top of it. */
    const uint64_t share = budget() / 2 / server->max_clients;
    return share < 1 ? 1 : share > CULVI_IPC_FDS ? CULVI_IPC_FDS : (uint32_t)share;
}

static uint32_t unread(culvi_ipc_link *link)
{
    if (link->unread > 0 && culvi_ipc_all_read(link->channel)) link->unread = 0;
    return link->unread;
}

/* Where several users are admitted, one of them has not more than half of it, and one answer: its
 * other clients are not read from then. */
static bool user_has_much(culv_ipc_server *server, uint32_t user)
{
    uint64_t sum = 0;
    if (server->users.count < 2) return false;
    for (uint32_t i = 0; i < server->max_clients; i++) {
        culvi_ipc_link *link = &server->links[i];
        if (link->channel != CULVI_IPC_NO_CHANNEL && link->user == user) sum += unread(link);
    }
    return sum > 0 && sum >= budget() / 2;
}

/* True: it is listened to. */
static bool set_held(culv_ipc_server *server, culvi_ipc_link *link, bool held)
{
    if (link->held != held) {
        link->held = held;
        if (held) link->held_since = culvi_now();
        culvi_ipc_door_listen(server->door, link->channel, (uint32_t)(link - server->links), !held);
    }
    return !held;
}

bool culvi_ipc_link_may_ask(culv_ipc_server *server, culvi_ipc_link *link)
{
    if (link->kept != NULL) return false; /* held */
    const uint32_t some = unread(link);
    return set_held(server, link,
                    (some > 0 && some >= culvi_ipc_share(server)) ||
                        user_has_much(server, link->user));
}

/* Answers -------------------------------------------------------------------------------------- */

static void blame(culv_ipc_server *server, const culvi_ipc_link *link)
{
    const culvi_ipc_link *worst = link;
    for (uint32_t i = 0; i < server->max_clients; i++) {
        culvi_ipc_link *other = &server->links[i];
        if (other->channel != CULVI_IPC_NO_CHANNEL && unread(other) > worst->unread) worst = other;
    }
    if (worst != link)
        culvi_ipc_server_log(
            server, CULV_LOG_WARNING,
            "too many handles are in flight (RLIMIT_NOFILE), so that process %d waits for an answer; process %d has not read %" PRIu32
            " of its own",
            (int)link->pid, (int)worst->pid, worst->unread);
    else
        culvi_ipc_server_log(
            server, CULV_LOG_WARNING,
            "too many handles of this user are in flight (RLIMIT_NOFILE), in sockets of other programs; process %d waits for an answer",
            (int)link->pid);
}

static void keep(culv_ipc_server *server, culvi_ipc_link *link, const culvi_ipc_message *reply,
                 const culvi_ipc_native *handles)
{
    culvi_ipc_kept *k = culvi_alloc(sizeof *k);
    uint32_t have = 0;
    if (k != NULL) {
        k->message = *reply;
        while (have < reply->fds && culvi_ipc_handle_dup(handles[have], &k->handles[have]))
            have++;
    }
    if (k != NULL && have == reply->fds) {
        link->kept = k;
        (void)set_held(server, link, true);
        return;
    }
    if (k != NULL) culvi_ipc_close_own(k->handles, have);
    culvi_free(k);
    culvi_ipc_link_drop(server, link, "could not be answered: no memory or no handle is left");
}

/* False: it is kept, or could be. */
static bool send_answer(culv_ipc_server *server, culvi_ipc_link *link,
                        const culvi_ipc_message *reply, const culvi_ipc_native *handles)
{
    const culvi_ipc_io io = culvi_ipc_send(link->channel, reply, handles);
    switch (io) {
    case CULVI_IPC_DONE: link->unread += reply->fds; break;
    case CULVI_IPC_LATER:
        if (CULVI_IPC_TELLS_READ) return false;
        culvi_ipc_link_drop(server, link, "does not read its answers: its connection was closed");
        break;
    case CULVI_IPC_CROWDED:
        if (link->kept == NULL) blame(server, link);
        return false;
    case CULVI_IPC_GONE: culvi_ipc_link_drop(server, link, NULL); break;
    case CULVI_IPC_SHUT:
        culvi_ipc_link_drop(server, link, "lets in no handles, and asked for some");
        break;
    case CULVI_IPC_OS:
        culvi_ipc_link_drop(
            server, link,
            "could not be answered: the system refuses it to this process; a filter on it (seccomp) may forbid it");
        break;
    case CULVI_IPC_NO_FD:
    case CULVI_IPC_BAD: culvi_ipc_link_drop(server, link, "could not be answered"); break;
    }
    return true;
}

void culvi_ipc_answer(culv_ipc_server *server, culvi_ipc_link *link,
                      const culvi_ipc_message *question, culvi_ipc_message *reply,
                      const culvi_ipc_native *handles)
{
    reply->sequence = question->sequence;
    reply->answer = true;
    if (!send_answer(server, link, reply, handles)) keep(server, link, reply, handles);
}

culvi_ipc_message culvi_ipc_error(culv_result result, culv_reason reason, const char *text)
{
    culvi_ipc_message m = {
        .type = CULVI_IPC_ERROR, .answer = true, .result = result, .reason = reason};
    culvi_text t = {m.text, sizeof m.text, 0};
    culvi_text_add(&t, "%s", text);
    return m;
}

void culvi_ipc_refuse(culv_ipc_server *server, culvi_ipc_link *link,
                      const culvi_ipc_message *question, culv_result result, culv_reason reason,
                      const char *text)
{
    culvi_ipc_message reply = culvi_ipc_error(result, reason, text);
    culvi_ipc_answer(server, link, question, &reply, NULL);
}

bool culvi_ipc_links_wait(const culv_ipc_server *server)
{
    for (uint32_t i = 0; i < server->max_clients; i++)
        if (server->links[i].channel != CULVI_IPC_NO_CHANNEL && server->links[i].held) return true;
    return false;
}

void culvi_ipc_links_go_on(culv_ipc_server *server)
{
    for (uint32_t i = 0; i < server->max_clients; i++) {
        culvi_ipc_link *link = &server->links[i];
        if (link->channel == CULVI_IPC_NO_CHANNEL || !link->held) continue;
        if (link->kept != NULL &&
            send_answer(server, link, &link->kept->message, link->kept->handles))
            forget_kept(link); /* dropped: it has none already */
        if (link->channel != CULVI_IPC_NO_CHANNEL) (void)culvi_ipc_link_may_ask(server, link);
    }
}

/* Only a ring whose consumers bring their timelines needs handles of clients. */
void culvi_ipc_links_let_handles(culv_ipc_server *server)
{
    enum { MANY = 256 }; /* of a few messages: the limit of open files is 1024 in general */
    bool any = false;
    for (const culvi_ipc_ring *r = server->rings; r != NULL && !any; r = r->next)
        any = culvi_ipc_ring_takes_handles(r);
    any = any && !culvi_ipc_close_busy(MANY);
    if (server->takes_handles == any) return;
    server->takes_handles = any;
    for (uint32_t i = 0; i < server->max_clients; i++)
        if (server->links[i].channel != CULVI_IPC_NO_CHANNEL && server->links[i].greeted)
            (void)culvi_ipc_let_handles(server->links[i].channel, any);
}
