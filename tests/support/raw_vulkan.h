/* SPDX-License-Identifier: MIT */
/* Headless Vulkan for tests: an instance and a device with exportable memory and timelines, and
 * just enough helpers to fill, copy and read buffers with every queue. Every failure ends the case
 * (REQUIRE).
 *
 *   raw_vk vk;
 *   raw_vk_open(&vk, &(raw_vk_options){.uuid = uuid, .software = cu->software});
 *   raw_vk_buffer buffer;
 *   raw_vk_buffer_create(&vk, size, RAW_VK_EXPORT, &buffer);
 *   int fd = raw_vk_buffer_fd(&vk, &buffer);
 *   raw_vk_fill(&vk, &buffer, 0, size, 0x01234567, NULL);
 *   ...
 *   raw_vk_buffer_destroy(&vk, &buffer);
 *   raw_vk_close(&vk);                              // and requires: no object left, no validation
 *   message
 *
 * Program options: --validation=auto (default: where the layer is installed, but not in sanitized
 * builds, because the layer leaks some 10 KB of its own), on (required), off. Not thread-safe, but
 * for the functions of volk itself. */
#ifndef CULVERT_TESTS_RAW_VULKAN_H_
#define CULVERT_TESTS_RAW_VULKAN_H_

#include "harness.h"

#include <volk.h>

/* For the process that starts the cases' processes: harness.c calls it, where there is one. */
void raw_vk_preload(void);

#define RAW_VK_MAX_QUEUES 16
#define RAW_VK_MAX_JOBS   256

typedef struct raw_vk_options {
    const uint8_t *uuid; /* 16 bytes: the deviceUUID to open; NULL = the first device */
    /* The twin is the CUDA driver: add its layer, VK_LAYER_CULVERT_soft */
    bool software;
    uint32_t api_version;      /* of an instance; 0 = 1.3 */
    bool without_memory_fd;    /* do not enable VK_KHR_external_memory_fd */
    bool without_semaphore_fd; /* do not enable VK_KHR_external_semaphore_fd */
    bool host_memory;          /* enable VK_EXT_external_memory_host where the device has it */
    /* Enable what compressed and Y'CbCr formats need, where it is there */
    bool with_formats;
    bool sparse_buffers;  /* enable what sparse buffers need, where it is there */
    bool one_address;     /* likewise, and what buffers at a chosen address need */
    bool external_queues; /* enable VK_NV_external_compute_queue, where it is there */
    bool kernels;         /* enable VK_NVX_binary_import and VK_NVX_image_view_handle, if there */
    bool without_validation;
} raw_vk_options;

typedef struct raw_vk_queue {
    VkQueue queue;
    VkQueueFlags flags;
    VkCommandPool pool;
} raw_vk_queue;

typedef struct raw_vk {
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    VkPhysicalDeviceProperties properties;
    VkPhysicalDeviceIDProperties id;
    VkPhysicalDeviceMemoryProperties memory;
    uint32_t queue_count; /* one queue of each family: the index is the family's */
    raw_vk_queue queues[RAW_VK_MAX_QUEUES];
    VkDebugUtilsMessengerEXT messenger;
    bool dma_buf; /* VK_EXT_external_memory_dma_buf, where there is one, is enabled */
    /* What bridges to dma-bufs need (CULV_VK_DMA_BUF_EXTENSIONS) is enabled where it is there. */
    bool modifiers;
    bool kernels; /* both extensions of raw_vk_options::kernels are enabled */
    bool validation;
    uint32_t validation_version;
    unsigned validation_messages; /* those not in allowed_vuids.txt */
    /* Command buffers of jobs not yet known to be done. */
    uint32_t job_count;
    struct {
        uint32_t queue;
        VkCommandBuffer commands;
    } jobs[RAW_VK_MAX_JOBS];
    /* Alive, made by the functions below. */
    unsigned buffers, images, memories, semaphores;
} raw_vk;

/* Cases that share a process get the same device again, if they ask for the same one. */
void raw_vk_open(raw_vk *vk, const raw_vk_options *options);
/* As raw_vk_open, but stops after the instance: `physical` and `device` stay null. */
void raw_vk_open_instance(raw_vk *vk, const raw_vk_options *options);
void raw_vk_close(raw_vk *vk);
/* As raw_vk_close, for a device that is lost: nothing is asked of it, and nothing required. The
 * case has a process of its own. */
void raw_vk_close_lost(raw_vk *vk);
/* Devices, each with its instance, that stay open for the cases to come. */
unsigned raw_vk_kept(void);
/* Vulkan physical devices with this deviceUUID in the instance; the last one goes to *out (unless
 * NULL). */
unsigned raw_vk_find(const raw_vk *vk, const uint8_t uuid[VK_UUID_SIZE], VkPhysicalDevice *out);
bool raw_vk_has_device_extension(VkPhysicalDevice physical, const char *name);

/* Buffers -------------------------------------------------------------------------------------- */

enum {
    RAW_VK_EXPORT = 1,    /* exportable as OPAQUE_FD, device-local */
    RAW_VK_DEDICATED = 2, /* with VkMemoryDedicatedAllocateInfo */
    RAW_VK_HOST = 4,      /* host-visible, coherent and mapped, for any queue */
    RAW_VK_IMPORT = 8,    /* set by raw_vk_buffer_import */
    RAW_VK_ADDRESS = 128, /* it has a device address */
};

typedef struct raw_vk_buffer {
    VkBuffer buffer;
    VkDeviceMemory memory;
    VkDeviceSize size;            /* of the buffer */
    VkDeviceSize allocation_size; /* of the memory: what an importer must be told */
    VkDeviceSize offset;          /* of the buffer in its memory */
    uint32_t memory_type;
    unsigned flags;
    void *mapped; /* RAW_VK_HOST */
} raw_vk_buffer;

