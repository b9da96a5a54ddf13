/* SPDX-License-Identifier: MIT */
/* See images.h. */
#include "images.h"

const image_format image_formats[IMAGE_FORMATS] = {
    TEST_ROW("rgba8", VK_FORMAT_R8G8B8A8_UNORM, CU_AD_FORMAT_UNSIGNED_INT8, 4, 4, "uchar4",
             {.float32 = {1.0f, 0.0f, 0.2f, 1.0f}}, {255, 0, 51, 255}),
    TEST_ROW("bgra8", VK_FORMAT_B8G8R8A8_UNORM, CU_AD_FORMAT_UNSIGNED_INT8, 4, 4, "uchar4",
             {.float32 = {1.0f, 0.0f, 0.2f, 1.0f}}, {51, 0, 255, 255}),
    TEST_ROW("rgba16f", VK_FORMAT_R16G16B16A16_SFLOAT, CU_AD_FORMAT_HALF, 4, 8, "ushort4",
             {.float32 = {1.0f, -2.0f, 0.5f, 0.0f}}, {0x00, 0x3c, 0x00, 0xc0, 0x00, 0x38, 0, 0}),
    TEST_ROW("r32f", VK_FORMAT_R32_SFLOAT, CU_AD_FORMAT_FLOAT, 1, 4, "float",
             {.float32 = {1.0f, 0.0f, 0.0f, 0.0f}}, {0, 0, 0x80, 0x3f}),
    TEST_ROW("rgba32f", VK_FORMAT_R32G32B32A32_SFLOAT, CU_AD_FORMAT_FLOAT, 4, 16, "float4",
             {.float32 = {1.0f, -2.0f, 0.5f, 0.0f}},
             {0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0, 0, 0, 0, 0x3f, 0, 0, 0, 0}),
};

raw_vk_image_desc image_desc(const image_format *format, uint32_t width, uint32_t height,
                             uint32_t levels, unsigned vk_flags)
{
    return (raw_vk_image_desc){.format = format->vk,
                               .width = width,
                               .height = height,
                               .levels = levels,
                               .flags = vk_flags | RAW_VK_EXPORT};
}

CUDA_ARRAY3D_DESCRIPTOR image_cuda_desc(const image_format *format, const raw_vk_image *image)
{
    return raw_cuda_array_desc(format->cu, format->channels, image->desc.width, image->desc.height);
}

uint32_t image_full_chain(uint32_t width, uint32_t height)
{
    uint32_t levels = 1;
    while (width >> levels != 0 || height >> levels != 0)
        levels++;
    return levels;
}

void shared_image_open(pair *p, const image_format *format, uint32_t width, uint32_t height,
                       uint32_t levels, unsigned vk_flags, shared_image *out)
{
    const raw_vk_image_desc desc = image_desc(format, width, height, levels, vk_flags);
    memset(out, 0, sizeof *out);
    out->format = format;
    raw_vk_image_create(&p->vk, &desc, &out->vk);
    const CUDA_ARRAY3D_DESCRIPTOR array = image_cuda_desc(format, &out->vk);
    CU_OK(raw_cuda_import_memory(p->cu, raw_vk_image_fd(&p->vk, &out->vk), out->vk.allocation_size,
                                 (vk_flags & RAW_VK_DEDICATED) != 0, &out->memory));
    CU_OK(raw_cuda_map_image(p->cu, out->memory, out->vk.offset, &array, out->vk.desc.levels,
                             &out->mipmap));
}

void shared_image_close(pair *p, shared_image *image)
{
    CU_OK(p->cu->MipmappedArrayDestroy(image->mipmap));
    CU_OK(p->cu->DestroyExternalMemory(image->memory));
    raw_vk_image_destroy(&p->vk, &image->vk);
}

static void end_image(const void *of, void *thing)
{
    shared_image_close((pair *)(uintptr_t)of, thing);
}

shared_image pair_image(pair *p, const image_format *format, uint32_t width, uint32_t height,
                        uint32_t levels, unsigned vk_flags)
{
    shared_image image;
    shared_image_open(p, format, width, height, levels, vk_flags, &image);
    test_later(end_image, p, &image, sizeof image);
    return image;
}

static void end_vk_image(const void *of, void *thing)
{
    raw_vk_image_destroy(&((pair *)(uintptr_t)of)->vk, thing);
}

raw_vk_image pair_vk_image(pair *p, const raw_vk_image_desc *desc)
{
    raw_vk_image image;
    raw_vk_image_create(&p->vk, desc, &image);
    test_later(end_vk_image, p, &image, sizeof image);
    return image;
}

