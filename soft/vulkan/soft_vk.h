/* SPDX-License-Identifier: MIT */
/* What the files of the layer share. */
#ifndef SOFT_VK_H_
#define SOFT_VK_H_

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#include "calls.h"
#include "control.h"
#include "layer_calls.h"
#include "pages.h"

/* VK_NV_external_compute_queue, by the numbers of Vulkan's registry, for headers before 1.4.311. */
#ifndef VK_NV_external_compute_queue
#    define VK_NV_EXTERNAL_COMPUTE_QUEUE_EXTENSION_NAME             "VK_NV_external_compute_queue"
#    define VK_STRUCTURE_TYPE_EXTERNAL_COMPUTE_QUEUE_CREATE_INFO_NV ((VkStructureType)1000556001)
#    define VK_STRUCTURE_TYPE_EXTERNAL_COMPUTE_QUEUE_DATA_PARAMS_NV ((VkStructureType)1000556002)
#    define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_COMPUTE_QUEUE_PROPERTIES_NV                 \
        ((VkStructureType)1000556003)
VK_DEFINE_HANDLE(VkExternalComputeQueueNV)
typedef struct VkExternalComputeQueueCreateInfoNV {
    VkStructureType sType;
    const void *pNext;
    VkQueue preferredQueue;
} VkExternalComputeQueueCreateInfoNV;
typedef struct VkExternalComputeQueueDataParamsNV {
    VkStructureType sType;
    const void *pNext;
    uint32_t deviceIndex;
} VkExternalComputeQueueDataParamsNV;
typedef struct VkPhysicalDeviceExternalComputeQueuePropertiesNV {
    VkStructureType sType;
    void *pNext;
    uint32_t externalDataSize;
    uint32_t maxExternalQueues;
} VkPhysicalDeviceExternalComputeQueuePropertiesNV;
typedef VkResult(VKAPI_PTR *PFN_vkCreateExternalComputeQueueNV)(
    VkDevice device, const VkExternalComputeQueueCreateInfoNV *info,
    const VkAllocationCallbacks *callbacks, VkExternalComputeQueueNV *queue);
typedef void(VKAPI_PTR *PFN_vkDestroyExternalComputeQueueNV)(
    VkDevice device, VkExternalComputeQueueNV queue, const VkAllocationCallbacks *callbacks);
typedef void(VKAPI_PTR *PFN_vkGetExternalComputeQueueDataNV)(
    VkExternalComputeQueueNV queue, VkExternalComputeQueueDataParamsNV *params, void *data);
#endif

#define SOFT_VK_LAYER_NAME  "VK_LAYER_CULVERT_soft"
#define SOFT_VK_EXPORT      __attribute__((visibility("default")))
#define SOFT_VK_UNPACK(...) __VA_ARGS__
#define SOFT_VK_IGNORE_PASS(...)

/* Extensions that the layer gives a lavapipe device which lacks them. */
typedef enum soft_vk_lent {
    SOFT_VK_LENT_FD,      /* VK_KHR_external_semaphore_fd */
    SOFT_VK_LENT_KERNELS, /* VK_NVX_binary_import */
    SOFT_VK_LENT_HANDLES, /* VK_NVX_image_view_handle */
    SOFT_VK_LENT_QUEUES,  /* VK_NV_external_compute_queue */
    /* With CULVERT_SOFT_DMA_BUF=1: */
    SOFT_VK_LENT_DMA_BUF,   /* VK_EXT_external_memory_dma_buf */
    SOFT_VK_LENT_MODIFIERS, /* VK_EXT_image_drm_format_modifier */
    SOFT_VK_LENT_FOREIGN,   /* VK_EXT_queue_family_foreign */
    SOFT_VK_LENT_COUNT
} soft_vk_lent;

/* The next layer's functions, looked up while the instance or device is being made and kept: the
 * loader of 1.3.239 answers a later vkGetInstanceProcAddr of the next link with the top of the
 * chain. */
