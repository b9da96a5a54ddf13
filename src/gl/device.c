/* SPDX-License-Identifier: MIT */
/* Which CUDA device draws a context. */
#include "base/alloc.h"
#include "base/desc.h"
#include "gl/gl_core.h"
#include "graphics/match.h"

#include <stdio.h>
#include <string.h>

enum {
    EGL_DEVICE = 0x322C,
    EGL_CUDA_DEVICE = 0x323A
}; /* EGL_EXT_device_query, EGL_NV_device_cuda */

uint32_t culvi_gl_cuda_devices(const culvi_cuda *cuda, unsigned which, int32_t ordinal, bool *has)
{
    CUresult(CUDAAPI * get)(unsigned *count, CUdevice *devices, unsigned size, unsigned list);
    void (*found)(void) = culvi_cuda_proc(cuda, "cuGLGetDevices", 6050);
    enum { MOST = 256 };
    CUdevice devices[MOST];
    unsigned count = 0;
    uint32_t bits = 0;
    *has = false;
    if (found == NULL) return 0;
    memcpy(&get, &found, sizeof get);
    if (get(&count, devices, MOST, which) != CUDA_SUCCESS) return 0;
    for (unsigned i = 0; i < count && i < MOST; i++) {
        if (devices[i] == ordinal) *has = true;
        if (devices[i] >= 0 && devices[i] < 32) bits |= UINT32_C(1) << devices[i];
    }
    return bits;
}

/* EGL_NV_device_cuda: the CUDA ordinal of the context's EGL device. -1: it does not tell. */
static int32_t egl_ordinal(const culvi_gl_source *s)
{
    unsigned(CULVI_GLAPI * of_display)(void *display, int attribute, intptr_t *out);
    unsigned(CULVI_GLAPI * of_device)(void *device, int attribute, intptr_t *out);
    intptr_t device = 0, ordinal = -1;
    if (s->context.platform != CULV_GL_PLATFORM_EGL || s->windows->egl_get_proc == NULL) return -1;
    void *found = s->windows->egl_get_proc("eglQueryDisplayAttribEXT");
    if (found == NULL) return -1;
    memcpy(&of_display, &found, sizeof of_display);
    found = s->windows->egl_get_proc("eglQueryDeviceAttribEXT");
    if (found == NULL) return -1;
    memcpy(&of_device, &found, sizeof of_device);
    if (!of_display(s->context.display, EGL_DEVICE, &device) || device == 0) return -1;
    if (!of_device((void *)device, EGL_CUDA_DEVICE, &ordinal)) return -1;
    return (int32_t)ordinal;
}

void culvi_gl_identify(culvi_gl_source *s, const culvi_probe *probe)
{
    if (s->table->has_uuid) {
        s->uuid = s->table->uuid;
        s->has_uuid = true;
        return;
    }
    if (probe == NULL) return;
    for (uint32_t i = 0; i < probe->num_devices && !s->has_uuid; i++) {
        const culvi_cuda_device *d = &probe->devices[i];
        bool egl = d->cuda->kind == CULV_DRIVER_NVIDIA && egl_ordinal(s) == (int32_t)d->ordinal;
        bool drawn_on = false;
        if (!egl) (void)culvi_gl_cuda_devices(d->cuda, 1, (int32_t)d->ordinal, &drawn_on);
        if (!egl && !drawn_on) continue;
        s->uuid = d->uuid;
        s->has_uuid = true;
    }
}

static culvi_adapter adapter_of(const culvi_gl_source *s)
{
    culvi_adapter a = {.native = s->context.context,
                       .uuid = s->uuid,
                       .luid = s->table->luid,
                       .node_mask = s->table->node_mask,
                       .software = s->table->software,
                       .nvidia = s->table->nvidia,
                       .cause = NULL};
    snprintf(a.name, sizeof a.name, "%s", s->table->renderer);
    return a;
}

/* A context is one device's: there is no list of others to ask for. */
culv_result culvi_gl_list(const void *source, const culvi_voice *voice, uint32_t *count,
                          culvi_adapter **out)
{
    culvi_adapter *one = culvi_alloc(sizeof *one);
    if (one == NULL) return culvi_fail_host_memory(voice, NULL);
    *one = adapter_of(source);
    *count = 1;
    *out = one;
    return CULV_OK;
}

static culv_result find_device(const culvi_voice *voice, culvi_gl_source *source,
                               const culv_device_desc *d)
{
    culvi_probe probe;
    culv_result result = CULV_OK;
    if (source->table->glGetError == NULL || source->table->missing != NULL)
        return culvi_fail(voice, d->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_EXTENSION_MISSING,
                          "the context lacks %s; Culvert needs OpenGL 4.5, or "
                          "GL_ARB_direct_state_access",
                          source->table->missing != NULL ? source->table->missing : "glGetError");
    culvi_gl_identify(source, NULL);
    if (source->has_uuid) return CULV_OK;
    result = culvi_probe_open(voice, d->driver, &probe);
    if (result != CULV_OK) return result;
    culvi_gl_identify(source, &probe);
    culvi_probe_close(&probe);
    if (source->has_uuid) return CULV_OK;
    return culvi_fail(
        voice, d->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_EXTENSION_MISSING,
        "nothing tells which GPU the context of '%s' is: it lacks "
        "GL_EXT_memory_object, and CUDA does not know it; culv_gl_check_context() says what "
        "to do",
        source->table->renderer);
}

culv_result culv_device_open_for_gl(const culv_gl_desc *desc, const culv_device_desc *device_desc,
                                    culv_device **out)
{
    culv_gl_desc g = culv_gl_desc_init();
    culv_device_desc d = culv_device_desc_init();
    culvi_voice voice;
    culvi_gl_windows windows;
    culv_result result = CULV_OK;
    CULVI_REQUIRE(NULL, out);
    if (desc != NULL) result = culvi_desc_read(NULL, &g, sizeof g, desc, "culv_gl_desc");
    if (result == CULV_OK && device_desc != NULL)
        result = culvi_desc_read(NULL, &d, sizeof d, device_desc, "culv_device_desc");
    if (result != CULV_OK) return result;
    culvi_voice_init(&voice, &d.log, d.label);
    culvi_gl_table *table = culvi_alloc(sizeof *table);
    if (table == NULL) return culvi_fail_host_memory(&voice, d.label);
    culvi_gl_windows_open(&windows, g.get_proc_address);
    culvi_gl_source source = {.windows = &windows, .table = table};
    source.context = culvi_gl_current(&windows);
    if (source.context.context == NULL) {
        result = culvi_fail(&voice, d.label, CULV_ERROR_INVALID, CULV_REASON_CONTEXT,
                            "culv_device_open_for_gl(): no OpenGL context is current on this "
                            "thread; make yours current first");
    } else {
        (void)culvi_gl_table_load(table, &windows, source.context.platform);
        result = find_device(&voice, &source, &d);
        if (result == CULV_OK) {
            culvi_adapter adapter = adapter_of(&source);
            result = culvi_match_open(&culvi_gl_api, &source, &adapter, &d, out);
        }
    }
    culvi_gl_windows_close(&windows);
    culvi_free(table);
    return result;
}
