/* SPDX-License-Identifier: MIT */
/* Texture objects: what they read, against a reference; formats, what is refused, what faults. */
#define TEST_GROUP "textures."
#include "raw_cuda_image.h"
#include "twin.h"

#include <math.h>
#include <string.h>

typedef raw_cuda_place place;
#define NO_LEVEL (-1000.0f)

typedef struct reference_image {
    int directions; /* 1 to 3 that are filtered; 2 of a cube's face */
    bool cube;
    int width, height, slices; /* slices: depth, layers, or faces of all layers */
    const float (*texels)[4];
} reference_image;

typedef struct texture_room {
    twin t;
    CUmodule module;
} texture_room;

#define ROOM_CASE(...)                                                                             \
    TEST_ON(texture_room, room, *room = texture_room_open(), texture_room_close(room), __VA_ARGS__)

#define TOO_CLOSE 0.002

/* The index that stands for this one, -1 for the border's: one step at a time. */
static int address(CUaddress_mode mode, int index, int extent)
{
    switch (mode) {
    case CU_TR_ADDRESS_MODE_WRAP:
        while (index < 0)
            index += extent;
        while (index >= extent)
            index -= extent;
        return index;
    case CU_TR_ADDRESS_MODE_MIRROR:
        while (index < 0 || index >= extent)
            index = index < 0 ? -1 - index : 2 * extent - 1 - index;
        return index;
    case CU_TR_ADDRESS_MODE_BORDER: return index < 0 || index >= extent ? -1 : index;
    default: return index < 0 ? 0 : index >= extent ? extent - 1 : index;
    }
}

static void read_texel(const reference_image *image, const CUDA_TEXTURE_DESC *desc,
                       const int index[3], int slice, double out[4])
{
    const int extent[3] = {image->width, image->height, image->slices};
    int at[3] = {0, 0, slice};
    for (int d = 0; d < image->directions; d++)
        at[d] = address(desc->addressMode[d], index[d], extent[d]);
    for (int c = 0; c < 4; c++)
        out[c] =
            at[0] < 0 || at[1] < 0 || at[2] < 0
                ? (double)desc->borderColor[c]
                : (double)image->texels[((size_t)at[2] * (size_t)image->height + (size_t)at[1]) *
                                            (size_t)image->width +
                                        (size_t)at[0]][c];
}

static bool read_box(const reference_image *image, const CUDA_TEXTURE_DESC *desc,
                     const double where[3], int slice, double out[4])
{
    const int extent[3] = {image->width, image->height, image->slices};
    const bool linear = desc->filterMode == CU_TR_FILTER_MODE_LINEAR;
    const bool normalized = image->cube || (desc->flags & CU_TRSF_NORMALIZED_COORDINATES);
    double part[3];
    int first[3] = {0, 0, 0};
    for (int d = 0; d < image->directions; d++) {
        double at = normalized ? where[d] * extent[d] : where[d];
        if (linear) at -= 0.5;
        first[d] = (int)floor(at);
        part[d] = at - floor(at);
        if (!linear && (part[d] < TOO_CLOSE || part[d] > 1 - TOO_CLOSE)) return false;
    }
    if (!linear) {
        read_texel(image, desc, first, slice, out);
        return true;
    }
    memset(out, 0, 4 * sizeof out[0]);
    for (int corner = 0; corner < 1 << image->directions; corner++) {
        double weight = 1, texel[4];
        int index[3] = {first[0], first[1], first[2]};
        for (int d = 0; d < image->directions; d++) {
            weight *= corner >> d & 1 ? part[d] : 1 - part[d];
            index[d] += corner >> d & 1;
        }
        read_texel(image, desc, index, slice, texel);
        for (int c = 0; c < 4; c++)
            out[c] += weight * texel[c];
    }
    return true;
}

