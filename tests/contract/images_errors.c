/* SPDX-License-Identifier: MIT */
/* Contract rows: image mappings, surfaces and array copies that are refused, and descriptors that
 * say something else than Vulkan does. */
#define TEST_GROUP "images."
#include "images.h"

#define REPORTED "the twin's answers are required, NVIDIA's reported"

#define W 253u
#define H 127u

PAIR_CASE(three_channels, .mark = TEST_BOTH)
{
    static const CUarray_format formats[] = {CU_AD_FORMAT_UNSIGNED_INT8, CU_AD_FORMAT_HALF,
                                             CU_AD_FORMAT_FLOAT};
    const raw_vk_image_desc desc = image_desc(&image_formats[IMAGE_RGBA32F], W, H, 1, 0);
    raw_vk_image vk = pair_vk_image(p, &desc);
    CUexternalMemory memory =
        raw_cuda_imported(p->cu, raw_vk_image_fd(&p->vk, &vk), vk.allocation_size, false);
    for (size_t i = 0; i < 3; i++) {
        CUmipmappedArray mipmap = NULL;
        const CUDA_ARRAY3D_DESCRIPTOR array = raw_cuda_array_desc(formats[i], 3, W, H);
        const CUresult result = raw_cuda_map_image(p->cu, memory, 0, &array, 1, &mipmap);
        ANSWER(answer_key("three channels of format 0x%x", (unsigned)formats[i]), "%s, %s",
               raw_cuda_result_name(result), mipmap == NULL ? "no array" : "an array");
        CU_IS(result, CUDA_ERROR_INVALID_VALUE);
        REQUIRE(mipmap == NULL);
    }
}

/* The right descriptor of a 253x127 RGBA8 image with 8 levels, with one thing changed. */
typedef struct wrong_row {
    const char *name;
    size_t width, height, depth;
    int format;
    unsigned channels, flags, levels;
    uint64_t offset;
    unsigned reserved; /* the first of those words */
} wrong_row;

enum {
    U8 = CU_AD_FORMAT_UNSIGNED_INT8,
    U32 = CU_AD_FORMAT_UNSIGNED_INT32,
    F32 = CU_AD_FORMAT_FLOAT,
    LDST = CUDA_ARRAY3D_SURFACE_LDST,
    LAYERED = CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_LAYERED
};

static const wrong_row wrong_rows[] = {
    {"as it should be", W, H, 0, U8, 4, LDST, 8, 0, 0},
    {"width 0", 0, H, 0, U8, 4, LDST, 8, 0, 0},
    {"width 126", 126, H, 0, U8, 4, LDST, 7, 0, 0},
    {"width 100000", 100000, H, 0, U8, 4, LDST, 8, 0, 0},
    {"height 1000, past the end", W, 1000, 0, U8, 4, LDST, 8, 0, 0},
    {"height 0 (1D)", W, 0, 0, U8, 4, LDST, 8, 0, 0},
    {"depth 1", W, H, 1, U8, 4, LDST, 8, 0, 0},
    {"layered, depth 0", W, H, 0, U8, 4, LAYERED, 8, 0, 0},
    {"layered, depth 1", W, H, 1, U8, 4, LAYERED, 8, 0, 0},
    {"one UINT32 channel", W, H, 0, U32, 1, LDST, 8, 0, 0},
    {"four FLOAT channels, past the end", W, H, 0, F32, 4, LDST, 8, 0, 0},
    {"0 channels", W, H, 0, U8, 0, LDST, 8, 0, 0},
    {"format 0", W, H, 0, 0, 4, LDST, 8, 0, 0},
    {"0 levels", W, H, 0, U8, 4, LDST, 0, 0, 0},
    {"1 level of 8", W, H, 0, U8, 4, LDST, 1, 0, 0},
    {"9 levels, beyond one texel", W, H, 0, U8, 4, LDST, 9, 0, 0},
    {"1000 levels", W, H, 0, U8, 4, LDST, 1000, 0, 0},
    {"no flags", W, H, 0, U8, 4, 0, 8, 0, 0},
    {"flag 0x400", W, H, 0, U8, 4, 0x400, 8, 0, 0},
    {"flag CUDA_ARRAY3D_SPARSE", W, H, 0, U8, 4, CUDA_ARRAY3D_SPARSE, 8, 0, 0},
    {"flag CUDA_ARRAY3D_DEFERRED_MAPPING", W, H, 0, U8, 4, CUDA_ARRAY3D_DEFERRED_MAPPING, 8, 0, 0},
    {"flag CUDA_ARRAY3D_CUBEMAP", W, H, 0, U8, 4, CUDA_ARRAY3D_CUBEMAP, 8, 0, 0},
    {"reserved[0] 1", W, H, 0, U8, 4, LDST, 8, 0, 1},
    {"offset 1", W, H, 0, U8, 4, LDST, 1, 1, 0},
    {"offset 256, 1 level", W, H, 0, U8, 4, LDST, 1, 256, 0},
    {"offset 65536, past the end", W, H, 0, U8, 4, LDST, 8, 65536, 0},
    {"offset 2^40", W, H, 0, U8, 4, LDST, 1, UINT64_C(1) << 40, 0},
    {"layered, depth 1, one level", W, H, 1, U8, 4, LAYERED, 1, 0, 0},
};

