/* SPDX-License-Identifier: MIT */
/* Contract rows: which settings of texture objects are taken. */
#define TEST_GROUP "textures."
#include "images.h"

#define REPORTED "the twin's answers are required, NVIDIA's reported"

typedef struct setting {
    const char *what;
    int format;
    unsigned channels, array_flags;
    bool mipmapped;
    CUaddress_mode mode;
    CUfilter_mode filter, mip;
    unsigned flags;
} setting;

#define CLAMP      CU_TR_ADDRESS_MODE_CLAMP
#define POINT      CU_TR_FILTER_MODE_POINT
#define LINEAR     CU_TR_FILTER_MODE_LINEAR
#define NORMALIZED CU_TRSF_NORMALIZED_COORDINATES
#define INTEGER    CU_TRSF_READ_AS_INTEGER
#define INVALID    CUDA_ERROR_INVALID_VALUE

static const setting settings[] = {
    {"as it should be", 0x01, 4, 0, false, CLAMP, LINEAR, POINT, 0},
    {"linear of 8-bit integers", 0x01, 4, 0, false, CLAMP, LINEAR, POINT, INTEGER},
    {"linear of 32-bit integers", 0x03, 1, 0, false, CLAMP, LINEAR, POINT, 0},
    {"linear between levels of integers", 0x0a, 1, 0, true, CLAMP, POINT, LINEAR, NORMALIZED},
    {"linear of floats, as integers", 0x20, 1, 0, false, CLAMP, LINEAR, POINT, INTEGER},
    {"UNORM_INT8X4 as integers", 0xc2, 4, 0, false, CLAMP, POINT, POINT, INTEGER},
    {"UNORM_INT_101010_2 as integers", 0x50, 4, 0, false, CLAMP, POINT, POINT, INTEGER},
    {"wrap in texels", 0x01, 4, 0, false, CU_TR_ADDRESS_MODE_WRAP, POINT, POINT, 0},
    {"mirror in texels", 0x01, 4, 0, false, CU_TR_ADDRESS_MODE_MIRROR, POINT, POINT, 0},
    {"border in texels", 0x01, 4, 0, false, CU_TR_ADDRESS_MODE_BORDER, POINT, POINT, 0},
    {"border, normalized", 0x01, 4, 0, false, CU_TR_ADDRESS_MODE_BORDER, POINT, POINT, NORMALIZED},
    {"border of integers", 0x01, 4, 0, false, CU_TR_ADDRESS_MODE_BORDER, POINT, POINT,
     NORMALIZED | INTEGER},
    {"address mode 4", 0x01, 4, 0, false, (CUaddress_mode)4, POINT, POINT, NORMALIZED},
    {"filter mode 2", 0x01, 4, 0, false, CLAMP, (CUfilter_mode)2, POINT, 0},
    {"flag 0x80", 0x01, 4, 0, false, CLAMP, POINT, POINT, 0x80},
    {"mipmapped in texels", 0x01, 4, 0, true, CLAMP, POINT, POINT, 0},
    {"seamless, 2D", 0x01, 4, 0, false, CLAMP, POINT, POINT, CU_TRSF_SEAMLESS_CUBEMAP},
    {"seamless, a cube", 0x01, 4, CUDA_ARRAY3D_CUBEMAP, false, CLAMP, LINEAR, POINT,
     NORMALIZED | CU_TRSF_SEAMLESS_CUBEMAP},
    {"sRGB of 8-bit integers", 0x01, 4, 0, false, CLAMP, POINT, POINT, CU_TRSF_SRGB | INTEGER},
    {"sRGB of one channel", 0x01, 1, 0, false, CLAMP, POINT, POINT, CU_TRSF_SRGB},
    {"sRGB of UNORM_INT8X4", 0xc2, 4, 0, false, CLAMP, POINT, POINT, CU_TRSF_SRGB},
    {"sRGB of floats", 0x20, 4, 0, false, CLAMP, POINT, POINT, CU_TRSF_SRGB},
    {"BC1", 0x91, 4, 0, false, CLAMP, LINEAR, POINT, 0},
    {"BC7 sRGB", 0x9e, 4, 0, false, CLAMP, LINEAR, POINT, CU_TRSF_SRGB},
    {"NV12", 0xb0, 3, 0, false, CLAMP, POINT, POINT, 0},
    {"YUY2", 0xa5, 2, 0, false, CLAMP, POINT, POINT, 0},
};

