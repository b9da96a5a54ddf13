/* SPDX-License-Identifier: MIT */
/* Images of OpenGL of every kind and format that CUDA registers, with their texels. */
#ifndef CULVERT_TESTS_RAW_GL_IMAGE_H_
#define CULVERT_TESTS_RAW_GL_IMAGE_H_

#include "raw_gl.h"

typedef struct raw_gl_format {
    const char *name;
    GLenum internal, pixels, type;
    unsigned bytes; /* of a texel */
    unsigned channels;
    unsigned cuda;      /* CUarray_format */
    bool compatibility; /* luminance and the like */
} raw_gl_format;

/* The list of cudaGL.h; ended by a NULL name. */
extern const raw_gl_format raw_gl_formats[];
const raw_gl_format *raw_gl_format_named(const char *name);

typedef struct raw_gl_kind {
    const char *name;
    GLenum target;
    int width, height;
    int depth; /* or layers, or 6 faces; 1 */
    int levels;
    bool layered; /* depth are layers or faces, which the levels do not halve */
} raw_gl_kind;

/* 2D, RECTANGLE, CUBE_MAP, 3D, 2D_ARRAY, RENDERBUFFER, with odd sizes and levels where there can
 * be; ended by a NULL name. */
extern const raw_gl_kind raw_gl_kinds[];

typedef struct raw_gl_image {
    const raw_gl_kind *kind;
    const raw_gl_format *format;
    GLuint name;
} raw_gl_image;

/* Of zeros. Of a renderbuffer and a format that cannot be drawn to it leaves an error of OpenGL and
 * returns false. */
bool raw_gl_image_make(const raw_gl *gl, const raw_gl_kind *kind, const raw_gl_format *format,
                       raw_gl_image *out);
void raw_gl_image_delete(const raw_gl *gl, raw_gl_image *image);
void raw_gl_level_size(const raw_gl_kind *kind, int level, int *width, int *height, int *depth);
size_t raw_gl_level_bytes(const raw_gl_image *image, int level);
/* Texels of the format that differ from place to place, without infinities and the like. */
void raw_gl_fill(const raw_gl_format *format, void *texels, size_t bytes, unsigned seed);
/* All of a level, without padding. */
void raw_gl_image_write(const raw_gl *gl, const raw_gl_image *image, int level, const void *texels);
void raw_gl_image_read(const raw_gl *gl, const raw_gl_image *image, int level, void *texels);

#endif
