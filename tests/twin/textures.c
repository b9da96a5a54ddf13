/* SPDX-License-Identifier: MIT */
/* Texture objects: what they read at which places; formats, what is refused, what faults. */
#define TEST_GROUP "textures."
#include "raw_cuda_image.h"
#include "twin.h"

#include <math.h>
#include <string.h>

typedef raw_cuda_place place;
#define NO_LEVEL (-1000.0f)

typedef struct texture_room {
    twin t;
    CUmodule module;
} texture_room;

#define ROOM_CASE(...)                                                                             \
    TEST_ON(texture_room, room, *room = texture_room_open(), texture_room_close(room), __VA_ARGS__)

static texture_room texture_room_open(void)
{
    texture_room room = {.t = twin_begin(CU_STREAM_NON_BLOCKING)};
    room.module = raw_cuda_module(room.t.cu, "texture_kernels");
    return room;
}

static void texture_room_close(texture_room *room)
{
    twin_finish(&room->t);
}

static CUresult texture_run(texture_room *room, const char *kernel, CUtexObject texture,
                            const place *places, int count, void *out, size_t bytes)
{
    return raw_cuda_read_places(room->t.cu, raw_cuda_function(room->t.cu, room->module, kernel),
                                texture, places, count, out, bytes, room->t.stream);
}

#define INTEGER  CU_TRSF_READ_AS_INTEGER
#define SEAMLESS CU_TRSF_SEAMLESS_CUBEMAP
#define WRAP     CU_TR_ADDRESS_MODE_WRAP
#define CLAMP    CU_TR_ADDRESS_MODE_CLAMP
#define MIRROR   CU_TR_ADDRESS_MODE_MIRROR
#define BORDER   CU_TR_ADDRESS_MODE_BORDER
#define POINT    CU_TR_FILTER_MODE_POINT
#define LINEAR   CU_TR_FILTER_MODE_LINEAR
#define U8       CU_AD_FORMAT_UNSIGNED_INT8
#define INVALID  CUDA_ERROR_INVALID_VALUE

/* Four texels in each direction, and slices: depth, layers, or faces of all layers. */
typedef struct shape {
    const char *kernel;
    size_t height, depth; /* of the descriptor */
    unsigned flags;
} shape;

enum { LINE, PLANE, BOX, LINES, PLANES, CUBE, CUBES, SHAPES, SIDE = 4 };
static const shape shapes[SHAPES] = {
    {"read_1d", 0, 0, 0},
    {"read_2d", SIDE, 0, 0},
    {"read_3d", SIDE, SIDE, 0},
    {"read_1d_layered", 0, 5, CUDA_ARRAY3D_LAYERED},
    {"read_2d_layered", SIDE, 5, CUDA_ARRAY3D_LAYERED},
    {"read_cube", SIDE, 6, CUDA_ARRAY3D_CUBEMAP},
    {"read_cube_layered", SIDE, 12, CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED},
};

/* Channel c of texel (x, y) of slice z is 100 z + 10 y + x + c. */
static CUarray shape_array(const raw_cuda *cu, const shape *s)
{
    CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(CU_AD_FORMAT_FLOAT, 4, SIDE, s->height);
    const size_t height = s->height > 0 ? s->height : 1, slices = s->depth > 0 ? s->depth : 1;
    float texels[12 * SIDE * SIDE][4];
    desc.Depth = s->depth;
    desc.Flags = s->flags;
    for (size_t i = 0; i < SIDE * height * slices; i++)
        for (size_t c = 0; c < 4; c++)
            texels[i][c] =
                (float)(i / (SIDE * height) * 100 + i / SIDE % height * 10 + i % SIDE + c);
    CUarray array = raw_cuda_array(cu, &desc);
    CU_OK(raw_cuda_write_box(cu, array, texels, SIDE * sizeof texels[0], height, slices));
    return array;
}

