/* SPDX-License-Identifier: MIT */
/* culv_vk_image_map_pitched(): LINEAR images by their rows. */
#define TEST_GROUP "pitched."
#include "image_stage.h"

typedef struct linear {
    raw_vk_image image;
    VkExternalMemoryImageCreateInfo external;
    VkImageCreateInfo info;
    culv_memory *memory;
} linear;

static void linear_open(lib_world *w, const raw_vk_image_desc *wanted, linear *l)
{
    memset(l, 0, sizeof *l);
    if (!raw_vk_image_supported(&w->vk, wanted)) SKIP("no such LINEAR image can be exported here");
    raw_vk_image_create(&w->vk, wanted, &l->image);
    const raw_vk_image_desc *d = &l->image.desc;
    l->info = image_info(d->format, d->width, d->height, d->levels, 0, &l->external);
    l->info.imageType = (VkImageType)(d->dimensions - 1);
    l->info.extent.depth = d->depth;
    l->info.arrayLayers = d->layers;
    l->info.tiling = VK_IMAGE_TILING_LINEAR;
    culv_vk_memory_desc m = culv_vk_memory_desc_init();
    m.memory = l->image.memory;
    m.allocation_size = l->image.allocation_size;
    m.dedicated = (d->flags & RAW_VK_DEDICATED) != 0;
    m.image = l->image.image;
    m.image_offset = l->image.offset;
    LIB_OK(culv_vk_memory_import(w->attachment, &m, &l->memory));
}

static void linear_close(lib_world *w, linear *l)
{
    culv_memory_destroy(&l->memory);
    raw_vk_image_destroy(&w->vk, &l->image);
}

static culv_vk_image_desc desc_of(const linear *l)
{
    culv_vk_image_desc d = culv_vk_image_desc_init();
    d.image = l->image.image;
    d.create_info = &l->info;
    d.offset = l->image.offset;
    return d;
}

/* Row by row, as the layout says, between a buffer without padding and the image. */
static void copy(const lib_world *w, const culv_buffer *buffer, const culv_subresource_layout *p,
                 unsigned char *texels, bool in)
{
    const raw_cuda *cu = w->cu;
    CUcontext before = lib_enter(w);
    size_t row = (size_t)p->width * p->bytes_per_block;
    for (uint32_t layer = 0; layer < p->array_layers; layer++)
        for (uint32_t z = 0; z < p->depth; z++)
            for (uint32_t y = 0; y < p->height; y++, texels += row) {
                CUdeviceptr at = culv_buffer_pointer(buffer) + layer * p->layer_pitch +
                                 z * p->depth_pitch + y * p->row_pitch;
                REQUIRE(at + row <= culv_buffer_pointer(buffer) + culv_buffer_size(buffer));
                if (in)
                    CU_OK(raw_cuda_upload(cu, at, texels, row));
                else
                    CU_OK(cu->MemcpyDtoH(texels, at, row));
            }
    lib_leave(w, before);
}

static void exchange(lib_world *w, const linear *l, uint32_t level, uint32_t bytes)
{
    culv_vk_image_desc d = desc_of(l);
    OWN(culv_buffer) *buffer = NULL;
    culv_subresource_layout p = culv_subresource_layout_init();
    LIB_OK(culv_vk_image_map_pitched(w->attachment, l->memory, &d, level, 0, &buffer, &p));
    VkSubresourceLayout layout = raw_vk_image_layout(&w->vk, &l->image, level, 0);
    VkExtent3D e = raw_vk_image_extent(&l->image, level);
    REQUIRE_EQ(p.pointer, culv_buffer_pointer(buffer));
    REQUIRE_EQ(p.size, culv_buffer_size(buffer));
    REQUIRE_EQ(p.row_pitch, layout.rowPitch);
    REQUIRE(p.width == e.width && p.height == e.height && p.depth == e.depth);
    REQUIRE_EQ(p.array_layers, l->image.desc.layers);
    REQUIRE_EQ(p.bytes_per_block, bytes);
    size_t size = raw_vk_image_bytes(&l->image, level);
    unsigned char *texels = malloc(size), *back = malloc(size);
    REQUIRE(texels != NULL && back != NULL);
    for (size_t i = 0; i < size; i++)
        texels[i] = (unsigned char)lib_word((uint32_t)i, level + 3);
    raw_vk_image_write(&w->vk, &l->image, level, texels);
    copy(w, buffer, &p, back, false);
    REQUIRE_EQ_BYTES(back, texels, size);
    for (size_t i = 0; i < size; i++)
        texels[i] ^= 0x5a;
    copy(w, buffer, &p, texels, true);
    raw_vk_image_read(&w->vk, &l->image, level, back);
    REQUIRE_EQ_BYTES(back, texels, size);
    free(texels);
    free(back);
}

