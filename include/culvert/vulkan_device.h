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
#include "image.h"

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
    /** 1: CUDA kernels in command buffers (culvert/vulkan_kernel.h). The merge calls below then add
     * what such kernels need, if the device has it, and Culvert's buffers have a device address. A
     * device that lacks it is attached too. Leave it 0 unless you want such kernels: with
     * VK_NVX_binary_import enabled, other CUDA libraries of the process were seen to fail
     * (slang-rhi's issue 760). Default: 0. */
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
 * software twin's layer when the twin is allowed (culvert/device.h) and the Vulkan loader finds the
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
 * Ownership: static strings. */
CULV_EXPORT uint32_t culv_vk_device_extensions(uint32_t api_version, uint32_t capacity,
                                               const char **out_names);

/** Lists the device extensions that Culvert uses when they are enabled. Enable those that the
 * device has. Writes up to `capacity` names and returns the number of names.
 *
 * - VK_EXT_external_memory_host: buffers in host memory (culv_vk_buffer_create_desc::host_memory),
 *   and fallbacks with one copy less.
 * - VK_EXT_external_memory_dma_buf: exports as dma-bufs.
 * - VK_KHR_maintenance4, below Vulkan 1.3 and with its feature: memory requirements before a
 *   resource exists.
 * - VK_KHR_synchronization2, below Vulkan 1.3 and with its feature: culv_vk_ring_submit(), and the
 *   ...barrier2 structs.
 * Ownership: static strings. */
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
 * Ownership: the copies are yours. */
CULV_EXPORT culv_result culv_vk_rank_physical_devices(
    PFN_vkGetInstanceProcAddr get_instance_proc_addr, VkInstance instance,
    const culv_device_desc *desc, culv_vk_candidate *out, uint32_t capacity, uint32_t *count);

/** Opens the CUDA device that is the same GPU as this physical device (by UUID). desc may be NULL.
 * Errors: INVALID, NO_DEVICE (the message names every device of both sides and the likely cause),
 * UNSUPPORTED, DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_device_close(). */
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
 * culv_vk_detach(). */
CULV_EXPORT culv_result culv_vk_attach(culv_device *device, const culv_vk_device_desc *desc,
                                       culv_vk_device **out);

/** Returns the number of bytes that addresses and sizes of host memory must be multiples of before
 * Vulkan can import it: minImportedHostPointerAlignment, or a page when that is larger. 0 when the
 * VkDevice was created without VK_EXT_external_memory_host. 0 for NULL. */
CULV_EXPORT VkDeviceSize culv_vk_host_import_alignment(const culv_vk_device *vk);

/** Ends the attachment. Imports live on.
 *
 * Afterwards Culvert makes Vulkan calls only when you destroy objects that it made with the
 * attachment (culv_vk_buffer_create() and others). When these are destroyed too, no deferred
 * release makes a Vulkan call. For that, on the HOST path (culvert/shared.h), the last of these
 * calls waits for what has been deferred behind streams. */
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
 * Ownership: none; destroy what you made with the attachment, then call culv_vk_detach(). */
CULV_EXPORT culv_result culv_vk_device_lost(culv_vk_device *vk);

/* Extensions, features, queues ----------------------------------------------------------------- */

/* Helpers for the steps before a program attaches its VkDevice: the choice of the physical
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
 * The calls below add what is listed above, and nothing else. If an engine or a
 * library creates your VkDevice, you do not need them.
 *
 * A merge call writes your names and then Culvert's, each name once, into your array out_names.
 * *count says how many elements it has, and is set to the number of names. out_names may be NULL to
 * ask only for the number, and it may be `names` itself. An array that is too small is an error: a
 * list that is cut off would make a device that lacks something. The names are not copied:
 * Culvert's are static strings, yours stay yours. */

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
 * Ownership: *out_device is yours; give it to culv_device_close(). */
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
 * Errors: INVALID (NULL_ARGUMENT, VALUE), UNSUPPORTED (no family supports the use).
 * Source: Vulkan specification, VkQueueFamilyProperties; docs/measured/performance.md. */
CULV_EXPORT culv_result culv_vk_find_queue_family(PFN_vkGetInstanceProcAddr get_instance_proc_addr,
                                                  VkInstance instance,
                                                  VkPhysicalDevice physical_device,
                                                  culv_vk_queue_use use, uint32_t *out);

/** Merges your instance layers with culv_vk_instance_layers(), which come last because they must
 * follow validation layers. get_instance_proc_addr is the loader's.
 * Errors: INVALID (NULL_ARGUMENT, also for a name that is NULL; VALUE: out_names is too small).
 * Ownership: the array is yours; no name changes hands. */
CULV_EXPORT culv_result
culv_vk_merge_instance_layers(PFN_vkGetInstanceProcAddr get_instance_proc_addr, uint32_t num_names,
                              const char *const *names, uint32_t *count, const char **out_names);

