/* Culvert: Vulkan. Include your own Vulkan header first (vulkan.h or volk.h) if you have one.
 *
 * The road, in the caller's own Vulkan program:
 *   1. vkCreateInstance with culv_vk_instance_extensions() and culv_vk_instance_layers()
 *   2. culv_vk_rank_physical_devices() picks one that CUDA can reach
 *   3. vkCreateDevice with culv_vk_device_extensions() and the timelineSemaphore feature
 *   4. culv_vk_device_open(), culv_vk_attach()
 *   5. memory allocated with VkExportMemoryAllocateInfo: culv_vk_memory_import(), culv_buffer_map()
 *   6. timelines created with VkExportSemaphoreCreateInfo: culv_vk_semaphore_import()
 *   7. each frame: culv_semaphore_wait/signal on the stream; the barriers below in the command buffers
 *
 * Vulkan 1.1 or later; timelines by Vulkan 1.2 or VK_KHR_timeline_semaphore. Culvert makes no Vulkan object
 * here and calls only what docs/vulkan.md lists. The VkInstance and VkDevice must outlive what was attached
 * to them. SPDX-License-Identifier: MIT */
#ifndef CULV_VULKAN_H_
#define CULV_VULKAN_H_

#include "memory.h"
#include "semaphore.h"

#include <vulkan/vulkan_core.h>

CULV_EXTERN_C_BEGIN

/** Opaque: the caller's VkDevice, attached to a culv_device. Any thread. */
typedef struct culv_vk culv_vk;

/** The caller's device. */
typedef struct culv_vk_desc {
    size_t struct_size; /**< Set by culv_vk_desc_init(). */
    PFN_vkGetInstanceProcAddr
        get_instance_proc_addr;       /**< Required: the loader's, or volk's vkGetInstanceProcAddr. */
    VkInstance instance;              /**< Required. */
    VkPhysicalDevice physical_device; /**< Required. */
    VkDevice device;                  /**< Required. */
    uint32_t api_version;             /**< VkApplicationInfo::apiVersion of the instance. 0: Vulkan 1.1. */
    uint32_t num_physical_devices;    /**< VkDeviceGroupDeviceCreateInfo::physicalDeviceCount. More than 1
                                           is refused; 0 (not said) is refused where the machine has
                                           linked GPUs, so say 1 there. */
    const char *label;                /**< Copied (up to 63 bytes). Default: none. */
} culv_vk_desc;

/** A default descriptor.
 *  Errors: none.  Ownership: none.  Threads: any.  Since: 0.1 */
static inline culv_vk_desc culv_vk_desc_init(void)
{
    culv_vk_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    return d;
}

/** One physical device of an instance and what CUDA makes of it. Flags are 0 or 1. */
typedef struct culv_vk_candidate {
    size_t struct_size; /**< Set by culv_vk_candidate_init(). */
    VkPhysicalDevice physical_device;
    char name[256];        /**< VkPhysicalDeviceProperties::deviceName */
    char driver_name[256]; /**< VkPhysicalDeviceDriverProperties, "" before Vulkan 1.2 */
    char driver_info[256];
    uint32_t api_version;
    VkPhysicalDeviceType type;
    uint32_t vendor_id;   /**< PCI vendor: 0x10de is NVIDIA. */
    VkDriverId driver_id; /**< VkPhysicalDeviceDriverProperties, 0 before Vulkan 1.2 */
    culv_uuid uuid;
    uint32_t group_size;  /**< Physical devices in its device group. */
    uint32_t reachable;   /**< A CUDA device was found, and buffers and timelines can be exported to it. */
    culv_driver driver;   /**< Whose CUDA device it is; AUTO when there is none. */
    int32_t cuda_ordinal; /**< -1 when there is none. */
    char cuda_name[256];
    uint32_t has_external_memory_fd; /**< VK_KHR_external_memory_fd is offered. */
    uint32_t has_external_semaphore_fd;
    uint32_t has_timeline_semaphore;  /**< The feature, by Vulkan 1.2 or the extension. */
    uint32_t buffer_opaque_fd_export; /**< vkGetPhysicalDeviceExternalBufferProperties, storage+transfer
                                         buffers. */
    uint32_t buffer_opaque_fd_dedicated_only;
    uint32_t buffer_dma_buf_export;
    uint32_t timeline_opaque_fd_export;
    uint32_t binary_opaque_fd_export;
    culv_reason reason; /**< Why it is not reachable. */
    char why[1024];     /**< The same with names and what to do; "" when reachable. */
} culv_vk_candidate;

