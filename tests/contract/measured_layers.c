/* SPDX-License-Identifier: MIT */
/* Images of several layers that have fewer levels than a whole chain: with which numLevels a
 * mapping finds the layers. On the twin the image's own number is required to. */
#define TEST_GROUP "measured."
#include "images.h"

typedef struct layered {
    const char *name;
    uint32_t dimensions, width, height, depth, layers;
    bool cube;
} layered;

static const layered kinds[] = {
    {"1D array", 1, 61, 1, 1, 5, false},    {"2D array", 2, 31, 17, 1, 3, false},
    {"2D array", 2, 256, 128, 1, 4, false}, {"cube", 2, 16, 16, 1, 6, true},
    {"cube array", 2, 16, 16, 1, 18, true}, {"3D", 3, 19, 13, 11, 1, false},
    {"one layer", 2, 61, 33, 1, 1, false},
};
static const struct {
    const char *name;
    VkImageUsageFlags usage;
} usages[] = {{"transfers", 0}, {"all", VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_STORAGE_BIT}};
enum { KINDS = sizeof kinds / sizeof kinds[0], ROWS = KINDS * 2 };

static CUDA_ARRAY3D_DESCRIPTOR describe(const layered *k)
{
    CUDA_ARRAY3D_DESCRIPTOR d =
        raw_cuda_array_desc(CU_AD_FORMAT_UNSIGNED_INT8, 4, k->width, k->height);
    if (k->dimensions == 1) d.Height = 0;
    if (k->dimensions == 3) d.Depth = k->depth;
    if (k->layers > 1) d.Depth = k->layers;
    if (k->cube) d.Flags |= CUDA_ARRAY3D_CUBEMAP;
    if (k->layers > (k->cube ? 6u : 1u)) d.Flags |= CUDA_ARRAY3D_LAYERED;
    return d;
}

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
        unsigned char *found = test_memory(bytes);
        CU_OK(raw_cuda_read_box(p->cu, image_level(p, mipmap, level), found, row, extent.height,
                                (size_t)extent.depth * vk->desc.layers));
        wrong += image_wrong_bytes(found, (const unsigned char *)expected, bytes);
    }
    return wrong;
}

static void try_levels(pair *p, const layered *k, size_t usage, uint32_t levels, uint32_t whole)
{
    const raw_vk_image_desc desc = {.format = VK_FORMAT_R8G8B8A8_UNORM,
                                    .width = k->width,
                                    .height = k->height,
                                    .depth = k->depth,
                                    .levels = levels,
                                    .layers = k->layers,
                                    .dimensions = k->dimensions,
                                    .create_flags =
                                        k->cube ? VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT : 0,
                                    .usage = usages[usage].usage,
                                    .flags = RAW_VK_EXPORT};
    const CUDA_ARRAY3D_DESCRIPTOR array = describe(k);
    raw_vk_image vk;
    CUexternalMemory memory;
    char line[512] = "";
    int at = 0;
    const char *own = "not tried", *full = "not tried";
    if (!raw_vk_image_supported(&p->vk, &desc)) return;
    raw_vk_image_create(&p->vk, &desc, &vk);
    for (uint32_t level = 0; level < levels; level++) {
        uint32_t *texels = pattern_words(raw_vk_image_bytes(&vk, level), level + 1);
        raw_vk_image_write(&p->vk, &vk, level, texels);
    }
    CU_OK(raw_cuda_import_memory(p->cu, raw_vk_image_fd(&p->vk, &vk), vk.allocation_size, false,
                                 &memory));
    for (uint32_t count = 1; count <= whole; count++) {
        CUmipmappedArray mipmap = NULL;
        if (p->cu->software && count != levels) continue;
        CUresult result = raw_cuda_map_image(p->cu, memory, vk.offset, &array, count, &mipmap);
        if (p->cu->software) CU_OK(result);
        if (result != CUDA_SUCCESS) {
            at += snprintf(line + at, sizeof line - (size_t)at, " %u refused", (unsigned)count);
            if (count == levels) own = "refused";
            if (count == whole) full = "refused";
            continue;
        }
        const size_t wrong = wrong_bytes(p, &vk, mipmap, count);
        at += snprintf(line + at, sizeof line - (size_t)at, " %u %zu", (unsigned)count, wrong);
        if (count == levels) own = wrong == 0 ? "all bytes right" : "bytes wrong";
        if (count == whole) full = wrong == 0 ? "all bytes right" : "bytes wrong";
        if (p->cu->software) REQUIRE_EQ(wrong, 0);
        CU_OK(p->cu->MipmappedArrayDestroy(mipmap));
    }
    char image[96];
    snprintf(image, sizeof image, "%s %ux%ux%u, %u layers, %u of %u levels, usage %s", k->name,
             (unsigned)k->width, (unsigned)k->height, (unsigned)k->depth, (unsigned)k->layers,
             (unsigned)levels, (unsigned)whole, usages[usage].name);
    ANSWER(answer_key("mapped as it is: %s", image), "%s", own);
    if (levels != whole) ANSWER(answer_key("mapped with a whole chain: %s", image), "%s", full);
    MEASURED(
        "levels_of_layers",
        "%s %ux%ux%u, %u layers, usage %s, %u of %u levels, %llu bytes; numLevels and wrong bytes:%s",
        k->name, (unsigned)k->width, (unsigned)k->height, (unsigned)k->depth, (unsigned)k->layers,
        usages[usage].name, (unsigned)levels, (unsigned)whole, (unsigned long long)vk.size, line);
    CU_OK(p->cu->DestroyExternalMemory(memory));
    raw_vk_image_destroy(&p->vk, &vk);
}

static void try_rows(size_t first, size_t end)
{
    pair p;
    pair_open(&p);
    for (size_t i = first; i < end; i++) {
        const layered *k = &kinds[i / 2];
        uint32_t whole = 1;
        while (k->width >> whole != 0 || k->height >> whole != 0 || k->depth >> whole != 0)
            whole++;
        for (uint32_t levels = 1; levels <= whole; levels++)
            try_levels(&p, k, i % 2, levels, whole);
    }
    pair_close(&p);
}

IMAGE_ROWS(levels_of_layers, "measured.levels_of_layers", "measured.levels_of_layers_child", ROWS,
           KINDS, try_rows, .mark = TEST_TWIN_STRICTER,
           .reason = "the twin's answers are required, NVIDIA's reported")
