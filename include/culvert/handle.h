/* SPDX-License-Identifier: MIT */
/* Culvert: operating-system handles by which memory and semaphores pass from one API to another.
 *
 * Who owns a handle is in the name of the call it is given to (docs/ownership.md):
 *   _take    yours before; Culvert's after CULV_OK; still yours, open and untouched, after an error
 *   _borrow  yours throughout; Culvert works on a duplicate. A call with none of these words
 *   borrows.
 *   _dup     the call makes a new handle, every time, which you must close: culv_handle_close()
 * These mean the same on every system, whatever a driver does with what it is given: CUDA keeps
 * file descriptors and never keeps NT handles. Names and KMT handles own nothing, so nobody closes
 * them. */
#ifndef CULV_HANDLE_H_
#define CULV_HANDLE_H_

#include "result.h"

CULV_EXTERN_C_BEGIN

/** What a handle is. The type is never guessed from the call. */
typedef enum culv_handle_type {
    CULV_HANDLE_NONE = 0,
    CULV_HANDLE_OPAQUE_FD = 1, /**< POSIX fd from vkGetMemoryFdKHR / vkGetSemaphoreFdKHR. */
    /** Windows: an NT handle from vkGetMemoryWin32HandleKHR / vkGetSemaphoreWin32HandleKHR, or the
     * name of one. */
    CULV_HANDLE_OPAQUE_WIN32 = 2,
    /** Windows: a global share handle. It is a number that is never closed and keeps nothing alive:
     * the caller promises that the VkDeviceMemory or VkSemaphore lives until the import has
     * returned. */
    CULV_HANDLE_OPAQUE_WIN32_KMT = 3,
    CULV_HANDLE_DMA_BUF_FD = 4, /**< Linux dma-buf: memory only. */
    /* No call of this version takes or makes one of the following: each refuses them by name
     * (UNSUPPORTED, HANDLE_TYPE). They have their numbers so that a program can be written against
     * them. */
    CULV_HANDLE_D3D12_HEAP = 5, /**< Windows: NT handle of an ID3D12Heap. */
    /** Windows: NT handle of an ID3D12Resource, always dedicated. */
    CULV_HANDLE_D3D12_RESOURCE = 6,
    /** Windows: NT handle of an ID3D11Resource, always dedicated. */
    CULV_HANDLE_D3D11_RESOURCE = 7,
    /** Windows: its global share handle, which keeps nothing alive. */
    CULV_HANDLE_D3D11_RESOURCE_KMT = 8,
    CULV_HANDLE_D3D12_FENCE = 9,            /**< Windows: NT handle of an ID3D12Fence. */
    CULV_HANDLE_D3D11_FENCE = 10,           /**< Windows: NT handle of an ID3D11Fence. */
    CULV_HANDLE_D3D11_KEYED_MUTEX = 11,     /**< Windows: NT handle of an IDXGIKeyedMutex. */
    CULV_HANDLE_D3D11_KEYED_MUTEX_KMT = 12, /**< Windows: its global share handle. */
    /** CUmemFabricHandle, for processes on other machines. */
    CULV_HANDLE_FABRIC = 13,
    CULV_HANDLE_FORCE32 = 0x7fffffff
} culv_handle_type;

/** A handle with its type. */
typedef struct culv_handle {
    culv_handle_type type;
    union {
        int fd;      /**< The ..._FD types. */
        void *win32; /**< The ..._WIN32 types. NULL where `name` is given. */
    } value;
    /** OPAQUE_WIN32: the object's name (VkExportMemoryWin32HandleInfoKHR::name), UTF-16 as wchar_t
     * is on Windows, read during the call. NULL where value.win32 is given, and for all other
     * types. */
    const wchar_t *name;
} culv_handle;

/** A handle of type CULV_HANDLE_OPAQUE_FD.
 * Errors: none, fd is not looked at.
 * Ownership: fd's owner does not change.
 * Threads: any.
 * Since: 0.1 */
static inline culv_handle culv_handle_opaque_fd(int fd)
{
    culv_handle h;
    memset(&h, 0, sizeof h);
    h.type = CULV_HANDLE_OPAQUE_FD;
    h.value.fd = fd;
    return h;
}

/** A handle of type CULV_HANDLE_OPAQUE_WIN32: an NT handle (HANDLE).
 * Errors: none, the handle is not looked at.
 * Ownership: its owner does not change.
 * Threads: any.
 * Since: 0.1 */
static inline culv_handle culv_handle_opaque_win32(void *handle)
{
    culv_handle h;
    memset(&h, 0, sizeof h);
    h.type = CULV_HANDLE_OPAQUE_WIN32;
    h.value.win32 = handle;
    return h;
}

/** A handle of type CULV_HANDLE_OPAQUE_WIN32 that is a name: the driver opens the object by it.
 * Some handle of that object must be open until the import has returned, since a name keeps nothing
 * alive.
 * Errors: none, the name is not looked at.
 * Ownership: the text stays yours, and is read when the handle is used.
 * Threads: any.
 * Since: 0.1 */
static inline culv_handle culv_handle_opaque_win32_named(const wchar_t *name)
{
    culv_handle h;
    memset(&h, 0, sizeof h);
    h.type = CULV_HANDLE_OPAQUE_WIN32;
    h.name = name;
    return h;
}

/** A handle of type CULV_HANDLE_OPAQUE_WIN32_KMT. What exported it must live until the import has
 * returned.
 * Errors: none, the handle is not looked at.
 * Ownership: nobody owns a KMT handle.
 * Threads: any.
 * Since: 0.1.
 * Source: CUDA guide 3.2.16: a global share handle holds no reference to the object. */
static inline culv_handle culv_handle_opaque_win32_kmt(void *handle)
{
    culv_handle h;
    memset(&h, 0, sizeof h);
    h.type = CULV_HANDLE_OPAQUE_WIN32_KMT;
    h.value.win32 = handle;
    return h;
}

/** A handle of type CULV_HANDLE_DMA_BUF_FD.
 * Errors: none, fd is not looked at.
 * Ownership: fd's owner does not change.
 * Threads: any.
 * Since: 0.1 */
static inline culv_handle culv_handle_dma_buf_fd(int fd)
{
    culv_handle h;
    memset(&h, 0, sizeof h);
    h.type = CULV_HANDLE_DMA_BUF_FD;
    h.value.fd = fd;
    return h;
}

/** Makes another handle of the same object. A Vulkan driver hands an NT handle of a VkDeviceMemory
 * or VkSemaphore out once (VUID-VkMemoryGetWin32HandleInfoKHR-handleType-00663): who needs several
 * duplicates the first. Of a name or a KMT handle the copy is the same one, since those own
 * nothing; a name's text stays yours.
 * Errors: INVALID (NULL_ARGUMENT, HANDLE_TYPE, HANDLE_BAD, HANDLE_KIND, OS), UNSUPPORTED
 * (HANDLE_TYPE).
 * Ownership: *handle is borrowed; *out is a new handle, yours to close.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_handle_dup(const culv_handle *handle, culv_handle *out);

/** Closes a handle of yours, such as a ..._dup() call made, and sets *handle to type
 * CULV_HANDLE_NONE; NULL, or one of that type, is a no-op. A file descriptor is closed by close(),
 * an NT handle by CloseHandle(); a name, a KMT handle or a handle of another system is forgotten.
 * Errors: none.
 * Ownership: the handle is gone.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT void culv_handle_close(culv_handle *handle);

CULV_EXTERN_C_END

#endif
