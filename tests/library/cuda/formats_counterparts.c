/* SPDX-License-Identifier: MIT */
/* The other direction: from CUDA's, Direct3D's and OpenGL's formats. */
#define TEST_GROUP "counterparts."
#include "format_numbers.h"
#include "formats.h"

enum { MOST = 64 };

static bool contains(const culv_format *list, uint32_t count, culv_format format)
{
    for (uint32_t i = 0; i < count; i++)
        if (list[i] == format) return true;
    return false;
}

/* CUDA's array format of the same blocks that are sRGB comes after the one that is not, which is
 * mapped. */
static uint32_t srgb_array_format(const culv_format_info *f)
{
    return f->kind == CULV_TEXEL_KIND_BLOCKS && strstr(f->name, "_SRGB_") != NULL
               ? f->cuda_array_format + 1
               : 0;
}

/* Every mapped format is among the candidates of each of its forms, and no other is. */
TEST(from_cuda)
{
    uint32_t total = 0, forms = 0;
    for (uint32_t array = 0; array < 0x120; array++)
        for (uint32_t channels = 0; channels < 6; channels++) {
            culv_format list[MOST];
            uint32_t count = MOST;
            LIB_OK(culv_format_from_cuda(array, channels, list, count, &count));
            REQUIRE(count <= MOST);
            total += count;
            for (uint32_t i = 0; i < count; i++) {
                culv_format_info f = format_info(list[i]);
                REQUIRE_EQ(f.mapped, 1);
                bool stored = f.cuda_array_format == array || srgb_array_format(&f) == array;
                REQUIRE((stored && f.channels == channels) ||
                        (f.normalized_array_format == array && f.normalized_channels == channels));
                REQUIRE(!contains(list, i, list[i]));
            }
        }
    for (size_t i = 0; i < format_count; i++) {
        culv_format_info f = format_info(format_names[i].format);
        culv_format list[MOST];
        uint32_t count = MOST;
        if (!f.mapped || f.cuda_array_format == 0) continue;
        LIB_OK(culv_format_from_cuda(f.cuda_array_format, f.channels, list, count, &count));
        REQUIRE(contains(list, count, f.format));
        forms++;
        if (srgb_array_format(&f) != 0) {
            count = MOST;
            LIB_OK(culv_format_from_cuda(srgb_array_format(&f), f.channels, list, count, &count));
            REQUIRE(contains(list, count, f.format));
            forms++;
        }
        if (f.normalized_array_format == 0) continue;
        count = MOST;
        LIB_OK(culv_format_from_cuda(f.normalized_array_format, f.normalized_channels, list, count,
                                     &count));
        REQUIRE(contains(list, count, f.format));
        forms++;
    }
    REQUIRE_EQ(total, forms);
}

static void require_first(CUarray_format array, uint32_t channels, const culv_format *expected,
                          uint32_t num)
{
    culv_format list[MOST];
    uint32_t count = MOST;
    LIB_OK(culv_format_from_cuda((uint32_t)array, channels, list, count, &count));
    REQUIRE(count >= num);
    for (uint32_t i = 0; i < num; i++)
        REQUIRE_EQ(list[i], expected[i]);
}

