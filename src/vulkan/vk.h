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

#endif
