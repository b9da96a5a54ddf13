/* SPDX-License-Identifier: MIT */
/* Contexts of EGL, GLX and WGL, found at run time: nothing of them is linked. Which one is current
 * on this thread, and whether it is one of an attachment's. */
#include "gl/gl_core.h"
#include "graphics/graphics_ring.h"

#include <stdio.h>

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
    culvi_gl_platform_calls *calls = &w->of[CULV_GL_PLATFORM_WGL];
    find(module, "wglGetCurrentContext", &calls->context);
    find(module, "wglGetProcAddress", &calls->get_proc);
#else
    static const char *const glx[] = {"libGLX.so.0", NULL};
    static const char *const gl[] = {"libGL.so.1", NULL}; /* has GLX too, without libglvnd */
    w->modules[CULVI_GL_MODULE_GLX] = first_loaded(glx);
    w->modules[CULVI_GL_MODULE_GL] = first_loaded(gl);
    void *module = w->modules[CULVI_GL_MODULE_GLX];
    culvi_gl_platform_calls *calls = &w->of[CULV_GL_PLATFORM_GLX];
    if (!find(module, "glXGetCurrentContext", &calls->context)) {
        module = w->modules[CULVI_GL_MODULE_GL];
        find(module, "glXGetCurrentContext", &calls->context);
    }
    find(module, "glXGetCurrentDisplay", &calls->display);
    find(module, "glXGetProcAddressARB", &calls->get_proc);
#endif
    module = w->modules[CULVI_GL_MODULE_EGL];
    calls = &w->of[CULV_GL_PLATFORM_EGL];
    find(module, "eglGetCurrentContext", &calls->context);
    find(module, "eglGetCurrentDisplay", &calls->display);
    find(module, "eglGetProcAddress", &calls->get_proc);
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

static void *find_proc(const culvi_gl_windows *w, culv_gl_platform platform, const char *name)
{
    if (w->caller != NULL) return w->caller(name);
    const culvi_gl_platform_calls *calls = &w->of[platform];
    void *found = calls->get_proc != NULL ? calls->get_proc(name) : NULL;
    if (platform != CULV_GL_PLATFORM_WGL) return found;
    /* wglGetProcAddress() answers small numbers for some functions that it does not have. */
    const uintptr_t number = (uintptr_t)found;
    if (number <= 3 || number == UINTPTR_MAX) found = NULL;
    if (found == NULL && w->modules[CULVI_GL_MODULE_WGL] != NULL)
        found = culvi_module_symbol(w->modules[CULVI_GL_MODULE_WGL], name); /* OpenGL 1.1 */
    return found;
}

