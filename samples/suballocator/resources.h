/* SPDX-License-Identifier: MIT */
/* suballocator: a dozen buffers and images of many kinds, each bound somewhere in one block and
 * mapped into CUDA. */
#ifndef SUBALLOCATOR_RESOURCES_H_
#define SUBALLOCATOR_RESOURCES_H_

#include "block.h"

enum { NUM_RESOURCES = 12, TILE_WIDTH = 160, TILE_HEIGHT = 120 };

/* How a kernel writes it. */
typedef enum resource_kind {
    BUFFER,
    SURFACE_2D,
    SURFACE_LAYERED,
    SURFACE_3D,
    SURFACE_CUBE
} resource_kind;

/* What is made, and which part of it the picture shows. */
typedef struct resource_plan {
    const char *name;
    resource_kind kind;
    VkFormat format;        /* images */
    uint32_t width, height; /* of level 0; of a buffer the tile's */
    uint32_t depth, layers, levels;
    uint32_t level, layer; /* shown; of a 3D image the slice */
} resource_plan;

extern const resource_plan resource_plans[NUM_RESOURCES];

typedef struct resource {
    const resource_plan *plan;
    VkBuffer buffer; /* one of the two */
    VkImage image;
    VkMemoryRequirements needs;
    VkDeviceSize offset; /* in the block */
    bool placed;
    culv_buffer *cuda_buffer; /* one of the two */
    culv_image *cuda_image;
    double map_us; /* what acquiring and mapping took */
} resource;

/* The three steps: vkCreate..., which tells what each needs; a place in the block and vkBind...;
 * CUDA's half. */
bool resource_create(const vulkan_setup *v, culv_vk_device *vk, const resource_plan *plan,
                     resource *out);
bool resource_bind(const vulkan_setup *v, block *b, resource *r);
bool resource_map(culv_vk_device *vk, const block *b, resource *r);
void resource_destroy(const vulkan_setup *v, block *b, resource *r);

#endif
