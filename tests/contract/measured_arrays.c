/* SPDX-License-Identifier: MIT */
/* Contract rows that report: arrays and textures where the texts leave open what is taken, and in
 * which order they may be given up. The twin's answers are required. */
#include "images.h"

#include <math.h>

#define REPORTED "the twin's answers are required, NVIDIA's reported"

/* Objects that outlive what they are of: only given up, never used. */
static void try_orders(size_t first, size_t end)
{
    static const char *const what[] = {"a texture of an array", "a surface of an array",
                                       "a texture of a mapped image",
                                       "a texture of a mapped image's level"};
    static const char row[] = "destroyed_after_its_array";
    const CUDA_TEXTURE_DESC how =
        image_sampling(CU_TR_FILTER_MODE_POINT, CU_TRSF_NORMALIZED_COORDINATES, 0);
    for (size_t i = first; i < end; i++) {
        pair p;
        shared_image image;
        CUarray array = NULL;
        CUtexObject texture = 0;
        CUsurfObject surface = 0;
        pair_open(&p);
        if (i < 2) {
            const CUDA_ARRAY3D_DESCRIPTOR desc =
                raw_cuda_array_desc(CU_AD_FORMAT_UNSIGNED_INT8, 4, 64, 64);
            CU_OK(p.cu->Array3DCreate(&array, &desc));
        } else {
            shared_image_open(&p, &image_formats[IMAGE_RGBA8], 64, 64, 1, 0, &image);
        }
        if (i == 0) CU_OK(raw_cuda_texture(p.cu, array, &how, &texture));
        if (i == 1) CU_OK(raw_cuda_surface(p.cu, array, &surface));
        if (i == 2) CU_OK(raw_cuda_mip_texture(p.cu, image.mipmap, &how, &texture));
        if (i == 3) CU_OK(raw_cuda_texture(p.cu, image_level(&p, image.mipmap, 0), &how, &texture));
        if (i < 2)
            CU_OK(p.cu->ArrayDestroy(array));
        else
            shared_image_close(&p, &image);
        CUresult result =
            texture != 0 ? p.cu->TexObjectDestroy(texture) : p.cu->SurfObjectDestroy(surface);
        image_answer(row, what[i], result);
        char then[80];
        snprintf(then, sizeof then, "%s, the context then", what[i]);
        image_answer(row, then, p.cu->CtxSynchronize());
        if (!p.cu->software) test_pass(); /* nothing more is to be done with it */
        pair_close(&p);
    }
}

IMAGE_ROWS(orders, "measured.destroyed_last", "measured.destroyed_last_child", 4, 1, try_orders,
           .mark = TEST_TWIN_STRICTER, .reason = REPORTED, .own = true)

/* Of planes, with and without the flag for surfaces on the whole. */
static void try_planes(size_t first, size_t end)
{
    static const char row[] = "surface_of_a_plane";
    static const struct {
        const char *what;
        int format;
        unsigned flags;
    } rows[] = {{"NV12 with SURFACE_LDST", 0xb0, CUDA_ARRAY3D_SURFACE_LDST},
                {"NV12 without", 0xb0, 0},
                {"P010 with SURFACE_LDST", 0x9f, CUDA_ARRAY3D_SURFACE_LDST},
                {"P010 without", 0x9f, 0}};
    pair p;
    pair_open(&p);
    if (p.cu->ArrayGetPlane == NULL) SKIP("this driver has no planes");
    for (size_t i = first; i < end; i++) {
        CUDA_ARRAY3D_DESCRIPTOR desc =
            raw_cuda_array_desc((CUarray_format)rows[i].format, 3, 64, 32);
        CUarray array = NULL;
        CUsurfObject surface = 0;
        desc.Flags = rows[i].flags;
        CUresult result = p.cu->Array3DCreate(&array, &desc);
        image_answer(row, rows[i].what, result);
        CU_IS(result, CUDA_ERROR_INVALID_VALUE);
        if (!p.cu->software) continue;
        desc.Flags |= 0x100; /* CUDA_ARRAY3D_VIDEO_ENCODE_DECODE, with which it was not tried */
        array = raw_cuda_array(p.cu, &desc);
        result = raw_cuda_surface(p.cu, array, &surface);
        char part[48];
        snprintf(part, sizeof part, "%s, of the whole", rows[i].what);
        image_answer(row, part, result);
        if (result == CUDA_SUCCESS) CU_OK(p.cu->SurfObjectDestroy(surface));
        for (unsigned n = 0; n < 2; n++) {
            CUarray plane = NULL;
            CUtexObject texture = 0;
            CU_OK(p.cu->ArrayGetPlane(&plane, array, n));
            result = raw_cuda_surface(p.cu, plane, &surface);
            snprintf(part, sizeof part, "%s, of plane %u", rows[i].what, n);
            image_answer(row, part, result);
            if (result == CUDA_SUCCESS) CU_OK(p.cu->SurfObjectDestroy(surface));
            result = raw_cuda_texture(p.cu, plane, NULL, &texture);
            image_answer("texture_of_a_plane", part, result);
            if (result == CUDA_SUCCESS) CU_OK(p.cu->TexObjectDestroy(texture));
        }
    }
    pair_close(&p);
}

