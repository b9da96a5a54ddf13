/* The gate: images. What CUDA cannot map at all, or maps without an error and then reads wrong, is refused with the
 * field and what to do. SPDX-License-Identifier: MIT */
#include "vk.h"

#include <inttypes.h>
#include <string.h>

static culv_result refuse(const culv_vk *vk, const char *label, culv_reason reason, const char *what)
{
    return culvi_fail(&vk->device->voice, label, CULV_ERROR_INVALID, reason, "%s", what);
}

/* VK_IMAGE_TILING_LINEAR maps as an array without an error and reads wrong (measured). */
static culv_result check_tiling(const culv_vk *vk, const culvi_vk_ask *ask, const VkImageCreateInfo *info,
                                culv_vk_access *out)
{
    bool planned = ask->origin == CULVI_VK_PLANNED;
    bool pitched = planned ? info->tiling == VK_IMAGE_TILING_LINEAR : ask->pitched;
    *out = pitched ? CULV_VK_ACCESS_PITCHED : CULV_VK_ACCESS_ARRAY;
    if (info->tiling == (pitched ? VK_IMAGE_TILING_LINEAR : VK_IMAGE_TILING_OPTIMAL)) return CULV_OK;
    if (info->tiling == VK_IMAGE_TILING_OPTIMAL)
        return refuse(
            vk, ask->label, CULV_REASON_TILING,
            "VkImageCreateInfo::tiling is OPTIMAL: its texels lie in no rows; culv_vk_image_map() maps it as "
            "an array");
    if (info->tiling == VK_IMAGE_TILING_LINEAR)
        return refuse(
            vk, ask->label, CULV_REASON_TILING,
            "VkImageCreateInfo::tiling is LINEAR; CUDA maps such an image as an array without an error and "
            "reads wrong texels. Use VK_IMAGE_TILING_OPTIMAL, or map a LINEAR image of your own as rows of "
            "bytes by culv_vk_image_map_pitched()");
    return culvi_fail(
        &vk->device->voice, ask->label, CULV_ERROR_INVALID, CULV_REASON_TILING,
        "VkImageCreateInfo::tiling is %d; CUDA is not told of DRM format modifiers, and knows OPTIMAL "
        "(as arrays) and LINEAR (as rows of bytes)",
        (int)info->tiling);
}

static culv_result check_kind(culv_vk *vk, const char *label, const VkImageCreateInfo *info)
{
    const culvi_voice *voice = &vk->device->voice;
    culv_result result = culvi_vk_check_image_flags(vk, label, info);
    if (result != CULV_OK) return result;
    if (info->samples != VK_SAMPLE_COUNT_1_BIT)
        return culvi_fail(
            voice, label, CULV_ERROR_INVALID, CULV_REASON_USAGE,
            "VkImageCreateInfo::samples is %d; CUDA arrays have one sample, so resolve into an image "
            "of VK_SAMPLE_COUNT_1_BIT and share that",
            (int)info->samples);
    result = culvi_vk_check_image_usage(vk, label, info);
    if (result != CULV_OK) return result;
    if (info->initialLayout != VK_IMAGE_LAYOUT_UNDEFINED)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_USAGE,
                          "VkImageCreateInfo::initialLayout is %d; external memory allows UNDEFINED alone "
                          "(VUID-VkImageCreateInfo-pNext-01443)",
                          (int)info->initialLayout);
    return culvi_vk_check_families(vk, label, "Image", info->sharingMode, info->queueFamilyIndexCount,
                                   info->pQueueFamilyIndices);
}

/* What holds of every VkImageCreateInfo, and what CUDA's cubes and 3D arrays ask besides (cuda.h: the depth of a
 * cubemap is six, of a layered one a multiple of six, and its width is its height). */
