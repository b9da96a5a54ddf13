/* SPDX-License-Identifier: MIT */
/* The table of formats: complete, sound in itself, against Vulkan's and CUDA's own names and
 * numbers. */
#define TEST_GROUP "table."
#include "library.h"

#include <ctype.h>

typedef struct format_name {
    culv_format format;
    VkFormat vulkan;
    uint32_t number;
    const char *name;
} format_name;

/* CULV_FORMATS, with Vulkan's own numbers beside. */
static const format_name format_names[] = {
#define NAME(name, number) {CULV_FORMAT_##name, VK_FORMAT_##name, number, #name},
    CULV_FORMATS(NAME)
#undef NAME
};

#define COUNT(name, number) +1
static const size_t format_count = 0 CULV_FORMATS(COUNT);
#undef COUNT

static culv_format_info format_info(culv_format format)
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

/* Numbers that follow from no name are those of this cuda.h, which may be newer than the oldest
 * that Culvert builds with. */
TEST(array_formats)
{
    static const struct {
        culv_format format;
        CUarray_format stored;
        uint32_t channels, version;
    } rows[] = {
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

/* The table as lines, for check_formats.py. */
TEST(dump)
{
    for (size_t i = 0; i < format_count; i++) {
        culv_format_info f = format_info(format_names[i].format);
        printf("FORMAT %s %u %u %u %u %u %s %u\n", f.name, f.vk_format, f.bytes_per_block,
               f.block_width, f.block_height, f.planes, f.channel_order, f.mapped);
        printf("NUMBERS %s %u %u\n", f.name, f.dxgi_format, f.gl_internal_format);
        for (uint32_t plane = 0; f.planes > 1 && plane < f.planes; plane++) {
            printf("PLANE %s %u %s %u %u\n", f.name, plane,
                   format_info(f.plane_formats[plane]).name, plane > 0 ? f.plane_width_divisor : 1,
                   plane > 0 ? f.plane_height_divisor : 1);
        }
    }
}

#undef TEST_GROUP
#define TEST_GROUP "derived."
/* What follows from a format's name, worked out again for every row of the table. Sources: the
 * Vulkan specification, "Format Definition" and "Packed Formats". */

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

static void expect_channels(const culv_format_info *f, const char *type, uint32_t channels)
{
    char vector[16];
    snprintf(vector, sizeof vector, channels > 1 ? "%s%u" : "%s", type, channels);
    REQUIRE_EQ_STR(f->kernel_type, vector);
    REQUIRE_EQ(f->channels, channels);
    REQUIRE_EQ(f->surfaces, 1);
    REQUIRE_EQ(f->cuda_version, 0);
}

static void expect_integers(const culv_format_info *f, bool negative, uint32_t bits,
                            uint32_t channels)
{
    static const char *const types[2][3] = {{"uchar", "ushort", "uint"}, {"char", "short", "int"}};
    static const CUarray_format of[2][3] = {
        {CU_AD_FORMAT_UNSIGNED_INT8, CU_AD_FORMAT_UNSIGNED_INT16, CU_AD_FORMAT_UNSIGNED_INT32},
        {CU_AD_FORMAT_SIGNED_INT8, CU_AD_FORMAT_SIGNED_INT16, CU_AD_FORMAT_SIGNED_INT32}};
    const int size = bits == 8 ? 0 : bits == 16 ? 1 : 2;
    REQUIRE_EQ(f->cuda_array_format, of[negative][size]);
    REQUIRE_EQ(f->bytes_per_block, bits / 8 * channels);
    expect_channels(f, types[negative][size], channels);
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

static bool is_signed(culv_texel_kind kind)
{
    return kind == CULV_TEXEL_KIND_SNORM || kind == CULV_TEXEL_KIND_SINT ||
           kind == CULV_TEXEL_KIND_SSCALED;
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
    /* In cuda.h in this order, two of each; sRGB is mapped as what is not. */
    const int block = f->name[2] - '1';
    const bool second = has(f->name, "_SNORM_") || has(f->name, "_SFLOAT_");
    REQUIRE_EQ(f->cuda_array_format, CU_AD_FORMAT_BC1_UNORM + 2 * block + second);
    REQUIRE_EQ(f->channels, "4441234"[block] - '0');
    REQUIRE_EQ(f->cuda_version, 11050);
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
    REQUIRE_EQ(f->plane_width_divisor, half_width ? 2 : 1);
    REQUIRE_EQ(f->plane_height_divisor, half_height ? 2 : 1);
    for (uint32_t plane = 0; plane < planes; plane++) {
        culv_format_info p = format_info(f->plane_formats[plane]);
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
        expect_channels(f, "float", 1);
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
        expect_integers(f, is_signed(kind), 8, 4);
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
    REQUIRE(f->normalized_cuda_version >= 11050);
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
            expect_channels(f, bits == 16 ? "ushort" : "float", p.count);
        } else {
            expect_integers(f, is_signed(kind), bits, p.count);
        }
        check_normalized(f, &p);
    }
}

TEST(from_names)
{
    size_t mapped = 0, twice = 0;
    for (size_t i = 0; i < format_count; i++) {
        const format_name *n = &format_names[i];
        culv_format_info f = format_info(n->format);
        REQUIRE(n->format == (culv_format)n->vulkan && n->number == (uint32_t)n->vulkan);
        REQUIRE(f.format == n->format && f.vk_format == (uint32_t)n->vulkan);
        REQUIRE_EQ(f.struct_size, sizeof f);
        REQUIRE_EQ_STR(f.name, n->name);
        mapped += f.mapped;
        twice += f.normalized_array_format != 0;
        REQUIRE(f.mapped <= 1 && f.surfaces <= f.mapped);
        REQUIRE((f.surfaces != 0) == (f.kernel_type[0] != '\0'));
        REQUIRE((f.planes == 1) == (f.bytes_per_block != 0));
        if (!f.normalized_array_format)
            REQUIRE(f.normalized_channels == 0 && f.normalized_cuda_version == 0);
        for (uint32_t plane = f.planes; plane < 3; plane++)
            REQUIRE_EQ(f.plane_formats[plane], CULV_FORMAT_NONE);
        if (f.planes == 1)
            REQUIRE(f.plane_formats[0] == f.format && f.plane_width_divisor == 1 &&
                    f.plane_height_divisor == 1);
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
    REQUIRE_EQ(mapped, 147);
    REQUIRE_EQ(twice, 18);
    const culv_format_info f = format_info(CULV_FORMAT_G10X6_B10X6R10X6_2PLANE_422_UNORM_3PACK16);
    REQUIRE_EQ(f.plane_formats[1], CULV_FORMAT_R10X6G10X6_UNORM_2PACK16);
}

#undef TEST_GROUP
#define TEST_GROUP "support."
/* Whether a driver has an array format: known of the oldest, asked once of each other. */

#define CHECK(format, texels)                                                                      \
    culv_check_format(w->device, CULV_FORMAT_##format, CULV_TEXELS_##texels)

/* Driver calls that Culvert makes in `call`, where the driver counts them. */
#define CALLS(w, call) (calls_of(w, 0), (call), calls_of(w, 1))

static uint64_t calls_of(const lib_world *w, int ended)
{
    static uint64_t before;
    const uint64_t calls = lib_soft_counts(w->cu).calls;
    if (ended) return calls - before;
    before = calls;
    return 0;
}

static uint64_t arrays_of(const lib_world *w)
{
    return lib_soft_counts(w->cu).arrays;
}

static void need_twin(const lib_world *w)
{
    if (!w->cu->software) SKIP("only the twin counts calls and makes them fail");
}

/* What this driver has, both forms of every mapped format. Those that every driver from 525 on has
 * must be there; of the video formats the answer is printed. */
LIB_CASE(every_format, .smoke = true)
{
    culv_device_caps caps = lib_caps(w->device);
    unsigned asked = 0, lacking = 0;
    for (size_t i = 0; i < format_count; i++) {
        culv_format_info f = format_info(format_names[i].format);
        for (int form = 0; form < 2; form++) {
            uint32_t array = form ? f.normalized_array_format : f.cuda_array_format;
            uint32_t version = form ? f.normalized_cuda_version : f.cuda_version;
            culv_result result = culv_check_format(w->device, f.format, (culv_texels)form);
            if (form == 0 && f.planes > 1) { /* whatever it is called in CUDA */
                REQUIRE_EQ(result, CULV_OK);
                continue;
            }
            if (array == 0) {
                REQUIRE_EQ(result, CULV_ERROR_UNSUPPORTED);
                if (strstr(culv_last_error_message(), f.name) == NULL)
                    FAIL("%s is not named", f.name);
                if (strstr(culv_last_error_message(), f.reason_text) == NULL)
                    FAIL("%s: no '%s'", f.name, f.reason_text);
                continue;
            }
            asked++;
            if (result != CULV_OK && result != CULV_ERROR_UNSUPPORTED)
                FAIL("%s: %s", f.name, culv_last_error_message());
            if (result != CULV_OK) {
                lacking++;
                MEASURED(f.name, "not an array of this driver: %s", culv_last_error_message());
            }
            if (version == 0 && result != CULV_OK) FAIL("%s is missing", f.name);
            /* The twin makes all arrays of its own age but one, of which an H200 has none
             * either. */
            if (w->cu->software && version <= caps.driver_version)
                REQUIRE_EQ(result, f.format == CULV_FORMAT_G8B8G8R8_422_UNORM
                                       ? CULV_ERROR_UNSUPPORTED
                                       : CULV_OK);
        }
    }
    MEASURED("formats.array_formats", "%u forms, %u of them missing", asked, lacking);
}

LIB_CASE(asked_once)
{
    /* What every driver has is not asked at all, nor is another format of the same array format. */
    static const struct {
        culv_format format;
        culv_texels texels;
        uint64_t arrays; /* that are kept: destroying them may wait */
        bool asks;
    } rows[] = {{CULV_FORMAT_R8G8B8A8_UNORM, CULV_TEXELS_STORED, 0, false},
                {CULV_FORMAT_D32_SFLOAT, CULV_TEXELS_STORED, 0, false},
                {CULV_FORMAT_G8_B8R8_2PLANE_420_UNORM, CULV_TEXELS_STORED, 0, false},
                {CULV_FORMAT_R8G8B8A8_UNORM, CULV_TEXELS_NORMALIZED, 1, true},
                {CULV_FORMAT_BC7_SRGB_BLOCK, CULV_TEXELS_STORED, 2, true},
                {CULV_FORMAT_G10X6B10X6G10X6R10X6_422_UNORM_4PACK16, CULV_TEXELS_STORED, 3, true},
                {CULV_FORMAT_A2B10G10R10_UNORM_PACK32, CULV_TEXELS_NORMALIZED, 4, true},
                {CULV_FORMAT_B8G8R8A8_UNORM, CULV_TEXELS_NORMALIZED, 4, false}};
    need_twin(w);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int again = 0; again < 2; again++) {
            const uint64_t calls =
                CALLS(w, LIB_OK(culv_check_format(w->device, rows[i].format, rows[i].texels)));
            REQUIRE_EQ(calls > 0, rows[i].asks && !again);
            REQUIRE_EQ(arrays_of(w), rows[i].arrays);
        }
    lib_close_culvert(w);
    REQUIRE_EQ(arrays_of(w), 0);
}

/* A question does not wait for work that waits for the one who asks. */
LIB_CASE(asked_beside_waiting_work)
{
    VkSemaphore timeline = lib_case_timeline(w, 0);
    OWN(culv_semaphore) *semaphore = lib_import_timeline(w, timeline);
    CUstream stream = lib_case_stream(w);
    LIB_OK(culv_semaphore_wait(semaphore, stream, 1));
    LIB_OK(CHECK(BC7_UNORM_BLOCK, STORED));
    LIB_OK(CHECK(R16G16_SNORM, NORMALIZED));
    REQUIRE_EQ(lib_query(w, stream), CUDA_ERROR_NOT_READY);
    raw_vk_timeline_signal(&w->vk, timeline, 1);
    lib_finish(w, stream);
}

LIB_VULKAN_CASE(older_driver)
{
    need_twin(w);
    w->cu->SoftPlayVersion(12040);
    lib_open_culvert(w);
    LIB_OK(CHECK(BC1_RGBA_UNORM_BLOCK, STORED));
    LIB_OK(CHECK(G8_B8R8_2PLANE_420_UNORM, STORED));
    for (int turn = 0; turn < 2; turn++) { /* asked, then remembered */
        LIB_OK(CHECK(G10X6_B10X6R10X6_2PLANE_420_UNORM_3PACK16, STORED)); /* its planes are older */
        LIB_ERROR(CHECK(G10X6B10X6G10X6R10X6_422_UNORM_4PACK16, STORED), UNSUPPORTED, FORMAT,
                  "12.4", "12.5");
        LIB_ERROR(CHECK(A2B10G10R10_UNORM_PACK32, NORMALIZED), UNSUPPORTED, FORMAT, "12.8");
        LIB_OK(CHECK(A2B10G10R10_UNORM_PACK32, STORED));
        w->cu->SoftPlayVersion(0); /* the answers are of the device, not asked again */
    }
    lib_close_culvert(w);
    lib_open_culvert(w); /* another device, asked anew */
    LIB_OK(CHECK(G10X6B10X6G10X6R10X6_422_UNORM_4PACK16, STORED));
}

/* The n-th driver call of a question fails: an error, nothing left behind, and the next question is
 * asked again. Two answers mean that the driver has no such arrays, and are kept: of a video format
 * after two, for a driver that has it for encoding and decoding alone has it. */
LIB_VULKAN_CASE(failures)
{
    static const struct {
        culv_format format;
        CUresult code;
        culv_result result; /* where the first array is refused */
    } rows[] = {
        {CULV_FORMAT_BC3_UNORM_BLOCK, CUDA_ERROR_OUT_OF_MEMORY, CULV_ERROR_OUT_OF_MEMORY},
        {CULV_FORMAT_BC3_UNORM_BLOCK, CUDA_ERROR_UNKNOWN, CULV_ERROR_DRIVER},
        {CULV_FORMAT_BC3_UNORM_BLOCK, CUDA_ERROR_ILLEGAL_ADDRESS, CULV_ERROR_ASYNC},
        {CULV_FORMAT_BC3_UNORM_BLOCK, CUDA_ERROR_INVALID_VALUE, CULV_ERROR_UNSUPPORTED},
        {CULV_FORMAT_BC3_UNORM_BLOCK, CUDA_ERROR_NOT_SUPPORTED, CULV_ERROR_UNSUPPORTED},
        {CULV_FORMAT_G10X6B10X6G10X6R10X6_422_UNORM_4PACK16, CUDA_ERROR_INVALID_VALUE, CULV_OK}};
    need_twin(w);
    for (size_t c = 0; c < sizeof rows / sizeof rows[0]; c++) {
        unsigned arrays = 0;
        for (uint64_t n = 1;; n++) {
            REQUIRE(n < 50);
            lib_open_culvert(w);
            w->cu->SoftFailAt(n, (int)rows[c].code);
            culv_result result = culv_check_format(w->device, rows[c].format, CULV_TEXELS_STORED);
            const char *failed = w->cu->SoftFailedCall();
            w->cu->SoftFailAt(0, 0);
            if (failed != NULL && strncmp(failed, "cuArray3DCreate", 15) == 0) {
                REQUIRE_EQ(result, arrays == 0 ? rows[c].result : CULV_ERROR_UNSUPPORTED);
                arrays++;
            } else
                REQUIRE(result != CULV_ERROR_UNSUPPORTED);
            REQUIRE_EQ(culv_check_format(w->device, rows[c].format, CULV_TEXELS_STORED),
                       result == CULV_ERROR_UNSUPPORTED ? result : CULV_OK);
            lib_close_culvert(w);
            REQUIRE_EQ(arrays_of(w), 0);
            if (failed == NULL) break;
        }
        REQUIRE(arrays > 0);
    }
}

LIB_CASE(support_bad_arguments, .title = "support.bad_arguments")
{
    LIB_INVALID(culv_check_format(w->device, CULV_FORMAT_R8_UNORM, (culv_texels)2), VALUE);
    LIB_INVALID(culv_check_format(w->device, CULV_FORMAT_R8_UNORM, (culv_texels)-1), VALUE);
    LIB_ERROR(CHECK(NONE, STORED), UNSUPPORTED, FORMAT);
    LIB_ERROR(culv_check_format(w->device, (culv_format)4711, CULV_TEXELS_STORED), UNSUPPORTED,
              FORMAT, "4711");
    LIB_ERROR(CHECK(R8G8B8_UNORM, STORED), UNSUPPORTED, FORMAT, "never 3");
    LIB_ERROR(CHECK(R8G8B8A8_SRGB, NORMALIZED), UNSUPPORTED, FORMAT, "CULV_TEXELS_STORED");
}
