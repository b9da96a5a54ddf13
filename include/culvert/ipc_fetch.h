/* SPDX-License-Identifier: MIT */
/* Culvert: gets handles of another process by their numbers in that process.
 *
 * Use this if the other program cannot send handles, but can tell their numbers (in a pipe, in a
 * file, on its command line), as in docs/ipc.md. Servers and clients (culvert/ipc.h) need none.
 *
 * Your process needs the rights of a debugger. On Linux (pidfd_getfd(2), from 5.6 on) that is
 * PTRACE_MODE_ATTACH_REALCREDS: both processes have the same user and group ids and the other one
 * may be dumped (prctl(PR_SET_DUMPABLE), not so for setuid programs), or yours has CAP_SYS_PTRACE.
 * If kernel.yama.ptrace_scope is 1, as on Ubuntu, the other process must be a child of yours or
 * name yours by prctl(PR_SET_PTRACER). On Windows (DuplicateHandle) the right is
 * PROCESS_DUP_HANDLE. A process with these rights can read all memory of the other process
 * anyway. */
#ifndef CULV_IPC_FETCH_H_
#define CULV_IPC_FETCH_H_

#include "handle.h"

CULV_EXTERN_C_BEGIN

/** A handle to fetch. */
typedef struct culv_ipc_fetch_desc {
    size_t struct_size;    /**< Set by culv_ipc_fetch_desc_init(). */
    int32_t pid;           /**< Required: the other process. */
    culv_handle_type type; /**< Required: the type of the handle. KMT handles need no fetching. */
    uint64_t number;       /**< The other process's fd, or the value of its HANDLE. */
    /** Answer of culv_ipc_process_get_start(), in the other process or earlier in this one. A new
     * process with the pid of one that ended is then refused. 0: not checked, so be sure that the
     * other process still lives. */
    uint64_t started;
    /** The users (uids) whose processes are trusted. NULL: only the user of this process. Windows:
     * NULL. */
    const uint32_t *users;
    size_t num_users;
    /** Bytes that the memory must have. A smaller file is refused, if the system reports its size.
     * 0: not checked. */
    uint64_t size;
} culv_ipc_fetch_desc;

CULV_INIT(culv_ipc_fetch_desc)

/** Makes a handle of the object that another process has by that number. The other process keeps
 * its handle and does nothing. Programs that this process starts do not inherit the new handle.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, HANDLE_TYPE, HANDLE_KIND; VALUE: the pid, the users;
 * HANDLE_BAD: the other process has no such handle; SIZE; OS: no handle is left), ASYNC (IPC_GONE:
 * the process has ended, or a new process has its pid), UNSUPPORTED (HANDLE_TYPE; IPC_REFUSED: the
 * system does not allow it, or the process belongs to a user that is not trusted; OS: the kernel is
 * older than Linux 5.6), OUT_OF_MEMORY, DRIVER (OS).
 * Ownership: *out is yours; for culv_handle_close(). Threads: any.
 * Source: pidfd_getfd(2), ptrace(2); Windows: DuplicateHandle. */
CULV_EXPORT culv_result culv_ipc_fetch_dup(const culv_ipc_fetch_desc *desc, culv_handle *out);

/** Gets when a process started, in the system's units; pid 0: this process. The number together
 * with this time names one process for ever.
 * Errors: INVALID (NULL_ARGUMENT), ASYNC (IPC_GONE: there is no such process), DRIVER (OS).
 * Threads: any.
 * Source: proc(5), /proc/PID/stat; Windows: GetProcessTimes. */
CULV_EXPORT culv_result culv_ipc_process_get_start(int32_t pid, uint64_t *out);

CULV_EXTERN_C_END

#endif
