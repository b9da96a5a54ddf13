/* SPDX-License-Identifier: MIT */
/* Processes that end at any moment, many that come and go, handles by their numbers, and which
 * servers there are. */
#include "ipc_scene.h"

#include <wchar.h>

enum { OPAQUE_MEMORY = 2, ROOM = 65536, WORDS = 1009, CROWD = 24 };

static const wchar_t cells[] = L"Local\\culvert ipc cells";

/* The owner's import, and the offer of it. */
static culv_buffer *offer_cells(const ipc_scene *s, culv_ipc_server *server)
{
    culv_ipc_info info = culv_ipc_info_named("cells");
    info.kind = CULV_IPC_BUFFER;
    info.allocation_size = ROOM;
    culv_handle handle = culv_handle_opaque_win32(ipc_share(cells, OPAQUE_MEMORY, false, ROOM));
    OK(culv_ipc_offer(server, &info, culv_ipc_from_handle(&handle)));
    culv_buffer *buffer = ipc_map(s, &handle, ROOM);
    culv_handle_close(&handle);
    return buffer;
}

static culv_buffer *receive_cells(culv_ipc_client *client)
{
    culv_buffer *buffer = NULL;
    culv_ipc_object *o = ipc_receive(client, "cells");
    OK(culv_ipc_import_buffer(o, &buffer));
    culv_ipc_object_destroy(&o);
    return buffer;
}

/* Clients that die ----------------------------------------------------------------------------- */

/* It is connected, then it has the object, unless it is dead. */
ROLE(die)
{
    culv_ipc_client *client = ipc_client(NULL, name);
    ipc_say(name, 'c');
    (void)ipc_receive(client, "cells");
    ipc_say(name, 'o');
    Sleep(INFINITE);
}

ROLE(die_with_memory)
{
    ipc_scene s;
    ipc_open(&s);
    (void)receive_cells(ipc_client(&s, name));
    ipc_say(name, 'm');
    Sleep(INFINITE);
}

/* Without CUDA: a graphics API would take the handle. */
ROLE(read_cells)
{
    culv_ipc_client *client = ipc_client(NULL, name);
    culv_ipc_object *o = ipc_receive(client, "cells");
    culv_handle handle;
    OK(culv_ipc_object_get_handle(o, &handle));
    const unsigned char *bytes = MapViewOfFile(handle.value.win32, FILE_MAP_READ, 0, 0, 0);
    REQUIRE(bytes != NULL);
    const uint32_t *words = (const void *)(bytes + CULV_SOFT_SHARE_INSIDE);
    for (size_t i = 0; i < WORDS; i++)
        REQUIRE(words[i] == ipc_word(i, 1));
    UnmapViewOfFile(bytes);
    culv_ipc_object_destroy(&o);
    culv_ipc_client_destroy(&client);
}

IPC_CASE(deaths)
{
    ipc_child child;
    char name[CULV_IPC_NAME_SIZE];
    culv_ipc_server *server = ipc_server(s, ipc_name(name, "deaths"));
    culv_buffer *buffer = offer_cells(s, server);
    ipc_write(s, culv_buffer_pointer(buffer), WORDS, 1);
    for (int i = 0; i < 7; i++) { /* one with CUDA, whose start takes Wine seconds */
        ipc_start(&child, i == 6 ? "die_with_memory" : "die", name);
        ipc_hear(name, i == 6 ? 'm' : "co"[i % 2], server);
        REQUIRE(culv_ipc_server_clients(server) == 1);
        ipc_kill(&child);
        while (culv_ipc_server_clients(server) > 0)
            OK(culv_ipc_server_poll(server, SCENE_FAR, NULL));
    }
    ipc_start(&child, "read_cells", name);
    ipc_join(&child, server);
    ipc_require(s, culv_buffer_pointer(buffer), WORDS, 1);
    culv_ipc_server_destroy(&server);
    culv_buffer_unmap(&buffer, NULL);
    REQUIRE(!scene_name_lives(cells)); /* the dead have nothing, and nothing was kept for them */
}

/* Processes that come and go. */
IPC_CASE(crowd)
{
    ipc_child child[4];
    char name[CULV_IPC_NAME_SIZE];
    culv_ipc_server *server = ipc_server(s, ipc_name(name, "crowd"));
    culv_buffer *buffer = offer_cells(s, server);
    ipc_write(s, culv_buffer_pointer(buffer), WORDS, 1);
    for (int i = 0; i < CROWD; i++) {
        if (i >= 4) ipc_join(&child[i % 4], server);
        ipc_start(&child[i % 4], "read_cells", name);
    }
    for (int i = 0; i < 4; i++)
        ipc_join(&child[i], server);
    while (culv_ipc_server_clients(server) > 0)
        OK(culv_ipc_server_poll(server, SCENE_FAR, NULL));
    OK(culv_ipc_withdraw(server, "cells"));
    culv_buffer_unmap(&buffer, NULL);
    REQUIRE(!scene_name_lives(cells));
    culv_ipc_server_destroy(&server);
}

