/* SPDX-License-Identifier: MIT */
/* culv_gl: the caller's context, attached. */
#include "base/alloc.h"
#include "base/desc.h"
#include "gl/gl_core.h"
#include "gl/gl_exporter.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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
    return culvi_fail_native(culvi_gl_voice(gl), label, result, reason, CULV_NATIVE_GL,
                             (int64_t)error, call, "%s: %s answered %s (%#x)", what, call,
                             culvi_gl_error_name(error), (unsigned)error);
}

culv_result culvi_gl_need(const culv_gl *gl, const char *label, culvi_gl_extension extension,
                          culvi_gl_extension form, const char *what)
{
    culvi_gl_extension lacks = gl->table.has[extension] ? form : extension;
    if (gl->table.has[lacks]) return CULV_OK;
    return culvi_fail(
        culvi_gl_voice(gl), label, CULV_ERROR_UNSUPPORTED, CULV_REASON_EXTENSION_MISSING,
        "the context of '%s' (%s) lacks %s, so %s; culv_gl_check_context() says what works",
        gl->base.name, gl->table.version, culvi_gl_extension_names[lacks], what);
}

/* The attachment ------------------------------------------------------------------------------- */

static culv_result check_context(const culv_gl *gl)
{
    const culvi_voice *voice = culvi_gl_voice(gl);
    const culvi_gl_table *t = &gl->table;
    const char *label = gl->base.label;
    if (t->glGetError == NULL || t->glGetString == NULL)
        return culvi_fail(
            voice, label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
            "culv_gl_desc.get_proc_address finds no glGetError; %s",
            gl->how.get_proc_address != NULL
                ? "pass your loader's function, or NULL"
                : "pass your loader's function, because Culvert found none by itself");
    if (t->es)
        return culvi_fail(voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_EXTENSION_MISSING,
                          "the context is OpenGL ES ('%s'); Culvert needs OpenGL 4.5, or "
                          "GL_ARB_direct_state_access",
                          t->version);
    const char *lacks = culvi_gl_lacks(t);
    if (lacks == NULL) return CULV_OK;
    return culvi_fail(voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_EXTENSION_MISSING,
                      "the context ('%s', %s) lacks %s; Culvert needs OpenGL 4.5, or "
                      "GL_ARB_direct_state_access",
                      t->version, t->renderer, lacks);
}

static culv_result identify(culv_gl *gl, const culvi_gl_context *now)
{
    culv_device *device = gl->base.device;
    culvi_gl_source source = {.windows = &gl->windows, .table = &gl->table, .context = *now};
    culvi_probe probe;
    culvi_gl_identify(&source, NULL);
    if (!source.has_uuid) { /* CUDA and EGL may know */
        culv_result result = culvi_probe_open(&device->voice, device->cuda->kind, &probe);
        if (result != CULV_OK) return result;
        culvi_gl_identify(&source, &probe);
        culvi_probe_close(&probe);
    }
    if (!source.has_uuid && gl->how.fallback == 0)
        return culvi_fail(
            &device->voice, gl->base.label, CULV_ERROR_UNSUPPORTED, CULV_REASON_EXTENSION_MISSING,
            "nothing tells which GPU the context of '%s' is: it lacks GL_EXT_memory_object, and CUDA "
            "does not know it; culv_gl_check_context() says what to do, or set culv_gl_desc.fallback for "
            "copies",
            gl->table.renderer);
    gl->base.uuid = source.uuid;
    gl->base.luid = gl->table.luid;
    gl->base.node_mask = gl->table.node_mask;
    snprintf(gl->base.name, sizeof gl->base.name, "%s", gl->table.renderer);
    return culvi_graphics_identify(&gl->base, gl->how.fallback, gl->how.allow_other_gpu != 0);
}