static culv_result check_shape(const culv_vk *vk, const char *label, const VkImageCreateInfo *info)
{
    const VkExtent3D *e = &info->extent;
    const char *rule = NULL;
    if ((uint32_t)info->imageType > VK_IMAGE_TYPE_3D)
        return culvi_fail(&vk->device->voice, label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "VkImageCreateInfo::imageType is %d; VK_IMAGE_TYPE_1D, 2D and 3D are 0, 1 and 2",
                          (int)info->imageType);
    if (e->width == 0 || e->height == 0 || e->depth == 0)
        rule = "no side is 0";
    else if (info->arrayLayers == 0)
        rule = "arrayLayers is 1 or more";
    else if (info->imageType == VK_IMAGE_TYPE_1D && e->height != 1)
        rule = "a 1D image has a height of 1";
    else if (info->imageType != VK_IMAGE_TYPE_3D && e->depth != 1)
        rule = "only a 3D image has a depth; layers are arrayLayers";
    else if (info->imageType == VK_IMAGE_TYPE_3D && info->arrayLayers != 1)
        rule = "a 3D image has one layer";
    else if ((info->flags & VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT) &&
             (info->imageType != VK_IMAGE_TYPE_2D || e->width != e->height || info->arrayLayers % 6 != 0))
        rule = "with CUBE_COMPATIBLE it is a cube for CUDA: 2D, square and of six layers, or 6n of an array "
               "of cubes. "
               "Round arrayLayers up to a multiple of six, or create it without the flag";
    if (rule == NULL) return CULV_OK;
    return culvi_fail(&vk->device->voice, label, CULV_ERROR_INVALID, CULV_REASON_EXTENT,
                      "VkImageCreateInfo has imageType %d, extent %" PRIu32 " x %" PRIu32 " x %" PRIu32
                      " and arrayLayers %" PRIu32 ", but %s",
                      (int)info->imageType, e->width, e->height, e->depth, info->arrayLayers, rule);
}

static culv_result check_chain(const culv_vk *vk, const char *label, const VkImageCreateInfo *info)
{
    for (const VkBaseInStructure *s = info->pNext; s != NULL; s = s->pNext) {
        const void *item = s;
        const VkImageFormatListCreateInfo *list = item;
        const VkImageCompressionControlEXT *compression = item;
        if (s->sType == VK_STRUCTURE_TYPE_IMAGE_SWAPCHAIN_CREATE_INFO_KHR)
            return refuse(
                vk, label, CULV_REASON_USAGE,
                "the pNext chain has a VkImageSwapchainCreateInfoKHR; the presentation engine owns the "
                "memory of such an image. Copy to or from an image of your own");
        if (s->sType == VK_STRUCTURE_TYPE_IMAGE_COMPRESSION_CONTROL_EXT &&
            (compression->flags &
             (VK_IMAGE_COMPRESSION_FIXED_RATE_DEFAULT_EXT | VK_IMAGE_COMPRESSION_FIXED_RATE_EXPLICIT_EXT)))
            return refuse(
                vk, label, CULV_REASON_USAGE,
                "VkImageCompressionControlEXT::flags asks for fixed-rate compression, which CUDA does not "
                "read; take VK_IMAGE_COMPRESSION_DISABLED_EXT");
        if (s->sType == VK_STRUCTURE_TYPE_IMAGE_FORMAT_LIST_CREATE_INFO && list->viewFormatCount != 0 &&
            list->pViewFormats == NULL)
            return refuse(vk, label, CULV_REASON_NULL_ARGUMENT,
                          "VkImageFormatListCreateInfo::pViewFormats is NULL, and viewFormatCount is not 0");
    }
    return CULV_OK;
}

/* Of a LINEAR image any format will do that this Vulkan has so: CUDA sees bytes. Depth and stencil together have rows of
 * their own each, and no bytes a texel. */
static culv_result check_format(culv_vk *vk, const culvi_vk_ask *ask, const VkImageCreateInfo *info,
                                culvi_vk_verdict *out)
{
    const culvi_voice *voice = &vk->device->voice;
    const culvi_format *row = culvi_format_find((uint32_t)info->format);
    out->format = row;
    if (row == NULL)
        return culvi_fail(voice, ask->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT,
                          "VkImageCreateInfo::format is %d, which is no format of culvert/format_list.h",
                          (int)info->format);
    if (out->access != CULV_VK_ACCESS_ARRAY &&
        row->aspects != (VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT))
        return CULV_OK;
    if (!row->mapped)
        return culvi_fail(voice, ask->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT,
                          "VkImageCreateInfo::format is %s: %s", row->name, row->why);
    if ((uint32_t)ask->texels > CULV_TEXELS_NORMALIZED)
        return culvi_fail(voice, ask->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "texels is %u, which is no culv_texels", (unsigned)ask->texels);
    return culvi_format_supported(vk->device, row, ask->texels, ask->label);
}

