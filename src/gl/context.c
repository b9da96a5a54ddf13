/* SPDX-License-Identifier: MIT */
/* Contexts of EGL, GLX and WGL, found at run time: nothing of them is linked. */
#include "base/platform.h"
#include "gl/gl_context.h"

#include <stdio.h>
#include <string.h>

const char *const culvi_gl_extension_names[CULVI_GL_EXTENSIONS] = {
    "GL_ARB_direct_state_access", "GL_EXT_memory_object",
#ifdef _WIN32
    "GL_EXT_memory_object_win32", "GL_EXT_semaphore",     "GL_EXT_semaphore_win32",
#else
    "GL_EXT_memory_object_fd",    "GL_EXT_semaphore",     "GL_EXT_semaphore_fd",
#endif
    "GL_NV_timeline_semaphore",
};

/* Function pointers go through memory: C has no cast from void *. */
static bool find(void *module, const char *name, void *out)
{
    void *found = module != NULL ? culvi_module_symbol(module, name) : NULL;
    memcpy(out, &found, sizeof found);
    return found != NULL;
}

static void *first_loaded(const char *const *names)
{
    void *module = NULL;
    for (; *names != NULL && module == NULL; names++)
        module = culvi_module_loaded(*names);
    return module;
}

void culvi_gl_windows_open(culvi_gl_windows *w, culv_gl_get_proc caller)
{
    static const char *const egl[] = {
#ifdef _WIN32
        "libEGL.dll",
#else
        "libEGL.so.1", "libEGL_nvidia.so.0",
#endif
        NULL};
    memset(w, 0, sizeof *w);
    w->caller = caller;
    w->modules[CULVI_GL_MODULE_EGL] = first_loaded(egl);
#ifdef _WIN32
    static const char *const wgl[] = {"opengl32.dll", NULL};
    void *module = w->modules[CULVI_GL_MODULE_WGL] = first_loaded(wgl);
    find(module, "wglGetCurrentContext", &w->wgl_context);
    find(module, "wglGetProcAddress", &w->wgl_get_proc);
#else
    static const char *const glx[] = {"libGLX.so.0", NULL};
    static const char *const gl[] = {"libGL.so.1", NULL}; /* has GLX too, without libglvnd */
    w->modules[CULVI_GL_MODULE_GLX] = first_loaded(glx);
    w->modules[CULVI_GL_MODULE_GL] = first_loaded(gl);
    void *module = w->modules[CULVI_GL_MODULE_GLX];
    if (!find(module, "glXGetCurrentContext", &w->glx_context)) {
        module = w->modules[CULVI_GL_MODULE_GL];
        find(module, "glXGetCurrentContext", &w->glx_context);
    }
    find(module, "glXGetCurrentDisplay", &w->glx_display);
    find(module, "glXGetProcAddressARB", &w->glx_get_proc);
#endif
    module = w->modules[CULVI_GL_MODULE_EGL];
    find(module, "eglGetCurrentContext", &w->egl_context);
    find(module, "eglGetCurrentDisplay", &w->egl_display);
    find(module, "eglGetProcAddress", &w->egl_get_proc);
    find(module, "eglQueryContext", &w->egl_query_context);
}

void culvi_gl_windows_close(culvi_gl_windows *w)
{
    for (size_t i = 0; i < sizeof w->modules / sizeof w->modules[0]; i++) {
        if (w->modules[i] != NULL) culvi_module_close(w->modules[i]);
        w->modules[i] = NULL;
    }
}

/* Vulkan's loader unloads its drivers with the last instance. NVIDIA's takes the thread's current
 * EGL context with it then, and eglMakeCurrent() fails from there on (measured with 580). */
void culvi_gl_keep_drivers(void)
{
    culvi_module_keep("libGLX_nvidia.so.0");
    culvi_module_keep("libEGL_nvidia.so.0");
}

/* wglGetProcAddress() answers small numbers for some functions that it does not have. */
static void *wgl_proc(const culvi_gl_windows *w, const char *name)
{
    void *found = w->wgl_get_proc != NULL ? w->wgl_get_proc(name) : NULL;
    uintptr_t number = (uintptr_t)found;
    if (number <= 3 || number == UINTPTR_MAX) found = NULL;
    if (found == NULL && w->modules[CULVI_GL_MODULE_WGL] != NULL)
        found = culvi_module_symbol(w->modules[CULVI_GL_MODULE_WGL], name); /* OpenGL 1.1 */
    return found;
}

static void *find_proc(const culvi_gl_windows *w, culv_gl_platform platform, const char *name)
{
    if (w->caller != NULL) return w->caller(name);
    switch (platform) {
    case CULV_GL_PLATFORM_EGL: return w->egl_get_proc != NULL ? w->egl_get_proc(name) : NULL;
    case CULV_GL_PLATFORM_GLX: return w->glx_get_proc != NULL ? w->glx_get_proc(name) : NULL;
    case CULV_GL_PLATFORM_WGL: return wgl_proc(w, name);
    case CULV_GL_PLATFORM_NONE:
    case CULV_GL_PLATFORM_FORCE32: break;
    }
    return NULL;
}

const char *culvi_gl_platform_name(culv_gl_platform platform)
{
    switch (platform) {
    case CULV_GL_PLATFORM_EGL: return "EGL";
    case CULV_GL_PLATFORM_GLX: return "GLX";
    case CULV_GL_PLATFORM_WGL: return "WGL";
    case CULV_GL_PLATFORM_NONE:
    case CULV_GL_PLATFORM_FORCE32: break;
    }
    return "no platform";
}

