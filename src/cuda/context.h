/* SPDX-License-Identifier: MIT */
/* The current context, calls of the driver and what their answers mean, and streams: which context
 * they belong to, and whether they are being captured. */
#ifndef CULVI_CUDA_CONTEXT_H_
#define CULVI_CUDA_CONTEXT_H_

#include "cuda/cuda_trace.h"
#include "cuda/device.h"

/* Makes the device's context current and allows CUDA calls during a stream capture elsewhere
 * (R8). */
typedef struct culvi_scope {
    bool pushed;
    bool relaxed;
    CUstreamCaptureMode mode;
} culvi_scope;

culv_result culvi_enter(culv_device *device, culvi_scope *scope, const char *object);
/* Refuses a call on a device that is suspended (core/suspend.c). */
culv_result culvi_fail_suspended(const culv_device *device, const char *object);
/* Whether the device's context was reset or destroyed. Asks the driver until that is the case. A
 * call that returns something of the context without entering it checks this first. The frame path
 * does not ask the driver: it looks at culv_device::lost. */
bool culvi_lost(culv_device *device);
/* culvi_enter() for destroys, which have no error to report (R2, R3). */
CUresult culvi_enter_quietly(culv_device *device, culvi_scope *scope);
/* The same once more where it is refused: what is kept now would stay with the context. */
bool culvi_enter_to_end(culv_device *device, culvi_scope *scope);
void culvi_leave(culv_device *device, culvi_scope *scope);
/* For a frame whose context is current already: allows CUDA calls during a stream capture
 * elsewhere, until culvi_restore(). */
CUresult culvi_relax(const culv_device *device, culvi_scope *scope);
void culvi_restore(const culv_device *device, const culvi_scope *scope);
/* The same for the frame path: sets only the context, and only when it is not current already. */
CUresult culvi_enter_frame(const culv_device *device, bool *pushed, const char **call);
void culvi_leave_frame(const culv_device *device, bool pushed);

