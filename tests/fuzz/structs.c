/* SPDX-License-Identifier: MIT */
/* VkBufferCreateInfo and VkImageCreateInfo of all sorts, with their chains. */
#include "fuzz.h"

#include <stdio.h>

/* Where Vulkan ignores a pointer, nobody may follow it. */
#define IGNORED ((const uint32_t *)(uintptr_t)0x1000u)

VkFormat fuzz_format(fuzz_reader *r, VkFormat usual)
{
#define ROW(name, number) number,
    static const uint32_t formats[] = {CULV_FORMATS(ROW)};
#undef ROW
    uint8_t how = fuzz_u8(r);
    if (how < 96) return usual;
    if (how < 240)
        return (VkFormat)formats[fuzz_bytes(r, 2) % (sizeof formats / sizeof formats[0])];
    return (VkFormat)fuzz_value32(r, (uint32_t)usual);
}

static void *extend(fuzz_chain *chain, const void **head, int type, size_t size)
{
    VkBaseOutStructure *s = fuzz_chain_alloc(chain, size);
    s->sType = (VkStructureType)type;
    s->pNext = (VkBaseOutStructure *)(uintptr_t)*head;
    *head = s;
    return s;
}

#define EXTEND(type, stype) ((type *)extend(chain, head, (stype), sizeof(type)))

static void families(fuzz_reader *r, fuzz_chain *chain, VkSharingMode *mode, uint32_t *count,
                     const uint32_t **indices)
{
    uint8_t how = fuzz_u8(r);
    *mode = VK_SHARING_MODE_EXCLUSIVE;
    if (how < 192) {
        if (how & 1) {
            *count = fuzz_u8(r);
            *indices = IGNORED;
        }
        return;
    }
    *mode = how < 252 ? VK_SHARING_MODE_CONCURRENT : (VkSharingMode)fuzz_value32(r, 2);
    *count = fuzz_pick(r, 5);
    uint32_t *list = fuzz_chain_alloc(chain, *count != 0 ? *count * sizeof *list : 1);
    for (uint32_t i = 0; i < *count; i++)
        list[i] = fuzz_rarely(r, 16) ? fuzz_value32(r, VK_QUEUE_FAMILY_EXTERNAL) : fuzz_pick(r, 4);
    *indices = fuzz_rarely(r, 16) ? NULL : list;
}

/* A struct of some extension that means nothing here, or a header's alone that nobody knows. */
static void extend_strange(fuzz_reader *r, fuzz_chain *chain, const void **head)
{
    int type = fuzz_flag(r) ? 1000470006 /* VkBufferUsageFlags2CreateInfo */
                            : (int)fuzz_value32(r, 1000999000);
    /* As long as any struct, so that who mistakes it for one stays inside. */
    (void)extend(chain, head, type, 256);
}

static VkExternalMemoryHandleTypeFlags handle_types(fuzz_reader *r)
{
    return fuzz_bits(r, VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT);
}

static void extend_buffer(fuzz_reader *r, fuzz_chain *chain, const void **head)
{
    switch (fuzz_pick(r, 4)) {
    case 0:
        EXTEND(VkExternalMemoryBufferCreateInfo,
               VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO)
            ->handleTypes = handle_types(r);
        break;
    case 1:
        EXTEND(VkBufferOpaqueCaptureAddressCreateInfo,
               VK_STRUCTURE_TYPE_BUFFER_OPAQUE_CAPTURE_ADDRESS_CREATE_INFO)
            ->opaqueCaptureAddress = fuzz_value(r, 0);
        break;
    case 2:
        EXTEND(VkDedicatedAllocationBufferCreateInfoNV,
               VK_STRUCTURE_TYPE_DEDICATED_ALLOCATION_BUFFER_CREATE_INFO_NV)
            ->dedicatedAllocation = fuzz_pick(r, 2);
        break;
    default: extend_strange(r, chain, head);
    }
}