/** Merges your device extensions with culv_vk_device_extensions() and with those of
 * culv_vk_optional_device_extensions() that the device has. If culv_vk_device_desc::kernels is set
 * and culv_vk_check_kernels() answers CULV_OK, it also adds culv_vk_kernel_extensions(). Pass the
 * desc that culv_vk_attach() gets later; the call reads get_instance_proc_addr, instance,
 * physical_device, api_version and kernels. The lower one of api_version and the device's version
 * counts. The call does not check whether the device has your own extensions. A program for devices
 * that cannot share (culvert/shared.h) uses the lists themselves.
 * Errors: as culv_vk_merge_instance_layers(); INVALID (STRUCT_SIZE; VULKAN_VERSION: the
 * instance has Vulkan 1.0); UNSUPPORTED (EXTENSION_MISSING: the device lacks one that Culvert
 * needs; LAYER_MISSING: it is software Vulkan without the twin's layer; VULKAN_VERSION: a device of
 * Vulkan 1.0); DRIVER, OUT_OF_MEMORY.
 * Ownership: as there. */
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
    /** Nonzero, set before the call: adds the features for one address (culvert/vulkan_vmm.h):
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
 * Ownership: all structs stay yours.
 * Source: VUID-VkDeviceCreateInfo-pNext-02830, -06532. */
CULV_EXPORT culv_result culv_vk_merge_device_features(const culv_vk_device_desc *desc, void *chain,
                                                      culv_vk_device_features *storage,
                                                      const void **out_chain);

/* What can be shared --------------------------------------------------------------------------- */

/* Checks whether and how a planned Vulkan buffer or image can be shared with CUDA.
 *
 * Fill in the VkBufferCreateInfo or VkImageCreateInfo as usual and ask before you create anything:
 *
 *   culv_vk_sharing_info info = culv_vk_sharing_info_init();
 *   if (culv_vk_check_image(vk, &create_info, NULL, &info) != CULV_OK)
 *       fprintf(stderr, "%s", culv_last_error_message());
 *
 * Nothing is created or imported. The calls that create, import and map make the same checks and
 * refuse with the same words. */

/** The way in which CUDA reaches a resource. */
typedef enum culv_vk_access {
    CULV_VK_ACCESS_NONE = 0,
    CULV_VK_ACCESS_POINTER = 1, /**< A buffer, with culv_buffer_map(). */
    CULV_VK_ACCESS_ARRAY = 2,   /**< An OPTIMAL image, with culv_vk_image_map(). */
    /** A LINEAR image as rows of bytes, with culv_vk_image_map_pitched(). */
    CULV_VK_ACCESS_PITCHED = 3,
    CULV_VK_ACCESS_FORCE32 = 0x7fffffff
} culv_vk_access;

/** Settings of a check, besides Vulkan's own struct. */
typedef struct culv_vk_check_desc {
    size_t struct_size; /**< Set by culv_vk_check_desc_init(). */
    /** The handle to share it by. 0: this system's opaque handle. DMA_BUF_FD is refused, because
     * only an import shows whether CUDA takes it. */
    culv_handle_type handle_type;
    /** The properties that the memory type must have. 0: DEVICE_LOCAL. */
    VkMemoryPropertyFlags memory_properties;
    culv_texels texels;    /**< Images: as culv_image_desc::texels. */
    culv_bool no_surfaces; /**< Images: as culv_image_desc::no_surfaces. */
    const char *label;     /**< Appears in messages. Default: none. */
    /** Buffers: as culv_vk_buffer_create_desc::host_memory. The answer then has no handle_types.
     * Its memory_type_index is not known yet, because it depends on the pages. */
    culv_bool host_memory;
    /** Buffers: the bytes of your own memory that the buffer will share with others, such as an
     * allocator's block. 0: memory that is dedicated to the buffer, as culv_vk_buffer_create()
     * makes it. `memory_kind` and `random_access_slow` of the answer follow from it. */
    VkDeviceSize block_size;
} culv_vk_check_desc;

CULV_INIT(culv_vk_check_desc)

/** The ways in which a resource can be shared. Flags are 0 or 1. Limits are those of both Vulkan
 * and CUDA together. */
