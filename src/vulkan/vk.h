/* The Vulkan attachment, inside. A table of its own: no global function pointers. SPDX-License-Identifier:
 * MIT */
#ifndef CULVI_VK_H_
#define CULVI_VK_H_

#include "culvert/vulkan.h"
#include "vulkan/vk_check.h"

#ifdef _WIN32
/* As in vulkan_win32.h, which wants windows.h, whose macros are too many for here. A HANDLE is a void *. */
typedef struct VkMemoryGetWin32HandleInfoKHR VkMemoryGetWin32HandleInfoKHR;
typedef struct VkSemaphoreGetWin32HandleInfoKHR VkSemaphoreGetWin32HandleInfoKHR;
typedef VkResult(VKAPI_PTR *PFN_vkGetMemoryWin32HandleKHR)(VkDevice device,
                                                           const VkMemoryGetWin32HandleInfoKHR *info,
                                                           void **handle);
typedef VkResult(VKAPI_PTR *PFN_vkGetSemaphoreWin32HandleKHR)(VkDevice device,
                                                              const VkSemaphoreGetWin32HandleInfoKHR *info,
                                                              void **handle);
#endif

typedef struct culvi_vk_instance {
    VkInstance handle;
#define CULV_VK_INSTANCE(name, need) PFN_##name name;
#define CULV_VK_DEVICE(name, need)
#include "vulkan/vk_procs.h"
#undef CULV_VK_INSTANCE
#undef CULV_VK_DEVICE
} culvi_vk_instance;

typedef struct culvi_vk_device {
#define CULV_VK_INSTANCE(name, need)
#define CULV_VK_DEVICE(name, need) PFN_##name name;
#include "vulkan/vk_procs.h"
#undef CULV_VK_INSTANCE
#undef CULV_VK_DEVICE
} culvi_vk_device;

struct culv_vk {
    atomic_uint refs; /* the caller's handle and each object made with it */
    uint64_t id;      /* of its device's attachments: another one may get this address */
    culv_device *device;
    VkPhysicalDevice physical_device;
    VkDevice vk_device;
    char name[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE];
    culv_uuid uuid;
    char label[64];
    culvi_vk_instance instance;
    culvi_vk_device table;
    /* Asked once, at the attachment. */
    VkPhysicalDeviceMemoryProperties memory_types;
    uint32_t queue_families;
    VkDeviceSize max_buffer_size; /* UINT64_MAX: not told */
    bool tells_needs;             /* vkGetDevice...MemoryRequirements() may be called */
    VkDeviceSize host_alignment;  /* of pages of the host's; 0: VK_EXT_external_memory_host was not enabled */
    culvi_vk_known known;         /* the gate's */
    /* Fallbacks (core/staging.h). */
    bool foreign;     /* another GPU than the device */
    culv_vk_desc how; /* it was attached, without the label */
    culvi_peer *peer; /* its own GPU in CUDA, and the attachment to that; guarded by the device's lock */
    culv_vk *peer_vk;
};

extern const char culvi_vk_soft_layer[];

void culvi_vk_ref(culv_vk *vk);
void culvi_vk_unref(culv_vk *vk);
/* Of objects that Culvert made with it. */
void culvi_vk_count_created(culv_vk *vk, bool more);

culv_result culvi_vk_instance_load(const culvi_voice *voice, PFN_vkGetInstanceProcAddr get_proc,
                                   VkInstance instance, culvi_vk_instance *out);
const char *culvi_vk_result_name(VkResult code);
culv_result culvi_fail_vk(const culvi_voice *voice, const char *object, VkResult code, const char *call,
                          culv_reason reason, const char *format, ...) CULVI_PRINTF(6, 7);

/* Lists of Vulkan objects, allocated by culvi_alloc. */
culv_result culvi_vk_physical_devices(const culvi_voice *voice, const culvi_vk_instance *vk, uint32_t *count,
                                      VkPhysicalDevice **out);
culv_result culvi_vk_group_size(const culvi_voice *voice, const culvi_vk_instance *vk,
                                VkPhysicalDevice device, uint32_t *out);
/* Whether a CUDA device with this LUID, if it has one, is this very node and no other one of linked GPUs. What tells no
 * LUID is not asked. */
bool culvi_vk_same_node(const culv_vk_candidate *c, bool luid_valid, const culv_luid *luid,
                        uint32_t node_mask);
/* All of a candidate but its match. */
culv_result culvi_vk_examine(const culvi_voice *voice, const culvi_vk_instance *vk, VkPhysicalDevice device,
                             culv_vk_candidate *out);

/* Exporting by this system's handles: the extensions' names, whether the VkDevice has them, Vulkan's name of a type. */
extern const char *const culvi_vk_memory_extension;
extern const char *const culvi_vk_semaphore_extension;
bool culvi_vk_exports_memory(const culv_vk *vk);
bool culvi_vk_exports_semaphores(const culv_vk *vk);
VkExternalMemoryHandleTypeFlagBits culvi_vk_memory_handle_bit(culv_handle_type type);
VkExternalSemaphoreHandleTypeFlagBits culvi_vk_semaphore_handle_bit(culv_handle_type type);
/* A new handle, to be closed by who asked for it. `type` is one of this system's; *out means nothing after an error. */
culv_result culvi_vk_memory_export(const culv_vk *vk, const char *label, VkDeviceMemory memory,
                                   culv_handle_type type, culv_handle *out);
culv_result culvi_vk_semaphore_export(const culv_vk *vk, const char *label, VkSemaphore semaphore,
                                      culv_handle_type type, culv_handle *out);

/* Whether memory or semaphores can be shared through this attachment at all. */
culv_result culvi_vk_check_shares(const culv_vk *vk, const char *label, bool semaphores);

/* Whether semaphores of this type can be exported by this system's opaque handle. */
bool culvi_vk_semaphore_exportable(const culvi_vk_instance *vk, VkPhysicalDevice device,
                                   VkSemaphoreType type);

#endif
