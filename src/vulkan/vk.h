/* The Vulkan attachment, inside. A table of its own: no global function pointers. SPDX-License-Identifier:
 * MIT */
#ifndef CULVI_VK_H_
#define CULVI_VK_H_

#include "../object.h"
#include "culvert/vulkan.h"

typedef struct culvi_vk_instance {
    VkInstance handle;
#define CULV_VK_INSTANCE(name, need) PFN_##name name;
#define CULV_VK_DEVICE(name, need)
#include "procs.h"
#undef CULV_VK_INSTANCE
#undef CULV_VK_DEVICE
} culvi_vk_instance;

typedef struct culvi_vk_device {
#define CULV_VK_INSTANCE(name, need)
#define CULV_VK_DEVICE(name, need) PFN_##name name;
#include "procs.h"
#undef CULV_VK_INSTANCE
#undef CULV_VK_DEVICE
} culvi_vk_device;

struct culv_vk {
    atomic_uint refs; /* the caller's handle and each object made with it */
    culv_device *device;
    VkPhysicalDevice physical_device;
    VkDevice vk_device;
    char name[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE];
    culv_uuid uuid;
    char label[64];
    culvi_vk_instance instance;
    culvi_vk_device table;
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
/* All of a candidate but its match. */
culv_result culvi_vk_examine(const culvi_voice *voice, const culvi_vk_instance *vk, VkPhysicalDevice device,
                             culv_vk_candidate *out);

/* Whether semaphores of this type can be exported as OPAQUE_FD. */
bool culvi_vk_semaphore_exportable(const culvi_vk_instance *vk, VkPhysicalDevice device,
                                   VkSemaphoreType type);

/* What Vulkan says of a resource's memory. */
typedef struct culvi_vk_needs {
    VkMemoryRequirements memory;
    bool requires_dedicated;
    bool prefers_dedicated;
} culvi_vk_needs;

void culvi_vk_buffer_needs(const culv_vk *vk, VkBuffer buffer, culvi_vk_needs *out);
void culvi_vk_image_needs(const culv_vk *vk, VkImage image, culvi_vk_needs *out);
/* Holds a bound resource ("buffer" or "image") against what the caller says of its memory (R17). */
culv_result culvi_vk_check_binding(const culv_vk *vk, const char *label, const char *what,
                                   const culvi_vk_needs *needs, VkDeviceSize offset,
                                   VkDeviceSize allocation_size, bool dedicated);

/* The gate: whether such a resource can be shared at all. `made` by Culvert, or else by the caller. */
typedef struct culvi_vk_verdict {
    bool dedicated_only;        /* VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT */
    const culvi_format *format; /* images */
} culvi_vk_verdict;

culv_result culvi_vk_check_buffer(const culv_vk *vk, const char *label, const VkBufferCreateInfo *info,
                                  culvi_vk_verdict *out);
culv_result culvi_vk_check_image(const culv_vk *vk, const char *label, const VkImageCreateInfo *info,
                                 bool made, culvi_vk_verdict *out);
/* An image in CUDA's terms (R16: as it was created). */
culv_image_desc culvi_vk_image_desc(const VkImageCreateInfo *info, VkDeviceSize offset, VkBool32 no_surfaces,
                                    const char *label);

#endif
