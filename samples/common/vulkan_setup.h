/* SPDX-License-Identifier: MIT */
/* Samples: a Vulkan instance and device, chosen so that CUDA can reach them, and what every Vulkan
 * program needs. The program itself defines VOLK_IMPLEMENTATION. */
#ifndef CULVERT_SAMPLES_VULKAN_SETUP_H_
#define CULVERT_SAMPLES_VULKAN_SETUP_H_

#include "cuda_side.h"

#include <culvert/culvert.h>
#include <culvert/vulkan.h>
#include <stdbool.h>
#include <stdint.h>
#include <volk.h>

typedef struct vulkan_setup {
    VkInstance instance;
    VkDebugUtilsMessengerEXT messenger;
    uint32_t num_messages; /* of the validation layer */
    VkPhysicalDevice physical_device;
    VkPhysicalDeviceProperties properties;
    VkPhysicalDeviceMemoryProperties memory;
    culv_vk_candidate candidate;
    VkDevice device;
    uint32_t queue_family;
    uint32_t timestamp_bits; /* 0: the queue has no timestamps */
    VkQueue queue;
    culv_vk_device_desc desc; /* what Culvert is told of it */
    /* For CUDA kernels beside drawing; the same queue where the device has no other */
    uint32_t compute_family;
    VkQueue compute_queue;
} vulkan_setup;

/* What a run needs beyond drawing from memory that Culvert shares. */
typedef struct vulkan_wishes {
    const char *name; /* VkApplicationInfo::pApplicationName */
    bool validation;
    bool addresses;   /* of buffers, for shaders */
    bool one_address; /* what a culv_vk_space needs; a device without it is refused */
    /* CUDA kernels in command buffers, and the compute queue; a device without them is refused */
    bool kernels;
} vulkan_wishes;

/* On the best device that the culv_driver reaches. False, with a message, on failure; destroy it
 * either way. */
bool vulkan_setup_create(vulkan_setup *v, unsigned driver, const vulkan_wishes *wishes);
void vulkan_setup_destroy(vulkan_setup *v);

/* A buffer or image with memory of its own. */
typedef struct vulkan_buffer {
    VkBuffer buffer;
    VkDeviceMemory memory;
    VkDeviceSize size, allocation_size;
    void *mapped; /* when host-visible */
} vulkan_buffer;

typedef struct vulkan_image {
    VkImage image;
    VkDeviceMemory memory;
    VkImageView view;
} vulkan_image;

/* The first memory type in `bits` that has all of `wanted`, one that also has `preferred` if there
 * is one. UINT32_MAX when none has. */
uint32_t vulkan_memory_type(const vulkan_setup *v, uint32_t bits, VkMemoryPropertyFlags wanted,
                            VkMemoryPropertyFlags preferred);
bool vulkan_buffer_create(const vulkan_setup *v, VkDeviceSize size, VkBufferUsageFlags usage,
                          bool host_visible, vulkan_buffer *out);
void vulkan_buffer_destroy(const vulkan_setup *v, vulkan_buffer *buffer);
bool vulkan_image_create(const vulkan_setup *v, VkFormat format, VkExtent2D extent,
                         VkSampleCountFlagBits samples, VkImageUsageFlags usage,
                         VkImageAspectFlags aspect, vulkan_image *out);
void vulkan_image_destroy(const vulkan_setup *v, vulkan_image *image);

/* How an image is used before or after a barrier. */
typedef struct vulkan_use {
    VkPipelineStageFlags2 stage;
    VkAccessFlags2 access;
    VkImageLayout layout;
} vulkan_use;

void vulkan_image_barrier(VkCommandBuffer commands, VkImage image, VkImageAspectFlags aspect,
                          vulkan_use from, vulkan_use to);

/* Copies a picture that is in TRANSFER_SRC_OPTIMAL, 4 bytes a pixel, for the host to read. */
void vulkan_copy_to_host(VkCommandBuffer commands, VkImage image, VkExtent2D extent,
                         const vulkan_buffer *rows);

/* Milliseconds from timestamp `first` to the next one; negative when unknown, as without a query
 * pool. */
double vulkan_elapsed_ms(const vulkan_setup *v, VkQueryPool timestamps, uint32_t first);

/* Commands for once: recorded between these, submitted and waited for. */
typedef struct vulkan_once {
    VkQueue queue;
    VkCommandPool pool;
    VkCommandBuffer commands;
} vulkan_once;

/* vulkan_once_end() comes in any case; with `fine` false it only cleans up, and answers false. */
bool vulkan_once_begin(const vulkan_setup *v, uint32_t family, VkQueue queue, vulkan_once *out);
bool vulkan_once_end(const vulkan_setup *v, vulkan_once *once, bool fine);

/* A timeline semaphore at 0 that stays within Vulkan. */
bool vulkan_timeline_create(const vulkan_setup *v, VkSemaphore *out);
/* Signals it from the host unless it has reached the value. */
void vulkan_signal_up_to(const vulkan_setup *v, VkSemaphore timeline, uint64_t value);
/* A wait or signal of a submission; the value is ignored for a binary semaphore. */
VkSemaphoreSubmitInfo vulkan_submit_point(VkSemaphore semaphore, uint64_t value,
                                          VkPipelineStageFlags2 stage);
/* One command buffer. `wait` and `signal` may be NULL. */
bool vulkan_submit(VkQueue queue, VkCommandBuffer commands, const VkSemaphoreSubmitInfo *wait,
                   const VkSemaphoreSubmitInfo *signal, VkFence fence);

/* Samples: the CUDA side of a Vulkan device, by Culvert. Each function is false, with a message, on
 * failure. */

/* Opens the CUDA device that is the Vulkan device, and makes its context current on this thread. */
bool interop_open_device(const vulkan_setup *v, culv_device **device, const culv_cuda_api **cu,
                         CUcontext *callers_context);

/* Attaches the Vulkan device to it: what Culvert makes of the result, both have. any_gpu: the CUDA
 * device may be another GPU. */
bool interop_attach(const vulkan_setup *v, culv_device *device, bool any_gpu, culv_vk_device **out);

/* A timeline semaphore of both sides, at 0. */
bool interop_timeline(culv_vk_device *attached, const char *label, culv_shared_semaphore **out);

/* Samples: pipelines from SPIR-V files in share/culvert; those of graphics are for dynamic
 * rendering. */

/* One color attachment; viewport and scissor are dynamic; vertices are pulled by their index. */
typedef struct pipeline_desc {
    const char *vertex, *fragment; /* names of files in share/culvert */
    VkPipelineLayout layout;
    VkFormat color_format, depth_format; /* no depth: VK_FORMAT_UNDEFINED */
    VkSampleCountFlagBits samples;
} pipeline_desc;

/* False, with a message, on failure. */
bool pipeline_create(const vulkan_setup *v, const pipeline_desc *desc, VkPipeline *out);
bool pipeline_create_compute(const vulkan_setup *v, const char *shader, VkPipelineLayout layout,
                             VkPipeline *out);

#endif
