/* SPDX-License-Identifier: MIT */
/* Culvert: buffers, images and semaphores that Culvert makes and that have two halves, one in a
 * graphics API and one in CUDA. Each API makes them by its own call (culv_vk_buffer_create(),
 * culv_gl_image_create(), culv_d3d12_semaphore_create() ...) and tells its own half
 * (culv_vk_buffer_handle(), culv_gl_image_name() ...). The rest is here, and is the same for all.
 *
 *   culv_vk_buffer_create(vk, &desc, &buffer);
 *   VkBuffer in_vulkan = culv_vk_buffer_handle(buffer);
 *   CUdeviceptr in_cuda = culv_shared_buffer_pointer(buffer);
 *   ...
 *   culv_shared_buffer_destroy(&buffer);
 *
 * A call of one API refuses an object of another API. */
#ifndef CULV_SHARED_H_
#define CULV_SHARED_H_

#include "image.h"
#include "memory.h"
#include "semaphore.h"

CULV_EXTERN_C_BEGIN

/** Opaque: a buffer in memory of its own, which a graphics API and CUDA use. */
typedef struct culv_shared_buffer culv_shared_buffer;
/** Opaque: an image in memory of its own, which a graphics API and CUDA use. */
typedef struct culv_shared_image culv_shared_image;
/** Opaque: a semaphore that a graphics API and CUDA signal and wait for. */
typedef struct culv_shared_semaphore culv_shared_semaphore;

/** Unmaps the buffer from CUDA, gives the import up, destroys the API's buffer and frees its
 * memory, in this order. Sets *buffer to NULL. NULL, or a pointer to NULL, is a no-op.
 *
 * The API's use of the buffer must be over, as for vkDestroyBuffer; OpenGL keeps the memory until
 * its own work is done. CUDA's use should be over: the call may wait for it, as
 * culv_buffer_unmap() describes. For a buffer in host memory CUDA's use must be over too (no text
 * says that unregistering waits); its pages are freed last.
 * Errors: INVALID (OWNED: it is a part of a ring, a bridge or a shadow; CONTEXT: it is OpenGL's,
 * and no context of its attachment is current on this thread). Nothing is done then, and *buffer
 * stays.
 * Ownership: *buffer is Culvert's again, unless the call failed.
 * Threads: any, and for OpenGL's the context's; ordered with other calls on this object and with
 * the destruction of its VkDevice. */
CULV_EXPORT culv_result culv_shared_buffer_destroy(culv_shared_buffer **buffer);

/** Does the same as culv_shared_buffer_destroy(), but never waits for CUDA. The mapping is released
 * as culv_buffer_unmap_after() describes, and keeps the pages until then, also your own pages of
 * culv_vk_buffer_create_desc::host_pointer. The API's use must be over now. With HOST
 * (culvert/fallback.h) the memory of the copies may be the API's: it is freed with the mapping, at
 * the latest when you detach. After that, the call that destroys the last object of the attachment
 * waits.
 * Errors: as culv_shared_buffer_destroy().
 * Ownership: as there.
 * Threads: as there. */
CULV_EXPORT culv_result culv_shared_buffer_destroy_after(culv_shared_buffer **buffer,
                                                         CUstream last_use);

/** CUDA's half of the buffer: its pointer and size. NULL for NULL.
 * Ownership: Culvert's, valid until the buffer is destroyed; culv_buffer_unmap() refuses it.
 * Threads: any. */
CULV_EXPORT culv_buffer *culv_shared_buffer_cuda(const culv_shared_buffer *buffer);

/** The first byte of the buffer in CUDA: culv_buffer_pointer() of culv_shared_buffer_cuda(). 0 for
 * NULL.
 * Ownership: Culvert's, valid until the buffer is destroyed.
 * Threads: any. */
CULV_EXPORT CUdeviceptr culv_shared_buffer_pointer(const culv_shared_buffer *buffer);

/** Does the same as culv_shared_buffer_destroy() for an image. Destroy your views of it first.
 * Errors: as culv_shared_buffer_destroy().
 * Ownership: as there.
 * Threads: as there. */
CULV_EXPORT culv_result culv_shared_image_destroy(culv_shared_image **image);