IMAGE_ROWS(planes, "measured.surfaces_of_planes", "measured.surfaces_of_planes_child", 4, 1,
           try_planes, .mark = TEST_TWIN_STRICTER, .reason = REPORTED)

/* Block-compressed arrays of CUDA's own, whose sides are no multiples of four. */
typedef struct size_row {
    const char *what;
    size_t width, height;
    unsigned levels; /* 0: cuArray3DCreate */
} size_row;

static const size_row size_rows[] = {
    {"64 x 64", 64, 64, 0},
    {"61 x 38", 61, 38, 0},
    {"62 x 64", 62, 64, 0},
    {"64 x 62", 64, 62, 0},
    {"3 x 3", 3, 3, 0},
    {"1 x 1", 1, 1, 0},
    {"1D, 61", 61, 0, 0},
    {"64 x 64, 7 levels", 64, 64, 7},
    {"61 x 38, 6 levels", 61, 38, 6},
    {"60 x 36, 1 level", 60, 36, 1},
};
enum { SIZE_ROWS = sizeof size_rows / sizeof size_rows[0] };

/* Rows counted in blocks, what was written is read. */
static void copy_blocks(const pair *p, const size_row *r, CUarray array, size_t width,
                        size_t height, size_t bytes)
{
    const size_t across = (width + 3) / 4 * bytes, down = height == 0 ? 1 : (height + 3) / 4;
    unsigned char *in = test_memory(across * down), *out = test_memory(across * down);
    for (size_t i = 0; i < across * down; i++)
        in[i] = (unsigned char)(i * 31 + width);
    CUresult result = raw_cuda_write_array(p->cu, array, in, across, down);
    if (result == CUDA_SUCCESS) result = raw_cuda_read_array(p->cu, array, out, across, down);
    const size_t wrong = image_wrong_bytes(out, in, across * down);
    ANSWER(answer_key("BC%d: %s, %zu x %zu of blocks copied", bytes == 8 ? 1 : 7, r->what, width,
                      height),
           "%s, %zu of %zu bytes wrong", raw_cuda_result_name(result), wrong, across * down);
}

static void try_size(const pair *p, const size_row *r, int format, size_t bytes)
{
    CUDA_ARRAY3D_DESCRIPTOR desc =
                                raw_cuda_array_desc((CUarray_format)format, 4, r->width, r->height),
                            found;
    CUarray array = NULL;
    CUmipmappedArray mipmap = NULL;
    desc.Flags = 0;
    CUresult result = r->levels == 0 ? p->cu->Array3DCreate(&array, &desc)
                                     : p->cu->MipmappedArrayCreate(&mipmap, &desc, r->levels);
    const CUresult expected = r->height == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    image_answer(format == 0x91 ? "BC1" : "BC7", r->what, result);
    CU_IS(result, expected);
    if (result != CUDA_SUCCESS) return;
    if (mipmap != NULL) array = image_level(p, mipmap, r->levels - 1);
    CU_OK(p->cu->Array3DGetDescriptor(&found, array));
    ANSWER(answer_key("BC%d: %s, the %s is told as", bytes == 8 ? 1 : 7, r->what,
                      mipmap == NULL ? "array" : "last level"),
           "%zu x %zu", found.Width, found.Height);
    const uint32_t last = r->levels == 0 ? 0 : r->levels - 1;
    const size_t width = r->width >> last, height = r->height >> last;
    if (p->cu->software) REQUIRE(found.Width == (width == 0 ? 1 : width) && found.Height >= height);
    copy_blocks(p, r, array, found.Width, found.Height, bytes);
    if (mipmap != NULL)
        CU_OK(p->cu->MipmappedArrayDestroy(mipmap));
    else
        CU_OK(p->cu->ArrayDestroy(array));
}

