/* SPDX-License-Identifier: MIT */
/* The layout of arrays on imported memory, against what Vulkan says of LINEAR images (llvmpipe lays
 * out both tilings alike): a change in Mesa shows here, and OPTIMAL images by their data in the
 * contract suite. */
#define TEST_GROUP "layout."
#include "twin.h"

#include "raw_cuda_image.h"
#include "raw_vulkan_image.h"

typedef struct format_row {
    VkFormat vk;
    CUarray_format cu;
    unsigned channels;
} format_row;

static const format_row formats[] = {
    {VK_FORMAT_R8G8B8A8_UNORM, CU_AD_FORMAT_UNSIGNED_INT8, 4},
    {VK_FORMAT_B8G8R8A8_UNORM, CU_AD_FORMAT_UNSIGNED_INT8, 4},
    {VK_FORMAT_R32_SFLOAT, CU_AD_FORMAT_FLOAT, 1},
    {VK_FORMAT_R16G16B16A16_SFLOAT, CU_AD_FORMAT_HALF, 4},
    {VK_FORMAT_R32G32B32A32_SFLOAT, CU_AD_FORMAT_FLOAT, 4},
    {VK_FORMAT_R8_UNORM, CU_AD_FORMAT_UNSIGNED_INT8, 1},
    {VK_FORMAT_R16G16_UNORM, CU_AD_FORMAT_UNORM_INT16X2, 2},
    {VK_FORMAT_A2B10G10R10_UNORM_PACK32, (CUarray_format)0x50 /* CU_AD_FORMAT_UNORM_INT_101010_2 */,
     4},
};

typedef struct world {
    twin t;
    raw_vk vk;
    unsigned images;
} world;

static CUDA_ARRAY3D_DESCRIPTOR cuda_desc(const format_row *format, const raw_vk_image_desc *d)
{
    CUDA_ARRAY3D_DESCRIPTOR desc =
        raw_cuda_array_desc(format->cu, format->channels, d->width, d->height);
    if (d->dimensions == 1) desc.Height = 0;
    if (d->dimensions == 3) desc.Depth = d->depth;
    if (d->layers > 1) {
        desc.Depth = d->layers;
        desc.Flags |= CUDA_ARRAY3D_LAYERED;
    }
    if (d->create_flags & VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT) {
        desc.Flags |= CUDA_ARRAY3D_CUBEMAP;
        if (d->layers == 6) desc.Flags &= ~(unsigned)CUDA_ARRAY3D_LAYERED;
    }
    return desc;
}

static void check_level(world *w, const raw_vk_image *image, CUmipmappedArray mipmap,
                        uint32_t level, const unsigned char *all)
{
    CUarray array;
    CUDA_ARRAY3D_DESCRIPTOR desc;
    const VkExtent3D extent = raw_vk_image_extent(image, level);
    const size_t row = (size_t)extent.width * raw_vk_texel_size(image->desc.format);
    const size_t slices = (size_t)extent.depth * image->desc.layers;
    unsigned char *texels = test_memory(row * extent.height * slices);
    for (size_t i = 0; i < row * extent.height * slices; i++)
        texels[i] = (unsigned char)((i * 2654435761u + level) >> 9);
    CU_OK(w->t.cu->MipmappedArrayGetLevel(&array, mipmap, level));
    CU_OK(w->t.cu->Array3DGetDescriptor(&desc, array));
    REQUIRE_EQ(desc.Width, extent.width);
    const CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                                .srcHost = texels,
                                .srcPitch = row,
                                .srcHeight = extent.height,
                                .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                                .dstArray = array,
                                .WidthInBytes = row,
                                .Height = extent.height,
                                .Depth = slices};
    CU_OK(w->t.cu->Memcpy3D(&copy));
    CU_OK(w->t.cu->CtxSynchronize()); /* from pageable memory it may return before */
    for (uint32_t slice = 0; slice < slices; slice++) {
        const bool depth = image->desc.dimensions == 3;
        const VkSubresourceLayout layout =
            raw_vk_image_layout(&w->vk, image, level, depth ? 0 : slice);
        const unsigned char *start = all + layout.offset + (depth ? slice * layout.depthPitch : 0);
        for (uint32_t y = 0; y < extent.height; y++)
            /* LINEAR ones are upside down on purpose. */
            REQUIRE_EQ_BYTES(
                start + y * layout.rowPitch,
                texels + ((size_t)slice * extent.height + (extent.height - 1 - y)) * row, row);
    }
}

