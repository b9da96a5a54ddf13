/* SPDX-License-Identifier: MIT */
/* A dma-buf as a VkImage: one of others that is imported, or one that is made here and exported. */
#include "dma_buf.h"

#include <culvert/vulkan_memory.h>
#include <stdio.h>

/* The driver knows which offsets and pitches a modifier allows, and does not tell. */
static culv_result bad_layout(const culv_vk_dma_buf_bridge *b)
{
    char planes[CULV_VK_DMA_BUF_PLANES * 64] = "";
    for (uint32_t i = 0, used = 0; i < b->d.num_planes; i++)
        used +=
            (uint32_t)snprintf(planes + used, sizeof planes - used, "%s%" PRIu64 " and %" PRIu64,
                               i == 0 ? "" : ", ", b->d.plane_offsets[i], b->d.plane_pitches[i]);
    return CULVI_DMA_BUF_FAIL(
        b, INVALID, RANGE,
        "culv_vk_dma_buf_desc: with the modifier %#" PRIx64
        " the driver has no images of %s whose planes have these offsets and pitches (bytes): %s; pass what the maker of the dma-buf said (vkCreateImage answered VK_ERROR_INVALID_DRM_FORMAT_MODIFIER_PLANE_LAYOUT_EXT)",
        b->d.modifier, b->format.name, planes);
}

/* `layout` is one of the two structs about the modifier. */
static culv_result create(culv_vk_dma_buf_bridge *b, const void *layout,
                          VkMemoryRequirements *needs)
{
    const VkExternalMemoryImageCreateInfo shared = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
        .pNext = layout,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT};
    const VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                    .pNext = &shared,
                                    .imageType = VK_IMAGE_TYPE_2D,
                                    .format = b->info.format,
                                    .extent = {b->d.width, b->d.height, 1},
                                    .mipLevels = 1,
                                    .arrayLayers = 1,
                                    .samples = VK_SAMPLE_COUNT_1_BIT,
                                    .tiling = VK_IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT,
                                    .usage = culvi_dma_buf_usage(b->d.direction)};
    const VkResult r =
        CULVI_X_VK(&b->vk, vkCreateImage)(b->vk.d.device, &info, b->vk.callbacks, &b->image);
    if (r == VK_SUCCESS) {
        CULVI_X_VK(&b->vk, vkGetImageMemoryRequirements)(b->vk.d.device, b->image, needs);
        return CULV_OK;
    }
    b->image = VK_NULL_HANDLE;
    if (r == VK_ERROR_INVALID_DRM_FORMAT_MODIFIER_PLANE_LAYOUT_EXT) return bad_layout(b);
    return culvi_x_vk_result(&b->vk, b->label, r, "vkCreateImage", CULV_REASON_DRIVER_REFUSED,
                             "no VkImage of %" PRIu32 " x %" PRIu32
                             " texels of %s could be made for a dma-buf",
                             b->d.width, b->d.height, b->format.name);
}

static culv_result bind(culv_vk_dma_buf_bridge *b)
{
    const VkResult r =
        CULVI_X_VK(&b->vk, vkBindImageMemory)(b->vk.d.device, b->image, b->memory, 0);
    return culvi_x_vk_result(&b->vk, b->label, r, "vkBindImageMemory", CULV_REASON_DRIVER_REFUSED,
                             "the dma-buf's image could not be bound to its memory");
}

static culv_result import(culv_vk_dma_buf_bridge *b)
{
    VkSubresourceLayout planes[CULV_VK_DMA_BUF_PLANES];
    const VkImageDrmFormatModifierExplicitCreateInfoEXT layout = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_EXPLICIT_CREATE_INFO_EXT,
        .drmFormatModifier = b->d.modifier,
        .drmFormatModifierPlaneCount = b->d.num_planes,
        .pPlaneLayouts = planes};
    culv_vk_memory_from_handle_desc m = culv_vk_memory_from_handle_desc_init();
    VkMemoryRequirements needs;
    memset(planes, 0, sizeof planes);
    for (uint32_t i = 0; i < b->d.num_planes; i++) {
        planes[i].offset = b->d.plane_offsets[i];
        planes[i].rowPitch = b->d.plane_pitches[i];
    }
    CULVI_X_TRY(culv_handle_dup(&b->d.handle, &b->info.handle));
    CULVI_X_TRY(create(b, &layout, &needs));
    const uint64_t size = culvi_dma_buf_size(b->d.handle.value.fd);
    CULVI_DMA_BUF_FAIL_IF(size < needs.size, b, INVALID, SIZE,
                          "the dma-buf has %" PRIu64
                          " bytes, but such an image, with its offsets and pitches, needs %" PRIu64,
                          size, (uint64_t)needs.size);
    m.handle = b->d.handle;
    m.size = needs.size;
    m.image = b->image;
    m.dedicated = 1;
    m.label = b->label;
    culv_result result = culv_vk_memory_from_handle(b->attachment, &m, &b->memory);
    return result == CULV_OK ? bind(b) : result;
}