/* Places are in texels, of cubes they are directions. The border's channels are 77 + c. */
static const struct {
    int shape;
    CUaddress_mode mode;
    CUfilter_mode filter;
    unsigned flags;
    float x, y, z;
    int layer;
    double expected;
} reads[] = {
    {LINE, CLAMP, POINT, 0, 2.25f, 0, 0, 0, 2},
    {LINE, CLAMP, LINEAR, 0, 2.25f, 0, 0, 0, 1.75},
    {LINE, WRAP, LINEAR, 0, 4, 0, 0, 0, 1.5},
    {PLANE, CLAMP, LINEAR, 0, 2.25f, 1.75f, 0, 0, 14.25},
    {PLANE, MIRROR, LINEAR, 0, 4, -0.75f, 0, 0, 5.5},
    {PLANE, BORDER, LINEAR, 0, 4, 0.5f, 0, 0, 40},
    {BOX, CLAMP, POINT, 0, 2.5f, 1.5f, 3.5f, 0, 312},
    {BOX, CLAMP, POINT, 0, -9.5f, 9.5f, 5.5f, 0, 330},
    {BOX, CLAMP, LINEAR, 0, 2.25f, 1.75f, 1.5f, 0, 114.25},
    {BOX, CLAMP, LINEAR, 0, 2.5f, 0.5f, 4, 0, 302},
    {BOX, WRAP, POINT, 0, 4.5f, -0.5f, 9.5f, 0, 130},
    {BOX, WRAP, LINEAR, 0, 0.5f, 0.5f, 4, 0, 150},
    {BOX, MIRROR, POINT, 0, 4.5f, -1.5f, 5.5f, 0, 213},
    {BOX, MIRROR, LINEAR, 0, 0.5f, 0.5f, 4.25f, 0, 300},
    {BOX, BORDER, POINT, 0, 0.5f, 0.5f, 4.5f, 0, 77},
    {BOX, BORDER, POINT, 0, 0.5f, -0.5f, 0.5f, 0, 77},
    {BOX, BORDER, POINT, 0, 3.5f, 3.5f, 3.5f, 0, 333},
    {BOX, BORDER, LINEAR, 0, 3.5f, 1.5f, 0, 0, 45},
    {LINES, CLAMP, LINEAR, 0, 2.25f, 0, 0, 2, 201.75},
    {LINES, CLAMP, POINT, 0, 2.25f, 0, 0, -7, 2},
    {LINES, BORDER, POINT, 0, 4.25f, 0, 0, 4, 77},
    {PLANES, CLAMP, LINEAR, 0, 2.25f, 1.75f, 0, 3, 314.25},
    {PLANES, CLAMP, POINT, 0, 2.25f, 1.75f, 0, -1, 12},
    {PLANES, CLAMP, POINT, 0, 2.25f, 1.75f, 0, 99, 412}, /* the last layer */
    {PLANES, WRAP, LINEAR, 0, 4, -0.5f, 0, 1, 131.5},
    /* Where a face's s and t go: the guide's table of cubes. */
    {CUBE, CLAMP, POINT, 0, 1, 0.25f, -0.25f, 0, 12},
    {CUBE, CLAMP, POINT, 0, -2, 0.5f, 0.5f, 0, 112},
    {CUBE, CLAMP, POINT, 0, 0.25f, 1, -0.25f, 0, 212},
    {CUBE, CLAMP, POINT, 0, 0.25f, -1, 0.25f, 0, 312},
    {CUBE, CLAMP, POINT, 0, 0.25f, 0.25f, 1, 0, 412},
    {CUBE, CLAMP, POINT, 0, -0.125f, 0.125f, -0.5f, 0, 512},
    {CUBE, CLAMP, LINEAR, 0, 0.5f, 0, 1, 0, 417.5},
    {CUBE, CLAMP, LINEAR, 0, 0.875f, 0, 1, 0, 418},
    {CUBE, WRAP, LINEAR, 0, 0.875f, 0, 1, 0, 417.25},
    /* Over a seam to the nearest texel of the other face; at a corner the fourth texel is the mean
     * of three. */
    {CUBE, WRAP, LINEAR, SEAMLESS, 0.875f, 0, 1, 0, 317.25},
    {CUBE, WRAP, LINEAR, SEAMLESS, 0.875f, 1, 0.25f, 0, 167.5},
    {CUBE, WRAP, LINEAR, SEAMLESS, 1, 0, -0.875f, 0, 142.25},
    {CUBE, WRAP, LINEAR, SEAMLESS, -1, 0.875f, -0.25f, 0, 128.25},
    {CUBE, WRAP, LINEAR, SEAMLESS, -0.875f, -1, 0.25f, 0, 265.5},
    {CUBE, WRAP, LINEAR, SEAMLESS, 0.25f, -0.875f, -1, 0, 481.25},
    {CUBE, CLAMP, LINEAR, SEAMLESS, 0.875f, -0.875f, 1, 0, 306 + 766 / 48.0},
    {CUBES, CLAMP, POINT, 0, 0.25f, -1, 0.25f, 1, 912},
    {CUBES, WRAP, LINEAR, SEAMLESS, 0.875f, 0, 1, 1, 917.25},
};

