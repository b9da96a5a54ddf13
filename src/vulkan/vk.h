/* SPDX-License-Identifier: MIT */
/* The Vulkan attachment, inside. A table of its own: no global function pointers. */
#ifndef CULVI_VK_H_
#define CULVI_VK_H_

#include "culvert/vulkan.h"
#include "graphics/graphics.h"
#include "vulkan/vk_check.h"
#include "vulkan/vk_trace.h"

#ifdef _WIN32
/* These are as in vulkan_win32.h, which would need windows.h with all its macros. A HANDLE is a
 * void *. */
typedef struct VkMemoryGetWin32HandleInfoKHR VkMemoryGetWin32HandleInfoKHR;
typedef struct VkSemaphoreGetWin32HandleInfoKHR VkSemaphoreGetWin32HandleInfoKHR;
typedef VkResult(VKAPI_PTR *PFN_vkGetMemoryWin32HandleKHR)(
    VkDevice device, const VkMemoryGetWin32HandleInfoKHR *info, void **handle);
typedef VkResult(VKAPI_PTR *PFN_vkGetSemaphoreWin32HandleKHR)(
    VkDevice device, const VkSemaphoreGetWin32HandleInfoKHR *info, void **handle);
#endif

typedef struct culvi_vk_instance {
    const culvi_voice *voice; /* hears of its calls; outlives it, or is NULL */
    VkInstance handle;
#define CULV_VK_INSTANCE(name, need) PFN_##name name;
#define CULV_VK_DEVICE(name, need)
#include "vulkan/vk_procs.h"
#undef CULV_VK_INSTANCE
#undef CULV_VK_DEVICE
} culvi_vk_instance;

typedef struct culvi_vk_table {
#define CULV_VK_INSTANCE(name, need)
#define CULV_VK_DEVICE(name, need) PFN_##name name;
#include "vulkan/vk_procs.h"
#undef CULV_VK_INSTANCE
#undef CULV_VK_DEVICE
} culvi_vk_table;

struct culv_vk_device {
    culvi_graphics base;
    const culvi_voice *voice; /* base.device's */
    VkPhysicalDevice physical_device;
    VkDevice vk_device;
    culvi_vk_instance instance;
    culvi_vk_table table;
    /* Asked once, at the attachment. */
    VkPhysicalDeviceProperties properties;
    VkPhysicalDeviceMemoryProperties memory_types;
    uint32_t queue_families;
    uint64_t kernel_families;     /* bit i: queues of family i run kernels */
    VkDeviceSize max_buffer_size; /* UINT64_MAX: not reported */
    bool tells_needs;             /* vkGetDevice...MemoryRequirements() may be called */
    bool kernels;                 /* asked for, and the VkDevice has what they need */
    /* Alignment for pages of the host; 0: VK_EXT_external_memory_host was not enabled */
    VkDeviceSize host_alignment;
    culvi_mutex adopted_lock;
    culvi_tree adopted;                     /* what it has of others' chunks: adopt.c */
    culv_vk_device_desc how;                /* it was attached with, without the label */
    VkAllocationCallbacks allocation;       /* the caller's, a copy */
    const VkAllocationCallbacks *callbacks; /* that, or NULL */
};

extern const char culvi_vk_soft_layer[];
/* How an instance gets that layer, in the imperative. */
void culvi_vk_add_layer_hint(culvi_text *text);

extern const culvi_words culvi_vk_words;
extern const culvi_graphics_api culvi_vk_api;

culv_result culvi_vk_instance_load(const culvi_voice *voice, PFN_vkGetInstanceProcAddr get_proc,
                                   VkInstance instance, culvi_vk_instance *out);
const char *culvi_vk_result_name(VkResult code);
culv_result culvi_fail_vk(const culvi_voice *voice, const char *object, VkResult code,
                          const char *call, culv_reason reason, const char *format, ...)
    CULVI_PRINTF(6, 7);

/* The driver refused a call of the VkDevice's. */
#define culvi_vk_failed(vk, object, code, call, ...)                                               \
    culvi_fail_vk((vk)->voice, (object), (code), (call), CULV_REASON_DRIVER_REFUSED, __VA_ARGS__)

/* Lists of Vulkan objects, allocated by culvi_alloc. */
culv_result culvi_vk_list_extensions(const culvi_voice *voice, const culvi_vk_instance *vk,
                                     VkPhysicalDevice device, const char *label, const char *name,
                                     uint32_t *count, VkExtensionProperties **out);
