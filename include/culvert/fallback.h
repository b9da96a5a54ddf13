/* SPDX-License-Identifier: MIT */
/* Culvert: what takes the place of sharing where it is impossible: the graphics API draws on
 * another GPU, or exports nothing (WSL, remote desktop), or the format is one that CUDA cannot map.
 * Off unless asked for (culv_vk_buffer_create_desc::fallback and its like, culv_vk_device_desc::fallback
 * for another GPU), and visible in the object. docs/fallback.md has the frame and the costs.
 *
 *   PEER   the graphics resource is shared with the CUDA device that is its own GPU, and copied
 *   from there to the
 *          culv_device's memory and back, GPU to GPU
 *   HOST   the graphics resource is the graphics API's alone; pinned host memory lies in between,
 *   with one copy on
 *          either side of it
 *
 * A program is written once for all three: after CUDA's last write it calls culv_buffer_upload() or
 * culv_image_upload(), before CUDA's first read culv_buffer_download() or culv_image_download(), and its
 * command buffers have the copies of culvert/vulkan_fallback.h. Where memory is shared, all of
 * these do nothing. */
#ifndef CULV_FALLBACK_H_
#define CULV_FALLBACK_H_

#include "image.h"
#include "semaphore.h"

CULV_EXTERN_C_BEGIN

/** How CUDA reaches an object of a graphics API. */
typedef enum culv_sharing {
    CULV_SHARING_SHARED = 0, /**< The same memory: no copy. */
    CULV_SHARING_PEER = 1,   /**< Memory of its own, copied to and from the other GPU. */
    CULV_SHARING_HOST = 2,   /**< Memory of its own, copied to and from pinned host memory. */
    CULV_SHARING_FORCE32 = 0x7fffffff
} culv_sharing;

/** Which paths may be taken where sharing is impossible; they are tried in this order. Zero is
 * none. */
typedef enum culv_fallback {
    CULV_FALLBACK_PEER = 1,
    CULV_FALLBACK_HOST = 2,
    CULV_FALLBACK_ANY = 3,
    CULV_FALLBACK_FORCE32 = 0x7fffffff
} culv_fallback;

/** The path's name, "SHARED".
 * Errors: none; "unknown" for other values.
 * Ownership: a static string, never NULL.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT const char *culv_sharing_name(culv_sharing path);

/** The path of a buffer; SHARED for NULL.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_sharing culv_buffer_sharing(const culv_buffer *buffer);

/** The path of an image; SHARED for NULL.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_sharing culv_image_sharing(const culv_image *image);

/** The path of a semaphore; SHARED for NULL. PEER: its signals and waits take place on the other
 * GPU, tied to the caller's stream by events. HOST: by host functions in the stream, so a wait that
 * is not over yet holds up a thread of the CUDA driver, and with it host functions of other
 * streams: let no such wait depend on what another stream's host function is to do.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_sharing culv_semaphore_sharing(const culv_semaphore *semaphore);

/** Sends what CUDA has in the buffer towards the graphics API: a copy of all of it in the stream,
 * after CUDA's last write and before the signal that the graphics API waits for. SHARED: does
 * nothing. HOST: the graphics API takes it from there by culv_vk_buffer_record_upload().
 * Errors: INVALID (STREAM_DEVICE ...), DRIVER, ASYNC.
 * Ownership: none.
 * Threads: any, one at a time for a buffer.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_buffer_upload(culv_buffer *buffer, CUstream stream);

/** Fetches what the graphics API has written into the buffer: a copy of all of it in the stream,
 * after the wait for the graphics API's signal and before CUDA's first read. SHARED: does nothing.
 * HOST: the graphics API has sent it by culv_vk_buffer_record_download() before.
 * Errors: INVALID (STREAM_DEVICE ...), DRIVER, ASYNC.
 * Ownership: none.
 * Threads: any, one at a time for a buffer.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_buffer_download(culv_buffer *buffer, CUstream stream);

/** As culv_buffer_upload(), for an image: all levels, layers and planes.
 * Errors: INVALID (STREAM_DEVICE ...), DRIVER, ASYNC.
 * Ownership: none.
 * Threads: any, one at a time for an image.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_image_upload(culv_image *image, CUstream stream);

/** As culv_buffer_download(), for an image: all levels, layers and planes.
 * Errors: INVALID (STREAM_DEVICE ...), DRIVER, ASYNC.
 * Ownership: none.
 * Threads: any, one at a time for an image.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_image_download(culv_image *image, CUstream stream);

/** The texels of an image of a format that no CUDA array has (R32G32B32_SFLOAT, D24_UNORM_S8_UINT
 * ...), on the HOST path, which alone has such images: device memory, level after level. Their
 * arrays, surfaces and textures are refused (UNSUPPORTED, FORMAT). Depth and stencil are planes 0
 * and 1, as vkCmdCopyImageToBuffer has them (D24 as 32-bit words).
 * Errors: INVALID (LEVEL; USAGE: the image has arrays).
 * Ownership: the memory is Culvert's, valid until the image is destroyed.
 * Threads: any.
 * Since: 0.1.
 * Source: Vulkan specification, "Buffer and Image Addressing". */
CULV_EXPORT culv_result culv_image_get_linear_layout(const culv_image *image, uint32_t level,
                                                     uint32_t plane, culv_subresource_layout *out);

CULV_EXTERN_C_END

#endif
