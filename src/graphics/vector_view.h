/* SPDX-License-Identifier: MIT */
/* What a graphics API shows of a culv_vector: a native part for each chunk. */
#ifndef CULVI_GRAPHICS_VECTOR_VIEW_H_
#define CULVI_GRAPHICS_VECTOR_VIEW_H_

#include "core/memory.h"
#include "graphics/graphics.h"
#include "vmm/vector.h"

/* What was made of a chunk. */
typedef struct culvi_view_part {
    uint64_t chunk; /* culv_vector_chunk::id */
    uint64_t offset, size;
    uint64_t object; /* native: its own buffer, if there is one */
    uint64_t memory; /* native */
    culv_memory_kind kind;
} culvi_view_part;

typedef struct culvi_vector_view culvi_vector_view;

/* What an API does for its views. */
typedef struct culvi_vector_view_api {
    const char *update_call, *destroy_call; /* the API's own, for messages */
    /* Makes the native part of a chunk. Fills in `object` and `memory`; leaves nothing behind on
     * failure. */
    culv_result (*make)(culvi_vector_view *view, const culv_vector_chunk *chunk,
                        culvi_view_part *part);
    void (*drop)(culvi_vector_view *view, const culvi_view_part *part);
    /* Shows `parts` in place of what is shown. Parts in both lists stay where they are. An error
     * leaves everything unchanged. May be NULL. */
    culv_result (*show)(culvi_vector_view *view, const culvi_view_part *parts, size_t count);
} culvi_vector_view_api;

/* The first member of an API's view. The caller serializes its calls; the generation may be read at
 * any time. */
struct culvi_vector_view {
    const culvi_vector_view_api *api;
    culvi_graphics *graphics;
    culv_vector *vector;    /* a reference */
    culvi_view_part *parts; /* sorted by offset; chunks are contiguous from offset 0 on */
    size_t num_parts;
    _Atomic uint64_t generation; /* of the vector, when `parts` was made */
    char label[64];
};

/* Begins an empty view, which holds a reference on the vector. */
void culvi_vector_view_init(culvi_vector_view *view, const culvi_vector_view_api *api,
                            culvi_graphics *graphics, culv_vector *vector, const char *label);
/* Makes parts for new chunks, keeps the parts of chunks that stayed, drops the others. An error
 * leaves everything unchanged. */
culv_result culvi_vector_view_update(culvi_vector_view *view);
/* Drops all parts and the reference on the vector. */
void culvi_vector_view_clear(culvi_vector_view *view);

/* Whether a part is one of those that are shown now. */
bool culvi_vector_view_has(const culvi_vector_view *view, const culvi_view_part *part);
/* The bytes that a list of parts shows. */
uint64_t culvi_vector_view_end(const culvi_view_part *parts, size_t count);

#endif
