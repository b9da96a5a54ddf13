/* SPDX-License-Identifier: MIT */
/* How CUDA maps a texture of Direct3D, told from plain numbers, which every system builds; and the
 * calls that only Windows has. */
#define TEST_GROUP "d3d."
#include "cuda/format.h"
#include "d3d/d3d_image.h"
#include "library.h"

#include <culvert/d3d.h>

/* By dxgiformat.h's numbers. */
enum {
    RGBA32_TYPELESS = 1,
    RGBA32_FLOAT = 2,
    RGBA32_SINT = 4,
    RGB32_TYPELESS = 5,
    RGB32_FLOAT = 6,
    RGBA16_FLOAT = 10,
    RGBA8_TYPELESS = 27,
    RGBA8_UNORM = 28,
    R32_TYPELESS = 39,
    R32_FLOAT = 41,
    R8_UNORM = 61,
    BGRA8_TYPELESS = 90,
    BGRA8_UNORM = 87
};

static culvi_d3d_texture texture_of(uint32_t sides, uint64_t width, uint32_t height, uint32_t depth,
                                    uint32_t levels, uint32_t format)
{
    return (culvi_d3d_texture){.sides = sides,
                               .width = width,
                               .height = height,
                               .depth_or_layers = depth,
                               .levels = levels,
                               .samples = 1,
                               .format = format};
}

