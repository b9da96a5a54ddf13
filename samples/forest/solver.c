/* SPDX-License-Identifier: MIT */
/* See solver.h. */
#include "solver.h"

#include <math.h>
#include <string.h>

#include "../common/report.h"

#define BLOCK     256u
#define TIME_STEP 0.05f

static bool create_events(solver *s)
{
    for (int i = 0; i < SOLVER_FRAMES_IN_FLIGHT; i++) {
        CUevent *events[] = {&s->slots[i].begin, &s->slots[i].built, &s->slots[i].given};
        for (int j = 0; j < 3; j++) {
            if (!cuda_ok(s->cu, s->cu->cuEventCreate(events[j], CU_EVENT_DEFAULT), "cuEventCreate"))
                return false;
        }
    }
    return true;
}

bool solver_create(solver *s, const vulkan_setup *vulkan, uint64_t particles)
{
    memset(s, 0, sizeof *s);
    if (!interop_open_device(vulkan, &s->device, &s->cu, &s->callers_context)) return false;
    const culv_cuda_api *cu = s->cu;
    s->count = (int)particles;
    for (s->room = 1; s->room < s->count;)
        s->room *= 2;
    return interop_load_kernels(s->device, "forest", &s->loaded) &&
           interop_kernel(s->loaded, "forest_grow", &s->grow) &&
           interop_kernel(s->loaded, "forest_keys", &s->keys) &&
           interop_kernel(s->loaded, "forest_sort", &s->sort) &&
           interop_kernel(s->loaded, "forest_boxes", &s->boxes) &&
           interop_kernel(s->loaded, "forest_fold", &s->fold) &&
           interop_kernel(s->loaded, "forest_link", &s->link) &&
           cuda_ok(cu, cu->cuStreamCreate(&s->stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate") &&
           create_events(s) &&
           cuda_ok(cu, cu->cuMemAlloc(&s->key_list, (size_t)s->room * sizeof(uint64_t)),
                   "cuMemAlloc") &&
           cuda_ok(cu, cu->cuMemAlloc(&s->box_list, 2 * (size_t)s->room * sizeof(box)),
                   "cuMemAlloc");
}

memory_sizes solver_sizes(const solver *s)
{
    return (memory_sizes){.particles = (uint64_t)s->count * sizeof(particle),
                          .nodes = (uint64_t)(s->count - 1) * sizeof(node)};
}

void solver_stop(solver *s)
{
    if (s->stream) (void)s->cu->cuStreamSynchronize(s->stream);
}

void solver_destroy(solver *s)
{
    const culv_cuda_api *cu = s->cu;
    if (s->key_list) (void)cu->cuMemFree(s->key_list);
    if (s->box_list) (void)cu->cuMemFree(s->box_list);
    for (int i = 0; i < SOLVER_FRAMES_IN_FLIGHT; i++) {
        CUevent events[] = {s->slots[i].begin, s->slots[i].built, s->slots[i].given};
        for (int j = 0; j < 3; j++)
            if (events[j]) (void)cu->cuEventDestroy(events[j]);
    }
    if (s->stream) (void)cu->cuStreamDestroy(s->stream);
    culv_kernels_unload(&s->loaded);
    interop_close_device(&s->device, cu, s->callers_context);
    memset(s, 0, sizeof *s);
}

static bool launch(const solver *s, CUfunction kernel, int count, void **parameters)
{
    CUresult result = s->cu->cuLaunchKernel(kernel, ((uint32_t)count + BLOCK - 1) / BLOCK, 1, 1,
                                            BLOCK, 1, 1, 0, s->stream, parameters, NULL);
    return cuda_ok(s->cu, result, "cuLaunchKernel");
}

static bool grow(solver *s, memory *m, uint64_t frame)
{
    CUdeviceptr particles = m->built.particles;
    /* Together they cover as much with many leaves as with few. */
    float size = 0.105f * sqrtf(200000.0f / (float)s->count), time = (float)frame * TIME_STEP;
    void *parameters[] = {&particles, &s->count, &size, &time};
    return launch(s, s->grow, s->count, parameters);
}

static bool sort(solver *s, memory *m)
{
    CUdeviceptr particles = m->built.particles;
    void *keys[] = {&s->key_list, &particles, &s->count, &s->room};
    bool fine = launch(s, s->keys, s->room, keys);
    int pairs = s->room / 2;
    for (int size = 2; fine && size <= s->room; size *= 2) {
        for (int stride = size / 2; fine && stride > 0; stride /= 2) {
            void *step[] = {&s->key_list, &pairs, &size, &stride};
            fine = launch(s, s->sort, pairs, step);
        }
    }
    return fine;
}

static bool build(solver *s, memory *m)
{
    CUdeviceptr particles = m->built.particles, nodes = m->built.nodes;
    void *boxes[] = {&s->box_list, &s->key_list, &particles, &s->count, &s->room};
    void *link[] = {&nodes, &particles, &s->key_list, &s->box_list, &s->count, &s->room};
    bool fine = launch(s, s->boxes, s->room, boxes);
    for (int first = s->room / 2; fine && first > 0; first /= 2) {
        void *fold[] = {&s->box_list, &first};
        fine = launch(s, s->fold, first, fold);
    }
    return fine && launch(s, s->link, s->count - 1, link);
}

bool solver_frame(solver *s, const memory_mode *mode, memory *m, uint64_t frame)
{
    const culv_cuda_api *cu = s->cu;
    const solver_slot *slot = &s->slots[frame % SOLVER_FRAMES_IN_FLIGHT];
    /* Nobody has drawn before the first frame. */
    if (frame > 0 &&
        !culv_ok(culv_semaphore_wait(culv_shared_semaphore_cuda(m->drawn), s->stream, frame),
                 "waiting for drawn"))
        return false;
    return cuda_ok(cu, cu->cuEventRecord(slot->begin, s->stream), "cuEventRecord") &&
           grow(s, m, frame) && sort(s, m) && build(s, m) &&
           cuda_ok(cu, cu->cuEventRecord(slot->built, s->stream), "cuEventRecord") &&
           mode->hand_over(m, s->stream) &&
           cuda_ok(cu, cu->cuEventRecord(slot->given, s->stream), "cuEventRecord") &&
           culv_ok(
               culv_semaphore_signal(culv_shared_semaphore_cuda(m->ready), s->stream, frame + 1),
               "signaling ready");
}

bool solver_frame_time(solver *s, uint64_t frame, float *build_ms, float *hand_over_ms)
{
    const culv_cuda_api *cu = s->cu;
    const solver_slot *slot = &s->slots[frame % SOLVER_FRAMES_IN_FLIGHT];
    return cuda_ok(cu, cu->cuEventElapsedTime(build_ms, slot->begin, slot->built),
                   "cuEventElapsedTime") &&
           cuda_ok(cu, cu->cuEventElapsedTime(hand_over_ms, slot->built, slot->given),
                   "cuEventElapsedTime");
}
