/* SPDX-License-Identifier: MIT */
/* Contract rows: where NVIDIA's driver puts what arrays of another format than the image's find:
 * depth and stencil, and planes, each as an array of its own. */
#define TEST_GROUP "placed."
#include "images.h"

#define NO_IMAGE "Vulkan exports no such image"

/* Depth and stencil ---------------------------------------------------------------------------- */

typedef struct depth_format {
    const char *name;
    VkFormat vk;
    VkImageAspectFlags aspect;
    unsigned bytes;    /* a texel of the aspect, in a buffer */
    uint32_t counts;   /* its bits that count */
    CUarray_format cu; /* one channel or more */
    unsigned channels;
    unsigned shifts;       /* how many bits up an element may have it: 0, and 8 where this is 2 */
    bool plain, dedicated; /* right in memory that is not dedicated, and in memory that is */
} depth_format;

static const depth_format depth_formats[] = {
    {"D16_UNORM", VK_FORMAT_D16_UNORM, VK_IMAGE_ASPECT_DEPTH_BIT, 2, 0xffff,
     CU_AD_FORMAT_UNSIGNED_INT16, 1, 1, false, true},
    {"S8_UINT", VK_FORMAT_S8_UINT, VK_IMAGE_ASPECT_STENCIL_BIT, 1, 0xff, CU_AD_FORMAT_UNSIGNED_INT8,
     1, 1, false, true},
    {"D32_SFLOAT", VK_FORMAT_D32_SFLOAT, VK_IMAGE_ASPECT_DEPTH_BIT, 4, 0xffffffff,
     CU_AD_FORMAT_FLOAT, 1, 1, true, true},
    /* The rest is only reported. */
    {"X8_D24_UNORM_PACK32", VK_FORMAT_X8_D24_UNORM_PACK32, VK_IMAGE_ASPECT_DEPTH_BIT, 4, 0xffffff,
     CU_AD_FORMAT_UNSIGNED_INT32, 1, 2, false, false},
    {"D24_UNORM_S8_UINT", VK_FORMAT_D24_UNORM_S8_UINT, VK_IMAGE_ASPECT_DEPTH_BIT, 4, 0xffffff,
     CU_AD_FORMAT_UNSIGNED_INT32, 1, 2, false, false},
    {"D32_SFLOAT_S8_UINT", VK_FORMAT_D32_SFLOAT_S8_UINT, VK_IMAGE_ASPECT_DEPTH_BIT, 4, 0xffffffff,
     CU_AD_FORMAT_UNSIGNED_INT32, 1, 1, false, false},
    {"D32_SFLOAT_S8_UINT", VK_FORMAT_D32_SFLOAT_S8_UINT, VK_IMAGE_ASPECT_DEPTH_BIT, 4, 0xffffffff,
     CU_AD_FORMAT_UNSIGNED_INT32, 2, 1, false, false},
};
enum { DEPTH_FORMATS = sizeof depth_formats / sizeof depth_formats[0] };
static const struct {
    uint32_t width, height;
} depth_sizes[] = {{256, 128}, {131, 67}};
enum { DEPTH_LEVELS = 5 };

typedef struct depth_image {
    pair *p;
    const depth_format *format;
    raw_vk_image vk;
    CUexternalMemory memory;
    CUmipmappedArray mipmap;
    raw_vk_buffer staging;
    bool dedicated;
} depth_image;

static size_t element_of(const depth_format *f)
{
    return f->cu == CU_AD_FORMAT_UNSIGNED_INT8    ? 1
           : f->cu == CU_AD_FORMAT_UNSIGNED_INT16 ? 2
                                                  : 4 * f->channels;
}

/* Texel k of a level; floats in [0, 1]. */
static uint32_t depth_texel(const depth_format *f, size_t k, uint32_t seed)
{
    uint32_t value = (uint32_t)k * 2654435761u + seed * 40503u;
    value ^= value >> 15;
    return f->counts == 0xffffffff ? (value & 0x00ffffff) | 0x3d000000 : value & f->counts;
}

