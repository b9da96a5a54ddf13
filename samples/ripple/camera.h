/* SPDX-License-Identifier: MIT */
/* ripple's camera. */
#ifndef RIPPLE_CAMERA_H_
#define RIPPLE_CAMERA_H_

#include <vulkan/vulkan_core.h>

#include "pipelines.h"
#include "scene.h"

/* What a viewer makes of the camera's own way, which drifts slowly around the basin. All 0:
 * nothing. */
typedef struct camera_view {
    float turn, lift; /* radians, around and up */
    float closer;     /* each 1 halves the distance */
} camera_view;

/* Fills the push constants for a moment of the simulation, in frames. */
void camera_look(const scene *basin, VkExtent2D extent, uint64_t moment, const camera_view *view,
                 view_constants *out);

#endif
