/* SPDX-License-Identifier: MIT */
/* Culvert: semaphores of a graphics API that CUDA streams signal and wait for, on the GPU, without
 * the host. */
#ifndef CULV_SEMAPHORE_H_
#define CULV_SEMAPHORE_H_

#include "device.h"
#include "handle.h"

CULV_EXTERN_C_BEGIN

/** Opaque. Signals and waits may come from any thread, one at a time for one semaphore. */
typedef struct culv_semaphore culv_semaphore;

typedef enum culv_semaphore_type {
    CULV_SEMAPHORE_NONE = 0,
    /** VK_SEMAPHORE_TYPE_TIMELINE: a 64-bit counter that only grows. */
    CULV_SEMAPHORE_TIMELINE = 1,
    /** VK_SEMAPHORE_TYPE_BINARY: signaled or not; one wait a signal, and the partner in the other
     * API. Use one semaphore for each direction. */
    CULV_SEMAPHORE_BINARY = 2,
    CULV_SEMAPHORE_FORCE32 = 0x7fffffff
} culv_semaphore_type;

/** What to import. Zero in every field but struct_size means the default. */
typedef struct culv_semaphore_desc {
    size_t struct_size; /**< Set by culv_semaphore_desc_init(). */
    /** Required. OPAQUE_FD, on Windows OPAQUE_WIN32; OPAQUE_WIN32_KMT for binary ones alone. */
    culv_handle handle;
    culv_semaphore_type type; /**< Required. */
    /** Timeline: a value already reached or promised by others; the next signal must exceed it.
     * Binary: 0. */
    uint64_t value;
    /** Binary: nonzero when a signal of the other side was submitted already. */
    culv_bool signal_pending;
    /** Binary: nonzero to leave the order of signals and waits to you; see
     * culv_semaphore_mark_signaled(). */
    culv_bool untracked;
    /** UUID of the device that it was exported from; another device's is refused, which the driver
     * would accept and never signal. All zero: you vouch that it is this one's. */
    culv_uuid exporter;
    const char *label; /**< Copied (up to 63 bytes). Appears in messages. Default: none. */
} culv_semaphore_desc;

/** Returns a default descriptor.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_semaphore_desc culv_semaphore_desc_init(void)
{
    culv_semaphore_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    return d;
}

/** Imports a semaphore and TAKES its handle: Culvert's after CULV_OK, still yours, open, after an
 * error.
 * Errors: INVALID (HANDLE_BAD, HANDLE_KIND, DEVICE_MISMATCH, VALUE ...), UNSUPPORTED, DRIVER
 * (HANDLE_REFUSED), ASYNC, OUT_OF_MEMORY.
 * Ownership: the handle as said; *out is yours; give it to culv_semaphore_destroy().
 * Threads: any.
 * Since: 0.1.
 * Source: cuda.h, cuImportExternalSemaphore. */
CULV_EXPORT culv_result culv_semaphore_import_take(culv_device *device,
                                                   const culv_semaphore_desc *desc,
                                                   culv_semaphore **out);

/** Imports a semaphore and BORROWS its handle: it stays yours, and you may close it right after the
 * call.
 * Errors: as culv_semaphore_import_take().
 * Ownership: the handle stays yours; *out is yours; give it to culv_semaphore_destroy().
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_semaphore_import_borrow(culv_device *device,
                                                     const culv_semaphore_desc *desc,
                                                     culv_semaphore **out);

/** The semaphore's type; CULV_SEMAPHORE_NONE for NULL.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_semaphore_type culv_semaphore_get_type(const culv_semaphore *semaphore);

/** Gives the semaphore up and sets *semaphore to NULL; NULL, or a pointer to NULL, is a no-op. Its
 * signals and waits should be done. The driver WAITS in here for all CUDA work of the context, and
 * keeps other threads from submitting any: for ever, if a stream waits for a value that is yet to
 * be submitted. culv_semaphore_destroy_after() does not wait. One that Culvert made
 * (culv_vk_semaphore_cuda()) is refused: the last error says so (OWNED), nothing is done and the
 * pointer stays.
 * Errors: none.
 * Ownership: *semaphore is Culvert's again.
 * Threads: any, ordered with other calls on this object.
 * Since: 0.1.
 * Source: CUDA guide 3.2.16: all outstanding signals and waits must complete before the
 * destruction; measured, docs/nvidia-measured.md: cuDestroyExternalSemaphore waits for the
 * context. */
CULV_EXPORT void culv_semaphore_destroy(culv_semaphore **semaphore);

/** As culv_semaphore_destroy(), but DEFERS and never waits: the driver's import is released once
 * `last_use` has done what was submitted to it so far, at a later culv_device_collect(),
 * culv_buffer_unmap(), culv_semaphore_destroy() or culv_device_get_counts(), or with the device:
 * those may wait at the driver. The stream must be of the device's context. Where it is in capture,
 * nothing can be recorded on it: the release then waits for all CUDA work.
 * Errors: none.
 * Ownership: *semaphore is Culvert's again.
 * Threads: any, ordered with other calls on this object.
 * Since: 0.1 */
CULV_EXPORT void culv_semaphore_destroy_after(culv_semaphore **semaphore, CUstream last_use);

/** Makes `stream` signal the semaphore when it gets there: sets a timeline to `value`, or a binary
 * one to signaled, for which `value` is 0. What the stream did before is then visible to who waits
 * for it. A NULL stream is CUDA's legacy default stream, also in code built with per-thread default
 * streams. Allocates nothing and takes no lock.
 * Errors: INVALID (TIMELINE_BACKWARDS: the value must exceed every one signaled through this
 * object or told by culv_semaphore_mark_value(), since NVIDIA's driver steps back without a word;
 * DOUBLE_SIGNAL; VALUE: a value for a binary semaphore; STREAM_DEVICE), DRIVER, ASYNC.
 * Ownership: none.
 * Threads: any, one at a time for one semaphore.
 * Since: 0.1.
 * Source: cuda.h, cuSignalExternalSemaphoresAsync. */
