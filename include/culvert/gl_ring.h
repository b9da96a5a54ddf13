/* SPDX-License-Identifier: MIT */
/* Culvert: a ring of frames between CUDA and OpenGL. Each slot has buffers and textures, shared in
 * a way that works for both. culvert/ring.h describes the order of the calls.
 *
 *   culv_ring *core = culv_gl_ring_core(ring);
 *   culv_ring_acquire_on(core, CULV_RING_PRODUCER, stream, timeout, &f);      CUDA, the producer
 *   kernel<<<..., stream>>>(culv_gl_ring_pointer(ring, f.slot, 0));
 *   culv_ring_release_on(core, CULV_RING_PRODUCER, stream, &f);
 *
 *   culv_gl_ring_acquire(ring, timeout, &f);                 OpenGL, the consumer
 *   glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 0, culv_gl_ring_name(ring, f.slot, 0));
 *   ... draw ...
 *   culv_gl_ring_release(ring, &f);
 *
 * The calls are the same in each way:
 *
 *   MEMORY    memory objects and semaphores. If OpenGL lacks the semaphores, its two calls wait
 *             on the CPU (culv_gl_ring_waits_on_host()).
 *   REGISTER  registered objects. CUDA's two calls map and unmap them, once for a whole burst, so
 *             their thread needs a context of the attachment (culv_gl_add_context()).
 *   STAGED    copies through host memory, made inside these calls, on the CPU's time. */
#ifndef CULV_GL_RING_H_
#define CULV_GL_RING_H_

#include "gl_check.h"
#include "gl_memory.h"
#include "gl_register.h"
#include "gl_semaphore.h"
#include "ring.h"

CULV_EXTERN_C_BEGIN

/** Opaque: a culv_ring with OpenGL's slots. The thread rules are those of culv_ring. */
typedef struct culv_gl_ring culv_gl_ring;

/** Maximum number of buffers and textures of a slot. */
#define CULV_GL_RING_MAX_RESOURCES 16

/** One buffer or texture that every slot has. Set exactly one of the five. Pass your own objects as
 * arrays of max_depth, one for each slot; they stay yours and must outlive the ring. */
typedef struct culv_gl_ring_resource {
    /** Descriptor by which Culvert makes one for each slot; read during the call. Its `fallback` is
     * for the whole ring: HOST allows the way STAGED, PEER allows copies to another GPU. */
    const culv_gl_buffer_create_desc *buffer;
    const culv_gl_image_create_desc *image;  /**< The same. */
    culv_shared_buffer *const *buffers;      /**< For the ways MEMORY or STAGED. */
    culv_shared_image *const *images;        /**< The same. */
    culv_registration *const *registrations; /**< For the way REGISTER; none of them mapped. */
} culv_gl_ring_resource;

/** Returns a resource with all 0. Threads: any. */
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
    /** OpenGL's side; CUDA has the other. culv_gl_ring_desc_init() sets CONSUMER. */
    culv_ring_side side;
    /** NONE tries MEMORY, then REGISTER, then STAGED, if a resource has a fallback. Any other
     * value: this way or an error. If you ask for STAGED here, no resource needs a fallback. */
    culv_gl_way way;
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
} culv_gl_ring_desc;

/** Returns a default descriptor, with OpenGL as the consumer. Threads: any. */
CULV_INLINE culv_gl_ring_desc culv_gl_ring_desc_init(void)
{
    culv_gl_ring_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    d.side = CULV_RING_CONSUMER;
    return d;
}

/** Makes a ring: all or nothing. The log (level INFO) says which way it took, and why it did not
 * take the earlier ones.
 * Errors: as culv_ring_create(), culv_gl_buffer_create(), culv_gl_image_create(),
 * culv_gl_register_buffer(), culv_gl_register_image() and culv_gl_semaphore_create(). If several
 * ways were refused, the result and the reason are the first one's, and the message names them all.
 * INVALID (VALUE: your objects do not go together, or not with `way`; MAPPED: a registration is
 * mapped).
 * Ownership: *out is yours, for culv_gl_ring_destroy(); it keeps the attachment alive.
 * Threads: the context's. */
CULV_EXPORT culv_result culv_gl_ring_create(culv_gl *gl, const culv_gl_ring_desc *desc,
                                            culv_gl_ring **out);

/** Destroys the ring and all that it made. CUDA's work on it should be done (culv_ring_drain()):
 * see culv_shared_buffer_destroy(). Mapped objects are unmapped.
 * Errors: INVALID (CONTEXT: no context of the attachment is current on this thread; nothing is
 * done), DRIVER (the driver refused: try again).
 * Threads: the context's, after the last call of either side. */
CULV_EXPORT culv_result culv_gl_ring_destroy(culv_gl_ring **ring);

