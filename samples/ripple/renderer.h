/* ripple's renderer: draws the water, offscreen, from the buffer that CUDA fills. SPDX-License-Identifier:
 * MIT */
#ifndef RIPPLE_RENDERER_H_
#define RIPPLE_RENDERER_H_

#include "exchange.h"
#include "pipelines.h"
#include "scene.h"

/* A part of the index buffer, over a grid of vertices that takes every `stride`th cell. */
typedef struct mesh {
    uint32_t width, height, stride; /* vertices, and cells from one to the next */
    uint32_t first_index, num_indices;
} mesh;

#define FRAMES_IN_FLIGHT 3u

/* What a command buffer in flight owns. */
typedef struct renderer_slot {
    VkCommandBuffer commands;
    VkFence done;
    vulkan_buffer picture; /* host-visible RGBA rows */
    bool used;
    uint64_t frame; /* the frame that it was last used for */
    bool has_picture;
} renderer_slot;

typedef struct renderer {
    const vulkan_setup *vulkan;
    exchange *exchange;
    const scene *scene;
    VkExtent2D extent;
    pipelines pipelines;
    vulkan_image color, resolved, depth; /* resolved: only with multisampling */
    mesh water, stones;
    vulkan_buffer indices;
    VkDescriptorPool descriptor_pool;
    VkDescriptorSet sets[EXCHANGE_MAX_BUFFERS];
    VkCommandPool command_pool;
    VkQueryPool timestamps; /* none where the queue has no timestamps */
    renderer_slot slots[FRAMES_IN_FLIGHT];
} renderer;

/* False, with a message, on failure; destroy it either way. */
bool renderer_create(renderer *r, const vulkan_setup *vulkan, exchange *e, const scene *basin,
                     VkExtent2D extent);
/* Waits for the device. */
void renderer_destroy(renderer *r);

/* Submits a frame: waits (on the GPU) for sim_done, draws, signals draw_done. The slot of the frame must have
 * been reclaimed. With `picture`, the frame is copied for renderer_reclaim(). */
bool renderer_frame(renderer *r, uint64_t frame, bool picture);

/* What a frame left behind. */
typedef struct renderer_result {
    bool used; /* false: the slot was never used */
    uint64_t frame;
    double milliseconds;   /* of drawing, on the GPU; negative when unknown */
    const uint8_t *pixels; /* RGBA rows until the slot's next frame, or NULL */
} renderer_result;

/* Makes the slot that `frame` will use free: the only wait of the host, for the frame FRAMES_IN_FLIGHT
 * before. */
bool renderer_reclaim(renderer *r, uint64_t frame, renderer_result *result);

#endif
