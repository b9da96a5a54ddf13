/* SPDX-License-Identifier: MIT */
/* The solver. See solver.h. */
#include "solver.h"

#include "calibrate.h"
#include "measure.h"

#include <stdlib.h>

enum { WAVES = 16, SHORT_WAVES = 64 }; /* of blocks */

const char *const solver_work_names[SOLVER_WORKS] = {
    [SOLVER_ARITHMETIC] = "arithmetic",
    [SOLVER_BLOCKS] = "blocks",
    [SOLVER_SHORT_BLOCKS] = "short blocks",
    [SOLVER_SMALL] = "small",
    [SOLVER_MEMORY] = "memory",
};

void solver_choose(solver *s, solver_work work)
{
    s->work = work;
    s->kernel = work == SOLVER_MEMORY ? SOLVER_WALK : SOLVER_SOLVE;
    s->blocks = work == SOLVER_ARITHMETIC     ? s->wave
                : work == SOLVER_BLOCKS       ? s->wave * WAVES
                : work == SOLVER_SHORT_BLOCKS ? s->wave * SHORT_WAVES
                                              : s->processors;
    s->logged = s->blocks < s->wave ? s->blocks : s->wave;
}

void solver_open(solver *s, const rig *r, uint32_t num_times)
{
    int processors = 0;
    *s = (solver){.cu = r->cu, .stream = r->stream, .num_times = num_times};
    s->module = raw_cuda_load(r->cu, "bench_frames");
    s->kernels[SOLVER_SOLVE] = raw_cuda_function(r->cu, s->module, "frames_solve");
    s->kernels[SOLVER_WALK] = raw_cuda_function(r->cu, s->module, "frames_walk");
    s->now = raw_cuda_function(r->cu, s->module, "frames_now");
    RIG_CU(r->cu->DeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                                     r->ordinal));
    REQUIRE(processors > 0);
    /* As many threads as the processors hold: 2048 each. The twin's are a CPU's. */
    s->processors = (unsigned)processors;
    s->wave = s->processors * (r->cu->software ? 1u : 2048u / SOLVER_THREADS);
    solver_choose(s, SOLVER_ARITHMETIC);
    size_t bytes = (size_t)num_times * s->wave * 2 * sizeof(uint64_t);
    RIG_CU(r->cu->MemAlloc(&s->log, bytes));
    s->times = malloc(bytes);
    REQUIRE(s->times != NULL);
}

void solver_close(solver *s)
{
    free(s->times);
    RIG_CU(s->cu->MemFree(s->log));
    RIG_CU(s->cu->ModuleUnload(s->module));
}

typedef struct solver_trial {
    const solver *solver;
    CUdeviceptr frame;
    uint64_t bytes;
} solver_trial;

static double measure(void *state, uint32_t iterations, uint32_t times)
{
    const solver_trial *t = state;
    RIG_CU(t->solver->cu->StreamSynchronize(t->solver->stream));
    double begun = bench_now();
    for (uint32_t i = 0; i < times; i++)
        solver_launch(t->solver, t->solver->stream,
                      solver_job_of(t->solver, t->frame, t->bytes, 1, iterations, SOLVER_NO_LOG));
    RIG_CU(t->solver->cu->StreamSynchronize(t->solver->stream));
    return (bench_now() - begun) * 1e-3;
}

uint32_t solver_calibrate(const solver *s, CUdeviceptr frame, uint64_t bytes, double us)
{
    solver_trial trial = {s, frame, bytes};
    return calibrate(measure, &trial, us);
}

void solver_fetch(solver *s, CUdeviceptr log, uint32_t frames)
{
    REQUIRE(frames <= s->num_times);
    RIG_CU(s->cu->MemcpyDtoH(s->times, log, (size_t)frames * s->wave * 2 * sizeof(uint64_t)));
}

solver_time solver_time_of(const solver *s, uint32_t frame)
{
    const uint64_t *t = s->times + (size_t)frame * s->wave * 2;
    solver_time all = {t[0], t[1]};
    for (unsigned b = 1; b < s->logged; b++) {
        if (t[2 * b] < all.begun) all.begun = t[2 * b];
        if (t[2 * b + 1] > all.ended) all.ended = t[2 * b + 1];
    }
    return all;
}

uint64_t solver_clock(const solver *s, double *after, double *before)
{
    uint64_t now = 0;
    CUdeviceptr to = s->log;
    void *params[] = {&to};
    RIG_CU(s->cu->StreamSynchronize(s->stream));
    *after = bench_now();
    RIG_CU(s->cu->LaunchKernel(s->now, 1, 1, 1, 1, 1, 1, 0, s->stream, params, NULL));
    RIG_CU(s->cu->StreamSynchronize(s->stream));
    *before = bench_now();
    RIG_CU(s->cu->MemcpyDtoH(&now, to, sizeof now));
    return now;
}
