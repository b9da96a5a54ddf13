/* SPDX-License-Identifier: MIT */
/* Recording a launch. Between two launches the driver fills the processor's caches with its own
 * code and data, so what is read here lies together, and what refuses lies in another file. */
#include "culvert/vulkan_kernel.h"

#include "vulkan/vk_kernel.h"

static inline bool fits(const culv_vk_kernels *kernels, const culv_kernel *kernel,
                        const culvi_kernel_shape *c)
{
    const culvi_vk_launch_limits *most = &kernels->limits;
    for (unsigned i = 0; i < 3; i++)
        if (c->grid[i] > most->grid[i] || c->block[i] > most->block[i]) return false;
    return culvi_vk_launch_threads(c) <= culvi_vk_launch_most_threads(most, kernel) &&
           c->shared_bytes <= most->shared &&
           kernel->static_shared <= most->shared - c->shared_bytes;
}

static inline culv_result ready(culv_vk_kernels *kernels, const culv_kernel *kernel,
                                const culvi_kernel_shape *shape, VkCuFunctionNVX *out)
{
    const culvi_vk_function *of = culvi_vk_kernel_find(kernels, kernel);
    if (of == NULL) {
        culv_result result = culvi_vk_kernel_get(kernels, kernel, &of);
        if (result != CULV_OK) return result;
    }
    if (!fits(kernels, kernel, shape)) {
        const culvi_kernel_shape refused = *shape; /* so that the caller's stays in registers */
        return culvi_vk_kernel_refuse_shape(kernels, kernel, &refused);
    }
    *out = of->handle;
    return CULV_OK;
}

culv_result culvi_vk_kernel_ready(culv_vk_kernels *kernels, const culv_kernel *kernel,
                                  const culvi_kernel_shape *shape, VkCuFunctionNVX *out)
{
    return ready(kernels, kernel, shape, out);
}

/* Member by member: to clear the struct first takes as long as to check the call (measured). */
static inline void launch(PFN_vkCmdCuLaunchKernelNVX call, const culvi_kernel_shape *c,
                          VkCuFunctionNVX of, const culvi_kernel_values *values,
                          VkCommandBuffer command_buffer)
{
    const void *extra[5];
    VkCuLaunchInfoNVX info;
    info.sType = VK_STRUCTURE_TYPE_CU_LAUNCH_INFO_NVX;
    info.pNext = NULL;
    info.function = of;
    info.gridDimX = c->grid[0];
    info.gridDimY = c->grid[1];
    info.gridDimZ = c->grid[2];
    info.blockDimX = c->block[0];
    info.blockDimY = c->block[1];
    info.blockDimZ = c->block[2];
    info.sharedMemBytes = c->shared_bytes;
    info.paramCount = values->count;
    info.pParams = values->count > 0 ? (const void *const *)values->params : NULL;
    info.extraCount = 0;
    info.pExtras = NULL;
    if (values->block != NULL) {
        extra[0] = CU_LAUNCH_PARAM_BUFFER_POINTER;
        extra[1] = values->block;
        extra[2] = CU_LAUNCH_PARAM_BUFFER_SIZE;
        extra[3] = &values->block_size;
        extra[4] = CU_LAUNCH_PARAM_END;
        /* One block, and a count of 1, are what vkd3d-proton passes. */
        info.extraCount = 1;
        info.pExtras = extra;
    }
    call(command_buffer, &info);
}

void culvi_vk_kernel_launch(const culv_vk_device *vk, const culvi_kernel_shape *shape,
                            VkCuFunctionNVX of, const culvi_kernel_values *values,
                            VkCommandBuffer command_buffer)
{
    launch(vk->table.vkCmdCuLaunchKernelNVX, shape, of, values, command_buffer);
}

culv_result culv_vk_kernel_call_record(culv_vk_kernels *kernels, const culv_kernel_call *call,
                                       VkCommandBuffer command_buffer, uint32_t queue_family)
{
    culv_kernel *kernel;
    culvi_kernel_shape shape;
    culvi_kernel_values values;
    VkCuFunctionNVX of = VK_NULL_HANDLE;
    CULVI_REQUIRE(NULL, kernels);
    CULVI_REQUIRE2(&kernels->vk->base.device->voice, call, command_buffer);
    culv_result result = culvi_kernel_call_read(call, __func__, true, &kernel, &shape, &values);
    if (result == CULV_OK) result = ready(kernels, kernel, &shape, &of);
    if (result == CULV_OK && !culvi_vk_family_runs(kernels->families, queue_family))
        result = culvi_vk_check_kernel_family(kernels->vk, kernels->label, queue_family);
    if (result != CULV_OK) return result;
    launch(kernels->launch, &shape, of, &values, command_buffer);
    return CULV_OK;
}
