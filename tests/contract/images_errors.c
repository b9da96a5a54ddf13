/* SPDX-License-Identifier: MIT */
/* Contract rows: image mappings, surfaces and array copies that are refused, and descriptors that
 * say something else than Vulkan does. */
#define TEST_GROUP "images."
#include "images.h"

#define REPORTED "the twin's answers are required, NVIDIA's reported"

#define W                253u
#define H                127u
#define DESCRIPTOR_CHILD "CULVERT_TEST_DESCRIPTOR_CHILD" /* the row, set for that child only */

PAIR_CASE(three_channels, .mark = TEST_BOTH)
{
    static const CUarray_format formats[] = {CU_AD_FORMAT_UNSIGNED_INT8, CU_AD_FORMAT_HALF,
                                             CU_AD_FORMAT_FLOAT};
    raw_vk_image vk;
    CUexternalMemory memory;
    const raw_vk_image_desc desc = image_desc(&image_formats[IMAGE_RGBA32F], W, H, 1, 0);
    raw_vk_image_create(&p->vk, &desc, &vk);
    CU_OK(raw_cuda_import_memory(p->cu, raw_vk_image_fd(&p->vk, &vk), vk.allocation_size, false,
                                 &memory));
    for (size_t i = 0; i < 3; i++) {
        CUmipmappedArray mipmap = NULL;
        const CUDA_ARRAY3D_DESCRIPTOR array = raw_cuda_array_desc(formats[i], 3, W, H);
        const CUresult result = raw_cuda_map_image(p->cu, memory, 0, &array, 1, &mipmap);
        ANSWER(answer_key("three channels of format 0x%x", (unsigned)formats[i]), "%s, %s",
               raw_cuda_result_name(result), mipmap == NULL ? "no array" : "an array");
        CU_IS(result, CUDA_ERROR_INVALID_VALUE);
        REQUIRE(mipmap == NULL);
    }
    CU_OK(p->cu->DestroyExternalMemory(memory));
    raw_vk_image_destroy(&p->vk, &vk);
}

/* The right descriptor of a 253x127 RGBA8 image with 8 levels, with one thing changed. */
typedef struct wrong_row {
    const char *name;
    CUresult twin;
    CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC desc;
} wrong_row;

#define RIGHT .Width = W, .Height = H, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 4
#define LDST  .Flags = CUDA_ARRAY3D_SURFACE_LDST

