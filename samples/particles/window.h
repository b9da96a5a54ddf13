/* SPDX-License-Identifier: MIT */
/* particles: a window with an OpenGL 4.5 context, by SDL2, which is loaded when one is asked for:
 * the program itself runs without it. */
#ifndef PARTICLES_WINDOW_H_
#define PARTICLES_WINDOW_H_

#include <stdbool.h>
#include <stdint.h>

#include "../common/gl_setup.h"

typedef struct gl_window gl_window;

/* What happened since the last gl_window_poll(). */
typedef struct gl_window_input {
    bool closed; /* or Escape */
    bool pause;  /* the space bar, an odd number of times */
    bool shown;  /* it must be drawn again */
    int drag_x, drag_y, wheel;
} gl_window_input;

/* Its context is current on this thread. NULL, with a message, where there is no SDL2, or no
 * screen. */
gl_window *gl_window_open(gl_setup *g, const char *title, uint32_t width, uint32_t height,
                          bool debug);
/* NULL is a no-op. */
void gl_window_close(gl_window *w);

void gl_window_poll(gl_window *w, gl_window_input *out);
/* Sleeps until there is something to poll, and polls. */
void gl_window_wait(gl_window *w, gl_window_input *out);
void gl_window_set_title(gl_window *w, const char *title);
/* Shows a framebuffer of this size, whose first row is the top one. */
void gl_window_show(gl_window *w, GLuint framebuffer, uint32_t width, uint32_t height);

#endif