static void check_image(world *w, const format_row *format, raw_vk_image_desc d)
{
    raw_vk_image image;
    CUexternalMemory memory;
    CUmipmappedArray mipmap;
    CUdeviceptr bytes;
    d.format = format->vk;
    d.flags = RAW_VK_EXPORT | RAW_VK_LINEAR | RAW_VK_UNTOUCHED;
    if (!raw_vk_image_supported(&w->vk, &d)) return;
    raw_vk_image_create(&w->vk, &d, &image);
    const CUDA_ARRAY3D_DESCRIPTOR desc = cuda_desc(format, &image.desc);
    const uint32_t levels = image.desc.levels;
    /* It is as large as Vulkan says, and no smaller. */
    CU_OK(raw_cuda_import_memory(w->t.cu, raw_vk_image_fd(&w->vk, &image), image.size - 64, false,
                                 &memory));
    CU_IS(raw_cuda_map_image(w->t.cu, memory, 0, &desc, levels, &mipmap), CUDA_ERROR_INVALID_VALUE);
    CU_OK(w->t.cu->DestroyExternalMemory(memory));
    CU_OK(raw_cuda_import_memory(w->t.cu, raw_vk_image_fd(&w->vk, &image), image.size, false,
                                 &memory));
    CU_OK(raw_cuda_map_image(w->t.cu, memory, 0, &desc, levels, &mipmap));
    CU_OK(raw_cuda_map_buffer(w->t.cu, memory, 0, image.size, &bytes));
    /* The twin's device memory is host memory: this suite is its own. */
    const unsigned char *all = (const unsigned char *)(uintptr_t)bytes;
    for (uint32_t level = 0; level < levels; level++)
        check_level(w, &image, mipmap, level, all);
    CU_OK(w->t.cu->MemFree(bytes));
    CU_OK(w->t.cu->MipmappedArrayDestroy(mipmap));
    CU_OK(w->t.cu->DestroyExternalMemory(memory));
    raw_vk_image_destroy(&w->vk, &image);
    w->images++;
}

static void open_world(world *w)
{
    CUuuid uuid;
    memset(w, 0, sizeof *w);
    w->t = twin_begin(0);
    CU_OK(w->t.cu->DeviceGetUuid(&uuid, 0));
    raw_vk_open(&w->vk, &(raw_vk_options){.uuid = (const uint8_t *)uuid.bytes, .software = true});
}

static void close_world(world *w, const char *name, unsigned least)
{
    MEASURED(name, "%u images", w->images);
    REQUIRE(w->images >= least);
    raw_vk_close(&w->vk);
    twin_finish(&w->t);
}

static uint32_t full_chain(uint32_t width, uint32_t height)
{
    uint32_t levels = 1;
    while (width >> levels != 0 || height >> levels != 0)
        levels++;
    return levels;
}

TEST(images_2d)
{
    static const uint32_t sizes[][2] = {{1, 1},     {1, 9},     {3, 2},     {4, 4},     {5, 5},
                                        {16, 16},   {17, 1},    {31, 33},   {64, 64},   {100, 60},
                                        {128, 3},   {253, 127}, {256, 128}, {257, 129}, {512, 7},
                                        {1000, 10}, {1023, 31}, {640, 480}};
    world w;
    open_world(&w);
    for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++)
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            const uint32_t width = sizes[s][0], height = sizes[s][1],
                           full = full_chain(width, height);
            check_image(&w, &formats[f], (raw_vk_image_desc){.width = width, .height = height});
            if (full > 2)
                check_image(
                    &w, &formats[f],
                    (raw_vk_image_desc){.width = width, .height = height, .levels = full / 2});
            if (full > 1)
                check_image(&w, &formats[f],
                            (raw_vk_image_desc){.width = width, .height = height, .levels = full});
        }
    close_world(&w, "layout_2d", 5 * 40);
}

TEST(other_dimensions)
{
    static const raw_vk_image_desc rows[] = {
        {.dimensions = 1, .width = 100},
        {.dimensions = 1, .width = 253, .levels = 8},
        {.dimensions = 1, .width = 77, .levels = 3, .layers = 5},
        {.width = 100, .height = 60, .levels = 7, .layers = 3},
        {.width = 31, .height = 9, .layers = 12},
        {.width = 64,
         .height = 64,
         .levels = 4,
         .layers = 6,
         .create_flags = VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT},
        {.width = 33,
         .height = 33,
         .levels = 6,
         .layers = 12,
         .create_flags = VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT},
        {.dimensions = 3, .width = 33, .height = 17, .depth = 9},
        {.dimensions = 3, .width = 40, .height = 24, .depth = 11, .levels = 6},
        {.dimensions = 3, .width = 5, .height = 1, .depth = 7, .levels = 3},
    };
    world w;
    open_world(&w);
    for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++)
        for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
            check_image(&w, &formats[f], rows[r]);
    close_world(&w, "layout_other_dimensions", 5 * 5);
}
