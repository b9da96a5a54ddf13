/* SPDX-License-Identifier: MIT */
/* Contract rows: which settings texture objects take, how far a clamp of levels reaches, and what
 * they read through views of some levels and layers. */
#define TEST_GROUP "textures."
#include "contract.h"

#include <math.h>

#define CLAMP      CU_TR_ADDRESS_MODE_CLAMP
#define WRAP       CU_TR_ADDRESS_MODE_WRAP
#define BORDER     CU_TR_ADDRESS_MODE_BORDER
#define POINT      CU_TR_FILTER_MODE_POINT
#define LINEAR     CU_TR_FILTER_MODE_LINEAR
#define NORMALIZED CU_TRSF_NORMALIZED_COORDINATES
#define INTEGER    CU_TRSF_READ_AS_INTEGER
#define SRGB       CU_TRSF_SRGB
#define UINT8X4    CU_RES_VIEW_FORMAT_UINT_4X8
#define NO_FORMAT  CU_RES_VIEW_FORMAT_NONE

typedef struct setting {
    const char *what;
    int format;
    unsigned channels, array_flags;
    bool mipmapped;
    CUaddress_mode mode;
    CUfilter_mode filter, mip;
    unsigned flags;
} setting;

static const setting settings[] = {
    {"as it should be", 0x01, 4, 0, false, CLAMP, LINEAR, POINT, 0},
    {"linear of 8-bit integers", 0x01, 4, 0, false, CLAMP, LINEAR, POINT, INTEGER},
    {"linear of 32-bit integers", 0x03, 1, 0, false, CLAMP, LINEAR, POINT, 0},
    {"linear between levels of integers", 0x0a, 1, 0, true, CLAMP, POINT, LINEAR, NORMALIZED},
    {"linear of floats, as integers", 0x20, 1, 0, false, CLAMP, LINEAR, POINT, INTEGER},
    {"UNORM_INT8X4 as integers", 0xc2, 4, 0, false, CLAMP, POINT, POINT, INTEGER},
    {"UNORM_INT_101010_2 as integers", 0x50, 4, 0, false, CLAMP, POINT, POINT, INTEGER},
    {"wrap in texels", 0x01, 4, 0, false, WRAP, POINT, POINT, 0},
    {"mirror in texels", 0x01, 4, 0, false, CU_TR_ADDRESS_MODE_MIRROR, POINT, POINT, 0},
    {"border in texels", 0x01, 4, 0, false, BORDER, POINT, POINT, 0},
    {"border, normalized", 0x01, 4, 0, false, BORDER, POINT, POINT, NORMALIZED},
    {"border of integers", 0x01, 4, 0, false, BORDER, POINT, POINT, NORMALIZED | INTEGER},
    {"address mode 4", 0x01, 4, 0, false, (CUaddress_mode)4, POINT, POINT, NORMALIZED},
    {"filter mode 2", 0x01, 4, 0, false, CLAMP, (CUfilter_mode)2, POINT, 0},
    {"flag 0x80", 0x01, 4, 0, false, CLAMP, POINT, POINT, 0x80},
    {"mipmapped in texels", 0x01, 4, 0, true, CLAMP, POINT, POINT, 0},
    {"seamless, 2D", 0x01, 4, 0, false, CLAMP, POINT, POINT, CU_TRSF_SEAMLESS_CUBEMAP},
    {"seamless, a cube", 0x01, 4, CUDA_ARRAY3D_CUBEMAP, false, CLAMP, LINEAR, POINT,
     NORMALIZED | CU_TRSF_SEAMLESS_CUBEMAP},
    {"sRGB of 8-bit integers", 0x01, 4, 0, false, CLAMP, POINT, POINT, SRGB | INTEGER},
    {"sRGB of one channel", 0x01, 1, 0, false, CLAMP, POINT, POINT, SRGB},
    {"sRGB of UNORM_INT8X4", 0xc2, 4, 0, false, CLAMP, POINT, POINT, SRGB},
    {"sRGB of floats", 0x20, 4, 0, false, CLAMP, POINT, POINT, SRGB},
    {"BC1", 0x91, 4, 0, false, CLAMP, LINEAR, POINT, 0},
    {"BC7 sRGB", 0x9e, 4, 0, false, CLAMP, LINEAR, POINT, SRGB},
    {"NV12", 0xb0, 3, 0, false, CLAMP, POINT, POINT, 0},
    {"YUY2", 0xa5, 2, 0, false, CLAMP, POINT, POINT, 0},
};

