/* SPDX-License-Identifier: MIT */
/* Culvert: a graphics API's view of a culv_vector, with native buffers on its chunks. Each API
 * makes its view (culv_vk_vector_view_create(), culv_gl_vector_view_create(),
 * culv_d3d12_vector_view_create()) and lists the buffers (culv_vk_vector_view_get_buffers() ...).
 * The rest is here, and is the same for all.
 *
 *   culv_vk_vector_view_create(vk, vector, &desc, &view);
 *   ...
 *   culv_vector_grow(vector, more);
 *   culv_vector_view_update(view);
 *   culv_vk_vector_view_get_buffers(view, parts, 64, &count);
 *   ...
 *   culv_vector_view_destroy(&view);
 *
 * A call of one API refuses a view of another API. */
#ifndef CULV_VECTOR_VIEW_H_
#define CULV_VECTOR_VIEW_H_

#include "vector.h"

CULV_EXTERN_C_BEGIN

/** Opaque: a graphics API's buffers on the chunks of a vector. */
typedef struct culv_vector_view culv_vector_view;

/** Destroys the view with its buffers and sets *view to NULL, before or after the vector goes.
 * NULL, or a pointer to NULL, is a no-op.
 *
 * The API's work with the buffers must be done; OpenGL keeps the memory until its own work is done.
 * Errors: INVALID (CONTEXT: it is OpenGL's, and no context of its attachment is current on this
 * thread). Nothing is done then, and *view stays.
 * Ownership: *view is Culvert's again, unless the call failed.
 * Threads: any, and for OpenGL's the context's; ordered with other calls on this view and with the
 * destruction of its VkDevice. */
CULV_EXPORT culv_result culv_vector_view_destroy(culv_vector_view **view);

/** Imports new chunks, and drops the buffers of chunks that are gone. No work of the API may still
 * use those, except OpenGL's. The other buffers stay as they are, with the same handles or names.
 *
 * The call does nothing when the view already has the vector's generation, and it imports nothing
 * when the vector only moved. A sparse view of Vulkan binds in one batch on its queue, unbinds what
 * is gone, and waits on the host until that is done. After an error the view has what it had. After
 * culv_vector_destroy() the view keeps what it has, and the memory goes with the view.
 * Errors: as the call that made the view; INVALID (NULL_ARGUMENT; VALUE: the vector was destroyed;
 * CONTEXT, as culv_vector_view_destroy()), OUT_OF_MEMORY, DRIVER, ASYNC.
 * Threads: one at a time, and not during a call that changes the vector; for OpenGL's, the
 * context's; with a sparse queue, ordered with other uses of that queue. */
CULV_EXPORT culv_result culv_vector_view_update(culv_vector_view *view);

/** Returns the generation of the vector that the view shows. 0 for NULL.
 * Threads: any. */
CULV_EXPORT uint64_t culv_vector_view_generation(const culv_vector_view *view);

CULV_EXTERN_C_END

#endif
