/* The twin's CUDA driver: formats of array elements, and where they lie.
 *
 * The layout is that of llvmpipe's images, so that a mipmapped array on imported memory is the VkImage bound
 * there: llvmpipe_texture_layout() of Mesa, src/gallium/drivers/llvmpipe/lp_texture.c. It is the same for
 * both tilings. tests/twin compares it with vkGetImageSubresourceLayout.
 *
 * SPDX-License-Identifier: MIT */
#include "array.h"

/* util_get_cpu_caps()->cacheline: read from the processor on x86, where it is 64 on every 64-bit one; the
 * default of the others. */
#if defined(__x86_64__) || defined(__i386__)
#    define ROW_ALIGNMENT 64u
#else
#    define ROW_ALIGNMENT 8u
#endif
#define LEVEL_ALIGNMENT 64u

/* By number: older cuda.h files lack the newer names. */
enum {
    FORMAT_UNORM_INT_101010_2 = 0x50,
    FORMAT_BC1_UNORM = 0x91,
    FORMAT_BC1_UNORM_SRGB = 0x92,
    FORMAT_BC4_UNORM = 0x97,
    FORMAT_BC4_SNORM = 0x98,
    FORMAT_BC5_UNORM = 0x99,
    FORMAT_BC5_SNORM = 0x9a,
    FORMAT_BC6H_UF16 = 0x9b,
    FORMAT_BC6H_SF16 = 0x9c,
    FORMAT_BC7_UNORM_SRGB = 0x9e,
    FORMAT_P010 = 0x9f,
    FORMAT_YUV444_16BIT_SEMI_PLANAR = 0xb5,
    FORMAT_UNORM_INT8X1 = 0xc0,
    FORMAT_SNORM_INT16X4 = 0xcb,
};

static bool known(int format, struct soft_element *out)
{
    *out = (struct soft_element){.width = 1, .height = 1};
    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8: out->bytes = 1; return true;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF: out->bytes = 2; return true;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT: out->bytes = 4; return true;
    case FORMAT_UNORM_INT_101010_2:
        out->bytes = 4;
        out->channels = 4;
        return true;
    default: break;
    }
    if (format >= FORMAT_UNORM_INT8X1 && format <= FORMAT_SNORM_INT16X4) {
        /* Unsigned 8, 16, signed 8, 16 bits; of each X1, X2, X4. */
        unsigned row = (unsigned)(format - FORMAT_UNORM_INT8X1);
        out->channels = 1u << row % 3;
        out->bytes = out->channels * (row / 3 % 2 == 0 ? 1 : 2);
        return true;
    }
    if (format < FORMAT_BC1_UNORM || format > FORMAT_BC7_UNORM_SRGB) return false;
    out->width = out->height = 4;
    out->bytes =
        format <= FORMAT_BC1_UNORM_SRGB || format == FORMAT_BC4_UNORM || format == FORMAT_BC4_SNORM ? 8 : 16;
    switch (format) {
    case FORMAT_BC4_UNORM:
    case FORMAT_BC4_SNORM: out->channels = 1; break;
    case FORMAT_BC5_UNORM:
    case FORMAT_BC5_SNORM: out->channels = 2; break;
    case FORMAT_BC6H_UF16:
    case FORMAT_BC6H_SF16: out->channels = 3; break;
    default: out->channels = 4; break;
    }
    return true;
}

CUresult soft_element_of(CUarray_format format, unsigned channels, struct soft_element *out)
{
    if (!known((int)format, out)) {
        bool planar = (int)format == CU_AD_FORMAT_NV12 ||
                      ((int)format >= FORMAT_P010 && (int)format <= FORMAT_YUV444_16BIT_SEMI_PLANAR);
        return planar ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
    }
    if (out->channels != 0) return channels == out->channels ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    if (channels != 1 && channels != 2 && channels != 4) return CUDA_ERROR_INVALID_VALUE;
    out->channels = channels;
    out->bytes *= channels;
    return CUDA_SUCCESS;
}

