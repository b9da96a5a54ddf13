/* SPDX-License-Identifier: MIT */
/* ripple's scene: a basin of water with a breakwater of boulders, some stones, a wave maker and
 * drops. Everything follows from the grid's size and the seed. */
#ifndef RIPPLE_SCENE_H_
#define RIPPLE_SCENE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCENE_MAX_STONES 64u

/* World units: the water at rest is y = 0; x to the right, z to the viewer. */
typedef struct scene_stone {
    float x, z, radius_x, radius_z, radius_y, center_y, angle, roughness;
} scene_stone;

typedef struct scene_drop {
    float x, z, radius, amplitude;
} scene_drop;

typedef struct scene {
    uint32_t width, height; /* cells */
    uint64_t seed;
    float half_x, half_z; /* the basin reaches from -half to +half */
    float cell;           /* a cell's side */
    scene_stone stones[SCENE_MAX_STONES];
    uint32_t num_stones;
} scene;

void scene_init(scene *s, uint32_t width, uint32_t height, uint64_t seed);

/* The bottom's elevation in every cell, rows of z from far to near: above 0 where a stone stands
 * out of the water. `bottom` has width * height elements. */
void scene_fill_bottom(const scene *s, float *bottom);

/* Below this depth a cell counts as solid. */
#define SCENE_SOLID_DEPTH 0.012f

/* The square of the wave's speed for a depth, relative to the deepest water: 0 when solid,
 * otherwise up to 1. */
float scene_relative_speed2(float bottom);

/* The height of the wave maker's paddle after this many world units of wave travel. */
float scene_paddle(float travelled);

/* World units that waves travel from one drop to the next. The first falls at once. */
#define SCENE_DROP_DISTANCE 0.36f
/* The nth drop: the same for the same seed. */
scene_drop scene_nth_drop(const scene *s, uint64_t n);

/* ripple's meshes: only indices, since vertices are pulled from the shared buffer. */

/* A part of the index buffer, over a grid of vertices that takes every `stride`th cell. */
typedef struct mesh {
    uint32_t width, height, stride; /* vertices, and cells from one to the next */
    uint32_t first_index, num_indices;
} mesh;

typedef struct meshes {
    mesh water, stones;
    uint32_t *indices; /* for free() */
    size_t size;       /* bytes; the last ones may be unused */
} meshes;

/* Chooses the meshes for a picture. False, with a message, when there is no memory. */
bool mesh_make(meshes *out, const scene *basin, uint32_t picture_width);

#endif
