/* SPDX-License-Identifier: MIT */
/* Contract rows: Vulkan images as mipmapped arrays, where they work. */
#define TEST_GROUP "images."
#include "contract.h"

#include <unistd.h>

/* Every level of odd and even sizes, dedicated and not. */
static void check_format(pair *p, int which)
{
    static const uint32_t sizes[][2] = {{253, 127}, {256, 128}, {1, 1},
                                        {17, 1},    {5, 9},     {1000, 10}};
    const image_format *format = &image_formats[which];
    CUmodule module = raw_cuda_module(p->cu, "image_kernels");
    for (size_t s = 0; s < COUNT_OF(sizes); s++)
        for (int dedicated = 0; dedicated < 2; dedicated++) {
            shared_image image;
            const uint32_t levels = image_full_chain(sizes[s][0], sizes[s][1]);
            shared_image_open(p, format, sizes[s][0], sizes[s][1], levels,
                              dedicated ? RAW_VK_DEDICATED : 0, &image);
            size_t wrong = 0;
            for (uint32_t level = 0; level < levels; level++)
                wrong += same_image_wrong(p, module, format, &image.vk, image.mipmap, level,
                                          100 * level);
            answer_bytes(answer_key("%u x %u, %s", sizes[s][0], sizes[s][1],
                                    dedicated ? "dedicated" : "not dedicated"),
                         wrong);
            shared_image_close(p, &image);
        }
}

PAIR_AS(rgba8, check_format(p, IMAGE_RGBA8), .mark = TEST_BOTH)
PAIR_AS(bgra8, check_format(p, IMAGE_BGRA8), .mark = TEST_BOTH)
PAIR_AS(rgba16f, check_format(p, IMAGE_RGBA16F), .mark = TEST_BOTH)
PAIR_AS(r32f, check_format(p, IMAGE_R32F), .mark = TEST_BOTH)
PAIR_AS(rgba32f, check_format(p, IMAGE_RGBA32F), .mark = TEST_BOTH)

/* A level that is written leaves the others as they were. */
PAIR_CASE(levels_are_apart, .mark = TEST_BOTH)
{
    const image_format *format = &image_formats[IMAGE_RGBA8];
    enum { LEVELS = 8 };
    unsigned char *expected[LEVELS], *found = test_memory(253 * 127 * 4);
    size_t wrong = 0;
    shared_image image = pair_image(p, format, 253, 127, LEVELS, 0);
    for (uint32_t i = 0; i < LEVELS; i++) {
        const VkExtent3D extent = raw_vk_image_extent(&image.vk, i);
        expected[i] = image_pattern(format, extent, 40 + i);
        CU_OK(raw_cuda_write_array(p->cu, image_level(p, image.mipmap, i), expected[i],
                                   extent.width * 4, extent.height));
    }
    CU_OK(p->cu->CtxSynchronize());
    for (uint32_t i = 0; i < LEVELS; i++) {
        raw_vk_image_read(&p->vk, &image.vk, i, found);
        wrong += bytes_wrong(found, expected[i], raw_vk_image_bytes(&image.vk, i));
    }
    answer_bytes("all levels, when each was written", wrong);
}

PAIR_CASE(at_an_offset, .mark = TEST_BOTH)
{
    CUmodule module = raw_cuda_module(p->cu, "image_kernels");
    for (int f = 0; f < IMAGE_FORMATS; f++) {
        const image_format *format = &image_formats[f];
        raw_vk_image_desc desc = image_desc(format, 253, 127, 8, 0);
        desc.min_offset = 70000;
        raw_vk_image vk = pair_vk_image(p, &desc);
        REQUIRE(vk.offset >= 70000);
        const CUDA_ARRAY3D_DESCRIPTOR array = image_cuda_desc(format, &vk);
        CUexternalMemory memory = pair_image_memory(p, &vk, false);
        CUmipmappedArray mipmap = raw_cuda_mapped_image(p->cu, memory, vk.offset, &array, 8);
        const size_t wrong = same_image_wrong(p, module, format, &vk, mipmap, 0, 1) +
                             same_image_wrong(p, module, format, &vk, mipmap, 7, 2);
        answer_bytes(format->name, wrong);
    }
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
    CUmodule module = raw_cuda_module(p->cu, "image_kernels");
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
        const size_t wrong = same_image_wrong(p, module, format, &vk[i], mipmap[i], 0, 3) +
                             same_image_wrong(p, module, format, &vk[i], mipmap[i], 7, 4);
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

PAIR_CASE(level_descriptors, .mark = TEST_BOTH)
{
    const image_format *format = &image_formats[IMAGE_RGBA16F];
    CUDA_ARRAY3D_DESCRIPTOR desc;
    CUDA_RESOURCE_DESC resource;
    shared_image image = pair_image(p, format, 253, 127, 8, 0);
    for (uint32_t i = 0; i < 8; i++) {
        const VkExtent3D extent = raw_vk_image_extent(&image.vk, i);
        CU_OK(p->cu->Array3DGetDescriptor(&desc, image_level(p, image.mipmap, i)));
        REQUIRE(desc.Width == extent.width && desc.Height == extent.height && desc.Depth <= 1);
        REQUIRE(desc.Format == CU_AD_FORMAT_HALF && desc.NumChannels == 4);
    }
    answer_so("cuMipmappedArrayGetLevel asked twice",
              image_level(p, image.mipmap, 3) == image_level(p, image.mipmap, 3), "another handle");
    CUarray level = image_level(p, image.mipmap, 2);
    CUsurfObject surface = raw_cuda_surface_of(p->cu, level);
    CU_OK(p->cu->SurfObjectGetResourceDesc(&resource, surface));
    REQUIRE_EQ(resource.resType, CU_RESOURCE_TYPE_ARRAY);
    answer_so("cuSurfObjectGetResourceDesc", resource.res.array.hArray == level, "another handle");
}

PAIR_CASE(color_attachment, .mark = TEST_BOTH,
          .reason = "right where the flag says what the usage says; the rest is reported")
{
    const image_format *format = &image_formats[IMAGE_RGBA8];
    CUmodule module = raw_cuda_module(p->cu, "image_kernels");
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
            for (uint32_t level = 0; level < 8 && (attachment == flag || p->cu->software);
                 level += 7)
                REQUIRE_EQ(same_image_wrong(p, module, format, &vk, mipmap, level, 5 + level), 0);
        }
}

