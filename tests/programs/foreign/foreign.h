/* SPDX-License-Identifier: MIT */
/* Programs as somebody writes them who has Culvert installed and nothing else of it: from the
 * public headers, the README and the docs alone. Nothing here may include a header of src, of soft
 * or of another suite, but for the harness and its list of messages (check_includes.cmake).
 *
 * A program opens an `app`: a Vulkan instance and device, Culvert on both, a CUDA stream. */
#ifndef CULVERT_TESTS_FOREIGN_H_
#define CULVERT_TESTS_FOREIGN_H_

#include <volk.h>

#include <culvert/cuda_api.h>
#include <culvert/culvert.h>
#include <culvert/vulkan.h>

#include "harness.h"

typedef struct app {
    VkInstance instance;
    VkDebugUtilsMessengerEXT messenger;
    VkPhysicalDevice physical_device;
    VkDevice device;
    uint32_t api_version; /* of the instance */
    uint32_t family;
    VkQueue queue;
    VkCommandPool pool;
    culv_vk_candidate candidate;
    uint32_t validation; /* the layer's version; 0: it is not there */
    unsigned complaints; /* of that layer */

    culv_device *culvert;
    culv_vk_device *vk;
    culv_device_caps caps;
    const culv_cuda_api *cu;
    CUstream stream;
    CUmodule module;
} app;

/* An instance with the validation layer, where it is installed and --validation=off is not given,
 * and the first physical device that CUDA reaches. `wanted` is an extension to enable where it is
 * offered, or NULL. */
void app_open_instance(app *a, const char *wanted);
/* Culvert on a->device, which somebody has made, and a CUDA stream. */
void app_attach(app *a);
void app_open(app *a);
/* Requires that nothing is left and that the validation layer had nothing to say. */
void app_close(app *a);
#define APP_CASE(...) TEST_ON(app, a, app_open(a), app_close(a), __VA_ARGS__)
void app_detach(app *a);
void app_close_instance(app *a);

/* A kernel of foreign.cu. */
void app_launch(app *a, const char *kernel, unsigned width, unsigned height, void **arguments);

/* A buffer that the host reads and writes. */
typedef struct app_host {
    VkBuffer buffer;
    VkDeviceMemory memory;
    unsigned char *data;
    VkDeviceSize size;
} app_host;
void app_host_create(app *a, VkDeviceSize size, app_host *out);
void app_host_destroy(app *a, app_host *host);

/* Of a buffer that may be bound to memory which is shared as an opaque fd. */
VkBufferCreateInfo app_buffer_info(VkDeviceSize size, VkBufferUsageFlags usage);
uint32_t app_memory_type(app *a, uint32_t bits, VkMemoryPropertyFlags properties);

/* What a submission waits for and signals; VK_NULL_HANDLE for neither. A binary semaphore's value
 * is 0. */
typedef struct app_sync {
    VkSemaphore wait;
    uint64_t wait_value;
    VkSemaphore signal;
    uint64_t signal_value;
} app_sync;
VkCommandBuffer app_begin(app *a);
VkFence app_submit(app *a, VkCommandBuffer commands, const app_sync *sync);
void app_finish(app *a, VkCommandBuffer commands, VkFence fence);
void app_run(app *a, VkCommandBuffer commands, const app_sync *sync);

void app_transfer_buffer(app *a, VkCommandBuffer commands, VkBuffer buffer,
                         culv_vk_direction direction, culv_vk_use use);
void app_transfer_image(app *a, VkCommandBuffer commands, VkImage image,
                        culv_vk_direction direction, culv_vk_use use, bool discard);
/* Records the copy of a buffer's first bytes for the host to read. */
void app_record_read(VkCommandBuffer commands, VkBuffer buffer, VkDeviceSize offset,
                     const app_host *to, VkDeviceSize to_offset, VkDeviceSize size);

/* Bytes that say where they belong: those of the places from `first` on. The kernel foreign_fill
 * writes the same. */
void app_fill_host(unsigned char *to, uint64_t first, uint64_t size, uint32_t seed);
/* Fails and says where, unless `data` has the bytes of the places from `first` on. */
void app_require_bytes(const char *what, const unsigned char *data, uint64_t first, uint64_t size,
                       uint32_t seed);
/* Lets the stream fill memory with such bytes. */
void app_fill(app *a, CUdeviceptr to, uint64_t first, uint64_t size, uint32_t seed);

#define CULV(call)                                                                                 \
    ((call) == CULV_OK                                                                             \
         ? (void)0                                                                                 \
         : test_fail(__FILE__, __LINE__, "%s: %s", #call, culv_last_error_message()))
#define VK(call) REQUIRE_EQ((call), VK_SUCCESS)
#define CU(call) REQUIRE_EQ((call), CUDA_SUCCESS)

/* The odd sizes that everything is tried with, in bytes. */
#define APP_SIZES                                                                                  \
    {                                                                                              \
        1, 4097, 819200                                                                            \
    }
#define APP_WIDTH   253u
#define APP_HEIGHT  127u
#define APP_FOREVER 60000000000ull /* nanoseconds: longer is a hang */

#endif
