/* SPDX-License-Identifier: MIT */
/* The gate of dma-bufs: what is missing, and why. */
#include "base/alloc.h"
#include "base/desc.h"
#include "vulkan/vk_dma_buf.h"
#include "vulkan/vk_export.h"
#include "vulkan/vk_trace.h"

#include <inttypes.h>
#include <string.h>

static const char desc_name[] = "culv_vk_dma_buf_desc";

uint32_t culv_vk_dma_buf_extensions(uint32_t api_version, uint32_t capacity, const char **out_names)
{
    static const char *const names[] = {VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME,
                                        VK_EXT_IMAGE_DRM_FORMAT_MODIFIER_EXTENSION_NAME,
                                        VK_EXT_QUEUE_FAMILY_FOREIGN_EXTENSION_NAME,
                                        VK_KHR_IMAGE_FORMAT_LIST_EXTENSION_NAME};
    const uint32_t count = api_version < VK_API_VERSION_1_2 ? 4 : 3;
    for (uint32_t i = 0; i < count && i < capacity && out_names != NULL; i++)
        out_names[i] = names[i];
    return count;
}

VkImageUsageFlags culvi_vk_dma_buf_usage(culv_vk_dma_buf_direction direction)
{
    return direction == CULV_VK_DMA_BUF_IN ? VK_IMAGE_USAGE_TRANSFER_SRC_BIT
                                           : VK_IMAGE_USAGE_TRANSFER_DST_BIT;
}

/* The device offers all, and the VkDevice has the one that shows by a function. */
static culv_result check_extensions(const culv_vk_device *vk, const char *label)
{
    const char *names[4];
    const uint32_t count = culv_vk_dma_buf_extensions(VK_API_VERSION_1_2, 4, names);
    const culvi_voice *voice = &vk->base.device->voice;
    for (uint32_t i = 0; i < count; i++) {
        bool has = false;
        culv_result result = culvi_vk_has_extension(vk, label, names[i], &has);
        if (result != CULV_OK) return result;
        if (!has)
            return culvi_fail(
                voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_EXTENSION_MISSING,
                "'%s' has no %s, so no dma-buf can be bridged here (NVIDIA's driver has it where there is a DRM node); "
                "copy by way of host memory",
                vk->base.name, names[i]);
    }
    if (vk->table.vkGetImageDrmFormatModifierPropertiesEXT != NULL &&
        culvi_vk_tells_handle_types(vk) && vk->table.vkCmdCopyImage != NULL &&
        vk->instance.vkGetPhysicalDeviceFormatProperties2 != NULL)
        return CULV_OK;
    return culvi_fail(voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_EXTENSION_MISSING,
                      "the VkDevice of '%s' was created without %s; "
                      "enable what culv_vk_dma_buf_extensions() lists",
                      vk->base.name,
                      !culvi_vk_tells_handle_types(vk)
                          ? culvi_vk_memory_extension
                          : VK_EXT_IMAGE_DRM_FORMAT_MODIFIER_EXTENSION_NAME);
}

/* The modifiers that the device has for a format at all: allocated. */
static culv_result list_modifiers(const culv_vk_device *vk, const char *label, VkFormat format,
                                  uint32_t *count, VkDrmFormatModifierPropertiesEXT **out)
{
    VkDrmFormatModifierPropertiesListEXT list = {
        .sType = VK_STRUCTURE_TYPE_DRM_FORMAT_MODIFIER_PROPERTIES_LIST_EXT};
    VkFormatProperties2 properties = {.sType = VK_STRUCTURE_TYPE_FORMAT_PROPERTIES_2,
                                      .pNext = &list};
    CULVI_VKI_DO(&vk->instance, vkGetPhysicalDeviceFormatProperties2,
                 (vk->physical_device, format, &properties));
    const uint32_t room = list.drmFormatModifierCount;
    list.pDrmFormatModifierProperties =
        culvi_alloc((room + 1) * sizeof *list.pDrmFormatModifierProperties);
    if (list.pDrmFormatModifierProperties == NULL)
        return culvi_fail_host_memory(&vk->base.device->voice, label);
    if (room > 0)
        CULVI_VKI_DO(&vk->instance, vkGetPhysicalDeviceFormatProperties2,
                     (vk->physical_device, format, &properties));
    *count = list.drmFormatModifierCount < room ? list.drmFormatModifierCount : room;
    *out = list.pDrmFormatModifierProperties;
    return CULV_OK;
}

