/* SPDX-License-Identifier: MIT */
/* culv_ipc_client: it connects, asks and receives. */
#include "ipc/ipc_client.h"

#include "cuda/context.h"

/* Questions ------------------------------------------------------------------------------------ */

/* What the server has not been told yet, as far as there is room for it. */
static void send_leaves(culv_ipc_client *client)
{
    culvi_ipc_message m = {.type = CULVI_IPC_LEAVE};
    while (client->leaves != NULL) {
        culvi_ipc_leave *leave = client->leaves;
        m.number = leave->sequence;
        if (client->channel != CULVI_IPC_NO_CHANNEL &&
            culvi_ipc_send(client->channel, &m, NULL) == CULVI_IPC_LATER)
            return;
        client->leaves = leave->next;
        culvi_free(leave);
    }
}

void culvi_ipc_take_back(culv_ipc_client *client, culvi_ipc_leave *leave)
{
    culvi_ipc_leave **at = &client->leaves;
    while (*at != NULL)
        at = &(*at)->next;
    leave->next = NULL;
    *at = leave;
    send_leaves(client);
}

static void end(culv_ipc_client *client, const char *why)
{
    culvi_ipc_channel_close(&client->channel, client->process == culvi_ipc_this_process());
    send_leaves(client); /* the end of the connection says it */
    culvi_text t = {client->over, sizeof client->over, 0};
    culvi_text_add(&t, "%s", why);
}

/* The connection was over before this call. */
static culv_result fail_gone(const culv_ipc_client *client, const char *call)
{
    return culvi_fail(
        culvi_ipc_voice(client->device), client->label, CULV_ERROR_ASYNC, CULV_REASON_IPC_GONE,
        "%s: the connection is over: %s. What was received stays usable; culv_ipc_client_destroy() this client and connect anew",
        call, client->over);
}

static culv_result over(culv_ipc_client *client, const char *call, culv_reason reason,
                        const char *why)
{
    end(client, why);
    if (reason == CULV_REASON_IPC_GONE) return fail_gone(client, call);
    return culvi_fail(
        culvi_ipc_voice(client->device), client->label, CULV_ERROR_ASYNC, reason,
        "%s: what the server (process %d) sent is no answer: %s. The connection is closed", call,
        (int)client->server_pid, why);
}

/* Nobody but this process's own system, or a filter on it, is to blame. */
static culv_result refused(culv_ipc_client *client, const char *call, const char *what)
{
    const int error = culvi_ipc_os_error();
    end(client, "the system refused to this process what it needs");
    return culvi_fail_os(
        culvi_ipc_voice(client->device), client->label, error, what,
        "%s: the system refuses to this process what the connection to the server (process %d) needs, and the connection is closed. A filter on this process (seccomp) may forbid it",
        call, (int)client->server_pid);
}

/* An answer of the server's that says no. */
static culv_result said_no(const culv_ipc_client *client, const char *call,
                           const culvi_ipc_message *m)
{
    const culv_result class = m->result == CULV_ERROR_INVALID || m->result == CULV_ERROR_BUSY ||
                                      m->result == CULV_ERROR_OUT_OF_MEMORY ||
                                      m->result == CULV_ERROR_DRIVER ||
                                      m->result == CULV_ERROR_UNSUPPORTED
                                  ? m->result
                                  : CULV_ERROR_ASYNC;
    return culvi_fail(culvi_ipc_voice(client->device), client->label, class, m->reason,
                      "%s: the server (process %d) says: %s", call, (int)client->server_pid,
                      m->text);
}

static culvi_ipc_io send_question(culv_ipc_client *client, culvi_ipc_message *question,
                                  const culvi_ipc_native *handles)
{
    culvi_ipc_io io = culvi_ipc_send(client->channel, question, handles);
    /* The server takes no handles, and says why when it is asked without them. */
    if (io == CULVI_IPC_SHUT && question->fds > 0) {
        question->fds = 0;
        io = culvi_ipc_send(client->channel, question, NULL);
    }
    return io;
}

/* The answer to this question: DONE. LATER: it has not come. */
static culvi_ipc_io read_answer(const culv_ipc_client *client, const culvi_ipc_message *question,
                                culvi_ipc_message *reply, culvi_ipc_native got[CULVI_IPC_FDS],
                                culvi_text *why)
{
    enum { MOST = 256 }; /* that a server sends besides; then the time is looked at */
    for (int i = 0; i < MOST; i++) {
        const culvi_ipc_io io = culvi_ipc_receive(client->channel, true, reply, got, why);
        if (io != CULVI_IPC_DONE) return io;
        const bool mine = reply->sequence == question->sequence;
        const bool refusal = reply->type == CULVI_IPC_ERROR && (mine || reply->sequence == 0);
        if (refusal || (reply->type == question->type && mine)) {
            const culvi_ipc_io good = culvi_ipc_handles_good(got, reply->fds, true, why);
            if (good != CULVI_IPC_DONE) culvi_ipc_close_fds(got, reply->fds);
            return good;
        }
        /* An answer to a question that was given up, or a wake. */
        culvi_ipc_close_fds(got, reply->fds);
        if (reply->type == CULVI_IPC_WAKE || reply->sequence < question->sequence) continue;
        culvi_text_add(why, "it answers what was not asked");
        return CULVI_IPC_BAD;
    }
    return CULVI_IPC_LATER;
}