/* Best first. */
TEST(order)
{
    static const culv_format rgba8[] = {
        CULV_FORMAT_R8G8B8A8_UINT,    CULV_FORMAT_A8B8G8R8_UINT_PACK32,
        CULV_FORMAT_R8G8B8A8_UNORM,   CULV_FORMAT_A8B8G8R8_UNORM_PACK32,
        CULV_FORMAT_R8G8B8A8_SRGB,    CULV_FORMAT_A8B8G8R8_SRGB_PACK32,
        CULV_FORMAT_R8G8B8A8_USCALED, CULV_FORMAT_A8B8G8R8_USCALED_PACK32,
        CULV_FORMAT_B8G8R8A8_UINT};
    static const culv_format unorm8[] = {
        CULV_FORMAT_R8G8B8A8_UNORM, CULV_FORMAT_A8B8G8R8_UNORM_PACK32, CULV_FORMAT_B8G8R8A8_UNORM};
    static const culv_format r32f[] = {CULV_FORMAT_R32_SFLOAT, CULV_FORMAT_D32_SFLOAT};
    static const culv_format r16f[] = {CULV_FORMAT_R16_SFLOAT};
    static const culv_format r32ui[] = {CULV_FORMAT_R32_UINT};
    static const culv_format bc1[] = {
        CULV_FORMAT_BC1_RGBA_UNORM_BLOCK, CULV_FORMAT_BC1_RGBA_SRGB_BLOCK,
        CULV_FORMAT_BC1_RGB_UNORM_BLOCK, CULV_FORMAT_BC1_RGB_SRGB_BLOCK};
    static const culv_format bc1_srgb[] = {CULV_FORMAT_BC1_RGBA_SRGB_BLOCK,
                                           CULV_FORMAT_BC1_RGB_SRGB_BLOCK};
    static const culv_format nv12[] = {CULV_FORMAT_G8_B8R8_2PLANE_420_UNORM};
    static const culv_format r16[] = {CULV_FORMAT_R16_UNORM, CULV_FORMAT_D16_UNORM};
    require_first(CU_AD_FORMAT_UNSIGNED_INT8, 4, rgba8, sizeof rgba8 / sizeof rgba8[0]);
    require_first(CU_AD_FORMAT_UNORM_INT8X4, 4, unorm8, 3);
    require_first(CU_AD_FORMAT_FLOAT, 1, r32f, 2);
    require_first(CU_AD_FORMAT_HALF, 1, r16f, 1);
    require_first(CU_AD_FORMAT_UNSIGNED_INT32, 1, r32ui, 1);
    require_first(CU_AD_FORMAT_BC1_UNORM, 4, bc1, 4);
    require_first(CU_AD_FORMAT_BC1_UNORM_SRGB, 4, bc1_srgb, 2);
    require_first(CU_AD_FORMAT_NV12, 3, nv12, 1);
    require_first(CU_AD_FORMAT_UNORM_INT16X1, 1, r16, 2);
}

TEST(count_protocol, .title = "counterparts.count")
{
    culv_format all[MOST], some[MOST];
    uint32_t count = 0;
    LIB_OK(culv_format_from_cuda(CU_AD_FORMAT_UNSIGNED_INT16, 1, NULL, 0, &count));
    uint32_t num = count;
    REQUIRE(num > 3 && num < MOST);
    LIB_OK(culv_format_from_cuda(CU_AD_FORMAT_UNSIGNED_INT16, 1, all, count, &count));
    REQUIRE_EQ(count, num);
    for (uint32_t room = 0; room < num + 2; room++) {
        memset(some, 0x77, sizeof some);
        count = room;
        LIB_OK(culv_format_from_cuda(CU_AD_FORMAT_UNSIGNED_INT16, 1, some, count, &count));
        REQUIRE_EQ(count, num);
        uint32_t written = room < num ? room : num;
        REQUIRE_EQ_BYTES(some, all, written * sizeof some[0]);
        REQUIRE_EQ(some[written], 0x77777777);
    }
    count = 5;
    LIB_OK(culv_format_from_cuda(CU_AD_FORMAT_UNSIGNED_INT8, 3, some, count, &count));
    REQUIRE_EQ(count, 0);
    LIB_INVALID(culv_format_from_cuda(CU_AD_FORMAT_FLOAT, 1, NULL, 1, &count), NULL_ARGUMENT);
}

typedef struct counterpart {
    culv_format format;
    uint32_t number;
    const char *name;
} counterpart;

static const counterpart dxgi_formats[] = {
#define ROW(name, api_name, number) {CULV_FORMAT_##name, number, #api_name},
    DXGI_FORMATS(ROW)};
static const counterpart gl_formats[] = {GL_FORMATS(ROW)
#undef ROW
};

