/* SPDX-License-Identifier: MIT */
/* Contract rows: Vulkan images as mipmapped arrays, where they work. */
#define TEST_GROUP "images."
#include "contract.h"

/* By array copies from and to Vulkan, a level both ways: the bytes that are wrong. */
static size_t count_wrong_bytes(pair *p, const image_format *format, const raw_vk_image *image,
                                CUmipmappedArray mipmap, uint32_t level, unsigned seed)
{
    const VkExtent3D extent = raw_vk_image_extent(image, level);
    const size_t row = extent.width * format->texel, size = row * extent.height;
    const CUarray array = image_level(p, mipmap, level);
    unsigned char *found = test_memory(size), *expected = image_pattern(format, extent, seed);
    CU_OK(raw_cuda_write_array(p->cu, array, expected, row, extent.height));
    CU_OK(p->cu->CtxSynchronize());
    raw_vk_image_read(&p->vk, image, level, found);
    size_t wrong = bytes_wrong(found, expected, size);
    for (size_t i = 0; i < size; i++)
        expected[i] = (unsigned char)(expected[i] ^ 1);
    raw_vk_image_write(&p->vk, image, level, expected);
    CU_OK(raw_cuda_read_array(p->cu, array, found, row, extent.height));
    wrong += bytes_wrong(found, expected, size);
    return wrong;
}

/* One VkDeviceMemory, one import: two images and a buffer in it. */
PAIR_CASE(with_others_in_one_import, .mark = TEST_BOTH)
{
    const image_format *format = &image_formats[IMAGE_RGBA16F];
    enum { BUFFER = 100000 };
    raw_vk_buffer buffer;
    raw_vk_image vk[2];
    CUexternalMemory memory;
    CUmipmappedArray mipmap[2];
    CUdeviceptr pointer;
    raw_vk_image_desc desc = image_desc(format, 200, 100, 8, 0);
    const VkMemoryRequirements needs = raw_vk_image_needs(&p->vk, &desc);
    const VkDeviceSize second =
        (needs.size + needs.alignment - 1) / needs.alignment * needs.alignment;
    VkDeviceSize granularity = p->vk.properties.limits.bufferImageGranularity;
    if (granularity < 65536) granularity = 65536;
    raw_vk_buffer_create_at(&p->vk, BUFFER,
                            (second + needs.size + granularity - 1) / granularity * granularity,
                            RAW_VK_EXPORT, &buffer);
    raw_vk_image_create_in(&p->vk, &desc, &buffer, &vk[0]);
    desc.min_offset = second;
    raw_vk_image_create_in(&p->vk, &desc, &buffer, &vk[1]);
    const CUDA_ARRAY3D_DESCRIPTOR array = image_cuda_desc(format, &vk[0]);
    CU_OK(raw_cuda_import_memory(p->cu, raw_vk_buffer_fd(&p->vk, &buffer), buffer.allocation_size,
                                 false, &memory));
    CU_OK(raw_cuda_map_buffer(p->cu, memory, buffer.offset, BUFFER, &pointer));
    for (int i = 0; i < 2; i++)
        CU_OK(raw_cuda_map_image(p->cu, memory, vk[i].offset, &array, 8, &mipmap[i]));
    answer_same_memory(p, "the buffer", &buffer, 0, pointer, BUFFER, 8);
    for (int i = 0; i < 2; i++) {
        const size_t wrong = count_wrong_bytes(p, format, &vk[i], mipmap[i], 0, 3) +
                             count_wrong_bytes(p, format, &vk[i], mipmap[i], 7, 4);
        answer_bytes(i == 0 ? "the first image" : "the second image", wrong);
    }
    answer_same_memory(p, "the buffer after the images", &buffer, 0, pointer, BUFFER, 9);
    for (int i = 0; i < 2; i++)
        CU_OK(p->cu->MipmappedArrayDestroy(mipmap[i]));
    /* Its mapping goes on alone. */
    answer_same_memory(p, "the buffer without the images' mappings", &buffer, 0, pointer, BUFFER,
                       10);
    CU_OK(p->cu->MemFree(pointer));
    CU_OK(p->cu->DestroyExternalMemory(memory));
    for (int i = 0; i < 2; i++)
        raw_vk_image_destroy(&p->vk, &vk[i]);
    raw_vk_buffer_destroy(&p->vk, &buffer);
}

