/* ripple's solver: the CUDA side. Its state is plain CUDA memory; what the renderer reads is written by the
 * last kernel of a frame, directly into a shared buffer. SPDX-License-Identifier: MIT */
#ifndef RIPPLE_SOLVER_H_
#define RIPPLE_SOLVER_H_

#include "../common/cuda_api.h"
#include "exchange.h"
#include "scene.h"

typedef struct solver solver;

/* Uploads the scene and loads the kernels. NULL, with a message, on failure. */
solver *solver_create(culv_device *device, const scene *basin, uint32_t steps_per_frame,
                      uint32_t frames_in_flight);
/* Waits for the stream and frees everything; NULL is a no-op. */
void solver_destroy(solver *s);

/* Submits one frame: steps, then waits (on the GPU) until the renderer has given this frame's buffer back,
 * fills it, and signals the timeline. The host does not wait. */
bool solver_frame(solver *s, exchange *e, uint64_t frame);

/* Milliseconds that the GPU spent on a frame that is known to be done and is one of the last
 * frames_in_flight. */
bool solver_frame_time(solver *s, uint64_t frame, float *milliseconds);

/* Waits for everything submitted. */
bool solver_finish(solver *s);

/* Copies the heights to the host, for comparisons: width * height floats, after solver_finish(). */
bool solver_read_heights(solver *s, float *heights);

CUstream solver_stream(const solver *s);

#endif
