/* SPDX-License-Identifier: MIT */
/* The format table and the questions that are asked of it. */
#include "cuda/format.h"

#include <stdio.h>

/* CUDA's array formats: (name, CUarray_format, the CUDA version whose cuda.h has it first, or 0 for
 * ever). Numbers, not cuda.h's enumerators, so that an older cuda.h will do. Source: cuda.h,
 * CUarray_format. */
#define ARRAY_FORMATS(X)                                                                           \
    X(NONE, 0x00, 0)                                                                               \
    X(UNSIGNED_INT8, 0x01, 0)                                                                      \
    X(UNSIGNED_INT16, 0x02, 0)                                                                     \
    X(UNSIGNED_INT32, 0x03, 0)                                                                     \
    X(SIGNED_INT8, 0x08, 0)                                                                        \
    X(SIGNED_INT16, 0x09, 0)                                                                       \
    X(SIGNED_INT32, 0x0a, 0)                                                                       \
    X(HALF, 0x10, 0)                                                                               \
    X(FLOAT, 0x20, 0)                                                                              \
    X(UNORM_INT_101010_2, 0x50, 12080)                                                             \
    X(BC1_UNORM, 0x91, 11050)                                                                      \
    X(BC1_UNORM_SRGB, 0x92, 11050)                                                                 \
    X(BC2_UNORM, 0x93, 11050)                                                                      \
    X(BC2_UNORM_SRGB, 0x94, 11050)                                                                 \
    X(BC3_UNORM, 0x95, 11050)                                                                      \
    X(BC3_UNORM_SRGB, 0x96, 11050)                                                                 \
    X(BC4_UNORM, 0x97, 11050)                                                                      \
    X(BC4_SNORM, 0x98, 11050)                                                                      \
    X(BC5_UNORM, 0x99, 11050)                                                                      \
    X(BC5_SNORM, 0x9a, 11050)                                                                      \
    X(BC6H_UF16, 0x9b, 11050)                                                                      \
    X(BC6H_SF16, 0x9c, 11050)                                                                      \
    X(BC7_UNORM, 0x9d, 11050)                                                                      \
    X(BC7_UNORM_SRGB, 0x9e, 11050)                                                                 \
    X(P010, 0x9f, 12050)                                                                           \
    X(P016, 0xa1, 12050)                                                                           \
    X(NV16, 0xa2, 12050)                                                                           \
    X(P210, 0xa3, 12050)                                                                           \
    X(P216, 0xa4, 12050)                                                                           \
    X(YUY2, 0xa5, 12050)                                                                           \
    X(Y210, 0xa6, 12050)                                                                           \
    X(Y216, 0xa7, 12050)                                                                           \
    X(NV12, 0xb0, 11020)                                                                           \
    X(Y444_PLANAR8, 0xb2, 12050)                                                                   \
    X(YUV444_8BIT_SEMIPLANAR, 0xb4, 12080)                                                         \
    X(YUV444_16BIT_SEMIPLANAR, 0xb5, 12080)                                                        \
    X(UNORM_INT8X1, 0xc0, 11050)                                                                   \
    X(UNORM_INT8X2, 0xc1, 11050)                                                                   \
    X(UNORM_INT8X4, 0xc2, 11050)                                                                   \
    X(UNORM_INT16X1, 0xc3, 11050)                                                                  \
    X(UNORM_INT16X2, 0xc4, 11050)                                                                  \
    X(UNORM_INT16X4, 0xc5, 11050)                                                                  \
    X(SNORM_INT8X1, 0xc6, 11050)                                                                   \
    X(SNORM_INT8X2, 0xc7, 11050)                                                                   \
    X(SNORM_INT8X4, 0xc8, 11050)                                                                   \
    X(SNORM_INT16X1, 0xc9, 11050)                                                                  \
    X(SNORM_INT16X2, 0xca, 11050)                                                                  \
    X(SNORM_INT16X4, 0xcb, 11050)

enum {
#define NUMBER(name, number, version) ARRAY_##name = number,
    ARRAY_FORMATS(NUMBER)
#undef NUMBER
};

