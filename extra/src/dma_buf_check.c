/* SPDX-License-Identifier: MIT */
/* The gate of dma-bufs: what is missing, and why. */
#include "dma_buf.h"

#define MOD_INVALID UINT64_C(0x00ffffffffffffff) /* drm_fourcc.h, which is not everywhere */

VkImageUsageFlags culvi_dma_buf_usage(culv_vk_dma_buf_direction direction)
{
    return direction == CULV_VK_DMA_BUF_IN ? VK_IMAGE_USAGE_TRANSFER_SRC_BIT
                                           : VK_IMAGE_USAGE_TRANSFER_DST_BIT;
}

culv_result culvi_dma_buf_check_extensions(const culvi_x_vk *vk, const char *label)
{
    static const char *const names[] = {VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME,
                                        VK_EXT_IMAGE_DRM_FORMAT_MODIFIER_EXTENSION_NAME,
                                        VK_EXT_QUEUE_FAMILY_FOREIGN_EXTENSION_NAME};
    const PFN_vkEnumerateDeviceExtensionProperties list =
        CULVI_X_VKI(vk, vkEnumerateDeviceExtensionProperties);
    uint32_t count = 0;
    VkResult r = list(vk->d.physical_device, NULL, &count, NULL);
    VkExtensionProperties *all = culvi_x_alloc((count + 1) * sizeof *all);
    if (all == NULL) return culvi_x_fail_host_memory(vk->device, label);
    if (r == VK_SUCCESS) r = list(vk->d.physical_device, NULL, &count, all);
    culv_result result = CULV_OK;
    if (r != VK_SUCCESS && r != VK_INCOMPLETE)
        result = culvi_x_fail_vk(
            vk, label, r, "vkEnumerateDeviceExtensionProperties", CULV_REASON_DRIVER_REFUSED,
            "'%s' could not be asked for its extensions", culvi_x_vk_name(vk).text);
    for (size_t i = 0; result == CULV_OK && i < sizeof names / sizeof names[0]; i++) {
        uint32_t at = 0;
        while (at < count && strcmp(all[at].extensionName, names[i]) != 0)
            at++;
        if (at == count)
            result = culvi_x_fail(
                vk->device, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_EXTENSION_MISSING,
                "'%s' has no %s, so no dma-buf can be bridged here (NVIDIA's driver has it where there is a DRM node); copy by way of host memory",
                culvi_x_vk_name(vk).text, names[i]);
    }
    culvi_x_free(all);
    if (result != CULV_OK || CULVI_X_VK(vk, vkGetImageDrmFormatModifierPropertiesEXT) != NULL)
        return result;
    return culvi_x_fail(
        vk->device, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_EXTENSION_MISSING,
        "the VkDevice of '%s' was created without %s; enable CULV_VK_DMA_BUF_EXTENSIONS",
        culvi_x_vk_name(vk).text, names[1]);
}

culv_result culvi_dma_buf_modifiers(const culvi_x_vk *vk, const char *label, VkFormat format,
                                    uint32_t *count, VkDrmFormatModifierPropertiesEXT **out)
{
    const PFN_vkGetPhysicalDeviceFormatProperties2 ask =
        CULVI_X_VKI(vk, vkGetPhysicalDeviceFormatProperties2);
    VkDrmFormatModifierPropertiesListEXT list = {
        .sType = VK_STRUCTURE_TYPE_DRM_FORMAT_MODIFIER_PROPERTIES_LIST_EXT};
    VkFormatProperties2 properties = {.sType = VK_STRUCTURE_TYPE_FORMAT_PROPERTIES_2,
                                      .pNext = &list};
    ask(vk->d.physical_device, format, &properties);
    const uint32_t room = list.drmFormatModifierCount;
    *out = list.pDrmFormatModifierProperties = culvi_x_alloc((room + 1) * sizeof **out);
    if (*out == NULL) return culvi_x_fail_host_memory(vk->device, label);
    if (room > 0) ask(vk->d.physical_device, format, &properties);
    *count = list.drmFormatModifierCount < room ? list.drmFormatModifierCount : room;
    return CULV_OK;
}

const VkDrmFormatModifierPropertiesEXT *
culvi_dma_buf_find_modifier(const VkDrmFormatModifierPropertiesEXT *list, uint32_t count,
                            uint64_t modifier)
{
    for (uint32_t i = 0; i < count; i++)
        if (list[i].drmFormatModifier == modifier) return &list[i];
    return NULL;
}

