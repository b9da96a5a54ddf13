/* SPDX-License-Identifier: MIT */
/* observer: a particle, for both processes and their GPUs. */
#ifndef OBSERVER_PARTICLE_H_
#define OBSERVER_PARTICLE_H_

typedef struct particle {
    float x, y, z;
    /* Its number times 2654435761, and the step's number, xor: a viewer sees whether it reads a
     * particle of another step. */
    unsigned int mark;
} particle;

#endif