/* By each form of the kernel's function: without a level, and with one that the array lacks. */
ROOM_CASE(addresses_and_filters)
{
    const raw_cuda *cu = room->t.cu;
    for (size_t i = 0; i < sizeof reads / sizeof reads[0]; i++) {
        const shape *s = &shapes[reads[i].shape];
        CUDA_TEXTURE_DESC desc = raw_cuda_sampling(reads[i].mode, reads[i].filter, 0);
        const float side = s->flags & CUDA_ARRAY3D_CUBEMAP ? 1 : SIDE;
        place places[3];
        float found[3][4];
        for (int c = 0; c < 4; c++)
            desc.borderColor[c] = (float)c + 77;
        CUarray array = shape_array(cu, s);
        for (int unit = 1; unit >= (reads[i].mode != CLAMP || side == 1); unit--) {
            const float by = unit ? side : 1;
            desc.flags = reads[i].flags | (unit ? CU_TRSF_NORMALIZED_COORDINATES : 0);
            for (int k = 0; k < 3; k++)
                places[k] = (place){reads[i].x / by, reads[i].y / by, reads[i].z / by,
                                    reads[i].layer, k > 0 ? 3 : NO_LEVEL};
            CUtexObject texture = raw_cuda_texture_of(cu, array, &desc);
            CU_OK(texture_run(room, s->kernel, texture, places, 3, found, sizeof found[0]));
            for (int k = 0; k < 12; k++)
                if (!(fabs((double)found[k / 4][k % 4] - reads[i].expected - k % 4) < 1e-3))
                    FAIL("row %zu, form %d, channel %d: %g", i, k / 4, k % 4,
                         (double)found[k / 4][k % 4]);
        }
    }
}

/* Coordinates that are nowhere, and layers that are not there, read something and touch nothing
 * else. */
ROOM_CASE(far_away)
{
    static const float strange[] = {INFINITY, -INFINITY, NAN, 3e38f, -3e38f, 1e10f, -1e10f, 0.0f};
    enum { N = 8 };
    place places[N * 4];
    float found[N * 4][4];
    for (int i = 0; i < N * 4; i++)
        places[i] = (place){strange[i % N], strange[i / 2 % N], strange[i / 3 % N],
                            i % 2 ? 1 << 30 : -5, strange[i / 5 % N]};
    for (size_t i = 0; i < SHAPES; i++)
        for (int mode = WRAP; mode <= BORDER; mode++)
            for (int filter = 0; filter < 2; filter++) {
                const CUDA_TEXTURE_DESC desc = raw_cuda_sampling(
                    (CUaddress_mode)mode, (CUfilter_mode)filter, CU_TRSF_NORMALIZED_COORDINATES);
                CUtexObject texture =
                    raw_cuda_texture_of(room->t.cu, shape_array(room->t.cu, &shapes[i]), &desc);
                CU_OK(texture_run(room, shapes[i].kernel, texture, places, N * 4, found,
                                  sizeof found[0]));
            }
}

