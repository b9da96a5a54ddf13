/* SPDX-License-Identifier: MIT */
/* Contract rows: images of every dimension with their levels and layers, by surfaces and by
 * copies; and with which numLevels a mapping finds the layers of images that have fewer levels than
 * a whole chain. */
#define TEST_GROUP "images."
#include "contract.h"

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
 * taken, and how many bytes of the last level are then wrong. */
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
        answer_with(answer_key("reading: %s", row->what), result, "%zu of %zu bytes wrong",
                    bytes_wrong(found, expected, size), size);
    }
    if (mipmap != NULL) CU_OK(p->cu->MipmappedArrayDestroy(mipmap));
}

TEST_AS(as_another_kind,
        image_rows("images.as_another_kind_child", COUNT_OF(other_rows), 1, try_other),
        .mark = TEST_TWIN_STRICTER, .reason = REPORTED, .faults = true)
TEST_AS(as_another_kind_child, image_row_group(try_other), .faults = true)

/* On the twin the image's own number of levels is required to find them. */
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
    const char *own = "not tried", *full = "not tried";
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
        if (p->cu->software) CU_OK(result);
        size_t wrong = 0;
        if (result == CUDA_SUCCESS) {
            wrong = wrong_bytes(p, &vk, mipmap, count);
            if (p->cu->software) REQUIRE_EQ(wrong, 0);
            CU_OK(p->cu->MipmappedArrayDestroy(mipmap));
        }
        const char *how = result != CUDA_SUCCESS ? "refused"
                          : wrong == 0           ? "all bytes right"
                                                 : "bytes wrong";
        if (count == levels) own = how;
        if (count == whole) full = how;
    }
    char image[96];
    snprintf(image, sizeof image, "%s %ux%ux%u, %u layers, %u of %u levels, usage %s", k->name,
             (unsigned)k->width, (unsigned)k->height, (unsigned)k->depth, (unsigned)k->layers,
             (unsigned)levels, (unsigned)whole, usages[usage].name);
    ANSWER(answer_key("mapped as it is: %s", image), "%s", own);
    if (levels != whole) ANSWER(answer_key("mapped with a whole chain: %s", image), "%s", full);
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
