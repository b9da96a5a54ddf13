/* SPDX-License-Identifier: MIT */
/* What the files that call Vulkan share: a VkDevice by its description, its functions, errors. */
#ifndef CULVI_X_VULKAN_H_
#define CULVI_X_VULKAN_H_

#include "inside.h"

#include <culvert/vulkan_device.h>

typedef struct culvi_x_vk {
    culv_device *device; /* for errors */
    culv_vk_device_desc d;
    PFN_vkGetDeviceProcAddr get;
    VkAllocationCallbacks copied;
    const VkAllocationCallbacks *callbacks; /* NULL, or what was copied */
} culvi_x_vk;

/* Reads a description. *out stays where it is. */
culv_result culvi_x_vk_read(culvi_x_vk *out, culv_device *device, const culv_vk_device_desc *desc,
                            const char *name);
/* A function of the VkDevice, or of the instance. They are asked for at each call: the bridge and
 * CIG contexts make none in a frame. NULL: it has none. */
#define CULVI_X_VK(vk, name)  ((PFN_##name)(vk)->get((vk)->d.device, #name))
#define CULVI_X_VKI(vk, name) ((PFN_##name)(vk)->d.get_instance_proc_addr((vk)->d.instance, #name))

/* The physical device's name, for messages. */
typedef struct culvi_x_vk_text {
    char text[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE];
} culvi_x_vk_text;
culvi_x_vk_text culvi_x_vk_name(const culvi_x_vk *vk);

/* A driver's answer. `refused` is the reason where the code has none. */
culv_result culvi_x_fail_vk(const culvi_x_vk *vk, const char *object, VkResult code,
                            const char *call, culv_reason refused, const char *format, ...)
    CULVI_X_PRINTF(6, 7);
/* As culvi_x_result(). */
#define culvi_x_vk_result(vk, object, code, call, refused, ...)                                    \
    ((code) == VK_SUCCESS ? CULV_OK : culvi_x_fail_vk(vk, object, code, call, refused, __VA_ARGS__))

#endif
