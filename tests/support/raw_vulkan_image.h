/* SPDX-License-Identifier: MIT */
/* Images of the tests' own Vulkan (raw_vulkan.h): made for CUDA in one call, filled, cleared and
 * read back through staging buffers, on any queue. Every failure ends the case (REQUIRE).
 *
 *   raw_vk_image image;
 *   raw_vk_image_create(&vk, &(raw_vk_image_desc){.format = VK_FORMAT_R8G8B8A8_UNORM, .width = 253,
 *                       .height = 127, .levels = 5, .flags = RAW_VK_EXPORT | RAW_VK_DEDICATED},
 *                       &image);
 *   int fd = raw_vk_image_fd(&vk, &image);               // import it with image.allocation_size
 *   bytes
 *   raw_vk_image_write(&vk, &image, 0, texels);          // level 0, rows without padding
 *   ... CUDA maps at image.offset and reads or writes ...
 *   raw_vk_image_read(&vk, &image, 4, texels);
 *   raw_vk_image_destroy(&vk, &image);
 *
 * Between the calls below a new image lies in VK_IMAGE_LAYOUT_GENERAL, where CUDA may use it: one
 * whose memory is exported or imported (RAW_VK_EXPORT, RAW_VK_IMPORT, or in such memory) is owned
 * by VK_QUEUE_FAMILY_EXTERNAL, another one by queue family 0. raw_vk_image_acquire and
 * raw_vk_image_release change both, for work that a test records itself. */
#ifndef CULVERT_TESTS_RAW_VULKAN_IMAGE_H_
#define CULVERT_TESTS_RAW_VULKAN_IMAGE_H_

#include "raw_vulkan.h"

/* In the flags of an image, besides RAW_VK_EXPORT and RAW_VK_DEDICATED. */
enum {
    RAW_VK_LINEAR = 16,    /* VK_IMAGE_TILING_LINEAR, not OPTIMAL */
    RAW_VK_UNTOUCHED = 32, /* leave it in UNDEFINED: the test makes the first transition itself */
    RAW_VK_BORROWED = 64,  /* set by raw_vk_image_create_in: the memory is another's */
};

/* Zero: 2D, one level, one layer, depth 1. */
typedef struct raw_vk_image_desc {
    VkFormat format;
    uint32_t width, height, depth;
    uint32_t levels, layers;
    uint32_t dimensions; /* 1, 2 or 3 */
    VkImageCreateFlags create_flags;
    VkImageUsageFlags usage; /* besides TRANSFER_SRC and TRANSFER_DST */
    VkDeviceSize min_offset; /* the image lies at least this far into its (not dedicated) memory */
    /* With VK_IMAGE_CREATE_DISJOINT_BIT: how many; the last one lies first in the memory */
    uint32_t planes;
    unsigned flags; /* RAW_VK_... */
} raw_vk_image_desc;

typedef struct raw_vk_image {
    VkImage image;
    VkDeviceMemory memory;
    VkDeviceSize size;             /* that Vulkan requires for it */
    VkDeviceSize allocation_size;  /* of the memory: what an importer must be told */
    VkDeviceSize offset;           /* of the image in its memory */
    VkDeviceSize plane_offsets[3]; /* of each plane, of a disjoint one */
    uint32_t memory_type;
    raw_vk_image_desc desc; /* with the zeros filled in */
} raw_vk_image;

/* Makes the image, binds it and brings it into its first layout (waits for that, unless
 * RAW_VK_UNTOUCHED). */
void raw_vk_image_create(raw_vk *vk, const raw_vk_image_desc *desc, raw_vk_image *out);
/* As raw_vk_image_create, in the exported memory of `buffer`, at least min_offset bytes from its
 * start. The buffer outlives the image. Room: raw_vk_image_needs bytes; buffers made by
 * raw_vk_buffer_create_at leave some in front. Skips the case where Vulkan has no memory type for
 * both. */
void raw_vk_image_create_in(raw_vk *vk, const raw_vk_image_desc *desc, const raw_vk_buffer *buffer,
                            raw_vk_image *out);
/* What raw_vk_image_create would need. */
VkMemoryRequirements raw_vk_image_needs(raw_vk *vk, const raw_vk_image_desc *desc);
/* Whether Vulkan can make it, exportable where RAW_VK_EXPORT asks for that, disjoint where
 * create_flags do. */
bool raw_vk_image_supported(raw_vk *vk, const raw_vk_image_desc *desc);
/* A second image on memory that was exported as fd by the same driver. Consumes the fd. `like`
 * gives the rest. It begins in UNDEFINED: raw_vk_image_first_layout would lose the contents, use
 * raw_vk_image_acquire. */
void raw_vk_image_import(raw_vk *vk, int fd, const raw_vk_image *like, raw_vk_image *out);
void raw_vk_image_destroy(raw_vk *vk, raw_vk_image *image);
/* A new fd of the exported memory; the caller owns it. */
int raw_vk_image_fd(raw_vk *vk, const raw_vk_image *image);

/* The extent of a level in texels, and its bytes without padding, all layers and slices. */
VkExtent3D raw_vk_image_extent(const raw_vk_image *image, uint32_t level);
size_t raw_vk_image_bytes(const raw_vk_image *image, uint32_t level);
/* Bytes of a texel of an uncompressed format; 0 for one that is not in the list. */
uint32_t raw_vk_texel_size(VkFormat format);
/* Of a LINEAR image. */
VkSubresourceLayout raw_vk_image_layout(raw_vk *vk, const raw_vk_image *image, uint32_t level,
                                        uint32_t layer);

/* Recording: every level and layer, from EXTERNAL (or from nobody, where the image is not shared)
 * and GENERAL to `layout` on the queue's family, and back. */
void raw_vk_image_acquire(const raw_vk *vk, VkCommandBuffer commands, uint32_t queue,
                          const raw_vk_image *image, VkImageLayout layout);
void raw_vk_image_release(const raw_vk *vk, VkCommandBuffer commands, uint32_t queue,
                          const raw_vk_image *image, VkImageLayout layout);
/* UNDEFINED to GENERAL and released, in a submit of its own. */
void raw_vk_image_first_layout(raw_vk *vk, const raw_vk_image *image, const raw_vk_job *job);

/* A whole level, all layers and slices, without padding, from or to a RAW_VK_HOST buffer (offset a
 * multiple of 16); acquired before and released after. `job` as in raw_vulkan.h: NULL waits for the
 * end. */
void raw_vk_image_from_buffer(raw_vk *vk, const raw_vk_image *image, uint32_t level,
                              const raw_vk_buffer *buffer, VkDeviceSize offset,
                              const raw_vk_job *job);
void raw_vk_image_to_buffer(raw_vk *vk, const raw_vk_image *image, uint32_t level,
                            const raw_vk_buffer *buffer, VkDeviceSize offset,
                            const raw_vk_job *job);
/* Needs a queue with graphics or compute, as vkCmdClearColorImage does. */
void raw_vk_image_clear(raw_vk *vk, const raw_vk_image *image, uint32_t level,
                        VkClearColorValue color, const raw_vk_job *job);
/* The same through a staging buffer of raw_vk_image_bytes(image, level) bytes, on queue 0; they
 * wait. */
void raw_vk_image_write(raw_vk *vk, const raw_vk_image *image, uint32_t level, const void *texels);
void raw_vk_image_read(raw_vk *vk, const raw_vk_image *image, uint32_t level, void *texels);

#endif
