/* SPDX-License-Identifier: MIT */
/* The order of two streams of one GPU. */
#ifndef CULVI_CUDA_ORDER_H_
#define CULVI_CUDA_ORDER_H_

#include "cuda/device.h"

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
