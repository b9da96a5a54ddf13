/* SPDX-License-Identifier: MIT */
/* No windows: SDL2's header was not found when this was built. */
#include "gl_window.h"

gl_window *gl_window_open(gl_setup *g, const char *title, uint32_t width, uint32_t height,
                          bool debug)
{
    (void)g;
    (void)title;
    (void)width;
    (void)height;
    (void)debug;
    report("--window: built without SDL2 (Debian: libsdl2-dev), so with no window support");
    return NULL;
}

void gl_window_close(gl_window *w)
{
    (void)w;
}

void gl_window_poll(gl_window *w, gl_window_input *out)
{
    (void)w;
    *out = (gl_window_input){.closed = true};
}

void gl_window_wait(gl_window *w, gl_window_input *out)
{
    gl_window_poll(w, out);
}

void gl_window_set_title(gl_window *w, const char *title)
{
    (void)w;
    (void)title;
}

void gl_window_show(gl_window *w, GLuint framebuffer, uint32_t width, uint32_t height)
{
    (void)w;
    (void)framebuffer;
    (void)width;
    (void)height;
}
