/* SPDX-License-Identifier: MIT */
/* culv_gl: the caller's context, attached; which CUDA device draws it. */
#include "gl/gl_object.h"
#include "graphics/match.h"

#include <stdio.h>

/* Errors --------------------------------------------------------------------------------------- */

culv_result culvi_gl_check_error(const culv_gl *gl, const char *label, const char *call,
                                 culv_reason reason, const char *format, ...)
{
    const uint32_t error = gl->table.glGetError();
    char what[768];
    culv_result result = CULV_ERROR_DRIVER;
    va_list args;
    if (error == CULVI_GL_NO_ERROR) return CULV_OK;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (error == CULVI_GL_OUT_OF_MEMORY) {
        result = CULV_ERROR_OUT_OF_MEMORY;
        reason = CULV_REASON_DEVICE_MEMORY;
    } else if (error == CULVI_GL_CONTEXT_LOST) {
        result = CULV_ERROR_ASYNC;
        reason = CULV_REASON_DEVICE_LOST;
    }
    return culvi_fail_native(gl->voice, label, result, reason, CULV_NATIVE_GL, (int64_t)error, call,
                             "%s: %s answered %s (%#x)", what, call, culvi_gl_error_name(error),
                             (unsigned)error);
}

culv_result culvi_gl_need(const culv_gl *gl, const char *label, culvi_gl_extension extension,
                          culvi_gl_extension form, const char *what)
{
    culvi_gl_extension lacks = gl->table.has[extension] ? form : extension;
    if (gl->table.has[lacks]) return CULV_OK;
    return culvi_fail(
        gl->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_EXTENSION_MISSING,
        "the context of '%s' (%s) lacks %s, so %s; culv_gl_check_context() says what works",
        gl->base.name, gl->table.version, culvi_gl_extension_names[lacks], what);
}

/* Which CUDA device draws a context ------------------------------------------------------------ */

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

void culvi_gl_identify(culvi_gl_table *t, const culvi_probe *probe)
{
    for (uint32_t i = 0; i < probe->num_devices && !t->has_uuid; i++) {
        const culvi_cuda_device *d = &probe->devices[i];
        (void)culvi_gl_cuda_devices(d->cuda, 1, (int32_t)d->ordinal, &t->has_uuid);
        if (t->has_uuid) t->uuid = d->uuid;
    }
}

static culv_result find_gpu(const culvi_voice *voice, culv_driver driver, culvi_gl_table *t)
{
    culvi_probe probe;
    if (t->has_uuid) return CULV_OK;
    CULVI_TRY(culvi_probe_open(voice, driver, &probe));
    culvi_gl_identify(t, &probe);
    culvi_probe_close(&probe);
    return CULV_OK;
}

/* The attachment ------------------------------------------------------------------------------- */

static culv_result check_context(const culv_gl *gl)
{
    const culvi_gl_table *t = &gl->table;
    const char *label = gl->base.label;
    CULVI_REFUSE_IF(t->glGetError == NULL || t->glGetString == NULL, gl->voice, label,
                    CULV_REASON_VALUE, "culv_gl_desc.get_proc_address finds no glGetError; %s",
                    gl->how.get_proc_address != NULL
                        ? "pass your loader's function, or NULL"
                        : "pass your loader's function, because Culvert found none by itself");
    CULVI_UNSUPPORTED_IF(
        t->es, gl->voice, label, CULV_REASON_EXTENSION_MISSING,
        "the context is OpenGL ES ('%s'); Culvert needs OpenGL 4.5, or GL_ARB_direct_state_access",
        t->version);
    const char *lacks = culvi_gl_lacks(t);
    if (lacks == NULL) return CULV_OK;
    return culvi_fail(
        gl->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_EXTENSION_MISSING,
        "the context ('%s', %s) lacks %s; Culvert needs OpenGL 4.5, or GL_ARB_direct_state_access",
        t->version, t->renderer, lacks);
}

static culv_result identify(culv_gl *gl)
{
    culv_device *device = gl->base.device;
    CULVI_TRY(find_gpu(&device->voice, device->cuda->kind, &gl->table));
    CULVI_UNSUPPORTED_IF(
        !gl->table.has_uuid && gl->how.fallback == 0, &device->voice, gl->base.label,
        CULV_REASON_EXTENSION_MISSING,
        "nothing tells which GPU the context of '%s' is: it lacks GL_EXT_memory_object, and CUDA does not know it; culv_gl_check_context() says what to do, or set culv_gl_desc.fallback for copies",
        gl->table.renderer);
    if (gl->table.has_uuid) gl->base.uuid = gl->table.uuid;
    gl->base.luid = gl->table.luid;
    gl->base.node_mask = gl->table.node_mask;
    snprintf(gl->base.name, sizeof gl->base.name, "%s", gl->table.renderer);
    return culvi_graphics_identify(&gl->base, gl->how.fallback, gl->how.allow_other_gpu != 0);
}