static bool copies(const VkDrmFormatModifierPropertiesEXT *m, culv_vk_dma_buf_direction direction)
{
    const VkFormatFeatureFlags wanted = direction == CULV_VK_DMA_BUF_IN
                                            ? VK_FORMAT_FEATURE_TRANSFER_SRC_BIT
                                            : VK_FORMAT_FEATURE_TRANSFER_DST_BIT;
    return (m->drmFormatModifierTilingFeatures & wanted) != 0 &&
           m->drmFormatModifierPlaneCount <= CULV_VK_DMA_BUF_PLANES;
}

/* What Vulkan says of such images: *out_features 0, where it has none of them. */
static culv_result ask_image(const culv_vk_device *vk, const char *label, VkFormat format,
                             uint64_t modifier, culv_vk_dma_buf_direction direction,
                             VkExternalMemoryFeatureFlags *out_features, VkExtent3D *out_most)
{
    VkPhysicalDeviceImageDrmFormatModifierInfoEXT which = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_DRM_FORMAT_MODIFIER_INFO_EXT,
        .drmFormatModifier = modifier,
        .sharingMode = VK_SHARING_MODE_EXCLUSIVE};
    VkPhysicalDeviceExternalImageFormatInfo shared = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_IMAGE_FORMAT_INFO,
        .pNext = &which,
        .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT};
    VkPhysicalDeviceImageFormatInfo2 info = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2,
        .pNext = &shared,
        .format = format,
        .type = VK_IMAGE_TYPE_2D,
        .tiling = VK_IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT,
        .usage = culvi_vk_dma_buf_usage(direction)};
    VkExternalImageFormatProperties external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_IMAGE_FORMAT_PROPERTIES};
    VkImageFormatProperties2 properties = {.sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2,
                                           .pNext = &external};
    VkResult r = CULVI_VKI(&vk->instance, vkGetPhysicalDeviceImageFormatProperties2,
                           (vk->physical_device, &info, &properties));
    *out_features = 0;
    if (r == VK_ERROR_FORMAT_NOT_SUPPORTED) return CULV_OK;
    if (r != VK_SUCCESS)
        return culvi_fail_vk(&vk->base.device->voice, label, r,
                             "vkGetPhysicalDeviceImageFormatProperties2",
                             CULV_REASON_DRIVER_REFUSED,
                             "'%s' could not be asked for images with the modifier %#" PRIx64,
                             vk->base.name, modifier);
    *out_features = external.externalMemoryProperties.externalMemoryFeatures;
    *out_most = properties.imageFormatProperties.maxExtent;
    return CULV_OK;
}