PAIR_CASE(every_queue_family, .mark = TEST_BOTH)
{
    const VkQueueFlags can = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT;
    const image_format *format = &image_formats[IMAGE_RGBA8];
    shared_image image = pair_image(p, format, 253, 127, 8, RAW_VK_DEDICATED);
    const VkExtent3D extent = raw_vk_image_extent(&image.vk, 0);
    const size_t row = extent.width * format->texel, size = row * extent.height;
    unsigned char *found = test_memory(size);
    size_t to_cuda = 0, to_vulkan = 0;
    raw_vk_buffer staging = pair_vk_buffer(p, size, RAW_VK_HOST);
    CUarray array = image_level(p, image.mipmap, 0);
    for (uint32_t q = 0; q < p->vk.queue_count; q++) {
        if ((p->vk.queues[q].flags & can) == 0) continue; /* video engines and such */
        const raw_vk_job job = {.queue = q};
        unsigned char *expected = image_pattern(format, extent, 50 + q);
        memcpy(staging.mapped, expected, size);
        raw_vk_image_from_buffer(&p->vk, &image.vk, 0, &staging, 0, &job);
        CU_OK(raw_cuda_read_array(p->cu, array, found, row, extent.height));
        to_cuda += bytes_wrong(found, expected, size);
        for (size_t i = 0; i < size; i++)
            expected[i] = (unsigned char)~expected[i];
        CU_OK(raw_cuda_write_array(p->cu, array, expected, row, extent.height));
        CU_OK(p->cu->CtxSynchronize());
        raw_vk_image_to_buffer(&p->vk, &image.vk, 0, &staging, 0, &job);
        to_vulkan += bytes_wrong(staging.mapped, expected, size);
    }
    answer_bytes("over all families, to CUDA", to_cuda);
    answer_bytes("over all families, to Vulkan", to_vulkan);
}

/* All frames are submitted ahead: a kernel paints, Vulkan copies the image away, a timeline orders
 * them. */
PAIR_CASE(frames_ahead, .mark = TEST_BOTH)
{
    enum { FRAMES = 24, W = 61, H = 37, SIZE = W * H * 4, STRIDE = (SIZE + 15) / 16 * 16 };
    const image_format *format = &image_formats[IMAGE_RGBA8];
    CUmodule module = raw_cuda_module(p->cu, "image_kernels");
    CUfunction kernel = raw_cuda_function(p->cu, module, "image_write_uchar4");
    shared_image image = pair_image(p, format, W, H, 1, RAW_VK_DEDICATED);
    shared_timeline t = pair_timeline(p, 0);
    raw_vk_buffer frames = pair_vk_buffer(p, FRAMES * STRIDE, RAW_VK_HOST);
    CUsurfObject surface = raw_cuda_surface_of(p->cu, image_level(p, image.mipmap, 0));
    const VkExtent3D extent = raw_vk_image_extent(&image.vk, 0);
    for (unsigned k = 0; k < FRAMES; k++) {
        int width = W, height = H;
        void *args[] = {&surface, &width, &height, &k};
        CU_OK(raw_cuda_wait(p->cu, t.cu, 2 * (uint64_t)k, p->stream));
        CU_OK(p->cu->LaunchKernel(kernel, 2, 5, 1, 32, 8, 1, 0, p->stream, args, NULL));
        CU_OK(raw_cuda_signal(p->cu, t.cu, 2 * (uint64_t)k + 1, p->stream));
        const raw_vk_job job = {k % (p->vk.queue_count < 3 ? p->vk.queue_count : 3),
                                t.vk,
                                2 * (uint64_t)k + 1,
                                t.vk,
                                2 * (uint64_t)k + 2,
                                true};
        raw_vk_image_to_buffer(&p->vk, &image.vk, 0, &frames, (VkDeviceSize)k * STRIDE, &job);
    }
    REQUIRE(raw_vk_timeline_wait(&p->vk, t.vk, 2 * FRAMES, 20000));
    CU_OK(p->cu->StreamSynchronize(p->stream));
    raw_vk_idle(&p->vk);
    unsigned right = 0;
    for (unsigned k = 0; k < FRAMES; k++) {
        unsigned char *expected = image_pattern(format, extent, k);
        right +=
            memcmp((const unsigned char *)frames.mapped + (size_t)k * STRIDE, expected, SIZE) == 0;
    }
    answer_number("frames right", right, FRAMES);
}

