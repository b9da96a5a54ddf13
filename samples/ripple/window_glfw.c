/* SPDX-License-Identifier: MIT */
/* ripple's window, by GLFW, which is loaded when a window is asked for: the program itself runs
 * without it. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "window.h"

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>

#include "../common/report.h"

static const char library_name[] = "libglfw.so.3";

/* (return type, name without "glfw", parameters) */
#define WINDOW_GLFW_FUNCTIONS(X)                                                                   \
    X(int, Init, (void))                                                                           \
    X(void, Terminate, (void))                                                                     \
    X(int, GetError, (const char **))                                                              \
    X(int, VulkanSupported, (void))                                                                \
    X(void, WindowHint, (int, int))                                                                \
    X(void, WindowHintString, (int, const char *))                                                 \
    X(GLFWwindow *, CreateWindow, (int, int, const char *, GLFWmonitor *, GLFWwindow *))           \
    X(void, DestroyWindow, (GLFWwindow *))                                                         \
    X(const char **, GetRequiredInstanceExtensions, (uint32_t *))                                  \
    X(VkResult, CreateWindowSurface,                                                               \
      (VkInstance, GLFWwindow *, const VkAllocationCallbacks *, VkSurfaceKHR *))                   \
    X(void, PollEvents, (void))                                                                    \
    X(void, WaitEvents, (void))                                                                    \
    X(int, WindowShouldClose, (GLFWwindow *))                                                      \
    X(int, GetMouseButton, (GLFWwindow *, int))                                                    \
    X(void, GetFramebufferSize, (GLFWwindow *, int *, int *))                                      \
    X(void, SetWindowTitle, (GLFWwindow *, const char *))                                          \
    X(void, SetWindowUserPointer, (GLFWwindow *, void *))                                          \
    X(void *, GetWindowUserPointer, (GLFWwindow *))                                                \
    X(GLFWkeyfun, SetKeyCallback, (GLFWwindow *, GLFWkeyfun))                                      \
    X(GLFWcursorposfun, SetCursorPosCallback, (GLFWwindow *, GLFWcursorposfun))                    \
    X(GLFWscrollfun, SetScrollCallback, (GLFWwindow *, GLFWscrollfun))                             \
    X(GLFWframebuffersizefun, SetFramebufferSizeCallback, (GLFWwindow *, GLFWframebuffersizefun))  \
    X(GLFWwindowrefreshfun, SetWindowRefreshCallback, (GLFWwindow *, GLFWwindowrefreshfun))

/* GLFW is one for the whole process, as its functions are; its callbacks know a window only. */
static struct {
#define WINDOW_GLFW_MEMBER_(result, name, parameters) result(*name) parameters;
    WINDOW_GLFW_FUNCTIONS(WINDOW_GLFW_MEMBER_)
#undef WINDOW_GLFW_MEMBER_
} glfw;

struct window {
    void *library;
    bool initialized;
    GLFWwindow *handle;
    window_input input; /* gathered by the callbacks */
    double x, y;        /* where the pointer was last */
};

