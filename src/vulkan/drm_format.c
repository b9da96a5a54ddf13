/* SPDX-License-Identifier: MIT */
/* DRM's formats in Vulkan's terms. DRM names the channels of a little-endian word from its highest
 * bits on, Vulkan's formats without PACK the bytes in memory, those with PACK as DRM does. Source:
 * drm_fourcc.h. */
#include "base/desc.h"
#include "vulkan/vk_dma_buf.h"

#include <string.h>

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

static const drm_row rows[] = {
    {.fourcc = CODE('X', 'R', '2', '4'),
     .format = CULV_FORMAT_B8G8R8A8_UNORM,
     .ignores_alpha = true},
    {.fourcc = CODE('A', 'R', '2', '4'), .format = CULV_FORMAT_B8G8R8A8_UNORM},
    {.fourcc = CODE('X', 'B', '2', '4'),
     .format = CULV_FORMAT_R8G8B8A8_UNORM,
     .ignores_alpha = true},
    {.fourcc = CODE('A', 'B', '2', '4'), .format = CULV_FORMAT_R8G8B8A8_UNORM},
    {.fourcc = CODE('X', 'R', '3', '0'),
     .format = CULV_FORMAT_A2R10G10B10_UNORM_PACK32,
     .ignores_alpha = true},
    {.fourcc = CODE('A', 'R', '3', '0'), .format = CULV_FORMAT_A2R10G10B10_UNORM_PACK32},
    {.fourcc = CODE('X', 'B', '3', '0'),
     .format = CULV_FORMAT_A2B10G10R10_UNORM_PACK32,
     .ignores_alpha = true},
    {.fourcc = CODE('A', 'B', '3', '0'), .format = CULV_FORMAT_A2B10G10R10_UNORM_PACK32},
    {.fourcc = CODE('X', 'B', '4', 'H'),
     .format = CULV_FORMAT_R16G16B16A16_SFLOAT,
     .ignores_alpha = true},
    {.fourcc = CODE('A', 'B', '4', 'H'), .format = CULV_FORMAT_R16G16B16A16_SFLOAT},
    {.fourcc = CODE('X', 'B', '4', '8'),
     .format = CULV_FORMAT_R16G16B16A16_UNORM,
     .ignores_alpha = true},
    {.fourcc = CODE('A', 'B', '4', '8'), .format = CULV_FORMAT_R16G16B16A16_UNORM},
    {.fourcc = CODE('R', 'G', '1', '6'), .format = CULV_FORMAT_R5G6B5_UNORM_PACK16},
    {.fourcc = CODE('R', 'G', '2', '4'), .format = CULV_FORMAT_B8G8R8_UNORM},
    {.fourcc = CODE('B', 'G', '2', '4'), .format = CULV_FORMAT_R8G8B8_UNORM},
    {.fourcc = R8, .format = CULV_FORMAT_R8_UNORM},
    {.fourcc = GR88, .format = CULV_FORMAT_R8G8_UNORM},
    {.fourcc = R16, .format = CULV_FORMAT_R16_UNORM},
    {.fourcc = GR32, .format = CULV_FORMAT_R16G16_UNORM},
    {.fourcc = CODE('N', 'V', '1', '2'),
     .format = CULV_FORMAT_G8_B8R8_2PLANE_420_UNORM,
     .plane_fourccs = {R8, GR88},
     .across = 2,
     .down = 2},
    {.fourcc = CODE('N', 'V', '1', '6'),
     .format = CULV_FORMAT_G8_B8R8_2PLANE_422_UNORM,
     .plane_fourccs = {R8, GR88},
     .across = 2,
     .down = 1},
    {.fourcc = CODE('P', '0', '1', '0'),
     .format = CULV_FORMAT_G10X6_B10X6R10X6_2PLANE_420_UNORM_3PACK16,
     .plane_fourccs = {R16, GR32},
     .across = 2,
     .down = 2},
    {.fourcc = CODE('P', '0', '1', '2'),
     .format = CULV_FORMAT_G12X4_B12X4R12X4_2PLANE_420_UNORM_3PACK16,
     .plane_fourccs = {R16, GR32},
     .across = 2,
     .down = 2},
    {.fourcc = CODE('P', '0', '1', '6'),
     .format = CULV_FORMAT_G16_B16R16_2PLANE_420_UNORM,
     .plane_fourccs = {R16, GR32},
     .across = 2,
     .down = 2},
};

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

culv_result culv_drm_format_get_info(uint32_t fourcc, culv_drm_format_info *out)
{
    CULVI_REQUIRE(NULL, out);
    culv_result result = culvi_struct_check(NULL, out, "culv_drm_format_info");
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
        culvi_struct_write(out, &info, sizeof info);
        return CULV_OK;
    }
    return culvi_fail(NULL, NULL, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT,
                      "Culvert knows no DRM format '%s' (%#x); docs/dma-buf.md lists those that it "
                      "bridges, and culv_vk_dma_buf_desc.format takes a VkFormat",
                      culvi_fourcc_name(fourcc).text, (unsigned)fourcc);
}
