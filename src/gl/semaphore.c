/* SPDX-License-Identifier: MIT */
/* Semaphores that Vulkan makes, and that OpenGL and CUDA import. Where OpenGL imports none, its
 * half is played on the CPU: the host waits for the timeline, or signals it after glFinish(). */
#include "core/semaphore.h"
#include "gl/gl_object.h"

/* culvi_semaphore_pair::native: a pointer to this. */
typedef struct gl_sync {
    culvi_graphics *exporter;
    uint64_t semaphore; /* the exporter's */
    uint32_t name;      /* OpenGL's; 0: on the CPU */
    uint64_t last;      /* a timeline's value that OpenGL signaled last */
} gl_sync;

static gl_sync *sync_of(uint64_t native)
{
    return (gl_sync *)(uintptr_t)native;
}

/* Making --------------------------------------------------------------------------------------- */

static culv_result import_sync(const culv_gl *gl, const culvi_semaphore_plan *plan,
                               const culv_handle *handle, uint32_t *out)
{
    const culvi_gl_table *t = &gl->table;
    const uint32_t type = culvi_handle_number(handle->type, CULVI_USE_GL);
    const int32_t timeline = CULVI_GL_SEMAPHORE_TYPE_TIMELINE_NV;
    culvi_duplicate lent;
    uint32_t name = 0;
    const bool is_timeline = plan->type == CULV_SEMAPHORE_TIMELINE;
    /* A name of glGenSemaphoresEXT() is no object before its import, and NVIDIA's driver sets no
     * type of such a name (GL_INVALID_VALUE, "Not a semaphore"; measured with 580). */
    if (is_timeline)
        t->glCreateSemaphoresNV(1, &name);
    else
        t->glGenSemaphoresEXT(1, &name);
    CULVI_TRY(culvi_gl_check(gl, plan->label,
                             is_timeline ? "glCreateSemaphoresNV" : "glGenSemaphoresEXT",
                             "a semaphore could not be made"));
    if (is_timeline) {
        t->glSemaphoreParameterivNV(name, CULVI_GL_SEMAPHORE_TYPE_NV, &timeline);
        CULVI_TRY_OR(culvi_gl_check(gl, plan->label, "glSemaphoreParameterivNV",
                                    "the semaphore could not be made a timeline"),
                     t->glDeleteSemaphoresEXT(1, &name));
    }
    CULVI_TRY_OR(culvi_handle_lend_for(gl->voice, plan->label, handle, NULL, &lent),
                 t->glDeleteSemaphoresEXT(1, &name));
#ifdef _WIN32
    t->glImportSemaphoreWin32HandleEXT(name, type, lent.handle.value.win32);
    const char *call = "glImportSemaphoreWin32HandleEXT";
#else
    t->glImportSemaphoreFdEXT(name, type, lent.handle.value.fd);
    const char *call = "glImportSemaphoreFdEXT";
#endif
    culv_result result = culvi_gl_check_error(gl, plan->label, call, CULV_REASON_HANDLE_REFUSED,
                                              "OpenGL did not import the semaphore");
    culvi_handle_lent_done(&lent, handle, result == CULV_OK);
    CULVI_TRY_OR(result, t->glDeleteSemaphoresEXT(1, &name));
    *out = name;
    return CULV_OK;
}

static bool imports(const culv_gl *gl, culv_semaphore_type type)
{
    const bool *has = gl->table.has;
    return has[CULVI_GL_SEMAPHORE] && has[CULVI_GL_SEMAPHORE_HANDLE] &&
           gl->table.glGenSemaphoresEXT != NULL &&
           (type == CULV_SEMAPHORE_BINARY ||
            (has[CULVI_GL_TIMELINE_SEMAPHORE] && gl->table.glCreateSemaphoresNV != NULL &&
             gl->table.glSemaphoreParameterivNV != NULL &&
             gl->table.glSemaphoreParameterui64vEXT != NULL));
}

