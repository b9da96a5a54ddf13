/* SPDX-License-Identifier: MIT */
/* The gate: buffers. */
#include "vulkan/vk.h"

#include <inttypes.h>
#include <string.h>

/* Structs that would have the driver refuse the buffer, or bind it otherwise than Culvert does. */
static culv_result check_chain(const culv_vk_device *vk, const char *label,
                               const VkBufferCreateInfo *info)
{
    for (const VkBaseInStructure *s = info->pNext; s != NULL; s = s->pNext) {
        const void *item = s;
        const VkDedicatedAllocationBufferCreateInfoNV *dedicated = item;
        const VkBufferOpaqueCaptureAddressCreateInfo *address = item;
        const VkBufferDeviceAddressCreateInfoEXT *address_ext = item;
        if (s->sType == VK_STRUCTURE_TYPE_DEDICATED_ALLOCATION_BUFFER_CREATE_INFO_NV &&
            dedicated->dedicatedAllocation != VK_FALSE)
            return culvi_fail(
                &vk->base.device->voice, label, CULV_ERROR_INVALID, CULV_REASON_DEDICATED,
                "VkDedicatedAllocationBufferCreateInfoNV::dedicatedAllocation is set, which binds the buffer to memory of VkDedicatedAllocationMemoryAllocateInfoNV; "
                "leave it out and allocate with VkMemoryDedicatedAllocateInfo, which has replaced it and is what Culvert takes");
        if ((s->sType == VK_STRUCTURE_TYPE_BUFFER_OPAQUE_CAPTURE_ADDRESS_CREATE_INFO &&
             address->opaqueCaptureAddress != 0) ||
            (s->sType == VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_CREATE_INFO_EXT &&
             address_ext->deviceAddress != 0) ||
            s->sType == VK_STRUCTURE_TYPE_OPAQUE_CAPTURE_DESCRIPTOR_DATA_CREATE_INFO_EXT)
            return culvi_fail(
                &vk->base.device->voice, label, CULV_ERROR_INVALID, CULV_REASON_USAGE,
                "the pNext chain has what a replay captured (sType %d), which is only for "
                "DEVICE_ADDRESS_CAPTURE_REPLAY or DESCRIPTOR_BUFFER_CAPTURE_REPLAY in flags "
                "(VUID-VkBufferCreateInfo-opaqueCaptureAddress-03337, -deviceAddress-02604, "
                "-pNext-08100), and addresses of shared memory are not replayed; leave it out",
                (int)s->sType);
    }
    return CULV_OK;
}

static culv_result check_fields(culv_vk_device *vk, const char *label,
                                const VkBufferCreateInfo *info)
{
    const culvi_voice *voice = &vk->base.device->voice;
    if (info->size == 0)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
                          "VkBufferCreateInfo::size is 0");
    if (info->size > vk->max_buffer_size)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
                          "VkBufferCreateInfo::size is %" PRIu64
                          "; '%s' has buffers of up to %" PRIu64
                          " bytes (VkPhysicalDeviceMaintenance4Properties::maxBufferSize)",
                          info->size, vk->base.name, vk->max_buffer_size);
    /* VkBufferUsageFlags2CreateInfo (Vulkan 1.4), which these headers may not have: it would
     * replace `usage`. */
    if (culvi_vk_chain_find(info->pNext, (VkStructureType)1000470006) != NULL)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_USAGE,
                          "the pNext chain has a VkBufferUsageFlags2CreateInfo; set "
                          "VkBufferCreateInfo::usage instead");
    if (info->usage == 0)
        return culvi_fail(
            voice, label, CULV_ERROR_INVALID, CULV_REASON_USAGE,
            "VkBufferCreateInfo::usage is 0; say what Vulkan does with the buffer, TRANSFER_SRC for one");
    culv_result result = culvi_vk_check_buffer_flags(vk, label, info);
    if (result == CULV_OK) result = check_chain(vk, label, info);
    if (result != CULV_OK) return result;
    return culvi_vk_check_families(vk, label, "Buffer", info->sharingMode,
                                   info->queueFamilyIndexCount, info->pQueueFamilyIndices);
}

culv_result culvi_vk_check_buffer(culv_vk_device *vk, const culvi_vk_ask *ask,
                                  const VkBufferCreateInfo *info, culvi_vk_verdict *out)
{
    const culvi_voice *voice = &vk->base.device->voice;
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
    if (ask->host &&
        !(properties.externalMemoryFeatures & VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT))
        return culvi_fail(voice, ask->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_USAGE,
                          "'%s' cannot use host memory for buffers with flags %#" PRIx32 " and "
                          "usage %#" PRIx32 " (vkGetPhysicalDeviceExternalBufferProperties); try "
                          "fewer usages",
                          vk->base.name, info->flags, info->usage);
    if (!ask->host &&
        !(properties.externalMemoryFeatures & VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT))
        return culvi_fail(voice, ask->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_NOT_EXPORTABLE,
                          "'%s' cannot export buffers with flags %#" PRIx32 " and usage %#" PRIx32
                          " as %s (vkGetPhysicalDeviceExternalBufferProperties); try fewer usages",
                          vk->base.name, info->flags, info->usage,
                          culvi_handle_type_name(out->handle_type));
    out->dedicated_only =
        (properties.externalMemoryFeatures & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT) != 0;
    return culvi_vk_check_compatible(vk, ask->label, "Buffer", types, out, &properties);
}
