/* SPDX-License-Identifier: MIT */
/* Contract rows: what texture objects on Vulkan's images read; which settings and views they take;
 * and arrays and textures where the texts leave open what is taken, and in which order they may be
 * given up. */
#define TEST_GROUP "textures."
#include "contract.h"

#include <math.h>

#define CLAMP      CU_TR_ADDRESS_MODE_CLAMP
#define WRAP       CU_TR_ADDRESS_MODE_WRAP
#define BORDER     CU_TR_ADDRESS_MODE_BORDER
#define POINT      CU_TR_FILTER_MODE_POINT
#define LINEAR     CU_TR_FILTER_MODE_LINEAR
#define NORMALIZED CU_TRSF_NORMALIZED_COORDINATES
#define INTEGER    CU_TRSF_READ_AS_INTEGER
#define SRGB       CU_TRSF_SRGB
#define UINT8X4    CU_RES_VIEW_FORMAT_UINT_4X8
#define NO_FORMAT  CU_RES_VIEW_FORMAT_NONE

/* The middle of every texel of a level, in units of the level's size. */
static place *middles(uint32_t width, uint32_t height, int layer, float level)
{
    place *places = test_memory((size_t)width * height * sizeof *places);
    for (uint32_t i = 0; i < width * height; i++)
        places[i] = (place){((float)(i % width) + 0.5f) / (float)width,
                            ((float)(i / width) + 0.5f) / (float)height, 0.5f, layer, level};
    return places;
}

static bool close_to(double found, double expected, double tolerance)
{
    return fabs(found - expected) <= tolerance; /* no: nan */
}

static void require_close(const char *what, uint32_t at, double found, double expected,
                          double tolerance)
{
    if (!close_to(found, expected, tolerance))
        FAIL("%s, texel %u: %.8f, not %.8f", what, at, found, expected);
}

/* Every level of a mipmapped texture, as floats and as the bytes that are stored. */
PAIR_CASE(levels_of_an_image, .mark = TEST_BOTH)
{
    enum { W = 61, H = 29, LEVELS = 6 };
    const CUDA_TEXTURE_DESC as_floats = image_sampling(POINT, NORMALIZED, 100),
                            as_bytes = image_sampling(POINT, NORMALIZED | INTEGER, 100);
    shared_image image = pair_image(p, &image_formats[IMAGE_RGBA8], W, H, LEVELS, 0);
    CUtexObject floats = raw_cuda_mip_texture_of(p->cu, image.mipmap, &as_floats);
    CUtexObject bytes = raw_cuda_mip_texture_of(p->cu, image.mipmap, &as_bytes);
    for (uint32_t level = 0; level < LEVELS; level++) {
        const VkExtent3D extent = raw_vk_image_extent(&image.vk, level);
        const uint32_t count = extent.width * extent.height;
        unsigned char *texels = image_pattern(image.format, extent, 7 * level),
                      *stored = test_memory(count * 4);
        float(*found)[4] = test_memory(count * sizeof *found);
        place *places = middles(extent.width, extent.height, 0, (float)level);
        raw_vk_image_write(&p->vk, &image.vk, level, texels);
        read_places(p, "read_2d_uchar4", bytes, places, (int)count, stored, 4);
        const size_t wrong = bytes_wrong(stored, texels, count * 4);
        read_places(p, "read_2d", floats, places, (int)count, found, sizeof *found);
        uint32_t off = 0;
        for (uint32_t i = 0; i < count * 4; i++)
            off += !close_to((double)found[i / 4][i % 4], texels[i] / 255.0, 1e-6);
        answer_bytes(answer_key("level %u", level), wrong);
        answer_wrong(answer_key("level %u, as floats", level), off, count * 4);
    }
}

/* Between two texels, and between two levels. NVIDIA's weights have eight bits. */
PAIR_CASE(filters, .mark = TEST_BOTH, .reason = "within the eight bits of NVIDIA's weights")
{
    enum { N = 9 };
    CUDA_TEXTURE_DESC desc = image_sampling(LINEAR, NORMALIZED, 100);
    place places[2 * N];
    float found[2 * N];
    const float first[8] = {0, 1, 0, 1, 0, 1, 0, 1}, second[2] = {3, 3};
    shared_image image = pair_image(p, &image_formats[IMAGE_R32F], 4, 2, 2, 0);
    raw_vk_image_write(&p->vk, &image.vk, 0, first);
    raw_vk_image_write(&p->vk, &image.vk, 1, second);
    desc.mipmapFilterMode = CU_TR_FILTER_MODE_LINEAR;
    CUtexObject texture = raw_cuda_mip_texture_of(p->cu, image.mipmap, &desc);
    for (int i = 0; i < N; i++) {
        places[i] = (place){(0.5f + (float)i / (N - 1)) / 4, 0.5f, 0, 0, NO_LEVEL};
        places[N + i] = (place){0.5f / 4, 0.5f, 0, 0, (float)i / (N - 1)};
    }
    read_places(p, "read_2d_float", texture, places, 2 * N, found, sizeof found[0]);
    double worst = 0;
    for (int i = 0; i < 2 * N; i++) {
        const double part = i % N / (double)(N - 1), expected = i < N ? part : 3 * part;
        worst = fmax(worst, fabs((double)found[i] - expected));
        require_close(i < N ? "between texels" : "between levels", (uint32_t)i, (double)found[i],
                      expected, 3.0 / 256 + 1e-6);
    }
    ANSWER("the worst of 18 is off by", "%.6f", worst);
}

/* Formats by what a read makes of them: eight bytes or less a texel, and four floats. */
typedef struct texel_row {
    const char *name;
    VkFormat vk;
    int cu;
    unsigned channels, flags;
    size_t bytes;
    unsigned char texel[16];
    double expected[4], tolerance;
} texel_row;

