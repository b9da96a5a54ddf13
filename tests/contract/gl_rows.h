/* SPDX-License-Identifier: MIT */
/* What the rows about OpenGL share: a CUDA device with a GL context of it. */
#ifndef CULVERT_TESTS_GL_ROWS_H_
#define CULVERT_TESTS_GL_ROWS_H_

#include "contract.h"
#include "raw_cuda_image.h"
#include "raw_gl_image.h"

typedef struct gl_pair {
    const raw_cuda *cu;
    CUdevice device;
    CUcontext context; /* primary, current */
    CUstream stream;   /* non-blocking */
    raw_gl gl;         /* current */
} gl_pair;

void gl_pair_open(gl_pair *p, int profile);
/* And requires that nothing is left on either side, as far as the drivers can be asked. */
void gl_pair_close(gl_pair *p);
#define GL_PAIR_CASE(name, ...)                                                                    \
    TEST_ON_(gl_pair, p, gl_pair_open(p, TEST_FIRST(__VA_ARGS__)), gl_pair_close(p), name,         \
             TEST_REST(__VA_ARGS__))

/* A GL buffer with `size` bytes of a pattern, and its registration. */
GLuint gl_pair_buffer(const gl_pair *p, size_t size, unsigned seed);
CUgraphicsResource gl_pair_register(const gl_pair *p, GLuint buffer, unsigned flags);
/* Maps and unmaps one in the pair's stream. */
CUresult gl_pair_map(const gl_pair *p, CUgraphicsResource resource);
/* For copies that are not in the pair's stream: they wait for the map here. */
void gl_pair_map_image(const gl_pair *p, CUgraphicsResource resource);
CUresult gl_pair_unmap(const gl_pair *p, CUgraphicsResource resource);
CUdeviceptr gl_pair_pointer(const gl_pair *p, CUgraphicsResource resource, size_t size);

#endif
