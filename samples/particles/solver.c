/* SPDX-License-Identifier: MIT */
/* See solver.h. */
#include "solver.h"

#include <stdlib.h>
#include <string.h>

#include "galaxies.h"

#define BLOCK     256u
#define TIME_STEP 0.008f

static bool upload(solver *s, uint64_t seed)
{
    const culv_cuda_api *cu = s->cu;
    size_t bytes = s->count * sizeof(quad);
    quad *positions = malloc(2 * bytes), *velocities = positions + s->count;
    if (!positions) {
        report("out of memory for %u stars", s->count);
        return false;
    }
    galaxies_make(positions, velocities, s->count, s->heavy, seed);
    /* The stream does not wait for the legacy one, on which these run. */
    bool done = cuda_ok(cu, cu->cuMemcpyHtoD(s->positions, positions, bytes), "cuMemcpyHtoD") &&
                cuda_ok(cu, cu->cuMemcpyHtoD(s->velocities, velocities, bytes), "cuMemcpyHtoD") &&
                cuda_ok(cu, cu->cuStreamSynchronize(CU_STREAM_LEGACY), "cuStreamSynchronize");
    free(positions);
    return done;
}

bool solver_create(solver *s, culv_device *device, uint32_t count, uint32_t heavy, uint32_t steps,
                   uint64_t seed)
{
    memset(s, 0, sizeof *s);
    s->cu = CULV_CUDA(device);
    s->count = count;
    s->heavy = heavy < count ? heavy : count;
    s->steps = steps;
    const culv_cuda_api *cu = s->cu;
    size_t bytes = count * sizeof(quad);
    return interop_load_kernels(device, "particles", &s->loaded) &&
           interop_kernel(s->loaded, "particles_kick", &s->kick) &&
           interop_kernel(s->loaded, "particles_drift", &s->drift) &&
           interop_kernel(s->loaded, "particles_publish", &s->publish) &&
           cuda_ok(cu, cu->cuStreamCreate(&s->stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate") &&
           cuda_ok(cu, cu->cuEventCreate(&s->begin, CU_EVENT_DEFAULT), "cuEventCreate") &&
           cuda_ok(cu, cu->cuEventCreate(&s->end, CU_EVENT_DEFAULT), "cuEventCreate") &&
           cuda_ok(cu, cu->cuMemAlloc(&s->positions, bytes), "cuMemAlloc") &&
           cuda_ok(cu, cu->cuMemAlloc(&s->velocities, bytes), "cuMemAlloc") && upload(s, seed);
}

void solver_destroy(solver *s)
{
    const culv_cuda_api *cu = s->cu;
    if (!cu) return;
    if (s->stream) (void)cu->cuStreamSynchronize(s->stream);
    if (s->positions) (void)cu->cuMemFree(s->positions);
    if (s->velocities) (void)cu->cuMemFree(s->velocities);
    if (s->begin) (void)cu->cuEventDestroy(s->begin);
    if (s->end) (void)cu->cuEventDestroy(s->end);
    if (s->stream) (void)cu->cuStreamDestroy(s->stream);
    culv_kernels_unload(&s->loaded);
    memset(s, 0, sizeof *s);
}

static bool launch(solver *s, CUfunction kernel, void **parameters)
{
    CUresult result = s->cu->cuLaunchKernel(kernel, (s->count + BLOCK - 1) / BLOCK, 1, 1, BLOCK, 1,
                                            1, 0, s->stream, parameters, NULL);
    return cuda_ok(s->cu, result, "cuLaunchKernel");
}

bool solver_step(solver *s)
{
    int heavy = (int)s->heavy, count = (int)s->count;
    float softening2 = GALAXIES_SOFTENING * GALAXIES_SOFTENING, dt = TIME_STEP;
    void *kick[] = {&s->positions, &s->velocities, &heavy, &count, &softening2, &dt};
    void *drift[] = {&s->positions, &s->velocities, &count, &dt};
    if (!cuda_ok(s->cu, s->cu->cuEventRecord(s->begin, s->stream), "cuEventRecord")) return false;
    for (uint32_t i = 0; i < s->steps; i++) {
        if (!launch(s, s->kick, kick) || !launch(s, s->drift, drift)) return false;
    }
    return cuda_ok(s->cu, s->cu->cuEventRecord(s->end, s->stream), "cuEventRecord");
}

bool solver_publish(solver *s, CUdeviceptr stars)
{
    int count = (int)s->count;
    void *parameters[] = {&stars, &s->positions, &s->velocities, &count};
    return launch(s, s->publish, parameters);
}

bool solver_milliseconds(solver *s, float *out)
{
    return cuda_ok(s->cu, s->cu->cuEventSynchronize(s->end), "cuEventSynchronize") &&
           cuda_ok(s->cu, s->cu->cuEventElapsedTime(out, s->begin, s->end), "cuEventElapsedTime");
}
