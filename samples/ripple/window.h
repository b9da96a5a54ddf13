/* SPDX-License-Identifier: MIT */
/* ripple's window, by GLFW. */
#ifndef RIPPLE_WINDOW_H_
#define RIPPLE_WINDOW_H_

#include <stdbool.h>
#include <stdint.h>

#include <volk.h>

typedef struct window window;

/* What happened since the last window_poll(). */
typedef struct window_input {
    bool closed;           /* or Escape */
    bool pause;            /* the space bar */
    bool resized, exposed; /* it must be drawn again */
    double drag_x, drag_y; /* pixels, with the left button down */
    double wheel;          /* notches, up is positive */
} window_input;

/* NULL, with a message, where there is no GLFW, or no screen. */
window *window_open(const char *title, VkExtent2D size);
/* NULL is a no-op. The surface must be gone. */
void window_close(window *w);

/* What an instance needs for window_create_surface(). */
const char *const *window_instance_extensions(const window *w, uint32_t *count);
bool window_create_surface(const window *w, VkInstance instance, VkSurfaceKHR *out);

void window_poll(window *w, window_input *out);
/* Sleeps until there is something to poll. */
void window_wait(const window *w);
/* In pixels; 0x0 while it is minimized. */
VkExtent2D window_extent(const window *w);
void window_set_title(const window *w, const char *title);

#endif
