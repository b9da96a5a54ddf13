/* Importing a caller's VkDeviceMemory. SPDX-License-Identifier: MIT */
#include "vk.h"

#include <inttypes.h>

/* Holds a bound buffer's requirements against what the caller says of its memory: the CUDA driver would
 * believe all of it (R17; docs/vulkan.md). */
static culv_result check_buffer(const culv_vk *vk, const culv_vk_memory_desc *d)
{
    const culvi_voice *voice = &vk->device->voice;
    VkMemoryDedicatedRequirements dedicated = {.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS};
    VkMemoryRequirements2 requirements = {.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2,
                                          .pNext = &dedicated};
    VkBufferMemoryRequirementsInfo2 info = {.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_REQUIREMENTS_INFO_2,
                                            .buffer = d->buffer};
    vk->table.vkGetBufferMemoryRequirements2(vk->vk_device, &info, &requirements);
    const VkMemoryRequirements *r = &requirements.memoryRequirements;
    if (d->buffer_offset > d->allocation_size || r->size > d->allocation_size - d->buffer_offset)
        return culvi_fail(
            voice, d->label, CULV_ERROR_INVALID, d->buffer_offset == 0 ? CULV_REASON_SIZE : CULV_REASON_RANGE,
            "the buffer needs %" PRIu64 " bytes and is said to lie at offset %" PRIu64
            " of an allocation of %" PRIu64 " bytes; pass VkMemoryAllocateInfo::allocationSize and the "
            "memoryOffset of vkBindBufferMemory",
            r->size, d->buffer_offset, d->allocation_size);
    if (r->alignment != 0 && d->buffer_offset % r->alignment != 0)
        return culvi_fail(voice, d->label, CULV_ERROR_INVALID, CULV_REASON_RANGE,
                          "buffer_offset %" PRIu64 " is not a multiple of the buffer's alignment %" PRIu64
                          ", so the buffer cannot lie there",
                          d->buffer_offset, r->alignment);
    if (dedicated.requiresDedicatedAllocation && !d->dedicated)
        return culvi_fail(
            voice, d->label, CULV_ERROR_INVALID, CULV_REASON_DEDICATED,
            "Vulkan requires a dedicated allocation for this buffer "
            "(VkMemoryDedicatedRequirements::requiresDedicatedAllocation), but dedicated is not set; "
            "allocate with VkMemoryDedicatedAllocateInfo and set it");
    if (d->dedicated && d->buffer_offset != 0)
        return culvi_fail(voice, d->label, CULV_ERROR_INVALID, CULV_REASON_DEDICATED,
                          "dedicated is set, but the buffer lies at offset %" PRIu64
                          "; a dedicated allocation holds its one resource at offset 0",
                          d->buffer_offset);
    return CULV_OK;
}

culv_result culv_vk_memory_import(culv_vk *vk, const culv_vk_memory_desc *desc, culv_memory **out)
{
    culv_vk_memory_desc d;
    if (vk == NULL || desc == NULL || out == NULL)
        return culvi_fail(vk != NULL ? &vk->device->voice : NULL, NULL, CULV_ERROR_INVALID,
                          CULV_REASON_NULL_ARGUMENT, "culv_vk_memory_import: %s is NULL",
                          vk == NULL     ? "vk"
                          : desc == NULL ? "desc"
                                         : "out");
    const culvi_voice *voice = &vk->device->voice;
    culv_result result = culvi_desc_read(voice, &d, sizeof d, desc, "culv_vk_memory_desc");
    if (result != CULV_OK) return result;
    if (d.memory == VK_NULL_HANDLE)
        return culvi_fail(voice, d.label, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
                          "culv_vk_memory_desc.memory is VK_NULL_HANDLE");
    if (d.allocation_size == 0)
        return culvi_fail(
            voice, d.label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
            "culv_vk_memory_desc.allocation_size is 0; it is VkMemoryAllocateInfo::allocationSize");
    if (d.buffer != VK_NULL_HANDLE) result = check_buffer(vk, &d);
    if (result != CULV_OK) return result;
    VkMemoryGetFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
                                 .memory = d.memory,
                                 .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    int fd = -1;
    VkResult r = vk->table.vkGetMemoryFdKHR(vk->vk_device, &info, &fd);
    if (r != VK_SUCCESS ||
        fd < 0) /* Mesa answers success and fd -1 for memory that was not made for export */
        return culvi_fail_vk(
            voice, d.label, r, "vkGetMemoryFdKHR", CULV_REASON_NOT_EXPORTABLE,
            "the memory could not be exported (fd %d); allocate it with VkExportMemoryAllocateInfo, "
            "handleTypes OPAQUE_FD",
            fd);
    culv_memory_desc import = culv_memory_desc_init();
    import.handle = culv_handle_opaque_fd(fd);
    import.size = d.allocation_size;
    import.dedicated = d.dedicated != VK_FALSE;
    import.exporter = vk->uuid;
    import.label = d.label;
    result = culv_memory_import_take(vk->device, &import, out);
    if (result != CULV_OK) culvi_handle_close(&import.handle);
    return result;
}
