/* SPDX-License-Identifier: MIT */
/* Culvert: the caller's Vulkan device: finding the one that CUDA can reach, and attaching it.
 * Include culvert/vulkan.h, which has the whole road. */
#ifndef CULV_VULKAN_DEVICE_H_
#define CULV_VULKAN_DEVICE_H_

#include "device.h"

#include <vulkan/vulkan_core.h>

CULV_EXTERN_C_BEGIN

/** Opaque: the caller's VkDevice, attached to a culv_device. Any thread. */
typedef struct culv_vk_device culv_vk_device;

/** The caller's device. */
typedef struct culv_vk_device_desc {
    size_t struct_size; /**< Set by culv_vk_device_desc_init(). */
    /** Required: the loader's, or volk's vkGetInstanceProcAddr. */
    PFN_vkGetInstanceProcAddr get_instance_proc_addr;
    VkInstance instance;              /**< Required. */
    VkPhysicalDevice physical_device; /**< Required. */
    VkDevice device;                  /**< Required. */
    /** VkApplicationInfo::apiVersion of the instance. 0: Vulkan 1.1. */
    uint32_t api_version;
    /** VkDeviceGroupDeviceCreateInfo::physicalDeviceCount. More than 1 is refused; 0 (not said) is
     * refused where the machine has linked GPUs, so say 1 there. */
    uint32_t num_physical_devices;
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
    /** CULV_FALLBACK_..., nonzero: the VkDevice may be another GPU than the culv_device, or lack
     * the extensions that sharing needs. What is made with it then needs a fallback of its own;
     * imports from it are refused. Default: none. */
    uint32_t fallback;
} culv_vk_device_desc;

/** Returns a default descriptor.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_vk_device_desc culv_vk_device_desc_init(void)
{
    culv_vk_device_desc d;
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
    uint32_t group_size; /**< Physical devices in its device group. */
    /** A CUDA device was found, and buffers and timelines can be exported to it. */
    culv_bool reachable;
    culv_driver driver;   /**< Whose CUDA device it is; AUTO when there is none. */
    int32_t cuda_ordinal; /**< -1 when there is none. */
    char cuda_name[256];
    /** VK_KHR_external_memory_fd is offered; of this and the next ones the ..._win32 forms on
     * Windows. */
    culv_bool has_external_memory;
    culv_bool has_external_semaphore;
    culv_bool has_timeline_semaphore; /**< The feature, by Vulkan 1.2 or the extension. */
    /** vkGetPhysicalDeviceExternalBufferProperties, storage+transfer buffers. */
    culv_bool buffer_opaque_fd_export;
    culv_bool buffer_opaque_fd_dedicated_only;
    culv_bool buffer_dma_buf_export;
    culv_bool timeline_opaque_fd_export;
    culv_bool binary_opaque_fd_export;
    /** VK_EXT_external_memory_host is offered: buffers in host memory. */
    culv_bool buffer_host_import;
    culv_bool luid_valid; /**< VkPhysicalDeviceIDProperties::deviceLUIDValid: on Windows. */
    culv_luid luid;      /**< ... deviceLUID, where luid_valid. */
    /** ... deviceNodeMask, where luid_valid: its node among linked GPUs. */
    uint32_t node_mask;
    culv_reason reason;     /**< Why it is not reachable. */
    char reason_text[1024]; /**< The same with names and what to do; "" when reachable. */
} culv_vk_candidate;