/** Returns the ring's core. CUDA's side uses it with culv_ring_acquire_on(),
 * culv_ring_release_on(), culv_ring_flush_on() and culv_ring_cancel(). What they do depends on the
 * way:
 *
 *   MEMORY    the stream waits for OpenGL's use of the slot, and signals.
 *   REGISTER  acquire maps the objects of a whole burst, and the release or the cancel that ends
 *             it unmaps them. Their thread needs a context of the attachment, and so does
 *             culv_ring_drain()'s. They have culv_registration_map()'s errors too.
 *   STAGED    a consumer's acquire brings the data to CUDA's memory, and a producer's release
 *             brings them to the host. They have the errors of culv_buffer_download() and
 *             culv_buffer_upload() too.
 *
 * culv_ring_acquire(), culv_ring_release() and culv_ring_flush() have no stream, so CUDA's side may
 * call them only with MEMORY (RING_SIDE). culv_ring_release() and culv_ring_flush() refuse OpenGL's
 * side (RING_SIDE). OpenGL's side calls culv_ring_cancel() itself. Only with MEMORY can
 * culv_ring_drain() force (NO_FORCE). NULL for NULL.
 * Ownership: the ring's: culv_ring_destroy() refuses it (OWNED). Threads: any. */
CULV_EXPORT culv_ring *culv_gl_ring_core(const culv_gl_ring *ring);

/** Returns the way that the ring took: MEMORY, REGISTER or STAGED. With CULV_FALLBACK_PEER, MEMORY
 * may be another GPU's (culv_buffer_sharing()). NONE for NULL.
 * Threads: any. */
CULV_EXPORT culv_gl_way culv_gl_ring_way(const culv_gl_ring *ring);

/** Tells whether OpenGL's two calls wait on the CPU for CUDA's work or for OpenGL's own: with
 * MEMORY without GL_EXT_semaphore or GL_NV_timeline_semaphore or across two GPUs, and with STAGED.
 * 0 for NULL.
 * Threads: any. */
CULV_EXPORT culv_bool culv_gl_ring_waits_on_host(const culv_gl_ring *ring);

/** Tells why the earlier ways were refused: a line for each, which ends with '\n'. "" if the first
 * one works, and for NULL.
 * Ownership: the ring owns the text; it is valid until the ring is destroyed. Threads: any. */
CULV_EXPORT const char *culv_gl_ring_refusals(const culv_gl_ring *ring);

/** Returns OpenGL's name of a slot's buffer, texture or renderbuffer. 0 if the slot or the resource
 * does not exist.
 * Ownership: the ring's, or yours when you passed it in: never delete it before the ring.
 * Threads: any. */
CULV_EXPORT uint32_t culv_gl_ring_name(const culv_gl_ring *ring, uint32_t slot, uint32_t resource);

/** Returns CUDA's side of a slot's buffer, whichever way it came. NULL if the resource is an image
 * or does not exist.
 * Ownership: the ring's, or that of your object. Threads: any. */
CULV_EXPORT culv_buffer *culv_gl_ring_buffer(const culv_gl_ring *ring, uint32_t slot,
                                             uint32_t resource);

/** Returns CUDA's side of a slot's texture, whichever way it came. With REGISTER its arrays,
 * surfaces and textures are valid from an acquire to the release: ask again in each frame. NULL if
 * the resource is a buffer or does not exist.
 * Ownership: the ring's, or that of your object. Threads: any. */
CULV_EXPORT culv_image *culv_gl_ring_image(const culv_gl_ring *ring, uint32_t slot,
                                           uint32_t resource);

/** Returns the first byte of a slot's buffer in CUDA. With REGISTER it is valid from an acquire to
 * the release, may differ after the next acquire, and is 0 while CUDA does not have the slot. 0 if
 * the resource is an image or does not exist.
 * Ownership: as culv_gl_ring_buffer(). Threads: any; with REGISTER those of CUDA's side. */
CULV_EXPORT CUdeviceptr culv_gl_ring_pointer(const culv_gl_ring *ring, uint32_t slot,
                                             uint32_t resource);

/** Gets Does what culv_ring_acquire() does, for OpenGL's side, and makes later OpenGL commands of
 * this context wait for CUDA's work. If that wait is on the CPU, `timeout` covers it too, and the
 * call gives the slot back if the time is up (RING_LATE). With STAGED, a consumer's data are copied
 * into the GL objects. After an error nothing is acquired.
 * Errors: as culv_ring_acquire(), culv_gl_semaphore_wait() and culv_gl_buffer_upload().
 * Ownership: the slot is yours until culv_gl_ring_release() or culv_ring_cancel().
 * Threads: the context's, one at a time for the side. */
CULV_EXPORT culv_result culv_gl_ring_acquire(culv_gl_ring *ring, uint64_t timeout,
                                             culv_ring_frame *out);

/** Does what culv_ring_release() does, for OpenGL's side, after its earlier commands of this
 * context. With STAGED, a producer's data are read back first, which waits for OpenGL. After an
 * error the side still holds the frame.
 * Errors: as culv_ring_release(), culv_gl_semaphore_signal() and culv_gl_buffer_download().
 * Ownership: the slot belongs to CUDA's side. Threads: as culv_gl_ring_acquire(). */
CULV_EXPORT culv_result culv_gl_ring_release(culv_gl_ring *ring, culv_ring_frame *frame);

/** Does what culv_ring_flush() does, for OpenGL's side, and signals.
 * Errors: as culv_gl_ring_release(). Threads: as culv_gl_ring_acquire(). */
CULV_EXPORT culv_result culv_gl_ring_flush(culv_gl_ring *ring);

CULV_EXTERN_C_END

#endif
