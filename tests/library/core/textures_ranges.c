/* SPDX-License-Identifier: MIT */
/* culv_image_get_texture(): what textures of some levels and layers read, by data: every kind of
 *image,
 * every format of CUDA's that views have; and what has none. */
#define TEST_GROUP "textures."
#include "textures_room.h"

#include <math.h>

/* Both ends of a range of levels, all of its layers. What is wrong is printed, so that one run
 * shows all of it. */
static bool range_right(const kind *k, const char *name, const culv_texture_desc *d,
                        CUtexObject texture)
{
    size_t bad = 0;
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
                if (fabs(as_double(room.found[i][c]) - wanted) > 1e-6 && bad++ == 0)
                    printf(
                        "  %s: levels %u + %u, layers %u + %u: texel %u of level %u, channel %d is %.6f, "
                        "not %.6f\n",
                        name, (unsigned)d->base_level, (unsigned)d->level_count,
                        (unsigned)d->base_layer, (unsigned)d->layer_count, (unsigned)i,
                        (unsigned)at, c, as_double(room.found[i][c]), wanted);
        }
    }
    return bad == 0;
}

/* Of cubes and of 1D arrays all layers, and of the latter one level or those from 0 on. */
static bool is_viewable(const kind *k, const culv_texture_desc *d)
{
    const bool lines = k->type == VK_IMAGE_TYPE_1D && k->layers > 1;
    if (d->layer_count == k->layers) return !lines || d->level_count == 1 || d->base_level == 0;
    return !k->flags && !lines;
}

static unsigned wrong_ranges(culv_image *image, const kind *k, const char *name)
{
    CUtexObject seen[64];
    size_t count = 0;
    unsigned wrong = 0;
    culv_texture_desc d = culv_texture_desc_init();
    for (d.base_level = 0; d.base_level < k->levels; d.base_level++)
        for (d.level_count = 1; d.base_level + d.level_count <= k->levels; d.level_count++)
            for (d.base_layer = 0; d.base_layer < k->layers; d.base_layer += 2)
                for (d.layer_count = k->layers % 2 ? 1 : 2;
                     d.base_layer + d.layer_count <= k->layers; d.layer_count += 2) {
                    if (!is_viewable(k, &d)) continue;
                    LIB_OK(culv_image_get_texture(image, &d, &seen[count]));
                    wrong += !range_right(k, name, &d, seen[count]);
                    for (size_t i = 0; i < count; i++)
                        REQUIRE(seen[i] != seen[count]);
                    count++;
                }
    MEASURED("texture_ranges", "%s, %u levels: %u of %zu wrong", name, (unsigned)k->levels, wrong,
             count);
    return wrong;
}

/* Every range of levels and layers that CUDA can view, of every kind. */
TEST(ranges)
{
    static const struct {
        const char *name;
        kind kind;
    } rows[] = {
        {"1D", {SWEEP_1D, VK_IMAGE_TYPE_1D, {32, 1, 1}, 1, 0, 3}},
        {"1D array", {SWEEP_1D_ARRAY, VK_IMAGE_TYPE_1D, {32, 1, 1}, 5, 0, 3}},
        {"2D", {SWEEP_2D, VK_IMAGE_TYPE_2D, {32, 16, 1}, 1, 0, 3}},
        {"2D array", {SWEEP_2D_ARRAY, VK_IMAGE_TYPE_2D, {32, 16, 1}, 5, 0, 3}},
        {"2D array", {SWEEP_2D_ARRAY, VK_IMAGE_TYPE_2D, {32, 16, 1}, 5, 0, 1}},
        {"3D", {SWEEP_3D, VK_IMAGE_TYPE_3D, {32, 16, 8}, 1, 0, 3}},
        {"cube",
         {SWEEP_CUBE, VK_IMAGE_TYPE_2D, {16, 16, 1}, 6, VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT, 3}},
        {"cube array",
         {SWEEP_CUBE_ARRAY,
          VK_IMAGE_TYPE_2D,
          {16, 16, 1},
          12,
          VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT,
          3}},
    };
    unsigned wrong = 0;
    open_room();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const kind *k = &rows[i].kind;
        const VkImageCreateInfo info = kind_info(k, VK_FORMAT_R8G8B8A8_UNORM);
        culv_shared_image *image = make(&info, CULV_TEXELS_STORED);
        if (image == NULL) continue;
        fill(culv_shared_image_cuda(image), k, NULL, 4, 1);
        wrong += wrong_ranges(culv_shared_image_cuda(image), k, rows[i].name);
        culv_shared_image_destroy(&image, NULL);
    }
    REQUIRE_EQ(wrong, 0);
    close_room();
}

