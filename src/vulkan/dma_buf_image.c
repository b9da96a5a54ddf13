/* SPDX-License-Identifier: MIT */
/* A dma-buf as a VkImage: one of others that is imported, or one that is made here and exported. */
#include "vulkan/vk_dma_buf.h"
#include "vulkan/vk_export.h"
#include "vulkan/vk_trace.h"

#include <inttypes.h>
#include <string.h>

static VkImageAspectFlags memory_plane(uint32_t plane)
{
    return (VkImageAspectFlags)VK_IMAGE_ASPECT_MEMORY_PLANE_0_BIT_EXT << plane;
}

/* The driver knows which offsets and pitches a modifier allows, and does not tell. */
static culv_result bad_layout(const culv_vk_dma_buf_bridge *b, const culvi_vk_dma_buf_plan *p)
{
    char planes[256] = "";
    culvi_text text = {planes, sizeof planes, 0};
    for (uint32_t i = 0; i < p->d.num_planes; i++)
        culvi_text_add(&text, "%s%" PRIu64 " and %" PRIu64, i == 0 ? "" : ", ",
                       p->d.plane_offsets[i], p->d.plane_pitches[i]);
    return culvi_fail(
        &b->vk->base.device->voice, b->label, CULV_ERROR_INVALID, CULV_REASON_RANGE,
        "culv_vk_dma_buf_desc: with the modifier %#" PRIx64
        " the driver has no images of %s whose planes have these offsets and pitches "
        "(bytes): %s; pass what the maker of the dma-buf said (vkCreateImage answered "
        "VK_ERROR_INVALID_DRM_FORMAT_MODIFIER_PLANE_LAYOUT_EXT)",
        p->d.modifier, p->row->name, planes);
}

/* `layout` is one of the two structs about the modifier. */
static culv_result create(culv_vk_dma_buf_bridge *b, const culvi_vk_dma_buf_plan *p,
                          const void *layout)
{
    culv_vk_device *vk = b->vk;
    const VkExternalMemoryImageCreateInfo shared = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
        .pNext = layout,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT};
    const VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                    .pNext = &shared,
                                    .imageType = VK_IMAGE_TYPE_2D,
                                    .format = p->format,
                                    .extent = {p->d.width, p->d.height, 1},
                                    .mipLevels = 1,
                                    .arrayLayers = 1,
                                    .samples = VK_SAMPLE_COUNT_1_BIT,
                                    .tiling = VK_IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT,
                                    .usage = culvi_vk_dma_buf_usage(b->direction)};
    VkResult r = CULVI_VK(vk, vkCreateImage, (vk->vk_device, &info, vk->callbacks, &b->image));
    if (r == VK_SUCCESS) return CULV_OK;
    b->image = VK_NULL_HANDLE;
    if (r == VK_ERROR_INVALID_DRM_FORMAT_MODIFIER_PLANE_LAYOUT_EXT) return bad_layout(b, p);
    return culvi_fail_vk(&vk->base.device->voice, b->label, r, "vkCreateImage",
                         CULV_REASON_DRIVER_REFUSED,
                         "no VkImage of %" PRIu32 " x %" PRIu32 " texels of %s could be made for a "
                         "dma-buf",
                         p->d.width, p->d.height, p->row->name);
}

static culv_result bind(culv_vk_dma_buf_bridge *b)
{
    culv_vk_device *vk = b->vk;
    VkResult r = CULVI_VK(vk, vkBindImageMemory, (vk->vk_device, b->image, b->memory, 0));
    if (r == VK_SUCCESS) return CULV_OK;
    return culvi_fail_vk(&vk->base.device->voice, b->label, r, "vkBindImageMemory",
                         CULV_REASON_DRIVER_REFUSED, "the memory of a dma-buf could not be bound");
}

static culv_result import(culv_vk_dma_buf_bridge *b, const culvi_vk_dma_buf_plan *p)
{
    culv_vk_device *vk = b->vk;
    const culvi_voice *voice = &vk->base.device->voice;
    VkSubresourceLayout planes[CULV_VK_DMA_BUF_PLANES];
    VkImageDrmFormatModifierExplicitCreateInfoEXT layout = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_EXPLICIT_CREATE_INFO_EXT,
        .drmFormatModifier = p->d.modifier,
        .drmFormatModifierPlaneCount = p->d.num_planes,
        .pPlaneLayouts = planes};
    culv_vk_memory_from_handle_desc m = culv_vk_memory_from_handle_desc_init();
    culvi_handle_facts facts;
    culvi_vk_needs needs;
    uint32_t type = 0;
    memset(planes, 0, sizeof planes);
    for (uint32_t i = 0; i < p->d.num_planes; i++) {
        planes[i].offset = p->d.plane_offsets[i];
        planes[i].rowPitch = p->d.plane_pitches[i];
    }
    culv_result result =
        culvi_handle_check(voice, b->label, "culv_vk_dma_buf_desc.handle",
                           "the compositor, the camera or the capture tool", &p->d.handle, &facts);
    if (result == CULV_OK) result = culv_handle_dup(&p->d.handle, &b->handle);
    if (result == CULV_OK) result = create(b, p, &layout);
    if (result != CULV_OK) return result;
    culvi_vk_image_needs(vk, b->image, 0, &needs);
    const uint64_t size = culvi_dma_buf_size(&p->d.handle, &facts);
    if (size < needs.memory.size)
        return culvi_fail(voice, b->label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
                          "the dma-buf has %" PRIu64 " bytes, but such an image, with its offsets "
                          "and pitches, needs %" PRIu64,
                          size, (uint64_t)needs.memory.size);
    m.handle = p->d.handle;
    m.size = needs.memory.size;
    m.image = b->image;
    m.dedicated = 1;
    m.label = b->label;
    result = culvi_vk_memory_plan(vk, &m, "the image's size", &type);
    if (result == CULV_OK) result = culvi_vk_memory_import(vk, &m, &facts, type, &b->memory);
    return result == CULV_OK ? bind(b) : result;
}