culv_result culvi_gl_make_semaphore(culvi_graphics *graphics, const culvi_semaphore_plan *plan,
                                    bool exportable, uint64_t *out)
{
    culv_gl *gl = culvi_gl_of(graphics);
    culvi_graphics *vk = NULL;
    culv_handle handle;
    /* NVIDIA's OpenGL does not wait for what another GPU signals (measured with 580): it read
     * memory that CUDA still wrote. Vulkan's queue waits for the same semaphore. */
    const bool imported = exportable && !gl->base.across && imports(gl, plan->type);
    CULVI_UNSUPPORTED_IF(
        plan->type == CULV_SEMAPHORE_BINARY && gl->base.across, gl->voice, plan->label,
        CULV_REASON_DEVICE_MISMATCH,
        "OpenGL does not wait for a binary semaphore that another GPU signals; use a timeline, for which the CPU waits");
    if (plan->type == CULV_SEMAPHORE_BINARY && !imported)
        CULVI_TRY(culvi_gl_need(
            gl, plan->label, CULVI_GL_SEMAPHORE, CULVI_GL_SEMAPHORE_HANDLE,
            "it has no binary semaphores; use a timeline, for which the CPU waits there"));
    CULVI_TRY(culvi_gl_exporter_get(gl, plan->label, &vk));
    if (exportable) CULVI_TRY(culvi_graphics_check_shares(vk, plan->label, CULVI_SHARE_SEMAPHORES));
    if (!imported) CULVI_TRY(vk->api->check_timelines(vk, plan->label, CULVI_HOST_SIGNALS));
    CULVI_NEW(gl_sync, sync, gl->voice, plan->label);
    sync->exporter = vk;
    sync->last = plan->initial_value;
    CULVI_TRY_OR(vk->api->make_semaphore(vk, plan, exportable, &sync->semaphore), culvi_free(sync));
    culv_result result = CULV_OK;
    if (imported) {
        result = vk->api->export_semaphore(vk, plan->label, sync->semaphore, &handle);
        if (result == CULV_OK) {
            result = import_sync(gl, plan, &handle, &sync->name);
            culvi_handle_close(&handle);
        }
    }
    CULVI_TRY_OR(result, culvi_gl_unmake_semaphore(graphics, (uint64_t)(uintptr_t)sync));
    *out = (uint64_t)(uintptr_t)sync;
    return CULV_OK;
}

/* On the HOST path it may run on any thread, but there OpenGL has no part in it. */
void culvi_gl_unmake_semaphore(culvi_graphics *graphics, uint64_t semaphore)
{
    const culv_gl *gl = culvi_gl_of(graphics);
    gl_sync *sync = sync_of(semaphore);
    if (sync->name != 0 && culvi_gl_is_current(gl)) gl->table.glDeleteSemaphoresEXT(1, &sync->name);
    sync->exporter->api->unmake_semaphore(sync->exporter, sync->semaphore);
    culvi_free(sync);
}

culv_result culvi_gl_export_semaphore(const culvi_graphics *graphics, const char *label,
                                      uint64_t semaphore, culv_handle *out)
{
    const gl_sync *sync = sync_of(semaphore);
    (void)graphics;
    return sync->exporter->api->export_semaphore(sync->exporter, label, sync->semaphore, out);
}

culv_result culvi_gl_check_timelines(const culvi_graphics *graphics, const char *label,
                                     culvi_host_use use)
{
    culvi_graphics *vk = NULL;
    CULVI_TRY(culvi_gl_exporter_get(culvi_gl_of(graphics), label, &vk));
    return vk->api->check_timelines(vk, label, use);
}

/* Host functions call it too, so it takes no lock. */
int culvi_gl_timeline_value(const culvi_graphics *graphics, uint64_t semaphore, uint64_t *out)
{
    const gl_sync *sync = sync_of(semaphore);
    (void)graphics;
    return sync->exporter->api->timeline_value(sync->exporter, sync->semaphore, out);
}

int culvi_gl_timeline_wait(const culvi_graphics *graphics, uint64_t semaphore, uint64_t value,
                           uint64_t timeout_ns)
{
    const gl_sync *sync = sync_of(semaphore);
    (void)graphics;
    return sync->exporter->api->timeline_wait(sync->exporter, sync->semaphore, value, timeout_ns);
}

int culvi_gl_timeline_signal(const culvi_graphics *graphics, uint64_t semaphore, uint64_t value)
{
    const gl_sync *sync = sync_of(semaphore);
    (void)graphics;
    return sync->exporter->api->timeline_signal(sync->exporter, sync->semaphore, value);
}

culv_result culvi_gl_fail_timeline(const culvi_graphics *graphics, const char *label, int code,
                                   const char *call, const char *what)
{
    culvi_graphics *vk = NULL;
    CULVI_TRY(culvi_gl_exporter_get(culvi_gl_of(graphics), label, &vk));
    return vk->api->fail(vk, label, code, call, what);
}

/* The calls ------------------------------------------------------------------------------------ */

culv_result culv_gl_semaphore_create(culv_gl *gl, const culv_gl_semaphore_create_desc *desc,
                                     culv_shared_semaphore **out)
{
    CULVI_REQUIRE_WITH(gl, gl->voice, out);
    CULVI_READ(gl->voice, culv_gl_semaphore_create_desc, d, desc);
    CULVI_TRY(culvi_gl_enter(gl, d.label, __func__));
    culvi_semaphore_plan plan = {.label = d.label,
                                 .desc_name = "culv_gl_semaphore_create_desc",
                                 .fallback = d.fallback,
                                 .type = d.type,
                                 .initial_value = d.initial_value,
                                 .untracked = d.untracked != 0};
    return culvi_shared_semaphore_create(&gl->base, &plan, out);
}

