/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: arrays, mipmapped arrays and their layout in memory. */
#ifndef SOFT_ARRAY_H_
#define SOFT_ARRAY_H_

#include "soft.h"

#define SOFT_MAX_2D            16384u /* llvmpipe's limits, whose images arrays are made of */
#define SOFT_MAX_3D            2048u
#define SOFT_MAX_LAYERS        2048u
#define SOFT_MAX_LINEAR        (1u << 27) /* elements of a texture on plain memory */
#define SOFT_TEXTURE_ALIGNMENT 512u
#define SOFT_PITCH_ALIGNMENT   32u
#define SOFT_MAX_LEVELS        CULV_SOFT_MAX_LEVELS
/* lavapipe's alignment of images: 16 in Mesa 22, 64 since 25. */
#define SOFT_IMAGE_ALIGNMENT 16u
/* CUDA_ARRAY3D_VIDEO_ENCODE_DECODE and formats, which older cuda.h files lack. */
#define SOFT_VIDEO_ENCODE_DECODE 0x100u
#define SOFT_YUY2                0xa5
#define SOFT_Y410                0xa9

/* --- array_layout.c */

/* What an element is: a texel, or a block of a compressed format. */
struct soft_element {
    unsigned bytes;
    unsigned width, height; /* in texels */
    unsigned channels;
    unsigned pair; /* widths are multiples of it */
};
/* INVALID_VALUE for a format that cuda.h, or the driver that is played, has not. */
CUresult soft_element_of(CUarray_format format, unsigned channels, struct soft_element *out);

bool soft_format_is_video(CUarray_format format);
bool soft_format_is_normalized(CUarray_format format); /* CUDA's own: UNORM_INT8X4 and its like */
bool soft_format_is_srgb(CUarray_format format);       /* blocks */
/* What a texture makes of it. -1: nothing that the twin reads. */
int soft_texel_of(CUarray_format format, bool as_integer);
culv_soft_dimensions soft_dimensions_of(const CUDA_ARRAY3D_DESCRIPTOR *desc);

struct soft_level {
    uint64_t offset; /* bytes from the start of the mip chain */
    uint64_t slice;  /* bytes from a layer, or z, to the next */
    size_t pitch;    /* bytes from a row of elements to the next */
    size_t width_bytes, rows;
    size_t slices; /* layers, or the depth of this level */
    CUDA_ARRAY3D_DESCRIPTOR desc;
};

struct soft_layout {
    struct soft_element element;
    unsigned num_levels;
    uint64_t size; /* of the whole chain */
    struct soft_level levels[SOFT_MAX_LEVELS];
};
/* The layout of num_levels (1 or more) of what the descriptor says, and whether it is a valid
 * one. */
CUresult soft_layout_of(const CUDA_ARRAY3D_DESCRIPTOR *desc, unsigned num_levels,
                        struct soft_layout *out);
/* That of an image of SwiftShader's. */
CUresult soft_layout_in_swiftshader(const CUDA_ARRAY3D_DESCRIPTOR *desc, unsigned num_levels,
                                    struct soft_layout *out);
/* Levels down to one texel. */
unsigned soft_full_chain(const CUDA_ARRAY3D_DESCRIPTOR *desc);

/* --- array.c */
struct soft_array {
    struct soft_object object; /* SOFT_ARRAY; SOFT_LEVEL when it belongs to another object */
    struct soft_element element;
    struct soft_level level;
    uint8_t *start;
    void *map; /* what to unmap; NULL for a level */
    size_t map_size;
    struct soft_sparse *sparse; /* NULL: not a sparse one; a level's is its mipmapped array's */
    unsigned sparse_level;
    bool faces_apart; /* a registered cube's: copies reach the first face, as on an H200 */
};
/* A live array or level, NULL when the handle is none. */
struct soft_array *soft_array_find(CUarray handle);

