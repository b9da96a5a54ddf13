/* SPDX-License-Identifier: MIT */
/* ripple's exchange with OpenGL: an `exchange` for the solver, whose paths are
 *
 *   shared  both sides have one buffer and one texture; two timelines say whose turn it is
 *   ring    several of them in a culv_ring, by whichever way works: what to copy into a program
 *           of your own
 *
 * Without the ring there is one buffer: frame f is drawn before CUDA writes frame f + 1, but its
 * steps run beside the drawing. */
#ifndef RIPPLE_GL_RUN_H_
#define RIPPLE_GL_RUN_H_

#include "../common/gl_setup.h"
#include "program.h"

typedef struct gl_exchange {
    gl_interop *interop;
    uint32_t cells, tint; /* names of a buffer and a texture */
    culv_shared_buffer *buffer;
    culv_shared_image *image;
    culv_shared_semaphore *ready, *drawn;
    culv_gl_uses uses; /* what is handed over */
    culv_ring *ring;
    culv_ring_frame filling, drawing; /* of ring: CUDA's, OpenGL's */
} gl_exchange;

/* False, with a message, on failure; destroy both either way. */
bool gl_exchange_create(gl_exchange *g, exchange *e, gl_interop *interop, unsigned path,
                        const exchange_flow *flow, uint32_t width, uint32_t height);
/* After both sides are done. */
void gl_exchange_destroy(gl_exchange *g, exchange *e);

/* Around the drawing of a frame. */
bool gl_exchange_begin(gl_exchange *g, uint64_t frame);
bool gl_exchange_end(gl_exchange *g, uint64_t frame);

/* ripple's renderer by OpenGL: the same shaders, meshes and camera. */

typedef struct gl_renderer {
    const scene *scene;
    uint32_t width, height;
    mesh water, stones;
    GLuint rim_program, stone_program, water_program;
    GLuint indices, view; /* buffers */
    GLuint vertices;      /* the index buffer alone: vertices are pulled */
    GLuint color, depth;  /* multisampled renderbuffers */
    GLuint picture;       /* sRGB */
    GLuint target, picture_target;
    GLuint queries[2];
} gl_renderer;

/* False, with a message, on failure; destroy it either way. */
bool gl_renderer_create(gl_renderer *r, const scene *basin, uint32_t width, uint32_t height);
void gl_renderer_destroy(gl_renderer *r);

/* Draws a moment of the simulation into the picture, whose first row is the top one. */
bool gl_renderer_draw(gl_renderer *r, const gl_exchange *from, uint64_t moment);
/* Milliseconds that the last drawing took; waits for it. */
double gl_renderer_milliseconds(const gl_renderer *r);

#endif