void raw_vk_buffer_create(raw_vk *vk, VkDeviceSize size, unsigned flags, raw_vk_buffer *out);
/* The buffer lies at least min_offset into its (not dedicated) memory; out->offset says where. */
void raw_vk_buffer_create_at(raw_vk *vk, VkDeviceSize size, VkDeviceSize min_offset, unsigned flags,
                             raw_vk_buffer *out);
/* One of these bits with all of these properties, or the case ends. */
uint32_t raw_vk_memory_type(const raw_vk *vk, uint32_t bits, VkMemoryPropertyFlags flags);
/* A new fd of exported memory; the caller owns it. */
int raw_vk_memory_fd(raw_vk *vk, VkDeviceMemory memory);
int raw_vk_buffer_fd(raw_vk *vk, const raw_vk_buffer *buffer);
/* A second buffer on memory that was exported as fd by the same driver (any VkDevice of it).
 * Consumes the fd. `like` gives sizes, memory type and dedicated flag. */
void raw_vk_buffer_import(raw_vk *vk, int fd, const raw_vk_buffer *like, raw_vk_buffer *out);
void raw_vk_buffer_destroy(raw_vk *vk, raw_vk_buffer *buffer);

/* Of a buffer made with RAW_VK_ADDRESS. */
VkDeviceAddress raw_vk_buffer_address(const raw_vk *vk, const raw_vk_buffer *buffer);

/* Semaphores ----------------------------------------------------------------------------------- */

VkSemaphore raw_vk_binary(raw_vk *vk, bool exportable);
int raw_vk_semaphore_fd(raw_vk *vk, VkSemaphore semaphore); /* a new fd; the caller owns it */
void raw_vk_semaphore_destroy(raw_vk *vk, VkSemaphore semaphore);

VkSemaphore raw_vk_timeline(raw_vk *vk, uint64_t initial, bool exportable);
#define raw_vk_timeline_fd      raw_vk_semaphore_fd
#define raw_vk_timeline_destroy raw_vk_semaphore_destroy
VkSemaphore raw_vk_timeline_import(raw_vk *vk, int fd); /* takes the fd */
uint64_t raw_vk_timeline_value(raw_vk *vk, VkSemaphore semaphore);
void raw_vk_timeline_signal(raw_vk *vk, VkSemaphore semaphore, uint64_t value); /* by the host */
/* By the host; false when it took longer than timeout_ms. */
bool raw_vk_timeline_wait(raw_vk *vk, VkSemaphore semaphore, uint64_t value, unsigned timeout_ms);

/* Work ----------------------------------------------------------------------------------------- */

/* Where a piece of work runs and what it waits for and signals. All zero (or NULL): queue 0, then
 * wait for the end. */
typedef struct raw_vk_job {
    uint32_t queue;
    VkSemaphore wait;
    uint64_t wait_value; /* a timeline's */
    VkSemaphore signal;
    uint64_t signal_value; /* a timeline's */
    bool pending;          /* return after the submit; raw_vk_idle() or raw_vk_close() clears up */
} raw_vk_job;

/* A primary command buffer of that queue's family, begun; raw_vk_submit ends it. */
VkCommandBuffer raw_vk_begin(raw_vk *vk, uint32_t queue);
void raw_vk_submit(raw_vk *vk, VkCommandBuffer commands, const raw_vk_job *job);
/* Queue-family EXTERNAL ownership of a whole buffer: to the queue's family, and back. */
void raw_vk_acquire(const raw_vk *vk, VkCommandBuffer commands, uint32_t queue,
                    const raw_vk_buffer *buffer);
void raw_vk_release(const raw_vk *vk, VkCommandBuffer commands, uint32_t queue,
                    const raw_vk_buffer *buffer);
void raw_vk_idle(raw_vk *vk); /* waits for every queue */

/* These acquire exported and imported buffers from EXTERNAL first and release them after. Offsets
 * and sizes in bytes, multiples of 4. */
void raw_vk_fill(raw_vk *vk, const raw_vk_buffer *buffer, VkDeviceSize offset, VkDeviceSize size,
                 uint32_t word, const raw_vk_job *job);
void raw_vk_copy(raw_vk *vk, const raw_vk_buffer *from, VkDeviceSize from_offset,
                 const raw_vk_buffer *to, VkDeviceSize to_offset, VkDeviceSize size,
                 const raw_vk_job *job);
/* Through a staging buffer; they wait for the end. */
void raw_vk_write(raw_vk *vk, const raw_vk_buffer *buffer, VkDeviceSize offset, const void *data,
                  VkDeviceSize size);
void raw_vk_read(raw_vk *vk, const raw_vk_buffer *buffer, VkDeviceSize offset, void *data,
                 VkDeviceSize size);

/* What the device has written is the host's to read. */
void raw_vk_to_host(VkCommandBuffer commands, VkPipelineStageFlags2 stage, VkAccessFlags2 access);

/* Of one queue family at a time; an image in two dimensions, OPTIMAL, with one level. */
VkBufferCreateInfo raw_vk_buffer_info(VkDeviceSize size, VkBufferUsageFlags usage);
VkImageCreateInfo raw_vk_image_info(VkFormat format, uint32_t width, uint32_t height,
                                    VkImageUsageFlags usage);

void raw_vk_require(const char *file, int line, const char *text, VkResult actual,
                    VkResult expected);

#define VK_OK(call) raw_vk_require(__FILE__, __LINE__, #call, (call), VK_SUCCESS)

#endif
