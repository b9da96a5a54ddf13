/* SPDX-License-Identifier: MIT */
/* Culvert: short ways to what every program writes before it attaches its VkDevice: the physical
 * device, and what vkCreateInstance and vkCreateDevice have to be given.
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
 * The calls below add what culvert/vulkan_device.h lists, and nothing else. A program that has it
 * all from an engine or a library needs none of them.
 *
 * The calls that merge names take yours and write yours and then Culvert's, each name once, into an
 * array of yours. *count says how many elements out_names has, and is set to the number of names.
 * out_names may be NULL to ask only for the number. It may also be `names` itself. An array that is
 * too small is an error, because a list that is cut off would make a device that lacks something.
 * The names are not copied: Culvert's are static strings, yours stay yours. */
#ifndef CULV_VULKAN_SETUP_H_
#define CULV_VULKAN_SETUP_H_

#include "vulkan_device.h"

CULV_EXTERN_C_BEGIN

/** Chooses the physical device that CUDA can reach, and opens the CUDA device that it is. It takes
 * the first one of culv_vk_rank_physical_devices(): NVIDIA's GPUs before the software twin,
 * discrete ones before others. It never takes one that CUDA cannot reach. A program that draws to a
 * window, or asks for more of a device, ranks them and chooses for itself.
 *
 * desc limits the CUDA driver as in culv_device_open_by_uuid(); it may be NULL. out_device may be
 * NULL: then the call opens no context.
 * Errors: INVALID; NO_DEVICE, whose message says for every physical device why CUDA cannot reach it
 * (the reason is that of the best one; DEVICE_UNKNOWN when Vulkan shows no device); DRIVER, ASYNC,
 * UNSUPPORTED, OUT_OF_MEMORY as in culv_device_open_for_vk(). An error writes nothing.
 * Ownership: *out_device is yours; give it to culv_device_close().
 * Threads: any. */
CULV_EXPORT culv_result culv_vk_choose_physical_device(
    PFN_vkGetInstanceProcAddr get_instance_proc_addr, VkInstance instance,
    const culv_device_desc *desc, VkPhysicalDevice *out_physical_device, culv_device **out_device);

/** Merges your instance extensions with culv_vk_instance_extensions().
 * Errors: INVALID (NULL_ARGUMENT, also for a name that is NULL; VALUE: out_names is too small). The
 * array and *count are then as they were.
 * Ownership: the array is yours; the names stay whose they are.
 * Threads: any. */
CULV_EXPORT culv_result culv_vk_merge_instance_extensions(uint32_t api_version, uint32_t num_names,
                                                          const char *const *names, uint32_t *count,
                                                          const char **out_names);

/** Merges your instance layers with culv_vk_instance_layers(), which come last, as they must: after
 * validation layers. get_instance_proc_addr is the loader's.
 * Errors: as culv_vk_merge_instance_extensions().
 * Ownership: as there.
 * Threads: any. */
CULV_EXPORT culv_result
culv_vk_merge_instance_layers(PFN_vkGetInstanceProcAddr get_instance_proc_addr, uint32_t num_names,
                              const char *const *names, uint32_t *count, const char **out_names);

/** Merges your device extensions with culv_vk_device_extensions() and with those of
 * culv_vk_optional_device_extensions() that the device has; with culv_vk_device_desc::kernels also
 * with culv_vk_kernel_extensions(), where culv_vk_check_kernels() says OK. desc is the one that
 * culv_vk_attach() gets later, of which get_instance_proc_addr, instance, physical_device and
 * api_version are read: the version that counts is the lower one of api_version and the device's.
 * Whether the device has the extensions that you name is not looked at. A program for devices that
 * cannot share (culvert/fallback.h) uses the lists themselves.
 * Errors: as culv_vk_merge_instance_extensions(); INVALID (STRUCT_SIZE; VULKAN_VERSION: the
 * instance has Vulkan 1.0); UNSUPPORTED (EXTENSION_MISSING: the device lacks one that Culvert
 * needs; LAYER_MISSING: it is software Vulkan without the twin's layer; VULKAN_VERSION: a device of
 * Vulkan 1.0); DRIVER, OUT_OF_MEMORY.
 * Ownership: as there.
 * Threads: any. */
CULV_EXPORT culv_result culv_vk_merge_device_extensions(const culv_vk_device_desc *desc,
                                                        uint32_t num_names,
                                                        const char *const *names, uint32_t *count,
                                                        const char **out_names);

/** Room for the feature structs that culv_vk_merge_device_features() adds to a chain. It must stay
 * where it is until vkCreateDevice has returned. */
typedef struct culv_vk_device_features {
    size_t struct_size; /**< Set by culv_vk_device_features_init(). */
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline_semaphore;
    VkPhysicalDeviceSynchronization2Features synchronization2;
    VkPhysicalDeviceMaintenance4Features maintenance4;
    /** Set it nonzero before the call to ask for one address too (culvert/vulkan_space.h):
     * sparseBinding, sparseResidencyBuffer, bufferDeviceAddress and
     * bufferDeviceAddressCaptureReplay. The first two are in VkPhysicalDeviceFeatures: leave
     * VkDeviceCreateInfo::pEnabledFeatures NULL, and give features of yours as a
     * VkPhysicalDeviceFeatures2 in the chain. Default: 0. */
    culv_bool one_address;
    VkPhysicalDeviceFeatures2 features2;
    VkPhysicalDeviceBufferDeviceAddressFeatures buffer_device_address;
} culv_vk_device_features;

/** culv_vk_device_features_init(): struct_size is set, all else is 0. */
CULV_INIT(culv_vk_device_features)

/** Adds the features that Culvert needs to a pNext chain for VkDeviceCreateInfo:
 * timelineSemaphore; synchronization2, which rings and the ...barrier2 structs need, where the
 * device has it; below Vulkan 1.3 maintenance4, where the device has it; with
 * culv_vk_device_desc::kernels bufferDeviceAddress, where culv_vk_check_kernels() says OK; and with
 * culv_vk_device_features::one_address what that says.
 *
 * `chain` is yours or NULL. A feature whose struct is in it (its own struct, or that of a Vulkan
 * version: VkPhysicalDeviceVulkan12Features and VkPhysicalDeviceVulkan13Features) is set to VK_TRUE
 * there, because Vulkan allows no second struct. For the others, structs of `storage` are put
 * before the chain. Everything else in the chain is left as it is. *out_chain is the new beginning:
 * pass &VkDeviceCreateInfo::pNext. desc is as in culv_vk_merge_device_extensions(), whose list the
 * device needs too.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; VULKAN_VERSION: the instance has Vulkan 1.0);
 * UNSUPPORTED (VULKAN_VERSION: a device of Vulkan 1.0, or with one_address of less than 1.2;
 * EXTENSION_MISSING: the device has no timelineSemaphore; USAGE: it lacks a feature of
 * one_address); DRIVER, OUT_OF_MEMORY. After an error the chain is as it was.
 * Ownership: all structs stay yours.
 * Threads: any.
 * Source: VUID-VkDeviceCreateInfo-pNext-02830, -06532. */
CULV_EXPORT culv_result culv_vk_merge_device_features(const culv_vk_device_desc *desc, void *chain,
                                                      culv_vk_device_features *storage,
                                                      const void **out_chain);

CULV_EXTERN_C_END

#endif