/* Levels between two, with a bias, within clamps: each holds its number. Without a bias they are
 * read by textures.settings_read of library-images and placed.views of the contract suite, too. */
ROOM_CASE(levels)
{
    static const struct {
        CUfilter_mode mip;
        float bias, low, high, level;
        double expected;
    } rows[] = {{POINT, 0.75f, 0, 100, 1, 2},
                {LINEAR, 0.75f, 0, 100, 1, 1.75},
                {LINEAR, 0.75f, 0, 100, -1, 0},
                {LINEAR, 0.75f, 0, 100, 9, 3},
                {LINEAR, 0.75f, 0, 100, NO_LEVEL, 0.75},
                {LINEAR, -1.5f, 0.25f, 2.125f, 3, 1.5},
                {LINEAR, -1.5f, 0.25f, 2.125f, 1, 0.25},
                {LINEAR, -1.5f, 0.25f, 2.125f, 9, 2.125}};
    const CUDA_ARRAY3D_DESCRIPTOR array_desc = raw_cuda_array_desc(CU_AD_FORMAT_FLOAT, 4, 13, 7);
    float texels[13 * 7 * 4];
    CUmipmappedArray mipmap = raw_cuda_mipmap(room->t.cu, &array_desc, 4);
    for (unsigned i = 0; i < 4; i++) {
        CUarray level;
        CUDA_ARRAY3D_DESCRIPTOR desc;
        CU_OK(room->t.cu->MipmappedArrayGetLevel(&level, mipmap, i));
        CU_OK(room->t.cu->Array3DGetDescriptor(&desc, level));
        for (size_t k = 0; k < sizeof texels / sizeof texels[0]; k++)
            texels[k] = (float)i;
        CU_OK(raw_cuda_write_array(room->t.cu, level, texels, desc.Width * 16, desc.Height));
    }
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        CUDA_TEXTURE_DESC desc = raw_cuda_sampling(MIRROR, LINEAR, CU_TRSF_NORMALIZED_COORDINATES);
        desc.mipmapFilterMode = rows[r].mip;
        desc.mipmapLevelBias = rows[r].bias;
        desc.minMipmapLevelClamp = rows[r].low;
        desc.maxMipmapLevelClamp = rows[r].high;
        const place where = {0.3f, -0.9f, 0, 0, rows[r].level};
        float found[4];
        CUtexObject texture = raw_cuda_mip_texture_of(room->t.cu, mipmap, &desc);
        CU_OK(texture_run(room, "read_2d", texture, &where, 1, found, sizeof found));
        if (fabs((double)found[3] - rows[r].expected) > 2e-5)
            FAIL("row %zu: %g", r, (double)found[3]);
    }
}

