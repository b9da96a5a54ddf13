/* SPDX-License-Identifier: MIT */
/* The format sweep: every row of the format table in every dimension, all levels and layers,
 * written by CUDA and read by Vulkan and back, through arrays, surfaces and textures. The rows are
 * the library's own (culv_format_get_info), so a new one is swept without a change here. Each
 * answer becomes a line of a results file (report.c), from which scripts/report formats makes the
 * table of docs/formats.md.
 *
 * Program options: --jsonl=FILE (default: formats.jsonl in --results=DIR), --reduced (2D for all
 * formats, all dimensions for a few), --reduced=most (those few alone), --format=NAME (that one
 * alone). */
#ifndef CULVERT_TESTS_SWEEP_H_
#define CULVERT_TESTS_SWEEP_H_

#include "library.h"
#include "raw_vulkan_image.h"
#include "sweep_kernels.h"

enum {
    MAX_LEVELS = 12,
    MAX_PLANES = 3,
    MAX_REASON = 480,
    SWEEP_BYTES = 1 << 20, /* room for an image's texels, all levels, layers and planes */
    SWEEP_TEXELS = 1 << 16 /* the same, counted */
};

typedef enum outcome {
    OUTCOME_NONE,
    OUTCOME_RIGHT,
    OUTCOME_WRONG,
    OUTCOME_SKIPPED,
    OUTCOME_REFUSED
} outcome;

typedef struct answer {
    outcome outcome;
    char reason[MAX_REASON];
} answer;

/* Each must be right in both directions that it has. Textures are read only. */
typedef enum way { WAY_ARRAY, WAY_SURFACE, WAY_TEXTURE, NUM_WAYS } way;

typedef enum origin {
    ORIGIN_CULVERTS, /* culv_vk_image_create() */
    ORIGIN_CALLERS   /* the caller's own, culv_vk_memory_import() and culv_vk_image_map() */
} origin;

/* What one image is tried for. */
typedef struct cell {
    const culv_format_info *format;
    int dimension;
    culv_texels texels;
    origin origin;
} cell;

/* Shapes of the fetching shaders: a 1D or 2D array, of one layer or more, or 3D. */
enum { FETCH_1D, FETCH_2D, FETCH_3D, NUM_FETCHES };

typedef struct sweep {
    lib_world w;
    CUmodule surfaces, textures;
    CUfunction store, load, sample; /* sweep_... of the two */
    CUstream stream;
    lib_turns turns;
    /* host-visible: SWEEP_BYTES, SWEEP_BYTES, 16 bytes a texel */
    raw_vk_buffer written, read, fetched;
    CUdeviceptr device;              /* 16 bytes a texel */
    unsigned char *expected, *found; /* 16 bytes a texel */
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout pipeline_layout;
    VkDescriptorPool pool;
    VkSampler sampler;
    VkPipeline fetches[NUM_FETCHES][SWEEP_NUM_NUMBERS]; /* made when first used */
    bool lost; /* a kernel faulted: the context is of no use any more */
    unsigned counts[OUTCOME_REFUSED + 1];
    char first_reason[MAX_REASON]; /* of what was not right */
} sweep;

typedef struct sweep_image {
    cell what;
    VkImageCreateInfo info;
    VkExternalMemoryImageCreateInfo external; /* in info's chain, of the caller's */
    VkFormatFeatureFlags features;
    uint32_t plane_count;
    struct {
        culv_format_info format;
        uint32_t across, down; /* what the image's sides are divided by */
        VkImageAspectFlags aspect;
    } planes[MAX_PLANES];
    /* In a buffer: levels one after another, each slice after slice, row after row, without
     * padding. */
    size_t bytes_at[MAX_PLANES][MAX_LEVELS], bytes;
    size_t texels_at[MAX_PLANES][MAX_LEVELS], texels;
    VkImage image;
    culv_image *cuda;
    culv_shared_image *made;
    raw_vk_image caller;
    culv_memory *memory;
} sweep_image;