/** An empty culv_vk_candidate with its struct_size set.
 *  Errors: none.  Ownership: none.  Threads: any.  Since: 0.1 */
static inline culv_vk_candidate culv_vk_candidate_init(void)
{
    culv_vk_candidate c;
    memset(&c, 0, sizeof c);
    c.struct_size = sizeof c;
    return c;
}

/** A VkDeviceMemory of the caller's to import. */
typedef struct culv_vk_memory_desc {
    size_t struct_size;           /**< Set by culv_vk_memory_desc_init(). */
    VkDeviceMemory memory;        /**< Required: allocated with VkExportMemoryAllocateInfo{OPAQUE_FD}. */
    VkDeviceSize allocation_size; /**< Required: VkMemoryAllocateInfo::allocationSize, bytes. */
    VkBool32 dedicated;           /**< Allocated with VkMemoryDedicatedAllocateInfo. */
    VkBuffer buffer; /**< Optional: a buffer bound to this memory. Its requirements are then held against
                          allocation_size, buffer_offset and dedicated. (The driver checks none of them.) */
    VkDeviceSize buffer_offset; /**< Where it is bound, bytes. */
    const char *label;          /**< Copied (up to 63 bytes). Default: none. */
} culv_vk_memory_desc;

/** A default descriptor.
 *  Errors: none.  Ownership: none.  Threads: any.  Since: 0.1 */
static inline culv_vk_memory_desc culv_vk_memory_desc_init(void)
{
    culv_vk_memory_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    return d;
}

/** A VkSemaphore of the caller's to import. */
typedef struct culv_vk_semaphore_desc {
    size_t struct_size;       /**< Set by culv_vk_semaphore_desc_init(). */
    VkSemaphore semaphore;    /**< Required: created with VkExportSemaphoreCreateInfo{OPAQUE_FD}. */
    culv_semaphore_type type; /**< Required: CULV_SEMAPHORE_TIMELINE. */
    const char *label;        /**< Copied (up to 63 bytes). Default: none. */
} culv_vk_semaphore_desc;

/** A default descriptor.
 *  Errors: none.  Ownership: none.  Threads: any.  Since: 0.1 */
static inline culv_vk_semaphore_desc culv_vk_semaphore_desc_init(void)
{
    culv_vk_semaphore_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    return d;
}

/** A range of a buffer that changes hands between a Vulkan queue and CUDA. */
typedef struct culv_vk_buffer_transfer {
    size_t struct_size;          /**< Set by culv_vk_buffer_transfer_init(). */
    VkBuffer buffer;             /**< Required. */
    VkDeviceSize offset;         /**< Bytes into the buffer. */
    VkDeviceSize size;           /**< Bytes; 0: VK_WHOLE_SIZE. */
    uint32_t queue_family;       /**< Required: the family of the queue that the barrier is submitted to. */
    VkPipelineStageFlags2 stage; /**< Release: where Vulkan last used it. Acquire: where it will use it first.
                                      0: ALL_COMMANDS. */
    VkAccessFlags2 access; /**< Release: how it was written (0: MEMORY_WRITE). Acquire: how it will be used
                                (0: MEMORY_READ | MEMORY_WRITE). */
} culv_vk_buffer_transfer;

/** A default transfer: the whole buffer, any stage.
 *  Errors: none.  Ownership: none.  Threads: any.  Since: 0.1 */
static inline culv_vk_buffer_transfer culv_vk_buffer_transfer_init(void)
{
    culv_vk_buffer_transfer t;
    memset(&t, 0, sizeof t);
    t.struct_size = sizeof t;
    return t;
}

