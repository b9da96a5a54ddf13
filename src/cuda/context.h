/* SPDX-License-Identifier: MIT */
/* The current context, calls of the driver, and what their answers mean. */
#ifndef CULVI_CUDA_CONTEXT_H_
#define CULVI_CUDA_CONTEXT_H_

#include "cuda/device.h"

/* Makes the device's context current and lets CUDA calls pass in spite of a stream capture
 * elsewhere (R8). */
typedef struct culvi_scope {
    bool pushed;
    bool relaxed;
    CUstreamCaptureMode mode;
} culvi_scope;

culv_result culvi_enter(culv_device *device, culvi_scope *scope, const char *object);
/* Whether the device's context was reset or destroyed. Asks the driver until it is so. What hands
 * out something of the context's without entering it asks this first; the frame path asks no
 * driver, and looks at culv_device::lost. */
bool culvi_lost(culv_device *device);
/* culvi_enter() for destroys, which have no error to report (R2, R3). */
CUresult culvi_enter_quietly(culv_device *device, culvi_scope *scope);
void culvi_leave(culv_device *device, culvi_scope *scope);
/* The same for the frame path: nothing but the context, and that only when it is not current
 * already. */
CUresult culvi_enter_frame(const culv_device *device, bool *pushed, const char **call);
void culvi_leave_frame(const culv_device *device, bool pushed);

/* Calls a driver function with a trace line. */
#define CULVI_CU(device, function, arguments)                                                      \
    (culvi_log(&(device)->voice, CULV_LOG_DEBUG, "%s%s", #function, #arguments),                   \
     (device)->cuda->function arguments)

/* The same for what a context takes with it: handles of a lost one must not reach the driver, which
 * would crash on them (measured). */
#define CULVI_RELEASE(device, function, arguments)                                                 \
    ((device)->lost ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CULVI_CU(device, function, arguments))

/* Records the failure of a driver call: `refused` is the reason unless the code itself tells a
 * better one. */
culv_result culvi_fail_cuda(const culv_device *device, const char *object, CUresult code,
                            const char *call, culv_reason refused, const char *format, ...)
    CULVI_PRINTF(6, 7);
/* An error that stays with the context: work is over there, and destroying is all that is left
 * (R2). */
bool culvi_cuda_sticky(CUresult code);
/* The context or the driver is gone: there is nothing left to release (R3). */
bool culvi_cuda_gone(CUresult code);

#endif