/* The format of a descriptor. */
static culv_result find_format(const culv_vk_device *vk, culvi_vk_dma_buf_plan *p)
{
    const culvi_voice *voice = &vk->base.device->voice;
    const culv_vk_dma_buf_desc *d = &p->d;
    culv_drm_format_info info = culv_drm_format_info_init();
    if ((d->fourcc == 0) == (d->format == VK_FORMAT_UNDEFINED))
        return culvi_fail(voice, d->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "%s.fourcc and .format are %s; give one of them", desc_name,
                          d->fourcc == 0 ? "both 0" : "both given");
    p->format = d->format;
    if (d->fourcc != 0) {
        culv_result result = culv_drm_format_get_info(d->fourcc, &info);
        if (result != CULV_OK) return result;
        if (info.planes > 1)
            return culvi_fail(
                voice, d->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT,
                "the DRM format '%s' has %u planes; make a bridge for each, with the plane's "
                "offset and pitch: '%s', and '%s' with the width divided by %u and the height by "
                "%u (culv_drm_format_get_info())",
                culvi_fourcc_name(d->fourcc).text, (unsigned)info.planes,
                culvi_fourcc_name(info.plane_fourccs[0]).text,
                culvi_fourcc_name(info.plane_fourccs[1]).text, (unsigned)info.chroma_across,
                (unsigned)info.chroma_down);
        p->format = (VkFormat)info.format;
    }
    p->row = culvi_format_find((uint32_t)p->format);
    if (p->row == NULL || p->row->planes > 1 || p->row->block_width != 1 ||
        p->row->block_height != 1 || p->row->aspects != VK_IMAGE_ASPECT_COLOR_BIT)
        return culvi_fail(voice, d->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT,
                          "%s.format is %d (%s); a bridge takes colors of one plane without blocks",
                          desc_name, (int)p->format, p->row != NULL ? p->row->name : "unknown");
    if (d->to_buffer || p->row->mapped) return CULV_OK;
    return culvi_fail(voice, d->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT,
                      "no CUDA array has the format %s; set %s.to_buffer to get its rows",
                      p->row->name, desc_name);
}

/* What the handle's side says of each plane. */
static culv_result check_planes(const culv_vk_device *vk, const culvi_vk_dma_buf_plan *p)
{
    const culvi_voice *voice = &vk->base.device->voice;
    const culv_vk_dma_buf_desc *d = &p->d;
    if (d->num_planes == 0 || d->num_planes > CULV_VK_DMA_BUF_PLANES)
        return culvi_fail(voice, d->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "%s.num_planes is %" PRIu32 "; a dma-buf image has 1 to %d", desc_name,
                          d->num_planes, CULV_VK_DMA_BUF_PLANES);
    if (d->modifier == CULVI_DRM_MOD_INVALID)
        return culvi_fail(
            voice, d->label, CULV_ERROR_INVALID, CULV_REASON_MODIFIER,
            "%s.modifier is DRM_FORMAT_MOD_INVALID; ask the maker of the dma-buf for an explicit "
            "modifier, or for LINEAR",
            desc_name);
    for (uint32_t i = 0; i < d->num_planes; i++)
        if (d->plane_pitches[i] > UINT64_MAX / d->height ||
            d->plane_offsets[i] > UINT64_MAX - d->plane_pitches[i] * d->height)
            return culvi_fail(voice, d->label, CULV_ERROR_INVALID, CULV_REASON_RANGE,
                              "%s: offset %" PRIu64 " and %" PRIu32 " rows of %" PRIu64
                              " bytes overflow",
                              desc_name, d->plane_offsets[i], d->height, d->plane_pitches[i]);
    const uint64_t row_bytes = (uint64_t)d->width * p->row->block_bytes;
    if (d->plane_pitches[0] >= row_bytes) return CULV_OK;
    return culvi_fail(voice, d->label, CULV_ERROR_INVALID, CULV_REASON_RANGE,
                      "%s.plane_pitches[0] is %" PRIu64 ", but a row of %" PRIu32
                      " texels has %" PRIu64 " bytes",
                      desc_name, d->plane_pitches[0], d->width, row_bytes);
}

