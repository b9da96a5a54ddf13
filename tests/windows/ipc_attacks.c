/* SPDX-License-Identifier: MIT */
/* Peers that lie, through pipes of their own: to a server, and to a client. What is the same for
 * sockets (rubbish, versions, turns) is library-ipc-attacks'. */
#include "ipc_scene.h"

#include "ipc/ipc_wire.h"

/* A server that is attacked -------------------------------------------------------------------- */

typedef struct target {
    ipc_scene scene;
    char name[CULV_IPC_NAME_SIZE];
    ipc_answerer answerer;
} target;

static void begin(target *t, const char *word, uint32_t max_clients)
{
    culv_ipc_server_desc d = culv_ipc_server_desc_init();
    memset(t, 0, sizeof *t);
    ipc_open(&t->scene);
    d.name = ipc_name(t->name, word);
    if (max_clients != 0) d.max_clients = max_clients;
    OK(culv_ipc_server_create(t->scene.device, &d, &t->answerer.server));
    ipc_answer(&t->answerer);
}

static void end(target *t)
{
    ipc_stop_answering(&t->answerer);
    culv_ipc_server_destroy(&t->answerer.server);
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

static bool put_message(HANDLE pipe, const culvi_ipc_message *m)
{
    unsigned char frame[CULVI_IPC_BYTES];
    culvi_ipc_encode(m, frame);
    return put(pipe, frame, sizeof frame);
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
    REQUIRE(put_message(pipe, &m) && get_message(pipe, &reply));
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

/* A question, spoilt: it is sent so often, and the server closes the connection or answers. A JOIN
 * has two handles. */
typedef struct attack {
    const char *name;
    size_t size; /* of the frame, whatever it should be */
    unsigned times;
    uint64_t number; /* of its handles */
    culv_handle_type handle_type;
    culv_reason answers;
} attack;

enum { BYTES = CULVI_IPC_BYTES, JOIN_BYTES = BYTES + 2 * 8 };

static const attack attacks[] = {
    {"too short", BYTES - 1, 1, 0, 0, 0},
    {"no bytes", 0, 1, 0, 0, 0},
    {"too long", 4096, 1, 0, 0, 0},
    {"an odd tail", BYTES + 3, 1, 0, 0, 0},
    {"a handle that was not announced", BYTES + 8, 1, 0, 0, 0},
    {"handles that it does not have", JOIN_BYTES, 1, 0xdeadbee0u, 0, 0},
    /* Real handles, of nothing that could be meant: its own process, twice. */
    {"handles of something else", JOIN_BYTES, 1, UINT64_MAX, 0, CULV_REASON_IPC_NAME},
    /* Nothing is made of the handles. */
    {"timelines of a type that none has", JOIN_BYTES, 1, UINT64_MAX, CULV_HANDLE_D3D12_RESOURCE, 0},
    {"asks and does not read", BYTES, 4000, 0, 0, 0},
    {"leaves at once", BYTES, 0, 0, 0, 0},
};

static void make_attack(const attack *x, HANDLE pipe)
{
    unsigned char bytes[4096] = {0};
    const uint64_t numbers[2] = {x->number, x->number};
    const bool joins = x->size == JOIN_BYTES;
    culvi_ipc_message m = message(joins ? CULVI_IPC_JOIN : CULVI_IPC_LIST), reply;
    if (x->times == 0) return;
    if (joins) {
        strcpy(m.name, "frames");
        m.join.timelines = 1;
        m.join.handle_type = x->handle_type;
        m.fds = 2;
    }
    greet(pipe);
    culvi_ipc_encode(&m, bytes);
    if (joins) memcpy(bytes + BYTES, numbers, sizeof numbers);
    unsigned sent = 0;
    while (sent < x->times && put(pipe, bytes, x->size))
        sent++;
    REQUIRE(sent == x->times || x->times > 1);
    if (x->answers == CULV_REASON_NONE)
        closed(pipe);
    else
        REQUIRE(get_message(pipe, &reply) && reply.type == CULVI_IPC_ERROR &&
                reply.reason == x->answers);
}

TEST(server, .title = "attacks.server")
{
    target t;
    begin(&t, "attacked", 0);
    for (size_t i = 0; i < sizeof attacks / sizeof attacks[0]; i++) {
        printf("  %s\n", attacks[i].name);
        const HANDLE pipe = reach(t.name);
        make_attack(&attacks[i], pipe);
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
TEST(full)
{
    target t;
    culv_ipc_client_desc c = culv_ipc_client_desc_init();
    culv_ipc_client *second = NULL;
    begin(&t, "full", 1);
    c.name = t.name;
    culv_ipc_client *first = ipc_client(&t.scene, t.name);
    culv_ipc_info info = culv_ipc_info_init();
    uint32_t count = 1;
    OK(culv_ipc_client_get_offer(first, 0, SCENE_FAR, &info, &count)); /* the silent make room */
    REQUIRE(count == 0);
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

typedef enum lie_kind { TOO_LONG, NOTHING, CELLS } lie_kind;
typedef struct lie {
    const char *name;
    lie_kind kind;
    bool greets; /* well, and lies after it */
    bool bytes;  /* a pipe of bytes */
    culv_reason reason;
    uint64_t number; /* of CELLS, whose name begins with... */
    culv_handle_type handle_type;
    char begins;
} lie;

static const lie lies[] = {
#define LIE(name, kind, greets, bytes, reason, ...)                                                \
    {                                                                                              \
        name, kind, greets, bytes, CULV_REASON_IPC_##reason, __VA_ARGS__                           \
    }
    LIE("too long", TOO_LONG, true, false, PROTOCOL, 0, 0, 0),
    /* A server that ends while it is greeted leaves its name to the next one, which never comes. */
    LIE("no answer", NOTHING, false, false, NAME, 0, 0, 0),
    LIE("no answer after the greeting", NOTHING, true, false, GONE, 0, 0, 0),
    LIE("a pipe of bytes", NOTHING, false, true, PROTOCOL, 0, 0, 0),
    LIE("a handle that it does not have", CELLS, true, false, PROTOCOL, 0xdeadbee0u,
        CULV_HANDLE_OPAQUE_WIN32, 'c'),
    /* A handle of its own, with a type that owns nothing: it would never be closed. */
    LIE("a handle that owns nothing", CELLS, true, false, PROTOCOL, UINT64_MAX,
        CULV_HANDLE_OPAQUE_WIN32_KMT, 'c'),
    LIE("another thing", CELLS, true, false, PROTOCOL, UINT64_MAX, CULV_HANDLE_OPAQUE_WIN32, 'b'),
};

static void tell(HANDLE pipe, const culvi_ipc_message *q, const lie *l)
{
    unsigned char bytes[4096] = {0};
    culvi_ipc_message m = *q;
    m.answer = true;
    if (l->kind == CELLS) {
        m = message(CULVI_IPC_RECEIVE);
        m.sequence = q->sequence;
        m.answer = true;
        m.info = culv_ipc_info_named("cells");
        m.info.name[0] = l->begins;
        m.info.kind = CULV_IPC_BUFFER;
        m.info.allocation_size = 65536;
        m.info.handle_type = l->handle_type;
        m.fds = 1;
    }
    if (l->kind == CELLS) culvi_ipc_encode(&m, bytes);
    if (l->kind == CELLS) memcpy(bytes + BYTES, &l->number, sizeof l->number);
    if (l->kind != NOTHING)
        (void)put(pipe, bytes, l->kind == TOO_LONG ? sizeof bytes : BYTES + sizeof l->number);
}

typedef struct impostor {
    HANDLE pipe;
    const lie *lie;
} impostor;

static DWORD WINAPI pretend(void *user)
{
    const impostor *me = user;
    unsigned char bytes[CULVI_IPC_BYTES];
    char text[160] = "";
    culvi_text why = {text, sizeof text, 0};
    culvi_ipc_message q, m;
    DWORD got = 0;
    /* The client may have come, and gone again, before this. */
    if (!ConnectNamedPipe(me->pipe, NULL) && GetLastError() != ERROR_PIPE_CONNECTED) return 0;
    for (int i = 0; i < (me->lie->greets ? 2 : 1); i++) {
        if (!ReadFile(me->pipe, bytes, sizeof bytes, &got, NULL) ||
            !culvi_ipc_decode(bytes, got, 0, false, &q, &why))
            break;
        if (i == 0 && me->lie->greets) {
            m = message(CULVI_IPC_HELLO);
            m.sequence = q.sequence;
            m.answer = true;
            (void)put_message(me->pipe, &m);
        } else {
            tell(me->pipe, &q, me->lie);
        }
    }
    if (me->lie->kind != NOTHING) (void)ReadFile(me->pipe, bytes, sizeof bytes, &got, NULL);
    CloseHandle(me->pipe); /* not before the client has read, or has gone */
    return 0;
}

TEST(client, .title = "attacks.client")
{
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        char name[CULV_IPC_NAME_SIZE], path[CULV_IPC_NAME_SIZE + 32];
        culv_ipc_client_desc d = culv_ipc_client_desc_init();
        culv_ipc_client *c = NULL;
        culv_ipc_object *o = NULL;
        printf("  %s\n", lies[i].name);
        const char word[] = {'l', 'i', 'e', (char)('0' + i), 0}; /* Wine keeps a name for a while */
        snprintf(path, sizeof path, "\\\\.\\pipe\\culvert.%s", ipc_name(name, word));
        impostor me = {.lie = &lies[i]};
        me.pipe = CreateNamedPipeA(path, PIPE_ACCESS_DUPLEX,
                                   lies[i].bytes ? PIPE_TYPE_BYTE
                                                 : PIPE_TYPE_MESSAGE | PIPE_READMODE_MESSAGE,
                                   1, 65536, 65536, 0, NULL);
        REQUIRE(me.pipe != INVALID_HANDLE_VALUE);
        const HANDLE thread = scene_thread(pretend, &me);
        d.name = name;
        const bool waits = lies[i].reason == CULV_REASON_IPC_NAME;
        culv_result result =
            culv_ipc_client_connect(NULL, &d, waits ? SCENE_FAR / 30 : SCENE_FAR, &c);
        REQUIRE((result == CULV_OK) == lies[i].greets);
        if (result == CULV_OK) result = culv_ipc_client_receive(c, "cells", SCENE_FAR, &o);
        printf("    %s\n", culv_last_error_message());
        REQUIRE(result == (waits ? CULV_ERROR_TIMEOUT : CULV_ERROR_ASYNC));
        REQUIRE(scene_reason_is(lies[i].reason) && o == NULL);
        culv_ipc_client_destroy(&c);
        scene_join(thread);
    }
}
