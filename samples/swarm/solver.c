/* SPDX-License-Identifier: MIT */
/* See solver.h. */
#include "solver.h"

#include <string.h>

#include "../common/report.h"
#include "queue.h"

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
        !culv_ok(culv_kernels_get(s->loaded, "swarm_emit", &s->emit), "culv_kernels_get") ||
        !culv_ok(culv_kernels_get(s->loaded, "swarm_step", &s->step), "culv_kernels_get") ||
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

/* One launch, written down once for both ways. */
static bool launch(const solver *s, culv_kernel *kernel, int count,
                   const culv_kernel_call_arg *args, size_t num_args)
{
    if (count == 0) return true;
    culv_kernel_call call = culv_kernel_call_init(kernel);
    call.grid[0] = ((uint32_t)count + BLOCK - 1) / BLOCK;
    call.block[0] = BLOCK;
    call.args = args;
    call.num_args = num_args;
    if (s->queue) return queue_launch(s->queue, &call);
    return culv_ok(culv_kernel_call_launch(&call, s->stream), "culv_kernel_call_launch");
}

/* A run of particles in one piece of memory: all of them on a stream, those of a buffer in a queue
 * of Vulkan's. */
typedef struct piece {
    CUdeviceptr pointer; /* of particle 0 */
    VkDeviceAddress address;
    uint64_t first, count;
} piece;

static size_t num_pieces(const solver *s, const particles *p)
{
    return s->queue ? p->num_parts : 1;
}

static bool get_piece(const solver *s, const particles *p, size_t i, piece *out)
{
    *out = (piece){.pointer = culv_vector_pointer(p->vector), .count = p->count};
    if (!s->queue) return true;
    const culv_vk_vector_view_buffer *part = &p->parts[i];
    out->first = part->offset / sizeof(particle);
    out->count = particles_in(p, part);
    if (!culv_ok(culv_vk_get_buffer_address(p->attached, part->buffer, &out->address),
                 "culv_vk_get_buffer_address"))
        return false;
    out->address -= part->offset;
    return true;
}

static bool emit(solver *s, particles *p, uint64_t frame)
{
    float reach = frame == 0 ? EVERYWHERE : FOUNTAIN, time = solver_time(s, frame);
    float span = (float)s->steps * TIME_STEP;
    for (size_t i = 0; i < num_pieces(s, p); i++) {
        piece to;
        if (!get_piece(s, p, i, &to)) return false;
        uint64_t end = to.first + to.count, begin = to.first > s->moved ? to.first : s->moved;
        if (begin >= end) continue;
        int first = (int)begin, count = (int)(end - begin);
        const culv_kernel_call_arg args[] = {CULV_CALL_ARG_OF(to.pointer, to.address),
                                             CULV_CALL_ARG(first),
                                             CULV_CALL_ARG(count),
                                             CULV_CALL_ARG(reach),
                                             CULV_CALL_ARG(time),
                                             CULV_CALL_ARG(span)};
        if (!launch(s, s->emit, count, args, sizeof args / sizeof args[0])) return false;
    }
    s->moved = p->count;
    return true;
}

static bool step(solver *s, particles *p)
{
    int steps = (int)s->steps;
    float dt = TIME_STEP;
    for (size_t i = 0; i < num_pieces(s, p); i++) {
        piece of;
        if (!get_piece(s, p, i, &of)) return false;
        CUdeviceptr pointer = of.pointer + of.first * sizeof(particle);
        VkDeviceAddress address = of.address + of.first * sizeof(particle);
        int count = (int)of.count;
        const culv_kernel_call_arg args[] = {CULV_CALL_ARG_OF(pointer, address),
                                             CULV_CALL_ARG(count), CULV_CALL_ARG(steps),
                                             CULV_CALL_ARG(dt)};
        if (!launch(s, s->step, count, args, sizeof args / sizeof args[0])) return false;
    }
    return true;
}

bool solver_launch(solver *s, particles *p, uint64_t frame)
{
    return emit(s, p, frame) && step(s, p);
}

bool solver_frame(solver *s, particles *p, uint64_t frame)
{
    const culv_cuda_api *cu = s->cu;
    uint64_t slot = frame % SOLVER_FRAMES_IN_FLIGHT;
    return particles_cuda_acquire(p, s->stream, frame) &&
           cuda_ok(cu, cu->cuEventRecord(s->begin[slot], s->stream), "cuEventRecord") &&
           solver_launch(s, p, frame) &&
           cuda_ok(cu, cu->cuEventRecord(s->end[slot], s->stream), "cuEventRecord") &&
           particles_cuda_release(p, s->stream, frame);
}

bool solver_frame_time(solver *s, uint64_t frame, float *milliseconds)
{
    uint64_t slot = frame % SOLVER_FRAMES_IN_FLIGHT;
    return cuda_ok(s->cu, s->cu->cuEventElapsedTime(milliseconds, s->begin[slot], s->end[slot]),
                   "cuEventElapsedTime");
}
