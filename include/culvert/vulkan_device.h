/* SPDX-License-Identifier: MIT */
/* Culvert: finds the Vulkan device that CUDA can reach, and attaches your VkDevice to Culvert.
 * Include culvert/vulkan.h, which lists all steps.
 *
 *   culv_vk_rank_physical_devices(get_instance_proc_addr, instance, NULL, candidates, 16, &count);
 *   vkCreateDevice(candidates[0].physical_device, ...);
 *   culv_device_open_for_vk(get_instance_proc_addr, instance, physical_device, NULL, &device);
 *   culv_vk_attach(device, &desc, &vk); */
#ifndef CULV_VULKAN_DEVICE_H_
#define CULV_VULKAN_DEVICE_H_

#include "device.h"

#include <vulkan/vulkan_core.h>

CULV_EXTERN_C_BEGIN

/** Opaque: your VkDevice, attached to a culv_device. Any thread may use it. */
typedef struct culv_vk_device culv_vk_device;

/** Your Vulkan device. */
typedef struct culv_vk_device_desc {
    size_t struct_size; /**< Set by culv_vk_device_desc_init(). */
    /** Required. The loader's vkGetInstanceProcAddr, or volk's. */
    PFN_vkGetInstanceProcAddr get_instance_proc_addr;
    VkInstance instance;              /**< Required. */
    VkPhysicalDevice physical_device; /**< Required. */
    VkDevice device;                  /**< Required. */
    uint32_t api_version; /**< VkApplicationInfo::apiVersion of the instance. 0: Vulkan 1.1. */
    /** VkDeviceGroupDeviceCreateInfo::physicalDeviceCount. More than 1 is refused. 0: not stated,
     * which is refused on a machine with linked GPUs. */
    uint32_t num_physical_devices;
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
    /** CULV_FALLBACK_... Nonzero: the VkDevice may be another GPU than the culv_device, or lack the
     * extensions that sharing needs. Each object that you make with it then needs its own
     * `fallback`, and imports from it are refused. Default: none. */
    uint32_t fallback;
    /** 1: CUDA kernels in command buffers (culvert/vulkan_kernel.h). The calls of
     * culvert/vulkan_setup.h then add what such kernels need, if the device has it, and Culvert's
     * buffers have a device address. A device that lacks it is attached too. Leave it 0 unless you
     * want such kernels: with VK_NVX_binary_import enabled, other CUDA libraries of the process
     * were seen to fail (slang-rhi's issue 760). Default: 0. */
    culv_bool kernels;
    /** The allocator (copied) that Culvert passes to each Vulkan call that makes or destroys an
     * object of this VkDevice. Its functions must be callable from any thread while the attachment
     * lives. Use the same allocator for objects that Culvert makes and you free
     * (culv_vk_memory_from_handle()). Default: NULL. */
    const VkAllocationCallbacks *allocation_callbacks;
    /** 1: the culv_device may be another GPU than the VkDevice, and works on the VkDevice's memory
     * in place (docs/two-gpus.md). Then buffers and semaphores are shared; images, one address and
     * CUDA's memory in Vulkan are refused. NVIDIA's driver on Linux must show both GPUs, and the
     * culv_device must reach the other GPU's memory (cuDeviceCanAccessPeer). If it does not, the
     * attachment is refused, or, with `fallback`, shares nothing. If both are the same GPU, the
     * field has no effect. Default: 0. */
    culv_bool allow_other_gpu;
} culv_vk_device_desc;

CULV_INIT(culv_vk_device_desc)

