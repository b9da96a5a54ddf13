/* culv_image_texture(): what textures of some levels and layers read, by data: every kind of image, every format of
 * CUDA's that views have; and what has none. SPDX-License-Identifier: MIT */
#include "../formats/sweep_kernels.h" /* formats_texture's kernel reads the textures */
#include "image_stage.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_TEXELS = 32 * 16 * 12 };

typedef struct reading {
    stage s;
    CUmodule module;
    CUfunction sample;
    CUdeviceptr values;
    uint32_t found[MOST_TEXELS][4];
} reading;

static reading room;

static void open_room(void)
{
    stage_open(&room.s);
    const raw_cuda *cu = room.s.w.cu;
    CUcontext before = lib_enter(&room.s.w);
    room.module = raw_cuda_load(cu, "formats_texture");
    room.sample = raw_cuda_function(cu, room.module, "sweep_sample");
    CU_OK(cu->MemAlloc(&room.values, sizeof room.found));
    lib_leave(&room.s.w, before);
}

static void close_room(void)
{
    const raw_cuda *cu = room.s.w.cu;
    CUcontext before = lib_enter(&room.s.w);
    CU_OK(cu->MemFree(room.values));
    CU_OK(cu->ModuleUnload(room.module));
    lib_leave(&room.s.w, before);
    stage_close(&room.s);
}

/* A kind of image and its texels: each byte of level l, layer n is 16 * l + n + 1. */
typedef struct kind {
    int dimension;
    VkImageType type;
    VkExtent3D extent;
    uint32_t layers;
    VkImageCreateFlags flags;
} kind;

enum { LEVELS = 3 };

static uint32_t side(uint32_t whole, uint32_t level)
{
    return whole >> level != 0 ? whole >> level : 1;
}

static VkImageCreateInfo kind_info(const kind *k, VkFormat format)
{
    VkImageCreateInfo info =
        image_info(format, k->extent.width, k->extent.height, LEVELS, VK_IMAGE_USAGE_SAMPLED_BIT, NULL);
    info.flags = k->flags;
    info.imageType = k->type;
    info.extent = k->extent;
    info.arrayLayers = k->layers;
    return info;
}

/* NULL: there is no such image here. */
static culv_vk_image *make(const VkImageCreateInfo *info, culv_texels texels)
{
    culv_vk_image *image = NULL;
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    d.create_info = info;
    d.texels = texels;
    culv_result result = culv_vk_image_create(room.s.w.attachment, &d, &image);
    if (result == CULV_ERROR_UNSUPPORTED) {
        printf("  no such image here: %s\n", culv_last_error_message());
        return NULL;
    }
    LIB_OK(result);
    const shared_image its = {.image = culv_vk_image_handle(image)};
    image_first_release(&room.s, &its, 0, false);
    return image;
}

/* In CUDA's turn, which stays until the image goes. */
static void fill(culv_image *image, const kind *k, const unsigned char *block, size_t bytes, uint32_t across)
{
    stage_cuda_begin(&room.s);
    lib_finish(&room.s.w, room.s.stream);
    CUcontext before = lib_enter(&room.s.w);
    for (uint32_t level = 0; level < LEVELS; level++) {
        const size_t w = (side(k->extent.width, level) + across - 1) / across,
                     h = (side(k->extent.height, level) + across - 1) / across,
                     n = k->type == VK_IMAGE_TYPE_3D ? side(k->extent.depth, level) : k->layers;
        unsigned char *texels = malloc(w * h * n * bytes);
        CUarray array = NULL;
        REQUIRE(texels != NULL);
        for (size_t i = 0; i < w * h * n * bytes; i++) {
            const size_t layer = k->type == VK_IMAGE_TYPE_3D ? 0 : i / (w * h * bytes);
            texels[i] = block != NULL ? block[i % bytes] : (unsigned char)(16 * level + layer + 1);
        }
        LIB_OK(culv_image_array(image, level, &array));
        CU_OK(raw_cuda_write_box(room.s.w.cu, array, texels, w * bytes, h, n));
        free(texels);
    }
    lib_leave(&room.s.w, before);
    stage_cuda_end(&room.s);
}

