/* SPDX-License-Identifier: MIT */
/* See window.h. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "window.h"

#include <SDL2/SDL.h>

static const char library_name[] = "libSDL2-2.0.so.0";

/* (return type, name without "SDL_", parameters) */
#define SDL_LIST(X)                                                                                \
    X(int, InitSubSystem, (Uint32))                                                                \
    X(void, QuitSubSystem, (Uint32))                                                               \
    X(const char *, GetError, (void))                                                              \
    X(const char *, GetCurrentVideoDriver, (void))                                                 \
    X(SDL_bool, SetHint, (const char *, const char *))                                             \
    X(int, GL_SetAttribute, (SDL_GLattr, int))                                                     \
    X(SDL_Window *, CreateWindow, (const char *, int, int, int, int, Uint32))                      \
    X(void, DestroyWindow, (SDL_Window *))                                                         \
    X(void, SetWindowTitle, (SDL_Window *, const char *))                                          \
    X(SDL_GLContext, GL_CreateContext, (SDL_Window *))                                             \
    X(void, GL_DeleteContext, (SDL_GLContext))                                                     \
    X(void *, GL_GetProcAddress, (const char *))                                                   \
    X(void, GL_GetDrawableSize, (SDL_Window *, int *, int *))                                      \
    X(int, GL_SetSwapInterval, (int))                                                              \
    X(void, GL_SwapWindow, (SDL_Window *))                                                         \
    X(int, PollEvent, (SDL_Event *))                                                               \
    X(int, WaitEvent, (SDL_Event *))

/* SDL is one for the whole process, as its functions are. */
static struct {
#define SDL_MEMBER_(result, name, parameters) result(*name) parameters;
    SDL_LIST(SDL_MEMBER_)
#undef SDL_MEMBER_
} sdl;

struct gl_window {
    void *library;
    bool initialized;
    SDL_Window *handle;
    SDL_GLContext context;
};

static void *get_proc_address(const char *name)
{
    return sdl.GL_GetProcAddress(name);
}

static bool load(gl_window *w)
{
    w->library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
    if (!w->library) {
        report("--window needs SDL2 (Debian: libsdl2-2.0-0): %s", dlerror());
        return false;
    }
#define SDL_LOAD_(result, name, parameters)                                                        \
    {                                                                                              \
        void *function = dlsym(w->library, "SDL_" #name);                                          \
        if (!function) {                                                                           \
            report("--window: %s has no %s", library_name, "SDL_" #name);                          \
            return false;                                                                          \
        }                                                                                          \
        memcpy(&sdl.name, &function, sizeof function);                                             \
    }
    SDL_LIST(SDL_LOAD_)
#undef SDL_LOAD_
    return true;
}

static bool open_context(gl_window *w, const char *title, int width, int height, bool debug)
{
    const int attributes[][2] = {{SDL_GL_CONTEXT_MAJOR_VERSION, 4},
                                 {SDL_GL_CONTEXT_MINOR_VERSION, 5},
                                 {SDL_GL_CONTEXT_PROFILE_MASK, SDL_GL_CONTEXT_PROFILE_CORE},
                                 {SDL_GL_CONTEXT_FLAGS, debug ? SDL_GL_CONTEXT_DEBUG_FLAG : 0},
                                 {SDL_GL_DOUBLEBUFFER, 1},
                                 {SDL_GL_DEPTH_SIZE, 0}};
    (void)sdl.SetHint(SDL_HINT_NO_SIGNAL_HANDLERS, "1");
    (void)sdl.SetHint(SDL_HINT_VIDEO_X11_NET_WM_BYPASS_COMPOSITOR, "0");
    w->initialized = sdl.InitSubSystem(SDL_INIT_VIDEO) == 0;
    /* SDL has drivers that show nothing, for where there is nothing else. */
    const char *driver = w->initialized ? sdl.GetCurrentVideoDriver() : NULL;
    if (!driver || strcmp(driver, "offscreen") == 0 || strcmp(driver, "dummy") == 0) {
        report("--window: no screen: %s", driver ? "SDL has none but memory" : sdl.GetError());
        return false;
    }
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++)
        (void)sdl.GL_SetAttribute((SDL_GLattr)attributes[i][0], attributes[i][1]);
    w->handle = sdl.CreateWindow(title, (int)SDL_WINDOWPOS_UNDEFINED, (int)SDL_WINDOWPOS_UNDEFINED,
                                 width, height, SDL_WINDOW_OPENGL);
    if (w->handle) w->context = sdl.GL_CreateContext(w->handle);
    if (w->context) return true;
    report("--window: OpenGL 4.5: %s", sdl.GetError());
    return false;
}

gl_window *gl_window_open(gl_setup *g, const char *title, uint32_t width, uint32_t height,
                          bool debug)
{
    gl_window *w = calloc(1, sizeof *w);
    memset(g, 0, sizeof *g);
    if (w && load(w) && open_context(w, title, (int)width, (int)height, debug) &&
        gl_setup_current(g, get_proc_address, debug)) {
        (void)sdl.GL_SetSwapInterval(1);
        return w;
    }
    gl_window_close(w);
    return NULL;
}

void gl_window_close(gl_window *w)
{
    if (!w) return;
    if (w->context) sdl.GL_DeleteContext(w->context);
    if (w->handle) sdl.DestroyWindow(w->handle);
    if (w->initialized) sdl.QuitSubSystem(SDL_INIT_VIDEO);
    /* The drivers that it loaded keep exit handlers: its library stays. */
    free(w);
}

static void take(gl_window_input *out, const SDL_Event *event)
{
    if (event->type == SDL_QUIT) out->closed = true;
    if (event->type == SDL_WINDOWEVENT) out->shown = true;
    if (event->type == SDL_KEYDOWN && event->key.repeat == 0) {
        if (event->key.keysym.sym == SDLK_ESCAPE) out->closed = true;
        if (event->key.keysym.sym == SDLK_SPACE) out->pause = !out->pause;
    }
    if (event->type == SDL_MOUSEMOTION && (event->motion.state & SDL_BUTTON_LMASK) != 0) {
        out->drag_x += event->motion.xrel;
        out->drag_y += event->motion.yrel;
    }
    if (event->type == SDL_MOUSEWHEEL) out->wheel += event->wheel.y;
}

void gl_window_poll(gl_window *w, gl_window_input *out)
{
    SDL_Event event;
    (void)w;
    memset(out, 0, sizeof *out);
    while (sdl.PollEvent(&event))
        take(out, &event);
}

void gl_window_wait(gl_window *w, gl_window_input *out)
{
    SDL_Event event;
    gl_window_input first;
    memset(&first, 0, sizeof first);
    if (sdl.WaitEvent(&event)) take(&first, &event);
    gl_window_poll(w, out);
    out->closed |= first.closed;
    out->pause ^= first.pause;
    out->shown |= first.shown;
    out->drag_x += first.drag_x;
    out->drag_y += first.drag_y;
    out->wheel += first.wheel;
}

void gl_window_set_title(gl_window *w, const char *title)
{
    sdl.SetWindowTitle(w->handle, title);
}

void gl_window_show(gl_window *w, GLuint framebuffer, uint32_t width, uint32_t height)
{
    int across = 0, down = 0;
    sdl.GL_GetDrawableSize(w->handle, &across, &down);
    /* GL's windows have their first row at the bottom. */
    glBlitNamedFramebuffer(framebuffer, 0, 0, 0, (GLint)width, (GLint)height, 0, down, across, 0,
                           GL_COLOR_BUFFER_BIT, GL_NEAREST);
    sdl.GL_SwapWindow(w->handle);
}
