/* SPDX-License-Identifier: MIT */
/* See solver.h. */
#include "solver.h"

#include <string.h>

#include "../common/report.h"

#define BLOCK     256u
#define TIME_STEP 0.01f
/* Half the side of the cube that particles come from: a fountain; those of the first frame are all
 * over the place. */
#define FOUNTAIN   0.05f
#define EVERYWHERE 0.6f

bool solver_create(solver *s, const vulkan_setup *vulkan, uint32_t steps)
{
    memset(s, 0, sizeof *s);
    s->steps = steps;
    if (!interop_open_device(vulkan, &s->device, &s->cu, &s->callers_context)) return false;
    const culv_cuda_api *cu = s->cu;
    if (!interop_load_kernels(s->device, "swarm", &s->loaded) ||
        !interop_kernel(s->loaded, "swarm_emit", &s->emit) ||
        !interop_kernel(s->loaded, "swarm_step", &s->step) ||
        !cuda_ok(cu, cu->cuStreamCreate(&s->stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate"))
        return false;
    for (int i = 0; i < SOLVER_FRAMES_IN_FLIGHT; i++) {
        if (!cuda_ok(cu, cu->cuEventCreate(&s->begin[i], CU_EVENT_DEFAULT), "cuEventCreate") ||
            !cuda_ok(cu, cu->cuEventCreate(&s->end[i], CU_EVENT_DEFAULT), "cuEventCreate"))
            return false;
    }
    return true;
}

void solver_stop(solver *s)
{
    if (s->stream) (void)s->cu->cuStreamSynchronize(s->stream);
}

void solver_destroy(solver *s)
{
    const culv_cuda_api *cu = s->cu;
    for (int i = 0; i < SOLVER_FRAMES_IN_FLIGHT; i++) {
        if (s->begin[i]) (void)cu->cuEventDestroy(s->begin[i]);
        if (s->end[i]) (void)cu->cuEventDestroy(s->end[i]);
    }
    if (s->stream) (void)cu->cuStreamDestroy(s->stream);
    culv_kernels_unload(&s->loaded);
    interop_close_device(&s->device, cu, s->callers_context);
    memset(s, 0, sizeof *s);
}

float solver_time(const solver *s, uint64_t frame)
{
    return (float)(frame * s->steps) * TIME_STEP;
}

static bool launch(const solver *s, CUfunction kernel, int count, void **parameters)
{
    if (count == 0) return true;
    CUresult result = s->cu->cuLaunchKernel(kernel, ((uint32_t)count + BLOCK - 1) / BLOCK, 1, 1,
                                            BLOCK, 1, 1, 0, s->stream, parameters, NULL);
    return cuda_ok(s->cu, result, "cuLaunchKernel");
}

static bool emit(solver *s, particles *p, uint64_t frame)
{
    CUdeviceptr to = culv_vector_pointer(p->vector);
    int first = (int)s->moved, count = (int)(p->count - s->moved);
    float reach = frame == 0 ? EVERYWHERE : FOUNTAIN, time = solver_time(s, frame);
    float span = (float)s->steps * TIME_STEP;
    void *parameters[] = {&to, &first, &count, &reach, &time, &span};
    s->moved = p->count;
    return launch(s, s->emit, count, parameters);
}

static bool step(solver *s, particles *p)
{
    CUdeviceptr all = culv_vector_pointer(p->vector);
    int count = (int)p->count, steps = (int)s->steps;
    float dt = TIME_STEP;
    void *parameters[] = {&all, &count, &steps, &dt};
    return launch(s, s->step, count, parameters);
}

bool solver_frame(solver *s, particles *p, uint64_t frame)
{
    const culv_cuda_api *cu = s->cu;
    uint64_t slot = frame % SOLVER_FRAMES_IN_FLIGHT;
    return particles_cuda_acquire(p, s->stream, frame) &&
           cuda_ok(cu, cu->cuEventRecord(s->begin[slot], s->stream), "cuEventRecord") &&
           emit(s, p, frame) && step(s, p) &&
           cuda_ok(cu, cu->cuEventRecord(s->end[slot], s->stream), "cuEventRecord") &&
           particles_cuda_release(p, s->stream, frame);
}

bool solver_frame_time(solver *s, uint64_t frame, float *milliseconds)
{
    uint64_t slot = frame % SOLVER_FRAMES_IN_FLIGHT;
    return cuda_ok(s->cu, s->cu->cuEventElapsedTime(milliseconds, s->begin[slot], s->end[slot]),
                   "cuEventElapsedTime");
}
