/* ripple's camera. SPDX-License-Identifier: MIT */
#ifndef RIPPLE_CAMERA_H_
#define RIPPLE_CAMERA_H_

#include "renderer.h"

/* Fills the push constants of a frame: a camera that drifts slowly around the basin. */
void camera_view(const renderer *r, uint64_t frame, view_constants *out);

#endif