/* Levels 1 and 2, layers 1 and 2. */
static const kind some_layers = {SWEEP_2D_ARRAY, VK_IMAGE_TYPE_2D, {16, 8, 1}, 3, 0, 3};

static culv_texture_desc some_of_it(void)
{
    culv_texture_desc d = culv_texture_desc_init();
    d.base_level = d.base_layer = 1;
    d.level_count = d.layer_count = 2;
    return d;
}

/* What a channel of texels of one byte's value returns. */
static void require_channel(const culv_format_info *f, culv_texture_read read, uint32_t byte,
                            uint32_t found)
{
    const uint32_t bytes = f->bytes_per_block / f->channels;
    const uint32_t word = bytes == 4 ? byte * 0x01010101 : bytes == 2 ? byte * 0x0101 : byte;
    const bool stored = read == CULV_TEXTURE_READ_STORED;
    double wanted =
        byte / (f->kind == CULV_TEXEL_KIND_SNORM ? (bytes == 2 ? 127.4961 : 127.0) : 255.0);
    switch (f->kind) {
    case CULV_TEXEL_KIND_FLOAT:
        if (bytes == 4) {
            REQUIRE_EQ(found, word);
            return;
        }
        wanted = word >> 10 == 0 ? ldexp(word, -24)
                                 : ldexp(1024 + (word & 0x3ff), (int)(word >> 10) - 25);
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
TEST(formats, .title = "textures.formats_of_ranges")
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
        culv_shared_image *image = make(&info, CULV_TEXELS_STORED);
        if (image == NULL) continue;
        culv_format_info f = culv_format_info_init();
        LIB_OK(culv_format_get_info((culv_format)list[i], &f));
        fill(culv_shared_image_cuda(image), &some_layers, NULL, f.bytes_per_block, 1);
        for (int read = CULV_TEXTURE_READ_AS_GRAPHICS; read <= CULV_TEXTURE_READ_STORED; read++) {
            culv_texture_desc d = some_of_it();
            CUtexObject texture = 0;
            const bool is_signed =
                f.kind == CULV_TEXEL_KIND_SINT || f.kind == CULV_TEXEL_KIND_SNORM;
            const bool floats = f.kind == CULV_TEXEL_KIND_FLOAT ||
                                (read == CULV_TEXTURE_READ_AS_GRAPHICS &&
                                 f.kind != CULV_TEXEL_KIND_UINT && f.kind != CULV_TEXEL_KIND_SINT);
            d.read = (culv_texture_read)read;
            LIB_OK(culv_image_get_texture(culv_shared_image_cuda(image), &d, &texture));
            for (uint32_t level = 0; level < 2; level++) {
                const uint32_t w = side(some_layers.extent.width, level + 1),
                               h = side(some_layers.extent.height, level + 1);
                read_level(texture, SWEEP_2D_ARRAY,
                           floats      ? SWEEP_FLOAT
                           : is_signed ? SWEEP_SINT
                                       : SWEEP_UINT,
                           (int)f.channels, (int)level, (int)w, (int)h, 2);
                for (uint32_t t = 0; t < w * h * 2; t++)
                    for (uint32_t c = 0;
                         c < f.channels && !(c == 3 && f.kind == CULV_TEXEL_KIND_SRGB); c++)
                        require_channel(&f, d.read, 16 * (level + 1) + t / (w * h) + 2,
                                        room.found[t][c]);
            }
        }
        culv_shared_image_destroy(&image, NULL);
    }
    close_room();
}

static void refuse_range(culv_image *image, const culv_texture_desc *d, const char *says)
{
    CUtexObject texture = 77;
    LIB_ERROR(culv_image_get_texture(image, d, &texture), UNSUPPORTED, LEVEL, says);
    REQUIRE_EQ(texture, 77);
}

