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
    /** Required: vkGetInstanceProcAddr of the loader or of volk. */
    PFN_vkGetInstanceProcAddr get_instance_proc_addr;
    VkInstance instance;              /**< Required. */
    VkPhysicalDevice physical_device; /**< Required. */
    VkDevice device;                  /**< Required. */
    uint32_t api_version; /**< VkApplicationInfo::apiVersion of the instance. 0: Vulkan 1.1. */
    /** VkDeviceGroupDeviceCreateInfo::physicalDeviceCount. More than 1 is refused. 0: not stated;
     * this is refused on a machine with linked GPUs. */
    uint32_t num_physical_devices;
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
    /** CULV_FALLBACK_... Nonzero: the VkDevice may be another GPU than the culv_device, or may lack
     * extensions that sharing needs. Each object that you make then needs its own `fallback`, and
     * imports are refused. Default: none. */
    uint32_t fallback;
    /** 1: CUDA kernels in command buffers (culvert/vulkan_kernel.h). The merge calls below then add
     * what such kernels need, if the device has it, and Culvert's buffers have a device address. A
     * device without it can be attached too. Leave it 0 unless you want such kernels: if
     * VK_NVX_binary_import is enabled, other CUDA libraries of the process can fail (slang-rhi's
     * issue 760). Default: 0. */
    culv_bool kernels;
    /** The allocator (copied) that Culvert passes to each Vulkan call that makes or destroys an
     * object of this VkDevice. Its functions must be callable from any thread while the attachment
     * exists. Use the same allocator to free objects that Culvert makes for you
     * (culv_vk_memory_from_handle()). Default: NULL. */
    const VkAllocationCallbacks *allocation_callbacks;
    /** 1: the culv_device may be another GPU than the VkDevice, and works on the VkDevice's memory
     * in place (docs/two-gpus.md). Buffers and semaphores are then shared. Images, equal addresses
     * in both APIs and CUDA's memory in Vulkan are refused. NVIDIA's driver on Linux must show both
     * GPUs, and the culv_device must reach the other GPU's memory (cuDeviceCanAccessPeer). If it
     * does not, culv_vk_attach() fails, or, if `fallback` is set, nothing is shared. If both are
     * the same GPU, the field has no effect. Default: 0. */
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
    /** 1: CUDA has this device, and buffers and timelines can be exported to it. */
    culv_bool reachable;
    culv_driver driver;   /**< Driver of its CUDA device. AUTO: there is no CUDA device. */
    int32_t cuda_ordinal; /**< Ordinal of its CUDA device, or -1. */
    char cuda_name[256];
    /** 1: the device offers VK_KHR_external_memory_fd. On Windows this field and the next ones mean
     * the ..._win32 forms. */
    culv_bool has_external_memory;
    culv_bool has_external_semaphore;
    culv_bool has_timeline_semaphore; /**< 1: it has the feature, by Vulkan 1.2 or the extension. */
    /** Answers of vkGetPhysicalDeviceExternalBufferProperties for storage and transfer buffers. */
    culv_bool buffer_opaque_fd_export;
    culv_bool buffer_opaque_fd_dedicated_only;
    culv_bool buffer_dma_buf_export;
    culv_bool timeline_opaque_fd_export;
    culv_bool binary_opaque_fd_export;
    /** 1: the device offers VK_EXT_external_memory_host: buffers in host memory. */
    culv_bool buffer_host_import;
    culv_bool luid_valid; /**< VkPhysicalDeviceIDProperties::deviceLUIDValid; Windows only. */
    culv_luid luid;       /**< deviceLUID, if luid_valid. */
    uint32_t node_mask;   /**< deviceNodeMask, if luid_valid: the node among linked GPUs. */
    culv_reason reason;   /**< Reason why it is not reachable. */
    /** Text of the reason, with names and what to do. "" if it is reachable. */
    char reason_text[1024];
} culv_vk_candidate;

CULV_INIT(culv_vk_candidate)

/** Lists the instance layers that Culvert needs. Put them AFTER validation layers. If the software
 * twin is allowed (culvert/device.h) and the Vulkan loader finds the twin's layer, the list has
 * that layer; otherwise it is empty. The layer changes nothing for other devices. The call writes
 * up to `capacity` names and returns the number of names. Pass the loader's get_instance_proc_addr.
 *
 * If the twin is allowed and the loader does not find the layer by itself, this call changes the
 * process's environment so that the loader finds it, as culv_soft_enable() does. No other thread
 * may read the environment meanwhile.
 * Errors: none; if the list is empty, the messages of culv_vk_rank_physical_devices() and
 * culv_vk_attach() say what to set.
 * Ownership: static strings. Threads: any, but see above. */
