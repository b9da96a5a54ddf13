/* SPDX-License-Identifier: MIT */
/* culv_image_map() and what is asked of an image, called wrongly. */
#define TEST_GROUP "maps."
#include "image_stage.h"

/* Without Vulkan's word for it: what the descriptor and the allocation contradict in. */
IMAGE_CASE(maps, .title = "maps.wrong_descriptors", .smoke = true)
{
    shared_image i, at;
    culv_image *mapped = NULL;
    shared_image_open(s, CALLERS_DEDICATED, VK_FORMAT_R32_SFLOAT, 64, 64, 7, 0, &i);
    shared_image_open(s, CALLERS_AT_OFFSET, VK_FORMAT_R32_SFLOAT, 64, 64, 7, 0, &at);
    const uint64_t size = at.caller.allocation_size, offset = at.caller.offset;
    const struct {
        uint64_t offset;
        uint32_t format, width, height, levels;
        culv_result result;
        culv_reason reason;
    } rows[] = {
        {offset, 0, 64, 64, 7, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT},
        {offset, 23, 64, 64, 7, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT}, /* three channels */
        {offset, 129, 64, 64, 7, CULV_ERROR_UNSUPPORTED,
         CULV_REASON_FORMAT}, /* D24_UNORM_S8_UINT */
        {offset, UINT32_MAX, 64, 64, 7, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT},
        {offset, 124, 8, 8, 1, CULV_ERROR_INVALID, CULV_REASON_DEDICATED}, /* D16_UNORM */
        {offset, 127, 8, 8, 1, CULV_ERROR_INVALID, CULV_REASON_DEDICATED}, /* S8_UINT */
        {offset, 100, 0, 64, 1, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {offset, 100, 64, 0, 1, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {offset, 100, UINT32_MAX, 1, 1, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {offset, 100, 1, UINT32_MAX, 1, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {offset, 100, UINT32_MAX, UINT32_MAX, 32, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {offset, 100, 64, 64, 8, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {offset, 100, 1, 1, 2, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {offset, 100, 64, 64, UINT32_MAX, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {size, 100, 64, 64, 7, CULV_ERROR_INVALID, CULV_REASON_RANGE},
        {size - 1, 100, 1, 1, 1, CULV_ERROR_INVALID, CULV_REASON_RANGE},
        {UINT64_MAX, 100, 64, 64, 7, CULV_ERROR_INVALID, CULV_REASON_RANGE},
        {UINT64_MAX - 3, 100, 1, 1, 1, CULV_ERROR_INVALID, CULV_REASON_RANGE},
        {offset, 100, 4096, 4096, 1, CULV_ERROR_INVALID, CULV_REASON_RANGE},
        {offset, 109, 65536, 65536, 1, CULV_ERROR_INVALID, CULV_REASON_RANGE},
    };
    for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++) {
        culv_image_desc d = culv_image_desc_init();
        d.offset = rows[n].offset;
        d.format = (culv_format)rows[n].format;
        d.width = rows[n].width;
        d.height = rows[n].height;
        d.mip_levels = rows[n].levels;
        LIB_REFUSES_AS(mapped, culv_image_map(at.memory, &d, &mapped), rows[n].result,
                       rows[n].reason);
    }
    culv_image_desc d = culv_image_desc_init();
    LIB_REFUSES(mapped, culv_image_map(at.memory, &d, &mapped), UNSUPPORTED,
                FORMAT); /* nothing said */
    d.format = CULV_FORMAT_R32_SFLOAT;
    d.width = d.height = 16;
    d.offset = 4096;
    LIB_REFUSES(mapped, culv_image_map(i.memory, &d, &mapped), INVALID, DEDICATED);
    LIB_REFUSES(mapped, culv_image_map(at.memory, NULL, &mapped), INVALID, NULL_ARGUMENT);
    LIB_INVALID(culv_image_map(at.memory, &d, NULL), NULL_ARGUMENT);
    culv_device_counts c = lib_counts(&s->w);
    REQUIRE_EQ(c.images, 2);
    REQUIRE_EQ(c.mappings, 2);
    shared_image_close(s, &at);
    shared_image_close(s, &i);
}

/* Kinds of image: what type, extent, layers and format contradict in. */
IMAGE_CASE(kinds, .title = "maps.wrong_kinds")
{
    shared_image at;
    culv_image *mapped = NULL;
    shared_image_open(s, CALLERS_AT_OFFSET, VK_FORMAT_R32_SFLOAT, 64, 64, 7, 0, &at);
    enum { FLOAT = CULV_FORMAT_R32_SFLOAT, NV12 = CULV_FORMAT_G8_B8R8_2PLANE_420_UNORM };
    const struct {
        uint32_t type, format, texels, width, height, depth, layers, levels, gather;
        culv_result result;
        culv_reason reason;
    } rows[] = {
        {4, FLOAT, 0, 8, 8, 1, 1, 1, 0, CULV_ERROR_INVALID, CULV_REASON_VALUE},
        {UINT32_MAX, FLOAT, 0, 8, 8, 1, 1, 1, 0, CULV_ERROR_INVALID, CULV_REASON_VALUE},
        {CULV_IMAGE_1D, FLOAT, 0, 8, 2, 1, 1, 1, 0, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {CULV_IMAGE_1D, FLOAT, 0, 8, 1, 2, 1, 1, 0, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {CULV_IMAGE_1D, FLOAT, 0, 8, 1, 1, 1, 5, 0, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {CULV_IMAGE_2D, FLOAT, 0, 8, 8, 2, 1, 1, 0, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {CULV_IMAGE_2D, FLOAT, 0, 8, 8, 1, 2049, 1, 0, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {CULV_IMAGE_2D, FLOAT, 0, 8, 8, 1, UINT32_MAX, 1, 0, CULV_ERROR_INVALID,
         CULV_REASON_EXTENT},
        {CULV_IMAGE_2D, FLOAT, 0, 8, 8, 1, 2, 1, 1, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {CULV_IMAGE_3D, FLOAT, 0, 8, 8, 0, 1, 1, 0, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {CULV_IMAGE_3D, FLOAT, 0, 8, 8, 8, 2, 1, 0, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {CULV_IMAGE_3D, FLOAT, 0, 8, 8, 8, 1, 5, 0, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {CULV_IMAGE_3D, FLOAT, 0, 8, 8, 16385, 1, 1, 0, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {CULV_IMAGE_3D, FLOAT, 0, 8, 8, 8, 1, 1, 1, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {CULV_IMAGE_CUBE, FLOAT, 0, 8, 4, 1, 6, 1, 0, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {CULV_IMAGE_CUBE, FLOAT, 0, 8, 8, 1, 5, 1, 0, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {CULV_IMAGE_CUBE, FLOAT, 0, 8, 8, 1, 7, 1, 0, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {CULV_IMAGE_CUBE, FLOAT, 0, 8, 8, 1, 1, 1, 0, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {CULV_IMAGE_2D, FLOAT, 1, 8, 8, 1, 1, 1, 0, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT},
        {CULV_IMAGE_2D, FLOAT, 2, 8, 8, 1, 1, 1, 0, CULV_ERROR_INVALID, CULV_REASON_VALUE},
        {CULV_IMAGE_2D, NV12, 0, 7, 8, 1, 1, 1, 0, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {CULV_IMAGE_2D, NV12, 0, 8, 7, 1, 1, 1, 0, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {CULV_IMAGE_2D, NV12, 0, 8, 8, 1, 1, 2, 0, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {CULV_IMAGE_3D, NV12, 0, 8, 8, 2, 1, 1, 0, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        /* More than the allocation, by each of the factors. */
        {CULV_IMAGE_1D, FLOAT, 0, 131072, 1, 1, 1, 1, 0, CULV_ERROR_INVALID, CULV_REASON_RANGE},
        {CULV_IMAGE_2D, FLOAT, 0, 64, 64, 1, 2048, 7, 0, CULV_ERROR_INVALID, CULV_REASON_RANGE},
        {CULV_IMAGE_3D, FLOAT, 0, 64, 64, 16384, 1, 1, 0, CULV_ERROR_INVALID, CULV_REASON_RANGE},
        {CULV_IMAGE_CUBE, FLOAT, 0, 64, 64, 1, 0, 7, 0, CULV_ERROR_INVALID, CULV_REASON_RANGE},
        {CULV_IMAGE_2D, CULV_FORMAT_R64G64_UINT, 0, 131072, 131072, 1, 2048, 18, 0,
         CULV_ERROR_INVALID, CULV_REASON_RANGE},
    };
    for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++) {
        culv_image_desc d = culv_image_desc_init();
        d.offset = at.caller.offset;
        d.format = (culv_format)rows[n].format;
        d.texels = (culv_texels)rows[n].texels;
        d.type = (culv_image_type)rows[n].type;
        d.width = rows[n].width;
        d.height = rows[n].height;
        d.depth = rows[n].depth;
        d.array_layers = rows[n].layers;
        d.mip_levels = rows[n].levels;
        d.texture_gather = rows[n].gather;
        LIB_REFUSES_AS(mapped, culv_image_map(at.memory, &d, &mapped), rows[n].result,
                       rows[n].reason);
    }
    shared_image_close(s, &at);
}

/* What was mapped, with the defaults. */
IMAGE_CASE(told)
{
    shared_image i;
    shared_image_open(s, CALLERS_AT_OFFSET, VK_FORMAT_R8G8B8A8_UNORM, 40, 30, 3, 0, &i);
    culv_image_desc d = culv_image_desc_init();
    LIB_OK(culv_image_get_desc(i.cuda, &d));
    REQUIRE_EQ(d.struct_size, sizeof d);
    REQUIRE_EQ(d.offset, i.caller.offset);
    REQUIRE_EQ(d.format, CULV_FORMAT_R8G8B8A8_UNORM);
    REQUIRE_EQ(d.type, CULV_IMAGE_2D);
    REQUIRE(d.width == 40 && d.height == 30 && d.depth == 1 && d.array_layers == 1 &&
            d.mip_levels == 3);
    REQUIRE(d.label == NULL);
    uint32_t depth = 9;
    LIB_OK(culv_image_get_extent(i.cuda, 2, NULL, NULL, &depth));
    REQUIRE_EQ(depth, 1);
    CUarray level = NULL, plane = NULL;
    LIB_OK(culv_image_get_array(i.cuda, 0, &level));
    LIB_OK(culv_image_get_plane_array(i.cuda, 0, &plane));
    REQUIRE(level == plane); /* the one plane */
    CUsurfObject a = 0, b = 0;
    LIB_OK(culv_image_get_surface(i.cuda, 0, &a));
    LIB_OK(culv_image_get_plane_surface(i.cuda, 0, &b));
    REQUIRE(a == b);
    LIB_INVALID(culv_image_get_plane_array(i.cuda, 1, &plane), LEVEL);
    LIB_INVALID(culv_image_get_plane_surface(i.cuda, 1, &b), LEVEL);
    d.struct_size = 0;
    LIB_INVALID(culv_image_get_desc(i.cuda, &d), STRUCT_SIZE);
    shared_image_close(s, &i);
}

IMAGE_CASE(levels)
{
    static const uint32_t wrong[] = {3, 4, 31, 32, 33, UINT32_MAX};
    shared_image i;
    shared_image_open(s, CULVERTS, VK_FORMAT_R8G8B8A8_UNORM, 64, 64, 3, 0, &i);
    CUarray array = POISON(struct CUarray_st);
    CUsurfObject surface = 99;
    uint32_t width = 98, height = 97;
    for (size_t n = 0; n < sizeof wrong / sizeof wrong[0]; n++) {
        LIB_INVALID(culv_image_get_array(i.cuda, wrong[n], &array), LEVEL);
        LIB_INVALID(culv_image_get_surface(i.cuda, wrong[n], &surface), LEVEL);
        LIB_INVALID(culv_image_get_extent(i.cuda, wrong[n], &width, &height, NULL), LEVEL);
    }
    REQUIRE(array == POISON(struct CUarray_st) && surface == 99 && width == 98 && height == 97);
    shared_image_close(s, &i);
}