static const texel_row texel_rows[] = {
    TEST_ROW("UNORM8 as integers", VK_FORMAT_R8G8B8A8_UNORM, 0x01, 4, 0, 4, {0, 255, 51, 128},
             {0, 1, 0.2, 128 / 255.0}, 1e-6),
    TEST_ROW("UNORM_INT8X4", VK_FORMAT_R8G8B8A8_UNORM, 0xc2, 4, 0, 4, {0, 255, 51, 128},
             {0, 1, 0.2, 128 / 255.0}, 1e-6),
    TEST_ROW("SNORM8 as integers", VK_FORMAT_R8G8B8A8_SNORM, 0x08, 4, 0, 4, {0x80, 0x81, 0x7f, 64},
             {-1, -1, 1, 64 / 127.0}, 1e-6),
    TEST_ROW("SNORM_INT8X4", VK_FORMAT_R8G8B8A8_SNORM, 0xc8, 4, 0, 4, {0x80, 0x81, 0x7f, 64},
             {-1, -1, 1, 64 / 127.0}, 1e-6),
    TEST_ROW("UNORM16 as integers", VK_FORMAT_R16G16B16A16_UNORM, 0x02, 4, 0, 8,
             {0, 0, 0xff, 0xff, 1, 1, 0, 0x80}, {0, 1, 257 / 65535.0, 32768 / 65535.0}, 1e-6),
    TEST_ROW("UNORM_INT16X4", VK_FORMAT_R16G16B16A16_UNORM, 0xc5, 4, 0, 8,
             {0, 0, 0xff, 0xff, 1, 1, 0, 0x80}, {0, 1, 257 / 65535.0, 32768 / 65535.0}, 1e-6),
    TEST_ROW("SNORM_INT16X4", VK_FORMAT_R16G16B16A16_SNORM, 0xcb, 4, 0, 8,
             {0, 0x80, 1, 0x80, 0xff, 0x7f, 0, 0x40}, {-1, -1, 1, 16384 / 32767.0}, 1e-6),
    TEST_ROW("halves", VK_FORMAT_R16G16B16A16_SFLOAT, 0x10, 4, 0, 8,
             {0, 0x3c, 1, 0xc0, 1, 0, 0xff, 0x7b}, {1, -2.001953125, 1 / 16777216.0, 65504}, 1e-9),
    TEST_ROW("UNORM_INT_101010_2", VK_FORMAT_A2B10G10R10_UNORM_PACK32, 0x50, 4, 0, 4,
             {0xff, 0x57, 0x05, 0x80}, {1, 341 / 1023.0, 0, 2 / 3.0}, 1e-6),
    TEST_ROW("sRGB made linear", VK_FORMAT_R8G8B8A8_SRGB, 0x01, 4, CU_TRSF_SRGB, 4,
             {0, 255, 51, 128}, {0, 1, 0.0331047666, 128 / 255.0}, 2e-3),
    TEST_ROW("sRGB as it is stored", VK_FORMAT_R8G8B8A8_SRGB, 0x01, 4, 0, 4, {0, 255, 51, 128},
             {0, 1, 0.2, 128 / 255.0}, 1e-6),
    TEST_ROW("BGRA in the order of its bytes", VK_FORMAT_B8G8R8A8_UNORM, 0x01, 4, 0, 4,
             {0, 255, 51, 128}, {0, 1, 0.2, 128 / 255.0}, 1e-6),
};

PAIR_CASE(texels, .mark = TEST_BOTH)
{
    for (size_t i = 0; i < COUNT_OF(texel_rows); i++) {
        const texel_row *row = &texel_rows[i];
        const raw_vk_image_desc desc = image_desc(&(image_format){.vk = row->vk}, 8, 8, 1, 0);
        const CUDA_ARRAY3D_DESCRIPTOR array =
            raw_cuda_array_desc((CUarray_format)row->cu, row->channels, 8, 8);
        const CUDA_TEXTURE_DESC how = image_sampling(POINT, row->flags, 100);
        const place where = {7.5f, 7.5f, 0, 0, NO_LEVEL};
        unsigned char bytes[8 * 8 * 16];
        float found[4];
        if (!raw_vk_image_supported(&p->vk, &desc)) continue;
        for (size_t k = 0; k < 64; k++)
            memcpy(bytes + k * row->bytes, row->texel, row->bytes);
        raw_vk_image vk = pair_vk_image(p, &desc);
        raw_vk_image_write(&p->vk, &vk, 0, bytes);
        CUexternalMemory memory = pair_image_memory(p, &vk, false);
        CUmipmappedArray mipmap = raw_cuda_mapped_image(p->cu, memory, 0, &array, 1);
        CUtexObject texture = raw_cuda_texture_of(p->cu, image_level(p, mipmap, 0), &how);
        read_places(p, "read_2d", texture, &where, 1, found, sizeof found);
        ANSWER(row->name, "%.5f %.5f %.5f %.5f", (double)found[0], (double)found[1],
               (double)found[2], (double)found[3]);
        for (uint32_t c = 0; c < 4; c++)
            require_close(row->name, c, (double)found[c], row->expected[c], row->tolerance);
    }
}

/* Layers, faces and depth: each slice has a colour of its own. */
PAIR_CASE(slices, .mark = TEST_BOTH)
{
    static const struct {
        const char *kernel;
        uint32_t dimensions, height, depth, layers;
        unsigned flags;
        bool cube;
    } kinds[] = {
        {"read_1d", 1, 1, 1, 1, 0, false},
        {"read_3d", 3, 4, 4, 1, 0, false},
        {"read_1d_layered", 1, 1, 1, 5, CUDA_ARRAY3D_LAYERED, false},
        {"read_2d_layered", 2, 4, 1, 5, CUDA_ARRAY3D_LAYERED, false},
        {"read_cube", 2, 4, 1, 6, CUDA_ARRAY3D_CUBEMAP, true},
        {"read_cube_layered", 2, 4, 1, 12, CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED, true}};
    static const float axes[6][3] = {{1, 0, 0},  {-1, 0, 0}, {0, 1, 0},
                                     {0, -1, 0}, {0, 0, 1},  {0, 0, -1}};
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        const uint32_t count = kinds[k].dimensions == 3 ? kinds[k].depth : kinds[k].layers;
        const raw_vk_image_desc desc =
            TEST_ROW(.format = VK_FORMAT_R32G32B32A32_SFLOAT, .width = 4, .height = kinds[k].height,
                     .depth = kinds[k].depth, .layers = kinds[k].layers,
                     .dimensions = kinds[k].dimensions,
                     .create_flags = kinds[k].cube ? VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT : 0,
                     .flags = RAW_VK_EXPORT);
        CUDA_ARRAY3D_DESCRIPTOR array =
            raw_cuda_array_desc(CU_AD_FORMAT_FLOAT, 4, 4, kinds[k].height);
        const CUDA_TEXTURE_DESC how = image_sampling(POINT, NORMALIZED, 100);
        const uint32_t texels_each = 4 * kinds[k].height;
        place places[12];
        float colors[12 * 16][4], found[12][4];
        if (!raw_vk_image_supported(&p->vk, &desc)) continue;
        if (kinds[k].dimensions == 1) array.Height = 0;
        if (count > 1) array.Depth = count;
        array.Flags = kinds[k].flags;
        for (uint32_t i = 0; i < count * texels_each; i++)
            for (uint32_t c = 0; c < 4; c++)
                colors[i][c] = (float)(i / texels_each * 4 + c);
        for (uint32_t i = 0; i < count; i++)
            places[i] =
                kinds[k].cube
                    ? (place){axes[i % 6][0], axes[i % 6][1], axes[i % 6][2], (int)i / 6, NO_LEVEL}
                    : (place){0.6f, 0.6f, ((float)i + 0.5f) / (float)count, (int)i, NO_LEVEL};
        raw_vk_image vk = pair_vk_image(p, &desc);
        raw_vk_image_write(&p->vk, &vk, 0, colors);
        CUexternalMemory memory = pair_image_memory(p, &vk, false);
        CUmipmappedArray mipmap = raw_cuda_mapped_image(p->cu, memory, 0, &array, 1);
        CUtexObject texture = raw_cuda_texture_of(p->cu, image_level(p, mipmap, 0), &how);
        read_places(p, kinds[k].kernel, texture, places, (int)count, found, sizeof found[0]);
        uint32_t right = 0;
        for (uint32_t i = 0; i < count * 4; i++)
            right += close_to((double)found[i / 4][i % 4], i, 0);
        answer_number(kinds[k].kernel, right, count * 4);
    }
}