uint32_t culvi_array_format_version(CUarray_format format)
{
    switch ((int)format) {
#define VERSION(name, number, version)                                                             \
    case ARRAY_##name: return version;
        ARRAY_FORMATS(VERSION)
#undef VERSION
    default: return 0;
    }
}

/* An element of the plain array formats: its bytes, and a kernel's type. */
enum {
    BYTES_UNSIGNED_INT8 = 1,
    BYTES_UNSIGNED_INT16 = 2,
    BYTES_UNSIGNED_INT32 = 4,
    BYTES_SIGNED_INT8 = 1,
    BYTES_SIGNED_INT16 = 2,
    BYTES_SIGNED_INT32 = 4,
    BYTES_HALF = 2,
    BYTES_FLOAT = 4
};
#define TYPE_UNSIGNED_INT8  "uchar"
#define TYPE_UNSIGNED_INT16 "ushort"
#define TYPE_UNSIGNED_INT32 "uint"
#define TYPE_SIGNED_INT8    "char"
#define TYPE_SIGNED_INT16   "short"
#define TYPE_SIGNED_INT32   "int"
#define TYPE_HALF           "ushort"
#define TYPE_FLOAT          "float"
#define COUNT_1             ""
#define COUNT_2             "2"
#define COUNT_4             "4"
/* Channels of the normalized array formats that rows of one integer have. */
enum { CHANNELS_NONE = 0, CHANNELS_UNORM_INT16X1 = 1, CHANNELS_UNORM_INT_101010_2 = 4 };

#define COMMON(name_, order, dxgi_, gl_)                                                           \
    .format = CULV_FORMAT_##name_, .name = #name_, .channel_order = order, .dxgi = (dxgi_),        \
    .gl = (gl_)
#define MAPPED(kind_, array, channels_)                                                            \
    .mapped = true, .kind = CULV_TEXEL_KIND_##kind_, .cuda_format = (CUarray_format)ARRAY_##array, \
    .channels = (channels_), .reason = CULV_REASON_NONE
#define SURFACES(type) .surfaces = true, .kernel_type = type
#define NORMALIZED(array, channels)                                                                \
    .normalized_format = (CUarray_format)ARRAY_##array, .normalized_channels = (channels)

#define HOLE(...)                                                                                  \
    .mapped = false, .kind = CULV_TEXEL_KIND_NONE, .reason = CULV_REASON_FORMAT, __VA_ARGS__
#define NOT(why_, use_) .why = WHY_##why_, .use = CULV_FORMAT_##use_
/* Why CUDA cannot map a format, with the place of the one to use. */
/* clang-format off */
#define WHYS(X) \
    X(THREE, "CUDA arrays have 1, 2 or 4 channels, never 3: use %s, or map a LINEAR image as rows of bytes (in Vulkan culv_vk_image_map_pitched())") \
    X(24_BYTES, "a texel has 24 bytes, but an element of a CUDA array has at most 16: use two images of %s, or map a LINEAR image as rows of bytes (in Vulkan culv_vk_image_map_pitched())") \
    X(32_BYTES, "a texel has 32 bytes, but an element of a CUDA array has at most 16: use two images of %s, or map a LINEAR image as rows of bytes (in Vulkan culv_vk_image_map_pitched())") \
    X(24_BITS, "CUDA has no array format of 24 bits: use %s or D16_UNORM, or copy the depths into a shared buffer") \
    X(DEPTH_STENCIL, "drivers keep depth and stencil together in an order of their own, which CUDA reads wrong (measured with D24_UNORM_S8_UINT): use %s and S8_UINT in two images, or copy the aspects into a shared buffer") \
    X(ETC2, "CUDA has no array format of ETC2 blocks: use %s or an uncompressed format, or share the blocks in a buffer") \
    X(EAC, "CUDA has no array format of EAC blocks: use %s or an uncompressed format, or share the blocks in a buffer") \
    X(ASTC, "CUDA has no array format of ASTC blocks: use %s or an uncompressed format, or share the blocks in a buffer") \
    X(12_BITS, "CUDA has no array format of 12 bits: use %s, which has the same 16-bit words, or share the words in a buffer") \
    X(CHROMA_FIRST, "CUDA's pairs of 4:2:2 begin with luma (YUY2, Y210, Y216), never with chroma: use %s, or share the pairs in a buffer")
