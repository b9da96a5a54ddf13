/* SPDX-License-Identifier: MIT */
/* What every measurement stands on: one GPU opened four times, by the raw CUDA driver, by raw
 * Vulkan, and by Culvert on top of both, in the same primary context. */
#ifndef CULVERT_BENCH_RIG_H_
#define CULVERT_BENCH_RIG_H_

#include "program.h"
#include "raw_cuda.h"
#include "raw_vulkan.h"

#include <culvert/culvert.h>
#include <culvert/vulkan.h>

typedef struct rig {
    const raw_cuda *cu;
    CUdevice ordinal;
    /* The primary one, current on the main thread: Culvert's and the raw calls' */
    CUcontext context;
    CUstream stream, other_stream;
    raw_vk vk; /* holds a pointer to itself: do not move */
    char vulkan_driver[VK_MAX_DRIVER_NAME_SIZE + VK_MAX_DRIVER_INFO_SIZE + 2];
    culv_device *device;
    culv_vk_device *attached;
    culv_device_caps caps;
} rig;

/* The CUDA device that solves, when it is another one than the one that draws (docs/two-gpus.md);
 * -1: it is the same. Set before rig_open(). */
extern int rig_solver_device;
/* The first CUDA device that reaches the memory of the one that draws; -1: none does. Set by
 * rig_open(). */
extern int rig_other_gpu;

/* Opens the CUDA device with this ordinal of the driver that exits_set_up() was told, and its
 * Vulkan device. */
void rig_open(rig *r, int ordinal);
/* The same with a Vulkan device of the caller's making: `open_vulkan` does what raw_vk_open()
 * does. */
typedef void rig_open_vulkan(void *state, raw_vk *vk, const raw_vk_options *options);
void rig_open_with(rig *r, int ordinal, rig_open_vulkan *open_vulkan, void *state);
void rig_close(rig *r);

/* A timeline that both sides of a comparison signal: one VkSemaphore, imported by Culvert and,
 * twice, by the raw calls (so that a comparison of raw with raw can have two imports, too). */
typedef struct rig_timeline {
    VkSemaphore vk;
    culv_semaphore *culvert;
    CUexternalSemaphore raw[2];
    uint64_t value; /* the last one that was promised */
} rig_timeline;

void rig_timeline_open(rig *r, rig_timeline *timeline);
void rig_timeline_close(rig *r, rig_timeline *timeline);

/* Ends the program unless the call succeeded. */
#define RIG_CU(call)                                                                               \
    do {                                                                                           \
        CUresult result_ = (call);                                                                 \
        if (result_ != CUDA_SUCCESS)                                                               \
            raw_cuda_require(__FILE__, __LINE__, #call, result_, CUDA_SUCCESS);                    \
    } while (0)

#endif