/* The guide's table of faces: the major axis, then s and t as (axis, sign). */
static const struct {
    int major, sign, s, s_sign, t, t_sign;
} faces[6] = {{0, 1, 2, -1, 1, -1}, {0, -1, 2, 1, 1, -1}, {1, 1, 0, 1, 2, 1},
              {1, -1, 0, 1, 2, -1}, {2, 1, 0, 1, 1, -1},  {2, -1, 0, -1, 1, -1}};

static void point_on_face(int face, double s, double t, double out[3])
{
    out[faces[face].major] = faces[face].sign;
    out[faces[face].s] = s * faces[face].s_sign;
    out[faces[face].t] = t * faces[face].t_sign;
}

/* Beyond a face's border: the texel of another face that is nearest in space. */
static void read_beside(const reference_image *image, int face, int x, int y, int first_slice,
                        double out[4])
{
    const int n = image->width;
    double want[3], best = 1e9;
    int best_face = 0, best_x = 0, best_y = 0;
    point_on_face(face, (2 * x + 1.0) / n - 1, (2 * y + 1.0) / n - 1, want);
    for (int f = 0; f < 6; f++)
        for (int j = 0; j < n && f != face; j++)
            for (int i = 0; i < n; i++) {
                double found[3], distance = 0;
                point_on_face(f, (2 * i + 1.0) / n - 1, (2 * j + 1.0) / n - 1, found);
                for (int d = 0; d < 3; d++)
                    distance += (found[d] - want[d]) * (found[d] - want[d]);
                if (distance >= best) continue;
                best = distance;
                best_face = f;
                best_x = i;
                best_y = j;
            }
    const float *texel =
        image->texels[((size_t)(first_slice + best_face) * (size_t)n + (size_t)best_y) * (size_t)n +
                      (size_t)best_x];
    for (int c = 0; c < 4; c++)
        out[c] = (double)texel[c];
}

static bool read_seamless(const reference_image *image, int face, double s, double t,
                          int first_slice, double out[4])
{
    const int n = image->width;
    const double x = (s + 1) / 2 * n - 0.5, y = (t + 1) / 2 * n - 0.5;
    const int left = (int)floor(x), top = (int)floor(y);
    double texels[4][4], others[4] = {0}, weights[4];
    int corner = -1;
    for (int i = 0; i < 4; i++) {
        const int tx = left + i % 2, ty = top + i / 2;
        const bool off_x = tx < 0 || tx >= n, off_y = ty < 0 || ty >= n;
        weights[i] = (i % 2 ? x - left : 1 - (x - left)) * (i / 2 ? y - top : 1 - (y - top));
        if (off_x && off_y) {
            corner = i;
            continue;
        }
        if (off_x || off_y)
            read_beside(image, face, tx, ty, first_slice, texels[i]);
        else
            for (int c = 0; c < 4; c++)
                texels[i][c] =
                    (double)image->texels[((size_t)(first_slice + face) * (size_t)n + (size_t)ty) *
                                              (size_t)n +
                                          (size_t)tx][c];
        for (int c = 0; c < 4; c++)
            others[c] += texels[i][c];
    }
    for (int c = 0; c < 4; c++) {
        if (corner >= 0) texels[corner][c] = others[c] / 3;
        out[c] = 0;
        for (int i = 0; i < 4; i++)
            out[c] += weights[i] * texels[i][c];
    }
    return true;
}