/* Two images of Vulkan on one memory, one of them imported. */
PAIR_CASE(second_vulkan_image, .mark = TEST_BOTH)
{
    const image_format *format = &image_formats[IMAGE_R32F];
    raw_vk_image again;
    CUmodule module = raw_cuda_module(p->cu, "image_kernels");
    shared_image image = pair_image(p, format, 253, 127, 8, 0);
    raw_vk_image_import(&p->vk, raw_vk_image_fd(&p->vk, &image.vk), &image.vk, &again);
    raw_vk_image_first_layout(&p->vk, &again, NULL); /* contents undefined from here on */
    answer_bytes("by the second image",
                 same_image_wrong(p, module, format, &again, image.mipmap, 0, 7));
    answer_bytes("by the first image",
                 same_image_wrong(p, module, format, &image.vk, image.mipmap, 7, 8));
    raw_vk_image_destroy(&p->vk, &again);
}

PAIR_CASE(fds_return, .mark = TEST_BOTH)
{
    size_t before = 0;
    for (int turn = 0; turn < 20; turn++) {
        shared_image image;
        CUsurfObject surface;
        shared_image_open(p, &image_formats[turn % IMAGE_FORMATS], 64, 64, 7,
                          turn % 2 ? RAW_VK_DEDICATED : 0, &image);
        CU_OK(raw_cuda_surface(p->cu, image_level(p, image.mipmap, 1), &surface));
        CU_OK(p->cu->SurfObjectDestroy(surface));
        shared_image_close(p, &image);
        if (turn == 1) before = test_open_fds();
    }
    answer_number("fds after 18 more turns", (int64_t)test_open_fds(), (int64_t)before);
}

#define W 253u
#define H 127u

