/* SPDX-License-Identifier: MIT */
/* Culvert: semaphores that OpenGL and CUDA signal and wait for.
 *
 *   culv_gl_semaphore_create(gl, NULL, &semaphore);   a timeline at 0
 *   culv_semaphore_signal(culv_shared_semaphore_cuda(semaphore), stream, 1);
 *   culv_gl_semaphore_wait(semaphore, 1, CULV_GL_FOREVER, &uses);
 *                                                     OpenGL's later work waits for CUDA's
 *   ... draw ...
 *   culv_gl_semaphore_signal(semaphore, 2, &uses);
 *   culv_semaphore_wait(culv_shared_semaphore_cuda(semaphore), stream, 2);
 *
 * If OpenGL has GL_EXT_semaphore (and for timelines GL_NV_timeline_semaphore), the GPU waits and
 * the host goes on. Otherwise, as with Mesa's llvmpipe, the same calls wait on the CPU: a signal
 * finishes OpenGL's work and then signals the timeline from the host, and a wait blocks the calling
 * thread until the timeline has the value, or the time is up. So they do if CUDA's GPU is another
 * one (allow_other_gpu), for whose signals NVIDIA's OpenGL 580 did not wait. culv_gl_report tells
 * which extensions there are.
 *
 * Use one semaphore for each direction. If both sides signal one timeline, each signal must exceed
 * those of both sides. */
#ifndef CULV_GL_SEMAPHORE_H_
#define CULV_GL_SEMAPHORE_H_

#include "gl_device.h"
#include "shared.h"

CULV_EXTERN_C_BEGIN

/** A timeout without end. Timeouts are in nanoseconds. */
#define CULV_GL_FOREVER UINT64_MAX

/** A semaphore for Culvert to make. */
typedef struct culv_gl_semaphore_create_desc {
    size_t struct_size; /**< Set by culv_gl_semaphore_create_desc_init(). */
    /** Default: CULV_SEMAPHORE_TIMELINE. A BINARY one needs GL_EXT_semaphore. */
    culv_semaphore_type type;
    uint64_t initial_value; /**< The first value of a timeline. Binary: 0. */
    culv_bool untracked;    /**< Binary: as culv_semaphore_desc::untracked. */
    const char *label;      /**< Copied (up to 63 bytes). Default: none. */
    /** CULV_FALLBACK_... that Culvert may use if sharing is impossible (culvert/fallback.h). HOST
     * works only for timelines. Default: none. */
    uint32_t fallback;
} culv_gl_semaphore_create_desc;

/** culv_gl_semaphore_create_desc_init(): a timeline at 0. */
CULV_INIT(culv_gl_semaphore_create_desc)

/** The GL objects that a signal or a wait hands over: one side has used them, and the other side
 * uses them next (GL_EXT_semaphore, "memory barriers"). */
typedef struct culv_gl_uses {
    size_t struct_size; /**< Set by culv_gl_uses_init(). */
    uint32_t num_buffers;
    const uint32_t *buffers; /**< Names of buffers. */
    uint32_t num_textures;
    const uint32_t *textures; /**< Names of textures. */
    /** A layout for each texture, GL_LAYOUT_..._EXT: in a wait the layout in which the other side
     * left it, in a signal the one that the other side expects. NULL: GL_LAYOUT_GENERAL_EXT for
     * all, which is right for CUDA. If the other side is Vulkan, pass the layout that its barriers
     * use. */
    const uint32_t *layouts;
} culv_gl_uses;

CULV_INIT(culv_gl_uses)

/** Makes an exportable semaphore and imports it into OpenGL and CUDA: all or nothing. desc may be
 * NULL for a timeline at 0. If sharing is impossible and `fallback` is set, CUDA signals and waits
 * in another way (culv_semaphore_sharing()).
 * Errors: INVALID (CONTEXT, VALUE; DEVICE_MISMATCH: the context is another GPU's, and `fallback` is
 * not set), UNSUPPORTED (EXTENSION_MISSING: a binary one without GL_EXT_semaphore; DEVICE_MISMATCH:
 * a binary one across two GPUs; NOT_EXPORTABLE;
 * PEER), DRIVER (a call of OpenGL, Vulkan or CUDA failed), ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_shared_semaphore_destroy(); it keeps the attachment alive.
 * Threads: the context's.
 * Source: GL_EXT_semaphore, GL_NV_timeline_semaphore. */
CULV_EXPORT culv_result culv_gl_semaphore_create(culv_gl *gl,
                                                 const culv_gl_semaphore_create_desc *desc,
                                                 culv_shared_semaphore **out);

/** Makes OpenGL signal after all earlier commands of this context, and hands `uses` (may be NULL)
 * over. A timeline's `value` must exceed all earlier ones, even those that CUDA has yet to signal,
 * unless CUDA waits for `value` first. For a binary semaphore it is 0. The call flushes. If it
 * waits on the CPU (see above), it returns when OpenGL has finished.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, CONTEXT, VALUE; TIMELINE_BACKWARDS; DOUBLE_SIGNAL),
 * DRIVER.
 * Threads: the context's, ordered with other calls on this object by OpenGL's side. */
CULV_EXPORT culv_result culv_gl_semaphore_signal(culv_shared_semaphore *semaphore, uint64_t value,
                                                 const culv_gl_uses *uses);

/** Makes OpenGL's later commands of this context wait for the value (for a binary semaphore: for
 * the signal; `value` is 0), and takes `uses` (may be NULL) from the other side. A binary
 * semaphore's signal must be submitted first. NVIDIA's driver does not let glBufferSubData() wait:
 * write by a copy behind this call (docs/gl.md, "Buffers and textures").
 *
 * If it waits on the CPU (see above), the call returns when the value is there, or after `timeout`
 * nanoseconds with TIMEOUT (0: only asks; CULV_GL_FOREVER: may block for ever). After a TIMEOUT you
 * can repeat the call. If the GPU waits, the call returns at once whatever the timeout, and a value
 * that nobody signals keeps the GPU from OpenGL's later commands: put a fence behind them
 * (glFenceSync) and wait for it with a timeout before a call that waits without one (glFinish,
 * glReadPixels). docs/ipc.md, "When a side ends", has both waits for a viewer whose solver may die.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, CONTEXT, VALUE; WAIT_BEFORE_SIGNAL), TIMEOUT
 * (NOT_READY), DRIVER.
 * Threads: the context's, ordered with other calls on this object by OpenGL's side. */
CULV_EXPORT culv_result culv_gl_semaphore_wait(culv_shared_semaphore *semaphore, uint64_t value,
                                               uint64_t timeout, const culv_gl_uses *uses);

CULV_EXTERN_C_END

#endif