culv_result culvi_ipc_ask(culv_ipc_client *client, const char *call, culvi_ipc_message *question,
                          const culvi_ipc_native *handles, uint64_t until, culvi_ipc_message *reply,
                          culvi_ipc_native got[CULVI_IPC_FDS])
{
    const culvi_voice *voice = culvi_ipc_voice(client->device);
    if (client->channel == CULVI_IPC_NO_CHANNEL) return fail_gone(client, call);
    send_leaves(client);
    question->sequence = ++client->sequence != 0 ? client->sequence : ++client->sequence;
    /* Let in till the answer is here, also when it comes too late. */
    if (culvi_ipc_answer_has_handles(question->type))
        (void)culvi_ipc_let_handles(client->channel, true);
    culvi_ipc_io io = send_question(client, question, handles);
    /* A server reads no client that leaves its answers unread, so late ones are taken first. No
     * message says when there is room. */
    for (uint64_t now = culvi_now(); io == CULVI_IPC_LATER && now < until; now = culvi_now()) {
        const uint64_t soon = now + UINT64_C(2000000);
        if (!culvi_ipc_look(client)) return fail_gone(client, call);
        (void)culvi_ipc_wait(client->channel, soon < until ? soon : until);
        io = send_question(client, question, handles);
    }
    if (io == CULVI_IPC_LATER || io == CULVI_IPC_CROWDED)
        return culvi_fail(
            voice, client->label, CULV_ERROR_TIMEOUT, CULV_REASON_IPC_GONE,
            io == CULVI_IPC_LATER
                ? "%s: the server (process %d) has not read earlier questions; does it call culv_ipc_server_poll()?"
                : "%s: the handles could not be sent to the server (process %d): this user has as many in flight as RLIMIT_NOFILE allows",
            call, (int)client->server_pid);
    if (io == CULVI_IPC_OS) return refused(client, call, culvi_ipc_send_call);
    /* A server that turned this client away said why before it closed. */
    if (io != CULVI_IPC_DONE && io != CULVI_IPC_GONE)
        return over(client, call, CULV_REASON_IPC_GONE, "the question could not be sent");
    for (bool late = false;;) {
        CULVI_TEXT(why, 160);
        io = read_answer(client, question, reply, got, &why);
        switch (io) {
        case CULVI_IPC_DONE:
            (void)culvi_ipc_let_handles(client->channel, false);
            return reply->type == CULVI_IPC_ERROR ? said_no(client, call, reply) : CULV_OK;
        case CULVI_IPC_LATER: break;
        case CULVI_IPC_NO_FD:
            return culvi_fail(
                voice, client->label, CULV_ERROR_INVALID, CULV_REASON_OS,
                "%s: the server's handles cannot be taken: this process has none left; %s", call,
                culvi_handle_left_advice);
        case CULVI_IPC_BAD: return over(client, call, CULV_REASON_IPC_PROTOCOL, why.data);
        case CULVI_IPC_OS: return refused(client, call, culvi_ipc_receive_call);
        case CULVI_IPC_GONE:
        case CULVI_IPC_CROWDED:
        case CULVI_IPC_SHUT:
            client->ended = true;
            return over(client, call, CULV_REASON_IPC_GONE,
                        "the server has ended, or has closed it");
        }
        const int ready = culvi_ipc_wait(client->channel, until);
        if (ready < 0) return refused(client, call, culvi_ipc_wait_call);
        /* An answer that is here in the end is taken; what comes without end is not. */
        if (ready == 0 || late)
            return culvi_fail(
                voice, client->label, CULV_ERROR_TIMEOUT, CULV_REASON_IPC_GONE,
                "%s: the server (process %d) has not answered in time; does it call culv_ipc_server_poll()?",
                call, (int)client->server_pid);
        late = culvi_now() >= until;
    }
}