/* A list against the table: each pair is there, no other is, and the way back leads to the first of
 * those that share the number. */
static void check_list(const counterpart *list, size_t count, culv_native_api api, size_t info_at)
{
    size_t with = 0;
    for (size_t i = 0; i < format_count; i++) {
        culv_format_info f = format_info(format_names[i].format);
        uint32_t number = 0;
        memcpy(&number, (const char *)&f + info_at, sizeof number);
        if (number == 0) continue;
        with++;
        size_t n = 0;
        while (n < count && list[n].format != f.format)
            n++;
        if (n == count) FAIL("%s has number %u, which the list lacks", f.name, number);
        if (list[n].number != number)
            FAIL("%s is %s, %u, not %u", f.name, list[n].name, list[n].number, number);
    }
    REQUIRE_EQ(with, count);
    for (size_t i = 0; i < count; i++) {
        size_t first = 0;
        while (list[first].number != list[i].number)
            first++;
        REQUIRE_EQ(culv_format_from(api, list[i].number), list[first].format);
        if (first == i) continue;
        /* The same bits in memory, or the same blocks. */
        culv_format_info a = format_info(list[first].format), b = format_info(list[i].format);
        REQUIRE_EQ(a.bytes_per_block, b.bytes_per_block);
        REQUIRE_EQ_STR(a.channel_order, b.channel_order);
        REQUIRE_EQ(a.cuda_array_format, b.cuda_array_format);
        REQUIRE_EQ(a.block_width, b.block_width);
        REQUIRE_EQ(a.block_height, b.block_height);
    }
}

TEST(dxgi)
{
    check_list(dxgi_formats, sizeof dxgi_formats / sizeof dxgi_formats[0], CULV_NATIVE_D3D,
               offsetof(culv_format_info, dxgi_format));
    size_t known = 0;
    for (uint32_t n = 0; n < 256; n++)
        if (culv_format_from(CULV_NATIVE_D3D, n) != CULV_FORMAT_NONE) known++;
    /* A8B8G8R8_*_PACK32 share theirs */
    REQUIRE_EQ(known, sizeof dxgi_formats / sizeof dxgi_formats[0] - 5);
    /* Unknown, typeless ones, views of one aspect, A8, R1, R8G8_B8G8, B8G8R8X8, XR_BIAS, AYUV,
     * Y410, Y416. */
    static const uint32_t none[] = {0,  1,  5,  9,  15, 19, 21,  22,  23,  27,        33,
                                    39, 44, 46, 47, 48, 53, 60,  65,  66,  68,        69,
                                    70, 88, 89, 90, 92, 93, 100, 101, 102, UINT32_MAX};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        REQUIRE_EQ(culv_format_from(CULV_NATIVE_D3D, none[i]), CULV_FORMAT_NONE);
}

TEST(gl)
{
    check_list(gl_formats, sizeof gl_formats / sizeof gl_formats[0], CULV_NATIVE_GL,
               offsetof(culv_format_info, gl_internal_format));
    /* GL_RGB, GL_RGBA, GL_ALPHA8, GL_LUMINANCE8, GL_R3_G3_B2, GL_RGB4, GL_RGB5, GL_RGB10, GL_RGB12,
     * GL_RGBA2, GL_RGBA4, GL_RGBA12, GL_DEPTH_COMPONENT, GL_DEPTH_COMPONENT32, GL_BGRA. */
    static const uint32_t none[] = {0,      0x1907, 0x1908, 0x803C, 0x8040,    0x2A10,
                                    0x804F, 0x8050, 0x8052, 0x8053, 0x8055,    0x8056,
                                    0x805A, 0x1902, 0x81A7, 0x80E1, UINT32_MAX};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        REQUIRE_EQ(culv_format_from(CULV_NATIVE_GL, none[i]), CULV_FORMAT_NONE);
    REQUIRE_EQ(culv_format_from(CULV_NATIVE_VULKAN, CULV_FORMAT_R8G8B8A8_UNORM), CULV_FORMAT_NONE);
}
