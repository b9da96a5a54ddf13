/* SPDX-License-Identifier: MIT */
/* The rows of the format table, the families they are swept in, and names. */
#include "sweep.h"

const char *const sweep_dimension_names[SWEEP_NUM_DIMENSIONS] = {
#define NAME(id, name) [id] = name,
    SWEEP_DIMENSIONS(NAME)
#undef NAME
};

const char *const sweep_way_names[NUM_WAYS] = {"array", "surface", "texture"};

static const uint32_t numbers[] = {
#define NUMBER(name, number) number,
    CULV_FORMATS(NUMBER)
#undef NUMBER
};

bool sweep_next_row(uint32_t *number, culv_format_info *out)
{
    size_t i = 0, count = sizeof numbers / sizeof numbers[0];
    while (*number != 0 && i < count && numbers[i] != *number)
        i++;
    if (*number != 0) i++;
    if (i >= count) return false;
    *number = numbers[i];
    *out = culv_format_info_init();
    LIB_OK(culv_format_get_info((culv_format)*number, out));
    return true;
}

const char *sweep_family_of(const culv_format_info *format)
{
    switch (format->kind) {
    case CULV_TEXEL_KIND_UINT:
    case CULV_TEXEL_KIND_SINT:
    case CULV_TEXEL_KIND_USCALED:
    case CULV_TEXEL_KIND_SSCALED: return "integers";
    case CULV_TEXEL_KIND_FLOAT: return "floats";
    case CULV_TEXEL_KIND_UNORM:
    case CULV_TEXEL_KIND_SNORM:
    case CULV_TEXEL_KIND_SRGB: return "normalized";
    case CULV_TEXEL_KIND_PACKED:
    case CULV_TEXEL_KIND_PADDED:
    case CULV_TEXEL_KIND_SPLIT: return "packed";
    case CULV_TEXEL_KIND_DEPTH:
    case CULV_TEXEL_KIND_STENCIL: return "depth";
    case CULV_TEXEL_KIND_BLOCKS: return "blocks";
    case CULV_TEXEL_KIND_PLANES:
    case CULV_TEXEL_KIND_SUBSAMPLED: return "planes";
    default: return NULL;
    }
}

bool sweep_representative(const culv_format_info *format)
{
    switch (format->format) {
    case CULV_FORMAT_R8G8B8A8_UNORM:
    case CULV_FORMAT_R16G16_SFLOAT:
    case CULV_FORMAT_R32G32B32A32_UINT:
    case CULV_FORMAT_A2B10G10R10_UNORM_PACK32:
    case CULV_FORMAT_D32_SFLOAT:
    case CULV_FORMAT_BC7_UNORM_BLOCK:
    case CULV_FORMAT_G8_B8R8_2PLANE_420_UNORM: return true;
    default: return false;
    }
}

bool sweep_name_has(const culv_format_info *format, const char *text)
{
    return strstr(format->name, text) != NULL;
}
