/* SPDX-License-Identifier: MIT */
/* Culvert: finds the CUDA device of your OpenGL context, and attaches the context to Culvert.
 * Include culvert/gl.h, which lists all steps.
 *
 *   culv_device_open_for_gl(NULL, NULL, &device);
 *   culv_gl_attach(device, NULL, &gl); */
#ifndef CULV_GL_DEVICE_H_
#define CULV_GL_DEVICE_H_

#include "device.h"

CULV_EXTERN_C_BEGIN

/** Opaque: your OpenGL context, attached to a culv_device. */
typedef struct culv_gl culv_gl;

struct culv_vk_device; /* culvert/vulkan_device.h */

/** Finds a function of OpenGL by its name, as eglGetProcAddress, glXGetProcAddressARB,
 * SDL_GL_GetProcAddress and glfwGetProcAddress do. NULL: there is none. */
typedef void *(*culv_gl_get_proc)(const char *name);

/** Your OpenGL context: the one that is current on the calling thread. */
typedef struct culv_gl_desc {
    size_t struct_size; /**< Set by culv_gl_desc_init(). */
    /** Your loader. NULL: Culvert finds eglGetProcAddress, glXGetProcAddressARB or
     * wglGetProcAddress in the libraries that your program has loaded. */
    culv_gl_get_proc get_proc_address;
    /** Your VkDevice on the same GPU, attached to the same culv_device, from which shared memory
     * and semaphores come. Culvert keeps that attachment; the VkDevice must outlive the objects of
     * this one. NULL: Culvert makes a small VkDevice when something is first shared, and frees it
     * with the attachment. */
    struct culv_vk_device *vk;
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
    /** CULV_FALLBACK_...: as culv_vk_device_desc::fallback. Nonzero: the context may be another
     * GPU's, or may lack extensions that sharing needs. Each object that you make with it then
     * needs its own `fallback`. Default: none. */
    uint32_t fallback;
    /** As culv_vk_device_desc::allow_other_gpu: nonzero lets the culv_device be another GPU than
     * the context's, and work on that GPU's buffers and semaphores in place (DIRECT). With `vk`,
     * that attachment needs it too. Default: 0. */
    culv_bool allow_other_gpu;
} culv_gl_desc;

CULV_INIT(culv_gl_desc)

/** Opens the CUDA device that draws the current context. It finds it by UUID (GL_DEVICE_UUID_EXT),
 * or, if OpenGL reports none, by cuGLGetDevices and EGL_NV_device_cuda. Both descriptors may be
 * NULL. The call reads only get_proc_address of `desc`.
 * Errors: INVALID (CONTEXT: no context is current), NO_DEVICE (the message names every device of
 * both sides and the likely cause, and culv_gl_check_context() says what to do), UNSUPPORTED
 * (EXTENSION_MISSING: nothing tells which GPU the context is), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_device_close(). Threads: the context's. */
CULV_EXPORT culv_result culv_device_open_for_gl(const culv_gl_desc *desc,
                                                const culv_device_desc *device_desc,
                                                culv_device **out);

/** Attaches the context that is current on this thread to the culv_device of the same GPU. `desc`
 * may be NULL.
 * Errors: INVALID (CONTEXT: none is current; DEVICE_MISMATCH: it is another GPU's; VALUE),
 * UNSUPPORTED (EXTENSION_MISSING: the context has no direct state access, or does not tell which
 * GPU it is; with allow_other_gpu as culv_vk_attach()), DRIVER, OUT_OF_MEMORY.
 * Ownership: the context stays yours. *out is yours, for culv_gl_detach().
 * Threads: the context's. */
CULV_EXPORT culv_result culv_gl_attach(culv_device *device, const culv_gl_desc *desc,
                                       culv_gl **out);

/** Adds the context that is current on this thread to the attachment. It must share objects with
 * the attached one (the share_context of eglCreateContext, wglShareLists and the like). So a
 * separate thread for CUDA can register, create and destroy. Adding a context twice does nothing.
 * At most 16 at a time: culv_gl_remove_context() removes one. With EGL, destroyed contexts do not
 * count.
 * Errors: INVALID (NULL_ARGUMENT; CONTEXT: none is current, or it does not share objects with the
 * attached one; VALUE: too many).
 * Ownership: the context stays yours.
 * Threads: the added context's. The attached context must have been current on some thread since
 * culv_gl_attach(): the call looks for an object that it made then. */
CULV_EXPORT culv_result culv_gl_add_context(culv_gl *gl);

/** Removes the context that is current on this thread from the attachment. Call it before you
 * destroy one of several contexts, even the attached one. Objects of the attachment belong to all
 * of its contexts and live on. A readback does not, because its framebuffers belong to the
 * context that made them: destroy it first.
 * Errors: INVALID (NULL_ARGUMENT; CONTEXT: none of the attachment's is current; VALUE: it is the
 * last one, for which there are culv_gl_detach() and culv_gl_lose_contexts()).
 * Ownership: the context stays yours. Threads: the context's. */
CULV_EXPORT culv_result culv_gl_remove_context(culv_gl *gl);

/** Tells Culvert that every context of the attachment is destroyed, or lost (GL_CONTEXT_LOST), and
 * its GL objects with it. Afterwards you can destroy the attachment's objects on any thread,
 * without a context, and Culvert makes no OpenGL call for that. You can make no new ones. NULL is a
 * no-op.
 *
 * Rings of the attachment stop (RING_STOPPED), as by culv_ring_stop(). CUDA signals the timelines
 * that a stream waits for in OpenGL's place; what such a stream then reads is not valid.
 * Threads: any, even while CUDA's threads wait in a ring; ordered with other calls on the
 * attachment. */
CULV_EXPORT void culv_gl_lose_contexts(culv_gl *gl);

/** Ends the attachment. Objects made with it live on, and keep it. The call makes no OpenGL call
 * and needs no context.
 * Threads: any, ordered with other calls on this object. */
CULV_EXPORT void culv_gl_detach(culv_gl **gl);

/** Tells whether a context of the attachment is current on this thread, so that calls that need one
 * work. 0 for NULL.
 * Threads: any. */
CULV_EXPORT culv_bool culv_gl_is_current(const culv_gl *gl);

CULV_EXTERN_C_END

#endif
