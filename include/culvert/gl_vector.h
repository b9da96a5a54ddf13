/* SPDX-License-Identifier: MIT */
/* Culvert: shows a culv_vector, CUDA's memory that grows, as GL buffers: one for each chunk.
 * vector_view.h has the calls for all views. */
#ifndef CULV_GL_VECTOR_H_
#define CULV_GL_VECTOR_H_

#include "gl_memory.h"
#include "vector_view.h"

CULV_EXTERN_C_BEGIN

/** Makes OpenGL's view of a vector and imports the chunks that it has. The chunks must be
 * exportable as OPAQUE_FD (on Windows OPAQUE_WIN32). A vector with `min_chunk` or `growth_percent`
 * has few large chunks; draw and dispatch once for each.
 * Errors: as culv_gl_memory_from_vmm() and culv_gl_memory_bind().
 * Ownership: *out is yours, for culv_vector_view_destroy(), before or after the vector is
 * destroyed.
 * Threads: the context's, but not during a call that changes the vector. */
CULV_EXPORT culv_result culv_gl_vector_view_create(culv_gl *gl, culv_vector *vector,
                                                   const char *label, culv_vector_view **out);

CULV_EXTERN_C_END

#endif