static culv_result allocate(culv_vk_dma_buf_bridge *b, const VkMemoryRequirements *needs)
{
    const VkMemoryDedicatedAllocateInfo dedicated = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, .image = b->image};
    const VkExportMemoryAllocateInfo shared = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
        .pNext = &dedicated,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT};
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                 .pNext = &shared,
                                 .allocationSize = needs->size,
                                 .memoryTypeIndex = UINT32_MAX};
    VkPhysicalDeviceMemoryProperties types;
    CULVI_X_VKI(&b->vk, vkGetPhysicalDeviceMemoryProperties)(b->vk.d.physical_device, &types);
    for (uint32_t i = types.memoryTypeCount; i-- > 0;) /* the first, best a local one */
        if (needs->memoryTypeBits >> i & 1 &&
            (types.memoryTypes[i].propertyFlags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT ||
             info.memoryTypeIndex == UINT32_MAX))
            info.memoryTypeIndex = i;
    const VkResult r =
        CULVI_X_VK(&b->vk, vkAllocateMemory)(b->vk.d.device, &info, b->vk.callbacks, &b->memory);
    if (r == VK_SUCCESS) return CULV_OK;
    b->memory = VK_NULL_HANDLE;
    return culvi_x_vk_result(&b->vk, b->label, r, "vkAllocateMemory", CULV_REASON_DRIVER_REFUSED,
                             "no memory of %" PRIu64 " bytes for a dma-buf",
                             (uint64_t)info.allocationSize);
}

/* What Vulkan chose. */
static culv_result look(culv_vk_dma_buf_bridge *b)
{
    VkImageDrmFormatModifierPropertiesEXT chosen = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_PROPERTIES_EXT};
    uint32_t count = 0;
    VkDrmFormatModifierPropertiesEXT *list = NULL;
    const VkResult r = CULVI_X_VK(&b->vk, vkGetImageDrmFormatModifierPropertiesEXT)(
        b->vk.d.device, b->image, &chosen);
    CULVI_X_TRY(culvi_x_vk_result(&b->vk, b->label, r, "vkGetImageDrmFormatModifierPropertiesEXT",
                                  CULV_REASON_DRIVER_REFUSED,
                                  "Vulkan does not say which modifier it chose"));
    CULVI_X_TRY(culvi_dma_buf_modifiers(&b->vk, b->label, b->info.format, &count, &list));
    const VkDrmFormatModifierPropertiesEXT *m =
        culvi_dma_buf_find_modifier(list, count, chosen.drmFormatModifier);
    b->info.modifier = chosen.drmFormatModifier;
    b->info.num_planes = m != NULL ? m->drmFormatModifierPlaneCount : 1;
    culvi_x_free(list);
    for (uint32_t i = 0; i < b->info.num_planes; i++) {
        const VkImageSubresource which = {
            .aspectMask = (VkImageAspectFlags)VK_IMAGE_ASPECT_MEMORY_PLANE_0_BIT_EXT << i};
        VkSubresourceLayout layout = {0};
        CULVI_X_VK(&b->vk, vkGetImageSubresourceLayout)(b->vk.d.device, b->image, &which, &layout);
        b->info.plane_offsets[i] = layout.offset;
        b->info.plane_pitches[i] = layout.rowPitch;
    }
    return CULV_OK;
}

static culv_result make(culv_vk_dma_buf_bridge *b)
{
    const VkImageDrmFormatModifierListCreateInfoEXT layout = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_LIST_CREATE_INFO_EXT,
        .drmFormatModifierCount = b->num_modifiers,
        .pDrmFormatModifiers = b->modifiers};
    VkMemoryRequirements needs;
    CULVI_X_TRY(create(b, &layout, &needs));
    CULVI_X_TRY(allocate(b, &needs));
    CULVI_X_TRY(bind(b));
    CULVI_X_TRY(look(b));
    return culv_vk_memory_export_dup(b->attachment, b->memory, CULV_HANDLE_DMA_BUF_FD,
                                     &b->info.handle);
}

culv_result culvi_dma_buf_image_make(culv_vk_dma_buf_bridge *b)
{
    return b->imported ? import(b) : make(b);
}

void culvi_dma_buf_image_drop(culv_vk_dma_buf_bridge *b)
{
    if (b->image != VK_NULL_HANDLE)
        CULVI_X_VK(&b->vk, vkDestroyImage)(b->vk.d.device, b->image, b->vk.callbacks);
    if (b->memory != VK_NULL_HANDLE)
        CULVI_X_VK(&b->vk, vkFreeMemory)(b->vk.d.device, b->memory, b->vk.callbacks);
    culv_handle_close(&b->info.handle);
}
