/* SPDX-License-Identifier: MIT */
/* The solver's kernels in Vulkan's queues: by Culvert, and by the raw calls of
 * VK_NVX_binary_import. */
#ifndef CULVERT_BENCH_FRAMES_QUEUE_SOLVER_H_
#define CULVERT_BENCH_FRAMES_QUEUE_SOLVER_H_

#include "solver.h"

typedef struct queue_solver {
    bool there; /* false: the device has no kernels in command buffers */
    rig *rig;
    const solver *solver;
    culv_kernels *loaded;
    culv_kernel *kernels_of[SOLVER_KERNELS];
    culv_vk_kernels *kernels;
    VkCuModuleNVX raw_module;
    VkCuFunctionNVX raw_kernels[SOLVER_KERNELS];
    PFN_vkCmdCuLaunchKernelNVX raw_launch;
    /* As solver::log, for CUDA and for Vulkan. */
    culv_shared_buffer *log;
    VkDeviceAddress log_address;
    /* The queue for kernels beside graphics; that of graphics where there is no other. */
    uint32_t family;
    VkCommandPool pool;
    VkCommandBuffer *commands; /* solver::num_times */
} queue_solver;

void queue_solver_open(queue_solver *q, rig *r, const solver *s);
void queue_solver_close(queue_solver *q);

/* job->frame and job->log are Vulkan's addresses. */
void queue_solver_record(const queue_solver *q, VkCommandBuffer commands, uint32_t family,
                         const solver_job *job);
void queue_solver_record_raw(const queue_solver *q, VkCommandBuffer commands,
                             const solver_job *job);
/* Where the kernels of this frame log their times; SOLVER_NO_LOG: 0. */
VkDeviceAddress queue_solver_log_of(const queue_solver *q, uint32_t frame);
/* CUDA's pointer. After queue_solver_release_log() it has what the kernels wrote. */
CUdeviceptr queue_solver_log(const queue_solver *q);
/* CUDA may read what kernels of this family wrote into the buffer, from the return on. */
void queue_solver_release(const queue_solver *q, const culv_shared_buffer *buffer, uint32_t family);
void queue_solver_release_log(const queue_solver *q, uint32_t family);

#endif
