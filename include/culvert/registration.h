/* SPDX-License-Identifier: MIT */
/* Culvert: buffers and images of your own program that are registered with CUDA. CUDA has such an
 * object from a map to an unmap, and the graphics API has it the rest of the time. Each API has its
 * own calls that register (culvert/gl_register.h, culvert/d3d_register.h). The calls of this header
 * serve all APIs.
 *
 * "The API's thread" in these comments is, for OpenGL, a thread on which a context of the
 * attachment is current; for Direct3D, the thread that calls Direct3D. */
#ifndef CULV_REGISTRATION_H_
#define CULV_REGISTRATION_H_

#include "image.h"
#include "memory.h"

CULV_EXTERN_C_BEGIN

/** Opaque: your buffer or image, registered with CUDA. */
typedef struct culv_registration culv_registration;

/** The way in which CUDA uses an object while it is mapped. */
typedef enum culv_access {
    CULV_ACCESS_READ_WRITE = 0,
    /** CUDA only reads. Writes may be lost, and NVIDIA's driver reports nothing; on the twin
     * culv_registration_unmap() answers DRIVER. */
    CULV_ACCESS_READ_ONLY = 1,
    /** CUDA writes all of it and reads nothing: the old contents are undefined. */
    CULV_ACCESS_WRITE_DISCARD = 2,
    CULV_ACCESS_FORCE32 = 0x7fffffff
} culv_access;

/** Ends a registration. A mapped object is unmapped first, in the stream in which it was mapped.
 * CUDA's work with its surfaces and textures should be done; otherwise the call waits for it. After
 * culv_gl_lose_contexts() the driver's part is left to the CUDA context.
 * Errors: INVALID (OWNED: it is a part of a ring; CONTEXT: it is OpenGL's,
 * and no context of its attachment is current on this thread). Nothing is done then. DRIVER (the
 * driver refused: try again).
 * Ownership: the object stays yours. CUDA's COM reference of a Direct3D object is released.
 * Threads: the API's thread, ordered with other calls on this object.
 * Source: cuda.h, cuGraphicsUnregisterResource. */
CULV_EXPORT culv_result culv_registration_destroy(culv_registration **registration);

/** Gives `count` objects to CUDA, all or none, in one call of the driver. Earlier work of the API
 * (in OpenGL: of this context) is done before later work of the stream. The API must not use the
 * objects until the unmap. `count` 0 is a no-op. More than 64 take an allocation.
 * Errors: INVALID (NULL_ARGUMENT; CONTEXT: as culv_registration_destroy(); MAPPED: one is mapped
 * already; VALUE: one is listed twice, is of another API or another attachment than the first, or
 * is OpenGL's and was deleted or resized since it was registered; DEVICE_MISMATCH: one was
 * registered with another culv_device; SIZE; CAPTURE: the stream is being captured; STREAM_DEVICE),
 * DRIVER, ASYNC, OUT_OF_MEMORY.
 * Threads: the API's thread, ordered with other calls on these objects.
 * Source: cuda.h, cuGraphicsMapResources. */
CULV_EXPORT culv_result culv_registration_map(culv_registration *const *registrations,
                                              uint32_t count, CUstream stream);

/** Gives the objects back to the API. Earlier work of the stream is done before later work of the
 * API; work in other streams is not waited for. Pointers, arrays, surfaces and textures of the
 * objects become invalid: ask again after each map. `count` 0 is a no-op.
 * Errors: as culv_registration_map(), and INVALID (NOT_MAPPED). DRIVER with
 * CUDA_ERROR_UNMAP_FAILED: they are unmapped, but what CUDA wrote is lost.
 * Threads: the API's thread, ordered with other calls on these objects.
 * Source: cuda.h, cuGraphicsUnmapResources. */
CULV_EXPORT culv_result culv_registration_unmap(culv_registration *const *registrations,
                                                uint32_t count, CUstream stream);

/** Tells whether the object is mapped. 0 for NULL. Threads: any, ordered with maps and unmaps. */
CULV_EXPORT culv_bool culv_registration_is_mapped(const culv_registration *registration);

/** Returns CUDA's side of a registered buffer. Its culv_buffer_pointer() is 0 while it is not
 * mapped, and may be another one after each map. NULL for NULL, and for an image.
 * Ownership: Culvert's, valid until the registration is destroyed; culv_buffer_unmap() refuses it.
 * Threads: any. */
CULV_EXPORT culv_buffer *culv_registration_buffer(const culv_registration *registration);

/** Returns CUDA's side of a registered image. Its arrays, surfaces and textures exist while it is
 * mapped; otherwise the calls that return them answer NOT_MAPPED. NULL for NULL, and for a buffer.
 * Ownership: Culvert's, valid until the registration is destroyed; culv_image_unmap() refuses it.
 * Threads: any. */
CULV_EXPORT culv_image *culv_registration_image(const culv_registration *registration);

/** Returns the first byte of a mapped buffer in CUDA. 0 for NULL, for an image, and while it is not
 * mapped.
 * Ownership: the driver's, valid until the unmap. Threads: any, ordered with maps and unmaps. */
CULV_EXPORT CUdeviceptr culv_registration_pointer(const culv_registration *registration);

/** Gets the array of one layer, or of one face of a cube (+x, -x, +y, -y, +z, -z), of a level of a
 * mapped image: Direct3D's sub-resource `level + layer * levels`. culv_image_get_array() returns
 * all layers of a level in one array. Copies of it reach all layers of a 2D array, but only the
 * first face of an OpenGL cube (an H200's driver): copy the other faces by this call.
 * Errors: INVALID (NULL_ARGUMENT, LEVEL, NOT_MAPPED; USAGE: it is a buffer), DRIVER, ASYNC.
 * Ownership: the driver's, valid until the unmap; never destroy it.
 * Threads: any, ordered with maps and unmaps.
 * Source: cuda.h, cuGraphicsSubResourceGetMappedArray. */
CULV_EXPORT culv_result culv_registration_get_array(const culv_registration *registration,
                                                    uint32_t layer, uint32_t level, CUarray *out);

CULV_EXTERN_C_END

#endif
