/* SPDX-License-Identifier: MIT */
/* Contract rows: what texture objects on Vulkan's images read. */
#define TEST_GROUP "textures."
#include "images.h"

#include <math.h>

/* As in texture_kernels.cu. */
typedef struct place {
    float x, y, z;
    int layer;
    float level;
} place;
#define NO_LEVEL (-1000.0f)

static void run(const pair *p, CUmodule module, const char *kernel, CUtexObject texture,
                const place *places, int count, void *out, size_t bytes)
{
    CUdeviceptr in, found;
    CU_OK(p->cu->MemAlloc(&in, (size_t)count * sizeof *places));
    CU_OK(p->cu->MemAlloc(&found, (size_t)count * bytes));
    CU_OK(raw_cuda_upload(p->cu, in, places, (size_t)count * sizeof *places));
    void *params[] = {&texture, &in, &found, &count};
    CU_OK(p->cu->LaunchKernel(raw_cuda_function(p->cu, module, kernel), ((unsigned)count + 63) / 64,
                              1, 1, 64, 1, 1, 0, p->stream, params, NULL));
    CU_OK(p->cu->StreamSynchronize(p->stream));
    CU_OK(p->cu->MemcpyDtoH(out, found, (size_t)count * bytes));
    CU_OK(p->cu->MemFree(in));
    CU_OK(p->cu->MemFree(found));
}

/* The middle of every texel of a level, in units of the level's size. */
static place *middles(uint32_t width, uint32_t height, int layer, float level)
{
    place *places = test_memory((size_t)width * height * sizeof *places);
    for (uint32_t i = 0; i < width * height; i++)
        places[i] = (place){((float)(i % width) + 0.5f) / (float)width,
                            ((float)(i / width) + 0.5f) / (float)height, 0.5f, layer, level};
    return places;
}

static bool close_to(double found, double expected, double tolerance)
{
    return fabs(found - expected) <= tolerance; /* no: nan */
}

static void require_close(const char *what, uint32_t at, double found, double expected,
                          double tolerance)
{
    if (!close_to(found, expected, tolerance))
        FAIL("%s, texel %u: %.8f, not %.8f", what, at, found, expected);
}

/* Every level of a mipmapped texture, as floats and as the bytes that are stored. */
PAIR_CASE(levels_of_an_image, .mark = TEST_BOTH)
{
    enum { W = 61, H = 29, LEVELS = 6 };
    const CUDA_TEXTURE_DESC as_floats = image_sampling(CU_TR_FILTER_MODE_POINT,
                                                       CU_TRSF_NORMALIZED_COORDINATES, 100),
                            as_bytes = image_sampling(
                                CU_TR_FILTER_MODE_POINT,
                                CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_READ_AS_INTEGER, 100);
    CUmodule module = raw_cuda_module(p->cu, "texture_kernels");
    shared_image image = pair_image(p, &image_formats[IMAGE_RGBA8], W, H, LEVELS, 0);
    CUtexObject floats = raw_cuda_mip_texture_of(p->cu, image.mipmap, &as_floats);
    CUtexObject bytes = raw_cuda_mip_texture_of(p->cu, image.mipmap, &as_bytes);
    for (uint32_t level = 0; level < LEVELS; level++) {
        const VkExtent3D extent = raw_vk_image_extent(&image.vk, level);
        const uint32_t count = extent.width * extent.height;
        unsigned char *texels = image_pattern(image.format, extent, 7 * level),
                      *stored = test_memory(count * 4);
        float(*found)[4] = test_memory(count * sizeof *found);
        place *places = middles(extent.width, extent.height, 0, (float)level);
        raw_vk_image_write(&p->vk, &image.vk, level, texels);
        run(p, module, "read_2d_uchar4", bytes, places, (int)count, stored, 4);
        const size_t wrong = image_wrong_bytes(stored, texels, count * 4);
        run(p, module, "read_2d", floats, places, (int)count, found, sizeof *found);
        uint32_t off = 0;
        for (uint32_t i = 0; i < count * 4; i++)
            off += !close_to((double)found[i / 4][i % 4], texels[i] / 255.0, 1e-6);
        ANSWER(answer_key("level %u", level), "wrong of %u: bytes %zu, floats %u", count * 4, wrong,
               off);
        REQUIRE(wrong == 0 && off == 0);
    }
}

