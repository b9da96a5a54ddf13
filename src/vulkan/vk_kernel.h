/* SPDX-License-Identifier: MIT */
/* Kernels in command buffers: what one launch, and a whole graph of them, are recorded with. */
#ifndef CULVI_VK_KERNEL_H_
#define CULVI_VK_KERNEL_H_

#include "core/kernel_call.h"
#include "vulkan/vk.h"

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