static culv_result allocate(culv_vk_dma_buf_bridge *b)
{
    culv_vk_device *vk = b->vk;
    const culvi_voice *voice = &vk->base.device->voice;
    const VkMemoryDedicatedAllocateInfo dedicated = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, .image = b->image};
    const VkExportMemoryAllocateInfo shared = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
        .pNext = &dedicated,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT};
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = &shared};
    culvi_vk_needs needs;
    culvi_vk_image_needs(vk, b->image, 0, &needs);
    culv_result result =
        culvi_vk_memory_type(vk, b->label, needs.memory.memoryTypeBits, 0, &info.memoryTypeIndex);
    if (result != CULV_OK) return result;
    info.allocationSize = needs.memory.size;
    VkResult r = CULVI_VK(vk, vkAllocateMemory, (vk->vk_device, &info, vk->callbacks, &b->memory));
    if (r == VK_SUCCESS) return CULV_OK;
    b->memory = VK_NULL_HANDLE;
    return culvi_fail_vk(voice, b->label, r, "vkAllocateMemory", CULV_REASON_DRIVER_REFUSED,
                         "no memory of %" PRIu64 " bytes for a dma-buf", info.allocationSize);
}

/* What Vulkan chose. */
static culv_result look(culv_vk_dma_buf_bridge *b)
{
    culv_vk_device *vk = b->vk;
    VkImageDrmFormatModifierPropertiesEXT chosen = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_PROPERTIES_EXT};
    VkResult r =
        CULVI_VK(vk, vkGetImageDrmFormatModifierPropertiesEXT, (vk->vk_device, b->image, &chosen));
    if (r != VK_SUCCESS)
        return culvi_fail_vk(&vk->base.device->voice, b->label, r,
                             "vkGetImageDrmFormatModifierPropertiesEXT", CULV_REASON_DRIVER_REFUSED,
                             "Vulkan does not say which modifier it chose");
    b->info.modifier = chosen.drmFormatModifier;
    culv_result result = culvi_vk_dma_buf_planes(vk, b->label, b->info.format, b->info.modifier,
                                                 &b->info.num_planes);
    for (uint32_t i = 0; result == CULV_OK && i < b->info.num_planes; i++) {
        const VkImageSubresource which = {.aspectMask = memory_plane(i)};
        VkSubresourceLayout layout = {0};
        CULVI_VK_DO(vk, vkGetImageSubresourceLayout, (vk->vk_device, b->image, &which, &layout));
        b->info.plane_offsets[i] = layout.offset;
        b->info.plane_pitches[i] = layout.rowPitch;
    }
    return result;
}

static culv_result make(culv_vk_dma_buf_bridge *b, const culvi_vk_dma_buf_plan *p)
{
    const VkImageDrmFormatModifierListCreateInfoEXT layout = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_LIST_CREATE_INFO_EXT,
        .drmFormatModifierCount = p->num_modifiers,
        .pDrmFormatModifiers = p->modifiers};
    culv_result result = create(b, p, &layout);
    if (result == CULV_OK) result = allocate(b);
    if (result == CULV_OK) result = bind(b);
    if (result == CULV_OK) result = look(b);
    if (result != CULV_OK) return result;
    result = culvi_vk_memory_export(b->vk, b->label, b->memory, CULV_HANDLE_DMA_BUF_FD, &b->handle);
    if (result != CULV_OK) b->handle.type = CULV_HANDLE_NONE;
    return result;
}

culv_result culvi_vk_dma_buf_image_make(culv_vk_dma_buf_bridge *bridge,
                                        const culvi_vk_dma_buf_plan *plan)
{
    culv_result result = plan->imported ? import(bridge, plan) : make(bridge, plan);
    if (result != CULV_OK) culvi_vk_dma_buf_image_drop(bridge);
    return result;
}

void culvi_vk_dma_buf_image_drop(culv_vk_dma_buf_bridge *b)
{
    culv_vk_device *vk = b->vk;
    if (b->image != VK_NULL_HANDLE)
        CULVI_VK_DO(vk, vkDestroyImage, (vk->vk_device, b->image, vk->callbacks));
    if (b->memory != VK_NULL_HANDLE)
        CULVI_VK_DO(vk, vkFreeMemory, (vk->vk_device, b->memory, vk->callbacks));
    culv_handle_close(&b->handle);
    b->image = VK_NULL_HANDLE;
    b->memory = VK_NULL_HANDLE;
}
