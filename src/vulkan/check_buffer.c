/* The gate: buffers. SPDX-License-Identifier: MIT */
#include "vk.h"

#include <inttypes.h>
#include <string.h>

static culv_result check_fields(culv_vk *vk, const char *label, const VkBufferCreateInfo *info)
{
    const culvi_voice *voice = &vk->device->voice;
    if (info->size == 0)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
                          "VkBufferCreateInfo::size is 0");
    if (info->size > vk->max_buffer_size)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
                          "VkBufferCreateInfo::size is %" PRIu64 "; '%s' has buffers of up to %" PRIu64
                          " bytes (VkPhysicalDeviceMaintenance4Properties::maxBufferSize)",
                          info->size, vk->name, vk->max_buffer_size);
    /* VkBufferUsageFlags2CreateInfo (Vulkan 1.4), which these headers may not have: it would replace `usage`. */
    if (culvi_vk_chain_find(info->pNext, (VkStructureType)1000470006) != NULL)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_USAGE,
                          "the pNext chain has a VkBufferUsageFlags2CreateInfo; say the usage in "
                          "VkBufferCreateInfo::usage");
    if (info->usage == 0)
        return culvi_fail(
            voice, label, CULV_ERROR_INVALID, CULV_REASON_USAGE,
            "VkBufferCreateInfo::usage is 0; say what Vulkan does with the buffer, TRANSFER_SRC for one");
    culv_result result = culvi_vk_check_buffer_flags(vk, label, info);
    if (result != CULV_OK) return result;
    return culvi_vk_check_families(vk, label, "Buffer", info->sharingMode, info->queueFamilyIndexCount,
                                   info->pQueueFamilyIndices);
}

culv_result culvi_vk_check_buffer(culv_vk *vk, const culvi_vk_ask *ask, const VkBufferCreateInfo *info,
                                  culvi_vk_verdict *out)
{
    const culvi_voice *voice = &vk->device->voice;
    VkExternalMemoryProperties properties;
    memset(out, 0, sizeof *out);
    if (info->sType != VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO)
        return culvi_fail(voice, ask->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "create_info->sType is %d, not VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO",
                          (int)info->sType);
    out->access = CULV_VK_ACCESS_POINTER;
    culv_result result = culvi_vk_check_unique(vk, ask->label, "Buffer", info->pNext);
    if (result == CULV_OK) result = culvi_vk_check_handle_type(vk, ask, out);
    if (result == CULV_OK) result = check_fields(vk, ask->label, info);
    if (result != CULV_OK) return result;
    const VkExternalMemoryBufferCreateInfo *external =
        culvi_vk_chain_find(info->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO);
    VkExternalMemoryHandleTypeFlags types = external != NULL ? external->handleTypes : 0;
    result = culvi_vk_check_external(vk, ask, "Buffer", external != NULL, types, out);
    if (result != CULV_OK) return result;
    culvi_vk_ask_buffer_sharing(vk, info, out->vk_handle_type, &properties);
    if (ask->host && !(properties.externalMemoryFeatures & VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT))
        return culvi_fail(voice, ask->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_USAGE,
                          "'%s' takes no host memory for buffers with flags %#" PRIx32 " and usage %#" PRIx32
                          " (vkGetPhysicalDeviceExternalBufferProperties); try fewer usages",
                          vk->name, info->flags, info->usage);
    if (!ask->host && !(properties.externalMemoryFeatures & VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT))
        return culvi_fail(voice, ask->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_NOT_EXPORTABLE,
                          "'%s' exports no buffers with flags %#" PRIx32 " and usage %#" PRIx32
                          " as %s (vkGetPhysicalDeviceExternalBufferProperties); try fewer usages",
                          vk->name, info->flags, info->usage, culvi_handle_type_name(out->handle_type));
    out->dedicated_only =
        (properties.externalMemoryFeatures & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT) != 0;
    return culvi_vk_check_compatible(vk, ask->label, "Buffer", types, out, &properties);
}