/* What cuda.h has no words for, or no views. */
TEST(refused, .title = "textures.ranges_refused")
{
    static const kind cubes = {SWEEP_CUBE_ARRAY,
                               VK_IMAGE_TYPE_2D,
                               {16, 16, 1},
                               12,
                               VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT,
                               3};
    open_room();
    culv_texture_desc d = culv_texture_desc_init();
    VkImageCreateInfo info = kind_info(&cubes, VK_FORMAT_R8G8B8A8_UNORM);
    culv_shared_image *image = make(&info, CULV_TEXELS_STORED);
    d.layer_count = 6;
    if (image != NULL) refuse_range(culv_shared_image_cuda(image), &d, "cubes");
    culv_shared_image_destroy(&image, NULL);
    info = kind_info(&some_layers, VK_FORMAT_BC1_RGBA_UNORM_BLOCK);
    image = make(&info, CULV_TEXELS_STORED);
    d.layer_count = 1;
    if (image != NULL) refuse_range(culv_shared_image_cuda(image), &d, "block-compressed");
    d = culv_texture_desc_init();
    d.base_level = 1;
    d.level_count = 2;
    if (image != NULL) refuse_range(culv_shared_image_cuda(image), &d, "block-compressed");
    culv_shared_image_destroy(&image, NULL);

    /* Layers of a level's own array. */
    CUtexObject texels = 0;
    info = kind_info(&some_layers, VK_FORMAT_R8G8B8A8_UNORM);
    image = make(&info, CULV_TEXELS_STORED);
    REQUIRE(image != NULL);
    d = culv_texture_desc_init();
    d.unnormalized_coordinates = 1;
    for (d.level_count = 1; d.layer_count < 3; d.layer_count++) /* all, and some */
        refuse_range(culv_shared_image_cuda(image), &d, "unnormalized_coordinates");
    culv_shared_image_destroy(&image, NULL);
    info.mipLevels = 1;
    image = make(&info, CULV_TEXELS_STORED);
    d.layer_count = 0;
    LIB_OK(culv_image_get_texture(culv_shared_image_cuda(image), &d, &texels));
    culv_shared_image_destroy(&image, NULL);

    /* CUDA's normalized arrays: one level, or those from 0 on. */
    static const VkFormat normalized[] = {VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_R16G16_SNORM,
                                          VK_FORMAT_A2B10G10R10_UNORM_PACK32};
    for (size_t i = 0; i < sizeof normalized / sizeof normalized[0]; i++) {
        CUtexObject texture = 0;
        info = kind_info(&some_layers, normalized[i]);
        image = make(&info, CULV_TEXELS_NORMALIZED);
        if (image == NULL) continue;
        culv_image *cuda = culv_shared_image_cuda(image);
        d = some_of_it();
        refuse_range(cuda, &d, "CULV_TEXELS_STORED");
        d.base_layer = 0;
        d.layer_count = 3;
        refuse_range(cuda, &d, "CULV_TEXELS_STORED");
        d.level_count = 1;
        LIB_OK(culv_image_get_texture(cuda, &d, &texture));
        LIB_OK(culv_image_get_texture(cuda, NULL, &texture));
        d.base_level = 0;
        d.level_count = 2;
        LIB_OK(culv_image_get_texture(cuda, &d, &texture));
        culv_shared_image_destroy(&image, NULL);
    }
    close_room();
}

/* sRGB blocks are read as graphics do, and as they are stored. The twin decodes none, but refuses
 * wrong flags before. */
TEST(srgb_blocks)
{
    static const kind flat = {SWEEP_2D, VK_IMAGE_TYPE_2D, {16, 8, 1}, 1, 0, 3};
    static const unsigned char block[8] = {0x10, 0x84, 0x10, 0x84}; /* red 16 of 31, 132 of 255 */
    open_room();
    const VkImageCreateInfo info = kind_info(&flat, VK_FORMAT_BC1_RGBA_SRGB_BLOCK);
    culv_shared_image *image = make(&info, CULV_TEXELS_STORED);
    if (image == NULL) SKIP("%s", culv_last_error_message());
    culv_image *cuda = culv_shared_image_cuda(image);
    fill(cuda, &flat, block, sizeof block, 4);
    for (int read = CULV_TEXTURE_READ_AS_GRAPHICS; read <= CULV_TEXTURE_READ_STORED; read++)
        for (int one_level = 0; one_level < 2; one_level++) {
            culv_texture_desc d = culv_texture_desc_init();
            CUtexObject texture = 0;
            const double wanted = read == CULV_TEXTURE_READ_STORED ? 132 / 255.0 : 0.2305;
            d.read = (culv_texture_read)read;
            d.level_count = (uint32_t)one_level;
            const culv_result result = culv_image_get_texture(cuda, &d, &texture);
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
    culv_shared_image_destroy(&image, NULL);
    close_room();
}
