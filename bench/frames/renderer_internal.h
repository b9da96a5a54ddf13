/* SPDX-License-Identifier: MIT */
/* What the two halves of the renderer share. */
#ifndef CULVERT_BENCH_FRAMES_RENDERER_INTERNAL_H_
#define CULVERT_BENCH_FRAMES_RENDERER_INTERNAL_H_

#include "renderer.h"

#define RENDERER_STAGES (VK_SHADER_STAGE_FRAGMENT_BIT | VK_SHADER_STAGE_COMPUTE_BIT)

/* load.glsl's push constants. */
typedef struct renderer_constants {
    uint32_t number, words, iterations, pixels;
} renderer_constants;

#endif
