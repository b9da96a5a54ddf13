/* SPDX-License-Identifier: MIT */
/* Texture objects: what they read, against a reference. */
#define TEST_GROUP "textures."
#include "textures.h"

#include <math.h>

#define COUNT 512

typedef struct shape {
    const char *kernel;
    size_t width, height, depth; /* of the descriptor */
    unsigned flags;
    int directions;
    bool cube;
} shape;

static const shape shapes[] = {
    {"read_1d", 13, 0, 0, 0, 1, false},
    {"read_2d", 13, 7, 0, 0, 2, false},
    {"read_3d", 9, 7, 5, 0, 3, false},
    {"read_1d_layered", 13, 0, 5, CUDA_ARRAY3D_LAYERED, 1, false},
    {"read_2d_layered", 13, 7, 5, CUDA_ARRAY3D_LAYERED, 2, false},
    {"read_cube", 8, 8, 6, CUDA_ARRAY3D_CUBEMAP, 2, true},
    {"read_cube_layered", 5, 5, 18, CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED, 2, true},
};
#define SHAPES (sizeof shapes / sizeof shapes[0])

static size_t at_least_one(size_t size)
{
    return size == 0 ? 1 : size;
}

static int layers_of(const shape *s)
{
    if (!(s->flags & CUDA_ARRAY3D_LAYERED)) return 1;
    return (int)(s->cube ? s->depth / 6 : s->depth);
}

static void fill_array(const twin *t, CUarray array, const CUDA_ARRAY3D_DESCRIPTOR *desc,
                       reference_image *image, unsigned seed)
{
    const size_t height = at_least_one(desc->Height), depth = at_least_one(desc->Depth);
    float(*texels)[4] = malloc(desc->Width * height * depth * sizeof *texels);
    REQUIRE(texels != NULL);
    texture_noise(&texels[0][0], desc->Width * height * depth * 4, seed);
    CU_OK(raw_cuda_write_box(t->cu, array, texels, desc->Width * sizeof *texels, height, depth));
    image->width = (int)desc->Width;
    image->height = (int)height;
    image->slices = (int)depth;
    image->texels = (const float(*)[4])texels;
}

static CUDA_ARRAY3D_DESCRIPTOR shape_desc(const shape *s)
{
    CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(CU_AD_FORMAT_FLOAT, 4, s->width, s->height);
    desc.Depth = s->depth;
    desc.Flags = s->flags;
    return desc;
}

static void check_shape(texture_room *room, const shape *s, CUaddress_mode mode,
                        CUfilter_mode filter, unsigned flags)
{
    const raw_cuda *cu = room->t.cu;
    const CUDA_ARRAY3D_DESCRIPTOR array_desc = shape_desc(s);
    CUDA_TEXTURE_DESC desc = texture_desc(mode, filter, flags);
    const bool unit = s->cube || (flags & CU_TRSF_NORMALIZED_COORDINATES);
    const float size[3] = {unit ? 1.0f : (float)s->width, unit ? 1.0f : (float)s->height,
                           unit ? 1.0f : (float)s->depth};
    reference_image image = {.directions = s->directions, .cube = s->cube};
    place places[COUNT];
    float found[COUNT][4];
    CUarray array;
    CUtexObject texture;
    for (int c = 0; c < 4; c++)
        desc.borderColor[c] = (float)c + 2.5f;
    CU_OK(cu->Array3DCreate(&array, &array_desc));
    fill_array(&room->t, array, &array_desc, &image, 7);
    CU_OK(raw_cuda_texture(cu, array, &desc, &texture));
    for (int with_level = 0; with_level < 2; with_level++) {
        texture_places(places, COUNT, size, layers_of(s), with_level ? 3.0f : NO_LEVEL, 11);
        CU_OK(texture_run(room, s->kernel, texture, places, COUNT, found, sizeof found[0]));
        int told = texture_compare(&image, &desc, places, COUNT, (const float(*)[4])found, 2e-4);
        REQUIRE(told > COUNT * 9 / 10);
    }
    CU_OK(cu->TexObjectDestroy(texture));
    CU_OK(cu->ArrayDestroy(array));
    free((void *)(uintptr_t)image.texels);
}

