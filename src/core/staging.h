/* SPDX-License-Identifier: MIT */
/* Memory that is not shared: CUDA's own, and the memory that it is copied to and from. */
#ifndef CULVI_CORE_STAGING_H_
#define CULVI_CORE_STAGING_H_

#include "core/image.h"
#include "culvert/shared.h"

/* One level of one plane of an image as copies see it: rows of blocks without padding. */
typedef struct culvi_part {
    uint32_t level, plane;
    uint32_t slot;          /* of culv_image::levels */
    uint32_t aspect;        /* VkImageAspectFlagBits */
    uint32_t width, height; /* texels of the plane */
    uint32_t depth;
    uint32_t layers;
    uint32_t block_bytes, block_width, block_height;
    uint32_t rows;
    uint64_t row_bytes;
    uint64_t offset; /* in the block of all parts */
} culvi_part;

static inline uint32_t culvi_part_slices(const culvi_part *part)
{
    return part->depth * part->layers; /* one of them is 1 */
}

static inline uint64_t culvi_part_size(const culvi_part *part)
{
    return part->row_bytes * part->rows * culvi_part_slices(part);
}

/* Host-visible memory of the graphics API, and how to free it once CUDA does not use it any longer.
 * All zero: none. */
typedef struct culvi_mapping {
    void (*release)(const struct culvi_mapping *self);
    void (*free_memory)(void); /* the API's function */
    void *device;
    uint64_t memory;
    const void *holder; /* culvi_deferred::holder: the API's device must still be there */
} culvi_mapping;

/* Data of a buffer or an image that is not shared. It does not change until it is released. */
typedef struct culvi_staging {
    culv_sharing path;
    culv_buffer *peer_buffer; /* PEER: one of the two, shared on its own GPU; owned */
    culv_image *peer_image;
    void *block; /* HOST: Culvert's own pages; NULL when the memory is the graphics API's */
    void *host;  /* HOST: where the copies go; it has `size` bytes */
    uint64_t size;
    culvi_mapping native; /* HOST, where there is no block */
    bool registered;      /* with CUDA; the copies are asynchronous */
    bool counted;         /* counted among the device's allocations */
    /* an image without arrays; its device memory has the same layout as the host's */
    bool linear;
    uint32_t num_parts; /* images */
    culvi_part parts[];
} culvi_staging;

/* Allocates a staging and fills in an image's parts; *size becomes the size of the block of all
 * parts. A buffer has no parts: `row` is NULL, and *size is its size. NULL: out of host memory
 * (recorded). */
culvi_staging *culvi_staging_new(culv_device *device, culv_sharing path, const char *label,
                                 const culvi_format *row, const culv_image_desc *desc,
                                 uint64_t *size);
/* Planes as copies see them: depth and stencil are two. */
uint32_t culvi_image_planes(const culv_image *image);
/* One level or plane of an image, without its place in a block. */
void culvi_part_describe(const culv_image *image, uint32_t level, uint32_t plane, culvi_part *out);
/* Refuses what is no direction, for `call`. */
culv_result culvi_check_copy(culv_copy copy, const char *call);
/* Registers staging->host with CUDA. If CUDA does not take it, copies take a detour, and the log
 * says so. */
culv_result culvi_staging_register(culv_device *device, culvi_staging *staging, const char *label);
/* Frees a staging that has no buffer or image yet. */
void culvi_staging_discard(culv_device *device, culvi_staging *staging);
/* Frees CUDA's own memory first, which waits for the copies, then the rest and the staging itself.
 * Memory that another buffer has, a tensor's, stays, and the copies are waited for otherwise.
 * False: the driver refused for now. Call it in the device's context; the caller holds the lock. */
bool culvi_staging_release(culv_device *device, culv_memory *memory, culvi_staging **staging,
                           bool last_try);

/* Makes an image without arrays, like culv_image_map(), for formats that CUDA lacks. `memory` is
 * CUDA's own and as large as the block of all parts. On success the image owns the staging. */
culv_result culvi_image_make_linear(culv_memory *memory, const culvi_format *row,
                                    const culv_image_desc *desc, culvi_staging *staging,
                                    culv_image **out);
/* Packed 4:2:2 in CUDA's own memory is one plain array, since drivers refuse mipmapped arrays of
 * video formats (measured). Call it in the device's context; the caller holds the lock. */
CUresult culvi_image_create_packed(culv_image *image);
/* Does nothing and returns true for other images. False: the driver refused for now. */
bool culvi_image_destroy_packed(culv_device *device, culv_image *image, bool last_try);
/* Gives a mapped image its staging. It makes all arrays known, so that copies need not ask for
 * any. */
culv_result culvi_image_set_staging(culv_image *image, culvi_staging *staging);
/* field.c: a linear field into an image by a kernel, four to five times as fast as CUDA's copies
 * into arrays. Whether a kernel of culv_image_prepare_write()'s wrote the field, or *result is an
 * error of the driver's. False: CUDA's copy is needed; nothing was enqueued. In the device's
 * context. */
bool culvi_field_write(culv_image *image, const culv_image_field *field, const culvi_part *part,
                       CUstream stream, CUresult *result);

#endif
