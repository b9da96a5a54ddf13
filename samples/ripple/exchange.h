/* ripple's exchange: the buffers that CUDA writes and Vulkan draws from, and the two timelines that hand them
 * over on the GPU. This file and exchange.c are what to copy into a program of your own.
 *
 *   frame f uses buffer f % num_buffers
 *   sim_done  reaches f + 1 when CUDA has filled it    (CUDA signals, Vulkan waits)
 *   draw_done reaches f + 1 when Vulkan has drawn it   (Vulkan signals, CUDA waits before filling it again)
 *
 * SPDX-License-Identifier: MIT */
#ifndef RIPPLE_EXCHANGE_H_
#define RIPPLE_EXCHANGE_H_

#include "vulkan_setup.h"

#define EXCHANGE_MAX_BUFFERS 2u

typedef struct exchange_buffer {
    VkBuffer buffer;
    VkDeviceMemory memory;
    culv_memory *import; /* the VkDeviceMemory, known to CUDA */
    culv_buffer *mapped; /* the VkBuffer in it, as a CUdeviceptr */
} exchange_buffer;

typedef struct exchange {
    const vulkan_setup *vulkan;
    culv_device *device;
    culv_vk *attached;
    uint32_t num_buffers;
    VkDeviceSize buffer_size;
    exchange_buffer buffers[EXCHANGE_MAX_BUFFERS];
    VkSemaphore sim_done, draw_done;
    culv_semaphore *cuda_sim_done, *cuda_draw_done;
} exchange;

/* Opens the CUDA device that is the Vulkan device. False, with a message, on failure; destroy it either way.
 */
bool exchange_open(exchange *e, const vulkan_setup *vulkan);
/* Makes the shared buffers and timelines. */
bool exchange_share(exchange *e, VkDeviceSize buffer_size, uint32_t num_buffers);
/* After both sides are done, or exchange_unblock(). */
void exchange_destroy(exchange *e);

/* CUDA's side of a frame, on its stream: wait for the buffer, and hand it over. */
bool exchange_cuda_acquire(exchange *e, CUstream stream, uint64_t frame);
bool exchange_cuda_release(exchange *e, CUstream stream, uint64_t frame);
CUdeviceptr exchange_cuda_pointer(const exchange *e, uint64_t frame);

/* Vulkan's side of a frame: what its submission waits for and signals, and the barriers in its command
 * buffer. */
VkBuffer exchange_vulkan_buffer(const exchange *e, uint64_t frame);
VkSemaphoreSubmitInfo exchange_vulkan_wait(const exchange *e, uint64_t frame);
VkSemaphoreSubmitInfo exchange_vulkan_signal(const exchange *e, uint64_t frame);
bool exchange_record_acquire(const exchange *e, VkCommandBuffer commands, uint64_t frame);
bool exchange_record_release(const exchange *e, VkCommandBuffer commands, uint64_t frame);

/* After a failure in mid-frame: lets both sides run to their end, where one would wait forever for the other.
 */
void exchange_unblock(const exchange *e, uint64_t frames);

#endif