static bool copies(const VkDrmFormatModifierPropertiesEXT *m, culv_vk_dma_buf_direction direction)
{
    const VkFormatFeatureFlags wanted = direction == CULV_VK_DMA_BUF_IN
                                            ? VK_FORMAT_FEATURE_TRANSFER_SRC_BIT
                                            : VK_FORMAT_FEATURE_TRANSFER_DST_BIT;
    return m != NULL && (m->drmFormatModifierTilingFeatures & wanted) != 0 &&
           m->drmFormatModifierPlaneCount <= CULV_VK_DMA_BUF_PLANES;
}

culv_result culvi_dma_buf_ask(const culvi_x_vk *vk, const char *label, VkFormat format,
                              const VkDrmFormatModifierPropertiesEXT *modifier,
                              culv_vk_dma_buf_direction direction,
                              VkExternalMemoryFeatureFlags *out_features, VkExtent3D *out_most)
{
    *out_features = 0;
    *out_most = (VkExtent3D){0};
    if (!copies(modifier, direction)) return CULV_OK;
    VkPhysicalDeviceImageDrmFormatModifierInfoEXT which = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_DRM_FORMAT_MODIFIER_INFO_EXT,
        .drmFormatModifier = modifier->drmFormatModifier,
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
        .usage = culvi_dma_buf_usage(direction)};
    VkExternalImageFormatProperties external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_IMAGE_FORMAT_PROPERTIES};
    VkImageFormatProperties2 properties = {.sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2,
                                           .pNext = &external};
    VkResult r = CULVI_X_VKI(vk, vkGetPhysicalDeviceImageFormatProperties2)(vk->d.physical_device,
                                                                            &info, &properties);
    if (r == VK_ERROR_FORMAT_NOT_SUPPORTED) return CULV_OK;
    CULVI_X_TRY(culvi_x_vk_result(vk, label, r, "vkGetPhysicalDeviceImageFormatProperties2",
                                  CULV_REASON_DRIVER_REFUSED,
                                  "'%s' could not be asked for images with the modifier %#" PRIx64,
                                  culvi_x_vk_name(vk).text, modifier->drmFormatModifier));
    *out_features = external.externalMemoryProperties.externalMemoryFeatures;
    *out_most = properties.imageFormatProperties.maxExtent;
    return CULV_OK;
}

/* The format of a descriptor. */
static culv_result find_format(culv_vk_dma_buf_bridge *b)
{
    const culv_vk_dma_buf_desc *d = &b->d;
    culv_drm_format_info info = culv_drm_format_info_init();
    culv_format format = (culv_format)d->format;
    culv_result result = CULV_OK;
    CULVI_DMA_BUF_FAIL_IF((d->fourcc == 0) == (d->format == VK_FORMAT_UNDEFINED), b, INVALID, VALUE,
                          "culv_vk_dma_buf_desc.fourcc and .format are %s; give one of them",
                          d->fourcc == 0 ? "both 0" : "both given");
    if (d->fourcc != 0) {
        result = culv_drm_format_get_info(NULL, d->fourcc, &info);
        format = info.format;
    }
    CULVI_DMA_BUF_FAIL_IF(
        result == CULV_OK && info.planes > 1, b, UNSUPPORTED, FORMAT,
        "the DRM format '%s' has %u planes; make a bridge for each, with the plane's offset and pitch: '%s', and '%s' with the width divided by %u and the height by %u (culv_drm_format_get_info())",
        culvi_fourcc_name(d->fourcc).text, (unsigned)info.planes,
        culvi_fourcc_name(info.plane_fourccs[0]).text,
        culvi_fourcc_name(info.plane_fourccs[1]).text, (unsigned)info.chroma_across,
        (unsigned)info.chroma_down);
    b->format = culv_format_info_init();
    if (result == CULV_OK) result = culv_format_get_info(format, &b->format);
    if (result != CULV_OK) return result;
    CULVI_DMA_BUF_FAIL_IF(
        b->format.planes > 1 || b->format.block_width != 1 || b->format.block_height != 1 ||
            b->format.aspects != VK_IMAGE_ASPECT_COLOR_BIT,
        b, UNSUPPORTED, FORMAT,
        "culv_vk_dma_buf_desc.format is %s; a bridge takes colors of one plane without blocks",
        b->format.name);
    if (d->to_buffer || b->format.mapped) return CULV_OK;
    return CULVI_DMA_BUF_FAIL(
        b, UNSUPPORTED, FORMAT,
        "no CUDA array has the format %s; set culv_vk_dma_buf_desc.to_buffer to get its rows",
        b->format.name);
}

