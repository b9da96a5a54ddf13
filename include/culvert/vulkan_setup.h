/* SPDX-License-Identifier: MIT */
/* Culvert: helpers for the steps before a program attaches its VkDevice: the choice of the physical
 * device and of a queue family, and the arguments of vkCreateInstance and vkCreateDevice.
 *
 *   culv_vk_device_desc desc = culv_vk_device_desc_init();
 *   culv_vk_merge_instance_layers(get, 0, NULL, &mine.enabledLayerCount, layers);
 *   vkCreateInstance(&mine, NULL, &desc.instance);
 *   culv_vk_choose_physical_device(get, desc.instance, NULL, &desc.physical_device, &device);
 *   culv_vk_merge_device_extensions(&desc, 0, NULL, &my.enabledExtensionCount, extensions);
 *   culv_vk_merge_device_features(&desc, NULL, &features, &my.pNext);
 *   vkCreateDevice(desc.physical_device, &my, NULL, &desc.device);
 *   culv_vk_attach(device, &desc, &vk);
 *
 * samples/hello has whole programs (packages have them among the examples of their documentation).
 * The calls below add what culvert/vulkan_device.h lists, and nothing else. If an engine or a
 * library creates your VkDevice, you do not need them.
 *
 * A merge call writes your names and then Culvert's, each name once, into your array out_names.
 * *count says how many elements it has, and is set to the number of names. out_names may be NULL to
 * ask only for the number, and it may be `names` itself. An array that is too small is an error: a
 * list that is cut off would make a device that lacks something. The names are not copied:
 * Culvert's are static strings, yours stay yours. */
#ifndef CULV_VULKAN_SETUP_H_
#define CULV_VULKAN_SETUP_H_

#include "vulkan_device.h"

CULV_EXTERN_C_BEGIN

/** Chooses a physical device that CUDA can reach, and opens the same GPU in CUDA. It takes the
 * first one of culv_vk_rank_physical_devices(): NVIDIA's GPUs before the software twin, discrete
 * ones before others. If your program draws to a window, or needs more of a device, rank them and
 * choose yourself.
 *
 * desc limits the CUDA driver as in culv_device_open_by_uuid(); it may be NULL. If out_device is
 * NULL, the call opens no context.
 * Errors: INVALID; NO_DEVICE (the message says for every physical device why CUDA cannot reach it;
 * the reason is that of the best one, or DEVICE_UNKNOWN if Vulkan shows no device); DRIVER, ASYNC,
 * UNSUPPORTED, OUT_OF_MEMORY as in culv_device_open_for_vk().
 * Ownership: *out_device is yours; give it to culv_device_close(). Threads: any. */
CULV_EXPORT culv_result culv_vk_choose_physical_device(
    PFN_vkGetInstanceProcAddr get_instance_proc_addr, VkInstance instance,
    const culv_device_desc *desc, VkPhysicalDevice *out_physical_device, culv_device **out_device);

/** The purpose of a queue. */
typedef enum culv_vk_queue_use {
    CULV_VK_QUEUE_GRAPHICS = 0, /**< Drawing. */
    CULV_VK_QUEUE_COMPUTE = 1,  /**< Computing: a family without graphics if there is one. */
    /** Copying: a family with TRANSFER and neither graphics nor compute, or else any that copies.
     * The GPU does not switch between CUDA's work and its copy engine (measured on an H200: 9 to 17
     * us a round trip against 319). */
    CULV_VK_QUEUE_COPY = 2,
    CULV_VK_QUEUE_USE_FORCE32 = 0x7fffffff
} culv_vk_queue_use;

/** Gets the best queue family for a use, the lowest index among equals. It is never a video queue.
 * Errors: INVALID (NULL_ARGUMENT, VALUE), UNSUPPORTED (no family supports the use). Threads: any.
 * Source: Vulkan specification, VkQueueFamilyProperties; docs/measured/performance.md. */
CULV_EXPORT culv_result culv_vk_find_queue_family(PFN_vkGetInstanceProcAddr get_instance_proc_addr,
                                                  VkInstance instance,
                                                  VkPhysicalDevice physical_device,
                                                  culv_vk_queue_use use, uint32_t *out);

/** Merges your instance layers with culv_vk_instance_layers(), which come last because they must
 * follow validation layers. get_instance_proc_addr is the loader's.
 * Errors: INVALID (NULL_ARGUMENT, also for a name that is NULL; VALUE: out_names is too small).
 * Ownership: the array is yours; no name changes hands. Threads: any. */
