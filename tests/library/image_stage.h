/* SPDX-License-Identifier: MIT */
/* What the image suites share: a stage with a stream and a semaphore each way, shared images of
 * every origin, patterns, and the barriers that Culvert hands out, recorded in either form. */
#ifndef CULVERT_TESTS_LIBRARY_IMAGE_STAGE_H_
#define CULVERT_TESTS_LIBRARY_IMAGE_STAGE_H_

#include "library.h"
#include "raw_cuda_image.h"
#include "raw_vulkan_image.h"

enum { MAX_LEVELS = 12, FLIP = 0x0f };

/* A device, a stream, a semaphore each way. */
typedef struct stage {
    lib_world w;
    CUmodule module;
    CUstream stream;
    lib_turns turns;
} stage;

void stage_open(stage *s);
void stage_close(stage *s);
#define IMAGE_CASE(...) TEST_ON(stage, s, stage_open(s), stage_close(s), __VA_ARGS__)
/* Families whose queues copy any region of an image (video queues need not). */
bool stage_copies(const stage *s, uint32_t queue);
/* Ends and submits what Vulkan does with an image, between CUDA's last signal and the next wait;
 * waits for it. CUDA's turn begins after that, and ends. */
#define stage_submit(s, commands, queue) lib_turns_submit(&(s)->w, &(s)->turns, commands, queue)
#define stage_cuda_begin(s)              lib_turns_cuda_begin(&(s)->turns, (s)->stream)
#define stage_cuda_end(s)                lib_turns_cuda_end(&(s)->turns, (s)->stream)

/* Where an image comes from. */
typedef enum image_origin {
    CALLERS_DEDICATED, /* made by the caller, with memory of its own */
    CALLERS_AT_OFFSET, /* made by the caller, somewhere in its memory */
    CULVERTS,          /* culv_vk_image_create() */
    IMAGE_ORIGINS
} image_origin;

typedef struct shared_image {
    image_origin origin;
    culv_format_info format;
    uint32_t width, height, levels;
    VkImage image;
    raw_vk_image caller;     /* the caller's */
    culv_memory *memory;     /* the caller's */
    culv_shared_image *made; /* Culvert's */
    culv_image *cuda;        /* of `made`, or unmapped by shared_image_close() */
    size_t at[MAX_LEVELS];   /* each level's texels in a buffer of `size` bytes, without padding */
    size_t size;
} shared_image;

/* What vkCreateImage is called with: 2D, OPTIMAL, exclusive. `external` goes into its chain unless
 * NULL. */
VkImageCreateInfo image_info(VkFormat format, uint32_t width, uint32_t height, uint32_t levels,
                             VkImageUsageFlags usage, VkExternalMemoryImageCreateInfo *external);
/* The usages besides transfers. In UNDEFINED, of nobody. */
void shared_image_open(stage *s, image_origin origin, VkFormat format, uint32_t width,
                       uint32_t height, uint32_t levels, VkImageUsageFlags usage,
                       shared_image *out);
void shared_image_close(stage *s, shared_image *i);
/* The levels' places, of one that a case has made and mapped itself. */
void shared_image_lay_out(shared_image *i);
/* The level's extent, as Culvert tells it. */
VkExtent3D shared_image_extent(const shared_image *i, uint32_t level);

/* Patterns: all levels in `texels` (i->size bytes), each with its own seed, each byte inverted
 * where `flip`. */
void image_fill(const shared_image *i, uint32_t seed, unsigned char flip, unsigned char *texels);

/* On the stage's stream, between stage_cuda_begin() and _end(). */
void cuda_paint(stage *s, const shared_image *i, uint32_t level, uint32_t seed);
void cuda_flip(stage *s, const shared_image *i, uint32_t level);
void cuda_copy_in(stage *s, const shared_image *i, uint32_t level, const unsigned char *texels);
void cuda_copy_out(stage *s, const shared_image *i, uint32_t level, unsigned char *texels);

/* Records the barrier that Culvert hands out. */
typedef enum hand_over { TO_CUDA, TO_VULKAN } hand_over;
void record_barrier(VkCommandBuffer commands, const culv_vk_image_transfer *t, hand_over way,
                    bool old_form);
culv_vk_image_transfer image_transfer(const shared_image *i, uint32_t queue, culv_vk_use use);
/* A new image's way to CUDA, submitted. */
void image_first_release(stage *s, const shared_image *i, uint32_t queue, bool old_form);
/* All levels, in `buffer` as image_fill() lays them out; the image is in TRANSFER_SRC or
 * TRANSFER_DST layout. */
void record_copy_out(VkCommandBuffer commands, const shared_image *i, VkBuffer buffer);
void record_copy_in(VkCommandBuffer commands, const shared_image *i, VkBuffer buffer,
                    VkDeviceSize offset);

#endif
