/* SPDX-License-Identifier: MIT */
/* OpenGL contexts by EGL, without EGL's headers and without linking anything. */
#include "raw_gl.h"

#include <dlfcn.h>

enum {
    EGL_EXTENSIONS = 0x3055,
    EGL_NONE = 0x3038,
    EGL_OPENGL_ES_API = 0x30a0,
    EGL_OPENGL_API = 0x30a2,
    EGL_CONTEXT_MAJOR_VERSION = 0x3098,
    EGL_CONTEXT_MINOR_VERSION = 0x30fb,
    EGL_CONTEXT_OPENGL_PROFILE_MASK = 0x30fd,
    EGL_PLATFORM_DEVICE_EXT = 0x313f,
    EGL_PLATFORM_SURFACELESS_MESA = 0x31dd,
    EGL_CUDA_DEVICE_NV = 0x323a
};

typedef void (*any_fn)(void);

static struct egl {
    void *library;
    any_fn (*GetProcAddress)(const char *);
    void *(*GetPlatformDisplay)(unsigned, void *, const intptr_t *);
    unsigned (*Initialize)(void *, int *, int *);
    int (*GetError)(void);
    unsigned (*BindAPI)(unsigned);
    void *(*CreateContext)(void *, void *, void *, const int *);
    unsigned (*MakeCurrent)(void *, void *, void *, void *);
    unsigned (*DestroyContext)(void *, void *);
    unsigned (*QueryDevicesEXT)(int, void **, int *);
    unsigned (*QueryDeviceAttribEXT)(void *, int, intptr_t *);
} egl;

void *raw_gl_get_proc(const char *name)
{
    void *found;
    any_fn function = egl.GetProcAddress(name);
    memcpy(&found, &function, sizeof found);
    return found;
}

static bool load(const char *name, void *function, size_t size)
{
    char full[64];
    snprintf(full, sizeof full, "egl%s", name);
    void *symbol = dlsym(egl.library, full);
    if (symbol == NULL && egl.GetProcAddress != NULL) symbol = raw_gl_get_proc(full);
    memcpy(function, &symbol, size);
    return symbol != NULL;
}
#define LOAD(name) load(#name, &egl.name, sizeof egl.name)

static const char *open_egl(void)
{
    if (egl.library != NULL) return NULL;
    void *library = dlopen("libEGL.so.1", RTLD_NOW | RTLD_LOCAL); /* never closed */
    if (library == NULL) return "no libEGL.so.1";
    egl.library = library;
    if (!LOAD(GetProcAddress) || !LOAD(GetPlatformDisplay) || !LOAD(Initialize) ||
        !LOAD(GetError) || !LOAD(BindAPI) || !LOAD(CreateContext) || !LOAD(MakeCurrent) ||
        !LOAD(DestroyContext))
        FAIL("libEGL.so.1 lacks a function of EGL 1.5");
    LOAD(QueryDevicesEXT);
    LOAD(QueryDeviceAttribEXT);
    return NULL;
}

/* The display of the EGL device that is this CUDA device; NULL: there is none. */
static void *device_display(int ordinal)
{
    void *devices[32];
    int count = 0;
    if (egl.QueryDevicesEXT == NULL || egl.QueryDeviceAttribEXT == NULL ||
        !egl.QueryDevicesEXT(32, devices, &count))
        return NULL;
    for (int i = 0; i < count; i++) {
        intptr_t number = -1;
        if (egl.QueryDeviceAttribEXT(devices[i], EGL_CUDA_DEVICE_NV, &number) && number == ordinal)
            return egl.GetPlatformDisplay(EGL_PLATFORM_DEVICE_EXT, devices[i], NULL);
    }
    return NULL;
}

/* Each thread has its own. */
static void bind_api(const raw_gl *gl)
{
    egl.BindAPI(gl->profile == RAW_GL_ES ? EGL_OPENGL_ES_API : EGL_OPENGL_API);
}