/** A barrier in the form of vkCmdPipelineBarrier, for devices without synchronization2. */
typedef struct culv_vk_buffer_barrier {
    VkPipelineStageFlags src_stage;
    VkPipelineStageFlags dst_stage;
    VkBufferMemoryBarrier barrier;
} culv_vk_buffer_barrier;

/** The instance extensions that Culvert needs for an instance of this apiVersion: writes up to `capacity`
 *  names and returns how many there are. (Vulkan 1.1 has them in core: today there are none.)
 *  Errors: none.  Ownership: static strings.  Threads: any.  Since: 0.1 */
CULV_API uint32_t culv_vk_instance_extensions(uint32_t api_version, uint32_t capacity,
                                              const char **out_names);

/** The instance layers that Culvert needs, to be listed AFTER validation layers: the software twin's where
 *  the twin is allowed (culvert/soft.h) and its layer is found by the loader, else none. It passes devices
 *  through that are not the twin's. Writes up to `capacity` names and returns how many there are.
 *  get_instance_proc_addr is the loader's.
 *  Errors: none.  Ownership: static strings.  Threads: any.  Since: 0.1 */
CULV_API uint32_t culv_vk_instance_layers(PFN_vkGetInstanceProcAddr get_instance_proc_addr, uint32_t capacity,
                                          const char **out_names);

/** The device extensions that Culvert needs on a device whose usable version is api_version (the lower one
 *  of VkApplicationInfo::apiVersion and VkPhysicalDeviceProperties::apiVersion): writes up to `capacity`
 *  names and returns how many there are. Enable the timelineSemaphore feature besides.
 *  Errors: none.  Ownership: static strings.  Threads: any.  Since: 0.1 */
CULV_API uint32_t culv_vk_device_extensions(uint32_t api_version, uint32_t capacity, const char **out_names);

/** Ranks the physical devices of an instance: those that CUDA can reach first (NVIDIA's before the twin's,
 *  discrete before others), the rest after them with the reason. desc, which may be NULL, limits the CUDA
 *  driver as it does for culv_device_open_by_uuid(). *count says how many elements `out` has and is set to
 *  how many there are; out may be NULL to ask for that alone. Each element's struct_size must be set. Opens
 *  no context.
 *  Errors: INVALID, DRIVER (a Vulkan call failed), OUT_OF_MEMORY. A machine without CUDA is no error: no
 *  device is reachable then.  Ownership: copies, yours.  Threads: any.  Since: 0.1 */
CULV_API culv_result culv_vk_rank_physical_devices(PFN_vkGetInstanceProcAddr get_instance_proc_addr,
                                                   VkInstance instance, const culv_device_desc *desc,
                                                   uint32_t *count, culv_vk_candidate *out);

/** Opens the CUDA device that is this physical device, by UUID. desc may be NULL.
 *  Errors: INVALID; NO_DEVICE with every device of both sides named and the likely cause; UNSUPPORTED;
 *  DRIVER; ASYNC; OUT_OF_MEMORY.  Ownership: *out is yours, for culv_device_close().  Threads: any.  Since:
 *  0.1 */
CULV_API culv_result culv_vk_device_open(PFN_vkGetInstanceProcAddr get_instance_proc_addr,
                                         VkInstance instance, VkPhysicalDevice physical_device,
                                         const culv_device_desc *desc, culv_device **out);

/** Attaches the caller's VkDevice to the device that is the same GPU.
 *  Errors: INVALID (DEVICE_MISMATCH, DEVICE_GROUP, EXTENSION_MISSING, LAYER_MISSING, VULKAN_VERSION ...),
 *  DRIVER, OUT_OF_MEMORY.  Ownership: the Vulkan handles stay yours and must outlive *out, which is yours,
 *  for culv_vk_detach().  Threads: any.  Since: 0.1 */
CULV_API culv_result culv_vk_attach(culv_device *device, const culv_vk_desc *desc, culv_vk **out);

