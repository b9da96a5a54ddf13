/* SPDX-License-Identifier: MIT */
/* Samples: OpenGL contexts without a screen, by EGL, which is loaded when one is wanted. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <EGL/egl.h>
#include <EGL/eglext.h>

#include "gl_setup.h"

#define MAX_DEVICES 32

/* (type, name without "egl") */
#define EGL_LIST(X)                                                                                \
    X(PFNEGLGETERRORPROC, GetError)                                                                \
    X(PFNEGLQUERYSTRINGPROC, QueryString)                                                          \
    X(PFNEGLGETPLATFORMDISPLAYPROC, GetPlatformDisplay)                                            \
    X(PFNEGLINITIALIZEPROC, Initialize)                                                            \
    X(PFNEGLTERMINATEPROC, Terminate)                                                              \
    X(PFNEGLBINDAPIPROC, BindAPI)                                                                  \
    X(PFNEGLCHOOSECONFIGPROC, ChooseConfig)                                                        \
    X(PFNEGLCREATECONTEXTPROC, CreateContext)                                                      \
    X(PFNEGLDESTROYCONTEXTPROC, DestroyContext)                                                    \
    X(PFNEGLMAKECURRENTPROC, MakeCurrent)

/* EGL is one for the whole process, as its functions are. */
static struct {
#define EGL_MEMBER_(type, name) type name;
    EGL_LIST(EGL_MEMBER_)
#undef EGL_MEMBER_
    PFNEGLGETPROCADDRESSPROC GetProcAddress;
    PFNEGLQUERYDEVICESEXTPROC QueryDevices;           /* NULL: no such extension */
    PFNEGLQUERYDEVICESTRINGEXTPROC QueryDeviceString; /* NULL: no such extension */
} egl;

struct gl_headless {
    void *library;
    EGLDisplay display;
    EGLContext context;
};

static void *get_proc_address(const char *name)
{
    void (*function)(void) = egl.GetProcAddress(name);
    void *pointer;
    memcpy(&pointer, &function, sizeof pointer);
    return pointer;
}

static bool has(const char *list, const char *extension)
{
    size_t length = strlen(extension);
    for (const char *at = list; at && (at = strstr(at, extension)); at += length) {
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) return true;
    }
    return false;
}

