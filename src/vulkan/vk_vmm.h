/* SPDX-License-Identifier: MIT */
/* VMM allocations in Vulkan, inside. */
#ifndef CULVI_VK_VMM_H_
#define CULVI_VK_VMM_H_

#include "culvert/vulkan_vmm.h"
#include "vmm/allocation.h"
#include "vulkan/vk_export.h"

/* Whether Vulkan shows what CUDA has in such memory: before anything is made. */
culv_result culvi_vk_vmm_check(const culv_vk_device *vk, const char *label,
                               const culv_vmm_allocation *allocation);
/* Of an allocation that was checked: plans, exports, imports. The descriptor is one whose handle,
 * size and exporter are to be filled in. */
culv_result culvi_vk_vmm_import(culv_vk_device *vk, culv_vmm_allocation *allocation,
                                const culv_vk_memory_from_handle_desc *desc, VkDeviceMemory *out);
/* culv_vk_buffer_bind_vmm() without its first checks. */
culv_result culvi_vk_vmm_bind_buffer(culv_vk_device *vk, const char *label, VkBuffer buffer,
                                     culv_vmm_allocation *allocation, VkDeviceSize offset,
                                     VkMemoryAllocateFlags flags, VkDeviceMemory *out);

#endif
