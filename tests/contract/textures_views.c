/* SPDX-License-Identifier: MIT */
/* Contract rows: what textures read through views of some levels and layers, and of sRGB blocks. */
#define TEST_GROUP "placed."
#include "contract.h"

#include <math.h>

static void read_texel(const pair *p, const char *kernel, CUtexObject texture, float level,
                       float found[4])
{
    const place at = {0.5f, 0.5f, 0.5f, 0, level};
    read_places(p, kernel, texture, &at, 1, found, 16);
}

/* Views: each texel's bytes hold 16 * level + layer + 1. */
enum { W = 32, H = 16, LEVELS = 3, LAYERS = 5 };

static CUmipmappedArray make_levels(pair *p, CUarray_format format, size_t texel, bool layered)
{
    CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(format, 4, W, H);
    CUmipmappedArray mipmap;
    if (layered) desc.Flags |= CUDA_ARRAY3D_LAYERED;
    desc.Depth = layered ? LAYERS : 0;
    CU_OK(p->cu->MipmappedArrayCreate(&mipmap, &desc, LEVELS));
    for (uint32_t level = 0; level < LEVELS; level++) {
        const size_t w = W >> level, h = H >> level, n = layered ? LAYERS : 1, size = w * h * texel;
        unsigned char *texels = test_memory(size * n);
        for (size_t k = 0; k < size * n; k++)
            texels[k] = (unsigned char)(16 * level + k / size + 1);
        CU_OK(raw_cuda_write_box(p->cu, image_level(p, mipmap, level), texels, w * texel, h, n));
    }
    return mipmap;
}

typedef struct view_row {
    CUresourceViewFormat format;
    unsigned levels[2], layers[2]; /* first and last */
    unsigned shrink;               /* its extent is that of this level */
    size_t depth;
    unsigned flags; /* besides normalized coordinates */
} view_row;

/* `of`: this level's array, or below 0 the mipmapped one. */
static CUresult make_view(pair *p, CUmipmappedArray mipmap, int of, const view_row *row,
                          CUtexObject *out)
{
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY,
                                   .res.mipmap.hMipmappedArray = mipmap};
    const CUDA_TEXTURE_DESC how = {.flags = CU_TRSF_NORMALIZED_COORDINATES | row->flags,
                                   .maxMipmapLevelClamp = 10};
    const CUDA_RESOURCE_VIEW_DESC view =
        TEST_ROW(row->format, W >> row->shrink, H >> row->shrink, row->depth, row->levels[0],
                 row->levels[1], row->layers[0], row->layers[1], {0});
    if (of >= 0)
        resource = (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_ARRAY,
                                        .res.array.hArray = image_level(p, mipmap, (uint32_t)of)};
    return p->cu->TexObjectCreate(out, &resource, &how, &view);
}

static const char *view_key(int of, bool layered, const view_row *row)
{
    char level[16];
    snprintf(level, sizeof level, "level %d", of);
    return answer_key("%s%s, format %#x, levels %u to %u, layers %u to %u, depth %zu, the extent "
                      "of level %u",
                      of < 0 ? "all levels" : level, layered ? " of layers" : "",
                      (unsigned)row->format, row->levels[0], row->levels[1], row->layers[0],
                      row->layers[1], row->depth, row->shrink);
}

static void require_view(pair *p, CUmipmappedArray mipmap, int of, bool layered,
                         const view_row *row)
{
    CUtexObject texture;
    double reads[2];
    CU_OK(make_view(p, mipmap, of, row, &texture));
    for (unsigned level = 0; level < 2; level++) {
        const unsigned last = row->levels[1] - row->levels[0];
        const unsigned shown =
            (of < 0 ? row->levels[0] : (unsigned)of) + (level < last ? level : last);
        const double wanted = (16 * shown + row->layers[0] + 1) / 255.0;
        float found[4];
        read_texel(p, layered ? "read_2d_layered" : "read_2d", texture, (float)level, found);
        reads[level] = (double)found[0] * 255;
        if (fabs((double)found[0] - wanted) > 1e-6)
            FAIL("%s: level %u is %.6f, not %.6f", view_key(of, layered, row), level,
                 (double)found[0], wanted);
    }
    ANSWER(view_key(of, layered, row), "level 0 reads %.0f, level 1 %.0f", reads[0], reads[1]);
    CU_OK(p->cu->TexObjectDestroy(texture));
}

