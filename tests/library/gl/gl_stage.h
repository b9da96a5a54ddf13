/* SPDX-License-Identifier: MIT */
/* What the OpenGL suites share: a context, a device, the attachment, a stream. */
#ifndef CULVERT_TESTS_LIBRARY_GL_STAGE_H_
#define CULVERT_TESTS_LIBRARY_GL_STAGE_H_

#include "library.h"
#include "lying_gl.h"

#include <culvert/gl.h>

typedef struct gl_stage {
    const raw_cuda *cu;
    raw_gl gl;
    culv_device *device;
    culv_gl *attachment;
    CUcontext context;
    CUstream stream;
    lying_gl_counts before;
} gl_stage;

/* The context, current on this thread, and nothing of Culvert's. The loader lies as lying_gl
 * says. */
void gl_stage_open_context(gl_stage *s);
/* Set before: the device is another GPU than the context's, and works on its memory in place. */
extern bool gl_stage_across;
void gl_stage_open(gl_stage *s, uint32_t fallback);
/* Requires that nothing of OpenGL's and of Culvert's is left. */
void gl_stage_close(gl_stage *s);
#define GL_CASE(name, ...)                                                                         \
    TEST_ON_(gl_stage, s, gl_stage_open(s, TEST_FIRST(__VA_ARGS__)), gl_stage_close(s), name,      \
             TEST_REST(__VA_ARGS__))
void gl_stage_close_context(gl_stage *s);
culv_gl_desc gl_stage_desc(uint32_t fallback);

/* By CUDA, and waited for. */
void gl_stage_upload(const gl_stage *s, CUdeviceptr to, const void *from, size_t size);
void gl_stage_download(const gl_stage *s, void *to, CUdeviceptr from, size_t size);
void gl_stage_finish(const gl_stage *s);

#endif
