/* SPDX-License-Identifier: MIT */
/* Culvert: buffers, images and semaphores that Culvert makes. Each has two halves, one in a
 * graphics API and one in CUDA. Each API has its own calls that make them (culv_vk_buffer_create(),
 * culv_gl_image_create(), culv_d3d_semaphore_create() ...) and that return its half
 * (culv_vk_buffer_handle(), culv_gl_image_name() ...). The calls below serve all APIs.
 *
 *   culv_vk_buffer_create(vk, &desc, &buffer);
 *   VkBuffer in_vulkan = culv_vk_buffer_handle(buffer);
 *   CUdeviceptr in_cuda = culv_shared_buffer_pointer(buffer);
 *   ...
 *   culv_shared_buffer_destroy(&buffer, &stream);
 *
 * A call of one API refuses an object of another API. */
#ifndef CULV_SHARED_H_
#define CULV_SHARED_H_

#include "image.h"
#include "memory.h"
#include "semaphore.h"

CULV_EXTERN_C_BEGIN

/** Opaque: a buffer in its own memory, which a graphics API and CUDA use. */
typedef struct culv_shared_buffer culv_shared_buffer;
/** Opaque: an image in its own memory, which a graphics API and CUDA use. */
typedef struct culv_shared_image culv_shared_image;
/** Opaque: a semaphore that a graphics API and CUDA signal and wait for. */
typedef struct culv_shared_semaphore culv_shared_semaphore;

/** Unmaps the buffer from CUDA, releases the import, destroys the API's buffer and frees its
 * memory. The API's work with it must be done, as for vkDestroyBuffer; OpenGL keeps the memory
 * until its own work is done.
 *
 * If last_use is NULL, CUDA's work should have finished: the call may wait for it
 * (culv_buffer_unmap()). For a buffer in host memory it must have finished: CUDA's documents do not
 * say that cuMemHostUnregister waits.
 *
 * If last_use is not NULL, the call never waits for CUDA, and DEFERS the release of CUDA's half
 * until the work in *last_use has finished. Until then, do not free the pages of
 * culv_vk_buffer_create_desc::host_pointer. On the HOST path (below), the pinned memory may belong
 * to the API: it is freed with the mapping, or at the latest when you detach the API's device
 * (culv_vk_detach() and similar calls). After that, the call that destroys the last object of that
 * device waits.
 * Errors: INVALID (OWNED: it is a part of a ring, a bridge or a shadow; CONTEXT: it is an OpenGL
 * object, and no context of its attachment is current on this thread). After an error nothing has
 * changed.
 * Threads: any (OpenGL: the context's thread), but not during another call on this object or the
 * destruction of its VkDevice. */
CULV_EXPORT culv_result culv_shared_buffer_destroy(culv_shared_buffer **buffer,
                                                   const CUstream *last_use);

/** Returns CUDA's half of the buffer, which has its pointer and size, or NULL for NULL.
 * Ownership: Culvert owns it, until the buffer is destroyed; culv_buffer_unmap() refuses it. */
CULV_EXPORT culv_buffer *culv_shared_buffer_cuda(const culv_shared_buffer *buffer);

/** Returns the buffer's address in CUDA, which is culv_buffer_pointer() of
 * culv_shared_buffer_cuda(), or 0 for NULL.
 * Ownership: Culvert owns it, until the buffer is destroyed. */
CULV_EXPORT CUdeviceptr culv_shared_buffer_pointer(const culv_shared_buffer *buffer);

/** Does what culv_shared_buffer_destroy() does for an image. Destroy your views of it first.
 * Errors: as culv_shared_buffer_destroy(). Threads: as there. */
CULV_EXPORT culv_result culv_shared_image_destroy(culv_shared_image **image,
                                                  const CUstream *last_use);

/** Returns CUDA's half of the image, which has its arrays, surfaces and textures, or NULL for NULL.
 * Ownership: Culvert owns it, until the image is destroyed; culv_image_unmap() refuses it. */
