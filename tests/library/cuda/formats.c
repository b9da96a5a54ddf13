/* SPDX-License-Identifier: MIT */
/* The table of formats: complete, sound in itself, against Vulkan's and CUDA's own names and
 * numbers. */
#define TEST_GROUP "table."
#include "formats.h"

const format_name format_names[] = {
#define NAME(name, number) {CULV_FORMAT_##name, VK_FORMAT_##name, number, #name},
    CULV_FORMATS(NAME)
#undef NAME
};
#define COUNT(name, number) +1
const size_t format_count = 0 CULV_FORMATS(COUNT);
#undef COUNT

culv_format_info format_info(culv_format format)
{
    culv_format_info info = culv_format_info_init();
    LIB_OK(culv_format_get_info(format, &info));
    return info;
}

/* 1 to 184 of Vulkan 1.0, the Y'CbCr ones of 1.1, and what 1.3 made core: vk.xml. */
static bool in_vulkan_1_3(uint32_t n)
{
    return (n >= 1 && n <= 184) || (n >= 1000156000 && n <= 1000156033) ||
           (n >= 1000330000 && n <= 1000330003) || (n >= 1000340000 && n <= 1000340001) ||
           (n >= 1000066000 && n <= 1000066013);
}

TEST(complete, .smoke = true)
{
    static const uint32_t from[] = {0, 1000065990, 1000155990, 1000329990, 1000339990};
    size_t found = 0;
    for (size_t i = 0; i < sizeof from / sizeof from[0]; i++)
        for (uint32_t n = from[i]; n < from[i] + 300; n++) {
            culv_format_info info = culv_format_info_init();
            info.name[0] = 'x';
            culv_result result = culv_format_get_info((culv_format)n, &info);
            if ((result == CULV_OK) != in_vulkan_1_3(n))
                FAIL("format %u: %s", n, culv_result_name(result));
            if (result == CULV_OK) found++;
            if (result != CULV_OK) REQUIRE_EQ(info.name[0], 'x');
        }
    REQUIRE_EQ(found, format_count);
    REQUIRE_EQ(found, 238);
}

TEST(names)
{
    for (size_t i = 0; i < format_count; i++) {
        const format_name *f = &format_names[i];
        culv_format_info info = format_info(f->format);
        REQUIRE_EQ(f->format, f->vulkan);
        REQUIRE_EQ(f->format, f->number);
        REQUIRE_EQ(info.struct_size, sizeof info);
        REQUIRE_EQ(info.format, f->format);
        REQUIRE_EQ(info.vk_format, f->vulkan);
        REQUIRE_EQ_STR(info.name, f->name);
    }
}

static uint32_t type_size(const char *type)
{
    static const struct {
        const char *name;
        uint32_t size;
    } bases[] = {{"uchar", 1}, {"char", 1}, {"ushort", 2}, {"short", 2},
                 {"uint", 4},  {"int", 4},  {"float", 4}};
    for (size_t i = 0; i < sizeof bases / sizeof bases[0]; i++) {
        size_t length = strlen(bases[i].name);
        if (strncmp(type, bases[i].name, length) != 0) continue;
        return bases[i].size * (type[length] == '\0' ? 1 : (uint32_t)(type[length] - '0'));
    }
    return 0;
}

static uint32_t element_size(uint32_t array_format)
{
    switch ((CUarray_format)array_format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8: return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF: return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT: return 4;
    default: return 0;
    }
}

