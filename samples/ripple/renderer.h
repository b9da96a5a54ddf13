/* SPDX-License-Identifier: MIT */
/* ripple's graphics pipelines. */
#ifndef RIPPLE_RENDERER_H_
#define RIPPLE_RENDERER_H_

#include "exchange.h"
#include "scene.h"

#include <vulkan/vulkan_core.h>

/* shaders/ripple/rim.vert: four sides of seven strips of two triangles. */
#define PIPELINES_COLOR_FORMAT VK_FORMAT_R8G8B8A8_SRGB
#define PIPELINES_RIM_VERTICES (4u * 7u * 6u)

/* The push constants of shaders/ripple/scene.glsl; 128 bytes are what every device has. */
typedef struct view_constants {
    float view_projection[16];
    float eye[4];         /* w: seconds */
    float half_extent[4]; /* x, z of the basin; a cell's side; the picture's aspect */
    /* Cells in x and z; vertices in a row of the mesh; cells from vertex to vertex */
    int32_t grid[4];
    float picture[4]; /* width and height in pixels */
} view_constants;

typedef struct pipelines {
    VkSampleCountFlagBits samples;
    VkFormat depth_format;
    VkSampler sampler;
    VkDescriptorSetLayout set_layout; /* exchange_buffer: 0 cells, 1 tint */
    VkPipelineLayout layout;
    VkPipeline water, stone, rim;
} pipelines;

/* ripple's render targets: multisampled color and depth, and the final image. */

typedef struct targets {
    VkExtent2D extent;
    vulkan_image color, resolved, depth; /* resolved: only with multisampling */
} targets;

/* ripple's camera. */

/* Fills the push constants for a moment of the simulation, in frames. The camera drifts slowly
 * around the basin. */
void camera_look(const scene *basin, VkExtent2D extent, uint64_t moment, view_constants *out);

/* ripple's renderer: draws the water from the buffers that the exchange brings. */

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