#define SOFT_VK_MEMBER(name, ...)  PFN_vk##name name;
#define SOFT_VK_MEMBER_OTHER(name) PFN_vk##name name;
typedef struct soft_vk_instance_table {
    SOFT_VK_INSTANCE_CALLS(SOFT_VK_MEMBER)
    SOFT_VK_PHYSICAL_DEVICE_CALLS(SOFT_VK_MEMBER, SOFT_VK_MEMBER)
    SOFT_VK_INSTANCE_OTHERS(SOFT_VK_MEMBER_OTHER)
} soft_vk_instance_table;
typedef struct soft_vk_device_table {
    SOFT_VK_DEVICE_CALLS(SOFT_VK_MEMBER, SOFT_VK_MEMBER)
    SOFT_VK_DEVICE_OTHERS(SOFT_VK_MEMBER_OTHER)
} soft_vk_device_table;

typedef struct soft_vk_instance {
    struct soft_vk_instance *link;
    const void *key;
    PFN_vkGetInstanceProcAddr get_proc;
    soft_vk_instance_table next;
    _Atomic(VkPhysicalDevice) without_dma_bufs; /* dma_buf.c: one that it found to have none */
} soft_vk_instance;

typedef struct soft_vk_semaphore soft_vk_semaphore;
typedef struct soft_vk_sparse soft_vk_sparse;
typedef struct soft_vk_kernels soft_vk_kernels; /* kernel.c */

/* What the layer counts of each device, to name what is left at its end. */
enum { SOFT_VK_BUFFERS, SOFT_VK_IMAGES, SOFT_VK_MEMORIES, SOFT_VK_SEMAPHORES, SOFT_VK_KINDS };

typedef struct soft_vk_device {
    struct soft_vk_device *link;
    const void *key;
    VkDevice handle;
    PFN_vkGetDeviceProcAddr get_proc;
    soft_vk_device_table next;
    bool soft;                        /* a lavapipe device; all others are passed through */
    bool enabled[SOFT_VK_LENT_COUNT]; /* by the application */
    soft_vk_sparse *sparse;   /* it enabled sparse buffers, which the layer plays; else NULL */
    bool dma_bufs;            /* the layer plays them */
    bool native_sparse;       /* the driver has sparse buffers of its own */
    soft_vk_kernels *kernels; /* NULL: SOFT_VK_LENT_KERNELS is not enabled */
    _Atomic bool lost;        /* a kernel faulted in a command buffer, or a test says so */
    uint8_t uuid[VK_UUID_SIZE];
    pthread_mutex_t lock;          /* of the list */
    soft_vk_semaphore *semaphores; /* every timeline, and binary ones that are shared */
    _Atomic uint64_t bridges;      /* how many of them have a page */
    _Atomic uint64_t binaries;     /* how many are binary */
    _Atomic uint64_t live[SOFT_VK_KINDS];
} soft_vk_device;

/* The mapped page behind an fd. Counted: the thread that sleeps on it may outlive its replacement
 * by an import. */
typedef struct soft_vk_page {
    culv_soft_timeline *map;    /* of a binary semaphore too */
    culv_soft_counted *counted; /* NULL: it is a timeline */
    int fd;                     /* -1: not kept, an import that cannot be exported again */
    bool maker;
    _Atomic uint32_t references;
} soft_vk_page;

/* entry.c */
extern _Atomic uint64_t soft_vk_instances, soft_vk_devices, soft_vk_semaphores, soft_vk_memories,
    soft_vk_fds, soft_vk_threads, soft_vk_all_semaphores, soft_vk_buffers, soft_vk_images,
    soft_vk_dedicated, soft_vk_modules, soft_vk_functions;
void soft_vk_control_init(void);
/* Counts the call; true when it is the one that has to fail, with `error`. */
bool soft_vk_must_fail(const char *name, VkResult *error);
/* Whether soft_vk_must_fail() is ever asked about the call of that name. */
bool soft_vk_can_fail(const char *name);

/* device.c */
soft_vk_instance *soft_vk_instance_find(const void *handle);
/* True for lavapipe; uuid may be NULL. */
bool soft_vk_is_lavapipe(const soft_vk_instance *instance, VkPhysicalDevice handle, uint8_t *uuid);
extern const VkExtensionProperties soft_vk_lent_extensions[SOFT_VK_LENT_COUNT];
/* Which of them the driver itself offers. */
VkResult soft_vk_has_lent(const soft_vk_instance *instance, VkPhysicalDevice handle,
                          bool out[SOFT_VK_LENT_COUNT]);
VkResult VKAPI_CALL soft_vk_create_instance(const VkInstanceCreateInfo *info,
                                            const VkAllocationCallbacks *callbacks,
                                            VkInstance *out);
