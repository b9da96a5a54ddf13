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

/* ripple's solver in a queue of Vulkan's: its kernels as the VkDevice has them, and its memory,
 * which CUDA fills before the first frame and reads after the last one. */

enum { SOLVER_QUEUE_ARRAYS = 5 };

/* An array of the solver's, as streams and as queues of Vulkan's know it. */
typedef struct solver_array {
    CUdeviceptr pointer;
    VkDeviceAddress address; /* 0: CUDA's own memory */
} solver_array;

typedef struct solver_queue {
    exchange *exchange;
    culv_vk_kernels *kernels;
    culv_shared_buffer *arrays[SOLVER_QUEUE_ARRAYS];
    uint32_t num_arrays;
    VkQueryPool times; /* two for each frame in flight; none where the queue has no timestamps */
    bool acquired;     /* Vulkan has the arrays */
} solver_queue;

/* False, with a message, on failure; destroy it either way, after the device is idle. */
bool solver_queue_create(solver_queue *q, exchange *e, culv_kernels *loaded);
void solver_queue_destroy(solver_queue *q);
bool solver_queue_array(solver_queue *q, size_t bytes, solver_array *out);

/* Around a frame's kernels. */
bool solver_queue_begin(solver_queue *q, VkCommandBuffer commands, uint64_t frame);
void solver_queue_end(solver_queue *q, VkCommandBuffer commands, uint64_t frame);
/* The call, behind all kernels before it. */
bool solver_queue_launch(solver_queue *q, VkCommandBuffer commands, const culv_kernel_call *call);

/* Negative when unknown. */
double solver_queue_milliseconds(const solver_queue *q, uint64_t frame);
/* After the last frame, when the device is idle: the arrays are CUDA's again. */
bool solver_queue_give_back(solver_queue *q);

#endif
