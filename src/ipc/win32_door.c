/* SPDX-License-Identifier: MIT */
/* A server's named pipe: one instance listens, and those that clients have reached are its
 * connections. One event is set whenever a read or the listening is over; then all are asked. */
#include "ipc/win32_pipe.h"

#include <winternl.h>

struct culvi_ipc_door {
    wchar_t name[CULVI_IPC_PIPE_NAME];
    HANDLE event;
    culvi_ipc_pipe *next; /* it listens; NULL: there was no handle left for one */
    culvi_ipc_pipe *set[CULV_IPC_MAX_CLIENTS];
    uint32_t turn; /* who is asked first: nobody is left out for others */
};

/* Begins to listen. What becomes of it at once is asked for like what becomes of it later. */
static bool begin(culvi_ipc_pipe *p)
{
    memset(&p->read, 0, sizeof p->read);
    p->read.hEvent = p->event;
    p->listening = true;
    if (ConnectNamedPipe(p->pipe, &p->read)) return true;
    const DWORD error = GetLastError();
    if (error == ERROR_IO_PENDING) return true;
    p->listening = false;
    if (error != ERROR_PIPE_CONNECTED) return false;
    SetEvent(p->event); /* somebody was faster */
    return true;
}

/* Wine 8 ignores FILE_FLAG_FIRST_PIPE_INSTANCE. */
static bool taken(const wchar_t *name)
{
    return WaitNamedPipeW(name, 1) || GetLastError() != ERROR_FILE_NOT_FOUND;
}

/* An instance that listens. NULL: GetLastError(). */
static culvi_ipc_pipe *make(culvi_ipc_door *door, bool first)
{
    /* Only this user may open the pipe. The system's default lets everybody read it. */
    const OBJECT_ATTRIBUTES *own = culvi_own_user_attributes();
    SECURITY_ATTRIBUTES access = {sizeof access, own->SecurityDescriptor, FALSE};
    culvi_ipc_pipe *p = culvi_alloc(sizeof *p);
    if (p == NULL) {
        SetLastError(ERROR_NOT_ENOUGH_MEMORY);
        return NULL;
    }
    p->server = true;
    p->event = door->event;
    if (first && taken(door->name)) {
        culvi_free(p);
        SetLastError(ERROR_PIPE_BUSY);
        return NULL;
    }
    p->pipe = access.lpSecurityDescriptor == NULL
                  ? INVALID_HANDLE_VALUE
                  : CreateNamedPipeW(door->name,
                                     PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED |
                                         (first ? FILE_FLAG_FIRST_PIPE_INSTANCE : 0),
                                     PIPE_TYPE_MESSAGE | PIPE_READMODE_MESSAGE | PIPE_WAIT |
                                         PIPE_REJECT_REMOTE_CLIENTS,
                                     PIPE_UNLIMITED_INSTANCES, CULVI_IPC_PIPE_ROOM,
                                     CULVI_IPC_PIPE_ROOM, 0, &access);
    if (p->pipe != INVALID_HANDLE_VALUE && begin(p)) return p;
    const DWORD error = GetLastError();
    if (p->pipe != INVALID_HANDLE_VALUE) CloseHandle(p->pipe);
    culvi_free(p);
    SetLastError(error);
    return NULL;
}

culv_result culvi_ipc_door_open(const culvi_voice *voice, const char *label,
                                const culvi_ipc_address *address, culvi_ipc_door **out)
{
    CULVI_NEW(culvi_ipc_door, door, voice, label);
    culvi_ipc_pipe_name(address, door->name);
    door->event = CreateEventW(NULL, TRUE, FALSE, NULL);
    if (door->event != NULL) door->next = make(door, true);
    if (door->next != NULL) {
        *out = door;
        return CULV_OK;
    }
    const DWORD error = GetLastError();
    /* ACCESS_DENIED is what FILE_FLAG_FIRST_PIPE_INSTANCE answers; PIPE_BUSY, where the other
     * server wants to be the only one. */
    const bool busy = error == ERROR_ACCESS_DENIED || error == ERROR_PIPE_BUSY;
    culvi_ipc_door_close(&door);
    return error == ERROR_NOT_ENOUGH_MEMORY
               ? culvi_fail_host_memory(voice, label)
               : culvi_fail_native(
                     voice, label, busy ? CULV_ERROR_BUSY : CULV_ERROR_DRIVER,
                     busy ? CULV_REASON_IPC_NAME : CULV_REASON_OS, CULV_NATIVE_OS, (int)error,
                     "CreateNamedPipe", "culv_ipc_server_desc.name '%s' %s", address->name,
                     busy ? "is another server's; choose another name, or end that one"
                          : "cannot be listened at");
}

void culvi_ipc_door_close(culvi_ipc_door **door)
{
    culvi_ipc_door *d = *door;
    if (d == NULL) return;
    *door = NULL;
    culvi_ipc_channel_close(&d->next, true);
    if (d->event != NULL) CloseHandle(d->event);
    culvi_free(d);
}