static void *make_context(const raw_gl *gl, void *share)
{
    static const int es[] = {EGL_CONTEXT_MAJOR_VERSION, 3, EGL_CONTEXT_MINOR_VERSION, 2, EGL_NONE};
    const int wanted[] = {EGL_CONTEXT_MAJOR_VERSION,
                          4,
                          EGL_CONTEXT_MINOR_VERSION,
                          5,
                          EGL_CONTEXT_OPENGL_PROFILE_MASK,
                          gl->profile,
                          EGL_NONE};
    bind_api(gl);
    return egl.CreateContext(gl->display, NULL, share, /* EGL_KHR_no_config_context */
                             gl->profile == RAW_GL_ES ? es : wanted);
}

const char *raw_gl_try(raw_gl *gl, bool software, int ordinal, int profile)
{
    memset(gl, 0, sizeof *gl);
    const char *why = open_egl();
    if (why != NULL) return why;
    gl->software = software;
    gl->profile = profile;
    gl->display = software ? egl.GetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, NULL, NULL)
                           : device_display(ordinal);
    if (gl->display == NULL || !egl.Initialize(gl->display, NULL, NULL))
        return "EGL has no display of the CUDA device, or of Mesa's software driver";
    gl->context = make_context(gl, NULL);
    if (gl->context == NULL) return "EGL has no context of OpenGL 4.5, or of OpenGL ES 3.2";
    raw_gl_current(gl, gl->context);
#define RAW_GL_LOAD(name, NAME)                                                                    \
    {                                                                                              \
        void *function = raw_gl_get_proc("gl" #name);                                              \
        if (function == NULL) FAIL("OpenGL has no gl%s", #name);                                   \
        memcpy(&gl->name, &function, sizeof gl->name);                                             \
    }
    RAW_GL_PROCS(RAW_GL_LOAD)
#undef RAW_GL_LOAD
    return NULL;
}

void raw_gl_open(raw_gl *gl, bool software, int ordinal, int profile)
{
    const char *why = raw_gl_try(gl, software, ordinal, profile);
    if (why != NULL) SKIP("%s", why);
}

void *raw_gl_another(const raw_gl *gl, bool shares)
{
    void *context = make_context(gl, shares ? gl->context : NULL);
    if (context == NULL) FAIL("no second context");
    return context;
}

void raw_gl_current(const raw_gl *gl, void *context)
{
    bind_api(gl);
    if (!egl.MakeCurrent(gl->display, NULL, NULL, context))
        FAIL("eglMakeCurrent of %p: EGL error %#x", context, (unsigned)egl.GetError());
}

void raw_gl_destroy(const raw_gl *gl, void *context)
{
    if (!egl.DestroyContext(gl->display, context)) FAIL("eglDestroyContext");
}

void raw_gl_close(raw_gl *gl)
{
    raw_gl_current(gl, gl->context);
    raw_gl_require_ok(gl, "the case", __FILE__, __LINE__);
    raw_gl_current(gl, NULL);
    raw_gl_destroy(gl, gl->context);
    gl->context = NULL; /* the display stays: it is the process's, and others may use it */
}

void raw_gl_require_ok(const raw_gl *gl, const char *what, const char *file, int line)
{
    const GLenum error = gl->GetError();
    if (error != 0) test_fail(file, line, "%s: OpenGL error 0x%x", what, error);
}

void raw_gl_read_buffer(const raw_gl *gl, GLuint buffer, void *data, size_t size)
{
    GLuint other = 0;
    gl->CreateBuffers(1, &other);
    gl->NamedBufferStorage(other, (GLsizeiptr)size, NULL, GL_MAP_READ_BIT);
    gl->CopyNamedBufferSubData(buffer, other, 0, 0, (GLsizeiptr)size);
    const void *mapped = gl->MapNamedBufferRange(other, 0, (GLsizeiptr)size, GL_MAP_READ_BIT);
    if (mapped == NULL) FAIL("a buffer cannot be read: OpenGL error 0x%x", gl->GetError());
    memcpy(data, mapped, size);
    gl->UnmapNamedBuffer(other);
    gl->DeleteBuffers(1, &other);
}

void raw_gl_write_buffer(const raw_gl *gl, GLuint buffer, const void *data, size_t size)
{
    GLuint other = 0;
    gl->CreateBuffers(1, &other);
    gl->NamedBufferStorage(other, (GLsizeiptr)size, data, 0);
    gl->CopyNamedBufferSubData(other, buffer, 0, 0, (GLsizeiptr)size);
    gl->DeleteBuffers(1, &other);
}