/* What the handle's side says of each plane. */
static culv_result check_planes(const culv_vk_dma_buf_bridge *b)
{
    const culv_vk_dma_buf_desc *d = &b->d;
    CULVI_DMA_BUF_FAIL_IF(
        d->num_planes == 0 || d->num_planes > CULV_VK_DMA_BUF_PLANES, b, INVALID, VALUE,
        "culv_vk_dma_buf_desc.num_planes is %" PRIu32 "; a dma-buf image has 1 to %d",
        d->num_planes, CULV_VK_DMA_BUF_PLANES);
    CULVI_DMA_BUF_FAIL_IF(
        d->modifier == MOD_INVALID, b, INVALID, MODIFIER,
        "culv_vk_dma_buf_desc.modifier is DRM_FORMAT_MOD_INVALID; ask the maker of the dma-buf for an explicit modifier, or for LINEAR");
    for (uint32_t i = 0; i < d->num_planes; i++)
        CULVI_DMA_BUF_FAIL_IF(d->plane_pitches[i] > UINT64_MAX / d->height ||
                                  d->plane_offsets[i] >
                                      UINT64_MAX - d->plane_pitches[i] * d->height,
                              b, INVALID, RANGE,
                              "culv_vk_dma_buf_desc: offset %" PRIu64 " and %" PRIu32
                              " rows of %" PRIu64 " bytes overflow",
                              d->plane_offsets[i], d->height, d->plane_pitches[i]);
    const uint64_t row_bytes = (uint64_t)d->width * b->format.bytes_per_block;
    if (d->plane_pitches[0] >= row_bytes) return CULV_OK;
    return CULVI_DMA_BUF_FAIL(b, INVALID, RANGE,
                              "culv_vk_dma_buf_desc.plane_pitches[0] is %" PRIu64
                              ", but a row of %" PRIu32 " texels has %" PRIu64 " bytes",
                              d->plane_pitches[0], d->width, row_bytes);
}

static culv_result check_desc(culv_vk_dma_buf_bridge *b)
{
    const culv_vk_dma_buf_desc *d = &b->d;
    const char *wrong = NULL;
    uint32_t families = 0;
    CULVI_X_VKI(&b->vk, vkGetPhysicalDeviceQueueFamilyProperties)
    (b->vk.d.physical_device, &families, NULL);
    b->imported = d->handle.type != CULV_HANDLE_NONE;
    if (d->direction != CULV_VK_DMA_BUF_IN && d->direction != CULV_VK_DMA_BUF_OUT)
        wrong = "direction is neither IN nor OUT";
    else if (d->queue_family >= families)
        wrong = "queue_family is no family of this device; set that of the queue that copies";
    else if (!b->imported && d->direction == CULV_VK_DMA_BUF_IN)
        wrong = "handle is none; what others write is theirs, pass its file descriptor";
    else if (!b->imported && (d->num_modifiers == 0 || d->modifiers == NULL))
        wrong = "handle and modifiers are none; pass a dma-buf, or the modifiers to make one with";
    else if (b->imported && (d->num_modifiers != 0 || d->modifiers != NULL))
        wrong = "handle and modifiers are both given; a dma-buf has the one in `modifier`";
    CULVI_DMA_BUF_FAIL_IF(wrong != NULL, b, INVALID, VALUE, "culv_vk_dma_buf_desc: %s", wrong);
    CULVI_DMA_BUF_FAIL_IF(d->width == 0 || d->height == 0, b, INVALID, EXTENT,
                          "culv_vk_dma_buf_desc: the extent is %" PRIu32 " x %" PRIu32, d->width,
                          d->height);
    CULVI_DMA_BUF_FAIL_IF(
        b->imported && d->handle.type != CULV_HANDLE_DMA_BUF_FD, b, INVALID, HANDLE_TYPE,
        "culv_vk_dma_buf_desc.handle has type %d; a bridge takes DMA_BUF_FD, and CUDA maps the other types without one",
        (int)d->handle.type);
    culv_result result = find_format(b);
    return result == CULV_OK && b->imported ? check_planes(b) : result;
}

