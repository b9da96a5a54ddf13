/* SPDX-License-Identifier: MIT */
/* See gl_setup.h. */
#include "gl_setup.h"
#include "files.h"

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <culvert/device.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* EGL, which is loaded when it is wanted ------------------------------------------------------- */

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

static bool load_egl(void)
{
    /* EGL's vendors keep threads and exit handlers: its library stays. */
    void *library = dlopen("libEGL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        report("a picture without a screen needs EGL (Debian: libegl1): %s", dlerror());
        return false;
    }
    void *symbol = dlsym(library, "eglGetProcAddress");
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

static void close_context(gl_interop *i)
{
    if (i->display == EGL_NO_DISPLAY) return;
    (void)egl.MakeCurrent(i->display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
    if (i->context != EGL_NO_CONTEXT) (void)egl.DestroyContext(i->display, i->context);
    (void)egl.Terminate(i->display);
    i->context = EGL_NO_CONTEXT;
    i->display = EGL_NO_DISPLAY;
}

static bool egl_failed(const char *what, char why_not[512])
{
    snprintf(why_not, 512, "%s: EGL error 0x%04x", what, (unsigned)egl.GetError());
    return false;
}

static bool open_context(gl_interop *i, EGLenum platform, void *native, bool debug,
                         char why_not[512])
{
    i->display = egl.GetPlatformDisplay(platform, native, NULL);
    if (i->display == EGL_NO_DISPLAY) return egl_failed("eglGetPlatformDisplay", why_not);
    if (!egl.Initialize(i->display, NULL, NULL)) {
        i->display = EGL_NO_DISPLAY;
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
    if (!egl.ChooseConfig(i->display, wanted, &config, 1, &count) || count == 0)
        return egl_failed("eglChooseConfig", why_not);
    i->context = egl.CreateContext(i->display, config, EGL_NO_CONTEXT, version);
    if (i->context == EGL_NO_CONTEXT) return egl_failed("eglCreateContext for OpenGL 4.5", why_not);
    if (!egl.MakeCurrent(i->display, EGL_NO_SURFACE, EGL_NO_SURFACE, i->context))
        return egl_failed("eglMakeCurrent without a surface", why_not);
    return true;
}

/* OpenGL --------------------------------------------------------------------------------------- */

#define GL_API_DEFINE_(type, name) type gl##name;
GL_API_LIST(GL_API_DEFINE_)
#undef GL_API_DEFINE_

static bool load_gl(void)
{
    void *function;
#define GL_API_LOAD_(type, name)                                                                   \
    function = get_proc_address("gl" #name);                                                       \
    if (!function) {                                                                               \
        report("this OpenGL has no %s; 4.5 has", "gl" #name);                                      \
        return false;                                                                              \
    }                                                                                              \
    memcpy(&gl##name, &function, sizeof function);
    GL_API_LIST(GL_API_LOAD_)
#undef GL_API_LOAD_
    return true;
}

static void APIENTRY on_message(GLenum source, GLenum type, GLuint id, GLenum level, GLsizei length,
                                const GLchar *text, const void *user)
{
    union { /* the callback's user pointer is const */
        const void *given;
        gl_interop *interop;
    } to = {.given = user};
    (void)source;
    (void)id;
    (void)level;
    (void)length;
    /* The rest is advice, and what shaders were compiled again for. */
    if (type != GL_DEBUG_TYPE_ERROR && type != GL_DEBUG_TYPE_UNDEFINED_BEHAVIOR) return;
    to.interop->num_messages++;
    report("OpenGL: %s", text);
}

/* OpenGL's functions, for the context that is current. */
static bool use_context(gl_interop *i, bool debug)
{
    GLint major = 0, minor = 0;
    if (!load_gl()) return false;
    glGetIntegerv(GL_MAJOR_VERSION, &major);
    glGetIntegerv(GL_MINOR_VERSION, &minor);
    const GLubyte *name = glGetString(GL_RENDERER);
    snprintf(i->renderer, sizeof i->renderer, "%s", name ? (const char *)name : "unknown");
    if (major * 10 + minor < 45) {
        report("%s has OpenGL %d.%d; 4.5 is needed", i->renderer, (int)major, (int)minor);
        return false;
    }
    if (debug) {
        glEnable(GL_DEBUG_OUTPUT);
        glEnable(GL_DEBUG_OUTPUT_SYNCHRONOUS);
        glDebugMessageCallback(on_message, i);
    }
    return true;
}

/* Is there a CUDA device that is this context's? By UUID, which both sides tell. */
static bool open_device(gl_interop *i, unsigned driver, char why_not[512])
{
    culv_gl_desc desc = culv_gl_desc_init();
    culv_device_desc device = culv_device_desc_init();
    desc.get_proc_address = get_proc_address;
    device.driver = (culv_driver)driver;
    if (culv_device_open_for_gl(&desc, &device, &i->device) == CULV_OK) return true;
    snprintf(why_not, 512, "%s: %s", i->renderer, culv_last_error_message());
    return false;
}

/* A context there, and a CUDA device for it. `why_not` is for a sentence. */
static bool try_platform(gl_interop *i, EGLenum platform, void *native, unsigned driver, bool debug,
                         char why_not[512])
{
    if (open_context(i, platform, native, debug, why_not) && use_context(i, debug) &&
        open_device(i, driver, why_not))
        return true;
    close_context(i);
    return false;
}

static bool find_device(gl_interop *i, unsigned driver, bool debug)
{
    EGLDeviceEXT devices[MAX_DEVICES];
    char why_not[512] = "EGL lists no GPU that CUDA has (EGL_NV_device_cuda)";
    const EGLint count = driver == CULV_DRIVER_SOFT ? 0 : list_devices(devices);
    for (EGLint n = 0; n < count; n++) {
        if (try_platform(i, EGL_PLATFORM_DEVICE_EXT, devices[n], driver, debug, why_not))
            return true;
    }
    if (driver != CULV_DRIVER_NVIDIA &&
        has(egl.QueryString(EGL_NO_DISPLAY, EGL_EXTENSIONS), "EGL_MESA_platform_surfaceless") &&
        try_platform(i, EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, driver, debug, why_not))
        return true;
    report("no OpenGL context without a screen: %s", why_not);
    return false;
}

bool gl_interop_open(gl_interop *i, unsigned driver, bool debug)
{
    culv_gl_desc desc = culv_gl_desc_init();
    desc.get_proc_address = get_proc_address;
    memset(i, 0, sizeof *i);
    return interop_allow_twin(driver) && load_egl() && find_device(i, driver, debug) &&
           interop_enter_device(i->device, &i->cu, &i->callers_context) &&
           culv_ok(culv_gl_attach(i->device, &desc, &i->attached), "culv_gl_attach");
}

void gl_interop_close(gl_interop *i)
{
    culv_gl_detach(&i->attached);
    interop_close_device(&i->device, i->cu, i->callers_context);
    close_context(i);
}

bool gl_ok(const char *what)
{
    GLenum error = glGetError();
    if (error == GL_NO_ERROR) return true;
    const char *name = error == GL_INVALID_ENUM                    ? "GL_INVALID_ENUM"
                       : error == GL_INVALID_VALUE                 ? "GL_INVALID_VALUE"
                       : error == GL_INVALID_OPERATION             ? "GL_INVALID_OPERATION"
                       : error == GL_OUT_OF_MEMORY                 ? "GL_OUT_OF_MEMORY"
                       : error == GL_INVALID_FRAMEBUFFER_OPERATION ? "GL_INVALID_FRAMEBUFFER_"
                                                                     "OPERATION"
                                                                   : "an error";
    report("%s: %s (0x%04x)", what, name, error);
    return false;
}

GLuint gl_texture(GLenum format, uint32_t width, uint32_t height)
{
    GLuint texture = 0;
    glCreateTextures(GL_TEXTURE_2D, 1, &texture);
    glTextureStorage2D(texture, 1, format, (GLsizei)width, (GLsizei)height);
    if (gl_ok("glTextureStorage2D")) return texture;
    glDeleteTextures(1, &texture);
    return 0;
}

GLuint gl_framebuffer(GLuint texture)
{
    GLuint framebuffer = 0;
    glCreateFramebuffers(1, &framebuffer);
    glNamedFramebufferTexture(framebuffer, GL_COLOR_ATTACHMENT0, texture, 0);
    GLenum status = glCheckNamedFramebufferStatus(framebuffer, GL_DRAW_FRAMEBUFFER);
    if (gl_ok("glNamedFramebufferTexture") && status == GL_FRAMEBUFFER_COMPLETE) return framebuffer;
    report("a framebuffer is not complete: 0x%04x", status);
    glDeleteFramebuffers(1, &framebuffer);
    return 0;
}

bool gl_read_rgba(GLuint framebuffer, uint32_t width, uint32_t height, uint8_t *pixels)
{
    glBindFramebuffer(GL_READ_FRAMEBUFFER, framebuffer);
    glReadPixels(0, 0, (GLsizei)width, (GLsizei)height, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
    return gl_ok("glReadPixels");
}

static GLuint compile(GLenum stage, const char *name)
{
    char path[FILES_PATH_MAX];
    void *data = NULL;
    size_t size = 0;
    if (!files_share_path(path, name) || !files_read(path, &data, &size)) return 0;
    const GLchar *text = data;
    GLuint shader = glCreateShader(stage);
    GLint compiled = GL_FALSE;
    glShaderSource(shader, 1, &text, NULL);
    glCompileShader(shader);
    free(data);
    glGetShaderiv(shader, GL_COMPILE_STATUS, &compiled);
    if (compiled) return shader;
    char log[1024] = "";
    glGetShaderInfoLog(shader, sizeof log, NULL, log);
    report("%s: %s", name, log);
    glDeleteShader(shader);
    return 0;
}

GLuint gl_program(const char *vertex, const char *fragment)
{
    GLuint stages[2] = {compile(GL_VERTEX_SHADER, vertex), compile(GL_FRAGMENT_SHADER, fragment)};
    GLuint program = 0;
    if (stages[0] && stages[1]) {
        GLint linked = GL_FALSE;
        program = glCreateProgram();
        glAttachShader(program, stages[0]);
        glAttachShader(program, stages[1]);
        glLinkProgram(program);
        glGetProgramiv(program, GL_LINK_STATUS, &linked);
        if (!linked) {
            char log[1024] = "";
            glGetProgramInfoLog(program, sizeof log, NULL, log);
            report("%s with %s: %s", vertex, fragment, log);
            glDeleteProgram(program);
            program = 0;
        }
    }
    for (int i = 0; i < 2; i++)
        if (stages[i]) glDeleteShader(stages[i]);
    return program;
}