typedef struct setting {
    const char *what;
    int format;
    unsigned channels, array_flags;
    bool mipmapped;
    CUaddress_mode mode;
    CUfilter_mode filter, mip;
    unsigned flags;
} setting;

static const setting settings[] = {
    {"as it should be", 0x01, 4, 0, false, CLAMP, LINEAR, POINT, 0},
    {"linear of 8-bit integers", 0x01, 4, 0, false, CLAMP, LINEAR, POINT, INTEGER},
    {"linear of 32-bit integers", 0x03, 1, 0, false, CLAMP, LINEAR, POINT, 0},
    {"linear between levels of integers", 0x0a, 1, 0, true, CLAMP, POINT, LINEAR, NORMALIZED},
    {"linear of floats, as integers", 0x20, 1, 0, false, CLAMP, LINEAR, POINT, INTEGER},
    {"UNORM_INT8X4 as integers", 0xc2, 4, 0, false, CLAMP, POINT, POINT, INTEGER},
    {"UNORM_INT_101010_2 as integers", 0x50, 4, 0, false, CLAMP, POINT, POINT, INTEGER},
    {"wrap in texels", 0x01, 4, 0, false, WRAP, POINT, POINT, 0},
    {"mirror in texels", 0x01, 4, 0, false, CU_TR_ADDRESS_MODE_MIRROR, POINT, POINT, 0},
    {"border in texels", 0x01, 4, 0, false, BORDER, POINT, POINT, 0},
    {"border, normalized", 0x01, 4, 0, false, BORDER, POINT, POINT, NORMALIZED},
    {"border of integers", 0x01, 4, 0, false, BORDER, POINT, POINT, NORMALIZED | INTEGER},
    {"address mode 4", 0x01, 4, 0, false, (CUaddress_mode)4, POINT, POINT, NORMALIZED},
    {"filter mode 2", 0x01, 4, 0, false, CLAMP, (CUfilter_mode)2, POINT, 0},
    {"flag 0x80", 0x01, 4, 0, false, CLAMP, POINT, POINT, 0x80},
    {"mipmapped in texels", 0x01, 4, 0, true, CLAMP, POINT, POINT, 0},
    {"seamless, 2D", 0x01, 4, 0, false, CLAMP, POINT, POINT, CU_TRSF_SEAMLESS_CUBEMAP},
    {"seamless, a cube", 0x01, 4, CUDA_ARRAY3D_CUBEMAP, false, CLAMP, LINEAR, POINT,
     NORMALIZED | CU_TRSF_SEAMLESS_CUBEMAP},
    {"sRGB of 8-bit integers", 0x01, 4, 0, false, CLAMP, POINT, POINT, SRGB | INTEGER},
    {"sRGB of one channel", 0x01, 1, 0, false, CLAMP, POINT, POINT, SRGB},
    {"sRGB of UNORM_INT8X4", 0xc2, 4, 0, false, CLAMP, POINT, POINT, SRGB},
    {"sRGB of floats", 0x20, 4, 0, false, CLAMP, POINT, POINT, SRGB},
    {"BC1", 0x91, 4, 0, false, CLAMP, LINEAR, POINT, 0},
    {"BC7 sRGB", 0x9e, 4, 0, false, CLAMP, LINEAR, POINT, SRGB},
    {"NV12", 0xb0, 3, 0, false, CLAMP, POINT, POINT, 0},
    {"YUY2", 0xa5, 2, 0, false, CLAMP, POINT, POINT, 0},
};

static void try_setting(pair *p, size_t i)
{
    const setting *s = &settings[i];
    CUDA_ARRAY3D_DESCRIPTOR desc =
        raw_cuda_array_desc((CUarray_format)s->format, s->channels, 8, 8);
    const CUDA_TEXTURE_DESC sampling =
        TEST_ROW({s->mode, s->mode, s->mode}, s->filter, s->flags, .mipmapFilterMode = s->mip);
    CUarray array = NULL;
    CUmipmappedArray mipmap = NULL;
    CUtexObject texture = 0;
    desc.Flags = s->array_flags;
    if (s->array_flags & CUDA_ARRAY3D_CUBEMAP) desc.Depth = 6;
    CUresult result = s->mipmapped ? p->cu->MipmappedArrayCreate(&mipmap, &desc, 3)
                                   : p->cu->Array3DCreate(&array, &desc);
    if (result != CUDA_SUCCESS) {
        ANSWER(answer_key("texture: %s", s->what), "no such array: %s",
               raw_cuda_result_name(result));
        return;
    }
    result = s->mipmapped ? raw_cuda_mip_texture(p->cu, mipmap, &sampling, &texture)
                          : raw_cuda_texture(p->cu, array, &sampling, &texture);
    image_answer("texture", s->what, result);
    if (i == 0) CU_OK(result);
    if (result == CUDA_SUCCESS) CU_OK(p->cu->TexObjectDestroy(texture));
    if (array != NULL) CU_OK(p->cu->ArrayDestroy(array));
    if (mipmap != NULL) CU_OK(p->cu->MipmappedArrayDestroy(mipmap));
}

IMAGE_ROWS(which_settings, "textures.settings", "textures.settings_child", COUNT_OF(settings), 9,
           try_setting, .mark = TEST_TWIN_STRICTER, .reason = REPORTED)