/* Between two texels, and between two levels. NVIDIA's weights have eight bits. */
PAIR_CASE(filters, .mark = TEST_BOTH, .reason = "within the eight bits of NVIDIA's weights")
{
    enum { N = 9 };
    CUDA_TEXTURE_DESC desc =
        image_sampling(CU_TR_FILTER_MODE_LINEAR, CU_TRSF_NORMALIZED_COORDINATES, 100);
    place places[2 * N];
    float found[2 * N];
    const float first[8] = {0, 1, 0, 1, 0, 1, 0, 1}, second[2] = {3, 3};
    CUmodule module = raw_cuda_module(p->cu, "texture_kernels");
    shared_image image = pair_image(p, &image_formats[IMAGE_R32F], 4, 2, 2, 0);
    raw_vk_image_write(&p->vk, &image.vk, 0, first);
    raw_vk_image_write(&p->vk, &image.vk, 1, second);
    desc.mipmapFilterMode = CU_TR_FILTER_MODE_LINEAR;
    CUtexObject texture = raw_cuda_mip_texture_of(p->cu, image.mipmap, &desc);
    for (int i = 0; i < N; i++) {
        places[i] = (place){(0.5f + (float)i / (N - 1)) / 4, 0.5f, 0, 0, NO_LEVEL};
        places[N + i] = (place){0.5f / 4, 0.5f, 0, 0, (float)i / (N - 1)};
    }
    run(p, module, "read_2d_float", texture, places, 2 * N, found, sizeof found[0]);
    double worst = 0;
    for (int i = 0; i < 2 * N; i++) {
        const double part = i % N / (double)(N - 1), expected = i < N ? part : 3 * part;
        worst = fmax(worst, fabs((double)found[i] - expected));
        require_close(i < N ? "between texels" : "between levels", (uint32_t)i, (double)found[i],
                      expected, 3.0 / 256 + 1e-6);
    }
    ANSWER("the worst of 18 is off by", "%.6f", worst);
}

/* Formats by what a read makes of them: eight bytes or less a texel, and four floats. */
typedef struct texel_row {
    const char *name;
    VkFormat vk;
    int cu;
    unsigned channels, flags;
    size_t bytes;
    unsigned char texel[16];
    double expected[4], tolerance;
} texel_row;

