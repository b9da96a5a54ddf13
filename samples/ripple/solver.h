/* SPDX-License-Identifier: MIT */
/* ripple's solver: the CUDA side. Its state is plain CUDA memory; what the renderer reads is
 * written by the last kernel of a frame, into the exchange's buffer. */
#ifndef RIPPLE_SOLVER_H_
#define RIPPLE_SOLVER_H_

#include "exchange.h"
#include "scene.h"

typedef struct solver solver;

/* Uploads the scene and loads the kernels. NULL, with a message, on failure. The exchange must
 * outlive it. */
solver *solver_create(exchange *e, const scene *basin, uint32_t steps_per_frame,
                      uint32_t frames_in_flight);
/* Waits for the stream and frees everything; NULL is a no-op. */
void solver_destroy(solver *s);

/* Submits one frame: steps, then waits until the exchange's buffer is free,
 * fills it, and hands it over. */
bool solver_frame(solver *s, uint64_t frame);

/* Hands over what the frames so far left open of a burst (exchange.burst_open). */
bool solver_end_burst(solver *s);

/* A burst of at most `most` frames, handed over; without a ring it is one frame. Returns how many;
 * 0: failed. */
uint64_t solver_burst(solver *s, uint64_t first, uint64_t most);

/* Milliseconds that the GPU spent on a frame that is known to be done and is one of the last
 * frames_in_flight. */
bool solver_frame_time(solver *s, uint64_t frame, float *milliseconds);

/* Waits for everything submitted. */
bool solver_finish(solver *s);

/* Copies the heights to the host, for comparisons: width * height floats, after solver_finish(). */
bool solver_read_heights(solver *s, float *heights);

#endif
