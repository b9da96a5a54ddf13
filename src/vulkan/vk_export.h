/* SPDX-License-Identifier: MIT */
/* Handles of Vulkan's objects (posix_export.c, win32_export.c), and VMM allocations in Vulkan. */
#ifndef CULVI_VK_EXPORT_H_
#define CULVI_VK_EXPORT_H_

#include "culvert/vulkan_memory.h"
#include "culvert/vulkan_vmm.h"
#include "vmm/allocation.h"
#include "vulkan/vk.h"

/* A new handle of a memory, or else of a semaphore, of one of this system's types. If the driver
 * succeeds without giving a handle, as Mesa does for memory that was not made for export, out->type
 * is CULV_HANDLE_NONE. *call is the function's name. */
VkResult culvi_vk_get_handle(const culv_vk_device *vk, VkDeviceMemory memory, VkSemaphore semaphore,
                             culv_handle_type type, culv_handle *out, const char **call);
/* The memory types, as bits, that a handle of a non-opaque type can be imported as. */
VkResult culvi_vk_get_handle_types(const culv_vk_device *vk, const culv_handle *handle,
                                   uint32_t *out, const char **call);
/* Makes memory from what was exported elsewhere, in three steps. The last step examines the handle;
 * for dma-bufs the second one does too. Vulkan can import only memory of its own GPU: */
culv_result culvi_vk_memory_check_exporter(const culv_vk_device *vk,
                                           const culv_vk_memory_from_handle_desc *d);
/* Checks the size, which `size_is` names for messages, against what will be bound, and chooses the
 * memory type. */
culv_result culvi_vk_memory_plan(const culv_vk_device *vk, const culv_vk_memory_from_handle_desc *d,
                                 const char *size_is, uint32_t *type);
/* Imports a duplicate of the handle. `facts` describe the handle; NULL: the system is asked. */
culv_result culvi_vk_memory_import(const culv_vk_device *vk,
                                   const culv_vk_memory_from_handle_desc *d,
                                   const culvi_handle_facts *facts, uint32_t type,
                                   VkDeviceMemory *out);
/* Tells the log where such memory is not dedicated, and a buffer in it will be slow. */
void culvi_vk_memory_tell_kind(const culv_vk_device *vk, const culv_vk_memory_from_handle_desc *d);
/* vkAllocateMemory with a duplicated handle. */
VkResult culvi_vk_allocate_from(const culv_vk_device *vk, const culv_handle *duplicate,
                                const VkMemoryAllocateInfo *info, VkDeviceMemory *out);

/* Checks, before anything is made, that Vulkan shows what CUDA has in such memory. */
culv_result culvi_vk_vmm_check(const culv_vk_device *vk, const char *label,
                               const culv_vmm_allocation *allocation);
/* Plans, exports and imports an allocation that was checked. The descriptor's handle, size and
 * exporter come from the allocation. */
culv_result culvi_vk_vmm_import(culv_vk_device *vk, culv_vmm_allocation *allocation,
                                const culv_vk_memory_from_handle_desc *desc, VkDeviceMemory *out);
/* What a VkDevice has of an allocation that was checked: a new buffer that is bound to it, or if
 * `info` is of a sparse buffer, only memory of these types. */
culv_result culvi_vk_vmm_show(culv_vk_device *vk, const char *label,
                              culv_vmm_allocation *allocation, const VkBufferCreateInfo *info,
                              const char *where, uint32_t type_bits, VkBuffer *buffer,
                              VkDeviceMemory *memory);

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

/* vector.c: the most bytes of a sparse buffer; whether the device has such sparse buffers and takes
 * imports for them; and binding, with a wait on the host. */
VkDeviceSize culvi_vk_most_sparse(const culv_vk_device *vk);
culv_result culvi_vk_check_sparse(culv_vk_device *vk, const char *label,
                                  const VkBufferCreateInfo *info);
culv_result culvi_vk_bind_sparse(const culv_vk_device *vk, const char *label, VkQueue queue,
                                 VkBuffer buffer, const VkSparseMemoryBind *binds, uint32_t count);

#endif
