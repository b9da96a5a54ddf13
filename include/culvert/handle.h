/* SPDX-License-Identifier: MIT */
/* Culvert: operating-system handles, by which one API passes memory and semaphores to another.
 *
 * A culv_handle is a file descriptor or a Windows handle together with its type. The name of a call
 * says who owns the handle (docs/ownership.md):
 *   _dup     Each call makes a new handle, which you close with culv_handle_close().
 * Every other call that takes a handle borrows it: it stays yours, open and untouched, and Culvert
 * uses a duplicate. This is the same on every system, although drivers differ: CUDA keeps file
 * descriptors, and it never keeps NT handles. Names, KMT handles and fabric handles own nothing and
 * are never closed. */
#ifndef CULV_HANDLE_H_
#define CULV_HANDLE_H_

#include "result.h"

CULV_EXTERN_C_BEGIN

/** The type of a handle. You always state it; Culvert never guesses it. */
typedef enum culv_handle_type {
    CULV_HANDLE_NONE = 0,
    CULV_HANDLE_OPAQUE_FD = 1, /**< A POSIX fd from vkGetMemoryFdKHR or vkGetSemaphoreFdKHR. */
    /** Windows: an NT handle from vkGetMemoryWin32HandleKHR or vkGetSemaphoreWin32HandleKHR, or the
     * name of one. */
    CULV_HANDLE_OPAQUE_WIN32 = 2,
    /** Windows: a global share handle, a number that is never closed and keeps nothing alive. The
     * VkDeviceMemory or VkSemaphore must live until the import has returned. */
    CULV_HANDLE_OPAQUE_WIN32_KMT = 3,
    CULV_HANDLE_DMA_BUF_FD = 4, /**< A Linux dma-buf. Memory only. */
    /** Windows: the NT handle of an ID3D12Heap, or its name. Never dedicated. */
    CULV_HANDLE_D3D12_HEAP = 5,
    /** Windows: the NT handle of a committed ID3D12Resource, or its name. Always dedicated. */
    CULV_HANDLE_D3D12_RESOURCE = 6,
    /** Windows: the NT handle of an ID3D11Resource, or its name. Always dedicated. A shared
     * resource has an NT handle if it was created with D3D11_RESOURCE_MISC_SHARED_NTHANDLE, and a
     * KMT handle otherwise. */
    CULV_HANDLE_D3D11_RESOURCE = 7,
    /** Windows: the global share handle of an ID3D11Resource, which keeps nothing alive. */
    CULV_HANDLE_D3D11_RESOURCE_KMT = 8,
    CULV_HANDLE_D3D12_FENCE = 9,  /**< Windows: the NT handle of an ID3D12Fence, or its name. */
    CULV_HANDLE_D3D11_FENCE = 10, /**< Windows: NT handle of an ID3D11Fence. */
    CULV_HANDLE_D3D11_KEYED_MUTEX = 11,     /**< Windows: NT handle of an IDXGIKeyedMutex. */
    CULV_HANDLE_D3D11_KEYED_MUTEX_KMT = 12, /**< Windows: its global share handle. */
    /** A CUmemFabricHandle (culvert/fabric.h): 64 bytes, which you may send unchanged, also to
     * another machine. It owns nothing and is never closed. For VMM and memory pools only. */
    CULV_HANDLE_FABRIC = 13,
    CULV_HANDLE_FORCE32 = 0x7fffffff
} culv_handle_type;

/** A handle with its type. */
typedef struct culv_handle {
    culv_handle_type type;
    union {
        int fd;             /**< For the ..._FD types. */
        void *win32;        /**< For all Windows types. NULL if `name` is set. */
        uint8_t fabric[64]; /**< For FABRIC. */
    } value;
    /** Name of the object, for OPAQUE_WIN32 and the D3D11_... and D3D12_... types except KMT
     * (VkExportMemoryWin32HandleInfoKHR::name, ID3D12Device::CreateSharedHandle). It is UTF-16,
     * which is wchar_t on Windows. Read during the call. NULL if value.win32 is set, and for all
     * other types. */
    const wchar_t *name;
} culv_handle;

