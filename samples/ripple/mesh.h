/* SPDX-License-Identifier: MIT */
/* ripple's meshes: only indices, since vertices are pulled from the shared buffer. */
#ifndef RIPPLE_MESH_H_
#define RIPPLE_MESH_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scene.h"

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
