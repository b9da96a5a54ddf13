/* SPDX-License-Identifier: MIT */
/* Named pipes of Windows: messages, and handles that the receiver fetches.
 *
 * A handle travels as the number that it has in the sender's process, and the receiver duplicates
 * it from there. The other way round, by DuplicateHandle into the receiver, it would have to
 * believe numbers: a peer that sends rubbish would name handles of the receiver's own. */
#include "ipc/win32_pipe.h"

_Static_assert(sizeof(culvi_ipc_native) == sizeof(HANDLE), "a HANDLE");

/* Who ------------------------------------------------------------------------------------------ */

bool culvi_ipc_process_user(HANDLE process, uint32_t *user)
{
    culvi_user_room rooms[2];
    PSID mine = culvi_user_of(GetCurrentProcess(), &rooms[0]);
    PSID sid = culvi_user_of(process, &rooms[1]);
    if (mine == NULL || sid == NULL) return false;
    if (EqualSid(mine, sid)) {
        *user = 0;
        return true;
    }
    const UCHAR parts = *GetSidSubAuthorityCount(sid);
    const DWORD last = parts > 0 ? *GetSidSubAuthority(sid, parts - 1u) : 0;
    *user = last != 0 ? (uint32_t)last : UINT32_MAX;
    return true;
}

const char *const culvi_ipc_pages_call = "CreateFileMapping";
const char *const culvi_ipc_send_call = "WriteFile";
const char *const culvi_ipc_receive_call = "ReadFile";
const char *const culvi_ipc_wait_call = "WaitForSingleObject";
const char *const culvi_ipc_peer_call = "GetNamedPipeServerProcessId";

int32_t culvi_ipc_this_process(void)
{
    return (int32_t)GetCurrentProcessId();
}

/* Whether the process is older than the connection. */
static bool was_there(const culvi_ipc_pipe *p)
{
    FILETIME begin, end, kernel, user;
    return GetProcessTimes(p->process, &begin, &end, &kernel, &user) &&
           CompareFileTime(&begin, &p->since) <= 0;
}

static bool other_end(const culvi_ipc_pipe *p, ULONG *id)
{
    return (p->server ? GetNamedPipeClientProcessId(p->pipe, id)
                      : GetNamedPipeServerProcessId(p->pipe, id)) != FALSE;
}

/* Who has the other end: its process, opened. False: it is not known. The number may be another
 * process's once that one has ended, so the pipe is asked last: it broke then. A server may also
 * have turned this client away, and lives. */
static bool meet(culvi_ipc_pipe *p)
{
    ULONG id = 0;
    DWORD waiting = 0;
    if (p->process != NULL) return true;
    if (!other_end(p, &id)) return false;
    p->process =
        OpenProcess(PROCESS_DUP_HANDLE | PROCESS_QUERY_LIMITED_INFORMATION, FALSE, (DWORD)id);
    if (p->process == NULL) return false;
    return PeekNamedPipe(p->pipe, NULL, 0, NULL, &waiting, NULL) || (!p->server && was_there(p));
}

bool culvi_ipc_peer(culvi_ipc_channel channel, uint32_t *user, int32_t *pid)
{
    ULONG id = 0;
    if (!other_end(channel, &id)) return false;
    *pid = (int32_t)id;
    *user = UINT32_MAX;
    /* A process that may not be opened is somebody else's, or has more rights. */
    return meet(channel) && culvi_ipc_process_user(channel->process, user);
}

/* Where ---------------------------------------------------------------------------------------- */

culv_result culvi_ipc_address_make(const culvi_voice *voice, const char *name,
                                   const char *directory, const char *what, bool trusts,
                                   culvi_ipc_address *out)
{
    (void)trusts;
    memset(out, 0, sizeof *out);
    CULVI_TRY(culvi_ipc_read_name(voice, what, ".", name, out->name));
    CULVI_UNSUPPORTED_IF(
        directory != NULL, voice, NULL, CULV_REASON_NOT_BUILT,
        "%s.directory is given, and named pipes lie in no directory; leave it NULL", what);
    return CULV_OK;
}

void culvi_ipc_pipe_name(const culvi_ipc_address *address, wchar_t out[CULVI_IPC_PIPE_NAME])
{
    static const char prefix[] = "\\\\.\\pipe\\" CULVI_IPC_PIPE_PREFIX;
    size_t n = 0;
    for (size_t i = 0; prefix[i] != 0; i++)
        out[n++] = (wchar_t)prefix[i];
    _Static_assert(sizeof prefix + CULV_IPC_NAME_SIZE <= CULVI_IPC_PIPE_NAME + 2, "it fits");
    for (size_t i = 0; address->name[i] != 0 && n + 1 < CULVI_IPC_PIPE_NAME; i++)
        out[n++] = (wchar_t)address->name[i];
    out[n] = 0;
}