bool culvi_ipc_door_watch(culvi_ipc_door *door, culvi_ipc_channel channel, uint32_t number)
{
    door->set[number] = channel;
    channel->place = &door->set[number];
    return true;
}

bool culvi_ipc_door_behind(const culvi_ipc_door *door)
{
    return door->next == NULL;
}

/* Whether somebody has come. Who has gone again leaves a pipe that is of no more use. */
static bool has_come(culvi_ipc_door *door)
{
    DWORD bytes;
    culvi_ipc_pipe *p = door->next;
    if (p == NULL || !p->listening) return p != NULL;
    if (GetOverlappedResult(p->pipe, &p->read, &bytes, FALSE)) {
        p->listening = false;
        return true;
    }
    if (GetLastError() == ERROR_IO_INCOMPLETE) return false;
    /* The thread that listened has ended (OPERATION_ABORTED), or the client has. */
    culvi_ipc_channel_close(&door->next, true);
    door->next = make(door, false);
    SetEvent(door->event); /* to begin clears it, and others may just have set it */
    return false;
}

culvi_ipc_io culvi_ipc_door_admit(culvi_ipc_door *door, culvi_ipc_channel *out)
{
    if (!has_come(door)) return door->next != NULL ? CULVI_IPC_LATER : CULVI_IPC_NO_FD;
    culvi_ipc_pipe *p = door->next;
    door->next = make(door, false); /* NULL: culvi_ipc_door_wait() tries again */
    (void)culvi_ipc_pipe_begin(p);
    *out = p;
    return CULVI_IPC_DONE;
}

culv_result culvi_ipc_door_wait(culvi_ipc_door *door, const culvi_voice *voice, const char *label,
                                uint64_t timeout, uint32_t *numbers, size_t room, size_t *count)
{
    const uint64_t until = culvi_ipc_until(timeout);
    for (;;) {
        size_t found = 0;
        if (door->next == NULL) door->next = make(door, false);
        /* What ends after this sets the event again. */
        ResetEvent(door->event);
        if (has_come(door)) numbers[found++] = CULVI_IPC_AT_DOOR;
        for (uint32_t i = 0; i < CULV_IPC_MAX_CLIENTS && found < room; i++) {
            const uint32_t number = (door->turn + i) % CULV_IPC_MAX_CLIENTS;
            if (door->set[number] != NULL && culvi_ipc_pipe_ready(door->set[number]))
                numbers[found++] = number;
        }
        door->turn = (door->turn + 1) % CULV_IPC_MAX_CLIENTS;
        if (found > 0 || culvi_now() >= until) {
            *count = found;
            return CULV_OK;
        }
        if (WaitForSingleObject(door->event, culvi_ipc_milliseconds(until)) == WAIT_FAILED)
            return culvi_fail_os(voice, label, (int)GetLastError(), "WaitForSingleObject",
                                 "the clients could not be waited for");
    }
}

/* Which servers there are ---------------------------------------------------------------------- */

/* Which servers there are: the names of all pipes, as the pipes' file system lists them. That
 * opens none of them. A name is there once, however many instances its pipe has. */

/* The server of a pipe's name; false: it is nobody of Culvert's. */
static bool server_of(const wchar_t *pipe, char out[CULV_IPC_NAME_SIZE])
{
    static const char prefix[] = CULVI_IPC_PIPE_PREFIX;
    const size_t skip = sizeof prefix - 1;
    size_t n = 0;
    for (size_t i = 0; i < skip; i++)
        if (pipe[i] != (wchar_t)prefix[i]) return false;
    for (; pipe[skip + n] != 0; n++) {
        if (n == CULV_IPC_NAME_SIZE - 1 || pipe[skip + n] > 0x7f) return false;
        out[n] = (char)pipe[skip + n];
    }
    out[n] = 0;
    return true;
}

culv_result culvi_ipc_names_read(const char *directory, culvi_ipc_names *out)
{
    WIN32_FIND_DATAW found;
    char name[CULV_IPC_NAME_SIZE];
    CULVI_UNSUPPORTED_IF(
        directory != NULL, NULL, NULL, CULV_REASON_NOT_BUILT,
        "culv_ipc_find_servers: directory is given, and named pipes lie in no directory; pass NULL");
    /* All of them: patterns other than this one are not what every version takes here. */
    const HANDLE search = FindFirstFileW(L"\\\\.\\pipe\\*", &found);
    DWORD error = search != INVALID_HANDLE_VALUE ? ERROR_SUCCESS : GetLastError();
    while (error == ERROR_SUCCESS) {
        if (server_of(found.cFileName, name)) culvi_ipc_names_add(out, name);
        if (!FindNextFileW(search, &found)) error = GetLastError();
    }
    if (search != INVALID_HANDLE_VALUE) FindClose(search);
    if (error == ERROR_NO_MORE_FILES || error == ERROR_FILE_NOT_FOUND) return CULV_OK;
    return culvi_fail_os(
        NULL, NULL, (int)error, "FindFirstFile", "the system does not list its named pipes%s",
        error == ERROR_BAD_DEV_TYPE ? " (Wine 8 does not); connect by the server's name" : "");
}
