/* SPDX-License-Identifier: MIT */
/* The solver: a kernel that takes as long as it is told and writes every word of a frame
 * (bench_frames.cu). What it does meanwhile decides what the GPU can do beside it. */
#ifndef CULVERT_BENCH_FRAMES_SOLVER_H_
#define CULVERT_BENCH_FRAMES_SOLVER_H_

#include "rig.h"

#include <stdint.h>

enum { SOLVER_THREADS = 256, SOLVER_PARAMS = 6 };

typedef enum solver_kernel { SOLVER_SOLVE, SOLVER_WALK, SOLVER_KERNELS } solver_kernel;

/* How the time is spent. */
typedef enum solver_work {
    SOLVER_ARITHMETIC,   /* arithmetic, one wave of blocks that fills every multiprocessor */
    SOLVER_BLOCKS,       /* the same in 16 waves of shorter blocks */
    SOLVER_SHORT_BLOCKS, /* in 64 waves */
    SOLVER_SMALL,        /* the same in one block a multiprocessor */
    SOLVER_MEMORY,       /* one block a multiprocessor, which waits for the memory */
    SOLVER_WORKS
} solver_work;

extern const char *const solver_work_names[SOLVER_WORKS];

typedef struct solver {
    const raw_cuda *cu;
    CUstream stream;
    CUmodule module;
    CUfunction kernels[SOLVER_KERNELS], now;
    unsigned processors, wave; /* blocks that are at work at once; so many have times */
    /* What solver_choose() chose. */
    solver_work work;
    solver_kernel kernel;
    unsigned blocks, logged;
    uint32_t num_times; /* frames whose times are kept */
    CUdeviceptr log;    /* of each frame: when its first blocks began, when its last ones ended */
    uint64_t *times;    /* the same, on the host: solver_fetch() */
} solver;

/* When one frame's kernel began (its first block) and ended (its last one). */
typedef struct solver_time {
    uint64_t begun, ended; /* nanoseconds of CUDA's global timer */
} solver_time;

/* Its work is arithmetic. */
void solver_open(solver *s, const rig *r, uint32_t num_times);
void solver_close(solver *s);
/* For all launches from here on. */
void solver_choose(solver *s, solver_work work);

/* What a launch's parameters point to; lives as long as the call. */
typedef struct solver_job {
    CUdeviceptr frame;
    uint32_t vectors; /* of 16 bytes */
    uint32_t number;
    uint32_t iterations;
    CUdeviceptr log;
    uint32_t logged;
} solver_job;

#define SOLVER_NO_LOG UINT32_MAX

static inline solver_job solver_job_of(const solver *s, CUdeviceptr frame, uint64_t bytes,
                                       uint32_t number, uint32_t iterations, uint32_t log)
{
    CUdeviceptr to =
        log == SOLVER_NO_LOG ? 0 : s->log + (size_t)log * s->wave * 2 * sizeof(uint64_t);
    return (solver_job){frame, (uint32_t)(bytes / 16), number, iterations, to, s->logged};
}

static inline void solver_params(solver_job *job, void *params[SOLVER_PARAMS])
{
    params[0] = &job->frame;
    params[1] = &job->vectors;
    params[2] = &job->number;
    params[3] = &job->iterations;
    params[4] = &job->log;
    params[5] = &job->logged;
}

static inline void solver_launch(const solver *s, CUstream stream, solver_job job)
{
    void *params[SOLVER_PARAMS];
    solver_params(&job, params);
    RIG_CU(s->cu->LaunchKernel(s->kernels[s->kernel], s->blocks, 1, 1, SOLVER_THREADS, 1, 1, 0,
                               stream, params, NULL));
}

/* The iterations after which a frame of this size takes this long when one follows the other. 0
 * where the writing alone takes longer. */
uint32_t solver_calibrate(const solver *s, CUdeviceptr frame, uint64_t bytes, double us);

/* Takes over what the kernels logged, into solver::log or another one of its size; then
 * solver_time_of() answers. Their stream is idle. */
void solver_fetch(solver *s, CUdeviceptr log, uint32_t frames);
solver_time solver_time_of(const solver *s, uint32_t frame);

/* CUDA's global timer, and between which two times of the host's monotonic clock it was read. */
uint64_t solver_clock(const solver *s, double *after, double *before);

/* The solver's kernels in Vulkan's queues: by Culvert, and by the raw calls of
 * VK_NVX_binary_import. */

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

/* The solver as a consumer: a kernel that works as long as the solver does and checks every word of
 * a frame of Vulkan's (frames_read of bench_frames.cu). On a stream, or in a command buffer. */

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

/* How many iterations of a load take how long, by timing long runs. */

/* Runs the load `times` times in a row and returns the microseconds that all took. */
typedef double calibrate_run(void *state, uint32_t iterations, uint32_t times);

/* The iterations with which one takes `us` microseconds in the middle of a row; 0 where even none
 * takes longer. */
uint32_t calibrate(calibrate_run *run, void *state, double us);

#endif