/* What of a border colour cuTexObjectGetTextureDesc tells: by modes of the three dimensions. */
PAIR_CASE(border_told, .mark = TEST_BOTH)
{
    static const struct {
        const char *what;
        CUaddress_mode modes[3];
    } rows[] = {
        {"clamped", {CLAMP, CLAMP, CLAMP}},
        {"wrapped", {WRAP, WRAP, CLAMP}},
        {"border in x", {BORDER, CLAMP, CLAMP}},
        {"border in y", {CLAMP, BORDER, CLAMP}},
        {"border in z, of 2D", {CLAMP, CLAMP, BORDER}},
    };
    const CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(CU_AD_FORMAT_UNSIGNED_INT8, 4, 8, 8);
    CUarray array = raw_cuda_array(p->cu, &desc);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CUDA_TEXTURE_DESC sampling, found;
        CUtexObject texture;
        memset(&sampling, 0, sizeof sampling);
        memset(&found, 0x55, sizeof found);
        memcpy(sampling.addressMode, rows[i].modes, sizeof rows[i].modes);
        sampling.flags = NORMALIZED;
        const float color[4] = {0.5f, 0.25f, 1, 0.125f};
        memcpy(sampling.borderColor, color, sizeof color);
        CU_OK(raw_cuda_texture(p->cu, array, &sampling, &texture));
        CU_OK(p->cu->TexObjectGetTextureDesc(&found, texture));
        CU_OK(p->cu->TexObjectDestroy(texture));
        static const float zeros[4];
        unsigned char poison[sizeof color];
        memset(poison, 0x55, sizeof poison);
        ANSWER(answer_key("border colour, %s", rows[i].what), "%s",
               memcmp(found.borderColor, color, sizeof color) == 0     ? "told"
               : memcmp(found.borderColor, zeros, sizeof zeros) == 0   ? "zeros"
               : memcmp(found.borderColor, poison, sizeof poison) == 0 ? "left alone"
                                                                       : "something else");
        memcpy(found.borderColor, color, sizeof color);
        REQUIRE_EQ_BYTES(&found, &sampling, offsetof(CUDA_TEXTURE_DESC, reserved));
    }
}

/* Views: parts of layered and mipmapped arrays, other formats. */
typedef struct view_row {
    const char *what;
    unsigned array_flags; /* of 8 x 8 RGBA8 with 6 layers or faces (12 of a cube array), 3 levels */
    CUresourceViewFormat format;
    size_t width, depth;
    unsigned first_level, last_level, first_layer, last_layer;
} view_row;

#define LAYERS CUDA_ARRAY3D_LAYERED
#define CUBES  (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)

static const view_row view_rows[] = {
    {"format NONE", LAYERS, NO_FORMAT, 8, 6, 0, 2, 0, 5},
    {"all of it", LAYERS, UINT8X4, 8, 6, 0, 2, 0, 5},
    {"layers 1 to 3", LAYERS, UINT8X4, 8, 6, 0, 2, 1, 3},
    {"layers, depth 0", LAYERS, UINT8X4, 8, 0, 0, 2, 0, 5},
    {"layers, depth that of the view", LAYERS, UINT8X4, 8, 3, 0, 2, 1, 3},
    {"layer 6 of 6", LAYERS, UINT8X4, 8, 6, 0, 2, 0, 6},
    {"layers 3 to 1", LAYERS, UINT8X4, 8, 6, 0, 2, 3, 1},
    {"levels 1 to 2", LAYERS, UINT8X4, 8, 6, 1, 2, 0, 5},
    {"levels 1 to 2, width that of level 1", LAYERS, UINT8X4, 4, 6, 1, 2, 0, 5},
    {"level 3 of 3", LAYERS, UINT8X4, 8, 6, 0, 3, 0, 5},
    {"as one UINT32", LAYERS, CU_RES_VIEW_FORMAT_UINT_1X32, 8, 6, 0, 2, 0, 5},
    {"as two halves", LAYERS, CU_RES_VIEW_FORMAT_FLOAT_2X16, 8, 6, 0, 2, 0, 5},
    {"as four UINT16", LAYERS, CU_RES_VIEW_FORMAT_UINT_4X16, 8, 6, 0, 2, 0, 5},
    {"as BC1", LAYERS, CU_RES_VIEW_FORMAT_UNSIGNED_BC1, 32, 6, 0, 2, 0, 5},
    {"a cube, layers 0 to 0", CUDA_ARRAY3D_CUBEMAP, UINT8X4, 8, 6, 0, 2, 0, 0},
    {"a cube, layers 0 to 5", CUDA_ARRAY3D_CUBEMAP, UINT8X4, 8, 6, 0, 2, 0, 5},
    {"two cubes, layers 0 to 1", CUBES, UINT8X4, 8, 12, 0, 2, 0, 1},
    {"two cubes, layers 0 to 11", CUBES, UINT8X4, 8, 12, 0, 2, 0, 11},
    {"two cubes, layers 1 to 1", CUBES, UINT8X4, 8, 12, 0, 2, 1, 1},
    {"two cubes, layers 6 to 11", CUBES, UINT8X4, 8, 12, 0, 2, 6, 11},
    {"two cubes, layers 0 to 12", CUBES, UINT8X4, 8, 12, 0, 2, 0, 12},
};

static void try_view(pair *p, size_t i)
{
    const view_row *row = &view_rows[i];
    CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(CU_AD_FORMAT_UNSIGNED_INT8, 4, 8, 8);
    desc.Depth = row->array_flags == CUBES ? 12 : 6;
    desc.Flags = row->array_flags;
    const CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY,
                                         .res.mipmap.hMipmappedArray =
                                             raw_cuda_mipmap(p->cu, &desc, 3)};
    const CUDA_TEXTURE_DESC sampling = {.flags = NORMALIZED};
    const CUDA_RESOURCE_VIEW_DESC view =
        TEST_ROW(row->format, row->width, row->width, row->depth, row->first_level, row->last_level,
                 row->first_layer, row->last_layer, {0});
    CUtexObject texture = 0;
    const CUresult result = p->cu->TexObjectCreate(&texture, &resource, &sampling, &view);
    image_answer("view", row->what, result);
    if (result == CUDA_SUCCESS) CU_OK(p->cu->TexObjectDestroy(texture));
}

IMAGE_ROWS(which_views, "textures.views", "textures.views_child", COUNT_OF(view_rows), 11, try_view,
           .mark = TEST_TWIN_STRICTER, .reason = REPORTED)