CUarray image_level(const pair *p, CUmipmappedArray mipmap, uint32_t level)
{
    CUarray array = NULL;
    CU_OK(p->cu->MipmappedArrayGetLevel(&array, mipmap, level));
    REQUIRE(array != NULL);
    return array;
}

unsigned char *image_pattern(const image_format *format, VkExtent3D extent, unsigned seed)
{
    unsigned char *texels = test_memory((size_t)extent.width * extent.height * format->texel);
    const size_t channel = format->texel / format->channels;
    unsigned char *at = texels;
    for (uint32_t y = 0; y < extent.height; y++)
        for (uint32_t x = 0; x < extent.width; x++)
            for (uint32_t c = 0; c < format->channels; c++, at += channel) {
                const uint32_t value = x * 7u + y * 131u + c * 29u + seed;
                const uint16_t half = (uint16_t)(value & 0x3bffu);
                const float single = (float)(value & 0xffffu);
                if (channel == 1)
                    *at = (unsigned char)value;
                else
                    memcpy(at, channel == 2 ? (const void *)&half : (const void *)&single, channel);
            }
    return texels;
}

size_t image_wrong_bytes(const unsigned char *found, const unsigned char *expected, size_t size)
{
    size_t wrong = 0;
    for (size_t i = 0; i < size; i++)
        wrong += found[i] != expected[i];
    return wrong;
}

void image_launch(const pair *p, CUmodule module, const char *verb, const image_format *format,
                  CUsurfObject surface, VkExtent3D extent, void *argument)
{
    char name[64];
    int width = (int)extent.width, height = (int)extent.height;
    snprintf(name, sizeof name, "image_%s_%s", verb, format->kernel);
    CUfunction kernel = raw_cuda_function(p->cu, module, name);
    void *args[] = {&surface, &width, &height, argument};
    CU_OK(p->cu->LaunchKernel(kernel, (extent.width + 31) / 32, (extent.height + 7) / 8, 1, 32, 8,
                              1, 0, p->stream, args, NULL));
    CU_OK(p->cu->StreamSynchronize(p->stream));
}

size_t same_image_wrong(pair *p, CUmodule module, const image_format *format,
                        const raw_vk_image *image, CUmipmappedArray mipmap, uint32_t level,
                        unsigned seed)
{
    const VkExtent3D extent = raw_vk_image_extent(image, level);
    const size_t row = extent.width * format->texel, size = row * extent.height;
    const CUarray array = image_level(p, mipmap, level);
    unsigned char *found = test_memory(size), *expected = image_pattern(format, extent, seed);
    CUsurfObject surface = 0;
    CUdeviceptr texels = 0;
    size_t wrong = 0;
    CU_OK(raw_cuda_surface(p->cu, array, &surface));
    CU_OK(p->cu->MemAlloc(&texels, size));

    /* CUDA copies, Vulkan reads. */
    CU_OK(raw_cuda_write_array(p->cu, array, expected, row, extent.height));
    CU_OK(p->cu->CtxSynchronize());
    raw_vk_image_read(&p->vk, image, level, found);
    wrong += image_wrong_bytes(found, expected, size);
    /* A kernel writes, Vulkan reads. */
    expected = image_pattern(format, extent, ++seed);
    image_launch(p, module, "write", format, surface, extent, &seed);
    raw_vk_image_read(&p->vk, image, level, found);
    wrong += image_wrong_bytes(found, expected, size);
    /* Vulkan copies; a kernel reads, and a copy. */
    expected = image_pattern(format, extent, ++seed);
    raw_vk_image_write(&p->vk, image, level, expected);
    image_launch(p, module, "read", format, surface, extent, &texels);
    cuda_read(p, texels, found, size);
    wrong += image_wrong_bytes(found, expected, size);
    memset(found, 0, size);
    CU_OK(raw_cuda_read_array(p->cu, array, found, row, extent.height));
    wrong += image_wrong_bytes(found, expected, size);
    /* Vulkan clears, a kernel reads. */
    raw_vk_image_clear(&p->vk, image, level, format->color, NULL);
    for (size_t i = 0; i < size; i++)
        expected[i] = format->cleared[i % format->texel];
    image_launch(p, module, "read", format, surface, extent, &texels);
    cuda_read(p, texels, found, size);
    wrong += image_wrong_bytes(found, expected, size);

    CU_OK(p->cu->MemFree(texels));
    CU_OK(p->cu->SurfObjectDestroy(surface));
    return wrong;
}