void VKAPI_CALL soft_vk_destroy_instance(VkInstance handle, const VkAllocationCallbacks *callbacks);
VkResult VKAPI_CALL soft_vk_enumerate_extensions(VkPhysicalDevice handle, const char *layer,
                                                 uint32_t *count, VkExtensionProperties *out);
void VKAPI_CALL soft_vk_external_semaphore_properties(
    VkPhysicalDevice handle, const VkPhysicalDeviceExternalSemaphoreInfo *info,
    VkExternalSemaphoreProperties *out);

/* device.c */
soft_vk_device *soft_vk_device_find(const void *handle);
VkResult soft_vk_create_device(soft_vk_instance *instance, bool soft, VkPhysicalDevice handle,
                               const VkDeviceCreateInfo *info,
                               const VkAllocationCallbacks *callbacks, VkDevice *out);
void VKAPI_CALL soft_vk_destroy_device(VkDevice handle, const VkAllocationCallbacks *callbacks);
void VKAPI_CALL soft_vk_destroy_buffer(VkDevice handle, VkBuffer buffer,
                                       const VkAllocationCallbacks *callbacks);
void VKAPI_CALL soft_vk_destroy_image(VkDevice handle, VkImage image,
                                      const VkAllocationCallbacks *callbacks);
void VKAPI_CALL soft_vk_free_memory(VkDevice handle, VkDeviceMemory memory,
                                    const VkAllocationCallbacks *callbacks);

/* The struct of that type in a pNext chain; NULL: there is none. */
static inline const void *soft_vk_in_chain(const void *next, VkStructureType type)
{
    const VkBaseInStructure *item = next;
    while (item && item->sType != type)
        item = item->pNext;
    return item;
}

/* entry.c: what the driver's memory objects are allocated with, so that a freed one's handle is
 * the next one's; the caller's own callbacks, if there are any. */
const VkAllocationCallbacks *soft_vk_recycles(const VkAllocationCallbacks *theirs);

/* image.c: which memory is dedicated, and that buffers prefer it. */
void soft_vk_buffer_made(const soft_vk_device *device, const VkBufferCreateInfo *info,
                         VkBuffer buffer);
void soft_vk_buffer_gone(const soft_vk_device *device, VkBuffer buffer);
void soft_vk_dedicated_made(const soft_vk_device *device, const VkMemoryAllocateInfo *info,
                            VkDeviceMemory memory);
void soft_vk_dedicated_gone(const soft_vk_device *device, VkDeviceMemory memory);
void soft_vk_prefer_dedicated(const soft_vk_device *device, VkBuffer buffer,
                              VkMemoryRequirements2 *out);
void VKAPI_CALL soft_vk_planned_requirements(VkDevice handle,
                                             const VkDeviceBufferMemoryRequirements *info,
                                             VkMemoryRequirements2 *out);

/* dma_buf.c: dma-bufs, and images in them. */
bool soft_vk_dma_bufs_on(void);
void VKAPI_CALL soft_vk_format_properties2(VkPhysicalDevice handle, VkFormat format,
                                           VkFormatProperties2 *out);
VkResult
soft_vk_GetPhysicalDeviceImageFormatProperties2(soft_vk_instance *instance, VkPhysicalDevice handle,
                                                const VkPhysicalDeviceImageFormatInfo2 *info,
                                                VkImageFormatProperties2 *out);
/* Whether the layer plays such an image. */
bool soft_vk_dma_buf_plays(const soft_vk_device *device, const VkImageCreateInfo *info);
VkResult soft_vk_dma_buf_create(soft_vk_device *device, const VkImageCreateInfo *info,
                                VkImage *out);
void soft_vk_dma_buf_image_gone(const soft_vk_device *device, VkImage handle);
/* False: the layer plays no such image. */
bool soft_vk_dma_buf_bind(const soft_vk_device *device, VkImage which, VkDeviceMemory handle);
bool soft_vk_dma_buf_is_memory(const soft_vk_device *device, const VkMemoryAllocateInfo *info);
VkResult soft_vk_dma_buf_allocate(soft_vk_device *device, const VkMemoryAllocateInfo *info,
                                  VkDeviceMemory *out);