static culv_result check_desc(const culv_vk_device *vk, culvi_vk_dma_buf_plan *p)
{
    const culvi_voice *voice = &vk->base.device->voice;
    const culv_vk_dma_buf_desc *d = &p->d;
    const char *wrong = NULL;
    p->imported = d->handle.type != CULV_HANDLE_NONE;
    if (d->direction != CULV_VK_DMA_BUF_IN && d->direction != CULV_VK_DMA_BUF_OUT)
        wrong = "direction is neither IN nor OUT";
    else if (d->queue_family >= vk->queue_families)
        wrong = "queue_family is no family of this device; set that of the queue that copies";
    else if (!p->imported && d->direction == CULV_VK_DMA_BUF_IN)
        wrong = "handle is none; what others write is theirs, pass its file descriptor";
    else if (!p->imported && (d->num_modifiers == 0 || d->modifiers == NULL))
        wrong = "handle and modifiers are none; pass a dma-buf, or the modifiers to make one with";
    else if (p->imported && (d->num_modifiers != 0 || d->modifiers != NULL))
        wrong = "handle and modifiers are both given; a dma-buf has the one in `modifier`";
    if (wrong != NULL)
        return culvi_fail(voice, d->label, CULV_ERROR_INVALID, CULV_REASON_VALUE, "%s: %s",
                          desc_name, wrong);
    if (d->width == 0 || d->height == 0)
        return culvi_fail(voice, d->label, CULV_ERROR_INVALID, CULV_REASON_EXTENT,
                          "%s: the extent is %" PRIu32 " x %" PRIu32, desc_name, d->width,
                          d->height);
    culv_result result =
        p->imported ? culvi_handle_use_check(voice, d->label, "culv_vk_dma_buf_desc.handle.type",
                                             d->handle.type, CULVI_USE_VK_MEMORY)
                    : CULV_OK;
    if (result == CULV_OK && p->imported && d->handle.type != CULV_HANDLE_DMA_BUF_FD)
        return culvi_fail(voice, d->label, CULV_ERROR_INVALID, CULV_REASON_HANDLE_TYPE,
                          "%s.handle is %s; a bridge takes DMA_BUF_FD, and CUDA maps the other "
                          "types without one",
                          desc_name, culvi_handle_type_name(d->handle.type));
    if (result == CULV_OK) result = find_format(vk, p);
    if (result == CULV_OK && p->imported) result = check_planes(vk, p);
    if (result == CULV_OK) result = culvi_vk_dma_buf_check_direct(vk, p);
    return result;
}

static const VkDrmFormatModifierPropertiesEXT *find(const VkDrmFormatModifierPropertiesEXT *list,
                                                    uint32_t count, uint64_t modifier)
{
    for (uint32_t i = 0; i < count; i++)
        if (list[i].drmFormatModifier == modifier) return &list[i];
    return NULL;
}

culv_result culvi_vk_dma_buf_planes(const culv_vk_device *vk, const char *label, VkFormat format,
                                    uint64_t modifier, uint32_t *out)
{
    uint32_t count = 0;
    VkDrmFormatModifierPropertiesEXT *list = NULL;
    culv_result result = list_modifiers(vk, label, format, &count, &list);
    if (result != CULV_OK) return result;
    const VkDrmFormatModifierPropertiesEXT *m = find(list, count, modifier);
    *out = m != NULL ? m->drmFormatModifierPlaneCount : 1;
    culvi_free(list);
    return CULV_OK;
}

static culv_result check_extent(const culv_vk_device *vk, const culvi_vk_dma_buf_plan *p,
                                uint64_t modifier, VkExtent3D most)
{
    const culv_vk_dma_buf_desc *d = &p->d;
    if (d->width <= most.width && d->height <= most.height) return CULV_OK;
    return culvi_fail(&vk->base.device->voice, d->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_EXTENT,
                      "%" PRIu32 " x %" PRIu32 " texels are more than the %" PRIu32 " x %" PRIu32
                      " that '%s' has with the modifier %#" PRIx64,
                      d->width, d->height, most.width, most.height, vk->base.name, modifier);
}