/** Gives the attachment up and sets *vk to NULL; NULL, or a pointer to NULL, is a no-op. Imports live on.
 *  No Vulkan call is made through it afterwards.
 *  Errors: none.  Ownership: *vk is Culvert's again.  Threads: any, ordered with other calls on this
 *  object.  Since: 0.1 */
CULV_API void culv_vk_detach(culv_vk **vk);

/** Imports exported memory of the caller's: exports a new fd, and imports it as culv_memory_import_take()
 *  does. The VkDeviceMemory may be freed while the import lives; the driver keeps the pages.
 *  Errors: INVALID (SIZE, RANGE, DEDICATED, NOT_EXPORTABLE ...), DRIVER, ASYNC, OUT_OF_MEMORY.  Ownership:
 *  the VkDeviceMemory stays yours; *out is yours, for culv_memory_destroy().  Threads: any;
 *  vkGetMemoryFdKHR needs no external synchronization.  Since: 0.1.  Source: VK_KHR_external_memory_fd;
 *  VkMemoryDedicatedRequirements. */
CULV_API culv_result culv_vk_memory_import(culv_vk *vk, const culv_vk_memory_desc *desc, culv_memory **out);

/** Imports a timeline semaphore of the caller's; its present counter becomes the value that signals must
 *  exceed.
 *  Errors: INVALID (NOT_EXPORTABLE ...), UNSUPPORTED, DRIVER, ASYNC, OUT_OF_MEMORY.  Ownership: the
 *  VkSemaphore stays yours; *out is yours, for culv_semaphore_destroy().  Threads: any.  Since: 0.1
 *  Source: VK_KHR_external_semaphore_fd. */
CULV_API culv_result culv_vk_semaphore_import(culv_vk *vk, const culv_vk_semaphore_desc *desc,
                                              culv_semaphore **out);

/** The queue-family release that hands a buffer from a Vulkan queue to CUDA: record it after Vulkan's last
 *  use, in a submission that signals the timeline which CUDA waits for.
 *  Errors: INVALID.  Ownership: *out is yours.  Threads: any.  Since: 0.1  Source: Vulkan specification,
 *  "Queue Family Ownership Transfer", VK_QUEUE_FAMILY_EXTERNAL. */
CULV_API culv_result culv_vk_buffer_release_barrier2(const culv_vk_buffer_transfer *transfer,
                                                     VkBufferMemoryBarrier2 *out);

/** The queue-family acquire that takes a buffer back from CUDA: record it before Vulkan's first use, in a
 *  submission that waits for the timeline which CUDA signalled. Also needed before the first use of what
 *  CUDA wrote first.
 *  Errors: INVALID.  Ownership: *out is yours.  Threads: any.  Since: 0.1  Source: Vulkan specification,
 *  "Queue Family Ownership Transfer", VK_QUEUE_FAMILY_EXTERNAL. */
CULV_API culv_result culv_vk_buffer_acquire_barrier2(const culv_vk_buffer_transfer *transfer,
                                                     VkBufferMemoryBarrier2 *out);

/** culv_vk_buffer_release_barrier2() in the form of Vulkan 1.0. Only stages and accesses of that form are
 *  taken.
 *  Errors: INVALID (VALUE: a stage or access that only synchronization2 has).  Ownership: *out is yours.
 *  Threads: any.  Since: 0.1 */
CULV_API culv_result culv_vk_buffer_release_barrier(const culv_vk_buffer_transfer *transfer,
                                                    culv_vk_buffer_barrier *out);

/** culv_vk_buffer_acquire_barrier2() in the form of Vulkan 1.0. Only stages and accesses of that form are
 *  taken.
 *  Errors: INVALID (VALUE: a stage or access that only synchronization2 has).  Ownership: *out is yours.
 *  Threads: any.  Since: 0.1 */
CULV_API culv_result culv_vk_buffer_acquire_barrier(const culv_vk_buffer_transfer *transfer,
                                                    culv_vk_buffer_barrier *out);

CULV_EXTERN_C_END

#endif
