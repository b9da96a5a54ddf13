/* SPDX-License-Identifier: MIT */
/* Which servers there are. Wine 8 lists no pipes, so the listing is played there: of the names
 * below, those that are no server's, and those whose pipe is there. Windows' own is taken where
 * there is one. The link replaces the two calls (tests/windows/CMakeLists.txt). */
#include "ipc_scene.h"

#include <wchar.h>

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

static BOOL tell(WIN32_FIND_DATAW *out)
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
    if (!tell(out)) return INVALID_HANDLE_VALUE;
    play.open++;
    return &search;
}

static BOOL WINAPI next(HANDLE handle, WIN32_FIND_DATAW *out)
{
    return handle == &search ? tell(out) : __real___imp_FindNextFileW(handle, out);
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
