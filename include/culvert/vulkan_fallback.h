/* SPDX-License-Identifier: MIT */
/* Culvert: the Vulkan half of a fallback (culvert/fallback.h).
 *
 * On the HOST path CUDA uploads into pinned memory. A copy in your own command buffer brings the
 * data from there into the VkBuffer or VkImage, or the other way round. On all other paths these
 * calls record nothing, so you write the program once.
 *
 *   CUDA's stream:       wait, write, culv_buffer_copy() or culv_image_copy(), signal
 *   the command buffer:  acquire barrier, culv_vk_..._record_copy(), use,
 *                        culv_vk_..._record_copy(), release barrier
 *   CUDA's stream:       wait, culv_buffer_copy() or culv_image_copy(), read
 *
 * The next upload must start after the recorded copy is done, and CUDA's download after the
 * recorded download is done. The waits that sharing needs anyway ensure both. You may record a
 * command buffer once and submit it many times. */
#ifndef CULV_VULKAN_FALLBACK_H_
#define CULV_VULKAN_FALLBACK_H_

#include "fallback.h"
#include "vulkan_memory.h"

CULV_EXTERN_C_BEGIN

/** Records Vulkan's half of a copy of the buffer (HOST path), with the barriers that it needs.
 * Record it outside of render passes: an upload after the acquire barrier and before Vulkan's first
 * use, a download after Vulkan's last use and before the release barrier. The copy waits for
 * earlier uses in the same queue, and later uses wait for the copy.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: no such direction).
 * Threads: the thread that records the command buffer.
 * Source: Vulkan specification, "Host Write Ordering Guarantees". */
CULV_EXPORT culv_result culv_vk_buffer_record_copy(const culv_shared_buffer *buffer, culv_copy copy,
                                                   VkCommandBuffer commands);

/** Does what culv_vk_buffer_record_copy() does, for all levels, layers and planes of an image. The
 * image is in `layout` before and after: the layout that the acquire barrier gave it. The old
 * contents are lost by an upload. Depth and stencil need a graphics queue, as
 * vkCmdCopyBufferToImage does.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: no such direction, UNDEFINED or PREINITIALIZED as layout).
 * Threads: the thread that records the command buffer. */
CULV_EXPORT culv_result culv_vk_image_record_copy(const culv_shared_image *image, culv_copy copy,
                                                  VkCommandBuffer commands, VkImageLayout layout);

CULV_EXTERN_C_END

#endif
