/* SPDX-License-Identifier: MIT */
/* What the suites of kernels in command buffers share: a device that runs them, and the kernels of
 * tests/contract/queue_kernels.cu. */
#ifndef CULVERT_TESTS_VK_KERNELS_STAGE_H_
#define CULVERT_TESTS_VK_KERNELS_STAGE_H_

#include "library.h"

typedef struct vk_kernels_stage {
    lib_world w;
    CUstream stream;
    culv_kernels *kernels;
    culv_vk_kernels *queue;
    char share[TEST_PATH_MAX];
} vk_kernels_stage;

void vk_kernels_open(vk_kernels_stage *s);
/* With what a culv_vk_space needs. */
void vk_kernels_open_for_one_address(vk_kernels_stage *s);
void vk_kernels_close(vk_kernels_stage *s);
#define VK_KERNELS_CASE(...)                                                                       \
    TEST_ON(vk_kernels_stage, s, vk_kernels_open(s), vk_kernels_close(s), __VA_ARGS__)
culv_kernel *vk_kernels_get(const vk_kernels_stage *s, const char *name);
/* A launch of a kernel with an array of arguments; one alone in commands, which are waited for. */
#define VK_KERNELS_CALL(kernel, grid, block, args)                                                 \
    vk_kernels_call(kernel, grid, block, args, sizeof(args) / sizeof(args)[0])
culv_kernel_call vk_kernels_call(culv_kernel *kernel, uint32_t grid, uint32_t block,
                                 const culv_kernel_call_arg *args, uint32_t num_args);
void vk_kernels_run(vk_kernels_stage *s, const culv_kernel_call *call);
/* The kernel whose clusters are fixed; skips where it has none. */
culv_kernel *vk_kernels_clusters(const vk_kernels_stage *s);
/* The file that the device's driver loads, whole; freed by the caller. */
unsigned char *vk_kernels_bytes(const vk_kernels_stage *s, size_t *size);
/* A buffer of both APIs, device-local. */
culv_shared_buffer *vk_kernels_buffer(const vk_kernels_stage *s, VkDeviceSize size);
/* Through CUDA; both wait. */
void vk_kernels_write(const vk_kernels_stage *s, const culv_shared_buffer *to, const void *bytes,
                      size_t size);
void vk_kernels_read(const vk_kernels_stage *s, const culv_shared_buffer *from, void *bytes,
                     size_t size);
/* The barriers of a whole buffer between CUDA, or a kernel of the queue, and any use of it. */
void vk_kernels_hand_over(VkCommandBuffer commands, VkBuffer buffer, culv_vk_direction direction);
void vk_kernels_between(VkCommandBuffer commands);

#endif
