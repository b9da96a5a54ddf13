/* Handles of Vulkan's objects: posix_export.c, win32_export.c. SPDX-License-Identifier: MIT */
#ifndef CULVI_VK_EXPORT_H_
#define CULVI_VK_EXPORT_H_

#include "vk.h"

/* A new handle of one of this system's types. What gives none on success, as Mesa does of memory that was not made for
 * export, leaves out->type CULV_HANDLE_NONE. *call is the function's name. */
VkResult culvi_vk_get_memory_handle(const culv_vk *vk, VkDeviceMemory memory, culv_handle_type type,
                                    culv_handle *out, const char **call);
VkResult culvi_vk_get_semaphore_handle(const culv_vk *vk, VkSemaphore semaphore, culv_handle_type type,
                                       culv_handle *out, const char **call);
/* Memory types, as bits, that a handle of a type that is not opaque can become. */
VkResult culvi_vk_get_handle_types(const culv_vk *vk, const culv_handle *handle, uint32_t *out,
                                   const char **call);
/* vkAllocateMemory of what a duplicated handle names. */
VkResult culvi_vk_allocate_from(const culv_vk *vk, const culv_handle *duplicate,
                                const VkMemoryAllocateInfo *info, VkDeviceMemory *out);

#endif
