/* SPDX-License-Identifier: MIT */
/* The gate: images. What CUDA cannot map at all, or maps without an error and then reads wrong, is
 * refused with the field and what to do. */
#include "vulkan/vk.h"

static culv_result refuse(const culv_vk_device *vk, const char *label, culv_reason reason,
                          const char *what)
{
    return culvi_fail(vk->voice, label, CULV_ERROR_INVALID, reason, "%s", what);
}

/* VK_IMAGE_TILING_LINEAR maps as an array without an error and reads wrong (measured). */
static culv_result check_tiling(const culv_vk_device *vk, const culvi_vk_ask *ask,
                                const VkImageCreateInfo *info, culv_vk_access *out)
{
    bool planned = ask->origin == CULVI_VK_PLANNED;
    bool pitched = planned ? info->tiling == VK_IMAGE_TILING_LINEAR : ask->pitched;
    *out = pitched ? CULV_VK_ACCESS_PITCHED : CULV_VK_ACCESS_ARRAY;
    if (info->tiling == (pitched ? VK_IMAGE_TILING_LINEAR : VK_IMAGE_TILING_OPTIMAL))
        return CULV_OK;
    if (info->tiling == VK_IMAGE_TILING_OPTIMAL)
        return refuse(
            vk, ask->label, CULV_REASON_TILING,
            "VkImageCreateInfo::tiling is OPTIMAL: its texels do not lie in rows; culv_vk_image_map() maps it as an array");
    if (info->tiling == VK_IMAGE_TILING_LINEAR)
        return refuse(
            vk, ask->label, CULV_REASON_TILING,
            "VkImageCreateInfo::tiling is LINEAR; CUDA maps such an image as an array without an error and reads wrong texels. Use VK_IMAGE_TILING_OPTIMAL, or map a LINEAR image of your own as rows of bytes with culv_vk_image_map_pitched()");
    return culvi_fail(
        vk->voice, ask->label, CULV_ERROR_INVALID, CULV_REASON_TILING,
        "VkImageCreateInfo::tiling is %d; CUDA knows no DRM format modifiers, only OPTIMAL (as arrays) and LINEAR (as rows of bytes)",
        (int)info->tiling);
}

/* VK_IMAGE_USAGE_VIDEO_DECODE_... and VIDEO_ENCODE_..., and
 * VK_IMAGE_CREATE_VIDEO_PROFILE_INDEPENDENT_BIT_KHR; older headers lack some. */
enum { VIDEO_USAGES = 0xfc00, VIDEO_PROFILE_INDEPENDENT = 0x100000 };

/* Vulkan needs the profiles: otherwise it is neither asked nor told what is to be decoded or
 * encoded. */
static culv_result check_video(const culv_vk_device *vk, const char *label,
                               const VkImageCreateInfo *info)
{
    const VkVideoProfileListInfoKHR *list =
        culvi_vk_chain_find(info->pNext, VK_STRUCTURE_TYPE_VIDEO_PROFILE_LIST_INFO_KHR);
    bool named = list != NULL && list->profileCount != 0 && list->pProfiles != NULL;
    if (!(info->usage & VIDEO_USAGES) || (info->flags & VIDEO_PROFILE_INDEPENDENT) || named)
        return CULV_OK;
    return culvi_fail(
        vk->voice, label, CULV_ERROR_INVALID, CULV_REASON_USAGE,
        "VkImageCreateInfo::usage is %#" PRIx32
        ", which has video, but the pNext chain has no VkVideoProfileListInfoKHR that names a profile; add it (VUID-VkImageCreateInfo-usage-04815, -04816), or create it without",
        info->usage);
}

