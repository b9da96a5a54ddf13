/* SPDX-License-Identifier: MIT */
/* swarm's solver in a queue of Vulkan's, without a switch between CUDA and Vulkan: in the drawing's
 * command buffer, or in command buffers of its own on the compute queue. The particles are moved
 * where they are, so the two sides take turns either way. */
#ifndef SWARM_QUEUE_H_
#define SWARM_QUEUE_H_

#include "solver.h"

typedef struct queue {
    solver *solver;
    particles *particles;
    bool async;
    uint32_t family;
    VkQueue queue;
    culv_vk_kernels *kernels;
    VkCommandPool pool;
    VkCommandBuffer commands[SOLVER_FRAMES_IN_FLIGHT]; /* of async */
    VkQueryPool times;                                 /* none where the queue has no timestamps */
    VkCommandBuffer recording;
    size_t owned; /* buffers that Vulkan has from CUDA, the first ones */
} queue;

/* False, with a message, on failure; destroy it either way, when the device is idle. */
bool queue_create(queue *q, solver *s, particles *p, bool async);
void queue_destroy(queue *q);

/* The solver's side of a frame: async submits it, else queue_record() has it. */
bool queue_frame(queue *q, uint64_t frame);
/* For the solver: a launch behind all before it. */
bool queue_launch(queue *q, const culv_kernel_call *call);

/* Into the drawing's command buffer: what comes first, and around the use of the particles. */
bool queue_record(queue *q, VkCommandBuffer commands, uint64_t frame);
bool queue_record_acquire(queue *q, VkCommandBuffer commands);
bool queue_record_release(queue *q, VkCommandBuffer commands);

bool queue_frame_time(const queue *q, uint64_t frame, float *milliseconds);
/* After the last frame: the particles are CUDA's again. */
bool queue_give_back(queue *q);

#endif
