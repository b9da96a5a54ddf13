/* SPDX-License-Identifier: MIT */
/* Culvert: finds the CUDA device of your OpenGL context, and attaches the context to Culvert.
 * Include culvert/gl.h, which lists all steps.
 *
 *   culv_device_open_for_gl(NULL, NULL, &device);
 *   culv_gl_attach(device, NULL, &gl); */
#ifndef CULV_GL_DEVICE_H_
#define CULV_GL_DEVICE_H_

#include "device.h"
#include "shared.h"

CULV_EXTERN_C_BEGIN

/** Opaque: your OpenGL context, attached to a culv_device. */
typedef struct culv_gl culv_gl;

struct culv_vk_device; /* culvert/vulkan_device.h */

/** Returns the function of OpenGL with this name, or NULL, as eglGetProcAddress,
 * glXGetProcAddressARB, SDL_GL_GetProcAddress and glfwGetProcAddress do. */
typedef void *(*culv_gl_get_proc)(const char *name);

/** Your OpenGL context, which is current on the calling thread. */
typedef struct culv_gl_desc {
    size_t struct_size; /**< Set by culv_gl_desc_init(). */
    /** Your loader. NULL: Culvert finds eglGetProcAddress, glXGetProcAddressARB or
     * wglGetProcAddress in the libraries that your program has loaded. */
    culv_gl_get_proc get_proc_address;
    /** Your VkDevice on the same GPU, attached to the same culv_device. It makes the shared memory
     * and semaphores. Culvert keeps that attachment alive; the VkDevice must outlive the objects of
     * the OpenGL attachment. NULL: Culvert makes a small VkDevice when something is first shared,
     * and frees it with the attachment. */
    struct culv_vk_device *vk;
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
    /** CULV_FALLBACK_...: as culv_vk_device_desc::fallback. Nonzero: the context may be on another
     * GPU, or may lack extensions that sharing needs. Each object that you make then needs its own
     * `fallback`. Default: none. */
    uint32_t fallback;
    /** As culv_vk_device_desc::allow_other_gpu. Nonzero: the culv_device may be another GPU than
     * the context's GPU, and works on that GPU's buffers and semaphores in place (DIRECT). If `vk`
     * is set, its attachment needs the flag too. Default: 0. */
    culv_bool allow_other_gpu;
} culv_gl_desc;

CULV_INIT(culv_gl_desc)

/** Opens the CUDA device of the GPU that the current context runs on. It compares UUIDs
 * (GL_DEVICE_UUID_EXT); if OpenGL reports none, it asks cuGLGetDevices. Both descriptors may be
 * NULL. Of `desc`, the call reads only get_proc_address.
 * Errors: INVALID (CONTEXT: no context is current), NO_DEVICE (the message names every CUDA device
 * and the likely cause, and culv_gl_check_context() says what to do), UNSUPPORTED
 * (EXTENSION_MISSING: no extension tells which GPU the context runs on), DRIVER, ASYNC,
 * OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_device_close(). Threads: the context's thread. */
CULV_EXPORT culv_result culv_device_open_for_gl(const culv_gl_desc *desc,
                                                const culv_device_desc *device_desc,
                                                culv_device **out);

/** Attaches the context that is current on this thread to the culv_device of the same GPU. `desc`
 * may be NULL.
 * Errors: INVALID (CONTEXT: none is current; DEVICE_MISMATCH: it is on another GPU; VALUE),
 * UNSUPPORTED (EXTENSION_MISSING: the context has no direct state access, or does not tell its GPU;
 * with allow_other_gpu as culv_vk_attach()), DRIVER, OUT_OF_MEMORY.
 * Ownership: the context stays yours. *out is yours, for culv_gl_detach().
 * Threads: the context's thread. Contexts that share objects with this one (by share_context of
 * eglCreateContext, wglShareLists or similar) serve all calls of the attachment on their threads as
 * well, even when this one is destroyed. */
CULV_EXPORT culv_result culv_gl_attach(culv_device *device, const culv_gl_desc *desc,
                                       culv_gl **out);