void fuzz_buffer_info(fuzz_reader *r, fuzz_chain *chain, VkBufferCreateInfo *out)
{
    const void *head = NULL;
    memset(out, 0, sizeof *out);
    out->sType = fuzz_rarely(r, 64) ? (VkStructureType)fuzz_value32(r, 0)
                                    : VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    out->size = fuzz_value(r, 65536);
    out->usage =
        fuzz_bits(r, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                         VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    out->flags = fuzz_bits(r, 0);
    families(r, chain, &out->sharingMode, &out->queueFamilyIndexCount, &out->pQueueFamilyIndices);
    for (uint8_t more = fuzz_u8(r); more >= 160 && chain->count < 16; more = fuzz_u8(r))
        extend_buffer(r, chain, &head);
    out->pNext = head;
}

static void extend_image(fuzz_reader *r, fuzz_chain *chain, const void **head, VkFormat format)
{
    switch (fuzz_pick(r, 7)) {
    case 0:
    case 1:
        EXTEND(VkExternalMemoryImageCreateInfo, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO)
            ->handleTypes = handle_types(r);
        break;
    case 2: {
        VkImageFormatListCreateInfo *list =
            EXTEND(VkImageFormatListCreateInfo, VK_STRUCTURE_TYPE_IMAGE_FORMAT_LIST_CREATE_INFO);
        uint32_t count = fuzz_pick(r, 10);
        VkFormat *formats = fuzz_chain_alloc(chain, count != 0 ? count * sizeof *formats : 1);
        for (uint32_t i = 0; i < count; i++)
            formats[i] = fuzz_format(r, format);
        list->viewFormatCount = count;
        list->pViewFormats = count == 0 ? NULL : formats;
        break;
    }
    case 3:
        EXTEND(VkImageStencilUsageCreateInfo, VK_STRUCTURE_TYPE_IMAGE_STENCIL_USAGE_CREATE_INFO)
            ->stencilUsage = fuzz_bits(r, VK_IMAGE_USAGE_TRANSFER_DST_BIT);
        break;
    case 4:
        EXTEND(VkDedicatedAllocationImageCreateInfoNV,
               VK_STRUCTURE_TYPE_DEDICATED_ALLOCATION_IMAGE_CREATE_INFO_NV)
            ->dedicatedAllocation = fuzz_pick(r, 2);
        break;
    case 5: {
        VkImageDrmFormatModifierListCreateInfoEXT *list =
            EXTEND(VkImageDrmFormatModifierListCreateInfoEXT,
                   VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_LIST_CREATE_INFO_EXT);
        uint64_t *modifiers = fuzz_chain_alloc(chain, sizeof *modifiers);
        *modifiers = fuzz_value(r, 0);
        list->drmFormatModifierCount = 1;
        list->pDrmFormatModifiers = modifiers;
        break;
    }
    default: extend_strange(r, chain, head);
    }
}

uint32_t fuzz_planes(VkFormat format)
{
    culv_format_info f = culv_format_info_init();
    return culv_format_get_info((culv_format)format, &f) == CULV_OK ? f.planes : 1;
}

void fuzz_image_info(fuzz_reader *r, fuzz_chain *chain, VkImageCreateInfo *out)
{
    const void *head = NULL;
    static const uint32_t samples[] = {1, 1, 1, 1, 1, 1, 2, 4, 8, 64, 0, 3};
    memset(out, 0, sizeof *out);
    out->sType = fuzz_rarely(r, 64) ? (VkStructureType)fuzz_value32(r, 0)
                                    : VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO;
    out->format = fuzz_format(r, VK_FORMAT_R8G8B8A8_UNORM);
    /* 2D for the byte 0. */
    out->imageType = (VkImageType)((fuzz_enum(r, 3) + 1) % 3 == 1 ? 1 : fuzz_enum(r, 3));
    out->extent.width = fuzz_value32(r, 64);
    out->extent.height = out->imageType == VK_IMAGE_TYPE_1D ? fuzz_value32(r, 1)
                                                            : fuzz_value32(r, out->extent.width);
    out->extent.depth = fuzz_value32(r, out->imageType == VK_IMAGE_TYPE_3D ? 4 : 1);
    out->mipLevels = fuzz_value32(r, 1);
    out->arrayLayers = fuzz_value32(r, 1);
    out->samples = (VkSampleCountFlagBits)samples[fuzz_pick(r, sizeof samples / sizeof samples[0])];
    out->tiling = (VkImageTiling)(fuzz_rarely(r, 3) ? fuzz_enum(r, 3) : VK_IMAGE_TILING_OPTIMAL);
    out->usage =
        fuzz_bits(r, VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_SAMPLED_BIT |
                         VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    out->flags = fuzz_bits(r, 0);
    if (fuzz_planes(out->format) > 1 && !fuzz_rarely(r, 4))
        out->flags |= VK_IMAGE_CREATE_DISJOINT_BIT;
    if (fuzz_rarely(r, 4)) {
        out->flags |= VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT;
        out->arrayLayers *= 6;
    }
    families(r, chain, &out->sharingMode, &out->queueFamilyIndexCount, &out->pQueueFamilyIndices);
    out->initialLayout =
        (VkImageLayout)(fuzz_rarely(r, 32) ? fuzz_value32(r, VK_IMAGE_LAYOUT_PREINITIALIZED)
                                           : VK_IMAGE_LAYOUT_UNDEFINED);
    for (uint8_t more = fuzz_u8(r); more >= 160 && chain->count < 16; more = fuzz_u8(r))
        extend_image(r, chain, &head, out->format);
    out->pNext = head;
}

const char *fuzz_describe_image(const VkImageCreateInfo *info)
{
    static char text[512];
    int at = snprintf(
        text, sizeof text,
        "format %d, imageType %d, %u x %u x %u, %u levels, %u layers, %d samples, tiling %d, usage %#x, flags %#x, sharingMode %d, initialLayout %d, pNext:",
        (int)info->format, (int)info->imageType, info->extent.width, info->extent.height,
        info->extent.depth, info->mipLevels, info->arrayLayers, (int)info->samples,
        (int)info->tiling, info->usage, info->flags, (int)info->sharingMode,
        (int)info->initialLayout);
    for (const VkBaseInStructure *s = info->pNext; s != NULL && at > 0 && at < (int)sizeof text;
         s = s->pNext)
        at += snprintf(text + at, sizeof text - (size_t)at, " %d", (int)s->sType);
    return text;
}