static const texel_row texel_rows[] = {
    TEST_ROW("UNORM8 as integers", VK_FORMAT_R8G8B8A8_UNORM, 0x01, 4, 0, 4, {0, 255, 51, 128},
             {0, 1, 0.2, 128 / 255.0}, 1e-6),
    TEST_ROW("UNORM_INT8X4", VK_FORMAT_R8G8B8A8_UNORM, 0xc2, 4, 0, 4, {0, 255, 51, 128},
             {0, 1, 0.2, 128 / 255.0}, 1e-6),
    TEST_ROW("SNORM8 as integers", VK_FORMAT_R8G8B8A8_SNORM, 0x08, 4, 0, 4, {0x80, 0x81, 0x7f, 64},
             {-1, -1, 1, 64 / 127.0}, 1e-6),
    TEST_ROW("SNORM_INT8X4", VK_FORMAT_R8G8B8A8_SNORM, 0xc8, 4, 0, 4, {0x80, 0x81, 0x7f, 64},
             {-1, -1, 1, 64 / 127.0}, 1e-6),
    TEST_ROW("UNORM16 as integers", VK_FORMAT_R16G16B16A16_UNORM, 0x02, 4, 0, 8,
             {0, 0, 0xff, 0xff, 1, 1, 0, 0x80}, {0, 1, 257 / 65535.0, 32768 / 65535.0}, 1e-6),
    TEST_ROW("UNORM_INT16X4", VK_FORMAT_R16G16B16A16_UNORM, 0xc5, 4, 0, 8,
             {0, 0, 0xff, 0xff, 1, 1, 0, 0x80}, {0, 1, 257 / 65535.0, 32768 / 65535.0}, 1e-6),
    TEST_ROW("SNORM_INT16X4", VK_FORMAT_R16G16B16A16_SNORM, 0xcb, 4, 0, 8,
             {0, 0x80, 1, 0x80, 0xff, 0x7f, 0, 0x40}, {-1, -1, 1, 16384 / 32767.0}, 1e-6),
    TEST_ROW("halves", VK_FORMAT_R16G16B16A16_SFLOAT, 0x10, 4, 0, 8,
             {0, 0x3c, 1, 0xc0, 1, 0, 0xff, 0x7b}, {1, -2.001953125, 1 / 16777216.0, 65504}, 1e-9),
    TEST_ROW("UNORM_INT_101010_2", VK_FORMAT_A2B10G10R10_UNORM_PACK32, 0x50, 4, 0, 4,
             {0xff, 0x57, 0x05, 0x80}, {1, 341 / 1023.0, 0, 2 / 3.0}, 1e-6),
    TEST_ROW("sRGB made linear", VK_FORMAT_R8G8B8A8_SRGB, 0x01, 4, CU_TRSF_SRGB, 4,
             {0, 255, 51, 128}, {0, 1, 0.0331047666, 128 / 255.0}, 2e-3),
    TEST_ROW("sRGB as it is stored", VK_FORMAT_R8G8B8A8_SRGB, 0x01, 4, 0, 4, {0, 255, 51, 128},
             {0, 1, 0.2, 128 / 255.0}, 1e-6),
    TEST_ROW("BGRA in the order of its bytes", VK_FORMAT_B8G8R8A8_UNORM, 0x01, 4, 0, 4,
             {0, 255, 51, 128}, {0, 1, 0.2, 128 / 255.0}, 1e-6),
};

PAIR_CASE(texels, .mark = TEST_BOTH)
{
    CUmodule module = raw_cuda_module(p->cu, "texture_kernels");
    for (size_t i = 0; i < sizeof texel_rows / sizeof texel_rows[0]; i++) {
        const texel_row *row = &texel_rows[i];
        const raw_vk_image_desc desc = {
            .format = row->vk, .width = 8, .height = 8, .flags = RAW_VK_EXPORT};
        const CUDA_ARRAY3D_DESCRIPTOR array =
            raw_cuda_array_desc((CUarray_format)row->cu, row->channels, 8, 8);
        const CUDA_TEXTURE_DESC how = image_sampling(CU_TR_FILTER_MODE_POINT, row->flags, 100);
        const place where = {7.5f, 7.5f, 0, 0, NO_LEVEL};
        unsigned char bytes[8 * 8 * 16];
        float found[4];
        if (!raw_vk_image_supported(&p->vk, &desc)) continue;
        for (size_t k = 0; k < 64; k++)
            memcpy(bytes + k * row->bytes, row->texel, row->bytes);
        raw_vk_image vk = pair_vk_image(p, &desc);
        raw_vk_image_write(&p->vk, &vk, 0, bytes);
        CUexternalMemory memory =
            raw_cuda_imported(p->cu, raw_vk_image_fd(&p->vk, &vk), vk.allocation_size, false);
        CUmipmappedArray mipmap = raw_cuda_mapped_image(p->cu, memory, 0, &array, 1);
        CUtexObject texture = raw_cuda_texture_of(p->cu, image_level(p, mipmap, 0), &how);
        run(p, module, "read_2d", texture, &where, 1, found, sizeof found);
        ANSWER(row->name, "%.5f %.5f %.5f %.5f", (double)found[0], (double)found[1],
               (double)found[2], (double)found[3]);
        for (uint32_t c = 0; c < 4; c++)
            require_close(row->name, c, (double)found[c], row->expected[c], row->tolerance);
    }
}

