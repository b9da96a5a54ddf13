/* SPDX-License-Identifier: MIT */
/* Culvert: the Vulkan half of a fallback (culvert/fallback.h).
 *
 * On the HOST path CUDA uploads into pinned memory. A copy in your own command buffer brings the
 * data from there into the VkBuffer or VkImage, or the other way round. On all other paths these
 * calls record nothing, so you write the program once.
 *
 *   CUDA's stream:       wait, write, culv_buffer_upload() or culv_image_upload(), signal
 *   the command buffer:  acquire barrier, culv_vk_..._record_upload(), use,
 *                        culv_vk_..._record_download(), release barrier
 *   CUDA's stream:       wait, culv_buffer_download() or culv_image_download(), read
 *
 * The next upload must start after the recorded copy is done, and CUDA's download after the
 * recorded download is done. The waits that sharing needs anyway ensure both. You may record a
 * command buffer once and submit it many times. */
#ifndef CULV_VULKAN_FALLBACK_H_
#define CULV_VULKAN_FALLBACK_H_

#include "fallback.h"
#include "vulkan_memory.h"

CULV_EXTERN_C_BEGIN

/** Records the copy of what culv_buffer_upload() sent into the VkBuffer (HOST path), with the
 * barriers that it needs. Record it outside of render passes, after the acquire barrier and before
 * Vulkan's first use. The copy waits for earlier uses in the same queue, and later uses wait for
 * the copy.
 * Errors: INVALID (NULL_ARGUMENT). Threads: the thread that records the command buffer.
 * Source: Vulkan specification, "Host Write Ordering Guarantees". */
CULV_EXPORT culv_result culv_vk_buffer_record_upload(const culv_shared_buffer *buffer,
                                                     VkCommandBuffer commands);

/** Records the copy of the VkBuffer to the place that culv_buffer_download() reads from (HOST
 * path). Record it outside of render passes, after Vulkan's last use and before the release
 * barrier.
 * Errors: INVALID (NULL_ARGUMENT). Threads: the thread that records the command buffer. */
CULV_EXPORT culv_result culv_vk_buffer_record_download(const culv_shared_buffer *buffer,
                                                       VkCommandBuffer commands);

/** Does what culv_vk_buffer_record_upload() does, for all levels, layers and planes of an image.
 * `layout` is the layout that the acquire barrier gave the image, and the image has it again
 * afterwards. The old contents are lost. Depth and stencil need a graphics queue, as
 * vkCmdCopyBufferToImage does.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: UNDEFINED or PREINITIALIZED as layout).
 * Threads: the thread that records the command buffer. */
CULV_EXPORT culv_result culv_vk_image_record_upload(const culv_shared_image *image,
                                                    VkCommandBuffer commands, VkImageLayout layout);

/** Does what culv_vk_buffer_record_download() does, for all levels, layers and planes of an image.
 * The image is in `layout` before and after.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: UNDEFINED or PREINITIALIZED as layout).
 * Threads: the thread that records the command buffer. */
CULV_EXPORT culv_result culv_vk_image_record_download(const culv_shared_image *image,
                                                      VkCommandBuffer commands,
                                                      VkImageLayout layout);

CULV_EXTERN_C_END

#endif
