/* SPDX-License-Identifier: MIT */
/* forest's solver: moves leaves and wood, and builds the hierarchy over them. */
#ifndef FOREST_SOLVER_H_
#define FOREST_SOLVER_H_

#include "memory.h"

/* A frame that CUDA and Vulkan have done is not needed any more when this many later ones begin. */
enum { SOLVER_FRAMES_IN_FLIGHT = 2 };

typedef struct solver_slot {
    CUevent begin, built, given; /* `given`: Vulkan has it */
} solver_slot;

typedef struct solver {
    culv_device *device;
    const culv_cuda_api *cu;
    CUcontext callers_context;
    CUstream stream;
    culv_kernels *loaded;
    CUfunction grow, keys, sort, boxes, fold, link;
    solver_slot slots[SOLVER_FRAMES_IN_FLIGHT];
    int count, room; /* particles, and a power of two for them */
    CUdeviceptr key_list, box_list;
} solver;

/* Opens CUDA's device, and loads the kernels. False, with a message, on failure; destroy it either
 * way. */
bool solver_create(solver *s, const vulkan_setup *vulkan, uint64_t particles);
/* What the memory must have room for; the picture is the renderer's. */
memory_sizes solver_sizes(const solver *s);
/* Waits for the stream. */
void solver_stop(solver *s);
/* Comes after everything that was made on its device. */
void solver_destroy(solver *s);

/* Submits a frame: waits until the one before was drawn, moves, builds, and hands all to Vulkan. */
bool solver_frame(solver *s, const memory_mode *mode, memory *m, uint64_t frame);

/* Milliseconds of a frame that is known to be done and is one of the last ones in flight. */
bool solver_frame_time(solver *s, uint64_t frame, float *build, float *hand_over);

#endif