CULV_EXPORT uint32_t culv_vk_instance_layers(PFN_vkGetInstanceProcAddr get_instance_proc_addr,
                                             uint32_t capacity, const char **out_names);

/** Lists the device extensions that Culvert needs. api_version is the usable version of the device:
 * the lower one of VkApplicationInfo::apiVersion and VkPhysicalDeviceProperties::apiVersion. The
 * call writes up to `capacity` names and returns the number of names. Enable the timelineSemaphore
 * feature too.
 * Ownership: static strings. */
CULV_EXPORT uint32_t culv_vk_device_extensions(uint32_t api_version, uint32_t capacity,
                                               const char **out_names);

/** Lists the device extensions that Culvert uses if they are enabled. Enable the ones that the
 * device has. The call writes up to `capacity` names and returns the number of names.
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
 * devices before the twin, discrete devices before others). The others follow, each with the
 * reason. The call opens no context.
 *
 * desc may be NULL; desc->driver is as in culv_device_open_by_uuid(). `out` and *count are as in
 * every call that lists (culvert.h). Set each element's struct_size.
 * Errors: INVALID, DRIVER (a Vulkan call failed), OUT_OF_MEMORY. It is no error if the machine
 * lacks CUDA: then no device is reachable.
 * Ownership: the copies are yours. */
CULV_EXPORT culv_result culv_vk_rank_physical_devices(
    PFN_vkGetInstanceProcAddr get_instance_proc_addr, VkInstance instance,
    const culv_device_desc *desc, culv_vk_candidate *out, uint32_t capacity, uint32_t *count);

/** Opens the CUDA device that is the same GPU as this physical device (by UUID). desc may be NULL.
 * Errors: INVALID, NO_DEVICE (the message names every CUDA device and the likely cause),
 * UNSUPPORTED, DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_device_close(). */
CULV_EXPORT culv_result culv_device_open_for_vk(PFN_vkGetInstanceProcAddr get_instance_proc_addr,
                                                VkInstance instance,
                                                VkPhysicalDevice physical_device,
                                                const culv_device_desc *desc, culv_device **out);

/** Attaches your VkDevice to the culv_device of the same GPU, or of another GPU if desc allows that
 * (allow_other_gpu, fallback).
 * Errors: INVALID (DEVICE_MISMATCH, DEVICE_GROUP, EXTENSION_MISSING, LAYER_MISSING, VULKAN_VERSION
 * ...), UNSUPPORTED (VULKAN_VERSION: a device of Vulkan 1.0; with allow_other_gpu PEER: the
 * culv_device does not reach the other GPU's memory, DEVICE_UNKNOWN: its CUDA driver does not show
 * the other GPU, HANDLE_TYPE: not on this system), DRIVER, OUT_OF_MEMORY.
 * Ownership: the Vulkan handles stay yours and must outlive *out. *out is yours, for
 * culv_vk_detach(). */
CULV_EXPORT culv_result culv_vk_attach(culv_device *device, const culv_vk_device_desc *desc,
                                       culv_vk_device **out);

/** Returns the alignment in bytes of addresses and sizes of host memory that Vulkan imports:
 * minImportedHostPointerAlignment or the page size, whichever is larger. Returns 0 for NULL, or if
 * the VkDevice was created without VK_EXT_external_memory_host. */
CULV_EXPORT VkDeviceSize culv_vk_host_import_alignment(const culv_vk_device *vk);

/** Ends the attachment. Imports stay valid.
 *
 * Afterwards Culvert makes Vulkan calls only when you destroy objects that it made with the
 * attachment (culv_vk_buffer_create() and others). Once these are destroyed too, Culvert makes no
 * Vulkan call, not even for a deferred release. So on the HOST path (culvert/shared.h), the call
 * that destroys the last of them waits for the streams of deferred releases. */
CULV_EXPORT void culv_vk_detach(culv_vk_device **vk);