/* Before the driver's is freed. */
void soft_vk_dma_buf_memory_gone(const soft_vk_device *device, VkDeviceMemory handle);
void soft_vk_dma_bufs_end(const soft_vk_device *device);
void VKAPI_CALL soft_vk_image_needs(VkDevice handle, VkImage which, VkMemoryRequirements *out);
void VKAPI_CALL soft_vk_image_needs2(VkDevice handle, const VkImageMemoryRequirementsInfo2 *info,
                                     VkMemoryRequirements2 *out);
void VKAPI_CALL soft_vk_subresource_layout(VkDevice handle, VkImage which,
                                           const VkImageSubresource *subresource,
                                           VkSubresourceLayout *out);
void VKAPI_CALL soft_vk_cmd_copy_image(VkCommandBuffer commands, VkImage from,
                                       VkImageLayout from_layout, VkImage to,
                                       VkImageLayout to_layout, uint32_t count,
                                       const VkImageCopy *regions);
void VKAPI_CALL soft_vk_cmd_copy_image_to_buffer(VkCommandBuffer commands, VkImage from,
                                                 VkImageLayout layout, VkBuffer to, uint32_t count,
                                                 const VkBufferImageCopy *regions);
void VKAPI_CALL soft_vk_cmd_copy_buffer_to_image(VkCommandBuffer commands, VkBuffer from,
                                                 VkImage to, VkImageLayout layout, uint32_t count,
                                                 const VkBufferImageCopy *regions);

/* image.c: what CUDA is to know of images and of the memory that they are bound to. */
void soft_vk_image_made(const soft_vk_device *device, const VkImageCreateInfo *info, VkImage image);
void soft_vk_image_gone(const soft_vk_device *device, VkImage image);
void soft_vk_memory_made(const soft_vk_device *device, const VkMemoryAllocateInfo *info,
                         VkDeviceMemory memory);
void soft_vk_memory_gone(const soft_vk_device *device, VkDeviceMemory memory);

/* submit.c: errors are VkResults, outputs are written only on success. */
VkResult soft_vk_page_make(const uint8_t *uuid, uint64_t value, bool counted, soft_vk_page **out);
/* Maps the page behind the caller's fd, which stays the caller's; `keep` holds a description of the
 * layer's own. */
VkResult soft_vk_page_open(int fd, const uint8_t *uuid, bool counted, bool keep,
                           soft_vk_page **out);
void soft_vk_page_retain(soft_vk_page *page);
void soft_vk_page_release(soft_vk_page *page);
VkResult soft_vk_page_export(const soft_vk_page *page, int *fd);
uint64_t soft_vk_page_value(const soft_vk_page *page);
void soft_vk_page_raise(soft_vk_page *page, uint64_t value);
void soft_vk_page_wake(soft_vk_page *page);
void soft_vk_page_wait(soft_vk_page *page, uint32_t seq);

/* semaphore.c */
void VKAPI_CALL soft_vk_destroy_semaphore(VkDevice handle, VkSemaphore semaphore,
                                          const VkAllocationCallbacks *callbacks);
/* vkDestroyDevice with semaphores alive: ends their threads, frees the records. */
void soft_vk_semaphores_end(soft_vk_device *device);
/* Brings the driver's semaphore up to the page, if it has one. */
void soft_vk_pull(soft_vk_device *device, VkSemaphore semaphore);
/* Brings the page up to the driver's semaphore: of one, or of all. */
void soft_vk_push(soft_vk_device *device, VkSemaphore semaphore);
void soft_vk_push_all(soft_vk_device *device);

/* A submission to the queue signals the value, if the semaphore is a timeline. */
void soft_vk_submitted(soft_vk_device *device, VkQueue queue, VkSemaphore semaphore,
                       uint64_t value);
/* The fence, if there is one, is signaled after all that was submitted to the queue. */
void soft_vk_fenced(soft_vk_device *device, VkQueue queue, VkFence fence);
/* It is signaled: waits until the driver's semaphores say what they must say then. */
void soft_vk_fence_reached(soft_vk_device *device, VkFence fence);

/* A wait for the semaphore, or a signal of it, is submitted: of a binary one that is shared, puts
 * the driver's timeline for it and the number in the places. */
