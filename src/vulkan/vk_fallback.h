/* Fallbacks of Vulkan's resources: which path is taken, and what is made on it. SPDX-License-Identifier: MIT */
#ifndef CULVI_VK_FALLBACK_H_
#define CULVI_VK_FALLBACK_H_

#include "core/peer.h"
#include "core/relay.h"
#include "core/staging.h"
#include "vulkan/vk_resource.h"

culv_result culvi_vk_check_fallback(const culvi_voice *voice, const char *label, const char *desc,
                                    uint32_t fallback);

/* One object, by each path; `desc` is its descriptor. */
typedef struct culvi_vk_paths {
    culv_result (*shared)(void *object, const void *desc);
    culv_result (*peer)(void *object, const void *desc);
    culv_result (*host)(void *object, const void *desc);
} culvi_vk_paths;

/* Shared, and where that is impossible by what `fallback` allows. The log says which, and why. */
culv_result culvi_vk_try_paths(const culv_vk *vk, const char *label, uint32_t fallback,
                               const culvi_vk_paths *paths, void *object, const void *desc);

/* The attachment of this VkDevice to the CUDA device that is its own GPU, kept; copies to it are verified. */
culv_result culvi_vk_peer(culv_vk *vk, const char *label, culv_vk **out);

culv_result culvi_vk_buffer_fall_back(culv_vk_buffer *buffer, const culv_vk_buffer_create_desc *desc);
culv_result culvi_vk_image_fall_back(culv_vk_image *image, const culv_vk_image_create_desc *desc);
culv_result culvi_vk_semaphore_fall_back(culv_vk_semaphore *semaphore,
                                         const culv_vk_semaphore_create_desc *desc);

/* HOST: pinned memory that both sides reach; the staging knows its size, and gets the rest. */
culv_result culvi_vk_stage_create(culv_vk *vk, const char *label, culvi_staging *staging,
                                  culvi_vk_stage *out);
void culvi_vk_stage_destroy(culv_vk *vk, const culvi_vk_stage *stage);

#endif