static bool read_cube(const reference_image *image, const CUDA_TEXTURE_DESC *desc, const place *p,
                      double out[4])
{
    const double direction[3] = {(double)p->x, (double)p->y, (double)p->z};
    int major = 0;
    for (int d = 1; d < 3; d++)
        if (fabs(direction[d]) > fabs(direction[major])) major = d;
    for (int d = 0; d < 3; d++) /* which face, can only be told away from the edges */
        if (d != major && fabs(direction[major]) - fabs(direction[d]) < TOO_CLOSE) return false;
    const int face = 2 * major + (direction[major] < 0);
    const double length = fabs(direction[major]);
    const double s = direction[faces[face].s] * faces[face].s_sign / length,
                 t = direction[faces[face].t] * faces[face].t_sign / length;
    if (desc->flags & CU_TRSF_SEAMLESS_CUBEMAP && desc->filterMode == CU_TR_FILTER_MODE_LINEAR)
        return read_seamless(image, face, s, t, 6 * p->layer, out);
    CUDA_TEXTURE_DESC on_face = *desc;
    if (desc->flags & CU_TRSF_SEAMLESS_CUBEMAP)
        on_face.addressMode[0] = on_face.addressMode[1] = CU_TR_ADDRESS_MODE_CLAMP;
    return read_box(image, &on_face, (const double[3]){(s + 1) / 2, (t + 1) / 2, 0},
                    6 * p->layer + face, out);
}

/* One level. False where the place is too close to the border of two texels to tell which one is
 * read. */
static bool reference_read(const reference_image *image, const CUDA_TEXTURE_DESC *desc,
                           const place *p, double out[4])
{
    if (image->cube) return read_cube(image, desc, p, out);
    return read_box(image, desc, (const double[3]){(double)p->x, (double)p->y, (double)p->z},
                    p->layer, out);
}

static texture_room texture_room_open(void)
{
    texture_room room = {.t = twin_begin(CU_STREAM_NON_BLOCKING)};
    room.module = raw_cuda_module(room.t.cu, "texture_kernels");
    return room;
}

static void texture_room_close(texture_room *room)
{
    twin_finish(&room->t);
}

static CUresult texture_run(texture_room *room, const char *kernel, CUtexObject texture,
                            const place *places, int count, void *out, size_t bytes)
{
    return raw_cuda_read_places(room->t.cu, raw_cuda_function(room->t.cu, room->module, kernel),
                                texture, places, count, out, bytes, room->t.stream);
}

static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Floats in [-1, 1] by a seed, and places around an extent of `size` (1: normalized). */
static void texture_noise(float *out, size_t count, unsigned seed)
{
    uint32_t state = seed;
    for (size_t i = 0; i < count; i++)
        out[i] = (float)next(&state) / 8388608.0f - 1.0f;
}

static void texture_places(place *out, int count, const float size[3], int layers, float level,
                           unsigned seed)
{
    uint32_t state = seed;
    for (int i = 0; i < count; i++) {
        float unit[3]; /* from -1.5 to 2.5: a good part of it outside */
        for (int d = 0; d < 3; d++)
            unit[d] = (float)next(&state) / 16777216.0f * 4.0f - 1.5f;
        out[i] = (place){.x = unit[0] * size[0],
                         .y = unit[1] * size[1],
                         .z = unit[2] * size[2],
                         .layer = (int)(next(&state) % (unsigned)layers),
                         .level = level};
    }
}