/* A mapping that is taken is not used: only the answers are looked at. */
static void try_descriptors(size_t first, size_t end)
{
    pair p;
    CUexternalMemory memory;
    pair_open(&p);
    const raw_vk_image_desc desc = image_desc(&image_formats[IMAGE_RGBA8], W, H, 8, 0);
    raw_vk_image vk = pair_vk_image(&p, &desc);
    if (first == 0)
        MEASURED("image_size", "%llu bytes for 253x127 RGBA8 with 8 levels, %llu in memory",
                 (unsigned long long)vk.size, (unsigned long long)vk.allocation_size);
    memory = raw_cuda_imported(p.cu, raw_vk_image_fd(&p.vk, &vk), vk.allocation_size, false);
    for (size_t i = first; i < end; i++) {
        const wrong_row *row = &wrong_rows[i];
        const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC wrong = {
            .offset = row->offset,
            .arrayDesc = {row->width, row->height, row->depth, (CUarray_format)row->format,
                          row->channels, row->flags},
            .numLevels = row->levels,
            .reserved = {row->reserved}};
        CUmipmappedArray mipmap = NULL;
        CUresult result = p.cu->ExternalMemoryGetMappedMipmappedArray(&mipmap, memory, &wrong);
        image_answer("mapping", row->name, result);
        if (i == 0) REQUIRE(result == CUDA_SUCCESS);
        if (result == CUDA_SUCCESS) CU_OK(p.cu->MipmappedArrayDestroy(mipmap));
    }
    pair_close(&p);
}

/* NVIDIA's driver was seen to spoil the heap over 0 levels ("free(): invalid next size",
 * 580.159.04): each row in a process of its own there. */
TEST_AS(wrong_descriptors,
        image_rows("images.wrong_descriptor_child", sizeof wrong_rows / sizeof wrong_rows[0], 1,
                   try_descriptors),
        .mark = TEST_TWIN_STRICTER, .reason = REPORTED, .faults = true)
TEST_AS(wrong_descriptor_child, image_row_group(try_descriptors), .faults = true)

/* Dedicated flags that contradict each other, and a dedicated image that is not at the start. */
PAIR_CASE(
    dedicated_or_not, .mark = TEST_TWIN_STRICTER,
    .reason =
        "the twin refuses a dedicated image that is not at 0, where Vulkan cannot have bound it")
{
    const image_format *format = &image_formats[IMAGE_RGBA8];
    for (int dedicated = 0; dedicated < 2; dedicated++) {
        CUmipmappedArray mipmap = NULL, second = NULL;
        const raw_vk_image_desc desc =
            image_desc(format, W, H, 8, dedicated ? RAW_VK_DEDICATED : 0);
        raw_vk_image vk = pair_vk_image(p, &desc);
        const CUDA_ARRAY3D_DESCRIPTOR array = image_cuda_desc(format, &vk);
        const char *what = dedicated ? "dedicated image, flag missing" : "plain image, flag set";
        CUexternalMemory memory =
            raw_cuda_imported(p->cu, raw_vk_image_fd(&p->vk, &vk), vk.allocation_size, !dedicated);
        CUresult result = raw_cuda_map_image(p->cu, memory, 0, &array, 8, &mipmap);
        image_answer("mapping", what, result);
        if (result == CUDA_SUCCESS) {
            size_t wrong = count_wrong_bytes(p, format, &vk, mipmap, 0, 1) +
                           count_wrong_bytes(p, format, &vk, mipmap, 7, 2);
            ANSWER(answer_key("reading and writing: %s", what), "%zu bytes wrong", wrong);
            CU_OK(p->cu->MipmappedArrayDestroy(mipmap));
        }
        const CUDA_ARRAY3D_DESCRIPTOR small =
            raw_cuda_array_desc(format->cu, format->channels, 64, 64);
        result = raw_cuda_map_image(p->cu, memory, 65536, &small, 1, &second);
        image_answer("mapping at 65536",
                     dedicated ? "imported without the flag" : "imported with the flag", result);
        if (result == CUDA_SUCCESS) CU_OK(p->cu->MipmappedArrayDestroy(second));
    }
}