/* Objects that outlive what they are of: only given up, never used. */
static void try_order(pair *p, size_t i)
{
    static const char *const what[] = {"a texture of an array", "a surface of an array",
                                       "a texture of a mapped image",
                                       "a texture of a mapped image's level"};
    const CUDA_TEXTURE_DESC how = image_sampling(POINT, NORMALIZED, 0);
    const CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(CU_AD_FORMAT_UNSIGNED_INT8, 4, 64, 64);
    shared_image image;
    CUarray array = NULL;
    CUtexObject texture = 0;
    CUsurfObject surface = 0;
    if (i < 2)
        CU_OK(p->cu->Array3DCreate(&array, &desc));
    else
        shared_image_open(p, &image_formats[IMAGE_RGBA8], 64, 64, 1, 0, &image);
    if (i == 0) CU_OK(raw_cuda_texture(p->cu, array, &how, &texture));
    if (i == 1) CU_OK(raw_cuda_surface(p->cu, array, &surface));
    if (i == 2) CU_OK(raw_cuda_mip_texture(p->cu, image.mipmap, &how, &texture));
    if (i == 3) CU_OK(raw_cuda_texture(p->cu, image_level(p, image.mipmap, 0), &how, &texture));
    if (i < 2)
        CU_OK(p->cu->ArrayDestroy(array));
    else
        shared_image_close(p, &image);
    image_answer("destroyed_after_its_array", what[i],
                 texture != 0 ? p->cu->TexObjectDestroy(texture)
                              : p->cu->SurfObjectDestroy(surface));
    answer_call(answer_key("destroyed_after_its_array: %s, the context then", what[i]),
                p->cu->CtxSynchronize());
    if (!p->cu->software) test_pass(); /* nothing more is to be done with it */
}

IMAGE_ROWS(orders, "measured.destroyed_last", "measured.destroyed_last_child", 4, 1, try_order,
           .mark = TEST_TWIN_STRICTER, .reason = REPORTED, .own = true)

/* Of planes, with and without the flag for surfaces on the whole. */
static void try_plane(pair *p, size_t i)
{
    static const char row[] = "surface_of_a_plane";
    static const char *const what[] = {"NV12 with SURFACE_LDST", "NV12 without",
                                       "P010 with SURFACE_LDST", "P010 without"};
    CUDA_ARRAY3D_DESCRIPTOR desc =
        raw_cuda_array_desc((CUarray_format)(i < 2 ? 0xb0 : 0x9f), 3, 64, 32);
    CUarray array = NULL, plane = NULL;
    CUsurfObject surface = 0;
    CUtexObject texture = 0;
    desc.Flags = i % 2 == 0 ? CUDA_ARRAY3D_SURFACE_LDST : 0;
    answer_call(answer_key("%s: %s", row, what[i]), p->cu->Array3DCreate(&array, &desc));
    if (!p->cu->software) return;
    desc.Flags |= 0x100; /* CUDA_ARRAY3D_VIDEO_ENCODE_DECODE, with which it was not tried */
    array = raw_cuda_array(p->cu, &desc);
    CUresult result = raw_cuda_surface(p->cu, array, &surface);
    answer_call(answer_key("%s: %s, of the whole", row, what[i]), result);
    if (result == CUDA_SUCCESS) CU_OK(p->cu->SurfObjectDestroy(surface));
    for (unsigned n = 0; n < 2; n++) {
        CU_OK(p->cu->ArrayGetPlane(&plane, array, n));
        result = raw_cuda_surface(p->cu, plane, &surface);
        answer_call(answer_key("%s: %s, of plane %u", row, what[i], n), result);
        if (result == CUDA_SUCCESS) CU_OK(p->cu->SurfObjectDestroy(surface));
        result = raw_cuda_texture(p->cu, plane, NULL, &texture);
        answer_call(answer_key("texture_of_a_plane: %s, of plane %u", what[i], n), result);
        if (result == CUDA_SUCCESS) CU_OK(p->cu->TexObjectDestroy(texture));
    }
}

IMAGE_ROWS(planes, "measured.surfaces_of_planes", "measured.surfaces_of_planes_child", 4, 1,
           try_plane, .mark = TEST_TWIN_STRICTER, .reason = REPORTED)

/* Block-compressed arrays of CUDA's own, whose sides are no multiples of four. */
typedef struct size_row {
    const char *what;
    size_t width, height;
    unsigned levels; /* 0: cuArray3DCreate */
} size_row;

static const size_row size_rows[] = {{"64 x 64", 64, 64, 0},
                                     {"61 x 38", 61, 38, 0},
                                     {"62 x 64", 62, 64, 0},
                                     {"64 x 62", 64, 62, 0},
                                     {"3 x 3", 3, 3, 0},
                                     {"1 x 1", 1, 1, 0},
                                     {"1D, 61", 61, 0, 0},
                                     {"64 x 64, 7 levels", 64, 64, 7},
                                     {"61 x 38, 6 levels", 61, 38, 6},
                                     {"60 x 36, 1 level", 60, 36, 1}};
enum { SIZE_ROWS = COUNT_OF(size_rows) };

/* Rows counted in blocks, what was written is read. */
static void copy_blocks(const pair *p, const size_row *r, CUarray array, size_t width,
                        size_t height, size_t bytes)
{
    const size_t across = (width + 3) / 4 * bytes, down = (height + 3) / 4;
    unsigned char *in = test_memory(across * down), *out = test_memory(across * down);
    for (size_t i = 0; i < across * down; i++)
        in[i] = (unsigned char)(i * 31 + width);
    CUresult result = raw_cuda_write_array(p->cu, array, in, across, down);
    if (result == CUDA_SUCCESS) result = raw_cuda_read_array(p->cu, array, out, across, down);
    CU_OK(result);
    answer_wrong(answer_key("BC%d: %s, copied", bytes == 8 ? 1 : 7, r->what),
                 bytes_wrong(out, in, across * down), across * down);
}

