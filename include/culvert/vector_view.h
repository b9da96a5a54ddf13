/* SPDX-License-Identifier: MIT */
/* Culvert: a graphics API's view of a culv_vector, with native buffers on its chunks. Each API has
 * its own call that makes a view (culv_vk_vector_view_create(), culv_gl_vector_view_create(),
 * culv_d3d12_vector_view_create()). The calls of this header serve all APIs.
 *
 *   culv_vk_vector_view_create(vk, vector, &desc, &view);
 *   ...
 *   culv_vector_grow(vector, more);
 *   culv_vector_view_update(view);
 *   culv_vector_view_get_parts(view, parts, 64, &count);    (VkBuffer)parts[i].buffer
 *   ...
 *   culv_vector_view_destroy(&view); */
#ifndef CULV_VECTOR_VIEW_H_
#define CULV_VECTOR_VIEW_H_

#include "vector.h"

CULV_EXTERN_C_BEGIN

/** Opaque: a graphics API's buffers on the chunks of a vector. */
typedef struct culv_vector_view culv_vector_view;

/** Destroys the view with its buffers, before or after the vector is destroyed.
 *
 * The API's work with the buffers must be done; OpenGL keeps the memory until its own work is done.
 * Errors: INVALID (CONTEXT: it is OpenGL's, and no context of its attachment is current on this
 * thread). After an error nothing is done.
 * Threads: any, and for OpenGL's the context's; ordered with other calls on this view and with the
 * destruction of its VkDevice. */
CULV_EXPORT culv_result culv_vector_view_destroy(culv_vector_view **view);

/** Imports new chunks, and destroys the buffers of chunks that the vector no longer has. No work of
 * the API may still use those buffers, except OpenGL's. The other buffers keep their handles or
 * names.
 *
 * The call does nothing if the view already has the vector's generation, and it imports nothing if
 * the vector only moved. A sparse view of Vulkan binds and unbinds in one batch on its queue, and
 * waits on the host until that is done. After an error the view is as it was. After
 * culv_vector_destroy() the view keeps its buffers, and the memory lives as long as the view.
 * Errors: as the call that made the view; INVALID (NULL_ARGUMENT; VALUE: the vector was destroyed;
 * CONTEXT, as culv_vector_view_destroy()), OUT_OF_MEMORY, DRIVER, ASYNC.
 * Threads: one at a time, and not during a call that changes the vector; for OpenGL's, the
 * context's; with a sparse queue, ordered with other uses of that queue. */
CULV_EXPORT culv_result culv_vector_view_update(culv_vector_view *view);

/** Lists the buffers by offset: one for each chunk, or one sparse buffer, of the bytes that are
 * bound. `parts` and *count are as in every call that lists (culvert.h).
 * Errors: INVALID (NULL_ARGUMENT).
 * Ownership: Culvert owns the buffers, which are valid until an update drops them.
 * Threads: one at a time. */
CULV_EXPORT culv_result culv_vector_view_get_parts(const culv_vector_view *view, culv_part *parts,
                                                   size_t capacity, size_t *count);

/** Returns the generation of the vector that the view shows. 0 for NULL. Threads: any. */
CULV_EXPORT uint64_t culv_vector_view_generation(const culv_vector_view *view);

CULV_EXTERN_C_END

#endif