/** Tells Culvert that all contexts of the attachment, and their GL objects, are destroyed or lost
 * (GL_CONTEXT_LOST). Afterwards you can destroy the attachment's objects on any thread, without a
 * context, and Culvert makes no OpenGL call for that. You cannot make new objects. The call does
 * nothing for NULL.
 *
 * Rings of the attachment stop (RING_STOPPED), as by culv_ring_stop(). If a stream waits for a
 * timeline, CUDA signals it in OpenGL's place; the data that the stream then reads are invalid.
 * Threads: any, even while CUDA's threads wait in a ring; ordered with other calls on the
 * attachment. */
CULV_EXPORT void culv_gl_lose_contexts(culv_gl *gl);

/** Ends the attachment. Objects made with it stay valid, and keep it alive. The call makes no
 * OpenGL call and needs no context. */
CULV_EXPORT void culv_gl_detach(culv_gl **gl);

/** Returns 1 if a context of the attachment is current on this thread, so that calls that need one
 * work. Returns 0 otherwise and for NULL. */
CULV_EXPORT culv_bool culv_gl_is_current(const culv_gl *gl);

/* What works here ------------------------------------------------------------------------------ */

/* These calls tell whether and how CUDA and the current OpenGL context can share memory, and what
 * to do if they cannot.
 *
 *   culv_gl_report report = culv_gl_report_init();
 *   culv_gl_check_context(NULL, NULL, &report);
 *   if (report.way == CULV_GL_WAY_NONE) puts(report.text); */

/** The way in which CUDA and OpenGL share data. */
typedef enum culv_gl_way {
    CULV_GL_WAY_NONE = 0,
    /** The new way: memory and semaphores that Vulkan or CUDA exports and OpenGL imports
     * (GL_EXT_memory_object, GL_EXT_semaphore). CUDA can use the memory at all times. */
    CULV_GL_WAY_MEMORY = 1,
    /** The old way: cuGraphicsGLRegisterBuffer() and cuGraphicsGLRegisterImage()
     * (culvert/gl_register.h). CUDA can use the memory from map to unmap. */
    CULV_GL_WAY_REGISTER = 2,
    /** Copies through host memory, if you allow a fallback: nothing is shared. */
    CULV_GL_WAY_STAGED = 3,
    CULV_GL_WAY_FORCE32 = 0x7fffffff
} culv_gl_way;

/** The platform whose functions made the context. */
typedef enum culv_gl_platform {
    CULV_GL_PLATFORM_NONE = 0, /**< No context is current. */
    CULV_GL_PLATFORM_EGL = 1,
    CULV_GL_PLATFORM_GLX = 2,
    CULV_GL_PLATFORM_WGL = 3,
    CULV_GL_PLATFORM_FORCE32 = 0x7fffffff
} culv_gl_platform;