static culv_result check_kind(culv_vk_device *vk, const char *label, const VkImageCreateInfo *info)
{
    CULVI_TRY(culvi_vk_check_flags(vk, label, true, info->flags));
    CULVI_REFUSE_IF(
        info->samples != VK_SAMPLE_COUNT_1_BIT, vk->voice, label, CULV_REASON_USAGE,
        "VkImageCreateInfo::samples is %d; CUDA arrays have one sample, so resolve into an image of VK_SAMPLE_COUNT_1_BIT and share that",
        (int)info->samples);
    CULVI_TRY(culvi_vk_check_image_usage(vk, label, info));
    CULVI_TRY(check_video(vk, label, info));
    CULVI_REFUSE_IF(
        info->initialLayout != VK_IMAGE_LAYOUT_UNDEFINED, vk->voice, label, CULV_REASON_USAGE,
        "VkImageCreateInfo::initialLayout is %d; external memory allows only UNDEFINED (VUID-VkImageCreateInfo-pNext-01443)",
        (int)info->initialLayout);
    return culvi_vk_check_families(vk, label, "Image", info->sharingMode,
                                   info->queueFamilyIndexCount, info->pQueueFamilyIndices);
}

#define DIMENSION(info) ((const char *const[]){"1D", "2D", "3D"})[(info)->imageType]

/* What holds of every VkImageCreateInfo, and what CUDA's cubes and 3D arrays ask besides (cuda.h:
 * the depth of a cubemap is six, of a layered one a multiple of six, and its width is its
 * height). */
static culv_result check_shape(const culv_vk_device *vk, const char *label,
                               const VkImageCreateInfo *info)
{
    const VkExtent3D *e = &info->extent;
    const char *rule = NULL;
    CULVI_REFUSE_IF(
        (uint32_t)info->imageType > VK_IMAGE_TYPE_3D, vk->voice, label, CULV_REASON_VALUE,
        "VkImageCreateInfo::imageType is %d; VK_IMAGE_TYPE_1D, 2D and 3D are 0, 1 and 2",
        (int)info->imageType);
    if (e->width == 0 || e->height == 0 || e->depth == 0)
        rule = "no side may be 0";
    else if (info->arrayLayers == 0)
        rule = "arrayLayers is 1 or more";
    else if (info->imageType == VK_IMAGE_TYPE_1D && e->height != 1)
        rule = "a 1D image has a height of 1";
    else if (info->imageType != VK_IMAGE_TYPE_3D && e->depth != 1)
        rule = "only a 3D image has a depth; layers are arrayLayers";
    else if (info->imageType == VK_IMAGE_TYPE_3D && info->arrayLayers != 1)
        rule = "a 3D image has one layer";
    else if ((info->flags & VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT) &&
             (info->imageType != VK_IMAGE_TYPE_2D || e->width != e->height ||
              info->arrayLayers % 6 != 0))
        rule =
            "with CUBE_COMPATIBLE it is a cube for CUDA: 2D and square, with six layers, or 6n for an array of n cubes. Round arrayLayers up to a multiple of six, or create it without the flag";
    if (rule == NULL) return CULV_OK;
    return culvi_fail(vk->voice, label, CULV_ERROR_INVALID, CULV_REASON_EXTENT,
                      "VkImageCreateInfo describes a %s image of extent %" PRIu32 " x %" PRIu32
                      " x %" PRIu32 " and arrayLayers %" PRIu32 ", but %s",
                      DIMENSION(info), e->width, e->height, e->depth, info->arrayLayers, rule);
}

/* VUID-VkImageCreateInfo-pNext-02262. NVIDIA's driver refuses such an image (measured). */
#define DRM_MODIFIERS                                                                              \
    "it is only for VK_IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT, which CUDA does not know; leave it out"

/* Structs that no shared image can have: Vulkan's question about formats has no place for them, so
 * that the driver, if any, would refuse them where the image is made. */