PAIR_CASE(surface_needs_the_flag, .mark = TEST_BOTH, .reason = REPORTED)
{
    CUsurfObject surface = 0;
    const raw_vk_image_desc desc = image_desc(&image_formats[IMAGE_RGBA8], W, H, 8, 0);
    raw_vk_image vk = pair_vk_image(p, &desc);
    CUDA_ARRAY3D_DESCRIPTOR array = image_cuda_desc(&image_formats[IMAGE_RGBA8], &vk);
    array.Flags = 0;
    CUexternalMemory memory =
        raw_cuda_imported(p->cu, raw_vk_image_fd(&p->vk, &vk), vk.allocation_size, false);
    CUmipmappedArray mipmap = raw_cuda_mapped_image(p->cu, memory, 0, &array, 8);
    CUresult result = raw_cuda_surface(p->cu, image_level(p, mipmap, 0), &surface);
    image_answer("surface without SURFACE_LDST", "of a mapped image", result);
    if (result == CUDA_SUCCESS) CU_OK(p->cu->SurfObjectDestroy(surface));
    CUarray own = raw_cuda_array(p->cu, &array);
    result = raw_cuda_surface(p->cu, own, &surface);
    image_answer("surface without SURFACE_LDST", "of an array", result);
    if (result == CUDA_SUCCESS) CU_OK(p->cu->SurfObjectDestroy(surface));
}

PAIR_CASE(level_out_of_range, .mark = TEST_BOTH)
{
    CUarray level = NULL;
    shared_image image = pair_image(p, &image_formats[IMAGE_RGBA8], W, H, 3, 0);
    for (unsigned at = 3; at <= 1000; at += 997) {
        answer_is(answer_key("level %u of 3", at),
                  p->cu->MipmappedArrayGetLevel(&level, image.mipmap, at),
                  CUDA_ERROR_INVALID_VALUE);
    }
    REQUIRE(level == NULL);
}

PAIR_CASE(wrong_copies, .mark = TEST_TWIN_STRICTER, .reason = REPORTED)
{
    unsigned char *texels = test_memory(W * 4 * (H + 1));
    shared_image image = pair_image(p, &image_formats[IMAGE_RGBA8], W, H, 1, 0);
    const CUDA_MEMCPY2D good = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                                .srcHost = texels,
                                .srcPitch = W * 4,
                                .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                                .dstArray = image_level(p, image.mipmap, 0),
                                .WidthInBytes = W * 4,
                                .Height = H};
    CU_OK(p->cu->Memcpy2D(&good));
    CUDA_MEMCPY2D c = good;
    c.dstXInBytes = 4;
    image_answer("copy", "past the right edge", p->cu->Memcpy2D(&c));
    c = good;
    c.dstY = 1;
    image_answer("copy", "past the bottom", p->cu->Memcpy2D(&c));
    c = good;
    c.dstXInBytes = 2;
    c.WidthInBytes = 4;
    image_answer("copy", "from within a texel", p->cu->Memcpy2D(&c));
    c = good;
    c.WidthInBytes = 6;
    image_answer("copy", "one texel and a half", p->cu->Memcpy2D(&c));
    c = good;
    c.srcPitch = W * 4 - 1;
    image_answer("copy", "pitch less than width", p->cu->Memcpy2D(&c));
    c = good;
    c.srcPitch = 0;
    image_answer("copy", "pitch 0 with several rows", p->cu->Memcpy2D(&c));
    c = good;
    c.Height = 0;
    image_answer("copy", "height 0", p->cu->Memcpy2D(&c));
    CU_OK(p->cu->CtxSynchronize()); /* none of them broke anything */
}

/* In the default boundary mode a store outside is a fault, which sticks. */
PAIR_CASE(store_out_of_range, .mark = TEST_BOTH, .reason = REPORTED, .faults = true)
{
    shared_image image;
    CUsurfObject surface;
    CUmodule module = raw_cuda_load(p->cu, "image_kernels");
    CUfunction poke = raw_cuda_function(p->cu, module, "image_poke");
    shared_image_open(p, &image_formats[IMAGE_RGBA8], W, H, 1, 0, &image);
    CU_OK(raw_cuda_surface(p->cu, image_level(p, image.mipmap, 0), &surface));
    int x = (int)W - 1, y = (int)H - 1;
    void *args[] = {&surface, &x, &y};
    CU_OK(p->cu->LaunchKernel(poke, 1, 1, 1, 32, 1, 1, 0, p->stream, args, NULL));
    CU_OK(p->cu->StreamSynchronize(p->stream)); /* the last texel is inside */
    x = (int)W;
    CU_OK(p->cu->LaunchKernel(poke, 1, 1, 1, 32, 1, 1, 0, p->stream, args, NULL));
    image_answer("store out of range", "the stream", stream_result(p, patience(p, 5000)));
    image_answer("store out of range", "the context then", p->cu->CtxSynchronize());
    test_pass(); /* the context is not to be used any further */
}
