/* Culvert: operating-system handles by which memory and semaphores pass from one API to another.
 *
 * Who owns a handle is in the name of the call it is given to (docs/ownership.md):
 *   _take    yours before; Culvert's after CULV_OK; still yours, open and untouched, after an error
 *   _borrow  yours throughout; Culvert works on a duplicate
 *   _dup     the call makes a new handle that you must close
 * SPDX-License-Identifier: MIT */
#ifndef CULV_HANDLE_H_
#define CULV_HANDLE_H_

#include "base.h"

CULV_EXTERN_C_BEGIN

/** What a handle is. The type is never guessed from the call. */
typedef enum culv_handle_type {
    CULV_HANDLE_NONE = 0,
    CULV_HANDLE_OPAQUE_FD = 1,        /**< POSIX fd from vkGetMemoryFdKHR / vkGetSemaphoreFdKHR. */
    CULV_HANDLE_OPAQUE_WIN32 = 2,     /**< NT handle. Not supported yet. */
    CULV_HANDLE_OPAQUE_WIN32_KMT = 3, /**< Global share handle, never closed. Not supported yet. */
    CULV_HANDLE_DMA_BUF_FD = 4,       /**< Linux dma-buf. Not supported yet. */
    CULV_HANDLE_FORCE32 = 0x7fffffff
} culv_handle_type;

/** A handle with its type. */
typedef struct culv_handle {
    culv_handle_type type;
    union {
        int fd;      /**< The ..._FD types. */
        void *win32; /**< The ..._WIN32 types. */
    } value;
} culv_handle;

/** A handle of type CULV_HANDLE_OPAQUE_FD.
 *  Errors: none, fd is not looked at.  Ownership: fd's owner does not change.  Threads: any.  Since: 0.1 */
static inline culv_handle culv_handle_opaque_fd(int fd)
{
    culv_handle h;
    memset(&h, 0, sizeof h);
    h.type = CULV_HANDLE_OPAQUE_FD;
    h.value.fd = fd;
    return h;
}

CULV_EXTERN_C_END

#endif