static void try_setting(pair *p, size_t i)
{
    const setting *s = &settings[i];
    CUDA_ARRAY3D_DESCRIPTOR desc =
        raw_cuda_array_desc((CUarray_format)s->format, s->channels, 8, 8);
    const CUDA_TEXTURE_DESC sampling =
        TEST_ROW({s->mode, s->mode, s->mode}, s->filter, s->flags, .mipmapFilterMode = s->mip);
    CUarray array = NULL;
    CUmipmappedArray mipmap = NULL;
    CUtexObject texture = 0;
    desc.Flags = s->array_flags;
    if (s->array_flags & CUDA_ARRAY3D_CUBEMAP) desc.Depth = 6;
    CUresult result = s->mipmapped ? p->cu->MipmappedArrayCreate(&mipmap, &desc, 3)
                                   : p->cu->Array3DCreate(&array, &desc);
    if (result != CUDA_SUCCESS) {
        ANSWER(answer_key("texture: %s", s->what), "no such array: %s",
               raw_cuda_result_name(result));
        return;
    }
    result = s->mipmapped ? raw_cuda_mip_texture(p->cu, mipmap, &sampling, &texture)
                          : raw_cuda_texture(p->cu, array, &sampling, &texture);
    image_answer("texture", s->what, result);
    if (i == 0) CU_OK(result);
    if (result == CUDA_SUCCESS) CU_OK(p->cu->TexObjectDestroy(texture));
    if (array != NULL) CU_OK(p->cu->ArrayDestroy(array));
    if (mipmap != NULL) CU_OK(p->cu->MipmappedArrayDestroy(mipmap));
}

IMAGE_ROWS(which_settings, "textures.settings", "textures.settings_child", COUNT_OF(settings), 9,
           try_setting, .mark = TEST_TWIN_STRICTER, .reason = REPORTED)

/* VK_LOD_CLAMP_NONE is 1000, and what a sampler of Vulkan's says is handed on. Each level holds its
 * number. */
static void try_clamp(pair *p, size_t i)
{
    enum { LEVELS = 5, SIDE = 16, READS = 6 };
    static const float most[] = {0, 2, 4, 15, 16, 100, 1000, HUGE_VALF};
    static const float asked[READS] = {0, 1, 3, 4, 15, 200};
    place places[READS];
    float r[READS];
    CUtexObject texture = 0;
    CUDA_TEXTURE_DESC how = raw_cuda_sampling(CLAMP, POINT, NORMALIZED);
    shared_image image = pair_image(p, &image_formats[IMAGE_R32F], SIDE, SIDE, LEVELS, 0);
    for (uint32_t level = 0; level < LEVELS; level++) {
        float texels[SIDE * SIDE];
        for (size_t k = 0; k < SIDE * SIDE; k++)
            texels[k] = (float)level;
        raw_vk_image_write(&p->vk, &image.vk, level, texels);
    }
    for (size_t k = 0; k < READS; k++)
        places[k] = (place){0.5f, 0.5f, 0, 0, asked[k]};
    how.maxMipmapLevelClamp = most[i];
    const CUresult result = raw_cuda_mip_texture(p->cu, image.mipmap, &how, &texture);
    answer_call(answer_key("a clamp at %g", (double)most[i]), result);
    if (result != CUDA_SUCCESS) return;
    read_places(p, "read_2d_float", texture, places, READS, r, sizeof r[0]);
    ANSWER(answer_key("levels read with a clamp at %g", (double)most[i]), "%g %g %g %g %g %g",
           (double)r[0], (double)r[1], (double)r[2], (double)r[3], (double)r[4], (double)r[5]);
    CU_OK(p->cu->TexObjectDestroy(texture));
}

IMAGE_ROWS(clamps, "measured.level_clamps", "measured.level_clamps_child", 8, 8, try_clamp,
           .mark = TEST_TWIN_STRICTER, .reason = REPORTED)

#undef TEST_GROUP
#define TEST_GROUP "placed."

/* Views: each texel's bytes hold 16 * level + layer + 1. */
enum { W = 32, H = 16, LEVELS = 3, SLICES = 5 };

static CUmipmappedArray make_levels(pair *p, bool layered)
{
    CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(CU_AD_FORMAT_UNSIGNED_INT8, 4, W, H);
    CUmipmappedArray mipmap;
    if (layered) desc.Flags |= CUDA_ARRAY3D_LAYERED;
    desc.Depth = layered ? SLICES : 0;
    CU_OK(p->cu->MipmappedArrayCreate(&mipmap, &desc, LEVELS));
    for (uint32_t level = 0; level < LEVELS; level++) {
        const size_t w = W >> level, h = H >> level, n = layered ? SLICES : 1, size = w * h * 4;
        unsigned char *texels = test_memory(size * n);
        for (size_t k = 0; k < size * n; k++)
            texels[k] = (unsigned char)(16 * level + k / size + 1);
        CU_OK(raw_cuda_write_box(p->cu, image_level(p, mipmap, level), texels, w * 4, h, n));
    }
    return mipmap;
}

typedef struct of_row {
    CUresourceViewFormat format;
    unsigned levels[2], layers[2]; /* first and last */
    unsigned shrink;               /* its extent is that of this level */
    size_t depth;
    bool refused;
} of_row;