/* The modifier of a dma-buf that exists. */
static culv_result check_given(const culv_vk_device *vk, const culvi_vk_dma_buf_plan *p,
                               const VkDrmFormatModifierPropertiesEXT *list, uint32_t count)
{
    const culvi_voice *voice = &vk->base.device->voice;
    const culv_vk_dma_buf_desc *d = &p->d;
    VkExternalMemoryFeatureFlags features = 0;
    VkExtent3D most = {0};
    const VkDrmFormatModifierPropertiesEXT *m = find(list, count, d->modifier);
    if (m == NULL || !copies(m, d->direction))
        return culvi_fail(
            voice, d->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_MODIFIER,
            m == NULL ? "'%s' has no images of the format %s with the modifier %#" PRIx64
                        "; agree with the other side on one of culv_vk_dma_buf_get_modifiers()"
                      : "'%s' copies no images of the format %s with the modifier %#" PRIx64
                        "; agree with the other side on one of culv_vk_dma_buf_get_modifiers()",
            vk->base.name, p->row->name, d->modifier);
    if (m->drmFormatModifierPlaneCount != d->num_planes)
        return culvi_fail(voice, d->label, CULV_ERROR_INVALID, CULV_REASON_MODIFIER,
                          "%s.num_planes is %" PRIu32 ", but images of the format %s with the "
                          "modifier %#" PRIx64 " have %" PRIu32 " memory planes",
                          desc_name, d->num_planes, p->row->name, d->modifier,
                          m->drmFormatModifierPlaneCount);
    culv_result result =
        ask_image(vk, d->label, p->format, d->modifier, d->direction, &features, &most);
    if (result != CULV_OK) return result;
    if (most.width == 0)
        return culvi_fail(voice, d->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_MODIFIER,
                          "'%s' lists the modifier %#" PRIx64 " for the format %s, but has no such "
                          "images that are dma-bufs to copy %s",
                          vk->base.name, d->modifier, p->row->name,
                          d->direction == CULV_VK_DMA_BUF_IN ? "from" : "to");
    if (!(features & VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT))
        return culvi_fail(voice, d->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_NOT_EXPORTABLE,
                          "'%s' imports no dma-buf of the format %s with the modifier %#" PRIx64,
                          vk->base.name, p->row->name, d->modifier);
    return check_extent(vk, p, d->modifier, most);
}

/* Finds which of the caller's modifiers can make a dma-buf. */
static culv_result choose(const culv_vk_device *vk, culvi_vk_dma_buf_plan *p,
                          const VkDrmFormatModifierPropertiesEXT *list, uint32_t count)
{
    const culvi_voice *voice = &vk->base.device->voice;
    const culv_vk_dma_buf_desc *d = &p->d;
    bool exists = false, large = false;
    p->modifiers = culvi_alloc(d->num_modifiers * sizeof *p->modifiers);
    if (p->modifiers == NULL) return culvi_fail_host_memory(voice, d->label);
    for (uint32_t i = 0; i < d->num_modifiers; i++) {
        VkExternalMemoryFeatureFlags features = 0;
        VkExtent3D most = {0};
        const VkDrmFormatModifierPropertiesEXT *m = find(list, count, d->modifiers[i]);
        if (m == NULL || !copies(m, d->direction)) continue;
        culv_result result =
            ask_image(vk, d->label, p->format, d->modifiers[i], d->direction, &features, &most);
        if (result != CULV_OK) return result;
        exists = exists || most.width > 0;
        if (!(features & VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT)) continue;
        large = large || d->width > most.width || d->height > most.height;
        if (d->width <= most.width && d->height <= most.height)
            p->modifiers[p->num_modifiers++] = d->modifiers[i];
    }
    if (p->num_modifiers > 0) return CULV_OK;
    return culvi_fail(
        voice, d->label, CULV_ERROR_UNSUPPORTED,
        large    ? CULV_REASON_EXTENT
        : exists ? CULV_REASON_NOT_EXPORTABLE
                 : CULV_REASON_MODIFIER,
        "'%s' makes no dma-buf of %" PRIu32 " x %" PRIu32
        " texels of the format %s with one of the %" PRIu32 " modifiers: %s",
        vk->base.name, d->width, d->height, p->row->name, d->num_modifiers,
        large    ? "it has no images of that extent"
        : exists ? "it has such images but does not export them; let the other side make one"
                 : "it has none of them for copies (culv_vk_dma_buf_get_modifiers())");
}