/* Layers, faces and depth: each slice has a colour of its own. */
PAIR_CASE(slices, .mark = TEST_BOTH)
{
    static const struct {
        const char *kernel;
        uint32_t dimensions, height, depth, layers;
        unsigned flags;
        bool cube;
    } kinds[] = {
        {"read_1d", 1, 1, 1, 1, 0, false},
        {"read_3d", 3, 4, 4, 1, 0, false},
        {"read_1d_layered", 1, 1, 1, 5, CUDA_ARRAY3D_LAYERED, false},
        {"read_2d_layered", 2, 4, 1, 5, CUDA_ARRAY3D_LAYERED, false},
        {"read_cube", 2, 4, 1, 6, CUDA_ARRAY3D_CUBEMAP, true},
        {"read_cube_layered", 2, 4, 1, 12, CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED, true}};
    static const float axes[6][3] = {{1, 0, 0},  {-1, 0, 0}, {0, 1, 0},
                                     {0, -1, 0}, {0, 0, 1},  {0, 0, -1}};
    CUmodule module = raw_cuda_module(p->cu, "texture_kernels");
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        const uint32_t count = kinds[k].dimensions == 3 ? kinds[k].depth : kinds[k].layers;
        const raw_vk_image_desc desc = {.format = VK_FORMAT_R32G32B32A32_SFLOAT,
                                        .width = 4,
                                        .height = kinds[k].height,
                                        .depth = kinds[k].depth,
                                        .layers = kinds[k].layers,
                                        .dimensions = kinds[k].dimensions,
                                        .create_flags =
                                            kinds[k].cube ? VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT : 0,
                                        .flags = RAW_VK_EXPORT};
        CUDA_ARRAY3D_DESCRIPTOR array =
            raw_cuda_array_desc(CU_AD_FORMAT_FLOAT, 4, 4, kinds[k].height);
        const CUDA_TEXTURE_DESC how =
            image_sampling(CU_TR_FILTER_MODE_POINT, CU_TRSF_NORMALIZED_COORDINATES, 100);
        const uint32_t texels_each = 4 * kinds[k].height;
        place places[12];
        float colors[12 * 16][4], found[12][4];
        if (!raw_vk_image_supported(&p->vk, &desc)) continue;
        if (kinds[k].dimensions == 1) array.Height = 0;
        if (count > 1) array.Depth = count;
        array.Flags = kinds[k].flags;
        for (uint32_t i = 0; i < count * texels_each; i++)
            for (uint32_t c = 0; c < 4; c++)
                colors[i][c] = (float)(i / texels_each * 4 + c);
        for (uint32_t i = 0; i < count; i++)
            places[i] =
                kinds[k].cube
                    ? (place){axes[i % 6][0], axes[i % 6][1], axes[i % 6][2], (int)i / 6, NO_LEVEL}
                    : (place){0.6f, 0.6f, ((float)i + 0.5f) / (float)count, (int)i, NO_LEVEL};
        raw_vk_image vk = pair_vk_image(p, &desc);
        raw_vk_image_write(&p->vk, &vk, 0, colors);
        CUexternalMemory memory =
            raw_cuda_imported(p->cu, raw_vk_image_fd(&p->vk, &vk), vk.allocation_size, false);
        CUmipmappedArray mipmap = raw_cuda_mapped_image(p->cu, memory, 0, &array, 1);
        CUtexObject texture = raw_cuda_texture_of(p->cu, image_level(p, mipmap, 0), &how);
        run(p, module, kinds[k].kernel, texture, places, (int)count, found, sizeof found[0]);
        uint32_t right = 0;
        for (uint32_t i = 0; i < count * 4; i++)
            right += close_to((double)found[i / 4][i % 4], i, 0);
        ANSWER(kinds[k].kernel, "%u of %u channels right", right, count * 4);
        REQUIRE_EQ(right, count * 4);
    }
}
