/* SPDX-License-Identifier: MIT */
/* What a graphics API shows of a culv_vector: a native part for each chunk. */
#ifndef CULVI_GRAPHICS_VECTOR_VIEW_H_
#define CULVI_GRAPHICS_VECTOR_VIEW_H_

#include "culvert/vector.h"
#include "graphics/graphics.h"
#include "vmm/vector.h"

/* What was made of a chunk. */
typedef struct culvi_view_part {
    uint64_t chunk; /* culv_part::id */
    uint64_t offset, size;
    uint64_t object; /* native: its own buffer, if there is one */
    uint64_t memory; /* native */
} culvi_view_part;

/* What an API does for its views. */
typedef struct culvi_vector_view_api {
    /* Whether this thread may make and drop parts now, for `call`. NULL: any thread will do. */
    culv_result (*may_update)(const culv_vector_view *view, const char *call);
    /* Makes the native part of a chunk. Fills in `object` and `memory`; leaves nothing behind on
     * failure. */
    culv_result (*make)(culv_vector_view *view, const culv_part *chunk, culvi_view_part *part);
    void (*drop)(culv_vector_view *view, const culvi_view_part *part);
    /* Shows `parts` in place of what is shown. Parts in both lists stay where they are. An error
     * leaves everything unchanged. May be NULL. */
    culv_result (*show)(culv_vector_view *view, const culvi_view_part *parts, size_t count);
    /* Takes what the view has besides its parts, before they go. May be NULL. */
    void (*end)(culv_vector_view *view);
} culvi_vector_view_api;

/* The first member of an API's view. It is allocated by culvi_alloc(). The caller serializes its
 * calls; the generation may be read at any time. */
struct culv_vector_view {
    const culvi_vector_view_api *api;
    culvi_graphics *graphics; /* a reference, once the view is made */
    culv_vector *vector;      /* a reference */
    culvi_view_part *parts;   /* sorted by offset; chunks are contiguous from offset 0 on */
    size_t num_parts;
    uint64_t whole;              /* native: one buffer that shows all parts; 0: each has its own */
    _Atomic uint64_t generation; /* of the vector, when `parts` was made */
    _Atomic uint64_t stale;      /* of the vector, when a list was last warned of */
    char label[64];
};

/* Begins an empty view, which holds a reference on the vector. */
void culvi_vector_view_init(culv_vector_view *view, const culvi_vector_view_api *api,
                            culvi_graphics *graphics, culv_vector *vector, const char *label);
/* Whether an attachment can show the vector as memory of this system's opaque type: the same
 * device, its own GPU, chunks that are made for export. */
culv_result culvi_vector_view_check(const culvi_graphics *graphics, const char *label,
                                    const culv_vector *vector);
/* Ends a creation: shows the chunks that there are, and counts the view. After an error, `result`
 * or one of its own, it frees the view. */
culv_result culvi_vector_view_made(culv_vector_view *view, culv_result result,
                                   culv_vector_view **out);

/* Whether a part is one of those that are shown now. */
bool culvi_vector_view_has(const culv_vector_view *view, const culvi_view_part *part);
/* The bytes that a list of parts shows. */
uint64_t culvi_vector_view_end(const culvi_view_part *parts, size_t count);

#endif
