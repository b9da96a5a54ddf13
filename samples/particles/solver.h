/* SPDX-License-Identifier: MIT */
/* particles' solver: the CUDA side. Its state is plain CUDA memory; what the renderer draws is
 * written by the last kernel of a frame, to wherever the way to OpenGL says. */
#ifndef PARTICLES_SOLVER_H_
#define PARTICLES_SOLVER_H_

#include "../common/cuda_side.h"

typedef struct solver {
    const culv_cuda_api *cu;
    CUstream stream;
    culv_kernels *loaded;
    CUfunction kick, drift, publish;
    CUdeviceptr positions, velocities;
    CUevent begin, end; /* around a frame's work */
    uint32_t count, heavy, steps;
} solver;

/* False, with a message, on failure; destroy it either way. The device's context is current. */
bool solver_create(solver *s, culv_device *device, uint32_t count, uint32_t heavy, uint32_t steps,
                   uint64_t seed);
/* Waits for the stream. */
void solver_destroy(solver *s);

/* Submits a frame's steps. */
bool solver_step(solver *s);
/* Submits the kernel that writes the stars, 16 bytes each. */
bool solver_publish(solver *s, CUdeviceptr stars);
/* Milliseconds that the last frame's steps took; waits for them. */
bool solver_milliseconds(solver *s, float *out);

#endif