/** One physical device of an instance, and how CUDA can use it. Flags are 0 or 1. */
typedef struct culv_vk_candidate {
    size_t struct_size; /**< Set by culv_vk_candidate_init(). */
    VkPhysicalDevice physical_device;
    char name[256];        /**< VkPhysicalDeviceProperties::deviceName. */
    char driver_name[256]; /**< VkPhysicalDeviceDriverProperties. "" before Vulkan 1.2. */
    char driver_info[256];
    uint32_t api_version;
    VkPhysicalDeviceType type;
    uint32_t vendor_id;   /**< PCI vendor: 0x10de is NVIDIA. */
    VkDriverId driver_id; /**< VkPhysicalDeviceDriverProperties. 0 before Vulkan 1.2. */
    culv_uuid uuid;
    uint32_t group_size; /**< Number of physical devices in its device group. */
    /** CUDA has this device, and buffers and timelines can be exported to it. */
    culv_bool reachable;
    culv_driver driver;   /**< The driver of its CUDA device. AUTO if there is none. */
    int32_t cuda_ordinal; /**< Its CUDA ordinal. -1 if there is none. */
    char cuda_name[256];
    /** The device offers VK_KHR_external_memory_fd. On Windows this field and the next ones stand
     * for the ..._win32 forms. */
    culv_bool has_external_memory;
    culv_bool has_external_semaphore;
    culv_bool has_timeline_semaphore; /**< The feature, from Vulkan 1.2 or the extension. */
    /** The answers of vkGetPhysicalDeviceExternalBufferProperties for storage and transfer
     * buffers. */
    culv_bool buffer_opaque_fd_export;
    culv_bool buffer_opaque_fd_dedicated_only;
    culv_bool buffer_dma_buf_export;
    culv_bool timeline_opaque_fd_export;
    culv_bool binary_opaque_fd_export;
    /** The device offers VK_EXT_external_memory_host: buffers in host memory. */
    culv_bool buffer_host_import;
    culv_bool luid_valid; /**< VkPhysicalDeviceIDProperties::deviceLUIDValid. Only on Windows. */
    culv_luid luid;       /**< Its deviceLUID, if luid_valid. */
    uint32_t node_mask;   /**< Its deviceNodeMask, if luid_valid: its node among linked GPUs. */
    culv_reason reason;   /**< Reason why it is not reachable. */
    /** The same reason in words, with names and what to do. "" if it is reachable. */
    char reason_text[1024];
} culv_vk_candidate;

CULV_INIT(culv_vk_candidate)

/** Lists the instance layers that Culvert needs. Put them AFTER validation layers. The list has the
 * software twin's layer when the twin is allowed (culvert/soft.h) and the Vulkan loader finds the
 * layer; otherwise it is empty. The layer changes nothing for devices that are not the twin's.
 * Writes up to `capacity` names and returns the number of names. get_instance_proc_addr is the
 * loader's.
 *
 * If the twin is allowed and the loader does not find the layer by itself, this call changes the
 * process's environment so that the loader finds it, as culv_soft_enable() does. No other thread
 * may read the environment meanwhile.
 * Errors: none; if the list is empty, the messages of culv_vk_rank_physical_devices() and
 * culv_vk_attach() say what to set.
 * Ownership: static strings. Threads: any, and see above. */
CULV_EXPORT uint32_t culv_vk_instance_layers(PFN_vkGetInstanceProcAddr get_instance_proc_addr,
                                             uint32_t capacity, const char **out_names);

/** Lists the device extensions that Culvert needs. api_version is the device's usable version: the
 * lower one of VkApplicationInfo::apiVersion and VkPhysicalDeviceProperties::apiVersion. Writes up
 * to `capacity` names and returns the number of names. Enable the timelineSemaphore feature too.
 * Ownership: static strings. Threads: any. */
CULV_EXPORT uint32_t culv_vk_device_extensions(uint32_t api_version, uint32_t capacity,
                                               const char **out_names);

/** Lists the device extensions that Culvert uses when they are enabled. Enable those that the
 * device has. Writes up to `capacity` names and returns the number of names.
 *
 * - VK_EXT_external_memory_host: buffers in host memory (culv_vk_buffer_create_desc::host_memory),
 *   and fallbacks with one copy less.
 * - VK_EXT_external_memory_dma_buf: exports as dma-bufs.
 * - VK_KHR_maintenance4, below Vulkan 1.3 and with its feature: memory requirements before a
 *   resource exists (culvert/vulkan_check.h).
 * - VK_KHR_synchronization2, below Vulkan 1.3 and with its feature: culv_vk_ring_submit(), and the
 *   ...barrier2 structs.
 * Ownership: static strings. Threads: any. */
CULV_EXPORT uint32_t culv_vk_optional_device_extensions(uint32_t api_version, uint32_t capacity,
                                                        const char **out_names);

