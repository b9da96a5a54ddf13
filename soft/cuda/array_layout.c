/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: where the elements of an array lie.
 *
 * The layout is that of llvmpipe's images, so that a mipmapped array on imported memory is the
 * VkImage bound there: llvmpipe_texture_layout() of Mesa,
 * src/gallium/drivers/llvmpipe/lp_texture.c. It is the same for both tilings. tests/twin compares
 * it with vkGetImageSubresourceLayout. SwiftShader's images on imported memory are as they were
 * seen, which partner.c compares each time. */
#include "array.h"

/* util_get_cpu_caps()->cacheline: read from the processor on x86, where it is 64 on every 64-bit
 * one; the default of the others. */
#if defined(__x86_64__) || defined(__i386__)
#    define ROW_ALIGNMENT 64u
#else
#    define ROW_ALIGNMENT 8u
#endif
#define LEVEL_ALIGNMENT 64u

static const struct tiles {
    unsigned columns, rows;       /* texels are stored in whole ones of these */
    uint64_t pitch, slice, level; /* alignments */
    bool by_layer;                /* a layer has all levels; else a level has all layers */
    bool flat_rows;               /* images of one dimension have such rows, too */
    unsigned border;              /* texels around each face of a cube */
} of_llvmpipe = {4, 4, ROW_ALIGNMENT, 1, LEVEL_ALIGNMENT, false, false, 0},
  of_swiftshader = {2, 2, 1, 16, 1, true, true, 1};

/* cuda.h's table of valid extents, with the twin's limits. */
static bool extents_valid(const CUDA_ARRAY3D_DESCRIPTOR *desc, const struct soft_element *element)
{
    const bool layered = desc->Flags & CUDA_ARRAY3D_LAYERED,
               cube = desc->Flags & CUDA_ARRAY3D_CUBEMAP;
    size_t w = desc->Width, h = desc->Height, d = desc->Depth;
    if (w == 0 || w % element->pair != 0) return false;
    if (element->width > 1 && h == 0) return false; /* no rows of blocks (measured) */
    /* Of four channels it is refused (measured); depth is one. */
    if ((desc->Flags & CUDA_ARRAY3D_DEPTH_TEXTURE) && desc->NumChannels != 1) return false;
    if (cube) {
        if (w != h || (layered ? d == 0 || d % 6 != 0 : d != 6)) return false;
    } else if (layered ? d == 0 : h == 0 && d != 0) {
        return false;
    }
    if (desc->Flags & CUDA_ARRAY3D_TEXTURE_GATHER && (h == 0 || (d != 0 && !layered))) return false;
    if (d != 0 && !layered && !cube)
        return w <= SOFT_MAX_3D && h <= SOFT_MAX_3D && d <= SOFT_MAX_3D;
    return w <= SOFT_MAX_2D && h <= SOFT_MAX_2D && d <= SOFT_MAX_LAYERS;
}

