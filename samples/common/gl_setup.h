/* SPDX-License-Identifier: MIT */
/* Samples: an OpenGL 4.5 context without a screen, by EGL, and what every GL program needs. */
#ifndef CULVERT_SAMPLES_GL_SETUP_H_
#define CULVERT_SAMPLES_GL_SETUP_H_

#include <stdbool.h>
#include <stdint.h>

#include "gl_api.h"
#include "report.h"

/* What is wanted of a context. */
typedef struct gl_wishes {
    const char *choice; /* auto, nvidia or soft */
    bool debug;         /* a debug context, whose errors are reported and counted */
} gl_wishes;

typedef struct gl_headless gl_headless;

/* The context is current on the thread that made it, until it is destroyed. */
typedef struct gl_setup {
    gl_headless *headless;
    gl_get_proc_address get_proc_address;
    char renderer[128];
    uint32_t num_messages; /* errors that a debug context told of */
} gl_setup;

/* Asks whether the context, which is current, will do. `why_not` is for a sentence. */
typedef bool (*gl_accept)(void *user, const gl_setup *setup, char why_not[512]);

/* Makes a context on each of the GPUs that EGL lists for CUDA (EGL_NV_device_cuda) and on Mesa's
 * renderer without a screen, until `accept` takes one. False, with a message, when it took none;
 * destroy it either way. */
bool gl_setup_headless(gl_setup *g, const gl_wishes *wishes, gl_accept accept, void *user);
void gl_setup_destroy(gl_setup *g);

/* For a context that was made elsewhere and is current: loads GL. False, with a message, when it is
 * none of 4.5. */
bool gl_setup_current(gl_setup *g, gl_get_proc_address get, bool debug);

/* True when GL has no error; otherwise names it. */
bool gl_ok(const char *what);

/* A program of a vertex and a fragment shader in share/culvert. #include "name" takes another file
 * from there. 0, with a message, on failure. */
GLuint gl_program(const char *vertex, const char *fragment);

/* A texture of one or more levels; 0, with a message, on failure. */
GLuint gl_texture(GLenum format, uint32_t width, uint32_t height, uint32_t levels, GLenum filter);
/* A framebuffer of one texture. */
GLuint gl_framebuffer(GLuint texture);

/* Reads what a framebuffer has as RGBA rows, in the order of memory; waits for the drawing. False,
 * with a message, on failure. */
bool gl_read_rgba(GLuint framebuffer, uint32_t width, uint32_t height, uint8_t *pixels);

#endif