/** The result of culv_gl_check_context(). Flags are 0 or 1. */
typedef struct culv_gl_report {
    size_t struct_size;        /**< Set by culv_gl_report_init(). */
    culv_gl_platform platform; /**< The platform of this thread's current context. */
    /** The best way that works. STAGED: only a fallback works. NONE: there is no context or no CUDA
     * device, or culv_gl_attach() refuses the context (OpenGL ES, or no direct state access). */
    culv_gl_way way;
    culv_bool is_software; /**< The context draws on the CPU: llvmpipe, softpipe, SwiftShader. */
    char vendor[128];      /**< glGetString(GL_VENDOR). */
    char renderer[256];    /**< glGetString(GL_RENDERER). */
    char version[128];     /**< glGetString(GL_VERSION). */
    culv_bool has_uuid;    /**< 1: OpenGL reports the GPU of the context. */
    culv_uuid uuid;        /**< GL_DEVICE_UUID_EXT, if has_uuid. */
    culv_uuid driver_uuid; /**< GL_DRIVER_UUID_EXT, if has_uuid. */
    uint32_t num_gpus;     /**< GL_NUM_DEVICE_UUIDS_EXT: more than 1 with SLI. */
    int32_t cuda_ordinal;  /**< CUDA device of the context's GPU. -1: none. */
    char cuda_name[256];   /**< Name of that device. */
    /** Answers of cuGLGetDevices(), as bits of CUDA ordinals below 32: all GPUs that draw the
     * context, GPUs of the current frame, GPUs of the next frame. They differ with SLI. 0:
     * unknown. */
    uint32_t devices_all, devices_current_frame, devices_next_frame;
    culv_bool has_direct_state_access; /**< OpenGL 4.5, or GL_ARB_direct_state_access. */
    culv_bool has_memory_object;       /**< GL_EXT_memory_object with its _fd (or _win32) form. */
    culv_bool has_semaphore;           /**< GL_EXT_semaphore with its _fd (or _win32) form. */
    culv_bool has_timeline_semaphore;  /**< GL_NV_timeline_semaphore. */
    culv_reason memory_reason;         /**< Reason why the new way does not work. NONE: it works. */
    /** Reason why the old way does not work, as far as Culvert can tell without trying. NONE: it
     * should work. */
    culv_reason register_reason;
    /** Report in words: what the context is, which ways work, why the others do not, and what to do
     * (environment variables, the command that runs the program). Lines end with '\n'. */
    char text[3072];
} culv_gl_report;

CULV_INIT(culv_gl_report)

/** Examines the context that is current on this thread. It makes nothing, registers nothing, opens
 * no CUDA context, and creates no VkDevice. `desc` may be NULL; the call reads only its
 * get_proc_address. If `device` is not NULL, the report says whether the context runs on it.
 *
 * If nothing works on this machine, that is no error: *out says why.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE), OUT_OF_MEMORY.
 * Threads: the context's thread. */
CULV_EXPORT culv_result culv_gl_check_context(const culv_gl_desc *desc, culv_device *device,
                                              culv_gl_report *out);

/** Returns the name of a way, such as "MEMORY".
 * Errors: none; "unknown" for other values.
 * Ownership: a static string, never NULL. */
CULV_EXPORT const char *culv_gl_way_name(culv_gl_way way);

/* Semaphores ----------------------------------------------------------------------------------- */

/* Semaphores that OpenGL and CUDA signal and wait for.
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
 * the host goes on. Otherwise, for example with Mesa's llvmpipe, the same calls wait on the CPU: a
 * signal finishes OpenGL's work and then signals the timeline from the host, and a wait blocks the
 * calling thread until the timeline has the value, or the time is up. They also wait on the CPU if
 * CUDA uses another GPU (allow_other_gpu), because NVIDIA's OpenGL 580 did not wait for such
 * signals. culv_gl_report tells which extensions there are.
 *
 * Use one binary semaphore for each direction. A timeline may serve both, if each value exceeds all
 * earlier values of both sides. */

/** A timeout without end. Timeouts are in nanoseconds. */
#define CULV_GL_FOREVER UINT64_MAX

/** A semaphore for Culvert to make. */
typedef struct culv_gl_semaphore_create_desc {
    size_t struct_size; /**< Set by culv_gl_semaphore_create_desc_init(). */
    /** Default: CULV_SEMAPHORE_TIMELINE. A BINARY one needs GL_EXT_semaphore. */
    culv_semaphore_type type;
    uint64_t initial_value; /**< First value of a timeline. Binary: 0. */
    culv_bool untracked;    /**< Binary: as culv_semaphore_desc::untracked. */
    const char *label;      /**< Copied (up to 63 bytes). Default: none. */
    /** CULV_FALLBACK_... that Culvert may use if sharing is impossible (culvert/shared.h). HOST
     * works only for timelines. Default: none. */
    uint32_t fallback;
} culv_gl_semaphore_create_desc;

/** culv_gl_semaphore_create_desc_init(): a timeline at 0. */
CULV_INIT(culv_gl_semaphore_create_desc)

/** The GL objects that pass from one side to the other with a signal or a wait (GL_EXT_semaphore,
 * "memory barriers"). */