/* All of a level by Vulkan: writes `seed`'s texels, or counts those that are not. */
static size_t by_vulkan(depth_image *i, uint32_t level, uint32_t seed, bool write)
{
    const depth_format *f = i->format;
    const VkExtent3D extent = raw_vk_image_extent(&i->vk, level);
    const size_t texels = (size_t)extent.width * extent.height;
    unsigned char *bytes = i->staging.mapped;
    size_t wrong = 0;
    for (size_t k = 0; k < texels; k++) {
        const uint32_t texel = write ? depth_texel(f, k, seed) : 0;
        memcpy(bytes + k * f->bytes, &texel, f->bytes);
    }
    image_copy_part(i->p, &i->vk, f->aspect, level, extent, &i->staging, write);
    for (size_t k = 0; k < texels && !write; k++) {
        uint32_t texel = 0;
        memcpy(&texel, bytes + k * f->bytes, f->bytes);
        wrong += (texel & f->counts) != depth_texel(f, k, seed);
    }
    return wrong;
}

/* The same by CUDA, as elements that hold a texel from this bit on. */
static size_t by_cuda(depth_image *i, uint32_t level, uint32_t seed, unsigned shift, bool write)
{
    const depth_format *f = i->format;
    const VkExtent3D extent = raw_vk_image_extent(&i->vk, level);
    const size_t texels = (size_t)extent.width * extent.height, element = element_of(f);
    unsigned char *bytes = test_memory(texels * element);
    size_t wrong = 0;
    const CUarray array = image_level(i->p, i->mipmap, level);
    for (size_t k = 0; k < texels && write; k++) {
        const uint32_t texel = depth_texel(f, k, seed) << shift;
        memcpy(bytes + k * element, &texel, f->bytes);
    }
    if (write)
        CU_OK(raw_cuda_write_array(i->p->cu, array, bytes, extent.width * element, extent.height));
    else
        CU_OK(raw_cuda_read_array(i->p->cu, array, bytes, extent.width * element, extent.height));
    for (size_t k = 0; k < texels && !write; k++) {
        uint32_t texel = 0;
        memcpy(&texel, bytes + k * element, f->bytes);
        wrong += (texel >> shift & f->counts) != depth_texel(f, k, seed);
    }
    return wrong;
}

static void compare_depth(depth_image *i, const char *what, bool required)
{
    for (unsigned shift = 0; shift < i->format->shifts * 8; shift += 8) {
        size_t to_cuda = 0, to_vulkan = 0, all = 0;
        for (uint32_t level = 0; level < DEPTH_LEVELS; level++) {
            const VkExtent3D extent = raw_vk_image_extent(&i->vk, level);
            all += (size_t)extent.width * extent.height;
            (void)by_vulkan(i, level, level + 1, true);
        }
        for (uint32_t level = 0; level < DEPTH_LEVELS; level++)
            to_cuda += by_cuda(i, level, level + 1, shift, false);
        for (uint32_t level = 0; level < DEPTH_LEVELS; level++)
            (void)by_cuda(i, level, level + 77, shift, true);
        for (uint32_t level = 0; level < DEPTH_LEVELS; level++)
            to_vulkan += by_vulkan(i, level, level + 77, false);
        ANSWER(answer_key("%s, from bit %u on", what, shift),
               "of %zu texels wrong: read by CUDA %zu, by Vulkan %zu", all, to_cuda, to_vulkan);
        if (required) REQUIRE(to_cuda == 0 && to_vulkan == 0);
        if (!required && !i->dedicated) REQUIRE(to_cuda > 0 && to_vulkan > 0);
    }
}

