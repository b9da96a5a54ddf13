/* SPDX-License-Identifier: MIT */
/* Culvert: buffers and images of your own program that are registered with CUDA. CUDA has such an
 * object from a map to an unmap, and the graphics API has it the rest of the time. Each API
 * registers by its own call (culv_gl_register_buffer(), culv_gl_register_image() in
 * culvert/gl_register.h; culv_d3d9_register(), culv_d3d10_register(), culv_d3d11_register() in
 * culvert/d3d_register.h). The rest is here, and is the same for all.
 *
 *   culv_registration_map(&vertices, 1, stream);                   each frame
 *   kernel<<<..., stream>>>(culv_registration_pointer(vertices), ...);
 *   culv_registration_unmap(&vertices, 1, stream);
 *
 * "The API's thread" in these comments: for OpenGL a thread on which a context of the attachment is
 * current, for Direct3D the thread where you call Direct3D. */
#ifndef CULV_REGISTRATION_H_
#define CULV_REGISTRATION_H_

#include "image.h"
#include "memory.h"

CULV_EXTERN_C_BEGIN

/** Opaque: a buffer or an image of yours that is registered with CUDA. */
typedef struct culv_registration culv_registration;

/** What CUDA does with an object while it is mapped. */
typedef enum culv_access {
    CULV_ACCESS_READ_WRITE = 0,
    /** CUDA only reads. What it writes nevertheless may be lost, and NVIDIA's driver does not tell;
     * on the twin culv_registration_unmap() does (DRIVER). */
    CULV_ACCESS_READ_ONLY = 1,
    /** CUDA writes all of it and reads nothing: what was in it before is undefined. */
    CULV_ACCESS_WRITE_DISCARD = 2,
    CULV_ACCESS_FORCE32 = 0x7fffffff
} culv_access;

/** Ends a registration and sets *registration to NULL. A mapped object is unmapped first, in the
 * stream in which it was mapped. CUDA's use of its surfaces and textures should be over; the call
 * waits for it otherwise. After culv_gl_lose_contexts() the driver's part of it is left to the CUDA
 * context. NULL, or a pointer to NULL, is a no-op.
 * Errors: INVALID (OWNED: it is a part of a culv_gl_readback or of a ring; CONTEXT: it is OpenGL's,
 * and no context of its attachment is current on this thread). Nothing is done then, and
 * *registration stays. DRIVER (the driver refused; *registration stays, try again).
 * Ownership: *registration is Culvert's again, unless the call failed. The object stays yours; the
 * COM reference that CUDA had of Direct3D's is released.
 * Threads: the API's thread, ordered with other calls on this object.
 * Source: cuda.h, cuGraphicsUnregisterResource. */
CULV_EXPORT culv_result culv_registration_destroy(culv_registration **registration);

/** Gives `count` objects to CUDA, all or none, in one call of the driver. What the API was told to
 * do before (in OpenGL: in this context) is done before the work that the stream gets next. The API
 * must not use the objects until the unmap. `count` 0 is a no-op. More than 64 take an allocation.
 * Errors: INVALID (NULL_ARGUMENT; CONTEXT: as culv_registration_destroy(); MAPPED: one is mapped
 * already; VALUE: one is listed twice, is of another API or another attachment than the first, or
 * is OpenGL's and not what was registered any longer: deleted, resized; DEVICE_MISMATCH: one was
 * registered with another culv_device; SIZE; CAPTURE: the stream is being captured; STREAM_DEVICE),
 * DRIVER, ASYNC, OUT_OF_MEMORY.
 * Threads: the API's thread, ordered with other calls on these objects.
 * Source: cuda.h, cuGraphicsMapResources. */
CULV_EXPORT culv_result culv_registration_map(culv_registration *const *registrations,
                                              uint32_t count, CUstream stream);

/** Gives the objects back to the API. What the stream was told to do before is done before the work
 * that the API gets next; work in other streams is not waited for. Pointers, arrays, surfaces and
 * textures of the objects end here: ask again after each map. `count` 0 is a no-op.
 * Errors: as culv_registration_map(), and INVALID (NOT_MAPPED). DRIVER with
 * CUDA_ERROR_UNMAP_FAILED: they are unmapped, but what CUDA wrote is lost.
 * Threads: the API's thread, ordered with other calls on these objects.
 * Source: cuda.h, cuGraphicsUnmapResources. */
CULV_EXPORT culv_result culv_registration_unmap(culv_registration *const *registrations,
                                                uint32_t count, CUstream stream);

/** Whether it is mapped. 0 for NULL.
 * Threads: any, ordered with maps and unmaps. */
CULV_EXPORT culv_bool culv_registration_is_mapped(const culv_registration *registration);

/** CUDA's side of a registered buffer. Its culv_buffer_pointer() is 0 while it is not mapped, and
 * may be another one after each map. NULL for NULL, and for an image.
 * Ownership: Culvert's, valid until the registration is destroyed; culv_buffer_unmap() refuses it.
 * Threads: any. */
CULV_EXPORT culv_buffer *culv_registration_buffer(const culv_registration *registration);

/** CUDA's side of a registered image. Its arrays, surfaces and textures are there while it is
 * mapped; otherwise the calls that give them answer NOT_MAPPED. NULL for NULL, and for a buffer.
 * Ownership: Culvert's, valid until the registration is destroyed; culv_image_unmap() refuses it.
 * Threads: any. */
CULV_EXPORT culv_image *culv_registration_image(const culv_registration *registration);

/** The first byte of a mapped buffer in CUDA. 0 for NULL, for an image, and while it is not mapped.
 * Ownership: the driver's, valid until the unmap.
 * Threads: any, ordered with maps and unmaps. */
CULV_EXPORT CUdeviceptr culv_registration_pointer(const culv_registration *registration);

/** The array of one layer, or of one face of a cube (+x, -x, +y, -y, +z, -z), of a level of a
 * mapped image: Direct3D's sub-resource `level + layer * levels`. culv_image_get_array() gives all
 * layers of a level in one array, of which copies reach all layers of a 2D array but, of OpenGL's,
 * only the first face of a cube (an H200's driver): copy the others by this call.
 * Errors: INVALID (NULL_ARGUMENT, LEVEL, NOT_MAPPED; USAGE: it is a buffer), DRIVER, ASYNC.
 * Ownership: the driver's, valid until the unmap; never destroy it.
 * Threads: any, ordered with maps and unmaps.
 * Source: cuda.h, cuGraphicsSubResourceGetMappedArray. */
CULV_EXPORT culv_result culv_registration_get_array(const culv_registration *registration,
                                                    uint32_t layer, uint32_t level, CUarray *out);

/** Says what CUDA does with the object from the next map on. OpenGL's was registered with an access
 * too, and keeps that besides.
 * Errors: INVALID (NULL_ARGUMENT, VALUE; MAPPED: it is mapped now), DRIVER, ASYNC.
 * Threads: any, ordered with other calls on this object.
 * Source: cuda.h, cuGraphicsResourceSetMapFlags. */
CULV_EXPORT culv_result culv_registration_set_access(culv_registration *registration,
                                                     culv_access access);

CULV_EXTERN_C_END

#endif
