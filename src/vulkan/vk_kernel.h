/* SPDX-License-Identifier: MIT */
/* Kernels in command buffers: what one launch, and a whole graph of them, are recorded with. */
#ifndef CULVI_VK_KERNEL_H_
#define CULVI_VK_KERNEL_H_

#include "core/kernel_call.h"
#include "vulkan/vk.h"

/* Of a launch, as CUDA tells them. */
typedef struct culvi_vk_launch_limits {
    uint32_t grid[3], block[3], threads, shared, reserved;
} culvi_vk_launch_limits;

/* One kernel, as the VkDevice has it. */
typedef struct culvi_vk_function {
    struct culvi_vk_function *next;
    const culv_kernel *kernel;
    VkCuFunctionNVX handle;
} culvi_vk_function;

struct culv_vk_kernels {
    /* What each launch reads comes first and lies together. */
    _Atomic(culvi_vk_function *) functions; /* grows at its head alone */
    PFN_vkCmdCuLaunchKernelNVX launch;      /* the VkDevice's */
    uint64_t families;                      /* that run kernels: the VkDevice's bits */
    culvi_vk_launch_limits limits;
    culv_vk_device *vk;    /* a reference */
    culv_kernels *kernels; /* outlives this, as the caller promised */
    VkCuModuleNVX module;
    culvi_mutex lock; /* of additions to the list, which readers see at once */
    char label[64];
};

static inline const culvi_vk_function *culvi_vk_kernel_find(culv_vk_kernels *kernels,
                                                            const culv_kernel *kernel)
{
    const culvi_vk_function *f = atomic_load_explicit(&kernels->functions, memory_order_acquire);
    while (f != NULL && f->kernel != kernel)
        f = f->next;
    return f;
}

static inline bool culvi_vk_family_runs(uint64_t families, uint32_t family)
{
    return family < 64 && (families >> family & 1) != 0;
}

static inline uint64_t culvi_vk_launch_threads(const culvi_kernel_shape *c)
{
    return (uint64_t)c->block[0] * c->block[1] * c->block[2];
}

/* Of a block. */
static inline uint32_t culvi_vk_launch_most_threads(const culvi_vk_launch_limits *most,
                                                    const culv_kernel *kernel)
{
    return kernel->max_threads != 0 && kernel->max_threads < most->threads ? kernel->max_threads
                                                                           : most->threads;
}

/* kernel.c: makes the kernel's function if nobody has yet. */
culv_result culvi_vk_kernel_get(culv_vk_kernels *kernels, const culv_kernel *kernel,
                                const culvi_vk_function **out);
/* Says which limit the shape is over. */
culv_result culvi_vk_kernel_refuse_shape(const culv_vk_kernels *kernels, const culv_kernel *kernel,
                                         const culvi_kernel_shape *shape);
/* Whether queues of the family run kernels. */
culv_result culvi_vk_check_kernel_family(const culv_vk_device *vk, const char *label,
                                         uint32_t family);
/* Makes the kernel's function at its first call, and checks the limits. Every field of the grid and
 * the block is at least 1. */
culv_result culvi_vk_kernel_ready(culv_vk_kernels *kernels, const culv_kernel *kernel,
                                  const culvi_kernel_shape *shape, VkCuFunctionNVX *out);
void culvi_vk_kernel_launch(const culv_vk_device *vk, const culvi_kernel_shape *shape,
                            VkCuFunctionNVX of, const culvi_kernel_values *values,
                            VkCommandBuffer command_buffer);
culv_vk_device *culvi_vk_kernels_device(const culv_vk_kernels *kernels);
culv_kernels *culvi_vk_kernels_source(const culv_vk_kernels *kernels);

#endif
