/* SPDX-License-Identifier: MIT */
/* culvert-info: OpenGL, by EGL, which is opened at run time. A child process asks, so that an
 * OpenGL driver that crashes or hangs costs its rows alone. */
#include "info.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of EGL/egl.h, EGL/eglext.h and GL/glext.h, which a machine that builds this need not have. */
enum {
    EGL_NONE_ = 0x3038,
    EGL_EXTENSIONS_ = 0x3055,
    EGL_OPENGL_API_ = 0x30a2,
    EGL_CONTEXT_MAJOR_VERSION_ = 0x3098,
    EGL_CONTEXT_MINOR_VERSION_ = 0x30fb,
    EGL_PLATFORM_DEVICE_EXT_ = 0x313f,
    GL_VENDOR_ = 0x1f00,
    GL_RENDERER_ = 0x1f01,
    GL_VERSION_ = 0x1f02,
    GL_EXTENSIONS_ = 0x1f03,
    GL_NUM_EXTENSIONS_ = 0x821d,
    GL_DEVICE_UUID_EXT_ = 0x9597
};
typedef void (*any_fn)(void);
static any_fn (*get_proc)(const char *name);

#define PROC(type, name, parameters)                                                               \
    type(*name) parameters;                                                                        \
    do {                                                                                           \
        any_fn found_ = get_proc(#name);                                                           \
        memcpy(&name, &found_, sizeof name);                                                       \
    } while (0)

static void describe(struct opengl_device *out)
{
    PROC(const char *, glGetString, (unsigned));
    PROC(const char *, glGetStringi, (unsigned, unsigned));
    PROC(void, glGetIntegerv, (unsigned, int *));
    PROC(void, glGetUnsignedBytei_vEXT, (unsigned, unsigned, unsigned char *));
    int count = 0;
    bool memory_object = false;
    if (glGetString == NULL || glGetStringi == NULL || glGetIntegerv == NULL) {
        text_set(out->why, sizeof out->why, "EGL knows no glGetString");
        return;
    }
    const char *renderer = glGetString(GL_RENDERER_), *version = glGetString(GL_VERSION_),
               *vendor = glGetString(GL_VENDOR_);
    text_set(out->renderer, sizeof out->renderer, "%s", renderer != NULL ? renderer : "unknown");
    text_set(out->version, sizeof out->version, "%s", version != NULL ? version : "unknown");
    text_set(out->vendor, sizeof out->vendor, "%s", vendor != NULL ? vendor : "unknown");
    glGetIntegerv(GL_NUM_EXTENSIONS_, &count);
    for (int i = 0; i < count; i++) {
        const char *name = glGetStringi(GL_EXTENSIONS_, (unsigned)i);
        if (name == NULL) continue;
        memory_object = memory_object || strcmp(name, "GL_EXT_memory_object") == 0;
        out->memory_fd = out->memory_fd || strcmp(name, "GL_EXT_memory_object_fd") == 0;
        out->semaphore_fd = out->semaphore_fd || strcmp(name, "GL_EXT_semaphore_fd") == 0;
    }
    if (memory_object && glGetUnsignedBytei_vEXT != NULL) {
        glGetUnsignedBytei_vEXT(GL_DEVICE_UUID_EXT_, 0, out->uuid.bytes);
        out->has_uuid = true;
    }
}

static void ask_device(void *device, struct opengl_device *out)
{
    static const int version[] = {EGL_CONTEXT_MAJOR_VERSION_, 4, EGL_CONTEXT_MINOR_VERSION_, 5,
                                  EGL_NONE_};
    PROC(void *, eglGetPlatformDisplayEXT, (unsigned, void *, const int *));
    PROC(unsigned, eglInitialize, (void *, int *, int *));
    PROC(unsigned, eglTerminate, (void *));
    PROC(unsigned, eglBindAPI, (unsigned));
    PROC(void *, eglCreateContext, (void *, void *, void *, const int *));
    PROC(unsigned, eglMakeCurrent, (void *, void *, void *, void *));
    if (eglGetPlatformDisplayEXT == NULL || eglInitialize == NULL || eglTerminate == NULL ||
        eglBindAPI == NULL || eglCreateContext == NULL || eglMakeCurrent == NULL) {
        text_set(out->why, sizeof out->why, "EGL lacks a function that this needs");
        return;
    }
    void *display = eglGetPlatformDisplayEXT(EGL_PLATFORM_DEVICE_EXT_, device, NULL);
    if (display == NULL || !eglInitialize(display, NULL, NULL)) {
        text_set(out->why, sizeof out->why, "EGL cannot open this device (eglInitialize)");
        return;
    }
    void *context =
        eglBindAPI(EGL_OPENGL_API_) ? eglCreateContext(display, NULL, NULL, version) : NULL;
    if (context == NULL || !eglMakeCurrent(display, NULL, NULL, context))
        text_set(out->why, sizeof out->why, "it has no context of OpenGL 4.5 without a screen");
    else
        describe(out);
    (void)eglTerminate(display);
}

static void ask(struct opengl_info *out)
{
    void *library = library_open("libEGL.so.1", out->why, sizeof out->why), *symbol;
    void *devices[MAX_OPENGL];
    int count = 0;
    if (library == NULL) return;
    symbol = library_symbol(library, "eglGetProcAddress");
    memcpy(&get_proc, &symbol, sizeof get_proc);
    if (get_proc == NULL) {
        text_set(out->why, sizeof out->why, "libEGL.so.1 has no eglGetProcAddress");
        return;
    }
    PROC(unsigned, eglQueryDevicesEXT, (int, void **, int *));
    if (eglQueryDevicesEXT == NULL || !eglQueryDevicesEXT(MAX_OPENGL, devices, &count)) {
        text_set(out->why, sizeof out->why, "EGL lists no devices (EGL_EXT_device_enumeration)");
        return;
    }
    if (count == 0) text_set(out->why, sizeof out->why, "EGL has no device");
    for (out->count = 0; out->count < count; out->count++)
        ask_device(devices[out->count], &out->devices[out->count]);
}

void opengl_read(struct opengl_info *out)
{
    int ends[2], status = 0;
    size_t have = 0;
    struct opengl_info *told = must_alloc(1, sizeof *told);
    if (pipe(ends) != 0) {
        text_set(out->why, sizeof out->why, "no pipe: %s", strerror(errno));
        free(told);
        return;
    }
    const pid_t child = fork();
    if (child == 0) {
        const char *at = (const char *)told;
        (void)close(ends[0]);
        (void)setenv("EGL_LOG_LEVEL", "fatal", 0); /* what a driver cannot do is in the rows */
        ask(told);
        while (have < sizeof *told) {
            const ssize_t wrote = write(ends[1], at + have, sizeof *told - have);
            if (wrote <= 0) break;
            have += (size_t)wrote;
        }
        _exit(0);
    }
    (void)close(ends[1]);
    for (const uint64_t until = clock_now() + UINT64_C(10000000000); child > 0;) {
        struct pollfd wait = {.fd = ends[0], .events = POLLIN};
        const uint64_t now = clock_now();
        if (now >= until || have == sizeof *told) break;
        if (poll(&wait, 1, (int)((until - now) / 1000000) + 1) <= 0) continue;
        const ssize_t got = read(ends[0], (char *)told + have, sizeof *told - have);
        if (got <= 0) break;
        have += (size_t)got;
    }
    (void)close(ends[0]);
    if (child > 0) {
        if (have < sizeof *told) (void)kill(child, SIGKILL); /* if it is there still */
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
    }
    if (have == sizeof *told)
        *out = *told;
    else
        text_set(out->why, sizeof out->why,
                 child < 0 ? "no process could be started to ask EGL"
                           : "asking EGL crashed, or took more than 10 s");
    free(told);
}
