/* SPDX-License-Identifier: MIT */
/* The draws of barriers_probe.c. */
#ifndef CULVERT_TESTS_BARRIERS_DRAW_H_
#define CULVERT_TESTS_BARRIERS_DRAW_H_

#include "barriers_probe.h"

enum {
    PROBE_COPY_BYTES = 65536,
    PROBE_DRAW_OFFSET = 2048, /* of a VkDrawIndexedIndirectCommand in the probe's own buffer */
};

/* A sampled image, an input attachment. */
extern const VkDescriptorType probe_graphics_types[2];

VkShaderModule probe_shader(VkDevice device, const char *name);
/* The layout that a use of images has. */
VkImageLayout probe_layout(culv_vk_use use);
/* A draw that takes its vertices, indices or arguments from `buffer` and the rest from the probe's
 * own. */
void probe_draw_buffers(probe *p, VkCommandBuffer commands, VkBuffer buffer, culv_vk_use use);
/* A render pass with p->view as its attachment. */
void probe_draw_image(probe *p, VkCommandBuffer commands, const raw_vk_image *image, uint32_t level,
                      culv_vk_use use);

#endif