static const wrong_row wrong_rows[] = {
    {"as it should be", CUDA_SUCCESS, {.arrayDesc = {RIGHT, LDST}, .numLevels = 8}},
    {"width 0",
     CUDA_ERROR_INVALID_VALUE,
     {.arrayDesc = {.Height = H, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 4, LDST},
      .numLevels = 8}},
    {"width 126",
     CUDA_SUCCESS,
     {.arrayDesc =
          {.Width = 126, .Height = H, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 4, LDST},
      .numLevels = 7}},
    {"width 100000",
     CUDA_ERROR_INVALID_VALUE,
     {.arrayDesc = {.Width = 100000,
                    .Height = H,
                    .Format = CU_AD_FORMAT_UNSIGNED_INT8,
                    .NumChannels = 4,
                    LDST},
      .numLevels = 8}},
    {"height 1000, past the end",
     CUDA_ERROR_INVALID_VALUE,
     {.arrayDesc = {.Width = W,
                    .Height = 1000,
                    .Format = CU_AD_FORMAT_UNSIGNED_INT8,
                    .NumChannels = 4,
                    LDST},
      .numLevels = 8}},
    {"height 0 (1D)",
     CUDA_SUCCESS,
     {.arrayDesc = {.Width = W, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 4, LDST},
      .numLevels = 8}},
    {"depth 1", CUDA_SUCCESS, {.arrayDesc = {RIGHT, .Depth = 1, LDST}, .numLevels = 8}},
    {"layered, depth 0",
     CUDA_ERROR_INVALID_VALUE,
     {.arrayDesc = {RIGHT, .Flags = CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_LAYERED},
      .numLevels = 8}},
    {"layered, depth 1",
     CUDA_SUCCESS,
     {.arrayDesc = {RIGHT, .Depth = 1, .Flags = CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_LAYERED},
      .numLevels = 8}},
    {"one UINT32 channel",
     CUDA_SUCCESS,
     {.arrayDesc =
          {.Width = W, .Height = H, .Format = CU_AD_FORMAT_UNSIGNED_INT32, .NumChannels = 1, LDST},
      .numLevels = 8}},
    {"four FLOAT channels, past the end",
     CUDA_ERROR_INVALID_VALUE,
     {.arrayDesc = {.Width = W, .Height = H, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 4, LDST},
      .numLevels = 8}},
    {"0 channels",
     CUDA_ERROR_INVALID_VALUE,
     {.arrayDesc = {.Width = W, .Height = H, .Format = CU_AD_FORMAT_UNSIGNED_INT8, LDST},
      .numLevels = 8}},
    {"format 0",
     CUDA_ERROR_INVALID_VALUE,
     {.arrayDesc = {.Width = W, .Height = H, .NumChannels = 4, LDST}, .numLevels = 8}},
    {"0 levels", CUDA_ERROR_INVALID_VALUE, {.arrayDesc = {RIGHT, LDST}, .numLevels = 0}},
    {"1 level of 8", CUDA_SUCCESS, {.arrayDesc = {RIGHT, LDST}, .numLevels = 1}},
    {"9 levels, beyond one texel",
     CUDA_ERROR_INVALID_VALUE,
     {.arrayDesc = {RIGHT, LDST}, .numLevels = 9}},
    {"1000 levels", CUDA_ERROR_INVALID_VALUE, {.arrayDesc = {RIGHT, LDST}, .numLevels = 1000}},
    {"no flags", CUDA_SUCCESS, {.arrayDesc = {RIGHT}, .numLevels = 8}},
    {"flag 0x400",
     CUDA_ERROR_INVALID_VALUE,
     {.arrayDesc = {RIGHT, .Flags = 0x400}, .numLevels = 8}},
    {"flag CUDA_ARRAY3D_SPARSE",
     CUDA_ERROR_INVALID_VALUE,
     {.arrayDesc = {RIGHT, .Flags = CUDA_ARRAY3D_SPARSE}, .numLevels = 8}},
    {"flag CUDA_ARRAY3D_DEFERRED_MAPPING",
     CUDA_ERROR_INVALID_VALUE,
     {.arrayDesc = {RIGHT, .Flags = CUDA_ARRAY3D_DEFERRED_MAPPING}, .numLevels = 8}},
    {"flag CUDA_ARRAY3D_CUBEMAP",
     CUDA_ERROR_INVALID_VALUE,
     {.arrayDesc = {RIGHT, .Flags = CUDA_ARRAY3D_CUBEMAP}, .numLevels = 8}},
    {"reserved[0] 1",
     CUDA_ERROR_INVALID_VALUE,
     {.arrayDesc = {RIGHT, LDST}, .numLevels = 8, .reserved = {1}}},
    {"offset 1",
     CUDA_ERROR_INVALID_VALUE,
     {.offset = 1, .arrayDesc = {RIGHT, LDST}, .numLevels = 1}},
    {"offset 256, 1 level",
     CUDA_SUCCESS,
     {.offset = 256, .arrayDesc = {RIGHT, LDST}, .numLevels = 1}},
    {"offset 65536, past the end",
     CUDA_ERROR_INVALID_VALUE,
     {.offset = 65536, .arrayDesc = {RIGHT, LDST}, .numLevels = 8}},
    {"offset 2^40",
     CUDA_ERROR_INVALID_VALUE,
     {.offset = UINT64_C(1) << 40, .arrayDesc = {RIGHT, LDST}, .numLevels = 1}},
    {"layered, depth 1, one level",
     CUDA_SUCCESS,
     {.arrayDesc = {RIGHT, .Depth = 1, .Flags = CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_LAYERED},
      .numLevels = 1}},
};

/* A mapping that is taken is not used: only the answers are looked at. */
static void try_descriptors(size_t first, size_t end)
{
    pair p;
    raw_vk_image vk;
    CUexternalMemory memory;
    pair_open(&p);
    const raw_vk_image_desc desc = image_desc(&image_formats[IMAGE_RGBA8], W, H, 8, 0);
    raw_vk_image_create(&p.vk, &desc, &vk);
    if (first == 0)
        MEASURED("image_size", "%llu bytes for 253x127 RGBA8 with 8 levels, %llu in memory",
                 (unsigned long long)vk.size, (unsigned long long)vk.allocation_size);
    CU_OK(raw_cuda_import_memory(p.cu, raw_vk_image_fd(&p.vk, &vk), vk.allocation_size, false,
                                 &memory));
    for (size_t i = first; i < end; i++) {
        CUmipmappedArray mipmap = NULL;
        CUresult result =
            p.cu->ExternalMemoryGetMappedMipmappedArray(&mipmap, memory, &wrong_rows[i].desc);
        image_answer(&p, "mapping", wrong_rows[i].name, result, wrong_rows[i].twin);
        if (i == 0) REQUIRE(result == CUDA_SUCCESS);
        if (result == CUDA_SUCCESS) CU_OK(p.cu->MipmappedArrayDestroy(mipmap));
    }
    CU_OK(p.cu->DestroyExternalMemory(memory));
    raw_vk_image_destroy(&p.vk, &vk);
    pair_close(&p);
}