CULV_EXPORT culv_image *culv_shared_image_cuda(const culv_shared_image *image);

/** Destroys CUDA's import and the API's semaphore. The API's work with it must be done, as for
 * vkDestroySemaphore.
 *
 * If last_use is NULL, CUDA's work should have finished: the call waits for it, as
 * culv_semaphore_destroy() does. If CUDA still waits for a timeline's value that the other side
 * should signal, the call waits a second for that signal. Then it signals the value itself and logs
 * a warning.
 *
 * If last_use is not NULL, the call never waits for CUDA, and DEFERS the release of CUDA's half
 * until the work in *last_use has finished. On the HOST path, the API's semaphore is destroyed when
 * no host function is pending, or at the latest when you detach. After that, the call waits if it
 * destroys the last object of the device.
 * Errors: as culv_shared_buffer_destroy(). Threads: as culv_shared_buffer_destroy(). */
CULV_EXPORT culv_result culv_shared_semaphore_destroy(culv_shared_semaphore **semaphore,
                                                      const CUstream *last_use);

/** Signals the highest value that CUDA waits for on a timeline, if the timeline has not reached it.
 * Call it if the submission that should signal that value failed, or if an error came between
 * culv_semaphore_wait() and the submission. Without it, a call that waits for CUDA's work, such as
 * the destruction of a buffer, can wait for ever. With it, CUDA's work after the wait reads data
 * that was never written. No submission that signals the timeline may be pending. For a ring's
 * timeline use culv_ring_submit_failed().
 * Errors: INVALID (NULL_ARGUMENT; VALUE: it is a binary semaphore), DRIVER, ASYNC (DEVICE_LOST).
 * Threads: any, one at a time for each semaphore. */
CULV_EXPORT culv_result culv_shared_semaphore_submit_failed(culv_shared_semaphore *semaphore);

/** Returns CUDA's half of the semaphore, for culv_semaphore_signal() and culv_semaphore_wait(), or
 * NULL for NULL.
 * Ownership: Culvert owns it, until the semaphore is destroyed; culv_semaphore_destroy() refuses
 * it. */
CULV_EXPORT culv_semaphore *culv_shared_semaphore_cuda(const culv_shared_semaphore *semaphore);

/** Waits on the host until a timeline has reached `value`, for at most `timeout` nanoseconds (0: it
 * does not wait). Either side may signal the value. If you call this before culv_semaphore_wait(),
 * or before a submission that waits, the GPU does not have to wait. Do not leave out the GPU's
 * wait: it also makes the other side's writes visible. docs/waits.md says what it costs and when to
 * use it.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: it is a binary semaphore), TIMEOUT (NOT_READY),
 * UNSUPPORTED (EXTENSION_MISSING: the device has no timelines that the host can wait for), DRIVER,
 * ASYNC (DEVICE_LOST).
 * Threads: any, several at the same time.
 * Source: Vulkan specification, vkWaitSemaphores; ID3D12Fence::SetEventOnCompletion. */
CULV_EXPORT culv_result culv_shared_semaphore_wait_on_host(const culv_shared_semaphore *semaphore,
                                                           uint64_t value, uint64_t timeout);

/* What cannot be shared ------------------------------------------------------------------------ */

/* Culvert can copy if sharing is impossible: the graphics API uses another GPU, it exports nothing
 * (WSL, remote desktop), or CUDA cannot map the format. A program must ask for such a fallback
 * (culv_vk_buffer_create_desc::fallback and similar fields; culv_vk_device_desc::fallback for
 * another GPU), and each object says whether it uses one. docs/fallback.md shows a frame, and what
 * each fallback costs.
 *
 *   PEER   The resource is shared with the CUDA device of its own GPU. Copies go from GPU to GPU,
 *          between that device and the memory of the culv_device.
 *   HOST   Only the graphics API uses the resource. Pinned host memory lies in between, with one
 *          copy on either side of it.
 *
 * Write the program once for sharing and both fallbacks: call culv_buffer_copy() or
 * culv_image_copy() after CUDA's last write and before CUDA's first read, and record the copies of
 * culvert/vulkan_memory.h into its command buffers. If memory is shared (SHARED, DIRECT), all of
 * these calls do nothing. */

