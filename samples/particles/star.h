/* SPDX-License-Identifier: MIT */
/* particles: a star as CUDA writes it and OpenGL draws it. */
#ifndef PARTICLES_STAR_H_
#define PARTICLES_STAR_H_

typedef struct star {
    float x, y, z;
    float speed; /* negative: a star of the second galaxy */
} star;

#endif
