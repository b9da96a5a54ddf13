/* Importing a caller's VkSemaphore. SPDX-License-Identifier: MIT */
#include "vk.h"

culv_result culv_vk_semaphore_import(culv_vk *vk, const culv_vk_semaphore_desc *desc, culv_semaphore **out)
{
    culv_vk_semaphore_desc d;
    if (vk == NULL || desc == NULL || out == NULL)
        return culvi_fail(vk != NULL ? &vk->device->voice : NULL, NULL, CULV_ERROR_INVALID,
                          CULV_REASON_NULL_ARGUMENT, "culv_vk_semaphore_import: %s is NULL",
                          vk == NULL     ? "vk"
                          : desc == NULL ? "desc"
                                         : "out");
    const culvi_voice *voice = &vk->device->voice;
    culv_result result = culvi_desc_read(voice, &d, sizeof d, desc, "culv_vk_semaphore_desc");
    if (result != CULV_OK) return result;
    if (d.semaphore == VK_NULL_HANDLE)
        return culvi_fail(voice, d.label, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
                          "culv_vk_semaphore_desc.semaphore is VK_NULL_HANDLE");
    if (d.type != CULV_SEMAPHORE_TIMELINE)
        return culvi_fail(
            voice, d.label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
            "culv_vk_semaphore_desc.type is %d; this version takes CULV_SEMAPHORE_TIMELINE (%d)", (int)d.type,
            (int)CULV_SEMAPHORE_TIMELINE);
    PFN_vkGetSemaphoreCounterValue get_counter = vk->table.vkGetSemaphoreCounterValue != NULL
                                                     ? vk->table.vkGetSemaphoreCounterValue
                                                     : vk->table.vkGetSemaphoreCounterValueKHR;
    if (get_counter == NULL)
        return culvi_fail(voice, d.label, CULV_ERROR_INVALID, CULV_REASON_EXTENSION_MISSING,
                          "the VkDevice has no timeline semaphores; create it with Vulkan 1.2 or "
                          "VK_KHR_timeline_semaphore, and with the feature timelineSemaphore");
    uint64_t counter = 0;
    VkResult r = get_counter(vk->vk_device, d.semaphore, &counter);
    if (r != VK_SUCCESS)
        return culvi_fail_vk(voice, d.label, r, "vkGetSemaphoreCounterValue", CULV_REASON_DRIVER_REFUSED,
                             "the timeline's counter could not be read");
    VkSemaphoreGetFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR,
                                    .semaphore = d.semaphore,
                                    .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
    int fd = -1;
    r = vk->table.vkGetSemaphoreFdKHR(vk->vk_device, &info, &fd);
    if (r != VK_SUCCESS || fd < 0)
        return culvi_fail_vk(voice, d.label, r, "vkGetSemaphoreFdKHR", CULV_REASON_NOT_EXPORTABLE,
                             "the semaphore could not be exported (fd %d); create it with "
                             "VkExportSemaphoreCreateInfo, handleTypes OPAQUE_FD",
                             fd);
    culv_semaphore_desc import = culv_semaphore_desc_init();
    import.handle = culv_handle_opaque_fd(fd);
    import.type = d.type;
    import.value = counter;
    import.exporter = vk->uuid;
    import.label = d.label;
    result = culv_semaphore_import_take(vk->device, &import, out);
    if (result != CULV_OK) culvi_handle_close(&import.handle);
    return result;
}