/* Texels of one level of the texture into room.found. */
static void read_level(CUtexObject texture, int dimension, int number, int channels, int level, int w, int h,
                       int n)
{
    const raw_cuda *cu = room.s.w.cu;
    void *params[] = {&texture, &dimension, &number, &channels, &level, &w, &h, &n, &room.values};
    const unsigned threads = (unsigned)(w * h * n);
    REQUIRE(threads <= MOST_TEXELS);
    CUcontext before = lib_enter(&room.s.w);
    CU_OK(cu->LaunchKernel(room.sample, (threads + 127) / 128, 1, 1, 128, 1, 1, 0, room.s.stream, params,
                           NULL));
    CU_OK(cu->MemcpyDtoHAsync(room.found, room.values, (size_t)threads * 16, room.s.stream));
    CU_OK(cu->StreamSynchronize(room.s.stream));
    lib_leave(&room.s.w, before);
}

static double as_double(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

/* Both ends of a range of levels, all of its layers. */
static void require_range(culv_image *image, const kind *k, const culv_texture_desc *d, CUtexObject texture)
{
    for (uint32_t at = 0; at<d->level_count; at += d->level_count> 1 ? d->level_count - 1 : 1) {
        const uint32_t level = d->base_level + at;
        const bool deep = k->type == VK_IMAGE_TYPE_3D;
        const uint32_t w = side(k->extent.width, level), h = side(k->extent.height, level),
                       n = deep ? side(k->extent.depth, level) : d->layer_count;
        read_level(texture, k->dimension, SWEEP_FLOAT, 4, (int)at, (int)w, (int)h, (int)n);
        for (uint32_t i = 0; i < w * h * n; i++) {
            const uint32_t layer = deep ? 0 : d->base_layer + i / (w * h);
            const double wanted = (16 * level + layer + 1) / 255.0;
            for (int c = 0; c < 4; c++)
                if (fabs(as_double(room.found[i][c]) - wanted) > 1e-6)
                    FAIL("%s: levels %u + %u, layers %u + %u: texel %u of level %u, channel %d is %.6f, not "
                         "%.6f",
                         culv_image_format(image) == CULV_FORMAT_R8G8B8A8_UNORM ? "RGBA8" : "?",
                         (unsigned)d->base_level, (unsigned)d->level_count, (unsigned)d->base_layer,
                         (unsigned)d->layer_count, (unsigned)i, (unsigned)at, c, as_double(room.found[i][c]),
                         wanted);
        }
    }
}

/* Every range of levels and layers that CUDA can view, of every kind. */
static void ranges(void)
{
    static const kind kinds[] = {
        {SWEEP_1D, VK_IMAGE_TYPE_1D, {32, 1, 1}, 1, 0},
        {SWEEP_1D_ARRAY, VK_IMAGE_TYPE_1D, {32, 1, 1}, 5, 0},
        {SWEEP_2D, VK_IMAGE_TYPE_2D, {32, 16, 1}, 1, 0},
        {SWEEP_2D_ARRAY, VK_IMAGE_TYPE_2D, {32, 16, 1}, 5, 0},
        {SWEEP_3D, VK_IMAGE_TYPE_3D, {32, 16, 8}, 1, 0},
        {SWEEP_CUBE, VK_IMAGE_TYPE_2D, {16, 16, 1}, 6, VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT},
        {SWEEP_CUBE_ARRAY, VK_IMAGE_TYPE_2D, {16, 16, 1}, 12, VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT},
    };
    open_room();
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        const VkImageCreateInfo info = kind_info(&kinds[k], VK_FORMAT_R8G8B8A8_UNORM);
        culv_vk_image *image = make(&info, CULV_TEXELS_STORED);
        if (image == NULL) continue;
        culv_image *cuda = culv_vk_image_cuda(image);
        CUtexObject seen[64];
        size_t count = 0;
        /* Of cubes and of 1D arrays all layers, and of the latter one level or all. */
        const bool lines = kinds[k].type == VK_IMAGE_TYPE_1D && kinds[k].layers > 1;
        const uint32_t step = kinds[k].flags || lines ? kinds[k].layers : 1;
        fill(cuda, &kinds[k], NULL, 4, 1);
        for (uint32_t level = 0; level < LEVELS; level++)
            for (uint32_t levels = 1; level + levels <= LEVELS;
                 levels += lines && level == 0 ? LEVELS - 1 : 1)
                for (uint32_t layer = 0; layer < kinds[k].layers && (!lines || level == 0 || levels == 1);
                     layer += 2 * step)
                    for (uint32_t layers = step; layer + layers <= kinds[k].layers; layers += 2 * step) {
                        culv_texture_desc d = culv_texture_desc_init();
                        d.base_level = level;
                        d.level_count = levels;
                        d.base_layer = layer;
                        d.layer_count = layers;
                        LIB_OK(culv_image_texture(cuda, &d, &seen[count]));
                        require_range(cuda, &kinds[k], &d, seen[count]);
                        for (size_t i = 0; i < count; i++)
                            REQUIRE(seen[i] != seen[count]);
                        count++;
                    }
        printf("  kind %zu: %zu ranges\n", k, count);
        culv_vk_image_destroy(&image);
    }
    close_room();
}

