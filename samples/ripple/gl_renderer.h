/* SPDX-License-Identifier: MIT */
/* ripple's renderer by OpenGL: the same shaders, meshes and camera. */
#ifndef RIPPLE_GL_RENDERER_H_
#define RIPPLE_GL_RENDERER_H_

#include "../common/gl_setup.h"
#include "camera.h"
#include "gl_exchange.h"
#include "mesh.h"

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