static bool load(gl_headless *h)
{
    h->library = dlopen("libEGL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!h->library) {
        report("a picture without a screen needs EGL (Debian: libegl1): %s", dlerror());
        return false;
    }
    void *symbol = dlsym(h->library, "eglGetProcAddress");
    if (!symbol) {
        report("libEGL.so.1 has no eglGetProcAddress");
        return false;
    }
    memcpy(&egl.GetProcAddress, &symbol, sizeof symbol);
    void *function;
#define EGL_LOAD_(type, name)                                                                      \
    function = get_proc_address("egl" #name);                                                      \
    if (!function) {                                                                               \
        report("libEGL.so.1 has no %s; EGL 1.5 has", "egl" #name);                                 \
        return false;                                                                              \
    }                                                                                              \
    memcpy(&egl.name, &function, sizeof function);
    EGL_LIST(EGL_LOAD_)
#undef EGL_LOAD_
    function = get_proc_address("eglQueryDevicesEXT");
    memcpy(&egl.QueryDevices, &function, sizeof function);
    function = get_proc_address("eglQueryDeviceStringEXT");
    memcpy(&egl.QueryDeviceString, &function, sizeof function);
    return true;
}

/* The GPUs that CUDA has, too. */
static EGLint list_devices(EGLDeviceEXT devices[MAX_DEVICES])
{
    EGLDeviceEXT all[MAX_DEVICES];
    EGLint count = 0, kept = 0;
    if (!has(egl.QueryString(EGL_NO_DISPLAY, EGL_EXTENSIONS), "EGL_EXT_platform_device") ||
        !egl.QueryDevices || !egl.QueryDeviceString || !egl.QueryDevices(MAX_DEVICES, all, &count))
        return 0;
    for (EGLint i = 0; i < count; i++) {
        if (has(egl.QueryDeviceString(all[i], EGL_EXTENSIONS), "EGL_NV_device_cuda"))
            devices[kept++] = all[i];
    }
    return kept;
}

static void close_context(gl_headless *h)
{
    if (h->display == EGL_NO_DISPLAY) return;
    (void)egl.MakeCurrent(h->display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
    if (h->context != EGL_NO_CONTEXT) (void)egl.DestroyContext(h->display, h->context);
    (void)egl.Terminate(h->display);
    h->context = EGL_NO_CONTEXT;
    h->display = EGL_NO_DISPLAY;
}

static bool egl_failed(const char *what, char why_not[512])
{
    snprintf(why_not, 512, "%s: EGL error 0x%04x", what, (unsigned)egl.GetError());
    return false;
}

static bool open_context(gl_headless *h, EGLenum platform, void *native, bool debug,
                         char why_not[512])
{
    h->display = egl.GetPlatformDisplay(platform, native, NULL);
    if (h->display == EGL_NO_DISPLAY) return egl_failed("eglGetPlatformDisplay", why_not);
    if (!egl.Initialize(h->display, NULL, NULL)) {
        h->display = EGL_NO_DISPLAY;
        return egl_failed("eglInitialize", why_not);
    }
    /* Nothing is drawn to a surface: the renderer has framebuffers of its own. */
    const EGLint wanted[] = {EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT, EGL_SURFACE_TYPE, 0, EGL_NONE};
    const EGLint version[] = {EGL_CONTEXT_MAJOR_VERSION,
                              4,
                              EGL_CONTEXT_MINOR_VERSION,
                              5,
                              EGL_CONTEXT_OPENGL_PROFILE_MASK,
                              EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT,
                              EGL_CONTEXT_OPENGL_DEBUG,
                              debug ? EGL_TRUE : EGL_FALSE,
                              EGL_NONE};
    EGLConfig config = EGL_NO_CONFIG_KHR;
    EGLint count = 0;
    if (!egl.BindAPI(EGL_OPENGL_API)) return egl_failed("eglBindAPI", why_not);
    if (!egl.ChooseConfig(h->display, wanted, &config, 1, &count) || count == 0)
        return egl_failed("eglChooseConfig", why_not);
    h->context = egl.CreateContext(h->display, config, EGL_NO_CONTEXT, version);
    if (h->context == EGL_NO_CONTEXT) return egl_failed("eglCreateContext for OpenGL 4.5", why_not);
    if (!egl.MakeCurrent(h->display, EGL_NO_SURFACE, EGL_NO_SURFACE, h->context))
        return egl_failed("eglMakeCurrent without a surface", why_not);
    return true;
}

bool gl_setup_headless(gl_setup *g, const gl_wishes *wishes, gl_accept accept, void *user)
{
    EGLDeviceEXT devices[MAX_DEVICES];
    char why_not[512] = "EGL lists no GPU that CUDA has (EGL_NV_device_cuda)";
    memset(g, 0, sizeof *g);
    g->headless = calloc(1, sizeof *g->headless);
    if (!g->headless || !load(g->headless)) return false;
    gl_headless *h = g->headless;
    h->display = EGL_NO_DISPLAY;
    EGLint count = strcmp(wishes->choice, "soft") == 0 ? 0 : list_devices(devices);
    for (EGLint i = 0; i < count; i++) {
        if (open_context(h, EGL_PLATFORM_DEVICE_EXT, devices[i], wishes->debug, why_not) &&
            gl_setup_current(g, get_proc_address, wishes->debug) && accept(user, g, why_not))
            return true;
        close_context(h);
    }
    if (strcmp(wishes->choice, "nvidia") != 0 &&
        has(egl.QueryString(EGL_NO_DISPLAY, EGL_EXTENSIONS), "EGL_MESA_platform_surfaceless")) {
        if (open_context(h, EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, wishes->debug,
                         why_not) &&
            gl_setup_current(g, get_proc_address, wishes->debug) && accept(user, g, why_not))
            return true;
        close_context(h);
    }
    report("no OpenGL context without a screen: %s", why_not);
    return false;
}

void gl_setup_destroy(gl_setup *g)
{
    if (g->headless) {
        close_context(g->headless);
        /* EGL's vendors keep threads and exit handlers: its library stays. */
        free(g->headless);
    }
    memset(g, 0, sizeof *g);
}
