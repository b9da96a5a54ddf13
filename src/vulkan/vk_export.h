/* SPDX-License-Identifier: MIT */
/* Handles of Vulkan's objects: posix_export.c, win32_export.c. */
#ifndef CULVI_VK_EXPORT_H_
#define CULVI_VK_EXPORT_H_

#include "culvert/vulkan_export.h"
#include "vulkan/vk.h"

/* A new handle of one of this system's types. What gives none on success, as Mesa does of memory
 * that was not made for export, leaves out->type CULV_HANDLE_NONE. *call is the function's name. */
VkResult culvi_vk_get_memory_handle(const culv_vk_device *vk, VkDeviceMemory memory,
                                    culv_handle_type type, culv_handle *out, const char **call);
VkResult culvi_vk_get_semaphore_handle(const culv_vk_device *vk, VkSemaphore semaphore,
                                       culv_handle_type type, culv_handle *out, const char **call);
/* Memory types, as bits, that a handle of a type that is not opaque can become. */
VkResult culvi_vk_get_handle_types(const culv_vk_device *vk, const culv_handle *handle,
                                   uint32_t *out, const char **call);
/* Making memory of what was exported elsewhere, in three steps; the handle itself is looked at in
 * the last one, and in the second one of dma-bufs. What Vulkan imports is memory of its own GPU: */
culv_result culvi_vk_memory_check_exporter(const culv_vk_device *vk,
                                           const culv_vk_memory_from_handle_desc *d);
/* Holds what will be bound against the size, which `size_is` names for messages, and chooses the
 * memory type. */
culv_result culvi_vk_memory_plan(const culv_vk_device *vk, const culv_vk_memory_from_handle_desc *d,
                                 const char *size_is, uint32_t *type);
/* Imports a duplicate of the handle. `facts` are of it; NULL: they are asked. */
culv_result culvi_vk_memory_import(const culv_vk_device *vk,
                                   const culv_vk_memory_from_handle_desc *d,
                                   const culvi_handle_facts *facts, uint32_t type,
                                   VkDeviceMemory *out);
/* vkAllocateMemory of what a duplicated handle names. */
VkResult culvi_vk_allocate_from(const culv_vk_device *vk, const culv_handle *duplicate,
                                const VkMemoryAllocateInfo *info, VkDeviceMemory *out);

#endif