/* Sizes agree: channels of the array format, the kernel's type, the block, the normalized form. */
TEST(sizes)
{
    static const struct {
        CUarray_format format;
        uint32_t channels, bytes;
    } normalized[] = {
        {CU_AD_FORMAT_UNORM_INT8X1, 1, 1},  {CU_AD_FORMAT_UNORM_INT8X2, 2, 2},
        {CU_AD_FORMAT_UNORM_INT8X4, 4, 4},  {CU_AD_FORMAT_UNORM_INT16X1, 1, 2},
        {CU_AD_FORMAT_UNORM_INT16X2, 2, 4}, {CU_AD_FORMAT_UNORM_INT16X4, 4, 8},
        {CU_AD_FORMAT_SNORM_INT8X1, 1, 1},  {CU_AD_FORMAT_SNORM_INT8X2, 2, 2},
        {CU_AD_FORMAT_SNORM_INT8X4, 4, 4},  {CU_AD_FORMAT_SNORM_INT16X1, 1, 2},
        {CU_AD_FORMAT_SNORM_INT16X2, 2, 4}, {CU_AD_FORMAT_SNORM_INT16X4, 4, 8},
        {(CUarray_format)0x50, 4, 4}, /* CU_AD_FORMAT_UNORM_INT_101010_2 */
    };
    size_t mapped = 0, twice = 0;
    for (size_t i = 0; i < format_count; i++) {
        culv_format_info f = format_info(format_names[i].format);
        mapped += f.mapped;
        REQUIRE(f.mapped <= 1 && f.surfaces <= f.mapped);
        REQUIRE((f.surfaces != 0) == (f.kernel_type[0] != '\0'));
        REQUIRE((f.planes == 1) == (f.bytes_per_block != 0));
        if (f.surfaces) {
            REQUIRE_EQ(f.block_width * f.block_height, 1);
            REQUIRE_EQ(type_size(f.kernel_type), f.bytes_per_block);
            REQUIRE_EQ(element_size(f.cuda_array_format) * f.channels, f.bytes_per_block);
            REQUIRE(f.channels == 1 || f.channels == 2 || f.channels == 4);
        }
        if (!f.normalized_array_format) {
            REQUIRE_EQ(f.normalized_channels, 0);
            REQUIRE_EQ(f.normalized_cuda_version, 0);
            continue;
        }
        size_t n = 0;
        while (n < sizeof normalized / sizeof normalized[0] &&
               (uint32_t)normalized[n].format != f.normalized_array_format)
            n++;
        REQUIRE(n < sizeof normalized / sizeof normalized[0]);
        REQUIRE_EQ(f.normalized_channels, normalized[n].channels);
        REQUIRE_EQ(f.bytes_per_block, normalized[n].bytes);
        REQUIRE(f.normalized_cuda_version >= 11050);
        twice++;
    }
    printf("  %zu formats, %zu mapped, %zu of these in two forms\n", format_count, mapped, twice);
    REQUIRE_EQ(mapped, 147);
    REQUIRE_EQ(twice, 18);
}

/* The numbers of the table are those of this cuda.h, which may be newer than the oldest that
 * Culvert builds with. */