/* Levels 1 and 2, layers 1 and 2. */
static const kind some_layers = {SWEEP_2D_ARRAY, VK_IMAGE_TYPE_2D, {16, 8, 1}, 3, 0};

static culv_texture_desc some_of_it(void)
{
    culv_texture_desc d = culv_texture_desc_init();
    d.base_level = d.base_layer = 1;
    d.level_count = d.layer_count = 2;
    return d;
}

/* What a channel of texels of one byte's value returns. */
static void require_channel(const culv_format_info *f, culv_texture_read read, uint32_t byte, uint32_t found)
{
    const uint32_t bytes = f->bytes_per_block / f->channels;
    const uint32_t word = bytes == 4 ? byte * 0x01010101 : bytes == 2 ? byte * 0x0101 : byte;
    const bool stored = read == CULV_READ_STORED;
    double wanted = byte / (f->kind == CULV_TEXEL_KIND_SNORM ? (bytes == 2 ? 127.4961 : 127.0) : 255.0);
    switch (f->kind) {
    case CULV_TEXEL_KIND_FLOAT:
        if (bytes == 4) {
            REQUIRE_EQ(found, word);
            return;
        }
        wanted = word >> 10 == 0 ? ldexp(word, -24) : ldexp(1024 + (word & 0x3ff), (int)(word >> 10) - 25);
        break;
    case CULV_TEXEL_KIND_SRGB:
        wanted = wanted <= 0.04045 ? wanted / 12.92 : pow((wanted + 0.055) / 1.055, 2.4);
    /* fall through */
    case CULV_TEXEL_KIND_UNORM:
    case CULV_TEXEL_KIND_SNORM:
        if (!stored) break;
    /* fall through */
    default: REQUIRE_EQ(found, word); return;
    }
    if (!(fabs(as_double(found) - wanted) < 0.002))
        FAIL("%s: %.7f, not %.7f", f->name, as_double(found), wanted);
}

