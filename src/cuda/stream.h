/* SPDX-License-Identifier: MIT */
/* Streams: whose they are, and whether they are being captured. */
#ifndef CULVI_CUDA_STREAM_H_
#define CULVI_CUDA_STREAM_H_

#include "cuda/device.h"

/* For messages. */
void culvi_stream_name(CUstream stream, char out[40]);
/* What keeps an event, or work that no graph can hold, off a stream. */
typedef enum culvi_capture {
    CULVI_NOT_CAPTURED,
    CULVI_CAPTURED,
    CULVI_WAITS_FOR_CAPTURED /* the legacy stream, which waits for one that is being captured */
} culvi_capture;

/* Asks the driver. In the context that the stream was made in. */
CUresult culvi_stream_capture(const culv_device *device, CUstream stream, culvi_capture *out);
/* Whether a stream was found to be of the device's context before. */
bool culvi_stream_known(const culv_device *device, CUstream stream);
/* Makes the context current for one call on a stream, which must be of the device's. In the frame
 * path. */
culv_result culvi_enter_stream(culv_device *device, const char *object, CUstream stream,
                               bool *pushed);
/* After a refusal: the handle may by now be another stream's than the one that was checked. */
culv_result culvi_recheck_stream(culv_device *device, const char *object, CUstream stream);

#endif
