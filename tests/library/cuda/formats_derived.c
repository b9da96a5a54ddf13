/* SPDX-License-Identifier: MIT */
/* What follows from a format's name, worked out again for every row of the table. Sources: the
 * Vulkan specification, "Format Definition" and "Packed Formats". */
#define TEST_GROUP "derived."
#include "formats.h"

#include <ctype.h>

static bool has(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

static bool begins(const char *text, const char *part)
{
    return strncmp(text, part, strlen(part)) == 0;
}

/* "R10X6G10X6_UNORM_2PACK16": letters RG, 10 bits, 6 of padding, each. */
typedef struct parts {
    char letters[8];
    uint32_t count, total; /* channels; bits with padding */
    uint32_t bits[8], padding[8];
    const char *rest; /* "UNORM_2PACK16" */
} parts;

static parts take_apart(const char *name)
{
    parts p = {0};
    const char *at = name;
    while (isupper((unsigned char)at[0]) && isdigit((unsigned char)at[1])) {
        char *end = NULL;
        uint32_t bits = (uint32_t)strtoul(at + 1, &end, 10);
        if (*at == 'X') {
            p.padding[p.count - 1] = bits;
        } else {
            p.letters[p.count] = *at;
            p.bits[p.count++] = bits;
        }
        p.total += bits;
        at = end;
    }
    REQUIRE(*at == '_');
    p.rest = at + 1;
    return p;
}

static void expect_integers(const culv_format_info *f, bool is_signed, uint32_t bits,
                            uint32_t channels)
{
    static const CUarray_format of[2][3] = {
        {CU_AD_FORMAT_UNSIGNED_INT8, CU_AD_FORMAT_UNSIGNED_INT16, CU_AD_FORMAT_UNSIGNED_INT32},
        {CU_AD_FORMAT_SIGNED_INT8, CU_AD_FORMAT_SIGNED_INT16, CU_AD_FORMAT_SIGNED_INT32}};
    REQUIRE_EQ(f->cuda_array_format, of[is_signed][bits == 8 ? 0 : bits == 16 ? 1 : 2]);
    REQUIRE_EQ(f->channels, channels);
    REQUIRE_EQ(f->bytes_per_block, bits / 8 * channels);
    REQUIRE_EQ(f->surfaces, 1);
}

static void expect_hole(const culv_format_info *f, const char *why)
{
    REQUIRE_EQ(f->mapped, 0);
    if (!has(f->reason_text, why))
        FAIL("%s: '%s' says nothing of '%s'", f->name, f->reason_text, why);
}

static void expect_one_plane(const culv_format_info *f, uint32_t aspects, uint32_t width,
                             uint32_t height)
{
    REQUIRE_EQ(f->planes, 1);
    REQUIRE_EQ(f->aspects, aspects);
    REQUIRE_EQ(f->block_width, width);
    REQUIRE_EQ(f->block_height, height);
}

static culv_texel_kind kind_of(const char *rest)
{
    static const struct {
        const char *name;
        culv_texel_kind kind;
    } kinds[] = {{"UNORM", CULV_TEXEL_KIND_UNORM},     {"SNORM", CULV_TEXEL_KIND_SNORM},
                 {"USCALED", CULV_TEXEL_KIND_USCALED}, {"SSCALED", CULV_TEXEL_KIND_SSCALED},
                 {"UINT", CULV_TEXEL_KIND_UINT},       {"SINT", CULV_TEXEL_KIND_SINT},
                 {"SFLOAT", CULV_TEXEL_KIND_FLOAT},    {"SRGB", CULV_TEXEL_KIND_SRGB}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (begins(rest, kinds[i].name)) return kinds[i].kind;
    FAIL("what is %s?", rest);
}

static void check_blocks(const culv_format_info *f)
{
    uint32_t width = 4, height = 4;
    if (begins(f->name, "ASTC_")) {
        char *end = NULL;
        width = (uint32_t)strtoul(f->name + 5, &end, 10);
        height = (uint32_t)strtoul(end + 1, NULL, 10);
    }
    expect_one_plane(f, 1, width, height);
    bool small = begins(f->name, "BC1_") || begins(f->name, "BC4_") ||
                 begins(f->name, "ETC2_R8G8B8_") || begins(f->name, "ETC2_R8G8B8A1_") ||
                 begins(f->name, "EAC_R11_");
    REQUIRE_EQ(f->bytes_per_block, small ? 8 : 16);
    REQUIRE_EQ(f->surfaces, 0);
    REQUIRE_EQ(f->normalized_array_format, 0);
    if (!begins(f->name, "BC")) {
        expect_hole(f, begins(f->name, "ASTC") ? "ASTC" : begins(f->name, "EAC") ? "EAC" : "ETC2");
        return;
    }
    REQUIRE_EQ(f->kind, CULV_TEXEL_KIND_BLOCKS);
    REQUIRE(f->cuda_array_format >= CU_AD_FORMAT_BC1_UNORM &&
            f->cuda_array_format <= CU_AD_FORMAT_BC7_UNORM);
    if (!has(f->name, "_SRGB_")) return;
    /* As the blocks before it, which are not sRGB. */
    culv_format_info plain = format_info((culv_format)(f->format - 1));
    REQUIRE_EQ(f->cuda_array_format, plain.cuda_array_format);
}

static void check_planes(const culv_format_info *f)
{
    uint32_t bits = (uint32_t)strtoul(f->name + 1, NULL, 10);
    uint32_t planes = has(f->name, "_3PLANE_") ? 3 : 2;
    bool half_width = has(f->name, "PLANE_420") || has(f->name, "PLANE_422");
    bool half_height = has(f->name, "PLANE_420");
    REQUIRE_EQ(f->planes, planes);
    REQUIRE_EQ(f->aspects, 1);
    REQUIRE_EQ_STR(f->channel_order, planes == 3 ? "G|B|R" : "G|BR");
    REQUIRE_EQ(f->surfaces, 0);
    for (uint32_t plane = 0; plane < planes; plane++) {
        culv_format of = CULV_FORMAT_NONE;
        uint32_t across = 0, down = 0;
        LIB_OK(culv_format_get_plane(f->format, plane, &of, &across, &down));
        REQUIRE_EQ(across, plane > 0 && half_width ? 2 : 1);
        REQUIRE_EQ(down, plane > 0 && half_height ? 2 : 1);
        culv_format_info p = format_info(of);
        REQUIRE_EQ(p.mapped, 1);
        REQUIRE_EQ(p.channels, planes == 2 && plane == 1 ? 2 : 1);
        REQUIRE_EQ(p.bytes_per_block, (bits == 8 ? 1 : 2) * p.channels);
        REQUIRE(begins(p.name, bits == 8    ? "R8"
                               : bits == 10 ? "R10X6"
                               : bits == 12 ? "R12X4"
                                            : "R16"));
    }
    REQUIRE_EQ(f->mapped, 1);
    REQUIRE_EQ(f->kind, CULV_TEXEL_KIND_PLANES);
    REQUIRE_EQ(f->cuda_version, 0);
    /* CUDA has names for some of them. */
    bool named = planes == 2 ? bits != 12 && (bits != 10 || !has(f->name, "_444_"))
                             : strcmp(f->name, "G8_B8_R8_3PLANE_444_UNORM") == 0;
    REQUIRE_EQ(f->cuda_array_format != 0, named);
    REQUIRE_EQ(f->channels, named ? 3 : 0);
}

static void check_pairs(const culv_format_info *f)
{
    parts p = take_apart(f->name);
    expect_one_plane(f, 1, 2, 1);
    REQUIRE_EQ(f->bytes_per_block, p.total / 8);
    REQUIRE_EQ_STR(f->channel_order, p.letters);
    REQUIRE_EQ(f->surfaces, 0);
    if (p.letters[0] == 'G' && p.bits[0] != 12)
        REQUIRE_EQ(f->kind, CULV_TEXEL_KIND_SUBSAMPLED);
    else
        REQUIRE_EQ(f->mapped, 0);
}

static void check_depth(const culv_format_info *f)
{
    bool depth = f->name[0] == 'D' || f->name[0] == 'X', stencil = has(f->name, "S8");
    REQUIRE_EQ(f->dedicated, strcmp(f->name, "D16_UNORM") == 0 || strcmp(f->name, "S8_UINT") == 0);
    expect_one_plane(f, (depth ? 2u : 0u) | (stencil ? 4u : 0u), 1, 1);
    if (strcmp(f->name, "D16_UNORM") == 0) {
        expect_integers(f, false, 16, 1);
        REQUIRE_EQ(f->normalized_array_format, CU_AD_FORMAT_UNORM_INT16X1);
    } else if (strcmp(f->name, "S8_UINT") == 0) {
        expect_integers(f, false, 8, 1);
        REQUIRE_EQ(f->kind, CULV_TEXEL_KIND_STENCIL);
    } else if (strcmp(f->name, "D32_SFLOAT") == 0) {
        REQUIRE_EQ(f->cuda_array_format, CU_AD_FORMAT_FLOAT);
        REQUIRE_EQ(f->kind, CULV_TEXEL_KIND_DEPTH);
    } else {
        expect_hole(f, depth && stencil ? "depth and stencil" : "24 bits");
    }
}

/* All channels in one integer, whose lowest bits are the last channel of the name. */
static void check_packed(const culv_format_info *f, const parts *p)
{
    char order[8] = "";
    for (uint32_t i = 0; i < p->count; i++)
        order[i] = p->letters[p->count - 1 - i];
    REQUIRE_EQ_STR(f->channel_order, order);
    if (begins(f->name,
               "A8B8G8R8_")) { /* which is four bytes, on processors that begin with the lowest */
        culv_texel_kind kind = kind_of(p->rest);
        REQUIRE_EQ(f->kind, kind);
        expect_integers(f,
                        kind == CULV_TEXEL_KIND_SNORM || kind == CULV_TEXEL_KIND_SINT ||
                            kind == CULV_TEXEL_KIND_SSCALED,
                        8, 4);
        return;
    }
    REQUIRE_EQ(f->kind, CULV_TEXEL_KIND_PACKED);
    expect_integers(f, false, p->total, 1);
    REQUIRE((f->normalized_array_format != 0) ==
            (strcmp(f->name, "A2B10G10R10_UNORM_PACK32") == 0));
}

static void check_normalized(const culv_format_info *f, const parts *p)
{
    static const CUarray_format first[2][2] = {
        {CU_AD_FORMAT_UNORM_INT8X1, CU_AD_FORMAT_UNORM_INT16X1},
        {CU_AD_FORMAT_SNORM_INT8X1, CU_AD_FORMAT_SNORM_INT16X1}};
    if (f->kind != CULV_TEXEL_KIND_UNORM && f->kind != CULV_TEXEL_KIND_SNORM) {
        REQUIRE_EQ(f->normalized_array_format, 0);
        return;
    }
    uint32_t place = p->count == 4 ? 2 : p->count - 1; /* X1, X2, X4 */
    REQUIRE_EQ(f->normalized_array_format,
               (uint32_t)first[f->kind == CULV_TEXEL_KIND_SNORM][p->bits[0] == 16] + place);
    REQUIRE_EQ(f->normalized_channels, p->count);
}

static void check_plain(const culv_format_info *f)
{
    parts p = take_apart(f->name);
    uint32_t bits = p.bits[0] + p.padding[0];
    expect_one_plane(f, 1, 1, 1);
    REQUIRE_EQ(f->bytes_per_block, p.total / 8);
    const char *pack = strstr(p.rest, "PACK");
    if (pack != NULL && pack[-1] == '_' && p.padding[0] == 0) {
        check_packed(f, &p);
        if (begins(f->name, "A8")) check_normalized(f, &p);
        return;
    }
    REQUIRE_EQ_STR(f->channel_order, p.letters);
    if (p.total > 128) {
        expect_hole(f, "at most 16");
    } else if (p.count == 3) {
        expect_hole(f, "never 3");
    } else if (bits == 64) {
        REQUIRE_EQ(f->kind, CULV_TEXEL_KIND_SPLIT);
        expect_integers(f, false, 32, 2 * p.count);
    } else if (p.padding[0] != 0) {
        REQUIRE_EQ(f->kind, CULV_TEXEL_KIND_PADDED);
        expect_integers(f, false, 16, p.count);
        REQUIRE_EQ(f->normalized_array_format, 0);
    } else {
        culv_texel_kind kind = kind_of(p.rest);
        REQUIRE_EQ(f->kind, kind);
        if (kind == CULV_TEXEL_KIND_FLOAT) {
            REQUIRE_EQ(f->cuda_array_format, bits == 16 ? CU_AD_FORMAT_HALF : CU_AD_FORMAT_FLOAT);
            REQUIRE_EQ(f->channels, p.count);
        } else {
            expect_integers(f,
                            kind == CULV_TEXEL_KIND_SNORM || kind == CULV_TEXEL_KIND_SINT ||
                                kind == CULV_TEXEL_KIND_SSCALED,
                            bits, p.count);
        }
        check_normalized(f, &p);
    }
}

TEST(from_names)
{
    for (size_t i = 0; i < format_count; i++) {
        culv_format_info f = format_info(format_names[i].format);
        if (has(f.name, "_BLOCK"))
            check_blocks(&f);
        else if (has(f.name, "PLANE_"))
            check_planes(&f);
        else if (has(f.name, "_422_"))
            check_pairs(&f);
        else if (f.name[0] == 'D' || f.name[0] == 'S' || f.name[0] == 'X')
            check_depth(&f);
        else
            check_plain(&f);
    }
}

TEST(planes)
{
    culv_format of = CULV_FORMAT_NONE;
    uint32_t across = 9, down = 9;
    LIB_OK(culv_format_get_plane(CULV_FORMAT_G8_B8R8_2PLANE_420_UNORM, 1, &of, &across, &down));
    REQUIRE_EQ(of, CULV_FORMAT_R8G8_UNORM);
    REQUIRE(across == 2 && down == 2);
    LIB_OK(culv_format_get_plane(CULV_FORMAT_G10X6_B10X6R10X6_2PLANE_422_UNORM_3PACK16, 1, &of,
                                 &across, &down));
    REQUIRE_EQ(of, CULV_FORMAT_R10X6G10X6_UNORM_2PACK16);
    REQUIRE(across == 2 && down == 1);
    LIB_OK(culv_format_get_plane(CULV_FORMAT_R8G8B8_UNORM, 0, &of, &across, &down)); /* holes too */
    REQUIRE_EQ(of, CULV_FORMAT_R8G8B8_UNORM);
    REQUIRE(across == 1 && down == 1);
    LIB_OK(culv_format_get_plane(CULV_FORMAT_G16_B16_R16_3PLANE_420_UNORM, 2, NULL, NULL, NULL));
    for (size_t i = 0; i < format_count; i++) {
        culv_format_info f = format_info(format_names[i].format);
        of = CULV_FORMAT_FORCE32;
        LIB_OK(culv_format_get_plane(f.format, 0, &of, NULL, &down));
        if (f.planes == 1) REQUIRE_EQ(of, f.format);
        REQUIRE_EQ(down, 1);
        across = 77;
        REQUIRE_EQ(culv_format_get_plane(f.format, f.planes, &of, &across, &down),
                   CULV_ERROR_INVALID);
        REQUIRE_EQ(culv_format_get_plane(f.format, UINT32_MAX, &of, &across, &down),
                   CULV_ERROR_INVALID);
        REQUIRE_EQ(across, 77);
    }
    LIB_INVALID(culv_format_get_plane(CULV_FORMAT_G8_B8R8_2PLANE_420_UNORM, 2, &of, NULL, NULL),
                VALUE, "G8_B8R8_2PLANE_420_UNORM has 2");
    LIB_ERROR(culv_format_get_plane(CULV_FORMAT_NONE, 0, &of, NULL, NULL), UNSUPPORTED, FORMAT);
    LIB_ERROR(culv_format_get_plane((culv_format)185, 0, &of, NULL, NULL), UNSUPPORTED, FORMAT);
}
