/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: which OpenGL context is current, and whose. */
#include "gl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define GL_MAJOR_VERSION              0x821b
#define GL_MINOR_VERSION              0x821c
#define GL_NUM_EXTENSIONS             0x821d
#define GL_EXTENSIONS                 0x1f03
#define GL_NUM_DEVICE_UUIDS_EXT       0x9596
#define GL_DEVICE_UUID_EXT            0x9597
#define GL_SYNC_GPU_COMMANDS_COMPLETE 0x9117

typedef void (*any_fn)(void);

/* A window system's library, once the program has loaded it. Guarded by the driver's lock. */
struct source {
    const char *library, *current, *proc;
    void *(*get_current)(void);
    any_fn (*get_proc)(const char *name);
    bool filled;
    struct soft_gl gl;
};
static struct source sources[] = {
    {.library = "libEGL.so.1", .current = "eglGetCurrentContext", .proc = "eglGetProcAddress"},
    {.library = "libGLX.so.0", .current = "glXGetCurrentContext", .proc = "glXGetProcAddressARB"},
    {.library = "libGL.so.1", .current = "glXGetCurrentContext", .proc = "glXGetProcAddressARB"},
};

static void find(void *library, const char *name, void *function, size_t size)
{
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, size);
}

/* Whether the program has the library, and a context of it is current on this thread. */
static bool is_current(struct source *source)
{
    if (source->get_current == NULL) {
        void *library = dlopen(source->library, RTLD_LAZY | RTLD_NOLOAD); /* kept */
        if (library == NULL) return false;
        find(library, source->proc, &source->get_proc, sizeof(source->get_proc));
        find(library, source->current, &source->get_current, sizeof(source->get_current));
        if (source->get_current == NULL || source->get_proc == NULL) {
            source->get_current = NULL;
            dlclose(library);
            return false;
        }
    }
    return source->get_current() != NULL;
}

static void fill(struct source *source)
{
    struct soft_gl *gl = &source->gl;
#define LOAD(name, result, parameters)                                                             \
    {                                                                                              \
        any_fn function = source->get_proc("gl" #name);                                            \
        memcpy(&gl->name, &function, sizeof(function));                                            \
    }
    SOFT_GL_PROCS(LOAD)
#undef LOAD
    source->filled = true;
}

static bool complete(const struct soft_gl *gl)
{
#define HAS(name, result, parameters) &&gl->name != NULL
    return true SOFT_GL_PROCS(HAS);
#undef HAS
}

CUresult soft_gl_current(const struct soft_gl **out)
{
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        if (!is_current(&sources[i])) continue;
        if (!sources[i].filled) fill(&sources[i]);
        const struct soft_gl *gl = &sources[i].gl;
        int major = 0, minor = 0;
        if (gl->GetIntegerv == NULL) return CUDA_ERROR_NOT_SUPPORTED;
        gl->GetIntegerv(GL_MAJOR_VERSION, &major);
        gl->GetIntegerv(GL_MINOR_VERSION, &minor);
        if (major * 10 + minor < 45 || !complete(gl)) return CUDA_ERROR_NOT_SUPPORTED;
        *out = gl;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_GRAPHICS_CONTEXT;
}

/* Without an error that the program would find. */
static bool has_extension(const struct soft_gl *gl, const char *name)
{
    int count = 0;
    gl->GetIntegerv(GL_NUM_EXTENSIONS, &count);
    for (int i = 0; i < count; i++) {
        const unsigned char *found = gl->GetStringi(GL_EXTENSIONS, (GLuint_)i);
        if (found != NULL && strcmp((const char *)found, name) == 0) return true;
    }
    return false;
}

CUresult soft_gl_device(const struct soft_gl *gl, int *device)
{
    if (!has_extension(gl, "GL_EXT_memory_object")) return CUDA_ERROR_OPERATING_SYSTEM;
    int count = 0;
    gl->GetIntegerv(GL_NUM_DEVICE_UUIDS_EXT, &count);
    for (int i = 0; i < count; i++) {
        uint8_t uuid[16] = {0};
        gl->GetUnsignedBytei_vEXT(GL_DEVICE_UUID_EXT, (GLuint_)i, uuid);
        for (int d = 0; d < soft.device_count; d++) {
            if (memcmp(soft.devices[d].uuid, uuid, sizeof(uuid)) != 0) continue;
            *device = d;
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_OPERATING_SYSTEM;
}

static void label_of(const struct soft_gl_group *group, char text[40])
{
    snprintf(text, 40, "culvert soft %llx", (unsigned long long)group->number);
}

/* A fence: unlike names of buffers and textures, it takes none that the program might choose. */
CUresult soft_gl_mark(const struct soft_gl *gl, struct soft_gl_group *group)
{
    char label[40];
    group->number = ++soft.next_id;
    group->sync = gl->FenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
    if (group->sync == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    label_of(group, label);
    gl->ObjectPtrLabel(group->sync, -1, label);
    return CUDA_SUCCESS;
}

bool soft_gl_in_group(const struct soft_gl *gl, const struct soft_gl_group *group)
{
    char label[40], found[40] = "";
    if (!gl->IsSync(group->sync)) return false;
    label_of(group, label);
    gl->GetObjectPtrLabel(group->sync, sizeof(found), NULL, found);
    return strcmp(label, found) == 0;
}

CUresult CUDAAPI cuGLGetDevices_v2(unsigned int *pCudaDeviceCount, CUdevice *pCudaDevices,
                                   unsigned int cudaDeviceCount, int deviceList)
{
    const struct soft_gl *gl;
    int device;
    SOFT_TRY(soft_begin("cuGLGetDevices_v2", SOFT_NEED_INIT, NULL));
    /* CU_GL_DEVICE_LIST_ALL, _CURRENT_FRAME, _NEXT_FRAME: one GPU renders all frames. */
    if (pCudaDeviceCount == NULL || deviceList < 1 || deviceList > 3 || pCudaDevices == NULL ||
        cudaDeviceCount == 0)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    result = soft_gl_current(&gl);
    if (result == CUDA_SUCCESS) result = soft_gl_device(gl, &device);
    /* cudaGL.h: a GPU of the context is none of CUDA's. */
    if (result == CUDA_ERROR_OPERATING_SYSTEM) result = CUDA_ERROR_NO_DEVICE;
    if (result != CUDA_SUCCESS) return soft_end(result);
    *pCudaDeviceCount = 1;
    pCudaDevices[0] = device;
    return soft_end(CUDA_SUCCESS);
}