/* Calls a driver function and logs it. */
#define CULVI_CU(device, function, arguments)                                                      \
    CULVI_CU_NAMED(&(device)->voice, (device)->cuda, #function, function, arguments)
/* The same, and notes its name for culvi_fail_cuda(). */
#define CULVI_CU_AS(call, device, function, arguments)                                             \
    ((call) = #function,                                                                           \
     CULVI_CU_NAMED(&(device)->voice, (device)->cuda, #function, function, arguments))

/* Makes a call in the device's context: `result` is its result, or why there is no context. */
#define CULVI_INSIDE(result, device, label, call)                                                  \
    do {                                                                                           \
        culvi_scope inside_;                                                                       \
        (result) = culvi_enter((device), &inside_, (label));                                       \
        if ((result) != CULV_OK) break;                                                            \
        (result) = (call);                                                                         \
        culvi_leave((device), &inside_);                                                           \
    } while (0)
/* Declares `r`, the driver's answer to `call` in the device's context; returns if there is no
 * context. */
#define CULVI_ANSWER_INSIDE(r, device, label, call)                                                \
    culvi_scope r##_scope;                                                                         \
    CULVI_TRY(culvi_enter((device), &r##_scope, (label)));                                         \
    const CUresult r = (call);                                                                     \
    culvi_leave((device), &r##_scope)
#define CULVI_CU_INSIDE(r, device, label, function, arguments)                                     \
    CULVI_ANSWER_INSIDE(r, device, label, CULVI_CU(device, function, arguments))

/* The same for objects that go with their context: handles of a lost context must not reach the
 * driver, which would crash on them (measured). */
#define CULVI_RELEASE(device, function, arguments)                                                 \
    CULVI_RELEASE_NAMED(device, #function, function, arguments)
#define CULVI_RELEASE_NAMED(device, name, function, arguments)                                     \
    ((device)->lost ? CUDA_ERROR_CONTEXT_IS_DESTROYED                                              \
                    : CULVI_CU_NAMED(&(device)->voice, (device)->cuda, name, function, arguments))

/* What the driver refuses once is tried again, for callers that cannot. */
#define CULVI_CU_TWICE(device, function, arguments)                                                \
    CULVI_TWICE_(CULVI_CU_NAMED(&(device)->voice, (device)->cuda, #function, function, arguments))
#define CULVI_RELEASE_TWICE(device, function, arguments)                                           \
    CULVI_TWICE_(CULVI_RELEASE_NAMED(device, #function, function, arguments))
#define CULVI_TWICE_(call) ((void)((call) == CUDA_SUCCESS || (call) == CUDA_SUCCESS))

/* Records the failure of a driver call. `refused` is the reason, unless the code itself gives a
 * better one. */
culv_result culvi_fail_cuda(const culv_device *device, const char *object, CUresult code,
                            const char *call, culv_reason refused, const char *format, ...)
    CULVI_PRINTF(6, 7);
/* The same if the driver's answer, `code`, is no success. */
#define CULVI_CU_RESULT(device, object, code, ...)                                                 \
    ((code) == CUDA_SUCCESS ? CULV_OK : culvi_fail_cuda(device, object, code, __VA_ARGS__))
/* Goes on if it is success, and otherwise returns its error. For a function that has nothing to
 * give up by then. */
#define CULVI_CU_CHECK(device, object, code, ...)                                                  \
    CULVI_TRY(CULVI_CU_RESULT(device, object, code, __VA_ARGS__))
/* Makes the call, too. */
#define CULVI_CU_TRY(device, object, function, arguments, ...)                                     \
    do {                                                                                           \
        const CUresult answer_ = CULVI_CU(device, function, arguments);                            \
        CULVI_CU_CHECK(device, object, answer_, #function, __VA_ARGS__);                           \
    } while (0)
/* Whether an error stays with the context: it does no more work, and everything in it can only be
 * destroyed (R2). */
bool culvi_cuda_sticky(CUresult code);
/* Whether the context or the driver is gone, so that nothing is left to release (R3). */
bool culvi_cuda_gone(CUresult code);

/* Notes whether the device's context is one of CUDA in graphics (CIG). */
culv_result culvi_cig_note(culv_device *device);
/* CULV_OK, or why `what` cannot be had in such a context. `instead` is what to do. */
culv_result culvi_cig_refuse(const culv_device *device, const char *label, const char *what,
                             const char *instead);
/* Streams -------------------------------------------------------------------------------------- */

/* Names a stream for messages. */
void culvi_stream_name(CUstream stream, char out[40]);
/* What forbids an event on a stream, or work that no graph can hold. */
typedef enum culvi_capture {
    CULVI_NOT_CAPTURED,
    CULVI_CAPTURED,
    CULVI_WAITS_FOR_CAPTURED /* the legacy stream, which waits for one that is being captured */
} culvi_capture;

/* Asks the driver. Call it in the context that the stream was made in. */
CUresult culvi_stream_capture(const culv_device *device, CUstream stream, culvi_capture *out);
/* Whether a stream is already known to belong to the device's context. */
void culvi_streams_forget(culv_device *device); /* each is checked again */
bool culvi_stream_known(const culv_device *device, CUstream stream);
/* Makes the context current for one call on a stream, which must belong to it. Used in the frame
 * path. */
culv_result culvi_enter_stream(culv_device *device, const char *object, CUstream stream,
                               bool *pushed);
/* The same for a call that takes streams of green contexts of the device's, too. `green`, if it is
 * not NULL, gets whether the stream is one. */
culv_result culvi_enter_any_stream(culv_device *device, const char *object, CUstream stream,
                                   bool *green, bool *pushed);
/* A stream that shares its hardware queue with no stream that waits, as far as CUDA lets choose:
 * streams of another priority have queues of their own. Of the highest one, or of a middle one. */
CUresult culvi_stream_create_apart(const culv_device *device, bool middle, CUstream *out);
/* Checks a stream again after a call was refused with `code`: by now the handle may belong to
 * another stream than the one that was checked. */
culv_result culvi_recheck_stream(culv_device *device, const char *object, CUstream stream,
                                 CUresult code);

/* order.c: the order of two streams of one GPU. */

/* Makes `after` wait for the work that `before` has so far. Neither is being captured, or both are
 * in one capture. In the device's context, relaxed (R8). */
CUresult culvi_order(culv_device *device, CUstream before, CUstream after, const char **call);
/* The stream that takes semaphores in place of a green context's, always the same one: what one
 * waits and signals in order, the other does. */
CUresult culvi_detour_of(culv_device *device, CUstream green, CUstream *out, const char **call);
/* Makes sure that what a stream has written to another GPU's memory has arrived there before what
 * the stream does next. Prepare once in the device's context; the other may be called in any. */
CUresult culvi_arrive_prepare(culv_device *device, const char **call);
CUresult culvi_arrive(const culv_device *device, CUstream stream);
/* Refuses two streams that cannot be ordered because of a capture. The words name what each is. */
culv_result culvi_order_check(const culv_device *device, const char *function, CUstream before,
                              const char *before_is, CUstream after, const char *after_is);
/* Frees the words; the device has no users left. In the device's context. */
void culvi_order_end(culv_device *device);

#endif
