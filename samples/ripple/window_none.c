/* SPDX-License-Identifier: MIT */
/* ripple's window in a build without GLFW's header: there is none. */
#include "../common/report.h"
#include "window.h"

window *window_open(const char *title, VkExtent2D size)
{
    (void)title;
    (void)size;
    report(
        "--window: this build has no window support (GLFW/glfw3.h was not there; Debian: libglfw3-dev)");
    return NULL;
}

void window_close(window *w)
{
    (void)w;
}

/* Nobody has a window to call these with. */
const char *const *window_instance_extensions(const window *w, uint32_t *count)
{
    (void)w;
    *count = 0;
    return NULL;
}

bool window_create_surface(const window *w, VkInstance instance, VkSurfaceKHR *out)
{
    (void)w;
    (void)instance;
    (void)out;
    return false;
}

void window_poll(window *w, window_input *out)
{
    (void)w;
    *out = (window_input){.closed = true};
}

void window_wait(const window *w)
{
    (void)w;
}

VkExtent2D window_extent(const window *w)
{
    (void)w;
    return (VkExtent2D){0, 0};
}

void window_set_title(const window *w, const char *title)
{
    (void)w;
    (void)title;
}