/* Requires what the reference says, within `tolerance`; returns how many places could be told. */
static int texture_compare(const reference_image *image, const CUDA_TEXTURE_DESC *desc,
                           const place *places, int count, const float (*found)[4],
                           double tolerance)
{
    int told = 0;
    for (int i = 0; i < count; i++) {
        double expected[4];
        if (!reference_read(image, desc, &places[i], expected)) continue;
        told++;
        for (int c = 0; c < 4; c++)
            if (!(fabs((double)found[i][c] - expected[c]) <= tolerance))
                FAIL("place %d (%g, %g, %g, layer %d), channel %d: %g, not %g", i,
                     (double)places[i].x, (double)places[i].y, (double)places[i].z, places[i].layer,
                     c, (double)found[i][c], expected[c]);
    }
    return told;
}

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
    float(*texels)[4] = test_memory(desc->Width * height * depth * sizeof *texels);
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
    CUDA_TEXTURE_DESC desc = raw_cuda_sampling(mode, filter, flags);
    const bool unit = s->cube || (flags & CU_TRSF_NORMALIZED_COORDINATES);
    const float size[3] = {unit ? 1.0f : (float)s->width, unit ? 1.0f : (float)s->height,
                           unit ? 1.0f : (float)s->depth};
    reference_image image = {.directions = s->directions, .cube = s->cube};
    place places[COUNT];
    float found[COUNT][4];
    for (int c = 0; c < 4; c++)
        desc.borderColor[c] = (float)c + 2.5f;
    CUarray array = raw_cuda_array(cu, &array_desc);
    fill_array(&room->t, array, &array_desc, &image, 7);
    CUtexObject texture = raw_cuda_texture_of(cu, array, &desc);
    for (int with_level = 0; with_level < 2; with_level++) {
        texture_places(places, COUNT, size, layers_of(s), with_level ? 3.0f : NO_LEVEL, 11);
        CU_OK(texture_run(room, s->kernel, texture, places, COUNT, found, sizeof found[0]));
        int told = texture_compare(&image, &desc, places, COUNT, (const float(*)[4])found, 2e-4);
        REQUIRE(told > COUNT * 9 / 10);
    }
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
                const CUDA_TEXTURE_DESC desc = raw_cuda_sampling(
                    (CUaddress_mode)mode, (CUfilter_mode)filter, CU_TRSF_NORMALIZED_COORDINATES);
                CUarray array = raw_cuda_array(room->t.cu, &array_desc);
                CUtexObject texture = raw_cuda_texture_of(room->t.cu, array, &desc);
                CU_OK(texture_run(room, shapes[i].kernel, texture, places, N * 4, found,
                                  sizeof found[0]));
                for (int k = 0; k < N * 4 && filter == 0; k++)
                    REQUIRE(found[k][0] == 0.0f);
            }
}

ROOM_CASE(layers_are_clamped)
{
    const shape *s = &shapes[4];
    const CUDA_ARRAY3D_DESCRIPTOR array_desc = shape_desc(s);
    const CUDA_TEXTURE_DESC desc =
        raw_cuda_sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0);
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
}

/* Levels between two, with a bias, within clamps: each holds its number. Without a bias they are
 * read by textures.settings_read of library-images and placed.views of the contract suite, too. */
ROOM_CASE(levels)
{
    enum { LEVELS = 4, STEPS = 41 };
    const CUDA_ARRAY3D_DESCRIPTOR array_desc = shape_desc(&shapes[1]);
    static const struct {
        CUfilter_mode mip;
        float bias, low, high;
    } rows[] = {{CU_TR_FILTER_MODE_POINT, 0.75f, 0, 100},
                {CU_TR_FILTER_MODE_LINEAR, 0.75f, 0, 100},
                {CU_TR_FILTER_MODE_LINEAR, -1.5f, 0.25f, 2.125f}};
    float texels[13 * 7 * 4];
    CUmipmappedArray mipmap = raw_cuda_mipmap(room->t.cu, &array_desc, LEVELS);
    for (unsigned i = 0; i < LEVELS; i++) {
        CUarray level;
        CUDA_ARRAY3D_DESCRIPTOR desc;
        CU_OK(room->t.cu->MipmappedArrayGetLevel(&level, mipmap, i));
        CU_OK(room->t.cu->Array3DGetDescriptor(&desc, level));
        for (size_t k = 0; k < sizeof texels / sizeof texels[0]; k++)
            texels[k] = (float)i;
        CU_OK(raw_cuda_write_array(room->t.cu, level, texels, desc.Width * 16, desc.Height));
    }
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        CUDA_TEXTURE_DESC desc = raw_cuda_sampling(
            CU_TR_ADDRESS_MODE_MIRROR, CU_TR_FILTER_MODE_LINEAR, CU_TRSF_NORMALIZED_COORDINATES);
        desc.mipmapFilterMode = rows[r].mip;
        desc.mipmapLevelBias = rows[r].bias;
        desc.minMipmapLevelClamp = rows[r].low;
        desc.maxMipmapLevelClamp = rows[r].high;
        desc.maxAnisotropy = 16;
        place places[STEPS];
        float found[STEPS][4];
        for (int i = 0; i < STEPS; i++)
            places[i] =
                (place){0.03f * (float)i, 0.9f - 0.05f * (float)i, 0, 0, (float)i * 0.17f - 1.0f};
        places[0].level = NO_LEVEL;
        CUtexObject texture = raw_cuda_mip_texture_of(room->t.cu, mipmap, &desc);
        CU_OK(texture_run(room, "read_2d", texture, places, STEPS, found, sizeof found[0]));
        for (int i = 0; i < STEPS; i++) {
            double level = (i == 0 ? 0.0 : (double)places[i].level) + (double)rows[r].bias;
            level = fmin(fmax(level, (double)rows[r].low), (double)rows[r].high);
            level = fmin(fmax(level, 0.0), LEVELS - 1);
            if (rows[r].mip == CU_TR_FILTER_MODE_POINT) {
                if (fabs(level - floor(level) - 0.5) < 0.001) continue;
                level = floor(level + 0.5);
            }
            for (int c = 0; c < 4; c++)
                if (fabs(level - (double)found[i][c]) > 2e-5)
                    FAIL("row %zu, level %g", r, (double)places[i].level);
        }
    }
}

