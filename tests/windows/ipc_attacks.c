/* SPDX-License-Identifier: MIT */
/* Peers that lie, through pipes of their own: to a server, and to a client. */
#include "ipc_scene.h"

#include "ipc/ipc_wire.h"

#include <string.h>

/* A server that is attacked -------------------------------------------------------------------- */

typedef struct target {
    ipc_scene scene;
    culv_ipc_server *server;
    char name[CULV_IPC_NAME_SIZE];
    volatile LONG stop;
    HANDLE thread;
} target;

static DWORD WINAPI answer(void *user)
{
    target *t = user;
    while (!t->stop)
        OK(culv_ipc_server_poll(t->server, 2000000, NULL));
    return 0;
}

static void begin(target *t)
{
    memset(t, 0, sizeof *t);
    ipc_open(&t->scene);
    t->server = ipc_server(&t->scene, ipc_name(t->name, "attacked"));
    t->thread = CreateThread(NULL, 0, answer, t, 0, NULL);
    REQUIRE(t->thread != NULL);
}

static void end(target *t)
{
    InterlockedExchange(&t->stop, 1);
    REQUIRE(WaitForSingleObject(t->thread, SCENE_FAR_MS) == WAIT_OBJECT_0);
    CloseHandle(t->thread);
    culv_ipc_server_destroy(&t->server);
    ipc_close(&t->scene);
}

static HANDLE reach(const char *name)
{
    char path[CULV_IPC_NAME_SIZE + 32];
    DWORD mode = PIPE_READMODE_MESSAGE;
    const ULONGLONG start = GetTickCount64();
    snprintf(path, sizeof path, "\\\\.\\pipe\\culvert.%s", name);
    for (;;) {
        const HANDLE pipe =
            CreateFileA(path, GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_EXISTING, 0, NULL);
        if (pipe != INVALID_HANDLE_VALUE) {
            REQUIRE(SetNamedPipeHandleState(pipe, &mode, NULL, NULL));
            return pipe;
        }
        REQUIRE(GetLastError() == ERROR_PIPE_BUSY && GetTickCount64() - start < SCENE_FAR_MS);
        Sleep(1);
    }
}

static bool put(HANDLE pipe, const void *bytes, size_t size)
{
    DWORD sent;
    return WriteFile(pipe, bytes, (DWORD)size, &sent, NULL) != FALSE;
}

static culvi_ipc_message message(culvi_ipc_type type)
{
    culvi_ipc_message m;
    memset(&m, 0, sizeof m);
    m.type = type;
    m.sequence = 1;
    return m;
}

static bool put_message(HANDLE pipe, const culvi_ipc_message *m, const uint64_t *numbers)
{
    unsigned char frame[CULVI_IPC_BYTES + CULVI_IPC_FDS * 8];
    culvi_ipc_encode(m, frame);
    if (m->fds > 0) memcpy(frame + CULVI_IPC_BYTES, numbers, m->fds * sizeof *numbers);
    return put(pipe, frame, CULVI_IPC_BYTES + m->fds * sizeof(uint64_t));
}

static bool get_message(HANDLE pipe, culvi_ipc_message *out)
{
    unsigned char bytes[CULVI_IPC_BYTES];
    char text[160] = "";
    culvi_text why = {text, sizeof text, 0};
    DWORD got = 0;
    return ReadFile(pipe, bytes, sizeof bytes, &got, NULL) &&
           culvi_ipc_decode(bytes, got, 0, true, out, &why);
}

static void greet(HANDLE pipe)
{
    const culvi_ipc_message m = message(CULVI_IPC_HELLO);
    culvi_ipc_message reply;
    REQUIRE(put_message(pipe, &m, NULL) && get_message(pipe, &reply));
    REQUIRE(reply.type == CULVI_IPC_HELLO);
}

/* Whatever it had to say, the server has closed the connection. */
static void closed(HANDLE pipe)
{
    unsigned char bytes[CULVI_IPC_BYTES];
    DWORD got = 0;
    while (ReadFile(pipe, bytes, sizeof bytes, &got, NULL)) {
    }
    REQUIRE(GetLastError() == ERROR_BROKEN_PIPE || GetLastError() == ERROR_PIPE_NOT_CONNECTED);
}

static void rubbish(HANDLE pipe)
{
    unsigned char bytes[CULVI_IPC_BYTES];
    memset(bytes, 0xa5, sizeof bytes);
    REQUIRE(put(pipe, bytes, sizeof bytes));
    closed(pipe);
}

