/* SPDX-License-Identifier: MIT */
/* The solver: a kernel that takes as long as it is told and writes every word of a frame
 * (bench_frames.cu). What it does meanwhile decides what the GPU can do beside it. */
#ifndef CULVERT_BENCH_FRAMES_SOLVER_H_
#define CULVERT_BENCH_FRAMES_SOLVER_H_

#include "rig.h"

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

#endif