ROOM_CASE(addresses_and_filters)
{
    for (size_t i = 0; i < SHAPES; i++)
        for (int filter = CU_TR_FILTER_MODE_POINT; filter <= CU_TR_FILTER_MODE_LINEAR; filter++) {
            for (int mode = CU_TR_ADDRESS_MODE_WRAP; mode <= CU_TR_ADDRESS_MODE_BORDER; mode++)
                check_shape(room, &shapes[i], (CUaddress_mode)mode, (CUfilter_mode)filter,
                            CU_TRSF_NORMALIZED_COORDINATES |
                                CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION);
            check_shape(room, &shapes[i], CU_TR_ADDRESS_MODE_CLAMP, (CUfilter_mode)filter, 0);
            if (shapes[i].cube)
                check_shape(room, &shapes[i], CU_TR_ADDRESS_MODE_WRAP, (CUfilter_mode)filter,
                            CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SEAMLESS_CUBEMAP);
        }
}

/* Coordinates that are nowhere, and layers that are not there, read something and touch nothing
 * else. */
ROOM_CASE(far_away)
{
    static const float strange[] = {INFINITY, -INFINITY, NAN, 3e38f, -3e38f, 1e10f, -1e10f, 0.0f};
    enum { N = 8 };
    place places[N * 4];
    float found[N * 4][4];
    for (int i = 0; i < N * 4; i++)
        places[i] = (place){strange[i % N], strange[i / 2 % N], strange[i / 3 % N],
                            i % 2 ? 1 << 30 : -5, strange[i / 5 % N]};
    for (size_t i = 0; i < SHAPES; i++)
        for (int mode = CU_TR_ADDRESS_MODE_WRAP; mode <= CU_TR_ADDRESS_MODE_BORDER; mode++)
            for (int filter = 0; filter < 2; filter++) {
                const CUDA_ARRAY3D_DESCRIPTOR array_desc = shape_desc(&shapes[i]);
                const CUDA_TEXTURE_DESC desc = texture_desc(
                    (CUaddress_mode)mode, (CUfilter_mode)filter, CU_TRSF_NORMALIZED_COORDINATES);
                CUarray array;
                CUtexObject texture;
                CU_OK(room->t.cu->Array3DCreate(&array, &array_desc));
                CU_OK(raw_cuda_texture(room->t.cu, array, &desc, &texture));
                CU_OK(texture_run(room, shapes[i].kernel, texture, places, N * 4, found,
                                  sizeof found[0]));
                for (int k = 0; k < N * 4 && filter == 0; k++)
                    REQUIRE(found[k][0] == 0.0f);
                CU_OK(room->t.cu->TexObjectDestroy(texture));
                CU_OK(room->t.cu->ArrayDestroy(array));
            }
}

ROOM_CASE(layers_are_clamped)
{
    const shape *s = &shapes[4];
    const CUDA_ARRAY3D_DESCRIPTOR array_desc = shape_desc(s);
    const CUDA_TEXTURE_DESC desc =
        texture_desc(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0);
    const place places[4] = {{3.5f, 2.5f, 0, -7, NO_LEVEL},
                             {3.5f, 2.5f, 0, 0, 0},
                             {3.5f, 2.5f, 0, 4, NO_LEVEL},
                             {3.5f, 2.5f, 0, 99, 0}};
    float found[4][4];
    reference_image image = {.directions = 2};
    CUarray array = raw_cuda_array(room->t.cu, &array_desc);
    fill_array(&room->t, array, &array_desc, &image, 3);
    CUtexObject texture = raw_cuda_texture_of(room->t.cu, array, &desc);
    CU_OK(texture_run(room, s->kernel, texture, places, 4, found, sizeof found[0]));
    REQUIRE_EQ_BYTES(found[0], found[1], sizeof found[0]);
    REQUIRE_EQ_BYTES(found[3], found[2], sizeof found[0]);
    REQUIRE(found[0][0] != found[2][0]);
    free((void *)(uintptr_t)image.texels);
}

