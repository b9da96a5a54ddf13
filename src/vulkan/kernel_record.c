/* SPDX-License-Identifier: MIT */
/* Recording a launch. The driver takes half a microsecond for one, and fills the processor's
 * caches with its own code and data. So a launch is checked while it is written down, its steps are
 * inlined here, and the code that refuses one lies in another file (kernel.c). */
#include "culvert/vulkan_kernel.h"

#include "vulkan/vk_kernel.h"

static inline bool put(uint32_t *to, const uint32_t *number, uint32_t most)
{
    const uint32_t n = culvi_at_least_one(number);
    *to = n;
    return n <= most;
}

/* Member by member: to clear the struct first takes as long as to check the call (measured). */
inline culv_result culvi_vk_kernel_prepare(culv_vk_kernels *kernels, const culv_kernel *kernel,
                                           const uint32_t grid[3], const uint32_t block[3],
                                           uint32_t shared_bytes, VkCuLaunchInfoNVX *info)
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
    if (put(&info->gridDimX, &grid[0], most->grid[0]) &&
        put(&info->gridDimY, &grid[1], most->grid[1]) &&
        put(&info->gridDimZ, &grid[2], most->grid[2]) &&
        put(&info->blockDimX, &block[0], most->block[0]) &&
        put(&info->blockDimY, &block[1], most->block[1]) &&
        put(&info->blockDimZ, &block[2], most->block[2]) &&
        (uint64_t)info->blockDimX * info->blockDimY * info->blockDimZ <= of->threads &&
        shared_bytes <= of->shared)
        return CULV_OK;
    return culvi_vk_kernel_refuse(kernels, kernel, grid, block, shared_bytes);
}

inline void culvi_vk_kernel_launch(const culv_vk_device *vk, VkCuLaunchInfoNVX *info,
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

culv_result culv_vk_kernel_call_record(culv_vk_kernels *kernels, const culv_kernel_call *call,
                                       VkCommandBuffer command_buffer, uint32_t queue_family)
{
    culvi_kernel_values values;
    VkCuLaunchInfoNVX info;
    CULVI_REQUIRE(NULL, kernels);
    CULVI_REQUIRE2(&kernels->vk->base.device->voice, call, command_buffer);
    culv_result result = culvi_kernel_call_read(call, __func__, true, &values);
    if (result != CULV_OK) return result;
    call = values.call;
    result = culvi_vk_kernel_prepare(kernels, call->kernel, call->grid, call->block,
                                     call->shared_bytes, &info);
    if (result == CULV_OK && !culvi_vk_family_runs(kernels->vk, queue_family))
        result = culvi_vk_check_kernel_family(kernels->vk, kernels->label, queue_family);
    if (result == CULV_OK) culvi_vk_kernel_launch(kernels->vk, &info, &values, command_buffer);
    return result;
}
