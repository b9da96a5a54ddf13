/* SPDX-License-Identifier: MIT */
/* What the image rows share: the formats, an image in both APIs, and its texels compared on either
 * side. */
#ifndef CULVERT_TESTS_IMAGES_H_
#define CULVERT_TESTS_IMAGES_H_

#include "contract.h"
#include "raw_cuda_image.h"
#include "raw_vulkan_image.h"

typedef struct image_format {
    const char *name;
    VkFormat vk;
    CUarray_format cu;
    unsigned channels;
    size_t texel;              /* bytes */
    const char *kernel;        /* the type that its kernels are named after */
    VkClearColorValue color;   /* what an image is cleared to ... */
    unsigned char cleared[16]; /* ... and the bytes of a texel then */
} image_format;

enum { IMAGE_RGBA8, IMAGE_BGRA8, IMAGE_RGBA16F, IMAGE_R32F, IMAGE_RGBA32F, IMAGE_FORMATS };
extern const image_format image_formats[IMAGE_FORMATS];

/* A Vulkan image imported by CUDA and mapped whole. */
typedef struct shared_image {
    const image_format *format;
    raw_vk_image vk;
    CUexternalMemory memory;
    CUmipmappedArray mipmap;
} shared_image;

raw_vk_image_desc image_desc(const image_format *format, uint32_t width, uint32_t height,
                             uint32_t levels, unsigned vk_flags);
/* Exportable, and dedicated on both sides where vk_flags say RAW_VK_DEDICATED. */
void shared_image_open(pair *p, const image_format *format, uint32_t width, uint32_t height,
                       uint32_t levels, unsigned vk_flags, shared_image *out);
void shared_image_close(pair *p, shared_image *image);
/* Both until the case ends. */
shared_image pair_image(pair *p, const image_format *format, uint32_t width, uint32_t height,
                        uint32_t levels, unsigned vk_flags);
raw_vk_image pair_vk_image(pair *p, const raw_vk_image_desc *desc);
CUDA_ARRAY3D_DESCRIPTOR image_cuda_desc(const image_format *format, const raw_vk_image *image);
uint32_t image_full_chain(uint32_t width, uint32_t height);

CUarray image_level(const pair *p, CUmipmappedArray mipmap, uint32_t level);
/* The texels that the kernels write; until the case ends. */
unsigned char *image_pattern(const image_format *format, VkExtent3D extent, unsigned seed);
size_t image_wrong_bytes(const unsigned char *found, const unsigned char *expected, size_t size);
/* A kernel over a whole level on the pair's stream, waited for. `argument` is the seed or the
 * texels. */
void image_launch(const pair *p, CUmodule module, const char *verb, const image_format *format,
                  CUsurfObject surface, VkExtent3D extent, void *argument);
/* All five ways of reading and writing a level, by array copy and by kernel, from and to Vulkan:
 * the bytes that are wrong. */
size_t same_image_wrong(pair *p, CUmodule module, const image_format *format,
                        const raw_vk_image *image, CUmipmappedArray mipmap, uint32_t level,
                        unsigned seed);
/* The same; ends the case on a wrong byte. */
void require_same_image(pair *p, CUmodule module, const image_format *format,
                        const raw_vk_image *image, CUmipmappedArray mipmap, uint32_t level,
                        unsigned seed);
/* The same by array copies only, both ways, counted: for rows that report. */
size_t count_wrong_bytes(pair *p, const image_format *format, const raw_vk_image *image,
                         CUmipmappedArray mipmap, uint32_t level, unsigned seed);

/* Clamped, with levels up to `most`. */
CUDA_TEXTURE_DESC image_sampling(CUfilter_mode filter, unsigned flags, float most);

/* By Vulkan, and waited for: all of a level, or of a plane, of formats whose texels
 * raw_vulkan_image.h cannot count. */
void image_copy_part(pair *p, const raw_vk_image *image, VkImageAspectFlags aspect, uint32_t level,
                     VkExtent3D extent, const raw_vk_buffer *staging, bool to_image);
/* Answers "NAME: WHAT". */
void image_answer(const char *name, const char *what, CUresult result);
/* A case of `count` rows, `group` of them in a process of their own, the case `child`, on NVIDIA's
 * driver: 1 where a wrong descriptor was seen to spoil the heap. If a process ends early, its rows
 * run again, one by one. */
#define IMAGE_ROWS(function, name, child, count, group, run, ...)                                  \
    TEST_AS(function, image_rows(child, count, group, run), .title = name, __VA_ARGS__)            \
    TEST_AS(function##_child, image_row_group(run), .title = child)
void image_rows(const char *child, size_t count, size_t group,
                void (*run)(size_t first, size_t end));
/* In the child: its rows, or skips. */
void image_row_group(void (*run)(size_t first, size_t end));

#endif
