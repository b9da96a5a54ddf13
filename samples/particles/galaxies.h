/* SPDX-License-Identifier: MIT */
/* particles: two disc galaxies that are about to meet. */
#ifndef PARTICLES_GALAXIES_H_
#define PARTICLES_GALAXIES_H_

#include <stdint.h>

/* As the kernels have it: float4. */
typedef struct quad {
    float x, y, z, w;
} quad;

/* The first `heavy` stars have all the mass, which is their w; a velocity's w is 1 or, in the
 * second galaxy, -1. The same seed gives the same bits everywhere. */
void galaxies_make(quad *positions, quad *velocities, uint32_t count, uint32_t heavy,
                   uint64_t seed);

/* Softens gravity at this distance: a star is a cloud of that size. */
#define GALAXIES_SOFTENING 0.06f

#endif
