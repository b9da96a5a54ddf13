/* SPDX-License-Identifier: MIT */
/* Which context is current on this thread, and whether it is one of the attachment's. */
#include "gl/gl_core.h"
#include "graphics/lost.h"

#include <string.h>

/* EGL keeps a current context for each rendering API, and the functions say which of a thread's
 * APIs is bound. Whatever that is, its context is the one that GL calls reach. */
culvi_gl_context culvi_gl_current(const culvi_gl_windows *w)
{
    culvi_gl_context c = {CULV_GL_PLATFORM_NONE, NULL, NULL};
    if (w->egl_context != NULL && w->egl_display != NULL) c.context = w->egl_context();
    if (c.context != NULL) {
        c.platform = CULV_GL_PLATFORM_EGL;
        c.display = w->egl_display();
        return c;
    }
    if (w->glx_context != NULL && w->glx_display != NULL) c.context = w->glx_context();
    if (c.context != NULL) {
        c.platform = CULV_GL_PLATFORM_GLX;
        c.display = w->glx_display();
        return c;
    }
    if (w->wgl_context != NULL) c.context = w->wgl_context();
    if (c.context != NULL) c.platform = CULV_GL_PLATFORM_WGL;
    return c;
}

/* Where the context is in the list; CULVI_GL_CONTEXTS: nowhere. */
static int place_of(const culv_gl *gl, const culvi_gl_context *now)
{
    int i = 0;
    if (now->context == NULL || now->platform != gl->platform) return CULVI_GL_CONTEXTS;
    while (i < CULVI_GL_CONTEXTS &&
           (atomic_load_explicit(&gl->contexts[i].context, memory_order_acquire) !=
                (uintptr_t)now->context ||
            atomic_load(&gl->contexts[i].display) != (uintptr_t)now->display))
        i++;
    return i;
}

static bool listed(const culv_gl *gl, const culvi_gl_context *now)
{
    return place_of(gl, now) < CULVI_GL_CONTEXTS;
}

/* Any of its contexts, for a message. */
static const void *one_of(const culv_gl *gl)
{
    uintptr_t context = 0;
    for (int i = 0; context == 0 && i < CULVI_GL_CONTEXTS; i++)
        context = atomic_load(&gl->contexts[i].context);
    return (const void *)context;
}

bool culvi_gl_is_current(const culv_gl *gl)
{
    culvi_gl_context now = culvi_gl_current(&gl->windows);
    return !atomic_load(&gl->lost) && listed(gl, &now);
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
    culvi_log(culvi_gl_voice(gl), CULV_LOG_WARNING,
              "%s(): an earlier OpenGL call of the program left %s (%#x), which is gone now", call,
              culvi_gl_error_name(error), (unsigned)error);
}

/* Recognizes the context only by its handles. */
static culv_result enter_by_handles(const culv_gl *gl, const char *label, const char *call)
{
    const culvi_voice *voice = culvi_gl_voice(gl);
    culvi_gl_context now = culvi_gl_current(&gl->windows);
    if (atomic_load(&gl->lost))
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_CONTEXT,
                          "%s(): culv_gl_lose_contexts() said that the attachment's contexts are "
                          "gone; attach the new one",
                          call);
    if (now.context == NULL)
        return culvi_fail(
            voice, label, CULV_ERROR_INVALID, CULV_REASON_CONTEXT,
            "%s(): no OpenGL context is current on this thread; make the attached one "
            "current, or one that shares objects with it (culv_gl_add_context())",
            call);
    if (!listed(gl, &now))
        return culvi_fail(
            voice, label, CULV_ERROR_INVALID, CULV_REASON_CONTEXT,
            "%s(): the %s context %p is current on this thread, but %p is attached; make that one "
            "current, or tell Culvert of this one by culv_gl_add_context() if the two share objects",
            call, culvi_gl_platform_name(now.platform), now.context, one_of(gl));
    return CULV_OK;
}

/* Errors of the question are those of a name that is no buffer. */
static bool finds_marker(const culv_gl *gl)
{
    int64_t size = 0;
#ifdef _WIN32
    /* There a driver's function may crash on a thread without a context, and to ask is cheap. */
    if (culvi_gl_current(&gl->windows).context == NULL) return false;
#endif
    gl->table.glGetNamedBufferParameteri64v(gl->marker, CULVI_GL_BUFFER_SIZE, &size);
    return size == gl->marked_size;
}

static culv_result enter(const culv_gl *gl, const char *label, const char *call)
{
    culv_result result = enter_by_handles(gl, label, call);
    if (result != CULV_OK || (gl->table.glIsBuffer(gl->marker) && finds_marker(gl))) return result;
    return culvi_fail(culvi_gl_voice(gl), label, CULV_ERROR_INVALID, CULV_REASON_CONTEXT,
                      "%s(): the attached context was destroyed, and another one has its handle; "
                      "call culv_gl_lose_contexts() and destroy what you made, then attach anew",
                      call);
}

culv_result culvi_gl_enter_frame(const culv_gl *gl, const char *label, const char *call)
{
    if (!atomic_load(&gl->lost) && finds_marker(gl)) return CULV_OK;
    if (culvi_gl_current(&gl->windows).context != NULL) (void)gl->table.glGetError();
    return enter(gl, label, call);
}