TEST(array_formats)
{
    static const struct {
        culv_format format;
        CUarray_format stored;
        uint32_t channels, version;
    } rows[] = {
        {CULV_FORMAT_R8_UINT, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0},
        {CULV_FORMAT_R16G16_SSCALED, CU_AD_FORMAT_SIGNED_INT16, 2, 0},
        {CULV_FORMAT_R32_SINT, CU_AD_FORMAT_SIGNED_INT32, 1, 0},
        {CULV_FORMAT_R16_SFLOAT, CU_AD_FORMAT_HALF, 1, 0},
        {CULV_FORMAT_D32_SFLOAT, CU_AD_FORMAT_FLOAT, 1, 0},
        {CULV_FORMAT_BC1_RGBA_UNORM_BLOCK, CU_AD_FORMAT_BC1_UNORM, 4, 11050},
        {CULV_FORMAT_BC1_RGB_SRGB_BLOCK, CU_AD_FORMAT_BC1_UNORM, 4, 11050},
        {CULV_FORMAT_BC2_UNORM_BLOCK, CU_AD_FORMAT_BC2_UNORM, 4, 11050},
        {CULV_FORMAT_BC2_SRGB_BLOCK, CU_AD_FORMAT_BC2_UNORM, 4, 11050},
        {CULV_FORMAT_BC3_UNORM_BLOCK, CU_AD_FORMAT_BC3_UNORM, 4, 11050},
        {CULV_FORMAT_BC3_SRGB_BLOCK, CU_AD_FORMAT_BC3_UNORM, 4, 11050},
        {CULV_FORMAT_BC4_UNORM_BLOCK, CU_AD_FORMAT_BC4_UNORM, 1, 11050},
        {CULV_FORMAT_BC4_SNORM_BLOCK, CU_AD_FORMAT_BC4_SNORM, 1, 11050},
        {CULV_FORMAT_BC5_UNORM_BLOCK, CU_AD_FORMAT_BC5_UNORM, 2, 11050},
        {CULV_FORMAT_BC5_SNORM_BLOCK, CU_AD_FORMAT_BC5_SNORM, 2, 11050},
        {CULV_FORMAT_BC6H_UFLOAT_BLOCK, CU_AD_FORMAT_BC6H_UF16, 3, 11050},
        {CULV_FORMAT_BC6H_SFLOAT_BLOCK, CU_AD_FORMAT_BC6H_SF16, 3, 11050},
        {CULV_FORMAT_BC7_UNORM_BLOCK, CU_AD_FORMAT_BC7_UNORM, 4, 11050},
        {CULV_FORMAT_BC7_SRGB_BLOCK, CU_AD_FORMAT_BC7_UNORM, 4, 11050},
        {CULV_FORMAT_G8_B8R8_2PLANE_420_UNORM, CU_AD_FORMAT_NV12, 3, 0}, /* its planes are mapped */
#if CUDA_VERSION >= 13000
        {CULV_FORMAT_G10X6_B10X6R10X6_2PLANE_420_UNORM_3PACK16, CU_AD_FORMAT_P010, 3, 0},
        {CULV_FORMAT_G16_B16R16_2PLANE_420_UNORM, CU_AD_FORMAT_P016, 3, 0},
        {CULV_FORMAT_G8_B8R8_2PLANE_422_UNORM, CU_AD_FORMAT_NV16, 3, 0},
        {CULV_FORMAT_G10X6_B10X6R10X6_2PLANE_422_UNORM_3PACK16, CU_AD_FORMAT_P210, 3, 0},
        {CULV_FORMAT_G16_B16R16_2PLANE_422_UNORM, CU_AD_FORMAT_P216, 3, 0},
        {CULV_FORMAT_G8B8G8R8_422_UNORM, CU_AD_FORMAT_YUY2, 2, 12050},
        {CULV_FORMAT_G10X6B10X6G10X6R10X6_422_UNORM_4PACK16, CU_AD_FORMAT_Y210, 2, 12050},
        {CULV_FORMAT_G16B16G16R16_422_UNORM, CU_AD_FORMAT_Y216, 2, 12050},
        {CULV_FORMAT_G8_B8_R8_3PLANE_444_UNORM, CU_AD_FORMAT_Y444_PLANAR8, 3, 0},
        {CULV_FORMAT_G8_B8R8_2PLANE_444_UNORM, CU_AD_FORMAT_YUV444_8bit_SemiPlanar, 3, 0},
        {CULV_FORMAT_G16_B16R16_2PLANE_444_UNORM, CU_AD_FORMAT_YUV444_16bit_SemiPlanar, 3, 0},
#endif
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        culv_format_info f = format_info(rows[i].format);
        REQUIRE_EQ(f.cuda_array_format, rows[i].stored);
        REQUIRE_EQ(f.channels, rows[i].channels);
        REQUIRE_EQ(f.cuda_version, rows[i].version);
    }
    culv_format_info f = format_info(CULV_FORMAT_A2B10G10R10_UNORM_PACK32);
    REQUIRE_EQ(f.cuda_array_format, CU_AD_FORMAT_UNSIGNED_INT32);
    REQUIRE_EQ(f.channels, 1);
#if CUDA_VERSION >= 13000
    REQUIRE_EQ(f.normalized_array_format, CU_AD_FORMAT_UNORM_INT_101010_2);
#endif
    REQUIRE_EQ(f.normalized_channels, 4);
    REQUIRE_EQ(f.normalized_cuda_version, 12080);
}

