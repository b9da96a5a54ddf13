/* SPDX-License-Identifier: MIT */
/* Culvert: rings of frames between CUDA and OpenGL. Each slot has buffers and textures, shared in a
 * way that works for both. culvert/ring.h has the order of the calls, and the calls for all APIs.
 *
 *   culv_ring_acquire_on(ring, CULV_RING_PRODUCER, stream, timeout, &f);      CUDA, the producer
 *   kernel<<<..., stream>>>(culv_ring_pointer(ring, f.slot, 0));
 *   culv_ring_release_on(ring, CULV_RING_PRODUCER, stream, &f);
 *
 *   culv_ring_acquire(ring, CULV_RING_CONSUMER, timeout, &f);                 OpenGL, the consumer
 *   glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 0, culv_gl_ring_name(ring, f.slot, 0));
 *   ... draw ...
 *   culv_ring_release(ring, CULV_RING_CONSUMER, &f);
 *
 * The calls are the same in each way (culv_gl_way); culv_ring_acquire_on() says what CUDA's calls
 * do in each way. With REGISTER, CUDA's thread needs the attached context, or one that shares
 * objects with it. */
#ifndef CULV_GL_RING_H_
#define CULV_GL_RING_H_

#include "gl_device.h"
#include "gl_memory.h"
#include "gl_register.h"
#include "ring.h"

CULV_EXTERN_C_BEGIN

/** Maximum number of buffers and textures of a slot. */
#define CULV_GL_RING_MAX_RESOURCES 16

/** One buffer or texture that every slot has. Set exactly one of the five. Pass your own objects as
 * arrays of max_depth objects, one for each slot; they stay yours and must outlive the ring. */
typedef struct culv_gl_ring_resource {
    /** Descriptor of the buffer that Culvert makes for each slot. Read during the call. Its
     * `fallback` applies to the ring: HOST allows the way STAGED, PEER allows copies to another
     * GPU. */
    const culv_gl_buffer_create_desc *buffer;
    const culv_gl_image_create_desc *image;  /**< The same for textures. */
    culv_shared_buffer *const *buffers;      /**< For the ways MEMORY or STAGED. */
    culv_shared_image *const *images;        /**< The same for textures. */
    culv_registration *const *registrations; /**< For the way REGISTER. None may be mapped. */
} culv_gl_ring_resource;

/** Returns a resource whose fields are all 0. */
CULV_INLINE culv_gl_ring_resource culv_gl_ring_resource_init(void)
{
    culv_gl_ring_resource r;
    memset(&r, 0, sizeof r);
    return r;
}

/** A ring for Culvert to make. */
typedef struct culv_gl_ring_desc {
    size_t struct_size;                     /**< Set by culv_gl_ring_desc_init(). */
    uint32_t max_depth;                     /**< Required: slots, 1 to CULV_RING_MAX_DEPTH. */
    const culv_ring_settings *settings;     /**< As in culv_ring_desc::settings. */
    const culv_gl_ring_resource *resources; /**< Read during the call. */
    uint32_t num_resources; /**< 0 (a ring of slots only) to CULV_GL_RING_MAX_RESOURCES. */
    /** Side of OpenGL; CUDA has the other side. culv_gl_ring_desc_init() sets CONSUMER. */
    culv_ring_side side;
    /** NONE: the ring tries MEMORY, then REGISTER, then (if a resource has a fallback) STAGED.
     * Other values: this way, or an error. If you set STAGED, no resource needs a fallback. */
    culv_gl_way way;
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
} culv_gl_ring_desc;

/** Returns a default descriptor, with OpenGL as the consumer. */
CULV_INLINE culv_gl_ring_desc culv_gl_ring_desc_init(void)
{
    culv_gl_ring_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    d.side = CULV_RING_CONSUMER;
    return d;
}

/** Makes a ring: all or nothing. The log (level INFO) says which way it takes, and why it does not
 * take the ways before.
 * Errors: as culv_ring_create(), culv_gl_buffer_create(), culv_gl_image_create(),
 * culv_gl_register_buffer(), culv_gl_register_image() and culv_gl_semaphore_create(). If several
 * ways fail, the result and the reason are for the first way, and the message names all. INVALID
 * (VALUE: your objects do not fit together, or do not fit `way`; MAPPED: a registration is mapped).
 * Ownership: *out is yours, for culv_ring_destroy(); it keeps the attachment alive.
 * Threads: the context's thread. */
CULV_EXPORT culv_result culv_gl_ring_create(culv_gl *gl, const culv_gl_ring_desc *desc,
                                            culv_ring **out);

/** The way in which a ring works. */
typedef struct culv_gl_ring_info {
    size_t struct_size; /**< Set by culv_gl_ring_info_init(). */
    /** Way that it takes: MEMORY, REGISTER or STAGED. With CULV_FALLBACK_PEER, MEMORY may use
     * another GPU (culv_buffer_sharing()). culv_ring_drain() can force only with MEMORY
     * (NO_FORCE). */
    culv_gl_way way;
    /** 1: OpenGL's two calls wait on the CPU for the work of CUDA or OpenGL. They do so with
     * STAGED, and with MEMORY if GL_EXT_semaphore or GL_NV_timeline_semaphore is missing or if
     * there are two GPUs. */
    culv_bool waits_on_host;
    /** Reasons why the ways before failed: a line for each way, which ends with '\n'. "" if the
     * first way works. The ring owns the text, which is valid until the ring is destroyed. */
    const char *refusals;
} culv_gl_ring_info;

CULV_INIT(culv_gl_ring_info)

/** Fills *out with the way in which the ring works.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; VALUE: it is not an OpenGL ring).
 * Ownership: see the fields. */
CULV_EXPORT culv_result culv_gl_ring_get_info(const culv_ring *ring, culv_gl_ring_info *out);

/** Returns OpenGL's name of a slot's buffer, texture or renderbuffer, or 0 if the slot or the
 * resource does not exist.
 * Ownership: the ring owns it, or you do if you passed it in. Never delete it before the ring. */
CULV_EXPORT uint32_t culv_gl_ring_name(const culv_ring *ring, uint32_t slot, uint32_t resource);

CULV_EXTERN_C_END

#endif
