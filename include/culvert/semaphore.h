/* Culvert: semaphores of a graphics API that CUDA streams signal and wait for, on the GPU, without the host.
 * SPDX-License-Identifier: MIT */
#ifndef CULV_SEMAPHORE_H_
#define CULV_SEMAPHORE_H_

#include "device.h"
#include "handle.h"

CULV_EXTERN_C_BEGIN

/** Opaque. Signals and waits may come from any thread, one at a time for one semaphore. */
typedef struct culv_semaphore culv_semaphore;

typedef enum culv_semaphore_type {
    CULV_SEMAPHORE_NONE = 0,
    CULV_SEMAPHORE_TIMELINE = 1, /**< VK_SEMAPHORE_TYPE_TIMELINE: a 64-bit counter that only grows. */
    CULV_SEMAPHORE_FORCE32 = 0x7fffffff
} culv_semaphore_type;

/** What to import. Zero in every field but struct_size means the default. */
typedef struct culv_semaphore_desc {
    size_t struct_size;       /**< Set by culv_semaphore_desc_init(). */
    culv_handle handle;       /**< Required. CULV_HANDLE_OPAQUE_FD. */
    culv_semaphore_type type; /**< Required. */
    uint64_t value; /**< A value already reached or promised by others; the next signal must exceed it. */
    culv_uuid
        exporter; /**< UUID of the device that it was exported from; another device's is refused, which the
                       driver would accept and never signal. All zero: you vouch that it is this one's. */
    const char *label; /**< Copied (up to 63 bytes); appears in messages. Default: none. */
} culv_semaphore_desc;

/** A default descriptor.
 *  Errors: none.  Ownership: none.  Threads: any.  Since: 0.1 */
static inline culv_semaphore_desc culv_semaphore_desc_init(void)
{
    culv_semaphore_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    return d;
}

/** Imports a semaphore and TAKES its handle: Culvert's after CULV_OK, still yours, open, after an error.
 *  Errors: INVALID (HANDLE_BAD, HANDLE_KIND, DEVICE_MISMATCH ...), UNSUPPORTED, DRIVER (HANDLE_REFUSED),
 *  ASYNC, OUT_OF_MEMORY.  Ownership: the handle as said; *out is yours, for culv_semaphore_destroy().
 *  Threads: any.  Since: 0.1.  Source: cuda.h, cuImportExternalSemaphore. */
CULV_API culv_result culv_semaphore_import_take(culv_device *device, const culv_semaphore_desc *desc,
                                                culv_semaphore **out);

/** Imports a semaphore and BORROWS its handle: it stays yours, and you may close it right after the call.
 *  Errors: as culv_semaphore_import_take().  Ownership: the handle stays yours; *out is yours, for
 *  culv_semaphore_destroy().  Threads: any.  Since: 0.1 */
CULV_API culv_result culv_semaphore_import_borrow(culv_device *device, const culv_semaphore_desc *desc,
                                                  culv_semaphore **out);

/** Gives the semaphore up and sets *semaphore to NULL; NULL, or a pointer to NULL, is a no-op. Its signals
 *  and waits should be done. The driver WAITS in here for all CUDA work of the context, and keeps other
 *  threads from submitting any: for ever, if a stream waits for a value that is yet to be submitted.
 *  culv_semaphore_destroy_after() does not wait.
 *  Errors: none.  Ownership: *semaphore is Culvert's again.  Threads: any, ordered with other calls on this
 *  object.  Since: 0.1.  Source: CUDA guide 3.2.16: all outstanding signals and waits must complete before
 *  the destruction; measured, docs/nvidia-measured.md: cuDestroyExternalSemaphore waits for the context. */
CULV_API void culv_semaphore_destroy(culv_semaphore **semaphore);

/** As culv_semaphore_destroy(), but DEFERS and never waits: the driver's import is released once `last_use`
 *  has done what was submitted to it so far, at a later culv_buffer_unmap(),
 *  culv_semaphore_destroy(), culv_device_get_counts(),
 *  or with the device: those may wait at the driver. The stream must be of the device's context, and not be
 *  in capture (then it is not deferred).
 *  Errors: none.  Ownership: *semaphore is Culvert's again.  Threads: any, ordered with other calls on this
 *  object.  Since: 0.1 */
CULV_API void culv_semaphore_destroy_after(culv_semaphore **semaphore, CUstream last_use);

/** Makes `stream` set the timeline to `value` when it gets there. What the stream did before is then
 *  visible to who waits for it. A NULL stream is CUDA's legacy default stream, also in code built with
 *  per-thread default streams. Allocates nothing and takes no lock.
 *  Errors: INVALID (TIMELINE_BACKWARDS: the value must exceed every one signalled through this object or
 *  told by culv_semaphore_note_value(), since NVIDIA's driver steps back without a word; STREAM_DEVICE),
 *  DRIVER, ASYNC.  Ownership: none.  Threads: any, one at a time for one semaphore.  Since: 0.1 */
CULV_API culv_result culv_semaphore_signal(culv_semaphore *semaphore, CUstream stream, uint64_t value);

/** Makes `stream` wait until the timeline has reached `value`; the host does not wait. The signal may be
 *  submitted later than the wait (Vulkan's timelines allow it, though the CUDA guide does not say so;
 *  measured on an H200).
 *  Errors: INVALID (STREAM_DEVICE), DRIVER, ASYNC.  Ownership: none.  Threads: any, one at a time for one
 *  semaphore.  Since: 0.1 */
CULV_API culv_result culv_semaphore_wait(culv_semaphore *semaphore, CUstream stream, uint64_t value);

/** Tells that others (a vkQueueSubmit, vkSignalSemaphore) have signalled or promised `value`, so that a
 *  later culv_semaphore_signal() that would step back behind it is refused. Lower values than known ones
 *  are ignored, and so is NULL.
 *  Errors: none.  Ownership: none.  Threads: any.  Since: 0.1 */
CULV_API void culv_semaphore_note_value(culv_semaphore *semaphore, uint64_t value);

/** The highest value signalled through this object, imported with it or told of; 0 for NULL. Not the
 *  timeline's counter: work that signals it may not have run yet.
 *  Errors: none.  Ownership: none.  Threads: any.  Since: 0.1 */
CULV_API uint64_t culv_semaphore_last_value(const culv_semaphore *semaphore);

CULV_EXTERN_C_END

#endif