/* What is current on this thread becomes the attachment's. */
static culv_result take_context(culv_gl *gl)
{
    const culvi_gl_context now = culvi_gl_current(&gl->windows);
    CULVI_REFUSE_IF(
        now.context == NULL, gl->voice, gl->base.label, CULV_REASON_CONTEXT,
        "culv_gl_attach(): no OpenGL context is current on this thread; make yours current first (eglMakeCurrent, glXMakeCurrent, wglMakeCurrent)");
    uint32_t pending = culvi_gl_table_load(&gl->table, &gl->windows, now.platform);
    if (pending != CULVI_GL_NO_ERROR)
        culvi_log(
            gl->voice, CULV_LOG_WARNING,
            "culv_gl_attach(): an earlier OpenGL call of the program left %s (%#x), which is gone now",
            culvi_gl_error_name(pending), (unsigned)pending);
    CULVI_TRY(check_context(gl));
    CULVI_TRY(identify(gl));
    gl->platform = now.platform;
    atomic_init(&gl->context, (uintptr_t)now.context);
    return culvi_gl_make_marker(gl);
}

static void release(culv_gl *gl)
{
    culvi_mutex_destroy(&gl->lock);
    culvi_gl_windows_close(&gl->windows);
    culvi_free(gl);
}

culv_result culv_gl_attach(culv_device *device, const culv_gl_desc *desc, culv_gl **out)
{
    CULVI_REQUIRE_WITH(device, &device->voice, out);
    CULVI_READ(&device->voice, culv_gl_desc, d, desc);
    CULVI_TRY(culvi_check_fallback(&device->voice, d.label, "culv_gl_desc", d.fallback));
    CULVI_TRY(culvi_gl_exporter_check(device, &d));
    CULVI_NEW(culv_gl, gl, &device->voice, d.label);
    culvi_graphics_init(&gl->base, &culvi_gl_api, device, d.label);
    gl->voice = &device->voice;
    gl->how = d;
    gl->how.label = NULL;
    culvi_mutex_init(&gl->lock);
    culvi_gl_windows_open(&gl->windows, d.get_proc_address);
    CULVI_TRY_OR(take_context(gl), release(gl));
    culvi_gl_exporter_hold(gl);
    culvi_gl_keep_drivers(); /* those of the program's own VkInstance */
    culvi_graphics_attached(&gl->base);
    *out = gl;
    return CULV_OK;
}

/* The last reference may go on any thread. */
static void free_attachment(culvi_graphics *graphics)
{
    culv_gl *gl = culvi_gl_of(graphics);
    culvi_gl_delete_marker(gl);
    culvi_gl_exporter_free(gl);
    release(gl);
}

static culv_result attach_again(culvi_graphics *graphics, culv_device *device, culvi_graphics **out)
{
    const culv_gl *gl = culvi_gl_of(graphics);
    culv_gl_desc how = gl->how;
    culv_gl *again = NULL;
    how.vk = NULL; /* that is attached to the other device */
    CULVI_TRY(culv_gl_attach(device, &how, &again));
    *out = &again->base;
    return CULV_OK;
}

void culv_gl_detach(culv_gl **gl)
{
    CULVI_TAKE(culv_gl, mine, gl);
    culvi_graphics_unref(&mine->base);
}

static culv_result may_unmake(culvi_graphics *graphics, const char *label, const char *call)
{
    return culvi_gl_enter_to_destroy(culvi_gl_of(graphics), label, call);
}

static culv_result check_exports(const culvi_graphics *graphics, const char *label, bool semaphores)
{
    /* Semaphores may be waited for on the CPU. */
    if (semaphores) return CULV_OK;
    return culvi_gl_need(culvi_gl_of(graphics), label, CULVI_GL_MEMORY_OBJECT,
                         CULVI_GL_MEMORY_OBJECT_HANDLE, "nothing of it can be shared");
}

