/* SPDX-License-Identifier: MIT */
/* Culvert: shows a culv_vector, CUDA's memory that grows, as GL buffers: one for each chunk. */
#ifndef CULV_GL_VECTOR_H_
#define CULV_GL_VECTOR_H_

#include "gl_memory.h"
#include "vector.h"

CULV_EXTERN_C_BEGIN

/** Opaque: OpenGL's view of a vector. */
typedef struct culv_gl_vector culv_gl_vector;

/** A GL buffer on a part of a vector. */
typedef struct culv_gl_vector_buffer {
    uint32_t buffer; /**< Its name. */
    uint32_t reserved;
    uint64_t offset; /**< Offset of the buffer in the vector in bytes. */
    uint64_t size;   /**< Bytes that OpenGL may use. */
    uint64_t chunk;  /**< culv_vector_chunk::id. */
} culv_gl_vector_buffer;

/** Makes OpenGL's view of a vector and imports the chunks that it has. The chunks must be
 * exportable as OPAQUE_FD (on Windows OPAQUE_WIN32). A vector with `max_chunk` or `growth_percent`
 * has few large chunks; draw and dispatch once for each.
 * Errors: as culv_gl_memory_from_vmm() and culv_gl_memory_bind_buffer().
 * Ownership: *out is yours, for culv_gl_vector_destroy(), before or after the vector goes.
 * Threads: the context's, but not during a call that changes the vector.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_gl_vector_create(culv_gl *gl, culv_vector *vector, const char *label,
                                              culv_gl_vector **out);

/** Destroys the view with its buffers and sets *view to NULL. NULL, or a pointer to NULL, is a
 * no-op.
 * Errors: INVALID (CONTEXT: nothing is done and *view stays).
 * Ownership: *view is Culvert's again, unless the call failed.
 * Threads: the context's, ordered with other calls.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_gl_vector_destroy(culv_gl_vector **view);

/** Imports new chunks, and deletes the buffers of chunks that are gone. The others stay as they
 * are, with the same names. After an error the view has what it had. After culv_vector_destroy()
 * the view keeps what it has, and the memory goes with the view.
 * Errors: as culv_gl_vector_create(); INVALID (CONTEXT; VALUE: the vector was destroyed).
 * Ownership: none.
 * Threads: the context's, one at a time, and not during a call that changes the vector.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_gl_vector_update(culv_gl_vector *view);

/** Lists the buffers by offset. Writes up to `capacity` of them into parts (NULL when capacity is
 * 0), and sets *count to the number of buffers.
 * Errors: INVALID (NULL_ARGUMENT).
 * Ownership: the buffers are Culvert's, valid until an update drops them.
 * Threads: one at a time.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_gl_vector_get_buffers(const culv_gl_vector *view,
                                                   culv_gl_vector_buffer *parts, size_t capacity,
                                                   size_t *count);

/** The generation of the vector that the view shows. 0 for NULL.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT uint64_t culv_gl_vector_generation(const culv_gl_vector *view);

CULV_EXTERN_C_END

#endif
