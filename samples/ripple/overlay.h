/* SPDX-License-Identifier: MIT */
/* ripple's overlay: text and bars over the picture, as rectangles that one draw call makes from a
 * list. */
#ifndef RIPPLE_OVERLAY_H_
#define RIPPLE_OVERLAY_H_

#include "pipelines.h"

/* Colors are 0xAABBGGRR, sRGB. */
#define OVERLAY_COLOR(r, g, b, a)                                                                  \
    ((uint32_t)(r) | (uint32_t)(g) << 8 | (uint32_t)(b) << 16 | (uint32_t)(a) << 24)

/* One rectangle, in pixels of the picture; shaders/ripple/overlay.vert. */
typedef struct overlay_item {
    int32_t x, y, width, height;
    uint32_t color;
    uint32_t glyph; /* of the font, from 1; 0: filled */
} overlay_item;

#define OVERLAY_MAX_ITEMS 768u
#define OVERLAY_MAX_SLOTS 4u

typedef struct overlay {
    const vulkan_setup *vulkan;
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    VkDescriptorPool pool;
    VkDescriptorSet set;
    vulkan_buffer font, items; /* items: OVERLAY_MAX_ITEMS for each frame in flight */
    uint32_t num_items;
    overlay_item list[OVERLAY_MAX_ITEMS]; /* what is shown, until it is changed */
} overlay;

/* False, with a message, on failure; destroy it either way. */
bool overlay_create(overlay *o, const vulkan_setup *v, VkFormat color_format);
void overlay_destroy(overlay *o);

/* Makes a new list. What does not fit into it is left out. */
void overlay_clear(overlay *o);
void overlay_fill(overlay *o, int x, int y, int width, int height, uint32_t color);
/* A line of text; each pixel of the font is `scale` pixels wide and high. */
void overlay_text(overlay *o, int x, int y, int scale, uint32_t color, const char *text);
int overlay_text_width(int scale, size_t length);
int overlay_line_height(int scale);

/* Draws the list, within targets_begin_over(); nothing else may use the slot. */
void overlay_record(overlay *o, VkCommandBuffer commands, uint32_t slot, VkExtent2D extent);

#endif
