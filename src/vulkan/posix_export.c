/* SPDX-License-Identifier: MIT */
/* Handles of Vulkan's objects: file descriptors. */
#include "vulkan/vk_export.h"

const char *const culvi_vk_memory_extension = VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME;
const char *const culvi_vk_semaphore_extension = VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME;

bool culvi_vk_exports_memory(const culv_vk_device *vk)
{
    return vk->table.vkGetMemoryFdKHR != NULL;
}

bool culvi_vk_exports_semaphores(const culv_vk_device *vk)
{
    return vk->table.vkGetSemaphoreFdKHR != NULL;
}

VkResult culvi_vk_get_handle(const culv_vk_device *vk, VkDeviceMemory memory, VkSemaphore semaphore,
                             culv_handle_type type, culv_handle *out, const char **call)
{
    const VkMemoryGetFdInfoKHR of_memory = {CULVI_STYPE(MEMORY_GET_FD_INFO_KHR), .memory = memory,
                                            .handleType = culvi_vk_memory_handle_bit(type)};
    const VkSemaphoreGetFdInfoKHR of_semaphore = {
        CULVI_STYPE(SEMAPHORE_GET_FD_INFO_KHR), .semaphore = semaphore,
        .handleType = culvi_vk_semaphore_handle_bit(type)};
    const bool is_memory = memory != VK_NULL_HANDLE;
    int fd = -1;
    *call = is_memory ? "vkGetMemoryFdKHR" : "vkGetSemaphoreFdKHR";
    VkResult r = is_memory ? CULVI_VK(vk, vkGetMemoryFdKHR, (vk->vk_device, &of_memory, &fd))
                           : CULVI_VK(vk, vkGetSemaphoreFdKHR, (vk->vk_device, &of_semaphore, &fd));
    memset(out, 0, sizeof *out);
    if (r != VK_SUCCESS || fd < 0) return r;
    out->type = type;
    out->value.fd = fd;
    culvi_handle_keep_private(out);
    return r;
}

VkResult culvi_vk_get_handle_types(const culv_vk_device *vk, const culv_handle *handle,
                                   uint32_t *out, const char **call)
{
    VkMemoryFdPropertiesKHR properties = {CULVI_STYPE(MEMORY_FD_PROPERTIES_KHR)};
    *call = "vkGetMemoryFdPropertiesKHR";
    if (vk->table.vkGetMemoryFdPropertiesKHR == NULL) return VK_ERROR_EXTENSION_NOT_PRESENT;
    VkResult r = CULVI_VK(
        vk, vkGetMemoryFdPropertiesKHR,
        (vk->vk_device, culvi_vk_memory_handle_bit(handle->type), handle->value.fd, &properties));
    *out = properties.memoryTypeBits;
    return r;
}

VkResult culvi_vk_allocate_from(const culv_vk_device *vk, const culv_handle *duplicate,
                                const VkMemoryAllocateInfo *info, VkDeviceMemory *out)
{
    VkImportMemoryFdInfoKHR import = {CULVI_STYPE(IMPORT_MEMORY_FD_INFO_KHR), .pNext = info->pNext,
                                      .handleType = culvi_vk_memory_handle_bit(duplicate->type),
                                      .fd = duplicate->value.fd};
    VkMemoryAllocateInfo all = *info;
    all.pNext = &import;
    return CULVI_VK(vk, vkAllocateMemory, (vk->vk_device, &all, vk->callbacks, out));
}
