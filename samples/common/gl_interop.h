/* SPDX-License-Identifier: MIT */
/* Samples: an OpenGL context with the CUDA device that draws it, and Culvert between them. Each
 * function is false, with a message, on failure. */
#ifndef CULVERT_SAMPLES_GL_INTEROP_H_
#define CULVERT_SAMPLES_GL_INTEROP_H_

#include <culvert/gl.h>

#include "cuda_side.h"
#include "gl_setup.h"

typedef struct gl_interop {
    gl_setup gl;
    culv_device *device;
    const culv_cuda_api *cu;
    CUcontext callers_context;
    culv_gl *attached;
    culv_gl_report report; /* what works here */
} gl_interop;

/* A context without a screen on the first GPU that CUDA has, or on the CPU with the software twin;
 * CUDA's context is current on this thread, too. Close it either way. */
bool gl_interop_open(gl_interop *i, const gl_wishes *wishes);
/* Comes after everything that was made with it. */
void gl_interop_close(gl_interop *i);

#endif
