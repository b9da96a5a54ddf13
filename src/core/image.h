/* SPDX-License-Identifier: MIT */
/* culv_image: mipmapped arrays on an import, and what is made of them. */
#ifndef CULVI_CORE_IMAGE_H_
#define CULVI_CORE_IMAGE_H_

#include "core/memory.h"
#include "cuda/format.h"

/* A texture object that an image keeps. */
typedef struct culvi_texture {
    struct culvi_texture *next;
    culv_texture_desc key; /* every default made explicit */
    CUtexObject object;
} culvi_texture;

typedef struct culvi_level {
    _Atomic(CUarray) array; /* NULL until asked for */
    _Atomic CUsurfObject surface;
} culvi_level;

enum { CULVI_PLANES = 3 }; /* at most */

struct culv_image {
    culv_memory *memory;
    /* One array, or one for each plane; NULL from the first missing one on */
    CUmipmappedArray arrays[CULVI_PLANES];
    const culvi_format *row;
    culv_image_desc desc; /* every default made explicit; no label */
    bool surfaces;
    const char *owner_destroy_call; /* as culv_buffer's */
    /* A registered image that is not mapped: it has no arrays now (core/registration.h) */
    atomic_bool away;
    /* It has one array and no mipmapped array (core/staging_image.c) */
    bool packed;
    struct culvi_staging *staging;   /* NULL: it is shared */
    struct culv_image *next, **link; /* culv_memory::first_image; `link` is NULL: it is not there */
    char label[64];
    /* Grows at the head, under the device's lock; entries are removed only at the end */
    _Atomic(culvi_texture *) textures;
    culvi_deferred deferred;
    uint32_t slots;
    /* There is one for each level, or for each plane of a format with several planes, which has one
     * level */
    culvi_level levels[];
};

static inline uint32_t culvi_image_slot(const culv_image *image, uint32_t level, uint32_t plane)
{
    return image->row->planes > 1 ? plane : level;
}

/* The struct, without arrays. NULL: out of host memory (recorded). */
culv_image *culvi_image_new(culv_memory *memory, const culvi_format *row,
                            const culv_image_desc *desc, const char *label);
/* What CUDA is told about the image, or about one of its planes. */
CUDA_ARRAY3D_DESCRIPTOR culvi_image_describe(const culv_image *image, uint32_t plane);
/* The array of a slot. Call it in the device's context; the caller holds the lock. */
culv_result culvi_image_get_array(culv_image *image, uint32_t slot, CUarray *out);
/* The same for its surface object. */
culv_result culvi_image_get_surface(culv_image *image, uint32_t slot, CUsurfObject *out);
/* Makes all arrays of an image. After an error the arrays that were made stay until
 * culvi_image_release_arrays(), which may wait. The caller holds the lock. */
culv_result culvi_image_make_arrays(culv_image *image);
/* False: the driver refused for now. In the device's context; the caller holds the lock. */
bool culvi_image_release_arrays(culv_device *device, culv_image *image, bool last_try);
/* Releases what was made on the image. False: the driver refused for now. The caller holds the
 * lock. */
bool culvi_image_release_views(culv_device *device, culv_image *image, bool last_try);
uint32_t culvi_level_size(uint32_t size, uint32_t level);
/* Refuses an image with a format that no CUDA array has (core/staging.h). */
culv_result culvi_image_check_arrays(const culv_image *image);
/* Whether a call names an image, a level or plane of it, and an output. */
culv_result culvi_image_check_call(const culv_image *image, uint32_t index, uint32_t count,
                                   const char *what, const void *out, const char *call);

static inline uint32_t culvi_image_levels(const culv_image *image)
{
    return image != NULL ? image->desc.mip_levels : 0;
}

/* Levels of a whole chain down to one texel. */
uint32_t culvi_image_most_levels(uint32_t width, uint32_t height, uint32_t depth);

/* Releases what an object of Culvert's owns. */
void culvi_image_release_or_defer(culv_image *image, const CUstream *last_use);

/* image_check.c: what an image must be, whichever API made it. For the limits of CUDA's driver see
 * cuda/format.h. */

/* Checks a descriptor, with every default explicit, against its memory. `row` may be NULL. */
culv_result culvi_image_check_desc(const culv_memory *memory, const culvi_format *row,
                                   const culv_image_desc *d, const char *label);
/* Bytes that the texels need without what the layout adds; UINT64_MAX: more than fits. */
uint64_t culvi_image_least_size(const culvi_format *row, uint32_t width, uint32_t height,
                                uint32_t depth, uint32_t layers, uint32_t levels);
/* Checks culv_image_desc and its like in each graphics API: fields that do not apply to an image
 * with this many planes must be 0. */
culv_result culvi_image_check_unused(const culvi_voice *voice, const char *label, uint32_t planes,
                                     const uint64_t *plane_offsets);
/* Checks the offsets of planes that are bound separately: each plane lies within the memory, and no
 * two overlap. `size` is what each plane needs, or at least needs. */
culv_result culvi_image_check_planes(const culv_memory *memory, const char *label,
                                     const culvi_format *row, uint64_t offset,
                                     const uint64_t *plane_offsets, const uint64_t *size);

#endif