/** The way in which CUDA reaches an object of a graphics API. */
typedef enum culv_sharing {
    CULV_SHARING_SHARED = 0, /**< The same memory: no copy. */
    CULV_SHARING_PEER = 1,   /**< Separate memory, with copies to and from the other GPU. */
    CULV_SHARING_HOST = 2,   /**< Separate memory, with copies to and from pinned host memory. */
    /** The same memory, which lies on another GPU than the culv_device: no copy
     * (culv_vk_device_desc::allow_other_gpu). */
    CULV_SHARING_DIRECT = 3,
    CULV_SHARING_FORCE32 = 0x7fffffff
} culv_sharing;

/** The fallbacks that Culvert may use if sharing is impossible, in the order in which it tries
 * them. Zero allows no fallback. */
typedef enum culv_fallback {
    CULV_FALLBACK_PEER = 1,
    CULV_FALLBACK_HOST = 2,
    CULV_FALLBACK_ANY = 3,
    CULV_FALLBACK_FORCE32 = 0x7fffffff
} culv_fallback;

/** Returns the name of a way of sharing, for example "SHARED".
 * Errors: none; "unknown" for other values.
 * Ownership: a static string, never NULL. */
CULV_EXPORT const char *culv_sharing_name(culv_sharing sharing);

/** Returns the way in which CUDA reaches a buffer, or SHARED for NULL. */
CULV_EXPORT culv_sharing culv_buffer_sharing(const culv_buffer *buffer);

/** Returns the way in which CUDA reaches an image, or SHARED for NULL. */
CULV_EXPORT culv_sharing culv_image_sharing(const culv_image *image);

/** Returns the way in which CUDA reaches a semaphore, or SHARED for NULL. It is also SHARED if the
 * semaphore is another GPU's and CUDA signals it directly (culv_vk_device_desc::allow_other_gpu).
 * PEER: signals and waits run on the other GPU, and events order them with the caller's stream.
 * HOST: host functions in the stream signal and wait. A pending wait blocks a thread of the CUDA
 * driver, so that host functions of other streams do not run: no such wait may depend on one of
 * them. */
CULV_EXPORT culv_sharing culv_semaphore_sharing(const culv_semaphore *semaphore);

/** The direction of a fallback's copy. */
typedef enum culv_copy {
    /** From CUDA to the graphics API. Call CUDA's half after CUDA's last write and before the
     * signal that the graphics API waits for. Record the graphics API's half after that wait. */
    CULV_COPY_UPLOAD = 0,
    /** From the graphics API to CUDA. Record the graphics API's half after its last use and before
     * the signal that CUDA waits for. Call CUDA's half after that wait and before CUDA's first
     * read. */
    CULV_COPY_DOWNLOAD = 1,
    CULV_COPY_FORCE32 = 0x7fffffff
} culv_copy;

/** Does CUDA's half of a copy of the whole buffer, in the stream. SHARED: does nothing. HOST:
 * culv_vk_buffer_record_copy() or culv_gl_copy() does the graphics API's half.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: no such direction; STREAM_DEVICE ...), DRIVER, ASYNC.
 * Threads: any, one at a time for a buffer. */
CULV_EXPORT culv_result culv_buffer_copy(culv_buffer *buffer, culv_copy copy, CUstream stream);

/** Does what culv_buffer_copy() does for an image: all levels, layers and planes.
 * Errors: as culv_buffer_copy(). Threads: any, one at a time for an image. */
CULV_EXPORT culv_result culv_image_copy(culv_image *image, culv_copy copy, CUstream stream);

