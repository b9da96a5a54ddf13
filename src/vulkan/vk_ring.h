/* SPDX-License-Identifier: MIT */
/* A ring with Vulkan's slots and timelines, inside. */
#ifndef CULVI_VK_RING_H_
#define CULVI_VK_RING_H_

#include "culvert/vulkan_ring.h"

#include "graphics/graphics_ring.h"
#include "vulkan/vk_resource.h"

/* A slot's barriers, in arrays that all slots share. */
typedef struct culvi_vk_ring_slot {
    VkDependencyInfo barriers[2]; /* by culv_vk_direction */
} culvi_vk_ring_slot;

typedef struct culvi_vk_ring {
    culvi_graphics_ring base;
    culv_vk_device *vk; /* base.graphics: a reference */
    uint32_t queue_family;
    VkPipelineStageFlags2 wait_stage;
    culvi_vk_ring_slot slots[CULV_RING_MAX_DEPTH];
    VkImageMemoryBarrier2 *image_barriers;   /* acquires of all slots, then releases */
    VkBufferMemoryBarrier2 *buffer_barriers; /* the same */
} culvi_vk_ring;

/* NULL: it is another API's, which is refused by the name `call`, or silently without one. */
culvi_vk_ring *culvi_vk_ring_of(const culv_ring *ring, const char *call);

/* ring_queue.c: culvi_graphics_ring_api::submit. */
culv_result culvi_vk_ring_submit(culvi_graphics_ring *ring, const culvi_graphics_work *work,
                                 uint32_t count, uint64_t wait, uint64_t signal);

#endif
