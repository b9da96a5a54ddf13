/* SPDX-License-Identifier: MIT */
/* File descriptors of other processes, by pidfd_getfd(2). */
#include "ipc/ipc_channel.h"
#include "ipc/posix_socket.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Linux 5.3 and 5.6; one number on all its machines. */
#ifndef SYS_pidfd_open
#    define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#    define SYS_pidfd_getfd 438
#endif

/* What /proc says of a process. */
typedef struct process {
    uint64_t started; /* clock ticks after the machine's start */
    uint32_t user;    /* effective */
} process;

/* The beginning of a file of /proc/PID. False: errno. */
static bool read_file(int32_t pid, const char *name, char *out, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    return culvi_ipc_read_proc(path, out, size) > 0;
}

/* proc(5): field 22 of stat, behind the name in brackets, which may have brackets and blanks. */
static bool read_process(int32_t pid, process *out)
{
    char text[2048];
    if (!read_file(pid, "stat", text, sizeof text)) return false;
    const char *p = strrchr(text, ')');
    for (int field = 2; p != NULL && field < 22; field++)
        p = strchr(p + 1, ' ');
    if (p != NULL) out->started = strtoull(p + 1, NULL, 10);
    if (!read_file(pid, "status", text, sizeof text)) return false;
    const char *user = strstr(text, "\nUid:");
    if (p == NULL || user == NULL || sscanf(user, "%*s %*u %" SCNu32, &out->user) != 1) {
        errno = ENOSYS;
        return false;
    }
    return true;
}

static culv_result gone(int32_t pid, int error, const char *what)
{
    return culvi_fail_native(NULL, NULL, CULV_ERROR_ASYNC, CULV_REASON_IPC_GONE, CULV_NATIVE_OS,
                             error, "pidfd_open", "process %d %s", (int)pid, what);
}

static culv_result unreadable(int32_t pid, int error)
{
    return culvi_fail_os(NULL, NULL, error, "open", "/proc/%d/stat or status cannot be read",
                         (int)pid);
}

static culv_result too_old(const char *call, const char *since)
{
    return culvi_fail_native(
        NULL, NULL, CULV_ERROR_UNSUPPORTED, CULV_REASON_OS, CULV_NATIVE_OS, ENOSYS, call,
        "this kernel has no %s (Linux %s); send the descriptor by a Unix socket (SCM_RIGHTS)", call,
        since);
}