/* Plain memory: by element, and as a pitched image. */
ROOM_CASE(memory)
{
    enum { W = 24, H = 5, PITCH = 416 };
    float texels[PITCH / 16 * H][4], found[W * H][4];
    place places[W * H];
    const raw_cuda *cu = room->t.cu;
    CUtexObject texture;
    CUDA_TEXTURE_DESC desc =
        raw_cuda_sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0);
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

/* One texel of a 1x1 image. */
static void read_one(texture_room *room, CUarray_format format, unsigned channels,
                     const void *texel, size_t bytes, unsigned flags, const char *kernel, void *out,
                     size_t out_bytes)
{
    const raw_cuda *cu = room->t.cu;
    CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(format, channels, 1, 1);
    const CUDA_TEXTURE_DESC sampling =
        raw_cuda_sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, flags);
    const place where = {0.5f, 0.5f, 0, 0, NO_LEVEL};
    desc.Flags = 0;
    CUarray array = raw_cuda_array(cu, &desc);
    CU_OK(raw_cuda_write_array(cu, array, texel, bytes, 1));
    CUtexObject texture = raw_cuda_texture_of(cu, array, &sampling);
    CU_OK(texture_run(room, kernel, texture, &where, 1, out, out_bytes));
}

ROOM_CASE(integers)
{
    static const uint8_t bytes[4] = {0, 255, 51, 128};
    static const int8_t signs[4] = {-128, -1, 127, 0};
    static const int16_t shorts[2] = {-32768, 1000};
    static const uint16_t words[2] = {65535, 1000};
    static const int32_t ints[4] = {INT32_MIN, -1, INT32_MAX, 5};
    uint8_t found_bytes[4];
    uint32_t found_words[4];
    int32_t found_ints[4];
    uint16_t found_short[2];
    read_one(room, CU_AD_FORMAT_UNSIGNED_INT8, 4, bytes, 4, CU_TRSF_READ_AS_INTEGER,
             "read_2d_uchar4", found_bytes, 4);
    REQUIRE_EQ_BYTES(found_bytes, bytes, 4);
    read_one(room, CU_AD_FORMAT_UNSIGNED_INT8, 4, bytes, 4, CU_TRSF_READ_AS_INTEGER,
             "read_2d_uint4", found_words, 16);
    read_one(room, CU_AD_FORMAT_SIGNED_INT8, 4, signs, 4, CU_TRSF_READ_AS_INTEGER, "read_2d_int4",
             found_ints, 16);
    for (int c = 0; c < 4; c++)
        REQUIRE(found_words[c] == bytes[c] && found_ints[c] == signs[c]);
    read_one(room, CU_AD_FORMAT_SIGNED_INT16, 2, shorts, 4, CU_TRSF_READ_AS_INTEGER,
             "read_2d_short2", found_short, 4);
    REQUIRE_EQ_BYTES(found_short, shorts, 4);
    read_one(room, CU_AD_FORMAT_UNSIGNED_INT16, 2, words, 4, CU_TRSF_READ_AS_INTEGER,
             "read_2d_ushort2", found_short, 4);
    REQUIRE_EQ_BYTES(found_short, words, 4);
    /* 32 bits are never promoted. */
    read_one(room, CU_AD_FORMAT_SIGNED_INT32, 4, ints, 16, 0, "read_2d_int4", found_ints, 16);
    REQUIRE_EQ_BYTES(found_ints, ints, 16);
}