CULV_EXPORT culv_result
culv_vk_merge_instance_layers(PFN_vkGetInstanceProcAddr get_instance_proc_addr, uint32_t num_names,
                              const char *const *names, uint32_t *count, const char **out_names);

/** Merges your device extensions with culv_vk_device_extensions() and with those of
 * culv_vk_optional_device_extensions() that the device has. If culv_vk_device_desc::kernels is set
 * and culv_vk_check_kernels() answers CULV_OK, it also adds culv_vk_kernel_extensions(). Pass the
 * desc that culv_vk_attach() gets later; the call reads get_instance_proc_addr, instance,
 * physical_device, api_version and kernels. The lower one of api_version and the device's version
 * counts. The call does not check whether the device has your own extensions. A program for devices
 * that cannot share (culvert/fallback.h) uses the lists themselves.
 * Errors: as culv_vk_merge_instance_layers(); INVALID (STRUCT_SIZE; VULKAN_VERSION: the
 * instance has Vulkan 1.0); UNSUPPORTED (EXTENSION_MISSING: the device lacks one that Culvert
 * needs; LAYER_MISSING: it is software Vulkan without the twin's layer; VULKAN_VERSION: a device of
 * Vulkan 1.0); DRIVER, OUT_OF_MEMORY.
 * Ownership: as there. Threads: any. */
CULV_EXPORT culv_result culv_vk_merge_device_extensions(const culv_vk_device_desc *desc,
                                                        uint32_t num_names,
                                                        const char *const *names, uint32_t *count,
                                                        const char **out_names);

/** Storage for the feature structs that culv_vk_merge_device_features() adds to a chain. It must
 * not move before vkCreateDevice has returned. */
typedef struct culv_vk_device_features {
    size_t struct_size; /**< Set by culv_vk_device_features_init(). */
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline_semaphore;
    VkPhysicalDeviceSynchronization2Features synchronization2;
    VkPhysicalDeviceMaintenance4Features maintenance4;
    /** Nonzero, set before the call: adds the features for one address (culvert/vulkan_space.h):
     * sparseBinding, sparseResidencyBuffer, bufferDeviceAddress and
     * bufferDeviceAddressCaptureReplay. The first two are in VkPhysicalDeviceFeatures: leave
     * VkDeviceCreateInfo::pEnabledFeatures NULL, and put your own features into the chain as a
     * VkPhysicalDeviceFeatures2. Default: 0. */
    culv_bool one_address;
    VkPhysicalDeviceFeatures2 features2;
    VkPhysicalDeviceBufferDeviceAddressFeatures buffer_device_address;
} culv_vk_device_features;

CULV_INIT(culv_vk_device_features)

/** Adds the features that Culvert needs to a pNext chain for VkDeviceCreateInfo:
 * - timelineSemaphore;
 * - if the device has it, synchronization2, which rings and the ...barrier2 structs need;
 * - below Vulkan 1.3 and if the device has it, maintenance4;
 * - if culv_vk_device_desc::kernels is set and culv_vk_check_kernels() answers CULV_OK,
 *   bufferDeviceAddress;
 * - the features of culv_vk_device_features::one_address, if that is set.
 *
 * `chain` is yours or NULL. If it has a feature's struct (its own struct,
 * VkPhysicalDeviceVulkan12Features or VkPhysicalDeviceVulkan13Features), the feature is set to
 * VK_TRUE there, because Vulkan allows no second struct. For the other features, structs of
 * `storage` are put before the chain. Nothing else in the chain changes. *out_chain is the new
 * beginning: pass &VkDeviceCreateInfo::pNext. desc is as in culv_vk_merge_device_extensions(). The
 * device needs that call's list too.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; VULKAN_VERSION: the instance has Vulkan 1.0);
 * UNSUPPORTED (VULKAN_VERSION: a device of Vulkan 1.0, or with one_address of less than 1.2;
 * EXTENSION_MISSING: the device has no timelineSemaphore; USAGE: it lacks a feature of
 * one_address); DRIVER, OUT_OF_MEMORY. After an error the chain is as it was.
 * Ownership: all structs stay yours. Threads: any.
 * Source: VUID-VkDeviceCreateInfo-pNext-02830, -06532. */
CULV_EXPORT culv_result culv_vk_merge_device_features(const culv_vk_device_desc *desc, void *chain,
                                                      culv_vk_device_features *storage,
                                                      const void **out_chain);

CULV_EXTERN_C_END

#endif