static culvi_adapter adapter_of(const culvi_gl_table *t)
{
    culvi_adapter a = {.uuid = t->uuid,
                       .luid = t->luid,
                       .node_mask = t->node_mask,
                       .software = t->software,
                       .nvidia = t->nvidia};
    snprintf(a.name, sizeof a.name, "%s", t->renderer);
    return a;
}

const culvi_words culvi_gl_words = {
    .api = CULV_NATIVE_GL,
    .name = "OpenGL",
    .physical_device = "OpenGL context's GPU",
    .memory = "GL memory object",
    .semaphore = "GL semaphore",
    .size = "the size of the whole allocation",
    .dedicated = "GL_DEDICATED_MEMORY_OBJECT_EXT",
    .buffer_offset = "offset of glNamedBufferStorageMemEXT",
    .image_offset = "offset of glTextureStorageMem2DEXT",
    .plane_offset = "which OpenGL has none of",
    .map_rows = "a linear one as a buffer",
    .read_call = "vkGetSemaphoreCounterValue",
    .wait_call = "vkWaitSemaphores",
    .signal_call = "vkSignalSemaphore",
    .attach_desc = "culv_gl_desc",
    .cross =
        "set culv_gl_desc.allow_other_gpu to 1 and work on that GPU's buffers in place from this one, ",
    .open_call = "culv_device_open_for_gl",
    .memory_desc = "culv_gl_memory_desc",
    .memory_size = "size",
};

const culvi_graphics_api culvi_gl_api = {
    .words = &culvi_gl_words,
    .free = free_attachment,
    .attach_again = attach_again,
    .check_exports = check_exports,
    .export_memory = culvi_gl_export_memory,
    .export_semaphore = culvi_gl_export_semaphore,
    .plan = culvi_gl_plan,
    .make = culvi_gl_make,
    .unmake = culvi_gl_unmake,
    .may_unmake = may_unmake,
    .stage = culvi_gl_stage,
    .make_semaphore = culvi_gl_make_semaphore,
    .unmake_semaphore = culvi_gl_unmake_semaphore,
    .check_timelines = culvi_gl_check_timelines,
    .timeline_value = culvi_gl_timeline_value,
    .timeline_wait = culvi_gl_timeline_wait,
    .waits_late = true, /* the exporter's is Vulkan's */
    .overtaken = true,
    .timeline_signal = culvi_gl_timeline_signal,
    .fail = culvi_gl_fail_timeline,
};

static culv_result find_device(const culvi_voice *voice, culvi_gl_table *t,
                               const culv_device_desc *d)
{
    CULVI_UNSUPPORTED_IF(
        t->glGetError == NULL || t->missing != NULL, voice, d->label, CULV_REASON_EXTENSION_MISSING,
        "the context lacks %s; Culvert needs OpenGL 4.5, or GL_ARB_direct_state_access",
        t->missing != NULL ? t->missing : "glGetError");
    CULVI_TRY(find_gpu(voice, d->driver, t));
    if (t->has_uuid) return CULV_OK;
    return culvi_fail(
        voice, d->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_EXTENSION_MISSING,
        "nothing tells which GPU the context of '%s' is: it lacks GL_EXT_memory_object, and CUDA does not know it; culv_gl_check_context() says what to do",
        t->renderer);
}

culv_result culv_device_open_for_gl(const culv_gl_desc *desc, const culv_device_desc *device_desc,
                                    culv_device **out)
{
    culvi_voice voice;
    culvi_gl_windows windows;
    culv_result result = CULV_OK;
    CULVI_REQUIRE(NULL, out);
    CULVI_READ(NULL, culv_gl_desc, g, desc);
    CULVI_READ(NULL, culv_device_desc, d, device_desc);
    culvi_voice_init(&voice, &d.log, d.label);
    CULVI_NEW(culvi_gl_table, table, &voice, d.label);
    culvi_gl_windows_open(&windows, g.get_proc_address);
    const culvi_gl_context now = culvi_gl_current(&windows);
    if (now.context == NULL) {
        result = culvi_fail(
            &voice, d.label, CULV_ERROR_INVALID, CULV_REASON_CONTEXT,
            "culv_device_open_for_gl(): no OpenGL context is current on this thread; make yours current first");
    } else {
        (void)culvi_gl_table_load(table, &windows, now.platform);
        result = find_device(&voice, table, &d);
        if (result == CULV_OK) {
            culvi_adapter adapter = adapter_of(table);
            result = culvi_match_open(&culvi_gl_words, &adapter, &d, out);
        }
    }
    culvi_gl_windows_close(&windows);
    culvi_free(table);
    return result;
}
