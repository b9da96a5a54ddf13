/* SPDX-License-Identifier: MIT */
/* Contexts: which one is current on this thread, and where its functions come from. */
#ifndef CULVI_GL_CONTEXT_H_
#define CULVI_GL_CONTEXT_H_

#include "base/text.h"
#include "culvert/gl_device.h"
#include "gl/gl_numbers.h"

/* A context's platform and handle. */
typedef struct culvi_gl_context {
    culv_gl_platform platform;
    void *display;
    void *context; /* NULL: none is current */
} culvi_gl_context;

typedef struct culvi_gl_platform_calls {
    void *(CULVI_GLAPI *context)(void);
    void *(CULVI_GLAPI *display)(void); /* WGL has none */
    void *(CULVI_GLAPI *get_proc)(const char *name);
} culvi_gl_platform_calls;

/* EGL, GLX and WGL, as far as the program has them loaded. */
typedef struct culvi_gl_windows {
    culv_gl_get_proc caller;       /* culv_gl_desc::get_proc_address */
    void *modules[4];              /* as CULVI_GL_MODULE_... below; NULL: not loaded */
    culvi_gl_platform_calls of[4]; /* by culv_gl_platform */
} culvi_gl_windows;

enum { CULVI_GL_MODULE_EGL, CULVI_GL_MODULE_GLX, CULVI_GL_MODULE_GL, CULVI_GL_MODULE_WGL };

void culvi_gl_windows_open(culvi_gl_windows *windows, culv_gl_get_proc caller);
void culvi_gl_windows_close(culvi_gl_windows *windows);
/* What is loaded of NVIDIA stays loaded: called while a VkInstance is there. */
void culvi_gl_keep_drivers(void);

/* Extensions that Culvert looks for, in the order of culvi_gl_extension_names. */
typedef enum culvi_gl_extension {
    CULVI_GL_DIRECT_STATE_ACCESS,
    CULVI_GL_MEMORY_OBJECT,
    CULVI_GL_MEMORY_OBJECT_HANDLE, /* _fd or _win32 */
    CULVI_GL_SEMAPHORE,
    CULVI_GL_SEMAPHORE_HANDLE,
    CULVI_GL_TIMELINE_SEMAPHORE,
    CULVI_GL_EXTENSIONS
} culvi_gl_extension;
extern const char *const culvi_gl_extension_names[CULVI_GL_EXTENSIONS];

/* The functions, and what the context says of itself. */
typedef struct culvi_gl_table {
#define CULV_GL(name, need, result, arguments) result(CULVI_GLAPI *name) arguments;
#include "gl/gl_procs.h"
#undef CULV_GL
    const char *missing; /* the first REQUIRED function that is missing; NULL: none */
    int32_t major, minor;
    bool es;     /* OpenGL ES */
    bool nvidia; /* NVIDIA's driver */
    bool software;
    bool has[CULVI_GL_EXTENSIONS];
    char vendor[128], renderer[256], version[128];
    uint32_t num_gpus;
    bool has_uuid; /* by OpenGL, or else by CUDA: culvi_gl_identify() */
    culv_uuid uuid, driver_uuid;
    bool has_luid;
    culv_luid luid;
    uint32_t node_mask;
} culvi_gl_table;

/* Loads the functions of a context that is current, and asks it. An error that the program left is
 * taken and returned: 0, or a GLenum. */
uint32_t culvi_gl_table_load(culvi_gl_table *table, const culvi_gl_windows *windows,
                             culv_gl_platform platform);

/* What culv_gl_attach() misses in a context, which nothing of Culvert works with then; NULL: it has
 * all. */
const char *culvi_gl_lacks(const culvi_gl_table *table);

culvi_gl_context culvi_gl_current(const culvi_gl_windows *windows);

/* Each flag of a driver's is an error of its own; a lost context never runs out of them. */
static inline void culvi_gl_drop_errors(const culvi_gl_table *t)
{
    for (int i = 0; i < 8 && t->glGetError() != CULVI_GL_NO_ERROR; i++) {
    }
}

/* "GL_OUT_OF_MEMORY" */
const char *culvi_gl_error_name(uint32_t error);

#endif
