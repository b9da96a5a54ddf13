/* SPDX-License-Identifier: MIT */
/* ripple's solver in a queue of Vulkan's: its kernels as the VkDevice has them, and its memory,
 * which CUDA fills before the first frame and reads after the last one. */
#ifndef RIPPLE_SOLVER_QUEUE_H_
#define RIPPLE_SOLVER_QUEUE_H_

#include "exchange.h"

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

/* What the solver launched on a captured stream, in its order, behind what was recorded. */
bool solver_queue_replay(solver_queue *q, VkCommandBuffer commands, CUgraph graph,
                         const exchange_buffer *to);

/* Negative when unknown. */
double solver_queue_milliseconds(const solver_queue *q, uint64_t frame);
/* After the last frame, when the device is idle: the arrays are CUDA's again. */
bool solver_queue_give_back(solver_queue *q);

#endif