static void try_depth(pair *p, const depth_format *f, uint32_t width, uint32_t height,
                      bool dedicated)
{
    const raw_vk_image_desc desc = {.format = f->vk,
                                    .width = width,
                                    .height = height,
                                    .levels = DEPTH_LEVELS,
                                    .usage = VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT,
                                    .flags = RAW_VK_EXPORT | (dedicated ? RAW_VK_DEDICATED : 0)};
    CUDA_ARRAY3D_DESCRIPTOR array = raw_cuda_array_desc(f->cu, f->channels, width, height);
    depth_image i = {.p = p, .format = f, .dedicated = dedicated};
    char what[160];
    snprintf(what, sizeof what, "%s as %u of %u bytes, %ux%u%s", f->name, f->channels,
             (unsigned)element_of(f) / f->channels, (unsigned)width, (unsigned)height,
             dedicated ? " dedicated" : "");
    if (!raw_vk_image_supported(&p->vk, &desc)) {
        ANSWER(what, NO_IMAGE);
        return;
    }
    raw_vk_image_create(&p->vk, &desc, &i.vk);
    CU_OK(raw_cuda_import_memory(p->cu, raw_vk_image_fd(&p->vk, &i.vk), i.vk.allocation_size,
                                 dedicated, &i.memory));
    raw_vk_buffer_create(&p->vk, (VkDeviceSize)width * height * 4, RAW_VK_HOST, &i.staging);
    array.Flags = 0;
    CUresult result =
        raw_cuda_map_image(p->cu, i.memory, i.vk.offset, &array, DEPTH_LEVELS, &i.mipmap);
    const bool settled = f->plain || f->dedicated;
    if (settled) CU_OK(result);
    if (result == CUDA_SUCCESS) {
        compare_depth(&i, what, dedicated ? f->dedicated : f->plain);
        CU_OK(p->cu->MipmappedArrayDestroy(i.mipmap));
    } else {
        answer_call(what, result);
    }
    array.Flags = CUDA_ARRAY3D_DEPTH_TEXTURE;
    result = raw_cuda_map_image(p->cu, i.memory, i.vk.offset, &array, DEPTH_LEVELS, &i.mipmap);
    answer_call(answer_key("%s, with DEPTH_TEXTURE", what), result);
    if (settled) CU_IS(result, CUDA_ERROR_INVALID_VALUE);
    if (result == CUDA_SUCCESS) CU_OK(p->cu->MipmappedArrayDestroy(i.mipmap));
    raw_vk_buffer_destroy(&p->vk, &i.staging);
    CU_OK(p->cu->DestroyExternalMemory(i.memory));
    raw_vk_image_destroy(&p->vk, &i.vk);
}

/* D16_UNORM and S8_UINT are what CUDA's arrays find in dedicated allocations alone, D32_SFLOAT in
 * all. No mapped image takes DEPTH_TEXTURE. */
PAIR_CASE(depth, .mark = TEST_BOTH,
          .reason = "how much is wrong is reported; the twin has it wrong on purpose")
{
    for (size_t f = 0; f < DEPTH_FORMATS; f++)
        for (size_t size = 0; size < 2; size++)
            for (int dedicated = 0; dedicated < 2; dedicated++)
                try_depth(p, &depth_formats[f], depth_sizes[size].width, depth_sizes[size].height,
                          dedicated);
}

/* Planes --------------------------------------------------------------------------------------- */

enum { PLANE_ALIGNMENT = 65536 }; /* of a plane of a disjoint image (measured) */

typedef struct plane_format {
    const char *name;
    VkFormat vk, of[2];
    unsigned bytes, half_width, half_height;
} plane_format;

static const plane_format plane_formats[] = {
    {"NV12",
     VK_FORMAT_G8_B8R8_2PLANE_420_UNORM,
     {VK_FORMAT_R8_UNORM, VK_FORMAT_R8G8_UNORM},
     1,
     1,
     1},
    {"P010",
     VK_FORMAT_G10X6_B10X6R10X6_2PLANE_420_UNORM_3PACK16,
     {VK_FORMAT_R16_UNORM, VK_FORMAT_R16G16_UNORM},
     2,
     1,
     1},
    {"NV16",
     VK_FORMAT_G8_B8R8_2PLANE_422_UNORM,
     {VK_FORMAT_R8_UNORM, VK_FORMAT_R8G8_UNORM},
     1,
     1,
     0},
    {"444",
     VK_FORMAT_G8_B8R8_2PLANE_444_UNORM,
     {VK_FORMAT_R8_UNORM, VK_FORMAT_R8G8_UNORM},
     1,
     0,
     0},
};
static const struct {
    uint32_t width, height;
} plane_sizes[] = {{130, 66}, {1920, 1080}};
static const VkImageAspectFlagBits plane_aspects[] = {VK_IMAGE_ASPECT_PLANE_0_BIT,
                                                      VK_IMAGE_ASPECT_PLANE_1_BIT};

typedef struct plane_image {
    pair *p;
    const plane_format *format;
    const char *what;
    raw_vk_image vk;
    raw_vk_buffer block, staging; /* block: a disjoint image's memory */
    CUexternalMemory memory;
    uint64_t at[2]; /* where each plane begins */
} plane_image;

static uint64_t round_up(uint64_t size, uint64_t to)
{
    return (size + to - 1) / to * to;
}

