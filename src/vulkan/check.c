/* The gate: what Vulkan says of a resource, held against what the caller says and what CUDA can map. CUDA's
 * driver checks none of it and reads wrong (measured, docs/nvidia-measured.md). SPDX-License-Identifier: MIT */
#include "vk.h"

#include <inttypes.h>

static const VkExternalMemoryHandleTypeFlagBits opaque_fd = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;

void culvi_vk_buffer_needs(const culv_vk *vk, VkBuffer buffer, culvi_vk_needs *out)
{
    VkMemoryDedicatedRequirements dedicated = {.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS};
    VkMemoryRequirements2 requirements = {.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2,
                                          .pNext = &dedicated};
    VkBufferMemoryRequirementsInfo2 info = {.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_REQUIREMENTS_INFO_2,
                                            .buffer = buffer};
    vk->table.vkGetBufferMemoryRequirements2(vk->vk_device, &info, &requirements);
    *out = (culvi_vk_needs){requirements.memoryRequirements, dedicated.requiresDedicatedAllocation,
                            dedicated.prefersDedicatedAllocation};
}

void culvi_vk_image_needs(const culv_vk *vk, VkImage image, culvi_vk_needs *out)
{
    VkMemoryDedicatedRequirements dedicated = {.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS};
    VkMemoryRequirements2 requirements = {.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2,
                                          .pNext = &dedicated};
    VkImageMemoryRequirementsInfo2 info = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_REQUIREMENTS_INFO_2,
                                           .image = image};
    vk->table.vkGetImageMemoryRequirements2(vk->vk_device, &info, &requirements);
    *out = (culvi_vk_needs){requirements.memoryRequirements, dedicated.requiresDedicatedAllocation,
                            dedicated.prefersDedicatedAllocation};
}

culv_result culvi_vk_check_binding(const culv_vk *vk, const char *label, const char *what,
                                   const culvi_vk_needs *needs, VkDeviceSize offset,
                                   VkDeviceSize allocation_size, bool dedicated)
{
    const culvi_voice *voice = &vk->device->voice;
    const VkMemoryRequirements *r = &needs->memory;
    if (offset > allocation_size || r->size > allocation_size - offset)
        return culvi_fail(
            voice, label, CULV_ERROR_INVALID, offset == 0 ? CULV_REASON_SIZE : CULV_REASON_RANGE,
            "the %s needs %" PRIu64 " bytes and is said to lie at offset %" PRIu64
            " of an allocation of %" PRIu64 " bytes; pass VkMemoryAllocateInfo::allocationSize and the "
            "memoryOffset of vkBind%sMemory",
            what, r->size, offset, allocation_size, what[0] == 'b' ? "Buffer" : "Image");
    if (r->alignment != 0 && offset % r->alignment != 0)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_RANGE,
                          "offset %" PRIu64 " is not a multiple of the %s's alignment %" PRIu64
                          ", so the %s cannot lie there",
                          offset, what, r->alignment, what);
    if (needs->requires_dedicated && !dedicated)
        return culvi_fail(
            voice, label, CULV_ERROR_INVALID, CULV_REASON_DEDICATED,
            "Vulkan requires a dedicated allocation for this %s "
            "(VkMemoryDedicatedRequirements::requiresDedicatedAllocation), but dedicated is not set; "
            "allocate with VkMemoryDedicatedAllocateInfo and set it",
            what);
    if (dedicated && offset != 0)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_DEDICATED,
                          "dedicated is set, but the %s lies at offset %" PRIu64
                          "; a dedicated allocation holds its one resource at offset 0",
                          what, offset);
    return CULV_OK;
}

static const void *find(const void *chain, VkStructureType type)
{
    for (const VkBaseInStructure *s = chain; s != NULL; s = s->pNext)
        if (s->sType == type) return s;
    return NULL;
}

static culv_result refuse_chain(const culvi_voice *voice, const char *label, const char *what)
{
    return culvi_fail(
        voice, label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
        "the pNext chain of Vk%sCreateInfo has a VkExternalMemory%sCreateInfo; Culvert puts its "
        "own there, leave it out",
        what, what);
}

