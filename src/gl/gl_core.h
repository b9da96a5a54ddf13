/* SPDX-License-Identifier: MIT */
/* The OpenGL attachment, inside. */
#ifndef CULVI_GL_CORE_H_
#define CULVI_GL_CORE_H_

#include "culvert/gl.h"
#include "gl/gl_context.h"
#include "graphics/pair.h"

typedef struct culvi_gl_exporter culvi_gl_exporter; /* gl/gl_object.h */

struct culv_gl {
    culvi_graphics base;
    const culvi_voice *voice; /* base.device's */
    culvi_gl_windows windows;
    culvi_gl_table table;
    culv_gl_desc how; /* it was attached with, without the label */
    culvi_mutex lock; /* guards `exporter` */
    culv_gl_platform platform;
    atomic_uintptr_t context;    /* which showed the marker last: it may be destroyed */
    atomic_bool lost;            /* culv_gl_lose_contexts() */
    uint32_t marker;             /* a buffer that tells the contexts' objects from others */
    uint64_t marked[2];          /* what it begins with */
    int64_t marked_size;         /* of it, bytes; that of no other one */
    culvi_gl_exporter *exporter; /* NULL: nothing was exported yet */
};

static inline culv_gl *culvi_gl_of(const culvi_graphics *graphics)
{
    return (culv_gl *)graphics; /* its first member */
}

extern const culvi_words culvi_gl_words;
extern const culvi_graphics_api culvi_gl_api;

/* context.c: whether a context of the attachment is current on this thread: the attached one, or
 * one that shares objects with it. */
bool culvi_gl_is_current(const culv_gl *gl);
/* The first line of each call that makes OpenGL calls: refuses a thread without a context of the
 * attachment, and one whose context was destroyed and made anew behind the same handle. `call` is
 * the public name, for the message. Takes an error that the program left. */
culv_result culvi_gl_enter(const culv_gl *gl, const char *label, const char *call);
/* The same for maps and unmaps, which each frame has: by one question of OpenGL, because EGL takes
 * 0.4 us to tell a thread's context (measured). Leaves errors alone. */
culv_result culvi_gl_enter_frame(const culv_gl *gl, const char *label, const char *call);
/* Takes an error that the program left, and logs it. */
void culvi_gl_take_error(const culv_gl *gl, const char *call);
/* The same for a destroy: OK too when the contexts are lost. */
culv_result culvi_gl_enter_to_destroy(const culv_gl *gl, const char *label, const char *call);

/* The marker, made at attach. The thread deletes it if it may; otherwise it goes with its
 * contexts. */
culv_result culvi_gl_make_marker(culv_gl *gl);
void culvi_gl_delete_marker(culv_gl *gl);

/* glGetError() after a call of ours. */
culv_result culvi_gl_check_error(const culv_gl *gl, const char *label, const char *call,
                                 culv_reason reason, const char *format, ...) CULVI_PRINTF(5, 6);
#define culvi_gl_check(gl, label, call, ...)                                                       \
    culvi_gl_check_error((gl), (label), (call), CULV_REASON_DRIVER_REFUSED, __VA_ARGS__)

/* Refuses a context without an extension. `form` is the extension that brings the handles, or the
 * extension itself. */
culv_result culvi_gl_need(const culv_gl *gl, const char *label, culvi_gl_extension extension,
                          culvi_gl_extension form, const char *what);

/* Which GPU a context is, where OpenGL tells no UUID: CUDA may know. */
void culvi_gl_identify(culvi_gl_table *table, const culvi_probe *probe);
/* cuGLGetDevices(): ordinals below 32 as bits; `which` is a CUGLDeviceList. 0: CUDA does not
 * tell. `has`: whether the device of this ordinal, which may be 32 or more, is one of them. */
uint32_t culvi_gl_cuda_devices(const culvi_cuda *cuda, unsigned which, int32_t ordinal, bool *has);

/* Ends an attempt. What was said of Vulkan's structs is then in the words of who asks for a
 * GL object. */
culv_result culvi_gl_reworded(const culv_gl *gl, culv_result result);

/* The seam's functions (graphics/graphics.h). */
culv_result culvi_gl_plan(culvi_graphics *graphics, culvi_plan *plan);
culv_result culvi_gl_make(culvi_graphics *graphics, const culvi_plan *plan, culvi_native *out);
void culvi_gl_unmake(culvi_graphics *graphics, const culvi_native *native);
culv_result culvi_gl_stage(culvi_graphics *graphics, const char *label, culvi_staging *staging,
                           culvi_native *out);
/* stage.c: what a program has set for its own transfers; pack: from textures. The alignment is 1,
 * and the rest 0, until culvi_gl_restore(). */
typedef struct culvi_gl_pixel_store {
    int32_t values[8];
    int32_t buffer;
} culvi_gl_pixel_store;
culvi_gl_pixel_store culvi_gl_set_tight(const culvi_gl_table *t, bool pack, uint32_t buffer);
void culvi_gl_restore(const culvi_gl_table *t, bool pack, const culvi_gl_pixel_store *was);
/* OpenGL's half of the HOST path; on the others it does nothing. `finish`: OpenGL's wait for CUDA
 * may be the GPU's. */
culv_result culvi_gl_copy(const culvi_pair *pair, bool up, bool finish, const char *call);
culv_result culvi_gl_export_memory(const culvi_graphics *graphics, const char *label,
                                   uint64_t memory, culv_handle *out);
culv_result culvi_gl_export_semaphore(const culvi_graphics *graphics, const char *label,
                                      uint64_t semaphore, culv_handle *out);
culv_result culvi_gl_make_semaphore(culvi_graphics *graphics, const culvi_semaphore_plan *plan,
                                    bool exportable, uint64_t *out);
void culvi_gl_unmake_semaphore(culvi_graphics *graphics, uint64_t semaphore);
/* Whether OpenGL's signals and waits are the CPU's. */
bool culvi_gl_semaphore_waits_on_host(const culv_shared_semaphore *semaphore);
culv_result culvi_gl_check_timelines(const culvi_graphics *graphics, const char *label,
                                     culvi_host_use use);
int culvi_gl_timeline_value(const culvi_graphics *graphics, uint64_t semaphore, uint64_t *out);
int culvi_gl_timeline_wait(const culvi_graphics *graphics, uint64_t semaphore, uint64_t value,
                           uint64_t timeout_ns);
int culvi_gl_timeline_signal(const culvi_graphics *graphics, uint64_t semaphore, uint64_t value);
culv_result culvi_gl_fail_timeline(const culvi_graphics *graphics, const char *label, int code,
                                   const char *call, const char *what);

#endif