/* Another format of the same size, and some of the layers. */
ROOM_CASE(views)
{
    enum { W = 3, H = 2, LAYERS = 5 };
    uint8_t texels[LAYERS][H][W][4];
    place places[LAYERS];
    const raw_cuda *cu = room->t.cu;
    CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(CU_AD_FORMAT_UNSIGNED_INT32, 1, W, H);
    CUDA_TEXTURE_DESC sampling =
                          raw_cuda_sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT,
                                            CU_TRSF_READ_AS_INTEGER),
                      found_sampling;
    CUDA_RESOURCE_DESC resource, found_resource;
    CUDA_RESOURCE_VIEW_DESC view, found_view;
    CUtexObject texture;
    for (size_t i = 0; i < sizeof texels; i++)
        (&texels[0][0][0][0])[i] = (uint8_t)(i * 37);
    desc.Depth = LAYERS;
    desc.Flags = CUDA_ARRAY3D_LAYERED;
    CUarray array = raw_cuda_array(cu, &desc);
    CU_OK(raw_cuda_write_box(cu, array, texels, W * 4, H, LAYERS));
    memset(&resource, 0, sizeof resource);
    resource.res.array.hArray = array;
    memset(&view, 0, sizeof view);
    view.format = CU_RES_VIEW_FORMAT_UINT_4X8;
    view.width = W;
    view.height = H;
    view.depth = LAYERS;
    view.firstLayer = 1;
    view.lastLayer = 3;
    const CUDA_RESOURCE_VIEW_DESC good = view;
    CU_OK(cu->TexObjectCreate(&texture, &resource, &sampling, &view));
    CU_OK(cu->TexObjectGetResourceViewDesc(&found_view, texture));
    CU_OK(cu->TexObjectGetResourceDesc(&found_resource, texture));
    memset(&found_sampling, 0, sizeof found_sampling); /* the border colour is not told */
    CU_OK(cu->TexObjectGetTextureDesc(&found_sampling, texture));
    REQUIRE_EQ_BYTES(&found_view, &view, sizeof view);
    REQUIRE_EQ_BYTES(&found_resource, &resource, sizeof resource);
    REQUIRE_EQ_BYTES(&found_sampling, &sampling, sizeof sampling);
    CU_OK(cu->TexObjectDestroy(texture));
    CU_IS(cu->TexObjectDestroy(texture), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cu->TexObjectGetResourceDesc(&found_resource, texture), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cu->TexObjectGetTextureDesc(&found_sampling, texture), CUDA_ERROR_INVALID_VALUE);

    view.format = (CUresourceViewFormat)99;
    CU_IS(cu->TexObjectCreate(&texture, &resource, &sampling, &view), CUDA_ERROR_INVALID_VALUE);
    view = good;
    view.reserved[15] = 1;
    CU_IS(cu->TexObjectCreate(&texture, &resource, &sampling, &view), CUDA_ERROR_INVALID_VALUE);

    /* What is read through it, from an array of four bytes a texel seen as one of halves. */
    desc = raw_cuda_array_desc(CU_AD_FORMAT_UNSIGNED_INT8, 4, 1, 1);
    array = raw_cuda_array(cu, &desc);
    CU_OK(raw_cuda_write_array(cu, array, (const uint8_t[4]){0x00, 0x3c, 0x00, 0xc0}, 4, 1));
    resource.res.array.hArray = array;
    memset(&view, 0, sizeof view);
    view.format = CU_RES_VIEW_FORMAT_FLOAT_2X16;
    view.width = view.height = 1;
    float value = 0;
    places[0] = (place){0.5f, 0.5f, 0, 0, NO_LEVEL};
    CU_OK(cu->TexObjectCreate(&texture, &resource, &sampling, &view));
    CU_OK(texture_run(room, "read_2d_float", texture, places, 1, &value, 4));
    REQUIRE(value == 1.0f);
    CU_OK(cu->TexObjectDestroy(texture));

    /* Layers of a view are counted from its first one. */
    desc = raw_cuda_array_desc(CU_AD_FORMAT_FLOAT, 4, 1, 1);
    desc.Depth = LAYERS;
    desc.Flags = CUDA_ARRAY3D_LAYERED;
    float colors[LAYERS][4], read[LAYERS][4];
    texture_noise(&colors[0][0], LAYERS * 4, 77);
    array = raw_cuda_array(cu, &desc);
    CU_OK(raw_cuda_write_box(cu, array, colors, 16, 1, LAYERS));
    resource.res.array.hArray = array;
    view = good;
    view.format = CU_RES_VIEW_FORMAT_FLOAT_4X32;
    view.width = view.height = 1;
    CU_OK(cu->TexObjectCreate(&texture, &resource, &sampling, &view));
    for (int i = 0; i < LAYERS; i++)
        places[i] = (place){0.5f, 0.5f, 0, i, NO_LEVEL};
    CU_OK(texture_run(room, "read_2d_layered", texture, places, LAYERS, read, sizeof read[0]));
    REQUIRE_EQ_BYTES(read, colors + 1, 3 * sizeof read[0]);
    REQUIRE_EQ_BYTES(read + 4, colors + 3, sizeof read[0]);
    CU_OK(cu->TexObjectDestroy(texture));
}