/* check_ask.c: how buffers with these flags and usages are shared, and whether memory of that type
 * is imported for them. */
VkExternalMemoryProperties culvi_vk_buffer_sharing(const culvi_vk_instance *vk,
                                                   VkPhysicalDevice device,
                                                   const VkBufferCreateInfo *info,
                                                   VkExternalMemoryHandleTypeFlagBits type);
bool culvi_vk_imports_buffers(const culv_vk_device *vk, const VkBufferCreateInfo *info,
                              VkExternalMemoryHandleTypeFlagBits type);
/* Refuses a device of Vulkan 1.0, and an instance of less than 1.1: `said` (0: not), or told
 * by devices without a UUID. */
culv_result culvi_vk_check_versions(const culvi_voice *voice, const char *label,
                                    const culv_vk_candidate *c, uint32_t said);
/* All devices of an instance, examined and ranked; the list is the caller's to free. */
culv_result culvi_vk_candidates(const culvi_voice *voice, PFN_vkGetInstanceProcAddr get_proc,
                                VkInstance instance, culv_driver driver, uint32_t *count,
                                culv_vk_candidate **out);
/* Fills in a candidate except its match; culvi_vk_identify(): only who it is. */
void culvi_vk_identify(const culvi_vk_instance *vk, VkPhysicalDevice device,
                       culv_vk_candidate *out);
culv_result culvi_vk_examine(const culvi_voice *voice, const culvi_vk_instance *vk,
                             VkPhysicalDevice device, culv_vk_candidate *out);

/* setup.c: the feature that a device lacks for one address; NULL: none. */
const char *culvi_vk_lacks_for_one_address(const culvi_vk_instance *vk, VkPhysicalDevice device);

/* Export as this system's handles: the names of the extensions, whether the VkDevice has them,
 * Vulkan's name of a type. */
extern const char *const culvi_vk_memory_extension;
extern const char *const culvi_vk_semaphore_extension;
bool culvi_vk_exports_memory(const culv_vk_device *vk);
bool culvi_vk_exports_semaphores(const culv_vk_device *vk);
VkExternalMemoryHandleTypeFlagBits culvi_vk_memory_handle_bit(culv_handle_type type);
VkExternalSemaphoreHandleTypeFlagBits culvi_vk_semaphore_handle_bit(culv_handle_type type);
/* A new handle, which the caller closes. `type` is one of this system's; *out is undefined after an
 * error. */
culv_result culvi_vk_memory_export(const culv_vk_device *vk, const char *label,
                                   VkDeviceMemory memory, culv_handle_type type, culv_handle *out);
culv_result culvi_vk_semaphore_export(const culv_vk_device *vk, const char *label,
                                      VkSemaphore semaphore, culv_handle_type type,
                                      culv_handle *out);

/* kernel.c. 0: the VkDevice has no such call. */
VkDeviceAddress culvi_vk_buffer_address(const culv_vk_device *vk, VkBuffer buffer);
culv_result culvi_vk_refuse_addresses(const culv_vk_device *vk);
/* resource.c: vkCreateBuffer() for memory of these types, 0: of no other API's. A failure tells of
 * "a `kind` of n bytes`where`". */
culv_result culvi_vk_create_buffer(const culv_vk_device *vk, const char *label,
                                   const VkBufferCreateInfo *buffer,
                                   VkExternalMemoryHandleTypeFlags types, const char *kind,
                                   const char *where, VkBuffer *out);
/* This system's opaque handles. */
static inline VkExternalMemoryHandleTypeFlagBits culvi_vk_opaque_bit(void)
{
    return culvi_vk_memory_handle_bit((culv_handle_type)CULVI_HANDLE_OPAQUE);
}
/* check_needs.c: what is bound to a sparse buffer. */
void culvi_vk_sparse_needs(const culv_vk_device *vk, VkBuffer buffer, VkDeviceSize *alignment,
                           uint32_t *type_bits);
/* A wait for the GPU that an error may leave too early. */
VkResult culvi_vk_wait_for_fence(const culv_vk_device *vk, VkFence fence);
/* Why an attachment runs no kernels. */
culv_result culvi_vk_refuse_kernels(const culv_vk_device *vk, const char *label);

/* Whether semaphores of this type can be exported by this system's opaque handle. */
bool culvi_vk_semaphore_exportable(const culvi_vk_instance *vk, VkPhysicalDevice device,
                                   VkSemaphoreType type);

#endif