/* Each array format that a view has a name for, and what the flags make of some. */
static void formats(void)
{
    static const VkFormat list[] = {
        VK_FORMAT_R8_UINT,        VK_FORMAT_R8G8_UINT,     VK_FORMAT_R8G8B8A8_UINT,
        VK_FORMAT_R8_SINT,        VK_FORMAT_R8G8_SINT,     VK_FORMAT_R8G8B8A8_SINT,
        VK_FORMAT_R16_UINT,       VK_FORMAT_R16G16_UINT,   VK_FORMAT_R16G16B16A16_UINT,
        VK_FORMAT_R16_SINT,       VK_FORMAT_R16G16_SINT,   VK_FORMAT_R16G16B16A16_SINT,
        VK_FORMAT_R32_UINT,       VK_FORMAT_R32G32_UINT,   VK_FORMAT_R32G32B32A32_UINT,
        VK_FORMAT_R32_SINT,       VK_FORMAT_R32G32_SINT,   VK_FORMAT_R32G32B32A32_SINT,
        VK_FORMAT_R16_SFLOAT,     VK_FORMAT_R16G16_SFLOAT, VK_FORMAT_R16G16B16A16_SFLOAT,
        VK_FORMAT_R32_SFLOAT,     VK_FORMAT_R32G32_SFLOAT, VK_FORMAT_R32G32B32A32_SFLOAT,
        VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_R8G8_SNORM,    VK_FORMAT_R16_UNORM,
        VK_FORMAT_R16G16_SNORM,   VK_FORMAT_R8G8B8A8_SRGB,
    };
    open_room();
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        const VkImageCreateInfo info = kind_info(&some_layers, list[i]);
        culv_vk_image *image = make(&info, CULV_TEXELS_STORED);
        if (image == NULL) continue;
        culv_format_info f = culv_format_info_init();
        LIB_OK(culv_format_get_info((culv_format)list[i], &f));
        fill(culv_vk_image_cuda(image), &some_layers, NULL, f.bytes_per_block, 1);
        for (int read = CULV_READ_AS_GRAPHICS; read <= CULV_READ_STORED; read++) {
            culv_texture_desc d = some_of_it();
            CUtexObject texture = 0;
            const bool is_signed = f.kind == CULV_TEXEL_KIND_SINT || f.kind == CULV_TEXEL_KIND_SNORM;
            const bool floats = f.kind == CULV_TEXEL_KIND_FLOAT ||
                                (read == CULV_READ_AS_GRAPHICS && f.kind != CULV_TEXEL_KIND_UINT &&
                                 f.kind != CULV_TEXEL_KIND_SINT);
            d.read = (culv_texture_read)read;
            LIB_OK(culv_image_texture(culv_vk_image_cuda(image), &d, &texture));
            for (uint32_t level = 0; level < 2; level++) {
                const uint32_t w = side(some_layers.extent.width, level + 1),
                               h = side(some_layers.extent.height, level + 1);
                read_level(texture, SWEEP_2D_ARRAY,
                           floats      ? SWEEP_FLOAT
                           : is_signed ? SWEEP_SINT
                                       : SWEEP_UINT,
                           (int)f.channels, (int)level, (int)w, (int)h, 2);
                for (uint32_t t = 0; t < w * h * 2; t++)
                    for (uint32_t c = 0; c < f.channels && !(c == 3 && f.kind == CULV_TEXEL_KIND_SRGB); c++)
                        require_channel(&f, d.read, 16 * (level + 1) + t / (w * h) + 2, room.found[t][c]);
            }
        }
        culv_vk_image_destroy(&image);
    }
    close_room();
}

static void refuse_range(culv_image *image, const culv_texture_desc *d, const char *says)
{
    CUtexObject texture = 77;
    LIB_ERROR(culv_image_texture(image, d, &texture), CULV_ERROR_UNSUPPORTED, CULV_REASON_LEVEL);
    LIB_SAYS(says);
    REQUIRE_EQ(texture, 77);
}