/* The functions that make a culv_handle check nothing and take no ownership. A name or a KMT handle
 * keeps nothing alive: its object must exist until the import has returned. The text of a name
 * stays yours; the call that uses the handle reads it. */

/** Makes a culv_handle of type CULV_HANDLE_OPAQUE_FD. */
CULV_INLINE culv_handle culv_handle_opaque_fd(int fd)
{
    culv_handle h;
    memset(&h, 0, sizeof h);
    h.type = CULV_HANDLE_OPAQUE_FD;
    h.value.fd = fd;
    return h;
}

/** Makes a culv_handle of type CULV_HANDLE_DMA_BUF_FD. */
CULV_INLINE culv_handle culv_handle_dma_buf_fd(int fd)
{
    culv_handle h = culv_handle_opaque_fd(fd);
    h.type = CULV_HANDLE_DMA_BUF_FD;
    return h;
}

/** Makes a culv_handle of a Windows type, such as CULV_HANDLE_D3D12_HEAP, from an NT handle. */
CULV_INLINE culv_handle culv_handle_win32(culv_handle_type type, void *handle)
{
    culv_handle h;
    memset(&h, 0, sizeof h);
    h.type = type;
    h.value.win32 = handle;
    return h;
}

/** Makes a culv_handle of a Windows type from a name, by which the driver opens the object. */
CULV_INLINE culv_handle culv_handle_win32_named(culv_handle_type type, const wchar_t *name)
{
    culv_handle h = culv_handle_win32(type, NULL);
    h.name = name;
    return h;
}

/** Makes a culv_handle of type CULV_HANDLE_OPAQUE_WIN32 from an NT handle (HANDLE). */
CULV_INLINE culv_handle culv_handle_opaque_win32(void *handle)
{
    return culv_handle_win32(CULV_HANDLE_OPAQUE_WIN32, handle);
}

/** Makes a culv_handle of type CULV_HANDLE_OPAQUE_WIN32 from a name. */
CULV_INLINE culv_handle culv_handle_opaque_win32_named(const wchar_t *name)
{
    return culv_handle_win32_named(CULV_HANDLE_OPAQUE_WIN32, name);
}

/** Makes a culv_handle of type CULV_HANDLE_OPAQUE_WIN32_KMT.
 * Source: CUDA guide 3.2.16: a global share handle holds no reference to the object. */
CULV_INLINE culv_handle culv_handle_opaque_win32_kmt(void *handle)
{
    return culv_handle_win32(CULV_HANDLE_OPAQUE_WIN32_KMT, handle);
}

/** Makes a culv_handle of type CULV_HANDLE_FABRIC from the 64 bytes of a CUmemFabricHandle, which
 * it copies. */
CULV_INLINE culv_handle culv_handle_fabric(const void *bytes)
{
    culv_handle h;
    memset(&h, 0, sizeof h);
    h.type = CULV_HANDLE_FABRIC;
    memcpy(h.value.fabric, bytes, sizeof h.value.fabric);
    return h;
}

/** Makes another handle of the same object. Use it if you need several NT handles of one
 * VkDeviceMemory or VkSemaphore: a Vulkan driver exports only one
 * (VUID-VkMemoryGetWin32HandleInfoKHR-handleType-00663). Names, KMT handles and fabric handles own
 * nothing, so *out is equal to *handle. The text of a name stays yours.
 * Errors: INVALID (NULL_ARGUMENT, HANDLE_TYPE, HANDLE_BAD, HANDLE_KIND, OS), UNSUPPORTED
 * (HANDLE_TYPE).
 * Ownership: *handle is borrowed; *out is a new handle, yours to close. */
CULV_EXPORT culv_result culv_handle_dup(const culv_handle *handle, culv_handle *out);