/* `of`: this level's array, or below 0 the mipmapped one. */
static CUresult make_view(pair *p, CUmipmappedArray mipmap, int of, const of_row *row,
                          CUtexObject *out)
{
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY,
                                   .res.mipmap.hMipmappedArray = mipmap};
    const CUDA_TEXTURE_DESC how = {.flags = NORMALIZED, .maxMipmapLevelClamp = 10};
    const CUDA_RESOURCE_VIEW_DESC view =
        TEST_ROW(row->format, W >> row->shrink, H >> row->shrink, row->depth, row->levels[0],
                 row->levels[1], row->layers[0], row->layers[1], {0});
    if (of >= 0)
        resource = (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_ARRAY,
                                        .res.array.hArray = image_level(p, mipmap, (uint32_t)of)};
    return p->cu->TexObjectCreate(out, &resource, &how, &view);
}

static const char *view_key(int of, bool layered, const of_row *row)
{
    char level[16];
    snprintf(level, sizeof level, "level %d", of);
    return answer_key("%s%s, format %#x, levels %u to %u, layers %u to %u, depth %zu, the extent "
                      "of level %u",
                      of < 0 ? "all levels" : level, layered ? " of layers" : "",
                      (unsigned)row->format, row->levels[0], row->levels[1], row->layers[0],
                      row->layers[1], row->depth, row->shrink);
}

static void try_view(pair *p, CUmipmappedArray mipmap, int of, bool layered, const of_row *row)
{
    const char *key = view_key(of, layered, row);
    CUtexObject texture;
    double reads[2];
    const CUresult result = make_view(p, mipmap, of, row, &texture);
    if (row->refused) {
        answer_call(key, result);
        return;
    }
    CU_OK(result);
    for (unsigned level = 0; level < 2; level++) {
        const unsigned last = row->levels[1] - row->levels[0];
        const unsigned shown =
            (of < 0 ? row->levels[0] : (unsigned)of) + (level < last ? level : last);
        const double wanted = (16 * shown + row->layers[0] + 1) / 255.0;
        const place at = {0.5f, 0.5f, 0.5f, 0, (float)level};
        float found[4];
        read_places(p, layered ? "read_2d_layered" : "read_2d", texture, &at, 1, found, 16);
        reads[level] = (double)found[0] * 255;
        if (fabs((double)found[0] - wanted) > 1e-6)
            FAIL("%s: level %u is %.6f, not %.6f", key, level, (double)found[0], wanted);
    }
    ANSWER(key, "level 0 reads %.0f, level 1 %.0f", reads[0], reads[1]);
    CU_OK(p->cu->TexObjectDestroy(texture));
}

/* With the array's own format said, of the resource's own extent. */
PAIR_CASE(views, .mark = TEST_BOTH)
{
    static const struct {
        int of;
        bool layered;
        of_row row;
    } rows[] = {
        {-1, false, {UINT8X4, {0, 2}, {0, 0}, 0, 0, false}},
        {-1, false, {UINT8X4, {0, 1}, {0, 0}, 0, 0, false}},
        {-1, false, {UINT8X4, {1, 2}, {0, 0}, 0, 0, false}},
        {1, false, {UINT8X4, {0, 0}, {0, 0}, 1, 0, false}},
        {-1, false, {NO_FORMAT, {1, 2}, {0, 0}, 0, 0, true}},
        {-1, false, {UINT8X4, {1, 2}, {0, 0}, 1, 0, true}},
        {-1, true, {UINT8X4, {0, 2}, {0, 4}, 0, SLICES, false}},
        {-1, true, {UINT8X4, {0, 2}, {1, 3}, 0, SLICES, false}},
        {-1, true, {UINT8X4, {1, 2}, {1, 3}, 0, SLICES, false}},
        {-1, true, {UINT8X4, {0, 0}, {1, 3}, 0, SLICES, false}},
        {-1, true, {UINT8X4, {0, 2}, {0, 0}, 0, SLICES, false}},
        {-1, true, {NO_FORMAT, {0, 2}, {1, 3}, 0, SLICES, true}},
        {-1, true, {NO_FORMAT, {0, 2}, {0, 4}, 0, SLICES, true}},
        {-1, true, {UINT8X4, {0, 2}, {1, 3}, 0, 0, true}}, /* depth */
        {-1, true, {UINT8X4, {0, 2}, {1, 3}, 0, 1, true}},
        {-1, true, {UINT8X4, {1, 2}, {1, 3}, 1, SLICES, true}}, /* the first level's extent */
        {1, true, {UINT8X4, {0, 0}, {1, 3}, 1, SLICES, false}},
        {1, true, {UINT8X4, {0, 0}, {1, 3}, 0, SLICES, true}},
        {1, true, {NO_FORMAT, {0, 0}, {1, 3}, 1, SLICES, true}}};
    CUmipmappedArray mipmaps[] = {make_levels(p, false), make_levels(p, true)};
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        try_view(p, mipmaps[rows[i].layered], rows[i].of, rows[i].layered, &rows[i].row);
    for (int i = 0; i < 2; i++)
        CU_OK(p->cu->MipmappedArrayDestroy(mipmaps[i]));
}