PAIR_CASE(color_attachment, .mark = TEST_BOTH,
          .reason = "right where the flag says what the usage says; the rest is reported")
{
    const image_format *format = &image_formats[IMAGE_RGBA8];
    for (int attachment = 0; attachment < 2; attachment++)
        for (int flag = 0; flag < 2; flag++) {
            raw_vk_image_desc desc = image_desc(format, 253, 127, 8, RAW_VK_DEDICATED);
            if (attachment) desc.usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT;
            raw_vk_image vk = pair_vk_image(p, &desc);
            CUDA_ARRAY3D_DESCRIPTOR array = image_cuda_desc(format, &vk);
            if (flag) array.Flags |= CUDA_ARRAY3D_COLOR_ATTACHMENT;
            CUexternalMemory memory = pair_image_memory(p, &vk, true);
            CUmipmappedArray mipmap = raw_cuda_mapped_image(p->cu, memory, 0, &array, 8);
            size_t wrong = count_wrong_bytes(p, format, &vk, mipmap, 0, 3) +
                           count_wrong_bytes(p, format, &vk, mipmap, 7, 4);
            ANSWER(answer_key("usage %s, flag %s", attachment ? "yes" : "no", flag ? "yes" : "no"),
                   "%zu bytes wrong", wrong);
            if (attachment == flag) REQUIRE_EQ(wrong, 0);
        }
}

#define W 253u
#define H 127u

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
static void try_descriptor(pair *p, size_t i)
{
    const wrong_row *row = &wrong_rows[i];
    const raw_vk_image_desc desc = image_desc(&image_formats[IMAGE_RGBA8], W, H, 8, 0);
    raw_vk_image vk = pair_vk_image(p, &desc);
    const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC wrong = {
        .offset = row->offset,
        .arrayDesc = {row->width, row->height, row->depth, (CUarray_format)row->format,
                      row->channels, row->flags},
        .numLevels = row->levels,
        .reserved = {row->reserved}};
    CUmipmappedArray mipmap = NULL;
    const CUresult result = p->cu->ExternalMemoryGetMappedMipmappedArray(
        &mipmap, pair_image_memory(p, &vk, false), &wrong);
    image_answer("mapping", row->name, result);
    if (i == 0) CU_OK(result);
    if (result == CUDA_SUCCESS) CU_OK(p->cu->MipmappedArrayDestroy(mipmap));
}

/* NVIDIA's driver was seen to spoil the heap over 0 levels ("free(): invalid next size",
 * 580.159.04): each row in a process of its own there. */
TEST_AS(wrong_descriptors,
        image_rows("images.wrong_descriptor_child", COUNT_OF(wrong_rows), 1, try_descriptor),
        .mark = TEST_TWIN_STRICTER, .reason = REPORTED, .faults = true)
TEST_AS(wrong_descriptor_child, image_row_group(try_descriptor), .faults = true)