bool culvi_ipc_look(culv_ipc_client *client)
{
    enum { MOST = 256 }; /* the rest next time: it may come without end */
    send_leaves(client);
    for (int i = 0; i < MOST && client->channel != CULVI_IPC_NO_CHANNEL; i++) {
        culvi_ipc_message m;
        culvi_ipc_native fds[CULVI_IPC_FDS];
        CULVI_TEXT(why, 160);
        switch (culvi_ipc_receive(client->channel, true, &m, fds, &why)) {
        case CULVI_IPC_DONE: culvi_ipc_close_fds(fds, m.fds); continue; /* a wake, or late */
        case CULVI_IPC_NO_FD: culvi_sleep_ms(1); return true;           /* it stays readable */
        case CULVI_IPC_LATER:
        case CULVI_IPC_CROWDED:
        case CULVI_IPC_SHUT: return true;
        case CULVI_IPC_BAD: end(client, why.data); return false;
        case CULVI_IPC_GONE: end(client, "the server has ended, or has closed it"); return false;
        case CULVI_IPC_OS:
            end(client, "the system refuses to this process to receive from it");
            return false;
        }
    }
    return client->channel != CULVI_IPC_NO_CHANNEL;
}

/* Connecting ----------------------------------------------------------------------------------- */

static const char connect_call[] = "culv_ipc_client_connect";

static culv_result greet(culv_ipc_client *client, uint64_t until)
{
    culvi_ipc_message question = {.type = CULVI_IPC_HELLO,
                                  .pid = (uint32_t)culvi_ipc_this_process()},
                      reply;
    culvi_ipc_native got[CULVI_IPC_FDS];
    if (client->device != NULL) {
        int driver = 0;
        (void)CULVI_CU(client->device, cuDriverGetVersion, (&driver));
        question.driver = (uint32_t)driver;
        question.device = client->device->caps.uuid;
    }
    CULVI_TRY(culvi_ipc_ask(client, connect_call, &question, NULL, until, &reply, got));
    client->server_device = reply.device;
    client->server_own_pid = (int32_t)reply.pid;
    return CULV_OK;
}

/* A server that ends while it is greeted leaves its name to the next one, which is waited for. So
 * is a place in one that is full. */
static culv_result meet(culv_ipc_client *client, const culvi_ipc_address *address,
                        const culvi_ipc_users *users, uint64_t until)
{
    enum { SOON_MS = 2, FULL_MS = 10 };
    const culvi_voice *voice = culvi_ipc_voice(client->device);
    for (bool full = false;;) {
        culv_result result =
            culvi_ipc_reach(voice, client->label, address, until, &client->channel);
        if (result == CULV_OK &&
            !culvi_ipc_peer(client->channel, &client->server_user, &client->server_pid))
            return refused(client, connect_call, culvi_ipc_peer_call);
        /* Whoever comes first may listen at an abstract name, so the server is asked who it is. */
        if (result == CULV_OK && !culvi_ipc_user_admitted(users, client->server_user))
            result = culvi_fail(
                voice, client->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_IPC_REFUSED,
                "the server '%s' is process %d of user %u%s, whom culv_ipc_client_desc.users does not name",
                address->name, (int)client->server_pid, (unsigned)client->server_user,
                culvi_ipc_user_note(client->server_user));
        if (result != CULV_OK) return result;
        culvi_attempt_begin();
        result = greet(client, until);
        if (result == CULV_ERROR_BUSY) {
            end(client, "the server was full");
            full = client->ended = true;
        }
        const bool again = (result == CULV_ERROR_ASYNC || result == CULV_ERROR_BUSY) &&
                           client->ended && culvi_now() < until;
        (void)culvi_attempt_end(voice, again ? CULV_OK : result);
        if (!again && full && result == CULV_ERROR_TIMEOUT)
            return culvi_fail(
                voice, client->label, CULV_ERROR_BUSY, CULV_REASON_IPC_REFUSED,
                "%s: the server (process %d) had as many clients as it admits (culv_ipc_server_desc.max_clients) all the time",
                connect_call, (int)client->server_pid);
        if (!again) return result;
        client->over[0] = 0;
        client->ended = false;
        culvi_sleep_ms(result == CULV_ERROR_BUSY ? FULL_MS : SOON_MS);
    }
}

culv_result culv_ipc_client_connect(culv_device *device, const culv_ipc_client_desc *desc,
                                    uint64_t timeout, culv_ipc_client **out)
{
    culvi_ipc_address address;
    culvi_ipc_users users;
    const culvi_voice *voice = culvi_ipc_voice(device);
    CULVI_REQUIRE2(voice, desc, out);
    const uint64_t until = culvi_ipc_until(timeout);
    CULVI_READ(voice, culv_ipc_client_desc, d, desc);
    CULVI_REQUIRE(voice, desc->name);
    CULVI_TRY(
        culvi_ipc_address_make(voice, d.name, d.directory, "culv_ipc_client_desc", true, &address));
    CULVI_TRY(culvi_ipc_users_copy(voice, d.users, d.num_users, "culv_ipc_client_desc", &users));
    culv_ipc_client *client = culvi_alloc(sizeof *client);
    if (client == NULL) {
        culvi_ipc_users_free(&users);
        return culvi_fail_host_memory(voice, d.label);
    }
    atomic_init(&client->refs, 1);
    client->device = device;
    client->process = culvi_ipc_this_process();
    client->channel = CULVI_IPC_NO_CHANNEL;
    if (device != NULL) culvi_device_ref(device);
    culvi_label_set(client->label, d.label != NULL ? d.label : d.name);
    culv_result result = meet(client, &address, &users, until);
    culvi_ipc_users_free(&users);
    CULVI_TRY_OR(result, culv_ipc_client_destroy(&client));
    *out = client;
    return CULV_OK;
}

