/* SPDX-License-Identifier: MIT */
/* The solver: a kernel that takes as long as it is told and writes every word of a frame
 * (bench_frames.cu). */
#ifndef CULVERT_BENCH_FRAMES_SOLVER_H_
#define CULVERT_BENCH_FRAMES_SOLVER_H_

#include "rig.h"

enum { SOLVER_THREADS = 256 };

typedef struct solver {
    const raw_cuda *cu;
    CUstream stream;
    CUmodule module;
    CUfunction solve, now;
    unsigned blocks;
    uint32_t num_times; /* frames whose times are kept */
    CUdeviceptr log;    /* of each frame and block: when it began, when it ended */
    uint64_t *times;    /* the same, on the host: solver_fetch() */
} solver;

/* When one frame's kernel began (its first block) and ended (its last one). */
typedef struct solver_time {
    uint64_t begun, ended; /* nanoseconds of CUDA's global timer */
} solver_time;

void solver_open(solver *s, const rig *r, uint32_t num_times);
void solver_close(solver *s);

/* What a launch's parameters point to; lives as long as the call. */
typedef struct solver_job {
    CUdeviceptr frame;
    uint32_t vectors; /* of 16 bytes */
    uint32_t number;
    uint32_t iterations;
    CUdeviceptr log;
} solver_job;

#define SOLVER_NO_LOG UINT32_MAX

static inline solver_job solver_job_of(const solver *s, CUdeviceptr frame, uint64_t bytes,
                                       uint32_t number, uint32_t iterations, uint32_t log)
{
    CUdeviceptr to =
        log == SOLVER_NO_LOG ? 0 : s->log + (size_t)log * s->blocks * 2 * sizeof(uint64_t);
    return (solver_job){frame, (uint32_t)(bytes / 16), number, iterations, to};
}

static inline void solver_params(solver_job *job, void *params[5])
{
    params[0] = &job->frame;
    params[1] = &job->vectors;
    params[2] = &job->number;
    params[3] = &job->iterations;
    params[4] = &job->log;
}

static inline void solver_launch(const solver *s, CUstream stream, solver_job job)
{
    void *params[5];
    solver_params(&job, params);
    RIG_CU(s->cu->LaunchKernel(s->solve, s->blocks, 1, 1, SOLVER_THREADS, 1, 1, 0, stream, params,
                               NULL));
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