/* Dedicated flags that contradict each other, and a dedicated image that is not at the start. */
PAIR_CASE(dedicated_or_not, .mark = TEST_TWIN_STRICTER,
          .reason = "the twin refuses a dedicated image that is not at 0")
{
    const image_format *format = &image_formats[IMAGE_RGBA8];
    for (int dedicated = 0; dedicated < 2; dedicated++) {
        CUmipmappedArray mipmap = NULL, second = NULL;
        const raw_vk_image_desc desc =
            image_desc(format, W, H, 8, dedicated ? RAW_VK_DEDICATED : 0);
        raw_vk_image vk = pair_vk_image(p, &desc);
        const CUDA_ARRAY3D_DESCRIPTOR array = image_cuda_desc(format, &vk);
        const char *what = dedicated ? "dedicated image, flag missing" : "plain image, flag set";
        CUexternalMemory memory = pair_image_memory(p, &vk, !dedicated);
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

/* With which numLevels a mapping finds the layers of images that have fewer levels than a whole
 * chain. */

typedef struct shape {
    const char *name;
    uint32_t dimensions, width, height, depth, layers;
    bool cube;
} shape;

static raw_vk_image_desc vulkan_desc(const shape *s, uint32_t levels)
{
    return (raw_vk_image_desc)TEST_ROW(.format = VK_FORMAT_R8G8B8A8_UNORM, .width = s->width,
                                       .height = s->height, .depth = s->depth, .levels = levels,
                                       .layers = s->layers, .dimensions = s->dimensions,
                                       .create_flags =
                                           s->cube ? VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT : 0,
                                       .flags = RAW_VK_EXPORT);
}

static CUDA_ARRAY3D_DESCRIPTOR cuda_desc(const shape *s)
{
    CUDA_ARRAY3D_DESCRIPTOR desc =
        raw_cuda_array_desc(CU_AD_FORMAT_UNSIGNED_INT8, 4, s->width, s->height);
    if (s->dimensions == 1) desc.Height = 0;
    if (s->dimensions == 3) desc.Depth = s->depth;
    if (s->layers > 1) desc.Depth = s->layers;
    if (s->cube) desc.Flags |= CUDA_ARRAY3D_CUBEMAP;
    if (s->layers > (s->cube ? 6u : 1u)) desc.Flags |= CUDA_ARRAY3D_LAYERED;
    return desc;
}

/* A mapping of as many levels as the image has finds them where that is one level or a whole chain,
 * and where the image has one layer. A mapping of a whole chain finds them all, but of an image of
 * one level it is refused; the twin maps the image's own number alone. */
static const shape kinds[] = {
    {"1D array", 1, 61, 1, 1, 5, false},    {"2D array", 2, 31, 17, 1, 3, false},
    {"2D array", 2, 256, 128, 1, 4, false}, {"cube", 2, 16, 16, 1, 6, true},
    {"cube array", 2, 16, 16, 1, 18, true}, {"3D", 3, 19, 13, 11, 1, false},
    {"one layer", 2, 61, 33, 1, 1, false},
};

/* What Vulkan wrote into all levels and CUDA reads through a mapping of `count`: bytes that
 * differ. */
static size_t wrong_bytes(const pair *p, const raw_vk_image *vk, CUmipmappedArray mipmap,
                          uint32_t count)
{
    size_t wrong = 0;
    for (uint32_t level = 0; level < count && level < vk->desc.levels; level++) {
        const VkExtent3D extent = raw_vk_image_extent(vk, level);
        const size_t bytes = raw_vk_image_bytes(vk, level), row = (size_t)extent.width * 4;
        uint32_t *expected = pattern_words(bytes, level + 1);
        uint32_t *found = test_memory(bytes);
        CU_OK(raw_cuda_read_box(p->cu, image_level(p, mipmap, level), found, row, extent.height,
                                (size_t)extent.depth * vk->desc.layers));
        wrong += bytes_wrong(found, expected, bytes);
    }
    return wrong;
}

static void try_levels(pair *p, const shape *k, uint32_t levels, uint32_t whole)
{
    const raw_vk_image_desc desc = vulkan_desc(k, levels);
    const CUDA_ARRAY3D_DESCRIPTOR array = cuda_desc(k);
    static const char *const right = "all bytes right";
    const char *own = NULL, *full = NULL;
    if (!raw_vk_image_supported(&p->vk, &desc)) return;
    raw_vk_image vk = pair_vk_image(p, &desc);
    for (uint32_t level = 0; level < levels; level++) {
        uint32_t *texels = pattern_words(raw_vk_image_bytes(&vk, level), level + 1);
        raw_vk_image_write(&p->vk, &vk, level, texels);
    }
    CUexternalMemory memory = pair_image_memory(p, &vk, false);
    for (uint32_t count = levels; count <= whole; count++) {
        CUmipmappedArray mipmap = NULL;
        if (count != levels && (p->cu->software || count != whole)) continue;
        CUresult result = raw_cuda_map_image(p->cu, memory, vk.offset, &array, count, &mipmap);
        const char *how = "refused";
        if (result == CUDA_SUCCESS) {
            how = wrong_bytes(p, &vk, mipmap, count) == 0 ? right : "bytes wrong";
            CU_OK(p->cu->MipmappedArrayDestroy(mipmap));
        }
        if (count == levels) own = how;
        if (count == whole) full = how;
    }
    char image[96];
    snprintf(image, sizeof image, "%s %ux%ux%u, %u layers, %u of %u levels", k->name,
             (unsigned)k->width, (unsigned)k->height, (unsigned)k->depth, (unsigned)k->layers,
             (unsigned)levels, (unsigned)whole);
    const char *key = answer_key("mapped as it is: %s", image);
    if (levels == 1 || levels == whole || k->layers == 1)
        answer_so(key, own == right, own);
    else
        ANSWER(key, "%s", own);
    if (levels == whole || p->cu->software) return;
    key = answer_key("mapped with a whole chain: %s", image);
    answer_so(key, strcmp(full, levels == 1 ? "refused" : right) == 0, full);
}

static uint32_t image_full_chain(uint32_t width, uint32_t height)
{
    uint32_t levels = 1;
    while (width >> levels != 0 || height >> levels != 0)
        levels++;
    return levels;
}

static void try_kind(pair *p, size_t i)
{
    const uint32_t whole = image_full_chain(kinds[i].width, kinds[i].height | kinds[i].depth);
    for (uint32_t levels = 1; levels <= whole; levels++)
        try_levels(p, &kinds[i], levels, whole);
}

IMAGE_ROWS(levels_of_layers, "measured.levels_of_layers", "measured.levels_of_layers_child",
           COUNT_OF(kinds), COUNT_OF(kinds), try_kind, .mark = TEST_TWIN_STRICTER,
           .reason = REPORTED)

/* LINEAR images map without an error on NVIDIA's driver, and are not what the array shows. */
PAIR_CASE(linear, .mark = TEST_BOTH,
          .reason = "mapped, and something else is shown, on the twin too: the library refuses it")
{
    const image_format *format = &image_formats[IMAGE_RGBA8];
    CUmipmappedArray mipmap = NULL;
    const raw_vk_image_desc desc = image_desc(format, 256, 128, 1, RAW_VK_LINEAR);
    if (!raw_vk_image_supported(&p->vk, &desc)) SKIP("no LINEAR image that can be exported");
    raw_vk_image vk = pair_vk_image(p, &desc);
    const CUDA_ARRAY3D_DESCRIPTOR array = image_cuda_desc(format, &vk);
    CUexternalMemory memory = pair_image_memory(p, &vk, false);
    answer_ok("mapping", raw_cuda_map_image(p->cu, memory, 0, &array, 1, &mipmap));
    size_t wrong = count_wrong_bytes(p, format, &vk, mipmap, 0, 1);
    ANSWER("both ways", "%zu of %zu bytes wrong", wrong, 2 * raw_vk_image_bytes(&vk, 0));
    CU_OK(p->cu->MipmappedArrayDestroy(mipmap));
}

#undef TEST_GROUP
#define TEST_GROUP "placed."

/* By Vulkan, and waited for: a level of formats whose texels raw_vulkan_image.h cannot count. */
static void copy_aspect(pair *p, const raw_vk_image *image, VkImageAspectFlags aspect,
                        uint32_t level, VkExtent3D extent, const raw_vk_buffer *staging,
                        bool to_image)
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

enum { DEPTH_W = 131, DEPTH_H = 67, DEPTH_LEVELS = 5 };

typedef struct depth_row {
    const char *name;
    VkFormat vk;
    VkImageAspectFlags aspect;
    CUarray_format cu;
    unsigned bytes;
    bool plain; /* right in memory that is not dedicated, too */
} depth_row;

/* All texels of a level; floats in [0, 1]. */
static void depth_texels(const depth_row *row, unsigned char *texels, size_t size, uint32_t seed)
{
    for (size_t k = 0; k < size / row->bytes; k++) {
        uint32_t value = (uint32_t)k * 2654435761u + seed * 40503u;
        value ^= value >> 15;
        if (row->bytes == 4) value = (value & 0x00ffffff) | 0x3d000000;
        memcpy(texels + k * row->bytes, &value, row->bytes);
    }
}

static void try_depth(pair *p, const depth_row *row, bool dedicated)
{
    const raw_vk_image_desc desc =
        TEST_ROW(.format = row->vk, .width = DEPTH_W, .height = DEPTH_H, .levels = DEPTH_LEVELS,
                 .usage = VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT,
                 .flags = RAW_VK_EXPORT | (dedicated ? RAW_VK_DEDICATED : 0));
    CUDA_ARRAY3D_DESCRIPTOR array = raw_cuda_array_desc(row->cu, 1, DEPTH_W, DEPTH_H);
    CUmipmappedArray mipmap = NULL;
    size_t to_cuda = 0, to_vulkan = 0;
    array.Flags = 0;
    raw_vk_image vk = pair_vk_image(p, &desc);
    CUexternalMemory memory = pair_image_memory(p, &vk, dedicated);
    raw_vk_buffer staging = pair_vk_buffer(p, (VkDeviceSize)DEPTH_W * DEPTH_H * 4, RAW_VK_HOST);
    CU_OK(raw_cuda_map_image(p->cu, memory, vk.offset, &array, DEPTH_LEVELS, &mipmap));
    for (uint32_t level = 0; level < DEPTH_LEVELS; level++) {
        const VkExtent3D e = raw_vk_image_extent(&vk, level);
        const size_t across = (size_t)e.width * row->bytes, size = across * e.height;
        unsigned char *expected = test_memory(size), *found = test_memory(size);
        const CUarray of_level = image_level(p, mipmap, level);
        depth_texels(row, expected, size, level + 1);
        memcpy(staging.mapped, expected, size);
        copy_aspect(p, &vk, row->aspect, level, e, &staging, true);
        CU_OK(raw_cuda_read_array(p->cu, of_level, found, across, e.height));
        to_cuda += bytes_wrong(found, expected, size);
        depth_texels(row, expected, size, level + 77);
        CU_OK(raw_cuda_write_array(p->cu, of_level, expected, across, e.height));
        CU_OK(p->cu->CtxSynchronize());
        copy_aspect(p, &vk, row->aspect, level, e, &staging, false);
        to_vulkan += bytes_wrong(staging.mapped, expected, size);
    }
    CU_OK(p->cu->MipmappedArrayDestroy(mipmap));
    const bool required = dedicated || row->plain;
    test_answer_is(answer_key("%s%s", row->name, dedicated ? " dedicated" : ""),
                   required ? to_cuda == 0 && to_vulkan == 0 : to_cuda > 0 && to_vulkan > 0,
                   "bytes wrong: read by CUDA %zu, by Vulkan %zu", to_cuda, to_vulkan);
    array.Flags = CUDA_ARRAY3D_DEPTH_TEXTURE;
    CU_IS(raw_cuda_map_image(p->cu, memory, vk.offset, &array, DEPTH_LEVELS, &mipmap),
          CUDA_ERROR_INVALID_VALUE);
}

/* What the library refuses is wrong both ways; the twin has it wrong on purpose. No mapped image
 * takes DEPTH_TEXTURE. */
PAIR_CASE(depth, .mark = TEST_BOTH)
{
    static const depth_row rows[] = {{"D16_UNORM", VK_FORMAT_D16_UNORM, VK_IMAGE_ASPECT_DEPTH_BIT,
                                      CU_AD_FORMAT_UNSIGNED_INT16, 2, false},
                                     {"S8_UINT", VK_FORMAT_S8_UINT, VK_IMAGE_ASPECT_STENCIL_BIT,
                                      CU_AD_FORMAT_UNSIGNED_INT8, 1, false},
                                     {"D32_SFLOAT", VK_FORMAT_D32_SFLOAT, VK_IMAGE_ASPECT_DEPTH_BIT,
                                      CU_AD_FORMAT_FLOAT, 4, true}};
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (int dedicated = 0; dedicated < 2; dedicated++)
            try_depth(p, &rows[i], dedicated != 0);
}