static const struct {
    VkStructureType type;
    const char *name;
    culv_reason reason;
    const char *why; /* and what to do */
} structs_refused[] = {
    {VK_STRUCTURE_TYPE_IMAGE_SWAPCHAIN_CREATE_INFO_KHR, "VkImageSwapchainCreateInfoKHR",
     CULV_REASON_USAGE,
     "the presentation engine owns the memory of such an image. Copy to or from an image of your own"},
    {VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_LIST_CREATE_INFO_EXT,
     "VkImageDrmFormatModifierListCreateInfoEXT", CULV_REASON_TILING, DRM_MODIFIERS},
    {VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_EXPLICIT_CREATE_INFO_EXT,
     "VkImageDrmFormatModifierExplicitCreateInfoEXT", CULV_REASON_TILING, DRM_MODIFIERS},
    {VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO_NV, "VkExternalMemoryImageCreateInfoNV",
     CULV_REASON_USAGE,
     "it must not be used with VkExternalMemoryImageCreateInfo (VUID-VkImageCreateInfo-pNext-00988), which has replaced it; leave it out"},
    {VK_STRUCTURE_TYPE_OPAQUE_CAPTURE_DESCRIPTOR_DATA_CREATE_INFO_EXT,
     "VkOpaqueCaptureDescriptorDataCreateInfoEXT", CULV_REASON_USAGE,
     "it is only for DESCRIPTOR_BUFFER_CAPTURE_REPLAY in flags (VUID-VkImageCreateInfo-pNext-08105), and addresses of shared memory are not replayed; leave it out"},
};

static culv_result check_chain(const culv_vk_device *vk, const char *label,
                               const VkImageCreateInfo *info)
{
    for (const VkBaseInStructure *s = info->pNext; s != NULL; s = s->pNext) {
        const void *item = s;
        const VkImageFormatListCreateInfo *list = item;
        const VkImageCompressionControlEXT *compression = item;
        const VkDedicatedAllocationImageCreateInfoNV *dedicated = item;
        for (size_t i = 0; i < sizeof structs_refused / sizeof structs_refused[0]; i++)
            CULVI_REFUSE_IF(structs_refused[i].type == s->sType, vk->voice, label,
                            structs_refused[i].reason, "the pNext chain has a %s: %s",
                            structs_refused[i].name, structs_refused[i].why);
        if (s->sType == VK_STRUCTURE_TYPE_IMAGE_COMPRESSION_CONTROL_EXT &&
            (compression->flags & (VK_IMAGE_COMPRESSION_FIXED_RATE_DEFAULT_EXT |
                                   VK_IMAGE_COMPRESSION_FIXED_RATE_EXPLICIT_EXT)))
            return refuse(
                vk, label, CULV_REASON_USAGE,
                "VkImageCompressionControlEXT::flags asks for fixed-rate compression, which CUDA does not read; take VK_IMAGE_COMPRESSION_DISABLED_EXT");
        if (s->sType == VK_STRUCTURE_TYPE_IMAGE_FORMAT_LIST_CREATE_INFO &&
            list->viewFormatCount != 0 && list->pViewFormats == NULL)
            return refuse(
                vk, label, CULV_REASON_NULL_ARGUMENT,
                "VkImageFormatListCreateInfo::pViewFormats is NULL, and viewFormatCount is not 0");
        if (s->sType == VK_STRUCTURE_TYPE_DEDICATED_ALLOCATION_IMAGE_CREATE_INFO_NV &&
            dedicated->dedicatedAllocation != VK_FALSE)
            return refuse(
                vk, label, CULV_REASON_DEDICATED,
                "VkDedicatedAllocationImageCreateInfoNV::dedicatedAllocation is set, which binds the image to memory of VkDedicatedAllocationMemoryAllocateInfoNV; leave it out and allocate with VkMemoryDedicatedAllocateInfo, which has replaced it and is what Culvert takes");
    }
    return CULV_OK;
}

/* A LINEAR image may have any format that this Vulkan supports as LINEAR, because CUDA sees bytes.
 * A format with depth and stencil keeps each of them in rows of its own, so its texels have no
 * bytes that lie together. */
