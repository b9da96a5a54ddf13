/* Importing a caller's VkDeviceMemory, and mapping the images in it. SPDX-License-Identifier: MIT */
#include "vk.h"

#include <inttypes.h>

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
    culvi_vk_needs needs;
    if (d.buffer != VK_NULL_HANDLE) {
        culvi_vk_buffer_needs(vk, d.buffer, &needs);
        result = culvi_vk_check_binding(vk, d.label, "buffer", &needs, d.buffer_offset, d.allocation_size,
                                        d.dedicated);
        if (result != CULV_OK) return result;
    }
    if (d.image != VK_NULL_HANDLE) {
        culvi_vk_image_needs(vk, d.image, &needs);
        result = culvi_vk_check_binding(vk, d.label, "image", &needs, d.image_offset, d.allocation_size,
                                        d.dedicated);
        if (result != CULV_OK) return result;
    }
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

culv_result culv_vk_image_map(culv_vk *vk, culv_memory *memory, const culv_vk_image_desc *desc,
                              culv_image **out)
{
    culv_vk_image_desc d;
    culvi_vk_verdict verdict;
    culvi_vk_needs needs;
    if (vk == NULL || memory == NULL || desc == NULL || out == NULL)
        return culvi_fail(vk != NULL ? &vk->device->voice : NULL, NULL, CULV_ERROR_INVALID,
                          CULV_REASON_NULL_ARGUMENT, "culv_vk_image_map: %s is NULL",
                          vk == NULL       ? "vk"
                          : memory == NULL ? "memory"
                          : desc == NULL   ? "desc"
                                           : "out");
    const culvi_voice *voice = &vk->device->voice;
    culv_result result = culvi_desc_read(voice, &d, sizeof d, desc, "culv_vk_image_desc");
    if (result != CULV_OK) return result;
    const char *label = d.label != NULL ? d.label : memory->label;
    if (d.image == VK_NULL_HANDLE || d.create_info == NULL)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
                          "culv_vk_image_desc.%s is NULL",
                          d.image == VK_NULL_HANDLE ? "image" : "create_info");
    if (memory->device != vk->device)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_DEVICE_MISMATCH,
                          "the memory was imported into another culv_device ('%s') than the one attached "
                          "('%s')",
                          memory->device->caps.name, vk->device->caps.name);
    result = culvi_vk_check_image(vk, label, d.create_info, false, &verdict);
    if (result != CULV_OK) return result;
    culvi_vk_image_needs(vk, d.image, &needs);
    needs.requires_dedicated = needs.requires_dedicated || verdict.dedicated_only;
    result = culvi_vk_check_binding(vk, label, "image", &needs, d.offset, memory->size, memory->dedicated);
    if (result != CULV_OK) return result;
    culv_image_desc map = culvi_vk_image_desc(d.create_info, d.offset, d.no_surfaces, label);
    return culv_image_map(memory, &map, out);
}

culv_image_desc culvi_vk_image_desc(const VkImageCreateInfo *info, VkDeviceSize offset, VkBool32 no_surfaces,
                                    const char *label)
{
    culv_image_desc d = culv_image_desc_init();
    d.offset = offset;
    d.format = (culv_format)info->format;
    d.width = info->extent.width;
    d.height = info->extent.height;
    d.mip_levels = info->mipLevels;
    d.attachment = (info->usage & VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT) != 0;
    d.no_surfaces = no_surfaces;
    d.label = label;
    return d;
}
