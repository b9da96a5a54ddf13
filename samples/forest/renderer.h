/* SPDX-License-Identifier: MIT */
/* forest's renderer: a compute shader that casts rays through the hierarchy. It has no descriptors:
 * all that it gets are addresses. */
#ifndef FOREST_RENDERER_H_
#define FOREST_RENDERER_H_

#include "memory.h"

enum { RENDERER_FRAMES_IN_FLIGHT = 2 };

typedef struct renderer_slot {
    VkCommandBuffer commands;
    VkFence done;
    bool used;
    uint64_t frame;
} renderer_slot;

typedef struct renderer {
    const vulkan_setup *vulkan;
    VkExtent2D extent;
    uint32_t samples;
    VkPipelineLayout layout;
    VkPipeline look;
    VkCommandPool commands;
    VkQueryPool timestamps;
    renderer_slot slots[RENDERER_FRAMES_IN_FLIGHT];
} renderer;

/* False, with a message, on failure; destroy it either way, before the memory. */
bool renderer_create(renderer *r, const vulkan_setup *vulkan, VkExtent2D extent, uint32_t samples);
void renderer_destroy(renderer *r);

/* Submits the drawing of a frame, after renderer_reclaim() of it. */
bool renderer_frame(renderer *r, const memory_mode *mode, memory *m, uint64_t frame);

typedef struct renderer_result {
    bool used; /* false: there was no frame */
    uint64_t frame;
    double milliseconds; /* negative when unknown */
} renderer_result;

/* Waits for the frame that had the slot of `frame` before. */
bool renderer_reclaim(renderer *r, uint64_t frame, renderer_result *out);

#endif
