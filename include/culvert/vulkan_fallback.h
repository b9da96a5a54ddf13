/* SPDX-License-Identifier: MIT */
/* Culvert: the Vulkan half of a fallback (culvert/fallback.h): on the HOST path what CUDA pushed is
 * in pinned memory, and a copy in the program's own command buffer brings it into the VkBuffer or
 * VkImage, or fetches it from there. On the other paths these calls record nothing, so that a
 * program is written once.
 *
 *   CUDA's stream:       wait, write, culv_..._push(), signal
 *   the command buffer:  acquire barrier, culv_vk_..._record_push(), use,
 *   culv_vk_..._record_pull(), release barrier
 *   CUDA's stream:       wait, culv_..._pull(), read
 *
 * The next push must not come before the recorded copy is over, nor a recorded pull before CUDA's
 * pull: the waits that sharing needs anyway see to both. Recorded once, a command buffer may be
 * submitted many times. */
#ifndef CULV_VULKAN_FALLBACK_H_
#define CULV_VULKAN_FALLBACK_H_

#include "fallback.h"
#include "vulkan_memory.h"

CULV_EXTERN_C_BEGIN

/** HOST path: records the copy of what culv_buffer_upload() sent into the VkBuffer, with the barriers
 * that it needs: outside of render passes, after the acquire barrier, before Vulkan's first use.
 * Earlier uses in the same queue are waited for, later ones wait for it.
 * Errors: INVALID (NULL_ARGUMENT).
 * Ownership: none.
 * Threads: that of the command buffer.
 * Since: 0.1.
 * Source: Vulkan specification, "Host Write Ordering Guarantees". */
CULV_EXPORT culv_result culv_vk_buffer_record_upload(const culv_vk_buffer *buffer,
                                                     VkCommandBuffer commands);

/** HOST path: records the copy of the VkBuffer to where culv_buffer_download() takes it from: outside
 * of render passes, after Vulkan's last use, before the release barrier.
 * Errors: INVALID (NULL_ARGUMENT).
 * Ownership: none.
 * Threads: that of the command buffer.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_vk_buffer_record_download(const culv_vk_buffer *buffer,
                                                       VkCommandBuffer commands);

/** As culv_vk_buffer_record_upload(), for all levels, layers and planes of an image. `layout` is the
 * one that the acquire barrier gave it, and has it again afterwards; the old contents are not kept.
 * Depth and stencil need a graphics queue, as vkCmdCopyBufferToImage does.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: UNDEFINED or PREINITIALIZED as layout).
 * Ownership: none.
 * Threads: that of the command buffer.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_vk_image_record_upload(const culv_vk_image *image,
                                                    VkCommandBuffer commands, VkImageLayout layout);

/** As culv_vk_buffer_record_download(), for all levels, layers and planes of an image, which is in
 * `layout` before and after.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: UNDEFINED or PREINITIALIZED as layout).
 * Ownership: none.
 * Threads: that of the command buffer.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_vk_image_record_download(const culv_vk_image *image,
                                                      VkCommandBuffer commands,
                                                      VkImageLayout layout);

CULV_EXTERN_C_END

#endif