/* NVIDIA's driver was seen to spoil the heap over 0 levels ("free(): invalid next size",
 * 580.159.04): each row in a process of its own there. */
TEST_AS(wrong_descriptors,
        image_rows(DESCRIPTOR_CHILD, "images.wrong_descriptor_child",
                   sizeof wrong_rows / sizeof wrong_rows[0], try_descriptors),
        .mark = TEST_TWIN_STRICTER, .reason = REPORTED, .faults = true)

TEST(wrong_descriptor_child, .faults = true)
{
    const size_t row = image_row(DESCRIPTOR_CHILD);
    try_descriptors(row, row + 1);
}

/* Dedicated flags that contradict each other, and a dedicated image that is not at the start. */
PAIR_CASE(
    dedicated_or_not, .mark = TEST_TWIN_STRICTER,
    .reason =
        "the twin refuses a dedicated image that is not at 0, where Vulkan cannot have bound it")
{
    const image_format *format = &image_formats[IMAGE_RGBA8];
    for (int dedicated = 0; dedicated < 2; dedicated++) {
        raw_vk_image vk;
        CUexternalMemory memory;
        CUmipmappedArray mipmap = NULL, second = NULL;
        const raw_vk_image_desc desc =
            image_desc(format, W, H, 8, dedicated ? RAW_VK_DEDICATED : 0);
        raw_vk_image_create(&p->vk, &desc, &vk);
        const CUDA_ARRAY3D_DESCRIPTOR array = image_cuda_desc(format, &vk);
        const char *what = dedicated ? "dedicated image, flag missing" : "plain image, flag set";
        CU_OK(raw_cuda_import_memory(p->cu, raw_vk_image_fd(&p->vk, &vk), vk.allocation_size,
                                     !dedicated, &memory));
        CUresult result = raw_cuda_map_image(p->cu, memory, 0, &array, 8, &mipmap);
        image_answer(p, "mapping", what, result, CUDA_SUCCESS);
        if (result == CUDA_SUCCESS) {
            size_t wrong = count_wrong_bytes(p, format, &vk, mipmap, 0, 1) +
                           count_wrong_bytes(p, format, &vk, mipmap, 7, 2);
            ANSWER(answer_key("reading and writing: %s", what), "%zu bytes wrong", wrong);
            if (p->cu->software) REQUIRE_EQ(wrong, 0);
            CU_OK(p->cu->MipmappedArrayDestroy(mipmap));
        }
        const CUDA_ARRAY3D_DESCRIPTOR small =
            raw_cuda_array_desc(format->cu, format->channels, 64, 64);
        result = raw_cuda_map_image(p->cu, memory, 65536, &small, 1, &second);
        image_answer(p, "mapping at 65536",
                     dedicated ? "imported without the flag" : "imported with the flag", result,
                     dedicated ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
        if (result == CUDA_SUCCESS) CU_OK(p->cu->MipmappedArrayDestroy(second));
        CU_OK(p->cu->DestroyExternalMemory(memory));
        raw_vk_image_destroy(&p->vk, &vk);
    }
}

PAIR_CASE(surface_needs_the_flag, .mark = TEST_BOTH, .reason = REPORTED)
{
    raw_vk_image vk;
    CUexternalMemory memory;
    CUmipmappedArray mipmap;
    CUsurfObject surface = 0;
    CUarray own;
    const raw_vk_image_desc desc = image_desc(&image_formats[IMAGE_RGBA8], W, H, 8, 0);
    raw_vk_image_create(&p->vk, &desc, &vk);
    CUDA_ARRAY3D_DESCRIPTOR array = image_cuda_desc(&image_formats[IMAGE_RGBA8], &vk);
    array.Flags = 0;
    CU_OK(raw_cuda_import_memory(p->cu, raw_vk_image_fd(&p->vk, &vk), vk.allocation_size, false,
                                 &memory));
    CU_OK(raw_cuda_map_image(p->cu, memory, 0, &array, 8, &mipmap));
    CUresult result = raw_cuda_surface(p->cu, image_level(p, mipmap, 0), &surface);
    image_answer(p, "surface without SURFACE_LDST", "of a mapped image", result,
                 CUDA_ERROR_INVALID_VALUE);
    if (result == CUDA_SUCCESS) CU_OK(p->cu->SurfObjectDestroy(surface));
    CU_OK(p->cu->Array3DCreate(&own, &array));
    result = raw_cuda_surface(p->cu, own, &surface);
    image_answer(p, "surface without SURFACE_LDST", "of an array", result,
                 CUDA_ERROR_INVALID_VALUE);
    if (result == CUDA_SUCCESS) CU_OK(p->cu->SurfObjectDestroy(surface));
    CU_OK(p->cu->ArrayDestroy(own));
    CU_OK(p->cu->MipmappedArrayDestroy(mipmap));
    CU_OK(p->cu->DestroyExternalMemory(memory));
    raw_vk_image_destroy(&p->vk, &vk);
}

PAIR_CASE(level_out_of_range, .mark = TEST_BOTH)
{
    shared_image image;
    CUarray level = NULL;
    shared_image_open(p, &image_formats[IMAGE_RGBA8], W, H, 3, 0, &image);
    for (unsigned at = 3; at <= 1000; at += 997) {
        const CUresult result = p->cu->MipmappedArrayGetLevel(&level, image.mipmap, at);
        ANSWER(answer_key("level %u of 3", at), "%s", raw_cuda_result_name(result));
        CU_IS(result, CUDA_ERROR_INVALID_VALUE);
    }
    REQUIRE(level == NULL);
    shared_image_close(p, &image);
}

TEST(wrong_copies, .mark = TEST_TWIN_STRICTER, .reason = REPORTED)
{
    pair p;
    shared_image image;
    unsigned char *texels = calloc(W * 4, H + 1);
    pair_open(&p);
    REQUIRE(texels != NULL);
    shared_image_open(&p, &image_formats[IMAGE_RGBA8], W, H, 1, 0, &image);
    const CUDA_MEMCPY2D good = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                                .srcHost = texels,
                                .srcPitch = W * 4,
                                .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                                .dstArray = image_level(&p, image.mipmap, 0),
                                .WidthInBytes = W * 4,
                                .Height = H};
    CU_OK(p.cu->Memcpy2D(&good));
    CUDA_MEMCPY2D c = good;
    c.dstXInBytes = 4;
    image_answer(&p, "copy", "past the right edge", p.cu->Memcpy2D(&c), CUDA_ERROR_INVALID_VALUE);
    c = good;
    c.dstY = 1;
    image_answer(&p, "copy", "past the bottom", p.cu->Memcpy2D(&c), CUDA_ERROR_INVALID_VALUE);
    c = good;
    c.dstXInBytes = 2;
    c.WidthInBytes = 4;
    image_answer(&p, "copy", "from within a texel", p.cu->Memcpy2D(&c), CUDA_SUCCESS);
    c = good;
    c.WidthInBytes = 6;
    image_answer(&p, "copy", "one texel and a half", p.cu->Memcpy2D(&c), CUDA_SUCCESS);
    c = good;
    c.srcPitch = W * 4 - 1;
    image_answer(&p, "copy", "pitch less than width", p.cu->Memcpy2D(&c), CUDA_ERROR_INVALID_VALUE);
    c = good;
    c.srcPitch = 0;
    image_answer(&p, "copy", "pitch 0 with several rows", p.cu->Memcpy2D(&c),
                 CUDA_ERROR_INVALID_VALUE);
    c = good;
    c.Height = 0;
    image_answer(&p, "copy", "height 0", p.cu->Memcpy2D(&c), CUDA_SUCCESS);
    CU_OK(p.cu->CtxSynchronize()); /* none of them broke anything */
    free(texels);
    shared_image_close(&p, &image);
    pair_close(&p);
}