culv_result culvi_vk_check_buffer(const culv_vk *vk, const char *label, const VkBufferCreateInfo *info,
                                  culvi_vk_verdict *out)
{
    const culvi_voice *voice = &vk->device->voice;
    if (info->sType != VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "create_info->sType is %d, not VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO",
                          (int)info->sType);
    if (info->size == 0)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
                          "VkBufferCreateInfo::size is 0");
    if (info->usage == 0)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_USAGE,
                          "VkBufferCreateInfo::usage is 0; say what Vulkan does with the buffer");
    VkBufferCreateFlags refused = VK_BUFFER_CREATE_SPARSE_BINDING_BIT |
                                  VK_BUFFER_CREATE_SPARSE_RESIDENCY_BIT |
                                  VK_BUFFER_CREATE_SPARSE_ALIASED_BIT | VK_BUFFER_CREATE_PROTECTED_BIT |
                                  VK_BUFFER_CREATE_DEVICE_ADDRESS_CAPTURE_REPLAY_BIT;
    if (info->flags & refused)
        return culvi_fail(
            voice, label, CULV_ERROR_INVALID, CULV_REASON_USAGE,
            "VkBufferCreateInfo::flags is %#" PRIx32
            "; sparse and protected buffers have no one allocation that CUDA could map, and addresses "
            "are not replayed",
            info->flags);
    /* VkBufferUsageFlags2CreateInfo (Vulkan 1.4), which these headers may not have: it would replace `usage`. */
    if (find(info->pNext, (VkStructureType)1000470006) != NULL)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_USAGE,
                          "the pNext chain has a VkBufferUsageFlags2CreateInfo; say the usage in "
                          "VkBufferCreateInfo::usage");
    if (find(info->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO) != NULL)
        return refuse_chain(voice, label, "Buffer");
    VkPhysicalDeviceExternalBufferInfo query = {.sType =
                                                    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO,
                                                .flags = info->flags,
                                                .usage = info->usage,
                                                .handleType = opaque_fd};
    VkExternalBufferProperties answer = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES};
    vk->instance.vkGetPhysicalDeviceExternalBufferProperties(vk->physical_device, &query, &answer);
    VkExternalMemoryFeatureFlags features = answer.externalMemoryProperties.externalMemoryFeatures;
    if (!(features & VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT))
        return culvi_fail(voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_NOT_EXPORTABLE,
                          "'%s' exports no buffers with flags %#" PRIx32 " and usage %#" PRIx32
                          " as OPAQUE_FD (vkGetPhysicalDeviceExternalBufferProperties)",
                          vk->name, info->flags, info->usage);
    out->dedicated_only = (features & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT) != 0;
    out->format = NULL;
    return CULV_OK;
}

/* What CUDA cannot map at all, or maps and reads wrong. */
static culv_result check_kind(const culv_vk *vk, const char *label, const VkImageCreateInfo *info)
{
    const culvi_voice *voice = &vk->device->voice;
    if (info->tiling != VK_IMAGE_TILING_OPTIMAL)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_TILING,
                          "VkImageCreateInfo::tiling is %d; CUDA maps such an image as an array without an "
                          "error and reads wrong texels. Use VK_IMAGE_TILING_OPTIMAL, or share a buffer",
                          (int)info->tiling);
    VkImageCreateFlags refused = VK_IMAGE_CREATE_SPARSE_BINDING_BIT | VK_IMAGE_CREATE_SPARSE_RESIDENCY_BIT |
                                 VK_IMAGE_CREATE_SPARSE_ALIASED_BIT | VK_IMAGE_CREATE_PROTECTED_BIT |
                                 VK_IMAGE_CREATE_DISJOINT_BIT;
    if (info->flags & refused)
        return culvi_fail(
            voice, label, CULV_ERROR_INVALID, CULV_REASON_USAGE,
            "VkImageCreateInfo::flags is %#" PRIx32
            "; sparse, protected and disjoint images have no one allocation that CUDA could map",
            info->flags);
    if (info->samples != VK_SAMPLE_COUNT_1_BIT)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_USAGE,
                          "VkImageCreateInfo::samples is %d; CUDA arrays have one sample, so resolve into an "
                          "image of one",
                          (int)info->samples);
    if (info->usage == 0 || (info->usage & VK_IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT))
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_USAGE,
                          "VkImageCreateInfo::usage is %#" PRIx32
                          "; a shared image has a usage and is no transient attachment",
                          info->usage);
    if (info->arrayLayers == 0 || info->extent.depth == 0)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_EXTENT,
                          "VkImageCreateInfo has depth %" PRIu32 " and arrayLayers %" PRIu32 "; neither is 0",
                          info->extent.depth, info->arrayLayers);
    if (info->initialLayout != VK_IMAGE_LAYOUT_UNDEFINED)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_USAGE,
                          "VkImageCreateInfo::initialLayout is %d; external memory allows UNDEFINED alone "
                          "(VUID-VkImageCreateInfo-pNext-01443)",
                          (int)info->initialLayout);
    if (info->imageType != VK_IMAGE_TYPE_2D || info->arrayLayers != 1 || info->extent.depth != 1)
        return culvi_fail(voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_EXTENT,
                          "the image has imageType %d, depth %" PRIu32 " and arrayLayers %" PRIu32
                          "; this version maps 2D images (imageType 1) of depth 1 and one layer",
                          (int)info->imageType, info->extent.depth, info->arrayLayers);
    return CULV_OK;
}