culv_result culvi_gl_enter(const culv_gl *gl, const char *label, const char *call)
{
    culv_result result = enter(gl, label, call);
    if (result == CULV_OK) culvi_gl_take_error(gl, call);
    return result;
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
    static atomic_uint_fast64_t made;
    unsigned char bytes[MOST] = {0};
    const culvi_gl_table *t = &gl->table;
    gl->marked[0] = (uint64_t)(uintptr_t)gl ^ culvi_now();
    gl->marked[1] = atomic_fetch_add(&made, 1);
    gl->marked_size = LEAST + 2 * (int64_t)(gl->marked[1] % ((MOST - LEAST) / 2));
    memcpy(bytes, gl->marked, sizeof gl->marked);
    t->glCreateBuffers(1, &gl->marker);
    culv_result result =
        culvi_gl_check_error(gl, gl->base.label, "glCreateBuffers", CULV_REASON_DRIVER_REFUSED,
                             "a small buffer could not be made");
    if (result != CULV_OK) {
        gl->marker = 0;
        return result;
    }
    t->glNamedBufferStorage(gl->marker, (ptrdiff_t)gl->marked_size, bytes, 0);
    result = culvi_gl_check_error(gl, gl->base.label, "glNamedBufferStorage",
                                  CULV_REASON_DRIVER_REFUSED, "a small buffer could not be made");
    if (result != CULV_OK) {
        t->glDeleteBuffers(1, &gl->marker);
        gl->marker = 0;
    }
    return result;
}

static bool sees_marker(const culv_gl *gl)
{
    const culvi_gl_table *t = &gl->table;
    uint64_t found[2] = {0, 0};
    if (!t->glIsBuffer(gl->marker)) return false;
    if (finds_marker(gl)) t->glGetNamedBufferSubData(gl->marker, 0, sizeof found, found);
    return t->glGetError() == CULVI_GL_NO_ERROR && memcmp(found, gl->marked, sizeof found) == 0;
}

void culvi_gl_delete_marker(culv_gl *gl)
{
    if (culvi_gl_is_current(gl) && sees_marker(gl)) gl->table.glDeleteBuffers(1, &gl->marker);
}

static int free_place(const culv_gl *gl)
{
    int i = 0;
    while (i < CULVI_GL_CONTEXTS && atomic_load(&gl->contexts[i].context) != 0)
        i++;
    return i;
}

/* EGL tells which contexts the program destroyed. GLX and WGL do not. */
static void drop_destroyed(culv_gl *gl)
{
    enum { EGL_CONTEXT_CLIENT_TYPE = 0x3097 };
    if (gl->platform != CULV_GL_PLATFORM_EGL || gl->windows.egl_query_context == NULL) return;
    for (int i = 0; i < CULVI_GL_CONTEXTS; i++) {
        uintptr_t context = atomic_load(&gl->contexts[i].context);
        uintptr_t display = atomic_load(&gl->contexts[i].display);
        int type = 0;
        if (context != 0 && !gl->windows.egl_query_context((void *)display, (void *)context,
                                                           EGL_CONTEXT_CLIENT_TYPE, &type))
            atomic_store(&gl->contexts[i].context, 0);
    }
}

culv_result culv_gl_add_context(culv_gl *gl)
{
    CULVI_REQUIRE(NULL, gl);
    const culvi_voice *voice = culvi_gl_voice(gl);
    culvi_gl_context now = culvi_gl_current(&gl->windows);
    if (now.context == NULL || listed(gl, &now) || atomic_load(&gl->lost))
        return culvi_gl_enter(gl, gl->base.label, "culv_gl_add_context");
    culvi_gl_take_error(gl, "culv_gl_add_context");
    if (now.platform != gl->platform || !sees_marker(gl))
        return culvi_fail(
            voice, gl->base.label, CULV_ERROR_INVALID, CULV_REASON_CONTEXT,
            "culv_gl_add_context(): the %s context %p shares no objects with the attached one; "
            "create it with that one as its share context",
            culvi_gl_platform_name(now.platform), now.context);
    culv_result result = CULV_OK;
    culvi_mutex_lock(&gl->lock);
    int at = free_place(gl);
    if (at == CULVI_GL_CONTEXTS) {
        drop_destroyed(gl);
        at = free_place(gl);
    }
    if (at == CULVI_GL_CONTEXTS) {
        result = culvi_fail(
            voice, gl->base.label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
            "culv_gl_add_context(): the attachment has %d contexts already; before you destroy a context, make it current and call culv_gl_remove_context()",
            (int)CULVI_GL_CONTEXTS);
    } else {
        atomic_store(&gl->contexts[at].display, (uintptr_t)now.display);
        atomic_store_explicit(&gl->contexts[at].context, (uintptr_t)now.context,
                              memory_order_release);
    }
    culvi_mutex_unlock(&gl->lock);
    return result;
}

culv_result culv_gl_remove_context(culv_gl *gl)
{
    CULVI_REQUIRE(NULL, gl);
    culvi_gl_context now = culvi_gl_current(&gl->windows);
    culv_result result = enter_by_handles(gl, gl->base.label, "culv_gl_remove_context");
    if (result != CULV_OK) return result;
    culvi_mutex_lock(&gl->lock);
    int mine = place_of(gl, &now), others = 0;
    for (int i = 0; i < CULVI_GL_CONTEXTS; i++)
        others += i != mine && atomic_load(&gl->contexts[i].context) != 0;
    if (others == 0)
        result = culvi_fail(
            culvi_gl_voice(gl), gl->base.label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
            "culv_gl_remove_context(): %p is the attachment's last context; destroy what you made with the attachment and call culv_gl_detach(), or call culv_gl_lose_contexts()",
            now.context);
    else
        atomic_store(&gl->contexts[mine].context, 0);
    culvi_mutex_unlock(&gl->lock);
    return result;
}

void culv_gl_lose_contexts(culv_gl *gl)
{
    if (gl == NULL) return;
    atomic_store(&gl->lost, true);
    culvi_graphics_lose(&gl->base);
}