/* Reading -------------------------------------------------------------------------------------- */

/* Waits for what was begun with `o` to end; after this the kernel writes no more. */
static void settle(HANDLE pipe, OVERLAPPED *o)
{
    DWORD bytes;
    while (!GetOverlappedResult(pipe, o, &bytes, FALSE) && GetLastError() == ERROR_IO_INCOMPLETE)
        Sleep(1);
}

/* Posts a read. What became of it at once is asked for like what becomes of it later. */
static void post(culvi_ipc_pipe *p)
{
    DWORD bytes;
    memset(&p->read, 0, sizeof p->read);
    p->read.hEvent = p->event;
    p->reading = true;
    if (ReadFile(p->pipe, p->bytes, sizeof p->bytes, &bytes, &p->read)) return;
    const DWORD error = GetLastError();
    if (error == ERROR_IO_PENDING || error == ERROR_MORE_DATA) return;
    /* It never began, and nothing else would tell. */
    p->reading = false;
    SetEvent(p->event);
}

/* What became of the read: DONE with its bytes, LATER, GONE, or BAD: the message is longer than
 * any. */
static culvi_ipc_io look(culvi_ipc_pipe *p, DWORD *bytes)
{
    if (!p->reading) return CULVI_IPC_GONE;
    if (GetOverlappedResult(p->pipe, &p->read, bytes, FALSE)) return CULVI_IPC_DONE;
    switch (GetLastError()) {
    case ERROR_IO_INCOMPLETE: return CULVI_IPC_LATER;
    case ERROR_MORE_DATA: return CULVI_IPC_BAD;
    case ERROR_OPERATION_ABORTED: /* with the end of the thread that posted it */
        post(p);
        /* A read clears the event as it begins, and others of the door's set may just have set
         * it. */
        if (p->server) SetEvent(p->event);
        return CULVI_IPC_LATER;
    default: return CULVI_IPC_GONE;
    }
}

bool culvi_ipc_pipe_ready(culvi_ipc_pipe *pipe)
{
    DWORD bytes;
    return look(pipe, &bytes) != CULVI_IPC_LATER;
}

bool culvi_ipc_pipe_begin(culvi_ipc_pipe *pipe)
{
    post(pipe);
    return pipe->reading;
}

DWORD culvi_ipc_milliseconds(uint64_t until)
{
    const uint64_t now = culvi_now(), left = until > now ? until - now : 0;
    const uint64_t hour = UINT64_C(3600000000000);
    return (DWORD)((left < hour ? left + 999999 : hour) / 1000000);
}

int culvi_ipc_wait(culvi_ipc_channel channel, uint64_t until)
{
    for (;;) {
        if (culvi_ipc_pipe_ready(channel)) return 1;
        if (culvi_now() >= until) return 0;
        if (WaitForSingleObject(channel->event, culvi_ipc_milliseconds(until)) == WAIT_FAILED)
            return -1;
    }
}

/* Reaching a server ---------------------------------------------------------------------------- */

static culv_result open_pipe(const culvi_voice *voice, const char *label, HANDLE pipe,
                             culvi_ipc_channel *out)
{
    DWORD mode = PIPE_READMODE_MESSAGE;
    if (!SetNamedPipeHandleState(pipe, &mode, NULL, NULL))
        return culvi_fail_native(voice, label, CULV_ERROR_ASYNC, CULV_REASON_IPC_PROTOCOL,
                                 CULV_NATIVE_OS, (int)GetLastError(), "SetNamedPipeHandleState",
                                 "what listens at this name is no server of this protocol");
    CULVI_NEW(culvi_ipc_pipe, p, voice, label);
    p->pipe = pipe;
    GetSystemTimeAsFileTime(&p->since);
    p->own_event = p->event = CreateEventW(NULL, TRUE, FALSE, NULL);
    if (p->event == NULL) {
        culvi_free(p);
        return culvi_fail_os(voice, label, (int)GetLastError(), "CreateEvent",
                             "no event could be made");
    }
    (void)culvi_ipc_pipe_begin(p); /* a server that has gone by now is noticed like one later */
    *out = p;
    return CULV_OK;
}