static void try_sizes(size_t first, size_t end)
{
    pair p;
    pair_open(&p);
    for (size_t i = first; i < end; i++) {
        try_size(&p, &size_rows[i % SIZE_ROWS], i < SIZE_ROWS ? 0x91 : 0x9d,
                 i < SIZE_ROWS ? 8 : 16);
        CU_OK(p.cu->CtxSynchronize());
    }
    pair_close(&p);
}

IMAGE_ROWS(sizes, "measured.block_sizes", "measured.block_sizes_child", 2 * SIZE_ROWS, SIZE_ROWS,
           try_sizes, .mark = TEST_TWIN_STRICTER, .reason = REPORTED)

/* As in texture_kernels.cu. */
typedef struct place {
    float x, y, z;
    int layer;
    float level;
} place;

enum { LEVELS = 5, SIDE = 16, READS = 6 };

/* VK_LOD_CLAMP_NONE is 1000, and what a sampler of Vulkan's says is handed on. Each level holds its
 * number. */
static void try_clamps(size_t first, size_t end)
{
    static const float most[] = {0, 2, 4, 15, 16, 100, 1000, HUGE_VALF};
    static const float asked[READS] = {0, 1, 3, 4, 15, 200};
    pair p;
    place places[READS];
    float read[READS];
    int count = READS;
    pair_open(&p);
    CUmodule module = raw_cuda_module(p.cu, "texture_kernels");
    CUfunction kernel = raw_cuda_function(p.cu, module, "read_2d_float");
    shared_image image = pair_image(&p, &image_formats[IMAGE_R32F], SIDE, SIDE, LEVELS, 0);
    for (uint32_t level = 0; level < LEVELS; level++) {
        float texels[SIDE * SIDE];
        for (size_t i = 0; i < SIDE * SIDE; i++)
            texels[i] = (float)level;
        raw_vk_image_write(&p.vk, &image.vk, level, texels);
    }
    for (size_t i = 0; i < READS; i++)
        places[i] = (place){0.5f, 0.5f, 0, 0, asked[i]};
    CUdeviceptr in = raw_cuda_memory(p.cu, sizeof places);
    CUdeviceptr found = raw_cuda_memory(p.cu, sizeof read);
    CU_OK(raw_cuda_upload(p.cu, in, places, sizeof places));
    for (size_t i = first; i < end; i++) {
        const CUDA_TEXTURE_DESC how =
            image_sampling(CU_TR_FILTER_MODE_POINT, CU_TRSF_NORMALIZED_COORDINATES, most[i]);
        CUtexObject texture = 0;
        unsigned wrong = 0;
        CUresult result = raw_cuda_mip_texture(p.cu, image.mipmap, &how, &texture);
        answer_call(answer_key("a clamp at %g", (double)most[i]), result);
        if (result != CUDA_SUCCESS) continue;
        void *params[] = {&texture, &in, &found, &count};
        CU_OK(p.cu->LaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, p.stream, params, NULL));
        CU_OK(p.cu->StreamSynchronize(p.stream));
        CU_OK(p.cu->MemcpyDtoH(read, found, sizeof read));
        for (size_t k = 0; k < READS; k++)
            wrong += fabsf(read[k] - fminf(fminf(asked[k], most[i]), LEVELS - 1)) > 0;
        ANSWER(answer_key("levels read with a clamp at %g", (double)most[i]), "%g %g %g %g %g %g",
               (double)read[0], (double)read[1], (double)read[2], (double)read[3], (double)read[4],
               (double)read[5]);
        CU_OK(p.cu->TexObjectDestroy(texture));
    }
    pair_close(&p);
}

IMAGE_ROWS(clamps, "measured.level_clamps", "measured.level_clamps_child", 8, 8, try_clamps,
           .mark = TEST_TWIN_STRICTER, .reason = REPORTED)
