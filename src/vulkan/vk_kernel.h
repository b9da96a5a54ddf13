/* SPDX-License-Identifier: MIT */
/* Kernels in command buffers: what one launch, and a whole graph of them, are recorded with. */
#ifndef CULVI_VK_KERNEL_H_
#define CULVI_VK_KERNEL_H_

#include "core/kernel_call.h"
#include "vulkan/vk.h"

/* These are the limits of a launch, as CUDA tells them. */
typedef struct culvi_vk_launch_limits {
    uint32_t grid[3], block[3], threads, shared, reserved;
} culvi_vk_launch_limits;

/* One kernel, as the VkDevice has it. */
typedef struct culvi_vk_function {
    struct culvi_vk_function *next;
    const culv_kernel *kernel;
    VkCuFunctionNVX handle;
    /* The most threads of a block, and bytes of dynamic shared memory. */
    uint32_t threads, shared;
} culvi_vk_function;

struct culv_vk_kernels {
    /* What each launch reads comes first and lies together. */
    _Atomic(culvi_vk_function *) functions; /* grows at its head alone */
    culv_vk_device *vk;                     /* a reference */
    culvi_vk_launch_limits limits;
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

static inline bool culvi_vk_family_runs(const culv_vk_device *vk, uint32_t family)
{
    return family < 64 && (vk->kernel_families >> family & 1) != 0;
}

/* kernel.c: makes the kernel's function if nobody has yet. */
culv_result culvi_vk_kernel_get(culv_vk_kernels *kernels, const culv_kernel *kernel,
                                const culvi_vk_function **out);
/* Says which limit a launch is over. */
culv_result culvi_vk_kernel_refuse(const culv_vk_kernels *kernels, const culv_kernel *kernel,
                                   const uint32_t grid[3], const uint32_t block[3],
                                   uint32_t shared_bytes);
/* Whether queues of the family run kernels. */
culv_result culvi_vk_check_kernel_family(const culv_vk_device *vk, const char *label,
                                         uint32_t family);
/* kernel_record.c: fills in everything of a launch but its arguments, and checks the limits. Makes
 * the kernel's function at its first call. */
culv_result culvi_vk_kernel_prepare(culv_vk_kernels *kernels, const culv_kernel *kernel,
                                    const uint32_t grid[3], const uint32_t block[3],
                                    uint32_t shared_bytes, VkCuLaunchInfoNVX *info);
/* Fills in the arguments, and records it. */
void culvi_vk_kernel_launch(const culv_vk_device *vk, VkCuLaunchInfoNVX *info,
                            const culvi_kernel_values *values, VkCommandBuffer command_buffer);

#endif