PAIR_CASE(three_channels, .mark = TEST_BOTH)
{
    static const CUarray_format formats[] = {CU_AD_FORMAT_UNSIGNED_INT8, CU_AD_FORMAT_HALF,
                                             CU_AD_FORMAT_FLOAT};
    const raw_vk_image_desc desc = image_desc(&image_formats[IMAGE_RGBA32F], W, H, 1, 0);
    raw_vk_image vk = pair_vk_image(p, &desc);
    CUexternalMemory memory = pair_image_memory(p, &vk, false);
    for (size_t i = 0; i < 3; i++) {
        CUmipmappedArray mipmap = NULL;
        const CUDA_ARRAY3D_DESCRIPTOR array = raw_cuda_array_desc(formats[i], 3, W, H);
        const CUresult result = raw_cuda_map_image(p->cu, memory, 0, &array, 1, &mipmap);
        answer_with(answer_key("three channels of format 0x%x", (unsigned)formats[i]), result, "%s",
                    mipmap == NULL ? "no array" : "an array");
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

PAIR_CASE(surface_needs_the_flag, .mark = TEST_BOTH, .reason = REPORTED)
{
    CUsurfObject surface = 0;
    const raw_vk_image_desc desc = image_desc(&image_formats[IMAGE_RGBA8], W, H, 8, 0);
    raw_vk_image vk = pair_vk_image(p, &desc);
    CUDA_ARRAY3D_DESCRIPTOR array = image_cuda_desc(&image_formats[IMAGE_RGBA8], &vk);
    array.Flags = 0;
    CUexternalMemory memory = pair_image_memory(p, &vk, false);
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
        answer_call(answer_key("level %u of 3", at),
                    p->cu->MipmappedArrayGetLevel(&level, image.mipmap, at));
    }
    REQUIRE(level == NULL);
}

PAIR_CASE(wrong_copies, .mark = TEST_TWIN_STRICTER, .reason = REPORTED)
{
    unsigned char *texels = test_memory(W * 4 * (H + 1));
    shared_image image = pair_image(p, &image_formats[IMAGE_RGBA8], W, H, 1, 0);
    const CUDA_MEMCPY2D good =
        TEST_ROW(.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = texels, .srcPitch = W * 4,
                 .dstMemoryType = CU_MEMORYTYPE_ARRAY, .WidthInBytes = W * 4, .Height = H,
                 .dstArray = image_level(p, image.mipmap, 0));
    static const struct {
        const char *what;
        size_t x, y, width, pitch, height;
    } rows[] = {{"past the right edge", 4, 0, W * 4, W * 4, H},
                {"past the bottom", 0, 1, W * 4, W * 4, H},
                {"from within a texel", 2, 0, 4, W * 4, H},
                {"one texel and a half", 0, 0, 6, W * 4, H},
                {"pitch less than width", 0, 0, W * 4, W * 4 - 1, H},
                {"pitch 0 with several rows", 0, 0, W * 4, 0, H},
                {"height 0", 0, 0, W * 4, W * 4, 0}};
    CU_OK(p->cu->Memcpy2D(&good));
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CUDA_MEMCPY2D c = good;
        c.dstXInBytes = rows[i].x;
        c.dstY = rows[i].y;
        c.WidthInBytes = rows[i].width;
        c.srcPitch = rows[i].pitch;
        c.Height = rows[i].height;
        image_answer("copy", rows[i].what, p->cu->Memcpy2D(&c));
    }
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

/* Contract rows: images of every dimension with their levels and layers, by surfaces and by
 * copies; and with which numLevels a mapping finds the layers of images that have fewer levels than
 * a whole chain. */

/* As in dimension_kernels.cu. */
typedef struct box {
    int width, height, depth, from_x, from_y, from_z, mode;
} box;
enum { MODE_TRAP = 2 };

typedef struct shape {
    const char *name; /* of the kernels */
    uint32_t dimensions, width, height, depth, layers, levels;
    bool cube;
} shape;

static const shape shapes[] = {
    {"1d", 1, 253, 1, 1, 1, 8, false},           {"2d", 2, 61, 29, 1, 1, 6, false},
    {"3d", 3, 33, 17, 9, 1, 6, false},           {"1d_layered", 1, 253, 1, 1, 5, 8, false},
    {"2d_layered", 2, 61, 29, 1, 5, 6, false},   {"cube", 2, 32, 32, 1, 6, 6, true},
    {"cube_layered", 2, 29, 29, 1, 12, 5, true},
};

static raw_vk_image_desc vulkan_desc(const shape *s, uint32_t levels, VkImageUsageFlags usage)
{
    return (raw_vk_image_desc)TEST_ROW(.format = VK_FORMAT_R8G8B8A8_UNORM, .width = s->width,
                                       .height = s->height, .depth = s->depth, .levels = levels,
                                       .layers = s->layers, .dimensions = s->dimensions,
                                       .create_flags =
                                           s->cube ? VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT : 0,
                                       .usage = usage, .flags = RAW_VK_EXPORT);
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

static void run(const pair *p, CUmodule module, const char *verb, const char *name,
                CUsurfObject surface, CUdeviceptr data, box b)
{
    char kernel[64];
    const unsigned blocks = ((unsigned)(b.width * b.height * b.depth) + 63) / 64;
    snprintf(kernel, sizeof kernel, "%s_%s", verb, name);
    void *params[] = {&surface, &data, &b};
    CU_OK(p->cu->LaunchKernel(raw_cuda_function(p->cu, module, kernel), blocks, 1, 1, 64, 1, 1, 0,
                              p->stream, params, NULL));
    CU_OK(p->cu->StreamSynchronize(p->stream));
}

/* A level, all of its layers: kernel to Vulkan, Vulkan to kernel and to copy, copy to Vulkan. The
 * bytes that are wrong. */
static size_t check_level(pair *p, CUmodule module, const shape *s, const raw_vk_image *vk,
                          CUmipmappedArray mipmap, uint32_t level)
{
    size_t wrong = 0;
    const VkExtent3D extent = raw_vk_image_extent(vk, level);
    const size_t slices = (size_t)extent.depth * s->layers, row = (size_t)extent.width * 4,
                 size = row * extent.height * slices;
    const CUarray array = image_level(p, mipmap, level);
    const box all = {(int)extent.width, (int)extent.height, (int)slices, 0, 0, 0, MODE_TRAP};
    uint32_t *expected = pattern_words(size, 3 * level), *found = test_memory(size);
    CUsurfObject surface;
    CUdeviceptr data;
    CU_OK(raw_cuda_surface(p->cu, array, &surface));
    CU_OK(p->cu->MemAlloc(&data, size));

    CU_OK(raw_cuda_upload(p->cu, data, expected, size));
    run(p, module, "write", s->name, surface, data, all);
    raw_vk_image_read(&p->vk, vk, level, found);
    wrong += bytes_wrong(found, expected, size);

    expected = pattern_words(size, 3 * level + 1);
    raw_vk_image_write(&p->vk, vk, level, expected);
    run(p, module, "read", s->name, surface, data, all);
    cuda_read(p, data, found, size);
    wrong += bytes_wrong(found, expected, size);
    memset(found, 0, size);
    CU_OK(raw_cuda_read_box(p->cu, array, found, row, extent.height, slices));
    wrong += bytes_wrong(found, expected, size);

    expected = pattern_words(size, 3 * level + 2);
    CU_OK(raw_cuda_write_box(p->cu, array, expected, row, extent.height, slices));
    CU_OK(p->cu->CtxSynchronize());
    raw_vk_image_read(&p->vk, vk, level, found);
    wrong += bytes_wrong(found, expected, size);

    CU_OK(p->cu->MemFree(data));
    CU_OK(p->cu->SurfObjectDestroy(surface));
    return wrong;
}

static void check_shape(pair *p, const shape *s)
{
    const raw_vk_image_desc desc = vulkan_desc(s, s->levels, 0);
    const CUDA_ARRAY3D_DESCRIPTOR array = cuda_desc(s);
    if (!raw_vk_image_supported(&p->vk, &desc)) SKIP("Vulkan makes no such image");
    CUmodule module = raw_cuda_module(p->cu, "dimension_kernels");
    raw_vk_image vk = pair_vk_image(p, &desc);
    CUexternalMemory memory = pair_image_memory(p, &vk, false);
    CUmipmappedArray mipmap = raw_cuda_mapped_image(p->cu, memory, 0, &array, s->levels);
    for (uint32_t level = 0; level < s->levels; level++) {
        const size_t wrong = check_level(p, module, s, &vk, mipmap, level);
        answer_bytes(answer_key("level %u", level), wrong);
    }
}

PAIR_AS(of_1d, check_shape(p, &shapes[0]), .mark = TEST_BOTH)
PAIR_AS(of_2d, check_shape(p, &shapes[1]), .mark = TEST_BOTH, .smoke = true)
PAIR_AS(of_3d, check_shape(p, &shapes[2]), .mark = TEST_BOTH)
PAIR_AS(of_1d_layered, check_shape(p, &shapes[3]), .mark = TEST_BOTH)
PAIR_AS(of_2d_layered, check_shape(p, &shapes[4]), .mark = TEST_BOTH)
PAIR_AS(of_cube, check_shape(p, &shapes[5]), .mark = TEST_BOTH)
PAIR_AS(of_cube_layered, check_shape(p, &shapes[6]), .mark = TEST_BOTH)

/* Descriptors that call an image of six or more layers something else than it is: whether they are
 * taken, and whether the bytes of level 0 are then right. */
typedef struct other_row {
    const char *what;
    size_t shape, height, depth;
    unsigned flags;
    size_t slices; /* that are compared */
} other_row;

static const other_row other_rows[] = {
    {"a cube as six layers", 5, 32, 6, CUDA_ARRAY3D_LAYERED, 6},
    {"a cube as a cube array of one", 5, 32, 6, CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP, 6},
    {"a cube as 2D", 5, 32, 0, 0, 1},
    {"a cube as 3D of depth 6", 5, 32, 6, 0, 6},
    {"a cube with depth 12", 5, 32, 12, CUDA_ARRAY3D_CUBEMAP, 6},
    {"a cube array as layers", 6, 29, 12, CUDA_ARRAY3D_LAYERED, 12},
    {"a cube array as one cube", 6, 29, 6, CUDA_ARRAY3D_CUBEMAP, 6},
    {"layers as fewer of them", 4, 29, 2, CUDA_ARRAY3D_LAYERED, 2},
    {"1D layers as 2D of that height", 3, 5, 0, 0, 0},
};

static void try_other(pair *p, size_t i)
{
    const other_row *row = &other_rows[i];
    const shape *s = &shapes[row->shape];
    const raw_vk_image_desc desc = vulkan_desc(s, s->levels, 0);
    CUDA_ARRAY3D_DESCRIPTOR array = cuda_desc(s);
    CUmipmappedArray mipmap = NULL;
    array.Height = row->height;
    array.Depth = row->depth;
    array.Flags = row->flags;
    if (!raw_vk_image_supported(&p->vk, &desc)) return;
    raw_vk_image vk = pair_vk_image(p, &desc);
    CUexternalMemory memory = pair_image_memory(p, &vk, false);
    CUresult result = raw_cuda_map_image(p->cu, memory, 0, &array, 1, &mipmap);
    image_answer("mapping", row->what, result);
    if (result == CUDA_SUCCESS && row->slices > 0) {
        const size_t bytes = raw_vk_image_bytes(&vk, 0), size = bytes / s->layers * row->slices;
        uint32_t *expected = pattern_words(bytes, 5), *found = test_memory(bytes);
        raw_vk_image_write(&p->vk, &vk, 0, expected);
        result = raw_cuda_read_box(p->cu, image_level(p, mipmap, 0), found, s->width * 4, s->height,
                                   row->slices);
        answer_with(answer_key("reading: %s", row->what), result, "%s",
                    bytes_wrong(found, expected, size) == 0 ? "all bytes right" : "bytes wrong");
    }
    if (mipmap != NULL) CU_OK(p->cu->MipmappedArrayDestroy(mipmap));
}

TEST_AS(as_another_kind,
        image_rows("images.as_another_kind_child", COUNT_OF(other_rows), 1, try_other),
        .mark = TEST_TWIN_STRICTER, .reason = REPORTED, .faults = true)
TEST_AS(as_another_kind_child, image_row_group(try_other), .faults = true)

/* A mapping of as many levels as the image has finds them where that is one level or a whole chain,
 * and where the image has one layer. A mapping of a whole chain finds them all, but of an image of
 * one level it is refused; the twin maps the image's own number alone. */
static const shape kinds[] = {
    {"1D array", 1, 61, 1, 1, 5, 0, false},    {"2D array", 2, 31, 17, 1, 3, 0, false},
    {"2D array", 2, 256, 128, 1, 4, 0, false}, {"cube", 2, 16, 16, 1, 6, 0, true},
    {"cube array", 2, 16, 16, 1, 18, 0, true}, {"3D", 3, 19, 13, 11, 1, 0, false},
    {"one layer", 2, 61, 33, 1, 1, 0, false},
};
static const struct {
    const char *name;
    VkImageUsageFlags usage;
} usages[] = {{"transfers", 0}, {"all", VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_STORAGE_BIT}};
enum { KINDS = COUNT_OF(kinds), ROWS = KINDS * 2 };

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

static void try_levels(pair *p, const shape *k, size_t usage, uint32_t levels, uint32_t whole)
{
    const raw_vk_image_desc desc = vulkan_desc(k, levels, usages[usage].usage);
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
    for (uint32_t count = 1; count <= whole; count++) {
        CUmipmappedArray mipmap = NULL;
        if (p->cu->software && count != levels) continue;
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
    snprintf(image, sizeof image, "%s %ux%ux%u, %u layers, %u of %u levels, usage %s", k->name,
             (unsigned)k->width, (unsigned)k->height, (unsigned)k->depth, (unsigned)k->layers,
             (unsigned)levels, (unsigned)whole, usages[usage].name);
    const char *key = answer_key("mapped as it is: %s", image);
    if (levels == 1 || levels == whole || k->layers == 1)
        answer_so(key, own == right, own);
    else
        ANSWER(key, "%s", own);
    if (levels == whole || p->cu->software) return;
    key = answer_key("mapped with a whole chain: %s", image);
    answer_so(key, strcmp(full, levels == 1 ? "refused" : right) == 0, full);
}

static void try_row(pair *p, size_t i)
{
    const shape *k = &kinds[i / 2];
    const uint32_t whole = image_full_chain(k->width, k->height | k->depth);
    for (uint32_t levels = 1; levels <= whole; levels++)
        try_levels(p, k, i % 2, levels, whole);
}

IMAGE_ROWS(levels_of_layers, "measured.levels_of_layers", "measured.levels_of_layers_child", ROWS,
           KINDS, try_row, .mark = TEST_TWIN_STRICTER, .reason = REPORTED)

/* Contract rows that report: LINEAR images, several mappings of one import, what destroying waits
 * for, what is left after a sticky error and after a reset, and what mapping costs. */

#define RESET_CHILD "CULVERT_TEST_IMAGE_RESET_CHILD" /* set for that child only */

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

PAIR_CASE(several_mappings, .mark = TEST_BOTH)
{
    const image_format *format = &image_formats[IMAGE_RGBA8];
    for (int dedicated = 0; dedicated < 2; dedicated++) {
        const char *what = dedicated ? "dedicated" : "not dedicated";
        CUmipmappedArray second = NULL;
        CUdeviceptr pointer = 0;
        shared_image image = pair_image(p, format, 256, 128, 9, dedicated ? RAW_VK_DEDICATED : 0);
        const CUDA_ARRAY3D_DESCRIPTOR array = image_cuda_desc(format, &image.vk);
        CUresult result =
            raw_cuda_map_image(p->cu, image.memory, image.vk.offset, &array, 9, &second);
        answer_call(answer_key("second mapping, %s", what), result);
        if (result == CUDA_SUCCESS) {
            size_t wrong = count_wrong_bytes(p, format, &image.vk, second, 0, 2) +
                           count_wrong_bytes(p, format, &image.vk, image.mipmap, 8, 3);
            answer_bytes(answer_key("both mappings, %s", what), wrong);
            CU_OK(p->cu->MipmappedArrayDestroy(second));
            wrong = count_wrong_bytes(p, format, &image.vk, image.mipmap, 0, 4);
            answer_bytes(answer_key("the first without the second, %s", what), wrong);
        }
        /* A buffer over the same bytes: the image's own order of texels shows. */
        result = raw_cuda_map_buffer(p->cu, image.memory, 0, image.vk.size, &pointer);
        answer_call(answer_key("a buffer over it, %s", what), result);
        if (result == CUDA_SUCCESS) {
            const VkExtent3D extent = raw_vk_image_extent(&image.vk, 0);
            unsigned char *expected = image_pattern(format, extent, 5), found[256 * 4];
            CU_OK(raw_cuda_write_array(p->cu, image_level(p, image.mipmap, 0), expected, 256 * 4,
                                       128));
            CU_OK(p->cu->CtxSynchronize());
            cuda_read(p, pointer, found, sizeof found);
            ANSWER(answer_key("the buffer's first row, %s", what), "%s",
                   memcmp(found, expected, sizeof found) == 0 ? "the image's first row"
                                                              : "something else");
            CU_OK(p->cu->MemFree(pointer));
        }
    }
}

/* Nothing is required of NVIDIA's driver here, nor done with it afterwards. */
PAIR_CASE(memory_destroyed_first, .own = true)
{
    const image_format *format = &image_formats[IMAGE_RGBA8];
    shared_image image;
    CUsurfObject surface = 0;
    shared_image_open(p, format, 256, 128, 1, RAW_VK_DEDICATED, &image);
    const CUarray level = image_level(p, image.mipmap, 0);
    unsigned char *expected = image_pattern(format, raw_vk_image_extent(&image.vk, 0), 6);
    unsigned char *found = test_memory(256 * 128 * 4);
    answer_call("cuDestroyExternalMemory", p->cu->DestroyExternalMemory(image.memory));
    CUresult result = raw_cuda_surface(p->cu, level, &surface);
    answer_call("then cuSurfObjectCreate", result);
    if (result == CUDA_SUCCESS)
        answer_call("cuSurfObjectDestroy", p->cu->SurfObjectDestroy(surface));
    answer_call("then a copy to it", raw_cuda_write_array(p->cu, level, expected, 256 * 4, 128));
    answer_call("and its end", p->cu->CtxSynchronize());
    raw_vk_image_read(&p->vk, &image.vk, 0, found);
    ANSWER("what Vulkan reads", "%zu bytes wrong",
           bytes_wrong(found, expected, (size_t)256 * 128 * 4));
    answer_call("then cuMipmappedArrayDestroy", p->cu->MipmappedArrayDestroy(image.mipmap));
    raw_vk_image_destroy(&p->vk, &image.vk);
    if (!p->cu->software) test_pass();
}

/* A surface that outlives its mipmapped array: only given up, never used. */
PAIR_CASE(surface_destroyed_last, .own = true)
{
    shared_image image;
    CUsurfObject surface = 0;
    shared_image_open(p, &image_formats[IMAGE_RGBA8], 256, 128, 1, 0, &image);
    CU_OK(raw_cuda_surface(p->cu, image_level(p, image.mipmap, 0), &surface));
    shared_image_close(p, &image);
    answer_call("cuSurfObjectDestroy after its array", p->cu->SurfObjectDestroy(surface));
    if (!p->cu->software) test_pass();
}

enum { PAGES_SIZE = 1 << 20 };

/* Whether each call works beside work on a stream that has nothing to do with it. */
PAIR_CASE(calls_with_pending_work)
{
    const raw_cuda *cu = p->cu;
    const image_format *format = &image_formats[IMAGE_RGBA8];
    const raw_vk_image_desc desc = image_desc(format, 1024, 1024, 1, 0);
    const CUDA_ARRAY3D_DESCRIPTOR floats = raw_cuda_array_desc(CU_AD_FORMAT_FLOAT, 1, 1024, 1024);
    CUmipmappedArray spare_mipmap;
    CUarray level, array;
    CUsurfObject surface;
    CUtexObject texture;
    void *pages = aligned_alloc(65536, PAGES_SIZE);
    uint64_t value = 0;
    late_signal late;
    REQUIRE(pages != NULL);
    shared_timeline t = pair_timeline(p, 0);
    shared_image image = pair_image(p, format, 1024, 1024, 11, RAW_VK_DEDICATED);
    raw_vk_image spare = pair_vk_image(p, &desc);
    CUexternalMemory memory = pair_image_memory(p, &spare, false);
    const CUDA_ARRAY3D_DESCRIPTOR of_spare = image_cuda_desc(format, &spare);
#define BESIDE_WORK(name, call)                                                                    \
    CU_OK(raw_cuda_wait(cu, t.cu, ++value, p->stream));                                            \
    late_signal_start(&late, &p->vk, t.vk, value);                                                 \
    answer_ok("cu" #name, call);                                                                   \
    late_signal_join(&late);                                                                       \
    CU_OK(cu->StreamSynchronize(p->stream))
    BESIDE_WORK(ExternalMemoryGetMappedMipmappedArray,
                raw_cuda_map_image(cu, memory, 0, &of_spare, 1, &spare_mipmap));
    BESIDE_WORK(MipmappedArrayGetLevel, cu->MipmappedArrayGetLevel(&level, image.mipmap, 1));
    BESIDE_WORK(SurfObjectCreate, raw_cuda_surface(cu, level, &surface));
    BESIDE_WORK(SurfObjectDestroy, cu->SurfObjectDestroy(surface));
    BESIDE_WORK(MipmappedArrayDestroy, cu->MipmappedArrayDestroy(spare_mipmap));
    BESIDE_WORK(TexObjectCreate, raw_cuda_texture(cu, level, NULL, &texture));
    BESIDE_WORK(TexObjectDestroy, cu->TexObjectDestroy(texture));
    BESIDE_WORK(Array3DCreate, cu->Array3DCreate(&array, &floats));
    BESIDE_WORK(ArrayDestroy, cu->ArrayDestroy(array));
    BESIDE_WORK(MemHostRegister,
                cu->MemHostRegister(pages, PAGES_SIZE, CU_MEMHOSTREGISTER_DEVICEMAP));
    BESIDE_WORK(MemHostUnregister, cu->MemHostUnregister(pages));
#undef BESIDE_WORK
    free(pages);
}

PAIR_CASE(after_a_sticky_error, .faults = true)
{
    shared_image image;
    CUsurfObject surface, none;
    CUmipmappedArray second = NULL;
    CUarray level = NULL;
    unsigned word = 0;
    shared_image_open(p, &image_formats[IMAGE_RGBA8], 256, 128, 9, RAW_VK_DEDICATED, &image);
    CU_OK(raw_cuda_surface(p->cu, image_level(p, image.mipmap, 0), &surface));
    const CUDA_ARRAY3D_DESCRIPTOR array = image_cuda_desc(image.format, &image.vk);
    /* No program has a mapping there. */
    CU_IS(words_run(p, "pattern_write", 0x1000, 256, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
    answer_call("cuMipmappedArrayGetLevel", p->cu->MipmappedArrayGetLevel(&level, image.mipmap, 1));
    CUresult mapped = raw_cuda_map_image(p->cu, image.memory, 0, &array, 9, &second);
    answer_call("cuExternalMemoryGetMappedMipmappedArray", mapped);
    CU_OK(mapped); /* of no use: it has no levels */
    CU_IS(p->cu->MipmappedArrayGetLevel(&level, second, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
    if (level != NULL) answer_call("cuSurfObjectCreate", raw_cuda_surface(p->cu, level, &none));
    if (level != NULL) answer_call("cuMemcpy2D", raw_cuda_read_array(p->cu, level, &word, 4, 1));
    answer_call("cuSurfObjectDestroy", p->cu->SurfObjectDestroy(surface));
    answer_call("cuMipmappedArrayDestroy", p->cu->MipmappedArrayDestroy(image.mipmap));
    answer_call("cuDestroyExternalMemory", p->cu->DestroyExternalMemory(image.memory));
    answer_call("cuCtxSetCurrent(NULL)", p->cu->CtxSetCurrent(NULL));
    answer_call("cuDevicePrimaryCtxRelease", p->cu->DevicePrimaryCtxRelease(p->device));
    raw_vk_image_destroy(&p->vk, &image.vk);
    if (p->cu->software) {
        raw_cuda_require_empty(p->cu);
        raw_vk_close(&p->vk);
    }
    test_pass(); /* NVIDIA's driver is not to be used any further in this process */
}

/* The handles of a context that was reset. NVIDIA's driver crashes on those of external memory
 * (measured), so this runs in a process of its own, whose end is the parent's measurement. */
TEST(reset_child, .faults = true)
{
    const char *what = getenv(RESET_CHILD);
    if (what == NULL) SKIP("only as a child");
    pair p;
    shared_image image;
    CUsurfObject surface;
    pair_open(&p);
    shared_image_open(&p, &image_formats[IMAGE_RGBA8], 256, 128, 9, 0, &image);
    CU_OK(raw_cuda_surface(p.cu, image_level(&p, image.mipmap, 0), &surface));
    CU_OK(p.cu->DevicePrimaryCtxReset(p.device));
    CUcontext context = raw_cuda_context(p.cu, p.device);
    REQUIRE(context != NULL);
    CUresult result = strcmp(what, "surface") == 0 ? p.cu->SurfObjectDestroy(surface)
                                                   : p.cu->MipmappedArrayDestroy(image.mipmap);
    /* The code was seen to change from run to run (INVALID_CONTEXT, CONTEXT_IS_DESTROYED). */
    MEASURED("image_after_reset", "destroying the %s: %s", what, raw_cuda_result_name(result));
    ANSWER(answer_key("destroying the %s", what), "%s",
           result == CUDA_SUCCESS ? "taken" : "refused");
    test_pass();
}

TEST(after_reset, .faults = true)
{
    static const char *const what[] = {"surface", "mipmapped array"};
    (void)raw_cuda_open(); /* whose answers these are */
    for (size_t i = 0; i < 2; i++) {
        REQUIRE(setenv(RESET_CHILD, what[i], 1) == 0);
        int status = test_run_child("images.reset_child");
        ANSWER(answer_key("the process of the %s", what[i]), "%s %d",
               status >= 128 ? "was killed by signal" : "ended with status",
               status >= 128 ? status - 128 : status);
    }
}
