/* SPDX-License-Identifier: MIT */
/* Culvert: keyed mutexes of Direct3D 11 (IDXGIKeyedMutex), acquired and released by CUDA streams.
 *
 * A keyed mutex is part of a texture or a buffer. A release names a key, and only an acquire with
 * that key gets it next. Each side holds the mutex while it uses the memory. */
#ifndef CULV_KEYED_MUTEX_H_
#define CULV_KEYED_MUTEX_H_

#ifndef CULV_EXPERIMENTAL
#    error "keyed_mutex.h is experimental (docs/stability.md): define CULV_EXPERIMENTAL first"
#endif

#include "device.h"
#include "handle.h"

CULV_EXTERN_C_BEGIN

/** Opaque: an imported keyed mutex. Calls may come from any thread, one at a time for each
 * object. */
typedef struct culv_keyed_mutex culv_keyed_mutex;

/** No time limit: Windows' INFINITE. */
#define CULV_KEYED_MUTEX_INFINITE 0xffffffffu

/** A keyed mutex to import. */
typedef struct culv_keyed_mutex_desc {
    size_t struct_size; /**< Set by culv_keyed_mutex_desc_init(). */
    /** Required: D3D11_KEYED_MUTEX (an NT handle or a name) or D3D11_KEYED_MUTEX_KMT. It is the
     * handle of the texture or the buffer itself. */
    culv_handle handle;
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
} culv_keyed_mutex_desc;

CULV_INIT(culv_keyed_mutex_desc)

/** Imports a keyed mutex and BORROWS its handle. culv_d3d11_keyed_mutex_import() (culvert/d3d.h)
 * needs no handle.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, VALUE, HANDLE_TYPE, HANDLE_BAD), UNSUPPORTED
 * (HANDLE_TYPE: not Windows), DRIVER (also HANDLE_REFUSED), ASYNC, OUT_OF_MEMORY.
 * Ownership: the handle stays yours. A KMT handle keeps nothing alive: the resource must live until
 * the call returns. *out is yours, for culv_keyed_mutex_destroy().
 * Threads: any.
 * Source: cuda.h, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_KEYED_MUTEX and _KMT. */
CULV_EXPORT culv_result culv_keyed_mutex_import(culv_device *device,
                                                const culv_keyed_mutex_desc *desc,
                                                culv_keyed_mutex **out);

/** Acquires the mutex for the next work of `stream`, after the other side has released it with
 * `key`. `timeout_ms` is in milliseconds; CULV_KEYED_MUTEX_INFINITE waits for ever. The call may
 * block the calling thread for that time: submit the other side's release first, or make it on
 * another thread.
 * Errors: INVALID (NULL_ARGUMENT, STREAM_DEVICE; NOT_READY: CUDA holds it already), TIMEOUT
 * (NOT_READY: it was not released with that key in that time; CUDA does not hold it), DRIVER,
 * ASYNC.
 * Threads: any, one at a time for each object.
 * Source: cuda.h, cuWaitExternalSemaphoresAsync: timeoutMs, CUDA_ERROR_TIMEOUT. */
CULV_EXPORT culv_result culv_keyed_mutex_acquire(culv_keyed_mutex *mutex, CUstream stream,
                                                 uint64_t key, uint32_t timeout_ms);

/** Releases the mutex with `key` when `stream` gets there.
 * Errors: INVALID (NULL_ARGUMENT, STREAM_DEVICE; NOT_READY: CUDA does not hold it), DRIVER, ASYNC.
 * Threads: any, one at a time for each object. */
CULV_EXPORT culv_result culv_keyed_mutex_release(culv_keyed_mutex *mutex, CUstream stream,
                                                 uint64_t key);

/** Destroys CUDA's import. It does not release the mutex: release it first, or the other side waits
 * in vain. last_use is as in culv_semaphore_destroy(): for NULL CUDA's work should be done, and a
 * stream DEFERS the release.
 * Threads: any, ordered with other calls on this object. */
CULV_EXPORT void culv_keyed_mutex_destroy(culv_keyed_mutex **mutex, const CUstream *last_use);

CULV_EXTERN_C_END

#endif
