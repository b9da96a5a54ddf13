/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: formats of array elements, by number, because older cuda.h files lack the
 * newer names.
 *
 * Channels are those of cuda.h's comments on CUarray_format; where those say nothing (the planar
 * formats that are not of three full-sized planes, Y410), those of cudaCreateChannelDesc: a channel
 * for each of Y, U and V, and one for an alpha. */
#include "array.h"

#define NO_TEXEL (-1)

struct format {
    int number;
    /* The CUDA version that brought it, as far as cuda.h files and release notes tell */
    int since;
    uint8_t channels; /* 0: 1, 2 or 4, and `bytes` are one channel's */
    /* Of an element; of a channel of the first plane where there are several planes */
    uint8_t bytes;
    uint8_t block;                   /* texels a side */
    uint8_t planes;                  /* 0: the elements themselves */
    uint8_t half_width, half_height; /* 1: of the chroma */
    int8_t texel, as_integer;        /* what textures read */
    bool video;
};

#define PLAIN(number, bytes, texel, as_integer)                                                    \
    {                                                                                              \
        number, 2000, 0, bytes, 1, 0, 0, 0, texel, as_integer, false                               \
    }
#define FIXED(number, since, channels, bytes, texel)                                               \
    {                                                                                              \
        number, since, channels, bytes, 1, 0, 0, 0, texel, NO_TEXEL, false                         \
    }
#define BLOCK(number, channels, bytes)                                                             \
    {                                                                                              \
        number, 11050, channels, bytes, 4, 0, 0, 0, NO_TEXEL, NO_TEXEL, false                      \
    }
#define PLANAR(number, since, bytes, planes, half_width, half_height)                              \
    {                                                                                              \
        number, since, 3, bytes, 1, planes, half_width, half_height, NO_TEXEL, NO_TEXEL, true      \
    }
#define PACKED(number, channels, bytes, half_width)                                                \
    {                                                                                              \
        number, 12080, channels, bytes, 1, 0, half_width, 0, NO_TEXEL, NO_TEXEL, true              \
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
    PLANAR(0xb0, 11020, 1, 2, 1, 1), /* NV12 */
    PLANAR(0x9f, 12080, 2, 2, 1, 1), /* P010 */
    PLANAR(0xa1, 12080, 2, 2, 1, 1), /* P016 */
    PLANAR(0xa2, 12080, 1, 2, 1, 0), /* NV16 */
    PLANAR(0xa3, 12080, 2, 2, 1, 0), /* P210 */
    PLANAR(0xa4, 12080, 2, 2, 1, 0), /* P216 */
    PLANAR(0xb2, 12080, 1, 3, 0, 0), /* Y444_PLANAR8 */
    PLANAR(0xb3, 12080, 2, 3, 0, 0), /* Y444_PLANAR10 */
    PLANAR(0xb4, 12080, 1, 2, 0, 0), /* YUV444_8bit_SemiPlanar */
    PLANAR(0xb5, 12080, 2, 2, 0, 0), /* YUV444_16bit_SemiPlanar */
    PACKED(0xa5, 2, 2, 1),           /* YUY2 */
    PACKED(0xa6, 2, 4, 1),           /* Y210 */
    PACKED(0xa7, 2, 4, 1),           /* Y216 */
    PACKED(0xa8, 4, 4, 0),           /* AYUV */
    PACKED(0xa9, 4, 4, 0),           /* Y410 */
    PACKED(0xb1, 4, 8, 0),           /* Y416 */
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
                                 .num_planes = format->planes};
    if (format->channels != 0)
        return channels == format->channels ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    if (channels != 1 && channels != 2 && channels != 4) return CUDA_ERROR_INVALID_VALUE;
    out->bytes *= channels;
    return CUDA_SUCCESS;
}

struct soft_plane soft_plane_of(CUarray_format number, unsigned plane)
{
    const struct format *format = find(number);
    /* Semi-planar formats have U and V in one plane of two channels (cuda.h, cuArrayGetPlane, of
     * NV12). */
    return (struct soft_plane){.format = format->bytes == 1 ? CU_AD_FORMAT_UNSIGNED_INT8
                                                            : CU_AD_FORMAT_UNSIGNED_INT16,
                               .channels = plane > 0 && format->planes == 2 ? 2 : 1,
                               .divide_width = plane > 0 && format->half_width ? 2 : 1,
                               .divide_height = plane > 0 && format->half_height ? 2 : 1};
}

void soft_sampling_of(CUarray_format number, unsigned *width, unsigned *height)
{
    const struct format *format = find(number);
    *width = 1u + format->half_width;
    *height = 1u + format->half_height;
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
