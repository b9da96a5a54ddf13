/* SPDX-License-Identifier: MIT */
/* Culvert: registers buffers and images of your own OpenGL program with CUDA, the old way
 * (cuGraphicsGLRegisterBuffer, cuGraphicsGLRegisterImage). CUDA may use an object from
 * culv_registration_map() to culv_registration_unmap(), and OpenGL at all other times. The two
 * calls order both sides: no semaphore is needed. OpenGL keeps its storage, so this works with any
 * buffer, and nothing new is allocated.
 *
 *   culv_gl_register_buffer(gl, vbo, NULL, &vertices);             once
 *   culv_registration_map(&vertices, 1, stream);                   each frame
 *   kernel<<<..., stream>>>(culv_registration_pointer(vertices), ...);
 *   culv_registration_unmap(&vertices, 1, stream);
 *   glDrawArrays(...);
 *
 * Map everything that a frame needs in one call: docs/measured/gl-performance.md has figures.
 *
 * Threads. Calls marked "the context's thread" need a current context of the attachment. For a
 * separate CUDA thread, make a second context that shares objects with the first (share_context of
 * eglCreateContext), and make it current there. Then that thread can register and map. A map waits
 * only for the work of the context that is current on its thread: finish the other thread's OpenGL
 * work first (glFinish, or wait for a fence).
 *
 * CUDA registers 2D, RECTANGLE, CUBE_MAP, 3D and 2D_ARRAY textures and renderbuffers, with one, two
 * or four channels of 8, 16 or 32 bits. Culvert refuses other images, and the message says what to
 * do instead. For depth and multisampled images use culv_gl_readback_create(). */
#ifndef CULV_GL_REGISTER_H_
#define CULV_GL_REGISTER_H_

#include "gl_device.h"
#include "image.h"
#include "shared.h"

CULV_EXTERN_C_BEGIN

/** Settings of a registration. */
typedef struct culv_gl_register_desc {
    size_t struct_size;       /**< Set by culv_gl_register_desc_init(). */
    culv_access access;       /**< Default: CULV_ACCESS_READ_WRITE. */
    culv_bool no_surfaces;    /**< Images: 1 omits CU_GRAPHICS_REGISTER_FLAGS_SURFACE_LDST. */
    culv_bool texture_gather; /**< Images: 1 sets CU_GRAPHICS_REGISTER_FLAGS_TEXTURE_GATHER. */
    /** 1: culv_registration_map() and culv_registration_unmap() do not check this object: whether a
     * context of the attachment is current on the thread, whether the object still exists with the
     * same size, and whether the stream is being captured. Your program must ensure all three. This
     * saves two calls in each map and unmap. In each map it also saves one call for a buffer or a
     * texture with immutable storage, or six calls for other objects. If your program is wrong, the
     * driver may use wrong data, end the capture with an error, or crash. If a map or unmap also
     * lists a checked object, only the check of this object is left out. */
    culv_bool unchecked;
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
} culv_gl_register_desc;

CULV_INIT(culv_gl_register_desc)

/** Registers your GL buffer. desc may be NULL. Give the buffer storage first, and register it again
 * after each glBufferData() that changes its size.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, CONTEXT, VALUE: no such buffer or access; SIZE: it
 * has no storage; DEVICE_MISMATCH: the context is on another GPU), UNSUPPORTED (DRIVER_TOO_OLD: the
 * CUDA driver has no OpenGL), DRIVER (the message explains what the driver's 219, 304 and 999 mean
 * here), ASYNC, OUT_OF_MEMORY.
 * Ownership: the buffer stays yours; do not delete it before culv_registration_destroy(). *out is
 * yours, for culv_registration_destroy(); it keeps the attachment alive.
 * Threads: the context's thread.
 * Source: cudaGL.h, cuGraphicsGLRegisterBuffer. */
CULV_EXPORT culv_result culv_gl_register_buffer(culv_gl *gl, uint32_t buffer,
                                                const culv_gl_register_desc *desc,
                                                culv_registration **out);