culv_result culvi_vk_dma_buf_plan_make(culv_vk_device *vk, const culv_vk_dma_buf_desc *desc,
                                       bool import, culvi_vk_dma_buf_plan *out)
{
    uint32_t count = 0;
    VkDrmFormatModifierPropertiesEXT *list = NULL;
    memset(out, 0, sizeof *out);
    culv_result result =
        culvi_desc_read(&vk->base.device->voice, &out->d, sizeof out->d, desc, desc_name);
    if (result == CULV_OK) result = check_desc(vk, out);
    if (result == CULV_OK && import) result = culvi_vk_dma_buf_try_direct(vk, out);
    if (result != CULV_OK || out->direct != NULL) return result;
    result = check_extensions(vk, out->d.label);
    if (result == CULV_OK) result = list_modifiers(vk, out->d.label, out->format, &count, &list);
    if (result == CULV_OK)
        result = out->imported ? check_given(vk, out, list, count) : choose(vk, out, list, count);
    culvi_free(list);
    return result;
}

culv_result culv_vk_check_dma_buf(culv_vk_device *vk, const culv_vk_dma_buf_desc *desc)
{
    culvi_vk_dma_buf_plan plan;
    CULVI_REQUIRE(NULL, vk);
    CULVI_REQUIRE(&vk->base.device->voice, desc);
    culv_result result = culvi_vk_dma_buf_plan_make(vk, desc, false, &plan);
    culvi_free(plan.modifiers);
    return result;
}

/* Leaves in `list` those that can be bridged. */
static culv_result keep_bridged(const culv_vk_device *vk, VkFormat format,
                                culv_vk_dma_buf_direction direction,
                                VkDrmFormatModifierPropertiesEXT *list, uint32_t *count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < *count; i++) {
        VkExternalMemoryFeatureFlags features = 0;
        VkExtent3D most = {0};
        if (!copies(&list[i], direction)) continue;
        culv_result result =
            ask_image(vk, NULL, format, list[i].drmFormatModifier, direction, &features, &most);
        if (result != CULV_OK) return result;
        if (features & VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT) list[kept++] = list[i];
    }
    *count = kept;
    return CULV_OK;
}

culv_result culv_vk_dma_buf_get_modifiers(culv_vk_device *vk, uint32_t fourcc,
                                          culv_vk_dma_buf_direction direction, uint64_t *modifiers,
                                          uint32_t *planes, uint32_t capacity, uint32_t *count)
{
    CULVI_REQUIRE(NULL, vk);
    const culvi_voice *voice = &vk->base.device->voice;
    CULVI_REQUIRE(voice, count);
    culv_drm_format_info info = culv_drm_format_info_init();
    VkDrmFormatModifierPropertiesEXT *list = NULL;
    uint32_t found = 0;
    if (direction != CULV_VK_DMA_BUF_IN && direction != CULV_VK_DMA_BUF_OUT)
        return culvi_fail(voice, NULL, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "%s: direction is neither IN nor OUT", __func__);
    culv_result result = culv_drm_format_get_info(fourcc, &info);
    if (result == CULV_OK) result = check_extensions(vk, NULL);
    if (result == CULV_OK) result = list_modifiers(vk, NULL, (VkFormat)info.format, &found, &list);
    if (result == CULV_OK)
        result = keep_bridged(vk, (VkFormat)info.format, direction, list, &found);
    for (uint32_t i = 0; result == CULV_OK && i < found && i < capacity; i++) {
        if (modifiers != NULL) modifiers[i] = list[i].drmFormatModifier;
        if (planes != NULL) planes[i] = list[i].drmFormatModifierPlaneCount;
    }
    culvi_free(list);
    if (result == CULV_OK) *count = found;
    return result;
}