static void try_settings(size_t first, size_t end)
{
    pair p;
    pair_open(&p);
    for (size_t i = first; i < end; i++) {
        const setting *s = &settings[i];
        CUDA_ARRAY3D_DESCRIPTOR desc =
            raw_cuda_array_desc((CUarray_format)s->format, s->channels, 8, 8);
        CUDA_TEXTURE_DESC sampling;
        CUarray array = NULL;
        CUmipmappedArray mipmap = NULL;
        CUtexObject texture = 0;
        memset(&sampling, 0, sizeof sampling);
        for (int d = 0; d < 3; d++)
            sampling.addressMode[d] = s->mode;
        sampling.filterMode = s->filter;
        sampling.mipmapFilterMode = s->mip;
        sampling.flags = s->flags;
        desc.Flags = s->array_flags;
        if (s->array_flags & CUDA_ARRAY3D_CUBEMAP) desc.Depth = 6;
        CUresult result = s->mipmapped ? p.cu->MipmappedArrayCreate(&mipmap, &desc, 3)
                                       : p.cu->Array3DCreate(&array, &desc);
        if (result != CUDA_SUCCESS) {
            ANSWER(answer_key("texture: %s", s->what), "no such array: %s",
                   raw_cuda_result_name(result));
            continue;
        }
        result = s->mipmapped ? raw_cuda_mip_texture(p.cu, mipmap, &sampling, &texture)
                              : raw_cuda_texture(p.cu, array, &sampling, &texture);
        image_answer("texture", s->what, result);
        if (i == 0) CU_OK(result);
        if (result == CUDA_SUCCESS) CU_OK(p.cu->TexObjectDestroy(texture));
        if (array != NULL) CU_OK(p.cu->ArrayDestroy(array));
        if (mipmap != NULL) CU_OK(p.cu->MipmappedArrayDestroy(mipmap));
    }
    pair_close(&p);
}

IMAGE_ROWS(which_settings, "textures.settings", "textures.settings_child",
           sizeof settings / sizeof settings[0], 9, try_settings, .mark = TEST_TWIN_STRICTER,
           .reason = REPORTED)

/* What of a border colour cuTexObjectGetTextureDesc tells: by modes of the three dimensions. */
PAIR_CASE(border_told, .mark = TEST_BOTH)
{
    static const struct {
        const char *what;
        CUaddress_mode modes[3];
    } rows[] = {
        {"clamped", {CLAMP, CLAMP, CLAMP}},
        {"wrapped", {CU_TR_ADDRESS_MODE_WRAP, CU_TR_ADDRESS_MODE_WRAP, CLAMP}},
        {"border in x", {CU_TR_ADDRESS_MODE_BORDER, CLAMP, CLAMP}},
        {"border in y", {CLAMP, CU_TR_ADDRESS_MODE_BORDER, CLAMP}},
        {"border in z, of 2D", {CLAMP, CLAMP, CU_TR_ADDRESS_MODE_BORDER}},
    };
    const CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(CU_AD_FORMAT_UNSIGNED_INT8, 4, 8, 8);
    CUarray array = raw_cuda_array(p->cu, &desc);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CUDA_TEXTURE_DESC sampling, found;
        CUtexObject texture;
        memset(&sampling, 0, sizeof sampling);
        memset(&found, 0x55, sizeof found);
        memcpy(sampling.addressMode, rows[i].modes, sizeof rows[i].modes);
        sampling.flags = NORMALIZED;
        const float color[4] = {0.5f, 0.25f, 1, 0.125f};
        memcpy(sampling.borderColor, color, sizeof color);
        CU_OK(raw_cuda_texture(p->cu, array, &sampling, &texture));
        CU_OK(p->cu->TexObjectGetTextureDesc(&found, texture));
        CU_OK(p->cu->TexObjectDestroy(texture));
        static const float zeros[4];
        unsigned char poison[sizeof color];
        memset(poison, 0x55, sizeof poison);
        ANSWER(answer_key("border colour, %s", rows[i].what), "%s",
               memcmp(found.borderColor, color, sizeof color) == 0     ? "told"
               : memcmp(found.borderColor, zeros, sizeof zeros) == 0   ? "zeros"
               : memcmp(found.borderColor, poison, sizeof poison) == 0 ? "left alone"
                                                                       : "something else");
        memcpy(found.borderColor, color, sizeof color);
        REQUIRE_EQ_BYTES(&found, &sampling, offsetof(CUDA_TEXTURE_DESC, reserved));
    }
}

/* Views: parts of layered and mipmapped arrays, other formats. */
typedef struct view_row {
    const char *what;
    unsigned array_flags; /* of 8 x 8 RGBA8 with 6 layers or faces (12 of a cube array), 3 levels */
    CUresourceViewFormat format;
    size_t width, depth;
    unsigned first_level, last_level, first_layer, last_layer;
} view_row;

