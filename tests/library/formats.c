/* The table of formats, against Vulkan's and CUDA's own. SPDX-License-Identifier: MIT */
#include "library.h"

#include <stdio.h>
#include <string.h>

extern const test_case format_cases[];

typedef struct row {
    culv_format format;
    VkFormat vulkan;
    const char *name;
    uint32_t bytes, channels;
    CUarray_format cuda;
    const char *kernel_type;
} row;

#define ROW(name, bytes, channels, cuda, type)                                                               \
    {                                                                                                        \
        CULV_FORMAT_##name, VK_FORMAT_##name, #name, bytes, channels, cuda, type                             \
    }
static const row rows[] = {
    ROW(R8G8B8A8_UNORM, 4, 4, CU_AD_FORMAT_UNSIGNED_INT8, "uchar4"),
    ROW(B8G8R8A8_UNORM, 4, 4, CU_AD_FORMAT_UNSIGNED_INT8, "uchar4"),
    ROW(R16G16B16A16_SFLOAT, 8, 4, CU_AD_FORMAT_HALF, "ushort4"),
    ROW(R32_SFLOAT, 4, 1, CU_AD_FORMAT_FLOAT, "float"),
    ROW(R32G32B32A32_SFLOAT, 16, 4, CU_AD_FORMAT_FLOAT, "float4"),
};
#undef ROW

static uint32_t type_size(const char *type)
{
    static const struct {
        const char *name;
        uint32_t size;
    } bases[] = {{"uchar", 1}, {"ushort", 2}, {"float", 4}};
    for (size_t i = 0; i < sizeof bases / sizeof bases[0]; i++) {
        size_t length = strlen(bases[i].name);
        if (strncmp(type, bases[i].name, length) != 0) continue;
        return bases[i].size * (type[length] == '\0' ? 1 : (uint32_t)(type[length] - '0'));
    }
    return 0;
}

static uint32_t array_size(CUarray_format format)
{
    return format == CU_AD_FORMAT_UNSIGNED_INT8 ? 1 : format == CU_AD_FORMAT_HALF ? 2 : 4;
}

static void table(void)
{
    size_t count = 0;
#define COUNT(name, number)                                                                                  \
    REQUIRE_EQ(CULV_FORMAT_##name, VK_FORMAT_##name);                                                        \
    REQUIRE_EQ(number, VK_FORMAT_##name);                                                                    \
    count++;
    CULV_FORMATS(COUNT)
#undef COUNT
    REQUIRE_EQ(count, sizeof rows / sizeof rows[0]);
    for (size_t i = 0; i < count; i++) {
        culv_format_info info = culv_format_info_init();
        REQUIRE_EQ(rows[i].format, rows[i].vulkan);
        LIB_OK(culv_format_get_info(rows[i].format, &info));
        REQUIRE_EQ(info.struct_size, sizeof info);
        REQUIRE_EQ(info.format, rows[i].format);
        REQUIRE_EQ_STR(info.name, rows[i].name);
        REQUIRE_EQ(info.bytes_per_texel, rows[i].bytes);
        REQUIRE_EQ(info.channels, rows[i].channels);
        REQUIRE_EQ(info.cuda_array_format, rows[i].cuda);
        REQUIRE_EQ_STR(info.kernel_type, rows[i].kernel_type);
        REQUIRE_EQ(type_size(info.kernel_type), info.bytes_per_texel);
        REQUIRE_EQ(array_size(rows[i].cuda) * info.channels, info.bytes_per_texel);
    }
}

static void refused(void)
{
    culv_format_info info = culv_format_info_init();
    for (uint32_t n = 0; n < 200; n++) {
        bool shared = false;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
            shared = shared || (uint32_t)rows[i].format == n;
        if (shared) continue;
        info.name[0] = 'x';
        if (culv_format_get_info((culv_format)n, &info) != CULV_ERROR_UNSUPPORTED)
            FAIL("format %u was not refused", n);
        REQUIRE_EQ(info.name[0], 'x');
    }
    LIB_ERROR(culv_format_get_info(CULV_FORMAT_NONE, &info), CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT);
    LIB_ERROR(culv_format_get_info((culv_format)-1, &info), CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT);
    LIB_ERROR(culv_format_get_info(CULV_FORMAT_FORCE32, &info), CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT);
    LIB_ERROR(culv_format_get_info(CULV_FORMAT_R32_SFLOAT, NULL), CULV_ERROR_INVALID,
              CULV_REASON_NULL_ARGUMENT);
}

/* A shorter or longer culv_format_info of another version of the headers. */
static void info_of_other_versions(void)
{
    struct {
        culv_format_info info;
        unsigned char beyond[32];
    } out;
    memset(&out, 0x77, sizeof out);
    out.info.struct_size = offsetof(culv_format_info, channels);
    LIB_OK(culv_format_get_info(CULV_FORMAT_R32_SFLOAT, &out.info));
    REQUIRE_EQ(out.info.bytes_per_texel, 4);
    for (size_t i = offsetof(culv_format_info, channels); i < sizeof out; i++)
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
        LIB_ERROR(culv_format_get_info(CULV_FORMAT_R32_SFLOAT, &out.info), CULV_ERROR_INVALID,
                  CULV_REASON_STRUCT_SIZE);
        REQUIRE_EQ(((unsigned char *)&out)[sizeof(size_t)], 0x77);
    }
}

const test_case format_cases[] = {
    {.name = "formats.table", .run = table},
    {.name = "formats.refused", .run = refused},
    {.name = "formats.info_of_other_versions", .run = info_of_other_versions},
    {.name = NULL},
};