/** Closes a handle that you own, such as one from a ..._dup() call, and sets *handle to type
 * CULV_HANDLE_NONE. File descriptors are closed with close(), and NT handles with CloseHandle().
 * Names, KMT handles, fabric handles and handles of another system need no closing. NULL, or a
 * handle of type CULV_HANDLE_NONE, is a no-op.
 * Ownership: the handle is gone. */
CULV_EXPORT void culv_handle_close(culv_handle *handle);

/* Handles of other processes ------------------------------------------------------------------- */

/* These calls get handles of another process by their numbers in that process.
 *
 * Use them if the other program cannot send handles, but can report their numbers (in a pipe, in a
 * file, on its command line), as in docs/ipc.md. Servers and clients (culvert/ipc.h) do not need
 * them.
 *
 * Your process needs the rights of a debugger. On Linux (pidfd_getfd(2), from 5.6 on) that is
 * PTRACE_MODE_ATTACH_REALCREDS: either your process has CAP_SYS_PTRACE, or both processes have the
 * same user and group ids and the other one is dumpable (prctl(PR_SET_DUMPABLE); a setuid program
 * is not). If kernel.yama.ptrace_scope is 1, as on Ubuntu, and your process lacks CAP_SYS_PTRACE,
 * the other process must also be its descendant, or allow it by prctl(PR_SET_PTRACER). On Windows
 * (DuplicateHandle) the right is PROCESS_DUP_HANDLE. A process with these rights can read all
 * memory of the other process anyway. */

/** A handle to fetch. */
typedef struct culv_ipc_fetch_desc {
    size_t struct_size;    /**< Set by culv_ipc_fetch_desc_init(). */
    int32_t pid;           /**< Required: the other process. */
    culv_handle_type type; /**< Required: the type of the handle. KMT handles need no fetching. */
    uint64_t number;       /**< The other process's fd, or the value of its HANDLE. */
    /** Start time of the other process. That process gets it by culv_ipc_process_get_start() for
     * pid 0 and reports it, or you got it earlier by its pid. If the process has ended and a new
     * one has its pid, the call refuses the new one. 0: not checked, so be sure that the other
     * process still exists. */
    uint64_t started;
    /** The users (uids) whose processes are trusted. NULL: only the user of this process. Windows:
     * NULL. */
    const uint32_t *users;
    size_t num_users;
    /** Minimum size in bytes of the memory behind the handle. Smaller memory is refused, if the
     * system reports its size. 0: not checked. */
    uint64_t size;
} culv_ipc_fetch_desc;

CULV_INIT(culv_ipc_fetch_desc)

/** Makes a handle of the object that `number` refers to in the other process. The other process
 * keeps its handle and does nothing. Programs that this process starts do not inherit it.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, HANDLE_TYPE, HANDLE_KIND; VALUE: the pid, the users;
 * HANDLE_BAD: the other process has no such handle; SIZE; OS: no handle is left), ASYNC (IPC_GONE:
 * the process has ended, or a new process has its pid), UNSUPPORTED (HANDLE_TYPE; IPC_REFUSED: the
 * system does not allow it, or the process belongs to a user that is not trusted; OS: the kernel is
 * older than Linux 5.6), OUT_OF_MEMORY, DRIVER (OS).
 * Ownership: *out is yours, for culv_handle_close().
 * Source: pidfd_getfd(2), ptrace(2); Windows: DuplicateHandle. */
CULV_EXPORT culv_result culv_ipc_fetch_dup(const culv_ipc_fetch_desc *desc, culv_handle *out);

/** Gets the time when a process started, in the system's units. Pid 0 is this process. No other
 * process ever has the same pid and the same start time.
 * Errors: INVALID (NULL_ARGUMENT), ASYNC (IPC_GONE: there is no such process), DRIVER (OS).
 * Source: proc(5), /proc/PID/stat; Windows: GetProcessTimes. */
CULV_EXPORT culv_result culv_ipc_process_get_start(int32_t pid, uint64_t *out);

CULV_EXTERN_C_END

#endif
