/* SPDX-License-Identifier: MIT */
/* Streams: which context they belong to, and whether they are being captured. */
#ifndef CULVI_CUDA_STREAM_H_
#define CULVI_CUDA_STREAM_H_

#include "cuda/device.h"

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
/* Checks a stream again after a refusal: by now the handle may belong to another stream than the
 * one that was checked. */
culv_result culvi_recheck_stream(culv_device *device, const char *object, CUstream stream);

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