/* stage.c */
void sweep_cuda_end(sweep *s); /* and waits for CUDA's work */

/* rows.c: formats, families of them, dimensions */
extern const char *const sweep_dimension_names[SWEEP_NUM_DIMENSIONS];
extern const char *const sweep_way_names[NUM_WAYS];
/* One of the few that are swept in every dimension where the sweep is reduced. */
bool sweep_name_has(const culv_format_info *format, const char *text);

/* image.c */
/* Describes the image, and answers whether this Vulkan, the gate and this CUDA driver have it:
 * RIGHT, or why not. */
answer sweep_image_plan(sweep *s, const cell *what, sweep_image *out);
answer sweep_image_create(sweep *s, sweep_image *i);
void sweep_image_destroy(sweep *s, sweep_image *i);
/* Of a plane's level: texels; slices is the depth, or all layers. */
void sweep_image_extent(const sweep_image *i, uint32_t plane, uint32_t level, uint32_t *width,
                        uint32_t *height, uint32_t *slices);
/* The same in blocks. */
void sweep_image_blocks(const sweep_image *i, uint32_t plane, uint32_t level, uint32_t *width,
                        uint32_t *height, uint32_t *slices);
/* For messages: which byte of the texels this is. */
void sweep_image_where(const sweep_image *i, size_t byte, char *text, size_t size);

/* pattern.c: bytes for all texels, with the values that are special of the format. */
void sweep_pattern(const sweep_image *i, uint32_t seed, unsigned char *bytes);

/* vulkan.c: recorded between lib_turns_submit()s. The image is in TRANSFER_SRC or _DST layout. */
void sweep_record_hand_over(VkCommandBuffer commands, const sweep_image *i, bool to_cuda,
                            culv_vk_use use, bool discard);
void sweep_record_between(VkCommandBuffer commands, const sweep_image *i, VkImageLayout from,
                          VkImageLayout to);
void sweep_record_copy_out(VkCommandBuffer commands, const sweep_image *i, VkBuffer buffer);
void sweep_record_copy_in(VkCommandBuffer commands, const sweep_image *i, VkBuffer buffer);

/* fetch.c: what Vulkan's shaders read, which ties the reference of decode.c to Vulkan; of blocks it
 * is the reference. */
bool sweep_can_fetch(const sweep_image *i);
void sweep_open_fetch(sweep *s);
void sweep_close_fetch(sweep *s);
/* Into s->fetched, every level; the image is in GENERAL layout. Returns the view, to be destroyed
 * after. */
VkImageView sweep_record_fetch(sweep *s, VkCommandBuffer commands, const sweep_image *i);

/* cuda.c: in CUDA's turn. NULL, or what the library or driver said. */
const char *sweep_array_write(sweep *s, const sweep_image *i, const unsigned char *bytes);
const char *sweep_array_read(sweep *s, const sweep_image *i, unsigned char *bytes);
const char *sweep_surface_write(sweep *s, const sweep_image *i, const unsigned char *bytes);
const char *sweep_surface_read(sweep *s, const sweep_image *i, unsigned char *bytes);
/* Four words a texel into `values`. */
const char *sweep_texture_read(sweep *s, const sweep_image *i, culv_texture_read read,
                               unsigned char *values);

/* decode.c: what a read of a texel returns, by the format's definition. */
typedef struct reading {
    int number; /* SWEEP_FLOAT ... */
    uint32_t channels;
} reading;
/* What the values of a plane are; channels 0: not defined. */
reading sweep_reading(const culv_format_info *format, culv_texels texels, culv_texture_read read);

/* cell.c: one image, all ways. */

/* report.c */
void sweep_report_machine(sweep *s);
void answer_set(answer *a, outcome what, const char *format, ...) TEST_PRINTF(3, 4);

#endif