/* Servers that die ----------------------------------------------------------------------------- */

ROLE(serve)
{
    ipc_scene s;
    ipc_open(&s);
    culv_ipc_server *server = ipc_server(&s, name);
    const culv_buffer *buffer = offer_cells(&s, server);
    ipc_write(&s, culv_buffer_pointer(buffer), WORDS, 1);
    for (;;)
        OK(culv_ipc_server_poll(server, SCENE_FAR, NULL));
}

/* What a thread that has ended began to wait for goes on for others. */
typedef struct connecting {
    const ipc_scene *scene;
    const char *name;
    culv_ipc_client *client;
} connecting;

static DWORD WINAPI connect_there(void *user)
{
    connecting *c = user;
    c->client = ipc_client(c->scene, c->name);
    return 0;
}

static culv_ipc_client *connect_in_thread(const ipc_scene *s, const char *name)
{
    connecting c = {s, name, NULL};
    const HANDLE thread = CreateThread(NULL, 0, connect_there, &c, 0, NULL);
    REQUIRE(thread != NULL && WaitForSingleObject(thread, SCENE_FAR_MS) == WAIT_OBJECT_0);
    CloseHandle(thread);
    return c.client;
}

IPC_CASE(server_dies)
{
    ipc_child child;
    culv_ipc_object *o = NULL;
    char name[CULV_IPC_NAME_SIZE];
    ipc_name(name, "server");
    for (int i = 0; i < 2; i++) { /* once more by the same name */
        ipc_start(&child, "serve", name);
        culv_ipc_client *client = connect_in_thread(s, name);
        culv_buffer *buffer = receive_cells(client);
        REQUIRE(culv_ipc_client_connected(client));
        ipc_kill(&child);
        REFUSES(culv_ipc_client_receive(client, "cells", SCENE_FAR, &o), ASYNC, IPC_GONE);
        REQUIRE(!culv_ipc_client_connected(client));
        /* What was received stays usable. */
        ipc_require(s, culv_buffer_pointer(buffer), WORDS, 1);
        ipc_write(s, culv_buffer_pointer(buffer), WORDS, 2);
        ipc_require(s, culv_buffer_pointer(buffer), WORDS, 2);
        culv_buffer_unmap(&buffer, NULL);
        culv_ipc_client_destroy(&client);
        REQUIRE(!scene_name_lives(cells));
    }
}

/* By number ------------------------------------------------------------------------------------ */

typedef struct note {
    uint64_t number, started;
    int32_t pid;
} note;

static note *open_note(const char *name, HANDLE *section)
{
    char text[CULV_IPC_NAME_SIZE + 16];
    snprintf(text, sizeof text, "Local\\%s.note", name);
    *section = CreateFileMappingA(INVALID_HANDLE_VALUE, NULL, PAGE_READWRITE, 0, 4096, text);
    REQUIRE(*section != NULL);
    note *n = MapViewOfFile(*section, FILE_MAP_WRITE, 0, 0, sizeof *n);
    REQUIRE(n != NULL);
    return n;
}

/* A program that only tells numbers. */
ROLE(tell)
{
    ipc_scene s;
    HANDLE section;
    note *n = open_note(name, &section);
    ipc_open(&s);
    const HANDLE shared = ipc_share(cells, OPAQUE_MEMORY, false, ROOM);
    const culv_handle handle = culv_handle_opaque_win32(shared);
    culv_buffer *buffer = ipc_map(&s, &handle, ROOM);
    ipc_write(&s, culv_buffer_pointer(buffer), WORDS, 1);
    n->number = (uint64_t)(uintptr_t)shared;
    n->pid = (int32_t)GetCurrentProcessId();
    OK(culv_ipc_process_get_start(0, &n->started));
    ipc_say(name, 't');
    ipc_hear(name, 'w', NULL);
    ipc_require(&s, culv_buffer_pointer(buffer), WORDS, 2);
    culv_buffer_unmap(&buffer, NULL);
    CloseHandle(shared);
    ipc_close(&s);
}

