/* SPDX-License-Identifier: MIT */
/* Memory, images and fences in another process: data both ways, and whose handles are left;
 * processes that end at any moment, handles by their numbers, and which servers there are. */
#include "ipc_scene.h"

#include <wchar.h>

enum {
    HEAP = 4,
    RESOURCE = 5,
    FENCE = CULV_SOFT_SHARE_SEMAPHORE + 4,
    OPAQUE_TIMELINE = CULV_SOFT_SHARE_SEMAPHORE + 10,
    WORDS = 12347,
    WIDTH = 253,
    HEIGHT = 127,
    TEXELS = WIDTH * HEIGHT,
    MUCH = 262144 /* bytes of each */
};

static const struct {
    const char *word;    /* the object's name */
    const wchar_t *name; /* the section's */
    culv_handle_type type;
    uint32_t share;
    culv_ipc_kind kind;
} rows[] = {
    {"vertices", L"Local\\culvert ipc heap", CULV_HANDLE_D3D12_HEAP, HEAP, CULV_IPC_BUFFER},
    {"picture", L"Local\\culvert ipc resource", CULV_HANDLE_D3D12_RESOURCE, RESOURCE,
     CULV_IPC_IMAGE},
    {"steps", L"Local\\culvert ipc fence", CULV_HANDLE_D3D12_FENCE, FENCE, CULV_IPC_SEMAPHORE},
    {"cells", L"Local\\culvert ipc opaque", CULV_HANDLE_OPAQUE_WIN32, OPAQUE_MEMORY,
     CULV_IPC_BUFFER},
    {"frames", L"Local\\culvert ipc timeline", CULV_HANDLE_OPAQUE_WIN32, OPAQUE_TIMELINE,
     CULV_IPC_SEMAPHORE},
};
enum { SHARES = sizeof rows / sizeof rows[0], CELLS = 3 };

/* What the server says of its things. */
static culv_ipc_info describe(size_t i)
{
    culv_ipc_info info = culv_ipc_info_named(rows[i].word);
    info.kind = rows[i].kind;
    if (info.kind == CULV_IPC_SEMAPHORE) {
        info.semaphore_type = CULV_SEMAPHORE_TIMELINE;
        return info;
    }
    info.allocation_size = MUCH;
    info.dedicated = info.kind == CULV_IPC_IMAGE;
    if (info.dedicated) {
        info.format = CULV_FORMAT_R8G8B8A8_UNORM;
        info.width = WIDTH;
        info.height = HEIGHT;
    } else {
        info.offset = 256;
        info.size = WORDS * 4;
        strcpy(info.text, "words");
    }
    return info;
}

static void copy_image(const ipc_scene *s, culv_image *image, uint32_t seed, bool write)
{
    static uint32_t texels[TEXELS];
    CUarray array = NULL;
    OK(culv_image_get_array(image, 0, 0, &array));
    for (size_t i = 0; i < TEXELS; i++)
        texels[i] = write ? ipc_word(i, seed) : 0;
    scene_cuda_copy(s, array, texels, WIDTH * 4, HEIGHT, 1, write);
    for (size_t i = 0; !write && i < TEXELS; i++)
        REQUIRE(texels[i] == ipc_word(i, seed));
}

/* What a process has of the things. */
typedef struct things {
    culv_buffer *buffer[2];
    culv_image *image;
    culv_semaphore *semaphore[2];
} things;

static void release(things *t)
{
    for (int i = 0; i < 2; i++) {
        culv_buffer_unmap(&t->buffer[i], NULL);
        culv_semaphore_destroy(&t->semaphore[i], NULL);
    }
    culv_image_unmap(&t->image, NULL);
}