/* Every hole says why, and names a format that is mapped. */
TEST(holes)
{
    for (size_t i = 0; i < format_count; i++) {
        culv_format_info f = format_info(format_names[i].format);
        size_t length = strlen(f.reason_text);
        if (f.mapped) {
            REQUIRE_EQ(f.reason, CULV_REASON_NONE);
            REQUIRE_EQ(length, 0);
            REQUIRE(f.kind != CULV_TEXEL_KIND_NONE);
            REQUIRE((f.cuda_array_format != 0 && f.channels != 0) || f.planes > 1);
            REQUIRE_EQ(f.cuda_array_format == 0, f.channels == 0);
            continue;
        }
        REQUIRE_EQ(f.reason, CULV_REASON_FORMAT);
        REQUIRE_EQ(f.kind, CULV_TEXEL_KIND_NONE);
        REQUIRE(f.cuda_array_format == 0 && f.channels == 0 && f.normalized_array_format == 0);
        if (length < 40 || length >= sizeof f.reason_text - 1)
            FAIL("%s: '%s' has %zu bytes", f.name, f.reason_text, length);
        /* "...: use NAME ..." or "...: use two images of NAME ..." */
        const char *use = strstr(f.reason_text, ": use ");
        if (use == NULL) FAIL("%s: '%s' gives no advice", f.name, f.reason_text);
        use += strlen(": use ");
        if (strncmp(use, "two images of ", 14) == 0) use += 14;
        size_t name = strcspn(use, " ,");
        size_t n = 0;
        while (n < format_count && (strncmp(format_names[n].name, use, name) != 0 ||
                                    format_names[n].name[name] != '\0'))
            n++;
        if (n == format_count) FAIL("%s: '%s' names no format", f.name, f.reason_text);
        if (!format_info(format_names[n].format).mapped)
            FAIL("%s: '%s' is no way out", f.name, f.reason_text);
    }
}

TEST(bad_arguments)
{
    culv_format_info info = culv_format_info_init();
    LIB_ERROR(culv_format_get_info(CULV_FORMAT_NONE, &info), UNSUPPORTED, FORMAT);
    LIB_ERROR(culv_format_get_info((culv_format)-1, &info), UNSUPPORTED, FORMAT);
    LIB_ERROR(culv_format_get_info((culv_format)185, &info), UNSUPPORTED, FORMAT);
    LIB_ERROR(culv_format_get_info(CULV_FORMAT_FORCE32, &info), UNSUPPORTED, FORMAT, "2147483647");
}

/* A shorter or longer culv_format_info of another version of the headers. */
TEST(info_of_other_versions)
{
    struct {
        culv_format_info info;
        unsigned char beyond[32];
    } out;
    memset(&out, 0x77, sizeof out);
    const size_t older = offsetof(culv_format_info, reason_text) / sizeof(size_t) * sizeof(size_t);
    out.info.struct_size = older;
    LIB_OK(culv_format_get_info(CULV_FORMAT_R32_SFLOAT, &out.info));
    REQUIRE_EQ(out.info.mapped, 1);
    for (size_t i = older; i < sizeof out; i++)
        REQUIRE_EQ(((unsigned char *)&out)[i], 0x77);
    memset(&out, 0x77, sizeof out);
    out.info.struct_size = sizeof out.info + 16;
    LIB_OK(culv_format_get_info(CULV_FORMAT_R32_SFLOAT, &out.info));
    REQUIRE_EQ(out.info.struct_size, sizeof out.info + 16);
    for (size_t i = 0; i < sizeof out.beyond; i++)
        REQUIRE_EQ(out.beyond[i], i < 16 ? 0 : 0x77);
    static const size_t wrong[] = {0, sizeof(size_t), 65537, SIZE_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        memset(&out, 0x77, sizeof out);
        out.info.struct_size = wrong[i];
        LIB_INVALID(culv_format_get_info(CULV_FORMAT_R32_SFLOAT, &out.info), STRUCT_SIZE);
        REQUIRE_EQ(((unsigned char *)&out)[sizeof(size_t)], 0x77);
    }
}

/* The table as lines, for check_formats.py. */
TEST(dump)
{
    for (size_t i = 0; i < format_count; i++) {
        culv_format_info f = format_info(format_names[i].format);
        printf("FORMAT %s %u %u %u %u %u %s %u\n", f.name, f.vk_format, f.bytes_per_block,
               f.block_width, f.block_height, f.planes, f.channel_order, f.mapped);
        for (uint32_t plane = 0; f.planes > 1 && plane < f.planes; plane++) {
            culv_format of = CULV_FORMAT_NONE;
            uint32_t across = 0, down = 0;
            LIB_OK(culv_format_get_plane(f.format, plane, &of, &across, &down));
            printf("PLANE %s %u %s %u %u\n", f.name, plane, format_info(of).name, across, down);
        }
    }
}