/** Tells Culvert that the VkDevice is lost. Call it if your own submission answers
 * VK_ERROR_DEVICE_LOST. Culvert notices that itself only in calls that ask Vulkan.
 *
 * All rings of the attachment stop, as by culv_ring_stop(). If a stream waits for a semaphore of
 * the attachment, the call signals the semaphore on its own CUDA stream, so that no stream waits
 * for the lost device. The data that such a stream then reads are not valid. Each call ends one
 * wait for a binary semaphore: if a stream has several such waits, repeat the call until the stream
 * is done. Afterwards no destroy of the attachment's objects waits for the lost device. The call
 * does not wait. A second call signals values that streams have begun to wait for since.
 * Errors: INVALID (NULL_ARGUMENT).
 * Ownership: none; destroy what you made with the attachment, then call culv_vk_detach(). */
CULV_EXPORT culv_result culv_vk_device_lost(culv_vk_device *vk);

/* Extensions, features, queues ----------------------------------------------------------------- */

/* Helpers for the steps before culv_vk_attach(): choose a physical device and a queue family, and
 * fill in the arguments of vkCreateInstance and vkCreateDevice.
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
 * samples/hello has whole programs (in packages, they are among the examples of the documentation).
 * The calls below merge these names, and the features that Culvert needs, into your own. If an
 * engine or a library creates your VkDevice, you do not need these calls.
 *
 * A merge call writes your names and then Culvert's, each name once, into your array out_names.
 * *count is the array's length on input, and the number of names on output. out_names may be NULL
 * to get only the number, and it may be `names` itself. If the array is too small, the call fails,
 * because a device with a shortened list would lack something. The names are not copied: Culvert's
 * names are static strings, and your names stay yours. */

/** Chooses a physical device that CUDA can reach, and opens the same GPU in CUDA. It takes the
 * first device of culv_vk_rank_physical_devices(): NVIDIA's GPUs before the software twin, discrete
 * GPUs before others. If your program draws to a window or needs other properties of a device, rank
 * the devices and choose yourself.
 *
 * desc may be NULL; desc->driver is as in culv_device_open_by_uuid(). If out_device is NULL, the
 * call opens no context.
 * Errors: INVALID; NO_DEVICE (the message says for every physical device why CUDA cannot reach it;
 * the reason is for the best device, or DEVICE_UNKNOWN if Vulkan shows none); DRIVER, ASYNC,
 * UNSUPPORTED, OUT_OF_MEMORY as in culv_device_open_for_vk().
 * Ownership: *out_device is yours, for culv_device_close(). */
CULV_EXPORT culv_result culv_vk_choose_physical_device(
    PFN_vkGetInstanceProcAddr get_instance_proc_addr, VkInstance instance,
    const culv_device_desc *desc, VkPhysicalDevice *out_physical_device, culv_device **out_device);

/** The purpose of a queue. */
typedef enum culv_vk_queue_use {
    CULV_VK_QUEUE_GRAPHICS = 0, /**< Drawing. */
    CULV_VK_QUEUE_COMPUTE = 1,  /**< Computing: a family without graphics if there is one. */
    /** Copying: a family with TRANSFER and neither graphics nor compute, or else any family that
     * copies. The GPU's copy engine runs beside CUDA's work without a switch (measured on an H200:
     * 9 to 17 us for a round trip, in place of 319). */
    CULV_VK_QUEUE_COPY = 2,
    CULV_VK_QUEUE_USE_FORCE32 = 0x7fffffff
} culv_vk_queue_use;

/** Gets the best queue family for a use: the lowest index among equals, and never a video queue.
 * Errors: INVALID (NULL_ARGUMENT, VALUE), UNSUPPORTED (no family supports the use).
 * Source: Vulkan specification, VkQueueFamilyProperties; docs/measured/performance.md. */
CULV_EXPORT culv_result culv_vk_find_queue_family(PFN_vkGetInstanceProcAddr get_instance_proc_addr,
                                                  VkInstance instance,
                                                  VkPhysicalDevice physical_device,
                                                  culv_vk_queue_use use, uint32_t *out);

/** Merges your instance layers with culv_vk_instance_layers(). Culvert's layers come last because
 * they must follow validation layers. Pass the loader's get_instance_proc_addr.
 * Errors: INVALID (NULL_ARGUMENT: also if a name is NULL; VALUE: out_names is too small).
 * Ownership: the array is yours; the names keep their owners. */
CULV_EXPORT culv_result
culv_vk_merge_instance_layers(PFN_vkGetInstanceProcAddr get_instance_proc_addr, uint32_t num_names,
                              const char *const *names, uint32_t *count, const char **out_names);