ROLE(use)
{
    ipc_scene s;
    things t;
    culv_ipc_object *o = NULL;
    culv_ipc_info info = culv_ipc_info_init();
    uint32_t count = 0;
    memset(&t, 0, sizeof t);
    ipc_open(&s);
    culv_ipc_client *client = ipc_client(&s, name);
    REQUIRE(culv_ipc_client_server_pid(client) != (int32_t)GetCurrentProcessId());
    OK(culv_ipc_client_get_offer(client, 1, SCENE_FAR, &info, &count));
    REQUIRE(count == SHARES && strcmp(info.name, "picture") == 0);
    REFUSES(culv_ipc_client_receive(client, "nothing", SCENE_FAR, &o), INVALID, IPC_NAME);
    for (size_t i = 0; i < SHARES; i++) {
        const culv_ipc_info told = describe(i);
        culv_handle handle;
        o = ipc_receive(client, told.name);
        OK(culv_ipc_object_get_info(o, &info));
        REQUIRE(info.kind == told.kind && info.allocation_size == told.allocation_size);
        REQUIRE(strcmp(info.text, told.text) == 0); /* the rest: library-ipc.fields */
        OK(culv_ipc_object_get_handle(o, &handle));
        REQUIRE(handle.type == info.handle_type);
        DWORD flags = HANDLE_FLAG_INHERIT;
        REQUIRE(GetHandleInformation(handle.value.win32, &flags));
        REQUIRE((flags & HANDLE_FLAG_INHERIT) == 0);
        if (told.kind == CULV_IPC_BUFFER) OK(culv_ipc_import_buffer(o, &t.buffer[i / CELLS]));
        if (told.kind == CULV_IPC_IMAGE) OK(culv_ipc_import_image(o, &t.image));
        if (told.kind == CULV_IPC_SEMAPHORE)
            OK(culv_ipc_import_semaphore(o, &t.semaphore[i / CELLS]));
        culv_ipc_object_destroy(&o);
        REQUIRE(!GetHandleInformation(handle.value.win32, &flags));
    }
    for (int i = 0; i < 2; i++) {
        culv_semaphore_mark_value(t.semaphore[i], 1);
        OK(culv_semaphore_wait(t.semaphore[i], s.stream, 1));
        ipc_require(&s, culv_buffer_pointer(t.buffer[i]), WORDS, 1 + (uint32_t)i);
        if (i == 0) copy_image(&s, t.image, 5, false);
        ipc_write(&s, culv_buffer_pointer(t.buffer[i]), WORDS, 11 + (uint32_t)i);
        if (i == 0) copy_image(&s, t.image, 6, true);
        OK(culv_semaphore_signal(t.semaphore[i], s.stream, 2));
    }
    CU_OK(s.cu->cuStreamSynchronize(s.stream));
    release(&t);
    culv_ipc_client_destroy(&client);
    ipc_close(&s);
}

static void import_own(const ipc_scene *s, things *t, const culv_handle *handle, size_t i)
{
    const culv_ipc_info info = describe(i);
    if (info.kind == CULV_IPC_SEMAPHORE) {
        t->semaphore[i / CELLS] = scene_timeline(s->device, *handle, 0);
        return;
    }
    culv_memory *memory = scene_import(s->device, *handle, MUCH, info.dedicated);
    if (info.kind == CULV_IPC_BUFFER) {
        t->buffer[i / CELLS] = scene_map(memory, info.offset, info.size);
        return;
    }
    culv_image_desc d = culv_image_desc_init();
    d.format = info.format;
    d.width = WIDTH;
    d.height = HEIGHT;
    OK(culv_image_map(memory, &d, &t->image));
    culv_memory_destroy(&memory);
}

IPC_CASE(both_ways)
{
    things t;
    char name[CULV_IPC_NAME_SIZE];
    memset(&t, 0, sizeof t);
    culv_ipc_server *server = ipc_server(s, ipc_name(name, "both"));
    for (size_t i = 0; i < SHARES; i++) {
        const culv_ipc_info info = describe(i);
        culv_handle handle =
            culv_handle_win32(rows[i].type, scene_share(rows[i].name, rows[i].share, info.dedicated,
                                                        info.allocation_size));
        import_own(s, &t, &handle, i);
        OK(culv_ipc_offer(server, &info, culv_ipc_from_handle(&handle)));
        REFUSES(culv_ipc_offer(server, &info, culv_ipc_from_handle(&handle)), BUSY, IPC_NAME);
        culv_handle_close(&handle);
    }
    const HANDLE child = ipc_start("use", name);
    for (uint32_t i = 0; i < 2; i++) {
        ipc_write(s, culv_buffer_pointer(t.buffer[i]), WORDS, 1 + i);
        if (i == 0) copy_image(s, t.image, 5, true);
        OK(culv_semaphore_signal(t.semaphore[i], s->stream, 1));
    }
    for (uint32_t i = 0; i < 2; i++) {
        culv_semaphore_mark_value(t.semaphore[i], 2);
        OK(culv_semaphore_wait(t.semaphore[i], s->stream, 2));
    }
    ipc_join(child, server);
    for (uint32_t i = 0; i < 2; i++)
        ipc_require(s, culv_buffer_pointer(t.buffer[i]), WORDS, 11 + i);
    copy_image(s, t.image, 6, false);
    culv_ipc_server_destroy(&server);
    release(&t);
    for (size_t i = 0; i < SHARES; i++)
        REQUIRE(!scene_name_lives(rows[i].name));
}

