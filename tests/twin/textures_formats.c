/* SPDX-License-Identifier: MIT */
/* Texture objects: what is read of each format, what is refused, and what faults. */
#define TEST_GROUP "textures."
#include "textures.h"

#include <math.h>

/* One texel of a 1x1 image. */
static CUresult read_one(texture_room *room, CUarray_format format, unsigned channels,
                         const void *texel, size_t bytes, unsigned flags, const char *kernel,
                         void *out, size_t out_bytes)
{
    const raw_cuda *cu = room->t.cu;
    CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(format, channels, 1, 1);
    const CUDA_TEXTURE_DESC sampling =
        texture_desc(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, flags);
    const place where = {0.5f, 0.5f, 0, 0, NO_LEVEL};
    CUarray array;
    CUtexObject texture;
    desc.Flags = 0;
    CU_OK(cu->Array3DCreate(&array, &desc));
    CU_OK(raw_cuda_write_array(cu, array, texel, bytes, 1));
    CUresult result = raw_cuda_texture(cu, array, &sampling, &texture);
    if (result == CUDA_SUCCESS) {
        result = texture_run(room, kernel, texture, &where, 1, out, out_bytes);
        if (result != CUDA_SUCCESS) return result; /* nothing can be given back in order any more */
        CU_OK(cu->TexObjectDestroy(texture));
    }
    CU_OK(cu->ArrayDestroy(array));
    return result;
}

static void require_floats(texture_room *room, CUarray_format format, unsigned channels,
                           const void *texel, size_t bytes, unsigned flags, const double *expected)
{
    float found[4];
    const char *kernel = channels == 4 ? "read_2d" : "read_2d_float";
    CU_OK(read_one(room, format, channels, texel, bytes, flags, kernel, found,
                   channels == 4 ? 16 : 4));
    for (unsigned c = 0; c < (channels == 4 ? 4u : 1u); c++)
        if (fabs((double)found[c] - expected[c]) > 1e-6)
            FAIL("format 0x%x, channel %u: %g, not %g", (unsigned)format, c, (double)found[c],
                 expected[c]);
}

/* Beside textures.texels of the contract suite. */
ROOM_CASE(floats)
{
    static const uint8_t bytes[4] = {0, 255, 51, 128};
    static const int16_t shorts[4] = {-32768, -32767, 32767, 16384};
    static const uint16_t halves[4] = {0x3c00, 0xc001, 0x0001, 0x7bff};
    static const uint16_t infinity = 0xfc00;
    static const float singles[4] = {1.5f, -2.25f, 1e30f, 0.0f};
    static const double of_shorts[4] = {-1, -1, 1, 16384 / 32767.0}, of_byte = 0.2;
    const double of_halves[4] = {1, -2.001953125, ldexp(1, -24), 65504},
                 of_srgb[4] = {0, 1, pow((0.2 + 0.055) / 1.055, 2.4), 128 / 255.0};
    float found;
    require_floats(room, CU_AD_FORMAT_UNSIGNED_INT8, 1, bytes + 2, 1, 0, &of_byte);
    require_floats(room, CU_AD_FORMAT_SIGNED_INT16, 4, shorts, 8, 0, of_shorts);
    require_floats(room, CU_AD_FORMAT_HALF, 4, halves, 8, CU_TRSF_READ_AS_INTEGER, of_halves);
    require_floats(room, CU_AD_FORMAT_UNORM_INT8X4, 4, bytes, 4, CU_TRSF_SRGB, of_srgb);
    CU_OK(read_one(room, CU_AD_FORMAT_HALF, 1, &infinity, 2, 0, "read_2d_float", &found, 4));
    REQUIRE(found == -INFINITY);
    float single[4];
    CU_OK(read_one(room, CU_AD_FORMAT_FLOAT, 4, singles, 16, 0, "read_2d", single, 16));
    REQUIRE_EQ_BYTES(single, singles, sizeof single);
}

