/* SPDX-License-Identifier: MIT */
/* Handles of other processes, by DuplicateHandle. */
#include "ipc/win32_pipe.h"

static culv_result gone(int32_t pid, int error, const char *what)
{
    return culvi_fail_native(NULL, NULL, CULV_ERROR_ASYNC, CULV_REASON_IPC_GONE, CULV_NATIVE_OS,
                             error, "OpenProcess", "process %d %s", (int)pid, what);
}

/* When it started. A process that has ended keeps its number while somebody has a handle of it. */
static culv_result ask(HANDLE process, int32_t pid, uint64_t *started)
{
    FILETIME begin, end, kernel, user;
    DWORD code = 0;
    if (!GetProcessTimes(process, &begin, &end, &kernel, &user) ||
        !GetExitCodeProcess(process, &code))
        return culvi_fail_os(NULL, NULL, (int)GetLastError(), "GetProcessTimes",
                             "process %d cannot be asked", (int)pid);
    *started = (uint64_t)begin.dwHighDateTime << 32 | begin.dwLowDateTime;
    return code == STILL_ACTIVE ? CULV_OK : gone(pid, 0, "has ended");
}

static culv_result open_process(int32_t pid, DWORD rights, HANDLE *out)
{
    *out = OpenProcess(rights | PROCESS_QUERY_LIMITED_INFORMATION, FALSE, (DWORD)pid);
    if (*out != NULL) return CULV_OK;
    const int error = (int)GetLastError();
    if (error == ERROR_INVALID_PARAMETER) return gone(pid, error, "does not exist, or has ended");
    return culvi_fail_native(
        NULL, NULL, CULV_ERROR_UNSUPPORTED, CULV_REASON_IPC_REFUSED, CULV_NATIVE_OS, error,
        "OpenProcess",
        "the system does not let this process open process %d (PROCESS_DUP_HANDLE): it is another user's, or has more rights than this one",
        (int)pid);
}

static culv_result check_process(const culv_ipc_fetch_desc *d, const culvi_ipc_users *users,
                                 HANDLE process)
{
    uint64_t started = 0;
    uint32_t user = UINT32_MAX;
    CULVI_TRY(ask(process, d->pid, &started));
    if (d->started != 0 && d->started != started)
        return gone(
            d->pid, 0,
            "is another one than was meant: the one that told its start has ended, and its number is in use again");
    if (culvi_ipc_process_user(process, &user) && culvi_ipc_user_admitted(users, user))
        return CULV_OK;
    return culvi_fail(NULL, NULL, CULV_ERROR_UNSUPPORTED, CULV_REASON_IPC_REFUSED,
                      "process %d is another user's", (int)d->pid);
}

culv_result culvi_ipc_fetch(const culv_ipc_fetch_desc *d, const culvi_ipc_users *users,
                            culvi_ipc_native *out)
{
    HANDLE process = NULL;
    CULVI_TRY(open_process(d->pid, PROCESS_DUP_HANDLE, &process));
    culv_result result = check_process(d, users, process);
    if (result == CULV_OK && !culvi_ipc_pull(process, d->number, out))
        result = culvi_fail_native(NULL, NULL, CULV_ERROR_INVALID, CULV_REASON_HANDLE_BAD,
                                   CULV_NATIVE_OS, (int)GetLastError(), "DuplicateHandle",
                                   "process %d has no handle 0x%" PRIx64, (int)d->pid, d->number);
    CloseHandle(process);
    return result;
}

culv_result culv_ipc_process_get_start(int32_t pid, uint64_t *out)
{
    HANDLE process = NULL;
    uint64_t started = 0;
    CULVI_REQUIRE(NULL, out);
    if (pid == 0) pid = culvi_ipc_this_process();
    CULVI_TRY(open_process(pid, 0, &process));
    culv_result result = ask(process, pid, &started);
    CloseHandle(process);
    if (result == CULV_OK) *out = started;
    return result;
}