static void refuse_view(pair *p, CUmipmappedArray mipmap, int of, bool layered, const view_row *row)
{
    CUtexObject texture;
    answer_call(view_key(of, layered, row), make_view(p, mipmap, of, row, &texture));
}

#define UINT8X4 CU_RES_VIEW_FORMAT_UINT_4X8

/* With the array's own format said, of the resource's own extent. */
PAIR_CASE(views, .mark = TEST_BOTH)
{
    static const view_row
        flat[] = {{UINT8X4, {0, 2}, {0, 0}, 0, 0, 0},
                  {UINT8X4, {0, 1}, {0, 0}, 0, 0, 0},
                  {UINT8X4, {1, 2}, {0, 0}, 0, 0, 0}},
        layers[] = {{UINT8X4, {0, 2}, {0, 4}, 0, LAYERS, 0},
                    {UINT8X4, {0, 2}, {1, 3}, 0, LAYERS, 0},
                    {UINT8X4, {1, 2}, {1, 3}, 0, LAYERS, 0},
                    {UINT8X4, {0, 0}, {1, 3}, 0, LAYERS, 0},
                    {UINT8X4, {0, 2}, {0, 0}, 0, LAYERS, 0}},
        refused[] = {{CU_RES_VIEW_FORMAT_NONE, {0, 2}, {1, 3}, 0, LAYERS, 0},
                     {CU_RES_VIEW_FORMAT_NONE, {0, 2}, {0, 4}, 0, LAYERS, 0},
                     {UINT8X4, {0, 2}, {1, 3}, 0, 0, 0}, /* depth */
                     {UINT8X4, {0, 2}, {1, 3}, 0, 1, 0},
                     {UINT8X4, {1, 2}, {1, 3}, 1, LAYERS, 0}}; /* the first level's extent */
    const view_row none = {CU_RES_VIEW_FORMAT_NONE, {1, 2}, {0, 0}, 0, 0, 0},
                   shrunk = {UINT8X4, {1, 2}, {0, 0}, 1, 0, 0},
                   one = {UINT8X4, {0, 0}, {0, 0}, 1, 0, 0},
                   one_of_layers = {UINT8X4, {0, 0}, {1, 3}, 1, LAYERS, 0},
                   one_unshrunk = {UINT8X4, {0, 0}, {1, 3}, 0, LAYERS, 0},
                   one_none = {CU_RES_VIEW_FORMAT_NONE, {0, 0}, {1, 3}, 1, LAYERS, 0};
    CUmipmappedArray mipmap = make_levels(p, CU_AD_FORMAT_UNSIGNED_INT8, 4, false);
    for (size_t i = 0; i < COUNT_OF(flat); i++)
        require_view(p, mipmap, -1, false, &flat[i]);
    require_view(p, mipmap, 1, false, &one);
    refuse_view(p, mipmap, -1, false, &none);
    refuse_view(p, mipmap, -1, false, &shrunk);
    CU_OK(p->cu->MipmappedArrayDestroy(mipmap));
    mipmap = make_levels(p, CU_AD_FORMAT_UNSIGNED_INT8, 4, true);
    for (size_t i = 0; i < COUNT_OF(layers); i++)
        require_view(p, mipmap, -1, true, &layers[i]);
    for (size_t i = 0; i < COUNT_OF(refused); i++)
        refuse_view(p, mipmap, -1, true, &refused[i]);
    require_view(p, mipmap, 1, true, &one_of_layers);
    refuse_view(p, mipmap, 1, true, &one_unshrunk);
    refuse_view(p, mipmap, 1, true, &one_none);
    CU_OK(p->cu->MipmappedArrayDestroy(mipmap));
}

/* `found`: NULL where nothing was read. */
static void answer_texture(const char *key, CUresult result, const float *found)
{
    if (found == NULL)
        answer_call(key, result);
    else
        ANSWER(key, "%s, reads %.4f %.4f %.4f %.4f", raw_cuda_result_name(result), (double)found[0],
               (double)found[1], (double)found[2], (double)found[3]);
}

