/* SPDX-License-Identifier: MIT */
/* Culvert: shows a culv_vector, CUDA's memory that grows, as GL buffers: one for each chunk.
 * vector_view.h has the calls for all views. */
#ifndef CULV_GL_VECTOR_H_
#define CULV_GL_VECTOR_H_

#include "gl_memory.h"
#include "vector_view.h"

CULV_EXTERN_C_BEGIN

/** A GL buffer on a part of a vector. */
typedef struct culv_gl_vector_view_buffer {
    uint32_t buffer; /**< Its name. */
    uint32_t reserved;
    uint64_t offset; /**< Offset of the buffer in the vector in bytes. */
    uint64_t size;   /**< Bytes that OpenGL may use. */
    uint64_t chunk;  /**< culv_vector_chunk::id. */
} culv_gl_vector_view_buffer;

/** Makes OpenGL's view of a vector and imports the chunks that it has. The chunks must be
 * exportable as OPAQUE_FD (on Windows OPAQUE_WIN32). A vector with `min_chunk` or `growth_percent`
 * has few large chunks; draw and dispatch once for each.
 * Errors: as culv_gl_memory_from_vmm() and culv_gl_memory_bind().
 * Ownership: *out is yours, for culv_vector_view_destroy(), before or after the vector is
 * destroyed.
 * Threads: the context's, but not during a call that changes the vector. */
CULV_EXPORT culv_result culv_gl_vector_view_create(culv_gl *gl, culv_vector *vector,
                                                   const char *label, culv_vector_view **out);

/** Lists the buffers by offset. `parts` and *count are as in every call that lists (culvert.h).
 * Errors: INVALID (NULL_ARGUMENT; VALUE: the view is another API's).
 * Ownership: the buffers are Culvert's, valid until an update drops them.
 * Threads: one at a time. */
CULV_EXPORT culv_result culv_gl_vector_view_get_buffers(const culv_vector_view *view,
                                                        culv_gl_vector_view_buffer *parts,
                                                        size_t capacity, size_t *count);

CULV_EXTERN_C_END

#endif