culv_result culv_gl_attach(culv_device *device, const culv_gl_desc *desc, culv_gl **out)
{
    culv_gl_desc d = culv_gl_desc_init();
    CULVI_REQUIRE(NULL, device);
    CULVI_REQUIRE(&device->voice, out);
    const culvi_voice *voice = &device->voice;
    culv_result result =
        desc != NULL ? culvi_desc_read(voice, &d, sizeof d, desc, "culv_gl_desc") : CULV_OK;
    if (result == CULV_OK)
        result = culvi_check_fallback(voice, d.label, "culv_gl_desc", d.fallback);
    if (result == CULV_OK) result = culvi_gl_exporter_check(device, &d);
    if (result != CULV_OK) return result;
    culv_gl *gl = culvi_alloc(sizeof *gl);
    if (gl == NULL) return culvi_fail_host_memory(voice, d.label);
    culvi_graphics_init(&gl->base, &culvi_gl_api, device, d.label);
    gl->how = d;
    gl->how.label = NULL;
    culvi_gl_windows_open(&gl->windows, d.get_proc_address);
    culvi_gl_context now = culvi_gl_current(&gl->windows);
    if (now.context == NULL) {
        result = culvi_fail(voice, d.label, CULV_ERROR_INVALID, CULV_REASON_CONTEXT,
                            "culv_gl_attach(): no OpenGL context is current on this thread; make "
                            "yours current first (eglMakeCurrent, glXMakeCurrent, wglMakeCurrent)");
        goto close_windows;
    }
    uint32_t pending = culvi_gl_table_load(&gl->table, &gl->windows, now.platform);
    if (pending != CULVI_GL_NO_ERROR)
        culvi_log(voice, CULV_LOG_WARNING,
                  "culv_gl_attach(): an earlier OpenGL call of the program left %s (%#x), which is "
                  "gone now",
                  culvi_gl_error_name(pending), (unsigned)pending);
    result = check_context(gl);
    if (result == CULV_OK) result = identify(gl, &now);
    if (result != CULV_OK) goto close_windows;
    if (!culvi_mutex_init(&gl->lock)) {
        result = culvi_fail_host_memory(voice, d.label);
        goto close_windows;
    }
    result = culvi_gl_make_marker(gl);
    if (result != CULV_OK) goto destroy_lock;
    gl->platform = now.platform;
    for (int i = 0; i < CULVI_GL_CONTEXTS; i++) {
        atomic_init(&gl->contexts[i].context, i == 0 ? (uintptr_t)now.context : 0);
        atomic_init(&gl->contexts[i].display, i == 0 ? (uintptr_t)now.display : 0);
    }
    culvi_gl_exporter_hold(gl);
    culvi_gl_keep_drivers(); /* those of the program's own VkInstance */
    culvi_graphics_attached(&gl->base);
    *out = gl;
    return CULV_OK;

destroy_lock:
    culvi_mutex_destroy(&gl->lock);
close_windows:
    culvi_gl_windows_close(&gl->windows);
    culvi_free(gl);
    return result;
}

/* The last reference may go on any thread. */
static void free_attachment(culvi_graphics *graphics)
{
    culv_gl *gl = culvi_gl_of(graphics);
    culvi_gl_delete_marker(gl);
    culvi_gl_exporter_free(gl);
    culvi_mutex_destroy(&gl->lock);
    culvi_gl_windows_close(&gl->windows);
    culvi_free(gl);
}

static culv_result attach_again(culvi_graphics *graphics, culv_device *device, culvi_graphics **out)
{
    const culv_gl *gl = culvi_gl_of(graphics);
    culv_gl_desc how = gl->how;
    culv_gl *again = NULL;
    how.vk = NULL; /* that is attached to the other device */
    culv_result result = culv_gl_attach(device, &how, &again);
    if (result == CULV_OK) *out = &again->base;
    return result;
}

void culv_gl_detach(culv_gl **gl)
{
    if (gl == NULL || *gl == NULL) return;
    culv_gl *mine = *gl;
    *gl = NULL;
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
    .cross = "set culv_gl_desc.allow_other_gpu to 1 and work on that GPU's buffers in place from "
             "this one, ",
    .open_call = "culv_device_open_for_gl",
    .memory_desc = "culv_gl_memory_desc",
    .memory_size = "size",
};

const culvi_graphics_api culvi_gl_api = {
    .words = &culvi_gl_words,
    .list = culvi_gl_list,
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