static void try_size(const pair *p, const size_row *r, int format, size_t bytes)
{
    CUDA_ARRAY3D_DESCRIPTOR desc =
                                raw_cuda_array_desc((CUarray_format)format, 4, r->width, r->height),
                            found;
    CUarray array = NULL;
    CUmipmappedArray mipmap = NULL;
    desc.Flags = 0;
    CUresult result = r->levels == 0 ? p->cu->Array3DCreate(&array, &desc)
                                     : p->cu->MipmappedArrayCreate(&mipmap, &desc, r->levels);
    if (r->height == 0) {
        CU_IS(result, CUDA_ERROR_INVALID_VALUE);
        return;
    }
    CU_OK(result);
    if (mipmap != NULL) array = image_level(p, mipmap, r->levels - 1);
    CU_OK(p->cu->Array3DGetDescriptor(&found, array));
    const uint32_t last = r->levels == 0 ? 0 : r->levels - 1;
    const size_t width = r->width >> last, height = r->height >> last;
    test_answer_is(answer_key("BC%d: %s", bytes == 8 ? 1 : 7, r->what),
                   found.Width == (width == 0 ? 1 : width) &&
                       found.Height == (height == 0 ? 1 : height),
                   "told as %zu x %zu", found.Width, found.Height);
    copy_blocks(p, r, array, found.Width, found.Height, bytes);
    if (mipmap != NULL)
        CU_OK(p->cu->MipmappedArrayDestroy(mipmap));
    else
        CU_OK(p->cu->ArrayDestroy(array));
}

static void try_one_size(pair *p, size_t i)
{
    const bool bc1 = i < SIZE_ROWS;
    try_size(p, &size_rows[i % SIZE_ROWS], bc1 ? 0x91 : 0x9d, bc1 ? 8 : 16);
    CU_OK(p->cu->CtxSynchronize());
}

IMAGE_ROWS(sizes, "measured.block_sizes", "measured.block_sizes_child", 2 * SIZE_ROWS, SIZE_ROWS,
           try_one_size, .mark = TEST_BOTH)

/* VK_LOD_CLAMP_NONE is 1000, and what a sampler of Vulkan's says is handed on. Each level holds its
 * number. */
static void try_clamp(pair *p, size_t i)
{
    enum { LEVELS = 5, SIDE = 16, READS = 6 };
    static const float most[] = {0, 2, 4, 15, 16, 100, 1000, HUGE_VALF};
    static const float asked[READS] = {0, 1, 3, 4, 15, 200};
    place places[READS];
    float r[READS];
    CUtexObject texture = 0;
    const CUDA_TEXTURE_DESC how = image_sampling(POINT, NORMALIZED, most[i]);
    shared_image image = pair_image(p, &image_formats[IMAGE_R32F], SIDE, SIDE, LEVELS, 0);
    for (uint32_t level = 0; level < LEVELS; level++) {
        float texels[SIDE * SIDE];
        for (size_t k = 0; k < SIDE * SIDE; k++)
            texels[k] = (float)level;
        raw_vk_image_write(&p->vk, &image.vk, level, texels);
    }
    for (size_t k = 0; k < READS; k++)
        places[k] = (place){0.5f, 0.5f, 0, 0, asked[k]};
    const CUresult result = raw_cuda_mip_texture(p->cu, image.mipmap, &how, &texture);
    answer_call(answer_key("a clamp at %g", (double)most[i]), result);
    if (result != CUDA_SUCCESS) return;
    read_places(p, "read_2d_float", texture, places, READS, r, sizeof r[0]);
    ANSWER(answer_key("levels read with a clamp at %g", (double)most[i]), "%g %g %g %g %g %g",
           (double)r[0], (double)r[1], (double)r[2], (double)r[3], (double)r[4], (double)r[5]);
    CU_OK(p->cu->TexObjectDestroy(texture));
}

IMAGE_ROWS(clamps, "measured.level_clamps", "measured.level_clamps_child", 8, 8, try_clamp,
           .mark = TEST_TWIN_STRICTER, .reason = REPORTED)

/* Contract rows: what textures read through views of some levels and layers, and of sRGB blocks. */
#undef TEST_GROUP
#define TEST_GROUP "placed."

static void read_texel(const pair *p, const char *kernel, CUtexObject texture, float level,
                       float found[4])
{
    const place at = {0.5f, 0.5f, 0.5f, 0, level};
    read_places(p, kernel, texture, &at, 1, found, 16);
}

/* Views: each texel's bytes hold 16 * level + layer + 1. */
enum { W = 32, H = 16, LEVELS = 3, SLICES = 5 };

static CUmipmappedArray make_levels(pair *p, CUarray_format format, size_t texel, bool layered)
{
    CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(format, 4, W, H);
    CUmipmappedArray mipmap;
    if (layered) desc.Flags |= CUDA_ARRAY3D_LAYERED;
    desc.Depth = layered ? SLICES : 0;
    CU_OK(p->cu->MipmappedArrayCreate(&mipmap, &desc, LEVELS));
    for (uint32_t level = 0; level < LEVELS; level++) {
        const size_t w = W >> level, h = H >> level, n = layered ? SLICES : 1, size = w * h * texel;
        unsigned char *texels = test_memory(size * n);
        for (size_t k = 0; k < size * n; k++)
            texels[k] = (unsigned char)(16 * level + k / size + 1);
        CU_OK(raw_cuda_write_box(p->cu, image_level(p, mipmap, level), texels, w * texel, h, n));
    }
    return mipmap;
}

typedef struct of_row {
    CUresourceViewFormat format;
    unsigned levels[2], layers[2]; /* first and last */
    unsigned shrink;               /* its extent is that of this level */
    size_t depth;
    unsigned flags; /* besides normalized coordinates */
} of_row;

/* `of`: this level's array, or below 0 the mipmapped one. */
static CUresult make_view(pair *p, CUmipmappedArray mipmap, int of, const of_row *row,
                          CUtexObject *out)
{
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY,
                                   .res.mipmap.hMipmappedArray = mipmap};
    const CUDA_TEXTURE_DESC how = {.flags = CU_TRSF_NORMALIZED_COORDINATES | row->flags,
                                   .maxMipmapLevelClamp = 10};
    const CUDA_RESOURCE_VIEW_DESC view =
        TEST_ROW(row->format, W >> row->shrink, H >> row->shrink, row->depth, row->levels[0],
                 row->levels[1], row->layers[0], row->layers[1], {0});
    if (of >= 0)
        resource = (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_ARRAY,
                                        .res.array.hArray = image_level(p, mipmap, (uint32_t)of)};
    return p->cu->TexObjectCreate(out, &resource, &how, &view);
}

static const char *view_key(int of, bool layered, const of_row *row)
{
    char level[16];
    snprintf(level, sizeof level, "level %d", of);
    return answer_key("%s%s, format %#x, levels %u to %u, layers %u to %u, depth %zu, the extent "
                      "of level %u",
                      of < 0 ? "all levels" : level, layered ? " of layers" : "",
                      (unsigned)row->format, row->levels[0], row->levels[1], row->layers[0],
                      row->layers[1], row->depth, row->shrink);
}