static culv_result ask_vulkan(const culv_vk *vk, const char *label, const VkImageCreateInfo *info,
                              const culvi_format *format, bool *dedicated_only)
{
    const culvi_voice *voice = &vk->device->voice;
    VkPhysicalDeviceExternalImageFormatInfo external = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_IMAGE_FORMAT_INFO, .handleType = opaque_fd};
    VkPhysicalDeviceImageFormatInfo2 query = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2,
                                              .pNext = &external,
                                              .format = info->format,
                                              .type = info->imageType,
                                              .tiling = info->tiling,
                                              .usage = info->usage,
                                              .flags = info->flags};
    VkExternalImageFormatProperties shared = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_IMAGE_FORMAT_PROPERTIES};
    VkImageFormatProperties2 answer = {.sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2,
                                       .pNext = &shared};
    VkResult r = vk->instance.vkGetPhysicalDeviceImageFormatProperties2(vk->physical_device, &query, &answer);
    VkExternalMemoryFeatureFlags features = shared.externalMemoryProperties.externalMemoryFeatures;
    /* Mesa answers success with no feature where the handle type is not supported. */
    if (r == VK_ERROR_FORMAT_NOT_SUPPORTED ||
        (r == VK_SUCCESS && !(features & VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT)))
        return culvi_fail_native(voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_NOT_EXPORTABLE,
                                 CULV_API_VULKAN, r, "vkGetPhysicalDeviceImageFormatProperties2",
                                 "'%s' exports no %s images with flags %#" PRIx32 " and usage %#" PRIx32
                                 " as OPAQUE_FD; try fewer usages",
                                 vk->name, format->name, info->flags, info->usage);
    if (r != VK_SUCCESS)
        return culvi_fail_vk(voice, label, r, "vkGetPhysicalDeviceImageFormatProperties2",
                             CULV_REASON_DRIVER_REFUSED, "whether such images can be shared is unknown");
    const VkImageFormatProperties *most = &answer.imageFormatProperties;
    uint32_t levels = culvi_image_most_levels(info->extent.width, info->extent.height);
    if (levels > most->maxMipLevels) levels = most->maxMipLevels;
    if (info->extent.width == 0 || info->extent.height == 0 || info->extent.width > most->maxExtent.width ||
        info->extent.height > most->maxExtent.height || info->mipLevels == 0 || info->mipLevels > levels)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_EXTENT,
                          "the image has %" PRIu32 " x %" PRIu32 " texels and %" PRIu32
                          " levels; '%s' has 1 x 1 to %" PRIu32 " x %" PRIu32
                          " of such images, and this one 1 to %" PRIu32 " levels",
                          info->extent.width, info->extent.height, info->mipLevels, vk->name,
                          most->maxExtent.width, most->maxExtent.height, levels);
    *dedicated_only = (features & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT) != 0;
    return CULV_OK;
}

culv_result culvi_vk_check_image(const culv_vk *vk, const char *label, const VkImageCreateInfo *info,
                                 bool made, culvi_vk_verdict *out)
{
    const culvi_voice *voice = &vk->device->voice;
    if (info->sType != VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "create_info->sType is %d, not VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO",
                          (int)info->sType);
    culv_result result = check_kind(vk, label, info);
    if (result != CULV_OK) return result;
    const culvi_format *format = culvi_format_find((uint32_t)info->format);
    if (format == NULL)
        return culvi_fail(voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT,
                          "VkImageCreateInfo::format is %d, which this version does not map; "
                          "culvert/format.h lists the formats",
                          (int)info->format);
    const VkExternalMemoryImageCreateInfo *external =
        find(info->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO);
    if (made && external != NULL) return refuse_chain(voice, label, "Image");
    if (!made && (external == NULL || !(external->handleTypes & (VkExternalMemoryHandleTypeFlags)opaque_fd)))
        return culvi_fail(
            voice, label, CULV_ERROR_INVALID, CULV_REASON_NOT_EXPORTABLE,
            "the image was created without VkExternalMemoryImageCreateInfo, handleTypes "
            "OPAQUE_FD, in the pNext chain of create_info; its layout may then be one that only "
            "its own driver reads");
    result = ask_vulkan(vk, label, info, format, &out->dedicated_only);
    if (result != CULV_OK) return result;
    out->format = format;
    return CULV_OK;
}