/* What cuda.h has no words for, or no views. */
static void refused(void)
{
    static const kind cubes = {
        SWEEP_CUBE_ARRAY, VK_IMAGE_TYPE_2D, {16, 16, 1}, 12, VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT};
    open_room();
    culv_texture_desc d = culv_texture_desc_init();
    VkImageCreateInfo info = kind_info(&cubes, VK_FORMAT_R8G8B8A8_UNORM);
    culv_vk_image *image = make(&info, CULV_TEXELS_STORED);
    d.layer_count = 6;
    if (image != NULL) refuse_range(culv_vk_image_cuda(image), &d, "cubes");
    culv_vk_image_destroy(&image);
    info = kind_info(&some_layers, VK_FORMAT_BC1_RGBA_UNORM_BLOCK);
    image = make(&info, CULV_TEXELS_STORED);
    d.layer_count = 1;
    if (image != NULL) refuse_range(culv_vk_image_cuda(image), &d, "block-compressed");
    d = culv_texture_desc_init();
    d.level_count = 2;
    if (image != NULL) refuse_range(culv_vk_image_cuda(image), &d, "block-compressed");
    culv_vk_image_destroy(&image);

    /* CUDA's normalized arrays: all, or one level. */
    static const VkFormat normalized[] = {VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_R16G16_SNORM,
                                          VK_FORMAT_A2B10G10R10_UNORM_PACK32};
    for (size_t i = 0; i < sizeof normalized / sizeof normalized[0]; i++) {
        CUtexObject texture = 0;
        info = kind_info(&some_layers, normalized[i]);
        image = make(&info, CULV_TEXELS_NORMALIZED);
        if (image == NULL) continue;
        culv_image *cuda = culv_vk_image_cuda(image);
        d = some_of_it();
        refuse_range(cuda, &d, "CULV_TEXELS_STORED");
        d.base_layer = 0;
        d.layer_count = 3;
        refuse_range(cuda, &d, "CULV_TEXELS_STORED");
        d.level_count = 1;
        LIB_OK(culv_image_texture(cuda, &d, &texture));
        LIB_OK(culv_image_texture(cuda, NULL, &texture));
        culv_vk_image_destroy(&image);
    }
    close_room();
}

/* sRGB blocks are read as graphics do, and as they are stored. The twin decodes none, but refuses wrong flags before. */
static void srgb_blocks(void)
{
    static const kind flat = {SWEEP_2D, VK_IMAGE_TYPE_2D, {16, 8, 1}, 1, 0};
    static const unsigned char block[8] = {0x10, 0x84, 0x10, 0x84}; /* red 16 of 31, 132 of 255 */
    open_room();
    const VkImageCreateInfo info = kind_info(&flat, VK_FORMAT_BC1_RGBA_SRGB_BLOCK);
    culv_vk_image *image = make(&info, CULV_TEXELS_STORED);
    if (image == NULL) SKIP("%s", culv_last_error_message());
    culv_image *cuda = culv_vk_image_cuda(image);
    fill(cuda, &flat, block, sizeof block, 4);
    for (int read = CULV_READ_AS_GRAPHICS; read <= CULV_READ_STORED; read++)
        for (int one_level = 0; one_level < 2; one_level++) {
            culv_texture_desc d = culv_texture_desc_init();
            CUtexObject texture = 0;
            const double wanted = read == CULV_READ_STORED ? 132 / 255.0 : 0.2305;
            d.read = (culv_texture_read)read;
            d.level_count = (uint32_t)one_level;
            const culv_result result = culv_image_texture(cuda, &d, &texture);
            if (room.s.w.cu->software) {
                culv_error error = culv_error_init();
                REQUIRE_EQ(result, CULV_ERROR_DRIVER);
                culv_last_error(&error);
                REQUIRE_EQ(error.native_code, CUDA_ERROR_NOT_SUPPORTED);
                continue;
            }
            LIB_OK(result);
            read_level(texture, SWEEP_2D, SWEEP_FLOAT, 4, 0, 16, 8, 1);
            for (size_t i = 0; i < 16 * 8; i++)
                if (!(fabs(as_double(room.found[i][0]) - wanted) < 0.003))
                    FAIL("texel %zu is %.6f, not %.6f", i, as_double(room.found[i][0]), wanted);
        }
    culv_vk_image_destroy(&image);
    close_room();
}

extern const test_case range_cases[]; /* in textures.c's suite */
const test_case range_cases[] = {
    {.name = "textures.ranges", .run = ranges},
    {.name = "textures.formats_of_ranges", .run = formats},
    {.name = "textures.ranges_refused", .run = refused},
    {.name = "textures.srgb_blocks", .run = srgb_blocks},
    {.name = NULL},
};