ROOM_CASE(integers)
{
    static const uint8_t bytes[4] = {0, 255, 51, 128};
    static const int8_t signs[4] = {-128, -1, 127, 0};
    static const int16_t shorts[2] = {-32768, 1000};
    static const uint16_t words[2] = {65535, 1000};
    static const int32_t ints[4] = {INT32_MIN, -1, INT32_MAX, 5};
    uint8_t found_bytes[4];
    uint32_t found_words[4];
    int32_t found_ints[4];
    uint16_t found_short[2];
    CU_OK(read_one(room, CU_AD_FORMAT_UNSIGNED_INT8, 4, bytes, 4, CU_TRSF_READ_AS_INTEGER,
                   "read_2d_uchar4", found_bytes, 4));
    REQUIRE_EQ_BYTES(found_bytes, bytes, 4);
    CU_OK(read_one(room, CU_AD_FORMAT_UNSIGNED_INT8, 4, bytes, 4, CU_TRSF_READ_AS_INTEGER,
                   "read_2d_uint4", found_words, 16));
    CU_OK(read_one(room, CU_AD_FORMAT_SIGNED_INT8, 4, signs, 4, CU_TRSF_READ_AS_INTEGER,
                   "read_2d_int4", found_ints, 16));
    for (int c = 0; c < 4; c++)
        REQUIRE(found_words[c] == bytes[c] && found_ints[c] == signs[c]);
    CU_OK(read_one(room, CU_AD_FORMAT_SIGNED_INT16, 2, shorts, 4, CU_TRSF_READ_AS_INTEGER,
                   "read_2d_short2", found_short, 4));
    REQUIRE_EQ_BYTES(found_short, shorts, 4);
    CU_OK(read_one(room, CU_AD_FORMAT_UNSIGNED_INT16, 2, words, 4, CU_TRSF_READ_AS_INTEGER,
                   "read_2d_ushort2", found_short, 4));
    REQUIRE_EQ_BYTES(found_short, words, 4);
    /* 32 bits are never promoted. */
    CU_OK(
        read_one(room, CU_AD_FORMAT_SIGNED_INT32, 4, ints, 16, 0, "read_2d_int4", found_ints, 16));
    REQUIRE_EQ_BYTES(found_ints, ints, 16);
}