/* A question of the right kind with another length. */
static void of_size(HANDLE pipe, size_t size)
{
    unsigned char bytes[4096] = {0};
    const culvi_ipc_message m = message(CULVI_IPC_LIST);
    greet(pipe);
    culvi_ipc_encode(&m, bytes);
    REQUIRE(put(pipe, bytes, size));
    closed(pipe);
}

static void too_short(HANDLE pipe)
{
    of_size(pipe, CULVI_IPC_BYTES - 1);
}

static void empty(HANDLE pipe)
{
    of_size(pipe, 0);
}

static void too_long(HANDLE pipe)
{
    of_size(pipe, 4096);
}

static void odd_tail(HANDLE pipe)
{
    of_size(pipe, CULVI_IPC_BYTES + 3);
}

static void unannounced(HANDLE pipe)
{
    of_size(pipe, CULVI_IPC_BYTES + 8);
}

static void other_version(HANDLE pipe)
{
    unsigned char bytes[CULVI_IPC_BYTES];
    const culvi_ipc_message m = message(CULVI_IPC_HELLO);
    culvi_ipc_encode(&m, bytes);
    bytes[4]++;
    REQUIRE(put(pipe, bytes, sizeof bytes));
    closed(pipe);
}

static void no_greeting(HANDLE pipe)
{
    const culvi_ipc_message m = message(CULVI_IPC_LIST);
    REQUIRE(put_message(pipe, &m, NULL));
    closed(pipe);
}

static void says_answer(HANDLE pipe)
{
    culvi_ipc_message m = message(CULVI_IPC_HELLO);
    m.answer = true;
    REQUIRE(put_message(pipe, &m, NULL));
    closed(pipe);
}

static culvi_ipc_message join_question(void)
{
    culvi_ipc_message m = message(CULVI_IPC_JOIN);
    strcpy(m.name, "frames");
    m.join.timelines = 1;
    m.fds = 2;
    return m;
}

static void no_handles(HANDLE pipe)
{
    const culvi_ipc_message m = join_question();
    greet(pipe);
    REQUIRE(put_message(pipe, &m, (const uint64_t[]){0xdeadbee0u, 0xdeadbee4u}));
    closed(pipe);
}

/* Real handles, of nothing that could be meant: its own process, twice. */
static void odd_handles(HANDLE pipe)
{
    const culvi_ipc_message m = join_question();
    culvi_ipc_message reply;
    greet(pipe);
    REQUIRE(put_message(pipe, &m, (const uint64_t[]){UINT64_MAX, UINT64_MAX}));
    REQUIRE(get_message(pipe, &reply) && reply.type == CULVI_IPC_ERROR);
    REQUIRE(reply.reason == CULV_REASON_IPC_NAME);
}

/* Types that are no timeline's: nothing is made of the handles. */
static void odd_types(HANDLE pipe)
{
    culvi_ipc_message m = join_question();
    greet(pipe);
    m.join.handle_type = CULV_HANDLE_D3D12_RESOURCE;
    REQUIRE(put_message(pipe, &m, (const uint64_t[]){UINT64_MAX, UINT64_MAX}));
    closed(pipe);
}

/* It asks and asks, and reads nothing. */
static void deaf(HANDLE pipe)
{
    const culvi_ipc_message m = message(CULVI_IPC_LIST);
    greet(pipe);
    for (int i = 0; i < 4000 && put_message(pipe, &m, NULL); i++) {
    }
    closed(pipe);
}

static void at_once(HANDLE pipe)
{
    (void)pipe;
}

static void server(void)
{
    static const struct {
        const char *name;
        void (*run)(HANDLE pipe);
    } attacks[] = {{"rubbish", rubbish},
                   {"too short", too_short},
                   {"no bytes", empty},
                   {"too long", too_long},
                   {"an odd tail", odd_tail},
                   {"a handle that was not announced", unannounced},
                   {"another version", other_version},
                   {"no greeting", no_greeting},
                   {"an answer", says_answer},
                   {"handles that it does not have", no_handles},
                   {"handles of something else", odd_handles},
                   {"timelines of a type that none has", odd_types},
                   {"asks and does not read", deaf},
                   {"leaves at once", at_once}};
    target t;
    begin(&t);
    for (size_t i = 0; i < sizeof attacks / sizeof attacks[0]; i++) {
        printf("  %s\n", attacks[i].name);
        const HANDLE pipe = reach(t.name);
        attacks[i].run(pipe);
        CloseHandle(pipe);
        culv_ipc_client *client = ipc_client(&t.scene, t.name);
        uint32_t count = 1;
        culv_ipc_info info = culv_ipc_info_init();
        OK(culv_ipc_client_get_offer(client, 0, SCENE_FAR, &info, &count));
        REQUIRE(count == 0);
        culv_ipc_client_destroy(&client);
    }
    /* Those who say nothing make room for others. */
    HANDLE silent[20];
    for (size_t i = 0; i < sizeof silent / sizeof silent[0]; i++)
        silent[i] = reach(t.name);
    culv_ipc_client *client = ipc_client(&t.scene, t.name);
    for (size_t i = 0; i < sizeof silent / sizeof silent[0]; i++)
        CloseHandle(silent[i]);
    culv_ipc_client_destroy(&client);
    end(&t);
}