static VkMemoryRequirements plane_needs(const plane_image *i, VkImageAspectFlagBits aspect)
{
    const VkImagePlaneMemoryRequirementsInfo plane = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_PLANE_MEMORY_REQUIREMENTS_INFO, .planeAspect = aspect};
    const VkImageMemoryRequirementsInfo2 info = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_REQUIREMENTS_INFO_2,
        .pNext = &plane,
        .image = i->vk.image};
    VkMemoryRequirements2 needs = {.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2};
    vkGetImageMemoryRequirements2(i->p->vk.device, &info, &needs);
    return needs.memoryRequirements;
}

/* In a buffer's memory, plane after plane. */
static void make_disjoint(plane_image *i)
{
    const raw_vk_image_desc *d = &i->vk.desc;
    const VkExternalMemoryImageCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                    .pNext = &external,
                                    .flags = d->create_flags,
                                    .imageType = VK_IMAGE_TYPE_2D,
                                    .format = d->format,
                                    .extent = {d->width, d->height, 1},
                                    .mipLevels = 1,
                                    .arrayLayers = 1,
                                    .samples = VK_SAMPLE_COUNT_1_BIT,
                                    .tiling = VK_IMAGE_TILING_OPTIMAL,
                                    .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT |
                                             VK_IMAGE_USAGE_TRANSFER_DST_BIT};
    VkBindImagePlaneMemoryInfo planes[2];
    VkBindImageMemoryInfo binds[2];
    VK_OK(vkCreateImage(i->p->vk.device, &info, NULL, &i->vk.image));
    i->vk.desc.depth = i->vk.desc.levels = i->vk.desc.layers = 1;
    i->vk.desc.dimensions = 2;
    const VkMemoryRequirements a = plane_needs(i, plane_aspects[0]),
                               b = plane_needs(i, plane_aspects[1]);
    MEASURED("placed_planes", "%s: needs %zu and %zu, aligned to %zu and %zu", i->what,
             (size_t)a.size, (size_t)b.size, (size_t)a.alignment, (size_t)b.alignment);
    i->at[1] = round_up(a.size, b.alignment);
    raw_vk_buffer_create(&i->p->vk, i->at[1] + b.size, RAW_VK_EXPORT, &i->block);
    for (int n = 0; n < 2; n++) {
        planes[n] =
            (VkBindImagePlaneMemoryInfo){.sType = VK_STRUCTURE_TYPE_BIND_IMAGE_PLANE_MEMORY_INFO,
                                         .planeAspect = plane_aspects[n]};
        binds[n] = (VkBindImageMemoryInfo){.sType = VK_STRUCTURE_TYPE_BIND_IMAGE_MEMORY_INFO,
                                           .pNext = &planes[n],
                                           .image = i->vk.image,
                                           .memory = i->block.memory,
                                           .memoryOffset = i->at[n]};
    }
    VK_OK(vkBindImageMemory2(i->p->vk.device, 2, binds));
    i->vk.memory = i->block.memory;
    i->vk.allocation_size = i->block.allocation_size;
    raw_vk_image_first_layout(&i->p->vk, &i->vk, NULL);
    CU_OK(raw_cuda_import_memory(i->p->cu, raw_vk_buffer_fd(&i->p->vk, &i->block),
                                 i->block.allocation_size, false, &i->memory));
}

/* One piece of memory: plane 1 begins where an image of plane 0's format would end, rounded up
 * (measured). */
static void make_whole(plane_image *i)
{
    const raw_vk_image_desc d = i->vk.desc;
    const raw_vk_image_desc first = {
        .format = i->format->of[0], .width = d.width, .height = d.height, .flags = RAW_VK_EXPORT};
    raw_vk_image_create(&i->p->vk, &d, &i->vk);
    i->at[1] = round_up(raw_vk_image_needs(&i->p->vk, &first).size, PLANE_ALIGNMENT);
    MEASURED("placed_planes", "%s: needs %zu, plane 1 taken from %zu on", i->what,
             (size_t)i->vk.size, (size_t)i->at[1]);
    CU_OK(raw_cuda_import_memory(i->p->cu, raw_vk_image_fd(&i->p->vk, &i->vk),
                                 i->vk.allocation_size, false, &i->memory));
}