static culv_result check_format(culv_vk_device *vk, const culvi_vk_ask *ask,
                                const VkImageCreateInfo *info, culvi_vk_verdict *out)
{
    const culvi_format *row = culvi_format_find((uint32_t)info->format);
    out->format = row;
    CULVI_UNSUPPORTED_IF(
        row == NULL, vk->voice, ask->label, CULV_REASON_FORMAT,
        "VkImageCreateInfo::format is %d, which is no format of culvert/format_list.h",
        (int)info->format);
    if (out->access != CULV_VK_ACCESS_ARRAY &&
        row->aspects != (VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT))
        return CULV_OK;
    CULVI_UNSUPPORTED_IF(!row->mapped, vk->voice, ask->label, CULV_REASON_FORMAT,
                         "VkImageCreateInfo::format is %s: %s", row->name,
                         culvi_format_tell_why(row).text);
    CULVI_REFUSE_IF((uint32_t)ask->texels > CULV_TEXELS_NORMALIZED, vk->voice, ask->label,
                    CULV_REASON_VALUE, "texels is %u, which is not a culv_texels",
                    (unsigned)ask->texels);
    return culvi_format_supported(vk->base.device, row, ask->texels, ask->label);
}

/* Formats that require a sampler Y'CbCr conversion are for images of one level, 2D
 * (VUID-VkImageCreateInfo-format-06410, -06412), which not all drivers' answers tell. Some Vulkans
 * have them with layers; what CUDA maps of those no text says. */
static culv_result check_ycbcr(const culv_vk_device *vk, const char *label,
                               const VkImageCreateInfo *info, const culvi_vk_verdict *verdict)
{
    const culvi_format *row = verdict->format;
    const char *rule = NULL;
    bool pairs = row->block_width == 2 && row->block_height == 1; /* of 4:2:2, mapped or not */
    if (row->planes == 1 && !pairs &&
        info->format != VK_FORMAT_R10X6G10X6B10X6A10X6_UNORM_4PACK16 &&
        info->format != VK_FORMAT_R12X4G12X4B12X4A12X4_UNORM_4PACK16)
        return CULV_OK;
    if (info->imageType != VK_IMAGE_TYPE_2D)
        rule = "imageType 2D; take VK_IMAGE_TYPE_2D";
    else if (info->mipLevels != 1)
        rule = "mipLevels 1; take an image for each level";
    else if (verdict->access == CULV_VK_ACCESS_ARRAY &&
             (info->flags & VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT))
        rule = "no CUBE_COMPATIBLE in flags; create it without";
    else if (verdict->access == CULV_VK_ACCESS_ARRAY && info->arrayLayers != 1)
        rule = "arrayLayers 1; take an image for each layer";
    if (rule == NULL) return CULV_OK;
    return culvi_fail(vk->voice, label, CULV_ERROR_INVALID, CULV_REASON_EXTENT,
                      "VkImageCreateInfo describes a %s image of format %s, flags %#" PRIx32
                      ", arrayLayers %" PRIu32 " and mipLevels %" PRIu32
                      "; images of Y'CbCr formats are shared with %s",
                      DIMENSION(info), row->name, info->flags, info->arrayLayers, info->mipLevels,
                      rule);
}

/* Vulkan tells where the planes of an OPTIMAL image lie only when each is bound by itself: CUDA
 * maps each as an array of its own. CUDA's arrays of several planes look elsewhere for the second
 * one than NVIDIA's driver has it (measured: each plane is aligned to 65,536 bytes). */