static uint32_t name_of(const culv_shared_semaphore *semaphore)
{
    const uint64_t half = culvi_semaphore_half(semaphore, &culvi_gl_api);
    return half != 0 ? sync_of(half)->name : 0;
}

bool culvi_gl_semaphore_waits_on_host(const culv_shared_semaphore *semaphore)
{
    const uint64_t half = culvi_semaphore_half(semaphore, &culvi_gl_api);
    return half != 0 && sync_of(half)->name == 0;
}

/* Signals and waits ---------------------------------------------------------------------------- */

enum { GENERAL_LAYOUTS = 64 };

static culv_result read_uses(const culv_shared_semaphore *s, const culv_gl_uses *uses,
                             culv_gl_uses *out)
{
    const char *label = s->pair.cuda->label;
    const culvi_voice *voice = &s->pair.graphics->device->voice;
    *out = culv_gl_uses_init();
    if (uses == NULL) return CULV_OK;
    CULVI_TRY(culvi_desc_read(voice, out, sizeof *out, uses, "culv_gl_uses"));
    CULVI_REFUSE_IF((out->num_buffers != 0 && out->buffers == NULL) ||
                        (out->num_textures != 0 && out->textures == NULL),
                    voice, label, CULV_REASON_NULL_ARGUMENT,
                    "culv_gl_uses.%s is NULL, but its number is not 0",
                    out->num_buffers != 0 && out->buffers == NULL ? "buffers" : "textures");
    CULVI_REFUSE_IF(out->layouts == NULL && out->num_textures > GENERAL_LAYOUTS, voice, label,
                    CULV_REASON_VALUE,
                    "culv_gl_uses.layouts is NULL for %" PRIu32
                    " textures; that is for %d at most, so say GL_LAYOUT_GENERAL_EXT for each",
                    out->num_textures, (int)GENERAL_LAYOUTS);
    return CULV_OK;
}

static culv_result check_value(const culv_shared_semaphore *s, uint64_t value, const char *call)
{
    if (s->pair.cuda->type == CULV_SEMAPHORE_TIMELINE || value == 0) return CULV_OK;
    return culvi_fail(&s->pair.graphics->device->voice, s->pair.cuda->label, CULV_ERROR_INVALID,
                      CULV_REASON_VALUE, "%s(): the value is %" PRIu64 "; a binary semaphore has 0",
                      call, value);
}

/* Against OpenGL's own signals, the counter, and what others have signaled or promised. A higher
 * value of CUDA's is right where CUDA waits for this one first: the two take turns on it. */
static culv_result check_rise(const culv_shared_semaphore *s, uint64_t value)
{
    const gl_sync *sync = sync_of(s->pair.native);
    uint64_t now = 0;
    int code = sync->name == 0
                   ? culvi_gl_timeline_value(s->pair.graphics, s->pair.native, &now)
                   : 0; /* the driver's own, and a frame should not wait for the answer */
    if (code != 0)
        return culvi_gl_fail_timeline(s->pair.graphics, s->pair.cuda->label, code,
                                      culvi_gl_words.read_call,
                                      "the timeline's counter could not be read");
    if (sync->last > now) now = sync->last;
    if (!culvi_semaphore_waits_for(s->pair.cuda, value)) {
        const uint64_t told = culvi_semaphore_last(s->pair.cuda);
        if (told > now) now = told;
    }
    if (value > now) return CULV_OK;
    return culvi_fail(&s->pair.graphics->device->voice, s->pair.cuda->label, CULV_ERROR_INVALID,
                      CULV_REASON_TIMELINE_BACKWARDS,
                      "culv_gl_semaphore_signal(): the value %" PRIu64 " does not exceed %" PRIu64
                      ", which was signaled or promised before; signal %" PRIu64 " or more",
                      value, now, now + 1);
}

static culv_result on_gpu(const culv_shared_semaphore *s, uint32_t name, bool signal,
                          uint64_t value, const culv_gl_uses *u)
{
    const culv_gl *gl = culvi_gl_of(s->pair.graphics);
    const culvi_gl_table *t = &gl->table;
    const char *label = s->pair.cuda->label;
    uint32_t general[GENERAL_LAYOUTS]; /* CUDA leaves and expects any */
    for (uint32_t i = 0; u->layouts == NULL && i < u->num_textures; i++)
        general[i] = CULVI_GL_LAYOUT_GENERAL_EXT;
    if (s->pair.cuda->type == CULV_SEMAPHORE_TIMELINE) {
        t->glSemaphoreParameterui64vEXT(name, CULVI_GL_TIMELINE_SEMAPHORE_VALUE_NV, &value);
        CULVI_TRY(culvi_gl_check(gl, label, "glSemaphoreParameterui64vEXT",
                                 "the timeline's value %" PRIu64 " was refused", value));
    }
    (signal ? t->glSignalSemaphoreEXT
            : t->glWaitSemaphoreEXT)(name, u->num_buffers, u->buffers, u->num_textures, u->textures,
                                     u->layouts != NULL ? u->layouts : general);
    const culv_result result =
        culvi_gl_check(gl, label, signal ? "glSignalSemaphoreEXT" : "glWaitSemaphoreEXT",
                       "OpenGL does not %s", signal ? "signal" : "wait");
    /* CUDA may wait for it from now on, and commands that stay in the client would never signal. */
    if (signal) t->glFlush();
    return result;
}