/** Texels in linear memory, for one level or one plane of an image. */
typedef struct culv_image_field {
    size_t struct_size;  /**< Set by culv_image_field_init(). */
    CUdeviceptr pointer; /**< Required. The first block, in memory that the device reaches. */
    uint64_t row_pitch;  /**< Bytes from one row of blocks to the next. 0: rows are packed. */
    /** Bytes from one slice or layer to the next, a multiple of row_pitch. 0: they are packed. */
    uint64_t slice_pitch;
    uint32_t level; /**< The mip level; 0 for an image of several planes. */
    uint32_t plane; /**< The plane, if there are several; 1 for stencil beside depth; else 0. */
} culv_image_field;

CULV_INIT(culv_image_field)

/** Copies linear texels into a whole level (or plane) of an image, in `stream`. The texels go
 * directly to the memory that the graphics API reads: to the shared array, to the image on the
 * other GPU (PEER), or to the host memory that the copies of culvert/vulkan_memory.h read (HOST).
 * With PEER and HOST, the device's own arrays do not change, so do not call culv_image_copy() for
 * the same frame.
 *
 * CUDA's copies into arrays are faster than vkCmdCopyBufferToImage in Vulkan's queue, and the
 * kernel of culv_image_prepare_write() is faster than both.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; LEVEL: the image has no such level or plane; VALUE:
 * a pitch is smaller than a row or a slice, or slice_pitch is no multiple of row_pitch; NOT_MAPPED;
 * STREAM_DEVICE), UNSUPPORTED (FORMAT: a shared image without arrays), DRIVER, ASYNC,
 * OUT_OF_MEMORY.
 * Threads: any, one at a time for an image.
 * Source: cuda.h, cuMemcpy3DAsync, cuMemcpy3DPeerAsync. */
CULV_EXPORT culv_result culv_image_write(culv_image *image, const culv_image_field *field,
                                         CUstream stream);

/** Loads a kernel, by which culv_image_write() then fills this shared image. It is faster than
 * CUDA's copy: on an H200 (driver 580.159.04, 4096 x 4096), RGBA8 1,812 GB/s (copy: 411), RGBA32F
 * 2,025 GB/s (copy: 422). Each image needs this call once. Do not call it while GPU work waits for
 * this thread, because it can deadlock: on an H200, the driver returned only after a stream that
 * waited for the host had continued. The driver compiles and loads the kernel in 10 ms, or in 100
 * ms if it is the process's first module. If there is no such kernel (PEER and HOST, 1D images,
 * images without surfaces, a driver that compiles no PTX, such as the twin's), the call does
 * nothing and returns CULV_OK.
 * Errors: INVALID (NULL_ARGUMENT, NOT_MAPPED), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Source: PTX ISA, sust; cuda.h, cuModuleLoadData. */
CULV_EXPORT culv_result culv_image_prepare_write(culv_image *image);

/* Registered objects --------------------------------------------------------------------------- */

/* Buffers and images of your own program that are registered with CUDA. CUDA has such an object
 * from a map to an unmap, and the graphics API has it the rest of the time. Each API has its own
 * calls that register (culvert/gl_register.h, culvert/d3d_register.h). The calls below serve all
 * APIs.
 *
 * "The API's thread" in these comments is, for OpenGL, a thread on which a context of the
 * attachment is current; for Direct3D, the thread that calls Direct3D. */

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
 * CUDA's work with its surfaces and textures should have finished; otherwise the call waits for it.
 * After culv_gl_lose_contexts(), the driver's registration stays until the CUDA context ends.
 * Errors: INVALID (OWNED: it is a part of a ring; CONTEXT: it is an OpenGL object, and no context
 * of its attachment is current on this thread). After these errors nothing has changed. DRIVER (the
 * driver refused: try again).
 * Ownership: the object stays yours. CUDA releases its COM reference of a Direct3D object.
 * Threads: the API's thread, ordered with other calls on this object.
 * Source: cuda.h, cuGraphicsUnregisterResource. */
CULV_EXPORT culv_result culv_registration_destroy(culv_registration **registration);