static culv_result check_disjoint(const culv_vk_device *vk, const char *label,
                                  const VkImageCreateInfo *info, const culvi_vk_verdict *verdict)
{
    bool several = verdict->format->planes > 1;
    bool disjoint = (info->flags & VK_IMAGE_CREATE_DISJOINT_BIT) != 0;
    CULVI_REFUSE_IF(
        disjoint && !several, vk->voice, label, CULV_REASON_USAGE,
        "VkImageCreateInfo::flags is %#" PRIx32
        ", which has DISJOINT: it is for formats of several planes (%s has one); create it without",
        info->flags, verdict->format->name);
    CULVI_REFUSE_IF(
        disjoint && verdict->access != CULV_VK_ACCESS_ARRAY, vk->voice, label, CULV_REASON_USAGE,
        "VkImageCreateInfo::flags is %#" PRIx32
        ", which has DISJOINT: Vulkan reports where each plane of a LINEAR image lies; create it without",
        info->flags);
    if (disjoint || !several || verdict->access != CULV_VK_ACCESS_ARRAY) return CULV_OK;
    return culvi_fail(
        vk->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_USAGE,
        "VkImageCreateInfo::flags is %#" PRIx32
        " without DISJOINT: Vulkan does not report where the planes of such an image (%s) lie, and CUDA's own arrays of several planes read the second one wrong (measured). Create it with VK_IMAGE_CREATE_DISJOINT_BIT, bind each plane with VkBindImagePlaneMemoryInfo and pass plane_offsets, or take an image for each plane in the formats that culv_format_info.plane_formats names",
        info->flags, verdict->format->name);
}

/* NVIDIA's driver lays a 3D image that depth or stencil is drawn into out slice by slice, and
 * CUDA's 3D arrays are not so: small ones do not map (measured: D32_SFLOAT, 2 x 7 x 9, has 4608
 * bytes, nine tiles of 512), and where the bytes suffice nothing would tell. */
static culv_result check_slices(const culv_vk_device *vk, const char *label,
                                const VkImageCreateInfo *info, const culvi_vk_verdict *verdict)
{
    const VkImageStencilUsageCreateInfo *stencil =
        culvi_vk_chain_find(info->pNext, VK_STRUCTURE_TYPE_IMAGE_STENCIL_USAGE_CREATE_INFO);
    VkImageUsageFlags usage = info->usage | (stencil != NULL ? stencil->stencilUsage : 0);
    if (verdict->access != CULV_VK_ACCESS_ARRAY || info->imageType != VK_IMAGE_TYPE_3D ||
        !(usage & VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT))
        return CULV_OK;
    return culvi_fail(
        vk->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_USAGE,
        "VkImageCreateInfo::imageType is 3D, with DEPTH_STENCIL_ATTACHMENT in usage: the slices of such an image lie otherwise than CUDA's (measured); create it without, or take a 2D image with layers");
}

/* VUID-VkImageCreateInfo-format-04712 and -04713, which no answer of Vulkan's tells: chroma at half
 * the size has whole texels. */
culv_result culvi_vk_check_chroma(const culv_vk_device *vk, const char *label,
                                  const VkImageCreateInfo *info, const culvi_format *row)
{
    uint32_t across = 1, down = 1;
    if (culvi_format_whole_chroma(row, info->extent.width, info->extent.height, &across, &down))
        return CULV_OK;
    return culvi_fail(vk->voice, label, CULV_ERROR_INVALID, CULV_REASON_EXTENT,
                      "VkImageCreateInfo::extent is %" PRIu32 " x %" PRIu32
                      "; %s has a width that is a multiple of %" PRIu32
                      " and a height that is a multiple of %" PRIu32,
                      info->extent.width, info->extent.height, row->name, across, down);
}

/* R16: from the create info, never from a view. Every default is made explicit. */
culv_image_desc culvi_vk_describe_image(const VkImageCreateInfo *info, const culvi_vk_ask *ask,
                                        const culvi_format *row)
{
    culv_image_desc d = culv_image_desc_init();
    d.format = (culv_format)info->format;
    d.texels = ask->texels;
    d.type = info->imageType == VK_IMAGE_TYPE_1D                   ? CULV_IMAGE_1D
             : info->imageType == VK_IMAGE_TYPE_3D                 ? CULV_IMAGE_3D
             : (info->flags & VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT) ? CULV_IMAGE_CUBE
                                                                   : CULV_IMAGE_2D;
    d.width = info->extent.width;
    d.height = info->extent.height;
    d.depth = info->extent.depth;
    d.array_layers = info->arrayLayers;
    d.mip_levels = info->mipLevels;
    d.color_attachment = (info->usage & VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT) != 0;
    d.video_encode_decode =
        (info->usage & VIDEO_USAGES) != 0 && row->kind == CULV_TEXEL_KIND_SUBSAMPLED;
    d.no_surfaces = ask->no_surfaces || (row->planes == 1 && !row->surfaces);
    return d;
}

