/* SPDX-License-Identifier: MIT */
/* swarm's closing check: what Vulkan reads of the particles is what CUDA has, and none was lost as
 * they grew. */
#ifndef SWARM_CHECK_H_
#define SWARM_CHECK_H_

#include "particles.h"

/* Copies all particles to the host by Vulkan's buffers and by CUDA's address, and compares.
 * *checksum is of Vulkan's bytes. Both sides are done. False, with a message, when something is
 * wrong. */
bool check_particles(particles *p, const culv_cuda_api *cu, uint64_t *checksum);

#endif