/* Some Vulkans have such images with layers; what CUDA maps of them no text says. */
static culv_result check_planes(const culv_vk *vk, const char *label, const VkImageCreateInfo *info,
                                const culvi_vk_verdict *verdict)
{
    const culvi_format *row = verdict->format;
    const char *rule = NULL;
    if (verdict->access != CULV_VK_ACCESS_ARRAY ||
        (row->planes == 1 && row->kind != CULV_TEXEL_KIND_SUBSAMPLED))
        return CULV_OK;
    if (info->imageType != VK_IMAGE_TYPE_2D)
        rule = "imageType 2D; take VK_IMAGE_TYPE_2D";
    else if (info->flags & VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT)
        rule = "no CUBE_COMPATIBLE in flags; create it without";
    else if (info->arrayLayers != 1)
        rule = "arrayLayers 1; take an image for each layer";
    else if (info->mipLevels != 1)
        rule = "mipLevels 1; take an image for each level";
    if (rule == NULL) return CULV_OK;
    return culvi_fail(&vk->device->voice, label, CULV_ERROR_INVALID, CULV_REASON_EXTENT,
                      "VkImageCreateInfo has format %s, imageType %d, flags %#" PRIx32
                      ", arrayLayers %" PRIu32 " and mipLevels %" PRIu32
                      "; images of several planes and of 4:2:2 pairs are shared with %s",
                      row->name, (int)info->imageType, info->flags, info->arrayLayers, info->mipLevels, rule);
}

/* VUID-VkImageCreateInfo-format-04712 and -04713, which no answer of Vulkan's tells: chroma at half the size has whole
 * texels. */
culv_result culvi_vk_check_chroma(const culv_vk *vk, const char *label, const VkImageCreateInfo *info,
                                  const culvi_format *row)
{
    uint32_t across = 1, down = 1;
    culvi_format_divisors(row, &across, &down);
    if (info->extent.width % across == 0 && info->extent.height % down == 0) return CULV_OK;
    return culvi_fail(&vk->device->voice, label, CULV_ERROR_INVALID, CULV_REASON_EXTENT,
                      "VkImageCreateInfo::extent is %" PRIu32 " x %" PRIu32
                      "; %s has a width that is a multiple of %" PRIu32
                      " and a height that is one of %" PRIu32,
                      info->extent.width, info->extent.height, row->name, across, down);
}

/* R16: from the create info, never from a view. Every default is made explicit. */
culv_image_desc culvi_vk_describe_image(const VkImageCreateInfo *info, const culvi_vk_ask *ask,
                                        const culvi_format *row)
{
    /* VK_IMAGE_USAGE_VIDEO_DECODE_... and VIDEO_ENCODE_...; older headers lack the latter. */
    const VkImageUsageFlags video = 0xfc00;
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
    d.attachment = (info->usage & VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT) != 0;
    d.video = (info->usage & video) != 0 &&
              (row->kind == CULV_TEXEL_KIND_PLANES || row->kind == CULV_TEXEL_KIND_SUBSAMPLED);
    d.no_surfaces = ask->no_surfaces || (row->planes == 1 && !row->surfaces);
    return d;
}

static culv_result not_exported(const culv_vk *vk, const char *label, const VkImageCreateInfo *info,
                                const culvi_vk_verdict *verdict, const culvi_vk_answer *a)
{
    char buffer[512] = "";
    culvi_text text = {buffer, sizeof buffer, 0};
    if (a->culprits != 0) {
        culvi_text_add(&text, "; it does without ");
        culvi_vk_usage_text(a->culprits, &text);
        culvi_text_add(&text, " in usage");
    } else if (a->exists)
        culvi_text_add(&text,
                       ", though it makes such images that are not shared; copy to and from one that is");
    else
        culvi_text_add(&text,
                       ", nor any that are not shared: format, imageType, tiling, usage and flags do not go "
                       "together on this device");
    return culvi_fail_native(&vk->device->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_NOT_EXPORTABLE,
                             CULV_API_VULKAN, a->result, "vkGetPhysicalDeviceImageFormatProperties2",
                             "'%s' exports no %s images of imageType %d with tiling %d, flags %#" PRIx32
                             " and usage %#" PRIx32 " as %s%s",
                             vk->name, verdict->format != NULL ? verdict->format->name : "such",
                             (int)info->imageType, (int)info->tiling, info->flags, info->usage,
                             culvi_handle_type_name(verdict->handle_type), buffer);
}