typedef struct culv_gl_uses {
    size_t struct_size; /**< Set by culv_gl_uses_init(). */
    uint32_t num_buffers;
    const uint32_t *buffers; /**< Names of buffers. */
    uint32_t num_textures;
    const uint32_t *textures; /**< Names of textures. */
    /** Layout of each texture, GL_LAYOUT_..._EXT. Wait: the layout in which the other side left it.
     * Signal: the layout that the other side expects. NULL: GL_LAYOUT_GENERAL_EXT for all, which is
     * right for CUDA. If the other side is Vulkan, pass the layout that its barriers use. */
    const uint32_t *layouts;
} culv_gl_uses;

CULV_INIT(culv_gl_uses)

/** Makes an exportable semaphore and imports it into OpenGL and CUDA: all or nothing. If desc is
 * NULL, it is a timeline at 0. If sharing is impossible and `fallback` is set, CUDA signals and
 * waits in another way (culv_semaphore_sharing()).
 * Errors: INVALID (CONTEXT, VALUE; DEVICE_MISMATCH: the context is on another GPU, and `fallback`
 * is not set), UNSUPPORTED (EXTENSION_MISSING: a binary semaphore without GL_EXT_semaphore;
 * DEVICE_MISMATCH: a binary semaphore across two GPUs; NOT_EXPORTABLE; PEER), DRIVER (a call of
 * OpenGL, Vulkan or CUDA failed), ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_shared_semaphore_destroy(); it keeps the attachment alive.
 * Threads: the context's thread.
 * Source: GL_EXT_semaphore, GL_NV_timeline_semaphore. */
CULV_EXPORT culv_result culv_gl_semaphore_create(culv_gl *gl,
                                                 const culv_gl_semaphore_create_desc *desc,
                                                 culv_shared_semaphore **out);

/** Makes OpenGL signal after all earlier commands of this context, and passes `uses` (may be NULL)
 * to the other side. Timeline: `value` must exceed all earlier values. It must also exceed the
 * values that CUDA has still to signal, except values that CUDA signals only after it has waited
 * for `value`. Binary: `value` is 0. The call flushes. If it waits on the CPU (see above), it
 * returns when OpenGL has finished.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, CONTEXT, VALUE; TIMELINE_BACKWARDS; DOUBLE_SIGNAL),
 * DRIVER.
 * Threads: the context's thread, and one call of OpenGL's side at a time. */
CULV_EXPORT culv_result culv_gl_semaphore_signal(culv_shared_semaphore *semaphore, uint64_t value,
                                                 const culv_gl_uses *uses);

/** Makes OpenGL's later commands of this context wait for the value, and takes `uses` (may be NULL)
 * from the other side. If the semaphore is binary, `value` is 0, and the signal must be submitted
 * first. NVIDIA's driver does not make glBufferSubData() wait: write by a copy after this call
 * instead (docs/gl.md, "Buffers and textures").
 *
 * If it waits on the CPU (see above), the call returns when the value is there, or after `timeout`
 * nanoseconds with TIMEOUT (0: at once; CULV_GL_FOREVER: may block for ever). After a TIMEOUT you
 * can repeat the call. If the GPU waits, the call returns at once and ignores `timeout`. If nobody
 * signals the value, OpenGL's later commands then never run: put a fence behind them (glFenceSync),
 * and wait for the fence with a timeout before you make a call that waits without one (glFinish,
 * glReadPixels). docs/ipc.md, "When a side ends", shows this for a viewer whose solver may end.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, CONTEXT, VALUE; WAIT_BEFORE_SIGNAL), TIMEOUT
 * (NOT_READY), DRIVER.
 * Threads: the context's thread, and one call of OpenGL's side at a time. */
CULV_EXPORT culv_result culv_gl_semaphore_wait(culv_shared_semaphore *semaphore, uint64_t value,
                                               uint64_t timeout, const culv_gl_uses *uses);

CULV_EXTERN_C_END

#endif