#define LAYERS  CUDA_ARRAY3D_LAYERED
#define CUBES   (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)
#define UINT8X4 CU_RES_VIEW_FORMAT_UINT_4X8

static const view_row view_rows[] = {
    {"format NONE", LAYERS, CU_RES_VIEW_FORMAT_NONE, 8, 6, 0, 2, 0, 5},
    {"all of it", LAYERS, UINT8X4, 8, 6, 0, 2, 0, 5},
    {"layers 1 to 3", LAYERS, UINT8X4, 8, 6, 0, 2, 1, 3},
    {"layers, depth 0", LAYERS, UINT8X4, 8, 0, 0, 2, 0, 5},
    {"layers, depth that of the view", LAYERS, UINT8X4, 8, 3, 0, 2, 1, 3},
    {"layer 6 of 6", LAYERS, UINT8X4, 8, 6, 0, 2, 0, 6},
    {"layers 3 to 1", LAYERS, UINT8X4, 8, 6, 0, 2, 3, 1},
    {"levels 1 to 2", LAYERS, UINT8X4, 8, 6, 1, 2, 0, 5},
    {"levels 1 to 2, width that of level 1", LAYERS, UINT8X4, 4, 6, 1, 2, 0, 5},
    {"level 3 of 3", LAYERS, UINT8X4, 8, 6, 0, 3, 0, 5},
    {"as one UINT32", LAYERS, CU_RES_VIEW_FORMAT_UINT_1X32, 8, 6, 0, 2, 0, 5},
    {"as two halves", LAYERS, CU_RES_VIEW_FORMAT_FLOAT_2X16, 8, 6, 0, 2, 0, 5},
    {"as four UINT16", LAYERS, CU_RES_VIEW_FORMAT_UINT_4X16, 8, 6, 0, 2, 0, 5},
    {"as BC1", LAYERS, CU_RES_VIEW_FORMAT_UNSIGNED_BC1, 32, 6, 0, 2, 0, 5},
    {"a cube, layers 0 to 0", CUDA_ARRAY3D_CUBEMAP, UINT8X4, 8, 6, 0, 2, 0, 0},
    {"a cube, layers 0 to 5", CUDA_ARRAY3D_CUBEMAP, UINT8X4, 8, 6, 0, 2, 0, 5},
    {"two cubes, layers 0 to 1", CUBES, UINT8X4, 8, 12, 0, 2, 0, 1},
    {"two cubes, layers 0 to 11", CUBES, UINT8X4, 8, 12, 0, 2, 0, 11},
    {"two cubes, layers 1 to 1", CUBES, UINT8X4, 8, 12, 0, 2, 1, 1},
    {"two cubes, layers 6 to 11", CUBES, UINT8X4, 8, 12, 0, 2, 6, 11},
    {"two cubes, layers 0 to 12", CUBES, UINT8X4, 8, 12, 0, 2, 0, 12},
};

static void try_views(size_t first, size_t end)
{
    pair p;
    pair_open(&p);
    for (size_t i = first; i < end; i++) {
        const view_row *row = &view_rows[i];
        CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(CU_AD_FORMAT_UNSIGNED_INT8, 4, 8, 8);
        CUDA_RESOURCE_DESC resource;
        CUDA_TEXTURE_DESC sampling;
        CUDA_RESOURCE_VIEW_DESC view;
        CUtexObject texture = 0;
        desc.Depth = row->array_flags == CUBES ? 12 : 6;
        desc.Flags = row->array_flags;
        CUmipmappedArray mipmap = raw_cuda_mipmap(p.cu, &desc, 3);
        memset(&resource, 0, sizeof resource);
        resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
        resource.res.mipmap.hMipmappedArray = mipmap;
        memset(&sampling, 0, sizeof sampling);
        sampling.flags = NORMALIZED;
        memset(&view, 0, sizeof view);
        view.format = row->format;
        view.width = view.height = row->width;
        view.depth = row->depth;
        view.firstMipmapLevel = row->first_level;
        view.lastMipmapLevel = row->last_level;
        view.firstLayer = row->first_layer;
        view.lastLayer = row->last_layer;
        const CUresult result = p.cu->TexObjectCreate(&texture, &resource, &sampling, &view);
        image_answer("view", row->what, result);
        if (result == CUDA_SUCCESS) CU_OK(p.cu->TexObjectDestroy(texture));
    }
    pair_close(&p);
}

IMAGE_ROWS(which_views, "textures.views", "textures.views_child",
           sizeof view_rows / sizeof view_rows[0], 11, try_views, .mark = TEST_TWIN_STRICTER,
           .reason = REPORTED)