culv_soft_dimensions soft_dimensions_of(const CUDA_ARRAY3D_DESCRIPTOR *desc)
{
    const bool layered = desc->Flags & CUDA_ARRAY3D_LAYERED;
    if (desc->Flags & CUDA_ARRAY3D_CUBEMAP)
        return layered ? CULV_SOFT_CUBE_LAYERED : CULV_SOFT_CUBE;
    if (desc->Height == 0) return layered ? CULV_SOFT_1D_LAYERED : CULV_SOFT_1D;
    if (layered) return CULV_SOFT_2D_LAYERED;
    return desc->Depth == 0 ? CULV_SOFT_2D : CULV_SOFT_3D;
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
static void place(struct soft_level *level, const struct tiles *tiles,
                  const struct soft_element *element, size_t width, size_t height, bool flat)
{
    const bool compressed = element->width > 1, cube = level->desc.Flags & CUDA_ARRAY3D_CUBEMAP;
    const unsigned border = cube && !compressed ? tiles->border : 0;
    uint64_t columns = up(width + 2 * border, compressed ? 1 : tiles->columns),
             rows = up(height + 2 * border,
                       compressed || (flat && !tiles->flat_rows) ? 1 : tiles->rows);
    columns = up(columns, element->width) / element->width;
    rows = up(rows, element->height) / element->height;
    level->pitch = (size_t)(compressed ? columns * element->bytes
                                       : up(columns * element->bytes, tiles->pitch));
    level->slice = up((uint64_t)level->pitch * rows, compressed ? 1 : tiles->slice);
    level->offset = border * (level->pitch + element->bytes);
    level->width_bytes = (size_t)up(width, element->width) / element->width * element->bytes;
    level->rows = (size_t)up(height, element->height) / element->height;
}

static CUresult lay_out(const CUDA_ARRAY3D_DESCRIPTOR *desc, unsigned num_levels,
                        const struct tiles *tiles, struct soft_layout *out)
{
    unsigned known_flags = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP |
                           CUDA_ARRAY3D_TEXTURE_GATHER | CUDA_ARRAY3D_DEPTH_TEXTURE |
                           CUDA_ARRAY3D_COLOR_ATTACHMENT | CUDA_ARRAY3D_SPARSE;
    SOFT_TRY(soft_element_of(desc->Format, desc->NumChannels, &out->element));
    if (soft_format_is_video(desc->Format)) known_flags |= SOFT_VIDEO_ENCODE_DECODE;
    if ((desc->Flags & ~known_flags) || !extents_valid(desc, &out->element) || num_levels == 0 ||
        num_levels > soft_full_chain(desc))
        return CUDA_ERROR_INVALID_VALUE;
    /* Surfaces read and write texels, of which a block has sixteen. The code is an H200's. */
    if (out->element.width > 1 && (desc->Flags & CUDA_ARRAY3D_SURFACE_LDST))
        return CUDA_ERROR_NOT_SUPPORTED;

    out->num_levels = num_levels;
    out->size = 0;
    const bool layers = desc->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
    for (unsigned i = 0; i < num_levels; i++) {
        struct soft_level *level = &out->levels[i];
        level->desc = *desc;
        level->desc.Width = halved(desc->Width, i);
        if (desc->Height != 0) level->desc.Height = halved(desc->Height, i);
        if (desc->Depth != 0 && !layers) level->desc.Depth = halved(desc->Depth, i);
        level->slices = level->desc.Depth == 0 ? 1 : level->desc.Depth;
        place(level, tiles, &out->element, level->desc.Width,
              desc->Height == 0 ? 1 : level->desc.Height, desc->Height == 0);
        level->offset += out->size;
        out->size +=
            up(level->slice * (layers && tiles->by_layer ? 1 : level->slices), tiles->level);
    }
    if (!layers || !tiles->by_layer) return CUDA_SUCCESS;
    for (unsigned i = 0; i < num_levels; i++)
        out->levels[i].slice = out->size;
    out->size *= desc->Depth;
    return CUDA_SUCCESS;
}

CUresult soft_layout_of(const CUDA_ARRAY3D_DESCRIPTOR *desc, unsigned num_levels,
                        struct soft_layout *out)
{
    return lay_out(desc, num_levels, &of_llvmpipe, out);
}

CUresult soft_layout_in_swiftshader(const CUDA_ARRAY3D_DESCRIPTOR *desc, unsigned num_levels,
                                    struct soft_layout *out)
{
    return lay_out(desc, num_levels, &of_swiftshader, out);
}

/* Formats of array elements, by number, because older cuda.h files lack the
 * newer names.
 *
 * Those of several planes are missing: the library maps an array for each plane.
 *
 * Channels are those of cuda.h's comments on CUarray_format; where those say nothing (Y410), those
 * of cudaCreateChannelDesc: a channel for each of Y, U and V, and one for an alpha. */

#define NO_TEXEL (-1)

struct format {
    int number;
    /* The CUDA version that brought it, as far as cuda.h files and release notes tell */
    int since;
    uint8_t channels;         /* 0: 1, 2 or 4, and `bytes` are one channel's */
    uint8_t bytes;            /* of an element */
    uint8_t block;            /* texels a side */
    uint8_t pair;             /* 2: of two texels that share their chroma */
    int8_t texel, as_integer; /* what textures read */
    bool video;
};

#define PLAIN(number, bytes, texel, as_integer)                                                    \
    {                                                                                              \
        number, 2000, 0, bytes, 1, 1, texel, as_integer, false                                     \
    }
#define FIXED(number, since, channels, bytes, texel)                                               \
    {                                                                                              \
        number, since, channels, bytes, 1, 1, texel, NO_TEXEL, false                               \
    }
#define BLOCK(number, channels, bytes)                                                             \
    {                                                                                              \
        number, 11050, channels, bytes, 4, 1, NO_TEXEL, NO_TEXEL, false                            \
    }
#define PACKED(number, channels, bytes, pair)                                                      \
    {                                                                                              \
        number, 12080, channels, bytes, 1, pair, NO_TEXEL, NO_TEXEL, true                          \
    }

static const struct format formats[] = {
    PLAIN(0x01, 1, CULV_SOFT_UNORM8, CULV_SOFT_UINT8), /* CU_AD_FORMAT_UNSIGNED_INT8, and so on */
    PLAIN(0x02, 2, CULV_SOFT_UNORM16, CULV_SOFT_UINT16),
    PLAIN(0x03, 4, CULV_SOFT_UINT32, CULV_SOFT_UINT32), /* never promoted */
    PLAIN(0x08, 1, CULV_SOFT_SNORM8, CULV_SOFT_SINT8),
    PLAIN(0x09, 2, CULV_SOFT_SNORM16, CULV_SOFT_SINT16),
    PLAIN(0x0a, 4, CULV_SOFT_SINT32, CULV_SOFT_SINT32),
    PLAIN(0x10, 2, CULV_SOFT_HALF, CULV_SOFT_HALF), /* the flag says nothing about floats */
    PLAIN(0x20, 4, CULV_SOFT_FLOAT, CULV_SOFT_FLOAT),
    FIXED(0x50, 12080, 4, 4, CULV_SOFT_UNORM_101010_2),
    FIXED(0xc0, 11050, 1, 1, CULV_SOFT_UNORM8), /* UNORM_INT8X1 */
    FIXED(0xc1, 11050, 2, 2, CULV_SOFT_UNORM8),
    FIXED(0xc2, 11050, 4, 4, CULV_SOFT_UNORM8),
    FIXED(0xc3, 11050, 1, 2, CULV_SOFT_UNORM16),
    FIXED(0xc4, 11050, 2, 4, CULV_SOFT_UNORM16),
    FIXED(0xc5, 11050, 4, 8, CULV_SOFT_UNORM16),
    FIXED(0xc6, 11050, 1, 1, CULV_SOFT_SNORM8), /* SNORM_INT8X1 */
    FIXED(0xc7, 11050, 2, 2, CULV_SOFT_SNORM8),
    FIXED(0xc8, 11050, 4, 4, CULV_SOFT_SNORM8),
    FIXED(0xc9, 11050, 1, 2, CULV_SOFT_SNORM16),
    FIXED(0xca, 11050, 2, 4, CULV_SOFT_SNORM16),
    FIXED(0xcb, 11050, 4, 8, CULV_SOFT_SNORM16),
    BLOCK(0x91, 4, 8), /* BC1_UNORM */
    BLOCK(0x92, 4, 8),
    BLOCK(0x93, 4, 16), /* BC2 */
    BLOCK(0x94, 4, 16),
    BLOCK(0x95, 4, 16), /* BC3 */
    BLOCK(0x96, 4, 16),
    BLOCK(0x97, 1, 8), /* BC4 */
    BLOCK(0x98, 1, 8),
    BLOCK(0x99, 2, 16), /* BC5 */
    BLOCK(0x9a, 2, 16),
    BLOCK(0x9b, 3, 16), /* BC6H */
    BLOCK(0x9c, 3, 16),
    BLOCK(0x9d, 4, 16), /* BC7 */
    BLOCK(0x9e, 4, 16),
    PACKED(0xa5, 2, 2, 2), /* YUY2 */
    PACKED(0xa6, 2, 4, 2), /* Y210 */
    PACKED(0xa7, 2, 4, 2), /* Y216 */
    PACKED(0xa8, 4, 4, 1), /* AYUV */
    PACKED(0xa9, 4, 4, 1), /* Y410 */
    PACKED(0xb1, 4, 8, 1), /* Y416 */
};

static const struct format *find(CUarray_format number)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (formats[i].number == (int)number)
            return formats[i].since <= soft.driver_version ? &formats[i] : NULL;
    return NULL;
}

