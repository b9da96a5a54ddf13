/* SPDX-License-Identifier: MIT */
/* Processes that end at any moment, many that come and go, and handles by their numbers. */
#include "ipc_scene.h"

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
