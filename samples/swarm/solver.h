/* SPDX-License-Identifier: MIT */
/* swarm's solver: the CUDA side of a frame. */
#ifndef SWARM_SOLVER_H_
#define SWARM_SOLVER_H_

#include "particles.h"

enum { SOLVER_FRAMES_IN_FLIGHT = 2 };

typedef struct solver {
    culv_device *device;
    const culv_cuda_api *cu;
    CUcontext callers_context;
    CUstream stream;
    culv_kernels *loaded;
    culv_kernel *emit, *step;
    /* Into which kernels are recorded; NULL: they are launched on the stream */
    struct queue *queue;
    CUevent begin[SOLVER_FRAMES_IN_FLIGHT], end[SOLVER_FRAMES_IN_FLIGHT];
    uint32_t steps; /* a frame */
    uint64_t moved; /* particles that are there already */
} solver;

/* Opens CUDA's device, and loads the kernels. False, with a message, on failure; destroy it either
 * way. */
bool solver_create(solver *s, const vulkan_setup *vulkan, uint32_t steps);
/* Waits for the stream. */
void solver_stop(solver *s);
/* Comes after everything that was made on its device. */
void solver_destroy(solver *s);

/* The time at which a frame begins. */
float solver_time(const solver *s, uint64_t frame);

/* Submits a frame: waits until the one before was drawn, makes the particles that came with the
 * last growth, moves all, and hands them to Vulkan. */
bool solver_frame(solver *s, particles *p, uint64_t frame);

/* The same kernels, by the solver's queue. */
bool solver_launch(solver *s, particles *p, uint64_t frame);

/* Milliseconds that the GPU spent on a frame that is known to be done and is one of the last ones
 * in flight. */
bool solver_frame_time(solver *s, uint64_t frame, float *milliseconds);

#endif