/* What is no handle that another process could get, and no server. */
IPC_CASE(offers)
{
    char name[CULV_IPC_NAME_SIZE];
    culv_ipc_server *server = ipc_server(s, ipc_name(name, "offers")), *other = NULL;
    culv_ipc_info info = describe(CELLS);
    const struct {
        culv_handle handle;
        culv_result result;
        culv_reason reason;
    } offered[] = {
        {culv_handle_opaque_win32_kmt((void *)(uintptr_t)0x40000006u), WHY(INVALID, HANDLE_TYPE)},
        {culv_handle_opaque_win32_named(L"Local\\some name"), WHY(INVALID, HANDLE_TYPE)},
        {culv_handle_opaque_fd(1), WHY(UNSUPPORTED, HANDLE_TYPE)},
        {culv_handle_opaque_win32((void *)(uintptr_t)0x7770), WHY(INVALID, HANDLE_BAD)},
    };
    const struct {
        const char *name, *directory;
        uint32_t users;
        culv_result result;
        culv_reason reason;
    } servers[] = {{name, NULL, 0, WHY(BUSY, IPC_NAME)},
                   {"a\\b", NULL, 0, WHY(INVALID, VALUE)},
                   {"elsewhere", "C:\\", 0, WHY(UNSUPPORTED, NOT_BUILT)},
                   {"elsewhere", NULL, 1, WHY(UNSUPPORTED, NOT_BUILT)}};
    for (size_t i = 0; i < sizeof offered / sizeof offered[0]; i++)
        REFUSES_AS(culv_ipc_offer(server, &info, culv_ipc_from_handle(&offered[i].handle)),
                   offered[i].result, offered[i].reason, "");
    for (size_t i = 0; i < sizeof servers / sizeof servers[0]; i++) {
        culv_ipc_server_desc d = culv_ipc_server_desc_init();
        d.name = servers[i].name;
        d.directory = servers[i].directory;
        if (servers[i].users > 0) d.users = (const uint32_t[]){0};
        d.num_users = servers[i].users;
        REFUSES_AS(culv_ipc_server_create(s->device, &d, &other), servers[i].result,
                   servers[i].reason, "");
    }
    culv_ipc_client *client = NULL;
    culv_ipc_client_desc c = culv_ipc_client_desc_init();
    c.name = "nobody";
    REFUSES(culv_ipc_client_connect(NULL, &c, 0, &client), TIMEOUT, IPC_NAME);
    REQUIRE(culv_ipc_server_fd(server) == -1);
    culv_ipc_server_destroy(&server);
}

/* Processes that end --------------------------------------------------------------------------- */

enum { FEW = 1009 };
static const wchar_t cells[] = L"Local\\culvert ipc cells";

