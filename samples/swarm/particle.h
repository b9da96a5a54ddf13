/* SPDX-License-Identifier: MIT */
/* swarm: a particle as CUDA writes it and Vulkan reads it, for the kernels and the host. Its size
 * divides that of any chunk, so none lies across two buffers. */
#ifndef SWARM_PARTICLE_H_
#define SWARM_PARTICLE_H_

#include <stdint.h>
#ifndef __cplusplus
#    include <stdalign.h>
#endif

typedef struct particle {
    alignas(16) float x; /* so that a GPU moves it by 16 bytes */
    float y, z;
    uint32_t id; /* the index, from 1 on; written once */
    float vx, vy, vz;
    float born; /* time */
} particle;

#endif
