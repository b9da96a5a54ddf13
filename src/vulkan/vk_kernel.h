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

/* The driver takes half a microsecond to record a launch, and fills the processor's caches with its
 * own code and data. So a launch is checked while it is written down, what follows is inlined, and
 * refusals are calls. */

static inline bool culvi_put_dimension(uint32_t *to, const uint32_t *number, uint32_t most)
{
    const uint32_t n = culvi_at_least_one(number);
    *to = n;
    return n <= most;
}

/* Fills in everything of a launch but its arguments, and checks the limits. Makes the kernel's
 * function at its first call. Member by member: to clear the struct first takes as long as to check
 * the call (measured). */
static inline culv_result culvi_vk_kernel_prepare(culv_vk_kernels *kernels,
                                                  const culv_kernel *kernel, const uint32_t grid[3],
                                                  const uint32_t block[3], uint32_t shared_bytes,
                                                  VkCuLaunchInfoNVX *info)
{
    const culvi_vk_launch_limits *most = &kernels->limits;
    const culvi_vk_function *of = culvi_vk_kernel_find(kernels, kernel);
    if (of == NULL) {
        culv_result result = culvi_vk_kernel_get(kernels, kernel, &of);
        if (result != CULV_OK) return result;
    }
    info->sType = VK_STRUCTURE_TYPE_CU_LAUNCH_INFO_NVX;
    info->pNext = NULL;
    info->function = of->handle;
    info->sharedMemBytes = shared_bytes;
    if (culvi_put_dimension(&info->gridDimX, &grid[0], most->grid[0]) &&
        culvi_put_dimension(&info->gridDimY, &grid[1], most->grid[1]) &&
        culvi_put_dimension(&info->gridDimZ, &grid[2], most->grid[2]) &&
        culvi_put_dimension(&info->blockDimX, &block[0], most->block[0]) &&
        culvi_put_dimension(&info->blockDimY, &block[1], most->block[1]) &&
        culvi_put_dimension(&info->blockDimZ, &block[2], most->block[2]) &&
        (uint64_t)info->blockDimX * info->blockDimY * info->blockDimZ <= of->threads &&
        shared_bytes <= of->shared)
        return CULV_OK;
    return culvi_vk_kernel_refuse(kernels, kernel, grid, block, shared_bytes);
}

/* Fills in the arguments, and records it. */
static inline void culvi_vk_kernel_launch(const culv_vk_device *vk, VkCuLaunchInfoNVX *info,
                                          const culvi_kernel_values *values,
                                          VkCommandBuffer command_buffer)
{
    const void *extra[5];
    info->paramCount = values->count;
    info->pParams = values->count > 0 ? (const void *const *)values->params : NULL;
    info->extraCount = 0;
    info->pExtras = NULL;
    if (values->block != NULL) {
        extra[0] = CU_LAUNCH_PARAM_BUFFER_POINTER;
        extra[1] = values->block;
        extra[2] = CU_LAUNCH_PARAM_BUFFER_SIZE;
        extra[3] = &values->block_size;
        extra[4] = CU_LAUNCH_PARAM_END;
        /* One block, and a count of 1, are what vkd3d-proton passes. */
        info->extraCount = 1;
        info->pExtras = extra;
    }
    vk->table.vkCmdCuLaunchKernelNVX(command_buffer, info);
}

#endif