static culv_result not_exported(const culv_vk_device *vk, const char *label,
                                const VkImageCreateInfo *info, const culvi_vk_verdict *verdict,
                                const culvi_vk_answer *a)
{
    CULVI_TEXT(text, 512);
    if (a->culprits != 0) {
        culvi_text_add(&text, "; it can export them without ");
        culvi_vk_usage_text(a->culprits, &text);
        culvi_text_add(&text, " in usage");
    } else if (a->exists)
        culvi_text_add(
            &text,
            ", though it makes such images without sharing; copy to and from an image that can be shared");
    else
        culvi_text_add(
            &text,
            ", even without sharing: this device does not have that combination of format, imageType, tiling, usage and flags");
    return culvi_fail_native(
        vk->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_NOT_EXPORTABLE, CULV_NATIVE_VULKAN,
        a->result, "vkGetPhysicalDeviceImageFormatProperties2",
        "'%s' cannot export %s images of imageType %d with tiling %d, flags %#" PRIx32
        " and usage %#" PRIx32 " as %s%s",
        vk->base.name, verdict->format != NULL ? verdict->format->name : "such",
        (int)info->imageType, (int)info->tiling, info->flags, info->usage,
        culvi_handle_type_name(verdict->handle_type), text.data);
}

culv_result culvi_vk_check_image_size(const culv_vk_device *vk, const char *label,
                                      const VkImageCreateInfo *info, const culvi_format *row,
                                      const VkImageFormatProperties *most)
{
    const VkExtent3D *e = &info->extent;
    uint32_t levels = culvi_image_most_levels(e->width, e->height, e->depth);
    if (levels > most->maxMipLevels) levels = most->maxMipLevels;
    CULVI_REFUSE_IF(e->width > most->maxExtent.width || e->height > most->maxExtent.height ||
                        e->depth > most->maxExtent.depth,
                    vk->voice, label, CULV_REASON_EXTENT,
                    "VkImageCreateInfo::extent is %" PRIu32 " x %" PRIu32 " x %" PRIu32
                    "; '%s' has such images of up to %" PRIu32 " x %" PRIu32 " x %" PRIu32
                    " texels",
                    e->width, e->height, e->depth, vk->base.name, most->maxExtent.width,
                    most->maxExtent.height, most->maxExtent.depth);
    CULVI_REFUSE_IF(info->mipLevels == 0 || info->mipLevels > levels, vk->voice, label,
                    CULV_REASON_EXTENT,
                    "VkImageCreateInfo::mipLevels is %" PRIu32 "; such an image of %" PRIu32
                    " x %" PRIu32 " x %" PRIu32 " texels has 1 to %" PRIu32 " levels on '%s'",
                    info->mipLevels, e->width, e->height, e->depth, levels, vk->base.name);
    CULVI_REFUSE_IF(info->arrayLayers > most->maxArrayLayers, vk->voice, label, CULV_REASON_EXTENT,
                    "VkImageCreateInfo::arrayLayers is %" PRIu32
                    "; '%s' has such images of up to %" PRIu32 " layers",
                    info->arrayLayers, vk->base.name, most->maxArrayLayers);
    uint64_t least = culvi_image_least_size(row, e->width, e->height, e->depth, info->arrayLayers,
                                            info->mipLevels);
    CULVI_REFUSE_IF(least > most->maxResourceSize, vk->voice, label, CULV_REASON_EXTENT,
                    "VkImageCreateInfo::extent is %" PRIu32 " x %" PRIu32 " x %" PRIu32
                    ", arrayLayers %" PRIu32 " and mipLevels %" PRIu32 ": %" PRIu64
                    " bytes or more, and '%s' has images of up to %" PRIu64,
                    e->width, e->height, e->depth, info->arrayLayers, info->mipLevels, least,
                    vk->base.name, most->maxResourceSize);
    return CULV_OK;
}