/* In the default boundary mode a store outside is a fault, which sticks. */
TEST(store_out_of_range, .mark = TEST_BOTH, .reason = REPORTED, .faults = true)
{
    pair p;
    shared_image image;
    CUsurfObject surface;
    pair_open(&p);
    CUmodule module = raw_cuda_load(p.cu, "image_kernels");
    CUfunction poke = raw_cuda_function(p.cu, module, "image_poke");
    shared_image_open(&p, &image_formats[IMAGE_RGBA8], W, H, 1, 0, &image);
    CU_OK(raw_cuda_surface(p.cu, image_level(&p, image.mipmap, 0), &surface));
    int x = (int)W - 1, y = (int)H - 1;
    void *args[] = {&surface, &x, &y};
    CU_OK(p.cu->LaunchKernel(poke, 1, 1, 1, 32, 1, 1, 0, p.stream, args, NULL));
    CU_OK(p.cu->StreamSynchronize(p.stream)); /* the last texel is inside */
    x = (int)W;
    CU_OK(p.cu->LaunchKernel(poke, 1, 1, 1, 32, 1, 1, 0, p.stream, args, NULL));
    image_answer(&p, "store out of range", "the stream", stream_result(&p, patience(&p, 5000)),
                 CUDA_ERROR_ILLEGAL_ADDRESS);
    image_answer(&p, "store out of range", "the context then", p.cu->CtxSynchronize(),
                 CUDA_ERROR_ILLEGAL_ADDRESS);
    test_pass(); /* the context is not to be used any further */
}
