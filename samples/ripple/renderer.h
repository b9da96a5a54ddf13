/* SPDX-License-Identifier: MIT */
/* ripple's renderer: draws the water from the buffers that the exchange brings. */
#ifndef RIPPLE_RENDERER_H_
#define RIPPLE_RENDERER_H_

#include "camera.h"
#include "exchange.h"
#include "mesh.h"
#include "pipelines.h"
#include "scene.h"
#include "targets.h"

/* At least; as many as the exchange has buffers, if they are more. */
#define FRAMES_IN_FLIGHT     3u
#define MAX_FRAMES_IN_FLIGHT (2u * EXCHANGE_MAX_BUFFERS)

/* What a command buffer in flight owns. */
typedef struct renderer_slot {
    VkCommandBuffer commands;
    VkFence done;
    VkFence covered;       /* of this frame or a later one of its burst: the one to wait for */
    vulkan_buffer picture; /* host-visible rows */
    bool used;
    uint64_t frame; /* the frame that it was last used for */
    bool has_picture;
} renderer_slot;

typedef struct renderer {
    const vulkan_setup *vulkan;
    exchange *exchange;
    const scene *scene;
    pipelines pipelines;
    targets targets;
    mesh water, stones;
    vulkan_buffer indices;
    VkDescriptorPool descriptor_pool;
    VkDescriptorSet sets[EXCHANGE_MAX_BUFFERS];
    VkCommandPool command_pool;
    VkQueryPool timestamps; /* none where the queue has no timestamps */
    uint32_t frames_in_flight;
    renderer_slot slots[MAX_FRAMES_IN_FLIGHT];
    uint64_t first_uncovered; /* frames from here on wait for a submission that has a fence */
} renderer;

/* False, with a message, on failure; destroy it either way. */
bool renderer_create(renderer *r, const vulkan_setup *vulkan, exchange *e, const scene *basin,
                     VkExtent2D extent, uint32_t frames_in_flight);
/* Waits for the device. */
void renderer_destroy(renderer *r);

/* Submits a frame: waits (on the GPU) until CUDA has filled it, draws, and gives it back. The slot
 * of the frame must have been reclaimed. picture: keeps the pixels for renderer_reclaim(). */
bool renderer_frame(renderer *r, uint64_t frame, bool picture);

/* What a frame left behind. */
typedef struct renderer_result {
    bool used; /* false: the slot was never used */
    uint64_t frame;
    double milliseconds;   /* of drawing, on the GPU; negative when unknown */
    const uint8_t *pixels; /* rows until the slot's next frame, or NULL */
} renderer_result;

/* Makes the slot that `frame` will use free: the only wait of the host, for the frame
 * frames_in_flight before. */
bool renderer_reclaim(renderer *r, uint64_t frame, renderer_result *result);

#endif
