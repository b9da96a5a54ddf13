/* SPDX-License-Identifier: MIT */
/* ripple's render targets: multisampled color and depth, and the final image. */
#ifndef RIPPLE_TARGETS_H_
#define RIPPLE_TARGETS_H_

#include "pipelines.h"

typedef struct targets {
    VkExtent2D extent;
    vulkan_image color, resolved, depth; /* resolved: only with multisampling */
} targets;

/* False, with a message, on failure; destroy it either way. */
bool targets_create(targets *t, const vulkan_setup *v, const pipelines *p, VkExtent2D extent);
void targets_destroy(targets *t, const vulkan_setup *v);

/* Between these, drawing goes to the targets. After it the final image is a color attachment. */
void targets_begin(const targets *t, VkCommandBuffer commands);
void targets_end(VkCommandBuffer commands);

/* What is shown. */
VkImage targets_final(const targets *t);
/* From drawing to copying from it (TRANSFER_SRC_OPTIMAL). */
void targets_finish(const targets *t, VkCommandBuffer commands);

#endif