static void compare_plane(plane_image *i, unsigned n, bool required)
{
    const plane_format *f = i->format;
    const VkExtent3D extent = {n && f->half_width ? i->vk.desc.width / 2 : i->vk.desc.width,
                               n && f->half_height ? i->vk.desc.height / 2 : i->vk.desc.height, 1};
    const size_t across = (size_t)extent.width * f->bytes * (n + 1), size = across * extent.height;
    const CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(
        f->bytes == 1 ? CU_AD_FORMAT_UNSIGNED_INT8 : CU_AD_FORMAT_UNSIGNED_INT16, n + 1,
        extent.width, extent.height);
    CUmipmappedArray mipmap;
    CUresult result =
        raw_cuda_map_image(i->p->cu, i->memory, i->vk.offset + i->at[n], &desc, 1, &mipmap);
    if (required) CU_OK(result);
    if (result != CUDA_SUCCESS) {
        answer_call(answer_key("%s, plane %u", i->what, n), result);
        return;
    }
    unsigned char *expected = test_memory(size), *found = test_memory(size),
                  *staged = i->staging.mapped;
    for (size_t k = 0; k < size; k++) /* of P010's words the upper ten bits count */
        staged[k] = expected[k] =
            (unsigned char)((k * 29 + k / 253) & (f->bytes == 2 && k % 2 == 0 ? 0xc0 : 0xff));
    image_copy_part(i->p, &i->vk, plane_aspects[n], 0, extent, &i->staging, true);
    CU_OK(
        raw_cuda_read_array(i->p->cu, image_level(i->p, mipmap, 0), found, across, extent.height));
    const size_t to_cuda = image_wrong_bytes(found, expected, size);
    for (size_t k = 0; k < size; k++)
        found[k] = expected[k] =
            (unsigned char)(expected[k] ^ (f->bytes == 2 && k % 2 == 0 ? 0x40 : 0x33));
    CU_OK(
        raw_cuda_write_array(i->p->cu, image_level(i->p, mipmap, 0), found, across, extent.height));
    memset(staged, 0, size);
    image_copy_part(i->p, &i->vk, plane_aspects[n], 0, extent, &i->staging, false);
    const size_t to_vulkan = image_wrong_bytes(staged, expected, size);
    ANSWER(answer_key("%s, plane %u", i->what, n),
           "of %zu bytes wrong: read by CUDA %zu, by Vulkan %zu", size, to_cuda, to_vulkan);
    if (required) REQUIRE(to_cuda == 0 && to_vulkan == 0);
    CU_OK(i->p->cu->MipmappedArrayDestroy(mipmap));
}

static void try_planes(pair *p, const plane_format *f, uint32_t width, uint32_t height,
                       bool disjoint)
{
    plane_image i = {.p = p,
                     .format = f,
                     .vk = {.desc = {.format = f->vk,
                                     .width = width,
                                     .height = height,
                                     .create_flags = disjoint ? VK_IMAGE_CREATE_DISJOINT_BIT : 0,
                                     .flags = RAW_VK_EXPORT}}};
    char what[80];
    snprintf(what, sizeof what, "%s %ux%u%s", f->name, (unsigned)width, (unsigned)height,
             disjoint ? " disjoint" : "");
    i.what = what;
    if (!raw_vk_image_supported(&p->vk, &i.vk.desc)) {
        for (unsigned n = 0; n < 2; n++)
            ANSWER(answer_key("%s, plane %u", what, n), NO_IMAGE);
        return;
    }
    raw_vk_buffer_create(&p->vk, (VkDeviceSize)width * height * 4, RAW_VK_HOST, &i.staging);
    if (disjoint)
        make_disjoint(&i);
    else
        make_whole(&i);
    /* Of lavapipe's own layout nothing is said here. */
    for (unsigned n = 0; n < 2; n++)
        compare_plane(&i, n, disjoint || (n == 0 && !p->cu->software));
    raw_vk_buffer_destroy(&p->vk, &i.staging);
    CU_OK(p->cu->DestroyExternalMemory(i.memory));
    if (!disjoint) {
        raw_vk_image_destroy(&p->vk, &i.vk);
        return;
    }
    vkDestroyImage(p->vk.device, i.vk.image, NULL);
    raw_vk_buffer_destroy(&p->vk, &i.block);
}

/* A plane of a disjoint image is an image of the plane's format, where it is bound. Of other images
 * it is reported. */
PAIR_CASE(planes, .mark = TEST_BOTH,
          .reason = "of disjoint images; where the planes of others lie is reported")
{
    for (size_t f = 0; f < sizeof plane_formats / sizeof plane_formats[0]; f++)
        for (size_t size = 0; size < 2; size++)
            for (int disjoint = 1; disjoint >= 0; disjoint--)
                try_planes(p, &plane_formats[f], plane_sizes[size].width, plane_sizes[size].height,
                           disjoint);
}
