/* SPDX-License-Identifier: MIT */
/* Culvert: tells whether and how CUDA and the current OpenGL context can share memory, and what to
 * do if they cannot.
 *
 *   culv_gl_report report = culv_gl_report_init();
 *   culv_gl_check_context(NULL, NULL, &report);
 *   if (report.way == CULV_GL_WAY_NONE) puts(report.text); */
#ifndef CULV_GL_CHECK_H_
#define CULV_GL_CHECK_H_

#include "gl_device.h"

CULV_EXTERN_C_BEGIN

/** The way in which CUDA and OpenGL share data. */
typedef enum culv_gl_way {
    CULV_GL_WAY_NONE = 0,
    /** The new way: memory and semaphores that Vulkan or CUDA exports and OpenGL imports
     * (GL_EXT_memory_object, GL_EXT_semaphore). CUDA has the memory all the time. */
    CULV_GL_WAY_MEMORY = 1,
    /** The old way: cuGraphicsGLRegisterBuffer() and cuGraphicsGLRegisterImage()
     * (culvert/gl_register.h). CUDA has the memory from map to unmap. */
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
    /** The best way that works. STAGED if only a fallback works; NONE without a context or a CUDA
     * device, and for a context that culv_gl_attach() refuses: OpenGL ES, or one without direct
     * state access. */
    culv_gl_way way;
    culv_bool is_software; /**< The context draws on the CPU: llvmpipe, softpipe, SwiftShader. */
    char vendor[128];      /**< glGetString(GL_VENDOR). */
    char renderer[256];    /**< glGetString(GL_RENDERER). */
    char version[128];     /**< glGetString(GL_VERSION). */
    culv_bool has_uuid;    /**< 1: OpenGL reports the GPU of the context. */
    culv_uuid uuid;        /**< Its GL_DEVICE_UUID_EXT, if has_uuid. */
    culv_uuid driver_uuid; /**< GL_DRIVER_UUID_EXT, if has_uuid. */
    uint32_t num_gpus;     /**< GL_NUM_DEVICE_UUIDS_EXT: more than 1 with SLI. */
    int32_t cuda_ordinal;  /**< The CUDA device that draws the context. -1: none. */
    char cuda_name[256];   /**< Its name. */
    /** Answers of cuGLGetDevices(), as bits of CUDA ordinals below 32: all GPUs that the context
     * draws on, those of the current frame, those of the next frame. They differ with SLI. 0 if
     * CUDA does not say. */
    uint32_t devices_all, devices_current_frame, devices_next_frame;
    culv_bool has_direct_state_access; /**< OpenGL 4.5, or GL_ARB_direct_state_access. */
    culv_bool has_memory_object;       /**< GL_EXT_memory_object with its _fd (or _win32) form. */
    culv_bool has_semaphore;           /**< GL_EXT_semaphore with its _fd (or _win32) form. */
    culv_bool has_timeline_semaphore;  /**< GL_NV_timeline_semaphore. */
    culv_reason memory_reason;         /**< Reason why the new way does not work. NONE: it works. */
    /** Reason why the old way does not work, as far as Culvert can tell without trying. NONE: it
     * should work. */
    culv_reason register_reason;
    /** The report in words: what the context is, which ways work, why the others do not, and what
     * to do (environment variables, the command that runs the program). Lines end with '\n'. */
    char text[3072];
} culv_gl_report;

CULV_INIT(culv_gl_report)

/** Examines the context that is current on this thread. It makes nothing, registers nothing, opens
 * no CUDA context, and creates no VkDevice. `desc` may be NULL; its get_proc_address is used. If
 * `device` is not NULL, the report says whether it is the context's.
 *
 * A machine where nothing works is not an error: *out says why.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE), OUT_OF_MEMORY.
 * Ownership: the copy is yours. Threads: the context's. */
CULV_EXPORT culv_result culv_gl_check_context(const culv_gl_desc *desc, culv_device *device,
                                              culv_gl_report *out);

/** Returns the name of a way: "MEMORY".
 * Errors: none; "unknown" for other values.
 * Ownership: a static string, never NULL. Threads: any. */
CULV_EXPORT const char *culv_gl_way_name(culv_gl_way way);

CULV_EXTERN_C_END

#endif