culv_result culvi_ipc_reach(const culvi_voice *voice, const char *label,
                            const culvi_ipc_address *address, uint64_t until,
                            culvi_ipc_channel *out)
{
    wchar_t name[CULVI_IPC_PIPE_NAME];
    culvi_ipc_pipe_name(address, name);
    for (;;) {
        /* Whoever listens there must not act in this user's name: SECURITY_ANONYMOUS. */
        const HANDLE pipe =
            CreateFileW(name, GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_EXISTING,
                        FILE_FLAG_OVERLAPPED | SECURITY_SQOS_PRESENT | SECURITY_ANONYMOUS, NULL);
        if (pipe != INVALID_HANDLE_VALUE) {
            culv_result result = open_pipe(voice, label, pipe, out);
            if (result != CULV_OK) CloseHandle(pipe);
            return result;
        }
        const int error = (int)GetLastError();
        /* PIPE_BUSY: others wait at the door, and the server has not polled since. */
        if (error != ERROR_FILE_NOT_FOUND && error != ERROR_PIPE_BUSY)
            return culvi_fail_native(
                voice, label,
                error == ERROR_ACCESS_DENIED ? CULV_ERROR_UNSUPPORTED : CULV_ERROR_DRIVER,
                error == ERROR_ACCESS_DENIED ? CULV_REASON_IPC_REFUSED : CULV_REASON_OS,
                CULV_NATIVE_OS, error, "CreateFile", "the server '%s' cannot be reached",
                address->name);
        if (culvi_now() >= until)
            return culvi_fail_native(
                voice, label, CULV_ERROR_TIMEOUT, CULV_REASON_IPC_NAME, CULV_NATIVE_OS, error,
                "CreateFile",
                "there is no server '%s'%s; start it, or give culv_ipc_client_connect() more time",
                address->name,
                error == ERROR_PIPE_BUSY ? " that calls culv_ipc_server_poll()" : "");
        culvi_sleep_ms(2);
    }
}

static void forget_sent(culvi_ipc_pipe *p)
{
    for (size_t i = 0; i < p->num_sent; i++)
        CloseHandle(p->sent[i]);
    p->num_sent = 0;
}

void culvi_ipc_channel_close(culvi_ipc_channel *channel, bool mine)
{
    culvi_ipc_pipe *p = *channel;
    (void)mine; /* there is no fork() */
    *channel = CULVI_IPC_NO_CHANNEL;
    if (p == NULL) return;
    if (p->place != NULL) *p->place = NULL;
    if (p->reading || p->listening) {
        (void)CancelIoEx(p->pipe, &p->read);
        settle(p->pipe, &p->read);
    }
    /* What was written stays there to be read. */
    CloseHandle(p->pipe);
    forget_sent(p);
    if (p->process != NULL) CloseHandle(p->process);
    if (p->own_event != NULL) CloseHandle(p->own_event);
    culvi_free(p);
}

bool culvi_ipc_handle_dup(culvi_ipc_native handle, culvi_ipc_native *out)
{
    const HANDLE self = GetCurrentProcess();
    return DuplicateHandle(self, handle, self, out, 0, FALSE, DUPLICATE_SAME_ACCESS) != FALSE;
}

/* Messages ------------------------------------------------------------------------------------- */

static bool lend(const culvi_ipc_native *handles, size_t count, HANDLE *out)
{
    for (size_t i = 0; i < count; i++)
        if (!culvi_ipc_handle_dup(handles[i], &out[i])) {
            culvi_ipc_close_fds(out, i);
            return false;
        }
    return true;
}

static culvi_ipc_io write_frame(HANDLE pipe, const unsigned char *bytes, size_t size)
{
    OVERLAPPED o;
    DWORD sent = 0;
    memset(&o, 0, sizeof o);
    if (!WriteFile(pipe, bytes, (DWORD)size, NULL, &o)) {
        const DWORD error = GetLastError();
        if (error != ERROR_IO_PENDING)
            return error == ERROR_NO_DATA || error == ERROR_BROKEN_PIPE ||
                           error == ERROR_PIPE_NOT_CONNECTED
                       ? CULVI_IPC_GONE
                       : CULVI_IPC_OS;
        /* There is no room for it: the other side does not read. */
        (void)CancelIoEx(pipe, &o);
        settle(pipe, &o);
    }
    if (GetOverlappedResult(pipe, &o, &sent, FALSE))
        return sent == size ? CULVI_IPC_DONE : CULVI_IPC_OS;
    return GetLastError() == ERROR_OPERATION_ABORTED ? CULVI_IPC_LATER : CULVI_IPC_GONE;
}

culvi_ipc_io culvi_ipc_send(culvi_ipc_channel channel, const culvi_ipc_message *message,
                            const culvi_ipc_native *handles)
{
    unsigned char frame[CULVI_IPC_FRAME];
    HANDLE lent[CULVI_IPC_FDS];
    if (!channel->server) forget_sent(channel);
    if (!lend(handles, message->fds, lent)) return CULVI_IPC_NO_FD;
    culvi_ipc_encode(message, frame);
    for (size_t i = 0; i < message->fds; i++) {
        const uint64_t number = (uint64_t)(uintptr_t)lent[i];
        memcpy(frame + CULVI_IPC_BYTES + i * sizeof number, &number, sizeof number);
    }
    const culvi_ipc_io io =
        write_frame(channel->pipe, frame, CULVI_IPC_BYTES + message->fds * sizeof(uint64_t));
    if (io != CULVI_IPC_DONE) {
        culvi_ipc_close_fds(lent, message->fds);
    } else if (message->fds > 0) {
        forget_sent(channel);
        memcpy(channel->sent, lent, message->fds * sizeof lent[0]);
        channel->num_sent = message->fds;
    }
    return io;
}

