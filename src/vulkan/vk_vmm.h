/* SPDX-License-Identifier: MIT */
/* VMM allocations in Vulkan, inside. */
#ifndef CULVI_VK_VMM_H_
#define CULVI_VK_VMM_H_

#include "culvert/vulkan_vmm.h"
#include "vmm/allocation.h"
#include "vulkan/vk_export.h"

/* Checks, before anything is made, that Vulkan shows what CUDA has in such memory. */
culv_result culvi_vk_vmm_check(const culv_vk_device *vk, const char *label,
                               const culv_vmm_allocation *allocation);
/* Plans, exports and imports an allocation that was checked. The descriptor's handle, size and
 * exporter come from the allocation. */
culv_result culvi_vk_vmm_import(culv_vk_device *vk, culv_vmm_allocation *allocation,
                                const culv_vk_memory_from_handle_desc *desc, VkDeviceMemory *out);
/* culv_vk_buffer_bind_vmm() without its first checks. */
culv_result culvi_vk_vmm_bind_buffer(culv_vk_device *vk, const char *label, VkBuffer buffer,
                                     culv_vmm_allocation *allocation, VkDeviceSize offset,
                                     VkMemoryAllocateFlags flags, VkDeviceMemory *out);

/* Parts of it are not bound. */
enum {
    CULVI_VK_SPARSE = VK_BUFFER_CREATE_SPARSE_BINDING_BIT | VK_BUFFER_CREATE_SPARSE_RESIDENCY_BIT
};
/* Of memory for a buffer with this usage (VUID-vkBindBufferMemory-bufferDeviceAddress-03339). */
static inline VkMemoryAllocateFlags culvi_vk_allocate_flags(VkBufferUsageFlags usage)
{
    return usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT ? VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT
                                                             : 0;
}

/* vector.c: whether the device has such sparse buffers and takes imports for them; and binding,
 * with a wait on the host. */
culv_result culvi_vk_check_sparse(culv_vk_device *vk, const char *label,
                                  const VkBufferCreateInfo *info);
culv_result culvi_vk_bind_sparse(const culv_vk_device *vk, const char *label, VkQueue queue,
                                 VkBuffer buffer, const VkSparseMemoryBind *binds, uint32_t count);

#endif