/** Registers your texture or renderbuffer. desc may be NULL. `target` is the target of the object:
 * GL_TEXTURE_2D, GL_TEXTURE_RECTANGLE, GL_TEXTURE_CUBE_MAP, GL_TEXTURE_3D, GL_TEXTURE_2D_ARRAY or
 * GL_RENDERBUFFER. Allocate its storage first. If the texture is mutable, allocate every level that
 * CUDA will use.
 *
 * Register a texture before you ask for its bindless handle (glGetTextureHandleARB,
 * glGetImageHandleARB).
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, CONTEXT, VALUE: no such object, or the object has
 * another target; SIZE: it has no storage; DEVICE_MISMATCH), UNSUPPORTED (FORMAT; USAGE: the
 * target, multisampling, a bindless handle that exists already; DRIVER_TOO_OLD), DRIVER, ASYNC,
 * OUT_OF_MEMORY.
 * Ownership: as culv_gl_register_buffer(). Threads: the context's thread.
 * Source: cudaGL.h, cuGraphicsGLRegisterImage; CUDA Programming Guide, "OpenGL
 * Interoperability". */
CULV_EXPORT culv_result culv_gl_register_image(culv_gl *gl, uint32_t name, uint32_t target,
                                               const culv_gl_register_desc *desc,
                                               culv_registration **out);

/* Depth and multisampled images ---------------------------------------------------------------- */

/** The format of a readback. */
typedef enum culv_gl_readback_format {
    CULV_GL_READBACK_DEPTH32F = 0, /**< Depth, as floats from 0 to 1. */
    /** Depth in the upper 24 bits of a word, stencil in the lower 8. */
    CULV_GL_READBACK_DEPTH24_STENCIL8 = 1,
    CULV_GL_READBACK_RGBA8 = 2,
    CULV_GL_READBACK_RGBA16F = 3,
    CULV_GL_READBACK_RGBA32F = 4,
    CULV_GL_READBACK_FORMAT_FORCE32 = 0x7fffffff
} culv_gl_readback_format;

/** A readback for Culvert to make. */
typedef struct culv_gl_readback_desc {
    size_t struct_size;             /**< Set by culv_gl_readback_desc_init(). */
    uint32_t width, height;         /**< Required: pixels. */
    culv_gl_readback_format format; /**< Default: CULV_GL_READBACK_DEPTH32F. */
    /** The sized internal format of the framebuffer's attachment. It matters if the attachment is
     * multisampled, or if `flip` is set for a color format: OpenGL resolves depth only between
     * equal formats. Default: the format like `format`: GL_DEPTH_COMPONENT32F, GL_DEPTH24_STENCIL8,
     * GL_RGBA8, ... */
    uint32_t internal_format;
    culv_bool flip;    /**< 1: the upper row comes first. 0: the lower row, as in OpenGL. */
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
} culv_gl_readback_desc;

CULV_INIT(culv_gl_readback_desc)

/** Makes a readback: Culvert's own pixel buffer object, registered READ_ONLY, into which you read
 * framebuffers. cuGraphicsGLRegisterImage takes no depth and no multisampled images, but
 * cuGraphicsGLRegisterBuffer takes any buffer.
 * Errors: as culv_gl_register_buffer(), and INVALID (EXTENT, VALUE).
 * Ownership: *out is yours, for culv_registration_destroy(), which also deletes the buffer. It
 * keeps the attachment alive.
 * Threads: the context's thread. */
CULV_EXPORT culv_result culv_gl_readback_create(culv_gl *gl, const culv_gl_readback_desc *desc,
                                                culv_registration **out);

/** Reads width x height pixels at (x, y) of your framebuffer into the buffer, on the GPU. The
 * buffer must not be mapped. A multisampled framebuffer is resolved first. `framebuffer` 0 is the
 * default framebuffer. Afterwards map the readback: CUDA gets rows of pixels without padding. Do
 * not call it between glBeginConditionalRender() and glEndConditionalRender(), where OpenGL may
 * leave a resolve out without an error.
 * Errors: INVALID (NULL_ARGUMENT; CONTEXT; MAPPED; VALUE: the registration is no readback; EXTENT:
 * some pixels are outside the framebuffer; this is not checked for framebuffer 0, because OpenGL
 * does not tell its size), DRIVER (OpenGL refused: the framebuffer lacks such an attachment, or is
 * multisampled and its format is not internal_format).
 * Threads: the context's thread, ordered with other calls on this object. */
CULV_EXPORT culv_result culv_gl_readback_read(culv_registration *readback, uint32_t framebuffer,
                                              int32_t x, int32_t y);

CULV_EXTERN_C_END

#endif