/** Ranks the physical devices of an instance. Devices that CUDA can reach come first (NVIDIA's
 * before the twin's, discrete ones before others). The rest follow, each with the reason. Opens no
 * context.
 *
 * desc limits the CUDA driver as in culv_device_open_by_uuid(); it may be NULL. `out` and *count
 * are as in every call that lists (culvert.h). Set each element's struct_size.
 * Errors: INVALID, DRIVER (a Vulkan call failed), OUT_OF_MEMORY. A machine without CUDA is not an
 * error: no device is reachable then.
 * Ownership: the copies are yours. Threads: any. */
CULV_EXPORT culv_result culv_vk_rank_physical_devices(
    PFN_vkGetInstanceProcAddr get_instance_proc_addr, VkInstance instance,
    const culv_device_desc *desc, culv_vk_candidate *out, uint32_t capacity, uint32_t *count);

/** Opens the CUDA device that is the same GPU as this physical device (by UUID). desc may be NULL.
 * Errors: INVALID, NO_DEVICE (the message names every device of both sides and the likely cause),
 * UNSUPPORTED, DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_device_close(). Threads: any. */
CULV_EXPORT culv_result culv_device_open_for_vk(PFN_vkGetInstanceProcAddr get_instance_proc_addr,
                                                VkInstance instance,
                                                VkPhysicalDevice physical_device,
                                                const culv_device_desc *desc, culv_device **out);

/** Attaches your VkDevice to the culv_device of the same GPU, or of another one if desc allows it
 * (allow_other_gpu, fallback).
 * Errors: INVALID (DEVICE_MISMATCH, DEVICE_GROUP, EXTENSION_MISSING, LAYER_MISSING, VULKAN_VERSION
 * ...), UNSUPPORTED (VULKAN_VERSION: a device of Vulkan 1.0; with allow_other_gpu PEER: the
 * culv_device does not reach the other GPU's memory, DEVICE_UNKNOWN: its CUDA driver does not show
 * the other GPU, HANDLE_TYPE: not on this system), DRIVER, OUT_OF_MEMORY.
 * Ownership: the Vulkan handles stay yours and must outlive *out. *out is yours, for
 * culv_vk_detach().
 * Threads: any. */
CULV_EXPORT culv_result culv_vk_attach(culv_device *device, const culv_vk_device_desc *desc,
                                       culv_vk_device **out);

/** Returns the number of bytes that addresses and sizes of host memory must be multiples of before
 * Vulkan can import it: minImportedHostPointerAlignment, or a page when that is larger. 0 when the
 * VkDevice was created without VK_EXT_external_memory_host. 0 for NULL.
 * Threads: any. */
CULV_EXPORT VkDeviceSize culv_vk_host_import_alignment(const culv_vk_device *vk);

/** Ends the attachment. Imports live on.
 *
 * Afterwards Culvert makes Vulkan calls only when you destroy objects that it made with the
 * attachment (culv_vk_buffer_create() and others). When these are destroyed too, no deferred
 * release makes a Vulkan call. For that, on the HOST path (culvert/fallback.h), the last of these
 * calls waits for what has been deferred behind streams.
 * Threads: any, ordered with other calls on this object. */
CULV_EXPORT void culv_vk_detach(culv_vk_device **vk);

/** Tells Culvert that the VkDevice is lost. Call it if your own submission answers
 * VK_ERROR_DEVICE_LOST. Culvert notices it by itself only in calls that ask Vulkan.
 *
 * All rings of the attachment stop, as by culv_ring_stop(). CUDA signals, on a stream of the call's
 * own, the attachment's semaphores that a stream waits for, so that no stream waits for the lost
 * device; what these streams then read of it is not valid. Each call ends one wait for a binary
 * semaphore: if a stream has several such waits, call it until the stream is done. Afterwards no
 * destroy of the attachment's objects waits for the lost device. The call does not wait. A second
 * call signals the values that streams have begun to wait for since.
 * Errors: INVALID (NULL_ARGUMENT).
 * Ownership: none; destroy what you made with the attachment, then call culv_vk_detach().
 * Threads: any. */
CULV_EXPORT culv_result culv_vk_device_lost(culv_vk_device *vk);

CULV_EXTERN_C_END

#endif
