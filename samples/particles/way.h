/* SPDX-License-Identifier: MIT */
/* particles' ways: how the stars that CUDA wrote get to where OpenGL draws them from. There are
 * three, with the same kernels before them and the same drawing behind:
 *
 *   way_memory.c    one memory of both, and semaphores of both: each side waits on the GPU
 *   way_register.c  OpenGL's own buffer, registered with CUDA and mapped in every frame
 *   way_staged.c    for comparison: through pinned host memory, as it is done without interop
 *
 * A frame is: acquire, the kernel that writes, release, begin_drawing, the drawing, end_drawing. */
#ifndef PARTICLES_WAY_H_
#define PARTICLES_WAY_H_

#include "../common/gl_interop.h"

typedef struct exchange exchange;

/* Functions that are NULL have nothing to do. Each is false, with a message, on failure. */
typedef struct way {
    const char *name;
    /* Makes `buffer`. destroy() comes either way. */
    bool (*create)(exchange *e);
    void (*destroy)(exchange *e);
    /* CUDA's side: when the stream gets there, `pointer` may be written; and has been. */
    bool (*acquire)(exchange *e, CUstream stream);
    bool (*release)(exchange *e, CUstream stream);
    /* OpenGL's. */
    bool (*begin_drawing)(exchange *e);
    bool (*end_drawing)(exchange *e);
} way;

extern const way way_memory, way_register, way_staged;

struct exchange {
    const way *way;
    gl_interop *interop;
    const culv_cuda_api *cu;
    size_t size;         /* bytes of the stars */
    GLuint buffer;       /* what OpenGL draws from */
    CUdeviceptr pointer; /* what CUDA writes, between acquire and release */
    uint64_t frame;      /* how many were drawn */
    uint64_t copied;     /* bytes that a frame copies between device and host */
    void *own;           /* the way's */
};

/* False, with a message, on failure; destroy it either way. */
bool exchange_create(exchange *e, const way *w, gl_interop *interop, size_t size);
/* After both sides are done. */
void exchange_destroy(exchange *e);

#endif