void soft_vk_number(soft_vk_device *device, bool waits, VkSemaphore *semaphore, uint64_t *value);
/* It was not submitted after all. The driver's timeline. */
void soft_vk_number_back(soft_vk_device *device, bool waits, VkSemaphore driver);
/* Whether a semaphore is a timeline that the layer knows. */
bool soft_vk_is_timeline(soft_vk_device *device, VkSemaphore semaphore);

/* sparse.c */
void VKAPI_CALL soft_vk_features(VkPhysicalDevice handle, VkPhysicalDeviceFeatures *out);
void VKAPI_CALL soft_vk_features2(VkPhysicalDevice handle, VkPhysicalDeviceFeatures2 *out);
void VKAPI_CALL soft_vk_properties(VkPhysicalDevice handle, VkPhysicalDeviceProperties *out);
void VKAPI_CALL soft_vk_properties2(VkPhysicalDevice handle, VkPhysicalDeviceProperties2 *out);
void VKAPI_CALL soft_vk_queue_families(VkPhysicalDevice handle, uint32_t *count,
                                       VkQueueFamilyProperties *out);
void VKAPI_CALL soft_vk_queue_families2(VkPhysicalDevice handle, uint32_t *count,
                                        VkQueueFamilyProperties2 *out);
void VKAPI_CALL soft_vk_buffer_needs(VkDevice handle, VkBuffer buffer, VkMemoryRequirements *out);
void VKAPI_CALL soft_vk_buffer_needs2(VkDevice handle, const VkBufferMemoryRequirementsInfo2 *info,
                                      VkMemoryRequirements2 *out);
uint64_t VKAPI_CALL soft_vk_capture_address(VkDevice handle, const VkBufferDeviceAddressInfo *info);
/* What was taken out of the application's structs for the driver's vkCreateDevice. */
typedef struct soft_vk_asked {
    VkBool32 *replay, *binding, *residency;
    bool native; /* the driver has sparse binding */
} soft_vk_asked;
/* True: the device is to have sparse buffers. soft_vk_sparse_end() comes in any case. */
bool soft_vk_sparse_begin(const soft_vk_instance *instance, VkPhysicalDevice handle,
                          const VkDeviceCreateInfo *info, VkDeviceCreateInfo *copy,
                          VkPhysicalDeviceFeatures *features, soft_vk_asked *asked);
void soft_vk_sparse_end(const soft_vk_asked *asked);
soft_vk_sparse *soft_vk_sparse_make(void);
void soft_vk_sparse_drop(soft_vk_device *device);
int soft_vk_sparse_fd(const soft_vk_device *device, const VkMemoryAllocateInfo *info);
/* Takes the fd. */
void soft_vk_sparse_memory_made(soft_vk_device *device, int fd, const VkMemoryAllocateInfo *info,
                                VkDeviceMemory handle);
void soft_vk_sparse_memory_gone(soft_vk_device *device, VkDeviceMemory handle);
/* Whether the layer plays such a buffer. */
bool soft_vk_sparse_plays(const soft_vk_device *device, const VkBufferCreateInfo *info);
VkResult soft_vk_sparse_create(soft_vk_device *device, const VkBufferCreateInfo *info,
                               VkBuffer *out);
/* Forgets a buffer, and says what has to be given up after the driver's. */
void soft_vk_sparse_buffer_gone(soft_vk_device *device, VkBuffer handle, VkDeviceMemory *memory,
                                uint64_t *address);
void soft_vk_sparse_release(uint64_t address);

/* kernel.c: CUDA kernels in command buffers. */
VkResult soft_vk_kernels_begin(soft_vk_device *device);
void soft_vk_kernels_end(soft_vk_device *device);
/* Before a submission: its launches are to come, in this order. If it fails, takes them back. */
VkResult soft_vk_expect(soft_vk_device *device, VkCommandBuffer commands);
uint64_t soft_vk_expected(soft_vk_device *device);
void soft_vk_expect_no_more_than(soft_vk_device *device, uint64_t submitted);
/* The result of a call that waited or asked: DEVICE_LOST once a kernel has faulted. Orders what the
 * kernels wrote before what comes now. */
VkResult soft_vk_or_lost(soft_vk_device *device, VkResult result);
void VKAPI_CALL soft_vk_destroy_cu_module(VkDevice handle, VkCuModuleNVX module,
                                          const VkAllocationCallbacks *callbacks);