/** Gives `count` objects to CUDA, all or none, in one call of the driver. Later work of the stream
 * comes after earlier work of the API (in OpenGL: of this context). The API must not use the
 * objects until the unmap. If count is 0, the call does nothing. If count exceeds 64, it allocates
 * memory.
 * Errors: INVALID (NULL_ARGUMENT; CONTEXT: as culv_registration_destroy(); MAPPED: one is mapped
 * already; VALUE: one is listed twice, belongs to another API or another attachment than the first,
 * or is an OpenGL object that was deleted or resized since it was registered; DEVICE_MISMATCH: one
 * was registered with another culv_device; SIZE; CAPTURE: the stream is being captured;
 * STREAM_DEVICE), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Threads: the API's thread, ordered with other calls on these objects.
 * Source: cuda.h, cuGraphicsMapResources. */
CULV_EXPORT culv_result culv_registration_map(culv_registration *const *registrations,
                                              uint32_t count, CUstream stream);

/** Gives the objects back to the API. Later work of the API comes after earlier work of this
 * stream, but it does not wait for other streams. Pointers, arrays, surfaces and textures of the
 * objects become invalid: ask again after each map. If count is 0, the call does nothing.
 * Errors: as culv_registration_map(), and INVALID (NOT_MAPPED). DRIVER with
 * CUDA_ERROR_UNMAP_FAILED: they are unmapped, but what CUDA wrote is lost.
 * Threads: the API's thread, ordered with other calls on these objects.
 * Source: cuda.h, cuGraphicsUnmapResources. */
CULV_EXPORT culv_result culv_registration_unmap(culv_registration *const *registrations,
                                                uint32_t count, CUstream stream);

/** Tells whether the object is mapped. Returns 0 for NULL. Threads: any, but not during a map or
 * unmap. */
CULV_EXPORT culv_bool culv_registration_is_mapped(const culv_registration *registration);

/** Returns CUDA's side of a registered buffer, or NULL for an image or for NULL. Its
 * culv_buffer_pointer() is 0 while it is not mapped, and may change with each map.
 * Ownership: Culvert owns it, until the registration is destroyed; culv_buffer_unmap() refuses
 * it. */
CULV_EXPORT culv_buffer *culv_registration_buffer(const culv_registration *registration);

/** Returns CUDA's side of a registered image, or NULL for a buffer or for NULL. Its arrays,
 * surfaces and textures exist while it is mapped; otherwise the calls that return them answer
 * NOT_MAPPED.
 * Ownership: Culvert owns it, until the registration is destroyed; culv_image_unmap() refuses
 * it. */
CULV_EXPORT culv_image *culv_registration_image(const culv_registration *registration);

/** Returns a mapped buffer's address in CUDA, or 0 for NULL, for an image, and while it is not
 * mapped.
 * Ownership: the driver owns it, until the unmap. Threads: any, but not during a map or unmap. */
CULV_EXPORT CUdeviceptr culv_registration_pointer(const culv_registration *registration);

/** Gets the array of one layer (or of one face of a cube: +x, -x, +y, -y, +z, -z) of one level of a
 * mapped image: in Direct3D, the sub-resource `level + layer * levels`. culv_image_get_array()
 * returns all layers of a level in one array. A copy of that array reaches all layers of a 2D
 * array, but only the first face of an OpenGL cube (measured on an H200): get the arrays of the
 * other faces by this call.
 * Errors: INVALID (NULL_ARGUMENT, LEVEL, NOT_MAPPED; USAGE: it is a buffer), DRIVER, ASYNC.
 * Ownership: the driver owns it, until the unmap; never destroy it.
 * Threads: any, ordered with maps and unmaps.
 * Source: cuda.h, cuGraphicsSubResourceGetMappedArray. */
CULV_EXPORT culv_result culv_registration_get_array(const culv_registration *registration,
                                                    uint32_t layer, uint32_t level, CUarray *out);

CULV_EXTERN_C_END

#endif