/** Merges your device extensions with culv_vk_device_extensions() and with the names of
 * culv_vk_optional_device_extensions() that the device has. If culv_vk_device_desc::kernels is set
 * and culv_vk_check_kernels() answers CULV_OK, it also adds culv_vk_kernel_extensions(). Pass the
 * desc that culv_vk_attach() gets later; the call reads get_instance_proc_addr, instance,
 * physical_device, api_version and kernels. The usable version is the lower one of api_version and
 * the device's version. The call does not check whether the device has your own extensions. If your
 * program must also run on devices that cannot share with CUDA (culvert/shared.h), use those two
 * lists yourself instead.
 * Errors: as culv_vk_merge_instance_layers(); INVALID (STRUCT_SIZE; VULKAN_VERSION: the instance
 * has Vulkan 1.0); UNSUPPORTED (EXTENSION_MISSING: the device lacks an extension that Culvert
 * needs; LAYER_MISSING: it is software Vulkan without the twin's layer; VULKAN_VERSION: a device of
 * Vulkan 1.0); DRIVER, OUT_OF_MEMORY.
 * Ownership: as culv_vk_merge_instance_layers(). */
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
    /** Nonzero (set it before the call): add the features for one address (culvert/vulkan_vmm.h):
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
 * `chain` is your chain or NULL. If it has a feature's struct (its own struct,
 * VkPhysicalDeviceVulkan12Features or VkPhysicalDeviceVulkan13Features), the call sets the feature
 * to VK_TRUE there, because Vulkan allows no second struct. For other features, it puts structs of
 * `storage` before the chain. Nothing else in the chain changes. *out_chain gets the new beginning:
 * pass &VkDeviceCreateInfo::pNext. desc is as in culv_vk_merge_device_extensions(), whose
 * extensions the device needs too.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; VULKAN_VERSION: the instance has Vulkan 1.0);
 * UNSUPPORTED (VULKAN_VERSION: the device has Vulkan 1.0, or one_address is set and it has less
 * than 1.2; EXTENSION_MISSING: it has no timelineSemaphore; USAGE: it lacks a feature of
 * one_address); DRIVER, OUT_OF_MEMORY. After an error the chain is unchanged.
 * Ownership: all structs stay yours.
 * Source: VUID-VkDeviceCreateInfo-pNext-02830, -06532. */
CULV_EXPORT culv_result culv_vk_merge_device_features(const culv_vk_device_desc *desc, void *chain,
                                                      culv_vk_device_features *storage,
                                                      const void **out_chain);

/* What can be shared --------------------------------------------------------------------------- */

/* These calls check whether and how a planned Vulkan buffer or image can be shared with CUDA.
 *
 * Fill in the VkBufferCreateInfo or VkImageCreateInfo as usual and ask before you create anything:
 *
 *   culv_vk_sharing_info info = culv_vk_sharing_info_init();
 *   if (culv_vk_check_image(vk, &create_info, NULL, &info) != CULV_OK)
 *       fprintf(stderr, "%s", culv_last_error_message());
 *
 * Nothing is created or imported. The calls that create, import and map make the same checks and
 * fail with the same messages. */

/** The way in which CUDA reaches a resource. */
typedef enum culv_vk_access {
    CULV_VK_ACCESS_NONE = 0,
    CULV_VK_ACCESS_POINTER = 1, /**< A buffer, with culv_buffer_map(). */
    CULV_VK_ACCESS_ARRAY = 2,   /**< An OPTIMAL image, with culv_vk_image_map(). */
    /** A LINEAR image as rows of bytes, with culv_vk_image_map_pitched(). */
    CULV_VK_ACCESS_PITCHED = 3,
    CULV_VK_ACCESS_FORCE32 = 0x7fffffff
} culv_vk_access;

/** Settings of a check, in addition to Vulkan's own struct. */
typedef struct culv_vk_check_desc {
    size_t struct_size; /**< Set by culv_vk_check_desc_init(). */
    /** Handle type to share it by. 0: this system's opaque handle. DMA_BUF_FD is refused, because
     * only an import shows whether CUDA takes one. */
    culv_handle_type handle_type;
    /** Properties that the memory type must have. 0: DEVICE_LOCAL. */
    VkMemoryPropertyFlags memory_properties;
    culv_texels texels;    /**< Images: as culv_image_desc::texels. */
    culv_bool no_surfaces; /**< Images: as culv_image_desc::no_surfaces. */
    const char *label;     /**< Label for messages. Default: none. */
    /** Buffers: as culv_vk_buffer_create_desc::host_memory. Then the answer has no handle_types,
     * and memory_type_index is not known yet, because it depends on the pages. */
    culv_bool host_memory;
    /** Buffers: bytes of your own memory that the buffer will share with others, such as an
     * allocator's block. 0: the memory is dedicated to the buffer, as culv_vk_buffer_create() makes
     * it. This size determines `memory_kind` and `random_access_slow` of the answer. */
    VkDeviceSize block_size;
} culv_vk_check_desc;

