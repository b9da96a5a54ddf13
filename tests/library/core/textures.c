/* SPDX-License-Identifier: MIT */
/* culv_image_get_texture(): what is made once and kept, what is refused, and samplers as texture
 * settings. What they read of each format, of levels and layers is tested with the formats. */
#define TEST_GROUP "textures."
#include "image_stage.h"

#include <float.h>
#include <math.h>

enum { CUBES = VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT };

typedef struct kind {
    VkImageType type;
    VkExtent3D extent;
    uint32_t layers;
    VkImageCreateFlags flags;
    uint32_t levels;
} kind;

static VkImageCreateInfo kind_info(const kind *k, VkFormat format)
{
    VkImageCreateInfo info = image_info(format, k->extent.width, k->extent.height, k->levels,
                                        VK_IMAGE_USAGE_SAMPLED_BIT, NULL);
    info.flags = k->flags;
    info.imageType = k->type;
    info.extent = k->extent;
    info.arrayLayers = k->layers;
    return info;
}

/* NULL: there is no such image here. */
static culv_shared_image *make(stage *s, const VkImageCreateInfo *info, culv_texels texels)
{
    culv_shared_image *image = NULL;
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    d.create_info = info;
    d.texels = texels;
    culv_result result = culv_vk_image_create(s->w.attachment, &d, &image);
    if (result == CULV_ERROR_UNSUPPORTED) {
        printf("  no such image here: %s\n", culv_last_error_message());
        return NULL;
    }
    LIB_OK(result);
    const shared_image its = {.image = culv_vk_image_handle(image)};
    image_first_release(s, &its, 0, false);
    return image;
}

/* Equal settings are one object, whatever was said of what does not apply. */
IMAGE_CASE(kept)
{
    shared_image i;
    CUtexObject first = 0, again = 0, other = 0;
    shared_image_open(s, CULVERTS, VK_FORMAT_R8G8B8A8_UNORM, 64, 32, 4, 0, &i);
    LIB_OK(culv_image_get_texture(i.cuda, NULL, &first));
    REQUIRE(first != 0);
    culv_texture_desc d = culv_texture_desc_init();
    LIB_OK(culv_image_get_texture(i.cuda, &d, &again));
    REQUIRE_EQ(first, again);
    d.level_count = 4; /* the default, said */
    d.border_color[2] = 7;
    d.max_lod = 3; /* clamp_lod is not set */
    LIB_OK(culv_image_get_texture(i.cuda, &d, &again));
    REQUIRE_EQ(first, again);
    d.address[0] = CULV_TEXTURE_ADDRESS_BORDER;
    LIB_OK(culv_image_get_texture(i.cuda, &d, &other));
    REQUIRE(other != first);
    d = culv_texture_desc_init();
    d.base_level = 3;
    d.unnormalized_coordinates = 1;
    d.address[2] = CULV_TEXTURE_ADDRESS_WRAP; /* of an axis that a 2D image has not */
    LIB_OK(culv_image_get_texture(i.cuda, &d, &other));
    d.address[2] = CULV_TEXTURE_ADDRESS_CLAMP;
    LIB_OK(culv_image_get_texture(i.cuda, &d, &again));
    REQUIRE_EQ(again, other);
    shared_image_close(s, &i);
}

static void refuse(culv_image *image, const culv_texture_desc *d, culv_reason reason,
                   const char *says)
{
    CUtexObject texture = 77;
    LIB_FAILS(culv_image_get_texture(image, d, &texture), CULV_ERROR_INVALID, reason, says);
    REQUIRE_EQ(texture, 77);
}