static void both_ways(const raw_vk_image_desc *wanted, uint32_t bytes)
{
    lib_world w;
    linear l;
    lib_open(&w);
    linear_open(&w, wanted, &l);
    for (uint32_t level = 0; level < l.image.desc.levels; level++)
        exchange(&w, &l, level, bytes);
    linear_close(&w, &l);
    lib_close(&w);
}

TEST_AS(odd_sizes,
        both_ways(&(raw_vk_image_desc){.format = VK_FORMAT_R8G8B8A8_UNORM,
                                       .width = 253,
                                       .height = 127,
                                       .flags = RAW_VK_EXPORT | RAW_VK_LINEAR | RAW_VK_DEDICATED},
                  4))
TEST_AS(at_offset, both_ways(&(raw_vk_image_desc){.format = VK_FORMAT_R32_SFLOAT,
                                                  .width = 61,
                                                  .height = 17,
                                                  .min_offset = 70000,
                                                  .flags = RAW_VK_EXPORT | RAW_VK_LINEAR},
                             4))
TEST_AS(levels_and_layers, both_ways(&(raw_vk_image_desc){.format = VK_FORMAT_R8G8B8A8_UNORM,
                                                          .width = 40,
                                                          .height = 24,
                                                          .levels = 3,
                                                          .layers = 3,
                                                          .flags = RAW_VK_EXPORT | RAW_VK_LINEAR},
                                     4))
TEST_AS(volume, both_ways(&(raw_vk_image_desc){.format = VK_FORMAT_R32_SFLOAT,
                                               .width = 19,
                                               .height = 11,
                                               .depth = 5,
                                               .dimensions = 3,
                                               .flags = RAW_VK_EXPORT | RAW_VK_LINEAR},
                          4))

LIB_CASE(refused)
{
    linear l;
    culv_buffer *buffer = NULL;
    culv_image *image = NULL;
    culv_subresource_layout p = culv_subresource_layout_init();
    linear_open(w,
                &(raw_vk_image_desc){.format = VK_FORMAT_R8G8B8A8_UNORM,
                                     .width = 32,
                                     .height = 32,
                                     .flags = RAW_VK_EXPORT | RAW_VK_LINEAR},
                &l);
    culv_vk_image_desc d = desc_of(&l);
    LIB_REFUSES(image, culv_vk_image_map(w->attachment, l.memory, &d, &image), INVALID, TILING,
                "culv_vk_image_map_pitched");
    LIB_REFUSES(buffer, culv_vk_image_map_pitched(w->attachment, l.memory, &d, 1, 0, &buffer, &p),
                INVALID, LEVEL);
    LIB_REFUSES(buffer, culv_vk_image_map_pitched(w->attachment, l.memory, &d, 0, 1, &buffer, &p),
                INVALID, LEVEL);
    LIB_INVALID(culv_vk_image_map_pitched(w->attachment, l.memory, &d, 0, 0, NULL, &p),
                NULL_ARGUMENT);
    LIB_INVALID(culv_vk_image_map_pitched(w->attachment, l.memory, &d, 0, 0, &buffer, NULL),
                NULL_ARGUMENT);
    p.struct_size = 3;
    LIB_REFUSES(buffer, culv_vk_image_map_pitched(w->attachment, l.memory, &d, 0, 0, &buffer, &p),
                INVALID, STRUCT_SIZE);
    p = culv_subresource_layout_init();
    l.info.tiling = VK_IMAGE_TILING_OPTIMAL;
    LIB_REFUSES(buffer, culv_vk_image_map_pitched(w->attachment, l.memory, &d, 0, 0, &buffer, &p),
                INVALID, TILING);
    l.info.tiling = VK_IMAGE_TILING_LINEAR;
    l.info.pNext = NULL;
    LIB_REFUSES(buffer, culv_vk_image_map_pitched(w->attachment, l.memory, &d, 0, 0, &buffer, &p),
                INVALID, NOT_EXPORTABLE);
    const culv_subresource_layout untouched = culv_subresource_layout_init();
    REQUIRE_EQ_BYTES(&p, &untouched, sizeof p);
    REQUIRE_EQ(lib_counts(w).buffers, 0);
    linear_close(w, &l);
}