/* Plain memory: by element, and as a pitched image. */
ROOM_CASE(memory)
{
    enum { W = 24, H = 5, PITCH = 416 };
    float texels[PITCH / 16 * H][4], found[W * H][4];
    place places[W * H];
    const raw_cuda *cu = room->t.cu;
    CUtexObject texture;
    CUDA_TEXTURE_DESC desc = raw_cuda_sampling(CLAMP, POINT, 0);
    CUDA_RESOURCE_DESC resource;
    for (size_t i = 0; i < sizeof texels / sizeof(float); i++)
        (&texels[0][0])[i] = (float)i;
    CUdeviceptr pointer = raw_cuda_memory(cu, 8192);
    const CUdeviceptr start = (pointer + 511) / 512 * 512;
    CU_OK(raw_cuda_upload(cu, start, texels, sizeof texels));
    memset(&resource, 0, sizeof resource);
    resource.resType = CU_RESOURCE_TYPE_LINEAR;
    resource.res.linear.devPtr = start;
    resource.res.linear.format = CU_AD_FORMAT_FLOAT;
    resource.res.linear.numChannels = 4;
    resource.res.linear.sizeInBytes = W * 16;
    CU_OK(cu->TexObjectCreate(&texture, &resource, &desc, NULL));
    for (int i = 0; i < W + 2; i++)
        places[i] = (place){.layer = i - 1};
    CU_OK(texture_run(room, "fetch", texture, places, W + 2, found, sizeof found[0]));
    REQUIRE_EQ_BYTES(found[1], texels, W * 16);
    REQUIRE(found[0][0] == 0.0f && found[W + 1][0] == 0.0f); /* outside */
    CU_OK(cu->TexObjectDestroy(texture));
    resource.res.linear.sizeInBytes = 8192 + 16;
    CU_IS(cu->TexObjectCreate(&texture, &resource, &desc, NULL), CUDA_ERROR_INVALID_VALUE);

    memset(&resource, 0, sizeof resource);
    resource.resType = CU_RESOURCE_TYPE_PITCH2D;
    resource.res.pitch2D.devPtr = start;
    resource.res.pitch2D.format = CU_AD_FORMAT_FLOAT;
    resource.res.pitch2D.numChannels = 4;
    resource.res.pitch2D.width = W;
    resource.res.pitch2D.height = H;
    resource.res.pitch2D.pitchInBytes = PITCH;
    CU_OK(cu->TexObjectCreate(&texture, &resource, &desc, NULL));
    for (int i = 0; i < W * H; i++)
        places[i] = (place){(float)(i % W) + 0.5f, (float)(i / W) + 0.5f, 0, 0, NO_LEVEL};
    CU_OK(texture_run(room, "read_2d", texture, places, W * H, found, sizeof found[0]));
    for (int y = 0; y < H; y++)
        REQUIRE_EQ_BYTES(found[y * W], texels[y * (PITCH / 16)], W * 16);
    CU_OK(cu->TexObjectDestroy(texture));
}

/* One texel of a 1x1 image. */
static void read_one(texture_room *room, CUarray_format format, unsigned channels,
                     const void *texel, size_t bytes, unsigned flags, const char *kernel, void *out,
                     size_t out_bytes)
{
    const raw_cuda *cu = room->t.cu;
    CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(format, channels, 1, 1);
    const CUDA_TEXTURE_DESC sampling = raw_cuda_sampling(CLAMP, POINT, flags);
    const place where = {0.5f, 0.5f, 0, 0, NO_LEVEL};
    desc.Flags = 0;
    CUarray array = raw_cuda_array(cu, &desc);
    CU_OK(raw_cuda_write_array(cu, array, texel, bytes, 1));
    CUtexObject texture = raw_cuda_texture_of(cu, array, &sampling);
    CU_OK(texture_run(room, kernel, texture, &where, 1, out, out_bytes));
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
    read_one(room, CU_AD_FORMAT_UNSIGNED_INT8, 4, bytes, 4, INTEGER, "read_2d_uchar4", found_bytes,
             4);
    REQUIRE_EQ_BYTES(found_bytes, bytes, 4);
    read_one(room, CU_AD_FORMAT_UNSIGNED_INT8, 4, bytes, 4, INTEGER, "read_2d_uint4", found_words,
             16);
    read_one(room, CU_AD_FORMAT_SIGNED_INT8, 4, signs, 4, INTEGER, "read_2d_int4", found_ints, 16);
    for (int c = 0; c < 4; c++)
        REQUIRE(found_words[c] == bytes[c] && found_ints[c] == signs[c]);
    read_one(room, CU_AD_FORMAT_SIGNED_INT16, 2, shorts, 4, INTEGER, "read_2d_short2", found_short,
             4);
    REQUIRE_EQ_BYTES(found_short, shorts, 4);
    read_one(room, CU_AD_FORMAT_UNSIGNED_INT16, 2, words, 4, INTEGER, "read_2d_ushort2",
             found_short, 4);
    REQUIRE_EQ_BYTES(found_short, words, 4);
    /* 32 bits are never promoted. */
    read_one(room, CU_AD_FORMAT_SIGNED_INT32, 4, ints, 16, 0, "read_2d_int4", found_ints, 16);
    REQUIRE_EQ_BYTES(found_ints, ints, 16);
}