CULV_INIT(culv_vk_check_desc)

/** The ways in which a resource can be shared. Flags are 0 or 1. */
typedef struct culv_vk_sharing_info {
    size_t struct_size; /**< Set by culv_vk_sharing_info_init(). */
    culv_vk_access access;
    /** Bits (1 << culv_handle_type) of types that Vulkan exports for it and CUDA imports. */
    uint32_t handle_types;
    culv_handle_type handle_type; /**< Type in the desc, or the default. */
    /** 1: the memory must be a dedicated allocation (VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT,
     * culv_format_info::dedicated, or requiresDedicatedAllocation if that is known). */
    culv_bool dedicated_required;
    culv_bool dedicated_preferred; /**< prefersDedicatedAllocation. 0 if that is not known. */
    /** 1: the next two fields are set. This needs Vulkan 1.3, or VK_KHR_maintenance4 enabled. */
    culv_bool requirements_known;
    /** Bytes, alignment and memory types, before the resource exists. DISJOINT images: for one
     * block that has all planes, one after another. */
    VkMemoryRequirements requirements;
    /** DISJOINT images: the same for each plane. Otherwise 0. */
    VkMemoryRequirements plane_requirements[3];
    /** Memory type that has memory_properties. UINT32_MAX if it is not known yet. */
    uint32_t memory_type_index;
    /** ACCESS_ARRAY: descriptor by which culv_vk_image_map() maps the image: all defaults are
     * filled in, the offset is 0, and there is no label. DISJOINT images: if requirements_known,
     * plane_offsets are the offsets in a block of all planes. */
    culv_image_desc image;
    /** Buffers: kind of memory that the buffer would lie in. UNKNOWN for host memory. */
    culv_memory_kind memory_kind;
    /** Buffers: 1 if random access in such a block may be slow, because the block is not of the
     * fast kind and has CULV_SLOW_KIND_BYTES or more. Dedicate memory to the buffer, or make blocks
     * smaller. If you import such a block, the log has a warning. */
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
 * desc may be NULL. If the buffer cannot be shared, the call fails; the message names the field and
 * says what to do. culv_vk_buffer_create() fails for the same buffers with the same message. The
 * chain may contain a VkExternalMemoryBufferCreateInfo. Culvert keeps the driver's answers, so a
 * second check takes a fraction of a microsecond.
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
 * culv_vk_image_create() and culv_vk_image_map() make the same checks. If CUDA cannot map the image
 * (multisampled, protected, sparse, a format without a CUDA array ...), the call fails with the
 * reason. Images of several planes must be DISJOINT, otherwise the call fails as UNSUPPORTED
 * (USAGE). LINEAR images are CULV_VK_ACCESS_PITCHED. They may have any format of
 * culvert/format_list.h that Vulkan supports for them, except combined depth and stencil.
 * Errors: INVALID (VALUE, TILING; USAGE: a usage, a flag, samples or initialLayout; EXTENT: an
 * extent, levels or layers; MEMORY_TYPE, NULL_ARGUMENT, DEDICATED; NOT_EXPORTABLE, HANDLE_TYPE: the
 * chain does not fit; DEVICE_MISMATCH), UNSUPPORTED (FORMAT, NOT_EXPORTABLE; EXTENT: beyond the
 * limits of CUDA's arrays; USAGE: 3D images as depth or stencil attachments; HANDLE_TYPE,
 * EXTENSION_MISSING), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Source: Vulkan, vkGetPhysicalDeviceImageFormatProperties2, VkExternalImageFormatProperties,
 * vkGetDeviceImageMemoryRequirements; cuda.h, cuMipmappedArrayCreate. */
CULV_EXPORT culv_result culv_vk_check_image(culv_vk_device *vk,
                                            const VkImageCreateInfo *create_info,
                                            const culv_vk_check_desc *desc,
                                            culv_vk_sharing_info *out);

CULV_EXTERN_C_END

#endif