/* Levels: by themselves, between two, with a bias, within clamps, from a view's first one on. */
ROOM_CASE(levels)
{
    enum { LEVELS = 4, STEPS = 41 };
    const CUDA_ARRAY3D_DESCRIPTOR array_desc = shape_desc(&shapes[1]);
    static const struct {
        CUfilter_mode mip;
        float bias, low, high;
        unsigned first, last;
    } rows[] = {{CU_TR_FILTER_MODE_POINT, 0, 0, 100, 0, LEVELS - 1},
                {CU_TR_FILTER_MODE_LINEAR, 0, 0, 100, 0, LEVELS - 1},
                {CU_TR_FILTER_MODE_LINEAR, 0.75f, 0, 100, 0, LEVELS - 1},
                {CU_TR_FILTER_MODE_LINEAR, -1.5f, 0.25f, 2.125f, 0, LEVELS - 1},
                {CU_TR_FILTER_MODE_LINEAR, 0, 0, 100, 1, 2},
                {CU_TR_FILTER_MODE_POINT, 0, 1, 1, 1, 3},
                {CU_TR_FILTER_MODE_POINT, 0, 0, 0, 0, LEVELS - 1}};
    reference_image images[LEVELS];
    PROC(room->t.cu, TexObjectGetResourceViewDesc, 5000);
    CUmipmappedArray mipmap = raw_cuda_mipmap(room->t.cu, &array_desc, LEVELS);
    for (unsigned i = 0; i < LEVELS; i++) {
        CUarray level;
        CUDA_ARRAY3D_DESCRIPTOR desc;
        CU_OK(room->t.cu->MipmappedArrayGetLevel(&level, mipmap, i));
        CU_OK(room->t.cu->Array3DGetDescriptor(&desc, level));
        images[i] = (reference_image){.directions = 2};
        fill_array(&room->t, level, &desc, &images[i], 20 + i);
    }
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        CUDA_TEXTURE_DESC desc = texture_desc(CU_TR_ADDRESS_MODE_MIRROR, CU_TR_FILTER_MODE_LINEAR,
                                              CU_TRSF_NORMALIZED_COORDINATES);
        desc.mipmapFilterMode = rows[r].mip;
        desc.mipmapLevelBias = rows[r].bias;
        desc.minMipmapLevelClamp = rows[r].low;
        desc.maxMipmapLevelClamp = rows[r].high;
        desc.maxAnisotropy = 16;
        CUDA_RESOURCE_DESC resource;
        memset(&resource, 0, sizeof resource);
        resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
        resource.res.mipmap.hMipmappedArray = mipmap;
        CUDA_RESOURCE_VIEW_DESC view, viewed;
        memset(&view, 0, sizeof view);
        view.format = CU_RES_VIEW_FORMAT_FLOAT_4X32;
        view.width = array_desc.Width;
        view.height = array_desc.Height;
        view.firstMipmapLevel = rows[r].first;
        view.lastMipmapLevel = rows[r].last;
        const bool whole = rows[r].first == 0 && rows[r].last == LEVELS - 1;
        CUtexObject texture;
        CU_OK(room->t.cu->TexObjectCreate(&texture, &resource, &desc, whole ? NULL : &view));
        CU_OK(TexObjectGetResourceViewDesc(&viewed, texture));
        REQUIRE_EQ(viewed.width, whole ? 0 : view.width);
        place places[STEPS];
        float found[STEPS][4];
        for (int i = 0; i < STEPS; i++)
            places[i] =
                (place){0.03f * (float)i, 0.9f - 0.05f * (float)i, 0, 0, (float)i * 0.17f - 1.0f};
        places[0].level = NO_LEVEL;
        CU_OK(texture_run(room, "read_2d", texture, places, STEPS, found, sizeof found[0]));
        for (int i = 0; i < STEPS; i++) {
            double level = (i == 0 ? 0.0 : (double)places[i].level) + (double)rows[r].bias, low[4],
                   high[4];
            level = fmax(level, (double)rows[r].low);
            level = fmin(level, (double)rows[r].high);
            level = fmin(fmax(level, 0.0), (double)(rows[r].last - rows[r].first));
            double part = level - floor(level);
            if (rows[r].mip == CU_TR_FILTER_MODE_POINT) {
                if (fabs(part - 0.5) < 0.001) continue;
                level = floor(level + 0.5);
                part = 0;
            }
            const unsigned first = rows[r].first + (unsigned)level;
            REQUIRE(reference_read(&images[first], &desc, &places[i], low));
            REQUIRE(reference_read(&images[part > 0 ? first + 1 : first], &desc, &places[i], high));
            for (int c = 0; c < 4; c++)
                if (fabs((1 - part) * low[c] + part * high[c] - (double)found[i][c]) > 2e-5)
                    FAIL("row %zu, level %g", r, (double)places[i].level);
        }
        CU_OK(room->t.cu->TexObjectDestroy(texture));
    }
    for (unsigned i = 0; i < LEVELS; i++)
        free((void *)(uintptr_t)images[i].texels);
}