/* What a server says before it closes the connection is read after that. */
static void full(void)
{
    target t;
    culv_ipc_server_desc d = culv_ipc_server_desc_init();
    culv_ipc_client_desc c = culv_ipc_client_desc_init();
    culv_ipc_client *second = NULL;
    memset(&t, 0, sizeof t);
    ipc_open(&t.scene);
    d.name = c.name = ipc_name(t.name, "full");
    d.max_clients = 1;
    OK(culv_ipc_server_create(t.scene.device, &d, &t.server));
    t.thread = CreateThread(NULL, 0, answer, &t, 0, NULL);
    REQUIRE(t.thread != NULL);
    culv_ipc_client *first = ipc_client(&t.scene, t.name);
    for (int i = 0; i < 10; i++) {
        culv_result result;
        do /* a server that is late itself is told as that */
            result = culv_ipc_client_connect(NULL, &c, UINT64_C(100000000), &second);
        while (result == CULV_ERROR_TIMEOUT);
        REQUIRE(result == CULV_ERROR_BUSY);
        REQUIRE(strstr(culv_last_error_message(), "max_clients") != NULL);
    }
    culv_ipc_client_destroy(&first);
    OK(culv_ipc_client_connect(NULL, &c, SCENE_FAR, &second));
    culv_ipc_client_destroy(&second);
    end(&t);
}

/* A client that is attacked -------------------------------------------------------------------- */

typedef struct impostor {
    HANDLE pipe;
    void (*lie)(HANDLE pipe, const culvi_ipc_message *question);
    bool greets; /* well, and lies after it */
} impostor;

static void send_rubbish(HANDLE pipe, const culvi_ipc_message *q)
{
    unsigned char bytes[CULVI_IPC_BYTES];
    (void)q;
    memset(bytes, 0x5a, sizeof bytes);
    (void)put(pipe, bytes, sizeof bytes);
}

static void send_version(HANDLE pipe, const culvi_ipc_message *q)
{
    unsigned char bytes[CULVI_IPC_BYTES];
    culvi_ipc_message m = *q;
    m.answer = true;
    culvi_ipc_encode(&m, bytes);
    bytes[4]++;
    (void)put(pipe, bytes, sizeof bytes);
}

static void send_long(HANDLE pipe, const culvi_ipc_message *q)
{
    static const unsigned char bytes[4096];
    (void)q;
    (void)put(pipe, bytes, sizeof bytes);
}

static void send_nothing(HANDLE pipe, const culvi_ipc_message *q)
{
    (void)pipe;
    (void)q;
}

static culvi_ipc_message cells(const culvi_ipc_message *q)
{
    culvi_ipc_message m = message(CULVI_IPC_RECEIVE);
    m.sequence = q->sequence;
    m.answer = true;
    m.info = culv_ipc_info_named("cells");
    m.info.kind = CULV_IPC_BUFFER;
    m.info.allocation_size = 65536;
    m.info.handle_type = CULV_HANDLE_OPAQUE_WIN32;
    m.fds = 1;
    return m;
}

static void send_no_handle(HANDLE pipe, const culvi_ipc_message *q)
{
    const culvi_ipc_message m = cells(q);
    (void)put_message(pipe, &m, (const uint64_t[]){0xdeadbee0u});
}

/* A handle of its own, with a type that owns nothing: it would never be closed. */
static void send_kmt(HANDLE pipe, const culvi_ipc_message *q)
{
    culvi_ipc_message m = cells(q);
    m.info.handle_type = CULV_HANDLE_OPAQUE_WIN32_KMT;
    (void)put_message(pipe, &m, (const uint64_t[]){UINT64_MAX});
}