culv_result culvi_vk_check_image_size(const culv_vk *vk, const char *label, const VkImageCreateInfo *info,
                                      const culvi_vk_verdict *verdict)
{
    const culvi_voice *voice = &vk->device->voice;
    const VkImageFormatProperties *most = &verdict->most;
    const VkExtent3D *e = &info->extent;
    if (e->width > most->maxExtent.width || e->height > most->maxExtent.height ||
        e->depth > most->maxExtent.depth)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_EXTENT,
                          "VkImageCreateInfo::extent is %" PRIu32 " x %" PRIu32 " x %" PRIu32
                          "; '%s' has such images of up to %" PRIu32 " x %" PRIu32 " x %" PRIu32 " texels",
                          e->width, e->height, e->depth, vk->name, most->maxExtent.width,
                          most->maxExtent.height, most->maxExtent.depth);
    if (info->mipLevels == 0 || info->mipLevels > most->maxMipLevels)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_EXTENT,
                          "VkImageCreateInfo::mipLevels is %" PRIu32 "; such an image of %" PRIu32
                          " x %" PRIu32 " x %" PRIu32 " texels has 1 to %" PRIu32 " levels on '%s'",
                          info->mipLevels, e->width, e->height, e->depth, most->maxMipLevels, vk->name);
    if (info->arrayLayers > most->maxArrayLayers)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_EXTENT,
                          "VkImageCreateInfo::arrayLayers is %" PRIu32
                          "; '%s' has such images of up to %" PRIu32 " layers",
                          info->arrayLayers, vk->name, most->maxArrayLayers);
    uint64_t least = culvi_image_least_size(verdict->format, e->width, e->height, e->depth, info->arrayLayers,
                                            info->mipLevels);
    if (least > most->maxResourceSize)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_EXTENT,
                          "VkImageCreateInfo::extent is %" PRIu32 " x %" PRIu32 " x %" PRIu32
                          ", arrayLayers %" PRIu32 " and mipLevels %" PRIu32 ": %" PRIu64
                          " bytes or more, and '%s' has images of up to %" PRIu64,
                          e->width, e->height, e->depth, info->arrayLayers, info->mipLevels, least, vk->name,
                          most->maxResourceSize);
    return CULV_OK;
}

static culv_result check_answers(culv_vk *vk, const culvi_vk_ask *ask, const VkImageCreateInfo *info,
                                 VkExternalMemoryHandleTypeFlags external, culvi_vk_verdict *out)
{
    culvi_vk_answer a;
    culv_result result = culvi_vk_ask_image_sharing(vk, ask->label, info, out->vk_handle_type, &a);
    if (result != CULV_OK) return result;
    VkExternalMemoryFeatureFlags features = a.external.externalMemoryFeatures;
    if (!(features & VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT))
        return not_exported(vk, ask->label, info, out, &a);
    out->dedicated_only = (features & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT) != 0;
    result = culvi_vk_check_compatible(vk, ask->label, "Image", external, out, &a.external);
    if (result != CULV_OK) return result;
    uint32_t levels = culvi_image_most_levels(info->extent.width, info->extent.height, info->extent.depth);
    out->most = a.most;
    out->most.sampleCounts = VK_SAMPLE_COUNT_1_BIT;
    if (out->most.maxMipLevels > levels) out->most.maxMipLevels = levels;
    result = culvi_vk_check_image_size(vk, ask->label, info, out);
    if (result != CULV_OK || out->access != CULV_VK_ACCESS_ARRAY) return result;
    out->image = culvi_vk_describe_image(info, ask, out->format);
    return culvi_vk_check_limits(vk, ask->label, &out->image, !out->image.no_surfaces, &out->most);
}

culv_result culvi_vk_check_image(culv_vk *vk, const culvi_vk_ask *ask, const VkImageCreateInfo *info,
                                 culvi_vk_verdict *out)
{
    const char *label = ask->label;
    memset(out, 0, sizeof *out);
    if (info->sType != VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO)
        return culvi_fail(&vk->device->voice, label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "create_info->sType is %d, not VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO",
                          (int)info->sType);
    culv_result result = culvi_vk_check_unique(vk, label, "Image", info->pNext);
    if (result == CULV_OK) result = check_tiling(vk, ask, info, &out->access);
    if (result == CULV_OK) result = culvi_vk_check_handle_type(vk, ask, out);
    if (result == CULV_OK) result = check_kind(vk, label, info);
    if (result == CULV_OK) result = check_shape(vk, label, info);
    if (result == CULV_OK) result = check_chain(vk, label, info);
    if (result == CULV_OK) result = check_format(vk, ask, info, out);
    if (result == CULV_OK) result = check_planes(vk, label, info, out);
    if (result == CULV_OK) result = culvi_vk_check_chroma(vk, label, info, out->format);
    if (result != CULV_OK) return result;
    const VkExternalMemoryImageCreateInfo *external =
        culvi_vk_chain_find(info->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO);
    VkExternalMemoryHandleTypeFlags types = external != NULL ? external->handleTypes : 0;
    result = culvi_vk_check_external(vk, ask, "Image", external != NULL, types, out);
    if (result != CULV_OK) return result;
    return check_answers(vk, ask, info, types, out);
}
