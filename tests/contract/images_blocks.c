/* SPDX-License-Identifier: MIT */
/* Contract rows: block-compressed images, their blocks copied by both APIs. */
#include "images.h"

typedef struct block_row {
    const char *name;
    VkFormat vk;
    int cu; /* by number, as older cuda.h files lack the names */
    unsigned channels;
    size_t bytes; /* of a block */
} block_row;

static const block_row rows[] = {
    {"BC1", VK_FORMAT_BC1_RGBA_UNORM_BLOCK, 0x91, 4, 8},
    {"BC1 sRGB", VK_FORMAT_BC1_RGBA_SRGB_BLOCK, 0x92, 4, 8},
    {"BC2", VK_FORMAT_BC2_UNORM_BLOCK, 0x93, 4, 16},
    {"BC2 sRGB", VK_FORMAT_BC2_SRGB_BLOCK, 0x94, 4, 16},
    {"BC3", VK_FORMAT_BC3_UNORM_BLOCK, 0x95, 4, 16},
    {"BC3 sRGB", VK_FORMAT_BC3_SRGB_BLOCK, 0x96, 4, 16},
    {"BC4", VK_FORMAT_BC4_UNORM_BLOCK, 0x97, 1, 8},
    {"BC4 signed", VK_FORMAT_BC4_SNORM_BLOCK, 0x98, 1, 8},
    {"BC5", VK_FORMAT_BC5_UNORM_BLOCK, 0x99, 2, 16},
    {"BC5 signed", VK_FORMAT_BC5_SNORM_BLOCK, 0x9a, 2, 16},
    {"BC6H", VK_FORMAT_BC6H_UFLOAT_BLOCK, 0x9b, 3, 16},
    {"BC6H signed", VK_FORMAT_BC6H_SFLOAT_BLOCK, 0x9c, 3, 16},
    {"BC7", VK_FORMAT_BC7_UNORM_BLOCK, 0x9d, 4, 16},
    {"BC7 sRGB", VK_FORMAT_BC7_SRGB_BLOCK, 0x9e, 4, 16},
};

enum { W = 61, H = 38, LEVELS = 6 };

static size_t blocks(uint32_t texels)
{
    return (texels + 3) / 4;
}

/* Blocks of a level, by CUDA's copies; in both directions with Vulkan's. Rows are counted in blocks
 * by `by_blocks`, or in texels: cuda.h does not say. */
static CUresult copy_level(pair *p, const block_row *row, const raw_vk_image *vk,
                           CUmipmappedArray mipmap, uint32_t level, bool by_blocks, size_t *wrong)
{
    const VkExtent3D extent = raw_vk_image_extent(vk, level);
    const size_t across = blocks(extent.width) * row->bytes, down = blocks(extent.height),
                 size = across * down;
    const size_t height = by_blocks ? down : extent.height;
    const CUarray array = image_level(p, mipmap, level);
    unsigned char *expected = test_memory(size),
                  *found = test_memory(across * (extent.height + 4u));
    raw_vk_buffer staging;
    void *mapped;
    for (size_t i = 0; i < size; i++)
        expected[i] = (unsigned char)((i * 2654435761u + level) >> 7);
    raw_vk_buffer_create(&p->vk, size, RAW_VK_HOST, &staging);
    mapped = staging.mapped;
    memcpy(mapped, expected, size);
    image_copy_part(p, vk, VK_IMAGE_ASPECT_COLOR_BIT, level, extent, &staging, true);
    CUresult result = raw_cuda_read_array(p->cu, array, found, across, height);
    *wrong = image_wrong_bytes(found, expected, size);
    if (result == CUDA_SUCCESS) {
        for (size_t i = 0; i < size; i++)
            found[i] = expected[i] = (unsigned char)(expected[i] ^ 0x5a);
        result = raw_cuda_write_array(p->cu, array, found, across, height);
        CU_OK(p->cu->CtxSynchronize());
        memset(mapped, 0, size);
        image_copy_part(p, vk, VK_IMAGE_ASPECT_COLOR_BIT, level, extent, &staging, false);
        *wrong += image_wrong_bytes(mapped, expected, size);
    }
    raw_vk_buffer_destroy(&p->vk, &staging);
    return result;
}

static void try_blocks(size_t first, size_t end)
{
    pair p;
    pair_open(&p);
    for (size_t i = first; i < end; i++) {
        const block_row *row = &rows[i];
        const raw_vk_image_desc desc = {
            .format = row->vk, .width = W, .height = H, .levels = LEVELS, .flags = RAW_VK_EXPORT};
        CUDA_ARRAY3D_DESCRIPTOR array =
            raw_cuda_array_desc((CUarray_format)row->cu, row->channels, W, H);
        CUmipmappedArray mipmap = NULL;
        array.Flags = 0;
        if (!raw_vk_image_supported(&p.vk, &desc)) {
            MEASURED("blocks", "%s: no such image", row->name);
            continue;
        }
        raw_vk_image vk = pair_vk_image(&p, &desc);
        CUexternalMemory memory =
            raw_cuda_imported(p.cu, raw_vk_image_fd(&p.vk, &vk), vk.allocation_size, false);
        CUresult result = raw_cuda_map_image(p.cu, memory, 0, &array, LEVELS, &mipmap);
        image_answer("mapping", row->name, result);
        for (uint32_t level = 0; level < LEVELS && mipmap != NULL; level++)
            for (int by_blocks = 1; by_blocks >= 0; by_blocks--) {
                size_t wrong = 0;
                result = copy_level(&p, row, &vk, mipmap, level, by_blocks, &wrong);
                if (level == 0 || level == LEVELS - 1)
                    ANSWER(answer_key("%s, level %u, rows counted in %s", row->name, level,
                                      by_blocks ? "blocks" : "texels"),
                           "%s, %zu bytes wrong", raw_cuda_result_name(result), wrong);
                if (result == CUDA_SUCCESS && wrong == 0) break;
            }

        if (mipmap != NULL) CU_OK(p.cu->MipmappedArrayDestroy(mipmap));
        mipmap = NULL;
        array.Flags = CUDA_ARRAY3D_SURFACE_LDST;
        result = raw_cuda_map_image(p.cu, memory, 0, &array, LEVELS, &mipmap);
        image_answer("mapping with SURFACE_LDST", row->name, result);
        CU_IS(result, CUDA_ERROR_NOT_SUPPORTED);
    }
    pair_close(&p);
}

IMAGE_ROWS(
    compressed, "images.blocks", "images.blocks_child", sizeof rows / sizeof rows[0], 7, try_blocks,
    .mark = TEST_TWIN_STRICTER,
    .reason =
        "the twin counts rows in blocks and has no surfaces of them; NVIDIA's answers are reported")
