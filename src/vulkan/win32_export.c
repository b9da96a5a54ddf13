/* SPDX-License-Identifier: MIT */
/* Handles of Vulkan's objects: NT and KMT handles. */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
/* These come after windows.h and before the attachment: only this part knows Vulkan's Windows
 * types. */
#include <vulkan/vulkan_core.h>
#include <vulkan/vulkan_win32.h>

#undef OPTIONAL
#include "vulkan/vk_export.h"

#include <string.h>

const char *const culvi_vk_memory_extension = VK_KHR_EXTERNAL_MEMORY_WIN32_EXTENSION_NAME;
const char *const culvi_vk_semaphore_extension = VK_KHR_EXTERNAL_SEMAPHORE_WIN32_EXTENSION_NAME;

bool culvi_vk_exports_memory(const culv_vk_device *vk)
{
    return vk->table.vkGetMemoryWin32HandleKHR != NULL;
}

bool culvi_vk_exports_semaphores(const culv_vk_device *vk)
{
    return vk->table.vkGetSemaphoreWin32HandleKHR != NULL;
}

VkResult culvi_vk_get_handle(const culv_vk_device *vk, VkDeviceMemory memory, VkSemaphore semaphore,
                             culv_handle_type type, culv_handle *out, const char **call)
{
    const VkMemoryGetWin32HandleInfoKHR of_memory = {
        CULVI_STYPE(MEMORY_GET_WIN32_HANDLE_INFO_KHR), .memory = memory,
        .handleType = culvi_vk_memory_handle_bit(type)};
    const VkSemaphoreGetWin32HandleInfoKHR of_semaphore = {
        CULVI_STYPE(SEMAPHORE_GET_WIN32_HANDLE_INFO_KHR), .semaphore = semaphore,
        .handleType = culvi_vk_semaphore_handle_bit(type)};
    const bool is_memory = memory != VK_NULL_HANDLE;
    HANDLE handle = NULL;
    *call = is_memory ? "vkGetMemoryWin32HandleKHR" : "vkGetSemaphoreWin32HandleKHR";
    VkResult r =
        is_memory
            ? CULVI_VK(vk, vkGetMemoryWin32HandleKHR, (vk->vk_device, &of_memory, &handle))
            : CULVI_VK(vk, vkGetSemaphoreWin32HandleKHR, (vk->vk_device, &of_semaphore, &handle));
    memset(out, 0, sizeof *out);
    if (r != VK_SUCCESS || handle == NULL) return r;
    out->type = type;
    out->value.win32 = handle;
    return r;
}

VkResult culvi_vk_get_handle_types(const culv_vk_device *vk, const culv_handle *handle,
                                   uint32_t *out, const char **call)
{
    (void)vk;
    (void)handle;
    *call =
        "vkGetMemoryWin32HandlePropertiesKHR"; /* both types here are opaque: there is nothing to ask */
    *out = UINT32_MAX;
    return VK_SUCCESS;
}

VkResult culvi_vk_allocate_from(const culv_vk_device *vk, const culv_handle *duplicate,
                                const VkMemoryAllocateInfo *info, VkDeviceMemory *out)
{
    VkImportMemoryWin32HandleInfoKHR import = {
        CULVI_STYPE(IMPORT_MEMORY_WIN32_HANDLE_INFO_KHR), .pNext = info->pNext,
        .handleType = culvi_vk_memory_handle_bit(duplicate->type), .handle = duplicate->value.win32,
        .name = duplicate->name};
    VkMemoryAllocateInfo all = *info;
    all.pNext = &import;
    return CULVI_VK(vk, vkAllocateMemory, (vk->vk_device, &all, vk->callbacks, out));
}