static const char *platform_name(culv_gl_platform platform)
{
    static const char *const names[] = {"no platform", "EGL", "GLX", "WGL"};
    return names[platform];
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

/* What the context is -------------------------------------------------------------------------- */

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

/* The functions of culvi_gl_table, one after another, each behind whether it is required. */
#define REQUIRED "!"
#define OPTIONAL "?"
static const char procs[] =
#define CULV_GL(name, need, result, arguments) need #name "\0"
#include "gl/gl_procs.h"
#undef CULV_GL
    ;

uint32_t culvi_gl_table_load(culvi_gl_table *t, const culvi_gl_windows *windows,
                             culv_gl_platform platform)
{
    memset(t, 0, sizeof *t);
    char *at = (char *)t; /* they come first */
    for (const char *name = procs; name[0] != '\0'; name += strlen(name) + 1) {
        const void *found = find_proc(windows, platform, name + 1);
        memcpy(at, &found, sizeof found);
        at += sizeof found;
        if (found == NULL && name[0] == '!' && t->missing == NULL) t->missing = name + 1;
    }
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

/* Which one is current ------------------------------------------------------------------------- */

/* EGL keeps a current context for each rendering API, and the functions say which of a thread's
 * APIs is bound. Whatever that is, its context is the one that GL calls reach. */
culvi_gl_context culvi_gl_current(const culvi_gl_windows *w)
{
    for (int i = CULV_GL_PLATFORM_EGL; i <= CULV_GL_PLATFORM_WGL; i++) {
        const culvi_gl_platform_calls *calls = &w->of[i];
        const bool known =
            calls->context != NULL && (calls->display != NULL || i == CULV_GL_PLATFORM_WGL);
        void *context = known ? calls->context() : NULL;
        if (context != NULL)
            return (culvi_gl_context){(culv_gl_platform)i,
                                      calls->display != NULL ? calls->display() : NULL, context};
    }
    return (culvi_gl_context){CULV_GL_PLATFORM_NONE, NULL, NULL};
}

/* `refused`: the question left an error. The name is no buffer's, or the context is OpenGL ES. */
static bool finds_marker(const culv_gl *gl, bool *refused)
{
    int64_t size = -1;
#ifdef _WIN32
    /* There a driver's function may crash on a thread without a context, and to ask is cheap. */
    if (culvi_gl_current(&gl->windows).context == NULL) return false;
#endif
    gl->table.glGetNamedBufferParameteri64v(gl->marker, CULVI_GL_BUFFER_SIZE, &size);
    *refused = size < 0;
    return size == gl->marked_size;
}

/* The same of a context that may be any, or none, without an error. Objects are deleted in it: if
 * it comes new, the content tells, for its program may have a buffer of that size. */
static bool sees_marker(const culv_gl *gl, const culvi_gl_context *now)
{
    const culvi_gl_table *t = &gl->table;
    uint64_t found[2] = {0, 0};
    bool refused = false;
    if (now->platform != gl->platform || !t->glIsBuffer(gl->marker)) return false;
    const bool finds = finds_marker(gl, &refused);
    if (refused) (void)t->glGetError();
    if (!finds || atomic_load(&gl->context) == (uintptr_t)now->context) return finds;
    t->glGetNamedBufferSubData(gl->marker, 0, sizeof found, found);
    if (memcmp(found, gl->marked, sizeof found) != 0) return false;
    atomic_store(&((culv_gl *)gl)->context, (uintptr_t)now->context);
    return true;
}

bool culvi_gl_is_current(const culv_gl *gl)
{
    culvi_gl_context now = culvi_gl_current(&gl->windows);
    return !atomic_load(&gl->lost) && sees_marker(gl, &now);
}

culv_bool culv_gl_is_current(const culv_gl *gl)
{
    return gl != NULL && culvi_gl_is_current(gl);
}

void culvi_gl_take_error(const culv_gl *gl, const char *call)
{
    uint32_t error = gl->table.glGetError();
    if (error == CULVI_GL_NO_ERROR) return;
    culvi_gl_drop_errors(&gl->table);
    culvi_log(gl->voice, CULV_LOG_WARNING,
              "%s(): an earlier OpenGL call of the program left %s (%#x), which is gone now", call,
              culvi_gl_error_name(error), (unsigned)error);
}

static culv_result enter(const culv_gl *gl, const char *label, const char *call)
{
    culvi_gl_context now = culvi_gl_current(&gl->windows);
    CULVI_REFUSE_IF(
        atomic_load(&gl->lost), gl->voice, label, CULV_REASON_CONTEXT,
        "%s(): culv_gl_lose_contexts() said that the attachment's contexts are gone; attach the new one",
        call);
    CULVI_REFUSE_IF(
        now.context == NULL, gl->voice, label, CULV_REASON_CONTEXT,
        "%s(): no OpenGL context is current on this thread; make the attached one current, or one that shares objects with it",
        call);
    if (sees_marker(gl, &now)) return CULV_OK;
    const uintptr_t ours = atomic_load(&gl->context);
    CULVI_REFUSE_IF(
        (uintptr_t)now.context != ours, gl->voice, label, CULV_REASON_CONTEXT,
        "%s(): the %s context %p is current on this thread and shares no objects with %p, which is attached; make that one current, or create this one with it as its share context",
        call, platform_name(now.platform), now.context, (const void *)ours);
    return culvi_fail(
        gl->voice, label, CULV_ERROR_INVALID, CULV_REASON_CONTEXT,
        "%s(): the attached context was destroyed, and another one has its handle; call culv_gl_lose_contexts() and destroy what you made, then attach anew",
        call);
}

culv_result culvi_gl_enter_frame(const culv_gl *gl, const char *label, const char *call)
{
    bool refused = false;
    if (!atomic_load(&gl->lost) && finds_marker(gl, &refused)) return CULV_OK;
    if (refused && culvi_gl_current(&gl->windows).context != NULL) (void)gl->table.glGetError();
    return enter(gl, label, call);
}

culv_result culvi_gl_enter(const culv_gl *gl, const char *label, const char *call)
{
    CULVI_TRY(enter(gl, label, call));
    culvi_gl_take_error(gl, call);
    return CULV_OK;
}

culv_result culvi_gl_enter_to_destroy(const culv_gl *gl, const char *label, const char *call)
{
    return atomic_load(&gl->lost) ? CULV_OK : culvi_gl_enter(gl, label, call);
}

/* The marker: a small buffer with a content and a size that no other has. Two contexts that do not
 * share objects may both have a buffer of that name. */
culv_result culvi_gl_make_marker(culv_gl *gl)
{
    enum { LEAST = 4097, MOST = 8191 };
    static atomic_uintptr_t made;
    unsigned char bytes[MOST] = {0};
    const culvi_gl_table *t = &gl->table;
    /* The address: a program may have two of Culvert. */
    const uintptr_t number = (uintptr_t)&made / sizeof made + atomic_fetch_add(&made, 1);
    gl->marked_size = LEAST + 2 * (int64_t)(number % ((MOST - LEAST) / 2));
    gl->marked[0] = (uint64_t)(uintptr_t)gl ^ culvi_now();
    gl->marked[1] = number;
    memcpy(bytes, gl->marked, sizeof gl->marked);
    t->glCreateBuffers(1, &gl->marker);
    CULVI_TRY_OR(
        culvi_gl_check(gl, gl->base.label, "glCreateBuffers", "a small buffer could not be made"),
        gl->marker = 0);
    t->glNamedBufferStorage(gl->marker, (ptrdiff_t)gl->marked_size, bytes, 0);
    CULVI_TRY_OR(culvi_gl_check(gl, gl->base.label, "glNamedBufferStorage",
                                "a small buffer could not be made"),
                 (t->glDeleteBuffers(1, &gl->marker), gl->marker = 0));
    return CULV_OK;
}

void culvi_gl_delete_marker(culv_gl *gl)
{
    if (culvi_gl_is_current(gl)) gl->table.glDeleteBuffers(1, &gl->marker);
}

void culv_gl_lose_contexts(culv_gl *gl)
{
    if (gl == NULL) return;
    atomic_store(&gl->lost, true);
    culvi_graphics_lose(&gl->base);
}