/* clang-format on */
enum {
#define WHY(name, text) WHY_##name,
    WHYS(WHY)
#undef WHY
};

#define BLOCK(bytes, width, height)                                                                \
    .block_bytes = (bytes), .block_width = (width), .block_height = (height)
#define ONE_PLANE(aspects_) .planes = 1, .aspects = (aspects_)
#define NO_SURFACES         .surfaces = false, .kernel_type = ""
#define OF_PLANES(planes_, bits, sampling)                                                         \
    .planes = (planes_), .aspects = COLOR, .plane_bits = (bits),                                   \
    .chroma_across = ACROSS_##sampling, .chroma_down = DOWN_##sampling
enum {
    COLOR = 1,
    ACROSS_420 = 2,
    DOWN_420 = 2,
    ACROSS_422 = 2,
    DOWN_422 = 1,
    ACROSS_444 = 1,
    DOWN_444 = 1
};

#define PLAIN(name, kind, array, channels, normalized, order, dxgi, gl)                            \
    {COMMON(name, order, dxgi, gl),                                                                \
     MAPPED(kind, array, channels),                                                                \
     BLOCK(BYTES_##array * channels, 1, 1),                                                        \
     ONE_PLANE(COLOR),                                                                             \
     NORMALIZED(normalized, ARRAY_##normalized == ARRAY_NONE ? 0 : channels),                      \
     SURFACES(TYPE_##array COUNT_##channels)},
#define PACKED(name, array, normalized, order, dxgi, gl)                                           \
    ASPECT(name, PACKED, array, normalized, COLOR, order, dxgi, gl)
#define SPLIT(name, words, order)                                                                  \
    {COMMON(name, order, 0, 0), MAPPED(SPLIT, UNSIGNED_INT32, words),                              \
     BLOCK(4 * words, 1, 1),    ONE_PLANE(COLOR),                                                  \
     NORMALIZED(NONE, 0),       SURFACES(TYPE_UNSIGNED_INT32 COUNT_##words)},
#define WORDS(name, kind, array, normalized, aspects, order, dxgi, gl, dedicated_)                 \
    {COMMON(name, order, dxgi, gl),                                                                \
     MAPPED(kind, array, 1),                                                                       \
     BLOCK(BYTES_##array, 1, 1),                                                                   \
     ONE_PLANE(aspects),                                                                           \
     NORMALIZED(normalized, CHANNELS_##normalized),                                                \
     SURFACES(TYPE_##array),                                                                       \
     .dedicated = (dedicated_)},
#define ASPECT(name, kind, array, normalized, aspects, order, dxgi, gl)                            \
    WORDS(name, kind, array, normalized, aspects, order, dxgi, gl, false)
/* NVIDIA's driver gives these formats the layout of CUDA's arrays only in a dedicated allocation.
 * Otherwise half of the bytes or more are wrong, at every size and usage (measured on an H200). */
#define DEDICATED(name, kind, array, normalized, aspects, order, dxgi, gl)                         \
    WORDS(name, kind, array, normalized, aspects, order, dxgi, gl, true)
#define BLOCKS(name, array, channels, bytes, order, dxgi, gl)                                      \
    SRGB_BLOCKS(name, array, NONE, channels, bytes, order, dxgi, gl)
/* Arrays of CUDA's sRGB blocks make no texture that reads what is stored (measured: CU_TRSF_SRGB is
 * required of them), and those of the same blocks that are not sRGB read both ways. */
#define SRGB_BLOCKS(name, array, srgb, channels, bytes, order, dxgi, gl)                           \
    {COMMON(name, order, dxgi, gl),                                                                \
     MAPPED(BLOCKS, array, channels),                                                              \
     BLOCK(bytes, 4, 4),                                                                           \
     ONE_PLANE(COLOR),                                                                             \
     NORMALIZED(NONE, 0),                                                                          \
     NO_SURFACES,                                                                                  \
     .srgb_format = (CUarray_format)ARRAY_##srgb},
/* The array format is for the tables: the planes are mapped each in a
 * format of its own. Three channels, as cuda.h says of those of 4:4:4 and the runtime's channel
 * descriptor of NV12. */
#define PLANES(name, array, planes, bits, sampling, order, dxgi)                                   \
    {COMMON(name, order, dxgi, 0),                                                                 \
     MAPPED(PLANES, array, ARRAY_##array == ARRAY_NONE ? 0 : 3),                                   \
     BLOCK(0, 1, 1),                                                                               \
     OF_PLANES(planes, bits, sampling),                                                            \
     NORMALIZED(NONE, 0),                                                                          \
     NO_SURFACES},
/* Two channels, as cuda.h says. */
#define PAIRS(name, array, bytes, order, dxgi)                                                     \
    {COMMON(name, order, dxgi, 0), MAPPED(SUBSAMPLED, array, 2),                                   \
     BLOCK(bytes, 2, 1),           ONE_PLANE(COLOR),                                               \
     NORMALIZED(NONE, 0),          NO_SURFACES},
#define NO_ARRAY(name, bytes, width, height, aspects, order, dxgi, gl, ...)                        \
    {COMMON(name, order, dxgi, gl), HOLE(__VA_ARGS__), BLOCK(bytes, width, height),                \
     ONE_PLANE(aspects), NO_SURFACES},
#define NOTHING(name, bytes, order, dxgi, gl, ...)                                                 \
    NO_ARRAY(name, bytes, 1, 1, COLOR, order, dxgi, gl, __VA_ARGS__)
#define NO_ASPECTS(name, bytes, aspects, order, dxgi, gl, ...)                                     \
    NO_ARRAY(name, bytes, 1, 1, aspects, order, dxgi, gl, __VA_ARGS__)
#define NO_BLOCKS(name, bytes, width, height, order, gl, ...)                                      \
    NO_ARRAY(name, bytes, width, height, COLOR, order, 0, gl, __VA_ARGS__)
#define NO_PAIRS(name, bytes, order, ...)                                                          \
    NO_ARRAY(name, bytes, 2, 1, COLOR, order, 0, 0, __VA_ARGS__)

static const culvi_format rows[] = {
#include "cuda/format_rows.h"
};

enum { NUM_ROWS = sizeof rows / sizeof rows[0] };

/* A format of the header without a row, or a row too many, does not compile; the tests compare them
 * one by one. */
#define COUNT(name, number) +1
_Static_assert(NUM_ROWS == 0 CULV_FORMATS(COUNT), "every culv_format has one row");
#undef COUNT

/* The numbers of Vulkan 1.0 are 1 to 184 without a gap; rows are sorted. */
const culvi_format *culvi_format_find(uint32_t number)
{
    enum { LAST_OF_1_0 = CULV_FORMAT_ASTC_12x12_SRGB_BLOCK };
    if (number == 0) return NULL;
    if (number <= LAST_OF_1_0) return &rows[number - 1];
    size_t low = LAST_OF_1_0, high = NUM_ROWS;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if ((uint32_t)rows[middle].format < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < NUM_ROWS && (uint32_t)rows[low].format == number ? &rows[low] : NULL;
}

culvi_format_why culvi_format_tell_why(const culvi_format *row)
{
    culvi_format_why why = {""};
    culvi_text text = {why.text, sizeof why.text, 0};
    static const char *const whys[] = {
#define WHY(name, text) text,
        WHYS(WHY)
#undef WHY
    };
    if (!row->mapped) culvi_text_add(&text, whys[row->why], culvi_format_find(row->use)->name);
    return why;
}

/* Vulkan specification, "Compatible Formats of Planes of Multi-Planar Formats". */
static culv_format plane_format(const culvi_format *row, uint32_t plane)
{
    bool pair = row->planes == 2 && plane == 1;
    switch (row->plane_bits) {
    case 8: return pair ? CULV_FORMAT_R8G8_UNORM : CULV_FORMAT_R8_UNORM;
    case 10: return pair ? CULV_FORMAT_R10X6G10X6_UNORM_2PACK16 : CULV_FORMAT_R10X6_UNORM_PACK16;
    case 12: return pair ? CULV_FORMAT_R12X4G12X4_UNORM_2PACK16 : CULV_FORMAT_R12X4_UNORM_PACK16;
    default: return pair ? CULV_FORMAT_R16G16_UNORM : CULV_FORMAT_R16_UNORM;
    }
}

const culvi_format *culvi_format_plane(const culvi_format *row, uint32_t plane, uint32_t *across,
                                       uint32_t *down)
{
    *across = plane > 0 ? row->chroma_across : 1;
    *down = plane > 0 ? row->chroma_down : 1;
    return row->planes == 1 ? row : culvi_format_find((uint32_t)plane_format(row, plane));
}

static culv_result refuse_number(const char *call, culv_format format)
{
    return culvi_fail(
        NULL, NULL, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT,
        "%s: format is %u, which is not a format of Vulkan 1.3; culvert/format_list.h lists them",
        call, (unsigned)format);
}

culv_result culv_format_get_info(culv_format format, culv_format_info *out)
{
    CULVI_REQUIRE(NULL, out);
    CULVI_TRY(culvi_struct_check(NULL, out, "culv_format_info"));
    const culvi_format *row = culvi_format_find((uint32_t)format);
    if (row == NULL) return refuse_number("culv_format_get_info", format);
    culv_format_info info = culv_format_info_init();
    info.format = row->format;
    snprintf(info.name, sizeof info.name, "%s", row->name);
    info.mapped = row->mapped;
    info.reason = row->reason;
    snprintf(info.reason_text, sizeof info.reason_text, "%s", culvi_format_tell_why(row).text);
    info.vk_format = (uint32_t)row->format;
    info.dxgi_format = row->dxgi;
    info.gl_internal_format = row->gl;
    info.cuda_array_format = (uint32_t)row->cuda_format;
    info.channels = row->channels;
    info.normalized_array_format = (uint32_t)row->normalized_format;
    info.normalized_channels = row->normalized_channels;
    info.bytes_per_block = row->block_bytes;
    info.block_width = row->block_width;
    info.block_height = row->block_height;
    info.planes = row->planes;
    info.aspects = row->aspects;
    info.kind = row->kind;
    snprintf(info.channel_order, sizeof info.channel_order, "%s", row->channel_order);
    snprintf(info.kernel_type, sizeof info.kernel_type, "%s", row->kernel_type);
    info.surfaces = row->surfaces;
    info.cuda_version = row->planes > 1 ? 0 : culvi_array_format_version(row->cuda_format);
    info.normalized_cuda_version = culvi_array_format_version(row->normalized_format);
    info.dedicated = row->dedicated;
    for (uint32_t plane = 0; plane < row->planes; plane++)
        info.plane_formats[plane] =
            culvi_format_plane(row, plane, &info.plane_width_divisor, &info.plane_height_divisor)
                ->format;
    culvi_struct_write(out, &info, sizeof info);
    return CULV_OK;
}

bool culvi_format_whole_chroma(const culvi_format *row, uint32_t width, uint32_t height,
                               uint32_t *across, uint32_t *down)
{
    *across = row->block_height == 1 ? row->block_width
                                     : 1; /* 4:2:2 pairs; compressed blocks may be cut off */
    *down = 1;
    if (row->planes > 1) (void)culvi_format_plane(row, 1, across, down);
    return width % *across == 0 && height % *down == 0;
}

/* Returns the first of several formats with the same number: their memory is the same. */
culv_format culvi_format_from(culv_native_api api, uint32_t number)
{
    for (size_t i = 0; i < NUM_ROWS && number != 0; i++)
        if ((api == CULV_NATIVE_D3D && rows[i].dxgi == number) ||
            (api == CULV_NATIVE_GL && rows[i].gl == number))
            return rows[i].format;
    return CULV_FORMAT_NONE;
}