void require_same_image(pair *p, CUmodule module, const image_format *format,
                        const raw_vk_image *image, CUmipmappedArray mipmap, uint32_t level,
                        unsigned seed)
{
    REQUIRE_EQ(same_image_wrong(p, module, format, image, mipmap, level, seed), 0);
}

size_t count_wrong_bytes(pair *p, const image_format *format, const raw_vk_image *image,
                         CUmipmappedArray mipmap, uint32_t level, unsigned seed)
{
    const VkExtent3D extent = raw_vk_image_extent(image, level);
    const size_t row = extent.width * format->texel, size = row * extent.height;
    const CUarray array = image_level(p, mipmap, level);
    unsigned char *found = test_memory(size), *expected = image_pattern(format, extent, seed);
    CU_OK(raw_cuda_write_array(p->cu, array, expected, row, extent.height));
    CU_OK(p->cu->CtxSynchronize());
    raw_vk_image_read(&p->vk, image, level, found);
    size_t wrong = image_wrong_bytes(found, expected, size);
    for (size_t i = 0; i < size; i++)
        expected[i] = (unsigned char)(expected[i] ^ 1);
    raw_vk_image_write(&p->vk, image, level, expected);
    CU_OK(raw_cuda_read_array(p->cu, array, found, row, extent.height));
    wrong += image_wrong_bytes(found, expected, size);
    return wrong;
}

CUDA_TEXTURE_DESC image_sampling(CUfilter_mode filter, unsigned flags, float most)
{
    CUDA_TEXTURE_DESC desc;
    memset(&desc, 0, sizeof desc);
    for (int i = 0; i < 3; i++)
        desc.addressMode[i] = CU_TR_ADDRESS_MODE_CLAMP;
    desc.filterMode = filter;
    desc.flags = flags;
    desc.maxMipmapLevelClamp = most;
    return desc;
}

void image_answer(const char *name, const char *what, CUresult result)
{
    answer_call(answer_key("%s: %s", name, what), result);
}

#define ROWS "CULVERT_TEST_ROWS" /* of the child, "first-end" */

/* The child's exit status. */
static int run_rows(const char *child, size_t first, size_t end)
{
    char rows[48];
    test_wants_own_process(); /* the variable is for the child alone */
    snprintf(rows, sizeof rows, "%zu-%zu", first, end);
    REQUIRE(setenv(ROWS, rows, 1) == 0);
    const int status = test_run_child(child);
    REQUIRE(unsetenv(ROWS) == 0);
    return status;
}

void image_rows(const char *child, size_t count, size_t group,
                void (*run)(size_t first, size_t end))
{
    if (raw_cuda_open()->software) {
        run(0, count);
        return;
    }
    for (size_t first = 0; first < count; first += group) {
        const size_t end = count - first < group ? count : first + group;
        int status = run_rows(child, first, end);
        for (size_t row = first; row < end && status != 0; row++) {
            const int its = group == 1 ? status : run_rows(child, row, row + 1);
            if (its != 0)
                ANSWER(answer_key("row %zu: the process", row), "ended with status %d", its);
        }
    }
}

void image_row_group(void (*run)(size_t first, size_t end))
{
    const char *rows = getenv(ROWS);
    char *rest = NULL;
    if (rows == NULL) SKIP("only as a child");
    const size_t first = strtoul(rows, &rest, 10);
    run(first, strtoul(rest + 1, NULL, 10));
}

void image_copy_part(pair *p, const raw_vk_image *image, VkImageAspectFlags aspect, uint32_t level,
                     VkExtent3D extent, const raw_vk_buffer *staging, bool to_image)
{
    const VkBufferImageCopy region = {.imageSubresource = {aspect, level, 0, image->desc.layers},
                                      .imageExtent = extent};
    const VkImageLayout layout =
        to_image ? VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL : VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
    VkCommandBuffer commands = raw_vk_begin(&p->vk, 0);
    raw_vk_image_acquire(&p->vk, commands, 0, image, layout);
    if (to_image)
        vkCmdCopyBufferToImage(commands, staging->buffer, image->image, layout, 1, &region);
    else
        vkCmdCopyImageToBuffer(commands, image->image, layout, staging->buffer, 1, &region);
    raw_vk_image_release(&p->vk, commands, 0, image, layout);
    raw_vk_submit(&p->vk, commands, NULL);
}