#define INTEGER CU_TRSF_READ_AS_INTEGER
#define CLAMP   CU_TR_ADDRESS_MODE_CLAMP
#define POINT   CU_TR_FILTER_MODE_POINT
#define U8      CU_AD_FORMAT_UNSIGNED_INT8
#define INVALID CUDA_ERROR_INVALID_VALUE

/* Beside textures.settings, placed.srgb_blocks and bad.textures of the contract suite. */
TWIN_CASE(settings, 0)
{
    static const struct {
        CUarray_format format;
        unsigned channels, array_flags, flags;
        CUfilter_mode mip;
        CUresult result;
    } rows[] = {
        {U8, 4, 0, 0, (CUfilter_mode)2, INVALID},
        {U8, 4, CUDA_ARRAY3D_CUBEMAP, CU_TRSF_SEAMLESS_CUBEMAP, POINT, CUDA_SUCCESS},
        {CU_AD_FORMAT_NV12, 3, 0x100, 0, POINT, CUDA_ERROR_NOT_SUPPORTED},
        {(CUarray_format)0xa7, 2, 0x100, 0, POINT, CUDA_ERROR_NOT_SUPPORTED}, /* Y216 */
    };
    CUtexObject texture;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(rows[i].format, rows[i].channels, 8, 8);
        CUDA_TEXTURE_DESC sampling = raw_cuda_sampling(CLAMP, POINT, rows[i].flags);
        sampling.mipmapFilterMode = rows[i].mip;
        desc.Flags = rows[i].array_flags;
        if (rows[i].array_flags & CUDA_ARRAY3D_CUBEMAP) desc.Depth = 6;
        CUarray array = raw_cuda_array(t->cu, &desc);
        CU_IS(raw_cuda_texture(t->cu, array, &sampling, &texture), rows[i].result);
        if (rows[i].result != CUDA_SUCCESS) continue;
        sampling.reserved[11] = 1;
        CU_IS(raw_cuda_texture(t->cu, array, &sampling, &texture), INVALID);
        sampling.reserved[11] = 0;
        sampling.minMipmapLevelClamp = NAN;
        CU_IS(raw_cuda_texture(t->cu, array, &sampling, &texture), INVALID);
        REQUIRE_EQ(twin_counts(t->cu).textures, 1);
        CU_OK(t->cu->TexObjectDestroy(texture));
    }
    CUDA_RESOURCE_DESC resource = {.resType = (CUresourcetype)4};
    const CUDA_TEXTURE_DESC sampling = raw_cuda_sampling(CLAMP, POINT, 0);
    CU_IS(t->cu->TexObjectCreate(NULL, &resource, &sampling, NULL), INVALID);
    CU_IS(t->cu->TexObjectCreate(&texture, &resource, &sampling, NULL), INVALID);
}