struct soft_mipmap {
    struct soft_object object;
    uint8_t *start;
    struct soft_mapping mapping;
    unsigned num_levels;
    struct soft_array levels[SOFT_MAX_LEVELS];
    struct soft_sparse *sparse; /* NULL: not a sparse one */
    bool of_graphics;           /* a mapped graphics resource's, which frees it */
};
/* The descriptor and the levels are valid. */
CUresult soft_mipmap_new(struct soft_context *context, const CUDA_ARRAY3D_DESCRIPTOR *desc,
                         unsigned levels, struct soft_mipmap **out);
/* A layer of a level, or a face, as an array of two dimensions; NULL: no memory. */
struct soft_array *soft_array_slice(const struct soft_array *level, unsigned index);
void soft_array_slice_free(struct soft_array *slice);

/* --- vmm_sparse.c */
/* Of an array or mipmapped array that is set up; *out is NULL when it is none. */
CUresult soft_sparse_new(struct soft_array *levels, unsigned num_levels, bool array,
                         struct soft_sparse **out);
void soft_sparse_free(struct soft_sparse *sparse); /* NULL: does nothing */
/* After a write to that level: what was written where nothing is mapped is lost. */
void soft_sparse_settle(struct soft_sparse *sparse, unsigned level);

/* --- texture.c: slots */
struct soft_slots {
    enum soft_kind kind;
    size_t shared_size, slot_size; /* slot_size: of a struct that begins with a soft_slot */
    struct soft_slot *first_free, **last_free;
};
struct soft_slot {
    struct soft_object object;
    void *shared; /* what kernels see: a culv_soft_surface or culv_soft_texture */
    uint16_t *turn;
    struct soft_slots *slots;
    const void *array; /* the soft_array or soft_mipmap; NULL: it is gone */
    void *handle;      /* the program's, kept as it was given */
    struct soft_slot *next_free;
};
/* A slot of zeros, in the registry; NULL: no memory. */
void *soft_slot_take(struct soft_slots *slots, struct soft_context *context, uint64_t *handle);
void *soft_slot_find(const struct soft_slots *slots, uint64_t handle);
/* Nothing can be reached through it any more. */
void soft_slot_close(struct soft_slot *slot);
/* The array or mipmapped array goes: its surfaces and textures stay, and reach nothing. */
void soft_slots_forget(const void *array);

/* What copies of memory and of arrays share. */

struct soft_extent {
    size_t width; /* bytes */
    size_t height, depth;
};

enum soft_side_kind { SOFT_SIDE_DEVICE, SOFT_SIDE_HOST, SOFT_SIDE_ANY };

/* One side of a copy. */
struct soft_side {
    uintptr_t start; /* its first byte */
    size_t pitch;    /* bytes from row to row */
    size_t slice;    /* bytes from slice to slice */
    bool on_device;  /* copies between two of these are not waited for */
    bool pageable;   /* host memory that the driver does not know */
    enum soft_side_kind kind;
    struct { /* where it is an array's */
        CUarray array;
        size_t x, y, z;
    } in;
    struct soft_sparse *sparse; /* of a sparse array: what is not mapped there stays zero */
    unsigned sparse_level;
};

/* Whether `size` bytes at `start` may be what the kind says; fills in what kind of memory it is. */
bool soft_side_of_memory(enum soft_side_kind kind, uintptr_t start, size_t size,
                         struct soft_side *out);
/* As before, and whether a live context's device is where the memory is. */
bool soft_side_in_context(enum soft_side_kind kind, uintptr_t start, size_t size, CUcontext context,
                          struct soft_side *out);
CUresult soft_copy_make(const struct soft_side *to, const struct soft_side *from,
                        struct soft_extent extent, struct soft_op **out);
/* Submits the copy to the stream, and waits where the driver does. */
CUresult soft_copy(struct soft_stream *stream, bool synchronous, const struct soft_side *to,
                   const struct soft_side *from, struct soft_extent extent);

#endif