static void report_view(pair *p, CUmipmappedArray mipmap, const char *what, const view_row *row,
                        bool layered)
{
    CUtexObject texture = 0;
    const CUresult result = make_view(p, mipmap, -1, row, &texture);
    const bool reads = result == CUDA_SUCCESS && !(row->flags & CU_TRSF_READ_AS_INTEGER);
    float found[4] = {-1, -1, -1, -1};
    if (reads) read_texel(p, layered ? "read_2d_layered" : "read_2d", texture, 0, found);
    if (result == CUDA_SUCCESS) CU_OK(p->cu->TexObjectDestroy(texture));
    answer_texture(
        answer_key("%s, view format %#x, flags %#x", what, (unsigned)row->format, row->flags),
        result, reads ? found : NULL);
}

/* Open: which view formats arrays of CUDA's normalized formats take, and what is read then. */
PAIR_CASE(views_of_others, .mark = TEST_TWIN_STRICTER, .reason = REPORTED)
{
    static const struct {
        const char *name;
        int cu;
        size_t texel;
        CUresourceViewFormat views[4];
    } rows[] = {
#define VIEW(name) CU_RES_VIEW_FORMAT_##name
        {"UNORM_INT8X4", 0xc2, 4, {VIEW(UINT_4X8), VIEW(SINT_4X8), VIEW(UINT_1X32)}},
        {"SNORM_INT8X4", 0xc8, 4, {VIEW(SINT_4X8), VIEW(UINT_4X8), VIEW(UINT_1X32)}},
        {"UNORM_INT16X4", 0xc5, 8, {VIEW(UINT_4X16), VIEW(FLOAT_4X16), VIEW(UINT_2X32)}},
        {"UNORM_INT_101010_2", 0x50, 4, {VIEW(UINT_1X32), VIEW(UINT_4X8), VIEW(FLOAT_1X32)}}};
    static const unsigned flags[] = {CU_TRSF_SRGB, CU_TRSF_READ_AS_INTEGER};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CUmipmappedArray mipmap = make_levels(p, (CUarray_format)rows[i].cu, rows[i].texel, true);
        for (size_t v = 0; v < 4; v++) {
            const view_row row = {rows[i].views[v], {1, 2}, {1, 3}, 0, LAYERS, 0};
            report_view(p, mipmap, rows[i].name, &row, true);
        }
        CU_OK(p->cu->MipmappedArrayDestroy(mipmap));
    }
    CUmipmappedArray mipmap = make_levels(p, CU_AD_FORMAT_UNSIGNED_INT8, 4, true);
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        const view_row row = {UINT8X4, {0, 1}, {1, 3}, 0, LAYERS, flags[i]};
        report_view(p, mipmap, "UNSIGNED_INT8 x 4", &row, true);
    }
    CU_OK(p->cu->MipmappedArrayDestroy(mipmap));
}

/* Block-compressed sRGB: which flags, and whether the read is linear. BC1's endpoints are of 5, 6
 * and 5 bits: 16 of 31 is 132 stored, 32 of 63 is 130. */
static const struct {
    const char *name;
    int cu;
    size_t bytes;
    bool srgb;
    double alpha;
} block_rows[] = {{"BC1_UNORM", 0x91, 8, false, 1},
                  {"BC1_UNORM_SRGB", 0x92, 8, true, 1},
                  {"BC2_UNORM_SRGB", 0x94, 16, true, 0},
                  {"BC3_UNORM_SRGB", 0x96, 16, true, 0},
                  {"BC7_UNORM", 0x9d, 16, false, 128 / 255.0},
                  {"BC7_UNORM_SRGB", 0x9e, 16, true, 128 / 255.0}};
static const struct {
    const char *name;
    unsigned flags;
    bool of_srgb; /* taken of sRGB arrays; of others all are */
} block_flags[] = {
    {"no flags", 0, false},
    {"NORMALIZED_COORDINATES", CU_TRSF_NORMALIZED_COORDINATES, false},
    {"READ_AS_INTEGER", CU_TRSF_READ_AS_INTEGER, false},
    {"SRGB", CU_TRSF_SRGB, true},
    {"NORMALIZED_COORDINATES, SRGB", CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB, true},
    {"SRGB, READ_AS_INTEGER", CU_TRSF_SRGB | CU_TRSF_READ_AS_INTEGER, true}};
