/* A ring with Vulkan's slots and timelines, inside. SPDX-License-Identifier: MIT */
#ifndef CULVI_VK_RING_H_
#define CULVI_VK_RING_H_

#include "culvert/vulkan_ring.h"

#include "ring/ring.h"
#include "vulkan/vk_resource.h"

/* One of culv_vk_ring_desc::resources, of every slot: images or buffers. */
typedef struct culvi_vk_ring_resource {
    culv_vk_image **images;
    culv_vk_buffer **buffers;
    bool made; /* by the ring, which destroys them */
} culvi_vk_ring_resource;

/* A slot's barriers, in arrays that all slots share. */
typedef struct culvi_vk_ring_slot {
    VkDependencyInfo acquire, release;
} culvi_vk_ring_slot;

struct culv_vk_ring {
    culv_vk *vk;
    culv_ring *core;
    culv_vk_semaphore *timelines[2]; /* by side */
    culv_ring_side side;             /* Vulkan's */
    uint32_t queue_family;
    VkPipelineStageFlags2 wait_stage;
    uint32_t depth; /* max_depth */
    uint32_t num_resources;
    uint32_t num_images;
    char label[64];
    culvi_vk_ring_resource resources[CULV_VK_RING_MAX_RESOURCES];
    culvi_vk_ring_slot slots[CULV_RING_MAX_DEPTH];
    VkImageMemoryBarrier2 *image_barriers;   /* acquires of all slots, then releases */
    VkBufferMemoryBarrier2 *buffer_barriers; /* the same */
    /* Of a burst that is not submitted yet. Vulkan's side alone touches it. */
    VkCommandBufferSubmitInfo pending[CULV_RING_MAX_DEPTH];
    uint32_t num_pending;
    unsigned forced;       /* culv_ring::forced then */
    uint64_t pending_wait; /* 0: none */
};

#endif