CUresult soft_element_of(CUarray_format number, unsigned channels, struct soft_element *out)
{
    const struct format *format = find(number);
    if (format == NULL) return CUDA_ERROR_INVALID_VALUE;
    *out = (struct soft_element){.bytes = format->bytes,
                                 .width = format->block,
                                 .height = format->block,
                                 .channels = channels,
                                 .pair = format->pair};
    if (format->channels != 0)
        return channels == format->channels ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    if (channels != 1 && channels != 2 && channels != 4) return CUDA_ERROR_INVALID_VALUE;
    out->bytes *= channels;
    return CUDA_SUCCESS;
}

bool soft_format_is_video(CUarray_format number)
{
    const struct format *format = find(number);
    return format != NULL && format->video;
}

bool soft_format_is_normalized(CUarray_format number)
{
    const struct format *format = find(number);
    return format != NULL && format->texel != NO_TEXEL && format->as_integer == NO_TEXEL;
}

bool soft_format_is_srgb(CUarray_format number)
{
    switch ((int)number) {
    case 0x92: /* BC1_UNORM_SRGB, and so on */
    case 0x94:
    case 0x96:
    case 0x9e: return true;
    default: return false;
    }
}

int soft_texel_of(CUarray_format number, bool as_integer)
{
    const struct format *format = find(number);
    return format == NULL ? NO_TEXEL : as_integer ? format->as_integer : format->texel;
}
