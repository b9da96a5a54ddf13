/* SPDX-License-Identifier: MIT */
/* ripple's mesh: only indices, since vertices are pulled from the shared buffer. */
#ifndef RIPPLE_MESH_H_
#define RIPPLE_MESH_H_

#include "renderer.h"

/* Chooses the meshes of water and stones and fills r->indices. */
bool mesh_create(renderer *r);

#endif
