/* SPDX-License-Identifier: MIT */
/* Culvert: includes every OpenGL header. You need no OpenGL header for them: they write uint32_t
 * for GLuint and GLenum, which is the same type.
 *
 * In your own OpenGL program, make your context current and do this:
 *   1. Ask culv_gl_check_context() what works here, and print its text if
 *      nothing does.                                                                 gl_device.h
 *   2. Call culv_device_open_for_gl() and culv_gl_attach().                          gl_device.h
 *   3. Share memory. The new way (GL_EXT_memory_object): culv_gl_buffer_create(),
 *      culv_gl_image_create(), or culv_gl_memory_import() for memory that you
 *      have already.                                                                 gl_memory.h
 *      The old way: register objects of your own, culv_gl_register_buffer() ...      gl_register.h
 *   4. Share semaphores, which order the two sides: culv_gl_semaphore_create().      gl_device.h
 *   5. Use CUDA's memory in OpenGL: a culv_vector.                                   gl_memory.h
 *   6. Let frames flow in a ring of slots, by either way: culv_gl_ring_create().     gl_ring.h
 *
 * Culvert calls OpenGL by direct state access (OpenGL 4.5, or GL_ARB_direct_state_access): it
 * changes none of your bindings. It reads glGetError() after its calls. If an error of your own
 * calls is still there, Culvert logs it as a warning and clears it.
 *
 * Calls that need OpenGL say so under "Threads": a context of the attachment must be current on the
 * calling thread. They check that first: on a wrong thread they refuse (CONTEXT) and do nothing.
 * docs/gl.md says more. */
#ifndef CULV_GL_H_
#define CULV_GL_H_

#include "gl_device.h"
#include "gl_memory.h"
#include "gl_register.h"
#include "gl_ring.h"

#endif