typedef struct culv_vk_sharing_info {
    size_t struct_size; /**< Set by culv_vk_sharing_info_init(). */
    culv_vk_access access;
    /** One bit (1 << culv_handle_type) for each type that Vulkan exports such a resource as and
     * CUDA imports. */
    uint32_t handle_types;
    culv_handle_type handle_type; /**< The type that was asked for, or the default. */
    /** The memory must be a dedicated allocation (VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT,
     * culv_format_info::dedicated, or requiresDedicatedAllocation when that is known). */
    culv_bool dedicated_required;
    culv_bool dedicated_preferred; /**< prefersDedicatedAllocation. 0 when that is not known. */
    /** 1: the next two fields are set. This needs Vulkan 1.3, or VK_KHR_maintenance4 enabled. */
    culv_bool requirements_known;
    /** Bytes, alignment and memory types, before the resource exists. For a DISJOINT image: those
     * of one block that has all planes, one after another. */
    VkMemoryRequirements requirements;
    /** DISJOINT images: the same for each plane. Otherwise 0. */
    VkMemoryRequirements plane_requirements[3];
    /** A memory type that has memory_properties. UINT32_MAX when it is not known yet. */
    uint32_t memory_type_index;
    VkExtent3D max_extent;     /**< Images: the largest level 0 of such images, in texels. */
    uint32_t max_mip_levels;   /**< Images: the number of levels that this extent can have. */
    uint32_t max_array_layers; /**< Images: the largest number of layers of such images. */
    /** Images: VK_SAMPLE_COUNT_1_BIT, even if Vulkan can do more without CUDA. */
    VkSampleCountFlags sample_counts;
    VkDeviceSize max_resource_size; /**< Images: in bytes. */
    /** ACCESS_ARRAY: how culv_vk_image_map() maps the image, with every default made explicit, at
     * offset 0 and without a label. For DISJOINT images plane_offsets are the offsets in a block of
     * all planes, if requirements_known. */
    culv_image_desc image;
    /** Buffers: the kind of memory that the buffer would lie in. UNKNOWN for host memory. */
    culv_memory_kind memory_kind;
    /** Buffers: 1 if random access in such a block is slow, because it is not of the fast kind and
     * has CULV_SLOW_KIND_BYTES or more. Give the buffer dedicated memory, or make blocks smaller.
     * If you import the block, a warning in the log says so. */
    culv_bool random_access_slow;
} culv_vk_sharing_info;

/** Returns an empty culv_vk_sharing_info with its struct_size set. */
CULV_INLINE culv_vk_sharing_info culv_vk_sharing_info_init(void)
{
    culv_vk_sharing_info s;
    memset(&s, 0, sizeof s);
    s.struct_size = sizeof s;
    s.image.struct_size = sizeof s.image;
    return s;
}

/** Checks whether a buffer that vkCreateBuffer would make from this struct can be shared, and how.
 * desc may be NULL. A refusal is an error; its message names the field and says what to do.
 * culv_vk_buffer_create() refuses the same buffers with the same words. The chain may contain a
 * VkExternalMemoryBufferCreateInfo or not. Culvert keeps the driver's answers, so asking again
 * takes a fraction of a microsecond.
 * Errors: INVALID (VALUE, SIZE; USAGE: a usage or a flag; MEMORY_TYPE, DEDICATED; NOT_EXPORTABLE,
 * HANDLE_TYPE: the chain does not fit; DEVICE_MISMATCH: the VkDevice is attached as another GPU),
 * UNSUPPORTED (NOT_EXPORTABLE, HANDLE_TYPE, EXTENSION_MISSING), OUT_OF_MEMORY (DEVICE_MEMORY: no
 * heap is that big).
 * Source: Vulkan, vkGetPhysicalDeviceExternalBufferProperties,
 * vkGetDeviceBufferMemoryRequirements. */
CULV_EXPORT culv_result culv_vk_check_buffer(culv_vk_device *vk,
                                             const VkBufferCreateInfo *create_info,
                                             const culv_vk_check_desc *desc,
                                             culv_vk_sharing_info *out);

/** Checks whether an image that vkCreateImage would make can be shared, and how.
 * culv_vk_image_create() and culv_vk_image_map() make the same checks. Images that CUDA cannot map
 * (multisampled, protected, sparse, a format without a CUDA array ...) are refused with the reason.
 * Images of several planes must be DISJOINT; others are refused as UNSUPPORTED (USAGE). LINEAR
 * images are CULV_VK_ACCESS_PITCHED. They may have any format of culvert/format_list.h that Vulkan
 * supports for them, except combined depth and stencil.
 * Errors: INVALID (VALUE, TILING; USAGE: a usage, a flag, samples or initialLayout; EXTENT: an
 * extent, levels or layers; MEMORY_TYPE, NULL_ARGUMENT, DEDICATED; NOT_EXPORTABLE, HANDLE_TYPE: the
 * chain does not fit; DEVICE_MISMATCH), UNSUPPORTED (FORMAT, NOT_EXPORTABLE; EXTENT: more than
 * CUDA's arrays have; USAGE: 3D images as depth or stencil attachments; HANDLE_TYPE,
 * EXTENSION_MISSING), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Source: Vulkan, vkGetPhysicalDeviceImageFormatProperties2, VkExternalImageFormatProperties,
 * vkGetDeviceImageMemoryRequirements; cuda.h, cuMipmappedArrayCreate. */
CULV_EXPORT culv_result culv_vk_check_image(culv_vk_device *vk,
                                            const VkImageCreateInfo *create_info,
                                            const culv_vk_check_desc *desc,
                                            culv_vk_sharing_info *out);

CULV_EXTERN_C_END

#endif
