/* SPDX-License-Identifier: MIT */
/* ripple's solver. */
#include "solver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../common/interop.h"
#include "../common/report.h"

#define BLOCK_X 32u
#define BLOCK_Y 8u

/* Of the deepest water, in (cells per step)^2; the scheme is stable below 0.75. */
#define SPEED2 0.36f
/* World units that a wave travels until friction has halved it. */
#define HALVING_DISTANCE 2.6f
/* The same of foam. */
#define FOAM_HALVING_DISTANCE 0.35f

/* The marks around a frame's two stretches of work: what lies between them is waiting for the
 * renderer. */
enum { MARK_STEPS_BEGIN, MARK_STEPS_END, MARK_PUBLISH_BEGIN, MARK_PUBLISH_END, NUM_MARKS };

struct solver {
    exchange *exchange;
    const culv_cuda_api *cu;
    scene scene;
    uint32_t steps_per_frame, frames_in_flight;
    float keep;       /* how much of its velocity a cell keeps in a step */
    float step_reach; /* world units that a wave travels in a step */
    CUstream stream;
    culv_kernels *loaded;
    CUfunction step, drop, foam_step, tint, publish;
    CUdeviceptr heights[2]; /* [newest] is h(t), the other one h(t - 1) */
    CUdeviceptr speed2, bottom, foam;
    int newest;
    uint64_t steps_done, drops_done;
    CUevent *marks; /* frames_in_flight * NUM_MARKS */
};

static bool upload_scene(solver *s)
{
    const culv_cuda_api *cu = s->cu;
    size_t cells = (size_t)s->scene.width * s->scene.height;
    size_t bytes = cells * sizeof(float);
    float *host = malloc(bytes);
    if (!host) {
        report("out of memory for a grid of %u x %u", s->scene.width, s->scene.height);
        return false;
    }
    scene_fill_bottom(&s->scene, host);
    bool done = cuda_ok(cu, cu->cuMemcpyHtoD(s->bottom, host, bytes), "cuMemcpyHtoD");
    for (size_t i = 0; i < cells; i++)
        host[i] = SPEED2 * scene_relative_speed2(host[i]);
    done = done && cuda_ok(cu, cu->cuMemcpyHtoD(s->speed2, host, bytes), "cuMemcpyHtoD");
    free(host);
    const CUdeviceptr empty[] = {s->heights[0], s->heights[1], s->foam};
    for (int i = 0; i < 3; i++) {
        done = done && cuda_ok(cu, cu->cuMemsetD8(empty[i], 0, bytes), "cuMemsetD8");
    }
    /* These ran on the legacy stream, perhaps still do, and the solver's own stream does not wait
     * for that one. */
    return done && cuda_ok(cu, cu->cuStreamSynchronize(CU_STREAM_LEGACY), "cuStreamSynchronize");
}

static bool load_kernels(solver *s)
{
    return interop_load_kernels(s->exchange->device, "ripple", &s->loaded) &&
           interop_kernel(s->loaded, "ripple_step", &s->step) &&
           interop_kernel(s->loaded, "ripple_drop", &s->drop) &&
           interop_kernel(s->loaded, "ripple_foam", &s->foam_step) &&
           interop_kernel(s->loaded, "ripple_tint", &s->tint) &&
           interop_kernel(s->loaded, "ripple_publish", &s->publish);
}

