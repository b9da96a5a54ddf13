/* SPDX-License-Identifier: MIT */
/* The solver as a consumer: a kernel that works as long as the solver does and checks every word of
 * a frame of Vulkan's (frames_read of bench_frames.cu). On a stream, or in a command buffer. */
#ifndef CULVERT_BENCH_FRAMES_READER_H_
#define CULVERT_BENCH_FRAMES_READER_H_

#include "queue_solver.h"

typedef struct reader_verdict {
    uint32_t frames, wrong; /* that were checked; words that were another frame's */
} reader_verdict;

typedef struct reader {
    rig *rig;
    const solver *solver;
    const queue_solver *queue;
    CUfunction kernel;
    CUdeviceptr verdict;
    culv_kernel *queue_kernel;         /* NULL: the device has no kernels in command buffers */
    culv_shared_buffer *queue_verdict; /* of those: Vulkan's, until reader_judge_queue() */
} reader;

void reader_open(reader *r, rig *gpu, const solver *s, const queue_solver *q);
void reader_close(reader *r);

/* number 0: nothing is checked. */
void reader_launch(const reader *r, CUstream stream, solver_job job);
/* job->frame and job->log are Vulkan's addresses. */
void reader_record(const reader *r, VkCommandBuffer commands, uint32_t family,
                   const solver_job *job);
/* Once before the first kernel of a run: no frame has been checked. */
void reader_record_begin(const reader *r, VkCommandBuffer commands);

/* Since the last call; the stream is idle. */
reader_verdict reader_judge(reader *r);
/* Since reader_record_begin(); the queue, of this family, is idle. */
reader_verdict reader_judge_queue(reader *r, uint32_t family);

#endif
