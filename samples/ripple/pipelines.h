/* SPDX-License-Identifier: MIT */
/* ripple's graphics pipelines. */
#ifndef RIPPLE_PIPELINES_H_
#define RIPPLE_PIPELINES_H_

#include "../common/vulkan_pipeline.h"

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

/* False, with a message, on failure; destroy it either way. */
bool pipelines_create(pipelines *p, const vulkan_setup *v);
void pipelines_destroy(pipelines *p, const vulkan_setup *v);

#endif