static bool make_state(solver *s)
{
    const culv_cuda_api *cu = s->cu;
    size_t bytes = (size_t)s->scene.width * s->scene.height * sizeof(float);
    CUdeviceptr *arrays[] = {&s->heights[0], &s->heights[1], &s->speed2, &s->bottom, &s->foam};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        if (!cuda_ok(cu, cu->cuMemAlloc(arrays[i], bytes), "cuMemAlloc")) return false;
    }
    if (!cuda_ok(cu, cu->cuStreamCreate(&s->stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate"))
        return false;
    s->marks = calloc((size_t)s->frames_in_flight * NUM_MARKS, sizeof(CUevent));
    if (!s->marks) return false;
    for (uint32_t i = 0; i < s->frames_in_flight * NUM_MARKS; i++) {
        if (!cuda_ok(cu, cu->cuEventCreate(&s->marks[i], CU_EVENT_DEFAULT), "cuEventCreate"))
            return false;
    }
    return true;
}

solver *solver_create(exchange *e, const scene *basin, uint32_t steps_per_frame,
                      uint32_t frames_in_flight)
{
    solver *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->exchange = e;
    s->cu = e->cu;
    s->scene = *basin;
    s->steps_per_frame = steps_per_frame;
    s->frames_in_flight = frames_in_flight;
    s->step_reach = sqrtf(SPEED2) * basin->cell;
    s->keep = 1.0f - 2.0f * 0.6931472f * s->step_reach / HALVING_DISTANCE;
    if (!make_state(s) || !upload_scene(s) || !load_kernels(s)) {
        solver_destroy(s);
        return NULL;
    }
    return s;
}

void solver_destroy(solver *s)
{
    if (!s) return;
    const culv_cuda_api *cu = s->cu;
    if (s->stream) (void)cu->cuStreamSynchronize(s->stream);
    for (uint32_t i = 0; s->marks && i < s->frames_in_flight * NUM_MARKS; i++) {
        if (s->marks[i]) (void)cu->cuEventDestroy(s->marks[i]);
    }
    free(s->marks);
    culv_kernels_unload(&s->loaded);
    if (s->stream) (void)cu->cuStreamDestroy(s->stream);
    CUdeviceptr arrays[] = {s->heights[0], s->heights[1], s->speed2, s->bottom, s->foam};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        if (arrays[i]) (void)cu->cuMemFree(arrays[i]);
    }
    free(s);
}

static bool launch(solver *s, CUfunction kernel, uint32_t width, uint32_t height, void **parameters)
{
    CUresult result = s->cu->cuLaunchKernel(kernel, (width + BLOCK_X - 1) / BLOCK_X,
                                            (height + BLOCK_Y - 1) / BLOCK_Y, 1, BLOCK_X, BLOCK_Y,
                                            1, 0, s->stream, parameters, NULL);
    return cuda_ok(s->cu, result, "cuLaunchKernel");
}

static bool launch_drop(solver *s, const scene_drop *drop)
{
    float cells_per_unit = 1.0f / s->scene.cell;
    int width = (int)s->scene.width, height = (int)s->scene.height;
    float x = (drop->x + s->scene.half_x) * cells_per_unit - 0.5f;
    float y = (drop->z + s->scene.half_z) * cells_per_unit - 0.5f;
    /* At least two cells, or a coarse grid would not see it. */
    float radius = fmaxf(drop->radius * cells_per_unit, 2.0f);
    float amplitude = drop->amplitude;
    int x0 = (int)floorf(x - radius), y0 = (int)floorf(y - radius);
    uint32_t side = (uint32_t)ceilf(2.0f * radius) + 2u;
    CUdeviceptr previous = s->heights[1 - s->newest], current = s->heights[s->newest];
    void *parameters[] = {&previous, &current, &s->speed2, &width,  &height,   &x0,
                          &y0,       &x,       &y,         &radius, &amplitude};
    return launch(s, s->drop, side, side, parameters);
}

/* The next drop, if it is time for it. */
static bool launch_due_drop(solver *s)
{
    if ((float)s->steps_done * s->step_reach < (float)s->drops_done * SCENE_DROP_DISTANCE)
        return true;
    scene_drop drop = scene_nth_drop(&s->scene, s->drops_done++);
    return launch_drop(s, &drop);
}

static bool launch_step(solver *s)
{
    int width = (int)s->scene.width, height = (int)s->scene.height;
    float paddle = scene_paddle((float)s->steps_done * s->step_reach);
    CUdeviceptr previous = s->heights[1 - s->newest], current = s->heights[s->newest];
    void *parameters[] = {&previous, &current, &s->speed2, &width, &height, &s->keep, &paddle};
    if (!launch(s, s->step, s->scene.width, s->scene.height, parameters)) return false;
    s->newest = 1 - s->newest;
    s->steps_done++;
    return true;
}

static bool launch_foam(solver *s)
{
    int width = (int)s->scene.width, height = (int)s->scene.height;
    float cells_per_unit = 1.0f / s->scene.cell, steps_per_unit = 1.0f / s->step_reach;
    float frame_reach = (float)s->steps_per_frame * s->step_reach;
    float keep = fmaxf(1.0f - 0.6931472f * frame_reach / FOAM_HALVING_DISTANCE, 0.0f);
    CUdeviceptr heights = s->heights[s->newest], previous = s->heights[1 - s->newest];
    void *parameters[] = {&s->foam, &heights, &previous,       &s->speed2,      &s->bottom,
                          &width,   &height,  &cells_per_unit, &steps_per_unit, &keep};
    return launch(s, s->foam_step, s->scene.width, s->scene.height, parameters);
}

static bool launch_publish(solver *s, exchange_buffer *to)
{
    int width = (int)s->scene.width, height = (int)s->scene.height;
    float cells_per_unit = 1.0f / s->scene.cell;
    CUdeviceptr heights = s->heights[s->newest];
    void *cells[] = {&to->cuda_cells, &heights, &s->speed2,     &s->bottom,
                     &width,          &height,  &cells_per_unit};
    void *tint[] = {&to->cuda_tint, &heights, &s->bottom, &s->foam, &width, &height};
    return launch(s, s->publish, s->scene.width, s->scene.height, cells) &&
           launch(s, s->tint, s->scene.width, s->scene.height, tint);
}

static bool mark(solver *s, uint64_t frame, int which)
{
    CUevent event = s->marks[(frame % s->frames_in_flight) * NUM_MARKS + (uint64_t)which];
    return cuda_ok(s->cu, s->cu->cuEventRecord(event, s->stream), "cuEventRecord");
}

bool solver_frame(solver *s, uint64_t frame, bool paused)
{
    exchange *e = s->exchange;
    if (!mark(s, frame, MARK_STEPS_BEGIN)) return false;
    for (uint32_t i = 0; !paused && i < s->steps_per_frame; i++) {
        if (!launch_due_drop(s) || !launch_step(s)) return false;
    }
    if (!paused && !launch_foam(s)) return false;
    if (!mark(s, frame, MARK_STEPS_END)) return false;

    /* Only these last kernels touch what is exchanged, so the steps above ran beside the previous
     * frame's drawing. */
    if (!exchange_cuda_acquire(e, s->stream, frame)) return false;
    return mark(s, frame, MARK_PUBLISH_BEGIN) && launch_publish(s, &e->buffers[e->filling]) &&
           mark(s, frame, MARK_PUBLISH_END) && exchange_cuda_release(e, s->stream, frame);
}

bool solver_end_burst(solver *s)
{
    return exchange_cuda_end_burst(s->exchange, s->stream);
}

bool solver_frame_time(solver *s, uint64_t frame, float *milliseconds)
{
    const CUevent *marks = &s->marks[(frame % s->frames_in_flight) * NUM_MARKS];
    float steps = 0.0f, publish = 0.0f;
    if (!cuda_ok(s->cu,
                 s->cu->cuEventElapsedTime(&steps, marks[MARK_STEPS_BEGIN], marks[MARK_STEPS_END]),
                 "cuEventElapsedTime") ||
        !cuda_ok(
            s->cu,
            s->cu->cuEventElapsedTime(&publish, marks[MARK_PUBLISH_BEGIN], marks[MARK_PUBLISH_END]),
            "cuEventElapsedTime"))
        return false;
    *milliseconds = steps + publish;
    return true;
}

bool solver_finish(solver *s)
{
    return cuda_ok(s->cu, s->cu->cuStreamSynchronize(s->stream), "cuStreamSynchronize");
}

bool solver_read_heights(solver *s, float *heights)
{
    size_t bytes = (size_t)s->scene.width * s->scene.height * sizeof(float);
    return cuda_ok(s->cu, s->cu->cuMemcpyDtoH(heights, s->heights[s->newest], bytes),
                   "cuMemcpyDtoH");
}