enum { MIPMAPPED_FLAGS = 4 };

/* A block of one colour; BC2's and BC3's alpha is 0. */
static void write_block(int cu, unsigned char *block)
{
    if (cu >= 0x9d) { /* BC7, mode 6: 7 bits a channel and a shared one; all channels 64 << 1 */
        block[0] = 0x40;
        for (unsigned c = 0; c < 8; c++) /* r0 r1 g0 g1 b0 b1 a0 a1: the highest bit of each */
            block[(7 + c * 7 + 6) / 8] |= (unsigned char)(1u << (7 + c * 7 + 6) % 8);
        return;
    }
    unsigned char *color = block + (cu >= 0x93 ? 8 : 0);
    color[0] = color[2] = 0x10;
    color[1] = color[3] = 0x84;
}

static void require_color(const char *what, int cu, bool linear, double alpha, const float found[4])
{
    const double stored[3] = {cu >= 0x9d ? 128 / 255.0 : 132 / 255.0,
                              cu >= 0x9d ? 128 / 255.0 : 130 / 255.0,
                              cu >= 0x9d ? 128 / 255.0 : 132 / 255.0};
    for (int c = 0; c < 4; c++) {
        double wanted = c == 3 ? alpha : linear ? pow((stored[c] + 0.055) / 1.055, 2.4) : stored[c];
        if (!(fabs((double)found[c] - wanted) < 0.003))
            FAIL("%s: channel %d is %.5f, not %.5f", what, c, (double)found[c], wanted);
    }
}

static void try_block_flags(pair *p, size_t row, size_t how_row, CUmipmappedArray mipmap,
                            bool levels)
{
    const raw_cuda *cu = p->cu;
    const bool srgb = block_rows[row].srgb, taken = !srgb || block_flags[how_row].of_srgb;
    const unsigned flags = block_flags[how_row].flags;
    CUDA_TEXTURE_DESC how;
    CUtexObject texture = 0;
    float found[4] = {-1, -1, -1, -1};
    char what[96];
    snprintf(what, sizeof what, "%s%s, %s", block_rows[row].name, levels ? " with levels" : "",
             block_flags[how_row].name);
    memset(&how, 0, sizeof how);
    how.flags = flags;
    CUresult result = levels ? raw_cuda_mip_texture(cu, mipmap, &how, &texture)
                             : raw_cuda_texture(cu, image_level(p, mipmap, 0), &how, &texture);
    if (result == CUDA_SUCCESS) {
        read_texel(p, "read_2d", texture, -1000.0f, found);
        CU_OK(cu->TexObjectDestroy(texture));
    }
    answer_texture(what, result, result == CUDA_SUCCESS ? found : NULL);
    if (cu->software) return;
    REQUIRE_EQ(result, taken ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
    if (taken)
        require_color(what, block_rows[row].cu, flags & CU_TRSF_SRGB, block_rows[row].alpha, found);
}

PAIR_CASE(srgb_blocks, .mark = TEST_NVIDIA_ONLY,
          .reason = "the twin decodes no blocks, and refuses the same flags")
{
    for (size_t i = 0; i < COUNT_OF(block_rows); i++) {
        CUDA_ARRAY3D_DESCRIPTOR desc =
            raw_cuda_array_desc((CUarray_format)block_rows[i].cu, 4, 16, 16);
        unsigned char blocks[16 * 16] = {0};
        desc.Flags = 0;
        CUmipmappedArray mipmap = raw_cuda_mipmap(p->cu, &desc, 3);
        for (size_t k = 0; k < 16; k++)
            write_block(block_rows[i].cu, blocks + k * block_rows[i].bytes);
        CU_OK(raw_cuda_write_array(p->cu, image_level(p, mipmap, 0), blocks,
                                   4 * block_rows[i].bytes, 4));
        for (size_t f = 0; f < COUNT_OF(block_flags); f++)
            try_block_flags(p, i, f, mipmap, false);
        try_block_flags(p, i, MIPMAPPED_FLAGS, mipmap, true);
    }
}