IMAGE_CASE(refused)
{
    shared_image i, integers;
    shared_image_open(s, CULVERTS, VK_FORMAT_R8G8B8A8_UNORM, 64, 64, 4, 0, &i);
    shared_image_open(s, CULVERTS, VK_FORMAT_R32_UINT, 64, 64, 2, 0, &integers);
    culv_texture_desc d = culv_texture_desc_init();
#define OF(image, change, why, says)                                                               \
    SPOILT(d, change, refuse((image).cuda, &d, CULV_REASON_##why, says))
#define ROW(change, why, says) OF(i, d.change, why, says)
    ROW(base_level = 4, LEVEL, "levels");
    ROW(base_level = UINT32_MAX, LEVEL, "levels");
    ROW(level_count = 5, LEVEL, "levels");
    ROW(level_count = UINT32_MAX, LEVEL, "levels");
    ROW(base_layer = 1, LEVEL, "layers");
    ROW(layer_count = 2, LEVEL, "layers");
    ROW(plane = 1, LEVEL, "plane");
    ROW(address[1] = (culv_texture_address)4, VALUE, "address");
    ROW(filter = (culv_texture_filter)2, VALUE, "filter");
    ROW(mip_filter = (culv_texture_filter)-1, VALUE, "filter");
    ROW(read = (culv_texture_read)2, VALUE, "read");
    ROW(max_anisotropy = 17, VALUE, "max_anisotropy");
    ROW(unnormalized_coordinates = 1, VALUE, "unnormalized_coordinates"); /* four levels */
    ROW(mip_bias = NAN, VALUE, "mip_bias");
    ROW(struct_size = 0, STRUCT_SIZE, "culv_texture_desc");
    static const float least[] = {2, -1, NAN};
    for (size_t n = 0; n < 3; n++)
        OF(i, (d.clamp_lod = 1, d.min_lod = least[n], d.max_lod = 1), VALUE, "min_lod");
    static const culv_texture_address far[] = {CULV_TEXTURE_ADDRESS_MIRROR,
                                               CULV_TEXTURE_ADDRESS_BORDER};
    for (size_t n = 0; n < 2; n++)
        OF(i, (d.level_count = 1, d.unnormalized_coordinates = 1, d.address[1] = far[n]), VALUE,
           "unnormalized_coordinates");
    OF(integers, (d.address[0] = CULV_TEXTURE_ADDRESS_BORDER, d.border_color[3] = 1), VALUE,
       "border_color");
    d.filter = CULV_TEXTURE_FILTER_LINEAR;
    OF(i, d.read = CULV_TEXTURE_READ_STORED, VALUE, "integers");
    OF(integers, d.read = CULV_TEXTURE_READ_AS_GRAPHICS, VALUE, "integers");
#undef ROW
#undef OF
    shared_image_close(s, &integers);
    shared_image_close(s, &i);
}

/* Samplers ------------------------------------------------------------------------------------- */

static VkSamplerCreateInfo plain(void)
{
    return (VkSamplerCreateInfo){.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
                                 .magFilter = VK_FILTER_LINEAR,
                                 .minFilter = VK_FILTER_LINEAR,
                                 .mipmapMode = VK_SAMPLER_MIPMAP_MODE_LINEAR,
                                 .addressModeU = VK_SAMPLER_ADDRESS_MODE_REPEAT,
                                 .addressModeV = VK_SAMPLER_ADDRESS_MODE_MIRRORED_REPEAT,
                                 .addressModeW = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
                                 .mipLodBias = 0.5f,
                                 .anisotropyEnable = VK_TRUE,
                                 .maxAnisotropy = 8,
                                 .minLod = 1,
                                 .maxLod = VK_LOD_CLAMP_NONE};
}

TEST(sampler_corresponds, .title = "samplers.correspond")
{
    VkSamplerCreateInfo info = plain();
    culv_texture_desc d = culv_texture_desc_init();
    uint32_t differences = 99;
    d.base_level = 2;
    d.layer_count = 3;
    LIB_OK(culv_vk_texture_desc_from_sampler(&info, &d, &differences));
    REQUIRE_EQ(differences, 0);
    REQUIRE(d.address[0] == CULV_TEXTURE_ADDRESS_WRAP &&
            d.address[1] == CULV_TEXTURE_ADDRESS_MIRROR &&
            d.address[2] == CULV_TEXTURE_ADDRESS_CLAMP);
    REQUIRE(d.filter == CULV_TEXTURE_FILTER_LINEAR && d.mip_filter == CULV_TEXTURE_FILTER_LINEAR);
    REQUIRE(d.mip_bias == 0.5f && d.clamp_lod && d.min_lod == 1 && d.max_lod == VK_LOD_CLAMP_NONE);
    REQUIRE_EQ(d.max_anisotropy, 8);
    REQUIRE(d.base_level == 2 && d.layer_count == 3); /* the view's, as they were */
    info.minLod = -1000;                              /* "no limit" of other APIs */
    info.maxLod = -1;
    LIB_OK(culv_vk_texture_desc_from_sampler(&info, &d, &differences));
    REQUIRE(differences == 0 && d.min_lod == 0 && d.max_lod == 0);
    info.addressModeU = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER;
    info.borderColor = VK_BORDER_COLOR_FLOAT_OPAQUE_WHITE;
    LIB_OK(culv_vk_texture_desc_from_sampler(&info, &d, NULL));
    REQUIRE(d.border_color[0] == 1 && d.border_color[3] == 1);
    VkSamplerCustomBorderColorCreateInfoEXT custom = {
        .sType = VK_STRUCTURE_TYPE_SAMPLER_CUSTOM_BORDER_COLOR_CREATE_INFO_EXT,
        .customBorderColor.float32 = {0.25f, 0.5f, 0.75f, 1}};
    info.borderColor = VK_BORDER_COLOR_FLOAT_CUSTOM_EXT;
    info.pNext = &custom;
    LIB_OK(culv_vk_texture_desc_from_sampler(&info, &d, &differences));
    REQUIRE_EQ(differences, 0);
    REQUIRE(d.border_color[1] == 0.5f);
}

TEST(sampler_differs, .title = "samplers.differ")
{
    const VkSamplerReductionModeCreateInfo most = {
        .sType = VK_STRUCTURE_TYPE_SAMPLER_REDUCTION_MODE_CREATE_INFO,
        .reductionMode = VK_SAMPLER_REDUCTION_MODE_MAX};
    const VkSamplerYcbcrConversionInfo ycbcr = {
        .sType = VK_STRUCTURE_TYPE_SAMPLER_YCBCR_CONVERSION_INFO};
    const VkBaseInStructure unknown = {.sType = (VkStructureType)1234567890};
#define DIFFERS(bit, ...)                                                                          \
    do {                                                                                           \
        VkSamplerCreateInfo info = plain();                                                        \
        culv_texture_desc d = culv_texture_desc_init();                                            \
        uint32_t differences = 0;                                                                  \
        __VA_ARGS__;                                                                               \
        LIB_OK(culv_vk_texture_desc_from_sampler(&info, &d, &differences));                        \
        REQUIRE_EQ(differences, CULV_VK_SAMPLER_##bit);                                            \
    } while (0)
    DIFFERS(MAG_FILTER, info.magFilter = VK_FILTER_NEAREST);
    DIFFERS(CUBIC_FILTER, info.magFilter = info.minFilter = VK_FILTER_CUBIC_EXT);
    DIFFERS(MIRROR_CLAMP, info.addressModeW = VK_SAMPLER_ADDRESS_MODE_MIRROR_CLAMP_TO_EDGE);
    DIFFERS(COMPARE, info.compareEnable = VK_TRUE);
    DIFFERS(BORDER_INTEGER, info.addressModeV = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER;
            info.borderColor = VK_BORDER_COLOR_INT_OPAQUE_BLACK);
    DIFFERS(BORDER_CUSTOM, info.addressModeV = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER;
            info.borderColor = VK_BORDER_COLOR_FLOAT_CUSTOM_EXT);
    DIFFERS(REDUCTION, info.pNext = &most);
    DIFFERS(YCBCR, info.pNext = &ycbcr);
    DIFFERS(ANISOTROPY, info.maxAnisotropy = 2.5f);
    DIFFERS(ANISOTROPY, info.maxAnisotropy = 1e10f);
    DIFFERS(ANISOTROPY, info.maxAnisotropy = NAN);
    DIFFERS(SUBSAMPLED, info.flags = VK_SAMPLER_CREATE_SUBSAMPLED_BIT_EXT);
    DIFFERS(CUBE_SEAMS, info.flags = VK_SAMPLER_CREATE_NON_SEAMLESS_CUBE_MAP_BIT_EXT);
    DIFFERS(UNNORMALIZED_BORDER, info.unnormalizedCoordinates = VK_TRUE;
            info.minLod = info.maxLod = 0;
            info.addressModeU = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER;
            info.addressModeV = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE;
            info.borderColor = VK_BORDER_COLOR_FLOAT_OPAQUE_BLACK);
    DIFFERS(FLAGS, info.pNext = &unknown);
    DIFFERS(FLAGS, info.flags = 0x40000000);
#undef DIFFERS
}

TEST(sampler_refused, .title = "samplers.refused")
{
    culv_texture_desc d = culv_texture_desc_init();
    uint32_t differences = 5;
#define WITH(field, value)                                                                         \
    do {                                                                                           \
        VkSamplerCreateInfo info = plain();                                                        \
        info.field = value;                                                                        \
        LIB_INVALID(culv_vk_texture_desc_from_sampler(&info, &d, &differences), VALUE, #field);    \
    } while (0)
    WITH(sType, VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO);
    WITH(addressModeU, (VkSamplerAddressMode)5);
    WITH(addressModeV, (VkSamplerAddressMode)-1);
    WITH(addressModeW, (VkSamplerAddressMode)99);
    WITH(magFilter, (VkFilter)2);
    WITH(minFilter, (VkFilter)7);
    WITH(mipmapMode, (VkSamplerMipmapMode)2);
    WITH(minLod, NAN);
    WITH(minLod, FLT_MAX);
#undef WITH
    VkSamplerCreateInfo info = plain();
    info.addressModeU = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER;
    info.borderColor = (VkBorderColor)6;
    LIB_INVALID(culv_vk_texture_desc_from_sampler(&info, &d, NULL), VALUE);
    const culv_texture_desc untouched = culv_texture_desc_init();
    REQUIRE_EQ_BYTES(&d, &untouched, sizeof d);
    REQUIRE_EQ(differences, 5);
}

/* Levels 1 and 2, layers 1 and 2. */
static const kind some_layers = {VK_IMAGE_TYPE_2D, {16, 8, 1}, 3, 0, 3};

static culv_texture_desc some_of_it(void)
{
    culv_texture_desc d = culv_texture_desc_init();
    d.base_level = d.base_layer = 1;
    d.level_count = d.layer_count = 2;
    return d;
}

static void refuse_range(culv_image *image, const culv_texture_desc *d, const char *says)
{
    CUtexObject texture = 77;
    LIB_ERROR(culv_image_get_texture(image, d, &texture), UNSUPPORTED, LEVEL, says);
    REQUIRE_EQ(texture, 77);
}

/* What cuda.h has no words for, or no views. */
IMAGE_CASE(ranges_refused)
{
    static const kind cubes = {VK_IMAGE_TYPE_2D, {16, 16, 1}, 12, CUBES, 3};
    culv_texture_desc d = culv_texture_desc_init();
    VkImageCreateInfo info = kind_info(&cubes, VK_FORMAT_R8G8B8A8_UNORM);
    culv_shared_image *image = make(s, &info, CULV_TEXELS_STORED);
    d.layer_count = 6;
    if (image != NULL) refuse_range(culv_shared_image_cuda(image), &d, "cubes");
    culv_shared_image_destroy(&image, NULL);
    info = kind_info(&some_layers, VK_FORMAT_BC1_RGBA_UNORM_BLOCK);
    image = make(s, &info, CULV_TEXELS_STORED);
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
    image = make(s, &info, CULV_TEXELS_STORED);
    REQUIRE(image != NULL);
    d = culv_texture_desc_init();
    d.unnormalized_coordinates = 1;
    for (d.level_count = 1; d.layer_count < 3; d.layer_count++) /* all, and some */
        refuse_range(culv_shared_image_cuda(image), &d, "unnormalized_coordinates");
    culv_shared_image_destroy(&image, NULL);
    info.mipLevels = 1;
    image = make(s, &info, CULV_TEXELS_STORED);
    d.layer_count = 0;
    LIB_OK(culv_image_get_texture(culv_shared_image_cuda(image), &d, &texels));
    culv_shared_image_destroy(&image, NULL);

    /* CUDA's normalized arrays: one level, or those from 0 on. */
    static const VkFormat normalized[] = {VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_R16G16_SNORM,
                                          VK_FORMAT_A2B10G10R10_UNORM_PACK32};
    for (size_t i = 0; i < sizeof normalized / sizeof normalized[0]; i++) {
        CUtexObject texture = 0;
        info = kind_info(&some_layers, normalized[i]);
        image = make(s, &info, CULV_TEXELS_NORMALIZED);
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
}

#undef TEST_GROUP
#define TEST_GROUP ""
/* culv_image_get_texture(): what each setting is to CUDA, that none is left out of what kept
 * textures are found by, and what reads by some of them return. */

#define WRAPS   CULV_TEXTURE_ADDRESS_WRAP
#define MIRRORS CULV_TEXTURE_ADDRESS_MIRROR
#define BORDERS CULV_TEXTURE_ADDRESS_BORDER
#define LINEAR  CULV_TEXTURE_FILTER_LINEAR
#define STORED  CULV_TEXTURE_READ_STORED
#define INTEGER CU_TRSF_READ_AS_INTEGER
#define RATIOS  CU_TRSF_NORMALIZED_COORDINATES

typedef struct row {
    const char *what;
    culv_texture_desc asked;
    CUDA_TEXTURE_DESC told;
} row;

// clang-format off
#define ALL_LEVELS .maxMipmapLevelClamp = 3, .flags = RATIOS
#define MODES(x, y, z)                                                                             \
    .addressMode = {CU_TR_ADDRESS_MODE_##x, CU_TR_ADDRESS_MODE_##y, CU_TR_ADDRESS_MODE_##z}

#define CLAMPED MODES(CLAMP, CLAMP, CLAMP)

#define ADDRESS(x, y, z)                                                                           \
    {"address " #x " " #y " " #z,                                                                  \
     {.address = {CULV_TEXTURE_ADDRESS_##x, CULV_TEXTURE_ADDRESS_##y, CULV_TEXTURE_ADDRESS_##z}},  \
     {MODES(x, y, z), ALL_LEVELS}}

#define COLOR(r, g, b, a)                                                                          \
    {"border color " #r " " #g " " #b " " #a,                                                      \
     {.address = {BORDERS}, .border_color = {r, g, b, a}},                                         \
     {MODES(BORDER, CLAMP, CLAMP), .borderColor = {r, g, b, a}, ALL_LEVELS}}

// clang-format on

/* Of a 3D image of RGBA8 with four levels; one is unlike every other one. */
static const row rows[] = {
    {"nothing", {.clamp_lod = 0}, {CLAMPED, ALL_LEVELS}},
    ADDRESS(WRAP, CLAMP, CLAMP),
    ADDRESS(CLAMP, WRAP, CLAMP),
    ADDRESS(CLAMP, CLAMP, WRAP),
    ADDRESS(MIRROR, CLAMP, CLAMP),
    ADDRESS(CLAMP, MIRROR, CLAMP),
    ADDRESS(CLAMP, CLAMP, MIRROR),
    ADDRESS(BORDER, CLAMP, CLAMP),
    ADDRESS(CLAMP, BORDER, CLAMP),
    ADDRESS(CLAMP, CLAMP, BORDER),
    COLOR(0.5f, 0, 0, 0),
    COLOR(0, 0.5f, 0, 0),
    COLOR(0, 0, 0.5f, 0),
    COLOR(0, 0, 0, 0.5f),
    {"linear", {.filter = LINEAR}, {CLAMPED, .filterMode = CU_TR_FILTER_MODE_LINEAR, ALL_LEVELS}},
    {"linear between levels",
     {.mip_filter = LINEAR},
     {CLAMPED, .mipmapFilterMode = CU_TR_FILTER_MODE_LINEAR, ALL_LEVELS}},
    {"as it is stored",
     {.read = STORED},
     {CLAMPED, .maxMipmapLevelClamp = 3, .flags = RATIOS | INTEGER}},
    {"bias", {.mip_bias = 0.5f}, {CLAMPED, .mipmapLevelBias = 0.5f, ALL_LEVELS}},
    {"bias downwards", {.mip_bias = -2}, {CLAMPED, .mipmapLevelBias = -2, ALL_LEVELS}},
    {"anisotropy 1", {.max_anisotropy = 1}, {CLAMPED, .maxAnisotropy = 1, ALL_LEVELS}},
    {"anisotropy 16", {.max_anisotropy = 16}, {CLAMPED, .maxAnisotropy = 16, ALL_LEVELS}},
    {"level 0 alone by its limits", {.clamp_lod = 1}, {CLAMPED, .flags = RATIOS}},
    {"levels up to 2",
     {.clamp_lod = 1, .max_lod = 2},
     {CLAMPED, .maxMipmapLevelClamp = 2, .flags = RATIOS}},
    {"levels 0.5 to 2",
     {.clamp_lod = 1, .min_lod = 0.5f, .max_lod = 2},
     {CLAMPED, .minMipmapLevelClamp = 0.5f, .maxMipmapLevelClamp = 2, .flags = RATIOS}},
    {"levels 0.5 to 1.75",
     {.clamp_lod = 1, .min_lod = 0.5f, .max_lod = 1.75f},
     {CLAMPED, .minMipmapLevelClamp = 0.5f, .maxMipmapLevelClamp = 1.75f, .flags = RATIOS}},
    {"levels from 1 on, without a limit",
     {.clamp_lod = 1, .min_lod = 1, .max_lod = 1000},
     {CLAMPED, .minMipmapLevelClamp = 1, ALL_LEVELS}},
    {"levels that are not there",
     {.clamp_lod = 1, .min_lod = 5, .max_lod = 9},
     {CLAMPED, .minMipmapLevelClamp = 3, ALL_LEVELS}},
    {"the first level", {.level_count = 1}, {CLAMPED, .flags = RATIOS}},
    {"the first two", {.level_count = 2}, {CLAMPED, .maxMipmapLevelClamp = 1, .flags = RATIOS}},
    {"the first three", {.level_count = 3}, {CLAMPED, .maxMipmapLevelClamp = 2, .flags = RATIOS}},
    {"the second level", {.base_level = 1, .level_count = 1}, {CLAMPED, .flags = RATIOS}},
    {"the last level", {.base_level = 3, .level_count = 1}, {CLAMPED, .flags = RATIOS}},
    {"the second and third",
     {.base_level = 1, .level_count = 2},
     {CLAMPED, .maxMipmapLevelClamp = 1, .flags = RATIOS}},
    {"the third and fourth",
     {.base_level = 2, .level_count = 2},
     {CLAMPED, .maxMipmapLevelClamp = 1, .flags = RATIOS}},
    {"by texels", {.level_count = 1, .unnormalized_coordinates = 1}, {CLAMPED}},
};

/* Cubes; and what is filtered at their seams. */
static const row cube_rows[] = {
    {"a cube",
     {.clamp_lod = 0},
     {CLAMPED, .maxMipmapLevelClamp = 1, .flags = RATIOS | CU_TRSF_SEAMLESS_CUBEMAP}},
    {"a cube with seams",
     {.no_seamless_cube = 1},
     {CLAMPED, .maxMipmapLevelClamp = 1, .flags = RATIOS}},
};

/* sRGB: what is decoded is not what is stored. */
static const row srgb_rows[] = {
    {"sRGB", {.clamp_lod = 0}, {CLAMPED, .flags = RATIOS | CU_TRSF_SRGB}},
    {"sRGB, stored", {.read = STORED}, {CLAMPED, .flags = RATIOS | INTEGER}},
};

/* Layers: which of them no CUDA_TEXTURE_DESC tells. */
static const row layer_rows[] = {
    {"all layers", {.clamp_lod = 0}, {CLAMPED, .flags = RATIOS}},
    {"the first", {.layer_count = 1}, {CLAMPED, .flags = RATIOS}},
    {"the first two", {.layer_count = 2}, {CLAMPED, .flags = RATIOS}},
    {"the second", {.base_layer = 1, .layer_count = 1}, {CLAMPED, .flags = RATIOS}},
    {"the last two", {.base_layer = 1}, {CLAMPED, .flags = RATIOS}},
};

static bool same_settings(const CUDA_TEXTURE_DESC *a, const CUDA_TEXTURE_DESC *b)
{
    bool same = a->filterMode == b->filterMode && a->flags == b->flags &&
                a->maxAnisotropy == b->maxAnisotropy &&
                a->mipmapFilterMode == b->mipmapFilterMode &&
                a->mipmapLevelBias == b->mipmapLevelBias &&
                a->minMipmapLevelClamp == b->minMipmapLevelClamp &&
                a->maxMipmapLevelClamp == b->maxMipmapLevelClamp;
    for (int i = 0; i < 3; i++)
        same = same && a->addressMode[i] == b->addressMode[i];
    for (int i = 0; i < 4; i++)
        same = same && a->borderColor[i] == b->borderColor[i];
    return same;
}

/* As the driver tells of a texture that was made of the same with the row's settings. */
static void require_told(const stage *s, const row *r, CUtexObject texture)
{
    const raw_cuda *cu = s->w.cu;
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC found, wanted;
    CUtexObject raw = 0;
    /* No driver tells borderColor: settings_read reads it by a kernel. */
    memset(&found, 0x55, sizeof found);
    memset(&wanted, 0x55, sizeof wanted);
    CUcontext before = lib_enter(&s->w);
    CU_OK(cu->TexObjectGetTextureDesc(&found, texture));
    CU_OK(cu->TexObjectGetResourceDesc(&resource, texture));
    CU_OK(cu->TexObjectCreate(&raw, &resource, &r->told, NULL));
    CU_OK(cu->TexObjectGetTextureDesc(&wanted, raw));
    CU_OK(cu->TexObjectDestroy(raw));
    lib_leave(&s->w, before);
    CUDA_TEXTURE_DESC told = r->told;
    memcpy(told.borderColor, wanted.borderColor, sizeof told.borderColor);
    if (cu->software) REQUIRE(same_settings(&wanted, &told));
    if (!same_settings(&found, &wanted))
        FAIL("%s: modes %d %d %d, filters %d %d, flags %#x, anisotropy %u, bias %g, levels %g to "
             "%g, border %g %g %g %g",
             r->what, (int)found.addressMode[0], (int)found.addressMode[1],
             (int)found.addressMode[2], (int)found.filterMode, (int)found.mipmapFilterMode,
             found.flags, found.maxAnisotropy, (double)found.mipmapLevelBias,
             (double)found.minMipmapLevelClamp, (double)found.maxMipmapLevelClamp,
             (double)found.borderColor[0], (double)found.borderColor[1],
             (double)found.borderColor[2], (double)found.borderColor[3]);
}

/* Each is told as the row says, is another texture than those before, and is the same again. */
static void try_rows(stage *s, const kind *k, VkFormat format, const row *list, size_t count)
{
    enum { MOST = 64 };
    CUtexObject seen[MOST];
    const VkImageCreateInfo info = kind_info(k, format);
    OWN(culv_shared_image) *image = make(s, &info, CULV_TEXELS_STORED);
    if (image == NULL) return;
    REQUIRE(count <= MOST);
    for (int again = 0; again < 2; again++)
        for (size_t i = 0; i < count; i++) {
            CUtexObject texture = 0;
            culv_texture_desc d = list[i].asked;
            d.struct_size = sizeof d;
            LIB_OK(culv_image_get_texture(culv_shared_image_cuda(image), &d, &texture));
            require_told(s, &list[i], texture);
            if (again && texture != seen[i]) FAIL("%s: another texture", list[i].what);
            for (size_t j = 0; !again && j < i; j++)
                if (seen[j] == texture) FAIL("%s: the texture of '%s'", list[i].what, list[j].what);
            seen[i] = texture;
        }
}

IMAGE_CASE(told, .title = "textures.settings_told")
{
    static const kind box = {VK_IMAGE_TYPE_3D, {32, 16, 8}, 1, 0, 4},
                      flat = {VK_IMAGE_TYPE_2D, {16, 16, 1}, 1, 0, 1},
                      layers = {VK_IMAGE_TYPE_2D, {16, 16, 1}, 3, 0, 1},
                      cube = {VK_IMAGE_TYPE_2D, {16, 16, 1}, 6, CUBES, 2};
#define TRY(image, format, list) try_rows(s, &(image), format, list, sizeof(list) / sizeof(list)[0])
    TRY(box, VK_FORMAT_R8G8B8A8_UNORM, rows);
    TRY(cube, VK_FORMAT_R8G8B8A8_UNORM, cube_rows);
    TRY(flat, VK_FORMAT_R8G8B8A8_SRGB, srgb_rows);
    TRY(layers, VK_FORMAT_R8G8B8A8_UNORM, layer_rows);
#undef TRY
}

/* The colour of the border, which no driver tells: level 0 of an image of 8 x 4 floats, whose texel
 * (x, y) is 10 * y + x. */
IMAGE_CASE(border_read, .title = "textures.settings_read")
{
    enum { WIDTH = 8, HEIGHT = 4 };
    static const struct {
        culv_texture_desc d;
        float x, y, wanted;
    } places[] = {
        {{.address = {BORDERS}}, 10.5f, 1.5f, 0},
        {{.address = {BORDERS}, .border_color = {77}}, 10.5f, 1.5f, 77},
        {{.address = {BORDERS}, .border_color = {77}}, -0.5f, 1.5f, 77},
        {{.address = {BORDERS}, .border_color = {77}}, 2.5f, 5.5f, 32},
        {{.address = {0, BORDERS}, .border_color = {-5}}, 2.5f, 5.5f, -5},
        {{.address = {0, BORDERS}, .border_color = {-5}}, 2.5f, 1.5f, 12},
        {{.address = {BORDERS}, .border_color = {32}, .filter = LINEAR}, 8.0f, 1.5f, 24.5f},
        {{.address = {WRAPS}, .border_color = {32}, .filter = LINEAR}, 8.0f, 1.5f, 13.5f},
    };
    static const kind floats = {VK_IMAGE_TYPE_2D, {WIDTH, HEIGHT, 1}, 1, 0, 1};
    const raw_cuda *cu = s->w.cu;
    const VkImageCreateInfo info = kind_info(&floats, VK_FORMAT_R32_SFLOAT);
    OWN(culv_shared_image) *image = make(s, &info, CULV_TEXELS_STORED);
    REQUIRE(image != NULL);
    float texels[WIDTH * HEIGHT], found = -1;
    CUarray array = NULL;
    for (unsigned i = 0; i < WIDTH * HEIGHT; i++)
        texels[i] = (float)(10 * (i / WIDTH) + i % WIDTH);
    stage_cuda_begin(s);
    lib_finish(&s->w, s->stream);
    LIB_OK(culv_image_get_array(culv_shared_image_cuda(image), 0, 0, &array));
    CUcontext before = lib_enter(&s->w);
    CU_OK(raw_cuda_write_box(cu, array, texels, WIDTH * sizeof *texels, HEIGHT, 1));
    CUdeviceptr from = raw_cuda_memory(cu, 512), to = from + 256;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        const float at[3] = {places[i].x / WIDTH, places[i].y / HEIGHT, 0};
        culv_texture_desc d = places[i].d;
        CUtexObject texture = 0;
        int count = 1;
        void *params[] = {&texture, &from, &count, &to};
        d.struct_size = sizeof d;
        LIB_OK(culv_image_get_texture(culv_shared_image_cuda(image), &d, &texture));
        CU_OK(raw_cuda_upload(cu, from, at, sizeof at));
        CU_OK(cu->LaunchKernel(raw_cuda_function(cu, s->module, "library_sample"), 1, 1, 1, 1, 1, 1,
                               0, s->stream, params, NULL));
        CU_OK(cu->MemcpyDtoHAsync(&found, to, sizeof found, s->stream));
        CU_OK(cu->StreamSynchronize(s->stream));
        /* A filter's weights have eight bits behind the point (CUDA guide, "Texture Fetching"). */
        if (fabsf(found - places[i].wanted) > 0.05f)
            FAIL("row %zu: %g, not %g", i, (double)found, (double)places[i].wanted);
    }
    stage_cuda_end(s);
    lib_finish(&s->w, s->stream);
    test_settle();
    lib_leave(&s->w, before);
}