CULV_EXPORT culv_result culv_semaphore_signal(culv_semaphore *semaphore, CUstream stream,
                                              uint64_t value);

/** Makes `stream` wait until the timeline has reached `value`, or the binary semaphore is
 * signaled, which resets it (`value` is 0); the host does not wait. A timeline's signal may be
 * submitted later than the wait (Vulkan's timelines allow it, though the CUDA guide does not say
 * so; measured on an H200); a binary one's must have been submitted before.
 * Errors: INVALID (WAIT_BEFORE_SIGNAL, SAME_SIDE, VALUE, STREAM_DEVICE), DRIVER, ASYNC.
 * Ownership: none.
 * Threads: any, one at a time for one semaphore.
 * Since: 0.1.
 * Source: cuda.h, cuWaitExternalSemaphoresAsync: for every signal there can only be one wait. */
CULV_EXPORT culv_result culv_semaphore_wait(culv_semaphore *semaphore, CUstream stream,
                                            uint64_t value);

/** One semaphore of a batch, and its value as culv_semaphore_signal() and _wait() take it. */
typedef struct culv_semaphore_point {
    culv_semaphore *semaphore; /**< Required. */
    uint64_t value;            /**< Timeline: the value. Binary: 0. */
} culv_semaphore_point;

/** The most semaphores that one batch may have. */
#define CULV_SEMAPHORE_BATCH_MAX 32

/** Signals several semaphores of one device by one driver call; see culv_semaphore_signal(). All or
 * nothing: after an error none is signaled. count may be 0. Allocates nothing and takes no lock.
 * On the PEER and HOST paths (culvert/fallback.h) each point takes calls of its own: a refusal of
 * Culvert's still leaves all as it was, but after DRIVER or ASYNC the first points may be
 * signaled.
 * Errors: as culv_semaphore_signal(); INVALID (VALUE: more than CULV_SEMAPHORE_BATCH_MAX, or one
 * semaphore twice; DEVICE_MISMATCH: semaphores of different devices).
 * Ownership: none; `points` is read during the call.
 * Threads: any, one at a time for one semaphore.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_semaphore_signal_batch(const culv_semaphore_point *points,
                                                    uint32_t count, CUstream stream);

/** Waits for several semaphores of one device by one driver call; see culv_semaphore_wait(). All or
 * nothing: after an error none is waited for. count may be 0. Allocates nothing and takes no lock.
 * On the PEER and HOST paths (culvert/fallback.h) each point takes calls of its own: a refusal of
 * Culvert's still leaves all as it was, but after DRIVER or ASYNC the first points may be waited
 * for.
 * Errors: as culv_semaphore_wait(); INVALID (VALUE: more than CULV_SEMAPHORE_BATCH_MAX, or one
 * semaphore twice; DEVICE_MISMATCH: semaphores of different devices).
 * Ownership: none; `points` is read during the call.
 * Threads: any, one at a time for one semaphore.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_semaphore_wait_batch(const culv_semaphore_point *points,
                                                  uint32_t count, CUstream stream);

/** Tells that the other API's SIGNAL of a binary semaphore was submitted (vkQueueSubmit): call it
 * after the submission and before CUDA's wait. Culvert sees CUDA's half of a binary semaphore's
 * life only. With this and culv_semaphore_mark_waited() it knows both, and refuses what would hang or
 * leave the semaphore undefined: a second signal before the wait, a second wait, a wait before the
 * signal, a CUDA wait for CUDA's signal. (The other API's waits for its own signals are its own
 * affair.) Each object keeps its own account, so import a semaphore once. In a stream capture,
 * whose graph may run many times, and wherever that account does not fit,
 * culv_semaphore_desc::untracked turns it off, and these two calls into no-ops. An error changes
 * nothing: the note is to be made again once it is true.
 * Errors: INVALID (DOUBLE_SIGNAL; VALUE: the semaphore is a timeline).
 * Ownership: none.
 * Threads: any.
 * Since: 0.1.
 * Source: Vulkan specification, VUID-vkQueueSubmit-pSignalSemaphores-00067; CUDA guide 3.2.16. */
CULV_EXPORT culv_result culv_semaphore_mark_signaled(culv_semaphore *semaphore);

/** Tells that the other API's WAIT for a binary semaphore was submitted: call it after the
 * submission and before CUDA's next signal. See culv_semaphore_mark_signaled().
 * Errors: INVALID (WAIT_BEFORE_SIGNAL; VALUE: the semaphore is a timeline).
 * Ownership: none.
 * Threads: any.
 * Since: 0.1.
 * Source: Vulkan specification, VUID-vkQueueSubmit-pWaitSemaphores-00068. */
CULV_EXPORT culv_result culv_semaphore_mark_waited(culv_semaphore *semaphore);

/** Timelines: tells that others (a vkQueueSubmit, vkSignalSemaphore) have signaled or promised
 * `value`, so that a later culv_semaphore_signal() that would step back behind it is refused. Lower
 * values than known ones are ignored, and so are binary semaphores and NULL.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT void culv_semaphore_mark_value(culv_semaphore *semaphore, uint64_t value);

/** The highest value signaled through this object, imported with it or told of; 0 for NULL and for
 * binary semaphores. Not the timeline's counter: work that signals it may not have run yet.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT uint64_t culv_semaphore_last_value(const culv_semaphore *semaphore);

CULV_EXTERN_C_END

#endif