static void require_view(pair *p, CUmipmappedArray mipmap, int of, bool layered, const of_row *row)
{
    CUtexObject texture;
    double reads[2];
    CU_OK(make_view(p, mipmap, of, row, &texture));
    for (unsigned level = 0; level < 2; level++) {
        const unsigned last = row->levels[1] - row->levels[0];
        const unsigned shown =
            (of < 0 ? row->levels[0] : (unsigned)of) + (level < last ? level : last);
        const double wanted = (16 * shown + row->layers[0] + 1) / 255.0;
        float found[4];
        read_texel(p, layered ? "read_2d_layered" : "read_2d", texture, (float)level, found);
        reads[level] = (double)found[0] * 255;
        if (fabs((double)found[0] - wanted) > 1e-6)
            FAIL("%s: level %u is %.6f, not %.6f", view_key(of, layered, row), level,
                 (double)found[0], wanted);
    }
    ANSWER(view_key(of, layered, row), "level 0 reads %.0f, level 1 %.0f", reads[0], reads[1]);
    CU_OK(p->cu->TexObjectDestroy(texture));
}

static void refuse_view(pair *p, CUmipmappedArray mipmap, int of, bool layered, const of_row *row)
{
    CUtexObject texture;
    answer_call(view_key(of, layered, row), make_view(p, mipmap, of, row, &texture));
}

/* With the array's own format said, of the resource's own extent. */
PAIR_CASE(views, .mark = TEST_BOTH)
{
    static const of_row flat[] = {{UINT8X4, {0, 2}, {0, 0}, 0, 0, 0},
                                  {UINT8X4, {0, 1}, {0, 0}, 0, 0, 0},
                                  {UINT8X4, {1, 2}, {0, 0}, 0, 0, 0}},
                        layers[] = {{UINT8X4, {0, 2}, {0, 4}, 0, SLICES, 0},
                                    {UINT8X4, {0, 2}, {1, 3}, 0, SLICES, 0},
                                    {UINT8X4, {1, 2}, {1, 3}, 0, SLICES, 0},
                                    {UINT8X4, {0, 0}, {1, 3}, 0, SLICES, 0},
                                    {UINT8X4, {0, 2}, {0, 0}, 0, SLICES, 0}},
                        refused[] = {
                            {CU_RES_VIEW_FORMAT_NONE, {0, 2}, {1, 3}, 0, SLICES, 0},
                            {CU_RES_VIEW_FORMAT_NONE, {0, 2}, {0, 4}, 0, SLICES, 0},
                            {UINT8X4, {0, 2}, {1, 3}, 0, 0, 0}, /* depth */
                            {UINT8X4, {0, 2}, {1, 3}, 0, 1, 0},
                            {UINT8X4, {1, 2}, {1, 3}, 1, SLICES, 0}}; /* the first level's extent */
    const of_row none = {CU_RES_VIEW_FORMAT_NONE, {1, 2}, {0, 0}, 0, 0, 0},
                 shrunk = {UINT8X4, {1, 2}, {0, 0}, 1, 0, 0},
                 one = {UINT8X4, {0, 0}, {0, 0}, 1, 0, 0},
                 one_of_layers = {UINT8X4, {0, 0}, {1, 3}, 1, SLICES, 0},
                 one_unshrunk = {UINT8X4, {0, 0}, {1, 3}, 0, SLICES, 0},
                 one_none = {CU_RES_VIEW_FORMAT_NONE, {0, 0}, {1, 3}, 1, SLICES, 0};
    CUmipmappedArray mipmap = make_levels(p, CU_AD_FORMAT_UNSIGNED_INT8, 4, false);
    for (size_t i = 0; i < COUNT_OF(flat); i++)
        require_view(p, mipmap, -1, false, &flat[i]);
    require_view(p, mipmap, 1, false, &one);
    refuse_view(p, mipmap, -1, false, &none);
    refuse_view(p, mipmap, -1, false, &shrunk);
    CU_OK(p->cu->MipmappedArrayDestroy(mipmap));
    mipmap = make_levels(p, CU_AD_FORMAT_UNSIGNED_INT8, 4, true);
    for (size_t i = 0; i < COUNT_OF(layers); i++)
        require_view(p, mipmap, -1, true, &layers[i]);
    for (size_t i = 0; i < COUNT_OF(refused); i++)
        refuse_view(p, mipmap, -1, true, &refused[i]);
    require_view(p, mipmap, 1, true, &one_of_layers);
    refuse_view(p, mipmap, 1, true, &one_unshrunk);
    refuse_view(p, mipmap, 1, true, &one_none);
    CU_OK(p->cu->MipmappedArrayDestroy(mipmap));
}

/* `found`: NULL where nothing was read. */
static void answer_texture(const char *key, CUresult result, const float *found)
{
    if (found == NULL)
        answer_call(key, result);
    else
        ANSWER(key, "%s, reads %.4f %.4f %.4f %.4f", raw_cuda_result_name(result), (double)found[0],
               (double)found[1], (double)found[2], (double)found[3]);
}

static void report_view(pair *p, CUmipmappedArray mipmap, const char *what, const of_row *row,
                        bool layered)
{
    CUtexObject texture = 0;
    const CUresult result = make_view(p, mipmap, -1, row, &texture);
    const bool reads = result == CUDA_SUCCESS && !(row->flags & CU_TRSF_READ_AS_INTEGER);
    float found[4] = {-1, -1, -1, -1};
    if (reads) read_texel(p, layered ? "read_2d_layered" : "read_2d", texture, 0, found);
    if (result == CUDA_SUCCESS) CU_OK(p->cu->TexObjectDestroy(texture));
    answer_texture(
        answer_key("%s, view format %#x, flags %#x", what, (unsigned)row->format, row->flags),
        result, reads ? found : NULL);
}