bool culvi_ipc_pull(HANDLE process, uint64_t number, HANDLE *out)
{
    return DuplicateHandle(process, (HANDLE)(uintptr_t)number, GetCurrentProcess(), out, 0, FALSE,
                           DUPLICATE_SAME_ACCESS) != FALSE;
}

/* The handles that a message names. */
static culvi_ipc_io fetch(const culvi_ipc_pipe *p, size_t count, culvi_ipc_native *out,
                          culvi_text *why)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t number;
        DWORD waiting;
        memcpy(&number, p->bytes + CULVI_IPC_BYTES + i * sizeof number, sizeof number);
        if (p->process != NULL && culvi_ipc_pull(p->process, number, &out[i])) continue;
        culvi_ipc_close_fds(out, i);
        if (!PeekNamedPipe(p->pipe, NULL, 0, NULL, &waiting, NULL)) return CULVI_IPC_GONE;
        culvi_text_add(why, "it names a handle that could not be fetched from its process");
        return CULVI_IPC_BAD;
    }
    return CULVI_IPC_DONE;
}

culvi_ipc_io culvi_ipc_receive(culvi_ipc_channel channel, bool answer, culvi_ipc_message *out,
                               culvi_ipc_native handles[CULVI_IPC_FDS], culvi_text *why)
{
    DWORD size = 0;
    culvi_ipc_io io = look(channel, &size);
    if (io == CULVI_IPC_LATER) return io;
    channel->reading = false;
    if (io == CULVI_IPC_BAD)
        culvi_text_add(why, "it has more than %d bytes and %d handles", (int)CULVI_IPC_BYTES,
                       (int)CULVI_IPC_FDS);
    if (io != CULVI_IPC_DONE) return io;
    /* Who asks again has taken the last answer, or has given it up. */
    if (channel->server) forget_sent(channel);
    const size_t rest = size > CULVI_IPC_BYTES ? size - CULVI_IPC_BYTES : 0;
    const bool whole = rest % sizeof(uint64_t) == 0;
    if (!culvi_ipc_decode(channel->bytes, whole ? size - rest : size, rest / sizeof(uint64_t),
                          answer, out, why))
        return CULVI_IPC_BAD;
    io = fetch(channel, out->fds, handles, why);
    if (io == CULVI_IPC_DONE) (void)culvi_ipc_pipe_begin(channel);
    return io;
}

void culvi_ipc_close_fds(const culvi_ipc_native *handles, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (handles[i] != NULL) CloseHandle(handles[i]);
}

/* Sections: they have one size for ever, so there is nothing to seal --------------------------- */

int culvi_ipc_os_error(void)
{
    return (int)GetLastError();
}

bool culvi_ipc_pages_make(size_t size, const char *name, culvi_ipc_native *out)
{
    (void)name; /* nobody finds it by one */
    const HANDLE section = CreateFileMappingW(INVALID_HANDLE_VALUE, NULL, PAGE_READWRITE,
                                              (DWORD)((uint64_t)size >> 32), (DWORD)size, NULL);
    if (section == NULL) return false;
    *out = section;
    return true;
}

bool culvi_ipc_pages_lend(culvi_ipc_native pages, culvi_ipc_native *out)
{
    const HANDLE self = GetCurrentProcess();
    return DuplicateHandle(self, pages, self, out, FILE_MAP_READ, FALSE, 0) != FALSE;
}

void *culvi_ipc_pages_map(culvi_ipc_native pages, size_t size, bool writable, bool *strange)
{
    MEMORY_BASIC_INFORMATION info;
    const size_t page = (size_t)culvi_page_size();
    *strange = false;
    void *map =
        MapViewOfFile(pages, writable ? FILE_MAP_READ | FILE_MAP_WRITE : FILE_MAP_READ, 0, 0, 0);
    if (map == NULL) {
        *strange = GetLastError() == ERROR_INVALID_HANDLE; /* no section */
        return NULL;
    }
    if (VirtualQuery(map, &info, sizeof info) == sizeof info &&
        info.RegionSize == (size + page - 1) / page * page)
        return map;
    UnmapViewOfFile(map);
    *strange = true;
    return NULL;
}

void culvi_ipc_pages_unmap(void *pages, size_t size)
{
    (void)size;
    if (pages != NULL) UnmapViewOfFile(pages);
}