static culv_result check_answers(culv_vk_device *vk, const culvi_vk_ask *ask,
                                 const VkImageCreateInfo *info,
                                 VkExternalMemoryHandleTypeFlags external, culvi_vk_verdict *out)
{
    static const culvi_extent_words words = {"VkImageCreateInfo::extent", "arrayLayers"};
    culvi_vk_answer a;
    CULVI_TRY(culvi_vk_ask_image_sharing(vk, ask->label, info, out->vk_handle_type, &a));
    VkExternalMemoryFeatureFlags features = a.external.externalMemoryFeatures;
    if (!(features & VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT))
        return not_exported(vk, ask->label, info, out, &a);
    out->dedicated_only = (features & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT) != 0 ||
                          (out->access == CULV_VK_ACCESS_ARRAY && out->format->dedicated);
    CULVI_UNSUPPORTED_IF(
        out->dedicated_only && (info->flags & VK_IMAGE_CREATE_DISJOINT_BIT), vk->voice, ask->label,
        CULV_REASON_NOT_EXPORTABLE,
        "'%s' exports %s images only in dedicated allocations, which a DISJOINT image cannot have (VUID-VkMemoryDedicatedAllocateInfo-image-01797): take an image for each plane",
        vk->base.name, out->format->name);
    CULVI_TRY(culvi_vk_check_compatible(vk, ask->label, "Image", external, out, &a.external));
    CULVI_TRY(culvi_vk_check_image_size(vk, ask->label, info, out->format, &a.most));
    if (out->access != CULV_VK_ACCESS_ARRAY) return CULV_OK;
    out->image = culvi_vk_describe_image(info, ask, out->format);
    return culvi_array_check_limits(vk->base.device, ask->label, &words, &out->image,
                                    !out->image.no_surfaces);
}

culv_result culvi_vk_check_image(culv_vk_device *vk, const culvi_vk_ask *ask,
                                 const VkImageCreateInfo *info, culvi_vk_verdict *out)
{
    const char *label = ask->label;
    memset(out, 0, sizeof *out);
    CULVI_REFUSE_IF(
        info->sType != VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO, vk->voice, label, CULV_REASON_VALUE,
        "create_info->sType is %d, not VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO", (int)info->sType);
    CULVI_TRY(culvi_vk_check_unique(vk, label, "Image", info->pNext));
    CULVI_TRY(check_tiling(vk, ask, info, &out->access));
    CULVI_TRY(culvi_vk_check_handle_type(vk, ask, out));
    CULVI_TRY(check_kind(vk, label, info));
    CULVI_TRY(check_shape(vk, label, info));
    CULVI_TRY(check_chain(vk, label, info));
    CULVI_TRY(check_format(vk, ask, info, out));
    CULVI_TRY(check_ycbcr(vk, label, info, out));
    CULVI_TRY(check_slices(vk, label, info, out));
    CULVI_TRY(culvi_vk_check_chroma(vk, label, info, out->format));
    CULVI_TRY(check_disjoint(vk, label, info, out));
    const VkExternalMemoryImageCreateInfo *external =
        culvi_vk_chain_find(info->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO);
    VkExternalMemoryHandleTypeFlags types = external != NULL ? external->handleTypes : 0;
    CULVI_TRY(culvi_vk_check_external(vk, ask, "Image", external != NULL, types, out));
    return check_answers(vk, ask, info, types, out);
}
