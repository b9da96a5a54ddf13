/* SPDX-License-Identifier: MIT */
/* DRM's formats in Vulkan's terms. DRM names the channels of a little-endian word from its highest
 * bits on, Vulkan's formats without PACK the bytes in memory, those with PACK as DRM does. Source:
 * drm_fourcc.h. */
#include "dma_buf.h"

#define CODE(a, b, c, d)                                                                           \
    ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#define R8   CODE('R', '8', ' ', ' ')
#define GR88 CODE('G', 'R', '8', '8')
#define R16  CODE('R', '1', '6', ' ')
#define GR32 CODE('G', 'R', '3', '2')

typedef struct drm_row {
    uint32_t fourcc;
    culv_format format;
    bool ignores_alpha;
    uint32_t plane_fourccs[3]; /* of several planes, whose chroma is `across` and `down` smaller */
    uint8_t across, down;
} drm_row;

/* clang-format off */
static const drm_row rows[] = {
    {CODE('X', 'R', '2', '4'), CULV_FORMAT_B8G8R8A8_UNORM, true, {0}, 0, 0},
    {CODE('A', 'R', '2', '4'), CULV_FORMAT_B8G8R8A8_UNORM, false, {0}, 0, 0},
    {CODE('X', 'B', '2', '4'), CULV_FORMAT_R8G8B8A8_UNORM, true, {0}, 0, 0},
    {CODE('A', 'B', '2', '4'), CULV_FORMAT_R8G8B8A8_UNORM, false, {0}, 0, 0},
    {CODE('X', 'R', '3', '0'), CULV_FORMAT_A2R10G10B10_UNORM_PACK32, true, {0}, 0, 0},
    {CODE('A', 'R', '3', '0'), CULV_FORMAT_A2R10G10B10_UNORM_PACK32, false, {0}, 0, 0},
    {CODE('X', 'B', '3', '0'), CULV_FORMAT_A2B10G10R10_UNORM_PACK32, true, {0}, 0, 0},
    {CODE('A', 'B', '3', '0'), CULV_FORMAT_A2B10G10R10_UNORM_PACK32, false, {0}, 0, 0},
    {CODE('X', 'B', '4', 'H'), CULV_FORMAT_R16G16B16A16_SFLOAT, true, {0}, 0, 0},
    {CODE('A', 'B', '4', 'H'), CULV_FORMAT_R16G16B16A16_SFLOAT, false, {0}, 0, 0},
    {CODE('X', 'B', '4', '8'), CULV_FORMAT_R16G16B16A16_UNORM, true, {0}, 0, 0},
    {CODE('A', 'B', '4', '8'), CULV_FORMAT_R16G16B16A16_UNORM, false, {0}, 0, 0},
    {CODE('R', 'G', '1', '6'), CULV_FORMAT_R5G6B5_UNORM_PACK16, false, {0}, 0, 0},
    {CODE('R', 'G', '2', '4'), CULV_FORMAT_B8G8R8_UNORM, false, {0}, 0, 0},
    {CODE('B', 'G', '2', '4'), CULV_FORMAT_R8G8B8_UNORM, false, {0}, 0, 0},
    {R8, CULV_FORMAT_R8_UNORM, false, {0}, 0, 0},
    {GR88, CULV_FORMAT_R8G8_UNORM, false, {0}, 0, 0},
    {R16, CULV_FORMAT_R16_UNORM, false, {0}, 0, 0},
    {GR32, CULV_FORMAT_R16G16_UNORM, false, {0}, 0, 0},
    {CODE('N', 'V', '1', '2'), CULV_FORMAT_G8_B8R8_2PLANE_420_UNORM, false, {R8, GR88}, 2, 2},
    {CODE('N', 'V', '1', '6'), CULV_FORMAT_G8_B8R8_2PLANE_422_UNORM, false, {R8, GR88}, 2, 1},
    {CODE('P', '0', '1', '0'), CULV_FORMAT_G10X6_B10X6R10X6_2PLANE_420_UNORM_3PACK16, false, {R16, GR32}, 2, 2},
    {CODE('P', '0', '1', '2'), CULV_FORMAT_G12X4_B12X4R12X4_2PLANE_420_UNORM_3PACK16, false, {R16, GR32}, 2, 2},
    {CODE('P', '0', '1', '6'), CULV_FORMAT_G16_B16R16_2PLANE_420_UNORM, false, {R16, GR32}, 2, 2},
};
/* clang-format on */

culvi_fourcc_text culvi_fourcc_name(uint32_t fourcc)
{
    culvi_fourcc_text out = {{0}};
    for (size_t i = 0; i < 4; i++) {
        const char c = (char)(fourcc >> 8 * i & 0xff);
        out.text[i] = '?';
        if (c >= ' ' && c <= '~') out.text[i] = c;
    }
    return out;
}

/* Those that can be bridged. */
static culv_result list_modifiers(const culvi_x_vk *vk, culv_drm_format_info *info)
{
    uint32_t count = 0;
    VkDrmFormatModifierPropertiesEXT *list = NULL;
    culv_result result = culvi_dma_buf_check_extensions(vk, NULL);
    if (result == CULV_OK)
        result = culvi_dma_buf_modifiers(vk, NULL, (VkFormat)info->format, &count, &list);
    for (uint32_t i = 0; result == CULV_OK && i < count; i++) {
        culv_drm_modifier m = {list[i].drmFormatModifier, list[i].drmFormatModifierPlaneCount, 0};
        for (uint32_t way = 0; result == CULV_OK && way < 2; way++) {
            VkExternalMemoryFeatureFlags features;
            VkExtent3D most;
            result = culvi_dma_buf_ask(vk, NULL, (VkFormat)info->format, &list[i],
                                       (culv_vk_dma_buf_direction)way, &features, &most);
            if (features & VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT) m.directions |= 1u << way;
        }
        if (m.directions != 0 && info->num_modifiers < CULV_DRM_MODIFIERS)
            info->modifiers[info->num_modifiers++] = m;
    }
    culvi_x_free(list);
    return result;
}

culv_result culv_drm_format_get_info(const culv_vk_device_desc *vulkan, uint32_t fourcc,
                                     culv_drm_format_info *out)
{
    culvi_x_vk vk;
    culv_result result = culvi_x_out_check(NULL, __func__, out, "culv_drm_format_info");
    if (result == CULV_OK && vulkan != NULL) result = culvi_x_vk_read(&vk, NULL, vulkan, __func__);
    if (result != CULV_OK) return result;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const drm_row *row = &rows[i];
        if (row->fourcc != fourcc) continue;
        culv_drm_format_info info = culv_drm_format_info_init();
        info.fourcc = fourcc;
        info.format = row->format;
        info.ignores_alpha = row->ignores_alpha;
        info.planes = row->plane_fourccs[0] != 0 ? 2 : 1;
        info.chroma_across = row->across != 0 ? row->across : 1;
        info.chroma_down = row->down != 0 ? row->down : 1;
        memcpy(info.plane_fourccs, row->plane_fourccs, sizeof info.plane_fourccs);
        if (vulkan != NULL) result = list_modifiers(&vk, &info);
        if (result == CULV_OK) culvi_x_struct_write(out, &info, sizeof info);
        return result;
    }
    return culvi_x_fail(
        NULL, NULL, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT,
        "Culvert knows no DRM format '%s' (%#x); docs/dma-buf.md lists those that it bridges, and culv_vk_dma_buf_desc.format takes a VkFormat",
        culvi_fourcc_name(fourcc).text, (unsigned)fourcc);
}
