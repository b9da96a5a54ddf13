/* SPDX-License-Identifier: MIT */
/* What CUDA registers of Direct3D 9, 10 and 11, told from plain numbers, which every system builds;
 * and the calls that only Windows has. */
#define TEST_GROUP "register."
#include "cuda/format.h"
#include "d3d/d3d_candidate.h"

#include "library.h"

static culvi_d3d_candidate texture_of(int version, uint32_t format)
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
        const culvi_d3d_candidate c = texture_of(11, format);
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
        culvi_d3d_candidate c = texture_of(9, format);
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

TEST(refused)
{
    culvi_d3d_candidate rows[7];
    static const char *const says[7] = {"back buffer",       "level or face", "staging",
                                        "created as shared", "depth",         "ResolveSubresource",
                                        "StretchRect"};
    for (int i = 0; i < 7; i++) {
        culv_image_desc d = culv_image_desc_init();
        d.width = 77;
        rows[i] = texture_of(i == 6 ? 9 : 11, 28);
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
    culvi_d3d_candidate c = texture_of(9, 21);
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
    c = texture_of(10, 28);
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

/* Each of the calls, on a system without Direct3D. */
TEST(elsewhere)
{
    culv_registration *r = NULL;
    int32_t ordinal = 0;
    uint32_t count = 0;
#define HERE(call) LIB_ERROR(call, UNSUPPORTED, NOT_BUILT)
    HERE(culv_d3d_register(NULL, NULL, NULL, &r));
    HERE(culv_d3d_get_devices(NULL, CULV_D3D_DEVICES_ALL, 1, &ordinal, &count));
#undef HERE
}