/* What is undefined on the device ends the context here. */
static void require_fault(const char *kernel, CUarray_format format, unsigned channels,
                          unsigned array_flags, unsigned flags, int destroyed)
{
    texture_room room = texture_room_open();
    const raw_cuda *cu = room.t.cu;
    CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(format, channels, 8, 8);
    const CUDA_TEXTURE_DESC sampling = raw_cuda_sampling(CLAMP, POINT, flags);
    const place where = {0.5f, 0.5f, 0, 0, NO_LEVEL};
    float found[4];
    CUarray array;
    CUtexObject texture;
    desc.Flags = array_flags;
    if (array_flags) desc.Depth = 6;
    CU_OK(cu->Array3DCreate(&array, &desc));
    CU_OK(raw_cuda_texture(cu, array, &sampling, &texture));
    if (destroyed == 1) CU_OK(cu->TexObjectDestroy(texture));
    if (destroyed == 2) CU_OK(cu->ArrayDestroy(array));
    CU_IS(texture_run(&room, kernel, destroyed == 3 ? 0 : texture, &where, 1, found, sizeof found),
          CUDA_ERROR_ILLEGAL_ADDRESS);
    if (destroyed != 1) CU_IS(cu->TexObjectDestroy(texture), CUDA_ERROR_ILLEGAL_ADDRESS);
    CU_OK(cu->DevicePrimaryCtxRelease(0));
    CU_OK(cu->DevicePrimaryCtxReset(0));
    CU_OK(cu->CtxSetCurrent(NULL));
    raw_cuda_require_empty(cu);
}

TEST(faults, .faults = true)
{
    for (int destroyed = 1; destroyed <= 3; destroyed++)
        require_fault("read_2d_float", U8, 4, 0, 0, destroyed);
    require_fault("read_1d", U8, 4, 0, 0, 0); /* another kind of array */
    require_fault("read_2d", U8, 4, CUDA_ARRAY3D_LAYERED, 0, 0);
    require_fault("read_2d_layered", U8, 4, CUDA_ARRAY3D_CUBEMAP, 0, 0);
    require_fault("read_3d", U8, 4, CUDA_ARRAY3D_LAYERED, 0, 0);
    require_fault("read_2d", U8, 1, 0, 0, 0);        /* more channels than there are */
    require_fault("read_2d_uchar4", U8, 4, 0, 0, 0); /* floats */
    require_fault("read_2d", U8, 4, 0, INTEGER, 0);
    require_fault("read_2d_int4", U8, 4, 0, INTEGER, 0); /* the other sign */
    require_fault("read_2d_uchar4", CU_AD_FORMAT_UNSIGNED_INT16, 4, 0, INTEGER, 0); /* narrower */
}