static culv_result signal_on_cpu(const culv_shared_semaphore *s, uint64_t value)
{
    const culv_gl *gl = culvi_gl_of(s->pair.graphics);
    const char *label = s->pair.cuda->label;
    gl->table.glFinish();
    CULVI_TRY(culvi_gl_check(gl, label, "glFinish", "OpenGL did not finish its work"));
    int code = culvi_gl_timeline_signal(s->pair.graphics, s->pair.native, value);
    return code == 0
               ? CULV_OK
               : culvi_gl_fail_timeline(s->pair.graphics, label, code, culvi_gl_words.signal_call,
                                        "the host could not signal the timeline");
}

/* What a signal and a wait begin with. */
static culv_result begin(const culv_shared_semaphore *s, uint64_t value, const culv_gl_uses *uses,
                         culv_gl_uses *out, const char *call)
{
    const char *label = s->pair.cuda->label;
    CULVI_TRY(culvi_check_made_by(s->pair.graphics, &culvi_gl_api, label, call));
    CULVI_TRY(culvi_gl_enter(culvi_gl_of(s->pair.graphics), label, call));
    CULVI_TRY(read_uses(s, uses, out));
    return check_value(s, value, call);
}

culv_result culv_gl_semaphore_signal(culv_shared_semaphore *semaphore, uint64_t value,
                                     const culv_gl_uses *uses)
{
    culv_gl_uses u;
    CULVI_REQUIRE(NULL, semaphore);
    culv_semaphore *cuda = semaphore->pair.cuda;
    const bool timeline = cuda->type == CULV_SEMAPHORE_TIMELINE;
    CULVI_TRY(begin(semaphore, value, uses, &u, __func__));
    CULVI_TRY(timeline ? check_rise(semaphore, value) : culv_semaphore_mark_signaled(cuda));
    const uint32_t name = name_of(semaphore);
    culv_result result =
        name != 0 ? on_gpu(semaphore, name, true, value, &u) : signal_on_cpu(semaphore, value);
    if (result == CULV_OK && timeline) {
        sync_of(semaphore->pair.native)->last = value;
        culv_semaphore_mark_value(cuda, value);
    }
    if (result != CULV_OK && !timeline) (void)culv_semaphore_mark_waited(cuda); /* as before */
    return result;
}

static culv_result wait_on_cpu(const culv_shared_semaphore *s, uint64_t value, uint64_t timeout)
{
    int code = culvi_gl_timeline_wait(s->pair.graphics, s->pair.native, value, timeout);
    if (code == 0) return CULV_OK;
    if (code > 0)
        return culvi_fail(&s->pair.graphics->device->voice, s->pair.cuda->label, CULV_ERROR_TIMEOUT,
                          CULV_REASON_NOT_READY,
                          "culv_gl_semaphore_wait(): the timeline has not reached %" PRIu64
                          " in %" PRIu64 " ns; CUDA has signaled or promised %" PRIu64
                          ". Nothing was done, and the call can be repeated",
                          value, timeout, culvi_semaphore_last(s->pair.cuda));
    return culvi_gl_fail_timeline(s->pair.graphics, s->pair.cuda->label, code,
                                  culvi_gl_words.wait_call,
                                  "the host could not wait for the timeline");
}

culv_result culv_gl_semaphore_wait(culv_shared_semaphore *semaphore, uint64_t value,
                                   uint64_t timeout, const culv_gl_uses *uses)
{
    culv_gl_uses u;
    CULVI_REQUIRE(NULL, semaphore);
    culv_semaphore *cuda = semaphore->pair.cuda;
    const bool timeline = cuda->type == CULV_SEMAPHORE_TIMELINE;
    CULVI_TRY(begin(semaphore, value, uses, &u, __func__));
    if (!timeline) CULVI_TRY(culv_semaphore_mark_waited(cuda));
    const uint32_t name = name_of(semaphore);
    culv_result result = name != 0 ? on_gpu(semaphore, name, false, value, &u)
                                   : wait_on_cpu(semaphore, value, timeout);
    if (result != CULV_OK && !timeline) (void)culv_semaphore_mark_signaled(cuda); /* as before */
    return result;
}