/* Plain memory: by element, and as a pitched image. */
ROOM_CASE(memory)
{
    enum { W = 24, H = 5, PITCH = 416 };
    float texels[PITCH / 16 * H][4], found[W * H][4];
    place places[W * H];
    const raw_cuda *cu = room->t.cu;
    CUtexObject texture;
    CUDA_TEXTURE_DESC desc = texture_desc(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0);
    CUDA_RESOURCE_DESC resource;
    texture_noise(&texels[0][0], sizeof texels / sizeof(float), 5);
    CUdeviceptr pointer = raw_cuda_memory(cu, 8192);
    const CUdeviceptr start = (pointer + 511) / 512 * 512;
    CU_OK(raw_cuda_upload(cu, start, texels, sizeof texels));
    memset(&resource, 0, sizeof resource);
    resource.resType = CU_RESOURCE_TYPE_LINEAR;
    resource.res.linear.devPtr = start;
    resource.res.linear.format = CU_AD_FORMAT_FLOAT;
    resource.res.linear.numChannels = 4;
    resource.res.linear.sizeInBytes = W * 16;
    CU_OK(cu->TexObjectCreate(&texture, &resource, &desc, NULL));
    for (int i = 0; i < W + 2; i++)
        places[i] = (place){.layer = i - 1};
    CU_OK(texture_run(room, "fetch", texture, places, W + 2, found, sizeof found[0]));
    REQUIRE_EQ_BYTES(found[1], texels, W * 16);
    REQUIRE(found[0][0] == 0.0f && found[W + 1][0] == 0.0f); /* outside */
    CU_OK(cu->TexObjectDestroy(texture));
    resource.res.linear.sizeInBytes = 8192 + 16;
    CU_IS(cu->TexObjectCreate(&texture, &resource, &desc, NULL), CUDA_ERROR_INVALID_VALUE);

    memset(&resource, 0, sizeof resource);
    resource.resType = CU_RESOURCE_TYPE_PITCH2D;
    resource.res.pitch2D.devPtr = start;
    resource.res.pitch2D.format = CU_AD_FORMAT_FLOAT;
    resource.res.pitch2D.numChannels = 4;
    resource.res.pitch2D.width = W;
    resource.res.pitch2D.height = H;
    resource.res.pitch2D.pitchInBytes = PITCH;
    CU_OK(cu->TexObjectCreate(&texture, &resource, &desc, NULL));
    for (int i = 0; i < W * H; i++)
        places[i] = (place){(float)(i % W) + 0.5f, (float)(i / W) + 0.5f, 0, 0, NO_LEVEL};
    CU_OK(texture_run(room, "read_2d", texture, places, W * H, found, sizeof found[0]));
    for (int y = 0; y < H; y++)
        REQUIRE_EQ_BYTES(found[y * W], texels[y * (PITCH / 16)], W * 16);
    CU_OK(cu->TexObjectDestroy(texture));
}
