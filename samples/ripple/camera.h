/* SPDX-License-Identifier: MIT */
/* ripple's camera. */
#ifndef RIPPLE_CAMERA_H_
#define RIPPLE_CAMERA_H_

#include <vulkan/vulkan_core.h>

#include "pipelines.h"
#include "scene.h"

/* Fills the push constants for a moment of the simulation, in frames. The camera drifts slowly
 * around the basin. */
void camera_look(const scene *basin, VkExtent2D extent, uint64_t moment, view_constants *out);

#endif
