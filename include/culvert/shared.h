/* SPDX-License-Identifier: MIT */
/* Culvert: buffers, images and semaphores that Culvert makes. Each has two halves, one in a
 * graphics API and one in CUDA. Each API has its own calls that make them (culv_vk_buffer_create(),
 * culv_gl_image_create(), culv_d3d_semaphore_create() ...) and that return its half
 * (culv_vk_buffer_handle(), culv_gl_image_name() ...). The calls of this header serve all APIs.
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
 * If last_use is NULL, CUDA's work should be done: the call may wait for it (culv_buffer_unmap()).
 * For a buffer in host memory it must be done, because no text says that unregistering waits.
 *
 * Otherwise the call never waits for CUDA, and DEFERS CUDA's half behind the work of *last_use.
 * Until then the mapping keeps the pages, also yours of culv_vk_buffer_create_desc::host_pointer.
 * With HOST (culvert/fallback.h) the memory of the copies may belong to the API: it is freed with
 * the mapping, at the latest when you detach. After that, the call that destroys the last object of
 * the attachment waits.
 * Errors: INVALID (OWNED: it is a part of a ring, a bridge or a shadow; CONTEXT: it is OpenGL's,
 * and no context of its attachment is current on this thread). After an error nothing is done.
 * Threads: any, and for an object of OpenGL the context's; ordered with other calls on this object
 * and with the destruction of its VkDevice. */
CULV_EXPORT culv_result culv_shared_buffer_destroy(culv_shared_buffer **buffer,
                                                   const CUstream *last_use);

/** Returns CUDA's half of the buffer: its pointer and size. NULL for NULL.
 * Ownership: Culvert's, valid until the buffer is destroyed; culv_buffer_unmap() refuses it.
 * Threads: any. */
CULV_EXPORT culv_buffer *culv_shared_buffer_cuda(const culv_shared_buffer *buffer);

/** Returns the first byte of the buffer in CUDA: culv_buffer_pointer() of
 * culv_shared_buffer_cuda(). 0 for NULL.
 * Ownership: Culvert's, valid until the buffer is destroyed. Threads: any. */
CULV_EXPORT CUdeviceptr culv_shared_buffer_pointer(const culv_shared_buffer *buffer);

/** Does what culv_shared_buffer_destroy() does for an image. Destroy your views of it first.
 * Errors: as culv_shared_buffer_destroy(). Threads: as there. */
CULV_EXPORT culv_result culv_shared_image_destroy(culv_shared_image **image,
                                                  const CUstream *last_use);

/** Returns CUDA's half of the image: its arrays, surfaces and textures. NULL for NULL.
 * Ownership: Culvert's, valid until the image is destroyed; culv_image_unmap() refuses it.
 * Threads: any. */
CULV_EXPORT culv_image *culv_shared_image_cuda(const culv_shared_image *image);

/** Destroys CUDA's import and the API's semaphore. The API's work with it must be done, as for
 * vkDestroySemaphore.
 *
 * If last_use is NULL, CUDA's work should be done: the call waits for it, as
 * culv_semaphore_destroy() does. CUDA may still wait for a value of a timeline that CUDA itself
 * does not signal. If that value does not come within a second, the call signals it and logs a
 * warning, because nobody else can.
 *
 * Otherwise the call never waits for CUDA, and DEFERS CUDA's half behind the work of *last_use. On
 * the HOST path (culvert/fallback.h) the API's semaphore is destroyed when no host function is
 * pending, at the latest when you detach. After that, this call waits if it destroys the last
 * object of the attachment.
 * Errors: as culv_shared_buffer_destroy(). Threads: as culv_shared_buffer_destroy(). */
CULV_EXPORT culv_result culv_shared_semaphore_destroy(culv_shared_semaphore **semaphore,
                                                      const CUstream *last_use);

/** Signals the highest value of a timeline that CUDA was told to wait for, if the timeline has not
 * reached it. Call it if the submission that was to signal that value failed, or if an error came
 * between culv_semaphore_wait() and the submission. Otherwise every call that waits for CUDA's
 * work, such as the destruction of a buffer, waits for ever. CUDA's work after its wait then reads
 * data that was never written. No submission that signals the timeline may be pending. For a ring's
 * timeline use culv_ring_submit_failed().
 * Errors: INVALID (NULL_ARGUMENT; VALUE: it is a binary semaphore), DRIVER, ASYNC (DEVICE_LOST).
 * Threads: any, one at a time for each semaphore. */
CULV_EXPORT culv_result culv_shared_semaphore_submit_failed(culv_shared_semaphore *semaphore);

/** Returns CUDA's half of the semaphore, for culv_semaphore_signal() and culv_semaphore_wait().
 * NULL for NULL.
 * Ownership: Culvert's, valid until the semaphore is destroyed; culv_semaphore_destroy() refuses
 * it.
 * Threads: any. */
CULV_EXPORT culv_semaphore *culv_shared_semaphore_cuda(const culv_shared_semaphore *semaphore);

/** Waits on the host until a timeline has reached `value`, whichever side signals it, for at most
 * `timeout` nanoseconds (0: only asks). If you call it before culv_semaphore_wait(), or before a
 * submission that waits, the GPU does not have to wait. It does not replace that wait, which also
 * makes the other side's writes visible. docs/waits.md says what it costs and when to use it.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: it is a binary semaphore), TIMEOUT (NOT_READY),
 * UNSUPPORTED (EXTENSION_MISSING: the device has no timelines that the host can wait for), DRIVER,
 * ASYNC (DEVICE_LOST).
 * Threads: any, several at the same time.
 * Source: Vulkan specification, vkWaitSemaphores; ID3D12Fence::SetEventOnCompletion. */
CULV_EXPORT culv_result culv_shared_semaphore_wait_on_host(const culv_shared_semaphore *semaphore,
                                                           uint64_t value, uint64_t timeout);

CULV_EXTERN_C_END

#endif