/* Open: which view formats arrays of CUDA's normalized formats take, and what is read then. */
PAIR_CASE(views_of_others, .mark = TEST_TWIN_STRICTER, .reason = REPORTED)
{
    static const struct {
        const char *name;
        int cu;
        size_t texel;
        CUresourceViewFormat views[4];
    } rows[] = {
#define VIEW(name) CU_RES_VIEW_FORMAT_##name
        {"UNORM_INT8X4", 0xc2, 4, {VIEW(UINT_4X8), VIEW(SINT_4X8), VIEW(UINT_1X32)}},
        {"SNORM_INT8X4", 0xc8, 4, {VIEW(SINT_4X8), VIEW(UINT_4X8), VIEW(UINT_1X32)}},
        {"UNORM_INT16X4", 0xc5, 8, {VIEW(UINT_4X16), VIEW(FLOAT_4X16), VIEW(UINT_2X32)}},
        {"UNORM_INT_101010_2", 0x50, 4, {VIEW(UINT_1X32), VIEW(UINT_4X8), VIEW(FLOAT_1X32)}}};
    static const unsigned flags[] = {CU_TRSF_SRGB, CU_TRSF_READ_AS_INTEGER};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CUmipmappedArray mipmap = make_levels(p, (CUarray_format)rows[i].cu, rows[i].texel, true);
        for (size_t v = 0; v < 4; v++) {
            const of_row row = {rows[i].views[v], {1, 2}, {1, 3}, 0, SLICES, 0};
            report_view(p, mipmap, rows[i].name, &row, true);
        }
        CU_OK(p->cu->MipmappedArrayDestroy(mipmap));
    }
    CUmipmappedArray mipmap = make_levels(p, CU_AD_FORMAT_UNSIGNED_INT8, 4, true);
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        const of_row row = {UINT8X4, {0, 1}, {1, 3}, 0, SLICES, flags[i]};
        report_view(p, mipmap, "UNSIGNED_INT8 x 4", &row, true);
    }
    CU_OK(p->cu->MipmappedArrayDestroy(mipmap));
}

/* Block-compressed sRGB: which flags, and whether the read is linear. BC1's endpoints are of 5, 6
 * and 5 bits: 16 of 31 is 132 stored, 32 of 63 is 130. */
static const struct {
    const char *name;
    int cu;
    size_t bytes;
    bool srgb;
    double alpha;
} block_rows[] = {{"BC1_UNORM", 0x91, 8, false, 1},
                  {"BC1_UNORM_SRGB", 0x92, 8, true, 1},
                  {"BC2_UNORM_SRGB", 0x94, 16, true, 0},
                  {"BC3_UNORM_SRGB", 0x96, 16, true, 0},
                  {"BC7_UNORM", 0x9d, 16, false, 128 / 255.0},
                  {"BC7_UNORM_SRGB", 0x9e, 16, true, 128 / 255.0}};
static const struct {
    const char *name;
    unsigned flags;
    bool of_srgb; /* taken of sRGB arrays; of others all are */
} block_flags[] = {
    {"no flags", 0, false},
    {"NORMALIZED_COORDINATES", CU_TRSF_NORMALIZED_COORDINATES, false},
    {"READ_AS_INTEGER", CU_TRSF_READ_AS_INTEGER, false},
    {"SRGB", CU_TRSF_SRGB, true},
    {"NORMALIZED_COORDINATES, SRGB", CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB, true},
    {"SRGB, READ_AS_INTEGER", CU_TRSF_SRGB | CU_TRSF_READ_AS_INTEGER, true}};
enum { MIPMAPPED_FLAGS = 4 };

/* A block of one colour; BC2's and BC3's alpha is 0. */
static void write_block(int cu, unsigned char *block)
{
    if (cu >= 0x9d) { /* BC7, mode 6: 7 bits a channel and a shared one; all channels 64 << 1 */
        block[0] = 0x40;
        for (unsigned c = 0; c < 8; c++) /* r0 r1 g0 g1 b0 b1 a0 a1: the highest bit of each */
            block[(7 + c * 7 + 6) / 8] |= (unsigned char)(1u << (7 + c * 7 + 6) % 8);
        return;
    }
    unsigned char *color = block + (cu >= 0x93 ? 8 : 0);
    color[0] = color[2] = 0x10;
    color[1] = color[3] = 0x84;
}

static void require_color(const char *what, int cu, bool linear, double alpha, const float found[4])
{
    const double stored[3] = {cu >= 0x9d ? 128 / 255.0 : 132 / 255.0,
                              cu >= 0x9d ? 128 / 255.0 : 130 / 255.0,
                              cu >= 0x9d ? 128 / 255.0 : 132 / 255.0};
    for (int c = 0; c < 4; c++) {
        double wanted = c == 3 ? alpha : linear ? pow((stored[c] + 0.055) / 1.055, 2.4) : stored[c];
        if (!(fabs((double)found[c] - wanted) < 0.003))
            FAIL("%s: channel %d is %.5f, not %.5f", what, c, (double)found[c], wanted);
    }
}

static void try_block_flags(pair *p, size_t row, size_t how_row, CUmipmappedArray mipmap,
                            bool levels)
{
    const raw_cuda *cu = p->cu;
    const bool srgb = block_rows[row].srgb, taken = !srgb || block_flags[how_row].of_srgb;
    const unsigned flags = block_flags[how_row].flags;
    CUDA_TEXTURE_DESC how;
    CUtexObject texture = 0;
    float found[4] = {-1, -1, -1, -1};
    char what[96];
    snprintf(what, sizeof what, "%s%s, %s", block_rows[row].name, levels ? " with levels" : "",
             block_flags[how_row].name);
    memset(&how, 0, sizeof how);
    how.flags = flags;
    CUresult result = levels ? raw_cuda_mip_texture(cu, mipmap, &how, &texture)
                             : raw_cuda_texture(cu, image_level(p, mipmap, 0), &how, &texture);
    if (result == CUDA_SUCCESS) {
        read_texel(p, "read_2d", texture, -1000.0f, found);
        CU_OK(cu->TexObjectDestroy(texture));
    }
    answer_texture(what, result, result == CUDA_SUCCESS ? found : NULL);
    if (cu->software) return;
    REQUIRE_EQ(result, taken ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
    if (taken)
        require_color(what, block_rows[row].cu, flags & CU_TRSF_SRGB, block_rows[row].alpha, found);
}

PAIR_CASE(srgb_blocks, .mark = TEST_NVIDIA_ONLY,
          .reason = "the twin decodes no blocks, and refuses the same flags")
{
    for (size_t i = 0; i < COUNT_OF(block_rows); i++) {
        CUDA_ARRAY3D_DESCRIPTOR desc =
            raw_cuda_array_desc((CUarray_format)block_rows[i].cu, 4, 16, 16);
        unsigned char blocks[16 * 16] = {0};
        desc.Flags = 0;
        CUmipmappedArray mipmap = raw_cuda_mipmap(p->cu, &desc, 3);
        for (size_t k = 0; k < 16; k++)
            write_block(block_rows[i].cu, blocks + k * block_rows[i].bytes);
        CU_OK(raw_cuda_write_array(p->cu, image_level(p, mipmap, 0), blocks,
                                   4 * block_rows[i].bytes, 4));
        for (size_t f = 0; f < COUNT_OF(block_flags); f++)
            try_block_flags(p, i, f, mipmap, false);
        try_block_flags(p, i, MIPMAPPED_FLAGS, mipmap, true);
    }
}