static bool load(window *w)
{
    w->library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
    if (!w->library) {
        report("--window needs GLFW (Debian: libglfw3): %s", dlerror());
        return false;
    }
#define WINDOW_GLFW_LOAD_(result, name, parameters)                                                \
    {                                                                                              \
        void *function = dlsym(w->library, "glfw" #name);                                          \
        if (!function) {                                                                           \
            report("--window: %s has no %s; GLFW 3.3 has", library_name, "glfw" #name);            \
            return false;                                                                          \
        }                                                                                          \
        memcpy(&glfw.name, &function, sizeof function);                                            \
    }
    WINDOW_GLFW_FUNCTIONS(WINDOW_GLFW_LOAD_)
#undef WINDOW_GLFW_LOAD_
    return true;
}

static bool glfw_failed(const char *what)
{
    const char *why = NULL;
    (void)glfw.GetError(&why);
    report("--window: %s: %s", what, why ? why : "no reason given");
    return false;
}

static void on_key(GLFWwindow *handle, int key, int scancode, int action, int modifiers)
{
    (void)scancode;
    (void)modifiers;
    window *w = glfw.GetWindowUserPointer(handle);
    if (action != GLFW_PRESS) return;
    if (key == GLFW_KEY_ESCAPE) w->input.closed = true;
    if (key == GLFW_KEY_SPACE) w->input.pause = !w->input.pause;
}

static void on_move(GLFWwindow *handle, double x, double y)
{
    window *w = glfw.GetWindowUserPointer(handle);
    if (glfw.GetMouseButton(handle, GLFW_MOUSE_BUTTON_LEFT) == GLFW_PRESS) {
        w->input.drag_x += x - w->x;
        w->input.drag_y += y - w->y;
    }
    w->x = x;
    w->y = y;
}

static void on_scroll(GLFWwindow *handle, double x, double y)
{
    (void)x;
    window *w = glfw.GetWindowUserPointer(handle);
    w->input.wheel += y;
}

static void on_resize(GLFWwindow *handle, int width, int height)
{
    (void)width;
    (void)height;
    window *w = glfw.GetWindowUserPointer(handle);
    w->input.resized = true;
}

static void on_refresh(GLFWwindow *handle)
{
    window *w = glfw.GetWindowUserPointer(handle);
    w->input.exposed = true;
}

static bool create(window *w, const char *title, VkExtent2D size)
{
    if (!load(w)) return false;
    w->initialized = glfw.Init() == GLFW_TRUE;
    if (!w->initialized) return glfw_failed("no screen");
    if (!glfw.VulkanSupported()) return glfw_failed("no Vulkan for windows");
    glfw.WindowHint(GLFW_CLIENT_API, GLFW_NO_API);
    glfw.WindowHintString(GLFW_X11_CLASS_NAME, "ripple");
    glfw.WindowHintString(GLFW_X11_INSTANCE_NAME, "ripple");
    w->handle = glfw.CreateWindow((int)size.width, (int)size.height, title, NULL, NULL);
    if (!w->handle) return glfw_failed("no window");
    glfw.SetWindowUserPointer(w->handle, w);
    (void)glfw.SetKeyCallback(w->handle, on_key);
    (void)glfw.SetCursorPosCallback(w->handle, on_move);
    (void)glfw.SetScrollCallback(w->handle, on_scroll);
    (void)glfw.SetFramebufferSizeCallback(w->handle, on_resize);
    (void)glfw.SetWindowRefreshCallback(w->handle, on_refresh);
    return true;
}

window *window_open(const char *title, VkExtent2D size)
{
    window *w = calloc(1, sizeof *w);
    if (w && create(w, title, size)) return w;
    window_close(w);
    return NULL;
}

void window_close(window *w)
{
    if (!w) return;
    if (w->handle) glfw.DestroyWindow(w->handle);
    if (w->initialized) glfw.Terminate();
    if (w->library) (void)dlclose(w->library);
    free(w);
}

const char *const *window_instance_extensions(const window *w, uint32_t *count)
{
    (void)w;
    return glfw.GetRequiredInstanceExtensions(count);
}

bool window_create_surface(const window *w, VkInstance instance, VkSurfaceKHR *out)
{
    return vk_ok(glfw.CreateWindowSurface(instance, w->handle, NULL, out),
                 "glfwCreateWindowSurface");
}

void window_poll(window *w, window_input *out)
{
    glfw.PollEvents();
    *out = w->input;
    out->closed |= glfw.WindowShouldClose(w->handle) == GLFW_TRUE;
    w->input = (window_input){.closed = out->closed};
}

void window_wait(const window *w)
{
    (void)w;
    glfw.WaitEvents();
}

VkExtent2D window_extent(const window *w)
{
    int width = 0, height = 0;
    glfw.GetFramebufferSize(w->handle, &width, &height);
    return (VkExtent2D){(uint32_t)width, (uint32_t)height};
}

void window_set_title(const window *w, const char *title)
{
    glfw.SetWindowTitle(w->handle, title);
}