/* Another format of the same size, and some of the layers. */
ROOM_CASE(views)
{
    enum { W = 3, H = 2, LAYERS = 5 };
    uint8_t texels[LAYERS][H][W][4];
    place places[LAYERS];
    const raw_cuda *cu = room->t.cu;
    PROC(cu, TexObjectGetResourceViewDesc, 5000);
    PROC(cu, TexObjectGetResourceDesc, 5000);
    PROC(cu, TexObjectGetTextureDesc, 5000);
    CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(CU_AD_FORMAT_UNSIGNED_INT32, 1, W, H);
    CUDA_TEXTURE_DESC sampling = texture_desc(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT,
                                              CU_TRSF_READ_AS_INTEGER),
                      found_sampling;
    CUDA_RESOURCE_DESC resource, found_resource;
    CUDA_RESOURCE_VIEW_DESC view, found_view;
    CUarray array;
    CUtexObject texture;
    for (size_t i = 0; i < sizeof texels; i++)
        (&texels[0][0][0][0])[i] = (uint8_t)(i * 37);
    desc.Depth = LAYERS;
    desc.Flags = CUDA_ARRAY3D_LAYERED;
    CU_OK(cu->Array3DCreate(&array, &desc));
    CU_OK(raw_cuda_write_box(cu, array, texels, W * 4, H, LAYERS));
    memset(&resource, 0, sizeof resource);
    resource.res.array.hArray = array;
    memset(&view, 0, sizeof view);
    view.format = CU_RES_VIEW_FORMAT_UINT_4X8;
    view.width = W;
    view.height = H;
    view.depth = LAYERS;
    view.firstLayer = 1;
    view.lastLayer = 3;
    const CUDA_RESOURCE_VIEW_DESC good = view;
    CU_OK(cu->TexObjectCreate(&texture, &resource, &sampling, &view));
    CU_OK(TexObjectGetResourceViewDesc(&found_view, texture));
    CU_OK(TexObjectGetResourceDesc(&found_resource, texture));
    memset(&found_sampling, 0, sizeof found_sampling); /* the border colour is not told */
    CU_OK(TexObjectGetTextureDesc(&found_sampling, texture));
    REQUIRE_EQ_BYTES(&found_view, &view, sizeof view);
    REQUIRE_EQ_BYTES(&found_resource, &resource, sizeof resource);
    REQUIRE_EQ_BYTES(&found_sampling, &sampling, sizeof sampling);
    CU_OK(cu->TexObjectDestroy(texture));
    CU_IS(cu->TexObjectDestroy(texture), CUDA_ERROR_INVALID_VALUE);
    CU_IS(TexObjectGetResourceDesc(&found_resource, texture), CUDA_ERROR_INVALID_VALUE);
    CU_IS(TexObjectGetTextureDesc(&found_sampling, texture), CUDA_ERROR_INVALID_VALUE);

    view.format = (CUresourceViewFormat)99;
    CU_IS(cu->TexObjectCreate(&texture, &resource, &sampling, &view), CUDA_ERROR_INVALID_VALUE);
    view = good;
    view.reserved[15] = 1;
    CU_IS(cu->TexObjectCreate(&texture, &resource, &sampling, &view), CUDA_ERROR_INVALID_VALUE);
    CU_OK(cu->ArrayDestroy(array));

    /* What is read through it, from an array of four bytes a texel seen as one of halves. */
    desc = raw_cuda_array_desc(CU_AD_FORMAT_UNSIGNED_INT8, 4, 1, 1);
    CU_OK(cu->Array3DCreate(&array, &desc));
    CU_OK(raw_cuda_write_array(cu, array, (const uint8_t[4]){0x00, 0x3c, 0x00, 0xc0}, 4, 1));
    resource.res.array.hArray = array;
    memset(&view, 0, sizeof view);
    view.format = CU_RES_VIEW_FORMAT_FLOAT_2X16;
    view.width = view.height = 1;
    float value = 0;
    places[0] = (place){0.5f, 0.5f, 0, 0, NO_LEVEL};
    CU_OK(cu->TexObjectCreate(&texture, &resource, &sampling, &view));
    CU_OK(texture_run(room, "read_2d_float", texture, places, 1, &value, 4));
    REQUIRE(value == 1.0f);
    CU_OK(cu->TexObjectDestroy(texture));
    CU_OK(cu->ArrayDestroy(array));

    /* Layers of a view are counted from its first one. */
    desc = raw_cuda_array_desc(CU_AD_FORMAT_FLOAT, 4, 1, 1);
    desc.Depth = LAYERS;
    desc.Flags = CUDA_ARRAY3D_LAYERED;
    float colors[LAYERS][4], read[LAYERS][4];
    texture_noise(&colors[0][0], LAYERS * 4, 77);
    CU_OK(cu->Array3DCreate(&array, &desc));
    CU_OK(raw_cuda_write_box(cu, array, colors, 16, 1, LAYERS));
    resource.res.array.hArray = array;
    view = good;
    view.format = CU_RES_VIEW_FORMAT_FLOAT_4X32;
    view.width = view.height = 1;
    CU_OK(cu->TexObjectCreate(&texture, &resource, &sampling, &view));
    for (int i = 0; i < LAYERS; i++)
        places[i] = (place){0.5f, 0.5f, 0, i, NO_LEVEL};
    CU_OK(texture_run(room, "read_2d_layered", texture, places, LAYERS, read, sizeof read[0]));
    REQUIRE_EQ_BYTES(read, colors + 1, 3 * sizeof read[0]);
    REQUIRE_EQ_BYTES(read + 4, colors + 3, sizeof read[0]);
    CU_OK(cu->TexObjectDestroy(texture));
    CU_OK(cu->ArrayDestroy(array));
}

#define INTEGER CU_TRSF_READ_AS_INTEGER
#define CLAMP   CU_TR_ADDRESS_MODE_CLAMP
#define POINT   CU_TR_FILTER_MODE_POINT
#define U8      CU_AD_FORMAT_UNSIGNED_INT8
#define INVALID CUDA_ERROR_INVALID_VALUE