IPC_CASE(numbers)
{
    ipc_child child;
    HANDLE section;
    culv_handle handle;
    uint64_t started = 0;
    char name[CULV_IPC_NAME_SIZE];
    note *n = open_note(ipc_name(name, "numbers"), &section);
    ipc_start(&child, "tell", name);
    ipc_hear(name, 't', NULL);
    culv_ipc_fetch_desc d = culv_ipc_fetch_desc_init();
    d.pid = n->pid;
    const struct {
        culv_handle_type type;
        uint64_t number, later;
        culv_result result;
        culv_reason reason;
    } rows[] = {
        {CULV_HANDLE_NONE, n->number, 0, CULV_ERROR_INVALID, CULV_REASON_HANDLE_TYPE},
        {CULV_HANDLE_OPAQUE_WIN32_KMT, n->number, 0, CULV_ERROR_INVALID, CULV_REASON_HANDLE_TYPE},
        {CULV_HANDLE_OPAQUE_WIN32, 0x7770, 0, CULV_ERROR_INVALID, CULV_REASON_HANDLE_BAD},
        {CULV_HANDLE_OPAQUE_WIN32, n->number, 1, CULV_ERROR_ASYNC, CULV_REASON_IPC_GONE},
        {CULV_HANDLE_OPAQUE_WIN32, n->number, 0, CULV_OK, CULV_REASON_NONE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        d.type = rows[i].type;
        d.number = rows[i].number;
        d.started = n->started + rows[i].later;
        if (rows[i].result != CULV_OK)
            REFUSES_AS(culv_ipc_fetch_dup(&d, &handle), rows[i].result, rows[i].reason);
    }
    OK(culv_ipc_process_get_start(n->pid, &started));
    REQUIRE(started == n->started);
    OK(culv_ipc_fetch_dup(&d, &handle));
    culv_buffer *buffer = ipc_map(s, &handle, ROOM);
    culv_handle_close(&handle);
    ipc_require(s, culv_buffer_pointer(buffer), WORDS, 1);
    ipc_write(s, culv_buffer_pointer(buffer), WORDS, 2);
    ipc_say(name, 'w');
    REQUIRE(WaitForSingleObject(child.process, SCENE_FAR_MS) == WAIT_OBJECT_0);
    /* `child` keeps the number in use, so it is the same process, which has ended. */
    REFUSES(culv_ipc_fetch_dup(&d, &handle), ASYNC, IPC_GONE);
    ipc_join(&child, NULL);
    culv_buffer_unmap(&buffer, NULL);
    REQUIRE(!scene_name_lives(cells));
    UnmapViewOfFile(n);
    CloseHandle(section);
}

/* Which servers there are ---------------------------------------------------------------------- */

/* Wine 8 lists no pipes, so the listing is played there: of the names below, those that are no
 * server's, and those whose pipe is there. Windows' own is taken where there is one. The link
 * replaces the two calls (tests/windows/CMakeLists.txt). */
enum { MOST = 64, SERVERS = 3 };

typedef HANDLE(WINAPI *first_call)(const wchar_t *, WIN32_FIND_DATAW *);
typedef BOOL(WINAPI *next_call)(HANDLE, WIN32_FIND_DATAW *);
typedef BOOL(WINAPI *close_call)(HANDLE);
extern const first_call __real___imp_FindFirstFileW;
extern const next_call __real___imp_FindNextFileW;
extern const close_call __real___imp_FindClose;

static char servers[SERVERS][CULV_IPC_NAME_SIZE];
static const wchar_t *const others[] = {
    L"lsass", L"culvert", L"culvert.", L"culvert..hidden", L"culvert.a name", L"culvert.\x00fcber",
    L"culverts.name", L"xculvert.name",
    /* 64 letters: one more than a name has */
    L"culvert.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
enum { OTHERS = sizeof others / sizeof others[0] };

/* The play: what is told, what fails, and what was not closed. */
static struct {
    bool on;
    size_t at;      /* in servers and others */
    unsigned fails; /* the call of this number, from 1; 0: none */
    unsigned calls, open;
} play;
static char search; /* its address is the handle */

static BOOL tell_next(WIN32_FIND_DATAW *out)
{
    wchar_t pipe[128];
    if (++play.calls == play.fails) {
        SetLastError(ERROR_NOT_ENOUGH_MEMORY);
        return FALSE;
    }
    memset(out, 0x5a, sizeof *out);
    for (;;) {
        const size_t i = play.at++;
        if (i >= OTHERS + SERVERS) break;
        if (i >= SERVERS) {
            wcscpy(out->cFileName, others[i - SERVERS]);
            return TRUE;
        }
        swprintf(pipe, sizeof pipe / sizeof pipe[0], L"\\\\.\\pipe\\culvert.%hs", servers[i]);
        if (!WaitNamedPipeW(pipe, 1) && GetLastError() == ERROR_FILE_NOT_FOUND) continue;
        wcscpy(out->cFileName, pipe + wcslen(L"\\\\.\\pipe\\"));
        return TRUE;
    }
    SetLastError(ERROR_NO_MORE_FILES);
    return FALSE;
}

static HANDLE WINAPI first(const wchar_t *pattern, WIN32_FIND_DATAW *out)
{
    if (!play.on) return __real___imp_FindFirstFileW(pattern, out);
    REQUIRE(wcscmp(pattern, L"\\\\.\\pipe\\*") == 0);
    play.at = 0;
    if (!tell_next(out)) return INVALID_HANDLE_VALUE;
    play.open++;
    return &search;
}

static BOOL WINAPI next(HANDLE handle, WIN32_FIND_DATAW *out)
{
    return handle == &search ? tell_next(out) : __real___imp_FindNextFileW(handle, out);
}

static BOOL WINAPI done(HANDLE handle)
{
    if (handle != &search) return __real___imp_FindClose(handle);
    play.open--;
    return TRUE;
}

const first_call __wrap___imp_FindFirstFileW = first;
const next_call __wrap___imp_FindNextFileW = next;
const close_call __wrap___imp_FindClose = done;

static bool is_own(const char *name)
{
    for (size_t i = 0; i < SERVERS; i++)
        if (strcmp(servers[i], name) == 0) return true;
    return false;
}

/* The servers of this test among all that there are, in order. */
static size_t find(char (*out)[CULV_IPC_NAME_SIZE])
{
    char names[MOST][CULV_IPC_NAME_SIZE];
    size_t count = SIZE_MAX, own = 0;
    OK(culv_ipc_find_servers(NULL, names, MOST, &count));
    REQUIRE(count <= MOST && play.open == 0);
    for (size_t i = 0; i < count; i++) {
        REQUIRE(i == 0 || strcmp(names[i - 1], names[i]) < 0);
        REQUIRE(strlen(names[i]) < CULV_IPC_NAME_SIZE && names[i][0] != '.');
        if (is_own(names[i])) memcpy(out[own++], names[i], sizeof names[i]);
        REQUIRE(!play.on || is_own(names[i])); /* the others are none */
    }
    return own;
}

static void fails(void)
{
    char names[SERVERS][CULV_IPC_NAME_SIZE];
    unsigned calls;
    play.on = true;
    play.calls = 0;
    REQUIRE(find(names) == SERVERS);
    calls = play.calls;
    REQUIRE(calls == OTHERS + SERVERS + 1);
    for (play.fails = 1; play.fails <= calls; play.fails++) {
        size_t count = 77;
        play.calls = 0;
        REFUSES(culv_ipc_find_servers(NULL, names, SERVERS, &count), DRIVER, OS);
        REQUIRE(count == 77 && play.open == 0);
    }
    play.fails = 0;
}

IPC_CASE(found, .title = "find")
{
    static const char *const words[SERVERS] = {"find-b", "find-c", "find-a"};
    static const size_t order[SERVERS] = {2, 0, 1};
    culv_ipc_server *server[SERVERS];
    char names[SERVERS][CULV_IPC_NAME_SIZE];
    size_t count = 77;
    for (size_t i = 0; i < SERVERS; i++)
        ipc_name(servers[i], words[i]);
    REFUSES(culv_ipc_find_servers(NULL, NULL, 0, NULL), INVALID, NULL_ARGUMENT);
    REFUSES(culv_ipc_find_servers(NULL, NULL, 1, &count), INVALID, NULL_ARGUMENT);
    REFUSES(culv_ipc_find_servers("C:\\", names, SERVERS, &count), UNSUPPORTED, NOT_BUILT);
    play.on = false;
    if (culv_ipc_find_servers(NULL, NULL, 0, &count) != CULV_OK) {
        culv_error why = culv_error_init();
        culv_last_error(&why);
        REQUIRE(why.result == CULV_ERROR_DRIVER && why.reason == CULV_REASON_OS);
        REQUIRE(why.native_code == ERROR_BAD_DEV_TYPE && strstr(why.message, "Wine") != NULL);
        REQUIRE(count == 77);
        printf("this system lists no pipes: played\n");
        play.on = true;
    }
    REQUIRE(find(names) == 0);
    for (size_t i = 0; i < SERVERS; i++)
        server[i] = ipc_server(s, servers[i]);
    REQUIRE(find(names) == SERVERS);
    for (size_t i = 0; i < SERVERS; i++)
        REQUIRE(strcmp(names[i], servers[order[i]]) == 0);
    if (play.on) { /* else others' servers may be there */
        OK(culv_ipc_find_servers(NULL, names, 1, &count));
        REQUIRE(count == SERVERS && strcmp(names[0], servers[order[0]]) == 0);
        OK(culv_ipc_find_servers(NULL, NULL, 0, &count));
        REQUIRE(count == SERVERS);
    }
    fails();
    culv_ipc_server_destroy(&server[1]);
    REQUIRE(find(names) == SERVERS - 1 && strcmp(names[1], servers[0]) == 0);
    culv_ipc_server_destroy(&server[0]);
    culv_ipc_server_destroy(&server[2]);
    REQUIRE(find(names) == 0);
    play.on = false;
}