/* Another format of the same size. What a view of some layers reads: placed.views of the contract
 * suite. */
ROOM_CASE(views)
{
    enum { W = 3, H = 2, LAYERS = 5 };
    const place where = {0.5f, 0.5f, 0, 0, NO_LEVEL};
    const raw_cuda *cu = room->t.cu;
    CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(CU_AD_FORMAT_UNSIGNED_INT32, 1, W, H);
    CUDA_TEXTURE_DESC sampling = raw_cuda_sampling(CLAMP, POINT, INTEGER), found_sampling;
    CUDA_RESOURCE_DESC resource, found_resource;
    CUDA_RESOURCE_VIEW_DESC view;
    CUtexObject texture;
    desc.Depth = LAYERS;
    desc.Flags = CUDA_ARRAY3D_LAYERED;
    CUarray array = raw_cuda_array(cu, &desc);
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
    CU_OK(cu->TexObjectGetResourceDesc(&found_resource, texture));
    memset(&found_sampling, 0, sizeof found_sampling); /* the border colour is not told */
    CU_OK(cu->TexObjectGetTextureDesc(&found_sampling, texture));
    REQUIRE_EQ_BYTES(&found_resource, &resource, sizeof resource);
    REQUIRE_EQ_BYTES(&found_sampling, &sampling, sizeof sampling);
    CU_OK(cu->TexObjectDestroy(texture));
    CU_IS(cu->TexObjectDestroy(texture), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cu->TexObjectGetResourceDesc(&found_resource, texture), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cu->TexObjectGetTextureDesc(&found_sampling, texture), CUDA_ERROR_INVALID_VALUE);

    view.format = (CUresourceViewFormat)99;
    CU_IS(cu->TexObjectCreate(&texture, &resource, &sampling, &view), CUDA_ERROR_INVALID_VALUE);
    view = good;
    view.reserved[15] = 1;
    CU_IS(cu->TexObjectCreate(&texture, &resource, &sampling, &view), CUDA_ERROR_INVALID_VALUE);

    /* What is read through it, from an array of four bytes a texel seen as one of halves. */
    desc = raw_cuda_array_desc(CU_AD_FORMAT_UNSIGNED_INT8, 4, 1, 1);
    array = raw_cuda_array(cu, &desc);
    CU_OK(raw_cuda_write_array(cu, array, (const uint8_t[4]){0x00, 0x3c, 0x00, 0xc0}, 4, 1));
    resource.res.array.hArray = array;
    memset(&view, 0, sizeof view);
    view.format = CU_RES_VIEW_FORMAT_FLOAT_2X16;
    view.width = view.height = 1;
    float value = 0;
    CU_OK(cu->TexObjectCreate(&texture, &resource, &sampling, &view));
    CU_OK(texture_run(room, "read_2d_float", texture, &where, 1, &value, 4));
    REQUIRE(value == 1.0f);
    CU_OK(cu->TexObjectDestroy(texture));
}

/* Beside textures.settings and bad.textures of the contract suite. */
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
        {(CUarray_format)0xa7, 2, 0x100, 0, POINT, CUDA_ERROR_NOT_SUPPORTED}, /* Y216 */
    };
    CUtexObject texture;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(rows[i].format, rows[i].channels, 8, 8);
        CUDA_TEXTURE_DESC sampling = raw_cuda_sampling(CLAMP, POINT, rows[i].flags);
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
    const CUDA_TEXTURE_DESC sampling = raw_cuda_sampling(CLAMP, POINT, 0);
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
    const CUDA_TEXTURE_DESC sampling = raw_cuda_sampling(CLAMP, POINT, flags);
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