const char *culvi_gl_error_name(uint32_t error)
{
    switch (error) {
    case CULVI_GL_NO_ERROR: return "GL_NO_ERROR";
    case CULVI_GL_INVALID_ENUM: return "GL_INVALID_ENUM";
    case CULVI_GL_INVALID_VALUE: return "GL_INVALID_VALUE";
    case CULVI_GL_INVALID_OPERATION: return "GL_INVALID_OPERATION";
    case CULVI_GL_OUT_OF_MEMORY: return "GL_OUT_OF_MEMORY";
    case CULVI_GL_INVALID_FRAMEBUFFER_OPERATION: return "GL_INVALID_FRAMEBUFFER_OPERATION";
    case CULVI_GL_CONTEXT_LOST: return "GL_CONTEXT_LOST";
    default: return "an unknown error";
    }
}

/* What the context is ------------------------------------------------------------------------- */

static void copy_string(const culvi_gl_table *t, uint32_t name, char *out, size_t size)
{
    const unsigned char *text = t->glGetString(name);
    snprintf(out, size, "%s", text != NULL ? (const char *)text : "");
}

static bool is_software(const char *renderer)
{
    static const char *const names[] = {
        "llvmpipe",    "softpipe", "SwiftShader", "swrast", "Software Rasterizer",
        "GDI Generic", "lavapipe"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strstr(renderer, names[i]) != NULL) return true;
    return false;
}

static void ask_extensions(culvi_gl_table *t)
{
    int32_t count = 0;
    t->glGetIntegerv(CULVI_GL_NUM_EXTENSIONS, &count);
    for (int32_t i = 0; i < count; i++) {
        const char *name = (const char *)t->glGetStringi(CULVI_GL_EXTENSIONS_NAME, (uint32_t)i);
        for (int k = 0; name != NULL && k < CULVI_GL_EXTENSIONS; k++)
            if (strcmp(name, culvi_gl_extension_names[k]) == 0) t->has[k] = true;
    }
    if (t->major > 4 || (t->major == 4 && t->minor >= 5))
        t->has[CULVI_GL_DIRECT_STATE_ACCESS] = true;
}

static void ask_gpu(culvi_gl_table *t)
{
    int32_t count = 0;
    if (!t->has[CULVI_GL_MEMORY_OBJECT] && !t->has[CULVI_GL_SEMAPHORE]) return;
    if (t->glGetUnsignedBytevEXT == NULL || t->glGetUnsignedBytei_vEXT == NULL) return;
    t->glGetIntegerv(CULVI_GL_NUM_DEVICE_UUIDS_EXT, &count);
    if (count < 1) return;
    t->num_gpus = (uint32_t)count;
    t->glGetUnsignedBytei_vEXT(CULVI_GL_DEVICE_UUID_EXT, 0, t->uuid.bytes);
    t->glGetUnsignedBytevEXT(CULVI_GL_DRIVER_UUID_EXT, t->driver_uuid.bytes);
    t->has_uuid = t->glGetError() == CULVI_GL_NO_ERROR && culvi_uuid_given(&t->uuid);
#ifdef _WIN32
    int32_t node = 0;
    t->glGetUnsignedBytevEXT(CULVI_GL_DEVICE_LUID_EXT, t->luid.bytes);
    t->glGetIntegerv(CULVI_GL_DEVICE_NODE_MASK_EXT, &node);
    t->node_mask = (uint32_t)node;
    t->has_luid = t->glGetError() == CULVI_GL_NO_ERROR && culvi_luid_given(&t->luid);
    if (!t->has_luid) memset(&t->luid, 0, sizeof t->luid);
#endif
}

const char *culvi_gl_lacks(const culvi_gl_table *t)
{
    if (t->es) return "desktop OpenGL: it is OpenGL ES";
    if (t->missing != NULL) return t->missing;
    return t->has[CULVI_GL_DIRECT_STATE_ACCESS] && t->glCreateBuffers != NULL
               ? NULL
               : "GL_ARB_direct_state_access";
}

uint32_t culvi_gl_table_load(culvi_gl_table *t, const culvi_gl_windows *windows,
                             culv_gl_platform platform)
{
    enum { REQUIRED = 1, OPTIONAL = 0 };
    memset(t, 0, sizeof *t);
#define CULV_GL(name, need, result, arguments)                                                     \
    {                                                                                              \
        void *found = find_proc(windows, platform, #name);                                         \
        memcpy(&t->name, &found, sizeof found);                                                    \
        if (found == NULL && (need) == REQUIRED && t->missing == NULL) t->missing = #name;         \
    }
#include "gl/gl_procs.h"
#undef CULV_GL
    if (t->glGetError == NULL || t->glGetString == NULL) return 0;
    uint32_t pending = t->glGetError();
    culvi_gl_drop_errors(t);
    copy_string(t, CULVI_GL_VENDOR, t->vendor, sizeof t->vendor);
    copy_string(t, CULVI_GL_RENDERER, t->renderer, sizeof t->renderer);
    copy_string(t, CULVI_GL_VERSION, t->version, sizeof t->version);
    t->es = strncmp(t->version, "OpenGL ES", 9) == 0;
    t->nvidia = strstr(t->vendor, "NVIDIA") != NULL;
    t->software = is_software(t->renderer);
    if (t->missing != NULL) return pending;
    t->glGetIntegerv(CULVI_GL_MAJOR_VERSION, &t->major);
    t->glGetIntegerv(CULVI_GL_MINOR_VERSION, &t->minor);
    ask_extensions(t);
    ask_gpu(t);
    (void)t->glGetError();
    return pending;
}