static void send_other_thing(HANDLE pipe, const culvi_ipc_message *q)
{
    culvi_ipc_message m = cells(q);
    m.info.name[0] = 'b';
    (void)put_message(pipe, &m, (const uint64_t[]){UINT64_MAX});
}

static DWORD WINAPI pretend(void *user)
{
    const impostor *me = user;
    unsigned char bytes[CULVI_IPC_BYTES];
    char text[160] = "";
    culvi_text why = {text, sizeof text, 0};
    culvi_ipc_message q, m;
    DWORD got = 0;
    if (!ConnectNamedPipe(me->pipe, NULL) && GetLastError() != ERROR_PIPE_CONNECTED) return 1;
    for (int i = 0; i < (me->greets ? 2 : 1); i++) {
        if (!ReadFile(me->pipe, bytes, sizeof bytes, &got, NULL) ||
            !culvi_ipc_decode(bytes, got, 0, false, &q, &why))
            break;
        if (i == 0 && me->greets) {
            m = message(CULVI_IPC_HELLO);
            m.sequence = q.sequence;
            m.answer = true;
            (void)put_message(me->pipe, &m, NULL);
        } else {
            me->lie(me->pipe, &q);
        }
    }
    if (me->lie != send_nothing) (void)ReadFile(me->pipe, bytes, sizeof bytes, &got, NULL);
    CloseHandle(me->pipe); /* not before the client has read, or has gone */
    return 0;
}

static void client(void)
{
    static const struct {
        const char *name;
        void (*lie)(HANDLE pipe, const culvi_ipc_message *question);
        bool greets, bytes; /* bytes: a pipe of bytes */
        culv_reason reason;
    } lies[] = {
        {"rubbish", send_rubbish, false, false, CULV_REASON_IPC_PROTOCOL},
        {"another version", send_version, false, false, CULV_REASON_IPC_PROTOCOL},
        {"too long", send_long, true, false, CULV_REASON_IPC_PROTOCOL},
        {"no answer", send_nothing, false, false, CULV_REASON_IPC_GONE},
        {"no answer after the greeting", send_nothing, true, false, CULV_REASON_IPC_GONE},
        {"a pipe of bytes", send_nothing, false, true, CULV_REASON_IPC_PROTOCOL},
        {"a handle that it does not have", send_no_handle, true, false, CULV_REASON_IPC_PROTOCOL},
        {"a handle that owns nothing", send_kmt, true, false, CULV_REASON_IPC_PROTOCOL},
        {"another thing", send_other_thing, true, false, CULV_REASON_IPC_PROTOCOL}};
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        char name[CULV_IPC_NAME_SIZE], path[CULV_IPC_NAME_SIZE + 32];
        culv_ipc_client_desc d = culv_ipc_client_desc_init();
        culv_ipc_client *c = NULL;
        culv_ipc_object *o = NULL;
        printf("  %s\n", lies[i].name);
        const char word[] = {'l', 'i', 'e', (char)('0' + i), 0}; /* Wine keeps a name for a while */
        snprintf(path, sizeof path, "\\\\.\\pipe\\culvert.%s", ipc_name(name, word));
        impostor me = {.lie = lies[i].lie, .greets = lies[i].greets};
        me.pipe = CreateNamedPipeA(path, PIPE_ACCESS_DUPLEX,
                                   lies[i].bytes ? PIPE_TYPE_BYTE
                                                 : PIPE_TYPE_MESSAGE | PIPE_READMODE_MESSAGE,
                                   1, 65536, 65536, 0, NULL);
        REQUIRE(me.pipe != INVALID_HANDLE_VALUE);
        const HANDLE thread = CreateThread(NULL, 0, pretend, &me, 0, NULL);
        REQUIRE(thread != NULL);
        d.name = name;
        culv_result result = culv_ipc_client_connect(NULL, &d, SCENE_FAR, &c);
        REQUIRE((result == CULV_OK) == lies[i].greets);
        if (result == CULV_OK) result = culv_ipc_client_receive(c, "cells", SCENE_FAR, &o);
        printf("    %s\n", culv_last_error_message());
        REQUIRE(result == CULV_ERROR_ASYNC && check_reason(lies[i].reason) && o == NULL);
        culv_ipc_client_destroy(&c);
        REQUIRE(WaitForSingleObject(thread, SCENE_FAR_MS) == WAIT_OBJECT_0);
        CloseHandle(thread);
    }
}

const ipc_case ipc_attack_cases[] = {
    {"attacks.server", server}, {"full", full}, {"attacks.client", client}, {NULL, NULL}};