/* cuda.h's table of valid extents, with the twin's limits. */
static bool extents_valid(const CUDA_ARRAY3D_DESCRIPTOR *desc)
{
    const bool layered = desc->Flags & CUDA_ARRAY3D_LAYERED, cube = desc->Flags & CUDA_ARRAY3D_CUBEMAP;
    size_t w = desc->Width, h = desc->Height, d = desc->Depth;
    if (w == 0) return false;
    if (cube) {
        if (w != h || (layered ? d == 0 || d % 6 != 0 : d != 6)) return false;
    } else if (layered ? d == 0 : h == 0 && d != 0) {
        return false;
    }
    if (desc->Flags & CUDA_ARRAY3D_TEXTURE_GATHER && (h == 0 || (d != 0 && !layered))) return false;
    if (d != 0 && !layered && !cube) return w <= SOFT_MAX_3D && h <= SOFT_MAX_3D && d <= SOFT_MAX_3D;
    return w <= SOFT_MAX_2D && h <= SOFT_MAX_2D && d <= SOFT_MAX_LAYERS;
}

static size_t halved(size_t size, unsigned level)
{
    return size >> level > 1 ? size >> level : 1;
}

unsigned soft_full_chain(const CUDA_ARRAY3D_DESCRIPTOR *desc)
{
    const bool layers = desc->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
    size_t longest = desc->Width > desc->Height ? desc->Width : desc->Height;
    if (!layers && desc->Depth > longest) longest = desc->Depth;
    unsigned levels = 1;
    while (longest >> levels != 0)
        levels++;
    return levels;
}

static uint64_t up(uint64_t value, uint64_t alignment)
{
    return (value + alignment - 1) / alignment * alignment;
}

/* The formula; all of it is far from overflowing within the limits above. */
static void place(struct soft_level *level, const struct soft_element *element, size_t width, size_t height,
                  bool flat)
{
    const bool compressed = element->width > 1;
    /* Uncompressed images are stored in whole 4x4 tiles. */
    uint64_t columns = up(width, compressed ? 1 : 4), rows = up(height, compressed || flat ? 1 : 4);
    columns = up(columns, element->width) / element->width;
    rows = up(rows, element->height) / element->height;
    level->pitch =
        (size_t)(compressed ? columns * element->bytes : up(columns * element->bytes, ROW_ALIGNMENT));
    level->slice = (uint64_t)level->pitch * rows;
    level->width_bytes = (size_t)up(width, element->width) / element->width * element->bytes;
    level->rows = (size_t)up(height, element->height) / element->height;
}

CUresult soft_layout_of(const CUDA_ARRAY3D_DESCRIPTOR *desc, unsigned num_levels, struct soft_layout *out)
{
    const unsigned known_flags = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP |
                                 CUDA_ARRAY3D_TEXTURE_GATHER | CUDA_ARRAY3D_DEPTH_TEXTURE |
                                 CUDA_ARRAY3D_COLOR_ATTACHMENT;
    CUresult result = soft_element_of(desc->Format, desc->NumChannels, &out->element);
    if (result != CUDA_SUCCESS) return result;
    if ((desc->Flags & ~known_flags) || !extents_valid(desc) || num_levels == 0 ||
        num_levels > soft_full_chain(desc))
        return CUDA_ERROR_INVALID_VALUE;
    /* Surfaces read and write texels, of which a block has sixteen. */
    if (out->element.width > 1 && (desc->Flags & CUDA_ARRAY3D_SURFACE_LDST)) return CUDA_ERROR_INVALID_VALUE;

    const bool layers = desc->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
    out->num_levels = num_levels;
    out->size = 0;
    for (unsigned i = 0; i < num_levels; i++) {
        struct soft_level *level = &out->levels[i];
        level->desc = *desc;
        level->desc.Width = halved(desc->Width, i);
        if (desc->Height != 0) level->desc.Height = halved(desc->Height, i);
        if (desc->Depth != 0 && !layers) level->desc.Depth = halved(desc->Depth, i);
        level->slices = level->desc.Depth == 0 ? 1 : level->desc.Depth;
        place(level, &out->element, level->desc.Width, desc->Height == 0 ? 1 : level->desc.Height,
              desc->Height == 0);
        level->offset = out->size;
        out->size += up(level->slice * level->slices, LEVEL_ALIGNMENT);
    }
    return CUDA_SUCCESS;
}