culv_ipc_client *culvi_ipc_client_ref(culv_ipc_client *client)
{
    atomic_fetch_add(&client->refs, 1);
    return client;
}

void culvi_ipc_client_unref(culv_ipc_client *client)
{
    if (atomic_fetch_sub(&client->refs, 1) != 1) return;
    culv_device *device = client->device;
    culvi_free(client);
    if (device != NULL) culvi_device_unref(device);
}

void culv_ipc_client_destroy(culv_ipc_client **client)
{
    CULVI_TAKE(culv_ipc_client, c, client);
    while (c->consumers != NULL)
        culvi_ipc_consumer_over(c->consumers);
    end(c, "this client was destroyed");
    culvi_ipc_client_unref(c);
}

culv_bool culv_ipc_client_connected(culv_ipc_client *client)
{
    return client != NULL && culvi_ipc_look(client);
}

CULVI_GETTER(int32_t, culv_ipc_client_server_pid, culv_ipc_client, self->server_pid, 0)

/* Receiving ------------------------------------------------------------------------------------ */

culv_result culv_ipc_client_get_offer(culv_ipc_client *client, uint32_t index, uint64_t timeout,
                                      culv_ipc_info *out, uint32_t *count)
{
    culvi_ipc_message question = {.type = CULVI_IPC_LIST, .number = index}, reply;
    culvi_ipc_native got[CULVI_IPC_FDS];
    CULVI_REQUIRE_WITH(client, culvi_ipc_voice(client->device), out);
    const culvi_voice *voice = culvi_ipc_voice(client->device);
    CULVI_TRY(culvi_struct_check(voice, out, "culv_ipc_info"));
    CULVI_TRY(
        culvi_ipc_ask(client, __func__, &question, NULL, culvi_ipc_until(timeout), &reply, got));
    if (reply.number != index)
        return over(client, __func__, CULV_REASON_IPC_PROTOCOL, "it is another number's");
    if (index < reply.total) culvi_struct_write(out, &reply.info, sizeof reply.info);
    if (count != NULL) *count = reply.total < UINT32_MAX ? (uint32_t)reply.total : UINT32_MAX;
    return CULV_OK;
}

culv_result culv_ipc_client_receive(culv_ipc_client *client, const char *name, uint64_t timeout,
                                    culv_ipc_object **out)
{
    culvi_ipc_message question = {.type = CULVI_IPC_RECEIVE}, reply;
    culvi_ipc_native got[CULVI_IPC_FDS];
    CULVI_REQUIRE_WITH2(client, culvi_ipc_voice(client->device), name, out);
    const culvi_voice *voice = culvi_ipc_voice(client->device);
    CULVI_TRY(culvi_ipc_read_name(voice, __func__, ": ", name, question.name));
    CULVI_NEW(culv_ipc_object, object, voice, client->label);
    culv_result result =
        culvi_ipc_ask(client, __func__, &question, NULL, culvi_ipc_until(timeout), &reply, got);
    const char *wrong = NULL;
    if (result == CULV_OK && strcmp(reply.info.name, question.name) != 0)
        wrong = "it is another thing's";
    else if (result == CULV_OK && reply.fds == 1 && !culvi_handle_owns(reply.info.handle_type))
        wrong = "its handle is of no type here";
    if (wrong != NULL) {
        culvi_ipc_close_fds(got, reply.fds);
        result = over(client, __func__, CULV_REASON_IPC_PROTOCOL, wrong);
    }
    CULVI_TRY_OR(result, culvi_free(object));
    object->device = client->device;
    if (object->device != NULL) culvi_device_ref(object->device);
    object->info = reply.info;
    object->server_pid = client->server_pid;
    object->server_own_pid = client->server_own_pid;
    memcpy(object->data, reply.data, sizeof object->data);
    if (reply.fds == 1) object->handle = culvi_ipc_handle(reply.info.handle_type, got[0]);
    if (reply.info.kind == CULV_IPC_VMM_FABRIC || reply.info.kind == CULV_IPC_POOL_FABRIC)
        object->handle = culv_handle_fabric(reply.data);
    *out = object;
    return CULV_OK;
}