void VKAPI_CALL soft_vk_destroy_cu_function(VkDevice handle, VkCuFunctionNVX function,
                                            const VkAllocationCallbacks *callbacks);
void VKAPI_CALL soft_vk_cmd_launch(VkCommandBuffer commands, const VkCuLaunchInfoNVX *info);
void VKAPI_CALL soft_vk_cmd_execute(VkCommandBuffer commands, uint32_t count,
                                    const VkCommandBuffer *secondary);
void VKAPI_CALL soft_vk_free_commands(VkDevice handle, VkCommandPool pool, uint32_t count,
                                      const VkCommandBuffer *commands);
void VKAPI_CALL soft_vk_destroy_command_pool(VkDevice handle, VkCommandPool pool,
                                             const VkAllocationCallbacks *callbacks);
/* The twin's CUDA half, beside the layer; NULL: it is not there. */
struct soft_vk_cuda {
    int (*load)(const void *image, size_t size, culv_soft_queue_module **out);
    void (*unload)(culv_soft_queue_module *module);
    const culv_soft_queue_kernel *(*find)(const culv_soft_queue_module *module, const char *name);
    size_t (*offset)(const culv_soft_queue_kernel *kernel, uint32_t index);
    int (*check)(const culv_soft_queue_kernel *kernel, culv_soft_dim3 grid, culv_soft_dim3 block,
                 uint32_t shared_bytes);
    int (*run)(const culv_soft_queue_kernel *kernel, culv_soft_dim3 grid, culv_soft_dim3 block,
               uint32_t shared_bytes, void *const *params);
    int (*surface)(const culv_soft_queue_view *view, culv_soft_surface *out);
    int (*texture)(const culv_soft_queue_view *view, culv_soft_texture *out);
    /* culvSoftShow...(): addresses of sparse buffers */
    int (*reserve)(uint64_t address, uint64_t size, uint64_t *out);
    void (*release)(uint64_t address);
    int (*bind)(uint64_t address, uint64_t size, int fd, uint64_t offset);
};
const struct soft_vk_cuda *soft_vk_cuda_half(void);

/* view_handle.c: what kernels see of image views. */
void soft_vk_view_image_made(const soft_vk_device *device, const VkImageCreateInfo *info,
                             VkImage image);
void soft_vk_view_image_bound(const soft_vk_device *device, VkImage image, VkDeviceMemory memory,
                              VkDeviceSize offset);
void soft_vk_view_image_gone(const soft_vk_device *device, VkImage image);
void soft_vk_views_end(const soft_vk_device *device);
void VKAPI_CALL soft_vk_destroy_image_view(VkDevice handle, VkImageView view,
                                           const VkAllocationCallbacks *callbacks);
void VKAPI_CALL soft_vk_destroy_sampler(VkDevice handle, VkSampler sampler,
                                        const VkAllocationCallbacks *callbacks);
uint32_t VKAPI_CALL soft_vk_image_view_handle(VkDevice handle,
                                              const VkImageViewHandleInfoNVX *info);
uint64_t VKAPI_CALL soft_vk_image_view_handle_64(VkDevice handle,
                                                 const VkImageViewHandleInfoNVX *info);

/* The work of the OWN calls on a lavapipe device, by X-macro as the table above. */
#define SOFT_VK_DECLARE(name, work, params, args)                                                  \
    VkResult soft_vk_##work(soft_vk_device *, SOFT_VK_UNPACK params);
SOFT_VK_DEVICE_CALLS(SOFT_VK_IGNORE_PASS, SOFT_VK_DECLARE)
#undef SOFT_VK_DECLARE
VkResult soft_vk_CreateDevice(soft_vk_instance *instance, VkPhysicalDevice handle,
                              const VkDeviceCreateInfo *info,
                              const VkAllocationCallbacks *callbacks, VkDevice *out);

/* --- submit.c */
/* Of a lavapipe device. */
void soft_vk_external_queue_limits(VkPhysicalDeviceProperties2 *out);
void VKAPI_CALL soft_vk_destroy_external_queue(VkDevice handle, VkExternalComputeQueueNV queue,
                                               const VkAllocationCallbacks *callbacks);
void VKAPI_CALL soft_vk_external_queue_data(VkExternalComputeQueueNV queue,
                                            VkExternalComputeQueueDataParamsNV *params, void *data);

#endif