TEST(kinds)
{
    static const struct kind {
        uint32_t sides, width, height, depth, levels;
        bool cube;
        culv_image_type type;
        uint32_t out_depth, layers, out_levels;
    } rows[] = {
        {1, 96, 1, 1, 1, false, CULV_IMAGE_1D, 1, 1, 1},
        {1, 96, 1, 5, 1, false, CULV_IMAGE_1D, 1, 5, 1},
        {2, 50, 30, 1, 1, false, CULV_IMAGE_2D, 1, 1, 1},
        {2, 64, 48, 3, 2, false, CULV_IMAGE_2D, 1, 3, 2},
        {2, 64, 48, 1, 0, false, CULV_IMAGE_2D, 1, 1, 7}, /* 0: a whole chain */
        {2, 24, 24, 6, 1, true, CULV_IMAGE_CUBE, 1, 6, 1},
        {2, 24, 24, 12, 1, true, CULV_IMAGE_CUBE, 1, 12, 1},
        {3, 20, 12, 5, 1, false, CULV_IMAGE_3D, 5, 1, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct kind *k = &rows[i];
        culvi_d3d_texture texture =
            texture_of(k->sides, k->width, k->height, k->depth, k->levels, RGBA8_UNORM);
        const culvi_d3d_view view = {.desc = "desc", .offset = 4096, .cube = k->cube};
        culv_image_desc d = culv_image_desc_init();
        texture.render_target = i % 2 == 0;
        LIB_OK(culvi_d3d_describe_image(NULL, &texture, &view, &d));
        REQUIRE_EQ(d.type, k->type);
        REQUIRE_EQ(d.width, k->width);
        REQUIRE_EQ(d.height, k->height);
        REQUIRE_EQ(d.depth, k->out_depth);
        REQUIRE_EQ(d.array_layers, k->layers);
        REQUIRE_EQ(d.mip_levels, k->out_levels);
        REQUIRE_EQ(d.offset, 4096);
        REQUIRE_EQ(d.format, culvi_format_from(CULV_NATIVE_D3D, RGBA8_UNORM));
        REQUIRE_EQ(d.color_attachment != 0, texture.render_target);
    }
}

static void refuses(const culvi_d3d_texture *texture, bool cube, uint32_t format,
                    culv_result result, culv_reason reason, const char *says)
{
    const culvi_d3d_view view = {.desc = "desc", .cube = cube, .format = format};
    culv_image_desc d = culv_image_desc_init();
    culv_error e = culv_error_init();
    d.width = 77;
    REQUIRE_EQ(culvi_d3d_describe_image(NULL, texture, &view, &d), result);
    culv_last_error(&e);
    REQUIRE_EQ(e.reason, reason);
    if (strstr(culv_last_error_message(), says) == NULL)
        FAIL("'%s' does not say '%s'", culv_last_error_message(), says);
    REQUIRE_EQ(d.width, 77);
}

TEST(refused)
{
    culvi_d3d_texture t = texture_of(2, 64, 64, 1, 1, RGBA8_UNORM);
    t.samples = 4;
    refuses(&t, false, 0, CULV_ERROR_UNSUPPORTED, CULV_REASON_USAGE, "ResolveSubresource");
    t.samples = 1;
    t.row_major = true;
    refuses(&t, false, 0, CULV_ERROR_UNSUPPORTED, CULV_REASON_USAGE, "ROW_MAJOR");
    t.row_major = false;
    t.sides = 0;
    refuses(&t, false, 0, CULV_ERROR_UNSUPPORTED, CULV_REASON_USAGE, "culv_buffer_map()");
    t = texture_of(2, 64, 64, 5, 1, RGBA8_UNORM);
    refuses(&t, true, 0, CULV_ERROR_INVALID, CULV_REASON_EXTENT, "5 layers");
    t = texture_of(2, 64, 32, 6, 1, RGBA8_UNORM);
    refuses(&t, true, 0, CULV_ERROR_INVALID, CULV_REASON_EXTENT, "64 x 32");
    t = texture_of(3, 64, 64, 6, 1, RGBA8_UNORM);
    refuses(&t, true, 0, CULV_ERROR_INVALID, CULV_REASON_EXTENT, "3 dimensions");
    t = texture_of(1, UINT64_C(1) << 32, 1, 1, 1, RGBA8_UNORM);
    refuses(&t, false, 0, CULV_ERROR_INVALID, CULV_REASON_EXTENT, "4294967296");
    t = texture_of(2, 64, 64, 1, 1, 0);
    refuses(&t, false, 0, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT, "DXGI_FORMAT 0");
    /* A typed texture is seen as itself alone. */
    t = texture_of(2, 64, 64, 1, 1, RGBA8_UNORM);
    refuses(&t, false, BGRA8_UNORM, CULV_ERROR_INVALID, CULV_REASON_FORMAT, "TYPELESS");
}

/* The caller names the format of a TYPELESS texture, and the message lists those that are legal. */
TEST(typeless)
{
    static const struct family {
        uint32_t typeless, legal, other;
        const char *name, *says;
    } rows[] = {
        {RGBA32_TYPELESS, RGBA32_FLOAT, RGBA16_FLOAT, "R32G32B32A32_TYPELESS",
         "DXGI_FORMAT 2 (R32G32B32A32_SFLOAT)"},
        {RGBA32_TYPELESS, RGBA32_SINT, R8_UNORM, "R32G32B32A32_TYPELESS",
         "DXGI_FORMAT 4 (R32G32B32A32_SINT)"},
        {RGBA8_TYPELESS, RGBA8_UNORM, BGRA8_UNORM, "R8G8B8A8_TYPELESS",
         "DXGI_FORMAT 28 (R8G8B8A8_UNORM), DXGI_FORMAT 29 (R8G8B8A8_SRGB)"},
        {BGRA8_TYPELESS, BGRA8_UNORM, RGBA8_UNORM, "B8G8R8A8_TYPELESS", "DXGI_FORMAT 87"},
        {R32_TYPELESS, R32_FLOAT, R8_UNORM, "R32_TYPELESS", "DXGI_FORMAT 41 (R32_SFLOAT)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct family *f = &rows[i];
        culvi_d3d_texture t = texture_of(2, 16, 16, 1, 1, f->typeless);
        culvi_d3d_view view = {.desc = "desc", .format = f->legal};
        culv_image_desc d = culv_image_desc_init();
        LIB_OK(culvi_d3d_describe_image(NULL, &t, &view, &d));
        REQUIRE_EQ(d.format, culvi_format_from(CULV_NATIVE_D3D, f->legal));
        refuses(&t, false, 0, CULV_ERROR_INVALID, CULV_REASON_FORMAT, f->name);
        refuses(&t, false, 0, CULV_ERROR_INVALID, CULV_REASON_FORMAT, f->says);
        refuses(&t, false, f->other, CULV_ERROR_INVALID, CULV_REASON_FORMAT, f->says);
    }
    culvi_d3d_texture t = texture_of(2, 16, 16, 1, 1, RGB32_TYPELESS);
    refuses(&t, false, 0, CULV_ERROR_INVALID, CULV_REASON_FORMAT, "none that CUDA has");
}

/* Each of the calls, on a system without Direct3D. */
TEST(elsewhere)
{
    culv_device *device = NULL;
    culv_d3d_device *d3d = NULL;
    culv_keyed_mutex *mutex = NULL;
    culv_registration *r = NULL;
    int32_t ordinal = 0;
    uint32_t count = 0;
    LIB_ERROR(culv_d3d_register(NULL, NULL, NULL, &r), UNSUPPORTED, NOT_BUILT);
    LIB_ERROR(culv_d3d_get_devices(NULL, CULV_D3D_DEVICES_ALL, 1, &ordinal, &count), UNSUPPORTED,
              NOT_BUILT);
    LIB_ERROR(culv_device_open_for_d3d(NULL, NULL, &device), UNSUPPORTED, NOT_BUILT);
    LIB_ERROR(culv_d3d_attach(NULL, NULL, &d3d), UNSUPPORTED, NOT_BUILT);
    LIB_ERROR(culv_d3d11_keyed_mutex_import(NULL, NULL, NULL, &mutex), UNSUPPORTED, NOT_BUILT);
    REQUIRE(culv_shared_buffer_pointer(NULL) == 0 && culv_d3d_image_resource(NULL) == NULL);
    culv_d3d_detach(&d3d);
    culv_keyed_mutex_destroy(&mutex, NULL);
}

#undef TEST_GROUP
#define TEST_GROUP "register."
/* What CUDA registers of Direct3D 9, 10 and 11, told from plain numbers, which every system builds;
 * and the calls that only Windows has. */

static culvi_d3d_candidate candidates_texture_of(int version, uint32_t format)
{
    return (culvi_d3d_candidate){.version = version,
                                 .number = format,
                                 .texture = {.sides = 2,
                                             .width = 64,
                                             .height = 32,
                                             .depth_or_layers = 1,
                                             .levels = 3,
                                             .samples = 1,
                                             .format = format}};
}

static culv_result check(const culvi_d3d_candidate *c, culv_image_desc *out)
{
    const culv_d3d_register_desc desc = culv_d3d_register_desc_init();
    return culvi_d3d_check_candidate(NULL, c, &desc, out);
}

/* The reference's list, and nothing else that there is. */
TEST(formats)
{
    static const uint8_t listed[] = {2,  3,  4,  10, 11, 12, 13, 14, 16, 17, 18, 28, 29, 30,
                                     31, 32, 34, 35, 36, 37, 38, 41, 42, 43, 49, 50, 51, 52,
                                     54, 56, 57, 58, 59, 61, 62, 63, 64, 65, 87, 88};
    for (uint32_t format = 0; format < 200; format++) {
        const bool registers = memchr(listed, (int)format, sizeof listed) != NULL;
        const culvi_d3d_candidate c = candidates_texture_of(11, format);
        culv_image_desc d = culv_image_desc_init();
        if (registers) {
            LIB_OK(check(&c, &d));
            REQUIRE_EQ(d.format, culvi_format_from(CULV_NATIVE_D3D, format == 65   ? 61
                                                                    : format == 88 ? 87
                                                                                   : format));
            REQUIRE(d.width == 64 && d.height == 32 && d.mip_levels == 3 && d.array_layers == 1);
            continue;
        }
        LIB_ERROR(check(&c, &d), UNSUPPORTED, FORMAT);
    }
}

TEST(formats_of_9)
{
    unsigned count = 0;
    for (uint32_t format = 0; format < 2000; format++) {
        culvi_d3d_candidate c = candidates_texture_of(9, format);
        culv_image_desc d = culv_image_desc_init();
        c.texture.format = culvi_d3d_format_from_d3d9(format);
        if (c.texture.format != 0) {
            LIB_OK(check(&c, &d));
            count++;
            continue;
        }
        LIB_ERROR(check(&c, &d), UNSUPPORTED, FORMAT);
        REQUIRE(strstr(culv_last_error_message(), "D3DFORMAT") != NULL);
    }
    REQUIRE_EQ(count, 17);
}

TEST(candidates_refused, .title = "register.refused")
{
    culvi_d3d_candidate rows[7];
    static const char *const says[7] = {"back buffer",       "level or face", "staging",
                                        "created as shared", "depth",         "ResolveSubresource",
                                        "StretchRect"};
    for (int i = 0; i < 7; i++) {
        culv_image_desc d = culv_image_desc_init();
        d.width = 77;
        rows[i] = candidates_texture_of(i == 6 ? 9 : 11, 28);
        rows[i].back_buffer = i == 0;
        rows[i].part = i == 1;
        rows[i].in_memory = i == 2;
        rows[i].shared = i == 3;
        rows[i].depth = i == 4;
        if (i >= 5) rows[i].texture.samples = 4;
        LIB_ERROR(check(&rows[i], &d), UNSUPPORTED, USAGE);
        if (strstr(culv_last_error_message(), says[i]) == NULL)
            FAIL("'%s' does not say '%s'", culv_last_error_message(), says[i]);
        REQUIRE_EQ(d.width, 77);
    }
    culvi_d3d_candidate c = candidates_texture_of(9, 21);
    culv_image_desc d = culv_image_desc_init();
    c.in_memory = true;
    LIB_ERROR(check(&c, &d), UNSUPPORTED, USAGE);
    REQUIRE(strstr(culv_last_error_message(), "D3DPOOL_DEFAULT") != NULL);
}

/* Buffers have no formats; what is immutable is only read; settings reach the description. */
TEST(settings)
{
    culv_d3d_register_desc desc = culv_d3d_register_desc_init();
    culv_image_desc d = culv_image_desc_init();
    culvi_d3d_candidate c = {.version = 11, .is_buffer = true, .size = 4096, .immutable = true};
    LIB_INVALID(culvi_d3d_check_candidate(NULL, &c, &desc, &d), VALUE);
    desc.access = CULV_ACCESS_READ_ONLY;
    LIB_OK(culvi_d3d_check_candidate(NULL, &c, &desc, &d));
    c = candidates_texture_of(10, 28);
    c.cube = true;
    c.texture.height = 64;
    c.texture.depth_or_layers = 12;
    desc.no_surfaces = 1;
    desc.texture_gather = 1;
    LIB_OK(culvi_d3d_check_candidate(NULL, &c, &desc, &d));
    REQUIRE_EQ(d.type, CULV_IMAGE_CUBE);
    REQUIRE_EQ(d.array_layers, 12);
    REQUIRE(d.no_surfaces && d.texture_gather);
}