/** Does the same as culv_shared_buffer_destroy_after() for an image. Destroy your views of it
 * first.
 * Errors: as culv_shared_buffer_destroy().
 * Ownership: as there.
 * Threads: as there. */
CULV_EXPORT culv_result culv_shared_image_destroy_after(culv_shared_image **image,
                                                        CUstream last_use);

/** CUDA's half of the image: its arrays, surfaces and textures. NULL for NULL.
 * Ownership: Culvert's, valid until the image is destroyed; culv_image_unmap() refuses it.
 * Threads: any. */
CULV_EXPORT culv_image *culv_shared_image_cuda(const culv_shared_image *image);

/** Destroys CUDA's import and the API's semaphore, and sets *semaphore to NULL. The API's use of it
 * must be over, as for vkDestroySemaphore. CUDA's use should be over: the call waits for it, as
 * culv_semaphore_destroy() does. If CUDA waits for a value of a timeline that it was told to signal
 * nowhere, and that is not there within a second, nobody is left to signal it: the call does so in
 * its place, and logs a warning. NULL, or a pointer to NULL, is a no-op.
 * Errors: as culv_shared_buffer_destroy().
 * Ownership: *semaphore is Culvert's again, unless the call failed.
 * Threads: as culv_shared_buffer_destroy(). */
CULV_EXPORT culv_result culv_shared_semaphore_destroy(culv_shared_semaphore **semaphore);

/** Does the same as culv_shared_semaphore_destroy(), but never waits for CUDA, as
 * culv_semaphore_destroy_after() describes. The API's use must be over now. On the HOST path
 * (culvert/fallback.h) the API's semaphore goes when no host function is on its way, and at the
 * latest when you detach. After that, this call waits when it destroys the last object of the
 * attachment.
 * Errors: as culv_shared_buffer_destroy().
 * Ownership: as culv_shared_semaphore_destroy().
 * Threads: as culv_shared_buffer_destroy(). */
CULV_EXPORT culv_result culv_shared_semaphore_destroy_after(culv_shared_semaphore **semaphore,
                                                            CUstream last_use);

/** Signals the highest value of a timeline that CUDA was told to wait for, if it is not there: the
 * submission that was to signal it failed, or an error came between culv_semaphore_wait() and the
 * submission. Without this whatever waits for CUDA's work, such as the destruction of a buffer,
 * waits for ever. What CUDA does behind its wait then works on data that nobody made. No submission
 * that signals the timeline may be on its way. Of a ring's timeline: culv_ring_submit_failed().
 * Errors: INVALID (NULL_ARGUMENT; VALUE: it is a binary semaphore), DRIVER, ASYNC (DEVICE_LOST).
 * Threads: any, one at a time for each semaphore. */
CULV_EXPORT culv_result culv_shared_semaphore_submit_failed(culv_shared_semaphore *semaphore);

/** CUDA's half of the semaphore, for culv_semaphore_signal() and culv_semaphore_wait(). NULL for
 * NULL.
 * Ownership: Culvert's, valid until the semaphore is destroyed; culv_semaphore_destroy() refuses
 * it.
 * Threads: any. */
CULV_EXPORT culv_semaphore *culv_shared_semaphore_cuda(const culv_shared_semaphore *semaphore);

/** Waits on the host until a timeline has reached `value`, whichever side signals it, and at most
 * `timeout` nanoseconds (0: it only asks). Call it before culv_semaphore_wait(), or before a
 * submission that waits: then the GPU waits for nothing. It does not replace that wait, which also
 * makes the other side's writes visible. docs/waits.md says what it costs, and when to take it.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: it is a binary semaphore), TIMEOUT (NOT_READY),
 * UNSUPPORTED (EXTENSION_MISSING: the device has no timelines that the host can wait for), DRIVER,
 * ASYNC (DEVICE_LOST).
 * Threads: any, more than one at the same time too.
 * Source: Vulkan specification, vkWaitSemaphores; ID3D12Fence::SetEventOnCompletion. */
CULV_EXPORT culv_result culv_shared_semaphore_wait_on_host(const culv_shared_semaphore *semaphore,
                                                           uint64_t value, uint64_t timeout);

CULV_EXTERN_C_END

#endif