/* The owner's import, and the offer of it. */
static culv_buffer *offer_cells(const ipc_scene *s, culv_ipc_server *server)
{
    culv_ipc_info info = culv_ipc_info_named("cells");
    info.kind = CULV_IPC_BUFFER;
    info.allocation_size = ROOM;
    culv_handle handle = culv_handle_opaque_win32(scene_share(cells, OPAQUE_MEMORY, false, ROOM));
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

IPC_CASE(deaths)
{
    char name[CULV_IPC_NAME_SIZE];
    culv_ipc_server *server = ipc_server(s, ipc_name(name, "deaths"));
    culv_buffer *buffer = offer_cells(s, server);
    ipc_write(s, culv_buffer_pointer(buffer), FEW, 1);
    for (int i = 0; i < 7; i++) { /* one with CUDA, whose start takes Wine seconds */
        const HANDLE child = ipc_start(i == 6 ? "die_with_memory" : "die", name);
        ipc_hear(name, i == 6 ? 'm' : "co"[i % 2], server);
        REQUIRE(culv_ipc_server_clients(server) == 1);
        ipc_kill(child);
        ipc_alone(server);
    }
    ipc_require(s, culv_buffer_pointer(buffer), FEW, 1);
    culv_ipc_server_destroy(&server);
    culv_buffer_unmap(&buffer, NULL);
    REQUIRE(!scene_name_lives(cells)); /* the dead have nothing, and nothing was kept for them */
}

/* Servers that die ----------------------------------------------------------------------------- */

ROLE(serve)
{
    ipc_scene s;
    ipc_open(&s);
    culv_ipc_server *server = ipc_server(&s, name);
    const culv_buffer *buffer = offer_cells(&s, server);
    ipc_write(&s, culv_buffer_pointer(buffer), FEW, 1);
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

IPC_CASE(server_dies)
{
    culv_ipc_object *o = NULL;
    char name[CULV_IPC_NAME_SIZE];
    ipc_name(name, "server");
    for (int i = 0; i < 2; i++) { /* once more by the same name */
        const HANDLE child = ipc_start("serve", name);
        connecting c = {s, name, NULL};
        scene_join(scene_thread(connect_there, &c));
        culv_ipc_client *client = c.client;
        culv_buffer *buffer = receive_cells(client);
        REQUIRE(culv_ipc_client_connected(client));
        ipc_kill(child);
        REFUSES(culv_ipc_client_receive(client, "cells", SCENE_FAR, &o), ASYNC, IPC_GONE);
        REQUIRE(!culv_ipc_client_connected(client));
        /* What was received stays usable. */
        ipc_require(s, culv_buffer_pointer(buffer), FEW, 1);
        ipc_write(s, culv_buffer_pointer(buffer), FEW, 2);
        ipc_require(s, culv_buffer_pointer(buffer), FEW, 2);
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
    const HANDLE shared = scene_share(cells, OPAQUE_MEMORY, false, ROOM);
    const culv_handle handle = culv_handle_opaque_win32(shared);
    culv_buffer *buffer = ipc_map(&s, &handle, ROOM);
    ipc_write(&s, culv_buffer_pointer(buffer), FEW, 1);
    n->number = (uint64_t)(uintptr_t)shared;
    n->pid = (int32_t)GetCurrentProcessId();
    OK(culv_ipc_process_get_start(0, &n->started));
    ipc_say(name, 't');
    ipc_hear(name, 'w', NULL);
    ipc_require(&s, culv_buffer_pointer(buffer), FEW, 2);
    culv_buffer_unmap(&buffer, NULL);
    CloseHandle(shared);
    ipc_close(&s);
}

IPC_CASE(numbers)
{
    HANDLE section;
    culv_handle handle;
    uint64_t started = 0;
    char name[CULV_IPC_NAME_SIZE];
    note *n = open_note(ipc_name(name, "numbers"), &section);
    const HANDLE child = ipc_start("tell", name);
    ipc_hear(name, 't', NULL);
    culv_ipc_fetch_desc d = culv_ipc_fetch_desc_init();
    d.pid = n->pid;
    const struct {
        culv_handle_type type;
        uint64_t number, later;
        culv_result result;
        culv_reason reason;
    } wrong[] = {
        {CULV_HANDLE_NONE, n->number, 0, WHY(INVALID, HANDLE_TYPE)},
        {CULV_HANDLE_OPAQUE_WIN32_KMT, n->number, 0, WHY(INVALID, HANDLE_TYPE)},
        {CULV_HANDLE_OPAQUE_WIN32, 0x7770, 0, WHY(INVALID, HANDLE_BAD)},
        {CULV_HANDLE_OPAQUE_WIN32, n->number, 1, WHY(ASYNC, IPC_GONE)},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        d.type = wrong[i].type;
        d.number = wrong[i].number;
        d.started = n->started + wrong[i].later;
        REFUSES_AS(culv_ipc_fetch_dup(&d, &handle), wrong[i].result, wrong[i].reason, "");
    }
    d.started = n->started;
    OK(culv_ipc_process_get_start(n->pid, &started));
    REQUIRE(started == n->started);
    OK(culv_ipc_fetch_dup(&d, &handle));
    culv_buffer *buffer = ipc_map(s, &handle, ROOM);
    culv_handle_close(&handle);
    ipc_require(s, culv_buffer_pointer(buffer), FEW, 1);
    ipc_write(s, culv_buffer_pointer(buffer), FEW, 2);
    ipc_say(name, 'w');
    REQUIRE(WaitForSingleObject(child, SCENE_FAR_MS) == WAIT_OBJECT_0);
    /* `child` keeps the number in use, so it is the same process, which has ended. */
    REFUSES(culv_ipc_fetch_dup(&d, &handle), ASYNC, IPC_GONE);
    ipc_join(child, NULL);
    culv_buffer_unmap(&buffer, NULL);
    REQUIRE(!scene_name_lives(cells));
    UnmapViewOfFile(n);
    CloseHandle(section);
}

/* Which servers there are ---------------------------------------------------------------------- */

/* Wine 8 lists no pipes, so a listing is played: two servers' names among names that are none. The
 * link replaces the three calls (tests/windows/CMakeLists.txt). */
static const wchar_t *const listed[] = {
    L"lsass", L"culvert.b", L"culvert", L"culvert.", L"culvert..hidden", L"culvert.a name",
    L"culvert.\x00fcber", L"culverts.name", L"culvert.a", L"xculvert.name",
    /* 64 letters: one more than a name has */
    L"culvert.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
enum { LISTED = sizeof listed / sizeof listed[0] };

static bool plays;
static unsigned told, closed, lasts = LISTED; /* it ends, or fails, after so many */
static char search;                           /* its address is the handle */

extern HANDLE(WINAPI *const __real___imp_FindFirstFileW)(const wchar_t *, WIN32_FIND_DATAW *);
extern BOOL(WINAPI *const __real___imp_FindNextFileW)(HANDLE, WIN32_FIND_DATAW *);
extern BOOL(WINAPI *const __real___imp_FindClose)(HANDLE);

static BOOL WINAPI next(HANDLE handle, WIN32_FIND_DATAW *out)
{
    if (handle != &search) return __real___imp_FindNextFileW(handle, out);
    if (told == lasts) {
        SetLastError(lasts == LISTED ? ERROR_NO_MORE_FILES : ERROR_BAD_DEV_TYPE);
        return FALSE;
    }
    memset(out, 0x5a, sizeof *out);
    wcscpy(out->cFileName, listed[told++]);
    return TRUE;
}

static HANDLE WINAPI first(const wchar_t *pattern, WIN32_FIND_DATAW *out)
{
    if (!plays) return __real___imp_FindFirstFileW(pattern, out);
    REQUIRE(wcscmp(pattern, L"\\\\.\\pipe\\*") == 0);
    (void)next(&search, out);
    return &search;
}

static BOOL WINAPI done(HANDLE handle)
{
    closed += handle == &search;
    return handle == &search || __real___imp_FindClose(handle);
}

extern HANDLE(WINAPI *const __wrap___imp_FindFirstFileW)(const wchar_t *, WIN32_FIND_DATAW *);
extern BOOL(WINAPI *const __wrap___imp_FindNextFileW)(HANDLE, WIN32_FIND_DATAW *);
extern BOOL(WINAPI *const __wrap___imp_FindClose)(HANDLE);
HANDLE(WINAPI *const __wrap___imp_FindFirstFileW)(const wchar_t *, WIN32_FIND_DATAW *) = first;
BOOL(WINAPI *const __wrap___imp_FindNextFileW)(HANDLE, WIN32_FIND_DATAW *) = next;
BOOL(WINAPI *const __wrap___imp_FindClose)(HANDLE) = done;

/* What is done with the names is library-ipc.found's. */
IPC_CASE(found, .title = "find")
{
    enum { MOST = 64 };
    static const char no_list[] = "(Wine 8 does not); connect by the server's name";
    char names[MOST][CULV_IPC_NAME_SIZE], name[CULV_IPC_NAME_SIZE];
    size_t count = 77, own = 0;
    culv_ipc_server *server = ipc_server(s, ipc_name(name, "find"));
    REFUSES(culv_ipc_find_servers("C:\\", names, MOST, &count), UNSUPPORTED, NOT_BUILT);
    if (culv_ipc_find_servers(NULL, names, MOST, &count) == CULV_OK) {
        for (size_t i = 0; i < count; i++)
            own += strcmp(names[i], name) == 0;
        REQUIRE(own == 1);
    } else {
        REFUSES_SO(culv_ipc_find_servers(NULL, names, MOST, &count), DRIVER, OS, no_list);
        REQUIRE(count == 77);
    }
    culv_ipc_server_destroy(&server);
    plays = true;
    OK(culv_ipc_find_servers(NULL, names, MOST, &count));
    REQUIRE(count == 2 && strcmp(names[0], "a") == 0 && strcmp(names[1], "b") == 0);
    REQUIRE(told == LISTED && closed == 1);
    told = 0;
    lasts = LISTED / 2;
    REFUSES_SO(culv_ipc_find_servers(NULL, names, MOST, &count), DRIVER, OS, no_list);
    REQUIRE(count == 2 && closed == 2);
    plays = false;
}
