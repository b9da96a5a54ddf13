/* SPDX-License-Identifier: MIT */
/* culv_image_get_texture(): what is made once and kept, what is refused, and samplers as texture
 * settings. What textures read is tested with the formats, and in textures_ranges.c. */
#define TEST_GROUP "textures."
#include "image_stage.h"

#include <float.h>
#include <math.h>

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
    d.border_color[2] = 8;
    LIB_OK(culv_image_get_texture(i.cuda, &d, &again));
    REQUIRE(again != other && again != first);
    d = culv_texture_desc_init();
    d.filter = d.mip_filter = CULV_TEXTURE_FILTER_LINEAR;
    d.base_level = 1;
    d.level_count = 2;
    LIB_OK(culv_image_get_texture(i.cuda, &d, &other));
    d.base_level = 3;
    d.level_count = 0;
    d.unnormalized_coordinates = 1;
    d.address[2] = CULV_TEXTURE_ADDRESS_WRAP; /* of an axis that a 2D image has not */
    LIB_OK(culv_image_get_texture(i.cuda, &d, &other));
    d.address[2] = CULV_TEXTURE_ADDRESS_CLAMP;
    LIB_OK(culv_image_get_texture(i.cuda, &d, &again));
    REQUIRE_EQ(again, other);
    shared_image_close(s, &i);
    lib_settle(&s->w);
}

static void refuse(culv_image *image, const culv_texture_desc *d, culv_reason reason,
                   const char *says)
{
    CUtexObject texture = 77;
    LIB_FAILS(culv_image_get_texture(image, d, &texture), CULV_ERROR_INVALID, reason);
    REQUIRE_EQ(texture, 77);
    LIB_SAYS(says);
}

IMAGE_CASE(refused)
{
    shared_image i, integers;
    shared_image_open(s, CULVERTS, VK_FORMAT_R8G8B8A8_UNORM, 64, 64, 4, 0, &i);
    shared_image_open(s, CULVERTS, VK_FORMAT_R32_UINT, 64, 64, 2, 0, &integers);
#define WITH(field, value, why, says)                                                              \
    do {                                                                                           \
        culv_texture_desc d = culv_texture_desc_init();                                            \
        d.field = value;                                                                           \
        refuse(i.cuda, &d, CULV_REASON_##why, says);                                               \
    } while (0)
    WITH(base_level, 4, LEVEL, "levels");
    WITH(base_level, UINT32_MAX, LEVEL, "levels");
    WITH(level_count, 5, LEVEL, "levels");
    WITH(level_count, UINT32_MAX, LEVEL, "levels");
    WITH(base_layer, 1, LEVEL, "layers");
    WITH(layer_count, 2, LEVEL, "layers");
    WITH(plane, 1, LEVEL, "plane");
    WITH(address[1], (culv_texture_address)4, VALUE, "address");
    WITH(filter, (culv_texture_filter)2, VALUE, "filter");
    WITH(mip_filter, (culv_texture_filter)-1, VALUE, "filter");
    WITH(read, (culv_texture_read)2, VALUE, "read");
    WITH(max_anisotropy, 17, VALUE, "max_anisotropy");
    WITH(unnormalized_coordinates, 1, VALUE, "unnormalized_coordinates"); /* four levels */
#undef WITH
    culv_texture_desc d = culv_texture_desc_init();
    d.clamp_lod = 1;
    d.min_lod = 2;
    d.max_lod = 1;
    refuse(i.cuda, &d, CULV_REASON_VALUE, "min_lod");
    d.min_lod = -1;
    refuse(i.cuda, &d, CULV_REASON_VALUE, "min_lod");
    d.min_lod = NAN;
    refuse(i.cuda, &d, CULV_REASON_VALUE, "min_lod");
    d = culv_texture_desc_init();
    d.level_count = 1;
    d.unnormalized_coordinates = 1;
    d.address[1] = CULV_TEXTURE_ADDRESS_MIRROR;
    refuse(i.cuda, &d, CULV_REASON_VALUE, "unnormalized_coordinates");
    d.address[1] = CULV_TEXTURE_ADDRESS_BORDER;
    refuse(i.cuda, &d, CULV_REASON_VALUE, "unnormalized_coordinates");
    d = culv_texture_desc_init();
    d.mip_bias = NAN;
    refuse(i.cuda, &d, CULV_REASON_VALUE, "mip_bias");
    d = culv_texture_desc_init();
    d.address[0] = CULV_TEXTURE_ADDRESS_BORDER;
    d.border_color[3] = 1;
    refuse(integers.cuda, &d, CULV_REASON_VALUE, "border_color");
    d = culv_texture_desc_init();
    d.filter = CULV_TEXTURE_FILTER_LINEAR;
    d.read = CULV_TEXTURE_READ_STORED;
    refuse(i.cuda, &d, CULV_REASON_VALUE, "integers");
    d.read = CULV_TEXTURE_READ_AS_GRAPHICS;
    refuse(integers.cuda, &d, CULV_REASON_VALUE, "integers");
    d.struct_size = 0;
    refuse(i.cuda, &d, CULV_REASON_STRUCT_SIZE, "culv_texture_desc");
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
