/* SPDX-License-Identifier: MIT */
/* Contract rows: Vulkan images as mipmapped arrays, where they work. */
#define TEST_GROUP "images."
#include "contract.h"

/* Every level of odd and even sizes, dedicated and not. */
static void check_format(pair *p, int which)
{
    static const uint32_t sizes[][2] = {{253, 127}, {256, 128}};
    const image_format *format = &image_formats[which];
    CUmodule module = raw_cuda_module(p->cu, "image_kernels");
    for (size_t s = 0; s < 2; s++)
        for (int dedicated = 0; dedicated < 2; dedicated++) {
            shared_image image;
            const uint32_t levels = image_full_chain(sizes[s][0], sizes[s][1]);
            shared_image_open(p, format, sizes[s][0], sizes[s][1], levels,
                              dedicated ? RAW_VK_DEDICATED : 0, &image);
            size_t wrong = 0;
            for (uint32_t level = 0; level < levels; level++)
                wrong += same_image_wrong(p, module, format, &image.vk, image.mipmap, level,
                                          100 * level);
            ANSWER(answer_key("%u x %u, %s", sizes[s][0], sizes[s][1],
                              dedicated ? "dedicated" : "not dedicated"),
                   "%zu bytes wrong in %u levels", wrong, levels);
            REQUIRE_EQ(wrong, 0);
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
        ANSWER(answer_key("level %u", i), "%zu x %zu, format 0x%x, %u channels", desc.Width,
               desc.Height, (unsigned)desc.Format, desc.NumChannels);
    }
    ANSWER("cuMipmappedArrayGetLevel asked twice", "%s",
           image_level(p, image.mipmap, 3) == image_level(p, image.mipmap, 3) ? "the same handle"
                                                                              : "another handle");
    CUarray level = image_level(p, image.mipmap, 2);
    CUsurfObject surface = raw_cuda_surface_of(p->cu, level);
    CU_OK(p->cu->SurfObjectGetResourceDesc(&resource, surface));
    REQUIRE_EQ(resource.resType, CU_RESOURCE_TYPE_ARRAY);
    ANSWER("cuSurfObjectGetResourceDesc", "%s",
           resource.res.array.hArray == level ? "the level's handle" : "another handle");
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
    ANSWER("bytes wrong over all families", "to CUDA %zu, to Vulkan %zu", to_cuda, to_vulkan);
    REQUIRE(to_cuda == 0 && to_vulkan == 0);
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
    ANSWER("frames right", "%u of %u", right, (unsigned)FRAMES);
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
    const size_t by_second = same_image_wrong(p, module, format, &again, image.mipmap, 0, 7),
                 by_first = same_image_wrong(p, module, format, &image.vk, image.mipmap, 7, 8);
    ANSWER("bytes wrong", "by the second image %zu, by the first %zu", by_second, by_first);
    REQUIRE(by_second == 0 && by_first == 0);
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
    const size_t after = test_open_fds();
    answer_so("fds after 18 more turns", after == before, "as many", "not as many");
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
