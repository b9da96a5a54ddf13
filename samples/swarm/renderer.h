/* SPDX-License-Identifier: MIT */
/* swarm's renderer: the particles as points of light, added up in half floats and toned down to a
 * picture. */
#ifndef SWARM_RENDERER_H_
#define SWARM_RENDERER_H_

#include "../common/vulkan_pipeline.h"
#include "particles.h"
#include "queue.h"

enum { RENDERER_FRAMES_IN_FLIGHT = 2 };

typedef struct renderer_slot {
    VkCommandBuffer commands;
    VkFence done;
    vulkan_buffer picture; /* host-visible */
    bool used, has_picture;
    uint64_t frame;
} renderer_slot;

typedef struct renderer {
    const vulkan_setup *vulkan;
    particles *particles;
    queue *queue; /* NULL: the solver is on a stream of CUDA's */
    VkExtent2D extent;
    vulkan_image light, picture;
    VkSampler sampler;
    VkDescriptorSetLayout set_layout;
    VkDescriptorPool descriptors;
    VkDescriptorSet set; /* light, for the second pass */
    VkPipelineLayout points_layout, tone_layout;
    VkPipeline points, tone;
    VkCommandPool commands;
    VkQueryPool timestamps;
    renderer_slot slots[RENDERER_FRAMES_IN_FLIGHT];
} renderer;

/* False, with a message, on failure; destroy it either way, before the particles. */
bool renderer_create(renderer *r, const vulkan_setup *vulkan, particles *p, queue *q,
                     VkExtent2D extent);
void renderer_destroy(renderer *r);

/* Submits the drawing of a frame at a time, after renderer_reclaim() of it. */
bool renderer_frame(renderer *r, uint64_t frame, float time, bool picture);

typedef struct renderer_result {
    bool used; /* false: there was no frame */
    uint64_t frame;
    double milliseconds;   /* negative when unknown */
    const uint8_t *pixels; /* rows until the slot's next frame, or NULL */
} renderer_result;

/* Waits for the frame that had the slot of `frame` before. */
bool renderer_reclaim(renderer *r, uint64_t frame, renderer_result *out);

#endif
