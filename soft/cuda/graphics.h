/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: what is registered of graphics APIs.
 *
 * A map copies the API's bytes into memory of the twin's, an unmap waits for the stream and copies
 * them back. A pointer that is used after its unmap therefore reaches nothing, what CUDA writes
 * into a READ_ONLY resource is lost, and one that is to be discarded begins with bytes of 0xa5:
 * cuda.h leaves all three undefined. Arrays of OpenGL's images it leaves undefined, too, but
 * players use them after their unmap, and the twin does then what NVIDIA's driver was seen to
 * do. */
#ifndef SOFT_GRAPHICS_H_
#define SOFT_GRAPHICS_H_

#include "array.h"

struct soft_graphics;

/* What differs by API. The lock is held in all of them. */
struct soft_graphics_api {
    /* Whether the calling thread may use any resource of the API. */
    CUresult (*current)(void);
    bool keeps_arrays; /* after an unmap, until the next map (measured with OpenGL) */
    /* The same for this one. */
    CUresult (*enter)(const struct soft_graphics *r);
    /* It is what it was when it was registered, and not in the API's own use. */
    CUresult (*check)(const struct soft_graphics *r);
    void (*finish)(const struct soft_graphics *r); /* what the API was told to do is done */
    void (*read)(struct soft_graphics *r);         /* the API's bytes into the mapping */
    void (*write)(struct soft_graphics *r);        /* and back */
    void (*unregister)(struct soft_graphics *r);   /* by the program */
    void (*end)(struct soft_graphics *r);          /* its memory goes next */
};

/* The first member of an API's own struct. */
struct soft_graphics {
    struct soft_object object;
    const struct soft_graphics_api *api;
    bool is_image;
    unsigned flags;               /* of the registration */
    unsigned map_flags;           /* of the next mapping */
    size_t size;                  /* a buffer's */
    CUDA_ARRAY3D_DESCRIPTOR desc; /* an image's */
    unsigned levels;
    /* While it is mapped: */
    bool mapped, writes; /* writes: what CUDA wrote goes back */
    bool kept;           /* not mapped any more, and the arrays are still there */
    bool written_late;   /* a copy has reached the API since */
    uint64_t before;     /* of one that CUDA only reads: a sum of what was in it */
    uint8_t *start;      /* a buffer's */
    struct soft_mipmap *arrays;
    struct soft_array **parts; /* one for each level and layer, made when it is asked for */
    bool listed;               /* in the call that is being looked at */
};

/* Layers, or faces, of an image. */
unsigned soft_graphics_layers(const struct soft_graphics *r);
/* Puts a filled struct in the registry. */
void soft_graphics_add(struct soft_graphics *r, const struct soft_graphics_api *api,
                       struct soft_context *context, CUgraphicsResource *out);
/* A copy into that array was submitted to the stream. If the array's image is not mapped any more,
 * the first such copy goes to the API, as with NVIDIA's driver, and stderr is told once. Waits for
 * the stream then, which gives up the lock meanwhile. */
void soft_graphics_copied(struct soft_stream *stream, const struct soft_array *array);

#endif