/** Returns an empty culv_vk_candidate with its struct_size set.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_vk_candidate culv_vk_candidate_init(void)
{
    culv_vk_candidate c;
    memset(&c, 0, sizeof c);
    c.struct_size = sizeof c;
    return c;
}

/** The instance extensions that Culvert needs for an instance of this apiVersion: writes up to
 * `capacity` names and returns how many there are. (Vulkan 1.1 has them in core: today there are
 * none.)
 * Errors: none.
 * Ownership: static strings.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT uint32_t culv_vk_instance_extensions(uint32_t api_version, uint32_t capacity,
                                                 const char **out_names);

/** The instance layers that Culvert needs, to be listed AFTER validation layers: the software
 * twin's where the twin is allowed (culvert/soft.h) and its layer is found by the loader, else
 * none. It passes devices through that are not the twin's. Writes up to `capacity` names and
 * returns how many there are. get_instance_proc_addr is the loader's.
 * Errors: none.
 * Ownership: static strings.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT uint32_t culv_vk_instance_layers(PFN_vkGetInstanceProcAddr get_instance_proc_addr,
                                             uint32_t capacity, const char **out_names);

/** The device extensions that Culvert needs on a device whose usable version is api_version (the
 * lower one of VkApplicationInfo::apiVersion and VkPhysicalDeviceProperties::apiVersion): writes up
 * to `capacity` names and returns how many there are. Enable the timelineSemaphore feature besides.
 * Errors: none.
 * Ownership: static strings.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT uint32_t culv_vk_device_extensions(uint32_t api_version, uint32_t capacity,
                                               const char **out_names);

/** The device extensions that Culvert makes use of where they are enabled: enable those that the
 * device has. VK_EXT_external_memory_host: buffers in host memory
 * (culv_vk_buffer_create_desc::host_memory), and fallbacks' copies without a detour.
 * VK_EXT_external_memory_dma_buf: exports as dma-buf. VK_KHR_maintenance4, below Vulkan 1.3 and
 * with its feature: memory requirements before a resource exists (culvert/vulkan_check.h). Writes
 * up to `capacity` names and returns how many there are.
 * Errors: none.
 * Ownership: static strings.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT uint32_t culv_vk_optional_device_extensions(uint32_t api_version, uint32_t capacity,
                                                        const char **out_names);

/** Ranks the physical devices of an instance: those that CUDA can reach first (NVIDIA's before the
 * twin's, discrete before others), the rest after them with the reason. desc, which may be NULL,
 * limits the CUDA driver as it does for culv_device_open_by_uuid(). *count says how many elements
 * `out` has and is set to how many there are; out may be NULL to ask for that alone. Each element's
 * struct_size must be set. Opens no context.
 * Errors: INVALID, DRIVER (a Vulkan call failed), OUT_OF_MEMORY. A machine without CUDA is no
 * error: no device is reachable then.
 * Ownership: the copies are yours.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_vk_rank_physical_devices(
    PFN_vkGetInstanceProcAddr get_instance_proc_addr, VkInstance instance,
    const culv_device_desc *desc, uint32_t *count, culv_vk_candidate *out);

/** Opens the CUDA device that is this physical device, by UUID. desc may be NULL.
 * Errors: INVALID; NO_DEVICE with every device of both sides named and the likely cause;
 * UNSUPPORTED; DRIVER; ASYNC; OUT_OF_MEMORY.
 * Ownership: *out is yours; give it to culv_device_close().
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_device_open_for_vulkan(
    PFN_vkGetInstanceProcAddr get_instance_proc_addr, VkInstance instance,
    VkPhysicalDevice physical_device, const culv_device_desc *desc, culv_device **out);

/** Attaches the caller's VkDevice to the device that is the same GPU.
 * Errors: INVALID (DEVICE_MISMATCH, DEVICE_GROUP, EXTENSION_MISSING, LAYER_MISSING, VULKAN_VERSION
 * ...), UNSUPPORTED (VULKAN_VERSION: a device of Vulkan 1.0), DRIVER, OUT_OF_MEMORY.
 * Ownership: the Vulkan handles stay yours and must outlive *out, which is yours, for
 * culv_vk_detach().
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_vk_attach(culv_device *device, const culv_vk_device_desc *desc,
                                       culv_vk_device **out);

/** What addresses and sizes of host memory must be multiples of to be imported:
 * minImportedHostPointerAlignment, or a page where that is larger. 0: the VkDevice was created
 * without VK_EXT_external_memory_host; 0 for NULL.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT VkDeviceSize culv_vk_host_import_alignment(const culv_vk_device *vk);

/** Gives the attachment up and sets *vk to NULL; NULL, or a pointer to NULL, is a no-op. Imports
 * live on. Only what was made through it (culv_vk_buffer_create() and its like) still makes Vulkan
 * calls, when it is destroyed. Once nothing of that is left either, no deferred release makes any:
 * on the HOST path (culvert/fallback.h) the last call, this one or a destroy, waits for what the
 * ..._after() calls have deferred.
 * Errors: none.
 * Ownership: *vk is Culvert's again.
 * Threads: any, ordered with other calls on this object.
 * Since: 0.1 */
CULV_EXPORT void culv_vk_detach(culv_vk_device **vk);

CULV_EXTERN_C_END

#endif