/* Beside textures.settings, placed.srgb_blocks and bad.textures of the contract suite. */
TWIN_CASE(settings, 0)
{
    static const struct {
        CUarray_format format;
        unsigned channels, array_flags, flags;
        CUfilter_mode mip;
        CUresult result;
    } rows[] = {
        {U8, 4, 0, 0, (CUfilter_mode)2, INVALID},
        {U8, 4, CUDA_ARRAY3D_CUBEMAP, CU_TRSF_SEAMLESS_CUBEMAP, POINT, CUDA_SUCCESS},
        {CU_AD_FORMAT_NV12, 3, 0x100, 0, POINT, CUDA_ERROR_NOT_SUPPORTED},
        {(CUarray_format)0xa7, 2, 0x100, 0, POINT, CUDA_ERROR_NOT_SUPPORTED}, /* Y216 */
    };
    CUtexObject texture;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(rows[i].format, rows[i].channels, 8, 8);
        CUDA_TEXTURE_DESC sampling = texture_desc(CLAMP, POINT, rows[i].flags);
        sampling.mipmapFilterMode = rows[i].mip;
        desc.Flags = rows[i].array_flags;
        if (rows[i].array_flags & CUDA_ARRAY3D_CUBEMAP) desc.Depth = 6;
        CUarray array = raw_cuda_array(t->cu, &desc);
        CU_IS(raw_cuda_texture(t->cu, array, &sampling, &texture), rows[i].result);
        if (rows[i].result != CUDA_SUCCESS) continue;
        sampling.reserved[11] = 1;
        CU_IS(raw_cuda_texture(t->cu, array, &sampling, &texture), INVALID);
        sampling.reserved[11] = 0;
        sampling.minMipmapLevelClamp = NAN;
        CU_IS(raw_cuda_texture(t->cu, array, &sampling, &texture), INVALID);
        REQUIRE_EQ(twin_counts(t->cu).textures, 1);
        CU_OK(t->cu->TexObjectDestroy(texture));
    }
    CUDA_RESOURCE_DESC resource = {.resType = (CUresourcetype)4};
    const CUDA_TEXTURE_DESC sampling = texture_desc(CLAMP, POINT, 0);
    CU_IS(t->cu->TexObjectCreate(NULL, &resource, &sampling, NULL), INVALID);
    CU_IS(t->cu->TexObjectCreate(&texture, &resource, &sampling, NULL), INVALID);
}

/* What is undefined on the device ends the context here. */
static void require_fault(const char *kernel, CUarray_format format, unsigned channels,
                          unsigned array_flags, unsigned flags, int destroyed)
{
    texture_room room = texture_room_open();
    const raw_cuda *cu = room.t.cu;
    CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(format, channels, 8, 8);
    const CUDA_TEXTURE_DESC sampling = texture_desc(CLAMP, POINT, flags);
    const place where = {0.5f, 0.5f, 0, 0, NO_LEVEL};
    float found[4];
    CUarray array;
    CUtexObject texture;
    desc.Flags = array_flags;
    if (array_flags) desc.Depth = 6;
    CU_OK(cu->Array3DCreate(&array, &desc));
    CU_OK(raw_cuda_texture(cu, array, &sampling, &texture));
    if (destroyed == 1) CU_OK(cu->TexObjectDestroy(texture));
    if (destroyed == 2) CU_OK(cu->ArrayDestroy(array));
    CU_IS(texture_run(&room, kernel, destroyed == 3 ? 0 : texture, &where, 1, found, sizeof found),
          CUDA_ERROR_ILLEGAL_ADDRESS);
    if (destroyed != 1) CU_IS(cu->TexObjectDestroy(texture), CUDA_ERROR_ILLEGAL_ADDRESS);
    CU_OK(cu->DevicePrimaryCtxRelease(0));
    CU_OK(cu->DevicePrimaryCtxReset(0));
    CU_OK(cu->CtxSetCurrent(NULL));
    raw_cuda_require_empty(cu);
}

TEST(faults, .faults = true)
{
    for (int destroyed = 1; destroyed <= 3; destroyed++)
        require_fault("read_2d_float", U8, 4, 0, 0, destroyed);
    require_fault("read_1d", U8, 4, 0, 0, 0); /* another kind of array */
    require_fault("read_2d", U8, 4, CUDA_ARRAY3D_LAYERED, 0, 0);
    require_fault("read_2d_layered", U8, 4, CUDA_ARRAY3D_CUBEMAP, 0, 0);
    require_fault("read_3d", U8, 4, CUDA_ARRAY3D_LAYERED, 0, 0);
    require_fault("read_2d", U8, 1, 0, 0, 0);        /* more channels than there are */
    require_fault("read_2d_uchar4", U8, 4, 0, 0, 0); /* floats */
    require_fault("read_2d", U8, 4, 0, INTEGER, 0);
    require_fault("read_2d_int4", U8, 4, 0, INTEGER, 0); /* the other sign */
    require_fault("read_2d_uchar4", CU_AD_FORMAT_UNSIGNED_INT16, 4, 0, INTEGER, 0); /* narrower */
}