/* The modifier of a dma-buf that exists. */
static culv_result check_given(const culv_vk_dma_buf_bridge *b,
                               const VkDrmFormatModifierPropertiesEXT *list, uint32_t count)
{
    const culv_vk_dma_buf_desc *d = &b->d;
    const VkDrmFormatModifierPropertiesEXT *m =
        culvi_dma_buf_find_modifier(list, count, d->modifier);
    VkExternalMemoryFeatureFlags features = 0;
    VkExtent3D most;
    CULVI_DMA_BUF_FAIL_IF(!copies(m, d->direction), b, UNSUPPORTED, MODIFIER,
                          "'%s' %s no images of the format %s with the modifier %#" PRIx64
                          "; agree with the other side on one of culv_drm_format_info::modifiers",
                          culvi_x_vk_name(&b->vk).text, m == NULL ? "has" : "copies",
                          b->format.name, d->modifier);
    CULVI_DMA_BUF_FAIL_IF(m->drmFormatModifierPlaneCount != d->num_planes, b, INVALID, MODIFIER,
                          "culv_vk_dma_buf_desc.num_planes is %" PRIu32
                          ", but images of the format %s with the modifier %#" PRIx64
                          " have %" PRIu32 " memory planes",
                          d->num_planes, b->format.name, d->modifier,
                          m->drmFormatModifierPlaneCount);
    CULVI_X_TRY(culvi_dma_buf_ask(&b->vk, b->label, (VkFormat)b->format.vk_format, m, d->direction,
                                  &features, &most));
    CULVI_DMA_BUF_FAIL_IF(most.width == 0, b, UNSUPPORTED, MODIFIER,
                          "'%s' lists the modifier %#" PRIx64
                          " for the format %s, but has no such images that are dma-bufs to copy %s",
                          culvi_x_vk_name(&b->vk).text, d->modifier, b->format.name,
                          d->direction == CULV_VK_DMA_BUF_IN ? "from" : "to");
    CULVI_DMA_BUF_FAIL_IF(!(features & VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT), b, UNSUPPORTED,
                          NOT_EXPORTABLE,
                          "'%s' imports no dma-buf of the format %s with the modifier %#" PRIx64,
                          culvi_x_vk_name(&b->vk).text, b->format.name, d->modifier);
    if (d->width <= most.width && d->height <= most.height) return CULV_OK;
    return CULVI_DMA_BUF_FAIL(b, UNSUPPORTED, EXTENT,
                              "%" PRIu32 " x %" PRIu32 " texels are more than the %" PRIu32
                              " x %" PRIu32 " that '%s' has with the modifier %#" PRIx64,
                              d->width, d->height, most.width, most.height,
                              culvi_x_vk_name(&b->vk).text, d->modifier);
}

/* Finds which of the caller's modifiers can make a dma-buf. */
static culv_result choose(culv_vk_dma_buf_bridge *b, const VkDrmFormatModifierPropertiesEXT *list,
                          uint32_t count)
{
    const culv_vk_dma_buf_desc *d = &b->d;
    bool exists = false, large = false;
    b->modifiers = culvi_x_alloc(d->num_modifiers * sizeof *b->modifiers);
    if (b->modifiers == NULL) return culvi_x_fail_host_memory(b->device, b->label);
    for (uint32_t i = 0; i < d->num_modifiers; i++) {
        VkExternalMemoryFeatureFlags features = 0;
        VkExtent3D most;
        CULVI_X_TRY(culvi_dma_buf_ask(&b->vk, b->label, (VkFormat)b->format.vk_format,
                                      culvi_dma_buf_find_modifier(list, count, d->modifiers[i]),
                                      d->direction, &features, &most));
        exists = exists || most.width > 0;
        if (!(features & VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT)) continue;
        large = large || d->width > most.width || d->height > most.height;
        if (d->width <= most.width && d->height <= most.height)
            b->modifiers[b->num_modifiers++] = d->modifiers[i];
    }
    if (b->num_modifiers > 0) return CULV_OK;
    return culvi_x_fail(
        b->device, b->label, CULV_ERROR_UNSUPPORTED,
        large    ? CULV_REASON_EXTENT
        : exists ? CULV_REASON_NOT_EXPORTABLE
                 : CULV_REASON_MODIFIER,
        "'%s' makes no dma-buf of %" PRIu32 " x %" PRIu32
        " texels of the format %s with one of the %" PRIu32 " modifiers: %s",
        culvi_x_vk_name(&b->vk).text, d->width, d->height, b->format.name, d->num_modifiers,
        large    ? "it has no images of that extent"
        : exists ? "it has such images but does not export them; let the other side make one"
                 : "it has none of them for copies (culv_drm_format_info::modifiers)");
}

culv_result culvi_dma_buf_check(culv_vk_dma_buf_bridge *b)
{
    uint32_t count = 0;
    VkDrmFormatModifierPropertiesEXT *list = NULL;
    CULVI_X_TRY(check_desc(b));
    CULVI_X_TRY(culvi_dma_buf_check_extensions(&b->vk, b->label));
    CULVI_X_TRY(
        culvi_dma_buf_modifiers(&b->vk, b->label, (VkFormat)b->format.vk_format, &count, &list));
    const culv_result result = b->imported ? check_given(b, list, count) : choose(b, list, count);
    culvi_x_free(list);
    return result;
}
