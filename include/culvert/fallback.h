/* SPDX-License-Identifier: MIT */
/* Culvert: copies instead of sharing, if sharing is impossible: the graphics API draws on another
 * GPU, it exports nothing (WSL, remote desktop), or CUDA cannot map the format. A program must ask
 * for a fallback (culv_vk_buffer_create_desc::fallback and the like; culv_vk_device_desc::fallback
 * for another GPU), and each object says whether it uses one. docs/fallback.md has the frame and
 * the costs.
 *
 *   PEER   The resource is shared with the CUDA device of its own GPU. Copies go from GPU to GPU,
 *          between that device and the memory of the culv_device.
 *   HOST   Only the graphics API uses the resource. Pinned host memory lies in between, with one
 *          copy on either side of it.
 *
 * Write the program once for all three: call culv_buffer_copy() or culv_image_copy() after CUDA's
 * last write and before CUDA's first read, and record the copies of culvert/vulkan_fallback.h into
 * its command buffers. If memory is shared (SHARED, DIRECT), all of these calls do nothing. */
#ifndef CULV_FALLBACK_H_
#define CULV_FALLBACK_H_

#include "image.h"
#include "semaphore.h"

CULV_EXTERN_C_BEGIN

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

/** Returns the name of a way of sharing, "SHARED".
 * Errors: none; "unknown" for other values.
 * Ownership: a static string, never NULL. Threads: any. */
CULV_EXPORT const char *culv_sharing_name(culv_sharing sharing);

/** Tells how CUDA reaches a buffer; SHARED for NULL. Threads: any. */
CULV_EXPORT culv_sharing culv_buffer_sharing(const culv_buffer *buffer);

/** Tells how CUDA reaches an image; SHARED for NULL. Threads: any. */
CULV_EXPORT culv_sharing culv_image_sharing(const culv_image *image);

/** Tells how CUDA reaches a semaphore; SHARED for NULL, and for a semaphore of another GPU that
 * CUDA signals itself (culv_vk_device_desc::allow_other_gpu). PEER: signals and waits run on the
 * other GPU, and events tie them to the caller's stream. HOST: host functions in the stream signal
 * and wait. A pending wait then blocks a thread of the CUDA driver, and with it the host functions
 * of other streams. No such wait may depend on another stream's host function.
 * Threads: any. */
CULV_EXPORT culv_sharing culv_semaphore_sharing(const culv_semaphore *semaphore);

/** The direction of a fallback's copy. */
typedef enum culv_copy {
    /** From CUDA to the graphics API. CUDA's half comes after CUDA's last write and before the
     * signal that the graphics API waits for; the graphics API's half after that wait. */
    CULV_COPY_UPLOAD = 0,
    /** From the graphics API to CUDA. The graphics API's half comes after its last use and before
     * the signal that CUDA waits for; CUDA's half after that wait and before CUDA's first read. */
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
    uint32_t plane; /**< Of an image of several planes, or 1 for stencil beside depth; else 0. */
} culv_image_field;

CULV_INIT(culv_image_field)

/** Copies a linear field into a whole level (or plane) of an image, in `stream`, straight to where
 * the graphics API reads it, whatever the sharing is: into the shared array, into the image on the
 * other GPU (PEER), or into the host memory that the copies of culvert/vulkan_fallback.h take it
 * from (HOST). With PEER and HOST the device's own arrays keep what they have, so do not call
 * culv_image_copy() for the same frame.
 *
 * CUDA's copies into arrays are faster than vkCmdCopyBufferToImage in Vulkan's queue, and the
 * kernel of culv_image_prepare_write() is faster than both.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; LEVEL: the image has no such level or plane; VALUE:
 * a pitch is smaller than what lies in it, or slice_pitch is no multiple of row_pitch; NOT_MAPPED;
 * STREAM_DEVICE), UNSUPPORTED (FORMAT: a shared image without arrays), DRIVER, ASYNC,
 * OUT_OF_MEMORY.
 * Threads: any, one at a time for an image.
 * Source: cuda.h, cuMemcpy3DAsync, cuMemcpy3DPeerAsync. */
CULV_EXPORT culv_result culv_image_write(culv_image *image, const culv_image_field *field,
                                         CUstream stream);

/** Loads the kernel by which culv_image_write() fills this shared image from now on, in place of
 * CUDA's copy: on an H200 (driver 580.159.04) 1,812 in place of 411 GB/s (RGBA8, 4096 x 4096), and
 * 2,025 in place of 422 (RGBA32F). Each image needs this call once.
 * Call it while no work on the GPU waits for this thread. The driver compiles and loads (10 ms; 100
 * at a process's first module), and on an H200 it did not return before a stream that waited for
 * the host had gone on.
 * If there is no such kernel (PEER and HOST, 1D images, images without surfaces, a driver that
 * compiles no PTX, such as the twin's), the call does nothing and returns CULV_OK.
 * Errors: INVALID (NULL_ARGUMENT, NOT_MAPPED), DRIVER, ASYNC, OUT_OF_MEMORY. Threads: any.
 * Source: PTX ISA, sust; cuda.h, cuModuleLoadData. */
CULV_EXPORT culv_result culv_image_prepare_write(culv_image *image);

CULV_EXTERN_C_END

#endif