/* Linux tells EPERM for all of these. */
static culv_result not_allowed(int32_t pid, uint64_t number)
{
    char scope[2]; /* a digit */
    (void)culvi_ipc_read_proc("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof scope);
    return culvi_fail_native(
        NULL, NULL, CULV_ERROR_UNSUPPORTED, CULV_REASON_IPC_REFUSED, CULV_NATIVE_OS, EPERM,
        "pidfd_getfd",
        "the kernel does not let this process take file descriptor %" PRIu64
        " of process %d. That needs the rights of a debugger (ptrace(2), PTRACE_MODE_ATTACH_REALCREDS): the same user on both sides and a process that may be dumped, or CAP_SYS_PTRACE%s%s%s. A container's seccomp filter may forbid it, too. Send the descriptor by a Unix socket instead (SCM_RIGHTS)",
        number, (int)pid, scope[0] != 0 ? "; kernel.yama.ptrace_scope is " : "", scope,
        scope[0] == '1' ? ", so that the other process must name this one by prctl(PR_SET_PTRACER)"
                        : "");
}

/* time_namespaces(7): a start that is told in one is another number in another one. */
static bool same_clock(int32_t pid)
{
    char path[48], mine[32] = "", other[32] = "";
    snprintf(path, sizeof path, "/proc/%d/ns/time", (int)pid);
    return readlink("/proc/self/ns/time", mine, sizeof mine - 1) <= 0 ||
           readlink(path, other, sizeof other - 1) <= 0 || strcmp(mine, other) == 0;
}

static culv_result open_process(int32_t pid, int *out)
{
    const long fd = syscall(SYS_pidfd_open, (long)pid, 0L);
    *out = (int)fd;
    if (fd >= 0) return CULV_OK;
    switch (errno) {
    case ESRCH:
        return gone(
            pid, ESRCH,
            "does not exist, or has ended; a number of another PID namespace (container) means nothing here");
    case EINVAL:
        return culvi_fail(NULL, NULL, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "culv_ipc_fetch_desc.pid is %d, which is a thread and no process",
                          (int)pid);
    case EMFILE:
    case ENFILE: return culvi_handle_check_left(NULL, NULL, "pidfd_open", "other process");
    case ENOSYS: return too_old("pidfd_open", "5.3");
    default:
        return culvi_fail_os(NULL, NULL, errno, "pidfd_open", "process %d cannot be opened",
                             (int)pid);
    }
}

static bool has_ended(int process_fd)
{
    struct pollfd one = {.fd = process_fd, .events = POLLIN};
    return poll(&one, 1, 0) > 0;
}

/* What was read of /proc is of this very process, when it has not ended since: the number is its
 * own until then. */
static culv_result check_process(const culv_ipc_fetch_desc *d, const culvi_ipc_users *users,
                                 int process_fd)
{
    process what = {0, 0};
    const bool read = read_process(d->pid, &what);
    const int error = errno;
    if (has_ended(process_fd)) return gone(d->pid, ESRCH, "has ended");
    if (!read) return unreadable(d->pid, error);
    CULVI_REFUSE_IF(
        d->started != 0 && d->started != what.started && !same_clock(d->pid), NULL, NULL,
        CULV_REASON_VALUE,
        "culv_ipc_fetch_desc.started is %" PRIu64 ", and here process %d started at %" PRIu64
        "; it is in another time namespace, whose clock has another start, so that the two cannot be compared. Send the descriptor by a Unix socket (SCM_RIGHTS), or leave `started` 0",
        d->started, (int)d->pid, what.started);
    if (d->started != 0 && d->started != what.started)
        return gone(
            d->pid, ESRCH,
            "is another one than was meant: the one that told its start has ended, and its number is in use again; or it told a number of another PID namespace");
    if (culvi_ipc_user_admitted(users, what.user)) return CULV_OK;
    return culvi_fail(NULL, NULL, CULV_ERROR_UNSUPPORTED, CULV_REASON_IPC_REFUSED,
                      "process %d is of user %u%s, whom culv_ipc_fetch_desc.users does not name",
                      (int)d->pid, (unsigned)what.user, culvi_ipc_user_note(what.user));
}

static culv_result take(const culv_ipc_fetch_desc *d, int process_fd, int *out)
{
    const long fd = syscall(SYS_pidfd_getfd, (long)process_fd, (long)d->number, 0L);
    const int error = errno;
    *out = (int)fd;
    if (fd >= 0) return CULV_OK;
    if (has_ended(process_fd)) return gone(d->pid, ESRCH, "has ended");
    switch (error) {
    case EPERM: return not_allowed(d->pid, d->number);
    case EBADF:
        return culvi_fail_native(
            NULL, NULL, CULV_ERROR_INVALID, CULV_REASON_HANDLE_BAD, CULV_NATIVE_OS, error,
            "pidfd_getfd", "process %d has no file descriptor %" PRIu64, (int)d->pid, d->number);
    case EMFILE:
    case ENFILE: return culvi_handle_check_left(NULL, NULL, "pidfd_getfd", "other process's file");
    case ENOSYS: return too_old("pidfd_getfd", "5.6");
    default:
        return culvi_fail_os(NULL, NULL, error, "pidfd_getfd",
                             "file descriptor %" PRIu64 " of process %d cannot be taken", d->number,
                             (int)d->pid);
    }
}

culv_result culvi_ipc_fetch(const culv_ipc_fetch_desc *d, const culvi_ipc_users *users,
                            culvi_ipc_native *out)
{
    int process_fd = -1;
    CULVI_REFUSE_IF(d->number > INT_MAX, NULL, NULL, CULV_REASON_HANDLE_BAD,
                    "culv_ipc_fetch_desc.number is %" PRIu64 ", which is no file descriptor",
                    d->number);
    CULVI_TRY(open_process(d->pid, &process_fd));
    culv_result result = check_process(d, users, process_fd);
    if (result == CULV_OK) result = take(d, process_fd, out);
    close(process_fd);
    return result;
}

culv_result culv_ipc_process_get_start(int32_t pid, uint64_t *out)
{
    process what = {0, 0};
    CULVI_REQUIRE(NULL, out);
    if (!read_process(pid != 0 ? pid : (int32_t)getpid(), &what))
        return errno == ENOENT || errno == ESRCH ? gone(pid, errno, "does not exist, or has ended")
                                                 : unreadable(pid, errno);
    *out = what.started;
    return CULV_OK;
}
